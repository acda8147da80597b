//! Hostile memory and hostile frames: random words over rings that are being served, and frames that were changed on
//! their way. Others are answered meanwhile, and nothing grows.
//!
//! `GOBLIN_FUZZ_SECONDS` says for how long each of these tests goes on, `GOBLIN_FUZZ_SEED` what it draws, and
//! `GOBLIN_FUZZ_CORPUS` names a file to which conversations are added that were refused in words nobody was refused in
//! before. `corpus.txt` holds such conversations, one a line in hexadecimal digits, which are repeated each time.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::demand;
use crate::protocol::Random;
use crate::road::{RingLease, Server};
use crate::sbe::greeting;
use crate::sbe_wire::{self, MAGIC, call, data, frame, group};
use crate::suite::{Need, Suite, tests};
use crate::wire::{self, Connection, shown};

/// Registers this module's tests.
pub fn tests(suite: &mut Suite) {
    tests!(suite, plain, Need::Goblin;
        rings_that_are_scribbled_over_harm_nobody,
        frames_that_were_changed_harm_nobody,
        the_corpus_is_answered_frame_by_frame,
    );
}

/// Memory of a server that holds next to nothing.
const RSS_BYTES_MAX: u64 = 400 << 20;

/// How long to go on, and the seed, which is told when a test fails or somebody asked for more than a look.
struct Plan {
    until: Instant,
    seed: u64,
}

impl Plan {
    fn of(name: &str) -> Plan {
        let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().expect("a number"));
        let seconds = number("GOBLIN_FUZZ_SECONDS");
        let plan = Plan {
            until: Instant::now() + Duration::from_secs(seconds.unwrap_or(3)),
            seed: number("GOBLIN_FUZZ_SEED").unwrap_or(1),
        };
        if seconds.is_some() {
            eprintln!("{name}: GOBLIN_FUZZ_SEED={}", plan.seed);
        }
        plan
    }

    fn goes_on(&self) -> bool {
        Instant::now() < self.until
    }
}

impl Drop for Plan {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("GOBLIN_FUZZ_SEED={}", self.seed);
        }
    }
}

/// Rings that are scribbled over, of 4 KiB each way; the others are for those who behave.
const SCRIBBLED: usize = 3;

/// Bytes of a ring's file: a page, and two directions of one.
const FILE_BYTES: usize = 3 * 4096;

/// Words of the header, and those of them that are written while a session runs.
const HEADER_WORDS: usize = 56;
const POSITIONS: [usize; 8] = [5, 6, 8, 16, 24, 32, 40, 48];

fn rings_that_are_scribbled_over_harm_nobody() {
    let plan = Plan::of("rings_that_are_scribbled_over_harm_nobody");
    let server = Server::with_rings_of(SCRIBBLED + 3, "4kb");
    let paths: Vec<_> = (0..SCRIBBLED).map(|at| server.folder().join(format!("ring-{at}"))).collect();
    let headers = paths.clone().into_iter().map(|path| std::fs::read(path).expect("a ring"));
    let headers: Vec<Vec<u8>> = headers.collect();
    let ring = |at: usize| Connection::ring(RingLease::unasked(server.folder().join(format!("ring-{at}"))));
    let mut others = [ring(SCRIBBLED), ring(SCRIBBLED + 1).into_sbe(), server.connect()];
    let mut reader = ring(SCRIBBLED + 2);
    reader.ask("SUBSCRIBE news");
    let is_over = AtomicBool::new(false);
    let mut rounds = 0;
    std::thread::scope(|scope| {
        for (at, path) in paths.iter().enumerate() {
            let random = Random::new(plan.seed * 1000 + at as u64);
            let is_over = &is_over;
            let file = OpenOptions::new().read(true).write(true).open(path).expect("a ring");
            scope.spawn(move || Scribbler::new(file, random).go_on(u32::MAX, is_over));
        }
        let (is_over, socket) = (&is_over, server.socket());
        scope.spawn(move || {
            let mut random = Random::new(plan.seed * 1000 + SCRIBBLED as u64);
            while !is_over.load(Ordering::Relaxed) {
                // The socket ends with the memory: until then the server may still read what is written.
                let (_socket, memory) = demand::memory(&socket);
                Scribbler::new(File::from(memory), Random::new(random.next())).go_on(300, is_over);
            }
        });
        // Its end is told to the scribblers whatever happens here.
        let _ends = Ends(is_over);
        while plan.goes_on() {
            rounds += 1;
            for (at, other) in others.iter_mut().enumerate() {
                assert_eq!(other.ask(&format!("INCR counter:{at}")).integer(), rounds);
                // Scribblers may have joined too.
                assert!(other.ask(&format!("PUBLISH news {rounds}")).integer() >= 1);
                assert_eq!(reader.value().items()[2].text(), rounds.to_string());
            }
        }
    });
    let info = others[2].ask("INFO").text();
    let field = |name: &str| {
        let value = info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        value.expect("a field").parse::<u64>().expect("a number")
    };
    assert!(field("goblin_corrupt_rings") > 0);
    // One may be on its way out.
    assert!(field("connected_clients") <= 4 + SCRIBBLED as u64 + 2);
    assert!(server.rss_bytes() < RSS_BYTES_MAX, "{} bytes", server.rss_bytes());
    // Whoever puts the first words of the header back, which only clients read, finds a clean ring.
    for (path, header) in paths.iter().zip(headers) {
        let file = OpenOptions::new().write(true).open(path).expect("a ring");
        file.write_all_at(&header[8..40], 8).expect("written");
        file.write_all_at(&header[56..64], 56).expect("written");
        file.write_all_at(&header[..8], 0).expect("written");
        let mut next = Connection::ring(RingLease::unasked(path.clone()));
        assert_eq!(next.ask("PING").text(), "PONG");
        assert_eq!(next.ask(&format!("ECHO {}", "x".repeat(3000))).text().len(), 3000);
    }
    if std::env::var_os("GOBLIN_FUZZ_SECONDS").is_some() {
        let figures = ["goblin_corrupt_rings", "total_connections_received", "total_commands_processed"];
        eprintln!("rings: {rounds} rounds, {:?} of {figures:?}", figures.map(field));
    }
}

struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Writes what it likes into a ring's file, and now and then something a client would write.
struct Scribbler {
    file: File,
    random: Random,
    requests: Vec<Vec<u8>>,
}

impl Scribbler {
    fn new(file: File, random: Random) -> Scribbler {
        let mut requests: Vec<Vec<u8>> = golden();
        requests.push([MAGIC, &sbe_wire::call(&["PING"])].concat());
        requests.push(MAGIC.to_vec());
        requests.push(b"PING\r\nSUBSCRIBE news\r\nPING\r\n".to_vec());
        requests.push(wire::frame(&["SADD", "set", "a", "b"]));
        requests.push(wire::frame(&["ECHO", &"e".repeat(1500)]));
        Scribbler { file, random, requests }
    }

    fn go_on(mut self, steps: u32, is_over: &AtomicBool) {
        for _ in 0..steps {
            if is_over.load(Ordering::Relaxed) {
                return;
            }
            match self.random.below(10) {
                0 => self.word_at(HEADER_WORDS),
                1 => self.word_at(FILE_BYTES / 8),
                2 | 3 => {
                    let at = POSITIONS[self.random.below(POSITIONS.len())];
                    let value = self.value();
                    self.write(at, value);
                }
                4 => {
                    let (at, by) = (POSITIONS[self.random.below(POSITIONS.len())], 64 * self.random.below(80) as u64);
                    self.write(at, self.read(at).wrapping_add(by));
                }
                5 => self.write(5, self.read(5).wrapping_add(1)),
                6 => {
                    // Takes all replies.
                    self.write(24, self.read(32));
                }
                _ => self.request(),
            }
            if self.random.below(20) == 0 {
                std::thread::yield_now();
            }
        }
    }

    fn word_at(&mut self, words: usize) {
        let (at, value) = (self.random.below(words), self.value());
        self.write(at, value);
    }

    /// A word that could mean something, or any.
    fn value(&mut self) -> u64 {
        match self.random.below(8) {
            0 => 0,
            1 => 64 * self.random.below(200) as u64,
            2 => self.random.below(5000) as u64,
            3 => 1 << 32 | self.random.below(5000) as u64,
            4 => u64::MAX << self.random.below(8),
            5 => u64::from(u32::MAX),
            6 => 1 << self.random.below(64),
            _ => self.random.next(),
        }
    }

    /// A record as a client would write it, whatever state the ring is in.
    fn request(&mut self) {
        let request = self.requests[self.random.below(self.requests.len())].clone();
        let tail = self.read(16);
        let at = tail % 4096;
        if !at.is_multiple_of(64) || at + 64 + request.len() as u64 > 4096 {
            return self.write(16, (tail / 4096 * 4096).wrapping_add(4096));
        }
        self.file.write_all_at(&request, 4096 + at + 64).expect("written");
        self.write(((4096 + at) / 8) as usize, request.len() as u64);
        self.write(16, tail.wrapping_add(64 + (request.len() as u64).next_multiple_of(64)));
    }

    fn read(&self, word: usize) -> u64 {
        let mut bytes = [0; 8];
        self.file.read_exact_at(&mut bytes, word as u64 * 8).expect("read");
        u64::from_le_bytes(bytes)
    }

    fn write(&self, word: usize, value: u64) {
        self.file.write_all_at(&value.to_le_bytes(), word as u64 * 8).expect("written");
    }
}

/// Sound frames of many messages.
fn golden() -> Vec<Vec<u8>> {
    let [key, value] = [data(b"key"), data(b"some value")];
    let (names, i64s) = (group(&["a", "bc", "def"]), [7_i64.to_le_bytes(), (-1_i64).to_le_bytes()].concat());
    let with = |template: u16, block: &[u8], rest: &[&[u8]]| {
        frame(template, block.len() as u16, &[block, &rest.concat()].concat())
    };
    let strings = [&key[..], &value];
    vec![
        with(16, &[], &[]),
        with(65, &[], &[&value]),
        with(78, &[], &[]),
        with(22, &[], &[&key]),
        with(23, &[0; 10], &strings),
        with(23, &[4, 1, 100, 0, 0, 0, 0, 0, 0, 0], &strings),
        with(24, &[], &strings),
        with(28, &[], &strings),
        with(31, &i64s[..8], &[&key]),
        with(33, &0.5f64.to_le_bytes(), &[&key]),
        with(61, &i64s, &[&key]),
        with(62, &i64s[..8], &strings),
        with(63, &[], &[&[0, 0, 1, 0], &key, &value]),
        with(64, &[], &[&names]),
        with(34, &[], &[&names]),
        with(37, &[9, 0, 0, 0, 0, 0, 0, 0, 1], &[&key]),
        with(126, &[0, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 1, 1], &strings),
        with(102, &[], &[&names, &key]),
        with(106, &[], &[&names, &key]),
        with(109, &i64s[8..], &[&key]),
        with(112, &[], &[&names]),
        with(115, &[], &[&names, &key]),
        with(118, &i64s, &strings),
        with(96, &[], &[&names]),
        with(98, &[], &[&names]),
        with(97, &[], &[&names]),
        with(100, &[], &strings),
        with(101, &[1], &[&names]),
        call(&["MULTI"]),
        call(&["SMEMBERS", "key"]),
        call(&["EXEC"]),
        call(&["HELLO"]),
        greeting(0, 1, ["", "", "name"]),
        call(&["GOBLIN.RING", "4096"]),
        call(&["SUBSCRIBE", "a", "bc"]),
        call(&["CLIENT", "INFO"]),
        call(&["COMMAND", "DOCS", "get"]),
    ]
}

fn frames_that_were_changed_harm_nobody() {
    let plan = Plan::of("frames_that_were_changed_harm_nobody");
    let server = Server::with_rings();
    let mut other = server.connect();
    // A number changed by chance is not to make a string that fills the memory.
    other.ask("CONFIG SET proto-max-bulk-len 1mb");
    let mut random = Random::new(plan.seed);
    let golden = golden();
    let mut known: BTreeSet<String> =
        corpus().iter().flat_map(|bytes| refusals(server.connect_unix(), bytes)).collect();
    let mut rounds = 0_u64;
    while plan.goes_on() {
        rounds += 1;
        let mut bytes = Vec::new();
        for _ in 0..=random.below(4) {
            let mut frame = golden[random.below(golden.len())].clone();
            for _ in 0..random.below(4) {
                change(&mut frame, &mut random);
            }
            bytes.extend(frame);
        }
        let peer = if rounds.is_multiple_of(2) { server.connect_unix() } else { server.connect_ring() };
        let refusals = refusals(peer, &bytes);
        let before = known.len();
        known.extend(refusals);
        if known.len() > before {
            keep(&bytes);
        }
        if rounds.is_multiple_of(64) {
            assert_eq!(other.ask("PING").text(), "PONG");
            other.ask("FLUSHALL");
            assert!(server.rss_bytes() < RSS_BYTES_MAX, "{} bytes", server.rss_bytes());
        }
    }
    server.assert_alive();
    if std::env::var_os("GOBLIN_FUZZ_SECONDS").is_some() {
        eprintln!("frames: {rounds} conversations");
    }
}

/// Says these frames and nothing more, checks that whole frames answer, and tells in which words it was refused.
fn refusals(mut peer: Connection, bytes: &[u8]) -> Vec<String> {
    // Who was refused may have gone already.
    if peer.try_send(&[MAGIC, bytes].concat()).is_ok() {
        peer.shut_down_writing_quietly();
    }
    let answers = peer.rest();
    let mut refusals = Vec::new();
    let mut unread = &answers[..];
    while let Some(answer) = sbe_wire::parse(unread) {
        if answer.value.is_error() {
            // What was quoted of the frame, and numbers, do not make another refusal.
            let words = answer.value.to_string();
            let words = words.split_once('\'').map_or(&*words, |(before, _)| before);
            refusals.push(words.chars().map(|letter| if letter.is_ascii_digit() { '0' } else { letter }).collect());
        }
        unread = &unread[answer.len..];
    }
    // Who says no more and does not read loses what no buffer holds.
    let is_cut = answers.len() > 16 << 10;
    assert!(unread.is_empty() || is_cut, "{} was answered by {}", shown(bytes), shown(&answers));
    refusals
}

/// Conversations that were kept.
fn corpus() -> Vec<Vec<u8>> {
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).expect("text"), 16).expect("digits");
    include_str!("corpus.txt").lines().map(|line| line.as_bytes().chunks(2).map(byte).collect()).collect()
}

/// Adds a conversation to the file that was named, if one was.
fn keep(bytes: &[u8]) {
    let Some(path) = std::env::var_os("GOBLIN_FUZZ_CORPUS") else { return };
    let mut file = OpenOptions::new().append(true).create(true).open(path).expect("the corpus");
    let line: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    writeln!(file, "{line}").expect("written");
}

fn the_corpus_is_answered_frame_by_frame() {
    let server = Server::with_rings();
    server.connect().ask("CONFIG SET proto-max-bulk-len 1mb");
    let corpus = corpus();
    // Some are refused only where keys are what they were then.
    let mut refused = 0;
    for bytes in &corpus {
        for peer in [server.connect_unix(), server.connect_ring()] {
            refused += refusals(peer, bytes).len();
        }
    }
    assert!(refused > corpus.len(), "{refused} refusals of {} conversations", corpus.len());
    server.assert_alive();
}

/// Changes a frame somewhere.
fn change(frame: &mut Vec<u8>, random: &mut Random) {
    if frame.is_empty() {
        return;
    }
    let at = random.below(frame.len());
    match random.below(7) {
        0 => frame[at] ^= 1 << random.below(8),
        1 => frame[at] = random.next() as u8,
        2 => frame.truncate(at),
        3 => frame.insert(at, random.next() as u8),
        4 => drop(frame.remove(at)),
        5 => {
            let word = [0, 1, 0xff, 0xffff, 0xffff_ffff, 0x7fff_ffff, 0x8000_0000][random.below(7)];
            let end = (at + 4).min(frame.len());
            frame[at..end].copy_from_slice(&u32::to_le_bytes(word)[..end - at]);
        }
        // The length in front says again what is there.
        _ => {
            let len = frame.len().saturating_sub(4) as u32;
            let end = 4.min(frame.len());
            frame[..end].copy_from_slice(&len.to_le_bytes()[..end]);
        }
    }
}
