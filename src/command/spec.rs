//! The static description of a command.
//!
//! Invariant: everything here is generated from `commands/*.toml` and never changes while the process runs; counters
//! about commands live with whoever counts.

use super::table::SPECS;
use super::words::{CATEGORY_WORDS, FLAG_WORDS, KEY_FLAG_WORDS};

/// A position in [`SPECS`]; not permanent, unlike [`Spec::template`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CommandId(pub u16);

impl CommandId {
    /// The command's description.
    pub fn spec(self) -> &'static Spec {
        &SPECS[usize::from(self.0)]
    }
}

/// One command or subcommand.
#[derive(Debug)]
pub struct Spec {
    /// Its position in [`SPECS`].
    pub id: CommandId,
    /// Full name in lower case: `sadd`, `client|kill`.
    pub name: &'static str,
    /// As people write it: `SADD`, `CLIENT KILL`.
    pub title: &'static str,
    /// The last word of the title: `SADD`, `KILL`.
    pub word: &'static str,
    /// One sentence of at most 60 columns.
    pub summary: &'static str,
    /// What it belongs to.
    pub group: Group,
    /// The first Redis version that had it.
    pub since: &'static str,
    /// Cost, in the O notation.
    pub complexity: &'static str,
    /// Number of words, name included; negative when that is only the least number.
    pub arity: i16,
    /// How it may be called.
    pub flags: Flags,
    /// What an ACL rule may name it by.
    pub categories: Categories,
    /// Hints for clients that route or compare.
    pub tips: &'static [&'static str],
    /// The kinds of reply it may give, beside errors.
    pub replies: &'static [ReplyKind],
    /// Permanent id of the SBE message that carries it.
    pub template: Option<u16>,
    /// The command this is a subcommand of.
    pub container: Option<CommandId>,
    /// Its own subcommands.
    pub subcommands: &'static [CommandId],
    /// Unknown subcommands and wrong numbers of arguments are one error (DEBUG).
    pub lumped_errors: bool,
    /// `deprecated`, `syscmd`.
    pub doc_flags: &'static [&'static str],
    /// The Redis version that advised against it.
    pub deprecated_since: Option<&'static str>,
    /// What to use instead.
    pub replaced_by: Option<&'static str>,
    /// Versions and what they changed.
    pub history: &'static [(&'static str, &'static str)],
    /// Keys as the old fields of COMMAND INFO give them.
    pub legacy_keys: LegacyKeys,
    /// Where its keys are.
    pub keys: &'static [KeySpec],
    /// Its words in order.
    pub arguments: &'static [Argument],
    /// Command lines to try, in order, on an empty database.
    pub examples: &'static [Example],
}

impl Spec {
    /// True when `words` words, name included, are a possible number.
    pub fn takes(&self, words: usize) -> bool {
        let least = usize::from(self.arity.unsigned_abs());
        if self.arity < 0 { words >= least } else { words == least }
    }

    /// True for a command that only holds subcommands, such as CLIENT; COMMAND is one of its own.
    pub fn is_container(&self) -> bool {
        !self.subcommands.is_empty() && self.arity < -1
    }

    /// The command whose counters its calls belong to: DEBUG for all of its subcommands.
    pub fn counted_as(&'static self) -> &'static Spec {
        let container = self.container.map(CommandId::spec);
        container.filter(|container| container.lumped_errors).unwrap_or(self)
    }

    /// How many words name it: 2 for a subcommand.
    pub fn words(&self) -> usize {
        if self.container.is_some() { 2 } else { 1 }
    }
}

/// What a command belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Group {
    /// Strings as bits.
    Bitmap,
    /// Sessions and their state.
    Connection,
    /// Keys of any type.
    Generic,
    /// Channels and patterns.
    Pubsub,
    /// Functions.
    Scripting,
    /// The server itself.
    Server,
    /// Sets.
    Set,
    /// Strings.
    String,
    /// MULTI and what belongs to it.
    Transactions,
}

impl Group {
    /// The word COMMAND DOCS answers.
    pub const fn word(self) -> &'static str {
        match self {
            Group::Bitmap => "bitmap",
            Group::Connection => "connection",
            Group::Generic => "generic",
            Group::Pubsub => "pubsub",
            Group::Scripting => "scripting",
            Group::Server => "server",
            Group::Set => "set",
            Group::String => "string",
            Group::Transactions => "transactions",
        }
    }
}

/// A set of words, one bit each; see the lists in `words.rs`.
macro_rules! word_set {
    ($(#[$doc:meta])* $name:ident, $words:ident, $($(#[$constant_doc:meta])* $constant:ident = $word:literal;)*) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        pub struct $name(pub(super) u32);

        impl $name {
            $($(#[$constant_doc])* pub const $constant: $name = $name(1 << position(&$words, $word));)*

            /// True when every word of `other` is in this set.
            pub const fn contains(self, other: $name) -> bool {
                self.0 & other.0 == other.0
            }

            /// The words of this set, in the order COMMAND INFO shows them.
            pub fn words(self) -> impl Iterator<Item = &'static str> {
                $words.iter().enumerate().filter(move |(bit, _)| self.0 >> bit & 1 == 1).map(|(_, word)| *word)
            }

            /// The set of one word, whatever its case.
            pub fn named(word: &[u8]) -> Option<Self> {
                let bit = $words.iter().position(|known| known.as_bytes().eq_ignore_ascii_case(word))?;
                Some($name(1 << bit))
            }
        }
    };
}

/// Where `word` is in `words`, at compile time; a wrong word does not compile.
const fn position(words: &[&str], word: &str) -> usize {
    let mut index = 0;
    while !same(words[index], word) {
        index += 1;
    }
    index
}

const fn same(left: &str, right: &str) -> bool {
    let (left, right) = (left.as_bytes(), right.as_bytes());
    let mut index = 0;
    while index < left.len() && index < right.len() && left[index] == right[index] {
        index += 1;
    }
    index == left.len() && index == right.len()
}

word_set! {
    /// How a command may be called.
    Flags, FLAG_WORDS,
    /// Changes data.
    WRITE = "write";
    /// Never changes data.
    READONLY = "readonly";
    /// Refused when memory is full.
    DENYOOM = "denyoom";
    /// For whoever runs the server.
    ADMIN = "admin";
    /// About channels.
    PUBSUB = "pubsub";
    /// Not from scripts.
    NOSCRIPT = "noscript";
    /// May hold its caller back.
    BLOCKING = "blocking";
    /// Also while data is loaded.
    LOADING = "loading";
    /// Also on a replica that lost its source.
    STALE = "stale";
    /// Never in the slow log.
    SKIP_SLOWLOG = "skip_slowlog";
    /// Constant or logarithmic time.
    FAST = "fast";
    /// Also before a password was given.
    NO_AUTH = "no_auth";
    /// Not inside MULTI.
    NO_MULTI = "no_multi";
    /// Also while a script runs too long.
    ALLOW_BUSY = "allow_busy";
    /// Its keys may be none.
    NO_MANDATORY_KEYS = "no_mandatory_keys";
    /// Positions of its keys depend on its words.
    MOVABLEKEYS = "movablekeys";
}

word_set! {
    /// ACL categories.
    Categories, CATEGORY_WORDS,
    /// Data may be lost or the server disturbed.
    DANGEROUS = "dangerous";
    /// For whoever runs the server.
    ADMIN = "admin";
}

word_set! {
    /// What a command does with a key.
    KeyFlags, KEY_FLAG_WORDS,
    /// Reads the value, never changes it.
    RO = "RO";
    /// Changes the value, depending on what it was.
    RW = "RW";
    /// Replaces the value, whatever it was.
    OW = "OW";
    /// Removes the key.
    RM = "RM";
    /// Answers, copies or tells something of the value.
    ACCESS = "access";
    /// Changes the value's contents.
    UPDATE = "update";
    /// Only adds to the value.
    INSERT = "insert";
    /// May delete contents of the value.
    DELETE = "delete";
    /// Placed like a key, and none: a sharded channel.
    NOT_KEY = "not_key";
    /// Not all keys are found this way.
    INCOMPLETE = "incomplete";
    /// Other flags depend on options.
    VARIABLE_FLAGS = "variable_flags";
}

/// The kinds of reply a command may give, as [`crate::reply::Reply`] has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplyKind {
    /// Nothing is sent.
    None,
    /// Absence of a value or of an aggregate.
    Nil,
    /// A short line.
    Status,
    /// A signed 64-bit integer.
    Integer,
    /// A number.
    Double,
    /// Truth.
    Boolean,
    /// A byte string.
    Bulk,
    /// Text for people.
    Verbatim,
    /// An ordered list.
    Array,
    /// An unordered collection.
    Set,
    /// Key-value pairs.
    Map,
    /// One page of an iteration.
    Page,
    /// One frame per channel or pattern.
    Confirmations,
    /// The replies of a transaction.
    Exec,
    /// Nothing but errors: a container.
    Error,
}

/// First key, last key and distance, as word positions; all 0 without keys, a negative last counts from the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LegacyKeys {
    /// Position of the first key.
    pub first: i32,
    /// Position of the last key.
    pub last: i32,
    /// From one key to the next.
    pub step: u16,
}

/// A place where keys are.
#[derive(Debug)]
pub struct KeySpec {
    /// What the flags cannot say.
    pub notes: Option<&'static str>,
    /// What the command does with these keys.
    pub flags: KeyFlags,
    /// The word at which the search begins.
    pub begin: u16,
    /// How the keys are found from there.
    pub find: Find,
}

/// How keys are found from the word where the search begins.
#[derive(Debug)]
pub enum Find {
    /// From there to `last` words further, or to the `last`-th word from the end when negative, every `step` words.
    /// A `limit` above 1 takes only that fraction of them.
    Range {
        /// Words from the first key to the last, or the last key's place from the end, -1 being the last word.
        last: i16,
        /// Words from one key to the next.
        step: u16,
        /// 0 and 1 for all.
        limit: u16,
    },
    /// The word `at` words further tells how many keys there are; they start `first` words further.
    Count {
        /// Words from the beginning to the count.
        at: u16,
        /// Words from the beginning to the first key.
        first: u16,
        /// Words from one key to the next.
        step: u16,
    },
}

/// A node of the argument tree.
#[derive(Debug)]
pub struct Argument {
    /// Its name.
    pub name: &'static str,
    /// What is expected.
    pub kind: Kind,
    /// Its name for people.
    pub display: &'static str,
    /// The word before it, or the word itself for [`Kind::PureToken`].
    pub token: Option<&'static str>,
    /// Which of the command's key specs finds it.
    pub key: Option<u8>,
    /// May be left out.
    pub optional: bool,
    /// May be repeated.
    pub multiple: bool,
    /// Its token is repeated too.
    pub multiple_token: bool,
    /// The first version that had it.
    pub since: Option<&'static str>,
    /// The version that advised against it.
    pub deprecated_since: Option<&'static str>,
    /// Parts of a block, branches of a choice.
    pub arguments: &'static [Argument],
}

/// What kind of word an argument is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The name of a key.
    Key,
    /// Any bytes.
    String,
    /// A glob.
    Pattern,
    /// A signed 64-bit integer.
    Integer,
    /// A time since 1970.
    UnixTime,
    /// A number.
    Double,
    /// A fixed word.
    PureToken,
    /// Exactly one of its arguments.
    OneOf,
    /// All its arguments, in order.
    Block,
}

impl Kind {
    /// The word COMMAND DOCS answers.
    pub const fn word(self) -> &'static str {
        match self {
            Kind::Key => "key",
            Kind::String => "string",
            Kind::Pattern => "pattern",
            Kind::Integer => "integer",
            Kind::UnixTime => "unix-time",
            Kind::Double => "double",
            Kind::PureToken => "pure-token",
            Kind::OneOf => "oneof",
            Kind::Block => "block",
        }
    }
}

/// A command line and its reply as the command-line client prints it.
#[derive(Debug)]
pub struct Example {
    /// The command line.
    pub run: &'static str,
    /// What comes back.
    pub reply: &'static str,
    /// The reply is a sample.
    pub varies: bool,
}
