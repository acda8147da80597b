//! The header of a ring file: where its fields are and which of them can be believed.
//!
//! ```text
//!   0  magic u32, version u32          64  sq_head     (server)
//!   8  sq_capacity                    128  sq_tail     (client)
//!  16  cq_capacity                    192  cq_head     (client)
//!  24  sq_offset                      256  cq_tail     (server)
//!  32  cq_offset                      320  ended      (server; ours)
//!  40  epoch        (client)             384  left       (client; ours)
//!  48  epoch_ack    (server)
//!  56  mirror u32, owner_pid u32
//! ```
//!
//! Little-endian; every field is a u64 unless it says otherwise; positions have a cache line each.
//! A client begins a session by raising `epoch`; the server empties both directions and answers in `epoch_ack`. Where
//! the original has nothing, the number of a session that has ended stands in `ended`, that of one whose client has gone
//! in `left`. A server that can be woken says so in `extension`; a client that knows how writes the number of its session
//! to `own_epoch` before it asks for it, and either side tells in `parked` that it sleeps, see [`super::parking`].
//!
//! Source: the ring of Goblin Core v0.10.2, header version 3.

use std::fmt;

use super::ring::{LINE_BYTES, Word};

/// What a ring begins with: the bytes `GRNG`.
pub const MAGIC: u32 = u32::from_le_bytes(*b"GRNG");

/// The version of the header we speak.
pub const VERSION: u32 = 3;

/// Bytes of the header that have a meaning to the original.
pub const HEADER_BYTES: usize = 320;

/// A ring has at least a page each way.
pub const CAPACITY_MIN: u64 = 4096;

/// What our servers write to `extension`: the bytes `GBEL` and the version 1 of doorbells.
pub(super) const EXTENSION: u64 = u32::from_le_bytes(*b"GBEL") as u64 | 1 << 32;

/// Places of the fields, in words.
pub(super) mod at {
    pub(in crate::shm) const MAGIC_AND_VERSION: usize = 0;
    pub(in crate::shm) const SQ_CAPACITY: usize = 1;
    pub(in crate::shm) const CQ_CAPACITY: usize = 2;
    pub(in crate::shm) const SQ_OFFSET: usize = 3;
    pub(in crate::shm) const CQ_OFFSET: usize = 4;
    pub(in crate::shm) const EPOCH: usize = 5;
    pub(in crate::shm) const EPOCH_ACK: usize = 6;
    pub(in crate::shm) const MIRROR_AND_PID: usize = 7;
    pub(in crate::shm) const SQ_HEAD: usize = 8;
    pub(in crate::shm) const SQ_TAIL: usize = 16;
    pub(in crate::shm) const CQ_HEAD: usize = 24;
    pub(in crate::shm) const CQ_TAIL: usize = 32;
    pub(in crate::shm) const ENDED: usize = 40;
    pub(in crate::shm) const EXTENSION: usize = 41;
    pub(in crate::shm) const SERVER_PARKED: usize = 42;
    pub(in crate::shm) const LEFT: usize = 48;
    pub(in crate::shm) const OWN_EPOCH: usize = 49;
    pub(in crate::shm) const CLIENT_PARKED: usize = 50;
}

const _: () = assert!(at::CQ_TAIL * 8 + LINE_BYTES as usize == HEADER_BYTES);

/// Where the two directions lie in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Geometry {
    /// Bytes of the client's requests: a power of two.
    pub sq_capacity: u64,
    /// Bytes of the server's replies: a power of two.
    pub cq_capacity: u64,
    /// Where they begin in the file.
    pub sq_offset: u64,
    /// See [`Geometry::sq_offset`].
    pub cq_offset: u64,
}

impl Geometry {
    /// A header of `page` bytes and behind it a direction of `capacity` bytes each way.
    pub fn new(page: u64, capacity: u64) -> Self {
        Geometry { sq_capacity: capacity, cq_capacity: capacity, sq_offset: page, cq_offset: page + capacity }
    }

    /// Bytes of the whole file.
    pub fn file_bytes(&self) -> u64 {
        self.cq_offset + self.cq_capacity
    }

    /// Writes a header for an empty ring, its magic last. `pid` is the server's.
    pub(super) fn write(&self, words: &[impl Word], pid: u32) {
        words[at::MAGIC_AND_VERSION].set(0);
        words[at::SQ_CAPACITY].set(self.sq_capacity);
        words[at::CQ_CAPACITY].set(self.cq_capacity);
        words[at::SQ_OFFSET].set(self.sq_offset);
        words[at::CQ_OFFSET].set(self.cq_offset);
        words[at::MIRROR_AND_PID].set(u64::from(pid) << 32);
        for zeroed in [at::EPOCH, at::EPOCH_ACK, at::SQ_HEAD, at::SQ_TAIL, at::CQ_HEAD, at::CQ_TAIL] {
            words[zeroed].set(0);
        }
        for zeroed in [at::ENDED, at::EXTENSION, at::SERVER_PARKED, at::LEFT, at::OWN_EPOCH, at::CLIENT_PARKED] {
            words[zeroed].set(0);
        }
        words[at::MAGIC_AND_VERSION].release(u64::from(MAGIC) | u64::from(VERSION) << 32);
    }

    /// Reads and checks a header; `file_bytes` is how long the file is.
    ///
    /// # Errors
    /// What in it cannot be, or is not for us.
    pub(super) fn read(words: &[impl Word], file_bytes: u64) -> Result<Self, Unfit> {
        let first = words.first().ok_or(Unfit::NoRing)?.acquire();
        if words.len() * 8 < HEADER_BYTES || first as u32 != MAGIC {
            return Err(Unfit::NoRing);
        }
        if (first >> 32) as u32 != VERSION {
            return Err(Unfit::Version((first >> 32) as u32));
        }
        if words[at::MIRROR_AND_PID].get() as u32 != 0 {
            return Err(Unfit::Mirrored);
        }
        let field = |at: usize| words[at].get();
        let geometry = Geometry {
            sq_capacity: field(at::SQ_CAPACITY),
            cq_capacity: field(at::CQ_CAPACITY),
            sq_offset: field(at::SQ_OFFSET),
            cq_offset: field(at::CQ_OFFSET),
        };
        let lies_within = |offset: u64, capacity: u64| {
            let end = offset.checked_add(capacity);
            capacity.is_power_of_two()
                && capacity >= CAPACITY_MIN
                && offset.is_multiple_of(LINE_BYTES)
                && offset >= HEADER_BYTES as u64
                && end.is_some_and(|end| end <= file_bytes)
        };
        let [sq, cq] = [(geometry.sq_offset, geometry.sq_capacity), (geometry.cq_offset, geometry.cq_capacity)];
        let apart = || sq.0 + sq.1 <= cq.0 || cq.0 + cq.1 <= sq.0;
        match lies_within(sq.0, sq.1) && lies_within(cq.0, cq.1) && apart() {
            true => Ok(geometry),
            false => Err(Unfit::Geometry(geometry)),
        }
    }
}

/// Why a file is no ring for us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unfit {
    /// It does not begin like one, or not yet.
    NoRing,
    /// Its header has another version.
    Version(u32),
    /// Its directions are to be mapped twice each.
    Mirrored,
    /// Its directions do not lie in the file.
    Geometry(Geometry),
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unfit::NoRing => write!(f, "it is no ring"),
            Unfit::Version(version) => write!(f, "ring header version {version}, and this program speaks {VERSION}"),
            Unfit::Mirrored => write!(f, "its directions are to be mapped twice each, which this program does not do"),
            Unfit::Geometry(geometry) => write!(f, "its directions do not lie in the file: {geometry:?}"),
        }
    }
}

impl std::error::Error for Unfit {}

/// What a peer wrote into a ring and cannot be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Corrupt {
    /// Positions that are no multiples of 64, or further apart than the ring is long.
    Positions {
        /// The consumer's.
        head: u64,
        /// The producer's.
        tail: u64,
        /// Bytes of the ring.
        capacity: u64,
    },
    /// A record that leaves the ring, or what was published of it.
    Record {
        /// Bytes of its payload.
        len: u32,
        /// 0 for a record, 1 for a filler.
        flag: u32,
        /// Bytes published from its start on.
        waiting: u64,
        /// Bytes from its start to the end of the ring.
        to_end: u64,
    },
    /// A session that nobody may ask for.
    Epoch(u64),
    /// Its file was cut short.
    Lost,
}

impl fmt::Display for Corrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Corrupt::Positions { head, tail, capacity } => {
                write!(f, "head {head} and tail {tail} in a ring of {capacity} bytes")
            }
            Corrupt::Record { len, flag, waiting, to_end } => {
                write!(f, "a record of {len} bytes, flag {flag}, with {waiting} published and {to_end} to the end")
            }
            Corrupt::Epoch(epoch) => write!(f, "session {epoch} was asked for, and the ring has one session only"),
            Corrupt::Lost => write!(f, "its file was cut short"),
        }
    }
}

impl std::error::Error for Corrupt {}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use super::*;

    fn page() -> Vec<AtomicU64> {
        (0..512).map(|_| AtomicU64::new(u64::MAX)).collect()
    }

    #[test]
    fn the_first_bytes_are_those_of_the_original() {
        let words = page();
        let geometry = Geometry::new(4096, 8192);
        geometry.write(&words, 77);
        let bytes: Vec<u8> = words.iter().flat_map(|word| Word::get(word).to_le_bytes()).collect();
        assert_eq!(&bytes[..8], &[0x47, 0x52, 0x4e, 0x47, 3, 0, 0, 0]);
        assert_eq!(&bytes[56..64], &[0, 0, 0, 0, 77, 0, 0, 0]);
        assert_eq!(bytes[40..56], [0; 16]);
        assert!(bytes[64..320].chunks(64).all(|line| line[..8] == [0; 8]));
        assert_eq!(Geometry::read(&words, geometry.file_bytes()), Ok(geometry));
    }

    #[test]
    fn every_header_that_cannot_be_is_refused() {
        let geometry = Geometry::new(4096, 8192);
        let file = geometry.file_bytes();
        let with = |at: usize, value: u64| {
            let words = page();
            geometry.write(&words, 1);
            Word::set(&words[at], value);
            Geometry::read(&words, file)
        };
        assert_eq!(with(at::MAGIC_AND_VERSION, 0), Err(Unfit::NoRing));
        assert_eq!(with(at::MAGIC_AND_VERSION, u64::from(MAGIC) | 4 << 32), Err(Unfit::Version(4)));
        assert_eq!(with(at::MIRROR_AND_PID, 1), Err(Unfit::Mirrored));
        for capacity in [0, 1, 2048, 4095, 12_288, 1 << 63, u64::MAX] {
            assert!(matches!(with(at::SQ_CAPACITY, capacity), Err(Unfit::Geometry(_))), "{capacity}");
            assert!(matches!(with(at::CQ_CAPACITY, capacity), Err(Unfit::Geometry(_))), "{capacity}");
        }
        for offset in [0, 64, 4100, 8192, file, file - 64, u64::MAX, u64::MAX - 63] {
            assert!(matches!(with(at::SQ_OFFSET, offset), Err(Unfit::Geometry(_))), "{offset}");
            assert!(matches!(with(at::CQ_OFFSET, offset), Err(Unfit::Geometry(_))), "{offset}");
        }
        assert_eq!(Geometry::read(&page()[..39], file), Err(Unfit::NoRing));
        assert_eq!(Geometry::read(&Vec::<AtomicU64>::new(), file), Err(Unfit::NoRing));
        assert!(with(at::SQ_CAPACITY, 8192).is_ok());
    }
}
