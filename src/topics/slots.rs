//! Values under small numbers that stay theirs until they are taken out.
//!
//! Invariant: a chunk holds memory exactly while a value lives in it, so that memory follows what is left and not the
//! peak, and growing never moves more than one chunk.
//!
//! Deliberately unknown here: what the values are.

use std::collections::BTreeSet;

const CHUNK: usize = 64;

/// Values under `u32` numbers. Taking the lowest chunk with room first keeps the numbers close together.
#[derive(Debug)]
pub(super) struct Slots<T> {
    chunks: Vec<Chunk<T>>,
    /// Chunks with room.
    open: BTreeSet<u32>,
    len: usize,
}

#[derive(Debug)]
struct Chunk<T> {
    /// A bit per place that is taken.
    taken: u64,
    /// As long as the highest place that was ever taken since the chunk was last empty.
    places: Vec<Option<T>>,
}

impl<T> Slots<T> {
    pub(super) fn new() -> Self {
        Slots { chunks: Vec::new(), open: BTreeSet::new(), len: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Stores a value and answers its number. O(log n) in the chunks with room.
    pub(super) fn insert(&mut self, value: T) -> u32 {
        let number = match self.open.first() {
            Some(number) => *number,
            None => {
                // Numbers are 32 bits wide; memory ends long before them.
                let number = u32::try_from(self.chunks.len()).expect("fewer than 2^32 chunks");
                self.chunks.push(Chunk { taken: 0, places: Vec::new() });
                self.open.insert(number);
                number
            }
        };
        let chunk = &mut self.chunks[number as usize];
        let place = chunk.taken.trailing_ones();
        chunk.taken |= 1 << place;
        if chunk.taken == u64::MAX {
            self.open.remove(&number);
        }
        if place as usize == chunk.places.len() {
            chunk.places.push(Some(value));
        } else {
            chunk.places[place as usize] = Some(value);
        }
        self.len += 1;
        number * CHUNK as u32 + place
    }

    /// The value under a number that [`Slots::insert`] gave.
    ///
    /// # Panics
    /// When nothing lives there: then somebody kept a number too long.
    pub(super) fn get(&self, slot: u32) -> &T {
        self.chunks[slot as usize / CHUNK].places[slot as usize % CHUNK].as_ref().expect("a slot in use")
    }

    /// See [`Slots::get`].
    pub(super) fn get_mut(&mut self, slot: u32) -> &mut T {
        self.chunks[slot as usize / CHUNK].places[slot as usize % CHUNK].as_mut().expect("a slot in use")
    }

    /// Takes a value out. Panics like [`Slots::get`].
    pub(super) fn remove(&mut self, slot: u32) -> T {
        let number = slot / CHUNK as u32;
        let chunk = &mut self.chunks[number as usize];
        let place = slot as usize % CHUNK;
        let value = chunk.places[place].take().expect("a slot in use");
        chunk.taken &= !(1 << place);
        self.open.insert(number);
        self.len -= 1;
        if chunk.taken == 0 {
            chunk.places = Vec::new();
            self.drop_last_chunks();
        }
        value
    }

    /// All values, by number.
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.chunks.iter().flat_map(|chunk| chunk.places.iter().flatten())
    }

    fn drop_last_chunks(&mut self) {
        while self.chunks.last().is_some_and(|chunk| chunk.taken == 0) {
            self.chunks.pop();
            self.open.remove(&(self.chunks.len() as u32));
        }
        if self.chunks.is_empty() {
            // An emptied set keeps a node.
            self.open = BTreeSet::new();
        }
        if 4 * self.chunks.len() < self.chunks.capacity() {
            self.chunks.shrink_to(2 * self.chunks.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_reused_lowest_chunk_first() {
        let mut slots = Slots::new();
        let numbers: Vec<u32> = (0..200).map(|value| slots.insert(value)).collect();
        assert_eq!(numbers, (0..200).collect::<Vec<u32>>());
        assert_eq!(slots.remove(130), 130);
        assert_eq!(slots.remove(5), 5);
        assert_eq!((slots.insert(1_000), slots.insert(1_001)), (5, 130));
        assert_eq!((*slots.get(5), *slots.get(130)), (1_000, 1_001));
        assert_eq!(slots.len(), 200);
    }

    #[test]
    fn an_empty_chunk_holds_no_memory() {
        let mut slots = Slots::new();
        for value in 0..100_000u32 {
            slots.insert(value);
        }
        for value in (0..100_000).filter(|value| *value != 64_000) {
            slots.remove(value);
        }
        assert_eq!(slots.chunks.iter().filter(|chunk| chunk.places.capacity() > 0).count(), 1);
        assert_eq!(slots.iter().copied().collect::<Vec<u32>>(), [64_000]);
        slots.remove(64_000);
        assert_eq!((slots.chunks.len(), slots.chunks.capacity(), slots.open.len(), slots.len()), (0, 0, 0, 0));
    }

    #[test]
    #[should_panic(expected = "a slot in use")]
    fn a_stale_number_is_caught() {
        let mut slots = Slots::new();
        slots.insert('a');
        slots.insert('b');
        slots.remove(0);
        slots.get(0);
    }
}
