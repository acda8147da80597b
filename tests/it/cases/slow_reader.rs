//! A subscriber that does not read: case C07.

use std::process::Command;
use std::sync::mpsc::sync_channel;
use std::time::Instant;

use crate::process::subscriber;
use crate::road::{Server, wait_for};
use crate::suite::{Need, Suite, tests};
use crate::wire::{Connection, WATCHDOG, shown};

/// Registers this module's tests.
pub fn tests(suite: &mut Suite) {
    tests!(suite, with_server, Need::Goblin;
        c07_a_slow_reader_is_cut_and_nobody_else_notices,
        c07_goblin_sub_prints_no_part_of_a_message,
    );
}

const MESSAGES: usize = 1000;
const MESSAGE_BYTES: usize = 100_000;

/// How far the healthy reader may be behind: far from any limit, so that it is never the machine that decides.
const AHEAD_MAX: usize = 50;

/// What a subscriber may fall behind by default.
const HARD_LIMIT_BYTES: usize = 32 << 20;

/// Message number `n`: its number, then filling.
fn message(n: usize) -> String {
    format!("{n:04}{}", "x".repeat(MESSAGE_BYTES - 4))
}

/// Publishes all messages while a healthy subscriber reads them all; answers how many got each.
fn publish_all(server: &Server) -> Vec<i64> {
    let mut healthy = server.connect();
    healthy.ask("SUBSCRIBE slow");
    let (read, ahead) = sync_channel(AHEAD_MAX);
    let reading = std::thread::spawn(move || {
        for n in 0..MESSAGES {
            assert!(healthy.value().items()[2].text() == message(n), "message {n} comes whole and in its turn");
            ahead.recv().expect("the publisher");
        }
        healthy
    });
    let mut publisher = server.connect();
    let receivers = (0..MESSAGES)
        .map(|n| {
            read.send(()).expect("the healthy reader");
            publisher.call(&["PUBLISH", "slow", &message(n)]).integer()
        })
        .collect();
    let mut healthy = reading.join().expect("the healthy reader");
    assert_eq!(publisher.call(&["PUBLISH", "slow", "after"]).integer(), 1, "the slow one is gone");
    assert_eq!(healthy.value().items()[2].text(), "after");
    receivers
}

/// A number of INFO.
fn fact(server: &Server, name: &str) -> usize {
    let info = server.connect().ask("INFO everything").text();
    let value = info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    value.unwrap_or_else(|| panic!("INFO lacks {name}")).parse().expect("a number")
}

fn c07_a_slow_reader_is_cut_and_nobody_else_notices(server: &Server) {
    let mut slow = Connection::tcp_with_room(server.address(), 4096);
    slow.ask("CLIENT SETNAME sleepy");
    let id = slow.ask("CLIENT ID").integer();
    slow.ask("SUBSCRIBE slow");
    let before = fact(server, "used_memory");
    let receivers = publish_all(server);
    let both = receivers.iter().filter(|&&receivers| receivers == 2).count();
    assert_eq!(receivers, [vec![2; both], vec![1; MESSAGES - both]].concat());

    // What was on its way when it was cut came whole or ends inside one message.
    let rest = slow.rest();
    let frame_bytes = b"*3\r\n$7\r\nmessage\r\n$4\r\nslow\r\n$100000\r\n\r\n".len() + MESSAGE_BYTES;
    for (n, frame) in rest.chunks(frame_bytes).enumerate() {
        let wanted = format!("*3\r\n$7\r\nmessage\r\n$4\r\nslow\r\n$100000\r\n{}\r\n", message(n));
        assert!(wanted.as_bytes().starts_with(frame), "message {n}: {}", shown(&frame[..frame.len().min(60)]));
    }
    let lost = fact(server, "pubsub_dropped_messages");
    let told = rest.len() / frame_bytes + lost;
    assert!((both..=both + 1).contains(&told), "{both} were queued for it, {told} are accounted for");
    assert!(fact(server, "pubsub_dropped_bytes") > HARD_LIMIT_BYTES);
    assert_eq!(fact(server, "client_output_buffer_limit_disconnections"), 1);
    assert_eq!(fact(server, "pubsub_dropped_subscribers"), 1);
    server.wait_for_line("sleepy");
    let log = server.log();
    let lines: Vec<&str> = log.lines().filter(|line| line.contains("sleepy")).collect();
    assert_eq!(lines.len(), 1, "one line says it: {log}");
    let says = [format!("id={id} "), HARD_LIMIT_BYTES.to_string(), format!(" {lost} messages")];
    says.iter().for_each(|text| assert!(lines[0].contains(text), "no {text:?} in: {}", lines[0]));

    let start = Instant::now();
    while fact(server, "used_memory") > before + (1 << 20) {
        assert!(start.elapsed() < WATCHDOG, "memory does not return: {before} before");
    }
}

fn c07_goblin_sub_prints_no_part_of_a_message(server: &Server) {
    let mut sub = subscriber(server, "slow");
    let signal = |name: &str| {
        let pid = sub.child.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &pid]).status().expect("run kill").success());
    };
    signal("STOP");
    let receivers = publish_all(server);
    assert_eq!((receivers[0], receivers[MESSAGES - 1]), (2, 1), "it is cut while it is stopped");
    signal("CONT");
    let status = wait_for(&mut sub.child);
    sub.log.wait(|_| false);
    let said = sub.log.text();
    assert_eq!(status.code(), Some(4), "its connection was lost");
    let (printed, notices): (Vec<&str>, Vec<&str>) = said.lines().partition(|line| line.starts_with("slow\t"));
    assert!(notices.iter().all(|line| line.starts_with("goblin: ")), "{}", shown(notices.concat().as_bytes()));
    assert!(!printed.is_empty() && printed.len() < MESSAGES, "it printed {} messages", printed.len());
    for (n, line) in printed.iter().enumerate() {
        assert!(line.strip_prefix("slow\t") == Some(&message(n)), "message {n} is {} bytes", line.len());
    }
}
