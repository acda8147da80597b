//! RESP2 and RESP3.
//!
//! [`request`] reads what clients send, [`reply`] writes what a server answers; [`value`] and
//! [`value_decoder`] are the other direction of both, for clients.

mod inline;
mod number;
pub mod reply;
pub mod request;
pub mod value;
pub mod value_decoder;

pub use inline::split_words;
pub(super) use number::DoubleText;
pub use reply::{Output, Version};
pub use request::{Decoded, Decoder, Limits};
pub use value::{Value, encode_request};
pub use value_decoder::{ValueDecoder, ValueError};

/// Reads `digits CR x` at the start of `line`: the length and the bytes it took, for lengths of up to nine digits in
/// canonical form. `None` for all else, which is not yet an error: the slow path decides.
#[inline]
fn short_length(line: &[u8]) -> Option<(u32, usize)> {
    match line {
        [ones @ b'0'..=b'9', b'\r', _, ..] => Some((u32::from(ones - b'0'), 3)),
        [tens @ b'1'..=b'9', ones @ b'0'..=b'9', b'\r', _, ..] => {
            Some((u32::from(tens - b'0') * 10 + u32::from(ones - b'0'), 4))
        }
        _ => longer_length(line),
    }
}

fn longer_length(line: &[u8]) -> Option<(u32, usize)> {
    let mut value = 0u32;
    for (at, &byte) in line.iter().enumerate().take(10) {
        let digit = byte.wrapping_sub(b'0');
        if digit <= 9 && at < 9 {
            value = value * 10 + u32::from(digit);
        } else {
            let canonical = at > 1 && line[0] != b'0';
            return (byte == b'\r' && canonical && line.len() > at + 1).then_some((value, at + 2));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::short_length;

    #[test]
    fn short_lengths_are_canonical_and_followed_by_two_bytes() {
        assert_eq!(short_length(b"0\r\n"), Some((0, 3)));
        assert_eq!(short_length(b"10\r\n"), Some((10, 4)));
        assert_eq!(short_length(b"305\r\n"), Some((305, 5)));
        assert_eq!(short_length(b"123456789\r\nx"), Some((123_456_789, 11)));
        assert_eq!(short_length(b"7\r?"), Some((7, 3)));
        for line in
            [&b""[..], b"1", b"1\r", b"\r\n", b"01\r\n", b"00\r\n", b"-1\r\n", b"1234567890\r\n", b"1\n\r", b"1x\r\n"]
        {
            assert_eq!(short_length(line), None, "{line:?}");
        }
    }
}
