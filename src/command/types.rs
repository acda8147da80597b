// GENERATED from commands/*.toml by commands/build.rs; change a spec, then run: UPDATE=1 cargo build

use super::Args;
use super::options::*;
use super::parse::{Words, bounded, integer};
use super::spec::{CommandId, Spec};
use crate::reply::CommandError;

/// A request whose words were checked and sorted; it borrows them all.
#[derive(Debug, Clone, Copy)]
pub enum Command<'a> {
    /// APPEND: Puts bytes at the end of a string.
    Append(Append<'a>),
    /// AUTH: Logs the connection in with a password.
    Auth(Auth<'a>),
    /// BITCOUNT: Counts the ones in a string or a part of it.
    Bitcount(Bitcount<'a>),
    /// BITFIELD: Reads and changes integers of any width in a string.
    Bitfield(Bitfield<'a>),
    /// BITFIELD_RO: Reads integers of any width in a string.
    BitfieldRo(BitfieldRo<'a>),
    /// BITOP: Stores a bitwise combination of strings.
    Bitop(Bitop<'a>),
    /// BITPOS: Finds the first one or zero in a string.
    Bitpos(Bitpos<'a>),
    /// CLIENT CACHING: Has the next command's keys tracked, or not.
    ClientCaching(ClientCaching<'a>),
    /// CLIENT GETNAME: Tells the name of this connection.
    ClientGetname,
    /// CLIENT GETREDIR: Tells where this client's invalidations go.
    ClientGetredir,
    /// CLIENT GOBLIN-POLICY: Says what becomes of messages this client does not read.
    ClientGoblinPolicy(ClientGoblinPolicy),
    /// CLIENT HELP: Lists the subcommands of CLIENT.
    ClientHelp,
    /// CLIENT ID: Tells the id of this connection.
    ClientId,
    /// CLIENT INFO: Describes this connection in one line.
    ClientInfo,
    /// CLIENT KILL: Closes connections.
    ClientKill(ClientKill<'a>),
    /// CLIENT LIST: Describes connections, one line each.
    ClientList(ClientList<'a>),
    /// CLIENT NO-EVICT: Protects this connection when memory runs out.
    ClientNoEvict(ClientNoEvict),
    /// CLIENT NO-TOUCH: Keeps reads from refreshing a key's last use.
    ClientNoTouch(ClientNoTouch),
    /// CLIENT PAUSE: Holds back the commands of all connections.
    ClientPause(ClientPause),
    /// CLIENT REPLY: Turns replies to this connection on or off.
    ClientReply(ClientReply),
    /// CLIENT SETINFO: Notes the client library's name or version.
    ClientSetinfo(ClientSetinfo<'a>),
    /// CLIENT SETNAME: Names this connection.
    ClientSetname(ClientSetname<'a>),
    /// CLIENT TRACKING: Switches server-assisted client caching.
    ClientTracking(ClientTracking),
    /// CLIENT TRACKINGINFO: Describes the client caching of this connection.
    ClientTrackinginfo,
    /// CLIENT UNBLOCK: Ends the wait of a client in a blocking command.
    ClientUnblock(ClientUnblock),
    /// CLIENT UNPAUSE: Ends a pause.
    ClientUnpause,
    /// COMMAND: Describes every command.
    Command,
    /// COMMAND COUNT: Counts the commands.
    CommandCount,
    /// COMMAND DOCS: Documents commands: summary, history, arguments.
    CommandDocs(CommandDocs<'a>),
    /// COMMAND GETKEYS: Finds the keys in a command line.
    CommandGetkeys(CommandGetkeys<'a>),
    /// COMMAND GETKEYSANDFLAGS: Finds the keys in a command line and their use.
    CommandGetkeysandflags(CommandGetkeysandflags<'a>),
    /// COMMAND HELP: Lists the subcommands of COMMAND.
    CommandHelp,
    /// COMMAND INFO: Describes commands: arity, flags, keys.
    CommandInfo(CommandInfo<'a>),
    /// COMMAND LIST: Lists command names.
    CommandList(CommandList<'a>),
    /// CONFIG GET: Reads the settings that match given patterns.
    ConfigGet(ConfigGet<'a>),
    /// CONFIG HELP: Lists the subcommands of CONFIG.
    ConfigHelp,
    /// CONFIG RESETSTAT: Starts the counters of INFO anew.
    ConfigResetstat,
    /// CONFIG REWRITE: Writes the settings into the configuration file.
    ConfigRewrite,
    /// CONFIG SET: Changes settings, all of them or none.
    ConfigSet(ConfigSet<'a>),
    /// COPY: Copies a value and its expiry to another key.
    Copy(Copy<'a>),
    /// DBSIZE: Counts the keys of the selected database.
    Dbsize,
    /// DEBUG HELP: Lists the subcommands of DEBUG.
    DebugHelp,
    /// DEBUG LOG: Writes a message to the server's log.
    DebugLog(DebugLog<'a>),
    /// DEBUG SET-ACTIVE-EXPIRE: Turns the background removal of due keys on or off.
    DebugSetActiveExpire(DebugSetActiveExpire<'a>),
    /// DEBUG SLEEP: Blocks the server for some seconds.
    DebugSleep(DebugSleep<'a>),
    /// DECR: Subtracts one from the integer stored at a key.
    Decr(Decr<'a>),
    /// DECRBY: Takes a number from the integer stored at a key.
    Decrby(Decrby<'a>),
    /// DEL: Deletes keys.
    Del(Del<'a>),
    /// DISCARD: Drops the queued commands and ends the transaction.
    Discard,
    /// ECHO: Sends the given message back.
    Echo(Echo<'a>),
    /// EXEC: Runs the queued commands without interruption.
    Exec,
    /// EXISTS: Counts how many of the given keys exist.
    Exists(Exists<'a>),
    /// EXPIRE: Gives a key a time to live in seconds.
    Expire(Expire<'a>),
    /// EXPIREAT: Lets a key expire at a Unix time in seconds.
    Expireat(Expireat<'a>),
    /// EXPIRETIME: Tells when a key expires, in Unix seconds.
    Expiretime(Expiretime<'a>),
    /// FLUSHALL: Removes every key of every database.
    Flushall(Flushall),
    /// FLUSHDB: Removes every key of the selected database.
    Flushdb(Flushdb),
    /// FUNCTION FLUSH: Deletes all function libraries.
    FunctionFlush(FunctionFlush),
    /// FUNCTION HELP: Lists the subcommands of FUNCTION.
    FunctionHelp,
    /// FUNCTION LIST: Lists function libraries.
    FunctionList(FunctionList<'a>),
    /// FUNCTION STATS: Tells which function runs, and which engines exist.
    FunctionStats,
    /// GET: Reads a string value.
    Get(Get<'a>),
    /// GETBIT: Reads one bit of a string.
    Getbit(Getbit<'a>),
    /// GETDEL: Reads a string and deletes its key.
    Getdel(Getdel<'a>),
    /// GETEX: Reads a string and may change its time to live.
    Getex(Getex<'a>),
    /// GETRANGE: Reads a part of a string.
    Getrange(Getrange<'a>),
    /// GETSET: Stores a string and answers what was there.
    Getset(Getset<'a>),
    /// GOBLIN.MEMORY: Tells where the bytes of a set are.
    GoblinMemory(GoblinMemory<'a>),
    /// GOBLIN.OPTIMIZE: Rebuilds a set, or all sets, in less memory.
    GoblinOptimize(GoblinOptimize<'a>),
    /// GOBLIN.RING: Makes a ring whose other end is this Unix socket.
    GoblinRing(GoblinRing),
    /// HELLO: Picks the reply protocol, and may log in and name.
    Hello(Hello<'a>),
    /// INCR: Adds one to the integer stored at a key.
    Incr(Incr<'a>),
    /// INCRBY: Adds a number to the integer stored at a key.
    Incrby(Incrby<'a>),
    /// INCRBYFLOAT: Adds a decimal number to the one stored at a key.
    Incrbyfloat(Incrbyfloat<'a>),
    /// INFO: Reports counters and facts about the server.
    Info(Info<'a>),
    /// KEYS: Lists all keys that match a pattern.
    Keys(Keys<'a>),
    /// LATENCY DOCTOR: Explains the spikes that were seen, in sentences.
    LatencyDoctor,
    /// LATENCY GRAPH: Draws the spikes of an event as text.
    LatencyGraph(LatencyGraph<'a>),
    /// LATENCY HELP: Lists the subcommands of LATENCY.
    LatencyHelp,
    /// LATENCY HISTOGRAM: Counts how long calls of commands took.
    LatencyHistogram(LatencyHistogram<'a>),
    /// LATENCY HISTORY: Tells when an event took long, and how long.
    LatencyHistory(LatencyHistory<'a>),
    /// LATENCY LATEST: Tells the last and the worst spike of each event.
    LatencyLatest,
    /// LATENCY RESET: Forgets the spikes of some events, or of all.
    LatencyReset(LatencyReset<'a>),
    /// LCS: Finds what two strings have in common, in order.
    Lcs(Lcs<'a>),
    /// LOLWUT: Draws a little and tells the version.
    Lolwut(Lolwut),
    /// MEMORY DOCTOR: Explains the use of memory, in sentences.
    MemoryDoctor,
    /// MEMORY HELP: Lists the subcommands of MEMORY.
    MemoryHelp,
    /// MEMORY MALLOC-STATS: Shows the report of the memory allocator.
    MemoryMallocStats,
    /// MEMORY PURGE: Gives unused memory back to the system.
    MemoryPurge,
    /// MEMORY STATS: Tells what takes how much memory.
    MemoryStats,
    /// MEMORY USAGE: Tells how many bytes a key and its value take.
    MemoryUsage(MemoryUsage<'a>),
    /// MGET: Reads several string values at once.
    Mget(Mget<'a>),
    /// MONITOR: Shows every command the server executes.
    Monitor,
    /// MOVE: Moves a key to another database.
    Move(Move<'a>),
    /// MSET: Stores several strings, all in one step.
    Mset(Mset<'a>),
    /// MSETNX: Stores several strings if none of the keys exists.
    Msetnx(Msetnx<'a>),
    /// MULTI: Starts a transaction: what follows is queued.
    Multi,
    /// OBJECT ENCODING: Names the internal form of a value.
    ObjectEncoding(ObjectEncoding<'a>),
    /// OBJECT FREQ: Tells how often a key is used, 0 to 255, logarithmic.
    ObjectFreq(ObjectFreq<'a>),
    /// OBJECT HELP: Lists the subcommands of OBJECT.
    ObjectHelp,
    /// OBJECT IDLETIME: Tells the seconds since a key was used.
    ObjectIdletime(ObjectIdletime<'a>),
    /// OBJECT REFCOUNT: Tells how many references there are to a value.
    ObjectRefcount(ObjectRefcount<'a>),
    /// PERSIST: Takes a key's time to live away.
    Persist(Persist<'a>),
    /// PEXPIRE: Gives a key a time to live in milliseconds.
    Pexpire(Pexpire<'a>),
    /// PEXPIREAT: Lets a key expire at a Unix time in milliseconds.
    Pexpireat(Pexpireat<'a>),
    /// PEXPIRETIME: Tells when a key expires, in Unix milliseconds.
    Pexpiretime(Pexpiretime<'a>),
    /// PING: Answers PONG, or echoes one message.
    Ping(Ping<'a>),
    /// PSETEX: Stores a string with a time to live in ms.
    Psetex(Psetex<'a>),
    /// PSUBSCRIBE: Joins every channel that matches a pattern.
    Psubscribe(Psubscribe<'a>),
    /// PTTL: Tells how many milliseconds a key has to live.
    Pttl(Pttl<'a>),
    /// PUBLISH: Sends a message to a channel's subscribers.
    Publish(Publish<'a>),
    /// PUBSUB CHANNELS: Lists the channels that have subscribers.
    PubsubChannels(PubsubChannels<'a>),
    /// PUBSUB HELP: Lists the subcommands of PUBSUB.
    PubsubHelp,
    /// PUBSUB NUMPAT: Counts the distinct patterns subscribed to.
    PubsubNumpat,
    /// PUBSUB NUMSUB: Counts the subscribers of each given channel.
    PubsubNumsub(PubsubNumsub<'a>),
    /// PUBSUB SHARDCHANNELS: Lists the sharded channels that have subscribers.
    PubsubShardchannels(PubsubShardchannels<'a>),
    /// PUBSUB SHARDNUMSUB: Counts the subscribers of given sharded channels.
    PubsubShardnumsub(PubsubShardnumsub<'a>),
    /// PUNSUBSCRIBE: Leaves patterns, or all patterns.
    Punsubscribe(Punsubscribe<'a>),
    /// QUIT: Answers OK, then closes the connection.
    Quit,
    /// RANDOMKEY: Answers a key drawn at random.
    Randomkey,
    /// RENAME: Gives a key another name, replacing what had it.
    Rename(Rename<'a>),
    /// RENAMENX: Gives a key another name unless that is taken.
    Renamenx(Renamenx<'a>),
    /// RESET: Returns the connection to the state it started in.
    Reset,
    /// SADD: Adds members to a set, creating it when absent.
    Sadd(Sadd<'a>),
    /// SCAN: Walks over the keys of the database, page by page.
    Scan(Scan<'a>),
    /// SCARD: Counts the members of a set.
    Scard(Scard<'a>),
    /// SDIFF: Lists the members only the first set has.
    Sdiff(Sdiff<'a>),
    /// SDIFFSTORE: Stores the members only the first set has.
    Sdiffstore(Sdiffstore<'a>),
    /// SELECT: Moves the connection to another database.
    Select(Select),
    /// SET: Stores a string, replacing what the key held.
    Set(Set<'a>),
    /// SETBIT: Sets or clears one bit of a string.
    Setbit(Setbit<'a>),
    /// SETEX: Stores a string with a time to live in seconds.
    Setex(Setex<'a>),
    /// SETNX: Stores a string at a key that holds nothing.
    Setnx(Setnx<'a>),
    /// SETRANGE: Overwrites a string from an offset on.
    Setrange(Setrange<'a>),
    /// SHUTDOWN: Ends the server process.
    Shutdown(Shutdown),
    /// SINTER: Lists the members that all given sets share.
    Sinter(Sinter<'a>),
    /// SINTERCARD: Counts the members that all given sets share.
    Sintercard(Sintercard<'a>),
    /// SINTERSTORE: Stores the members that all given sets share.
    Sinterstore(Sinterstore<'a>),
    /// SISMEMBER: Asks whether a set holds a member.
    Sismember(Sismember<'a>),
    /// SLOWLOG GET: Tells the latest slow executions, newest first.
    SlowlogGet(SlowlogGet),
    /// SLOWLOG HELP: Lists the subcommands of SLOWLOG.
    SlowlogHelp,
    /// SLOWLOG LEN: Counts the slow executions that are kept.
    SlowlogLen,
    /// SLOWLOG RESET: Forgets the slow executions that are kept.
    SlowlogReset,
    /// SMEMBERS: Lists all members of a set.
    Smembers(Smembers<'a>),
    /// SMISMEMBER: Asks for each given member whether a set holds it.
    Smismember(Smismember<'a>),
    /// SMOVE: Moves a member from one set to another.
    Smove(Smove<'a>),
    /// SPOP: Removes and answers random members of a set.
    Spop(Spop<'a>),
    /// SPUBLISH: Sends a message to a sharded channel.
    Spublish(Spublish<'a>),
    /// SRANDMEMBER: Answers random members of a set, which keeps them.
    Srandmember(Srandmember<'a>),
    /// SREM: Removes members from a set.
    Srem(Srem<'a>),
    /// SSCAN: Walks over the members of a set, page by page.
    Sscan(Sscan<'a>),
    /// SSUBSCRIBE: Joins sharded channels by name.
    Ssubscribe(Ssubscribe<'a>),
    /// STRLEN: Tells how many bytes a string has.
    Strlen(Strlen<'a>),
    /// SUBSCRIBE: Joins channels by name.
    Subscribe(Subscribe<'a>),
    /// SUBSTR: Reads a part of a string; GETRANGE by another name.
    Substr(Substr<'a>),
    /// SUNION: Lists the members of all given sets together.
    Sunion(Sunion<'a>),
    /// SUNIONSTORE: Stores the members of all given sets together.
    Sunionstore(Sunionstore<'a>),
    /// SUNSUBSCRIBE: Leaves sharded channels, or all of them.
    Sunsubscribe(Sunsubscribe<'a>),
    /// SWAPDB: Exchanges the keys of two databases.
    Swapdb(Swapdb),
    /// TIME: Tells the server's clock.
    Time,
    /// TOUCH: Counts existing keys and marks them as used.
    Touch(Touch<'a>),
    /// TTL: Tells how many seconds a key has to live.
    Ttl(Ttl<'a>),
    /// TYPE: Tells which type of value a key holds.
    Type(Type<'a>),
    /// UNLINK: Deletes keys and frees their memory later.
    Unlink(Unlink<'a>),
    /// UNSUBSCRIBE: Leaves channels, or all channels.
    Unsubscribe(Unsubscribe<'a>),
    /// UNWATCH: Forgets all watched keys.
    Unwatch,
    /// WATCH: Makes the next EXEC depend on unchanged keys.
    Watch(Watch<'a>),
}

impl<'a> Command<'a> {
    /// Reads the words of a request whose spec was found and whose arity was checked.
    ///
    /// # Errors
    /// The refusal to answer: options and numbers, not what depends on the keyspace.
    pub fn parse(spec: &'static Spec, args: Args<'a>) -> Result<Self, CommandError> {
        Ok(match spec.id {
            CommandId::APPEND => Command::Append(Append::parse(args)?),
            CommandId::AUTH => Command::Auth(Auth::parse(args)?),
            CommandId::BITCOUNT => Command::Bitcount(Bitcount::parse(args)?),
            CommandId::BITFIELD => Command::Bitfield(Bitfield::parse(args)?),
            CommandId::BITFIELD_RO => Command::BitfieldRo(BitfieldRo::parse(args)?),
            CommandId::BITOP => Command::Bitop(Bitop::parse(args)?),
            CommandId::BITPOS => Command::Bitpos(Bitpos::parse(args)?),
            CommandId::CLIENT_CACHING => Command::ClientCaching(ClientCaching::parse(args)?),
            CommandId::CLIENT_GETNAME => Command::ClientGetname,
            CommandId::CLIENT_GETREDIR => Command::ClientGetredir,
            CommandId::CLIENT_GOBLIN_POLICY => Command::ClientGoblinPolicy(ClientGoblinPolicy::parse(args)?),
            CommandId::CLIENT_HELP => Command::ClientHelp,
            CommandId::CLIENT_ID => Command::ClientId,
            CommandId::CLIENT_INFO => Command::ClientInfo,
            CommandId::CLIENT_KILL => Command::ClientKill(ClientKill::parse(args)?),
            CommandId::CLIENT_LIST => Command::ClientList(ClientList::parse(args)?),
            CommandId::CLIENT_NO_EVICT => Command::ClientNoEvict(ClientNoEvict::parse(args)?),
            CommandId::CLIENT_NO_TOUCH => Command::ClientNoTouch(ClientNoTouch::parse(args)?),
            CommandId::CLIENT_PAUSE => Command::ClientPause(ClientPause::parse(args)?),
            CommandId::CLIENT_REPLY => Command::ClientReply(ClientReply::parse(args)?),
            CommandId::CLIENT_SETINFO => Command::ClientSetinfo(ClientSetinfo::parse(args)?),
            CommandId::CLIENT_SETNAME => Command::ClientSetname(ClientSetname::parse(args)?),
            CommandId::CLIENT_TRACKING => Command::ClientTracking(ClientTracking::parse(args)?),
            CommandId::CLIENT_TRACKINGINFO => Command::ClientTrackinginfo,
            CommandId::CLIENT_UNBLOCK => Command::ClientUnblock(ClientUnblock::parse(args)?),
            CommandId::CLIENT_UNPAUSE => Command::ClientUnpause,
            CommandId::COMMAND => Command::Command,
            CommandId::COMMAND_COUNT => Command::CommandCount,
            CommandId::COMMAND_DOCS => Command::CommandDocs(CommandDocs::parse(args)?),
            CommandId::COMMAND_GETKEYS => Command::CommandGetkeys(CommandGetkeys::parse(args)?),
            CommandId::COMMAND_GETKEYSANDFLAGS => Command::CommandGetkeysandflags(CommandGetkeysandflags::parse(args)?),
            CommandId::COMMAND_HELP => Command::CommandHelp,
            CommandId::COMMAND_INFO => Command::CommandInfo(CommandInfo::parse(args)?),
            CommandId::COMMAND_LIST => Command::CommandList(CommandList::parse(args)?),
            CommandId::CONFIG_GET => Command::ConfigGet(ConfigGet::parse(args)?),
            CommandId::CONFIG_HELP => Command::ConfigHelp,
            CommandId::CONFIG_RESETSTAT => Command::ConfigResetstat,
            CommandId::CONFIG_REWRITE => Command::ConfigRewrite,
            CommandId::CONFIG_SET => Command::ConfigSet(ConfigSet::parse(args)?),
            CommandId::COPY => Command::Copy(Copy::parse(args)?),
            CommandId::DBSIZE => Command::Dbsize,
            CommandId::DEBUG_HELP => Command::DebugHelp,
            CommandId::DEBUG_LOG => Command::DebugLog(DebugLog::parse(args)?),
            CommandId::DEBUG_SET_ACTIVE_EXPIRE => Command::DebugSetActiveExpire(DebugSetActiveExpire::parse(args)?),
            CommandId::DEBUG_SLEEP => Command::DebugSleep(DebugSleep::parse(args)?),
            CommandId::DECR => Command::Decr(Decr::parse(args)?),
            CommandId::DECRBY => Command::Decrby(Decrby::parse(args)?),
            CommandId::DEL => Command::Del(Del::parse(args)?),
            CommandId::DISCARD => Command::Discard,
            CommandId::ECHO => Command::Echo(Echo::parse(args)?),
            CommandId::EXEC => Command::Exec,
            CommandId::EXISTS => Command::Exists(Exists::parse(args)?),
            CommandId::EXPIRE => Command::Expire(Expire::parse(args)?),
            CommandId::EXPIREAT => Command::Expireat(Expireat::parse(args)?),
            CommandId::EXPIRETIME => Command::Expiretime(Expiretime::parse(args)?),
            CommandId::FLUSHALL => Command::Flushall(Flushall::parse(args)?),
            CommandId::FLUSHDB => Command::Flushdb(Flushdb::parse(args)?),
            CommandId::FUNCTION_FLUSH => Command::FunctionFlush(FunctionFlush::parse(args)?),
            CommandId::FUNCTION_HELP => Command::FunctionHelp,
            CommandId::FUNCTION_LIST => Command::FunctionList(FunctionList::parse(args)?),
            CommandId::FUNCTION_STATS => Command::FunctionStats,
            CommandId::GET => Command::Get(Get::parse(args)?),
            CommandId::GETBIT => Command::Getbit(Getbit::parse(args)?),
            CommandId::GETDEL => Command::Getdel(Getdel::parse(args)?),
            CommandId::GETEX => Command::Getex(Getex::parse(args)?),
            CommandId::GETRANGE => Command::Getrange(Getrange::parse(args)?),
            CommandId::GETSET => Command::Getset(Getset::parse(args)?),
            CommandId::GOBLIN_MEMORY => Command::GoblinMemory(GoblinMemory::parse(args)?),
            CommandId::GOBLIN_OPTIMIZE => Command::GoblinOptimize(GoblinOptimize::parse(args)?),
            CommandId::GOBLIN_RING => Command::GoblinRing(GoblinRing::parse(args)?),
            CommandId::HELLO => Command::Hello(Hello::parse(args)?),
            CommandId::INCR => Command::Incr(Incr::parse(args)?),
            CommandId::INCRBY => Command::Incrby(Incrby::parse(args)?),
            CommandId::INCRBYFLOAT => Command::Incrbyfloat(Incrbyfloat::parse(args)?),
            CommandId::INFO => Command::Info(Info::parse(args)?),
            CommandId::KEYS => Command::Keys(Keys::parse(args)?),
            CommandId::LATENCY_DOCTOR => Command::LatencyDoctor,
            CommandId::LATENCY_GRAPH => Command::LatencyGraph(LatencyGraph::parse(args)?),
            CommandId::LATENCY_HELP => Command::LatencyHelp,
            CommandId::LATENCY_HISTOGRAM => Command::LatencyHistogram(LatencyHistogram::parse(args)?),
            CommandId::LATENCY_HISTORY => Command::LatencyHistory(LatencyHistory::parse(args)?),
            CommandId::LATENCY_LATEST => Command::LatencyLatest,
            CommandId::LATENCY_RESET => Command::LatencyReset(LatencyReset::parse(args)?),
            CommandId::LCS => Command::Lcs(Lcs::parse(args)?),
            CommandId::LOLWUT => Command::Lolwut(Lolwut::parse(args)?),
            CommandId::MEMORY_DOCTOR => Command::MemoryDoctor,
            CommandId::MEMORY_HELP => Command::MemoryHelp,
            CommandId::MEMORY_MALLOC_STATS => Command::MemoryMallocStats,
            CommandId::MEMORY_PURGE => Command::MemoryPurge,
            CommandId::MEMORY_STATS => Command::MemoryStats,
            CommandId::MEMORY_USAGE => Command::MemoryUsage(MemoryUsage::parse(args)?),
            CommandId::MGET => Command::Mget(Mget::parse(args)?),
            CommandId::MONITOR => Command::Monitor,
            CommandId::MOVE => Command::Move(Move::parse(args)?),
            CommandId::MSET => Command::Mset(Mset::parse(args)?),
            CommandId::MSETNX => Command::Msetnx(Msetnx::parse(args)?),
            CommandId::MULTI => Command::Multi,
            CommandId::OBJECT_ENCODING => Command::ObjectEncoding(ObjectEncoding::parse(args)?),
            CommandId::OBJECT_FREQ => Command::ObjectFreq(ObjectFreq::parse(args)?),
            CommandId::OBJECT_HELP => Command::ObjectHelp,
            CommandId::OBJECT_IDLETIME => Command::ObjectIdletime(ObjectIdletime::parse(args)?),
            CommandId::OBJECT_REFCOUNT => Command::ObjectRefcount(ObjectRefcount::parse(args)?),
            CommandId::PERSIST => Command::Persist(Persist::parse(args)?),
            CommandId::PEXPIRE => Command::Pexpire(Pexpire::parse(args)?),
            CommandId::PEXPIREAT => Command::Pexpireat(Pexpireat::parse(args)?),
            CommandId::PEXPIRETIME => Command::Pexpiretime(Pexpiretime::parse(args)?),
            CommandId::PING => Command::Ping(Ping::parse(args)?),
            CommandId::PSETEX => Command::Psetex(Psetex::parse(args)?),
            CommandId::PSUBSCRIBE => Command::Psubscribe(Psubscribe::parse(args)?),
            CommandId::PTTL => Command::Pttl(Pttl::parse(args)?),
            CommandId::PUBLISH => Command::Publish(Publish::parse(args)?),
            CommandId::PUBSUB_CHANNELS => Command::PubsubChannels(PubsubChannels::parse(args)?),
            CommandId::PUBSUB_HELP => Command::PubsubHelp,
            CommandId::PUBSUB_NUMPAT => Command::PubsubNumpat,
            CommandId::PUBSUB_NUMSUB => Command::PubsubNumsub(PubsubNumsub::parse(args)?),
            CommandId::PUBSUB_SHARDCHANNELS => Command::PubsubShardchannels(PubsubShardchannels::parse(args)?),
            CommandId::PUBSUB_SHARDNUMSUB => Command::PubsubShardnumsub(PubsubShardnumsub::parse(args)?),
            CommandId::PUNSUBSCRIBE => Command::Punsubscribe(Punsubscribe::parse(args)?),
            CommandId::QUIT => Command::Quit,
            CommandId::RANDOMKEY => Command::Randomkey,
            CommandId::RENAME => Command::Rename(Rename::parse(args)?),
            CommandId::RENAMENX => Command::Renamenx(Renamenx::parse(args)?),
            CommandId::RESET => Command::Reset,
            CommandId::SADD => Command::Sadd(Sadd::parse(args)?),
            CommandId::SCAN => Command::Scan(Scan::parse(args)?),
            CommandId::SCARD => Command::Scard(Scard::parse(args)?),
            CommandId::SDIFF => Command::Sdiff(Sdiff::parse(args)?),
            CommandId::SDIFFSTORE => Command::Sdiffstore(Sdiffstore::parse(args)?),
            CommandId::SELECT => Command::Select(Select::parse(args)?),
            CommandId::SET => Command::Set(Set::parse(args)?),
            CommandId::SETBIT => Command::Setbit(Setbit::parse(args)?),
            CommandId::SETEX => Command::Setex(Setex::parse(args)?),
            CommandId::SETNX => Command::Setnx(Setnx::parse(args)?),
            CommandId::SETRANGE => Command::Setrange(Setrange::parse(args)?),
            CommandId::SHUTDOWN => Command::Shutdown(Shutdown::parse(args)?),
            CommandId::SINTER => Command::Sinter(Sinter::parse(args)?),
            CommandId::SINTERCARD => Command::Sintercard(Sintercard::parse(args)?),
            CommandId::SINTERSTORE => Command::Sinterstore(Sinterstore::parse(args)?),
            CommandId::SISMEMBER => Command::Sismember(Sismember::parse(args)?),
            CommandId::SLOWLOG_GET => Command::SlowlogGet(SlowlogGet::parse(args)?),
            CommandId::SLOWLOG_HELP => Command::SlowlogHelp,
            CommandId::SLOWLOG_LEN => Command::SlowlogLen,
            CommandId::SLOWLOG_RESET => Command::SlowlogReset,
            CommandId::SMEMBERS => Command::Smembers(Smembers::parse(args)?),
            CommandId::SMISMEMBER => Command::Smismember(Smismember::parse(args)?),
            CommandId::SMOVE => Command::Smove(Smove::parse(args)?),
            CommandId::SPOP => Command::Spop(Spop::parse(args)?),
            CommandId::SPUBLISH => Command::Spublish(Spublish::parse(args)?),
            CommandId::SRANDMEMBER => Command::Srandmember(Srandmember::parse(args)?),
            CommandId::SREM => Command::Srem(Srem::parse(args)?),
            CommandId::SSCAN => Command::Sscan(Sscan::parse(args)?),
            CommandId::SSUBSCRIBE => Command::Ssubscribe(Ssubscribe::parse(args)?),
            CommandId::STRLEN => Command::Strlen(Strlen::parse(args)?),
            CommandId::SUBSCRIBE => Command::Subscribe(Subscribe::parse(args)?),
            CommandId::SUBSTR => Command::Substr(Substr::parse(args)?),
            CommandId::SUNION => Command::Sunion(Sunion::parse(args)?),
            CommandId::SUNIONSTORE => Command::Sunionstore(Sunionstore::parse(args)?),
            CommandId::SUNSUBSCRIBE => Command::Sunsubscribe(Sunsubscribe::parse(args)?),
            CommandId::SWAPDB => Command::Swapdb(Swapdb::parse(args)?),
            CommandId::TIME => Command::Time,
            CommandId::TOUCH => Command::Touch(Touch::parse(args)?),
            CommandId::TTL => Command::Ttl(Ttl::parse(args)?),
            CommandId::TYPE => Command::Type(Type::parse(args)?),
            CommandId::UNLINK => Command::Unlink(Unlink::parse(args)?),
            CommandId::UNSUBSCRIBE => Command::Unsubscribe(Unsubscribe::parse(args)?),
            CommandId::UNWATCH => Command::Unwatch,
            CommandId::WATCH => Command::Watch(Watch::parse(args)?),
            _ => return Err(CommandError::WrongArity(spec.name)),
        })
    }
}

/// APPEND: Puts bytes at the end of a string.
#[derive(Debug, Clone, Copy)]
pub struct Append<'a> {
    /// `key`: a key.
    pub key: &'a [u8],
    /// `value`: bytes.
    pub value: &'a [u8],
}

impl<'a> Append<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "append");
        let key = words.word()?;
        let value = words.word()?;
        Ok(Append { key, value })
    }
}

/// AUTH: Logs the connection in with a password.
#[derive(Debug, Clone, Copy)]
pub struct Auth<'a> {
    /// `username`: bytes.
    pub username: Option<&'a [u8]>,
    /// `password`: bytes.
    pub password: &'a [u8],
}

impl<'a> Auth<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        if args.len() > 3 {
            return Err(CommandError::Syntax);
        }
        let mut words = Words::new(args, 1, "auth");
        let username = if words.left() > 1 { words.next() } else { None };
        let password = words.word()?;
        Ok(Auth { username, password })
    }
}

/// BITCOUNT: Counts the ones in a string or a part of it.
#[derive(Debug, Clone, Copy)]
pub struct Bitcount<'a> {
    /// `key`: a key.
    pub key: &'a [u8],
    /// What the words from here on say.
    pub range: Option<BitRange>,
}

impl<'a> Bitcount<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "bitcount");
        let key = words.word()?;
        let range = BitRange::of_count(words.rest())?;
        Ok(Bitcount { key, range })
    }
}

/// BITFIELD: Reads and changes integers of any width in a string.
#[derive(Debug, Clone, Copy)]
pub struct Bitfield<'a> {
    /// `key`: a key.
    pub key: &'a [u8],
    /// The words from here on, unread.
    pub operations: Args<'a>,
}

impl<'a> Bitfield<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "bitfield");
        let key = words.word()?;
        let operations = words.rest();
        Ok(Bitfield { key, operations })
    }
}

/// BITFIELD_RO: Reads integers of any width in a string.
#[derive(Debug, Clone, Copy)]
pub struct BitfieldRo<'a> {
    /// `key`: a key.
    pub key: &'a [u8],
    /// The words from here on, unread.
    pub operations: Args<'a>,
}

impl<'a> BitfieldRo<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "bitfield_ro");
        let key = words.word()?;
        let operations = words.rest();
        Ok(BitfieldRo { key, operations })
    }
}

/// BITOP: Stores a bitwise combination of strings.
#[derive(Debug, Clone, Copy)]
pub struct Bitop<'a> {
    /// `operation`: a choice.
    pub operation: BitopOperation,
    /// `destkey`: a key.
    pub destkey: &'a [u8],
    /// `key`: a key, several.
    pub keys: Args<'a>,
}

/// BITOP: `operation`: a choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BitopOperation {
    /// `AND`
    And,
    /// `OR`
    Or,
    /// `XOR`
    Xor,
    /// `NOT`
    Not,
    /// `DIFF`
    Diff,
    /// `DIFF1`
    Diff1,
    /// `ANDOR`
    Andor,
    /// `ONE`
    One,
}

impl<'a> Bitop<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "bitop");
        let operation = words.word()?;
        let operation = match operation { word if word.eq_ignore_ascii_case(b"AND") => BitopOperation::And, word if word.eq_ignore_ascii_case(b"OR") => BitopOperation::Or, word if word.eq_ignore_ascii_case(b"XOR") => BitopOperation::Xor, word if word.eq_ignore_ascii_case(b"NOT") => BitopOperation::Not, word if word.eq_ignore_ascii_case(b"DIFF") => BitopOperation::Diff, word if word.eq_ignore_ascii_case(b"DIFF1") => BitopOperation::Diff1, word if word.eq_ignore_ascii_case(b"ANDOR") => BitopOperation::Andor, word if word.eq_ignore_ascii_case(b"ONE") => BitopOperation::One, _ => return Err(CommandError::Syntax) };
        let destkey = words.word()?;
        let keys = words.rest();
        Ok(Bitop { operation, destkey, keys })
    }
}

/// BITPOS: Finds the first one or zero in a string.
#[derive(Debug, Clone, Copy)]
pub struct Bitpos<'a> {
    /// `key`: a key.
    pub key: &'a [u8],
    /// What the words from here on say.
    pub search: BitSearch,
}

impl<'a> Bitpos<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "bitpos");
        let key = words.word()?;
        let search = BitSearch::parse(words.rest())?;
        Ok(Bitpos { key, search })
    }
}

/// CLIENT CACHING: Has the next command's keys tracked, or not.
#[derive(Debug, Clone, Copy)]
pub struct ClientCaching<'a> {
    /// The words from here on, unread.
    pub mode: Args<'a>,
}

impl<'a> ClientCaching<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 2, "client|caching");
        let mode = words.rest();
        Ok(ClientCaching { mode })
    }
}

/// CLIENT GOBLIN-POLICY: Says what becomes of messages this client does not read.
#[derive(Debug, Clone, Copy)]
pub struct ClientGoblinPolicy {
    /// `policy`: a choice.
    pub policy: ClientGoblinPolicyPolicy,
    /// `BYTES`: an integer.
    pub bytes: Option<i64>,
    /// `NOTICE`: an option word.
    pub notice: bool,
}

/// CLIENT GOBLIN-POLICY: `policy`: a choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientGoblinPolicyPolicy {
    /// `DISCONNECT`
    Disconnect,
    /// `DROP-OLDEST`
    DropOldest,
    /// `DROP-NEWEST`
    DropNewest,
    /// `CONFLATE`
    Conflate,
}

impl ClientGoblinPolicy {
    fn parse(args: Args<'_>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 2, "client|goblin-policy");
        let policy = words.word()?;
        let policy = match policy { word if word.eq_ignore_ascii_case(b"DISCONNECT") => ClientGoblinPolicyPolicy::Disconnect, word if word.eq_ignore_ascii_case(b"DROP-OLDEST") => ClientGoblinPolicyPolicy::DropOldest, word if word.eq_ignore_ascii_case(b"DROP-NEWEST") => ClientGoblinPolicyPolicy::DropNewest, word if word.eq_ignore_ascii_case(b"CONFLATE") => ClientGoblinPolicyPolicy::Conflate, _ => return Err(CommandError::Syntax) };
        let mut bytes = None;
        let mut notice = false;
        while let Some(word) = words.next() {
            let is = |token: &[u8]| word.eq_ignore_ascii_case(token);
            if is(b"BYTES") {
                bytes = Some(bounded(words.value()?, 1, i64::MAX).map_err(|_| CommandError::PolicyBytes)?);
            } else if is(b"NOTICE") {
                notice = true;
            } else {
                return Err(CommandError::Syntax);
            }
        }
        Ok(ClientGoblinPolicy { policy, bytes, notice })
    }
}

/// CLIENT KILL: Closes connections.
#[derive(Debug, Clone, Copy)]
pub struct ClientKill<'a> {
    /// What the words from here on say.
    pub filter: KillFilter<'a>,
}

impl<'a> ClientKill<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 2, "client|kill");
        let filter = KillFilter::parse(words.rest())?;
        Ok(ClientKill { filter })
    }
}

/// CLIENT LIST: Describes connections, one line each.
#[derive(Debug, Clone, Copy)]
pub struct ClientList<'a> {
    /// What the words from here on say.
    pub filter: ListFilter<'a>,
}

impl<'a> ClientList<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 2, "client|list");
        let filter = ListFilter::parse(words.rest())?;
        Ok(ClientList { filter })
    }
}

/// CLIENT NO-EVICT: Protects this connection when memory runs out.
#[derive(Debug, Clone, Copy)]
pub struct ClientNoEvict {
    /// `enabled`: a choice.
    pub enabled: ClientNoEvictEnabled,
}

/// CLIENT NO-EVICT: `enabled`: a choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientNoEvictEnabled {
    /// `ON`
    On,
    /// `OFF`
    Off,
}

impl ClientNoEvict {
    fn parse(args: Args<'_>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 2, "client|no-evict");
        let enabled = words.word()?;
        let enabled = match enabled { word if word.eq_ignore_ascii_case(b"ON") => ClientNoEvictEnabled::On, word if word.eq_ignore_ascii_case(b"OFF") => ClientNoEvictEnabled::Off, _ => return Err(CommandError::Syntax) };
        Ok(ClientNoEvict { enabled })
    }
}

/// CLIENT NO-TOUCH: Keeps reads from refreshing a key's last use.
#[derive(Debug, Clone, Copy)]
pub struct ClientNoTouch {
    /// `enabled`: a choice.
    pub enabled: ClientNoTouchEnabled,
}

/// CLIENT NO-TOUCH: `enabled`: a choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientNoTouchEnabled {
    /// `ON`
    On,
    /// `OFF`
    Off,
}

impl ClientNoTouch {
    fn parse(args: Args<'_>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 2, "client|no-touch");
        let enabled = words.word()?;
        let enabled = match enabled { word if word.eq_ignore_ascii_case(b"ON") => ClientNoTouchEnabled::On, word if word.eq_ignore_ascii_case(b"OFF") => ClientNoTouchEnabled::Off, _ => return Err(CommandError::Syntax) };
        Ok(ClientNoTouch { enabled })
    }
}

/// CLIENT PAUSE: Holds back the commands of all connections.
#[derive(Debug, Clone, Copy)]
pub struct ClientPause {
    /// `timeout`: an integer.
    pub timeout: i64,
    /// `mode`: a choice.
    pub mode: Option<ClientPauseMode>,
}

/// CLIENT PAUSE: `mode`: a choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientPauseMode {
    /// `WRITE`
    Write,
    /// `ALL`
    All,
}

impl ClientPause {
    fn parse(args: Args<'_>) -> Result<Self, CommandError> {
        if args.len() > 4 {
            return Err(CommandError::bad_subcommand("CLIENT", args.get(1).unwrap_or_default()));
        }
        let mut words = Words::new(args, 2, "client|pause");
        let timeout = words.word()?;
        let mode = words.next();
        let mode = match mode {
            Some(word) => Some(match word { word if word.eq_ignore_ascii_case(b"WRITE") => ClientPauseMode::Write, word if word.eq_ignore_ascii_case(b"ALL") => ClientPauseMode::All, _ => return Err(CommandError::PauseMode) }),
            None => None,
        };
        let timeout = integer(timeout).ok_or(CommandError::TimeoutNotInteger)?;
        Ok(ClientPause { timeout, mode })
    }
}

/// CLIENT REPLY: Turns replies to this connection on or off.
#[derive(Debug, Clone, Copy)]
pub struct ClientReply {
    /// `action`: a choice.
    pub action: ClientReplyAction,
}

/// CLIENT REPLY: `action`: a choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientReplyAction {
    /// `ON`
    On,
    /// `OFF`
    Off,
    /// `SKIP`
    Skip,
}

impl ClientReply {
    fn parse(args: Args<'_>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 2, "client|reply");
        let action = words.word()?;
        let action = match action { word if word.eq_ignore_ascii_case(b"ON") => ClientReplyAction::On, word if word.eq_ignore_ascii_case(b"OFF") => ClientReplyAction::Off, word if word.eq_ignore_ascii_case(b"SKIP") => ClientReplyAction::Skip, _ => return Err(CommandError::Syntax) };
        Ok(ClientReply { action })
    }
}

/// CLIENT SETINFO: Notes the client library's name or version.
#[derive(Debug, Clone, Copy)]
pub struct ClientSetinfo<'a> {
    /// What the words from here on say.
    pub attribute: ClientAttribute<'a>,
}

impl<'a> ClientSetinfo<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 2, "client|setinfo");
        let attribute = ClientAttribute::parse(words.rest())?;
        Ok(ClientSetinfo { attribute })
    }
}

/// CLIENT SETNAME: Names this connection.
#[derive(Debug, Clone, Copy)]
pub struct ClientSetname<'a> {
    /// `connection-name`: bytes.
    pub connection_name: &'a [u8],
}

impl<'a> ClientSetname<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 2, "client|setname");
        let connection_name = words.word()?;
        Ok(ClientSetname { connection_name })
    }
}

/// CLIENT TRACKING: Switches server-assisted client caching.
#[derive(Debug, Clone, Copy)]
pub struct ClientTracking {
    /// `status`: a choice.
    pub status: ClientTrackingStatus,
    /// What the words from here on say.
    pub options: TrackingOptions,
}

/// CLIENT TRACKING: `status`: a choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientTrackingStatus {
    /// `ON`
    On,
    /// `OFF`
    Off,
}

impl ClientTracking {
    fn parse(args: Args<'_>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 2, "client|tracking");
        let status = words.word()?;
        let options = TrackingOptions::parse(words.rest())?;
        let status = match status { word if word.eq_ignore_ascii_case(b"ON") => ClientTrackingStatus::On, word if word.eq_ignore_ascii_case(b"OFF") => ClientTrackingStatus::Off, _ => return Err(CommandError::Syntax) };
        Ok(ClientTracking { status, options })
    }
}

/// CLIENT UNBLOCK: Ends the wait of a client in a blocking command.
#[derive(Debug, Clone, Copy)]
pub struct ClientUnblock {
    /// What the words from here on say.
    pub unblock: Unblock,
}

impl ClientUnblock {
    fn parse(args: Args<'_>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 2, "client|unblock");
        let unblock = Unblock::parse(words.rest())?;
        Ok(ClientUnblock { unblock })
    }
}

/// COMMAND DOCS: Documents commands: summary, history, arguments.
#[derive(Debug, Clone, Copy)]
pub struct CommandDocs<'a> {
    /// `command-name`: bytes, several.
    pub command_names: Args<'a>,
}

impl<'a> CommandDocs<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 2, "command|docs");
        let command_names = words.rest();
        Ok(CommandDocs { command_names })
    }
}

/// COMMAND GETKEYS: Finds the keys in a command line.
#[derive(Debug, Clone, Copy)]
pub struct CommandGetkeys<'a> {
    /// The words from here on, unread.
    pub request: Args<'a>,
}

impl<'a> CommandGetkeys<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 2, "command|getkeys");
        let request = words.rest();
        Ok(CommandGetkeys { request })
    }
}

/// COMMAND GETKEYSANDFLAGS: Finds the keys in a command line and their use.
#[derive(Debug, Clone, Copy)]
pub struct CommandGetkeysandflags<'a> {
    /// The words from here on, unread.
    pub request: Args<'a>,
}

impl<'a> CommandGetkeysandflags<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 2, "command|getkeysandflags");
        let request = words.rest();
        Ok(CommandGetkeysandflags { request })
    }
}

/// COMMAND INFO: Describes commands: arity, flags, keys.
#[derive(Debug, Clone, Copy)]
pub struct CommandInfo<'a> {
    /// `command-name`: bytes, several.
    pub command_names: Args<'a>,
}

impl<'a> CommandInfo<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 2, "command|info");
        let command_names = words.rest();
        Ok(CommandInfo { command_names })
    }
}

/// COMMAND LIST: Lists command names.
#[derive(Debug, Clone, Copy)]
pub struct CommandList<'a> {
    /// What the words from here on say.
    pub filter: NameFilter<'a>,
}

impl<'a> CommandList<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 2, "command|list");
        let filter = NameFilter::parse(words.rest())?;
        Ok(CommandList { filter })
    }
}

/// CONFIG GET: Reads the settings that match given patterns.
#[derive(Debug, Clone, Copy)]
pub struct ConfigGet<'a> {
    /// `parameter`: bytes, several.
    pub parameters: Args<'a>,
}

impl<'a> ConfigGet<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 2, "config|get");
        let parameters = words.rest();
        Ok(ConfigGet { parameters })
    }
}

/// CONFIG SET: Changes settings, all of them or none.
#[derive(Debug, Clone, Copy)]
pub struct ConfigSet<'a> {
    /// `data`: a group of words, several.
    pub pairs: Args<'a>,
}

impl<'a> ConfigSet<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 2, "config|set");
        let pairs = words.rest();
        if !pairs.len().is_multiple_of(2) {
            return Err(CommandError::Syntax);
        }
        Ok(ConfigSet { pairs })
    }
}

/// COPY: Copies a value and its expiry to another key.
#[derive(Debug, Clone, Copy)]
pub struct Copy<'a> {
    /// `source`: a key.
    pub source: &'a [u8],
    /// `destination`: a key.
    pub destination: &'a [u8],
    /// What the words from here on say.
    pub options: CopyOptions<'a>,
}

impl<'a> Copy<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "copy");
        let source = words.word()?;
        let destination = words.word()?;
        let options = CopyOptions::of(words.rest())?;
        Ok(Copy { source, destination, options })
    }
}

/// DEBUG LOG: Writes a message to the server's log.
#[derive(Debug, Clone, Copy)]
pub struct DebugLog<'a> {
    /// `message`: bytes.
    pub message: &'a [u8],
}

impl<'a> DebugLog<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 2, "debug|log");
        let message = words.word()?;
        Ok(DebugLog { message })
    }
}

/// DEBUG SET-ACTIVE-EXPIRE: Turns the background removal of due keys on or off.
#[derive(Debug, Clone, Copy)]
pub struct DebugSetActiveExpire<'a> {
    /// `enabled`: bytes.
    pub enabled: &'a [u8],
}

impl<'a> DebugSetActiveExpire<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 2, "debug|set-active-expire");
        let enabled = words.word()?;
        Ok(DebugSetActiveExpire { enabled })
    }
}

/// DEBUG SLEEP: Blocks the server for some seconds.
#[derive(Debug, Clone, Copy)]
pub struct DebugSleep<'a> {
    /// `seconds`: bytes.
    pub seconds: &'a [u8],
}

impl<'a> DebugSleep<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 2, "debug|sleep");
        let seconds = words.word()?;
        Ok(DebugSleep { seconds })
    }
}

/// DECR: Subtracts one from the integer stored at a key.
#[derive(Debug, Clone, Copy)]
pub struct Decr<'a> {
    /// `key`: a key.
    pub key: &'a [u8],
}

impl<'a> Decr<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "decr");
        let key = words.word()?;
        Ok(Decr { key })
    }
}

/// DECRBY: Takes a number from the integer stored at a key.
#[derive(Debug, Clone, Copy)]
pub struct Decrby<'a> {
    /// `key`: a key.
    pub key: &'a [u8],
    /// `decrement`: an integer.
    pub decrement: i64,
}

impl<'a> Decrby<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "decrby");
        let key = words.word()?;
        let decrement = words.word()?;
        let decrement = integer(decrement).ok_or(CommandError::NotInteger)?;
        Ok(Decrby { key, decrement })
    }
}

/// DEL: Deletes keys.
#[derive(Debug, Clone, Copy)]
pub struct Del<'a> {
    /// `key`: a key, several.
    pub keys: Args<'a>,
}

impl<'a> Del<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "del");
        let keys = words.rest();
        Ok(Del { keys })
    }
}

/// ECHO: Sends the given message back.
#[derive(Debug, Clone, Copy)]
pub struct Echo<'a> {
    /// `message`: bytes.
    pub message: &'a [u8],
}

impl<'a> Echo<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "echo");
        let message = words.word()?;
        Ok(Echo { message })
    }
}

/// EXISTS: Counts how many of the given keys exist.
#[derive(Debug, Clone, Copy)]
pub struct Exists<'a> {
    /// `key`: a key, several.
    pub keys: Args<'a>,
}

impl<'a> Exists<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "exists");
        let keys = words.rest();
        Ok(Exists { keys })
    }
}

/// EXPIRE: Gives a key a time to live in seconds.
#[derive(Debug, Clone, Copy)]
pub struct Expire<'a> {
    /// `key`: a key.
    pub key: &'a [u8],
    /// `seconds`: an integer.
    pub seconds: i64,
    /// What the words from here on say.
    pub conditions: ExpireConditions,
}

impl<'a> Expire<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "expire");
        let key = words.word()?;
        let seconds = words.word()?;
        let conditions = ExpireConditions::parse(words.rest())?;
        let seconds = integer(seconds).ok_or(CommandError::NotInteger)?;
        Ok(Expire { key, seconds, conditions })
    }
}

/// EXPIREAT: Lets a key expire at a Unix time in seconds.
#[derive(Debug, Clone, Copy)]
pub struct Expireat<'a> {
    /// `key`: a key.
    pub key: &'a [u8],
    /// `unix-time-seconds`: a Unix time.
    pub unix_time_seconds: i64,
    /// What the words from here on say.
    pub conditions: ExpireConditions,
}

impl<'a> Expireat<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "expireat");
        let key = words.word()?;
        let unix_time_seconds = words.word()?;
        let conditions = ExpireConditions::parse(words.rest())?;
        let unix_time_seconds = integer(unix_time_seconds).ok_or(CommandError::NotInteger)?;
        Ok(Expireat { key, unix_time_seconds, conditions })
    }
}

/// EXPIRETIME: Tells when a key expires, in Unix seconds.
#[derive(Debug, Clone, Copy)]
pub struct Expiretime<'a> {
    /// `key`: a key.
    pub key: &'a [u8],
}

impl<'a> Expiretime<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "expiretime");
        let key = words.word()?;
        Ok(Expiretime { key })
    }
}

/// FLUSHALL: Removes every key of every database.
#[derive(Debug, Clone, Copy)]
pub struct Flushall {
    /// `flush-type`: a choice.
    pub flush_type: Option<FlushallFlushType>,
}

/// FLUSHALL: `flush-type`: a choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlushallFlushType {
    /// `ASYNC`
    Async,
    /// `SYNC`
    Sync,
}

impl Flushall {
    fn parse(args: Args<'_>) -> Result<Self, CommandError> {
        if args.len() > 2 {
            return Err(CommandError::Syntax);
        }
        let mut words = Words::new(args, 1, "flushall");
        let flush_type = words.next();
        let flush_type = match flush_type {
            Some(word) => Some(match word { word if word.eq_ignore_ascii_case(b"ASYNC") => FlushallFlushType::Async, word if word.eq_ignore_ascii_case(b"SYNC") => FlushallFlushType::Sync, _ => return Err(CommandError::Syntax) }),
            None => None,
        };
        Ok(Flushall { flush_type })
    }
}

/// FLUSHDB: Removes every key of the selected database.
#[derive(Debug, Clone, Copy)]
pub struct Flushdb {
    /// `flush-type`: a choice.
    pub flush_type: Option<FlushdbFlushType>,
}

/// FLUSHDB: `flush-type`: a choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlushdbFlushType {
    /// `ASYNC`
    Async,
    /// `SYNC`
    Sync,
}

impl Flushdb {
    fn parse(args: Args<'_>) -> Result<Self, CommandError> {
        if args.len() > 2 {
            return Err(CommandError::Syntax);
        }
        let mut words = Words::new(args, 1, "flushdb");
        let flush_type = words.next();
        let flush_type = match flush_type {
            Some(word) => Some(match word { word if word.eq_ignore_ascii_case(b"ASYNC") => FlushdbFlushType::Async, word if word.eq_ignore_ascii_case(b"SYNC") => FlushdbFlushType::Sync, _ => return Err(CommandError::Syntax) }),
            None => None,
        };
        Ok(Flushdb { flush_type })
    }
}

/// FUNCTION FLUSH: Deletes all function libraries.
#[derive(Debug, Clone, Copy)]
pub struct FunctionFlush {
    /// `flush-type`: a choice.
    pub flush_type: Option<FunctionFlushFlushType>,
}

/// FUNCTION FLUSH: `flush-type`: a choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FunctionFlushFlushType {
    /// `ASYNC`
    Async,
    /// `SYNC`
    Sync,
}

impl FunctionFlush {
    fn parse(args: Args<'_>) -> Result<Self, CommandError> {
        if args.len() > 3 {
            return Err(CommandError::bad_subcommand("FUNCTION", args.get(1).unwrap_or_default()));
        }
        let mut words = Words::new(args, 2, "function|flush");
        let flush_type = words.next();
        let flush_type = match flush_type {
            Some(word) => Some(match word { word if word.eq_ignore_ascii_case(b"ASYNC") => FunctionFlushFlushType::Async, word if word.eq_ignore_ascii_case(b"SYNC") => FunctionFlushFlushType::Sync, _ => return Err(CommandError::FunctionFlushMode) }),
            None => None,
        };
        Ok(FunctionFlush { flush_type })
    }
}

/// FUNCTION LIST: Lists function libraries.
#[derive(Debug, Clone, Copy)]
pub struct FunctionList<'a> {
    /// What the words from here on say.
    pub options: FunctionListOptions<'a>,
}

impl<'a> FunctionList<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 2, "function|list");
        let options = FunctionListOptions::parse(words.rest())?;
        Ok(FunctionList { options })
    }
}

/// GET: Reads a string value.
#[derive(Debug, Clone, Copy)]
pub struct Get<'a> {
    /// `key`: a key.
    pub key: &'a [u8],
}

impl<'a> Get<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "get");
        let key = words.word()?;
        Ok(Get { key })
    }
}

/// GETBIT: Reads one bit of a string.
#[derive(Debug, Clone, Copy)]
pub struct Getbit<'a> {
    /// `key`: a key.
    pub key: &'a [u8],
    /// `offset`: an integer.
    pub offset: i64,
}

impl<'a> Getbit<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "getbit");
        let key = words.word()?;
        let offset = words.word()?;
        let offset = bounded(offset, 0, i64::MAX).map_err(|_| CommandError::BitOffset)?;
        Ok(Getbit { key, offset })
    }
}

/// GETDEL: Reads a string and deletes its key.
#[derive(Debug, Clone, Copy)]
pub struct Getdel<'a> {
    /// `key`: a key.
    pub key: &'a [u8],
}

impl<'a> Getdel<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "getdel");
        let key = words.word()?;
        Ok(Getdel { key })
    }
}

/// GETEX: Reads a string and may change its time to live.
#[derive(Debug, Clone, Copy)]
pub struct Getex<'a> {
    /// `key`: a key.
    pub key: &'a [u8],
    /// What the words from here on say.
    pub expiration: Option<ExpirationWords<'a>>,
}

impl<'a> Getex<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "getex");
        let key = words.word()?;
        let expiration = ExpirationWords::parse(words.rest())?;
        Ok(Getex { key, expiration })
    }
}

/// GETRANGE: Reads a part of a string.
#[derive(Debug, Clone, Copy)]
pub struct Getrange<'a> {
    /// `key`: a key.
    pub key: &'a [u8],
    /// `start`: an integer.
    pub start: i64,
    /// `end`: an integer.
    pub end: i64,
}

impl<'a> Getrange<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "getrange");
        let key = words.word()?;
        let start = words.word()?;
        let start = integer(start).ok_or(CommandError::NotInteger)?;
        let end = words.word()?;
        let end = integer(end).ok_or(CommandError::NotInteger)?;
        Ok(Getrange { key, start, end })
    }
}

/// GETSET: Stores a string and answers what was there.
#[derive(Debug, Clone, Copy)]
pub struct Getset<'a> {
    /// `key`: a key.
    pub key: &'a [u8],
    /// `value`: bytes.
    pub value: &'a [u8],
}

impl<'a> Getset<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "getset");
        let key = words.word()?;
        let value = words.word()?;
        Ok(Getset { key, value })
    }
}

/// GOBLIN.MEMORY: Tells where the bytes of a set are.
#[derive(Debug, Clone, Copy)]
pub struct GoblinMemory<'a> {
    /// `key`: a key.
    pub key: &'a [u8],
}

impl<'a> GoblinMemory<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "goblin.memory");
        let key = words.word()?;
        Ok(GoblinMemory { key })
    }
}

/// GOBLIN.OPTIMIZE: Rebuilds a set, or all sets, in less memory.
#[derive(Debug, Clone, Copy)]
pub struct GoblinOptimize<'a> {
    /// `key`: a key.
    pub key: &'a [u8],
    /// What the words from here on say.
    pub wish: OptimizeWish<'a>,
}

impl<'a> GoblinOptimize<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "goblin.optimize");
        let key = words.word()?;
        let wish = OptimizeWish::parse(words.rest())?;
        Ok(GoblinOptimize { key, wish })
    }
}

/// GOBLIN.RING: Makes a ring whose other end is this Unix socket.
#[derive(Debug, Clone, Copy)]
pub struct GoblinRing {
    /// What the words from here on say.
    pub wish: RingWish,
}

impl GoblinRing {
    fn parse(args: Args<'_>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "goblin.ring");
        let wish = RingWish::parse(words.rest())?;
        Ok(GoblinRing { wish })
    }
}

/// HELLO: Picks the reply protocol, and may log in and name.
#[derive(Debug, Clone, Copy)]
pub struct Hello<'a> {
    /// What the words from here on say.
    pub options: HelloOptions<'a>,
}

impl<'a> Hello<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "hello");
        let options = HelloOptions::parse(words.rest())?;
        Ok(Hello { options })
    }
}

/// INCR: Adds one to the integer stored at a key.
#[derive(Debug, Clone, Copy)]
pub struct Incr<'a> {
    /// `key`: a key.
    pub key: &'a [u8],
}

impl<'a> Incr<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "incr");
        let key = words.word()?;
        Ok(Incr { key })
    }
}

/// INCRBY: Adds a number to the integer stored at a key.
#[derive(Debug, Clone, Copy)]
pub struct Incrby<'a> {
    /// `key`: a key.
    pub key: &'a [u8],
    /// `increment`: an integer.
    pub increment: i64,
}

impl<'a> Incrby<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "incrby");
        let key = words.word()?;
        let increment = words.word()?;
        let increment = integer(increment).ok_or(CommandError::NotInteger)?;
        Ok(Incrby { key, increment })
    }
}

/// INCRBYFLOAT: Adds a decimal number to the one stored at a key.
#[derive(Debug, Clone, Copy)]
pub struct Incrbyfloat<'a> {
    /// `key`: a key.
    pub key: &'a [u8],
    /// The words from here on, unread.
    pub increment: Args<'a>,
}

impl<'a> Incrbyfloat<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "incrbyfloat");
        let key = words.word()?;
        let increment = words.rest();
        Ok(Incrbyfloat { key, increment })
    }
}

/// INFO: Reports counters and facts about the server.
#[derive(Debug, Clone, Copy)]
pub struct Info<'a> {
    /// `section`: bytes, several.
    pub sections: Args<'a>,
}

impl<'a> Info<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "info");
        let sections = words.rest();
        Ok(Info { sections })
    }
}

/// KEYS: Lists all keys that match a pattern.
#[derive(Debug, Clone, Copy)]
pub struct Keys<'a> {
    /// `pattern`: a glob.
    pub pattern: &'a [u8],
}

impl<'a> Keys<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "keys");
        let pattern = words.word()?;
        Ok(Keys { pattern })
    }
}

/// LATENCY GRAPH: Draws the spikes of an event as text.
#[derive(Debug, Clone, Copy)]
pub struct LatencyGraph<'a> {
    /// `event`: bytes.
    pub event: &'a [u8],
}

impl<'a> LatencyGraph<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 2, "latency|graph");
        let event = words.word()?;
        Ok(LatencyGraph { event })
    }
}

/// LATENCY HISTOGRAM: Counts how long calls of commands took.
#[derive(Debug, Clone, Copy)]
pub struct LatencyHistogram<'a> {
    /// `command`: bytes, several.
    pub commands: Args<'a>,
}

impl<'a> LatencyHistogram<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 2, "latency|histogram");
        let commands = words.rest();
        Ok(LatencyHistogram { commands })
    }
}

/// LATENCY HISTORY: Tells when an event took long, and how long.
#[derive(Debug, Clone, Copy)]
pub struct LatencyHistory<'a> {
    /// `event`: bytes.
    pub event: &'a [u8],
}

impl<'a> LatencyHistory<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 2, "latency|history");
        let event = words.word()?;
        Ok(LatencyHistory { event })
    }
}

/// LATENCY RESET: Forgets the spikes of some events, or of all.
#[derive(Debug, Clone, Copy)]
pub struct LatencyReset<'a> {
    /// `event`: bytes, several.
    pub events: Args<'a>,
}

impl<'a> LatencyReset<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 2, "latency|reset");
        let events = words.rest();
        Ok(LatencyReset { events })
    }
}

/// LCS: Finds what two strings have in common, in order.
#[derive(Debug, Clone, Copy)]
pub struct Lcs<'a> {
    /// `key1`: a key.
    pub key1: &'a [u8],
    /// `key2`: a key.
    pub key2: &'a [u8],
    /// The words from here on, unread.
    pub options: Args<'a>,
}

impl<'a> Lcs<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "lcs");
        let key1 = words.word()?;
        let key2 = words.word()?;
        let options = words.rest();
        Ok(Lcs { key1, key2, options })
    }
}

/// LOLWUT: Draws a little and tells the version.
#[derive(Debug, Clone, Copy)]
pub struct Lolwut {
    /// What the words from here on say.
    pub drawing: Drawing,
}

impl Lolwut {
    fn parse(args: Args<'_>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "lolwut");
        let drawing = Drawing::parse(words.rest())?;
        Ok(Lolwut { drawing })
    }
}

/// MEMORY USAGE: Tells how many bytes a key and its value take.
#[derive(Debug, Clone, Copy)]
pub struct MemoryUsage<'a> {
    /// `key`: a key.
    pub key: &'a [u8],
    /// What the words from here on say.
    pub samples: Samples,
}

impl<'a> MemoryUsage<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 2, "memory|usage");
        let key = words.word()?;
        let samples = Samples::parse(words.rest())?;
        Ok(MemoryUsage { key, samples })
    }
}

/// MGET: Reads several string values at once.
#[derive(Debug, Clone, Copy)]
pub struct Mget<'a> {
    /// `key`: a key, several.
    pub keys: Args<'a>,
}

impl<'a> Mget<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "mget");
        let keys = words.rest();
        Ok(Mget { keys })
    }
}

/// MOVE: Moves a key to another database.
#[derive(Debug, Clone, Copy)]
pub struct Move<'a> {
    /// `key`: a key.
    pub key: &'a [u8],
    /// `db`: an integer.
    pub db: i64,
}

impl<'a> Move<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "move");
        let key = words.word()?;
        let db = words.word()?;
        let db = bounded(db, -2147483648, 2147483647)?;
        Ok(Move { key, db })
    }
}

/// MSET: Stores several strings, all in one step.
#[derive(Debug, Clone, Copy)]
pub struct Mset<'a> {
    /// `data`: a group of words, several.
    pub pairs: Args<'a>,
}

impl<'a> Mset<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "mset");
        let pairs = words.rest();
        if !pairs.len().is_multiple_of(2) {
            return Err(CommandError::WrongArity("mset"));
        }
        Ok(Mset { pairs })
    }
}

/// MSETNX: Stores several strings if none of the keys exists.
#[derive(Debug, Clone, Copy)]
pub struct Msetnx<'a> {
    /// `data`: a group of words, several.
    pub pairs: Args<'a>,
}

impl<'a> Msetnx<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "msetnx");
        let pairs = words.rest();
        if !pairs.len().is_multiple_of(2) {
            return Err(CommandError::WrongArity("msetnx"));
        }
        Ok(Msetnx { pairs })
    }
}

/// OBJECT ENCODING: Names the internal form of a value.
#[derive(Debug, Clone, Copy)]
pub struct ObjectEncoding<'a> {
    /// `key`: a key.
    pub key: &'a [u8],
}

impl<'a> ObjectEncoding<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 2, "object|encoding");
        let key = words.word()?;
        Ok(ObjectEncoding { key })
    }
}

/// OBJECT FREQ: Tells how often a key is used, 0 to 255, logarithmic.
#[derive(Debug, Clone, Copy)]
pub struct ObjectFreq<'a> {
    /// `key`: a key.
    pub key: &'a [u8],
}

impl<'a> ObjectFreq<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 2, "object|freq");
        let key = words.word()?;
        Ok(ObjectFreq { key })
    }
}

/// OBJECT IDLETIME: Tells the seconds since a key was used.
#[derive(Debug, Clone, Copy)]
pub struct ObjectIdletime<'a> {
    /// `key`: a key.
    pub key: &'a [u8],
}

impl<'a> ObjectIdletime<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 2, "object|idletime");
        let key = words.word()?;
        Ok(ObjectIdletime { key })
    }
}

/// OBJECT REFCOUNT: Tells how many references there are to a value.
#[derive(Debug, Clone, Copy)]
pub struct ObjectRefcount<'a> {
    /// `key`: a key.
    pub key: &'a [u8],
}

impl<'a> ObjectRefcount<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 2, "object|refcount");
        let key = words.word()?;
        Ok(ObjectRefcount { key })
    }
}

/// PERSIST: Takes a key's time to live away.
#[derive(Debug, Clone, Copy)]
pub struct Persist<'a> {
    /// `key`: a key.
    pub key: &'a [u8],
}

impl<'a> Persist<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "persist");
        let key = words.word()?;
        Ok(Persist { key })
    }
}

/// PEXPIRE: Gives a key a time to live in milliseconds.
#[derive(Debug, Clone, Copy)]
pub struct Pexpire<'a> {
    /// `key`: a key.
    pub key: &'a [u8],
    /// `milliseconds`: an integer.
    pub milliseconds: i64,
    /// What the words from here on say.
    pub conditions: ExpireConditions,
}

impl<'a> Pexpire<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "pexpire");
        let key = words.word()?;
        let milliseconds = words.word()?;
        let conditions = ExpireConditions::parse(words.rest())?;
        let milliseconds = integer(milliseconds).ok_or(CommandError::NotInteger)?;
        Ok(Pexpire { key, milliseconds, conditions })
    }
}

/// PEXPIREAT: Lets a key expire at a Unix time in milliseconds.
#[derive(Debug, Clone, Copy)]
pub struct Pexpireat<'a> {
    /// `key`: a key.
    pub key: &'a [u8],
    /// `unix-time-milliseconds`: a Unix time.
    pub unix_time_milliseconds: i64,
    /// What the words from here on say.
    pub conditions: ExpireConditions,
}

impl<'a> Pexpireat<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "pexpireat");
        let key = words.word()?;
        let unix_time_milliseconds = words.word()?;
        let conditions = ExpireConditions::parse(words.rest())?;
        let unix_time_milliseconds = integer(unix_time_milliseconds).ok_or(CommandError::NotInteger)?;
        Ok(Pexpireat { key, unix_time_milliseconds, conditions })
    }
}

/// PEXPIRETIME: Tells when a key expires, in Unix milliseconds.
#[derive(Debug, Clone, Copy)]
pub struct Pexpiretime<'a> {
    /// `key`: a key.
    pub key: &'a [u8],
}

impl<'a> Pexpiretime<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "pexpiretime");
        let key = words.word()?;
        Ok(Pexpiretime { key })
    }
}

/// PING: Answers PONG, or echoes one message.
#[derive(Debug, Clone, Copy)]
pub struct Ping<'a> {
    /// `message`: bytes.
    pub message: Option<&'a [u8]>,
}

impl<'a> Ping<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        if args.len() > 2 {
            return Err(CommandError::WrongArity("ping"));
        }
        let mut words = Words::new(args, 1, "ping");
        let message = words.next();
        Ok(Ping { message })
    }
}

/// PSETEX: Stores a string with a time to live in ms.
#[derive(Debug, Clone, Copy)]
pub struct Psetex<'a> {
    /// `key`: a key.
    pub key: &'a [u8],
    /// `milliseconds`: an integer.
    pub milliseconds: i64,
    /// `value`: bytes.
    pub value: &'a [u8],
}

impl<'a> Psetex<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "psetex");
        let key = words.word()?;
        let milliseconds = words.word()?;
        let milliseconds = integer(milliseconds).ok_or(CommandError::NotInteger)?;
        let value = words.word()?;
        Ok(Psetex { key, milliseconds, value })
    }
}

/// PSUBSCRIBE: Joins every channel that matches a pattern.
#[derive(Debug, Clone, Copy)]
pub struct Psubscribe<'a> {
    /// `pattern`: a glob, several.
    pub patterns: Args<'a>,
}

impl<'a> Psubscribe<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "psubscribe");
        let patterns = words.rest();
        Ok(Psubscribe { patterns })
    }
}

/// PTTL: Tells how many milliseconds a key has to live.
#[derive(Debug, Clone, Copy)]
pub struct Pttl<'a> {
    /// `key`: a key.
    pub key: &'a [u8],
}

impl<'a> Pttl<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "pttl");
        let key = words.word()?;
        Ok(Pttl { key })
    }
}

/// PUBLISH: Sends a message to a channel's subscribers.
#[derive(Debug, Clone, Copy)]
pub struct Publish<'a> {
    /// `channel`: bytes.
    pub channel: &'a [u8],
    /// `message`: bytes.
    pub message: &'a [u8],
}

impl<'a> Publish<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "publish");
        let channel = words.word()?;
        let message = words.word()?;
        Ok(Publish { channel, message })
    }
}

/// PUBSUB CHANNELS: Lists the channels that have subscribers.
#[derive(Debug, Clone, Copy)]
pub struct PubsubChannels<'a> {
    /// `pattern`: a glob.
    pub pattern: Option<&'a [u8]>,
}

impl<'a> PubsubChannels<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        if args.len() > 3 {
            return Err(CommandError::bad_subcommand("PUBSUB", args.get(1).unwrap_or_default()));
        }
        let mut words = Words::new(args, 2, "pubsub|channels");
        let pattern = words.next();
        Ok(PubsubChannels { pattern })
    }
}

/// PUBSUB NUMSUB: Counts the subscribers of each given channel.
#[derive(Debug, Clone, Copy)]
pub struct PubsubNumsub<'a> {
    /// `channel`: bytes, several.
    pub channels: Args<'a>,
}

impl<'a> PubsubNumsub<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 2, "pubsub|numsub");
        let channels = words.rest();
        Ok(PubsubNumsub { channels })
    }
}

/// PUBSUB SHARDCHANNELS: Lists the sharded channels that have subscribers.
#[derive(Debug, Clone, Copy)]
pub struct PubsubShardchannels<'a> {
    /// `pattern`: a glob.
    pub pattern: Option<&'a [u8]>,
}

impl<'a> PubsubShardchannels<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        if args.len() > 3 {
            return Err(CommandError::bad_subcommand("PUBSUB", args.get(1).unwrap_or_default()));
        }
        let mut words = Words::new(args, 2, "pubsub|shardchannels");
        let pattern = words.next();
        Ok(PubsubShardchannels { pattern })
    }
}

/// PUBSUB SHARDNUMSUB: Counts the subscribers of given sharded channels.
#[derive(Debug, Clone, Copy)]
pub struct PubsubShardnumsub<'a> {
    /// `shardchannel`: bytes, several.
    pub shardchannels: Args<'a>,
}

impl<'a> PubsubShardnumsub<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 2, "pubsub|shardnumsub");
        let shardchannels = words.rest();
        Ok(PubsubShardnumsub { shardchannels })
    }
}

/// PUNSUBSCRIBE: Leaves patterns, or all patterns.
#[derive(Debug, Clone, Copy)]
pub struct Punsubscribe<'a> {
    /// `pattern`: a glob, several.
    pub patterns: Args<'a>,
}

impl<'a> Punsubscribe<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "punsubscribe");
        let patterns = words.rest();
        Ok(Punsubscribe { patterns })
    }
}

/// RENAME: Gives a key another name, replacing what had it.
#[derive(Debug, Clone, Copy)]
pub struct Rename<'a> {
    /// `key`: a key.
    pub key: &'a [u8],
    /// `newkey`: a key.
    pub newkey: &'a [u8],
}

impl<'a> Rename<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "rename");
        let key = words.word()?;
        let newkey = words.word()?;
        Ok(Rename { key, newkey })
    }
}

/// RENAMENX: Gives a key another name unless that is taken.
#[derive(Debug, Clone, Copy)]
pub struct Renamenx<'a> {
    /// `key`: a key.
    pub key: &'a [u8],
    /// `newkey`: a key.
    pub newkey: &'a [u8],
}

impl<'a> Renamenx<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "renamenx");
        let key = words.word()?;
        let newkey = words.word()?;
        Ok(Renamenx { key, newkey })
    }
}

/// SADD: Adds members to a set, creating it when absent.
#[derive(Debug, Clone, Copy)]
pub struct Sadd<'a> {
    /// `key`: a key.
    pub key: &'a [u8],
    /// `member`: bytes, several.
    pub members: Args<'a>,
}

impl<'a> Sadd<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "sadd");
        let key = words.word()?;
        let members = words.rest();
        Ok(Sadd { key, members })
    }
}

/// SCAN: Walks over the keys of the database, page by page.
#[derive(Debug, Clone, Copy)]
pub struct Scan<'a> {
    /// `cursor`: an integer.
    pub cursor: u64,
    /// What the words from here on say.
    pub options: ScanOptions<'a>,
}

impl<'a> Scan<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "scan");
        let cursor = words.word()?;
        let cursor = super::parse_cursor(cursor).ok_or(CommandError::InvalidCursor)?;
        let options = ScanOptions::of_keys(words.rest())?;
        Ok(Scan { cursor, options })
    }
}

/// SCARD: Counts the members of a set.
#[derive(Debug, Clone, Copy)]
pub struct Scard<'a> {
    /// `key`: a key.
    pub key: &'a [u8],
}

impl<'a> Scard<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "scard");
        let key = words.word()?;
        Ok(Scard { key })
    }
}

/// SDIFF: Lists the members only the first set has.
#[derive(Debug, Clone, Copy)]
pub struct Sdiff<'a> {
    /// `key`: a key, several.
    pub keys: Args<'a>,
}

impl<'a> Sdiff<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "sdiff");
        let keys = words.rest();
        Ok(Sdiff { keys })
    }
}

/// SDIFFSTORE: Stores the members only the first set has.
#[derive(Debug, Clone, Copy)]
pub struct Sdiffstore<'a> {
    /// `destination`: a key.
    pub destination: &'a [u8],
    /// `key`: a key, several.
    pub keys: Args<'a>,
}

impl<'a> Sdiffstore<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "sdiffstore");
        let destination = words.word()?;
        let keys = words.rest();
        Ok(Sdiffstore { destination, keys })
    }
}

/// SELECT: Moves the connection to another database.
#[derive(Debug, Clone, Copy)]
pub struct Select {
    /// `index`: an integer.
    pub index: i64,
}

impl Select {
    fn parse(args: Args<'_>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "select");
        let index = words.word()?;
        let index = bounded(index, -2147483648, 2147483647)?;
        Ok(Select { index })
    }
}

/// SET: Stores a string, replacing what the key held.
#[derive(Debug, Clone, Copy)]
pub struct Set<'a> {
    /// `key`: a key.
    pub key: &'a [u8],
    /// `value`: bytes.
    pub value: &'a [u8],
    /// `condition`: a choice.
    pub condition: Option<SetCondition>,
    /// `GET`: an option word.
    pub get: bool,
    /// `expiration`: a choice.
    pub expiration: Option<SetExpiration>,
}

/// SET: `condition`: a choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetCondition {
    /// `NX`
    Nx,
    /// `XX`
    Xx,
}

/// SET: `expiration`: a choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetExpiration {
    /// `EX`
    Seconds(i64),
    /// `PX`
    Milliseconds(i64),
    /// `EXAT`
    UnixTimeSeconds(i64),
    /// `PXAT`
    UnixTimeMilliseconds(i64),
    /// `KEEPTTL`
    Keepttl,
}

impl<'a> Set<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "set");
        let key = words.word()?;
        let value = words.word()?;
        let mut condition = None;
        let mut get = false;
        let mut expiration = None;
        while let Some(word) = words.next() {
            let is = |token: &[u8]| word.eq_ignore_ascii_case(token);
            if is(b"NX") && matches!(condition, None | Some(SetCondition::Nx)) {
                condition = Some(SetCondition::Nx);
            } else if is(b"XX") && matches!(condition, None | Some(SetCondition::Xx)) {
                condition = Some(SetCondition::Xx);
            } else if is(b"GET") {
                get = true;
            } else if is(b"EX") && matches!(expiration, None | Some((0, _))) {
                expiration = Some((0, words.value()?));
            } else if is(b"PX") && matches!(expiration, None | Some((1, _))) {
                expiration = Some((1, words.value()?));
            } else if is(b"EXAT") && matches!(expiration, None | Some((2, _))) {
                expiration = Some((2, words.value()?));
            } else if is(b"PXAT") && matches!(expiration, None | Some((3, _))) {
                expiration = Some((3, words.value()?));
            } else if is(b"KEEPTTL") && matches!(expiration, None | Some((4, _))) {
                expiration = Some((4, &b""[..]));
            } else {
                return Err(CommandError::Syntax);
            }
        }
        let expiration = match expiration {
            None => None,
            Some((0, word)) => Some(SetExpiration::Seconds(integer(word).ok_or(CommandError::NotInteger)?)),
            Some((1, word)) => Some(SetExpiration::Milliseconds(integer(word).ok_or(CommandError::NotInteger)?)),
            Some((2, word)) => Some(SetExpiration::UnixTimeSeconds(integer(word).ok_or(CommandError::NotInteger)?)),
            Some((3, word)) => Some(SetExpiration::UnixTimeMilliseconds(integer(word).ok_or(CommandError::NotInteger)?)),
            Some((_, _)) => Some(SetExpiration::Keepttl),
        };
        Ok(Set { key, value, condition, get, expiration })
    }
}

/// SETBIT: Sets or clears one bit of a string.
#[derive(Debug, Clone, Copy)]
pub struct Setbit<'a> {
    /// `key`: a key.
    pub key: &'a [u8],
    /// `offset`: an integer.
    pub offset: i64,
    /// The words from here on, unread.
    pub value: Args<'a>,
}

impl<'a> Setbit<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "setbit");
        let key = words.word()?;
        let offset = words.word()?;
        let offset = bounded(offset, 0, i64::MAX).map_err(|_| CommandError::BitOffset)?;
        let value = words.rest();
        Ok(Setbit { key, offset, value })
    }
}

/// SETEX: Stores a string with a time to live in seconds.
#[derive(Debug, Clone, Copy)]
pub struct Setex<'a> {
    /// `key`: a key.
    pub key: &'a [u8],
    /// `seconds`: an integer.
    pub seconds: i64,
    /// `value`: bytes.
    pub value: &'a [u8],
}

impl<'a> Setex<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "setex");
        let key = words.word()?;
        let seconds = words.word()?;
        let seconds = integer(seconds).ok_or(CommandError::NotInteger)?;
        let value = words.word()?;
        Ok(Setex { key, seconds, value })
    }
}

/// SETNX: Stores a string at a key that holds nothing.
#[derive(Debug, Clone, Copy)]
pub struct Setnx<'a> {
    /// `key`: a key.
    pub key: &'a [u8],
    /// `value`: bytes.
    pub value: &'a [u8],
}

impl<'a> Setnx<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "setnx");
        let key = words.word()?;
        let value = words.word()?;
        Ok(Setnx { key, value })
    }
}

/// SETRANGE: Overwrites a string from an offset on.
#[derive(Debug, Clone, Copy)]
pub struct Setrange<'a> {
    /// `key`: a key.
    pub key: &'a [u8],
    /// `offset`: an integer.
    pub offset: i64,
    /// `value`: bytes.
    pub value: &'a [u8],
}

impl<'a> Setrange<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "setrange");
        let key = words.word()?;
        let offset = words.word()?;
        let offset = integer(offset).ok_or(CommandError::NotInteger)?;
        let value = words.word()?;
        Ok(Setrange { key, offset, value })
    }
}

/// SHUTDOWN: Ends the server process.
#[derive(Debug, Clone, Copy)]
pub struct Shutdown {
    /// What the words from here on say.
    pub options: ShutdownOptions,
}

impl Shutdown {
    fn parse(args: Args<'_>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "shutdown");
        let options = ShutdownOptions::parse(words.rest())?;
        Ok(Shutdown { options })
    }
}

/// SINTER: Lists the members that all given sets share.
#[derive(Debug, Clone, Copy)]
pub struct Sinter<'a> {
    /// `key`: a key, several.
    pub keys: Args<'a>,
}

impl<'a> Sinter<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "sinter");
        let keys = words.rest();
        Ok(Sinter { keys })
    }
}

/// SINTERCARD: Counts the members that all given sets share.
#[derive(Debug, Clone, Copy)]
pub struct Sintercard<'a> {
    /// `key`: a key, several.
    pub keys: Args<'a>,
    /// `LIMIT`: an integer.
    pub limit: Option<i64>,
}

impl<'a> Sintercard<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "sintercard");
        let keys = words.counted()?;
        let mut limit = None;
        while let Some(word) = words.next() {
            let is = |token: &[u8]| word.eq_ignore_ascii_case(token);
            if is(b"LIMIT") {
                limit = Some(bounded(words.value()?, 0, i64::MAX).map_err(|_| CommandError::LimitNegative)?);
            } else {
                return Err(CommandError::Syntax);
            }
        }
        Ok(Sintercard { keys, limit })
    }
}

/// SINTERSTORE: Stores the members that all given sets share.
#[derive(Debug, Clone, Copy)]
pub struct Sinterstore<'a> {
    /// `destination`: a key.
    pub destination: &'a [u8],
    /// `key`: a key, several.
    pub keys: Args<'a>,
}

impl<'a> Sinterstore<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "sinterstore");
        let destination = words.word()?;
        let keys = words.rest();
        Ok(Sinterstore { destination, keys })
    }
}

/// SISMEMBER: Asks whether a set holds a member.
#[derive(Debug, Clone, Copy)]
pub struct Sismember<'a> {
    /// `key`: a key.
    pub key: &'a [u8],
    /// `member`: bytes.
    pub member: &'a [u8],
}

impl<'a> Sismember<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "sismember");
        let key = words.word()?;
        let member = words.word()?;
        Ok(Sismember { key, member })
    }
}

/// SLOWLOG GET: Tells the latest slow executions, newest first.
#[derive(Debug, Clone, Copy)]
pub struct SlowlogGet {
    /// `count`: an integer.
    pub count: Option<i64>,
}

impl SlowlogGet {
    fn parse(args: Args<'_>) -> Result<Self, CommandError> {
        if args.len() > 3 {
            return Err(CommandError::bad_subcommand("SLOWLOG", args.get(1).unwrap_or_default()));
        }
        let mut words = Words::new(args, 2, "slowlog|get");
        let count = words.next();
        let count = match count {
            Some(word) => Some(bounded(word, -1, i64::MAX).map_err(|_| CommandError::SlowLogCount)?),
            None => None,
        };
        Ok(SlowlogGet { count })
    }
}

/// SMEMBERS: Lists all members of a set.
#[derive(Debug, Clone, Copy)]
pub struct Smembers<'a> {
    /// `key`: a key.
    pub key: &'a [u8],
}

impl<'a> Smembers<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "smembers");
        let key = words.word()?;
        Ok(Smembers { key })
    }
}

/// SMISMEMBER: Asks for each given member whether a set holds it.
#[derive(Debug, Clone, Copy)]
pub struct Smismember<'a> {
    /// `key`: a key.
    pub key: &'a [u8],
    /// `member`: bytes, several.
    pub members: Args<'a>,
}

impl<'a> Smismember<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "smismember");
        let key = words.word()?;
        let members = words.rest();
        Ok(Smismember { key, members })
    }
}

/// SMOVE: Moves a member from one set to another.
#[derive(Debug, Clone, Copy)]
pub struct Smove<'a> {
    /// `source`: a key.
    pub source: &'a [u8],
    /// `destination`: a key.
    pub destination: &'a [u8],
    /// `member`: bytes.
    pub member: &'a [u8],
}

impl<'a> Smove<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "smove");
        let source = words.word()?;
        let destination = words.word()?;
        let member = words.word()?;
        Ok(Smove { source, destination, member })
    }
}

/// SPOP: Removes and answers random members of a set.
#[derive(Debug, Clone, Copy)]
pub struct Spop<'a> {
    /// `key`: a key.
    pub key: &'a [u8],
    /// `count`: an integer.
    pub count: Option<i64>,
}

impl<'a> Spop<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        if args.len() > 3 {
            return Err(CommandError::Syntax);
        }
        let mut words = Words::new(args, 1, "spop");
        let key = words.word()?;
        let count = words.next();
        let count = match count {
            Some(word) => Some(bounded(word, 0, i64::MAX).map_err(|_| CommandError::NotPositive)?),
            None => None,
        };
        Ok(Spop { key, count })
    }
}

/// SPUBLISH: Sends a message to a sharded channel.
#[derive(Debug, Clone, Copy)]
pub struct Spublish<'a> {
    /// `shardchannel`: bytes.
    pub shardchannel: &'a [u8],
    /// `message`: bytes.
    pub message: &'a [u8],
}

impl<'a> Spublish<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "spublish");
        let shardchannel = words.word()?;
        let message = words.word()?;
        Ok(Spublish { shardchannel, message })
    }
}

/// SRANDMEMBER: Answers random members of a set, which keeps them.
#[derive(Debug, Clone, Copy)]
pub struct Srandmember<'a> {
    /// `key`: a key.
    pub key: &'a [u8],
    /// `count`: an integer.
    pub count: Option<i64>,
}

impl<'a> Srandmember<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        if args.len() > 3 {
            return Err(CommandError::Syntax);
        }
        let mut words = Words::new(args, 1, "srandmember");
        let key = words.word()?;
        let count = words.next();
        let count = match count {
            Some(word) => Some(bounded(word, -9223372036854775807, i64::MAX)?),
            None => None,
        };
        Ok(Srandmember { key, count })
    }
}

/// SREM: Removes members from a set.
#[derive(Debug, Clone, Copy)]
pub struct Srem<'a> {
    /// `key`: a key.
    pub key: &'a [u8],
    /// `member`: bytes, several.
    pub members: Args<'a>,
}

impl<'a> Srem<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "srem");
        let key = words.word()?;
        let members = words.rest();
        Ok(Srem { key, members })
    }
}

/// SSCAN: Walks over the members of a set, page by page.
#[derive(Debug, Clone, Copy)]
pub struct Sscan<'a> {
    /// `key`: a key.
    pub key: &'a [u8],
    /// `cursor`: an integer.
    pub cursor: u64,
    /// The words from here on, unread.
    pub options: Args<'a>,
}

impl<'a> Sscan<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "sscan");
        let key = words.word()?;
        let cursor = words.word()?;
        let cursor = super::parse_cursor(cursor).ok_or(CommandError::InvalidCursor)?;
        let options = words.rest();
        Ok(Sscan { key, cursor, options })
    }
}

/// SSUBSCRIBE: Joins sharded channels by name.
#[derive(Debug, Clone, Copy)]
pub struct Ssubscribe<'a> {
    /// `shardchannel`: bytes, several.
    pub shardchannels: Args<'a>,
}

impl<'a> Ssubscribe<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "ssubscribe");
        let shardchannels = words.rest();
        Ok(Ssubscribe { shardchannels })
    }
}

/// STRLEN: Tells how many bytes a string has.
#[derive(Debug, Clone, Copy)]
pub struct Strlen<'a> {
    /// `key`: a key.
    pub key: &'a [u8],
}

impl<'a> Strlen<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "strlen");
        let key = words.word()?;
        Ok(Strlen { key })
    }
}

/// SUBSCRIBE: Joins channels by name.
#[derive(Debug, Clone, Copy)]
pub struct Subscribe<'a> {
    /// `channel`: bytes, several.
    pub channels: Args<'a>,
}

impl<'a> Subscribe<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "subscribe");
        let channels = words.rest();
        Ok(Subscribe { channels })
    }
}

/// SUBSTR: Reads a part of a string; GETRANGE by another name.
#[derive(Debug, Clone, Copy)]
pub struct Substr<'a> {
    /// `key`: a key.
    pub key: &'a [u8],
    /// `start`: an integer.
    pub start: i64,
    /// `end`: an integer.
    pub end: i64,
}

impl<'a> Substr<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "substr");
        let key = words.word()?;
        let start = words.word()?;
        let start = integer(start).ok_or(CommandError::NotInteger)?;
        let end = words.word()?;
        let end = integer(end).ok_or(CommandError::NotInteger)?;
        Ok(Substr { key, start, end })
    }
}

/// SUNION: Lists the members of all given sets together.
#[derive(Debug, Clone, Copy)]
pub struct Sunion<'a> {
    /// `key`: a key, several.
    pub keys: Args<'a>,
}

impl<'a> Sunion<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "sunion");
        let keys = words.rest();
        Ok(Sunion { keys })
    }
}

/// SUNIONSTORE: Stores the members of all given sets together.
#[derive(Debug, Clone, Copy)]
pub struct Sunionstore<'a> {
    /// `destination`: a key.
    pub destination: &'a [u8],
    /// `key`: a key, several.
    pub keys: Args<'a>,
}

impl<'a> Sunionstore<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "sunionstore");
        let destination = words.word()?;
        let keys = words.rest();
        Ok(Sunionstore { destination, keys })
    }
}

/// SUNSUBSCRIBE: Leaves sharded channels, or all of them.
#[derive(Debug, Clone, Copy)]
pub struct Sunsubscribe<'a> {
    /// `shardchannel`: bytes, several.
    pub shardchannels: Args<'a>,
}

impl<'a> Sunsubscribe<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "sunsubscribe");
        let shardchannels = words.rest();
        Ok(Sunsubscribe { shardchannels })
    }
}

/// SWAPDB: Exchanges the keys of two databases.
#[derive(Debug, Clone, Copy)]
pub struct Swapdb {
    /// `index1`: an integer.
    pub index1: i64,
    /// `index2`: an integer.
    pub index2: i64,
}

impl Swapdb {
    fn parse(args: Args<'_>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "swapdb");
        let index1 = words.word()?;
        let index1 = bounded(index1, -2147483648, 2147483647).map_err(|_| CommandError::InvalidFirstDb)?;
        let index2 = words.word()?;
        let index2 = bounded(index2, -2147483648, 2147483647).map_err(|_| CommandError::InvalidSecondDb)?;
        Ok(Swapdb { index1, index2 })
    }
}

/// TOUCH: Counts existing keys and marks them as used.
#[derive(Debug, Clone, Copy)]
pub struct Touch<'a> {
    /// `key`: a key, several.
    pub keys: Args<'a>,
}

impl<'a> Touch<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "touch");
        let keys = words.rest();
        Ok(Touch { keys })
    }
}

/// TTL: Tells how many seconds a key has to live.
#[derive(Debug, Clone, Copy)]
pub struct Ttl<'a> {
    /// `key`: a key.
    pub key: &'a [u8],
}

impl<'a> Ttl<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "ttl");
        let key = words.word()?;
        Ok(Ttl { key })
    }
}

/// TYPE: Tells which type of value a key holds.
#[derive(Debug, Clone, Copy)]
pub struct Type<'a> {
    /// `key`: a key.
    pub key: &'a [u8],
}

impl<'a> Type<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "type");
        let key = words.word()?;
        Ok(Type { key })
    }
}

/// UNLINK: Deletes keys and frees their memory later.
#[derive(Debug, Clone, Copy)]
pub struct Unlink<'a> {
    /// `key`: a key, several.
    pub keys: Args<'a>,
}

impl<'a> Unlink<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "unlink");
        let keys = words.rest();
        Ok(Unlink { keys })
    }
}

/// UNSUBSCRIBE: Leaves channels, or all channels.
#[derive(Debug, Clone, Copy)]
pub struct Unsubscribe<'a> {
    /// `channel`: bytes, several.
    pub channels: Args<'a>,
}

impl<'a> Unsubscribe<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "unsubscribe");
        let channels = words.rest();
        Ok(Unsubscribe { channels })
    }
}

/// WATCH: Makes the next EXEC depend on unchanged keys.
#[derive(Debug, Clone, Copy)]
pub struct Watch<'a> {
    /// `key`: a key, several.
    pub keys: Args<'a>,
}

impl<'a> Watch<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut words = Words::new(args, 1, "watch");
        let keys = words.rest();
        Ok(Watch { keys })
    }
}
