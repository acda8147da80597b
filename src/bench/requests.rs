//! `ping`, `kv` and `mixed`: requests whose answers come one for one, in all three loops.
//!
//! Invariant: as many requests are sent as were asked for, and each is answered before its run ends.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use quanta::Clock;

use super::dialect::{Answer, Dialect, Request};
use super::engine::{Engine, Transport};
use super::lane::{Lane, Watch};
use super::plan::{Loop, Plan, Workload};
use super::report::{Cell, Outcome, Primary, Report, RoundFigures, Row, Timings};
use super::{Failure, Surroundings, cpu};

/// Bytes of a ring each way.
const RING_BYTES: u64 = 64 * 1024;

/// Keys that `kv` and `mixed` choose from, and the bytes of a value.
const KEYS: usize = 10_000;
const VALUE_BYTES: usize = 64;

/// The requests of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mix {
    Ping,
    Get,
    Set,
    Incr,
    /// Nine GET, one SET of ten.
    MostlyReads,
    /// GET, SET, INCR, SADD, SISMEMBER and PUBLISH, evenly.
    Everything,
}

impl Mix {
    fn of(workload: Workload) -> &'static [(Mix, &'static str)] {
        match workload {
            Workload::Kv => {
                &[(Mix::Get, "GET"), (Mix::Set, "SET"), (Mix::Incr, "INCR"), (Mix::MostlyReads, "90%-GET-10%-SET")]
            }
            Workload::Mixed => &[(Mix::Everything, "GET-SET-INCR-SADD-SISMEMBER-PUBLISH")],
            Workload::Ping | Workload::Pubsub | Workload::Set => &[(Mix::Ping, "PING")],
        }
    }
}

/// Measures all rows that the plan wants.
pub(super) fn run(plan: &Plan, surroundings: Surroundings<'_>, report: &mut Report) -> Result<(), Failure> {
    let rows: Vec<_> = Mix::of(plan.workload).iter().filter(|row| plan.wants(plan.workload.name(), row.1)).collect();
    surroundings.observer.rows(rows.len());
    for (mix, name) in rows {
        let mut row = Row {
            scenario: plan.workload.name().to_owned(),
            detail: (*name).to_owned(),
            clients: plan.clients,
            literal_subscriptions: 0,
            pattern_subscriptions: 0,
            payload_bytes: if *mix == Mix::Ping { 0 } else { VALUE_BYTES },
            deliveries_per_publish: 0,
            primary: if matches!(plan.pace, Loop::Pipelined(_)) { Primary::Rate } else { Primary::Ack },
            cells: plan.engines.iter().map(|_| Cell::new()).collect(),
        };
        let ended = measure(plan, surroundings, *mix, &mut row, report);
        report.rows.push(row);
        match ended {
            Err(Failure::Stopped) => return Ok(()),
            ended => ended?,
        }
        surroundings.observer.done();
    }
    Ok(())
}

fn measure(
    plan: &Plan,
    surroundings: Surroundings<'_>,
    mix: Mix,
    row: &mut Row,
    report: &mut Report,
) -> Result<(), Failure> {
    let mut engines = Vec::new();
    for (number, spec) in plan.engines.iter().enumerate() {
        surroundings.observer.at(&row.detail, &spec.name);
        let engine = Engine::open(spec, Transport::Unix, plan)?;
        report.engines[number].transport = engine.transport.name();
        report.engines[number].version.clone_from(&engine.version);
        if let Err(failure) = fill(&engine, mix) {
            row.cells[number].fail(failure)?;
        }
        engines.push(engine);
    }
    for round in 0..plan.rounds {
        for (number, (engine, cell)) in engines.iter().zip(&mut row.cells).enumerate() {
            if cell.outcome != Outcome::Measured {
                continue;
            }
            surroundings.observer.at(&row.detail, &plan.engines[number].name);
            let by_ring = engine.transport == Transport::Ring;
            let ping_pong_ns = by_ring.then(|| cpu::ping_pong(plan.client_cpu, plan.server_cpu)).flatten();
            match one_round(plan, engine, mix, round as u64, surroundings.stop) {
                Ok(figures) => {
                    report.lag.add(&figures.lag);
                    report.windows.0 += figures.windows.0;
                    report.windows.1 += figures.windows.1;
                    cell.ack.add(&figures.ack);
                    cell.rounds.push(RoundFigures {
                        samples: figures.requests,
                        seconds: figures.seconds,
                        operations_per_second: figures.requests as f64 / figures.seconds.max(f64::MIN_POSITIVE),
                        ack: figures.ack.summary(),
                        delivery: None,
                        service: figures.service.summary(),
                        ping_pong_ns,
                    });
                }
                Err(failure) => cell.fail(failure)?,
            }
        }
    }
    Ok(())
}

/// Stores what GET is to find.
fn fill(engine: &Engine, mix: Mix) -> Result<(), Failure> {
    if mix == Mix::Ping {
        return Ok(());
    }
    let mut control = engine.control()?;
    control.set_timeout(Some(super::engine::SETUP_MAX));
    let value = value();
    for first in (0..KEYS).step_by(1000) {
        let keys: Vec<Vec<u8>> = (first..first + 1000).map(key).collect();
        let mut request: Vec<&[u8]> = vec![b"MSET"];
        keys.iter().for_each(|key| request.extend([key.as_slice(), &value]));
        let answer = control.call(&request)?;
        if answer.is_error() {
            return Err(Failure::Refused(String::from_utf8_lossy(answer.as_bytes().unwrap_or_default()).into_owned()));
        }
    }
    control.call(&[b"DEL", SET_KEY, COUNTER_KEY])?;
    control.call(&[b"SADD", SET_KEY, b"member"])?;
    Ok(())
}

const SET_KEY: &[u8] = b"bench:kv:set";
const COUNTER_KEY: &[u8] = b"bench:kv:counter";

fn key(number: usize) -> Vec<u8> {
    format!("bench:kv:{number:06}").into_bytes()
}

fn value() -> Vec<u8> {
    vec![b'v'; VALUE_BYTES]
}

/// What a round, or a thread's part of it, has measured.
#[derive(Default)]
struct Figures {
    requests: u64,
    seconds: f64,
    ack: Timings,
    service: Timings,
    lag: Timings,
    windows: (u64, u64),
}

impl Figures {
    fn add(&mut self, other: Figures) {
        self.requests += other.requests;
        self.seconds = self.seconds.max(other.seconds);
        self.ack.add(&other.ack);
        self.service.add(&other.service);
        self.lag.add(&other.lag);
        self.windows.0 += other.windows.0;
        self.windows.1 += other.windows.1;
    }
}

fn one_round(plan: &Plan, engine: &Engine, mix: Mix, round: u64, stop: &AtomicBool) -> Result<Figures, Failure> {
    let threads = plan.threads.clamp(1, plan.clients);
    let dialect = if engine.transport == Transport::Ring { Dialect::Sbe } else { Dialect::Resp };
    let mut shares: Vec<Vec<Client>> = (0..threads).map(|_| Vec::new()).collect();
    for number in 0..plan.clients {
        let lane = Lane::over(engine.connect(RING_BYTES)?, dialect);
        let seed = plan.seed.wrapping_add(round << 32).wrapping_add(number as u64);
        shares[number % threads].push(Client::new(lane, mix, seed, plan.clients, number));
    }
    // Requests are divided so that their sum is exactly what was asked for.
    let of_thread = |thread: usize| {
        plan.requests.map(|all| {
            let (all, threads, thread) = (all, threads as u64, thread as u64);
            all / threads + u64::from(thread < all % threads)
        })
    };
    let work = |thread: usize, mut clients: Vec<Client>| -> Result<Figures, Failure> {
        let share = Share { plan, requests: of_thread(thread), clients_before: thread, threads, stop };
        match plan.pace {
            Loop::Closed => share.windows(&mut clients, 1),
            Loop::Pipelined(depth) => share.windows(&mut clients, depth),
            Loop::Fixed(rate) => share.fixed(&mut clients, rate),
        }
    };
    if threads == 1 {
        return work(0, shares.swap_remove(0));
    }
    std::thread::scope(|scope| {
        let started: Vec<_> = shares
            .into_iter()
            .enumerate()
            .map(|(thread, clients)| {
                let work = &work;
                scope.spawn(move || {
                    cpu::keep_off(&plan.processors, plan.server_cpu);
                    work(thread, clients)
                })
            })
            .collect();
        let mut all = Figures::default();
        for thread in started {
            let Ok(figures) = thread.join() else { return Err(Failure::Start("a thread has panicked".into())) };
            all.add(figures?);
        }
        Ok(all)
    })
}

/// A connection and what it asks.
struct Client {
    lane: Lane,
    mix: Mix,
    random: fastrand::Rng,
    /// Keys are divided among clients, so that each knows what its counters hold.
    clients: usize,
    number: usize,
    counter: i64,
    counter_known: bool,
    requests: Vec<u8>,
    answers: Vec<u8>,
}

impl Client {
    fn new(lane: Lane, mix: Mix, seed: u64, clients: usize, number: usize) -> Client {
        let (requests, answers) = (Vec::new(), Vec::new());
        let random = fastrand::Rng::with_seed(seed);
        Client { lane, mix, random, clients, number, counter: 0, counter_known: false, requests, answers }
    }

    /// Makes so many requests and their answers.
    fn compose(&mut self, count: usize) {
        self.requests.clear();
        self.answers.clear();
        for _ in 0..count {
            self.compose_one();
        }
    }

    fn compose_one(&mut self) {
        let dialect = self.lane.dialect;
        let kind = match self.mix {
            Mix::MostlyReads if self.random.u8(..10) == 0 => Mix::Set,
            Mix::MostlyReads => Mix::Get,
            Mix::Everything => [Mix::Get, Mix::Set, Mix::Incr, Mix::Everything][self.random.usize(..6).min(3)],
            mix => mix,
        };
        let (key, value) = (key(self.random.usize(..KEYS)), value());
        let counter_key = format!("bench:kv:counter:{}:{}", self.number, self.clients).into_bytes();
        let (request, answer) = match kind {
            Mix::Ping | Mix::MostlyReads => (Request::Ping, Answer::Pong),
            Mix::Get => (Request::Get(&key), Answer::Bulk(&value)),
            Mix::Set => (Request::Set(&key, &value), Answer::Okay),
            Mix::Incr => {
                self.counter += 1;
                (Request::Incr(&counter_key), Answer::Integer(self.counter))
            }
            Mix::Everything => match self.random.u8(..3) {
                0 => (Request::SAdd(SET_KEY, &[b"member"]), Answer::Integer(0)),
                1 => (Request::SIsMember(SET_KEY, b"member"), Answer::Integer(1)),
                _ => (Request::Publish(b"bench:kv:nobody", &value), Answer::Integer(0)),
            },
        };
        dialect.request(request, &mut self.requests);
        dialect.answer(answer, &mut self.answers);
    }

    /// Sets its counter to zero, once.
    fn begin(&mut self, stop: &AtomicBool) -> Result<(), Failure> {
        if matches!(self.mix, Mix::Incr | Mix::Everything) && !self.counter_known {
            let key = format!("bench:kv:counter:{}:{}", self.number, self.clients).into_bytes();
            let request = self.lane.dialect.request_bytes(Request::Set(&key, b"0"));
            let answer = self.lane.dialect.answer_bytes(Answer::Okay);
            self.lane.exchange(&request, &answer, stop, true)?;
            self.counter_known = true;
        }
        Ok(())
    }
}

/// What one thread does.
struct Share<'a> {
    plan: &'a Plan,
    requests: Option<u64>,
    clients_before: usize,
    threads: usize,
    stop: &'a AtomicBool,
}

impl Share<'_> {
    /// Windows of requests, client after client; a window of one is the closed loop.
    fn windows(&self, clients: &mut [Client], depth: usize) -> Result<Figures, Failure> {
        let clock = Clock::new();
        let mut figures = Figures::default();
        for client in clients.iter_mut() {
            client.begin(self.stop)?;
        }
        let began = Instant::now();
        let mut at = 0;
        while began.elapsed() < self.plan.warm_up && self.requests.is_none() {
            self.window(&mut clients[at], depth, &clock)?;
            at = (at + 1) % clients.len();
        }
        let began = Instant::now();
        loop {
            let left = self.requests.map_or(u64::MAX, |all| all - figures.requests);
            if left == 0 || self.requests.is_none() && began.elapsed() >= self.plan.duration {
                break;
            }
            let count = (depth as u64).min(left) as usize;
            let (taken, waited_for_us) = self.window(&mut clients[at], count, &clock)?;
            at = (at + 1) % clients.len();
            // Each of a window's requests has waited as long as the window: nobody had its answer earlier.
            (0..count).for_each(|_| figures.ack.record(taken));
            figures.requests += count as u64;
            figures.seconds += taken as f64 / 1e9;
            if depth > 1 {
                figures.windows.0 += 1;
                figures.windows.1 += u64::from(waited_for_us);
            }
        }
        Ok(figures)
    }

    fn window(&self, client: &mut Client, count: usize, clock: &Clock) -> Result<(u64, bool), Failure> {
        client.compose(count);
        let began = clock.raw();
        let waited_for_us = client.lane.exchange(&client.requests, &client.answers, self.stop, !self.plan.spins())?;
        Ok((clock.delta_as_nanos(began, clock.raw()), waited_for_us))
    }

    /// A request when its time has come, whatever became of the ones before; clients take turns, out of phase between
    /// threads.
    fn fixed(&self, clients: &mut [Client], rate: f64) -> Result<Figures, Failure> {
        let interval = 1e9 / rate * self.threads as f64;
        let phase = interval * self.clients_before as f64 / self.threads as f64;
        let mut figures = Figures::default();
        for client in clients.iter_mut() {
            client.begin(self.stop)?;
        }
        // Whoever counts requests counts all of them.
        let warm_up = match self.requests {
            Some(_) => 0,
            None => (self.plan.warm_up.as_nanos() as f64 / interval) as u64,
        };
        let measured = self.requests.unwrap_or_else(|| (self.plan.duration.as_nanos() as f64 / interval).ceil() as u64);
        let all = warm_up + measured;
        let clock = Clock::new();
        let origin = clock.raw();
        let now = || clock.delta_as_nanos(origin, clock.raw());
        let due = |number: u64| (phase + number as f64 * interval) as u64;
        let mut owed: Vec<std::collections::VecDeque<Sent>> = clients.iter().map(|_| Default::default()).collect();
        // A connection's requests are served one after the other: one's service begins when the last was answered.
        let mut served = vec![0; clients.len()];
        let (mut sent, mut answered) = (0, 0);
        let mut watch = Watch::of(self.stop, "an answer", !self.plan.spins());
        let mut last_end = 0;
        while answered < all {
            if sent < all && now() >= due(sent) {
                let at = (sent % clients.len() as u64) as usize;
                let client = &mut clients[at];
                client.compose(1);
                let started = now();
                // A request that finds no room waits for it: the lateness of those behind it counts.
                client.lane.send(&client.requests, self.stop)?;
                owed[at].push_back(Sent { intended: due(sent), started, answer: client.answers.clone() });
                if sent >= warm_up {
                    figures.lag.record(started.saturating_sub(due(sent)));
                }
                sent += 1;
            }
            let before = answered;
            for ((client, owed), served) in clients.iter_mut().zip(&mut owed).zip(&mut served) {
                while let Some(first) = owed.front() {
                    if !client.lane.poll(&first.answer)? {
                        break;
                    }
                    let end = now();
                    if answered >= warm_up {
                        figures.ack.record(end.saturating_sub(first.intended));
                        figures.service.record(end.saturating_sub(first.started.max(*served)));
                    }
                    (last_end, *served) = (end, end);
                    answered += 1;
                    owed.pop_front();
                }
            }
            if answered > before || answered == sent {
                watch.heard();
                if sent < all {
                    self.rest(due(sent).saturating_sub(now()));
                }
            }
            watch.look()?;
        }
        figures.requests = measured;
        figures.seconds = last_end.saturating_sub(due(warm_up)) as f64 / 1e9;
        Ok(figures)
    }

    /// Sleeps through most of a long wait; the rest is spun.
    fn rest(&self, nanoseconds: u64) {
        const LONG: u64 = 2_000_000;
        if nanoseconds > LONG {
            std::thread::sleep(Duration::from_nanos(nanoseconds - LONG / 2));
        }
    }
}

/// A request that waits for its answer.
struct Sent {
    intended: u64,
    started: u64,
    answer: Vec<u8>,
}
