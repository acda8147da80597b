//! Counting, finding and combining bits, eight bytes at a time.
//!
//! Deliberately unknown here: keys, and how ranges are written.

use std::ops::Range;

use crate::command::BitopOperation;

/// Bytes of the result worked on at once, so that they stay in the first cache while all sources pass by.
const BLOCK_BYTES: usize = 16 * 1024;

/// Ones among the bits of a range within the string.
pub(super) fn count_ones(bytes: &[u8], part: Range<u64>) -> u64 {
    let Parts { head, body, tail } = Parts::of(bytes, part);
    let ones = |piece: Option<Piece>| piece.map_or(0, |piece| u64::from((piece.byte & piece.mask).count_ones()));
    let (words, rest) = body.as_chunks::<8>();
    let whole: u64 = words.iter().map(|word| u64::from(u64::from_ne_bytes(*word).count_ones())).sum();
    let rest: u64 = rest.iter().map(|byte| u64::from(byte.count_ones())).sum();
    ones(head) + whole + rest + ones(tail)
}

/// Position of the first bit that is `bit`, in a range within the string.
pub(super) fn find(bytes: &[u8], part: Range<u64>, bit: bool) -> Option<u64> {
    let start = part.start;
    let Parts { head, body, tail } = Parts::of(bytes, part);
    // Looks for ones only: a search for a zero turns every bit.
    let flip = if bit { 0 } else { u8::MAX };
    let in_piece = |piece: Piece, base: u64| {
        let wanted = (piece.byte ^ flip) & piece.mask;
        (wanted != 0).then(|| base + u64::from(wanted.leading_zeros()))
    };
    let byte_start = start / 8 * 8;
    let body_start = byte_start + if head.is_some() { 8 } else { 0 };
    let in_body = || {
        let flips = u64::from_ne_bytes([flip; 8]);
        let (words, rest) = body.as_chunks::<8>();
        let in_words = words.iter().position(|word| u64::from_ne_bytes(*word) != flips).map(|index| {
            let word = u64::from_be_bytes(words[index]) ^ flips;
            index as u64 * 64 + u64::from(word.leading_zeros())
        });
        let in_rest = || {
            let index = rest.iter().position(|byte| *byte != flip)?;
            Some((words.len() * 64 + index * 8) as u64 + u64::from((rest[index] ^ flip).leading_zeros()))
        };
        in_words.or_else(in_rest).map(|position| body_start + position)
    };
    let in_tail = || in_piece(tail?, body_start + body.len() as u64 * 8);
    head.and_then(|piece| in_piece(piece, byte_start)).or_else(in_body).or_else(in_tail)
}

/// A byte of which only some bits count.
#[derive(Debug, Clone, Copy)]
struct Piece {
    byte: u8,
    mask: u8,
}

/// A range of bits: the end of a byte, whole bytes, the beginning of a byte. A range within one byte is all head.
struct Parts<'b> {
    head: Option<Piece>,
    body: &'b [u8],
    tail: Option<Piece>,
}

impl<'b> Parts<'b> {
    /// # Panics
    /// When the range leaves the string.
    fn of(bytes: &'b [u8], part: Range<u64>) -> Self {
        let (first, last) = ((part.start / 8) as usize, (part.end / 8) as usize);
        let from = u8::MAX >> (part.start % 8);
        let until = !(u8::MAX >> (part.end % 8));
        match (part.start % 8, part.end % 8) {
            _ if part.is_empty() => Parts { head: None, body: &[], tail: None },
            (1.., _) if first == last => {
                Parts { head: Some(Piece { byte: bytes[first], mask: from & until }), body: &[], tail: None }
            }
            (in_first, in_last) => {
                let head = (in_first > 0).then(|| Piece { byte: bytes[first], mask: from });
                let tail = (in_last > 0).then(|| Piece { byte: bytes[last], mask: until });
                Parts { head, body: &bytes[first + usize::from(head.is_some())..last], tail }
            }
        }
    }
}

/// A part of the combination of at least one string, each followed by zeros, from byte `start` on; `result` is zeros at
/// first.
pub(super) fn combine(operation: BitopOperation, sources: &[impl AsRef<[u8]>], start: usize, result: &mut [u8]) {
    let mut twice = Vec::new();
    for (index, block) in result.chunks_mut(BLOCK_BYTES).enumerate() {
        let (start, len) = (start + index * BLOCK_BYTES, block.len());
        // Of each source what lies in this block.
        let parts = sources.iter().map(|source| {
            let source = source.as_ref().get(start..).unwrap_or_default();
            &source[..source.len().min(len)]
        });
        combine_block(operation, block, parts, &mut twice);
    }
}

fn combine_block<'s>(
    operation: BitopOperation,
    block: &mut [u8],
    mut parts: impl Iterator<Item = &'s [u8]>,
    twice: &mut Vec<u8>,
) {
    let first = parts.next().unwrap_or_default();
    let copy = |block: &mut [u8]| block[..first.len()].copy_from_slice(first);
    match operation {
        BitopOperation::And => {
            copy(block);
            for part in parts {
                merge(block, part, |a, b| a & b);
                block[part.len()..].fill(0);
            }
        }
        BitopOperation::Or => {
            copy(block);
            parts.for_each(|part| merge(block, part, |a, b| a | b));
        }
        BitopOperation::Xor => {
            copy(block);
            parts.for_each(|part| merge(block, part, |a, b| a ^ b));
        }
        BitopOperation::Not => {
            copy(block);
            block.iter_mut().for_each(|byte| *byte = !*byte);
        }
        BitopOperation::Diff => {
            copy(block);
            parts.for_each(|part| merge(block, part, |a, b| a & !b));
        }
        BitopOperation::Diff1 => {
            parts.for_each(|part| merge(block, part, |a, b| a | b));
            merge(block, first, |a, b| a & !b);
        }
        BitopOperation::Andor => {
            parts.for_each(|part| merge(block, part, |a, b| a | b));
            merge(block, first, |a, b| a & b);
            block[first.len()..].fill(0);
        }
        BitopOperation::One => {
            copy(block);
            // What was seen before and comes again is out for good.
            twice.clear();
            twice.resize(block.len(), 0);
            for part in parts {
                let seen = block[..part.len()].iter().zip(part);
                twice.iter_mut().zip(seen).for_each(|(twice, (seen, byte))| *twice |= seen & byte);
                merge(block, part, |a, b| a | b);
            }
            merge(block, twice, |a, b| a & !b);
        }
    }
}

/// Changes the beginning of a block by a part that is no longer than it.
fn merge(block: &mut [u8], part: &[u8], change: impl Fn(u64, u64) -> u64) {
    let (words, rest) = block[..part.len()].as_chunks_mut::<8>();
    let (others, rest_of_part) = part.as_chunks::<8>();
    for (word, other) in words.iter_mut().zip(others) {
        *word = change(u64::from_ne_bytes(*word), u64::from_ne_bytes(*other)).to_ne_bytes();
    }
    for (byte, other) in rest.iter_mut().zip(rest_of_part) {
        *byte = change(u64::from(*byte), u64::from(*other)) as u8;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bit_at(bytes: &[u8], position: u64) -> bool {
        bytes[(position / 8) as usize] >> (7 - position % 8) & 1 == 1
    }

    fn random_bytes(random: &mut fastrand::Rng, len_max: usize) -> Vec<u8> {
        let sparse = random.bool();
        let filler = [0, u8::MAX][random.usize(..2)];
        let len = random.usize(0..=len_max);
        (0..len).map(|_| if sparse && random.u8(..20) > 0 { filler } else { random.u8(..) }).collect()
    }

    #[test]
    fn counting_and_finding_agree_with_looking_at_each_bit() {
        let mut random = fastrand::Rng::with_seed(3);
        for _ in 0..2000 {
            let bytes = random_bytes(&mut random, 40);
            let bits = bytes.len() as u64 * 8;
            let start = random.u64(0..=bits);
            let part = start..random.u64(start..=bits);
            let ones = part.clone().filter(|position| bit_at(&bytes, *position)).count();
            assert_eq!(count_ones(&bytes, part.clone()), ones as u64, "{part:?} of {bytes:?}");
            for bit in [false, true] {
                let first = part.clone().find(|position| bit_at(&bytes, *position) == bit);
                assert_eq!(find(&bytes, part.clone(), bit), first, "{bit} in {part:?} of {bytes:?}");
            }
        }
    }

    #[test]
    fn combinations_agree_with_combining_each_byte() {
        let mut random = fastrand::Rng::with_seed(4);
        type ByByte = fn(&[u8]) -> u8;
        let operations: [(BitopOperation, ByByte); 7] = [
            (BitopOperation::And, |bytes| bytes.iter().fold(u8::MAX, |all, byte| all & byte)),
            (BitopOperation::Or, |bytes| bytes.iter().fold(0, |all, byte| all | byte)),
            (BitopOperation::Xor, |bytes| bytes.iter().fold(0, |all, byte| all ^ byte)),
            (BitopOperation::Diff, |bytes| bytes[0] & !bytes[1..].iter().fold(0, |all, byte| all | byte)),
            (BitopOperation::Diff1, |bytes| !bytes[0] & bytes[1..].iter().fold(0, |all, byte| all | byte)),
            (BitopOperation::Andor, |bytes| bytes[0] & bytes[1..].iter().fold(0, |all, byte| all | byte)),
            (BitopOperation::One, |bytes| {
                let once = |bit: &u8| bytes.iter().filter(|byte| *byte & bit != 0).count() == 1;
                [1, 2, 4, 8, 16, 32, 64, 128].iter().filter(|bit| once(bit)).sum()
            }),
        ];
        for round in 0..100 {
            let len_max = if round % 10 == 0 { 2 * BLOCK_BYTES + 9 } else { 60 };
            let sources: Vec<Vec<u8>> = (0..random.usize(2..6)).map(|_| random_bytes(&mut random, len_max)).collect();
            let len = sources.iter().map(Vec::len).max().unwrap_or(0);
            let column = |index: usize| -> Vec<u8> {
                sources.iter().map(|source| source.get(index).copied().unwrap_or(0)).collect()
            };
            for (operation, by_byte) in operations {
                let wanted: Vec<u8> = (0..len).map(|index| by_byte(&column(index))).collect();
                let mut result = vec![0; len];
                let (first, second) = result.split_at_mut(random.usize(0..=len));
                combine(operation, &sources, 0, first);
                combine(operation, &sources, first.len(), second);
                assert!(result == wanted, "{operation:?} of {len} bytes");
            }
            let not: Vec<u8> = sources[0].iter().map(|byte| !byte).collect();
            let mut result = vec![0; not.len()];
            combine(BitopOperation::Not, &sources[..1], 0, &mut result);
            assert!(result == not);
        }
    }
}
