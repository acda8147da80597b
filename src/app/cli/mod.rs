//! `goblin cli`: one command, a script, a prompt, a bulk load, or a look at how the server does.
//!
//! [`talk`] sends the command of the command line or those of a script, [`repl`] asks for one after the other, [`pipe`]
//! loads many, [`latency`] and [`stat`] measure.
//!
//! Invariant: a line that cannot be understood, or that cannot be answered here, is never sent.
//! Deliberately unknown here: what commands mean, but for what `special` lists.

mod complete;
mod filter;
mod history;
mod latency;
mod link;
mod live;
mod paint;
mod peek;
mod pipe;
mod recent;
mod repl;
mod special;
mod stat;
mod talk;
mod words;

use std::ffi::OsString;
use std::io::{self, IsTerminal, Read};
use std::os::unix::ffi::OsStringExt;
use std::time::Duration;

use self::filter::FilterArgs;
use super::connect::ConnectArgs;
use super::show::{self, Style};
use crate::error::{Error, Exit};

/// Send commands to a server
///
/// The words are one command, and its reply is printed: with types and quotes on a terminal, as bare lines in a pipe.
/// Without words there is a prompt on a terminal; else commands are read from standard input, one a line, with quotes
/// as in redis-cli, until the server answers an error.
///
/// MONITOR and SUBSCRIBE (PSUBSCRIBE, SSUBSCRIBE) print what comes until Ctrl-C; `goblin sub` does more with messages.
/// MONITOR shows what the flags below choose: `goblin cli --key 'user:*' --count 10 MONITOR`.
#[derive(clap::Args, Debug)]
#[command(after_help = "Environment: GOBLIN_HISTORY names the file of lines typed before, NO_COLOR turns colours off.")]
pub(super) struct CliArgs {
    #[command(flatten)]
    form: FormArgs,

    /// Read the last argument from standard input, to its end and with its line ends
    #[arg(short = 'x', requires = "words", conflicts_with = "tag_from_stdin")]
    last_from_stdin: bool,

    /// Read each argument that is TAG from standard input
    #[arg(short = 'X', value_name = "TAG", requires = "words")]
    tag_from_stdin: Option<OsString>,

    /// Without the line end at its end, with -x and -X
    #[arg(long)]
    trim: bool,

    /// Send the command COUNT times, -1 for no end; with --stat and --latency, end after so many intervals
    #[arg(short = 'r', value_name = "COUNT", allow_negative_numbers = true, value_parser = count)]
    repeat: Option<Count>,

    /// Pause between repetitions [default: 0]; interval of --stat and --latency [default: 1]
    #[arg(short = 'i', value_name = "SECONDS", value_parser = seconds)]
    interval: Option<Duration>,

    /// Go on with a script after an error; the status is still 1, or 2 when lines were not understood
    #[arg(long)]
    keep_going: bool,

    /// Send the commands on standard input without waiting for replies, and tell which lines had errors
    ///
    /// Each is a line of words or an array of RESP; both may be mixed.
    #[arg(long, conflicts_with_all = ["words", "repeat", "interval", "keep_going"])]
    pipe: bool,

    /// Give up --pipe when nothing was answered for so long, with status 5; 0 for never
    #[arg(long, value_name = "SECONDS", value_parser = seconds, default_value = "30", requires = "pipe")]
    pipe_timeout: Duration,

    /// Measure round trips of PING and print percentiles for each interval, and of all at the end or at Ctrl-C
    #[arg(long, conflicts_with_all = ["words", "pipe", "keep_going", "raw", "no_raw", "csv"])]
    latency: bool,

    /// Print a line of INFO's figures for each interval
    #[arg(long, conflicts_with_all = ["words", "pipe", "latency", "keep_going", "raw", "no_raw", "csv"])]
    stat: bool,

    /// Ask no questions before what destroys or holds up; without a terminal none are asked
    #[arg(long)]
    yes: bool,

    /// Neither read nor write the lines typed before
    #[arg(long)]
    no_history: bool,

    /// Colours of the prompt, of what is typed there, and of errors
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    color: Colour,

    /// The command; what follows its first word is no flag
    #[arg(value_name = "WORD", trailing_var_arg = true)]
    words: Vec<OsString>,

    #[command(flatten)]
    filter: FilterArgs,

    #[command(flatten)]
    connect: ConnectArgs,
}

/// How replies are printed.
#[derive(clap::Args, Debug)]
#[group(multiple = false)]
struct FormArgs {
    /// Print replies as bare bytes, an item a line [default in a pipe]
    #[arg(long)]
    raw: bool,

    /// Print replies with types, numbers and quotes [default on a terminal]
    #[arg(long)]
    no_raw: bool,

    /// Print replies as JSON, one a line; what is no UTF-8 is {"b64": "..."}, an error {"error": "..."}
    #[arg(long)]
    json: bool,

    /// Print replies as values between commas, one a line
    #[arg(long)]
    csv: bool,
}

impl FormArgs {
    fn style(&self) -> Style {
        let asked =
            [(self.raw, Style::Raw), (self.no_raw, Style::Standard), (self.json, Style::Json), (self.csv, Style::Csv)];
        show::style(asked.into_iter().find(|(asked, _)| *asked).map(|(_, style)| style))
    }
}

/// When to use colours.
#[derive(clap::ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
enum Colour {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Whatever reads them
    Always,
    /// Nowhere
    Never,
}

impl Colour {
    fn is_wanted(self) -> bool {
        show::colour(match self {
            Colour::Auto => None,
            Colour::Always => Some(true),
            Colour::Never => Some(false),
        })
    }
}

/// How often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Count {
    Times(u64),
    WithoutEnd,
}

impl Count {
    /// True when `done` is not enough.
    fn wants_more(self, done: u64) -> bool {
        match self {
            Count::Times(times) => done < times,
            Count::WithoutEnd => true,
        }
    }
}

fn count(text: &str) -> Result<Count, String> {
    match text.parse::<i64>() {
        Ok(-1) => Ok(Count::WithoutEnd),
        Ok(times @ 1..) => Ok(Count::Times(times.unsigned_abs())),
        _ => Err("not a number above 0, nor -1".into()),
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let number = text.parse::<f64>().ok();
    number.and_then(|number| Duration::try_from_secs_f64(number).ok()).ok_or("not a number of seconds from 0".into())
}

/// Sends the command, or those on standard input, or asks for them.
///
/// # Errors
/// A mistake on the command line or in a line (2), no connection (3), a lost one (4), no answer in time (5).
pub(super) fn run(args: CliArgs) -> Result<Exit, Error> {
    args.check()?;
    if args.pipe {
        return pipe::run(args.connect.into_target()?, Some(args.pipe_timeout).filter(|timeout| !timeout.is_zero()));
    }
    let rounds = args.repeat.unwrap_or(Count::WithoutEnd);
    let interval = args.interval.unwrap_or(Duration::from_secs(1));
    if args.latency {
        return latency::run(&args.connect.into_target()?, interval, rounds, args.form.json);
    }
    if args.stat {
        return stat::run(&args.connect.into_target()?, interval, rounds, args.form.json);
    }
    let style = args.form.style();
    let coloured = args.color.is_wanted();
    let asks = !args.yes && is_interactive();
    if args.words.is_empty() && is_interactive() {
        if args.keep_going {
            return Err(Error::usage("--keep-going is about scripts; a prompt goes on by itself"));
        }
        let prompt = repl::Prompt { style, coloured, asks, keeps_history: !args.no_history };
        return repl::run(args.connect.into_target()?, prompt);
    }
    talk::run(args, talk::Manner { style, coloured, asks })
}

impl CliArgs {
    /// Refuses what clap lets through and what would be ignored.
    fn check(&self) -> Result<(), Error> {
        let measures = self.latency || self.stat;
        if self.interval.is_some() && self.repeat.is_none() && !measures {
            return Err(Error::usage("-i is the pause between repetitions, which -r asks for"));
        }
        if self.repeat.is_some() && self.words.is_empty() && !measures {
            return Err(Error::usage("-r repeats a command, and there is none"));
        }
        if measures && self.interval.is_some_and(|interval| interval.is_zero()) {
            return Err(Error::usage("an interval of --latency or --stat is longer than 0"));
        }
        if self.trim && !self.last_from_stdin && self.tag_from_stdin.is_none() {
            return Err(Error::usage("--trim is about what -x and -X read"));
        }
        if !self.filter.is_empty() && self.words.is_empty() {
            return Err(Error::usage(filter::ABOUT));
        }
        if let Some(tag) = self.tag_from_stdin.as_ref()
            && !self.words.contains(tag)
        {
            return Err(Error::usage(format!("no word is {}, which -X names", tag.display())));
        }
        Ok(())
    }

    /// The words of the command, with what -x and -X read in its place.
    fn take_words(&mut self) -> Result<Vec<Vec<u8>>, Error> {
        let mut words: Vec<Vec<u8>> = std::mem::take(&mut self.words).into_iter().map(OsString::into_vec).collect();
        if !self.last_from_stdin && self.tag_from_stdin.is_none() {
            return Ok(words);
        }
        let mut text = read_all()?;
        if self.trim && text.last() == Some(&b'\n') {
            text.pop();
            if text.last() == Some(&b'\r') {
                text.pop();
            }
        }
        match self.tag_from_stdin.take().map(OsString::into_vec) {
            None => words.push(text),
            Some(tag) => words.iter_mut().filter(|word| **word == tag).for_each(|word| word.clone_from(&text)),
        }
        Ok(words)
    }
}

/// True when somebody sits at both ends.
fn is_interactive() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
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

    fn parsed(line: &[&str]) -> Result<CliArgs, clap::Error> {
        Line::try_parse_from(["cli"].iter().chain(line)).map(|line| line.cli)
    }

    fn words(line: &[&str]) -> Vec<OsString> {
        parsed(line).unwrap().words
    }

    #[test]
    fn flags_end_at_the_first_word() {
        assert_eq!(words(&["-p", "7", "SET", "k", "-1", "--raw", "-x"]), ["SET", "k", "-1", "--raw", "-x"]);
        assert_eq!(words(&["--", "-x"]), ["-x"]);
        assert!(parsed(&["--nosuch"]).is_err());
    }

    #[test]
    fn contradictions_are_refused() {
        for line in [
            &["-x"][..],
            &["--raw", "--no-raw", "PING"],
            &["--json", "--csv", "PING"],
            &["-x", "-X", "T", "ECHO", "T"],
            &["--pipe", "PING"],
            &["--pipe", "--latency"],
            &["--pipe-timeout", "1"],
            &["--stat", "--latency"],
            &["--latency", "--raw"],
            &["-r", "0", "PING"],
            &["-r", "x", "PING"],
            &["-r", "2", "-i", "-1", "PING"],
            &["--color", "perhaps", "PING"],
        ] {
            assert!(parsed(line).is_err(), "{line:?}");
        }
        for line in [
            &["-i", "1", "PING"][..],
            &["-r", "2"],
            &["--latency", "-i", "0"],
            &["--trim", "PING"],
            &["-X", "T", "ECHO", "t"],
            &["--count", "1"],
            &["--key", "k", "--stat"],
        ] {
            assert_eq!(parsed(line).unwrap().check().unwrap_err().exit(), Exit::Usage, "{line:?}");
        }
        for line in [&["-r", "-1", "-i", "0.5", "PING"][..], &["--stat", "-r", "3", "--json"], &["--pipe"]] {
            assert!(parsed(line).unwrap().check().is_ok(), "{line:?}");
        }
    }
}
