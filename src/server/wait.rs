//! How the engine thread waits: it polls for a while after something happened, then sleeps.
//!
//! A sleeping thread is woken through the kernel, which is three quarters of the latency of a socket round trip. So
//! after activity the thread keeps polling for a budget, and the budget learns: it doubles when the next event comes
//! within reach, and halves when polling was in vain. A slow trickle or a shared CPU then costs no polling at all.

use std::rc::Rc;
use std::time::{Duration, Instant};

use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;

use crate::error::Error;

use super::Shared;
use super::config::Wait;

/// Longest time to poll in vain: two wake-ups of a sleeping thread on the machines this was measured on (25 us each),
/// so that polling never costs more than it can save.
const SPIN_BUDGET_MAX: Duration = Duration::from_micros(50);

/// What a budget of zero grows to when an event came soon enough for polling to have caught it.
const SPIN_BUDGET_MIN: Duration = Duration::from_micros(6);

/// The polling budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Budget(Duration);

impl Budget {
    /// An event came while polling, or soon after polling ended.
    fn grow(&mut self) {
        self.0 = (self.0 * 2).clamp(SPIN_BUDGET_MIN, SPIN_BUDGET_MAX);
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
        Wait::Block => {}
        Wait::Spin => loop {
            shared.visit_hot();
            tokio::task::yield_now().await;
        },
        Wait::Adaptive => adapt(shared).await,
    }
}

async fn adapt(shared: Rc<Shared>) {
    let mut budget = Budget(Duration::ZERO);
    let mut asleep_since = Instant::now();
    loop {
        shared.waiting_sleeps.set(true);
        shared.stirred.notified().await;
        if asleep_since.elapsed() <= SPIN_BUDGET_MAX {
            budget.grow();
        }
        poll(&shared, &mut budget).await;
        shared.hot.borrow_mut().cool();
        asleep_since = Instant::now();
    }
}

/// Polls until the budget passes without an event.
async fn poll(shared: &Shared, budget: &mut Budget) {
    let mut seen = shared.activity.get();
    let mut since = Instant::now();
    while !budget.0.is_zero() {
        shared.visit_hot();
        tokio::task::yield_now().await;
        let now = Instant::now();
        if shared.activity.get() != seen {
            seen = shared.activity.get();
            since = now;
            budget.grow();
        } else if now - since >= budget.0 {
            return budget.shrink();
        }
    }
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
            budget.grow();
        }
        assert_eq!(budget, Budget(SPIN_BUDGET_MAX));
        for _ in 0..10 {
            budget.shrink();
        }
        assert_eq!(budget, Budget(Duration::ZERO));
        budget.grow();
        assert_eq!(budget, Budget(SPIN_BUDGET_MIN));
    }
}
