//! One publication at a time: publish, its answer, every delivery; then the next.
//!
//! Invariant: nothing is sent before all of the last publication has arrived and was compared.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use quanta::Clock;

use super::lane::{Lane, Watch};
use super::listeners::{Listeners, Receiver};
use super::plan::{Loop, Plan};
use super::report::Timings;
use super::{Failure, cpu};

/// A message and what it must bring about.
pub(super) struct Publication {
    /// The request.
    pub(super) request: Vec<u8>,
    /// Answers that are right.
    pub(super) acks: Vec<Vec<u8>>,
    /// Who gets what.
    pub(super) receivers: Vec<Receiver>,
}

/// How long a round is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Length {
    pub(super) samples: usize,
    pub(super) warm_up: usize,
    pub(super) time_max: Option<Duration>,
}

/// What a round measured.
pub(super) struct Round {
    pub(super) samples: u64,
    pub(super) seconds: f64,
    pub(super) ack: Timings,
    pub(super) delivery: Timings,
    /// How late the publications of a fixed rate were sent.
    pub(super) lag: Timings,
}

/// Who reads the deliveries.
enum Readers {
    /// The thread that publishes.
    Same(Listeners),
    /// Threads of their own.
    Threads(ReaderThreads),
}

/// Publisher and subscribers on one engine.
pub(super) struct ClosedLoop {
    publisher: Lane,
    readers: Readers,
    publications: Arc<Vec<Publication>>,
    clock: Clock,
    random: fastrand::Rng,
    yields: bool,
}

impl ClosedLoop {
    /// With one thread, or with as many more that read as the plan says.
    pub(super) fn new(
        publisher: Lane,
        subscribers: Vec<Lane>,
        publications: Vec<Publication>,
        plan: &Plan,
    ) -> Result<Self, Failure> {
        let publications = Arc::new(publications);
        let readers = match plan.threads.min(subscribers.len()) {
            0 => Readers::Same(Listeners::of(subscribers)?),
            threads => Readers::Threads(ReaderThreads::start(subscribers, &publications, threads, plan)?),
        };
        let (random, yields) = (fastrand::Rng::with_seed(plan.seed), !plan.spins());
        Ok(ClosedLoop { publisher, readers, publications, clock: Clock::new(), random, yields })
    }

    /// One round. `between` is done before each publication, outside its time.
    pub(super) fn round(
        &mut self,
        length: Length,
        pace: Loop,
        stop: &AtomicBool,
        mut between: impl FnMut() -> Result<(), Failure>,
    ) -> Result<Round, Failure> {
        let (ack, delivery, lag) = (Timings::new(), Timings::new(), Timings::new());
        let mut round = Round { samples: 0, seconds: 0.0, ack, delivery, lag };
        let origin = self.clock.raw();
        let clock = self.clock.clone();
        let now = || clock.delta_as_nanos(origin, clock.raw());
        let interval = if let Loop::Fixed(rate) = pace { Some(1e9 / rate) } else { None };
        let mut begun = now();
        for sample in 0..length.warm_up + length.samples {
            if sample == length.warm_up {
                begun = now();
            }
            between()?;
            let number = if self.publications.len() == 1 { 0 } else { self.random.usize(..self.publications.len()) };
            let mut start = now();
            if let Some(interval) = interval {
                let intended = (sample as f64 * interval) as u64;
                while now() < intended {
                    std::hint::spin_loop();
                }
                if sample >= length.warm_up {
                    round.lag.record(now().saturating_sub(intended));
                }
                start = intended;
            }
            let (acked, delivered) = self.publish(number, stop, &now)?;
            if sample < length.warm_up {
                continue;
            }
            round.samples += 1;
            round.ack.record(acked - start);
            if let Some(delivered) = delivered {
                round.delivery.record(delivered - start);
            }
            let end = acked.max(delivered.unwrap_or(0));
            round.seconds = (end - begun) as f64 / 1e9;
            if length.time_max.is_some_and(|most| end - begun > most.as_nanos() as u64) {
                break;
            }
        }
        Ok(round)
    }

    /// When the answer, and when the last delivery, was there.
    fn publish(
        &mut self,
        number: usize,
        stop: &AtomicBool,
        now: &impl Fn() -> u64,
    ) -> Result<(u64, Option<u64>), Failure> {
        let publication = &self.publications[number];
        match &mut self.readers {
            Readers::Same(listeners) => listeners.expect(&publication.receivers),
            Readers::Threads(threads) => threads.expect(number),
        }
        self.publisher.send(&publication.request, stop)?;
        let mut watch = Watch::of(stop, "a delivery or the answer to a publication", self.yields);
        let mut acked = None;
        let mut delivered = None;
        let mut owed = !publication.receivers.is_empty();
        loop {
            if owed {
                let done = match &mut self.readers {
                    Readers::Same(listeners) => listeners.look(&publication.receivers)?,
                    Readers::Threads(threads) => threads.are_done(publication.receivers.len())?,
                };
                if done {
                    delivered = Some(now());
                    owed = false;
                }
            }
            if acked.is_none() && self.publisher.poll_any(&publication.acks)? {
                acked = Some(now());
            }
            match acked {
                Some(acked) if !owed => return Ok((acked, delivered)),
                _ => watch.look()?,
            }
        }
    }
}

/// Threads that read deliveries, each those of its share of the subscribers.
struct ReaderThreads {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<Result<(), Failure>>>,
}

struct Shared {
    /// How many publications were made.
    turn: AtomicU64,
    /// Which of the publications the current one is.
    number: AtomicUsize,
    /// Deliveries of the current one that were read.
    read: AtomicUsize,
    /// A reader has failed, or the measurement is over.
    over: AtomicBool,
}

impl ReaderThreads {
    fn start(
        lanes: Vec<Lane>,
        publications: &Arc<Vec<Publication>>,
        threads: usize,
        plan: &Plan,
    ) -> Result<Self, Failure> {
        let shared = Arc::new(Shared {
            turn: AtomicU64::new(0),
            number: AtomicUsize::new(0),
            read: AtomicUsize::new(0),
            over: AtomicBool::new(false),
        });
        let mut shares: Vec<Vec<Lane>> = (0..threads).map(|_| Vec::new()).collect();
        for (number, lane) in lanes.into_iter().enumerate() {
            shares[number % threads].push(lane);
        }
        let mut started = Vec::new();
        for (share, lanes) in shares.into_iter().enumerate() {
            let mut listeners = Listeners::of(lanes)?;
            let (shared, publications) = (shared.clone(), publications.clone());
            let mine: Vec<Vec<Receiver>> = publications
                .iter()
                .map(|publication| {
                    let here = publication.receivers.iter().filter(|receiver| receiver.client % threads == share);
                    here.map(|receiver| Receiver { client: receiver.client / threads, ..receiver.clone() }).collect()
                })
                .collect();
            let (processors, server_cpu) = (plan.processors.clone(), plan.server_cpu);
            let spawned = thread::Builder::new().name("reader".into()).spawn(move || {
                cpu::keep_off(&processors, server_cpu);
                let result = read_along(&shared, &mut listeners, &mine);
                shared.over.store(true, Ordering::Release);
                result
            });
            started.push(spawned.map_err(|error| Failure::Start(format!("cannot start a thread: {error}")))?);
        }
        Ok(ReaderThreads { shared, threads: started })
    }

    fn expect(&mut self, number: usize) {
        self.shared.number.store(number, Ordering::Relaxed);
        self.shared.read.store(0, Ordering::Relaxed);
        // Released: whoever sees the turn sees the two above.
        self.shared.turn.fetch_add(1, Ordering::Release);
    }

    fn are_done(&mut self, wanted: usize) -> Result<bool, Failure> {
        if self.shared.read.load(Ordering::Acquire) == wanted {
            return Ok(true);
        }
        if self.shared.over.load(Ordering::Acquire) {
            for thread in self.threads.drain(..) {
                if let Ok(result) = thread.join() {
                    result?;
                }
            }
            return Err(Failure::Silent("a delivery"));
        }
        Ok(false)
    }
}

impl Drop for ReaderThreads {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Release);
        for thread in self.threads.drain(..) {
            // What went wrong there was told, or no longer matters.
            let _ = thread.join();
        }
    }
}

fn read_along(shared: &Shared, listeners: &mut Listeners, publications: &[Vec<Receiver>]) -> Result<(), Failure> {
    let mut seen = 0;
    loop {
        let turn = shared.turn.load(Ordering::Acquire);
        if turn == seen {
            if shared.over.load(Ordering::Acquire) {
                return Ok(());
            }
            thread::yield_now();
            continue;
        }
        seen = turn;
        let receivers = &publications[shared.number.load(Ordering::Relaxed)];
        if receivers.is_empty() {
            continue;
        }
        listeners.expect(receivers);
        let mut watch = Watch::of(&shared.over, "a delivery", true);
        while !listeners.look(receivers)? {
            watch.look()?;
        }
        // Released: the publisher that sees the number goes on.
        shared.read.fetch_add(receivers.len(), Ordering::Release);
    }
}
