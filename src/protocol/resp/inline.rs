//! Words of an inline request: what people type into a plain terminal.
//!
//! Facts of the form, as Redis 8.2.3 answers them: blanks before a word are space, TAB, LF, VT, FF and CR, but only
//! space, TAB, CR and LF end one; a quote opens anywhere in a word and a closing quote ends it, so that more of the
//! word right behind it is an error. Double quotes know `\n \r \t \b \a \xHH`, and a backslash before any other byte
//! stands for that byte; single quotes know `\'` only.

use crate::command::{OwnedArgs, Span};
use crate::reply::ProtocolError;

/// Where the words of a line are.
pub(super) enum Words {
    /// As spans of the line.
    InPlace,
    /// Copied: the line had quotes.
    Copied(OwnedArgs),
}

/// Splits `line`, which lies at `base` of its buffer and has no line end. Without quotes the words are appended to
/// `spans`, relative to that buffer.
///
/// # Errors
/// [`ProtocolError::UnbalancedQuotes`].
pub(super) fn split(line: &[u8], base: u32, spans: &mut Vec<Span>) -> Result<Words, ProtocolError> {
    if memchr::memchr2(b'"', b'\'', line).is_some() {
        return Ok(Words::Copied(split_words(line)?.iter().map(Vec::as_slice).collect()));
    }
    let mut at = 0;
    while let Some(start) = next_word(line, at) {
        let end = line[start..].iter().position(|&byte| ends_word(byte)).map_or(line.len(), |len| start + len);
        spans.push(Span { start: base + start as u32, len: (end - start) as u32 });
        at = end;
    }
    Ok(Words::InPlace)
}

/// The words of a line that has no line end, each as the bytes it stands for: for clients that are given commands as
/// lines.
///
/// # Errors
/// [`ProtocolError::UnbalancedQuotes`].
pub fn split_words(line: &[u8]) -> Result<Vec<Vec<u8>>, ProtocolError> {
    let mut words: Vec<Vec<u8>> = Vec::new();
    let mut at = 0;
    while let Some(start) = next_word(line, at) {
        let mut word = Vec::new();
        at = start;
        while let Some(&byte) = line.get(at) {
            at += 1;
            match byte {
                b'"' | b'\'' => {
                    at = quoted(line, at, byte, &mut word)?;
                    if line.get(at).is_some_and(|&next| !is_blank(next)) {
                        return Err(ProtocolError::UnbalancedQuotes);
                    }
                    break;
                }
                byte if ends_word(byte) => break,
                byte => word.push(byte),
            }
        }
        words.push(word);
    }
    Ok(words)
}

/// Reads on behind an opening `quote` and gives the offset behind the closing one.
fn quoted(line: &[u8], mut at: usize, quote: u8, word: &mut Vec<u8>) -> Result<usize, ProtocolError> {
    loop {
        match (&line[at..], quote) {
            ([], _) => return Err(ProtocolError::UnbalancedQuotes),
            ([b'\\', b'x', high, low, ..], b'"') if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                word.push(hex(*high) << 4 | hex(*low));
                at += 4;
            }
            ([b'\\', escaped, ..], b'"') => {
                word.push(unescape(*escaped));
                at += 2;
            }
            ([b'\\', b'\'', ..], b'\'') => {
                word.push(b'\'');
                at += 2;
            }
            ([byte, ..], _) if *byte == quote => return Ok(at + 1),
            ([byte, ..], _) => {
                word.push(*byte);
                at += 1;
            }
        }
    }
}

fn next_word(line: &[u8], at: usize) -> Option<usize> {
    line[at..].iter().position(|&byte| !is_blank(byte)).map(|skipped| at + skipped)
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

fn ends_word(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

fn unescape(byte: u8) -> u8 {
    match byte {
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'b' => 8,
        b'a' => 7,
        other => other,
    }
}

fn hex(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        _ => (digit | 0x20) - b'a' + 10,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::Args;

    fn words(line: &[u8]) -> Option<Vec<Vec<u8>>> {
        let mut spans = Vec::new();
        match split(line, 0, &mut spans).ok()? {
            Words::InPlace => Some(Args::new(line, &spans).iter().map(<[u8]>::to_vec).collect()),
            Words::Copied(args) => Some(args.as_args().iter().map(<[u8]>::to_vec).collect()),
        }
    }

    #[test]
    fn words_are_those_redis_reads() {
        let seen: [(&[u8], &[&[u8]]); 18] = [
            (b"", &[]),
            (b"  \t\x0b\x0c", &[]),
            (b"  ping  hi ", &[b"ping", b"hi"]),
            (b"ping\ta\x0bb\x0cc", &[b"ping", b"a\x0bb\x0cc"]),
            (b"ping \x0bhi", &[b"ping", b"hi"]),
            (b"ping a\rb", &[b"ping", b"a", b"b"]),
            (b"ping \x80\xff", &[b"ping", b"\x80\xff"]),
            (b"ping a\\b", &[b"ping", b"a\\b"]),
            (b"ping \"\"", &[b"ping", b""]),
            (b"''", &[b""]),
            (b"ping a\"b\"", &[b"ping", b"ab"]),
            (b"ping a\"b c\" d", &[b"ping", b"ab c", b"d"]),
            (b"'ping' 'a b'", &[b"ping", b"a b"]),
            (b"ping \"a\"\x0bb", &[b"ping", b"a", b"b"]),
            (b"ping \"\\x41\\n\\r\\t\\b\\a\\q\\\"\\xzz\\x4\"", &[b"ping", b"A\n\r\t\x08\x07q\"xzzx4"]),
            (b"ping \"\\x0a\\xFf\"", &[b"ping", b"\n\xff"]),
            (b"ping 'a\\'b\\n'", &[b"ping", b"a'b\\n"]),
            (b"ping \"a\\\\\" ", &[b"ping", b"a\\"]),
        ];
        for (line, expected) in seen {
            assert_eq!(
                words(line).as_deref(),
                Some(&expected.iter().map(|w| w.to_vec()).collect::<Vec<_>>()[..]),
                "{line:?}"
            );
        }
    }

    #[test]
    fn a_quote_that_stays_open_or_goes_on_is_refused() {
        let lines: [&[u8]; 9] = [
            b"set a \"b",
            b"set a 'b",
            b"set a \"b\"c",
            b"ping 'a'b",
            b"ping a'b",
            b"ping \"a\\",
            b"ping \"\\\"",
            b"ping 'a\\'b\\n\\\\'",
            b"\"p\"ing",
        ];
        for line in lines {
            assert_eq!(words(line), None, "{line:?}");
        }
    }
}
