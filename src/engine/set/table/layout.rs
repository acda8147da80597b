//! How large a segment's block is and what lies where in it.
//!
//! ```text
//! ┌──────────────┬──────────────────┬───────────────────┬─────────────┐
//! │ over         │ tags             │ slots             │ arena       │
//! │ 2 x groups+1 │ 1 x slots, + 64  │ width x slots     │ texts, only │
//! │              │ that stay 0      │                   │ with offsets│
//! └──────────────┴──────────────────┴───────────────────┴─────────────┘
//! ```

use super::block::{PAGE_BYTES, filled, in_last_page};
use super::probe::LANES;

/// Slots of a home. Fewer are compared faster; with more, fewer members move to make room in a full segment.
pub(super) const HOME: usize = 32;

/// What a slot holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Slots {
    /// A text; all have this many bytes.
    Text(u8),
    /// A canonical integer in this many bytes, 4 or 8, little-endian.
    Integer(u8),
    /// Where the text begins in the arena.
    Offset,
}

impl Slots {
    /// Bytes of a slot.
    pub(super) fn width(self) -> usize {
        match self {
            Slots::Text(width) | Slots::Integer(width) => usize::from(width),
            Slots::Offset => 2,
        }
    }
}

/// An arena is no longer than an offset can tell.
pub(super) const ARENA_BYTES_MAX: usize = 1 << 16;

/// Blocks are not made larger than this, while their segments can be split: what a rebuild copies is bounded by it.
pub(super) const BLOCK_BYTES_MAX: usize = 96 << 10;

/// Most of its slots that a segment fills before it grows. Fuller, an insertion moves ever more members; a compacted
/// segment may be fuller.
const FILL: (usize, usize) = (92, 100);

/// Sizes of the parts of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) holds: Slots,
    /// Homes: at least 1.
    pub(super) groups: usize,
    /// At least [`HOME`] a home. Those beyond take what the last homes do not hold.
    pub(super) slots: usize,
    pub(super) arena_bytes: usize,
}

/// What a segment is built for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Room {
    /// For this many more members, in 64ths of those there are.
    ToGrow(u8),
    /// For none: members are this part of the slots, above 0 and at most 1.
    Load(f64),
}

impl Layout {
    pub(super) fn tags_start(&self) -> usize {
        2 * (self.groups + 1)
    }

    pub(super) fn slots_start(&self) -> usize {
        self.tags_start() + self.slots + LANES
    }

    pub(super) fn arena_start(&self) -> usize {
        self.slots_start() + self.slots * self.holds.width()
    }

    pub(super) fn block_bytes(&self) -> usize {
        self.arena_start() + self.arena_bytes
    }

    /// Most members before a segment of this layout grows.
    pub(super) fn members_max(&self) -> usize {
        self.slots * FILL.0 / FILL.1
    }

    /// The layout for `members` members whose arena entries have `arena` bytes together, 0 without an arena.
    pub(super) fn new(holds: Slots, members: usize, arena: usize, room: Room) -> Self {
        match room {
            Room::ToGrow(share) => Layout::to_grow(holds, members, arena, usize::from(share)),
            Room::Load(load) => Layout::at_load(holds, members, arena, load),
        }
    }

    /// Fills what the allocator would hand out anyway.
    fn to_grow(holds: Slots, members: usize, arena: usize, share: usize) -> Self {
        let larger = |count: usize| count + count * share / 64 + 1;
        let slots = larger(members) * FILL.1 / FILL.0 + 1;
        let arena = if arena > 0 { larger(arena).min(ARENA_BYTES_MAX) } else { 0 };
        let least = Layout::with_slots(holds, slots, tail(slots), arena);
        let bytes = filled(least.block_bytes());
        // What is over goes to slots and to texts alike.
        let (mut low, mut high) = (slots, slots * 2 + 64);
        let arena_for =
            |slots: usize| if arena > 0 { (arena * slots / least.slots.max(1)).min(ARENA_BYTES_MAX) } else { 0 };
        let with = |slots: usize| Layout::with_slots(holds, slots, tail(slots), arena_for(slots).max(arena));
        while high - low > 1 {
            let middle = usize::midpoint(low, high);
            if with(middle).block_bytes() <= bytes { low = middle } else { high = middle }
        }
        let mut layout = with(low);
        if arena > 0 {
            layout.arena_bytes = (layout.arena_bytes + bytes.saturating_sub(layout.block_bytes())).min(ARENA_BYTES_MAX);
        }
        layout
    }

    fn at_load(holds: Slots, members: usize, arena: usize, load: f64) -> Self {
        let slots = ((members as f64 / load).ceil() as usize).max(members).max(1);
        let tail = (slots / 48).min(slots - 1);
        let exact = Layout::with_slots(holds, slots, tail, arena);
        if holds == Slots::Offset {
            return exact;
        }
        let (bytes, slot_bytes) = (exact.block_bytes(), holds.width() + 1);
        // A page begun is a page: filled, or not begun when little would lie in it.
        let slots = match in_last_page(bytes) {
            Some(few) if few < PAGE_BYTES / 4 => slots - few.div_ceil(slot_bytes) - 1,
            _ => slots + (filled(bytes) - bytes) / (slot_bytes + 1),
        };
        Layout::with_slots(holds, slots.max(members + members / 100 + 1), tail, arena)
    }

    fn with_slots(holds: Slots, slots: usize, tail: usize, arena_bytes: usize) -> Self {
        let groups = (slots.saturating_sub(tail) / HOME).max(1);
        Layout { holds, groups, slots: slots.max(groups * HOME), arena_bytes }
    }
}

/// Slots beyond the last home, for members that found their homes full: their number hardly depends on how many homes
/// there are, only on how full they are.
fn tail(slots: usize) -> usize {
    16.min(slots / 8) + slots / 64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_to_grow_fills_an_allocation_and_no_more() {
        for holds in [Slots::Text(0), Slots::Text(16), Slots::Text(254), Slots::Integer(4), Slots::Integer(8)] {
            for members in (0..60).map(|step| step * step) {
                let layout = Layout::new(holds, members, 0, Room::ToGrow(12));
                let bytes = layout.block_bytes();
                assert!(layout.members_max() > members, "{layout:?}");
                assert!(layout.slots >= layout.groups * HOME);
                let unused = filled(bytes) - bytes;
                assert!(unused <= holds.width() + 4, "{unused} bytes of {bytes} unused: {layout:?}");
            }
        }
    }

    #[test]
    fn an_arena_gets_its_part_of_the_room() {
        for members in [10, 100, 1_000, 2_000] {
            let layout = Layout::new(Slots::Offset, members, members * 23, Room::ToGrow(20));
            assert!(layout.arena_bytes > members * 23 * 5 / 4 && layout.members_max() > members * 5 / 4, "{layout:?}");
            let tight = Layout::new(Slots::Offset, members, members * 23, Room::Load(0.97));
            assert_eq!(tight.arena_bytes, members * 23);
        }
    }

    #[test]
    fn a_load_is_kept_within_a_page() {
        for members in [500, 1_000, 3_000, 3_906, 4_096] {
            for load in [0.5, 0.85, 0.97, 1.0] {
                let layout = Layout::new(Slots::Text(16), members, 0, Room::Load(load));
                let (slots, wanted) = (layout.slots as f64, members as f64 / load);
                assert!((slots - wanted).abs() <= 16.0 + 4096.0 / 17.0, "{layout:?}");
                assert!(layout.slots >= members);
            }
        }
    }
}
