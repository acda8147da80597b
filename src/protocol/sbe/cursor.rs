//! Little-endian reading that never leaves its bytes, and writing of frames whose length is known at their end.
//!
//! Invariant: a length that was read is compared with what is there before it is used.

use crate::protocol::resp::Output;

use super::{HEADER_BYTES, PREFIX_BYTES, SCHEMA, VERSION};

/// Reads one message from its front.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Cursor { bytes, at: 0 }
    }

    /// The next `count` bytes; none when there are fewer.
    pub(super) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let taken = self.bytes.get(self.at..)?.get(..count)?;
        self.at += count;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    pub(super) fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub(super) fn i64(&mut self) -> Option<i64> {
        self.array().map(i64::from_le_bytes)
    }

    pub(super) fn f64(&mut self) -> Option<f64> {
        self.array().map(f64::from_le_bytes)
    }

    /// A string with its length before it.
    pub(super) fn data(&mut self) -> Option<&'a [u8]> {
        let len = self.u32()?;
        self.take(len as usize)
    }
}

/// One frame while it is written: prefix and header, then whatever is appended.
#[derive(Debug)]
pub(super) struct Frame {
    bytes: Vec<u8>,
}

impl Frame {
    /// A frame with a header, and room for about so many bytes behind it.
    pub(super) fn new(template: u16, block: u16, room: usize) -> Self {
        let mut bytes = Vec::with_capacity(PREFIX_BYTES + HEADER_BYTES + room);
        bytes.extend_from_slice(&head(template, block, 0));
        Frame { bytes }
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn truncate(&mut self, len: usize) {
        self.bytes.truncate(len);
    }

    pub(super) fn put(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// A string with its length before it. Longer ones than 4 GiB make the frame itself too long, which is found out
    /// at its end.
    pub(super) fn data(&mut self, bytes: &[u8]) {
        self.put(&(bytes.len() as u32).to_le_bytes());
        self.put(bytes);
    }

    /// Begins a group; its entries are told at the end by [`Frame::set_entries`].
    pub(super) fn group(&mut self, block: u16) -> usize {
        self.put(&block.to_le_bytes());
        self.put(&[0, 0]);
        self.bytes.len() - 2
    }

    /// How many entries the group has that began at `place`.
    pub(super) fn set_entries(&mut self, place: usize, entries: u16) {
        self.bytes[place..place + 2].copy_from_slice(&entries.to_le_bytes());
    }

    /// The whole frame; none when it is longer than its length can tell.
    pub(super) fn finish(self) -> Option<Vec<u8>> {
        self.finish_before(0)
    }

    /// A frame of which so many bytes are still to come; none when that is more than its length can tell.
    pub(super) fn finish_before(mut self, behind: u64) -> Option<Vec<u8>> {
        let len = u32::try_from((self.bytes.len() - PREFIX_BYTES) as u64 + behind).ok()?;
        self.bytes[..PREFIX_BYTES].copy_from_slice(&len.to_le_bytes());
        Some(self.bytes)
    }
}

/// Prefix and header of a frame whose message, behind its header, has `len` bytes.
pub(super) fn head(template: u16, block: u16, len: u32) -> [u8; PREFIX_BYTES + HEADER_BYTES] {
    let mut head = [0; PREFIX_BYTES + HEADER_BYTES];
    head[..4].copy_from_slice(&(len + HEADER_BYTES as u32).to_le_bytes());
    for (place, value) in [(4, block), (6, template), (8, SCHEMA), (10, VERSION)] {
        head[place..place + 2].copy_from_slice(&value.to_le_bytes());
    }
    head
}

/// Writes a frame of a few short strings.
pub(super) fn short_frame(template: u16, block: &[u8], strings: &[&[u8]], out: &mut impl Output) {
    let len = block.len() + strings.iter().map(|string| 4 + string.len()).sum::<usize>();
    out.extend(&head(template, block.len() as u16, len as u32));
    out.extend(block);
    for string in strings {
        out.extend(&(string.len() as u32).to_le_bytes());
        out.extend(string);
    }
}
