//! Facts about starting: what flags, environment and files make of a configuration.

use super::*;
use crate::server::settings::OutputClass;

/// A folder of its own for each test, removed at its end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("goblin-config-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Scratch(folder)
    }

    fn file(&self, name: &str, content: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, content).unwrap();
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn flag(name: &str, value: &str) -> Given {
    Given::new(name, value, Origin::Flag(format!("--{name}")))
}

fn place() -> Place {
    Place { runtime_folder: None, user: 7 }
}

fn from_flags(given: Vec<Given>) -> Result<Config, Vec<Problem>> {
    Config::build(Request { given, place: place(), ..Request::default() })
}

fn problems(result: Result<Config, Vec<Problem>>, folder: &Path) -> Vec<String> {
    let folder = format!("{}/", folder.display());
    result.unwrap_err().iter().map(|problem| problem.to_string().replace(&folder, "")).collect()
}

/// What a distribution ships, shortened: what acts, what only tunes, and nothing that promises.
const ORDINARY: &str = r#"
# Example configuration
bind 127.0.0.1 -::1
protected-mode yes
port 6400
tcp-backlog 128
timeout 0
tcp-keepalive 60
daemonize no
supervised no
loglevel verbose
logfile ""
databases 4
always-show-logo no
set-proc-title yes
proc-title-template "{title} {listen-addr} {server-mode}"
stop-writes-on-bgsave-error yes
save ""
rdbcompression yes
dbfilename dump.rdb
dir ./
slave-serve-stale-data yes
requirepass "p\x41ss word"
maxclients 50
appendonly no
appendfsync everysec
lua-time-limit 5000
slowlog-log-slower-than 10000
notify-keyspace-events KEA
hash-max-ziplist-entries 512
list-max-listpack-size -2
set-max-intset-entries 100
client-output-buffer-limit normal 1mb 0 0
client-output-buffer-limit replica 256mb 64mb 60
client-output-buffer-limit pubsub 16mb 4mb 30
shutdown-on-sigterm nosave force
hz 20
"#;

#[test]
fn an_ordinary_redis_conf_is_taken_whole() {
    let scratch = Scratch::new("ordinary");
    let file = scratch.file("redis.conf", ORDINARY);
    let request = Request { file: Some(file.clone()), place: place(), ..Request::default() };
    let config = Config::build(request).unwrap();
    let settings = &config.settings;
    assert_eq!((settings.port(), settings.engine().databases, settings.maxclients(), settings.hz()), (6400, 4, 50, 20));
    assert_eq!(settings.engine().requirepass.as_deref(), Some(&b"pAss word"[..]));
    assert_eq!(settings.output_limit(OutputClass::Normal).hard_bytes, 1 << 20);
    assert_eq!(settings.output_limit(OutputClass::Pubsub).soft_seconds, 30);
    assert_eq!(config.file, Some(file));
    assert_eq!(config.tcp_addresses().count(), 2);
    let unix = UnixAddress { path: "/tmp/goblin-7/6400.sock".into(), mode: 0o700, unasked: true };
    assert_eq!(config.unix, Some(unix));
}

#[test]
fn what_goblin_cannot_follow_is_named_with_its_line() {
    let scratch = Scratch::new("foreign");
    let content = "port 6400\nsave 900 1\nrename-command KEYS \"\"\nhz ten\nrequirepass a b\nx 'y\n";
    let file = scratch.file("redis.conf", content);
    let request = |lenient| Request { file: Some(file.clone()), lenient, place: place(), ..Request::default() };
    assert_eq!(
        problems(Config::build(request(false)), &scratch.0),
        [
            "redis.conf:6: unbalanced quotes",
            "redis.conf:2: save 900 1: goblin does not write snapshots (--config-lenient would ignore this line)",
            "redis.conf:3: rename-command: goblin has no such setting (--config-lenient would ignore this line)",
            "redis.conf:4: hz ten: argument couldn't be parsed into an integer",
            "redis.conf:5: requirepass: wrong number of arguments",
        ]
    );
    assert_eq!(
        problems(Config::build(request(true)), &scratch.0),
        [
            "redis.conf:6: unbalanced quotes",
            "redis.conf:4: hz ten: argument couldn't be parsed into an integer",
            "redis.conf:5: requirepass: wrong number of arguments",
        ]
    );
}

#[test]
fn lenient_notes_what_it_ignores() {
    let scratch = Scratch::new("lenient");
    let file = scratch.file("redis.conf", "appendonly yes\nuser alice on\nhz 50\n");
    let request = Request { file: Some(file), lenient: true, place: place(), ..Request::default() };
    let config = Config::build(request).unwrap();
    assert_eq!(config.settings.hz(), 50);
    let notes: Vec<_> = config.notes.iter().filter(|note| note.contains("ignored")).collect();
    assert_eq!(notes.len(), 2);
    assert!(notes[0].ends_with("redis.conf:1: ignored: appendonly yes: goblin has no append-only file"), "{notes:?}");
    assert!(notes[1].ends_with("redis.conf:2: ignored: user: goblin has no such setting"), "{notes:?}");
}

#[test]
fn a_flag_promises_nothing_even_in_lenient_mode() {
    let request = Request { lenient: true, given: vec![flag("appendonly", "yes")], ..Request::default() };
    let refused = Config::build(request).unwrap_err();
    assert_eq!(refused[0].to_string(), "--appendonly: yes: goblin has no append-only file");
}

#[test]
fn flags_win_over_the_file() {
    let scratch = Scratch::new("flags");
    let file = scratch.file("goblin.toml", "port = 1\nbind = [\"127.0.0.1\"]\nhz = 20\nno-unixsocket = true\n");
    let given = vec![flag("port", "2"), flag("requirepass", "x")];
    let config = Config::build(Request { file: Some(file), given, place: place(), ..Request::default() }).unwrap();
    assert_eq!((config.settings.port(), config.settings.hz()), (2, 20));
    assert_eq!(config.settings.bind().len(), 1);
    assert_eq!(config.unix, None);
}

#[test]
fn every_wrong_flag_has_a_line() {
    let wrong = from_flags(vec![
        flag("port", "70000"),
        flag("bind", "nowhere"),
        flag("cpu", "x"),
        flag("unixsocketperm", "888"),
        flag("unixsocket", &"x".repeat(108)),
    ]);
    let mut lines: Vec<_> = wrong.unwrap_err().iter().map(Problem::to_string).collect();
    let path = lines.pop().unwrap();
    assert_eq!(
        lines,
        [
            "--port: 70000: argument must be between 0 and 65535 inclusive",
            "--bind: nowhere: Failed to bind to specified addresses.",
            "--cpu: x: argument must be the number of a processor",
            "--unixsocketperm: 888: argument couldn't be parsed as an octal number",
        ]
    );
    assert!(path.starts_with("--unixsocket: unixsocket xxx") && path.ends_with(": 108 bytes, at most 107 fit"));
}

#[test]
fn a_server_listens_somewhere() {
    let nowhere = from_flags(vec![flag("port", "0"), flag("no-unixsocket", "yes")]).unwrap_err();
    assert_eq!(nowhere[0].to_string(), "nowhere to listen: there is neither a TCP port nor a Unix socket nor a ring");
    let socket = from_flags(vec![flag("port", "0"), flag("unixsocket", "/x")]).unwrap();
    assert_eq!(socket.unix, Some(UnixAddress { path: "/x".into(), mode: 0o700, unasked: false }));
    assert_eq!(socket.tcp_addresses().count(), 0);
    assert_eq!(socket.settings.unix_socket(), b"/x");
}

#[test]
fn included_files_count_where_they_stand() {
    let scratch = Scratch::new("include");
    let inner = scratch.file("inner.conf", "hz 30\nnope 1\n");
    let outer = scratch.file("outer.conf", &format!("hz 20\ninclude {}\nport 5\n", inner.display()));
    let request = Request { file: Some(outer), lenient: true, place: place(), ..Request::default() };
    let config = Config::build(request).unwrap();
    assert_eq!((config.settings.hz(), config.settings.port()), (30, 5));
    assert!(config.notes.iter().any(|note| note.contains("inner.conf:2: ignored: nope")));

    let path = scratch.0.join("loop.conf");
    scratch.file("loop.conf", &format!("include {}\n", path.display()));
    let request = Request { file: Some(path), place: place(), ..Request::default() };
    let lines = problems(Config::build(request), &scratch.0);
    assert_eq!(lines, ["loop.conf:1: include loop.conf: files included in files more than 16 deep"]);
}

#[test]
fn a_password_file_gives_its_first_line() {
    let scratch = Scratch::new("password");
    let file = scratch.file("password", "s3cret\r\nmore\n");
    let config = from_flags(vec![flag("requirepass-file", file.to_str().unwrap())]).unwrap();
    assert_eq!(config.settings.engine().requirepass.as_deref(), Some(&b"s3cret"[..]));
    let empty = scratch.file("empty", "\n");
    let refused = from_flags(vec![flag("requirepass-file", empty.to_str().unwrap())]);
    assert_eq!(
        problems(refused, &scratch.0),
        ["--requirepass-file: requirepass-file empty: the first line is empty: it holds no password"]
    );
    let missing = Request { file: Some(scratch.0.join("none")), ..Request::default() };
    assert_eq!(problems(Config::build(missing), &scratch.0), ["none: No such file or directory"]);
}
