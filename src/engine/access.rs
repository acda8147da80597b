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
use super::value::Value;
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
        &mut self.databases[usize::from(db)]
    }

    /// Removes a key whose time has come. Every command calls it before it looks at a key.
    pub(super) fn expire_if_due<H: Host>(&mut self, turn: &mut Turn<'_, H>, key: HashedKey<'_>) {
        let db = turn.caller.db;
        if !self.is_paused(turn.now) && self.database(db).take_due(key, turn.now.unix_ms()).is_some() {
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
        self.changed(host, db, NotifyFlags::EXPIRED, "expired", key);
    }

    /// The value at a key, for a command that only reads. Counts a hit or a miss.
    pub(super) fn read<H: Host>(&mut self, turn: &mut Turn<'_, H>, key: HashedKey<'_>) -> Option<&Value> {
        let db = turn.caller.db;
        let now_ms = turn.now.unix_ms();
        self.expire_if_due(turn, key);
        if self.settings.notify.intersects(NotifyFlags::KEY_MISS) && !self.database(db).contains(key, now_ms) {
            self.notify(turn.host, db, NotifyFlags::KEY_MISS, "keymiss", key.bytes());
        }
        let found = self.databases[usize::from(db)].get(key, now_ms);
        match found {
            Some(_) => self.stats.hits += 1,
            None => self.stats.misses += 1,
        }
        found
    }

    /// The value at a key, for a command that may change it in place.
    pub(super) fn write<H: Host>(&mut self, turn: &mut Turn<'_, H>, key: HashedKey<'_>) -> Option<&mut Value> {
        self.expire_if_due(turn, key);
        let now_ms = turn.now.unix_ms();
        self.database(turn.caller.db).get_mut(key, now_ms)
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
            }
        }
        more
    }

    /// Books time spent in [`Engine::expire_some`], measured by whoever has a clock.
    pub fn count_expire_time(&mut self, us: u64) {
        self.stats.expire_us += us;
    }
}
