//! A list without repeats that stays small when it is short and fast when it is long.
//!
//! Invariant: the items are one slice; nothing is marked or left out in it.
//! Invariant: while the list is no longer than [`FEW_MAX`] its order is that of arrival. In a longer one, the last item
//! takes the place of one that is removed.
//!
//! Items are numbers that we gave out, close together and not chosen by strangers; so their hash is cheap and not
//! keyed.
//!
//! Deliberately unknown here: whether the items are subscribers of a name or names of a subscriber; it serves both.

use std::hash::{Hash, Hasher};
use std::mem;
use std::slice;

use hashbrown::HashTable;

/// From here on items are found through a table. Comparing 32 ids costs about as much as one hash.
const FEW_MAX: usize = 32;
/// A list that shrank to this gives up its table; lower than [`FEW_MAX`] so that it does not flip to and fro.
const FEW_AGAIN: usize = 16;

/// The list. 24 bytes; one item of up to 8 bytes needs no more.
#[derive(Debug)]
pub(super) enum Roster<T> {
    One(T),
    Few(Vec<T>),
    Many(Box<Indexed<T>>),
}

#[derive(Debug)]
pub(super) struct Indexed<T> {
    items: Vec<T>,
    /// Where each item stands.
    positions: HashTable<u32>,
}

impl<T> Default for Roster<T> {
    fn default() -> Self {
        Roster::Few(Vec::new())
    }
}

impl<T> Roster<T> {
    pub(super) fn as_slice(&self) -> &[T] {
        match self {
            Roster::One(item) => slice::from_ref(item),
            Roster::Few(items) => items,
            Roster::Many(many) => &many.items,
        }
    }
}

impl<T: Copy + Eq + Hash> Roster<T> {
    /// Whether the item is listed. O(1).
    pub(super) fn contains(&self, item: T) -> bool {
        match self {
            Roster::One(_) | Roster::Few(_) => self.as_slice().contains(&item),
            Roster::Many(many) => many.position(item).is_some(),
        }
    }

    /// Adds an item at the end; false when it is listed already. O(1) amortised.
    pub(super) fn insert(&mut self, item: T) -> bool {
        if self.contains(item) {
            return false;
        }
        match self {
            Roster::Few(items) if items.is_empty() => *self = Roster::One(item),
            Roster::One(first) => *self = Roster::Few(vec![*first, item]),
            Roster::Few(items) if items.len() < FEW_MAX => items.push(item),
            Roster::Few(items) => {
                let mut many = Indexed { items: Vec::new(), positions: HashTable::new() };
                items.iter().chain([&item]).for_each(|item| many.push(*item));
                *self = Roster::Many(Box::new(many));
            }
            Roster::Many(many) => many.push(item),
        }
        true
    }

    /// Removes an item; false when it is not listed. O(1) amortised.
    pub(super) fn remove(&mut self, item: T) -> bool {
        match self {
            Roster::One(only) => {
                let found = *only == item;
                if found {
                    *self = Roster::default();
                }
                found
            }
            Roster::Few(items) => {
                let Some(position) = items.iter().position(|other| *other == item) else {
                    return false;
                };
                items.remove(position);
                match **items {
                    [last] => *self = Roster::One(last),
                    _ if 4 * items.len() < items.capacity() => items.shrink_to(2 * items.len()),
                    _ => {}
                }
                true
            }
            Roster::Many(many) => {
                let found = many.remove(item);
                if many.items.len() <= FEW_AGAIN {
                    let mut items = mem::take(&mut many.items);
                    items.shrink_to_fit();
                    *self = Roster::Few(items);
                }
                found
            }
        }
    }
}

impl<T: Copy + Eq + Hash> Indexed<T> {
    fn position(&self, item: T) -> Option<u32> {
        self.positions.find(hash(item), |at| self.items[*at as usize] == item).copied()
    }

    fn push(&mut self, item: T) {
        let Indexed { items, positions } = self;
        items.push(item);
        // Sessions and names are numbered with 32 bits, so a list of either is never longer.
        let position = (items.len() - 1) as u32;
        positions.insert_unique(hash(item), position, |at| hash(items[*at as usize]));
    }

    fn remove(&mut self, item: T) -> bool {
        let Indexed { items, positions } = self;
        let Ok(entry) = positions.find_entry(hash(item), |at| items[*at as usize] == item) else {
            return false;
        };
        let (position, _) = entry.remove();
        items.swap_remove(position as usize);
        let from = items.len() as u32;
        if from != position {
            let moved = hash(items[position as usize]);
            *positions.find_mut(moved, |at| *at == from).expect("every item has a position") = position;
        }
        if 4 * items.len() < items.capacity() {
            items.shrink_to(2 * items.len());
            positions.shrink_to(2 * items.len(), |at| hash(items[*at as usize]));
        }
        true
    }
}

fn hash(item: impl Hash) -> u64 {
    let mut mix = Mix(0);
    item.hash(&mut mix);
    mix.finish()
}

/// Multiplies once for each number.
struct Mix(u64);

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        let wide = u128::from(self.0 ^ number ^ 0x2D35_8DCC_AA6C_78A5) * 0x9E37_79B9_7F4A_7C15;
        self.0 = (wide >> 64) as u64 ^ wide as u64;
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn one_item_needs_no_memory_of_its_own() {
        assert_eq!(size_of::<Roster<u32>>(), 24);
        let mut roster = Roster::default();
        assert!(roster.insert(7u64) && !roster.insert(7));
        assert!(matches!(roster, Roster::One(7)));
        assert!(roster.insert(8) && roster.remove(7) && !roster.remove(7));
        assert!(matches!(roster, Roster::One(8)));
        assert!(roster.remove(8) && roster.as_slice().is_empty());
    }

    #[test]
    fn a_list_keeps_what_it_holds_whichever_form_it_takes() {
        let mut roster = Roster::default();
        for item in 0..10_000u32 {
            assert!(roster.insert(item));
        }
        assert_eq!(roster.as_slice(), (0..10_000).collect::<Vec<u32>>());
        for item in (0..10_000).filter(|item| item % 1_000 != 0) {
            assert!(roster.remove(item) && !roster.contains(item));
        }
        let mut left = roster.as_slice().to_vec();
        left.sort_unstable();
        assert_eq!(left, (0..10).map(|thousand| thousand * 1_000).collect::<Vec<u32>>());
        assert!(matches!(&roster, Roster::Few(items) if items.capacity() <= FEW_AGAIN));
    }

    proptest! {
        #[test]
        fn agrees_with_a_plain_list(steps in proptest::collection::vec((any::<bool>(), 0u32..80), 0..600)) {
            let (mut roster, mut plain) = (Roster::default(), Vec::new());
            for (insert, item) in steps {
                let listed = plain.contains(&item);
                if insert {
                    prop_assert_eq!(roster.insert(item), !listed);
                    plain.retain(|other| *other != item);
                    plain.push(item);
                } else {
                    prop_assert_eq!(roster.remove(item), listed);
                    plain.retain(|other| *other != item);
                }
                let (mut left, mut right) = (roster.as_slice().to_vec(), plain.clone());
                left.sort_unstable();
                right.sort_unstable();
                prop_assert_eq!(left, right);
            }
        }
    }
}
