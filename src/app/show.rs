//! Everything that is printed: standard output for results, standard error for notices.
//!
//! Invariant: a reader that went away is never an error; it is [`Stop::ReaderGone`].
//! Invariant: a line on standard error begins with the program's name.

mod csv;
mod json;
mod message;
mod progress;
mod reply;
mod table;

use std::fmt::Display;
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write};

pub(super) use json::Figure;
pub(super) use message::{Form, Message, Stamp, escape};
pub(super) use progress::Progress;
pub(super) use reply::Style;
pub(super) use table::Table;

use super::Stop;
use crate::client::{Missed, Restored, Value};
use crate::error::Error;

/// Bytes gathered before they are written. Large enough that a burst of messages costs few calls.
const BUFFER_BYTES: usize = 64 * 1024;

/// Turns red on, and every colour off.
const RED: &[u8] = b"\x1b[31m";
const PLAIN: &[u8] = b"\x1b[0m";

/// Standard output, written in large pieces.
pub(super) struct Output<W: Write = StdoutLock<'static>> {
    writer: BufWriter<W>,
    scratch: Vec<u8>,
    /// Errors in the standard style are red.
    coloured: bool,
}

impl Output {
    /// That of the process, until the value is dropped.
    pub(super) fn standard() -> Self {
        Output::to(io::stdout().lock())
    }

    /// The same, with colours if they are wanted.
    pub(super) fn coloured(coloured: bool) -> Self {
        Output { coloured, ..Output::standard() }
    }
}

impl<W: Write> Output<W> {
    fn to(writer: W) -> Self {
        Output { writer: BufWriter::with_capacity(BUFFER_BYTES, writer), scratch: Vec::new(), coloured: false }
    }

    /// Prints a reply.
    pub(super) fn reply(&mut self, value: &Value, style: Style) -> Result<(), Stop> {
        let red = self.coloured && style == Style::Standard && value.is_error();
        self.formatted(|out| {
            if red {
                out.extend_from_slice(RED);
            }
            reply::write_reply(value, style, out);
            if red {
                // The colour ends before the line does.
                out.pop();
                out.extend_from_slice(PLAIN);
                out.push(b'\n');
            }
        })
    }

    /// Prints a reply that is meant to be read as it is.
    pub(super) fn text_reply(&mut self, value: &Value, style: Style) -> Result<(), Stop> {
        self.formatted(|out| reply::write_text(value, style, out))
    }

    /// Prints a message.
    pub(super) fn message(&mut self, message: &Message<'_>, stamp: Stamp, form: &Form) -> Result<(), Stop> {
        self.formatted(|out| message::write_message(message, stamp, form, out))
    }

    /// Prints a number and a line end.
    pub(super) fn number(&mut self, number: i64) -> Result<(), Stop> {
        self.formatted(|out| {
            out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
            out.push(b'\n');
        })
    }

    /// Prints an object of JSON.
    pub(super) fn object(&mut self, fields: &[(&str, Figure)]) -> Result<(), Stop> {
        self.formatted(|out| json::write_object(fields, out))
    }

    /// Prints text as it is.
    pub(super) fn text(&mut self, text: impl Display) -> Result<(), Stop> {
        self.formatted(|out| out.extend_from_slice(text.to_string().as_bytes()))
    }

    /// Hands on what was gathered.
    pub(super) fn flush(&mut self) -> Result<(), Stop> {
        self.writer.flush().map_err(refused)
    }

    fn formatted(&mut self, format: impl FnOnce(&mut Vec<u8>)) -> Result<(), Stop> {
        self.scratch.clear();
        format(&mut self.scratch);
        let written = self.writer.write_all(&self.scratch).map_err(refused);
        self.scratch.shrink_to(BUFFER_BYTES);
        written
    }
}

fn refused(error: io::Error) -> Stop {
    match error.kind() {
        io::ErrorKind::BrokenPipe => Stop::ReaderGone,
        _ => Stop::Failed(Error::system("write to standard output", error)),
    }
}

/// The style for a terminal or for a pipe, unless one was asked for.
pub(super) fn style(asked: Option<Style>) -> Style {
    asked.unwrap_or_else(|| if io::stdout().is_terminal() { Style::Standard } else { Style::Raw })
}

/// A name as it is shown in a notice.
pub(super) fn name(bytes: &[u8]) -> String {
    let mut text = Vec::new();
    escape(bytes, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// Whether to colour what is printed on standard output, unless it was said: on a terminal that knows colours, while
/// `NO_COLOR` is unset or empty.
pub(super) fn colour(asked: Option<bool>) -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let is_dumb = || std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    asked.unwrap_or_else(|| io::stdout().is_terminal() && !is_set("NO_COLOR") && !is_dumb())
}

/// That a connection is back, and what it lost.
pub(super) fn restored(restored: &Restored) -> String {
    let mut text = format!("connected again after {:.1} s", restored.away.as_secs_f64());
    let mut loss = restored.loss.clone();
    // A number says more.
    if let Some(Missed { messages, at_most }) = restored.missed {
        let (bound, plural) = (if at_most { "at most " } else { "" }, if messages == 1 { "" } else { "s" });
        text += &format!("; {bound}{messages} message{plural} missed");
        loss.messages = false;
    }
    if !loss.is_nothing() {
        let loss = loss.to_string();
        let verb = if loss.contains(" and ") { "are" } else { "is" };
        text += &format!("; {loss} {verb} lost");
    }
    text
}

/// A reply as it is printed, for those who print it elsewhere; bytes that are no text are replaced.
pub(super) fn reply_text(value: &Value, style: Style) -> String {
    let mut text = Vec::new();
    reply::write_reply(value, style, &mut text);
    String::from_utf8(text).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Prints a line on standard error. Nothing is left to be done when nobody can read it.
pub(super) fn notice(line: impl Display) {
    let _ = io::stderr().write_all(notice_text(line).as_bytes());
}

/// The same line, for those who print it elsewhere.
pub(super) fn notice_text(line: impl Display) -> String {
    format!("goblin: {line}\n")
}

/// Ends the line on which a terminal showed `^C`.
pub(super) fn end_line_of_interrupt() {
    if io::stderr().is_terminal() {
        let _ = writeln!(io::stderr());
    }
}

/// Puts a question about what is going to happen; the answer is typed behind it.
pub(super) fn ask(about: &str) {
    let _ = write!(io::stderr(), "{about} {GO_ON}");
}

/// How such a question ends.
pub(super) const GO_ON: &str = "Go on? [y/N] ";

/// Prints text without a line end on the terminal itself, whatever the standard streams are.
pub(super) fn question(mut terminal: &File, text: &str) {
    let _ = terminal.write_all(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Refusing(io::ErrorKind);

    impl Write for Refusing {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_reader_that_went_away_is_no_error() {
        let mut output = Output::to(Refusing(io::ErrorKind::BrokenPipe));
        output.text("buffered").unwrap();
        assert!(matches!(output.flush(), Err(Stop::ReaderGone)));
        let mut output = Output::to(Refusing(io::ErrorKind::StorageFull));
        output.text("buffered").unwrap();
        assert!(matches!(output.flush(), Err(Stop::Failed(_))));
    }

    #[test]
    fn only_errors_in_the_standard_style_are_coloured() {
        let printed = |coloured, style| {
            let mut bytes = Vec::new();
            let mut output = Output { coloured, ..Output::to(&mut bytes) };
            output.reply(&Value::Error(b"ERR no".into()), style).unwrap();
            output.reply(&Value::Integer(1), style).unwrap();
            output.flush().unwrap();
            drop(output);
            String::from_utf8(bytes).unwrap()
        };
        assert_eq!(printed(true, Style::Standard), "\x1b[31m(error) ERR no\x1b[0m\n(integer) 1\n");
        assert_eq!(printed(false, Style::Standard), "(error) ERR no\n(integer) 1\n");
        assert_eq!(printed(true, Style::Raw), "ERR no\n\n1\n");
    }

    #[test]
    fn what_was_printed_comes_out_in_order_when_it_is_flushed() {
        let mut bytes = Vec::new();
        let mut output = Output::to(&mut bytes);
        output.reply(&Value::Integer(1), Style::Standard).unwrap();
        output.text_reply(&Value::Bulk(b"a\n".into()), Style::Standard).unwrap();
        let message = Message { pattern: None, channel: b"c", payload: b"m", number: None };
        output.message(&message, Stamp::default(), &Form::Text).unwrap();
        output.number(-7).unwrap();
        output.flush().unwrap();
        drop(output);
        assert_eq!(bytes, b"(integer) 1\na\nc\tm\n-7\n");
    }
}
