//! Bits of strings: SETBIT GETBIT BITCOUNT BITPOS BITOP.
//!
//! Bit 0 is the highest bit of the first byte. Bits past the end of a string are 0, and so are all of an absent one.
//!
//! Invariant: a bit past `proto-max-bulk-len` is refused before anything changes.

mod words;

use std::borrow::Cow;
use std::ops::Range;

use smallvec::SmallVec;

use crate::command::{
    BitRange, BitSearch, BitUnit, Bitcount, Bitop, BitopOperation, Bitpos, Getbit, Setbit, parse_integer,
};
use crate::reply::{CommandError, Reply};

use super::host::Host;
use super::keyspace::HashedKey;
use super::ranges::{Written, clamped, part_of};
use super::settings::NotifyFlags;
use super::strings::Lifetime;
use super::value::Value;
use super::{Engine, Turn};

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
        let Some(string) = self.read_string(turn, key)?.and_then(Value::as_string) else {
            return Ok(Reply::Integer(0));
        };
        let all = BitRange { start: 0, end: -1, unit: BitUnit::Byte };
        let ones = count_ones(&string, bits_of(bitcount.range.unwrap_or(all), string.len(), part_of));
        Ok(Reply::Integer(ones as i64))
    }

    /// Without an end, zeros seem to follow the string: a search for one succeeds there if nowhere before.
    pub(super) fn bitpos<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        bitpos: &Bitpos<'_>,
    ) -> Result<Reply<'_>, CommandError> {
        let BitSearch { bit, range, is_bounded } = bitpos.search;
        let key = self.key(bitpos.key);
        let Some(string) = self.read_string(turn, key)?.and_then(Value::as_string) else {
            return Ok(Reply::Integer(if bit { -1 } else { 0 }));
        };
        let part = bits_of(range, string.len(), clamped);
        let past_end = (!bit && !is_bounded && !part.is_empty()).then_some(part.end);
        let position = find(&string, part, bit).or(past_end);
        Ok(Reply::Integer(position.map_or(-1, |position| position as i64)))
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
        let string = |key| database.get(key, now_ms).and_then(Value::as_string).unwrap_or_default();
        let sources: SmallVec<[Cow<'_, [u8]>; 16]> = keys.into_iter().map(string).collect();
        let len = sources.iter().map(|source| source.len()).max().unwrap_or(0);
        self.room_for(turn.host, len)?;
        let result = combine(bitop.operation, &sources, len);
        drop(sources);
        let destination = self.key(bitop.destkey);
        if result.is_empty() {
            // Nothing looks at the destination: one that is due is deleted like any other.
            self.delete(turn, destination);
        } else {
            self.store(turn, destination, Value::raw(result), Lifetime::Unbounded);
        }
        Ok(Reply::count(len))
    }
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
