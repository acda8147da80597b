//! What the server counts, and what a connection reads about itself while its command runs.

use crate::road::Server;
use crate::suite::{Need, Suite, tests};
use crate::talk::Talk;
use crate::wire::Connection;

/// Registers this module's tests.
pub fn tests(suite: &mut Suite) {
    // It counts the bytes of its request.
    tests!(suite, on_every_resp_road_to_a_server, Need::Nothing; a_connection_sees_its_own_command);
    tests!(suite, on_every_road_to_a_server, Need::Nothing;
        a_refused_command_counts_under_its_name,
        debug_counts_as_one_command,
        only_what_ran_counts_as_executed,
        a_running_transaction_sees_itself,
        the_caller_counts_as_watching,
        config_get_answers_under_the_name_as_typed,
    );
    tests!(suite, plain, Need::Goblin;
        a_request_past_the_query_limit_is_cut_before_it_runs,
        who_has_not_logged_in_may_not_leave_replies_unread,
        settings_fixed_at_the_start_take_their_own_value,
        every_byte_sent_is_counted,
    );
}

/// The counters of one command without its times: `calls=…,rejected_calls=…,failed_calls=…`.
fn counters(talk: &mut Talk, command: &str) -> String {
    let info = talk.ask("INFO commandstats").text();
    let Some(line) = info.lines().find_map(|line| line.strip_prefix(&format!("cmdstat_{command}:"))) else {
        return String::new();
    };
    line.split(',').filter(|part| !part.starts_with("usec")).collect::<Vec<_>>().join(",")
}

fn a_refused_command_counts_under_its_name(talk: &mut Talk) {
    talk.transcript("CONFIG RESETSTAT -> OK\nMULTI -> OK\nSET k -> -ERR...\nSET k v -> QUEUED\nEXEC -> -EXECABORT...");
    talk.transcript(
        "SET -> -ERR...\nSET k v -> OK\nSPOP k -> -WRONGTYPE...\nCONFIG GET -> -ERR...\nCONFIG NOSUCH -> -ERR...",
    );
    assert_eq!(counters(talk, "set"), "calls=1,rejected_calls=2,failed_calls=0");
    assert_eq!(counters(talk, "spop"), "calls=1,rejected_calls=0,failed_calls=1");
    assert_eq!(counters(talk, "config|get"), "calls=0,rejected_calls=1,failed_calls=0");
    assert_eq!(counters(talk, "exec"), "calls=1,rejected_calls=0,failed_calls=1");
    assert_eq!(counters(talk, "config"), "");
    let info = talk.ask("INFO commandstats").text();
    assert!(info.contains("cmdstat_config|get:calls=0,usec=0,usec_per_call=0.00,"), "{info}");
}

fn debug_counts_as_one_command(talk: &mut Talk) {
    talk.transcript("CONFIG RESETSTAT -> OK\nDEBUG SLEEP 0 -> OK\nDEBUG NOSUCH -> -ERR...\nDEBUG SLEEP -> -ERR...");
    assert_eq!(counters(talk, "debug"), "calls=3,rejected_calls=0,failed_calls=2");
    assert_eq!(counters(talk, "debug|sleep"), "");
}

fn only_what_ran_counts_as_executed(talk: &mut Talk) {
    talk.transcript(
        r#"
        CONFIG RESETSTAT          -> OK
        NOSUCH                    -> -ERR...
        GET                       -> -ERR...
        MULTI                     -> OK
        PING                      -> QUEUED
        PING                      -> QUEUED
        EXEC                      -> [PONG, PONG]
        "#,
    );
    // RESETSTAT itself, MULTI, EXEC and its two commands.
    assert!(talk.ask("INFO stats").text().contains("total_commands_processed:5\r\n"));
}

fn fact(line: &str, name: &str) -> String {
    let value = line.split_whitespace().find_map(|pair| pair.strip_prefix(&format!("{name}=")));
    value.unwrap_or_default().to_owned()
}

fn a_connection_sees_its_own_command(talk: &mut Talk) {
    talk.transcript("PING -> PONG\nSET k v -> OK");
    let before: u64 = fact(&talk.ask("CLIENT INFO").text(), "tot-cmds").parse().expect("a number");
    let line = talk.ask("CLIENT INFO").text();
    assert_eq!(fact(&line, "tot-cmds"), (before + 1).to_string(), "{line}");
    assert_eq!(fact(&line, "cmd"), "client|info", "{line}");
    assert_eq!(fact(&line, "qbuf"), "26", "{line}");
    assert_eq!(fact(&line, "argv-mem"), "10", "{line}");
    let id = talk.ask("CLIENT ID").integer();
    let line = talk.ask(&format!("CLIENT LIST ID {id}")).text();
    assert_eq!(fact(&line, "cmd"), "client|list", "{line}");
    talk.transcript("B> PING -> PONG");
    let all = talk.on('B').call(&["CLIENT", "LIST"]).text();
    let first = all.lines().find(|line| fact(line, "id") == id.to_string()).expect("the first connection");
    assert_eq!((fact(first, "qbuf"), fact(first, "argv-mem")), ("0".to_owned(), "0".to_owned()), "{first}");
}

fn a_running_transaction_sees_itself(talk: &mut Talk) {
    talk.transcript("MULTI -> OK\nPING -> QUEUED\nCLIENT INFO -> QUEUED");
    let answer = talk.ask("EXEC");
    let line = answer.items()[1].text();
    assert_eq!(fact(&line, "flags").trim_matches('U'), "x", "{line}");
    assert_eq!(fact(&line, "multi"), "2", "{line}");
    assert_eq!(fact(&line, "cmd"), "exec", "{line}");
    assert_eq!(fact(&talk.ask("CLIENT INFO").text(), "multi"), "-1");
}

fn the_caller_counts_as_watching(talk: &mut Talk) {
    let watching = |talk: &mut Talk| {
        let info = talk.ask("INFO clients").text();
        info.lines().find_map(|line| line.strip_prefix("watching_clients:")).unwrap_or_default().to_owned()
    };
    assert_eq!(watching(talk), "0");
    talk.transcript("WATCH k -> OK\nB> WATCH k l -> OK");
    assert_eq!(watching(talk), "2");
    talk.transcript("UNWATCH -> OK");
    assert_eq!(watching(talk), "1");
}

fn config_get_answers_under_the_name_as_typed(talk: &mut Talk) {
    talk.transcript(
        r#"
        CONFIG GET MaxClients             -> ["MaxClients", "10000"]
        CONFIG GET SAVE save              -> ["SAVE", ""]
        CONFIG GET MaxClients maxcl*      -> ["MaxClients", "10000"]
        CONFIG GET maxcl* MaxClients      -> ["maxclients", "10000"]
        CONFIG GET MAXCL*                 -> ["maxclients", "10000"]
        CONFIG GET max\clients            -> []
        "#,
    );
}

fn a_request_past_the_query_limit_is_cut_before_it_runs() {
    let server = Server::start();
    let mut client = server.connect();
    assert_eq!(client.call(&["CONFIG", "SET", "client-query-buffer-limit", "1048576"]).text(), "OK");
    let big = "x".repeat(1024 * 1024);
    client.request(&["SET", "k", &big]);
    client.expect_closed();
    let mut client = server.connect();
    assert_eq!(client.call(&["EXISTS", "k"]).integer(), 0);
    let info = client.call(&["INFO", "stats"]).text();
    assert!(info.contains("client_query_buffer_limit_disconnections:1\r\n"), "{info}");
    let fits = "x".repeat(1024 * 1024 - 100);
    assert_eq!(client.call(&["SET", "k", &fits]).text(), "OK");
}

fn who_has_not_logged_in_may_not_leave_replies_unread() {
    let server = Server::with(&["--requirepass", "secret"]);
    let mut stranger = server.connect();
    // Far more refusals than any socket holds; the write ends when the server hangs up.
    let flood = b"GET k\r\n".repeat(64 * 1024);
    while stranger.try_send(&flood).is_ok() {}
    let mut client = server.connect();
    assert_eq!(client.call(&["AUTH", "secret"]).text(), "OK");
    let info = client.call(&["INFO", "stats"]).text();
    assert!(info.contains("client_output_buffer_limit_disconnections:1\r\n"), "{info}");
}

fn settings_fixed_at_the_start_take_their_own_value() {
    let server = Server::start();
    let mut client = server.connect();
    for name in ["wait", "cpu", "port", "bind"] {
        let pair = client.call(&["CONFIG", "GET", name]);
        let value = pair.items().last().expect("a value").text();
        assert_eq!(client.call(&["CONFIG", "SET", name, &value]).text(), "OK", "{name}");
    }
    let refusal = client.call(&["CONFIG", "SET", "wait", "spin"]).text();
    assert!(refusal.ends_with("can't set immutable config"), "{refusal}");
}

fn every_byte_sent_is_counted() {
    let server = Server::start();
    let value = "v".repeat(12 << 20);
    let mut admin = server.connect();
    admin.call(&["SET", "k", &value]);
    admin.ask("CONFIG RESETSTAT");
    // More than the sockets hold: most of it is sent as the reader takes it.
    let mut reader = Connection::tcp_with_room(server.address(), 4096);
    assert_eq!(reader.call(&["GET", "k"]).bytes().len(), value.len());
    let info = admin.call(&["INFO", "stats"]).text();
    let sent = info.lines().find_map(|line| line.strip_prefix("total_net_output_bytes:")).expect("a field");
    assert!(sent.parse::<usize>().expect("a number") >= value.len(), "{info}");
}
