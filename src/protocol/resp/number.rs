//! Numbers as text, the way Redis prints them.
//!
//! The digits of a double are always the shortest and closest; Redis 8.2.3 misses them in the last place for about
//! one double in a thousand of seventeen digits (1e23 is `99999999999999990000000` there).

use std::fmt::Write;

use super::Output;

/// Writes `kind`, the number, CR LF.
#[inline]
pub(super) fn header(kind: u8, number: i64, out: &mut impl Output) {
    let mut digits = itoa::Buffer::new();
    let digits = digits.format(number).as_bytes();
    let mut line = [0u8; 23];
    line[0] = kind;
    line[1..=digits.len()].copy_from_slice(digits);
    line[digits.len() + 1] = b'\r';
    line[digits.len() + 2] = b'\n';
    out.extend(&line[..digits.len() + 3]);
}

/// The text of a double: shortest digits that read back as the same value, plain notation where that is short.
pub(in crate::protocol) struct DoubleText {
    bytes: [u8; 40],
    len: usize,
}

impl DoubleText {
    pub(in crate::protocol) fn new(value: f64) -> Self {
        let mut text = DoubleText { bytes: [0; 40], len: 0 };
        text.format(value);
        text
    }

    pub(in crate::protocol) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    fn put(&mut self, bytes: &[u8]) {
        self.bytes[self.len..][..bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }

    fn zeros(&mut self, count: usize) {
        self.bytes[self.len..][..count].fill(b'0');
        self.len += count;
    }

    fn format(&mut self, value: f64) {
        // Up to 2^62 a whole number is printed as an integer, digit for digit.
        const WHOLE_MAX: f64 = (1u64 << 62) as f64;
        if value.is_nan() {
            return self.put(b"nan");
        }
        if value.is_infinite() {
            return self.put(if value > 0.0 { b"inf" } else { b"-inf" });
        }
        if value.abs() <= WHOLE_MAX && value.trunc() == value && !(value == 0.0 && value.is_sign_negative()) {
            return self.put(itoa::Buffer::new().format(value as i64).as_bytes());
        }
        if value.is_sign_negative() {
            self.put(b"-");
        }
        let mut scientific = Stack { bytes: [0; 32], len: 0 };
        // Twenty-five bytes are the most a double needs in this form.
        let _ = write!(scientific, "{:e}", value.abs());
        self.lay_out(&scientific.bytes[..scientific.len]);
    }

    /// From `d.ddde±x`, the digits with a point in the right place, or with an exponent when that is shorter.
    fn lay_out(&mut self, scientific: &[u8]) {
        let split = scientific.iter().position(|&byte| byte == b'e').unwrap_or(scientific.len());
        let exponent: i32 = std::str::from_utf8(scientific.get(split + 1..).unwrap_or(b""))
            .ok()
            .and_then(|text| text.parse().ok())
            .unwrap_or(0);
        let mut digits = [0u8; 24];
        let mut count = 0;
        for &byte in scientific[..split].iter().filter(|byte| byte.is_ascii_digit()) {
            digits[count] = byte;
            count += 1;
        }
        let digits = &digits[..count];
        let last = exponent - (count as i32 - 1);
        if last >= 0 && exponent.unsigned_abs() < count as u32 + 7 {
            self.put(digits);
            self.zeros(last as usize);
        } else if last < 0 && (last > -7 || exponent.unsigned_abs() < 4) {
            self.with_point(digits, exponent);
        } else {
            self.with_exponent(digits, exponent);
        }
    }

    fn with_point(&mut self, digits: &[u8], exponent: i32) {
        if exponent < 0 {
            self.put(b"0.");
            self.zeros((-exponent - 1) as usize);
            self.put(digits);
        } else {
            let whole = exponent as usize + 1;
            self.put(&digits[..whole]);
            self.put(b".");
            self.put(&digits[whole..]);
        }
    }

    fn with_exponent(&mut self, digits: &[u8], exponent: i32) {
        self.put(&digits[..1]);
        if digits.len() > 1 {
            self.put(b".");
            self.put(&digits[1..]);
        }
        self.put(if exponent < 0 { b"e-" } else { b"e+" });
        self.put(itoa::Buffer::new().format(exponent.unsigned_abs()).as_bytes());
    }
}

struct Stack {
    bytes: [u8; 32],
    len: usize,
}

impl Write for Stack {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let end = self.len + text.len();
        self.bytes.get_mut(self.len..end).ok_or(std::fmt::Error)?.copy_from_slice(text.as_bytes());
        self.len = end;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::DoubleText;

    fn text(value: f64) -> String {
        String::from_utf8(DoubleText::new(value).as_bytes().to_vec()).unwrap()
    }

    #[test]
    fn doubles_look_as_redis_prints_them() {
        let seen = [
            (3.25, "3.25"),
            (0.0, "0"),
            (3.0, "3"),
            (-3.5, "-3.5"),
            (1e-6, "0.000001"),
            (1.5e-6, "1.5e-6"),
            (1.234567e-4, "1.234567e-4"),
            (0.001234567, "0.001234567"),
            (90071.99254740993, "9.007199254740993e+4"),
            (1234567890.123456, "1234567890.123456"),
            (1e18, "1000000000000000000"),
            (1e19, "1e+19"),
            (4611686018427387904.0, "4611686018427387904"),
            (9223372036854775808.0, "9223372036854776000"),
            (-9223372036854775808.0, "-9223372036854776000"),
            (9.007199254740994e22, "90071992547409940000000"),
            (9.007199254740993e23, "9.007199254740993e+23"),
            (5e-324, "5e-324"),
            (f64::MAX, "1.7976931348623157e+308"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
            (f64::NAN, "nan"),
        ];
        for (value, expected) in seen {
            assert_eq!(text(value), expected);
        }
    }

    proptest! {
        #[test]
        fn doubles_read_back_as_themselves(bits in any::<u64>()) {
            let value = f64::from_bits(bits);
            prop_assume!(value.is_finite());
            prop_assert_eq!(text(value).parse::<f64>().unwrap(), value);
        }
    }
}
