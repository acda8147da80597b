//! Rings: looked at for requests, and for room to write what their sessions have to send.
//!
//! Those with a path of their own are served as long as the server lives; a ring on demand goes with its session.
//!
//! A ring is memory, and memory wakes nobody: it is looked at. Rings on which something came a moment ago are hot and
//! looked at in each pass, in their order; of the others one in turn, because each costs lines of the processor's cache
//! whose headers all share a few sets.
//!
//! Invariant: a session over a ring is run by a visit only, never by a task; a visit runs at most one turn, and a pass
//! visits a ring at most once.
//! Invariant: what a peer wrote and cannot be ends its session, is counted and logged, and touches nobody else.
//! Deliberately unknown here: when nothing is looked at, see [`super::wait`].

use std::os::fd::{AsRawFd, RawFd};
use std::rc::Rc;
use std::time::{Duration, Instant};

use slab::Slab;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::engine::{ClientId, SubscriberId};
use crate::transport::{Bell, Corrupt, Link, Peer, RingDoor};

use super::serve::Readiness;
use super::{Shared, log};

/// How long a ring stays hot after something came.
const HOT_FOR: Duration = Duration::from_millis(1);

/// How often rings are looked at whose clients cannot wake a server: for so long after something came, and then.
const LOOK_AT_FIRST: Duration = Duration::from_micros(50);
const LOOK_AT_FIRST_FOR: Duration = Duration::from_millis(100);
const LOOK_LATER: Duration = Duration::from_millis(1);

/// How often rings are looked at that nobody has: the first client must not wait for long.
const LOOK_WHILE_FREE: Duration = Duration::from_millis(20);

/// How often the log is told of one ring that is corrupt, at most.
const TELL_CORRUPT: Duration = Duration::from_secs(1);

/// Places passed over in search of a ring that is to be looked at.
const PLACES_PASSED_MAX: usize = 4;

/// A ring and who has taken it.
struct Ring {
    door: RingDoor,
    session: Option<(SubscriberId, ClientId)>,
    /// Looked at in each pass.
    hot: bool,
    /// Something came since it was last asked whether it is still hot.
    came: bool,
    /// When that was.
    active: Instant,
    /// Requests of one record.
    record: Vec<u8>,
    /// Made for one session, with which it goes.
    demanded: bool,
    /// It is served no more.
    gone: bool,
    /// When the log was last told that it is corrupt.
    told: Option<Instant>,
}

impl Ring {
    /// One with a session was demanded for it.
    fn new(door: RingDoor, session: Option<(SubscriberId, ClientId)>) -> Self {
        let (record, active) = (Vec::new(), Instant::now());
        let demanded = session.is_some();
        Ring { door, session, hot: false, came: false, active, record, demanded, gone: false, told: None }
    }
}

/// All rings of a server.
pub(super) struct Rings {
    /// Those that were not demanded come first, and stay where they are.
    rings: Slab<Ring>,
    /// Places of the hot ones, in order.
    hot: Vec<usize>,
    /// The place of the other one that is looked at next.
    next: usize,
    /// Behind the last place that was ever taken.
    end: usize,
}

impl Rings {
    pub(super) fn new(doors: Vec<RingDoor>) -> Self {
        let rings: Slab<Ring> = doors.into_iter().map(|door| Ring::new(door, None)).enumerate().collect();
        Rings { end: rings.len(), rings, hot: Vec::new(), next: 0 }
    }

    /// Takes a ring on demand and its session; answers its place.
    pub(super) fn insert(&mut self, door: RingDoor, subscriber: SubscriberId, id: ClientId) -> usize {
        let place = self.rings.insert(Ring::new(door, Some((subscriber, id))));
        self.end = self.end.max(place + 1);
        // Its client is about to ask.
        self.heat(place);
        place
    }

    /// The place of the ring that is looked at next though nothing came over it lately, if it is near.
    fn turn(&mut self) -> Option<usize> {
        for _ in 0..PLACES_PASSED_MAX {
            let place = self.next % self.end;
            self.next = place + 1;
            // Whoever was asked to ring does, and nobody else can take its ring.
            let may_have = |ring: &Ring| !(ring.hot || ring.demanded && ring.door.is_parked());
            if self.rings.get(place).is_some_and(may_have) {
                return Some(place);
            }
        }
        None
    }

    /// Gives up the rings on demand of which `is_over` says that their session is.
    fn forget(&mut self, is_over: impl Fn(SubscriberId, ClientId) -> bool) {
        self.rings.retain(|_, ring| {
            let session = ring.session.filter(|(subscriber, id)| !ring.gone && !is_over(*subscriber, *id));
            !ring.demanded || session.is_some()
        });
        let rings = &self.rings;
        self.hot.retain(|place| rings.contains(*place));
    }

    /// Whether there is anything to look at.
    pub(super) fn is_empty(&self) -> bool {
        self.rings.is_empty()
    }

    /// Removes all of them.
    pub(super) fn close(&mut self) {
        *self = Rings::new(Vec::new());
    }

    /// Asks all clients to ring that can, and tells how long the rings may be left alone; for ever when none must be
    /// looked at. `idle` tells whether a session has nothing under way but waits for its client.
    fn park(&mut self, now: Instant, idle: impl Fn(SubscriberId) -> bool) -> Option<Duration> {
        // Those on demand cannot be taken by somebody else.
        let mut rest = self.rings.iter().any(|(_, ring)| !ring.demanded).then_some(LOOK_WHILE_FREE);
        for (_, ring) in &mut self.rings {
            let Some((subscriber, _)) = ring.session else { continue };
            if !(idle(subscriber) && ring.door.park()) {
                let silent = now.duration_since(ring.active);
                let look = if silent < LOOK_AT_FIRST_FOR { LOOK_AT_FIRST } else { LOOK_LATER };
                rest = Some(rest.map_or(look, |rest| rest.min(look)));
            }
        }
        rest
    }

    /// What the clients ring, each with the place of its ring.
    pub(super) fn bells(&self) -> Vec<(usize, Rc<Bell>)> {
        self.rings.iter().map(|(place, ring)| (place, Rc::clone(ring.door.bell()))).collect()
    }

    /// Whether something came on one a moment ago.
    pub(super) fn has_hot(&self) -> bool {
        !self.hot.is_empty()
    }

    /// Lets rings cool on which nothing has come for a while.
    pub(super) fn cool(&mut self, now: Instant) {
        let rings = &mut self.rings;
        self.hot.retain(|place| {
            let ring = &mut rings[*place];
            if std::mem::take(&mut ring.came) {
                ring.active = now;
            }
            ring.hot = now.duration_since(ring.active) < HOT_FOR;
            ring.hot
        });
    }

    /// Something has come over a ring, or is about to.
    pub(super) fn heat(&mut self, place: usize) {
        let Some(ring) = self.rings.get_mut(place) else { return };
        ring.came = true;
        ring.door.unpark();
        if !ring.hot {
            ring.hot = true;
            ring.active = Instant::now();
            let at = self.hot.partition_point(|other| *other < place);
            self.hot.insert(at, place);
        }
    }
}

/// Looks at a ring each time its bell is rung.
pub(super) async fn answer(shared: Rc<Shared>, place: usize, bell: Rc<Bell>) {
    let Ok(heard) = hear(&bell) else {
        return log::warning(format_args!("a ring's bell cannot be watched; it is looked at every few milliseconds"));
    };
    while let Ok(mut ready) = heard.readable().await {
        ready.clear_ready();
        bell.drain();
        shared.rings.borrow_mut().heat(place);
        shared.count_activity();
        shared.visit_rings();
    }
}

/// Has the event loop watch a bell.
#[expect(deprecated, reason = "the successor asks for a promise that a descriptor never changes; this one is ours")]
fn hear(bell: &Rc<Bell>) -> std::io::Result<AsyncFd<Heard>> {
    AsyncFd::with_interest(Heard(Rc::clone(bell)), Interest::READABLE)
}

struct Heard(Rc<Bell>);

impl AsRawFd for Heard {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

impl Shared {
    /// Before a sleep: how long rings may be left alone, for ever when there is none that must be looked at.
    pub(super) fn leave_rings(&self) -> Option<Duration> {
        let inner = self.inner.borrow();
        let rings = &mut *self.rings.borrow_mut();
        rings.forget(|subscriber, id| !inner.table.has(subscriber, id));
        rings.park(Instant::now(), |subscriber| inner.table.waits_for_its_peer(subscriber))
    }

    /// One pass over the rings; true when something came over one of them.
    pub(super) fn visit_rings(&self) -> bool {
        let rings = &mut *self.rings.borrow_mut();
        if rings.is_empty() {
            return false;
        }
        let mut came = false;
        for at in 0..rings.hot.len() {
            let ring = &mut rings.rings[rings.hot[at]];
            if self.visit_ring(ring) {
                ring.came = true;
                came = true;
            }
        }
        if rings.hot.len() == rings.rings.len() {
            return came;
        }
        let Some(place) = rings.turn() else { return came };
        if self.visit_ring(&mut rings.rings[place]) {
            rings.heat(place);
            came = true;
        }
        came
    }

    /// Looks at every ring once, hot or not; true when something came.
    pub(super) fn look_at_all_rings(&self) -> bool {
        let rings = &mut *self.rings.borrow_mut();
        let mut came = false;
        let places: Vec<usize> = rings.rings.iter().map(|(place, _)| place).collect();
        for place in places {
            if self.visit_ring(&mut rings.rings[place]) {
                rings.heat(place);
                came = true;
            }
        }
        came
    }

    fn visit_ring(&self, ring: &mut Ring) -> bool {
        if ring.gone {
            return false;
        }
        let knocks = ring.door.knocks();
        if ring.door.is_lost() {
            self.give_up(ring);
            return true;
        }
        if knocks && ring.demanded {
            self.tell_corrupt(ring, Corrupt::Epoch(ring.door.asked_for()));
            self.end_session(ring);
            return true;
        }
        if knocks {
            self.welcome(ring);
            return true;
        }
        let Some((subscriber, id)) = ring.session else { return false };
        match self.ring_readiness(subscriber, id, &ring.door) {
            Readiness::Over => {
                if let Some(corrupt) = ring.door.fault() {
                    self.tell_corrupt(ring, corrupt);
                }
                self.remove(subscriber, id);
                ring.session = None;
                true
            }
            Readiness::Waits | Readiness::Wakes => false,
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
            Readiness::Reads => self.read_ring(ring, subscriber),
        }
    }

    fn read_ring(&self, ring: &mut Ring, subscriber: SubscriberId) -> bool {
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
                self.tell_corrupt(ring, corrupt);
                self.end(subscriber);
                ring.session = None;
                true
            }
        }
    }

    /// Begins a session for the client that asks; whoever had the ring before is gone.
    fn welcome(&self, ring: &mut Ring) {
        self.end_session(ring);
        let link = ring.door.begin();
        let peer = Peer::Ring { path: Rc::clone(ring.door.path()) };
        ring.session = self.admit(Link::Ring(link), peer);
        ring.door.welcome();
    }

    /// Ends the session over a ring whose file was cut short, and makes the ring anew.
    fn give_up(&self, ring: &mut Ring) {
        self.tell_corrupt(ring, Corrupt::Lost);
        self.end_session(ring);
        if ring.demanded {
            ring.gone = true;
        } else {
            renew(ring);
        }
    }

    fn end_session(&self, ring: &mut Ring) {
        if let Some((subscriber, id)) = ring.session.take() {
            self.remove(subscriber, id);
        }
    }

    /// Counts a ring that is corrupt, and logs it once a second at most: a peer can make it so again and again.
    fn tell_corrupt(&self, ring: &mut Ring, corrupt: Corrupt) {
        self.inner.borrow_mut().table.stats.corrupt_rings += 1;
        if ring.told.is_some_and(|told| told.elapsed() < TELL_CORRUPT) {
            return;
        }
        ring.told = Some(Instant::now());
        let path = ring.door.path().display();
        match ring.session {
            Some((_, id)) => {
                log::warning(format_args!("client id={} addr=ring:{path} cut: its ring is corrupt: {corrupt}", id.0));
            }
            None => log::warning(format_args!("ring {path}: {corrupt}")),
        }
    }

    /// Makes rings anew that nobody has taken and nobody can find any more. Some system calls for each ring.
    pub(super) fn restore_rings(&self) {
        let rings = &mut *self.rings.borrow_mut();
        rings.forget(|subscriber, id| !self.inner.borrow().table.has(subscriber, id));
        let lonely =
            |ring: &&mut Ring| !ring.demanded && !ring.gone && ring.session.is_none() && !ring.door.is_in_place();
        for ring in rings.rings.iter_mut().map(|(_, ring)| ring).filter(lonely) {
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
