//! The client that `goblin sbe-client` prints, run by its language, and the bytes that goblin-sbe(7) shows.

use std::fs;
use std::process::Command;
use std::thread;

use crate::clients::{on_path, script, succeed};
use crate::process::finish;
use crate::road::{Folder, Server, goblin, goblin_path};
use crate::suite::{Need, Suite, tests};
use crate::wire::Connection;

/// Registers this module's tests.
pub fn tests(suite: &mut Suite) {
    tests!(suite, with_server, Need::Goblin; the_example_of_the_manual_is_what_is_said);
    tests!(suite, plain, on_path("python3");
        requests_are_answered_over_sockets_and_rings,
        messages_of_others_arrive,
        the_next_client_takes_a_ring_over,
        a_client_without_bells_is_served,
        whoever_is_turned_away_is_told_why,
        servers_that_come_back_are_not_taken_for_the_old_ones,
        files_that_are_no_rings_are_refused,
    );
}

/// The printed client and a command that runs a scenario of `tests/clients/sbe_client.py` with it.
struct Python(Folder);

impl Python {
    fn new() -> Python {
        let folder = Folder::new();
        let printed = finish(with(goblin(), &["sbe-client", "python"]), b"");
        assert_eq!((printed.status, printed.stderr.as_str()), (Some(0), ""));
        fs::write(folder.path().join("goblin_sbe.py"), printed.stdout).expect("written");
        Python(folder)
    }

    fn run(&self, scenario: &str, places: &[&str]) {
        let mut python = with(Command::new("python3"), &["-W", "error"]);
        python.arg(script("sbe_client.py")).arg(scenario).args(places);
        python.env("PYTHONPATH", self.0.path()).env("PYTHONDONTWRITEBYTECODE", "1");
        assert_eq!(succeed(python, b"").trim_end(), format!("ok {scenario}"));
    }
}

fn with(mut command: Command, words: &[&str]) -> Command {
    command.args(words);
    command
}

/// A server with a ring of 16 KiB and one of 4 KiB.
fn with_two_rings() -> Server {
    Server::with(&["--ring", "wide:16kb", "--ring", "narrow:4kb"])
}

fn ring(server: &Server, name: &str) -> String {
    format!("ring:{}", server.folder().join(name).display())
}

/// The Unix socket and both rings.
fn places(server: &Server) -> [String; 3] {
    let socket = server.socket().to_str().expect("a path that is text").to_owned();
    [socket, ring(server, "wide"), ring(server, "narrow")]
}

fn requests_are_answered_over_sockets_and_rings() {
    let (python, server) = (Python::new(), with_two_rings());
    for place in &places(&server) {
        python.run("round_trips", &[place]);
        python.run("messages", &[place]);
    }
}

fn messages_of_others_arrive() {
    let (python, server) = (Python::new(), with_two_rings());
    for place in &places(&server) {
        thread::scope(|scope| {
            scope.spawn(|| {
                let (mut publisher, mut ready) = (server.connect(), server.connect());
                ready.ask("SUBSCRIBE ready");
                while publisher.ask("PUBLISH news hello").integer() == 0 {
                    thread::yield_now();
                }
                for at in 0..50 {
                    publisher.ask(&format!("PUBLISH news {at}"));
                }
                publisher.call(&["PUBLISH", "news", &"m".repeat(100_000)]);
                ready.value();
                publisher.ask("PUBLISH news last");
            });
            python.run("listens", &[place]);
        });
    }
}

fn the_next_client_takes_a_ring_over() {
    let (python, server) = (Python::new(), with_two_rings());
    python.run("displaced", &[&ring(&server, "narrow")]);
}

fn a_client_without_bells_is_served() {
    let (python, server) = (Python::new(), with_two_rings());
    python.run("without_bells", &[&ring(&server, "narrow")]);
}

fn whoever_is_turned_away_is_told_why() {
    let python = Python::new();
    let server = Server::with(&["--maxclients", "1", "--ring", "wide:16kb", "--ring", "narrow:4kb"]);
    let [socket, wide, narrow] = places(&server);
    python.run("full", &[&wide, &narrow]);
    server.connect().ask("CONFIG SET maxclients 1");
    python.run("full", &[&socket, &narrow]);
}

fn servers_that_come_back_are_not_taken_for_the_old_ones() {
    let (python, folder) = (Python::new(), Folder::new());
    python.run("restarts", &[goblin_path(), folder.path().to_str().expect("a path that is text")]);
}

fn files_that_are_no_rings_are_refused() {
    let (python, folder) = (Python::new(), Folder::new());
    python.run("strangers", &[goblin_path(), folder.path().to_str().expect("a path that is text")]);
}

/// Connections of the example are called by a letter; each begins with what its client sends.
fn the_example_of_the_manual_is_what_is_said(server: &Server) {
    let page = finish(with(goblin(), &["man", "sbe"]), b"").stdout;
    let example = page.split_once(".SH EXAMPLE\n").expect("an example").1;
    let example = example.split(".SH").next().expect("its lines");
    let mut steps: Vec<(char, bool, Vec<u8>)> = Vec::new();
    for line in example.lines() {
        if let Some((who, does)) = line.strip_prefix(".B ").and_then(|title| title.split_once(' ')) {
            let who = who.chars().next().expect("a letter");
            assert!(["sends", "receives"].contains(&does), "{line}");
            steps.push((who, does == "sends", Vec::new()));
        } else if let Some((_, _, bytes)) = steps.last_mut() {
            let hex = line.split("  ").next().unwrap_or_default();
            let read: Result<Vec<u8>, _> = hex.split(' ').map(|byte| u8::from_str_radix(byte, 16)).collect();
            bytes.extend(read.unwrap_or_default());
        }
    }
    assert!(steps.len() == 7, "{steps:?}");
    let mut connections: Vec<(char, Connection)> = Vec::new();
    for (who, sends, bytes) in steps {
        if !connections.iter().any(|(letter, _)| *letter == who) {
            connections.push((who, server.connect_unix()));
        }
        let (_, connection) = connections.iter_mut().find(|(letter, _)| *letter == who).expect("just made");
        if sends { connection.send(&bytes) } else { connection.expect(&bytes) }
    }
}
