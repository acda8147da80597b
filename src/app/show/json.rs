//! Replies as JSON: one line, always valid, bytes kept.
//!
//! Strings that are no UTF-8 become `{"b64": "..."}`, errors `{"error": "..."}`, and numbers that JSON does not know
//! (infinities, more digits than a double holds) become strings. A map is an object where its keys are text or numbers
//! and no two of them read the same, else a list of pairs.
//!
//! Deliberately unknown here: what was asked, and where the text goes.

use std::collections::HashSet;
use std::fmt;

use serde_json::{Map, Number, Value as Json, json};

use super::message::text_or_base64;
use crate::client::Value;

/// Appends a reply without a line end. Attributes are left out.
pub(super) fn write_json(value: &Value, out: &mut Vec<u8>) {
    out.extend_from_slice(json_of(value).to_string().as_bytes());
}

/// A number or a word of a table or an object.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::app) enum Figure {
    /// How many.
    Count(u64),
    /// How much.
    Real(f64),
    /// A word.
    Text(&'static str),
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Figure::Count(count) => f.pad(&count.to_string()),
            Figure::Real(amount) => f.pad(&format!("{amount:.1}")),
            Figure::Text(word) => f.pad(word),
        }
    }
}

/// Appends an object of named figures and a line end; amounts are rounded to thousandths.
pub(super) fn write_object(fields: &[(&str, Figure)], out: &mut Vec<u8>) {
    let value = |figure| match figure {
        Figure::Count(count) => Json::from(count),
        Figure::Real(amount) => Json::from((amount * 1000.0_f64).round() / 1000.0),
        Figure::Text(word) => Json::from(word),
    };
    let object: Map<String, Json> = fields.iter().map(|(name, figure)| ((*name).to_owned(), value(*figure))).collect();
    out.extend_from_slice(Json::Object(object).to_string().as_bytes());
    out.push(b'\n');
}

fn json_of(value: &Value) -> Json {
    match value {
        Value::Nil | Value::NilArray => Json::Null,
        Value::Status(bytes) | Value::Bulk(bytes) | Value::BigNumber(bytes) | Value::Verbatim { text: bytes, .. } => {
            text_or_base64(bytes)
        }
        Value::Error(words) => json!({ "error": text_or_base64(words) }),
        Value::Integer(number) => Json::from(*number),
        Value::Double(number) => match Number::from_f64(*number) {
            Some(number) => Json::Number(number),
            None => Json::String(number.to_string().to_ascii_lowercase()),
        },
        Value::Boolean(yes) => Json::Bool(*yes),
        Value::Array(items) | Value::Set(items) | Value::Push(items) => items.iter().map(json_of).collect(),
        Value::Map(pairs) => object(pairs).unwrap_or_else(|| {
            pairs.iter().map(|(key, value)| Json::Array(vec![json_of(key), json_of(value)])).collect()
        }),
        Value::Attributed(attributed) => json_of(&attributed.value),
    }
}

fn object(pairs: &[(Value, Value)]) -> Option<Json> {
    let keys: Vec<String> = pairs.iter().map(|(key, _)| name(key)).collect::<Option<_>>()?;
    let distinct = keys.iter().collect::<HashSet<_>>().len();
    if distinct < keys.len() {
        return None;
    }
    let values = pairs.iter().map(|(_, value)| json_of(value));
    Some(Json::Object(keys.into_iter().zip(values).collect::<Map<_, _>>()))
}

fn name(key: &Value) -> Option<String> {
    match key {
        Value::Integer(number) => Some(number.to_string()),
        Value::Status(bytes) | Value::Bulk(bytes) | Value::Verbatim { text: bytes, .. } => {
            String::from_utf8(bytes.clone()).ok()
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use proptest::prelude::*;

    use super::*;
    use crate::protocol::resp::value::Attributed;

    fn shown(value: &Value) -> String {
        let mut out = Vec::new();
        write_json(value, &mut out);
        String::from_utf8(out).expect("text")
    }

    fn bulk(text: &str) -> Value {
        Value::Bulk(text.into())
    }

    #[test]
    fn every_type_has_a_form() {
        let rows = [
            (Value::Nil, "null"),
            (Value::NilArray, "null"),
            (Value::Status(b"OK".into()), "\"OK\""),
            (Value::Error(b"ERR \"x\"".into()), "{\"error\":\"ERR \\\"x\\\"\"}"),
            (Value::Integer(i64::MIN), "-9223372036854775808"),
            (Value::Double(1.5), "1.5"),
            (Value::Double(f64::INFINITY), "\"inf\""),
            (Value::Double(f64::NEG_INFINITY), "\"-inf\""),
            (Value::Double(f64::NAN), "\"nan\""),
            (Value::Boolean(false), "false"),
            (Value::BigNumber(b"123456789012345678901".into()), "\"123456789012345678901\""),
            (bulk("ä\n\u{1}"), "\"ä\\n\\u0001\""),
            (Value::Bulk(b"\xff\x00".into()), "{\"b64\":\"/wA=\"}"),
            (Value::Verbatim { format: *b"txt", text: b"t".into() }, "\"t\""),
            (Value::Array(vec![Value::Integer(1), Value::Set(vec![Value::Push(vec![])])]), "[1,[[]]]"),
            (Value::Map(vec![(bulk("a"), Value::Nil), (Value::Integer(7), bulk("b"))]), "{\"7\":\"b\",\"a\":null}"),
            (Value::Map(vec![]), "{}"),
        ];
        for (value, wanted) in rows {
            assert_eq!(shown(&value), wanted, "{value:?}");
        }
    }

    #[test]
    fn a_map_that_is_no_object_is_a_list_of_pairs() {
        let binary = Value::Map(vec![(Value::Bulk(b"\xff".into()), Value::Integer(1))]);
        assert_eq!(shown(&binary), "[[{\"b64\":\"/w==\"},1]]");
        let same = Value::Map(vec![(bulk("1"), Value::Integer(1)), (Value::Integer(1), Value::Integer(2))]);
        assert_eq!(shown(&same), "[[\"1\",1],[1,2]]");
        let nested = Value::Map(vec![(Value::Array(vec![Value::Integer(1)]), Value::Nil)]);
        assert_eq!(shown(&nested), "[[[1],null]]");
    }

    #[test]
    fn figures_are_numbers_and_words() {
        let mut out = Vec::new();
        write_object(
            &[("n", Figure::Count(5)), ("t_us", Figure::Real(1.23456)), ("which", Figure::Text("all"))],
            &mut out,
        );
        assert_eq!(out, b"{\"n\":5,\"t_us\":1.235,\"which\":\"all\"}\n");
        assert_eq!(
            format!("{:>4}|{:>5}|{:>3}", Figure::Count(5), Figure::Real(1.25), Figure::Text("x")),
            "   5|  1.2|  x"
        );
    }

    #[test]
    fn remarks_on_a_value_are_left_out() {
        let attributes = vec![(bulk("ttl"), Value::Integer(5))];
        let value = Value::Attributed(Box::new(Attributed { attributes, value: Value::Integer(7) }));
        assert_eq!(shown(&value), "7");
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let bytes = || prop::collection::vec(any::<u8>(), 0..20);
        let leaf = prop_oneof![
            Just(Value::Nil),
            any::<i64>().prop_map(Value::Integer),
            any::<f64>().prop_map(Value::Double),
            any::<bool>().prop_map(Value::Boolean),
            bytes().prop_map(Value::Bulk),
            bytes().prop_map(Value::Status),
            bytes().prop_map(Value::Error),
        ];
        leaf.prop_recursive(4, 40, 6, |inner| {
            let items = prop::collection::vec(inner.clone(), 0..6);
            prop_oneof![
                items.clone().prop_map(Value::Array),
                items.prop_map(Value::Set),
                prop::collection::vec((inner.clone(), inner), 0..4).prop_map(Value::Map),
            ]
        })
    }

    proptest! {
        #[test]
        fn it_is_always_one_line_of_json(value in any_value()) {
            let line = shown(&value);
            prop_assert!(!line.contains('\n'));
            prop_assert!(serde_json::from_str::<Json>(&line).is_ok(), "{}", line);
        }

        #[test]
        fn bytes_can_be_had_back(members in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..30), 0..6)) {
            let value = Value::Set(members.iter().cloned().map(Value::Bulk).collect());
            let read: Vec<Json> = serde_json::from_str(&shown(&value)).unwrap();
            let bytes: Vec<Vec<u8>> = read
                .iter()
                .map(|item| match item {
                    Json::String(text) => text.clone().into_bytes(),
                    other => STANDARD.decode(other["b64"].as_str().unwrap()).unwrap(),
                })
                .collect();
            prop_assert_eq!(bytes, members);
        }
    }
}
