//! The same facts over every form and across conversions, against an ordered set as the model.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::*;

/// A form to hold a set in, by force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Ints,
    Packed,
    Table,
}

pub(super) const FORMS: [Kind; 3] = [Kind::Ints, Kind::Packed, Kind::Table];

type Model = BTreeSet<Vec<u8>>;

pub(super) fn rules() -> Rules {
    Rules { limits: Limits::default(), hasher: Hasher13::new(7, 9) }
}

/// Rules under which no form is ever left, except the integers for a string.
fn endless() -> Rules {
    let limits = Limits { ints_max: usize::MAX, packed_max: usize::MAX, packed_member_bytes_max: usize::MAX };
    Rules { limits, ..rules() }
}

pub(super) fn set_of(members: &Model, kind: Kind) -> Set {
    let mut set = Set(match kind {
        Kind::Ints => Form::Ints(Ints::new()),
        Kind::Packed => Form::Packed(Packed::new()),
        Kind::Table => Form::Table(Box::default()),
    });
    for member in members {
        assert!(set.insert(member, &endless()));
    }
    set
}

pub(super) fn members_of(set: &Set) -> Model {
    let mut members = Model::new();
    set.each(&mut |member| assert!(members.insert(member.to_vec()), "shown twice"));
    assert_eq!(members.len(), set.len());
    assert_eq!(set.text_bytes(), members.iter().map(Vec::len).sum::<usize>());
    members
}

fn owned(member: Member<'_>) -> Vec<u8> {
    member.with_bytes(<[u8]>::to_vec)
}

fn numbers(range: std::ops::Range<u32>) -> Model {
    range.map(|number| number.to_string().into_bytes()).collect()
}

fn pop_one(set: &mut Set, model: &mut Model, rules: &Rules, rng: &mut fastrand::Rng) {
    match set.pop(rng, rules) {
        Some(popped) => assert!(model.remove(&popped)),
        None => assert!(model.is_empty()),
    }
}

/// What SADD does: a new set in the form for its arguments, or an old one prepared for them.
fn sadd(set: &mut Option<Set>, members: &[&str], rules: &Rules) -> &'static str {
    let set = set.get_or_insert_with(|| Set::for_members(members[0].as_bytes(), members.len(), rules));
    set.expect(members.len(), rules);
    for member in members {
        set.insert(member.as_bytes(), rules);
    }
    set.encoding()
}

#[test]
fn random_changes_agree_with_the_model_in_every_form() {
    for kind in FORMS {
        let mut rng = fastrand::Rng::with_seed(5);
        let (mut set, mut model, rules) = (set_of(&Model::new(), kind), Model::new(), endless());
        for step in 0..6000 {
            let member = rng.i32(-250..250).to_string().into_bytes();
            match rng.u32(0..10) {
                0..5 => assert_eq!(set.insert(&member, &rules), model.insert(member)),
                5..9 => assert_eq!(set.remove(&member, &rules.hasher), model.remove(&member)),
                _ => pop_one(&mut set, &mut model, &rules, &mut rng),
            }
            let probe = rng.i32(-250..250).to_string().into_bytes();
            assert_eq!(set.contains(&probe, &rules.hasher), model.contains(&probe));
            if step % 100 == 0 {
                assert_eq!(members_of(&set), model, "{kind:?}");
            }
        }
    }
}

#[test]
fn random_changes_agree_with_the_model_across_conversions() {
    let hasher = rules().hasher;
    for seed in 0..60 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let limits = Limits {
            ints_max: rng.usize(0..40),
            packed_max: rng.usize(0..40),
            packed_member_bytes_max: rng.usize(0..12),
        };
        let (mut set, mut model, rules) = (Set::new(), Model::new(), Rules { limits, hasher });
        let strings = rng.u32(0..4);
        for _ in 0..400 {
            let mut member = rng.i64(-5000..5000).to_string().into_bytes();
            if rng.u32(0..4) < strings {
                member.splice(0..0, (0..rng.usize(0..30)).map(|_| b'0'));
            }
            match rng.u32(0..20) {
                0 => pop_one(&mut set, &mut model, &rules, &mut rng),
                1 => {
                    let popped = members_of(&set.pop_many(rng.usize(0..4) * model.len() / 4, &mut rng, &rules));
                    assert!(popped.is_subset(&model));
                    model.retain(|member| !popped.contains(member));
                }
                2..7 => assert_eq!(set.remove(&member, &hasher), model.remove(&member)),
                _ => assert_eq!(set.insert(&member, &rules), model.insert(member)),
            }
        }
        assert_eq!(members_of(&set), model);
        for member in &model {
            assert!(set.contains(member, &hasher));
        }
    }
}

#[test]
fn number_like_members_stay_distinct_in_both_orders_and_after_conversion() {
    const TEXTS: [&str; 12] = [
        "1",
        "01",
        "+1",
        "-0",
        "0",
        "1.0",
        " 1",
        "-1",
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775808",
        "00",
    ];
    let rules = rules();
    let model: Model = TEXTS.iter().map(|text| text.as_bytes().to_vec()).collect();
    let mut reversed = TEXTS;
    reversed.reverse();
    for order in [TEXTS, reversed] {
        for prefill in [0, 127, 300, 1000] {
            let mut set = set_of(&numbers(10..10 + prefill), Kind::Ints);
            for text in order {
                assert!(set.insert(text.as_bytes(), &rules), "{text}");
                assert!(!set.insert(text.as_bytes(), &rules), "{text} again");
            }
            assert_eq!(members_of(&set), &numbers(10..10 + prefill) | &model);
            for text in order {
                assert!(set.remove(text.as_bytes(), &rules.hasher), "{text}");
                assert!(!set.contains(text.as_bytes(), &rules.hasher));
            }
            assert_eq!(set.len(), prefill as usize);
        }
    }
}

#[test]
fn encodings_change_where_redis_changes_them() {
    let rules = rules();
    let ints: Vec<String> = (0..600).map(|number| number.to_string()).collect();
    let ints: Vec<&str> = ints.iter().map(String::as_str).collect();
    let words: Vec<String> = (0..200).map(|number| format!("s{number}")).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let long = "x".repeat(65);
    let one_by_one = |members: &[&str]| {
        let mut set = None;
        members.iter().map(|member| sadd(&mut set, &[member], &rules)).last().unwrap_or("none")
    };
    for len in [511, 512, 513] {
        let expected = if len <= 512 { "intset" } else { "hashtable" };
        assert_eq!((sadd(&mut None, &ints[..len], &rules), one_by_one(&ints[..len])), (expected, expected));
    }
    for len in [127, 128, 129] {
        let expected = if len <= 128 { "listpack" } else { "hashtable" };
        assert_eq!((sadd(&mut None, &words[..len], &rules), one_by_one(&words[..len])), (expected, expected));
        let expected = if len < 128 { "listpack" } else { "hashtable" };
        let mut mixed = ints[..len].to_vec();
        mixed.push("x");
        assert_eq!((sadd(&mut None, &mixed, &rules), one_by_one(&mixed)), (expected, expected), "{len}");
        mixed.rotate_right(1);
        assert_eq!((sadd(&mut None, &mixed, &rules), one_by_one(&mixed)), (expected, expected), "{len}");
    }
    assert_eq!(one_by_one(&["1", &long[1..]]), "listpack");
    assert_eq!(one_by_one(&["1", &long]), "hashtable");
    assert_eq!(one_by_one(&["y", &long]), "hashtable");
    // Duplicates count towards what a command announces.
    assert_eq!(sadd(&mut None, &["x"; 129], &rules), "hashtable");
    assert_eq!(sadd(&mut None, &["x"; 128], &rules), "listpack");
    for (first, then, expected) in [
        ("1", vec!["1"; 512], "intset"),
        ("1", vec!["1"; 513], "hashtable"),
        ("1", [vec!["1"; 200], vec!["x"]].concat(), "listpack"),
        ("x", vec!["x"; 128], "listpack"),
        ("x", vec!["x"; 129], "hashtable"),
    ] {
        let mut set = None;
        sadd(&mut set, &[first], &rules);
        assert_eq!(sadd(&mut set, &then, &rules), expected, "{first} then {}", then.len());
    }
}

#[test]
fn encodings_under_other_limits_are_those_of_redis() {
    let under = |ints_max, packed_max, packed_member_bytes_max| Rules {
        limits: Limits { ints_max, packed_max, packed_member_bytes_max },
        ..rules()
    };
    let four = ["1000", "1001", "1002", "1003"];
    // What SADD of all, SADD of each, and then one more `x` make of four integers.
    for (limits, expected) in [
        (under(0, 128, 64), ["listpack", "listpack", "listpack"]),
        (under(0, 0, 64), ["hashtable", "hashtable", "hashtable"]),
        (under(512, 0, 64), ["intset", "intset", "hashtable"]),
        (under(512, 128, 0), ["intset", "intset", "hashtable"]),
        (under(5, 10, 3), ["intset", "intset", "hashtable"]),
        (under(512, 600, 64), ["intset", "intset", "listpack"]),
        (under(3, 128, 64), ["listpack", "hashtable", "hashtable"]),
    ] {
        let mut each = None;
        let all = sadd(&mut None, &four, &limits);
        let one_by_one = four.iter().map(|member| sadd(&mut each, &[member], &limits)).last().unwrap_or("none");
        assert_eq!([all, one_by_one, sadd(&mut each, &["x"], &limits)], expected, "{:?}", limits.limits);
    }
    // Lowered limits convert nothing until a member is new.
    let mut set = Some(set_of(&numbers(0..100), Kind::Ints));
    assert_eq!(sadd(&mut set, &["1"], &under(50, 128, 64)), "intset");
    assert_eq!(sadd(&mut set, &["1000"], &under(50, 128, 64)), "hashtable");
    let mut set = Some(set_of(&numbers(0..100), Kind::Packed));
    assert_eq!(sadd(&mut set, &["1"], &under(512, 50, 64)), "listpack");
    assert_eq!(sadd(&mut set, &["1000"], &under(512, 50, 64)), "hashtable");
}

#[test]
fn popping_nearly_all_packs_a_table_and_nothing_else_converts() {
    let rules = rules();
    let pop = |kind, len, stay| {
        let mut set = set_of(&numbers(0..len), kind);
        let popped = set.pop_many((len - stay) as usize, &mut fastrand::Rng::with_seed(1), &rules);
        assert_eq!((set.len(), popped.len()), (stay as usize, (len - stay) as usize));
        assert_eq!(&members_of(&set) | &members_of(&popped), numbers(0..len));
        set.encoding()
    };
    for (kind, len, stay, expected) in [
        (Kind::Table, 2000, 333, "hashtable"),
        (Kind::Table, 2000, 129, "hashtable"),
        (Kind::Table, 2000, 128, "listpack"),
        (Kind::Table, 600, 100, "listpack"),
        (Kind::Table, 600, 101, "hashtable"),
        (Kind::Ints, 500, 10, "intset"),
        (Kind::Packed, 100, 1, "listpack"),
    ] {
        assert_eq!(pop(kind, len, stay), expected, "{kind:?} {len} {stay}");
    }
    let mut set = set_of(&numbers(0..50), Kind::Ints);
    let lowered = Rules { limits: Limits { ints_max: 3, ..Limits::default() }, ..rules };
    set.pop_many(45, &mut fastrand::Rng::with_seed(1), &lowered);
    assert_eq!(set.encoding(), "hashtable");
    let mut set = set_of(&numbers(0..600), Kind::Table);
    for number in 5..600 {
        set.remove(number.to_string().as_bytes(), &rules.hasher);
    }
    assert_eq!(set.encoding(), "hashtable");
    assert_eq!(members_of(&set.pop_many(9, &mut fastrand::Rng::new(), &rules)), numbers(0..5));
    assert!(set.is_empty());
}

/// Asserts that counts of equally likely outcomes are believable, p > 0.00001. `spread` is the variance of one count
/// against its mean: 1 when every draw is independent.
fn assert_uniform(counts: impl Iterator<Item = u64>, cells: usize, spread: f64, what: &str) {
    let counts: Vec<f64> = counts.map(|count| count as f64).collect();
    let mean = counts.iter().sum::<f64>() / cells as f64;
    let missing = (cells - counts.len()) as f64 * mean * mean;
    let chi = (counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() + missing) / mean / spread;
    // Wilson and Hilferty's cube: chi-square's quantile from the normal one, 4.265 for 0.00001.
    let freedom = cells as f64 - 1.0;
    let bound = |z: f64| freedom * (1.0 - 2.0 / (9.0 * freedom) + z * (2.0 / (9.0 * freedom)).sqrt()).powi(3);
    assert!(chi < bound(4.265), "{what}: {chi} for {cells} cells");
    assert!(chi > bound(-4.265), "{what}: {chi} for {cells} cells is too even");
}

/// Runs `body` over sets in every form, grown whole and left over from one a hundred times as large.
fn over_fillings(sizes: &[u32], mut body: impl FnMut(&Set, usize, &str, &mut fastrand::Rng)) {
    let mut rng = fastrand::Rng::with_seed(42);
    for kind in FORMS {
        for &size in sizes {
            let grown = set_of(&numbers(0..size), kind);
            body(&grown, size as usize, &format!("{kind:?} {size}"), &mut rng);
            if kind == Kind::Table && size <= 1000 {
                let mut sparse = set_of(&numbers(0..size * 100), kind);
                for number in size..size * 100 {
                    sparse.remove(number.to_string().as_bytes(), &rules().hasher);
                }
                body(&sparse, size as usize, &format!("{kind:?} {size} after deleting 99 %"), &mut rng);
            }
        }
    }
}

#[test]
fn single_picks_are_uniform() {
    over_fillings(&[10, 100, 1000], |set, size, what, rng| {
        let (mut random, mut sampled) = (HashMap::new(), HashMap::new());
        for _ in 0..size * 30 {
            let member = set.random(rng).map(owned).expect("members");
            *random.entry(member).or_insert(0) += 1;
            set.sample(1, rng, |member| *sampled.entry(owned(member)).or_insert(0) += 1);
        }
        assert_uniform(random.into_values(), size, 1.0, &format!("{what} random"));
        assert_uniform(sampled.into_values(), size, 1.0, &format!("{what} sample of one"));
    });
}

#[test]
fn large_samples_are_uniform() {
    over_fillings(&[10, 100, 10_000], |set, size, what, rng| {
        for part in [10, 4, 2] {
            let (mut counts, count) = (HashMap::new(), size / part);
            for _ in 0..(40 * part).max(2000 / size) {
                set.sample(count, rng, |member| *counts.entry(owned(member)).or_insert(0) += 1);
            }
            let spread = (1.0 - count as f64 / size as f64) * size as f64 / (size as f64 - 1.0);
            assert_uniform(counts.into_values(), size, spread, &format!("{what} sample of {count}"));
        }
    });
}

#[test]
fn what_a_sample_of_all_but_one_leaves_out_is_uniform() {
    over_fillings(&[10, 100], |set, size, what, rng| {
        let (all, mut left_out) = (members_of(set), HashMap::new());
        for _ in 0..size * 20 {
            let mut missing = all.clone();
            set.sample(size - 1, rng, |member| assert!(missing.remove(&owned(member))));
            assert_eq!(missing.len(), 1);
            *left_out.entry(missing).or_insert(0) += 1;
        }
        assert_uniform(left_out.into_values(), size, 1.0, what);
    });
}

#[test]
fn every_pair_is_as_likely_as_any_other_to_be_sampled_or_popped() {
    for kind in FORMS {
        // In a table, six members exercise the draws one by one, five the choice in one walk.
        for size in [5, 6] {
            let pairs = size * (size - 1) / 2;
            let (mut rng, mut sampled, mut popped) = (fastrand::Rng::with_seed(8), BTreeMap::new(), BTreeMap::new());
            let set = set_of(&numbers(0..size), kind);
            for _ in 0..pairs * 200 {
                let mut pair = Model::new();
                set.sample(2, &mut rng, |member| assert!(pair.insert(owned(member))));
                *sampled.entry(pair).or_insert(0) += 1;
                let pair = members_of(&set.clone().pop_many(2, &mut rng, &rules()));
                *popped.entry(pair).or_insert(0) += 1;
            }
            assert_uniform(sampled.into_values(), pairs as usize, 1.0, &format!("{kind:?} sampled from {size}"));
            assert_uniform(popped.into_values(), pairs as usize, 1.0, &format!("{kind:?} popped from {size}"));
        }
    }
}

#[test]
fn pops_are_uniform_however_many_are_taken() {
    over_fillings(&[10, 100], |set, size, what, rng| {
        for count in [1, size / 2, size - 1] {
            let mut counts = HashMap::new();
            for _ in 0..2000 {
                let mut set = set.clone();
                let popped = match count {
                    1 => Model::from([set.pop(rng, &rules()).expect("members")]),
                    count => members_of(&set.pop_many(count, rng, &rules())),
                };
                assert_eq!((popped.len(), set.len()), (count, size - count));
                popped.into_iter().for_each(|member| *counts.entry(member).or_insert(0) += 1);
            }
            let spread = (1.0 - count as f64 / size as f64) * size as f64 / (size as f64 - 1.0);
            assert_uniform(counts.into_values(), size, spread, &format!("{what} pop of {count}"));
        }
    });
}

#[test]
fn samples_of_all_and_more_show_every_member_once() {
    over_fillings(&[1, 10, 500], |set, size, _, rng| {
        for count in [size, size + 1, usize::MAX] {
            let mut shown = Model::new();
            set.sample(count, rng, |member| assert!(shown.insert(owned(member))));
            assert_eq!(shown.len(), size);
        }
    });
}

#[test]
fn a_scan_at_rest_shows_everything_once_in_bounded_pages() {
    let hasher = rules().hasher;
    for kind in FORMS {
        for size in [0, 1, 10, 128, 129, 1000, 5000] {
            let (model, count_hints) = (numbers(0..size), [1, 5, 64, 100, usize::MAX]);
            let set = set_of(&model, kind);
            for count in count_hints {
                let (mut cursor, mut seen) = (0, Model::new());
                loop {
                    let mut page = 0;
                    cursor = set.page(cursor, count, &hasher, |member| {
                        page += 1;
                        assert!(seen.insert(owned(member)), "twice");
                    });
                    assert!(page <= count.saturating_mul(2).max(128), "{page} members for COUNT {count}");
                    assert!(cursor < 1 << 63);
                    if cursor == 0 {
                        break;
                    }
                }
                assert_eq!(seen, model, "{kind:?} {size} {count}");
            }
        }
    }
}

#[test]
fn any_cursor_is_answered_with_a_bounded_page() {
    let mut rng = fastrand::Rng::with_seed(4);
    for kind in FORMS {
        let set = set_of(&numbers(0..3000), kind);
        for cursor in [1, u64::MAX, 1 << 62, (1 << 62) - 1, 1 << 63].into_iter().chain((0..200).map(|_| rng.u64(..))) {
            let mut page = 0;
            set.page(cursor, 10, &rules().hasher, |_| page += 1);
            assert!(page <= 128);
        }
    }
}

/// Members that stay are seen, whatever happens between two pages.
#[test]
fn scans_never_miss_a_member_that_stays() {
    let rules = Rules { limits: Limits { ints_max: 400, packed_max: 200, packed_member_bytes_max: 8 }, ..rules() };
    let mut rng = fastrand::Rng::with_seed(2024);
    let (mut rounds, mut conversions) = (0, 0);
    while rounds < 10_000 {
        let kind = FORMS[rng.usize(..3)];
        let mut set = set_of(&numbers(0..rng.u32(255..390)), kind);
        let mut fixed: Model = (0..20).map(|_| rng.u32(0..255).to_string().into_bytes()).collect();
        let (mut cursor, mut seen, count) = (0, Model::new(), rng.usize(1..24));
        loop {
            rounds += 1;
            cursor = set.page(cursor, count, &rules.hasher, |member| _ = seen.insert(owned(member)));
            if cursor == 0 {
                break;
            }
            let before = set.encoding();
            change(&mut set, &mut fixed, &rules, &mut rng);
            conversions += usize::from(set.encoding() != before);
        }
        assert!(fixed.is_subset(&seen), "missed {:?}", fixed.difference(&seen).collect::<Vec<_>>());
    }
    assert!(conversions > 100, "{conversions} conversions");
}

/// Grows, shrinks or pops; fixed members that a pop takes are no longer expected.
fn change(set: &mut Set, fixed: &mut Model, rules: &Rules, rng: &mut fastrand::Rng) {
    match rng.u32(0..12) {
        0..4 => {
            for _ in 0..rng.u32(1..60) {
                set.insert(rng.u32(0..2000).to_string().as_bytes(), rules);
            }
        }
        4 => _ = set.insert(format!("word-{}", rng.u8(..)).as_bytes(), rules),
        5..9 => {
            for _ in 0..rng.u32(1..60) {
                let member = rng.u32(0..2000).to_string().into_bytes();
                if !fixed.contains(&member) {
                    set.remove(&member, &rules.hasher);
                }
            }
        }
        9..11 => {
            let popped = set.pop(rng, rules);
            popped.map(|popped| fixed.remove(&popped));
        }
        _ => {
            let count = rng.usize(0..=set.len());
            set.pop_many(count, rng, rules).each(&mut |popped| _ = fixed.remove(popped));
        }
    }
}
