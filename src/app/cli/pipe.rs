//! Bulk loading: the commands on standard input, sent in windows, and the errors among their replies.
//!
//! Invariant: a window is sent and answered whole before the next is read, so that neither side waits for the other.
//! Invariant: every wait for the server ends within the timeout, if there is one.
//! Deliberately unknown here: what commands mean, and what successful replies say.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::fd::AsFd;
use std::time::Duration;

use super::special::answered_once;
use super::talk::is_error;
use super::unreadable;
use crate::app::Stop;
use crate::app::connect::Target;
use crate::app::show::{Output, Progress};
use crate::app::watch::{self, Reader};
use crate::client::{ClientError, Connection, Value, split_words};
use crate::error::{Error, Exit};

/// Bytes of requests in flight: a socket's buffers take as much even when the server waits for its replies to be read.
const WINDOW_BYTES: usize = 64 * 1024;

/// Errors that are shown; the others are counted.
const ERRORS_SHOWN_MAX: u64 = 10;

/// Words of one command, and bytes of one word, that are read: a server takes no more.
const WORDS_MAX: usize = 1024 * 1024;
const WORD_BYTES_MAX: usize = 512 * 1024 * 1024;

/// Loads what is on standard input.
pub(super) fn run(target: Target, timeout: Option<Duration>) -> Result<Exit, Error> {
    watch::start(Reader::NoticedByWriting)?;
    let mut connection = target.open()?;
    connection.set_timeout(timeout);
    let progress = Progress::of_bytes(size_of_input());
    let mut load = Load { connection, progress, owed: VecDeque::new(), queued: 0, replies: 0, errors: 0 };
    Stop::settle(load.run(Source::new(io::stdin())))
}

/// Bytes of standard input, where it is a file.
fn size_of_input() -> Option<u64> {
    let input = File::from(io::stdin().as_fd().try_clone_to_owned().ok()?);
    input.metadata().ok().filter(|known| known.is_file()).map(|known| known.len())
}

struct Load {
    connection: Connection,
    progress: Progress,
    /// Lines at which the unanswered commands begin.
    owed: VecDeque<u64>,
    /// Bytes waiting to be sent.
    queued: usize,
    replies: u64,
    errors: u64,
}

impl Load {
    fn run(&mut self, mut source: Source<impl Read>) -> Result<Exit, Stop> {
        let mut told = 0;
        loop {
            // What was read before is answered before more is waited for.
            if source.is_drained() || self.queued >= WINDOW_BYTES {
                self.settle()?;
                self.progress.advance(source.bytes - told);
                told = source.bytes;
            }
            match source.next().map_err(unreadable)? {
                Entry::Command { line, words } => match answered_once(&words) {
                    Ok(()) => self.queue(line, &words),
                    Err(refusal) => self.refuse(line, &refusal)?,
                },
                Entry::Mistake { line, what } => self.refuse(line, what)?,
                Entry::Broken { line, what } => {
                    self.refuse(line, what)?;
                    break;
                }
                Entry::End => {
                    self.settle()?;
                    break;
                }
            }
        }
        if self.errors > ERRORS_SHOWN_MAX {
            self.progress.notice(format_args!("{} errors in all", self.errors));
        }
        let mut output = Output::standard();
        output.text(format_args!("errors: {}, replies: {}\n", self.errors, self.replies))?;
        output.flush()?;
        Ok(if self.errors > 0 { Exit::Refused } else { Exit::Done })
    }

    fn queue(&mut self, line: u64, words: &[Vec<u8>]) {
        let args: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
        self.connection.queue(&args);
        self.owed.push_back(line);
        self.queued += args.iter().map(|arg| arg.len() + 16).sum::<usize>();
    }

    /// Sends what is queued and takes all replies.
    fn settle(&mut self) -> Result<(), Stop> {
        if self.owed.is_empty() {
            return Ok(());
        }
        self.connection.flush().map_err(|error| self.lost(error))?;
        self.queued = 0;
        while let Some(&line) = self.owed.front() {
            let reply = self.connection.receive().map_err(|error| self.lost(error))?;
            if reply.is_push() {
                continue;
            }
            self.owed.pop_front();
            self.replies += 1;
            if is_error(&reply) {
                self.count_error(line, &words_of(&reply));
            }
        }
        self.progress.remark(format_args!(", {} replies, {} errors", self.replies, self.errors));
        Ok(())
    }

    /// Tells an error of the input, after those of the lines before.
    fn refuse(&mut self, line: u64, what: &str) -> Result<(), Stop> {
        self.settle()?;
        self.count_error(line, what);
        Ok(())
    }

    fn count_error(&mut self, line: u64, what: &str) {
        self.errors += 1;
        if self.errors <= ERRORS_SHOWN_MAX {
            self.progress.notice(format_args!("line {line}: {what}"));
        }
    }

    /// Says how far it came.
    fn lost(&self, error: ClientError) -> Error {
        let first = self.owed.front().copied().unwrap_or_default();
        let doing = format!("no reply to line {first} ({} replies, {} errors before)", self.replies, self.errors);
        Error::caused(error.exit(), doing, error)
    }
}

fn words_of(error: &Value) -> String {
    let plain = match error {
        Value::Attributed(attributed) => &attributed.value,
        other => other,
    };
    String::from_utf8_lossy(plain.as_bytes().unwrap_or_default()).into_owned()
}

/// What comes next in the input.
#[derive(Debug, PartialEq, Eq)]
enum Entry {
    Command {
        /// Where it begins, from 1.
        line: u64,
        words: Vec<Vec<u8>>,
    },
    /// A line that is no command.
    Mistake {
        line: u64,
        what: &'static str,
    },
    /// Something behind which no command can be found.
    Broken {
        line: u64,
        what: &'static str,
    },
    End,
}

/// Commands out of bytes.
struct Source<R> {
    input: BufReader<R>,
    /// Line ends read so far.
    lines: u64,
    /// Bytes read so far.
    bytes: u64,
}

const CUT: &str = "the input ends inside this command";
const BAD_COUNT: &str = "no command can be read here: a count is expected";
const BAD_LENGTH: &str = "no command can be read here: a length is expected";

impl<R: Read> Source<R> {
    fn new(input: R) -> Self {
        Source { input: BufReader::with_capacity(WINDOW_BYTES, input), lines: 0, bytes: 0 }
    }

    /// True when the next command must be waited for.
    fn is_drained(&self) -> bool {
        self.input.buffer().is_empty()
    }

    fn next(&mut self) -> io::Result<Entry> {
        loop {
            let line = self.lines + 1;
            let Some(&first) = self.input.fill_buf()?.first() else { return Ok(Entry::End) };
            if first == b'*' {
                match self.array()? {
                    Ok(words) if words.is_empty() => continue,
                    Ok(words) => return Ok(Entry::Command { line, words }),
                    Err(what) => return Ok(Entry::Broken { line, what }),
                }
            }
            let text = self.line()?;
            match split_words(&text) {
                Ok(words) if words.is_empty() => continue,
                Ok(words) => return Ok(Entry::Command { line, words }),
                Err(_) => return Ok(Entry::Mistake { line, what: "unbalanced quotes" }),
            }
        }
    }

    /// The words of an array of RESP, or what is wrong with it.
    fn array(&mut self) -> io::Result<Result<Vec<Vec<u8>>, &'static str>> {
        let header = self.line()?;
        if !header.ends_with(b"\n") {
            return Ok(Err(CUT));
        }
        let Some(count) = number(&header[1..], WORDS_MAX) else { return Ok(Err(BAD_COUNT)) };
        let mut words = Vec::new();
        for _ in 0..count {
            let header = self.line()?;
            if !header.ends_with(b"\n") {
                return Ok(Err(CUT));
            }
            let length = header.strip_prefix(b"$").and_then(|text| number(text, WORD_BYTES_MAX));
            let Some(length) = length else { return Ok(Err(BAD_LENGTH)) };
            let mut word = Vec::new();
            // The memory follows what is there, not what was announced.
            let read = (&mut self.input).take(length as u64 + 2).read_to_end(&mut word)?;
            self.bytes += read as u64;
            self.lines += word.iter().filter(|&&byte| byte == b'\n').count() as u64;
            match word.strip_suffix(b"\r\n") {
                _ if read < length + 2 => return Ok(Err(CUT)),
                Some(whole) => words.push(whole.to_vec()),
                None => return Ok(Err("no command can be read here: a word is longer than announced")),
            }
        }
        Ok(Ok(words))
    }

    /// A line with its end, or what there is before the end of the input.
    fn line(&mut self) -> io::Result<Vec<u8>> {
        let mut line = Vec::new();
        self.bytes += self.input.read_until(b'\n', &mut line)? as u64;
        self.lines += u64::from(line.ends_with(b"\n"));
        Ok(line)
    }
}

/// A count or length in decimal digits, with its line end.
fn number(text: &[u8], max: usize) -> Option<usize> {
    let text = std::str::from_utf8(text).ok()?.trim_end_matches(['\r', '\n']);
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten().filter(|&number| number <= max)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::command::quote;

    fn entries(input: &[u8]) -> Vec<Entry> {
        let mut source = Source::new(input);
        let mut entries = Vec::new();
        loop {
            match source.next().unwrap() {
                Entry::End => return entries,
                broken @ Entry::Broken { .. } => {
                    entries.push(broken);
                    return entries;
                }
                entry => entries.push(entry),
            }
        }
    }

    fn command(line: u64, words: &[&str]) -> Entry {
        Entry::Command { line, words: words.iter().map(|word| word.as_bytes().to_vec()).collect() }
    }

    #[test]
    fn lines_and_arrays_may_be_mixed() {
        let input = b"\nSET a \"1 2\"\r\n*2\r\n$3\r\nGET\r\n$3\r\na\nb\r\n  \nPING\n*0\r\nECHO \"x\nlast";
        assert_eq!(
            entries(input),
            [
                command(2, &["SET", "a", "1 2"]),
                command(3, &["GET", "a\nb"]),
                command(10, &["PING"]),
                Entry::Mistake { line: 12, what: "unbalanced quotes" },
                command(13, &["last"]),
            ]
        );
    }

    #[test]
    fn what_cannot_be_read_ends_it() {
        let broken = |what| vec![command(1, &["PING"]), Entry::Broken { line: 2, what }];
        for input in ["*1\r\n$4\r\nPI", "*2\r\n$4\r\nPING\r\n", "*1", "*1\r\n$4", "*1\r\n$4\r\nPING\r"] {
            assert_eq!(entries(format!("PING\n{input}").as_bytes()), broken(CUT), "{input:?}");
        }
        for input in ["*x\r\n", "*-1\r\n", "*+1\r\n", "*\r\n", "*9999999\r\n"] {
            assert_eq!(entries(format!("PING\n{input}").as_bytes()), broken(BAD_COUNT), "{input:?}");
        }
        for input in ["*1\r\nPING\r\n", "*1\r\n$-1\r\n", "*1\r\n$9999999999\r\n"] {
            assert_eq!(entries(format!("PING\n{input}").as_bytes()), broken(BAD_LENGTH), "{input:?}");
        }
        assert!(matches!(entries(b"*1\r\n$3\r\nPING\r\n")[..], [Entry::Broken { line: 1, .. }]));
    }

    proptest! {
        #[test]
        fn both_forms_give_the_words_back(
            commands in prop::collection::vec(prop::collection::vec(prop::collection::vec(any::<u8>(), 0..12), 1..4), 0..6),
            in_arrays in any::<bool>(),
        ) {
            let mut input = Vec::new();
            for words in &commands {
                if in_arrays {
                    crate::protocol::resp::encode_request(words, &mut input);
                    continue;
                }
                for word in words {
                    quote(word, &mut input);
                    input.push(b' ');
                }
                input.push(b'\n');
            }
            let read: Vec<Vec<Vec<u8>>> = entries(&input)
                .into_iter()
                .map(|entry| match entry {
                    Entry::Command { words, .. } => words,
                    other => panic!("{other:?}"),
                })
                .collect();
            prop_assert_eq!(read, commands);
        }
    }
}
