//! Redis glob patterns over bytes, compiled once and matched without recursion.
//!
//! `*` is any run of bytes, `?` any one byte, `[…]` one byte of a class, `[^…]` one byte outside it, `\x` the byte x.
//! The corners, all as Redis 8.2 answers them: a class that is never closed ends with the pattern; `[]` matches
//! nothing; a range may be written backwards, its end may be any byte, `]` and `\` included, and bytes from 128 up stand
//! below 0 in it; `\` as the last byte is itself; the empty name is matched by the empty pattern only, not even by `*`. One difference: Redis gives up on
//! patterns with more than 1,000 separate `*`, this matcher does not need to.
//!
//! Invariant: matching costs at most (bytes and classes in the pattern) x (length of the name) steps, because only the
//! latest `*` is ever tried again: where an earlier one stood further left, the later one can still reach as far.
//!
//! Deliberately unknown here: characters. Names and patterns are bytes, and only ASCII letters have two cases.

/// A compiled pattern. 24 bytes, plus the literal or the program it needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glob {
    form: Form,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Form {
    /// Exactly this name.
    Literal(Box<[u8]>),
    /// Every name that begins so; never empty.
    Prefix(Box<[u8]>),
    /// The pattern `*`.
    All,
    /// Anything else, see [`Builder`].
    Program(Box<[u8]>),
}

/// Any run of bytes, as short as the rest allows.
const STAR: u8 = 0;
/// The last `*`: what follows has a fixed width, written after it, and must end the name.
const LAST_STAR: u8 = 1;
/// Any one byte.
const ANY: u8 = 2;
/// A run of bytes: its length (1 to 255), then the bytes.
const RUN: u8 = 3;
/// One ASCII letter in either case, written in lower case.
const LETTER: u8 = 4;
/// One byte of a class, which is written as a [`Map`].
const CLASS: u8 = 5;

const WIDTH_BYTES: usize = size_of::<usize>();
const MAP_BYTES: usize = 32;
const RUN_BYTES_MAX: u8 = 255;

/// A bit per byte value.
type Map = [u8; MAP_BYTES];

impl Glob {
    /// Compiles a pattern; every byte string is one. Costs its length in time and at most about eight times its length
    /// in memory (`[ab]` becomes 33 bytes), usually less than its length.
    pub fn new(pattern: &[u8]) -> Glob {
        Glob::compile::<false>(pattern)
    }

    /// Like [`Glob::new`], with ASCII letters matching in either case. As in Redis, a letter after `\` inside a class
    /// keeps its case, and a class range is folded end by end (`[Z-a]` becomes z to a, which is empty).
    pub fn new_nocase(pattern: &[u8]) -> Glob {
        Glob::compile::<true>(pattern)
    }

    /// Whether the whole name matches. Never allocates; see the module for the cost.
    #[inline]
    pub fn matches(&self, name: &[u8]) -> bool {
        match &self.form {
            Form::Literal(literal) => **literal == *name,
            Form::Prefix(prefix) => name.starts_with(prefix),
            Form::All => !name.is_empty(),
            Form::Program(program) => !name.is_empty() && run(program, name, |_| ()),
        }
    }

    /// The one name this pattern matches, when it is only one: `a\*` gives `a*`.
    pub fn literal(&self) -> Option<&[u8]> {
        match &self.form {
            Form::Literal(literal) => Some(literal),
            Form::Prefix(_) | Form::All | Form::Program(_) => None,
        }
    }

    /// True for the pattern `*` and no other. KEYS and SCAN take it for "no filter", so that it finds the empty key,
    /// which [`Glob::matches`] does not.
    pub fn is_all(&self) -> bool {
        self.form == Form::All
    }

    /// The byte runs every matching name contains, in order; none is empty. Runs longer than 255 may come in parts.
    pub(super) fn pieces(&self) -> Pieces<'_> {
        let (whole, program): (&[u8], &[u8]) = match &self.form {
            Form::Literal(bytes) | Form::Prefix(bytes) => (bytes, &[]),
            Form::All => (&[], &[]),
            Form::Program(program) => (&[], program),
        };
        Pieces { whole, program, at_start: true }
    }

    fn compile<const FOLD: bool>(pattern: &[u8]) -> Glob {
        let mut builder = Builder::default();
        let mut rest = pattern;
        while let Some((&byte, after)) = rest.split_first() {
            rest = after;
            match byte {
                b'*' => builder.star(),
                b'?' => builder.any(),
                b'[' => {
                    let (map, after) = class::<FOLD>(after);
                    builder.class(&map);
                    rest = after;
                }
                b'\\' if !after.is_empty() => {
                    builder.byte::<FOLD>(after[0]);
                    rest = &after[1..];
                }
                _ => builder.byte::<FOLD>(byte),
            }
        }
        Glob { form: builder.finish(pattern == b"*") }
    }
}

/// Collects a program while the pattern is read.
#[derive(Default)]
struct Builder {
    program: Vec<u8>,
    /// Where the length of the run being written stands in the program.
    open_run: Option<usize>,
    /// Where the latest `*` stands in the program.
    last_star: Option<usize>,
    /// Bytes of a name that what was written since then takes.
    width: usize,
    /// The literal bytes alone.
    literal: Vec<u8>,
    /// How many entries of the program are not runs.
    magic: usize,
}

impl Builder {
    fn star(&mut self) {
        let at = self.program.len();
        if self.last_star.is_some_and(|star| star + 1 == at) {
            return;
        }
        self.op(STAR, &[]);
        self.last_star = Some(at);
        self.width = 0;
    }

    fn any(&mut self) {
        self.op(ANY, &[]);
        self.width += 1;
    }

    fn class(&mut self, map: &Map) {
        match map.iter().map(|bits| bits.count_ones()).sum() {
            256u32 => self.any(),
            1 => self.literal_byte((0..=255).find(|byte| has(map, *byte)).unwrap_or_default()),
            _ => {
                self.op(CLASS, map);
                self.width += 1;
            }
        }
    }

    fn byte<const FOLD: bool>(&mut self, byte: u8) {
        if FOLD && byte.is_ascii_alphabetic() {
            self.op(LETTER, &[byte.to_ascii_lowercase()]);
            self.width += 1;
        } else {
            self.literal_byte(byte);
        }
    }

    fn literal_byte(&mut self, byte: u8) {
        match self.open_run {
            Some(at) if self.program[at] < RUN_BYTES_MAX => self.program[at] += 1,
            _ => {
                self.program.extend([RUN, 1]);
                self.open_run = Some(self.program.len() - 1);
            }
        }
        self.program.push(byte);
        self.literal.push(byte);
        self.width += 1;
    }

    fn op(&mut self, op: u8, operand: &[u8]) {
        self.program.push(op);
        self.program.extend_from_slice(operand);
        self.open_run = None;
        self.magic += 1;
    }

    fn finish(mut self, all: bool) -> Form {
        let ends_in_star = self.last_star.is_some_and(|star| star + 1 == self.program.len());
        if all {
            return Form::All;
        }
        if self.magic == 0 {
            return Form::Literal(self.literal.into());
        }
        if self.magic == 1 && ends_in_star && !self.literal.is_empty() {
            return Form::Prefix(self.literal.into());
        }
        if let Some(star) = self.last_star {
            self.program[star] = LAST_STAR;
            self.program.splice(star + 1..star + 1, self.width.to_le_bytes());
        }
        Form::Program(self.program.into())
    }
}

/// Reads a class, the bytes after its `[`, and answers it with what follows its `]`.
fn class<const FOLD: bool>(mut rest: &[u8]) -> (Map, &[u8]) {
    let mut map = [0; MAP_BYTES];
    let negated = rest.first() == Some(&b'^');
    if negated {
        rest = &rest[1..];
    }
    loop {
        match *rest {
            [] => break,
            [b'\\', byte, ref after @ ..] => {
                put(&mut map, byte);
                rest = after;
            }
            [b']', ref after @ ..] => {
                rest = after;
                break;
            }
            [from, b'-', to, ref after @ ..] => {
                put_range::<FOLD>(&mut map, from, to);
                rest = after;
            }
            [byte, ref after @ ..] => {
                put_range::<FOLD>(&mut map, byte, byte);
                rest = after;
            }
        }
    }
    if negated {
        map.iter_mut().for_each(|bits| *bits = !*bits);
    }
    (map, rest)
}

/// Adds a range, whichever end is written first. Bytes from 128 up stand below 0, as in Redis: `[a-\xff]` is 255 and 0
/// to 97.
fn put_range<const FOLD: bool>(map: &mut Map, one: u8, other: u8) {
    let (one, other) = (one as i8, other as i8);
    let (mut from, mut to) = (one.min(other), one.max(other));
    if FOLD {
        from = (from as u8).to_ascii_lowercase() as i8;
        to = (to as u8).to_ascii_lowercase() as i8;
    }
    for byte in (from..=to).map(|byte| byte as u8) {
        if !FOLD {
            put(map, byte);
        } else if !byte.is_ascii_uppercase() {
            // A name's byte is folded before it is compared, so capitals are in by their small letters alone.
            put(map, byte);
            put(map, byte.to_ascii_uppercase());
        }
    }
}

fn put(map: &mut Map, byte: u8) {
    map[usize::from(byte >> 3)] |= 1 << (byte & 7);
}

fn has(map: &[u8], byte: u8) -> bool {
    map[usize::from(byte >> 3)] & 1 << (byte & 7) != 0
}

/// Whether a program takes the whole name. `meter` hears how many bytes were compared, step by step.
fn run(program: &[u8], name: &[u8], mut meter: impl FnMut(usize)) -> bool {
    let (mut next, mut at) = (0, 0);
    // What follows the latest `*`, and where in the name it was last tried.
    let mut retry: Option<(usize, usize)> = None;
    loop {
        let Some(&op) = program.get(next) else {
            return at == name.len();
        };
        let (size, width, matched) = match op {
            STAR => {
                next += 1;
                retry = Some((next, at));
                continue;
            }
            LAST_STAR => {
                let width = operand_width(&program[next + 1..]);
                if name.len() - at < width {
                    return false;
                }
                next += 1 + WIDTH_BYTES;
                at = name.len() - width;
                retry = None;
                continue;
            }
            RUN => {
                let bytes = run_bytes(&program[next + 1..]);
                (2 + bytes.len(), bytes.len(), name[at..].starts_with(bytes))
            }
            ANY => (1, 1, at < name.len()),
            LETTER => (2, 1, name.get(at).is_some_and(|byte| byte.to_ascii_lowercase() == program[next + 1])),
            _ => (1 + MAP_BYTES, 1, name.get(at).is_some_and(|byte| has(&program[next + 1..], *byte))),
        };
        meter(width);
        if matched {
            next += size;
            at += width;
            continue;
        }
        let Some((after_star, tried)) = retry else {
            return false;
        };
        let Some(start) = next_start(&program[after_star..], name, tried + 1) else {
            return false;
        };
        meter(start - tried);
        (next, at, retry) = (after_star, start, Some((after_star, start)));
    }
}

/// Where what follows a `*` is worth trying, from `start` on. A run can only match where its first byte is.
fn next_start(program: &[u8], name: &[u8], start: usize) -> Option<usize> {
    let rest = name.get(start..)?;
    if program[0] != RUN {
        return Some(start);
    }
    rest.iter().position(|byte| *byte == program[2]).map(|skipped| start + skipped)
}

fn run_bytes(operand: &[u8]) -> &[u8] {
    &operand[1..1 + usize::from(operand[0])]
}

fn operand_width(operand: &[u8]) -> usize {
    let mut bytes = [0; WIDTH_BYTES];
    bytes.copy_from_slice(&operand[..WIDTH_BYTES]);
    usize::from_le_bytes(bytes)
}

/// Where in a matching name a piece must stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    End,
    Anywhere,
}

/// See [`Glob::pieces`].
#[derive(Clone)]
pub(super) struct Pieces<'a> {
    whole: &'a [u8],
    program: &'a [u8],
    at_start: bool,
}

impl<'a> Iterator for Pieces<'a> {
    type Item = (&'a [u8], Anchor);

    fn next(&mut self) -> Option<Self::Item> {
        if !self.whole.is_empty() {
            return Some((std::mem::take(&mut self.whole), Anchor::Start));
        }
        loop {
            let (&op, operand) = self.program.split_first()?;
            let at_start = std::mem::replace(&mut self.at_start, false);
            let size = match op {
                RUN => {
                    let bytes = run_bytes(operand);
                    self.program = &operand[1 + bytes.len()..];
                    let anchor = match (at_start, self.program.is_empty()) {
                        (true, _) => Anchor::Start,
                        (false, true) => Anchor::End,
                        (false, false) => Anchor::Anywhere,
                    };
                    return Some((bytes, anchor));
                }
                LAST_STAR => WIDTH_BYTES,
                LETTER => 1,
                CLASS => MAP_BYTES,
                _ => 0,
            };
            self.program = &operand[size..];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn matches(pattern: &str, name: &str) -> bool {
        Glob::new(pattern.as_bytes()).matches(name.as_bytes())
    }

    fn matches_nocase(pattern: &str, name: &str) -> bool {
        Glob::new_nocase(pattern.as_bytes()).matches(name.as_bytes())
    }

    /// Matches the slow and obvious way: one recursive step per byte, one more per place a `*` may end.
    fn slowly(pattern: &[u8], name: &[u8]) -> bool {
        let in_class = |class: &[u8], byte: u8| {
            let (mut at, mut found) = (0, false);
            while at < class.len() {
                if class[at] == b'\\' && at + 1 < class.len() {
                    found |= class[at + 1] == byte;
                    at += 2;
                } else if at + 2 < class.len() && class[at + 1] == b'-' {
                    let (one, other) = (class[at] as i8, class[at + 2] as i8);
                    found |= (one.min(other)..=one.max(other)).contains(&(byte as i8));
                    at += 3;
                } else {
                    found |= class[at] == byte;
                    at += 1;
                }
            }
            found
        };
        // The index of the `]` that closes a class, or the end of the pattern.
        let class_end = |body: &[u8]| {
            let mut at = 0;
            while at < body.len() && body[at] != b']' {
                at += match body[at] {
                    b'\\' if at + 1 < body.len() => 2,
                    _ if at + 2 < body.len() && body[at + 1] == b'-' => 3,
                    _ => 1,
                };
            }
            at
        };
        match pattern {
            [] => name.is_empty(),
            [b'*', rest @ ..] => (0..=name.len()).any(|taken| slowly(rest, &name[taken..])),
            _ if name.is_empty() => false,
            [b'?', rest @ ..] => slowly(rest, &name[1..]),
            [b'[', rest @ ..] => {
                let (negated, body) = match rest {
                    [b'^', body @ ..] => (true, body),
                    body => (false, body),
                };
                let end = class_end(body);
                in_class(&body[..end], name[0]) != negated && slowly(body.get(end + 1..).unwrap_or(&[]), &name[1..])
            }
            [b'\\', byte, rest @ ..] => *byte == name[0] && slowly(rest, &name[1..]),
            [byte, rest @ ..] => *byte == name[0] && slowly(rest, &name[1..]),
        }
    }

    fn over(alphabet: &'static [u8], longest: usize) -> impl Strategy<Value = Vec<u8>> {
        proptest::collection::vec(proptest::sample::select(alphabet), 0..=longest)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn agrees_with_the_slow_matcher(pattern in over(b"ab*?[]^-\\", 9), name in over(b"ab*?[]^-\\", 6)) {
            let expected = slowly(&pattern, &name) && (pattern.is_empty() || !name.is_empty());
            prop_assert_eq!(Glob::new(&pattern).matches(&name), expected);
        }

        #[test]
        fn ranges_agree_with_the_slow_matcher(class in over(b"\x00-a\x7f\x80\xff^]", 8), byte in any::<u8>()) {
            let pattern = [b"[", &class[..]].concat();
            prop_assert_eq!(Glob::new(&pattern).matches(&[byte]), slowly(&pattern, &[byte]));
        }

        #[test]
        fn stars_agree_with_the_slow_matcher(pattern in over(b"ab*?", 12), name in over(b"ab", 12)) {
            let expected = slowly(&pattern, &name) && (pattern.is_empty() || !name.is_empty());
            prop_assert_eq!(Glob::new(&pattern).matches(&name), expected);
        }

        #[test]
        fn a_matching_name_contains_every_piece(pattern in over(b"ab*?[]^-\\", 9), name in over(b"ab[]-", 6)) {
            let glob = Glob::new(&pattern);
            if glob.matches(&name) {
                let mut rest = &name[..];
                for (piece, anchor) in glob.pieces() {
                    prop_assert!(anchor != Anchor::Start || name.starts_with(piece));
                    prop_assert!(anchor != Anchor::End || name.ends_with(piece));
                    let found = rest.windows(piece.len()).position(|window| window == piece);
                    prop_assert!(found.is_some());
                    rest = &rest[found.unwrap_or(0) + piece.len()..];
                }
            }
        }

        #[test]
        fn without_letters_both_cases_agree(pattern in over(b"12*?[]^-\\", 9), name in over(b"12[]-", 6)) {
            prop_assert_eq!(Glob::new(&pattern).matches(&name), Glob::new_nocase(&pattern).matches(&name));
        }
    }

    #[test]
    fn the_empty_name_is_matched_by_the_empty_pattern_only() {
        assert!(matches("", ""));
        for pattern in ["*", "**", "?", "a*", "[^a]"] {
            assert!(!matches(pattern, ""), "{pattern}");
        }
        assert!(!matches("", "a"));
    }

    #[test]
    fn an_open_class_ends_with_the_pattern() {
        assert!(matches("[ab", "b") && !matches("[ab", "c"));
        assert!(matches("[^", "a") && matches("[^a", "b") && !matches("[^a", "a"));
        assert!(!matches("[", "["));
        assert!(matches("[a-", "-") && matches("[\\", "\\"));
    }

    #[test]
    fn a_range_takes_any_end_and_any_order() {
        assert!(matches("[c-a]", "b"));
        assert!(matches("[+-]x", "]") && matches("[+-]x", "x") && !matches("[+-]x", "z"));
        assert!(matches("[\\--9]", "-") && !matches("[\\--9]", "3"));
    }

    #[test]
    fn in_a_range_bytes_from_128_up_stand_below_0() {
        let class = Glob::new(b"[a-\xfe]");
        assert!([0, 96, 97, 254, 255].iter().all(|byte| class.matches(&[*byte])));
        assert!([98, 127, 128, 253].iter().all(|byte| !class.matches(&[*byte])));
    }

    #[test]
    fn the_empty_class_matches_nothing_and_its_opposite_anything() {
        assert!(!matches("[]", "]") && !matches("[]a]", "a"));
        assert!(matches("[^]", "]") && matches("[^]a]", "xa]"));
    }

    #[test]
    fn a_last_backslash_is_itself() {
        assert!(matches("a\\", "a\\") && matches("\\*", "*") && !matches("\\*", "a"));
    }

    #[test]
    fn nocase_folds_what_redis_folds() {
        assert!(matches_nocase("MAX*[Y]", "maxmemory") && matches_nocase("maxm", "MaXM"));
        assert!(matches_nocase("[A-Z]ort", "port") && !matches_nocase("[Z-a]ort", "port"));
        assert!(!matches_nocase("[\\P]ort", "port") && matches_nocase("[\\P]ort", "Port"));
        assert!(matches_nocase("[@-P]ort", "port") && !matches_nocase("[`-P]", "@"));
        assert!(!matches_nocase("[^P]ort", "port") && matches_nocase("[^\\P]ort", "port"));
    }

    #[test]
    fn a_pattern_without_magic_is_a_literal() {
        assert_eq!(Glob::new(b"a.b").literal(), Some(&b"a.b"[..]));
        assert_eq!(Glob::new(b"a\\*[b]").literal(), Some(&b"a*b"[..]));
        assert_eq!(Glob::new(b"").literal(), Some(&b""[..]));
        assert_eq!(Glob::new(&[b'x'; 700]).literal(), Some(&[b'x'; 700][..]));
        assert_eq!(Glob::new_nocase(b"1.2").literal(), Some(&b"1.2"[..]));
        for magic in ["a*", "?", "[ab]", "*"] {
            assert_eq!(Glob::new(magic.as_bytes()).literal(), None, "{magic}");
        }
        assert_eq!(Glob::new_nocase(b"a").literal(), None);
    }

    #[test]
    fn only_the_single_star_is_all() {
        assert!(Glob::new(b"*").is_all());
        assert!(!Glob::new(b"**").is_all() && !Glob::new(b"a*").is_all());
    }

    #[test]
    fn a_prefix_costs_a_pointer_and_its_bytes() {
        assert_eq!(size_of::<Glob>(), 24);
        assert_eq!(Glob::new(b"news.*").form, Form::Prefix(b"news."[..].into()));
        assert_eq!(Glob::new(b"news.**").form, Form::Prefix(b"news."[..].into()));
    }

    #[test]
    fn long_runs_match_across_their_parts() {
        let long = "x".repeat(600);
        assert!(matches(&format!("*{long}?"), &format!("yy{long}z")));
        assert!(!matches(&format!("*{long}?"), &format!("yy{}z", &long[1..])));
        assert!(matches(&format!("*{long}*y*"), &format!("x{long}zyz")));
    }

    #[test]
    fn more_than_a_thousand_stars_still_match() {
        assert!(matches(&"*a".repeat(1_500), &"ba".repeat(1_500)));
    }

    /// Steps a pattern takes on a name, with the answer; the pattern must not be a plain literal or prefix.
    fn steps(pattern: &[u8], name: &[u8]) -> (usize, bool) {
        let Form::Program(program) = Glob::new(pattern).form else {
            panic!("no program");
        };
        let mut steps = 0;
        let matched = run(&program, name, |more| steps += more);
        (steps, matched)
    }

    #[test]
    fn stars_cost_pattern_times_name_at_most() {
        let pattern = "a*".repeat(30) + "a";
        let name = "a".repeat(64) + "b";
        let (taken, matched) = steps(pattern.as_bytes(), name.as_bytes());
        assert!(!matched);
        assert!(taken <= pattern.len() * name.len(), "{taken}");

        let pattern = "*".to_string() + &"a".repeat(200) + "b*";
        let name = "a".repeat(1_000);
        let (taken, matched) = steps(pattern.as_bytes(), name.as_bytes());
        assert!(!matched);
        assert!(taken <= pattern.len() * name.len(), "{taken}");
    }

    #[test]
    fn a_class_costs_one_step_a_byte_however_long_it_is() {
        for (pattern, name) in [("*[", "a"), ("*[^", "z"), ("*[", "b")] {
            let pattern = pattern.to_string() + &"z".repeat(40_000) + "]*";
            let name = name.repeat(40_000);
            let (taken, matched) = steps(pattern.as_bytes(), name.as_bytes());
            assert!(!matched);
            assert!(taken <= 3 * name.len(), "{taken}");
        }
    }
}
