//! The directory of an extendible hash table: which piece of the table covers which range of hash values.
//!
//! A full segment splits in two, two sparse buddies merge, the directory doubles and halves; none of it touches the
//! rest of the table. Because a segment covers a range, the whole can be walked in the order of hash values, which is
//! what makes a cursor a plain number that outlives any change of the table.
//!
//! The *position* of an entry is the top 62 bits of its hash. Segments are chosen by the top bits of the position.
//!
//! Invariant: `slots` has `2^depth` entries, and a segment of depth `d` owns the `2^(depth - d)` adjacent slots whose
//! top `d` bits are its `prefix`; `slab` holds no segment that no slot names.
//! Invariant: some segment has the full depth, or there is one slot.
//!
//! Deliberately unknown here: what a segment holds and when it is full.

use std::mem;

/// Positions lie below this.
pub(crate) const POSITIONS: u64 = 1 << 62;

/// The directory stops doubling here, whatever the hashes.
const DEPTH_MAX: u32 = 28;

/// The position of a hash: what cursors are made of, below 2^62.
pub(crate) fn position(hash: u64) -> u64 {
    hash >> 2
}

/// Segments `L`, each found by the hashes it covers. Finding one costs one read of the directory.
#[derive(Debug, Clone)]
pub(crate) struct Directory<L> {
    slots: Vec<u32>,
    slab: Vec<Segment<L>>,
    /// `log2` of the number of slots.
    depth: u32,
    /// Segments whose own depth is `depth`; when none is left the directory halves.
    full_depth_segments: u32,
}

#[derive(Debug, Clone)]
struct Segment<L> {
    content: L,
    prefix: u32,
    depth: u32,
}

impl<L: Default> Directory<L> {
    /// One segment, which covers everything.
    pub(crate) fn new(content: L) -> Self {
        Directory {
            slots: vec![0],
            slab: vec![Segment { content, prefix: 0, depth: 0 }],
            depth: 0,
            full_depth_segments: 1,
        }
    }

    /// How many segments there are, at least 1.
    pub(crate) fn len(&self) -> usize {
        self.slab.len()
    }

    /// All segments, in no particular order; a segment's place in it is its index.
    pub(crate) fn all(&self) -> impl Iterator<Item = &L> {
        self.slab.iter().map(|segment| &segment.content)
    }

    /// The segment of an index below [`Directory::len`]; indices hold until the next split or merge.
    pub(crate) fn get(&self, index: usize) -> Option<&L> {
        self.slab.get(index).map(|segment| &segment.content)
    }

    /// The index of the segment that covers `hash`.
    pub(crate) fn index(&self, hash: u64) -> usize {
        self.slots[self.slot(hash)] as usize
    }

    /// The segment that covers `hash`.
    pub(crate) fn at(&self, hash: u64) -> &L {
        &self.slab[self.index(hash)].content
    }

    /// The segment that covers `hash`.
    pub(crate) fn at_mut(&mut self, hash: u64) -> &mut L {
        let index = self.index(hash);
        &mut self.slab[index].content
    }

    /// All segments, in no particular order.
    pub(crate) fn into_all(self) -> Vec<L> {
        self.slab.into_iter().map(|segment| segment.content).collect()
    }

    /// How many of a hash's first bits are the same all over a segment.
    pub(crate) fn depth(&self, index: usize) -> u32 {
        self.slab[index].depth
    }

    /// The first position a segment covers.
    pub(crate) fn start(&self, index: usize) -> u64 {
        (self.first_slot(index) as u64) << (62 - self.depth)
    }

    /// The position after the last one that a segment covers; `None` when it covers the last there is.
    pub(crate) fn end(&self, index: usize) -> Option<u64> {
        let end = self.end_slot(index);
        (end < self.slots.len()).then(|| (end as u64) << (62 - self.depth))
    }

    /// Whether splitting a segment could help, in a table of `entries`: only while hashes differ early. Were they all
    /// alike, the directory would double for nothing. An even distribution stays far below four entries a slot.
    pub(crate) fn may_split(&self, index: usize, entries: usize) -> bool {
        self.slab[index].depth < self.depth || (self.depth < DEPTH_MAX && self.slots.len() * 2 <= (entries / 4).max(16))
    }

    /// Makes a segment two: `halve` gets its content and the bit, counted from the top, that tells the halves apart.
    /// The lower half keeps the index, the upper one's is answered.
    pub(crate) fn split(&mut self, index: usize, halve: impl FnOnce(L, u32) -> [L; 2]) -> usize {
        if self.slab[index].depth == self.depth {
            self.slots = self.slots.iter().flat_map(|&index| [index, index]).collect();
            self.depth += 1;
            self.full_depth_segments = 0;
        }
        let segment = &mut self.slab[index];
        let [low, high] = halve(mem::take(&mut segment.content), segment.depth);
        segment.depth += 1;
        segment.prefix <<= 1;
        segment.content = low;
        let (depth, prefix) = (segment.depth, segment.prefix | 1);
        let buddy = self.slab.len();
        self.slab.push(Segment { content: high, prefix, depth });
        self.point_slots(buddy);
        if depth == self.depth {
            self.full_depth_segments += 2;
        }
        buddy
    }

    /// The segment that covers the other half of this one's parent, when it is not split further.
    pub(crate) fn buddy(&self, index: usize) -> Option<usize> {
        let segment = &self.slab[index];
        if segment.depth == 0 {
            return None;
        }
        let slot = ((segment.prefix ^ 1) as usize) << (self.depth - segment.depth);
        let buddy = self.slots[slot] as usize;
        (self.slab[buddy].depth == segment.depth).then_some(buddy)
    }

    /// Makes two buddies one: `join` gets the lower and the upper one's content. Answers where the whole lies.
    pub(crate) fn merge(&mut self, one: usize, other: usize, join: impl FnOnce([L; 2]) -> L) -> usize {
        let (keep, gone) = if one < other { (one, other) } else { (other, one) };
        // The last segment moves into the gap, and is never the one that stays.
        let gone_segment = self.slab.swap_remove(gone);
        if gone < self.slab.len() {
            self.point_slots(gone);
        }
        if self.slab.len() * 4 < self.slab.capacity() {
            self.slab.shrink_to(self.slab.len() * 2);
        }
        let depth = gone_segment.depth;
        let segment = &mut self.slab[keep];
        let kept = mem::take(&mut segment.content);
        let is_upper = segment.prefix & 1 == 1;
        let halves = if is_upper { [gone_segment.content, kept] } else { [kept, gone_segment.content] };
        segment.content = join(halves);
        segment.prefix >>= 1;
        segment.depth -= 1;
        self.point_slots(keep);
        if depth == self.depth {
            self.full_depth_segments -= 2;
            self.halve_while_unused();
        }
        keep
    }

    /// The content of a segment.
    pub(crate) fn content_mut(&mut self, index: usize) -> &mut L {
        &mut self.slab[index].content
    }

    /// Gives back room for segments to come.
    pub(crate) fn trim(&mut self) {
        self.slab.shrink_to_fit();
        self.slots.shrink_to_fit();
    }

    /// Bytes on the heap for the segments' descriptions, not for what they hold.
    pub(crate) fn slab_bytes(&self) -> usize {
        self.slab.capacity() * size_of::<Segment<L>>()
    }

    /// Bytes on the heap for the slots.
    pub(crate) fn slot_bytes(&self) -> usize {
        self.slots.capacity() * size_of::<u32>()
    }

    fn slot(&self, hash: u64) -> usize {
        // Two shifts, because one by 64 bits is none.
        ((hash >> 1) >> (63 - self.depth)) as usize
    }

    fn first_slot(&self, index: usize) -> usize {
        let segment = &self.slab[index];
        (segment.prefix as usize) << (self.depth - segment.depth)
    }

    fn end_slot(&self, index: usize) -> usize {
        let segment = &self.slab[index];
        (segment.prefix as usize + 1) << (self.depth - segment.depth)
    }

    /// Writes a segment into all slots it owns.
    fn point_slots(&mut self, index: usize) {
        let slots = self.first_slot(index)..self.end_slot(index);
        self.slots[slots].fill(index as u32);
    }

    fn halve_while_unused(&mut self) {
        while self.full_depth_segments == 0 && self.depth > 0 {
            self.slots = self.slots.iter().step_by(2).copied().collect();
            self.depth -= 1;
            let depth = self.depth;
            self.full_depth_segments = self.slab.iter().filter(|segment| segment.depth == depth).count() as u32;
        }
    }

    /// How many slots there are.
    #[cfg(test)]
    pub(crate) fn slots(&self) -> usize {
        self.slots.len()
    }

    /// Panics unless the invariants hold.
    #[cfg(test)]
    pub(crate) fn check_shape(&self) {
        assert_eq!(self.slots.len(), 1 << self.depth);
        let mut named = std::collections::BTreeSet::new();
        for (slot, &index) in self.slots.iter().enumerate() {
            assert!((self.first_slot(index as usize)..self.end_slot(index as usize)).contains(&slot));
            named.insert(index);
        }
        assert_eq!(named.len(), self.slab.len());
        let full = self.slab.iter().filter(|segment| segment.depth == self.depth).count();
        assert_eq!(full, self.full_depth_segments as usize);
        assert!(full > 0);
    }
}
