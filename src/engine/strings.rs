//! GET SET SETEX PSETEX INCR DECR INCRBY DECRBY MGET MSET.
//!
//! Invariant: a key is stored through [`Engine::store`], which publishes the events of storing in Redis's order.

use smallvec::SmallVec;

use crate::command::{
    Args, Decr, Decrby, Get, Incr, Incrby, Mget, Mset, Psetex, Set, SetCondition, SetExpiration, Setex,
};
use crate::reply::{CommandError, Reply, Text};

use super::host::Host;
use super::keyspace::HashedKey;
use super::settings::NotifyFlags;
use super::value::Value;
use super::{Engine, Turn};

/// How long a stored value lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lifetime {
    /// Until it is removed.
    Unbounded,
    /// As long as the value before it would have.
    Kept,
    /// Until this time, milliseconds since 1970.
    Until(i64),
}

impl Engine {
    pub(super) fn get<H: Host>(&mut self, turn: &mut Turn<'_, H>, get: &Get<'_>) -> Result<Reply<'_>, CommandError> {
        let key = self.key(get.key);
        match self.read(turn, key) {
            None => Ok(Reply::Nil),
            Some(value) => value.as_text().map(Reply::Bulk).ok_or(CommandError::WrongType),
        }
    }

    pub(super) fn mget<H: Host>(&mut self, turn: &mut Turn<'_, H>, mget: &Mget<'_>) -> Result<Reply<'_>, CommandError> {
        let keys: SmallVec<[HashedKey<'_>; 16]> = mget.keys.iter().map(|key| self.key(key)).collect();
        for &key in &keys {
            self.read(turn, key);
        }
        let now_ms = turn.now.unix_ms();
        let database = &*self.database(turn.caller.db);
        let text = |key| database.get(key, now_ms).and_then(Value::as_text).map_or(Reply::Nil, Reply::Bulk);
        Ok(Reply::Array(keys.into_iter().map(text).collect()))
    }

    pub(super) fn set<H: Host>(&mut self, turn: &mut Turn<'_, H>, set: &Set<'_>) -> Result<Reply<'_>, CommandError> {
        let now_ms = turn.now.unix_ms();
        let lifetime = match set.expiration {
            None => Lifetime::Unbounded,
            Some(SetExpiration::Keepttl) => Lifetime::Kept,
            Some(SetExpiration::Seconds(time)) => Lifetime::after(time, 1000, now_ms, "set")?,
            Some(SetExpiration::Milliseconds(time)) => Lifetime::after(time, 1, now_ms, "set")?,
            Some(SetExpiration::UnixTimeSeconds(time)) => Lifetime::after(time, 1000, 0, "set")?,
            Some(SetExpiration::UnixTimeMilliseconds(time)) => Lifetime::after(time, 1, 0, "set")?,
        };
        let key = self.key(set.key);
        let old = if set.get { self.copy_text(turn, key)? } else { None };
        self.expire_if_due(turn, key);
        let stored = match set.condition {
            None => true,
            Some(SetCondition::Nx) => !self.database(turn.caller.db).contains(key, now_ms),
            Some(SetCondition::Xx) => self.database(turn.caller.db).contains(key, now_ms),
        };
        if stored {
            self.store(turn, key, Value::string(set.value), lifetime);
        }
        Ok(match (set.get, old) {
            (true, Some(text)) => Reply::Bulk(text),
            (true, None) => Reply::Nil,
            (false, _) if stored => Reply::OK,
            (false, _) => Reply::Nil,
        })
    }

    pub(super) fn setex<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        setex: &Setex<'_>,
    ) -> Result<Reply<'_>, CommandError> {
        let lifetime = Lifetime::after(setex.seconds, 1000, turn.now.unix_ms(), "setex")?;
        let key = self.key(setex.key);
        self.store(turn, key, Value::string(setex.value), lifetime);
        Ok(Reply::OK)
    }

    pub(super) fn psetex<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        psetex: &Psetex<'_>,
    ) -> Result<Reply<'_>, CommandError> {
        let lifetime = Lifetime::after(psetex.milliseconds, 1, turn.now.unix_ms(), "psetex")?;
        let key = self.key(psetex.key);
        self.store(turn, key, Value::string(psetex.value), lifetime);
        Ok(Reply::OK)
    }

    pub(super) fn mset<H: Host>(&mut self, turn: &mut Turn<'_, H>, mset: &Mset<'_>) -> Result<Reply<'_>, CommandError> {
        let pairs: Args<'_> = mset.pairs;
        for (key, value) in pairs.pairs() {
            let key = self.key(key);
            self.store(turn, key, Value::string(value), Lifetime::Unbounded);
        }
        Ok(Reply::OK)
    }

    pub(super) fn incr<H: Host>(&mut self, turn: &mut Turn<'_, H>, incr: &Incr<'_>) -> Result<Reply<'_>, CommandError> {
        self.add(turn, incr.key, 1)
    }

    pub(super) fn decr<H: Host>(&mut self, turn: &mut Turn<'_, H>, decr: &Decr<'_>) -> Result<Reply<'_>, CommandError> {
        self.add(turn, decr.key, -1)
    }

    pub(super) fn incrby<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        incrby: &Incrby<'_>,
    ) -> Result<Reply<'_>, CommandError> {
        self.add(turn, incrby.key, incrby.increment)
    }

    /// The least integer has no counterpart to add.
    pub(super) fn decrby<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        decrby: &Decrby<'_>,
    ) -> Result<Reply<'_>, CommandError> {
        let amount = decrby.decrement.checked_neg().ok_or(CommandError::DecrementOverflow)?;
        self.add(turn, decrby.key, amount)
    }

    fn add<H: Host>(&mut self, turn: &mut Turn<'_, H>, key: &[u8], amount: i64) -> Result<Reply<'_>, CommandError> {
        let (db, key) = (turn.caller.db, self.key(key));
        let sum = match self.write(turn, key) {
            Some(value) => {
                let sum = value.as_integer()?.checked_add(amount).ok_or(CommandError::Overflow)?;
                *value = Value::integer(sum);
                sum
            }
            None => {
                self.database(db).insert(key, Value::integer(amount), None);
                self.notify(turn.host, db, NotifyFlags::NEW, "new", key.bytes());
                amount
            }
        };
        self.changed(turn.host, db, NotifyFlags::STRING, "incrby", key.bytes());
        Ok(Reply::Integer(sum))
    }

    /// The string at a key, to be answered after the key has changed. Counts a hit or a miss.
    fn copy_text<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        key: HashedKey<'_>,
    ) -> Result<Option<Text<'static>>, CommandError> {
        let Some(value) = self.read(turn, key) else {
            return Ok(None);
        };
        Ok(Some(match value.as_text().ok_or(CommandError::WrongType)? {
            Text::Borrowed(bytes) => Text::Owned(bytes.to_vec()),
            Text::Owned(bytes) => Text::Owned(bytes),
            Text::Shared(bytes) => Text::Shared(bytes),
        }))
    }

    /// Gives a key a value, whatever it held, and publishes what came of it.
    fn store<H: Host>(&mut self, turn: &mut Turn<'_, H>, key: HashedKey<'_>, value: Value, lifetime: Lifetime) {
        self.expire_if_due(turn, key);
        let (db, now_ms) = (turn.caller.db, turn.now.unix_ms());
        if self.settings.eviction.policy.goes_by_frequency() {
            // Overwriting a key is a use of it, too.
            self.write(turn, key);
        }
        let database = self.database(db);
        let deadline = match lifetime {
            Lifetime::Unbounded => None,
            Lifetime::Kept => database.entry(key, now_ms).and_then(|entry| entry.deadline_ms()),
            Lifetime::Until(deadline) => Some(deadline),
        };
        let kind = value.kind();
        let old = database.set(key, value, deadline);
        match old {
            None => self.notify(turn.host, db, NotifyFlags::NEW, "new", key.bytes()),
            Some(old) => {
                self.notify(turn.host, db, NotifyFlags::OVERWRITTEN, "overwritten", key.bytes());
                if old.kind() != kind {
                    self.notify(turn.host, db, NotifyFlags::TYPE_CHANGED, "type_changed", key.bytes());
                }
                self.dispose(old);
            }
        }
        self.changed(turn.host, db, NotifyFlags::STRING, "set", key.bytes());
        if let Lifetime::Until(_) = lifetime {
            self.notify(turn.host, db, NotifyFlags::GENERIC, "expire", key.bytes());
        }
    }
}

impl Lifetime {
    /// `time` units of `unit_ms` milliseconds after `base_ms`. A time in the past is fine: the key is due at once.
    ///
    /// # Errors
    /// [`CommandError::InvalidExpire`] for the command `name` when the time is not positive or cannot be told in
    /// 64 bits.
    fn after(time: i64, unit_ms: i64, base_ms: i64, name: &'static str) -> Result<Self, CommandError> {
        let deadline = (time > 0).then(|| time.checked_mul(unit_ms)?.checked_add(base_ms)).flatten();
        deadline.map(Lifetime::Until).ok_or(CommandError::InvalidExpire(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lifetime_is_positive_and_fits() {
        assert_eq!(Lifetime::after(2, 1000, 5, "set"), Ok(Lifetime::Until(2_005)));
        assert_eq!(Lifetime::after(i64::MAX, 1, 0, "set"), Ok(Lifetime::Until(i64::MAX)));
        for (time, unit_ms, base_ms) in [(0, 1, 9), (-1, 1, 9), (i64::MAX, 1, 1), (i64::MAX / 1000 + 1, 1000, 0)] {
            let refused = Lifetime::after(time, unit_ms, base_ms, "setex");
            assert_eq!(refused, Err(CommandError::InvalidExpire("setex")));
        }
    }
}
