//! The settings that act, as plain values.
//!
//! Deliberately unknown here: how a value was given; everything is read from values the registry found valid.

use crate::engine::settings::{DebugCommands, EngineSettings, Eviction, EvictionPolicy, NotifyFlags};

use super::checks::{BindAddress, RingAddress};
use super::kind::Value;
use super::output_limits::OutputLimits;
use super::registry::lookup;
use super::words;

/// How urgent a log line is, the least urgent first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// For whoever looks for a fault in goblin itself.
    Debug,
    /// What happens to each connection.
    Verbose,
    /// What happens to the process.
    Notice,
    /// What somebody should look at.
    Warning,
    /// As a setting: no lines at all.
    Nothing,
}

/// How the engine thread waits for work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// It never sleeps.
    Spin,
    /// It spins for a while before it sleeps.
    Adaptive,
    /// It sleeps at once.
    Block,
}

/// See the accessors of [`super::Settings`].
#[derive(Debug, Clone)]
pub(super) struct Acting {
    pub(super) engine: EngineSettings,
    pub(super) bind: Box<[BindAddress]>,
    pub(super) port: u16,
    pub(super) tcp_backlog: u32,
    pub(super) unix_socket: Box<[u8]>,
    pub(super) unix_socket_mode: u32,
    pub(super) sbe: bool,
    pub(super) rings: Box<[RingAddress]>,
    pub(super) ring_dir: Box<[u8]>,
    pub(super) ring_mode: u32,
    pub(super) protected_mode: bool,
    pub(super) wait: Wait,
    pub(super) cpu: Option<usize>,
    pub(super) maxclients: usize,
    pub(super) timeout_s: u32,
    pub(super) tcp_keepalive_s: u32,
    pub(super) output_limits: OutputLimits,
    pub(super) query_buffer_limit: usize,
    pub(super) log_level: LogLevel,
    pub(super) hide_user_data: bool,
    pub(super) protected_settings: bool,
}

impl Acting {
    pub(super) fn of(values: &[Value]) -> Self {
        let values = Values(values);
        Acting {
            engine: values.engine(),
            bind: values.bind(),
            port: values.integer("port") as u16,
            tcp_backlog: values.integer("tcp-backlog") as u32,
            unix_socket: values.text("unixsocket").into(),
            unix_socket_mode: values.integer("unixsocketperm") as u32,
            sbe: values.yes("sbe"),
            rings: values.rings(),
            ring_dir: values.text("ring-dir").into(),
            ring_mode: values.integer("ring-perm") as u32,
            protected_mode: values.yes("protected-mode"),
            wait: values.wait(),
            cpu: String::from_utf8_lossy(values.text("cpu")).parse().ok(),
            maxclients: values.size("maxclients"),
            timeout_s: values.integer("timeout") as u32,
            tcp_keepalive_s: values.integer("tcp-keepalive") as u32,
            output_limits: values.output_limits(),
            query_buffer_limit: values.size("client-query-buffer-limit"),
            log_level: values.log_level(),
            hide_user_data: values.yes("hide-user-data-from-log"),
            // `local` would need to know who asks; only `yes` opens them.
            protected_settings: values.choice("enable-protected-configs") == "yes",
        }
    }
}

/// Values by name. A name or form that the registry does not have is a mistake in this file, which every test that
/// makes settings would meet.
struct Values<'a>(&'a [Value]);

impl Values<'_> {
    fn value(&self, name: &str) -> &Value {
        let (at, _) = lookup(name.as_bytes()).expect("the registry has this setting");
        &self.0[at]
    }

    fn rings(&self) -> Box<[RingAddress]> {
        self.text("ring").split(|byte| *byte == b' ').filter_map(RingAddress::parse).collect()
    }

    fn yes(&self, name: &str) -> bool {
        *self.value(name) == Value::Bool(true)
    }

    fn integer(&self, name: &str) -> i64 {
        match self.value(name) {
            Value::Integer(number) | Value::Octal(number) => *number,
            Value::Memory(bytes) => *bytes as i64,
            other => panic!("{name} holds no number but {other:?}"),
        }
    }

    fn size(&self, name: &str) -> usize {
        usize::try_from(self.integer(name)).unwrap_or(usize::MAX)
    }

    fn text(&self, name: &str) -> &[u8] {
        match self.value(name) {
            Value::Text(text) => text,
            other => panic!("{name} holds no text but {other:?}"),
        }
    }

    fn choice(&self, name: &str) -> &'static str {
        match self.value(name) {
            Value::Choice(choices, at) => choices[*at],
            other => panic!("{name} holds no word but {other:?}"),
        }
    }

    fn bind(&self) -> Box<[BindAddress]> {
        let words = words(self.text("bind"));
        words.filter_map(BindAddress::parse).collect()
    }

    fn output_limits(&self) -> OutputLimits {
        match self.value("client-output-buffer-limit") {
            Value::OutputLimits(limits) => *limits,
            other => panic!("output limits are {other:?}"),
        }
    }

    fn wait(&self) -> Wait {
        match self.choice("wait") {
            "spin" => Wait::Spin,
            "block" => Wait::Block,
            _ => Wait::Adaptive,
        }
    }

    fn log_level(&self) -> LogLevel {
        match self.choice("loglevel") {
            "debug" => LogLevel::Debug,
            "verbose" => LogLevel::Verbose,
            "notice" => LogLevel::Notice,
            "warning" => LogLevel::Warning,
            _ => LogLevel::Nothing,
        }
    }

    fn engine(&self) -> EngineSettings {
        EngineSettings {
            set_max_intset_entries: self.size("set-max-intset-entries"),
            set_max_listpack_entries: self.size("set-max-listpack-entries"),
            set_max_listpack_value: self.size("set-max-listpack-value"),
            notify: match self.value("notify-keyspace-events") {
                Value::EventClasses(flags) => *flags,
                _ => NotifyFlags::NONE,
            },
            requirepass: Some(self.text("requirepass")).filter(|text| !text.is_empty()).map(Into::into),
            databases: self.integer("databases") as u16,
            active_expire: true,
            hz: self.integer("hz") as u16,
            debug_commands: match self.choice("enable-debug-command") {
                "yes" => DebugCommands::Yes,
                "local" => DebugCommands::Local,
                _ => DebugCommands::No,
            },
            proto_max_bulk_len: self.size("proto-max-bulk-len"),
            slow_us_min: self.integer("slowlog-log-slower-than"),
            slow_log_len_max: self.size("slowlog-max-len"),
            spike_ms_min: self.integer("latency-monitor-threshold") as u64,
            latency_tracking: self.yes("latency-tracking"),
            latency_percentages: String::from_utf8_lossy(self.text("latency-tracking-info-percentiles")).into(),
            eviction: Eviction {
                maxmemory: self.integer("maxmemory") as u64,
                policy: self.eviction_policy(),
                samples: self.size("maxmemory-samples"),
                lfu_log_factor: self.integer("lfu-log-factor") as u32,
                lfu_decay_minutes: self.integer("lfu-decay-time") as u32,
            },
        }
    }

    fn eviction_policy(&self) -> EvictionPolicy {
        match self.choice("maxmemory-policy") {
            "volatile-lru" => EvictionPolicy::VolatileLru,
            "volatile-lfu" => EvictionPolicy::VolatileLfu,
            "volatile-random" => EvictionPolicy::VolatileRandom,
            "volatile-ttl" => EvictionPolicy::VolatileTtl,
            "allkeys-lru" => EvictionPolicy::AllkeysLru,
            "allkeys-lfu" => EvictionPolicy::AllkeysLfu,
            "allkeys-random" => EvictionPolicy::AllkeysRandom,
            _ => EvictionPolicy::Noeviction,
        }
    }
}
