//! CLIENT GOBLIN-POLICY: what becomes of messages that a subscriber does not read in time.

use crate::demand;
use crate::road::Server;
use crate::suite::{Need, Suite, tests};
use crate::talk::Talk;
use crate::wire::{Connection, Value};

/// Registers this module's tests.
pub fn tests(suite: &mut Suite) {
    tests!(suite, on_every_road_to_a_server, Need::Goblin; policies_are_checked_and_shown);
    tests!(suite, with_server, Need::Goblin;
        who_does_not_read_misses_what_its_policy_says,
        who_reads_misses_nothing,
        replies_stand_behind_the_messages_before_them,
        others_are_still_cut,
    );
}

fn policies_are_checked_and_shown(talk: &mut Talk) {
    talk.transcript(
        r#"
        CLIENT GOBLIN-POLICY                        -> -ERR wrong number of arguments for 'client|goblin-policy' command
        CLIENT GOBLIN-POLICY nonsense               -> -ERR syntax error
        CLIENT GOBLIN-POLICY drop-oldest BYTES 0    -> -ERR BYTES should be a number greater than 0
        CLIENT GOBLIN-POLICY drop-oldest BYTES x    -> -ERR BYTES should be a number greater than 0
        CLIENT GOBLIN-POLICY disconnect BYTES 5     -> -ERR syntax error
        CLIENT GOBLIN-POLICY disconnect NOTICE      -> -ERR syntax error
        CLIENT GOBLIN-POLICY Conflate BYTES 1000    -> OK"#,
    );
    assert!(talk.ask("CLIENT INFO").text().contains(" policy=conflate dropped=0"));
    let notice = talk.ask("CLIENT GOBLIN-POLICY drop-newest NOTICE").to_string();
    let wanted = if talk.resp() == 2 { "-ERR NOTICE needs RESP3 or SBE" } else { "OK" };
    assert_eq!(notice, wanted);
    talk.transcript("CLIENT GOBLIN-POLICY DISCONNECT -> OK");
    assert!(!talk.ask("CLIENT INFO").text().contains(" policy="));
    talk.ask("CLIENT GOBLIN-POLICY DROP-OLDEST");
    talk.ask("RESET");
    assert!(!talk.ask("CLIENT INFO").text().contains(" policy="));
}

/// More than what lies between a server and a client that does not read.
const MESSAGES: usize = 3000;

fn subscriber(server: &Server, protocol: &str, policy: &str) -> Connection {
    let mut connection = match protocol {
        "ring" => demand::open(&server.socket()).into_sbe(),
        "sbe" => server.connect_unix().into_sbe(),
        _ => {
            let mut connection = server.connect_unix();
            connection.ask("HELLO 3");
            connection
        }
    };
    assert_eq!(connection.ask(&format!("CLIENT GOBLIN-POLICY {policy} BYTES 100000 NOTICE")).text(), "OK");
    connection.ask("SUBSCRIBE a b");
    connection.value();
    connection
}

/// Publishes numbers, on `a` and `b` in turn; answers how many deliveries were counted.
fn publish(admin: &mut Connection, count: usize) -> i64 {
    let filler = "x".repeat(1000);
    (0..count)
        .map(|at| {
            let channel = if at % 2 == 0 { "a" } else { "b" };
            admin.call(&["PUBLISH", channel, &format!("{at:06}{filler}")]).integer()
        })
        .sum()
}

/// What a subscriber is told until the last message or notice: numbers of messages, and how many each notice says.
fn told(subscriber: &mut Connection, total: usize) -> (Vec<usize>, Vec<usize>) {
    let (mut messages, mut gaps) = (Vec::new(), Vec::new());
    while messages.len() + gaps.iter().sum::<usize>() < total {
        let push = subscriber.value();
        let items = push.items();
        match items[0].text().as_str() {
            "goblin.dropped" => gaps.push(items[1].integer() as usize),
            "message" => messages.push(items[2].text()[..6].parse().expect("a number")),
            other => panic!("{other}"),
        }
    }
    (messages, gaps)
}

fn who_does_not_read_misses_what_its_policy_says(server: &Server) {
    let mut admin = server.connect();
    let mut lost = 0;
    for protocol in ["resp3", "sbe", "ring"] {
        for policy in ["drop-oldest", "drop-newest", "conflate"] {
            let mut slow = subscriber(server, protocol, policy);
            let counted = publish(&mut admin, MESSAGES);
            let list = admin.ask("CLIENT LIST").text();
            let line = list.lines().find(|line| line.contains(&format!(" policy={policy} "))).expect("its line");
            let dropped = line.split("dropped=").nth(1).expect("a number").split(' ').next().expect("a number");
            let dropped: usize = dropped.parse().expect("a number");
            let (messages, gaps) = told(&mut slow, MESSAGES);
            let about = format!("{protocol} {policy}: {} told, gaps {gaps:?}, {dropped} dropped", messages.len());
            assert!(messages.is_sorted() && messages.len() > 2, "{about}");
            assert_eq!((gaps.len(), gaps.iter().sum::<usize>()), (1, dropped), "{about}");
            assert!(dropped > MESSAGES / 4, "{about}");
            lost += dropped;
            // What is at the end depends on the policy.
            let last = *messages.last().expect("some");
            match policy {
                "drop-newest" => assert!(last < MESSAGES - 1 && counted == messages.len() as i64, "{about}"),
                _ => assert!(last == MESSAGES - 1 && counted == MESSAGES as i64, "{about}"),
            }
            if policy == "conflate" {
                // One of each channel is what waited.
                assert_eq!(messages[messages.len() - 2..], [MESSAGES - 2, MESSAGES - 1], "{about}");
            }
            let stats = admin.ask("INFO pubsub").text();
            assert!(stats.contains(&format!("pubsub_dropped_messages:{lost}\r\n")), "{about}: {stats}");
        }
    }
}

fn who_reads_misses_nothing(server: &Server) {
    let mut admin = server.connect();
    for protocol in ["resp3", "sbe", "ring"] {
        let mut reader = subscriber(server, protocol, "drop-oldest");
        for round in 0..50 {
            publish(&mut admin, 40);
            assert_eq!(told(&mut reader, 40), ((0..40).collect(), vec![]), "{protocol}, round {round}");
        }
    }
}

fn replies_stand_behind_the_messages_before_them(server: &Server) {
    let mut admin = server.connect();
    for protocol in ["resp3", "sbe", "ring"] {
        let mut slow = subscriber(server, protocol, "drop-oldest");
        publish(&mut admin, MESSAGES);
        slow.request(&["UNSUBSCRIBE", "a", "b"]);
        let (messages, gaps) = told(&mut slow, MESSAGES);
        assert!(!gaps.is_empty() && messages.last() == Some(&(MESSAGES - 1)), "{protocol}");
        // Nothing comes behind the end of a subscription.
        publish(&mut admin, 10);
        for name in ["a", "b"] {
            let answer = slow.value();
            assert_eq!((answer.items()[0].text(), answer.items()[1].text()), ("unsubscribe".into(), name.into()));
        }
        assert_eq!(slow.ask("PING").text(), "PONG", "{protocol}");
    }
}

fn others_are_still_cut(server: &Server) {
    let mut admin = server.connect();
    assert_eq!(admin.call(&["CONFIG", "SET", "client-output-buffer-limit", "pubsub 1mb 0 0"]).text(), "OK");
    let mut cut = server.connect_unix();
    cut.ask("SUBSCRIBE a");
    let mut kept = subscriber(server, "resp3", "drop-oldest");
    // Its own bound is above the server's, which holds.
    assert_eq!(kept.ask("CLIENT GOBLIN-POLICY drop-oldest BYTES 100000000").text(), "OK");
    publish(&mut admin, MESSAGES);
    while admin.ask("CLIENT LIST").text().lines().filter(|line| line.contains(" sub=1 ")).count() > 0 {}
    let list = admin.ask("CLIENT LIST").text();
    let line = list.lines().find(|line| line.contains(" policy=drop-oldest ")).expect("its line");
    let waiting = line.split("omem=").nth(1).expect("a number").split(' ').next().expect("a number");
    assert!(waiting.parse::<usize>().expect("a number") <= 1 << 20, "{line}");
    // Without a notice, only its number of messages tells.
    let mut numbers = Vec::new();
    while numbers.last() != Some(&(MESSAGES - 1)) {
        let push = kept.value();
        numbers.push(push.items()[2].text()[..6].parse::<usize>().expect("a number"));
    }
    assert!(numbers.is_sorted() && numbers.len() < MESSAGES && !matches!(kept.ask("PING"), Value::Push(_)));
}
