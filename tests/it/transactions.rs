//! MULTI, EXEC, DISCARD, WATCH, UNWATCH.

use crate::suite::{Need, Suite, tests};
use crate::talk::Talk;

/// Registers this module's tests.
pub fn tests(suite: &mut Suite) {
    tests!(suite, on_every_road, Need::Nothing;
        exec_answers_one_reply_per_command,
        discard_forgets_the_queue,
        an_error_while_queueing_aborts_exec,
        an_error_while_running_stops_nothing,
        nesting_and_strays_are_refused,
        watch_notices_any_change,
        watch_ignores_what_changes_nothing,
        watch_sees_expiry_and_flush,
        a_key_due_before_it_was_watched_counts_as_absent,
        debug_finds_out_about_its_subcommands_inside_exec,
        unwatch_discard_and_exec_forget_watches,
        a_closed_connection_runs_nothing,
    );
    tests!(suite, on_every_resp_road, Need::Nothing;
        a_queue_survives_select_and_resp_changes,
        exec_is_atomic_for_others,
        nil_exec_is_exact_bytes,
    );
}

fn exec_answers_one_reply_per_command(talk: &mut Talk) {
    talk.transcript(
        r#"
        MULTI             -> OK
        SET k 1           -> QUEUED
        INCR k            -> QUEUED
        GET absent        -> QUEUED
        SADD s a b        -> QUEUED
        SMEMBERS s        -> QUEUED
        PING              -> QUEUED
        B> GET k          -> nil
        EXEC              -> [OK, 2, nil, 2, ["a...
        MULTI             -> OK
        EXEC              -> []
        "#,
    );
}

fn discard_forgets_the_queue(talk: &mut Talk) {
    talk.transcript(
        r#"
        MULTI             -> OK
        SET k 1           -> QUEUED
        DISCARD           -> OK
        GET k             -> nil
        "#,
    );
}

fn an_error_while_queueing_aborts_exec(talk: &mut Talk) {
    for mistake in ["NOSUCH a", "GET", "CLIENT NOSUCH"] {
        talk.transcript("MULTI -> OK\nSET k 1 -> QUEUED");
        assert!(talk.ask(mistake).is_error());
        talk.transcript(
            r#"
            SET k 2       -> QUEUED
            EXEC          -> -EXECABORT Transaction discarded because of previous errors.
            GET k         -> nil
            EXEC          -> -ERR EXEC without MULTI
            "#,
        );
    }
}

fn an_error_while_running_stops_nothing(talk: &mut Talk) {
    talk.transcript(
        r#"
        SET str v         -> OK
        MULTI             -> OK
        SADD str a        -> QUEUED
        SET k 1           -> QUEUED
        SET k 2 ZZ        -> QUEUED
        INCR k            -> QUEUED
        EXEC              -> [-WRONGTYPE Operation against a key holding the wrong kind of value, OK, -ERR syntax error, 2]
        "#,
    );
}

fn nesting_and_strays_are_refused(talk: &mut Talk) {
    talk.transcript(
        r#"
        EXEC              -> -ERR EXEC without MULTI
        DISCARD           -> -ERR DISCARD without MULTI
        MULTI             -> OK
        SET k 1           -> QUEUED
        MULTI             -> -ERR MULTI calls can not be nested
        WATCH k           -> -ERR WATCH inside MULTI is not allowed
        EXEC              -> [OK]
        MULTI x           -> -ERR wrong number of arguments for 'multi' command
        WATCH             -> -ERR wrong number of arguments for 'watch' command
        "#,
    );
}

fn watch_notices_any_change(talk: &mut Talk) {
    let changes = [
        "SET k other",
        "DEL k",
        "SADD k x",
        "SREM k a b",
        "EXPIRE k 100",
        "SPOP k",
        "SUNIONSTORE k k",
        "SMOVE k d a",
        "FLUSHALL",
        "FLUSHDB",
        "UNLINK k",
        "SMOVE src k new",
        "PEXPIRE k 100000",
        "EXPIRE k -1",
    ];
    for change in changes {
        talk.ask("FLUSHALL");
        talk.transcript("SADD k a b -> 2\nSADD src new -> 1\nWATCH k other -> OK");
        let answer = talk.on('B').call(&crate::talk::words(change));
        assert!(!answer.is_error(), "{change}: {answer}");
        talk.transcript("MULTI -> OK\nSET done 1 -> QUEUED");
        talk.check("EXEC", "nil");
        talk.check("EXISTS done", "0");
        talk.transcript("MULTI -> OK\nPING -> QUEUED\nEXEC -> [PONG]");
    }
    // A change of one's own counts as well, and a key that appears is a key that changed.
    talk.transcript(
        r#"
        WATCH k           -> OK
        SADD k mine       -> 1
        MULTI             -> OK
        PING              -> QUEUED
        EXEC              -> nil
        WATCH fresh       -> OK
        B> SET fresh 1    -> OK
        MULTI             -> OK
        PING              -> QUEUED
        EXEC              -> nil
        "#,
    );
}

fn watch_ignores_what_changes_nothing(talk: &mut Talk) {
    let idle = [
        "GET str",
        "SADD k a",
        "SREM k zz",
        "SMOVE src k a",
        "SMOVE k k a",
        "EXPIRE absent 1",
        "PERSIST k",
        "DEL absent",
        "SCARD k",
        "SELECT 0",
        "SET str x NX",
        "SINTERSTORE k2 absent",
        "SPOP k 0",
    ];
    for command in idle {
        talk.ask("FLUSHALL");
        talk.transcript("SADD k a b -> 2\nSADD src a -> 1\nSET str v -> OK\nWATCH k str k2 -> OK");
        let answer = talk.on('B').call(&crate::talk::words(command));
        assert!(!answer.is_error(), "{command}: {answer}");
        talk.transcript("MULTI -> OK\nPING -> QUEUED");
        talk.check("EXEC", "[PONG]");
    }
    // The same key name in another database is another key.
    talk.transcript(
        r#"
        WATCH k           -> OK
        B> SELECT 3       -> OK
        B> SET k v        -> OK
        B> FLUSHDB        -> OK
        MULTI             -> OK
        PING              -> QUEUED
        EXEC              -> [PONG]
        "#,
    );
}

fn watch_sees_expiry_and_flush(talk: &mut Talk) {
    talk.transcript("SET k v PX 1 -> OK\nSET clock 1 PX 30 -> OK\nWATCH k -> OK");
    let start = std::time::Instant::now();
    while talk.on('B').ask("EXISTS clock").integer() == 1 {
        assert!(start.elapsed() < crate::wire::WATCHDOG);
    }
    talk.transcript(
        r#"
        B> EXISTS k       -> 0
        UNWATCH           -> OK
        WATCH absent      -> OK
        B> FLUSHALL       -> OK
        MULTI             -> OK
        PING              -> QUEUED
        EXEC              -> [PONG]
        "#,
    );
}

fn a_key_due_before_it_was_watched_counts_as_absent(talk: &mut Talk) {
    for removal in ["GET k -> nil", "FLUSHALL -> OK", "SWAPDB 0 1 -> OK", "PING -> PONG"] {
        talk.transcript(&format!(
            r#"
            FLUSHALL               -> OK
            DEBUG SET-ACTIVE-EXPIRE 0 -> OK
            SET k v PXAT 1         -> OK
            WATCH k                -> OK
            # It is still in memory: to watch is not to look.
            DBSIZE                 -> 1
            B> {removal}
            MULTI                  -> OK
            PING                   -> QUEUED
            EXEC                   -> [PONG]
            "#
        ));
    }
    talk.transcript(
        r#"
        FLUSHALL               -> OK
        SET k v PXAT 1         -> OK
        WATCH k                -> OK
        B> SET k w             -> OK
        MULTI                  -> OK
        PING                   -> QUEUED
        EXEC                   -> nil
        DEBUG SET-ACTIVE-EXPIRE 1 -> OK
        "#,
    );
}

fn debug_finds_out_about_its_subcommands_inside_exec(talk: &mut Talk) {
    talk.transcript(
        r#"
        MULTI                  -> OK
        DEBUG NOSUCH           -> QUEUED
        DEBUG HELP more        -> QUEUED
        PING                   -> QUEUED
        EXEC -> [-ERR unknown subcommand or wrong number of arguments for 'NOSUCH'. Try DEBUG HELP., -ERR unknown subcommand or wrong number of arguments for 'HELP'. Try DEBUG HELP., PONG]
        "#,
    );
}

fn unwatch_discard_and_exec_forget_watches(talk: &mut Talk) {
    for forget in ["UNWATCH", "MULTI\nDISCARD", "MULTI\nEXEC"] {
        talk.check("WATCH k", "OK");
        forget.lines().for_each(|command| drop(talk.ask(command)));
        talk.transcript(
            r#"
            B> SADD k x y z       -> 3
            MULTI                 -> OK
            PING                  -> QUEUED
            EXEC                  -> [PONG]
            B> DEL k              -> 1
            "#,
        );
    }
}

fn a_queue_survives_select_and_resp_changes(talk: &mut Talk) {
    talk.transcript(
        r#"
        MULTI             -> OK
        SELECT 5          -> QUEUED
        SET k five        -> QUEUED
        SADD s a          -> QUEUED
        EXEC              -> [OK, OK, 1]
        GET k             -> "five"
        B> GET k          -> nil
        "#,
    );
    let connection = talk.on('A');
    connection.exchange(b"MULTI\r\nHELLO 3\r\nSMEMBERS s\r\n", b"+OK\r\n+QUEUED\r\n+QUEUED\r\n");
    let replies = connection.ask("EXEC").items();
    assert!(matches!(&replies[1], crate::wire::Value::Set(items) if items.len() == 1), "{:?}", replies[1]);
}

fn exec_is_atomic_for_others(talk: &mut Talk) {
    let server_road = ['B', 'C'];
    talk.transcript("SET x 0 -> OK\nSET y 0 -> OK");
    for round in 0..300 {
        for letter in server_road {
            talk.on(letter).send(b"MULTI\r\nINCR x\r\nINCR y\r\nEXEC\r\n");
        }
        talk.on('A').send(b"MGET x y\r\n");
        let pair = talk.on('A').value().items();
        assert_eq!(pair[0], pair[1], "round {round}");
        for letter in server_road {
            (0..3).for_each(|_| drop(talk.on(letter).value()));
            let both = talk.on(letter).value().items();
            assert_eq!(both[0], both[1], "round {round}");
        }
    }
}

fn nil_exec_is_exact_bytes(talk: &mut Talk) {
    talk.transcript("WATCH k -> OK\nB> SET k v -> OK");
    let nil: &[u8] = if talk.resp() == 3 { b"_\r\n" } else { b"*-1\r\n" };
    talk.on('A').exchange(b"MULTI\r\nGET k\r\nEXEC\r\n", &[b"+OK\r\n+QUEUED\r\n", nil].concat());
}

fn a_closed_connection_runs_nothing(talk: &mut Talk) {
    talk.transcript("MULTI -> OK\nSET k v -> QUEUED");
    talk.hang_up('A');
    talk.transcript("B> GET k -> nil\nA> EXEC -> -ERR EXEC without MULTI");
}
