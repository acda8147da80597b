//! What the server tells about itself: MONITOR, SLOWLOG, LATENCY, MEMORY, INFO, CONFIG REWRITE and their like.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use crate::road::{Folder, Program, Server};
use crate::suite::{Need, Suite, tests};
use crate::talk::Talk;
use crate::wire::{Connection, Value, shown as shown_bytes};

/// Registers this module's tests.
pub fn tests(suite: &mut Suite) {
    tests!(suite, on_every_road, Need::Nothing;
        a_monitor_sees_its_own_commands_after_their_replies,
        a_monitor_may_not_touch_keys,
        reset_ends_a_monitor,
        monitor_is_refused_in_a_transaction,
        the_slow_log_is_bounded_and_can_be_emptied,
        slow_log_requests_are_checked,
        spikes_of_latency_are_kept_by_event,
        latency_requests_are_checked,
        memory_requests_are_checked,
        tracking_is_off_and_says_so,
        lists_of_commands_are_filtered,
        a_server_without_a_file_rewrites_none,
    );
    tests!(suite, on_every_resp_road, Need::Nothing;
        monitors_see_what_ran_and_no_secret,
        the_slow_log_keeps_commands_and_no_secret,
    );
    tests!(suite, on_every_road_to_a_server, Need::Nothing;
        a_monitor_shows_in_the_list_of_clients,
        durations_are_counted_in_doubling_steps,
        percentiles_follow_their_settings,
        info_has_the_sections_of_redis,
        commands_inside_exec_have_times_of_their_own,
    );
    tests!(suite, on_every_road, Need::Goblin; lolwut_tells_the_version);
    tests!(suite, on_every_resp_road_to_a_server, Need::Goblin;
        memory_stats_add_up,
    );
    let reference = Program::reference().map(|_| ()).ok_or("no redis-server 8.2.3 is here".to_owned());
    tests!(suite, plain, Need::Present(reference); the_same_lines_get_the_bytes_of_redis);
    tests!(suite, plain, Need::Goblin;
        a_slow_monitor_is_cut_and_counted,
        monitor_lines_are_bounded,
        memory_usage_counts_what_a_key_takes,
        a_redis_conf_is_rewritten_in_place,
        a_toml_file_is_rewritten_in_place,
        a_file_that_cannot_be_written_is_left_alone,
    );
}

/// What every server answers alike, state and time aside.
const SAME: &str = "
SLOWLOG
SLOWLOG GET x
SLOWLOG GET -2
SLOWLOG GET 9223372036854775808
SLOWLOG GET 0
SLOWLOG GET 1 2
SLOWLOG LEN
SLOWLOG LEN x
SLOWLOG RESET
SLOWLOG RESET x
SLOWLOG GET
SLOWLOG NOSUCH
LATENCY
LATENCY LATEST
LATENCY LATEST x
LATENCY HISTORY
LATENCY HISTORY command
LATENCY GRAPH command
LATENCY GRAPH a b
LATENCY RESET
LATENCY RESET a b c
LATENCY HISTOGRAM nosuch
LATENCY HISTOGRAM spop
LATENCY HISTOGRAM nosuch|x spop|y
LATENCY DOCTOR x
MEMORY
MEMORY USAGE
MEMORY USAGE nokey
MEMORY USAGE nokey SAMPLES 5
MEMORY USAGE nokey SAMPLES
MEMORY USAGE nokey SAMPLES x
MEMORY USAGE nokey SAMPLES -1
MEMORY USAGE nokey SAMPLES 5 SAMPLES 6
MEMORY USAGE nokey NOPE 5
MEMORY STATS x
MEMORY DOCTOR x
MEMORY PURGE
MEMORY PURGE x
MEMORY MALLOC-STATS x
CLIENT UNBLOCK
CLIENT UNBLOCK x
CLIENT UNBLOCK 1
CLIENT UNBLOCK -1
CLIENT UNBLOCK x x
CLIENT UNBLOCK 1 timeout
CLIENT UNBLOCK 1 ERROR
CLIENT UNBLOCK 1 ERROR x
CLIENT GETREDIR
CLIENT GETREDIR x
CLIENT TRACKINGINFO
CLIENT TRACKINGINFO x
CLIENT CACHING
CLIENT CACHING yes
CLIENT CACHING x
CLIENT CACHING yes x
CLIENT TRACKING x
CLIENT TRACKING x NOPE
CLIENT TRACKING OFF BCAST
CLIENT TRACKING OFF OPTIN OPTOUT NOLOOP
CLIENT TRACKING OFF REDIRECT
CLIENT TRACKING OFF REDIRECT x
CLIENT TRACKING OFF REDIRECT 99999
CLIENT TRACKING OFF REDIRECT 99999 NOPE
CLIENT TRACKING OFF PREFIX
CLIENT TRACKING OFF PREFIX a
CLIENT TRACKING OFF NOPE
CONFIG REWRITE
CONFIG REWRITE x
LOLWUT VERSION x
LOLWUT VERSION 9223372036854775808
MONITOR x
MULTI
MONITOR
EXEC
INFO nosuch
COMMAND LIST FILTERBY
COMMAND LIST FILTERBY MODULE x
COMMAND LIST FILTERBY ACLCAT nosuch
COMMAND LIST FILTERBY PATTERN smismember
COMMAND LIST FILTERBY x y
MONITOR
GET k
SET k v
PUBLISH c m
DBSIZE
RESET
GET k
";

fn the_same_lines_get_the_bytes_of_redis() {
    let servers = [Server::start(), Server::of(&Program::reference().expect("checked before"), &[])];
    for resp in ["2", "3"] {
        let mut connections = servers.each_ref().map(Server::connect);
        for connection in &mut connections {
            connection.call(&["HELLO", resp]);
        }
        for line in SAME.lines().filter(|line| !line.is_empty()) {
            let words: Vec<&str> = line.split(' ').collect();
            let [ours, theirs] = connections.each_mut().map(|connection| {
                connection.request(&words);
                shown_bytes(&connection.value_bytes().1)
            });
            assert_eq!(ours, theirs, "RESP{resp}: {line}");
        }
    }
}

/// The part of a monitor's line that does not depend on time and place: the database and the words.
fn shown(value: &Value) -> String {
    let line = value.text();
    let (time, rest) = line.split_once(" [").unwrap_or_else(|| panic!("no line of a monitor: {line}"));
    let (seconds, micros) = time.split_once('.').expect("seconds and microseconds");
    assert!(seconds.parse::<u64>().is_ok() && micros.len() == 6 && micros.parse::<u32>().is_ok(), "{line}");
    let (from, words) = rest.split_once("] ").expect("the origin in brackets");
    let (db, origin) = from.split_once(' ').expect("a database and an origin");
    assert!(!origin.is_empty(), "{line}");
    format!("{db} {words}")
}

fn monitors_see_what_ran_and_no_secret(talk: &mut Talk) {
    talk.transcript("A> SELECT 0 -> OK\nM> MONITOR -> OK");
    let said = [
        (r#"set k "v\x00\xff\"\\\r\n\t""#, &[r#"0 "set" "k" "v\x00\xff\"\\\r\n\t""#][..]),
        ("AUTH default s3cret", &[r#"0 "AUTH" "(redacted)" "(redacted)""#]),
        ("HELLO 2 AUTH joe s3cret SETNAME n", &[r#"0 "HELLO" "2" "AUTH" "(redacted)" "(redacted)" "SETNAME" "n""#]),
        ("SELECT 3", &[r#"3 "SELECT" "3""#]),
        // What only operators send is not shown, nor what never ran.
        ("CONFIG SET requirepass ''", &[]),
        ("SLOWLOG LEN", &[]),
        ("NOSUCH x", &[]),
        ("GET", &[]),
        ("SET a b NOPE", &[r#"3 "SET" "a" "b" "NOPE""#]),
        ("MULTI", &[r#"3 "MULTI""#]),
        ("GET k", &[]),
        ("CONFIG GET nosuch", &[]),
        ("exec", &[r#"3 "GET" "k""#, r#"3 "exec""#]),
        ("MULTI", &[r#"3 "MULTI""#]),
        ("NOSUCH", &[]),
        ("EXEC", &[r#"3 "EXEC""#]),
        ("ECHO end", &[r#"3 "ECHO" "end""#]),
    ];
    for (line, lines) in said {
        talk.ask(line);
        for wanted in lines {
            assert_eq!(shown(&talk.on('M').value()), *wanted, "after {line}");
        }
    }
}

fn a_monitor_sees_its_own_commands_after_their_replies(talk: &mut Talk) {
    talk.transcript("M> MONITOR -> OK\nM> PING -> PONG");
    assert_eq!(shown(&talk.on('M').value()), r#"0 "PING""#);
    talk.transcript("M> MULTI -> OK");
    assert_eq!(shown(&talk.on('M').value()), r#"0 "MULTI""#);
    talk.transcript("M> PING -> QUEUED\nM> EXEC -> [PONG]");
    assert_eq!(shown(&talk.on('M').value()), r#"0 "PING""#);
    assert_eq!(shown(&talk.on('M').value()), r#"0 "EXEC""#);
    // Asked for again it says nothing: the next reply is that of PING.
    talk.on('M').request(&["MONITOR"]);
    talk.transcript("M> PING -> PONG");
}

fn a_monitor_may_not_touch_keys(talk: &mut Talk) {
    talk.transcript(
        r#"
        A> SET k v      -> OK
        M> MONITOR      -> OK
        M> GET k        -> -ERR Replica can't interact with the keyspace
        M> SET k w      -> -ERR Replica can't interact with the keyspace
        M> DBSIZE       -> -ERR Replica can't interact with the keyspace
        M> PUBLISH c m  -> -ERR Replica can't interact with the keyspace
        M> LOLWUT       -> -ERR Replica can't interact with the keyspace
        M> MULTI        -> OK
        "#,
    );
    assert_eq!(shown(&talk.on('M').value()), r#"0 "MULTI""#);
    talk.transcript("M> GET k -> -ERR Replica can't interact with the keyspace\nM> EXEC -> -EXECABORT...");
}

fn reset_ends_a_monitor(talk: &mut Talk) {
    talk.transcript("M> MONITOR -> OK\nM> RESET -> RESET\nA> PING -> PONG\nM> PING -> PONG\nM> GET nokey -> nil");
}

fn monitor_is_refused_in_a_transaction(talk: &mut Talk) {
    talk.transcript(
        r#"
        MULTI    -> OK
        MONITOR  -> QUEUED
        EXEC     -> [-ERR MONITOR isn't allowed for DENY BLOCKING client]
        PING     -> PONG
        GET k    -> nil
        MONITOR x -> -ERR wrong number of arguments for 'monitor' command
        "#,
    );
}

fn a_monitor_shows_in_the_list_of_clients(talk: &mut Talk) {
    talk.transcript("M> CLIENT SETNAME watcher -> OK\nM> MONITOR -> OK");
    let list = talk.ask("CLIENT LIST TYPE normal").text();
    let line = list.lines().find(|line| line.contains(" name=watcher ")).expect("monitors count as normal clients");
    assert!(line.contains(" flags=O"), "{line}");
}

/// Entries of the slow log without number, time and duration, the oldest first.
fn slow(talk: &mut Talk) -> Vec<Vec<String>> {
    let entries = talk.ask("SLOWLOG GET -1").items();
    let words = |entry: &Value| entry.items()[3].items().iter().map(Value::text).collect();
    entries.iter().rev().map(words).collect()
}

fn the_slow_log_keeps_commands_and_no_secret(talk: &mut Talk) {
    talk.transcript("CLIENT SETNAME me -> OK\nCONFIG SET slowlog-log-slower-than 0 -> OK\nSLOWLOG RESET -> OK");
    talk.ask("SET k v");
    talk.ask("AUTH default s3cret");
    talk.ask("HELLO 2 AUTH joe s3cret");
    talk.ask("CONFIG SET masterauth s3cret hz 10");
    talk.ask("NOSUCH");
    talk.ask("GET");
    talk.ask("SET k v NOPE");
    talk.transcript("MULTI -> OK\nGET k -> QUEUED\nEXEC -> [\"v\"]");
    let long = "x".repeat(200);
    talk.ask(&format!("SET k {long}"));
    talk.ask(&format!("DEL {}", (1..=40).map(|n| n.to_string()).collect::<Vec<_>>().join(" ")));
    talk.transcript("CONFIG SET slowlog-log-slower-than -1 -> OK");
    let cut = format!("SET k {}... (72 more bytes)", "x".repeat(128));
    let many = (1..=30).map(|n| n.to_string()).collect::<Vec<_>>().join(" ");
    let expected = [
        "SLOWLOG RESET",
        "SET k v",
        "AUTH (redacted) (redacted)",
        "HELLO 2 AUTH (redacted) (redacted)",
        "CONFIG SET masterauth (redacted) hz 10",
        "SET k v NOPE",
        "MULTI",
        "GET k",
        &cut,
        &format!("DEL {many} ... (10 more arguments)"),
    ];
    let found: Vec<String> = slow(talk).iter().map(|words| words.join(" ")).collect();
    // The command that ended it came to an end while nothing was kept any more.
    assert_eq!(found, expected);
    let entries = talk.ask("SLOWLOG GET 1").items();
    let entry = entries[0].items();
    assert!(entry[0].integer() > 0 && entry[1].integer() > 1_500_000_000 && entry[2].integer() >= 0);
    assert_eq!((entry.len(), entry[5].text()), (6, "me".to_owned()));
}

fn the_slow_log_is_bounded_and_can_be_emptied(talk: &mut Talk) {
    talk.transcript("CONFIG SET slowlog-log-slower-than 0 -> OK\nCONFIG SET slowlog-max-len 3 -> OK");
    talk.transcript("PING -> PONG\nPING -> PONG\nPING -> PONG\nPING -> PONG\nSLOWLOG LEN -> 3");
    let number = |talk: &mut Talk| talk.ask("SLOWLOG GET").items()[0].items()[0].integer();
    let before = number(talk);
    talk.transcript("SLOWLOG RESET -> OK");
    // The request that emptied it is the first of the new ones, and numbers go on.
    assert_eq!(number(talk), before + 2);
    talk.transcript("CONFIG SET slowlog-max-len 0 -> OK");
    let (entries, last) = (talk.ask("SLOWLOG LEN").integer(), number(talk));
    talk.transcript("PING -> PONG");
    assert_eq!((talk.ask("SLOWLOG LEN").integer(), number(talk)), (entries, last), "nothing is kept any more");
    talk.transcript("CONFIG SET slowlog-log-slower-than 10000 slowlog-max-len 128 -> OK\nSLOWLOG RESET -> OK");
    talk.transcript("DEBUG SLEEP 0.011 -> OK\nPING -> PONG\nSLOWLOG LEN -> 1");
    let entry = talk.ask("SLOWLOG GET").items()[0].items();
    assert!(entry[2].integer() >= 10_000, "{entry:?}");
    assert_eq!(slow(talk), [["DEBUG", "SLEEP", "0.011"]]);
}

fn slow_log_requests_are_checked(talk: &mut Talk) {
    talk.transcript(
        r#"
        SLOWLOG                          -> -ERR wrong number of arguments for 'slowlog' command
        SLOWLOG NOSUCH                   -> -ERR unknown subcommand 'NOSUCH'. Try SLOWLOG HELP.
        SLOWLOG GET x                    -> -ERR count should be greater than or equal to -1
        SLOWLOG GET -2                   -> -ERR count should be greater than or equal to -1
        SLOWLOG GET 9223372036854775808  -> -ERR count should be greater than or equal to -1
        SLOWLOG GET 1 2                  -> -ERR unknown subcommand or wrong number of arguments for 'GET'. Try SLOWLOG HELP.
        SLOWLOG GET 0                    -> []
        SLOWLOG GET 9223372036854775807  -> []
        SLOWLOG LEN x                    -> -ERR wrong number of arguments for 'slowlog|len' command
        SLOWLOG RESET x                  -> -ERR wrong number of arguments for 'slowlog|reset' command
        SLOWLOG HELP x                   -> -ERR wrong number of arguments for 'slowlog|help' command
        SLOWLOG LEN                      -> 0
        "#,
    );
}

fn spikes_of_latency_are_kept_by_event(talk: &mut Talk) {
    talk.transcript("LATENCY LATEST -> []\nDEBUG SLEEP 0.006 -> OK\nLATENCY LATEST -> []");
    talk.transcript("CONFIG SET latency-monitor-threshold 5 -> OK\nDEBUG SLEEP 0.006 -> OK");
    let latest = talk.ask("LATENCY LATEST").items();
    let event = latest.iter().find(|event| event.items()[0].text() == "command").expect("DEBUG is a command").items();
    assert_eq!(event.len(), 4);
    let (last, worst) = (event[2].integer(), event[3].integer());
    assert!(last >= 6 && worst >= last, "{event:?}");
    let history = talk.ask("LATENCY HISTORY command").items();
    assert_eq!(history.last().expect("a spike").items()[1].integer(), last);
    let graph = talk.ask("LATENCY GRAPH command").text();
    let head = format!("ms (all time high {worst} ms)\n{}\n", "-".repeat(80));
    assert!(graph.starts_with("command - high ") && graph.contains(&head), "{graph}");
    assert_eq!(graph.lines().skip(2).count(), 6 + graph.lines().last().map_or(0, |_| 1), "{graph}");
    assert!(talk.ask("LATENCY DOCTOR").text().contains("command: "));
    talk.transcript("LATENCY RESET nosuch -> 0\nLATENCY RESET command nosuch -> 1\nLATENCY HISTORY command -> []");
}

fn latency_requests_are_checked(talk: &mut Talk) {
    talk.transcript(
        r#"
        LATENCY                    -> -ERR wrong number of arguments for 'latency' command
        LATENCY NOSUCH             -> -ERR unknown subcommand 'NOSUCH'. Try LATENCY HELP.
        LATENCY LATEST x           -> -ERR wrong number of arguments for 'latency|latest' command
        LATENCY HISTORY            -> -ERR wrong number of arguments for 'latency|history' command
        LATENCY HISTORY nosuch     -> []
        LATENCY GRAPH nosuch       -> -ERR No samples available for event 'nosuch'
        LATENCY RESET              -> 0
        LATENCY RESET a b          -> 0
        LATENCY HISTOGRAM nosuch   -> []
        LATENCY HISTOGRAM spop     -> []
        LATENCY DOCTOR x           -> -ERR wrong number of arguments for 'latency|doctor' command
        "#,
    );
    let help = talk.ask("LATENCY HELP").items();
    assert_eq!(help[0].text(), "LATENCY <subcommand> [<arg> [value] [opt] ...]. Subcommands are:");
}

fn durations_are_counted_in_doubling_steps(talk: &mut Talk) {
    talk.transcript("CONFIG RESETSTAT -> OK\nSET k v -> OK\nGET k -> \"v\"\nGET k -> \"v\"\nGET -> -ERR...");
    talk.transcript("DEBUG SLEEP 0.005 -> OK\nDEBUG SLEEP 0.005 -> OK\nCLIENT ID -> ...\nCLIENT GETNAME -> nil");
    let told = talk.ask("LATENCY HISTOGRAM get GET client|id nosuch debug").items();
    let names: Vec<String> = told.iter().step_by(2).map(Value::text).collect();
    assert_eq!(names, ["get", "get", "client|id", "debug"]);
    let fields = told[1].items();
    assert_eq!((fields[0].text(), fields[1].integer(), fields[2].text()), ("calls".into(), 2, "histogram_usec".into()));
    // 5 ms lie above the step of 4,227 us; steps are cumulative, and the last counts all.
    let steps: Vec<i64> = told[7].items()[3].items().iter().map(Value::integer).collect();
    assert!(steps[0] >= 8454 && *steps.last().expect("a step") == 2, "{steps:?}");
    let known = [8454, 16908, 33816, 67633, 135_266, 270_532, 541_065, 1_073_741];
    assert!(steps.iter().step_by(2).all(|step| known.contains(step)), "{steps:?}");
    // A container stands for its subcommands.
    let told = talk.ask("LATENCY HISTOGRAM client").items();
    let mut names: Vec<String> = told.iter().step_by(2).map(Value::text).collect();
    names.sort();
    assert_eq!(names, ["client|getname", "client|id"]);
    if talk.resp() == 3 {
        assert!(matches!(talk.ask("LATENCY HISTOGRAM get"), Value::Map(_)));
    }
}

fn percentiles_follow_their_settings(talk: &mut Talk) {
    let line = |talk: &mut Talk| {
        let info = talk.ask("INFO latencystats").text();
        assert!(info.starts_with("# Latencystats\r\n"), "{info}");
        let found = info.lines().find_map(|line| line.strip_prefix("latency_percentiles_usec_debug:"));
        found.unwrap_or("none").to_owned()
    };
    talk.transcript("CONFIG RESETSTAT -> OK\nDEBUG SLEEP 0.003 -> OK");
    let told = line(talk);
    let durations: Vec<f64> = told.split(',').map(|pair| pair.split_once('=').unwrap().1.parse().unwrap()).collect();
    assert!(told.starts_with("p50=") && told.contains(",p99=") && told.contains(",p99.9="), "{told}");
    assert!(durations.iter().all(|us| *us >= 3000.0) && durations.len() == 3, "{told}");
    talk.transcript("CONFIG SET latency-tracking-info-percentiles '0 75.5 100' -> OK");
    let told = line(talk);
    assert!(told.starts_with("p0=") && told.contains(",p75.5=") && told.contains(",p100="), "{told}");
    talk.transcript("CONFIG SET latency-tracking-info-percentiles '' -> OK");
    assert_eq!(line(talk), "");
    talk.transcript("CONFIG SET latency-tracking no -> OK\nDEBUG SLEEP 0 -> OK");
    assert_eq!(talk.ask("INFO latencystats").text(), "# Latencystats\r\n");
    // What was measured before is still told, and no more is added.
    assert_eq!(talk.ask("LATENCY HISTOGRAM debug").items()[1].items()[1].integer(), 1);
    talk.transcript("CONFIG SET latency-tracking yes -> OK\nCONFIG RESETSTAT -> OK\nLATENCY HISTOGRAM debug -> []");
}

fn commands_inside_exec_have_times_of_their_own(talk: &mut Talk) {
    talk.transcript(
        "CONFIG RESETSTAT -> OK\nMULTI -> OK\nDEBUG SLEEP 0.004 -> QUEUED\nPING -> QUEUED\nEXEC -> [OK, PONG]",
    );
    let us = |talk: &mut Talk, command: &str| {
        let info = talk.ask("INFO commandstats").text();
        let line = info.lines().find(|line| line.starts_with(&format!("cmdstat_{command}:"))).expect("a line");
        let us = line.split(',').find_map(|part| part.strip_prefix("usec=")).expect("usec");
        us.parse::<u64>().expect("a number")
    };
    let (debug, exec) = (us(talk, "debug"), us(talk, "exec"));
    assert!(debug >= 4000 && exec >= debug, "debug {debug}, exec {exec}");
    assert_eq!(talk.ask("LATENCY HISTOGRAM debug").items()[1].items()[1].integer(), 1);
}

fn info_has_the_sections_of_redis(talk: &mut Talk) {
    let sections = |talk: &mut Talk, line: &str| -> Vec<String> {
        let info = talk.ask(line).text();
        info.lines().filter_map(|line| line.strip_prefix("# ")).map(str::to_lowercase).collect()
    };
    let by_default = [
        "server",
        "clients",
        "memory",
        "persistence",
        "threads",
        "stats",
        "replication",
        "cpu",
        "modules",
        "errorstats",
    ];
    for line in ["INFO", "INFO default"] {
        let found = sections(talk, line);
        assert!(by_default.iter().all(|section| found.iter().any(|found| found == section)), "{line}: {found:?}");
        assert!(!found.iter().any(|section| ["commandstats", "latencystats"].contains(&&**section)), "{line}");
    }
    for line in ["INFO all", "INFO everything", "info ALL"] {
        let found = sections(talk, line);
        let more = ["commandstats", "latencystats", "cluster", "keyspace"];
        assert!(by_default.iter().chain(&more).all(|section| found.iter().any(|found| found == section)), "{found:?}");
    }
    assert_eq!(sections(talk, "INFO latencystats"), ["latencystats"]);
    assert_eq!(sections(talk, "INFO Server CLIENTS nosuch"), ["server", "clients"]);
    assert_eq!(sections(talk, "INFO nosuch"), [""; 0]);
    let info = talk.ask("INFO all").text();
    for name in [
        "monotonic_clock",
        "clients_in_timeout_table",
        "allocator_frag_ratio",
        "allocator_muzzy",
        "rss_overhead_bytes",
        "used_memory_vm_total_human",
        "rdb_last_bgsave_time_sec",
        "io_thread_0",
        "expired_time_cap_reached_count",
        "tracking_total_items",
        "instantaneous_eventloop_cycles_per_sec",
        "acl_access_denied_cmd",
        "repl_backlog_histlen",
        "used_cpu_user_main_thread",
        "latency_percentiles_usec_info",
    ] {
        assert!(info.contains(&format!("\r\n{name}:")), "no {name} in {info}");
    }
}

fn memory_requests_are_checked(talk: &mut Talk) {
    talk.transcript(
        r#"
        SET k v                  -> OK
        MEMORY USAGE nokey       -> nil
        MEMORY USAGE k SAMPLES   -> -ERR syntax error
        MEMORY USAGE k SAMPLES x -> -ERR value is not an integer or out of range
        MEMORY USAGE k SAMPLES -1 -> -ERR syntax error
        MEMORY USAGE k NOPE 5    -> -ERR syntax error
        MEMORY USAGE nokey NOPE 5 -> -ERR syntax error
        MEMORY USAGE             -> -ERR wrong number of arguments for 'memory|usage' command
        MEMORY PURGE             -> OK
        MEMORY PURGE x           -> -ERR wrong number of arguments for 'memory|purge' command
        MEMORY NOSUCH            -> -ERR unknown subcommand 'NOSUCH'. Try MEMORY HELP.
        "#,
    );
    // A key that is due takes memory until somebody looks at it, and this is no look.
    talk.transcript("DEBUG SET-ACTIVE-EXPIRE 0 -> OK\nSET due v PXAT 1 -> OK");
    assert!(talk.ask("MEMORY USAGE due").integer() > 0);
    talk.transcript("GET due -> nil\nMEMORY USAGE due -> nil\nDEBUG SET-ACTIVE-EXPIRE 1 -> OK");
    let usage = talk.ask("MEMORY USAGE k").integer();
    assert_eq!(talk.ask("MEMORY USAGE k SAMPLES 0 SAMPLES 9").integer(), usage);
    assert!((8..200).contains(&usage), "{usage}");
    assert!(!talk.ask("MEMORY DOCTOR").text().is_empty());
    talk.ask("MEMORY MALLOC-STATS").text();
}

/// A field of a map, however it came.
fn field(map: &Value, name: &str) -> Value {
    let items = map.items();
    let found = items.chunks(2).find(|pair| pair[0].text() == name);
    found.unwrap_or_else(|| panic!("no {name} in {map}"))[1].clone()
}

fn memory_stats_add_up(talk: &mut Talk) {
    talk.transcript("SET k v -> OK\nSET l v EX 1000 -> OK\nSELECT 3 -> OK\nSET k v -> OK");
    let stats = talk.ask("MEMORY STATS");
    let number = |name: &str| field(&stats, name).integer();
    assert_eq!(number("keys.count"), 3);
    assert!(number("peak.allocated") >= number("total.allocated"));
    assert!(number("total.allocated") > number("startup.allocated"));
    assert!(number("overhead.total") + number("dataset.bytes") >= number("total.allocated"));
    for db in ["db.0", "db.3"] {
        let of = field(&stats, db);
        assert!(field(&of, "overhead.hashtable.main").integer() > 0, "{of}");
        assert_eq!(field(&of, "overhead.hashtable.expires").integer() > 0, db == "db.0", "{of}");
    }
    let percentage = field(&stats, "peak.percentage").flat().text();
    assert!(percentage.parse::<f64>().is_ok_and(|percent| percent > 0.0 && percent <= 100.1), "{percentage}");
    for name in [
        "replication.backlog",
        "replica.fullsync.buffer",
        "clients.slaves",
        "clients.normal",
        "cluster.links",
        "aof.buffer",
        "lua.caches",
        "functions.caches",
        "script.VMs",
        "overhead.db.hashtable.lut",
        "overhead.db.hashtable.rehashing",
        "db.dict.rehashing.count",
        "keys.bytes-per-key",
        "dataset.percentage",
        "allocator.allocated",
        "allocator.active",
        "allocator.resident",
        "allocator.muzzy",
        "allocator-fragmentation.ratio",
        "allocator-fragmentation.bytes",
        "allocator-rss.ratio",
        "allocator-rss.bytes",
        "rss-overhead.ratio",
        "rss-overhead.bytes",
        "fragmentation",
        "fragmentation.bytes",
    ] {
        field(&stats, name);
    }
    if talk.resp() == 3 {
        assert!(matches!(field(&stats, "fragmentation"), Value::Double(_)));
    }
}

fn memory_usage_counts_what_a_key_takes() {
    let server = Server::start();
    let mut client = server.connect();
    let members: Vec<String> = (0..50_000).map(|number| format!("member-of-sixteen-{number}")).collect();
    let used = |client: &mut Connection| field(&client.ask("MEMORY STATS"), "total.allocated").integer();
    let before = used(&mut client);
    for part in members.chunks(1000) {
        let words: Vec<&str> = ["SADD", "s"].into_iter().chain(part.iter().map(String::as_str)).collect();
        assert_eq!(client.call(&words).integer(), 1000);
    }
    let (grown, usage) = (used(&mut client) - before, client.ask("MEMORY USAGE s").integer());
    // The allocator rounds sizes up; buffers come and go.
    let difference = (grown - usage).abs();
    assert!(difference < usage / 4, "the server grew by {grown} bytes, MEMORY USAGE tells {usage}");
}

fn tracking_is_off_and_says_so(talk: &mut Talk) {
    talk.transcript(
        r#"
        CLIENT GETREDIR                    -> -1
        CLIENT TRACKINGINFO                -> ["flags", ["off"], "redirect", -1, "prefixes", []]
        CLIENT CACHING yes                 -> -ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or OPTOUT mode enabled
        CLIENT CACHING x                   -> -ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or OPTOUT mode enabled
        CLIENT CACHING                     -> -ERR wrong number of arguments for 'client|caching' command
        CLIENT TRACKING OFF                -> OK
        CLIENT TRACKING OFF BCAST PREFIX a -> OK
        CLIENT TRACKING OFF NOPE           -> -ERR syntax error
        CLIENT TRACKING x NOPE             -> -ERR syntax error
        CLIENT TRACKING OFF REDIRECT x     -> -ERR value is not an integer or out of range
        CLIENT TRACKING OFF REDIRECT 99999 -> -ERR The client ID you want redirect to does not exist
        CLIENT UNBLOCK x                   -> -ERR value is not an integer or out of range
        CLIENT UNBLOCK 99999               -> 0
        CLIENT UNBLOCK 99999 TIMEOUT       -> 0
        CLIENT UNBLOCK 99999 error         -> 0
        CLIENT UNBLOCK 99999 x             -> -ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR
        "#,
    );
    let id = talk.ask("CLIENT ID").integer();
    talk.check(&format!("CLIENT UNBLOCK {id}"), "0");
    talk.check(&format!("CLIENT TRACKING OFF REDIRECT {id}"), "OK");
    talk.check(
        &format!("CLIENT TRACKING OFF REDIRECT {id} REDIRECT {id}"),
        "-ERR A client can only redirect to a single other client",
    );
}

fn lolwut_tells_the_version(talk: &mut Talk) {
    talk.transcript("LOLWUT VERSION x -> -ERR value is not an integer or out of range");
    for line in ["LOLWUT", "LOLWUT VERSION 1", "LOLWUT VERSION 99", "lolwut version 99 1 2", "LOLWUT VERSION"] {
        let text = talk.ask(line).text();
        let last = text.lines().last().unwrap_or_default();
        assert!(last.contains(" ver. ") && text.ends_with('\n'), "{line}: {text}");
    }
    assert_eq!(talk.ask("LOLWUT VERSION 99").text().lines().count(), 1);
}

fn lists_of_commands_are_filtered(talk: &mut Talk) {
    talk.transcript(
        r#"
        COMMAND LIST FILTERBY                  -> -ERR syntax error
        COMMAND LIST FILTERBY MODULE           -> -ERR syntax error
        COMMAND LIST FILTERBY x y              -> -ERR syntax error
        COMMAND LIST FILTERBY MODULE x         -> []
        COMMAND LIST FILTERBY ACLCAT nosuch    -> []
        COMMAND LIST FILTERBY PATTERN slowlog|* -> {"slowlog|get", "slowlog|help", "slowlog|len", "slowlog|reset"}
        COMMAND LIST FILTERBY PATTERN SLOWLOG  -> ["slowlog"]
        "#,
    );
}

fn a_server_without_a_file_rewrites_none(talk: &mut Talk) {
    talk.transcript(
        "CONFIG REWRITE -> -ERR The server is running without a config file\n\
         CONFIG REWRITE x -> -ERR wrong number of arguments for 'config|rewrite' command",
    );
}

fn a_slow_monitor_is_cut_and_counted() {
    let server = Server::with(&["--set", "client-output-buffer-limit=normal 0 0 0 replica 1000000 0 0"]);
    let mut monitor = server.connect();
    assert_eq!(monitor.ask("MONITOR").text(), "OK");
    let mut client = server.connect();
    let value = "x".repeat(64 * 1024);
    // It reads nothing; a socket holds some megabytes.
    for _ in 0..1000 {
        client.call(&["SET", "k", &value]);
    }
    let info = client.call(&["INFO", "stats"]).text();
    assert!(info.contains("client_output_buffer_limit_disconnections:1\r\n"), "{info}");
    let list = client.call(&["CLIENT", "LIST"]).text();
    assert_eq!(list.lines().count(), 1, "{list}");
    monitor.rest();
}

fn monitor_lines_are_bounded() {
    let server = Server::start();
    let mut monitor = server.connect();
    assert_eq!(monitor.ask("MONITOR").text(), "OK");
    let mut client = server.connect();
    let value = "x".repeat(3 << 20);
    assert_eq!(client.call(&["SET", "k", &value]).text(), "OK");
    let line = monitor.value().text();
    assert!(line.ends_with(&format!("... ({} more bytes)\"", 2 << 20)) && line.len() < (1 << 20) + 200);
    client.call(&["DEL", &value[..1 << 20], "b", "c"]);
    assert!(monitor.value().text().ends_with(" \"... (2 more arguments)\""));
}

/// A server with this configuration file in a folder of its own.
fn with_file(folder: &Path, name: &str, content: &str) -> (Server, PathBuf) {
    let path = folder.join(name);
    fs::write(&path, content).expect("write the file");
    (Server::with(&["--config", path.to_str().expect("UTF-8")]), path)
}

/// Port, socket and addresses come from flags of the test, which a rewrite writes into the file as Redis does.
fn without_places(text: &str) -> String {
    let places = ["port", "unixsocket", "enable-debug-command", "bind"];
    let is_place = |line: &&str| places.iter().any(|place| line.split([' ', '=']).next() == Some(place));
    text.lines().filter(|line| !is_place(line)).map(|line| format!("{line}\n")).collect()
}

fn a_redis_conf_is_rewritten_in_place() {
    let folder = Folder::new();
    let old = "# kept\n\nmaxclients 100\n  hz   20\n# also kept\nactivedefrag yes\n";
    let target = folder.path().join("real.conf");
    let link = folder.path().join("goblin.conf");
    fs::write(&target, old).expect("write");
    fs::set_permissions(&target, fs::Permissions::from_mode(0o640)).expect("mode");
    symlink(&target, &link).expect("link");
    let link = link.to_str().expect("UTF-8").to_owned();
    let server = Server::with(&["--config", &link, "--config-lenient"]);
    let mut client = server.connect();
    for pair in [["maxclients", "90"], ["slowlog-max-len", "7"], ["requirepass", "a b"]] {
        assert_eq!(client.call(&["CONFIG", "SET", pair[0], pair[1]]).text(), "OK");
    }
    assert_eq!(client.ask("CONFIG REWRITE").text(), "OK");
    let new = fs::read_to_string(&target).expect("the file");
    let expected = "# kept\n\nmaxclients 90\n  hz   20\n# also kept\nactivedefrag yes\n# Generated by CONFIG REWRITE\n\
                    requirepass \"a b\"\nslowlog-max-len 7\n";
    assert_eq!(without_places(&new), expected);
    assert_eq!(fs::metadata(&target).expect("metadata").permissions().mode() & 0o777, 0o640);
    assert!(fs::symlink_metadata(&link).expect("metadata").is_symlink(), "the link stays a link");
    // Twice changes nothing, and a new start finds what was set.
    assert_eq!(client.ask("CONFIG REWRITE").text(), "OK");
    assert_eq!(fs::read_to_string(&target).expect("the file"), new);
    drop(server);
    let server = Server::with(&["--config", &link, "--config-lenient"]);
    let mut client = server.connect();
    assert_eq!(client.call(&["AUTH", "a b"]).text(), "OK");
    assert_eq!(client.ask("CONFIG GET slowlog-max-len").items()[1].text(), "7");
}

fn a_toml_file_is_rewritten_in_place() {
    let folder = Folder::new();
    let (server, path) = with_file(folder.path(), "goblin.toml", "# kept\nhz = 20 # often\ntimeout = 5\n");
    let mut client = server.connect();
    assert_eq!(client.ask("CONFIG SET hz 30 latency-tracking no").text(), "OK");
    assert_eq!(client.ask("CONFIG REWRITE").text(), "OK");
    let new = without_places(&fs::read_to_string(&path).expect("the file"));
    assert_eq!(new, "# kept\nhz = 30 # often\ntimeout = 5\n# Generated by CONFIG REWRITE\nlatency-tracking = false\n");
    let names: Vec<_> =
        fs::read_dir(folder.path()).expect("the folder").flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(names, ["goblin.toml"], "nothing is left beside it");
}

fn a_file_that_cannot_be_written_is_left_alone() {
    let folder = Folder::new();
    let (server, path) = with_file(folder.path(), "goblin.conf", "hz 20\n");
    let mut client = server.connect();
    fs::write(&path, "hz x\n").expect("write");
    let refused = client.ask("CONFIG REWRITE").text();
    assert!(refused.starts_with("ERR Rewriting config file: ") && refused.contains(":1: hz x"), "{refused}");
    assert_eq!(fs::read_to_string(&path).expect("the file"), "hz x\n");
    // A file that is gone is written anew.
    fs::remove_file(&path).expect("remove");
    assert_eq!(client.ask("CONFIG REWRITE").text(), "OK");
    assert!(fs::read_to_string(&path).expect("the file").contains("\nhz 20\n"));
}
