//! One task per connection: fill, turn, flush.
//!
//! Invariant: a task runs at most two turns before it yields.

use std::io;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use crate::engine::{ClientId, SubscriberId};
use crate::limits::{OUTBOX_BUFFER_BYTES, OUTBOX_PAUSE_BYTES};

use crate::transport::RingDoor;

use super::Shared;
use super::outbox::Flushed;
use super::session::{Session, State};
use super::table::Table;

/// What a task does next.
enum Next {
    /// Let others run, then go on.
    Yield,
    /// The session is over.
    End,
}

/// Serves one connection until it ends.
pub(super) async fn serve(shared: Rc<Shared>, subscriber: SubscriberId, id: ClientId) {
    while let Next::Yield = std::future::poll_fn(|context| step(&shared, subscriber, id, context)).await {
        // Whoever is next may be another socket: rings are not behind all of them.
        shared.visit_rings();
        tokio::task::yield_now().await;
    }
    shared.remove(subscriber, id);
}

/// One step: send what is due, then execute what has arrived. Ready after a turn that may have left something,
/// pending until the peer or another session has something for this one.
fn step(shared: &Shared, subscriber: SubscriberId, id: ClientId, context: &mut Context<'_>) -> Poll<Next> {
    let mut is_second = false;
    loop {
        match shared.readiness(subscriber, id, context) {
            Readiness::Over => return Poll::Ready(Next::End),
            Readiness::Waits => return Poll::Pending,
            Readiness::More => {
                shared.turn_again(subscriber);
                return Poll::Ready(Next::Yield);
            }
            Readiness::Works => {
                shared.go_on(subscriber);
                return Poll::Ready(Next::Yield);
            }
            Readiness::Tells => {
                shared.tell(subscriber);
                return Poll::Ready(Next::Yield);
            }
            Readiness::Sends => return Poll::Ready(Next::Yield),
            Readiness::Wakes => {
                let scratch = &mut *shared.scratch.borrow_mut();
                match ready!(shared.poll_read(subscriber, context, scratch)) {
                    Ok(count) if count > 0 => {
                        shared.rung(subscriber);
                        return Poll::Ready(Next::Yield);
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    _ => return Poll::Ready(Next::End),
                }
            }
            Readiness::Reads => {}
        }
        let scratch = &mut *shared.scratch.borrow_mut();
        match ready!(shared.poll_read(subscriber, context, scratch)) {
            Ok(0) => return Poll::Ready(Next::End),
            Ok(count) => {
                shared.hot.borrow_mut().warm(subscriber);
                shared.turn_over(subscriber, &scratch[..count]);
                if count == scratch.len() || is_second {
                    return Poll::Ready(Next::Yield);
                }
                // The read left room, so that nothing more should be there: the next one registers the task.
                is_second = true;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return Poll::Ready(Next::End),
        }
    }
}

/// What a session can do now.
pub(super) enum Readiness {
    /// Read from its peer.
    Reads,
    /// Execute what it has read already.
    More,
    /// Go on with a long command.
    Works,
    /// Tell more of a long reply.
    Tells,
    /// Send more, once others had their turn.
    Sends,
    /// Read from its peer what is no request but wakes.
    Wakes,
    /// Nothing until it is woken.
    Waits,
    /// It has ended.
    Over,
}

impl Shared {
    /// Reads what the session's peer has sent.
    fn poll_read(
        &self,
        subscriber: SubscriberId,
        context: &mut Context<'_>,
        buf: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        match self.inner.borrow().table.sessions.get(subscriber.0 as usize) {
            Some(session) => session.link.poll_read(context, buf),
            None => Poll::Ready(Ok(0)),
        }
    }

    /// Sends what the session has and tells how it goes on; its task is registered for whatever must come first.
    fn readiness(&self, subscriber: SubscriberId, id: ClientId, context: &mut Context<'_>) -> Readiness {
        let table = &mut self.inner.borrow_mut().table;
        let Some(session) = table.session(subscriber, id) else { return Readiness::Over };
        if !session.waker.as_ref().is_some_and(|waker| waker.will_wake(context.waker())) {
            session.waker = Some(context.waker().clone());
        }
        let sent_before = session.net_out;
        let sending = send_on(session, context);
        table.after_sending(subscriber, sent_before, &sending)
    }

    /// As [`Shared::readiness`] for a session over a ring, whose poller comes again by itself.
    pub(super) fn ring_readiness(&self, subscriber: SubscriberId, id: ClientId, door: &RingDoor) -> Readiness {
        let table = &mut self.inner.borrow_mut().table;
        let Some(session) = table.session(subscriber, id) else { return Readiness::Over };
        if session.unsent_bytes() == 0 && session.state == State::Open && !session.is_busy() && !session.inbox.more {
            return Readiness::Reads;
        }
        let sent_before = session.net_out;
        let sending = session.flush();
        let full = matches!(sending, Ok(Flushed::Partly));
        match table.after_sending(subscriber, sent_before, &sending) {
            // Nobody will take the rest.
            _ if full && door.is_left() => Readiness::Over,
            // Whoever does not take its replies is not served, so that its requests wait in the ring.
            Readiness::Reads | Readiness::More if full => Readiness::Waits,
            readiness => readiness,
        }
    }
}

impl Table {
    /// What a session does next, once it has sent what it could.
    fn after_sending(
        &mut self,
        subscriber: SubscriberId,
        sent_before: u64,
        sending: &io::Result<Flushed>,
    ) -> Readiness {
        let Some(session) = self.sessions.get(subscriber.0 as usize) else { return Readiness::Over };
        let sent = session.net_out - sent_before;
        let readiness = match session.state {
            _ if sending.is_err() => Readiness::Over,
            _ if matches!(sending, Ok(Flushed::Enough)) => Readiness::Sends,
            State::Doomed => Readiness::Over,
            State::Lifeline => Readiness::Wakes,
            State::Draining if session.outbox.is_empty() => Readiness::Over,
            State::Draining | State::Paused => Readiness::Waits,
            State::Open if session.outbox.bytes() >= OUTBOX_PAUSE_BYTES => Readiness::Waits,
            State::Open if session.working.is_some() => Readiness::Works,
            State::Open if session.telling.is_some() => match session.outbox.bytes() >= OUTBOX_BUFFER_BYTES {
                true => Readiness::Waits,
                false => Readiness::Tells,
            },
            State::Open if session.inbox.more => Readiness::More,
            State::Open => Readiness::Reads,
        };
        self.reclaim_buffer(subscriber);
        self.stats.writes += u64::from(sent > 0);
        self.stats.net_out += sent;
        readiness
    }
}

/// Sends what the peer takes now, or a share of it; the task is registered for what the peer does not take.
fn send_on(session: &mut Session, context: &mut Context<'_>) -> io::Result<Flushed> {
    loop {
        match session.flush()? {
            Flushed::All => return session.link.output_done().map(|()| Flushed::All),
            Flushed::Enough => return Ok(Flushed::Enough),
            Flushed::Partly if session.link.poll_writable(context)?.is_pending() => return Ok(Flushed::Partly),
            Flushed::Partly => {}
        }
    }
}
