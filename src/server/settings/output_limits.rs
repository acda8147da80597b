//! How much may wait in the outbox of a client of each class: `client-output-buffer-limit`.
//!
//! Deliberately unknown here: sessions and clocks; who enforces a limit counts the seconds.

use std::fmt;

use crate::reply::SettingFault;

use super::kind::parse_memory;
use super::words;

/// Limits of one client class. A limit of 0 is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OutputLimit {
    /// Bytes past which a client is cut at once.
    pub hard_bytes: usize,
    /// Bytes past which a client is cut after [`OutputLimit::soft_seconds`] without a drain.
    pub soft_bytes: usize,
    /// See [`OutputLimit::soft_bytes`].
    pub soft_seconds: u64,
}

impl OutputLimit {
    /// True when nothing is limited.
    pub fn is_none(&self) -> bool {
        self.hard_bytes == 0 && self.soft_bytes == 0
    }
}

/// Which limits a client has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputClass {
    /// It has no subscriptions.
    Normal,
    /// It has at least one.
    Pubsub,
    /// It watches the commands of all.
    Monitor,
}

/// Limits of all client classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutputLimits {
    /// Clients without subscriptions.
    pub normal: OutputLimit,
    /// Replicas, of which goblin has none. Monitors, which a server feeds just as much, are held to it where `normal`
    /// has no limit.
    pub replica: OutputLimit,
    /// Clients with at least one subscription.
    pub pubsub: OutputLimit,
}

impl Default for OutputLimits {
    fn default() -> Self {
        let mib = 1 << 20;
        OutputLimits {
            normal: OutputLimit::default(),
            replica: OutputLimit { hard_bytes: 256 * mib, soft_bytes: 64 * mib, soft_seconds: 60 },
            pubsub: OutputLimit { hard_bytes: 32 * mib, soft_bytes: 8 * mib, soft_seconds: 60 },
        }
    }
}

impl OutputLimits {
    /// Takes groups of class, hard, soft, seconds; classes not named keep theirs. Nothing changes on an error.
    pub(super) fn change(&mut self, text: &[u8]) -> Result<(), SettingFault> {
        let words: Vec<&[u8]> = if text.is_empty() { Vec::new() } else { words(text).collect() };
        if !words.len().is_multiple_of(4) {
            return Err(SettingFault::LimitArguments);
        }
        let mut changed = *self;
        for group in words.chunks_exact(4) {
            let limit = match group[0].to_ascii_lowercase().as_slice() {
                b"normal" => &mut changed.normal,
                b"slave" | b"replica" => &mut changed.replica,
                b"pubsub" => &mut changed.pubsub,
                _ => return Err(SettingFault::LimitClass),
            };
            *limit = read_limit(group[1], group[2], group[3]).ok_or(SettingFault::LimitNumbers)?;
        }
        *self = changed;
        Ok(())
    }
}

fn read_limit(hard: &[u8], soft: &[u8], seconds: &[u8]) -> Option<OutputLimit> {
    let soft_seconds = std::str::from_utf8(seconds).ok()?.parse::<i32>().ok()?;
    Some(OutputLimit {
        hard_bytes: usize::try_from(parse_memory(hard)?).unwrap_or(usize::MAX),
        soft_bytes: usize::try_from(parse_memory(soft)?).unwrap_or(usize::MAX),
        soft_seconds: u64::try_from(soft_seconds).ok()?,
    })
}

impl fmt::Display for OutputLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let classes = [("normal", self.normal), (" slave", self.replica), (" pubsub", self.pubsub)];
        for (class, limit) in classes {
            write!(f, "{class} {} {} {}", limit.hard_bytes, limit.soft_bytes, limit.soft_seconds)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partial_change_keeps_the_other_classes() {
        let mut limits = OutputLimits::default();
        limits.change(b"Replica 1kb 2kb 3 pubsub 4 5 6").unwrap();
        assert_eq!(limits.to_string(), "normal 0 0 0 slave 1024 2048 3 pubsub 4 5 6");
        limits.change(b"normal 0 0 0 normal 1 1 +5").unwrap();
        assert_eq!(limits.to_string(), "normal 1 1 5 slave 1024 2048 3 pubsub 4 5 6");
        limits.change(b"").unwrap();
    }

    #[test]
    fn a_refused_change_changes_nothing() {
        let mut limits = OutputLimits::default();
        for (text, fault) in [
            ("normal 1 2", SettingFault::LimitArguments),
            ("normal 1 2 3 4", SettingFault::LimitArguments),
            ("normal  1 1  1", SettingFault::LimitArguments),
            (" normal 1 1 1", SettingFault::LimitArguments),
            ("master 1 2 3", SettingFault::LimitClass),
            ("normal 1 2 3 xx 1 2 3", SettingFault::LimitClass),
            ("normal a 1 1", SettingFault::LimitNumbers),
            ("normal 1 -1 1", SettingFault::LimitNumbers),
            ("normal 1 1 -1", SettingFault::LimitNumbers),
            ("normal 1 1 1k", SettingFault::LimitNumbers),
            ("pubsub 9 9 9 normal 1 1 99999999999", SettingFault::LimitNumbers),
        ] {
            assert_eq!(limits.change(text.as_bytes()), Err(fault), "{text}");
            assert_eq!(limits, OutputLimits::default(), "{text}");
        }
    }
}
