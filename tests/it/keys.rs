//! Commands about keys of any type: presence, expiry, iteration, databases.

use std::collections::BTreeSet;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::suite::{Need, Suite, tests};
use crate::talk::Talk;
use crate::wire::Value;

/// Registers this module's tests.
pub fn tests(suite: &mut Suite) {
    tests!(suite, on_every_road, Need::Nothing;
        del_unlink_and_exists_count_keys,
        expire_sets_a_deadline_under_conditions,
        expire_in_the_past_deletes,
        deadlines_are_read_back_in_every_unit,
        expired_keys_are_absent_on_every_path,
        expired_keys_nobody_touches_leave_memory,
        writing_keeps_or_drops_the_deadline,
        keys_matches_globs,
        scan_visits_every_key_and_filters,
        scan_checks_its_arguments,
        object_encoding_names_the_form,
        databases_are_apart,
        flushing_one_database_leaves_the_others,
        swapdb_exchanges_what_all_connections_see,
        keys_may_be_any_bytes,
    );
}

/// Now, in ms since 1970.
fn unix_ms() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock after 1970").as_millis() as i64
}

fn del_unlink_and_exists_count_keys(talk: &mut Talk) {
    talk.transcript(
        r#"
        MSET a 1 b 2 c 3      -> OK
        EXISTS a b a zz       -> 3
        DEL a zz a            -> 1
        UNLINK b c zz         -> 2
        EXISTS a b c          -> 0
        TYPE a                -> none
        DBSIZE                -> 0
        DEL                   -> -ERR wrong number of arguments for 'del' command
        UNLINK                -> -ERR wrong number of arguments for 'unlink' command
        EXISTS                -> -ERR wrong number of arguments for 'exists' command
        "#,
    );
}

fn expire_sets_a_deadline_under_conditions(talk: &mut Talk) {
    talk.transcript(
        r#"
        SET k v                   -> OK
        EXPIRE absent 10          -> 0
        EXPIRE k 100 XX           -> 0
        EXPIRE k 100 GT           -> 0
        EXPIRE k 100 NX           -> 1
        EXPIRE k 200 NX           -> 0
        EXPIRE k 50 GT            -> 0
        EXPIRE k 200 gt           -> 1
        EXPIRE k 300 LT           -> 0
        EXPIRE k 100 LT           -> 1
        EXPIRE k 50 XX GT         -> 0
        PERSIST k                 -> 1
        PERSIST k                 -> 0
        PERSIST absent            -> 0
        EXPIRE k 100 LT           -> 1
        PEXPIRE k 100000 NX       -> 0
        EXPIRE k 100 NX XX        -> -ERR NX and XX, GT or LT options at the same time are not compatible
        EXPIRE k 100 GT LT        -> -ERR GT and LT options at the same time are not compatible
        EXPIRE k 100 ZZ           -> -ERR Unsupported option ZZ
        EXPIRE k x                -> -ERR value is not an integer or out of range
        EXPIRE k 9223372036854775807      -> -ERR invalid expire time in 'expire' command
        PEXPIRE k 9223372036854775807     -> -ERR invalid expire time in 'pexpire' command
        EXPIREAT k 9223372036854775807    -> -ERR invalid expire time in 'expireat' command
        EXPIRE k -9223372036854775808     -> -ERR invalid expire time in 'expire' command
        EXPIRE k                  -> -ERR wrong number of arguments for 'expire' command
        "#,
    );
}

fn expire_in_the_past_deletes(talk: &mut Talk) {
    for command in ["EXPIRE k -1", "EXPIRE k 0", "PEXPIRE k 0", "EXPIREAT k 1", "PEXPIREAT k 1000"] {
        talk.check("SET k v", "OK");
        talk.check(command, "1");
        talk.check("EXISTS k", "0");
        talk.check("DBSIZE", "0");
    }
}

fn deadlines_are_read_back_in_every_unit(talk: &mut Talk) {
    talk.transcript(
        r#"
        SET k v           -> OK
        TTL k             -> -1
        PTTL k            -> -1
        TTL absent        -> -2
        PTTL absent       -> -2
        EXPIRE k 1000     -> 1
        "#,
    );
    assert!((990..=1000).contains(&talk.ask("TTL k").integer()));
    assert!((990_000..=1_000_000).contains(&talk.ask("PTTL k").integer()));
    let deadline_ms = unix_ms() + 500_000;
    talk.check(&format!("PEXPIREAT k {deadline_ms}"), "1");
    assert!((480_000..=500_000).contains(&talk.ask("PTTL k").integer()));
    talk.check(&format!("EXPIREAT k {}", deadline_ms / 1000), "1");
    assert!((480..=500).contains(&talk.ask("TTL k").integer()));
}

/// Waits until a key with a short deadline is gone as `EXISTS` sees it.
fn wait_until_gone(talk: &mut Talk, key: &str) {
    let start = std::time::Instant::now();
    while talk.ask(&format!("EXISTS {key}")).integer() == 1 {
        assert!(start.elapsed() < crate::wire::WATCHDOG, "{key} does not expire");
    }
}

fn expired_keys_are_absent_on_every_path(talk: &mut Talk) {
    // Without the sweep, only what a command itself notices counts.
    talk.check("DEBUG SET-ACTIVE-EXPIRE 0", "OK");
    let observers = [
        ("GET k", "nil"),
        ("MGET k", "[nil]"),
        ("TYPE k", "none"),
        ("TTL k", "-2"),
        ("PERSIST k", "0"),
        ("EXPIRE k 100", "0"),
        ("DEL k", "0"),
        ("UNLINK k", "0"),
        ("KEYS *", "[\"clock\"]"),
        ("OBJECT ENCODING k", "nil"),
        ("SET k w XX", "nil"),
        ("SET k w GET", "nil"),
        ("INCR k", "1"),
        ("SADD k a", "1"),
        ("SMEMBERS k", "[]"),
        ("SINTERSTORE d k", "0"),
        ("SMOVE k d a", "0"),
    ];
    for (command, wanted) in observers {
        talk.ask("FLUSHALL");
        talk.transcript("SET k 41 PX 1 -> OK\nSET clock 1 PX 3 -> OK");
        wait_until_gone(talk, "clock");
        if command == "KEYS *" {
            talk.check("SET clock 1", "OK");
        }
        talk.check(command, wanted);
    }
    talk.ask("FLUSHALL");
    talk.transcript("SADD s a -> 1\nPEXPIRE s 1 -> 1\nSET clock 1 PX 3 -> OK");
    wait_until_gone(talk, "clock");
    talk.check("SCARD s", "0");
    assert_eq!(talk.ask("SCAN 0 COUNT 100").items()[1], Value::Array(Vec::new()), "SCAN does not show expired keys");
}

fn expired_keys_nobody_touches_leave_memory(talk: &mut Talk) {
    for n in 0..200 {
        talk.ask(&format!("SET k:{n} v PX 1"));
    }
    let start = std::time::Instant::now();
    while talk.ask("DBSIZE").integer() > 0 {
        assert!(start.elapsed() < crate::wire::WATCHDOG, "expired keys are never swept");
    }
}

fn writing_keeps_or_drops_the_deadline(talk: &mut Talk) {
    talk.transcript(
        r#"
        SET k 1 EX 1000       -> OK
        INCR k                -> 2
        PERSIST k             -> 1
        SET k 1 EX 1000       -> OK
        SET k 2               -> OK
        TTL k                 -> -1
        SET k 1 EX 1000       -> OK
        SET k 2 KEEPTTL       -> OK
        PERSIST k             -> 1
        SADD s a              -> 1
        EXPIRE s 1000         -> 1
        SADD s b              -> 1
        SREM s a              -> 1
        PERSIST s             -> 1
        "#,
    );
}

fn keys_matches_globs(talk: &mut Talk) {
    talk.transcript(
        r#"
        MSET hello 1 hallo 2 hxllo 3 heeello 4 a*b 5 "" 6     -> OK
        KEYS h?llo            -> {"hallo", "hello", "hxllo"}
        KEYS h*llo            -> {"hallo", "heeello", "hello", "hxllo"}
        KEYS h[ae]llo         -> {"hallo", "hello"}
        KEYS h[^e]llo         -> {"hallo", "hxllo"}
        KEYS h[a-f]llo        -> {"hallo", "hello"}
        KEYS a\*b             -> ["a*b"]
        KEYS ""               -> [""]
        KEYS [                -> []
        KEYS                  -> -ERR wrong number of arguments for 'keys' command
        "#,
    );
    assert_eq!(talk.ask("KEYS *").items().len(), 6);
}

fn scan_visits_every_key_and_filters(talk: &mut Talk) {
    for chunk in (0..1200).collect::<Vec<_>>().chunks(100) {
        let pairs: Vec<String> = chunk.iter().map(|n| format!("key:{n} {n}")).collect();
        talk.check(&format!("MSET {}", pairs.join(" ")), "OK");
    }
    talk.transcript("SADD set:1 a -> 1\nSADD set:2 a -> 1");
    let scan = |talk: &mut Talk, options: &str| {
        let (mut cursor, mut seen) = ("0".to_owned(), Vec::new());
        loop {
            let page = talk.ask(&format!("SCAN {cursor} {options}")).items();
            seen.extend(page[1].items().iter().map(Value::text));
            cursor = page[0].text();
            if cursor == "0" {
                return seen;
            }
            assert!(seen.len() < 5000, "the scan does not end");
        }
    };
    for options in ["", "COUNT 1", "COUNT 3000"] {
        let seen = scan(talk, options);
        assert_eq!(seen.iter().collect::<BTreeSet<_>>().len(), 1202, "SCAN {options}");
        assert_eq!(seen.len(), 1202, "SCAN {options}: no duplicates while nothing changes");
    }
    let mut sets = scan(talk, "TYPE set");
    sets.sort();
    assert_eq!(sets, ["set:1", "set:2"]);
    assert_eq!(scan(talk, "MATCH key:1?9 COUNT 50").len(), 10);
    assert_eq!(scan(talk, "MATCH key:* TYPE STRING COUNT 500").len(), 1200);
    assert!(scan(talk, "TYPE nosuchtype").is_empty());
}

fn scan_checks_its_arguments(talk: &mut Talk) {
    talk.transcript(
        r#"
        SCAN                  -> -ERR wrong number of arguments for 'scan' command
        SCAN x                -> -ERR invalid cursor
        SCAN -1               -> -ERR invalid cursor
        SCAN 18446744073709551616     -> -ERR invalid cursor
        SCAN 0 COUNT 0        -> -ERR syntax error
        SCAN 0 COUNT x        -> -ERR value is not an integer or out of range
        SCAN 0 COUNT          -> -ERR syntax error
        SCAN 0 MATCH          -> -ERR syntax error
        SCAN 0 FOO 1          -> -ERR syntax error
        SCAN 0                -> ["0", []]
        "#,
    );
}

fn object_encoding_names_the_form(talk: &mut Talk) {
    let long = "x".repeat(45);
    talk.transcript(
        r#"
        SET n 12345           -> OK
        OBJECT ENCODING n     -> "int"
        SET short text        -> OK
        OBJECT ENCODING short -> "embstr"
        SET zero 01           -> OK
        OBJECT ENCODING zero  -> "embstr"
        OBJECT ENCODING absent        -> nil
        OBJECT                -> -ERR wrong number of arguments for 'object' command
        OBJECT NOPE x         -> -ERR unknown subcommand 'NOPE'. Try OBJECT HELP.
        OBJECT ENCODING       -> -ERR wrong number of arguments for 'object|encoding' command
        "#,
    );
    talk.check(&format!("SET long {long}"), "OK");
    talk.check("OBJECT ENCODING long", "\"raw\"");
}

fn databases_are_apart(talk: &mut Talk) {
    talk.transcript(
        r#"
        SET k zero            -> OK
        SELECT 1              -> OK
        GET k                 -> nil
        SADD k one            -> 1
        DBSIZE                -> 1
        SELECT 15             -> OK
        DBSIZE                -> 0
        SELECT 16             -> -ERR DB index is out of range
        SELECT -1             -> -ERR DB index is out of range
        SELECT x              -> -ERR value is not an integer or out of range
        SELECT                -> -ERR wrong number of arguments for 'select' command
        DBSIZE                -> 0
        SELECT 0              -> OK
        GET k                 -> "zero"
        B> GET k              -> "zero"
        B> SELECT 1           -> OK
        B> SMEMBERS k         -> ["one"]
        "#,
    );
}

fn swapdb_exchanges_what_all_connections_see(talk: &mut Talk) {
    talk.transcript(
        r#"
        SET k zero                -> OK
        B> SELECT 3               -> OK
        B> SET k three            -> OK
        B> SET l three            -> OK
        SWAPDB 0 3                -> OK
        MGET k l                  -> ["three", "three"]
        B> MGET k l               -> ["zero", nil]
        SWAPDB 0 0                -> OK
        DBSIZE                    -> 2
        SWAPDB 0                  -> -ERR wrong number of arguments for 'swapdb' command
        SWAPDB x y                -> -ERR invalid first DB index
        SWAPDB 16 y               -> -ERR invalid second DB index
        SWAPDB 99999999999 0      -> -ERR invalid first DB index
        SWAPDB 16 0               -> -ERR DB index is out of range
        SWAPDB 0 -1               -> -ERR DB index is out of range
        "#,
    );
    // A watch is broken by a key that was there or is there now, on either side, and by nothing else.
    for (watched, broken) in [("k", true), ("l", true), ("m", false)] {
        talk.transcript(&format!("B> WATCH {watched} -> OK\nSWAPDB 3 0 -> OK\nB> MULTI -> OK"));
        let answer = talk.on('B').call(&["EXEC"]);
        assert_eq!(answer.to_string() == "nil", broken, "{watched}: {answer}");
    }
}

fn flushing_one_database_leaves_the_others(talk: &mut Talk) {
    talk.transcript(
        r#"
        SET k 0               -> OK
        SELECT 1              -> OK
        SET k 1               -> OK
        FLUSHDB               -> OK
        DBSIZE                -> 0
        SELECT 0              -> OK
        DBSIZE                -> 1
        SET j 0               -> OK
        FLUSHDB ASYNC         -> OK
        SET k 0               -> OK
        SELECT 2              -> OK
        FLUSHALL SYNC         -> OK
        SELECT 0              -> OK
        DBSIZE                -> 0
        FLUSHALL NOW          -> -ERR syntax error
        FLUSHDB SYNC ASYNC    -> -ERR syntax error
        "#,
    );
}

fn keys_may_be_any_bytes(talk: &mut Talk) {
    let names: Vec<Vec<u8>> = vec![
        Vec::new(),
        vec![0],
        b"\r\n".to_vec(),
        b"get".to_vec(),
        b"MULTI".to_vec(),
        (0..=255).collect(),
        vec![b'k'; 100_000],
    ];
    for name in &names {
        assert_eq!(talk.on('A').call(&[&b"SET"[..], name, name]).text(), "OK");
    }
    for name in &names {
        assert_eq!(talk.on('A').call(&[&b"GET"[..], name]).bytes(), &name[..]);
        assert_eq!(talk.on('A').call(&[&b"EXISTS"[..], name, name]).integer(), 2);
    }
    let listed = talk.ask("KEYS *").items();
    assert_eq!(listed.iter().map(|key| key.bytes().to_vec()).collect::<BTreeSet<_>>().len(), names.len());
}
