//! What a client reads and writes: every RESP2 and RESP3 type, and requests.
//!
//! Deliberately unknown here: how a value arrived, what was asked, and whether a push or a reply was expected.

use super::Output;
use super::number::{DoubleText, header};

/// One value as it was received.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// `$-1` or `_`.
    Nil,
    /// `*-1`.
    NilArray,
    /// `+`: a line.
    Status(Vec<u8>),
    /// `-` or `!`: code and text.
    Error(Vec<u8>),
    /// `:`
    Integer(i64),
    /// `,`
    Double(f64),
    /// `#`
    Boolean(bool),
    /// `(`: decimal digits, perhaps with a sign.
    BigNumber(Vec<u8>),
    /// `$`: any bytes.
    Bulk(Vec<u8>),
    /// `=`: text with its format, `txt` or `mkd`.
    Verbatim {
        /// Three bytes.
        format: [u8; 3],
        /// What follows the colon.
        text: Vec<u8>,
    },
    /// `*`
    Array(Vec<Value>),
    /// `~`
    Set(Vec<Value>),
    /// `%`
    Map(Vec<(Value, Value)>),
    /// `>`: not an answer to a request.
    Push(Vec<Value>),
    /// `|`: a value with remarks on it.
    Attributed(Box<Attributed>),
}

/// A value and the attributes that were sent before it.
#[derive(Debug, Clone, PartialEq)]
pub struct Attributed {
    /// The remarks.
    pub attributes: Vec<(Value, Value)>,
    /// What they are about.
    pub value: Value,
}

impl Value {
    /// The bytes of a string of any kind, a status and an error included.
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Value::Status(bytes) | Value::Error(bytes) | Value::Bulk(bytes) | Value::BigNumber(bytes) => Some(bytes),
            Value::Verbatim { text, .. } => Some(text),
            _ => None,
        }
    }

    /// The number of an integer.
    pub fn as_integer(&self) -> Option<i64> {
        match self {
            Value::Integer(number) => Some(*number),
            _ => None,
        }
    }

    /// The elements of an array, a set or a push.
    pub fn as_items(&self) -> Option<&[Value]> {
        match self {
            Value::Array(items) | Value::Set(items) | Value::Push(items) => Some(items),
            _ => None,
        }
    }

    /// True for an error.
    pub fn is_error(&self) -> bool {
        matches!(self, Value::Error(_))
    }

    /// True for a push, with or without attributes.
    pub fn is_push(&self) -> bool {
        match self {
            Value::Push(_) => true,
            Value::Attributed(attributed) => matches!(attributed.value, Value::Push(_)),
            _ => false,
        }
    }

    /// Writes the value in its own type, RESP3 where RESP2 has none. Recursive: for values within the nesting bound.
    pub fn encode(&self, out: &mut impl Output) {
        match self {
            Value::Nil => out.extend(b"_\r\n"),
            Value::NilArray => out.extend(b"*-1\r\n"),
            Value::Status(line) => encode_line(b'+', line, out),
            Value::Error(text) if text.iter().any(|byte| matches!(byte, b'\r' | b'\n')) => encode_text(b'!', text, out),
            Value::Error(line) => encode_line(b'-', line, out),
            Value::Integer(number) => header(b':', *number, out),
            Value::Double(number) => encode_line(b',', DoubleText::new(*number).as_bytes(), out),
            Value::Boolean(yes) => out.extend(if *yes { b"#t\r\n" } else { b"#f\r\n" }),
            Value::BigNumber(digits) => encode_line(b'(', digits, out),
            Value::Bulk(bytes) => encode_text(b'$', bytes, out),
            Value::Verbatim { format, text } => {
                header(b'=', text.len() as i64 + 4, out);
                out.extend(format);
                encode_line(b':', text, out);
            }
            Value::Array(items) => encode_items(b'*', items, out),
            Value::Set(items) => encode_items(b'~', items, out),
            Value::Push(items) => encode_items(b'>', items, out),
            Value::Map(pairs) => encode_pairs(b'%', pairs, out),
            Value::Attributed(attributed) => {
                encode_pairs(b'|', &attributed.attributes, out);
                attributed.value.encode(out);
            }
        }
    }
}

fn encode_line(kind: u8, line: &[u8], out: &mut impl Output) {
    out.extend(&[kind]);
    out.extend(line);
    out.extend(b"\r\n");
}

fn encode_text(kind: u8, bytes: &[u8], out: &mut impl Output) {
    header(kind, bytes.len() as i64, out);
    out.extend(bytes);
    out.extend(b"\r\n");
}

fn encode_items(kind: u8, items: &[Value], out: &mut impl Output) {
    header(kind, items.len() as i64, out);
    items.iter().for_each(|item| item.encode(out));
}

fn encode_pairs(kind: u8, pairs: &[(Value, Value)], out: &mut impl Output) {
    header(kind, pairs.len() as i64, out);
    for (key, value) in pairs {
        key.encode(out);
        value.encode(out);
    }
}

/// Writes one request: an array of bulk strings, the command's name first.
pub fn encode_request<A: AsRef<[u8]>>(args: &[A], out: &mut impl Output) {
    header(b'*', args.len() as i64, out);
    args.iter().for_each(|arg| encode_text(b'$', arg.as_ref(), out));
}

const _: () = assert!(size_of::<Value>() <= 32);
