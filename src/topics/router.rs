//! Channels to subscribers.
//!
//! Invariant: a channel is held exactly while somebody subscribes to it.
//!
//! Deliberately unknown here: patterns, and how a message travels.

use std::hash::{BuildHasher, Hash};

use super::numbers::{Numbers, REMEMBERED_MAX, Remembered, next};
use super::registry::{Joined, Membership, Registry};

/// Literal names, each with its subscribers.
///
/// At most 160 bytes for each pair of a 15-byte name and a subscriber, the membership included; given back when the
/// pair ends. Names are what strangers choose, so the hasher should be keyed.
#[derive(Debug)]
pub struct Router<Id, S> {
    registry: Registry<Id, Option<Box<Numbers>>, S>,
    remembered: Remembered,
    /// How many messages were published.
    published: u64,
}

impl<Id: Copy + Eq + Hash, S: BuildHasher> Router<Id, S> {
    /// An empty router.
    pub fn new(hasher: S) -> Self {
        Router { registry: Registry::new(hasher), remembered: Remembered::default(), published: 0 }
    }

    /// Subscribes `id`, whose membership this is, to a name. False when it was subscribed before. O(1) amortised.
    ///
    /// # Panics
    /// Like all methods that take a membership, when it belongs to another router or another id.
    pub fn join(&mut self, membership: &mut Membership, id: Id, name: &[u8]) -> bool {
        !matches!(self.registry.join(membership, id, name, || None), Joined::Already)
    }

    /// Ends one subscription. False when there was none. O(1) amortised.
    pub fn leave(&mut self, membership: &mut Membership, id: Id, name: &[u8]) -> bool {
        self.registry.leave(membership, id, name, |_, _| ())
    }

    /// Ends all subscriptions of one subscriber. O(1) for each.
    pub fn leave_all(&mut self, membership: &mut Membership, id: Id) {
        self.registry.leave_all(membership, id, |_, _| ());
    }

    /// The names of a membership. In order of joining, except that in a membership that ever held more than 32 names
    /// the latest may stand where one was left.
    pub fn names<'a>(&'a self, membership: &'a Membership) -> impl ExactSizeIterator<Item = &'a [u8]> {
        self.registry.topics(membership).map(|topic| &*topic.name)
    }

    /// Counts a message under a name: its number, and who hears it, in no promised order. One hash lookup. The number
    /// is 0 where nobody has asked for numbers.
    pub fn publish(&mut self, name: &[u8]) -> (u64, &[Id]) {
        self.published += 1;
        let Some(slot) = self.registry.find(name) else {
            self.remembered.count(name);
            return (0, &[]);
        };
        let topic = self.registry.get_mut(slot);
        (next(&mut topic.extra), topic.subscribers())
    }

    /// Where the numbers of a name's messages stand, which have some from now on; none when nobody subscribes to it.
    pub fn numbers(&mut self, name: &[u8]) -> Option<Numbers> {
        let Router { registry, remembered, published } = self;
        let slot = registry.find(name)?;
        let begin = || Box::new(remembered.come_back(name).unwrap_or(Numbers::begin(*published)));
        Some(**registry.get_mut(slot).extra.get_or_insert_with(begin))
    }

    /// Goes on counting the messages of the names that end with a membership, for a subscriber that may come back. As
    /// many as fit; ask before leaving.
    pub fn remember(&mut self, membership: &Membership) {
        for topic in self.registry.topics(membership).take(REMEMBERED_MAX) {
            if let (Some(numbers), [_]) = (&topic.extra, topic.subscribers()) {
                self.remembered.leave(&topic.name, **numbers);
            }
        }
    }

    /// Who hears a name: one hash lookup, then a slice in no promised order. Empty when nobody does.
    pub fn subscribers(&self, name: &[u8]) -> &[Id] {
        self.registry.find(name).map_or(&[], |slot| self.registry.get(slot).subscribers())
    }

    /// How many subscribers a name has. O(1).
    pub fn subscriber_count(&self, name: &[u8]) -> usize {
        self.subscribers(name).len()
    }

    /// All names that have subscribers, with how many, in no promised order.
    pub fn channels(&self) -> impl Iterator<Item = (&[u8], usize)> {
        self.registry.iter().map(|topic| (&*topic.name, topic.subscribers().len()))
    }

    /// How many names have subscribers. O(1).
    pub fn len(&self) -> usize {
        self.registry.len()
    }

    /// Whether nobody subscribes to anything.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use allocation_counter::measure;
    use proptest::prelude::*;
    use std::hash::RandomState;

    fn router() -> Router<u32, RandomState> {
        Router::new(RandomState::new())
    }

    fn names<'a>(router: &'a Router<u32, RandomState>, membership: &'a Membership) -> Vec<&'a [u8]> {
        router.names(membership).collect()
    }

    #[test]
    fn joining_and_leaving_twice_counts_once() {
        let (mut router, mut one, mut two) = (router(), Membership::default(), Membership::default());
        assert!(router.join(&mut one, 1, b"a") && !router.join(&mut one, 1, b"a"));
        assert!(router.join(&mut two, 2, b"a"));
        assert_eq!((router.subscribers(b"a"), router.subscriber_count(b"b"), one.len()), (&[1, 2][..], 0, 1));
        assert!(router.leave(&mut one, 1, b"a") && !router.leave(&mut one, 1, b"a"));
        assert!(!router.leave(&mut two, 2, b"b"));
        assert_eq!((router.subscribers(b"a"), one.is_empty(), router.len()), (&[2][..], true, 1));
        router.leave_all(&mut two, 2);
        assert!(router.is_empty() && two.is_empty() && router.channels().next().is_none());
    }

    #[test]
    fn names_stay_in_the_order_of_joining() {
        let (mut router, mut membership) = (router(), Membership::default());
        for name in ["d", "b", "", "a", "c"] {
            router.join(&mut membership, 9, name.as_bytes());
        }
        router.leave(&mut membership, 9, b"b");
        router.join(&mut membership, 9, b"b");
        assert_eq!(names(&router, &membership), [&b"d"[..], b"", b"a", b"c", b"b"]);
    }

    #[test]
    fn messages_are_numbered_and_numbers_never_fall() {
        let (mut router, mut one, mut two) = (router(), Membership::default(), Membership::default());
        router.publish(b"a");
        router.join(&mut one, 1, b"a");
        router.join(&mut two, 2, b"b");
        assert_eq!(router.publish(b"b"), (0, &[2][..]));
        assert_eq!(router.numbers(b"a"), Some(Numbers { last: 2, base: 2 }));
        assert_eq!(router.numbers(b"b"), Some(Numbers { last: 2, base: 2 }));
        assert_eq!(router.publish(b"a"), (3, &[1][..]));
        assert_eq!((router.publish(b"a").0, router.publish(b"b").0), (4, 3));
        // Who is remembered misses nothing without knowing how much it was.
        router.remember(&one);
        router.leave_all(&mut one, 1);
        for _ in 0..5 {
            router.publish(b"a");
        }
        router.join(&mut one, 1, b"a");
        assert_eq!(router.numbers(b"a"), Some(Numbers { last: 9, base: 2 }));
        // Who is not knows how much it was at most.
        router.leave_all(&mut one, 1);
        for _ in 0..5 {
            router.publish(b"b");
        }
        router.join(&mut one, 1, b"a");
        assert_eq!(router.numbers(b"a"), Some(Numbers { last: 15, base: 15 }));
        assert_eq!((router.numbers(b"c"), router.publish(b"c")), (None, (0, &[][..])));
    }

    #[test]
    fn a_name_that_comes_back_is_a_new_one() {
        let (mut router, mut one, mut two) = (router(), Membership::default(), Membership::default());
        router.join(&mut one, 1, b"old");
        router.leave(&mut one, 1, b"old");
        router.join(&mut two, 2, b"new");
        assert!(one.is_empty() && router.subscribers(b"old").is_empty());
        assert_eq!(router.channels().collect::<Vec<_>>(), [(&b"new"[..], 1)]);
    }

    /// Bytes held after `build`, and after `clear` has emptied what it built.
    fn bytes<T>(build: impl FnOnce() -> T, clear: impl FnOnce(&mut T)) -> (usize, usize) {
        let mut built = None;
        let held = measure(|| built = Some(build())).bytes_current;
        let mut built = built.expect("measured work was done");
        let freed = measure(|| clear(&mut built)).bytes_current;
        let left = held + freed;
        (usize::try_from(held).unwrap_or(0), usize::try_from(left).unwrap_or(usize::MAX))
    }

    #[test]
    fn many_channels_of_one_subscriber_cost_at_most_160_bytes_each() {
        // Tables and lists double, so the count just after a doubling is the dearest.
        for count in [100_000, 114_689, 131_073] {
            let build = || {
                let (mut router, mut membership) = (router(), Membership::default());
                for number in 0..count {
                    router.join(&mut membership, 1, format!("channel-{number:07}").as_bytes());
                }
                (router, membership)
            };
            let (held, left) = bytes(build, |(router, membership)| router.leave_all(membership, 1));
            assert!(held <= 160 * count, "{} bytes a channel at {count}", held / count);
            assert_eq!(left, 0);
        }
    }

    #[test]
    fn many_subscribers_of_one_channel_cost_at_most_160_bytes_each() {
        for count in [100_000u32, 114_689, 131_073] {
            let build = || {
                let mut router = router();
                let mut memberships: Vec<Membership> = (0..count).map(|_| Membership::default()).collect();
                for (id, membership) in memberships.iter_mut().enumerate() {
                    router.join(membership, id as u32, b"channel-1234567");
                }
                (router, memberships)
            };
            let clear = |(router, memberships): &mut (Router<u32, RandomState>, Vec<Membership>)| {
                for (id, mut membership) in std::mem::take(memberships).into_iter().enumerate() {
                    router.leave_all(&mut membership, id as u32);
                }
            };
            let (held, left) = bytes(build, clear);
            assert!(held <= 160 * count as usize, "{} bytes a subscriber at {count}", held / count as usize);
            assert_eq!(left, 0);
        }
    }

    #[test]
    fn most_memory_goes_while_a_few_channels_stay() {
        let build = || {
            let (mut router, mut membership) = (router(), Membership::default());
            for number in 0..100_000 {
                router.join(&mut membership, 1, format!("channel-{number:07}").as_bytes());
            }
            (router, membership)
        };
        let (held, left) = bytes(build, |(router, membership)| {
            for number in (0..100_000).filter(|number| number % 1_000 != 0) {
                assert!(router.leave(membership, 1, format!("channel-{number:07}").as_bytes()));
            }
        });
        // A hundred channels, each alone in its chunk of 64.
        assert!(left < 100 * 64 * 72 && left < held / 20, "{left} of {held}");
    }

    proptest! {
        #[test]
        fn agrees_with_a_list_of_pairs(steps in proptest::collection::vec((0u8..12, 0u32..4, 0usize..90), 0..800)) {
            let all: Vec<String> = (0..90).map(|number| format!("n{number}")).collect();
            let mut router = router();
            let mut memberships: Vec<Membership> = (0..4).map(|_| Membership::default()).collect();
            let mut pairs: Vec<(u32, &str)> = Vec::new();
            for (action, id, number) in steps {
                let (membership, name) = (&mut memberships[id as usize], &*all[number]);
                let joined = pairs.contains(&(id, name));
                match action {
                    0..=7 => {
                        prop_assert_eq!(router.join(membership, id, name.as_bytes()), !joined);
                        if !joined {
                            pairs.push((id, name));
                        }
                    }
                    8..=10 => {
                        prop_assert_eq!(router.leave(membership, id, name.as_bytes()), joined);
                        pairs.retain(|pair| *pair != (id, name));
                    }
                    _ => {
                        router.leave_all(membership, id);
                        pairs.retain(|pair| pair.0 != id);
                    }
                }
                let mut heard = router.subscribers(name.as_bytes()).to_vec();
                heard.sort_unstable();
                let mut expected: Vec<u32> = pairs.iter().filter(|pair| pair.1 == name).map(|pair| pair.0).collect();
                expected.sort_unstable();
                prop_assert_eq!(heard, expected);
                let mut held = names(&router, &memberships[id as usize]);
                let mut expected: Vec<&[u8]> =
                    pairs.iter().filter(|pair| pair.0 == id).map(|pair| pair.1.as_bytes()).collect();
                held.sort_unstable();
                expected.sort_unstable();
                prop_assert_eq!(held, expected);
                let total: usize = router.channels().map(|(_, count)| count).sum();
                prop_assert_eq!(total, pairs.len());
                prop_assert_eq!(router.channels().count(), router.len());
            }
            for (id, membership) in memberships.iter_mut().enumerate() {
                router.leave_all(membership, id as u32);
                prop_assert!(membership.is_empty());
            }
            prop_assert!(router.is_empty());
        }
    }
}
