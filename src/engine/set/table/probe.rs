//! Tags compared many at once, and asking the processor for a cache line ahead of time.

/// Tags that are compared at once.
pub(super) const LANES: usize = 64;

/// One bit per tag that equals `tag`, the first in the lowest bit.
#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "the compiler does not take SSE2 for granted where it is written out")]
#[inline]
pub(super) fn matches(tags: &[u8; LANES], tag: u8) -> u64 {
    // SAFETY: every x86-64 processor has SSE2.
    unsafe { matches_sse2(tags, tag) }
}

#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "loading sixteen bytes into a register takes a pointer")]
#[target_feature(enable = "sse2")]
#[inline]
fn matches_sse2(tags: &[u8; LANES], tag: u8) -> u64 {
    use std::arch::x86_64::{_mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_set1_epi8};
    let wanted = _mm_set1_epi8(tag as i8);
    let mut bits = 0;
    for (at, sixteen) in tags.as_chunks::<16>().0.iter().enumerate() {
        // SAFETY: the reference covers the sixteen bytes that are read, at any alignment.
        let tags = unsafe { _mm_loadu_si128(sixteen.as_ptr().cast()) };
        bits |= u64::from(_mm_movemask_epi8(_mm_cmpeq_epi8(tags, wanted)) as u16) << (16 * at);
    }
    bits
}

/// One bit per tag that equals `tag`, the first in the lowest bit.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn matches(tags: &[u8; LANES], tag: u8) -> u64 {
    // Written so that a compiler for NEON or anything like it sees one comparison and a sum.
    tags.iter().enumerate().fold(0, |bits, (at, &other)| bits | u64::from(other == tag) << at)
}

/// Asks for the cache line that holds `bytes[at]`; nothing happens beyond the end.
pub(super) fn prefetch(bytes: &[u8], at: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(byte) = bytes.get(at) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        #[expect(unsafe_code, reason = "the processor is told an address")]
        // SAFETY: a prefetch reads nothing a program could see, and the address is that of a byte of the slice.
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(byte).cast());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (bytes, at);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tag_is_found_where_it_lies() {
        let mut rng = fastrand::Rng::with_seed(1);
        for _ in 0..300 {
            let tags: [u8; LANES] = std::array::from_fn(|_| rng.u8(..8));
            for tag in 0..8 {
                let slow = (0..LANES).filter(|&at| tags[at] == tag).fold(0, |bits, at| bits | 1 << at);
                assert_eq!(matches(&tags, tag), slow);
            }
        }
    }
}
