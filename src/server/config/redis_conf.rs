//! Configuration files as Redis writes them: a directive and its words on a line, quotes, `include`.
//!
//! Relative paths of `include` start from the working directory, as with Redis.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::Problem;
use super::source::{Given, Origin, read_bounded};

/// Files inside files: deeper than anybody nests them by intent.
const DEPTH_MAX: usize = 16;
/// Lines of all files together.
const LINES_MAX: usize = 100_000;

/// The directives in order, and what cannot be read.
pub(super) fn parse(path: &Path, content: &[u8]) -> (Vec<Given>, Vec<Problem>) {
    let mut reading = Reading { directives: Vec::new(), problems: Vec::new(), lines: 0 };
    reading.file(path, content, 0);
    (reading.directives, reading.problems)
}

struct Reading {
    directives: Vec<Given>,
    problems: Vec<Problem>,
    lines: usize,
}

impl Reading {
    fn file(&mut self, path: &Path, content: &[u8], depth: usize) {
        for (at, line) in content.split(|byte| *byte == b'\n').enumerate() {
            let line = line.trim_ascii();
            if line.is_empty() || line.starts_with(b"#") {
                continue;
            }
            let origin = Origin::Line { file: path.to_owned(), line: at + 1 };
            self.lines += 1;
            if self.lines > LINES_MAX {
                return self.problem(origin, format!("more than {LINES_MAX} lines in all files together"));
            }
            match split(line) {
                None => self.problem(origin, "unbalanced quotes".to_owned()),
                Some(words) => self.directive(words, origin, depth),
            }
        }
    }

    fn directive(&mut self, mut words: Vec<Vec<u8>>, origin: Origin, depth: usize) {
        if words.is_empty() {
            return;
        }
        let name = String::from_utf8_lossy(&words.remove(0)).to_ascii_lowercase();
        if name != "include" {
            return self.directives.push(Given { name, words, origin });
        }
        if words.is_empty() {
            return self.problem(origin, "include: wrong number of arguments".to_owned());
        }
        for word in words {
            self.include(Path::new(OsStr::from_bytes(&word)), &origin, depth);
        }
    }

    fn include(&mut self, path: &Path, origin: &Origin, depth: usize) {
        let content = match depth + 1 {
            ..=DEPTH_MAX => read_bounded(path),
            _ => Err(format!("files included in files more than {DEPTH_MAX} deep")),
        };
        match content {
            Ok(content) => self.file(path, &content, depth + 1),
            Err(why) => self.problem(origin.clone(), format!("include {}: {why}", path.display())),
        }
    }

    fn problem(&mut self, origin: Origin, what: String) {
        self.problems.push(Problem { origin: Some(origin), what });
    }
}

/// The directive of a line as it is written; none in a comment, an empty line or one that cannot be read.
pub(super) fn directive(line: &[u8]) -> Option<String> {
    let line = line.trim_ascii();
    if line.is_empty() || line.starts_with(b"#") {
        return None;
    }
    let name = split(line)?.into_iter().next()?;
    String::from_utf8(name).ok()
}

/// Words between white space. In double quotes `\n \r \t \b \a \xHH` are what they say and any other byte after a
/// backslash is itself; in single quotes only `\'` is special. `None` when a quote does not end, or is followed by
/// anything but white space.
fn split(line: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut words = Vec::new();
    let mut rest = line.trim_ascii_start();
    while !rest.is_empty() {
        let mut word = Vec::new();
        loop {
            match rest {
                [] => break,
                [byte, ..] if byte.is_ascii_whitespace() || *byte == 0 => break,
                [b'"', after @ ..] => {
                    rest = closed(double_quoted(after, &mut word)?)?;
                    break;
                }
                [b'\'', after @ ..] => {
                    rest = closed(single_quoted(after, &mut word)?)?;
                    break;
                }
                [byte, after @ ..] => {
                    word.push(*byte);
                    rest = after;
                }
            }
        }
        words.push(word);
        if let [0, ..] = rest {
            return None;
        }
        rest = rest.trim_ascii_start();
    }
    Some(words)
}

fn closed(rest: &[u8]) -> Option<&[u8]> {
    rest.first().is_none_or(u8::is_ascii_whitespace).then_some(rest)
}

fn double_quoted<'a>(mut rest: &'a [u8], word: &mut Vec<u8>) -> Option<&'a [u8]> {
    loop {
        rest = match rest {
            [] => return None,
            [b'"', after @ ..] => return Some(after),
            [b'\\', b'x', high, low, after @ ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                word.push(hex(*high) << 4 | hex(*low));
                after
            }
            [b'\\', escaped, after @ ..] => {
                word.push(match escaped {
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'b' => 8,
                    b'a' => 7,
                    other => *other,
                });
                after
            }
            [byte, after @ ..] => {
                word.push(*byte);
                after
            }
        };
    }
}

fn single_quoted<'a>(mut rest: &'a [u8], word: &mut Vec<u8>) -> Option<&'a [u8]> {
    loop {
        rest = match rest {
            [] => return None,
            [b'\'', after @ ..] => return Some(after),
            [b'\\', b'\'', after @ ..] => {
                word.push(b'\'');
                after
            }
            [byte, after @ ..] => {
                word.push(*byte);
                after
            }
        };
    }
}

fn hex(digit: u8) -> u8 {
    char::from(digit).to_digit(16).map_or(0, |value| value as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Option<Vec<String>> {
        let words = split(line.as_bytes())?;
        Some(words.iter().map(|word| String::from_utf8_lossy(word).into_owned()).collect())
    }

    #[test]
    fn words_may_be_quoted_two_ways() {
        for (line, expected) in [
            (r#"a  b	c"#, &["a", "b", "c"][..]),
            (r#"save """#, &["save", ""]),
            (r#"a 'it\'s \n'"#, &["a", r"it's \n"]),
            (r#"a "x\x41\n\"\q""#, &["a", "xA\n\"q"]),
            (r#"a "\xZZ""#, &["a", "xZZ"]),
            (r#"a b"c d""#, &["a", "bc d"]),
        ] {
            assert_eq!(words(line).unwrap(), expected, "{line}");
        }
        for line in [r#"a "b"#, "a 'b", r#"a "b"c"#, "a 'b'c", r#"a "b\"#] {
            assert_eq!(words(line), None, "{line}");
        }
    }

    #[test]
    fn lines_are_counted_and_comments_skipped() {
        let (directives, problems) = parse(Path::new("f"), b"# one\r\n\r\n  PORT 1\r\nx \"y\n");
        assert_eq!(directives, [Given::new("port", "1", Origin::Line { file: "f".into(), line: 3 })]);
        assert_eq!(problems.len(), 1);
        assert_eq!(problems[0].to_string(), "f:4: unbalanced quotes");
    }
}
