//! When a key was last used, or how often: what OBJECT IDLETIME and OBJECT FREQ tell and eviction goes by.
//!
//! A key carries 24 bits, read as the policy says:
//!
//! ```text
//!   recency     seconds since 1970, modulo 2^24 (194 days)
//!   frequency   minutes since 1970, modulo 2^16  |  a counter, 0 to 255, that grows ever more slowly and decays
//! ```
//!
//! The split, the decay and the chance to grow are those that redis.conf describes for `maxmemory-policy` and `lfu-*`.
//! Invariant: a change of the policy leaves the bits as they are; they mean something again once keys were used.
//! Deliberately unknown here: keys, the clock (the time of the turn is an argument), memory.

use super::settings::{Eviction, EvictionPolicy};

/// What the counter of a new key starts at, so that it is not the first to go.
const COUNTER_INITIAL: u8 = 5;

const SECONDS_MASK: u32 = 0x00ff_ffff;

/// The 24 bits of one key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Stamp([u8; 3]);

impl Stamp {
    fn new(bits: u32) -> Self {
        let [first, second, third, _] = bits.to_le_bytes();
        Stamp([first, second, third])
    }

    fn bits(self) -> u32 {
        let [first, second, third] = self.0;
        u32::from_le_bytes([first, second, third, 0])
    }
}

/// The time of a turn and the policy, as far as stamps depend on them.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Tracker {
    unix_s: u64,
    frequency: bool,
    log_factor: u32,
    decay_minutes: u32,
}

impl Tracker {
    pub(super) fn new(unix_us: u64, eviction: &Eviction) -> Self {
        Tracker {
            unix_s: unix_us / 1_000_000,
            frequency: eviction.policy.goes_by_frequency(),
            log_factor: eviction.lfu_log_factor,
            decay_minutes: eviction.lfu_decay_minutes,
        }
    }

    /// For a key that is new.
    pub(super) fn fresh(&self) -> Stamp {
        self.with_counter(COUNTER_INITIAL)
    }

    /// For a key that was used now.
    pub(super) fn used(&self, old: Stamp, random: &mut fastrand::Rng) -> Stamp {
        if !self.frequency {
            return self.fresh();
        }
        let counter = self.counter(old);
        let above = f64::from(counter.saturating_sub(COUNTER_INITIAL));
        let grows = counter < u8::MAX && random.f64() < 1.0 / (above * f64::from(self.log_factor) + 1.0);
        self.with_counter(counter + u8::from(grows))
    }

    /// For a key that got another value.
    pub(super) fn overwritten(&self, old: Stamp) -> Stamp {
        if self.frequency { old } else { self.fresh() }
    }

    /// Seconds since a key was used, modulo 194 days.
    pub(super) fn idle_s(&self, stamp: Stamp) -> u32 {
        (self.unix_s as u32).wrapping_sub(stamp.bits()) & SECONDS_MASK
    }

    /// How often a key is used, 0 to 255 on a logarithmic scale, decayed up to now.
    pub(super) fn counter(&self, stamp: Stamp) -> u8 {
        let (then, counter) = ((stamp.bits() >> 8) as u16, stamp.0[0]);
        let minutes = u32::from(self.minutes().wrapping_sub(then));
        let decay = minutes.checked_div(self.decay_minutes).unwrap_or(0);
        counter.saturating_sub(u8::try_from(decay).unwrap_or(u8::MAX))
    }

    /// How gladly a key is given up, the larger the sooner, under a policy that goes by its use.
    pub(super) fn staleness(&self, stamp: Stamp) -> u32 {
        if self.frequency { u32::from(u8::MAX - self.counter(stamp)) } else { self.idle_s(stamp) }
    }

    fn minutes(&self) -> u16 {
        (self.unix_s / 60) as u16
    }

    fn with_counter(&self, counter: u8) -> Stamp {
        match self.frequency {
            true => Stamp::new(u32::from(self.minutes()) << 8 | u32::from(counter)),
            false => Stamp::new(self.unix_s as u32),
        }
    }
}

impl EvictionPolicy {
    /// Whether keys count how often they are used instead of when.
    pub(super) fn goes_by_frequency(self) -> bool {
        matches!(self, EvictionPolicy::AllkeysLfu | EvictionPolicy::VolatileLfu)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tracker(unix_s: u64, policy: EvictionPolicy) -> Tracker {
        Tracker::new(unix_s * 1_000_000, &Eviction { policy, ..Eviction::default() })
    }

    #[test]
    fn idle_time_counts_seconds_and_wraps() {
        let at = |unix_s| tracker(unix_s, EvictionPolicy::Noeviction);
        let stamp = at(1_700_000_000).fresh();
        assert_eq!(at(1_700_000_000).idle_s(stamp), 0);
        assert_eq!(at(1_700_000_042).idle_s(stamp), 42);
        assert_eq!(at(1_700_000_000 + (1 << 24) + 7).idle_s(stamp), 7);
        let used = at(1_700_000_100).used(stamp, &mut fastrand::Rng::with_seed(1));
        assert_eq!(at(1_700_000_101).idle_s(used), 1);
    }

    #[test]
    fn counters_grow_ever_more_slowly_and_decay_by_the_minute() {
        let now = tracker(1_700_000_000, EvictionPolicy::AllkeysLfu);
        let random = &mut fastrand::Rng::with_seed(7);
        let mut stamp = now.fresh();
        assert_eq!(now.counter(stamp), COUNTER_INITIAL);
        let mut after = Vec::new();
        for uses in 1..=100_000 {
            stamp = now.used(stamp, random);
            if [100, 1_000, 100_000].contains(&uses) {
                after.push(now.counter(stamp));
            }
        }
        // The table in redis.conf tells 10, 18 and 142 for a factor of 10.
        assert!((8..=13).contains(&after[0]) && (14..=24).contains(&after[1]), "{after:?}");
        assert!((125..=160).contains(&after[2]), "{after:?}");
        let later = tracker(1_700_000_000 + 60 * 50, EvictionPolicy::AllkeysLfu);
        assert_eq!(later.counter(stamp), after[2] - 50);
        assert_eq!(tracker(1_700_000_000 + 60 * 300, EvictionPolicy::AllkeysLfu).counter(stamp), 0);
        assert_eq!(now.overwritten(stamp), stamp);
        assert!(now.staleness(stamp) < now.staleness(now.fresh()));
    }

    #[test]
    fn a_full_counter_stays() {
        let eviction = Eviction { policy: EvictionPolicy::VolatileLfu, lfu_log_factor: 0, ..Eviction::default() };
        let now = Tracker::new(1_000_000, &eviction);
        let random = &mut fastrand::Rng::with_seed(7);
        let full = (0..300).fold(now.fresh(), |stamp, _| now.used(stamp, random));
        assert_eq!(now.counter(full), u8::MAX);
    }
}
