//! Intersection, union and difference of sets in whatever forms.
//!
//! Results that may have to be looked up in again are built as a [`Set`], member by member from the empty one, so that
//! a stored result has the encoding it would have had by adding its members.

use std::borrow::Borrow;
use std::cell::LazyCell;
use std::cmp::Reverse;
use std::ops::ControlFlow;
use std::ptr;

use crate::engine::hash::Hasher13;

use super::packed::Packed;
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
        let hash = LazyCell::new(|| member.hash(hasher));
        let shared = others.iter().all(|other| {
            tally.probes += 1;
            other.contains_member(member, || *hash)
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
    Algebra::intersection(sets.to_vec(), *rules).run()
}

/// The members of any of `sets`. Cost: one insertion per member, a copy for the largest when it is a large table.
pub(crate) fn unite(sets: &[&Set], rules: &Rules) -> Set {
    Algebra::union(sets.to_vec(), *rules).run()
}

/// The members of `first` that are in none of `others`. Cost: the cheaper of probing every other set for each member of
/// `first`, and removing all others' members from a copy.
pub(crate) fn subtract(first: &Set, others: &[&Set], rules: &Rules) -> Set {
    if others.iter().any(|other| ptr::eq(*other, first)) {
        return Set::new();
    }
    Algebra::difference(first, others.to_vec(), *rules).run()
}

/// Sets being put together, piece by piece.
#[derive(Debug)]
pub(crate) struct Algebra<S> {
    sets: Vec<S>,
    /// What is done to the members of the set walked over, and of each one after it.
    acts: Vec<Act>,
    /// The piece of the first set still to be walked over.
    piece: usize,
    walked: usize,
    result: Gathered,
    rules: Rules,
}

/// What is done with each member of a set that is walked over.
#[derive(Debug, Clone, Copy)]
enum Act {
    Add,
    AddIfInAllOthers,
    AddIfInNoOther,
    Remove,
    /// Its members are only looked up.
    Pass,
}

impl<S: Borrow<Set>> Algebra<S> {
    /// The members that all `sets` share.
    pub(crate) fn intersection(mut sets: Vec<S>, rules: Rules) -> Self {
        sets.sort_by_key(|set| set.borrow().len());
        sets.dedup_by(|set, before| ptr::eq::<Set>((*set).borrow(), (*before).borrow()));
        let led_by_ints = sets.first().is_some_and(|set| matches!(set.borrow().0, Form::Ints(_)));
        let result = if led_by_ints { Gathered::Set(Set::new()) } else { Gathered::Batch(Packed::new()) };
        Algebra::new(sets, vec![Act::AddIfInAllOthers], result, rules)
    }

    /// How many members all `sets` share, counted up to `limit`.
    pub(crate) fn shared_count(sets: Vec<S>, limit: usize, rules: Rules) -> Self {
        let mut count = Algebra::intersection(sets, rules);
        count.result = Gathered::Count { members: 0, limit };
        count
    }

    /// The members of any of `sets`.
    pub(crate) fn union(mut sets: Vec<S>, rules: Rules) -> Self {
        let tables = sets.iter().enumerate().filter(|(_, set)| is_surely_table((*set).borrow(), &rules));
        let largest = tables.max_by_key(|(_, set)| (*set).borrow().len()).map(|(at, _)| at);
        let largest = largest.map(|at| sets.swap_remove(at));
        let result = largest.map_or_else(Set::new, |largest| largest.borrow().clone());
        let acts = vec![Act::Add; sets.len()];
        Algebra::new(sets, acts, Gathered::Set(result), rules)
    }

    /// The members of `first` that are in none of `others`.
    pub(crate) fn difference(first: S, mut others: Vec<S>, rules: Rules) -> Self {
        let len = |set: &S| set.borrow().len();
        // Redis's balance: a probe that hits ends its member's row, so half of the rows are expected. Encodings show it.
        let probing = len(&first).saturating_mul(others.len() + 1) / 2;
        let removing = others.iter().map(len).sum::<usize>() + len(&first);
        if probing <= removing {
            // The largest is the likeliest to hold a member, and the first hit ends its row.
            others.sort_by_key(|set| Reverse(len(set)));
            others.insert(0, first);
            return Algebra::new(others, vec![Act::AddIfInNoOther], Gathered::Set(Set::new()), rules);
        }
        let (result, begin) = match is_surely_table(first.borrow(), &rules) {
            true => (first.borrow().clone(), Act::Pass),
            false => (Set::new(), Act::Add),
        };
        let acts = std::iter::once(begin).chain(others.iter().map(|_| Act::Remove)).collect();
        others.insert(0, first);
        Algebra::new(others, acts, Gathered::Set(result), rules)
    }

    fn new(sets: Vec<S>, acts: Vec<Act>, result: Gathered, rules: Rules) -> Self {
        Algebra { sets, acts, piece: 0, walked: 0, result, rules }
    }

    /// Walks over about `members` members. True at the end: then the result can be taken.
    pub(crate) fn advance(&mut self, members: usize) -> bool {
        let mut seen = 0;
        while let Some(act) = self.acts.get(self.walked)
            && !self.result.is_final(*act)
        {
            let Some(set) = self.sets.get(self.walked).map(Borrow::borrow) else { return true };
            if self.piece == set.pieces() || matches!(act, Act::Pass) {
                (self.walked, self.piece) = (self.walked + 1, 0);
                continue;
            }
            if seen >= members {
                return false;
            }
            let others = self.sets[self.walked + 1..].iter().map(Borrow::borrow);
            let mut judge = Judge { act: *act, others, result: &mut self.result, rules: &self.rules };
            seen += judge.judge(set, self.piece);
            // An empty piece is some work, too.
            seen += 1;
            self.piece += 1;
        }
        true
    }

    /// What came of it, once [`Algebra::advance`] has told of the end.
    pub(crate) fn take_result(&mut self) -> Set {
        std::mem::take(&mut self.result).into_set(&self.rules)
    }

    /// How many members were found, once [`Algebra::advance`] has told of the end of a count.
    pub(crate) fn count(&self) -> usize {
        match &self.result {
            Gathered::Set(set) => set.len(),
            Gathered::Batch(batch) => batch.len(),
            Gathered::Count { members, .. } => *members,
        }
    }

    /// The sets it reads and the one it has made so far.
    pub(crate) fn into_sets(self) -> (Vec<S>, Set) {
        (self.sets, self.result.into_set(&self.rules))
    }

    fn run(mut self) -> Set {
        while !self.advance(usize::MAX) {}
        self.take_result()
    }
}

/// Does with members of the set walked over what is to be done with each.
struct Judge<'a, O> {
    act: Act,
    others: O,
    result: &'a mut Gathered,
    rules: &'a Rules,
}

impl<'o, O: Iterator<Item = &'o Set> + Clone> Judge<'_, O> {
    /// Goes over one piece of a set; answers how many members it has.
    fn judge(&mut self, set: &Set, piece: usize) -> usize {
        let mut seen = 0;
        let looks = matches!(self.act, Act::AddIfInAllOthers | Act::AddIfInNoOther);
        let mut rest = self.others.clone();
        let beside = rest.next().filter(|_| looks).is_some_and(|first| {
            // Two tables are walked side by side, for both have the order of hashes.
            set.piece_beside(piece, first, &self.rules.hasher, |member, is_shared| {
                seen += 1;
                self.take(member, rest.clone(), Some(is_shared));
            })
        });
        if !beside {
            let others = self.others.clone();
            set.piece(piece, |member| {
                seen += 1;
                self.take(member, others.clone(), None);
            });
        }
        seen
    }

    /// `others` are those of which it is not known whether they hold the member; of one more it is where `known` tells.
    fn take(&mut self, member: Member<'_>, mut others: impl Iterator<Item = &'o Set>, known: Option<bool>) {
        let hash = LazyCell::new(|| member.hash(&self.rules.hasher));
        let holds = |set: &Set| set.contains_member(member, || *hash);
        match self.act {
            Act::Add => self.result.add(member, self.rules),
            Act::AddIfInAllOthers if known.unwrap_or(true) && others.all(holds) => self.result.add(member, self.rules),
            Act::AddIfInNoOther if !known.unwrap_or(false) && !others.any(holds) => self.result.add(member, self.rules),
            Act::Remove => self.result.remove(member, self.rules),
            Act::AddIfInAllOthers | Act::AddIfInNoOther | Act::Pass => {}
        }
    }
}

/// Members of a set to be. An intersection has the form it would have had if all its members were known at the start:
/// Redis's distinction, which shows where the packed form is allowed more members than the integers.
#[derive(Debug)]
enum Gathered {
    /// In the set already.
    Set(Set),
    /// Fewer than decide about the form.
    Batch(Packed),
    /// Only counted.
    Count { members: usize, limit: usize },
}

impl Default for Gathered {
    fn default() -> Self {
        Gathered::Set(Set::new())
    }
}

impl Gathered {
    fn add(&mut self, member: Member<'_>, rules: &Rules) {
        match self {
            Gathered::Set(set) => _ = set.insert_member(member, rules),
            Gathered::Batch(batch) => {
                member.with_bytes(|bytes| batch.push_to_batch(bytes));
                if batch.len() > rules.limits.ints_max.max(rules.limits.packed_max) {
                    *self = Gathered::Set(std::mem::take(self).into_set(rules));
                }
            }
            Gathered::Count { members, limit } => *members += usize::from(members < limit),
        }
    }

    /// Whether nothing can change it any more.
    fn is_final(&self, act: Act) -> bool {
        match self {
            Gathered::Set(set) => matches!(act, Act::Remove) && set.is_empty(),
            Gathered::Batch(_) => false,
            Gathered::Count { members, limit } => members == limit,
        }
    }

    fn remove(&mut self, member: Member<'_>, rules: &Rules) {
        if let Gathered::Set(set) = self {
            set.remove_member(member, &rules.hasher);
        }
    }

    fn into_set(self, rules: &Rules) -> Set {
        match self {
            Gathered::Set(set) => set,
            Gathered::Count { .. } => Set::new(),
            Gathered::Batch(batch) => {
                let are_ints = || batch.iter().all(|member| Member::Bytes(member).is_integer());
                let fits_ints = batch.len() <= rules.limits.ints_max && are_ints();
                let mut set = if fits_ints { Set::new() } else { Set::for_strings(batch.len(), rules) };
                batch.iter().for_each(|member| _ = set.insert(member, rules));
                set
            }
        }
    }
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
    fn long_algebra_ends_in_bounded_slices_with_the_same_result() {
        let (a, b) = (set_of(&model(0..20_000), FORMS[2]), set_of(&model(10_000..30_000), FORMS[2]));
        let rules = rules();
        let whole = [intersection(&[&a, &b], &rules), unite(&[&a, &b], &rules), subtract(&a, &[&b], &rules)];
        let sliced = [
            (Algebra::intersection(vec![a.clone(), b.clone()], rules), 20_000),
            (Algebra::union(vec![a.clone(), b.clone()], rules), 20_000),
            (Algebra::difference(a.clone(), vec![b.clone()], rules), 20_000),
        ];
        for ((mut algebra, walked), whole) in sliced.into_iter().zip(whole) {
            let mut slices = 1;
            while !algebra.advance(512) {
                slices += 1;
            }
            // A slice ends with the segment in which it is full.
            assert!((walked / (512 + 448)..=walked / 512 + 1).contains(&slices), "{slices} slices");
            assert_eq!(members_of(&algebra.take_result()), members_of(&whole));
        }
        let mut count = Algebra::shared_count(vec![a, b], 7, rules);
        assert!(count.advance(512), "a limit ends the walk");
        assert_eq!(count.count(), 7);
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
