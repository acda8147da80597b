//! Segments against a model: shape, cursors, fairness, and how much is moved at once.

use std::collections::{BTreeMap, BTreeSet};

use super::*;

/// Entries are their own hashes, so that a test chooses where they lie.
fn itself(entry: &u64) -> u64 {
    *entry
}

fn insert(table: &mut Segments<u64>, entry: u64) {
    let before = table.moved;
    table.insert_unique(entry, entry, itself);
    assert!(table.moved - before <= 8192);
}

fn remove(table: &mut Segments<u64>, entry: u64) -> Option<u64> {
    let before = table.moved;
    let removed = table.remove(entry, |&other| other == entry, itself);
    assert!(table.moved - before <= 8192);
    removed
}

fn filled(len: usize, rng: &mut fastrand::Rng) -> (Segments<u64>, Vec<u64>) {
    let entries: Vec<u64> = (0..len).map(|_| rng.u64(..)).collect();
    let mut table = Segments::new();
    entries.iter().for_each(|&entry| insert(&mut table, entry));
    (table, entries)
}

fn check_shape<T: Clone, N: Note>(table: &Segments<T, N>, hasher: impl Fn(&T) -> u64) {
    table.directory.check_shape();
    for (index, segment) in table.directory.all().enumerate() {
        assert!(segment.table.iter().all(|entry| table.directory.index(hasher(entry)) == index));
        assert!(segment.table.num_buckets() <= table.widest);
    }
    assert_eq!(table.directory.all().map(|segment| segment.table.len()).sum::<usize>(), table.len);
}

fn scan(table: &Segments<u64>, count: usize) -> Vec<u64> {
    let mut seen = Vec::new();
    let mut cursor = 0;
    loop {
        let before = seen.len();
        cursor = table.page(cursor, count, itself, |&entry| seen.push(entry));
        assert!(seen.len() - before <= count, "a page of {count} holds {}", seen.len() - before);
        assert!(cursor <= POSITIONS);
        if cursor == 0 {
            return seen;
        }
        assert_eq!(seen.len() - before, count);
    }
}

#[test]
fn holds_what_a_map_holds_while_growing_and_shrinking() {
    let mut rng = fastrand::Rng::with_seed(1);
    let mut table = Segments::<u64>::new();
    let mut model = BTreeMap::new();
    for (grows_of_ten, steps) in [(8, 30_000), (2, 28_000), (6, 10_000), (1, 2_000)] {
        for _ in 0..steps {
            if rng.usize(..10) < grows_of_ten {
                // Half of the hashes are crowded in one 64th of the range.
                let entry = if rng.bool() { rng.u64(..) } else { rng.u64(..) >> 6 };
                if model.insert(entry, ()).is_none() {
                    insert(&mut table, entry);
                }
            } else if let Some(&entry) = model.range(rng.u64(..)..).next().map(|(entry, ())| entry) {
                model.remove(&entry);
                assert_eq!(remove(&mut table, entry), Some(entry));
                assert_eq!(remove(&mut table, entry), None);
            }
            assert_eq!(table.len(), model.len());
        }
        check_shape(&table, itself);
        let all: BTreeSet<u64> = table.iter().copied().collect();
        assert!(all.iter().eq(model.keys()));
        assert!(model.keys().all(|&entry| table.find(entry, |&other| other == entry) == Some(&entry)));
    }
    while let Some((entry, ())) = model.pop_first() {
        assert_eq!(remove(&mut table, entry), Some(entry));
    }
    check_shape(&table, itself);
    assert_eq!((table.len(), table.directory.len(), table.directory.slots()), (0, 1, 1));
    assert!(table.allocated_bytes() < 1024);
}

#[test]
fn a_scan_visits_everything_once_in_order() {
    let mut rng = fastrand::Rng::with_seed(2);
    for len in [0, 1, 10, 447, 448, 449, 5_000] {
        let (table, mut entries) = filled(len, &mut rng);
        entries.sort_unstable();
        for count in [1, 7, 10, 448, 1_000_000] {
            if len * 512 / count < 5_000_000 {
                assert_eq!(scan(&table, count), entries);
            }
        }
    }
}

#[test]
fn a_page_ends_the_scan_when_nothing_follows() {
    let mut table = Segments::<u64>::new();
    (1..=10).for_each(|entry| insert(&mut table, entry << 40));
    assert_eq!(table.page(0, 10, itself, |_| {}), 0);
    assert_eq!(table.page(0, 9, itself, |_| {}), (9 << 38) + 1);
    insert(&mut table, u64::MAX);
    assert_eq!(table.page(POSITIONS - 1, 1, itself, |&entry| assert_eq!(entry, u64::MAX)), 0);
}

#[test]
fn any_cursor_is_legal() {
    let mut rng = fastrand::Rng::with_seed(3);
    let (table, entries) = filled(3_000, &mut rng);
    for round in 0..2_000 {
        let cursor = if round % 2 == 0 { rng.u64(..) } else { rng.u64(..POSITIONS) };
        let mut seen = 0;
        let next = table.page(cursor, 5, itself, |&entry| {
            assert!(position(entry) >= cursor);
            seen += 1;
        });
        assert_eq!(seen, entries.iter().filter(|&&entry| position(entry) >= cursor).count().min(5));
        assert!(next == 0 || (cursor..=POSITIONS).contains(&next));
    }
    for cursor in [POSITIONS, POSITIONS + 1, 1 << 63, u64::MAX] {
        assert_eq!(table.page(cursor, 10, itself, |_| panic!("past the end")), 0);
    }
}

#[test]
fn who_stays_is_visited_once_while_the_table_changes() {
    let mut rng = fastrand::Rng::with_seed(4);
    let staying: Vec<u64> = (0..20).map(|_| rng.u64(..)).collect();
    let mut table = Segments::<u64>::new();
    staying.iter().for_each(|&entry| insert(&mut table, entry));
    let mut others: Vec<u64> = Vec::new();
    let mut segments = BTreeSet::new();
    for round in 0..10_000 {
        let count = [20, 50, 200, 500][rng.usize(..4)];
        let growing = round / 40 % 2 == 0;
        let mut seen: BTreeMap<u64, usize> = BTreeMap::new();
        let mut cursor = 0;
        loop {
            cursor = table.page(cursor, count, itself, |&entry| *seen.entry(entry).or_default() += 1);
            for _ in 0..rng.usize(..100) {
                if rng.usize(..10) < if growing { 7 } else { 2 } && others.len() < 2_000 {
                    others.push(rng.u64(..));
                    insert(&mut table, others[others.len() - 1]);
                } else if !others.is_empty() {
                    let entry = others.swap_remove(rng.usize(..others.len()));
                    assert_eq!(remove(&mut table, entry), Some(entry));
                }
            }
            segments.insert(table.directory.len());
            if cursor == 0 {
                break;
            }
        }
        assert!(staying.iter().all(|entry| seen.get(entry) == Some(&1)));
    }
    assert!(segments.first() == Some(&1) && segments.last() > Some(&5), "the table must grow and shrink: {segments:?}");
    check_shape(&table, itself);
}

#[test]
fn equal_hashes_neither_explode_the_directory_nor_split_a_page() {
    let mut table = Segments::<(u64, u32)>::new();
    for number in 0..3_000 {
        table.insert_unique(7 << 32, (7 << 32, number), |entry| entry.0);
    }
    table.insert_unique(u64::MAX, (u64::MAX, 0), |entry| entry.0);
    check_shape(&table, |entry| entry.0);
    assert!(table.directory.slots() <= 1024);
    assert!(table.find(7 << 32, |entry| entry.1 == 2_999).is_some());
    let mut seen = 0;
    let next = table.page(0, 10, |entry| entry.0, |_| seen += 1);
    assert_eq!(seen, 3_000);
    assert_eq!(table.page(next, 10, |entry| entry.0, |_| seen += 1), 0);
    assert_eq!(seen, 3_001);
}

/// Chi-square over every entry, against a bound that a fair draw passes all but once in 100,000 times.
fn assert_fair(table: &Segments<u64>, rng: &mut fastrand::Rng) {
    let mut drawn: BTreeMap<u64, f64> = table.iter().map(|&entry| (entry, 0.0)).collect();
    let mean = 50.0;
    for _ in 0..table.len() * 50 {
        *drawn.get_mut(table.random(rng).unwrap()).unwrap() += 1.0;
    }
    let chi: f64 = drawn.values().map(|count| (count - mean) * (count - mean) / mean).sum();
    let freedom = (table.len() - 1) as f64;
    // Wilson and Hilferty's approximation, at 4.265 standard deviations.
    let spread = 2.0 / (9.0 * freedom);
    let bound = freedom * (1.0 - spread + 4.265 * spread.sqrt()).powi(3);
    assert!(chi < bound, "{chi} of {bound} for {} entries", table.len());
}

#[test]
fn draws_are_fair_in_any_shape() {
    let mut rng = fastrand::Rng::with_seed(5);
    for len in [10, 100, 10_000] {
        let (mut table, mut entries) = filled(len, &mut rng);
        assert_fair(&table, &mut rng);
        entries.drain(len / 100 + 2..).for_each(|entry| assert!(remove(&mut table, entry).is_some()));
        assert_fair(&table, &mut rng);
    }
    let mut uneven = Segments::<u64>::new();
    (0..3_000).for_each(|_| insert(&mut uneven, rng.u64(..) >> rng.u32(..12)));
    assert_fair(&uneven, &mut rng);
}

#[test]
fn draws_stay_fast_after_mass_deletion() {
    let mut rng = fastrand::Rng::with_seed(6);
    for in_order in [false, true] {
        let (mut table, mut entries) = filled(200_000, &mut rng);
        if in_order {
            entries.sort_unstable();
        }
        for left in [20_000, 1_000, 100, 1] {
            entries.drain(left..).for_each(|entry| assert!(remove(&mut table, entry).is_some()));
            let tries = table.directory.len() * table.draw_width() / table.len();
            assert!(tries <= 32, "{tries} tries for {left} entries in {} segments", table.directory.len());
        }
        check_shape(&table, itself);
        assert_eq!(table.random(&mut rng), Some(&entries[0]));
        assert_eq!(remove(&mut table, entries[0]), Some(entries[0]));
        assert_eq!(table.random(&mut rng), None);
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Least(Option<u64>);

impl Note for Least {
    fn merged(self, other: Self) -> Self {
        Least(self.0.into_iter().chain(other.0).min())
    }
}

#[test]
fn notes_follow_splits_and_merges_and_a_sweep_renews_them() {
    let mut rng = fastrand::Rng::with_seed(7);
    let mut table = Segments::<u64, Least>::new();
    for _ in 0..5_000 {
        let entry = rng.u64(..);
        table.insert_unique(entry, entry, itself);
        let note = table.note_mut(entry);
        *note = note.merged(Least(Some(entry)));
    }
    let (mut cursor, mut swept) = (0, 0);
    loop {
        let (note, len, next) = table.note_at(cursor).unwrap();
        assert!(
            len == 0 || position(note.0.unwrap()) <= position(*table.iter().min().unwrap()).max(cursor) + POSITIONS / 8
        );
        let keep = |entry: &u64, note: &mut Least| {
            if entry.is_multiple_of(2) {
                *note = note.merged(Least(Some(*entry)));
            }
            entry % 2 == 1
        };
        table.sweep_at(cursor, itself, keep, |entry| {
            assert_eq!(entry % 2, 1);
            swept += 1;
        });
        cursor = next;
        if cursor == 0 {
            break;
        }
    }
    assert_eq!(table.len() + swept, 5_000);
    assert!(table.iter().all(|entry| entry % 2 == 0));
    check_shape(&table, itself);
    for segment in table.directory.all() {
        assert_eq!(segment.note.0, segment.table.iter().copied().min());
    }
    assert_eq!(table.note_at(POSITIONS), None);
}

#[test]
fn small_collections_page_by_the_same_positions() {
    let items: Vec<(u64, &str)> = vec![(9, "d"), (3, "b"), (3, "c"), (1, "a")];
    let page = |cursor, count| {
        let mut seen = String::new();
        let next = page_of(items.iter().copied(), cursor, count, |item| seen.push_str(item));
        (next, seen)
    };
    assert_eq!(page(0, 1), (2, "a".into()));
    let (next, seen) = page(2, 1);
    assert!(next == 4 && seen.len() == 2);
    assert_eq!(page(4, 1), (0, "d".into()));
    assert_eq!(page(0, 100).0, 0);
    assert_eq!(page(u64::MAX, 1), (0, String::new()));
}

#[test]
fn what_was_frozen_does_not_change() {
    let mut rng = fastrand::Rng::with_seed(3);
    let (mut table, mut entries) = filled(20_000, &mut rng);
    let frozen = table.freeze();
    assert!((0..20_000).all(|at| table.is_shared(entries[at])));
    for &entry in &entries[..15_000] {
        assert_eq!(remove(&mut table, entry), Some(entry));
    }
    (0..30_000).for_each(|_| insert(&mut table, rng.u64(..)));
    check_shape(&table, |&entry| entry);
    let mut seen: Vec<u64> = (0..frozen.segments()).flat_map(|segment| frozen.iter(segment).copied()).collect();
    assert_eq!(seen.len(), (0..frozen.segments()).map(|segment| frozen.iter(segment).count()).sum::<usize>());
    seen.sort_unstable();
    entries.sort_unstable();
    assert!(seen == entries);
}

#[test]
fn only_touched_segments_are_copied() {
    let mut rng = fastrand::Rng::with_seed(4);
    let (mut table, entries) = filled(20_000, &mut rng);
    let _frozen = table.freeze();
    assert!(remove(&mut table, entries[0]).is_some());
    let own = table.directory.all().filter(|segment| Rc::strong_count(&segment.table) == 1).count();
    assert_eq!(own, 1);
}

#[test]
fn everything_is_dropped_once() {
    let mut table = Segments::<Rc<u64>>::new();
    let entries: Vec<Rc<u64>> = (0..5_000u64).map(|at| Rc::new(at.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
    entries.iter().for_each(|entry| {
        table.insert_unique(**entry, Rc::clone(entry), |entry| **entry);
    });
    let copy = table.freeze();
    let mut all = table.take_all();
    assert!(table.is_empty());
    while all.drop_one(drop) {}
    assert!(entries.iter().all(|entry| Rc::strong_count(entry) == 2));
    drop(copy);
    assert!(entries.iter().all(|entry| Rc::strong_count(entry) == 1));
}
