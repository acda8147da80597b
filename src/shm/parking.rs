//! How one side of a ring sleeps without missing what the other writes.
//!
//! ```text
//!   sleeper                        writer
//!   parked := 1                    publishes its position
//!   fence                          fence
//!   looks once more, sleeps        reads parked; 1: rings
//! ```
//!
//! Of the two loads behind the fences at least one sees the other side's store, so that either the sleeper finds what
//! was published or the writer finds it asleep.
//!
//! Deliberately unknown here: what is rung. A flag that its owner sets and clears at the wrong time costs itself a
//! wake-up, or the writer a needless one.

use super::ring::Word;

/// Says that its owner sleeps from now on, unless one more look, which must follow, finds something.
pub fn park<W: Word>(flag: &W) {
    flag.set(1);
    W::fence();
}

/// Says that its owner looks by itself again.
pub fn unpark<W: Word>(flag: &W) {
    flag.set(0);
}

/// Whether the other side must be woken for what has just been published. A fence and a load.
pub fn sleeps<W: Word>(flag: &W) -> bool {
    W::fence();
    flag.get() == 1
}
