//! The poller: looks at rings for requests, and for room to write what their sessions have to send.
//!
//! A ring has no way to wake anybody, so it is looked at: without a pause while something came a moment ago, then at
//! growing distances. A ring that nobody has taken is looked at every few milliseconds, for its first client.
//!
//! Invariant: a session over a ring is run by a visit only, never by a task; a visit runs at most one turn.
//! Invariant: what a peer wrote and cannot be ends its session, is counted and logged, and touches nobody else.

use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::rc::Rc;
use std::time::{Duration, Instant};

use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use tokio::io::unix::AsyncFd;

use crate::engine::{ClientId, SubscriberId};
use crate::transport::{Corrupt, Link, Peer, RingDoor};

use super::config::Wait;
use super::serve::Readiness;
use super::{Shared, log};

/// Passes over the rings before others get their turn: some microseconds.
const PASSES_PER_YIELD: usize = 64;

/// The same while something comes: each pass may then run a turn of every ring.
const BUSY_PASSES_PER_YIELD: usize = 4;

/// How long all rings must be silent before they are looked at less often, how often then, and after how long a rest
/// they are hardly looked at any more.
const SPIN: Duration = Duration::from_millis(1);
const LOOK_AFTER_SPINNING: Duration = Duration::from_micros(50);
const REST: Duration = Duration::from_millis(100);
const LOOK_WHILE_RESTING: Duration = Duration::from_millis(1);
const LOOK_WHILE_FREE: Duration = Duration::from_millis(5);

/// How often is looked whether the rings are still at their paths.
const LOOK_AT_PATHS: Duration = Duration::from_secs(1);

/// A ring and who has taken it.
pub(super) struct Ring {
    door: RingDoor,
    session: Option<(SubscriberId, ClientId)>,
    /// Requests of one record.
    record: Vec<u8>,
    /// It could not be made anew and is served no more.
    gone: bool,
}

impl Ring {
    pub(super) fn new(door: RingDoor) -> Self {
        Ring { door, session: None, record: Vec::new(), gone: false }
    }
}

/// Looks at all rings for ever.
pub(super) async fn poll(shared: Rc<Shared>, mut rings: Vec<Ring>, wait: Wait) {
    let tick = Tick::new();
    let mut since = Instant::now();
    let mut looked = since;
    loop {
        let mut came = false;
        let mut busy = 0;
        for _ in 0..PASSES_PER_YIELD {
            if shared.visit_rings(&mut rings) {
                came = true;
                busy += 1;
                if busy == BUSY_PASSES_PER_YIELD {
                    break;
                }
            }
        }
        let now = Instant::now();
        if came {
            since = now;
        }
        if now - looked >= LOOK_AT_PATHS {
            looked = now;
            shared.restore_rings(&mut rings);
        }
        let silent = now - since;
        let taken = rings.iter().any(|ring| ring.session.is_some());
        match () {
            () if wait == Wait::Spin || wait == Wait::Adaptive && silent < SPIN => tokio::task::yield_now().await,
            () if taken && silent < REST => tick.next().await,
            () if taken => tokio::time::sleep(LOOK_WHILE_RESTING).await,
            () => tokio::time::sleep(LOOK_WHILE_FREE).await,
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

    /// Waits for some 50 microseconds.
    async fn next(&self) {
        let once = Expiration::OneShot(TimeSpec::from_duration(LOOK_AFTER_SPINNING));
        let Some(timer) = &self.0 else { return tokio::time::sleep(LOOK_WHILE_RESTING).await };
        if timer.get_ref().0.set(once, TimerSetTimeFlags::empty()).is_err() {
            return tokio::time::sleep(LOOK_WHILE_RESTING).await;
        }
        if let Ok(mut ready) = timer.readable().await {
            ready.clear_ready();
        }
    }
}

impl Shared {
    /// Visits each ring once; true when something came over one of them.
    fn visit_rings(self: &Rc<Self>, rings: &mut [Ring]) -> bool {
        let mut came = false;
        for ring in rings {
            came |= self.visit_ring(ring);
        }
        came
    }

    fn visit_ring(self: &Rc<Self>, ring: &mut Ring) -> bool {
        if ring.gone {
            return false;
        }
        let knocks = ring.door.knocks();
        if ring.door.is_lost() {
            self.give_up(ring);
            return true;
        }
        if knocks {
            self.welcome(ring);
            return true;
        }
        let Some((subscriber, id)) = ring.session else { return false };
        match self.ring_readiness(subscriber, id, &ring.door) {
            Readiness::Over => {
                self.remove(subscriber, id);
                ring.session = None;
                true
            }
            Readiness::Waits => false,
            Readiness::More => {
                self.turn_again(subscriber);
                true
            }
            Readiness::Works => {
                self.go_on(subscriber);
                true
            }
            Readiness::Tells => {
                self.tell(subscriber);
                true
            }
            Readiness::Sends => true,
            Readiness::Reads => self.read_ring(ring, subscriber, id),
        }
    }

    fn read_ring(&self, ring: &mut Ring, subscriber: SubscriberId, id: ClientId) -> bool {
        if !ring.door.has_more() {
            // In this order: what it sent last comes before it leaves.
            if !ring.door.is_left() || ring.door.has_more() {
                return false;
            }
            self.end(subscriber);
            ring.session = None;
            return true;
        }
        ring.record.clear();
        match ring.door.take(&mut ring.record) {
            Ok(false) => false,
            Ok(true) => {
                self.turn_over(subscriber, &ring.record);
                true
            }
            // The next visit tells of it.
            Err(Corrupt::Lost) => true,
            Err(corrupt) => {
                log::warning(format_args!(
                    "client id={} addr=ring:{} cut: its ring is corrupt: {corrupt}",
                    id.0,
                    ring.door.path().display()
                ));
                self.inner.borrow_mut().table.stats.corrupt_rings += 1;
                self.end(subscriber);
                ring.session = None;
                true
            }
        }
    }

    /// Begins a session for the client that asks; whoever had the ring before is gone.
    fn welcome(self: &Rc<Self>, ring: &mut Ring) {
        if let Some((subscriber, id)) = ring.session.take() {
            self.remove(subscriber, id);
        }
        let link = ring.door.begin();
        let peer = Peer::Ring { path: Rc::clone(ring.door.path()) };
        ring.session = self.admit(Link::Ring(link), peer);
        ring.door.welcome();
    }

    /// Ends the session over a ring whose file was cut short, and makes the ring anew.
    fn give_up(&self, ring: &mut Ring) {
        let path = Rc::clone(ring.door.path());
        match ring.session.take() {
            Some((subscriber, id)) => {
                log::warning(format_args!(
                    "client id={} addr=ring:{} cut: its ring is corrupt: {}",
                    id.0,
                    path.display(),
                    Corrupt::Lost
                ));
                self.remove(subscriber, id);
            }
            None => log::warning(format_args!("ring {}: {}", path.display(), Corrupt::Lost)),
        }
        self.inner.borrow_mut().table.stats.corrupt_rings += 1;
        renew(ring);
    }

    /// Makes rings anew that nobody has taken and nobody can find any more.
    fn restore_rings(&self, rings: &mut [Ring]) {
        let lonely = |ring: &&mut Ring| !ring.gone && ring.session.is_none() && !ring.door.is_in_place();
        for ring in rings.iter_mut().filter(lonely) {
            log::warning(format_args!("ring {}: its file was removed or replaced", ring.door.path().display()));
            renew(ring);
        }
    }
}

fn renew(ring: &mut Ring) {
    match ring.door.renew() {
        Ok(()) => log::notice(format_args!("ring {}: made anew", ring.door.path().display())),
        Err(error) => {
            log::warning(format_args!("{error}; it is served no more"));
            ring.gone = true;
        }
    }
}
