//! What the specs do not say: which keys there are, and which words make sense where.
//!
//! A new type of value is one row of [`TYPES`]; a new argument that deserves better words than its kind gives is one
//! row of [`WORDS`]. Nothing here is needed for a command to be drawn.
//!
//! Invariant: no word makes a value longer than some tens of KiB, a reply without bound, or a deadline that passes while
//! it is compared.

use goblin::command::{Argument, Kind, Spec};

use crate::protocol::Random;

/// One type of value: where it is at home, how its contents are read, and the keys that mostly hold it.
pub struct Type {
    /// As TYPE answers it.
    pub word: &'static str,
    /// Groups of commands that expect it.
    pub groups: &'static [&'static str],
    /// The question that answers the contents, the key being `{}`.
    pub contents: &'static str,
    pub fixtures: &'static [Fixture],
}

/// A key that is made anew every so often.
pub struct Fixture {
    pub key: &'static str,
    /// What it is made as, for the counts.
    pub class: &'static str,
    /// The request that makes it.
    pub make: fn(&mut Random) -> String,
    /// A second request about it, such as a deadline.
    pub then: Option<&'static str>,
}

const fn fixture(key: &'static str, class: &'static str, make: fn(&mut Random) -> String) -> Fixture {
    Fixture { key, class, make, then: None }
}

const fn late(key: &'static str, class: &'static str, make: fn(&mut Random) -> String) -> Fixture {
    Fixture { key, class, make, then: Some("PEXPIREAT {} 33177117420000") }
}

/// `count` integers in steps of `factor`, each preceded by a space.
fn integers(from: i64, count: i64, factor: i64) -> String {
    (from..from + count).map(|number| format!(" {}", number * factor)).collect()
}

fn members(count: usize) -> String {
    (0..count).map(|index| format!(" word:{index}")).collect()
}

/// Every type there is.
pub const TYPES: &[Type] = &[
    Type {
        word: "string",
        groups: &["string", "bitmap"],
        contents: "GET {}",
        fixtures: &[
            fixture("int:1", "string int", |random| format!("SET {{}} {}", random.below(100_000))),
            fixture("int:2", "string int", |_| "SET {} -7".into()),
            fixture("int:3", "string int", |_| "SET {} 9223372036854775806".into()),
            fixture("float:1", "string embstr", |_| "SET {} 10.5".into()),
            fixture("str:1", "string embstr", |_| "SET {} text".into()),
            fixture("str:2", "string embstr", |_| "SET {} ohmytextandsome".into()),
            fixture("str:3", "string embstr", |_| "SET {} \u{1}\u{fe}bits".into()),
            fixture("raw:1", "string raw", |random| format!("SET {{}} {}", "text".repeat(12 + random.below(40)))),
            fixture("raw:2", "string raw", |_| format!("SET {{}} {}", "mynewtext".repeat(30))),
            fixture(LARGE_KEY, "string raw", |random| format!("SET {{}} {}", "x".repeat(16_000 + random.below(2000)))),
            late("str:late", "string expiring", |_| "SET {} text".into()),
            late("int:late", "string expiring", |_| "SET {} 12".into()),
        ],
    },
    Type {
        word: "set",
        groups: &["set"],
        contents: "SMEMBERS {}",
        fixtures: &[
            fixture("ints:1", "set intset", |_| format!("SADD {{}}{}", integers(0, 20, 1))),
            fixture("ints:2", "set intset", |_| format!("SADD {{}}{}", integers(-5, 100, 40_000))),
            fixture("ints:3", "set intset", |_| "SADD {} 1 2 3 4294967296 -1".into()),
            // One more integer makes it a table.
            fixture("ints:4", "set intset", |_| format!("SADD {{}}{}", integers(0, 512, 1))),
            fixture("set:1", "set listpack", |_| "SADD {} a b c 1 2 3".into()),
            fixture("set:2", "set listpack", |_| "SADD {} b c d 2 3 4 member".into()),
            fixture("packed:1", "set listpack", |random| format!("SADD {{}}{}", members(90 + random.below(20)))),
            // One more member makes it a table.
            fixture("packed:2", "set listpack", |_| format!("SADD {{}}{}", members(128))),
            fixture("table:1", "set hashtable", |_| format!("SADD {{}}{}", members(200))),
            fixture("table:2", "set hashtable", |_| format!("SADD {{}}{}", integers(0, 600, 3))),
            fixture("table:3", "set hashtable", |_| format!("SADD {{}} a 1 2 {}", "long".repeat(20))),
            late("set:late", "set expiring", |_| "SADD {} a b 1".into()),
            late("ints:late", "set expiring", |_| "SADD {} 1 2 7".into()),
        ],
    },
];

/// Holds a string that quadratic commands must not meet.
pub const LARGE_KEY: &str = "large:1";

/// Commands that need more of their key than its type, and keys that mostly have it.
pub const PREFERRED: &[(&[&str], &[&str])] = &[(
    &["incr", "decr", "incrby", "decrby", "incrbyfloat"],
    &["int:1", "int:2", "int:3", "int:late", "float:1", "none:1", "none:2"],
)];

/// Names that no command has. Full names of subcommands are left out: behind that subcommand Redis 8.2.3 takes
/// `client|list` for a command.
pub const UNKNOWN: &[&str] = &["NOSUCH", "ge", "gett", "", "\0\r\n", "client list", "set get", "a\u{e9}"];

/// Commands whose cost is the product of two lengths.
pub const QUADRATIC: &[&str] = &["lcs"];

/// Names that mostly hold nothing.
pub const ABSENT: &[&str] = &["none:1", "none:2", "none:3", "", "\0\r\n"];

/// Words for strings that nothing better is known for: numbers in every form, short and long words, bytes.
pub const STRINGS: &[&str] = &[
    "a",
    "b",
    "c",
    "member",
    "1",
    "2",
    "3",
    "7",
    "100",
    "-1",
    "0",
    "01",
    "+1",
    "-0",
    "1.0",
    "",
    " 1",
    "32768",
    "-32769",
    "2147483648",
    "9223372036854775807",
    "-9223372036854775808",
    "9223372036854775808",
    "\0\u{fe}\r\n",
    "text",
    "forty-four bytes are the longest embedded one",
    "a word of some more than sixty-four bytes, so that no packed form takes it in at all",
];

const PATTERNS: &[&str] =
    &["*", "**", "set:*", "*1", "?", "[a-m]*", "[^a-m]*", "zzz", "\\*", "", "str:[12]", "word:1*", "[", "*:?", "ch:*"];

const INTEGERS: &[&str] = &["0", "1", "2", "3", "5", "10", "-1", "-2", "100", "1000"];
const DOUBLES: &[&str] =
    &["0", "1", "0.5", "-2.25", "10", "3.0e2", "1e-3", "100000000", "-0.1", "1e17", "-0", "0x1.8p1"];
const COUNTS: &[&str] = &["1", "2", "3", "10", "0", "5", "150", "1000"];
const DATABASE: &[&str] = &["0", "1", "2", "0", "1", "2", "16", "-1"];
const CHANNELS: &[&str] = &["ch:1", "ch:2", "ch:3", "news", "", "\0\u{fe}"];
/// A relative deadline, different each time: equal ones would compare the time between two requests.
const FAR_SECONDS: &[&str] = &["far", "far", "far", "far", "0", "-1", "-100"];
const FAR_MILLISECONDS: &[&str] = &["far*1000", "far*1000", "far*1000", "far*1000", "0", "-1", "-100"];
const AT_SECONDS: &[&str] = &["33177117420", "20000000000", "30000000000", "40000000000", "1", "0", "-5"];
const AT_MILLISECONDS: &[&str] = &["33177117420000", "20000000000000", "40000000000000", "1", "0", "-5"];

/// Words by argument, or by `command:argument` where one command means something else by it.
const WORDS: &[(&str, &[&str])] = &[
    ("seconds", FAR_SECONDS),
    ("milliseconds", FAR_MILLISECONDS),
    // These refuse what is not positive; the others take it for the past.
    ("set:seconds", &["far", "far", "far", "far", "far", "0"]),
    ("getex:seconds", &["far", "far", "far", "far", "far", "0"]),
    ("getex:milliseconds", &["far*1000", "far*1000", "far*1000", "far*1000", "far*1000", "0"]),
    ("setex:seconds", &["far", "far", "far", "far", "far", "-1"]),
    ("set:milliseconds", &["far*1000", "far*1000", "far*1000", "far*1000", "far*1000", "0"]),
    ("psetex:milliseconds", &["far*1000", "far*1000", "far*1000", "far*1000", "far*1000", "-1"]),
    ("unix-time-seconds", AT_SECONDS),
    ("unix-time-milliseconds", AT_MILLISECONDS),
    ("index", DATABASE),
    ("index1", DATABASE),
    ("index2", DATABASE),
    ("db", DATABASE),
    ("destination-db", DATABASE),
    ("cursor", &["0", "0", "0", "0", "0", "17", "18446744073709551615"]),
    ("count", COUNTS),
    ("srandmember:count", &["1", "2", "3", "10", "0", "-1", "-5", "-40", "150", "1000"]),
    ("limit", &["0", "1", "2", "5", "1000"]),
    ("type", &["string", "set", "SET", "hash", "zset", "nosuch"]),
    // Ranges.
    ("start", &["0", "0", "1", "2", "-1", "-3", "5", "40", "-100", "1000"]),
    ("end", &["-1", "-1", "0", "1", "3", "-2", "10", "50", "-100", "1000"]),
    ("bit", &["0", "1"]),
    ("min-match-len", &["0", "1", "2", "4", "-1", "100"]),
    ("lcs:len", &["0", "1", "2", "4", "-1", "100"]),
    // Positions in strings: nothing longer than a few KiB may come of them.
    ("offset", &["0", "1", "2", "7", "8", "31", "100", "1000", "20000"]),
    ("setrange:offset", &["0", "0", "1", "2", "5", "10", "50", "300", "2500"]),
    ("bitfield:offset", &["0", "1", "7", "8", "#0", "#1", "#3", "100", "#40", "1000"]),
    ("bitfield_ro:offset", &["0", "1", "7", "8", "#0", "#1", "#3", "100", "#40", "1000"]),
    ("encoding", &["u8", "i8", "u1", "i1", "i64", "u63", "i16", "u5", "u2", "i33", "u16", "i4", "u64", "x8"]),
    ("setbit:value", &["0", "1"]),
    ("bitfield:value", INTEGERS),
    ("bitfield:increment", &["1", "-1", "10", "255", "-300", "9223372036854775807"]),
    ("incrbyfloat:increment", &["1", "-1", "0.1", "-2.5", "3.0e3", "1e17", "0.000000000000000015", "1e4900", "inf"]),
    // Connections and the server.
    ("channel", CHANNELS),
    ("shardchannel", CHANNELS),
    ("username", &["default", "default", "nobody", ""]),
    ("connection-name", &["worker", "w2", "two words", "", "caf\u{e9}"]),
    ("clientname", &["worker", "w2", "two words"]),
    ("libname", &["lib", "a-lib(1)", "a lib", ""]),
    ("libver", &["1.0", "v2", "1 0", ""]),
    ("protover", &["2", "3", "2", "3", "4", "1"]),
    ("command-name", &["get", "SADD", "client|list", "set", "nosuch", "config"]),
    ("command", &["mget", "del", "sunion", "sunionstore", "set", "mset", "sintercard", "touch", "ping", "nosuch"]),
    ("arg", &["1", "2", "a", "b", "k", "GET", "-1"]),
    ("category", &["set", "read", "nosuch"]),
    ("section", &["server", "keyspace", "everything", "nosuch", "stats", "all"]),
    ("parameter", &["slowlog-max-len", "latency-monitor-threshold", "slowlog-log-slower-than", "nosuch", "databases"]),
    ("config|get:parameter", &["slowlog-*", "maxmemory", "save", "nosuch", "*-encoding-*", "list-*", "databases"]),
    ("config|set:value", &["1000000", "100000", "10000000", "-2", "x"]),
];

/// Integers that no number of anything can be, or the ends of what is one. Most are refused, some overflow.
///
/// -9223372036854775807 is missing: as a count of SRANDMEMBER it is legal.
const EXTREMES: &[&str] = &[
    "9223372036854775807",
    "-9223372036854775808",
    "9223372036854775808",
    "-9223372036854775809",
    "18446744073709551616",
    "-99999999999999999999999",
];

const OUT_OF_RANGE: &[(&str, &[&str])] = &[
    // Everything between some thousands and these would be legal and large.
    ("offset", &["-1", "4294967296", "9223372036854775807", "-9223372036854775808", "9223372036854775808"]),
    ("numkeys", &["0", "-1", "1000", "9223372036854775807", "-9223372036854775808", "9223372036854775808"]),
    ("limit", &["-1", "9223372036854775807", "-9223372036854775808", "9223372036854775808"]),
    ("srandmember:count", &["-9223372036854775808", "9223372036854775808", "-9223372036854775809"]),
    ("index", &["16", "-1", "2147483648", "9223372036854775807", "9223372036854775808"]),
];

/// What is no integer in canonical form.
pub const NOT_INTEGERS: &[&str] = &["x", "", "01", "+1", "-0", "1.5", " 1", "1 ", "0x10", "1e3"];

/// What is no number.
pub const NOT_DOUBLES: &[&str] = &["x", "", "nan", "1.5.2", " 1", "1 ", "0x", "--1"];

fn looked_up(
    table: &'static [(&'static str, &'static [&'static str])],
    spec: &Spec,
    name: &str,
) -> Option<&'static [&'static str]> {
    let own = format!("{}:{name}", spec.name);
    let row = |wanted: &str| table.iter().find(|(key, _)| *key == wanted).map(|(_, words)| *words);
    row(&own).or_else(|| row(name))
}

/// A sensible word for an argument that is no key.
pub fn word(random: &mut Random, spec: &Spec, argument: &Argument) -> Vec<u8> {
    let by_kind = match argument.kind {
        Kind::Pattern => PATTERNS,
        Kind::Integer | Kind::UnixTime => INTEGERS,
        Kind::Double => DOUBLES,
        _ => STRINGS,
    };
    let words = looked_up(WORDS, spec, argument.name).unwrap_or(by_kind);
    let far = 7200 + random.below(90_000_000);
    match words[random.below(words.len())] {
        "far" => far.to_string().into_bytes(),
        "far*1000" => (far * 1000).to_string().into_bytes(),
        word => bytes(word),
    }
}

/// An integer out of the range of an argument, or at its end.
pub fn out_of_range(random: &mut Random, spec: &Spec, argument: &Argument) -> Vec<u8> {
    let words = looked_up(OUT_OF_RANGE, spec, argument.name).unwrap_or(EXTREMES);
    bytes(words[random.below(words.len())])
}

/// Bytes that are not UTF-8 are written here as the characters of the same numbers.
pub fn bytes(word: &str) -> Vec<u8> {
    word.chars().map(|character| u8::try_from(u32::from(character)).expect("a word of bytes")).collect()
}

/// The type that a command expects of its keys, if it expects one.
pub fn type_of(spec: &Spec) -> Option<&'static Type> {
    TYPES.iter().find(|kind| kind.groups.contains(&spec.group.word()))
}

/// Every key that is drawn on purpose, and the words that a mistake may make one of.
pub fn all_keys() -> Vec<Vec<u8>> {
    let fixtures = TYPES.iter().flat_map(|kind| kind.fixtures).map(|fixture| fixture.key);
    fixtures.chain(ABSENT.iter().copied()).chain(["NOPE", "more"]).map(bytes).collect()
}
