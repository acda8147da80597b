//! What a session has still to send: whole items in order, nothing ever put inside an item.
//!
//! Small frames are copied into an open buffer; large ones are held by handle and written from where they lie.
//!
//! Invariant: `bytes` is the sum of what is unsent. Invariant: an item that has begun is finished before the next.

use std::collections::VecDeque;
use std::io::{self, IoSlice};

use bytes::Bytes;

use crate::limits::{FLUSH_BYTES_MAX, FRAME_SHARED_BYTES, OUTBOX_BUFFER_BYTES, OUTBOX_SLICES_MAX};
use crate::protocol::resp::Output;

/// Unsent output of one session.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    sealed: VecDeque<Item>,
    /// The open buffer: what comes after the last sealed item.
    open: Vec<u8>,
    open_pushes: u32,
    /// Bytes of the first item that were sent already.
    sent: usize,
    bytes: usize,
    shared: u32,
}

#[derive(Debug)]
enum Item {
    /// A filled buffer and how many pushes it holds.
    Owned(Vec<u8>, u32),
    /// One large frame or value, and whether it ends a push.
    Shared(Bytes, u32),
}

impl Item {
    fn bytes(&self) -> &[u8] {
        match self {
            Item::Owned(bytes, _) => bytes,
            Item::Shared(bytes, _) => bytes,
        }
    }
}

/// How a flush ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flushed {
    /// Everything is sent.
    All,
    /// The peer takes no more for now.
    Partly,
    /// The peer may take more; now it is the turn of others.
    Enough,
}

impl Outbox {
    pub(super) fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Unsent bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Items held by handle.
    pub(super) fn shared_items(&self) -> usize {
        self.shared as usize
    }

    /// Heap bytes of the buffers owned here; shared frames belong to nobody in particular and are not counted.
    pub(super) fn heap_bytes(&self) -> usize {
        let owned = |item: &Item| match item {
            Item::Owned(bytes, _) => bytes.capacity(),
            Item::Shared(..) => 0,
        };
        self.open.capacity() + self.sealed.iter().map(owned).sum::<usize>()
    }

    /// Pushes of which at least a part is unsent. Those of a buffer that has begun all count until it is through.
    pub(super) fn pushes(&self) -> u64 {
        let of = |item: &Item| match item {
            Item::Owned(_, pushes) | Item::Shared(_, pushes) => u64::from(*pushes),
        };
        u64::from(self.open_pushes) + self.sealed.iter().map(of).sum::<u64>()
    }

    /// True when the open buffer has no memory yet: lend it one from the pool before writing.
    pub(super) fn wants_buffer(&self) -> bool {
        self.open.capacity() == 0
    }

    /// Lends an empty buffer.
    pub(super) fn lend(&mut self, buffer: Vec<u8>) {
        debug_assert!(self.open.is_empty() && buffer.is_empty());
        self.open = buffer;
    }

    /// Takes the buffer back once everything is sent.
    pub(super) fn take_buffer(&mut self) -> Option<Vec<u8>> {
        (self.bytes == 0 && self.open.capacity() > 0).then(|| std::mem::take(&mut self.open))
    }

    /// All that is unsent, when it is in one buffer and there is any.
    pub(super) fn only_buffer(&self) -> Option<&[u8]> {
        (self.sealed.is_empty() && self.bytes > 0).then(|| &self.open[self.sent..])
    }

    /// Everything unsent has been sent.
    pub(super) fn sent_all(&mut self) {
        self.advance(self.bytes);
    }

    /// Appends a push: small frames are copied.
    pub(super) fn push_frame(&mut self, frame: &Bytes) {
        if frame.len() >= FRAME_SHARED_BYTES {
            self.shared(frame.clone());
        } else {
            self.extend(frame);
        }
        self.count_push();
    }

    /// Counts what was appended since the last push as one push.
    pub(super) fn count_push(&mut self) {
        match self.sealed.back_mut() {
            Some(Item::Shared(_, pushes)) if self.open.is_empty() => *pushes += 1,
            _ => self.open_pushes += 1,
        }
    }

    /// Appends all of another outbox, items as they are.
    pub(super) fn append(&mut self, other: &mut Outbox) {
        debug_assert_eq!(other.sent, 0, "an outbox that has begun cannot move");
        for item in other.sealed.drain(..) {
            match item {
                Item::Owned(bytes, pushes) => {
                    self.extend(&bytes);
                    self.open_pushes += pushes;
                }
                Item::Shared(bytes, pushes) => {
                    self.shared(bytes);
                    if let Some(Item::Shared(_, count)) = self.sealed.back_mut() {
                        *count = pushes;
                    }
                }
            }
        }
        let open = std::mem::take(&mut other.open);
        self.extend(&open);
        self.open_pushes += std::mem::take(&mut other.open_pushes);
        other.open = open;
        other.open.clear();
        other.bytes = 0;
        other.shared = 0;
    }

    /// Drops everything unsent and its memory.
    pub(super) fn clear(&mut self) {
        *self = Outbox::default();
    }

    /// Writes until all is sent or `write` would block. `write` is handed one or more slices and answers how many
    /// bytes it took.
    pub(super) fn flush(&mut self, mut write: impl FnMut(&[IoSlice<'_>]) -> io::Result<usize>) -> io::Result<Flushed> {
        let before = self.bytes;
        while self.bytes > 0 {
            if before - self.bytes >= FLUSH_BYTES_MAX {
                return Ok(Flushed::Enough);
            }
            let written = if self.sealed.is_empty() {
                write(&[IoSlice::new(&self.open[self.sent..])])
            } else {
                write(&self.slices())
            };
            match written {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => self.advance(count),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Flushed::Partly),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Flushed::All)
    }

    fn slices(&self) -> Vec<IoSlice<'_>> {
        let (mut skip, mut room) = (self.sent, FLUSH_BYTES_MAX);
        let items = self.sealed.iter().map(Item::bytes).chain([&self.open[..]]);
        let mut slices = Vec::with_capacity((self.sealed.len() + 1).min(OUTBOX_SLICES_MAX));
        for bytes in items.take(OUTBOX_SLICES_MAX) {
            let unsent = &bytes[std::mem::take(&mut skip)..];
            slices.push(IoSlice::new(&unsent[..unsent.len().min(room)]));
            room -= unsent.len().min(room);
            if room == 0 {
                break;
            }
        }
        slices
    }

    fn advance(&mut self, count: usize) {
        self.bytes -= count;
        let mut left = self.sent + count;
        while let Some(first) = self.sealed.front() {
            let len = first.bytes().len();
            if left < len {
                self.sent = left;
                return;
            }
            left -= len;
            if let Some(Item::Shared(..)) = self.sealed.pop_front() {
                self.shared -= 1;
            }
        }
        if left == self.open.len() {
            self.open.clear();
            self.open_pushes = 0;
            left = 0;
        }
        self.sent = left;
    }

    /// Closes the open buffer so that something else can follow it.
    fn seal(&mut self) {
        if !self.open.is_empty() {
            let bytes = std::mem::take(&mut self.open);
            self.sealed.push_back(Item::Owned(bytes, std::mem::take(&mut self.open_pushes)));
        }
    }
}

impl Output for Outbox {
    fn extend(&mut self, bytes: &[u8]) {
        if self.open.len() >= OUTBOX_BUFFER_BYTES {
            self.seal();
        }
        self.open.extend_from_slice(bytes);
        self.bytes += bytes.len();
    }

    fn shared(&mut self, bytes: Bytes) {
        self.seal();
        self.bytes += bytes.len();
        self.shared += 1;
        self.sealed.push_back(Item::Shared(bytes, 0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A peer that takes at most `room` bytes a call and blocks after each.
    fn drain(outbox: &mut Outbox, room: usize) -> Vec<u8> {
        let mut taken = Vec::new();
        while !outbox.is_empty() {
            let mut blocked = false;
            let flushed = outbox.flush(|slices| {
                if std::mem::replace(&mut blocked, true) {
                    return Err(io::ErrorKind::WouldBlock.into());
                }
                let all: Vec<u8> = slices.iter().flat_map(|slice| slice.iter().copied()).collect();
                let count = all.len().min(room);
                taken.extend_from_slice(&all[..count]);
                Ok(count)
            });
            assert!(flushed.is_ok());
        }
        taken
    }

    proptest! {
        #[test]
        fn bytes_leave_in_the_order_they_came(
            pieces in prop::collection::vec((any::<bool>(), prop::collection::vec(any::<u8>(), 1..50_000)), 1..12),
            room in 1000..70_000usize,
        ) {
            let mut outbox = Outbox::default();
            let mut expected = Vec::new();
            for (shared, piece) in &pieces {
                expected.extend_from_slice(piece);
                if *shared { outbox.shared(Bytes::from(piece.clone())) } else { outbox.extend(piece) }
                outbox.count_push();
            }
            prop_assert_eq!(outbox.bytes(), expected.len());
            prop_assert_eq!(outbox.pushes(), pieces.len() as u64);
            prop_assert!(drain(&mut outbox, room) == expected);
            prop_assert_eq!((outbox.bytes(), outbox.pushes(), outbox.shared_items()), (0, 0, 0));
        }

        #[test]
        fn appending_keeps_order_and_counts(
            first in prop::collection::vec(any::<u8>(), 0..100),
            second in prop::collection::vec((any::<bool>(), prop::collection::vec(any::<u8>(), 1..100)), 0..6),
        ) {
            let (mut outbox, mut other) = (Outbox::default(), Outbox::default());
            outbox.extend(&first);
            let mut expected = first;
            for (shared, piece) in &second {
                expected.extend_from_slice(piece);
                if *shared { other.shared(Bytes::from(piece.clone())) } else { other.extend(piece) }
                other.count_push();
            }
            outbox.append(&mut other);
            prop_assert!(other.is_empty());
            prop_assert_eq!(outbox.pushes(), second.len() as u64);
            prop_assert!(drain(&mut outbox, usize::MAX) == expected);
        }
    }
}
