//! A ring under a connection, as the client of it.
//!
//! Invariant: while there is no room for a request, replies are taken out: the server reads no requests while its
//! replies have no room.
//! Invariant: what another client or a new server does with the ring ends the connection; nothing of theirs is read.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use socket2::Socket;

use super::stream::Wait;
use crate::transport::{Bell, Corrupt, Ends, Region, parking};

/// The longest a wait looks again and again before it sleeps. A server that answers at once answers within.
const SPIN_MAX: Duration = Duration::from_micros(50);

/// What no spinning at all grows to when an answer came so soon that it would have been seen.
const SPIN_MIN: Duration = Duration::from_micros(6);

/// The first rest between two looks, and the longest.
const REST_MIN: Duration = Duration::from_micros(50);
const REST_MAX: Duration = Duration::from_millis(1);

/// How often a wait looks whether the server is still there.
const ALIVE_CHECK: Duration = Duration::from_millis(250);

/// How long a server may take to begin a session when the caller sets no time.
const BEGIN_MAX: Duration = Duration::from_secs(10);

/// A session over a ring.
#[derive(Debug)]
pub(super) struct RingStream {
    region: Arc<Region>,
    ends: Ends,
    epoch: u64,
    /// What wakes a sleeping server and ourselves; none with a server that only looks.
    bell: Option<Bell>,
    /// The bell is a socket whose end is the ring's.
    demanded: bool,
    /// How long a wait spins: it learns what is worth it.
    spin: Duration,
    spin_max: Duration,
    /// Received and not yet read.
    received: Vec<u8>,
    at: usize,
}

impl RingStream {
    /// Takes the ring at `path`, whoever had it before.
    pub(super) fn connect(path: &Path, timeout: Option<Duration>) -> io::Result<Self> {
        let region = Arc::new(Region::open(path).map_err(io::Error::other)?);
        let bell = if region.has_bell() { Bell::open(path).ok() } else { None };
        let epoch = region.ask_for_session(bell.is_some());
        if let Some(bell) = &bell {
            bell.drain();
            bell.ring();
        }
        let deadline = Instant::now() + timeout.unwrap_or(BEGIN_MAX);
        let begun = rest_until(Wait::Until(deadline), || {
            if region.acknowledged() == epoch {
                return Ok(Some(()));
            }
            if !region.is_served() {
                return Err(io::Error::new(io::ErrorKind::ConnectionRefused, "no server holds this ring"));
            }
            Ok(None)
        })?;
        if begun.is_none() {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "the server did not begin a session"));
        }
        Self::begin(region, epoch, bell, false)
    }

    /// Takes the ring whose memory came over `socket`, which wakes either side from now on.
    pub(super) fn over(socket: Socket, memory: OwnedFd) -> io::Result<Self> {
        let region = Arc::new(Region::of_descriptor(memory).map_err(io::Error::other)?);
        let epoch = region.acknowledged();
        Self::begin(region, epoch, Some(Bell::over(socket)), true)
    }

    fn begin(region: Arc<Region>, epoch: u64, bell: Option<Bell>, demanded: bool) -> io::Result<Self> {
        let ends = Ends::of_client(&region).map_err(invalid)?;
        // On one processor the server runs only while we do not.
        let alone = std::thread::available_parallelism().is_ok_and(|processors| processors.get() == 1);
        let spin_max = if alone { Duration::ZERO } else { SPIN_MAX };
        Ok(RingStream { region, ends, epoch, bell, demanded, spin: spin_max, spin_max, received: Vec::new(), at: 0 })
    }

    /// Reads what is there, or waits for it. None when nothing came in time; 0 once the server is gone.
    pub(super) fn read(&mut self, buf: &mut [u8], wait: Wait) -> io::Result<Option<usize>> {
        if self.at == self.received.len() {
            self.received.clear();
            self.at = 0;
            match self.wait_for_records(wait)? {
                Arrived::Nothing => return Ok(None),
                Arrived::End => return Ok(Some(0)),
                Arrived::Records => {}
            }
        }
        let rest = &self.received[self.at..];
        let count = rest.len().min(buf.len());
        buf[..count].copy_from_slice(&rest[..count]);
        self.at += count;
        Ok(Some(count))
    }

    fn wait_for_records(&mut self, wait: Wait) -> io::Result<Arrived> {
        if let Some(arrived) = self.look()? {
            return Ok(arrived);
        }
        if matches!(wait, Wait::Never) {
            return Ok(Arrived::Nothing);
        }
        let began = Instant::now();
        while began.elapsed() < self.spin {
            std::hint::spin_loop();
            if let Some(arrived) = self.look()? {
                self.spin = (self.spin * 2).clamp(SPIN_MIN, SPIN_MAX).min(self.spin_max);
                return Ok(arrived);
            }
        }
        self.spin = if self.spin > SPIN_MIN { self.spin / 2 } else { Duration::ZERO };
        let slept_since = Instant::now();
        let mut checked = slept_since;
        let mut rest = REST_MIN;
        loop {
            let left = match wait {
                Wait::Until(deadline) => deadline.saturating_duration_since(Instant::now()),
                Wait::Forever | Wait::Never => Duration::MAX,
            };
            if left.is_zero() {
                return Ok(Arrived::Nothing);
            }
            let mut arrived = match self.bell.is_some() {
                true => self.sleep(left.min(ALIVE_CHECK))?,
                false => {
                    std::thread::sleep(rest.min(left));
                    rest = (rest * 2).min(REST_MAX);
                    self.look()?
                }
            };
            if arrived.is_none() && checked.elapsed() >= ALIVE_CHECK {
                checked = Instant::now();
                arrived = self.look_for_server()?;
            }
            if let Some(arrived) = arrived {
                if slept_since.elapsed() < SPIN_MAX {
                    self.spin = (self.spin * 2).clamp(SPIN_MIN, SPIN_MAX).min(self.spin_max);
                }
                return Ok(arrived);
            }
        }
    }

    /// The end, if the server is gone and has left nothing to read.
    fn look_for_server(&mut self) -> io::Result<Option<Arrived>> {
        if self.is_served() {
            return Ok(None);
        }
        Ok(Some(if self.receive()? { Arrived::Records } else { Arrived::End }))
    }

    /// Sleeps until the server rings, or for so long; then looks.
    fn sleep(&mut self, longest: Duration) -> io::Result<Option<Arrived>> {
        parking::park(self.region.client_parked());
        let mut arrived = self.look();
        if let (Ok(None), Some(bell)) = (&arrived, &self.bell) {
            bell.wait(longest);
            let is_served = bell.drain();
            arrived = self.look();
            if let (Ok(None), false) = (&arrived, is_served) {
                arrived = self.look_for_server();
            }
        }
        parking::unpark(self.region.client_parked());
        arrived
    }

    /// Looks once; none when there is nothing new.
    fn look(&mut self) -> io::Result<Option<Arrived>> {
        if self.receive()? {
            return Ok(Some(Arrived::Records));
        }
        self.still_ours()?;
        if !self.region.has_ended(self.epoch) {
            return Ok(None);
        }
        Ok(Some(if self.receive()? { Arrived::Records } else { Arrived::End }))
    }

    /// Takes all records that are there; false when there was none that said something.
    fn receive(&mut self) -> io::Result<bool> {
        let before = self.received.len();
        while self.ends.consumer.take(&mut self.received).map_err(invalid)? {}
        self.ends.consumer.release();
        self.still_ours()?;
        Ok(self.received.len() > before)
    }

    /// Writes some of `bytes`. None when there was no room in time.
    pub(super) fn write(&mut self, bytes: &[u8], wait: Wait) -> io::Result<Option<usize>> {
        let mut checked = Instant::now();
        rest_until(wait, || {
            self.still_ours()?;
            if self.region.has_ended(self.epoch) {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            if let Some(room) = self.ends.producer.room().map_err(invalid)?.filter(|room| *room > 0) {
                let count = bytes.len().min(room);
                if let Some(mut claim) = self.ends.producer.claim(count).map_err(invalid)? {
                    claim.write(&bytes[..count]);
                    claim.commit();
                    self.ends.producer.publish();
                    self.wake_server();
                    return Ok(Some(count));
                }
            }
            self.receive()?;
            if checked.elapsed() > ALIVE_CHECK {
                checked = Instant::now();
                if !self.is_served() {
                    return Err(io::ErrorKind::BrokenPipe.into());
                }
            }
            Ok(None)
        })
    }

    /// True when the server is gone and nothing it said is left. Never waits.
    pub(super) fn is_ended(&mut self) -> io::Result<bool> {
        let gone = self.region.has_ended(self.epoch) || !self.is_served();
        Ok(gone && self.at == self.received.len() && !self.receive()?)
    }

    /// Whether a living server is at the other end. A system call or two.
    fn is_served(&self) -> bool {
        match &self.bell {
            Some(bell) if self.demanded => !bell.is_gone(),
            _ => self.region.is_served(),
        }
    }

    fn wake_server(&self) {
        if let Some(bell) = &self.bell
            && parking::sleeps(self.region.server_parked())
        {
            bell.ring();
        }
    }

    /// # Errors
    /// Another client has taken the ring, or somebody has cut it short.
    fn still_ours(&self) -> io::Result<()> {
        if self.region.is_lost() {
            return Err(invalid(Corrupt::Lost));
        }
        match self.region.epoch() == self.epoch {
            true => Ok(()),
            false => Err(io::Error::new(io::ErrorKind::ConnectionReset, "another client has taken the ring")),
        }
    }
}

impl Drop for RingStream {
    fn drop(&mut self) {
        self.region.leave_session(self.epoch);
        self.wake_server();
    }
}

/// What a look has found.
enum Arrived {
    Records,
    /// The server has ended the session, or is gone.
    End,
    /// Nothing, in the time there was.
    Nothing,
}

fn invalid(corrupt: Corrupt) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, corrupt)
}

/// Looks until something is there or the time is over: again and again at first, then with rests that grow.
fn rest_until<T>(wait: Wait, mut look: impl FnMut() -> io::Result<Option<T>>) -> io::Result<Option<T>> {
    if let found @ Some(_) = look()? {
        return Ok(found);
    }
    let began = Instant::now();
    let mut rest = REST_MIN;
    loop {
        match wait {
            Wait::Never => return Ok(None),
            Wait::Until(deadline) if Instant::now() >= deadline => return Ok(None),
            Wait::Until(_) | Wait::Forever => {}
        }
        if began.elapsed() < SPIN_MAX {
            std::hint::spin_loop();
        } else {
            std::thread::sleep(rest);
            rest = (rest * 2).min(REST_MAX);
        }
        if let found @ Some(_) = look()? {
            return Ok(found);
        }
    }
}
