//! The prompt: asks for a line, does what it says, and asks again.
//!
//! Invariant: the terminal is as it was whenever something else than typing goes on.
//! Invariant: nothing typed ends the process but the end of input, `exit` and `quit`.
//! Deliberately unknown here: how lines are edited, and how a lost connection comes back.

use rustyline::config::{Builder, Configurer};
use rustyline::error::ReadlineError;
use rustyline::history::MemHistory;
use rustyline::{ColorMode, CompletionType, Editor};

use super::complete::Adviser;
use super::history::{ENTRIES_MAX, History};
use super::link::{Failure, Heard, Link};
use super::live::Live;
use super::peek::peek;
use super::special::{answerable, begins, is_subscription, is_text, question};
use super::talk::{is_error, is_yes};
use super::words::commands;
use crate::app::connect::Target;
use crate::app::show::{self, Output, Style};
use crate::app::watch::Interrupts;
use crate::app::{Stop, help};
use crate::client::split_words;
use crate::error::{Error, Exit};

/// Candidates that are listed without asking.
const CANDIDATES_SHOWN_MAX: usize = 100;

/// Lines of one paste that are remembered: more of them would push out everything that was typed.
const LINES_REMEMBERED_MAX: usize = 100;

/// How the prompt behaves.
pub(super) struct Prompt {
    pub(super) style: Style,
    pub(super) coloured: bool,
    /// Before what destroys or holds up.
    pub(super) asks: bool,
    pub(super) keeps_history: bool,
}

/// Asks for commands until there are no more.
///
/// # Errors
/// The server refuses the login (3); the terminal fails.
pub(super) fn run(target: Target, prompt: Prompt) -> Result<Exit, Error> {
    let interrupts = Interrupts::watch()?;
    let (history, entries) = if prompt.keeps_history { History::open() } else { (History::none(), Vec::new()) };
    let mut editor = editor(prompt.coloured, &entries).map_err(|error| terminal_failed(&error))?;
    let link = Link::open(target, interrupts.clone())?;
    let output = Output::coloured(prompt.coloured);
    // A terminal that can do no more than show lines has none.
    let live = editor.create_external_printer().ok().map(Live::start).transpose()?;
    let mut repl = Repl { prompt, editor, history, link, live, output, interrupts };
    Stop::settle(repl.run())
}

fn editor(coloured: bool, entries: &[String]) -> rustyline::Result<Editor<Adviser, MemHistory>> {
    let config = Builder::new()
        .completion_type(CompletionType::List)
        .completion_show_all_if_ambiguous(true)
        .completion_prompt_limit(CANDIDATES_SHOWN_MAX)
        .color_mode(if coloured { ColorMode::Forced } else { ColorMode::Disabled })
        .build();
    let history = MemHistory::with_config(&config);
    let mut editor = Editor::with_history(config, history)?;
    editor.set_max_history_size(ENTRIES_MAX)?;
    let adviser = Adviser::default();
    for entry in entries {
        editor.add_history_entry(entry)?;
        adviser.recent.borrow_mut().typed(entry);
    }
    editor.set_helper(Some(adviser));
    Ok(editor)
}

fn terminal_failed(error: &ReadlineError) -> Error {
    Error::new(Exit::Unreachable, format!("the terminal failed: {error}"))
}

/// Whether there is another prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Ask,
    /// What else the text holds is not done.
    Drop,
    Leave,
}

struct Repl {
    prompt: Prompt,
    editor: Editor<Adviser, MemHistory>,
    history: History,
    link: Link,
    live: Option<Live>,
    output: Output,
    interrupts: Interrupts,
}

impl Repl {
    fn run(&mut self) -> Result<Exit, Stop> {
        loop {
            self.show_what_came()?;
            match self.read_line()? {
                Ok(text) => {
                    // One that was pressed while typing is about nothing that is yet to come.
                    self.interrupts.taken();
                    if self.text(&text)? == Next::Leave {
                        return Ok(Exit::Done);
                    }
                }
                Err(ReadlineError::Interrupted) => {}
                Err(ReadlineError::Eof) => return Ok(Exit::Done),
                Err(error) => return Err(terminal_failed(&error).into()),
            }
        }
    }

    /// Asks for a line. What comes meanwhile is shown above it.
    fn read_line(&mut self) -> Result<rustyline::Result<String>, Stop> {
        let prompt = self.link.prompt();
        let Repl { editor, link, live, output, .. } = self;
        let Some(live) = live else { return Ok(editor.readline(&prompt)) };
        let (line, rest) = live.during(link, self.prompt.style, || editor.readline(&prompt));
        output.text(rest)?;
        output.flush()?;
        Ok(line)
    }

    /// Does the commands of a text, of which there are several when it was pasted.
    fn text(&mut self, text: &str) -> Result<Next, Stop> {
        if text.trim().is_empty() {
            return self.listen();
        }
        let lines: Vec<&str> = commands(text).into_iter().filter(|line| !line.trim().is_empty()).collect();
        for (index, line) in lines.iter().enumerate() {
            if index > 0 && self.interrupts.taken() {
                self.output.text("\n")?;
                self.output.flush()?;
                show::notice(format_args!("interrupted before line {} of {}", index + 1, lines.len()));
                break;
            }
            if lines.len() <= LINES_REMEMBERED_MAX {
                self.remember(line)?;
            }
            let next = self.line(line);
            self.output.flush()?;
            match next? {
                Next::Ask => {}
                Next::Drop => break,
                Next::Leave => return Ok(Next::Leave),
            }
        }
        Ok(Next::Ask)
    }

    fn remember(&mut self, line: &str) -> Result<(), Stop> {
        self.editor.add_history_entry(line).map_err(|error| terminal_failed(&error))?;
        self.history.append(line);
        if let Some(adviser) = self.editor.helper() {
            adviser.recent.borrow_mut().typed(line);
        }
        Ok(())
    }

    fn line(&mut self, line: &str) -> Result<Next, Stop> {
        let Ok(mut words) = split_words(line.as_bytes()) else {
            show::notice("unbalanced quotes: nothing was sent");
            return Ok(Next::Drop);
        };
        let times = repetitions(&mut words);
        let texts: Vec<String> = words.iter().map(|word| String::from_utf8_lossy(word).into_owned()).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        match texts[..] {
            ["quit" | "QUIT" | "exit" | "EXIT"] => return Ok(Next::Leave),
            ["clear" | "CLEAR"] => {
                self.editor.clear_screen().map_err(|error| terminal_failed(&error))?;
                return Ok(Next::Ask);
            }
            [name, ref about @ ..] if name.eq_ignore_ascii_case("help") => return self.help(about),
            [name, _] if name.eq_ignore_ascii_case("peek") => return self.peek(&words[1]),
            [name, ..] if name.eq_ignore_ascii_case("peek") => {
                show::notice("peek takes one key");
                return Ok(Next::Ask);
            }
            _ => {}
        }
        if let Err(refusal) = answerable(&words) {
            show::notice(refusal);
            return Ok(Next::Ask);
        }
        if self.prompt.asks && !self.is_meant(&words)? {
            return Ok(Next::Drop);
        }
        if begins(&words, &["MONITOR"]) {
            return self.monitor(&words);
        }
        for _ in 0..times {
            if self.command(&words)? == Next::Drop {
                return Ok(Next::Drop);
            }
        }
        if is_subscription(&words) { self.listen() } else { Ok(Next::Ask) }
    }

    /// Sends a command and prints what answers it.
    fn command(&mut self, words: &[Vec<u8>]) -> Result<Next, Stop> {
        let Repl { link, output, prompt, .. } = self;
        match link.call(words, &mut |heard| print(output, prompt.style, heard)) {
            Ok(reply) => {
                if is_text(words) {
                    output.text_reply(&reply, prompt.style)?;
                } else {
                    output.reply(&reply, prompt.style)?;
                }
                if let Some(adviser) = self.editor.helper()
                    && !is_error(&reply)
                {
                    adviser.recent.borrow_mut().answered(words, &reply);
                }
                Ok(Next::Ask)
            }
            Err(failure) => self.failed(failure),
        }
    }

    /// Says why a command has no answer. What was typed behind it is not done.
    fn failed(&mut self, failure: Failure) -> Result<Next, Stop> {
        self.output.flush()?;
        match failure {
            Failure::Unsent(error) => show::notice(error),
            Failure::Ended => show::notice("the server ended"),
            Failure::Unknown(error) => show::notice(format_args!("{error}; whether it was executed is not known")),
            Failure::Interrupted => {
                // Behind the ^C that the terminal shows.
                self.output.text("\n")?;
                self.output.flush()?;
                show::notice("interrupted; whether it was executed is not known");
            }
            Failure::Stopped(stop) => return Err(stop),
        }
        Ok(Next::Drop)
    }

    /// Shows messages until Ctrl-C, while anything is subscribed to.
    fn listen(&mut self) -> Result<Next, Stop> {
        if self.link.subscriptions() == 0 {
            return Ok(Next::Ask);
        }
        self.output.flush()?;
        show::notice("reading messages; Ctrl-C returns to the prompt, Enter there reads on");
        let Repl { link, output, prompt, .. } = self;
        link.listen(&mut |heard| print(output, prompt.style, heard))?;
        // Behind the ^C that the terminal shows.
        self.output.text("\n")?;
        Ok(Next::Ask)
    }

    /// Shows what MONITOR tells until Ctrl-C.
    fn monitor(&mut self, words: &[Vec<u8>]) -> Result<Next, Stop> {
        self.output.flush()?;
        show::notice("reading what the server is asked; Ctrl-C returns to the prompt");
        let Repl { link, output, prompt, .. } = self;
        if let Err(failure) = link.monitor(words, &mut |heard| print(output, prompt.style, heard)) {
            return self.failed(failure);
        }
        // Behind the ^C that the terminal shows.
        self.output.text("\n")?;
        Ok(Next::Ask)
    }

    fn show_what_came(&mut self) -> Result<(), Stop> {
        let Repl { link, output, prompt, .. } = self;
        link.drain(&mut |heard| print(output, prompt.style, heard))
    }

    fn help(&mut self, about: &[&str]) -> Result<Next, Stop> {
        match help::at_prompt(about) {
            Ok(text) => self.output.text(text)?,
            Err(unknown) => show::notice(unknown),
        }
        Ok(Next::Ask)
    }

    fn peek(&mut self, key: &[u8]) -> Result<Next, Stop> {
        if self.link.in_transaction() {
            show::notice("inside a transaction nothing can be looked at: it would be queued");
            return Ok(Next::Ask);
        }
        let Repl { link, output, prompt, .. } = self;
        let looked = peek(key, |words| {
            let words: Vec<Vec<u8>> = words.iter().map(|word| word.to_vec()).collect();
            link.call(&words, &mut |heard| print(output, prompt.style, heard))
        });
        let seen = match looked {
            Ok(seen) => seen,
            Err(failure) => return self.failed(failure),
        };
        self.output.text(format_args!("{}\n", seen.about))?;
        if let Some(value) = &seen.value {
            self.output.reply(value, self.prompt.style)?;
        }
        if let Some(more) = seen.more {
            self.output.text(format_args!("... {more}\n"))?;
        }
        Ok(Next::Ask)
    }

    /// Asks about a command that destroys or holds up. True when it is to be sent.
    fn is_meant(&mut self, words: &[Vec<u8>]) -> Result<bool, Stop> {
        let link = &mut self.link;
        let count = || link.call(&[b"DBSIZE".to_vec()], &mut |_| Ok(())).ok()?.as_integer();
        let Some(question) = question(words, count) else { return Ok(true) };
        self.output.flush()?;
        let be_silent = |editor: &Editor<Adviser, MemHistory>, silent| {
            if let Some(adviser) = editor.helper() {
                adviser.is_silent.set(silent);
            }
        };
        be_silent(&self.editor, true);
        let answer = self.editor.readline(&format!("{question} {}", show::GO_ON));
        be_silent(&self.editor, false);
        match answer {
            Ok(answer) if is_yes(&answer) => Ok(true),
            Ok(_) | Err(ReadlineError::Interrupted | ReadlineError::Eof) => {
                show::notice("not sent");
                Ok(false)
            }
            Err(error) => Err(terminal_failed(&error).into()),
        }
    }
}

/// Prints what is heard; hands on what was printed when no more is at hand.
fn print(output: &mut Output, style: Style, heard: Heard<'_>) -> Result<(), Stop> {
    match heard {
        Heard::Push(push) => output.reply(push, style),
        Heard::Pause => output.flush(),
        Heard::Notice(words) => {
            output.flush()?;
            show::notice(words);
            Ok(())
        }
    }
}

/// Takes the count off a command that is to be repeated: `5 INCR n`.
fn repetitions(words: &mut Vec<Vec<u8>>) -> u64 {
    let count = words.first().filter(|_| words.len() > 1).and_then(|word| std::str::from_utf8(word).ok());
    match count.and_then(|text| text.parse::<u64>().ok()) {
        Some(times @ 1..) => {
            words.remove(0);
            times
        }
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_in_front_repeats_the_command() {
        let read = |line: &str| {
            let mut words = split_words(line.as_bytes()).unwrap();
            (repetitions(&mut words), words.len())
        };
        assert_eq!(read("5 PING"), (5, 1));
        assert_eq!(read("5"), (1, 1));
        assert_eq!(read("0 PING"), (1, 2));
        assert_eq!(read("PING 5"), (1, 2));
    }
}
