//! The table behind both sides of this module: names with their subscribers, and what each subscriber joined.
//!
//! Invariant: a [`Membership`] lists the numbers of exactly those names that list its subscriber, so a number in it is
//! never stale. It holds as long as each membership is used with one registry and one id.
//!
//! Deliberately unknown here: whether a name is a channel or a pattern.

use std::hash::{BuildHasher, Hash};
use std::mem;

use hashbrown::HashTable;

use super::roster::Roster;
use super::slots::Slots;

/// What one subscriber has joined. 24 bytes, plus about 12 bytes a name from the second on. It may be dropped only
/// after [`Router::leave_all`](super::Router::leave_all): it cannot leave by itself.
#[derive(Debug, Default)]
pub struct Membership {
    slots: Roster<u32>,
}

impl Membership {
    /// How many names are joined. O(1).
    pub fn len(&self) -> usize {
        self.slots.as_slice().len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.slots.as_slice().is_empty()
    }
}

/// Names, each with its subscribers and something more that its owner keeps beside them.
#[derive(Debug)]
pub(super) struct Registry<Id, Extra, S> {
    hasher: S,
    table: HashTable<Entry>,
    topics: Slots<Topic<Id, Extra>>,
}

/// Where a name is. The hash lets the table grow without visiting the names.
#[derive(Debug, Clone, Copy)]
struct Entry {
    hash: u32,
    slot: u32,
}

/// A name somebody subscribes to.
#[derive(Debug)]
pub(super) struct Topic<Id, Extra> {
    pub(super) name: Box<[u8]>,
    pub(super) extra: Extra,
    subscribers: Roster<Id>,
}

impl<Id, Extra> Topic<Id, Extra> {
    pub(super) fn subscribers(&self) -> &[Id] {
        self.subscribers.as_slice()
    }
}

/// What [`Registry::join`] did.
pub(super) enum Joined {
    /// Nothing: it was joined before.
    Already,
    /// Another subscriber was there before.
    Known,
    /// The first subscriber of the name that is now in this slot.
    First(u32),
}

impl<Id: Copy + Eq + Hash, Extra, S: BuildHasher> Registry<Id, Extra, S> {
    pub(super) fn new(hasher: S) -> Self {
        Registry { hasher, table: HashTable::new(), topics: Slots::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.topics.len()
    }

    pub(super) fn find(&self, name: &[u8]) -> Option<u32> {
        let hash = self.hash(name);
        self.table
            .find(spread(hash), |entry| entry.hash == hash && *self.topics.get(entry.slot).name == *name)
            .map(|entry| entry.slot)
    }

    pub(super) fn get(&self, slot: u32) -> &Topic<Id, Extra> {
        self.topics.get(slot)
    }

    pub(super) fn get_mut(&mut self, slot: u32) -> &mut Topic<Id, Extra> {
        self.topics.get_mut(slot)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Topic<Id, Extra>> {
        self.topics.iter()
    }

    /// The topics of a membership.
    pub(super) fn topics<'a>(
        &'a self,
        membership: &'a Membership,
    ) -> impl ExactSizeIterator<Item = &'a Topic<Id, Extra>> {
        membership.slots.as_slice().iter().map(|slot| self.topics.get(*slot))
    }

    pub(super) fn join(
        &mut self,
        membership: &mut Membership,
        id: Id,
        name: &[u8],
        extra: impl FnOnce() -> Extra,
    ) -> Joined {
        let (slot, first) = match self.find(name) {
            Some(slot) => (slot, false),
            None => (self.add(name, extra()), true),
        };
        if !membership.slots.insert(slot) {
            return Joined::Already;
        }
        let fresh = self.topics.get_mut(slot).subscribers.insert(id);
        assert!(fresh, "a subscriber was listed under a name its membership did not have");
        if first { Joined::First(slot) } else { Joined::Known }
    }

    /// Leaves a name, false when it was not joined. `gone` is called with its slot before the name is dropped, when
    /// nobody is left.
    pub(super) fn leave(
        &mut self,
        membership: &mut Membership,
        id: Id,
        name: &[u8],
        gone: impl FnOnce(&mut Self, u32),
    ) -> bool {
        let Some(slot) = self.find(name) else {
            return false;
        };
        if !membership.slots.remove(slot) {
            return false;
        }
        if self.strike(slot, id) {
            gone(self, slot);
            self.drop_topic(slot);
        }
        true
    }

    /// Leaves everything; see [`Registry::leave`]. O(1) for each name joined.
    pub(super) fn leave_all(&mut self, membership: &mut Membership, id: Id, mut gone: impl FnMut(&mut Self, u32)) {
        for &slot in mem::take(&mut membership.slots).as_slice() {
            if self.strike(slot, id) {
                gone(self, slot);
                self.drop_topic(slot);
            }
        }
    }

    fn add(&mut self, name: &[u8], extra: Extra) -> u32 {
        let hash = self.hash(name);
        let slot = self.topics.insert(Topic { name: name.into(), extra, subscribers: Roster::default() });
        self.table.insert_unique(spread(hash), Entry { hash, slot }, |entry| spread(entry.hash));
        slot
    }

    /// Takes a subscriber off a name's list and answers whether nobody is left.
    fn strike(&mut self, slot: u32, id: Id) -> bool {
        let subscribers = &mut self.topics.get_mut(slot).subscribers;
        let listed = subscribers.remove(id);
        assert!(listed, "a membership had a name that did not list its subscriber");
        subscribers.as_slice().is_empty()
    }

    fn drop_topic(&mut self, slot: u32) {
        let topic = self.topics.remove(slot);
        let entry = self.table.find_entry(spread(self.hash(&topic.name)), |entry| entry.slot == slot);
        entry.expect("every name is in the table").remove();
        shrink(&mut self.table, |entry| spread(entry.hash));
    }

    fn hash(&self, name: &[u8]) -> u32 {
        let hash = self.hasher.hash_one(name);
        (hash ^ hash >> 32) as u32
    }
}

/// Gives memory back once a table is mostly empty. Amortised over the removals that emptied it.
pub(super) fn shrink<T>(table: &mut HashTable<T>, hasher: impl Fn(&T) -> u64) {
    if 8 * table.len() < table.capacity() {
        table.shrink_to(2 * table.len(), hasher);
    }
}

/// 32 bits of hash as the table wants them: places are taken from the low end, tags from the high end.
pub(super) fn spread(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}
