//! Intersection, union and difference of sets in whatever forms.
//!
//! Results that may have to be looked up in again are built as a [`Set`], member by member from the empty one, so that
//! a stored result has the encoding it would have had by adding its members.

use std::ops::ControlFlow;
use std::ptr;

use crate::engine::hash::Hasher13;

use super::{Form, Member, Rules, Set};

/// What an intersection cost and found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Members shown.
    pub(crate) members: usize,
    /// Lookups of a member in a set.
    pub(crate) probes: usize,
}

/// Shows the members that all `sets` share to `visit`, at most `limit` of them, in the order of the smallest set.
/// Cost: at most one probe in each other set per member of the smallest; it ends with the last member shown.
pub(crate) fn intersect<'a>(
    sets: &[&'a Set],
    limit: usize,
    hasher: &Hasher13,
    mut visit: impl FnMut(Member<'a>),
) -> Tally {
    let mut tally = Tally::default();
    let mut by_size = sets.to_vec();
    by_size.sort_by_key(|set| set.len());
    by_size.dedup_by(|set, before| ptr::eq(*set, *before));
    let Some((smallest, others)) = by_size.split_first() else { return tally };
    if limit == 0 {
        return tally;
    }
    let _ = smallest.try_each(|member| {
        let shared = others.iter().all(|other| {
            tally.probes += 1;
            other.contains_member(member, hasher)
        });
        if shared {
            tally.members += 1;
            visit(member);
        }
        if tally.members == limit { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    tally
}

/// The members that all `sets` share, to be stored. Cost: as [`intersect`].
pub(crate) fn intersection(sets: &[&Set], rules: &Rules) -> Set {
    let mut shared = Vec::new();
    intersect(sets, usize::MAX, &rules.hasher, |member| shared.push(member));
    let led_by_ints = sets.iter().min_by_key(|set| set.len()).is_some_and(|set| matches!(set.0, Form::Ints(_)));
    let fits_ints = || shared.len() <= rules.limits.ints_max && shared.iter().all(|member| member.is_integer());
    // Redis's distinction, which shows where the packed form is allowed more members than the integers.
    let mut result = if led_by_ints || fits_ints() { Set::new() } else { Set::for_strings(shared.len(), rules) };
    shared.into_iter().for_each(|member| _ = result.insert_member(member, rules));
    result
}

/// The members of any of `sets`. Cost: one insertion per member, a copy for the largest when it is a large table.
pub(crate) fn unite(sets: &[&Set], rules: &Rules) -> Set {
    let largest = sets.iter().copied().filter(|set| is_surely_table(set, rules)).max_by_key(|set| set.len());
    let mut union = largest.map_or_else(Set::new, Set::clone);
    for set in sets {
        if largest.is_none_or(|largest| !ptr::eq(*set, largest)) {
            set.for_each(|member| _ = union.insert_member(member, rules));
        }
    }
    union
}

/// The members of `first` that are in none of `others`. Cost: the cheaper of probing every other set for each member of
/// `first`, and removing all others' members from a copy.
pub(crate) fn subtract(first: &Set, others: &[&Set], rules: &Rules) -> Set {
    if others.iter().any(|other| ptr::eq(*other, first)) {
        return Set::new();
    }
    // Redis's balance: a probe that hits ends its member's row, so half of the rows are expected. Encodings show it.
    let probing = first.len().saturating_mul(others.len() + 1) / 2;
    let removing = others.iter().map(|other| other.len()).sum::<usize>() + first.len();
    if probing <= removing {
        subtract_by_probing(first, others, rules)
    } else {
        subtract_by_removing(first, others, rules)
    }
}

fn subtract_by_probing(first: &Set, others: &[&Set], rules: &Rules) -> Set {
    let mut by_size = others.to_vec();
    // The largest is the likeliest to hold a member, and the first hit ends its row.
    by_size.sort_by_key(|set| std::cmp::Reverse(set.len()));
    let mut difference = Set::new();
    first.for_each(|member| {
        if !by_size.iter().any(|other| other.contains_member(member, &rules.hasher)) {
            difference.insert_member(member, rules);
        }
    });
    difference
}

fn subtract_by_removing(first: &Set, others: &[&Set], rules: &Rules) -> Set {
    let mut difference = unite(&[first], rules);
    for other in others {
        let _ = other.try_each(|member| {
            difference.remove_member(member, &rules.hasher);
            if difference.is_empty() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
    }
    difference
}

/// True when adding the set's members one by one to the empty set would end in a table as well.
fn is_surely_table(set: &Set, rules: &Rules) -> bool {
    matches!(set.0, Form::Table(_)) && set.len() > rules.limits.ints_max.max(rules.limits.packed_max)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::Limits;
    use super::super::tests::{FORMS, members_of, rules, set_of};
    use super::*;

    fn model(numbers: impl IntoIterator<Item = u32>) -> BTreeSet<Vec<u8>> {
        numbers.into_iter().map(|number| number.to_string().into_bytes()).collect()
    }

    fn shown(sets: &[&Set], limit: usize) -> Vec<Vec<u8>> {
        let mut shared = Vec::new();
        let tally = intersect(sets, limit, &rules().hasher, |member| shared.push(member.with_bytes(<[u8]>::to_vec)));
        assert_eq!(tally.members, shared.len());
        shared
    }

    #[test]
    fn results_agree_with_the_model_over_every_pair_of_forms() {
        let mut rng = fastrand::Rng::with_seed(11);
        for _ in 0..40 {
            let [a, b, c]: [BTreeSet<_>; 3] =
                std::array::from_fn(|_| model((0..rng.u32(1..90)).map(|_| rng.u32(0..120))));
            for one in FORMS {
                for other in FORMS {
                    let (x, y, z) = (set_of(&a, one), set_of(&b, other), set_of(&c, one));
                    let shared: BTreeSet<_> =
                        a.intersection(&b).filter(|member| c.contains(*member)).cloned().collect();
                    let found = shown(&[&x, &y, &z], usize::MAX);
                    assert_eq!((found.len(), found.into_iter().collect()), (shared.len(), shared.clone()));
                    assert_eq!(members_of(&intersection(&[&x, &y, &z], &rules())), shared);
                    let union: BTreeSet<_> = &(&a | &b) | &c;
                    assert_eq!(members_of(&unite(&[&x, &y, &z], &rules())), union);
                    let difference = &(&a - &b) - &c;
                    assert_eq!(members_of(&subtract(&x, &[&y, &z], &rules())), difference);
                    assert_eq!(members_of(&subtract_by_probing(&x, &[&y, &z], &rules())), difference);
                    assert_eq!(members_of(&subtract_by_removing(&x, &[&y, &z], &rules())), difference);
                }
            }
        }
    }

    #[test]
    fn a_set_met_twice_counts_once() {
        for form in FORMS {
            let set = set_of(&model(0..50), form);
            assert_eq!(shown(&[&set, &set], usize::MAX).len(), 50);
            assert_eq!(unite(&[&set, &set], &rules()).len(), 50);
            assert!(subtract(&set, &[&set], &rules()).is_empty());
            assert_eq!(subtract(&set, &[], &rules()).len(), 50);
        }
    }

    #[test]
    fn a_limit_ends_the_search() {
        let rules = rules();
        let (mut a, mut b) = (Set::new(), Set::new());
        for number in 0..1_000_000 {
            let member = format!("m{number}");
            a.insert(member.as_bytes(), &rules);
            b.insert(member.as_bytes(), &rules);
        }
        let tally = intersect(&[&a, &b], 10, &rules.hasher, |_| {});
        assert_eq!(tally.members, 10);
        assert!(tally.probes < 1000, "{} probes", tally.probes);
        assert_eq!(intersect(&[&a, &b], 0, &rules.hasher, |_| {}), Tally::default());
    }

    #[test]
    fn the_smallest_set_leads() {
        let (small, large) = (set_of(&model(0..5), FORMS[2]), set_of(&model(0..5000), FORMS[2]));
        let tally = intersect(&[&large, &small], usize::MAX, &rules().hasher, |_| {});
        assert_eq!(tally, Tally { members: 5, probes: 5 });
    }

    #[test]
    fn results_have_the_encoding_of_their_members() {
        let rules = rules();
        let ints = set_of(&model(0..20), FORMS[2]);
        assert_eq!(unite(&[&ints], &rules).encoding(), "intset");
        assert_eq!(unite(&[&ints, &set_of(&model(0..513), FORMS[2])], &rules).encoding(), "hashtable");
        let mut words = set_of(&model(0..100), FORMS[1]);
        words.insert(b"x", &rules);
        assert_eq!(unite(&[&words, &ints], &rules).encoding(), "listpack");
        assert_eq!(subtract(&words, &[], &rules).encoding(), "listpack");
        words.insert(&[b'l'; 65], &rules);
        assert_eq!(unite(&[&words], &rules).encoding(), "hashtable");
        assert_eq!(intersection(&[&ints, &ints], &rules).encoding(), "intset");
        let lowered = Rules { limits: Limits { ints_max: 5, ..rules.limits }, ..rules };
        assert_eq!(intersection(&[&ints, &ints], &lowered).encoding(), "listpack");
        assert_eq!(intersection(&[&ints, &set_of(&model(0..9), FORMS[0])], &lowered).encoding(), "hashtable");
        assert_eq!(unite(&[&ints], &lowered).encoding(), "hashtable");
        // What was removed from a copy leaves the copy's form behind, as in Redis.
        let large = set_of(&model(0..600), FORMS[2]);
        let (some, more) = (set_of(&model(0..100), FORMS[0]), set_of(&model(100..200), FORMS[0]));
        assert_eq!(subtract(&large, &[&some, &more], &rules).encoding(), "hashtable");
        assert_eq!(subtract(&large, &[&set_of(&model(0..200), FORMS[0])], &rules).encoding(), "intset");
    }
}
