//! A command line while it is being typed: where its words are, before it is whole.
//!
//! Invariant: a line that is whole has the words that [`split_words`] reads.
//! Deliberately unknown here: what the words mean.

use std::ops::Range;

use crate::client::split_words;
use crate::command::quote;

/// A word, or the beginning of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece {
    /// Where it is, its quotes included.
    pub(super) range: Range<usize>,
    /// How it is written.
    pub(super) form: Form,
}

/// How a word is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Without quotes.
    Plain,
    /// With quotes that are closed.
    Quoted,
    /// With this quote, which is still open.
    Open(u8),
    /// With something right behind its closing quote, which no server reads.
    Broken,
}

/// The pieces of a line.
pub(super) fn pieces(line: &[u8]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut at = 0;
    while let Some(skipped) = line[at..].iter().position(|&byte| !is_blank(byte)) {
        let piece = piece(line, at + skipped);
        at = piece.range.end;
        pieces.push(piece);
    }
    pieces
}

fn piece(line: &[u8], start: usize) -> Piece {
    let mut at = start;
    while let Some(&byte) = line.get(at) {
        if matches!(byte, b'"' | b'\'') {
            let Some(end) = closing(line, at) else {
                return Piece { range: start..line.len(), form: Form::Open(byte) };
            };
            if line.get(end).is_none_or(|&next| is_blank(next)) {
                return Piece { range: start..end, form: Form::Quoted };
            }
            let rest = line[end..].iter().position(|&byte| ends_word(byte));
            return Piece { range: start..rest.map_or(line.len(), |rest| end + rest), form: Form::Broken };
        }
        if ends_word(byte) {
            break;
        }
        at += 1;
    }
    Piece { range: start..at, form: Form::Plain }
}

/// The offset behind the quote that closes the one at `open`.
fn closing(line: &[u8], open: usize) -> Option<usize> {
    let quote = line[open];
    let mut at = open + 1;
    loop {
        match &line[at..] {
            [] | [b'\\'] => return None,
            [b'\\', escaped, ..] if quote == b'"' || *escaped == b'\'' => at += 2,
            [byte, ..] if *byte == quote => return Some(at + 1),
            _ => at += 1,
        }
    }
}

impl Piece {
    /// The bytes that it stands for so far.
    pub(super) fn value(&self, line: &[u8]) -> Vec<u8> {
        let written = &line[self.range.clone()];
        let read = |written: &[u8]| split_words(written).ok().and_then(|words| words.into_iter().next());
        match self.form {
            Form::Plain => written.to_vec(),
            Form::Quoted => read(written).unwrap_or_default(),
            Form::Open(quote) => {
                // A backslash at the end would escape the quote that is added here.
                let written = written.strip_suffix(b"\\").unwrap_or(written);
                read(&[written, &[quote]].concat()).unwrap_or_default()
            }
            Form::Broken => written.to_vec(),
        }
    }
}

/// The commands of a text, one a line, without their line ends. A line end between quotes is part of the command.
pub(super) fn commands(text: &str) -> Vec<&str> {
    let bytes = text.as_bytes();
    let (mut commands, mut start, mut at) = (Vec::new(), 0, 0);
    while at < bytes.len() {
        match bytes[at] {
            b'\n' => {
                commands.push(&text[start..at]);
                at += 1;
                start = at;
            }
            b'"' | b'\'' => match closing(bytes, at) {
                Some(end) => at = end,
                None => break,
            },
            _ => at += 1,
        }
    }
    commands.push(&text[start..]);
    commands
}

/// A word as it can be typed: as it is where that is possible, else in quotes.
pub(super) fn typed(word: &[u8]) -> String {
    let plain = std::str::from_utf8(word).ok().filter(|text| {
        let is_plain = |letter: char| !letter.is_whitespace() && !letter.is_control() && !"\"'".contains(letter);
        !text.is_empty() && text.chars().all(is_plain)
    });
    plain.map_or_else(|| quoted(word), str::to_owned)
}

/// A word in double quotes.
pub(super) fn quoted(word: &[u8]) -> String {
    let mut text = Vec::new();
    quote(word, &mut text);
    // Quoting leaves ASCII only.
    String::from_utf8_lossy(&text).into_owned()
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

fn ends_word(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn forms(line: &str) -> Vec<(&str, Form)> {
        pieces(line.as_bytes()).into_iter().map(|piece| (&line[piece.range], piece.form)).collect()
    }

    #[test]
    fn pieces_say_whether_they_are_whole() {
        use Form::*;
        assert_eq!(forms("  set k\t'v w' "), [("set", Plain), ("k", Plain), ("'v w'", Quoted)]);
        assert_eq!(forms("set \"a \\\" b"), [("set", Plain), ("\"a \\\" b", Open(b'"'))]);
        assert_eq!(forms("a\"b\"c d"), [("a\"b\"c", Broken), ("d", Plain)]);
        assert_eq!(forms(""), []);
        let value = |line: &str| pieces(line.as_bytes())[0].value(line.as_bytes());
        assert_eq!(value("\"a\\x41 "), b"aA ");
        assert_eq!(value("'it\\'s"), b"it's");
        assert_eq!(value("\"a\\"), b"a");
    }

    #[test]
    fn a_text_is_cut_at_line_ends_outside_quotes() {
        assert_eq!(commands("a\nb \"x\ny\" c\n\nd"), ["a", "b \"x\ny\" c", "", "d"]);
        assert_eq!(commands("a\nb \"x\nc"), ["a", "b \"x\nc"]);
        assert_eq!(commands("a \"\\\"\"\nb"), ["a \"\\\"\"", "b"]);
        assert_eq!(commands(""), [""]);
    }

    #[test]
    fn words_are_quoted_only_where_it_is_needed() {
        assert_eq!(typed(b"user:1"), "user:1");
        assert_eq!(typed("ä".as_bytes()), "ä");
        assert_eq!(typed(b"a b"), "\"a b\"");
        assert_eq!(typed(b""), "\"\"");
        assert_eq!(typed(b"it's"), "\"it's\"");
        assert_eq!(typed(b"\xff"), "\"\\xff\"");
    }

    proptest! {
        #[test]
        fn whole_lines_have_the_words_of_their_pieces(line in "[a\"'\\\\ x4\t\n\u{b}]{0,24}") {
            let pieces = pieces(line.as_bytes());
            let whole = pieces.iter().all(|piece| matches!(piece.form, Form::Plain | Form::Quoted));
            let words = split_words(line.as_bytes());
            prop_assert_eq!(whole, words.is_ok());
            if let Ok(words) = words {
                let values: Vec<Vec<u8>> = pieces.iter().map(|piece| piece.value(line.as_bytes())).collect();
                prop_assert_eq!(values, words);
            }
        }

        #[test]
        fn typed_words_are_read_back(words in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..12), 0..5)) {
            let line = words.iter().map(|word| typed(word)).collect::<Vec<_>>().join(" ");
            prop_assert_eq!(split_words(line.as_bytes()).unwrap(), words);
        }
    }
}
