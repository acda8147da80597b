//! `goblin pub`: a message from the command line, one from all of standard input or of a file, or one from each line.
//!
//! Invariant: what is there together travels together; what somebody waits for is sent and answered before more input
//! is waited for.
//! Invariant: no message is sent twice. A lost connection ends it, for whether what was under way was published is not
//! known.

mod input;
mod pace;
mod window;

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use super::Stop;
use super::connect::ConnectArgs;
use super::watch::{self, Reader};
use crate::error::{Error, Exit};
use input::Lines;
use pace::Pace;
use window::Window;

/// Publish messages to channels
///
/// Prints how many subscribers each message was delivered to, a number a line; with several channels a number for each,
/// in their order.
///
///   goblin pub news.eu 'hello'          one message
///   goblin pub news.eu news.us -- hi    the same to several channels
///   tail -f log | goblin pub logs -     each line as it comes
#[derive(clap::Args, Debug)]
#[command(
    verbatim_doc_comment,
    override_usage = "goblin pub [OPTIONS] CHANNEL MESSAGE\n       goblin pub [OPTIONS] CHANNEL... -- MESSAGE\n       goblin pub [OPTIONS] -x|--file FILE CHANNEL..."
)]
pub(super) struct PubArgs {
    /// Publish to shard channels (SPUBLISH)
    #[arg(long)]
    sharded: bool,

    /// Read the message from standard input, to its end and with its line ends
    #[arg(short = 'x')]
    from_stdin: bool,

    /// Read the message from a file, all of it
    #[arg(long, value_name = "FILE", conflicts_with = "from_stdin")]
    file: Option<PathBuf>,

    /// Leave out the line end that the message read with -x or --file ends with
    #[arg(long)]
    trim: bool,

    /// Publish at most so many messages a second
    #[arg(long, value_name = "N", value_parser = pace::rate)]
    rate: Option<f64>,

    /// Print no numbers
    #[arg(long)]
    quiet: bool,

    /// Where to publish, and what; - stands for each line of standard input, without its line end
    #[arg(value_name = "CHANNEL MESSAGE", required_unless_present = "behind", allow_negative_numbers = true)]
    words: Vec<OsString>,

    /// The message behind several channels
    #[arg(value_name = "MESSAGE", last = true, hide = true)]
    behind: Vec<OsString>,

    #[command(flatten)]
    connect: ConnectArgs,
}

/// What to publish.
#[derive(Debug, Clone, PartialEq, Eq)]
enum What {
    Message(Vec<u8>),
    EachLine,
    Stdin,
    File(PathBuf),
}

/// Publishes what was given.
///
/// # Errors
/// No connection (3), a lost one (4).
pub(super) fn run(args: PubArgs) -> Result<Exit, Error> {
    let (channels, what) = args.plan()?;
    let command: &[u8] = if args.sharded { b"SPUBLISH" } else { b"PUBLISH" };
    watch::start(Reader::NoticedByWriting)?;
    let target = args.connect.into_target()?;
    let message = match what {
        What::EachLine => None,
        What::Message(message) => Some(message),
        What::Stdin => Some(input::trimmed(input::all()?, args.trim)),
        What::File(path) => Some(input::trimmed(input::file(&path)?, args.trim)),
    };
    let window = Window::new(target.open()?, command, channels, args.quiet);
    let pace = args.rate.map(Pace::new);
    Stop::settle(match message {
        Some(message) => single(window, &message),
        None => lines(window, pace),
    })
}

fn single(mut window: Window, message: &[u8]) -> Result<Exit, Stop> {
    window.publish(message)?;
    window.settle()?;
    Ok(window.end())
}

fn lines(mut window: Window, mut pace: Option<Pace>) -> Result<Exit, Stop> {
    window.number_the_messages();
    let mut input = Lines::new(std::io::stdin().lock());
    loop {
        while let Some(line) = input.line() {
            if let Some(pace) = &mut pace {
                wait_for_turn(pace, &mut window)?;
            }
            window.publish(line)?;
        }
        // Whoever waits for an answer before writing the next line must get it.
        if !watch::is_readable(&std::io::stdin()) {
            window.settle()?;
        }
        if !watch::waiting(|| input.read()).map_err(input::unreadable)? {
            window.settle()?;
            return Ok(window.end());
        }
    }
}

fn wait_for_turn(pace: &mut Pace, window: &mut Window) -> Result<(), Stop> {
    if !pace.wait(std::time::Instant::now()).is_zero() {
        window.settle()?;
        let rest = pace.wait(std::time::Instant::now());
        watch::waiting(|| std::thread::sleep(rest));
    }
    pace.take(std::time::Instant::now());
    Ok(())
}

impl PubArgs {
    /// Tells channels from messages.
    ///
    /// # Errors
    /// There are too few or too many words (2).
    fn plan(&self) -> Result<(Vec<Vec<u8>>, What), Error> {
        let bytes = |words: &[OsString]| words.iter().map(|word| word.clone().into_vec()).collect::<Vec<_>>();
        let (mut channels, mut behind) = (bytes(&self.words), bytes(&self.behind));
        // Nothing before `--`: it is there for a word that begins with a dash.
        if channels.is_empty() {
            channels = std::mem::take(&mut behind);
        }
        let from_elsewhere = match &self.file {
            Some(path) => Some(What::File(path.clone())),
            None => self.from_stdin.then_some(What::Stdin),
        };
        if let Some(what) = from_elsewhere {
            return match behind.is_empty() {
                true => Ok((channels, what)),
                false => Err(Error::usage("the message comes from -x or --file, and there is another behind --")),
            };
        }
        if self.trim {
            return Err(Error::usage("--trim is about a message read with -x or --file"));
        }
        let message = match (behind.pop(), channels.len()) {
            (Some(message), _) if behind.is_empty() => message,
            (Some(_), _) => return Err(Error::usage("one message goes behind --; quote one of several words")),
            (None, 2) => channels.pop().unwrap_or_default(),
            (None, 1) => return Err(Error::usage("what is the message? - reads lines, -x all of standard input")),
            (None, _) => return Err(Error::usage("several channels are told from the message by --: pub a b -- text")),
        };
        Ok((channels, if message == b"-" { What::EachLine } else { What::Message(message) }))
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

    fn plan(words: &[&str]) -> Option<(String, What)> {
        let line = Line::try_parse_from(["pub"].iter().chain(words)).ok()?;
        let (channels, what) = line.publish.plan().ok()?;
        Some((String::from_utf8(channels.join(&b' ')).unwrap(), what))
    }

    #[test]
    fn channels_are_told_from_the_message() {
        let message = |text: &str| What::Message(text.into());
        let rows: [(&[&str], &str, What); 13] = [
            (&["c", "m", "--quiet"], "c", message("m")),
            (&["c", "-"], "c", What::EachLine),
            (&["c", "-5"], "c", message("-5")),
            (&["c", ""], "c", message("")),
            (&["c", "--", "--quiet"], "c", message("--quiet")),
            (&["c", "--", "-"], "c", What::EachLine),
            (&["a", "b", "c", "--", "m"], "a b c", message("m")),
            (&["a", "b", "--", "-"], "a b", What::EachLine),
            (&["--", "-c", "m"], "-c", message("m")),
            (&["-x", "c"], "c", What::Stdin),
            (&["-x", "a", "b", "--trim"], "a b", What::Stdin),
            (&["-x", "--", "-c"], "-c", What::Stdin),
            (&["--file", "f", "a", "b"], "a b", What::File("f".into())),
        ];
        for (words, channels, what) in rows {
            assert_eq!(plan(words), Some((channels.into(), what)), "{words:?}");
        }
    }

    #[test]
    fn what_is_unclear_is_refused() {
        for words in [
            &["c"][..],
            &[],
            &["--"],
            &["-x"],
            &["a", "b", "c"],
            &["a", "--", "m", "n"],
            &["--", "a", "b", "c"],
            &["a", "-x", "--", "m"],
            &["a", "-x", "--file", "f"],
            &["c", "m", "--trim"],
            &["c", "m", "--rate", "0"],
            &["c", "--nosuch"],
        ] {
            assert_eq!(plan(words), None, "{words:?}");
        }
    }
}
