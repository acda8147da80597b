//! The large form: byte strings in a hash table of segments.
//!
//! Invariant: a member up to [`SHORT_MAX`] bytes lies in its slot, a longer one in an allocation of exactly its length.
//! Invariant: an entry's hash is that of its bytes by the caller's function, the same on every call.
//! Deliberately unknown here: integers, limits, other forms.

use crate::engine::hash::Hasher13;
use crate::engine::segments::{Frozen, Segments};
use crate::reply::Pieces;

/// Members of one set, found by hash.
#[derive(Debug, Clone, Default)]
pub(super) struct Table {
    slots: Segments<Slot>,
    /// Bytes of all members, and of those that lie outside their slots.
    text_bytes: usize,
    long_bytes: usize,
}

/// Longest member that lies in its slot.
const SHORT_MAX: usize = 22;

/// ```text
/// 0     1     2                 24
/// ┌─────┬─────┬─────────────────┐
/// │ tag │ len │      bytes      │   up to 22 bytes
/// ├─────┴─────┴──────┬──────────┤
/// │ tag    padding   │ pointer, length (8 + 8)
/// └──────────────────┴──────────┘
/// ```
#[derive(Debug, Clone)]
enum Slot {
    Short { len: u8, bytes: [u8; SHORT_MAX] },
    Long(Box<[u8]>),
}

const _: () = assert!(size_of::<Slot>() == 24);

impl Slot {
    fn new(member: &[u8]) -> Self {
        match member.len() {
            len @ 0..=SHORT_MAX => {
                let mut bytes = [0; SHORT_MAX];
                bytes[..len].copy_from_slice(member);
                Slot::Short { len: len as u8, bytes }
            }
            _ => Slot::Long(member.into()),
        }
    }

    fn as_bytes(&self) -> &[u8] {
        match self {
            Slot::Short { len, bytes } => &bytes[..usize::from(*len)],
            Slot::Long(bytes) => bytes,
        }
    }

    fn long_bytes(&self) -> usize {
        match self {
            Slot::Short { .. } => 0,
            Slot::Long(bytes) => bytes.len(),
        }
    }
}

impl Table {
    /// How many members there are.
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Heap bytes. Cost: the number of segments.
    pub(super) fn allocated_bytes(&self) -> usize {
        self.slots.allocated_bytes() + self.long_bytes
    }

    /// Bytes of all members together.
    pub(super) fn text_bytes(&self) -> usize {
        self.text_bytes
    }

    /// True when `member` is there. O(1).
    pub(super) fn contains(&self, member: &[u8], hasher: &Hasher13) -> bool {
        self.slots.find(hasher.hash(member), |slot| slot.as_bytes() == member).is_some()
    }

    /// Adds `member`. False when it was there. O(1).
    pub(super) fn insert(&mut self, member: &[u8], hasher: &Hasher13) -> bool {
        let hash = hasher.hash(member);
        if self.slots.find(hash, |slot| slot.as_bytes() == member).is_some() {
            return false;
        }
        let slot = Slot::new(member);
        self.text_bytes += member.len();
        self.long_bytes += slot.long_bytes();
        self.slots.insert_unique(hash, slot, |slot| hasher.hash(slot.as_bytes()));
        true
    }

    /// Removes `member`. False when it was not there. O(1).
    pub(super) fn remove(&mut self, member: &[u8], hasher: &Hasher13) -> bool {
        let hash_of = |slot: &Slot| hasher.hash(slot.as_bytes());
        match self.slots.remove(hasher.hash(member), |slot| slot.as_bytes() == member, hash_of) {
            Some(slot) => {
                self.forget(&slot);
                true
            }
            None => false,
        }
    }

    fn forget(&mut self, slot: &Slot) {
        self.text_bytes -= slot.as_bytes().len();
        self.long_bytes -= slot.long_bytes();
    }

    /// All members, in no particular order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.slots.iter().map(Slot::as_bytes)
    }

    /// The members in one of [`Table::segments`], counted from 0.
    pub(super) fn segment(&self, index: usize) -> impl Iterator<Item = &[u8]> {
        self.slots.segment(index).map(Slot::as_bytes)
    }

    /// Whether nothing was changed in one of the two since one was cloned from the other.
    pub(super) fn is(&self, other: &Self) -> bool {
        self.slots.is(&other.slots)
    }

    /// Whole segments in the order of hash positions from `cursor` on, until they hold `count` members, and where to go
    /// on, 0 at the end. The first may hold members before `cursor`.
    pub(super) fn freeze_page(&self, cursor: u64, count: usize) -> (FrozenTable, u64) {
        let (page, next) = self.slots.freeze_page(cursor, count);
        (FrozenTable(page), next)
    }

    /// All members as they are now. Cost: the number of segments.
    pub(super) fn freeze(&self) -> FrozenTable {
        FrozenTable(self.slots.freeze())
    }

    /// Everything, to be dropped little by little.
    pub(super) fn take_all(mut self) -> FrozenTable {
        FrozenTable(self.slots.take_all())
    }

    /// Whether it is so large that dropping it takes long.
    pub(super) fn segments(&self) -> usize {
        self.slots.segments()
    }

    /// A member drawn uniformly; none when the table is empty.
    pub(super) fn random(&self, rng: &mut fastrand::Rng) -> Option<&[u8]> {
        self.slots.random(rng).map(Slot::as_bytes)
    }

    /// Takes out a member drawn uniformly and shows it to `taken`.
    pub(super) fn remove_random(&mut self, rng: &mut fastrand::Rng, hasher: &Hasher13, taken: impl FnOnce(&[u8])) {
        if let Some(slot) = self.slots.remove_random(rng, |slot| hasher.hash(slot.as_bytes())) {
            self.forget(&slot);
            taken(slot.as_bytes());
        }
    }

    /// One page in the order of hash positions: at least `count` members unless the end comes first.
    pub(super) fn page<'a>(
        &'a self,
        cursor: u64,
        count: usize,
        hasher: &Hasher13,
        mut visit: impl FnMut(&'a [u8]),
    ) -> u64 {
        self.slots.page(cursor, count, |slot| hasher.hash(slot.as_bytes()), |slot| visit(slot.as_bytes()))
    }
}

/// The members of a table as they were at one moment.
#[derive(Debug)]
pub(crate) struct FrozenTable(Frozen<Slot>);

impl FrozenTable {
    /// Drops some of it. False when nothing was left.
    pub(crate) fn drop_some(&mut self) -> bool {
        self.0.drop_one(drop)
    }

    /// The members of one piece; none past the last.
    pub(crate) fn iter(&self, piece: usize) -> impl Iterator<Item = &[u8]> {
        self.0.iter(piece).map(Slot::as_bytes)
    }
}

impl Pieces for FrozenTable {
    fn pieces(&self) -> usize {
        self.0.segments()
    }

    fn len(&self, piece: usize) -> usize {
        self.0.len(piece)
    }

    fn each(&self, piece: usize, visit: &mut dyn FnMut(&[u8])) {
        self.iter(piece).for_each(visit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_around_the_slot_size_come_back_whole() {
        let (hasher, mut table) = (Hasher13::new(1, 2), Table::default());
        for len in 0..64 {
            assert!(table.insert(&vec![len; usize::from(len)], &hasher));
            assert!(!table.insert(&vec![len; usize::from(len)], &hasher));
        }
        let mut lens: Vec<_> =
            table.iter().map(|member| (member.len(), member.iter().all(|&b| b as usize == member.len()))).collect();
        lens.sort_unstable();
        assert!(lens.into_iter().eq((0..64).map(|len| (len, true))));
    }

    #[test]
    fn a_member_of_sixteen_bytes_costs_at_most_forty_eight() {
        let (hasher, mut table) = (Hasher13::new(1, 2), Table::default());
        for number in 0..200_000 {
            table.insert(format!("member-{number:09}").as_bytes(), &hasher);
        }
        let bytes = table.allocated_bytes();
        assert!(bytes <= 48 * 200_000, "{} bytes a member", bytes / 200_000);
    }

    #[test]
    fn memory_of_long_members_is_counted_and_given_back() {
        let (hasher, mut table) = (Hasher13::new(1, 2), Table::default());
        let empty = table.allocated_bytes();
        table.insert(&[7; 1000], &hasher);
        assert!(table.allocated_bytes() >= empty + 1000);
        table.remove(&[7; 1000], &hasher);
        assert!(table.allocated_bytes() < empty + 1000);
        table.insert(&[7; 500], &hasher);
        table.remove_random(&mut fastrand::Rng::with_seed(1), &hasher, |member| assert_eq!(member, [7; 500]));
        assert_eq!((table.len(), table.text_bytes, table.long_bytes), (0, 0, 0));
    }
}
