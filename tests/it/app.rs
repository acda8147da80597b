//! The client subcommands as processes: what goes to which stream, and how they end.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread::{self, JoinHandle};

use crate::process::finish;
use crate::road::{Log, Server, goblin, wait_for};
use crate::suite::{Need, Suite, tests};

/// Registers this module's tests.
pub fn tests(suite: &mut Suite) {
    tests!(suite, with_server, Need::Goblin;
        sub_prints_what_pub_sends,
        sub_takes_names_for_patterns_by_their_look,
        sub_has_its_time,
        all_byte_values_survive_publishing,
        all_byte_values_survive_a_value,
        a_script_answers_each_line_before_the_next_is_written,
        replies_are_typed_on_a_terminal_and_bare_in_a_pipe,
        pub_numbers_the_lines_that_were_refused,
        databases_are_chosen_with_n_and_in_urls,
    );
    tests!(suite, plain, Need::Goblin;
        passwords_come_from_the_environment,
        a_connection_lost_inside_a_message_shows_none_of_it,
        a_server_that_knows_no_hello_is_spoken_to_in_resp2,
    );
}

/// A running `goblin`, its streams gathered.
pub struct Running {
    pub child: Child,
    pub stdin: Option<ChildStdin>,
    stdout: JoinHandle<Vec<u8>>,
    pub stderr: Log,
}

/// What became of it, in bytes.
pub struct Ended {
    pub status: Option<i32>,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

impl Running {
    /// Starts it with these words.
    pub fn start(words: &[&str]) -> Running {
        let (reader, writer) = std::io::pipe().expect("pipe");
        let mut command = goblin();
        command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(writer);
        let mut child = command.spawn().expect("start goblin");
        drop(command);
        let mut stdout = child.stdout.take().expect("piped");
        let gather = move || {
            let mut bytes = Vec::new();
            stdout.read_to_end(&mut bytes).expect("read its output");
            bytes
        };
        Running { stdin: child.stdin.take(), child, stdout: thread::spawn(gather), stderr: Log::follow(reader) }
    }

    /// A `goblin sub` whose subscriptions are in force.
    pub fn subscribed(server: &Server, words: &[&str]) -> Running {
        Running::subscribed_at(server.port(), words)
    }

    /// The same at a port.
    pub fn subscribed_at(port: u16, words: &[&str]) -> Running {
        let port = port.to_string();
        let running = Running::start(&[&["sub", "-p", &port], words].concat());
        assert!(running.stderr.wait(|line| line.starts_with("goblin: subscribed to ")), "{}", running.stderr.text());
        running
    }

    /// Ctrl-C.
    pub fn interrupt(&self) {
        self.signal("INT");
    }

    /// Sends a signal by name.
    pub fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &pid]).status().expect("run kill").success());
    }

    /// Waits for its end.
    pub fn end(mut self) -> Ended {
        drop(self.stdin.take());
        let status = wait_for(&mut self.child).code();
        self.stderr.wait(|_| false);
        Ended { status, stdout: self.stdout.join().expect("its output"), stderr: self.stderr.text() }
    }
}

/// Runs it to its end with this on standard input.
pub fn ran(words: &[&str], input: &[u8]) -> Ended {
    let mut running = Running::start(words);
    // One that does not read its input may be gone already.
    let _ = running.stdin.take().expect("piped").write_all(input);
    running.end()
}

/// A server that takes one connection, answers one read with one of these each, and closes it.
pub fn scripted(answers: &'static [&'static [u8]]) -> String {
    scripted_many(vec![answers])
}

/// The same for several connections, one after the other.
pub fn scripted_many(connections: Vec<&'static [&'static [u8]]>) -> String {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("bind");
    let port = listener.local_addr().expect("bound").port().to_string();
    thread::spawn(move || {
        for answers in connections {
            let (mut stream, _) = listener.accept().expect("accept");
            for answer in answers {
                let _ = stream.read(&mut [0; 4096]);
                let _ = stream.write_all(answer);
            }
            // What is unread at the end would turn the close into a reset.
            let _ = stream.shutdown(std::net::Shutdown::Write);
            let _ = stream.read_to_end(&mut Vec::new());
        }
    });
    port
}

/// An answer to HELLO 3.
pub const HELLO: &[u8] = b"%1\r\n+proto\r\n:3\r\n";

fn sub_prints_what_pub_sends(server: &Server) {
    let port = server.port().to_string();
    let sub = Running::subscribed(server, &["news.*", "--count", "3", "--json"]);
    let sent = ran(&["pub", "-p", &port, "news.eu", "hi"], b"");
    assert_eq!((sent.status, &*sent.stdout, &*sent.stderr), (Some(0), &b"1\n"[..], ""));
    let lines = ran(&["pub", "-p", &port, "news.us", "-"], b"one\r\n\n");
    assert_eq!((lines.status, &*lines.stdout), (Some(0), &b"1\n1\n"[..]));
    let ended = sub.end();
    let wanted = "{\"channel\":\"news.eu\",\"message\":\"hi\",\"pattern\":\"news.*\"}\n\
                  {\"channel\":\"news.us\",\"message\":\"one\\r\",\"pattern\":\"news.*\"}\n\
                  {\"channel\":\"news.us\",\"message\":\"\",\"pattern\":\"news.*\"}\n";
    assert_eq!(String::from_utf8_lossy(&ended.stdout), wanted);
    assert_eq!((ended.status, &*ended.stderr), (Some(0), "goblin: subscribed to news.* (pattern)"));
    let quiet = ran(&["pub", "-p", &port, "--quiet", "news.us", "x"], b"");
    assert_eq!((quiet.status, quiet.stdout), (Some(0), vec![]));
}

fn sub_takes_names_for_patterns_by_their_look(server: &Server) {
    let port = server.port().to_string();
    let rows: &[(&[&str], &[&str], &str)] = &[
        (&["a*", "b"], &["ax", "b", "a*"], "ax\tm\nb\tm\na*\tm\n"),
        (&["a*", "--literal"], &["ax", "a*"], "a*\tm\n"),
        (&["b", "--pattern"], &["bx", "b"], "b\tm\n"),
    ];
    for (names, channels, wanted) in rows {
        for protocol in ["resp2", "resp3"] {
            let count = wanted.lines().count().to_string();
            let sub = Running::subscribed(server, &[names, &["--count", &count, "--protocol", protocol][..]].concat());
            for channel in *channels {
                ran(&["pub", "-p", &port, channel, "m"], b"");
            }
            let ended = sub.end();
            assert_eq!(String::from_utf8_lossy(&ended.stdout), *wanted, "{names:?} {protocol}");
            assert_eq!(ended.status, Some(0));
        }
    }
    let sub = Running::subscribed(server, &["s*", "--sharded", "--count", "1"]);
    ran(&["pub", "-p", &port, "s*", "plain"], b"");
    ran(&["pub", "-p", &port, "--sharded", "sx", "other"], b"");
    ran(&["pub", "-p", &port, "--sharded", "s*", "shard"], b"");
    assert_eq!(sub.end().stdout, b"s*\tshard\n");
}

fn sub_has_its_time(server: &Server) {
    let mut publisher = server.connect();
    let rows: [(&[&str], i32); 2] = [(&["--timeout", "1"], 0), (&["--timeout", "1", "--count", "2"], 5)];
    for (flags, status) in rows {
        let sub = Running::subscribed(server, &[&["c", "--raw"], flags].concat());
        publisher.ask("PUBLISH c only");
        let ended = sub.end();
        assert_eq!((ended.status, &*ended.stdout), (Some(status), &b"only\n"[..]), "{flags:?}");
    }
}

/// Each byte value once.
pub fn every_byte() -> Vec<u8> {
    (0..=255).collect()
}

fn all_byte_values_survive_publishing(server: &Server) {
    let port = server.port().to_string();
    let sub = Running::subscribed(server, &["c", "--raw", "--count", "1"]);
    let sent = ran(&["pub", "-p", &port, "c", "-x"], &every_byte());
    assert_eq!(sent.stdout, b"1\n", "{}", sent.stderr);
    let mut wanted = every_byte();
    wanted.push(b'\n');
    assert_eq!(sub.end().stdout, wanted);
}

fn all_byte_values_survive_a_value(server: &Server) {
    let port = server.port().to_string();
    assert_eq!(ran(&["cli", "-p", &port, "-x", "SET", "k"], &every_byte()).stdout, b"OK\n");
    let mut raw = every_byte();
    raw.push(b'\n');
    assert_eq!(ran(&["cli", "-p", &port, "GET", "k"], b"").stdout, raw);
    // The quoted form is a word of a command line again.
    let quoted = ran(&["cli", "-p", &port, "--no-raw", "GET", "k"], b"").stdout;
    let line = [b"SET copy ".as_slice(), &quoted].concat();
    assert_eq!(ran(&["cli", "-p", &port], &line).stdout, b"OK\n");
    assert_eq!(ran(&["cli", "-p", &port, "GET", "copy"], b"").stdout, raw);
}

fn a_script_answers_each_line_before_the_next_is_written(server: &Server) {
    let port = server.port().to_string();
    for (words, line, wanted) in
        [(&["cli", "-p", &port][..], &b"INCR n\n"[..], "1\n"), (&["pub", "-p", &port, "c", "-"], b"x\n", "0\n")]
    {
        let mut command = goblin();
        let mut child = command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("start goblin");
        let mut stdin = child.stdin.take().expect("piped");
        let mut stdout = BufReader::new(child.stdout.take().expect("piped"));
        stdin.write_all(line).expect("write a line");
        let mut answer = String::new();
        stdout.read_line(&mut answer).expect("read its answer");
        assert_eq!(answer, wanted, "{words:?}");
        drop(stdin);
        assert_eq!(wait_for(&mut child).code(), Some(0));
    }
}

fn replies_are_typed_on_a_terminal_and_bare_in_a_pipe(server: &Server) {
    let port = server.port().to_string();
    let set: &[&str] = &["cli", "-p", &port, "SADD", "s", "a\nb"];
    assert_eq!(on_a_terminal(set), "(integer) 1\r\n");
    assert_eq!(on_a_terminal(&["cli", "-p", &port, "SMEMBERS", "s"]), "1~ \"a\\nb\"\r\n");
    assert_eq!(on_a_terminal(&["cli", "-p", &port, "--protocol", "resp2", "SMEMBERS", "s"]), "1) \"a\\nb\"\r\n");
    assert_eq!(on_a_terminal(&["cli", "-p", &port, "--raw", "SMEMBERS", "s"]), "a\r\nb\r\n");
    assert!(on_a_terminal(&["cli", "-p", &port, "INFO", "server"]).starts_with("# Server\r"));
    assert_eq!(ran(set, b"").stdout, b"0\n");
    assert_eq!(ran(&["cli", "-p", &port, "SMEMBERS", "s"], b"").stdout, b"a\nb\n");
    assert_eq!(ran(&["cli", "-p", &port, "--no-raw", "SMEMBERS", "s"], b"").stdout, b"1~ \"a\\nb\"\n");
}

/// What it prints when standard output is a terminal.
fn on_a_terminal(words: &[&str]) -> String {
    let terminal = nix::pty::openpty(None, None).expect("a pseudo-terminal");
    let mut command = goblin();
    command.args(words).stdin(Stdio::null()).stdout(terminal.slave);
    let mut child = command.spawn().expect("start goblin");
    drop(command);
    let mut text = Vec::new();
    // The other side's end is told as an error.
    let _ = File::from(terminal.master).read_to_end(&mut text);
    assert_eq!(wait_for(&mut child).code(), Some(0), "{words:?}");
    String::from_utf8(text).expect("text")
}

fn pub_numbers_the_lines_that_were_refused(server: &Server) {
    let port = server.port().to_string();
    server.connect().ask("CONFIG SET requirepass secret");
    let ended = ran(&["pub", "-p", &port, "--protocol", "resp2", "c", "-"], b"a\nb\n");
    assert_eq!((ended.status, &*ended.stdout), (Some(1), &b""[..]));
    let lines: Vec<&str> = ended.stderr.lines().collect();
    let wanted = "goblin: line 2: the server refused: NOAUTH Authentication required.";
    assert_eq!((lines.len(), lines[1]), (2, wanted), "{lines:?}");
    let many = ran(&["pub", "-p", &port, "--protocol", "resp2", "c", "-"], "a\n".repeat(30).as_bytes());
    assert_eq!(many.stderr.lines().count(), 11);
    assert!(many.stderr.ends_with("goblin: 30 messages refused in all"), "{}", many.stderr);
    let single = ran(&["pub", "-p", &port, "--protocol", "resp2", "c", "m"], b"");
    assert_eq!((single.status, &*single.stdout), (Some(1), &b""[..]));
    let sub = ran(&["sub", "-p", &port, "--protocol", "resp2", "c"], b"");
    assert_eq!((sub.status, &*sub.stdout), (Some(1), &b""[..]), "{}", sub.stderr);
    assert!(sub.stderr.contains("NOAUTH"), "{}", sub.stderr);
}

fn databases_are_chosen_with_n_and_in_urls(server: &Server) {
    let port = server.port().to_string();
    ran(&["cli", "-p", &port, "-n", "3", "SET", "k", "three"], b"");
    let url = format!("redis://127.0.0.1:{port}/3");
    assert_eq!(ran(&["cli", "-u", &url, "GET", "k"], b"").stdout, b"three\n");
    let socket = format!("unix://{}?db=3", server.socket().display());
    assert_eq!(ran(&["cli", "--url", &socket, "GET", "k"], b"").stdout, b"three\n");
    assert_eq!(ran(&["cli", "-p", &port, "GET", "k"], b"").stdout, b"\n");
}

fn passwords_come_from_the_environment() {
    let server = Server::with(&["--requirepass", "secret"]);
    let port = server.port().to_string();
    let ping = |flags: &[&str], variables: &[(&str, &str)]| {
        let mut command = goblin();
        command.args(["cli", "-p", &port]).args(flags).arg("PING");
        command.env_remove("GOBLIN_PASSWORD").env_remove("REDISCLI_AUTH").envs(variables.iter().copied());
        finish(command, b"")
    };
    for protocol in ["resp2", "resp3"] {
        let flags = ["--protocol", protocol];
        assert_eq!(ping(&flags, &[("GOBLIN_PASSWORD", "secret")]).status, Some(0));
        assert_eq!(ping(&flags, &[("REDISCLI_AUTH", "secret")]).status, Some(0));
        assert_eq!(ping(&flags, &[("GOBLIN_PASSWORD", "secret"), ("REDISCLI_AUTH", "wrong")]).status, Some(0));
        let wrong = ping(&flags, &[("GOBLIN_PASSWORD", "wrong")]);
        assert_eq!((wrong.status, &*wrong.stdout), (Some(3), ""));
        assert!(wrong.stderr.contains("could not log in") && !wrong.stderr.contains("wrong\n"), "{}", wrong.stderr);
    }
    let shown = ping(&["-a", "secret"], &[("GOBLIN_PASSWORD", "wrong")]);
    assert_eq!((shown.status, &*shown.stdout), (Some(0), "PONG"));
    assert!(shown.stderr.contains("-a") && !shown.stderr.contains("secret"), "{}", shown.stderr);
}

fn a_connection_lost_inside_a_message_shows_none_of_it() {
    let confirmed: &[u8] =
        b">3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n>3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$5\r\nwhole\r\n\
                             >3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$9\r\nhal";
    let answers: &[&[u8]] = Box::leak(Box::new([HELLO, confirmed]));
    let ended = ran(&["sub", "-p", &scripted(answers), "--no-reconnect", "c"], b"");
    assert_eq!((ended.status, &*ended.stdout), (Some(4), &b"c\twhole\n"[..]));
    let last = ended.stderr.lines().last().unwrap_or_default();
    assert_eq!(last, "goblin: connection lost inside a message", "{}", ended.stderr);
}

fn a_server_that_knows_no_hello_is_spoken_to_in_resp2() {
    let unknown: &[&[u8]] = &[b"-ERR unknown command 'HELLO'\r\n"];
    let port = scripted_many(vec![unknown, &[b"+PONG\r\n"]]);
    let ended = ran(&["cli", "-p", &port, "PING"], b"");
    assert_eq!((ended.status, &*ended.stdout), (Some(0), &b"PONG\n"[..]), "{}", ended.stderr);
    let insisted = ran(&["cli", "-p", &scripted(unknown), "--protocol", "resp3", "PING"], b"");
    assert_eq!(insisted.status, Some(3), "{}", insisted.stderr);
}
