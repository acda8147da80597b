//! Keys and channels that were named lately, to be offered while the next line is typed.
//!
//! Invariant: what was named last is offered first, and each name once.
//! Deliberately unknown here: which keys exist.

use std::collections::VecDeque;

use super::special::begins;
use crate::client::{Value, split_words};
use crate::command::{Argument, Group, Kind, hint, lookup};

/// Names remembered of each kind.
const NAMES_MAX: usize = 500;

/// Names taken from one line or one reply: a long answer must not push out what was typed.
const NAMES_AT_ONCE_MAX: usize = 50;

/// Bytes of the longest name worth offering.
const NAME_BYTES_MAX: usize = 200;

/// What a word of a command line names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Naming {
    Key,
    Channel,
}

/// What the word behind these complete words names, if it is a name at all.
pub(super) fn naming(words: &[&[u8]]) -> Option<Naming> {
    let Argument { name, kind, .. } = *hint::expected(words)?;
    let of_pubsub = || lookup(words[0], words.get(1).copied()).is_some_and(|spec| spec.group == Group::Pubsub);
    match kind {
        Kind::Key => Some(Naming::Key),
        Kind::Pattern if of_pubsub() => Some(Naming::Channel),
        Kind::Pattern => Some(Naming::Key),
        Kind::String if matches!(name, "channel" | "shardchannel") => Some(Naming::Channel),
        _ => None,
    }
}

/// The names.
#[derive(Debug, Default)]
pub(super) struct Recent {
    keys: VecDeque<Vec<u8>>,
    channels: VecDeque<Vec<u8>>,
}

impl Recent {
    /// The names of a kind that begin like this, the latest first.
    pub(super) fn beginning<'a>(&'a self, naming: Naming, start: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
        let names = match naming {
            Naming::Key => &self.keys,
            Naming::Channel => &self.channels,
        };
        names.iter().map(Vec::as_slice).filter(move |name| name.starts_with(start))
    }

    /// Remembers what a line names.
    pub(super) fn typed(&mut self, line: &str) {
        let Ok(words) = split_words(line.as_bytes()) else { return };
        let words: Vec<&[u8]> = words.iter().map(Vec::as_slice).take(NAMES_AT_ONCE_MAX).collect();
        for at in 1..words.len() {
            if let Some(naming) = naming(&words[..at]) {
                self.remember(naming, words[at]);
            }
        }
        // Ours, and so in no table.
        if let [peek, key] = words[..]
            && peek.eq_ignore_ascii_case(b"PEEK")
        {
            self.remember(Naming::Key, key);
        }
    }

    /// Remembers what a reply names.
    pub(super) fn answered(&mut self, words: &[Vec<u8>], reply: &Value) {
        let (naming, reply) = match reply.as_items() {
            Some([_, page]) if begins(words, &["SCAN"]) => (Naming::Key, page),
            Some(_) if begins(words, &["KEYS"]) => (Naming::Key, reply),
            Some(_) if begins(words, &["PUBSUB", "CHANNELS"]) || begins(words, &["PUBSUB", "SHARDCHANNELS"]) => {
                (Naming::Channel, reply)
            }
            None if begins(words, &["RANDOMKEY"]) => (Naming::Key, reply),
            _ => return,
        };
        let items = reply.as_items().unwrap_or(std::slice::from_ref(reply));
        items.iter().take(NAMES_AT_ONCE_MAX).filter_map(Value::as_bytes).for_each(|name| self.remember(naming, name));
    }

    fn remember(&mut self, naming: Naming, name: &[u8]) {
        if name.is_empty() || name.len() > NAME_BYTES_MAX {
            return;
        }
        let names = match naming {
            Naming::Key => &mut self.keys,
            Naming::Channel => &mut self.channels,
        };
        names.retain(|known| known != name);
        names.push_front(name.to_vec());
        names.truncate(NAMES_MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(recent: &Recent, naming: Naming, start: &str) -> Vec<String> {
        recent.beginning(naming, start.as_bytes()).map(|name| String::from_utf8_lossy(name).into_owned()).collect()
    }

    #[test]
    fn what_was_named_last_comes_first() {
        let mut recent = Recent::default();
        for line in [
            "SADD fruits apple",
            "get user:1",
            "MSET a 1 b 2",
            "publish news hi",
            "SUBSCRIBE x news",
            "sadd fruits fig",
        ] {
            recent.typed(line);
        }
        assert_eq!(names(&recent, Naming::Key, ""), ["fruits", "b", "a", "user:1"]);
        assert_eq!(names(&recent, Naming::Key, "u"), ["user:1"]);
        assert_eq!(names(&recent, Naming::Channel, ""), ["news", "x"]);
        recent.typed("peek seen");
        recent.typed("GET \"open");
        assert_eq!(names(&recent, Naming::Key, "")[0], "seen");
    }

    #[test]
    fn replies_name_keys_and_channels() {
        let mut recent = Recent::default();
        let bulk = |text: &str| Value::Bulk(text.into());
        recent.answered(&[b"KEYS".into(), b"*".into()], &Value::Array(vec![bulk("a"), bulk("b")]));
        recent.answered(&[b"scan".into(), b"0".into()], &Value::Array(vec![bulk("0"), Value::Array(vec![bulk("c")])]));
        recent.answered(&[b"GET".into(), b"k".into()], &bulk("value"));
        recent.answered(&[b"RANDOMKEY".into()], &Value::Nil);
        recent.answered(&[b"PUBSUB".into(), b"CHANNELS".into()], &Value::Array(vec![bulk("ch")]));
        assert_eq!(names(&recent, Naming::Key, ""), ["c", "b", "a"]);
        assert_eq!(names(&recent, Naming::Channel, ""), ["ch"]);
    }
}
