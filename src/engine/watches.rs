//! WATCH: which callers a changed key makes fail their EXEC.
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
}

impl Watches {
    /// Adds a key to the caller's watch; watching twice counts once. Linear in the keys the caller watches.
    pub(super) fn watch(&mut self, caller: &mut Caller, key: &[u8]) {
        let (id, db) = (caller.id, caller.db);
        let watched = &mut caller.extras_mut().watched;
        if watched.iter().any(|(other_db, other)| *other_db == db && **other == *key) {
            return;
        }
        watched.push((db, key.into()));
        self.by_key.entry((db, key.into())).or_default().push(id);
    }

    /// Forgets all the caller watches, broken or not.
    pub(super) fn unwatch(&mut self, caller: &mut Caller) {
        self.broken.remove(&caller.id);
        let Some(extras) = caller.extras.as_mut() else { return };
        for place in extras.watched.drain(..) {
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

    /// All keys of a database changed that `exists` says were there, before or after.
    pub(super) fn touch_database(&mut self, db: u16, mut exists: impl FnMut(&[u8]) -> bool) {
        for ((watched_db, key), watchers) in &self.by_key {
            if *watched_db == db && exists(key) {
                self.broken.extend(watchers.iter().copied());
            }
        }
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
