//! Bit commands over long strings, a part of the string at a time.

use std::ops::Range;

use bytes::Bytes;

use crate::command::BitopOperation;
use crate::engine::Engine;
use crate::engine::work::{Done, Task};
use crate::limits::{STRING_BYTES_AT_ONCE_MAX, STRING_BYTES_WRITTEN_AT_ONCE_MAX};
use crate::reply::Reply;

use super::position_reply;
use super::words::{combine, count_ones, find};

/// BITCOUNT.
#[derive(Debug)]
pub(super) struct CountOnes {
    pub(super) bytes: Bytes,
    /// Bits still to be looked at.
    pub(super) rest: Range<u64>,
    pub(super) ones: u64,
}

impl Task for CountOnes {
    fn advance(&mut self, _: &mut Engine) -> Option<Done> {
        self.ones += count_ones(&self.bytes, take_part(&mut self.rest));
        self.rest.is_empty().then(|| Done::Answer(Reply::Integer(self.ones as i64)))
    }
}

/// BITPOS.
#[derive(Debug)]
pub(super) struct FindBit {
    pub(super) bytes: Bytes,
    /// Bits still to be looked at.
    pub(super) rest: Range<u64>,
    pub(super) bit: bool,
    /// The answer when none of them is it.
    pub(super) past_end: Option<u64>,
}

impl Task for FindBit {
    fn advance(&mut self, _: &mut Engine) -> Option<Done> {
        let found = find(&self.bytes, take_part(&mut self.rest), self.bit);
        let is_done = found.is_some() || self.rest.is_empty();
        is_done.then(|| Done::Answer(position_reply(found.or(self.past_end))))
    }
}

/// BITOP.
#[derive(Debug)]
pub(super) struct Combine {
    operation: BitopOperation,
    sources: Vec<Bytes>,
    /// As long as the longest source; zeros from `done` on.
    result: Vec<u8>,
    done: usize,
    destination: Box<[u8]>,
}

impl Combine {
    /// Prepares a result of `len` bytes.
    pub(super) fn new(operation: BitopOperation, sources: Vec<Bytes>, len: usize, destination: &[u8]) -> Self {
        Combine { operation, sources, result: vec![0; len], done: 0, destination: destination.into() }
    }
}

impl Task for Combine {
    fn advance(&mut self, _: &mut Engine) -> Option<Done> {
        let part = (STRING_BYTES_WRITTEN_AT_ONCE_MAX / self.sources.len()).max(64);
        let end = self.result.len().min(self.done + part);
        combine(self.operation, &self.sources, self.done, &mut self.result[self.done..end]);
        self.done = end;
        let key = || self.destination.clone();
        (end == self.result.len()).then(|| Done::StoredString { key: key(), string: std::mem::take(&mut self.result) })
    }
}

/// Takes the next bits out of those left.
fn take_part(rest: &mut Range<u64>) -> Range<u64> {
    let part = rest.start..rest.end.min(rest.start.saturating_add(STRING_BYTES_AT_ONCE_MAX as u64 * 8));
    rest.start = part.end;
    part
}
