//! The running process: listeners, sessions, the engine thread and its rounds.
//!
//! Here everything meets: `transport` moves bytes, `protocol` makes requests of them, `engine` answers. One thread owns
//! it all; there is no lock. Tasks borrow [`Inner`] for one synchronous round at a time.
//!
//! Invariant: no borrow of [`Inner`] lives across an `await`.

pub mod config;
mod cron;
mod demand;
mod dialect;
mod durations;
mod files;
mod hold;
mod hot;
mod listen;
mod log;
mod meter;
mod notes;
mod outbox;
mod rings;
mod round;
mod serve;
mod session;
pub mod settings;
mod signal;
mod stats;
mod table;
mod turn;
mod wait;
mod window;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tokio::runtime::{Builder, LocalOptions};
use tokio::sync::Notify;

use crate::engine::Engine;
use crate::error::Error;
use crate::limits::{DRAIN_MS_MAX, READ_BYTES_MAX};

pub use config::Config;
pub use stats::{Allocator, AllocatorFigures};

use table::Table;
use window::Window;

/// What all tasks of the engine thread share.
struct Shared {
    inner: RefCell<Inner>,
    /// Where sockets are read into; lent for one step.
    scratch: RefCell<Box<[u8]>>,
    /// Sessions to look at first.
    hot: RefCell<hot::Hot>,
    /// Looked at by whoever waits or has run a turn.
    rings: RefCell<rings::Rings>,
    /// Counts rounds, so that the waiting task sees that something happened.
    activity: Cell<u64>,
    /// The waiting task polls no more and must be woken by the next round.
    waiting_sleeps: Cell<bool>,
    /// Wakes it.
    stirred: Notify,
    /// SHUTDOWN was asked for.
    shutdown: Notify,
}

/// The engine and the sessions around it.
struct Inner {
    engine: Engine,
    table: Table,
    window: Window,
    clock: Clock,
}

/// Runs a server until it is told to stop. Blocks the calling thread, which becomes the engine thread. `ready` is
/// called once, when the server listens and is about to serve.
///
/// # Errors
/// A listener that cannot be made, or a setting the system refuses; nothing is left behind.
pub fn run(mut config: Config, allocator: Allocator, ready: impl FnOnce()) -> Result<(), Error> {
    let started = Instant::now();
    signal::abort_on_panic();
    log::set_level(config.settings.log_level());
    // Before the thread is bound to one of them.
    let (wait, notes) = (wait::strategy(config.wait), notes::about_this_machine());
    wait::pin(config.cpu)?;
    let mut notes = notes;
    notes.extend(files::make_room(&mut config.settings));
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build_local(LocalOptions::default())
        .map_err(|cause| Error::system("start the event loop", cause))?;
    runtime.block_on(async {
        // Before anything is made that must be removed again.
        let signals = signal::Signals::catch()?;
        let doors = listen::open(&config)?;
        let shared = Shared::new(&config, &doors, allocator, started);
        let listening = format!("ready, listening on {}", doors.describe());
        let tasks = listen::spawn(&shared, doors);
        config.notes.iter().chain(&notes).for_each(|note| log::notice(format_args!("{note}")));
        log::notice(format_args!("{listening}"));
        tokio::task::spawn_local(wait::wait(Rc::clone(&shared), wait));
        tokio::task::spawn_local(cron::cron(Rc::clone(&shared)));
        ready();
        let reason = signals.until_stopped(&shared.shutdown).await;
        log::notice(format_args!("{reason}, stopping"));
        // The listeners go first: they remove the paths they made.
        shared.rings.borrow_mut().close();
        tasks.iter().for_each(tokio::task::JoinHandle::abort);
        for task in tasks {
            let _ = task.await;
        }
        drain(&shared).await;
        Ok(())
    })
}

impl Shared {
    fn new(config: &Config, doors: &listen::Doors, allocator: Allocator, started: Instant) -> Rc<Self> {
        let seed = draw_seed();
        let process = stats::Process {
            started,
            run_id: run_id(seed),
            tcp_port: doors.tcp_port(),
            listeners: doors.names(),
            config_file: config.file.clone(),
            allocator,
            startup_bytes: (allocator.used)(),
        };
        let engine = Engine::new(seed, config.settings.engine());
        let table = Table::new(config.settings.clone(), stats::Stats::new(process));
        Rc::new(Shared {
            inner: RefCell::new(Inner { engine, table, window: Window::default(), clock: Clock::set() }),
            scratch: RefCell::new(vec![0; READ_BYTES_MAX].into_boxed_slice()),
            hot: RefCell::default(),
            rings: RefCell::new(rings::Rings::new(Vec::new())),
            activity: Cell::new(0),
            waiting_sleeps: Cell::new(false),
            stirred: Notify::new(),
            shutdown: Notify::new(),
        })
    }

    /// Tells the waiting task that something happened.
    fn count_activity(&self) {
        self.activity.set(self.activity.get().wrapping_add(1));
        if self.waiting_sleeps.take() {
            self.stirred.notify_one();
        }
    }
}

/// Gives peers a moment to take what they were answered. Whoever does not read by then loses it.
async fn drain(shared: &Shared) {
    let deadline = Instant::now() + Duration::from_millis(DRAIN_MS_MAX);
    while shared.inner.borrow_mut().flush_all() && Instant::now() < deadline {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// 128 random bits for hashing and random picks.
fn draw_seed() -> [u64; 2] {
    use std::hash::{BuildHasher, RandomState};
    // The standard library keys its hashers from the system's random source.
    let draw = || RandomState::new().hash_one(std::process::id());
    [draw(), draw()]
}

/// 40 hexadecimal digits that name this run; they do not tell the seed.
fn run_id(seed: [u64; 2]) -> String {
    use std::hash::{BuildHasher, RandomState};
    let digits: String = (0..3).map(|part| format!("{:016x}", RandomState::new().hash_one((seed, part)))).collect();
    digits[..40].to_owned()
}

/// The wall clock, told from the steady one, so that a round reads one clock for both. Set anew each period of cron.
#[derive(Debug, Clone, Copy)]
struct Clock {
    at: Instant,
    unix_us: u64,
}

impl Clock {
    fn set() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        Clock { at: Instant::now(), unix_us: since.map_or(0, |since| since.as_micros() as u64) }
    }

    /// Microseconds since 1970 at `now`.
    fn unix_us(&self, now: Instant) -> u64 {
        self.unix_us + now.saturating_duration_since(self.at).as_micros() as u64
    }
}
