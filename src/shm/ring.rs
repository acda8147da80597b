//! One direction of a ring: a byte queue between one producer and one consumer, in records.
//!
//! ```text
//!  0          4        8                    64                      64 + length, up to a multiple of 64
//!  ┌──────────┬────────┬────────────────────┬───────────────────────┐
//!  │ length   │ flag   │ unused             │ payload               │   flag 0: a record
//!  └──────────┴────────┴────────────────────┴───────────────────────┘   flag 1: skip to the beginning of the ring
//! ```
//!
//! Positions are counters of bytes that only grow; the place of a position is its remainder by the capacity. The
//! producer owns `tail`, the consumer `head`; a record is visible once `tail` has passed it.
//!
//! Invariant: positions are multiples of 64, and `tail - head` is at most the capacity. What breaks that, or a record
//! that leaves the ring or the bytes between the two, is [`Corrupt`] and read no further.
//! Invariant: a record never crosses the end of the ring; a filler takes what is left there.
//!
//! Source of the format: the ring of Goblin Core v0.10.2, header version 3.

use std::sync::atomic::{AtomicU64, Ordering, fence};

use super::layout::Corrupt;

/// Records and positions are multiples of this: a line of the processor's cache.
pub const LINE_BYTES: u64 = 64;

/// The flag of a record, and of a filler.
const RECORD: u32 = 0;
const FILLER: u32 = 1;

/// A word that two processes share.
pub trait Word {
    /// Reads it, in no order with anything else.
    fn get(&self) -> u64;
    /// Writes it, in no order with anything else.
    fn set(&self, value: u64);
    /// Reads it before everything that follows.
    fn acquire(&self) -> u64;
    /// Writes it after everything before.
    fn release(&self, value: u64);
    /// Keeps every store before it from being passed by a load behind it.
    fn fence();
}

impl Word for AtomicU64 {
    fn get(&self) -> u64 {
        AtomicU64::load(self, Ordering::Relaxed)
    }

    fn set(&self, value: u64) {
        AtomicU64::store(self, value, Ordering::Relaxed);
    }

    fn acquire(&self) -> u64 {
        AtomicU64::load(self, Ordering::Acquire)
    }

    fn release(&self, value: u64) {
        AtomicU64::store(self, value, Ordering::Release);
    }

    fn fence() {
        fence(Ordering::SeqCst);
    }
}

/// The memory of one direction: its bytes and its two positions.
pub trait Lane {
    /// How its words are shared.
    type Word: Word;

    /// The bytes, as words: a power of two of them, at least 16.
    fn words(&self) -> &[Self::Word];
    /// Where the consumer is.
    fn head(&self) -> &Self::Word;
    /// Where the producer is.
    fn tail(&self) -> &Self::Word;
}

/// The longest payload of one record in a ring of `capacity` bytes: with its control line it fills half of it, so that
/// it fits whatever the position once the ring is empty.
pub const fn payload_max(capacity: u64) -> usize {
    (capacity / 2 - LINE_BYTES) as usize
}

fn footprint(len: u64) -> u64 {
    LINE_BYTES + len.next_multiple_of(LINE_BYTES)
}

/// Checks two positions and answers how far they are apart.
fn distance(head: u64, tail: u64, capacity: u64) -> Result<u64, Corrupt> {
    let distance = tail.wrapping_sub(head);
    match head.is_multiple_of(LINE_BYTES) && tail.is_multiple_of(LINE_BYTES) && distance <= capacity {
        true => Ok(distance),
        false => Err(Corrupt::Positions { head, tail, capacity }),
    }
}

/// Where the peer that stands still is; 0, and it is put there, when that is no position at all.
fn settled(word: &impl Word) -> u64 {
    let position = word.acquire();
    if position.is_multiple_of(LINE_BYTES) {
        return position;
    }
    word.release(0);
    0
}

/// The side that writes.
#[derive(Debug)]
pub struct Producer<L> {
    lane: L,
    capacity: u64,
    /// Where the next record goes; records up to here are written, and published by [`Producer::publish`].
    tail: u64,
    published: u64,
    /// The consumer's position when it was last looked at.
    head: u64,
}

impl<L: Lane> Producer<L> {
    /// Goes on where the ring stands.
    ///
    /// # Errors
    /// The positions cannot be.
    pub fn new(lane: L) -> Result<Self, Corrupt> {
        let capacity = lane.words().len() as u64 * 8;
        let (tail, head) = (lane.tail().acquire(), lane.head().acquire());
        distance(head, tail, capacity)?;
        Ok(Producer { lane, capacity, tail, published: tail, head })
    }

    /// The longest payload one record takes.
    pub fn payload_max(&self) -> usize {
        payload_max(self.capacity)
    }

    /// Room for a record with a payload of `len` bytes; none while the consumer is too far behind. What is written
    /// there is part of the ring after [`Claim::commit`] and seen by the consumer after [`Producer::publish`].
    ///
    /// # Errors
    /// The consumer's position cannot be.
    ///
    /// # Panics
    /// When `len` is more than [`Producer::payload_max`].
    pub fn claim(&mut self, len: usize) -> Result<Option<Claim<'_, L>>, Corrupt> {
        assert!(len <= self.payload_max(), "a record of {len} bytes");
        let size = footprint(len as u64);
        let to_end = self.capacity - self.tail % self.capacity;
        let skipped = if size > to_end { to_end } else { 0 };
        if !self.has_room(skipped + size)? {
            return Ok(None);
        }
        let start = self.tail.wrapping_add(skipped);
        Ok(Some(Claim { producer: self, start, skipped, len, written: 0, partial: 0 }))
    }

    fn has_room(&mut self, bytes: u64) -> Result<bool, Corrupt> {
        let free = |producer: &Self| producer.capacity - producer.tail.wrapping_sub(producer.head);
        if free(self) >= bytes {
            return Ok(true);
        }
        let head = self.lane.head().acquire();
        distance(head, self.published, self.capacity)?;
        // It goes on, up to what was published: neither back nor into what is being written.
        if head.wrapping_sub(self.head) > self.published.wrapping_sub(self.head) {
            return Err(Corrupt::Positions { head, tail: self.published, capacity: self.capacity });
        }
        self.head = head;
        Ok(free(self) >= bytes)
    }

    /// Bytes of the longest payload that fits now, at most [`Producer::payload_max`]; none when not even an empty
    /// record does.
    ///
    /// # Errors
    /// The consumer's position cannot be.
    pub fn room(&mut self) -> Result<Option<usize>, Corrupt> {
        self.has_room(self.capacity)?;
        let free = self.capacity - self.tail.wrapping_sub(self.head);
        let to_end = self.capacity - self.tail % self.capacity;
        // In front of the end, or behind a filler at the beginning.
        let here = free.min(to_end);
        let beyond = free.saturating_sub(to_end);
        let size = here.max(beyond);
        let payload = size.checked_sub(LINE_BYTES);
        Ok(payload.map(|payload| (payload as usize).min(self.payload_max())))
    }

    /// Shows all committed records to the consumer.
    pub fn publish(&mut self) {
        if self.published != self.tail {
            self.published = self.tail;
            self.lane.tail().release(self.tail);
        }
    }

    /// Whether the consumer has taken everything.
    ///
    /// # Errors
    /// The consumer's position cannot be.
    pub fn is_drained(&mut self) -> Result<bool, Corrupt> {
        self.has_room(self.capacity)
    }

    /// Takes back everything the consumer has not read: the tail goes back to its head. For a new session, with the
    /// consumer standing still; one that left its head at no position begins at 0.
    pub fn rewind(&mut self) {
        let head = settled(self.lane.head());
        (self.head, self.tail, self.published) = (head, head, head);
        self.lane.tail().release(head);
    }

    fn word(&self, position: u64) -> &L::Word {
        &self.lane.words()[(position % self.capacity / 8) as usize]
    }
}

/// A record being written; dropped without [`Claim::commit`] it leaves no trace.
#[derive(Debug)]
pub struct Claim<'p, L> {
    producer: &'p mut Producer<L>,
    start: u64,
    skipped: u64,
    len: usize,
    written: usize,
    /// Bytes of the word that is not full yet.
    partial: u64,
}

impl<L: Lane> Claim<'_, L> {
    /// Appends to the payload.
    ///
    /// # Panics
    /// When it gets longer than was claimed.
    pub fn write(&mut self, mut bytes: &[u8]) {
        assert!(bytes.len() <= self.len - self.written, "more than was claimed");
        while !self.written.is_multiple_of(8)
            && let Some((byte, rest)) = bytes.split_first()
        {
            self.push(*byte);
            bytes = rest;
        }
        let (words, rest) = bytes.as_chunks::<8>();
        if !words.is_empty() {
            let at = self.start.wrapping_add(LINE_BYTES + self.written as u64) % self.producer.capacity / 8;
            let room = &self.producer.lane.words()[at as usize..][..words.len()];
            room.iter().zip(words).for_each(|(word, bytes)| word.set(u64::from_le_bytes(*bytes)));
            self.written += words.len() * 8;
        }
        rest.iter().for_each(|byte| self.push(*byte));
    }

    fn push(&mut self, byte: u8) {
        self.partial |= u64::from(byte) << (self.written % 8 * 8);
        self.written += 1;
        if self.written.is_multiple_of(8) {
            self.store_partial();
        }
    }

    fn store_partial(&mut self) {
        let at = self.start.wrapping_add(LINE_BYTES + (self.written as u64 - 1) / 8 * 8);
        self.producer.word(at).set(std::mem::take(&mut self.partial));
    }

    /// Makes what was written a record; shorter than claimed where less was written.
    pub fn commit(mut self) {
        if !self.written.is_multiple_of(8) {
            self.store_partial();
        }
        let producer = self.producer;
        if self.skipped > 0 {
            producer.word(producer.tail).set(control(0, FILLER));
        }
        producer.word(self.start).set(control(self.written as u32, RECORD));
        producer.tail = self.start.wrapping_add(footprint(self.written as u64));
    }
}

fn control(len: u32, flag: u32) -> u64 {
    u64::from(len) | u64::from(flag) << 32
}

/// The side that reads.
#[derive(Debug)]
pub struct Consumer<L> {
    lane: L,
    capacity: u64,
    /// Everything before is taken; the producer learns of it by [`Consumer::release`].
    head: u64,
    released: u64,
    /// The producer's position when it was last looked at.
    tail: u64,
}

impl<L: Lane> Consumer<L> {
    /// Goes on where the ring stands.
    ///
    /// # Errors
    /// The positions cannot be.
    pub fn new(lane: L) -> Result<Self, Corrupt> {
        let capacity = lane.words().len() as u64 * 8;
        let (tail, head) = (lane.tail().acquire(), lane.head().acquire());
        distance(head, tail, capacity)?;
        Ok(Consumer { lane, capacity, head, released: head, tail })
    }

    /// Whether a record is waiting. One load when there is none.
    pub fn has_more(&mut self) -> bool {
        if self.tail == self.head {
            self.tail = self.lane.tail().acquire();
        }
        self.tail != self.head
    }

    /// Appends the payload of the next record to `into`; false when there is none. Its room is given back by
    /// [`Consumer::release`].
    ///
    /// # Errors
    /// The producer's position or the record cannot be; nothing of it is taken.
    pub fn take(&mut self, into: &mut Vec<u8>) -> Result<bool, Corrupt> {
        loop {
            if !self.has_more() {
                return Ok(false);
            }
            // Measured from what the producer knows to be free.
            distance(self.released, self.tail, self.capacity)?;
            let waiting = distance(self.head, self.tail, self.capacity)?;
            let at = self.head % self.capacity;
            let to_end = self.capacity - at;
            // One load of both fields: they can change under us.
            let control = self.lane.words()[(at / 8) as usize].get();
            let (len, flag) = (control as u32, (control >> 32) as u32);
            let size = if flag == FILLER { to_end } else { footprint(u64::from(len)) };
            if flag > FILLER || size > waiting || size > to_end {
                return Err(Corrupt::Record { len, flag, waiting, to_end });
            }
            if flag == RECORD {
                self.copy(at + LINE_BYTES, len as usize, into);
            }
            self.head = self.head.wrapping_add(size);
            if flag == RECORD {
                return Ok(true);
            }
        }
    }

    fn copy(&self, start: u64, len: usize, into: &mut Vec<u8>) {
        let words = &self.lane.words()[(start / 8) as usize..][..len.div_ceil(8)];
        into.reserve(words.len() * 8);
        let end = into.len() + len;
        words.iter().for_each(|word| into.extend_from_slice(&word.get().to_le_bytes()));
        into.truncate(end);
    }

    /// Gives the room of everything taken back to the producer.
    pub fn release(&mut self) {
        if self.released != self.head {
            self.released = self.head;
            self.lane.head().release(self.head);
        }
    }

    /// Skips everything that waits. For a new session, with the producer standing still; one that left its tail at no
    /// position begins at 0.
    pub fn discard(&mut self) {
        let tail = settled(self.lane.tail());
        (self.head, self.tail, self.released) = (tail, tail, tail);
        self.lane.head().release(tail);
    }
}

#[cfg(test)]
mod tests;
