//! One publication at a time over rings, and PING, beside a Redis over its Unix socket: everybody spins.
//!
//! goblin is spoken to in SBE's typed messages over 4 KiB rings, a Redis in RESP. With 64 listeners the deliveries are
//! read in the order in which they arrive.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use goblin::client::{Address, Connection, Login};
use goblin::shm::{Ends, Region};
use nix::unistd::Pid;

use crate::closed_loop::{median, us};
use crate::engine::{self, Engine, pin};

const ROUNDS: usize = 9;
const WARM_UP: usize = 1_000;
const SAMPLES: usize = 10_000;
const LISTENERS_MAX: usize = 64;
/// Of the load beside a ring: clients, and requests in one write.
const CLIENTS: usize = 64;
const PIPELINED: usize = 64;
const CHANNEL: &str = "bench:pubsub:literal";
const PAYLOAD: &str = "xxxxxxxxxxxxxxxx";

/// Compares goblin over rings with the engines named by `--engine PATH` over Unix sockets.
pub fn run(words: &[String]) {
    let Some(paths) = engine::paths(words) else { return };
    pin(Pid::from_raw(0), 1);
    crate::ring::line_ping_pong();
    println!("closed loops, {} B messages, {ROUNDS} rounds of {SAMPLES}, everybody spins", PAYLOAD.len());
    let folder = std::env::temp_dir().join(format!("goblin-bench-rings-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let rings: Vec<PathBuf> = (0..=LISTENERS_MAX).map(|at| folder.join(format!("ring-{at}"))).collect();
    let settings: Vec<String> =
        rings.iter().flat_map(|ring| ["--ring".to_owned(), format!("{}:4kb", ring.display())]).collect();
    for (name, listeners) in [("PING", 0), ("publish to 1", 1), ("publish to 64", LISTENERS_MAX)] {
        let samples = SAMPLES / listeners.clamp(1, 8);
        let mut rows: Vec<(String, Vec<[u64; 3]>)> = Vec::new();
        let engines: Vec<Engine> = paths
            .iter()
            .enumerate()
            .map(|(at, path)| Engine::start_with(*path, at, if path.is_none() { &settings } else { &[] }))
            .collect();
        engines.iter().for_each(|engine| rows.push((engine.name.clone(), Vec::new())));
        for _ in 0..ROUNDS {
            for (engine, (_, rounds)) in engines.iter().zip(&mut rows) {
                let times = match engine.name == "goblin" {
                    true => over_rings(&rings, listeners, samples),
                    false => over_sockets(engine, listeners, samples),
                };
                rounds.push(percentiles(times));
            }
        }
        let base = median(rows[0].1.iter().map(|row| row[0]).collect());
        for (engine, rounds) in &rows {
            let [p50, p99, p999] = [0, 1, 2].map(|at| median(rounds.iter().map(|row| row[at]).collect()));
            let mut medians: Vec<u64> = rounds.iter().map(|row| row[0]).collect();
            medians.sort_unstable();
            println!(
                "{name:<14} {engine:<13} p50 {:>8.3} us ({:.3} to {:.3})  p99 {:>8.3}  p99.9 {:>8.3}  {:>6.1}x goblin",
                us(p50),
                us(medians[0]),
                us(medians[ROUNDS - 1]),
                us(p99),
                us(p999),
                p50 as f64 / base as f64,
            );
        }
    }
    beside_pipelines(&rings, &settings[..4]);
    on_one_processor(&rings, &settings[..4]);
    // Best effort: the rings are the servers', which are gone.
    let _ = std::fs::remove_dir_all(&folder);
}

/// p50, p99 and p99.9.
pub fn percentiles(mut times: Vec<u64>) -> [u64; 3] {
    times.sort_unstable();
    [0.5, 0.99, 0.999].map(|share| times[((times.len() - 1) as f64 * share) as usize])
}

/// A client of a ring that knows the bytes it waits for.
struct RingClient {
    region: Arc<Region>,
    ends: Ends,
    epoch: u64,
    got: Vec<u8>,
}

impl RingClient {
    fn take(path: &std::path::Path) -> RingClient {
        let region = Arc::new(Region::open(path).expect("the ring"));
        let epoch = region.ask_for_session(false);
        while region.acknowledged() != epoch {
            std::hint::spin_loop();
        }
        let ends = Ends::of_client(&region).expect("sound");
        let mut client = RingClient { region, ends, epoch, got: Vec::new() };
        client.send(b"GOBLINS!");
        client
    }

    fn send(&mut self, bytes: &[u8]) {
        let mut claim = self.ends.producer.claim(bytes.len()).expect("sound").expect("room");
        claim.write(bytes);
        claim.commit();
        self.ends.producer.publish();
    }

    /// Looks once; true when everything wanted is here.
    fn has(&mut self, wanted: &[u8]) -> bool {
        while self.got.len() < wanted.len() && self.ends.consumer.take(&mut self.got).expect("sound") {}
        self.ends.consumer.release();
        if self.got.len() < wanted.len() {
            return false;
        }
        assert_eq!(self.got, wanted);
        self.got.clear();
        true
    }

    fn expect(&mut self, wanted: &[u8]) {
        while !self.has(wanted) {
            std::hint::spin_loop();
        }
    }
}

impl Drop for RingClient {
    fn drop(&mut self) {
        self.region.leave_session(self.epoch);
    }
}

/// A frame of SBE: its length, the header of a template, the block, and what follows.
fn frame(template: u16, block: &[u8], rest: &[&[u8]]) -> Vec<u8> {
    let mut message = Vec::new();
    for word in [block.len() as u16, template, 7, 2] {
        message.extend_from_slice(&word.to_le_bytes());
    }
    message.extend_from_slice(block);
    rest.iter().for_each(|bytes| message.extend_from_slice(bytes));
    [&(message.len() as u32).to_le_bytes()[..], &message].concat()
}

fn data(text: &str) -> Vec<u8> {
    [&(text.len() as u32).to_le_bytes()[..], text.as_bytes()].concat()
}

fn over_rings(rings: &[PathBuf], listeners: usize, samples: usize) -> Vec<u64> {
    let mut publisher = RingClient::take(&rings[0]);
    let (request, reply) = match listeners {
        0 => (frame(16, &[], &[]), frame(2, &[], &[&data("PONG")])),
        _ => (frame(100, &[], &[&data(CHANNEL), &data(PAYLOAD)]), frame(4, &(listeners as i64).to_le_bytes(), &[])),
    };
    let delivery = frame(12, &[0; 5], &[&data(""), &data(CHANNEL), &data(PAYLOAD)]);
    let mut subscribers: Vec<RingClient> = rings[1..][..listeners].iter().map(|ring| RingClient::take(ring)).collect();
    for subscriber in &mut subscribers {
        subscriber.send(&frame(96, &[], &[&[0, 0, 1, 0], &data(CHANNEL)]));
        subscriber.expect(&frame(12, &[2, 1, 0, 0, 0], &[&data(""), &data(CHANNEL), &data("")]));
    }
    measure(samples, || {
        publisher.send(&request);
        if listeners == 0 {
            publisher.expect(&reply);
        }
        in_arrival_order(listeners, |at| subscribers[at].has(&delivery));
        let told = Instant::now();
        if listeners > 0 {
            publisher.expect(&reply);
        }
        told
    })
}

fn over_sockets(engine: &Engine, listeners: usize, samples: usize) -> Vec<u64> {
    let connect = || UnixStream::connect(engine.socket()).expect("connect");
    let mut publisher = connect();
    let (request, reply) = match listeners {
        0 => ("*1\r\n$4\r\nPING\r\n".to_owned(), "+PONG\r\n".to_owned()),
        _ => (
            format!("*3\r\n$7\r\nPUBLISH\r\n${}\r\n{CHANNEL}\r\n${}\r\n{PAYLOAD}\r\n", CHANNEL.len(), PAYLOAD.len()),
            format!(":{listeners}\r\n"),
        ),
    };
    let text = |name: &str, last: &str| format!("*3\r\n${}\r\n{name}\r\n$20\r\n{CHANNEL}\r\n{last}\r\n", name.len());
    let delivery = text("message", &format!("${}\r\n{PAYLOAD}", PAYLOAD.len()));
    let mut subscribers: Vec<(UnixStream, Vec<u8>)> = (0..listeners).map(|_| (connect(), Vec::new())).collect();
    for (socket, _) in &mut subscribers {
        write!(socket, "*2\r\n$9\r\nSUBSCRIBE\r\n$20\r\n{CHANNEL}\r\n").expect("subscribe");
        let mut got = vec![0; text("subscribe", ":1").len()];
        socket.read_exact(&mut got).expect("a confirmation");
        socket.set_nonblocking(true).expect("set the mode");
    }
    publisher.set_nonblocking(true).expect("set the mode");
    let mut answered = Vec::new();
    measure(samples, || {
        publisher.write_all(request.as_bytes()).expect("publish");
        if listeners == 0 {
            while !socket_has(&mut publisher, &mut answered, reply.as_bytes()) {}
        }
        in_arrival_order(listeners, |at| {
            let (socket, got) = &mut subscribers[at];
            socket_has(socket, got, delivery.as_bytes())
        });
        let told = Instant::now();
        while listeners > 0 && !socket_has(&mut publisher, &mut answered, reply.as_bytes()) {}
        told
    })
}

/// Reads once; true when everything wanted is here.
fn socket_has(socket: &mut UnixStream, got: &mut Vec<u8>, wanted: &[u8]) -> bool {
    let mut bytes = [0; 256];
    match socket.read(&mut bytes) {
        Ok(0) => panic!("the server closed the connection"),
        Ok(count) => got.extend_from_slice(&bytes[..count]),
        Err(error) if error.kind() == ErrorKind::WouldBlock => return false,
        Err(error) => panic!("read: {error}"),
    }
    if got.len() < wanted.len() {
        return false;
    }
    assert_eq!(got, wanted);
    got.clear();
    true
}

/// Looks at the listeners again and again until each has had its message.
fn in_arrival_order(listeners: usize, mut has: impl FnMut(usize) -> bool) {
    let mut waiting: Vec<usize> = (0..listeners).collect();
    while !waiting.is_empty() {
        waiting.retain(|at| !has(*at));
    }
}

/// The nanoseconds of each sample, which answers when its last delivery was there.
fn measure(samples: usize, mut sample: impl FnMut() -> Instant) -> Vec<u64> {
    let mut times = Vec::with_capacity(samples);
    for at in 0..WARM_UP + samples {
        let began = Instant::now();
        let told = sample();
        if at >= WARM_UP {
            times.push((told - began).as_nanos() as u64);
        }
    }
    times
}

/// PING over a ring while 64 clients on sockets keep their server busy with pipelined requests.
fn beside_pipelines(rings: &[PathBuf], settings: &[String]) {
    let engine = Engine::start_with(None, 0, settings);
    let (request, reply) = ("*2\r\n$3\r\nGET\r\n$3\r\nkey\r\n".repeat(PIPELINED), "$-1\r\n".repeat(PIPELINED));
    let mut sockets: Vec<(UnixStream, usize)> = (0..CLIENTS)
        .map(|_| {
            let socket = UnixStream::connect(engine.socket()).expect("connect");
            socket.set_nonblocking(true).expect("set the mode");
            (socket, 0)
        })
        .collect();
    let mut ring = RingClient::take(&rings[0]);
    let (ping, pong) = (frame(16, &[], &[]), frame(2, &[], &[&data("PONG")]));
    let mut rounds = Vec::new();
    let (mut answered, mut unanswered_at_ping) = (0_usize, 0_usize);
    let began = Instant::now();
    for _ in 0..ROUNDS {
        let mut times = Vec::new();
        for _ in 0..SAMPLES / 2 {
            // As much as every socket takes: the server has work until the ring's turn.
            let mut waiting = 0;
            for (socket, owed) in &mut sockets {
                let mut bytes = [0; 4096];
                while *owed > 0
                    && let Ok(count) = socket.read(&mut bytes)
                {
                    *owed -= count;
                    answered += count / 5;
                }
                while *owed < 4 * reply.len()
                    && let Ok(count) = socket.write(request.as_bytes())
                {
                    assert_eq!(count, request.len(), "a request that went in part");
                    *owed += reply.len();
                }
                waiting += usize::from(*owed > 0);
            }
            unanswered_at_ping += waiting;
            let began = Instant::now();
            ring.send(&ping);
            ring.expect(&pong);
            times.push(began.elapsed().as_nanos() as u64);
        }
        rounds.push(percentiles(times));
    }
    let [p50, p99, p999] = [0, 1, 2].map(|at| median(rounds.iter().map(|row| row[at]).collect()));
    println!(
        "PING over a ring beside {CLIENTS} pipelining sockets ({:.1} of them with requests waiting, {:.2}M GETs/s): \
         p50 {:.1} us  p99 {:.1}  p99.9 {:.1}",
        unanswered_at_ping as f64 / (ROUNDS * SAMPLES / 2) as f64,
        answered as f64 / began.elapsed().as_secs_f64() / 1e6,
        us(p50),
        us(p99),
        us(p999),
    );
}

/// PING through the library over a ring and over a Unix socket, with client and server on one processor.
fn on_one_processor(rings: &[PathBuf], settings: &[String]) {
    let engine = Engine::start_on_own_processor(settings);
    let open = |address| Connection::open(&address, &Login::default(), None).expect("a session");
    let mut clients = [open(Address::Ring(rings[0].clone())), open(Address::Unix(engine.socket().to_owned()))]
        .map(|client| (client, Vec::new()));
    for _ in 0..ROUNDS {
        for (client, rounds) in &mut clients {
            let times = measure(SAMPLES / 4, || {
                client.call(&[b"PING"]).expect("a pong");
                Instant::now()
            });
            rounds.push(percentiles(times));
        }
    }
    let medians =
        clients.map(|(_, rounds)| [0, 1].map(|at| median(rounds.iter().map(|row: &[u64; 3]| row[at]).collect())));
    let [[ring, ring_p99], [socket, socket_p99]] = medians;
    println!(
        "PING with client and server on one processor: ring p50 {:.1} us p99 {:.1}, Unix socket p50 {:.1} us p99 {:.1}: {:.2}x",
        us(ring),
        us(ring_p99),
        us(socket),
        us(socket_p99),
        ring as f64 / socket as f64,
    );
}
