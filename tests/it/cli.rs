//! `goblin cli` without a terminal: forms of replies, arguments from outside, scripts, bulk loading, measuring.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::process::{Command, Stdio};
use std::thread;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value as Json, json};

use crate::app::{Ended, HELLO, Running, ran, scripted};
use crate::road::{Folder, Server, goblin, wait_for};
use crate::suite::{Need, Suite, tests};

/// Registers this module's tests.
pub fn tests(suite: &mut Suite) {
    tests!(suite, with_server, redis_cli();
        replies_read_as_in_redis_cli,
    );
    tests!(suite, with_server, Need::Goblin;
        json_is_always_json_and_keeps_bytes,
        quoted_words_can_be_sent_back,
        arguments_come_from_standard_input,
        a_command_is_repeated_with_pauses,
        a_script_stops_at_its_first_error,
        nothing_is_asked_and_nothing_coloured_without_a_terminal,
        a_load_tells_its_first_errors_with_their_lines,
        a_load_takes_arrays_and_large_words,
        a_load_that_is_cut_off_names_the_line,
        latency_is_told_for_intervals_and_the_whole,
        ctrl_c_sums_latency_up,
        figures_are_told_line_by_line,
        lines_of_monitor_are_chosen_and_counted,
        lines_of_monitor_may_hold_anything,
    );
    tests!(suite, plain, Need::Goblin;
        a_load_never_hangs,
    );
}

fn redis_cli() -> Need {
    let found = Command::new("redis-cli").arg("--version").output();
    Need::Present(found.map(drop).map_err(|_| "redis-cli is not installed".into()))
}

/// Runs `goblin cli` on the server.
fn cli(server: &Server, words: &[&str], input: &[u8]) -> Ended {
    let port = server.port().to_string();
    ran(&[&["cli", "-p", &port], words].concat(), input)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

fn replies_read_as_in_redis_cli(server: &Server) {
    let port = server.port().to_string();
    let mut connection = server.connect();
    for line in [
        "SET text \"a\\xff\\n\\\"b\"",
        "SADD one x",
        "SADD ints 1 2 3",
        "SET n 5",
        "CONFIG SET slowlog-log-slower-than 0",
    ] {
        connection.ask(line);
    }
    connection.ask("CONFIG SET slowlog-log-slower-than -1");
    let lines: [&[&str]; 24] = [
        &["GET", "text"],
        &["GET", "nokey"],
        &["GET", "one"],
        &["NOSUCH"],
        &["INCR", "n"],
        &["SMEMBERS", "one"],
        &["SMEMBERS", "nokey"],
        &["SMEMBERS", "ints"],
        &["SSCAN", "ints", "0"],
        &["SMISMEMBER", "ints", "1", "9"],
        &["MGET", "text", "nokey", "one"],
        &["CONFIG", "GET", "maxclients"],
        &["CONFIG", "GET", "nosuch"],
        &["COMMAND", "INFO", "get", "nosuch", "client"],
        &["COMMAND", "DOCS", "set"],
        &["COMMAND", "GETKEYSANDFLAGS", "SET", "a", "b"],
        &["COMMAND", "LIST", "FILTERBY", "PATTERN", "*member*"],
        &["PUBSUB", "NUMSUB", "a", "b"],
        &["LCS", "n", "text", "IDX"],
        &["MEMORY", "STATS"],
        &["LATENCY", "DOCTOR"],
        &["HELLO"],
        &["ECHO", ""],
        &["TYPE", "one"],
    ];
    for (own, theirs) in [("resp2", "-2"), ("resp3", "-3")] {
        for form in ["--no-raw", "--raw", "--csv"] {
            for line in lines {
                let mine = cli(server, &[&["--protocol", own, form], line].concat(), b"").stdout;
                let asked = Command::new("redis-cli").args(["-p", &port, theirs, form]).args(line).output();
                let wanted = asked.expect("run redis-cli").stdout;
                let plain = |bytes: &[u8]| without_counters(&String::from_utf8_lossy(bytes));
                if line == ["INCR", "n"] {
                    let kind = |bytes: &[u8]| plain(bytes).replace(|digit: char| digit.is_ascii_digit(), "");
                    assert_eq!(kind(&mine), kind(&wanted), "{own} {form} {line:?}");
                } else {
                    assert_eq!(plain(&mine), plain(&wanted), "{own} {form} {line:?}");
                }
            }
        }
    }
}

/// Lines without what differs from one moment or connection to the next.
fn without_counters(text: &str) -> String {
    let is_moving = |line: &str| {
        // The two clients name themselves differently, and memory moves.
        [
            "id",
            "bytes",
            "allocat",
            "fragmentation",
            "rss",
            "overhead",
            "percentage",
            "total",
            "peak",
            "resident",
            "active",
        ]
        .iter()
        .any(|word| line.contains(word))
    };
    let lines: Vec<&str> = text.lines().collect();
    let mut kept = Vec::new();
    let mut follows = false;
    for line in lines {
        let moving = is_moving(line);
        if !moving && !follows {
            kept.push(line);
        }
        // The value may be on a line of its own.
        follows = moving;
    }
    kept.join("\n")
}

fn bytes_of(json: &Json) -> Vec<u8> {
    match json {
        Json::String(text) => text.clone().into_bytes(),
        other => STANDARD.decode(other["b64"].as_str().expect("text or b64")).expect("base64"),
    }
}

fn json_is_always_json_and_keeps_bytes(server: &Server) {
    let mut connection = server.connect();
    let mut members: Vec<Vec<u8>> = (0..=255u8).map(|byte| vec![b'x', byte]).collect();
    members.extend([b"\xff\xfe".to_vec(), b"".to_vec(), "ä\u{1f600}".into(), b"\\xff".to_vec()]);
    let words: Vec<&[u8]> = [&b"SADD"[..], b"s"].into_iter().chain(members.iter().map(Vec::as_slice)).collect();
    connection.call(&words);
    for protocol in ["resp2", "resp3"] {
        let ended = cli(server, &["--protocol", protocol, "--json", "SMEMBERS", "s"], b"");
        let read: Vec<Json> = serde_json::from_slice(&ended.stdout).expect("JSON");
        let mut read: Vec<Vec<u8>> = read.iter().map(bytes_of).collect();
        read.sort();
        members.sort();
        assert_eq!(read, members, "{protocol}");
    }
    let script = b"GET nokey\nINCR n\nGET s\nCONFIG GET maxclients\nINFO server\n";
    let ended = cli(server, &["--json", "--keep-going"], script);
    let lines: Vec<Json> = text(&ended.stdout).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines[..2], [Json::Null, json!(1)]);
    assert!(lines[2]["error"].as_str().expect("an error").starts_with("WRONGTYPE "));
    assert_eq!(lines[3], json!({ "maxclients": "10000" }));
    assert!(lines[4].as_str().expect("text").starts_with("# Server\r\n"));
    assert_eq!((lines.len(), ended.status), (5, Some(1)));
}

fn quoted_words_can_be_sent_back(server: &Server) {
    let mut runner = TestRunner::new(Config { cases: 8, failure_persistence: None, ..Config::default() });
    let members = prop::collection::btree_set(prop::collection::vec(any::<u8>(), 0..40), 1..40);
    let tried = runner.run(&members, |members| {
        let mut connection = server.connect();
        connection.ask("FLUSHALL");
        let words: Vec<&[u8]> = [&b"SADD"[..], b"s"].into_iter().chain(members.iter().map(Vec::as_slice)).collect();
        connection.call(&words);
        let shown = cli(server, &["--no-raw", "--protocol", "resp2", "SMEMBERS", "s"], b"").stdout;
        // What stands behind the numbers is a word each.
        let mut line = b"SADD copy".to_vec();
        for member in text(&shown).lines().map(|line| line.split_once(") ").expect("a number").1) {
            line.push(b' ');
            line.extend_from_slice(member.as_bytes());
        }
        let sent = cli(server, &[], &line).stdout;
        prop_assert_eq!(text(&sent), format!("{}\n", members.len()));
        prop_assert_eq!(connection.ask("SDIFF s copy").items().len(), 0);
        Ok(())
    });
    tried.unwrap_or_else(|failure| panic!("{failure}"));
}

fn arguments_come_from_standard_input(server: &Server) {
    let got = |flags: &[&str], input: &[u8]| {
        let ended = cli(server, flags, input);
        assert_eq!(ended.status, Some(0), "{flags:?}: {}", ended.stderr);
        cli(server, &["--no-raw", "GET", "k"], b"").stdout
    };
    assert_eq!(text(&got(&["-x", "SET", "k"], b"v\n")), "\"v\\n\"\n");
    assert_eq!(text(&got(&["-x", "--trim", "SET", "k"], b"v\n\n")), "\"v\\n\"\n");
    assert_eq!(text(&got(&["-x", "--trim", "SET", "k"], b"v\r\n")), "\"v\"\n");
    assert_eq!(text(&got(&["-X", "TAG", "SET", "k", "TAG"], b"v\n")), "\"v\\n\"\n");
    assert_eq!(text(&got(&["-X", "TAG", "--trim", "SET", "TAG", "x"], b"k\n")), "\"x\"\n");
    assert_eq!(cli(server, &["-X", "TAG", "SET", "k", "v"], b"x").status, Some(2));
    assert_eq!(cli(server, &["--trim", "PING"], b"").status, Some(2));
}

fn a_command_is_repeated_with_pauses(server: &Server) {
    let ended = cli(server, &["-r", "3", "-i", "0.01", "INCR", "n"], b"");
    assert_eq!((ended.status, &*text(&ended.stdout)), (Some(0), "1\n2\n3\n"));
    let refused = cli(server, &["-r", "3", "LPUSH"], b"");
    assert_eq!((refused.status, text(&refused.stdout).matches("ERR").count()), (Some(1), 1));
    let all = cli(server, &["-r", "3", "--keep-going", "NOSUCH"], b"");
    assert_eq!((all.status, text(&all.stdout).matches("ERR").count()), (Some(1), 3));
    // Without end means until somebody ends it.
    let port = server.port().to_string();
    let mut command = goblin();
    command.args(["cli", "-p", &port, "-r", "-1", "-i", "0.001", "INCR", "n"]).stdout(Stdio::piped());
    let mut child = command.spawn().expect("start goblin");
    let mut seen = [0; 64];
    child.stdout.as_mut().expect("piped").read_exact(&mut seen).expect("many replies");
    let status = Command::new("kill").args(["-s", "INT", &child.id().to_string()]).status();
    assert!(status.expect("run kill").success());
    assert_eq!(wait_for(&mut child).code(), Some(130));
}

fn a_script_stops_at_its_first_error(server: &Server) {
    let script = b"SADD s a\nGET s\nSADD s b\n";
    let stopped = cli(server, &[], script);
    assert_eq!(stopped.status, Some(1));
    assert!(text(&stopped.stdout).starts_with("1\nWRONGTYPE "), "{}", text(&stopped.stdout));
    assert_eq!(stopped.stderr, "goblin: line 2 was refused, what follows is not sent; --keep-going goes on");
    assert_eq!(server.connect().ask("SCARD s").integer(), 1);
    let all = cli(server, &["--keep-going"], script);
    assert_eq!((all.status, &*all.stderr), (Some(1), ""));
    assert_eq!(server.connect().ask("SCARD s").integer(), 2);
    // A line that is none stops it as well, and is never sent.
    let mistaken = cli(server, &[], b"SADD s c\nSADD s \"d\nSADD s e\n");
    assert_eq!((mistaken.status, &*mistaken.stderr), (Some(2), "goblin: line 2: unbalanced quotes"));
    assert_eq!(
        server.connect().ask("SMISMEMBER s c d \"\\\"d\" e").items().iter().map(|seen| seen.integer()).sum::<i64>(),
        1
    );
    let rest = cli(server, &["--keep-going"], b"SADD s \"d\nNOSUCH\nSADD s e\n");
    assert_eq!(rest.status, Some(2));
    assert!(rest.stderr.contains("line 1: unbalanced quotes"), "{}", rest.stderr);
    assert_eq!(server.connect().ask("SISMEMBER s e").integer(), 1);
}

fn nothing_is_asked_and_nothing_coloured_without_a_terminal(server: &Server) {
    let flushed = cli(server, &["FLUSHALL"], b"");
    assert_eq!((flushed.status, &*text(&flushed.stdout), &*flushed.stderr), (Some(0), "OK\n", ""));
    let script = cli(server, &[], b"SET k v\nFLUSHDB\nDBSIZE\n");
    assert_eq!((&*text(&script.stdout), &*script.stderr), ("OK\nOK\n0\n", ""));
    let plain = cli(server, &["--no-raw", "NOSUCH"], b"").stdout;
    assert!(text(&plain).starts_with("(error) ERR unknown command"), "{}", text(&plain));
    let red = cli(server, &["--no-raw", "--color", "always", "NOSUCH"], b"").stdout;
    assert!(text(&red).starts_with("\x1b[31m(error) ERR"), "{}", text(&red));
    assert!(text(&red).ends_with("\x1b[0m\n"), "{}", text(&red));
}

fn a_load_tells_its_first_errors_with_their_lines(server: &Server) {
    let mut input = String::from("SET a \"\"\nSADD s m\n");
    for _ in 0..15 {
        input += "GET s\nSET b 1\n";
    }
    input += "SET c \"open\nSUBSCRIBE x\nSET d 1";
    let ended = cli(server, &["--pipe"], input.as_bytes());
    assert_eq!((ended.status, &*text(&ended.stdout)), (Some(1), "errors: 17, replies: 33\n"));
    let lines: Vec<&str> = ended.stderr.lines().collect();
    assert_eq!(lines.len(), 11, "{lines:?}");
    assert!(lines[0].starts_with("goblin: line 3: WRONGTYPE "), "{lines:?}");
    assert!(lines[9].starts_with("goblin: line 21: WRONGTYPE "), "{lines:?}");
    assert_eq!(lines[10], "goblin: 17 errors in all");
    let mut connection = server.connect();
    assert_eq!(connection.ask("EXISTS a c d").integer(), 2);
    let few = cli(server, &["--pipe"], b"blablub\nPING\n\nSET c \"open\n");
    assert_eq!((few.status, &*text(&few.stdout)), (Some(1), "errors: 2, replies: 2\n"));
    let lines: Vec<&str> = few.stderr.lines().collect();
    assert!(lines[0].contains("line 1: ERR unknown command 'blablub'") || lines[1].contains("line 1: "), "{lines:?}");
    assert!(few.stderr.contains("goblin: line 4: unbalanced quotes"), "{lines:?}");
    let fine = cli(server, &["--pipe"], b"");
    assert_eq!((fine.status, &*text(&fine.stdout), &*fine.stderr), (Some(0), "errors: 0, replies: 0\n", ""));
}

fn a_load_takes_arrays_and_large_words(server: &Server) {
    let mut input = Vec::new();
    for number in 0..20_000 {
        let key = format!("key:{number}");
        match number % 2 {
            0 => input.extend_from_slice(format!("SADD all {key}\r\n").as_bytes()),
            _ => input.extend_from_slice(&crate::wire::frame(&["SADD", "all", &key])),
        }
    }
    let large = "x\n".repeat(10 << 20);
    input.extend_from_slice(&crate::wire::frame(&["SET", "large", &large]));
    input.extend_from_slice(b"NOSUCH\n");
    let lines = 10_000 + 10_000 * 7 + 7 + (10 << 20) + 1;
    let ended = cli(server, &["--pipe"], &input);
    assert_eq!((ended.status, &*text(&ended.stdout)), (Some(1), "errors: 1, replies: 20002\n"), "{}", ended.stderr);
    assert!(ended.stderr.starts_with(&format!("goblin: line {lines}: ERR unknown command")), "{}", ended.stderr);
    let mut connection = server.connect();
    assert_eq!(connection.ask("SCARD all").integer(), 20_000);
    assert_eq!(connection.ask("STRLEN large").integer(), 20 << 20);
}

fn a_load_that_is_cut_off_names_the_line(server: &Server) {
    let ended = cli(server, &["--pipe"], b"SET a 1\n*3\r\n$3\r\nSET\r\n$1\r\nb\r\n$100\r\ncut");
    assert_eq!((ended.status, &*text(&ended.stdout)), (Some(1), "errors: 1, replies: 1\n"));
    assert_eq!(ended.stderr, "goblin: line 2: the input ends inside this command");
    let broken = cli(server, &["--pipe"], b"*1\r\nPING\r\nSET b 1\r\n");
    assert_eq!((broken.status, &*text(&broken.stdout)), (Some(1), "errors: 1, replies: 0\n"));
    assert!(broken.stderr.starts_with("goblin: line 1: no command can be read here"), "{}", broken.stderr);
    assert_eq!(server.connect().ask("EXISTS a b").integer(), 1);
    let lost = cli(server, &["--pipe"], b"PING\nQUIT\nPING\nPING\n");
    assert_eq!(lost.status, Some(4));
    assert!(lost.stderr.starts_with("goblin: no reply to line 3 (2 replies, 0 errors before): "), "{}", lost.stderr);
}

fn a_load_never_hangs() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("bind");
    let port = listener.local_addr().expect("bound").port().to_string();
    // Greets, and then neither reads nor writes.
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("accept");
        let _ = stream.read(&mut [0; 4096]);
        let _ = stream.write_all(HELLO);
        thread::park();
    });
    let input = format!("SET k {}\n", "x".repeat(32 << 20));
    let ended = ran(&["cli", "-p", &port, "--pipe", "--pipe-timeout", "0.2"], input.as_bytes());
    assert_eq!(ended.status, Some(5), "{}", ended.stderr);
    assert!(ended.stderr.starts_with("goblin: no reply to line 1 "), "{}", ended.stderr);
    let closed = ran(&["cli", "-p", &scripted(&[HELLO, b"+OK\r\n"]), "--pipe"], b"SET a 1\nSET b 1\n");
    assert_eq!(closed.status, Some(4), "{}", closed.stderr);
    assert!(closed.stderr.starts_with("goblin: no reply to line 2 (1 replies"), "{}", closed.stderr);
}

/// The lines of JSON that it printed.
fn objects(ended: &Ended) -> Vec<Json> {
    text(&ended.stdout).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn latency_is_told_for_intervals_and_the_whole(server: &Server) {
    let ended = cli(server, &["--latency", "-i", "0.1", "-r", "2", "--json"], b"");
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    let lines = objects(&ended);
    let of = |name: &str| lines.iter().map(|line| line[name].clone()).collect::<Vec<_>>();
    assert_eq!(of("interval"), [json!(1), json!(2), json!("all")]);
    let samples: Vec<u64> = of("samples").iter().map(|count| count.as_u64().expect("a count")).collect();
    assert_eq!(samples[0] + samples[1], samples[2]);
    assert!(samples[0] > 0 && samples[1] > 0, "{samples:?}");
    for line in &lines {
        let at = |name: &str| line[name].as_f64().expect("a time");
        let times = ["min_us", "p50_us", "p99_us", "p99_9_us", "max_us"].map(at);
        assert!(times.is_sorted() && times[0] > 0.0, "{line}");
    }
    let table = cli(server, &["--latency", "-i", "0.05", "-r", "1"], b"");
    let lines: Vec<String> = text(&table.stdout).lines().map(str::to_owned).collect();
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert!(lines[0].contains("p99.9 us") && lines[2].trim_start().starts_with("all"), "{lines:?}");
}

fn ctrl_c_sums_latency_up(server: &Server) {
    let port = server.port().to_string();
    let running = Running::start(&["cli", "-p", &port, "--latency", "--json", "-i", "1000"]);
    let mut watcher = server.connect();
    while !watcher.call(&["INFO", "commandstats"]).text().contains("cmdstat_ping:calls=1") {
        thread::yield_now();
    }
    running.interrupt();
    let ended = running.end();
    assert_eq!(ended.status, Some(130), "{}", ended.stderr);
    let lines = objects(&ended);
    assert_eq!((lines.len(), &lines[0]["interval"]), (1, &json!("all")));
    assert!(lines[0]["samples"].as_u64().expect("a count") > 0);
}

fn figures_are_told_line_by_line(server: &Server) {
    // It stays, for the end of a connection is not seen at once.
    let mut other = server.connect();
    other.ask("MSET a 1 b 2");
    let ended = cli(server, &["--stat", "-i", "0.05", "-r", "2", "--json"], b"");
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    let lines = objects(&ended);
    assert_eq!(lines.len(), 2);
    assert_eq!((&lines[0]["keys"], &lines[0]["clients"]), (&json!(2), &json!(2)));
    assert!(lines[1]["requests"].as_u64() > lines[0]["requests"].as_u64());
    assert!(lines[1]["memory_bytes"].as_u64() > Some(0));
    let table = cli(server, &["--stat", "-i", "0.05", "-r", "2"], b"");
    let shown = text(&table.stdout);
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(lines.len(), 3, "{shown}");
    assert!(lines[0].contains("memory") && lines[2].contains("(+1)"), "{shown}");
    let refusing = Server::with(&["--requirepass", "x"]);
    let refused = cli(&refusing, &["--stat", "--protocol", "resp2"], b"");
    assert_eq!(refused.status, Some(1), "{}", refused.stderr);
}

/// A `goblin cli MONITOR` with these flags that is in force.
fn monitoring(server: &Server, flags: &[&str]) -> Running {
    let (port, socket) = (server.port().to_string(), server.socket());
    // SBE is spoken over the Unix socket.
    let place = if flags.contains(&"sbe") { ["-s", socket.to_str().expect("text")] } else { ["-p", &port] };
    let running = Running::start(&[&["cli"], &place[..], flags, &["MONITOR"]].concat());
    let mut watcher = server.connect();
    while !watcher.ask("CLIENT LIST").text().contains(" cmd=monitor") {
        thread::yield_now();
    }
    running
}

/// The commands that it printed, each as it stands in its line; the first line is the OK.
fn commands(ended: &Ended) -> Vec<String> {
    let printed = text(&ended.stdout);
    let mut lines = printed.lines();
    assert_eq!(lines.next(), Some("OK"), "{printed}");
    lines.map(|line| line.split_once("] ").expect("a line of MONITOR").1.to_owned()).collect()
}

fn lines_of_monitor_are_chosen_and_counted(server: &Server) {
    let socket = server.socket();
    let socket = socket.to_str().expect("text");
    let rows: [(&[&str], &[&str]); 8] = [
        (&["--command", "get"], &["\"GET\" \"user:1\"", "\"get\" \"other\""]),
        (&["--command", "CLIENT SETNAME", "--command", "echo"], &["\"CLIENT\" \"SETNAME\" \"n\"", "\"ECHO\" \"e\""]),
        (&["--key", "user:*"], &["\"GET\" \"user:1\"", "\"MGET\" \"x\" \"user:2\"", "\"SET\" \"user:3\" \"v\""]),
        (&["--key", "user:*", "--command", "MGET"], &["\"MGET\" \"x\" \"user:2\""]),
        (&["--db", "3"], &["\"SELECT\" \"3\"", "\"SET\" \"user:3\" \"v\"", "\"ECHO\" \"e\""]),
        (&["--client", "unix:*", "--command", "set"], &["\"SET\" \"unix\" \"v\""]),
        (&["--client", "127.0.0.1", "--command", "SET"], &["\"SET\" \"user:3\" \"v\""]),
        (&["--command", "DEL"], &[]),
    ];
    for (number, (flags, wanted)) in rows.into_iter().enumerate() {
        let protocol = ["resp2", "resp3", "sbe"][number % 3];
        let count = (wanted.len().max(1)).to_string();
        let flags = [&["--protocol", protocol, "--count", &count], flags].concat();
        let running = monitoring(server, &flags);
        let mut client = server.connect();
        for line in ["GET user:1", "get other", "CLIENT SETNAME n", "MGET x user:2", "PUBLISH user:c m", "SELECT 3"] {
            client.ask(line);
        }
        assert_eq!(ran(&["cli", "-s", socket, "SET", "unix", "v"], b"").status, Some(0));
        client.ask("SET user:3 v");
        client.ask("ECHO e");
        if wanted.is_empty() {
            client.ask("DEL gone");
        }
        let ended = running.end();
        let only: &[&str] = if wanted.is_empty() { &["\"DEL\" \"gone\""] } else { wanted };
        assert_eq!((ended.status, commands(&ended)), (Some(0), only.iter().map(|line| line.to_string()).collect()));
        assert_eq!(ended.stderr, "", "{flags:?}");
    }
    // A refusal is shown whatever is filtered, and ends it.
    let locked = Server::with(&["--requirepass", "x"]);
    let refused = cli(&locked, &["--protocol", "resp2", "--key", "k", "MONITOR"], b"");
    assert_eq!((refused.status, text(&refused.stdout).starts_with("NOAUTH")), (Some(1), true));
    let unfit = cli(server, &["--key", "k", "GET", "k"], b"");
    assert_eq!(unfit.status, Some(2));
    assert!(unfit.stderr.starts_with("goblin: --command, --key"), "{}", unfit.stderr);
}

fn lines_of_monitor_may_hold_anything(server: &Server) {
    let mut client = server.connect();
    let every = crate::app::every_byte();
    // Each byte is written as four, and what does not fit is cut: the longest word of the longest line.
    let long = vec![0xff; 3 << 20];
    for protocol in ["resp2", "resp3", "sbe"] {
        let flags = ["--protocol", protocol, "--key", "*\\\\*", "--db", "0", "--count", "2"];
        let running = monitoring(server, &flags);
        client.call(&[&b"SET"[..], b"k] \"x", &long]);
        client.call(&[&b"SET"[..], &every, b"] \"GET\" \"k\""]);
        client.call(&[&b"SET"[..], b"a\\b", &long]);
        let ended = running.end();
        let lines = commands(&ended);
        assert_eq!((ended.status, lines.len(), &*ended.stderr), (Some(0), 2, ""), "{protocol}");
        assert!(lines[0].starts_with("\"SET\" \"\\x00\\x01"), "{protocol}: {}", &lines[0]);
        assert!(lines[1].starts_with("\"SET\" \"a\\\\b\" \"\\xff") && lines[1].len() > 4 << 20, "{protocol}");
    }
    // An address may look like the end of one.
    let folder = Folder::new();
    let path = folder.path().join("s] \"GET\" \"k");
    let path = path.to_str().expect("text");
    let odd = Server::with(&["--unixsocket", path]);
    assert_eq!(ran(&["cli", "-s", path, "PING"], b"").stdout, b"PONG\n");
    let running = monitoring(&odd, &["--key", "found", "--client", "unix:*GET*", "--count", "1"]);
    assert_eq!(ran(&["cli", "-s", path, "GET", "found"], b"").status, Some(0));
    let ended = running.end();
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    assert!(text(&ended.stdout).ends_with("] \"GET\" \"found\"\n"), "{}", text(&ended.stdout));
}
