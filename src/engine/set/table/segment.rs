//! The members of one range of hash values, in the order of their hashes: a table with *home ranges*.
//!
//! A member's hash, scaled to the number of homes, tells its home; a home owns [`HOME`] slots. Members lie sorted by
//! home, as far to the front as that allows, and `over[home]` tells how many slots the members of homes up to this one
//! run past its own last one. So the members of a home lie in exactly the slots
//!
//! ```text
//! HOME * home + over[home - 1]  ..  HOME * (home + 1) + over[home]
//! ```
//!
//! and a lookup compares the tags of these: a miss costs no more than a hit, however full the segment is. The order
//! inside a home is free: to make room, one member of each home that is in the way moves from the front of its range to
//! the end, and removing one moves one per home back.
//!
//! Invariant: a home whose members run past its end has no free slot in its range.
//! Invariant: a tag is 0 exactly where nothing lies.
//! Invariant: the block is shared only with frozen copies; whoever changes it copies it first.
//! Deliberately unknown here: other segments, when to split or to merge.

use std::ops::Range;
use std::rc::Rc;

use crate::command::{OptimizeWish, parse_integer};
use crate::engine::hash::Hasher13;
use crate::engine::set::ints::text_len;
use crate::engine::set::{Member, Memory};

use super::block::{Block, class_bytes, taken_bytes};
use super::layout::{ARENA_BYTES_MAX, HOME, Layout, Room, Slots};
use super::probe::{LANES, matches, prefetch};

/// Longest text in an arena; a longer one lies in an allocation of its own.
const INLINE_BYTES_MAX: usize = 254;

/// The longest text of an integer.
const INTEGER_TEXT_BYTES_MAX: usize = 20;

/// First byte of an arena entry that is followed by the number of a long text.
const LONG: u8 = 255;
const LONG_ENTRY_BYTES: usize = 5;

/// An insertion that would have to move more members than this has the segment rebuilt looser instead.
const MOVES_MAX: usize = 250;

/// So has one after others that together moved this many times as many members as a rebuild does. Those that move no
/// more than a few are not counted.
const MOVES_PER_REBUILD: u32 = 4;
const MOVES_FEW: usize = 8;

/// Members of one range of hash values.
#[derive(Debug, Clone)]
pub(super) struct Segment {
    block: Block,
    longs: Option<Rc<Longs>>,
    layout: Layout,
    /// How many of a hash's first bits the segment's range fixes.
    depth: u32,
    len: u32,
    members_max: u32,
    arena_used: u32,
    arena_dead: u32,
    /// Members that insertions moved since it was built.
    moves: u32,
}

/// Texts too long for an arena.
#[derive(Debug, Clone, Default)]
struct Longs {
    texts: Vec<Option<Rc<[u8]>>>,
    free: Vec<u32>,
}

/// The counters beside a shared text.
const RC_BYTES: usize = 2 * size_of::<usize>();

/// A member on its way into a segment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Item<'a> {
    pub(super) hash: u64,
    pub(super) text: Text<'a>,
}

/// What a segment holds of a member.
#[derive(Debug, Clone, Copy)]
pub(super) enum Text<'a> {
    Integer(i64),
    Short(&'a [u8]),
    Long(&'a Rc<[u8]>),
}

impl<'a> Text<'a> {
    fn integer(self) -> Option<i64> {
        match self {
            Text::Integer(value) => Some(value),
            Text::Short(bytes) => parse_integer(bytes),
            Text::Long(_) => None,
        }
    }

    pub(super) fn member(self) -> Member<'a> {
        match self {
            Text::Integer(value) => Member::Integer(value),
            Text::Short(bytes) => Member::Bytes(bytes),
            Text::Long(bytes) => Member::Bytes(bytes),
        }
    }

    fn is(self, other: Text<'_>) -> bool {
        match (self, other) {
            (Text::Integer(one), Text::Integer(other)) => one == other,
            (one, other) => one.member().with_bytes(|one| other.member().with_bytes(|other| one == other)),
        }
    }

    pub(super) fn len(self) -> usize {
        match self {
            Text::Integer(value) => text_len(value),
            Text::Short(bytes) => bytes.len(),
            Text::Long(bytes) => bytes.len(),
        }
    }
}

/// Why a segment has to be rebuilt before it can take a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoRoom {
    /// It is full, or its slots hold nothing like it.
    Full,
    /// Too many members would have to move.
    Crowded,
}

impl Default for Segment {
    fn default() -> Self {
        Segment::build(&[], 0, Room::ToGrow(0))
    }
}

impl Segment {
    /// How many members there are.
    pub(super) fn len(&self) -> usize {
        self.len as usize
    }

    /// How many members there can be at most.
    pub(super) fn slots(&self) -> usize {
        self.layout.slots
    }

    /// Most bytes that its texts would take in an arena.
    pub(super) fn entry_bytes_max(&self) -> usize {
        match self.layout.holds {
            Slots::Text(width) => self.len() * (1 + usize::from(width)),
            Slots::Integer(_) => self.len() * (1 + INTEGER_TEXT_BYTES_MAX),
            Slots::Offset => (self.arena_used - self.arena_dead) as usize,
        }
    }

    /// Whether one of the two is a clone of the other and neither was changed since.
    pub(super) fn is(&self, other: &Self) -> bool {
        self.block.is(&other.block)
    }

    /// Bytes on the heap, as the allocator rounds them.
    pub(super) fn allocated_bytes(&self) -> usize {
        let longs = self.longs.as_ref().map_or(0, |longs| {
            let texts: usize = longs.texts.iter().flatten().map(|text| class_bytes(text.len() + RC_BYTES)).sum();
            texts + longs.texts.capacity() * size_of::<Option<Rc<[u8]>>>() + longs.free.capacity() * 4 + RC_BYTES
        });
        taken_bytes(self.block.len()) + longs
    }

    /// Where its bytes are.
    pub(super) fn memory(&self) -> Memory {
        let Layout { holds, slots, arena_bytes, .. } = self.layout;
        let (arena, in_slots) = match holds {
            Slots::Offset => (self.entry_bytes_max(), arena_bytes),
            Slots::Text(_) | Slots::Integer(_) => (0, slots * holds.width()),
        };
        let longs = self.allocated_bytes() - taken_bytes(self.block.len());
        let compacted = Layout::new(holds, self.len(), arena, Room::Load(OptimizeWish::LOAD));
        Memory {
            dead: self.arena_dead as usize,
            texts: in_slots + longs,
            slots,
            index: taken_bytes(self.block.len()) - in_slots,
            compacted: taken_bytes(compacted.block_bytes()) + longs,
        }
    }

    /// The slot of `member`, whose hash is `hash`.
    #[inline]
    pub(super) fn find(&self, hash: u64, member: &[u8]) -> Option<usize> {
        match self.layout.holds {
            Slots::Text(width) if member.len() == usize::from(width) => {
                let start = self.layout.slots_start();
                let width = member.len();
                // A length that is known saves a call.
                if let Ok(member) = <&[u8; 16]>::try_from(member) {
                    let slots = self.block[start..].as_chunks::<16>().0;
                    return self.probe(hash, |slot| slots[slot] == *member);
                }
                self.probe(hash, |slot| &self.block[start + slot * width..][..width] == member)
            }
            Slots::Text(_) => None,
            Slots::Integer(width) => {
                let value = parse_integer(member).filter(|value| fits(*value, width))?.to_le_bytes();
                let (start, width) = (self.layout.slots_start(), usize::from(width));
                self.probe(hash, |slot| self.block[start + slot * width..][..width] == value[..width])
            }
            Slots::Offset => self.probe(hash, |slot| self.arena_text(slot) == member),
        }
    }

    /// Asks for the tags that [`Segment::find`] will compare.
    pub(super) fn look_ahead(&self, hash: u64) {
        let slot = self.range(self.home(hash)).start;
        prefetch(&self.block, self.layout.tags_start() + slot);
        if self.layout.holds == Slots::Offset {
            prefetch(&self.block, self.layout.slots_start() + slot * self.layout.holds.width());
        }
    }

    /// Asks for the text that [`Segment::find`] will compare, once the tags are there.
    pub(super) fn look_closer(&self, hash: u64) {
        // The first slot that may be it is reason enough.
        self.probe(hash, |slot| {
            let at = match self.layout.holds {
                Slots::Offset => self.entry(slot),
                _ => self.layout.slots_start() + slot * self.layout.holds.width(),
            };
            prefetch(&self.block, at);
            true
        });
    }

    /// The member in a slot; none where nothing lies. `slot` is below [`Segment::slots`].
    pub(super) fn text(&self, slot: usize) -> Option<Text<'_>> {
        (self.tag(slot) != 0).then(|| self.text_in(slot))
    }

    /// All members with their slots, in the order of homes.
    pub(super) fn texts(&self) -> impl Iterator<Item = Text<'_>> {
        (0..self.layout.slots).filter(|&slot| self.tag(slot) != 0).map(|slot| self.text_in(slot))
    }

    /// All members, each with its hash, which is computed.
    pub(super) fn items<'a>(&'a self, hasher: &Hasher13) -> impl Iterator<Item = Item<'a>> {
        self.texts().map(|text| Item { hash: text.member().hash(hasher), text })
    }

    /// How many homes there are.
    pub(super) fn homes(&self) -> usize {
        self.layout.groups
    }

    /// The home of a hash in the segment's range.
    #[inline]
    pub(super) fn home(&self, hash: u64) -> usize {
        home_of(hash, self.depth, self.layout.groups)
    }

    /// How far the first position of `home` lies behind the segment's first.
    pub(super) fn home_offset(&self, home: usize) -> u64 {
        let least_rest = ((home as u128) << 64).div_ceil(self.layout.groups as u128);
        least_rest.div_ceil(1 << (self.depth + 2)) as u64
    }

    /// The members of a home.
    pub(super) fn texts_of(&self, home: usize) -> impl Iterator<Item = Text<'_>> {
        self.range(home).filter_map(|slot| self.text(slot))
    }

    /// The same, each with its tag.
    pub(super) fn tagged_texts_of(&self, home: usize) -> impl Iterator<Item = (u8, Text<'_>)> {
        self.range(home).filter_map(|slot| self.text(slot).map(|text| (self.tag(slot), text)))
    }

    /// The slots of all homes from that of one hash to that of another.
    pub(super) fn slots_of(&self, first: u64, last: u64) -> Range<usize> {
        self.range(self.home(first)).start..self.range(self.home(last)).end
    }

    /// Whether one of these slots holds a text of another segment, whose tag is `tag`.
    pub(super) fn holds(&self, slots: Range<usize>, tag: u8, text: Text<'_>) -> bool {
        let found = match (self.layout.holds, text) {
            (Slots::Text(16), Text::Short(bytes)) => {
                let Ok(bytes) = <&[u8; 16]>::try_from(bytes) else { return false };
                let slots_of_16 = self.block[self.layout.slots_start()..].as_chunks::<16>().0;
                self.probe_in(slots, tag, |slot| slots_of_16[slot] == *bytes)
            }
            _ => self.probe_in(slots, tag, |slot| self.text_in(slot).is(text)),
        };
        found.is_some()
    }

    /// Adds a member that is known to be absent.
    ///
    /// # Errors
    /// When there is no room for it or none of its kind; nothing was changed then.
    pub(super) fn add(&mut self, hash: u64, member: &[u8]) -> Result<(), NoRoom> {
        if self.len >= self.members_max || !self.takes(member) {
            return Err(NoRoom::Full);
        }
        if self.moves > self.len * MOVES_PER_REBUILD {
            return Err(NoRoom::Crowded);
        }
        let home = self.home(hash);
        let (slot, moves) = self.parts_mut().open(home).ok_or(NoRoom::Crowded)?;
        self.moves += if moves > MOVES_FEW { moves as u32 } else { 0 };
        self.put(slot, hash, Text::Short(member));
        self.len += 1;
        Ok(())
    }

    /// Removes the member in a slot, whose hash is `hash`.
    pub(super) fn remove(&mut self, slot: usize, hash: u64) {
        if self.layout.holds == Slots::Offset {
            self.forget_text(slot);
        }
        let home = self.home(hash);
        self.parts_mut().close(slot, home);
        self.len -= 1;
    }

    /// A segment of these members, in whatever order, whose range fixes the first `depth` bits of their hashes.
    /// Moves all of them.
    ///
    /// # Panics
    /// When more than 65,535 members hash alike or texts of one range exceed [`ARENA_BYTES_MAX`]; whoever fills segments
    /// splits them long before.
    pub(super) fn build(items: &[Item<'_>], depth: u32, room: Room) -> Self {
        let holds = suitable(items);
        let arena =
            if holds == Slots::Offset { items.iter().map(|item| entry_bytes(item.text.len())).sum() } else { 0 };
        assert!(arena <= ARENA_BYTES_MAX, "{arena} bytes of texts in one segment");
        let mut layout = Layout::new(holds, items.len(), arena, room);
        let mut segment = Segment {
            block: Block::zeroed(0),
            longs: None,
            layout,
            depth,
            len: items.len() as u32,
            members_max: 0,
            arena_used: 0,
            arena_dead: 0,
            moves: 0,
        };
        // Each home's end, as if all slots were there; then they are.
        let mut ends = vec![0u32; layout.groups];
        items.iter().for_each(|item| ends[segment.home(item.hash)] += 1);
        let mut end = 0;
        for (home, count) in ends.iter_mut().enumerate() {
            end = end.max(home * HOME) + *count as usize;
            *count = end as u32;
        }
        layout.slots = layout.slots.max(end);
        segment.layout = layout;
        segment.members_max = match room {
            Room::ToGrow(_) => layout.members_max(),
            Room::Load(_) => layout.slots,
        } as u32;
        segment.block = Block::zeroed(layout.block_bytes());
        segment.fill(items, &mut ends);
        segment
    }

    /// Writes the members of a new segment; `ends` are the homes' ends.
    fn fill(&mut self, items: &[Item<'_>], ends: &mut [u32]) {
        for (home, end) in ends.iter().enumerate() {
            let over = (*end as usize).saturating_sub((home + 1) * HOME);
            self.set_over(home, over);
        }
        let (layout, depth) = (self.layout, self.depth);
        let mut place = |hash: u64| {
            let end = &mut ends[home_of(hash, depth, layout.groups)];
            *end -= 1;
            *end as usize
        };
        if layout.holds == Slots::Offset {
            items.iter().for_each(|item| self.put(place(item.hash), item.hash, item.text));
            return;
        }
        let mut parts = self.parts_mut();
        for item in items {
            parts.put(place(item.hash), item.hash, item.text, layout.holds);
        }
    }

    /// Whether a slot can hold a member like this.
    fn takes(&self, member: &[u8]) -> bool {
        match self.layout.holds {
            Slots::Text(width) => member.len() == usize::from(width),
            Slots::Integer(width) => parse_integer(member).is_some_and(|value| fits(value, width)),
            Slots::Offset => self.arena_used as usize + entry_bytes(member.len()) <= self.layout.arena_bytes,
        }
    }

    fn parts_mut(&mut self) -> Parts<'_> {
        let (layout, width) = (self.layout, self.layout.holds.width());
        let (over, rest) = self.block.make_mut().split_at_mut(layout.tags_start());
        let (tags, rest) = rest.split_at_mut(layout.slots + LANES);
        Parts { over, tags: &mut tags[..layout.slots], slots: &mut rest[..layout.slots * width], width }
    }

    /// The slots of a home.
    #[inline]
    fn range(&self, home: usize) -> Range<usize> {
        // One read: the two lie side by side, and what stands before the first home is 0.
        let at = 2 * home;
        let over = |at: usize| usize::from(u16::from_le_bytes([self.block[at], self.block[at + 1]]));
        home * HOME + over(at)..(home + 1) * HOME + over(at + 2)
    }

    fn set_over(&mut self, home: usize, over: usize) {
        let at = 2 * (home + 1);
        let over = u16::try_from(over).expect("fewer than 65,536 members beyond their home");
        self.block_mut()[at..at + 2].copy_from_slice(&over.to_le_bytes());
    }

    fn tag(&self, slot: usize) -> u8 {
        self.block[self.layout.tags_start() + slot]
    }

    /// The first slot of a hash's home whose tag is right and that `is` accepts.
    #[inline]
    fn probe(&self, hash: u64, is: impl Fn(usize) -> bool) -> Option<usize> {
        self.probe_in(self.range(self.home(hash)), tag_of(hash), is)
    }

    #[inline]
    fn probe_in(&self, range: Range<usize>, tag: u8, is: impl Fn(usize) -> bool) -> Option<usize> {
        let tags = &self.block[self.layout.tags_start()..self.layout.slots_start()];
        let mut at = range.start;
        while at < range.end {
            let mut found = matches(tags[at..at + LANES].try_into().expect("as many tags"), tag);
            if range.end - at < LANES {
                found &= (1 << (range.end - at)) - 1;
            }
            while found != 0 {
                let slot = at + found.trailing_zeros() as usize;
                if is(slot) {
                    return Some(slot);
                }
                found &= found - 1;
            }
            at += LANES;
        }
        None
    }

    fn text_in(&self, slot: usize) -> Text<'_> {
        match self.layout.holds {
            Slots::Text(_) => Text::Short(self.slot(slot)),
            Slots::Integer(_) => {
                let bytes = self.slot(slot);
                Text::Integer(match bytes.try_into() {
                    Ok(bytes) => i64::from_le_bytes(bytes),
                    Err(_) => i32::from_le_bytes(bytes.try_into().expect("four bytes, if not eight")).into(),
                })
            }
            Slots::Offset => match self.long(slot) {
                Some(number) => Text::Long(self.long_text(number)),
                None => Text::Short(self.arena_text(slot)),
            },
        }
    }

    fn slot(&self, slot: usize) -> &[u8] {
        let width = self.layout.holds.width();
        &self.block[self.layout.slots_start() + slot * width..][..width]
    }

    /// Where the entry of a slot begins in the block.
    fn entry(&self, slot: usize) -> usize {
        let offset = self.slot(slot);
        self.layout.arena_start() + usize::from(u16::from_le_bytes([offset[0], offset[1]]))
    }

    fn arena_text(&self, slot: usize) -> &[u8] {
        let entry = self.entry(slot);
        match self.block[entry] {
            LONG => self.long_text(self.long(slot).expect("the number of a long text")),
            len => &self.block[entry + 1..][..usize::from(len)],
        }
    }

    /// The number of the long text that a slot of offsets leads to.
    fn long(&self, slot: usize) -> Option<u32> {
        let entry = &self.block[self.entry(slot)..];
        let number = entry.get(1..LONG_ENTRY_BYTES)?;
        (entry[0] == LONG).then(|| u32::from_le_bytes(number.try_into().expect("four bytes")))
    }

    fn long_text(&self, number: u32) -> &Rc<[u8]> {
        let longs = self.longs.as_ref().expect("an entry leads to them");
        longs.texts[number as usize].as_ref().expect("an entry leads to it")
    }

    fn block_mut(&mut self) -> &mut [u8] {
        self.block.make_mut()
    }

    fn put(&mut self, slot: usize, hash: u64, text: Text<'_>) {
        let holds = self.layout.holds;
        if holds != Slots::Offset {
            return self.parts_mut().put(slot, hash, text, holds);
        }
        let offset = self.put_text(text);
        let mut parts = self.parts_mut();
        parts.slot(slot).copy_from_slice(&offset.to_le_bytes());
        parts.tags[slot] = tag_of(hash);
    }

    /// Appends a text to the arena; answers where it begins there.
    fn put_text(&mut self, text: Text<'_>) -> u16 {
        let offset = self.arena_used as usize;
        let at = self.layout.arena_start() + offset;
        let long = match text {
            Text::Short(bytes) if bytes.len() <= INLINE_BYTES_MAX => None,
            Text::Short(bytes) => Some(Rc::from(bytes)),
            Text::Long(bytes) => Some(Rc::clone(bytes)),
            // Where not all are integers, they are texts like others.
            Text::Integer(value) => {
                let mut buffer = itoa::Buffer::new();
                return self.put_text(Text::Short(buffer.format(value).as_bytes()));
            }
        };
        if let Some(long) = long {
            let number = Rc::make_mut(self.longs.get_or_insert_default()).add(long);
            let entry = &mut self.block_mut()[at..at + LONG_ENTRY_BYTES];
            entry[0] = LONG;
            entry[1..].copy_from_slice(&number.to_le_bytes());
            self.arena_used += LONG_ENTRY_BYTES as u32;
        } else if let Text::Short(bytes) = text {
            let entry = &mut self.block_mut()[at..=at + bytes.len()];
            entry[0] = bytes.len() as u8;
            entry[1..].copy_from_slice(bytes);
            self.arena_used += 1 + bytes.len() as u32;
        }
        u16::try_from(offset).expect("an arena is as long as an offset can tell")
    }

    fn forget_text(&mut self, slot: usize) {
        match self.long(slot) {
            Some(number) => {
                self.arena_dead += LONG_ENTRY_BYTES as u32;
                let longs = self.longs.as_mut().expect("an entry leads to them");
                Rc::make_mut(longs).remove(number);
            }
            None => self.arena_dead += entry_bytes(self.arena_text(slot).len()) as u32,
        }
    }
}

#[cfg(test)]
impl Segment {
    fn over(&self, home: usize) -> usize {
        let at = 2 * (home + 1);
        usize::from(u16::from_le_bytes([self.block[at], self.block[at + 1]]))
    }

    /// Panics unless the invariants hold.
    pub(super) fn check_shape(&self, hasher: &Hasher13) {
        assert_eq!(self.block.len(), self.layout.block_bytes());
        let mut seen = 0;
        for home in 0..self.homes() {
            let range = self.range(home);
            assert!(range.start <= range.end && range.end <= self.slots(), "{range:?} of home {home}");
            assert!(self.over(home) == 0 || range.clone().all(|slot| self.tag(slot) != 0), "a gap in home {home}");
            for slot in range.filter(|&slot| self.tag(slot) != 0) {
                let hash = self.text_in(slot).member().hash(hasher);
                assert_eq!((self.home(hash), self.tag(slot)), (home, tag_of(hash)));
                seen += 1;
            }
        }
        assert_eq!(seen, self.len());
        assert_eq!(self.texts().count(), self.len(), "something lies beyond the last home's range");
        let padding = self.layout.tags_start() + self.slots()..self.layout.slots_start();
        assert!(self.block[padding].iter().all(|&byte| byte == 0));
        let long = self.texts().filter(|text| matches!(text, Text::Long(_))).count();
        assert_eq!(self.longs.as_ref().map_or(0, |longs| longs.texts.iter().flatten().count()), long);
    }
}

impl Longs {
    fn add(&mut self, text: Rc<[u8]>) -> u32 {
        if let Some(number) = self.free.pop() {
            self.texts[number as usize] = Some(text);
            return number;
        }
        self.texts.push(Some(text));
        self.texts.len() as u32 - 1
    }

    fn remove(&mut self, number: u32) {
        self.texts[number as usize] = None;
        self.free.push(number);
    }
}

/// A block taken apart, to be changed.
struct Parts<'b> {
    /// Two bytes for what stands before the first home, which is 0, and for each home.
    over: &'b mut [u8],
    tags: &'b mut [u8],
    slots: &'b mut [u8],
    width: usize,
}

impl Parts<'_> {
    fn homes(&self) -> usize {
        self.over.len() / 2 - 1
    }

    fn over(&self, home: usize) -> usize {
        let at = 2 * (home + 1);
        usize::from(u16::from_le_bytes([self.over[at], self.over[at + 1]]))
    }

    fn set_over(&mut self, home: usize, over: usize) {
        let at = 2 * (home + 1);
        self.over[at..at + 2].copy_from_slice(&(over as u16).to_le_bytes());
    }

    fn end(&self, home: usize) -> usize {
        (home + 1) * HOME + self.over(home)
    }

    /// Makes a free slot in the range of a home, and answers which and how many members it moved. None when that would move too many or none is left
    /// at the end; nothing was changed then.
    fn open(&mut self, home: usize) -> Option<(usize, usize)> {
        let end = self.end(home);
        if self.over(home) == 0 {
            let start = if home == 0 { 0 } else { self.end(home - 1) };
            if let Some(hole) = self.hole(start..end) {
                return Some((hole, 0));
            }
        }
        // The homes behind are full up to the first that does not run past its end, and that one may just be full.
        let mut loose = home;
        let mut free = loop {
            loose = self.loose_home(loose + 1);
            if loose - home > MOVES_MAX {
                return None;
            }
            let start = self.end(loose - 1);
            if loose == self.homes() {
                // Beyond the last home's range nothing lies.
                break Some(start).filter(|&slot| slot < self.tags.len())?;
            }
            if let Some(hole) = self.hole(start..self.end(loose)) {
                break hole;
            }
        };
        for home in (home..loose).rev() {
            // The next home's first slot, if it has any.
            let over = self.over(home);
            let slot = (home + 1) * HOME + over;
            if slot != free {
                self.move_slot(slot, free);
                free = slot;
            }
            self.set_over(home, over + 1);
        }
        Some((free, loose - home))
    }

    /// The first home from this one on whose members do not run past its end; the number of homes when all do.
    fn loose_home(&self, home: usize) -> usize {
        let overs = self.over[2 * (home + 1)..].as_chunks::<2>().0;
        overs.iter().position(|over| *over == [0, 0]).map_or(self.homes(), |at| home + at)
    }

    /// Frees a slot in the range of a home, and moves one member per home back over the gap.
    fn close(&mut self, mut slot: usize, home: usize) {
        for home in home..self.loose_home(home) {
            let over = self.over(home);
            let last = (home + 1) * HOME + over - 1;
            if last != slot {
                self.move_slot(last, slot);
            }
            self.set_over(home, over - 1);
            slot = last;
        }
        self.tags[slot] = 0;
    }

    /// The first free slot.
    fn hole(&self, range: Range<usize>) -> Option<usize> {
        // Holes lie at the end but for what removals left.
        let start = range.start;
        self.tags[range].iter().position(|&tag| tag == 0).map(|at| start + at)
    }

    fn slot(&mut self, slot: usize) -> &mut [u8] {
        &mut self.slots[slot * self.width..][..self.width]
    }

    /// Writes a member where slots hold it themselves.
    fn put(&mut self, slot: usize, hash: u64, text: Text<'_>, holds: Slots) {
        self.tags[slot] = tag_of(hash);
        match (holds, text) {
            (Slots::Text(16), Text::Short(bytes)) => {
                // A length that is known saves a call.
                let bytes: &[u8; 16] = bytes.try_into().expect("texts of this length");
                self.slots.as_chunks_mut().0[slot] = *bytes;
            }
            (Slots::Text(_), Text::Short(bytes)) => self.slot(slot).copy_from_slice(bytes),
            (_, text) => {
                let value = text.integer().expect("slots of integers are filled with such").to_le_bytes();
                let width = self.width;
                self.slot(slot).copy_from_slice(&value[..width]);
            }
        }
    }

    fn move_slot(&mut self, from: usize, to: usize) {
        self.tags[to] = self.tags[from];
        let width = self.width;
        match width {
            16 => self.copy::<16>(from, to),
            8 => self.copy::<8>(from, to),
            4 => self.copy::<4>(from, to),
            2 => self.copy::<2>(from, to),
            _ => self.slots.copy_within(from * width..(from + 1) * width, to * width),
        }
    }

    fn copy<const WIDTH: usize>(&mut self, from: usize, to: usize) {
        let slots = self.slots.as_chunks_mut::<WIDTH>().0;
        slots[to] = slots[from];
    }
}

/// Bytes that a text takes in an arena.
pub(super) fn entry_bytes(text_bytes: usize) -> usize {
    if text_bytes > INLINE_BYTES_MAX { LONG_ENTRY_BYTES } else { 1 + text_bytes }
}

fn home_of(hash: u64, depth: u32, homes: usize) -> usize {
    // The two last bits belong to no position.
    let rest = (hash & !3) << depth;
    ((u128::from(rest) * homes as u128) >> 64) as usize
}

fn tag_of(hash: u64) -> u8 {
    // 0 means that nothing lies there.
    (hash as u8).max(1)
}

fn fits(value: i64, width: u8) -> bool {
    width == 8 || i32::try_from(value).is_ok()
}

/// The smallest slots that hold all of the members.
pub(super) fn suitable(items: &[Item<'_>]) -> Slots {
    let mut widest = 4;
    let are_integers = items.iter().all(|item| match item.text.integer() {
        Some(value) => {
            widest = widest.max(if fits(value, 4) { 4 } else { 8 });
            true
        }
        None => false,
    });
    let len = items.first().map_or(0, |item| item.text.len());
    let is_text = |item: &Item<'_>| matches!(item.text, Text::Short(bytes) if bytes.len() == len);
    if are_integers && !items.is_empty() {
        Slots::Integer(widest)
    } else if len <= INLINE_BYTES_MAX && items.iter().all(is_text) {
        Slots::Text(len as u8)
    } else {
        Slots::Offset
    }
}
