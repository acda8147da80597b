//! Tails of the string commands.

use super::same;
use crate::command::{Args, parse_integer};
use crate::reply::CommandError;

/// What GETEX is to do with the time to live. Times are words still: whether they are numbers is asked only when the
/// key is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpirationWords<'a> {
    /// `EX`: seconds from now.
    Seconds(&'a [u8]),
    /// `PX`: milliseconds from now.
    Milliseconds(&'a [u8]),
    /// `EXAT`: seconds since 1970.
    UnixTimeSeconds(&'a [u8]),
    /// `PXAT`: milliseconds since 1970.
    UnixTimeMilliseconds(&'a [u8]),
    /// `PERSIST`: it ends.
    Persist,
}

impl<'a> ExpirationWords<'a> {
    /// All words after the key. The same option may come again, another may not.
    ///
    /// # Errors
    /// A syntax error.
    pub fn parse(words: Args<'a>) -> Result<Option<Self>, CommandError> {
        let mut found: Option<Self> = None;
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let option = if same(word, "PERSIST") {
                ExpirationWords::Persist
            } else {
                let option = match word {
                    word if same(word, "EX") => ExpirationWords::Seconds,
                    word if same(word, "PX") => ExpirationWords::Milliseconds,
                    word if same(word, "EXAT") => ExpirationWords::UnixTimeSeconds,
                    word if same(word, "PXAT") => ExpirationWords::UnixTimeMilliseconds,
                    _ => return Err(CommandError::Syntax),
                };
                option(words.next().ok_or(CommandError::Syntax)?)
            };
            if found.is_some_and(|found| std::mem::discriminant(&found) != std::mem::discriminant(&option)) {
                return Err(CommandError::Syntax);
            }
            found = Some(option);
        }
        Ok(found)
    }
}

/// What LCS answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LcsOptions {
    /// Only the length.
    pub len: bool,
    /// Where the matches are.
    pub idx: bool,
    /// Leave shorter matches out; 0 or less leaves none out.
    pub match_len_min: i64,
    /// Tell the length of each match.
    pub with_match_len: bool,
}

impl LcsOptions {
    /// All words after the keys.
    ///
    /// # Errors
    /// The refusal to answer; keys of a wrong type are told before.
    pub fn parse(words: Args<'_>) -> Result<Self, CommandError> {
        let mut options = LcsOptions::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match word {
                word if same(word, "LEN") => options.len = true,
                word if same(word, "IDX") => options.idx = true,
                word if same(word, "WITHMATCHLEN") => options.with_match_len = true,
                word if same(word, "MINMATCHLEN") => {
                    let value = words.next().ok_or(CommandError::Syntax)?;
                    options.match_len_min = parse_integer(value).ok_or(CommandError::NotInteger)?;
                }
                _ => return Err(CommandError::Syntax),
            }
        }
        if options.len && options.idx { Err(CommandError::LcsLenAndIdx) } else { Ok(options) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::OwnedArgs;

    fn owned(line: &str) -> OwnedArgs {
        line.split_whitespace().map(str::as_bytes).collect()
    }

    #[test]
    fn one_option_may_be_repeated_and_its_last_word_counts() {
        let parse = |line| ExpirationWords::parse(owned(line).as_args()).map(|option| format!("{option:?}"));
        assert_eq!(parse(""), Ok("None".into()));
        assert_eq!(parse("ex 1 EX x"), Ok(format!("{:?}", Some(ExpirationWords::Seconds(b"x")))));
        assert_eq!(parse("persist PERSIST"), Ok(format!("{:?}", Some(ExpirationWords::Persist))));
        for line in ["EX", "EX 1 PX 1", "PERSIST EX 1", "EXAT 1 PXAT 1", "KEEPTTL", "NX", "PERSIST 1"] {
            assert_eq!(parse(line), Err(CommandError::Syntax), "{line}");
        }
    }

    #[test]
    fn words_of_lcs_are_read_before_they_are_compared() {
        let parse = |line| LcsOptions::parse(owned(line).as_args());
        let wanted = LcsOptions { idx: true, match_len_min: -3, with_match_len: true, len: false };
        assert_eq!(parse("minmatchlen 9 idx withmatchlen MINMATCHLEN -3 IDX"), Ok(wanted));
        assert_eq!(parse("LEN IDX"), Err(CommandError::LcsLenAndIdx));
        assert_eq!(parse("LEN IDX FOO"), Err(CommandError::Syntax));
        assert_eq!(parse("MINMATCHLEN"), Err(CommandError::Syntax));
        assert_eq!(parse("MINMATCHLEN x FOO"), Err(CommandError::NotInteger));
    }
}
