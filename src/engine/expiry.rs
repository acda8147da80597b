//! Deadlines: which keys are due, and the sweep that removes those nobody asks for.
//!
//! Every segment of the keyspace remembers the earliest deadline among its entries, and the clock of the whole keyspace
//! a lower bound of these, so that a sweep with nothing to do costs one comparison and one with much to do looks only
//! into segments that hold due keys.
//!
//! Invariant: a remembered deadline is never later than a true one; it may be earlier after a key was removed or got
//! another deadline, until the next sweep over its segment.
//!
//! Deliberately unknown here: the clock, events, how often a sweep is called.

use super::segments::Note;

/// The earliest deadline of a segment's entries, milliseconds since 1970; `i64::MAX` when none has any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Earliest(pub(super) i64);

impl Default for Earliest {
    fn default() -> Self {
        Earliest(i64::MAX)
    }
}

impl Earliest {
    /// Takes one more deadline into account.
    pub(super) fn include(&mut self, deadline_ms: i64) {
        self.0 = self.0.min(deadline_ms);
    }
}

impl Note for Earliest {
    fn merged(self, other: Self) -> Self {
        Earliest(self.0.min(other.0))
    }
}

/// How much one sweep may do.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Budget {
    /// Segments whose remembered deadline is looked at.
    pub(crate) segments: usize,
    /// Entries that are looked at; the last segment is finished, so some 450 more may be.
    pub(crate) entries: usize,
}

/// Where the sweep over a keyspace stands, and its statistics.
#[derive(Debug, Default)]
pub(super) struct Clock {
    /// Position at which the next sweep goes on.
    cursor: u64,
    /// No key is due before this.
    earliest: Earliest,
    /// The earliest deadline left behind by the round under way.
    round: Earliest,
    /// Keys that have a deadline.
    volatile: usize,
    /// The sum of all deadlines, for their mean.
    total_ms: i128,
}

impl Clock {
    pub(super) fn volatile(&self) -> usize {
        self.volatile
    }

    /// The mean time the keys with a deadline have left, at least 0; 0 when there are none.
    pub(super) fn average_ttl_ms(&self, now_ms: i64) -> i64 {
        if self.volatile == 0 {
            return 0;
        }
        let mean = self.total_ms / self.volatile as i128;
        i64::try_from(mean - i128::from(now_ms)).unwrap_or(i64::MAX).max(0)
    }

    /// A key got a deadline.
    pub(super) fn add(&mut self, deadline_ms: i64) {
        self.volatile += 1;
        self.total_ms += i128::from(deadline_ms);
        self.earliest.include(deadline_ms);
        // The sweep may have passed the key's segment already.
        self.round.include(deadline_ms);
    }

    /// A key lost its deadline, or is gone.
    pub(super) fn remove(&mut self, deadline_ms: i64) {
        self.volatile -= 1;
        self.total_ms -= i128::from(deadline_ms);
    }

    /// False when a sweep would find nothing.
    pub(super) fn may_be_due(&self, now_ms: i64) -> bool {
        self.volatile > 0 && self.earliest.0 <= now_ms
    }

    pub(super) fn cursor(&self) -> u64 {
        self.cursor
    }

    /// The sweep has left a segment whose earliest deadline is now `left`, and goes on at `next`, 0 for a new round.
    pub(super) fn advance(&mut self, left: Earliest, next: u64) {
        self.round.include(left.0);
        self.cursor = next;
        if next == 0 {
            self.earliest = std::mem::take(&mut self.round);
        }
    }
}
