//! When the next message may go: evenly spread, whatever each one takes.
//!
//! Deliberately unknown here: the clock, and what is sent.

use std::time::{Duration, Instant};

/// How much may be made up for when a wait took too long: more than a scheduler's delays, too little to be a burst.
const ARREARS_MAX: Duration = Duration::from_millis(10);

/// So many a second.
#[derive(Debug)]
pub(super) struct Pace {
    interval: Duration,
    /// None before the first.
    due: Option<Instant>,
}

impl Pace {
    /// `rate` is what [`rate`] gives.
    pub(super) fn new(rate: f64) -> Self {
        Pace { interval: Duration::from_secs_f64(1.0 / rate), due: None }
    }

    /// How long the next one has to wait from now.
    pub(super) fn wait(&self, now: Instant) -> Duration {
        self.due.map_or(Duration::ZERO, |due| due.saturating_duration_since(now))
    }

    /// One goes now.
    pub(super) fn take(&mut self, now: Instant) {
        // After a pause of the input there is no burst.
        let due = self.due.map_or(now, |due| due.max(now.checked_sub(ARREARS_MAX).unwrap_or(now)));
        self.due = Some(due + self.interval);
    }
}

/// Reads a number of messages a second.
pub(super) fn rate(text: &str) -> Result<f64, &'static str> {
    let rate = text.parse::<f64>().ok().filter(|rate| (1e-6..=1e9).contains(rate));
    rate.ok_or("not a number from 0.000001 to 1000000000")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_spread_evenly() {
        let begun = Instant::now();
        let mut pace = Pace::new(100.0);
        assert_eq!(pace.wait(begun), Duration::ZERO);
        pace.take(begun);
        assert_eq!(pace.wait(begun), Duration::from_millis(10));
        // A wait that took too long does not slow down what follows.
        let late = begun + Duration::from_millis(13);
        assert_eq!(pace.wait(late), Duration::ZERO);
        pace.take(late);
        assert_eq!(pace.wait(late), Duration::from_millis(7));
    }

    #[test]
    fn a_pause_is_not_made_up_for_by_a_burst() {
        let begun = Instant::now();
        let mut pace = Pace::new(1000.0);
        pace.take(begun);
        let later = begun + Duration::from_secs(60);
        let mut at_once = 0;
        while pace.wait(later).is_zero() {
            pace.take(later);
            at_once += 1;
        }
        assert!(at_once <= 11, "{at_once}");
    }

    #[test]
    fn rates_are_numbers_above_zero() {
        assert_eq!(rate("0.5"), Ok(0.5));
        for wrong in ["0", "-1", "nan", "inf", "1e10", "", "x"] {
            assert!(rate(wrong).is_err(), "{wrong}");
        }
    }
}
