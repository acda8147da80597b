//! Parser, resource limits, the socket: cases C34 to C41.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use crate::road::{Folder, Program, Server};
use crate::suite::{Need, Suite, tests};
use crate::talk::Talk;
use crate::wire::{Connection, shown};

/// Registers this module's tests.
pub fn tests(suite: &mut Suite) {
    tests!(suite, on_every_resp_road, Need::Nothing;
        c34_unbalanced_quotes_end_the_connection,
    );
    tests!(suite, with_server, Need::Nothing; c36_bad_lengths_end_the_connection, c36_a_bulk_without_its_end_starts_no_command, c39_http_is_cut_at_once, c40_replies_never_read_are_bounded);
    tests!(suite, with_server, Need::Goblin; c37_memory_follows_bytes_received);
    tests!(suite, plain, Need::Nothing; c37_memory_of_strangers_follows_bytes_received);
    tests!(suite, plain, Need::Goblin; c41_the_mode_is_right_before_listen);
}

fn c34_unbalanced_quotes_end_the_connection(talk: &mut Talk) {
    for (letter, request) in [('A', &b"set a \"b\r\n"[..]), ('B', b"set a 'b\r\n"), ('C', b"set a \"b\"c\r\n")] {
        talk.on(letter).send(b"\r\n\n   \r\n");
        talk.on(letter).exchange(request, b"-ERR Protocol error: unbalanced quotes in request\r\n");
        match talk.is_over_ring() {
            // Nothing would tell a client of the original that its session has ended.
            true => talk.on(letter).exchange(b"PING\r\n", b"+PONG\r\n"),
            false => talk.on(letter).expect_closed(),
        }
    }
    talk.transcript("D> EXISTS a -> 0");
}

fn c36_bad_lengths_end_the_connection(server: &Server) {
    let refused = [
        "*x",
        "*2147483648",
        "*+1",
        "*01",
        "* 1",
        "*",
        "*1\r\n$-1",
        "*1\r\n$536870913",
        "*1\r\n$9223372036854775807",
        "*1\r\n$9223372036854775808",
        "*1\r\n$-2",
        "*1\r\n$",
        "*1\r\n$4x",
        "*1\r\n:4",
    ];
    for request in refused {
        let mut connection = server.connect();
        connection.send(format!("{request}\r\n").as_bytes());
        let answer = connection.rest();
        assert!(answer.starts_with(b"-ERR Protocol error: "), "{request:?}: {}", shown(&answer));
        assert_eq!(answer.iter().filter(|&&byte| byte == b'\n').count(), 1, "one answer: {}", shown(&answer));
    }
    for ignored in ["*0", "*-1", "*-5"] {
        server.connect().exchange(format!("{ignored}\r\nPING\r\n").as_bytes(), b"+PONG\r\n");
    }
}

fn c36_a_bulk_without_its_end_starts_no_command(server: &Server) {
    let mut connection = server.connect();
    connection.send(b"*1\r\n$4\r\nPINGXX*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nv\r\n");
    connection.shut_down_writing();
    let answer = connection.rest();
    let accepted = answer == b"+PONG\r\n+OK\r\n";
    assert!(accepted || answer.starts_with(b"-ERR Protocol error"), "{}", shown(&answer));
    assert_eq!(server.connect().ask("EXISTS k").integer(), i64::from(accepted));
    assert_eq!(server.connect().ask("EXISTS XX").integer(), 0);
}

/// Sends the same 22 bytes on many connections and measures what that costs.
fn announced_and_never_sent(server: &Server, request: &[u8]) -> (u64, Vec<Connection>) {
    server.assert_alive();
    let before = server.rss_bytes();
    let mut connections: Vec<Connection> = (0..1000).map(|_| server.connect()).collect();
    for connection in &mut connections {
        let _ = connection.try_send(request);
    }
    server.assert_alive();
    (server.rss_bytes().saturating_sub(before), connections)
}

fn c37_memory_follows_bytes_received(server: &Server) {
    let (grown, _connections) = announced_and_never_sent(server, b"*1048576\r\n$536870912\r\n");
    assert!(grown < 64 << 20, "1,000 connections that announce much take {grown} bytes");
    let mut admin = server.connect();
    let info = admin.ask("INFO memory").text();
    let used = info.lines().find_map(|line| line.strip_prefix("used_memory:")).expect("used_memory");
    assert!(used.parse::<u64>().expect("a number") < 96 << 20, "accounted memory counts no announcements: {used}");
}

fn c37_memory_of_strangers_follows_bytes_received() {
    let server = Server::with(&["--requirepass", "s3cret"]);
    let before = server.rss_bytes();
    let mut connections: Vec<Connection> = (0..1000).map(|_| server.connect()).collect();
    for connection in &mut connections {
        let _ = connection.try_send(b"*1048576\r\n$536870912\r\n");
    }
    server.connect().exchange(b"AUTH s3cret\r\n", b"+OK\r\n");
    let grown = server.rss_bytes().saturating_sub(before);
    assert!(grown < 64 << 20, "1,000 strangers that announce much take {grown} bytes");
}

fn c39_http_is_cut_at_once(server: &Server) {
    server.connect().exchange(b"SET k v\r\n", b"+OK\r\n");
    for request in [
        &b"POST / HTTP/1.1\r\nHost: x\r\n\r\nFLUSHALL\r\n"[..],
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\nFLUSHALL\r\n",
        b"post / HTTP/1.1\r\n\r\nFLUSHALL\r\n",
    ] {
        let mut connection = server.connect();
        connection.send(request);
        let answer = connection.rest();
        assert!(!answer.windows(3).any(|bytes| bytes == b"+OK"), "{}", shown(&answer));
        assert_eq!(server.connect().ask("GET k").text(), "v", "nothing after the first line is executed");
    }
}

fn c40_replies_never_read_are_bounded(server: &Server) {
    let mut admin = server.connect();
    let value = vec![b'v'; 1 << 20];
    admin.call(&[&b"SET"[..], b"big", &value]);
    if Program::under_test() != Program::Goblin {
        admin.call(&["CONFIG", "SET", "client-output-buffer-limit", "normal 4194304 0 0"]);
    }
    server.assert_alive();
    let before = server.rss_bytes();
    let requests = b"GET big\r\n".repeat(3000);
    let mut connections: Vec<Connection> = (0..10).map(|_| server.connect()).collect();
    for connection in &mut connections {
        let mut sent = 0;
        while sent < requests.len() {
            match connection.send_some(&requests[sent..]) {
                Ok(0) | Err(_) => break,
                Ok(count) => sent += count,
            }
        }
    }
    // Other clients go on as if nothing were there.
    for _ in 0..200 {
        server.assert_alive();
        assert_eq!(admin.ask("EXISTS big").integer(), 1);
    }
    let grown = server.rss_bytes().saturating_sub(before);
    assert!(grown < 200 << 20, "30,000 answers of 1 MiB that nobody reads take {grown} bytes");
}

/// Set for a copy of this program that does nothing but try to connect where it must not.
pub const INTRUDER: &str = "GOBLIN_IT_INTRUDER";

/// The intruder: tries to connect to the path until it disappears for good. Status 1 when it ever succeeded.
pub fn intrude(path: &Path) -> std::process::ExitCode {
    let stop = path.with_extension("stop");
    while !stop.exists() {
        if std::os::unix::net::UnixStream::connect(path).is_ok() {
            return std::process::ExitCode::from(1);
        }
    }
    std::process::ExitCode::SUCCESS
}

/// Set for a copy of this program that does nothing but listen on a Unix socket again and again.
pub const LISTENER: &str = "GOBLIN_IT_LISTENER";

/// The listener: opens and closes the path as the server does at its start and its end, with no umask to help.
pub fn listen(path: &Path) -> std::process::ExitCode {
    nix::sys::stat::umask(nix::sys::stat::Mode::empty());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().expect("a runtime");
    let _entered = runtime.enter();
    for _ in 0..LISTENS {
        drop(goblin::transport::UnixDoor::listen(path, 0o700, 16).expect("listen"));
    }
    std::process::ExitCode::SUCCESS
}

/// How often the listener listens, and how many servers are started besides: what is raced for is the same.
const LISTENS: usize = 1000;
const STARTS: usize = 100;

fn c41_the_mode_is_right_before_listen() {
    // Only one who may become another user can tell.
    if !is_root() {
        return;
    }
    let folder = Folder::new();
    let socket = folder.path().join("server.sock");
    let copy = folder.path().join("intruder");
    std::fs::copy(std::env::current_exe().expect("this program"), &copy).expect("copy this program");
    let mut intruder = Command::new(&copy);
    intruder.env(INTRUDER, &socket).current_dir("/").uid(65_534).gid(65_534);
    // Another test that starts a program right now may still hold the copy as it was written.
    let mut intruder = loop {
        match intruder.spawn() {
            Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy => std::thread::yield_now(),
            started => break started.expect("start the intruder"),
        }
    };
    for _ in 0..STARTS {
        let mut command = Command::new("sh");
        command.args(["-c", "umask 000 && exec \"$@\"", "sh", crate::road::goblin_path(), "serve", "--port", "0"]);
        command.arg("--unixsocket").arg(&socket);
        let (reader, writer) = std::io::pipe().expect("pipe");
        command.stdin(std::process::Stdio::null()).stdout(writer.try_clone().expect("pipe")).stderr(writer);
        let mut child = command.spawn().expect("start goblin");
        drop(command);
        let log = crate::road::Log::follow(reader);
        let ready = log.wait(|line| line.contains("ready, listening on"));
        let _ = child.kill();
        let _ = child.wait();
        assert!(ready, "{}", log.text());
    }
    let mut listener = Command::new(&copy).env(LISTENER, &socket).spawn().expect("start the listener");
    assert!(crate::road::wait_for(&mut listener).success(), "the listener ran to its end");
    std::fs::write(socket.with_extension("stop"), "").expect("stop the intruder");
    assert!(crate::road::wait_for(&mut intruder).success(), "another user got in");
}

/// True when this process may become another user.
fn is_root() -> bool {
    std::fs::read_to_string("/proc/self/status").is_ok_and(|status| status.contains("\nUid:\t0\t"))
}
