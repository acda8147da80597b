//! Random members: one, several distinct ones, taken out or left in.
//!
//! Every member is as likely as any other, in every form and at every filling of a table; the order in which several
//! are shown is not random.

use std::ops::ControlFlow;

use hashbrown::HashSet;

use super::ints::Ints;
use super::packed::Packed;
use super::{Form, Member, Rules, Set};
use crate::limits::DRAWS_AT_ONCE_MAX;

/// Several members are drawn one by one as long as they are at most a third of the table: some draws then repeat, but
/// fewer than a walk over the whole would cost.
const DRAWN_PART: usize = 3;

/// A pop that leaves at most this part of what it takes moves what stays: Redis's number, which OBJECT ENCODING shows.
const KEPT_PART: usize = 5;

impl Set {
    /// A member drawn uniformly; none when the set is empty. O(1), O(n) when packed.
    pub(crate) fn random(&self, rng: &mut fastrand::Rng) -> Option<Member<'_>> {
        if self.is_empty() {
            return None;
        }
        match &self.0 {
            Form::Ints(ints) => Some(Member::Integer(ints.get(rng.usize(..ints.len())))),
            Form::Packed(packed) => packed.get(rng.usize(..packed.len())).map(Member::Bytes),
            Form::Table(table) => table.random(rng).map(|(_, member)| member),
        }
    }

    /// Shows `count` distinct members drawn uniformly to `visit`, or all when there are no more.
    /// O(count) in a table while `count` is small against it, else O(n).
    pub(crate) fn sample<'a>(&'a self, count: usize, rng: &mut fastrand::Rng, mut visit: impl FnMut(Member<'a>)) {
        match &self.0 {
            Form::Table(table) if count.saturating_mul(DRAWN_PART) <= table.len() => {
                let mut seen = HashSet::with_capacity(count);
                while seen.len() < count {
                    let Some((place, member)) = table.random(rng) else { return };
                    if seen.insert(place) {
                        visit(member);
                    }
                }
            }
            Form::Ints(_) | Form::Packed(_) | Form::Table(_) => {
                let mut choice = Choice { wanted: count.min(self.len()), left: self.len() };
                let _ = self.try_each(|member| {
                    if choice.next(rng) {
                        visit(member);
                    }
                    if choice.wanted == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                });
            }
        }
    }

    /// Takes out one member drawn uniformly; none when the set is empty. O(1) in a table, else O(n).
    pub(crate) fn pop(&mut self, rng: &mut fastrand::Rng, rules: &Rules) -> Option<Vec<u8>> {
        if let Form::Table(table) = &mut self.0 {
            let mut popped = None;
            table.remove_random(rng, &rules.hasher, |member| popped = Some(member.to_vec()));
            return popped;
        }
        let popped = self.random(rng)?.with_bytes(<[u8]>::to_vec);
        self.remove(&popped, &rules.hasher);
        Some(popped)
    }

    /// Takes out `count` distinct members drawn uniformly, or all when there are no more. What is answered is for
    /// reading only: its form need not respect the limits.
    ///
    /// When few members stay (a fifth of those taken), they move to a new set and the old one is the answer; a table
    /// then becomes packed where that fits. O(min(count, members that stay)) in a table, else O(n).
    pub(crate) fn pop_many(&mut self, count: usize, rng: &mut fastrand::Rng, rules: &Rules) -> Set {
        if count >= self.len() {
            return std::mem::take(self);
        }
        let stay = self.len() - count;
        let few_stay = stay.saturating_mul(KEPT_PART) <= count;
        let mut choice = Choice { wanted: count, left: self.len() };
        let popped = match &mut self.0 {
            Form::Ints(ints) => {
                let mut popped = Ints::new();
                ints.retain(|value| !(choice.next(rng) && popped.insert(value)));
                Set(Form::Ints(popped))
            }
            Form::Packed(packed) => {
                let (mut kept, mut popped) = (Packed::new(), Packed::new());
                for member in packed.iter() {
                    if choice.next(rng) { popped.push_to_batch(member) } else { kept.push(member) }
                }
                *packed = kept;
                Set(Form::Packed(popped))
            }
            Form::Table(_) if few_stay => {
                let mut kept = Set::for_strings(stay, rules);
                self.sample(stay, rng, |member| assert!(kept.insert_member(member, rules)));
                kept.for_each(|member| assert!(self.remove_member(member, &rules.hasher)));
                return std::mem::replace(self, kept);
            }
            Form::Table(table) => {
                let mut popped = Packed::new();
                for _ in 0..count {
                    table.remove_random(rng, &rules.hasher, |member| popped.push_to_batch(member));
                }
                Set(Form::Packed(popped))
            }
        };
        if few_stay {
            self.respect(rules);
        }
        popped
    }

    /// Makes a small form that breaks the limits, which may have changed since it was filled, a table.
    fn respect(&mut self, rules: &Rules) {
        let limits = &rules.limits;
        let fits = match &self.0 {
            Form::Ints(ints) => ints.len() <= limits.ints_max,
            Form::Packed(packed) => {
                packed.len() <= limits.packed_max
                    && packed.iter().all(|member| member.len() <= limits.packed_member_bytes_max)
            }
            Form::Table(_) => true,
        };
        if !fits {
            self.become_table(&rules.hasher);
        }
    }
}

/// Distinct members being drawn out of a large table, draw by draw.
#[derive(Debug)]
pub(crate) struct Draw {
    set: Set,
    drawn: Set,
    /// Draws to go.
    left: usize,
    /// What is drawn is what stays.
    keeps: bool,
    rng: fastrand::Rng,
    rules: Rules,
}

impl Draw {
    /// Prepares to take `count` members, at most as many as there are, out of a copy of a set. None where that is done
    /// at once: they are few, or the set is.
    pub(crate) fn new(set: &Set, count: usize, rng: fastrand::Rng, rules: Rules) -> Option<Self> {
        let Form::Table(table) = &set.0 else { return None };
        let count = count.min(table.len());
        let stay = table.len() - count;
        let keeps = stay.saturating_mul(KEPT_PART) <= count;
        let left = if keeps { stay } else { count };
        let is_long = left > DRAWS_AT_ONCE_MAX;
        is_long.then(|| Draw { set: set.clone(), drawn: Set::for_strings(left, &rules), left, keeps, rng, rules })
    }

    /// Draws at most `draws` times. True when all are drawn.
    pub(crate) fn advance(&mut self, draws: usize) -> bool {
        let Form::Table(table) = &mut self.set.0 else { return true };
        for _ in 0..draws.min(self.left) {
            table.remove_random(&mut self.rng, &self.rules.hasher, |member| {
                self.drawn.insert(member, &self.rules);
            });
        }
        self.left -= draws.min(self.left);
        self.left == 0
    }

    /// What stays and what was taken, in the forms of [`Set::pop_many`].
    pub(crate) fn take_result(&mut self) -> (Set, Set) {
        let [set, drawn] = [&mut self.set, &mut self.drawn].map(std::mem::take);
        let (mut stay, taken) = if self.keeps { (drawn, set) } else { (set, drawn) };
        if self.keeps {
            stay.respect(&self.rules);
        }
        (stay, taken)
    }
}

/// Chooses `wanted` of the `left` items to come, every subset as likely as any other.
struct Choice {
    wanted: usize,
    left: usize,
}

impl Choice {
    /// Whether the next item is chosen.
    fn next(&mut self, rng: &mut fastrand::Rng) -> bool {
        let chosen = self.wanted > 0 && rng.usize(..self.left) < self.wanted;
        self.wanted -= usize::from(chosen);
        self.left -= 1;
        chosen
    }
}
