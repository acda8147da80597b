//! The large form: byte strings in a hash table of segments, each sorted by home ranges.
//!
//! Segments grow by a sixth to a half at a time, split at [`SEGMENT_MEMBERS_MAX`] members or [`BLOCK_BYTES_MAX`] bytes,
//! and merge with their buddies, so that no change moves more than two segments' worth of members.
//!
//! Invariant: a member's hash is that of its bytes by the caller's function, the same on every call.
//! Invariant: what was frozen never changes; whoever changes a shared segment copies it first.
//! Deliberately unknown here: limits, other forms.

mod block;
mod layout;
mod probe;
mod segment;
#[cfg(test)]
mod tests;

use std::ops::Range;

use crate::engine::directory::{Directory, POSITIONS, position};
use crate::engine::hash::Hasher13;
use crate::reply::Pieces;

use super::{Member, Memory};
pub use block::paged_bytes;
use layout::{ARENA_BYTES_MAX, BLOCK_BYTES_MAX, Room, Slots};
use segment::{Item, NoRoom, Segment, Text, entry_bytes, suitable};

/// Members a segment holds before it splits.
const SEGMENT_MEMBERS_MAX: usize = 4_096;

/// Bytes of texts in an arena before its segment splits, so that there is room to grow.
const ARENA_FILLED_MAX: usize = ARENA_BYTES_MAX * 3 / 4;

/// Buddies merge when they hold at most this many together.
const MERGED_MEMBERS_MAX: usize = SEGMENT_MEMBERS_MAX / 2;

/// A segment with this many times as many slots as members is made smaller, if it has more than the number below.
const SPARSE: usize = 3;
const SPARSE_SLOTS_MIN: usize = 32;

/// Least and most room that a segment grows by, in 64ths of its members. Between the two it depends on the segment, so
/// that not all of a table's grow at once.
const ROOM_MIN: u64 = 10;
const ROOM_SPREAD: u64 = 20;

/// Room of a segment in which an insertion would have moved too many members.
const ROOM_AFTER_CROWD: u8 = 4;

/// Tags compared for a member of another table, at most; for more its hash is computed and its home looked up.
const OPPOSITE_SLOTS_MAX: usize = 192;

/// Whoever goes through a segment little by little does so in this many parts.
const PARTS: usize = 8;

/// Members of one set, found by hash.
#[derive(Debug, Clone)]
pub(super) struct Table {
    segments: Directory<Segment>,
    len: usize,
    /// Bytes of all members.
    text_bytes: usize,
    /// The most slots a segment ever had.
    widest: usize,
    /// How many members all changes moved.
    #[cfg(test)]
    moved: usize,
}

impl Default for Table {
    fn default() -> Self {
        let first = Segment::default();
        let widest = first.slots();
        Table {
            segments: Directory::new(first),
            len: 0,
            text_bytes: 0,
            widest,
            #[cfg(test)]
            moved: 0,
        }
    }
}

impl Table {
    /// How many members there are.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Heap bytes, as the allocator rounds them. Cost: the number of segments.
    pub(super) fn allocated_bytes(&self) -> usize {
        let blocks: usize = self.segments.all().map(Segment::allocated_bytes).sum();
        blocks + self.segments.slab_bytes() + self.segments.slot_bytes()
    }

    /// Bytes of all members together.
    pub(super) fn text_bytes(&self) -> usize {
        self.text_bytes
    }

    /// True when `member` is there. O(1).
    pub(super) fn contains(&self, member: &[u8], hasher: &Hasher13) -> bool {
        self.contains_hashed(hasher.hash(member), member)
    }

    /// As [`Table::contains`], where the hash is known.
    pub(super) fn contains_hashed(&self, hash: u64, member: &[u8]) -> bool {
        self.segments.at(hash).find(hash, member).is_some()
    }

    /// Asks for what a lookup of this hash will read first.
    pub(super) fn look_ahead(&self, hash: u64) {
        self.segments.at(hash).look_ahead(hash);
    }

    /// Asks for what it will read then.
    pub(super) fn look_closer(&self, hash: u64) {
        self.segments.at(hash).look_closer(hash);
    }

    /// Adds `member`. False when it was there. O(1).
    pub(super) fn insert(&mut self, member: &[u8], hasher: &Hasher13) -> bool {
        self.insert_hashed(hasher.hash(member), member, hasher)
    }

    /// As [`Table::insert`], where the hash is known.
    pub(super) fn insert_hashed(&mut self, hash: u64, member: &[u8], hasher: &Hasher13) -> bool {
        let mut index = self.segments.index(hash);
        if self.segment(index).find(hash, member).is_some() {
            return false;
        }
        if let Err(no_room) = self.segments.content_mut(index).add(hash, member) {
            index = self.make_room(index, Item { hash, text: Text::Short(member) }, no_room, hasher);
        }
        debug_assert!(self.segment(index).find(hash, member).is_some());
        self.len += 1;
        self.text_bytes += member.len();
        true
    }

    /// Removes `member`. False when it was not there. O(1).
    pub(super) fn remove(&mut self, member: &[u8], hasher: &Hasher13) -> bool {
        let hash = hasher.hash(member);
        let index = self.segments.index(hash);
        let segment = self.segments.content_mut(index);
        let Some(slot) = segment.find(hash, member) else { return false };
        segment.remove(slot, hash);
        self.text_bytes -= member.len();
        self.one_left(index, hasher);
        true
    }

    fn one_left(&mut self, index: usize, hasher: &Hasher13) {
        self.len -= 1;
        // Looking at the buddy costs a cache miss; every eighth removal is often enough, and zero is among them.
        if self.segment(index).len().is_multiple_of(8) {
            self.settle(index, hasher);
        }
    }

    /// All members: segments in no particular order, and within them by home.
    pub(super) fn iter(&self) -> impl Iterator<Item = Member<'_>> {
        self.segments.all().flat_map(members)
    }

    /// The members in one of [`Table::pieces`], counted from 0: some hundreds.
    pub(super) fn piece(&self, piece: usize) -> impl Iterator<Item = Member<'_>> {
        self.segments.get(piece / PARTS).into_iter().flat_map(move |segment| part(segment, piece % PARTS))
    }

    /// As [`Table::piece`], and tells of each member whether `other` holds it: the two are walked side by side, without
    /// hashing, as far as a home of one lies opposite few of the other.
    pub(super) fn piece_beside<'a>(
        &'a self,
        piece: usize,
        other: &Table,
        hasher: &Hasher13,
        mut visit: impl FnMut(Member<'a>, bool),
    ) {
        let index = piece / PARTS;
        let Some(segment) = self.segments.get(index) else { return };
        let start = self.segments.start(index);
        for home in homes_of(segment, piece % PARTS) {
            let opposite = other.opposite(start + segment.home_offset(home)..start + segment.home_offset(home + 1));
            for (tag, text) in segment.tagged_texts_of(home) {
                let is_shared = match &opposite {
                    Some((segment, slots)) => segment.holds(slots.clone(), tag, text),
                    None => text.member().with_bytes(|bytes| other.contains(bytes, hasher)),
                };
                visit(text.member(), is_shared);
            }
        }
    }

    /// The segment and the slots where all members of these positions lie; none when they are many.
    fn opposite(&self, positions: Range<u64>) -> Option<(&Segment, Range<usize>)> {
        let last = positions.end.checked_sub(1).filter(|&last| last >= positions.start)?;
        let index = self.segments.index(positions.start << 2);
        if self.segments.end(index).is_some_and(|end| end <= last) {
            return None;
        }
        let segment = self.segment(index);
        let slots = segment.slots_of(positions.start << 2, last << 2);
        (slots.len() <= OPPOSITE_SLOTS_MAX).then_some((segment, slots))
    }

    /// Whether nothing was changed in one of the two since one was cloned from the other.
    pub(super) fn is(&self, other: &Self) -> bool {
        let pairs = || self.segments.all().zip(other.segments.all());
        self.segments.len() == other.segments.len() && pairs().all(|(one, other)| one.is(other))
    }

    /// Whole segments in the order of hash positions from `cursor` on, until they hold `count` members, and where to go
    /// on, 0 at the end. The first may hold members before `cursor`.
    pub(super) fn freeze_page(&self, cursor: u64, count: usize) -> (FrozenTable, u64) {
        let (mut page, mut held, mut next) = (Vec::new(), 0, Some(cursor).filter(|&cursor| cursor < POSITIONS));
        while let Some(at) = next
            && held < count
        {
            let index = self.segments.index(at << 2);
            held += self.segment(index).len();
            page.push(self.segment(index).clone());
            next = self.segments.end(index);
        }
        (FrozenTable(page), next.unwrap_or(0))
    }

    /// All members as they are now. Cost: the number of segments.
    pub(super) fn freeze(&self) -> FrozenTable {
        FrozenTable(self.segments.all().cloned().collect())
    }

    /// Everything, to be dropped little by little.
    pub(super) fn take_all(self) -> FrozenTable {
        FrozenTable(self.segments.into_all())
    }

    /// How many segments there are.
    #[cfg(test)]
    pub(super) fn segments(&self) -> usize {
        self.segments.len()
    }

    /// How many pieces [`Table::piece`] has.
    pub(super) fn pieces(&self) -> usize {
        self.segments.len() * PARTS
    }

    /// A member drawn uniformly, and a number that tells it from others while nothing changes; none when the table is
    /// empty.
    pub(super) fn random(&self, rng: &mut fastrand::Rng) -> Option<(usize, Member<'_>)> {
        let (index, slot) = self.draw(rng)?;
        self.segment(index).text(slot).map(|text| (index * self.widest + slot, text.member()))
    }

    /// Takes out a member drawn uniformly and shows it to `taken`.
    pub(super) fn remove_random(&mut self, rng: &mut fastrand::Rng, hasher: &Hasher13, taken: impl FnOnce(&[u8])) {
        let Some((index, slot)) = self.draw(rng) else { return };
        let segment = self.segments.content_mut(index);
        let Some(text) = segment.text(slot) else { return };
        let (hash, len) = text.member().with_bytes(|bytes| {
            taken(bytes);
            (hasher.hash(bytes), bytes.len())
        });
        segment.remove(slot, hash);
        self.text_bytes -= len;
        self.one_left(index, hasher);
    }

    /// One page in the order of homes: at least `count` members unless the end comes first, and beyond only those of
    /// the last one's home. Answers where to go on, 0 at the end.
    ///
    /// Any cursor is legal. A member that is there from the first page to the last is shown exactly once, whatever
    /// happens to the table between two pages.
    pub(super) fn page<'a>(
        &'a self,
        cursor: u64,
        count: usize,
        hasher: &Hasher13,
        mut visit: impl FnMut(Member<'a>),
    ) -> u64 {
        let mut next = Some(cursor).filter(|&cursor| cursor < POSITIONS);
        let mut wanted = count.max(1);
        while let Some(at) = next {
            let index = self.segments.index(at << 2);
            let segment = self.segment(index);
            let first = segment.home(at << 2);
            for home in first..segment.homes() {
                // Only in the first home something may lie before the cursor.
                let is_due = |member: Member<'_>| home > first || position(member.hash(hasher)) >= at;
                let mut shown = 0;
                for member in segment.texts_of(home).map(|text| text.member()).filter(|&member| is_due(member)) {
                    visit(member);
                    shown += 1;
                }
                wanted = wanted.saturating_sub(shown);
                if wanted == 0 && home + 1 < segment.homes() {
                    return self.segments.start(index) + segment.home_offset(home + 1);
                }
            }
            next = self.segments.end(index);
            if wanted == 0 {
                break;
            }
        }
        next.unwrap_or(0)
    }

    /// Rebuilds the segment that covers a position below [`POSITIONS`] so that its members are `load` of its slots, above
    /// 0 and at most 1; answers the first position behind it, none at the end. Moves its members.
    pub(super) fn compact(&mut self, position: u64, load: f64, hasher: &Hasher13) -> Option<u64> {
        let index = self.segments.index(position << 2);
        let depth = self.segments.depth(index);
        let segment = self.segments.content_mut(index);
        let compacted = Segment::build(&segment.items(hasher).collect::<Vec<_>>(), depth, Room::Load(load));
        *segment = compacted;
        self.widest = self.widest.max(self.segment(index).slots());
        let next = self.segments.end(index);
        if next.is_none() {
            self.segments.trim();
            self.widest = self.segments.all().map(Segment::slots).max().unwrap_or_default();
        }
        next
    }

    /// Where its bytes are. Cost: the number of segments.
    pub(super) fn memory(&self) -> Memory {
        let descriptions = self.segments.slab_bytes() + self.segments.slot_bytes();
        let whole = Memory { index: descriptions, compacted: descriptions, ..Memory::default() };
        self.segments.all().fold(whole, |whole, segment| whole + segment.memory())
    }

    fn segment(&self, index: usize) -> &Segment {
        self.segments.get(index).expect("an index below the number of segments")
    }

    /// Rebuilds or splits a segment until it has taken a member; answers where that lies.
    fn make_room(&mut self, mut index: usize, item: Item<'_>, no_room: NoRoom, hasher: &Hasher13) -> usize {
        let old = std::mem::take(self.segments.content_mut(index));
        let mut items: Vec<Item<'_>> = Vec::with_capacity(old.len() + 1);
        items.extend(old.items(hasher));
        items.push(item);
        self.note_moved(items.len());
        // Halves that are still too large happen only where texts are long.
        while is_too_large(&items) && self.segments.may_split(index, self.len) {
            let bit = self.segments.depth(index);
            let goes_up = |item: &Item<'_>| item.hash << bit >> 63 == 1;
            let mut others: Vec<Item<'_>> = items.extract_if(.., |other| goes_up(other) != goes_up(&item)).collect();
            others.shrink_to_fit();
            let buddy = self.segments.split(index, |_, _| <[Segment; 2]>::default());
            let (kept, done) = if goes_up(&item) { (buddy, index) } else { (index, buddy) };
            self.fill(done, &others, room_to_grow(&others));
            index = kept;
        }
        let room = match no_room {
            NoRoom::Full => room_to_grow(&items),
            // Whoever compacted it wants it small.
            NoRoom::Crowded => Room::ToGrow(ROOM_AFTER_CROWD),
        };
        self.fill(index, &items, room);
        index
    }

    fn fill(&mut self, index: usize, items: &[Item<'_>], room: Room) {
        let segment = Segment::build(items, self.segments.depth(index), room);
        self.widest = self.widest.max(segment.slots());
        *self.segments.content_mut(index) = segment;
    }

    /// After a removal: gives back slots, and merges with buddies for as long as that fits.
    fn settle(&mut self, mut index: usize, hasher: &Hasher13) {
        let segment = self.segment(index);
        let is_sparse = segment.slots() > SPARSE_SLOTS_MIN && segment.len() * SPARSE < segment.slots();
        if is_sparse || segment.len() == 0 {
            let old = std::mem::take(self.segments.content_mut(index));
            self.note_moved(old.len());
            let items: Vec<Item<'_>> = old.items(hasher).collect();
            self.fill(index, &items, room_to_grow(&items));
        }
        while let Some(buddy) = self.segments.buddy(index) {
            let (one, other) = (self.segment(index), self.segment(buddy));
            let members = one.len() + other.len();
            if members > MERGED_MEMBERS_MAX || one.entry_bytes_max() + other.entry_bytes_max() > ARENA_FILLED_MAX {
                break;
            }
            self.note_moved(members);
            let [one, other] = [index, buddy].map(|index| std::mem::take(self.segments.content_mut(index)));
            let items: Vec<Item<'_>> = one.items(hasher).chain(other.items(hasher)).collect();
            index = self.segments.merge(index, buddy, |_| Segment::default());
            self.fill(index, &items, room_to_grow(&items));
        }
    }

    fn note_moved(&mut self, members: usize) {
        let _ = members;
        #[cfg(test)]
        {
            self.moved += members;
        }
    }

    /// Draws slots until a taken one: every slot of the widest segment's number in every segment is as likely as any
    /// other, so every member is, however the segments differ.
    fn draw(&self, rng: &mut fastrand::Rng) -> Option<(usize, usize)> {
        if self.len == 0 {
            return None;
        }
        loop {
            let draw = rng.usize(..self.segments.len() * self.widest);
            let (index, slot) = (draw / self.widest, draw % self.widest);
            let segment = self.segment(index);
            if slot < segment.slots() && segment.text(slot).is_some() {
                return Some((index, slot));
            }
        }
    }
}

fn members(segment: &Segment) -> impl Iterator<Item = Member<'_>> {
    segment.texts().map(|text| text.member())
}

/// The members in one of a segment's [`PARTS`].
fn part(segment: &Segment, part: usize) -> impl Iterator<Item = Member<'_>> {
    homes_of(segment, part).flat_map(|home| segment.texts_of(home)).map(|text| text.member())
}

fn homes_of(segment: &Segment, part: usize) -> Range<usize> {
    let first = |part: usize| segment.homes() * part / PARTS;
    first(part)..first(part + 1)
}

/// Room for the next members of a segment.
fn room_to_grow(items: &[Item<'_>]) -> Room {
    // Any bits that differ from segment to segment.
    let phase = items.first().map_or(0, |item| item.hash >> 8 & 0xff);
    Room::ToGrow((ROOM_MIN + phase * ROOM_SPREAD / 0x100) as u8)
}

/// Whether members are too many or too long for one segment.
fn is_too_large(items: &[Item<'_>]) -> bool {
    items.len() > SEGMENT_MEMBERS_MAX
        || match suitable(items) {
            Slots::Offset => items.iter().map(|item| entry_bytes(item.text.len())).sum::<usize>() > ARENA_FILLED_MAX,
            holds => items.len() * (1 + holds.width()) > BLOCK_BYTES_MAX,
        }
}

/// The members of a table as they were at one moment.
#[derive(Debug)]
pub(crate) struct FrozenTable(Vec<Segment>);

impl FrozenTable {
    /// Pieces a segment is shown in.
    pub(crate) const PARTS: usize = PARTS;

    /// Drops some of it. False when nothing was left.
    pub(crate) fn drop_some(&mut self) -> bool {
        self.0.pop().is_some()
    }

    /// The members of one piece; none past the last.
    pub(crate) fn iter(&self, piece: usize) -> impl Iterator<Item = Member<'_>> {
        self.0.get(piece / PARTS).into_iter().flat_map(move |segment| part(segment, piece % PARTS))
    }
}

impl Pieces for FrozenTable {
    fn pieces(&self) -> usize {
        self.0.len() * PARTS
    }

    fn len(&self, piece: usize) -> usize {
        self.iter(piece).count()
    }

    fn each(&self, piece: usize, visit: &mut dyn FnMut(&[u8])) {
        self.iter(piece).for_each(|member| member.with_bytes(&mut *visit));
    }
}
