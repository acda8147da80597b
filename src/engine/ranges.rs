//! Parts of strings: APPEND STRLEN GETRANGE SUBSTR SETRANGE.
//!
//! Invariant: a string that would become longer than `proto-max-bulk-len` is refused before anything changes.

use std::ops::Range;

use crate::command::{Append, Getrange, Setrange, Strlen, Substr};
use crate::reply::{CommandError, Reply};

use super::host::Host;
use super::keyspace::HashedKey;
use super::settings::NotifyFlags;
use super::value::{Kind, Value};
use super::{Engine, Turn};

impl Engine {
    pub(super) fn append<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        append: &Append<'_>,
    ) -> Result<Reply<'_>, CommandError> {
        let (db, key, bytes) = (turn.caller.db, self.key(append.key), append.value);
        let len_max = self.settings.proto_max_bulk_len;
        let len = match self.write(turn, key) {
            Some(value) => {
                let old = value.string_len().ok_or(CommandError::WrongType)?;
                let len = old.checked_add(bytes.len()).filter(|len| *len <= len_max);
                let len = len.ok_or(CommandError::StringTooLong)?;
                value.string_mut(len).ok_or(CommandError::WrongType)?[old..].copy_from_slice(bytes);
                len
            }
            None => {
                self.database(db).insert(key, Value::string(bytes), None);
                self.added(turn.host, db, key.bytes());
                bytes.len()
            }
        };
        self.changed(turn.host, db, NotifyFlags::STRING, "append", key.bytes());
        Ok(Reply::count(len))
    }

    pub(super) fn strlen<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        strlen: &Strlen<'_>,
    ) -> Result<Reply<'_>, CommandError> {
        let key = self.key(strlen.key);
        let len = match self.read(turn, key) {
            Some(value) => value.string_len().ok_or(CommandError::WrongType)?,
            None => 0,
        };
        Ok(Reply::count(len))
    }

    pub(super) fn getrange<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        range: &Getrange<'_>,
    ) -> Result<Reply<'_>, CommandError> {
        self.part(turn, range.key, [range.start, range.end])
    }

    pub(super) fn substr<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        range: &Substr<'_>,
    ) -> Result<Reply<'_>, CommandError> {
        self.part(turn, range.key, [range.start, range.end])
    }

    fn part<H: Host>(&mut self, turn: &mut Turn<'_, H>, key: &[u8], ends: [i64; 2]) -> Result<Reply<'_>, CommandError> {
        let key = self.key(key);
        match self.read(turn, key) {
            None => Ok(Reply::bulk(b"")),
            Some(value) => {
                let text = value.slice(|len| {
                    let part = part_of(ends, len as u64);
                    part.start as usize..part.end as usize
                });
                text.map(Reply::Bulk).ok_or(CommandError::WrongType)
            }
        }
    }

    pub(super) fn setrange<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        setrange: &Setrange<'_>,
    ) -> Result<Reply<'_>, CommandError> {
        let offset = u64::try_from(setrange.offset).map_err(|_| CommandError::OffsetOutOfRange)?;
        let (db, key, bytes) = (turn.caller.db, self.key(setrange.key), setrange.value);
        let len_max = self.settings.proto_max_bulk_len as u64;
        let old = match self.write(turn, key) {
            Some(value) => value.string_len().ok_or(CommandError::WrongType)?,
            None => 0,
        };
        if bytes.is_empty() {
            return Ok(Reply::count(old));
        }
        let end = offset.checked_add(bytes.len() as u64).filter(|end| *end <= len_max);
        let end = end.ok_or(CommandError::StringTooLong)? as usize;
        self.write_string(turn, key, end)?.bytes[offset as usize..end].copy_from_slice(bytes);
        self.changed(turn.host, db, NotifyFlags::STRING, "setrange", key.bytes());
        Ok(Reply::count(old.max(end)))
    }

    /// The string at a key, for a command that only reads.
    ///
    /// # Errors
    /// The key holds another type.
    pub(super) fn read_string<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        key: HashedKey<'_>,
    ) -> Result<Option<&Value>, CommandError> {
        match self.read(turn, key) {
            Some(value) if value.kind() != Kind::String => Err(CommandError::WrongType),
            value => Ok(value),
        }
    }

    /// The string at a key to be changed in place, made at least `len_min` bytes long with zeros. A key that holds
    /// nothing gets one of zeros, and `new` is published.
    ///
    /// # Errors
    /// The key holds another type, or there is no memory for so long a string.
    pub(super) fn write_string<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        key: HashedKey<'_>,
        len_min: usize,
    ) -> Result<Written<'_>, CommandError> {
        let (db, now_ms) = (turn.caller.db, turn.now.unix_ms());
        let old_len = match self.write(turn, key) {
            Some(value) => Some(value.string_len().ok_or(CommandError::WrongType)?),
            None => None,
        };
        self.room_for(turn.host, len_min.saturating_sub(old_len.unwrap_or(0)))?;
        if old_len.is_none() {
            self.database(db).insert(key, Value::raw(vec![0; len_min]), None);
            self.added(turn.host, db, key.bytes());
        }
        let value = self.database(db).get_mut(key, now_ms);
        let bytes = value.and_then(|value| value.string_mut(len_min)).ok_or(CommandError::WrongType)?;
        Ok(Written { bytes, old_len })
    }
}

/// A string to be changed in place.
pub(super) struct Written<'e> {
    /// What it holds, long enough.
    pub(super) bytes: &'e mut [u8],
    /// How long it was; none when the key is new.
    pub(super) old_len: Option<usize>,
}

/// As [`clamped`], but nothing for two ends before the beginning in the wrong order.
pub(super) fn part_of(ends: [i64; 2], len: u64) -> Range<u64> {
    let [start, end] = ends;
    if start < 0 && end < 0 && start > end { 0..0 } else { clamped(ends, len) }
}

/// The part of `len` units between two ends, both included, of which negative ones count from the end; what lies before
/// the beginning is the first unit.
pub(super) fn clamped([start, end]: [i64; 2], len: u64) -> Range<u64> {
    let from_start = |end: i64| match end {
        0.. => end.unsigned_abs(),
        _ => len.saturating_sub(end.unsigned_abs()),
    };
    let (start, end) = (from_start(start), from_start(end).saturating_add(1).min(len));
    if start < end { start..end } else { 0..0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_included_and_negative_ones_count_from_the_end() {
        for (ends, wanted) in [
            ([0, -1], 0..5),
            ([-3, -1], 2..5),
            ([1, 1], 1..2),
            ([3, 1], 0..0),
            ([-100, 100], 0..5),
            ([-1, -3], 0..0),
            ([-10, -6], 0..1),
            ([-6, -10], 0..0),
            ([5, 10], 0..0),
            ([4, i64::MAX], 4..5),
            ([i64::MIN, i64::MAX], 0..5),
            ([i64::MIN, i64::MIN], 0..1),
        ] {
            assert_eq!(part_of(ends, 5), wanted, "{ends:?}");
        }
        assert_eq!(clamped([-6, -10], 5), 0..1);
        assert_eq!(part_of([0, -1], 0), 0..0);
        assert_eq!(part_of([-5, -1], 0), 0..0);
    }
}
