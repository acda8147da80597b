//! Numbers of messages: whoever missed some can tell how many.
//!
//! Once somebody asks, the messages under a name are numbered, without a gap while the name is held. A name that comes back goes on from a
//! number that is not below the one it had: from that number plus what was published since where that is remembered,
//! else from the count of everything published, which is never less.
//!
//! Deliberately unknown here: who subscribes to a name.

use std::collections::{HashMap, VecDeque};

/// Names that nobody holds any more whose messages are counted all the same.
pub(super) const REMEMBERED_MAX: usize = 1024;

/// Longest such name: all of them take a quarter of a mebibyte.
const REMEMBERED_NAME_MAX: usize = 256;

/// Numbers of the messages under one name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Numbers {
    /// That of the last message; of the one before the first when there was none.
    pub last: u64,
    /// From here on, numbers follow each other without a gap.
    pub base: u64,
}

impl Numbers {
    /// Those of a name that is new when so many messages were published in all.
    pub(super) fn begin(published: u64) -> Self {
        Numbers { last: published, base: published }
    }
}

/// Counts a message: its number, 0 where there are none.
pub(super) fn next(numbers: &mut Option<Box<Numbers>>) -> u64 {
    numbers.as_mut().map_or(0, |numbers| {
        numbers.last += 1;
        numbers.last
    })
}

/// The numbers of names that were held a while ago. The one left first is forgotten first.
#[derive(Debug, Default)]
pub(super) struct Remembered {
    names: HashMap<Box<[u8]>, Numbers>,
    /// In order of leaving; a name that came back and left again is there twice.
    order: VecDeque<Box<[u8]>>,
}

impl Remembered {
    /// Nobody holds a name any more.
    pub(super) fn leave(&mut self, name: &[u8], numbers: Numbers) {
        if name.len() > REMEMBERED_NAME_MAX {
            return;
        }
        self.names.insert(name.into(), numbers);
        self.order.push_back(name.into());
        while self.order.len() > REMEMBERED_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.names.remove(&oldest);
        }
    }

    /// A name is held again.
    pub(super) fn come_back(&mut self, name: &[u8]) -> Option<Numbers> {
        self.names.remove(name)
    }

    /// Something was published under a name that nobody holds.
    pub(super) fn count(&mut self, name: &[u8]) {
        if !self.names.is_empty()
            && let Some(numbers) = self.names.get_mut(name)
        {
            numbers.last += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_counted_until_too_many_others_have_left() {
        let mut remembered = Remembered::default();
        let numbers = Numbers { last: 7, base: 3 };
        remembered.leave(b"a", numbers);
        (0..5).for_each(|_| remembered.count(b"a"));
        remembered.count(b"other");
        assert_eq!(remembered.come_back(b"a"), Some(Numbers { last: 12, base: 3 }));
        assert_eq!(remembered.come_back(b"a"), None);
        remembered.leave(b"b", numbers);
        (0..REMEMBERED_MAX as u32).for_each(|number| remembered.leave(&number.to_le_bytes(), numbers));
        assert_eq!((remembered.come_back(b"b"), remembered.names.len()), (None, REMEMBERED_MAX));
        remembered.leave(&[b'x'; REMEMBERED_NAME_MAX + 1], numbers);
        assert_eq!((remembered.names.len(), remembered.order.len()), (REMEMBERED_MAX, REMEMBERED_MAX));
    }
}
