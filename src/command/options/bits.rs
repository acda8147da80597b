//! Tails of the bit commands.

use super::same;
use crate::command::{Args, parse_integer};
use crate::reply::CommandError;

/// What the ends of a range count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BitUnit {
    /// `BYTE`, also when nothing is said.
    Byte,
    /// `BIT`.
    Bit,
}

impl BitUnit {
    fn parse(word: &[u8]) -> Result<Self, CommandError> {
        match word {
            word if same(word, "BYTE") => Ok(BitUnit::Byte),
            word if same(word, "BIT") => Ok(BitUnit::Bit),
            _ => Err(CommandError::Syntax),
        }
    }
}

/// A part of a string, both ends included. Negative ends count from the end of the string, -1 being its last unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BitRange {
    /// The first unit.
    pub start: i64,
    /// The last unit.
    pub end: i64,
    /// What they count.
    pub unit: BitUnit,
}

impl BitRange {
    /// All words after the key of BITCOUNT; none means all of the string.
    ///
    /// # Errors
    /// A wrong number of words, then ends that are no integers, then an unknown unit.
    pub fn of_count(words: Args<'_>) -> Result<Option<Self>, CommandError> {
        let (start, end) = match (words.get(0), words.get(1)) {
            (None, _) => return Ok(None),
            (Some(start), Some(end)) if words.len() <= 3 => (start, end),
            _ => return Err(CommandError::Syntax),
        };
        let start = parse_integer(start).ok_or(CommandError::NotInteger)?;
        let end = parse_integer(end).ok_or(CommandError::NotInteger)?;
        let unit = words.get(2).map_or(Ok(BitUnit::Byte), BitUnit::parse)?;
        Ok(Some(BitRange { start, end, unit }))
    }
}

/// What BITPOS looks for, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BitSearch {
    /// The bit.
    pub bit: bool,
    /// The part to look at.
    pub range: BitRange,
    /// Whether the end was given: without, the string counts as if zeros followed it.
    pub is_bounded: bool,
}

impl BitSearch {
    /// All words after the key.
    ///
    /// # Errors
    /// The refusal to answer. Of the two ends the start is looked at before the unit, the end after it.
    pub fn parse(words: Args<'_>) -> Result<Self, CommandError> {
        let bit = match parse_integer(words.get(0).unwrap_or_default()).ok_or(CommandError::NotInteger)? {
            0 => false,
            1 => true,
            _ => return Err(CommandError::BitArgument),
        };
        let integer = |word| parse_integer(word).ok_or(CommandError::NotInteger);
        let mut range = BitRange { start: 0, end: -1, unit: BitUnit::Byte };
        if words.len() > 4 {
            return Err(CommandError::Syntax);
        }
        range.start = words.get(1).map_or(Ok(0), integer)?;
        range.unit = words.get(3).map_or(Ok(BitUnit::Byte), BitUnit::parse)?;
        range.end = words.get(2).map_or(Ok(-1), integer)?;
        Ok(BitSearch { bit, range, is_bounded: words.len() > 2 })
    }
}

/// One step of BITFIELD.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldOperation {
    /// What to do.
    pub action: FieldAction,
    /// The field's width and sign.
    pub kind: FieldKind,
    /// Its first bit.
    pub offset_bits: u64,
}

/// What BITFIELD does with a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldAction {
    /// `GET`
    Get,
    /// `SET`: the new value.
    Set(i64, Overflow),
    /// `INCRBY`: what is added.
    Add(i64, Overflow),
}

/// What BITFIELD does with a result that does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overflow {
    /// `WRAP`: drop the high bits.
    Wrap,
    /// `SAT`: take the nearest value that fits.
    Saturate,
    /// `FAIL`: change nothing and answer nil.
    Fail,
}

/// An integer of 1 to 64 bits with a sign, or of 1 to 63 without.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldKind {
    /// Two's complement.
    pub signed: bool,
    /// Its width.
    pub bits: u32,
}

impl FieldKind {
    fn parse(word: &[u8]) -> Option<Self> {
        let (signed, digits) = match word {
            [b'i', digits @ ..] => (true, digits),
            [b'u', digits @ ..] => (false, digits),
            _ => return None,
        };
        let bits = u32::try_from(parse_integer(digits)?).ok()?;
        let fits = (1..=if signed { 64 } else { 63 }).contains(&bits);
        fits.then_some(FieldKind { signed, bits })
    }
}

/// Reads the operations of BITFIELD, one by one.
#[derive(Debug, Clone, Copy)]
pub struct FieldOperations<'a> {
    words: Args<'a>,
    overflow: Overflow,
    bytes_max: u64,
}

impl<'a> FieldOperations<'a> {
    /// All words after the key. A field may begin in the first `bytes_max` bytes.
    pub fn new(words: Args<'a>, bytes_max: u64) -> Self {
        FieldOperations { words, overflow: Overflow::Wrap, bytes_max }
    }

    /// The next one; none at the end.
    ///
    /// # Errors
    /// The refusal to answer.
    pub fn read_next(&mut self) -> Result<Option<FieldOperation>, CommandError> {
        while let Some(word) = self.words.get(0) {
            let action = match word {
                _ if same(word, "GET") && self.words.len() >= 3 => FieldAction::Get,
                _ if same(word, "SET") && self.words.len() >= 4 => FieldAction::Set(0, self.overflow),
                _ if same(word, "INCRBY") && self.words.len() >= 4 => FieldAction::Add(0, self.overflow),
                _ if same(word, "OVERFLOW") && self.words.len() >= 2 => {
                    self.overflow = Overflow::parse(self.words.get(1).unwrap_or_default())?;
                    self.words = self.words.from(2);
                    continue;
                }
                _ => return Err(CommandError::Syntax),
            };
            return self.operation(action).map(Some);
        }
        Ok(None)
    }

    fn operation(&mut self, action: FieldAction) -> Result<FieldOperation, CommandError> {
        let word = |index| self.words.get(index).unwrap_or_default();
        let kind = FieldKind::parse(word(1)).ok_or(CommandError::FieldKind)?;
        let offset_bits = field_offset(word(2), kind, self.bytes_max).ok_or(CommandError::BitOffset)?;
        let value = || parse_integer(word(3)).ok_or(CommandError::NotInteger);
        let (action, words) = match action {
            FieldAction::Get => (FieldAction::Get, 3),
            FieldAction::Set(_, overflow) => (FieldAction::Set(value()?, overflow), 4),
            FieldAction::Add(_, overflow) => (FieldAction::Add(value()?, overflow), 4),
        };
        self.words = self.words.from(words);
        Ok(FieldOperation { action, kind, offset_bits })
    }
}

impl Overflow {
    fn parse(word: &[u8]) -> Result<Self, CommandError> {
        match word {
            word if same(word, "WRAP") => Ok(Overflow::Wrap),
            word if same(word, "SAT") => Ok(Overflow::Saturate),
            word if same(word, "FAIL") => Ok(Overflow::Fail),
            _ => Err(CommandError::FieldOverflow),
        }
    }
}

/// A number of bits, or after `#` a number of fields.
fn field_offset(word: &[u8], kind: FieldKind, bytes_max: u64) -> Option<u64> {
    let (word, unit) = match word {
        [b'#', word @ ..] => (word, i64::from(kind.bits)),
        word => (word, 1),
    };
    let bits = parse_integer(word)?.checked_mul(unit)?;
    u64::try_from(bits).ok().filter(|bits| bits / 8 < bytes_max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::OwnedArgs;

    fn owned(line: &str) -> OwnedArgs {
        line.split_whitespace().map(str::as_bytes).collect()
    }

    fn fields(line: &str) -> Result<Vec<FieldOperation>, CommandError> {
        let words = owned(line);
        let mut operations = FieldOperations::new(words.as_args(), 1000);
        let mut all = Vec::new();
        while let Some(operation) = operations.read_next()? {
            all.push(operation);
        }
        Ok(all)
    }

    #[test]
    fn ends_of_ranges_are_looked_at_in_redis_order() {
        let count = |line| BitRange::of_count(owned(line).as_args());
        assert_eq!(count(""), Ok(None));
        assert_eq!(count("-3 7 bit"), Ok(Some(BitRange { start: -3, end: 7, unit: BitUnit::Bit })));
        assert_eq!(count("x"), Err(CommandError::Syntax));
        assert_eq!(count("x 0 FOO z"), Err(CommandError::Syntax));
        assert_eq!(count("x 0 FOO"), Err(CommandError::NotInteger));
        let search = |line| BitSearch::parse(owned(line).as_args());
        assert_eq!(search("2 x"), Err(CommandError::BitArgument));
        assert_eq!(search("1 x 0 FOO"), Err(CommandError::NotInteger));
        assert_eq!(search("1 0 x FOO"), Err(CommandError::Syntax));
        assert_eq!(search("1 4").map(|search| (search.range.start, search.is_bounded)), Ok((4, false)));
        assert_eq!(search("0 4 5").map(|search| (search.range.end, search.is_bounded)), Ok((5, true)));
    }

    #[test]
    fn fields_have_up_to_64_bits_with_a_sign_and_63_without() {
        for word in ["i1", "i64", "u1", "u63"] {
            assert!(FieldKind::parse(word.as_bytes()).is_some(), "{word}");
        }
        for word in ["i0", "i65", "u0", "u64", "I8", "u08", "u", "8", "", "u-1", "x8", "u 8"] {
            assert!(FieldKind::parse(word.as_bytes()).is_none(), "{word}");
        }
    }

    #[test]
    fn overflow_holds_from_where_it_stands() {
        let actions: Vec<FieldAction> = fields("set u8 0 1 OVERFLOW sat incrby i4 #2 -3 overflow FAIL get u1 9")
            .unwrap()
            .iter()
            .map(|operation| operation.action)
            .collect();
        let wanted = [FieldAction::Set(1, Overflow::Wrap), FieldAction::Add(-3, Overflow::Saturate), FieldAction::Get];
        assert_eq!(actions, wanted);
        assert_eq!(fields("GET i4 #2").unwrap()[0].offset_bits, 8);
    }

    #[test]
    fn offsets_stay_below_the_longest_string() {
        assert!(fields("GET u8 7999").is_ok());
        assert!(fields("GET u8 #999").is_ok());
        for offset in ["8000", "#1000", "-1", "#-1", "x", "#", "", "9223372036854775807", "#9223372036854775807"] {
            let words: OwnedArgs = [&b"GET"[..], b"u8", offset.as_bytes()].into_iter().collect();
            let refused = FieldOperations::new(words.as_args(), 1000).read_next();
            assert_eq!(refused, Err(CommandError::BitOffset), "{offset}");
        }
    }

    #[test]
    fn a_wrong_word_refuses_all_operations() {
        for line in ["GET", "GET u8", "SET u8 0", "INCRBY u8 0", "OVERFLOW", "FOO", "GET u8 0 FOO"] {
            assert_eq!(fields(line), Err(CommandError::Syntax), "{line}");
        }
        assert_eq!(fields("GET u64 x"), Err(CommandError::FieldKind));
        assert_eq!(fields("SET u8 x y"), Err(CommandError::BitOffset));
        assert_eq!(fields("SET u8 0 y"), Err(CommandError::NotInteger));
        assert_eq!(fields("OVERFLOW up GET u8 0"), Err(CommandError::FieldOverflow));
    }
}
