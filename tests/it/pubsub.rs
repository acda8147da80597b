//! Publish and subscribe: confirmations, deliveries, counts, keyspace notifications, slow readers.

use std::sync::Arc;

use crate::road::{Program, Road, Server};
use crate::suite::{Need, Suite, tests};
use crate::talk::Talk;
use crate::wire::{Connection, Value, frame, shown};

/// Registers this module's tests.
pub fn tests(suite: &mut Suite) {
    tests!(suite, on_every_road, Need::Nothing;
        publish_counts_its_receivers,
        patterns_receive_what_they_match,
        a_client_gets_each_overlapping_subscription,
        sharded_channels_are_a_namespace_of_their_own,
        confirmations_count_channels_and_patterns,
        leaving_everything_answers_per_name,
        subscribed_mode_refuses_other_commands_in_resp2_only,
        introspection_lists_channels_and_counts,
        arity_and_subcommands_are_checked,
        a_closed_connection_leaves_its_channels,
        one_client_may_join_thousands_of_channels,
        keyspace_events_say_what_changed,
        keyspace_events_follow_their_flags,
        expiry_notifies,
    );
    tests!(suite, on_every_resp_road, Need::Nothing;
        frames_are_exact_bytes,
        messages_arrive_in_the_order_published,
    );
    tests!(suite, with_server, Need::Nothing;
        a_reader_that_stalls_is_cut_and_nobody_else_notices,
        soft_limit_cuts_after_its_seconds_only,
    );
    tests!(suite, with_server, Need::Goblin; a_cut_reader_is_counted_and_logged, a_soft_limit_counts_anew_after_a_drain);
    let reference = Program::reference().map(|_| ()).ok_or("no redis-server 8.2.3 is here".to_owned());
    tests!(suite, plain, Need::Present(reference); the_same_script_gets_the_same_frames_from_redis);
}

fn publish_counts_its_receivers(talk: &mut Talk) {
    talk.transcript(
        r#"
        B> PUBLISH a x            -> 0
        A> SUBSCRIBE a            -> ["subscribe", "a", 1]
        C> SUBSCRIBE a            -> ["subscribe", "a", 1]
        B> PUBLISH a "hello you"  -> 2
        A< ["message", "a", "hello you"]
        C< ["message", "a", "hello you"]
        A> UNSUBSCRIBE a          -> ["unsubscribe", "a", 0]
        B> PUBLISH a y            -> 1
        C< ["message", "a", "y"]
        B> PUBLISH "" ""          -> 0
        C> SUBSCRIBE ""           -> ["subscribe", "", 2]
        B> PUBLISH "" ""          -> 1
        C< ["message", "", ""]
        A> PING                   -> PONG
        "#,
    );
}

fn patterns_receive_what_they_match(talk: &mut Talk) {
    talk.transcript(
        r#"
        A> PSUBSCRIBE news.*      -> ["psubscribe", "news.*", 1]
        B> PUBLISH news.art 1     -> 1
        A< ["pmessage", "news.*", "news.art", "1"]
        B> PUBLISH old.art 1      -> 0
        A> PSUBSCRIBE h[ae]llo    -> ["psubscribe", "h[ae]llo", 2]
        B> PUBLISH hallo x        -> 1
        A< ["pmessage", "h[ae]llo", "hallo", "x"]
        B> PUBLISH hillo x        -> 0
        A> PUNSUBSCRIBE news.*    -> ["punsubscribe", "news.*", 1]
        B> PUBLISH news.art 2     -> 0
        A> PSUBSCRIBE \*          -> ["psubscribe", "\\*", 2]
        B> PUBLISH * star         -> 1
        A< ["pmessage", "\\*", "*", "star"]
        B> PUBLISH x star         -> 0
        "#,
    );
}

fn a_client_gets_each_overlapping_subscription(talk: &mut Talk) {
    talk.transcript(
        r#"
        A> SUBSCRIBE abc          -> ["subscribe", "abc", 1]
        A> PSUBSCRIBE a*          -> ["psubscribe", "a*", 2]
        A> PSUBSCRIBE *c          -> ["psubscribe", "*c", 3]
        A> PSUBSCRIBE a*          -> ["psubscribe", "a*", 3]
        B> PUBLISH abc x          -> 3
        A< ["message", "abc", "x"]
        "#,
    );
    let mut patterns: Vec<String> = (0..2).map(|_| talk.on('A').value().items()[1].text()).collect();
    patterns.sort();
    assert_eq!(patterns, ["*c", "a*"]);
}

fn sharded_channels_are_a_namespace_of_their_own(talk: &mut Talk) {
    talk.transcript(
        r#"
        A> SSUBSCRIBE s           -> ["ssubscribe", "s", 1]
        A> SUBSCRIBE s            -> ["subscribe", "s", 1]
        B> SPUBLISH s shard       -> 1
        A< ["smessage", "s", "shard"]
        B> PUBLISH s plain        -> 1
        A< ["message", "s", "plain"]
        B> PUBSUB SHARDCHANNELS   -> ["s"]
        B> PUBSUB SHARDNUMSUB s t -> ["s", 1, "t", 0]
        A> SUNSUBSCRIBE           -> ["sunsubscribe", "s", 0]
        B> SPUBLISH s again       -> 0
        B> PUBSUB SHARDCHANNELS   -> []
        A> SUNSUBSCRIBE           -> ["sunsubscribe", nil, 0]
        "#,
    );
}

fn confirmations_count_channels_and_patterns(talk: &mut Talk) {
    talk.transcript(
        r#"
        SUBSCRIBE a b a           -> ["subscribe", "a", 1]
        A< ["subscribe", "b", 2]
        A< ["subscribe", "a", 2]
        PSUBSCRIBE p*             -> ["psubscribe", "p*", 3]
        SSUBSCRIBE s              -> ["ssubscribe", "s", 1]
        UNSUBSCRIBE b nothere     -> ["unsubscribe", "b", 2]
        A< ["unsubscribe", "nothere", 2]
        PUNSUBSCRIBE              -> ["punsubscribe", "p*", 1]
        UNSUBSCRIBE               -> ["unsubscribe", "a", 0]
        "#,
    );
}

fn leaving_everything_answers_per_name(talk: &mut Talk) {
    talk.on('A').request(&["SUBSCRIBE", "a", "b", "c"]);
    (0..3).for_each(|_| drop(talk.on('A').value()));
    talk.on('A').request(&["UNSUBSCRIBE"]);
    let replies: Vec<Vec<Value>> = (0..3).map(|_| talk.on('A').value().items()).collect();
    let mut names: Vec<String> = replies.iter().map(|reply| reply[1].text()).collect();
    names.sort();
    assert_eq!(names, ["a", "b", "c"]);
    assert_eq!(replies.iter().map(|reply| reply[2].integer()).collect::<Vec<_>>(), [2, 1, 0]);
    talk.check("PING", "PONG");
}

fn subscribed_mode_refuses_other_commands_in_resp2_only(talk: &mut Talk) {
    talk.transcript(
        r#"
        SET k v           -> OK
        SUBSCRIBE a       -> ["subscribe", "a", 1]
        GET k             ->3 "v"
        SADD s x          ->3 1
        PING              ->3 PONG
        PING hi           ->3 "hi"
        MULTI             ->3 OK
        GET k             ->3 QUEUED
        EXEC              ->3 ["v"]
        GET k             ->2 -ERR Can't execute 'get': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context
        CLIENT ID         ->2 -ERR Can't execute 'client|id': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context
        MULTI             ->2 -ERR Can't execute 'multi': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context
        HELLO 3           ->2 -ERR Can't execute 'hello': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context
        NOSUCH            -> -ERR unknown command 'NOSUCH', with args beginning with:...
        GET               -> -ERR wrong number of arguments for 'get' command
        PING              ->2 ["pong", ""]
        PING hi           ->2 ["pong", "hi"]
        PING a b          -> -ERR wrong number of arguments for 'ping' command
        PSUBSCRIBE b*     -> ["psubscribe", "b*", 2]
        UNSUBSCRIBE a     -> ["unsubscribe", "a", 1]
        GET k             ->2 -ERR Can't execute 'get'...
        PUNSUBSCRIBE b*   -> ["punsubscribe", "b*", 0]
        GET k             -> "v"
        SSUBSCRIBE s      -> ["ssubscribe", "s", 1]
        GET k             ->2 -ERR Can't execute 'get'...
        RESET             -> RESET
        GET k             -> "v"
        B> PUBSUB SHARDCHANNELS   -> []
        "#,
    );
}

fn frames_are_exact_bytes(talk: &mut Talk) {
    let head: &[u8] = if talk.resp() == 3 { b">" } else { b"*" };
    let nil: &[u8] = if talk.resp() == 3 { b"_\r\n" } else { b"$-1\r\n" };
    let frame = |rest: &[u8]| [head, rest].concat();
    let a = talk.on('A');
    a.exchange(b"UNSUBSCRIBE\r\n", &[head, b"3\r\n$11\r\nunsubscribe\r\n", nil, b":0\r\n"].concat());
    a.exchange(b"PUNSUBSCRIBE\r\n", &[head, b"3\r\n$12\r\npunsubscribe\r\n", nil, b":0\r\n"].concat());
    a.exchange(b"SUNSUBSCRIBE\r\n", &[head, b"3\r\n$12\r\nsunsubscribe\r\n", nil, b":0\r\n"].concat());
    a.exchange(b"SUBSCRIBE ch\r\n", &frame(b"3\r\n$9\r\nsubscribe\r\n$2\r\nch\r\n:1\r\n"));
    a.exchange(b"PSUBSCRIBE c*\r\n", &frame(b"3\r\n$10\r\npsubscribe\r\n$2\r\nc*\r\n:2\r\n"));
    a.exchange(b"SSUBSCRIBE s\r\n", &frame(b"3\r\n$10\r\nssubscribe\r\n$1\r\ns\r\n:1\r\n"));
    talk.transcript("B> PUBLISH ch x -> 2\nB> SPUBLISH s y -> 1");
    let a = talk.on('A');
    a.expect(&frame(b"3\r\n$7\r\nmessage\r\n$2\r\nch\r\n$1\r\nx\r\n"));
    a.expect(&frame(b"4\r\n$8\r\npmessage\r\n$2\r\nc*\r\n$2\r\nch\r\n$1\r\nx\r\n"));
    a.expect(&frame(b"3\r\n$8\r\nsmessage\r\n$1\r\ns\r\n$1\r\ny\r\n"));
    a.exchange(b"UNSUBSCRIBE ch\r\n", &frame(b"3\r\n$11\r\nunsubscribe\r\n$2\r\nch\r\n:1\r\n"));
    a.exchange(b"PUNSUBSCRIBE c*\r\n", &frame(b"3\r\n$12\r\npunsubscribe\r\n$2\r\nc*\r\n:0\r\n"));
    a.exchange(b"SUNSUBSCRIBE s\r\n", &frame(b"3\r\n$12\r\nsunsubscribe\r\n$1\r\ns\r\n:0\r\n"));
}

fn introspection_lists_channels_and_counts(talk: &mut Talk) {
    talk.transcript(
        r#"
        A> SUBSCRIBE a            -> ["subscribe", "a", 1]
        A> SUBSCRIBE bb           -> ["subscribe", "bb", 2]
        C> SUBSCRIBE bb           -> ["subscribe", "bb", 1]
        C> PSUBSCRIBE x*          -> ["psubscribe", "x*", 2]
        A> PSUBSCRIBE x*          -> ["psubscribe", "x*", 3]
        B> PUBSUB CHANNELS        -> {"a", "bb"}
        B> PUBSUB CHANNELS b*     -> ["bb"]
        B> PUBSUB CHANNELS zz     -> []
        B> PUBSUB NUMSUB          -> []
        B> PUBSUB NUMSUB a bb zz  -> ["a", 1, "bb", 2, "zz", 0]
        B> PUBSUB NUMPAT          -> 1
        B> PUBSUB SHARDNUMSUB     -> []
        "#,
    );
    talk.hang_up('C');
    while talk.on('B').ask("PUBSUB NUMSUB bb").items()[1].integer() == 2 {}
    talk.transcript("B> PUBSUB NUMPAT -> 1\nB> PUBSUB NUMSUB bb -> [\"bb\", 1]");
}

fn arity_and_subcommands_are_checked(talk: &mut Talk) {
    talk.transcript(
        r#"
        SUBSCRIBE             -> -ERR wrong number of arguments for 'subscribe' command
        PSUBSCRIBE            -> -ERR wrong number of arguments for 'psubscribe' command
        SSUBSCRIBE            -> -ERR wrong number of arguments for 'ssubscribe' command
        PUBLISH a             -> -ERR wrong number of arguments for 'publish' command
        PUBLISH a b c         -> -ERR wrong number of arguments for 'publish' command
        SPUBLISH a            -> -ERR wrong number of arguments for 'spublish' command
        PUBSUB                -> -ERR wrong number of arguments for 'pubsub' command
        PUBSUB NOPE           -> -ERR unknown subcommand 'NOPE'. Try PUBSUB HELP.
        PUBSUB NUMPAT x       -> -ERR wrong number of arguments for 'pubsub|numpat' command
        PUBSUB CHANNELS a b   -> -ERR unknown subcommand or wrong number of arguments for 'CHANNELS'. Try PUBSUB HELP.
        "#,
    );
}

fn a_closed_connection_leaves_its_channels(talk: &mut Talk) {
    talk.transcript(
        r#"
        A> SUBSCRIBE a            -> ["subscribe", "a", 1]
        A> PSUBSCRIBE p*          -> ["psubscribe", "p*", 2]
        A> SSUBSCRIBE s           -> ["ssubscribe", "s", 1]
        B> PUBLISH a x            -> 1
        "#,
    );
    talk.hang_up('A');
    while talk.on('B').ask("PUBSUB NUMPAT").integer() > 0 {}
    talk.transcript(
        r#"
        B> PUBSUB CHANNELS        -> []
        B> PUBSUB SHARDCHANNELS   -> []
        B> PUBLISH a x            -> 0
        B> SPUBLISH s x           -> 0
        "#,
    );
}

fn messages_arrive_in_the_order_published(talk: &mut Talk) {
    talk.transcript("A> SUBSCRIBE a b -> [\"subscribe\", \"a\", 1]\nA< [\"subscribe\", \"b\", 2]");
    let mut batch = Vec::new();
    for n in 0..2000 {
        batch.extend_from_slice(&crate::wire::frame(&["PUBLISH", ["a", "b"][n % 2], &n.to_string()]));
    }
    talk.on('B').send(&batch);
    for n in 0..2000 {
        assert_eq!(talk.on('B').value(), Value::Integer(1));
        assert_eq!(talk.on('A').value().items()[2].text(), n.to_string());
    }
}

fn one_client_may_join_thousands_of_channels(talk: &mut Talk) {
    let names: Vec<String> = (0..5000).map(|n| format!("channel:{n}")).collect();
    let mut request = vec!["SUBSCRIBE".to_owned()];
    request.extend(names.iter().cloned());
    talk.on('A').request(&request);
    for (index, name) in names.iter().enumerate() {
        let confirmation = talk.on('A').value().items();
        assert_eq!((confirmation[1].text(), confirmation[2].integer()), (name.clone(), index as i64 + 1));
    }
    talk.transcript("B> PUBLISH channel:4321 x -> 1\nA< [\"message\", \"channel:4321\", \"x\"]");
    talk.on('A').request(&["UNSUBSCRIBE"]);
    for left in (0..5000).rev() {
        assert_eq!(talk.on('A').value().items()[2].integer(), left);
    }
    talk.transcript("B> PUBSUB CHANNELS -> []\nA> PING -> PONG");
}

/// Events a client subscribed to `__key*__:*` gets for each command, up to a marker that is published after it.
fn events_of(talk: &mut Talk, command: &str) -> Vec<String> {
    let reply = talk.on('B').call(&crate::talk::words(command));
    assert!(!reply.is_error(), "{command}: {reply}");
    talk.on('B').ask("PUBLISH __keyspace@0__:marker end");
    let mut events = Vec::new();
    loop {
        let message = talk.on('A').value().items();
        let (channel, payload) = (message[2].text(), message[3].text());
        match channel.as_str() {
            "__keyspace@0__:marker" => return events,
            _ => events.push(format!("{} {payload}", channel.trim_start_matches("__"))),
        }
    }
}

fn keyspace_events_say_what_changed(talk: &mut Talk) {
    talk.transcript(
        r#"
        B> DEBUG SET-ACTIVE-EXPIRE 0                                  -> OK
        B> CONFIG SET notify-keyspace-events KA                       -> OK
        B> CONFIG GET notify-keyspace-events                          -> ["notify-keyspace-events", "AK"]
        A> PSUBSCRIBE __key*__:*  -> ["psubscribe", "__key*__:*", 1]
        "#,
    );
    let table: &[(&str, &[&str])] = &[
        ("SET k v", &["k set"]),
        ("SET k v EX 100", &["k set", "k expire"]),
        ("SETEX k 100 v", &["k set", "k expire"]),
        ("PSETEX k 100000 v", &["k set", "k expire"]),
        ("EXPIRE k 50", &["k expire"]),
        ("EXPIRE absent 50", &[]),
        ("PERSIST k", &["k persist"]),
        ("PERSIST k", &[]),
        ("GET k", &[]),
        ("INCR n", &["n incrby"]),
        ("DECR n", &["n incrby"]),
        ("MSET a 1 b 2", &["a set", "b set"]),
        ("DEL a b absent", &["a del", "b del"]),
        ("UNLINK k n", &["k del", "n del"]),
        ("SADD s a b c", &["s sadd"]),
        ("SADD s a", &[]),
        ("SREM s a zz", &["s srem"]),
        ("SREM s b c", &["s srem", "s del"]),
        ("SADD p 1", &["p sadd"]),
        ("SMOVE p q 1", &["p srem", "p del", "q sadd"]),
        ("SPOP q", &["q spop", "q del"]),
        ("SADD s 1 2 3", &["s sadd"]),
        ("SPOP s 2", &["s spop"]),
        ("SPOP s 5", &["s spop", "s del"]),
        ("SADD x 1 2", &["x sadd"]),
        ("SUNIONSTORE y x", &["y sunionstore"]),
        ("SINTERSTORE y x absent", &["y del"]),
        ("SDIFFSTORE y x absent", &["y sdiffstore"]),
        ("SINTERSTORE y x x", &["y sinterstore"]),
        ("SUNIONSTORE z absent", &[]),
        // Due keys: removed by whoever looks, but a result that is empty only deletes.
        ("SET z v PXAT 1", &["z set", "z expire"]),
        ("SUNIONSTORE z x", &["z expired", "z sunionstore"]),
        ("SET z v PXAT 1", &["z set", "z expire"]),
        ("SUNIONSTORE z absent", &["z del"]),
        ("SET z v PXAT 1", &["z set", "z expire"]),
        ("BITOP OR z absent", &["z del"]),
        ("EXPIRE y -1", &["y del"]),
        ("FLUSHALL", &[]),
    ];
    for (command, wanted) in table {
        let got = events_of(talk, command);
        let wanted: Vec<String> = wanted.iter().map(|event| format!("keyspace@0__:{event}")).collect();
        assert_eq!(got, wanted, "{command}");
    }
}

fn keyspace_events_follow_their_flags(talk: &mut Talk) {
    talk.transcript("A> PSUBSCRIBE __key*__:* -> [\"psubscribe\", \"__key*__:*\", 1]");
    assert!(events_of(talk, "SADD s a").is_empty(), "off by default");
    for (flags, told, command, wanted) in [
        ("Es", "sE", "SADD s b", vec!["keyevent@0__:sadd s"]),
        ("K$", "$K", "SADD s c", vec![]),
        ("KE$", "$KE", "SET k v", vec!["keyspace@0__:k set", "keyevent@0__:set k"]),
        ("KEg", "gKE", "DEL k", vec!["keyspace@0__:k del", "keyevent@0__:del k"]),
        ("KEn", "nKE", "SET new v", vec!["keyspace@0__:new new", "keyevent@0__:new new"]),
        ("KEA", "AKE", "SADD s d", vec!["keyspace@0__:s sadd", "keyevent@0__:sadd s"]),
        ("Em", "Em", "GET absent", vec!["keyevent@0__:keymiss absent"]),
        ("", "", "SADD s e", vec![]),
    ] {
        talk.on('B').call(&["CONFIG", "SET", "notify-keyspace-events", flags]);
        let got = talk.on('B').call(&["CONFIG", "GET", "notify-keyspace-events"]).items()[1].text();
        assert_eq!(got, told, "canonical form of {flags:?}");
        assert_eq!(events_of(talk, command), wanted, "{command} with {flags:?}");
    }
    let refused = talk.on('B').call(&["CONFIG", "SET", "notify-keyspace-events", "KEq"]);
    assert!(refused.is_error(), "{refused}");
}

fn expiry_notifies(talk: &mut Talk) {
    talk.transcript(
        r#"
        B> CONFIG SET notify-keyspace-events Ex   -> OK
        A> PSUBSCRIBE __keyevent*                 -> ["psubscribe", "__keyevent*", 1]
        B> SET k v PX 1                           -> OK
        A< ["pmessage", "__keyevent*", "__keyevent@0__:expired", "k"]
        B> SADD s a                               -> 1
        B> PEXPIRE s 1                            -> 1
        A< ["pmessage", "__keyevent*", "__keyevent@0__:expired", "s"]
        "#,
    );
}

/// Publishes this many messages of this size to `slow` and reads the answers.
fn publish(server: &Server, count: usize, bytes: usize) -> Vec<i64> {
    let mut publisher = server.connect();
    let payload = "x".repeat(bytes);
    (0..count).map(|_| publisher.call(&["PUBLISH", "slow", &payload]).integer()).collect()
}

fn a_reader_that_stalls_is_cut_and_nobody_else_notices(server: &Server) {
    let mut admin = server.connect();
    admin.call(&["CONFIG", "SET", "client-output-buffer-limit", "pubsub 8388608 0 0"]);
    let mut stalled = server.connect();
    stalled.ask("SUBSCRIBE slow");
    let mut reader = server.connect();
    reader.ask("SUBSCRIBE slow");
    let before = server.rss_bytes();
    let reading = std::thread::spawn(move || {
        let bytes = (0..400).map(|_| reader.value().items()[2].bytes().len()).sum::<usize>();
        (reader, bytes)
    });
    let receivers = publish(server, 400, 100_000);
    let (_reader, bytes) = reading.join().expect("the healthy reader");
    assert_eq!(bytes, 400 * 100_000);
    assert_eq!((receivers[0], receivers[399]), (2, 1), "the stalled reader is gone at the end");
    let grown = server.rss_bytes().saturating_sub(before);
    assert!(grown < 40 << 20, "memory is bounded by the cap, grew by {grown} bytes");
    let rest = stalled.rest();
    assert!(rest.len() < 400 * 100_000, "the stalled reader cannot have got everything: {}", shown(&rest[..40]));
    assert_eq!(admin.ask("PUBSUB NUMSUB slow").items()[1].integer(), 1);
}

fn soft_limit_cuts_after_its_seconds_only(server: &Server) {
    let mut admin = server.connect();
    admin.call(&["CONFIG", "SET", "client-output-buffer-limit", "pubsub 0 1048576 1"]);
    let mut stalled = server.connect();
    stalled.ask("SUBSCRIBE slow");
    let start = std::time::Instant::now();
    let mut publisher = server.connect();
    let payload = "x".repeat(100_000);
    loop {
        let receivers = publisher.call(&["PUBLISH", "slow", &payload]).integer();
        if receivers == 0 {
            break;
        }
        assert!(start.elapsed() < crate::wire::WATCHDOG, "past the soft limit for its seconds and still there");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert!(start.elapsed().as_millis() >= 900, "the soft limit gives a second");
}

fn a_soft_limit_counts_anew_after_a_drain(server: &Server) {
    let mut admin = server.connect();
    let limit = |seconds: &str| format!("pubsub 0 1048576 {seconds}");
    admin.call(&["CONFIG", "SET", "client-output-buffer-limit", &limit("60")]);
    let mut reader = Connection::tcp_with_room(server.address(), 4096);
    reader.ask("SUBSCRIBE slow");
    // More than the sockets hold, so that the rest is sent as the reader takes it.
    let payload = "x".repeat(12 << 20);
    assert_eq!(admin.call(&["PUBLISH", "slow", &payload]).integer(), 1);
    assert_eq!(reader.value().items()[2].bytes().len(), payload.len());
    admin.call(&["CONFIG", "SET", "client-output-buffer-limit", &limit("1")]);
    admin.ask("DEBUG SLEEP 1.1");
    // Relaxed before its second is over, for the reader has no part in how fast this machine is.
    let relax = frame(&["CONFIG", "SET", "client-output-buffer-limit", &limit("60")]);
    admin.send(&[frame(&["PUBLISH", "slow", &payload]), relax].concat());
    admin.expect(b":1\r\n+OK\r\n");
    assert_eq!(reader.value().items()[2].bytes().len(), payload.len(), "its time began with this message");
}

fn a_cut_reader_is_counted_and_logged(server: &Server) {
    let mut admin = server.connect();
    admin.call(&["CONFIG", "SET", "client-output-buffer-limit", "pubsub 1048576 0 0"]);
    let mut stalled = server.connect();
    stalled.ask("CLIENT SETNAME sleepy");
    let id = stalled.ask("CLIENT ID").integer();
    stalled.ask("SUBSCRIBE slow");
    while publish(server, 1, 100_000)[0] == 1 {}
    let info = admin.ask("INFO stats pubsub").text();
    let field = |name: &str| {
        let value = info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        value.unwrap_or_else(|| panic!("INFO lacks {name}")).parse::<u64>().expect("a number")
    };
    assert_eq!(field("client_output_buffer_limit_disconnections"), 1);
    assert!(field("pubsub_dropped_messages") > 0);
    assert!(field("pubsub_dropped_bytes") > 100_000);
    server.wait_for_line("sleepy");
    let log = server.log();
    let line = log.lines().find(|line| line.contains("sleepy")).expect("just seen");
    assert!(line.contains(&id.to_string()) && line.contains("1048576"), "who and why: {line}");
}

fn the_same_script_gets_the_same_frames_from_redis() {
    let reference = Arc::new(Server::of(&Program::reference().expect("checked before"), &[]));
    let ours = Arc::new(Server::with_rings());
    // Deliveries to another connection, and one pattern per channel: a command's own pushes are ordered differently on
    // purpose, and the order among patterns is nobody's promise.
    let script = [
        "A SUBSCRIBE a b",
        "A PSUBSCRIBE z*",
        "A PSUBSCRIBE a? [a-c]",
        "C PUBLISH a one",
        "C PUBLISH ab two",
        "C PUBLISH zz three",
        "A UNSUBSCRIBE b zz",
        "A SSUBSCRIBE s1 s2 s1",
        "C SPUBLISH s1 x",
        "C SPUBLISH zz x",
        "C PUBSUB NUMSUB a b ab",
        "C PUBSUB NUMPAT",
        "C PUBSUB SHARDNUMSUB s1 s2",
        "A PUNSUBSCRIBE [a-c] zz",
        "A PUNSUBSCRIBE z*",
        "C PUBLISH a four",
        "C PUBLISH ab five",
        "A SUNSUBSCRIBE s1",
        "A PING",
        "A PING x",
        "A GET k",
        "A UNSUBSCRIBE a",
        "A SUNSUBSCRIBE",
        "A RESET",
        "A PING",
        "A UNSUBSCRIBE q",
        "A GET k",
    ];
    for road in Road::RESP_TO_SERVERS {
        let theirs = match road {
            Road::RingResp2 => Road::UnixResp2,
            Road::RingResp3 => Road::UnixResp3,
            socket => socket,
        };
        let heard = [(&ours, road), (&reference, theirs)].map(|(server, road)| {
            let mut talk = Talk::new(Arc::clone(server), road);
            let mut heard = Vec::new();
            for line in script {
                let (letter, command) = line.split_at(1);
                let letter = letter.chars().next().expect("a letter");
                talk.on(letter).request(&crate::talk::words(command));
                talk.on(letter).request(&["ECHO", "asked"]);
                // Subscribed RESP2 connections refuse ECHO: either way one known reply ends the answer.
                loop {
                    let (value, bytes) = talk.on(letter).value_bytes();
                    heard.push((line, bytes));
                    if matches!(&value, Value::Bulk(text) if text == b"asked")
                        || value.is_error() && !command.contains("GET")
                    {
                        break;
                    }
                    if value.is_error() {
                        heard.push((line, talk.on(letter).value_bytes().1));
                        break;
                    }
                }
            }
            heard
        });
        for (ours, theirs) in heard[0].iter().zip(&heard[1]) {
            assert_eq!((ours.0, shown(&ours.1)), (theirs.0, shown(&theirs.1)), "on {}", road.name());
        }
    }
}
