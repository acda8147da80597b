//! Parsers for argument tails of commands that look into the server: MEMORY, LOLWUT, CLIENT UNBLOCK, CLIENT TRACKING.

use super::{Args, parse_double, parse_integer};
use crate::reply::CommandError;

fn same(word: &[u8], token: &str) -> bool {
    word.eq_ignore_ascii_case(token.as_bytes())
}

/// How many parts of a value MEMORY USAGE may look at. Redis guesses the rest; goblin counts exactly at the same cost,
/// so that the number decides nothing once it is found valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Samples {
    /// 0 means all of them; 5 when not given.
    pub count: i64,
}

impl Samples {
    /// All words after the key; SAMPLES may come again.
    ///
    /// # Errors
    /// Anything but SAMPLES and an integer from 0 on.
    pub fn parse(words: Args<'_>) -> Result<Self, CommandError> {
        let mut samples = Samples { count: 5 };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let value = words.next().filter(|_| same(word, "SAMPLES")).ok_or(CommandError::Syntax)?;
            samples.count = parse_integer(value).ok_or(CommandError::NotInteger)?;
            if samples.count < 0 {
                return Err(CommandError::Syntax);
            }
        }
        Ok(samples)
    }
}

/// What LOLWUT is to draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drawing {
    /// The version asked for; none means the latest.
    pub version: Option<i64>,
}

impl Drawing {
    /// All words after LOLWUT. The drawings of Redis 5 and 6 have sizes, three and two; goblin has not these drawings,
    /// but reads their sizes. All other words are left alone, as in Redis.
    ///
    /// # Errors
    /// A version or a size that is no integer.
    pub fn parse(words: Args<'_>) -> Result<Self, CommandError> {
        let version = match (words.get(0), words.get(1)) {
            (Some(word), Some(version)) if same(word, "VERSION") => {
                Some(parse_integer(version).ok_or(CommandError::NotInteger)?)
            }
            _ => None,
        };
        let sizes = match version {
            Some(5) => 3,
            Some(6) => 2,
            _ => 0,
        };
        for size in words.from(2).first(sizes).iter() {
            parse_integer(size).ok_or(CommandError::NotInteger)?;
        }
        Ok(Drawing { version })
    }
}

/// Which ring GOBLIN.RING is to make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RingWish {
    /// A file, for who cannot receive descriptors.
    pub has_path: bool,
    /// Bytes each way; none leaves it to the server.
    pub bytes: Option<i64>,
}

impl RingWish {
    /// All words after GOBLIN.RING.
    ///
    /// # Errors
    /// The refusal to answer.
    pub fn parse(words: Args<'_>) -> Result<Self, CommandError> {
        let has_path = words.get(0).is_some_and(|word| same(word, "PATH"));
        let rest = if has_path { words.from(1) } else { words };
        let bytes = rest.get(0).map(|word| parse_integer(word).ok_or(CommandError::NotInteger)).transpose()?;
        if rest.len() > 1 { Err(CommandError::Syntax) } else { Ok(RingWish { has_path, bytes }) }
    }
}

/// How densely GOBLIN.OPTIMIZE is to build, and which sets, where it is asked for all.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OptimizeWish<'a> {
    /// Only keys that this glob matches.
    pub pattern: Option<&'a [u8]>,
    /// Members as a part of the places for them: above 0 and at most 1.
    pub load: f64,
}

impl<'a> OptimizeWish<'a> {
    /// The load when none is given.
    pub const LOAD: f64 = 0.97;

    /// A smaller one is taken for this, or a set could be blown up without bound.
    const LOAD_MIN: f64 = 0.25;

    /// All words after the key.
    ///
    /// # Errors
    /// The refusal to answer.
    pub fn parse(words: Args<'a>) -> Result<Self, CommandError> {
        let has_pattern = words.get(0).is_some_and(|word| same(word, "MATCH"));
        let pattern = if has_pattern { Some(words.get(1).ok_or(CommandError::Syntax)?) } else { None };
        let rest = if has_pattern { words.from(2) } else { words };
        let load = match rest.get(0) {
            None => Self::LOAD,
            Some(word) => parse_double(word).filter(|load| *load > 0.0 && *load <= 1.0).ok_or(CommandError::Density)?,
        };
        if rest.len() > 1 {
            return Err(CommandError::WrongArity("goblin.optimize"));
        }
        Ok(OptimizeWish { pattern, load: load.max(Self::LOAD_MIN) })
    }
}

/// Whom CLIENT UNBLOCK wakes, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unblock {
    /// The connection.
    pub id: i64,
    /// Its command answers an error instead of what it answers after its timeout.
    pub with_error: bool,
}

impl Unblock {
    /// All words after UNBLOCK.
    ///
    /// # Errors
    /// A third word, then an unknown reason, then an id that is no integer.
    pub fn parse(words: Args<'_>) -> Result<Self, CommandError> {
        let with_error = match words.get(1) {
            _ if words.len() > 2 => return Err(CommandError::bad_subcommand("CLIENT", b"UNBLOCK")),
            None => false,
            Some(word) if same(word, "TIMEOUT") => false,
            Some(word) if same(word, "ERROR") => true,
            Some(_) => return Err(CommandError::UnblockReason),
        };
        let id = parse_integer(words.get(0).unwrap_or_default()).ok_or(CommandError::NotInteger)?;
        Ok(Unblock { id, with_error })
    }
}

/// The options of CLIENT TRACKING as far as a server without tracking has to understand them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TrackingOptions {
    /// REDIRECT: the connection that would be told. Whether it exists is found out before what follows it is refused.
    pub redirect: Option<i64>,
    /// What is wrong after that.
    pub fault: Option<TrackingFault>,
}

/// Why the options of CLIENT TRACKING are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrackingFault {
    /// A second REDIRECT.
    RedirectTwice,
    /// An id that is no integer.
    NotInteger,
    /// An unknown word, or a missing value.
    Syntax,
}

impl From<TrackingFault> for CommandError {
    fn from(fault: TrackingFault) -> Self {
        match fault {
            TrackingFault::RedirectTwice => CommandError::RedirectTwice,
            TrackingFault::NotInteger => CommandError::NotInteger,
            TrackingFault::Syntax => CommandError::Syntax,
        }
    }
}

impl TrackingOptions {
    /// All words after ON or OFF; the faults of those that come before REDIRECT.
    ///
    /// # Errors
    /// See [`TrackingFault`].
    pub fn parse(words: Args<'_>) -> Result<Self, CommandError> {
        let mut options = TrackingOptions::default();
        match options.read(words) {
            Err(fault) if options.redirect.is_none() => Err(fault.into()),
            read => Ok(TrackingOptions { fault: read.err(), ..options }),
        }
    }

    fn read(&mut self, words: Args<'_>) -> Result<(), TrackingFault> {
        let mut words = words.iter();
        while let Some(word) = words.next() {
            if same(word, "REDIRECT") {
                let id = words.next().ok_or(TrackingFault::Syntax)?;
                if self.redirect.is_some() {
                    return Err(TrackingFault::RedirectTwice);
                }
                self.redirect = Some(parse_integer(id).ok_or(TrackingFault::NotInteger)?);
            } else if same(word, "PREFIX") {
                words.next().ok_or(TrackingFault::Syntax)?;
            } else if !["BCAST", "OPTIN", "OPTOUT", "NOLOOP"].iter().any(|token| same(word, token)) {
                return Err(TrackingFault::Syntax);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::OwnedArgs;

    fn words(line: &str) -> OwnedArgs {
        line.split_whitespace().map(str::as_bytes).collect()
    }

    #[test]
    fn samples_are_integers_from_zero_on() {
        let parse = |line| Samples::parse(words(line).as_args()).map(|samples| samples.count);
        assert_eq!(parse(""), Ok(5));
        assert_eq!(parse("samples 0"), Ok(0));
        assert_eq!(parse("SAMPLES 7 SAMPLES 9"), Ok(9));
        for line in ["SAMPLES", "SAMPLES -1", "nope 5", "SAMPLES 1 x"] {
            assert_eq!(parse(line), Err(CommandError::Syntax), "{line}");
        }
        assert_eq!(parse("SAMPLES x"), Err(CommandError::NotInteger));
    }

    #[test]
    fn drawings_with_sizes_have_them_checked() {
        let parse = |line| Drawing::parse(words(line).as_args()).map(|drawing| drawing.version);
        assert_eq!(parse("version"), Ok(None));
        assert_eq!(parse("x y z"), Ok(None));
        assert_eq!(parse("VERSION 5 1 2 3 x"), Ok(Some(5)));
        assert_eq!(parse("version 6 1 2 x"), Ok(Some(6)));
        assert_eq!(parse("version 7 x"), Ok(Some(7)));
        for line in ["version x", "version 5 x", "version 5 1 2 x", "version 6 1 x"] {
            assert_eq!(parse(line), Err(CommandError::NotInteger), "{line}");
        }
    }

    #[test]
    fn what_follows_a_redirection_is_refused_later() {
        let parse = |line| TrackingOptions::parse(words(line).as_args());
        assert_eq!(parse("bcast prefix a noloop"), Ok(TrackingOptions::default()));
        assert_eq!(parse("nope redirect 1"), Err(CommandError::Syntax));
        assert_eq!(parse("redirect x"), Err(CommandError::NotInteger));
        let later = |fault| Ok(TrackingOptions { redirect: Some(7), fault });
        assert_eq!(parse("redirect 7"), later(None));
        assert_eq!(parse("redirect 7 nope"), later(Some(TrackingFault::Syntax)));
        assert_eq!(parse("redirect 7 redirect 7"), later(Some(TrackingFault::RedirectTwice)));
    }

    #[test]
    fn the_reason_to_unblock_is_read_before_the_id() {
        let parse = |line| Unblock::parse(words(line).as_args());
        assert_eq!(parse("7"), Ok(Unblock { id: 7, with_error: false }));
        assert_eq!(parse("-1 error"), Ok(Unblock { id: -1, with_error: true }));
        assert_eq!(parse("x x"), Err(CommandError::UnblockReason));
        assert_eq!(parse("x timeout"), Err(CommandError::NotInteger));
        assert!(matches!(parse("1 error x"), Err(CommandError::BadSubcommand(_))));
    }
}
