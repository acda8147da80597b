//! What it costs the others when clients are killed: PING over a ring and over a Unix socket while three clients under
//! load come and go, by leaving or by SIGKILL, in turn.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use goblin::client::{Address, Connection, Kind, Login};
use nix::unistd::Pid;

use crate::engine::{Engine, pin};

/// Set in the environment of a child to the address it loads.
pub const LOAD: &str = "GOBLIN_BENCH_LOAD";

const ROUNDS: usize = 9;
const ROUND: Duration = Duration::from_secs(3);
/// Between two clients that go: 30 a round.
const LIFE: Duration = Duration::from_millis(100);
const PAUSE: Duration = Duration::from_micros(100);

/// Compares rounds without kills and with.
pub fn run() {
    pin(Pid::from_raw(0), 1);
    let folder = std::env::temp_dir().join(format!("goblin-bench-kills-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let ring = folder.join("ring");
    let engine = Engine::start_with(None, 0, &["--ring".to_owned(), format!("{}:8kb", ring.display())]);
    let socket = engine.socket().display();
    let places = [format!("ring://{}", ring.display()), format!("unix://{socket}"), format!("unix://{socket}?ring")];
    let open = |address| Connection::open(&address, &Login::default(), None).expect("a session");
    let mut others = [
        ("ring", open(Address::RingOver(engine.socket().to_owned()))),
        ("Unix socket", open(Address::Unix(engine.socket().to_owned()))),
    ];
    let mut rows: [[Vec<[u64; 3]>; 2]; 2] = Default::default();
    println!("PING of others, {ROUNDS} rounds of {ROUND:?}, each {LIFE:?} a client under load goes and another comes");
    for _ in 0..ROUNDS {
        for (kills, row) in [false, true].into_iter().zip(&mut rows) {
            round(&mut others, &places, kills).into_iter().zip(row).for_each(|(times, rounds)| rounds.push(times));
        }
    }
    for (at, (name, _)) in others.iter().enumerate() {
        let medians = [0, 1].map(|kills: usize| {
            [0, 1, 2].map(|share| median(rows[kills][at].iter().map(|round| round[share]).collect()))
        });
        for ([p50, p99, p999], how) in medians.into_iter().zip(["leave", "are killed"]) {
            println!(
                "{name:<12} clients {how:<11} p50 {:>7.1} us  p99 {:>7.1}  p99.9 {:>7.1}",
                us(p50),
                us(p99),
                us(p999)
            );
        }
        println!("{name:<12} p99.9 with kills {:.2}x", medians[1][2] as f64 / medians[0][2] as f64);
    }
    drop(others);
    drop(engine);
    // Best effort: the ring is the server's, which was killed.
    let _ = std::fs::remove_dir_all(&folder);
}

/// One round: the percentiles of each of the others.
fn round(others: &mut [(&str, Connection); 2], places: &[String], kills: bool) -> [[u64; 3]; 2] {
    let mut loads: Vec<Child> = places.iter().map(|place| start(place)).collect();
    let mut times = [Vec::new(), Vec::new()];
    let (began, mut next, mut turn) = (Instant::now(), Instant::now() + LIFE, 0);
    while began.elapsed() < ROUND {
        for ((_, other), times) in others.iter_mut().zip(&mut times) {
            let asked = Instant::now();
            other.call(&[b"PING"]).expect("a pong");
            times.push(asked.elapsed().as_nanos() as u64);
        }
        if Instant::now() >= next {
            end(&mut loads[turn], kills);
            loads[turn] = start(&places[turn]);
            turn = (turn + 1) % loads.len();
            next = Instant::now() + LIFE;
        }
        std::thread::sleep(PAUSE);
    }
    loads.iter_mut().for_each(|load| end(load, kills));
    times.map(percentiles)
}

fn start(place: &str) -> Child {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    let mut child =
        command.env(LOAD, place).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("start a load");
    let mut said = String::new();
    BufReader::new(child.stdout.take().expect("piped")).read_line(&mut said).expect("a line");
    child
}

fn end(load: &mut Child, kills: bool) {
    match kills {
        true => load.kill().expect("killed"),
        false => drop(load.stdin.take()),
    }
    load.wait().expect("its end");
}

/// The child: asks in batches until standard input ends.
pub fn load(place: &str) {
    let (address, login) = goblin::client::parse_url(place).expect("an address");
    let mut connection = Connection::open(&address, &Login { sbe: true, ..login }, None).expect("a session");
    connection.subscribe(Kind::Channel, &["load"]).expect("subscribed");
    let ended = std::thread::spawn(|| std::io::stdin().read(&mut [0]));
    println!("going");
    std::io::stdout().flush().expect("told");
    let (member, message) = (b"member:0123456789".as_slice(), vec![b'm'; 100]);
    while !ended.is_finished() {
        let requests: Vec<[&[u8]; 3]> = (0..20)
            .map(|_| [b"PUBLISH".as_slice(), b"load", &message])
            .chain([[b"SADD".as_slice(), b"set", member]])
            .collect();
        connection.pipeline(requests.iter().map(|request| &request[..])).expect("answers");
        while connection.try_receive().expect("messages").is_some() {}
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// p50, p99 and p99.9.
fn percentiles(mut times: Vec<u64>) -> [u64; 3] {
    times.sort_unstable();
    [0.5, 0.99, 0.999].map(|share| times[((times.len() - 1) as f64 * share) as usize])
}

/// The value in the middle.
fn median(mut values: Vec<u64>) -> u64 {
    values.sort_unstable();
    values[values.len() / 2]
}

/// Microseconds.
fn us(ns: u64) -> f64 {
    ns as f64 / 1000.0
}
