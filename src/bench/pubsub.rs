//! The rows of `pubsub`: for each, every engine is started anew and set up, and then their rounds alternate.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use quanta::Clock;

use super::closed::{ClosedLoop, Length, Publication, Round};
use super::dialect::{Answer, Dialect, Request};
use super::engine::{Engine, Transport};
use super::lane::{Lane, Watch};
use super::listeners::Receiver;
use super::plan::Plan;
use super::report::{Cell, Memory, Outcome, Primary, Report, RoundFigures, Row, Timings};
use super::topology::{Beside, Scenario, scenarios};
use super::{Failure, Surroundings, cpu};
use crate::client::Kind;

/// Bytes of a ring each way: the report's.
const RING_BYTES: u64 = 4096;

/// Names in one request when subscribing.
const NAMES_PER_REQUEST: usize = 32;

/// Usual samples are this part of the report's, over all rounds.
const USUAL_PART: usize = 4;

/// Rows of other clients' sets, and the requests they have unanswered at a time.
const NEIGHBOUR_MEMBERS: usize = 100_000;
const NEIGHBOURS: usize = 4;
const NEIGHBOUR_REQUESTS: usize = 64;

/// Measures all rows that the plan wants.
pub(super) fn run(plan: &Plan, surroundings: Surroundings<'_>, report: &mut Report) -> Result<(), Failure> {
    let rows = scenarios(plan);
    surroundings.observer.rows(rows.len());
    for scenario in &rows {
        let mut row = Row {
            scenario: scenario.name.to_owned(),
            detail: scenario.detail.clone(),
            clients: scenario.clients.len(),
            literal_subscriptions: scenario.literal_subscriptions(),
            pattern_subscriptions: scenario.pattern_subscriptions(),
            payload_bytes: scenario.payload_bytes,
            deliveries_per_publish: scenario.targets.first().map_or(0, |target| target.receivers.len()),
            primary: primary(scenario),
            cells: plan.engines.iter().map(|_| Cell::new()).collect(),
        };
        let ended = measure(plan, surroundings, scenario, &mut row.cells, report);
        report.rows.push(row);
        match ended {
            Err(Failure::Stopped) => return Ok(()),
            ended => ended?,
        }
        surroundings.observer.done();
    }
    Ok(())
}

fn primary(scenario: &Scenario) -> Primary {
    let delivered = scenario.targets.first().is_some_and(|target| !target.receivers.is_empty());
    if delivered { Primary::Delivery } else { Primary::Ack }
}

/// An engine with everything of one row set up.
struct Ready {
    engine: Engine,
    work: Work,
    neighbours: Neighbours,
    /// Read by nobody, for as long as it takes.
    _unread: Vec<Lane>,
}

enum Work {
    Publish(Box<ClosedLoop>),
    Churn(Box<Churn>),
}

fn measure(
    plan: &Plan,
    surroundings: Surroundings<'_>,
    scenario: &Scenario,
    cells: &mut [Cell],
    report: &mut Report,
) -> Result<(), Failure> {
    let title = format!("{} {}", scenario.name, scenario.detail);
    let mut ready: Vec<Option<Ready>> = Vec::new();
    for (number, cell) in cells.iter_mut().enumerate() {
        surroundings.observer.at(&title, &plan.engines[number].name);
        // An engine that cannot be started ends everything: all its rows would be empty.
        let engine = Engine::open(&plan.engines[number], Transport::Unix, plan)?;
        report.engines[number].transport = engine.transport.name();
        report.engines[number].version.clone_from(&engine.version);
        ready.push(match set_up(plan, scenario, engine, cell, surroundings.stop) {
            Ok(ready) => Some(ready),
            Err(failure) => {
                cell.fail(failure)?;
                None
            }
        });
    }
    let length = length(plan, scenario);
    for _ in 0..plan.rounds {
        for (number, (cell, slot)) in cells.iter_mut().zip(&mut ready).enumerate() {
            let Some(engine) = slot.as_mut().filter(|_| cell.outcome == Outcome::Measured) else { continue };
            surroundings.observer.at(&title, &plan.engines[number].name);
            let by_ring = engine.engine.transport == Transport::Ring;
            let ping_pong_ns = by_ring.then(|| cpu::ping_pong(plan.client_cpu, plan.server_cpu)).flatten();
            match round(plan, engine, length, surroundings.stop) {
                Ok(round) => {
                    report.lag.add(&round.lag);
                    keep(cell, &round, ping_pong_ns);
                }
                Err(failure) => cell.fail(failure)?,
            }
        }
    }
    Ok(())
}

fn keep(cell: &mut Cell, round: &Round, ping_pong_ns: Option<f64>) {
    cell.ack.add(&round.ack);
    cell.delivery.add(&round.delivery);
    cell.rounds.push(RoundFigures {
        samples: round.samples,
        seconds: round.seconds,
        operations_per_second: round.samples as f64 / round.seconds.max(f64::MIN_POSITIVE),
        ack: round.ack.summary(),
        delivery: round.delivery.summary(),
        service: None,
        ping_pong_ns,
    });
}

fn length(plan: &Plan, scenario: &Scenario) -> Length {
    let all = if plan.full { scenario.samples_full } else { scenario.samples_full / USUAL_PART };
    let samples = plan.samples.unwrap_or(all / plan.rounds).max(1);
    Length { samples, warm_up: (samples / 10).min(samples), time_max: plan.round_time_max }
}

fn round(plan: &Plan, ready: &mut Ready, length: Length, stop: &AtomicBool) -> Result<Round, Failure> {
    match &mut ready.work {
        Work::Publish(work) => work.round(length, plan.pace, stop, || ready.neighbours.keep_busy()),
        Work::Churn(churn) => churn.round(length, stop),
    }
}

fn set_up(
    plan: &Plan,
    scenario: &Scenario,
    engine: Engine,
    cell: &mut Cell,
    stop: &AtomicBool,
) -> Result<Ready, Failure> {
    let dialect = if engine.transport == Transport::Ring { Dialect::Sbe } else { Dialect::Resp };
    let mut neighbours = match scenario.beside {
        Beside::NoisyNeighbours => Neighbours::over(&engine)?,
        _ => Neighbours { all: Vec::new() },
    };
    let baseline_mib = engine.rss_mib();
    let mut lanes = Vec::new();
    for client in &scenario.clients {
        let mut connection = engine.connect(RING_BYTES)?;
        for (kind, names) in [(Kind::Channel, &client.channels), (Kind::Pattern, &client.patterns)] {
            for names in names.chunks(NAMES_PER_REQUEST) {
                if stop.load(std::sync::atomic::Ordering::Relaxed) {
                    return Err(Failure::Stopped);
                }
                connection.subscribe(kind, names)?;
            }
        }
        lanes.push(Lane::over(connection, dialect));
    }
    let mut unread = Vec::new();
    if scenario.beside == Beside::SlowSubscriber {
        let mut slow = engine.connect(RING_BYTES)?;
        slow.subscribe(Kind::Channel, &scenario.clients[0].channels)?;
        unread.push(Lane::over(slow, dialect));
    }
    let publisher = Lane::over(engine.connect(RING_BYTES)?, dialect);
    if let (Some(baseline_mib), Some(filled_mib)) = (baseline_mib, engine.rss_mib()) {
        cell.memory = Some(Memory { baseline_mib, filled_mib });
    }
    let work = match scenario.beside {
        Beside::Churn => {
            let lane = lanes.pop().ok_or(Failure::Silent("a subscriber"))?;
            Work::Churn(Box::new(Churn::over(lane, scenario.literal_subscriptions(), !plan.spins())))
        }
        _ => {
            let publications = publications(scenario, dialect, unread.len());
            Work::Publish(Box::new(ClosedLoop::new(publisher, lanes, publications, plan)?))
        }
    };
    neighbours.keep_busy()?;
    Ok(Ready { engine, work, neighbours, _unread: unread })
}

/// The messages of a row. `unread` more subscribers count as receivers for as long as they are there.
fn publications(scenario: &Scenario, dialect: Dialect, unread: usize) -> Vec<Publication> {
    let payload = vec![b'x'; scenario.payload_bytes];
    let one = |target: &super::topology::Target| {
        let channel = target.channel.as_bytes();
        // Most receivers get the same bytes, which then are in memory once.
        let mut known: HashMap<Option<&str>, Arc<[u8]>> = HashMap::new();
        let receivers: Vec<Receiver> = target
            .receivers
            .iter()
            .map(|(client, pattern)| {
                let bytes = known.entry(pattern.as_deref()).or_insert_with(|| {
                    let pattern = pattern.as_deref().map(str::as_bytes);
                    dialect.answer_bytes(Answer::Message { pattern, channel, payload: &payload }).into()
                });
                Receiver { client: *client, bytes: bytes.clone() }
            })
            .collect();
        let counts = (receivers.len()..=receivers.len() + unread).rev();
        let acks = counts.map(|count| dialect.answer_bytes(Answer::Integer(count as i64))).collect();
        Publication { request: dialect.request_bytes(Request::Publish(channel, &payload)), acks, receivers }
    };
    scenario.targets.iter().map(one).collect()
}

/// Joining a channel and leaving it again, beside others that are held.
struct Churn {
    lane: Lane,
    steps: [(Vec<u8>, Vec<u8>); 2],
    clock: Clock,
    yields: bool,
}

impl Churn {
    fn over(lane: Lane, held: usize, yields: bool) -> Churn {
        let channel = b"bench:churn:channel";
        let (dialect, held) = (lane.dialect, held as u32);
        let steps = [
            (
                dialect.request_bytes(Request::Subscribe(channel)),
                dialect.answer_bytes(Answer::Subscribed(channel, held + 1)),
            ),
            (
                dialect.request_bytes(Request::Unsubscribe(channel)),
                dialect.answer_bytes(Answer::Unsubscribed(channel, held)),
            ),
        ];
        Churn { lane, steps, clock: Clock::new(), yields }
    }

    /// Each sample is one joining and one leaving.
    fn round(&mut self, length: Length, stop: &AtomicBool) -> Result<Round, Failure> {
        let mut round =
            Round { samples: 0, seconds: 0.0, ack: Timings::new(), delivery: Timings::new(), lag: Timings::new() };
        let mut taken = 0;
        for sample in 0..length.warm_up + length.samples {
            let began = self.clock.raw();
            for (request, answer) in &self.steps {
                self.lane.send(request, stop)?;
                let mut watch = Watch::of(stop, "a confirmation", self.yields);
                while !self.lane.poll(answer)? {
                    watch.look()?;
                }
            }
            let sample_ns = self.clock.delta_as_nanos(began, self.clock.raw());
            if sample < length.warm_up {
                continue;
            }
            round.samples += 1;
            round.ack.record(sample_ns);
            taken += sample_ns;
            if length.time_max.is_some_and(|most| Duration::from_nanos(taken) > most) {
                break;
            }
        }
        round.seconds = taken as f64 / 1e9;
        Ok(round)
    }
}

/// Other clients of the same server, driven between publications by the same thread: one asks for all members of a
/// large set again and again, the others set keys in pipelines.
///
/// Invariant: each asks for more only when all it asked for was read, so that the server's memory stays bounded.
struct Neighbours {
    all: Vec<Neighbour>,
}

struct Neighbour {
    lane: Lane,
    request: Vec<u8>,
    sent: usize,
    answer_bytes: usize,
    unread: usize,
}

impl Neighbours {
    fn over(engine: &Engine) -> Result<Self, Failure> {
        let mut control = engine.control()?;
        control.set_timeout(Some(super::engine::SETUP_MAX));
        let members: Vec<String> = (0..NEIGHBOUR_MEMBERS).map(|number| format!("member:{number:09}")).collect();
        let mut answer = format!("*{NEIGHBOUR_MEMBERS}\r\n").len();
        for members in members.chunks(1000) {
            let mut request: Vec<&[u8]> = vec![b"SADD", b"bench:neighbour:set"];
            request.extend(members.iter().map(String::as_bytes));
            let reply = control.call(&request)?;
            if reply.is_error() {
                return Err(Failure::Refused(
                    String::from_utf8_lossy(reply.as_bytes().unwrap_or_default()).into_owned(),
                ));
            }
            answer += members.iter().map(|member| format!("${}\r\n{member}\r\n", member.len()).len()).sum::<usize>();
        }
        let one = |request: Vec<u8>, answer_bytes: usize| -> Result<Neighbour, Failure> {
            let lane = Lane::over(engine.control()?, Dialect::Resp);
            let sent = request.len();
            Ok(Neighbour { lane, request, sent, answer_bytes, unread: 0 })
        };
        let set = Dialect::Resp.request_bytes(Request::Set(b"bench:neighbour:key", &[b'v'; 64]));
        let okay = Dialect::Resp.answer_bytes(Answer::Okay).len();
        let mut all = vec![one(b"*2\r\n$8\r\nSMEMBERS\r\n$19\r\nbench:neighbour:set\r\n".to_vec(), answer)?];
        for _ in 0..NEIGHBOURS {
            all.push(one(set.repeat(NEIGHBOUR_REQUESTS), okay * NEIGHBOUR_REQUESTS)?);
        }
        Ok(Neighbours { all })
    }

    /// Reads what they were answered, and asks anew where that was all.
    fn keep_busy(&mut self) -> Result<(), Failure> {
        for neighbour in &mut self.all {
            if neighbour.unread > 0 {
                let read = neighbour.lane.discard()?;
                neighbour.unread = neighbour.unread.saturating_sub(read);
            }
            if neighbour.unread == 0 && neighbour.sent == neighbour.request.len() {
                (neighbour.sent, neighbour.unread) = (0, neighbour.answer_bytes);
            }
            neighbour.sent += neighbour.lane.write(&neighbour.request[neighbour.sent..])?;
        }
        Ok(())
    }
}
