//! Bits of strings: SETBIT GETBIT BITCOUNT BITPOS BITOP.
//!
//! Bit 0 is the highest bit of the first byte. Bits past the end of a string are 0, and so are all of an absent one.
//!
//! Invariant: a bit past `proto-max-bulk-len` is refused before anything changes.

mod tasks;
mod words;

use std::borrow::Cow;
use std::ops::Range;

use smallvec::SmallVec;

use crate::command::{
    BitRange, BitSearch, BitUnit, Bitcount, Bitop, BitopOperation, Bitpos, Getbit, Setbit, parse_integer,
};
use crate::limits::{STRING_BYTES_AT_ONCE_MAX, STRING_BYTES_WRITTEN_AT_ONCE_MAX};
use crate::reply::{CommandError, Reply};

use super::host::Host;
use super::keyspace::HashedKey;
use super::ranges::{Written, clamped, part_of};
use super::settings::NotifyFlags;
use super::strings::Lifetime;
use super::value::Value;
use super::{Engine, Turn, work};

use words::{combine, count_ones, find};

impl Engine {
    pub(super) fn setbit<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        setbit: &Setbit<'_>,
    ) -> Result<Reply<'_>, CommandError> {
        let (db, key) = (turn.caller.db, self.key(setbit.key));
        let (byte, mask) = self.bit_place(setbit.offset)?;
        let bit = match setbit.value.get(0).and_then(parse_integer) {
            Some(0) => false,
            Some(1) => true,
            _ => return Err(CommandError::BitValue),
        };
        let Written { bytes, old_len } = self.write_string(turn, key, byte + 1)?;
        let old = bytes[byte] & mask != 0;
        if bit {
            bytes[byte] |= mask;
        } else {
            bytes[byte] &= !mask;
        }
        if old != bit || old_len.is_none_or(|len| len <= byte) {
            self.changed(turn.host, db, NotifyFlags::STRING, "setbit", key.bytes());
        }
        Ok(Reply::flag(old))
    }

    pub(super) fn getbit<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        getbit: &Getbit<'_>,
    ) -> Result<Reply<'_>, CommandError> {
        let key = self.key(getbit.key);
        let (byte, mask) = self.bit_place(getbit.offset)?;
        let string = self.read_string(turn, key)?.and_then(Value::as_string);
        Ok(Reply::flag(string.is_some_and(|bytes| bytes.get(byte).is_some_and(|byte| byte & mask != 0))))
    }

    /// The byte that a bit is in, and its mask there.
    fn bit_place(&self, offset: i64) -> Result<(usize, u8), CommandError> {
        let offset = u64::try_from(offset).map_err(|_| CommandError::BitOffset)?;
        let byte = usize::try_from(offset / 8).map_err(|_| CommandError::BitOffset)?;
        if byte >= self.settings.proto_max_bulk_len {
            return Err(CommandError::BitOffset);
        }
        Ok((byte, 0x80 >> (offset % 8)))
    }

    pub(super) fn bitcount<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        bitcount: &Bitcount<'_>,
    ) -> Result<Reply<'_>, CommandError> {
        let key = self.key(bitcount.key);
        let Some(value) = self.read_string(turn, key)? else { return Ok(Reply::Integer(0)) };
        let all = BitRange { start: 0, end: -1, unit: BitUnit::Byte };
        let string = value.as_string().unwrap_or_default();
        let part = bits_of(bitcount.range.unwrap_or(all), string.len(), part_of);
        if is_long(&part) {
            let task = tasks::CountOnes { bytes: value.share().unwrap_or_default(), rest: part, ones: 0 };
            return Ok(self.work_off(turn, Vec::new(), Box::new(task)));
        }
        Ok(Reply::Integer(count_ones(&string, part) as i64))
    }

    /// Without an end, zeros seem to follow the string: a search for one succeeds there if nowhere before.
    pub(super) fn bitpos<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        bitpos: &Bitpos<'_>,
    ) -> Result<Reply<'_>, CommandError> {
        let BitSearch { bit, range, is_bounded } = bitpos.search;
        let key = self.key(bitpos.key);
        let Some(value) = self.read_string(turn, key)? else { return Ok(Reply::Integer(if bit { -1 } else { 0 })) };
        let string = value.as_string().unwrap_or_default();
        let part = bits_of(range, string.len(), clamped);
        let past_end = (!bit && !is_bounded && !part.is_empty()).then_some(part.end);
        if is_long(&part) {
            let task = tasks::FindBit { bytes: value.share().unwrap_or_default(), rest: part, bit, past_end };
            return Ok(self.work_off(turn, Vec::new(), Box::new(task)));
        }
        Ok(position_reply(find(&string, part, bit).or(past_end)))
    }

    /// Every source is looked up and checked for its type, in order, before the destination changes.
    pub(super) fn bitop<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        bitop: &Bitop<'_>,
    ) -> Result<Reply<'_>, CommandError> {
        check_sources(bitop.operation, bitop.keys.len())?;
        let keys: SmallVec<[HashedKey<'_>; 16]> = bitop.keys.iter().map(|key| self.key(key)).collect();
        for &key in &keys {
            self.read_string(turn, key)?;
        }
        let now_ms = turn.now.unix_ms();
        let database = &self.databases[usize::from(turn.caller.db)];
        let values: SmallVec<[Option<&Value>; 16]> = keys.iter().map(|key| database.get(*key, now_ms)).collect();
        let len = values.iter().flatten().filter_map(|value| value.string_len()).max().unwrap_or(0);
        self.room_for(turn.host, len)?;
        if len.saturating_mul(keys.len()) > STRING_BYTES_WRITTEN_AT_ONCE_MAX {
            let held = keys.iter().zip(&values).map(|(key, value)| work::source(key.bytes(), *value)).collect();
            let strings = values.iter().map(|value| value.and_then(Value::share).unwrap_or_default()).collect();
            drop(values);
            let task = tasks::Combine::new(bitop.operation, strings, len, bitop.destkey);
            return Ok(self.work_off(turn, held, Box::new(task)));
        }
        let sources: SmallVec<[Cow<'_, [u8]>; 16]> =
            values.into_iter().map(|value| value.and_then(Value::as_string).unwrap_or_default()).collect();
        let mut result = vec![0; len];
        combine(bitop.operation, &sources, 0, &mut result);
        drop(sources);
        Ok(self.store_bits(turn, bitop.destkey, result))
    }

    /// Gives a key the result of BITOP; an empty one removes it. Answers its length.
    pub(super) fn store_bits<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        destination: &[u8],
        result: Vec<u8>,
    ) -> Reply<'static> {
        let (destination, len) = (self.key(destination), result.len());
        if result.is_empty() {
            // Nothing looks at the destination: one that is due is deleted like any other.
            self.delete(turn, destination);
        } else {
            self.store(turn, destination, Value::raw(result), Lifetime::Unbounded);
        }
        Reply::count(len)
    }
}

/// Whether so many bits are counted or searched that others wait.
fn is_long(part: &Range<u64>) -> bool {
    part.end.saturating_sub(part.start) > STRING_BYTES_AT_ONCE_MAX as u64 * 8
}

fn position_reply(position: Option<u64>) -> Reply<'static> {
    Reply::Integer(position.map_or(-1, |position| position as i64))
}

/// # Errors
/// The operation does not take as many sources.
fn check_sources(operation: BitopOperation, sources: usize) -> Result<(), CommandError> {
    let (takes, name) = match operation {
        BitopOperation::And | BitopOperation::Or | BitopOperation::Xor | BitopOperation::One => (true, ""),
        BitopOperation::Not => (sources == 1, "NOT"),
        BitopOperation::Diff => (sources > 1, "DIFF"),
        BitopOperation::Diff1 => (sources > 1, "DIFF1"),
        BitopOperation::Andor => (sources > 1, "ANDOR"),
    };
    if takes { Ok(()) } else { Err(CommandError::BitopSources(name)) }
}

/// The bits of a range in a string of `len` bytes; `part` finds the units between two ends.
fn bits_of(range: BitRange, len: usize, part: fn([i64; 2], u64) -> Range<u64>) -> Range<u64> {
    let ends = [range.start, range.end];
    match range.unit {
        BitUnit::Byte => {
            let bytes = part(ends, len as u64);
            bytes.start * 8..bytes.end * 8
        }
        BitUnit::Bit => part(ends, len as u64 * 8),
    }
}
