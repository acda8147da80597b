//! Set commands: their meaning on top of `set/`.
//!
//! Invariant: no key holds an empty set; whatever takes the last member out deletes the key.
//! Invariant: every source of a command is looked up and checked for its type, in order, before anything is changed.

mod operation;
mod tasks;

use std::borrow::Borrow;

use smallvec::SmallVec;

use crate::command::{
    Args, Sadd, ScanOptions, Scard, Sdiff, Sdiffstore, Sinter, Sintercard, Sinterstore, Sismember, Smembers,
    Smismember, Smove, Spop, Srandmember, Srem, Sscan, Sunion, Sunionstore,
};
use crate::limits::DRAWN_REPLY_BYTES_MAX;
use crate::reply::{Collection, CommandError, Members, Reply, Text};
use crate::topics::Glob;

use super::host::Host;
use super::keyspace::HashedKey;
use super::set::{Draw, Draws, Limits, Member, Rules, Set, intersect, subtract, unite};
use super::settings::NotifyFlags;
use super::value::{Kind, Value};
use super::{Engine, Turn};
use operation::{Operation, all_there, minuend};
use tasks::Wanted;

/// Bytes that a member takes in a reply besides itself, at least: `$`, a digit and two line ends.
const MEMBER_FRAME_BYTES: u64 = 6;

impl Engine {
    pub(super) fn sadd<H: Host>(&mut self, turn: &mut Turn<'_, H>, sadd: &Sadd<'_>) -> Result<Reply<'_>, CommandError> {
        let (db, key, rules) = (turn.caller.db, self.key(sadd.key), self.set_rules());
        let announced = sadd.members.len();
        let added = match self.write_set(turn, key)? {
            Some(set) => {
                set.expect(announced, &rules);
                set.insert_all(sadd.members.iter(), &rules)
            }
            None => {
                let first = sadd.members.get(0).unwrap_or_default();
                let mut set = Set::for_members(first, announced, &rules);
                let added = set.insert_all(sadd.members.iter(), &rules);
                self.insert_set(turn, key, set);
                added
            }
        };
        if added > 0 {
            self.changed(turn.host, db, NotifyFlags::SET, "sadd", key.bytes());
        }
        Ok(Reply::count(added))
    }

    pub(super) fn srem<H: Host>(&mut self, turn: &mut Turn<'_, H>, srem: &Srem<'_>) -> Result<Reply<'_>, CommandError> {
        let (key, hasher) = (self.key(srem.key), self.hasher);
        let Some(set) = self.write_set(turn, key)? else { return Ok(Reply::Integer(0)) };
        let removed = srem.members.iter().filter(|member| set.remove(member, &hasher)).count();
        let emptied = set.is_empty();
        if removed > 0 {
            self.members_left(turn, key, "srem", emptied);
        }
        Ok(Reply::count(removed))
    }

    pub(super) fn scard<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        scard: &Scard<'_>,
    ) -> Result<Reply<'_>, CommandError> {
        let key = self.key(scard.key);
        Ok(Reply::count(self.read_set(turn, key)?.map_or(0, Set::len)))
    }

    pub(super) fn sismember<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        sismember: &Sismember<'_>,
    ) -> Result<Reply<'_>, CommandError> {
        let (key, hasher) = (self.key(sismember.key), self.hasher);
        let set = self.read_set(turn, key)?;
        Ok(Reply::flag(set.is_some_and(|set| set.contains(sismember.member, &hasher))))
    }

    pub(super) fn smismember<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        smismember: &Smismember<'_>,
    ) -> Result<Reply<'_>, CommandError> {
        let (key, hasher) = (self.key(smismember.key), self.hasher);
        let set = self.read_set(turn, key)?;
        let flag = |member: &[u8]| Reply::flag(set.is_some_and(|set| set.contains(member, &hasher)));
        Ok(Reply::Array(smismember.members.iter().map(flag).collect()))
    }

    pub(super) fn smembers<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        smembers: &Smembers<'_>,
    ) -> Result<Reply<'_>, CommandError> {
        let key = self.key(smembers.key);
        Ok(self.read_set(turn, key)?.map_or_else(empty_set, all_of))
    }

    pub(super) fn smove<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        smove: &Smove<'_>,
    ) -> Result<Reply<'_>, CommandError> {
        let (db, rules) = (turn.caller.db, self.set_rules());
        let (source, destination) = (self.key(smove.source), self.key(smove.destination));
        // Both are looked up before anything is answered: a due destination goes even when there is no source.
        self.expire_if_due(turn, source);
        self.expire_if_due(turn, destination);
        if self.write_set(turn, source)?.is_none() {
            // The type of the destination does not matter then.
            return Ok(Reply::Integer(0));
        }
        self.write_set(turn, destination)?;
        let Some(set) = self.write_set(turn, source)? else { return Ok(Reply::Integer(0)) };
        if smove.source == smove.destination {
            return Ok(Reply::flag(set.contains(smove.member, &rules.hasher)));
        }
        if !set.remove(smove.member, &rules.hasher) {
            return Ok(Reply::Integer(0));
        }
        let emptied = set.is_empty();
        self.members_left(turn, source, "srem", emptied);
        let added = match self.write_set(turn, destination)? {
            Some(set) => set.insert(smove.member, &rules),
            None => {
                let mut set = Set::for_members(smove.member, 1, &rules);
                let added = set.insert(smove.member, &rules);
                self.insert_set(turn, destination, set);
                added
            }
        };
        if added {
            self.changed(turn.host, db, NotifyFlags::SET, "sadd", destination.bytes());
        }
        Ok(Reply::Integer(1))
    }

    pub(super) fn spop<H: Host>(&mut self, turn: &mut Turn<'_, H>, spop: &Spop<'_>) -> Result<Reply<'_>, CommandError> {
        let (key, rules, mut rng) = (self.key(spop.key), self.set_rules(), self.random.fork());
        let set = self.write_set(turn, key)?;
        let Some(count) = spop.count else {
            let Some(set) = set else { return Ok(Reply::Nil) };
            let popped = set.pop(&mut rng, &rules);
            let emptied = set.is_empty();
            self.members_left(turn, key, "spop", emptied);
            return Ok(popped.map_or(Reply::Nil, Reply::owned));
        };
        let Some(set) = set.filter(|_| count > 0) else { return Ok(empty_set()) };
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        turn.caller.check_entries(count.min(set.len()))?;
        if count < set.len()
            && let Some(draw) = Draw::new(set, count, rng.fork(), rules)
        {
            let source = (key.bytes().into(), Some(Value::set(set.clone())));
            let task = Box::new(tasks::Draws { draw, from: Some(key.bytes().into()) });
            return Ok(self.work_off(turn, vec![source], task));
        }
        let popped = set.pop_many(count, &mut rng, &rules);
        let emptied = set.is_empty();
        self.members_left(turn, key, "spop", emptied);
        Ok(members_of(Collection::Set, popped))
    }

    pub(super) fn srandmember<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        srandmember: &Srandmember<'_>,
    ) -> Result<Reply<'_>, CommandError> {
        let (key, rules, mut rng) = (self.key(srandmember.key), self.set_rules(), self.random.fork());
        let set = self.read_set(turn, key)?;
        let wanted = srandmember.count.map_or(1, |count| usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX));
        let draw = match (set, srandmember.count) {
            (Some(set), Some(1..)) if wanted < set.len() => Draw::new(set, wanted, rng.fork(), rules),
            _ => None,
        };
        if let Some(draw) = draw {
            return Ok(self.work_off(turn, Vec::new(), Box::new(tasks::Draws { draw, from: None })));
        }
        // Looked up again, for while it is borrowed nothing can be begun.
        let set = self.set_at(turn, key);
        let Some(count) = srandmember.count else {
            return Ok(set.and_then(|set| set.random(&mut rng)).map_or(Reply::Nil, |member| Reply::Bulk(text(member))));
        };
        let Some(set) = set.filter(|_| count != 0) else { return Ok(Reply::Array(Vec::new())) };
        if count < 0 {
            refuse_monster(set, wanted)?;
            return Ok(Reply::Stream(Collection::Array, Box::new(Draws::new(set, wanted, rng.u64(..)))));
        }
        if wanted >= set.len() {
            return Ok(members_of(Collection::Array, set));
        }
        let mut sample = Vec::with_capacity(wanted);
        set.sample(wanted, &mut rng, |member| sample.push(member));
        Ok(Reply::Members(Collection::Array, Box::new(sample)))
    }

    pub(super) fn sinter<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        sinter: &Sinter<'_>,
    ) -> Result<Reply<'_>, CommandError> {
        let hasher = self.hasher;
        if let Some(reply) = self.combine_slowly(turn, sinter.keys, Operation::Intersection, &Wanted::Members)? {
            return Ok(reply);
        }
        let Some(sets) = all_there(&self.found(turn, sinter.keys)) else { return Ok(empty_set()) };
        if let [only] = sets[..] {
            return Ok(all_of(only));
        }
        let mut shared = Vec::new();
        intersect(&sets, usize::MAX, &hasher, |member| shared.push(member));
        Ok(Reply::Members(Collection::Set, Box::new(shared)))
    }

    pub(super) fn sintercard<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        sintercard: &Sintercard<'_>,
    ) -> Result<Reply<'_>, CommandError> {
        let hasher = self.hasher;
        let limit = match sintercard.limit {
            None | Some(0) => usize::MAX,
            Some(limit) => usize::try_from(limit).unwrap_or(usize::MAX),
        };
        let operation = Operation::SharedCount { limit };
        if let Some(reply) = self.combine_slowly(turn, sintercard.keys, operation, &Wanted::Count)? {
            return Ok(reply);
        }
        let Some(sets) = all_there(&self.found(turn, sintercard.keys)) else { return Ok(Reply::Integer(0)) };
        Ok(Reply::count(intersect(&sets, limit, &hasher, |_| {}).members))
    }

    pub(super) fn sinterstore<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        sinterstore: &Sinterstore<'_>,
    ) -> Result<Reply<'_>, CommandError> {
        self.store_combined(turn, Operation::Intersection, sinterstore.keys, sinterstore.destination, "sinterstore")
    }

    pub(super) fn sunion<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        sunion: &Sunion<'_>,
    ) -> Result<Reply<'_>, CommandError> {
        let rules = self.set_rules();
        if let Some(reply) = self.combine_slowly(turn, sunion.keys, Operation::Union, &Wanted::Members)? {
            return Ok(reply);
        }
        let sets: SmallVec<[&Set; 8]> = self.found(turn, sunion.keys).into_iter().flatten().collect();
        Ok(match sets[..] {
            [] => empty_set(),
            [only] => all_of(only),
            _ => members_of(Collection::Set, unite(&sets, &rules)),
        })
    }

    pub(super) fn sunionstore<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        sunionstore: &Sunionstore<'_>,
    ) -> Result<Reply<'_>, CommandError> {
        self.store_combined(turn, Operation::Union, sunionstore.keys, sunionstore.destination, "sunionstore")
    }

    pub(super) fn sdiff<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        sdiff: &Sdiff<'_>,
    ) -> Result<Reply<'_>, CommandError> {
        let rules = self.set_rules();
        if let Some(reply) = self.combine_slowly(turn, sdiff.keys, Operation::Difference, &Wanted::Members)? {
            return Ok(reply);
        }
        let sources = self.found(turn, sdiff.keys);
        let Some((first, others)) = minuend(&sources) else { return Ok(empty_set()) };
        Ok(match others[..] {
            [] => all_of(first),
            _ => members_of(Collection::Set, subtract(first, &others, &rules)),
        })
    }

    pub(super) fn sdiffstore<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        sdiffstore: &Sdiffstore<'_>,
    ) -> Result<Reply<'_>, CommandError> {
        self.store_combined(turn, Operation::Difference, sdiffstore.keys, sdiffstore.destination, "sdiffstore")
    }

    pub(super) fn sscan<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        sscan: &Sscan<'_>,
    ) -> Result<Reply<'_>, CommandError> {
        let (key, hasher) = (self.key(sscan.key), self.hasher);
        let Some(set) = self.read_set(turn, key)? else {
            return Ok(Reply::Page { cursor: 0, items: Vec::new() });
        };
        let options = ScanOptions::of_members(sscan.options)?;
        let glob = options.pattern.map(Glob::new).filter(|glob| !glob.is_all());
        let count = usize::try_from(options.count).unwrap_or(usize::MAX);
        if let Some((members, next)) = set.freeze_page(sscan.cursor, count) {
            let page = tasks::MatchingMembers { members, glob, start: (sscan.cursor, hasher) };
            return Ok(Reply::Stream(Collection::Page(next), Box::new(page)));
        }
        let mut items = Vec::new();
        let cursor = set.page(sscan.cursor, count, &hasher, |member| {
            if glob.as_ref().is_none_or(|glob| member.with_bytes(|bytes| glob.matches(bytes))) {
                items.push(text(member));
            }
        });
        Ok(Reply::Page { cursor, items })
    }

    fn set_rules(&self) -> Rules {
        let limits = Limits {
            ints_max: self.settings.set_max_intset_entries,
            packed_max: self.settings.set_max_listpack_entries,
            packed_member_bytes_max: self.settings.set_max_listpack_value,
        };
        Rules { limits, hasher: self.hasher }
    }

    /// Looks up every source and checks its type.
    ///
    /// # Errors
    /// A key holds another type; keys after it were not looked at.
    fn check_sources<H: Host>(&mut self, turn: &mut Turn<'_, H>, keys: Args<'_>) -> Result<(), CommandError> {
        for key in keys.iter() {
            let key = self.key(key);
            self.read_set(turn, key)?;
        }
        Ok(())
    }

    /// The set at a key that was checked.
    fn set_at<H: Host>(&self, turn: &Turn<'_, H>, key: HashedKey<'_>) -> Option<&Set> {
        self.databases[usize::from(turn.caller.db)].get(key, turn.now.unix_ms()).and_then(Value::as_set)
    }

    /// The sets at keys that were checked, none where a key is absent.
    fn found<H: Host>(&self, turn: &Turn<'_, H>, keys: Args<'_>) -> SmallVec<[Option<&Set>; 8]> {
        keys.iter().map(|key| self.set_at(turn, self.key(key))).collect()
    }

    /// Stores what sets make together.
    fn store_combined<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        operation: Operation,
        keys: Args<'_>,
        destination: &[u8],
        event: &'static str,
    ) -> Result<Reply<'_>, CommandError> {
        let wanted = Wanted::Stored(destination.into(), event);
        if let Some(reply) = self.combine_slowly(turn, keys, operation, &wanted)? {
            return Ok(reply);
        }
        let result = operation.at_once(&self.found(turn, keys), &self.set_rules());
        Ok(self.store_set(turn, destination, result, event))
    }

    /// Checks the sources and, when there is much to be walked over, begins to put them together.
    ///
    /// # Errors
    /// A key holds another type; keys after it were not looked at.
    fn combine_slowly<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        keys: Args<'_>,
        operation: Operation,
        wanted: &Wanted,
    ) -> Result<Option<Reply<'static>>, CommandError> {
        self.check_sources(turn, keys)?;
        let sets = self.found(turn, keys);
        if !operation.is_long(&sets) {
            return Ok(None);
        }
        let sources = match wanted {
            Wanted::Members | Wanted::Count => Vec::new(),
            Wanted::Stored(..) => {
                let held = sets.iter().map(|set| set.map(|set| Value::set(set.clone())));
                keys.iter().map(Box::from).zip(held).collect()
            }
        };
        let algebra = operation.begin(&sets, self.set_rules());
        drop(sets);
        Ok(Some(self.work_off(turn, sources, Box::new(tasks::Combine { algebra, wanted: wanted.clone() }))))
    }

    /// Adds a key that is known to be absent.
    fn insert_set<H: Host>(&mut self, turn: &mut Turn<'_, H>, key: HashedKey<'_>, set: Set) {
        let db = turn.caller.db;
        self.database(db).insert(key, Value::set(set), None);
        self.added(turn.host, db, key.bytes());
    }

    /// Publishes that members left a set, and deletes its key when they were the last.
    fn members_left<H: Host>(&mut self, turn: &mut Turn<'_, H>, key: HashedKey<'_>, event: &str, emptied: bool) {
        let db = turn.caller.db;
        if emptied {
            self.database(db).remove(key);
        }
        self.changed(turn.host, db, NotifyFlags::SET, event, key.bytes());
        if emptied {
            self.changed(turn.host, db, NotifyFlags::GENERIC, "del", key.bytes());
        }
    }

    /// Makes `left` what is left of a set that members were popped from.
    pub(super) fn keep_members<H: Host>(&mut self, turn: &mut Turn<'_, H>, key: &[u8], left: Set) {
        let key = self.key(key);
        let emptied = left.is_empty();
        if let Ok(Some(set)) = self.write_set(turn, key) {
            let before = std::mem::replace(set, left);
            self.dispose(Value::set(before));
            self.members_left(turn, key, "spop", emptied);
        }
    }

    /// Makes `result` what the key holds, whatever it held; an empty one deletes the key. Answers its size.
    pub(super) fn store_set<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        destination: &[u8],
        result: Set,
        event: &str,
    ) -> Reply<'static> {
        let (db, key, len) = (turn.caller.db, self.key(destination), result.len());
        if len == 0 {
            // Nothing looks at the destination: one that is due is deleted like any other.
            if let Some(entry) = self.database(db).remove(key) {
                self.dispose(entry.into_parts().0);
                self.changed(turn.host, db, NotifyFlags::GENERIC, "del", key.bytes());
            }
            return Reply::Integer(0);
        }
        self.expire_if_due(turn, key);
        match self.database(db).set(key, Value::set(result), None) {
            None => self.added(turn.host, db, key.bytes()),
            Some(old) => self.replaced(turn.host, db, key.bytes(), old, Kind::Set),
        }
        self.changed(turn.host, db, NotifyFlags::SET, event, key.bytes());
        Reply::count(len)
    }
}

/// Adds members to a set; answers how many were new.
fn empty_set<'e>() -> Reply<'e> {
    Reply::Set(Vec::new())
}

fn all_of(set: &Set) -> Reply<'_> {
    members_of(Collection::Set, set)
}

/// The answer that holds a set: one of the engine's, or one made for its answer.
pub(super) fn members_of<'e>(collection: Collection, set: impl Borrow<Set> + Members + 'e) -> Reply<'e> {
    match set.borrow().freeze() {
        Some(frozen) => Reply::Stream(collection, Box::new(frozen)),
        None => Reply::Members(collection, Box::new(set)),
    }
}

fn text(member: Member<'_>) -> Text<'_> {
    match member {
        Member::Integer(_) => Text::Owned(member.with_bytes(<[u8]>::to_vec)),
        Member::Bytes(bytes) => Text::Borrowed(bytes),
    }
}

/// Refuses to draw so many members that the reply would be a burden for everybody, judged by the members' mean length.
fn refuse_monster(set: &Set, count: usize) -> Result<(), CommandError> {
    let members = set.len().max(1) as u64;
    let mean = set.text_bytes() as u64 / members + MEMBER_FRAME_BYTES;
    let bytes = mean.saturating_mul(count as u64);
    match bytes > DRAWN_REPLY_BYTES_MAX {
        true => Err(CommandError::ReplyTooLarge { bytes, bytes_max: DRAWN_REPLY_BYTES_MAX }),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::hash::Hasher13;

    #[test]
    fn draws_are_refused_by_the_size_of_their_reply() {
        let rules = Rules { limits: Limits::default(), hasher: Hasher13::new(1, 2) };
        let (mut short, mut long) = (Set::new(), Set::new());
        short.insert(b"1", &rules);
        long.insert(&[b'x'; 1000], &rules);
        assert_eq!(refuse_monster(&short, 9_000_000), Ok(()));
        assert_eq!(refuse_monster(&long, 60_000), Ok(()));
        for (set, count) in [(&short, 10_000_000), (&long, 70_000), (&short, usize::MAX)] {
            assert!(matches!(refuse_monster(set, count), Err(CommandError::ReplyTooLarge { .. })), "{count}");
        }
    }
}
