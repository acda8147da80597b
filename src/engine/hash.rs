//! The hash of byte strings that everything keyed by bytes uses.
//!
//! Cursors show clients the position an entry hashes to, and members come from anyone, so this is SipHash-1-3 under
//! keys drawn at start: without the keys neither positions nor collisions can be predicted.
//!
//! Deliberately unknown here: where the seed comes from.

use std::hash::BuildHasher;

use siphasher::sip::SipHasher13;

/// A keyed hash function over byte strings; cheap to copy.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hasher13 {
    k0: u64,
    k1: u64,
}

impl Hasher13 {
    /// The function under a 128-bit key.
    pub(crate) const fn new(k0: u64, k1: u64) -> Self {
        Hasher13 { k0, k1 }
    }

    /// The hash of `bytes`.
    #[inline]
    pub(crate) fn hash(&self, bytes: &[u8]) -> u64 {
        SipHasher13::new_with_keys(self.k0, self.k1).hash(bytes)
    }
}

/// For tables that hash for themselves.
impl BuildHasher for Hasher13 {
    type Hasher = SipHasher13;

    fn build_hasher(&self) -> SipHasher13 {
        SipHasher13::new_with_keys(self.k0, self.k1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_decides() {
        let [one, same, other] = [(1, 2), (1, 2), (1, 3)].map(|(k0, k1)| Hasher13::new(k0, k1));
        for bytes in [&b""[..], b"a", b"sixteen bytes ok"] {
            assert_eq!(one.hash(bytes), same.hash(bytes));
            assert_ne!(one.hash(bytes), other.hash(bytes));
        }
    }
}
