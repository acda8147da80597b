//! One step of a sequence, and how it is written down.

use goblin::command::lookup;

use crate::wire::Value;

use super::accepted::{Agreement, agreement, sorted};

/// What is done in one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// The words are a request.
    Request,
    /// The first word is a key: goes on when both servers say that it is gone.
    UntilGone,
    /// Goes on when both servers' clocks are some milliseconds later.
    UntilLater,
}

/// One step: on which of the two connections, and its words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    pub connection: usize,
    pub words: Vec<Vec<u8>>,
    pub action: Action,
    /// The case it was drawn for.
    pub case: Option<usize>,
}

impl Step {
    pub fn new(connection: usize, words: Vec<Vec<u8>>) -> Step {
        Step { connection, words, action: Action::Request, case: None }
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
        match self.action {
            Action::Request => format!("{letter}> {}", words.join(" ")),
            Action::UntilGone => format!("# until {letter}> EXISTS {} -> 0", words.join(" ")),
            Action::UntilLater => "# until the clock is 20 ms later".to_owned(),
        }
    }

    /// A line of a transcript, with the reply that is due as far as it is determined.
    pub fn with_reply(&self, reply: Option<&Value>) -> String {
        match (self.action, reply) {
            (Action::Request, Some(reply)) => format!("{} -> {}", self.line(), self.due(reply)),
            (Action::Request, None) => format!("{} -> ...", self.line()),
            _ => self.line(),
        }
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
