//! Subscribers, whose deliveries are read in the order in which they arrive.
//!
//! Servers write to their subscribers in different orders. Whoever reads in a fixed order measures how well that
//! matches, so the kernel's ready list says which socket is next, and rings are looked at in turns until each has had
//! its message.
//!
//! Invariant: a delivery nobody was to get fails the measurement.

use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::event::{Timespec, epoll};

use super::Failure;
use super::lane::Lane;

/// Sockets that one look is told of; the others are told next.
const EVENTS_PER_LOOK: usize = 64;

/// What one subscriber must get from a publication.
#[derive(Debug, Clone)]
pub(super) struct Receiver {
    /// Its number.
    pub(super) client: usize,
    /// All bytes of it.
    pub(super) bytes: Arc<[u8]>,
}

/// Subscribers of one thread.
pub(super) struct Listeners {
    lanes: Vec<Lane>,
    /// Of sockets when there are several; one is simply read.
    ready: Option<OwnedFd>,
    /// By lane: which receiver it is at the moment.
    role: Vec<Option<usize>>,
    /// Receivers that have not had their message.
    pending: Vec<usize>,
}

impl Listeners {
    pub(super) fn of(lanes: Vec<Lane>) -> Result<Self, Failure> {
        let refused = |error: rustix::io::Errno| Failure::Start(format!("cannot watch sockets: {error}"));
        let mut ready = None;
        if lanes.len() > 1 && lanes.iter().all(|lane| lane.descriptor().is_some()) {
            let all = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(refused)?;
            for (number, lane) in lanes.iter().enumerate() {
                let Some(socket) = lane.descriptor() else { continue };
                epoll::add(&all, socket, epoll::EventData::new_u64(number as u64), epoll::EventFlags::IN)
                    .map_err(refused)?;
            }
            ready = Some(all);
        }
        let role = vec![None; lanes.len()];
        Ok(Listeners { lanes, ready, role, pending: Vec::new() })
    }

    /// A publication was made: these are to get it.
    pub(super) fn expect(&mut self, receivers: &[Receiver]) {
        self.pending.clear();
        self.pending.extend(0..receivers.len());
        for (number, receiver) in receivers.iter().enumerate() {
            self.role[receiver.client] = Some(number);
        }
    }

    /// Looks once, which reads everything that is there. True when all have had their message.
    pub(super) fn look(&mut self, receivers: &[Receiver]) -> Result<bool, Failure> {
        match &self.ready {
            Some(_) if !self.pending.is_empty() => self.look_at_ready(receivers)?,
            _ => self.look_at_all(receivers)?,
        }
        Ok(self.pending.is_empty())
    }

    fn look_at_all(&mut self, receivers: &[Receiver]) -> Result<(), Failure> {
        let mut at = 0;
        while at < self.pending.len() {
            let receiver = &receivers[self.pending[at]];
            match self.lanes[receiver.client].poll(&receiver.bytes)? {
                true => {
                    self.role[receiver.client] = None;
                    self.pending.swap_remove(at);
                }
                false => at += 1,
            }
        }
        Ok(())
    }

    fn look_at_ready(&mut self, receivers: &[Receiver]) -> Result<(), Failure> {
        let Some(ready) = &self.ready else { return Ok(()) };
        let mut events = [MaybeUninit::uninit(); EVENTS_PER_LOOK];
        let told = match epoll::wait(ready, &mut events, Some(&Timespec::default())) {
            Ok((told, _)) => told,
            Err(rustix::io::Errno::INTR) => return Ok(()),
            Err(error) => return Err(Failure::Start(format!("cannot watch sockets: {error}"))),
        };
        for event in told {
            let lane = event.data.u64() as usize;
            let wanted = self.role[lane].map(|number| (number, &receivers[number].bytes));
            let Some((number, bytes)) = wanted else {
                // Nothing was to come: whatever it is fails.
                self.lanes[lane].poll(b"\0")?;
                continue;
            };
            if self.lanes[lane].poll(bytes)? {
                self.role[lane] = None;
                self.pending.retain(|pending| *pending != number);
            }
        }
        Ok(())
    }
}
