//! Binary floating point with 64 significant bits and 15 bits of exponent, the `long double` in which Redis counts on
//! x86: what INCRBYFLOAT stores depends on its rounding, so its rounding is done here, on every machine.
//!
//! ```text
//!   value = significand * 2^exponent        exponent -16445 ..= 16320
//!           the significand's highest bit is set, unless the exponent is the least one (subnormal) or the value is 0
//! ```
//!
//! Invariant: every operation rounds once, to the nearest, ties to even.
//! Deliberately unknown here: keys, commands, what a result out of range is answered with.

use std::cmp::Ordering;

/// The exponent of subnormal values and of the smallest normal ones.
const EXPONENT_MIN: i32 = -16_445;
/// The exponent of the largest values.
const EXPONENT_MAX: i32 = 16_320;
/// Digits after the point when a number is written.
const FRACTION_DIGITS: usize = 17;
/// Longest text that is read as a number.
const TEXT_BYTES_MAX: usize = 5 * 1024 - 1;
/// Digits before the point, or zeros after it, beyond which a number is out of range whatever the digits.
const MAGNITUDE_MAX: i64 = 5_000;
/// The largest power of ten in one limb, and its exponent.
const TEN_19: u64 = 10_000_000_000_000_000_000;

/// A number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LongDouble {
    /// Within range.
    Finite(Finite),
    /// Beyond it, with either sign.
    Infinite,
}

/// A number within range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Finite {
    negative: bool,
    significand: u64,
    exponent: i32,
}

impl Finite {
    /// Nothing.
    pub(super) const ZERO: Self = Finite { negative: false, significand: 0, exponent: EXPONENT_MIN };

    /// Positional decimal notation with up to 17 digits after the point and no zeros at the end, at most some 4,950
    /// bytes.
    pub(super) fn to_text(self) -> Vec<u8> {
        if self.exponent >= 0 {
            let mut digits = Big::from(self.significand);
            digits.shift_left(self.exponent.unsigned_abs());
            return [if self.negative { "-" } else { "" }, &digits.into_decimal()].concat().into_bytes();
        }
        const SCALE: u128 = 10u128.pow(FRACTION_DIGITS as u32);
        // 121 bits at most, and less than a half from 122 places on.
        let scaled = match self.exponent.unsigned_abs() {
            places @ ..128 => shifted_right(u128::from(self.significand) * SCALE, places, false),
            _ => 0,
        };
        let (whole, fraction) = (scaled / SCALE, scaled % SCALE);
        let sign = if self.negative && scaled != 0 { "-" } else { "" };
        let text = format!("{sign}{whole}.{fraction:0FRACTION_DIGITS$}");
        text.trim_end_matches('0').trim_end_matches('.').as_bytes().to_vec()
    }
}

impl LongDouble {
    /// Reads what the C library reads: a decimal or hexadecimal number with an optional exponent, or an infinity, with
    /// an optional sign and nothing around it. None for anything else, for a text of 5,120 bytes or more, and for what
    /// is too large, or too small to differ from zero.
    pub(super) fn parse(text: &[u8]) -> Option<Self> {
        if text.len() > TEXT_BYTES_MAX {
            return None;
        }
        let (negative, text) = match text {
            [b'-', text @ ..] => (true, text),
            [b'+', text @ ..] => (false, text),
            text => (false, text),
        };
        if text.eq_ignore_ascii_case(b"inf") || text.eq_ignore_ascii_case(b"infinity") {
            return Some(LongDouble::Infinite);
        }
        let number = match text {
            [b'0', b'x' | b'X', text @ ..] => hexadecimal(negative, text)?,
            text => decimal(negative, text)?,
        };
        Some(number)
    }

    /// The sum; infinite when a part is, or the result is out of range.
    pub(super) fn plus(self, other: Self) -> Self {
        let (LongDouble::Finite(a), LongDouble::Finite(b)) = (self, other) else { return LongDouble::Infinite };
        let (a, b) = if a.exponent >= b.exponent { (a, b) } else { (b, a) };
        // Two bits of room above, 62 below: what falls out below only matters as being there or not.
        let wide = |part: Finite| u128::from(part.significand) << 62;
        let distance = a.exponent.abs_diff(b.exponent);
        let low = match distance {
            0..=126 => {
                let kept = wide(b) >> distance;
                kept | u128::from(kept << distance != wide(b))
            }
            _ => u128::from(b.significand != 0),
        };
        let high = wide(a);
        let (negative, bits) = match a.negative == b.negative {
            true => (a.negative, high + low),
            false if high >= low => (a.negative, high - low),
            false => (b.negative, low - high),
        };
        rounded(negative && bits != 0, bits, i64::from(a.exponent) - 62, false)
    }
}

/// The nearest number to `bits * 2^exponent`, or to a little more when something was `cut` off.
fn rounded(negative: bool, bits: u128, exponent: i64, cut: bool) -> LongDouble {
    let len = 128 - i64::from(bits.leading_zeros());
    let mut shift = (len - 64).max(i64::from(EXPONENT_MIN) - exponent);
    if bits == 0 || shift > 128 {
        return LongDouble::Finite(Finite { negative, ..Finite::ZERO });
    }
    let mut bits = if shift > 0 { shifted_right(bits, shift as u32, cut) } else { bits << -shift };
    if bits >> 64 != 0 {
        bits >>= 1;
        shift += 1;
    }
    match i32::try_from(exponent + shift) {
        Ok(exponent @ ..=EXPONENT_MAX) => LongDouble::Finite(Finite { negative, significand: bits as u64, exponent }),
        _ => LongDouble::Infinite,
    }
}

/// `bits / 2^places`, 1 to 128 places, to the nearest, ties to even; `cut` says that there was a little more.
fn shifted_right(bits: u128, places: u32, cut: bool) -> u128 {
    let kept = bits.checked_shr(places).unwrap_or(0);
    let lost = if places == 128 { bits } else { bits & ((1 << places) - 1) };
    let up = match lost.cmp(&(1 << (places - 1))) {
        Ordering::Less => false,
        Ordering::Equal => cut || kept & 1 == 1,
        Ordering::Greater => true,
    };
    kept + u128::from(up)
}

/// Digits with at most one point among them, then an exponent after the letter `mark`.
struct Parts<'a> {
    whole: &'a [u8],
    fraction: &'a [u8],
    exponent: i64,
}

impl<'a> Parts<'a> {
    fn split(text: &'a [u8], mark: u8, is_digit: fn(&u8) -> bool) -> Option<Self> {
        let digits = |text: &[u8]| text.iter().position(|byte| !is_digit(byte)).unwrap_or(text.len());
        let (whole, rest) = text.split_at(digits(text));
        let (fraction, rest) = match rest {
            [b'.', rest @ ..] => rest.split_at(digits(rest)),
            rest => (&rest[..0], rest),
        };
        let exponent = match rest {
            [] => 0,
            [letter, exponent @ ..] if letter.eq_ignore_ascii_case(&mark) => exponent_of(exponent)?,
            _ => return None,
        };
        (!whole.is_empty() || !fraction.is_empty()).then_some(Parts { whole, fraction, exponent })
    }

    fn digits(&self) -> impl DoubleEndedIterator<Item = u8> {
        self.whole.iter().chain(self.fraction).copied()
    }
}

/// A signed decimal number; far beyond every range it stops growing.
fn exponent_of(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let size = digits.iter().fold(0, |size: i64, digit| (size * 10 + i64::from(digit - b'0')).min(i64::MAX / 100));
    Some(if negative { -size } else { size })
}

fn hexadecimal(negative: bool, text: &[u8]) -> Option<LongDouble> {
    let parts = Parts::split(text, b'p', u8::is_ascii_hexdigit)?;
    let mut bits: u128 = 0;
    let mut exponent = parts.exponent - 4 * parts.fraction.len() as i64;
    let mut cut = false;
    for digit in parts.digits() {
        let digit = char::from(digit).to_digit(16)?;
        if bits >> 120 == 0 {
            bits = bits << 4 | u128::from(digit);
        } else {
            exponent += 4;
            cut |= digit != 0;
        }
    }
    in_range(rounded(negative, bits, exponent, cut), bits == 0)
}

fn decimal(negative: bool, text: &[u8]) -> Option<LongDouble> {
    let parts = Parts::split(text, b'e', u8::is_ascii_digit)?;
    let zeros = parts.digits().rev().take_while(|digit| *digit == b'0').count();
    let digits = parts.whole.len() + parts.fraction.len() - zeros;
    if digits == 0 {
        return Some(LongDouble::Finite(Finite { negative, ..Finite::ZERO }));
    }
    let exponent = parts.exponent + zeros as i64 - parts.fraction.len() as i64;
    let leading = parts.digits().take_while(|digit| *digit == b'0').count();
    if !(-MAGNITUDE_MAX..=MAGNITUDE_MAX).contains(&(exponent + (digits - leading) as i64)) {
        return None;
    }
    let (mut over, mut under) = (Big::from(0), Big::from(1));
    let digits: Vec<u8> = parts.digits().take(digits).skip(leading).collect();
    for group in digits.chunks(19) {
        let value = group.iter().fold(0, |value, digit| value * 10 + u64::from(digit - b'0'));
        over.multiply_add(10u64.pow(group.len() as u32), value);
    }
    if exponent >= 0 { &mut over } else { &mut under }.multiply_by_ten_to(exponent.unsigned_abs());
    let (bits, exponent, cut) = quotient(over, under);
    in_range(rounded(negative, bits, exponent, cut), false)
}

/// What a text may not say: a number too large, or one that is only by rounding zero.
fn in_range(number: LongDouble, is_zero: bool) -> Option<LongDouble> {
    match number {
        LongDouble::Infinite => None,
        LongDouble::Finite(finite) if finite.significand == 0 && !is_zero => None,
        finite => Some(finite),
    }
}

/// `over / under` as 67 bits or 66 and their exponent, and whether something was cut off.
fn quotient(mut over: Big, mut under: Big) -> (u128, i64, bool) {
    const BITS: i64 = 67;
    let difference = i64::from(over.bits()) - i64::from(under.bits());
    match difference {
        0.. => under.shift_left(difference as u32),
        _ => over.shift_left(difference.unsigned_abs() as u32),
    }
    let mut bits: u128 = 0;
    for _ in 0..BITS {
        bits <<= 1;
        if over.compare(&under) != Ordering::Less {
            over.subtract(&under);
            bits |= 1;
        }
        over.shift_left(1);
    }
    (bits, difference - (BITS - 1), over.bits() != 0)
}

/// A natural number of any size: limbs from the lowest, the last one not 0.
#[derive(Debug, Clone)]
struct Big(Vec<u64>);

impl From<u64> for Big {
    fn from(value: u64) -> Self {
        Big(if value == 0 { Vec::new() } else { vec![value] })
    }
}

impl Big {
    fn bits(&self) -> u32 {
        self.0.last().map_or(0, |last| self.0.len() as u32 * 64 - last.leading_zeros())
    }

    fn multiply_add(&mut self, factor: u64, mut carry: u64) {
        for limb in &mut self.0 {
            let product = u128::from(*limb) * u128::from(factor) + u128::from(carry);
            (*limb, carry) = (product as u64, (product >> 64) as u64);
        }
        if carry != 0 {
            self.0.push(carry);
        }
    }

    fn multiply_by_ten_to(&mut self, exponent: u64) {
        for _ in 0..exponent / 19 {
            self.multiply_add(TEN_19, 0);
        }
        self.multiply_add(10u64.pow((exponent % 19) as u32), 0);
    }

    fn shift_left(&mut self, places: u32) {
        if !places.is_multiple_of(64) {
            self.multiply_add(1 << (places % 64), 0);
        }
        if places >= 64 && !self.0.is_empty() {
            self.0.splice(0..0, std::iter::repeat_n(0, places as usize / 64));
        }
    }

    fn compare(&self, other: &Big) -> Ordering {
        self.0.len().cmp(&other.0.len()).then_with(|| self.0.iter().rev().cmp(other.0.iter().rev()))
    }

    /// Takes away what is not larger.
    fn subtract(&mut self, other: &Big) {
        let mut borrow = false;
        for (index, limb) in self.0.iter_mut().enumerate() {
            let (less, first) = limb.overflowing_sub(other.0.get(index).copied().unwrap_or(0));
            let (less, second) = less.overflowing_sub(u64::from(borrow));
            (*limb, borrow) = (less, first || second);
        }
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
    }

    fn into_decimal(mut self) -> String {
        let mut groups = Vec::new();
        while !self.0.is_empty() {
            let mut rest: u64 = 0;
            for limb in self.0.iter_mut().rev() {
                let value = u128::from(rest) << 64 | u128::from(*limb);
                (*limb, rest) = ((value / u128::from(TEN_19)) as u64, (value % u128::from(TEN_19)) as u64);
            }
            while self.0.last() == Some(&0) {
                self.0.pop();
            }
            groups.push(rest);
        }
        let mut groups = groups.iter().rev();
        let first = groups.next().map_or("0".to_owned(), u64::to_string);
        groups.fold(first, |text, group| format!("{text}{group:019}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(a: &str, b: &str) -> Option<String> {
        let number = |text: &str| LongDouble::parse(text.as_bytes());
        match number(a)?.plus(number(b)?) {
            LongDouble::Infinite => Some("infinite".into()),
            LongDouble::Finite(sum) => String::from_utf8(sum.to_text()).ok(),
        }
    }

    #[test]
    fn sums_are_rounded_to_64_bits_and_written_with_17_places() {
        for (a, b, wanted) in [
            ("0.1", "0.2", "0.3"),
            ("10.50", "0.1", "10.6"),
            ("3.0e3", "200", "3200"),
            ("5.0e3", "2.0e2", "5200"),
            ("1.5", "1e18", "1000000000000000001.5"),
            ("1e17", "0.1", "100000000000000000.1015625"),
            ("99999999999999999", "0.99999", "100000000000000000"),
            ("18446744073709551615", "1", "18446744073709551616"),
            ("18446744073709551616", "1", "18446744073709551616"),
            ("1e20", "1", "100000000000000000000"),
            ("0.000000000000000005", "0", "0"),
            ("0.000000000000000015", "0", "0.00000000000000002"),
            ("0.000000000000000025", "0", "0.00000000000000002"),
            ("-1", "0.25", "-0.75"),
            ("0.25", "-1", "-0.75"),
            ("1", "-1e-20", "1"),
        ] {
            assert_eq!(sum(a, b).as_deref(), Some(wanted), "{a} + {b}");
        }
    }

    #[test]
    fn nothing_has_no_sign() {
        for (a, b) in [("-0", "-0"), ("0", "-0"), ("-1", "1"), ("0", "-1e-20"), ("-1e-4940", "0")] {
            assert_eq!(sum(a, b).as_deref(), Some("0"), "{a} + {b}");
        }
    }

    #[test]
    fn texts_are_read_as_the_c_library_reads_them() {
        for (text, wanted) in [
            ("0x10", "16"),
            ("0x1.8p1", "3"),
            ("0X1P-1", "0.5"),
            ("0x.8", "0.5"),
            ("-0xffFF.", "-65535"),
            ("0x123456789abcdef01", "20988295479420645120"),
            ("1e+2", "100"),
            ("+.5e1", "5"),
            ("5.", "5"),
            ("0e99999999999999999999", "0"),
            ("inf", "infinite"),
            ("-InFiNiTy", "infinite"),
        ] {
            assert_eq!(sum(text, "0").as_deref(), Some(wanted), "{text}");
        }
        for text in [
            "", "-", ".", ".e1", "1e", "1e+", "--1", "+-1", " 1", "1 ", "1\0", "1_0", "1,5", "0x", "0x.", "0x1p",
            "0xg", "nan", "-nan", "nan(1)", "infin", "1e5x",
        ] {
            assert_eq!(LongDouble::parse(text.as_bytes()), None, "{text:?}");
        }
        let zeros = |count: usize| "0".repeat(count) + "1";
        assert_eq!(sum(&zeros(TEXT_BYTES_MAX - 1), "0").as_deref(), Some("1"));
        assert_eq!(sum(&zeros(TEXT_BYTES_MAX), "0"), None);
    }

    #[test]
    fn the_range_ends_where_that_of_the_processor_does() {
        assert!(sum("1.18973149535723176502e+4932", "0").is_some_and(|text| text.len() == 4933));
        assert_eq!(sum("1.18973149535723176502e+4932", "1e4920").as_deref(), Some("infinite"));
        assert_eq!(sum("1.1897314953572317651e+4932", "0"), None);
        assert_eq!(sum("3.6e-4951", "0").as_deref(), Some("0"));
        assert_eq!(sum("1.9e-4951", "0").as_deref(), Some("0"));
        assert_eq!(sum("1.8e-4951", "0"), None);
        for text in
            ["1e4950", "1e99999999999999999999", "1e-4952", "1e-99999999999999999999", "0x1p16384", "0x1p-16447"]
        {
            assert_eq!(sum(text, "0"), None, "{text}");
        }
        assert_eq!(sum("inf", "-inf").as_deref(), Some("infinite"));
    }

    #[test]
    fn long_texts_are_rounded_once() {
        let nines = format!("0.{}", "9".repeat(5000));
        assert_eq!(sum(&nines, "0").as_deref(), Some("1"));
        let tie = format!("18446744073709551617.{}1", "0".repeat(4000));
        assert_eq!(sum(&tie, "0").as_deref(), Some("18446744073709551618"));
        assert_eq!(sum("18446744073709551617", "0").as_deref(), Some("18446744073709551616"));
    }
}
