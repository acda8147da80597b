//! Requests on their way: sent in pieces, several of which are unanswered at a time.
//!
//! Invariant: at most [`WINDOW_BYTES`] of requests are unanswered, one larger message apart. Their answers are a
//! fraction of that and fit between client and server, so that neither ever waits for the other.
//! Deliberately unknown here: where messages come from.

use std::collections::VecDeque;

use super::super::show::{self, Output, Style};
use super::Stop;
use crate::client::{ClientError, Connection, Value};
use crate::error::Exit;

/// Refusals that are shown with their line; the rest is only counted.
const REFUSALS_SHOWN_MAX: u64 = 10;

/// Bytes of requests that are sent at once.
const PIECE_BYTES: usize = 32 * 1024;

/// Bytes of requests that may be unanswered: the server has the next pieces while the client reads the answers to one.
const WINDOW_BYTES: usize = 4 * PIECE_BYTES;

/// Bytes of a request beside its words, about.
const FRAMING_BYTES: usize = 32;

/// Requests that were sent together.
#[derive(Debug, Clone, Copy, Default)]
struct Piece {
    requests: usize,
    bytes: usize,
}

/// Publishes messages to channels.
pub(super) struct Window {
    connection: Connection,
    command: &'static [u8],
    channels: Vec<Vec<u8>>,
    quiet: bool,
    /// Messages are told apart by their numbers.
    numbered: bool,
    output: Output,
    /// What is queued, and not yet sent.
    next: Piece,
    under_way: VecDeque<Piece>,
    unanswered_bytes: usize,
    answered: u64,
    refused: u64,
}

impl Window {
    /// `channels` is not empty.
    pub(super) fn new(connection: Connection, command: &'static [u8], channels: Vec<Vec<u8>>, quiet: bool) -> Self {
        Window {
            connection,
            command,
            channels,
            quiet,
            numbered: false,
            output: Output::standard(),
            next: Piece::default(),
            under_way: VecDeque::new(),
            unanswered_bytes: 0,
            answered: 0,
            refused: 0,
        }
    }

    /// Refusals are told with the number of their line from now on.
    pub(super) fn number_the_messages(&mut self) {
        self.numbered = true;
    }

    /// Publishes a message to every channel. It is sent when enough is there to be sent, or by [`Window::settle`].
    pub(super) fn publish(&mut self, message: &[u8]) -> Result<(), Stop> {
        for index in 0..self.channels.len() {
            let channel = &self.channels[index];
            self.connection.queue(&[self.command, channel, message]);
            self.next.requests += 1;
            self.next.bytes += channel.len() + message.len() + FRAMING_BYTES;
            if self.next.bytes >= PIECE_BYTES {
                self.send()?;
            }
        }
        Ok(())
    }

    /// Sends what is queued, waits for all answers, and hands on what is to be printed.
    pub(super) fn settle(&mut self) -> Result<(), Stop> {
        self.send()?;
        while self.answer()? {}
        self.output.flush()
    }

    /// What became of it all.
    pub(super) fn end(self) -> Exit {
        if self.refused > REFUSALS_SHOWN_MAX {
            show::notice(format_args!("{} messages refused in all", self.refused));
        }
        if self.refused > 0 { Exit::Refused } else { Exit::Done }
    }

    fn send(&mut self) -> Result<(), Stop> {
        let piece = std::mem::take(&mut self.next);
        if piece.requests == 0 {
            return Ok(());
        }
        self.under_way.push_back(piece);
        self.unanswered_bytes += piece.bytes;
        let sent = self.connection.flush();
        sent.map_err(|error| self.broken(error))?;
        while self.unanswered_bytes > WINDOW_BYTES && self.answer()? {}
        Ok(())
    }

    /// Takes the answers to one piece. False when none is under way.
    fn answer(&mut self) -> Result<bool, Stop> {
        let Some(piece) = self.under_way.front().copied() else { return Ok(false) };
        for _ in 0..piece.requests {
            let answer = self.reply();
            match answer.map_err(|error| self.broken(error))? {
                Value::Error(words) => self.refuse(&words),
                Value::Integer(_) if self.quiet => {}
                Value::Integer(receivers) => self.output.number(receivers)?,
                other if !self.quiet => self.output.reply(&other, Style::Raw)?,
                _ => {}
            }
            self.answered += 1;
        }
        self.under_way.pop_front();
        self.unanswered_bytes -= piece.bytes;
        Ok(true)
    }

    fn reply(&mut self) -> Result<Value, ClientError> {
        loop {
            match self.connection.receive()? {
                push if push.is_push() => {}
                Value::Attributed(attributed) => return Ok(attributed.value),
                reply => return Ok(reply),
            }
        }
    }

    fn refuse(&mut self, words: &[u8]) {
        self.refused += 1;
        if self.refused > REFUSALS_SHOWN_MAX {
            return;
        }
        let count = self.channels.len() as u64;
        let line = if self.numbered { format!("line {}: ", self.answered / count + 1) } else { String::new() };
        let channel = match self.channels.get((self.answered % count) as usize) {
            Some(channel) if count > 1 => format!("{}: ", show::name(channel)),
            _ => String::new(),
        };
        let refused = ClientError::Refused(String::from_utf8_lossy(words).into_owned());
        show::notice(format_args!("{line}{channel}{refused}"));
    }

    /// What was answered is printed, and what was not is said, before the connection's end is.
    fn broken(&mut self, error: ClientError) -> Stop {
        if let Err(stop) = self.output.flush() {
            return stop;
        }
        if self.numbered {
            let line = self.answered / self.channels.len() as u64 + 1;
            show::notice(format_args!("whether line {line} and those behind it were published is not known"));
        }
        error.into()
    }
}
