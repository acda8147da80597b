//! Servers and clients killed under load: whoever is left goes on, every new start serves, and no file stays behind
//! but what a killed server cannot remove.
//!
//! `GOBLIN_KILL_ROUNDS` says how often, `GOBLIN_FUZZ_SEED` what is drawn.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};

use crate::demand;
use crate::process::Started;
use crate::protocol::Random;
use crate::road::{Folder, RingLease};
use crate::suite::{Need, Suite, tests};
use crate::wire::Connection;

/// Registers this module's tests.
pub fn tests(suite: &mut Suite) {
    tests!(suite, plain, Need::Goblin; whoever_is_killed_under_load_costs_nobody_else);
}

/// Set in the environment of a child of this test to the socket or ring it loads.
pub const LOAD: &str = "GOBLIN_IT_LOAD";

/// The child: asks for ever, says so once it was answered for a while.
pub fn load(place: &str) -> ExitCode {
    let path = Path::new(place);
    let mut connection = connect(path);
    connection.ask("SUBSCRIBE load");
    for round in 0_u32.. {
        for at in 0..50 {
            connection.request(&["SADD", "set", &at.to_string()]);
            connection.request(&["PUBLISH", "load", &"m".repeat(round as usize % 3000)]);
            connection.request(&["SMEMBERS", "set"]);
        }
        // In SBE any command may follow SUBSCRIBE; each message stands before the reply of its command.
        for _ in 0..150 {
            while connection.answer().is_message {}
        }
        if round == 3 {
            println!("going");
            std::io::stdout().flush().expect("told");
        }
    }
    ExitCode::SUCCESS
}

/// Speaks SBE over the ring or the socket at a path, or over a ring on demand of such a socket.
fn connect(path: &Path) -> Connection {
    match path.extension() {
        Some(extension) if extension == DEMAND => demand::open(&path.with_extension("")).into_sbe(),
        Some(_) => Connection::unix(path).into_sbe(),
        None => Connection::ring(RingLease::unasked(path.to_owned())).into_sbe(),
    }
}

fn start_load(path: &Path) -> Child {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.env(LOAD, path).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().expect("start the load");
    let mut said = String::new();
    BufReader::new(child.stdout.take().expect("piped")).read_line(&mut said).expect("a line");
    assert_eq!(said.trim(), "going", "the load on {}", path.display());
    child
}

fn start_server(folder: &Path) -> Started {
    let at = |name: &str| folder.join(name).display().to_string();
    let rings: Vec<String> = RINGS.iter().map(|name| format!("{}:8kb", at(name))).collect();
    let socket = at(SOCKET);
    let mut words = vec!["--port", "0", "--unixsocket", &socket];
    rings.iter().for_each(|ring| words.extend(["--ring", ring]));
    let server = Started::serve(&words);
    assert!(server.start_line().is_some(), "it starts:\n{}", server.log.text());
    server
}

const SOCKET: &str = "server.sock";
const DEMAND: &str = "ring";
const RINGS: [&str; 3] = ["ring-0", "ring-1", "ring-2"];

/// What a server has in the folder, and what a killed one leaves there: its rings with their bells, its socket with
/// its lock.
const FILES: [&str; 11] = [
    "ring-0",
    "ring-0.bell",
    "ring-0.wake",
    "ring-1",
    "ring-1.bell",
    "ring-1.wake",
    "ring-2",
    "ring-2.bell",
    "ring-2.wake",
    "server.sock",
    "server.sock.lock",
];

/// What is in the folder, sorted.
fn left(folder: &Path) -> Vec<String> {
    let names = std::fs::read_dir(folder).expect("the folder");
    let mut names: Vec<String> =
        names.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn rounds() -> u32 {
    std::env::var("GOBLIN_KILL_ROUNDS").map_or(6, |text| text.parse().expect("a number of rounds"))
}

fn whoever_is_killed_under_load_costs_nobody_else() {
    let seed = std::env::var("GOBLIN_FUZZ_SEED").map_or(1, |text| text.parse().expect("a number"));
    let mut random = Random::new(seed);
    let folder = Folder::new();
    let demand = format!("{SOCKET}.{DEMAND}");
    let places: [PathBuf; 4] = [RINGS[0], RINGS[1], SOCKET, &demand].map(|name| folder.path().join(name));
    let bystanders: [PathBuf; 3] = [RINGS[2], SOCKET, &demand].map(|name| folder.path().join(name));
    let mut server = start_server(folder.path());
    for round in 0..rounds() {
        let mut loads = places.each_ref().map(|place| start_load(place));
        let mut others = bystanders.each_ref().map(|place| connect(place));
        let mut are_served = || {
            for other in &mut others {
                for _ in 0..random.below(50) {
                    assert_eq!(other.ask("PING").text(), "PONG", "seed {seed}, round {round}");
                }
            }
        };
        are_served();
        let (kills_server, kills_client) = [(true, false), (false, true), (true, true)][round as usize % 3];
        if kills_client {
            for load in &mut loads {
                load.kill().expect("killed");
                if !kills_server {
                    are_served();
                }
            }
        }
        if kills_server {
            drop(server);
            loads.iter_mut().for_each(|load| drop(load.kill()));
            assert_eq!(left(folder.path()), FILES, "seed {seed}, round {round}");
            server = start_server(folder.path());
        }
        loads.iter_mut().for_each(|load| drop(load.wait()));
        assert_eq!(left(folder.path()), FILES, "seed {seed}, round {round}");
        for place in &places {
            let mut next = connect(place);
            assert_eq!(next.ask("PING").text(), "PONG", "seed {seed}, round {round}");
            assert!(next.ask("CLIENT INFO").text().contains(" sub=0 "));
        }
    }
}
