//! A hash table of small tables, each covering one range of hash values: see `directory.rs`.
//!
//! No insertion or removal touches more than a few of them.
//!
//! Invariant: an entry lies in the segment its hash leads to, under its hash rotated by 32 bits: hashbrown tags entries
//! with the top 7 bits it is given, and the true top bits are the same all over a segment.
//!
//! Invariant: what was frozen never changes. Cloning the whole, or freezing it, takes a handle on every segment and
//! copies none; whoever changes a shared segment copies that one.
//!
//! Deliberately unknown here: what an entry is, how it is hashed (a closure tells), time.

#[cfg(test)]
mod tests;

use std::rc::Rc;

use hashbrown::HashTable;

use super::directory::Directory;
pub(crate) use super::directory::{POSITIONS, position};

/// Entries a segment holds before it splits: seven eighths of 512 buckets, as many as hashbrown fills.
const SEGMENT_ENTRIES_MAX: usize = 448;

/// Buddies merge when they hold at most this many together: half of a segment, so that a merged segment is as far from
/// splitting as from having been split.
const MERGED_ENTRIES_MAX: usize = SEGMENT_ENTRIES_MAX / 2;

/// A segment whose entries fill less than an eighth of its buckets gets fewer buckets; below this many it is left.
const BUCKETS_MIN: usize = 16;

/// The two counters beside a shared value.
const RC_BYTES: usize = 2 * size_of::<usize>();

/// A table of `T` that never rehashes more than a few segments at once.
///
/// The caller gives every hash, and a `hasher` wherever entries may have to move. `N` is a note kept with each segment,
/// see [`Note`]. Lookups cost one directory read and one probe.
#[derive(Debug, Clone)]
pub(crate) struct Segments<T, N = ()> {
    directory: Directory<Segment<T, N>>,
    /// The largest number of buckets a segment had since the last [`Segments::clear`].
    widest: usize,
    len: usize,
    #[cfg(test)]
    moved: usize,
}

#[derive(Debug, Clone)]
struct Segment<T, N> {
    /// Shared with whoever froze the whole; a change then copies this segment first.
    table: Rc<HashTable<T>>,
    note: N,
}

impl<T, N: Default> Default for Segment<T, N> {
    fn default() -> Self {
        Segment { table: Rc::default(), note: N::default() }
    }
}

/// What a segment remembers about its entries; both halves inherit it when the segment splits.
pub(crate) trait Note: Copy + Default {
    /// The note of two segments that became one.
    fn merged(self, other: Self) -> Self;
}

impl Note for () {
    fn merged(self, (): ()) {}
}

impl<T: Clone, N: Note> Default for Segments<T, N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Clone, N: Note> Segments<T, N> {
    /// An empty table of one segment.
    pub(crate) fn new() -> Self {
        Segments {
            directory: Directory::new(Segment::default()),
            widest: 1,
            len: 0,
            #[cfg(test)]
            moved: 0,
        }
    }

    /// How many entries there are.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// True when there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many segments there are, at least 1.
    pub(crate) fn segments(&self) -> usize {
        self.directory.len()
    }

    /// Drops every entry.
    pub(crate) fn clear(&mut self) {
        *self = Self::new();
    }

    /// The entry under `hash` that `eq` accepts.
    pub(crate) fn find(&self, hash: u64, eq: impl FnMut(&T) -> bool) -> Option<&T> {
        self.directory.at(hash).table.find(inner_hash(hash), eq)
    }

    /// The entry under `hash` that `eq` accepts. Its hash must not change.
    pub(crate) fn find_mut(&mut self, hash: u64, eq: impl FnMut(&T) -> bool) -> Option<&mut T> {
        Rc::make_mut(&mut self.directory.at_mut(hash).table).find_mut(inner_hash(hash), eq)
    }

    /// Whether a change under `hash` would copy its segment first, for it is frozen.
    pub(crate) fn is_shared(&self, hash: u64) -> bool {
        Rc::strong_count(&self.directory.at(hash).table) > 1
    }

    /// Everything as it is now. Cost: the number of segments, and a copy of each that is changed while this lives.
    pub(crate) fn freeze(&self) -> Frozen<T> {
        Frozen(self.directory.all().map(|segment| Rc::clone(&segment.table)).collect())
    }

    /// Whole segments in the order of positions, from the one that covers `cursor` on, until they hold `count` entries;
    /// and where to go on, 0 at the end. The first may hold entries before `cursor`.
    pub(crate) fn freeze_page(&self, cursor: u64, count: usize) -> (Frozen<T>, u64) {
        let (mut segments, mut held, mut next) = (Vec::new(), 0, cursor);
        while held < count && next < POSITIONS {
            let index = self.directory.index(next << 2);
            let segment = self.segment_at(index);
            held += segment.table.len();
            segments.push(Rc::clone(&segment.table));
            next = self.directory.end(index).unwrap_or(POSITIONS);
        }
        (Frozen(segments), if next < POSITIONS { next } else { 0 })
    }

    /// Takes all entries out, to be dropped little by little.
    pub(crate) fn take_all(&mut self) -> Frozen<T> {
        let all = self.freeze();
        self.clear();
        all
    }

    /// Adds an entry that is known to be absent. Moves at most about two segments' worth of entries.
    pub(crate) fn insert_unique(&mut self, hash: u64, value: T, hasher: impl Fn(&T) -> u64) -> &mut T {
        let mut index = self.directory.index(hash);
        while self.segment_at(index).table.len() >= SEGMENT_ENTRIES_MAX && self.directory.may_split(index, self.len) {
            self.split(index, &hasher);
            index = self.directory.index(hash);
        }
        self.len += 1;
        let table = Rc::make_mut(&mut self.directory.content_mut(index).table);
        #[cfg(test)]
        if table.len() == table.capacity() {
            self.moved += table.len();
        }
        // Growing by hand, for the width has to be known before the entry borrows the table.
        table.reserve(1, |entry| inner_hash(hasher(entry)));
        self.widest = self.widest.max(table.num_buckets());
        table.insert_unique(inner_hash(hash), value, |entry| inner_hash(hasher(entry))).into_mut()
    }

    /// Takes out the entry under `hash` that `eq` accepts. Moves at most a segment's worth of entries per merge.
    pub(crate) fn remove(&mut self, hash: u64, eq: impl FnMut(&T) -> bool, hasher: impl Fn(&T) -> u64) -> Option<T> {
        let index = self.directory.index(hash);
        let table = self.table_mut(index);
        let (value, _) = table.find_entry(inner_hash(hash), eq).ok()?.remove();
        self.len -= 1;
        self.settle_after_one(index, hasher);
        Some(value)
    }

    /// All entries, in no particular order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.directory.all().flat_map(|segment| segment.table.iter())
    }

    /// An entry drawn uniformly. The expected number of tries is small at any filling, for sparse segments merge.
    pub(crate) fn random(&self, rng: &mut fastrand::Rng) -> Option<&T> {
        let (index, bucket) = self.draw(rng)?;
        self.segment_at(index).table.get_bucket(bucket)
    }

    /// Visits, in the order of positions, the entries whose position is at least `cursor`, until `count` (at least 1)
    /// were visited, and beyond only those at the last one's position. Answers where to go on, 0 at the end; never more
    /// than 2^62.
    ///
    /// Any cursor is legal; past the last position nothing is visited. An entry that is there from the first page to
    /// the last is visited exactly once, whatever happens to the table between two pages.
    /// Cost: the entries visited, and hashing those of the segments they lie in.
    pub(crate) fn page<'a>(
        &'a self,
        cursor: u64,
        count: usize,
        hasher: impl Fn(&T) -> u64,
        mut visit: impl FnMut(&'a T),
    ) -> u64 {
        if cursor >= POSITIONS {
            return 0;
        }
        let mut wanted = count.max(1);
        let mut candidates = Vec::new();
        let mut next = Some(cursor);
        while let Some(at) = next {
            let index = self.directory.index(at << 2);
            let segment = self.segment_at(index);
            if wanted == 0 && !segment.table.is_empty() {
                return at;
            }
            candidates.clear();
            candidates.extend(segment.table.iter().map(|entry| (position(hasher(entry)), entry)));
            candidates.retain(|&(at, _)| at >= cursor);
            let chosen = if candidates.is_empty() { 0 } else { choose_first(&mut candidates, wanted) };
            candidates[..chosen].iter().for_each(|&(_, entry)| visit(entry));
            if chosen < candidates.len() {
                return candidates[chosen - 1].0 + 1;
            }
            wanted = wanted.saturating_sub(chosen);
            next = self.directory.end(index);
        }
        0
    }

    /// Bytes on the heap for the directory and the segments, not what entries point to. Cost: the number of segments.
    pub(crate) fn allocated_bytes(&self) -> usize {
        let table = |segment: &Segment<T, N>| segment.table.allocation_size() + size_of::<HashTable<T>>() + RC_BYTES;
        let tables: usize = self.directory.all().map(table).sum();
        tables + self.directory.slab_bytes() + self.directory_bytes()
    }

    /// Bytes on the heap for the directory alone.
    pub(crate) fn directory_bytes(&self) -> usize {
        self.directory.slot_bytes()
    }

    /// The note of the segment that `hash` leads to.
    pub(crate) fn note_mut(&mut self, hash: u64) -> &mut N {
        &mut self.directory.at_mut(hash).note
    }

    /// The note of the segment that covers position `cursor`, how many entries it holds, and the position where the
    /// next segment begins, 0 after the last. `None` past the last position.
    pub(crate) fn note_at(&self, cursor: u64) -> Option<(N, usize, u64)> {
        if cursor >= POSITIONS {
            return None;
        }
        let index = self.directory.index(cursor << 2);
        let segment = self.segment_at(index);
        Some((segment.note, segment.table.len(), self.directory.end(index).unwrap_or(0)))
    }

    /// Takes every entry that `take` wants out of the segment that covers position `cursor`, and makes its note anew:
    /// it starts at its default, and `take` sees it with each entry.
    pub(crate) fn sweep_at(
        &mut self,
        cursor: u64,
        hasher: impl Fn(&T) -> u64,
        mut take: impl FnMut(&T, &mut N) -> bool,
        mut taken: impl FnMut(T),
    ) {
        let index = self.directory.index(cursor << 2);
        let segment = self.directory.content_mut(index);
        let before = segment.table.len();
        let mut note = N::default();
        Rc::make_mut(&mut segment.table).extract_if(|entry| take(entry, &mut note)).for_each(&mut taken);
        segment.note = note;
        let removed = before - segment.table.len();
        self.len -= removed;
        if removed > 0 {
            self.settle(index, hasher);
        }
    }

    fn segment_at(&self, index: usize) -> &Segment<T, N> {
        self.directory.get(index).expect("an index below the number of segments")
    }

    /// A segment's table, copied first when it is frozen.
    fn table_mut(&mut self, index: usize) -> &mut HashTable<T> {
        Rc::make_mut(&mut self.directory.content_mut(index).table)
    }

    fn split(&mut self, index: usize, hasher: impl Fn(&T) -> u64) {
        let (mut moved, mut widest) = (0, self.widest);
        self.directory.split(index, |segment, bit| {
            let table = Rc::unwrap_or_clone(segment.table);
            let hashes: Vec<u64> = table.iter().map(&hasher).collect();
            let goes_up = |hash: u64| hash << bit >> 63 == 1;
            let ups = hashes.iter().filter(|&&hash| goes_up(hash)).count();
            // Some room, or half of the halves would grow at their next entry.
            let mut halves = [hashes.len() - ups, ups].map(|len| HashTable::with_capacity(len + len / 8));
            for (&hash, entry) in hashes.iter().zip(table) {
                halves[usize::from(goes_up(hash))]
                    .insert_unique(inner_hash(hash), entry, |entry| inner_hash(hasher(entry)));
            }
            moved = hashes.len();
            halves.map(|half| {
                widest = widest.max(half.num_buckets());
                Segment { table: Rc::new(half), note: segment.note }
            })
        });
        self.widest = widest;
        self.note_moved(moved);
    }

    #[cfg_attr(not(test), expect(clippy::unused_self, reason = "only tests count"))]
    fn note_moved(&mut self, entries: usize) {
        #[cfg(test)]
        {
            self.moved += entries;
        }
        let _ = entries;
    }

    fn settle_after_one(&mut self, index: usize, hasher: impl Fn(&T) -> u64) {
        // Looking at the buddy costs a cache miss; every eighth removal is often enough, and zero is among them.
        if self.segment_at(index).table.len().is_multiple_of(8) {
            self.settle(index, hasher);
        }
    }

    /// After removals: gives back buckets, and merges with buddies for as long as that fits.
    fn settle(&mut self, mut index: usize, hasher: impl Fn(&T) -> u64) {
        self.narrow(index, &hasher);
        while let Some(buddy) = self.directory.buddy(index)
            && self.segment_at(index).table.len() + self.segment_at(buddy).table.len() <= MERGED_ENTRIES_MAX
        {
            index = self.merge(index, buddy, &hasher);
        }
    }

    fn narrow(&mut self, index: usize, hasher: impl Fn(&T) -> u64) {
        let table = &self.segment_at(index).table;
        let (len, buckets) = (table.len(), table.num_buckets());
        if buckets > BUCKETS_MIN && len * 8 < buckets {
            self.note_moved(len);
            self.table_mut(index).shrink_to(len * 2, |entry| inner_hash(hasher(entry)));
        }
    }

    /// Makes two buddies one; answers where it lies.
    fn merge(&mut self, one: usize, other: usize, hasher: impl Fn(&T) -> u64) -> usize {
        let (mut moved, mut widest) = (0, self.widest);
        let index = self.directory.merge(one, other, |[one, other]| {
            let note = one.note.merged(other.note);
            let (mut larger, smaller) = match one.table.len() < other.table.len() {
                true => (other.table, one.table),
                false => (one.table, other.table),
            };
            moved = smaller.len();
            let table = Rc::make_mut(&mut larger);
            for entry in Rc::unwrap_or_clone(smaller) {
                table.insert_unique(inner_hash(hasher(&entry)), entry, |entry| inner_hash(hasher(entry)));
            }
            widest = widest.max(table.num_buckets());
            Segment { table: larger, note }
        });
        self.widest = widest;
        self.note_moved(moved);
        index
    }

    /// Draws buckets until one is taken: every bucket of the widest segment's width in every segment is as likely as any
    /// other, so every entry is, however the segments differ.
    fn draw(&self, rng: &mut fastrand::Rng) -> Option<(usize, usize)> {
        if self.is_empty() {
            return None;
        }
        let width = self.draw_width();
        loop {
            let draw = rng.usize(..self.directory.len() * width);
            let (index, bucket) = (draw / width, draw % width);
            if self.segment_at(index).table.get_bucket(bucket).is_some() {
                return Some((index, bucket));
            }
        }
    }

    fn draw_width(&self) -> usize {
        match self.directory.len() {
            1 => self.segment_at(0).table.num_buckets(),
            _ => self.widest,
        }
    }
}

/// The segments of a table as they were at one moment.
#[derive(Debug)]
pub(crate) struct Frozen<T>(Vec<Rc<HashTable<T>>>);

impl<T> Frozen<T> {
    /// How many segments there are.
    pub(crate) fn segments(&self) -> usize {
        self.0.len()
    }

    /// The entries of one segment; none past the last.
    pub(crate) fn iter(&self, segment: usize) -> impl Iterator<Item = &T> {
        self.0.get(segment).into_iter().flat_map(|table| table.iter())
    }

    /// Drops one segment and shows the entries to `dropped`, if nobody else holds it. False when none was left.
    pub(crate) fn drop_one(&mut self, dropped: impl FnMut(T)) -> bool {
        let Some(table) = self.0.pop() else { return false };
        if let Some(table) = Rc::into_inner(table) {
            table.into_iter().for_each(dropped);
        }
        true
    }
}

/// One page of a collection small enough to be looked at whole: visits `items`, each with its position, as
/// [`Segments::page`] does, and answers where to go on, 0 at the end.
pub(crate) fn page_of<X>(
    items: impl Iterator<Item = (u64, X)>,
    cursor: u64,
    count: usize,
    mut visit: impl FnMut(X),
) -> u64 {
    let mut candidates: Vec<_> = items.filter(|&(at, _)| at >= cursor && at < POSITIONS).collect();
    if candidates.is_empty() {
        return 0;
    }
    let chosen = choose_first(&mut candidates, count.max(1));
    let next = if chosen < candidates.len() { candidates[chosen - 1].0 + 1 } else { 0 };
    candidates.drain(..chosen).for_each(|(_, item)| visit(item));
    next
}

/// Brings the `count` first candidates by position to the front, in order, and with them every other at the last one's
/// position; answers how many these are. Candidates must not be empty, nor `count` zero.
fn choose_first<X>(candidates: &mut [(u64, X)], count: usize) -> usize {
    let mut chosen = count.min(candidates.len());
    if chosen < candidates.len() {
        let last = candidates.select_nth_unstable_by_key(chosen - 1, |candidate| candidate.0).1.0;
        let mut index = chosen;
        while index < candidates.len() {
            if candidates[index].0 == last {
                candidates.swap(index, chosen);
                chosen += 1;
            }
            index += 1;
        }
    }
    candidates[..chosen].sort_unstable_by_key(|candidate| candidate.0);
    chosen
}

fn inner_hash(hash: u64) -> u64 {
    hash.rotate_left(32)
}
