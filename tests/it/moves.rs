//! RENAME RENAMENX COPY MOVE, and what tells of the use of keys: TOUCH, OBJECT, RANDOMKEY.

use crate::suite::{Need, Suite, tests};
use crate::talk::Talk;
use crate::wire::Value;

/// Registers this module's tests.
pub fn tests(suite: &mut Suite) {
    tests!(suite, on_every_road, Need::Nothing;
        rename_takes_value_and_deadline_along,
        renamenx_never_replaces,
        copy_leaves_the_source_alone,
        copy_checks_its_arguments,
        move_changes_the_database,
        what_is_due_moves_nowhere_and_holds_no_place,
        moving_breaks_watches_on_both_ends,
        events_of_moves_come_in_order,
        touch_and_object_tell_of_use,
        randomkey_answers_some_key,
        expiry_times_are_told_in_both_units,
    );
}

fn rename_takes_value_and_deadline_along(talk: &mut Talk) {
    talk.transcript(
        r#"
        SADD s 1 2 3              -> 3
        EXPIREAT s 33177117420    -> 1
        SET old x EX 50           -> OK
        RENAME s old              -> OK
        TYPE s                    -> none
        SMEMBERS old              -> {"1", "2", "3"}
        OBJECT ENCODING old       -> "intset"
        EXPIRETIME old            -> 33177117420
        SET plain v               -> OK
        RENAME plain old          -> OK
        TTL old                   -> -1
        GET old                   -> "v"
        RENAME old old            -> OK
        RENAME none none          -> -ERR no such key
        RENAME none old           -> -ERR no such key
        GET old                   -> "v"
        RENAME old                -> -ERR wrong number of arguments for 'rename' command
        DBSIZE                    -> 1
        "#,
    );
}

fn renamenx_never_replaces(talk: &mut Talk) {
    talk.transcript(
        r#"
        MSET a 1 b 2              -> OK
        RENAMENX a b              -> 0
        RENAMENX a a              -> 0
        RENAMENX a c              -> 1
        MGET a b c                -> [nil, "2", "1"]
        RENAMENX none b           -> -ERR no such key
        RENAMENX none none        -> -ERR no such key
        "#,
    );
}

fn copy_leaves_the_source_alone(talk: &mut Talk) {
    talk.transcript(
        r#"
        SADD s a b c              -> 3
        PEXPIREAT s 33177117420000 -> 1
        COPY s t                  -> 1
        SREM t a                  -> 1
        SMEMBERS s                -> {"a", "b", "c"}
        PEXPIRETIME t             -> 33177117420000
        SET k v                   -> OK
        COPY k t                  -> 0
        COPY k t REPLACE          -> 1
        TTL t                     -> -1
        COPY k k DB 3             -> 1
        COPY k k DB 3             -> 0
        COPY k other DB 3         -> 1
        SELECT 3                  -> OK
        MGET k other              -> ["v", "v"]
        COPY other k DB 0 replace -> 1
        "#,
    );
}

fn copy_checks_its_arguments(talk: &mut Talk) {
    talk.transcript(
        r#"
        SET k v                       -> OK
        COPY none other               -> 0
        COPY k k                      -> -ERR source and destination objects are the same
        COPY none none                -> -ERR source and destination objects are the same
        COPY k k DB 0                 -> -ERR source and destination objects are the same
        COPY k o DB 16                -> -ERR DB index is out of range
        COPY k o DB -1                -> -ERR DB index is out of range
        COPY k o DB x                 -> -ERR value is not an integer or out of range
        COPY k o DB 99999999999       -> -ERR value is out of range, value must between -2147483648 and 2147483647
        COPY k o DB                   -> -ERR syntax error
        COPY k o NOSUCH               -> -ERR syntax error
        # The first wrong word decides.
        COPY k o DB 16 NOSUCH         -> -ERR DB index is out of range
        COPY k o NOSUCH DB 16         -> -ERR syntax error
        COPY k o DB 16 DB 1           -> -ERR DB index is out of range
        COPY k o REPLACE DB 1 DB 2    -> 1
        COPY k                        -> -ERR wrong number of arguments for 'copy' command
        DBSIZE                        -> 1
        "#,
    );
}

fn move_changes_the_database(talk: &mut Talk) {
    talk.transcript(
        r#"
        SET k v EX 1000           -> OK
        MOVE k 0                  -> -ERR source and destination objects are the same
        MOVE k 16                 -> -ERR DB index is out of range
        MOVE k -1                 -> -ERR DB index is out of range
        MOVE k x                  -> -ERR value is not an integer or out of range
        MOVE k 99999999999        -> -ERR value is out of range, value must between -2147483648 and 2147483647
        MOVE none 1               -> 0
        MOVE k 1                  -> 1
        EXISTS k                  -> 0
        SET k w                   -> OK
        MOVE k 1                  -> 0
        GET k                     -> "w"
        SELECT 1                  -> OK
        GET k                     -> "v"
        TTL k                     -> 1000
        "#,
    );
}

fn what_is_due_moves_nowhere_and_holds_no_place(talk: &mut Talk) {
    talk.transcript("SELECT 1 -> OK\nSET held v PX 1 -> OK\nSELECT 0 -> OK\nSET due v PX 1 -> OK\nSET k v -> OK");
    while talk.ask("EXISTS due").integer() > 0 {}
    talk.transcript(
        r#"
        RENAME due other          -> -ERR no such key
        COPY due other            -> 0
        MOVE due 1                -> 0
        SET due w PX 1            -> OK
        "#,
    );
    while talk.ask("EXISTS due").integer() > 0 {}
    talk.transcript("RENAMENX k due -> 1\nCOPY due held DB 1 -> 1\nSELECT 1 -> OK\nGET held -> \"v\"\nTTL held -> -1");
}

fn moving_breaks_watches_on_both_ends(talk: &mut Talk) {
    for (watched, command) in
        [("a", "RENAME a b"), ("b", "RENAME a b"), ("b", "RENAMENX a b"), ("b", "COPY a b"), ("a", "MOVE a 1")]
    {
        talk.transcript(&format!(
            "B> FLUSHALL -> OK\nB> SET a 1 -> OK\nA> WATCH {watched} -> OK\nA> MULTI -> OK\nA> PING -> QUEUED"
        ));
        talk.on('B').call(&command.split(' ').collect::<Vec<_>>());
        talk.transcript("A> EXEC -> nil");
    }
    talk.transcript(
        r#"
        B> FLUSHALL -> OK
        B> SET a 1 -> OK
        A> WATCH a -> OK
        A> MULTI -> OK
        B> COPY a b -> 1
        A> EXEC -> []
        "#,
    );
}

fn events_of_moves_come_in_order(talk: &mut Talk) {
    talk.transcript(
        r#"
        B> CONFIG SET notify-keyspace-events Egnoc  -> OK
        B> MSET a 1 b 2 c 3                         -> OK
        B> SADD s x                                 -> 1
        A> PSUBSCRIBE *                             -> ["psubscribe", "*", 1]
        B> RENAME a d                               -> OK
        A< ["pmessage", "*", "__keyevent@0__:new", "d"]
        A< ["pmessage", "*", "__keyevent@0__:rename_from", "a"]
        A< ["pmessage", "*", "__keyevent@0__:rename_to", "d"]
        B> RENAME d b                               -> OK
        A< ["pmessage", "*", "__keyevent@0__:new", "b"]
        A< ["pmessage", "*", "__keyevent@0__:rename_from", "d"]
        A< ["pmessage", "*", "__keyevent@0__:rename_to", "b"]
        A< ["pmessage", "*", "__keyevent@0__:overwritten", "b"]
        B> COPY b s REPLACE                         -> 1
        A< ["pmessage", "*", "__keyevent@0__:new", "s"]
        A< ["pmessage", "*", "__keyevent@0__:copy_to", "s"]
        A< ["pmessage", "*", "__keyevent@0__:overwritten", "s"]
        A< ["pmessage", "*", "__keyevent@0__:type_changed", "s"]
        B> MOVE s 2                                 -> 1
        A< ["pmessage", "*", "__keyevent@2__:new", "s"]
        A< ["pmessage", "*", "__keyevent@0__:move_from", "s"]
        A< ["pmessage", "*", "__keyevent@2__:move_to", "s"]
        B> TOUCH b c                                -> 2
        B> RENAMENX b c                             -> 0
        B> COPY b c                                 -> 0
        B> DEL b                                    -> 1
        A< ["pmessage", "*", "__keyevent@0__:del", "b"]
        "#,
    );
}

fn touch_and_object_tell_of_use(talk: &mut Talk) {
    talk.transcript(
        r#"
        MSET a 1 b 2                  -> OK
        TOUCH a b none a              -> 3
        TOUCH                         -> -ERR wrong number of arguments for 'touch' command"#,
    );
    // A second may end between the two.
    assert!((0..=1).contains(&talk.ask("OBJECT IDLETIME a").integer()));
    talk.transcript(
        r#"
        OBJECT REFCOUNT a             -> 1
        OBJECT REFCOUNT none          -> nil
        OBJECT IDLETIME none          -> nil
        OBJECT FREQ none              -> nil
        OBJECT FREQ a                 -> -ERR An LFU maxmemory policy is not selected, access frequency not tracked....
        CONFIG SET maxmemory-policy allkeys-lfu -> OK
        SET fresh v                   -> OK
        OBJECT FREQ fresh             -> 5
        OBJECT IDLETIME fresh         -> -ERR An LFU maxmemory policy is selected, idle time not tracked....
        CONFIG SET lfu-log-factor 0   -> OK
        GET fresh                     -> "v"
        OBJECT FREQ fresh             -> 6
        TYPE fresh                    -> string
        EXISTS fresh                  -> 1
        TTL fresh                     -> -1
        OBJECT FREQ fresh             -> 6
        TOUCH fresh                   -> 1
        OBJECT FREQ fresh             -> 7
        SET fresh w                   -> OK
        OBJECT FREQ fresh             -> 8
        CLIENT NO-TOUCH on            -> OK
        GET fresh                     -> "w"
        OBJECT FREQ fresh             -> 8
        TOUCH fresh                   -> 1
        OBJECT FREQ fresh             -> 9
        RENAME fresh renamed          -> OK
        OBJECT FREQ renamed           -> 5
        COPY renamed copied           -> 1
        OBJECT FREQ copied            -> 5
        "#,
    );
}

fn randomkey_answers_some_key(talk: &mut Talk) {
    talk.transcript("RANDOMKEY -> nil\nMSET a 1 b 2 c 3 -> OK\nSELECT 1 -> OK\nRANDOMKEY -> nil\nSELECT 0 -> OK");
    let mut seen = std::collections::BTreeSet::new();
    while seen.len() < 3 {
        let key = talk.ask("RANDOMKEY").text();
        assert!(["a", "b", "c"].contains(&key.as_str()), "{key}");
        seen.insert(key);
    }
    talk.transcript("PEXPIRE a 1 -> 1\nPEXPIRE b 1 -> 1\nPEXPIRE c 1 -> 1");
    while talk.ask("RANDOMKEY") != Value::Nil {}
    talk.transcript("DBSIZE -> 0\nRANDOMKEY x -> -ERR wrong number of arguments for 'randomkey' command");
}

fn expiry_times_are_told_in_both_units(talk: &mut Talk) {
    talk.transcript(
        r#"
        SET k v PXAT 33177117420499   -> OK
        EXPIRETIME k                  -> 33177117420
        PEXPIRETIME k                 -> 33177117420499
        PEXPIREAT k 33177117420500    -> 1
        EXPIRETIME k                  -> 33177117421
        PERSIST k                     -> 1
        EXPIRETIME k                  -> -1
        PEXPIRETIME k                 -> -1
        EXPIRETIME none               -> -2
        PEXPIRETIME none              -> -2
        "#,
    );
}
