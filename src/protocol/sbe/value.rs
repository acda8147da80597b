//! The client's direction: requests as Call, and replies and pushes as values.
//!
//! A value is what RESP3 would have told, as far as the message tells it: sets are arrays, truth is a number.
//!
//! Invariant: nothing is reserved for an announced length or count.

use super::cursor::{Cursor, Frame, short_frame};
use super::{Framed, HEADER_BYTES, frame_at, reply, tree};
use crate::limits::VALUE_DEPTH_MAX;
use crate::protocol::resp::{Value, ValueError};

/// Number of the generic request.
pub const CALL: u16 = 1000;

/// Number of the greeting.
const HELLO: u16 = 1001;

/// Appends one request as Call; false, and nothing appended, when it has more words than a group can count or more
/// bytes than a frame.
pub fn encode_call(words: &[&[u8]], out: &mut Vec<u8>) -> bool {
    let mut frame = Frame::new(CALL, 0, 4 + words.iter().map(|word| 4 + word.len()).sum::<usize>());
    let place = frame.group(0);
    words.iter().for_each(|word| frame.data(word));
    let Ok(entries) = u16::try_from(words.len()) else { return false };
    frame.set_entries(place, entries);
    let Some(frame) = frame.finish() else { return false };
    out.extend_from_slice(&frame);
    true
}

/// Appends Hello: database, and what is not empty of user, password and name; messages come with their numbers.
pub fn encode_hello(db: u32, [user, password, name]: [&[u8]; 3], out: &mut Vec<u8>) {
    let mut block = [1; 5];
    block[..4].copy_from_slice(&db.to_le_bytes());
    short_frame(HELLO, &block, &[user, password, name], out);
}

/// The first value of `bytes` and how many bytes it took; none while it is not complete.
///
/// # Errors
/// [`ValueError::NoReply`] for what no server sends.
pub fn decode(bytes: &[u8]) -> Result<Option<(usize, Value)>, ValueError> {
    match frame_at(bytes, 0, u32::MAX) {
        Ok(Framed::Whole { message, end }) => Ok(Some((end, value(message).ok_or(ValueError::NoReply)?))),
        Ok(Framed::Incomplete) => Ok(None),
        Err(_) => Err(ValueError::NoReply),
    }
}

fn value(message: &[u8]) -> Option<Value> {
    let mut header = Cursor::new(message);
    let (block, template) = (header.u16()?, header.u16()?);
    let mut fixed = Cursor::new(message.get(HEADER_BYTES..)?);
    let mut rest = fixed;
    rest.take(block.into())?;
    Some(match template {
        reply::NIL => Value::Nil,
        reply::STATUS => Value::Status(rest.data()?.to_vec()),
        reply::ERROR => Value::Error([rest.data()?, b" ", rest.data()?].concat()),
        reply::INTEGER => Value::Integer(fixed.i64()?),
        reply::DOUBLE => Value::Double(fixed.f64()?),
        reply::BULK => bulk(rest.data()?),
        reply::ARRAY => Value::Array(entries(&mut rest, |_, rest| Some(bulk(rest.data()?)))?),
        reply::NULLABLE_ARRAY => Value::Array(entries(&mut rest, |mut block, rest| {
            let (present, text) = (block.u8()?, rest.data()?);
            Some(if present == 0 { Value::Nil } else { bulk(text) })
        })?),
        reply::MAP => Value::Map(entries(&mut rest, |_, rest| Some((bulk(rest.data()?), bulk(rest.data()?))))?),
        reply::SUBSCRIBERS => {
            let pairs = entries(&mut rest, |mut block, rest| Some([bulk(rest.data()?), count(block.u32()?)]))?;
            Value::Array(pairs.into_iter().flatten().collect())
        }
        reply::PAGE => {
            let items = entries(&mut rest, |_, rest| Some(bulk(rest.data()?)))?;
            let cursor = fixed.u64()?.to_string();
            Value::Array(vec![bulk(cursor.as_bytes()), Value::Array(items)])
        }
        reply::PUSH => {
            let (kind, total) = (fixed.u8()?, fixed.u32()?);
            push(kind, total, [rest.data()?, rest.data()?, rest.data()?])?
        }
        // As a push without numbers, with these behind it.
        reply::NUMBERED_PUSH => {
            let (kind, number) = (fixed.u8()?, fixed.u64()?);
            with_numbers(push(kind, 0, [rest.data()?, rest.data()?, rest.data()?])?, &[number])?
        }
        reply::JOINED_PUSH => {
            let (kind, total) = (fixed.u8()?, fixed.u32()?);
            let numbers = [fixed.u64()?, fixed.u64()?, fixed.u64()?];
            with_numbers(push(kind, total, [rest.data()?, rest.data()?, b""])?, &numbers)?
        }
        reply::DROPPED_PUSH => Value::Push(vec![bulk(b"goblin.dropped"), Value::Integer(fixed.u64()? as i64)]),
        reply::TREE => {
            let mut nodes = Nodes::new(&mut rest)?;
            let value = nodes.value(0)?;
            (nodes.left == 0).then_some(value)?
        }
        _ => return None,
    })
}

/// All entries of the group at `rest`; each is given its fixed part.
fn entries<'a, T>(
    rest: &mut Cursor<'a>,
    mut entry: impl FnMut(Cursor<'a>, &mut Cursor<'a>) -> Option<T>,
) -> Option<Vec<T>> {
    let (block, count) = (rest.u16()?, rest.u16()?);
    let mut all = Vec::new();
    for _ in 0..count {
        let fixed = Cursor::new(rest.take(block.into())?);
        all.push(entry(fixed, rest)?);
    }
    Some(all)
}

fn bulk(bytes: &[u8]) -> Value {
    Value::Bulk(bytes.to_vec())
}

fn count(number: u32) -> Value {
    Value::Integer(number.into())
}

fn push(kind: u8, total: u32, [pattern, channel, payload]: [&[u8]; 3]) -> Option<Value> {
    let word = |word: &str| bulk(word.as_bytes());
    // Leaving everything where nothing was joined names nothing.
    let left = |name: &[u8]| if name.is_empty() { Value::Nil } else { bulk(name) };
    Some(Value::Push(match kind {
        reply::MESSAGE => vec![word("message"), bulk(channel), bulk(payload)],
        reply::PATTERN_MESSAGE => vec![word("pmessage"), bulk(pattern), bulk(channel), bulk(payload)],
        reply::SHARD_MESSAGE => vec![word("smessage"), bulk(channel), bulk(payload)],
        reply::SUBSCRIBED => vec![word("subscribe"), bulk(channel), count(total)],
        reply::PATTERN_SUBSCRIBED => vec![word("psubscribe"), bulk(pattern), count(total)],
        reply::SHARD_SUBSCRIBED => vec![word("ssubscribe"), bulk(channel), count(total)],
        reply::UNSUBSCRIBED => vec![word("unsubscribe"), left(channel), count(total)],
        reply::PATTERN_UNSUBSCRIBED => vec![word("punsubscribe"), left(pattern), count(total)],
        reply::SHARD_UNSUBSCRIBED => vec![word("sunsubscribe"), left(channel), count(total)],
        // As RESP has it: a line.
        reply::MONITORED => return Some(Value::Status(payload.to_vec())),
        _ => return None,
    }))
}

fn with_numbers(push: Value, numbers: &[u64]) -> Option<Value> {
    let Value::Push(mut items) = push else { return None };
    items.extend(numbers.iter().map(|number| Value::Integer(*number as i64)));
    Some(Value::Push(items))
}

/// The nodes of a RespValueReply that are still to be read.
struct Nodes<'c, 'a> {
    rest: &'c mut Cursor<'a>,
    block: u16,
    left: u16,
}

impl<'c, 'a> Nodes<'c, 'a> {
    fn new(rest: &'c mut Cursor<'a>) -> Option<Self> {
        let (block, left) = (rest.u16()?, rest.u16()?);
        Some(Nodes { rest, block, left })
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        self.left = self.left.checked_sub(1)?;
        let mut node = Cursor::new(self.rest.take(self.block.into())?);
        let (kind, number, children) = (node.u8()?, node.i64()?, node.u32()?);
        let text = self.rest.data()?;
        if depth > VALUE_DEPTH_MAX {
            return None;
        }
        Some(match kind {
            tree::NIL_NODE => Value::Nil,
            tree::INTEGER_NODE => Value::Integer(number),
            tree::BULK_NODE => bulk(text),
            tree::STATUS_NODE => Value::Status(text.to_vec()),
            tree::ERROR_NODE => Value::Error(text.to_vec()),
            tree::ARRAY_NODE => {
                let mut items = Vec::new();
                for _ in 0..children {
                    items.push(self.value(depth + 1)?);
                }
                Value::Array(items)
            }
            tree::MAP_NODE => {
                let mut pairs = Vec::new();
                for _ in 0..children {
                    pairs.push((self.value(depth + 1)?, self.value(depth + 1)?));
                }
                Value::Map(pairs)
            }
            _ => return None,
        })
    }
}
