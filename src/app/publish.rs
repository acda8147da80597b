//! `goblin pub`: a message from the command line, one from all of standard input, or one from each of its lines.
//!
//! Invariant: lines are published as soon as they are there; those that are there together travel together.

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::ffi::OsStringExt;

use super::connect::ConnectArgs;
use super::show::{self, Output};
use super::watch::{self, Reader};
use super::{Stop, cli};
use crate::client::{ClientError, Connection, Value};
use crate::error::{Error, Exit};

/// Refusals that are shown with their line; the rest is only counted.
const REFUSALS_SHOWN_MAX: u64 = 10;

/// Bytes of standard input read at once, and so about the most that travels together.
const INPUT_BYTES: usize = 64 * 1024;

/// Publish messages to a channel
///
/// Prints how many subscribers each message was delivered to, a number a line.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Status: 0 done, 1 the server refused a message, 2 usage, 3 could not connect or log in, 4 connection lost, 130 interrupted."
)]
pub(super) struct PubArgs {
    /// Publish to a shard channel (SPUBLISH)
    #[arg(long)]
    sharded: bool,

    /// Read the message from standard input, to its end and with its line ends
    #[arg(short = 'x', conflicts_with = "message")]
    from_stdin: bool,

    /// Print no numbers
    #[arg(long)]
    quiet: bool,

    /// Where to publish
    #[arg(value_name = "CHANNEL")]
    channel: OsString,

    /// The message; - stands for each line of standard input, without its line end
    #[arg(value_name = "MESSAGE", required_unless_present = "from_stdin", allow_negative_numbers = true)]
    message: Option<OsString>,

    #[command(flatten)]
    connect: ConnectArgs,
}

/// Publishes what was given.
///
/// # Errors
/// No connection (3), a lost one (4).
pub(super) fn run(args: PubArgs) -> Result<Exit, Error> {
    watch::start(Reader::NoticedByWriting)?;
    let target = args.connect.into_target()?;
    let single = match args.message {
        Some(message) if message == "-" => None,
        Some(message) => Some(message.into_vec()),
        None => Some(cli::read_all()?),
    };
    let mut publisher = Publisher {
        connection: target.open()?,
        command: if args.sharded { b"SPUBLISH" } else { b"PUBLISH" },
        channel: args.channel.into_vec(),
        quiet: args.quiet,
        output: Output::standard(),
        answered: 0,
        refused: 0,
    };
    Stop::settle(match single {
        Some(message) => publisher.single(&message),
        None => publisher.lines(&mut BufReader::with_capacity(INPUT_BYTES, io::stdin())),
    })
}

struct Publisher {
    connection: Connection,
    command: &'static [u8],
    channel: Vec<u8>,
    quiet: bool,
    output: Output,
    /// Lines answered.
    answered: u64,
    refused: u64,
}

impl Publisher {
    fn single(&mut self, message: &[u8]) -> Result<Exit, Stop> {
        let answer = self.connection.call(&[self.command, &self.channel, message])?;
        if let Value::Error(words) = &answer {
            show::notice(ClientError::Refused(String::from_utf8_lossy(words).into_owned()));
            return Ok(Exit::Refused);
        }
        self.print(&answer)?;
        self.output.flush()?;
        Ok(Exit::Done)
    }

    fn lines(&mut self, input: &mut BufReader<impl Read>) -> Result<Exit, Stop> {
        let mut batch = Batch::default();
        while batch.read(input).map_err(cli::unreadable)? {
            self.publish(&batch)?;
        }
        if self.refused > REFUSALS_SHOWN_MAX {
            show::notice(format_args!("{} messages refused in all", self.refused));
        }
        Ok(if self.refused > 0 { Exit::Refused } else { Exit::Done })
    }

    fn publish(&mut self, batch: &Batch) -> Result<(), Stop> {
        let requests: Vec<[&[u8]; 3]> =
            batch.lines().map(|line| [self.command, self.channel.as_slice(), line]).collect();
        let answers = self.connection.pipeline(requests.iter().map(|request| &request[..]))?;
        for answer in answers {
            self.answered += 1;
            match &answer {
                Value::Error(words) => self.refuse(words),
                _ => self.print(&answer)?,
            }
        }
        self.output.flush()
    }

    fn refuse(&mut self, words: &[u8]) {
        self.refused += 1;
        if self.refused <= REFUSALS_SHOWN_MAX {
            let refused = ClientError::Refused(String::from_utf8_lossy(words).into_owned());
            show::notice(format_args!("line {}: {refused}", self.answered));
        }
    }

    fn print(&mut self, answer: &Value) -> Result<(), Stop> {
        if self.quiet { Ok(()) } else { self.output.reply(answer, show::Style::Raw) }
    }
}

/// Lines that were there together.
#[derive(Debug, Default)]
struct Batch {
    bytes: Vec<u8>,
    /// Where each line ends in `bytes`, its line end not counted.
    ends: Vec<usize>,
}

impl Batch {
    /// Reads at least one line and all whole ones behind it that are there already. False at the end.
    fn read(&mut self, input: &mut BufReader<impl Read>) -> io::Result<bool> {
        self.bytes.clear();
        self.ends.clear();
        loop {
            if input.read_until(b'\n', &mut self.bytes)? == 0 {
                return Ok(!self.ends.is_empty());
            }
            let ended = self.bytes.ends_with(b"\n");
            self.ends.push(self.bytes.len() - usize::from(ended));
            if !input.buffer().contains(&b'\n') {
                return Ok(true);
            }
        }
    }

    fn lines(&self) -> impl Iterator<Item = &[u8]> {
        let starts = [0].into_iter().chain(self.ends.iter().map(|end| end + 1));
        starts.zip(&self.ends).map(|(start, &end)| &self.bytes[start..end])
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser, Debug)]
    #[command(disable_help_flag = true)]
    struct Line {
        #[command(flatten)]
        publish: PubArgs,
    }

    fn message(words: &[&str]) -> Option<String> {
        let line = Line::try_parse_from(["pub"].iter().chain(words)).ok()?;
        Some(line.publish.message.map_or("stdin".into(), |message| message.into_string().unwrap()))
    }

    #[test]
    fn a_message_is_a_word_or_standard_input() {
        assert_eq!(message(&["c", "m", "--quiet"]).unwrap(), "m");
        assert_eq!(message(&["c", "-"]).unwrap(), "-");
        assert_eq!(message(&["c", "-5"]).unwrap(), "-5");
        assert_eq!(message(&["c", "--", "--quiet"]).unwrap(), "--quiet");
        assert_eq!(message(&["c", ""]).unwrap(), "");
        assert_eq!(message(&["-x", "c"]).unwrap(), "stdin");
        for wrong in [&["c"][..], &[], &["c", "m", "-x"], &["c", "m", "more"], &["c", "--nosuch"]] {
            assert_eq!(message(wrong), None, "{wrong:?}");
        }
    }

    /// Gives out one piece a call, as a pipe does.
    struct Pieces(Vec<&'static [u8]>);

    impl Read for Pieces {
        fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
            if self.0.is_empty() {
                return Ok(0);
            }
            let piece = self.0.remove(0);
            buf[..piece.len()].copy_from_slice(piece);
            Ok(piece.len())
        }
    }

    fn batches(pieces: &[&'static [u8]]) -> Vec<Vec<String>> {
        let mut input = BufReader::new(Pieces(pieces.to_vec()));
        let mut batch = Batch::default();
        let mut seen = Vec::new();
        while batch.read(&mut input).unwrap() {
            seen.push(batch.lines().map(|line| String::from_utf8_lossy(line).into_owned()).collect());
        }
        seen
    }

    #[test]
    fn lines_that_are_there_together_travel_together() {
        assert_eq!(batches(&[b"a\nb\nc", b"d\n", b"\n\r\n"]), [vec!["a", "b"], vec!["cd"], vec!["", "\r"]]);
        assert_eq!(batches(&[b"a\nend"]), [["a"], ["end"]]);
        assert_eq!(batches(&[b"\xff"]), [["\u{fffd}"]]);
        assert!(batches(&[]).is_empty());
    }
}
