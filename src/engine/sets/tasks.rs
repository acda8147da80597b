//! Set commands that take long: algebra over large sets, many draws, and large pages of a scan.
//!
//! Deliberately unknown here: keys, types, and when a command is long.

use crate::engine::Engine;
use crate::engine::hash::Hasher13;
use crate::engine::segments::position;
use crate::engine::set::{Algebra, Draw, FrozenTable, Member, Set};
use crate::engine::work::{Done, Task};
use crate::limits::SET_MEMBERS_AT_ONCE_MAX;
use crate::reply::{Collection, Pieces, Reply};
use crate::topics::Glob;

/// Draws of one slice: each moves a member to another table, some 200 ns.
const DRAWS_PER_SLICE: usize = 256;

/// What is done with members put together.
#[derive(Debug, Clone)]
pub(super) enum Wanted {
    /// They are told.
    Members,
    /// Their number is.
    Count,
    /// They are stored at a key, and the event tells of it.
    Stored(Box<[u8]>, &'static str),
}

/// Intersection, union or difference.
#[derive(Debug)]
pub(super) struct Combine {
    pub(super) algebra: Algebra<Set>,
    pub(super) wanted: Wanted,
}

impl Task for Combine {
    fn advance(&mut self, _: &mut Engine) -> Option<Done> {
        // A lookup in another set costs several times what a step of the walk does.
        if !self.algebra.advance(SET_MEMBERS_AT_ONCE_MAX / 4) {
            return None;
        }
        Some(match &self.wanted {
            Wanted::Members => Done::Members(Collection::Set, self.algebra.take_result()),
            Wanted::Count => Done::Answer(Reply::count(self.algebra.count())),
            Wanted::Stored(key, event) => Done::StoredSet { key: key.clone(), set: self.algebra.take_result(), event },
        })
    }

    fn into_sets(self: Box<Self>) -> Vec<Set> {
        let (mut sets, made) = self.algebra.into_sets();
        sets.push(made);
        sets
    }
}

/// SPOP and SRANDMEMBER of many members.
#[derive(Debug)]
pub(super) struct Draws {
    pub(super) draw: Draw,
    /// The key they are taken from; none when they stay.
    pub(super) from: Option<Box<[u8]>>,
}

impl Task for Draws {
    fn advance(&mut self, _: &mut Engine) -> Option<Done> {
        if !self.draw.advance(DRAWS_PER_SLICE) {
            return None;
        }
        let (left, popped) = self.draw.take_result();
        Some(match &self.from {
            Some(key) => Done::Popped { key: key.clone(), left, popped },
            None => Done::Members(Collection::Array, popped),
        })
    }

    fn into_sets(mut self: Box<Self>) -> Vec<Set> {
        let (left, popped) = self.draw.take_result();
        vec![left, popped]
    }
}

/// A large page of SSCAN.
#[derive(Debug)]
pub(super) struct MatchingMembers {
    pub(super) members: FrozenTable,
    pub(super) glob: Option<Glob>,
    /// The position from which members of the first segment are wanted, and how positions are found.
    pub(super) start: (u64, Hasher13),
}

impl MatchingMembers {
    fn of_piece(&self, piece: usize) -> impl Iterator<Item = Member<'_>> {
        let (cursor, hasher) = &self.start;
        self.members.iter(piece).filter(move |member| {
            member.with_bytes(|bytes| {
                self.glob.as_ref().is_none_or(|glob| glob.matches(bytes))
                    && (piece >= FrozenTable::PARTS || position(hasher.hash(bytes)) >= *cursor)
            })
        })
    }
}

impl Pieces for MatchingMembers {
    fn pieces(&self) -> usize {
        self.members.pieces()
    }

    fn len(&self, piece: usize) -> usize {
        self.of_piece(piece).count()
    }

    fn each(&self, piece: usize, visit: &mut dyn FnMut(&[u8])) {
        self.of_piece(piece).for_each(|member| member.with_bytes(&mut *visit));
    }
}
