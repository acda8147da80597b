//! Which patterns could match a name: each is filed under one gram, a few bytes in a row that every name it matches
//! contains, so that a name asks only for the patterns filed under its own grams.
//!
//! A gram is 8 bytes of one literal run of the pattern. Of a shorter run it is the whole run when the run must begin or
//! end the name, else 4, 2 or 1 bytes of it. Among several, a long one that few patterns are filed under yet is taken,
//! so that a prefix shared by thousands does not gather them. A publish looks once at each length of beginnings and
//! ends in use, and slides over the name for each of the other kinds in use. Each gram is tested in a bit filter that
//! stays in the cache, and what passes is looked up in the table.
//!
//! Invariant: a gram is in the table exactly while patterns are filed under it, and then its bit is set in the filter.
//! Invariant: grams are told apart by a keyed hash of 32 bits alone. Two that share one share a list, which makes
//! candidates, never matches; strangers cannot arrange it without the key.
//!
//! Deliberately unknown here: what is in the lists (their owner links them; this knows the head and the length), and
//! whether a candidate really matches.

use hashbrown::HashTable;

use super::glob::{Anchor, Glob};
use super::registry::{shrink, spread};

/// The longest gram in bytes.
const GRAM_BYTES_MAX: usize = 8;
/// Lengths of the grams that may stand anywhere in a name.
const WINDOWS: [usize; 4] = [GRAM_BYTES_MAX, 4, 2, 1];
/// Kinds of grams: the windows, then beginnings of 1 to 7 bytes, then ends of 1 to 7 bytes.
const KINDS: usize = WINDOWS.len() + 2 * ANCHORED;
const ANCHORED: usize = GRAM_BYTES_MAX - 1;

/// A list this short is taken without looking for a shorter one among smaller grams.
const SHORT_LIST: u32 = 4;
/// How many windows are looked at before a pattern is filed: long literals are sampled evenly.
const LOOKS_MAX: usize = 64;
/// Bits of the filter for each gram at least: then one name's gram in eight passes without cause.
const FILTER_BITS_A_GRAM: usize = 8;
const FILTER_BITS_MIN: usize = 512;

/// The end of a list.
pub(super) const NONE: u32 = u32::MAX;

/// Where a pattern is filed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Under the gram of this kind with this hash.
    Gram { hash: u32, kind: u8 },
    /// Among those that have no literal byte.
    Loose,
}

/// Lists of patterns by gram.
#[derive(Debug)]
pub(super) struct Grams {
    table: HashTable<List>,
    filter: Filter,
    /// Patterns without a gram.
    loose: u32,
    /// How many grams of each kind are in the table.
    counts: [u32; KINDS],
    /// A bit for each kind that has any.
    kinds: u32,
    key: u64,
}

#[derive(Debug, Clone, Copy)]
struct List {
    hash: u32,
    head: u32,
    len: u32,
}

impl Grams {
    /// An empty index. The key decides which grams collide; it should be secret.
    pub(super) fn new(key: u64) -> Self {
        Grams { table: HashTable::new(), filter: Filter::default(), loose: NONE, counts: [0; KINDS], kinds: 0, key }
    }

    /// Where to file a pattern. Costs reading it, and at most [`LOOKS_MAX`] lookups for each length of grams; one when
    /// the first gram is new.
    pub(super) fn place(&self, glob: &Glob) -> Place {
        let (mut best, mut shortest) = (Place::Loose, u32::MAX);
        for size in (1..=GRAM_BYTES_MAX).rev() {
            let grams = || {
                glob.pieces()
                    .filter_map(|(piece, anchor)| kind(piece, anchor, size))
                    .flat_map(|(piece, kind)| piece.windows(size).map(move |gram| (value(gram), kind)))
            };
            let stride = grams().count() / LOOKS_MAX + 1;
            for (gram, kind) in grams().step_by(stride) {
                let hash = self.hash(gram, kind);
                let len = self.find(hash).map_or(0, |list| list.len);
                if len < shortest {
                    (best, shortest) = (Place::Gram { hash, kind: kind as u8 }, len);
                }
                if len == 0 {
                    return best;
                }
            }
            if shortest <= SHORT_LIST {
                break;
            }
        }
        best
    }

    /// Puts a pattern at the head of its list and answers the former head, which comes next, or [`NONE`].
    pub(super) fn push(&mut self, place: Place, slot: u32) -> u32 {
        let Place::Gram { hash, kind } = place else {
            return std::mem::replace(&mut self.loose, slot);
        };
        if let Some(list) = self.find_mut(hash) {
            list.len += 1;
            return std::mem::replace(&mut list.head, slot);
        }
        self.table.insert_unique(spread(hash), List { hash, head: slot, len: 1 }, |list| spread(list.hash));
        self.counts[usize::from(kind)] += 1;
        self.kinds |= 1 << kind;
        if self.filter.is_full(self.table.len()) {
            self.filter.rebuild(&self.table);
        } else {
            self.filter.set(hash);
        }
        NONE
    }

    /// Notes that a pattern left its list. `head` is what the list begins with now, [`NONE`] when it is empty.
    pub(super) fn removed(&mut self, place: Place, head: u32) {
        let Place::Gram { hash, kind } = place else {
            self.loose = head;
            return;
        };
        if let Some(list) = self.find_mut(hash)
            && head != NONE
        {
            list.len -= 1;
            list.head = head;
            return;
        }
        if let Ok(entry) = self.table.find_entry(spread(hash), |list| list.hash == hash) {
            entry.remove();
            self.counts[usize::from(kind)] -= 1;
            if self.counts[usize::from(kind)] == 0 {
                self.kinds &= !(1 << kind);
            }
            shrink(&mut self.table, |list| spread(list.hash));
            if self.filter.is_stale(self.table.len()) {
                self.filter.rebuild(&self.table);
            }
        }
    }

    /// The head of a list; [`NONE`] when it is empty.
    pub(super) fn head(&self, place: Place) -> u32 {
        match place {
            Place::Gram { hash, .. } => self.find(hash).map_or(NONE, |list| list.head),
            Place::Loose => self.loose,
        }
    }

    /// The heads of all lists that a name asks for, possibly with repeats.
    pub(super) fn lists(&self, name: &[u8], mut found: impl FnMut(u32)) {
        if self.loose != NONE {
            found(self.loose);
        }
        let beginning = value(&name[..name.len().min(GRAM_BYTES_MAX)]);
        let beginning_bits = 8 * name.len().min(GRAM_BYTES_MAX);
        let end = value(&name[name.len().saturating_sub(GRAM_BYTES_MAX)..]);
        let mut anchored = self.kinds >> WINDOWS.len() << WINDOWS.len();
        while anchored != 0 {
            let kind = anchored.trailing_zeros() as usize;
            anchored &= anchored - 1;
            let size = (kind - WINDOWS.len()) % ANCHORED + 1;
            if size > name.len() {
                continue;
            }
            let gram = if kind < ends(1) { beginning >> (beginning_bits - 8 * size) } else { end & low_bytes(size) };
            self.look(gram, kind, &mut found);
        }
        self.slide::<{ WINDOWS[0] }>(0, name, &mut found);
        self.slide::<{ WINDOWS[1] }>(1, name, &mut found);
        self.slide::<{ WINDOWS[2] }>(2, name, &mut found);
        self.slide::<{ WINDOWS[3] }>(3, name, &mut found);
    }

    #[inline]
    fn slide<const SIZE: usize>(&self, kind: usize, name: &[u8], found: &mut impl FnMut(u32)) {
        if self.counts[kind] == 0 || name.len() < SIZE {
            return;
        }
        let (first, rest) = name.split_at(SIZE - 1);
        let mut gram = value(first);
        for byte in rest {
            gram = (gram << 8 | u64::from(*byte)) & low_bytes(SIZE);
            self.look(gram, kind, found);
        }
    }

    #[inline]
    fn look(&self, gram: u64, kind: usize, found: &mut impl FnMut(u32)) {
        let hash = self.hash(gram, kind);
        if self.filter.has(hash)
            && let Some(list) = self.find(hash)
        {
            found(list.head);
        }
    }

    #[inline]
    fn hash(&self, gram: u64, kind: usize) -> u32 {
        // The same bytes as another kind of gram are another gram.
        let salted = gram ^ self.key ^ (kind as u64).wrapping_mul(0x9FB2_1C65_1E98_DF25);
        let wide = u128::from(salted) * u128::from(self.key.rotate_left(32) | 1);
        let folded = (wide >> 64) as u64 ^ wide as u64;
        (folded ^ folded >> 32) as u32
    }

    fn find(&self, hash: u32) -> Option<&List> {
        self.table.find(spread(hash), |list| list.hash == hash)
    }

    fn find_mut(&mut self, hash: u32) -> Option<&mut List> {
        self.table.find_mut(spread(hash), |list| list.hash == hash)
    }
}

/// Bytes as a number, the first one highest.
fn value(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

/// A mask for the last bytes of a value, 1 to 8 of them.
fn low_bytes(size: usize) -> u64 {
    u64::MAX >> (64 - 8 * size)
}

fn beginnings(size: usize) -> usize {
    WINDOWS.len() + size - 1
}

fn ends(size: usize) -> usize {
    WINDOWS.len() + ANCHORED + size - 1
}

/// The kind of the grams of this size that a literal run gives; none when it gives longer or shorter ones.
fn kind(piece: &[u8], anchor: Anchor, size: usize) -> Option<(&[u8], usize)> {
    let window = WINDOWS.iter().position(|window| piece.len() >= *window)?;
    let (gives, kind) = match anchor {
        Anchor::Start if window > 0 => (piece.len(), beginnings(piece.len())),
        Anchor::End if window > 0 => (piece.len(), ends(piece.len())),
        Anchor::Start | Anchor::End | Anchor::Anywhere => (WINDOWS[window], window),
    };
    (gives == size).then_some((piece, kind))
}

/// A bit for each gram hash; a clear bit means that no pattern is filed there.
#[derive(Debug)]
struct Filter {
    words: Vec<u64>,
    /// Hash bits to drop, so that the rest is the number of a bit.
    shift: u32,
    /// Grams whose bits were set since the last rebuild.
    set: usize,
}

impl Default for Filter {
    fn default() -> Self {
        Filter { words: Vec::new(), shift: 32 - FILTER_BITS_MIN.trailing_zeros(), set: 0 }
    }
}

impl Filter {
    #[inline]
    fn has(&self, hash: u32) -> bool {
        let bit = hash >> self.shift;
        self.words.get(bit as usize / 64).is_some_and(|word| word >> (bit % 64) & 1 != 0)
    }

    fn set(&mut self, hash: u32) {
        let bit = hash >> self.shift;
        self.words[bit as usize / 64] |= 1 << (bit % 64);
        self.set += 1;
    }

    /// Whether so many grams need more bits than there are, those of grams that are gone counted in.
    fn is_full(&self, grams: usize) -> bool {
        self.set.max(grams) * FILTER_BITS_A_GRAM >= 64 * self.words.len()
    }

    /// Whether most of what is set belongs to grams that are gone.
    fn is_stale(&self, grams: usize) -> bool {
        grams * 8 < self.set
    }

    /// Sizes the filter for twice the grams there are, and sets their bits.
    fn rebuild(&mut self, table: &HashTable<List>) {
        self.set = 0;
        if table.is_empty() {
            self.words = Vec::new();
            return;
        }
        let bits = (2 * table.len() * FILTER_BITS_A_GRAM).next_power_of_two().clamp(FILTER_BITS_MIN, 1 << 31);
        self.words = vec![0; bits / 64];
        self.shift = 32 - bits.trailing_zeros();
        table.iter().for_each(|list| self.set(list.hash));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(grams: &Grams, pattern: &str) -> Place {
        grams.place(&Glob::new(pattern.as_bytes()))
    }

    fn kind_of(grams: &Grams, pattern: &str) -> Option<usize> {
        match place(grams, pattern) {
            Place::Gram { kind, .. } => Some(usize::from(kind)),
            Place::Loose => None,
        }
    }

    #[test]
    fn a_pattern_is_filed_under_its_longest_literal() {
        let grams = Grams::new(1);
        for (pattern, kind) in [
            ("user:1234*", 0),
            ("*user:123*", 0),
            ("a*news.b*", 1),
            ("?ab*", 2),
            ("[ab]c*", 3),
            ("news.*", beginnings(5)),
            ("a*news.b", ends(6)),
            ("abc", beginnings(3)),
            ("ab?c", beginnings(2)),
        ] {
            assert_eq!(kind_of(&grams, pattern), Some(kind), "{pattern}");
        }
        for pattern in ["*", "[ab]?", "**", "", "?"] {
            assert_eq!(place(&grams, pattern), Place::Loose, "{pattern}");
        }
    }

    #[test]
    fn a_shared_prefix_does_not_gather_patterns() {
        let mut grams = Grams::new(7);
        for slot in 0..2_000 {
            let place = place(&grams, &format!("department:user:{slot}*"));
            grams.push(place, slot);
        }
        for slot in 2_000..4_000 {
            let place = place(&grams, &format!("user:*:{slot}"));
            grams.push(place, slot);
        }
        let longest = grams.table.iter().map(|list| list.len).max();
        assert!(longest <= Some(SHORT_LIST + 1), "{longest:?}");
    }

    #[test]
    fn emptied_lists_leave_nothing_behind() {
        let mut grams = Grams::new(3);
        let mut filed = Vec::new();
        for slot in 0..5_000 {
            let place = place(&grams, &format!("*.{slot}.*"));
            if grams.push(place, slot) == NONE {
                filed.push(place);
            }
        }
        for place in filed {
            assert_ne!(grams.head(place), NONE);
            grams.removed(place, NONE);
            assert_eq!(grams.head(place), NONE);
        }
        assert_eq!((grams.table.capacity(), grams.filter.words.capacity(), grams.kinds), (0, 0, 0));
    }

    #[test]
    fn a_name_asks_for_the_lists_of_its_own_grams_only() {
        let mut grams = Grams::new(11);
        for slot in 0..10_000 {
            let place = place(&grams, &format!("p{slot}.*"));
            grams.push(place, slot);
        }
        let mut asked = 0;
        grams.lists(b"zzz.q", |_| asked += 1);
        assert_eq!(asked, 0);
        grams.lists(b"p4321.q", |_| asked += 1);
        assert!((1..=2).contains(&asked), "{asked}");
    }
}
