//! A shared run of bytes: what a segment lies in.
//!
//! Small blocks come from the allocator. Large ones are whole pages from the system: an allocator would round them up
//! by a fifth and keep them for a while when they are let go, and tables that grow let go of many. So what a block
//! takes is what it was asked for, and a table that is dropped is gone from the process at once.
//!
//! ```text
//! ┌────────────────┬───────────────────────────┐
//! │ header       8 │ bytes, all 0 at first     │
//! └────────────────┴───────────────────────────┘
//! ```
//!
//! Invariant: `start` is the start of an allocation of [`HEADER_BYTES`] and `len` bytes, aligned for the header, which
//! lives as long as one [`Block`] refers to it; `owners` is how many do, and `is_paged` whether the system made it.
//! Invariant: bytes are written only through a block that is the only owner.
//! Invariant: a block stays on the thread that made it, for owners are counted without locks.

use std::cell::Cell;
use std::ops::Deref;
use std::ptr::NonNull;

struct Header {
    owners: Cell<u32>,
    is_paged: bool,
}

const HEADER_BYTES: usize = size_of::<Header>();

const _: () = assert!(HEADER_BYTES == 8 && align_of::<Header>() <= 8);

/// From here on a block is whole pages of its own.
const PAGED_BYTES_MIN: usize = 16 << 10;

/// The least the system hands out.
pub(super) const PAGE_BYTES: usize = 4 << 10;

/// Bytes with shared owners, all 0 when made.
pub(super) struct Block {
    start: NonNull<Header>,
    len: u32,
}

thread_local! {
    static PAGED: Cell<u64> = const { Cell::new(0) };
}

/// Bytes of all blocks of this thread that the allocator does not know of.
pub fn paged_bytes() -> u64 {
    PAGED.get()
}

/// The bytes that are taken for a block of `len`: pages, or one of four sizes between a power of two and the next, as
/// jemalloc and its likes have them.
pub(super) fn taken_bytes(len: usize) -> usize {
    match len + HEADER_BYTES {
        bytes @ PAGED_BYTES_MIN.. => bytes.next_multiple_of(PAGE_BYTES),
        bytes => class_bytes(bytes),
    }
}

/// The longest block that takes no more than one of `len` bytes does.
pub(super) fn filled(len: usize) -> usize {
    taken_bytes(len) - HEADER_BYTES
}

/// How many bytes of a block of `len` lie in its last page; none where it is not made of pages.
pub(super) fn in_last_page(len: usize) -> Option<usize> {
    let bytes = len + HEADER_BYTES;
    (bytes >= PAGED_BYTES_MIN).then_some((bytes - 1) % PAGE_BYTES + 1)
}

/// The bytes an allocator hands out for `bytes`.
pub(super) fn class_bytes(bytes: usize) -> usize {
    let step = (bytes.max(65).next_power_of_two() / 8).max(16);
    bytes.next_multiple_of(step)
}

impl Block {
    /// A block of `len` bytes, below 4 GiB.
    pub(super) fn zeroed(len: usize) -> Self {
        let bytes = len + HEADER_BYTES;
        let paged = pages(bytes);
        let start = paged.unwrap_or_else(|| allocate(bytes)).cast::<Header>();
        #[expect(unsafe_code, reason = "the header is written through a pointer")]
        // SAFETY: the allocation is long enough for the header, aligned for it, and nobody else's yet.
        unsafe {
            start.write(Header { owners: Cell::new(1), is_paged: paged.is_some() });
        }
        Block { start, len: u32::try_from(len).expect("a block below 4 GiB") }
    }

    /// Whether nobody else refers to it.
    pub(super) fn is_owned(&self) -> bool {
        self.header().owners.get() == 1
    }

    /// Whether two are one.
    pub(super) fn is(&self, other: &Self) -> bool {
        self.start == other.start
    }

    /// The bytes, to be changed; copied first where somebody else refers to them.
    pub(super) fn make_mut(&mut self) -> &mut [u8] {
        if !self.is_owned() {
            let mut copy = Block::zeroed(self.len());
            copy.make_mut().copy_from_slice(self);
            *self = copy;
        }
        #[expect(unsafe_code, reason = "the bytes behind the header are reached by a pointer")]
        // SAFETY: by the invariants the allocation has `len` bytes behind the header, they were zeroed when it was
        // made, this is its only owner, and the borrow of `self` keeps it so.
        unsafe {
            std::slice::from_raw_parts_mut(self.bytes().as_ptr(), self.len())
        }
    }

    fn bytes(&self) -> NonNull<u8> {
        #[expect(unsafe_code, reason = "the bytes lie behind the header")]
        // SAFETY: the allocation is longer than the header.
        unsafe {
            self.start.cast::<u8>().add(HEADER_BYTES)
        }
    }

    fn header(&self) -> &Header {
        #[expect(unsafe_code, reason = "the header is reached by a pointer")]
        // SAFETY: the allocation begins with the header, aligned, and lives as long as this owner does.
        unsafe {
            self.start.as_ref()
        }
    }
}

impl Deref for Block {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        #[expect(unsafe_code, reason = "the bytes behind the header are reached by a pointer")]
        // SAFETY: by the invariants the allocation has `len` bytes behind the header, zeroed when it was made, and
        // nobody writes to them while this borrow lasts: a writer would have to own the block alone and mutably.
        unsafe {
            std::slice::from_raw_parts(self.bytes().as_ptr(), self.len as usize)
        }
    }
}

impl Clone for Block {
    fn clone(&self) -> Self {
        let owners = &self.header().owners;
        owners.set(owners.get().checked_add(1).expect("fewer than 2^32 owners"));
        Block { start: self.start, len: self.len }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        let Header { owners, is_paged } = self.header();
        owners.set(owners.get() - 1);
        if owners.get() == 0 {
            release(self.start.cast(), self.len as usize + HEADER_BYTES, *is_paged);
        }
    }
}

impl std::fmt::Debug for Block {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Block of {} bytes", self.len)
    }
}

fn layout(bytes: usize) -> std::alloc::Layout {
    std::alloc::Layout::from_size_align(bytes, HEADER_BYTES).expect("a size below 4 GiB")
}

fn allocate(bytes: usize) -> NonNull<u8> {
    let layout = layout(bytes);
    #[expect(unsafe_code, reason = "a size known only now")]
    // SAFETY: the layout is not empty, for it has room for the header.
    let start = unsafe { std::alloc::alloc_zeroed(layout) };
    NonNull::new(start).unwrap_or_else(|| std::alloc::handle_alloc_error(layout))
}

/// Whole pages for a large block, all of them there, for they are about to be filled. None when the system has no more
/// mappings to give: then the allocator has.
#[cfg(target_os = "linux")]
fn pages(bytes: usize) -> Option<NonNull<u8>> {
    use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
    if bytes < PAGED_BYTES_MIN {
        return None;
    }
    let taken = bytes.next_multiple_of(PAGE_BYTES);
    let flags = MapFlags::PRIVATE | MapFlags::POPULATE;
    #[expect(unsafe_code, reason = "memory is asked of the system")]
    // SAFETY: the system chooses where, so that nothing that exists is touched.
    let start = unsafe { mmap_anonymous(std::ptr::null_mut(), taken, ProtFlags::READ | ProtFlags::WRITE, flags) };
    let start = start.ok().and_then(|start| NonNull::new(start.cast()))?;
    PAGED.set(PAGED.get() + taken as u64);
    Some(start)
}

#[cfg(not(target_os = "linux"))]
fn pages(_: usize) -> Option<NonNull<u8>> {
    None
}

fn release(start: NonNull<u8>, bytes: usize, is_paged: bool) {
    #[cfg(target_os = "linux")]
    if is_paged {
        let taken = bytes.next_multiple_of(PAGE_BYTES);
        #[expect(unsafe_code, reason = "memory is given back to the system")]
        // SAFETY: it is a mapping of this many bytes that `pages` made, and the last owner is gone.
        let released = unsafe { rustix::mm::munmap(start.as_ptr().cast(), taken) };
        debug_assert!(released.is_ok(), "{released:?}");
        PAGED.set(PAGED.get() - taken as u64);
        return;
    }
    debug_assert!(!is_paged, "pages of a system without them");
    #[expect(unsafe_code, reason = "memory is given back to the allocator")]
    // SAFETY: the allocator handed it out for the same layout, and the last owner is gone.
    unsafe {
        std::alloc::dealloc(start.as_ptr(), layout(bytes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_allocations_are_those_of_the_allocator() {
        let classes = [(1, 16), (17, 32), (128, 128), (129, 160), (1024, 1024), (1025, 1280), (3585, 4096)];
        for (bytes, class) in classes {
            assert_eq!(class_bytes(bytes), class, "{bytes}");
        }
        for len in (0..40_000).step_by(7) {
            assert_eq!(taken_bytes(filled(len)), taken_bytes(len));
            assert!(filled(len) >= len);
            assert!(taken_bytes(filled(len) + 1) > taken_bytes(len));
        }
    }

    #[test]
    fn blocks_are_zeroed_shared_copied_and_counted() {
        let before = paged_bytes();
        for len in [0, 1, 100, 16_375, 16_376, 16_377, 70_000] {
            let mut block = Block::zeroed(len);
            assert!(block.len() == len && block.iter().all(|&byte| byte == 0) && block.is_owned());
            block.make_mut().fill(7);
            let shared = block.clone();
            assert!(shared.is(&block) && !block.is_owned());
            block.make_mut().fill(9);
            assert!(!shared.is(&block) && block.is_owned() && shared.is_owned());
            assert!(shared.iter().all(|&byte| byte == 7) && block.iter().all(|&byte| byte == 9));
            if cfg!(target_os = "linux") {
                let paged = if len >= 16_376 { 2 * taken_bytes(len) } else { 0 };
                assert_eq!(paged_bytes() - before, paged as u64, "{len}");
            }
        }
        assert_eq!(paged_bytes(), before);
    }
}
