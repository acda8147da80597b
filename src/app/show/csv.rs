//! Replies as values between commas: what `redis-cli --csv` 7.0.15 prints, byte for byte, for every type it knows.
//!
//! Deliberately unknown here: what was asked, and where the text goes.

use super::reply::double;
use crate::client::Value;
use crate::command::quote;

/// Appends a reply without a line end. An item that holds items is told as those; attributes are left out.
pub(super) fn write_csv(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Nil | Value::NilArray => out.extend_from_slice(b"NULL"),
        Value::Error(words) => {
            out.extend_from_slice(b"ERROR,");
            quote(words, out);
        }
        Value::Status(bytes) | Value::Bulk(bytes) | Value::Verbatim { text: bytes, .. } => quote(bytes, out),
        Value::BigNumber(digits) => out.extend_from_slice(digits),
        Value::Integer(number) => out.extend_from_slice(number.to_string().as_bytes()),
        Value::Double(number) => out.extend_from_slice(&double(*number)),
        Value::Boolean(yes) => out.extend_from_slice(if *yes { b"true" } else { b"false" }),
        Value::Array(items) | Value::Set(items) | Value::Push(items) => {
            separated(items, out, write_csv);
        }
        Value::Map(pairs) => separated(pairs, out, |(key, value), out| {
            write_csv(key, out);
            out.push(b',');
            write_csv(value, out);
        }),
        Value::Attributed(attributed) => write_csv(&attributed.value, out),
    }
}

fn separated<T>(items: &[T], out: &mut Vec<u8>, write: impl Fn(&T, &mut Vec<u8>)) {
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write(item, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(value: &Value) -> String {
        let mut out = Vec::new();
        write_csv(value, &mut out);
        String::from_utf8(out).expect("text")
    }

    // What is expected below was seen from redis-cli 7.0.15, but for the big number, which it refuses.
    #[test]
    fn values_read_as_in_redis_cli() {
        let text = |text: &str| Value::Bulk(text.into());
        let rows = [
            (Value::Nil, "NULL"),
            (Value::NilArray, "NULL"),
            (Value::Integer(5), "5"),
            (Value::Double(1.5), "1.5"),
            (Value::Double(f64::INFINITY), "inf"),
            (Value::Boolean(true), "true"),
            (Value::Error(b"ERR \"x\" no".into()), "ERROR,\"ERR \\\"x\\\" no\""),
            (Value::Status(b"OK".into()), "\"OK\""),
            (Value::Bulk(b"a\"\n\xff".into()), "\"a\\\"\\n\\xff\""),
            (Value::Verbatim { format: *b"txt", text: b"a\nb".into() }, "\"a\\nb\""),
            (Value::BigNumber(b"123456789012345678901".into()), "123456789012345678901"),
            (
                Value::Array(vec![
                    Value::Integer(1),
                    text("a"),
                    Value::Array(vec![text("x"), Value::Nil]),
                    Value::Array(vec![]),
                ]),
                "1,\"a\",\"x\",NULL,",
            ),
            (Value::Array(vec![Value::Error(b"ERR a".into()), Value::Integer(1)]), "ERROR,\"ERR a\",1"),
            (
                Value::Map(vec![
                    (text("a"), Value::Array(vec![Value::Integer(1), Value::Integer(2)])),
                    (Value::Integer(7), Value::Map(vec![(Value::Status(b"k".into()), Value::Boolean(false))])),
                ]),
                "\"a\",1,2,7,\"k\",false",
            ),
            (Value::Map(vec![]), ""),
        ];
        for (value, wanted) in rows {
            assert_eq!(shown(&value), wanted, "{value:?}");
        }
    }
}
