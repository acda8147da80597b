//! The rows of `set`: two sets of a million members, what they take in memory, and how fast they are asked.
//!
//! Each round starts every engine anew, one after the other; each row's median is over these rounds.
//!
//! Invariant: what is already on an attached server is not touched: a key of ours that exists there ends its rows.

use std::sync::atomic::AtomicBool;

use quanta::Clock;

use super::dialect::{Answer, Dialect, Request};
use super::engine::{Engine, SETUP_MAX, Transport};
use super::lane::Lane;
use super::plan::{Members, Plan};
use super::report::{Cell, Memory, Outcome, Primary, Report, RoundFigures, Row, Timings};
use super::{Failure, Surroundings, cpu};
use crate::client::{Connection, Value};

/// Bytes of a ring each way: the report's.
const RING_BYTES: u64 = 2 * 1024 * 1024;

const PRIMARY: &[u8] = b"set:primary";
const SECONDARY: &[u8] = b"set:secondary";

/// Members of one SADD.
const BATCH: usize = 128;

/// Operations of a row, pairs of removing and adding, and intersections: the report's, and the usual ones.
const OPERATIONS: [usize; 2] = [200_000, 100_000];
const PAIRS: [usize; 2] = [100_000, 50_000];
const INTERSECTIONS: [usize; 2] = [20, 5];

/// Small sets, and the members of each.
const SMALL_SETS: usize = 10_000;
const SMALL_MEMBERS: usize = 8;

/// Share of places in use that GOBLIN.OPTIMIZE is asked for.
const OPTIMIZE_LOAD: &[u8] = b"0.97";

/// The rows, in order: scenario, detail, and what decides it.
const ROWS: [(&str, &str, Primary); 15] = [
    ("load", "SADD-128", Primary::Rate),
    ("growth", "longest-SADD", Primary::Extra("longest_us")),
    ("memory", "rss-per-member", Primary::Extra("rss_bytes_per_member")),
    ("memory", "reported-per-member", Primary::Extra("reported_bytes_per_member")),
    ("member-hit", "before-optimize", Primary::Rate),
    ("optimize", "rss-per-member", Primary::Extra("rss_bytes_per_member")),
    ("optimize", "reported-per-member", Primary::Extra("reported_bytes_per_member")),
    ("member-hit", "SISMEMBER", Primary::Rate),
    ("member-miss", "SISMEMBER", Primary::Rate),
    ("multi-member", "SMISMEMBER-4", Primary::Rate),
    ("card", "SCARD", Primary::Rate),
    ("churn", "SREM+SADD", Primary::Rate),
    ("intercard", "SINTERCARD-50%", Primary::Rate),
    ("small-sets", "rss-per-key", Primary::Extra("rss_bytes_per_key")),
    ("small-sets", "reported-per-key", Primary::Extra("reported_bytes_per_key")),
];

/// Measures all rows that the plan wants.
pub(super) fn run(plan: &Plan, surroundings: Surroundings<'_>, report: &mut Report) -> Result<(), Failure> {
    let bytes = match plan.member_kind {
        Members::Fixed(bytes) => bytes,
        Members::Range(least, most) => (least + most) / 2,
        Members::Integers => 8,
    };
    for (scenario, detail, primary) in ROWS {
        report.rows.push(Row {
            scenario: scenario.to_owned(),
            detail: detail.to_owned(),
            clients: 1,
            literal_subscriptions: 0,
            pattern_subscriptions: 0,
            payload_bytes: bytes,
            deliveries_per_publish: 0,
            primary,
            cells: plan.engines.iter().map(|_| Cell::new()).collect(),
        });
    }
    surroundings.observer.rows(plan.rounds * plan.engines.len());
    for round in 0..plan.rounds {
        for (number, spec) in plan.engines.iter().enumerate() {
            surroundings.observer.at(&format!("round {} of {}", round + 1, plan.rounds), &spec.name);
            let engine = Engine::open(spec, Transport::Tcp, plan)?;
            report.engines[number].transport = engine.transport.name();
            report.engines[number].version.clone_from(&engine.version);
            let mut cells: Vec<&mut Cell> = report.rows.iter_mut().map(|row| &mut row.cells[number]).collect();
            let mut trial = match Trial::begin(plan, &engine, surroundings.stop) {
                Ok(trial) => trial,
                Err(failure) => {
                    let why = failure.to_string();
                    cells[0].fail(failure)?;
                    let rest = &mut cells[1..];
                    rest.iter_mut().for_each(|cell| cell.outcome = Outcome::NotAvailable(why.clone()));
                    continue;
                }
            };
            let ended = trial.all_rows(&mut cells);
            report.windows.0 += trial.windows.0;
            report.windows.1 += trial.windows.1;
            match ended.and(trial.clean_up()) {
                Err(Failure::Stopped) => return Ok(()),
                Err(failure) => fail_the_rest(&mut cells, round, failure)?,
                Ok(()) => surroundings.observer.done(),
            }
        }
    }
    report.rows.retain(|row| plan.wants(&row.scenario, &row.detail));
    Ok(())
}

/// The first row that this round gave no figure has failed; those behind it were not reached.
fn fail_the_rest(cells: &mut [&mut Cell], round: usize, failure: Failure) -> Result<(), Failure> {
    let is_open =
        |cell: &&mut &mut Cell| cell.outcome == Outcome::Measured && cell.rounds.len().max(cell.extra.len()) <= round;
    let mut open = cells.iter_mut().filter(is_open);
    let Some(first) = open.next() else { return Err(failure) };
    open.for_each(|cell| cell.outcome = Outcome::NotAvailable("a row before it has failed".to_owned()));
    first.fail(failure)
}

/// One engine in one round.
struct Trial<'a> {
    plan: &'a Plan,
    engine: &'a Engine,
    stop: &'a AtomicBool,
    control: Connection,
    lane: Lane,
    clock: Clock,
    random: fastrand::Rng,
    windows: (u64, u64),
    /// MiB before anything was stored, and with the first set.
    empty_mib: Option<f64>,
    loaded_mib: Option<f64>,
    ping_pong_ns: Option<f64>,
}

impl<'a> Trial<'a> {
    fn begin(plan: &'a Plan, engine: &'a Engine, stop: &'a AtomicBool) -> Result<Self, Failure> {
        let mut control = engine.control()?;
        control.set_timeout(Some(SETUP_MAX));
        if !engine.is_own() {
            for key in [PRIMARY, SECONDARY] {
                if ask(&mut control, &[b"EXISTS", key])?.as_integer() != Some(0) {
                    let key = String::from_utf8_lossy(key);
                    return Err(Failure::Start(format!("the attached server has a key {key} already")));
                }
            }
        }
        let by_ring = engine.transport == Transport::Ring;
        let dialect = if by_ring { Dialect::Sbe } else { Dialect::Resp };
        let lane = Lane::over(engine.connect(RING_BYTES)?, dialect);
        let ping_pong_ns = by_ring.then(|| cpu::ping_pong(plan.client_cpu, plan.server_cpu)).flatten();
        Ok(Trial {
            plan,
            engine,
            stop,
            control,
            lane,
            clock: Clock::new(),
            random: fastrand::Rng::with_seed(plan.seed),
            windows: (0, 0),
            empty_mib: engine.rss_mib(),
            loaded_mib: None,
            ping_pong_ns,
        })
    }

    /// In the order of [`ROWS`].
    fn all_rows(&mut self, cells: &mut [&mut Cell]) -> Result<(), Failure> {
        let [load, growth, rss, reported, hit_before, optimized_rss, optimized_reported, rest @ ..] = cells else {
            return Ok(());
        };
        let (round, times) = self.load(PRIMARY, 0)?;
        growth.extra.extend(times.summary().map(|times| ("longest_us", times.max / 1000.0)));
        load.ack.add(&times);
        load.rounds.push(round);
        self.loaded_mib = self.engine.rss_mib();
        self.note_memory(rss, reported)?;
        let hits = self.member_batches(0, true);
        self.rate(hit_before, &hits)?;
        let optimized = self.control.call(&[b"GOBLIN.OPTIMIZE", PRIMARY, OPTIMIZE_LOAD])?;
        match optimized.is_error() {
            false => {
                self.loaded_mib = self.engine.rss_mib();
                self.note_memory(optimized_rss, optimized_reported)?;
            }
            true => {
                let words = String::from_utf8_lossy(optimized.as_bytes().unwrap_or_default()).into_owned();
                for cell in [optimized_rss, optimized_reported] {
                    cell.outcome = Outcome::NotAvailable(words.clone());
                }
            }
        }
        let [hit, miss, multi, card, churn, intercard, small_rss, small_reported] = rest else { return Ok(()) };
        self.rate(hit, &hits)?;
        let misses = self.member_batches(0, false);
        self.rate(miss, &misses)?;
        let multiple = self.multi_batches();
        self.rate(multi, &multiple)?;
        let counts = self.batches(OPERATIONS, self.plan.set_depth, |this, _, out| {
            this.lane.dialect.request(Request::SCard(PRIMARY), &mut out.0);
            this.lane.dialect.answer(Answer::Integer(this.plan.members as i64), &mut out.1);
        });
        self.rate(card, &counts)?;
        let pairs = self.churn_batches();
        self.rate(churn, &pairs)?;
        drop((hits, misses, multiple, counts, pairs));
        self.load(SECONDARY, self.plan.members / 2)?;
        let shared = self.plan.members - self.plan.members / 2;
        let intersections = self.batches(INTERSECTIONS, 1, |this, _, out| {
            this.lane.dialect.request(Request::SInterCard(&[PRIMARY, SECONDARY]), &mut out.0);
            this.lane.dialect.answer(Answer::Integer(shared as i64), &mut out.1);
        });
        self.rate(intercard, &intersections)?;
        self.small_sets(small_rss, small_reported)
    }

    /// Adds members `first` and the following in batches, one request at a time: its rate in members, and the times of
    /// the batches.
    fn load(&mut self, key: &[u8], first: usize) -> Result<(RoundFigures, Timings), Failure> {
        let mut times = Timings::new();
        let (mut request, mut answer) = (Vec::new(), Vec::new());
        let mut seconds = 0.0;
        let end = first + self.plan.members;
        let mut at = first;
        while at < end {
            let members: Vec<Vec<u8>> = (at..end.min(at + BATCH)).map(|number| self.member(number, b'm')).collect();
            let members: Vec<&[u8]> = members.iter().map(Vec::as_slice).collect();
            request.clear();
            answer.clear();
            self.lane.dialect.request(Request::SAdd(key, &members), &mut request);
            self.lane.dialect.answer(Answer::Integer(members.len() as i64), &mut answer);
            let began = self.clock.raw();
            self.lane.exchange(&request, &answer, self.stop, !self.plan.spins())?;
            let taken = self.clock.delta_as_nanos(began, self.clock.raw());
            times.record(taken);
            seconds += taken as f64 / 1e9;
            at += BATCH;
        }
        Ok((self.figures(self.plan.members as u64, seconds, &times), times))
    }

    /// A member by its number, or one that is none (`x`).
    fn member(&self, number: usize, kind: u8) -> Vec<u8> {
        let bytes = match self.plan.member_kind {
            Members::Integers if kind == b'm' => return number.to_string().into_bytes(),
            Members::Integers => return format!("-{}", number + 1).into_bytes(),
            Members::Fixed(bytes) => bytes,
            // Any number has one length, whoever asks.
            Members::Range(least, most) => least + (number * 7919) % (most - least + 1),
        };
        let digits = bytes.saturating_sub(1);
        let mut member = vec![kind];
        member.extend_from_slice(format!("{number:0digits$x}").as_bytes());
        member
    }

    fn figures(&self, operations: u64, seconds: f64, times: &Timings) -> RoundFigures {
        RoundFigures {
            samples: operations,
            seconds,
            operations_per_second: operations as f64 / seconds.max(f64::MIN_POSITIVE),
            ack: times.summary(),
            delivery: None,
            service: None,
            ping_pong_ns: self.ping_pong_ns,
        }
    }

    /// Bytes a member: what the kernel says the server grew by, and what the server says of the key.
    fn note_memory(&mut self, rss: &mut Cell, reported: &mut Cell) -> Result<(), Failure> {
        let members = self.plan.members as f64;
        match (self.empty_mib, self.loaded_mib) {
            (Some(baseline_mib), Some(filled_mib)) => {
                let memory = Memory { baseline_mib, filled_mib };
                rss.memory = Some(memory);
                rss.extra.push(("rss_bytes_per_member", memory.delta_mib() * 1024.0 * 1024.0 / members));
            }
            _ => rss.outcome = Outcome::NotAvailable("the server's process is not on this machine".into()),
        }
        match self.reported(PRIMARY)? {
            Ok(bytes) => reported.extra.push(("reported_bytes_per_member", bytes / members)),
            Err(words) => reported.outcome = Outcome::NotAvailable(words),
        }
        Ok(())
    }

    /// What the server says that a key takes, or why it does not.
    fn reported(&mut self, key: &[u8]) -> Result<Result<f64, String>, Failure> {
        let answer = self.control.call(&[b"MEMORY", b"USAGE", key])?;
        Ok(match answer.as_integer() {
            Some(bytes) => Ok(bytes as f64),
            None => Err(String::from_utf8_lossy(answer.as_bytes().unwrap_or(b"no number")).into_owned()),
        })
    }

    /// Requests and their answers, so many of each in one piece; the usual number or the full one.
    fn batches(
        &mut self,
        [full, usual]: [usize; 2],
        depth: usize,
        mut one: impl FnMut(&mut Self, usize, &mut (Vec<u8>, Vec<u8>)),
    ) -> Vec<Batch> {
        let count = self.plan.samples.unwrap_or(if self.plan.full { full } else { usual });
        let mut batches = Vec::new();
        let mut at = 0;
        while at < count {
            let mut bytes = (Vec::new(), Vec::new());
            let end = count.min(at + depth);
            (at..end).for_each(|number| one(self, number, &mut bytes));
            batches.push(Batch { requests: bytes.0, answers: bytes.1, operations: end - at });
            at = end;
        }
        batches
    }

    fn member_batches(&mut self, base: usize, hit: bool) -> Vec<Batch> {
        self.batches(OPERATIONS, self.plan.set_depth, |this, _, out| {
            let number = base + this.random.usize(..this.plan.members);
            let member = this.member(number, if hit { b'm' } else { b'x' });
            this.lane.dialect.request(Request::SIsMember(PRIMARY, &member), &mut out.0);
            this.lane.dialect.answer(Answer::Integer(hit.into()), &mut out.1);
        })
    }

    fn multi_batches(&mut self) -> Vec<Batch> {
        self.batches(OPERATIONS, self.plan.set_depth, |this, _, out| {
            let members: Vec<Vec<u8>> = (0..4)
                .map(|_| {
                    let number = this.random.usize(..this.plan.members);
                    this.member(number, b'm')
                })
                .collect();
            let members: Vec<&[u8]> = members.iter().map(Vec::as_slice).collect();
            this.lane.dialect.request(Request::SMIsMember(PRIMARY, &members), &mut out.0);
            this.lane.dialect.answer(Answer::Ones(4), &mut out.1);
        })
    }

    /// A pair counts as one operation.
    fn churn_batches(&mut self) -> Vec<Batch> {
        self.batches(PAIRS, (self.plan.set_depth / 2).max(1), |this, _, out| {
            let number = this.random.usize(..this.plan.members);
            let member = this.member(number, b'm');
            for request in [Request::SRem(PRIMARY, &[&member]), Request::SAdd(PRIMARY, &[&member])] {
                this.lane.dialect.request(request, &mut out.0);
                this.lane.dialect.answer(Answer::Integer(1), &mut out.1);
            }
        })
    }

    /// Sends batch after batch; each takes from its first byte to its last answer.
    fn rate(&mut self, cell: &mut Cell, batches: &[Batch]) -> Result<(), Failure> {
        let mut times = Timings::new();
        let (mut seconds, mut operations) = (0.0, 0);
        for batch in batches {
            let began = self.clock.raw();
            let waited_for_us = self.lane.exchange(&batch.requests, &batch.answers, self.stop, !self.plan.spins())?;
            let taken = self.clock.delta_as_nanos(began, self.clock.raw());
            times.record(taken);
            seconds += taken as f64 / 1e9;
            operations += batch.operations as u64;
            self.windows.0 += 1;
            self.windows.1 += u64::from(waited_for_us);
        }
        cell.ack.add(&times);
        cell.rounds.push(self.figures(operations, seconds, &times));
        Ok(())
    }

    fn small_sets(&mut self, rss: &mut Cell, reported: &mut Cell) -> Result<(), Failure> {
        let before = self.engine.rss_mib();
        let key = |number: usize| format!("set:small:{number:06}").into_bytes();
        for number in 0..SMALL_SETS {
            let members: Vec<Vec<u8>> =
                (0..SMALL_MEMBERS).map(|member| self.member(number * SMALL_MEMBERS + member, b'm')).collect();
            let mut request: Vec<&[u8]> = vec![b"SADD"];
            let key = key(number);
            request.push(&key);
            request.extend(members.iter().map(Vec::as_slice));
            self.control.queue(&request);
            if number % BATCH == BATCH - 1 || number == SMALL_SETS - 1 {
                self.control.flush()?;
                for _ in 0..=number % BATCH {
                    let answer = self.control.receive()?;
                    if answer.as_integer() != Some(SMALL_MEMBERS as i64) {
                        return Err(refusal(&answer));
                    }
                }
            }
        }
        match (before, self.engine.rss_mib()) {
            (Some(baseline_mib), Some(filled_mib)) => {
                let memory = Memory { baseline_mib, filled_mib };
                rss.memory = Some(memory);
                rss.extra.push(("rss_bytes_per_key", memory.delta_mib() * 1024.0 * 1024.0 / SMALL_SETS as f64));
            }
            _ => rss.outcome = Outcome::NotAvailable("the server's process is not on this machine".into()),
        }
        match self.reported(&key(0))? {
            Ok(bytes) => reported.extra.push(("reported_bytes_per_key", bytes)),
            Err(words) => reported.outcome = Outcome::NotAvailable(words),
        }
        Ok(())
    }

    /// Takes our keys from a server that stays.
    fn clean_up(&mut self) -> Result<(), Failure> {
        if self.engine.is_own() {
            return Ok(());
        }
        let mut keys: Vec<Vec<u8>> = vec![PRIMARY.to_vec(), SECONDARY.to_vec()];
        keys.extend((0..SMALL_SETS).map(|number| format!("set:small:{number:06}").into_bytes()));
        for keys in keys.chunks(1000) {
            let mut request: Vec<&[u8]> = vec![b"DEL"];
            request.extend(keys.iter().map(Vec::as_slice));
            ask(&mut self.control, &request)?;
        }
        Ok(())
    }
}

/// What goes out in one piece, and what comes back.
struct Batch {
    requests: Vec<u8>,
    answers: Vec<u8>,
    operations: usize,
}

fn ask(control: &mut Connection, request: &[&[u8]]) -> Result<Value, Failure> {
    let answer = control.call(request)?;
    if answer.is_error() { Err(refusal(&answer)) } else { Ok(answer) }
}

fn refusal(answer: &Value) -> Failure {
    match answer.is_error() {
        true => Failure::Refused(String::from_utf8_lossy(answer.as_bytes().unwrap_or_default()).into_owned()),
        false => Failure::Unexpected { wanted: b"another number".to_vec(), got: format!("{answer:?}").into_bytes() },
    }
}
