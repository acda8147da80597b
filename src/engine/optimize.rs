//! GOBLIN.OPTIMIZE and GOBLIN.MEMORY: sets in less memory, and where their bytes are.
//!
//! Rebuilding changes nothing that a command could see, so that a large set is rebuilt segment by segment, between the
//! turns of others and whatever they do to it meanwhile.
//!
//! Deliberately unknown here: how a set is laid out.

use std::collections::VecDeque;

use crate::command::{GoblinMemory, GoblinOptimize};
use crate::limits::SCAN_AT_ONCE_MAX;
use crate::reply::{CommandError, Reply, Text};
use crate::topics::Glob;

use super::host::Host;
use super::set::Set;
use super::work::{Done, Task};
use super::{Engine, Turn};

/// Keys looked at in one slice.
const KEYS_PER_SLICE: usize = 256;

/// The key that stands for all of them.
const ALL: &[u8] = b"*";

impl Engine {
    /// Answers how many bytes a set takes less than before, 0 when it takes more; of all sets together for the key `*`.
    /// Nil for a key that is absent or holds no set.
    pub(super) fn goblin_optimize<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        optimize: &GoblinOptimize<'_>,
    ) -> Result<Reply<'_>, CommandError> {
        let (db, key, load) = (turn.caller.db, self.key(optimize.key), optimize.wish.load);
        let mut compaction = Compaction {
            db,
            load,
            now_ms: turn.now.unix_ms(),
            keys: VecDeque::new(),
            cursor: None,
            glob: None,
            under_way: None,
            saved: 0,
        };
        if optimize.key == ALL {
            compaction.glob = Some(Glob::new(optimize.wish.pattern.unwrap_or(ALL)));
            compaction.cursor = Some(0);
            return Ok(self.work_off(turn, Vec::new(), Box::new(compaction)));
        }
        if optimize.wish.pattern.is_some() {
            return Err(CommandError::Syntax);
        }
        self.expire_if_due(turn, key);
        let set = self.databases[usize::from(db)].get_mut(key, turn.now.unix_ms()).and_then(|value| value.as_set_mut());
        let Some(set) = set else { return Ok(Reply::Nil) };
        if set.len() > SCAN_AT_ONCE_MAX {
            compaction.keys.push_back(key.bytes().into());
            return Ok(self.work_off(turn, Vec::new(), Box::new(compaction)));
        }
        let before = set.allocated_bytes();
        let mut cursor = 0;
        while let Some(next) = set.compact(cursor, load, &self.hasher) {
            cursor = next;
        }
        Ok(Reply::count(before.saturating_sub(set.allocated_bytes())))
    }

    /// Names and figures; nil for a key that is absent or holds no set. Cost: the number of the set's segments.
    pub(super) fn goblin_memory<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        memory: &GoblinMemory<'_>,
    ) -> Reply<'static> {
        let key = self.key(memory.key);
        self.expire_if_due(turn, key);
        let set =
            self.databases[usize::from(turn.caller.db)].get(key, turn.now.unix_ms()).and_then(|value| value.as_set());
        let Some(set) = set else { return Reply::Nil };
        let memory = set.memory();
        let figures = [
            ("member_count", set.len()),
            ("member_live_bytes", set.text_bytes()),
            ("member_dead_bytes", memory.dead),
            ("member_allocated_bytes", memory.texts),
            ("member_index_capacity", memory.slots),
            ("member_index_tombstones", 0),
            ("member_index_allocated_bytes", memory.index),
            ("total_allocated_bytes", set.allocated_bytes()),
            ("optimized_allocated_bytes", memory.compacted),
        ];
        let text = |count: usize| Reply::Bulk(Text::Owned(itoa::Buffer::new().format(count).as_bytes().to_vec()));
        Reply::Map(figures.into_iter().map(|(name, count)| (Reply::bulk(name.as_bytes()), text(count))).collect())
    }
}

/// Sets being rebuilt, one segment a slice.
#[derive(Debug)]
struct Compaction {
    db: u16,
    load: f64,
    now_ms: i64,
    /// Keys to come.
    keys: VecDeque<Box<[u8]>>,
    /// Where more keys are found, and which of them are meant.
    cursor: Option<u64>,
    glob: Option<Glob>,
    under_way: Option<UnderWay>,
    saved: usize,
}

/// A set that is rebuilt from this position on, and its bytes before.
#[derive(Debug)]
struct UnderWay {
    key: Box<[u8]>,
    cursor: u64,
    before: usize,
}

impl Task for Compaction {
    fn advance(&mut self, engine: &mut Engine) -> Option<Done> {
        if let Some(under_way) = self.under_way.take() {
            self.under_way = self.go_on(engine, under_way);
        } else if let Some(key) = self.keys.pop_front() {
            if let Some(set) = self.set(engine, &key) {
                let before = set.allocated_bytes();
                self.under_way = Some(UnderWay { key, cursor: 0, before });
            }
        } else if let Some(cursor) = self.cursor {
            self.cursor = Some(self.find_keys(engine, cursor)).filter(|&next| next != 0);
        } else {
            return Some(Done::Optimized(self.saved));
        }
        None
    }
}

impl Compaction {
    fn go_on(&mut self, engine: &mut Engine, under_way: UnderWay) -> Option<UnderWay> {
        let hasher = engine.hasher;
        let set = self.set(engine, &under_way.key)?;
        match set.compact(under_way.cursor, self.load, &hasher) {
            Some(cursor) => Some(UnderWay { cursor, ..under_way }),
            None => {
                self.saved += under_way.before.saturating_sub(set.allocated_bytes());
                None
            }
        }
    }

    /// The set at a key, while it is there.
    fn set<'e>(&self, engine: &'e mut Engine, key: &[u8]) -> Option<&'e mut Set> {
        let key = engine.key(key);
        engine.databases.get_mut(usize::from(self.db))?.get_mut(key, self.now_ms)?.as_set_mut()
    }

    fn find_keys(&mut self, engine: &Engine, cursor: u64) -> u64 {
        let Some(database) = engine.databases.get(usize::from(self.db)) else { return 0 };
        database.page(cursor, KEYS_PER_SLICE, |entry| {
            let wanted = self.glob.as_ref().is_none_or(|glob| glob.matches(entry.key()));
            if wanted && entry.value().as_set().is_some() {
                self.keys.push_back(entry.key().into());
            }
        })
    }
}
