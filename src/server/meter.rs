//! How long commands take, measured where one ends and the next begins.
//!
//! A look at the clock costs 25 ns, a tenth of a small command. So commands that are brief by their nature (flagged
//! `fast`, or SET, and with few words) are measured together as long as the same one follows: up to sixteen share two
//! looks, and each is booked with the mean. In between, the clock that the kernel keeps at its own tick (every 1 to
//! 10 ms, 5 ns to read) is compared: a command in which a tick fell is looked at, and when the time since the last look
//! is long after all (a large value freed on expiry, a page fault, the processor taken away), it is that command's. So
//! whatever takes a tick or more is told from its neighbours exactly. All other commands are measured one by one.
//! While the slow log or the latency monitor asks for less than a tick, every command is.
//!
//! Invariant: every command that ran is booked once; what was refused or queued is in nobody's time.
//! Of a reply that is told in pieces only the first counts: the rest is sent when its reader is ready.
//! Deliberately unknown here: what a slow command leads to.

use std::time::{Duration, Instant};

use crate::command::{CommandId, Flags, Spec};
use crate::limits::MEASURED_TOGETHER_MAX;

use super::stats::Stats;

/// Words a brief command has at most.
const BRIEF_WORDS_MAX: usize = 16;

/// In this time a full run of brief commands is through; longer than that, something held it up.
const RUN_MAX: Duration = Duration::from_micros(200);

/// Measures the commands of one turn.
pub(super) struct Meter {
    /// Where the time not booked yet begins.
    since: Instant,
    /// Time has passed since then that belongs to no command.
    stale: bool,
    /// Brief commands of one kind that ran since then, and how many.
    run: Option<(&'static Spec, u32)>,
    /// The kernel's tick when the last of them ended.
    tick: Tick,
}

impl Meter {
    /// A turn begins.
    pub(super) fn new(started: Instant) -> Self {
        Meter { since: started, stale: false, run: None, tick: Tick::default() }
    }

    /// What passes until the next command begins is nobody's time.
    pub(super) fn skip(&mut self, stats: &mut Stats) {
        self.settle(stats);
        self.stale = true;
    }

    /// A command begins; `together` allows to measure it with its neighbours. Answers when it began, exactly unless it
    /// continues a run.
    pub(super) fn begin(&mut self, spec: &'static Spec, words: usize, together: bool, stats: &mut Stats) -> Instant {
        let brief = together && is_brief(spec, words);
        if self.run.is_some_and(|(running, _)| !brief || running.id != spec.id) {
            self.settle(stats);
        }
        if std::mem::take(&mut self.stale) {
            self.since = Instant::now();
        }
        if brief && self.run.is_none() {
            self.run = Some((spec, 0));
            self.tick = Tick::now();
        }
        self.since
    }

    /// The command begun last has ended. Answers how long it took when that was measured for it alone.
    pub(super) fn end(&mut self, spec: &'static Spec, stats: &mut Stats) -> Option<Duration> {
        let Some((_, count)) = &mut self.run else {
            let took = self.lap();
            stats.book_time(spec.id, took, 1);
            return Some(took);
        };
        *count += 1;
        let count = *count;
        let tick = Tick::now();
        if std::mem::replace(&mut self.tick, tick) != tick && self.since.elapsed() > RUN_MAX {
            return Some(self.end_long(spec, count - 1, stats));
        }
        if count == MEASURED_TOGETHER_MAX {
            self.settle(stats);
        }
        None
    }

    /// The last of a run was long. Those before it were not, or the tick had fallen into them: they are booked with
    /// what the command took on average so far.
    fn end_long(&mut self, spec: &'static Spec, before: u32, stats: &mut Stats) -> Duration {
        self.run = None;
        let total = self.lap();
        let earlier = (stats.mean_time(spec.id) * before).min(total / 2);
        if before > 0 {
            stats.book_time(spec.id, earlier, before);
        }
        stats.book_time(spec.id, total - earlier, 1);
        total - earlier
    }

    /// The command that began at `begun`, and ran others inside itself, has ended.
    pub(super) fn end_outer(&mut self, spec: &'static Spec, begun: Instant, stats: &mut Stats) -> Duration {
        self.settle(stats);
        self.lap();
        let took = self.since.duration_since(begun);
        stats.book_time(spec.id, took, 1);
        took
    }

    /// Books the run of brief commands that is not booked yet.
    pub(super) fn settle(&mut self, stats: &mut Stats) {
        if let Some((spec, count)) = self.run.take()
            && count > 0
        {
            let took = self.lap();
            stats.book_time(spec.id, took, count);
        }
    }

    /// The time since the last look, and looks.
    fn lap(&mut self) -> Duration {
        let now = Instant::now();
        now.duration_since(std::mem::replace(&mut self.since, now))
    }
}

fn is_brief(spec: &Spec, words: usize) -> bool {
    let by_nature = spec.flags.contains(Flags::FAST) || spec.id == CommandId::SET;
    by_nature && words <= BRIEF_WORDS_MAX && spec.id != CommandId::EXEC
}

/// Whether commands may be measured together while these durations must be told exactly: in microseconds, none when it
/// is negative or 0.
pub(super) fn may_measure_together(slow_us_min: i64, spike_us_min: i64) -> bool {
    let Some(tick_us) = Tick::length_us() else { return false };
    (slow_us_min < 0 || slow_us_min >= tick_us) && (spike_us_min <= 0 || spike_us_min >= tick_us)
}

/// The kernel's clock at its last tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Tick {
    s: i64,
    ns: i64,
}

#[cfg(target_os = "linux")]
impl Tick {
    fn now() -> Self {
        use nix::time::{ClockId, clock_gettime};
        let time = clock_gettime(ClockId::CLOCK_MONOTONIC_COARSE);
        time.map_or(Tick::default(), |time| Tick { s: time.tv_sec(), ns: time.tv_nsec() })
    }

    /// Microseconds from one tick to the next; none when that is not known.
    fn length_us() -> Option<i64> {
        use nix::time::{ClockId, clock_getres};
        let length = clock_getres(ClockId::CLOCK_MONOTONIC_COARSE).ok()?;
        Some(length.tv_sec() * 1_000_000 + length.tv_nsec() / 1000)
    }
}

#[cfg(not(target_os = "linux"))]
impl Tick {
    fn now() -> Self {
        Tick::default()
    }

    fn length_us() -> Option<i64> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::stats::Process;

    fn stats() -> Stats {
        Stats::new(Process::nowhere())
    }

    fn booked(stats: &mut Stats, id: CommandId) -> u64 {
        stats.duration_steps(&mut |spec| spec.id == id).first().map_or(0, |(_, steps)| steps.last().unwrap().1)
    }

    #[test]
    fn every_command_is_booked_once() {
        let (get, ping, keys) = (CommandId::GET.spec(), CommandId::PING.spec(), CommandId::KEYS.spec());
        for together in [false, true] {
            let mut stats = stats();
            let mut meter = Meter::new(Instant::now());
            for spec in [get, get, get, keys, keys, get, ping].into_iter().chain([get; 40]) {
                meter.begin(spec, 2, together, &mut stats);
                let alone = meter.end(spec, &mut stats);
                assert!(alone.is_some() || together, "{}", spec.name);
                assert!(alone.is_some() || spec.id != keys.id, "KEYS is never brief");
            }
            meter.settle(&mut stats);
            let counts = [get, ping, keys].map(|spec| booked(&mut stats, spec.id));
            assert_eq!(counts, [44, 1, 2], "together: {together}");
        }
    }

    #[test]
    fn a_long_command_in_a_run_is_found() {
        let mut stats = stats();
        let get = CommandId::GET.spec();
        let mut meter = Meter::new(Instant::now());
        let tick = Duration::from_micros(Tick::length_us().unwrap_or(10_000) as u64);
        let mut found = Vec::new();
        for at in 0..10 {
            meter.begin(get, 2, true, &mut stats);
            let began = Instant::now();
            while at == 6 && began.elapsed() < 2 * tick {}
            if let Some(took) = meter.end(get, &mut stats)
                && took >= tick
            {
                found.push(at);
            }
        }
        meter.settle(&mut stats);
        assert!(found.contains(&6), "{found:?}");
        assert_eq!(booked(&mut stats, get.id), 10);
    }

    #[test]
    fn durations_below_a_tick_are_measured_one_by_one() {
        assert!(!may_measure_together(0, 0));
        assert!(!may_measure_together(-1, 1));
        assert_eq!(may_measure_together(-1, 0), Tick::length_us().is_some());
        assert_eq!(may_measure_together(1_000_000, 1_000_000), Tick::length_us().is_some());
    }

    #[test]
    fn what_is_skipped_is_nobodys_time() {
        let mut stats = stats();
        let keys = CommandId::KEYS.spec();
        let mut meter = Meter::new(Instant::now());
        meter.skip(&mut stats);
        let wait = Instant::now();
        while wait.elapsed() < Duration::from_millis(5) {}
        let begun = meter.begin(keys, 2, true, &mut stats);
        assert!(begun >= wait + Duration::from_millis(5));
    }
}
