//! The meaning of commands: keys, sets, publish/subscribe, transactions.
//!
//! [`Engine::handle`] takes a request from its caller to its reply; [`Engine::execute`] is one exhaustive match, one
//! line per command.
//!
//! Invariant: the engine is synchronous and deterministic. Time and randomness are arguments; there is no I/O, no
//! clock and no lock here.
//! Invariant: one caller at a time; whatever other sessions must learn goes through [`Host`].
//! Deliberately unknown here: wire protocols, sockets, output buffers.

mod access;
mod admin;
mod ahead;
mod bitfield;
mod bits;
mod caller;
mod clients;
mod connection;
mod counters;
mod directory;
mod events;
mod expiry;
mod garbage;
mod gate;
mod hash;
mod host;
mod info;
mod introspect;
mod keys;
mod keyspace;
mod latency;
mod latency_report;
mod lcs;
mod lolwut;
mod long_double;
mod memory;
mod memory_report;
mod monitor;
mod moves;
mod optimize;
mod pubsub;
mod ranges;
mod rings;
mod secrets;
mod segments;
mod set;
mod sets;
pub mod settings;
mod slow_log;
mod strings;
mod transactions;
mod usage;
mod value;
mod watches;
mod work;

pub use caller::{Caller, Extras, ReplyMode, Transaction};
pub use gate::{Executed, Handled};
pub use host::{
    ClientFacts, ClientId, CommandStats, Facts, Host, MadeRing, Now, ProcessRequest, PushPolicy, PushRules,
    SubscriberId, Taken,
};
pub use info::REDIS_VERSION;
pub use set::paged_bytes;
pub use settings::EngineSettings;
pub use slow_log::Took;
pub use work::Work;

use crate::command::{Command, CommandId};
use crate::limits::WORK_ATTEMPTS_MAX;
use crate::reply::{CommandError, Reply};
use crate::topics::{Glob, Patterns, Router};

use hash::Hasher13;
use keyspace::Keyspace;
use latency::Latency;
use slow_log::SlowLog;
use usage::Tracker;
use watches::Watches;

/// All state of a server: databases, subscriptions, watched keys.
pub struct Engine {
    databases: Vec<Keyspace>,
    channels: Router<SubscriberId, Hasher13>,
    shards: Router<SubscriberId, Hasher13>,
    patterns: Patterns<SubscriberId, Hasher13>,
    watches: Watches,
    settings: EngineSettings,
    stats: EngineStats,
    slow_log: SlowLog,
    latency: Latency,
    hasher: Hasher13,
    random: fastrand::Rng,
    /// The time of the turn, as keys are marked with it.
    tracker: Tracker,
    garbage: garbage::Garbage,
    /// Keys that were nearly evicted.
    candidates: Vec<memory::Candidate>,
    /// Serial number of the last pushed frame, see [`crate::reply::Push::frame`].
    frames: u64,
    /// Which run of a server this is, for numbers of messages; drawn.
    run: u64,
    /// CLIENT PAUSE lasts until then, ms since 1970: nothing is removed by expiry meanwhile.
    paused_until_ms: i64,
}

/// What the engine counts for INFO.
#[derive(Debug, Default, Clone)]
struct EngineStats {
    /// Keys removed because their time had come.
    expired_keys: u64,
    /// Reads that found their key.
    hits: u64,
    /// Reads that did not.
    misses: u64,
    /// Changes since the start, as `rdb_changes_since_last_save` counts them.
    changes: u64,
    /// Messages published.
    published: u64,
    /// Deliveries of them that were queued.
    delivered: u64,
    /// Passwords refused.
    auth_denied: u64,
    /// Keys removed to make room.
    evicted_keys: u64,
    /// Time spent in active expiry, microseconds.
    expire_us: u64,
    /// Times active expiry stopped for its time was over, with due keys possibly left.
    expire_capped: u64,
}

impl EngineStats {
    fn count_read(&mut self, found: bool) {
        match found {
            true => self.hits += 1,
            false => self.misses += 1,
        }
    }
}

/// One command on its way through the engine: who called, when, and where answers to others go.
struct Turn<'t, H> {
    /// Who called.
    caller: &'t mut Caller,
    /// When.
    now: Now,
    /// The surroundings.
    host: &'t mut H,
    /// How often the command has begun anew, see [`work`].
    attempt: u8,
}

impl Engine {
    /// An engine without data. The seed keys all hashing and starts the random picks; draw it afresh for every
    /// process, for whoever knows it can make keys collide.
    pub fn new(seed: [u64; 2], settings: EngineSettings) -> Self {
        let hasher = Hasher13::new(seed[0], seed[1]);
        Engine {
            databases: (0..settings.databases).map(|_| Keyspace::new(hasher)).collect(),
            channels: Router::new(hasher),
            shards: Router::new(hasher),
            patterns: Patterns::new(hasher),
            watches: Watches::default(),
            settings,
            stats: EngineStats::default(),
            slow_log: SlowLog::default(),
            latency: Latency::default(),
            hasher,
            random: fastrand::Rng::with_seed(seed[0] ^ seed[1].rotate_left(32)),
            tracker: Tracker::default(),
            garbage: garbage::Garbage::default(),
            candidates: Vec::new(),
            frames: 0,
            run: std::hash::BuildHasher::hash_one(&hasher, "run"),
            paused_until_ms: 0,
        }
    }

    /// Whether a fresh connection must authenticate first.
    pub fn requires_password(&self) -> bool {
        self.settings.requirepass.is_some()
    }

    /// Forgets a connection: what it joined and what it watched. Proportional to these.
    pub fn disconnect(&mut self, caller: &mut Caller) {
        self.watches.unwatch(caller);
        self.leave_everything(caller);
        self.abandon_work(caller);
    }

    /// Executes one command, whose words were read already, however long it takes.
    pub fn execute<'e, H: Host>(
        &'e mut self,
        caller: &mut Caller,
        command: &Command<'_>,
        now: Now,
        host: &mut H,
    ) -> Reply<'e> {
        self.attempt(caller, command, now, host, WORK_ATTEMPTS_MAX)
    }

    /// Executes one command; what takes long is left pending unless it has begun anew `attempt` times, see [`work`].
    fn attempt<'e, H: Host>(
        &'e mut self,
        caller: &mut Caller,
        command: &Command<'_>,
        now: Now,
        host: &mut H,
        attempt: u8,
    ) -> Reply<'e> {
        self.tracker = Tracker::new(now.unix_us, &self.settings.eviction);
        let turn = &mut Turn { caller, now, host, attempt };
        let reply = match command {
            Command::Append(append) => self.append(turn, append),
            Command::Auth(auth) => self.auth(turn, auth),
            Command::Bitcount(bitcount) => self.bitcount(turn, bitcount),
            Command::Bitfield(bitfield) => self.bitfield(turn, bitfield),
            Command::BitfieldRo(bitfield_ro) => self.bitfield_ro(turn, bitfield_ro),
            Command::Bitop(bitop) => self.bitop(turn, bitop),
            Command::Bitpos(bitpos) => self.bitpos(turn, bitpos),
            Command::ClientCaching(_) => Err(CommandError::CachingWithoutTracking),
            Command::ClientGetname => Ok(self.client_getname(turn)),
            Command::ClientGetredir => Ok(Reply::Integer(clients::NO_REDIRECTION)),
            Command::ClientGoblinPolicy(rules) => self.client_policy(turn, rules),
            Command::ClientHelp => Ok(introspect::help(CommandId::CLIENT)),
            Command::ClientId => Ok(Reply::Integer(turn.caller.id.0 as i64)),
            Command::ClientInfo => Ok(self.client_info(turn)),
            Command::ClientKill(kill) => self.client_kill(turn, kill),
            Command::ClientList(list) => Ok(self.client_list(turn, list)),
            Command::ClientNoEvict(mark) => Ok(self.client_no_evict(turn, mark)),
            Command::ClientNoTouch(mark) => Ok(self.client_no_touch(turn, mark)),
            Command::ClientPause(pause) => self.client_pause(turn, pause),
            Command::ClientReply(mode) => Ok(self.client_reply(turn, mode)),
            Command::ClientSetinfo(info) => Ok(self.client_setinfo(turn, info)),
            Command::ClientSetname(name) => self.client_setname(turn, name),
            Command::ClientTracking(tracking) => self.client_tracking(turn, tracking),
            Command::ClientTrackinginfo => Ok(self.client_trackinginfo()),
            Command::ClientUnblock(_) => Ok(self.client_unblock()),
            Command::ClientUnpause => self.client_unpause(turn),
            Command::Command => Ok(introspect::all()),
            Command::CommandCount => Ok(introspect::count()),
            Command::CommandDocs(docs) => Ok(introspect::docs(docs.command_names)),
            Command::CommandGetkeys(request) => Ok(introspect::keys(request.request)),
            Command::CommandGetkeysandflags(request) => Ok(introspect::keys_and_flags(request.request)),
            Command::CommandHelp => Ok(introspect::help(CommandId::COMMAND)),
            Command::CommandInfo(info) => Ok(introspect::info(info.command_names)),
            Command::CommandList(list) => Ok(introspect::list(list.filter, &matches_name)),
            Command::ConfigGet(get) => Ok(self.config_get(turn, get)),
            Command::ConfigHelp => Ok(introspect::help(CommandId::CONFIG)),
            Command::ConfigResetstat => self.config_resetstat(turn),
            Command::ConfigRewrite => self.config_rewrite(turn),
            Command::ConfigSet(set) => self.config_set(turn, set),
            Command::Copy(copy) => self.copy(turn, copy),
            Command::Dbsize => Ok(self.dbsize(turn)),
            Command::DebugHelp => Ok(introspect::help(CommandId::DEBUG)),
            Command::DebugLog(line) => self.debug_log(turn, line),
            Command::DebugSetActiveExpire(set) => Ok(self.debug_set_active_expire(set)),
            Command::DebugSleep(sleep) => self.debug_sleep(turn, sleep),
            Command::Decr(decr) => self.decr(turn, decr),
            Command::Decrby(decrby) => self.decrby(turn, decrby),
            Command::Del(del) => self.del(turn, del),
            Command::Discard => self.discard(turn.caller),
            Command::Echo(echo) => Ok(self.echo(echo)),
            Command::Exec => self.exec(turn),
            Command::Exists(exists) => self.exists(turn, exists),
            Command::Expire(expire) => self.expire(turn, expire),
            Command::Expireat(expire) => self.expireat(turn, expire),
            Command::Expiretime(key) => Ok(self.expiretime(turn, key.key, 1000)),
            Command::Flushall(_) => self.flushall(),
            Command::Flushdb(_) => self.flushdb(turn),
            Command::FunctionFlush(_) => Ok(Reply::OK),
            Command::FunctionHelp => Ok(introspect::help(CommandId::FUNCTION)),
            Command::FunctionList(_) => Ok(Reply::Array(Vec::new())),
            Command::FunctionStats => Ok(self.function_stats()),
            Command::Get(get) => self.get(turn, get),
            Command::Getbit(getbit) => self.getbit(turn, getbit),
            Command::Getdel(getdel) => self.getdel(turn, getdel),
            Command::Getex(getex) => self.getex(turn, getex),
            Command::Getrange(getrange) => self.getrange(turn, getrange),
            Command::Getset(getset) => self.getset(turn, getset),
            Command::GoblinMemory(memory) => Ok(self.goblin_memory(turn, memory)),
            Command::GoblinOptimize(optimize) => self.goblin_optimize(turn, optimize),
            Command::GoblinRing(ring) => self.goblin_ring(turn, ring),
            Command::Hello(hello) => self.hello(turn, hello),
            Command::Incr(incr) => self.incr(turn, incr),
            Command::Incrby(incrby) => self.incrby(turn, incrby),
            Command::Incrbyfloat(incrbyfloat) => self.incrbyfloat(turn, incrbyfloat),
            Command::Info(info) => Ok(self.info(turn, info.sections)),
            Command::Keys(keys) => self.keys(turn, keys),
            Command::LatencyDoctor => Ok(self.latency_doctor(turn.now)),
            Command::LatencyGraph(graph) => self.latency_graph(turn.now, graph),
            Command::LatencyHelp => Ok(introspect::help(CommandId::LATENCY)),
            Command::LatencyHistogram(histogram) => Ok(self.latency_histogram(turn, histogram)),
            Command::LatencyHistory(history) => Ok(self.latency_history(history)),
            Command::LatencyLatest => Ok(self.latency_latest()),
            Command::LatencyReset(reset) => Ok(self.latency_reset(reset)),
            Command::Lcs(lcs) => self.lcs(turn, lcs),
            Command::Lolwut(lolwut) => Ok(self.lolwut(lolwut)),
            Command::MemoryDoctor => Ok(self.memory_doctor(turn)),
            Command::MemoryHelp => Ok(introspect::help(CommandId::MEMORY)),
            Command::MemoryMallocStats => Ok(self.memory_malloc_stats(turn)),
            Command::MemoryPurge => self.memory_purge(turn),
            Command::MemoryStats => Ok(self.memory_stats(turn)),
            Command::MemoryUsage(usage) => Ok(self.memory_usage(turn, usage)),
            Command::Mget(mget) => self.mget(turn, mget),
            Command::Monitor => self.monitor(turn),
            Command::Move(request) => self.move_key(turn, request),
            Command::Mset(mset) => self.mset(turn, mset),
            Command::Msetnx(msetnx) => self.msetnx(turn, msetnx),
            Command::Multi => self.multi(turn.caller),
            Command::ObjectEncoding(object) => self.object_encoding(turn, object),
            Command::ObjectFreq(object) => self.object_freq(turn, object.key),
            Command::ObjectHelp => Ok(introspect::help(CommandId::OBJECT)),
            Command::ObjectIdletime(object) => self.object_idletime(turn, object.key),
            Command::ObjectRefcount(object) => Ok(self.object_refcount(turn, object.key)),
            Command::Persist(persist) => self.persist(turn, persist),
            Command::Pexpire(expire) => self.pexpire(turn, expire),
            Command::Pexpireat(expire) => self.pexpireat(turn, expire),
            Command::Pexpiretime(key) => Ok(self.expiretime(turn, key.key, 1)),
            Command::Ping(ping) => Ok(self.ping(turn, ping)),
            Command::Psetex(psetex) => self.psetex(turn, psetex),
            Command::Psubscribe(join) => Ok(self.psubscribe(turn, join.patterns)),
            Command::Pttl(pttl) => self.pttl(turn, pttl),
            Command::Publish(publish) => Ok(self.publish(turn, publish)),
            Command::PubsubChannels(channels) => Ok(self.pubsub_channels(channels.pattern)),
            Command::PubsubHelp => Ok(introspect::help(CommandId::PUBSUB)),
            Command::PubsubNumpat => Ok(Reply::count(self.patterns.len())),
            Command::PubsubNumsub(names) => Ok(self.pubsub_numsub(names.channels)),
            Command::PubsubShardchannels(channels) => Ok(self.pubsub_shardchannels(channels.pattern)),
            Command::PubsubShardnumsub(names) => Ok(self.pubsub_shardnumsub(names.shardchannels)),
            Command::Punsubscribe(leave) => Ok(self.punsubscribe(turn, leave.patterns)),
            Command::Quit => Ok(self.quit(turn)),
            Command::Randomkey => Ok(self.randomkey(turn)),
            Command::Rename(rename) => self.rename(turn, rename),
            Command::Renamenx(rename) => self.renamenx(turn, rename),
            Command::Reset => Ok(self.reset(turn)),
            Command::Sadd(sadd) => self.sadd(turn, sadd),
            Command::Scan(scan) => self.scan(turn, scan),
            Command::Scard(scard) => self.scard(turn, scard),
            Command::Sdiff(sdiff) => self.sdiff(turn, sdiff),
            Command::Sdiffstore(sdiffstore) => self.sdiffstore(turn, sdiffstore),
            Command::Select(select) => self.select(turn, select),
            Command::Set(set) => self.set(turn, set),
            Command::Setbit(setbit) => self.setbit(turn, setbit),
            Command::Setex(setex) => self.setex(turn, setex),
            Command::Setnx(setnx) => self.setnx(turn, setnx),
            Command::Setrange(setrange) => self.setrange(turn, setrange),
            Command::Shutdown(shutdown) => self.shutdown(turn, shutdown),
            Command::Sinter(sinter) => self.sinter(turn, sinter),
            Command::Sintercard(sintercard) => self.sintercard(turn, sintercard),
            Command::Sinterstore(sinterstore) => self.sinterstore(turn, sinterstore),
            Command::Sismember(sismember) => self.sismember(turn, sismember),
            Command::SlowlogGet(get) => Ok(self.slowlog_get(get)),
            Command::SlowlogHelp => Ok(introspect::help(CommandId::SLOWLOG)),
            Command::SlowlogLen => Ok(Reply::count(self.slow_log.len())),
            Command::SlowlogReset => Ok(self.slowlog_reset()),
            Command::Smembers(smembers) => self.smembers(turn, smembers),
            Command::Smismember(smismember) => self.smismember(turn, smismember),
            Command::Smove(smove) => self.smove(turn, smove),
            Command::Spop(spop) => self.spop(turn, spop),
            Command::Spublish(publish) => Ok(self.spublish(turn, publish)),
            Command::Srandmember(srandmember) => self.srandmember(turn, srandmember),
            Command::Srem(srem) => self.srem(turn, srem),
            Command::Sscan(sscan) => self.sscan(turn, sscan),
            Command::Ssubscribe(join) => Ok(self.ssubscribe(turn, join.shardchannels)),
            Command::Strlen(strlen) => self.strlen(turn, strlen),
            Command::Subscribe(join) => Ok(self.subscribe(turn, join.channels)),
            Command::Substr(substr) => self.substr(turn, substr),
            Command::Sunion(sunion) => self.sunion(turn, sunion),
            Command::Sunionstore(sunionstore) => self.sunionstore(turn, sunionstore),
            Command::Sunsubscribe(leave) => Ok(self.sunsubscribe(turn, leave.shardchannels)),
            Command::Swapdb(swap) => self.swapdb(turn, swap),
            Command::Time => Ok(self.time(turn)),
            Command::Touch(touch) => Ok(self.touch_keys(turn, touch.keys)),
            Command::Ttl(ttl) => self.ttl(turn, ttl),
            Command::Type(kind) => self.kind(turn, kind),
            Command::Unlink(unlink) => self.unlink(turn, unlink),
            Command::Unsubscribe(leave) => Ok(self.unsubscribe(turn, leave.channels)),
            Command::Unwatch => self.unwatch(turn.caller),
            Command::Watch(watch) => self.watch(turn, watch.keys),
        };
        reply.unwrap_or_else(Reply::Error)
    }
}

/// Whether a command's name matches a pattern, whatever the case.
fn matches_name(pattern: &[u8], name: &[u8]) -> bool {
    Glob::new_nocase(pattern).matches(name)
}
