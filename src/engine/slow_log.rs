//! SLOWLOG: the latest executions that took long.
//!
//! Invariant: an entry holds a bounded piece of its request, and no secret of it.
//! Deliberately unknown here: the clock; whoever has one tells how long a command took, see [`Engine::took`].

use std::collections::VecDeque;

use crate::command::{Args, CommandId, Flags, SlowlogGet, Spec};
use crate::limits::{SLOW_LOG_ARGUMENT_BYTES_MAX, SLOW_LOG_ARGUMENTS_MAX};
use crate::reply::Reply;

use super::Engine;
use super::caller::Caller;
use super::host::{Host, Now};
use super::secrets::redacted;

/// Entries that SLOWLOG GET answers unless it is told how many.
const ANSWERED: usize = 10;

/// Slow executions, the latest first.
#[derive(Debug, Default)]
pub(super) struct SlowLog {
    entries: VecDeque<Entry>,
    /// Number of the next entry; it goes on after SLOWLOG RESET.
    next: u64,
}

#[derive(Debug)]
struct Entry {
    number: u64,
    unix_s: u64,
    us: u64,
    words: Vec<Box<[u8]>>,
    addr: Box<str>,
    name: Box<[u8]>,
}

/// An execution and what it took.
#[derive(Debug, Clone, Copy)]
pub struct Took<'a> {
    /// The command.
    pub spec: &'static Spec,
    /// Its words.
    pub args: Args<'a>,
    /// How long it took, in microseconds.
    pub us: u64,
}

impl SlowLog {
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    fn push(&mut self, entry: Entry, len_max: usize) {
        self.next = entry.number + 1;
        self.entries.push_front(entry);
        self.entries.truncate(len_max);
    }
}

impl Engine {
    /// Notes an execution that took long, in the slow log and among the spikes of latency. Free for one that did not.
    pub fn took<H: Host>(&mut self, caller: &Caller, took: &Took<'_>, now: Now, host: &H) {
        let &Took { spec, args, us } = took;
        let event = if spec.flags.contains(Flags::FAST) { "fast-command" } else { "command" };
        self.note_spike(event, us, now);
        let (slow_us_min, len_max) = (self.settings.slow_us_min, self.settings.slow_log_len_max);
        let is_slow = u64::try_from(slow_us_min).is_ok_and(|least| us >= least);
        // What EXEC runs is noted by itself.
        if !is_slow || len_max == 0 || spec.id == CommandId::EXEC {
            return;
        }
        let entry = Entry {
            number: self.slow_log.next,
            unix_s: now.unix_us / 1_000_000,
            us,
            words: kept_words(spec, args),
            addr: host.own_facts().addr.into(),
            name: caller.name().into(),
        };
        self.slow_log.push(entry, len_max);
    }

    pub(super) fn slowlog_get(&mut self, get: &SlowlogGet) -> Reply<'_> {
        let count = get.count.map_or(ANSWERED, |count| usize::try_from(count).unwrap_or(usize::MAX));
        Reply::Array(self.slow_log.entries.iter().take(count).map(Entry::reply).collect())
    }

    pub(super) fn slowlog_reset(&mut self) -> Reply<'static> {
        self.slow_log.entries.clear();
        Reply::OK
    }
}

impl Entry {
    fn reply(&self) -> Reply<'_> {
        Reply::Array(vec![
            Reply::Integer(self.number as i64),
            Reply::Integer(self.unix_s as i64),
            Reply::Integer(self.us as i64),
            Reply::Array(self.words.iter().map(|word| Reply::bulk(word)).collect()),
            Reply::bulk(self.addr.as_bytes()),
            Reply::bulk(&self.name),
        ])
    }
}

/// The first words of a request, each up to a bounded length; what was cut off is counted in its place.
fn kept_words(spec: &Spec, args: Args<'_>) -> Vec<Box<[u8]>> {
    let all = args.len();
    let kept = if all > SLOW_LOG_ARGUMENTS_MAX { SLOW_LOG_ARGUMENTS_MAX - 1 } else { all };
    let mut words: Vec<Box<[u8]>> = redacted(spec, args).take(kept).map(kept_word).collect();
    if kept < all {
        words.push(format!("... ({} more arguments)", all - kept).into_bytes().into());
    }
    words
}

fn kept_word(word: &[u8]) -> Box<[u8]> {
    match word.get(..SLOW_LOG_ARGUMENT_BYTES_MAX) {
        Some(start) if start.len() < word.len() => {
            [start, format!("... ({} more bytes)", word.len() - start.len()).as_bytes()].concat().into()
        }
        _ => word.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::OwnedArgs;

    fn kept(words: &[&[u8]]) -> Vec<String> {
        let args: OwnedArgs = words.iter().copied().collect();
        let kept = kept_words(CommandId::SADD.spec(), args.as_args());
        kept.iter().map(|word| String::from_utf8_lossy(word).into_owned()).collect()
    }

    #[test]
    fn requests_are_cut_to_thirty_two_words_of_128_bytes() {
        let word = [b'x'; 200];
        assert_eq!(kept(&[b"SADD", &word[..128]])[1], "x".repeat(128));
        assert_eq!(kept(&[b"SADD", &word[..129]])[1], "x".repeat(128) + "... (1 more bytes)");
        let all = vec![&b"SADD"[..]; 40];
        assert_eq!(kept(&all[..32]).len(), 32);
        assert_eq!(kept(&all[..32])[31], "SADD");
        assert_eq!(kept(&all[..33]).len(), 32);
        assert_eq!(kept(&all[..33])[31], "... (2 more arguments)");
        assert_eq!(kept(&all)[31], "... (9 more arguments)");
    }
}
