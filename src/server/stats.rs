//! Counters of the process, and the facts INFO asks for.
//!
//! Invariant: every figure is counted or read from the system; what is not known is not reported.

use std::collections::BTreeMap;
use std::time::Instant;

use nix::sys::resource::{Usage, UsageWho, getrusage};

use crate::command::{CommandId, SPECS, Spec};
use crate::engine::{CommandStats, Facts};

use super::session::State;
use super::table::Table;

/// What an allocator can tell about itself, in bytes.
#[derive(Debug, Clone, Copy, Default)]
pub struct AllocatorFigures {
    /// In pages that hold at least one allocation.
    pub active: u64,
    /// Held in physical memory.
    pub resident: u64,
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
    pub(super) outbox_limit_cuts: u64,
    pub(super) dropped_messages: u64,
    pub(super) dropped_bytes: u64,
    pub(super) error_replies: u64,
    pub(super) rounds: u64,
    pub(super) process: Process,
    commands: Vec<CommandStats>,
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
    pub(super) config_file: String,
    pub(super) allocator: Allocator,
    pub(super) startup_bytes: u64,
}

/// Sixteen samples, a tenth of a second apart, as Redis averages its `instantaneous_` fields.
#[derive(Default)]
struct Rates {
    samples: [(u64, u64, u64); 16],
    next: usize,
    last: Option<(Instant, u64, u64, u64)>,
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
            outbox_limit_cuts: 0,
            dropped_messages: 0,
            dropped_bytes: 0,
            error_replies: 0,
            rounds: 0,
            peak_bytes: process.startup_bytes,
            peak_at_s: 0,
            process,
            commands: vec![CommandStats::default(); SPECS.len()],
            errors: BTreeMap::new(),
            rates: Rates::default(),
        }
    }

    /// The counters of one command.
    pub(super) fn command(&mut self, id: CommandId) -> &mut CommandStats {
        &mut self.commands[usize::from(id.0)]
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
        let (peak_bytes, peak_at_s) = (self.peak_bytes, self.peak_at_s);
        *self = Stats { peak_bytes, peak_at_s, ..Stats::new(process) };
    }

    /// Takes a sample for the per-second figures and the memory peak. Call it ten times a second.
    pub(super) fn sample(&mut self, unix_s: u64) {
        let now = Instant::now();
        if let Some((then, executed, net_in, net_out)) = self.rates.last {
            let ms = now.duration_since(then).as_millis().max(1) as u64;
            let per_s = |now: u64, then: u64| now.saturating_sub(then) * 1000 / ms;
            self.rates.samples[self.rates.next] =
                (per_s(self.executed, executed), per_s(self.net_in, net_in), per_s(self.net_out, net_out));
            self.rates.next = (self.rates.next + 1) % self.rates.samples.len();
        }
        self.rates.last = Some((now, self.executed, self.net_in, self.net_out));
        let used = self.used_bytes();
        if used > self.peak_bytes {
            self.peak_bytes = used;
            self.peak_at_s = unix_s;
        }
    }

    /// Bytes handed out by the allocator.
    pub(super) fn used_bytes(&self) -> u64 {
        (self.process.allocator.used)()
    }

    /// Everything INFO reports about the process. Reads /proc and the allocator: some 50 microseconds.
    pub(super) fn facts(&self, table: &Table) -> Facts {
        let figures = (self.process.allocator.figures)();
        let used = self.used_bytes();
        let rss_bytes = resident_bytes().unwrap_or(figures.resident);
        let mean = |of: fn(&(u64, u64, u64)) -> u64| {
            self.rates.samples.iter().map(of).sum::<u64>() / self.rates.samples.len() as u64
        };
        let now_s = table.now.unix_us / 1_000_000;
        let mut facts = Facts {
            pid: std::process::id(),
            run_id: self.process.run_id.clone(),
            tcp_port: self.process.tcp_port,
            listeners: self.process.listeners.clone(),
            executable: std::env::current_exe().map(|path| path.display().to_string()).unwrap_or_default(),
            config_file: self.process.config_file.clone(),
            os: system_name(),
            uptime_s: self.process.started.elapsed().as_secs(),
            rss_bytes,
            allocated_bytes: used,
            allocator_active_bytes: figures.active,
            allocator_resident_bytes: figures.resident,
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
            ops_per_sec: mean(|sample| sample.0),
            net_in: self.net_in,
            net_out: self.net_out,
            in_kbps: mean(|sample| sample.1) as f64 / 1024.0,
            out_kbps: mean(|sample| sample.2) as f64 / 1024.0,
            reads: self.reads,
            writes: self.writes,
            inbox_limit_cuts: self.inbox_limit_cuts,
            outbox_limit_cuts: self.outbox_limit_cuts,
            dropped_messages: self.dropped_messages,
            dropped_bytes: self.dropped_bytes,
            errors: self.error_replies,
            rounds: self.rounds,
            ..Facts::default()
        };
        add_cpu_times(&mut facts);
        add_sessions(&mut facts, table);
        facts
    }
}

impl Process {
    /// A stand-in for the moment in which the real one moves.
    fn nowhere() -> Self {
        Process {
            started: Instant::now(),
            run_id: String::new(),
            tcp_port: 0,
            listeners: Vec::new(),
            config_file: String::new(),
            allocator: Allocator { name: "", used: u64::default, figures: AllocatorFigures::default },
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
