//! Parsers for argument tails whose grammar the specs cannot say: order, repetition or error texts are irregular.
//!
//! Each takes the words from its first option on. What depends on the keyspace, the clock or the sessions is left to
//! the engine.

pub use super::introspection::*;

use super::parse::bounded;
use super::{Args, parse_integer};
use crate::reply::CommandError;

mod bits;
mod strings;

pub use bits::{BitRange, BitSearch, BitUnit, FieldAction, FieldKind, FieldOperation, FieldOperations, Overflow};
pub use strings::{ExpirationWords, LcsOptions};

/// Bytes that connection names and library names may have: printable ASCII without the space.
pub fn is_plain_name(name: &[u8]) -> bool {
    name.iter().all(|byte| matches!(byte, b'!'..=b'~'))
}

fn same(word: &[u8], token: &str) -> bool {
    word.eq_ignore_ascii_case(token.as_bytes())
}

/// MATCH, COUNT and TYPE of the iterations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScanOptions<'a> {
    /// Only what this glob matches.
    pub pattern: Option<&'a [u8]>,
    /// How many elements to look at, at least 1; 10 when not given.
    pub count: i64,
    /// Only keys of this type, as written.
    pub kind: Option<&'a [u8]>,
}

impl<'a> ScanOptions<'a> {
    /// Options of SCAN.
    ///
    /// # Errors
    /// The refusal to answer.
    pub fn of_keys(words: Args<'a>) -> Result<Self, CommandError> {
        Self::parse(words, true)
    }

    /// Options of SSCAN, which has no TYPE.
    ///
    /// # Errors
    /// The refusal to answer; an absent key is answered before.
    pub fn of_members(words: Args<'a>) -> Result<Self, CommandError> {
        Self::parse(words, false)
    }

    fn parse(words: Args<'a>, typed: bool) -> Result<Self, CommandError> {
        let mut options = ScanOptions { pattern: None, count: 10, kind: None };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            if same(word, "NOVALUES") {
                return Err(CommandError::NoValues);
            }
            let value = words.next().ok_or(CommandError::Syntax)?;
            if same(word, "COUNT") {
                options.count = parse_integer(value).ok_or(CommandError::NotInteger)?;
                if options.count < 1 {
                    return Err(CommandError::Syntax);
                }
            } else if same(word, "MATCH") {
                options.pattern = Some(value);
            } else if typed && same(word, "TYPE") {
                options.kind = Some(value);
            } else {
                return Err(CommandError::Syntax);
            }
        }
        Ok(options)
    }
}

/// DB and REPLACE of COPY, as written: which refusal comes first depends on how many databases there are.
#[derive(Debug, Clone, Copy)]
pub struct CopyOptions<'a> {
    words: Args<'a>,
}

impl<'a> CopyOptions<'a> {
    /// All words after the two keys.
    ///
    /// # Errors
    /// None yet.
    pub fn of(words: Args<'a>) -> Result<Self, CommandError> {
        Ok(CopyOptions { words })
    }

    /// The other database, if one was named, and whether what is there may be replaced. `database` finds a database by
    /// its number.
    ///
    /// # Errors
    /// The refusal to answer: that of the first wrong word, or of the first database that does not exist before it.
    pub fn read(
        self,
        database: impl Fn(i64) -> Result<u16, CommandError>,
    ) -> Result<(Option<u16>, bool), CommandError> {
        let (mut into, mut replace) = (None, false);
        let mut words = self.words.iter();
        while let Some(word) = words.next() {
            if same(word, "DB") {
                let number = words.next().ok_or(CommandError::Syntax)?;
                into = Some(database(bounded(number, i32::MIN.into(), i32::MAX.into())?)?);
            } else if same(word, "REPLACE") {
                replace = true;
            } else {
                return Err(CommandError::Syntax);
            }
        }
        Ok((into, replace))
    }
}

/// What HELLO asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HelloOptions<'a> {
    /// 2 or 3; none leaves the protocol as it is.
    pub version: Option<u8>,
    /// User and password.
    pub auth: Option<(&'a [u8], &'a [u8])>,
    /// A name for the connection, already checked.
    pub name: Option<&'a [u8]>,
}

impl<'a> HelloOptions<'a> {
    /// All words after HELLO.
    ///
    /// # Errors
    /// The refusal to answer; nothing of the request is carried out then.
    pub fn parse(words: Args<'a>) -> Result<Self, CommandError> {
        let mut options = HelloOptions { version: None, auth: None, name: None };
        let Some(version) = words.get(0) else { return Ok(options) };
        options.version = match parse_integer(version) {
            Some(2) => Some(2),
            Some(3) => Some(3),
            Some(_) => return Err(CommandError::UnsupportedProtocol),
            None => return Err(CommandError::ProtocolNotInteger),
        };
        let mut at = 1;
        while let Some(word) = words.get(at) {
            if same(word, "AUTH")
                && let (Some(user), Some(password)) = (words.get(at + 1), words.get(at + 2))
            {
                options.auth = Some((user, password));
                at += 3;
            } else if same(word, "SETNAME")
                && let Some(name) = words.get(at + 1)
            {
                if !is_plain_name(name) {
                    return Err(CommandError::ClientName);
                }
                options.name = Some(name);
                at += 2;
            } else {
                return Err(CommandError::HelloOption(word.into()));
            }
        }
        Ok(options)
    }
}

/// How SHUTDOWN is to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ShutdownOptions {
    /// SAVE is true, NOSAVE is false.
    pub save: Option<bool>,
    /// Wait for nobody.
    pub now: bool,
    /// Ignore what would prevent it.
    pub force: bool,
    /// Take a running shutdown back; excludes all others.
    pub abort: bool,
}

impl ShutdownOptions {
    /// All words after SHUTDOWN.
    ///
    /// # Errors
    /// An unknown word, or words that exclude each other.
    pub fn parse(words: Args<'_>) -> Result<Self, CommandError> {
        let mut options = ShutdownOptions::default();
        for word in words.iter() {
            if same(word, "SAVE") && options.save != Some(false) {
                options.save = Some(true);
            } else if same(word, "NOSAVE") && options.save != Some(true) {
                options.save = Some(false);
            } else if same(word, "NOW") {
                options.now = true;
            } else if same(word, "FORCE") {
                options.force = true;
            } else if same(word, "ABORT") {
                options.abort = true;
            } else {
                return Err(CommandError::Syntax);
            }
        }
        if options.abort && (options.save.is_some() || options.now || options.force) {
            return Err(CommandError::Syntax);
        }
        Ok(options)
    }
}

/// When EXPIRE and its relatives apply: all that are set must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ExpireConditions {
    /// The key has no time to live.
    pub nx: bool,
    /// The key has one.
    pub xx: bool,
    /// The new one is later than the present one; none is later than any.
    pub gt: bool,
    /// The new one is earlier than the present one.
    pub lt: bool,
}

impl ExpireConditions {
    /// All words after the time.
    ///
    /// # Errors
    /// An unknown word, then conditions that exclude each other.
    pub fn parse(words: Args<'_>) -> Result<Self, CommandError> {
        let mut conditions = ExpireConditions::default();
        for word in words.iter() {
            match word {
                word if same(word, "NX") => conditions.nx = true,
                word if same(word, "XX") => conditions.xx = true,
                word if same(word, "GT") => conditions.gt = true,
                word if same(word, "LT") => conditions.lt = true,
                _ => return Err(CommandError::UnsupportedOption(word.into())),
            }
        }
        if conditions.nx && (conditions.xx || conditions.gt || conditions.lt) {
            return Err(CommandError::ExpireNxConflict);
        }
        if conditions.gt && conditions.lt {
            return Err(CommandError::ExpireGtLtConflict);
        }
        Ok(conditions)
    }
}

/// What a connection is to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientType {
    /// None of the others.
    Normal,
    /// The source a replica follows.
    Master,
    /// A replica.
    Replica,
    /// Subscribed to something.
    Pubsub,
}

impl ClientType {
    fn parse(word: &[u8]) -> Result<Self, CommandError> {
        match word {
            word if same(word, "normal") => Ok(ClientType::Normal),
            word if same(word, "master") => Ok(ClientType::Master),
            word if same(word, "slave") || same(word, "replica") => Ok(ClientType::Replica),
            word if same(word, "pubsub") => Ok(ClientType::Pubsub),
            _ => Err(CommandError::UnknownClientType(word.into())),
        }
    }
}

/// Which connections CLIENT LIST describes.
#[derive(Debug, Clone, Copy)]
pub enum ListFilter<'a> {
    /// Every one.
    All,
    /// Those of a type.
    Type(ClientType),
    /// Those with these ids, which are integers.
    Ids(Args<'a>),
}

impl<'a> ListFilter<'a> {
    /// All words after LIST.
    ///
    /// # Errors
    /// The refusal to answer.
    pub fn parse(words: Args<'a>) -> Result<Self, CommandError> {
        match (words.len(), words.get(0)) {
            (0, _) => Ok(ListFilter::All),
            (2, Some(word)) if same(word, "TYPE") => {
                Ok(ListFilter::Type(ClientType::parse(words.get(1).unwrap_or_default())?))
            }
            (2.., Some(word)) if same(word, "ID") => {
                let ids = words.from(1);
                let valid = ids.iter().all(|id| parse_integer(id).is_some());
                if valid { Ok(ListFilter::Ids(ids)) } else { Err(CommandError::InvalidClientId) }
            }
            _ => Err(CommandError::Syntax),
        }
    }
}

/// Which connections CLIENT KILL closes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KillFilter<'a> {
    /// The one with this address, the caller included; answers OK or an error.
    Address(&'a [u8]),
    /// Those for which everything given holds; answers how many.
    All(KillConditions<'a>),
}

/// Conditions of [`KillFilter::All`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KillConditions<'a> {
    /// This connection.
    pub id: Option<u64>,
    /// Of this type.
    pub kind: Option<ClientType>,
    /// Logged in as this user, who exists.
    pub user: Option<&'a [u8]>,
    /// With this peer address.
    pub addr: Option<&'a [u8]>,
    /// With this local address.
    pub laddr: Option<&'a [u8]>,
    /// Leave the caller alone; true unless said otherwise.
    pub skip_me: bool,
    /// Connected for at least this many seconds.
    pub age_s_min: Option<u64>,
}

impl<'a> KillFilter<'a> {
    /// All words after KILL.
    ///
    /// # Errors
    /// The refusal to answer; words are looked at from left to right.
    pub fn parse(words: Args<'a>) -> Result<Self, CommandError> {
        if words.len() == 1 {
            return Ok(KillFilter::Address(words.get(0).unwrap_or_default()));
        }
        let mut filter = KillConditions {
            id: None,
            kind: None,
            user: None,
            addr: None,
            laddr: None,
            skip_me: true,
            age_s_min: None,
        };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let value = words.next().ok_or(CommandError::Syntax)?;
            match word {
                word if same(word, "ID") => {
                    filter.id = Some(positive(value).ok_or(CommandError::ClientIdNotPositive)?);
                }
                word if same(word, "MAXAGE") => {
                    parse_integer(value).ok_or(CommandError::MaxAgeNotInteger)?;
                    filter.age_s_min = Some(positive(value).ok_or(CommandError::MaxAgeNotPositive)?);
                }
                word if same(word, "TYPE") => filter.kind = Some(ClientType::parse(value)?),
                word if same(word, "ADDR") => filter.addr = Some(value),
                word if same(word, "LADDR") => filter.laddr = Some(value),
                word if same(word, "USER") && value == b"default" => filter.user = Some(value),
                word if same(word, "USER") => return Err(CommandError::NoSuchUser(value.into())),
                word if same(word, "SKIPME") && same(value, "yes") => filter.skip_me = true,
                word if same(word, "SKIPME") && same(value, "no") => filter.skip_me = false,
                _ => return Err(CommandError::Syntax),
            }
        }
        Ok(KillFilter::All(filter))
    }
}

fn positive(word: &[u8]) -> Option<u64> {
    parse_integer(word).filter(|value| *value > 0).map(i64::unsigned_abs)
}

/// What CLIENT SETINFO notes; the value has no spaces or control characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientAttribute<'a> {
    /// LIB-NAME.
    LibraryName(&'a [u8]),
    /// LIB-VER.
    LibraryVersion(&'a [u8]),
}

impl<'a> ClientAttribute<'a> {
    /// The two words after SETINFO.
    ///
    /// # Errors
    /// An unknown attribute, or a value with other bytes.
    pub fn parse(words: Args<'a>) -> Result<Self, CommandError> {
        let (word, value) = (words.get(0).unwrap_or_default(), words.get(1).unwrap_or_default());
        let attribute = if same(word, "LIB-NAME") {
            ClientAttribute::LibraryName(value)
        } else if same(word, "LIB-VER") {
            ClientAttribute::LibraryVersion(value)
        } else {
            return Err(CommandError::UnrecognizedOption(word.into()));
        };
        if is_plain_name(value) { Ok(attribute) } else { Err(CommandError::ClientAttribute(word.into())) }
    }
}

/// Which names COMMAND LIST answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameFilter<'a> {
    /// Every one.
    All,
    /// Those of a module; there are none.
    Module(&'a [u8]),
    /// Those in an ACL category.
    Category(&'a [u8]),
    /// Those that match a glob.
    Pattern(&'a [u8]),
}

impl<'a> NameFilter<'a> {
    /// All words after LIST.
    ///
    /// # Errors
    /// Anything but FILTERBY, a kind and one value.
    pub fn parse(words: Args<'a>) -> Result<Self, CommandError> {
        let (Some(filter), Some(kind), Some(value), 3) = (words.get(0), words.get(1), words.get(2), words.len()) else {
            return if words.is_empty() { Ok(NameFilter::All) } else { Err(CommandError::Syntax) };
        };
        match kind {
            _ if !same(filter, "FILTERBY") => Err(CommandError::Syntax),
            kind if same(kind, "MODULE") => Ok(NameFilter::Module(value)),
            kind if same(kind, "ACLCAT") => Ok(NameFilter::Category(value)),
            kind if same(kind, "PATTERN") => Ok(NameFilter::Pattern(value)),
            _ => Err(CommandError::Syntax),
        }
    }
}

/// What FUNCTION LIST shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FunctionListOptions<'a> {
    /// Only libraries whose name matches this glob.
    pub pattern: Option<&'a [u8]>,
    /// Their source too.
    pub with_code: bool,
}

impl<'a> FunctionListOptions<'a> {
    /// All words after LIST.
    ///
    /// # Errors
    /// An unknown or repeated word, or a missing name.
    pub fn parse(words: Args<'a>) -> Result<Self, CommandError> {
        let mut options = FunctionListOptions::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            if same(word, "WITHCODE") && !options.with_code {
                options.with_code = true;
            } else if same(word, "LIBRARYNAME") && options.pattern.is_none() {
                options.pattern = Some(words.next().ok_or(CommandError::LibraryNameMissing)?);
            } else {
                return Err(CommandError::UnknownArgument(word.into()));
            }
        }
        Ok(options)
    }
}
