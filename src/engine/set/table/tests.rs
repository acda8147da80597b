//! Tables against a model: shape, cursors, fairness, bytes, and how much is moved at once.

use std::collections::{BTreeMap, BTreeSet};

use super::*;

const HASHER: Hasher13 = Hasher13::new(1, 2);

/// No change moves more members than this.
const MOVED_MAX: usize = 8_192;

/// Members of some kind, told apart by a number.
type Make = fn(u64) -> Vec<u8>;

/// One kind for each way a segment can hold its members, and mixtures.
const KINDS: [(&str, Make); 8] = [
    ("sixteen bytes", |n| format!("{:016x}", n.wrapping_mul(0x9e37_79b9_7f4a_7c15)).into_bytes()),
    ("small integers", |n| (n as i64 - 500).to_string().into_bytes()),
    ("large integers", |n| (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) as i64).to_string().into_bytes()),
    ("4 to 40 bytes", |n| format!("{n:0width$}-", width = 3 + n as usize % 37).into_bytes()),
    (
        "integers and words",
        |n| if n.is_multiple_of(2) { n.to_string().into_bytes() } else { format!("w{n}").into_bytes() },
    ),
    ("long ones among others", |n| {
        let len = if n.is_multiple_of(9) { 255 + n as usize % 300 } else { 10 };
        format!("{n:0len$}x").into_bytes()
    }),
    ("254 bytes", |n| format!("x{n:0253}").into_bytes()),
    ("255 bytes", |n| format!("x{n:0254}").into_bytes()),
];

fn insert(table: &mut Table, member: &[u8]) -> bool {
    let before = table.moved;
    let is_new = table.insert(member, &HASHER);
    assert!(table.moved - before <= MOVED_MAX, "{} moved", table.moved - before);
    is_new
}

fn remove(table: &mut Table, member: &[u8]) -> bool {
    let before = table.moved;
    let was_there = table.remove(member, &HASHER);
    assert!(table.moved - before <= MOVED_MAX, "{} moved", table.moved - before);
    was_there
}

fn compact(table: &mut Table, load: f64) {
    let mut position = Some(0);
    while let Some(at) = position {
        position = table.compact(at, load, &HASHER);
    }
}

fn owned(member: Member<'_>) -> Vec<u8> {
    member.with_bytes(<[u8]>::to_vec)
}

fn check_shape(table: &Table) {
    table.segments.check_shape();
    for segment in table.segments.all() {
        segment.check_shape(&HASHER);
        assert!(segment.slots() <= table.widest);
    }
    assert_eq!(table.segments.all().map(Segment::len).sum::<usize>(), table.len());
    assert_eq!(table.iter().map(|member| member.with_bytes(<[u8]>::len)).sum::<usize>(), table.text_bytes());
}

fn scan(table: &Table, count: usize) -> Vec<Vec<u8>> {
    let (mut seen, mut cursor) = (Vec::new(), 0);
    loop {
        let before = seen.len();
        cursor = table.page(cursor, count, &HASHER, |member| seen.push(owned(member)));
        assert!(cursor < POSITIONS);
        let shown = seen.len() - before;
        assert!(shown <= (2 * count).max(128), "a page of {count} holds {shown}");
        if cursor == 0 {
            return seen;
        }
        assert!(shown >= count);
    }
}

#[test]
fn holds_what_a_set_holds_while_growing_and_shrinking() {
    for (kind, make) in KINDS {
        let mut rng = fastrand::Rng::with_seed(1);
        let (mut table, mut model) = (Table::default(), BTreeSet::new());
        for (grows_of_ten, steps) in [(9, 14_000), (2, 9_000), (6, 6_000), (1, 20_000)] {
            for _ in 0..steps {
                let member = make(rng.u64(..12_000));
                if rng.usize(..10) < grows_of_ten {
                    assert_eq!(insert(&mut table, &member), model.insert(member), "{kind}");
                } else {
                    assert_eq!(remove(&mut table, &member), model.remove(&member), "{kind}");
                }
            }
            check_shape(&table);
            assert_eq!(table.iter().map(owned).collect::<BTreeSet<_>>(), model, "{kind}");
            for number in 0..12_000 {
                let member = make(number);
                assert_eq!(table.contains(&member, &HASHER), model.contains(&member), "{kind}");
            }
        }
        while let Some(member) = model.pop_first() {
            assert!(remove(&mut table, &member), "{kind}");
        }
        check_shape(&table);
        assert_eq!((table.len(), table.text_bytes(), table.segments()), (0, 0, 1));
        assert!(table.allocated_bytes() < 1_024, "{kind}: {} bytes for nothing", table.allocated_bytes());
    }
}

#[test]
fn members_of_every_length_come_back_whole() {
    let mut table = Table::default();
    let member = |len: usize| vec![len as u8; len];
    for len in (0..600).chain([65_535, 70_000]) {
        assert!(insert(&mut table, &member(len)) && !insert(&mut table, &member(len)));
    }
    let mut lens: Vec<usize> = table.iter().map(|member| member.with_bytes(<[u8]>::len)).collect();
    lens.sort_unstable();
    assert!(lens.into_iter().eq((0..600).chain([65_535, 70_000])));
    assert!(table.iter().map(owned).all(|text| text == member(text.len())));
    check_shape(&table);
}

#[test]
fn a_text_that_looks_like_an_integer_is_one_only_as_redis_writes_it() {
    let mut table = Table::default();
    for number in 0..100 {
        insert(&mut table, number.to_string().as_bytes());
    }
    for text in ["01", "+1", "-0", " 1", "1 ", "", "9223372036854775808", "1e3"] {
        assert!(!table.contains(text.as_bytes(), &HASHER), "{text}");
        assert!(!remove(&mut table, text.as_bytes()), "{text}");
    }
    assert!(insert(&mut table, b"01") && insert(&mut table, b"9223372036854775807"));
    assert!(table.contains(b"1", &HASHER) && table.contains(b"01", &HASHER));
    assert_eq!(table.len(), 102);
    check_shape(&table);
}

#[test]
fn a_compacted_table_holds_the_same_and_takes_more() {
    for (kind, make) in KINDS {
        let mut table = Table::default();
        (0..9_000).for_each(|number| assert!(insert(&mut table, &make(number))));
        let before = table.allocated_bytes();
        for load in [0.5, 0.97, 1.0] {
            compact(&mut table, load);
            check_shape(&table);
            assert!((0..9_000).all(|number| table.contains(&make(number), &HASHER)), "{kind}");
            assert!(!(9_000..18_000).any(|number| table.contains(&make(number), &HASHER)), "{kind}");
            let reached = 9_000.0 / table.memory().slots as f64;
            assert!(reached > load - 0.1 && reached < load + 0.03, "{kind}: {reached} for {load}");
        }
        assert!(table.allocated_bytes() < before, "{kind}");
        for number in 9_000..12_000 {
            assert!(remove(&mut table, &make(number - 9_000)) && insert(&mut table, &make(number)), "{kind}");
        }
        check_shape(&table);
    }
}

#[test]
fn bytes_of_a_member() {
    let limits =
        [("sixteen bytes", 16.0, 8.0, 2.5), ("large integers", 8.0, 5.0, 2.5), ("4 to 40 bytes", 23.0, 9.0, 6.0)];
    for (kind, bytes, before, after) in limits {
        let make = KINDS.iter().find(|(name, _)| *name == kind).map(|(_, make)| make).expect("a kind");
        for members in [200_000_u64, 260_000, 330_000, 400_000] {
            let mut table = Table::default();
            (0..members).for_each(|number| assert!(table.insert(&make(number), &HASHER)));
            let per_member = |table: &Table| table.allocated_bytes() as f64 / members as f64;
            assert!(per_member(&table) < bytes + before, "{kind}, {members}: {}", per_member(&table));
            compact(&mut table, 0.97);
            assert!(per_member(&table) < bytes + after, "{kind}, {members}: {} compacted", per_member(&table));
        }
    }
}

#[test]
fn a_scan_visits_everything_once_in_the_order_of_homes() {
    for (kind, make) in KINDS {
        for len in [0, 1, 10, 500, 5_000] {
            let mut table = Table::default();
            (0..len).for_each(|number| assert!(insert(&mut table, &make(number))));
            for count in [1, 7, 100, 1_000_000] {
                let seen = scan(&table, count);
                assert_eq!(seen.len(), len as usize, "{kind}");
                assert_eq!(seen.into_iter().collect::<BTreeSet<_>>().len(), len as usize, "{kind}");
            }
        }
    }
}

#[test]
fn any_cursor_is_legal() {
    let mut rng = fastrand::Rng::with_seed(3);
    let mut table = Table::default();
    (0..20_000).for_each(|number| assert!(insert(&mut table, &KINDS[0].1(number))));
    let positions: BTreeSet<u64> = table.iter().map(|member| position(member.hash(&HASHER))).collect();
    for round in 0..1_000 {
        let cursor = if round % 2 == 0 { rng.u64(..) } else { rng.u64(..POSITIONS) };
        let mut seen = BTreeSet::new();
        let next = table.page(cursor, 5, &HASHER, |member| {
            assert!(seen.insert(position(member.hash(&HASHER))));
        });
        let end = if next == 0 { POSITIONS } else { next };
        assert!(cursor >= POSITIONS && next == 0 || end > cursor);
        assert!(positions.range(cursor.min(end)..end).eq(&seen));
    }
    for cursor in [POSITIONS, POSITIONS + 1, 1 << 63, u64::MAX] {
        assert_eq!(table.page(cursor, 10, &HASHER, |_| panic!("past the end")), 0);
    }
}

#[test]
fn who_stays_is_visited_once_while_the_table_changes() {
    let mut rng = fastrand::Rng::with_seed(4);
    let make = KINDS[3].1;
    let staying: Vec<Vec<u8>> = (0..20).map(make).collect();
    let mut table = Table::default();
    staying.iter().for_each(|member| assert!(insert(&mut table, member)));
    let mut others: Vec<u64> = Vec::new();
    let (mut fresh, mut segments) = (1_000, BTreeSet::new());
    for round in 0..10_000 {
        let count = [20, 50, 200, 500][rng.usize(..4)];
        let growing = round / 400 % 2 == 0;
        let (mut seen, mut cursor) = (BTreeMap::new(), 0);
        loop {
            cursor = table.page(cursor, count, &HASHER, |member| *seen.entry(owned(member)).or_insert(0) += 1);
            for _ in 0..rng.usize(..100) {
                match rng.usize(..20) {
                    0..13 if growing && others.len() < 12_000 => {
                        others.push(fresh);
                        assert!(insert(&mut table, &make(fresh)));
                        fresh += 1;
                    }
                    13..16 if growing => {}
                    16 if table.len() > 20 => {
                        let mut popped = None;
                        table.remove_random(&mut rng, &HASHER, |member| popped = Some(member.to_vec()));
                        let popped = popped.expect("a member");
                        if staying.contains(&popped) {
                            insert(&mut table, &popped);
                            seen.insert(popped, 1);
                        }
                    }
                    _ if !others.is_empty() => {
                        let number = others.swap_remove(rng.usize(..others.len()));
                        remove(&mut table, &make(number));
                    }
                    _ => {}
                }
            }
            segments.insert(table.segments());
            if cursor == 0 {
                break;
            }
        }
        assert!(staying.iter().all(|member| seen.get(member).is_some_and(|&times| times >= 1)));
    }
    assert!(segments.first() == Some(&1) && segments.last() > Some(&3), "the table must grow and shrink: {segments:?}");
    check_shape(&table);
}

/// Chi-square over every member, against a bound that a fair draw passes all but once in 100,000 times.
fn assert_fair(table: &Table, rng: &mut fastrand::Rng) {
    let mut drawn: BTreeMap<Vec<u8>, f64> = table.iter().map(|member| (owned(member), 0.0)).collect();
    let mean = 30.0;
    for _ in 0..table.len() * 30 {
        let (_, member) = table.random(rng).expect("a member");
        *drawn.get_mut(&owned(member)).expect("a member of the table") += 1.0;
    }
    let chi_square: f64 = drawn.values().map(|count| (count - mean) * (count - mean) / mean).sum();
    let freedom = (table.len() - 1) as f64;
    assert!(chi_square < freedom + 4.3 * (2.0 * freedom).sqrt() + 12.0, "{chi_square} for {freedom}");
}

#[test]
fn draws_are_fair_in_any_shape() {
    let mut rng = fastrand::Rng::with_seed(5);
    for (_, make) in [KINDS[0], KINDS[2], KINDS[3]] {
        let mut table = Table::default();
        (0..9_000).for_each(|number| assert!(insert(&mut table, &make(number))));
        assert_fair(&table, &mut rng);
        compact(&mut table, 0.97);
        assert_fair(&table, &mut rng);
        // Sparse, with the segments of the full table.
        for number in 0..8_800 {
            remove(&mut table, &make(number));
        }
        assert_fair(&table, &mut rng);
        let tries = table.segments() * table.widest / table.len();
        assert!(tries <= 64, "{tries} tries for a draw");
        let mut left = table.len();
        while left > 0 {
            table.remove_random(&mut rng, &HASHER, |_| left -= 1);
        }
        assert_eq!(table.len(), 0);
    }
}

#[test]
fn what_was_frozen_does_not_change() {
    for (kind, make) in KINDS {
        let mut table = Table::default();
        (0..9_000).for_each(|number| assert!(insert(&mut table, &make(number))));
        let frozen = table.freeze();
        let copy = table.clone();
        assert!(copy.is(&table));
        (0..9_000).step_by(2).for_each(|number| assert!(remove(&mut table, &make(number))));
        (9_000..12_000).for_each(|number| assert!(insert(&mut table, &make(number))));
        assert!(!copy.is(&table));
        let expected: BTreeSet<Vec<u8>> = (0..9_000).map(make).collect();
        let shown: Vec<Vec<u8>> = (0..frozen.pieces()).flat_map(|piece| frozen.iter(piece).map(owned)).collect();
        assert_eq!(shown.len(), 9_000, "{kind}");
        assert_eq!(shown.into_iter().collect::<BTreeSet<_>>(), expected, "{kind}");
        assert_eq!(copy.iter().map(owned).collect::<BTreeSet<_>>(), expected, "{kind}");
        check_shape(&table);
        check_shape(&copy);
    }
}

#[test]
fn pages_of_segments_cover_everything() {
    let mut table = Table::default();
    (0..30_000).for_each(|number| assert!(insert(&mut table, &KINDS[0].1(number))));
    let (mut cursor, mut seen) = (0, BTreeSet::new());
    loop {
        let (page, next) = table.freeze_page(cursor, 5_000);
        let held: usize = (0..page.pieces()).map(|piece| page.len(piece)).sum();
        assert!(next == 0 || held >= 5_000);
        for piece in 0..page.pieces() {
            page.iter(piece).for_each(|member| assert!(seen.insert(owned(member))));
        }
        cursor = next;
        if cursor == 0 {
            break;
        }
    }
    assert_eq!(seen.len(), 30_000);
}

#[test]
fn two_tables_walked_side_by_side_agree_with_lookups() {
    // Of the same size, much smaller, much larger; compacted or not; with texts lying in different ways.
    for ((kind, make), others) in
        [(KINDS[0], 0..9_000), (KINDS[1], 1_000..1_300), (KINDS[4], 0..60_000), (KINDS[3], 500..40_000)]
    {
        let (mut one, mut other) = (Table::default(), Table::default());
        (0..9_000).for_each(|number| assert!(one.insert(&make(number), &HASHER)));
        others.clone().step_by(3).for_each(|number| assert!(other.insert(&make(number), &HASHER)));
        (0..500).for_each(|number| _ = other.insert(format!("another {number}").as_bytes(), &HASHER));
        for load in [None, Some(0.97)] {
            if let Some(load) = load {
                compact(&mut other, load);
            }
            for (walked, beside) in [(&one, &other), (&other, &one)] {
                let mut seen = 0;
                for piece in 0..walked.pieces() {
                    walked.piece_beside(piece, beside, &HASHER, |member, is_shared| {
                        seen += 1;
                        assert_eq!(is_shared, member.with_bytes(|bytes| beside.contains(bytes, &HASHER)), "{kind}");
                    });
                }
                assert_eq!(seen, walked.len());
            }
        }
    }
}
