//! Whole strings: GET SET SETEX PSETEX SETNX GETSET GETDEL GETEX MGET MSET MSETNX.
//!
//! Invariant: a key is stored through [`Engine::store`], which publishes the events of storing in Redis's order.

use smallvec::SmallVec;

use crate::command::{
    Args, ExpirationWords, Get, Getdel, Getex, Getset, Mget, Mset, Msetnx, Psetex, Set, SetCondition, SetExpiration,
    Setex, Setnx, parse_integer,
};
use crate::reply::{CommandError, Reply, Text};

use super::host::Host;
use super::keyspace::HashedKey;
use super::settings::NotifyFlags;
use super::value::Value;
use super::{Engine, Turn};

/// How long a stored value lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lifetime {
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
        let stored = match set.condition {
            None => true,
            Some(SetCondition::Nx) => !self.is_present(turn, key),
            Some(SetCondition::Xx) => self.is_present(turn, key),
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

    /// None of the keys is stored when one of them is there already.
    pub(super) fn msetnx<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        msetnx: &Msetnx<'_>,
    ) -> Result<Reply<'_>, CommandError> {
        let pairs: Args<'_> = msetnx.pairs;
        for (key, _) in pairs.pairs() {
            let key = self.key(key);
            if self.is_present(turn, key) {
                return Ok(Reply::Integer(0));
            }
        }
        for (key, value) in pairs.pairs() {
            let key = self.key(key);
            self.store(turn, key, Value::string(value), Lifetime::Unbounded);
        }
        Ok(Reply::Integer(1))
    }

    pub(super) fn setnx<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        setnx: &Setnx<'_>,
    ) -> Result<Reply<'_>, CommandError> {
        let key = self.key(setnx.key);
        if self.is_present(turn, key) {
            return Ok(Reply::Integer(0));
        }
        self.store(turn, key, Value::string(setnx.value), Lifetime::Unbounded);
        Ok(Reply::Integer(1))
    }

    pub(super) fn getset<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        getset: &Getset<'_>,
    ) -> Result<Reply<'_>, CommandError> {
        let key = self.key(getset.key);
        let old = self.copy_text(turn, key)?;
        self.store(turn, key, Value::string(getset.value), Lifetime::Unbounded);
        Ok(old.map_or(Reply::Nil, Reply::Bulk))
    }

    pub(super) fn getdel<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        getdel: &Getdel<'_>,
    ) -> Result<Reply<'_>, CommandError> {
        let key = self.key(getdel.key);
        let Some(old) = self.copy_text(turn, key)? else { return Ok(Reply::Nil) };
        self.delete(turn, key);
        Ok(Reply::Bulk(old))
    }

    /// A deadline that is past deletes the key, as EXPIREAT does and SET does not.
    pub(super) fn getex<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        getex: &Getex<'_>,
    ) -> Result<Reply<'_>, CommandError> {
        let (db, key, now_ms) = (turn.caller.db, self.key(getex.key), turn.now.unix_ms());
        let Some(text) = self.copy_text(turn, key)? else { return Ok(Reply::Nil) };
        let Some(expiration) = getex.expiration else { return Ok(Reply::Bulk(text)) };
        match expiration_ms(expiration, now_ms)? {
            Some(deadline_ms) if deadline_ms <= now_ms => {
                self.delete(turn, key);
            }
            Some(deadline_ms) => {
                self.database(db).set_deadline(key, Some(deadline_ms));
                self.changed(turn.host, db, NotifyFlags::GENERIC, "expire", key.bytes());
            }
            None => {
                let is_volatile =
                    self.database(db).entry(key, now_ms).is_some_and(|entry| entry.deadline_ms().is_some());
                if is_volatile {
                    self.database(db).set_deadline(key, None);
                    self.changed(turn.host, db, NotifyFlags::GENERIC, "persist", key.bytes());
                }
            }
        }
        Ok(Reply::Bulk(text))
    }

    /// Whether a key is there, for a command that would write to it.
    fn is_present<H: Host>(&mut self, turn: &mut Turn<'_, H>, key: HashedKey<'_>) -> bool {
        self.expire_if_due(turn, key);
        let now_ms = turn.now.unix_ms();
        self.database(turn.caller.db).contains(key, now_ms)
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
    pub(super) fn store<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        key: HashedKey<'_>,
        value: Value,
        lifetime: Lifetime,
    ) {
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
            None => self.added(turn.host, db, key.bytes()),
            Some(old) => self.replaced(turn.host, db, key.bytes(), old, kind),
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

/// When GETEX lets a key expire; none for never.
fn expiration_ms(words: ExpirationWords<'_>, now_ms: i64) -> Result<Option<i64>, CommandError> {
    let (word, unit_ms, base_ms) = match words {
        ExpirationWords::Persist => return Ok(None),
        ExpirationWords::Seconds(word) => (word, 1000, now_ms),
        ExpirationWords::Milliseconds(word) => (word, 1, now_ms),
        ExpirationWords::UnixTimeSeconds(word) => (word, 1000, 0),
        ExpirationWords::UnixTimeMilliseconds(word) => (word, 1, 0),
    };
    let time = parse_integer(word).ok_or(CommandError::NotInteger)?;
    match Lifetime::after(time, unit_ms, base_ms, "getex")? {
        Lifetime::Until(deadline_ms) => Ok(Some(deadline_ms)),
        Lifetime::Unbounded | Lifetime::Kept => Ok(None),
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
