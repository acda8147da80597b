//! Messages and bytes per second, for each channel.
//!
//! Invariant: memory is bounded however many channels there are: those beyond [`CHANNELS_COUNTED_MAX`] are counted
//! together.
//! Deliberately unknown here: the clock, and where the lines go.

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use super::show;

/// Channels that are counted one by one in one interval.
const CHANNELS_COUNTED_MAX: usize = 10_000;

/// Channels with a line of their own, the busiest: as many as a person reads in a second.
const CHANNELS_SHOWN_MAX: usize = 20;

/// Time between two reports.
pub(super) const INTERVAL: Duration = Duration::from_secs(1);

/// What was received since the last report.
#[derive(Debug)]
pub(super) struct Rates {
    begun: Instant,
    channels: HashMap<Vec<u8>, Count>,
    others: Count,
    /// Channels that had a line in the last report: they have one more when they fall silent.
    shown: BTreeSet<Vec<u8>>,
    all: Count,
    all_begun: Instant,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Count {
    messages: u64,
    bytes: u64,
}

impl Count {
    fn add(&mut self, bytes: usize) {
        self.messages += 1;
        self.bytes += bytes as u64;
    }

    fn line(self, name: &str, over: Duration) -> String {
        let per_second = |count: u64| count as f64 / over.as_secs_f64().max(1e-6);
        format!("{name}: {:.1} messages/s, {:.0} bytes/s", per_second(self.messages), per_second(self.bytes))
    }
}

impl Rates {
    pub(super) fn new(now: Instant) -> Self {
        Rates {
            begun: now,
            channels: HashMap::new(),
            others: Count::default(),
            shown: BTreeSet::new(),
            all: Count::default(),
            all_begun: now,
        }
    }

    /// Counts a message of so many bytes.
    pub(super) fn add(&mut self, channel: &[u8], bytes: usize) {
        self.all.add(bytes);
        if let Some(count) = self.channels.get_mut(channel) {
            count.add(bytes);
        } else if self.channels.len() < CHANNELS_COUNTED_MAX {
            self.channels.insert(channel.to_vec(), Count { messages: 1, bytes: bytes as u64 });
        } else {
            self.others.add(bytes);
        }
    }

    /// When the next report is due.
    pub(super) fn due(&self) -> Instant {
        self.begun + INTERVAL
    }

    /// The lines of a report, the busiest channel first; the next one begins now.
    pub(super) fn report(&mut self, now: Instant) -> Vec<String> {
        let over = now.saturating_duration_since(std::mem::replace(&mut self.begun, now));
        let mut rest = std::mem::take(&mut self.others);
        for name in std::mem::take(&mut self.shown) {
            self.channels.entry(name).or_default();
        }
        let mut channels: Vec<(Vec<u8>, Count)> = self.channels.drain().collect();
        channels.sort_by(|(a_name, a), (b_name, b)| b.cmp(a).then_with(|| a_name.cmp(b_name)));
        let later = channels.split_off(channels.len().min(CHANNELS_SHOWN_MAX));
        let mut lines: Vec<String> = channels.iter().map(|(name, count)| count.line(&show::name(name), over)).collect();
        for (_, count) in &later {
            rest.messages += count.messages;
            rest.bytes += count.bytes;
        }
        if rest.messages > 0 {
            lines.push(rest.line("other channels", over));
        }
        self.shown = channels.into_iter().filter(|(_, count)| count.messages > 0).map(|(name, _)| name).collect();
        lines
    }

    /// The line of everything since the beginning.
    pub(super) fn summary(&self, now: Instant) -> String {
        let over = now.saturating_duration_since(self.all_begun);
        let Count { messages, bytes } = self.all;
        let plural = |count| if count == 1 { "" } else { "s" };
        let all = format!("{messages} message{}, {bytes} byte{}", plural(messages), plural(bytes));
        self.all.line(&format!("{all} in {:.1} s", over.as_secs_f64()), over)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_has_a_line_for_each_channel_and_one_more_when_it_falls_silent() {
        let begun = Instant::now();
        let mut rates = Rates::new(begun);
        (0..3).for_each(|_| rates.add(b"a", 10));
        rates.add(b"b\n", 5);
        assert_eq!(rates.due(), begun + INTERVAL);
        let first = rates.report(begun + 2 * INTERVAL);
        assert_eq!(first, ["a: 1.5 messages/s, 15 bytes/s", "b\\n: 0.5 messages/s, 2 bytes/s"]);
        rates.add(b"a", 1);
        let second = rates.report(begun + 3 * INTERVAL);
        assert_eq!(second, ["a: 1.0 messages/s, 1 bytes/s", "b\\n: 0.0 messages/s, 0 bytes/s"]);
        assert_eq!(rates.report(begun + 4 * INTERVAL), ["a: 0.0 messages/s, 0 bytes/s"]);
        assert!(rates.report(begun + 5 * INTERVAL).is_empty());
        let all = "5 messages, 36 bytes in 5.0 s: 1.0 messages/s, 7 bytes/s";
        assert_eq!(rates.summary(begun + 5 * INTERVAL), all);
    }

    #[test]
    fn a_million_channels_are_counted_in_bounded_memory() {
        let begun = Instant::now();
        let mut rates = Rates::new(begun);
        for number in 0..1_000_000u32 {
            rates.add(&number.to_le_bytes(), 2);
        }
        assert_eq!(rates.channels.len(), CHANNELS_COUNTED_MAX);
        let lines = rates.report(begun + INTERVAL);
        assert_eq!(lines.len(), CHANNELS_SHOWN_MAX + 1);
        let others = 1_000_000 - CHANNELS_SHOWN_MAX;
        assert_eq!(lines.last().unwrap(), &format!("other channels: {others}.0 messages/s, {} bytes/s", 2 * others));
    }
}
