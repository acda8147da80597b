//! LATENCY: when something held everybody up, and how long.
//!
//! Invariant: an event has at most one spike a second, the worst of that second, and at most [`LATENCY_SPIKES_MAX`].
//! Deliberately unknown here: the clock, and how long anything took; whoever measures tells.

use std::collections::{BTreeMap, VecDeque};

use crate::command::{CommandId, LatencyGraph, LatencyHistogram, LatencyHistory, LatencyReset, Spec, by_name};
use crate::limits::LATENCY_SPIKES_MAX;
use crate::reply::{CommandError, Reply};

use super::host::{Host, Now};
use super::latency_report::{advice, graph};
use super::{Engine, Turn};

/// Spikes by event, the events in alphabetical order.
#[derive(Debug, Default)]
pub(super) struct Latency {
    events: BTreeMap<&'static str, Spikes>,
}

/// The spikes of one event, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Spikes {
    pub(super) kept: VecDeque<Spike>,
    /// The worst of all since the last reset, milliseconds.
    pub(super) worst_ms: u64,
}

/// The worst of one second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Spike {
    pub(super) unix_s: u64,
    pub(super) ms: u64,
}

impl Spikes {
    fn add(&mut self, spike: Spike) {
        self.worst_ms = self.worst_ms.max(spike.ms);
        match self.kept.back_mut() {
            Some(last) if last.unix_s == spike.unix_s => last.ms = last.ms.max(spike.ms),
            _ => {
                if self.kept.len() == LATENCY_SPIKES_MAX {
                    self.kept.pop_front();
                }
                self.kept.push_back(spike);
            }
        }
    }
}

impl Engine {
    /// Notes how long an event took, if that makes a spike.
    pub(super) fn note_spike(&mut self, event: &'static str, us: u64, now: Now) {
        let (least, ms) = (self.settings.spike_ms_min, us / 1000);
        if least > 0 && ms >= least {
            let spike = Spike { unix_s: now.unix_us / 1_000_000, ms };
            self.latency.events.entry(event).or_default().add(spike);
        }
    }

    pub(super) fn latency_latest(&mut self) -> Reply<'static> {
        let latest = self.latency.events.iter().filter_map(|(event, spikes)| {
            let last = spikes.kept.back()?;
            Some(Reply::Array(vec![
                Reply::bulk(event.as_bytes()),
                Reply::Integer(last.unix_s as i64),
                Reply::Integer(last.ms as i64),
                Reply::Integer(spikes.worst_ms as i64),
            ]))
        });
        Reply::Array(latest.collect())
    }

    pub(super) fn latency_history(&mut self, history: &LatencyHistory<'_>) -> Reply<'static> {
        let spikes = self.spikes(history.event).map(|(_, spikes)| spikes);
        let pair =
            |spike: &Spike| Reply::Array(vec![Reply::Integer(spike.unix_s as i64), Reply::Integer(spike.ms as i64)]);
        Reply::Array(spikes.iter().flat_map(|spikes| &spikes.kept).map(pair).collect())
    }

    pub(super) fn latency_graph(&mut self, now: Now, asked: &LatencyGraph<'_>) -> Result<Reply<'_>, CommandError> {
        let (event, spikes) = self.spikes(asked.event).ok_or_else(|| CommandError::NoSamples(asked.event.into()))?;
        Ok(Reply::Verbatim(graph(event, spikes, now.unix_us / 1_000_000)))
    }

    /// Without an event all of them are forgotten. Answers how many there were.
    pub(super) fn latency_reset(&mut self, reset: &LatencyReset<'_>) -> Reply<'static> {
        let events = &mut self.latency.events;
        let before = events.len();
        if reset.events.is_empty() {
            events.clear();
        } else {
            events.retain(|event, _| !reset.events.iter().any(|word| word == event.as_bytes()));
        }
        Reply::count(before - events.len())
    }

    pub(super) fn latency_doctor(&mut self, now: Now) -> Reply<'static> {
        let events = self.latency.events.iter().map(|(event, spikes)| (*event, spikes));
        Reply::Verbatim(advice(events, &self.settings, now.unix_us / 1_000_000))
    }

    /// Commands in the order they are named, all subcommands for a container; every command without a name.
    pub(super) fn latency_histogram<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        histogram: &LatencyHistogram<'_>,
    ) -> Reply<'static> {
        if histogram.commands.is_empty() {
            let all = turn.host.duration_steps(&mut |_| true);
            return Reply::Map(all.into_iter().map(steps_reply).collect());
        }
        let mut found = Vec::new();
        for spec in histogram.commands.iter().filter_map(by_name) {
            let steps = turn.host.duration_steps(&mut |other| is_part(other, spec.id));
            found.extend(steps.into_iter().map(steps_reply));
        }
        Reply::Map(found)
    }

    fn spikes(&self, event: &[u8]) -> Option<(&'static str, &Spikes)> {
        let event = std::str::from_utf8(event).ok()?;
        self.latency.events.get_key_value(event).map(|(event, spikes)| (*event, spikes))
    }
}

fn is_part(spec: &Spec, of: CommandId) -> bool {
    spec.id == of || spec.container == Some(of)
}

fn steps_reply((spec, steps): (&'static Spec, Vec<(u64, u64)>)) -> (Reply<'static>, Reply<'static>) {
    let calls = steps.last().map_or(0, |(_, calls)| *calls);
    let step = |(us, calls): (u64, u64)| (Reply::Integer(us as i64), Reply::Integer(calls as i64));
    let told = vec![
        (Reply::bulk(b"calls"), Reply::Integer(calls as i64)),
        (Reply::bulk(b"histogram_usec"), Reply::Map(steps.into_iter().map(step).collect())),
    ];
    (Reply::bulk(spec.name.as_bytes()), Reply::Map(told))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_keeps_its_worst_spike() {
        let mut spikes = Spikes::default();
        for (unix_s, ms) in [(1, 10), (1, 20), (1, 15), (2, 5)] {
            spikes.add(Spike { unix_s, ms });
        }
        assert_eq!(spikes.kept, [Spike { unix_s: 1, ms: 20 }, Spike { unix_s: 2, ms: 5 }]);
        assert_eq!(spikes.worst_ms, 20);
    }

    #[test]
    fn the_oldest_spikes_are_forgotten_first() {
        let mut spikes = Spikes::default();
        (0..LATENCY_SPIKES_MAX as u64 + 3).for_each(|unix_s| spikes.add(Spike { unix_s, ms: 1000 - unix_s }));
        assert_eq!(spikes.kept.len(), LATENCY_SPIKES_MAX);
        assert_eq!(spikes.kept[0].unix_s, 3);
        assert_eq!(spikes.worst_ms, 1000, "the worst of all time stays known");
    }
}
