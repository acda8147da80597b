//! The memory limit: what is refused, what is evicted, and that nothing half done is left behind.

use crate::suite::{Need, Suite, tests};
use crate::talk::Talk;

/// Registers this module's tests.
pub fn tests(suite: &mut Suite) {
    tests!(suite, on_every_road_to_a_server, Need::Nothing;
        over_the_limit_only_what_needs_memory_is_refused,
        a_transaction_is_refused_as_a_whole,
        eviction_makes_room_and_is_told,
        only_keys_with_a_deadline_go_under_volatile_policies,
        the_longest_unused_and_the_least_used_go_first,
    );
    tests!(suite, on_every_road_to_a_server, Need::Goblin;
        the_next_to_expire_goes_first,
        the_limit_is_never_passed,
    );
}

fn used(talk: &mut Talk) -> u64 {
    field(talk, "memory", "used_memory")
}

fn field(talk: &mut Talk, section: &str, name: &str) -> u64 {
    let info = talk.on('I').call(&["INFO", section]).text();
    let value = info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    value.unwrap_or_else(|| panic!("no {name} in {info}")).parse().expect("a number")
}

fn limit(talk: &mut Talk, bytes: u64) {
    let reply = talk.on('L').call(&["CONFIG", "SET", "maxmemory", &bytes.to_string()]);
    assert!(!reply.is_error(), "{reply}");
}

/// Sets keys `name:0` to `name:count-1` with a value of 100 bytes.
fn fill(talk: &mut Talk, name: &str, count: usize) {
    let value = "v".repeat(100);
    for at in 0..count {
        talk.on('A').request(&["SET", &format!("{name}:{at}"), &value]);
    }
    for _ in 0..count {
        assert_eq!(talk.on('A').value().text(), "OK");
    }
}

fn over_the_limit_only_what_needs_memory_is_refused(talk: &mut Talk) {
    talk.transcript("SET k v -> OK\nSADD s a b -> 2\nCONFIG SET maxmemory 1 -> OK");
    talk.transcript(
        r#"
        SET k w                   -> -OOM command not allowed when used memory > 'maxmemory'.
        SADD s c                  -> -OOM command not allowed when used memory > 'maxmemory'.
        COPY s t                  -> -OOM command not allowed when used memory > 'maxmemory'.
        SINTERSTORE t s           -> -OOM command not allowed when used memory > 'maxmemory'.
        INCR n                    -> -OOM command not allowed when used memory > 'maxmemory'.
        SET k                     -> -ERR wrong number of arguments for 'set' command
        GET k                     -> "v"
        SREM s a                  -> 1
        SMEMBERS s                -> ["b"]
        RENAME s t                -> OK
        EXPIRE k 100              -> 1
        PUBLISH c m               -> 0
        DEL t                     -> 1
        CONFIG SET maxmemory 0    -> OK
        SET k w                   -> OK
        INFO nosuch               -> ""
        "#,
    );
    assert_eq!(field(talk, "stats", "evicted_keys"), 0);
}

fn a_transaction_is_refused_as_a_whole(talk: &mut Talk) {
    talk.transcript(
        r#"
        CONFIG SET maxmemory 1    -> OK
        MULTI                     -> OK
        GET k                     -> QUEUED
        SET k v                   -> -OOM command not allowed when used memory > 'maxmemory'.
        EXEC                      -> -EXECABORT Transaction discarded because of previous errors.
        MULTI                     -> OK
        PING                      -> QUEUED
        EXEC                      -> [PONG]
        CONFIG SET maxmemory 0    -> OK
        MULTI                     -> OK
        SET k v                   -> QUEUED
        B> CONFIG SET maxmemory 1 -> OK
        EXEC                      -> -EXECABORT Transaction discarded because of: OOM command not allowed when used memory > 'maxmemory'.
        EXEC                      -> -ERR EXEC without MULTI
        B> CONFIG SET maxmemory 0 -> OK
        EXISTS k                  -> 0
        "#,
    );
}

fn eviction_makes_room_and_is_told(talk: &mut Talk) {
    fill(talk, "key", 500);
    talk.transcript(
        r#"
        CONFIG SET notify-keyspace-events Ee          -> OK
        CONFIG SET maxmemory-policy allkeys-random    -> OK
        E> PSUBSCRIBE *                               -> ["psubscribe", "*", 1]
        "#,
    );
    limit(talk, 1);
    for _ in 0..500 {
        let event = talk.on('E').value().items();
        assert_eq!(event[2].text(), "__keyevent@0__:evicted");
        assert!(event[3].text().starts_with("key:"));
    }
    // With nothing left to give up, it is as without eviction.
    talk.transcript("DBSIZE -> 0\nSET k v -> -OOM command not allowed when used memory > 'maxmemory'.\nPING -> PONG");
    assert_eq!(field(talk, "stats", "evicted_keys"), 500);
}

fn only_keys_with_a_deadline_go_under_volatile_policies(talk: &mut Talk) {
    for policy in ["volatile-lru", "volatile-lfu", "volatile-random", "volatile-ttl"] {
        limit(talk, 0);
        talk.transcript("FLUSHALL -> OK\nSELECT 0 -> OK");
        fill(talk, "lasting", 1000);
        talk.transcript(
            "SELECT 5 -> OK\nSET brief v EX 1000 -> OK\nSADD t a -> 1\nEXPIRE t 1000 -> 1\nSET kept v -> OK",
        );
        talk.ask(&format!("CONFIG SET maxmemory-policy {policy}"));
        limit(talk, 1);
        talk.transcript(
            "SET k v -> -OOM command not allowed when used memory > 'maxmemory'.\nEXISTS brief t kept -> 1",
        );
        talk.transcript("DBSIZE -> 1\nSELECT 0 -> OK\nDBSIZE -> 1000");
    }
}

fn the_longest_unused_and_the_least_used_go_first(talk: &mut Talk) {
    // Both read only how often a key was used: an hour need not pass.
    talk.transcript("CONFIG SET maxmemory-policy allkeys-lfu maxmemory-samples 10 lfu-log-factor 0 -> OK");
    fill(talk, "hot", 200);
    for _ in 0..20 {
        for at in 0..200 {
            talk.on('A').request(&["GET", &format!("hot:{at}")]);
        }
        for _ in 0..200 {
            talk.on('A').value();
        }
    }
    fill(talk, "cold", 2000);
    let bytes = used(talk);
    limit(talk, bytes);
    fill(talk, "more", 500);
    let left = (0..200).filter(|at| talk.ask(&format!("EXISTS hot:{at}")).integer() == 1).count();
    let evicted = field(talk, "stats", "evicted_keys");
    assert!(evicted >= 300, "{evicted} evicted");
    assert!(left >= 190, "{left} of 200 hot keys left");
}

fn the_next_to_expire_goes_first(talk: &mut Talk) {
    talk.transcript("CONFIG SET maxmemory-policy volatile-ttl maxmemory-samples 10 -> OK");
    let value = "v".repeat(100);
    // More of those that go first than are ever evicted here: a table that grows makes room for itself, too.
    for at in 0..2500 {
        let seconds = if at < 500 { 100_000 } else { 1_000 };
        talk.on('A').call(&["SET", &format!("key:{at}"), &value, "EX", &seconds.to_string()]);
    }
    let bytes = used(talk);
    limit(talk, bytes);
    for at in 0..300 {
        talk.on('A').call(&["SET", &format!("late:{at}"), &value, "EX", "100000"]);
    }
    let left = (0..500).filter(|at| talk.ask(&format!("EXISTS key:{at}")).integer() == 1).count();
    let evicted = field(talk, "stats", "evicted_keys");
    assert!(evicted >= 200, "{evicted} evicted");
    assert!(left >= 490, "{left} of the 500 that live longer are left, {evicted} evicted");
}

fn the_limit_is_never_passed(talk: &mut Talk) {
    // Once a page of replies was sent, buffers are as large as they get.
    fill(talk, "key", 100);
    let bytes = used(talk) + 200_000;
    limit(talk, bytes);
    let large = "x".repeat(150_000);
    talk.transcript("SADD s a -> 1");
    let mut refused = 0;
    for at in 0..20 {
        let reply = talk.on('A').call(&["SET", &format!("large:{at}"), &large]);
        refused += usize::from(reply.is_error());
        let now = used(talk);
        assert!(now <= bytes, "{now} bytes used of {bytes}");
    }
    assert!(refused >= 18, "{refused} of 20 refused");
}
