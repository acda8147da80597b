//! `goblin sub`: how messages look, what goes to which stream, and what it makes of gaps.

use std::io::{BufRead, BufReader, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use nix::sys::stat::Mode;
use serde_json::Value as Json;

use crate::app::{HELLO, Running, every_byte, ran, scripted_many};
use crate::reconnect::Place;
use crate::road::{Folder, Server, goblin, goblin_path, wait_for};
use crate::suite::{Need, Suite, tests};
use crate::wire::{Connection, WATCHDOG};

/// Registers this module's tests.
pub fn tests(suite: &mut Suite) {
    tests!(suite, with_server, Need::Goblin;
        every_form_keeps_all_byte_values,
        every_json_line_is_an_object,
        times_are_shown_as_they_are_asked_for,
        rates_go_to_standard_error,
        ctrl_c_sums_the_rates_up,
        overlapping_subscriptions_are_printed_once_when_asked,
        readiness_is_told_to_a_descriptor,
        readiness_is_told_to_a_socket,
        a_tail_that_was_stopped_goes_on_where_it_was,
    );
    tests!(suite, plain, Need::Goblin;
        a_thousand_channels_survive_two_restarts,
        a_message_cut_by_a_lost_connection_is_not_shown_after_the_return,
        a_connection_lost_before_the_subscription_is_in_force_is_made_again,
        a_server_that_comes_back_with_another_password_ends_it,
        a_time_that_ends_in_a_gap_is_a_lost_connection,
        a_tail_that_was_stopped_for_too_long_shows_whole_messages_only,
    );
}

/// What one `goblin sub` with these flags prints of a message.
fn printed(server: &Server, flags: &[&str], channel: &str, payload: &[u8]) -> Vec<u8> {
    let port = server.port().to_string();
    let sub = Running::subscribed(server, &[flags, &["--count", "1", channel]].concat());
    assert_eq!(ran(&["pub", "-p", &port, "-x", channel], payload).status, Some(0));
    let ended = sub.end();
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    ended.stdout
}

fn every_form_keeps_all_byte_values(server: &Server) {
    let every = every_byte();
    for (delimiter, bytes) in [("\\n", &b"\n"[..]), ("\\0", b"\0"), ("", b""), ("-\\x00\\xff\\\\", b"-\0\xff\\")] {
        let raw = printed(server, &["--raw", "--delimiter", delimiter], "c", &every);
        assert_eq!(raw, [&every, bytes].concat(), "{delimiter}");
    }
    let hex = String::from_utf8(printed(server, &["--hex"], "c", &every)).expect("text");
    let digits: String = every.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hex, format!("c\t{digits}\n"));
    let text = printed(server, &[], "c", &every);
    assert_eq!(unescaped(text.strip_prefix(b"c\t").and_then(|rest| rest.strip_suffix(b"\n")).expect("a line")), every);
    let line = printed(server, &["--json"], "c", &every);
    let object: Json = serde_json::from_slice(&line).expect("JSON");
    assert_eq!(base64(object["message"]["b64"].as_str().expect("base64")), every);
}

/// Reads the text form back.
fn unescaped(line: &[u8]) -> Vec<u8> {
    let (mut rest, mut bytes) = (line, Vec::new());
    loop {
        match rest {
            [b'\\', b'x', high, low, others @ ..] => {
                let digits = [*high, *low];
                let digits = std::str::from_utf8(&digits).expect("digits");
                bytes.push(u8::from_str_radix(digits, 16).expect("digits"));
                rest = others;
            }
            [b'\\', letter, others @ ..] => {
                bytes.push(match letter {
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    letter => *letter,
                });
                rest = others;
            }
            [byte, others @ ..] => {
                bytes.push(*byte);
                rest = others;
            }
            [] => return bytes,
        }
    }
}

fn base64(text: &str) -> Vec<u8> {
    STANDARD.decode(text).expect("base64")
}

fn every_json_line_is_an_object(server: &Server) {
    let payloads: [&[u8]; 6] = [
        b"",
        b"line\nend\r\n",
        b"\"quoted\" \\ \x00\x1f\x7f",
        "äöü \u{2028}\u{1f600}".as_bytes(),
        b"\xff",
        b"{\"a\":1}",
    ];
    let sub = Running::subscribed(server, &["--json", "--timestamps", "--delta", "--count", "6", "c\n*"]);
    let mut publisher = server.connect();
    payloads.iter().for_each(|payload| drop(publisher.call(&[b"PUBLISH", &b"c\n\xfe"[..], payload])));
    let ended = sub.end();
    let lines: Vec<&[u8]> = ended.stdout.split_inclusive(|byte| *byte == b'\n').collect();
    assert_eq!(lines.len(), payloads.len(), "{}", String::from_utf8_lossy(&ended.stdout));
    for (line, payload) in lines.iter().zip(payloads) {
        let object: Json = serde_json::from_slice(line).expect("JSON");
        let message = &object["message"];
        let bytes = message.as_str().map_or_else(|| base64(message["b64"].as_str().expect("b64")), |text| text.into());
        assert_eq!(bytes, payload);
        assert_eq!(base64(object["channel"]["b64"].as_str().expect("b64")), b"c\n\xfe");
        assert_eq!(object["pattern"], "c\n*");
        assert!(
            object["time"].as_str().is_some_and(|time| time.ends_with('Z')) && object["delta"].is_f64(),
            "{object}"
        );
    }
}

fn times_are_shown_as_they_are_asked_for(server: &Server) {
    let fields = |flags: &[&str]| {
        let line = String::from_utf8(printed(server, flags, "c", b"m")).expect("text");
        line.trim_end().split('\t').map(str::to_owned).collect::<Vec<_>>()
    };
    let [time, channel, message] = &fields(&["--timestamps"])[..] else { panic!("three fields") };
    assert!(time.len() == "2023-11-14T22:13:20.123456Z".len() && time.ends_with('Z'), "{time}");
    assert_eq!((&**channel, &**message), ("c", "m"));
    assert_eq!(fields(&["--delta"]), ["+0.000000", "c", "m"]);
    assert_eq!(fields(&["--delta", "--timestamps", "--hex"])[1..], ["+0.000000", "c", "6d"]);
}

fn rates_go_to_standard_error(server: &Server) {
    let sub = Running::subscribed(server, &["--rate", "--count", "3", "a", "b"]);
    let mut publisher = server.connect();
    publisher.ask("PUBLISH a 12345");
    publisher.ask("PUBLISH b 1");
    assert!(sub.stderr.wait(|line| line.starts_with("goblin: a: ")), "{}", sub.stderr.text());
    publisher.ask("PUBLISH a 12345");
    let ended = sub.end();
    assert_eq!(ended.stdout, b"a\t12345\nb\t1\na\t12345\n");
    let line = ended.stderr.lines().find(|line| line.starts_with("goblin: b: ")).expect("a line for b");
    assert!(line.ends_with(" bytes/s") && line.contains(" messages/s, "), "{line}");
    let last = ended.stderr.lines().last().expect("a summary");
    assert!(last.starts_with("goblin: 3 messages, 11 bytes in "), "{last}");
}

fn ctrl_c_sums_the_rates_up(server: &Server) {
    let sub = Running::subscribed(server, &["--rate", "a"]);
    server.connect().ask("PUBLISH a 12345");
    assert!(sub.stderr.wait(|line| line.starts_with("goblin: a: ")), "{}", sub.stderr.text());
    sub.interrupt();
    let ended = sub.end();
    assert_eq!((ended.status, &*ended.stdout), (Some(130), &b"a\t12345\n"[..]));
    let last = ended.stderr.lines().last().expect("a summary");
    assert!(last.starts_with("goblin: 1 message, 5 bytes in "), "{last}");
}

fn overlapping_subscriptions_are_printed_once_when_asked(server: &Server) {
    let publish = || {
        let mut publisher = server.connect();
        ["same", "same", "other"].iter().for_each(|payload| drop(publisher.call(&["PUBLISH", "ab", payload])));
    };
    for protocol in ["resp2", "resp3"] {
        let names = ["ab", "a*", "*", "--protocol", protocol];
        let all = Running::subscribed(server, &[&names[..], &["--raw", "--count", "9"]].concat());
        let once = Running::subscribed(server, &[&names[..], &["--raw", "--count", "3", "--dedup"]].concat());
        publish();
        assert_eq!(all.end().stdout, [b"same\n".repeat(6), b"other\n".repeat(3)].concat());
        assert_eq!(once.end().stdout, b"same\nsame\nother\n", "{protocol}");
    }
}

fn readiness_is_told_to_a_descriptor(server: &Server) {
    let folder = Folder::new();
    let fifo = folder.path().join("ready");
    nix::unistd::mkfifo(&fifo, Mode::S_IRWXU).expect("make a FIFO");
    let mut command = Command::new("sh");
    command.args(["-c", "exec \"$0\" sub -p \"$1\" c --count 1 --ready-fd 7 7>\"$2\""]);
    command.arg(goblin_path()).arg(server.port().to_string()).arg(&fifo).stdout(Stdio::piped());
    let mut child = command.spawn().expect("start goblin sub");
    let mut line = String::new();
    // Opening waits for the other side.
    let reader = std::fs::File::open(&fifo).expect("open the FIFO");
    assert!(reader.metadata().expect("its kind").file_type().is_fifo());
    BufReader::new(reader).read_line(&mut line).expect("read from the FIFO");
    assert_eq!(line, "ready\n");
    assert_eq!(server.connect().ask("PUBLISH c m").integer(), 1);
    assert_eq!(wait_for(&mut child).code(), Some(0));
}

fn readiness_is_told_to_a_socket(server: &Server) {
    let (mut own, theirs) = UnixStream::pair().expect("a pair of sockets");
    let mut command = Command::new("sh");
    command.args(["-c", "exec \"$0\" sub -p \"$1\" c --count 1 --ready-fd 7 7<&0 </dev/null"]);
    command.arg(goblin_path()).arg(server.port().to_string());
    let mut child = command.stdin(OwnedFd::from(theirs)).stdout(Stdio::null()).spawn().expect("start goblin sub");
    drop(command);
    let mut line = [0; 6];
    own.read_exact(&mut line).expect("read from the socket");
    assert_eq!(&line, b"ready\n");
    assert_eq!(server.connect().ask("PUBLISH c m").integer(), 1);
    assert_eq!(wait_for(&mut child).code(), Some(0));
}

/// Numbered messages of this many bytes, whose every byte can be checked.
fn numbered(number: usize, bytes: usize) -> String {
    let filling = char::from(b'a' + (number % 26) as u8);
    format!("{number}:{}", filling.to_string().repeat(bytes))
}

fn a_tail_that_was_stopped_goes_on_where_it_was(server: &Server) {
    const COUNT: usize = 2000;
    let sub = Running::subscribed(server, &["c", "--raw", "--count", &COUNT.to_string()]);
    let mut publisher = server.connect();
    for number in 0..COUNT {
        match number {
            500 | 1500 => sub.signal("STOP"),
            1000 => sub.signal("CONT"),
            _ => {}
        }
        publisher.call(&["PUBLISH", "c", &numbered(number, 3000)]);
    }
    sub.signal("CONT");
    let ended = sub.end();
    let wanted: String = (0..COUNT).map(|number| numbered(number, 3000) + "\n").collect();
    assert!(ended.stdout == wanted.as_bytes(), "{} bytes of {}", ended.stdout.len(), wanted.len());
    assert!(!ended.stderr.contains("lost"), "{}", ended.stderr);
}

fn a_tail_that_was_stopped_for_too_long_shows_whole_messages_only() {
    const BYTES: usize = 30_000;
    let server = Server::start();
    server.connect().call(&["CONFIG", "SET", "client-output-buffer-limit", "pubsub 1000000 0 0"]);
    let mut command = goblin();
    command.args(["sub", "-p", &server.port().to_string(), "c", "--raw"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("start goblin sub");
    let mut notices = BufReader::new(child.stderr.take().expect("piped")).lines();
    let mut notice = || notices.next().expect("a notice").expect("text");
    assert_eq!(notice(), "goblin: subscribed to c");
    let pid = child.id().to_string();
    let signal = |name: &str| {
        assert!(Command::new("kill").args(["-s", name, &pid]).status().expect("run kill").success());
    };
    // Read at once, so that it never waits for its reader.
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let (printed, shown) = std::sync::mpsc::channel();
    std::thread::spawn(move || while lines.next().is_some_and(|line| printed.send(line.expect("text")).is_ok()) {});
    signal("STOP");
    let mut publisher = server.connect();
    let begun = Instant::now();
    let mut sent = 0;
    // The server cuts it off, some of a message on its way.
    while publisher.call(&["PUBLISH", "c", &numbered(sent, BYTES)]).integer() == 1 {
        sent += 1;
        assert!(begun.elapsed() < WATCHDOG, "it is never cut off");
    }
    signal("CONT");
    await_subscriber(&mut publisher, "c");
    publisher.call(&["PUBLISH", "c", "the end"]);
    let mut whole = 0;
    loop {
        let line = shown.recv_timeout(WATCHDOG).expect("a line");
        if line == "the end" {
            break;
        }
        assert!(line == numbered(whole, BYTES), "message {whole} is broken: {} bytes", line.len());
        whole += 1;
    }
    assert!(whole > 0 && whole <= sent, "{whole} of {sent}");
    let lost = notice();
    assert!(lost.starts_with("goblin: connection lost") && lost.ends_with("; trying again"), "{lost}");
    let back = notice();
    assert!(
        back.starts_with("goblin: connected again") && back.ends_with("; what was published meanwhile is lost"),
        "{back}"
    );
    drop(shown);
    // The next message finds nobody reading.
    publisher.call(&["PUBLISH", "c", "one more"]);
    assert_eq!(wait_for(&mut child).code(), Some(0));
}

fn await_subscriber(watcher: &mut Connection, channel: &str) {
    let begun = Instant::now();
    while watcher.call(&["PUBSUB", "NUMSUB", channel]).items()[1].integer() == 0 {
        assert!(begun.elapsed() < WATCHDOG, "nobody subscribes to {channel}");
    }
}

fn a_thousand_channels_survive_two_restarts() {
    const COUNT: usize = 1000;
    let mut place = Place::start(&[]);
    let names: Vec<String> = (0..COUNT).map(|number| format!("channel:{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let count = (COUNT + 2).to_string();
    let patterns = ["p:*", "q?"];
    let sub = Running::subscribed_at(place.port(), &[&["--count", &count], &patterns[..], &names].concat());
    for restart in 0..2 {
        let down = Instant::now();
        place.restart();
        let mut watcher = place.connect();
        while watcher.ask("PUBSUB NUMPAT").integer() != 2 || watcher.ask("PUBSUB CHANNELS").items().len() != COUNT {
            assert!(down.elapsed() < WATCHDOG, "not back after restart {restart}: {}", sub.stderr.text());
        }
        // The second restart comes half a second after the first, which is part of what is tested.
        std::thread::sleep(Duration::from_millis(500).saturating_sub(down.elapsed()));
    }
    let mut publisher = place.connect();
    for name in names.iter().chain(&["p:x", "qx"]) {
        assert_eq!(publisher.call(&["PUBLISH", name, "m"]).integer(), 1, "{name}");
    }
    let ended = sub.end();
    let wanted: String = names.iter().chain(&["p:x", "qx"]).map(|name| format!("{name}\tm\n")).collect();
    assert_eq!((ended.status, String::from_utf8_lossy(&ended.stdout)), (Some(0), wanted.into()));
    let count = |text: &str| ended.stderr.lines().filter(|line| line.contains(text)).count();
    assert_eq!((count("trying again"), count("meanwhile is lost")), (2, 2), "{}", ended.stderr);
    assert!(ended.stderr.starts_with("goblin: subscribed to channel:0, ") && ended.stderr.contains("and 992 more"));
}

fn a_message_cut_by_a_lost_connection_is_not_shown_after_the_return() {
    const CUT: &[u8] = b">3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n>3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$5\r\nfirst\r\n\
                         >3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$9\r\nhal";
    const WHOLE: &[u8] =
        b">3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n>3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$6\r\nsecond\r\n";
    let port = scripted_many(vec![&[HELLO, CUT], &[HELLO, b""], &[], &[HELLO, WHOLE]]);
    let ended = ran(&["sub", "-p", &port, "--count", "2", "c"], b"");
    assert_eq!((ended.status, &*ended.stdout), (Some(0), &b"c\tfirst\nc\tsecond\n"[..]), "{}", ended.stderr);
    let lines: Vec<&str> = ended.stderr.lines().collect();
    assert_eq!(lines[..2], ["goblin: subscribed to c", "goblin: connection lost inside a message; trying again"]);
    assert!(lines.len() == 3 && lines[2].ends_with("; what was published meanwhile is lost"), "{lines:?}");
}

fn a_connection_lost_before_the_subscription_is_in_force_is_made_again() {
    const WHOLE: &[u8] = b">3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n>3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nm\r\n";
    let port = scripted_many(vec![&[HELLO, b""], &[HELLO, b">3\r\n$9\r\nsub"], &[HELLO, WHOLE]]);
    let ended = ran(&["sub", "-p", &port, "--count", "1", "c"], b"");
    assert_eq!((ended.status, &*ended.stdout), (Some(0), &b"c\tm\n"[..]), "{}", ended.stderr);
    let lines: Vec<&str> = ended.stderr.lines().collect();
    let [lost, back, cut, back_again, subscribed] = lines[..] else { panic!("{lines:?}") };
    assert_eq!((lost, subscribed), ("goblin: connection lost; trying again", "goblin: subscribed to c"));
    assert_eq!(cut, "goblin: connection lost inside a message; trying again");
    assert!([back, back_again].iter().all(|line| line.starts_with("goblin: connected again after ")), "{lines:?}");
}

fn a_server_that_comes_back_with_another_password_ends_it() {
    let mut place = Place::start(&[]);
    let sub = Running::subscribed_at(place.port(), &["c"]);
    place.restart_with(&["--requirepass", "secret"]);
    let ended = sub.end();
    assert_eq!((ended.status, &*ended.stdout), (Some(3), &b""[..]), "{}", ended.stderr);
    assert!(ended.stderr.lines().last().is_some_and(|line| line.contains("NOAUTH")), "{}", ended.stderr);
}

fn a_time_that_ends_in_a_gap_is_a_lost_connection() {
    let mut place = Place::start(&[]);
    let sub = Running::subscribed_at(place.port(), &["c", "--timeout", "1.5"]);
    place.connect().ask("PUBLISH c m");
    place.stop();
    let ended = sub.end();
    assert_eq!((ended.status, &*ended.stdout), (Some(4), &b"c\tm\n"[..]), "{}", ended.stderr);
}
