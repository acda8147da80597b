//! Patterns to subscribers: each distinct pattern is matched once, whoever and however many subscribe to it.
//!
//! Invariant: every pattern is in exactly one list of the gram index, so nothing is found twice once the lists are
//! visited once each.
//! Invariant: matches are told in the order in which their patterns were first subscribed to. A pattern nobody
//! subscribes to any more loses its place.
//!
//! Deliberately unknown here: channels that are joined by their names, and how a message travels.

use std::hash::{BuildHasher, Hash};

use super::glob::Glob;
use super::grams::{Grams, NONE, Place};
use super::numbers::{Numbers, next};
use super::registry::{Joined, Membership, Registry};

/// Distinct patterns, each with its subscribers.
///
/// Takes about 150 bytes for a short pattern with one subscriber. The hasher should be keyed, see
/// [`Router`](super::Router).
#[derive(Debug)]
pub struct Patterns<Id, S> {
    registry: Registry<Id, Filed, S>,
    grams: Grams,
    /// How many patterns were ever new.
    arrivals: u64,
    /// How many messages were published.
    published: u64,
}

/// What is kept beside a pattern: its compiled form, and its neighbours in a list of the index.
#[derive(Debug)]
struct Filed {
    glob: Glob,
    numbers: Option<Box<Numbers>>,
    order: u64,
    place: Place,
    next: u32,
    previous: u32,
}

impl<Id: Copy + Eq + Hash, S: BuildHasher> Patterns<Id, S> {
    /// No patterns.
    pub fn new(hasher: S) -> Self {
        let grams = Grams::new(hasher.hash_one("grams"));
        Patterns { registry: Registry::new(hasher), grams, arrivals: 0, published: 0 }
    }

    /// Subscribes `id`, whose membership this is, to a pattern. False when it was subscribed before. O(1) amortised,
    /// plus compiling a pattern that is new.
    ///
    /// # Panics
    /// Like all methods that take a membership, when it belongs to another table or another id.
    pub fn join(&mut self, membership: &mut Membership, id: Id, pattern: &[u8]) -> bool {
        let Patterns { registry, grams, arrivals, .. } = self;
        let file = || {
            let glob = Glob::new(pattern);
            let place = grams.place(&glob);
            Filed { glob, numbers: None, order: *arrivals, place, next: NONE, previous: NONE }
        };
        match registry.join(membership, id, pattern, file) {
            Joined::Already => return false,
            Joined::Known => {}
            Joined::First(slot) => {
                *arrivals += 1;
                link(registry, grams, slot);
            }
        }
        true
    }

    /// Ends one subscription. False when there was none. O(1) amortised.
    pub fn leave(&mut self, membership: &mut Membership, id: Id, pattern: &[u8]) -> bool {
        let grams = &mut self.grams;
        self.registry.leave(membership, id, pattern, |registry, slot| unlink(registry, grams, slot))
    }

    /// Ends all subscriptions of one subscriber. O(1) for each.
    pub fn leave_all(&mut self, membership: &mut Membership, id: Id) {
        let grams = &mut self.grams;
        self.registry.leave_all(membership, id, |registry, slot| unlink(registry, grams, slot));
    }

    /// The patterns of a membership, in the order [`Router::names`](super::Router::names) has.
    pub fn names<'a>(&'a self, membership: &'a Membership) -> impl ExactSizeIterator<Item = &'a [u8]> {
        self.registry.topics(membership).map(|topic| &*topic.name)
    }

    /// Where the numbers of a pattern's messages stand, which have some from now on; none when nobody subscribes to it.
    pub fn numbers(&mut self, pattern: &[u8]) -> Option<Numbers> {
        let Patterns { registry, published, .. } = self;
        let slot = registry.find(pattern)?;
        let numbers = &mut registry.get_mut(slot).extra.numbers;
        Some(**numbers.get_or_insert_with(|| Box::new(Numbers::begin(*published))))
    }

    /// Counts a message on a channel: tells `visit` each pattern that matches, the number that the message has among
    /// those of the pattern, and its subscribers. The number is 0 where nobody has asked for numbers. The pattern subscribed to first comes first.
    ///
    /// Costs the length of the name plus one match for each pattern filed under one of its grams. Does not allocate
    /// while few match.
    pub fn publish(&mut self, channel: &[u8], visit: &mut impl FnMut(&[u8], u64, &[Id])) {
        self.published += 1;
        if self.registry.len() == 0 {
            return;
        }
        let mut lists = Found::default();
        self.grams.lists(channel, |head| lists.push(head));
        let mut matches = Found::default();
        for head in lists.sorted() {
            let mut slot = *head;
            while slot != NONE {
                let filed = &self.registry.get(slot).extra;
                if filed.glob.matches(channel) {
                    matches.push((filed.order, slot));
                }
                slot = filed.next;
            }
        }
        for (_, slot) in matches.sorted() {
            let topic = self.registry.get_mut(*slot);
            let number = next(&mut topic.extra.numbers);
            visit(&topic.name, number, topic.subscribers());
        }
    }

    /// How many distinct patterns have subscribers. O(1).
    pub fn len(&self) -> usize {
        self.registry.len()
    }

    /// Whether nobody subscribes to any.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Puts a pattern at the head of its list.
fn link<Id: Copy + Eq + Hash, S: BuildHasher>(registry: &mut Registry<Id, Filed, S>, grams: &mut Grams, slot: u32) {
    let next = grams.push(registry.get(slot).extra.place, slot);
    registry.get_mut(slot).extra.next = next;
    if next != NONE {
        registry.get_mut(next).extra.previous = slot;
    }
}

/// Takes a pattern out of its list.
fn unlink<Id: Copy + Eq + Hash, S: BuildHasher>(registry: &mut Registry<Id, Filed, S>, grams: &mut Grams, slot: u32) {
    let Filed { place, next, previous, .. } = registry.get(slot).extra;
    if next != NONE {
        registry.get_mut(next).extra.previous = previous;
    }
    if previous == NONE {
        grams.removed(place, next);
    } else {
        registry.get_mut(previous).extra.next = next;
        grams.removed(place, grams.head(place));
    }
}

/// Collects a few items without allocating, and any number with.
struct Found<T> {
    few: [T; 8],
    len: usize,
    many: Vec<T>,
}

impl<T: Copy + Default> Default for Found<T> {
    fn default() -> Self {
        Found { few: [T::default(); 8], len: 0, many: Vec::new() }
    }
}

impl<T: Copy + Ord> Found<T> {
    fn push(&mut self, item: T) {
        if self.len < self.few.len() {
            self.few[self.len] = item;
            self.len += 1;
            return;
        }
        if self.many.is_empty() {
            self.many.extend(self.few);
        }
        self.many.push(item);
    }

    /// Everything collected, in order, each once.
    fn sorted(&mut self) -> &[T] {
        if self.len <= 1 {
            return &self.few[..self.len];
        }
        if self.many.is_empty() {
            let few = &mut self.few[..self.len];
            few.sort_unstable();
            let kept = keep_one_of_each(few);
            return &self.few[..kept];
        }
        self.many.sort_unstable();
        self.many.dedup();
        &self.many
    }
}

/// Moves the distinct items of a sorted slice to its front and answers how many there are.
fn keep_one_of_each<T: Copy + Eq>(items: &mut [T]) -> usize {
    let mut kept = 0;
    for at in 0..items.len() {
        if kept == 0 || items[kept - 1] != items[at] {
            items[kept] = items[at];
            kept += 1;
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use allocation_counter::measure;
    use proptest::prelude::*;
    use std::hash::RandomState;

    fn patterns() -> Patterns<u32, RandomState> {
        Patterns::new(RandomState::new())
    }

    fn heard(patterns: &mut Patterns<u32, RandomState>, channel: &[u8]) -> Vec<(Vec<u8>, Vec<u32>)> {
        let mut heard = Vec::new();
        patterns.publish(channel, &mut |pattern: &[u8], _, ids: &[u32]| {
            let mut ids = ids.to_vec();
            ids.sort_unstable();
            heard.push((pattern.to_vec(), ids));
        });
        heard
    }

    #[test]
    fn equal_patterns_of_many_subscribers_are_one() {
        let (mut patterns, mut one, mut two) = (patterns(), Membership::default(), Membership::default());
        assert!(patterns.join(&mut one, 1, b"a*") && patterns.join(&mut two, 2, b"a*"));
        assert!(!patterns.join(&mut two, 2, b"a*"));
        assert_eq!(patterns.len(), 1);
        assert_eq!(heard(&mut patterns, b"ab"), [(b"a*".to_vec(), vec![1, 2])]);
        assert!(patterns.leave(&mut one, 1, b"a*") && !patterns.leave(&mut one, 1, b"a*"));
        assert_eq!(heard(&mut patterns, b"ab"), [(b"a*".to_vec(), vec![2])]);
        patterns.leave_all(&mut two, 2);
        assert!(patterns.is_empty() && heard(&mut patterns, b"ab").is_empty());
    }

    #[test]
    fn the_pattern_joined_first_is_told_first() {
        let (mut patterns, mut one, mut two) = (patterns(), Membership::default(), Membership::default());
        for pattern in ["*", "news.sport.*", "?*", "*port*", "news*", "[n]ews.*", "*.x", "*e*"] {
            patterns.join(&mut one, 1, pattern.as_bytes());
        }
        patterns.join(&mut two, 2, b"*port*");
        patterns.leave(&mut one, 1, b"*");
        patterns.join(&mut one, 1, b"*");
        patterns.leave(&mut one, 1, b"*port*");
        let told: Vec<_> = heard(&mut patterns, b"news.sport.x").into_iter().map(|(pattern, _)| pattern).collect();
        assert_eq!(told, [&b"news.sport.*"[..], b"?*", b"*port*", b"news*", b"[n]ews.*", b"*.x", b"*e*", b"*"]);
    }

    #[test]
    fn a_gram_that_repeats_in_a_channel_tells_its_patterns_once() {
        let (mut patterns, mut membership) = (patterns(), Membership::default());
        for pattern in ["*a*", "*aa*", "*aaaa*", "*aaaaaaaa*", "aaaa*b", "*aaaaaaaab"] {
            patterns.join(&mut membership, 1, pattern.as_bytes());
        }
        assert_eq!(heard(&mut patterns, &[b'a'; 1_000]).len(), 4);
    }

    #[test]
    fn few_matches_are_told_without_allocating() {
        let (mut patterns, mut membership) = (patterns(), Membership::default());
        for number in 0..5_000 {
            patterns.join(&mut membership, 1, format!("p{number}.*").as_bytes());
        }
        patterns.join(&mut membership, 1, b"*");
        let mut told = 0;
        let used = measure(|| patterns.publish(b"p4999.x", &mut |_: &[u8], _, _: &[u32]| told += 1));
        assert_eq!((told, used.count_total), (2, 0));
    }

    #[test]
    fn patterns_cost_little_and_all_is_freed() {
        let count = 100_000;
        let mut built = None;
        let held = measure(|| {
            let (mut patterns, mut membership) = (patterns(), Membership::default());
            for number in 0..count {
                patterns.join(&mut membership, 1, format!("user:{number:07}:*").as_bytes());
            }
            built = Some((patterns, membership));
        })
        .bytes_current;
        assert!(held <= 220 * count, "{} bytes a pattern", held / count);
        let freed = measure(|| {
            if let Some((patterns, membership)) = &mut built {
                patterns.leave_all(membership, 1);
            }
        })
        .bytes_current;
        assert_eq!(held + freed, 0);
    }

    fn pattern() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            4 => proptest::collection::vec(proptest::sample::select(&b"ab"[..]), 1..10),
            2 => Just(b"*".to_vec()),
            1 => Just(b"?".to_vec()),
            1 => Just(b"[ab]".to_vec()),
            1 => Just(b"[^a]".to_vec()),
        ];
        proptest::collection::vec(piece, 0..4).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn agrees_with_a_scan_of_a_list(
            pool in proptest::collection::vec(pattern(), 1..60),
            steps in proptest::collection::vec((0u8..12, 0u32..3, any::<prop::sample::Index>()), 0..200),
            channels in proptest::collection::vec(proptest::collection::vec(proptest::sample::select(&b"ab"[..]), 0..14), 8),
        ) {
            let mut patterns = patterns();
            let mut memberships: Vec<Membership> = (0..3).map(|_| Membership::default()).collect();
            let mut list: Vec<(&[u8], Vec<u32>)> = Vec::new();
            for (turn, (action, id, index)) in steps.into_iter().enumerate() {
                let (membership, pattern) = (&mut memberships[id as usize], &**index.get(&pool));
                let at = list.iter().position(|entry| entry.0 == pattern);
                let joined = at.is_some_and(|at| list[at].1.contains(&id));
                match action {
                    0..=7 => {
                        prop_assert_eq!(patterns.join(membership, id, pattern), !joined);
                        match at {
                            Some(at) if !joined => list[at].1.push(id),
                            Some(_) => {}
                            None => list.push((pattern, vec![id])),
                        }
                    }
                    8..=10 => {
                        prop_assert_eq!(patterns.leave(membership, id, pattern), joined);
                        list.iter_mut().filter(|entry| entry.0 == pattern).for_each(|entry| entry.1.retain(|i| *i != id));
                    }
                    _ => {
                        patterns.leave_all(membership, id);
                        list.iter_mut().for_each(|entry| entry.1.retain(|other| *other != id));
                    }
                }
                list.retain(|entry| !entry.1.is_empty());
                prop_assert_eq!(patterns.len(), list.len());
                let channel = &channels[turn % channels.len()];
                let expected: Vec<(Vec<u8>, Vec<u32>)> = list
                    .iter()
                    .filter(|entry| Glob::new(entry.0).matches(channel))
                    .map(|entry| {
                        let mut ids = entry.1.clone();
                        ids.sort_unstable();
                        (entry.0.to_vec(), ids)
                    })
                    .collect();
                prop_assert_eq!(heard(&mut patterns, channel), expected);
            }
            for (id, membership) in memberships.iter_mut().enumerate() {
                let held: Vec<Vec<u8>> = patterns.names(membership).map(<[u8]>::to_vec).collect();
                prop_assert!(held.iter().all(|name| list.iter().any(|e| e.0 == *name && e.1.contains(&(id as u32)))));
                patterns.leave_all(membership, id as u32);
            }
            prop_assert!(patterns.is_empty());
        }
    }
}
