//! WATCH: which callers a changed key makes fail their EXEC.
//!
//! A key may be in memory although its time has come. For whoever begins to watch it then it is absent already: its
//! removal is no change. For whoever watched it before, its time coming is one.
//!
//! Invariant: a caller's own list (`Extras::watched`) and this index name the same keys.

use hashbrown::{HashMap, HashSet};
use smallvec::SmallVec;

use super::caller::Caller;
use super::host::ClientId;

/// Who watches one key; nearly always one.
type Watchers = SmallVec<[ClientId; 2]>;

/// Watched keys of all callers, and the callers whose watch was broken.
#[derive(Debug, Default)]
pub(super) struct Watches {
    by_key: HashMap<(u16, Box<[u8]>), Watchers>,
    broken: HashSet<ClientId>,
    /// Watches that began when the key was due and still in memory. Nearly always empty.
    began_due: HashSet<(ClientId, u16, Box<[u8]>)>,
}

/// What happened to a key when the keys of a whole database were replaced.
#[derive(Debug, Clone, Copy)]
pub(super) struct Replaced {
    /// It was in memory, due or not.
    pub(super) was: bool,
    /// It is there now, not due.
    pub(super) is: bool,
}

impl Watches {
    /// Adds a key to the caller's watch, `is_due` when it is in memory although its time has come. Watching twice counts
    /// once. Linear in the keys the caller watches.
    pub(super) fn watch(&mut self, caller: &mut Caller, key: &[u8], is_due: bool) {
        let (id, db) = (caller.id, caller.db);
        let watched = &mut caller.extras_mut().watched;
        if watched.iter().any(|(other_db, other)| *other_db == db && **other == *key) {
            return;
        }
        watched.push((db, key.into()));
        if is_due {
            self.began_due.insert((id, db, key.into()));
        }
        self.by_key.entry((db, key.into())).or_default().push(id);
    }

    /// Forgets all the caller watches, broken or not.
    pub(super) fn unwatch(&mut self, caller: &mut Caller) {
        self.broken.remove(&caller.id);
        let Some(extras) = caller.extras.as_mut() else { return };
        for place in extras.watched.drain(..) {
            if !self.began_due.is_empty() {
                self.began_due.remove(&(caller.id, place.0, place.1.clone()));
            }
            if let hashbrown::hash_map::Entry::Occupied(mut entry) = self.by_key.entry(place) {
                entry.get_mut().retain(|id| *id != caller.id);
                if entry.get().is_empty() {
                    entry.remove();
                }
            }
        }
    }

    /// A key changed: every watch on it is broken. Free while nothing is watched.
    pub(super) fn touch(&mut self, db: u16, key: &[u8]) {
        if self.by_key.is_empty() {
            return;
        }
        if let Some(watchers) = self.by_key.get(&(db, Box::from(key))) {
            self.broken.extend(watchers.iter().copied());
        }
    }

    /// A due key was removed: every watch is broken that began before it was due.
    pub(super) fn expire(&mut self, db: u16, key: &[u8]) {
        if self.began_due.is_empty() {
            return self.touch(db, key);
        }
        let Some(watchers) = self.by_key.get(&(db, Box::from(key))) else { return };
        for id in watchers {
            if !self.began_due.remove(&(*id, db, key.into())) {
                self.broken.insert(*id);
            }
        }
    }

    /// The keys of a database were replaced by others, or by none; `replaced` tells of each.
    pub(super) fn touch_database(&mut self, db: u16, mut replaced: impl FnMut(&[u8]) -> Replaced) {
        for ((watched_db, key), watchers) in &self.by_key {
            if *watched_db != db {
                continue;
            }
            let Replaced { was, is } = replaced(key);
            for id in watchers {
                let was_there = was && !self.began_due.remove(&(*id, db, key.clone()));
                if was_there || is {
                    self.broken.insert(*id);
                }
            }
        }
    }

    /// Whether a watch began when the key was due already.
    pub(super) fn began_due(&self, caller: ClientId, db: u16, key: &[u8]) -> bool {
        !self.began_due.is_empty() && self.began_due.contains(&(caller, db, key.into()))
    }

    /// Whether the caller's EXEC must fail.
    pub(super) fn is_broken(&self, caller: ClientId) -> bool {
        self.broken.contains(&caller)
    }

    /// Distinct keys under watch.
    pub(super) fn len(&self) -> usize {
        self.by_key.len()
    }
}
