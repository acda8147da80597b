//! Commands on keys of any type: DEL UNLINK EXISTS TOUCH TYPE SCAN KEYS RANDOMKEY EXPIRE TTL and relatives, PERSIST,
//! OBJECT, DBSIZE, FLUSHALL, FLUSHDB, SWAPDB.

use crate::command::{
    Args, Del, Exists, Expire, ExpireConditions, Expireat, Keys, ObjectEncoding, Persist, Pexpire, Pexpireat, Pttl,
    Scan, ScanOptions, Swapdb, Ttl, Type, Unlink,
};
use crate::limits::{RANDOMKEY_DRAWS_MAX, SCAN_AT_ONCE_MAX, SEGMENTS_AT_ONCE_MAX};
use crate::reply::{Collection, CommandError, Pieces, Reply, Text};
use crate::topics::Glob;

use super::hash::Hasher13;
use super::host::Host;
use super::keyspace::{Entry, HashedKey};
use super::segments::Frozen;
use super::settings::NotifyFlags;
use super::watches::Replaced;
use super::{Engine, Turn};

impl Engine {
    pub(super) fn del<H: Host>(&mut self, turn: &mut Turn<'_, H>, del: &Del<'_>) -> Result<Reply<'_>, CommandError> {
        Ok(self.delete_all(turn, del.keys))
    }

    /// As DEL, which frees what is large little by little, too.
    pub(super) fn unlink<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        unlink: &Unlink<'_>,
    ) -> Result<Reply<'_>, CommandError> {
        Ok(self.delete_all(turn, unlink.keys))
    }

    fn delete_all<H: Host>(&mut self, turn: &mut Turn<'_, H>, keys: Args<'_>) -> Reply<'static> {
        let mut deleted = 0;
        for key in keys.iter() {
            let key = self.key(key);
            self.expire_if_due(turn, key);
            deleted += usize::from(self.delete(turn, key));
        }
        Reply::count(deleted)
    }

    /// Removes a key and publishes `del`; answers whether it was there.
    pub(super) fn delete<H: Host>(&mut self, turn: &mut Turn<'_, H>, key: HashedKey<'_>) -> bool {
        let db = turn.caller.db;
        let Some(entry) = self.database(db).remove(key) else { return false };
        self.dispose(entry.into_parts().0);
        self.changed(turn.host, db, NotifyFlags::GENERIC, "del", key.bytes());
        true
    }

    pub(super) fn exists<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        exists: &Exists<'_>,
    ) -> Result<Reply<'_>, CommandError> {
        let mut found = 0;
        for key in exists.keys.iter() {
            let key = self.key(key);
            found += usize::from(self.peek(turn, key).is_some());
        }
        Ok(Reply::count(found))
    }

    /// TYPE.
    pub(super) fn kind<H: Host>(&mut self, turn: &mut Turn<'_, H>, kind: &Type<'_>) -> Result<Reply<'_>, CommandError> {
        let key = self.key(kind.key);
        let word = self.peek(turn, key).map_or("none", |value| value.kind().word());
        Ok(Reply::status(word))
    }

    pub(super) fn object_encoding<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        object: &ObjectEncoding<'_>,
    ) -> Result<Reply<'_>, CommandError> {
        let encoding = self.inspect(turn, object.key).map(|entry| entry.value().encoding());
        Ok(encoding.map_or(Reply::Nil, |word| Reply::bulk(word.as_bytes())))
    }

    pub(super) fn object_freq<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        key: &[u8],
    ) -> Result<Reply<'_>, CommandError> {
        let (tracker, counts) = (self.tracker, self.settings.eviction.policy.goes_by_frequency());
        match self.inspect(turn, key) {
            None => Ok(Reply::Nil),
            Some(_) if !counts => Err(CommandError::FrequencyNotTracked),
            Some(entry) => Ok(Reply::Integer(tracker.counter(entry.stamp()).into())),
        }
    }

    pub(super) fn object_idletime<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        key: &[u8],
    ) -> Result<Reply<'_>, CommandError> {
        let (tracker, counts) = (self.tracker, self.settings.eviction.policy.goes_by_frequency());
        match self.inspect(turn, key) {
            None => Ok(Reply::Nil),
            Some(_) if counts => Err(CommandError::IdleTimeNotTracked),
            Some(entry) => Ok(Reply::Integer(tracker.idle_s(entry.stamp()).into())),
        }
    }

    /// Values are never shared between keys.
    pub(super) fn object_refcount<H: Host>(&mut self, turn: &mut Turn<'_, H>, key: &[u8]) -> Reply<'_> {
        self.inspect(turn, key).map_or(Reply::Nil, |_| Reply::Integer(1))
    }

    /// The entry of a key for OBJECT: counted like a read, but a look is no use and a miss no event.
    fn inspect<H: Host>(&mut self, turn: &mut Turn<'_, H>, key: &[u8]) -> Option<&Entry> {
        let key = self.key(key);
        self.expire_if_due(turn, key);
        let found = self.databases[usize::from(turn.caller.db)].entry(key, turn.now.unix_ms());
        self.stats.count_read(found.is_some());
        found
    }

    pub(super) fn touch_keys<H: Host>(&mut self, turn: &mut Turn<'_, H>, keys: Args<'_>) -> Reply<'static> {
        let mut found = 0;
        for key in keys.iter() {
            let key = self.key(key);
            found += usize::from(self.use_key(turn, key).is_some());
        }
        Reply::count(found)
    }

    pub(super) fn randomkey<H: Host>(&mut self, turn: &mut Turn<'_, H>) -> Reply<'_> {
        let (db, now_ms) = (turn.caller.db, turn.now.unix_ms());
        // While nothing may be removed, a database of due keys only would be drawn from for ever.
        for _ in 0..RANDOMKEY_DRAWS_MAX {
            let Some(entry) = self.databases[usize::from(db)].random(&mut self.random) else { return Reply::Nil };
            let (due, key) = (entry.is_due(now_ms), entry.key().to_vec());
            let hashed = self.key(&key);
            self.expire_if_due(turn, hashed);
            if !due {
                return Reply::Bulk(Text::Owned(key));
            }
        }
        Reply::Nil
    }

    pub(super) fn dbsize<H: Host>(&mut self, turn: &mut Turn<'_, H>) -> Reply<'_> {
        Reply::count(self.database(turn.caller.db).len())
    }

    pub(super) fn flushdb<H: Host>(&mut self, turn: &mut Turn<'_, H>) -> Result<Reply<'_>, CommandError> {
        self.flush(turn.caller.db);
        Ok(Reply::OK)
    }

    pub(super) fn flushall(&mut self) -> Result<Reply<'_>, CommandError> {
        for db in 0..self.settings.databases {
            self.flush(db);
        }
        Ok(Reply::OK)
    }

    /// Every connection keeps its number and sees the other's keys from now on. What was there, or is there now, has
    /// changed for those who watch it.
    pub(super) fn swapdb<H: Host>(&mut self, turn: &mut Turn<'_, H>, swap: &Swapdb) -> Result<Reply<'_>, CommandError> {
        let (first, second) = (self.database_index(swap.index1)?, self.database_index(swap.index2)?);
        self.stats.changes += 1;
        if first == second {
            return Ok(Reply::OK);
        }
        let (hasher, now_ms) = (self.hasher, turn.now.unix_ms());
        self.databases.swap(usize::from(first), usize::from(second));
        for (now_here, was_here) in [(first, second), (second, first)] {
            let [is, was] = [now_here, was_here].map(|db| &self.databases[usize::from(db)]);
            self.watches.touch_database(now_here, |key| {
                let key = HashedKey::new(key, &hasher);
                Replaced { was: was.holds(key), is: is.contains(key, now_ms) }
            });
        }
        Ok(Reply::OK)
    }

    fn flush(&mut self, db: u16) {
        let hasher = self.hasher;
        let database = &mut self.databases[usize::from(db)];
        self.watches
            .touch_database(db, |key| Replaced { was: database.holds(HashedKey::new(key, &hasher)), is: false });
        self.stats.changes += database.len() as u64;
        let keys = database.take_all();
        self.dispose_all(keys);
    }

    pub(super) fn keys<H: Host>(&mut self, turn: &mut Turn<'_, H>, keys: &Keys<'_>) -> Result<Reply<'_>, CommandError> {
        let now_ms = turn.now.unix_ms();
        let glob = Glob::new(keys.pattern);
        let only = glob.literal().map(|key| HashedKey::new(key, &self.hasher));
        let database = &*self.database(turn.caller.db);
        if only.is_none() && database.segments() > SEGMENTS_AT_ONCE_MAX {
            let keys = database.freeze();
            let all = MatchingKeys { keys, glob, kind: None, now_ms, start: None };
            return Ok(Reply::Stream(Collection::Array, Box::new(all)));
        }
        Ok(Reply::Array(match only {
            Some(key) => database.entry(key, now_ms).map(|entry| Reply::bulk(entry.key())).into_iter().collect(),
            None => database
                .iter()
                .filter(|entry| is_wanted(entry, &glob, now_ms))
                .map(|entry| Reply::bulk(entry.key()))
                .collect(),
        }))
    }

    pub(super) fn scan<H: Host>(&mut self, turn: &mut Turn<'_, H>, scan: &Scan<'_>) -> Result<Reply<'_>, CommandError> {
        let (db, now_ms) = (turn.caller.db, turn.now.unix_ms());
        let filter = Filter::new(&scan.options);
        let count = usize::try_from(scan.options.count).unwrap_or(usize::MAX);
        if count.min(self.database(db).len()) > SCAN_AT_ONCE_MAX {
            let (keys, next) = self.databases[usize::from(db)].freeze_page(scan.cursor, count);
            let start = Some((scan.cursor, self.hasher));
            let kind = filter.kind.map(Into::into);
            let page = MatchingKeys { keys, glob: filter.glob.unwrap_or_else(|| Glob::new(b"*")), kind, now_ms, start };
            return Ok(Reply::Stream(Collection::Page(next), Box::new(page)));
        }
        if self.database(db).may_have_due(now_ms) {
            // Due keys of the page are removed first, wanted or not, for the page itself borrows what it answers.
            let mut due = Vec::new();
            self.database(db).page(scan.cursor, count, |entry| {
                if entry.is_due(now_ms) {
                    due.push(entry.key().to_vec());
                }
            });
            for key in &due {
                let key = self.key(key);
                self.expire_if_due(turn, key);
            }
        }
        let mut items = Vec::new();
        let cursor = self.databases[usize::from(db)].page(scan.cursor, count, |entry| {
            if filter.takes(entry) && !entry.is_due(now_ms) {
                items.push(Text::Borrowed(entry.key()));
            }
        });
        Ok(Reply::Page { cursor, items })
    }

    pub(super) fn expire<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        expire: &Expire<'_>,
    ) -> Result<Reply<'_>, CommandError> {
        let time = Time { amount: expire.seconds, unit_ms: 1000, base_ms: turn.now.unix_ms() };
        self.set_expiry(turn, expire.key, time.deadline_ms("expire")?, expire.conditions)
    }

    pub(super) fn pexpire<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        expire: &Pexpire<'_>,
    ) -> Result<Reply<'_>, CommandError> {
        let time = Time { amount: expire.milliseconds, unit_ms: 1, base_ms: turn.now.unix_ms() };
        self.set_expiry(turn, expire.key, time.deadline_ms("pexpire")?, expire.conditions)
    }

    pub(super) fn expireat<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        expire: &Expireat<'_>,
    ) -> Result<Reply<'_>, CommandError> {
        let time = Time { amount: expire.unix_time_seconds, unit_ms: 1000, base_ms: 0 };
        self.set_expiry(turn, expire.key, time.deadline_ms("expireat")?, expire.conditions)
    }

    pub(super) fn pexpireat<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        expire: &Pexpireat<'_>,
    ) -> Result<Reply<'_>, CommandError> {
        let time = Time { amount: expire.unix_time_milliseconds, unit_ms: 1, base_ms: 0 };
        self.set_expiry(turn, expire.key, time.deadline_ms("pexpireat")?, expire.conditions)
    }

    fn set_expiry<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        key: &[u8],
        deadline_ms: i64,
        conditions: ExpireConditions,
    ) -> Result<Reply<'_>, CommandError> {
        let (db, key, now_ms) = (turn.caller.db, self.key(key), turn.now.unix_ms());
        self.expire_if_due(turn, key);
        let Some(current) = self.database(db).entry(key, now_ms).map(Entry::deadline_ms) else {
            return Ok(Reply::Integer(0));
        };
        if !met(conditions, current, deadline_ms) {
            return Ok(Reply::Integer(0));
        }
        if deadline_ms <= now_ms {
            self.delete(turn, key);
        } else {
            self.database(db).set_deadline(key, Some(deadline_ms));
            self.changed(turn.host, db, NotifyFlags::GENERIC, "expire", key.bytes());
        }
        Ok(Reply::Integer(1))
    }

    pub(super) fn persist<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        persist: &Persist<'_>,
    ) -> Result<Reply<'_>, CommandError> {
        let (db, key, now_ms) = (turn.caller.db, self.key(persist.key), turn.now.unix_ms());
        self.expire_if_due(turn, key);
        let volatile = self.database(db).entry(key, now_ms).is_some_and(|entry| entry.deadline_ms().is_some());
        if volatile {
            self.database(db).set_deadline(key, None);
            self.changed(turn.host, db, NotifyFlags::GENERIC, "persist", key.bytes());
        }
        Ok(Reply::flag(volatile))
    }

    pub(super) fn ttl<H: Host>(&mut self, turn: &mut Turn<'_, H>, ttl: &Ttl<'_>) -> Result<Reply<'_>, CommandError> {
        Ok(Reply::Integer(match self.time_left_ms(turn, ttl.key) {
            // Half a second counts as one.
            Ok(left) => left.saturating_add(500) / 1000,
            Err(why) => why as i64,
        }))
    }

    pub(super) fn pttl<H: Host>(&mut self, turn: &mut Turn<'_, H>, pttl: &Pttl<'_>) -> Result<Reply<'_>, CommandError> {
        Ok(Reply::Integer(self.time_left_ms(turn, pttl.key).unwrap_or_else(|why| why as i64)))
    }

    /// EXPIRETIME and PEXPIRETIME, in units of `unit_ms`.
    pub(super) fn expiretime<H: Host>(&mut self, turn: &mut Turn<'_, H>, key: &[u8], unit_ms: i64) -> Reply<'_> {
        Reply::Integer(match self.deadline_of(turn, key) {
            // Half a second counts as one.
            Ok(deadline) => deadline.saturating_add(unit_ms / 2) / unit_ms,
            Err(why) => why as i64,
        })
    }

    fn time_left_ms<H: Host>(&mut self, turn: &mut Turn<'_, H>, key: &[u8]) -> Result<i64, NoTimeLeft> {
        let now_ms = turn.now.unix_ms();
        self.deadline_of(turn, key).map(|deadline| deadline.saturating_sub(now_ms))
    }

    /// When a key expires, ms since 1970.
    fn deadline_of<H: Host>(&mut self, turn: &mut Turn<'_, H>, key: &[u8]) -> Result<i64, NoTimeLeft> {
        let (key, now_ms) = (self.key(key), turn.now.unix_ms());
        if self.peek(turn, key).is_none() {
            return Err(NoTimeLeft::Absent);
        }
        let deadline = self.database(turn.caller.db).entry(key, now_ms).and_then(Entry::deadline_ms);
        deadline.ok_or(NoTimeLeft::Unbounded)
    }
}

/// Whether KEYS answers an entry.
fn is_wanted(entry: &Entry, glob: &Glob, now_ms: i64) -> bool {
    // A lone `*` is no filter: it also finds the empty key, which as a pattern it would not match.
    (glob.is_all() || glob.matches(entry.key())) && !entry.is_due(now_ms)
}

/// What KEYS and a large page of SCAN answer: the keys as they were when it was asked.
#[derive(Debug)]
struct MatchingKeys {
    keys: Frozen<Entry>,
    glob: Glob,
    /// The word of the only type that is wanted.
    kind: Option<Box<[u8]>>,
    now_ms: i64,
    /// The position from which keys of the first piece are wanted, and how positions are found.
    start: Option<(u64, Hasher13)>,
}

impl MatchingKeys {
    fn of_piece(&self, piece: usize) -> impl Iterator<Item = &Entry> {
        let start = self.start.as_ref().filter(|_| piece == 0);
        self.keys.iter(piece).filter(move |entry| {
            is_wanted(entry, &self.glob, self.now_ms)
                && self.kind.as_ref().is_none_or(|kind| is_of_kind(entry, kind))
                && start.is_none_or(|(cursor, hasher)| HashedKey::new(entry.key(), hasher).position() >= *cursor)
        })
    }
}

fn is_of_kind(entry: &Entry, kind: &[u8]) -> bool {
    kind.eq_ignore_ascii_case(entry.value().kind().word().as_bytes())
}

impl Pieces for MatchingKeys {
    fn pieces(&self) -> usize {
        self.keys.segments()
    }

    fn len(&self, piece: usize) -> usize {
        self.of_piece(piece).count()
    }

    fn each(&self, piece: usize, visit: &mut dyn FnMut(&[u8])) {
        self.of_piece(piece).for_each(|entry| visit(entry.key()));
    }
}

/// Why a key has no time to tell, as TTL answers it.
#[derive(Debug, Clone, Copy)]
enum NoTimeLeft {
    Absent = -2,
    Unbounded = -1,
}

/// A time as EXPIRE and its relatives take it: `amount` units of `unit_ms` milliseconds after `base_ms`.
struct Time {
    amount: i64,
    unit_ms: i64,
    base_ms: i64,
}

impl Time {
    /// # Errors
    /// [`CommandError::InvalidExpire`] for the command `name` when it cannot be told in 64 bits.
    fn deadline_ms(self, name: &'static str) -> Result<i64, CommandError> {
        let deadline = self.amount.checked_mul(self.unit_ms).and_then(|ms| ms.checked_add(self.base_ms));
        deadline.ok_or(CommandError::InvalidExpire(name))
    }
}

/// Whether the conditions allow to replace the `current` deadline, if any, by `new`.
fn met(conditions: ExpireConditions, current: Option<i64>, new: i64) -> bool {
    let ExpireConditions { nx, xx, gt, lt } = conditions;
    match current {
        None => !xx && !gt,
        Some(current) => !nx && (!gt || new > current) && (!lt || new < current),
    }
}

/// What SCAN is asked to leave out.
struct Filter<'a> {
    glob: Option<Glob>,
    kind: Option<&'a [u8]>,
}

impl<'a> Filter<'a> {
    fn new(options: &ScanOptions<'a>) -> Self {
        Filter { glob: options.pattern.map(Glob::new).filter(|glob| !glob.is_all()), kind: options.kind }
    }

    fn takes(&self, entry: &Entry) -> bool {
        let named = self.glob.as_ref().is_none_or(|glob| glob.matches(entry.key()));
        named && self.kind.is_none_or(|kind| is_of_kind(entry, kind))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_compare_with_the_present_deadline() {
        let none = ExpireConditions::default();
        let (nx, xx) = (ExpireConditions { nx: true, ..none }, ExpireConditions { xx: true, ..none });
        let (gt, lt) = (ExpireConditions { gt: true, ..none }, ExpireConditions { lt: true, ..none });
        let outcome = |conditions| [None, Some(4), Some(5), Some(6)].map(|current| met(conditions, current, 5));
        assert_eq!(outcome(none), [true, true, true, true]);
        assert_eq!(outcome(nx), [true, false, false, false]);
        assert_eq!(outcome(xx), [false, true, true, true]);
        assert_eq!(outcome(gt), [false, true, false, false]);
        assert_eq!(outcome(lt), [true, false, false, true]);
        assert_eq!(outcome(ExpireConditions { xx: true, ..lt }), [false, false, false, true]);
    }

    #[test]
    fn times_that_do_not_fit_are_refused() {
        let seconds = |amount, base_ms| Time { amount, unit_ms: 1000, base_ms }.deadline_ms("expire");
        assert_eq!(seconds(-5, 3), Ok(-4_997));
        assert_eq!(seconds(i64::MAX / 1000, 0), Ok(i64::MAX / 1000 * 1000));
        for (amount, base_ms) in [(i64::MAX / 1000, 1_000), (i64::MAX / 1000 + 1, 0), (i64::MIN / 1000 - 1, 0)] {
            assert_eq!(seconds(amount, base_ms), Err(CommandError::InvalidExpire("expire")));
        }
    }
}
