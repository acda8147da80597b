//! What is wrong with a frame of the binary protocol, in words.
//!
//! Deliberately unknown here: how a frame is read.

use std::borrow::Cow;

/// Why a frame holds no request. The session lives on: its end is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameFault {
    /// Shorter than a header.
    TooShort,
    /// A string, a group or the block runs past the frame's end.
    Truncated {
        /// The message it claims to be.
        template: u16,
    },
    /// A fixed part shorter than the message has.
    ShortBlock {
        /// The message it claims to be.
        template: u16,
        /// What it announces.
        bytes: u16,
        /// What the message has.
        least: u16,
    },
    /// No message has this number, or only a server sends it.
    UnknownTemplate(u16),
}

impl FrameFault {
    /// The sentence after `ERR`.
    pub(super) fn text(self) -> Cow<'static, [u8]> {
        let text = match self {
            FrameFault::TooShort => return Cow::Borrowed(b"SBE frame shorter than its header of 8 bytes"),
            FrameFault::Truncated { template } => {
                format!("SBE message {template}: a length runs past the end of the frame")
            }
            FrameFault::ShortBlock { template, bytes, least } => {
                format!("SBE message {template}: block of {bytes} bytes, at least {least} are needed")
            }
            // The words of Goblin Core v0.10.2, on which its clients may match.
            FrameFault::UnknownTemplate(template) => format!("unknown SBE template id {template}"),
        };
        text.into_bytes().into()
    }
}

/// The sentence for a frame that announces too many bytes.
pub(super) fn too_long(bytes: u32, bytes_max: u32) -> Cow<'static, [u8]> {
    format!("Protocol error: SBE frame of {bytes} bytes, at most {bytes_max} are taken").into_bytes().into()
}
