//! Replies as text: in the standard form for people, raw and in two more forms for programs.
//!
//! The standard and the raw form are what `redis-cli` 7.0.15 prints, byte for byte, for every type it knows; big
//! numbers and attributes, which it refuses, have a form of their own. The last line end is part of the text.
//!
//! Deliberately unknown here: what was asked, and where the text goes.

use super::{csv, json};
use crate::client::Value;
use crate::command::quote;

/// How replies are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::app) enum Style {
    /// With types, numbers and quotes: `(integer) 1`, `1) "a"`.
    Standard,
    /// The bytes alone, an item a line.
    Raw,
    /// JSON, a reply a line.
    Json,
    /// Values between commas, a reply a line.
    Csv,
}

/// Appends a reply in the given style.
pub(in crate::app) fn write_reply(value: &Value, style: Style, out: &mut Vec<u8>) {
    match style {
        Style::Standard => standard(value, 0, out),
        Style::Raw => raw(value, out),
        Style::Json => json::write_json(value, out),
        Style::Csv => csv::write_csv(value, out),
    }
    out.push(b'\n');
}

/// Appends a reply that is a text of lines for people, such as INFO's, as it is in every style but JSON. What is no
/// text is written as any reply.
pub(in crate::app) fn write_text(value: &Value, style: Style, out: &mut Vec<u8>) {
    match value {
        Value::Bulk(text) | Value::Verbatim { text, .. } if style != Style::Json => {
            out.extend_from_slice(text);
            if !text.ends_with(b"\n") {
                out.push(b'\n');
            }
        }
        other => write_reply(other, style, out),
    }
}

/// Everything but the line end. Lines after the first are moved right by `indent`.
fn standard(value: &Value, indent: usize, out: &mut Vec<u8>) {
    match value {
        Value::Nil | Value::NilArray => out.extend_from_slice(b"(nil)"),
        Value::Status(text) | Value::Verbatim { text, .. } => out.extend_from_slice(text),
        Value::Error(text) => marked("(error) ", text, out),
        Value::Integer(number) => marked("(integer) ", number.to_string().as_bytes(), out),
        Value::Double(number) => marked("(double) ", &double(*number), out),
        Value::BigNumber(digits) => marked("(big number) ", digits, out),
        Value::Boolean(yes) => out.extend_from_slice(if *yes { b"(true)" } else { b"(false)" }),
        Value::Bulk(bytes) => quote(bytes, out),
        Value::Array(items) => numbered(items, ')', "(empty array)", indent, out),
        Value::Set(items) => numbered(items, '~', "(empty set)", indent, out),
        Value::Push(items) => numbered(items, ')', "(empty push)", indent, out),
        Value::Map(pairs) => paired(pairs, '#', indent, out),
        Value::Attributed(attributed) => {
            if !attributed.attributes.is_empty() {
                paired(&attributed.attributes, '|', indent, out);
                next_line(indent, out);
            }
            standard(&attributed.value, indent, out);
        }
    }
}

fn marked(mark: &str, text: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(mark.as_bytes());
    out.extend_from_slice(text);
}

fn numbered(items: &[Value], mark: char, empty: &str, indent: usize, out: &mut Vec<u8>) {
    if items.is_empty() {
        out.extend_from_slice(empty.as_bytes());
    }
    for (index, item) in items.iter().enumerate() {
        let indent = number(index, items.len(), mark, indent, out);
        standard(item, indent, out);
    }
}

fn paired(pairs: &[(Value, Value)], mark: char, indent: usize, out: &mut Vec<u8>) {
    if pairs.is_empty() {
        out.extend_from_slice(b"(empty hash)");
    }
    for (index, (key, value)) in pairs.iter().enumerate() {
        let indent = number(index, pairs.len(), mark, indent, out);
        standard(key, indent, out);
        out.extend_from_slice(b" => ");
        if takes_lines(value) {
            next_line(indent, out);
        }
        standard(value, indent, out);
    }
}

/// Writes `1) ` and the like, on a new line unless it is the first, and answers where the item's own lines begin.
fn number(index: usize, count: usize, mark: char, indent: usize, out: &mut Vec<u8>) -> usize {
    if index > 0 {
        next_line(indent, out);
    }
    let width = count.ilog10() as usize + 1;
    out.extend_from_slice(format!("{:>width$}{mark} ", index + 1).as_bytes());
    indent + width + 2
}

fn takes_lines(value: &Value) -> bool {
    match value {
        Value::Array(items) | Value::Set(items) | Value::Push(items) => items.len() > 1,
        Value::Map(pairs) => pairs.len() > 1,
        Value::Attributed(_) => true,
        _ => false,
    }
}

fn next_line(indent: usize, out: &mut Vec<u8>) {
    out.push(b'\n');
    out.resize(out.len() + indent, b' ');
}

/// Everything but the last line end.
fn raw(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Nil | Value::NilArray => {}
        Value::Status(bytes) | Value::Bulk(bytes) | Value::BigNumber(bytes) | Value::Verbatim { text: bytes, .. } => {
            out.extend_from_slice(bytes);
        }
        // An empty line sets errors apart, inside an array as well.
        Value::Error(text) => {
            out.extend_from_slice(text);
            out.push(b'\n');
        }
        Value::Integer(number) => out.extend_from_slice(number.to_string().as_bytes()),
        Value::Double(number) => out.extend_from_slice(&double(*number)),
        Value::Boolean(yes) => out.extend_from_slice(if *yes { b"(true)" } else { b"(false)" }),
        Value::Array(items) | Value::Set(items) | Value::Push(items) => {
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(b'\n');
                }
                raw(item, out);
            }
        }
        Value::Map(pairs) => {
            for (index, (key, value)) in pairs.iter().enumerate() {
                if index > 0 {
                    out.push(b'\n');
                }
                raw(key, out);
                out.push(b' ');
                raw(value, out);
            }
        }
        Value::Attributed(attributed) => raw(&attributed.value, out),
    }
}

/// The number as a server writes it.
pub(super) fn double(number: f64) -> Vec<u8> {
    let mut line = Vec::new();
    Value::Double(number).encode(&mut line);
    line[1..].trim_ascii_end().to_vec()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::client::split_words;

    fn bulk(text: &str) -> Value {
        Value::Bulk(text.into())
    }

    fn status(text: &str) -> Value {
        Value::Status(text.into())
    }

    fn integers(numbers: &[i64]) -> Vec<Value> {
        numbers.iter().copied().map(Value::Integer).collect()
    }

    /// Fails unless the value reads like this in the standard and in the raw style.
    fn check(value: &Value, wanted_standard: &str, wanted_raw: &str) {
        for (style, wanted) in [(Style::Standard, wanted_standard), (Style::Raw, wanted_raw)] {
            let mut text = Vec::new();
            write_reply(value, style, &mut text);
            assert_eq!(text.escape_ascii().to_string(), wanted.as_bytes().escape_ascii().to_string(), "{value:?}");
        }
    }

    // What is expected below was seen from redis-cli 7.0.15, with `--no-raw` and `--raw`.

    #[test]
    fn single_values_read_as_in_redis_cli() {
        check(&status("OK"), "OK\n", "OK\n");
        check(&status("a\\b\"c"), "a\\b\"c\n", "a\\b\"c\n");
        check(&Value::Error(b"ERR no".into()), "(error) ERR no\n", "ERR no\n\n");
        check(&Value::Integer(-5), "(integer) -5\n", "-5\n");
        check(&bulk("hello\n"), "\"hello\\n\"\n", "hello\n\n");
        check(&bulk(""), "\"\"\n", "\n");
        check(&bulk("ä"), "\"\\xc3\\xa4\"\n", "ä\n");
        check(
            &bulk("a\"\\\n\r\t\x07\x08\x00'\x1b"),
            "\"a\\\"\\\\\\n\\r\\t\\a\\b\\x00'\\x1b\"\n",
            "a\"\\\n\r\t\x07\x08\x00'\x1b\n",
        );
        check(&Value::Nil, "(nil)\n", "\n");
        check(&Value::NilArray, "(nil)\n", "\n");
        check(&Value::Double(1.5), "(double) 1.5\n", "1.5\n");
        check(&Value::Double(f64::INFINITY), "(double) inf\n", "inf\n");
        check(&Value::Boolean(true), "(true)\n", "(true)\n");
        check(&Value::Boolean(false), "(false)\n", "(false)\n");
        check(&Value::Verbatim { format: *b"txt", text: b"a\"b\n".into() }, "a\"b\n\n", "a\"b\n\n");
    }

    #[test]
    fn aggregates_read_as_in_redis_cli() {
        let nested = Value::Array(vec![
            Value::Array(vec![Value::Integer(1), Value::Array(vec![bulk("a"), bulk("b")])]),
            Value::Array(vec![]),
            bulk("z"),
        ]);
        check(
            &nested,
            "1) 1) (integer) 1\n   2) 1) \"a\"\n      2) \"b\"\n2) (empty array)\n3) \"z\"\n",
            "1\na\nb\n\nz\n",
        );
        let mut ten = integers(&[1; 9]);
        ten.push(Value::Array(vec![Value::Integer(1), status("OK")]));
        let lines: String = (1..10).map(|number| format!(" {number}) (integer) 1\n")).collect();
        let standard = format!("{lines}10) 1) (integer) 1\n    2) OK\n");
        check(&Value::Array(ten), &standard, "1\n1\n1\n1\n1\n1\n1\n1\n1\n1\nOK\n");
        let errors = Value::Array(vec![Value::Error(b"ERR x".into()), Value::Error(b"WRONGTYPE y".into())]);
        check(&errors, "1) (error) ERR x\n2) (error) WRONGTYPE y\n", "ERR x\n\nWRONGTYPE y\n\n");
        check(&Value::Set(vec![bulk("a"), bulk("b")]), "1~ \"a\"\n2~ \"b\"\n", "a\nb\n");
        check(&Value::Push(vec![status("a"), status("b")]), "1) a\n2) b\n", "a\nb\n");
        let empties = Value::Array(vec![Value::Array(vec![]), Value::Set(vec![]), Value::Map(vec![])]);
        check(&empties, "1) (empty array)\n2) (empty set)\n3) (empty hash)\n", "\n\n\n");
        check(&Value::Array(vec![]), "(empty array)\n", "\n");
    }

    #[test]
    fn maps_read_as_in_redis_cli() {
        let simple = Value::Map(vec![(bulk("a"), Value::Integer(1)), (status("b"), Value::Array(integers(&[1, 2])))]);
        check(&simple, "1# \"a\" => (integer) 1\n2# b => \n   1) (integer) 1\n   2) (integer) 2\n", "a 1\nb 1\n2\n");
        let inner =
            Value::Map(vec![(bulk("a"), Value::Array(integers(&[1, 2]))), (bulk("b"), Value::Set(integers(&[7])))]);
        let outer = Value::Map(vec![(bulk("key"), inner), (bulk("q"), Value::Array(vec![]))]);
        check(
            &outer,
            "1# \"key\" => \n   1# \"a\" => \n      1) (integer) 1\n      2) (integer) 2\n   2# \"b\" => 1~ (integer) 7\n\
             2# \"q\" => (empty array)\n",
            "key a 1\n2\nb 7\nq \n",
        );
        let keys =
            Value::Map(vec![(Value::Array(integers(&[1, 2])), Value::Integer(3)), (Value::Nil, Value::Boolean(true))]);
        check(&keys, "1# 1) (integer) 1\n   2) (integer) 2 => (integer) 3\n2# (nil) => (true)\n", "1\n2 3\n (true)\n");
    }

    #[test]
    fn types_that_redis_cli_refuses_are_shown() {
        check(
            &Value::BigNumber(b"-12345678901234567890".into()),
            "(big number) -12345678901234567890\n",
            "-12345678901234567890\n",
        );
        let attributed = |value| {
            let attributes = vec![(status("ttl"), Value::Integer(5))];
            Value::Attributed(Box::new(crate::protocol::resp::value::Attributed { attributes, value }))
        };
        check(&attributed(Value::Integer(7)), "1| ttl => (integer) 5\n(integer) 7\n", "7\n");
        let inside = Value::Array(vec![attributed(Value::Integer(7)), Value::Integer(8)]);
        check(&inside, "1) 1| ttl => (integer) 5\n   (integer) 7\n2) (integer) 8\n", "7\n8\n");
        check(&Value::Double(f64::NAN), "(double) nan\n", "nan\n");
    }

    #[test]
    fn texts_for_people_are_not_quoted_and_end_their_line() {
        for style in [Style::Standard, Style::Raw] {
            let mut text = Vec::new();
            write_text(&bulk("# Server\r\n"), style, &mut text);
            write_text(&Value::Verbatim { format: *b"txt", text: b"no end".into() }, style, &mut text);
            assert_eq!(text, b"# Server\r\nno end\n");
        }
        let mut text = Vec::new();
        write_text(&Value::Error(b"ERR no".into()), Style::Standard, &mut text);
        assert_eq!(text, b"(error) ERR no\n");
    }

    proptest! {
        #[test]
        fn what_is_quoted_can_be_read_back(words in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..5)) {
            let mut line = Vec::new();
            for word in &words {
                quote(word, &mut line);
                line.push(b' ');
            }
            prop_assert_eq!(split_words(&line).unwrap(), words);
        }
    }
}
