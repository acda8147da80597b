//! How a session is answered: RESP2, RESP3 or SBE.
//!
//! Deliberately unknown here: what is answered, and when it is sent.

use crate::engine::Caller;
use crate::protocol::ProtocolError;
use crate::protocol::resp::reply as resp;
use crate::protocol::sbe::{self, Form};
use crate::reply::Reply;

use super::outbox::Outbox;
use super::session::{Telling, Told};

/// The protocol of one reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    /// Of this version, 2 or 3.
    Resp(u8),
    /// In this form.
    Sbe(Form),
}

/// Tells a subscriber that so many messages were dropped, in the form of its pushes.
pub(super) fn tell_gap(count: u64, form: u8, outbox: &mut Outbox) {
    match form {
        Caller::NO_RESP | Caller::NUMBERED => sbe::reply::dropped(count, outbox),
        _ => resp::dropped(count, outbox),
    }
}

impl Dialect {
    /// That of a session with this RESP version, or none, and this form of the request at hand.
    pub(super) fn of(resp: u8, form: Form) -> Self {
        match resp {
            Caller::NO_RESP => Dialect::Sbe(form),
            version => Dialect::Resp(version),
        }
    }

    /// Writes a reply, or begins to tell one that is long.
    pub(super) fn answer(self, reply: Reply<'_>, silent: bool, outbox: &mut Outbox) -> Option<Box<Telling>> {
        match reply.into_stream() {
            Ok(_) if silent => None,
            Ok((collection, pieces)) => {
                let reply = match self {
                    Dialect::Resp(version) => Told::Resp(resp::Streamed::new(collection, pieces, version)),
                    Dialect::Sbe(form) => Told::Sbe(sbe::reply::Streamed::new(collection, pieces, form)),
                };
                Some(Box::new(Telling { reply, behind: Outbox::default() }))
            }
            Err(reply) => {
                if !silent || matches!(reply, Reply::Confirmations(_)) {
                    self.encode(&reply, outbox);
                }
                None
            }
        }
    }

    /// Writes a reply.
    pub(super) fn encode(self, reply: &Reply<'_>, outbox: &mut Outbox) {
        match self {
            Dialect::Resp(version) => resp::encode(reply, version, outbox),
            Dialect::Sbe(form) => sbe::reply::encode(reply, form, outbox),
        }
    }

    /// In SBE the session's own pushes stand before the reply.
    pub(super) fn push_before(self, own: &mut Outbox, outbox: &mut Outbox) {
        if let Dialect::Sbe(_) = self {
            outbox.append(own);
        }
    }

    /// Writes what is answered before the session closes.
    pub(super) fn refuse_framing(self, broken: ProtocolError, outbox: &mut Outbox) {
        match self {
            Dialect::Resp(_) => resp::protocol_error(broken, outbox),
            Dialect::Sbe(_) => sbe::reply::protocol_error(broken, outbox),
        }
    }
}
