//! One connection on the server's side, and its turn: requests in, replies and pushes out.
//!
//! Invariant: [`turn`] contains no `await` and leaves no borrow behind; everything it needs is lent to it.

use std::io;
use std::task::Waker;
use std::time::Duration;

use crate::command::Spec;
use crate::engine::{Caller, ClientFacts, ClientId, SubscriberId};
use crate::limits::{FLUSH_BYTES_MAX, OUTBOX_BUFFER_BYTES, STREAM_STRINGS_PER_PIECE};
use crate::protocol::resp::Decoder;
use crate::protocol::resp::reply::Streamed;
use crate::protocol::sbe::{self, Form};
use crate::transport::{Link, Peer};

use super::demand::Partner;
use super::dialect::tell_gap;
use super::hold::{Hold, Next};
use super::outbox::{Flushed, Outbox};

/// One connection.
pub(super) struct Session {
    pub(super) id: ClientId,
    pub(super) subscriber: SubscriberId,
    /// Away while its own turn runs.
    pub(super) caller: Option<Caller>,
    /// How its pushes are encoded, see [`Caller::push_form`]; follows the caller's at the end of each command.
    pub(super) resp: u8,
    /// Its first bytes have not told yet whether it speaks SBE.
    pub(super) undecided: bool,
    /// How the SBE request under way is answered.
    pub(super) form: Form,
    /// True while anything is joined: decides the class of its output limits.
    pub(super) subscribed: bool,
    /// Watches the commands of all (MONITOR).
    pub(super) monitor: bool,
    pub(super) decoder: Decoder,
    pub(super) inbox: Inbox,
    pub(super) outbox: Outbox,
    /// How long the command under way has run so far, see [`crate::engine::Work`]; no other request is executed before
    /// its end.
    pub(super) working: Option<Duration>,
    /// A long reply under way; no other request is executed before its end.
    pub(super) telling: Option<Box<Telling>>,
    pub(super) link: Link,
    pub(super) peer: Box<Peer>,
    /// Wakes the task that serves this session.
    pub(super) waker: Option<Waker>,
    pub(super) state: State,
    /// In the table's list of sessions with fresh output.
    pub(super) queued_for_flush: bool,
    /// When the soft limit of its output was first exceeded, ms since 1970.
    pub(super) over_soft_since_ms: Option<u64>,
    pub(super) created_ms: u64,
    pub(super) active_ms: u64,
    pub(super) last_command: Option<&'static Spec>,
    pub(super) net_in: u64,
    pub(super) net_out: u64,
    pub(super) commands: u64,
    /// Pushes lost because this session could not take them.
    pub(super) dropped: u64,
    /// Messages that wait where the session said what becomes of them.
    pub(super) hold: Option<Box<Hold>>,
    /// The other session of a ring on demand: over the ring, or over the socket.
    pub(super) partner: Option<Partner>,
}

/// A reply that is told piece by piece.
pub(super) struct Telling {
    pub(super) reply: Told,
    /// What was pushed meanwhile and comes after it.
    pub(super) behind: Outbox,
}

/// The same in either protocol.
pub(super) enum Told {
    Resp(Streamed),
    Sbe(sbe::reply::Streamed),
}

impl Told {
    fn advance(&mut self, strings: usize, outbox: &mut Outbox) -> bool {
        match self {
            Told::Resp(streamed) => streamed.advance(strings, outbox),
            Told::Sbe(streamed) => streamed.advance(strings, outbox),
        }
    }
}

/// Where a session stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Serving.
    Open,
    /// Held back by CLIENT PAUSE: its next command waits.
    Paused,
    /// No more requests are read; it ends when its outbox is sent.
    Draining,
    /// Its connection is the other end of a ring on demand: what comes over it only wakes.
    Lifeline,
    /// It ends now; unsent output is lost.
    Doomed,
}

/// Bytes received and not yet executed.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    bytes: Vec<u8>,
    /// Start of the first request not yet executed.
    at: usize,
    /// A complete request may be waiting, so that the next turn need not read first.
    pub(super) more: bool,
}

impl Inbox {
    /// Bytes waiting.
    pub(super) fn len(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// Room left before the buffer must grow.
    pub(super) fn free(&self) -> usize {
        self.bytes.capacity() - self.bytes.len()
    }

    /// Heap bytes.
    pub(super) fn heap_bytes(&self) -> usize {
        self.bytes.capacity()
    }

    /// Takes the waiting bytes out for a turn; give back what remains with [`Inbox::put_back`].
    pub(super) fn take(&mut self) -> (Vec<u8>, usize) {
        (std::mem::take(&mut self.bytes), std::mem::take(&mut self.at))
    }

    /// Gives back a buffer of which everything before `at` is done.
    pub(super) fn put_back(&mut self, mut bytes: Vec<u8>, at: usize) {
        if at == bytes.len() {
            return;
        }
        // Moving the rest is paid for by the half that is gone.
        if at > bytes.len() / 2 {
            bytes.drain(..at);
            self.at = 0;
        } else {
            self.at = at;
        }
        self.bytes = bytes;
    }

    /// Appends bytes that have just arrived.
    pub(super) fn extend(&mut self, fresh: &[u8]) {
        self.bytes.extend_from_slice(fresh);
    }

    /// Keeps a copy of bytes that arrived in a buffer lent for one turn.
    pub(super) fn keep(&mut self, rest: &[u8]) {
        debug_assert!(self.bytes.is_empty());
        self.bytes.extend_from_slice(rest);
        self.at = 0;
    }
}

impl Session {
    /// Unsent bytes, those behind a reply under way included.
    pub(super) fn unsent_bytes(&self) -> usize {
        self.fixed_bytes() + self.hold.as_ref().map_or(0, |hold| hold.bytes())
    }

    /// Those of them that nothing is dropped of.
    pub(super) fn fixed_bytes(&self) -> usize {
        self.outbox.bytes() + self.telling.as_ref().map_or(0, |telling| telling.behind.bytes())
    }

    /// Whether a command or its reply is under way, so that no other can be executed.
    pub(super) fn is_busy(&self) -> bool {
        self.working.is_some() || self.telling.is_some()
    }

    /// Where a push goes.
    pub(super) fn push_outbox(&mut self) -> &mut Outbox {
        match &mut self.telling {
            Some(telling) => &mut telling.behind,
            None => &mut self.outbox,
        }
    }

    /// Tells the next piece of a reply under way.
    pub(super) fn tell(&mut self) {
        let Some(telling) = &mut self.telling else { return };
        if telling.reply.advance(STREAM_STRINGS_PER_PIECE, &mut self.outbox) {
            self.outbox.append(&mut telling.behind);
            self.telling = None;
            // Requests may have waited for it.
            self.inbox.more = true;
        }
    }

    /// Sends what the peer will take.
    ///
    /// # Errors
    /// The connection is gone: doom the session.
    pub(super) fn flush(&mut self) -> io::Result<Flushed> {
        let sent_before = self.net_out;
        loop {
            match self.flush_outbox()? {
                Flushed::All if self.net_out - sent_before >= FLUSH_BYTES_MAX as u64 && self.unsent_bytes() > 0 => {
                    return Ok(Flushed::Enough);
                }
                Flushed::All if self.release_held(OUTBOX_BUFFER_BYTES) => {}
                flushed => return Ok(flushed),
            }
        }
    }

    /// Hands some of the messages that wait on to be sent, about so many bytes; false when there are none, or when a
    /// reply comes first.
    pub(super) fn release_held(&mut self, most: usize) -> bool {
        let Some(hold) = self.hold.as_mut().filter(|_| self.telling.is_none()) else { return false };
        let before = self.outbox.bytes();
        while self.outbox.bytes() - before < most
            && let Some(next) = hold.next()
        {
            match next {
                Next::Push(frame) => self.outbox.push_frame(&frame),
                Next::Gap(count) => tell_gap(count, self.resp, &mut self.outbox),
            }
        }
        self.outbox.bytes() > before
    }

    fn flush_outbox(&mut self) -> io::Result<Flushed> {
        let before = self.outbox.bytes();
        let link = &mut self.link;
        let flushed = self.outbox.flush(|slices| link.try_write(slices));
        self.net_out += (before - self.outbox.bytes()) as u64;
        if self.unsent_bytes() == 0 {
            self.over_soft_since_ms = None;
        }
        flushed
    }

    /// What CLIENT LIST tells; the caller's part is missing while its own turn runs.
    pub(super) fn facts(&self, now_ms: u64) -> ClientFacts {
        let outbox_bytes = self.unsent_bytes();
        let mut facts = ClientFacts {
            id: self.id,
            addr: self.peer.addr(),
            laddr: self.peer.laddr(),
            fd: self.link.fd(),
            age_s: now_ms.saturating_sub(self.created_ms) / 1000,
            idle_s: now_ms.saturating_sub(self.active_ms) / 1000,
            inbox_bytes: self.inbox.len(),
            inbox_free: self.inbox.free(),
            outbox_bytes,
            outbox_shared: self.outbox.shared_items(),
            total_bytes: self.heap_bytes() + size_of::<Session>(),
            last_command: self.last_command.map_or("NULL", |spec| spec.name),
            resp: self.resp,
            net_in: self.net_in,
            net_out: self.net_out,
            commands: self.commands,
            closing: matches!(self.state, State::Draining | State::Doomed),
            paused: self.state == State::Paused,
            unix: self.peer.is_unix(),
            ring_of: self.partner.as_ref().filter(|_| self.peer.is_ring()).map(|partner| partner.id),
            dropped: self.dropped,
            policy: self.hold.as_ref().map_or_else(Default::default, |hold| hold.rules.policy),
            ..ClientFacts::default()
        };
        if let Some(caller) = &self.caller {
            caller.describe(&mut facts);
        }
        facts
    }

    /// True once a password was given, or when none is needed. Ask between turns only.
    pub(super) fn is_authenticated(&self) -> bool {
        self.caller.as_ref().is_some_and(|caller| caller.authenticated)
    }

    /// Heap bytes of buffers and of what the caller holds.
    pub(super) fn heap_bytes(&self) -> usize {
        self.inbox.bytes.capacity()
            + self.outbox.heap_bytes()
            + self.telling.as_ref().map_or(0, |telling| telling.behind.heap_bytes())
            + self.hold.as_ref().map_or(0, |hold| hold.bytes())
            + self.caller.as_ref().map_or(0, Caller::heap_bytes)
            + size_of::<Peer>()
    }
}
