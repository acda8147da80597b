//! How long others wait while one client runs the slowest commands there are: PING, its p99 beside that of a quiet
//! server.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use nix::unistd::Pid;

use crate::engine::{Engine, pin};

const KEYS: usize = 1_000_000;
const MEMBERS: usize = 1_000_000;
const STRING_BYTES: usize = 64 << 20;
const LCS_BYTES: usize = 5_000;
const SECONDS: u64 = 2;

/// Time between two PINGs: a client that asks now and then, not one that keeps the server awake.
const PAUSE: Duration = Duration::from_micros(200);

/// The slowest commands of each family over the data that [`fill`] makes.
const COMMANDS: &[&str] = &[
    "KEYS *",
    "KEYS *no*such*key*",
    "SCAN 0 COUNT 1000000000",
    "COPY set copy REPLACE",
    "INFO all",
    "COMMAND DOCS",
    "CONFIG GET *",
    "SMEMBERS set",
    "SUNIONSTORE copy set",
    "SSCAN set 0 COUNT 1000000",
    "SINTER set other",
    "SINTERCARD 2 set other",
    "SUNION set other",
    "SDIFF set other",
    "SINTERSTORE copy set other",
    "SUNIONSTORE copy set other",
    "SDIFFSTORE copy set other",
    "SRANDMEMBER set 500000",
    "SRANDMEMBER set -500000",
    "COPY set copy REPLACE\r\nSPOP copy 500000",
    "COPY set copy REPLACE\r\nDEL copy",
    "GET large",
    "BITCOUNT large",
    "BITPOS large 1",
    "BITOP NOT copy large",
    "SETRANGE large 0 x",
    "SETBIT large 1 0",
    "LCS text1 text2",
    "LCS text1 text2 IDX",
    "LCS half byte LEN",
    "PUBSUB CHANNELS",
];

/// Compares goblin with the engines named by `--engine PATH`; `--only TEXT` runs the commands that contain it.
pub fn run(words: &[String]) {
    let mut paths = vec![None];
    let mut only = "";
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        match word.as_str() {
            "--engine" => paths.push(rest.next().map(String::as_str)),
            "--only" => only = rest.next().map_or("", String::as_str),
            other => return eprintln!("unknown option {other:?}"),
        }
    }
    pin(Pid::from_raw(0), 1);
    let engines: Vec<Engine> = paths.iter().enumerate().map(|(at, path)| Engine::start(*path, at)).collect();
    for engine in &engines {
        fill(engine);
        let quiet = measure(engine, None);
        println!("{:<14} quiet: PING p50 {:.0} us, p99 {:.0} us", engine.name, us(quiet.p50), us(quiet.p99));
        for command in COMMANDS.iter().filter(|command| command.contains(only)) {
            let busy = measure(engine, Some(command));
            let command = command.replace("\r\n", "; ");
            println!(
                "{:<14} {command:<36} PING p50 {:>8.0} us, p99 {:>8.0} us, {:>7.1}x quiet; {:>8.1} commands/s",
                engine.name,
                us(busy.p50),
                us(busy.p99),
                busy.p99 as f64 / quiet.p99 as f64,
                busy.commands as f64 / SECONDS as f64,
            );
        }
    }
}

struct Waits {
    p50: u64,
    p99: u64,
    commands: u64,
}

fn us(ns: u64) -> f64 {
    ns as f64 / 1000.0
}

fn measure(engine: &Engine, command: Option<&str>) -> Waits {
    let (stop, commands) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        if let Some(command) = command {
            let mut busy = connect(engine);
            let (stop, commands) = (&stop, &commands);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    busy.write_all(format!("{command}\r\nECHO the-end\r\n").as_bytes()).expect("send");
                    read_until(&mut busy, b"$7\r\nthe-end\r\n");
                    commands.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let mut quiet = connect(engine);
        let (mut times, start) = (Vec::new(), Instant::now());
        while start.elapsed() < Duration::from_secs(SECONDS) {
            std::thread::sleep(PAUSE);
            let asked = Instant::now();
            quiet.write_all(b"PING\r\n").expect("send");
            read_until(&mut quiet, b"+PONG\r\n");
            times.push(asked.elapsed().as_nanos() as u64);
        }
        stop.store(true, Ordering::Relaxed);
        times.sort_unstable();
        let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
        Waits { p50: at(0.5), p99: at(0.99), commands: commands.load(Ordering::Relaxed) }
    })
}

fn connect(engine: &Engine) -> UnixStream {
    UnixStream::connect(engine.socket()).expect("connect")
}

/// Reads until what has arrived ends with `end`.
fn read_until(socket: &mut UnixStream, end: &[u8]) {
    let (mut buffer, mut tail) = (vec![0; 1 << 20], Vec::new());
    while !tail.ends_with(end) {
        let count = socket.read(&mut buffer).expect("read");
        assert!(count > 0, "the server closed the connection");
        tail.extend_from_slice(&buffer[count.saturating_sub(64)..count]);
        let extra = tail.len().saturating_sub(64);
        tail.drain(..extra);
    }
}

fn fill(engine: &Engine) {
    let mut socket = connect(engine);
    let mut send = |words: &[&[u8]]| {
        let mut request = format!("*{}\r\n", words.len()).into_bytes();
        for word in words {
            request.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
            request.extend_from_slice(word);
            request.extend_from_slice(b"\r\n");
        }
        request.extend_from_slice(b"ECHO the-end\r\n");
        socket.write_all(&request).expect("send");
        read_until(&mut socket, b"$7\r\nthe-end\r\n");
    };
    for first in (0..KEYS).step_by(1000) {
        let names: Vec<String> = (first..first + 1000).map(|at| format!("key:{at}")).collect();
        let mut words: Vec<&[u8]> = vec![b"MSET"];
        names.iter().for_each(|name| words.extend([name.as_bytes(), b"value"]));
        send(&words);
    }
    // Half of the members are in both.
    for (key, start) in [(&b"set"[..], 0), (b"other", MEMBERS / 2)] {
        for first in (start..start + MEMBERS).step_by(1000) {
            let names: Vec<String> = (first..first + 1000).map(|at| format!("member:{at:09}")).collect();
            let mut words: Vec<&[u8]> = vec![b"SADD", key];
            words.extend(names.iter().map(String::as_bytes));
            send(&words);
        }
    }
    send(&[b"SET", b"large", &vec![0; STRING_BYTES]]);
    send(&[b"SET", b"byte", b"x"]);
    send(&[b"SET", b"half", &vec![0; STRING_BYTES / 2]]);
    send(&[b"SET", b"text1", &b"abcdefghij".repeat(LCS_BYTES / 10)]);
    send(&[b"SET", b"text2", &b"jihgfedcba".repeat(LCS_BYTES / 10)]);
}
