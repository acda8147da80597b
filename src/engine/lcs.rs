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

use std::ops::Range;

use bytes::Bytes;

use crate::command::{Lcs, LcsOptions};
use crate::limits::LCS_WORDS_AT_ONCE_MAX;
use crate::reply::{CommandError, Reply};

use super::host::Host;
use super::work::{Done, Task};
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
            Some(value) => value.share().ok_or(CommandError::LcsTypes),
        };
        let (a, b): (Bytes, Bytes) = (string(keys[0])?, string(keys[1])?);
        let options = LcsOptions::parse(lcs.options)?;
        let cells = (a.len() as u128 + 1) * (b.len() as u128 + 1);
        if cells * CELL_BYTES > bytes_max as u128 {
            return Err(CommandError::LcsMemory);
        }
        let mut task = Comparison::new(a, b, options);
        match cells / 64 > LCS_WORDS_AT_ONCE_MAX as u128 {
            true => Ok(self.work_off(turn, Vec::new(), Box::new(task))),
            false => Ok(task.finish()),
        }
    }
}

/// LCS under way: the columns of each byte are marked, then row follows row, then the way back is gone.
#[derive(Debug)]
struct Comparison {
    /// What the rows stand for, and the columns.
    rows: Bytes,
    columns: Bytes,
    options: LcsOptions,
    steps: Steps,
    /// Columns marked, rows gone through, words of the row after them.
    marked: usize,
    row: usize,
    word: usize,
    carry: bool,
    /// The rows so far, `row_bytes` each; none are kept for the length alone.
    kept: Vec<u8>,
    row_bytes: usize,
    found: Vec<Match>,
    /// How much of both strings is in front of the way back.
    back: (usize, usize),
}

impl Comparison {
    fn new(a: Bytes, b: Bytes, options: LcsOptions) -> Self {
        // Without a way back the longer one lies along the words: the work is rows times words.
        let (rows, columns) = if options.len && a.len() > b.len() { (b, a) } else { (a, b) };
        let row_bytes = if options.len { 0 } else { columns.len().div_ceil(8) };
        Comparison {
            steps: Steps::new(if rows.len() < columns.len() { &rows } else { &columns }, columns.len()),
            kept: Vec::with_capacity(rows.len() * row_bytes),
            row_bytes,
            back: (rows.len(), columns.len()),
            rows,
            columns,
            options,
            marked: 0,
            row: 0,
            word: 0,
            carry: false,
            found: Vec::new(),
        }
    }

    /// Does `words` words of work. True at the end.
    fn go_on(&mut self, mut words: usize) -> bool {
        while self.marked < self.columns.len() {
            if words == 0 {
                return false;
            }
            let end = self.columns.len().min(self.marked + words);
            self.steps.mark(&self.columns[self.marked..end], self.marked);
            words -= end - self.marked;
            self.marked = end;
        }
        while self.row < self.rows.len() {
            if words == 0 {
                return false;
            }
            let end = self.steps.words().min(self.word + words);
            self.carry = self.steps.advance(self.rows[self.row], self.word..end, self.carry);
            // Even a row without words is some work.
            words = words.saturating_sub((end - self.word).max(1));
            self.word = end;
            if end == self.steps.words() {
                if self.row_bytes > 0 {
                    self.steps.store(&mut self.kept, self.row_bytes);
                }
                (self.row, self.word, self.carry) = (self.row + 1, 0, false);
            }
        }
        self.options.len || self.go_back(words)
    }

    /// Goes `steps` steps of the way back. True at its end.
    fn go_back(&mut self, steps: usize) -> bool {
        let (mut i, mut j) = self.back;
        for _ in 0..steps {
            if i == 0 || j == 0 {
                break;
            }
            if self.rows[i - 1] == self.columns[j - 1] {
                (i, j) = (i - 1, j - 1);
                match self.found.last_mut() {
                    Some(last) if (last.a, last.b) == (i + 1, j + 1) => *last = Match { a: i, b: j, len: last.len + 1 },
                    _ => self.found.push(Match { a: i, b: j, len: 1 }),
                }
            } else if self.kept[(i - 1) * self.row_bytes + (j - 1) / 8] >> ((j - 1) % 8) & 1 == 1 {
                // Without this column less is common, so it came from the row above.
                i -= 1;
            } else {
                j -= 1;
            }
        }
        self.back = (i, j);
        i == 0 || j == 0
    }

    fn reply(&self) -> Reply<'static> {
        match self.options {
            LcsOptions { len: true, .. } => Reply::count(self.steps.count()),
            LcsOptions { idx: true, .. } => described(&self.found, &self.options),
            _ => {
                let parts = self.found.iter().rev().map(|part| &self.rows[part.a..part.a + part.len]);
                Reply::owned(parts.collect::<Vec<&[u8]>>().concat())
            }
        }
    }

    fn finish(&mut self) -> Reply<'static> {
        while !self.go_on(usize::MAX) {}
        self.reply()
    }
}

impl Task for Comparison {
    fn advance(&mut self, _: &mut Engine) -> Option<Done> {
        self.go_on(LCS_WORDS_AT_ONCE_MAX).then(|| Done::Answer(self.reply()))
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

/// One row of step bits, inverted, and where each byte of the rows is among the columns.
#[derive(Debug)]
struct Steps {
    inverted: Vec<u64>,
    columns: usize,
    /// Which mask of `masks` is a byte's; none for a byte without one.
    mask_of: [Option<u16>; 256],
    /// Masks one after the other, as long as the row each.
    masks: Vec<u64>,
}

impl Steps {
    /// The row above the first; no column is marked yet. Only bytes of one of the strings can match, whichever is the
    /// shorter.
    fn new(shorter: &[u8], columns: usize) -> Self {
        let words = columns.div_ceil(64);
        let mut mask_of = [None; 256];
        let mut count: u16 = 0;
        for byte in shorter {
            mask_of[usize::from(*byte)].get_or_insert_with(|| {
                count += 1;
                count - 1
            });
        }
        let masks = vec![0; usize::from(count) * words];
        // The row is written as the columns are marked: zeros cost nothing before they are touched.
        Steps { inverted: vec![0; words], columns, mask_of, masks }
    }

    /// Words of a row.
    fn words(&self) -> usize {
        self.inverted.len()
    }

    /// Marks where bytes stand: `columns` from number `first` on.
    fn mark(&mut self, columns: &[u8], first: usize) {
        let words = self.words();
        for (column, byte) in (first..).zip(columns) {
            if column % 64 == 0 {
                self.inverted[column / 64] = u64::MAX;
            }
            if let Some(mask) = self.mask_of[usize::from(*byte)] {
                self.masks[usize::from(mask) * words + column / 64] |= 1 << (column % 64);
            }
        }
    }

    /// Goes on to the row of a byte, in a part of the words, with the carry into it; answers the carry out of it.
    fn advance(&mut self, byte: u8, part: Range<usize>, mut carry: bool) -> bool {
        let Some(mask) = self.mask_of[usize::from(byte)] else { return false };
        let words = self.words();
        let masks = &self.masks[usize::from(mask) * words..][part.clone()];
        for (row, mask) in self.inverted[part].iter_mut().zip(masks) {
            let (sum, first) = row.overflowing_add(*row & mask);
            let (sum, second) = sum.overflowing_add(u64::from(carry));
            carry = first || second;
            *row = sum | (*row & !mask);
        }
        carry
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

    /// The comparison, `words` words of work at a time.
    fn compared(a: &[u8], b: &[u8], options: LcsOptions, words: usize) -> Comparison {
        let mut comparison = Comparison::new(Bytes::copy_from_slice(a), Bytes::copy_from_slice(b), options);
        while !comparison.go_on(words) {}
        comparison
    }

    fn matches(a: &[u8], b: &[u8], words: usize) -> Vec<Match> {
        compared(a, b, LcsOptions::default(), words).found
    }

    fn common_len(a: &[u8], b: &[u8], words: usize) -> usize {
        compared(a, b, LcsOptions { len: true, ..LcsOptions::default() }, words).steps.count()
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
            assert_eq!(matches(&a, &b, 1 + random.usize(..99)), wanted);
            assert_eq!(common_len(&a, &b, 1 + random.usize(..99)), wanted.iter().map(|part| part.len).sum::<usize>());
        }
    }

    #[test]
    fn equal_strings_match_as_a_whole() {
        for len in [1, 63, 64, 65, 127, 128, 129, 1000] {
            let string: Vec<u8> = (0..len).map(|n| (n % 251) as u8).collect();
            assert_eq!(matches(&string, &string, 7), [Match { a: 0, b: 0, len }]);
            assert_eq!(common_len(&string, &string, 7), len);
            assert_eq!(common_len(&string, b"", 7), 0);
            assert_eq!(common_len(b"", &string, 7), 0);
        }
    }
}
