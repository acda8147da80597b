//! A ring as a pipe for bytes, for raw clients. The record format is the library's; what is in the records is not.

use std::io::{Error, ErrorKind, Result, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use goblin::shm::{Ends, Region, parking};

use crate::road::RingLease;
use crate::wire::WATCHDOG;

/// A session over a ring.
pub struct RingPipe {
    region: Arc<Region>,
    ends: Ends,
    epoch: u64,
    received: Vec<u8>,
    /// Over which it was asked for.
    socket: Option<UnixStream>,
    /// Given back last.
    _lease: Option<RingLease>,
}

impl RingPipe {
    /// Takes a ring, as soon as the server has begun the session.
    pub fn take(lease: RingLease) -> RingPipe {
        let opened = Region::open(lease.path());
        let region = Arc::new(opened.unwrap_or_else(|error| panic!("{error}")));
        let epoch = region.ask_for_session(false);
        wait(|| (region.acknowledged() == epoch).then_some(())).expect("a session");
        let ends = Ends::of_client(&region).expect("a sound ring");
        RingPipe { region, ends, epoch, received: Vec::new(), socket: None, _lease: Some(lease) }
    }

    /// The ring that was asked for over a socket, which wakes the server.
    pub fn demanded(socket: UnixStream, region: Region) -> RingPipe {
        let region = Arc::new(region);
        let epoch = region.acknowledged();
        let ends = Ends::of_client(&region).expect("a sound ring");
        RingPipe { region, ends, epoch, received: Vec::new(), socket: Some(socket), _lease: None }
    }

    /// The memory.
    pub fn region(&self) -> &Region {
        &self.region
    }

    /// The socket over which it was asked for.
    pub fn socket(&self) -> &UnixStream {
        self.socket.as_ref().expect("a ring on demand")
    }

    fn publish(&mut self) {
        self.ends.producer.publish();
        if let Some(mut socket) = self.socket.as_ref()
            && parking::sleeps(self.region.server_parked())
        {
            // It may be gone, which reading tells.
            let _ = socket.write(b"!");
        }
    }

    fn receive(&mut self) {
        while self.ends.consumer.take(&mut self.received).expect("a sound ring") {}
        self.ends.consumer.release();
    }

    /// What has arrived; nothing once the server has ended the session.
    pub fn read(&mut self, buf: &mut [u8]) -> Result<usize> {
        wait(|| {
            let has_ended = self.region.has_ended(self.epoch);
            self.receive();
            (has_ended || !self.received.is_empty()).then_some(())
        })?;
        let count = self.received.len().min(buf.len());
        buf[..count].copy_from_slice(&self.received[..count]);
        self.received.drain(..count);
        Ok(count)
    }

    /// What fits now, while replies are taken out.
    pub fn write_some(&mut self, bytes: &[u8]) -> Result<usize> {
        if self.region.has_ended(self.epoch) {
            return Err(ErrorKind::BrokenPipe.into());
        }
        self.receive();
        let Some(room) = self.ends.producer.room().expect("a sound ring").filter(|room| *room > 0) else {
            return Err(ErrorKind::WouldBlock.into());
        };
        let count = bytes.len().min(room);
        let mut claim = self.ends.producer.claim(count).expect("a sound ring").expect("room");
        claim.write(&bytes[..count]);
        claim.commit();
        self.publish();
        Ok(count)
    }

    /// One record, if there is room now.
    pub fn try_record(&mut self, bytes: &[u8]) -> bool {
        let Some(mut claim) = self.ends.producer.claim(bytes.len()).expect("a sound ring") else { return false };
        claim.write(bytes);
        claim.commit();
        self.publish();
        true
    }

    /// One record, as soon as there is room.
    pub fn record(&mut self, bytes: &[u8]) -> Result<()> {
        wait(|| {
            if self.region.has_ended(self.epoch) {
                return Some(Err(ErrorKind::BrokenPipe.into()));
            }
            self.receive();
            self.try_record(bytes).then_some(Ok(()))
        })?
    }

    /// Everything, as soon as there is room.
    pub fn write_all(&mut self, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            let count = wait(|| match self.write_some(bytes) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => None,
                other => Some(other),
            })??;
            bytes = &bytes[count..];
        }
        Ok(())
    }

    /// Says that nothing more will come.
    pub fn leave(&self) -> Result<()> {
        self.region.leave_session(self.epoch);
        Ok(())
    }
}

impl Drop for RingPipe {
    fn drop(&mut self) {
        self.region.leave_session(self.epoch);
        self.publish();
    }
}

/// Between two looks that found nothing, once a server that has a processor would have answered.
const REST: Duration = Duration::from_micros(20);

/// Looks until there is something, or for as long as a test may be kept waiting.
fn wait<T>(mut look: impl FnMut() -> Option<T>) -> Result<T> {
    let began = Instant::now();
    for looks in 0_u32.. {
        if let Some(found) = look() {
            return Ok(found);
        }
        if began.elapsed() > WATCHDOG {
            return Err(Error::new(ErrorKind::WouldBlock, "nothing came over the ring"));
        }
        // Tests run beside one another on few processors: who spins for long keeps the server from its own.
        match looks < 200 {
            true => std::hint::spin_loop(),
            false => std::thread::sleep(REST),
        }
    }
    unreachable!("the watchdog barks before")
}
