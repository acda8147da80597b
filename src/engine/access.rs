//! How commands reach a key: lazily expired, counted, checked for its type.
//!
//! Invariant: no command sees a value whose time has come; the first that looks removes it and publishes `expired`,
//! unless CLIENT PAUSE asked that nothing changes.

use crate::limits::EXPIRE_SEGMENTS_PER_SLICE;
use crate::reply::CommandError;

use super::expiry::Budget;
use super::host::{Host, Now};
use super::keyspace::{HashedKey, Keyspace};
use super::set::Set;
use super::settings::NotifyFlags;
use super::value::{Kind, Value};
use super::{Engine, Turn};

impl Engine {
    /// A key with its hash, computed once for all looks at it.
    pub(super) fn key<'k>(&self, bytes: &'k [u8]) -> HashedKey<'k> {
        HashedKey::new(bytes, &self.hasher)
    }

    /// The keyspace of a database.
    ///
    /// # Panics
    /// For a database that does not exist; SELECT and the like check.
    pub(super) fn database(&mut self, db: u16) -> &mut Keyspace {
        let database = &mut self.databases[usize::from(db)];
        database.track(self.tracker);
        database
    }

    /// Removes a key whose time has come. Every command calls it before it looks at a key.
    pub(super) fn expire_if_due<H: Host>(&mut self, turn: &mut Turn<'_, H>, key: HashedKey<'_>) {
        let db = turn.caller.db;
        if self.is_paused(turn.now) {
            return;
        }
        if let Some(entry) = self.database(db).take_due(key, turn.now.unix_ms()) {
            self.dispose(entry.into_parts().0);
            self.expired(turn.host, db, key.bytes());
        }
    }

    /// True while CLIENT PAUSE lasts.
    fn is_paused(&self, now: Now) -> bool {
        now.unix_ms() < self.paused_until_ms
    }

    /// Counts a key that expired and tells who wants to know.
    pub(super) fn expired<H: Host>(&mut self, host: &mut H, db: u16, key: &[u8]) {
        self.stats.expired_keys += 1;
        self.stats.changes += 1;
        self.watches.expire(db, key);
        self.notify(host, db, NotifyFlags::EXPIRED, "expired", key);
    }

    /// The value at a key, for a command that only reads. Counts a hit or a miss, and a use.
    pub(super) fn read<H: Host>(&mut self, turn: &mut Turn<'_, H>, key: HashedKey<'_>) -> Option<&Value> {
        if turn.caller.no_touch {
            return self.peek(turn, key);
        }
        self.use_key(turn, key)
    }

    /// As [`Engine::read`], also for connections that asked not to leave a trace.
    pub(super) fn use_key<H: Host>(&mut self, turn: &mut Turn<'_, H>, key: HashedKey<'_>) -> Option<&Value> {
        self.before_read(turn, key);
        let database = &mut self.databases[usize::from(turn.caller.db)];
        let found = database.read(key, turn.now.unix_ms(), &self.tracker, &mut self.random);
        self.stats.count_read(found.is_some());
        found
    }

    /// The value at a key, for a command that asks about the key and does not use it. Counts a hit or a miss.
    pub(super) fn peek<H: Host>(&mut self, turn: &mut Turn<'_, H>, key: HashedKey<'_>) -> Option<&Value> {
        self.before_read(turn, key);
        let found = self.databases[usize::from(turn.caller.db)].get(key, turn.now.unix_ms());
        self.stats.count_read(found.is_some());
        found
    }

    fn before_read<H: Host>(&mut self, turn: &mut Turn<'_, H>, key: HashedKey<'_>) {
        let db = turn.caller.db;
        self.expire_if_due(turn, key);
        let asked = self.settings.notify.intersects(NotifyFlags::KEY_MISS);
        if asked && !self.database(db).contains(key, turn.now.unix_ms()) {
            self.notify(turn.host, db, NotifyFlags::KEY_MISS, "keymiss", key.bytes());
        }
    }

    /// The value at a key, for a command that may change it in place.
    pub(super) fn write<H: Host>(&mut self, turn: &mut Turn<'_, H>, key: HashedKey<'_>) -> Option<&mut Value> {
        self.expire_if_due(turn, key);
        let (db, now_ms) = (turn.caller.db, turn.now.unix_ms());
        if turn.caller.no_touch {
            return self.database(db).get_mut(key, now_ms);
        }
        self.databases[usize::from(db)].used(key, now_ms, &self.tracker, &mut self.random)
    }

    /// The set at a key, for a command that only reads.
    ///
    /// # Errors
    /// The key holds another type.
    pub(super) fn read_set<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        key: HashedKey<'_>,
    ) -> Result<Option<&Set>, CommandError> {
        self.read(turn, key).map(|value| value.as_set().ok_or(CommandError::WrongType)).transpose()
    }

    /// The set at a key, for a command that may change it in place.
    ///
    /// # Errors
    /// The key holds another type.
    pub(super) fn write_set<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        key: HashedKey<'_>,
    ) -> Result<Option<&mut Set>, CommandError> {
        self.write(turn, key).map(|value| value.as_set_mut().ok_or(CommandError::WrongType)).transpose()
    }

    /// Publishes that a key was added; call it before the key's own event.
    pub(super) fn added<H: Host>(&mut self, host: &mut H, db: u16, key: &[u8]) {
        self.notify(host, db, NotifyFlags::NEW, "new", key);
    }

    /// Publishes that a key lost its `old` value to one of type `new`, and drops the old one.
    pub(super) fn replaced<H: Host>(&mut self, host: &mut H, db: u16, key: &[u8], old: Value, new: Kind) {
        self.notify(host, db, NotifyFlags::OVERWRITTEN, "overwritten", key);
        if old.kind() != new {
            self.notify(host, db, NotifyFlags::TYPE_CHANGED, "type_changed", key);
        }
        self.dispose(old);
    }

    /// Removes due keys, at most about `keys` of them; true when there may be more. Work is bounded per call.
    pub fn expire_some<H: Host>(&mut self, now: Now, host: &mut H, keys: usize) -> bool {
        if !self.settings.active_expire || self.is_paused(now) {
            return false;
        }
        let mut more = false;
        for db in 0..self.databases.len() {
            let mut due = Vec::new();
            let budget = Budget { segments: EXPIRE_SEGMENTS_PER_SLICE, entries: keys };
            more |= self.databases[db].sweep(now.unix_ms(), budget, |entry| due.push(entry));
            for entry in due {
                self.expired(host, db as u16, entry.key());
                self.dispose(entry.into_parts().0);
            }
        }
        more
    }

    /// Counts that a period of active expiry ended for its time was over.
    pub fn count_expire_capped(&mut self) {
        self.stats.expire_capped += 1;
    }

    /// Books time spent in [`Engine::expire_some`], measured by whoever has a clock.
    pub fn count_expire_time(&mut self, us: u64, now: Now) {
        self.stats.expire_us += us;
        self.note_spike("expire-cycle", us, now);
    }
}
