//! Help while a line is typed: what may stand next, what is still missing, and colours.
//!
//! Everything follows from the command table, the lines typed before and the replies seen: no server is asked.
//!
//! Invariant: a line of any length costs no more than looking at its first [`LINE_BYTES_MAX`] bytes.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};

use rustyline::completion::{Completer, Pair};
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::{Hint, Hinter};
use rustyline::validate::Validator;
use rustyline::{Context, Helper};

use super::paint;
use super::recent::{Recent, naming};
use super::special::is;
use super::words::{Form, Piece, pieces, quoted, typed};
use crate::command::hint;

/// Longer lines were pasted: nobody reads hints there, and working them out for each key would be slow.
const LINE_BYTES_MAX: usize = 4096;

/// What the prompt knows beside the server's commands, with what follows.
pub(super) const OWN_COMMANDS: [(&str, &str); 5] =
    [("HELP", "[command | @group]"), ("PEEK", "key"), ("CLEAR", ""), ("EXIT", ""), ("QUIT", "")];

/// The line editor's adviser.
#[derive(Debug, Default)]
pub(super) struct Adviser {
    /// What was named lately.
    pub(super) recent: RefCell<Recent>,
    /// Something else than a command is typed.
    pub(super) is_silent: Cell<bool>,
}

impl Helper for Adviser {}

impl Validator for Adviser {}

/// A line up to the cursor, cut into complete words and the one being typed.
struct Typing {
    words: Vec<Vec<u8>>,
    partial: Option<Piece>,
}

impl Typing {
    fn of(line: &str) -> Self {
        let bytes = line.as_bytes();
        let mut pieces = pieces(bytes);
        let is_partial = pieces.last().is_some_and(|piece| piece.range.end == bytes.len());
        let partial = if is_partial { pieces.pop() } else { None };
        let mut words: Vec<Vec<u8>> = pieces.iter().map(|piece| piece.value(bytes)).collect();
        // A count in front repeats the command.
        if words.first().is_some_and(|word| word.iter().all(u8::is_ascii_digit)) {
            words.remove(0);
        }
        Typing { words, partial }
    }
}

fn slices(words: &[Vec<u8>]) -> Vec<&[u8]> {
    words.iter().map(Vec::as_slice).collect()
}

impl Adviser {
    /// Where the word at the end of the line begins, and what it may become.
    fn candidates(&self, line: &str) -> (usize, Vec<Pair>) {
        let Typing { words, partial } = Typing::of(line);
        let start = partial.as_ref().map_or(line.len(), |piece| piece.range.start);
        let begun = partial.as_ref().map_or(Vec::new(), |piece| piece.value(line.as_bytes()));
        let is_quoted = partial.is_some_and(|piece| piece.form != Form::Plain);
        let mut candidates = Vec::new();
        if !is_quoted {
            let lower = !begun.is_empty() && !begun.iter().any(u8::is_ascii_uppercase);
            let as_typed = |word: &str| if lower { word.to_ascii_lowercase() } else { word.to_owned() };
            candidates.extend(fixed_words(&words, &begun).into_iter().map(|(word, goes_on)| {
                let word = as_typed(word);
                Pair { replacement: if goes_on { format!("{word} ") } else { word.clone() }, display: word }
            }));
        }
        let of_name = |name: &[u8]| {
            let word = if is_quoted { quoted(name) } else { typed(name) };
            Pair { display: word.clone(), replacement: word }
        };
        if let Some(naming) = named_next(&words) {
            candidates.extend(self.recent.borrow().beginning(naming, &begun).map(of_name));
        }
        (start, candidates)
    }

    /// What is still missing behind the line.
    fn missing(&self, line: &str) -> Option<String> {
        let Typing { mut words, partial } = Typing::of(line);
        let is_complete = partial.is_none();
        if let Some(piece) = partial {
            if matches!(piece.form, Form::Open(_) | Form::Broken) {
                return None;
            }
            words.push(piece.value(line.as_bytes()));
        }
        let own = |name: &[u8]| OWN_COMMANDS.iter().find(|(own, _)| is(name, own));
        let text = match &words[..] {
            [] => return None,
            [name] if own(name).is_some() => own(name)?.1.to_owned(),
            words => hint::remaining(&slices(words)),
        };
        match text.is_empty() {
            true => None,
            false if is_complete => Some(text),
            false => Some(format!(" {text}")),
        }
    }
}

/// Words of the table that may stand next, and whether anything may follow them.
fn fixed_words(words: &[Vec<u8>], begun: &[u8]) -> Vec<(&'static str, bool)> {
    let starts = |word: &str| word.len() >= begun.len() && word.as_bytes()[..begun.len()].eq_ignore_ascii_case(begun);
    let own = || OWN_COMMANDS.into_iter().filter(|(name, _)| starts(name)).map(|(name, rest)| (name, !rest.is_empty()));
    let words = match words {
        // HELP is followed by a command's name.
        [help, rest @ ..] if is(help, "HELP") => rest,
        words => words,
    };
    let before = slices(words);
    let known = hint::completions(&before, begun).into_iter().map(|word| {
        let with_word = [&before[..], &[word.as_bytes()]].concat();
        (word, !hint::remaining(&with_word).is_empty())
    });
    if words.is_empty() { known.chain(own()).collect() } else { known.collect() }
}

fn named_next(words: &[Vec<u8>]) -> Option<super::recent::Naming> {
    match words {
        [] => None,
        [peek] if is(peek, "PEEK") => Some(super::recent::Naming::Key),
        words => naming(&slices(words)),
    }
}

impl Completer for Adviser {
    type Candidate = Pair;

    fn complete(&self, line: &str, pos: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        if self.is_silent.get() || pos > LINE_BYTES_MAX {
            return Ok((pos, Vec::new()));
        }
        Ok(self.candidates(&line[..pos]))
    }
}

/// Text behind the cursor that cannot be taken over: it stands for what is still to be typed.
pub(super) struct Missing(String);

impl Hint for Missing {
    fn display(&self) -> &str {
        &self.0
    }

    fn completion(&self) -> Option<&str> {
        None
    }
}

impl Hinter for Adviser {
    type Hint = Missing;

    fn hint(&self, line: &str, pos: usize, _: &Context<'_>) -> Option<Missing> {
        if self.is_silent.get() || pos < line.len() || pos > LINE_BYTES_MAX {
            return None;
        }
        self.missing(line).map(Missing)
    }
}

impl Highlighter for Adviser {
    fn highlight<'l>(&self, line: &'l str, _: usize) -> Cow<'l, str> {
        if self.is_silent.get() || line.len() > LINE_BYTES_MAX {
            return Cow::Borrowed(line);
        }
        Cow::Owned(paint::line(line))
    }

    fn highlight_prompt<'b, 's: 'b, 'p: 'b>(&'s self, prompt: &'p str, _: bool) -> Cow<'b, str> {
        Cow::Owned(paint::prompt(prompt))
    }

    fn highlight_hint<'h>(&self, hint: &'h str) -> Cow<'h, str> {
        Cow::Owned(paint::hint(hint))
    }

    fn highlight_char(&self, line: &str, _: usize, _: CmdKind) -> bool {
        !self.is_silent.get() && line.len() <= LINE_BYTES_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn adviser(lines: &[&str]) -> Adviser {
        let adviser = Adviser::default();
        lines.iter().for_each(|line| adviser.recent.borrow_mut().typed(line));
        adviser
    }

    fn offered(adviser: &Adviser, line: &str) -> Vec<String> {
        let (start, candidates) = adviser.candidates(line);
        candidates.into_iter().map(|candidate| format!("{}{}", &line[..start], candidate.replacement)).collect()
    }

    #[test]
    fn commands_subcommands_and_options_are_offered_in_the_case_typed() {
        let adviser = adviser(&[]);
        assert_eq!(offered(&adviser, "smi"), ["smismember "]);
        assert_eq!(offered(&adviser, "SMI"), ["SMISMEMBER "]);
        assert_eq!(offered(&adviser, "dbs"), ["dbsize"]);
        assert_eq!(offered(&adviser, "client no-"), ["client no-evict ", "client no-touch "]);
        assert_eq!(
            offered(&adviser, "SET k v "),
            [
                "SET k v NX ",
                "SET k v XX ",
                "SET k v GET ",
                "SET k v EX ",
                "SET k v PX ",
                "SET k v EXAT ",
                "SET k v PXAT ",
                "SET k v KEEPTTL "
            ]
            .map(str::to_owned)[..]
                .to_vec()
        );
        assert_eq!(offered(&adviser, "pe"), ["persist ", "pexpire ", "pexpireat ", "pexpiretime ", "peek "]);
        assert_eq!(offered(&adviser, "help client ki"), ["help client kill "]);
        assert_eq!(offered(&adviser, "5 smi"), ["5 smismember "]);
        assert_eq!(offered(&adviser, "nosuch "), [""; 0]);
        assert!(offered(&adviser, "").len() > 100);
    }

    #[test]
    fn recent_keys_and_channels_are_offered_where_they_belong() {
        let adviser = adviser(&["SADD fruits a", "SET \"two words\" 1", "PUBLISH news x"]);
        assert_eq!(offered(&adviser, "SCARD fr"), ["SCARD fruits"]);
        assert_eq!(offered(&adviser, "GET t"), ["GET \"two words\""]);
        assert_eq!(offered(&adviser, "GET \"tw"), ["GET \"two words\""]);
        assert_eq!(offered(&adviser, "SADD s f"), [""; 0]);
        assert_eq!(offered(&adviser, "SUBSCRIBE n"), ["SUBSCRIBE news"]);
        assert_eq!(offered(&adviser, "peek f"), ["peek fruits"]);
        assert_eq!(offered(&adviser, "help f"), ["help flushall ", "help flushdb ", "help function "]);
    }

    #[test]
    fn hints_say_what_is_missing() {
        let adviser = adviser(&[]);
        let missing = |line| adviser.missing(line).unwrap_or_default();
        assert_eq!(missing("SADD"), " key member [member ...]");
        assert_eq!(missing("SADD "), "key member [member ...]");
        assert_eq!(missing("sadd s"), " member [member ...]");
        assert_eq!(missing("peek"), " key");
        assert_eq!(missing("5 get "), "key");
        for line in ["", "SAD", "get \"k", "get \"k\"x", "get k ", "exit"] {
            assert_eq!(missing(line), "", "{line:?}");
        }
    }
}
