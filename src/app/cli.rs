//! `goblin cli`: one command from the command line, or one per line from standard input.
//!
//! Invariant: a line that cannot be understood, or that this subcommand cannot answer, is never sent, and neither is
//! what follows it.
//! Deliberately unknown here: what commands mean, but for how they are answered.

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, IsTerminal, Read};
use std::os::unix::ffi::OsStringExt;

use super::Stop;
use super::connect::ConnectArgs;
use super::show::{self, Output, Style};
use super::watch::{self, Reader};
use crate::client::{ClientError, Connection, Value, split_words};
use crate::error::{Error, Exit};

/// Send commands to a server
///
/// The words are one command, and its reply is printed: with types and quotes on a terminal, as bare lines in a pipe.
/// Without words, commands are read from standard input, one a line, with quotes as in redis-cli.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Status: 0 done, 1 the server answered an error (to any line), 2 usage, 3 could not connect or log in, 4 connection lost, 130 interrupted."
)]
pub(super) struct CliArgs {
    /// Print replies as bare bytes, an item a line [default in a pipe]
    #[arg(long, conflicts_with = "no_raw")]
    raw: bool,

    /// Print replies with types, numbers and quotes [default on a terminal]
    #[arg(long)]
    no_raw: bool,

    /// Read the last argument from standard input, to its end and with its line ends
    #[arg(short = 'x', requires = "words")]
    last_from_stdin: bool,

    /// The command; what follows its first word is no flag
    #[arg(value_name = "WORD", trailing_var_arg = true)]
    words: Vec<OsString>,

    #[command(flatten)]
    connect: ConnectArgs,
}

/// Sends the command, or those on standard input.
///
/// # Errors
/// A mistake on the command line or in a line (2), no connection (3), a lost one (4).
pub(super) fn run(args: CliArgs) -> Result<Exit, Error> {
    let style = match (args.raw, args.no_raw) {
        (true, _) => Some(Style::Raw),
        (_, true) => Some(Style::Standard),
        _ => None,
    };
    let mut words: Vec<Vec<u8>> = args.words.into_iter().map(OsString::into_vec).collect();
    if words.is_empty() && io::stdin().is_terminal() {
        return Err(Error::usage("name a command, such as `goblin cli PING`, or pipe commands in, one a line"));
    }
    watch::start(Reader::NoticedByWriting)?;
    if args.last_from_stdin {
        words.push(read_all()?);
    }
    check(&words).map_err(Error::usage)?;
    let target = args.connect.into_target()?;
    let talk = Talk { connection: target.open()?, style: show::style(style) };
    Stop::settle(if words.is_empty() { talk.script(BufReader::new(io::stdin())) } else { talk.one(&words) })
}

/// Standard input to its end.
pub(super) fn read_all() -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes).map_err(unreadable)?;
    Ok(bytes)
}

/// Standard input failed.
pub(super) fn unreadable(cause: io::Error) -> Error {
    Error::system("read standard input", cause)
}

struct Talk {
    connection: Connection,
    style: Style,
}

impl Talk {
    fn one(mut self, words: &[Vec<u8>]) -> Result<Exit, Stop> {
        let mut output = Output::standard();
        let refused = self.ask(words, &mut output)?;
        output.flush()?;
        Ok(if refused { Exit::Refused } else { Exit::Done })
    }

    fn script(mut self, mut input: BufReader<impl Read>) -> Result<Exit, Stop> {
        let mut output = Output::standard();
        let mut exit = Exit::Done;
        let mut line = Vec::new();
        for number in 1.. {
            // Whoever waits for a reply before writing the next line must get it.
            if !input.buffer().contains(&b'\n') {
                output.flush()?;
            }
            line.clear();
            if input.read_until(b'\n', &mut line).map_err(unreadable)? == 0 {
                break;
            }
            match self.line(&line, number, &mut output) {
                Ok(refused) => exit = if refused { Exit::Refused } else { exit },
                Err(stop) => {
                    output.flush()?;
                    return Err(stop);
                }
            }
        }
        output.flush()?;
        Ok(exit)
    }

    /// True when the server answered an error.
    fn line(&mut self, line: &[u8], number: usize, output: &mut Output) -> Result<bool, Stop> {
        let mistake = |what: &str| Error::usage(format!("line {number}: {what}"));
        let words = split_words(line).map_err(|_| mistake("unbalanced quotes"))?;
        check(&words).map_err(|what| mistake(&what))?;
        if words.is_empty() { Ok(false) } else { self.ask(&words, output) }
    }

    /// Sends one command and prints its reply. True when that is an error.
    fn ask(&mut self, words: &[Vec<u8>], output: &mut Output) -> Result<bool, Stop> {
        let args: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
        let reply = match self.connection.call(&args) {
            // The server's end is how it says yes.
            Err(ClientError::Lost { inside_message: false, .. }) if is(args[0], "SHUTDOWN") => return Ok(false),
            reply => reply?,
        };
        self.print_pushes(output)?;
        if is_text(&args) {
            output.text_reply(&reply, self.style)?;
        } else {
            output.reply(&reply, self.style)?;
        }
        Ok(is_error(&reply))
    }

    /// What came beside the reply is shown to people and kept from programs, which expect one reply a command.
    fn print_pushes(&mut self, output: &mut Output) -> Result<(), Stop> {
        let received = std::time::Instant::now();
        while let Some(push) = self.connection.next_push(Some(received))? {
            if self.style == Style::Standard {
                output.reply(&push, self.style)?;
            }
        }
        Ok(())
    }
}

fn is_error(reply: &Value) -> bool {
    match reply {
        Value::Attributed(attributed) => is_error(&attributed.value),
        other => other.is_error(),
    }
}

/// Refuses what is not answered by one reply.
fn check(words: &[Vec<u8>]) -> Result<(), String> {
    let any_of =
        |names: &[&'static str]| names.iter().copied().find(|name| words.first().is_some_and(|word| is(word, name)));
    if let Some(name) = any_of(&["SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE"]) {
        return Err(format!("{name} is answered by messages without end; `goblin sub` shows them"));
    }
    if let Some(name) = any_of(&["MONITOR", "SYNC", "PSYNC"]) {
        return Err(format!("{name} is answered by a stream without end, which `goblin cli` does not show"));
    }
    match words {
        [client, reply, mode, ..]
            if is(client, "CLIENT") && is(reply, "REPLY") && (is(mode, "OFF") || is(mode, "SKIP")) =>
        {
            Err("CLIENT REPLY OFF and SKIP turn off the replies that `goblin cli` waits for".into())
        }
        _ => Ok(()),
    }
}

/// True for commands whose strings are lines for people.
fn is_text(args: &[&[u8]]) -> bool {
    const ALONE: [&str; 2] = ["INFO", "LOLWUT"];
    const PAIRS: [(&str, &str); 9] = [
        ("CLIENT", "INFO"),
        ("CLIENT", "LIST"),
        ("CLUSTER", "INFO"),
        ("CLUSTER", "NODES"),
        ("DEBUG", "HTSTATS"),
        ("DEBUG", "HTSTATS-KEY"),
        ("LATENCY", "DOCTOR"),
        ("MEMORY", "DOCTOR"),
        ("MEMORY", "MALLOC-STATS"),
    ];
    match args {
        [first, ..] if ALONE.iter().any(|name| is(first, name)) => true,
        [first, second, ..] => PAIRS.iter().any(|(name, subcommand)| is(first, name) && is(second, subcommand)),
        _ => false,
    }
}

fn is(word: &[u8], name: &str) -> bool {
    word.eq_ignore_ascii_case(name.as_bytes())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser, Debug)]
    #[command(disable_help_flag = true)]
    struct Line {
        #[command(flatten)]
        cli: CliArgs,
    }

    fn words(line: &[&str]) -> Vec<OsString> {
        Line::try_parse_from(["cli"].iter().chain(line)).unwrap().cli.words
    }

    fn checked(line: &str) -> Result<(), String> {
        check(&split_words(line.as_bytes()).unwrap())
    }

    #[test]
    fn flags_end_at_the_first_word() {
        assert_eq!(words(&["-p", "7", "SET", "k", "-1", "--raw", "-x"]), ["SET", "k", "-1", "--raw", "-x"]);
        assert_eq!(words(&["--", "-x"]), ["-x"]);
        assert!(Line::try_parse_from(["cli", "--nosuch"]).is_err());
        assert!(Line::try_parse_from(["cli", "-x"]).is_err());
        assert!(Line::try_parse_from(["cli", "--raw", "--no-raw", "PING"]).is_err());
    }

    #[test]
    fn commands_without_one_reply_are_refused() {
        for line in ["subscribe c", "PSUBSCRIBE p*", "SSUBSCRIBE c", "monitor", "client reply off", "CLIENT REPLY SKIP"]
        {
            assert!(checked(line).is_err(), "{line}");
        }
        for line in ["unsubscribe", "client reply on", "client", "get monitor", ""] {
            assert_eq!(checked(line), Ok(()), "{line}");
        }
        assert!(checked("subscribe c").unwrap_err().contains("goblin sub"));
    }

    #[test]
    fn texts_for_people_are_known_by_their_command() {
        let text = |line: &[&str]| is_text(&line.iter().map(|word| word.as_bytes()).collect::<Vec<_>>());
        assert!(text(&["info"]) && text(&["INFO", "server"]) && text(&["client", "LIST", "ID", "1"]));
        assert!(!text(&["get", "info"]) && !text(&["client"]) && !text(&["client", "id"]));
    }
}
