//! SBE: its own messages, golden bytes, malformed frames, the order of replies and pushes.

use crate::road::{Server, goblin};
use crate::sbe_wire::{MAGIC, call, data, frame, group};
use crate::suite::{Need, Suite, tests};
use crate::wire::{Connection, Value, shown};

/// Registers this module's tests.
pub fn tests(suite: &mut Suite) {
    tests!(suite, with_server, Need::Goblin;
        golden_bytes_of_ping_and_smismember,
        strings_have_their_messages,
        keys_have_their_messages,
        sets_have_their_messages,
        scans_have_their_messages,
        subscribers_have_their_messages,
        malformed_frames_are_answered_in_order,
        every_cut_of_a_frame_is_answered,
        schema_version_and_unknown_bytes_are_ignored,
        a_frame_longer_than_allowed_ends_the_conversation,
        the_magic_may_come_in_pieces,
        tcp_speaks_resp_only_unless_asked,
        own_pushes_stand_before_the_reply,
        exec_is_one_tree,
        call_refuses_what_would_change_the_protocol,
        replies_of_too_many_entries_change_nothing,
        long_replies_are_whole_frames,
        a_monitor_is_told_by_pushes,
        hello_is_all_or_nothing,
        clients_that_speak_sbe_show_it,
    );
    tests!(suite, with_server, Need::Goblin; the_program_speaks_sbe);
    tests!(suite, plain, Need::Goblin; a_password_guards_sbe, the_schema_is_told);
}

fn connect(server: &Server) -> Connection {
    server.connect_unix().into_sbe()
}

/// Sends a message and gives the template and the text of what comes back.
fn ask(connection: &mut Connection, template: u16, block: &[u8], rest: &[u8]) -> (u16, String) {
    connection.send(&frame(template, block.len() as u16, &[block, rest].concat()));
    let answer = connection.answer();
    (answer.template, answer.value.to_string())
}

fn check(connection: &mut Connection, template: u16, block: &[u8], rest: &[u8], wanted: (u16, &str)) {
    let got = ask(connection, template, block, rest);
    assert_eq!((got.0, got.1.as_str()), wanted, "message {template}: {}", shown(rest));
}

/// Strings behind the block.
fn strings(strings: &[&str]) -> Vec<u8> {
    strings.iter().flat_map(|string| data(string.as_bytes())).collect()
}

fn i64s(numbers: &[i64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

fn golden_bytes_of_ping_and_smismember(server: &Server) {
    let mut raw = server.connect_unix();
    raw.send(MAGIC);
    raw.exchange(&hex("08000000 0000 1000 0700 0200"), &hex("10000000 0000 0200 0700 0200 04000000 504F4E47"));
    let mut setup = server.connect();
    setup.ask("SADD s a");
    let ask = frame(106, 0, &[group(&["a", "b"]), data(b"s")].concat());
    raw.exchange(&ask, &hex("16000000 0000 0700 0700 0200 0000 0200 01000000 31 01000000 30"));
    // Int 1, and NilReply.
    raw.exchange(&frame(104, 0, &data(b"s")), &hex("10000000 0800 0400 0700 0200 0100000000000000"));
    raw.exchange(&frame(22, 0, &data(b"absent")), &hex("08000000 0000 0100 0700 0200"));
    let refusal = [data(b"WRONGTYPE"), data(b"Operation against a key holding the wrong kind of value")].concat();
    raw.exchange(&frame(22, 0, &data(b"s")), &frame(3, 0, &refusal));
    // A subscription: kind 2, one subscription, then pattern, channel, payload.
    let joined = hex("1a000000 0500 0c00 0700 0200 02 01000000 00000000 01000000 63 00000000");
    raw.exchange(&frame(96, 0, &group(&["c"])), &joined);
    setup.ask("PUBLISH c hi");
    raw.expect(&hex("1c000000 0500 0c00 0700 0200 00 00000000 00000000 01000000 63 02000000 6869"));
}

fn strings_have_their_messages(server: &Server) {
    let c = &mut connect(server);
    let set = |flags: u8, mode: u8, value: i64| [&[flags, mode][..], &value.to_le_bytes()].concat();
    check(c, 65, &[], &strings(&["hello"]), (6, "\"hello\""));
    assert_eq!(ask(c, 78, &[], &[]).0, 6);
    check(c, 23, &set(0, 0, 0), &strings(&["k", "v"]), (2, "OK"));
    check(c, 22, &[], &strings(&["k"]), (6, "\"v\""));
    check(c, 23, &set(1, 0, 0), &strings(&["k", "w"]), (1, "nil"));
    check(c, 23, &set(2 | 4, 0, 0), &strings(&["k", "w"]), (6, "\"v\""));
    check(c, 23, &set(1 | 2, 0, 0), &strings(&["k", "w"]), (3, "-ERR syntax error"));
    check(c, 23, &set(8, 1, 5), &strings(&["k", "w"]), (3, "-ERR syntax error"));
    check(c, 23, &set(0, 1, 0), &strings(&["k", "w"]), (3, "-ERR invalid expire time in 'set' command"));
    check(c, 23, &set(0, 1, 100), &strings(&["k", "w"]), (2, "OK"));
    check(c, 41, &[], &strings(&["k"]), (4, "100"));
    check(c, 23, &set(8, 0, 0), &strings(&["k", "x"]), (2, "OK"));
    check(c, 41, &[], &strings(&["k"]), (4, "100"));
    check(c, 24, &[], &strings(&["k", "y"]), (6, "\"x\""));
    check(c, 25, &[], &strings(&["k", "z"]), (4, "0"));
    check(c, 27, &[], &strings(&["k"]), (4, "1"));
    check(c, 28, &[], &strings(&["k", "z"]), (4, "2"));
    check(c, 26, &[], &strings(&["k"]), (6, "\"yz\""));
    check(c, 29, &[], &strings(&["n"]), (4, "1"));
    check(c, 30, &[], &strings(&["n"]), (4, "0"));
    check(c, 31, &i64s(&[40]), &strings(&["n"]), (4, "40"));
    check(c, 32, &i64s(&[-2]), &strings(&["n"]), (4, "42"));
    check(c, 32, &i64s(&[i64::MIN]), &strings(&["n"]), (3, "-ERR decrement would overflow"));
    check(c, 33, &0.5f64.to_le_bytes(), &strings(&["n"]), (6, "\"42.5\""));
    check(c, 33, &f64::NAN.to_le_bytes(), &strings(&["n"]), (3, "-ERR value is not a valid float"));
    check(c, 31, &i64s(&[1]), &strings(&["n"]), (3, "-ERR value is not an integer or out of range"));
    check(c, 61, &i64s(&[0, -3]), &strings(&["n"]), (6, "\"42\""));
    check(c, 62, &i64s(&[1]), &strings(&["n", "!!"]), (4, "4"));
    check(c, 62, &i64s(&[-1]), &strings(&["n", "x"]), (3, "-ERR offset is out of range"));
    check(c, 63, &[], &group_of_pairs(&["a", "1", "b", "2"]), (2, "OK"));
    check(c, 63, &[], &group(&[""; 0]), (3, "-ERR wrong number of arguments for 'mset' command"));
    check(c, 64, &[], &group(&["a", "nokey", "b"]), (9, "[\"1\", nil, \"2\"]"));
}

/// A group whose entries have two strings each.
fn group_of_pairs(strings: &[&str]) -> Vec<u8> {
    let mut bytes = group(strings);
    bytes[2..4].copy_from_slice(&(strings.len() as u16 / 2).to_le_bytes());
    bytes
}

fn keys_have_their_messages(server: &Server) {
    let c = &mut connect(server);
    c.ask("MSET a 1 b 2 c 3");
    let amount = |amount: i64, flags: u8| [&amount.to_le_bytes()[..], &[flags]].concat();
    check(c, 35, &[], &group(&["a", "a", "no"]), (4, "2"));
    check(c, 36, &[], &strings(&["a"]), (2, "string"));
    check(c, 36, &[], &strings(&["no"]), (2, "none"));
    check(c, 41, &[], &strings(&["a"]), (4, "-1"));
    check(c, 42, &[], &strings(&["no"]), (4, "-2"));
    check(c, 37, &amount(100, 0), &strings(&["a"]), (4, "1"));
    check(c, 37, &amount(50, 4), &strings(&["a"]), (4, "0"));
    check(
        c,
        37,
        &amount(50, 1 | 4),
        &strings(&["a"]),
        (3, "-ERR NX and XX, GT or LT options at the same time are not compatible"),
    );
    check(c, 38, &amount(90_000, 8), &strings(&["a"]), (4, "1"));
    check(c, 43, &[], &strings(&["a"]), (4, "1"));
    check(c, 39, &amount(4_000_000_000, 0), &strings(&["a"]), (4, "1"));
    check(c, 44, &[], &strings(&["a"]), (4, "4000000000"));
    check(c, 40, &amount(4_000_000_000_123, 2), &strings(&["a"]), (4, "1"));
    check(c, 45, &[], &strings(&["a"]), (4, "4000000000123"));
    check(c, 37, &amount(-1, 0), &strings(&["a"]), (4, "1"));
    check(c, 34, &[], &group(&["a", "b", "c"]), (4, "2"));
    check(c, 34, &[], &group(&[""; 0]), (3, "-ERR wrong number of arguments for 'del' command"));
}

fn sets_have_their_messages(server: &Server) {
    let c = &mut connect(server);
    let with_key = |members: &[&str], key: &str| [group(members), data(key.as_bytes())].concat();
    check(c, 102, &[], &with_key(&["a", "b", "", "a"], "s"), (4, "3"));
    check(c, 102, &[], &with_key(&[], "s"), (3, "-ERR wrong number of arguments for 'sadd' command"));
    check(c, 103, &[], &with_key(&["b", "x"], "s"), (4, "1"));
    check(c, 104, &[], &strings(&["s"]), (4, "2"));
    check(c, 105, &[], &strings(&["s", "a"]), (4, "1"));
    check(c, 106, &[], &with_key(&["a", "x", "a"], "s"), (7, "[\"1\", \"0\", \"1\"]"));
    check(c, 103, &[], &with_key(&[""], "s"), (4, "1"));
    check(c, 107, &[], &strings(&["s"]), (7, "[\"a\"]"));
    check(c, 107, &[], &strings(&["none"]), (7, "[]"));
    check(c, 109, &i64s(&[-1]), &strings(&["s"]), (6, "\"a\""));
    check(c, 109, &i64s(&[-3]), &strings(&["s"]), (7, "[\"a\", \"a\", \"a\"]"));
    check(c, 109, &i64s(&[5]), &strings(&["s"]), (7, "[\"a\"]"));
    check(c, 108, &i64s(&[0]), &strings(&["s"]), (7, "[]"));
    check(c, 108, &i64s(&[-2]), &strings(&["s"]), (3, "-ERR value is out of range, must be positive"));
    check(c, 110, &[], &strings(&["s", "t", "a"]), (4, "1"));
    check(c, 108, &i64s(&[-1]), &strings(&["t"]), (6, "\"a\""));
    check(c, 108, &i64s(&[-1]), &strings(&["t"]), (1, "nil"));
    c.ask("SADD x 1 2");
    c.ask("SADD y 2 3");
    check(c, 111, &[], &group(&["x", "y"]), (7, "[\"2\"]"));
    check(c, 113, &[], &group(&["x", "y"]), (7, "[\"1\"]"));
    assert_eq!(ask(c, 112, &[], &group(&["x", "y"])).0, 7);
    check(c, 114, &[], &with_key(&["x", "y"], "d"), (4, "1"));
    check(c, 115, &[], &with_key(&["x", "y"], "d"), (4, "3"));
    check(c, 116, &[], &with_key(&["x", "y"], "d"), (4, "1"));
    check(c, 117, &i64s(&[0]), &group(&["x", "y"]), (4, "1"));
    check(c, 117, &i64s(&[1]), &group(&["x", "x"]), (4, "1"));
    check(c, 117, &i64s(&[-1]), &group(&["x"]), (3, "-ERR LIMIT can't be negative"));
    check(c, 117, &i64s(&[0]), &group(&[""; 0]), (3, "-ERR numkeys should be greater than 0"));
}

fn scans_have_their_messages(server: &Server) {
    let c = &mut connect(server);
    c.ask("SADD s apple");
    c.ask("SET k v");
    let scan = |count: u64, matches: u8, types: u8| {
        [&0u64.to_le_bytes()[..], &count.to_le_bytes(), &[matches, types]].concat()
    };
    check(c, 126, &scan(100, 1, 0), &strings(&["s*", "string"]), (125, "[\"0\", [\"s\"]]"));
    check(c, 126, &scan(100, 0, 1), &strings(&["s*", "string"]), (125, "[\"0\", [\"k\"]]"));
    check(c, 126, &scan(0, 0, 0), &strings(&["", ""]), (3, "-ERR syntax error"));
    check(c, 118, &i64s(&[0, 10]), &strings(&["s", ""]), (7, "[\"0\", \"apple\"]"));
    check(c, 118, &i64s(&[0, 10]), &strings(&["s", "b*"]), (7, "[\"0\"]"));
    check(c, 118, &i64s(&[0, 10]), &strings(&["none", ""]), (7, "[\"0\"]"));
}

fn subscribers_have_their_messages(server: &Server) {
    let (c, other) = (&mut connect(server), &mut connect(server));
    check(c, 96, &[], &group(&["a", "b"]), (12, "[\"subscribe\", \"a\", 1]"));
    assert_eq!(c.answer().value.to_string(), "[\"subscribe\", \"b\", 2]");
    check(c, 98, &[], &group(&["n*"]), (12, "[\"psubscribe\", \"n*\", 3]"));
    check(c, 96, &[], &group(&[""; 0]), (3, "-ERR wrong number of arguments for 'subscribe' command"));
    check(other, 101, &[1], &group(&["a", "x", "a"]), (13, "[[\"a\", 1], [\"x\", 0], [\"a\", 1]]"));
    check(other, 101, &[1], &group(&[""; 0]), (13, "[]"));
    check(other, 101, &[0], &group(&["a*"]), (7, "[\"a\"]"));
    check(other, 101, &[0], &group(&["zz*"]), (7, "[]"));
    check(other, 101, &[2], &group(&[""; 0]), (4, "1"));
    check(other, 101, &[9], &group(&[""; 0]), (3, "-ERR unknown subcommand '9'. Try PUBSUB HELP."));
    check(other, 100, &[], &strings(&["a", "m"]), (4, "1"));
    check(other, 100, &[], &strings(&["news", ""]), (4, "1"));
    assert_eq!(c.answer().value.to_string(), "[\"message\", \"a\", \"m\"]");
    assert_eq!(c.answer().value.to_string(), "[\"pmessage\", \"n*\", \"news\", \"\"]");
    // Any command may be sent meanwhile.
    check(c, 29, &[], &strings(&["n"]), (4, "1"));
    check(c, 97, &[], &group(&["b", "x"]), (12, "[\"unsubscribe\", \"b\", 2]"));
    assert_eq!(c.answer().value.to_string(), "[\"unsubscribe\", \"x\", 2]");
    check(c, 97, &[], &group(&[""; 0]), (12, "[\"unsubscribe\", \"a\", 1]"));
    check(c, 97, &[], &group(&[""; 0]), (12, "[\"unsubscribe\", nil, 1]"));
    check(c, 99, &[], &group(&[""; 0]), (12, "[\"punsubscribe\", \"n*\", 0]"));
}

fn malformed_frames_are_answered_in_order(server: &Server) {
    let c = &mut connect(server);
    let mut bytes = Vec::new();
    let mut wanted = Vec::new();
    let mut say = |frame: Vec<u8>, answer: &str| {
        bytes.extend(frame);
        wanted.push(answer.to_owned());
        bytes.extend(self::frame(29, 0, &data(b"n")));
        wanted.push((wanted.len() / 2 + 1).to_string());
    };
    say(vec![0, 0, 0, 0], "-ERR SBE frame shorter than its header of 8 bytes");
    say(vec![7, 0, 0, 0, 0, 0, 16, 0, 7, 0, 2], "-ERR SBE frame shorter than its header of 8 bytes");
    say(frame(17, 1, &[0]), "-ERR unknown SBE template id 17");
    say(frame(4, 8, &[0; 8]), "-ERR unknown SBE template id 4");
    say(frame(60_000, 0, &[]), "-ERR unknown SBE template id 60000");
    say(frame(31, 4, &[0; 12]), "-ERR SBE message 31: block of 4 bytes, at least 8 are needed");
    say(frame(22, 900, &data(b"k")), "-ERR SBE message 22: a length runs past the end of the frame");
    say(frame(22, 0, &[255, 255, 255, 255, 1]), "-ERR SBE message 22: a length runs past the end of the frame");
    say(frame(34, 0, &[0, 0, 255, 255]), "-ERR SBE message 34: a length runs past the end of the frame");
    say(frame(34, 0, &[255, 255, 255, 255]), "-ERR SBE message 34: a length runs past the end of the frame");
    say(frame(1000, 0, &[0, 0, 0, 0]), "-ERR unknown command '', with args beginning with: ");
    say(call(&["nosuch", "x"]), "-ERR unknown command 'nosuch', with args beginning with: 'x' ");
    c.send(&bytes);
    for wanted in wanted {
        assert_eq!(c.answer().value.to_string(), wanted);
    }
    // Inside MULTI it spoils the transaction, as any refusal does.
    assert_eq!(c.ask("MULTI").to_string(), "OK");
    check(c, 60_000, &[], &[], (3, "-ERR unknown SBE template id 60000"));
    assert!(c.ask("EXEC").to_string().starts_with("-EXECABORT"));
}

fn every_cut_of_a_frame_is_answered(server: &Server) {
    let c = &mut connect(server);
    let whole = frame(102, 0, &[group(&["a", "bc"]), data(b"s")].concat());
    for cut in 0..whole.len() - 4 {
        let mut short = whole[..4 + cut].to_vec();
        short[..4].copy_from_slice(&(cut as u32).to_le_bytes());
        c.send(&short);
        let answer = c.answer();
        assert_eq!(answer.template, 3, "cut to {cut} bytes: {}", answer.value);
    }
    assert_eq!(c.ask("EXISTS s").to_string(), "0");
}

fn schema_version_and_unknown_bytes_are_ignored(server: &Server) {
    let c = &mut connect(server);
    let mut other = frame(65, 0, &data(b"x"));
    other[8..12].copy_from_slice(&[9, 9, 255, 255]);
    c.send(&other);
    assert_eq!(c.answer().value.to_string(), "\"x\"");
    // A longer block, longer entries, and more behind the last string.
    check(c, 31, &[i64s(&[2]), vec![9; 5]].concat(), &[strings(&["n"]), vec![7; 9]].concat(), (4, "2"));
    let entries = [&[3, 0, 1, 0, 9, 9, 9][..], &data(b"n")].concat();
    check(c, 35, &[], &entries, (4, "1"));
}

fn a_frame_longer_than_allowed_ends_the_conversation(server: &Server) {
    server.connect().ask("CONFIG SET client-query-buffer-limit 1mb");
    let c = &mut connect(server);
    c.send(&[frame(16, 0, &[]), vec![0, 0, 16, 0]].concat());
    assert_eq!(c.answer().value.to_string(), "PONG");
    let refused = c.answer().value.to_string();
    assert_eq!(refused, "-ERR Protocol error: SBE frame of 1048576 bytes, at most 983040 are taken");
    c.expect_closed();
    // One that is not too long is taken, in however many pieces.
    let c = &mut connect(server);
    let long = "x".repeat(900_000);
    let reply = c.call(&["ECHO", &long]);
    assert!(reply == Value::Bulk(long.into_bytes()));
    server.assert_alive();
}

fn the_magic_may_come_in_pieces(server: &Server) {
    let mut c = server.connect_unix();
    for piece in [&MAGIC[..3], &MAGIC[3..7]] {
        c.send(piece);
        server.assert_alive();
    }
    c.exchange(&[&MAGIC[7..], &frame(16, 0, &[])].concat(), &frame(2, 0, &data(b"PONG")));
    // What diverges is RESP from its first byte on.
    let mut resp = server.connect_unix();
    resp.send(b"GOB");
    resp.exchange(b"LIN\r\n", b"-ERR unknown command 'GOBLIN', with args beginning with: \r\n");
    let mut inline = server.connect_unix();
    inline.exchange(b"GET k\r\n", b"$-1\r\n");
}

fn tcp_speaks_resp_only_unless_asked(server: &Server) {
    let mut c = server.connect();
    c.exchange(&[MAGIC, b"\r\n"].concat(), b"-ERR unknown command 'GOBLINS!', with args beginning with: \r\n");
    c.ask("CONFIG SET sbe yes");
    let mut c = server.connect();
    c.exchange(&[MAGIC, &frame(16, 0, &[])].concat(), &frame(2, 0, &data(b"PONG")));
}

fn own_pushes_stand_before_the_reply(server: &Server) {
    let c = &mut connect(server);
    c.ask("SUBSCRIBE a");
    c.ask("PSUBSCRIBE *");
    let publish = |payload: &str| frame(100, 0, &strings(&["a", payload]));
    c.send(&[publish("1"), publish("2")].concat());
    let said: Vec<String> = (0..6).map(|_| c.answer().value.to_string()).collect();
    let of = |payload: &str| {
        vec![
            format!("[\"message\", \"a\", \"{payload}\"]"),
            format!("[\"pmessage\", \"*\", \"a\", \"{payload}\"]"),
            "2".into(),
        ]
    };
    assert_eq!(said, [of("1"), of("2")].concat());
    // Inside EXEC they stand before the one reply of it.
    let words: [&[&str]; 4] = [&["MULTI"], &["PUBLISH", "a", "x"], &["INCR", "n"], &["EXEC"]];
    c.send(&words.iter().flat_map(|words| call(words)).collect::<Vec<u8>>());
    let said: Vec<String> = (0..6).map(|_| c.answer().value.to_string()).collect();
    let wanted =
        ["OK", "QUEUED", "QUEUED", "[\"message\", \"a\", \"x\"]", "[\"pmessage\", \"*\", \"a\", \"x\"]", "[2, 1]"];
    assert_eq!(said, wanted);
}

fn exec_is_one_tree(server: &Server) {
    let c = &mut connect(server);
    c.ask("MULTI");
    // Messages of commands are queued like calls.
    check(c, 29, &[], &strings(&["n"]), (2, "QUEUED"));
    check(c, 102, &[], &[group(&["m"]), data(b"s")].concat(), (2, "QUEUED"));
    for line in ["SMEMBERS s", "LPUSH", "GET absent", "SINTERCARD 1 s"] {
        c.ask(line);
    }
    assert!(c.ask("EXEC").to_string().starts_with("-EXECABORT"));
    c.ask("MULTI");
    for line in ["SADD s m", "SMEMBERS s", "INCR s", "GET absent", "SSCAN s 0", "UNSUBSCRIBE x"] {
        assert_eq!(c.ask(line).to_string(), "QUEUED", "{line}");
    }
    c.send(&call(&["EXEC"]));
    let answer = c.answer();
    let wanted = "[1, [\"m\"], -WRONGTYPE Operation against a key holding the wrong kind of value, nil, \
                  [\"0\", [\"m\"]], [\"unsubscribe\", \"x\", 0]]";
    assert_eq!((answer.template, answer.value.to_string().as_str()), (10, wanted));
    c.ask("MULTI");
    assert_eq!(c.ask("EXEC").to_string(), "[]");
    c.ask("WATCH w");
    server.connect().ask("SET w 1");
    c.ask("MULTI");
    assert_eq!(c.ask("EXEC").to_string(), "nil");
}

fn call_refuses_what_would_change_the_protocol(server: &Server) {
    let c = &mut connect(server);
    for version in ["2", "3", "4"] {
        assert_eq!(c.ask(&format!("HELLO {version}")).to_string(), "-NOPROTO unsupported protocol version");
    }
    assert!(c.ask("HELLO").to_string().contains("\"proto\", 0"));
    // The rest is taken: the database, transactions, subscriptions, RESET, QUIT.
    c.ask("SELECT 3");
    c.ask("SET k v");
    assert_eq!(c.ask("RESET").to_string(), "RESET");
    assert_eq!(c.ask("GET k").to_string(), "nil");
    assert_eq!(c.ask("SUBSCRIBE x").to_string(), "[\"subscribe\", \"x\", 1]");
    assert_eq!(c.ask("PING").to_string(), "PONG");
    c.request(&["CLIENT", "REPLY", "SKIP"]);
    c.request(&["PING", "unheard"]);
    assert_eq!(c.ask("PING heard").to_string(), "\"heard\"");
    assert_eq!(c.ask("QUIT").to_string(), "OK");
    c.expect_closed();
}

const TOO_LARGE: &str = "-ERR result too large for one SBE array reply";

fn replies_of_too_many_entries_change_nothing(server: &Server) {
    let mut resp = server.connect();
    for start in (0..66_000).step_by(6_000) {
        let members: Vec<String> = (start..start + 6_000).map(|member| format!("member:{member}")).collect();
        let words: Vec<&str> = ["SADD", "s"].into_iter().chain(members.iter().map(String::as_str)).collect();
        resp.call(&words);
    }
    let c = &mut connect(server);
    check(c, 108, &i64s(&[70_000]), &strings(&["s"]), (3, TOO_LARGE));
    check(c, 108, &i64s(&[65_536]), &strings(&["s"]), (3, TOO_LARGE));
    assert_eq!(c.ask("SPOP s 65535").to_string(), TOO_LARGE);
    check(c, 107, &[], &strings(&["s"]), (3, TOO_LARGE));
    assert_eq!(c.ask("SMEMBERS s").to_string(), TOO_LARGE);
    c.ask("MULTI");
    c.ask("SPOP s 40000");
    c.ask("SPOP s 25531");
    c.ask("SCARD s");
    c.ask("SMEMBERS s");
    let all = c.ask("EXEC").items();
    assert_eq!(all[0].items().len(), 40_000);
    // With the lists' own nodes and those of the two behind it, this is one too many.
    assert_eq!(all[1].to_string(), TOO_LARGE);
    assert_eq!(all[2].to_string(), "26000");
    // What is left of the frame is not enough for it either.
    assert_eq!(all[3].to_string(), TOO_LARGE);
    assert_eq!(c.ask("SCARD s").to_string(), "26000");
    c.send(&frame(108, 8, &[i64s(&[26_000]), data(b"s")].concat()));
    assert_eq!(c.answer().value.items().len(), 26_000);
}

fn long_replies_are_whole_frames(server: &Server) {
    let (c, other) = (&mut connect(server), &mut connect(server));
    let members: Vec<String> = (0..60_000).map(|member| format!("member:{member}")).collect();
    for chunk in members.chunks(20_000) {
        let words: Vec<&str> = ["SADD", "s"].into_iter().chain(chunk.iter().map(String::as_str)).collect();
        c.call(&words);
    }
    c.ask("SUBSCRIBE news");
    let smembers = frame(107, 0, &data(b"s"));
    c.send(&[smembers.clone(), call(&["SMEMBERS", "s"]), frame(16, 0, &[])].concat());
    other.ask("PUBLISH news x");
    let mut replies = Vec::new();
    while replies.len() < 3 {
        let answer = c.answer();
        match answer.is_message {
            true => assert_eq!(answer.value.to_string(), "[\"message\", \"news\", \"x\"]"),
            false => replies.push(answer),
        }
    }
    assert_eq!([replies[0].template, replies[1].template, replies[2].template], [7, 10, 2]);
    for reply in &replies[..2] {
        let mut got = reply.value.sorted_texts();
        let mut wanted = members.clone();
        wanted.sort();
        got.dedup();
        assert!(got == wanted, "{} members", got.len());
    }
    // A string that is handed over from where it lies.
    let long = "y".repeat(300_000);
    c.call(&["SET", "k", &long]);
    c.send(&[frame(22, 0, &data(b"k")), call(&["GET", "k"])].concat());
    for template in [6, 10] {
        let answer = c.answer();
        assert_eq!(answer.template, template);
        assert!(answer.value == Value::Bulk(long.clone().into_bytes()));
    }
}

fn a_monitor_is_told_by_pushes(server: &Server) {
    let (c, other) = (&mut connect(server), &mut connect(server));
    assert_eq!(c.ask("MONITOR").to_string(), "OK");
    check(other, 27, &[], &strings(&["k"]), (4, "0"));
    let line = c.answer();
    assert!(line.is_message && line.value.to_string().ends_with("\"STRLEN\" \"k\""), "{}", line.value);
}

fn hello(db: u32, user: &str, password: &str, name: &str) -> Vec<u8> {
    greeting(db, 0, [user, password, name])
}

/// Hello, which also says of which kind pushes are to be.
pub fn greeting(db: u32, pushes: u8, words: [&str; 3]) -> Vec<u8> {
    frame(1001, 5, &[db.to_le_bytes().to_vec(), vec![pushes], strings(&words)].concat())
}

fn hello_is_all_or_nothing(server: &Server) {
    let c = &mut connect(server);
    let mut say = |bytes: Vec<u8>| {
        c.send(&bytes);
        c.answer().value.to_string()
    };
    assert_eq!(say(hello(99, "", "", "x")), "-ERR DB index is out of range");
    assert_eq!(say(greeting(0, 2, ["", "", "x"])), "-ERR goblin does not offer pushes of that kind");
    assert!(say(hello(3, "", "", "a b")).starts_with("-ERR Client names cannot contain spaces"));
    assert!(say(hello(3, "", "secret", "x")).starts_with("-ERR AUTH <password> called without any password"));
    assert_eq!(say(hello(3, "nobody", "x", "x")).split(' ').next(), Some("-WRONGPASS"));
    let info = say(call(&["CLIENT", "INFO"]));
    assert!(info.contains(" name= ") && info.contains(" db=0 "), "{info}");
    let greeted = say(hello(3, "", "", "me"));
    assert!(greeted.contains("\"proto\", 0") && greeted.contains("\"server\", \"redis\""), "{greeted}");
    let info = say(call(&["CLIENT", "INFO"]));
    assert!(info.contains(" name=me ") && info.contains(" db=3 "), "{info}");
    say(call(&["MULTI"]));
    assert_eq!(say(hello(0, "", "", "")), "-ERR Command not allowed inside a transaction");
}

fn clients_that_speak_sbe_show_it(server: &Server) {
    let _c = connect(server).ask("CLIENT SETNAME binary");
    let c = &mut connect(server);
    assert!(c.ask("CLIENT INFO").to_string().contains(" resp=0 "));
    assert!(server.connect().ask("CLIENT LIST").text().lines().any(|line| line.contains(" resp=0 ")));
}

fn a_password_guards_sbe() {
    let server = Server::with(&["--requirepass", "secret"]);
    let c = &mut connect(&server);
    let refused = (3, "-NOAUTH Authentication required.");
    check(c, 16, &[], &[], refused);
    check(c, 22, &[], &strings(&["k"]), refused);
    check(c, 96, &[], &group(&["x"]), refused);
    c.send(&hello(0, "", "", "me"));
    assert_eq!(c.answer().value.to_string(), refused.1);
    c.send(&hello(0, "", "wrong", "me"));
    assert!(c.answer().value.to_string().starts_with("-WRONGPASS"));
    check(
        c,
        1002,
        &[],
        &strings(&["", "wrong"]),
        (3, "-WRONGPASS invalid username-password pair or user is disabled."),
    );
    c.send(&hello(0, "default", "secret", "me"));
    assert!(!c.answer().value.is_error());
    check(c, 16, &[], &[], (2, "PONG"));
    // The same by Auth, and by Call.
    check(&mut connect(&server), 1002, &[], &strings(&["default", "secret"]), (2, "OK"));
    let mut by_call = connect(&server);
    assert_eq!(by_call.ask("AUTH secret").to_string(), "OK");
    assert_eq!(by_call.ask("PING").to_string(), "PONG");
    // The password is in no log, and a stranger's frame is short.
    let slow = c.ask("SLOWLOG GET").to_string();
    assert!(!slow.contains("secret"), "{slow}");
    let mut stranger = connect(&server);
    stranger.send(&70_000u32.to_le_bytes());
    assert!(stranger.answer().value.to_string().contains("at most 65536 are taken"));
    stranger.expect_closed();
}

/// What `goblin` prints, started with these arguments; its status must be 0.
fn printed(arguments: &[&str]) -> String {
    let output = goblin().args(arguments).output().expect("run goblin");
    assert!(output.status.success(), "goblin {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

fn the_program_speaks_sbe(server: &Server) {
    let socket = server.socket();
    let socket = socket.to_str().expect("a path that is text");
    let cli = |words: &[&str]| printed(&[&["cli", "-s", socket, "--protocol", "sbe", "--raw"], words].concat());
    assert_eq!(cli(&["SADD", "s", "a", "b"]), "2\n");
    assert_eq!(cli(&["SINTER", "s", "s"]).lines().count(), 2);
    assert_eq!(cli(&["MGET", "x", "y"]).lines().count(), 2);
    assert!(cli(&["CLIENT", "INFO"]).contains(" resp=0 "));
    let mut reader = goblin()
        .args(["sub", "-s", socket, "--protocol", "sbe", "--count", "1", "news"])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("run goblin sub");
    let mut other = connect(server);
    while other.ask("PUBLISH news hello").integer() == 0 {
        std::thread::yield_now();
    }
    let status = crate::road::wait_for(&mut reader);
    assert!(status.success());
    let mut said = String::new();
    std::io::Read::read_to_string(&mut reader.stdout.take().expect("piped"), &mut said).expect("text");
    assert!(said.contains("hello"), "{said}");
}

fn the_schema_is_told() {
    let schema = printed(&["sbe-schema"]);
    for wanted in [
        "byteOrder=\"littleEndian\"",
        "id=\"7\"",
        "version=\"2\"",
        "<sbe:message name=\"SAdd\" id=\"102\" blockLength=\"0\"",
        "<sbe:message name=\"Set\" id=\"23\" blockLength=\"10\"",
        "<field name=\"expireValue\" id=\"3\" type=\"i64\" offset=\"2\"/>",
        "<sbe:message name=\"RespValueReply\" id=\"10\" blockLength=\"0\"",
        "<group name=\"nodes\" id=\"1\" dimensionType=\"groupSizeEncoding\" blockLength=\"13\">",
    ] {
        assert!(schema.contains(wanted), "{wanted} is missing");
    }
    // Every element that opens closes, in order.
    let mut open = Vec::new();
    for tag in schema.split('<').skip(1).filter(|tag| !tag.starts_with(['?', '!'])) {
        let (tag, _) = tag.split_once('>').expect("the end of a tag");
        let name = tag.trim_start_matches('/').split_whitespace().next().expect("a name").trim_end_matches('/');
        match (tag.starts_with('/'), tag.ends_with('/')) {
            (true, _) => assert_eq!(open.pop(), Some(name)),
            (false, false) => open.push(name),
            (false, true) => {}
        }
    }
    assert!(open.is_empty(), "{open:?}");
}
