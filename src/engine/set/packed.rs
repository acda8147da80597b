//! Byte strings one after the other in a single allocation.
//!
//! ```text
//! ┌─────┬─────────┬─────┬─────────┬──
//! │ len │  bytes  │ len │  bytes  │ …      len below 255: one byte
//! └─────┴─────────┴─────┴─────────┴──      else: 255, then four bytes, little-endian
//! ```
//!
//! Invariant: the blob is whole entries, `len` of them.
//! Invariant: order is that of insertion; as a set form it holds no string twice, as a batch of answers it may.
//! Deliberately unknown here: integers, limits, other forms.

/// Strings packed together. Lookups walk; adding and removing at the end are cheap.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Packed {
    blob: Vec<u8>,
    len: usize,
}

/// First byte of an entry whose length takes four more bytes.
const LONG: u8 = u8::MAX;

impl Packed {
    /// Nothing, and nothing allocated.
    pub(super) const fn new() -> Self {
        Packed { blob: Vec::new(), len: 0 }
    }

    /// How many strings there are.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Heap bytes, room for growth included.
    pub(super) fn allocated_bytes(&self) -> usize {
        self.blob.capacity()
    }

    /// Heap bytes without that room.
    pub(super) fn used_bytes(&self) -> usize {
        self.blob.len()
    }

    /// Gives back room for growth.
    pub(super) fn shrink(&mut self) {
        self.blob.shrink_to_fit();
    }

    /// Bytes of all strings, without their lengths. O(n).
    pub(super) fn text_bytes(&self) -> usize {
        self.iter().map(<[u8]>::len).sum()
    }

    /// All strings in order.
    pub(super) fn iter(&self) -> Iter<'_> {
        Iter { rest: &self.blob }
    }

    /// The string at `index`, found by walking.
    pub(super) fn get(&self, index: usize) -> Option<&[u8]> {
        self.iter().nth(index)
    }

    /// True when `member` is there. O(n).
    pub(super) fn contains(&self, member: &[u8]) -> bool {
        self.iter().any(|other| other == member)
    }

    /// Appends without looking whether it is there already. Growth leaves an eighth of room.
    ///
    /// # Panics
    /// When `member` has 4 GiB or more, which no request can carry.
    pub(super) fn push(&mut self, member: &[u8]) {
        let head = head_bytes(member.len());
        if self.blob.capacity() - self.blob.len() < head + member.len() {
            self.blob.reserve_exact(head + member.len() + self.blob.len() / 8);
        }
        self.append(member);
    }

    /// As [`Packed::push`], for batches that are read once and dropped: doubles its room.
    pub(super) fn push_to_batch(&mut self, member: &[u8]) {
        self.blob.reserve(head_bytes(member.len()) + member.len());
        self.append(member);
    }

    /// Removes `member`. False when it was not there. O(n).
    pub(super) fn remove(&mut self, member: &[u8]) -> bool {
        let mut walk = self.iter();
        loop {
            let start = self.blob.len() - walk.rest.len();
            match walk.next() {
                None => return false,
                Some(other) if other == member => {
                    let end = self.blob.len() - walk.rest.len();
                    self.blob.drain(start..end);
                    self.len -= 1;
                    self.trim();
                    return true;
                }
                Some(_) => {}
            }
        }
    }

    /// Gives memory back once less than half of it is used.
    fn trim(&mut self) {
        if self.blob.capacity() > 64 && self.blob.len() < self.blob.capacity() / 2 {
            self.blob.shrink_to(self.blob.len() + self.blob.len() / 8);
        }
    }

    fn append(&mut self, member: &[u8]) {
        match u8::try_from(member.len()) {
            Ok(len) if len != LONG => self.blob.push(len),
            _ => {
                let len = u32::try_from(member.len()).expect("a member below 4 GiB");
                self.blob.push(LONG);
                self.blob.extend_from_slice(&len.to_le_bytes());
            }
        }
        self.blob.extend_from_slice(member);
        self.len += 1;
    }
}

fn head_bytes(len: usize) -> usize {
    if len < LONG as usize { 1 } else { 5 }
}

/// Strings in order.
#[derive(Debug, Clone)]
pub(super) struct Iter<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Iter<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let (&first, rest) = self.rest.split_first()?;
        let (len, rest) = match first {
            LONG => {
                let (len, rest) = rest.split_first_chunk::<4>()?;
                (u32::from_le_bytes(*len) as usize, rest)
            }
            len => (len as usize, rest),
        };
        let (member, rest) = rest.split_at_checked(len)?;
        self.rest = rest;
        Some(member)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(packed: &Packed) -> Vec<Vec<u8>> {
        packed.iter().map(<[u8]>::to_vec).collect()
    }

    #[test]
    fn strings_of_every_length_come_back_whole() {
        let mut packed = Packed::new();
        let members: Vec<Vec<u8>> = [0, 1, 2, 63, 64, 127, 128, 253, 254, 255, 256, 257, 65_535, 70_000]
            .iter()
            .map(|&n| vec![n as u8; n])
            .collect();
        for member in &members {
            assert!(!packed.contains(member));
            packed.push(member);
            assert!(packed.contains(member));
        }
        assert_eq!(bytes(&packed), members);
        assert_eq!(packed.get(9), Some(&members[9][..]));
        assert_eq!(packed.get(14), None);
    }

    #[test]
    fn removing_closes_the_gap_and_keeps_the_order() {
        let mut packed = Packed::new();
        for member in [&b"a"[..], b"", b"\x00\xff", &[255; 300], b"z"] {
            packed.push(member);
        }
        assert!(packed.remove(&[255; 300]) && packed.remove(b"") && !packed.remove(b"") && !packed.remove(b"\xff"));
        assert_eq!(bytes(&packed), [&b"a"[..], b"\x00\xff", b"z"]);
        assert!(packed.remove(b"a") && packed.remove(b"z") && packed.remove(b"\x00\xff"));
        assert_eq!((packed.len(), packed.blob.len()), (0, 0));
    }

    #[test]
    fn a_member_that_looks_like_an_entry_is_not_mistaken_for_one() {
        let mut packed = Packed::new();
        packed.push(b"\x01a\x01b");
        assert!(!packed.contains(b"a") && !packed.contains(b"b") && !packed.remove(b"a"));
    }

    #[test]
    fn a_short_member_costs_one_byte_more_than_itself() {
        let mut packed = Packed::new();
        for number in 0..128 {
            packed.push(format!("member-{number:09}").as_bytes());
        }
        assert_eq!(packed.blob.len(), 128 * 17);
        assert!(packed.allocated_bytes() <= 128 * 17 * 5 / 4);
    }
}
