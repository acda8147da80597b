//! What the build script and the program must agree on: the words of the specs, their bits, and the hash of names.
//!
//! Invariant: a word's bit is its position in its list; the lists are in the order in which COMMAND INFO shows them.

/// Command flags.
pub(crate) const FLAG_WORDS: [&str; 16] = [
    "write",
    "readonly",
    "denyoom",
    "admin",
    "pubsub",
    "noscript",
    "blocking",
    "loading",
    "stale",
    "skip_slowlog",
    "fast",
    "no_auth",
    "no_multi",
    "allow_busy",
    "no_mandatory_keys",
    "movablekeys",
];

/// ACL categories, without their `@`.
pub(crate) const CATEGORY_WORDS: [&str; 21] = [
    "keyspace",
    "read",
    "write",
    "set",
    "sortedset",
    "list",
    "hash",
    "string",
    "bitmap",
    "hyperloglog",
    "geo",
    "stream",
    "pubsub",
    "admin",
    "fast",
    "slow",
    "blocking",
    "dangerous",
    "connection",
    "transaction",
    "scripting",
];

/// What a command does with a key.
pub(crate) const KEY_FLAG_WORDS: [&str; 11] =
    ["RO", "RW", "OW", "RM", "access", "update", "insert", "delete", "not_key", "incomplete", "variable_flags"];

/// Mixes a name into a hash, the same for every case of its letters.
///
/// `container` is 0 for a command and 1 + the container's id for a subcommand. Only length, head and tail of a long
/// name count: names are compared after, in a table that is fixed.
pub(crate) fn name_hash(container: u16, name: &[u8]) -> u32 {
    // Setting bit 5 makes a letter lower case; what it does to other bytes does not matter.
    const FOLD: u64 = 0x2020_2020_2020_2020;
    let (head, tail) = match name {
        [.., _, _, _, _, _, _, _, _] => (wide(&name[..8]), wide(&name[name.len() - 8..])),
        [.., _, _, _, _] => (narrow(&name[..4]), narrow(&name[name.len() - 4..])),
        [first, .., last] => (u64::from(*first), u64::from(*last) << 8 | u64::from(name[name.len() / 2])),
        [only] => (u64::from(*only), 0),
        [] => (0, 0),
    };
    let left = (head | FOLD) ^ 0x9e37_79b9_7f4a_7c15;
    let right = (tail | FOLD) ^ 0xc2b2_ae3d_27d4_eb4f ^ u64::from(container) << 48 ^ (name.len() as u64) << 40;
    let product = u128::from(left) * u128::from(right);
    (product >> 64) as u32 ^ product as u32
}

fn wide(bytes: &[u8]) -> u64 {
    bytes.try_into().map_or(0, u64::from_le_bytes)
}

fn narrow(bytes: &[u8]) -> u64 {
    bytes.try_into().map_or(0, u32::from_le_bytes).into()
}
