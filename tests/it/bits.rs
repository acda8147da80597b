//! Strings as bits: SETBIT to BITFIELD_RO.

use crate::suite::{Need, Suite, tests};
use crate::talk::Talk;

/// Registers this module's tests.
pub fn tests(suite: &mut Suite) {
    tests!(suite, on_every_road, Need::Nothing;
        single_bits_are_set_and_read,
        bit_offsets_end_at_the_longest_string,
        bits_are_counted_in_ranges_of_bytes_and_bits,
        the_first_one_or_zero_is_found,
        strings_are_combined_bit_by_bit,
        fields_of_any_width_are_read_and_changed,
        field_overflow_wraps_saturates_or_fails,
        fields_are_refused_before_anything_changes,
        bit_commands_refuse_a_set,
        bitfield_tells_whether_it_writes,
    );
    tests!(suite, on_every_road_to_a_server, Need::Nothing;
        the_longest_string_is_a_setting,
        events_of_bit_commands_come_when_something_changed,
    );
}

const WRONGTYPE: &str = "-WRONGTYPE Operation against a key holding the wrong kind of value";

fn single_bits_are_set_and_read(talk: &mut Talk) {
    talk.transcript(
        r#"
        SETBIT k 7 1                  -> 0
        GET k                         -> "\x01"
        OBJECT ENCODING k             -> "raw"
        SETBIT k 7 1                  -> 1
        SETBIT k 7 0                  -> 1
        SETBIT k 24 0                 -> 0
        STRLEN k                      -> 4
        SET n 12                      -> OK
        GETBIT n 2                    -> 1
        OBJECT ENCODING n             -> "int"
        SETBIT n 2 1                  -> 1
        OBJECT ENCODING n             -> "raw"
        INCR n                        -> 13
        OBJECT ENCODING n             -> "int"
        GETBIT n 1                    -> 0
        GETBIT n 15                   -> 1
        GETBIT n 16                   -> 0
        GETBIT absent 0               -> 0
        SET t v EX 1000               -> OK
        SETBIT t 0 1                  -> 0
        PERSIST t                     -> 1
        SETBIT k 1                    -> -ERR wrong number of arguments for 'setbit' command
        GETBIT k                      -> -ERR wrong number of arguments for 'getbit' command
        "#,
    );
}

fn bit_offsets_end_at_the_longest_string(talk: &mut Talk) {
    let offset = "-ERR bit offset is not an integer or out of range";
    for bad in ["-1", "4294967296", "9223372036854775808", "x", "01", "\"\""] {
        talk.check(&format!("SETBIT k {bad} 1"), offset);
        talk.check(&format!("SETBIT k {bad} x"), offset);
        talk.check(&format!("GETBIT k {bad}"), offset);
    }
    for bad in ["2", "-1", "x", "01", "\"\""] {
        talk.check(&format!("SETBIT k 0 {bad}"), "-ERR bit is not an integer or out of range");
    }
    talk.check("EXISTS k", "0");
    talk.check("GETBIT k 4294967295", "0");
    talk.transcript(
        r#"
        SETBIT k 4294967295 1         -> 0
        STRLEN k                      -> 536870912
        GETBIT k 4294967295           -> 1
        GETRANGE k -2 -1              -> "\x00\x01"
        DEL k                         -> 1
        "#,
    );
}

fn bits_are_counted_in_ranges_of_bytes_and_bits(talk: &mut Talk) {
    talk.transcript(
        r#"
        SET k foobar                  -> OK
        BITCOUNT k                    -> 26
        BITCOUNT k 0 0                -> 4
        BITCOUNT k 1 1                -> 6
        BITCOUNT k 0 -5               -> 10
        BITCOUNT k 5 30 BIT           -> 17
        BITCOUNT k 5 30 byte          -> 4
        BITCOUNT k -1 -5              -> 0
        BITCOUNT k -100 -50           -> 4
        BITCOUNT k -50 -100           -> 0
        BITCOUNT k 100 200            -> 0
        BITCOUNT k 3 3 BIT            -> 0
        BITCOUNT k 0 9223372036854775807 BIT -> 26
        BITCOUNT absent               -> 0
        SET n 12                      -> OK
        BITCOUNT n 0 0                -> 3
        BITCOUNT k 5                  -> -ERR syntax error
        BITCOUNT k 0 1 FOO            -> -ERR syntax error
        BITCOUNT k x 1 FOO z          -> -ERR syntax error
        BITCOUNT k x 1 FOO            -> -ERR value is not an integer or out of range
        BITCOUNT absent 0 x           -> -ERR value is not an integer or out of range
        "#,
    );
    let value: Vec<u8> = (0..100_003u32).map(|n| (n * 7 % 256) as u8).collect();
    talk.on('A').call(&[&b"SET"[..], b"k", &value]);
    let ones: u32 = value.iter().map(|byte| byte.count_ones()).sum();
    talk.check("BITCOUNT k", &ones.to_string());
}

fn the_first_one_or_zero_is_found(talk: &mut Talk) {
    talk.transcript(
        r#"
        SET k "\xff\xf0\x00"          -> OK
        BITPOS k 0                    -> 12
        BITPOS k 1                    -> 0
        BITPOS k 1 2                  -> -1
        BITPOS k 0 0 0                -> -1
        BITPOS k 0 0 12 BIT           -> 12
        BITPOS k 0 0 11 BIT           -> -1
        BITPOS k 0 -1 -3              -> -1
        SET ones "\xff\xff"           -> OK
        BITPOS ones 0                 -> 16
        BITPOS ones 0 -1              -> 16
        BITPOS ones 0 0 -1            -> -1
        BITPOS ones 0 5               -> -1
        BITPOS ones 0 0 15 BIT        -> -1
        BITPOS ones 1 3 -1 bit        -> 3
        BITPOS ones 1 -50 -100        -> 0
        BITPOS absent 0               -> 0
        BITPOS absent 1               -> -1
        SET empty ""                  -> OK
        BITPOS empty 0                -> -1
        BITPOS k 2                    -> -ERR The bit argument must be 1 or 0.
        BITPOS k 2 x                  -> -ERR The bit argument must be 1 or 0.
        BITPOS k x                    -> -ERR value is not an integer or out of range
        BITPOS k 1 x 0 FOO            -> -ERR value is not an integer or out of range
        BITPOS k 1 0 x FOO            -> -ERR syntax error
        BITPOS k 1 0 0 BIT x          -> -ERR syntax error
        BITPOS k 0 4 BIT              -> -ERR value is not an integer or out of range
        BITPOS k                      -> -ERR wrong number of arguments for 'bitpos' command
        "#,
    );
}

fn strings_are_combined_bit_by_bit(talk: &mut Talk) {
    talk.transcript(
        r#"
        MSET a foobar b abcdef        -> OK
        BITOP AND d a b               -> 6
        GET d                         -> "`bc`ab"
        OBJECT ENCODING d             -> "raw"
        BITOP xor d a a               -> 6
        BITCOUNT d                    -> 0
        BITOP Or d a none             -> 6
        GET d                         -> "foobar"
        BITOP NOT d a                 -> 6
        BITOP NOT d d                 -> 6
        GET d                         -> "foobar"
        BITOP DIFF d a b              -> 6
        GET d                         -> "\x06\r\x0c\x02\x00\x10"
        BITOP DIFF1 d a b             -> 6
        GET d                         -> "\x01\x00\x00\x04\x04\x04"
        BITOP ANDOR d a b none        -> 6
        GET d                         -> "`bc`ab"
        BITOP ONE d a b               -> 6
        GET d                         -> "\x07\r\x0c\x06\x04\x14"
        BITOP ONE d a a a             -> 6
        BITCOUNT d                    -> 0
        EXPIRE d 1000                 -> 1
        BITOP AND d a none            -> 6
        TTL d                         -> -1
        BITOP OR d none               -> 0
        EXISTS d                      -> 0
        SET 1 1                       -> OK
        BITOP OR d 1                  -> 1
        OBJECT ENCODING d             -> "raw"
        SADD s x                      -> 1
        BITOP OR s 1                  -> 1
        TYPE s                        -> string
        BITOP NOT d a b               -> -ERR BITOP NOT must be called with a single source key.
        BITOP DIFF d a                -> -ERR BITOP DIFF must be called with at least two source keys.
        BITOP DIFF1 d a               -> -ERR BITOP DIFF1 must be called with at least two source keys.
        BITOP ANDOR d a               -> -ERR BITOP ANDOR must be called with at least two source keys.
        BITOP FOO d a                 -> -ERR syntax error
        BITOP OR d                    -> -ERR wrong number of arguments for 'bitop' command
        "#,
    );
}

fn fields_of_any_width_are_read_and_changed(talk: &mut Talk) {
    talk.transcript(
        r#"
        BITFIELD k                               -> []
        BITFIELD k GET u8 0                      -> [0]
        EXISTS k                                 -> 0
        BITFIELD k SET u8 0 255 get i8 0         -> [0, -1]
        OBJECT ENCODING k                        -> "raw"
        BITFIELD k INCRBY u4 #1 -1 GET u8 0      -> [14, 254]
        BITFIELD k SET i64 3 -2 GET i64 3        -> [-1152921504606846976, -2]
        STRLEN k                                 -> 9
        BITFIELD k GET u63 4294967295 GET i1 0   -> [0, -1]
        BITFIELD_RO k GET u8 0 GET i5 #1         -> [255, -1]
        BITFIELD_RO k overflow sat               -> []
        BITFIELD_RO absent GET i64 100           -> [0]
        BITFIELD n SET u8 100 0                  -> [0]
        STRLEN n                                 -> 14
        SET i 12                                 -> OK
        BITFIELD i GET u8 0                      -> [49]
        OBJECT ENCODING i                        -> "int"
        BITFIELD i SET u8 0 49                   -> [49]
        OBJECT ENCODING i                        -> "raw"
        "#,
    );
}

fn field_overflow_wraps_saturates_or_fails(talk: &mut Talk) {
    talk.transcript(
        r#"
        BITFIELD k SET u8 0 256 GET u8 0                                 -> [0, 0]
        BITFIELD k OVERFLOW SAT INCRBY u8 0 300 INCRBY u8 0 -1000        -> [255, 0]
        BITFIELD k OVERFLOW FAIL INCRBY u8 0 -1 OVERFLOW WRAP INCRBY u8 0 -1 -> [nil, 255]
        BITFIELD k OVERFLOW FAIL SET u8 0 256 GET u8 0                   -> [nil, 255]
        BITFIELD k OVERFLOW SAT SET i8 0 -129 GET i8 0                   -> [-1, -128]
        BITFIELD k OVERFLOW SAT SET u8 0 -1 GET u8 0                     -> [128, 255]
        BITFIELD k SET i64 0 9223372036854775807 INCRBY i64 0 1          -> [-72057594037927936, -9223372036854775808]
        BITFIELD k OVERFLOW SAT INCRBY i64 0 -1                          -> [-9223372036854775808]
        BITFIELD m OVERFLOW FAIL INCRBY u1 100 2                         -> [nil]
        STRLEN m                                                         -> 13
        BITFIELD q OVERFLOW SAT SET i8 0 -9223372036854775681 GET i8 0   -> [0, 127]
        BITFIELD q OVERFLOW SAT SET i8 0 -9223372036854775680 GET i8 0   -> [127, -128]
        "#,
    );
}

fn fields_are_refused_before_anything_changes(talk: &mut Talk) {
    let kind = "-ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 is.";
    for bad in ["u64", "i65", "i0", "u0", "x8", "I8", "u08", "u", "\"\"", "8"] {
        talk.check(&format!("BITFIELD k SET u8 0 1 GET {bad} x"), kind);
    }
    let offset = "-ERR bit offset is not an integer or out of range";
    for bad in ["x", "-1", "#-1", "#x", "#", "4294967296", "#536870912", "#9223372036854775807"] {
        talk.check(&format!("BITFIELD k SET u8 0 1 SET u8 {bad} x"), offset);
    }
    for bad in ["FOO", "GET u8", "SET u8 0", "INCRBY u8 0", "OVERFLOW", "GET u8 0 0"] {
        talk.check(&format!("BITFIELD k SET u8 0 1 {bad}"), "-ERR syntax error");
    }
    talk.transcript(
        r#"
        BITFIELD k SET u8 0 1 SET u8 0 x    -> -ERR value is not an integer or out of range
        BITFIELD k SET u8 0 1 OVERFLOW FOO  -> -ERR Invalid OVERFLOW type specified
        BITFIELD_RO k SET u8 0 1            -> -ERR BITFIELD_RO only supports the GET subcommand
        BITFIELD_RO k INCRBY u8 0 1         -> -ERR BITFIELD_RO only supports the GET subcommand
        BITFIELD_RO k SET u8 0 x            -> -ERR value is not an integer or out of range
        BITFIELD_RO k FOO                   -> -ERR syntax error
        BITFIELD                            -> -ERR wrong number of arguments for 'bitfield' command
        EXISTS k                            -> 0
        "#,
    );
}

fn bit_commands_refuse_a_set(talk: &mut Talk) {
    talk.check("SADD s a", "1");
    for line in [
        "SETBIT s 0 1",
        "GETBIT s 0",
        "BITCOUNT s",
        "BITCOUNT s 0 0",
        "BITPOS s 1",
        "BITOP AND d s",
        "BITOP OR s none s",
        "BITFIELD s",
        "BITFIELD s GET u8 0",
        "BITFIELD s SET u8 0 1",
        "BITFIELD_RO s GET u8 0",
    ] {
        talk.check(line, WRONGTYPE);
    }
    talk.check("SETBIT s 0 2", "-ERR bit is not an integer or out of range");
    talk.check("BITPOS s 2", "-ERR The bit argument must be 1 or 0.");
    talk.check("BITCOUNT s 0", "-ERR syntax error");
    talk.check("BITOP NOT d s s", "-ERR BITOP NOT must be called with a single source key.");
    talk.check("BITFIELD_RO s SET u8 0 1", "-ERR BITFIELD_RO only supports the GET subcommand");
    talk.check("SMEMBERS s", r#"["a"]"#);
}

fn bitfield_tells_whether_it_writes(talk: &mut Talk) {
    for reads in ["", " GET u8 0", " overflow sat get x y", " GET u8 0 OVERFLOW FAIL"] {
        talk.check(&format!("COMMAND GETKEYSANDFLAGS BITFIELD k{reads}"), r#"[["k", [RO, access]]]"#);
    }
    for writes in [" SET u8 0 1", " GET u8 0 INCRBY u8 0 1", " FOO", " GET", " OVERFLOW"] {
        talk.check(&format!("COMMAND GETKEYSANDFLAGS BITFIELD k{writes}"), r#"[["k", [RW, access, update]]]"#);
    }
}

fn the_longest_string_is_a_setting(talk: &mut Talk) {
    talk.transcript(
        r#"
        CONFIG SET proto-max-bulk-len 1mb  -> OK
        SETBIT k 8388608 1                 -> -ERR bit offset is not an integer or out of range
        GETBIT k 8388608                   -> -ERR bit offset is not an integer or out of range
        BITFIELD k GET u8 8388608          -> -ERR bit offset is not an integer or out of range
        SETRANGE k 1048576 x               -> -ERR string exceeds maximum allowed size (proto-max-bulk-len)
        SETRANGE k 1048575 xx              -> -ERR string exceeds maximum allowed size (proto-max-bulk-len)
        EXISTS k                           -> 0
        SETRANGE k 1048575 x               -> 1048576
        APPEND k x                         -> -ERR string exceeds maximum allowed size (proto-max-bulk-len)
        STRLEN k                           -> 1048576
        APPEND k ""                        -> 1048576
        BITFIELD k SET u8 8388607 255      -> [0]
        STRLEN k                           -> 1048577
        APPEND k ""                        -> -ERR string exceeds maximum allowed size (proto-max-bulk-len)
        SETRANGE k 0 x                     -> 1048577
        CONFIG SET proto-max-bulk-len 512mb -> OK
        "#,
    );
}

fn events_of_bit_commands_come_when_something_changed(talk: &mut Talk) {
    talk.transcript(
        r#"
        B> CONFIG SET notify-keyspace-events E$gnocm  -> OK
        B> SADD s x                                   -> 1
        A> PSUBSCRIBE *                               -> ["psubscribe", "*", 1]
        B> SETBIT k 7 0                               -> 0
        A< ["pmessage", "*", "__keyevent@0__:new", "k"]
        A< ["pmessage", "*", "__keyevent@0__:setbit", "k"]
        B> SETBIT k 7 0                               -> 0
        B> SETBIT k 8 0                               -> 0
        A< ["pmessage", "*", "__keyevent@0__:setbit", "k"]
        B> SETBIT k 7 1                               -> 0
        A< ["pmessage", "*", "__keyevent@0__:setbit", "k"]
        B> BITOP OR d k                               -> 2
        A< ["pmessage", "*", "__keyevent@0__:new", "d"]
        A< ["pmessage", "*", "__keyevent@0__:set", "d"]
        B> BITOP OR s k none                          -> 2
        A< ["pmessage", "*", "__keyevent@0__:keymiss", "none"]
        A< ["pmessage", "*", "__keyevent@0__:overwritten", "s"]
        A< ["pmessage", "*", "__keyevent@0__:type_changed", "s"]
        A< ["pmessage", "*", "__keyevent@0__:set", "s"]
        B> BITOP OR d none                            -> 0
        A< ["pmessage", "*", "__keyevent@0__:keymiss", "none"]
        A< ["pmessage", "*", "__keyevent@0__:del", "d"]
        B> BITFIELD f OVERFLOW FAIL INCRBY u8 0 1000  -> [nil]
        A< ["pmessage", "*", "__keyevent@0__:new", "f"]
        B> BITFIELD f SET u8 0 0 GET u8 0             -> [0, 0]
        B> BITFIELD f SET u8 0 1 SET u8 0 0           -> [0, 1]
        A< ["pmessage", "*", "__keyevent@0__:setbit", "f"]
        B> BITFIELD none GET u8 0                     -> [0]
        A< ["pmessage", "*", "__keyevent@0__:keymiss", "none"]
        B> DEL f                                      -> 1
        A< ["pmessage", "*", "__keyevent@0__:del", "f"]
        "#,
    );
}
