//! What surrounds a turn: the bytes it runs over, then everyone it wrote to is sent for, and those who end are removed.

use std::time::Instant;

use crate::engine::{ClientId, ProcessRequest, SubscriberId};
use crate::limits::{INBOX_UNAUTHENTICATED_BYTES_MAX, OUTBOX_UNAUTHENTICATED_BYTES_MAX};

use super::outbox::Flushed;
use super::session::State;
use super::turn::{Arrival, TurnEnd, go_on, turn};
use super::{Inner, Shared, log};

impl Shared {
    /// Runs a turn over bytes that have just arrived.
    pub(super) fn turn_over(&self, subscriber: SubscriberId, fresh: &[u8]) {
        self.count_activity();
        let inner = &mut *self.inner.borrow_mut();
        let started = inner.begin_round();
        inner.table.stats.reads += 1;
        inner.table.stats.net_in += fresh.len() as u64;
        let Some(session) = inner.table.sessions.get_mut(subscriber.0 as usize) else { return };
        session.net_in += fresh.len() as u64;
        let waiting = session.inbox.len();
        if inner.cut_inbox(subscriber, waiting + fresh.len()) {
            inner.finish_round(self);
            return;
        }
        let Some(session) = inner.table.sessions.get_mut(subscriber.0 as usize) else { return };
        if waiting == 0 {
            let TurnEnd { consumed, more } = inner.turn(subscriber, fresh, started);
            if let Some(session) = inner.table.sessions.get_mut(subscriber.0 as usize) {
                session.inbox.keep(&fresh[consumed..]);
                session.inbox.more = more;
            }
        } else {
            session.inbox.extend(fresh);
            inner.turn_over_inbox(subscriber, started);
        }
        inner.finish_round(self);
    }

    /// Runs a turn over what the session has read already.
    pub(super) fn turn_again(&self, subscriber: SubscriberId) {
        self.count_activity();
        let inner = &mut *self.inner.borrow_mut();
        let started = inner.begin_round();
        inner.turn_over_inbox(subscriber, started);
        inner.finish_round(self);
    }

    /// Goes on with the session's long command.
    pub(super) fn go_on(&self, subscriber: SubscriberId) {
        self.count_activity();
        let inner = &mut *self.inner.borrow_mut();
        let started = inner.begin_round();
        go_on(&mut inner.engine, &mut inner.table, subscriber, started);
        if let Some(session) = inner.table.sessions.get_mut(subscriber.0 as usize) {
            // Requests may have waited for it.
            session.inbox.more |= !session.is_busy();
        }
        inner.finish_round(self);
    }

    /// Tells the next piece of the session's long reply.
    pub(super) fn tell(&self, subscriber: SubscriberId) {
        self.count_activity();
        let inner = &mut *self.inner.borrow_mut();
        inner.begin_round();
        inner.table.tell(subscriber);
        inner.finish_round(self);
    }

    /// Removes a session that can be read no more.
    pub(super) fn end(&self, subscriber: SubscriberId) {
        let inner = &mut *self.inner.borrow_mut();
        inner.table.doom(subscriber);
        inner.finish_round(self);
    }

    /// Removes a session whose task ends.
    pub(super) fn remove(&self, subscriber: SubscriberId, id: ClientId) {
        let inner = &mut *self.inner.borrow_mut();
        if inner.table.session(subscriber, id).is_some() {
            inner.table.doom(subscriber);
            inner.finish_round(self);
        }
    }
}

impl Inner {
    /// Reads the clock once for all commands of the round.
    pub(super) fn begin_round(&mut self) -> Instant {
        let started = Instant::now();
        self.table.now.unix_us = self.clock.unix_us(started);
        started
    }

    fn turn(&mut self, subscriber: SubscriberId, bytes: &[u8], started: Instant) -> TurnEnd {
        turn(&mut self.engine, &mut self.table, &mut self.window, Arrival { subscriber, bytes, started })
    }

    fn turn_over_inbox(&mut self, subscriber: SubscriberId, started: Instant) {
        let Some(session) = self.table.sessions.get_mut(subscriber.0 as usize) else { return };
        let (bytes, at) = session.inbox.take();
        let TurnEnd { consumed, more } = self.turn(subscriber, &bytes[at..], started);
        if let Some(session) = self.table.sessions.get_mut(subscriber.0 as usize) {
            session.inbox.put_back(bytes, at + consumed);
            session.inbox.more = more;
        }
    }

    /// Cuts a session that has sent more than it may have unexecuted: `waiting` bytes, counted as they arrive. What is
    /// left of earlier arrivals is one incomplete request, or what CLIENT PAUSE holds back.
    fn cut_inbox(&mut self, subscriber: SubscriberId, waiting: usize) -> bool {
        let Some(session) = self.table.sessions.get_mut(subscriber.0 as usize) else { return true };
        let limit = match session.is_authenticated() {
            true => self.table.settings.query_buffer_limit(),
            false => INBOX_UNAUTHENTICATED_BYTES_MAX,
        };
        let over = waiting > limit;
        if over {
            log::warning(format_args!(
                "client id={} addr={} cut: {waiting} bytes of requests pending, limit {limit}",
                session.id.0,
                session.peer.addr()
            ));
            self.table.stats.inbox_limit_cuts += 1;
            self.table.doom(subscriber);
        }
        over
    }

    /// Sends for every session with fresh output, removes those that end, and does what commands asked of the process.
    pub(super) fn finish_round(&mut self, shared: &Shared) {
        if !self.table.new_rings.is_empty() {
            self.open_new_rings(shared);
        }
        let mut fresh = std::mem::take(&mut self.table.fresh);
        for subscriber in fresh.drain(..) {
            self.flush(subscriber);
        }
        self.table.fresh = fresh;
        while let Some(subscriber) = self.table.doomed.pop() {
            self.sweep(subscriber);
        }
        self.engine.free_some();
        for request in std::mem::take(&mut self.table.asked) {
            match request {
                ProcessRequest::Shutdown { .. } => shared.shutdown.notify_one(),
                ProcessRequest::Unpause => self.resume_paused(),
                _ => {}
            }
        }
    }

    fn flush(&mut self, subscriber: SubscriberId) {
        let Some(session) = self.table.sessions.get_mut(subscriber.0 as usize) else { return };
        session.queued_for_flush = false;
        let sent_before = session.net_out;
        let flushed = session.flush();
        self.table.stats.writes += 1;
        self.table.stats.net_out += session.net_out - sent_before;
        match flushed {
            Err(_) => self.table.doom(subscriber),
            Ok(Flushed::All) if session.state == State::Draining => self.table.doom(subscriber),
            Ok(Flushed::All) => self.table.reclaim_buffer(subscriber),
            Ok(Flushed::Partly)
                if !session.is_authenticated() && session.outbox.bytes() > OUTBOX_UNAUTHENTICATED_BYTES_MAX =>
            {
                let pending = session.outbox.bytes();
                self.table.cut_output(subscriber, pending, "not read, and nobody logged in");
            }
            // Its own task waits for the peer to take more.
            Ok(Flushed::Partly | Flushed::Enough) => session.waker.iter().for_each(std::task::Waker::wake_by_ref),
        }
    }

    /// Removes a session: what it joined and watched, then itself.
    fn sweep(&mut self, subscriber: SubscriberId) {
        let Some(mut session) = self.table.sessions.try_remove(subscriber.0 as usize) else { return };
        if session.monitor {
            self.table.forget_monitor(subscriber);
        }
        if let Some(mut caller) = session.caller.take() {
            self.engine.disconnect(&mut caller);
        }
        if let Some(partner) = session.partner {
            self.table.part(partner, session.peer.is_ring());
        }
        session.waker.iter().for_each(std::task::Waker::wake_by_ref);
        log::verbose(format_args!("client id={} addr={} closed", session.id.0, session.peer.addr()));
    }

    /// Sends for everyone; true while something is left that a peer may still take.
    pub(super) fn flush_all(&mut self) -> bool {
        let sessions: Vec<SubscriberId> = self.table.sessions.iter().map(|(_, session)| session.subscriber).collect();
        sessions.into_iter().for_each(|subscriber| self.flush(subscriber));
        self.table.sessions.iter().any(|(_, session)| session.state != State::Doomed && session.unsent_bytes() > 0)
    }

    /// Lets sessions go on that CLIENT PAUSE held back.
    pub(super) fn resume_paused(&mut self) {
        for (_, session) in &mut self.table.sessions {
            if session.state == State::Paused {
                session.state = State::Open;
                session.inbox.more = true;
                session.waker.iter().for_each(std::task::Waker::wake_by_ref);
            }
        }
    }
}
