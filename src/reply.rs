//! What a command answers: typed values, errors worded once, and pushes.
//!
//! Invariant: a value here knows no wire form. `protocol/` renders each kind exactly once for RESP2, RESP3 and
//! (with the rings) SBE; a handler in `engine/` never sees an output buffer or a protocol version.
//! Invariant: every error text of the program that a client can receive is worded in this file.
//! Deliberately unknown here: commands, keys, sessions.

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;

mod frame;
mod push;
mod ring;
mod setting;

pub use frame::FrameFault;
pub use push::{Confirmation, ConfirmationKind, JoinedAt, Push, PushKind};
pub use ring::RingRefusal;
pub use setting::{Absent, SettingFault};

/// The answer to one command, possibly borrowing from the engine that gave it.
///
/// Encode it before the engine is used again; large strings are [`Text::Shared`] and outlive the borrow.
#[derive(Debug)]
pub enum Reply<'e> {
    /// Absence of a single value: `$-1` in RESP2, `_` in RESP3.
    Nil,
    /// Absence of an aggregate: `*-1` in RESP2, `_` in RESP3.
    NilArray,
    /// Nothing is sent at all.
    Silent,
    /// A short line such as `OK`, without CR or LF.
    Status(Cow<'static, str>),
    /// A signed 64-bit integer.
    Integer(i64),
    /// A number: a bulk string in RESP2, `,` in RESP3.
    Double(f64),
    /// Truth: `:0`/`:1` in RESP2, `#f`/`#t` in RESP3.
    Boolean(bool),
    /// One byte string.
    Bulk(Text<'e>),
    /// Text for people (INFO, CLIENT LIST): a bulk string in RESP2, `=txt:` in RESP3.
    Verbatim(String),
    /// An ordered list.
    Array(Vec<Reply<'e>>),
    /// An unordered collection without duplicates: `~` in RESP3, a list in RESP2.
    Set(Vec<Reply<'e>>),
    /// Key-value pairs: `%` in RESP3, a flat list in RESP2.
    Map(Vec<(Reply<'e>, Reply<'e>)>),
    /// A collection encoded straight out of the structure that holds it.
    Members(Collection, Box<dyn Members + 'e>),
    /// A collection too long to be told at once, as it was when the command ran. Its pieces may be told between the
    /// turns of others.
    Stream(Collection, Box<dyn Pieces>),
    /// One page of an iteration.
    Page {
        /// Where to continue; 0 at the end.
        cursor: u64,
        /// What the page holds.
        items: Vec<Text<'e>>,
    },
    /// Answers to SUBSCRIBE and its relatives, one frame each, `*3` in RESP2 and `>3` in RESP3.
    Confirmations(Vec<Confirmation>),
    /// EXEC: the session now runs this many queued commands and encodes each reply inside the array.
    Exec(usize),
    /// Not answered yet: the session goes on with [`crate::engine::Engine::go_on`] until it is, before anything else.
    Pending,
    /// The request was refused.
    Error(CommandError),
}

impl<'e> Reply<'e> {
    /// `+OK`.
    pub const OK: Reply<'static> = Reply::Status(Cow::Borrowed("OK"));

    /// A bulk string that borrows its bytes.
    pub fn bulk(bytes: &'e [u8]) -> Self {
        Reply::Bulk(Text::Borrowed(bytes))
    }

    /// A bulk string that owns its bytes.
    pub fn owned(bytes: impl Into<Vec<u8>>) -> Self {
        Reply::Bulk(Text::Owned(bytes.into()))
    }

    /// A status line known at compile time.
    pub const fn status(line: &'static str) -> Self {
        Reply::Status(Cow::Borrowed(line))
    }

    /// 1 for true, 0 for false: how Redis answers most yes-no questions.
    pub const fn flag(yes: bool) -> Self {
        Reply::Integer(yes as i64)
    }

    /// A count as an integer reply.
    pub const fn count(n: usize) -> Self {
        Reply::Integer(n as i64)
    }
}

impl Reply<'_> {
    /// The stream it is.
    ///
    /// # Errors
    /// The reply itself when it is none.
    pub fn into_stream(self) -> Result<(Collection, Box<dyn Pieces>), Self> {
        match self {
            Reply::Stream(collection, pieces) => Ok((collection, pieces)),
            other => Err(other),
        }
    }
}

impl From<CommandError> for Reply<'_> {
    fn from(error: CommandError) -> Self {
        Reply::Error(error)
    }
}

/// A byte string in a reply.
#[derive(Debug, Clone)]
pub enum Text<'e> {
    /// Bytes inside the engine.
    Borrowed(&'e [u8]),
    /// Bytes made for this reply.
    Owned(Vec<u8>),
    /// A large value by handle; it is written to the socket from where it lies.
    Shared(Bytes),
}

impl Text<'_> {
    /// The bytes themselves.
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Text::Borrowed(bytes) => bytes,
            Text::Owned(bytes) => bytes,
            Text::Shared(bytes) => bytes,
        }
    }
}

/// Which aggregate a [`Reply::Members`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Collection {
    /// Ordered.
    Array,
    /// Unordered, no duplicates.
    Set,
    /// One page of an iteration, and the cursor to go on with, 0 at the end.
    Page(u64),
}

/// A collection that lies in pieces and does not change any more.
pub trait Pieces: fmt::Debug {
    /// How many pieces there are, each a few hundred strings at most.
    fn pieces(&self) -> usize;

    /// How many strings a piece holds. May cost as much as visiting them.
    fn len(&self, piece: usize) -> usize;

    /// Visits every string of a piece once.
    fn each(&self, piece: usize, visit: &mut dyn FnMut(&[u8]));
}

/// A collection that hands its byte strings to a visitor, so that none of them is copied first.
pub trait Members: fmt::Debug {
    /// How many strings [`Members::each`] will visit.
    fn len(&self) -> usize;

    /// True when there is nothing to visit.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Visits every string once, in the order they are answered.
    fn each(&self, visit: &mut dyn FnMut(&[u8]));
}

/// A request that was understood as far as its framing, and refused. The connection lives on.
///
/// Rendered as `CODE text`; texts are those of Redis 8.2.3, on which clients match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandError {
    /// The key holds another type.
    WrongType,
    /// An option is unknown, repeated against the rules, or lacks its value.
    Syntax,
    /// Not a decimal 64-bit integer in canonical form.
    NotInteger,
    /// A load of GOBLIN.OPTIMIZE that is none.
    Density,
    /// Not a finite decimal number.
    NotFloat,
    /// A count outside what the command takes.
    OutOfRange,
    /// A count that may not be negative.
    NotPositive,
    /// An expiry of zero, in the past where that is refused, or past the end of time; holds the command's name.
    InvalidExpire(&'static str),
    /// Too few or too many arguments; holds the command's full name, as `client|kill`.
    WrongArity(&'static str),
    /// No such command; holds the name and the arguments as received.
    UnknownCommand(Box<Unknown>),
    /// No such subcommand; holds the container's name in capitals and the word received.
    UnknownSubcommand(&'static str, Box<[u8]>),
    /// The addition would leave the 64-bit range.
    Overflow,
    /// DECRBY of the least 64-bit integer.
    DecrementOverflow,
    /// INCRBYFLOAT past the largest number, or of an infinite one.
    FloatOverflow,
    /// A string would become longer than `proto-max-bulk-len`.
    StringTooLong,
    /// An offset below zero.
    OffsetOutOfRange,
    /// A bit's position is no number, below zero, or past the longest string.
    BitOffset,
    /// A bit's new value is neither 0 nor 1.
    BitValue,
    /// BITPOS for something that is neither 0 nor 1.
    BitArgument,
    /// BITOP with a number of sources that its operation, held here, does not take.
    BitopSources(&'static str),
    /// BITFIELD with an integer type that does not exist.
    FieldKind,
    /// BITFIELD with an unknown word after OVERFLOW.
    FieldOverflow,
    /// BITFIELD_RO with an operation that writes.
    FieldReadOnly,
    /// LCS of keys that hold other types.
    LcsTypes,
    /// LCS with two options that exclude each other.
    LcsLenAndIdx,
    /// LCS of strings that would take too much memory.
    LcsMemory,
    /// A cursor that is not an unsigned 64-bit decimal.
    InvalidCursor,
    /// `numkeys` is not a positive integer.
    NumkeysNotPositive,
    /// `numkeys` promises more keys than arguments follow.
    NumkeysTooLarge,
    /// LIMIT below zero or not a number.
    LimitNegative,
    /// The command needs authentication first.
    NoAuth,
    /// User or password do not match.
    WrongPass,
    /// AUTH with one argument while no password is set.
    AuthWithoutPassword,
    /// HELLO with a version other than 2 or 3.
    UnsupportedProtocol,
    /// HELLO with a version that is no number.
    ProtocolNotInteger,
    /// HELLO before authentication, without AUTH.
    HelloNoAuth,
    /// An unknown or incomplete HELLO option; holds the word.
    HelloOption(Box<[u8]>),
    /// A connection name with spaces or control characters.
    ClientName,
    /// EXEC after an error while queueing.
    ExecAborted,
    /// MULTI inside MULTI.
    NestedMulti,
    /// EXEC outside MULTI.
    ExecWithoutMulti,
    /// DISCARD outside MULTI.
    DiscardWithoutMulti,
    /// WATCH inside MULTI.
    WatchInMulti,
    /// A command that cannot be queued.
    NotInTransaction,
    /// A command that RESP2 subscribers may not send; holds its full name.
    SubscribedMode(&'static str),
    /// SELECT past the last database.
    DbOutOfRange,
    /// A database index that is no number.
    InvalidDb,
    /// The first database of SWAPDB is no number.
    InvalidFirstDb,
    /// The second database of SWAPDB is no number.
    InvalidSecondDb,
    /// The key must exist.
    NoSuchKey,
    /// An integer outside what the command takes, whose error names the bounds, both allowed.
    OutOfBounds(i64, i64),
    /// A short request for a reply so long that it would hold up everybody: about how long, and the most allowed.
    ReplyTooLarge {
        /// What the reply would take.
        bytes: u64,
        /// What it may.
        bytes_max: u64,
    },
    /// Unknown subcommand or wrong number of arguments, in one sentence; holds the container's name in capitals and
    /// the word received.
    BadSubcommand(Box<(&'static str, Vec<u8>)>),
    /// A frame of the binary protocol that holds no request.
    Frame(FrameFault),
    /// More entries than one reply of the binary protocol can hold.
    TooManyEntries,
    /// COPY or MOVE of a key onto itself.
    SameObject,
    /// OBJECT FREQ without a policy that counts.
    FrequencyNotTracked,
    /// OBJECT IDLETIME under a policy that counts instead.
    IdleTimeNotTracked,
    /// The memory limit is reached and nothing may be evicted.
    OutOfMemory,
    /// EXEC refused before it began, for the reason inside; the transaction is gone.
    ExecRefused(Box<CommandError>),
    /// An unknown word after EXPIRE and its relatives.
    UnsupportedOption(Box<[u8]>),
    /// NX beside another condition of EXPIRE.
    ExpireNxConflict,
    /// GT beside LT.
    ExpireGtLtConflict,
    /// NOVALUES where there are no values.
    NoValues,
    /// A connection type that does not exist.
    UnknownClientType(Box<[u8]>),
    /// CLIENT LIST ID with something that is no id.
    InvalidClientId,
    /// CLIENT KILL ID with something that is no id.
    ClientIdNotPositive,
    /// CLIENT KILL USER with a user that does not exist.
    NoSuchUser(Box<[u8]>),
    /// CLIENT KILL with an address nobody has.
    NoSuchClient,
    /// CLIENT KILL MAXAGE with no number.
    MaxAgeNotInteger,
    /// CLIENT KILL MAXAGE below 1.
    MaxAgeNotPositive,
    /// CLIENT SETINFO with an unknown attribute.
    UnrecognizedOption(Box<[u8]>),
    /// CLIENT SETINFO with a value that has spaces or control characters; holds the attribute as written.
    ClientAttribute(Box<[u8]>),
    /// CLIENT PAUSE with a mode that does not exist.
    PauseMode,
    /// CLIENT PAUSE with a time that is no number.
    TimeoutNotInteger,
    /// CLIENT PAUSE with a negative time.
    TimeoutNegative,
    /// CLIENT PAUSE past the end of time.
    TimeoutOutOfRange,
    /// FUNCTION FLUSH with a word that is no mode.
    FunctionFlushMode,
    /// FUNCTION LIST with an unknown or repeated word.
    UnknownArgument(Box<[u8]>),
    /// FUNCTION LIST LIBRARYNAME without the name.
    LibraryNameMissing,
    /// SHUTDOWN ABORT while nothing is shutting down.
    NoShutdown,
    /// COMMAND GETKEYS about a command that does not exist.
    InvalidCommand,
    /// COMMAND GETKEYS about a command without keys.
    NoKeyArguments,
    /// COMMAND GETKEYS about a command line of a wrong length.
    InvalidCommandArity,
    /// COMMAND GETKEYS about a command line whose keys cannot be told.
    InvalidCommandArguments,
    /// Something Redis has and goblin does not; holds what.
    NotOffered(&'static str),
    /// DEBUG while it is not enabled for the caller.
    DebugDisabled,
    /// No session is left for one more connection.
    TooManyClients,
    /// A connection from another machine while no password protects the server.
    ProtectedMode,
    /// CONFIG SET of a name that no setting has; holds the name as received.
    UnknownSetting(Box<[u8]>),
    /// SLOWLOG GET with a count below -1 or no number.
    SlowLogCount,
    /// LATENCY GRAPH about an event that was never slow.
    NoSamples(Box<[u8]>),
    /// CLIENT UNBLOCK with an unknown reason.
    UnblockReason,
    /// CLIENT CACHING without tracking.
    CachingWithoutTracking,
    /// CLIENT TRACKING REDIRECT to nobody.
    RedirectToNobody,
    /// CLIENT TRACKING with two redirections.
    RedirectTwice,
    /// MONITOR from a transaction.
    MonitorInMulti,
    /// A command about keys or messages from a connection that watches commands.
    MonitorMayOnlyWatch,
    /// CONFIG REWRITE of a server that was started without a file.
    NoConfigFile,
    /// CONFIG REWRITE that failed, and why.
    ConfigNotWritten(Box<str>),
    /// CLIENT GOBLIN-POLICY with a number of bytes that is none.
    PolicyBytes,
    /// CLIENT GOBLIN-POLICY NOTICE in RESP2.
    PolicyNotice,
    /// GOBLIN.RING that makes no ring.
    Ring(RingRefusal),
    /// A setting refused; the sentence says which and why. Made by [`CommandError::setting`].
    Setting(Box<str>),
}

/// An unknown command as it was received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unknown {
    /// The first word.
    pub name: Vec<u8>,
    /// The words after it.
    pub args: Vec<Vec<u8>>,
}

impl CommandError {
    /// [`CommandError::BadSubcommand`] about a word as it was received.
    pub fn bad_subcommand(container: &'static str, word: &[u8]) -> Self {
        CommandError::BadSubcommand(Box::new((container, word.to_vec())))
    }

    /// The upper-case word that comes first and that clients switch on.
    pub fn code(&self) -> &'static str {
        match self {
            CommandError::WrongType => "WRONGTYPE",
            CommandError::NoAuth | CommandError::HelloNoAuth => "NOAUTH",
            CommandError::WrongPass => "WRONGPASS",
            CommandError::UnsupportedProtocol => "NOPROTO",
            CommandError::ExecAborted | CommandError::ExecRefused(_) => "EXECABORT",
            CommandError::ProtectedMode => "DENIED",
            CommandError::OutOfMemory => "OOM",
            _ => "ERR",
        }
    }

    /// The sentence after the code. Bytes, for it may quote what the client sent; it may hold CR or LF, which the
    /// encoder of a line protocol must replace.
    pub fn text(&self) -> Cow<'_, [u8]> {
        let text = match self {
            CommandError::WrongType => "Operation against a key holding the wrong kind of value",
            CommandError::Syntax => "syntax error",
            CommandError::SameObject => "source and destination objects are the same",
            CommandError::FrequencyNotTracked => {
                "An LFU maxmemory policy is not selected, access frequency not tracked. Please note that when switching \
                 between policies at runtime LRU and LFU data will take some time to adjust."
            }
            CommandError::IdleTimeNotTracked => {
                "An LFU maxmemory policy is selected, idle time not tracked. Please note that when switching between \
                 policies at runtime LRU and LFU data will take some time to adjust."
            }
            CommandError::OutOfMemory => "command not allowed when used memory > 'maxmemory'.",
            CommandError::Density => "packing density must be in (0, 1]",
            CommandError::NotInteger => "value is not an integer or out of range",
            CommandError::NotFloat => "value is not a valid float",
            CommandError::OutOfRange => "value is out of range",
            CommandError::NotPositive => "value is out of range, must be positive",
            CommandError::Overflow => "increment or decrement would overflow",
            CommandError::DecrementOverflow => "decrement would overflow",
            CommandError::FloatOverflow => "increment would produce NaN or Infinity",
            CommandError::StringTooLong => "string exceeds maximum allowed size (proto-max-bulk-len)",
            CommandError::OffsetOutOfRange => "offset is out of range",
            CommandError::BitOffset => "bit offset is not an integer or out of range",
            CommandError::BitValue => "bit is not an integer or out of range",
            CommandError::BitArgument => "The bit argument must be 1 or 0.",
            CommandError::BitopSources("NOT") => "BITOP NOT must be called with a single source key.",
            CommandError::BitopSources(operation) => {
                let text = format!("BITOP {operation} must be called with at least two source keys.");
                return text.into_bytes().into();
            }
            CommandError::FieldKind => {
                "Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 is."
            }
            CommandError::FieldOverflow => "Invalid OVERFLOW type specified",
            CommandError::FieldReadOnly => "BITFIELD_RO only supports the GET subcommand",
            CommandError::LcsTypes => "The specified keys must contain string values",
            CommandError::LcsLenAndIdx => "If you want both the length and indexes, please just use IDX.",
            CommandError::LcsMemory => "Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len",
            CommandError::InvalidCursor => "invalid cursor",
            CommandError::NumkeysNotPositive => "numkeys should be greater than 0",
            CommandError::NumkeysTooLarge => "Number of keys can't be greater than number of args",
            CommandError::LimitNegative => "LIMIT can't be negative",
            CommandError::NoAuth => "Authentication required.",
            CommandError::WrongPass => "invalid username-password pair or user is disabled.",
            CommandError::AuthWithoutPassword => {
                "AUTH <password> called without any password configured for the default user. Are you sure your \
                 configuration is correct?"
            }
            CommandError::UnsupportedProtocol => "unsupported protocol version",
            CommandError::ProtocolNotInteger => "Protocol version is not an integer or out of range",
            CommandError::HelloNoAuth => {
                "HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> \
                 <pass> option can be used to authenticate the client and select the RESP protocol version at the \
                 same time"
            }
            CommandError::ClientName => "Client names cannot contain spaces, newlines or special characters.",
            CommandError::ExecAborted => "Transaction discarded because of previous errors.",
            CommandError::NestedMulti => "MULTI calls can not be nested",
            CommandError::ExecWithoutMulti => "EXEC without MULTI",
            CommandError::DiscardWithoutMulti => "DISCARD without MULTI",
            CommandError::WatchInMulti => "WATCH inside MULTI is not allowed",
            CommandError::NotInTransaction => "Command not allowed inside a transaction",
            CommandError::DbOutOfRange => "DB index is out of range",
            CommandError::InvalidDb => "invalid DB index",
            CommandError::InvalidFirstDb => "invalid first DB index",
            CommandError::InvalidSecondDb => "invalid second DB index",
            CommandError::NoSuchKey => "no such key",
            CommandError::ExpireNxConflict => "NX and XX, GT or LT options at the same time are not compatible",
            CommandError::ExpireGtLtConflict => "GT and LT options at the same time are not compatible",
            CommandError::NoValues => "NOVALUES option can only be used in HSCAN",
            CommandError::InvalidClientId => "Invalid client ID",
            CommandError::ClientIdNotPositive => "client-id should be greater than 0",
            CommandError::NoSuchClient => "No such client",
            CommandError::MaxAgeNotInteger => "maxage is not an integer or out of range",
            CommandError::MaxAgeNotPositive => "maxage should be greater than 0",
            CommandError::PauseMode => "CLIENT PAUSE mode must be WRITE or ALL",
            CommandError::TimeoutNotInteger => "timeout is not an integer or out of range",
            CommandError::TimeoutNegative => "timeout is negative",
            CommandError::TimeoutOutOfRange => "timeout is out of range",
            CommandError::FunctionFlushMode => "FUNCTION FLUSH only supports SYNC|ASYNC option",
            CommandError::LibraryNameMissing => "library name argument was not given",
            CommandError::NoShutdown => "No shutdown in progress.",
            CommandError::InvalidCommand => "Invalid command specified",
            CommandError::NoKeyArguments => "The command has no key arguments",
            CommandError::InvalidCommandArity => "Invalid number of arguments specified for command",
            CommandError::InvalidCommandArguments => "Invalid arguments specified for command",
            CommandError::SlowLogCount => "count should be greater than or equal to -1",
            CommandError::UnblockReason => "CLIENT UNBLOCK reason should be TIMEOUT or ERROR",
            CommandError::CachingWithoutTracking => {
                "CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or OPTOUT mode enabled"
            }
            CommandError::RedirectToNobody => "The client ID you want redirect to does not exist",
            CommandError::RedirectTwice => "A client can only redirect to a single other client",
            CommandError::MonitorInMulti => "MONITOR isn't allowed for DENY BLOCKING client",
            CommandError::MonitorMayOnlyWatch => "Replica can't interact with the keyspace",
            CommandError::NoConfigFile => "The server is running without a config file",
            CommandError::ConfigNotWritten(why) => return format!("Rewriting config file: {why}").into_bytes().into(),
            CommandError::NoSamples(event) => {
                return [b"No samples available for event '", printed(event, usize::MAX), b"'"].concat().into();
            }
            CommandError::DebugDisabled => {
                "DEBUG command not allowed. If the enable-debug-command option is set to \"local\", you can run it from a \
                 local connection, otherwise you need to set this option in the configuration file, and then restart \
                 the server."
            }
            CommandError::TooManyClients => "max number of clients reached",
            CommandError::ProtectedMode => {
                "goblin is in protected mode: without a password it serves this machine only. Set requirepass, or turn \
                 protected-mode off."
            }
            CommandError::NotOffered(what) => return format!("goblin does not offer {what}").into_bytes().into(),
            CommandError::Setting(sentence) => sentence,
            CommandError::PolicyBytes => "BYTES should be a number greater than 0",
            CommandError::PolicyNotice => "NOTICE needs RESP3 or SBE",
            CommandError::Ring(refusal) => return refusal.to_string().into_bytes().into(),
            CommandError::InvalidExpire(name) => {
                return format!("invalid expire time in '{name}' command").into_bytes().into();
            }
            CommandError::WrongArity(name) => {
                return format!("wrong number of arguments for '{name}' command").into_bytes().into();
            }
            CommandError::SubscribedMode(name) => {
                return format!(
                    "Can't execute '{name}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed \
                     in this context"
                )
                .into_bytes()
                .into();
            }
            CommandError::UnknownCommand(unknown) => return unknown.sentence().into(),
            CommandError::UnknownSubcommand(container, word) => {
                let word = printed(word, 128);
                return [b"unknown subcommand '", word, b"'. Try ", container.as_bytes(), b" HELP."].concat().into();
            }
            CommandError::BadSubcommand(request) => {
                let (container, word) = &**request;
                let word = printed(word, 128);
                let start = b"unknown subcommand or wrong number of arguments for '";
                return [&start[..], word, b"'. Try ", container.as_bytes(), b" HELP."].concat().into();
            }
            CommandError::Frame(fault) => return fault.text(),
            CommandError::TooManyEntries => "result too large for one SBE array reply",
            CommandError::ReplyTooLarge { bytes, bytes_max } => {
                return format!("the reply would take about {bytes} bytes, more than the {bytes_max} allowed")
                    .into_bytes()
                    .into();
            }
            CommandError::OutOfBounds(minimum, maximum) => {
                let text = format!("value is out of range, value must between {minimum} and {maximum}");
                return text.into_bytes().into();
            }
            CommandError::ExecRefused(reason) => {
                let code = if reason.code() == "ERR" { String::new() } else { format!("{} ", reason.code()) };
                return [b"Transaction discarded because of: ", code.as_bytes(), &*reason.text()].concat().into();
            }
            CommandError::UnsupportedOption(word) => {
                return [b"Unsupported option ", printed(word, usize::MAX)].concat().into();
            }
            CommandError::UnknownClientType(word) => {
                return [b"Unknown client type '", printed(word, usize::MAX), b"'"].concat().into();
            }
            CommandError::NoSuchUser(word) => {
                return [b"No such user '", printed(word, usize::MAX), b"'"].concat().into();
            }
            CommandError::UnrecognizedOption(word) => {
                return [b"Unrecognized option '", printed(word, usize::MAX), b"'"].concat().into();
            }
            CommandError::UnknownArgument(word) => {
                return [b"Unknown argument ", printed(word, usize::MAX)].concat().into();
            }
            CommandError::ClientAttribute(name) => {
                return [printed(name, usize::MAX), &b" cannot contain spaces, newlines or special characters."[..]]
                    .concat()
                    .into();
            }
            CommandError::HelloOption(word) => {
                return [b"Syntax error in HELLO option '", printed(word, usize::MAX), b"'"].concat().into();
            }
            CommandError::UnknownSetting(name) => {
                let sentence = b"Unknown option or number of arguments for CONFIG SET - '";
                return [&sentence[..], printed(name, usize::MAX), b"'"].concat().into();
            }
        };
        Cow::Borrowed(text.as_bytes())
    }
}

/// A word as an error quotes it: at most `len_max` bytes, and like C's strings only up to the first zero byte.
fn printed(word: &[u8], len_max: usize) -> &[u8] {
    let len = word.iter().take(len_max).take_while(|byte| **byte != 0).count();
    &word[..len]
}

impl Unknown {
    /// Redis quotes at most 128 bytes of the name and stops quoting arguments after 128 bytes.
    fn sentence(&self) -> Vec<u8> {
        let mut sentence = b"unknown command '".to_vec();
        sentence.extend_from_slice(printed(&self.name, 128));
        sentence.extend_from_slice(b"', with args beginning with: ");
        let mut quoted = 0;
        for arg in &self.args {
            if quoted >= 128 {
                break;
            }
            let shown = printed(arg, 128 - quoted);
            sentence.push(b'\'');
            sentence.extend_from_slice(shown);
            sentence.extend_from_slice(b"' ");
            quoted += shown.len() + 3;
        }
        sentence
    }
}

const _: () = assert!(size_of::<Reply<'_>>() <= 48);

/// The peer broke the framing. The session answers [`ProtocolError::text`] if there is one, then closes.
///
/// Texts are those of Redis 8.2.3, rendered as `ERR text`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProtocolError {
    /// The argument count is no number in canonical form, or too large.
    MultibulkLength,
    /// The line with the argument count does not end.
    MultibulkLine,
    /// An argument's length is no number in canonical form, or too large.
    BulkLength,
    /// The line with an argument's length does not end.
    BulkLine,
    /// Something else than `$` where an argument must begin; holds that byte.
    ExpectedBulk(u8),
    /// An inline request does not end.
    InlineLine,
    /// A quote in an inline request is not closed, or goes on after it is closed.
    UnbalancedQuotes,
    /// More arguments than are taken before login.
    UnauthenticatedMultibulk,
    /// A longer argument than is taken before login.
    UnauthenticatedBulk,
    /// A web browser or a cross-protocol attack: the session closes without a word.
    Http,
    /// More bytes than one buffer holds: the session closes without a word.
    RequestBytes,
    /// A frame of the binary protocol announces more bytes than are taken.
    FrameLength {
        /// What it announces.
        bytes: u32,
        /// What is taken.
        bytes_max: u32,
    },
}

impl ProtocolError {
    /// The upper-case word that comes first.
    pub const fn code(self) -> &'static str {
        "ERR"
    }

    /// The sentence after the code; none when the session closes without a word. It may hold CR or LF, which the
    /// encoder of a line protocol must replace.
    pub fn text(self) -> Option<Cow<'static, [u8]>> {
        let text = match self {
            ProtocolError::MultibulkLength => "Protocol error: invalid multibulk length",
            ProtocolError::MultibulkLine => "Protocol error: too big mbulk count string",
            ProtocolError::BulkLength => "Protocol error: invalid bulk length",
            ProtocolError::BulkLine => "Protocol error: too big bulk count string",
            ProtocolError::InlineLine => "Protocol error: too big inline request",
            ProtocolError::UnbalancedQuotes => "Protocol error: unbalanced quotes in request",
            ProtocolError::UnauthenticatedMultibulk => "Protocol error: unauthenticated multibulk length",
            ProtocolError::UnauthenticatedBulk => "Protocol error: unauthenticated bulk length",
            ProtocolError::ExpectedBulk(got) => {
                let mut text = b"Protocol error: expected '$', got '".to_vec();
                text.extend_from_slice(&[got, b'\'']);
                return Some(text.into());
            }
            ProtocolError::FrameLength { bytes, bytes_max } => return Some(frame::too_long(bytes, bytes_max)),
            ProtocolError::Http | ProtocolError::RequestBytes => return None,
        };
        Some(Cow::Borrowed(text.as_bytes()))
    }
}
