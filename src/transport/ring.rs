//! A ring as a way to a peer: a path that one client at a time may take.
//!
//! Invariant: a session's end stops working once the next client has begun: its bytes never reach somebody else.
//! Deliberately unknown here: who looks at it when.

use std::cell::{Cell, RefCell};
use std::io::{self, IoSlice};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use crate::shm::layout::CAPACITY_MIN;
use crate::shm::region::RingError;
use crate::shm::{Corrupt, Ends, Region, parking};

use super::Bell;

/// Bytes each way for a size as people write it: decimal digits and perhaps `b`, `k`, `kb`, `m`, `mb`, `g` or `gb` in
/// any case, base 1024; made a power of two of at least a page. None for anything else, zero, and more than 1 GiB.
pub fn ring_capacity(text: &str) -> Option<u64> {
    let digits = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit: u64 = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kb" => 1 << 10,
        "m" | "mb" => 1 << 20,
        "g" | "gb" => 1 << 30,
        _ => return None,
    };
    let bytes = number.parse::<u64>().ok()?.checked_mul(unit).filter(|bytes| (1..=CAPACITY_MAX).contains(bytes))?;
    Some(RingDoor::capacity_for(bytes))
}

/// Bytes of the largest ring each way.
const CAPACITY_MAX: u64 = 1 << 30;

/// A ring that this process serves.
#[derive(Debug)]
pub struct RingDoor {
    region: Arc<Region>,
    ends: Rc<RefCell<Ends>>,
    bell: Rc<Bell>,
    path: Rc<PathBuf>,
    /// Permissions of the file.
    mode: u32,
    /// What its client wrote and cannot be, found by who writes to it.
    fault: Rc<Cell<Option<Corrupt>>>,
    /// The session begun last.
    epoch: u64,
    /// Its client has been told that nobody looks.
    parked: bool,
}

impl RingDoor {
    /// Makes a ring of `capacity` bytes each way at `path` with the permissions `mode`.
    ///
    /// # Errors
    /// [`RingError`].
    pub fn open(path: &Path, capacity: u64, mode: u32) -> Result<Self, RingError> {
        let region = Region::create(path, capacity, mode)?;
        let bell = Bell::make(path, mode);
        let bell = bell.map_err(|cause| RingError::System { path: path.to_owned(), doing: "make its bells", cause })?;
        Ok(Self::of(region, bell, path, mode))
    }

    /// Makes a ring of `capacity` bytes each way for the one client that rings `bell`: at `path`, where this user alone
    /// finds it, or without one in memory that has no name. Its first session has begun. `name` is what it is called.
    ///
    /// # Errors
    /// [`RingError`].
    pub fn demand(path: Option<&Path>, name: &Path, capacity: u64, bell: Bell) -> Result<Self, RingError> {
        const MODE: u32 = 0o600;
        let region = match path {
            Some(path) => Region::create(path, capacity, MODE)?,
            None => Region::anonymous(capacity)?,
        };
        region.begin_at_once();
        Ok(Self::of(region, bell, name, MODE))
    }

    fn of(region: Region, bell: Bell, path: &Path, mode: u32) -> Self {
        region.announce_bell();
        let region = Arc::new(region);
        let ends = Ends::of_server(&region).expect("a fresh ring is empty");
        let epoch = region.acknowledged();
        let (ends, bell, path) = (Rc::new(RefCell::new(ends)), Rc::new(bell), Rc::new(path.to_owned()));
        RingDoor { region, ends, bell, path, mode, fault: Rc::default(), epoch, parked: false }
    }

    /// Version of the header.
    pub const LAYOUT: u32 = crate::shm::layout::VERSION;

    /// Bytes each way of a ring that is to have at least `bytes`, at most 1 GiB.
    pub fn capacity_for(bytes: u64) -> u64 {
        bytes.next_power_of_two().max(CAPACITY_MIN)
    }

    /// Removes the ring at `path` if its server is gone; true when it was.
    pub fn remove_dead(path: &Path) -> bool {
        Region::remove_dead(path)
    }

    /// What its client needs to open it where it has no path.
    ///
    /// # Errors
    /// There are no more descriptors.
    pub fn descriptor(&self) -> io::Result<OwnedFd> {
        self.region.descriptor()
    }

    /// Whether the file was cut short under us, so that nobody can be served here before [`RingDoor::renew`]. One load.
    pub fn is_lost(&self) -> bool {
        self.region.is_lost()
    }

    /// Whether a client that looks at the path finds this ring. Some system calls.
    pub fn is_in_place(&self) -> bool {
        self.region.is_in_place()
    }

    /// Makes the ring anew at its path, without a session; its bells stay.
    ///
    /// # Errors
    /// [`RingError`]: something else is there, or there is no room.
    pub fn renew(&mut self) -> Result<(), RingError> {
        self.region.remove();
        let region = Arc::new(Region::create(&self.path, self.capacity(), self.mode)?);
        region.announce_bell();
        self.ends = Rc::new(RefCell::new(Ends::of_server(&region).expect("a fresh ring is empty")));
        self.epoch = region.acknowledged();
        self.parked = false;
        self.region = region;
        Ok(())
    }

    /// Why nothing more can be written in the session begun last, if that is its client's doing.
    pub fn fault(&self) -> Option<Corrupt> {
        self.fault.get()
    }

    /// What its clients ring.
    pub fn bell(&self) -> &Rc<Bell> {
        &self.bell
    }

    /// Asks the client of the session begun last to ring from now on; false when it cannot, or has sent something, so
    /// that the ring must be looked at.
    pub fn park(&mut self) -> bool {
        if self.parked {
            return true;
        }
        if !self.region.rings_bells(self.epoch) {
            return false;
        }
        parking::park(self.region.server_parked());
        self.parked = true;
        if self.has_more() || self.knocks() || self.is_left() {
            self.unpark();
            return false;
        }
        true
    }

    /// Whether the client was asked to ring, and has not.
    pub fn is_parked(&self) -> bool {
        self.parked
    }

    /// The session that a client asks for.
    pub fn asked_for(&self) -> u64 {
        self.region.epoch()
    }

    /// Tells the client that it need not ring.
    pub fn unpark(&mut self) {
        if self.parked {
            self.parked = false;
            parking::unpark(self.region.server_parked());
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Rc<PathBuf> {
        &self.path
    }

    /// Bytes each way.
    pub fn capacity(&self) -> u64 {
        self.region.geometry().sq_capacity
    }

    /// Whether a client asks for a session that has not begun yet. One load.
    pub fn knocks(&self) -> bool {
        self.region.epoch() != self.epoch
    }

    /// Empties both directions for the client that asks. It may go on after [`RingDoor::welcome`].
    pub fn begin(&mut self) -> RingLink {
        self.epoch = self.region.epoch();
        {
            let ends = &mut *self.ends.borrow_mut();
            ends.consumer.discard();
            ends.producer.rewind();
        }
        self.region.begin_session(self.epoch);
        // A client that was killed may have left them.
        parking::unpark(self.region.client_parked());
        self.unpark();
        self.fault.set(None);
        let bell = self.region.rings_bells(self.epoch).then(|| Rc::clone(&self.bell));
        let (ends, region, fault) = (Rc::clone(&self.ends), Arc::clone(&self.region), Rc::clone(&self.fault));
        RingLink { ends, region, bell, fault, epoch: self.epoch }
    }

    /// Tells the client that its session has begun.
    pub fn welcome(&self) {
        self.region.acknowledge(self.epoch);
    }

    /// Whether the client of the session begun last has said that it leaves. What it sent before is still there.
    pub fn is_left(&self) -> bool {
        self.region.has_left(self.epoch)
    }

    /// Whether the client has sent something. One load when it has not.
    pub fn has_more(&self) -> bool {
        self.ends.borrow_mut().consumer.has_more()
    }

    /// Appends the next record's payload to `into` and gives its room back; false when there is none.
    ///
    /// # Errors
    /// What the client wrote cannot be.
    pub fn take(&self, into: &mut Vec<u8>) -> Result<bool, Corrupt> {
        let consumer = &mut self.ends.borrow_mut().consumer;
        let taken = consumer.take(into);
        consumer.release();
        if self.is_lost() { Err(Corrupt::Lost) } else { taken }
    }
}

/// A session's way to its peer over a ring.
#[derive(Debug)]
pub struct RingLink {
    ends: Rc<RefCell<Ends>>,
    region: Arc<Region>,
    /// Where a client sleeps that asks to be woken.
    bell: Option<Rc<Bell>>,
    fault: Rc<Cell<Option<Corrupt>>>,
    epoch: u64,
}

impl Drop for RingLink {
    fn drop(&mut self) {
        self.region.end_session(self.epoch);
        self.wake();
    }
}

impl RingLink {
    /// Wakes the client if it sleeps.
    fn wake(&self) {
        if let Some(bell) = &self.bell
            && parking::sleeps(self.region.client_parked())
        {
            bell.ring();
        }
    }

    /// Writes all of `bytes` in one record, or nothing; false when it does not fit now.
    pub(super) fn write_whole(&self, bytes: &[u8]) -> bool {
        let producer = &mut self.ends.borrow_mut().producer;
        if self.region.epoch() != self.epoch || bytes.len() > producer.payload_max() {
            return false;
        }
        // What cannot be is told by the next write that waits for room.
        let Ok(Some(mut claim)) = producer.claim(bytes.len()) else { return false };
        claim.write(bytes);
        claim.commit();
        producer.publish();
        self.wake();
        true
    }

    /// Writes as much as there is room for, in as few records as it takes.
    ///
    /// # Errors
    /// `WouldBlock` when there is no room now; `InvalidData` when the client's position cannot be; `ConnectionReset`
    /// when another session has begun.
    pub(super) fn try_write(&self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        if self.region.epoch() != self.epoch {
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        let corrupt = |corrupt: Corrupt| {
            self.fault.set(Some(corrupt));
            io::Error::new(io::ErrorKind::InvalidData, corrupt)
        };
        let producer = &mut self.ends.borrow_mut().producer;
        let total = slices.iter().map(|slice| slice.len()).sum::<usize>();
        let (mut left, mut written) = (total, 0);
        let (mut slice, mut at) = (0, 0);
        while left > 0 {
            // What is known of the room mostly suffices: a look at the peer's position costs a line of its cache.
            let mut len = left.min(producer.payload_max());
            let mut claim = match producer.claim(len).map_err(corrupt)? {
                Some(claim) => claim,
                None => {
                    let Some(room) = producer.room().map_err(corrupt)?.filter(|room| *room > 0) else { break };
                    len = len.min(room);
                    let Some(claim) = producer.claim(len).map_err(corrupt)? else { break };
                    claim
                }
            };
            left -= len;
            written += len;
            while len > 0 {
                let rest = &slices[slice][at..];
                let part = &rest[..rest.len().min(len)];
                claim.write(part);
                len -= part.len();
                (slice, at) = if part.len() == rest.len() { (slice + 1, 0) } else { (slice, at + part.len()) };
            }
            claim.commit();
        }
        producer.publish();
        if self.region.is_lost() {
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        self.wake();
        if written == 0 { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(written) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_people_write_them() {
        for (text, bytes) in [
            ("1", 4096),
            ("4096", 4096),
            ("5000", 8192),
            ("4kb", 4096),
            ("4K", 4096),
            ("64KB", 65_536),
            ("1m", 1 << 20),
            ("3MB", 1 << 22),
            ("1g", 1 << 30),
            ("100b", 4096),
        ] {
            assert_eq!(ring_capacity(text), Some(bytes), "{text}");
        }
        for text in ["", "0", "kb", "-1", "1.5k", "4 kb", "4kib", "2g", "99999999999999999999", "18014398509481984k"] {
            assert_eq!(ring_capacity(text), None, "{text}");
        }
    }
}
