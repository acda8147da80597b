//! A raw SBE client: frames made and read by hand, turned into the values that transcripts compare.
//!
//! Invariant: nothing of the library is used here, so that a mistake in its codec cannot hide itself.

use crate::wire::{Value, shown};

/// What an SBE client sends first.
pub const MAGIC: &[u8] = b"GOBLINS!";

/// A frame: prefix, header, and what follows it.
pub fn frame(template: u16, block: u16, body: &[u8]) -> Vec<u8> {
    let mut bytes = (body.len() as u32 + 8).to_le_bytes().to_vec();
    for number in [block, template, 7, 2] {
        bytes.extend_from_slice(&u16::to_le_bytes(number));
    }
    bytes.extend_from_slice(body);
    bytes
}

/// A string with its length before it.
pub fn data(bytes: &[u8]) -> Vec<u8> {
    [&(bytes.len() as u32).to_le_bytes()[..], bytes].concat()
}

/// A group of strings.
pub fn group<W: AsRef<[u8]>>(strings: &[W]) -> Vec<u8> {
    let mut bytes = vec![0, 0];
    bytes.extend_from_slice(&u16::try_from(strings.len()).expect("a group's size").to_le_bytes());
    strings.iter().for_each(|string| bytes.extend(data(string.as_ref())));
    bytes
}

/// One request as Call.
pub fn call<W: AsRef<[u8]>>(words: &[W]) -> Vec<u8> {
    frame(1000, 0, &group(words))
}

/// One frame that was read.
pub struct Answer {
    /// Its template.
    pub template: u16,
    /// What it says.
    pub value: Value,
    /// A message to a subscriber or a monitor: no part of any reply.
    pub is_message: bool,
    /// Bytes it took.
    pub len: usize,
}

/// The frame at the front of `bytes`; none while it is incomplete.
pub fn parse(bytes: &[u8]) -> Option<Answer> {
    let len = 4 + u32::from_le_bytes(bytes.get(..4)?.try_into().unwrap()) as usize;
    let mut reader = Reader { bytes: bytes.get(4..len)?, at: 0 };
    let (block, template, schema, version) = (reader.u16(), reader.u16(), reader.u16(), reader.u16());
    assert_eq!((schema, version), (7, 2), "header of {}", shown(bytes));
    let mut fixed = Reader { bytes: reader.take(block.into()), at: 0 };
    let mut is_message = false;
    let value = match template {
        1 => Value::Nil,
        2 => Value::Status(String::from_utf8_lossy(&reader.data()).into_owned()),
        3 => {
            let text = [reader.data(), b" ".to_vec(), reader.data()].concat();
            // Line ends stay as they are here; transcripts tell them as RESP does.
            Value::Error(text.into_iter().map(|byte| if matches!(byte, b'\r' | b'\n') { b' ' } else { byte }).collect())
        }
        4 => Value::Integer(fixed.i64()),
        6 => Value::Bulk(reader.data()),
        7 => Value::Array(reader.entries(|_, reader| Value::Bulk(reader.data()))),
        9 => Value::Array(reader.entries(|mut fixed, reader| {
            let (present, text) = (fixed.u8(), reader.data());
            if present == 1 { Value::Bulk(text) } else { Value::Nil }
        })),
        10 => {
            let (block, count) = (reader.u16(), reader.u16());
            let mut nodes = Nodes { reader: &mut reader, block, left: count };
            let value = nodes.value();
            assert_eq!(nodes.left, 0, "nodes that belong nowhere");
            value
        }
        12 => {
            let (kind, count) = (fixed.u8(), fixed.u32());
            is_message = matches!(kind, 0 | 1 | 6 | 9);
            push(kind, count, [reader.data(), reader.data(), reader.data()])
        }
        1003 => {
            let (kind, number) = (fixed.u8(), fixed.u64());
            assert!(matches!(kind, 0 | 1 | 6), "a message has a number, not kind {kind}");
            is_message = true;
            with_numbers(push(kind, 0, [reader.data(), reader.data(), reader.data()]), &[number])
        }
        1004 => {
            let (kind, count) = (fixed.u8(), fixed.u32());
            assert!(matches!(kind, 2 | 3 | 7), "joining has numbers, not kind {kind}");
            let numbers = [fixed.u64(), fixed.u64(), fixed.u64()];
            with_numbers(push(kind, count, [reader.data(), reader.data(), Vec::new()]), &numbers)
        }
        1005 => {
            is_message = true;
            Value::Push(vec![Value::Bulk(b"goblin.dropped".to_vec()), Value::Integer(fixed.u64() as i64)])
        }
        13 => Value::Array(reader.entries(|mut fixed, reader| {
            Value::Array(vec![Value::Bulk(reader.data()), Value::Integer(fixed.u32().into())])
        })),
        125 => {
            let items = reader.entries(|_, reader| Value::Bulk(reader.data()));
            Value::Array(vec![Value::Bulk(fixed.u64().to_string().into_bytes()), Value::Array(items)])
        }
        other => panic!("no reply has template {other}: {}", shown(bytes)),
    };
    assert_eq!(reader.at, reader.bytes.len(), "bytes after the last field: {}", shown(bytes));
    Some(Answer { template, value, is_message, len })
}

fn push(kind: u8, count: u32, [pattern, channel, payload]: [Vec<u8>; 3]) -> Value {
    let word = |word: &str| Value::Bulk(word.into());
    let name = |name: Vec<u8>| if name.is_empty() { Value::Nil } else { Value::Bulk(name) };
    let count = Value::Integer(count.into());
    Value::Push(match kind {
        0 => vec![word("message"), Value::Bulk(channel), Value::Bulk(payload)],
        1 => vec![word("pmessage"), Value::Bulk(pattern), Value::Bulk(channel), Value::Bulk(payload)],
        2 => vec![word("subscribe"), Value::Bulk(channel), count],
        3 => vec![word("psubscribe"), Value::Bulk(pattern), count],
        4 => vec![word("unsubscribe"), name(channel), count],
        5 => vec![word("punsubscribe"), name(pattern), count],
        6 => vec![word("smessage"), Value::Bulk(channel), Value::Bulk(payload)],
        7 => vec![word("ssubscribe"), Value::Bulk(channel), count],
        8 => vec![word("sunsubscribe"), name(channel), count],
        9 => return Value::Status(String::from_utf8_lossy(&payload).into_owned()),
        other => panic!("no push is of kind {other}"),
    })
}

fn with_numbers(push: Value, numbers: &[u64]) -> Value {
    let Value::Push(mut items) = push else { panic!("a push") };
    items.extend(numbers.iter().map(|number| Value::Integer(*number as i64)));
    Value::Push(items)
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> &'a [u8] {
        let taken = &self.bytes[self.at..self.at + count];
        self.at += count;
        taken
    }

    fn u8(&mut self) -> u8 {
        self.take(1)[0]
    }

    fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.take(2).try_into().unwrap())
    }

    fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.take(4).try_into().unwrap())
    }

    fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.take(8).try_into().unwrap())
    }

    fn i64(&mut self) -> i64 {
        self.u64() as i64
    }

    fn data(&mut self) -> Vec<u8> {
        let len = self.u32() as usize;
        self.take(len).to_vec()
    }

    fn entries(&mut self, mut entry: impl FnMut(Reader<'a>, &mut Self) -> Value) -> Vec<Value> {
        let (block, count) = (self.u16(), self.u16());
        let mut all = Vec::new();
        for _ in 0..count {
            let fixed = Reader { bytes: self.take(block.into()), at: 0 };
            all.push(entry(fixed, self));
        }
        all
    }
}

/// The nodes of a tree that were not read yet.
struct Nodes<'r, 'a> {
    reader: &'r mut Reader<'a>,
    block: u16,
    left: u16,
}

impl Nodes<'_, '_> {
    fn value(&mut self) -> Value {
        self.left -= 1;
        let mut fixed = Reader { bytes: self.reader.take(self.block.into()), at: 0 };
        let (kind, number, children) = (fixed.u8(), fixed.i64(), fixed.u32());
        let text = self.reader.data();
        match kind {
            0 => Value::Nil,
            1 => Value::Integer(number),
            2 => Value::Bulk(text),
            3 => Value::Status(String::from_utf8_lossy(&text).into_owned()),
            4 => Value::Error(text),
            5 => Value::Array((0..children).map(|_| self.value()).collect()),
            6 => Value::Map((0..children).map(|_| (self.value(), self.value())).collect()),
            other => panic!("no node is of type {other}"),
        }
    }
}
