//! A set of byte strings in whichever of three forms suits its members.
//!
//! | form | what it holds | its name outside |
//! |---|---|---|
//! | [`Ints`] | few members, all canonical 64-bit integers | `intset` |
//! | [`Packed`] | few and short members | `listpack` |
//! | [`Table`] | anything | `hashtable` |
//!
//! Forms change towards the table only, at the thresholds of [`Limits`]; removing members never changes the form,
//! except where [`Set::pop_many`] says so. When and how is Redis's way, for clients can ask.
//!
//! Invariant: the form never shows in an answer other than the encoding's name and the order of members. A member is a
//! byte string: `1`, `01` and `+1` are three of them, and only the first may lie among integers.
//! Invariant: a page's cursor is a position of the member's hash, in every form, so that scans outlive
//! conversions.
//! Deliberately unknown here: keys, commands, replies beyond the [`Members`] they are streamed from.

mod algebra;
mod ints;
mod packed;
mod pick;
mod table;
#[cfg(test)]
mod tests;

use std::ops::ControlFlow;

use smallvec::SmallVec;

use crate::command::parse_integer;
use crate::reply::{Members, Pieces};

use super::hash::Hasher13;
use super::segments::{page_of, position};
use crate::limits::{AHEAD_MEMBERS_MAX, SCAN_AT_ONCE_MAX, SEGMENTS_AT_ONCE_MAX};

pub(crate) use algebra::{Algebra, intersect, intersection, subtract, unite};
use ints::Ints;
use packed::Packed;
pub(crate) use pick::Draw;
pub(crate) use table::FrozenTable;
use table::Table;
pub use table::paged_bytes;

/// Pages of smaller sets are not cut.
const PAGE_MEMBERS_MIN: usize = 128;

/// Where the small forms end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Most members of the integer form: `set-max-intset-entries`.
    pub(crate) ints_max: usize,
    /// Most members of the packed form: `set-max-listpack-entries`.
    pub(crate) packed_max: usize,
    /// Longest member of the packed form, in bytes: `set-max-listpack-value`.
    pub(crate) packed_member_bytes_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { ints_max: 512, packed_max: 128, packed_member_bytes_max: 64 }
    }
}

/// What every change of a set needs to know.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    /// Thresholds between the forms. They may differ from one call to the next.
    pub(crate) limits: Limits,
    /// Must be the same on every call with the same set.
    pub(crate) hasher: Hasher13,
}

/// One member, as it lies in its set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Member<'a> {
    /// An integer; its byte string is the canonical decimal text.
    Integer(i64),
    /// Bytes, which may be the text of an integer too.
    Bytes(&'a [u8]),
}

const _: () = assert!(size_of::<Member<'_>>() == 16);

impl Member<'_> {
    /// True when its byte string is a canonical integer, wherever it lies.
    fn is_integer(self) -> bool {
        match self {
            Member::Integer(_) => true,
            Member::Bytes(bytes) => parse_integer(bytes).is_some(),
        }
    }

    /// The hash of its bytes.
    pub(crate) fn hash(self, hasher: &Hasher13) -> u64 {
        self.with_bytes(|bytes| hasher.hash(bytes))
    }

    /// Calls `read` with the member's bytes; an integer is written on the stack for it.
    pub(crate) fn with_bytes<R>(self, read: impl FnOnce(&[u8]) -> R) -> R {
        match self {
            Member::Integer(value) => read(itoa::Buffer::new().format(value).as_bytes()),
            Member::Bytes(bytes) => read(bytes),
        }
    }
}

/// Bytes of a set on the heap.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Memory {
    /// Of texts that were removed.
    pub(crate) dead: usize,
    /// What texts lie in.
    pub(crate) texts: usize,
    /// What finds them.
    pub(crate) index: usize,
    /// Members there could be before anything grows.
    pub(crate) slots: usize,
    /// All of it, as GOBLIN.OPTIMIZE would leave it.
    pub(crate) compacted: usize,
}

impl Memory {
    fn of_packed(allocated: usize, members: usize, used: usize) -> Self {
        Memory { texts: allocated, slots: members, compacted: used, ..Memory::default() }
    }
}

impl std::ops::Add for Memory {
    type Output = Memory;

    fn add(self, other: Self) -> Self {
        Memory {
            dead: self.dead + other.dead,
            texts: self.texts + other.texts,
            index: self.index + other.index,
            slots: self.slots + other.slots,
            compacted: self.compacted + other.compacted,
        }
    }
}

/// A set of byte strings.
#[derive(Debug, Clone)]
pub(crate) struct Set(Form);

#[derive(Debug, Clone)]
enum Form {
    Ints(Ints),
    Packed(Packed),
    // Boxed, for most sets are small and this is the widest form.
    Table(Box<Table>),
}

impl Default for Set {
    fn default() -> Self {
        Self::new()
    }
}

impl Set {
    /// An empty set, in the form results of set algebra begin with: integers, whatever the limits.
    pub(crate) const fn new() -> Self {
        Set(Form::Ints(Ints::new()))
    }

    /// An empty set in the form for `count` members of which the first is `first`.
    pub(crate) fn for_members(first: &[u8], count: usize, rules: &Rules) -> Self {
        if count <= rules.limits.ints_max && parse_integer(first).is_some() {
            return Set::new();
        }
        Set::for_strings(count, rules)
    }

    fn for_strings(count: usize, rules: &Rules) -> Self {
        Set(match count <= rules.limits.packed_max {
            true => Form::Packed(Packed::new()),
            false => Form::Table(Box::default()),
        })
    }

    /// Prepares for an insertion of `count` members at once, duplicates counted: more than the present form may hold
    /// make a table at once.
    pub(crate) fn expect(&mut self, count: usize, rules: &Rules) {
        let outgrown = match &self.0 {
            Form::Ints(_) => count > rules.limits.ints_max,
            Form::Packed(_) => count > rules.limits.packed_max,
            Form::Table(_) => false,
        };
        if outgrown {
            self.become_table(&rules.hasher);
        }
    }

    /// Adds `member`. False when it was there. O(1) in a table, O(n) in the small forms.
    pub(crate) fn insert(&mut self, member: &[u8], rules: &Rules) -> bool {
        match &mut self.0 {
            Form::Ints(ints) => match parse_integer(member) {
                Some(value) => self.insert_member(Member::Integer(value), rules),
                None => {
                    let longest = ints.longest_text().max(member.len());
                    self.make_room(longest, rules);
                    self.insert(member, rules)
                }
            },
            Form::Packed(packed) => {
                if packed.contains(member) {
                    return false;
                }
                if packed.len() < rules.limits.packed_max && member.len() <= rules.limits.packed_member_bytes_max {
                    packed.push(member);
                    return true;
                }
                self.become_table(&rules.hasher);
                self.insert(member, rules)
            }
            Form::Table(table) => table.insert(member, &rules.hasher),
        }
    }

    /// Adds all `members`; answers how many were not there.
    pub(crate) fn insert_all<'m>(&mut self, members: impl Iterator<Item = &'m [u8]>, rules: &Rules) -> usize {
        let (mut added, mut members) = (0, members.peekable());
        while members.peek().is_some() {
            let Form::Table(table) = &mut self.0 else {
                added += usize::from(members.next().is_some_and(|member| self.insert(member, rules)));
                continue;
            };
            // Together, for each would wait for memory.
            let mut ahead = SmallVec::<[(u64, &[u8]); AHEAD_MEMBERS_MAX]>::new();
            for member in members.by_ref().take(AHEAD_MEMBERS_MAX) {
                let hash = rules.hasher.hash(member);
                table.look_ahead(hash);
                ahead.push((hash, member));
            }
            added += ahead.iter().filter(|(hash, member)| table.insert_hashed(*hash, member, &rules.hasher)).count();
        }
        added
    }

    /// Asks for the memory that a lookup of this hash will read first, where there is much of it.
    pub(crate) fn look_ahead(&self, hash: u64) {
        if let Form::Table(table) = &self.0 {
            table.look_ahead(hash);
        }
    }

    /// Asks for what it will read then.
    pub(crate) fn look_closer(&self, hash: u64) {
        if let Form::Table(table) = &self.0 {
            table.look_closer(hash);
        }
    }

    /// As [`Set::insert`], for a member of another set.
    pub(crate) fn insert_member(&mut self, member: Member<'_>, rules: &Rules) -> bool {
        let (value, ints) = match (member, &mut self.0) {
            (Member::Integer(value), Form::Ints(ints)) => (value, ints),
            (member, _) => return member.with_bytes(|bytes| self.insert(bytes, rules)),
        };
        if !ints.insert(value) {
            return false;
        }
        if ints.len() > rules.limits.ints_max {
            // Redis goes to the table from here even where the packed form would do.
            self.become_table(&rules.hasher);
        }
        true
    }

    /// Leaves the integer form for the one that takes one more string, when the longest member then has `longest` bytes.
    fn make_room(&mut self, longest: usize, rules: &Rules) {
        if self.len() >= rules.limits.packed_max || longest > rules.limits.packed_member_bytes_max {
            return self.become_table(&rules.hasher);
        }
        let mut packed = Packed::new();
        self.for_each(|member| member.with_bytes(|bytes| packed.push(bytes)));
        self.0 = Form::Packed(packed);
    }

    fn become_table(&mut self, hasher: &Hasher13) {
        let mut table = Box::<Table>::default();
        self.for_each(|member| member.with_bytes(|bytes| assert!(table.insert(bytes, hasher))));
        self.0 = Form::Table(table);
    }

    /// Removes `member`. False when it was not there. O(1) in a table, O(n) in the small forms.
    pub(crate) fn remove(&mut self, member: &[u8], hasher: &Hasher13) -> bool {
        match &mut self.0 {
            Form::Ints(ints) => parse_integer(member).is_some_and(|value| ints.remove(value)),
            Form::Packed(packed) => packed.remove(member),
            Form::Table(table) => table.remove(member, hasher),
        }
    }

    /// As [`Set::remove`], for a member of another set.
    pub(crate) fn remove_member(&mut self, member: Member<'_>, hasher: &Hasher13) -> bool {
        match (member, &mut self.0) {
            (Member::Integer(value), Form::Ints(ints)) => ints.remove(value),
            (member, _) => member.with_bytes(|bytes| self.remove(bytes, hasher)),
        }
    }

    /// True when `member` is there. O(1) in a table, O(log n) among integers, O(n) when packed.
    pub(crate) fn contains(&self, member: &[u8], hasher: &Hasher13) -> bool {
        match &self.0 {
            Form::Ints(ints) => parse_integer(member).is_some_and(|value| ints.contains(value)),
            Form::Packed(packed) => packed.contains(member),
            Form::Table(table) => table.contains(member, hasher),
        }
    }

    /// As [`Set::contains`], for a member of another set, whose `hash` is asked for only where that is needed.
    pub(crate) fn contains_member(&self, member: Member<'_>, hash: impl FnOnce() -> u64) -> bool {
        match (member, &self.0) {
            (Member::Integer(value), Form::Ints(ints)) => ints.contains(value),
            (member, Form::Ints(ints)) => member.with_bytes(parse_integer).is_some_and(|value| ints.contains(value)),
            (member, Form::Packed(packed)) => member.with_bytes(|bytes| packed.contains(bytes)),
            (member, Form::Table(table)) => member.with_bytes(|bytes| table.contains_hashed(hash(), bytes)),
        }
    }

    /// How many members there are.
    pub(crate) fn len(&self) -> usize {
        match &self.0 {
            Form::Ints(ints) => ints.len(),
            Form::Packed(packed) => packed.len(),
            Form::Table(table) => table.len(),
        }
    }

    /// True when there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What OBJECT ENCODING answers.
    pub(crate) fn encoding(&self) -> &'static str {
        match &self.0 {
            Form::Ints(_) => "intset",
            Form::Packed(_) => "listpack",
            Form::Table(_) => "hashtable",
        }
    }

    /// Heap bytes, without those of the `Set` itself. Cost: the number of the table's segments.
    pub(crate) fn allocated_bytes(&self) -> usize {
        match &self.0 {
            Form::Ints(ints) => ints.allocated_bytes(),
            Form::Packed(packed) => packed.allocated_bytes(),
            Form::Table(table) => size_of::<Table>() + table.allocated_bytes(),
        }
    }

    /// Where its bytes are. Cost: O(1) in the small forms, else the number of the table's segments.
    pub(crate) fn memory(&self) -> Memory {
        match &self.0 {
            Form::Ints(ints) => Memory::of_packed(ints.allocated_bytes(), ints.len(), ints.used_bytes()),
            Form::Packed(packed) => Memory::of_packed(packed.allocated_bytes(), packed.len(), packed.used_bytes()),
            Form::Table(table) => table.memory() + Memory { index: size_of::<Table>(), ..Memory::default() },
        }
    }

    /// Rebuilds what lies around a position, 0 at first, so that `load` of its room is used; answers where to go on.
    /// The small forms only give back their room. Moves a segment's members.
    pub(crate) fn compact(&mut self, position: u64, load: f64, hasher: &Hasher13) -> Option<u64> {
        match &mut self.0 {
            Form::Ints(ints) => ints.shrink(),
            Form::Packed(packed) => packed.shrink(),
            Form::Table(table) => return table.compact(position, load, hasher),
        }
        None
    }

    /// How many pieces [`Set::piece`] has: one of everything in the small forms.
    pub(crate) fn pieces(&self) -> usize {
        match &self.0 {
            Form::Ints(_) | Form::Packed(_) => 1,
            Form::Table(table) => table.pieces(),
        }
    }

    /// Shows the members of one of [`Set::pieces`], counted from 0, a few hundred where they lie in a table.
    pub(crate) fn piece<'a>(&'a self, index: usize, visit: impl FnMut(Member<'a>)) {
        match &self.0 {
            Form::Ints(_) | Form::Packed(_) => self.for_each(visit),
            Form::Table(table) => table.piece(index).for_each(visit),
        }
    }

    /// As [`Set::piece`], and tells of each member whether `other` holds it, where both are tables. False where they are
    /// not: then nothing was shown.
    pub(crate) fn piece_beside<'a>(
        &'a self,
        index: usize,
        other: &Set,
        hasher: &Hasher13,
        visit: impl FnMut(Member<'a>, bool),
    ) -> bool {
        let (Form::Table(table), Form::Table(other)) = (&self.0, &other.0) else { return false };
        table.piece_beside(index, other, hasher, visit);
        true
    }

    /// Whether one of the two is a clone of the other and neither was changed since. Cost: O(n) in the small forms, else
    /// the number of segments.
    pub(crate) fn is(&self, other: &Set) -> bool {
        match (&self.0, &other.0) {
            (Form::Ints(one), Form::Ints(other)) => one == other,
            (Form::Packed(one), Form::Packed(other)) => one == other,
            (Form::Table(one), Form::Table(other)) => one.is(other),
            _ => false,
        }
    }

    /// The members as they are now, when there are too many to be told at once. Cost: the number of segments.
    pub(crate) fn freeze(&self) -> Option<FrozenTable> {
        match &self.0 {
            Form::Table(table) if table.pieces() > SEGMENTS_AT_ONCE_MAX => Some(table.freeze()),
            Form::Ints(_) | Form::Packed(_) | Form::Table(_) => None,
        }
    }

    /// Everything, to be dropped little by little, when there is too much for once.
    pub(crate) fn into_remains(self) -> Option<FrozenTable> {
        match self.0 {
            Form::Table(table) if table.pieces() > SEGMENTS_AT_ONCE_MAX => Some(table.take_all()),
            Form::Ints(_) | Form::Packed(_) | Form::Table(_) => None,
        }
    }

    /// Bytes of all members' texts together. O(n) in the small forms, else O(1).
    pub(crate) fn text_bytes(&self) -> usize {
        match &self.0 {
            Form::Ints(ints) => ints.iter().map(ints::text_len).sum(),
            Form::Packed(packed) => packed.text_bytes(),
            Form::Table(table) => table.text_bytes(),
        }
    }

    /// Shows members to `visit` until it breaks: integers ascending, packed ones in the order of insertion.
    pub(crate) fn try_each<'a, B>(&'a self, mut visit: impl FnMut(Member<'a>) -> ControlFlow<B>) -> ControlFlow<B> {
        match &self.0 {
            Form::Ints(ints) => ints.iter().try_for_each(|value| visit(Member::Integer(value))),
            Form::Packed(packed) => packed.iter().try_for_each(|bytes| visit(Member::Bytes(bytes))),
            Form::Table(table) => table.iter().try_for_each(visit),
        }
    }

    /// Shows all members to `visit`.
    pub(crate) fn for_each<'a>(&'a self, mut visit: impl FnMut(Member<'a>)) {
        let _: ControlFlow<()> = self.try_each(|member| {
            visit(member);
            ControlFlow::Continue(())
        });
    }

    /// One page of a scan that began with cursor 0: shows some members to `visit` and answers the cursor to go on with,
    /// 0 at the end, always below 2^63. Any cursor is legal.
    ///
    /// At least `count` members unless the end comes first, and at most `max(count, 128)` up to members of equal hash
    /// position. A member that is there from the first page to the last is shown, in whatever form and however the set
    /// changes between the pages; none is shown twice while the set does not change.
    pub(crate) fn page<'a>(
        &'a self,
        cursor: u64,
        count: usize,
        hasher: &Hasher13,
        visit: impl FnMut(Member<'a>),
    ) -> u64 {
        let small = self.len() <= PAGE_MEMBERS_MIN;
        if small && cursor == 0 {
            self.for_each(visit);
            return 0;
        }
        let count = if small { PAGE_MEMBERS_MIN } else { count };
        let located = |member: Member<'a>| (position(member.with_bytes(|bytes| hasher.hash(bytes))), member);
        match &self.0 {
            Form::Ints(ints) => page_of(ints.iter().map(Member::Integer).map(located), cursor, count, visit),
            Form::Packed(packed) => page_of(packed.iter().map(Member::Bytes).map(located), cursor, count, visit),
            Form::Table(table) => table.page(cursor, count, hasher, visit),
        }
    }

    /// Part of a scan as [`Set::page`] is, of whole segments and to be told later: at least `count` members unless the
    /// end comes first. None where the set is small enough to be looked at at once.
    pub(crate) fn freeze_page(&self, cursor: u64, count: usize) -> Option<(FrozenTable, u64)> {
        match &self.0 {
            Form::Table(table) if count.min(table.len()) > SCAN_AT_ONCE_MAX => Some(table.freeze_page(cursor, count)),
            Form::Ints(_) | Form::Packed(_) | Form::Table(_) => None,
        }
    }
}

impl Members for Set {
    fn len(&self) -> usize {
        self.len()
    }

    fn each(&self, visit: &mut dyn FnMut(&[u8])) {
        self.for_each(|member| member.with_bytes(&mut *visit));
    }
}

impl Members for &Set {
    fn len(&self) -> usize {
        Set::len(self)
    }

    fn each(&self, visit: &mut dyn FnMut(&[u8])) {
        Set::for_each(self, |member| member.with_bytes(&mut *visit));
    }
}

impl Members for Vec<Member<'_>> {
    fn len(&self) -> usize {
        self.len()
    }

    fn each(&self, visit: &mut dyn FnMut(&[u8])) {
        self.iter().for_each(|member| member.with_bytes(&mut *visit));
    }
}

/// Members drawn one by one while they are shown, so that any number of them takes no memory.
#[derive(Debug)]
pub(crate) struct Draws {
    set: Set,
    count: usize,
    seed: u64,
}

impl Draws {
    /// `count` independent draws from a set as it is now; none from an empty one.
    pub(crate) fn new(set: &Set, count: usize, seed: u64) -> Self {
        Draws { set: set.clone(), count: if set.is_empty() { 0 } else { count }, seed }
    }
}

/// Draws shown in one piece.
const DRAWS_PER_PIECE: usize = 256;

impl Pieces for Draws {
    fn pieces(&self) -> usize {
        self.count.div_ceil(DRAWS_PER_PIECE)
    }

    fn len(&self, piece: usize) -> usize {
        self.count.saturating_sub(piece * DRAWS_PER_PIECE).min(DRAWS_PER_PIECE)
    }

    fn each(&self, piece: usize, visit: &mut dyn FnMut(&[u8])) {
        // A piece of its own seed: shown again it is the same, and it needs none before it.
        let mut rng = fastrand::Rng::with_seed(self.seed ^ (piece as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        for _ in 0..self.len(piece) {
            if let Some(member) = self.set.random(&mut rng) {
                member.with_bytes(&mut *visit);
            }
        }
    }
}
