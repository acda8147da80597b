//! Every setting: its names, what it may be, its default, when it may change, and what it does.
//!
//! Names, forms and defaults are those of Redis 8.2.3, so that its clients and configuration files find what they
//! look for; `DIFFERENT` in the tests lists the defaults that are goblin's own.
//! Invariant: a setting that is accepted does what it says (`Acts`), or only tunes a part that is not there
//! (`Tunes`). One that would promise something (`Promises`) takes its harmless values only.

use crate::reply::Absent;

use super::checks;
use super::kind::{Kind, Value};

/// One setting.
#[derive(Debug)]
pub(super) struct Entry {
    /// As CONFIG GET answers it.
    pub(super) name: &'static str,
    /// A second name, reported beside the first.
    pub(super) alias: Option<&'static str>,
    /// What its value may be.
    pub(super) kind: Kind,
    /// In the form CONFIG GET answers.
    pub(super) default: &'static str,
    /// When it may change.
    pub(super) change: Change,
    /// What it does.
    pub(super) class: Class,
}

/// When a setting may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    /// At any time.
    Live,
    /// Before the start; CONFIG SET refuses even the same value.
    Start,
    /// Before the start; CONFIG SET takes the same value: Redis could change it, or does not have it, and there are
    /// clients that set everything CONFIG GET told them.
    Fixed,
    /// At any time once `enable-protected-configs` says so.
    Protected,
}

/// What a setting does.
#[derive(Debug, Clone, Copy)]
pub(super) enum Class {
    /// What the sentence says.
    Acts(&'static str),
    /// Nothing, for it tunes this part, which goblin does not have.
    Tunes(&'static str),
    /// Nothing, and only values that leave it off are accepted.
    Promises(Absent),
}

impl Entry {
    const fn new(name: &'static str, kind: Kind, default: &'static str, class: Class) -> Self {
        Entry { name, alias: None, kind, default, change: Change::Live, class }
    }

    const fn also(mut self, alias: &'static str) -> Self {
        self.alias = Some(alias);
        self
    }

    const fn when(mut self, change: Change) -> Self {
        self.change = change;
        self
    }

    /// Whether `value` asks for what goblin does not do.
    pub(super) fn promises(&self, value: &Value) -> Option<Absent> {
        let Class::Promises(absent) = self.class else { return None };
        let off = match value {
            // Of the ways to shut down only those that save a snapshot promise anything.
            Value::ChoiceSet(_, bits) => bits & 0b10 == 0,
            _ => value.to_string() == self.default,
        };
        (!off).then_some(absent)
    }
}

/// The entry with this name or alias, without regard to case, and the name it was found under.
pub(super) fn lookup(name: &[u8]) -> Option<(usize, &'static str)> {
    REGISTRY.iter().enumerate().find_map(|(at, entry)| {
        let names = [Some(entry.name), entry.alias];
        let found = names.into_iter().flatten().find(|known| known.as_bytes().eq_ignore_ascii_case(name))?;
        Some((at, found))
    })
}

const MOST: i64 = i64::MAX;
const INT: i64 = i32::MAX as i64;

const BYTES: Kind = Kind::Memory { least: 0, signed: false };
const MIB: Kind = Kind::Memory { least: 1 << 20, signed: false };
const MIB_SIGNED: Kind = Kind::Memory { least: 1 << 20, signed: true };
const COUNT: Kind = Kind::Unsigned { least: 0, most: MOST };

const EVICTION: &[&str] = &[
    "volatile-lru",
    "volatile-lfu",
    "volatile-random",
    "volatile-ttl",
    "allkeys-lru",
    "allkeys-lfu",
    "allkeys-random",
    "noeviction",
];
const SHUTDOWN: &[&str] = &["default", "save", "nosave", "now", "force"];
const FACILITIES: &[&str] = &["user", "local0", "local1", "local2", "local3", "local4", "local5", "local6", "local7"];
const GATE: &[&str] = &["no", "yes", "local"];

const fn integer(name: &'static str, least: i64, most: i64, default: &'static str, class: Class) -> Entry {
    Entry::new(name, Kind::Integer { least, most }, default, class)
}

const fn switch(name: &'static str, default: &'static str, class: Class) -> Entry {
    Entry::new(name, Kind::Bool, default, class)
}

const fn bytes(name: &'static str, default: &'static str, class: Class) -> Entry {
    Entry::new(name, BYTES, default, class)
}

const fn text(name: &'static str, class: Class) -> Entry {
    Entry::new(name, Kind::Text, "", class)
}

use Change::{Fixed, Protected, Start};
use Class::{Acts, Promises, Tunes};

/// All settings, in the order CONFIG GET answers them.
pub(super) static REGISTRY: &[Entry] = &[
    // Where it listens, and how it waits.
    Entry::new(
        "bind",
        Kind::Checked(checks::bind),
        "127.0.0.1 -::1",
        Acts("addresses to listen on; - before one makes it optional"),
    )
    .when(Fixed),
    integer("port", 0, 65535, "6379", Acts("TCP port; 0 means no TCP")).when(Fixed),
    integer("tcp-backlog", 0, INT, "511", Acts("connections the kernel holds until they are accepted")).when(Start),
    text("unixsocket", Acts("path of the Unix socket; nothing means none")).when(Start),
    Entry::new("unixsocketperm", Kind::Octal { most: 0o777 }, "700", Acts("mode of the Unix socket")).when(Start),
    switch("sbe", "no", Acts("take SBE clients over TCP, as Unix sockets always do")),
    Entry::new("ring", Kind::Checked(checks::rings), "", Acts("rings to serve, PATH:SIZE each, the first one first"))
        .when(Start),
    text("ring-dir", Acts("folder for the files of rings on demand, which GOBLIN.RING PATH makes")).when(Start),
    Entry::new("ring-perm", Kind::Octal { most: 0o777 }, "600", Acts("mode of the rings' files")).when(Start),
    switch("protected-mode", "yes", Acts("refuse other machines while there is no password")),
    Entry::new(
        "wait",
        Kind::Choice(&["adaptive", "spin", "block"]),
        "adaptive",
        Acts("spin never sleeps, block always does, adaptive spins a while first where there are processors to spare"),
    )
    .when(Fixed),
    Entry::new(
        "cpu",
        Kind::Checked(checks::processor),
        "",
        Acts("processor the engine thread runs on; nothing means any"),
    )
    .when(Fixed),
    // Clients.
    Entry::new(
        "maxclients",
        Kind::Unsigned { least: 1, most: u32::MAX as i64 },
        "10000",
        Acts("most connections at a time"),
    ),
    integer("timeout", 0, INT, "0", Acts("seconds until an idle connection is closed; 0 means never")),
    integer("tcp-keepalive", 0, INT, "300", Acts("seconds between probes of a silent peer; 0 means none")),
    Entry::new("requirepass", Kind::Text, "", Acts("password of the default user; nothing means none")),
    Entry::new(
        "client-output-buffer-limit",
        Kind::OutputLimits,
        "normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60",
        Acts("bytes that may wait for a client: hard, soft, seconds of soft"),
    ),
    Entry::new("client-query-buffer-limit", MIB, "1073741824", Acts("bytes of requests that may wait to be complete")),
    Entry::new("proto-max-bulk-len", MIB_SIGNED, "536870912", Acts("longest string in a request, in bytes")),
    Entry::new("maxmemory-clients", Kind::MemoryOrPercent, "0", Promises(Absent::ClientMemoryLimit)),
    Entry::new(
        "max-new-connections-per-cycle",
        Kind::Unsigned { least: 1, most: 1000 },
        "10",
        Tunes("the accept loop of Redis"),
    ),
    Entry::new("tracking-table-max-keys", COUNT, "1000000", Tunes("client-side caching")),
    // Data.
    integer("databases", 1, 65535, "16", Acts("number of databases")).when(Start),
    Entry::new("set-max-intset-entries", COUNT, "512", Acts("most members of a set kept as sorted integers")),
    Entry::new("set-max-listpack-entries", COUNT, "128", Acts("most members of a set kept as one packed blob")),
    Entry::new(
        "set-max-listpack-value",
        COUNT,
        "64",
        Acts("longest member, in bytes, of a set kept as one packed blob"),
    ),
    Entry::new("notify-keyspace-events", Kind::EventClasses, "", Acts("which keyspace events are published")),
    integer("hz", 0, INT, "10", Acts("rounds of housekeeping per second, at most 500")),
    switch("dynamic-hz", "yes", Tunes("the housekeeping of Redis")),
    integer("active-expire-effort", 1, 10, "1", Tunes("the expiry cycle of Redis")),
    switch("activerehashing", "yes", Tunes("the hash tables of Redis")),
    switch("lazyfree-lazy-eviction", "no", Tunes("background freeing")),
    switch("lazyfree-lazy-expire", "no", Tunes("background freeing")),
    switch("lazyfree-lazy-server-del", "no", Tunes("background freeing")),
    switch("lazyfree-lazy-user-del", "no", Tunes("background freeing")),
    switch("lazyfree-lazy-user-flush", "no", Tunes("background freeing")),
    Entry::new("locale-collate", Kind::Checked(checks::locale), "", Tunes("sorting")),
    // Diagnosis.
    Entry::new(
        "loglevel",
        Kind::Choice(&["debug", "verbose", "notice", "warning", "nothing"]),
        "notice",
        Acts("least urgent lines that are logged"),
    ),
    switch("hide-user-data-from-log", "no", Acts("keep keys, names and messages out of the log")),
    Entry::new(
        "enable-debug-command",
        Kind::Choice(GATE),
        "no",
        Acts("who may use DEBUG; local means connections from this machine"),
    )
    .when(Start),
    Entry::new("enable-module-command", Kind::Choice(GATE), "no", Tunes("modules")).when(Start),
    Entry::new("enable-protected-configs", Kind::Choice(GATE), "no", Acts("whether dir and dbfilename may change"))
        .when(Start),
    integer(
        "slowlog-log-slower-than",
        -1,
        MOST,
        "10000",
        Acts("microseconds from which a command is slow; -1 means none"),
    ),
    integer("slowlog-max-len", 0, MOST, "128", Acts("most entries of the slow log")),
    integer(
        "latency-monitor-threshold",
        0,
        MOST,
        "0",
        Acts("milliseconds from which LATENCY keeps a spike; 0 means none"),
    ),
    switch("latency-tracking", "yes", Acts("keep how long each command takes")),
    Entry::new(
        "latency-tracking-info-percentiles",
        Kind::Checked(checks::percentiles),
        "50 99 99.9",
        Acts("percentages whose durations INFO latencystats tells"),
    ),
    switch("crash-log-enabled", "yes", Tunes("crash reports")),
    switch("crash-memcheck-enabled", "yes", Tunes("crash reports")),
    text("ignore-warnings", Tunes("the start checks of Redis")),
    switch("always-show-logo", "no", Tunes("the logo of Redis")).when(Start),
    // The process.
    switch("daemonize", "no", Promises(Absent::Daemon)).when(Start),
    Entry::new("supervised", Kind::Choice(&["upstart", "systemd", "auto", "no"]), "no", Promises(Absent::Supervision))
        .when(Start),
    text("pidfile", Promises(Absent::PidFile)).when(Start),
    text("logfile", Promises(Absent::LogFile)).when(Start),
    switch("syslog-enabled", "no", Promises(Absent::LogFile)).when(Start),
    Entry::new("syslog-ident", Kind::Text, "redis", Tunes("syslog")).when(Start),
    Entry::new("syslog-facility", Kind::Choice(FACILITIES), "local0", Tunes("syslog")).when(Start),
    switch("set-proc-title", "yes", Tunes("the process title")).when(Start),
    Entry::new(
        "proc-title-template",
        Kind::Checked(checks::process_title),
        "{title} {listen-addr} {server-mode}",
        Tunes("the process title"),
    ),
    Entry::new("shutdown-on-sigint", Kind::ChoiceSet(SHUTDOWN), "default", Promises(Absent::Snapshots)),
    Entry::new("shutdown-on-sigterm", Kind::ChoiceSet(SHUTDOWN), "default", Promises(Absent::Snapshots)),
    integer("shutdown-timeout", 0, INT, "10", Tunes("replication")),
    integer("io-threads", 1, 128, "1", Tunes("the I/O threads of Redis")).when(Start),
    text("server-cpulist", Promises(Absent::ProcessorLists)).also("server_cpulist").when(Start),
    text("bio-cpulist", Tunes("background threads")).also("bio_cpulist").when(Start),
    text("aof-rewrite-cpulist", Tunes("the append-only file")).also("aof_rewrite_cpulist").when(Start),
    text("bgsave-cpulist", Tunes("snapshots")).also("bgsave_cpulist").when(Start),
    Entry::new(
        "oom-score-adj",
        Kind::Choice(&["no", "yes", "relative", "absolute"]),
        "no",
        Promises(Absent::KillScore),
    ),
    Entry::new("oom-score-adj-values", Kind::Checked(checks::kill_scores), "0 200 800", Tunes("the kill score")),
    switch("disable-thp", "yes", Tunes("the memory of Redis")).when(Start),
    switch("jemalloc-bg-thread", "yes", Tunes("the memory of Redis")),
    Entry::new("socket-mark-id", Kind::Unsigned { least: 0, most: u32::MAX as i64 }, "0", Promises(Absent::SocketMark))
        .when(Start),
    text("bind-source-addr", Tunes("outgoing connections")),
    // Memory limits and what comes with them.
    bytes(
        "maxmemory",
        "0",
        Acts("Memory the process may use before keys are evicted or writes refused; 0 for no limit."),
    ),
    Entry::new("maxmemory-policy", Kind::Choice(EVICTION), "noeviction", Acts("Which keys are evicted, if any.")),
    integer("maxmemory-samples", 1, 64, "5", Acts("Keys of each database that are compared for one eviction.")),
    integer("maxmemory-eviction-tenacity", 0, 100, "10", Tunes("eviction that runs by the clock")),
    integer("lfu-log-factor", 0, INT, "10", Acts("How slowly the counters of the lfu policies grow.")),
    integer("lfu-decay-time", 0, INT, "1", Acts("Minutes after which such a counter loses one; 0 for never.")),
    switch("activedefrag", "no", Promises(Absent::Defragmentation)),
    Entry::new(
        "active-defrag-ignore-bytes",
        Kind::Memory { least: 1, signed: false },
        "104857600",
        Tunes("defragmentation"),
    ),
    integer("active-defrag-threshold-lower", 0, 1000, "10", Tunes("defragmentation")),
    integer("active-defrag-threshold-upper", 0, 1000, "100", Tunes("defragmentation")),
    integer("active-defrag-cycle-min", 1, 99, "1", Tunes("defragmentation")),
    integer("active-defrag-cycle-max", 1, 99, "25", Tunes("defragmentation")),
    integer("active-defrag-max-scan-fields", 1, MOST, "1000", Tunes("defragmentation")),
    // Other types of values.
    Entry::new("hash-max-listpack-entries", COUNT, "512", Tunes("hashes")).also("hash-max-ziplist-entries"),
    bytes("hash-max-listpack-value", "64", Tunes("hashes")).also("hash-max-ziplist-value"),
    integer("list-max-listpack-size", i32::MIN as i64, INT, "-2", Tunes("lists")).also("list-max-ziplist-size"),
    integer("list-compress-depth", 0, INT, "0", Tunes("lists")),
    Entry::new("zset-max-listpack-entries", COUNT, "128", Tunes("sorted sets")).also("zset-max-ziplist-entries"),
    bytes("zset-max-listpack-value", "64", Tunes("sorted sets")).also("zset-max-ziplist-value"),
    bytes("hll-sparse-max-bytes", "3000", Tunes("HyperLogLogs")),
    bytes("stream-node-max-bytes", "4096", Tunes("streams")),
    integer("stream-node-max-entries", 0, MOST, "100", Tunes("streams")),
    Entry::new("sanitize-dump-payload", Kind::Choice(&["no", "yes", "clients"]), "no", Tunes("RESTORE")),
    integer("busy-reply-threshold", 0, MOST, "5000", Tunes("scripts")).also("lua-time-limit"),
    // Users.
    text("aclfile", Promises(Absent::Users)).when(Start),
    integer("acllog-max-len", 0, MOST, "128", Tunes("users")),
    Entry::new("acl-pubsub-default", Kind::Choice(&["allchannels", "resetchannels"]), "resetchannels", Tunes("users")),
    // Snapshots and the append-only file.
    Entry::new("save", Kind::Checked(checks::save), "", Promises(Absent::Snapshots)),
    Entry::new("dir", Kind::Checked(checks::folder), ".", Tunes("snapshots and the append-only file")).when(Protected),
    Entry::new("dbfilename", Kind::Checked(checks::snapshot_name), "dump.rdb", Tunes("snapshots")).when(Protected),
    switch("rdbcompression", "yes", Tunes("snapshots")),
    switch("rdbchecksum", "yes", Tunes("snapshots")).when(Start),
    switch("rdb-del-sync-files", "no", Tunes("snapshots")),
    switch("rdb-save-incremental-fsync", "yes", Tunes("snapshots")),
    switch("stop-writes-on-bgsave-error", "yes", Tunes("snapshots")),
    switch("appendonly", "no", Promises(Absent::AppendOnlyFile)),
    Entry::new("appendfilename", Kind::Checked(checks::append_name), "appendonly.aof", Tunes("the append-only file"))
        .when(Start),
    Entry::new(
        "appenddirname",
        Kind::Checked(checks::append_folder_name),
        "appendonlydir",
        Tunes("the append-only file"),
    )
    .when(Start),
    Entry::new("appendfsync", Kind::Choice(&["everysec", "always", "no"]), "everysec", Tunes("the append-only file")),
    switch("no-appendfsync-on-rewrite", "no", Tunes("the append-only file")),
    integer("auto-aof-rewrite-percentage", 0, INT, "100", Tunes("the append-only file")),
    Entry::new(
        "auto-aof-rewrite-min-size",
        Kind::Memory { least: 0, signed: true },
        "67108864",
        Tunes("the append-only file"),
    ),
    switch("aof-load-truncated", "yes", Tunes("the append-only file")),
    switch("aof-rewrite-incremental-fsync", "yes", Tunes("the append-only file")),
    switch("aof-timestamp-enabled", "no", Tunes("the append-only file")),
    switch("aof-use-rdb-preamble", "yes", Tunes("the append-only file")),
    // Replication.
    Entry::new("replicaof", Kind::Checked(checks::primary), "", Promises(Absent::Replication))
        .also("slaveof")
        .when(Start),
    text("masteruser", Tunes("replication")),
    text("masterauth", Tunes("replication")),
    switch("replica-serve-stale-data", "yes", Tunes("replication")).also("slave-serve-stale-data"),
    switch("replica-read-only", "yes", Tunes("replication")).also("slave-read-only"),
    switch("replica-lazy-flush", "no", Tunes("replication")).also("slave-lazy-flush"),
    switch("replica-ignore-maxmemory", "yes", Tunes("replication")).also("slave-ignore-maxmemory"),
    switch("replica-ignore-disk-write-errors", "no", Tunes("replication")),
    switch("replica-announced", "yes", Tunes("replication")),
    text("replica-announce-ip", Tunes("replication")).also("slave-announce-ip"),
    integer("replica-announce-port", 0, 65535, "0", Tunes("replication")).also("slave-announce-port"),
    integer("replica-priority", 0, INT, "100", Tunes("replication")).also("slave-priority"),
    Entry::new("replica-full-sync-buffer-limit", Kind::Memory { least: 0, signed: true }, "0", Tunes("replication")),
    Entry::new("repl-backlog-size", Kind::Memory { least: 1, signed: true }, "1048576", Tunes("replication")),
    integer("repl-backlog-ttl", 0, MOST, "3600", Tunes("replication")),
    switch("repl-disable-tcp-nodelay", "no", Tunes("replication")),
    switch("repl-diskless-sync", "yes", Tunes("replication")),
    integer("repl-diskless-sync-delay", 0, INT, "5", Tunes("replication")),
    integer("repl-diskless-sync-max-replicas", 0, INT, "0", Tunes("replication")),
    Entry::new(
        "repl-diskless-load",
        Kind::Choice(&["disabled", "on-empty-db", "swapdb"]),
        "disabled",
        Tunes("replication"),
    ),
    integer("repl-ping-replica-period", 1, INT, "10", Tunes("replication")).also("repl-ping-slave-period"),
    integer("repl-timeout", 1, INT, "60", Tunes("replication")),
    integer("min-replicas-to-write", 0, INT, "0", Promises(Absent::Replication)).also("min-slaves-to-write"),
    integer("min-replicas-max-lag", 0, INT, "10", Tunes("replication")).also("min-slaves-max-lag"),
    Entry::new(
        "propagation-error-behavior",
        Kind::Choice(&["ignore", "panic", "panic-on-replicas"]),
        "ignore",
        Tunes("replication"),
    ),
    // Cluster.
    switch("cluster-enabled", "no", Promises(Absent::Cluster)).when(Start),
    Entry::new("cluster-config-file", Kind::Text, "nodes.conf", Tunes("the cluster")).when(Start),
    integer("cluster-port", 0, 65535, "0", Tunes("the cluster")).when(Start),
    integer("cluster-node-timeout", 0, MOST, "15000", Tunes("the cluster")),
    text("cluster-announce-ip", Tunes("the cluster")),
    Entry::new("cluster-announce-hostname", Kind::Checked(checks::host_name), "", Tunes("the cluster")),
    Entry::new("cluster-announce-human-nodename", Kind::Checked(checks::node_name), "", Tunes("the cluster")),
    integer("cluster-announce-port", 0, 65535, "0", Tunes("the cluster")),
    integer("cluster-announce-tls-port", 0, 65535, "0", Tunes("the cluster")),
    integer("cluster-announce-bus-port", 0, 65535, "0", Tunes("the cluster")),
    Entry::new(
        "cluster-preferred-endpoint-type",
        Kind::Choice(&["ip", "hostname", "unknown-endpoint"]),
        "ip",
        Tunes("the cluster"),
    ),
    switch("cluster-allow-pubsubshard-when-down", "yes", Tunes("the cluster")),
    switch("cluster-allow-reads-when-down", "no", Tunes("the cluster")),
    switch("cluster-allow-replica-migration", "yes", Tunes("the cluster")),
    integer("cluster-compatibility-sample-ratio", 0, 100, "0", Tunes("the cluster")),
    bytes("cluster-link-sendbuf-limit", "0", Tunes("the cluster")),
    integer("cluster-migration-barrier", 0, INT, "1", Tunes("the cluster")),
    switch("cluster-replica-no-failover", "no", Tunes("the cluster")).also("cluster-slave-no-failover"),
    integer("cluster-replica-validity-factor", 0, INT, "10", Tunes("the cluster"))
        .also("cluster-slave-validity-factor"),
    switch("cluster-require-full-coverage", "yes", Tunes("the cluster")),
    switch("cluster-slot-stats-enabled", "no", Tunes("the cluster")),
    // TLS.
    integer("tls-port", 0, 65535, "0", Promises(Absent::Tls)),
    switch("tls-cluster", "no", Promises(Absent::Tls)),
    switch("tls-replication", "no", Promises(Absent::Tls)),
    text("tls-ca-cert-dir", Promises(Absent::Tls)),
    text("tls-ca-cert-file", Promises(Absent::Tls)),
    text("tls-cert-file", Promises(Absent::Tls)),
    text("tls-key-file", Promises(Absent::Tls)),
    text("tls-key-file-pass", Promises(Absent::Tls)),
    text("tls-client-cert-file", Promises(Absent::Tls)),
    text("tls-client-key-file", Promises(Absent::Tls)),
    text("tls-client-key-file-pass", Promises(Absent::Tls)),
    text("tls-dh-params-file", Promises(Absent::Tls)),
    text("tls-ciphers", Tunes("TLS")),
    text("tls-ciphersuites", Tunes("TLS")),
    text("tls-protocols", Tunes("TLS")),
    Entry::new("tls-auth-clients", Kind::Choice(&["no", "yes", "optional"]), "yes", Tunes("TLS")),
    switch("tls-prefer-server-ciphers", "no", Tunes("TLS")),
    switch("tls-session-caching", "yes", Tunes("TLS")),
    integer("tls-session-cache-size", 0, INT, "20480", Tunes("TLS")),
    integer("tls-session-cache-timeout", 0, INT, "300", Tunes("TLS")),
    Entry::new("max-new-tls-connections-per-cycle", Kind::Unsigned { least: 1, most: 1000 }, "1", Tunes("TLS")),
];
