//! Counters of the process, and the facts INFO asks for.
//!
//! Invariant: every figure is counted or read from the system; what is not known is not reported.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use nix::sys::resource::{Usage, UsageWho, getrusage};

use crate::command::{CommandId, SPECS, Spec};
use crate::engine::{CommandStats, Facts, paged_bytes};

use super::durations::Durations;
use super::session::State;
use super::table::Table;

/// What an allocator can tell about itself, in bytes.
#[derive(Debug, Clone, Copy, Default)]
pub struct AllocatorFigures {
    /// In pages that hold at least one allocation.
    pub active: u64,
    /// Held in physical memory.
    pub resident: u64,
    /// Offered to the system, which has not taken them yet.
    pub muzzy: u64,
}

/// The allocator of the process: only the program knows which one it linked.
#[derive(Debug, Clone, Copy)]
pub struct Allocator {
    /// Name and version, for INFO.
    pub name: &'static str,
    /// Bytes handed out and not given back, as the engine thread knows without asking others; some nanoseconds.
    pub used: fn() -> u64,
    /// Reads the figures; some tens of microseconds.
    pub figures: fn() -> AllocatorFigures,
    /// Everything it tells about itself, as text; some milliseconds.
    pub report: fn() -> String,
    /// Gives back to the system what nothing uses.
    pub purge: fn(),
}

/// Counters since the start or the last CONFIG RESETSTAT.
pub(super) struct Stats {
    pub(super) connections: u64,
    pub(super) rejected_connections: u64,
    pub(super) executed: u64,
    pub(super) net_in: u64,
    pub(super) net_out: u64,
    pub(super) reads: u64,
    pub(super) writes: u64,
    pub(super) inbox_limit_cuts: u64,
    /// Sessions over rings that ended for what the peer had written there.
    pub(super) corrupt_rings: u64,
    pub(super) outbox_limit_cuts: u64,
    pub(super) dropped_messages: u64,
    pub(super) dropped_bytes: u64,
    pub(super) error_replies: u64,
    pub(super) rounds: u64,
    pub(super) process: Process,
    commands: Vec<CommandStats>,
    /// How long executions took, for commands that were called.
    durations: Vec<Option<Box<Durations>>>,
    /// Whether durations are kept (`latency-tracking`).
    pub(super) keeps_durations: bool,
    errors: BTreeMap<String, u64>,
    rates: Rates,
    peak_bytes: u64,
    peak_at_s: u64,
}

/// What is fixed at start.
pub(super) struct Process {
    pub(super) started: Instant,
    pub(super) run_id: String,
    pub(super) tcp_port: u16,
    pub(super) listeners: Vec<String>,
    pub(super) config_file: Option<PathBuf>,
    pub(super) allocator: Allocator,
    pub(super) startup_bytes: u64,
}

/// Sixteen samples, a tenth of a second apart, as Redis averages its `instantaneous_` fields.
#[derive(Default)]
struct Rates {
    samples: [[u64; 4]; 16],
    next: usize,
    last: Option<(Instant, [u64; 4])>,
}

impl Stats {
    pub(super) fn new(process: Process) -> Self {
        Stats {
            connections: 0,
            rejected_connections: 0,
            executed: 0,
            net_in: 0,
            net_out: 0,
            reads: 0,
            writes: 0,
            inbox_limit_cuts: 0,
            corrupt_rings: 0,
            outbox_limit_cuts: 0,
            dropped_messages: 0,
            dropped_bytes: 0,
            error_replies: 0,
            rounds: 0,
            peak_bytes: process.startup_bytes,
            peak_at_s: 0,
            process,
            commands: vec![CommandStats::default(); SPECS.len()],
            durations: SPECS.iter().map(|_| None).collect(),
            keeps_durations: true,
            errors: BTreeMap::new(),
            rates: Rates::default(),
        }
    }

    /// The counters of one command.
    pub(super) fn command(&mut self, id: CommandId) -> &mut CommandStats {
        &mut self.commands[usize::from(id.0)]
    }

    /// Books the time of one or more executions of a command, each of which took the same share of it.
    pub(super) fn book_time(&mut self, id: CommandId, total: Duration, executions: u32) {
        let at = usize::from(id.0);
        let ns = total.as_nanos() as u64;
        self.commands[at].ns += ns;
        if self.keeps_durations {
            let durations = self.durations[at].get_or_insert_with(|| Box::new(Durations::new()));
            durations.record(ns / u64::from(executions.max(1)), executions);
        }
    }

    /// What an execution of a command took so far, on average.
    pub(super) fn mean_time(&self, id: CommandId) -> Duration {
        let stats = &self.commands[usize::from(id.0)];
        Duration::from_nanos(stats.ns.checked_div(stats.calls).unwrap_or(0))
    }

    /// See [`crate::engine::Host::duration_steps`].
    pub(super) fn duration_steps(
        &self,
        wanted: &mut dyn FnMut(&'static Spec) -> bool,
    ) -> Vec<(&'static Spec, Vec<(u64, u64)>)> {
        let measured = SPECS.iter().zip(&self.durations);
        let found = measured.filter_map(|(spec, durations)| Some((spec, durations.as_deref()?)));
        found.filter(|(spec, _)| wanted(spec)).map(|(spec, durations)| (spec, durations.steps())).collect()
    }

    /// See [`crate::engine::Host::duration_percentiles`].
    pub(super) fn duration_percentiles(&self, percentages: &[f64]) -> Vec<(&'static Spec, Vec<u64>)> {
        let measured = SPECS.iter().zip(&self.durations);
        let found = measured.filter_map(|(spec, durations)| Some((spec, durations.as_deref()?)));
        let told = |durations: &Durations| percentages.iter().map(|percentage| durations.at(*percentage)).collect();
        found.map(|(spec, durations)| (spec, told(durations))).collect()
    }

    /// Counts an error reply under its code.
    pub(super) fn count_error(&mut self, code: &str) {
        self.error_replies += 1;
        match self.errors.get_mut(code) {
            Some(count) => *count += 1,
            None => {
                self.errors.insert(code.to_owned(), 1);
            }
        }
    }

    pub(super) fn commands(&self) -> Vec<(&'static Spec, CommandStats)> {
        let called = |stats: &CommandStats| stats.calls + stats.rejected > 0;
        SPECS
            .iter()
            .zip(&self.commands)
            .filter(|(_, stats)| called(stats))
            .map(|(spec, stats)| (spec, *stats))
            .collect()
    }

    pub(super) fn errors(&self) -> Vec<(String, u64)> {
        self.errors.iter().map(|(code, count)| (code.clone(), *count)).collect()
    }

    /// CONFIG RESETSTAT.
    pub(super) fn reset(&mut self) {
        let process = std::mem::replace(&mut self.process, Process::nowhere());
        let (peak_bytes, peak_at_s, keeps_durations) = (self.peak_bytes, self.peak_at_s, self.keeps_durations);
        *self = Stats { peak_bytes, peak_at_s, keeps_durations, ..Stats::new(process) };
    }

    /// Takes a sample for the per-second figures and the memory peak. Call it ten times a second.
    pub(super) fn sample(&mut self, unix_s: u64) {
        let now = Instant::now();
        let counts = [self.executed, self.net_in, self.net_out, self.rounds];
        if let Some((then, before)) = self.rates.last {
            let ms = now.duration_since(then).as_millis().max(1) as u64;
            let per_s = |at: usize| counts[at].saturating_sub(before[at]) * 1000 / ms;
            self.rates.samples[self.rates.next] = [0, 1, 2, 3].map(per_s);
            self.rates.next = (self.rates.next + 1) % self.rates.samples.len();
        }
        self.rates.last = Some((now, counts));
        let used = self.used_bytes();
        if used > self.peak_bytes {
            self.peak_bytes = used;
            self.peak_at_s = unix_s;
        }
    }

    /// Bytes handed out by the allocator, and those that sets have from the system.
    pub(super) fn used_bytes(&self) -> u64 {
        (self.process.allocator.used)() + paged_bytes()
    }

    /// Everything INFO reports about the process. Reads /proc and the allocator: some 50 microseconds.
    pub(super) fn facts(&self, table: &Table) -> Facts {
        let figures = (self.process.allocator.figures)();
        let used = self.used_bytes();
        let rss_bytes = resident_bytes().unwrap_or(figures.resident);
        let samples = &self.rates.samples;
        let mean = |at: usize| samples.iter().map(|sample| sample[at]).sum::<u64>() / samples.len() as u64;
        let now_s = table.now.unix_us / 1_000_000;
        let mut facts = Facts {
            pid: std::process::id(),
            run_id: self.process.run_id.clone(),
            tcp_port: self.process.tcp_port,
            listeners: self.process.listeners.clone(),
            executable: std::env::current_exe().map(|path| path.display().to_string()).unwrap_or_default(),
            config_file: self.process.config_file.as_ref().map_or(String::new(), |path| path.display().to_string()),
            os: system_name(),
            uptime_s: self.process.started.elapsed().as_secs(),
            rss_bytes,
            allocated_bytes: used,
            allocator_active_bytes: figures.active + paged_bytes(),
            allocator_resident_bytes: figures.resident + paged_bytes(),
            allocator_muzzy_bytes: figures.muzzy,
            allocator: self.process.allocator.name,
            peak_bytes: self.peak_bytes.max(used),
            peak_at_s: if used >= self.peak_bytes { now_s } else { self.peak_at_s },
            startup_bytes: self.process.startup_bytes,
            system_bytes: system_memory_bytes().unwrap_or(0),
            connected: table.sessions.len(),
            max_clients: table.settings.maxclients(),
            connections: self.connections,
            rejected_connections: self.rejected_connections,
            commands: self.executed,
            ops_per_sec: mean(0),
            net_in: self.net_in,
            net_out: self.net_out,
            in_kbps: mean(1) as f64 / 1024.0,
            out_kbps: mean(2) as f64 / 1024.0,
            reads: self.reads,
            writes: self.writes,
            inbox_limit_cuts: self.inbox_limit_cuts,
            corrupt_rings: self.corrupt_rings,
            demanded_rings: table.demanded.rings,
            demanded_bytes: table.demanded.bytes,
            outbox_limit_cuts: self.outbox_limit_cuts,
            dropped_messages: self.dropped_messages,
            dropped_bytes: self.dropped_bytes,
            errors: self.error_replies,
            rounds: self.rounds,
            rounds_per_sec: mean(3),
            ..Facts::default()
        };
        add_cpu_times(&mut facts);
        add_sessions(&mut facts, table);
        facts
    }
}

impl Process {
    /// A stand-in for the moment in which the real one moves.
    pub(super) fn nowhere() -> Self {
        Process {
            started: Instant::now(),
            run_id: String::new(),
            tcp_port: 0,
            listeners: Vec::new(),
            config_file: None,
            allocator: Allocator {
                name: "",
                used: u64::default,
                figures: AllocatorFigures::default,
                report: String::new,
                purge: || {},
            },
            startup_bytes: 0,
        }
    }
}

fn add_sessions(facts: &mut Facts, table: &Table) {
    for (_, session) in &table.sessions {
        facts.pubsub_clients += usize::from(session.subscribed);
        facts.paused += usize::from(session.state == State::Paused);
        let watched = session.caller.as_ref().and_then(|caller| caller.extras.as_ref());
        facts.watching_clients += usize::from(watched.is_some_and(|extras| !extras.watched.is_empty()));
        facts.inbox_bytes_max = facts.inbox_bytes_max.max(session.inbox.heap_bytes());
        facts.outbox_bytes_max = facts.outbox_bytes_max.max(session.outbox.bytes());
        facts.sessions_bytes += session.heap_bytes() + size_of_val(session);
    }
}

fn add_cpu_times(facts: &mut Facts) {
    let us = |time: nix::sys::time::TimeVal| (time.tv_sec() as u64) * 1_000_000 + time.tv_usec() as u64;
    let times = |who| getrusage(who).map(|usage: Usage| (us(usage.user_time()), us(usage.system_time())));
    (facts.cpu_user_us, facts.cpu_sys_us) = times(UsageWho::RUSAGE_SELF).unwrap_or_default();
    (facts.cpu_children_user_us, facts.cpu_children_sys_us) = times(UsageWho::RUSAGE_CHILDREN).unwrap_or_default();
    #[cfg(target_os = "linux")]
    {
        (facts.cpu_thread_user_us, facts.cpu_thread_sys_us) = times(UsageWho::RUSAGE_THREAD).unwrap_or_default();
    }
}

/// Resident pages times the page size; the second field of `/proc/self/statm`.
pub(super) fn resident_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = text.split_ascii_whitespace().nth(1)?.parse().ok()?;
    let page = nix::unistd::sysconf(nix::unistd::SysconfVar::PAGE_SIZE).ok()??;
    Some(pages * page as u64)
}

fn system_memory_bytes() -> Option<u64> {
    let pages = nix::unistd::sysconf(nix::unistd::SysconfVar::_PHYS_PAGES).ok()??;
    let page = nix::unistd::sysconf(nix::unistd::SysconfVar::PAGE_SIZE).ok()??;
    Some(pages as u64 * page as u64)
}

fn system_name() -> String {
    let Ok(name) = nix::sys::utsname::uname() else { return String::new() };
    let words = [name.sysname(), name.release(), name.machine()];
    words.map(|word| word.to_string_lossy().into_owned()).join(" ")
}
