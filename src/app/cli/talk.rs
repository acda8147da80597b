//! The command of a command line, or those of a script, each answered before the next is sent.
//!
//! Invariant: output is handed on whenever the next line has yet to come.

use std::io::{self, BufRead, BufReader, Read};
use std::thread;
use std::time::{Duration, Instant};

use super::filter::{self, Filter};
use super::special::{answerable, answered_once, begins, is, is_stream, is_text, question};
use super::{CliArgs, Count, unreadable};
use crate::app::Stop;
use crate::app::show::{self, Output, Style};
use crate::app::watch::{self, Reader};
use crate::client::{ClientError, Connection, Value, split_words};
use crate::error::{Error, Exit};

/// How replies are shown, and whether anything is asked.
pub(super) struct Manner {
    pub(super) style: Style,
    pub(super) coloured: bool,
    pub(super) asks: bool,
}

/// Sends the words of the command line, or the lines of standard input.
pub(super) fn run(mut args: CliArgs, manner: Manner) -> Result<Exit, Error> {
    let words = args.take_words()?;
    answerable(&words).map_err(Error::usage)?;
    if !args.filter.is_empty() && !begins(&words, &["MONITOR"]) {
        return Err(Error::usage(filter::ABOUT));
    }
    let filter = args.filter.into_filter().map_err(Error::usage)?;
    watch::start(if is_stream(&words) { Reader::NoticedAtOnce } else { Reader::NoticedByWriting })?;
    let connection = args.connect.into_target()?.open()?;
    let mut talk = Talk { connection, output: Output::coloured(manner.coloured), style: manner.style };
    let done = if words.is_empty() {
        talk.script(BufReader::new(io::stdin()), args.keep_going)
    } else if manner.asks && !talk.is_meant(&words)? {
        show::notice("not sent");
        Ok(Exit::Refused)
    } else if is_stream(&words) {
        talk.stream(&words, filter)
    } else {
        let times = args.repeat.unwrap_or(Count::Times(1));
        talk.command(&words, times, args.interval.unwrap_or(Duration::ZERO), args.keep_going)
    };
    Stop::settle(done.and_then(|exit| talk.output.flush().map(|()| exit)))
}

struct Talk {
    connection: Connection,
    output: Output,
    style: Style,
}

impl Talk {
    /// Sends one command so many times, or until the server answers an error.
    fn command(&mut self, words: &[Vec<u8>], times: Count, pause: Duration, keep_going: bool) -> Result<Exit, Stop> {
        let mut done = 0;
        let mut exit = Exit::Done;
        while times.wants_more(done) {
            if done > 0 && !pause.is_zero() {
                self.output.flush()?;
                watch::waiting(|| thread::sleep(pause));
            }
            if self.ask(words)? {
                exit = Exit::Refused;
            }
            done += 1;
            if exit == Exit::Refused && !keep_going {
                break;
            }
        }
        Ok(exit)
    }

    /// Sends a command that is answered without end, and prints of what comes what is wanted, all that is at hand at a
    /// time.
    fn stream(&mut self, words: &[Vec<u8>], mut filter: Filter) -> Result<Exit, Stop> {
        let args: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
        self.connection.send(&args)?;
        loop {
            let value = match self.connection.try_receive()? {
                Some(value) => value,
                None => {
                    self.output.flush()?;
                    watch::waiting(|| self.connection.receive())?
                }
            };
            if filter.admits(&value) {
                self.output.reply(&value, self.style)?;
            }
            if is_error(&value) {
                return Ok(Exit::Refused);
            }
            if filter.is_done() {
                return Ok(Exit::Done);
            }
        }
    }

    fn script(&mut self, mut input: BufReader<impl Read>, keep_going: bool) -> Result<Exit, Stop> {
        let mut exit = Exit::Done;
        let mut line = Vec::new();
        for number in 1.. {
            // Whoever waits for a reply before writing the next line must get it.
            if !input.buffer().contains(&b'\n') {
                self.output.flush()?;
            }
            line.clear();
            if input.read_until(b'\n', &mut line).map_err(unreadable)? == 0 {
                break;
            }
            match self.line(&line, number) {
                Ok(false) => {}
                Ok(true) if keep_going => exit = if exit == Exit::Usage { exit } else { Exit::Refused },
                Ok(true) => {
                    self.output.flush()?;
                    show::notice(format_args!(
                        "line {number} was refused, what follows is not sent; --keep-going goes on"
                    ));
                    return Ok(Exit::Refused);
                }
                Err(stop) => {
                    self.output.flush()?;
                    match stop {
                        Stop::Failed(mistake) if keep_going && mistake.exit() == Exit::Usage => {
                            show::notice(mistake);
                            exit = Exit::Usage;
                        }
                        stop => return Err(stop),
                    }
                }
            }
        }
        Ok(exit)
    }

    /// True when the server answered an error.
    fn line(&mut self, line: &[u8], number: usize) -> Result<bool, Stop> {
        let mistake = |what: &str| Error::usage(format!("line {number}: {what}"));
        let words = split_words(line).map_err(|_| mistake("unbalanced quotes"))?;
        answered_once(&words).map_err(|what| mistake(&what))?;
        if words.is_empty() { Ok(false) } else { self.ask(&words) }
    }

    /// Sends one command and prints its reply. True when that is an error.
    fn ask(&mut self, words: &[Vec<u8>]) -> Result<bool, Stop> {
        let args: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
        let reply = match self.connection.call(&args) {
            // The server's end is how it says yes.
            Err(ClientError::Lost { inside_message: false, .. }) if is(args[0], "SHUTDOWN") => return Ok(false),
            reply => reply?,
        };
        self.print_pushes()?;
        if is_text(words) {
            self.output.text_reply(&reply, self.style)?;
        } else {
            self.output.reply(&reply, self.style)?;
        }
        Ok(is_error(&reply))
    }

    /// What came beside the reply is shown to people and kept from programs, which expect one reply a command.
    fn print_pushes(&mut self) -> Result<(), Stop> {
        let received = Instant::now();
        while let Some(push) = self.connection.next_push(Some(received))? {
            if self.style == Style::Standard {
                self.output.reply(&push, self.style)?;
            }
        }
        Ok(())
    }

    /// Asks about a command that destroys or holds up. True when it is to be sent.
    fn is_meant(&mut self, words: &[Vec<u8>]) -> Result<bool, Error> {
        let count = || self.connection.call(&[b"DBSIZE"]).ok()?.as_integer();
        let Some(question) = question(words, count) else { return Ok(true) };
        show::ask(&question);
        let mut answer = String::new();
        watch::waiting(|| io::stdin().read_line(&mut answer)).map_err(unreadable)?;
        Ok(is_yes(&answer))
    }
}

/// True for an answer that says yes.
pub(super) fn is_yes(answer: &str) -> bool {
    matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}

/// True for an error with or without attributes.
pub(super) fn is_error(reply: &Value) -> bool {
    match reply {
        Value::Attributed(attributed) => is_error(&attributed.value),
        other => other.is_error(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_yes_is_yes() {
        assert!(is_yes("y\n") && is_yes(" YES \r\n"));
        assert!(!is_yes("") && !is_yes("\n") && !is_yes("no") && !is_yes("yep"));
    }
}
