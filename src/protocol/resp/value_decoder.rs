//! Reads values for a client, from a server that may be anything.
//!
//! Invariant: no recursion over what is received, nesting is bounded by [`limits::VALUE_DEPTH_MAX`].
//! Invariant: memory follows the bytes received; an announced length reserves a few slots at most.
//! Invariant: each received byte is taken once: tokens are moved out as they complete.
//! Deliberately unknown here: what was asked, and whether a push or a reply was expected.

use std::fmt;

use super::short_length;
use super::value::{Attributed, Value};
use crate::limits;

/// The server broke the framing; the connection is of no further use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueError {
    /// No type begins with this byte.
    UnknownType(u8),
    /// A length or count that is no number, or beyond [`limits::VALUE_BULK_BYTES_MAX`] or
    /// [`limits::VALUE_ELEMENTS_MAX`].
    BadLength,
    /// A number, boolean or null that is none.
    BadScalar,
    /// CR without LF, or a string that is longer than announced.
    BadLineEnd,
    /// A line beyond [`limits::VALUE_LINE_BYTES_MAX`].
    LineTooLong,
    /// Nesting beyond [`limits::VALUE_DEPTH_MAX`].
    TooDeep,
    /// A part of a streamed string or aggregate where none is open, or something else inside a streamed string.
    OutOfPlace,
    /// A streamed map ended behind a key.
    OddMap,
    /// A frame that is no reply of the binary protocol.
    NoReply,
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ValueError::UnknownType(byte) => write!(f, "no reply begins with '{}'", byte.escape_ascii()),
            ValueError::BadLength => f.write_str("a length is no number or too large"),
            ValueError::BadScalar => f.write_str("a number, boolean or null is malformed"),
            ValueError::BadLineEnd => f.write_str("a line or string does not end where it should"),
            ValueError::LineTooLong => f.write_str("a line does not end"),
            ValueError::TooDeep => f.write_str("values are nested too deep"),
            ValueError::OutOfPlace => f.write_str("a part of a streamed value is out of place"),
            ValueError::NoReply => f.write_str("a frame is no reply of the binary protocol"),
            ValueError::OddMap => f.write_str("a map ends behind a key"),
        }
    }
}

impl std::error::Error for ValueError {}

/// Reads values from a client's buffer, token by token.
#[derive(Debug, Default)]
pub struct ValueDecoder {
    stack: Vec<Frame>,
    /// A streamed string on top of the stack.
    streamed: Option<Vec<u8>>,
    /// Up to here the token at the start of the buffer has no line end.
    searched: usize,
}

#[derive(Debug)]
struct Frame {
    kind: Kind,
    items: Vec<Value>,
    /// Values still to come; none until a `.` ends it.
    remaining: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Array,
    Set,
    Push,
    Map,
    /// Pairs, and then the value they are about.
    Attributes,
}

enum Token {
    Value(Value),
    Open(Kind, Option<u64>),
    OpenText,
    Part(Vec<u8>),
    End,
}

impl ValueDecoder {
    /// Takes tokens from the start of `buf`. Gives how many bytes are done with, and the value they complete, if one
    /// is; call again with the rest of the buffer. Costs one pass over the bytes received.
    ///
    /// # Errors
    /// The server broke the framing; do not read on.
    pub fn decode(&mut self, buf: &[u8]) -> Result<(usize, Option<Value>), ValueError> {
        let mut used = 0;
        while let Some((token, len)) = self.token(&buf[used..])? {
            used += len;
            self.searched = 0;
            if let Some(value) = self.place(token)? {
                return Ok((used, Some(value)));
            }
        }
        Ok((used, None))
    }

    /// True between values: nothing of the next one was taken yet.
    pub fn is_between_values(&self) -> bool {
        self.stack.is_empty() && self.streamed.is_none()
    }

    fn token(&mut self, buf: &[u8]) -> Result<Option<(Token, usize)>, ValueError> {
        let Some((&kind, rest)) = buf.split_first() else { return Ok(None) };
        if self.streamed.is_some() && kind != b';' {
            return Err(ValueError::OutOfPlace);
        }
        match kind {
            b'$' | b'=' | b'!' | b';' => return self.text(kind, buf),
            b'*' | b'~' | b'>' | b'%' | b'|' => return self.aggregate(kind, buf),
            b'+' | b'-' | b':' | b',' | b'#' | b'(' | b'_' | b'.' => {}
            other => return Err(ValueError::UnknownType(other)),
        }
        let Some(end) = self.line_end(buf)? else { return Ok(None) };
        let line = &rest[..end - 1];
        let value = match kind {
            b'+' => Value::Status(line.to_vec()),
            b'-' => Value::Error(line.to_vec()),
            b':' => Value::Integer(integer(line).ok_or(ValueError::BadScalar)?),
            b',' => Value::Double(double(line).ok_or(ValueError::BadScalar)?),
            b'(' if is_decimal(line) => Value::BigNumber(line.to_vec()),
            b'#' if line == b"t" => Value::Boolean(true),
            b'#' if line == b"f" => Value::Boolean(false),
            b'_' if line.is_empty() => Value::Nil,
            b'.' if line.is_empty() => return Ok(Some((Token::End, end + 2))),
            _ => return Err(ValueError::BadScalar),
        };
        Ok(Some((Token::Value(value), end + 2)))
    }

    fn text(&mut self, kind: u8, buf: &[u8]) -> Result<Option<(Token, usize)>, ValueError> {
        let Some((len, start)) = self.length(buf)? else { return Ok(None) };
        let len = match len {
            Length::Number(len) if len <= limits::VALUE_BULK_BYTES_MAX => len as usize,
            Length::Nil if kind == b'$' => return Ok(Some((Token::Value(Value::Nil), start))),
            Length::Streamed if kind == b'$' => return Ok(Some((Token::OpenText, start))),
            _ => return Err(ValueError::BadLength),
        };
        if kind == b';' && self.streamed.is_none() {
            return Err(ValueError::OutOfPlace);
        }
        if kind == b';' && len == 0 {
            return Ok(Some((Token::Part(Vec::new()), start)));
        }
        let Some(rest) = buf.get(start..).filter(|rest| rest.len() >= len + 2) else { return Ok(None) };
        if &rest[len..len + 2] != b"\r\n" {
            return Err(ValueError::BadLineEnd);
        }
        let text = &rest[..len];
        let token = match kind {
            b'$' => Token::Value(Value::Bulk(text.to_vec())),
            b'!' => Token::Value(Value::Error(text.to_vec())),
            b';' => Token::Part(text.to_vec()),
            _ => match text {
                [a, b, c, b':', text @ ..] => {
                    Token::Value(Value::Verbatim { format: [*a, *b, *c], text: text.to_vec() })
                }
                _ => return Err(ValueError::BadLength),
            },
        };
        Ok(Some((token, start + len + 2)))
    }

    fn aggregate(&mut self, kind: u8, buf: &[u8]) -> Result<Option<(Token, usize)>, ValueError> {
        let Some((len, used)) = self.length(buf)? else { return Ok(None) };
        let (kind, per_element) = match kind {
            b'*' => (Kind::Array, 1),
            b'~' => (Kind::Set, 1),
            b'>' => (Kind::Push, 1),
            b'%' => (Kind::Map, 2),
            _ => (Kind::Attributes, 2),
        };
        let count = match len {
            Length::Number(count) if count <= limits::VALUE_ELEMENTS_MAX => Some(count * per_element),
            Length::Nil if kind == Kind::Array => return Ok(Some((Token::Value(Value::NilArray), used))),
            Length::Streamed if matches!(kind, Kind::Array | Kind::Set | Kind::Map) => None,
            _ => return Err(ValueError::BadLength),
        };
        let about = u64::from(kind == Kind::Attributes);
        Ok(Some((Token::Open(kind, count.map(|count| count + about)), used)))
    }

    /// The length behind the first byte of `buf`, and the offset behind its line.
    fn length(&mut self, buf: &[u8]) -> Result<Option<(Length, usize)>, ValueError> {
        if let Some((len, used)) = short_length(&buf[1..])
            && buf[used] == b'\n'
        {
            return Ok(Some((Length::Number(len.into()), used + 1)));
        }
        let Some(end) = self.line_end(buf)? else { return Ok(None) };
        let len = match &buf[1..end] {
            b"?" => Length::Streamed,
            b"-1" => Length::Nil,
            line => match integer(line).map(u64::try_from) {
                Some(Ok(len)) => Length::Number(len),
                _ => return Err(ValueError::BadLength),
            },
        };
        Ok(Some((len, end + 2)))
    }

    /// Offset of the CR that ends the line at the start of `buf`, once its LF is there too.
    fn line_end(&mut self, buf: &[u8]) -> Result<Option<usize>, ValueError> {
        let bound = buf.len().min(limits::VALUE_LINE_BYTES_MAX + 1);
        let from = self.searched.min(bound);
        let Some(end) = memchr::memchr(b'\r', &buf[from..bound]).map(|skipped| from + skipped) else {
            self.searched = bound;
            return if buf.len() > limits::VALUE_LINE_BYTES_MAX { Err(ValueError::LineTooLong) } else { Ok(None) };
        };
        self.searched = end;
        match buf.get(end + 1) {
            Some(b'\n') => Ok(Some(end)),
            Some(_) => Err(ValueError::BadLineEnd),
            None => Ok(None),
        }
    }

    /// Puts a token where it belongs, and gives the outermost value when that is complete.
    fn place(&mut self, token: Token) -> Result<Option<Value>, ValueError> {
        let value = match token {
            Token::Value(value) => value,
            Token::OpenText => {
                self.streamed = Some(Vec::new());
                return Ok(None);
            }
            Token::Part(part) if part.is_empty() => Value::Bulk(self.streamed.take().unwrap_or_default()),
            Token::Part(part) => {
                self.streamed.get_or_insert_default().extend_from_slice(&part);
                return Ok(None);
            }
            Token::Open(kind, Some(0)) => kind.close(Vec::new())?,
            Token::Open(kind, remaining) => {
                if self.stack.len() == limits::VALUE_DEPTH_MAX {
                    return Err(ValueError::TooDeep);
                }
                let slots = remaining.unwrap_or(0).min(limits::VALUE_RESERVED_ELEMENTS_MAX as u64) as usize;
                self.stack.push(Frame { kind, items: Vec::with_capacity(slots), remaining });
                return Ok(None);
            }
            Token::End => match self.stack.pop() {
                Some(Frame { kind, items, remaining: None }) => kind.close(items)?,
                _ => return Err(ValueError::OutOfPlace),
            },
        };
        self.complete(value)
    }

    fn complete(&mut self, mut value: Value) -> Result<Option<Value>, ValueError> {
        while let Some(frame) = self.stack.last_mut() {
            frame.items.push(value);
            match &mut frame.remaining {
                Some(1) => {}
                Some(remaining) => {
                    *remaining -= 1;
                    return Ok(None);
                }
                None => return Ok(None),
            }
            let kind = frame.kind;
            let items = std::mem::take(&mut frame.items);
            self.stack.pop();
            value = kind.close(items)?;
        }
        Ok(Some(value))
    }
}

enum Length {
    Number(u64),
    Nil,
    Streamed,
}

impl Kind {
    fn close(self, mut items: Vec<Value>) -> Result<Value, ValueError> {
        Ok(match self {
            Kind::Array => Value::Array(items),
            Kind::Set => Value::Set(items),
            Kind::Push => Value::Push(items),
            Kind::Map => Value::Map(pairs(items)?),
            Kind::Attributes => {
                let value = items.pop().ok_or(ValueError::OddMap)?;
                Value::Attributed(Box::new(Attributed { attributes: pairs(items)?, value }))
            }
        })
    }
}

fn pairs(items: Vec<Value>) -> Result<Vec<(Value, Value)>, ValueError> {
    let mut pairs = Vec::with_capacity(items.len() / 2);
    let mut items = items.into_iter();
    while let Some(key) = items.next() {
        pairs.push((key, items.next().ok_or(ValueError::OddMap)?));
    }
    Ok(pairs)
}

/// Decimal digits with an optional sign; more generous than what servers are known to send.
fn integer(line: &[u8]) -> Option<i64> {
    if !is_decimal(line) {
        return None;
    }
    std::str::from_utf8(line).ok()?.parse().ok()
}

fn is_decimal(line: &[u8]) -> bool {
    let digits = line.strip_prefix(b"-").or(line.strip_prefix(b"+")).unwrap_or(line);
    !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
}

fn double(line: &[u8]) -> Option<f64> {
    match line {
        b"inf" | b"+inf" => Some(f64::INFINITY),
        b"-inf" => Some(f64::NEG_INFINITY),
        b"nan" | b"-nan" => Some(f64::NAN),
        line if line.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E')) => {
            std::str::from_utf8(line).ok()?.parse().ok()
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A client's reading side.
    #[derive(Default)]
    struct Peer {
        decoder: ValueDecoder,
        buf: Vec<u8>,
        values: Vec<Value>,
        broken: Option<ValueError>,
    }

    impl Peer {
        fn receive(&mut self, bytes: &[u8]) {
            self.buf.extend_from_slice(bytes);
            while self.broken.is_none() {
                match self.decoder.decode(&self.buf) {
                    Ok((used, value)) => {
                        self.buf.drain(..used);
                        let Some(value) = value else { return };
                        self.values.push(value);
                    }
                    Err(broken) => self.broken = Some(broken),
                }
            }
        }

        fn of(bytes: &[u8]) -> Peer {
            let mut peer = Peer::default();
            peer.receive(bytes);
            peer
        }
    }

    fn text(bytes: &[u8]) -> Value {
        Value::Bulk(bytes.to_vec())
    }

    #[test]
    fn each_type_is_read() {
        let attributed =
            Attributed { attributes: vec![(text(b"ttl"), Value::Integer(5))], value: Value::Array(vec![Value::Nil]) };
        let seen = [
            (&b"$-1\r\n"[..], Value::Nil),
            (b"_\r\n", Value::Nil),
            (b"*-1\r\n", Value::NilArray),
            (b"+OK\r\n", Value::Status(b"OK".to_vec())),
            (b"-ERR no\r\n", Value::Error(b"ERR no".to_vec())),
            (b"!6\r\nERR\r\nx\r\n", Value::Error(b"ERR\r\nx".to_vec())),
            (b":-42\r\n", Value::Integer(-42)),
            (b",3.25\r\n", Value::Double(3.25)),
            (b",-inf\r\n", Value::Double(f64::NEG_INFINITY)),
            (b"#t\r\n", Value::Boolean(true)),
            (b"(-123456789012345678901234567890\r\n", Value::BigNumber(b"-123456789012345678901234567890".to_vec())),
            (b"$5\r\na\r\nbc\r\n", text(b"a\r\nbc")),
            (b"=6\r\ntxt:hi\r\n", Value::Verbatim { format: *b"txt", text: b"hi".to_vec() }),
            (b"*0\r\n", Value::Array(Vec::new())),
            (b"*2\r\n*1\r\n:1\r\n$0\r\n\r\n", Value::Array(vec![Value::Array(vec![Value::Integer(1)]), text(b"")])),
            (b"~1\r\n#f\r\n", Value::Set(vec![Value::Boolean(false)])),
            (b"%1\r\n+k\r\n*0\r\n", Value::Map(vec![(Value::Status(b"k".to_vec()), Value::Array(Vec::new()))])),
            (b">1\r\n:1\r\n", Value::Push(vec![Value::Integer(1)])),
            (b"|1\r\n$3\r\nttl\r\n:5\r\n*1\r\n_\r\n", Value::Attributed(Box::new(attributed))),
            (b"$?\r\n;4\r\nHell\r\n;1\r\no\r\n;0\r\n", text(b"Hello")),
            (b"*?\r\n:1\r\n*?\r\n.\r\n.\r\n", Value::Array(vec![Value::Integer(1), Value::Array(Vec::new())])),
            (b"%?\r\n:1\r\n:2\r\n.\r\n", Value::Map(vec![(Value::Integer(1), Value::Integer(2))])),
        ];
        for (bytes, expected) in seen {
            for cut in 0..=bytes.len() {
                let mut peer = Peer::of(&bytes[..cut]);
                if cut < bytes.len() {
                    assert!(peer.values.is_empty(), "{} cut at {cut} looked complete", bytes.escape_ascii());
                    let idle = peer.buf.is_empty() && peer.decoder.is_between_values();
                    assert_eq!(idle, cut == 0, "{} cut at {cut}", bytes.escape_ascii());
                }
                peer.receive(&bytes[cut..]);
                assert_eq!(peer.broken, None, "{}", bytes.escape_ascii());
                assert_eq!(peer.values, std::slice::from_ref(&expected), "{}", bytes.escape_ascii());
                assert!(peer.buf.is_empty() && peer.decoder.is_between_values());
            }
        }
    }

    #[test]
    fn broken_frames_are_told_apart() {
        use ValueError::*;
        let endless = [b"+", &vec![b'x'; limits::VALUE_LINE_BYTES_MAX + 1][..]].concat();
        let deep = b"*1\r\n".repeat(100_000);
        let seen = [
            (&b"?\r\n"[..], UnknownType(b'?')),
            (b"\r\n", UnknownType(b'\r')),
            (b"$-2\r\n", BadLength),
            (b"$x\r\n", BadLength),
            (b"$9223372036854775807\r\n", BadLength),
            (b"$99999999999999999999\r\n", BadLength),
            (b"*4294967296\r\n", BadLength),
            (b"%-1\r\n", BadLength),
            (b">?\r\n", BadLength),
            (b"=3\r\ntxt\r\n", BadLength),
            (b"$2\r\nabc\r\n", BadLineEnd),
            (b"+a\rb\r\n", BadLineEnd),
            (b"$1\rXa\r\n", BadLineEnd),
            (b":1x\r\n", BadScalar),
            (b":9223372036854775808\r\n", BadScalar),
            (b"#y\r\n", BadScalar),
            (b",infinity\r\n", BadScalar),
            (b"(\r\n", BadScalar),
            (b"_x\r\n", BadScalar),
            (b".\r\n", OutOfPlace),
            (b"*1\r\n.\r\n", OutOfPlace),
            (b";0\r\n", OutOfPlace),
            (b"$?\r\n:1\r\n", OutOfPlace),
            (b"%?\r\n:1\r\n.\r\n", OddMap),
            (&endless, LineTooLong),
            (&deep, TooDeep),
        ];
        for (bytes, expected) in seen {
            let peer = Peer::of(bytes);
            assert_eq!(peer.broken, Some(expected), "{}", bytes[..bytes.len().min(40)].escape_ascii());
        }
    }

    #[test]
    fn announcing_much_reserves_little() {
        for announced in [&b"*4294967295\r\n"[..], b"%4294967295\r\n", b">4294967295\r\n", b"$4294967295\r\n"] {
            let peer = Peer::of(announced);
            assert!(peer.broken.is_none() && peer.values.is_empty());
            let reserved: usize = peer.decoder.stack.iter().map(|frame| frame.items.capacity()).sum();
            assert!(reserved <= limits::VALUE_RESERVED_ELEMENTS_MAX);
        }
    }

    fn value() -> impl Strategy<Value = Value> {
        let bytes = || proptest::collection::vec(any::<u8>(), 0..20);
        let line = || proptest::collection::vec(any::<u8>().prop_filter("no CR, LF", |b| !b"\r\n".contains(b)), 0..20);
        let leaf = prop_oneof![
            Just(Value::Nil),
            Just(Value::NilArray),
            line().prop_map(Value::Status),
            bytes().prop_map(Value::Error),
            any::<i64>().prop_map(Value::Integer),
            proptest::num::f64::NORMAL.prop_map(Value::Double),
            any::<bool>().prop_map(Value::Boolean),
            "-?[0-9]{1,40}".prop_map(|digits| Value::BigNumber(digits.into_bytes())),
            bytes().prop_map(Value::Bulk),
            (any::<[u8; 3]>(), bytes()).prop_map(|(format, text)| Value::Verbatim { format, text }),
        ];
        leaf.prop_recursive(4, 40, 6, |inner| {
            let items = || proptest::collection::vec(inner.clone(), 0..6);
            let pairs = || proptest::collection::vec((inner.clone(), inner.clone()), 0..4);
            prop_oneof![
                items().prop_map(Value::Array),
                items().prop_map(Value::Set),
                items().prop_map(Value::Push),
                pairs().prop_map(Value::Map),
                (pairs(), inner.clone())
                    .prop_map(|(attributes, value)| Value::Attributed(Box::new(Attributed { attributes, value }))),
            ]
        })
    }

    proptest! {
        #[test]
        fn values_come_back_as_they_were_written(values in proptest::collection::vec(value(), 1..5), piece in 1usize..80) {
            let mut bytes = Vec::new();
            values.iter().for_each(|value| value.encode(&mut bytes));
            let mut peer = Peer::default();
            bytes.chunks(piece).for_each(|piece| peer.receive(piece));
            prop_assert_eq!(peer.broken, None);
            prop_assert_eq!(peer.values, values);
        }

        #[test]
        fn garbage_means_the_same_in_any_pieces(
            fragments in proptest::collection::vec(
                prop_oneof!["\\PC{0,2}", "[-+:,#(_.;*~>%|$=!]", "[0-9?]{1,2}\r\n", "\r\n", "[*~>%|][0-4]\r\n", ":?[0-9]\r\n"]
                    .prop_map(String::into_bytes),
                0..60,
            ),
            piece in 1usize..9,
        ) {
            let bytes = fragments.concat();
            let expected = Peer::of(&bytes);
            let mut peer = Peer::default();
            bytes.chunks(piece).for_each(|piece| peer.receive(piece));
            prop_assert_eq!(format!("{:?}", peer.values), format!("{:?}", expected.values));
            prop_assert_eq!(peer.broken, expected.broken);
        }
    }
}
