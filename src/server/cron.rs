//! What happens by the clock: expiry, idle clients, soft limits, the end of a pause, samples for INFO.

use std::rc::Rc;
use std::time::{Duration, Instant};

use tokio::time::MissedTickBehavior;

use crate::engine::SubscriberId;
use crate::limits::{CRON_PERIOD_MS, EXPIRE_KEYS_PER_SLICE, EXPIRE_US_PER_PERIOD};

use super::session::State;
use super::{Clock, Inner, Shared, log};

/// A second: between two looks whether rings are still at their paths.
const PERIODS_PER_LOOK_AT_RINGS: u64 = 1000 / CRON_PERIOD_MS;

/// Runs ten times a second.
pub(super) async fn cron(shared: Rc<Shared>) {
    let mut ticks = tokio::time::interval(Duration::from_millis(CRON_PERIOD_MS));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    for period in 0_u64.. {
        ticks.tick().await;
        if period.is_multiple_of(PERIODS_PER_LOOK_AT_RINGS) {
            shared.restore_rings();
        }
        {
            let inner = &mut *shared.inner.borrow_mut();
            inner.clock = Clock::set();
            inner.begin_round();
            let unix_s = inner.table.now.unix_us / 1_000_000;
            inner.table.stats.sample(unix_s);
            inner.end_pause();
            inner.check_sessions();
            inner.finish_round(&shared);
        }
        expire(&shared).await;
    }
}

/// Removes due keys, and such as must go for the memory limit, in slices, so that nobody waits longer for it than for a turn, and for at most a quarter of the
/// period.
async fn expire(shared: &Shared) {
    let started = Instant::now();
    loop {
        let more = {
            let inner = &mut *shared.inner.borrow_mut();
            let slice = inner.begin_round();
            let Inner { engine, table, .. } = inner;
            let now = table.now;
            let due = engine.expire_some(now, table, EXPIRE_KEYS_PER_SLICE);
            let more = engine.evict_some(now, table) | engine.free_some() | due;
            engine.count_expire_time(slice.elapsed().as_micros() as u64, now);
            inner.finish_round(shared);
            more
        };
        if !more {
            return;
        }
        if started.elapsed() >= Duration::from_micros(EXPIRE_US_PER_PERIOD) {
            return shared.inner.borrow_mut().engine.count_expire_capped();
        }
        tokio::task::yield_now().await;
    }
}

impl Inner {
    fn end_pause(&mut self) {
        let now_ms = self.table.now.unix_ms();
        if self.table.pause.is_some_and(|pause| pause.until_ms <= now_ms) {
            self.table.pause = None;
            self.resume_paused();
        }
    }

    /// Idle clients and soft limits. Linear in the sessions; a look at one costs some nanoseconds.
    fn check_sessions(&mut self) {
        let now_ms = self.table.now.unix_us / 1000;
        let timeout_ms = u64::from(self.table.settings.timeout_s()) * 1000;
        let mut idle = Vec::new();
        let mut pending = Vec::new();
        for (_, session) in &self.table.sessions {
            if session.outbox.bytes() > 0 {
                pending.push((session.subscriber, session.outbox.bytes()));
            }
            // As Redis: subscribers and monitors are idle by nature, and the socket of a ring lives as long as the ring.
            if timeout_ms > 0
                && !session.subscribed
                && !session.monitor
                && session.state != State::Lifeline
                && now_ms.saturating_sub(session.active_ms) > timeout_ms
            {
                idle.push(session.subscriber);
            }
        }
        for (subscriber, bytes) in pending {
            self.table.check_output(subscriber, bytes);
        }
        for subscriber in idle {
            self.end_idle(subscriber);
        }
    }

    fn end_idle(&mut self, subscriber: SubscriberId) {
        if let Some(session) = self.table.sessions.get(subscriber.0 as usize) {
            log::verbose(format_args!("client id={} addr={} idle, closed", session.id.0, session.peer.addr()));
        }
        self.table.doom(subscriber);
    }
}
