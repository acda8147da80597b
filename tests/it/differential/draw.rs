//! Draws command lines from the specs: over a small pool of keys of every type, with mistakes.
//!
//! Invariant: what is drawn depends on the seed alone, never on replies, so that a sequence can be cut and run again.
//! Invariant: no deadline lies between the past and an hour from now, so that nothing expires while it is compared.

use goblin::command::{Argument, Group, Kind, SPECS, Spec};

use crate::protocol::Random;

/// One request: on which of the two connections, and its words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    pub connection: usize,
    pub words: Vec<Vec<u8>>,
}

impl Step {
    pub fn new(connection: usize, line: &str) -> Step {
        Step { connection, words: line.split(' ').map(|word| word.as_bytes().to_vec()).collect() }
    }

    /// Name of the command, subcommand included, in lower case.
    pub fn command(&self) -> String {
        let word = |index: usize| self.words.get(index).map(|word| String::from_utf8_lossy(word).to_lowercase());
        match (word(0), word(1)) {
            (Some(first), Some(second)) if first == "object" => format!("{first}|{second}"),
            (first, _) => first.unwrap_or_default(),
        }
    }

    /// As a transcript shows it.
    pub fn line(&self) -> String {
        let words: Vec<String> = self.words.iter().map(|word| quoted(word)).collect();
        format!("{}> {}", if self.connection == 0 { 'A' } else { 'B' }, words.join(" "))
    }
}

fn quoted(word: &[u8]) -> String {
    let plain = !word.is_empty() && word.iter().all(|byte| byte.is_ascii_graphic() && !b"\"'\\".contains(byte));
    match plain {
        true => String::from_utf8_lossy(word).into_owned(),
        false => format!("\"{}\"", word.escape_ascii()),
    }
}

/// Commands that may be drawn: about data, answering at once, telling the same on every server.
pub fn drawable(spec: &Spec) -> bool {
    let about_data =
        matches!(spec.group, Group::Bitmap | Group::Generic | Group::Set | Group::String | Group::Transactions);
    let about_databases = ["dbsize", "flushdb", "flushall", "select", "ping", "echo"].contains(&spec.name);
    let is_help = spec.word == "HELP";
    (about_data || about_databases) && !spec.is_container() && !is_help
}

/// Keys by the type they mostly hold; each pool also has names that are mostly absent.
const SETS: &[&str] =
    &["set:1", "set:2", "set:3", "ints:1", "ints:2", "packed:1", "table:1", "table:2", "set:late", "none:1", ""];
const STRINGS: &[&str] =
    &["str:1", "str:2", "int:1", "int:2", "long:1", "str:late", "none:1", "none:2", "", "\x00\r\n"];

/// Members and values: numbers in every form, short and long words, bytes.
const WORDS: &[&[u8]] = &[
    b"a",
    b"b",
    b"c",
    b"member",
    b"1",
    b"2",
    b"3",
    b"7",
    b"100",
    b"-1",
    b"0",
    b"01",
    b"+1",
    b"-0",
    b"1.0",
    b"",
    b" 1",
    b"32768",
    b"-32769",
    b"2147483648",
    b"9223372036854775807",
    b"-9223372036854775808",
    b"9223372036854775808",
    b"\0\xff\r\n",
    b"a word of some more than sixty-four bytes, so that no packed form takes it in at all",
];

/// Wrong in most places where a number is due.
const MISTAKES: &[&[u8]] =
    &[b"x", b"", b"01", b"+1", b"-0", b"1.5", b"9223372036854775808", b"-9223372036854775808", b"-1"];

/// Increments of INCRBYFLOAT.
const FLOATS: &[&str] =
    &["1", "-1", "0.1", "-2.5", "3.0e3", "1e17", "0.000000000000000015", "-0", "0x1.8p1", "1e4900", "inf", "x"];

/// Globs.
const PATTERNS: &[&[u8]] =
    &[b"*", b"**", b"set:*", b"*1", b"?", b"[a-m]*", b"[^a-m]*", b"zzz", b"\\*", b"", b"str:[12]"];

/// A sequence being drawn.
pub struct Drawer {
    random: Random,
    specs: Vec<&'static Spec>,
    /// Commands still to queue before EXEC, on each connection.
    queueing: [Option<usize>; 2],
}

impl Drawer {
    pub fn new(seed: u64) -> Drawer {
        let mut specs = Vec::new();
        for spec in SPECS.iter().filter(|spec| drawable(spec)) {
            // Emptying everything every few commands would leave nothing to compare.
            let weight = match spec.name {
                "flushall" | "flushdb" => 1,
                "multi" | "exec" | "discard" | "select" | "ping" | "echo" | "dbsize" | "keys" => 3,
                _ if spec.group == Group::Set => 16,
                _ => 10,
            };
            specs.extend(std::iter::repeat_n(spec, weight));
        }
        Drawer { random: Random::new(seed), specs, queueing: [None, None] }
    }

    /// True with this many chances in a hundred.
    fn chance(&mut self, percent: usize) -> bool {
        self.random.below(100) < percent
    }

    fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.random.below(choices.len())]
    }

    /// Fills the pool: sets of every form, strings, deadlines far away.
    pub fn prelude(&mut self) -> Vec<Step> {
        let numbers = |range: std::ops::Range<i64>, factor: i64| -> String {
            range.map(|number| format!(" {}", number * factor)).collect()
        };
        let words = |count: usize| -> String { (0..count).map(|index| format!(" word:{index}")).collect() };
        let lines = [
            "SADD set:1 a b c 1 2 3".to_owned(),
            "SADD set:2 b c d 2 3 4".to_owned(),
            "SADD set:late a b".to_owned(),
            "EXPIRE set:late 100000".to_owned(),
            format!("SADD ints:1{}", numbers(0..20, 1)),
            format!("SADD ints:2{}", numbers(-5..100, 40_000)),
            format!("SADD packed:1{}", words(100)),
            format!("SADD table:1{}", words(200)),
            format!("SADD table:2{}", numbers(0..600, 3)),
            "SET str:1 text".to_owned(),
            "SET int:1 12345".to_owned(),
            "SET int:2 -7".to_owned(),
            format!("SET long:1 {}", "x".repeat(200)),
            "SET str:late text EX 100000".to_owned(),
        ];
        let chosen: Vec<String> = lines.into_iter().filter(|_| self.random.below(3) > 0).collect();
        chosen.iter().map(|line| Step::new(0, line)).collect()
    }

    /// The next request.
    pub fn step(&mut self) -> Step {
        let connection = usize::from(self.chance(12));
        if let Some(left) = self.queueing[connection] {
            if left == 0 {
                self.queueing[connection] = None;
                return Step::new(connection, if self.chance(88) { "EXEC" } else { "DISCARD" });
            }
            self.queueing[connection] = Some(left - 1);
        } else if self.chance(3) {
            self.queueing[connection] = Some(self.random.below(6));
            return Step::new(connection, "MULTI");
        }
        let spec = self.specs[self.random.below(self.specs.len())];
        match spec.name {
            "multi" => self.queueing[connection] = self.queueing[connection].or(Some(2)),
            "exec" | "discard" => self.queueing[connection] = None,
            // What was taken is random: it is compared right after, before anything can depend on it.
            "spop" if self.queueing[connection].is_some() => self.queueing[connection] = Some(0),
            _ => {}
        }
        let mut words = self.words(spec);
        if self.chance(9) {
            self.spoil(spec, &mut words);
        }
        Step { connection, words }
    }

    /// A well-formed command line.
    fn words(&mut self, spec: &Spec) -> Vec<Vec<u8>> {
        let mut words: Vec<Vec<u8>> = spec.title.split(' ').map(|word| self.any_case(word)).collect();
        let required = spec.arguments.iter().take_while(|argument| !argument.optional).count();
        let (fixed, optional) = spec.arguments.split_at(required);
        let mut numkeys = None;
        for argument in fixed {
            if argument.name == "numkeys" {
                numkeys = Some(words.len());
                words.push(Vec::new());
                continue;
            }
            let before = words.len();
            self.argument(spec, argument, &mut words);
            if let Some(at) = numkeys.take_if(|_| argument.kind == Kind::Key) {
                words[at] = (words.len() - before).to_string().into_bytes();
            }
        }
        let mut options: Vec<&Argument> = optional.iter().collect();
        if self.chance(30) && options.iter().all(|option| has_token(option)) {
            options.reverse();
        }
        for option in options {
            if self.chance(35) {
                self.argument(spec, option, &mut words);
            }
        }
        words
    }

    fn argument(&mut self, spec: &Spec, argument: &Argument, words: &mut Vec<Vec<u8>>) {
        let times = match argument.multiple {
            true if self.chance(3) => 20 + self.random.below(150),
            true => 1 + self.random.below(4),
            false => 1,
        };
        for time in 0..times {
            if let Some(token) = argument.token.filter(|_| time == 0 || argument.multiple_token) {
                let token = self.any_case(token);
                words.push(token);
            }
            match argument.kind {
                Kind::PureToken => {}
                Kind::OneOf => {
                    let branch = &argument.arguments[self.random.below(argument.arguments.len())];
                    self.argument(spec, branch, words);
                }
                Kind::Block => argument.arguments.iter().for_each(|part| self.argument(spec, part, words)),
                Kind::Key => {
                    let key = self.key(spec);
                    words.push(key);
                }
                Kind::String | Kind::Double => {
                    let word = self.string(argument, time);
                    words.push(word);
                }
                Kind::Pattern => words.push(self.pick(PATTERNS).to_vec()),
                Kind::Integer | Kind::UnixTime => words.push(self.number(spec, argument).into_bytes()),
            }
        }
    }

    /// Mostly a key of the type that the command is about.
    fn key(&mut self, spec: &Spec) -> Vec<u8> {
        let of_sets = match spec.group {
            Group::Set => self.chance(93),
            Group::String | Group::Bitmap => self.chance(12),
            _ => self.chance(50),
        };
        self.pick(if of_sets { SETS } else { STRINGS }).as_bytes().to_vec()
    }

    fn string(&mut self, argument: &Argument, time: usize) -> Vec<u8> {
        match argument.name {
            "type" => self.pick(&["string", "set", "SET", "hash", "nosuch"]).as_bytes().to_vec(),
            "encoding" => self.pick(&["u8", "i8", "i5", "u63", "i64", "u1", "u64"]).as_bytes().to_vec(),
            "increment" => self.pick(FLOATS).as_bytes().to_vec(),
            // Many members at once would repeat a short list.
            _ if time > 6 => format!("more:{}", self.random.below(400)).into_bytes(),
            _ => self.pick(WORDS).to_vec(),
        }
    }

    fn number(&mut self, spec: &Spec, argument: &Argument) -> String {
        // EXPIREAT deletes a key at once when the time is past. SET keeps it until somebody looks, so that what DBSIZE
        // counts depends on the moment.
        let past_is_kept = spec.group == Group::String;
        let choices: &[&str] = match argument.name {
            "seconds" => &["100000", "7200", "9999999", "0", "-1"],
            "milliseconds" => &["100000000", "7200000", "99999999999", "0", "-1"],
            "unix-time-seconds" | "unix-time-milliseconds" if past_is_kept => {
                &["33177117420000", "20000000000000", "0", "-5"]
            }
            "unix-time-seconds" => &["33177117420", "20000000000", "1", "-5"],
            "unix-time-milliseconds" => &["33177117420000", "20000000000000", "1", "-5"],
            "cursor" => &["0", "0", "0", "0", "0", "17", "18446744073709551615"],
            "index" => &["0", "1", "2", "0", "16"],
            // Past the first byte's end, and past the end of most strings.
            "offset" => &["0", "1", "6", "7", "8", "13", "40", "100", "500", "-1"],
            "bit" => &["0", "1", "1", "0", "2"],
            "value" if spec.name == "setbit" => &["0", "1", "1", "0", "2"],
            "start" | "end" => &["0", "1", "2", "5", "-1", "-2", "-5", "-100", "100", "9223372036854775807"],
            "limit" => &["0", "1", "2", "5", "1000"],
            _ => &["1", "2", "3", "10", "0", "-1", "-5", "150", "1000", "9223372036854775807"],
        };
        self.pick(choices).to_owned()
    }

    fn any_case(&mut self, word: &str) -> Vec<u8> {
        match self.random.below(4) {
            0 => word.to_lowercase().into_bytes(),
            1 => word
                .bytes()
                .enumerate()
                .map(|(at, byte)| if at % 2 == 0 { byte.to_ascii_lowercase() } else { byte })
                .collect(),
            _ => word.as_bytes().to_vec(),
        }
    }

    /// One mistake: a word too few or too many, an option that does not exist, a wrong value.
    fn spoil(&mut self, spec: &Spec, words: &mut Vec<Vec<u8>>) {
        let least = spec.words();
        match self.random.below(5) {
            0 if words.len() > least => {
                words.pop();
            }
            1 => {
                let at = least + self.random.below(words.len() - least + 1);
                words.insert(at, b"NOPE".to_vec());
            }
            2 if words.len() > least => {
                let at = least + self.random.below(words.len() - least);
                words[at] = self.pick(MISTAKES).to_vec();
            }
            3 => {
                let token = self.any_case("LIMIT");
                words.push(token);
            }
            _ => words.truncate(least),
        }
    }
}

fn has_token(argument: &Argument) -> bool {
    argument.token.is_some()
        || matches!(argument.kind, Kind::OneOf | Kind::Block) && argument.arguments.iter().all(has_token)
}
