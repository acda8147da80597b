//! Simple Binary Encoding: schema 7, version 2.
//!
//! ```text
//! once:   GOBLINS!                                    8 bytes, then frames both ways
//! frame:  u32 length │ u16 block │ u16 template │ u16 schema │ u16 version │ block │ groups and strings
//!         0            4           6              8            10            12      12 + block
//!         └ of what follows it                                 all little-endian, nothing aligned
//! group:  u16 block │ u16 entries │ entries, each its block and its own strings
//! string: u32 length │ bytes
//! ```
//!
//! [`message`] turns requests into words, by the tables that [`messages`] holds; [`reply`] writes what a server answers;
//! [`value`] is the other direction of both, for clients; [`schema`] tells the layout to others.
//!
//! Invariant: every frame gets exactly one answer, be it an error; only one that is longer than allowed ends the
//! conversation.
//! Invariant: schema and version of a message are not looked at, a block longer than known is skipped, and so is what
//! follows the last string: later versions may add there.
//! Deliberately unknown here: which message may come when.

mod cursor;
pub mod message;
#[rustfmt::skip]
pub mod messages;
pub mod reply;
pub mod schema;
pub mod tree;
pub mod value;

pub use message::{Form, Role, Words};
pub use messages::MESSAGES;
pub use schema::schema;
pub use tree::Tree;

use crate::reply::ProtocolError;
use message::Message;

/// What a client sends first.
pub const MAGIC: [u8; 8] = *b"GOBLINS!";

/// Number of the schema in each header.
pub const SCHEMA: u16 = 7;

/// Its version.
pub const VERSION: u16 = 2;

/// Most entries one group can announce.
pub const ENTRIES_MAX: usize = u16::MAX as usize;

const PREFIX_BYTES: usize = 4;
const HEADER_BYTES: usize = 8;

/// Which protocol a connection begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Selected {
    /// Nobody can tell yet.
    Undecided,
    /// RESP; all bytes are part of it.
    Resp,
    /// SBE; the first frame begins behind [`MAGIC`].
    Sbe,
}

/// Tells by the first bytes of a connection which protocol it speaks.
pub fn select(bytes: &[u8]) -> Selected {
    if bytes.starts_with(&MAGIC) {
        Selected::Sbe
    } else if MAGIC.starts_with(bytes) {
        Selected::Undecided
    } else {
        Selected::Resp
    }
}

/// What stands at a place where a frame begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framed<'a> {
    /// A whole frame.
    Whole {
        /// Header and body.
        message: &'a [u8],
        /// Offset behind it.
        end: usize,
    },
    /// Its end has not arrived.
    Incomplete,
}

/// Looks at the frame that begins at `from`. Reads its length and nothing else.
///
/// # Errors
/// It announces more than `bytes_max` bytes: answer, then close.
pub fn frame_at(buf: &[u8], from: usize, bytes_max: u32) -> Result<Framed<'_>, ProtocolError> {
    let mut cursor = cursor::Cursor::new(buf.get(from..).unwrap_or_default());
    let Some(bytes) = cursor.u32() else { return Ok(Framed::Incomplete) };
    if bytes > bytes_max {
        return Err(ProtocolError::FrameLength { bytes, bytes_max });
    }
    Ok(match cursor.take(bytes as usize) {
        Some(message) => Framed::Whole { message, end: from + PREFIX_BYTES + bytes as usize },
        None => Framed::Incomplete,
    })
}

/// The message with this template.
pub fn by_template(template: u16) -> Option<&'static Message> {
    let place = match template.checked_sub(1000) {
        Some(own) => messages::OWN_INDEX.get(usize::from(own)),
        None => messages::INDEX.get(usize::from(template)),
    };
    MESSAGES.get(usize::from(*place?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bytes_decide_as_soon_as_they_can() {
        for len in 0..MAGIC.len() {
            assert_eq!(select(&MAGIC[..len]), Selected::Undecided);
        }
        assert_eq!(select(b"GOBLINS!rest"), Selected::Sbe);
        for other in [&b"*1\r\n"[..], b"GET k\r\n", b"GOBLIN.OPTIMIZE k\r\n", b"GOBLINS\r\n", b"g", b"\0"] {
            assert_eq!(select(other), Selected::Resp, "{other:?}");
        }
    }

    #[test]
    fn a_frame_is_taken_whole_or_not_at_all() {
        let bytes = [&[3u8, 0, 0, 0][..], b"abc", &[0, 0, 0, 0, 9]].concat();
        assert_eq!(frame_at(&bytes, 0, 3), Ok(Framed::Whole { message: b"abc", end: 7 }));
        assert_eq!(frame_at(&bytes, 7, 3), Ok(Framed::Whole { message: b"", end: 11 }));
        for cut in 0..7 {
            assert_eq!(frame_at(&bytes[..cut], 0, 3), Ok(Framed::Incomplete));
        }
        assert_eq!(frame_at(&bytes, 11, 3), Ok(Framed::Incomplete));
        assert_eq!(frame_at(&bytes, 99, 3), Ok(Framed::Incomplete));
        assert_eq!(frame_at(&bytes[..4], 0, 2), Err(ProtocolError::FrameLength { bytes: 3, bytes_max: 2 }));
    }

    #[test]
    fn every_message_is_found_by_its_template() {
        for message in &MESSAGES {
            assert_eq!(by_template(message.template).map(|found| found.name), Some(message.name));
        }
        for unknown in [0, 17, 127, 128, 999, 1006, 1015, 1016, u16::MAX] {
            assert!(by_template(unknown).is_none(), "{unknown}");
        }
    }
}
