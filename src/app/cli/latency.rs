//! How long a PING takes there and back: percentiles of each interval and of the whole run.
//!
//! Samples are taken one after the other with a pause between them, so that the server is asked rather than loaded.
//!
//! Invariant: an interval's figures are made of its own samples only.
//! Deliberately unknown here: what the server does meanwhile.

use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use super::Count;
use crate::app::Stop;
use crate::app::connect::Target;
use crate::app::show::{self, Figure, Output};
use crate::app::watch::Interrupts;
use crate::client::{ClientError, Connection};
use crate::error::{Error, Exit};

/// Between two samples: some thousand of them make a percentile of 99.9 in a few seconds.
const PAUSE: Duration = Duration::from_millis(1);

/// Longest time that is told apart, in nanoseconds: a minute.
const LONGEST_NS: u64 = 60_000_000_000;

/// Significant digits of what is told.
const DIGITS: u8 = 3;

/// Measures so many intervals, or until Ctrl-C.
pub(super) fn run(target: &Target, interval: Duration, rounds: Count, json: bool) -> Result<Exit, Error> {
    let interrupts = Interrupts::watch()?;
    let mut probe = Probe { connection: target.open()?, interrupts };
    // The first one pays for what is set up once.
    probe.sample()?;
    let mut report = Report { output: Output::standard(), json, all: Samples::new() };
    let measured = report.measure(&mut probe, interval, rounds);
    if matches!(measured, Ok(Exit::Interrupted)) {
        show::end_line_of_interrupt();
    }
    let summed = report.summary();
    Stop::settle(measured.and_then(|exit| summed.map(|()| exit)))
}

struct Probe {
    connection: Connection,
    interrupts: Interrupts,
}

impl Probe {
    /// The time of one round trip; none when Ctrl-C ended the wait.
    fn sample(&mut self) -> Result<Option<Duration>, ClientError> {
        let sent = Instant::now();
        self.connection.send(&[b"PING"])?;
        loop {
            match self.connection.receive_until(Instant::now() + Interrupts::LOOK)? {
                Some(value) if value.is_push() => {}
                Some(error) if error.is_error() => {
                    let words = String::from_utf8_lossy(error.as_bytes().unwrap_or_default()).into_owned();
                    return Err(ClientError::Refused(words));
                }
                Some(_) => return Ok(Some(sent.elapsed())),
                None if self.interrupts.taken() => return Ok(None),
                None => {}
            }
        }
    }
}

/// Times of round trips.
struct Samples(Histogram<u64>);

impl Samples {
    fn new() -> Self {
        Samples(Histogram::new_with_bounds(1, LONGEST_NS, DIGITS).expect("the bounds are constants that fit"))
    }

    fn add(&mut self, time: Duration) {
        self.0.saturating_record(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    }

    /// Count, least, percentiles, most; times in microseconds.
    fn figures(&self) -> [(&'static str, Figure); 6] {
        let us = |ns: u64| Figure::Real(ns as f64 / 1000.0);
        let at = |quantile| us(self.0.value_at_quantile(quantile));
        [
            ("samples", Figure::Count(self.0.len())),
            ("min_us", us(self.0.min())),
            ("p50_us", at(0.5)),
            ("p99_us", at(0.99)),
            ("p99_9_us", at(0.999)),
            ("max_us", us(self.0.max())),
        ]
    }
}

struct Report {
    output: Output,
    json: bool,
    all: Samples,
}

impl Report {
    fn measure(&mut self, probe: &mut Probe, interval: Duration, rounds: Count) -> Result<Exit, Stop> {
        let mut done = 0;
        while rounds.wants_more(done) {
            let (samples, is_whole) = self.interval(probe, Instant::now() + interval)?;
            if !is_whole {
                return Ok(Exit::Interrupted);
            }
            if done.is_multiple_of(20) && !self.json {
                self.output.text(header())?;
            }
            done += 1;
            self.print(Figure::Count(done), &samples)?;
        }
        Ok(Exit::Done)
    }

    /// The samples until `end`, and whether it was reached.
    fn interval(&mut self, probe: &mut Probe, end: Instant) -> Result<(Samples, bool), Stop> {
        let mut samples = Samples::new();
        while Instant::now() < end {
            let Some(time) = probe.sample()? else { return Ok((samples, false)) };
            samples.add(time);
            self.all.add(time);
            if !probe.interrupts.sleep_until(Instant::now() + PAUSE) {
                return Ok((samples, false));
            }
        }
        Ok((samples, true))
    }

    fn summary(&mut self) -> Result<(), Stop> {
        let all = std::mem::replace(&mut self.all, Samples::new());
        self.print(Figure::Text("all"), &all)
    }

    fn print(&mut self, interval: Figure, samples: &Samples) -> Result<(), Stop> {
        let figures = samples.figures();
        if self.json {
            let fields: Vec<_> = [("interval", interval)].into_iter().chain(figures).collect();
            self.output.object(&fields)?;
        } else {
            let cells = figures.iter().map(|(_, figure)| format!(" {figure:>10}")).collect::<String>();
            self.output.text(format_args!("{interval:>8}{cells}\n"))?;
        }
        self.output.flush()
    }
}

fn header() -> String {
    let names = ["samples", "min us", "p50 us", "p99 us", "p99.9 us", "max us"];
    format!("{:>8}{}\n", "interval", names.map(|name| format!(" {name:>10}")).concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_the_samples() {
        let mut samples = Samples::new();
        (1..=1000).for_each(|us| samples.add(Duration::from_micros(us)));
        samples.add(Duration::from_secs(3600));
        let text = samples.figures().map(|(name, figure)| format!("{name} {figure}")).join(", ");
        // Three digits are kept, and what is longer than a minute counts as one.
        assert_eq!(text, "samples 1001, min_us 1.0, p50_us 501.2, p99_us 991.2, p99_9_us 1000.4, max_us 60028878.8");
    }
}
