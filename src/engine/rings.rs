//! GOBLIN.RING: a ring for a client that is connected over a Unix socket already.
//!
//! Deliberately unknown here: rings. The host makes them.

use crate::command::GoblinRing;
use crate::limits::{RING_DEMANDED_BYTES, RING_DEMANDED_BYTES_MAX, RING_FILE_DEMANDED_BYTES_MAX};
use crate::reply::{CommandError, Reply, RingRefusal, Text};

use super::caller::ReplyMode;
use super::host::Host;
use super::{Engine, Turn};

impl Engine {
    /// Answers bytes each way, version of the layout, id of the ring's session and, if there is one, its path.
    pub(super) fn goblin_ring<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        ring: &GoblinRing,
    ) -> Result<Reply<'_>, CommandError> {
        let caller = &*turn.caller;
        let listens = caller.subscriptions() + caller.shard_subscriptions() > 0 || caller.monitor;
        if listens || caller.replies != ReplyMode::On {
            return Err(CommandError::Ring(RingRefusal::Listening));
        }
        let most = if ring.wish.has_path { RING_FILE_DEMANDED_BYTES_MAX } else { RING_DEMANDED_BYTES_MAX };
        let bytes = match ring.wish.bytes {
            None => RING_DEMANDED_BYTES,
            Some(bytes) => u64::try_from(bytes)
                .ok()
                .filter(|bytes| (1..=most).contains(bytes))
                .ok_or(CommandError::Ring(RingRefusal::Bytes(most)))?,
        };
        let made = turn.host.make_ring(bytes, ring.wish.has_path).map_err(CommandError::Ring)?;
        let facts = [made.bytes, u64::from(made.layout), made.id.0];
        let facts = facts.into_iter().map(|fact| Reply::Integer(fact as i64));
        let path = made.path.map(|path| Reply::Bulk(Text::Owned(path)));
        Ok(Reply::Array(facts.chain(path).collect()))
    }
}
