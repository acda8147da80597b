//! Messages of channels as text, each of them one line.
//!
//! Invariant: but for the raw form, a line end is never part of a message, and nothing of it reaches a terminal as a
//! control character.
//! Deliberately unknown here: connections, and where the text goes.

use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value as Json, json};

/// How messages are printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::app) enum Form {
    /// Channel, TAB, message; control characters, backslashes and bytes that are no UTF-8 are escaped.
    Text,
    /// The bytes of the message, and these bytes behind it.
    Raw(Vec<u8>),
    /// An object; bytes that are no UTF-8 become `{"b64": "..."}`.
    Json,
    /// Channel as text, TAB, message in hexadecimal digits.
    Hex,
}

/// A message as it was received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::app) struct Message<'a> {
    /// The pattern it was received for; none for a subscription to the channel itself.
    pub(in crate::app) pattern: Option<&'a [u8]>,
    /// Where it was published.
    pub(in crate::app) channel: &'a [u8],
    /// What was published.
    pub(in crate::app) payload: &'a [u8],
    /// Its number among the messages of the channel or pattern, if it has one. Shown as a field of the object only.
    pub(in crate::app) number: Option<u64>,
}

/// When a message was received, as far as that is to be shown. In front of the line, or as fields of the object; the
/// raw form shows none of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::app) struct Stamp {
    /// The moment.
    pub(in crate::app) time: Option<SystemTime>,
    /// The time since the message before.
    pub(in crate::app) delta: Option<Duration>,
}

/// Appends a message with its line end.
pub(in crate::app) fn write_message(message: &Message<'_>, stamp: Stamp, form: &Form, out: &mut Vec<u8>) {
    match form {
        Form::Text => {
            write_head(message.channel, stamp, out);
            escape(message.payload, out);
        }
        Form::Hex => {
            write_head(message.channel, stamp, out);
            out.extend(
                message.payload.iter().flat_map(|byte| [HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]),
            );
        }
        Form::Raw(delimiter) => {
            out.extend_from_slice(message.payload);
            out.extend_from_slice(delimiter);
            return;
        }
        Form::Json => out.extend_from_slice(object(message, stamp).to_string().as_bytes()),
    }
    out.push(b'\n');
}

const HEX: &[u8; 16] = b"0123456789abcdef";

/// What stands before the message: time, delta and channel, a TAB behind each.
fn write_head(channel: &[u8], stamp: Stamp, out: &mut Vec<u8>) {
    if let Some(time) = stamp.time {
        out.extend_from_slice(moment(time).as_bytes());
        out.push(b'\t');
    }
    if let Some(delta) = stamp.delta {
        out.extend_from_slice(format!("+{:.6}\t", delta.as_secs_f64()).as_bytes());
    }
    escape(channel, out);
    out.push(b'\t');
}

/// RFC 3339 in UTC, to the microsecond: as text in the order of time.
fn moment(time: SystemTime) -> String {
    // A clock beyond the year 9999 has no such form.
    jiff::Timestamp::try_from(time).map_or_else(|_| "?".into(), |time| format!("{time:.6}"))
}

/// Appends bytes as text of one line: `\n`, `\r`, `\t`, `\\`, and `\xHH` for other control characters and for bytes
/// that are no UTF-8.
pub(in crate::app) fn escape(bytes: &[u8], out: &mut Vec<u8>) {
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '\n' => out.extend_from_slice(b"\\n"),
                '\r' => out.extend_from_slice(b"\\r"),
                '\t' => out.extend_from_slice(b"\\t"),
                '\\' => out.extend_from_slice(b"\\\\"),
                _ => {
                    let mut buf = [0; 4];
                    let encoded = character.encode_utf8(&mut buf).as_bytes();
                    if character.is_control() { hex(encoded, out) } else { out.extend_from_slice(encoded) }
                }
            }
        }
        hex(chunk.invalid(), out);
    }
}

fn hex(bytes: &[u8], out: &mut Vec<u8>) {
    for byte in bytes {
        out.extend_from_slice(format!("\\x{byte:02x}").as_bytes());
    }
}

fn object(message: &Message<'_>, stamp: Stamp) -> Json {
    let mut object = Map::new();
    object.insert("channel".into(), text_or_base64(message.channel));
    object.insert("message".into(), text_or_base64(message.payload));
    if let Some(pattern) = message.pattern {
        object.insert("pattern".into(), text_or_base64(pattern));
    }
    if let Some(number) = message.number {
        object.insert("number".into(), Json::from(number));
    }
    if let Some(time) = stamp.time {
        object.insert("time".into(), Json::from(moment(time)));
    }
    if let Some(delta) = stamp.delta {
        object.insert("delta".into(), Json::from(delta.as_micros() as f64 / 1e6));
    }
    Json::Object(object)
}

/// A string, or `{"b64": "..."}` for bytes that are no UTF-8.
pub(super) fn text_or_base64(bytes: &[u8]) -> Json {
    match std::str::from_utf8(bytes) {
        Ok(text) => Json::from(text),
        Err(_) => json!({ "b64": STANDARD.encode(bytes) }),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::client::split_words;

    fn shown(message: &Message<'_>, form: Form) -> String {
        stamped(message, Stamp::default(), form)
    }

    fn stamped(message: &Message<'_>, stamp: Stamp, form: Form) -> String {
        let mut out = Vec::new();
        write_message(message, stamp, &form, &mut out);
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn the_text_form_is_one_line_with_the_channel() {
        let message = Message {
            pattern: Some(b"n*"),
            channel: b"news",
            payload: "a\nb\t\\ \x1b[31m ä \u{85}".as_bytes(),
            number: None,
        };
        assert_eq!(shown(&message, Form::Text), "news\ta\\nb\\t\\\\ \\x1b[31m ä \\xc2\\x85\n");
        let binary = Message { pattern: None, channel: b"a\tb", payload: b"\xff\x00", number: None };
        assert_eq!(shown(&binary, Form::Text), "a\\tb\t\\xff\\x00\n");
    }

    #[test]
    fn the_json_form_names_the_pattern_and_keeps_bytes() {
        let message = Message { pattern: None, channel: b"news", payload: b"say \"hi\"\n", number: None };
        assert_eq!(shown(&message, Form::Json), "{\"channel\":\"news\",\"message\":\"say \\\"hi\\\"\\n\"}\n");
        let binary = Message { pattern: Some(b"n*"), channel: b"news", payload: b"\xff", number: None };
        let wanted = "{\"channel\":\"news\",\"message\":{\"b64\":\"/w==\"},\"pattern\":\"n*\"}\n";
        assert_eq!(shown(&binary, Form::Json), wanted);
    }

    #[test]
    fn the_raw_form_is_the_bytes_and_what_was_chosen_behind_them() {
        for delimiter in [&b"\n"[..], b"\0", b"", b"--\n"] {
            let mut out = Vec::new();
            let message = Message { pattern: None, channel: b"c", payload: b"\xff\n\x00", number: None };
            write_message(&message, Stamp::default(), &Form::Raw(delimiter.into()), &mut out);
            assert_eq!(out, [b"\xff\n\x00", delimiter].concat());
        }
    }

    #[test]
    fn the_hexadecimal_form_shows_every_byte() {
        let every: Vec<u8> = (0..=255).collect();
        let line = shown(&Message { pattern: None, channel: b"a\tb", payload: &every, number: None }, Form::Hex);
        let digits = line.strip_prefix("a\\tb\t").and_then(|rest| rest.strip_suffix('\n')).unwrap();
        let read: Vec<u8> =
            (0..512).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap()).collect();
        assert_eq!((digits.len(), read), (512, every));
    }

    #[test]
    fn times_stand_in_front_or_in_fields_of_their_own() {
        let message = Message { pattern: None, channel: b"c", payload: b"m", number: None };
        let time = SystemTime::UNIX_EPOCH + Duration::from_micros(1_700_000_000_123_456);
        let stamp = Stamp { time: Some(time), delta: Some(Duration::from_micros(1_500_001)) };
        assert_eq!(stamped(&message, stamp, Form::Text), "2023-11-14T22:13:20.123456Z\t+1.500001\tc\tm\n");
        let delta = Stamp { time: None, delta: Some(Duration::ZERO) };
        assert_eq!(stamped(&message, delta, Form::Hex), "+0.000000\tc\t6d\n");
        let object: Json = serde_json::from_str(&stamped(&message, stamp, Form::Json)).unwrap();
        assert_eq!(
            (object["time"].as_str().unwrap(), object["delta"].as_f64()),
            ("2023-11-14T22:13:20.123456Z", Some(1.500001))
        );
    }

    fn read_back(json: &Json) -> Vec<u8> {
        match json {
            Json::String(text) => text.clone().into_bytes(),
            other => STANDARD.decode(other["b64"].as_str().expect("text or b64")).expect("base64"),
        }
    }

    proptest! {
        #[test]
        fn json_is_valid_and_gives_the_bytes_back(
            channel in prop::collection::vec(any::<u8>(), 0..20),
            payload in prop_oneof![prop::collection::vec(any::<u8>(), 0..50), any::<String>().prop_map(String::into_bytes)],
        ) {
            let line = shown(&Message { pattern: None, channel: &channel, payload: &payload, number: None }, Form::Json);
            prop_assert_eq!(line.matches('\n').count(), 1);
            let object: Json = serde_json::from_str(&line).unwrap();
            prop_assert_eq!(read_back(&object["channel"]), channel);
            prop_assert_eq!(read_back(&object["message"]), payload);
        }

        #[test]
        fn escaped_text_is_printable_and_gives_the_bytes_back(payload in prop::collection::vec(any::<u8>(), 0..50)) {
            let mut out = Vec::new();
            escape(&payload, &mut out);
            let text = String::from_utf8(out).unwrap();
            prop_assert!(!text.chars().any(char::is_control));
            let quoted = format!("\"{}\"", text.replace('"', "\\\""));
            prop_assert_eq!(split_words(quoted.as_bytes()).unwrap(), vec![payload]);
        }
    }
}
