//! Which messages are one publication that several subscriptions gave.
//!
//! A server sends them one after the other, one for the channel and one for each pattern that matches. So a message
//! like the one before, from a subscription that has not given it yet, is the same publication; from one that has, it
//! was published again. Nothing has to be remembered but the last publication.
//!
//! Deliberately unknown here: connections, and what is done with a repeated message.

use std::collections::HashSet;

use crate::client::{Kind, Message};

/// The publication received last.
#[derive(Debug, Default)]
pub(super) struct Overlap {
    channel: Vec<u8>,
    payload: Vec<u8>,
    /// The patterns that gave it; none stands for the channel.
    given: HashSet<Option<Vec<u8>>>,
}

impl Overlap {
    /// True when another subscription gave the same publication already. Shard channels are never given twice.
    pub(super) fn is_repeated(&mut self, message: &Message) -> bool {
        let is_alike = message.kind != Kind::ShardChannel
            && !self.given.is_empty()
            && self.channel == message.channel
            && self.payload == message.payload;
        if is_alike && !self.given.contains(&message.pattern) {
            self.given.insert(message.pattern.clone());
            return true;
        }
        self.given.clear();
        self.given.insert(message.pattern.clone());
        if !is_alike {
            self.channel.clone_from(&message.channel);
            self.payload.clone_from(&message.payload);
        }
        false
    }

    /// Nothing that comes now is what came before.
    pub(super) fn forget(&mut self) {
        self.given.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(pattern: &str, channel: &str, payload: &str) -> Message {
        let (kind, pattern) = match pattern {
            "" => (Kind::Channel, None),
            "sharded" => (Kind::ShardChannel, None),
            pattern => (Kind::Pattern, Some(pattern.into())),
        };
        Message { kind, pattern, channel: channel.into(), payload: payload.into(), number: None }
    }

    fn printed(messages: &[(&str, &str, &str)]) -> Vec<usize> {
        let mut overlap = Overlap::default();
        let is_new =
            |(_, parts): &(usize, &(&str, &str, &str))| !overlap.is_repeated(&message(parts.0, parts.1, parts.2));
        messages.iter().enumerate().filter(is_new).map(|(index, _)| index).collect()
    }

    #[test]
    fn one_publication_is_told_from_two_that_are_alike() {
        assert_eq!(printed(&[("", "a", "m"), ("a*", "a", "m"), ("*", "a", "m")]), [0]);
        assert_eq!(printed(&[("", "a", "m"), ("a*", "a", "m"), ("", "a", "m"), ("a*", "a", "m")]), [0, 2]);
        assert_eq!(printed(&[("", "a", "m"), ("", "a", "m"), ("", "a", "m")]), [0, 1, 2]);
        assert_eq!(printed(&[("a*", "a", "m"), ("*", "a", "m"), ("a*", "a", "m"), ("*", "a", "m")]), [0, 2]);
        assert_eq!(printed(&[("", "a", "m"), ("a*", "a", "n"), ("*", "b", "n")]), [0, 1, 2]);
        assert_eq!(printed(&[("sharded", "a", "m"), ("sharded", "a", "m")]), [0, 1]);
    }

    #[test]
    fn nothing_is_repeated_across_a_gap() {
        let mut overlap = Overlap::default();
        assert!(!overlap.is_repeated(&message("", "a", "m")));
        overlap.forget();
        assert!(!overlap.is_repeated(&message("*", "a", "m")));
    }
}
