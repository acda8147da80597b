//! The process: start line, refusals to start, sockets it finds and leaves, signals.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use crate::road::{Folder, Log, Server, free_port, goblin, wait_for, wait_up_to};
use crate::suite::{Need, Suite, tests};
use crate::wire::Connection;

/// Registers this module's tests.
pub fn tests(suite: &mut Suite) {
    tests!(suite, with_server, Need::Goblin;
        the_start_line_says_where_it_listens,
        the_unix_socket_is_private,
        a_busy_port_ends_with_status_3,
        a_live_socket_is_never_taken,
        sigterm_ends_in_order_and_removes_the_socket,
        sigint_ends_in_order,
        shutdown_ends_in_order,
        a_socket_that_is_not_ours_is_not_removed,
        a_killed_server_leaves_a_socket_that_the_next_one_takes,
        pub_and_sub_carry_a_message,
        unread_answers_are_sent_before_the_end,
    );
    tests!(suite, plain, Need::Goblin;
        impossible_places_end_with_status_3,
        something_else_at_the_socket_path_is_left_alone,
        two_starts_over_a_stale_socket_have_one_winner,
        a_config_file_is_read_and_flags_win,
        a_redis_conf_is_read_and_unknown_directives_are_named,
        promises_it_cannot_keep_are_refused,
        no_port_means_no_tcp,
        without_a_path_the_socket_is_in_the_runtime_folder,
    );
}

/// How long a program may take from start to end; client suites do a lot on a busy machine.
const PATIENCE: Duration = Duration::from_secs(180);

/// What became of a command line.
pub struct Outcome {
    /// Exit status; none when a signal ended it.
    pub status: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// Runs `goblin` with these words and nothing on standard input.
pub fn run(words: &[&str]) -> Outcome {
    let mut command = goblin();
    command.args(words);
    finish(command, b"")
}

/// Runs a command to its end with this on standard input.
pub fn finish(mut command: std::process::Command, input: &[u8]) -> Outcome {
    let (out, err) = (std::io::pipe().expect("pipe"), std::io::pipe().expect("pipe"));
    command.stdin(Stdio::piped()).stdout(out.1).stderr(err.1);
    let mut child = command.spawn().unwrap_or_else(|error| panic!("start {command:?}: {error}"));
    drop(command);
    let (stdout, stderr) = (Log::follow(out.0), Log::follow(err.0));
    // A program that does not read its input may be gone already.
    let _ = child.stdin.take().expect("piped").write_all(input);
    let status = wait_up_to(&mut child, PATIENCE).code();
    stdout.wait(|_| false);
    stderr.wait(|_| false);
    Outcome { status, stdout: stdout.text(), stderr: stderr.text() }
}

/// Fails unless the outcome is this status and one line on standard error that says all of this.
fn assert_refused(outcome: &Outcome, status: i32, says: &[&str]) {
    let Outcome { status: got, stdout, stderr } = outcome;
    assert_eq!(*got, Some(status), "stdout: {stdout}\nstderr: {stderr}");
    says.iter().for_each(|text| assert!(stderr.contains(text), "no {text:?} in: {stderr}"));
    assert!(stderr.contains("goblin: ") || status == 2, "lines begin with the program's name: {stderr}");
    assert!(stdout.is_empty(), "nothing but answers goes to stdout: {stdout}");
}

/// A `goblin serve` that tests start themselves, with everything it says.
pub struct Started {
    pub child: Child,
    pub log: Log,
}

impl Started {
    /// Starts it with these words.
    pub fn serve(words: &[&str]) -> Started {
        let (reader, writer) = std::io::pipe().expect("pipe");
        let mut command = goblin();
        command.arg("serve").args(words).stdin(Stdio::null());
        command.stdout(writer.try_clone().expect("pipe")).stderr(writer);
        let child = command.spawn().expect("start goblin");
        drop(command);
        Started { child, log: Log::follow(reader) }
    }

    /// Waits for the start line; none when it ended instead.
    pub fn start_line(&self) -> Option<String> {
        self.log.wait(|line| line.contains("ready, listening on"));
        self.log.text().lines().find(|line| line.contains("ready, listening on")).map(str::to_owned)
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

fn the_start_line_says_where_it_listens(server: &Server) {
    let log = server.log();
    let line = log.lines().find(|line| line.contains("ready, listening on")).expect("the fixture waited for it");
    assert!(line.starts_with("goblin: "), "{line}");
    assert!(line.contains(&format!("tcp {}", server.address())), "{line}");
    assert!(line.contains(&format!("unix {}", server.socket().display())), "{line}");
}

fn the_unix_socket_is_private(server: &Server) {
    let mode = fs::metadata(server.socket()).expect("the socket").permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

fn a_busy_port_ends_with_status_3(server: &Server) {
    let folder = Folder::new();
    let socket = folder.path().join("second.sock");
    let port = server.port().to_string();
    let outcome = run(&["serve", "--port", &port, "--unixsocket", text(&socket)]);
    assert_refused(&outcome, 3, &[&port, "in use"]);
    assert!(!socket.exists(), "what was opened before the refusal is cleaned up");
    server.assert_alive();
}

fn a_live_socket_is_never_taken(server: &Server) {
    let port = free_port().to_string();
    let outcome = run(&["serve", "--port", &port, "--unixsocket", text(&server.socket())]);
    assert_refused(&outcome, 3, &[text(&server.socket()), &server.pid().to_string()]);
    server.connect_unix().exchange(b"PING\r\n", b"+PONG\r\n");
}

fn sigterm_ends_in_order_and_removes_the_socket(server: &Server) {
    let mut connection = server.connect_unix();
    connection.exchange(b"SET k v\r\n", b"+OK\r\n");
    server.signal("TERM");
    assert_eq!(server.wait().code(), Some(0));
    connection.expect_closed();
    let left: Vec<_> =
        fs::read_dir(server.folder()).expect("its folder").flatten().map(|file| file.file_name()).collect();
    assert!(left.is_empty(), "left behind: {left:?}");
}

fn sigint_ends_in_order(server: &Server) {
    server.signal("INT");
    assert_eq!(server.wait().code(), Some(0));
    assert!(!server.socket().exists());
}

fn shutdown_ends_in_order(server: &Server) {
    let mut connection = server.connect();
    connection.exchange(b"SHUTDOWN FOO\r\n", b"-ERR syntax error\r\n");
    connection.send(b"SHUTDOWN NOSAVE\r\n");
    connection.expect_closed();
    assert_eq!(server.wait().code(), Some(0));
    assert!(!server.socket().exists());
}

fn a_socket_that_is_not_ours_is_not_removed(server: &Server) {
    fs::remove_file(server.socket()).expect("remove its socket");
    let _other = UnixListener::bind(server.socket()).expect("bind the same path");
    server.signal("TERM");
    assert_eq!(server.wait().code(), Some(0));
    assert!(fs::symlink_metadata(server.socket()).expect("still there").file_type().is_socket());
}

fn a_killed_server_leaves_a_socket_that_the_next_one_takes(server: &Server) {
    server.signal("KILL");
    server.wait();
    assert!(server.socket().exists(), "a killed process cleans nothing up");
    let port = free_port().to_string();
    let next = Started::serve(&["--port", &port, "--unixsocket", text(&server.socket())]);
    assert!(next.start_line().is_some(), "{}", next.log.text());
    Connection::unix(&server.socket()).exchange(b"PING\r\n", b"+PONG\r\n");
}

fn unread_answers_are_sent_before_the_end(server: &Server) {
    let mut connection = server.connect();
    let value = "v".repeat(1000);
    connection.call(&["SET", "k", &value]);
    connection.send("GET k\r\n".repeat(1000).as_bytes());
    connection.send(b"SET done 1\r\n");
    let mut other = server.connect();
    while other.ask("EXISTS done").integer() == 0 {}
    server.signal("TERM");
    let answers = connection.rest();
    assert_eq!(answers.len(), 1000 * (value.len() + 9) + 5, "every answer given is delivered");
}

/// A `goblin sub` on a channel, seen by the server.
pub fn subscriber(server: &Server, channel: &str) -> Started {
    let (reader, writer) = std::io::pipe().expect("pipe");
    let mut command = goblin();
    command.args(["sub", "--no-reconnect", "-p", &server.port().to_string(), channel]).stdin(Stdio::null());
    command.stdout(writer.try_clone().expect("pipe")).stderr(writer);
    let started = Started { child: command.spawn().expect("start goblin sub"), log: Log::follow(reader) };
    drop(command);
    let mut admin = server.connect();
    let start = std::time::Instant::now();
    while admin.call(&["PUBSUB", "NUMSUB", channel]).items()[1].integer() == 0 {
        assert!(start.elapsed() < crate::wire::WATCHDOG, "goblin sub does not subscribe: {}", started.log.text());
    }
    started
}

fn pub_and_sub_carry_a_message(server: &Server) {
    let mut sub = subscriber(server, "news");
    let outcome = run(&["pub", "-p", &server.port().to_string(), "news", "hello there"]);
    assert_eq!((outcome.status, outcome.stdout.trim()), (Some(0), "1"), "{}", outcome.stderr);
    assert!(sub.log.wait(|line| line.contains("hello there")), "{}", sub.log.text());
    let pid = sub.child.id().to_string();
    std::process::Command::new("kill").args(["-s", "INT", &pid]).status().expect("kill");
    let status = wait_for(&mut sub.child);
    assert_eq!(status.code(), Some(130), "interrupted: {}", sub.log.text());
}

fn impossible_places_end_with_status_3() {
    let port = free_port().to_string();
    assert_refused(
        &run(&["serve", "--port", &port, "--unixsocket", "/nonexistent/folder/x.sock"]),
        3,
        &["/nonexistent"],
    );
    assert_refused(&run(&["serve", "--port", &port, "--bind", "192.0.2.1"]), 3, &["192.0.2.1"]);
    let long = format!("/tmp/{}", "x".repeat(120));
    let outcome = run(&["serve", "--port", &port, "--unixsocket", &long]);
    assert!(matches!(outcome.status, Some(2 | 3)), "a path too long for a socket: {}", outcome.stderr);
}

fn something_else_at_the_socket_path_is_left_alone() {
    let folder = Folder::new();
    let path = folder.path().join("precious.txt");
    fs::write(&path, "data").expect("write");
    let port = free_port().to_string();
    assert_refused(&run(&["serve", "--port", &port, "--unixsocket", text(&path)]), 3, &["precious.txt"]);
    assert_eq!(fs::read_to_string(&path).expect("still there"), "data");
}

fn two_starts_over_a_stale_socket_have_one_winner() {
    for _ in 0..20 {
        let folder = Folder::new();
        let socket = folder.path().join("server.sock");
        drop(UnixListener::bind(&socket).expect("a socket nobody listens on"));
        let words = ["--port", "0", "--unixsocket", text(&socket)];
        let both = [Started::serve(&words), Started::serve(&words)];
        let winners = both.iter().filter(|started| started.start_line().is_some()).count();
        assert_eq!(winners, 1, "{}\n{}", both[0].log.text(), both[1].log.text());
        Connection::unix(&socket).exchange(b"PING\r\n", b"+PONG\r\n");
    }
}

fn a_config_file_is_read_and_flags_win() {
    let folder = Folder::new();
    let (file, socket) = (folder.path().join("goblin.toml"), folder.path().join("server.sock"));
    fs::write(&file, format!("port = 0\nunixsocket = {:?}\nmaxclients = 50\ndatabases = 4\n", text(&socket)))
        .expect("write");
    let started = Started::serve(&["--config", text(&file), "--maxclients", "60"]);
    assert!(started.start_line().is_some(), "{}", started.log.text());
    let mut connection = Connection::unix(&socket);
    assert_eq!(connection.ask("CONFIG GET maxclients").items()[1].text(), "60");
    assert_eq!(connection.ask("CONFIG GET databases").items()[1].text(), "4");
    assert!(connection.ask("SELECT 4").is_error());
    fs::write(&file, "port = \"many\"\n").expect("write");
    assert_refused(&run(&["serve", "--config", text(&file)]), 2, &["port"]);
    fs::write(&file, "nosuch = 1\n").expect("write");
    assert_refused(&run(&["serve", "--config", text(&file)]), 2, &["nosuch"]);
}

fn a_redis_conf_is_read_and_unknown_directives_are_named() {
    let folder = Folder::new();
    let (file, socket) = (folder.path().join("redis.conf"), folder.path().join("server.sock"));
    let known = format!(
        "# a comment\nport 0\nunixsocket {}\ntimeout 7\nsave \"\"\nappendonly no\nclient-output-buffer-limit pubsub 1mb 0 0\n",
        socket.display()
    );
    fs::write(&file, &known).expect("write");
    let started = Started::serve(&["--config", text(&file)]);
    assert!(started.start_line().is_some(), "{}", started.log.text());
    let mut connection = Connection::unix(&socket);
    assert_eq!(connection.ask("CONFIG GET timeout").items()[1].text(), "7");
    drop(started);
    fs::write(&file, format!("{known}loadmodule /x.so\n")).expect("write");
    assert_refused(&run(&["serve", "--config", text(&file)]), 2, &["loadmodule"]);
    let lenient = Started::serve(&["--config", text(&file), "--config-lenient"]);
    assert!(lenient.start_line().is_some(), "{}", lenient.log.text());
    assert!(lenient.log.text().contains("loadmodule"), "what was left out is named: {}", lenient.log.text());
}

fn promises_it_cannot_keep_are_refused() {
    let folder = Folder::new();
    let file = folder.path().join("redis.conf");
    for promise in ["save 900 1", "appendonly yes", "replicaof 127.0.0.1 6379", "cluster-enabled yes"] {
        fs::write(&file, format!("port 0\n{promise}\n")).expect("write");
        let name = promise.split(' ').next().expect("a directive");
        assert_refused(&run(&["serve", "--config", text(&file)]), 2, &[name]);
    }
}

fn no_port_means_no_tcp() {
    let folder = Folder::new();
    let socket = folder.path().join("server.sock");
    let started = Started::serve(&["--port", "0", "--unixsocket", text(&socket)]);
    let line = started.start_line().expect("a start line");
    assert!(!line.contains("tcp") && line.contains("unix"), "{line}");
    let outcome = run(&["serve", "--port", "0", "--no-unixsocket"]);
    assert_eq!(outcome.status, Some(2), "nowhere to listen: {}", outcome.stderr);
}

fn without_a_path_the_socket_is_in_the_runtime_folder() {
    let folder = Folder::new();
    let port = free_port().to_string();
    let (reader, writer) = std::io::pipe().expect("pipe");
    let mut command = goblin();
    command.args(["serve", "--port", &port]).env("XDG_RUNTIME_DIR", folder.path()).stdin(Stdio::null());
    command.stdout(writer.try_clone().expect("pipe")).stderr(writer);
    let started = Started { child: command.spawn().expect("start goblin"), log: Log::follow(reader) };
    drop(command);
    started.start_line().unwrap_or_else(|| panic!("{}", started.log.text()));
    let socket = folder.path().join("goblin").join(format!("{port}.sock"));
    Connection::unix(&socket).exchange(b"PING\r\n", b"+PONG\r\n");
    let mode = fs::metadata(socket.parent().expect("a folder")).expect("the folder").permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}
