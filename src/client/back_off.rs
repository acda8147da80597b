//! How long to wait before the next attempt to connect: longer each time, up to a bound, and different for everybody.
//!
//! Deliberately unknown here: the clock, and what is attempted.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

use crate::limits;

/// Waits between attempts.
#[derive(Debug, Clone)]
pub(super) struct BackOff {
    /// The longest the next wait may be.
    next: Duration,
    random: fastrand::Rng,
}

impl BackOff {
    /// Begins with the shortest wait; the jitter differs from process to process.
    pub(super) fn new() -> Self {
        BackOff::seeded(RandomState::new().build_hasher().finish())
    }

    fn seeded(seed: u64) -> Self {
        BackOff { next: limits::RECONNECT_WAIT_MIN, random: fastrand::Rng::with_seed(seed) }
    }

    /// The next wait: between half and all of a time that doubles up to [`limits::RECONNECT_WAIT_MAX`].
    pub(super) fn wait(&mut self) -> Duration {
        let longest = self.next;
        self.next = (longest * 2).min(limits::RECONNECT_WAIT_MAX);
        longest / 2 + (longest / 2).mul_f64(self.random.f64())
    }

    /// Begins again with the shortest wait.
    pub(super) fn reset(&mut self) {
        self.next = limits::RECONNECT_WAIT_MIN;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_a_bound_and_are_never_short_of_half() {
        let mut back_off = BackOff::seeded(1);
        let mut longest = limits::RECONNECT_WAIT_MIN;
        for _ in 0..100 {
            let wait = back_off.wait();
            assert!(wait >= longest / 2 && wait <= longest, "{wait:?} of {longest:?}");
            longest = (longest * 2).min(limits::RECONNECT_WAIT_MAX);
        }
        assert_eq!(longest, limits::RECONNECT_WAIT_MAX);
        back_off.reset();
        assert!(back_off.wait() <= limits::RECONNECT_WAIT_MIN);
    }

    #[test]
    fn clients_that_lost_the_same_server_come_back_apart() {
        let waits: std::collections::BTreeSet<Duration> = (0..100).map(|seed| BackOff::seeded(seed).wait()).collect();
        assert!(waits.len() > 90, "{}", waits.len());
    }
}
