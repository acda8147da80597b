//! A connection to be measured: bytes out, and answers compared with what they must be as they arrive.

use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use super::Failure;
use super::dialect::Dialect;
use super::plan::SILENCE_MAX;
use crate::client::{Connection, Wire};

/// Looks between two glances at the clock and at whether to stop.
const LOOKS: u32 = 1024;

/// Room for what is received beside what is waited for.
const INBOX_BYTES: usize = 64 * 1024;

/// Watches over a wait: ends it when told to stop, or after too long a silence.
pub(super) struct Watch<'a> {
    stop: &'a AtomicBool,
    what: &'static str,
    looks: u32,
    began: Option<Instant>,
    /// Give the processor away between looks.
    yields: bool,
}

impl<'a> Watch<'a> {
    pub(super) fn of(stop: &'a AtomicBool, what: &'static str, yields: bool) -> Self {
        Watch { stop, what, looks: 0, began: None, yields }
    }

    /// Something came: the silence begins anew.
    pub(super) fn heard(&mut self) {
        self.began = None;
    }

    /// Nothing came.
    pub(super) fn look(&mut self) -> Result<(), Failure> {
        std::hint::spin_loop();
        self.looks += 1;
        if self.yields {
            std::thread::yield_now();
        }
        if self.looks < LOOKS {
            return Ok(());
        }
        self.looks = 0;
        if self.stop.load(Ordering::Relaxed) {
            return Err(Failure::Stopped);
        }
        match self.began.get_or_insert_with(Instant::now).elapsed() > SILENCE_MAX {
            true => Err(Failure::Silent(self.what)),
            false => Ok(()),
        }
    }
}

/// A connection and what came over it.
pub(super) struct Lane {
    wire: Wire,
    pub(super) dialect: Dialect,
    inbox: Vec<u8>,
    filled: usize,
    /// Bytes at the front that were compared already.
    compared: usize,
}

impl Lane {
    pub(super) fn over(connection: Connection, dialect: Dialect) -> Self {
        Lane { wire: connection.into_wire(), dialect, inbox: vec![0; INBOX_BYTES], filled: 0, compared: 0 }
    }

    /// Reads once. True when what was wanted is here, which is then taken.
    pub(super) fn poll(&mut self, wanted: &[u8]) -> Result<bool, Failure> {
        if self.filled < wanted.len() {
            self.fill(wanted.len())?;
        }
        let until = self.filled.min(wanted.len());
        if self.inbox[self.compared..until] != wanted[self.compared..until] {
            return Err(self.unexpected(wanted));
        }
        self.compared = until;
        if until < wanted.len() {
            return Ok(false);
        }
        self.take(until);
        Ok(true)
    }

    /// As [`Lane::poll`], when one of several answers of equal length is right.
    pub(super) fn poll_any(&mut self, wanted: &[Vec<u8>]) -> Result<bool, Failure> {
        let [first, others @ ..] = wanted else { return Ok(true) };
        if others.is_empty() {
            return self.poll(first);
        }
        if self.filled < first.len() {
            self.fill(first.len())?;
        }
        let got = &self.inbox[..self.filled];
        let Some(right) = wanted.iter().find(|wanted| got.starts_with(wanted)) else {
            let begins = wanted.iter().any(|wanted| wanted.starts_with(got));
            return if begins { Ok(false) } else { Err(self.unexpected(first)) };
        };
        self.take(right.len());
        Ok(true)
    }

    /// What has come instead of what was wanted; an error is given as such, whole.
    fn unexpected(&mut self, wanted: &[u8]) -> Failure {
        let deadline = Instant::now() + SILENCE_MAX;
        let is_error_like = self.inbox[..self.filled].starts_with(b"-") || self.dialect == Dialect::Sbe;
        loop {
            let got = &self.inbox[..self.filled];
            if let Some(words) = self.dialect.error(got) {
                return Failure::Refused(words);
            }
            // The rest of an error line, or of a frame, is on its way.
            let is_whole = match self.dialect {
                Dialect::Resp => !is_error_like,
                Dialect::Sbe => got.first_chunk().is_some_and(|len| got.len() >= 4 + u32::from_le_bytes(*len) as usize),
            };
            if is_whole || Instant::now() > deadline || self.fill(self.filled + 1).is_err() {
                return Failure::Unexpected { wanted: wanted.to_vec(), got: self.inbox[..self.filled].to_vec() };
            }
        }
    }

    fn fill(&mut self, needed: usize) -> Result<(), Failure> {
        if needed > self.inbox.len() {
            self.inbox.resize(needed + INBOX_BYTES, 0);
        }
        let (filled, len) = (self.filled, self.inbox.len());
        self.filled += self.wire.try_read(&mut self.inbox[filled..len])?;
        Ok(())
    }

    fn take(&mut self, count: usize) {
        self.inbox.copy_within(count..self.filled, 0);
        self.filled -= count;
        self.compared = 0;
    }

    /// Reads what is there and forgets it; how many bytes that was.
    pub(super) fn discard(&mut self) -> Result<usize, Failure> {
        let count = self.wire.try_read(&mut self.inbox)? + self.filled;
        self.filled = 0;
        Ok(count)
    }

    /// Writes what there is room for.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<usize, Failure> {
        Ok(self.wire.try_write(bytes)?)
    }

    /// Sends all of it; the other side must read meanwhile.
    pub(super) fn send(&mut self, bytes: &[u8], stop: &AtomicBool) -> Result<(), Failure> {
        let mut sent = self.wire.try_write(bytes)?;
        let mut watch = Watch::of(stop, "room to send", false);
        while sent < bytes.len() {
            watch.look()?;
            sent += self.wire.try_write(&bytes[sent..])?;
        }
        Ok(())
    }

    /// Sends requests while their answers are read, however many: neither side ever waits for the other. True when all
    /// answers were there at the first look behind the last request: then the server waited for us.
    pub(super) fn exchange(
        &mut self,
        requests: &[u8],
        answers: &[u8],
        stop: &AtomicBool,
        yields: bool,
    ) -> Result<bool, Failure> {
        let mut sent = self.wire.try_write(requests)?;
        let mut watch = Watch::of(stop, "an answer", yields);
        let mut looks = 0_u32;
        let mut known = self.filled;
        while !self.poll(answers)? {
            if sent < requests.len() {
                sent += self.wire.try_write(&requests[sent..])?;
            } else {
                looks = looks.saturating_add(1);
            }
            if self.filled != known {
                known = self.filled;
                watch.heard();
            }
            watch.look()?;
        }
        Ok(looks == 0)
    }

    /// None for a ring.
    pub(super) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.wire.descriptor()
    }
}
