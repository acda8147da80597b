//! Transcripts: what is said on a road and what must come back, as text.
//!
//! A line is `WORDS -> REPLY`. Words are quoted as in an inline command. Replies are written `nil`, `OK`, `-ERR text`,
//! `2`, `"bulk"`, `[1, "a"]`, or `{"a", "b"}` when the order does not matter; `...` at the end stands for any rest.
//! `A> WORDS -> REPLY` speaks on connection A (all of them are made when first named), `A< MESSAGE` is read there
//! without asking. `->2` and `->3` mark lines meant for one protocol only. RESP3's sets, maps and pushes are compared
//! as RESP2 tells them; where the exact bytes matter, tests use the raw connection.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::inside::Inside;
use crate::road::{End, Road, Server};
use crate::wire::{Connection, Value};

/// A conversation with one server on one road.
pub struct Talk {
    end: End,
    road: Road,
    connections: BTreeMap<char, Connection>,
}

impl Talk {
    /// A conversation with a server that others may talk to as well.
    pub fn new(server: Arc<Server>, road: Road) -> Talk {
        Talk { end: End::Process(server), road, connections: BTreeMap::new() }
    }

    /// A conversation with an engine in this process.
    pub fn inside(road: Road) -> Talk {
        Talk { end: End::Engine(Inside::start()), road, connections: BTreeMap::new() }
    }

    /// The server; there is none inside.
    pub fn server(&self) -> &Server {
        match &self.end {
            End::Process(server) => server,
            End::Engine(_) => panic!("a test that needs a process does not run inside"),
        }
    }

    /// RESP version, 2 or 3; 0 for SBE.
    pub fn resp(&self) -> u8 {
        self.road.resp()
    }

    /// Whether connections are Unix sockets of a server.
    pub fn is_over_unix(&self) -> bool {
        matches!(self.road, Road::UnixResp2 | Road::UnixResp3 | Road::UnixSbe)
    }

    /// Whether connections are rings.
    pub fn is_over_ring(&self) -> bool {
        self.road.is_ring()
    }

    /// The connection with this letter, made now when it is new. Lines without a letter use `A`.
    pub fn on(&mut self, letter: char) -> &mut Connection {
        let (road, end) = (self.road, &self.end);
        self.connections.entry(letter).or_insert_with(|| end.connect(road))
    }

    /// Closes the connection with this letter.
    pub fn hang_up(&mut self, letter: char) {
        self.connections.remove(&letter);
    }

    /// Sends a line on connection `A` and reads the reply.
    pub fn ask(&mut self, line: &str) -> Value {
        let words = words(line);
        self.on('A').call(&words)
    }

    /// Sends a line on connection `A` and compares the reply, written as the module says or as `redis-cli` prints it.
    pub fn check(&mut self, line: &str, wanted: &str) {
        let got = self.ask(line);
        compare(line, &got, wanted);
    }

    /// Runs lines in order.
    pub fn transcript(&mut self, text: &str) {
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
            self.line(line);
        }
    }

    fn line(&mut self, line: &str) {
        let (letter, rest) = match line.as_bytes() {
            [letter @ b'A'..=b'Z', b'>' | b'<', ..] => (*letter as char, &line[2..]),
            _ => ('A', line),
        };
        if line.as_bytes().get(1) == Some(&b'<') {
            let got = self.on(letter).value();
            return compare(line, &got, rest.trim());
        }
        let (said, marked) = rest.split_once(" ->").unwrap_or_else(|| panic!("a line without `->`: {line}"));
        let (only, wanted) = match marked.as_bytes().first() {
            Some(b'2') => (Some(2), &marked[1..]),
            Some(b'3') => (Some(3), &marked[1..]),
            _ => (None, marked),
        };
        // In SBE a subscriber may send anything, as in RESP3.
        let spoken = if self.resp() == 0 { 3 } else { self.resp() };
        if only.is_none_or(|resp| resp == spoken) {
            let words = words(said);
            let got = self.on(letter).call(&words);
            compare(line, &got, wanted.trim());
        }
    }
}

/// Fails unless the value reads as wanted.
pub fn compare(line: &str, got: &Value, wanted: &str) {
    let flat = got.flat();
    let shown = match wanted.starts_with('{') {
        true => unordered(&flat),
        false => flat.to_string(),
    };
    let fits = match wanted.strip_suffix("...") {
        Some(start) => shown.starts_with(start),
        None => shown == wanted || printed(&flat) == wanted,
    };
    assert!(fits, "{line}\n wanted: {wanted}\n    got: {shown}");
}

/// An aggregate with its items sorted, in braces.
fn unordered(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            let mut items: Vec<String> = items.iter().map(Value::to_string).collect();
            items.sort();
            format!("{{{}}}", items.join(", "))
        }
        other => other.to_string(),
    }
}

/// A value as `redis-cli` prints it on a terminal.
pub fn printed(value: &Value) -> String {
    match value {
        Value::Nil => "(nil)".into(),
        Value::Integer(value) => format!("(integer) {value}"),
        Value::Error(text) => format!("(error) {}", String::from_utf8_lossy(text)),
        Value::Array(items) if items.is_empty() => "(empty array)".into(),
        Value::Array(items) => {
            let width = items.len().to_string().len();
            let item = |(index, item): (usize, &Value)| {
                let indent = format!("\n{}", " ".repeat(width + 2));
                format!("{:>width$}) {}", index + 1, printed(item).replace('\n', &indent))
            };
            items.iter().enumerate().map(item).collect::<Vec<_>>().join("\n")
        }
        other => other.to_string(),
    }
}

/// Splits a line into words: `"…"` with `\xHH \n \r \t \" \\`, `'…'` as it is.
pub fn words(line: &str) -> Vec<Vec<u8>> {
    let mut words = Vec::new();
    let mut rest = line.trim_start().as_bytes();
    while let Some(first) = rest.first() {
        let mut word = Vec::new();
        match first {
            b'"' => rest = double_quoted(&rest[1..], &mut word),
            b'\'' => {
                let end = rest[1..].iter().position(|&byte| byte == b'\'').expect("an unclosed quote in a test");
                word.extend_from_slice(&rest[1..=end]);
                rest = &rest[end + 2..];
            }
            _ => {
                let end = rest.iter().position(|&byte| byte == b' ').unwrap_or(rest.len());
                word.extend_from_slice(&rest[..end]);
                rest = &rest[end..];
            }
        }
        words.push(word);
        rest = rest.trim_ascii_start();
    }
    words
}

/// Reads up to the closing quote and answers what follows it.
fn double_quoted<'a>(mut rest: &'a [u8], word: &mut Vec<u8>) -> &'a [u8] {
    loop {
        match rest {
            [b'"', after @ ..] => return after,
            [b'\\', b'x', high, low, after @ ..] => {
                let digits = [*high, *low];
                let digits = std::str::from_utf8(&digits).expect("hexadecimal digits");
                word.push(u8::from_str_radix(digits, 16).expect("hexadecimal digits"));
                rest = after;
            }
            [b'\\', escaped, after @ ..] => {
                word.push(match escaped {
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    other => *other,
                });
                rest = after;
            }
            [byte, after @ ..] => {
                word.push(*byte);
                rest = after;
            }
            [] => panic!("an unclosed quote in a test"),
        }
    }
}
