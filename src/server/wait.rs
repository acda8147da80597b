//! How the engine thread waits: it polls for a while after something happened, then sleeps.
//!
//! A sleeping thread is woken through the kernel, which is three quarters of the latency of a socket round trip, and
//! nearly all of one over a ring. So after activity the thread keeps polling for a budget, and the budget learns: it
//! doubles when the next event comes within reach, and halves when polling was in vain. A slow trickle or a shared CPU
//! then costs no polling at all.
//!
//! Rings can wake nobody unless their clients help: while a ring is taken by one that does not, a sleep is cut into
//! short ones.

use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::rc::Rc;
use std::time::{Duration, Instant};

use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use nix::unistd::Pid;
use tokio::io::unix::AsyncFd;

use crate::error::Error;

use super::Shared;
use super::config::Wait;

/// Longest time to poll in vain: two wake-ups of a sleeping thread on the machines this was measured on (25 us each),
/// so that polling never costs more than it can save.
const SPIN_BUDGET_MAX: Duration = Duration::from_micros(50);

/// What a budget of zero grows to when an event came soon enough for polling to have caught it.
const SPIN_BUDGET_MIN: Duration = Duration::from_micros(6);

/// The same while a ring is hot: its round trips are so much shorter than a wake-up that more is worth trying.
const RING_SPIN_BUDGET_MAX: Duration = Duration::from_millis(1);

/// What the event loop's own timers can tell apart.
const EVENT_LOOP_TICK: Duration = Duration::from_millis(1);

/// The polling budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Budget(Duration);

impl Budget {
    /// An event came while polling, or soon after polling ended; no budget is more than `max`.
    fn grow(&mut self, max: Duration) {
        self.0 = (self.0 * 2).clamp(SPIN_BUDGET_MIN, max);
    }

    /// Polling ended without an event.
    fn shrink(&mut self) {
        self.0 /= 2;
        if self.0 < SPIN_BUDGET_MIN {
            self.0 = Duration::ZERO;
        }
    }
}

/// The task that polls. While it yields, the runtime looks for events without sleeping.
pub(super) async fn wait(shared: Rc<Shared>, wait: Wait) {
    match wait {
        Wait::Block => block(shared).await,
        Wait::Spin => loop {
            shared.look();
            tokio::task::yield_now().await;
        },
        Wait::Adaptive => adapt(shared).await,
    }
}

/// Sockets wake their own tasks; rings are looked at between sleeps.
async fn block(shared: Rc<Shared>) {
    let tick = Tick::new();
    loop {
        while shared.look_at_all_rings() {
            tokio::task::yield_now().await;
        }
        shared.rings.borrow_mut().cool(Instant::now());
        shared.sleep(&tick).await;
    }
}

async fn adapt(shared: Rc<Shared>) {
    let tick = Tick::new();
    let mut budget = Budget(Duration::ZERO);
    let mut asleep_since = Instant::now();
    loop {
        let woken = shared.sleep(&tick).await;
        if !woken && !shared.look_at_all_rings() {
            // Only what came counts as being awake.
            continue;
        }
        let max = shared.spin_budget_max();
        if asleep_since.elapsed() <= max {
            budget.grow(max);
        }
        poll(&shared, &mut budget).await;
        shared.hot.borrow_mut().cool();
        shared.rings.borrow_mut().cool(Instant::now());
        asleep_since = Instant::now();
    }
}

/// Polls until the budget passes without an event.
async fn poll(shared: &Shared, budget: &mut Budget) {
    let mut seen = shared.activity.get();
    let mut since = Instant::now();
    while !budget.0.is_zero() {
        shared.look();
        tokio::task::yield_now().await;
        let now = Instant::now();
        shared.rings.borrow_mut().cool(now);
        let max = shared.spin_budget_max();
        if shared.activity.get() != seen {
            seen = shared.activity.get();
            since = now;
            budget.grow(max);
        } else if now - since >= budget.0.min(max) {
            return budget.shrink();
        }
    }
}

impl Shared {
    fn spin_budget_max(&self) -> Duration {
        match self.rings.borrow().has_hot() {
            true => RING_SPIN_BUDGET_MAX,
            false => SPIN_BUDGET_MAX,
        }
    }

    /// Sleeps until a round was run, or until rings must be looked at: false then.
    async fn sleep(&self, tick: &Tick) -> bool {
        self.waiting_sleeps.set(true);
        let Some(rest) = self.leave_rings() else {
            self.stirred.notified().await;
            return true;
        };
        tokio::select! {
            biased;
            () = self.stirred.notified() => true,
            () = tick.after(rest) => {
                self.waiting_sleeps.set(false);
                false
            }
        }
    }
}

/// A clock that ticks finer than the event loop's timers, which are a millisecond coarse.
struct Tick(Option<AsyncFd<Timer>>);

struct Timer(TimerFd);

impl AsRawFd for Timer {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_fd().as_raw_fd()
    }
}

impl Tick {
    #[expect(deprecated, reason = "the successor asks for a promise that a descriptor never changes; this one is ours")]
    fn new() -> Self {
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC);
        Tick(timer.ok().and_then(|timer| AsyncFd::new(Timer(timer)).ok()))
    }

    /// Waits for so long.
    async fn after(&self, rest: Duration) {
        let once = Expiration::OneShot(TimeSpec::from_duration(rest));
        let Some(timer) = self.0.as_ref().filter(|_| rest < EVENT_LOOP_TICK) else {
            return tokio::time::sleep(rest).await;
        };
        if timer.get_ref().0.set(once, TimerSetTimeFlags::empty()).is_err() {
            return tokio::time::sleep(rest).await;
        }
        if let Ok(mut ready) = timer.readable().await {
            ready.clear_ready();
        }
    }
}

/// How to wait where `wait` was asked for: on the only processor there is, polling keeps everybody else from working. Ask
/// before [`pin`].
pub(super) fn strategy(wait: Wait) -> Wait {
    match wait {
        Wait::Adaptive if is_alone() => Wait::Block,
        wait => wait,
    }
}

/// Whether this process may use one processor only.
pub(super) fn is_alone() -> bool {
    std::thread::available_parallelism().is_ok_and(|processors| processors.get() == 1)
}

/// Binds the engine thread to one CPU, if one was named.
///
/// # Errors
/// The CPU does not exist or may not be used.
pub(super) fn pin(cpu: Option<usize>) -> Result<(), Error> {
    let Some(cpu) = cpu else { return Ok(()) };
    let refuse = |cause: nix::Error| Error::system(format!("run on CPU {cpu}"), cause.into());
    let mut set = CpuSet::new();
    set.set(cpu).map_err(refuse)?;
    sched_setaffinity(Pid::from_raw(0), &set).map_err(refuse)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_budget_stays_within_its_bounds_and_reaches_zero() {
        let mut budget = Budget(Duration::ZERO);
        for _ in 0..10 {
            budget.grow(SPIN_BUDGET_MAX);
        }
        assert_eq!(budget, Budget(SPIN_BUDGET_MAX));
        for _ in 0..10 {
            budget.shrink();
        }
        assert_eq!(budget, Budget(Duration::ZERO));
        budget.grow(SPIN_BUDGET_MAX);
        assert_eq!(budget, Budget(SPIN_BUDGET_MIN));
    }
}
