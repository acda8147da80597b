//! How long the executions of one command took, in few bytes.
//!
//! Two digits are told apart, in steps of at least 16 ns. Counters are as wide as their sum needs, so that the commands
//! a server is asked now and then take some 2 KiB each and only busy ones more; Redis keeps 40 KB for every command.
//!
//! Invariant: no counter ever saturates. Deliberately unknown here: commands, clocks.

use hdrhistogram::{Counter, Histogram};

/// Shortest duration told apart from shorter ones, in nanoseconds: less than the clock can tell.
const NS_MIN: u64 = 16;

/// Longest duration told apart from longer ones, in nanoseconds. Redis's bound.
const NS_MAX: u64 = 1_000_000_000;

/// Durations, in nanoseconds.
pub(super) struct Durations(Width);

enum Width {
    Two(Histogram<u16>),
    Four(Histogram<u32>),
    Eight(Histogram<u64>),
}

impl Durations {
    pub(super) fn new() -> Self {
        Durations(Width::Two(empty()))
    }

    /// Counts executions that took the same time.
    pub(super) fn record(&mut self, ns: u64, executions: u32) {
        let ns = ns.clamp(1, NS_MAX);
        while self.is_full(executions.into()) {
            self.widen();
        }
        let recorded = match &mut self.0 {
            Width::Two(histogram) => histogram.record_n(ns, executions as u16),
            Width::Four(histogram) => histogram.record_n(ns, executions),
            Width::Eight(histogram) => histogram.record_n(ns, executions.into()),
        };
        debug_assert!(recorded.is_ok(), "the histogram grows");
    }

    fn is_full(&self, more: u64) -> bool {
        match &self.0 {
            Width::Two(histogram) => histogram.len() + more > u16::MAX.into(),
            Width::Four(histogram) => histogram.len() + more > u32::MAX.into(),
            Width::Eight(_) => false,
        }
    }

    fn widen(&mut self) {
        match &self.0 {
            Width::Two(narrow) => self.0 = Width::Four(copied(narrow)),
            Width::Four(narrow) => self.0 = Width::Eight(copied(narrow)),
            Width::Eight(_) => {}
        }
    }

    /// Executions by duration, in steps that double from 1,024 ns on and are told in whole microseconds, as Redis does:
    /// each counts all that took at most so long, and those that count nothing new are left out.
    pub(super) fn steps(&self) -> Vec<(u64, u64)> {
        match &self.0 {
            Width::Two(histogram) => steps(histogram),
            Width::Four(histogram) => steps(histogram),
            Width::Eight(histogram) => steps(histogram),
        }
    }

    /// The duration that this percentage of the executions did not exceed, in nanoseconds.
    pub(super) fn at(&self, percentage: f64) -> u64 {
        match &self.0 {
            Width::Two(histogram) => histogram.value_at_percentile(percentage),
            Width::Four(histogram) => histogram.value_at_percentile(percentage),
            Width::Eight(histogram) => histogram.value_at_percentile(percentage),
        }
    }
}

fn empty<C: Counter>() -> Histogram<C> {
    let mut histogram = Histogram::new_with_bounds(NS_MIN, 2 * NS_MIN, 2).expect("valid bounds");
    histogram.auto(true);
    histogram
}

fn copied<C: Counter, N: Counter>(narrow: &Histogram<N>) -> Histogram<C> {
    let mut wide = empty();
    for recorded in narrow.iter_recorded() {
        let count = C::from_u64(recorded.count_at_value().as_u64());
        let copied = count.map(|count| wide.record_n(recorded.value_iterated_to(), count));
        debug_assert!(matches!(copied, Some(Ok(()))), "a wide counter takes what a narrow one held");
    }
    wide
}

fn steps<C: Counter>(durations: &Histogram<C>) -> Vec<(u64, u64)> {
    let mut steps = Vec::new();
    let mut counted = 0;
    for exponent in 10.. {
        if counted == durations.len() {
            break;
        }
        // Redis ends its last step where its array ends.
        let end = durations.highest_equivalent(1 << exponent).min((1 << 30) - 1);
        let up_to = durations.count_between(0, end);
        if up_to > counted {
            counted = up_to;
            steps.push((end / 1000, counted));
        }
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_those_of_redis() {
        let mut durations = Durations::new();
        let mut expected = Vec::new();
        let ends = [
            1, 2, 4, 8, 16, 33, 66, 132, 264, 528, 1056, 2113, 4227, 8454, 16908, 33816, 67633, 135_266, 270_532,
            541_065, 1_073_741,
        ];
        for (at, end) in ends.into_iter().enumerate() {
            // Just below the end of each step.
            durations.record((1000 << at).min(3_000_000_000), 2);
            expected.push((end, 2 * (at as u64 + 1)));
        }
        assert_eq!(durations.steps(), expected);
        assert_eq!(Durations::new().steps(), []);
    }

    #[test]
    fn percentages_are_told_to_two_digits() {
        let mut durations = Durations::new();
        durations.record(0, 1);
        durations.record(2000, 49);
        durations.record(1_000_000, 50);
        durations.record(60_000_000_000, 1);
        let told = [0.0, 49.0, 99.0, 100.0].map(|percentage| durations.at(percentage));
        assert!(told[0] <= 15 && (2000..2020).contains(&told[1]), "{told:?}");
        assert!(
            (1_000_000..1_010_000).contains(&told[2]) && (NS_MAX..NS_MAX + 10_000_000).contains(&told[3]),
            "{told:?}"
        );
    }

    #[test]
    fn counters_widen_before_they_saturate() {
        let mut durations = Durations::new();
        for _ in 0..3 {
            durations.record(5000, 40_000);
            durations.record(9000, 1);
        }
        assert_eq!(durations.steps(), [(8, 120_000), (16, 120_003)]);
        assert!(matches!(durations.0, Width::Four(_)));
        durations.record(5000, u32::MAX);
        assert_eq!(durations.steps(), [(8, 120_000 + u64::from(u32::MAX)), (16, 120_003 + u64::from(u32::MAX))]);
        assert!(matches!(durations.0, Width::Eight(_)));
    }
}
