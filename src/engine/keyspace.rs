//! One database: keys to values, some with a deadline.
//!
//! Invariant: a key whose deadline has come is absent to every lookup; it stays in memory until [`Keyspace::take_due`]
//! or [`Keyspace::sweep`] hands it out, once, so that its owner can tell the world.
//! Invariant: the layout of an entry is private to this file.
//!
//! Deliberately unknown here: the clock (times are arguments), events, types beyond what [`Value`] says.

use super::expiry::{Budget, Clock, Earliest};
use super::hash::Hasher13;
use super::segments::{Frozen, POSITIONS, Segments, position};
use super::usage::{Stamp, Tracker};
use super::value::{Inline, Value};

/// A key and the value it holds.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    key: Key,
    slot: Slot,
}

const _: () = assert!(size_of::<Entry>() <= 48);

/// Longest key held inside its entry.
const INLINE_KEY_BYTES_MAX: usize = 19;

/// A key, and when or how often it was used.
#[derive(Debug, Clone)]
enum Key {
    Inline { stamp: Stamp, bytes: Inline<INLINE_KEY_BYTES_MAX> },
    Boxed { stamp: Stamp, bytes: Box<[u8]> },
}

impl Key {
    fn new(bytes: &[u8], stamp: Stamp) -> Self {
        match Inline::new(bytes) {
            Some(bytes) => Key::Inline { stamp, bytes },
            None => Key::Boxed { stamp, bytes: bytes.into() },
        }
    }

    fn stamp(&self) -> Stamp {
        match self {
            Key::Inline { stamp, .. } | Key::Boxed { stamp, .. } => *stamp,
        }
    }

    fn set_stamp(&mut self, new: Stamp) {
        let (Key::Inline { stamp, .. } | Key::Boxed { stamp, .. }) = self;
        // Most uses of a hot key fall into the second of the last one: its cache line stays clean.
        if *stamp != new {
            *stamp = new;
        }
    }
}

/// Only keys with a deadline pay for one. The deadline itself stays in the table, where a sweep reads it in passing.
#[derive(Debug, Clone)]
enum Slot {
    Lasting(Value),
    Volatile { deadline_ms: i64, value: Box<Value> },
}

impl Entry {
    /// Its key.
    pub(crate) fn key(&self) -> &[u8] {
        match &self.key {
            Key::Inline { bytes, .. } => bytes.as_bytes(),
            Key::Boxed { bytes, .. } => bytes,
        }
    }

    /// Its value.
    pub(crate) fn value(&self) -> &Value {
        match &self.slot {
            Slot::Lasting(value) => value,
            Slot::Volatile { value, .. } => value,
        }
    }

    /// When or how often it was used.
    pub(super) fn stamp(&self) -> Stamp {
        self.key.stamp()
    }

    /// Takes it apart: its value and its deadline.
    pub(crate) fn into_parts(self) -> (Value, Option<i64>) {
        let deadline = self.deadline_ms();
        (self.slot.into_value(), deadline)
    }

    fn value_mut(&mut self) -> &mut Value {
        match &mut self.slot {
            Slot::Lasting(value) => value,
            Slot::Volatile { value, .. } => value,
        }
    }

    /// When it expires, milliseconds since 1970.
    pub(crate) fn deadline_ms(&self) -> Option<i64> {
        match &self.slot {
            Slot::Lasting(_) => None,
            Slot::Volatile { deadline_ms, .. } => Some(*deadline_ms),
        }
    }

    /// True when its deadline is at or before `now_ms`.
    pub(crate) fn is_due(&self, now_ms: i64) -> bool {
        self.deadline_ms().is_some_and(|deadline| deadline <= now_ms)
    }

    /// Bytes it takes: its place in the table and what it points to.
    pub(crate) fn memory_bytes(&self) -> usize {
        let key = match &self.key {
            Key::Inline { .. } => 0,
            Key::Boxed { bytes, .. } => bytes.len(),
        };
        let deadline = match &self.slot {
            Slot::Lasting(_) => 0,
            Slot::Volatile { .. } => size_of::<Value>(),
        };
        // One byte of tag per bucket.
        size_of::<Entry>() + 1 + key + deadline + self.value().heap_bytes()
    }
}

impl Slot {
    fn new(value: Value, deadline_ms: Option<i64>) -> Self {
        match deadline_ms {
            None => Slot::Lasting(value),
            Some(deadline_ms) => Slot::Volatile { deadline_ms, value: Box::new(value) },
        }
    }

    fn into_value(self) -> Value {
        match self {
            Slot::Lasting(value) => value,
            Slot::Volatile { value, .. } => *value,
        }
    }
}

/// A key with its hash, so that a command hashes it once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HashedKey<'k> {
    bytes: &'k [u8],
    hash: u64,
}

impl<'k> HashedKey<'k> {
    /// Hashes a key under the hash function of the keyspaces it is meant for.
    pub(crate) fn new(bytes: &'k [u8], hasher: &Hasher13) -> Self {
        HashedKey { bytes, hash: hasher.hash(bytes) }
    }

    /// Where it lies in the order of pages.
    pub(crate) fn position(self) -> u64 {
        position(self.hash)
    }

    /// The key itself.
    pub(crate) fn bytes(self) -> &'k [u8] {
        self.bytes
    }

    fn is(self, entry: &Entry) -> bool {
        entry.key() == self.bytes
    }
}

/// The keys of one database. Every time is in milliseconds since 1970.
#[derive(Debug)]
pub(crate) struct Keyspace {
    entries: Segments<Entry, Earliest>,
    hasher: Hasher13,
    clock: Clock,
    /// As of the last turn that could change something.
    tracker: Tracker,
}

impl Keyspace {
    /// An empty database. Keyspaces that share a [`HashedKey`] share a hasher.
    pub(crate) fn new(hasher: Hasher13) -> Self {
        Keyspace { entries: Segments::new(), hasher, clock: Clock::default(), tracker: Tracker::default() }
    }

    /// Tells the time of the turn and the policy, by which keys are marked as used from now on.
    pub(super) fn track(&mut self, tracker: Tracker) {
        self.tracker = tracker;
    }

    /// Keys in memory, the due ones among them included.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Keys in memory that have a deadline.
    pub(crate) fn volatile_len(&self) -> usize {
        self.clock.volatile()
    }

    /// The mean time these have left, milliseconds.
    pub(crate) fn average_ttl_ms(&self, now_ms: i64) -> i64 {
        self.clock.average_ttl_ms(now_ms)
    }

    /// The entry of a key that is not due.
    pub(crate) fn entry(&self, key: HashedKey<'_>, now_ms: i64) -> Option<&Entry> {
        self.stored(key).filter(|entry| !entry.is_due(now_ms))
    }

    /// The entry of a key, due or not.
    pub(crate) fn stored(&self, key: HashedKey<'_>) -> Option<&Entry> {
        self.entries.find(key.hash, |entry| key.is(entry))
    }

    /// The value of a key that is not due.
    pub(crate) fn get(&self, key: HashedKey<'_>, now_ms: i64) -> Option<&Value> {
        self.entry(key, now_ms).map(Entry::value)
    }

    /// The value of a key that is not due, to be changed in place; the key counts as used. `random` decides
    /// whether its counter grows.
    pub(crate) fn used(
        &mut self,
        key: HashedKey<'_>,
        now_ms: i64,
        tracker: &Tracker,
        random: &mut fastrand::Rng,
    ) -> Option<&mut Value> {
        let entry = self.entries.find_mut(key.hash, |entry| key.is(entry)).filter(|entry| !entry.is_due(now_ms))?;
        entry.key.set_stamp(tracker.used(entry.key.stamp(), random));
        Some(entry.value_mut())
    }

    /// The value of a key that is not due, to be read; the key counts as used, unless that would copy what is frozen.
    pub(crate) fn read(
        &mut self,
        key: HashedKey<'_>,
        now_ms: i64,
        tracker: &Tracker,
        random: &mut fastrand::Rng,
    ) -> Option<&Value> {
        if self.entries.is_shared(key.hash) {
            return self.get(key, now_ms);
        }
        self.used(key, now_ms, tracker, random).map(|value| &*value)
    }

    /// The value of a key that is not due, to be changed in place, although nobody used it.
    pub(crate) fn get_mut(&mut self, key: HashedKey<'_>, now_ms: i64) -> Option<&mut Value> {
        let entry = self.entries.find_mut(key.hash, |entry| key.is(entry))?;
        (!entry.is_due(now_ms)).then(|| entry.value_mut())
    }

    /// Calls `visit` with some keys, about `count` of them, for one to be chosen: any keys, or such as have a deadline.
    /// Cost: the keys visited; with few keys that have a deadline, also one step per segment without any.
    pub(crate) fn sample(
        &self,
        count: usize,
        volatile: bool,
        random: &mut fastrand::Rng,
        mut visit: impl FnMut(&Entry),
    ) {
        if !volatile {
            (0..count).filter_map(|_| self.entries.random(random)).for_each(visit);
            return;
        }
        let (mut left, mut cursor) = (count.min(self.volatile_len()), random.u64(..POSITIONS));
        // Twice round at most: the first segment may have been entered in its middle.
        let mut steps_left = 2 * self.entries.segments();
        while left > 0 && steps_left > 0 {
            steps_left -= 1;
            let Some((earliest, len, next)) = self.entries.note_at(cursor) else { return };
            if earliest != Earliest::default() {
                self.page(cursor, len.max(1), |entry| {
                    if left > 0 && entry.deadline_ms().is_some() {
                        left -= 1;
                        visit(entry);
                    }
                });
            }
            cursor = next;
        }
    }

    /// A key drawn uniformly, due or not.
    pub(crate) fn random(&self, random: &mut fastrand::Rng) -> Option<&Entry> {
        self.entries.random(random)
    }

    /// Whether a key is there and not due.
    pub(crate) fn contains(&self, key: HashedKey<'_>, now_ms: i64) -> bool {
        self.entry(key, now_ms).is_some()
    }

    /// Whether a key is in memory, due or not.
    pub(crate) fn holds(&self, key: HashedKey<'_>) -> bool {
        self.stored(key).is_some()
    }

    /// False when no key can be due.
    pub(crate) fn may_have_due(&self, now_ms: i64) -> bool {
        self.clock.may_be_due(now_ms)
    }

    /// Whether a key is in memory although its time has come.
    pub(crate) fn is_due(&self, key: HashedKey<'_>, now_ms: i64) -> bool {
        self.entries.find(key.hash, |entry| key.is(entry)).is_some_and(|entry| entry.is_due(now_ms))
    }

    /// Takes a key out when it is due. To be called before a command looks at a key.
    pub(crate) fn take_due(&mut self, key: HashedKey<'_>, now_ms: i64) -> Option<Entry> {
        if !self.clock.may_be_due(now_ms) {
            return None;
        }
        if self.is_due(key, now_ms) { self.remove(key) } else { None }
    }

    /// Gives a key this value and this deadline, whatever it held; answers what it held.
    pub(crate) fn set(&mut self, key: HashedKey<'_>, value: Value, deadline_ms: Option<i64>) -> Option<Value> {
        let Some(entry) = self.entries.find_mut(key.hash, |entry| key.is(entry)) else {
            self.insert(key, value, deadline_ms);
            return None;
        };
        let old_deadline = entry.deadline_ms();
        entry.key.set_stamp(self.tracker.overwritten(entry.key.stamp()));
        let old = std::mem::replace(&mut entry.slot, Slot::new(value, deadline_ms)).into_value();
        self.deadline_changed(key.hash, old_deadline, deadline_ms);
        Some(old)
    }

    /// Adds a key that is known to be absent, also as a due one.
    pub(crate) fn insert(&mut self, key: HashedKey<'_>, value: Value, deadline_ms: Option<i64>) -> &mut Value {
        if let Some(deadline) = deadline_ms {
            self.clock.add(deadline);
            self.entries.note_mut(key.hash).include(deadline);
        }
        let hasher = &self.hasher;
        let entry = Entry { key: Key::new(key.bytes, self.tracker.fresh()), slot: Slot::new(value, deadline_ms) };
        self.entries.insert_unique(key.hash, entry, |entry| hasher.hash(entry.key())).value_mut()
    }

    /// Takes a key out, due or not.
    pub(crate) fn remove(&mut self, key: HashedKey<'_>) -> Option<Entry> {
        let hasher = &self.hasher;
        let entry = self.entries.remove(key.hash, |entry| key.is(entry), |entry| hasher.hash(entry.key()))?;
        if let Some(deadline) = entry.deadline_ms() {
            self.clock.remove(deadline);
        }
        Some(entry)
    }

    /// Gives a key a deadline, or takes it away; answers whether the key is there.
    pub(crate) fn set_deadline(&mut self, key: HashedKey<'_>, deadline_ms: Option<i64>) -> bool {
        let Some(entry) = self.entries.find_mut(key.hash, |entry| key.is(entry)) else {
            return false;
        };
        let old = entry.deadline_ms();
        match (&mut entry.slot, deadline_ms) {
            (Slot::Volatile { deadline_ms, .. }, Some(deadline)) => *deadline_ms = deadline,
            (slot, _) => {
                let value = std::mem::replace(slot, Slot::Lasting(Value::integer(0))).into_value();
                *slot = Slot::new(value, deadline_ms);
            }
        }
        self.deadline_changed(key.hash, old, deadline_ms);
        true
    }

    /// One page of keys in the order of their hash positions, due ones included: see [`Segments::page`].
    pub(crate) fn page<'a>(&'a self, cursor: u64, count: usize, visit: impl FnMut(&'a Entry)) -> u64 {
        self.entries.page(cursor, count, |entry| self.hasher.hash(entry.key()), visit)
    }

    /// At least `count` keys as they are now, in whole segments: see [`Segments::freeze_page`].
    pub(crate) fn freeze_page(&self, cursor: u64, count: usize) -> (Frozen<Entry>, u64) {
        self.entries.freeze_page(cursor, count)
    }

    /// All entries, due ones included, in no particular order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter()
    }

    /// How many segments they lie in.
    pub(crate) fn segments(&self) -> usize {
        self.entries.segments()
    }

    /// Takes every key out, to be dropped little by little.
    pub(crate) fn take_all(&mut self) -> Frozen<Entry> {
        self.clock = Clock::default();
        self.entries.take_all()
    }

    /// All keys as they are now.
    pub(crate) fn freeze(&self) -> Frozen<Entry> {
        self.entries.freeze()
    }

    /// Bytes on the heap for the table itself, not what entries point to. Cost: one step per some 300 keys.
    pub(crate) fn table_bytes(&self) -> usize {
        self.entries.allocated_bytes()
    }

    /// The part of [`Keyspace::table_bytes`] that only leads to segments.
    pub(crate) fn directory_bytes(&self) -> usize {
        self.entries.directory_bytes()
    }

    /// Takes due keys out and hands them to `expired`, within a budget, going on where the last call stopped. Answers
    /// true when it stopped for the budget with due keys possibly left.
    pub(crate) fn sweep(&mut self, now_ms: i64, budget: Budget, mut expired: impl FnMut(Entry)) -> bool {
        let hasher = &self.hasher;
        let mut entries_left = budget.entries;
        for _ in 0..budget.segments {
            if entries_left == 0 || !self.clock.may_be_due(now_ms) {
                break;
            }
            let cursor = self.clock.cursor();
            let Some((mut earliest, len, next)) = self.entries.note_at(cursor) else {
                break;
            };
            if earliest.0 <= now_ms {
                entries_left = entries_left.saturating_sub(len);
                earliest = Earliest::default();
                let clock = &mut self.clock;
                let take = |entry: &Entry, note: &mut Earliest| match entry.deadline_ms() {
                    Some(deadline) if deadline > now_ms => {
                        note.include(deadline);
                        earliest.include(deadline);
                        false
                    }
                    due => due.is_some(),
                };
                self.entries.sweep_at(
                    cursor,
                    |entry| hasher.hash(entry.key()),
                    take,
                    |entry| {
                        clock.remove(entry.deadline_ms().unwrap_or_default());
                        expired(entry);
                    },
                );
            }
            self.clock.advance(earliest, next);
        }
        self.clock.may_be_due(now_ms)
    }

    fn deadline_changed(&mut self, hash: u64, old_ms: Option<i64>, new_ms: Option<i64>) {
        if let Some(old) = old_ms {
            self.clock.remove(old);
        }
        if let Some(new) = new_ms {
            self.clock.add(new);
            self.entries.note_mut(hash).include(new);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    const HASHER: Hasher13 = Hasher13::new(1, 2);
    const PLENTY: Budget = Budget { segments: usize::MAX, entries: usize::MAX };

    fn hashed(key: &str) -> HashedKey<'_> {
        HashedKey::new(key.as_bytes(), &HASHER)
    }

    fn text(value: Option<&Value>) -> Option<String> {
        value.map(|value| String::from_utf8(value.as_text().unwrap().as_bytes().to_vec()).unwrap())
    }

    #[test]
    fn keys_of_any_length_are_told_apart() {
        let mut keyspace = Keyspace::new(HASHER);
        let keys: Vec<String> = (0..60).map(|len| "k".repeat(len)).collect();
        for key in &keys {
            assert!(keyspace.set(hashed(key), Value::string(key.as_bytes()), None).is_none());
        }
        for key in &keys {
            assert_eq!(text(keyspace.get(hashed(key), 0)).as_ref(), Some(key));
            assert_eq!(keyspace.remove(hashed(key)).map(|entry| entry.key().len()), Some(key.len()));
            assert!(!keyspace.contains(hashed(key), 0));
        }
        assert_eq!(keyspace.len(), 0);
    }

    #[test]
    fn setting_replaces_value_and_deadline() {
        let mut keyspace = Keyspace::new(HASHER);
        keyspace.set(hashed("k"), Value::string(b"one"), Some(100));
        assert_eq!((keyspace.volatile_len(), keyspace.average_ttl_ms(40)), (1, 60));
        let old = keyspace.set(hashed("k"), Value::string(b"two"), None);
        assert_eq!(text(old.as_ref()), Some("one".into()));
        assert_eq!((keyspace.volatile_len(), keyspace.average_ttl_ms(40)), (0, 0));
        assert_eq!(text(keyspace.get(hashed("k"), 1_000)), Some("two".into()));
        *keyspace.get_mut(hashed("k"), 0).unwrap() = Value::integer(3);
        assert_eq!(text(keyspace.get(hashed("k"), 0)), Some("3".into()));
    }

    #[test]
    fn a_due_key_is_absent_and_handed_out_once() {
        let mut keyspace = Keyspace::new(HASHER);
        keyspace.insert(hashed("k"), Value::string(b"v"), Some(100));
        assert!(keyspace.contains(hashed("k"), 99));
        assert!(keyspace.take_due(hashed("k"), 99).is_none());
        assert!(!keyspace.contains(hashed("k"), 100));
        assert!(keyspace.get_mut(hashed("k"), 100).is_none());
        assert_eq!(keyspace.take_due(hashed("k"), 100).map(|entry| entry.value().encoding()), Some("embstr"));
        assert!(keyspace.take_due(hashed("k"), 100).is_none());
        assert_eq!((keyspace.len(), keyspace.volatile_len()), (0, 0));
    }

    #[test]
    fn deadlines_come_move_and_go() {
        let mut keyspace = Keyspace::new(HASHER);
        assert!(!keyspace.set_deadline(hashed("k"), Some(5)));
        keyspace.insert(hashed("k"), Value::string(b"v"), None);
        for deadline in [Some(50), Some(20), Some(90), None, None, Some(10)] {
            assert!(keyspace.set_deadline(hashed("k"), deadline));
            assert_eq!(keyspace.entry(hashed("k"), 0).map(Entry::deadline_ms), Some(deadline));
            assert_eq!(keyspace.volatile_len(), usize::from(deadline.is_some()));
            assert_eq!(text(keyspace.get(hashed("k"), 0)), Some("v".into()));
        }
        assert!(keyspace.take_due(hashed("k"), 10).is_some());
    }

    #[test]
    fn the_sweep_takes_what_is_due_and_nothing_else_within_its_budget() {
        let mut rng = fastrand::Rng::with_seed(1);
        let mut keyspace = Keyspace::new(HASHER);
        let mut model: BTreeMap<String, Option<i64>> = BTreeMap::new();
        let mut now = 0;
        for round in 0..400 {
            for _ in 0..rng.usize(..60) {
                let key = format!("key:{}", rng.u32(..8_000));
                let deadline = (rng.u8(..4) > 0).then(|| now + rng.i64(1..3_000));
                match rng.u8(..4) {
                    0 => {
                        assert_eq!(keyspace.remove(hashed(&key)).is_some(), model.remove(&key).is_some());
                    }
                    1 if model.contains_key(&key) => {
                        assert!(keyspace.set_deadline(hashed(&key), deadline));
                        model.insert(key, deadline);
                    }
                    _ => {
                        keyspace.set(hashed(&key), Value::integer(round), deadline);
                        model.insert(key, deadline);
                    }
                }
            }
            now += rng.i64(0..40);
            let small = Budget { segments: rng.usize(1..6), entries: rng.usize(1..1_000) };
            let mut taken = 0;
            let more = keyspace.sweep(now, small, |entry| {
                let deadline = model.remove(std::str::from_utf8(entry.key()).unwrap());
                assert!(deadline.flatten().is_some_and(|deadline| deadline <= now));
                taken += 1;
            });
            assert!(taken <= small.entries + 448);
            let due = model.values().flatten().filter(|&&deadline| deadline <= now).count();
            assert!(more || due == 0, "{due} keys forgotten at {now}");
            assert_eq!(keyspace.volatile_len(), model.values().flatten().count());
        }
        assert!(keyspace.len() > 1_000);
        let mut taken = 0;
        assert!(!keyspace.sweep(i64::MAX - 1, PLENTY, |_| taken += 1));
        assert_eq!(taken, model.values().flatten().count());
        assert_eq!(keyspace.len(), model.len() - taken);
    }

    #[test]
    fn a_sweep_with_nothing_due_looks_at_nothing() {
        let mut keyspace = Keyspace::new(HASHER);
        for number in 0..1_000 {
            keyspace.insert(hashed(&number.to_string()), Value::integer(0), Some(1_000 + number));
        }
        assert!(!keyspace.sweep(999, PLENTY, |_| panic!("nothing is due")));
        let mut taken = 0;
        assert!(!keyspace.sweep(1_000, PLENTY, |_| taken += 1));
        assert_eq!((taken, keyspace.clock.may_be_due(1_000), keyspace.clock.may_be_due(1_001)), (1, false, true));
        keyspace.take_all();
        assert_eq!((keyspace.len(), keyspace.volatile_len(), keyspace.iter().count()), (0, 0, 0));
    }

    #[test]
    fn a_page_shows_keys_and_values() {
        let mut keyspace = Keyspace::new(HASHER);
        for number in 0..1_000 {
            keyspace.insert(hashed(&format!("key:{number}")), Value::integer(number), None);
        }
        let (mut cursor, mut seen, mut pages) = (0, BTreeMap::new(), 0);
        loop {
            cursor = keyspace.page(cursor, 10, |entry| {
                assert!(seen.insert(entry.key(), entry.value().as_integer()).is_none());
            });
            pages += 1;
            if cursor == 0 {
                break;
            }
        }
        assert_eq!((seen.len(), pages), (1_000, 100));
    }

    #[test]
    fn memory_counts_what_an_entry_points_to() {
        let mut keyspace = Keyspace::new(HASHER);
        keyspace.insert(hashed("short"), Value::integer(1), None);
        keyspace.insert(hashed(&"k".repeat(100)), Value::string(&[b'x'; 50]), Some(9));
        let bytes = |key: &str| keyspace.entry(hashed(key), 0).unwrap().memory_bytes();
        assert_eq!(bytes("short"), 49);
        assert_eq!(bytes(&"k".repeat(100)), 49 + 100 + 50 + 24);
        assert!(keyspace.table_bytes() >= 2 * 49);
    }
}
