//! What the engine asks of its surroundings.
//!
//! The server's session table implements [`Host`] and is not part of the engine, so that no borrow is shared; tests
//! use a plain struct.

use crate::command::Spec;
use crate::reply::{CommandError, Push, RingRefusal};

use super::settings::EngineSettings;

/// One connection, for as long as the process lives; never reused. Starts at 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct ClientId(pub u64);

/// Who receives pushes: an index into the session table, reused after the session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct SubscriberId(pub u32);

/// The time of a round, read once by whoever drives the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Now {
    /// Wall clock, microseconds since 1970.
    pub unix_us: u64,
}

impl Now {
    /// Wall clock, milliseconds since 1970: the unit of every deadline.
    pub fn unix_ms(self) -> i64 {
        (self.unix_us / 1000) as i64
    }
}

/// What became of a push.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// It is in the subscriber's outbox. Only this counts as a delivery.
    Queued,
    /// The subscriber's policy let it fall.
    Dropped,
    /// The subscriber is being disconnected.
    Closing,
}

/// The process around the engine.
pub trait Host {
    /// Hands a push to a subscriber. Never blocks, never removes a session.
    fn push(&mut self, to: SubscriberId, push: &Push<'_>) -> Taken;

    /// All other sessions, in order of their ids, the caller's own left out.
    fn clients(&self) -> Vec<ClientFacts>;

    /// Facts about the caller's own session that only its host knows.
    fn own_facts(&self) -> ClientFacts;

    /// Marks every session that matches for closing and answers how many there were. A marked session takes no more
    /// pushes; it is swept after the command.
    fn kill(&mut self, matches: &mut dyn FnMut(&ClientFacts) -> bool) -> usize;

    /// The process as the operating system and its clock see it.
    fn facts(&self) -> Facts;

    /// Bytes of memory the process uses, as `maxmemory` counts them. Asked before every command while there is a
    /// limit, so it must cost no more than some nanoseconds.
    fn used_bytes(&self) -> u64;

    /// All settings whose name matches `wanted`, as name and value, in the order of the registry.
    fn settings(&self, wanted: &mut dyn FnMut(&str) -> bool) -> Vec<(&'static str, String)>;

    /// Changes settings, all or none, and answers those the engine acts on. Names are matched without regard to case.
    ///
    /// # Errors
    /// The refusal to answer; nothing was changed.
    fn set(&mut self, changes: &[(&[u8], &[u8])]) -> Result<EngineSettings, CommandError>;

    /// Counters of every command that was called or refused since the last reset.
    fn command_stats(&self) -> Vec<(&'static Spec, CommandStats)>;

    /// Errors answered since the last reset, by code.
    fn error_stats(&self) -> Vec<(String, u64)>;

    /// How long the executions of each wanted command took since the last reset: steps as (microseconds, executions
    /// that took at most so long), each doubling the one before; steps that add no execution are left out. Commands
    /// without a measurement are left out too.
    fn duration_steps(&self, wanted: &mut dyn FnMut(&'static Spec) -> bool) -> Vec<(&'static Spec, Vec<(u64, u64)>)>;

    /// The durations, in nanoseconds, that the given percentages of each command's executions did not exceed.
    fn duration_percentiles(&self, percentages: &[f64]) -> Vec<(&'static Spec, Vec<u64>)>;

    /// True while some session watches the commands of all (MONITOR). Asked for every command.
    fn has_monitors(&self) -> bool;

    /// Makes the caller's session watch the commands of all, or no longer.
    fn set_monitor(&mut self, on: bool);

    /// Shows a command of the caller's session to every session that watches: its database, and its words quoted.
    fn show_command(&mut self, db: u16, words: &[u8]);

    /// Says what becomes of messages that the caller does not read in time.
    fn set_push_rules(&mut self, rules: PushRules);

    /// Makes a ring of at least so many bytes each way for the caller, in a file or without a name. From then on only
    /// wake-ups pass over the caller's own connection, and the two sessions end together.
    ///
    /// # Errors
    /// Why there is none.
    fn make_ring(&mut self, bytes: u64, has_path: bool) -> Result<MadeRing, RingRefusal>;

    /// What the allocator tells about itself, for its own experts.
    fn allocator_report(&self) -> String;

    /// Does what only the process can do.
    ///
    /// # Errors
    /// The refusal to answer.
    fn ask(&mut self, request: ProcessRequest) -> Result<(), CommandError>;
}

/// What becomes of messages that a session does not read in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PushPolicy {
    /// It is ended once they are more than the output limits allow.
    #[default]
    Disconnect,
    /// The oldest are dropped.
    DropOldest,
    /// New ones are dropped.
    DropNewest,
    /// Of one channel only the newest is kept; then the oldest are dropped.
    Conflate,
}

/// The same with what a session may say about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PushRules {
    /// The policy.
    pub policy: PushPolicy,
    /// Most bytes that wait; none leaves it to the hard output limit, which holds in any case.
    pub bytes: Option<usize>,
    /// Tell how many were dropped.
    pub notice: bool,
}

/// A ring that was made on demand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MadeRing {
    /// Bytes each way.
    pub bytes: u64,
    /// Version of its header.
    pub layout: u32,
    /// The session over it.
    pub id: ClientId,
    /// Its file, if it has one.
    pub path: Option<Vec<u8>>,
}

/// What only the process can do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProcessRequest {
    /// End after this turn.
    Shutdown {
        /// Do not wait for clients to take their last replies.
        now: bool,
    },
    /// Take back a shutdown that has not begun.
    AbortShutdown,
    /// Hold commands back for a while.
    Pause {
        /// When it ends, ms since 1970.
        until_ms: i64,
        /// Hold back all commands, not only those that write.
        all: bool,
    },
    /// End a pause.
    Unpause,
    /// Zero the counters that INFO reports.
    ResetStats,
    /// Give memory that nothing uses back to the system.
    PurgeMemory,
    /// Write the settings into the file they came from.
    RewriteConfig,
    /// Write a line to the log, at level warning.
    Log(Vec<u8>),
    /// Block the engine thread (DEBUG SLEEP).
    Sleep {
        /// Microseconds.
        us: u64,
    },
}

/// Calls of one command.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CommandStats {
    /// Executions, failed ones included.
    pub calls: u64,
    /// Time spent in them, in nanoseconds.
    pub ns: u64,
    /// Refused before execution.
    pub rejected: u64,
    /// Executions that answered an error.
    pub failed: u64,
}

/// What CLIENT LIST tells about one session.
#[derive(Debug, Clone, Default)]
pub struct ClientFacts {
    /// The connection.
    pub id: ClientId,
    /// Peer address, `host:port` or the Unix socket's path with `:0`.
    pub addr: String,
    /// Local address.
    pub laddr: String,
    /// File descriptor.
    pub fd: i32,
    /// Name given by CLIENT SETNAME.
    pub name: Vec<u8>,
    /// Seconds since it connected.
    pub age_s: u64,
    /// Seconds since its last command.
    pub idle_s: u64,
    /// Selected database.
    pub db: u16,
    /// Channels joined.
    pub channels: usize,
    /// Patterns joined.
    pub patterns: usize,
    /// Sharded channels joined.
    pub shards: usize,
    /// Commands queued in a transaction; none outside one.
    pub queued: Option<usize>,
    /// Keys watched.
    pub watched: usize,
    /// Bytes received and not yet executed.
    pub inbox_bytes: usize,
    /// Room left in the receive buffer.
    pub inbox_free: usize,
    /// Heap bytes of the arguments of the command being received.
    pub args_bytes: usize,
    /// Heap bytes of queued commands.
    pub queue_bytes: usize,
    /// Bytes of replies and pushes not yet sent.
    pub outbox_bytes: usize,
    /// Items in the outbox that are shared frames.
    pub outbox_shared: usize,
    /// All memory this session takes.
    pub total_bytes: usize,
    /// Full name of the last command, `client|list`.
    pub last_command: &'static str,
    /// RESP version, 2 or 3.
    pub resp: u8,
    /// From CLIENT SETINFO.
    pub lib_name: Vec<u8>,
    /// From CLIENT SETINFO.
    pub lib_version: Vec<u8>,
    /// Bytes received in all.
    pub net_in: u64,
    /// Bytes sent in all.
    pub net_out: u64,
    /// Commands executed in all.
    pub commands: u64,
    /// Marks of CLIENT NO-EVICT and NO-TOUCH.
    pub no_evict: bool,
    /// See [`ClientFacts::no_evict`].
    pub no_touch: bool,
    /// Marked for closing once its outbox is sent.
    pub closing: bool,
    /// Connected over a Unix socket.
    pub unix: bool,
    /// The connection over which this one's ring was asked for.
    pub ring_of: Option<ClientId>,
    /// A transaction whose watched keys changed.
    pub dirty: bool,
    /// Held back by CLIENT PAUSE.
    pub paused: bool,
    /// Authenticated, as the default user.
    pub authenticated: bool,
    /// Pushes lost to this session's policy.
    pub dropped: u64,
    /// What becomes of messages it does not read.
    pub policy: PushPolicy,
    /// Watches the commands of all (MONITOR).
    pub monitor: bool,
}

/// The process as INFO reports it.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// Process id.
    pub pid: u32,
    /// 40 hexadecimal digits, drawn at start.
    pub run_id: String,
    /// TCP port, 0 when there is none.
    pub tcp_port: u16,
    /// Where the server listens, as INFO's `listenerN` lines show it after `name=`.
    pub listeners: Vec<String>,
    /// Path of the executable.
    pub executable: String,
    /// Path of the configuration file, empty when there is none.
    pub config_file: String,
    /// `sysname release machine` as uname tells.
    pub os: String,
    /// Seconds since the start.
    pub uptime_s: u64,
    /// Resident set, bytes.
    pub rss_bytes: u64,
    /// Bytes the allocator has handed out.
    pub allocated_bytes: u64,
    /// Bytes in pages that hold allocations.
    pub allocator_active_bytes: u64,
    /// Bytes the allocator holds resident.
    pub allocator_resident_bytes: u64,
    /// Bytes the allocator offers the system to take back.
    pub allocator_muzzy_bytes: u64,
    /// Name of the allocator.
    pub allocator: &'static str,
    /// Largest `allocated_bytes` seen.
    pub peak_bytes: u64,
    /// When it was seen, seconds since 1970.
    pub peak_at_s: u64,
    /// `allocated_bytes` right after the start.
    pub startup_bytes: u64,
    /// Main memory of the machine.
    pub system_bytes: u64,
    /// CPU time of the process, microseconds.
    pub cpu_user_us: u64,
    /// CPU time of the kernel for the process, microseconds.
    pub cpu_sys_us: u64,
    /// CPU time of waited-for children.
    pub cpu_children_user_us: u64,
    /// See `cpu_children_user_us`.
    pub cpu_children_sys_us: u64,
    /// CPU time of the engine thread.
    pub cpu_thread_user_us: u64,
    /// See `cpu_thread_user_us`.
    pub cpu_thread_sys_us: u64,
    /// Sessions now.
    pub connected: usize,
    /// Sessions subscribed to anything.
    pub pubsub_clients: usize,
    /// Sessions whose next command CLIENT PAUSE holds back.
    pub paused: usize,
    /// Sessions watching keys, the caller's own left out.
    pub watching_clients: usize,
    /// Most sessions allowed.
    pub max_clients: usize,
    /// Largest receive buffer now, bytes.
    pub inbox_bytes_max: usize,
    /// Largest outbox now, bytes.
    pub outbox_bytes_max: usize,
    /// Heap of all sessions, bytes.
    pub sessions_bytes: usize,
    /// Connections accepted.
    pub connections: u64,
    /// Connections refused.
    pub rejected_connections: u64,
    /// Commands executed.
    pub commands: u64,
    /// Commands per second over the last samples.
    pub ops_per_sec: u64,
    /// Bytes received.
    pub net_in: u64,
    /// Bytes sent.
    pub net_out: u64,
    /// KiB per second received over the last samples.
    pub in_kbps: f64,
    /// KiB per second sent over the last samples.
    pub out_kbps: f64,
    /// Reads from sockets.
    pub reads: u64,
    /// Writes to sockets.
    pub writes: u64,
    /// Sessions cut for a receive buffer past its limit.
    pub inbox_limit_cuts: u64,
    /// Sessions over rings that ended for what the peer had written there.
    pub corrupt_rings: u64,
    /// Rings on demand, now.
    pub demanded_rings: usize,
    /// Their bytes.
    pub demanded_bytes: u64,
    /// Sessions cut for an outbox past its limit.
    pub outbox_limit_cuts: u64,
    /// Messages those sessions had not received.
    pub dropped_messages: u64,
    /// Bytes those sessions had not received.
    pub dropped_bytes: u64,
    /// Error replies.
    pub errors: u64,
    /// Rounds of the engine thread.
    pub rounds: u64,
    /// Rounds per second over the last samples.
    pub rounds_per_sec: u64,
}
