//! How several sets become one: which operation, whether it is long, and how it is begun.

use std::ptr;

use smallvec::SmallVec;

use crate::engine::set::{Algebra, Rules, Set, intersection, subtract, unite};
use crate::limits::SET_MEMBERS_AT_ONCE_MAX;

/// Members of the smallest set looked up for each shared one, when sets share some: beyond that a limit does not make a
/// count short.
const PROBES_PER_SHARED: usize = 16;

/// How sets are put together.
#[derive(Debug, Clone, Copy)]
pub(super) enum Operation {
    Intersection,
    SharedCount { limit: usize },
    Union,
    Difference,
}

impl Operation {
    /// Whether more members have to be walked over than one command may.
    pub(super) fn is_long(self, sets: &[Option<&Set>]) -> bool {
        let lens = sets.iter().map(|set| set.map_or(0, Set::len));
        let found = sets.iter().flatten().count();
        let walked = match self {
            Operation::Intersection | Operation::SharedCount { .. } if sets.len() < 2 => 0,
            // An absent set makes it empty.
            Operation::Intersection => lens.min().unwrap_or(0),
            Operation::SharedCount { limit } => lens.min().unwrap_or(0).min(limit.saturating_mul(PROBES_PER_SHARED)),
            Operation::Union => lens.clone().sum::<usize>() - if found < 2 { lens.max().unwrap_or(0) } else { 0 },
            Operation::Difference if sets.first().is_none_or(Option::is_none) || found < 2 => 0,
            Operation::Difference => lens.sum(),
        };
        walked > SET_MEMBERS_AT_ONCE_MAX
    }

    /// What they make together.
    pub(super) fn at_once(self, sets: &[Option<&Set>], rules: &Rules) -> Set {
        let result = match self {
            Operation::Intersection | Operation::SharedCount { .. } => {
                all_there(sets).map(|sets| intersection(&sets, rules))
            }
            Operation::Union => Some(unite(&sets.iter().copied().flatten().collect::<SmallVec<[&Set; 8]>>(), rules)),
            Operation::Difference => minuend(sets).map(|(first, others)| subtract(first, &others, rules)),
        };
        result.unwrap_or_default()
    }

    /// Begins to put them together, from handles on them.
    pub(super) fn begin(self, sets: &[Option<&Set>], rules: Rules) -> Algebra<Set> {
        // A set met twice is one.
        let mut distinct: Vec<&Set> = Vec::new();
        for set in sets.iter().flatten() {
            if !distinct.iter().any(|other| ptr::eq(*other, *set)) {
                distinct.push(set);
            }
        }
        let owned = |sets: &[&Set]| sets.iter().map(|set| (*set).clone()).collect();
        match self {
            Operation::Intersection => Algebra::intersection(owned(&distinct), rules),
            Operation::SharedCount { limit } => Algebra::shared_count(owned(&distinct), limit, rules),
            Operation::Union => Algebra::union(owned(&distinct), rules),
            Operation::Difference => match (minuend(sets), &distinct[..]) {
                (Some((first, others)), [_, rest @ ..]) if !others.iter().any(|other| ptr::eq(*other, first)) => {
                    Algebra::difference(first.clone(), owned(rest), rules)
                }
                _ => Algebra::union(Vec::new(), rules),
            },
        }
    }
}

/// The sets, unless one is absent.
pub(super) fn all_there<'s>(sources: &[Option<&'s Set>]) -> Option<SmallVec<[&'s Set; 8]>> {
    sources.iter().copied().collect()
}

/// What is subtracted from, and what is subtracted; none when there is nothing to subtract from.
pub(super) fn minuend<'s>(sources: &[Option<&'s Set>]) -> Option<(&'s Set, SmallVec<[&'s Set; 8]>)> {
    let (first, others) = sources.split_first()?;
    Some(((*first)?, others.iter().copied().flatten().collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_subtracted_from_an_absent_set() {
        let (one, other) = (Set::new(), Set::new());
        assert!(minuend(&[None, Some(&one)]).is_none());
        assert!(minuend(&[]).is_none());
        let (first, others) = minuend(&[Some(&one), None, Some(&other)]).expect("a first set");
        assert!(std::ptr::eq(first, &one) && others.len() == 1);
    }
}
