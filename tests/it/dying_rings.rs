//! Clients of rings that stop or die at each step of what they do, and files that are cut short, removed or replaced
//! under a server: all of it costs its own session, and the next client finds a clean ring.

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::FileExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;

use goblin::shm::{Ends, Region};
use nix::sys::signal::{Signal, kill, raise};
use nix::unistd::Pid;

use crate::road::{RingLease, Server, goblin, wait_for};
use crate::suite::{Need, Suite, tests};
use crate::wire::Connection;

/// Registers this module's tests.
pub fn tests(suite: &mut Suite) {
    tests!(suite, plain, Need::Goblin;
        a_client_may_die_at_any_step,
        a_client_may_stop_at_any_step_and_go_on_when_it_is_too_late,
        positions_that_cannot_be_end_their_own_session_only,
        a_file_cut_short_ends_its_own_session_only,
        a_client_survives_a_file_cut_short,
        a_removed_file_is_made_anew,
        a_replaced_file_is_left_alone,
        sigbus_from_elsewhere_still_ends_the_server,
    );
}

/// Set in the environment of a child of these tests to where it stands and the ring it takes, apart by a space.
pub const STEP: &str = "GOBLIN_IT_RING_STEP";

/// Where a client stands when it is stopped or killed.
const STEPS: [&str; 8] = ["asked", "begun", "claimed", "half", "committed", "published", "unread", "taken"];

/// The child: a client that stops itself at its step, and goes on as if nothing had happened when it is continued.
pub fn stand(step_and_path: &str) -> ExitCode {
    let (step, path) = step_and_path.split_once(' ').expect("a step and a path");
    let here = |at: &str| {
        if at == step {
            println!("{step}");
            std::io::stdout().flush().expect("told");
            raise(Signal::SIGSTOP).expect("stopped");
        }
    };
    let region = Arc::new(Region::open(Path::new(path)).expect("the ring"));
    let epoch = region.ask_for_session(false);
    here("asked");
    while region.acknowledged() != epoch {
        std::thread::yield_now();
    }
    here("begun");
    let mut ends = Ends::of_client(&region).expect("a sound ring");
    let words = b"SELECT 3\r\nSUBSCRIBE news\r\nRESET\r\nMULTI\r\nINCR lost\r\n";
    let mut claim = ends.producer.claim(words.len()).expect("sound").expect("room");
    here("claimed");
    claim.write(&words[..words.len() / 2]);
    here("half");
    claim.write(&words[words.len() / 2..]);
    claim.commit();
    here("committed");
    ends.producer.publish();
    here("published");
    if step == "unread" {
        // Until neither direction takes any more.
        for _ in 0..200_000 {
            if let Ok(Some(mut claim)) = ends.producer.claim(200) {
                claim.write(format!("ECHO {}\r\n", "e".repeat(100)).as_bytes());
                claim.commit();
                ends.producer.publish();
            }
        }
    }
    here("unread");
    let mut received = Vec::new();
    while step == "taken" && !ends.consumer.take(&mut received).expect("sound") {}
    here("taken");
    ends.consumer.release();
    ExitCode::SUCCESS
}

/// Starts the child and waits until it has stopped itself.
fn client(step: &str, path: &Path) -> Child {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.env(STEP, format!("{step} {}", path.display())).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().expect("start the client");
    let mut said = String::new();
    BufReader::new(child.stdout.take().expect("piped")).read_line(&mut said).expect("a line");
    assert_eq!(said.trim(), step);
    let status = format!("/proc/{}/stat", child.id());
    while !std::fs::read_to_string(&status).expect("its state").contains(") T ") {
        std::thread::yield_now();
    }
    child
}

/// Others are answered whatever becomes of a client.
struct Others(Vec<Connection>);

impl Others {
    fn of(server: &Server) -> Others {
        let mut reader = server.connect_ring();
        reader.ask("SUBSCRIBE news");
        Others(vec![reader, server.connect_ring(), server.connect_ring().into_sbe(), server.connect()])
    }

    fn are_served(&mut self) {
        let (reader, others) = self.0.split_first_mut().expect("a reader");
        for other in others {
            assert_eq!(other.ask("PING").text(), "PONG");
            assert!(other.ask("PUBLISH news hello").integer() > 0);
            assert_eq!(reader.value().items()[2].text(), "hello");
        }
    }
}

/// A ring that connections of the fixture do not get.
fn last_ring(server: &Server) -> PathBuf {
    server.folder().join("ring-5")
}

fn take(path: &Path) -> Connection {
    Connection::ring(RingLease::unasked(path.to_owned()))
}

fn next_client_finds_a_clean_ring(server: &Server, path: &Path) {
    for sbe in [false, true] {
        let next = take(path);
        let mut next = if sbe { next.into_sbe() } else { next };
        assert_eq!(next.ask("PING").text(), "PONG");
        assert!(next.ask("CLIENT INFO").text().contains(" db=0 "), "a session of its own");
        assert!(next.ask("EXEC").is_error());
        assert_eq!(next.ask("PUBSUB NUMSUB news").items()[1].integer(), 1);
        assert!(next.ask(&format!("ECHO {}", "x".repeat(3000))).text().len() == 3000);
    }
    let mut other = server.connect();
    assert_eq!(other.ask("DBSIZE").integer(), 0);
    other.ask("SELECT 3");
    assert_eq!(other.ask("DBSIZE").integer(), 0, "what nobody finished is not done");
}

fn a_client_may_die_at_any_step() {
    let server = Server::with_rings_of(6, "4kb");
    let mut others = Others::of(&server);
    let path = last_ring(&server);
    for step in STEPS {
        let mut child = client(step, &path);
        others.are_served();
        child.kill().expect("killed");
        child.wait().expect("its end");
        others.are_served();
        next_client_finds_a_clean_ring(&server, &path);
    }
}

fn a_client_may_stop_at_any_step_and_go_on_when_it_is_too_late() {
    let server = Server::with_rings_of(6, "4kb");
    let mut others = Others::of(&server);
    let path = last_ring(&server);
    for step in STEPS {
        let mut child = client(step, &path);
        next_client_finds_a_clean_ring(&server, &path);
        // It knows nothing of the one that has the ring now, and may spoil that one's session, but no more.
        let next = take(&path);
        kill(Pid::from_raw(child.id() as i32), Signal::SIGCONT).expect("continued");
        if step == "asked" {
            child.kill().expect("killed");
        }
        wait_for(&mut child);
        others.are_served();
        drop(next);
        server.connect().ask("FLUSHALL");
        next_client_finds_a_clean_ring(&server, &path);
    }
}

fn positions_that_cannot_be_end_their_own_session_only() {
    let server = Server::with_rings_of(6, "4kb");
    let mut others = Others::of(&server);
    let mut admin = server.connect();
    let path = last_ring(&server);
    let mut found = 0;
    // The client's positions: what it has sent up to, and what it has taken up to.
    for at in [128, 192] {
        for junk in [1, 63, 4095, 1 << 20, 1 << 63, u64::MAX, u64::MAX - 63] {
            let mut client = take(&path);
            assert_eq!(client.ask("SUBSCRIBE lost").items()[2].integer(), 1);
            let file = OpenOptions::new().write(true).open(&path).expect("the file");
            file.write_all_at(&u64::to_le_bytes(junk), at).expect("written");
            while corrupt_rings(&mut admin) == found {
                admin.call(&["PUBLISH", "lost", &"x".repeat(1000)]);
            }
            found += 1;
            others.are_served();
            assert_eq!(admin.ask("PUBSUB NUMSUB lost").items()[1].integer(), 0);
            next_client_finds_a_clean_ring(&server, &path);
            assert_eq!(corrupt_rings(&mut admin), found, "told once");
        }
    }
    server.wait_for_line("its ring is corrupt");
}

/// Cuts a file.
fn cut(path: &Path, bytes: u64) {
    OpenOptions::new().write(true).open(path).expect("the file").set_len(bytes).expect("cut");
}

fn corrupt_rings(connection: &mut Connection) -> i64 {
    let info = connection.ask("INFO stats").text();
    let line = info.lines().find_map(|line| line.strip_prefix("goblin_corrupt_rings:"));
    line.expect("the counter").parse().expect("a number")
}

fn a_file_cut_short_ends_its_own_session_only() {
    let server = Server::with_rings_of(6, "8kb");
    let mut others = Others::of(&server);
    let mut admin = server.connect();
    let path = last_ring(&server);
    for (round, bytes) in [0, 1, 4095, 4096, 4096 + 64, 12_288, 16_384, 0].into_iter().enumerate() {
        let mut client = take(&path);
        assert_eq!(client.ask("SUBSCRIBE lost").items()[2].integer(), 1);
        cut(&path, bytes);
        // Both processes meet pages that are gone: the client its own where it writes, the server where it reads; and
        // where it writes, for the whole reply queue is filled.
        while corrupt_rings(&mut admin) == round as i64 {
            client.try_record(b"PING 0123456789012345678901234567890123456789012345678901234567890123456789\r\n");
            admin.call(&["PUBLISH", "lost", &"x".repeat(2000)]);
        }
        others.are_served();
        assert_eq!(admin.ask("PUBSUB NUMSUB lost").items()[1].integer(), 0);
        next_client_finds_a_clean_ring(&server, &path);
    }
    // Nobody has it.
    cut(&path, 0);
    while corrupt_rings(&mut admin) == 8 {}
    next_client_finds_a_clean_ring(&server, &path);
    server.wait_for_line("its ring is corrupt: its file was cut short");
    server.signal("TERM");
    assert!(server.wait().success());
    assert!(!path.exists(), "what was made anew is removed too");
}

fn a_client_survives_a_file_cut_short() {
    let server = Server::with_rings_of(2, "8kb");
    let path = server.folder().join("ring-1");
    let ring = format!("--ring={}", path.display());
    let mut command = goblin();
    command.args(["sub", &ring, "news", "--no-reconnect"]).stdout(Stdio::null()).stderr(Stdio::null());
    let mut reader = command.spawn().expect("start goblin sub");
    let mut admin = server.connect();
    while admin.ask("PUBSUB NUMSUB news").items()[1].integer() == 0 {}
    cut(&path, 0);
    let status = wait_for(&mut reader);
    assert_eq!((status.signal(), status.code()), (None, Some(4)));
}

fn a_removed_file_is_made_anew() {
    let server = Server::with_rings_of(6, "4kb");
    let path = last_ring(&server);
    let mut client = take(&path);
    std::fs::remove_file(&path).expect("removed");
    for _ in 0..100 {
        assert_eq!(client.ask("PING").text(), "PONG");
    }
    drop(client);
    server.wait_for_line("made anew");
    next_client_finds_a_clean_ring_alone(&path);
}

fn next_client_finds_a_clean_ring_alone(path: &Path) {
    let mut next = take(path);
    assert_eq!(next.ask("PING").text(), "PONG");
}

fn a_replaced_file_is_left_alone() {
    let server = Server::with_rings_of(6, "4kb");
    let mut others = Others::of(&server);
    let path = last_ring(&server);
    let mut client = take(&path);
    let letter = server.folder().join("letter");
    std::fs::write(&letter, "a letter").expect("written");
    std::fs::rename(&letter, &path).expect("renamed");
    for _ in 0..100 {
        assert_eq!(client.ask("PING").text(), "PONG");
    }
    drop(client);
    server.wait_for_line("it is served no more");
    others.are_served();
    server.signal("TERM");
    assert!(server.wait().success());
    assert_eq!(std::fs::read(&path).expect("the file"), b"a letter");
}

fn sigbus_from_elsewhere_still_ends_the_server() {
    let server = Server::with_rings_of(1, "4kb");
    server.signal("BUS");
    assert_eq!(server.wait().signal(), Some(Signal::SIGBUS as i32));
}
