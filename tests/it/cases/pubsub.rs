//! Publish and subscribe: cases C01 to C21 and C32.

use std::time::Instant;

use crate::protocol::Random;
use crate::road::Server;
use crate::suite::{Need, Suite, tests};
use crate::talk::Talk;
use crate::wire::{Connection, Value, WATCHDOG, frame};

/// Registers this module's tests.
pub fn tests(suite: &mut Suite) {
    tests!(suite, on_every_road, Need::Nothing;
        c02_leaving_names_never_joined_answers_per_name,
        c03_counts_run_over_channels_and_patterns,
        c05_pubsub_subcommands_count_what_they_say,
        c06_overlapping_subscriptions_deliver_twice,
        c15_subscribed_mode_refuses_in_resp2,
        c17_reset_and_quit_leave_the_mode,
        c20_messages_of_every_size_arrive_whole,
        c21_set_commands_notify_exactly_once,
    );
    tests!(suite, on_every_resp_road, Need::Nothing;
        c01_leaving_with_nothing_to_leave_answers_once,
        c14_publishing_while_subscribed_works_in_resp3,
        c16_ping_has_a_form_per_mode,
        c19_reply_off_keeps_messages,
    );
    tests!(suite, on_every_road, Need::Goblin;
        c18_subscribing_inside_multi_is_refused,
    );
    tests!(suite, on_every_resp_road, Need::Goblin;
        c12_a_push_never_lands_inside_exec,
        c13_a_commands_own_push_follows_its_reply,
    );
    tests!(suite, with_server, Need::Nothing; c08_many_patterns_still_deliver_right, c32_subscribers_killed_during_a_fan_out);
    tests!(suite, with_server, Need::Goblin; c09_backtracking_patterns_cost_little, c11_class_times_length_costs_little);
}

fn c01_leaving_with_nothing_to_leave_answers_once(talk: &mut Talk) {
    let (head, nil): (&[u8], &[u8]) = if talk.resp() == 3 { (b">", b"_\r\n") } else { (b"*", b"$-1\r\n") };
    let connection = talk.on('A');
    for (command, len) in [("UNSUBSCRIBE", 11), ("PUNSUBSCRIBE", 12), ("SUNSUBSCRIBE", 12)] {
        let name = format!("3\r\n${len}\r\n{}\r\n", command.to_lowercase());
        let wanted = [head, name.as_bytes(), nil, b":0\r\n"].concat();
        connection.exchange(format!("{command}\r\n").as_bytes(), &wanted);
        connection.exchange(b"PING\r\n", b"+PONG\r\n");
    }
}

fn c02_leaving_names_never_joined_answers_per_name(talk: &mut Talk) {
    talk.transcript(
        r#"
        SET k v               -> OK
        UNSUBSCRIBE a b       -> ["unsubscribe", "a", 0]
        A< ["unsubscribe", "b", 0]
        GET k                 -> "v"
        "#,
    );
}

fn c03_counts_run_over_channels_and_patterns(talk: &mut Talk) {
    talk.transcript(
        r#"
        SUBSCRIBE a a         -> ["subscribe", "a", 1]
        A< ["subscribe", "a", 1]
        PSUBSCRIBE a*         -> ["psubscribe", "a*", 2]
        SSUBSCRIBE s          -> ["ssubscribe", "s", 1]
        UNSUBSCRIBE           -> ["unsubscribe", "a", 1]
        GET k                 ->2 -ERR Can't execute 'get'...
        "#,
    );
}

fn c05_pubsub_subcommands_count_what_they_say(talk: &mut Talk) {
    talk.transcript(
        r#"
        SUBSCRIBE a           -> ["subscribe", "a", 1]
        PSUBSCRIBE a*         -> ["psubscribe", "a*", 2]
        C> PSUBSCRIBE a*      -> ["psubscribe", "a*", 1]
        SSUBSCRIBE s          -> ["ssubscribe", "s", 1]
        B> PUBSUB NUMSUB a b  -> ["a", 1, "b", 0]
        B> PUBSUB NUMSUB      -> []
        B> PUBSUB NUMPAT      -> 1
        B> PUBSUB CHANNELS    -> ["a"]
        B> PUBSUB CHANNELS a? -> []
        B> PUBSUB SHARDCHANNELS       -> ["s"]
        B> PUBSUB NUMPAT x    -> -ERR...
        B> PUBSUB FOO         -> -ERR...
        "#,
    );
}

fn c06_overlapping_subscriptions_deliver_twice(talk: &mut Talk) {
    talk.transcript(
        r#"
        SUBSCRIBE a           -> ["subscribe", "a", 1]
        PSUBSCRIBE a*         -> ["psubscribe", "a*", 2]
        B> PUBLISH a x        -> 2
        A< ["message", "a", "x"]
        A< ["pmessage", "a*", "a", "x"]
        "#,
    );
}

fn c12_a_push_never_lands_inside_exec(talk: &mut Talk) {
    if talk.resp() == 2 {
        return;
    }
    talk.transcript("SUBSCRIBE a -> [\"subscribe\", \"a\", 1]");
    talk.on('A').exchange(
        b"MULTI\r\nPING\r\nPUBLISH a m\r\nPING\r\nEXEC\r\nPING\r\n",
        b"+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n*3\r\n+PONG\r\n:1\r\n+PONG\r\n\
          >3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\nm\r\n+PONG\r\n",
    );
}

fn c13_a_commands_own_push_follows_its_reply(talk: &mut Talk) {
    if talk.resp() == 2 {
        return;
    }
    talk.transcript("SUBSCRIBE a -> [\"subscribe\", \"a\", 1]\nPSUBSCRIBE a* -> [\"psubscribe\", \"a*\", 2]");
    let pushes =
        b">3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\nx\r\n>4\r\n$8\r\npmessage\r\n$2\r\na*\r\n$1\r\na\r\n$1\r\nx\r\n";
    // Also within one batch: each command's pushes come before the next command's reply.
    talk.on('A').exchange(
        b"PUBLISH a x\r\nPING\r\nPUBLISH a x\r\n",
        &[b":2\r\n", &pushes[..], b"+PONG\r\n:2\r\n", pushes].concat(),
    );
}

fn c14_publishing_while_subscribed_works_in_resp3(talk: &mut Talk) {
    if talk.resp() == 2 {
        return;
    }
    talk.transcript("SUBSCRIBE a -> [\"subscribe\", \"a\", 1]");
    talk.on('A').request(&["PUBLISH", "a", "x"]);
    let both = [talk.on('A').value(), talk.on('A').value()];
    assert!(both.contains(&Value::Integer(1)) && both.iter().any(|value| matches!(value, Value::Push(_))), "{both:?}");
    talk.transcript("SADD s 1 -> 1\nSET k v -> OK\nGET k -> \"v\"");
    talk.ask("HELLO 2");
    talk.transcript("GET k -> -ERR Can't execute 'get'...");
}

fn c15_subscribed_mode_refuses_in_resp2(talk: &mut Talk) {
    talk.transcript(
        r#"
        SUBSCRIBE a           -> ["subscribe", "a", 1]
        GET k                 ->2 -ERR Can't execute 'get': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context
        HELLO 3               ->2 -ERR Can't execute 'hello'...
        "#,
    );
}

fn c16_ping_has_a_form_per_mode(talk: &mut Talk) {
    talk.transcript("SUBSCRIBE a -> [\"subscribe\", \"a\", 1]");
    let resp = talk.resp();
    let connection = talk.on('A');
    match resp {
        2 => {
            connection.exchange(b"PING\r\n", b"*2\r\n$4\r\npong\r\n$0\r\n\r\n");
            connection.exchange(b"PING hi\r\n", b"*2\r\n$4\r\npong\r\n$2\r\nhi\r\n");
        }
        _ => connection.exchange(b"PING\r\nPING hi\r\n", b"+PONG\r\n$2\r\nhi\r\n"),
    }
}

fn c17_reset_and_quit_leave_the_mode(talk: &mut Talk) {
    talk.transcript(
        r#"
        SUBSCRIBE a               -> ["subscribe", "a", 1]
        RESET                     -> RESET
        GET k                     -> nil
        B> PUBSUB NUMSUB a        -> ["a", 0]
        SUBSCRIBE a               -> ["subscribe", "a", 1]
        QUIT                      -> OK
        "#,
    );
    talk.on('A').expect_closed();
}

fn c18_subscribing_inside_multi_is_refused(talk: &mut Talk) {
    for refused in
        ["SUBSCRIBE c1 c2 c3", "PSUBSCRIBE c*", "SSUBSCRIBE s", "UNSUBSCRIBE", "UNSUBSCRIBE a b", "PUNSUBSCRIBE"]
    {
        talk.check("MULTI", "OK");
        assert!(talk.ask(refused).is_error(), "{refused}");
        talk.transcript(
            r#"
            SET k v       -> QUEUED
            GET k         -> QUEUED
            EXEC          -> -EXECABORT Transaction discarded because of previous errors.
            EXISTS k      -> 0
            PUBSUB CHANNELS       -> []
            PUBSUB NUMPAT -> 0
            PING          -> PONG
            "#,
        );
    }
    talk.transcript(
        r#"
        MULTI             -> OK
        UNSUBSCRIBE a     -> QUEUED
        PUNSUBSCRIBE b    -> QUEUED
        SUNSUBSCRIBE c    -> QUEUED
        EXEC              -> [["unsubscribe", "a", 0], ["punsubscribe", "b", 0], ["sunsubscribe", "c", 0]]
        PING              -> PONG
        "#,
    );
}

fn c19_reply_off_keeps_messages(talk: &mut Talk) {
    if talk.resp() == 2 {
        return;
    }
    talk.on('A').send(b"CLIENT REPLY OFF\r\nSUBSCRIBE q\r\n");
    while talk.on('B').ask("PUBLISH q hi").integer() == 0 {}
    loop {
        let message = talk.on('A').value().items();
        if message[0].text() == "message" {
            assert_eq!(message[2].text(), "hi");
            break;
        }
    }
}

fn c20_messages_of_every_size_arrive_whole(talk: &mut Talk) {
    // The largest is more than a subscriber may fall behind by default.
    talk.transcript(
        r#"
        B> CONFIG SET client-output-buffer-limit "pubsub 0 0 0"   -> OK
        SUBSCRIBE ch ""                                           -> ["subscribe", "ch", 1]
        A< ["subscribe", "", 2]
        B> PUBLISH "" ""                                          -> 1
        A< ["message", "", ""]
        "#,
    );
    let sizes = [0, 1, 16_383, 16_384, 16_385, 65_535, 65_536, 65_537, 131_060, 131_061, 131_062, 1 << 20, 64 << 20];
    for size in sizes {
        let payload: Vec<u8> = (0..size).map(|n| (n % 253) as u8).collect();
        assert_eq!(talk.on('B').call(&[&b"PUBLISH"[..], b"ch", &payload]).integer(), 1);
        talk.transcript("B> PUBLISH ch x -> 1");
        let items = talk.on('A').value().items();
        assert!(items[2].bytes() == &payload[..], "{size} bytes arrive whole");
        talk.transcript("A< [\"message\", \"ch\", \"x\"]");
    }
}

fn c21_set_commands_notify_exactly_once(talk: &mut Talk) {
    talk.transcript(
        r#"
        B> CONFIG SET notify-keyspace-events KEA  -> OK
        A> PSUBSCRIBE __keyevent@0__:*            -> ["psubscribe", "__keyevent@0__:*", 1]
        "#,
    );
    let steps: &[(&str, &[&str])] = &[
        ("SADD s a b", &["sadd s"]),
        ("SADD s a", &[]),
        ("SREM s zz", &[]),
        ("SPOP s", &["spop s"]),
        ("SREM s a b", &["srem s", "del s"]),
        ("SADD s x", &["sadd s"]),
        ("SPOP s", &["spop s", "del s"]),
        ("SADD p 1", &["sadd p"]),
        ("SMOVE p q 1", &["srem p", "del p", "sadd q"]),
        ("SINTERSTORE q nx ny", &["del q"]),
        ("SUNIONSTORE absent nx ny", &[]),
        ("SET t v", &["set t"]),
        ("EXPIRE t -1", &["del t"]),
    ];
    for (command, wanted) in steps {
        let reply = talk.on('B').call(&crate::talk::words(command));
        assert!(!reply.is_error(), "{command}: {reply}");
        talk.on('B').ask("PUBLISH __keyevent@0__:end x");
        let mut got = Vec::new();
        loop {
            let message = talk.on('A').value().items();
            let event = message[2].text().trim_start_matches("__keyevent@0__:").to_owned();
            if event == "end" {
                break;
            }
            got.push(format!("{event} {}", message[3].text()));
        }
        assert_eq!(got, *wanted, "{command}");
    }
}

fn c08_many_patterns_still_deliver_right(server: &Server) {
    let mut subscriber = server.connect();
    let mut requests = Vec::new();
    for n in 0..5000 {
        requests.extend_from_slice(&frame(&["PSUBSCRIBE", &format!("p{n}.*")]));
    }
    subscriber.send(&requests);
    for n in 0..5000 {
        assert_eq!(subscriber.value().items()[2].integer(), n + 1);
    }
    let mut publisher = server.connect();
    for n in (0..5000).step_by(97) {
        assert_eq!(publisher.call(&["PUBLISH", "zzz.q", "m"]).integer(), 0);
        assert_eq!(publisher.call(&["PUBLISH", &format!("p{n}.x"), "m"]).integer(), 1);
        assert_eq!(subscriber.value().items()[1].text(), format!("p{n}.*"));
    }
    let mut same: Vec<Connection> = (0..50).map(|_| server.connect()).collect();
    same.iter_mut().for_each(|connection| drop(connection.ask("PSUBSCRIBE same.*")));
    assert_eq!(publisher.ask("PUBSUB NUMPAT").integer(), 5001);
    assert_eq!(publisher.ask("PUBLISH same.x m").integer(), 50);
    same.iter_mut().for_each(|connection| assert_eq!(connection.value().items()[3].text(), "m"));
}

/// A hundred times the 20 ms a hostile pattern may cost.
const PATTERN_WATCHDOG_MS: u128 = 2000;

fn c09_backtracking_patterns_cost_little(server: &Server) {
    let pattern = format!("{}a", "a*".repeat(30));
    let channel = format!("{}b", "a".repeat(64));
    let mut subscriber = server.connect();
    subscriber.call(&["PSUBSCRIBE", &pattern]);
    let mut connection = server.connect();
    connection.call(&["SET", &channel, "v"]);
    connection.call(&["SADD", "s", &channel]);
    subscriber.call(&["SUBSCRIBE", &channel]);
    let start = Instant::now();
    assert_eq!(connection.call(&["PUBLISH", &channel, "m"]).integer(), 1, "the channel alone");
    assert!(connection.call(&["PUBSUB", "CHANNELS", &pattern]).items().is_empty());
    assert!(connection.call(&["KEYS", &pattern]).items().is_empty());
    connection.call(&["SCAN", "0", "MATCH", &pattern]);
    assert!(connection.call(&["SSCAN", "s", "0", "MATCH", &pattern]).items()[1].items().is_empty());
    assert!(start.elapsed().as_millis() < PATTERN_WATCHDOG_MS, "{:?}", start.elapsed());
}

fn c11_class_times_length_costs_little(server: &Server) {
    let pattern = format!("*[{}]", "z".repeat(40_000));
    let channel = "a".repeat(40_000);
    let mut subscriber = server.connect();
    // Refusing the pattern for its length would be right as well.
    subscriber.call(&["PSUBSCRIBE", &pattern]);
    let start = Instant::now();
    assert_eq!(server.connect().call(&["PUBLISH", &channel, "m"]).integer(), 0);
    assert!(start.elapsed().as_millis() < PATTERN_WATCHDOG_MS, "{:?}", start.elapsed());
}

fn c32_subscribers_killed_during_a_fan_out(server: &Server) {
    let mut victim = server.connect();
    let id = victim.ask("CLIENT ID").integer();
    victim.ask("SSUBSCRIBE c");
    victim.ask("SUBSCRIBE c");
    let mut killer = server.connect();
    killer
        .send(format!("MULTI\r\nSET k v\r\nCLIENT KILL ID {id}\r\nPUBLISH c x\r\nSPUBLISH c x\r\nEXEC\r\n").as_bytes());
    (0..5).for_each(|_| drop(killer.value()));
    let replies = killer.value().items();
    assert_eq!((&replies[0], &replies[1]), (&Value::Status("OK".into()), &Value::Integer(1)), "{replies:?}");
    // The same from a connection that kills itself.
    let own = killer.ask("CLIENT ID").integer();
    killer.ask("SUBSCRIBE c");
    let mut suicidal = server.connect();
    let suicidal_id = suicidal.ask("CLIENT ID").integer();
    suicidal.ask("HELLO 3");
    suicidal.ask("SUBSCRIBE c");
    suicidal.send(format!("MULTI\r\nCLIENT KILL ID {suicidal_id} SKIPME no\r\nPUBLISH c y\r\nEXEC\r\n").as_bytes());
    suicidal.rest();
    assert_eq!(server.connect().ask(&format!("CLIENT KILL ID {own}")).integer(), 1);

    let publishing: Vec<_> = (0..2)
        .map(|publisher| {
            let mut connection = server.connect();
            std::thread::spawn(move || {
                for n in 0..3000 {
                    connection.call(&["PUBLISH", "storm", &format!("{publisher}:{n}")]);
                    connection.call(&["SPUBLISH", "storm", "x"]);
                }
            })
        })
        .collect();
    let mut random = Random::new(32);
    let mut admin = server.connect();
    let mut subscribers: Vec<(Connection, i64)> = Vec::new();
    while !publishing.iter().all(std::thread::JoinHandle::is_finished) {
        while subscribers.len() < 100 {
            let mut connection = server.connect();
            let id = connection.ask("CLIENT ID").integer();
            connection.send(b"SUBSCRIBE storm\r\nPSUBSCRIBE st*\r\nSSUBSCRIBE storm\r\n");
            subscribers.push((connection, id));
        }
        for _ in 0..20 {
            let (_connection, id) = subscribers.swap_remove(random.below(subscribers.len()));
            if random.below(2) == 0 {
                admin.ask(&format!("CLIENT KILL ID {id}"));
            }
        }
    }
    publishing.into_iter().for_each(|publisher| publisher.join().expect("a publisher"));
    drop(subscribers);
    let start = Instant::now();
    loop {
        let left = admin.ask("PUBSUB NUMSUB storm").items()[1].integer() + admin.ask("PUBSUB NUMPAT").integer();
        let shards = admin.ask("PUBSUB SHARDNUMSUB storm").items()[1].integer();
        if left + shards == 0 {
            break;
        }
        assert!(start.elapsed() < WATCHDOG, "stuck subscriptions: {left} and {shards}");
    }
    assert_eq!(admin.ask("PUBSUB CHANNELS").items().len(), 0);
}
