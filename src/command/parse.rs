//! The cursor that generated parsers move over the words of a request.
//!
//! Invariant: nothing is copied and nothing is allocated, except inside an error.

use super::{Args, parse_integer};
use crate::reply::CommandError;

/// Words of a request after its name, taken from left to right.
pub(super) struct Words<'a> {
    args: Args<'a>,
    at: usize,
    name: &'static str,
}

impl<'a> Words<'a> {
    /// The words of `args` after the first `skip`; `name` is the command's full name, for errors.
    pub(super) fn new(args: Args<'a>, skip: usize, name: &'static str) -> Self {
        Words { args, at: skip, name }
    }

    /// How many words are left.
    pub(super) fn left(&self) -> usize {
        self.args.len().saturating_sub(self.at)
    }

    /// The next word, if there is one.
    pub(super) fn next(&mut self) -> Option<&'a [u8]> {
        let word = self.args.get(self.at)?;
        self.at += 1;
        Some(word)
    }

    /// The next word, which the arity promises.
    pub(super) fn word(&mut self) -> Result<&'a [u8], CommandError> {
        self.next().ok_or(CommandError::WrongArity(self.name))
    }

    /// The value of an option.
    pub(super) fn value(&mut self) -> Result<&'a [u8], CommandError> {
        self.next().ok_or(CommandError::Syntax)
    }

    /// All words left.
    pub(super) fn rest(&mut self) -> Args<'a> {
        let rest = self.args.from(self.at);
        self.at = self.args.len();
        rest
    }

    /// A count, then that many words.
    pub(super) fn counted(&mut self) -> Result<Args<'a>, CommandError> {
        let count = integer(self.word()?).filter(|count| *count > 0).ok_or(CommandError::NumkeysNotPositive)?;
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        if count > self.left() {
            return Err(CommandError::NumkeysTooLarge);
        }
        let words = self.args.from(self.at).first(count);
        self.at += count;
        Ok(words)
    }
}

/// A canonical decimal integer.
pub(super) fn integer(word: &[u8]) -> Option<i64> {
    parse_integer(word)
}

/// A canonical decimal integer between two bounds, both allowed.
pub(super) fn bounded(word: &[u8], minimum: i64, maximum: i64) -> Result<i64, CommandError> {
    match integer(word) {
        None => Err(CommandError::NotInteger),
        Some(value) if value < minimum || value > maximum => Err(CommandError::OutOfBounds(minimum, maximum)),
        Some(value) => Ok(value),
    }
}

/// Reads the cursor of an iteration as Redis does: an integer in canonical form must not be negative; anything else is
/// read leniently, with leading white space and a sign, and then a negative number wraps around.
pub fn parse_cursor(word: &[u8]) -> Option<u64> {
    if let Some(value) = parse_integer(word) {
        return u64::try_from(value).ok();
    }
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t'..=b'\r');
    let start = word.iter().position(|byte| !blank(byte))?;
    let (negative, digits) = match &word[start..] {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    if digits.is_empty() {
        return None;
    }
    let mut value: u64 = 0;
    for digit in digits {
        if !digit.is_ascii_digit() {
            return None;
        }
        value = value.checked_mul(10)?.checked_add(u64::from(digit - b'0'))?;
    }
    Some(if negative { value.wrapping_neg() } else { value })
}

/// Reads a decimal number; `inf` counts as one, NaN and surrounding white space do not.
pub fn parse_double(word: &[u8]) -> Option<f64> {
    let value: f64 = str::from_utf8(word).ok()?.parse().ok()?;
    (!value.is_nan()).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_are_unsigned_and_leniently_written() {
        for (word, value) in [
            ("0", 0),
            ("+1", 1),
            ("-0", 0),
            ("007", 7),
            (" \t9", 9),
            ("18446744073709551615", u64::MAX),
            ("-18446744073709551614", 2),
        ] {
            assert_eq!(parse_cursor(word.as_bytes()), Some(value), "{word:?}");
        }
        for word in
            ["", " ", "+", "-", "+-1", "x", "1 ", "0x1", "1.0", "-1", "18446744073709551616", "-18446744073709551616"]
        {
            assert_eq!(parse_cursor(word.as_bytes()), None, "{word:?}");
        }
    }

    #[test]
    fn bounds_have_an_error_of_their_own() {
        assert_eq!(bounded(b"5", 0, 9), Ok(5));
        assert_eq!(bounded(b"x", 0, 9), Err(CommandError::NotInteger));
        assert_eq!(bounded(b"10", 0, 9), Err(CommandError::OutOfBounds(0, 9)));
    }
}
