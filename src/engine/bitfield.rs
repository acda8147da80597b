//! BITFIELD and BITFIELD_RO: integers of any width at any bit of a string.
//!
//! Invariant: all operations are read, and the type of the key is checked, before the first one is carried out.
//! Invariant: a string grows once, to where the last field written ends, also when that write then fails.

use smallvec::SmallVec;

use crate::command::{Args, Bitfield, BitfieldRo, FieldAction, FieldKind, FieldOperation, FieldOperations, Overflow};
use crate::reply::{CommandError, Reply};

use super::host::Host;
use super::keyspace::HashedKey;
use super::ranges::Written;
use super::settings::NotifyFlags;
use super::value::Value;
use super::{Engine, Turn};

/// Operations of one command; most have a few.
type Operations = SmallVec<[FieldOperation; 4]>;

impl Engine {
    pub(super) fn bitfield<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        bitfield: &Bitfield<'_>,
    ) -> Result<Reply<'_>, CommandError> {
        let (operations, key) = (self.operations(bitfield.operations)?, self.key(bitfield.key));
        turn.caller.check_entries(operations.len())?;
        let written = operations.iter().filter(|operation| operation.action != FieldAction::Get);
        match written.map(end_byte).max() {
            None => self.read_fields(turn, key, &operations),
            Some(len_min) => self.write_fields(turn, key, &operations, len_min),
        }
    }

    pub(super) fn bitfield_ro<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        bitfield: &BitfieldRo<'_>,
    ) -> Result<Reply<'_>, CommandError> {
        let (operations, key) = (self.operations(bitfield.operations)?, self.key(bitfield.key));
        if operations.iter().any(|operation| operation.action != FieldAction::Get) {
            return Err(CommandError::FieldReadOnly);
        }
        self.read_fields(turn, key, &operations)
    }

    fn operations(&self, words: Args<'_>) -> Result<Operations, CommandError> {
        let mut operations = FieldOperations::new(words, self.settings.proto_max_bulk_len as u64);
        let mut all = Operations::new();
        while let Some(operation) = operations.read_next()? {
            all.push(operation);
        }
        Ok(all)
    }

    fn read_fields<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        key: HashedKey<'_>,
        operations: &Operations,
    ) -> Result<Reply<'static>, CommandError> {
        let string = self.read_string(turn, key)?.and_then(Value::as_string).unwrap_or_default();
        let field = |operation: &FieldOperation| Field::of(operation).read(&string);
        Ok(Reply::Array(operations.iter().map(|operation| Reply::Integer(field(operation))).collect()))
    }

    fn write_fields<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        key: HashedKey<'_>,
        operations: &Operations,
        len_min: usize,
    ) -> Result<Reply<'static>, CommandError> {
        let Written { bytes, old_len } = self.write_string(turn, key, len_min)?;
        let has_grown = old_len.is_none_or(|len| len < len_min);
        let mut changes: u64 = 0;
        let mut run = |operation: &FieldOperation| {
            let field = Field::of(operation);
            let old = field.read(bytes);
            let (exact, overflow) = match operation.action {
                FieldAction::Get => return Reply::Integer(old),
                FieldAction::Set(value, overflow) => (operation.kind.widened(value), overflow),
                FieldAction::Add(amount, overflow) => (i128::from(old) + i128::from(amount), overflow),
            };
            let Some(new) = operation.kind.fitted(exact, overflow) else { return Reply::Nil };
            field.write(bytes, new);
            changes += u64::from(has_grown || new != old);
            Reply::Integer(if matches!(operation.action, FieldAction::Set(..)) { old } else { new })
        };
        let replies = operations.iter().map(&mut run).collect();
        if changes > 0 {
            // One event for all; the counter of changes counts each.
            self.stats.changes += changes - 1;
            self.changed(turn.host, turn.caller.db, NotifyFlags::STRING, "setbit", key.bytes());
        }
        Ok(Reply::Array(replies))
    }
}

/// The byte after the last one of a field.
fn end_byte(operation: &FieldOperation) -> usize {
    (operation.offset_bits + u64::from(operation.kind.bits)).div_ceil(8) as usize
}

/// A field seen through a window of nine bytes, which holds 64 bits wherever they begin.
#[derive(Debug, Clone, Copy)]
struct Field {
    kind: FieldKind,
    /// The first byte of the window.
    byte: usize,
    /// Bits of the window behind the field.
    behind: u32,
}

const WINDOW_BYTES: usize = 9;

impl Field {
    fn of(operation: &FieldOperation) -> Self {
        let before = (operation.offset_bits % 8) as u32;
        Field {
            kind: operation.kind,
            byte: (operation.offset_bits / 8) as usize,
            behind: WINDOW_BYTES as u32 * 8 - before - operation.kind.bits,
        }
    }

    /// The bytes of the window that the string has.
    fn range(self, len: usize) -> std::ops::Range<usize> {
        self.byte.min(len)..(self.byte + WINDOW_BYTES).min(len)
    }

    fn window(self, bytes: &[u8]) -> u128 {
        let present = &bytes[self.range(bytes.len())];
        let mut window = [0; 16];
        window[16 - WINDOW_BYTES..][..present.len()].copy_from_slice(present);
        u128::from_be_bytes(window)
    }

    fn read(self, bytes: &[u8]) -> i64 {
        self.kind.wrapped((self.window(bytes) >> self.behind) as u64)
    }

    /// Writes a value that fits to a string that the field is in.
    fn write(self, bytes: &mut [u8], value: i64) {
        let mask = u128::from(self.kind.mask()) << self.behind;
        let value = u128::from(value as u64 & self.kind.mask()) << self.behind;
        let window = (self.window(bytes) & !mask | value).to_be_bytes();
        let range = self.range(bytes.len());
        let len = range.len();
        bytes[range].copy_from_slice(&window[16 - WINDOW_BYTES..][..len]);
    }
}

impl FieldKind {
    /// Ones in the width.
    fn mask(self) -> u64 {
        u64::MAX >> (64 - self.bits)
    }

    /// The low bits of a word as a value of this kind.
    fn wrapped(self, word: u64) -> i64 {
        let spare = 64 - self.bits;
        if self.signed { ((word << spare) as i64) >> spare } else { (word & self.mask()) as i64 }
    }

    /// A value as it is compared with the bounds: what is written to a field without a sign has none either. Nor has,
    /// as Redis counts, one so low that 64 bits do not hold its distance from the highest value of the field.
    fn widened(self, value: i64) -> i128 {
        let distance = (self.mask() >> 1) as i64;
        let has_sign = self.signed && (self.bits == 64 || distance.checked_sub(value).is_some());
        if has_sign { value.into() } else { i128::from(value as u64) }
    }

    /// What is stored for a result; none when it does not fit and that is not allowed.
    fn fitted(self, exact: i128, overflow: Overflow) -> Option<i64> {
        let (minimum, maximum) = match self.signed {
            true => (-1 << (self.bits - 1), (1 << (self.bits - 1)) - 1),
            false => (0, i128::from(self.mask())),
        };
        match overflow {
            _ if (minimum..=maximum).contains(&exact) => Some(exact as i64),
            Overflow::Wrap => Some(self.wrapped(exact as u64)),
            Overflow::Saturate => Some(exact.clamp(minimum, maximum) as i64),
            Overflow::Fail => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(signed: bool, bits: u32, offset_bits: u64) -> Field {
        Field::of(&FieldOperation { action: FieldAction::Get, kind: FieldKind { signed, bits }, offset_bits })
    }

    #[test]
    fn what_is_written_is_read_back_and_the_rest_stays() {
        let mut random = fastrand::Rng::with_seed(5);
        for _ in 0..2000 {
            let signed = random.bool();
            let bits = random.u32(1..=if signed { 64 } else { 63 });
            let offset = random.u64(0..100);
            let field = field(signed, bits, offset);
            let old: Vec<u8> = (0..(offset + u64::from(bits)).div_ceil(8)).map(|_| random.u8(..)).collect();
            let value = field.kind.wrapped(random.u64(..));
            let mut new = old.clone();
            field.write(&mut new, value);
            assert_eq!(field.read(&new), value);
            let bit = |bytes: &[u8], at: u64| bytes[(at / 8) as usize] >> (7 - at % 8) & 1;
            for at in (0..offset).chain(offset + u64::from(bits)..old.len() as u64 * 8) {
                assert_eq!(bit(&old, at), bit(&new, at), "bit {at}");
            }
            field.write(&mut new, field.read(&old));
            assert_eq!(new, old);
        }
    }

    #[test]
    fn bits_past_the_end_are_zero() {
        assert_eq!(field(false, 8, 4).read(b"\xff"), 0xf0);
        assert_eq!(field(true, 64, 0).read(b"\x80"), i64::MIN);
        assert_eq!(field(false, 63, 4_294_967_295).read(b"\xff"), 0);
        assert_eq!(field(true, 8, 0).read(b""), 0);
    }

    #[test]
    fn overflow_wraps_saturates_or_fails() {
        let fitted = |signed, bits, exact| {
            let kind = FieldKind { signed, bits };
            [Overflow::Wrap, Overflow::Saturate, Overflow::Fail].map(|overflow| kind.fitted(exact, overflow))
        };
        assert_eq!(fitted(false, 8, 256), [Some(0), Some(255), None]);
        assert_eq!(fitted(false, 8, -1), [Some(255), Some(0), None]);
        assert_eq!(fitted(true, 8, 128), [Some(-128), Some(127), None]);
        assert_eq!(fitted(true, 8, -129), [Some(127), Some(-128), None]);
        assert_eq!(fitted(true, 64, i128::from(i64::MAX) + 1), [Some(i64::MIN), Some(i64::MAX), None]);
        assert_eq!(fitted(false, 63, i128::from(i64::MAX) + 1), [Some(0), Some(i64::MAX), None]);
        assert_eq!(fitted(true, 1, 1), [Some(-1), Some(0), None]);
        assert_eq!(fitted(true, 8, 127), [Some(127); 3]);
        let lowest = FieldKind { signed: true, bits: 8 }.widened(i64::MIN + 127);
        assert_eq!(fitted(true, 8, lowest), [Some(127), Some(127), None]);
        let low = FieldKind { signed: true, bits: 8 }.widened(i64::MIN + 128);
        assert_eq!(fitted(true, 8, low), [Some(-128), Some(-128), None]);
        assert_eq!(FieldKind { signed: true, bits: 64 }.widened(i64::MIN), i128::from(i64::MIN));
    }
}
