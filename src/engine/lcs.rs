//! LCS: the longest bytes that two strings have in common, in order, though not always side by side.
//!
//! ```text
//!   L(i, j)   length for the first i bytes of one string and the first j of the other
//!   step bit  one per (i, j): set when L(i, j) is larger than L(i, j - 1)
//! ```
//!
//! A row of step bits follows from the one before it with an addition, 64 columns at a time; the way back through the
//! rows finds the bytes. So it takes a 64th of the time, and an eighth of a byte for each pair of bytes instead of the
//! four that the bound counts, which is Redis's.
//!
//! Invariant: of several answers of one length the one Redis gives is found.

use crate::command::{Lcs, LcsOptions};
use crate::reply::{CommandError, Reply};

use super::host::Host;
use super::value::Value;
use super::{Engine, Turn};

/// Bytes that Redis takes for each pair of bytes.
const CELL_BYTES: u128 = 4;

impl Engine {
    pub(super) fn lcs<H: Host>(&mut self, turn: &mut Turn<'_, H>, lcs: &Lcs<'_>) -> Result<Reply<'_>, CommandError> {
        let keys = [self.key(lcs.key1), self.key(lcs.key2)];
        for key in keys {
            self.read(turn, key);
        }
        let (now_ms, bytes_max) = (turn.now.unix_ms(), self.settings.proto_max_bulk_len);
        let database = &*self.database(turn.caller.db);
        let string = |key| match database.get(key, now_ms) {
            None => Ok(Default::default()),
            Some(value) => Value::as_string(value).ok_or(CommandError::LcsTypes),
        };
        let (a, b) = (string(keys[0])?, string(keys[1])?);
        let options = LcsOptions::parse(lcs.options)?;
        let cells = (a.len() as u128 + 1) * (b.len() as u128 + 1);
        if cells * CELL_BYTES > bytes_max as u128 {
            return Err(CommandError::LcsMemory);
        }
        Ok(match options {
            LcsOptions { len: true, .. } => Reply::count(common_len(&a, &b)),
            LcsOptions { idx: true, .. } => described(&matches(&a, &b), &options),
            _ => {
                let found = matches(&a, &b);
                let parts: Vec<&[u8]> = found.iter().rev().map(|part| &a[part.a..part.a + part.len]).collect();
                Reply::owned(parts.concat())
            }
        })
    }
}

/// The reply to IDX: matches from the last to the first, and the length of all, also of those left out.
fn described(found: &[Match], options: &LcsOptions) -> Reply<'static> {
    let total = found.iter().map(|part| part.len).sum();
    let ends = |start: usize, len: usize| Reply::Array(vec![Reply::count(start), Reply::count(start + len - 1)]);
    let long = |part: &&Match| part.len as i64 >= options.match_len_min;
    let parts = found.iter().filter(long).map(|part| {
        let mut reply = vec![ends(part.a, part.len), ends(part.b, part.len)];
        if options.with_match_len {
            reply.push(Reply::count(part.len));
        }
        Reply::Array(reply)
    });
    let parts = Reply::Array(parts.collect());
    Reply::Map(vec![(Reply::bulk(b"matches"), parts), (Reply::bulk(b"len"), Reply::count(total))])
}

/// Bytes side by side in both strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Match {
    a: usize,
    b: usize,
    len: usize,
}

/// Only the length.
fn common_len(a: &[u8], b: &[u8]) -> usize {
    // The longer one along the words: the work is rows times words.
    let (rows, columns) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    let mut steps = Steps::new(rows, columns);
    rows.iter().for_each(|byte| steps.advance(*byte));
    steps.count()
}

/// The matches from the last to the first.
fn matches(a: &[u8], b: &[u8]) -> Vec<Match> {
    let mut steps = Steps::new(a, b);
    let row_bytes = b.len().div_ceil(8);
    let mut rows = Vec::with_capacity(a.len() * row_bytes);
    for byte in a {
        steps.advance(*byte);
        steps.store(&mut rows, row_bytes);
    }
    let mut found: Vec<Match> = Vec::new();
    let (mut i, mut j) = (a.len(), b.len());
    while i > 0 && j > 0 {
        if a[i - 1] == b[j - 1] {
            (i, j) = (i - 1, j - 1);
            match found.last_mut() {
                Some(last) if (last.a, last.b) == (i + 1, j + 1) => *last = Match { a: i, b: j, len: last.len + 1 },
                _ => found.push(Match { a: i, b: j, len: 1 }),
            }
        } else if rows[(i - 1) * row_bytes + (j - 1) / 8] >> ((j - 1) % 8) & 1 == 1 {
            // Without this column less is common, so it came from the row above.
            i -= 1;
        } else {
            j -= 1;
        }
    }
    found
}

/// One row of step bits, inverted, and where each byte of the rows is among the columns.
struct Steps {
    inverted: Vec<u64>,
    columns: usize,
    /// Which mask of `masks` is a byte's; none for a byte without one.
    mask_of: [Option<u16>; 256],
    /// Masks one after the other, as long as the row each.
    masks: Vec<u64>,
}

impl Steps {
    /// The row above the first.
    fn new(rows: &[u8], columns: &[u8]) -> Self {
        let words = columns.len().div_ceil(64);
        let mut steps =
            Steps { inverted: vec![u64::MAX; words], columns: columns.len(), mask_of: [None; 256], masks: Vec::new() };
        let mut count: u16 = 0;
        for byte in rows {
            steps.mask_of[usize::from(*byte)].get_or_insert_with(|| {
                count += 1;
                count - 1
            });
        }
        steps.masks = vec![0; usize::from(count) * words];
        for (column, byte) in columns.iter().enumerate() {
            if let Some(mask) = steps.mask_of[usize::from(*byte)] {
                steps.masks[usize::from(mask) * words + column / 64] |= 1 << (column % 64);
            }
        }
        steps
    }

    /// Goes on to the row of a byte.
    fn advance(&mut self, byte: u8) {
        let Some(mask) = self.mask_of[usize::from(byte)] else { return };
        let words = self.inverted.len();
        let masks = &self.masks[usize::from(mask) * words..][..words];
        let mut carry = false;
        for (row, mask) in self.inverted.iter_mut().zip(masks) {
            let (sum, first) = row.overflowing_add(*row & mask);
            let (sum, second) = sum.overflowing_add(u64::from(carry));
            carry = first || second;
            *row = sum | (*row & !mask);
        }
    }

    /// Appends the row to others.
    fn store(&self, rows: &mut Vec<u8>, row_bytes: usize) {
        let start = rows.len();
        rows.resize(start + row_bytes, 0);
        for (bytes, word) in rows[start..].chunks_mut(8).zip(&self.inverted) {
            bytes.copy_from_slice(&(!word).to_le_bytes()[..bytes.len()]);
        }
    }

    /// Steps in the row: the length at its end.
    fn count(&self) -> usize {
        let clear: u64 = self.inverted.iter().map(|word| u64::from(word.count_zeros())).sum();
        // Columns past the end have no mask, but a carry may have run into them.
        let past = match self.columns % 64 {
            0 => 0,
            used => (self.inverted.last().copied().unwrap_or(u64::MAX) | ((1 << used) - 1)).count_zeros(),
        };
        clear as usize - past as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table itself, filled and walked as its definition says.
    fn by_definition(a: &[u8], b: &[u8]) -> Vec<Match> {
        let mut table = vec![vec![0; b.len() + 1]; a.len() + 1];
        for i in 1..=a.len() {
            for j in 1..=b.len() {
                table[i][j] = match a[i - 1] == b[j - 1] {
                    true => table[i - 1][j - 1] + 1,
                    false => table[i - 1][j].max(table[i][j - 1]),
                };
            }
        }
        let mut found: Vec<Match> = Vec::new();
        let (mut i, mut j) = (a.len(), b.len());
        while i > 0 && j > 0 {
            if a[i - 1] == b[j - 1] {
                (i, j) = (i - 1, j - 1);
                match found.last_mut() {
                    Some(last) if (last.a, last.b) == (i + 1, j + 1) => *last = Match { a: i, b: j, len: last.len + 1 },
                    _ => found.push(Match { a: i, b: j, len: 1 }),
                }
            } else if table[i - 1][j] > table[i][j - 1] {
                i -= 1;
            } else {
                j -= 1;
            }
        }
        found
    }

    #[test]
    fn step_bits_lead_to_the_matches_that_the_table_leads_to() {
        let mut random = fastrand::Rng::with_seed(7);
        for round in 0..300 {
            let letters = 1 + random.u8(..[2, 4, 26, 255][round % 4]);
            let mut string = |len_max| -> Vec<u8> {
                let len = random.usize(0..=len_max);
                (0..len).map(|_| random.u8(..letters)).collect()
            };
            let (a, b) = (string(150), string(200));
            let wanted = by_definition(&a, &b);
            assert_eq!(matches(&a, &b), wanted);
            assert_eq!(common_len(&a, &b), wanted.iter().map(|part| part.len).sum::<usize>());
        }
    }

    #[test]
    fn equal_strings_match_as_a_whole() {
        for len in [1, 63, 64, 65, 127, 128, 129, 1000] {
            let string: Vec<u8> = (0..len).map(|n| (n % 251) as u8).collect();
            assert_eq!(matches(&string, &string), [Match { a: 0, b: 0, len }]);
            assert_eq!(common_len(&string, &string), len);
            assert_eq!(common_len(&string, b""), 0);
        }
    }
}
