//! One publication at a time: publish, read its reply and the delivery, then the next.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Instant;

use nix::unistd::Pid;

use crate::engine::{self, Engine, pin};

/// Bytes of the message; the reports' smallest row.
const PAYLOAD_BYTES: usize = 16;
const ROUNDS: usize = 9;
const WARM_UP: usize = 2_000;
const SAMPLES: usize = 20_000;

/// How the client waits for bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Waiting {
    Spins,
    Blocks,
}

/// Compares goblin with the engines named by `--engine PATH`.
pub fn run(words: &[String]) {
    let Some(paths) = engine::paths(words) else { return };
    pin(Pid::from_raw(0), 1);
    println!("closed loop, {PAYLOAD_BYTES} B to one subscriber over a Unix socket, {ROUNDS} rounds of {SAMPLES}");
    for waiting in [Waiting::Spins, Waiting::Blocks] {
        let engines: Vec<Engine> = paths.iter().enumerate().map(|(at, path)| Engine::start(*path, at)).collect();
        let mut results = vec![Vec::new(); engines.len()];
        for _ in 0..ROUNDS {
            for (engine, results) in engines.iter().zip(&mut results) {
                results.push(round(engine, waiting));
            }
        }
        let base = median(results[0].iter().map(|row| row.0).collect());
        for (engine, rows) in engines.iter().zip(&results) {
            let [p50, p99, p999] = [|row: &Row| row.0, |row: &Row| row.1, |row: &Row| row.2]
                .map(|of| median(rows.iter().map(of).collect()));
            let (least, most) = (rows.iter().map(|row| row.0).min(), rows.iter().map(|row| row.0).max());
            println!(
                "client {waiting:<6?}  {:<14} p50 {:>7.2} us ({:.2} to {:.2})  p99 {:>8.2}  p99.9 {:>8.2}  {:.2}x goblin",
                engine.name,
                us(p50),
                us(least.unwrap_or(0)),
                us(most.unwrap_or(0)),
                us(p99),
                us(p999),
                p50 as f64 / base as f64,
            );
        }
    }
}

/// p50, p99 and p99.9 of one round, nanoseconds from the publication to its delivery.
type Row = (u64, u64, u64);

/// Microseconds.
pub fn us(ns: u64) -> f64 {
    ns as f64 / 1000.0
}

/// The value in the middle.
pub fn median(mut values: Vec<u64>) -> u64 {
    values.sort_unstable();
    values[values.len() / 2]
}

fn round(engine: &Engine, waiting: Waiting) -> Row {
    let connect = || UnixStream::connect(engine.socket()).expect("connect");
    let (mut publisher, mut subscriber) = (connect(), connect());
    subscriber.write_all(b"*2\r\n$9\r\nSUBSCRIBE\r\n$20\r\nbench:pubsub:literal\r\n").expect("subscribe");
    expect(&mut subscriber, b"*3\r\n$9\r\nsubscribe\r\n$20\r\nbench:pubsub:literal\r\n:1\r\n");
    let payload = "x".repeat(PAYLOAD_BYTES);
    let request = format!("*3\r\n$7\r\nPUBLISH\r\n$20\r\nbench:pubsub:literal\r\n${PAYLOAD_BYTES}\r\n{payload}\r\n");
    let delivery = format!("*3\r\n$7\r\nmessage\r\n$20\r\nbench:pubsub:literal\r\n${PAYLOAD_BYTES}\r\n{payload}\r\n");
    for socket in [&publisher, &subscriber] {
        socket.set_nonblocking(waiting == Waiting::Spins).expect("set blocking mode");
    }
    let mut times = Vec::with_capacity(SAMPLES);
    for sample in 0..WARM_UP + SAMPLES {
        let start = Instant::now();
        publisher.write_all(request.as_bytes()).expect("publish");
        expect(&mut subscriber, delivery.as_bytes());
        let taken = start.elapsed();
        expect(&mut publisher, b":1\r\n");
        if sample >= WARM_UP {
            times.push(taken.as_nanos() as u64);
        }
    }
    times.sort_unstable();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    (at(0.5), at(0.99), at(0.999))
}

/// Reads exactly these bytes.
fn expect(socket: &mut UnixStream, wanted: &[u8]) {
    let mut got = [0; 256];
    let mut len = 0;
    while len < wanted.len() {
        match socket.read(&mut got[len..wanted.len()]) {
            Ok(0) => panic!("the server closed the connection"),
            Ok(count) => len += count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => std::hint::spin_loop(),
            Err(error) => panic!("read: {error}"),
        }
    }
    assert_eq!(&got[..len], wanted);
}
