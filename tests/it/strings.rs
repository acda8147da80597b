//! String commands: SET with all its options, counters, many keys at once, parts of strings.

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
        a_value_is_taken_while_another_is_put,
        getex_changes_the_time_to_live,
        setnx_and_msetnx_store_only_what_is_new,
        append_makes_a_string_longer,
        parts_are_read_by_either_end,
        setrange_overwrites_and_pads,
        incrbyfloat_counts_as_a_long_double,
        incrbyfloat_reads_what_the_c_library_reads,
        lcs_finds_what_redis_finds,
        changes_of_a_large_value_leave_its_replies_alone,
    );
    tests!(suite, on_every_road_to_a_server, Need::Nothing;
        events_of_string_commands_come_in_order,
        lcs_is_bounded,
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
    for command in [
        "GET s",
        "INCR s",
        "DECR s",
        "GETSET s x",
        "GETDEL s",
        "GETEX s",
        "GETEX s EX x",
        "APPEND s x",
        "STRLEN s",
        "GETRANGE s 0 1",
        "SUBSTR s 0 1",
        "SETRANGE s 0 x",
        "SETRANGE s 0 \"\"",
        "SETRANGE s 536870912 x",
        "INCRBYFLOAT s x",
    ] {
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

fn a_value_is_taken_while_another_is_put(talk: &mut Talk) {
    talk.transcript(
        r#"
        GETSET k 1            -> nil
        GETSET k x            -> "1"
        EXPIRE k 1000         -> 1
        GETSET k 2            -> "x"
        TTL k                 -> -1
        OBJECT ENCODING k     -> "int"
        GETDEL k              -> "2"
        GETDEL k              -> nil
        EXISTS k              -> 0
        GETSET k              -> -ERR wrong number of arguments for 'getset' command
        GETDEL k x            -> -ERR wrong number of arguments for 'getdel' command
        "#,
    );
}

fn getex_changes_the_time_to_live(talk: &mut Talk) {
    talk.transcript(
        r#"
        SET k v               -> OK
        GETEX k               -> "v"
        GETEX k EX 1000       -> "v"
        GETEX k               -> "v"
        PERSIST k             -> 1
        GETEX k px 1000000 PX 2000000 -> "v"
        GETEX k PERSIST persist -> "v"
        TTL k                 -> -1
        GETEX k EXAT 33177117420 -> "v"
        PERSIST k             -> 1
        GETEX k EX 0          -> -ERR invalid expire time in 'getex' command
        GETEX k PXAT -5       -> -ERR invalid expire time in 'getex' command
        GETEX k EX 9223372036854775807 -> -ERR invalid expire time in 'getex' command
        GETEX k EX x          -> -ERR value is not an integer or out of range
        GETEX absent EX x     -> nil
        GETEX absent EX       -> -ERR syntax error
        GETEX k EX 1 PX 1     -> -ERR syntax error
        GETEX k PERSIST EX 1  -> -ERR syntax error
        GETEX k KEEPTTL       -> -ERR syntax error
        GETEX                 -> -ERR wrong number of arguments for 'getex' command
        TTL k                 -> -1
        GETEX k EXAT 1        -> "v"
        EXISTS k              -> 0
        "#,
    );
}

fn setnx_and_msetnx_store_only_what_is_new(talk: &mut Talk) {
    talk.transcript(
        r#"
        SETNX k 1             -> 1
        SETNX k 2             -> 0
        GET k                 -> "1"
        MSETNX a 1 b 2 a 3    -> 1
        MGET a b              -> ["3", "2"]
        MSETNX c 1 b 2        -> 0
        EXISTS c              -> 0
        SADD s x              -> 1
        SETNX s 1             -> 0
        MSETNX c 1 s 1        -> 0
        MSETNX c              -> -ERR wrong number of arguments for 'msetnx' command
        MSETNX c 1 d          -> -ERR wrong number of arguments for 'msetnx' command
        SETNX c               -> -ERR wrong number of arguments for 'setnx' command
        "#,
    );
}

fn append_makes_a_string_longer(talk: &mut Talk) {
    talk.transcript(
        r#"
        APPEND k 12           -> 2
        OBJECT ENCODING k     -> "int"
        APPEND k 3            -> 3
        OBJECT ENCODING k     -> "raw"
        INCR k                -> 124
        OBJECT ENCODING k     -> "int"
        APPEND k ""           -> 3
        OBJECT ENCODING k     -> "raw"
        APPEND empty ""       -> 0
        EXISTS empty          -> 1
        SET t a EX 1000       -> OK
        APPEND t b            -> 2
        PERSIST t             -> 1
        APPEND k              -> -ERR wrong number of arguments for 'append' command
        STRLEN absent         -> 0
        SET n -100            -> OK
        STRLEN n              -> 4
        "#,
    );
    let mut wanted = Vec::new();
    for part in 0..300u32 {
        let bytes = vec![(part % 251) as u8; 7 * part as usize % 1000];
        wanted.extend_from_slice(&bytes);
        let len = talk.on('A').call(&[&b"APPEND"[..], b"long", &bytes]).integer();
        assert_eq!(len as usize, wanted.len());
    }
    assert!(talk.on('A').call(&[&b"GET"[..], b"long"]).bytes() == &wanted[..]);
}

fn parts_are_read_by_either_end(talk: &mut Talk) {
    talk.transcript(
        r#"
        SET k Hello           -> OK
        GETRANGE k 0 -1       -> "Hello"
        GETRANGE k -3 -1      -> "llo"
        GETRANGE k 1 1        -> "e"
        GETRANGE k 3 1        -> ""
        GETRANGE k -1 -3      -> ""
        GETRANGE k -10 -6     -> "H"
        GETRANGE k 5 10       -> ""
        GETRANGE k -9223372036854775808 9223372036854775807 -> "Hello"
        SUBSTR k 0 1          -> "He"
        SET n 12345           -> OK
        GETRANGE n 1 2        -> "23"
        GETRANGE absent 0 1   -> ""
        GETRANGE k x 1        -> -ERR value is not an integer or out of range
        GETRANGE k 0 1.0      -> -ERR value is not an integer or out of range
        GETRANGE k 0          -> -ERR wrong number of arguments for 'getrange' command
        SUBSTR k 0            -> -ERR wrong number of arguments for 'substr' command
        "#,
    );
}

fn setrange_overwrites_and_pads(talk: &mut Talk) {
    talk.transcript(
        r#"
        SET k 12              -> OK
        SETRANGE k 0 ""       -> 2
        OBJECT ENCODING k     -> "int"
        SETRANGE k 0 3        -> 2
        OBJECT ENCODING k     -> "raw"
        SETRANGE k 3 x        -> 4
        GET k                 -> "32\x00x"
        SETRANGE absent 5 ""  -> 0
        EXISTS absent         -> 0
        SETRANGE new 2 a      -> 3
        GET new               -> "\x00\x00a"
        SETRANGE k -1 x       -> -ERR offset is out of range
        SETRANGE k x x        -> -ERR value is not an integer or out of range
        SETRANGE k 536870912 x -> -ERR string exceeds maximum allowed size (proto-max-bulk-len)
        SETRANGE k 9223372036854775807 xx -> -ERR string exceeds maximum allowed size (proto-max-bulk-len)
        SETRANGE k 536870912 "" -> 4
        SETRANGE k 0          -> -ERR wrong number of arguments for 'setrange' command
        STRLEN k              -> 4
        "#,
    );
}

fn incrbyfloat_counts_as_a_long_double(talk: &mut Talk) {
    talk.transcript(
        r#"
        INCRBYFLOAT k 10.50   -> "10.5"
        INCRBYFLOAT k 0.1     -> "10.6"
        INCRBYFLOAT k -5      -> "5.6"
        OBJECT ENCODING k     -> "embstr"
        SET k 12              -> OK
        INCRBYFLOAT k 1       -> "13"
        OBJECT ENCODING k     -> "embstr"
        INCR k                -> 14
        OBJECT ENCODING k     -> "int"
        SET k 5.0e3           -> OK
        INCRBYFLOAT k 2.0e2   -> "5200"
        SET k 1e17            -> OK
        INCRBYFLOAT k 0.1     -> "100000000000000000.1015625"
        SET k 18446744073709551615 -> OK
        INCRBYFLOAT k 1       -> "18446744073709551616"
        INCRBYFLOAT k 1       -> "18446744073709551616"
        SET k 1               -> OK
        INCRBYFLOAT k -1e-20  -> "1"
        INCRBYFLOAT k -1      -> "0"
        INCRBYFLOAT k 0.000000000000000015 -> "0.00000000000000002"
        SET t 1 EX 1000       -> OK
        INCRBYFLOAT t 1       -> "2"
        PERSIST t             -> 1
        INCRBYFLOAT k         -> -ERR wrong number of arguments for 'incrbyfloat' command
        "#,
    );
}

fn incrbyfloat_reads_what_the_c_library_reads(talk: &mut Talk) {
    for (text, wanted) in [("0x10", "16"), ("0x1.8p1", "3"), ("+.5e1", "5"), ("5.", "5"), ("-0", "0"), ("1e2", "100")] {
        talk.check(&format!("SET k {text}"), "OK");
        talk.check("INCRBYFLOAT k 0", &format!("\"{wanted}\""));
    }
    for text in ["x", "\"\"", "\" 1\"", "\"1 \"", "1e", "0x", ".", "nan", "1_0", "1,5", "1e4950", "1e-4952", "--1"] {
        talk.check(&format!("SET k {text}"), "OK");
        talk.check("INCRBYFLOAT k 0", "-ERR value is not a valid float");
        talk.check(&format!("INCRBYFLOAT absent {text}"), "-ERR value is not a valid float");
    }
    for text in ["inf", "-Infinity"] {
        talk.check(&format!("SET k {text}"), "OK");
        talk.check("INCRBYFLOAT k 1", "-ERR increment would produce NaN or Infinity");
        talk.check(&format!("INCRBYFLOAT absent {text}"), "-ERR increment would produce NaN or Infinity");
    }
    talk.check("EXISTS absent", "0");
}

fn lcs_finds_what_redis_finds(talk: &mut Talk) {
    talk.transcript(
        r#"
        MSET a ohmytext b mynewtext   -> OK
        LCS a b                       -> "mytext"
        LCS a b LEN                   -> 6
        LCS a b IDX                   -> ["matches", [[[4, 7], [5, 8]], [[2, 3], [0, 1]]], "len", 6]
        LCS a b IDX MINMATCHLEN 4     -> ["matches", [[[4, 7], [5, 8]]], "len", 6]
        LCS a b idx withmatchlen minmatchlen -1 -> ["matches", [[[4, 7], [5, 8], 4], [[2, 3], [0, 1], 2]], "len", 6]
        LCS a b WITHMATCHLEN          -> "mytext"
        LCS a absent                  -> ""
        LCS a absent IDX              -> ["matches", [], "len", 0]
        LCS absent absent LEN         -> 0
        MSET a xyzzyx b yxzyzx        -> OK
        LCS a b                       -> "yzyx"
        MSET a ab b ba                -> OK
        LCS a b                       -> "b"
        LCS a b LEN IDX               -> -ERR If you want both the length and indexes, please just use IDX.
        LCS a b MINMATCHLEN           -> -ERR syntax error
        LCS a b MINMATCHLEN x         -> -ERR value is not an integer or out of range
        LCS a b FOO                   -> -ERR syntax error
        LCS a                         -> -ERR wrong number of arguments for 'lcs' command
        SADD s x                      -> 1
        LCS a s FOO                   -> -ERR The specified keys must contain string values
        LCS s absent                  -> -ERR The specified keys must contain string values
        "#,
    );
}

fn lcs_is_bounded(talk: &mut Talk) {
    let error = "-ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len";
    talk.check("CONFIG SET proto-max-bulk-len 1mb", "OK");
    for (key, len) in [("a", 511), ("b", 511), ("c", 512)] {
        talk.on('A').call(&["SET", key, &"x".repeat(len)]);
    }
    talk.check("LCS a b LEN", "511");
    talk.check("LCS a c LEN", error);
    talk.check("LCS a c", error);
    talk.check("LCS a c FOO", "-ERR syntax error");
    talk.check("CONFIG SET proto-max-bulk-len 512mb", "OK");
}

fn changes_of_a_large_value_leave_its_replies_alone(talk: &mut Talk) {
    let value = vec![b'x'; 300_000];
    talk.on('A').call(&[&b"SET"[..], b"k", &value]);
    for line in [&["GET", "k"][..], &["SETRANGE", "k", "0", "y"], &["APPEND", "k", "z"], &["GETRANGE", "k", "1", "-1"]]
    {
        talk.on('A').request(line);
    }
    assert!(talk.on('A').value().bytes() == &value[..]);
    assert_eq!(talk.on('A').value().integer(), 300_000);
    assert_eq!(talk.on('A').value().integer(), 300_001);
    let part = talk.on('A').value();
    assert!(part.bytes()[..299_999] == value[1..] && part.bytes().last() == Some(&b'z'));
    talk.check("COPY k copy", "1");
    talk.check("SETRANGE k 0 ab", "300001");
    talk.check("GETRANGE k 0 2", "\"abx\"");
    talk.check("GETRANGE copy 0 2", "\"yxx\"");
}

fn events_of_string_commands_come_in_order(talk: &mut Talk) {
    talk.transcript(
        r#"
        B> CONFIG SET notify-keyspace-events E$gnocm  -> OK
        A> PSUBSCRIBE *                               -> ["psubscribe", "*", 1]
        B> GETSET k 1                                 -> nil
        A< ["pmessage", "*", "__keyevent@0__:keymiss", "k"]
        A< ["pmessage", "*", "__keyevent@0__:new", "k"]
        A< ["pmessage", "*", "__keyevent@0__:set", "k"]
        B> GETEX k                                    -> "1"
        B> GETEX k PERSIST                            -> "1"
        B> GETEX k EX 1000                            -> "1"
        A< ["pmessage", "*", "__keyevent@0__:expire", "k"]
        B> GETEX k PERSIST                            -> "1"
        A< ["pmessage", "*", "__keyevent@0__:persist", "k"]
        B> GETEX k PXAT 1                             -> "1"
        A< ["pmessage", "*", "__keyevent@0__:del", "k"]
        B> SETNX k 1                                  -> 1
        A< ["pmessage", "*", "__keyevent@0__:new", "k"]
        A< ["pmessage", "*", "__keyevent@0__:set", "k"]
        B> SETNX k 1                                  -> 0
        B> MSETNX k 1 j 2                             -> 0
        B> APPEND k ""                                -> 1
        A< ["pmessage", "*", "__keyevent@0__:append", "k"]
        B> SETRANGE k 0 ""                            -> 1
        B> SETRANGE r 0 ""                            -> 0
        B> SETRANGE r 0 x                             -> 1
        A< ["pmessage", "*", "__keyevent@0__:new", "r"]
        A< ["pmessage", "*", "__keyevent@0__:setrange", "r"]
        B> INCRBYFLOAT f 0                            -> "0"
        A< ["pmessage", "*", "__keyevent@0__:new", "f"]
        A< ["pmessage", "*", "__keyevent@0__:incrbyfloat", "f"]
        B> STRLEN none                                -> 0
        A< ["pmessage", "*", "__keyevent@0__:keymiss", "none"]
        B> GETDEL k                                   -> "1"
        A< ["pmessage", "*", "__keyevent@0__:del", "k"]
        "#,
    );
}
