//! Figures: histograms that refuse nothing silently, rounds, rows, and what disturbed them.

use std::sync::atomic::Ordering;
use std::time::Instant;

use hdrhistogram::Histogram;

use super::engine::Spec;
use super::machine::{self, Machine, Ticks};
use super::plan::{Loop, Plan};
use super::{Failure, Surroundings};

/// The longest time that is recorded as it is, nanoseconds. What is longer is counted apart.
const LONGEST_NS: u64 = 60_000_000_000;

/// Share of stolen time above which figures are in doubt.
const STOLEN_MAX: f64 = 0.02;

/// Spread of a row's rounds, relative to their median, above which it is called noisy.
const SPREAD_MAX: f64 = 0.5;

/// The 99th percentile of how late requests of a fixed rate may be, nanoseconds.
const LAG_MAX_NS: f64 = 1_000_000.0;

/// Share of windows whose answers waited for the client, above which the client was the limit.
const WAITED_FOR_US_MAX: f64 = 0.5;

/// Times of one kind, nanoseconds, three digits of each kept.
pub struct Timings {
    histogram: Histogram<u64>,
    out_of_range: u64,
}

impl Default for Timings {
    fn default() -> Self {
        Timings::new()
    }
}

impl Timings {
    /// None yet.
    pub fn new() -> Timings {
        /// Digits that are kept.
        const DIGITS: u8 = 3;
        let histogram = Histogram::new(DIGITS).unwrap_or_else(|_| unreachable!("three digits are a valid number"));
        Timings { histogram, out_of_range: 0 }
    }

    /// Adds one, nanoseconds.
    pub fn record(&mut self, nanoseconds: u64) {
        if nanoseconds > LONGEST_NS || self.histogram.record(nanoseconds.max(1)).is_err() {
            self.out_of_range += 1;
        }
    }

    /// Adds those of another.
    pub fn add(&mut self, other: &Timings) {
        // It grows with what is added; only an overflow of a counter could refuse it.
        if self.histogram.add(&other.histogram).is_err() {
            self.out_of_range += other.histogram.len();
        }
        self.out_of_range += other.out_of_range;
    }

    /// How many there are, those out of range among them.
    pub fn count(&self) -> u64 {
        self.histogram.len() + self.out_of_range
    }

    /// Those above a minute, which no percentile holds.
    pub fn out_of_range(&self) -> u64 {
        self.out_of_range
    }

    /// The percentiles every output has; none without a single time.
    pub fn summary(&self) -> Option<Summary> {
        if self.histogram.is_empty() {
            return None;
        }
        let at = |percentile: f64| self.histogram.value_at_quantile(percentile / 100.0) as f64;
        Some(Summary {
            min: self.histogram.min() as f64,
            p50: at(50.0),
            p90: at(90.0),
            p95: at(95.0),
            p99: at(99.0),
            p999: at(99.9),
            p9999: at(99.99),
            max: self.histogram.max() as f64,
            mean: self.histogram.mean(),
        })
    }

    /// Points of its curve: percentile 0 to 100 and nanoseconds, denser towards the end.
    pub fn curve(&self) -> Vec<(f64, f64)> {
        self.histogram
            .iter_quantiles(5)
            .map(|step| (step.quantile_iterated_to() * 100.0, step.value_iterated_to() as f64))
            .collect()
    }

    /// The histogram in the text form of HdrHistogram: value in microseconds, percentile, count, 1/(1-percentile).
    pub fn percentile_text(&self) -> String {
        let mut text =
            format!("{:>12} {:>14} {:>10} {:>14}\n\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)");
        let mut counted = 0;
        for step in self.histogram.iter_quantiles(5) {
            counted += step.count_since_last_iteration();
            let quantile = step.quantile_iterated_to();
            let value = step.value_iterated_to() as f64 / 1000.0;
            let inverse = if quantile < 1.0 { format!("{:>14.2}", 1.0 / (1.0 - quantile)) } else { "inf".into() };
            text += &format!("{value:>12.3} {quantile:>14.12} {counted:>10} {inverse:>14}\n");
        }
        let (mean, deviation) = (self.histogram.mean() / 1000.0, self.histogram.stdev() / 1000.0);
        text += &format!("#[Mean    = {mean:>12.3}, StdDeviation   = {deviation:>12.3}]\n");
        text += &format!(
            "#[Max     = {:>12.3}, Total count    = {:>12}]\n#[Buckets = {:>12}, SubBuckets     = {:>12}]\n",
            self.histogram.max() as f64 / 1000.0,
            self.histogram.len(),
            self.histogram.buckets(),
            2048
        );
        text
    }
}

/// Percentiles of one kind of times, nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Summary {
    /// The shortest.
    pub min: f64,
    /// 50 of 100 are no longer.
    pub p50: f64,
    /// 90 of 100.
    pub p90: f64,
    /// 95 of 100.
    pub p95: f64,
    /// 99 of 100.
    pub p99: f64,
    /// 999 of 1,000.
    pub p999: f64,
    /// 9,999 of 10,000.
    pub p9999: f64,
    /// The longest.
    pub max: f64,
    /// Their mean.
    pub mean: f64,
}

impl Summary {
    /// The median of each figure over rounds, but the shortest and the longest of all.
    pub fn over(rounds: &[Summary]) -> Option<Summary> {
        let middle = |of: fn(&Summary) -> f64| median(rounds.iter().map(of).collect());
        Some(Summary {
            min: rounds.iter().map(|round| round.min).reduce(f64::min)?,
            p50: middle(|round| round.p50)?,
            p90: middle(|round| round.p90)?,
            p95: middle(|round| round.p95)?,
            p99: middle(|round| round.p99)?,
            p999: middle(|round| round.p999)?,
            p9999: middle(|round| round.p9999)?,
            max: rounds.iter().map(|round| round.max).reduce(f64::max)?,
            mean: middle(|round| round.mean)?,
        })
    }
}

/// The value in the middle; of an even number, the mean of the two.
pub fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let upper = *values.get(values.len() / 2)?;
    let lower = if values.len().is_multiple_of(2) { values[values.len() / 2 - 1] } else { upper };
    Some((lower + upper) / 2.0)
}

/// One round of one engine.
#[derive(Debug, Clone)]
pub struct RoundFigures {
    /// How many samples.
    pub samples: u64,
    /// How long they took, seconds.
    pub seconds: f64,
    /// Operations a second.
    pub operations_per_second: f64,
    /// Until the answer.
    pub ack: Option<Summary>,
    /// Until the last delivery.
    pub delivery: Option<Summary>,
    /// Of a fixed rate: how long the server took for a request alone, as a closed loop would have seen it.
    pub service: Option<Summary>,
    /// Nanoseconds a cache line takes between the two processors and back, beside rounds over rings.
    pub ping_pong_ns: Option<f64>,
}

/// Memory of a server, MiB.
#[derive(Debug, Clone, Copy)]
pub struct Memory {
    /// When nothing was asked of it yet.
    pub baseline_mib: f64,
    /// Once everything was set up.
    pub filled_mib: f64,
}

impl Memory {
    /// What was added.
    pub fn delta_mib(&self) -> f64 {
        self.filled_mib - self.baseline_mib
    }
}

/// How it went.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// There are figures.
    Measured,
    /// The engine cannot; says why.
    NotAvailable(String),
    /// It failed; says how.
    Failed(String),
}

/// One engine's part of a row.
pub struct Cell {
    /// How it went.
    pub outcome: Outcome,
    /// Its rounds.
    pub rounds: Vec<RoundFigures>,
    /// All rounds together: until the answer.
    pub ack: Timings,
    /// All rounds together: until the last delivery.
    pub delivery: Timings,
    /// What it had in memory.
    pub memory: Option<Memory>,
    /// Further figures by name, with the unit at its end.
    pub extra: Vec<(&'static str, f64)>,
    /// Errors by text and how often; they are no part of any figure.
    pub errors: Vec<(String, u64)>,
}

impl Cell {
    pub(super) fn new() -> Cell {
        let (ack, delivery) = (Timings::new(), Timings::new());
        let (rounds, extra, errors) = (Vec::new(), Vec::new(), Vec::new());
        Cell { outcome: Outcome::Measured, rounds, ack, delivery, memory: None, extra, errors }
    }

    /// Takes a failure as what the cell says; answers one that ends everything.
    pub(super) fn fail(&mut self, failure: Failure) -> Result<(), Failure> {
        self.outcome = match failure {
            Failure::Stopped => return Err(Failure::Stopped),
            Failure::NotAvailable(why) => Outcome::NotAvailable(why),
            Failure::Refused(words) => {
                self.errors.push((words.clone(), 1));
                Outcome::Failed(Failure::Refused(words).to_string())
            }
            failure => Outcome::Failed(failure.to_string()),
        };
        Ok(())
    }

    /// Over its rounds: until the answer.
    pub fn ack_summary(&self) -> Option<Summary> {
        Summary::over(&self.rounds.iter().filter_map(|round| round.ack).collect::<Vec<_>>())
    }

    /// Over its rounds: until the last delivery.
    pub fn delivery_summary(&self) -> Option<Summary> {
        Summary::over(&self.rounds.iter().filter_map(|round| round.delivery).collect::<Vec<_>>())
    }

    /// Over its rounds: what the server took for a request alone.
    pub fn service_summary(&self) -> Option<Summary> {
        Summary::over(&self.rounds.iter().filter_map(|round| round.service).collect::<Vec<_>>())
    }

    /// The median rate over its rounds.
    pub fn operations_per_second(&self) -> Option<f64> {
        median(self.rounds.iter().map(|round| round.operations_per_second).collect())
    }

    /// All samples together.
    pub fn samples(&self) -> u64 {
        self.rounds.iter().map(|round| round.samples).sum()
    }

    /// The least and the most cost of a cache line beside its rounds, nanoseconds.
    pub fn ping_pong_ns(&self) -> Option<(f64, f64)> {
        let all = || self.rounds.iter().filter_map(|round| round.ping_pong_ns);
        Some((all().reduce(f64::min)?, all().reduce(f64::max)?))
    }
}

/// Which figure decides a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Primary {
    /// The median time until the last delivery: less is better.
    Delivery,
    /// The median time until the answer: less is better.
    Ack,
    /// Operations a second: more is better.
    Rate,
    /// A further figure: less is better.
    Extra(&'static str),
}

/// How an engine compares with the baseline.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Comparison {
    /// So many times as good; below 1 it is worse.
    Ratio(f64),
    /// The ranges of their rounds overlap.
    NoDifference,
}

/// One thing that was measured on every engine.
pub struct Row {
    /// What it is, such as `pattern-hit`.
    pub scenario: String,
    /// Its size, such as `8192-patterns`.
    pub detail: String,
    /// Subscribers, or clients.
    pub clients: usize,
    /// Channels that are subscribed to by name.
    pub literal_subscriptions: usize,
    /// Patterns that are subscribed to.
    pub pattern_subscriptions: usize,
    /// Bytes of a message or a value.
    pub payload_bytes: usize,
    /// Who gets each message.
    pub deliveries_per_publish: usize,
    /// What decides it.
    pub primary: Primary,
    /// One for each engine, in their order.
    pub cells: Vec<Cell>,
}

impl Row {
    /// The deciding figure of each round of an engine.
    pub fn values(&self, engine: usize) -> Vec<f64> {
        let cell = &self.cells[engine];
        let rounds = cell.rounds.iter();
        match self.primary {
            Primary::Delivery => rounds.filter_map(|round| Some(round.delivery?.p50)).collect(),
            Primary::Ack => rounds.filter_map(|round| Some(round.ack?.p50)).collect(),
            Primary::Rate => rounds.map(|round| round.operations_per_second).collect(),
            Primary::Extra(name) => {
                cell.extra.iter().filter(|(known, _)| *known == name).map(|(_, value)| *value).collect()
            }
        }
    }

    /// The least and the most of them.
    pub fn range(&self, engine: usize) -> Option<(f64, f64)> {
        let values = self.values(engine);
        let least = values.iter().copied().reduce(f64::min)?;
        Some((least, values.iter().copied().reduce(f64::max)?))
    }

    /// How an engine compares; none when one of the two has no figure.
    pub fn compare(&self, engine: usize, baseline: usize) -> Option<Comparison> {
        let (least, most) = self.range(engine)?;
        let (base_least, base_most) = self.range(baseline)?;
        let single = self.values(engine).len() < 2 || self.values(baseline).len() < 2;
        if !single && least <= base_most && base_least <= most {
            return Some(Comparison::NoDifference);
        }
        let (value, base) = (median(self.values(engine))?, median(self.values(baseline))?);
        Some(Comparison::Ratio(if self.primary == Primary::Rate { value / base } else { base / value }))
    }
}

/// An engine as it was measured.
#[derive(Debug, Clone)]
pub struct EngineFacts {
    /// As the user named it.
    pub name: String,
    /// What carried the bytes.
    pub transport: &'static str,
    /// What it tells of itself.
    pub version: String,
}

/// Everything that was measured.
pub struct Report {
    /// What was measured.
    pub workload: &'static str,
    /// Which loop.
    pub pace: Loop,
    /// On what machine.
    pub machine: Machine,
    /// The engines, in order.
    pub engines: Vec<EngineFacts>,
    /// Which of them ratios are relative to.
    pub baseline: usize,
    /// The rows, in order.
    pub rows: Vec<Row>,
    /// What puts figures in doubt.
    pub warnings: Vec<String>,
    /// It was ended before its end.
    pub stopped: bool,
    /// What ended it before its end, by itself.
    pub broken: Option<String>,
    /// The seed of random choices.
    pub seed: u64,
    /// Where engines ran.
    pub server_cpu: Option<usize>,
    /// Where the client ran.
    pub client_cpu: Option<usize>,
    /// How long all of it took, seconds.
    pub seconds: f64,
    pub(super) lag: Timings,
    pub(super) windows: (u64, u64),
    began: (Instant, Ticks),
}

impl Report {
    pub(super) fn begin(plan: &Plan) -> Report {
        let fact = |spec: &Spec| {
            let transport = spec.transport.unwrap_or(super::engine::Transport::Unix).name();
            EngineFacts { name: spec.name.clone(), transport, version: String::new() }
        };
        Report {
            workload: plan.workload.name(),
            pace: plan.pace,
            machine: Machine::here(plan.processors.len()),
            engines: plan.engines.iter().map(fact).collect(),
            baseline: plan.baseline,
            rows: Vec::new(),
            warnings: Vec::new(),
            stopped: false,
            seed: plan.seed,
            server_cpu: plan.server_cpu,
            client_cpu: plan.client_cpu,
            seconds: 0.0,
            lag: Timings::new(),
            windows: (0, 0),
            broken: None,
            began: (Instant::now(), Ticks::now()),
        }
    }

    /// True when a row has failed.
    pub fn has_failed(&self) -> bool {
        let mut cells = self.rows.iter().flat_map(|row| &row.cells);
        self.broken.is_some() || cells.any(|cell| matches!(cell.outcome, Outcome::Failed(_)))
    }

    /// Settles what can only be told at the end.
    pub(super) fn finish(&mut self, plan: &Plan, surroundings: Surroundings<'_>) {
        self.stopped = surroundings.stop.load(Ordering::Relaxed);
        self.seconds = self.began.0.elapsed().as_secs_f64();
        let stolen = Ticks::now().stolen_since(self.began.1);
        if stolen > STOLEN_MAX {
            self.warnings.push(format!("the host took {:.1} % of the processors' time for others", stolen * 100.0));
        }
        if machine::load().is_some_and(|load| load > plan.processors.len() as f64 + 0.5) {
            self.warnings.push("more tasks were ready to run than there are processors".to_owned());
        }
        if !plan.spins() {
            self.warnings
                .push("client and servers share a processor: the scheduler is part of every figure".to_owned());
        }
        let noisy = self.noisy_rows();
        if noisy > 0 {
            let share = SPREAD_MAX * 100.0;
            self.warnings
                .push(format!("{noisy} figures spread over more than {share} % of their median: a noisy machine"));
        }
        if let Some(lag) = self.lag.summary().filter(|lag| lag.p99 > LAG_MAX_NS) {
            let late = lag.p99 / 1e6;
            self.warnings
                .push(format!("the client was the limit: 1 in 100 requests was sent {late:.1} ms or more late"));
        }
        let (all, waited) = self.windows;
        if all > 0 && waited as f64 / all as f64 > WAITED_FOR_US_MAX {
            let share = waited as f64 / all as f64 * 100.0;
            self.warnings.push(format!(
                "the client was the limit: in {share:.0} % of the windows all answers were there when the last request was sent"
            ));
        }
    }

    fn noisy_rows(&self) -> usize {
        let mut noisy = 0;
        for row in &self.rows {
            for engine in 0..row.cells.len() {
                let Some((least, most)) = row.range(engine) else { continue };
                let middle = median(row.values(engine)).unwrap_or(f64::INFINITY);
                noisy += usize::from((most - least) / middle > SPREAD_MAX);
            }
        }
        noisy
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(rounds: [&[f64]; 2]) -> Row {
        let cells = rounds.map(|values| {
            let mut cell = Cell::new();
            for value in values {
                let figures = Summary { p50: *value, ..Summary::default() };
                cell.rounds.push(RoundFigures {
                    samples: 1,
                    seconds: 1.0,
                    operations_per_second: *value,
                    ack: Some(figures),
                    delivery: None,
                    service: None,
                    ping_pong_ns: None,
                });
            }
            cell
        });
        Row {
            scenario: "s".into(),
            detail: "d".into(),
            clients: 1,
            literal_subscriptions: 0,
            pattern_subscriptions: 0,
            payload_bytes: 0,
            deliveries_per_publish: 0,
            primary: Primary::Ack,
            cells: cells.into(),
        }
    }

    #[test]
    fn ranges_that_overlap_are_no_difference() {
        let mut compared = row([&[10.0, 12.0, 11.0], &[12.0, 20.0, 30.0]]);
        assert_eq!(compared.compare(1, 0), Some(Comparison::NoDifference));
        compared = row([&[10.0, 12.0, 11.0], &[22.0, 20.0, 30.0]]);
        assert_eq!(compared.compare(1, 0), Some(Comparison::Ratio(0.5)));
        compared.primary = Primary::Rate;
        assert_eq!(compared.compare(1, 0), Some(Comparison::Ratio(2.0)));
        assert_eq!(row([&[1.0, 2.0], &[]]).compare(1, 0), None);
    }

    #[test]
    fn what_is_too_long_is_counted_and_not_clamped() {
        let mut times = Timings::new();
        times.record(LONGEST_NS + 1);
        times.record(1_000);
        let summary = times.summary().unwrap();
        assert_eq!((times.count(), times.out_of_range()), (2, 1));
        assert!(summary.max < 1_010.0, "{summary:?}");
        let mut all = Timings::new();
        all.add(&times);
        assert_eq!((all.count(), all.out_of_range()), (2, 1));
    }

    #[test]
    fn medians_are_in_the_middle() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(vec![3.0, 1.0]), Some(2.0));
        assert_eq!(median(Vec::new()), None);
    }
}
