//! A sorted array of 64-bit integers, as wide as its widest member needs: 2, 4 or 8 bytes each.
//!
//! Invariant: ascending, no duplicates.
//! Invariant: the width only grows; removing the one wide member does not narrow the rest.
//! Deliberately unknown here: text, limits, other forms.

/// Integers of one set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ints {
    /// Two bytes each.
    Narrow(Vec<i16>),
    /// Four bytes each.
    Middle(Vec<i32>),
    /// Eight bytes each.
    Wide(Vec<i64>),
}

/// The same expression over whichever vector there is.
macro_rules! any_width {
    ($ints:expr, $values:ident => $body:expr) => {
        match $ints {
            Ints::Narrow($values) => $body,
            Ints::Middle($values) => $body,
            Ints::Wide($values) => $body,
        }
    };
}

#[expect(clippy::useless_conversion, reason = "the widest arm converts to itself")]
impl Ints {
    /// No members, two bytes wide, nothing allocated.
    pub(super) const fn new() -> Self {
        Ints::Narrow(Vec::new())
    }

    /// How many members there are.
    pub(super) fn len(&self) -> usize {
        any_width!(self, values => values.len())
    }

    /// Heap bytes, room for growth included.
    pub(super) fn allocated_bytes(&self) -> usize {
        any_width!(self, values => values.capacity() * element_bytes(values))
    }

    /// Heap bytes without that room.
    pub(super) fn used_bytes(&self) -> usize {
        any_width!(self, values => size_of_val(&values[..]))
    }

    /// Gives back room for growth.
    pub(super) fn shrink(&mut self) {
        any_width!(self, values => values.shrink_to_fit());
    }

    /// True when `value` is a member. O(log n).
    pub(super) fn contains(&self, value: i64) -> bool {
        match self {
            Ints::Narrow(values) => i16::try_from(value).is_ok_and(|value| values.binary_search(&value).is_ok()),
            Ints::Middle(values) => i32::try_from(value).is_ok_and(|value| values.binary_search(&value).is_ok()),
            Ints::Wide(values) => values.binary_search(&value).is_ok(),
        }
    }

    /// Adds `value`, widening all members when it does not fit. False when it was a member. O(n).
    pub(super) fn insert(&mut self, value: i64) -> bool {
        self.widen_for(value);
        match self {
            Ints::Narrow(values) => insert_sorted(values, value as i16),
            Ints::Middle(values) => insert_sorted(values, value as i32),
            Ints::Wide(values) => insert_sorted(values, value),
        }
    }

    /// Removes `value`. False when it was no member. O(n).
    pub(super) fn remove(&mut self, value: i64) -> bool {
        match self {
            Ints::Narrow(values) => i16::try_from(value).is_ok_and(|value| remove_sorted(values, value)),
            Ints::Middle(values) => i32::try_from(value).is_ok_and(|value| remove_sorted(values, value)),
            Ints::Wide(values) => remove_sorted(values, value),
        }
    }

    /// The member at `index` in ascending order.
    ///
    /// # Panics
    /// When `index` is not below [`Ints::len`].
    pub(super) fn get(&self, index: usize) -> i64 {
        any_width!(self, values => i64::from(values[index]))
    }

    /// All members, ascending.
    pub(super) fn iter(&self) -> Iter<'_> {
        Iter { ints: self, at: 0 }
    }

    /// Keeps the members that `keep` wants, asked in ascending order.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(i64) -> bool) {
        any_width!(self, values => {
            values.retain(|value| keep(i64::from(*value)));
            trim(values);
        });
    }

    /// Length in bytes of the longest member written as text: the smallest or the largest one's. O(1).
    pub(super) fn longest_text(&self) -> usize {
        match self.len() {
            0 => 0,
            len => text_len(self.get(0)).max(text_len(self.get(len - 1))),
        }
    }

    fn widen_for(&mut self, value: i64) {
        let narrow = i16::try_from(value).is_ok();
        let middle = i32::try_from(value).is_ok();
        match self {
            Ints::Narrow(_) if narrow => {}
            Ints::Narrow(values) if middle => *self = Ints::Middle(values.iter().map(|&value| value.into()).collect()),
            Ints::Narrow(values) => *self = Ints::Wide(values.iter().map(|&value| value.into()).collect()),
            Ints::Middle(_) if middle => {}
            Ints::Middle(values) => *self = Ints::Wide(values.iter().map(|&value| value.into()).collect()),
            Ints::Wide(_) => {}
        }
    }
}

/// Members in ascending order.
#[derive(Debug, Clone)]
pub(super) struct Iter<'a> {
    ints: &'a Ints,
    at: usize,
}

impl Iterator for Iter<'_> {
    type Item = i64;

    fn next(&mut self) -> Option<i64> {
        if self.at == self.ints.len() {
            return None;
        }
        self.at += 1;
        Some(self.ints.get(self.at - 1))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.ints.len() - self.at;
        (left, Some(left))
    }
}

fn element_bytes<T>(_: &[T]) -> usize {
    size_of::<T>()
}

fn insert_sorted<T: Ord>(values: &mut Vec<T>, value: T) -> bool {
    let at = match values.last() {
        // Ascending input is the common bulk load and needs no search.
        Some(last) if *last < value => values.len(),
        _ => match values.binary_search(&value) {
            Ok(_) => return false,
            Err(at) => at,
        },
    };
    if values.len() == values.capacity() {
        // Doubling would cost small sets up to as much again; an eighth keeps the copies amortised.
        values.reserve_exact(4 + values.len() / 8);
    }
    values.insert(at, value);
    true
}

fn remove_sorted<T: Ord>(values: &mut Vec<T>, value: T) -> bool {
    let Ok(at) = values.binary_search(&value) else { return false };
    values.remove(at);
    trim(values);
    true
}

/// Gives memory back once less than half of it is used.
fn trim<T>(values: &mut Vec<T>) {
    if values.capacity() > 8 && values.len() < values.capacity() / 2 {
        values.shrink_to(values.len() + values.len() / 8);
    }
}

/// How many bytes `value` takes as decimal text.
pub(super) fn text_len(value: i64) -> usize {
    let digits = value.unsigned_abs().checked_ilog10().map_or(1, |log| log as usize + 1);
    digits + usize::from(value < 0)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn members_widen_on_demand_and_never_narrow() {
        let mut ints = Ints::new();
        assert!(ints.insert(-32_768) && ints.insert(32_767));
        assert!(matches!(ints, Ints::Narrow(_)));
        assert!(ints.insert(32_768));
        assert!(matches!(ints, Ints::Middle(_)));
        assert!(ints.insert(i64::MIN) && ints.insert(i64::MAX));
        assert!(matches!(ints, Ints::Wide(_)));
        assert_eq!(ints.iter().collect::<Vec<_>>(), [i64::MIN, -32_768, 32_767, 32_768, i64::MAX]);
        assert!(ints.remove(i64::MIN) && ints.remove(i64::MAX) && !ints.remove(7));
        assert!(matches!(ints, Ints::Wide(_)));
    }

    #[test]
    fn values_beyond_the_width_are_no_members() {
        let mut ints = Ints::new();
        ints.insert(0);
        for value in [65_536, 1 << 32, i64::MIN] {
            assert!(!ints.contains(value) && !ints.remove(value), "{value}");
        }
        ints.insert(70_000);
        assert!(!ints.contains((1 << 32) + 70_000) && !ints.remove((1 << 32) + 70_000));
        assert_eq!(ints.len(), 2);
    }

    #[test]
    fn text_lengths_are_those_of_the_text() {
        for value in [0, 9, 10, 99, 100, -1, -9, -10, i64::MAX, i64::MIN, 999_999_999, 1_000_000_000] {
            assert_eq!(text_len(value), value.to_string().len(), "{value}");
        }
        let mut ints = Ints::new();
        assert_eq!(ints.longest_text(), 0);
        for (value, longest) in [(5, 1), (-1, 2), (123, 3), (-12_345, 6)] {
            ints.insert(value);
            assert_eq!(ints.longest_text(), longest);
        }
    }

    #[test]
    fn random_changes_agree_with_an_ordered_set() {
        let mut rng = fastrand::Rng::with_seed(3);
        for bits in [8, 20, 63] {
            let (mut ints, mut model) = (Ints::new(), BTreeSet::new());
            for _ in 0..3000 {
                let value = rng.i64(-(1 << (bits - 1))..(1 << (bits - 1))) >> rng.u32(0..8);
                match rng.bool() {
                    true => assert_eq!(ints.insert(value), model.insert(value)),
                    false => assert_eq!(ints.remove(value), model.remove(&value)),
                }
                assert_eq!(ints.contains(value), model.contains(&value));
            }
            assert!(ints.iter().eq(model.iter().copied()));
            ints.retain(|value| value % 3 == 0);
            model.retain(|value| value % 3 == 0);
            assert!(ints.iter().eq(model.iter().copied()));
            assert!(ints.allocated_bytes() >= 2 * ints.len());
        }
    }

    #[test]
    fn memory_is_given_back() {
        let mut ints = Ints::new();
        for value in 0..10_000 {
            ints.insert(value);
        }
        assert!(ints.allocated_bytes() <= 2 * 12_000);
        ints.retain(|value| value < 10);
        assert!(ints.allocated_bytes() <= 40);
    }
}
