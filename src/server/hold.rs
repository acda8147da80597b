//! Messages held for a session that said what becomes of those it does not read.
//!
//! Invariant: only whole messages of which nothing was sent are here, so that any of them can be dropped.
//! Invariant: what is dropped is counted, and told to whoever asked where it would have stood: before what was kept of
//! what is older, behind it where the newest are dropped.
//! Deliberately unknown here: when a session's output is full, and how a message is encoded.

use std::collections::{HashMap, VecDeque};

use bytes::Bytes;

use crate::engine::{PushPolicy, PushRules};

/// What one message costs beside its bytes: its place here and what keeps them.
const ITEM_BYTES: usize = 64;

/// Messages that wait.
#[derive(Debug)]
pub(super) struct Hold {
    pub(super) rules: PushRules,
    /// None where a message was dropped for a newer one of its channel.
    items: VecDeque<Option<Item>>,
    /// Number of the first of them.
    first: u64,
    /// For [`PushPolicy::Conflate`]: the number of each key's message.
    latest: HashMap<u64, u64>,
    bytes: usize,
    pushes: u32,
    /// Dropped, and not told yet.
    untold: u64,
}

#[derive(Debug)]
enum Item {
    Push {
        frame: Bytes,
        key: u64,
    },
    /// So many were dropped here.
    Gap(u64),
}

/// What is to be sent next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    Push(Bytes),
    /// So many messages were dropped before.
    Gap(u64),
}

/// What was dropped for a message.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Dropped {
    pub(super) messages: u64,
    pub(super) bytes: u64,
    /// The message itself is among them.
    pub(super) itself: bool,
}

impl Hold {
    pub(super) fn new(rules: PushRules) -> Self {
        Hold { rules, items: VecDeque::new(), first: 0, latest: HashMap::new(), bytes: 0, pushes: 0, untold: 0 }
    }

    fn has_gap(&self) -> bool {
        self.rules.notice && self.untold > 0
    }

    /// Bytes of what waits, and what it costs to keep it.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Messages that wait.
    pub(super) fn pushes(&self) -> u64 {
        self.pushes.into()
    }

    /// Keeps a message, or drops one, so that at most `room` bytes wait. `key` is the same for messages of one channel,
    /// and for those of one channel that come by one pattern.
    pub(super) fn keep(&mut self, frame: Bytes, key: u64, room: usize) -> Dropped {
        let mut dropped = Dropped::default();
        let cost = frame.len() + ITEM_BYTES;
        if self.rules.policy == PushPolicy::Conflate
            && let Some(number) = self.latest.get(&key)
        {
            let place = (number - self.first) as usize;
            self.drop_at(place, &mut dropped);
        }
        if self.rules.policy != PushPolicy::DropNewest {
            while self.bytes + cost > room
                && let Some(place) = self.items.iter().position(|item| matches!(item, Some(Item::Push { .. })))
            {
                self.drop_at(place, &mut dropped);
                self.trim();
            }
        }
        if self.bytes + cost > room {
            dropped.messages += 1;
            dropped.bytes += frame.len() as u64;
            dropped.itself = true;
            self.untold += 1;
            return dropped;
        }
        if self.rules.policy == PushPolicy::DropNewest && self.has_gap() {
            self.items.push_back(Some(Item::Gap(std::mem::take(&mut self.untold))));
        }
        if self.rules.policy == PushPolicy::Conflate {
            self.latest.insert(key, self.first + self.items.len() as u64);
        }
        self.bytes += cost;
        self.pushes += 1;
        self.items.push_back(Some(Item::Push { frame, key }));
        self.compact();
        dropped
    }

    /// Takes what is to be sent next.
    pub(super) fn next(&mut self) -> Option<Next> {
        if self.rules.policy != PushPolicy::DropNewest && self.has_gap() {
            return Some(Next::Gap(std::mem::take(&mut self.untold)));
        }
        while let Some(item) = self.items.pop_front() {
            self.first += 1;
            match item {
                None => {}
                Some(Item::Gap(count)) => return Some(Next::Gap(count)),
                Some(Item::Push { frame, key }) => {
                    self.forget(&frame, key);
                    return Some(Next::Push(frame));
                }
            }
        }
        self.has_gap().then(|| Next::Gap(std::mem::take(&mut self.untold)))
    }

    fn drop_at(&mut self, place: usize, dropped: &mut Dropped) {
        if let Some(Some(Item::Push { frame, key })) = self.items.get_mut(place).map(Option::take) {
            self.forget(&frame, key);
            dropped.messages += 1;
            dropped.bytes += frame.len() as u64;
            self.untold += 1;
        }
    }

    fn forget(&mut self, frame: &Bytes, key: u64) {
        self.bytes -= frame.len() + ITEM_BYTES;
        self.pushes -= 1;
        self.latest.remove(&key);
    }

    /// Lets go of the places in front that are empty.
    fn trim(&mut self) {
        while let Some(None) = self.items.front() {
            self.items.pop_front();
            self.first += 1;
        }
    }

    /// Lets go of empty places once they are most of all.
    fn compact(&mut self) {
        self.trim();
        if self.items.len() < 64 || self.items.len() < 2 * self.pushes as usize {
            return;
        }
        self.items.retain(Option::is_some);
        self.latest.clear();
        let conflates = self.rules.policy == PushPolicy::Conflate;
        for (place, item) in self.items.iter().enumerate() {
            if let (true, Some(Item::Push { key, .. })) = (conflates, item) {
                self.latest.insert(*key, self.first + place as u64);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hold(policy: PushPolicy) -> Hold {
        Hold::new(PushRules { policy, bytes: None, notice: true })
    }

    /// Keeps messages of one byte each, the letters; each letter is a channel. There is room for three.
    fn after(policy: PushPolicy, letters: &str) -> (String, Vec<u64>) {
        let mut hold = hold(policy);
        for letter in letters.bytes() {
            hold.keep(Bytes::copy_from_slice(&[letter]), letter.into(), 3 * (1 + ITEM_BYTES));
        }
        rest(&mut hold)
    }

    /// What is sent, a dot for each gap, and how large those were.
    fn rest(hold: &mut Hold) -> (String, Vec<u64>) {
        let (mut sent, mut gaps) = (String::new(), Vec::new());
        while let Some(next) = hold.next() {
            match next {
                Next::Push(frame) => sent.push(frame[0] as char),
                Next::Gap(count) => {
                    sent.push('.');
                    gaps.push(count);
                }
            }
        }
        assert_eq!((hold.bytes(), hold.pushes(), hold.items.len()), (0, 0, 0));
        (sent, gaps)
    }

    #[test]
    fn what_is_kept_is_what_the_policy_says() {
        assert_eq!(after(PushPolicy::DropOldest, "abcde"), (".cde".into(), vec![2]));
        assert_eq!(after(PushPolicy::DropNewest, "abcde"), ("abc.".into(), vec![2]));
        assert_eq!(after(PushPolicy::Conflate, "abacab"), (".cab".into(), vec![3]));
        assert_eq!(after(PushPolicy::Conflate, "abcd"), (".bcd".into(), vec![1]));
        assert_eq!(after(PushPolicy::DropOldest, "abc"), ("abc".into(), vec![]));
    }

    #[test]
    fn the_newest_are_missed_where_they_would_have_stood() {
        let mut hold = hold(PushPolicy::DropNewest);
        let room = 2 * (1 + ITEM_BYTES);
        let keep = |hold: &mut Hold, letter: u8| hold.keep(Bytes::copy_from_slice(&[letter]), 0, room).itself;
        assert!(!keep(&mut hold, b'a') && !keep(&mut hold, b'b') && keep(&mut hold, b'c') && keep(&mut hold, b'd'));
        assert_eq!(hold.next(), Some(Next::Push(Bytes::from_static(b"a"))));
        assert!(!keep(&mut hold, b'e') && keep(&mut hold, b'f'));
        assert_eq!(rest(&mut hold), ("b.e.".into(), vec![2, 1]));
    }

    #[test]
    fn a_message_that_never_fits_is_dropped_alone_or_with_all() {
        for policy in [PushPolicy::DropOldest, PushPolicy::DropNewest, PushPolicy::Conflate] {
            let mut hold = hold(policy);
            let dropped = hold.keep(Bytes::from(vec![0; 1000]), 1, 500);
            assert_eq!(dropped, Dropped { messages: 1, bytes: 1000, itself: true }, "{policy:?}");
            assert_eq!(hold.next(), Some(Next::Gap(1)));
        }
    }

    #[test]
    fn a_channel_that_is_replaced_without_end_costs_no_memory() {
        let mut hold = hold(PushPolicy::Conflate);
        for round in 0..100_000_u64 {
            hold.keep(Bytes::from_static(b"x"), round % 3, usize::MAX);
        }
        assert!(hold.items.len() < 100 && hold.latest.len() == 3, "{}", hold.items.len());
        assert_eq!(hold.pushes(), 3);
    }
}
