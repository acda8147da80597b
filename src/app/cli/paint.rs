//! Colours of what is typed: command words, options, strings, and what no server would read.
//!
//! Invariant: without the colours, the text is what was typed.

use super::complete::OWN_COMMANDS;
use super::special::is;
use super::words::{Form, pieces};
use crate::command::{hint, lookup};

const COMMAND: &str = "\x1b[1;36m";
const OPTION: &str = "\x1b[36m";
const STRING: &str = "\x1b[32m";
const NUMBER: &str = "\x1b[33m";
const MISTAKE: &str = "\x1b[31m";
const FAINT: &str = "\x1b[2m";
const BOLD: &str = "\x1b[1m";
const PLAIN: &str = "\x1b[0m";

/// Words of a line that are looked at for options: those of a long list are not worth it.
const WORDS_MAX: usize = 32;

/// The line with its colours.
pub(super) fn line(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut painted = String::with_capacity(text.len() + 64);
    let mut words: Vec<Vec<u8>> = Vec::new();
    let mut at = 0;
    for piece in pieces(bytes) {
        let range = piece.range.clone();
        let word = piece.value(bytes);
        painted.push_str(&text[at..range.start]);
        at = range.end;
        let colour = match piece.form {
            Form::Open(_) | Form::Broken => MISTAKE,
            Form::Plain | Form::Quoted => colour_of(&words, &word, piece.form),
        };
        match colour {
            "" => painted.push_str(&text[range]),
            colour => painted.extend([colour, &text[range], PLAIN]),
        }
        // A count in front repeats the command.
        let is_count = words.is_empty() && word.iter().all(u8::is_ascii_digit);
        if !is_count {
            words.push(word);
        }
    }
    painted + &text[at..]
}

fn colour_of(before: &[Vec<u8>], word: &[u8], form: Form) -> &'static str {
    let before: Vec<&[u8]> = before.iter().map(Vec::as_slice).collect();
    let is_own = || OWN_COMMANDS.iter().any(|(own, _)| is(word, own));
    let is_option =
        || before.len() <= WORDS_MAX && hint::completions(&before, word).iter().any(|option| is(word, option));
    match before[..] {
        [] if word.iter().all(u8::is_ascii_digit) => NUMBER,
        [] if lookup(word, None).is_some() || is_own() => COMMAND,
        [] => "",
        [first] if lookup(first, None).is_some_and(|spec| spec.subcommand(word).is_some()) => COMMAND,
        _ if form == Form::Quoted => STRING,
        _ if is_option() => OPTION,
        _ if std::str::from_utf8(word).is_ok_and(|text| text.parse::<f64>().is_ok()) => NUMBER,
        _ => "",
    }
}

/// The prompt with its colour.
pub(super) fn prompt(text: &str) -> String {
    format!("{BOLD}{text}{PLAIN}")
}

/// A hint with its colour.
pub(super) fn hint(text: &str) -> String {
    format!("{FAINT}{text}{PLAIN}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Colours as marks that can be read.
    fn marked(text: &str) -> String {
        let marks =
            [(COMMAND, "<c>"), (OPTION, "<o>"), (STRING, "<s>"), (NUMBER, "<n>"), (MISTAKE, "<!>"), (PLAIN, "</>")];
        marks.iter().fold(line(text), |text, (colour, mark)| text.replace(colour, mark))
    }

    #[test]
    fn words_have_the_colours_of_what_they_are() {
        assert_eq!(marked("set k \"v w\" ex 5"), "<c>set</> k <s>\"v w\"</> <o>ex</> <n>5</>");
        assert_eq!(marked("client  kill x"), "<c>client</>  <c>kill</> x");
        assert_eq!(marked("nosuch x"), "nosuch x");
        assert_eq!(marked("3 peek k"), "<n>3</> <c>peek</> k");
        assert_eq!(marked("get \"open "), "<c>get</> <!>\"open </>");
    }

    proptest! {
        #[test]
        fn nothing_but_colours_is_added(text in "(set|get|client|5|nosuch)?[a-z\"'\\\\ \tä]{0,20}") {
            let plain = [COMMAND, OPTION, STRING, NUMBER, MISTAKE, PLAIN].iter().fold(line(&text), |text, colour| text.replace(colour, ""));
            prop_assert_eq!(plain, text);
        }
    }
}
