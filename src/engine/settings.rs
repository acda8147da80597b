//! The settings commands act on, as plain values.
//!
//! Invariant: every value here was validated by whoever filled it in; the engine checks none of it again.
//! Deliberately unknown here: names of settings, files, flags, how a value is written by people (except the event
//! classes of [`NotifyFlags`], which CONFIG SET and CONFIG GET share).

use std::fmt;

/// What the engine needs to know of the process's settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineSettings {
    /// Most members of a set kept as sorted integers.
    pub set_max_intset_entries: usize,
    /// Most members of a set kept as one packed blob.
    pub set_max_listpack_entries: usize,
    /// Longest member, in bytes, of a set kept as one packed blob.
    pub set_max_listpack_value: usize,
    /// Which keyspace events are published.
    pub notify: NotifyFlags,
    /// The default user's password; none lets everybody in.
    pub requirepass: Option<Box<[u8]>>,
    /// Number of databases, at least 1.
    pub databases: u16,
    /// Whether expired keys are removed before somebody asks for them: true at the start, after that up to DEBUG.
    pub active_expire: bool,
    /// Rounds of housekeeping per second, 1 to 500.
    pub hz: u16,
    /// Who may use DEBUG.
    pub debug_commands: DebugCommands,
    /// Longest string a command may make, in bytes.
    pub proto_max_bulk_len: usize,
    /// Executions that take at least this long, in microseconds, go to the slow log; none does when it is negative.
    pub slow_us_min: i64,
    /// Most entries of the slow log.
    pub slow_log_len_max: usize,
    /// What takes at least this long, in milliseconds, is a spike of latency; 0 means nothing is.
    pub spike_ms_min: u64,
    /// Whether durations are kept for INFO latencystats.
    pub latency_tracking: bool,
    /// The percentages INFO latencystats tells, one space between two.
    pub latency_percentages: Box<str>,
    /// What happens when memory runs out.
    pub eviction: Eviction,
}

impl Default for EngineSettings {
    fn default() -> Self {
        EngineSettings {
            set_max_intset_entries: 512,
            set_max_listpack_entries: 128,
            set_max_listpack_value: 64,
            notify: NotifyFlags::NONE,
            requirepass: None,
            databases: 16,
            active_expire: true,
            hz: 10,
            debug_commands: DebugCommands::No,
            proto_max_bulk_len: 512 << 20,
            slow_us_min: 10_000,
            slow_log_len_max: 128,
            spike_ms_min: 0,
            latency_tracking: true,
            latency_percentages: "50 99 99.9".into(),
            eviction: Eviction::default(),
        }
    }
}

/// The memory limit, and which keys go first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Eviction {
    /// Bytes the process may use; 0 for no limit.
    pub maxmemory: u64,
    /// Which keys go first.
    pub policy: EvictionPolicy,
    /// Keys of each database compared for one eviction, 1 to 64.
    pub samples: usize,
    /// How slowly the counters of the frequency policies grow.
    pub lfu_log_factor: u32,
    /// Minutes after which such a counter loses one; 0 for never.
    pub lfu_decay_minutes: u32,
}

impl Default for Eviction {
    fn default() -> Self {
        Eviction {
            maxmemory: 0,
            policy: EvictionPolicy::Noeviction,
            samples: 5,
            lfu_log_factor: 10,
            lfu_decay_minutes: 1,
        }
    }
}

/// Which keys go first when memory runs out: among all or only among those with a deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EvictionPolicy {
    /// None: commands that need memory are refused.
    #[default]
    Noeviction,
    /// The longest unused.
    AllkeysLru,
    /// See [`EvictionPolicy::AllkeysLru`].
    VolatileLru,
    /// The least used.
    AllkeysLfu,
    /// See [`EvictionPolicy::AllkeysLfu`].
    VolatileLfu,
    /// Any.
    AllkeysRandom,
    /// See [`EvictionPolicy::AllkeysRandom`].
    VolatileRandom,
    /// The next to expire.
    VolatileTtl,
}

impl EvictionPolicy {
    /// The word of the setting `maxmemory-policy`.
    pub const fn word(self) -> &'static str {
        match self {
            EvictionPolicy::Noeviction => "noeviction",
            EvictionPolicy::AllkeysLru => "allkeys-lru",
            EvictionPolicy::VolatileLru => "volatile-lru",
            EvictionPolicy::AllkeysLfu => "allkeys-lfu",
            EvictionPolicy::VolatileLfu => "volatile-lfu",
            EvictionPolicy::AllkeysRandom => "allkeys-random",
            EvictionPolicy::VolatileRandom => "volatile-random",
            EvictionPolicy::VolatileTtl => "volatile-ttl",
        }
    }

    /// Whether only keys with a deadline go.
    pub const fn spares_lasting_keys(self) -> bool {
        use EvictionPolicy::{VolatileLfu, VolatileLru, VolatileRandom, VolatileTtl};
        matches!(self, VolatileLru | VolatileLfu | VolatileRandom | VolatileTtl)
    }
}

/// Who may use DEBUG.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DebugCommands {
    /// Nobody.
    #[default]
    No,
    /// Everybody.
    Yes,
    /// Connections from this machine.
    Local,
}

impl DebugCommands {
    /// Whether a connection may use DEBUG; `local` tells whether it comes from this machine.
    pub const fn allowed(self, local: bool) -> bool {
        match self {
            DebugCommands::No => false,
            DebugCommands::Yes => true,
            DebugCommands::Local => local,
        }
    }
}

/// A set of event classes, and the two kinds of channels they are published to.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct NotifyFlags(u32);

impl NotifyFlags {
    /// Nothing is published.
    pub const NONE: Self = NotifyFlags(0);
    /// `K`: to `__keyspace@N__:KEY`.
    pub const KEYSPACE: Self = NotifyFlags(1);
    /// `E`: to `__keyevent@N__:EVENT`.
    pub const KEYEVENT: Self = NotifyFlags(1 << 1);
    /// `g`: commands on keys of any type, such as DEL and EXPIRE.
    pub const GENERIC: Self = NotifyFlags(1 << 2);
    /// `$`: string commands.
    pub const STRING: Self = NotifyFlags(1 << 3);
    /// `l`: list commands.
    pub const LIST: Self = NotifyFlags(1 << 4);
    /// `s`: set commands.
    pub const SET: Self = NotifyFlags(1 << 5);
    /// `h`: hash commands.
    pub const HASH: Self = NotifyFlags(1 << 6);
    /// `z`: sorted set commands.
    pub const ZSET: Self = NotifyFlags(1 << 7);
    /// `x`: a key expired.
    pub const EXPIRED: Self = NotifyFlags(1 << 8);
    /// `e`: a key was evicted.
    pub const EVICTED: Self = NotifyFlags(1 << 9);
    /// `t`: stream commands.
    pub const STREAM: Self = NotifyFlags(1 << 10);
    /// `d`: events of modules.
    pub const MODULE: Self = NotifyFlags(1 << 11);
    /// `n`: a key was added.
    pub const NEW: Self = NotifyFlags(1 << 12);
    /// `o`: a value was overwritten.
    pub const OVERWRITTEN: Self = NotifyFlags(1 << 13);
    /// `c`: a key changed its type.
    pub const TYPE_CHANGED: Self = NotifyFlags(1 << 14);
    /// `m`: a key was asked for and not found.
    pub const KEY_MISS: Self = NotifyFlags(1 << 15);
    /// `A`: all of ``g$lshzxetd``.
    pub const ALL: Self = NotifyFlags(0b11_1111_1111 << 2);

    /// Every class in the order it is printed; the three that `A` hides stand between it and the channels.
    const LETTERS: [(u8, Self); 16] = [
        (b'g', Self::GENERIC),
        (b'$', Self::STRING),
        (b'l', Self::LIST),
        (b's', Self::SET),
        (b'h', Self::HASH),
        (b'z', Self::ZSET),
        (b'x', Self::EXPIRED),
        (b'e', Self::EVICTED),
        (b't', Self::STREAM),
        (b'd', Self::MODULE),
        (b'n', Self::NEW),
        (b'o', Self::OVERWRITTEN),
        (b'c', Self::TYPE_CHANGED),
        (b'K', Self::KEYSPACE),
        (b'E', Self::KEYEVENT),
        (b'm', Self::KEY_MISS),
    ];

    /// Reads a string of class letters in any order, repetitions included. `None` when a letter is unknown.
    pub fn parse(letters: &[u8]) -> Option<Self> {
        let mut flags = Self::NONE;
        for &letter in letters {
            let class = match letter {
                b'A' => Self::ALL,
                _ => Self::LETTERS.iter().find(|(known, _)| *known == letter)?.1,
            };
            flags = flags.with(class);
        }
        Some(flags)
    }

    /// Both sets together.
    pub const fn with(self, other: Self) -> Self {
        NotifyFlags(self.0 | other.0)
    }

    /// True when every class of `other` is in this set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// True when some class is in both sets.
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// The canonical letters, as CONFIG GET answers them. With `A`, the classes n, o and c are not shown.
impl fmt::Display for NotifyFlags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = self.contains(Self::ALL);
        if all {
            f.write_str("A")?;
        }
        let hidden = if all { 13 } else { 0 };
        for (letter, class) in &Self::LETTERS[hidden..] {
            if self.contains(*class) {
                write!(f, "{}", char::from(*letter))?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for NotifyFlags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NotifyFlags({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn event_classes_print_in_canonical_form() {
        for (given, printed) in [
            ("", ""),
            ("KA", "AK"),
            ("EA", "AE"),
            ("$lshzxeKE", "$lshzxeKE"),
            ("KEAn", "AKE"),
            ("KEAm", "AKEm"),
            ("g$lshzxetd", "A"),
            ("KEg$lshzxet", "g$lshzxetKE"),
            ("ocnd", "dnoc"),
            ("mEKocn", "nocKEm"),
            ("AAA", "A"),
            ("Kxe", "xeK"),
        ] {
            assert_eq!(NotifyFlags::parse(given.as_bytes()).unwrap().to_string(), printed, "{given}");
        }
        assert_eq!(NotifyFlags::parse(b"KE g"), None);
        assert_eq!(NotifyFlags::parse(b"q"), None);
    }

    #[test]
    fn not_every_class_is_part_of_all() {
        let flags = NotifyFlags::parse(b"KA").unwrap();
        assert!(flags.contains(NotifyFlags::SET.with(NotifyFlags::MODULE)));
        for class in [NotifyFlags::NEW, NotifyFlags::OVERWRITTEN, NotifyFlags::TYPE_CHANGED, NotifyFlags::KEY_MISS] {
            assert!(!flags.intersects(class), "{class}");
        }
        assert!(!flags.intersects(NotifyFlags::KEYEVENT));
    }
}
