//! CLIENT PAUSE: what waits, what does not, and what stands still meanwhile.

use std::time::{Duration, Instant};

use crate::suite::{Need, Suite, tests};
use crate::talk::Talk;

/// Registers this module's tests.
pub fn tests(suite: &mut Suite) {
    tests!(suite, on_every_road_to_a_server, Need::Nothing;
        refusals_are_answered_during_a_pause,
        what_a_pause_holds_back_counts_as_blocked,
        nothing_expires_during_a_pause,
        a_queue_waits_as_soon_as_it_holds_a_write,
        a_pause_inside_exec_begins_after_it,
        a_later_pause_only_lengthens,
    );
}

fn blocked(talk: &mut Talk) -> String {
    let info = talk.on('I').call(&["INFO", "clients"]).text();
    info.lines().find_map(|line| line.strip_prefix("blocked_clients:")).unwrap_or_default().to_owned()
}

/// Commands are read when their bytes come, which may be a little after they were sent.
fn wait_until_blocked(talk: &mut Talk, wanted: &str) {
    let start = Instant::now();
    while blocked(talk) != wanted {
        assert!(start.elapsed() < Duration::from_secs(20), "{wanted} clients never became blocked");
    }
}

fn refusals_are_answered_during_a_pause(talk: &mut Talk) {
    talk.transcript("B> MULTI -> OK\nC> PING -> PONG\nD> PING -> PONG\nA> CLIENT PAUSE 100000 WRITE -> OK");
    talk.transcript(
        r#"
        C> SET k                  -> -ERR wrong number of arguments for 'set' command
        C> NOSUCH                 -> -ERR unknown command 'NOSUCH', with args beginning with:...
        C> CONFIG NOSUCH          -> -ERR unknown subcommand 'NOSUCH'. Try CONFIG HELP.
        B> SUBSCRIBE a b          -> -ERR ...
        A> CLIENT UNPAUSE         -> OK
        "#,
    );
}

fn what_a_pause_holds_back_counts_as_blocked(talk: &mut Talk) {
    talk.transcript("B> PING -> PONG\nC> PING -> PONG\nA> CLIENT PAUSE 100000 WRITE -> OK");
    talk.on('B').request(&["SET", "k", "1"]);
    talk.on('C').request(&["PUBLISH", "c", "m"]);
    wait_until_blocked(talk, "2");
    let list = talk.ask("CLIENT LIST").text();
    assert_eq!(list.lines().filter(|line| line.contains(" flags=b")).count(), 2, "{list}");
    talk.transcript("A> CLIENT UNPAUSE -> OK\nB< OK\nC< 0");
    assert_eq!(blocked(talk), "0");
}

fn nothing_expires_during_a_pause(talk: &mut Talk) {
    talk.transcript("SET k v PX 60 -> OK\nSADD s a -> 1\nPEXPIRE s 60 -> 1\nCLIENT PAUSE 100000 WRITE -> OK");
    let start = Instant::now();
    while talk.ask("EXISTS k s").integer() > 0 {
        assert!(start.elapsed() < Duration::from_secs(20), "due keys are still there");
    }
    talk.transcript(
        r#"
        GET k                     -> nil
        SCARD s                   -> 0
        KEYS *                    -> []
        PTTL k                    -> -2
        DBSIZE                    -> 2
        "#,
    );
    assert!(talk.ask("INFO stats").text().contains("expired_keys:0\r\n"));
    talk.transcript("CLIENT UNPAUSE -> OK\nGET k -> nil\nEXISTS s -> 0\nDBSIZE -> 0");
    assert!(talk.ask("INFO stats").text().contains("expired_keys:2\r\n"));
}

fn a_queue_waits_as_soon_as_it_holds_a_write(talk: &mut Talk) {
    talk.transcript(
        r#"
        B> MULTI                  -> OK
        B> SET k 1                -> QUEUED
        C> MULTI                  -> OK
        C> GET k                  -> QUEUED
        D> MULTI                  -> OK
        A> CLIENT PAUSE 100000 WRITE -> OK
        C> EXEC                   -> [nil]
        "#,
    );
    talk.on('B').request(&["EXEC"]);
    talk.on('D').request(&["SET", "k", "2"]);
    wait_until_blocked(talk, "2");
    talk.transcript("A> GET k -> nil\nA> CLIENT UNPAUSE -> OK\nB< [OK]\nD< QUEUED\nD> EXEC -> [OK]\nA> GET k -> \"2\"");
}

fn a_pause_inside_exec_begins_after_it(talk: &mut Talk) {
    talk.transcript(
        r#"
        MULTI                     -> OK
        CLIENT PAUSE 100000 WRITE -> QUEUED
        SET k 1                   -> QUEUED
        EXEC                      -> [OK, OK]
        GET k                     -> "1"
        "#,
    );
    talk.on('B').request(&["SET", "k", "2"]);
    wait_until_blocked(talk, "1");
    talk.transcript("A> GET k -> \"1\"\nA> CLIENT UNPAUSE -> OK\nB< OK");
}

fn a_later_pause_only_lengthens(talk: &mut Talk) {
    talk.transcript("CLIENT PAUSE 100000 WRITE -> OK\nCLIENT PAUSE 1 WRITE -> OK");
    talk.on('B').request(&["SET", "k", "2"]);
    wait_until_blocked(talk, "1");
    talk.transcript("CLIENT UNPAUSE -> OK\nB< OK\nCLIENT PAUSE 0 WRITE -> OK\nSET k 3 -> OK");
}
