//! Facts about settings: defaults, what is refused and in which words, what acts.

use super::*;

/// Every setting of Redis 8.2.3 with its default, as CONFIG GET answers it after a start without a file and with
/// `save ""`; `vset-force-single-threaded-execution` is left out, for it belongs to a module.
const REDIS: &str = include_str!("redis_defaults.txt");

/// Defaults that are goblin's own, for `design` reasons: it listens on this machine only, and its Unix socket is its
/// user's alone.
const DIFFERENT: [&str; 3] = ["bind", "unixsocketperm", "dir"];
/// Settings Redis does not have.
const OWN: [&str; 6] = ["sbe", "wait", "cpu", "ring", "ring-dir", "ring-perm"];

fn set(settings: &mut Settings, name: &str, value: &[u8]) -> String {
    match settings.set(&[(name.as_bytes(), value)]) {
        Ok(_) => "OK".to_owned(),
        Err(error) => String::from_utf8(error.text().into_owned()).unwrap(),
    }
}

fn get(settings: &Settings, name: &str) -> String {
    settings.get(&mut |known| known == name).pop().unwrap().1
}

fn reason(settings: &mut Settings, name: &str, value: &str) -> String {
    let prefix = format!("CONFIG SET failed (possibly related to argument '{name}') - ");
    let text = set(settings, name, value.as_bytes());
    text.strip_prefix(&prefix).map_or(text.clone(), str::to_owned)
}

#[test]
fn names_and_defaults_are_those_of_redis() {
    let settings = Settings::new();
    let ours = settings.get(&mut |_| true);
    for line in REDIS.lines() {
        let (name, value) = line.split_once(' ').unwrap_or((line, ""));
        let (_, our_value) = ours.iter().find(|(known, _)| *known == name).unwrap_or_else(|| panic!("no {name}"));
        assert!(our_value == value || DIFFERENT.contains(&name), "{name}: {our_value:?}, not {value:?}");
    }
    assert_eq!(ours.len(), REDIS.lines().count() + OWN.len());
    let names: std::collections::BTreeSet<_> = ours.iter().map(|(name, _)| name).collect();
    assert_eq!(names.len(), ours.len(), "a name is taken twice");
}

#[test]
fn every_live_setting_takes_back_what_it_answered() {
    let mut settings = Settings::new();
    for (name, value) in Settings::new().get(&mut |_| true) {
        let (at, _) = lookup(name.as_bytes()).unwrap();
        let expected = match REGISTRY[at].change {
            Change::Start => "can't set immutable config",
            Change::Protected => "can't set protected config",
            Change::Live | Change::Fixed => "OK",
        };
        assert_eq!(reason(&mut settings, name, &value), expected, "{name} {value}");
        assert_eq!(get(&settings, name), value);
    }
    for entry in REGISTRY {
        assert_eq!(settings.start(entry.name, &[entry.default.as_bytes()]), Ok(()), "{}", entry.name);
    }
}

/// Each answer was taken from Redis 8.2.3.
#[test]
fn wrong_values_are_refused_in_the_words_of_redis() {
    let mut settings = Settings::new();
    for (name, value, text) in [
        ("maxclients", "x", "argument couldn't be parsed into an integer"),
        ("maxclients", "0", "argument must be between 1 and 4294967295 inclusive"),
        ("maxclients", "-5", "argument must be greater or equal to 0"),
        ("maxclients", "4294967296", "argument must be between 1 and 4294967295 inclusive"),
        ("hash-max-listpack-entries", "9223372036854775808", "argument couldn't be parsed into an integer"),
        ("acllog-max-len", "-1", "argument must be between 0 and 9223372036854775807 inclusive"),
        ("acllog-max-len", "01", "argument couldn't be parsed into an integer"),
        ("list-max-listpack-size", "-3000000000", "argument must be between -2147483648 and 2147483647 inclusive"),
        ("slowlog-log-slower-than", "-2", "argument must be between -1 and 9223372036854775807 inclusive"),
        ("timeout", "-1", "argument must be between 0 and 2147483647 inclusive"),
        ("port", "65536", "argument must be between 0 and 65535 inclusive"),
        ("proto-max-bulk-len", "1048575", "argument must be between 1048576 and 9223372036854775807 inclusive"),
        (
            "proto-max-bulk-len",
            "18446744073709551615",
            "argument must be between 1048576 and 9223372036854775807 inclusive",
        ),
        ("client-query-buffer-limit", "18446744073709551615", "argument must be greater or equal to 0"),
        ("client-query-buffer-limit", "zz", "argument must be a memory value"),
        ("maxmemory", "1%", "argument must be a memory value"),
        ("maxmemory-clients", "zz", "argument must be a memory or percent value"),
        ("maxmemory-clients", "101%", "percentage argument must be less or equal to 100"),
        ("activerehashing", "1", "argument must be 'yes' or 'no'"),
        ("loglevel", "x", "argument(s) must be one of the following: debug, verbose, notice, warning, nothing"),
        ("shutdown-on-sigterm", "x", "argument(s) must be one of the following: default, save, nosave, now, force"),
        ("notify-keyspace-events", "KE g", "Invalid event class character. Use 'Ag$lshzxeKEtmdn'."),
        ("save", "900", "Invalid save parameters"),
        ("oom-score-adj-values", "1 2", "wrong number of arguments"),
        ("oom-score-adj-values", "1 2 x", "Invalid oom-score-adj-values, elements must be between -2000 and 2000."),
        ("latency-tracking-info-percentiles", "x", "Invalid latency-tracking-info-percentiles parameters"),
        ("locale-collate", "xx", "Invalid locale name"),
        ("cluster-announce-hostname", "a_b", "Hostnames may only contain alphanumeric characters, hyphens or dots"),
        ("cluster-announce-human-nodename", "a!", "Announced human node name contained invalid character"),
        ("bind", "x y", "Failed to bind to specified addresses."),
        ("client-output-buffer-limit", "wrong 1 2 3", "Invalid client class specified in buffer limit configuration."),
        ("databases", "17", "can't set immutable config"),
        ("dir", "/tmp", "can't set protected config"),
        ("nope", "1", "Unknown option or number of arguments for CONFIG SET - 'nope'"),
    ] {
        assert_eq!(reason(&mut settings, name, value), text, "{name} {value}");
    }
}

#[test]
fn a_list_of_changes_is_made_whole_or_not_at_all() {
    let mut settings = Settings::new();
    let mut refused = |changes: &[(&str, &str)]| {
        let changes: Vec<_> = changes.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())).collect();
        String::from_utf8(settings.set(&changes).unwrap_err().text().into_owned()).unwrap()
    };
    let failed = |name: &str, why: &str| format!("CONFIG SET failed (possibly related to argument '{name}') - {why}");
    assert_eq!(
        refused(&[("HZ", "20"), ("MAXCLIENTS", "x")]),
        failed("maxclients", "argument couldn't be parsed into an integer")
    );
    assert_eq!(refused(&[("hz", "20"), ("hz", "20")]), failed("hz", "duplicate parameter"));
    assert_eq!(refused(&[("hz", "x"), ("Nope", "1")]), "Unknown option or number of arguments for CONFIG SET - 'Nope'");
    assert_eq!(refused(&[("hz", "x"), ("databases", "16")]), failed("databases", "can't set immutable config"));
    assert_eq!(refused(&[("hz", "20"), ("hz", "20"), ("databases", "16")]), failed("hz", "duplicate parameter"));
    assert_eq!(get(&settings, "hz"), "10");

    let changed = settings.set(&[(b"hz", b"501"), (b"slave-read-only", b"no"), (b"timeout", b"0")]).unwrap();
    assert_eq!(changed.names(), ["hz", "replica-read-only"]);
    assert_eq!((get(&settings, "hz"), settings.hz()), ("500".to_owned(), 500));
    assert_eq!(get(&settings, "replica-read-only"), "no");
}

#[test]
fn promises_are_refused_and_their_off_values_are_not() {
    let mut settings = Settings::new();
    for (name, on, off) in [
        ("save", "900 1", ""),
        ("appendonly", "YES", "No"),
        ("maxmemory-clients", "5%", "0%"),
        ("min-replicas-to-write", "1", "0"),
        ("tls-port", "6380", "0"),
        ("tls-cert-file", "x", ""),
        ("activedefrag", "yes", "no"),
        ("shutdown-on-sigterm", "save", "nosave now"),
    ] {
        let why = reason(&mut settings, name, on);
        assert!(why.starts_with("goblin "), "{name}: {why}");
        assert_eq!(set(&mut settings, name, off.as_bytes()), "OK", "{name}");
    }
    for (name, on) in [("cluster-enabled", "yes"), ("daemonize", "yes"), ("aclfile", "x"), ("supervised", "auto")] {
        let refused = settings.start(name, &[on.as_bytes()]);
        assert!(matches!(refused, Err(StartFault::Refused(SettingFault::Promise(_)))), "{name}: {refused:?}");
    }
    let refused = settings.start("slaveof", &[b"host", b"6379"]);
    assert_eq!(refused, Err(StartFault::Refused(SettingFault::Promise(crate::reply::Absent::Replication))));
    assert_eq!(settings.start("replicaof", &[b"no", b"one"]), Ok(()));
}

#[test]
fn what_acts_follows_every_change() {
    let mut settings = Settings::new();
    for (name, value) in [
        ("maxclients", "7"),
        ("requirepass", "a\0b"),
        ("notify-keyspace-events", "EA"),
        ("set-max-intset-entries", "3"),
        ("client-output-buffer-limit", "pubsub 1mb 2 3"),
        ("proto-max-bulk-len", "2mb"),
        ("loglevel", "warning"),
    ] {
        assert_eq!(set(&mut settings, name, value.as_bytes()), "OK", "{name}");
    }
    assert_eq!(settings.maxclients(), 7);
    assert_eq!(settings.engine().requirepass.as_deref(), Some(&b"a\0b"[..]));
    assert_eq!(settings.engine().notify.to_string(), "AE");
    assert_eq!(settings.engine().set_max_intset_entries, 3);
    assert_eq!(
        settings.output_limit(OutputClass::Pubsub),
        OutputLimit { hard_bytes: 1 << 20, soft_bytes: 2, soft_seconds: 3 }
    );
    assert_eq!(settings.proto_max_bulk_len(), 2 << 20);
    assert_eq!(settings.log_level(), LogLevel::Warning);
    assert_eq!(set(&mut settings, "requirepass", b""), "OK");
    assert_eq!(settings.engine().requirepass, None);
}

#[test]
fn defaults_of_the_engine_agree_with_the_registry() {
    assert_eq!(Settings::new().engine(), EngineSettings::default());
}

#[test]
fn surroundings_are_asked_after_values() {
    let mut settings = Settings::new();
    settings.set_clients_ceiling(19968);
    assert_eq!(
        reason(&mut settings, "maxclients", "19969"),
        "The operating system is not able to handle the specified number of clients, try with 19968"
    );
    assert_eq!(set(&mut settings, "maxclients", b"19968"), "OK");
    assert!(reason(&mut settings, "port", "1").starts_with("Unable to listen on this port"));
    assert!(reason(&mut settings, "bind", "127.0.0.1").contains("only when it starts"));
    let refused = settings.set(&[(b"port", b"1"), (b"hz", b"x")]).unwrap_err();
    assert!(String::from_utf8_lossy(&refused.text()).contains("'hz'"));
}

#[test]
fn help_tells_what_has_no_effect() {
    let help = Settings::describe("HASH-max-ziplist-entries").unwrap();
    assert_eq!((help.name, help.effect), ("hash-max-listpack-entries", Effect::NoEffect("hashes")));
    assert_eq!(Settings::describe("timeout").unwrap().form, "an integer from 0 to 2147483647");
    assert!(!Settings::describe("databases").unwrap().live);
    assert_eq!(Settings::describe("nope"), None);
    assert_eq!(Settings::describe_all().count(), REGISTRY.len());
}
