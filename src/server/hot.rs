//! Sessions that sent something a moment ago: while the engine thread polls, it reads them without asking the kernel
//! first which socket has something.
//!
//! A read that finds nothing costs less than one look at all sockets through the event loop, and one that finds
//! something saves that look. That pays for the one or two peers of a closed loop of request and reply; where more are
//! busy, the event loop tells cheaper.
//!
//! Invariant: what a peer sent is executed in its order. Either the session's task or a visit reads, never both at
//! once, and each hands over all it read before it returns.

use std::io::ErrorKind;

use crate::engine::SubscriberId;
use crate::limits::OUTBOX_PAUSE_BYTES;

use super::session::State;
use super::{Inner, Shared};

/// Sessions read directly.
const HOT_SESSIONS_MAX: usize = 2;

/// Reads in vain after which a session is forgotten; some 200 us.
const VAIN_READS_MAX: u32 = 1024;

/// Looks through the event loop for which direct reads are given up when too many sessions were busy.
const CROWDED_LOOKS: u32 = 256;

/// Visits between two looks through the event loop: everybody else waits for some 15 us at most.
const VISITS_PER_LOOK: u32 = 64;

/// The same where only rings are hot, which cost less to visit.
const RING_PASSES_PER_LOOK: u32 = 256;

/// Turns run between two looks through the event loop, which bounds what a busy hot session may delay others by.
const TURNS_PER_LOOK: u32 = 4;

/// How long requests over rings may keep others waiting for a look through the event loop.
const RINGS_PER_LOOK_US: u64 = 20;

/// Sessions that sent something a moment ago.
#[derive(Debug, Default)]
pub(super) struct Hot {
    sessions: [Option<Heat>; HOT_SESSIONS_MAX],
    crowded_for: u32,
}

#[derive(Debug, Clone, Copy)]
struct Heat {
    subscriber: SubscriberId,
    vain_reads: u32,
}

impl Hot {
    /// A session sent something.
    pub(super) fn warm(&mut self, subscriber: SubscriberId) {
        let heat = Heat { subscriber, vain_reads: 0 };
        let known = self.sessions.iter_mut().find(|place| place.is_some_and(|heat| heat.subscriber == subscriber));
        match known {
            Some(place) => *place = Some(heat),
            None if self.crowded_for > 0 => {}
            None => match self.sessions.iter_mut().find(|place| place.is_none()) {
                Some(place) => *place = Some(heat),
                None => *self = Hot { crowded_for: CROWDED_LOOKS, ..Hot::default() },
            },
        }
    }

    /// Forgets all of them.
    pub(super) fn cool(&mut self) {
        *self = Hot::default();
    }

    /// The session at a place, whose read is in vain unless it is warmed again.
    fn next(&mut self, place: usize) -> Option<SubscriberId> {
        let heat = self.sessions[place].as_mut()?;
        heat.vain_reads += 1;
        let subscriber = heat.subscriber;
        if heat.vain_reads > VAIN_READS_MAX {
            self.sessions[place] = None;
        }
        Some(subscriber)
    }
}

/// What a visit came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Visit {
    /// A turn was run.
    Turn,
    /// Nothing had arrived.
    Nothing,
}

impl Shared {
    /// Looks at hot sessions and rings until it is time to look at all.
    pub(super) fn look(&self) {
        self.visit_hot();
        if self.rings.borrow().is_empty() {
            return;
        }
        let begun_us = self.inner.borrow().table.now.unix_us;
        for _ in 0..RING_PASSES_PER_LOOK {
            // The clock was read for what came.
            if self.visit_rings() && self.inner.borrow().table.now.unix_us >= begun_us + RINGS_PER_LOOK_US {
                break;
            }
        }
    }

    fn visit_hot(&self) {
        let mut turns = 0;
        for _ in 0..VISITS_PER_LOOK {
            let mut visited = false;
            for place in 0..HOT_SESSIONS_MAX {
                let Some(subscriber) = self.hot.borrow_mut().next(place) else { continue };
                visited = true;
                turns += u32::from(self.visit(subscriber) == Visit::Turn);
            }
            if !visited || turns >= TURNS_PER_LOOK {
                break;
            }
            self.visit_rings();
        }
        let hot = &mut *self.hot.borrow_mut();
        hot.crowded_for = hot.crowded_for.saturating_sub(1);
    }

    fn visit(&self, subscriber: SubscriberId) -> Visit {
        let scratch = &mut *self.scratch.borrow_mut();
        let Some(read) = self.inner.borrow().read_now(subscriber, scratch) else { return Visit::Nothing };
        match read {
            Ok(count) if count > 0 => {
                self.hot.borrow_mut().warm(subscriber);
                self.turn_over(subscriber, &scratch[..count]);
                self.inner.borrow().hand_over(subscriber);
                Visit::Turn
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Visit::Nothing,
            // The end of the stream is still there for the session's task; an error is told once only.
            Ok(_) => Visit::Nothing,
            Err(_) => {
                self.end(subscriber);
                Visit::Nothing
            }
        }
    }
}

impl Inner {
    /// Reads from a session that may be read now.
    fn read_now(&self, subscriber: SubscriberId, buf: &mut [u8]) -> Option<std::io::Result<usize>> {
        let session = self.table.sessions.get(subscriber.0 as usize)?;
        let reads = session.state == State::Open && !session.inbox.more && !session.is_busy();
        (reads && session.outbox.bytes() < OUTBOX_PAUSE_BYTES).then(|| session.link.try_read(buf))
    }

    /// Lets the session's task go on with what a turn has left.
    fn hand_over(&self, subscriber: SubscriberId) {
        let Some(session) = self.table.sessions.get(subscriber.0 as usize) else { return };
        if session.inbox.more || session.is_busy() {
            session.waker.iter().for_each(std::task::Waker::wake_by_ref);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hot(hot: &mut Hot) -> Vec<u32> {
        (0..HOT_SESSIONS_MAX).filter_map(|place| hot.next(place)).map(|subscriber| subscriber.0).collect()
    }

    #[test]
    fn two_sessions_are_hot_and_a_third_makes_a_crowd() {
        let mut sessions = Hot::default();
        for id in [1, 2, 1, 2] {
            sessions.warm(SubscriberId(id));
        }
        assert_eq!(hot(&mut sessions), [1, 2]);
        sessions.warm(SubscriberId(3));
        assert!(hot(&mut sessions).is_empty());
        sessions.warm(SubscriberId(1));
        assert!(hot(&mut sessions).is_empty(), "a crowd lasts");
        sessions.crowded_for = 0;
        sessions.warm(SubscriberId(1));
        assert_eq!(hot(&mut sessions), [1]);
    }

    #[test]
    fn a_silent_session_is_forgotten_and_a_word_keeps_it() {
        let mut sessions = Hot::default();
        sessions.warm(SubscriberId(1));
        sessions.warm(SubscriberId(2));
        for _ in 0..=VAIN_READS_MAX {
            hot(&mut sessions);
            sessions.warm(SubscriberId(2));
        }
        assert_eq!(hot(&mut sessions), [2]);
    }
}
