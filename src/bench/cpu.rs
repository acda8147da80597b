//! Which processor runs what, and what a cache line costs between two of them.

use std::sync::atomic::{AtomicU64, Ordering};

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use quanta::Clock;

/// Round trips of one measurement of the ping-pong: some milliseconds.
const TRIPS: u64 = 20_000;

/// The processors this process may run on, in order.
pub(super) fn allowed() -> Vec<usize> {
    let Ok(set) = sched_getaffinity(Pid::from_raw(0)) else { return vec![0] };
    (0..CpuSet::count()).filter(|cpu| set.is_set(*cpu).unwrap_or(false)).collect()
}

/// The calling thread on one processor, until the value is dropped.
pub(super) struct Pinned(Option<CpuSet>);

impl Pinned {
    /// Nothing is done when the system refuses, or without a processor.
    pub(super) fn to(cpu: Option<usize>) -> Self {
        let before = sched_getaffinity(Pid::from_raw(0)).ok();
        Pinned(before.filter(|_| cpu.is_some_and(|cpu| pin(Pid::from_raw(0), cpu))))
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            // What was allowed before is allowed again.
            let _ = sched_setaffinity(Pid::from_raw(0), before);
        }
    }
}

/// Runs something with the calling thread free to run anywhere it may: what it starts inherits that.
pub(super) fn unpinned<T>(processors: &[usize], work: impl FnOnce() -> T) -> T {
    let before = sched_getaffinity(Pid::from_raw(0));
    let mut all = CpuSet::new();
    let known = processors.iter().all(|cpu| all.set(*cpu).is_ok());
    if known {
        let _ = sched_setaffinity(Pid::from_raw(0), &all);
    }
    let result = work();
    if let (true, Ok(before)) = (known, before) {
        let _ = sched_setaffinity(Pid::from_raw(0), &before);
    }
    result
}

/// Lets the calling thread run on all of these but the server's, when there are others.
pub(super) fn keep_off(processors: &[usize], server: Option<usize>) {
    let mut free = CpuSet::new();
    let others = processors.iter().filter(|cpu| Some(**cpu) != server);
    // What the system refuses leaves the thread where it is.
    if others.filter(|cpu| free.set(**cpu).is_ok()).count() > 0 {
        let _ = sched_setaffinity(Pid::from_raw(0), &free);
    }
}

/// Binds all threads of a process to a processor.
pub(super) fn pin_process(process: u32, cpu: usize) {
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let ids = threads.filter_map(|thread| thread.file_name().to_str()?.parse().ok());
    for id in ids {
        pin(Pid::from_raw(id), cpu);
    }
}

fn pin(thread: Pid, cpu: usize) -> bool {
    let mut set = CpuSet::new();
    set.set(cpu).is_ok() && sched_setaffinity(thread, &set).is_ok()
}

/// Nanoseconds that one cache line takes from one processor to the other and back; none on a single processor.
pub(super) fn ping_pong(here: Option<usize>, there: Option<usize>) -> Option<f64> {
    if here? == there? {
        return None;
    }
    let line = AtomicU64::new(0);
    let clock = Clock::new();
    // Each store is Release and each load Acquire: they carry only their own number.
    let wait_for = |number: u64| {
        while line.load(Ordering::Acquire) != number {
            std::hint::spin_loop();
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let _pinned = Pinned::to(there);
            for turn in 0..TRIPS {
                wait_for(2 * turn + 1);
                line.store(2 * turn + 2, Ordering::Release);
            }
        });
        // The first half warms up.
        let mut began = clock.raw();
        for turn in 0..TRIPS {
            if turn == TRIPS / 2 {
                began = clock.raw();
            }
            line.store(2 * turn + 1, Ordering::Release);
            wait_for(2 * turn + 2);
        }
        Some(clock.delta_as_nanos(began, clock.raw()) as f64 / (TRIPS - TRIPS / 2) as f64)
    })
}
