//! One step of a sequence, and how it is written down.

use goblin::command::lookup;

use crate::wire::Value;

use super::accepted::{Agreement, agreement, sorted};

/// What follows a request before the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// Nothing.
    No,
    /// Both servers say that the key, the second word, is gone.
    UntilGone,
    /// Both servers' clocks are some milliseconds later.
    UntilLater,
}

/// One request: on which of the two connections, its words, and what to wait for then. What has a deadline in a moment
/// and the wait for it are one step, so that leaving out steps never makes a race of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    pub connection: usize,
    pub words: Vec<Vec<u8>>,
    pub wait: Wait,
    /// The case it was drawn for.
    pub case: Option<usize>,
}

impl Step {
    pub fn new(connection: usize, words: Vec<Vec<u8>>) -> Step {
        Step { connection, words, wait: Wait::No, case: None }
    }

    /// A request of plain words.
    pub fn of(connection: usize, line: &str) -> Step {
        Step::new(connection, line.split(' ').map(|word| word.as_bytes().to_vec()).collect())
    }

    /// Name of the command, subcommand included, in lower case; the first word when there is no such command.
    pub fn command(&self) -> String {
        let first = self.words.first().map_or(&b""[..], |word| word);
        let spec = lookup(first, self.words.get(1).map(|word| &word[..]));
        spec.map_or_else(|| String::from_utf8_lossy(first).to_lowercase(), |spec| spec.name.to_owned())
    }

    /// As a transcript shows what is said.
    pub fn line(&self) -> String {
        let letter = if self.connection == 0 { 'A' } else { 'B' };
        let words: Vec<String> = self.words.iter().map(|word| quoted(word)).collect();
        format!("{letter}> {}", words.join(" "))
    }

    /// A line of a transcript, with the reply that is due as far as it is determined.
    pub fn with_reply(&self, reply: Option<&Value>) -> String {
        let due = reply.map_or("...".to_owned(), |reply| self.due(reply));
        let then = match self.wait {
            Wait::No => "",
            Wait::UntilGone => "\n  # until both say that the key is gone",
            Wait::UntilLater => "\n  # until 20 ms later",
        };
        format!("{} -> {due}{then}", self.line())
    }

    fn due(&self, reply: &Value) -> String {
        match agreement(&self.command()) {
            _ if reply.is_error() => reply.to_string(),
            Agreement::Exact => reply.flat().to_string(),
            Agreement::Unordered => format!("{{{}}}", sorted(&reply.flat()).join(", ")),
            _ => "...".to_owned(),
        }
    }
}

fn quoted(word: &[u8]) -> String {
    let plain = !word.is_empty() && word.iter().all(|byte| byte.is_ascii_graphic() && !b"\"'\\".contains(byte));
    match plain {
        true => String::from_utf8_lossy(word).into_owned(),
        false => format!("\"{}\"", word.escape_ascii()),
    }
}
