//! `peek KEY`: what a key holds, by its type and without its bulk.
//!
//! Invariant: only requests that read are sent, each of which costs little whatever the size of the value.
//! Deliberately unknown here: how the connection is kept, and how the value is printed.

use crate::client::Value;

/// Elements shown of a value that has many.
const ELEMENTS_MAX: usize = 20;

/// Bytes shown of a string.
const STRING_BYTES_MAX: usize = 1024;

/// A look at one key.
#[derive(Debug, PartialEq)]
pub(super) struct Peek {
    /// What it is, in one line.
    pub(super) about: String,
    /// What it holds, or the first of it; none for a key that does not exist.
    pub(super) value: Option<Value>,
    /// That there is more.
    pub(super) more: Option<String>,
}

/// Looks at a key. `call` sends a request.
///
/// # Errors
/// Those of `call`.
pub(super) fn peek<E>(key: &[u8], mut call: impl FnMut(&[&[u8]]) -> Result<Value, E>) -> Result<Peek, E> {
    let kind = call(&[b"TYPE", key])?;
    let kind = String::from_utf8_lossy(kind.as_bytes().unwrap_or_default()).into_owned();
    let form = match kind.as_str() {
        "none" => return Ok(Peek { about: "no such key".into(), value: None, more: None }),
        "string" => STRING,
        "list" => LIST,
        "set" => SET,
        "hash" => HASH,
        "zset" => SORTED_SET,
        "stream" => STREAM,
        _ => {
            let value = Value::Error(format!("a value of type {kind} cannot be shown").into());
            return Ok(Peek { about: kind, value: Some(value), more: None });
        }
    };
    let size = call(&[form.size, key])?.as_integer();
    let words: Vec<&[u8]> = [form.read, key].into_iter().chain(form.words.iter().map(|word| word.as_bytes())).collect();
    let mut value = contents(call(&words)?, form);
    let shown = cut(&mut value, form);
    let mut about = kind;
    if let Some(size) = size {
        about += &format!(", {size} {}", if size == 1 { form.element } else { form.elements });
    }
    let encoding = call(&[b"OBJECT", b"ENCODING", key])?;
    if let Value::Bulk(name) | Value::Status(name) = encoding {
        about += &format!(", {}", String::from_utf8_lossy(&name));
    }
    if let Some(bytes) = call(&[b"MEMORY", b"USAGE", key])?.as_integer() {
        about += &format!(", {bytes} bytes of memory");
    }
    if let Some(left @ 0..) = call(&[b"PTTL", key])?.as_integer() {
        about += &format!(", expires in {}.{:03} s", left / 1000, left % 1000);
    }
    let rest = size.map_or(0, |size| size - shown as i64);
    let more = (rest > 0).then(|| format!("and {rest} more {}", if rest == 1 { form.element } else { form.elements }));
    Ok(Peek { about, value: Some(value), more })
}

/// How values of a type are looked at.
#[derive(Clone, Copy)]
struct Form {
    size: &'static [u8],
    element: &'static str,
    elements: &'static str,
    read: &'static [u8],
    words: &'static [&'static str],
    /// What comes back is a cursor and a page.
    is_page: bool,
    /// Items of the reply for each element.
    width: usize,
}

const STRING: Form = Form {
    size: b"STRLEN",
    element: "byte",
    elements: "bytes",
    read: b"GETRANGE",
    words: &["0", "1023"],
    is_page: false,
    width: 1,
};
const LIST: Form = Form {
    size: b"LLEN",
    element: "element",
    elements: "elements",
    read: b"LRANGE",
    words: &["0", "19"],
    is_page: false,
    width: 1,
};
const SET: Form = Form {
    size: b"SCARD",
    element: "member",
    elements: "members",
    read: b"SSCAN",
    words: &["0", "COUNT", "20"],
    is_page: true,
    width: 1,
};
const HASH: Form = Form {
    size: b"HLEN",
    element: "field",
    elements: "fields",
    read: b"HSCAN",
    words: &["0", "COUNT", "20"],
    is_page: true,
    width: 2,
};
const SORTED_SET: Form = Form {
    size: b"ZCARD",
    element: "member",
    elements: "members",
    read: b"ZRANGE",
    words: &["0", "19", "WITHSCORES"],
    is_page: false,
    width: 2,
};
const STREAM: Form = Form {
    size: b"XLEN",
    element: "entry",
    elements: "entries",
    read: b"XRANGE",
    words: &["-", "+", "COUNT", "20"],
    is_page: false,
    width: 1,
};

/// What a reply tells of the value.
fn contents(reply: Value, form: Form) -> Value {
    let reply = match reply {
        Value::Array(items) if form.is_page => items.into_iter().nth(1).unwrap_or(Value::Nil),
        reply => reply,
    };
    match reply {
        // In RESP2, and of a hash always, pairs come one after the other.
        Value::Array(items) if form.width == 2 && !items.iter().any(|item| item.as_items().is_some()) => {
            let mut items = items.into_iter();
            let mut pairs = Vec::new();
            while let (Some(name), Some(value)) = (items.next(), items.next()) {
                pairs.push((name, value));
            }
            Value::Map(pairs)
        }
        Value::Array(items) if form.size == SET.size => Value::Set(items),
        reply => reply,
    }
}

/// Leaves no more than a screen of it; answers how many elements, or bytes, that is.
fn cut(value: &mut Value, form: Form) -> usize {
    match value {
        Value::Bulk(bytes) if form.size == STRING.size => {
            bytes.truncate(STRING_BYTES_MAX);
            bytes.len()
        }
        Value::Array(items) | Value::Set(items) => {
            items.truncate(ELEMENTS_MAX);
            items.len()
        }
        Value::Map(pairs) => {
            pairs.truncate(ELEMENTS_MAX);
            pairs.len()
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    fn bulk(text: &str) -> Value {
        Value::Bulk(text.into())
    }

    /// Looks at a key of a server that answers like this, by the first word of the request.
    fn seen(answers: &[(&str, Value)]) -> Peek {
        let call = |words: &[&[u8]]| -> Result<Value, Infallible> {
            let name = String::from_utf8_lossy(words[0]);
            let answer = answers.iter().find(|(known, _)| *known == name);
            Ok(answer.map_or(Value::Nil, |(_, answer)| answer.clone()))
        };
        let Ok(seen) = peek(b"k", call);
        seen
    }

    #[test]
    fn a_value_is_described_and_cut() {
        let page = Value::Array(vec![bulk("9"), Value::Array((0..30).map(|n| bulk(&n.to_string())).collect())]);
        let seen = seen(&[
            ("TYPE", Value::Status(b"set".into())),
            ("SCARD", Value::Integer(100)),
            ("SSCAN", page),
            ("OBJECT", bulk("hashtable")),
            ("MEMORY", Value::Integer(4000)),
            ("PTTL", Value::Integer(1500)),
        ]);
        assert_eq!(seen.about, "set, 100 members, hashtable, 4000 bytes of memory, expires in 1.500 s");
        assert_eq!(seen.value.unwrap().as_items().unwrap().len(), 20);
        assert_eq!(seen.more.unwrap(), "and 80 more members");
    }

    #[test]
    fn every_type_has_its_look() {
        let string = seen(&[
            ("TYPE", Value::Status(b"string".into())),
            ("STRLEN", Value::Integer(1)),
            ("GETRANGE", bulk("v")),
            ("PTTL", Value::Integer(-1)),
        ]);
        assert_eq!(string, Peek { about: "string, 1 byte".into(), value: Some(bulk("v")), more: None });
        let page = Value::Array(vec![bulk("0"), Value::Array(vec![bulk("f"), bulk("v")])]);
        let hash = seen(&[("TYPE", Value::Status(b"hash".into())), ("HLEN", Value::Integer(1)), ("HSCAN", page)]);
        assert_eq!(hash.value, Some(Value::Map(vec![(bulk("f"), bulk("v"))])));
        let pair = Value::Array(vec![bulk("m"), Value::Double(1.5)]);
        let sorted = seen(&[
            ("TYPE", Value::Status(b"zset".into())),
            ("ZCARD", Value::Integer(2)),
            ("ZRANGE", Value::Array(vec![pair.clone()])),
        ]);
        assert_eq!((sorted.value, sorted.more), (Some(Value::Array(vec![pair])), Some("and 1 more member".into())));
        let none = seen(&[("TYPE", Value::Status(b"none".into()))]);
        assert_eq!(none, Peek { about: "no such key".into(), value: None, more: None });
        let odd = seen(&[("TYPE", Value::Status(b"ReJSON-RL".into()))]);
        assert!(odd.value.unwrap().is_error());
    }
}
