//! String commands: SET with all its options, counters, many keys at once.

use crate::suite::{Need, Suite, tests};
use crate::talk::Talk;

/// Registers this module's tests.
pub fn tests(suite: &mut Suite) {
    tests!(suite, on_every_road, Need::Nothing;
        set_and_get_hold_any_bytes,
        set_conditions_decide_on_presence,
        set_get_answers_the_old_value,
        set_options_are_checked,
        set_deadlines_take_every_unit,
        setex_and_psetex_need_a_positive_time,
        counters_stay_inside_64_bits,
        mset_and_mget_work_on_many_keys,
        string_commands_refuse_a_set,
        large_values_come_back_whole,
    );
}

fn set_and_get_hold_any_bytes(talk: &mut Talk) {
    let value: Vec<u8> = (0..=255).collect();
    assert_eq!(talk.on('A').call(&[&b"SET"[..], b"k", &value]).text(), "OK");
    assert_eq!(talk.on('A').call(&[&b"GET"[..], b"k"]).bytes(), &value[..]);
    talk.transcript(
        r#"
        SET k ""              -> OK
        GET k                 -> ""
        GET absent            -> nil
        GET                   -> -ERR wrong number of arguments for 'get' command
        SET k                 -> -ERR wrong number of arguments for 'set' command
        "#,
    );
}

fn set_conditions_decide_on_presence(talk: &mut Talk) {
    talk.transcript(
        r#"
        SET k 1 XX            -> nil
        SET k 1 NX            -> OK
        SET k 2 nx            -> nil
        GET k                 -> "1"
        SET k 2 xx            -> OK
        GET k                 -> "2"
        SET k 3 NX XX         -> -ERR syntax error
        "#,
    );
}

fn set_get_answers_the_old_value(talk: &mut Talk) {
    talk.transcript(
        r#"
        SET k 1 GET           -> nil
        SET k 2 GET           -> "1"
        SET k 3 NX GET        -> "2"
        GET k                 -> "2"
        SET j 1 XX GET        -> nil
        EXISTS j              -> 0
        SET k 4 XX GET EX 100 -> "2"
        PERSIST k             -> 1
        SADD s a              -> 1
        SET s x GET           -> -WRONGTYPE Operation against a key holding the wrong kind of value
        TYPE s                -> set
        SET s x               -> OK
        TYPE s                -> string
        "#,
    );
}

fn set_options_are_checked(talk: &mut Talk) {
    for options in ["ZZ", "EX", "PX", "EX 10 PX 10", "EX 10 KEEPTTL", "KEEPTTL EXAT 99", "EXAT", "PXAT"] {
        talk.check(&format!("SET k v {options}"), "-ERR syntax error");
    }
    for options in ["EX x", "PX 1.5", "EX +1", "PXAT 99999999999999999999"] {
        talk.check(&format!("SET k v {options}"), "-ERR value is not an integer or out of range");
    }
    for options in ["EX 0", "EX -1", "PX 0", "EXAT 0", "PXAT -5", "EX 9223372036854775807", "EXAT 9223372036854775807"]
    {
        talk.check(&format!("SET k v {options}"), "-ERR invalid expire time in 'set' command");
    }
    talk.check("EXISTS k", "0");
}

fn set_deadlines_take_every_unit(talk: &mut Talk) {
    talk.check("SET k v EX 100", "OK");
    assert!((95..=100).contains(&talk.ask("TTL k").integer()));
    talk.check("SET k v PX 100000", "OK");
    assert!((95_000..=100_000).contains(&talk.ask("PTTL k").integer()));
    talk.check("SET k v EXAT 33177117420", "OK");
    assert!(talk.ask("TTL k").integer() > 1_000_000_000);
    talk.check("SET k v PXAT 33177117420000", "OK");
    assert!(talk.ask("PTTL k").integer() > 1_000_000_000_000);
    talk.check("SET k v PXAT 1", "OK");
    talk.check("EXISTS k", "0");
    talk.check("SET k v EXAT 1 GET", "nil");
    talk.check("EXISTS k", "0");
}

fn setex_and_psetex_need_a_positive_time(talk: &mut Talk) {
    talk.transcript(
        r#"
        SETEX k 100 v         -> OK
        GET k                 -> "v"
        PERSIST k             -> 1
        PSETEX k 100000 w     -> OK
        PERSIST k             -> 1
        SETEX k 0 v           -> -ERR invalid expire time in 'setex' command
        SETEX k -1 v          -> -ERR invalid expire time in 'setex' command
        PSETEX k 0 v          -> -ERR invalid expire time in 'psetex' command
        SETEX k x v           -> -ERR value is not an integer or out of range
        SETEX k 10            -> -ERR wrong number of arguments for 'setex' command
        GET k                 -> "w"
        SADD s a              -> 1
        SETEX s 100 v         -> OK
        GET s                 -> "v"
        "#,
    );
}

fn counters_stay_inside_64_bits(talk: &mut Talk) {
    talk.transcript(
        r#"
        INCR n                        -> 1
        INCR n                        -> 2
        DECR n                        -> 1
        DECR m                        -> -1
        GET n                         -> "1"
        OBJECT ENCODING n             -> "int"
        SET n 9223372036854775806     -> OK
        INCR n                        -> 9223372036854775807
        INCR n                        -> -ERR increment or decrement would overflow
        SET n -9223372036854775807    -> OK
        DECR n                        -> -9223372036854775808
        DECR n                        -> -ERR increment or decrement would overflow
        SET n " 1"                    -> OK
        INCR n                        -> -ERR value is not an integer or out of range
        SET n 01                      -> OK
        INCR n                        -> -ERR value is not an integer or out of range
        SET n ""                      -> OK
        INCR n                        -> -ERR value is not an integer or out of range
        INCR                          -> -ERR wrong number of arguments for 'incr' command
        DECR a b                      -> -ERR wrong number of arguments for 'decr' command
        INCRBY by 40                  -> 40
        INCRBY by -50                 -> -10
        DECRBY by -20                 -> 10
        DECRBY by 9223372036854775807 -> -9223372036854775797
        DECRBY by 12                  -> -ERR increment or decrement would overflow
        DECRBY by -9223372036854775808 -> -ERR decrement would overflow
        INCRBY by 1.0                 -> -ERR value is not an integer or out of range
        INCRBY by                     -> -ERR wrong number of arguments for 'incrby' command
        "#,
    );
}

fn mset_and_mget_work_on_many_keys(talk: &mut Talk) {
    talk.transcript(
        r#"
        MSET a 1 b 2 a 3      -> OK
        MGET a b absent a     -> ["3", "2", nil, "3"]
        SADD s x              -> 1
        MGET s a              -> [nil, "3"]
        MSET s text           -> OK
        GET s                 -> "text"
        MSET a 1 b            -> -ERR wrong number of arguments for 'mset' command
        MSET                  -> -ERR wrong number of arguments for 'mset' command
        MGET                  -> -ERR wrong number of arguments for 'mget' command
        EXPIRE a 1000         -> 1
        MSET a 5              -> OK
        TTL a                 -> -1
        "#,
    );
}

fn string_commands_refuse_a_set(talk: &mut Talk) {
    talk.check("SADD s a", "1");
    for command in ["GET s", "INCR s", "DECR s"] {
        talk.check(command, "-WRONGTYPE Operation against a key holding the wrong kind of value");
    }
}

fn large_values_come_back_whole(talk: &mut Talk) {
    for len in [16_383, 16_384, 16_385, 65_535, 65_536, 65_537, 1 << 20, 9 << 20] {
        let value: Vec<u8> = (0..len).map(|n| (n % 251) as u8).collect();
        assert_eq!(talk.on('A').call(&[&b"SET"[..], b"k", &value]).text(), "OK");
        assert!(talk.on('A').call(&[&b"GET"[..], b"k"]).bytes() == &value[..], "{len} bytes differ");
        talk.check("EXISTS k", "1");
    }
}
