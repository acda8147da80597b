//! `benches/goblin-core-launcher`: the flags of Goblin Core's server, for the harness that measures it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::process::{Outcome, Started, finish};
use crate::road::{Folder, Log, RingLease, goblin_path, wait_for};
use crate::suite::{Need, Suite, tests};
use crate::wire::Connection;

/// Registers this module's tests.
pub fn tests(suite: &mut Suite) {
    tests!(suite, plain, Need::Goblin;
        it_starts_a_server_with_65_rings_in_its_place,
        what_it_does_not_know_is_refused,
    );
}

const RINGS: usize = 65;

fn launcher() -> Command {
    let mut command = Command::new(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("benches/goblin-core-launcher"));
    command.env("GOBLIN", goblin_path());
    command
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path that is text")
}

fn it_starts_a_server_with_65_rings_in_its_place() {
    let folder = Folder::new();
    let (socket, ring) = (folder.path().join("server.sock"), |at: usize| folder.path().join(format!("ring-{at}")));
    let (reader, writer) = std::io::pipe().expect("pipe");
    let mut command = launcher();
    command.args(["--unixsocket", text(&socket), "--unsolicited-output-buffer-bytes", "8192", "--enable-sbe"]);
    for at in 0..RINGS {
        command.args(["--ring", text(&ring(at)), "4kb"]);
    }
    command.stdin(Stdio::null()).stdout(writer.try_clone().expect("pipe")).stderr(writer);
    let mut started = Started { child: command.spawn().expect("start the launcher"), log: Log::follow(reader) };
    drop(command);
    let line = started.start_line().unwrap_or_else(|| panic!("{}", started.log.text()));
    assert!(!line.contains("tcp"), "{line}");
    let program = std::fs::read_link(format!("/proc/{}/exe", started.child.id())).expect("a running program");
    assert_eq!(program, std::fs::canonicalize(goblin_path()).expect("goblin"), "the process is the server's");
    let mut over_socket = Connection::unix(&socket);
    assert_eq!(over_socket.ask("PING").text(), "PONG");
    let limits = over_socket.ask("CONFIG GET client-output-buffer-limit").items()[1].text();
    assert!(limits.ends_with("pubsub 8192 0 0"), "{limits}");
    // A message as large as a ring, from the first one to the last one.
    let mut listener = Connection::ring(RingLease::unasked(ring(RINGS - 1))).into_sbe();
    listener.ask("SUBSCRIBE news");
    let mut publisher = Connection::ring(RingLease::unasked(ring(0))).into_sbe();
    let message = "m".repeat(4096);
    for _ in 0..100 {
        assert_eq!(publisher.call(&["PUBLISH", "news", &message]).integer(), 1);
        assert!(listener.answer().value.items()[2].text() == message);
    }
    let pid = started.child.id().to_string();
    assert!(Command::new("kill").args(["-s", "TERM", &pid]).status().expect("run kill").success());
    assert_eq!(wait_for(&mut started.child).code(), Some(0));
    assert_eq!(std::fs::read_dir(folder.path()).expect("the folder").count(), 0);
}

fn what_it_does_not_know_is_refused() {
    for (words, says) in [
        (&["--nosuch"][..], "unknown flag '--nosuch'"),
        (&["--enable-sbe", "--port", "1"], "unknown flag '--port'"),
        (&["--ring", "x"], "--ring: a value is missing"),
        (&["--unixsocket"], "--unixsocket: a value is missing"),
        (&["--unsolicited-output-buffer-bytes", "8k"], "8k: no number of bytes"),
    ] {
        let mut command = launcher();
        command.args(words);
        let Outcome { status, stdout, stderr } = finish(command, b"");
        assert_eq!((status, stdout.as_str()), (Some(2), ""), "{stderr}");
        assert!(stderr.starts_with("goblin-core-launcher: ") && stderr.contains(says), "{stderr}");
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
    }
}
