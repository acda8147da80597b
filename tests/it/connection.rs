//! Connection and server commands: handshakes, client administration, settings, facts.

use crate::road::Server;
use crate::suite::{Need, Suite, tests};
use crate::talk::Talk;
use crate::wire::Value;

/// Registers this module's tests.
pub fn tests(suite: &mut Suite) {
    tests!(suite, on_every_road_to_a_server, Need::Nothing;
        ping_and_echo_give_back_bytes,
        auth_without_a_password_is_refused,
        client_names_are_kept_and_checked,
        client_info_and_list_describe_connections,
        client_kill_ends_chosen_connections,
        client_pause_holds_writes_back,
        unknown_commands_are_named_with_their_arguments,
        command_describes_the_table,
        config_get_takes_globs_and_set_is_atomic,
        info_has_the_fields_clients_read,
        info_sections_can_be_chosen,
        counters_reset_on_request,
        time_is_two_numbers,
        functions_are_truthfully_none,
        debug_does_what_tests_need,
        helps_of_containers_answer_lines,
    );
    tests!(suite, on_every_resp_road_to_a_server, Need::Nothing;
        hello_switches_the_protocol_and_describes_the_server,
        hello_checks_its_options,
        reset_forgets_everything,
        quit_says_ok_and_closes,
        client_reply_modes_silence_answers,
    );
    tests!(suite, on_every_road_to_a_server, Need::Goblin;
        tracking_is_refused,
    );
    tests!(suite, on_every_resp_road_to_a_server, Need::Goblin;
        hello_reply_is_exact,
        version_is_told_as_clients_parse_it,
    );
    tests!(suite, with_server, Need::Nothing; refused_passwords_are_counted);
    tests!(suite, plain, Need::Nothing;
        a_password_guards_everything_but_the_handshake,
        hello_may_carry_the_password,
        maxclients_refuses_the_next_connection,
        debug_is_off_unless_enabled,
    );
}

fn ping_and_echo_give_back_bytes(talk: &mut Talk) {
    talk.transcript(
        r#"
        PING                  -> PONG
        PING "a\r\nb"         -> "a\r\nb"
        ECHO "\x00\xff"       -> "\x00\xff"
        ECHO                  -> -ERR wrong number of arguments for 'echo' command
        PING a b              -> -ERR wrong number of arguments for 'ping' command
        ping                  -> PONG
        pInG x                -> "x"
        "#,
    );
}

/// A field of a flat map reply.
fn field(value: &Value, name: &str) -> Value {
    let items = value.items();
    let found = items.chunks(2).find(|pair| pair[0].text() == name);
    found.unwrap_or_else(|| panic!("no field {name} in {value}"))[1].clone()
}

fn hello_switches_the_protocol_and_describes_the_server(talk: &mut Talk) {
    let plain = talk.ask("HELLO");
    assert_eq!(field(&plain, "proto").integer(), i64::from(talk.resp()));
    for version in ["3", "2", "3"] {
        let reply = talk.ask(&format!("HELLO {version}"));
        assert_eq!(matches!(reply, Value::Map(_)), version == "3");
        assert_eq!(field(&reply, "proto").integer().to_string(), version);
        assert_eq!(field(&reply, "server").text(), "redis");
        assert_eq!(field(&reply, "mode").text(), "standalone");
        assert_eq!(field(&reply, "role").text(), "master");
        field(&reply, "modules").items();
        assert_eq!(field(&reply, "id"), talk.ask("CLIENT ID"));
    }
    talk.ask("HELLO 3 SETNAME me");
    talk.check("CLIENT GETNAME", "\"me\"");
}

fn hello_reply_is_exact(talk: &mut Talk) {
    let id = talk.ask("CLIENT ID").integer().to_string();
    let version = field(&talk.ask("HELLO"), "version").text();
    let connection = talk.on('A');
    let body = |proto: &str, modules: &str| {
        format!(
            "$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n${}\r\n{version}\r\n$5\r\nproto\r\n:{proto}\r\n$2\r\nid\r\n:{id}\r\n\
             $4\r\nmode\r\n$10\r\nstandalone\r\n$4\r\nrole\r\n$6\r\nmaster\r\n$7\r\nmodules\r\n{modules}",
            version.len(),
        )
    };
    connection.exchange(b"HELLO 3\r\n", format!("%7\r\n{}", body("3", "*0\r\n")).as_bytes());
    connection.exchange(b"HELLO 2\r\n", format!("*14\r\n{}", body("2", "*0\r\n")).as_bytes());
}

fn hello_checks_its_options(talk: &mut Talk) {
    talk.transcript(
        r#"
        HELLO 4               -> -NOPROTO unsupported protocol version
        HELLO 1               -> -NOPROTO unsupported protocol version
        HELLO x               -> -ERR Protocol version is not an integer or out of range
        HELLO 3 FOO           -> -ERR Syntax error in HELLO option 'FOO'
        HELLO 3 AUTH x        -> -ERR Syntax error in HELLO option 'AUTH'
        HELLO 3 SETNAME       -> -ERR Syntax error in HELLO option 'SETNAME'
        HELLO 3 SETNAME "a b" -> -ERR Client names cannot contain spaces, newlines or special characters.
        HELLO 3 AUTH nobody x -> -WRONGPASS invalid username-password pair or user is disabled.
        CLIENT GETNAME        -> nil
        "#,
    );
    let proto = field(&talk.ask("HELLO"), "proto").integer();
    assert_eq!(proto, i64::from(talk.resp()), "refused handshakes change nothing");
}

fn auth_without_a_password_is_refused(talk: &mut Talk) {
    talk.transcript(
        r#"
        AUTH x                -> -ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?
        AUTH default x        -> OK
        AUTH nobody x         -> -WRONGPASS invalid username-password pair or user is disabled.
        AUTH                  -> -ERR wrong number of arguments for 'auth' command
        AUTH a b c            -> -ERR syntax error
        PING                  -> PONG
        "#,
    );
}

fn reset_forgets_everything(talk: &mut Talk) {
    talk.transcript(
        r#"
        CLIENT SETNAME me     -> OK
        SELECT 3              -> OK
        SET k three           -> OK
        WATCH k               -> OK
        MULTI                 -> OK
        SET k four            -> QUEUED
        RESET                 -> RESET
        EXEC                  -> -ERR EXEC without MULTI
        CLIENT GETNAME        -> nil
        GET k                 -> nil
        "#,
    );
    assert_eq!(field(&talk.ask("HELLO"), "proto").integer(), 2);
}

fn quit_says_ok_and_closes(talk: &mut Talk) {
    let connection = talk.on('A');
    connection.exchange(b"PING\r\nQUIT\r\nSET k v\r\n", b"+PONG\r\n+OK\r\n");
    connection.expect_closed();
    talk.transcript("B> EXISTS k -> 0");
}

fn client_names_are_kept_and_checked(talk: &mut Talk) {
    talk.transcript(
        r#"
        CLIENT GETNAME                -> nil
        CLIENT SETNAME worker-1       -> OK
        CLIENT GETNAME                -> "worker-1"
        CLIENT SETNAME "a b"          -> -ERR Client names cannot contain spaces, newlines or special characters.
        CLIENT SETNAME "a\nb"         -> -ERR Client names cannot contain spaces, newlines or special characters.
        CLIENT GETNAME                -> "worker-1"
        CLIENT SETNAME ""             -> OK
        CLIENT GETNAME                -> nil
        CLIENT SETINFO LIB-NAME lib   -> OK
        CLIENT SETINFO lib-ver 1.2    -> OK
        CLIENT SETINFO LIB-NAME "a b" -> -ERR LIB-NAME cannot contain spaces, newlines or special characters.
        CLIENT SETINFO COLOUR red     -> -ERR Unrecognized option 'COLOUR'
        CLIENT NOSUCH                 -> -ERR unknown subcommand 'NOSUCH'. Try CLIENT HELP.
        CLIENT                        -> -ERR wrong number of arguments for 'client' command
        CLIENT SETNAME                -> -ERR wrong number of arguments for 'client|setname' command
        CLIENT NO-EVICT on            -> OK
        CLIENT NO-EVICT off           -> OK
        CLIENT NO-EVICT maybe         -> -ERR syntax error
        CLIENT NO-TOUCH on            -> OK
        CLIENT NO-TOUCH x             -> -ERR syntax error
        "#,
    );
    let info = talk.ask("CLIENT INFO").text();
    assert!(info.contains(" lib-name=lib ") && info.contains(" lib-ver=1.2"), "{info}");
}

/// `name=value` fields of a CLIENT LIST line.
fn fact<'a>(line: &'a str, name: &str) -> &'a str {
    let found = line.split(' ').find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
    found.unwrap_or_else(|| panic!("no {name}= in {line}")).trim_end()
}

fn client_info_and_list_describe_connections(talk: &mut Talk) {
    talk.transcript(
        r#"
        A> CLIENT SETNAME a       -> OK
        B> SELECT 2               -> OK
        B> SUBSCRIBE one          -> ["subscribe", "one", 1]
        B> PSUBSCRIBE p*          -> ["psubscribe", "p*", 2]
        B> SSUBSCRIBE s           -> ["ssubscribe", "s", 1]
        C> WATCH k                -> OK
        C> MULTI                  -> OK
        C> PING                   -> QUEUED
        "#,
    );
    let own = talk.ask("CLIENT INFO").text();
    assert_eq!(fact(&own, "id"), talk.ask("CLIENT ID").integer().to_string());
    assert_eq!((fact(&own, "name"), fact(&own, "cmd")), ("a", "client|info"));
    assert_eq!(fact(&own, "resp"), talk.resp().to_string());
    assert_eq!((fact(&own, "user"), fact(&own, "multi")), ("default", "-1"));
    let list = talk.ask("CLIENT LIST").text();
    assert!(list.ends_with('\n'));
    let lines: Vec<&str> = list.lines().collect();
    assert_eq!(lines.len(), 3, "{list}");
    let b = lines.iter().find(|line| fact(line, "cmd") == "ssubscribe").expect("the subscriber");
    assert_eq!([fact(b, "db"), fact(b, "sub"), fact(b, "psub"), fact(b, "ssub")], ["2", "1", "1", "1"]);
    assert!(fact(b, "flags").contains('P'));
    let c = lines.iter().find(|line| fact(line, "flags").contains('x')).expect("the one in a transaction");
    assert_eq!((fact(c, "multi"), fact(c, "watch")), ("1", "1"));
    for name in ["addr", "laddr", "fd", "age", "idle", "qbuf", "omem", "tot-mem", "events", "tot-net-in", "tot-cmds"] {
        fact(&own, name);
    }
    let chosen = talk.ask(&format!("CLIENT LIST ID {} 999999", fact(b, "id"))).text();
    assert_eq!(chosen.lines().count(), 1);
    let subscribers = talk.ask("CLIENT LIST TYPE pubsub").text();
    assert_eq!(subscribers.lines().map(|line| fact(line, "id")).collect::<Vec<_>>(), [fact(b, "id")]);
    talk.transcript(
        r#"
        CLIENT LIST TYPE nope     -> -ERR Unknown client type 'nope'
        CLIENT LIST ID x          -> -ERR Invalid client ID
        CLIENT LIST FOO           -> -ERR syntax error
        "#,
    );
}

fn client_kill_ends_chosen_connections(talk: &mut Talk) {
    let id = |talk: &mut Talk, letter| talk.on(letter).ask("CLIENT ID").integer();
    let (b, own) = (id(talk, 'B'), id(talk, 'A'));
    talk.transcript("C> SUBSCRIBE x -> [\"subscribe\", \"x\", 1]\nD> PING -> PONG");
    talk.check(&format!("CLIENT KILL ID {b}"), "1");
    talk.on('B').expect_closed();
    talk.check("CLIENT KILL TYPE pubsub", "1");
    talk.on('C').expect_closed();
    talk.check(&format!("CLIENT KILL ID {b}"), "0");
    talk.transcript(
        r#"
        CLIENT KILL nowhere:1         -> -ERR No such client
        CLIENT KILL ID x              -> -ERR client-id should be greater than 0
        CLIENT KILL ID 0              -> -ERR client-id should be greater than 0
        CLIENT KILL TYPE nope         -> -ERR Unknown client type 'nope'
        CLIENT KILL USER nobody       -> -ERR No such user 'nobody'
        CLIENT KILL SKIPME maybe      -> -ERR syntax error
        CLIENT KILL ID                -> -ERR No such client
        CLIENT KILL A B C             -> -ERR syntax error
        CLIENT KILL MAXAGE x          -> -ERR maxage is not an integer or out of range
        CLIENT KILL                   -> -ERR wrong number of arguments for 'client|kill' command
        "#,
    );
    talk.check("CLIENT KILL USER default", "1");
    talk.on('D').expect_closed();
    talk.check(&format!("CLIENT KILL ID {own} SKIPME yes"), "0");
    talk.check(&format!("CLIENT KILL ID {own} SKIPME no"), "1");
    talk.on('A').expect_closed();
}

fn client_reply_modes_silence_answers(talk: &mut Talk) {
    let connection = talk.on('A');
    connection.exchange(b"CLIENT REPLY ON\r\n", b"+OK\r\n");
    connection.exchange(b"CLIENT REPLY SKIP\r\nSET k 1\r\nGET k\r\n", b"$1\r\n1\r\n");
    connection.exchange(b"CLIENT REPLY OFF\r\nSET k 2\r\nGET k\r\nNOSUCH\r\nCLIENT REPLY ON\r\n", b"+OK\r\n");
    connection.exchange(b"GET k\r\n", b"$1\r\n2\r\n");
    talk.check("CLIENT REPLY MAYBE", "-ERR syntax error");
}

fn client_pause_holds_writes_back(talk: &mut Talk) {
    talk.transcript("B> SET k old -> OK\nA> CLIENT PAUSE 100000 WRITE -> OK");
    talk.on('B').request(&["SET", "k", "new"]);
    talk.transcript("C> GET k -> \"old\"\nA> CLIENT UNPAUSE -> OK\nB< OK\nC> GET k -> \"new\"");
    talk.transcript(
        r#"
        CLIENT PAUSE x            -> -ERR timeout is not an integer or out of range
        CLIENT PAUSE -1           -> -ERR timeout is negative
        CLIENT PAUSE 1 FOO        -> -ERR CLIENT PAUSE mode must be WRITE or ALL
        "#,
    );
    // Pausing everything holds reads back as well, even the command that would end the pause.
    let start = std::time::Instant::now();
    talk.transcript("A> CLIENT PAUSE 60 ALL -> OK\nB> GET k -> \"new\"");
    assert!(start.elapsed().as_millis() >= 50, "a pause ends by itself, not before");
}

fn unknown_commands_are_named_with_their_arguments(talk: &mut Talk) {
    talk.transcript(
        r#"
        NOSUCH                    -> -ERR unknown command 'NOSUCH', with args beginning with:...
        nosuch a "b c"            -> -ERR unknown command 'nosuch', with args beginning with: 'a' 'b c'...
        "a\r\nb" x                -> -ERR unknown command 'a  b', with args beginning with: 'x'...
        # Words are quoted up to their first zero byte.
        "a\x00b" "c\x00d" e        -> -ERR unknown command 'a', with args beginning with: 'c' 'e'...
        CLIENT "a\x00b"           -> -ERR unknown subcommand 'a'. Try CLIENT HELP.
        EXPIRE k 1 "a\x00b"       -> -ERR Unsupported option a
        CONFIG NOSUCH x           -> -ERR unknown subcommand 'NOSUCH'. Try CONFIG HELP.
        "#,
    );
    let long = "x".repeat(300);
    let answer = talk.ask(&format!("{long} {long} {long}")).text();
    assert_eq!(answer.matches('x').count(), 128 + 128, "names and arguments are cut: {answer}");
}

fn command_describes_the_table(talk: &mut Talk) {
    let count = talk.ask("COMMAND COUNT").integer();
    assert!(count > 50, "{count}");
    assert_eq!(talk.ask("COMMAND").items().len() as i64, count);
    let listed = talk.ask("COMMAND LIST").sorted_texts();
    assert_eq!(listed.iter().filter(|name| !name.contains('|')).count() as i64, count);
    assert!(listed.contains(&"client|list".to_owned()), "subcommands are listed as well");
    let info = talk.ask("COMMAND INFO sadd nosuch").items();
    assert_eq!(info.len(), 2);
    assert_eq!(info[1], Value::Nil);
    let sadd = info[0].items();
    assert_eq!((sadd[0].text().as_str(), sadd[1].integer()), ("sadd", -3));
    assert_eq!(sadd[2].sorted_texts(), ["denyoom", "fast", "write"]);
    assert_eq!([sadd[3].integer(), sadd[4].integer(), sadd[5].integer()], [1, 1, 1]);
    let docs = talk.ask("COMMAND DOCS sadd").items();
    assert_eq!(docs[0].text(), "sadd");
    assert!(!field(&docs[1], "summary").text().is_empty());
    assert_eq!(field(&docs[1], "group").text(), "set");
    talk.transcript(
        r#"
        COMMAND GETKEYS SUNIONSTORE d a b     -> ["d", "a", "b"]
        COMMAND GETKEYS SINTERCARD 2 a b LIMIT 1      -> ["a", "b"]
        COMMAND GETKEYS MSET a 1 b 2          -> ["a", "b"]
        COMMAND GETKEYS PING                  -> -ERR The command has no key arguments
        COMMAND GETKEYS NOSUCH x              -> -ERR Invalid command specified
        COMMAND GETKEYS GET                   -> -ERR Invalid number of arguments specified for command
        COMMAND GETKEYSANDFLAGS SADD k a      -> [["k", [RW, insert]]]
        COMMAND GETKEYSANDFLAGS SMOVE a b c   -> [["a", [RW, access, delete]], ["b", [RW, insert]]]
        COMMAND NOSUCH                        -> -ERR unknown subcommand 'NOSUCH'. Try COMMAND HELP.
        COMMAND LIST FILTERBY PATTERN sad*    -> ["sadd"]
        "#,
    );
    assert!(talk.ask("COMMAND LIST FILTERBY ACLCAT set").sorted_texts().contains(&"spop".to_owned()));
}

fn config_get_takes_globs_and_set_is_atomic(talk: &mut Talk) {
    talk.transcript(
        r#"
        CONFIG GET set-max-intset-entries             -> ["set-max-intset-entries", "512"]
        CONFIG GET SET-MAX-INTSET-entries nosuch      -> ["SET-MAX-INTSET-entries", "512"]
        CONFIG GET nosuch                             -> []
        CONFIG SET set-max-intset-entries 100 set-max-listpack-entries 20     -> OK
        CONFIG GET set-max-listpack-entries           -> ["set-max-listpack-entries", "20"]
        CONFIG SET set-max-intset-entries 7 set-max-listpack-entries x        -> -ERR CONFIG SET failed (possibly related to argument 'set-max-listpack-entries') - argument couldn't be parsed into an integer
        CONFIG GET set-max-intset-entries             -> ["set-max-intset-entries", "100"]
        CONFIG SET nosuch 1                           -> -ERR Unknown option or number of arguments for CONFIG SET - 'nosuch'
        CONFIG SET a                                  -> -ERR wrong number of arguments for 'config|set' command
        CONFIG SET maxclients                         -> -ERR wrong number of arguments for 'config|set' command
        CONFIG SET timeout 1 timeout 2                -> -ERR CONFIG SET failed (possibly related to argument 'timeout') - duplicate parameter
        CONFIG SET databases 4                        -> -ERR CONFIG SET failed (possibly related to argument 'databases') - can't set immutable config
        CONFIG GET save                               -> ["save", ""]
        CONFIG GET appendonly                         -> ["appendonly", "no"]
        CONFIG GET databases                          -> ["databases", "16"]
        CONFIG GET client-output-buffer-limit         -> ["client-output-buffer-limit", "normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60"]
        CONFIG SET client-output-buffer-limit "pubsub 64mb 16mb 90"   -> OK
        CONFIG GET client-output-buffer-limit         -> ["client-output-buffer-limit", "normal 0 0 0 slave 268435456 67108864 60 pubsub 67108864 16777216 90"]
        CONFIG GET                                    -> -ERR wrong number of arguments for 'config|get' command
        "#,
    );
    let both = talk.ask("CONFIG GET set-max-*").items();
    assert!(both.len() >= 6, "{both:?}");
    let all = talk.ask("CONFIG GET *").items();
    let names: std::collections::BTreeSet<String> = all.chunks(2).map(|pair| pair[0].text()).collect();
    assert_eq!(names.len() * 2, all.len(), "no name twice");
    for name in
        ["port", "bind", "maxmemory", "maxmemory-policy", "maxclients", "timeout", "requirepass", "proto-max-bulk-len"]
    {
        assert!(names.contains(name), "CONFIG GET * lacks {name}");
    }
}

fn info_has_the_fields_clients_read(talk: &mut Talk) {
    talk.transcript("SADD s a -> 1\nSET k v EX 100 -> OK\nB> SUBSCRIBE x -> [\"subscribe\", \"x\", 1]");
    let info = talk.ask("INFO").text();
    let fields = [
        "redis_mode:standalone",
        "role:master",
        "loading:0",
        "connected_clients:2",
        "blocked_clients:0",
        "pubsub_channels:1",
        "pubsub_patterns:0",
        "db0:keys=2,expires=1",
        "cluster_enabled:0",
        "connected_slaves:0",
        "maxmemory_policy:noeviction",
    ];
    for wanted in fields {
        assert!(info.contains(wanted), "INFO lacks {wanted}:\n{info}");
    }
    for name in [
        "redis_version",
        "process_id",
        "run_id",
        "tcp_port",
        "uptime_in_seconds",
        "used_memory",
        "used_memory_human",
        "used_memory_rss",
        "maxmemory",
        "mem_allocator",
        "total_connections_received",
        "total_commands_processed",
        "instantaneous_ops_per_sec",
        "expired_keys",
        "keyspace_hits",
        "keyspace_misses",
        "master_repl_offset",
        "used_cpu_user",
        "used_cpu_sys",
        "maxclients",
        "rdb_bgsave_in_progress",
        "aof_enabled",
    ] {
        assert_eq!(info.matches(&format!("\n{name}:")).count(), 1, "INFO has {name} once:\n{info}");
    }
    assert!(info.lines().all(|line| line.is_empty() || line.starts_with("# ") || line.contains(':')));
    assert!(info.ends_with("\r\n") && info.starts_with("# Server\r\n"));
}

fn refused_passwords_are_counted(server: &Server) {
    let mut connection = server.connect();
    connection.ask("AUTH nobody wrong");
    let info = connection.ask("INFO stats").text();
    assert!(info.contains("acl_access_denied_auth:1\r\n"), "{info}");
}

fn info_sections_can_be_chosen(talk: &mut Talk) {
    let titles = |text: &str| -> Vec<String> {
        text.lines().filter_map(|line| line.strip_prefix("# ")).map(str::to_owned).collect()
    };
    assert_eq!(titles(&talk.ask("INFO server").text()), ["Server"]);
    assert_eq!(titles(&talk.ask("INFO keyspace CLIENTS").text()).len(), 2);
    assert_eq!(titles(&talk.ask("INFO nosuch").text()).len(), 0);
    assert!(!talk.ask("INFO default").text().contains("cmdstat_"));
    talk.ask("SET k v");
    talk.ask("GET");
    let all = talk.ask("INFO all").text();
    assert!(all.contains("cmdstat_set:calls=1,"), "{all}");
    let get = all.lines().find(|line| line.starts_with("cmdstat_get:calls=0,")).expect("a refused command is counted");
    assert!(get.ends_with(",rejected_calls=1,failed_calls=0"), "{get}");
    assert!(all.contains("errorstat_ERR:count=1"), "{all}");
    let sections = titles(&talk.ask("INFO everything").text());
    assert_eq!(sections.iter().collect::<std::collections::BTreeSet<_>>().len(), sections.len(), "{sections:?}");
}

fn counters_reset_on_request(talk: &mut Talk) {
    talk.transcript("GET a -> nil\nSET a 1 -> OK\nGET a -> \"1\"");
    let stat = |talk: &mut Talk, name: &str| {
        let info = talk.ask("INFO stats").text();
        let value = info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        value.expect("a field of INFO stats").parse::<u64>().expect("a number")
    };
    assert_eq!((stat(talk, "keyspace_hits"), stat(talk, "keyspace_misses")), (1, 1));
    let before = stat(talk, "total_commands_processed");
    talk.ask("PING");
    assert_eq!(stat(talk, "total_commands_processed"), before + 2);
    talk.check("CONFIG RESETSTAT", "OK");
    assert_eq!((stat(talk, "keyspace_hits"), stat(talk, "keyspace_misses")), (0, 0));
    assert!(!talk.ask("INFO commandstats").text().contains("cmdstat_set"));
}

fn time_is_two_numbers(talk: &mut Talk) {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970").as_secs() as i64;
    let time = talk.ask("TIME").items();
    let numbers: Vec<i64> = time.iter().map(|part| part.text().parse().expect("a number")).collect();
    assert!((numbers[0] - now).abs() <= 20 && (0..1_000_000).contains(&numbers[1]), "{numbers:?}, our clock {now}");
    talk.check("TIME x", "-ERR wrong number of arguments for 'time' command");
}

fn functions_are_truthfully_none(talk: &mut Talk) {
    talk.transcript(
        r#"
        FUNCTION LIST         -> []
        FUNCTION FLUSH        -> OK
        FUNCTION FLUSH ASYNC  -> OK
        FUNCTION FLUSH X      -> -ERR FUNCTION FLUSH only supports SYNC|ASYNC option
        FUNCTION NOSUCH       -> -ERR unknown subcommand 'NOSUCH'. Try FUNCTION HELP.
        "#,
    );
}

fn debug_does_what_tests_need(talk: &mut Talk) {
    talk.check("DEBUG LOG \"a line for the log\"", "OK");
    talk.server().wait_for_line("a line for the log");
    let start = std::time::Instant::now();
    talk.check("DEBUG SLEEP 0.05", "OK");
    assert!(start.elapsed().as_millis() >= 50);
    talk.check("DEBUG SET-ACTIVE-EXPIRE 0", "OK");
    talk.check("DEBUG SET-ACTIVE-EXPIRE 1", "OK");
}

fn helps_of_containers_answer_lines(talk: &mut Talk) {
    for container in ["CLIENT", "COMMAND", "CONFIG", "FUNCTION", "OBJECT", "PUBSUB"] {
        let lines = talk.ask(&format!("{container} HELP")).items();
        assert!(lines.len() >= 3, "{container}");
        assert!(lines.iter().all(|line| matches!(line, Value::Status(_))), "{container}");
        assert!(lines[0].text().starts_with(container), "{:?}", lines[0]);
    }
}

fn tracking_is_refused(talk: &mut Talk) {
    assert!(talk.ask("CLIENT TRACKING ON").is_error(), "never OK while it does nothing");
    talk.check("PING", "PONG");
}

fn version_is_told_as_clients_parse_it(talk: &mut Talk) {
    assert_eq!(field(&talk.ask("HELLO"), "version").text(), "7.2.4");
    let info = talk.ask("INFO server").text();
    assert!(info.contains("\r\nredis_version:7.2.4\r\n"), "{info}");
    assert!(info.contains(&format!("\r\ngoblin_version:{}\r\n", env!("CARGO_PKG_VERSION"))), "{info}");
}

fn a_password_guards_everything_but_the_handshake() {
    let server = Server::with(&["--requirepass", "s3cret"]);
    let mut connection = server.connect();
    let noauth = b"-NOAUTH Authentication required.\r\n";
    for command in ["GET k", "PING", "SUBSCRIBE a", "CLIENT ID", "INFO", "MULTI"] {
        connection.exchange(format!("{command}\r\n").as_bytes(), noauth);
    }
    connection.exchange(
        b"HELLO 3\r\n",
        b"-NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> \
          <pass> option can be used to authenticate the client and select the RESP protocol version at the same time\r\n",
    );
    connection.exchange(b"AUTH wrong\r\n", b"-WRONGPASS invalid username-password pair or user is disabled.\r\n");
    connection.exchange(b"RESET\r\nGET k\r\n", &[b"+RESET\r\n", &noauth[..]].concat());
    connection.exchange(b"AUTH s3cret\r\nPING\r\n", b"+OK\r\n+PONG\r\n");
    connection.exchange(b"RESET\r\nPING\r\n", &[b"+RESET\r\n", &noauth[..]].concat());
    connection.exchange(b"AUTH default s3cret\r\nPING\r\n", b"+OK\r\n+PONG\r\n");
    connection.exchange(
        b"AUTH default wrong\r\nPING\r\n",
        b"-WRONGPASS invalid username-password pair or user is disabled.\r\n+PONG\r\n",
    );
    assert_eq!(connection.ask("CONFIG GET requirepass").items()[1].text(), "s3cret");
    connection.exchange(b"CONFIG SET requirepass other\r\n", b"+OK\r\n");
    connection.exchange(b"PING\r\n", b"+PONG\r\n");
    let mut second = server.connect();
    second.exchange(b"QUIT\r\n", b"+OK\r\n");
    second.expect_closed();
    server.connect().exchange(b"AUTH other\r\n", b"+OK\r\n");
}

fn hello_may_carry_the_password() {
    let server = Server::with(&["--requirepass", "s3cret"]);
    let mut connection = server.connect();
    assert!(connection.ask("HELLO 3 AUTH default wrong").is_error());
    assert!(connection.ask("PING").is_error());
    assert_eq!(field(&connection.ask("HELLO 3 AUTH default s3cret SETNAME me"), "proto").integer(), 3);
    assert_eq!(connection.ask("CLIENT GETNAME").text(), "me");
}

fn maxclients_refuses_the_next_connection() {
    let server = Server::with(&["--maxclients", "3"]);
    let mut connections: Vec<_> = (0..3).map(|_| server.connect()).collect();
    connections.iter_mut().for_each(|connection| connection.exchange(b"PING\r\n", b"+PONG\r\n"));
    let mut refused = server.connect();
    refused.expect(b"-ERR max number of clients reached\r\n");
    refused.expect_closed();
    connections.pop();
    while server.connect().rest_or_pong().is_none() {}
    connections[0].exchange(b"PING\r\n", b"+PONG\r\n");
}

fn debug_is_off_unless_enabled() {
    let server = Server::with(&["--enable-debug-command", "no"]);
    let answer = server.connect().ask("DEBUG SLEEP 0");
    assert!(answer.is_error(), "{answer}");
}
