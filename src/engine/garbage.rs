//! What was removed and is large: dropped little by little, so that nobody waits for it.
//!
//! Invariant: nothing in here can be reached by a command; only its memory is still counted.
//! Deliberately unknown here: why it was removed, and the clock; whoever has time calls [`Engine::free_some`].

use crate::limits::SEGMENTS_AT_ONCE_MAX;

use super::Engine;
use super::keyspace::Entry;
use super::segments::Frozen;
use super::set::FrozenTable;
use super::value::Value;

/// Large values and whole databases on their way out.
#[derive(Debug, Default)]
pub(super) struct Garbage {
    databases: Vec<Frozen<Entry>>,
    tables: Vec<FrozenTable>,
}

impl Garbage {
    /// Takes a value, and drops it at once when it is small.
    fn add(&mut self, value: Value) {
        self.tables.extend(value.into_set().and_then(|set| set.into_remains()));
    }

    fn is_empty(&self) -> bool {
        self.databases.is_empty() && self.tables.is_empty()
    }

    /// Answers how much work that was, in segments of a database.
    fn drop_one_segment(&mut self) -> usize {
        if let Some(table) = self.tables.last_mut() {
            if !table.drop_some() {
                self.tables.pop();
            }
            return FrozenTable::PARTS;
        }
        if let Some(mut database) = self.databases.pop()
            && database.drop_one(|entry| self.add(entry.into_parts().0))
        {
            self.databases.push(database);
        }
        1
    }
}

impl Engine {
    /// Drops a value that no key holds any more.
    pub(super) fn dispose(&mut self, value: Value) {
        self.garbage.add(value);
    }

    /// Drops all keys of a database.
    pub(super) fn dispose_all(&mut self, keys: Frozen<Entry>) {
        self.garbage.databases.push(keys);
    }

    /// Frees memory of what was removed, some 50 microseconds of work. True when more is left.
    pub fn free_some(&mut self) -> bool {
        let mut done = 0;
        while done < SEGMENTS_AT_ONCE_MAX && !self.garbage.is_empty() {
            done += self.garbage.drop_one_segment();
        }
        !self.garbage.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::EngineSettings;
    use crate::engine::set::{Limits, Rules, Set};

    #[test]
    fn large_values_are_freed_in_bounded_steps() {
        let mut engine = Engine::new([1, 2], EngineSettings::default());
        let rules = Rules { limits: Limits::default(), hasher: engine.hasher };
        let set = |members: usize| {
            let mut set = Set::new();
            (0..members).for_each(|at| assert!(set.insert(format!("m{at}").as_bytes(), &rules)));
            Value::set(set)
        };
        engine.dispose(set(100));
        assert!(!engine.free_some(), "small ones go at once");
        engine.dispose(set(50_000));
        let mut steps = 1;
        while engine.free_some() {
            steps += 1;
        }
        // A segment a step, of at most 4,096 members.
        assert!((50_000 / 4_096..60).contains(&steps), "{steps} steps");
    }

    #[test]
    fn a_database_goes_with_the_large_values_in_it() {
        let mut engine = Engine::new([1, 2], EngineSettings::default());
        let rules = Rules { limits: Limits::default(), hasher: engine.hasher };
        let mut set = Set::new();
        (0..20_000).for_each(|at| assert!(set.insert(format!("m{at}").as_bytes(), &rules)));
        let key = engine.key(b"large");
        engine.database(0).insert(key, Value::set(set), None);
        let keys = engine.database(0).take_all();
        assert_eq!(engine.database(0).len(), 0);
        engine.dispose_all(keys);
        assert!(engine.free_some());
        while engine.free_some() {}
        assert!(engine.garbage.is_empty());
    }
}
