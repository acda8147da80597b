//! `goblin sub`: the messages of channels and patterns, each a line on standard output.
//!
//! Invariant: standard output holds whole messages and nothing else; it is flushed whenever no more are at hand.
//! Deliberately unknown here: reconnecting. A lost connection ends it, because what was published meanwhile is gone.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::time::{Duration, Instant};

use super::Stop;
use super::connect::ConnectArgs;
use super::show::{self, Form, Message, Output};
use super::watch::{self, Reader};
use crate::client::{Connection, Value};
use crate::error::{Error, Exit};

/// Print the messages of channels as they come
///
/// A name with glob characters (* ? [) is a pattern. Each message is one line, the channel before it with a TAB
/// between them; control characters, backslashes and bytes that are no UTF-8 are escaped (\n, \\, \xHH).
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Status: 0 done or the reader went away, 1 the server refused, 2 usage, 3 could not connect or log in, 4 connection lost, 5 timed out with nothing or too little received, 130 interrupted."
)]
pub(super) struct SubArgs {
    /// Take all names for channels, glob characters included
    #[arg(long, conflicts_with = "pattern")]
    literal: bool,

    /// Take all names for patterns
    #[arg(long)]
    pattern: bool,

    /// Subscribe to shard channels (SSUBSCRIBE), which have no patterns
    #[arg(long, conflicts_with = "pattern")]
    sharded: bool,

    /// Print the messages' bytes alone, each followed by a line end
    #[arg(long, conflicts_with = "json")]
    raw: bool,

    /// Print objects with "channel", "message" and perhaps "pattern"; what is no UTF-8 is {"b64": "..."}
    #[arg(long)]
    json: bool,

    /// End after N messages
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,

    /// End after so long, with status 5 when nothing came, or less than --count
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    timeout: Option<Duration>,

    /// Channels or patterns
    #[arg(value_name = "NAME", required = true)]
    names: Vec<OsString>,

    #[command(flatten)]
    connect: ConnectArgs,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let number = text.parse::<f64>().ok().filter(|number| *number > 0.0);
    number.and_then(|number| Duration::try_from_secs_f64(number).ok()).ok_or("not a number of seconds above 0".into())
}

/// Subscribes and prints until something ends it.
///
/// # Errors
/// The server refuses (1), no connection (3), a lost one (4).
pub(super) fn run(args: SubArgs) -> Result<Exit, Error> {
    let form = match (args.raw, args.json) {
        (true, _) => Form::Raw,
        (_, true) => Form::Json,
        _ => Form::Text,
    };
    watch::start(Reader::NoticedAtOnce)?;
    let kind = match (args.literal, args.pattern, args.sharded) {
        (_, _, true) => Kind::Shard,
        (true, ..) => Kind::Literal,
        (_, true, _) => Kind::Pattern,
        _ => Kind::ByLook,
    };
    let names = Names::sort(args.names.into_iter().map(OsString::into_vec).collect(), kind);
    let connection = args.connect.into_target()?.open()?;
    let tail = Tail { connection, form, wanted: args.count, received: 0 };
    Stop::settle(tail.run(&names, args.timeout))
}

/// What names are taken for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    ByLook,
    Literal,
    Pattern,
    Shard,
}

/// What to subscribe to.
#[derive(Debug, Default, PartialEq, Eq)]
struct Names {
    channels: Vec<Vec<u8>>,
    patterns: Vec<Vec<u8>>,
    shard_channels: Vec<Vec<u8>>,
}

impl Names {
    fn sort(names: Vec<Vec<u8>>, kind: Kind) -> Self {
        let has_glob = |name: &Vec<u8>| name.iter().any(|byte| matches!(byte, b'*' | b'?' | b'['));
        let (patterns, channels) = match kind {
            Kind::Shard => return Names { shard_channels: names, ..Names::default() },
            Kind::Literal => (Vec::new(), names),
            Kind::Pattern => (names, Vec::new()),
            Kind::ByLook => names.into_iter().partition(has_glob),
        };
        Names { channels, patterns, ..Names::default() }
    }

    fn requests(&self) -> impl Iterator<Item = Vec<&[u8]>> {
        let all: [(&[u8], &[Vec<u8>]); 3] =
            [(b"SUBSCRIBE", &self.channels), (b"PSUBSCRIBE", &self.patterns), (b"SSUBSCRIBE", &self.shard_channels)];
        let filled = all.into_iter().filter(|(_, names)| !names.is_empty());
        filled.map(|(command, names)| [command].into_iter().chain(names.iter().map(Vec::as_slice)).collect())
    }

    fn count(&self) -> usize {
        self.channels.len() + self.patterns.len() + self.shard_channels.len()
    }

    /// For the notice: channels by their names, patterns marked as such.
    fn describe(&self) -> String {
        let shown = |name: &Vec<u8>, mark: &str| {
            let mut text = Vec::new();
            show::escape(name, &mut text);
            format!("{}{mark}", String::from_utf8_lossy(&text))
        };
        let channels = self.channels.iter().map(|name| shown(name, ""));
        let patterns = self.patterns.iter().map(|name| shown(name, " (pattern)"));
        let shard_channels = self.shard_channels.iter().map(|name| shown(name, " (sharded)"));
        channels.chain(patterns).chain(shard_channels).collect::<Vec<_>>().join(", ")
    }
}

struct Tail {
    connection: Connection,
    form: Form,
    /// Messages after which it ends.
    wanted: Option<u64>,
    received: u64,
}

impl Tail {
    fn run(mut self, names: &Names, timeout: Option<Duration>) -> Result<Exit, Stop> {
        let begun = Instant::now();
        // A time past the end of the clock is none.
        let deadline = timeout.and_then(|timeout| begun.checked_add(timeout));
        for request in names.requests() {
            self.connection.queue(&request);
        }
        self.connection.flush()?;
        let mut output = Output::standard();
        let pumped = self.pump(names, begun, deadline, &mut output);
        output.flush()?;
        pumped
    }

    fn pump(
        &mut self,
        names: &Names,
        begun: Instant,
        deadline: Option<Instant>,
        output: &mut Output,
    ) -> Result<Exit, Stop> {
        let mut unconfirmed = names.count();
        loop {
            // A time in the past gives what has been received already, and none when that is all.
            let push = match self.connection.next_push(Some(begun))? {
                Some(push) => push,
                None => {
                    output.flush()?;
                    match watch::waiting(|| self.connection.next_push(deadline))? {
                        Some(push) => push,
                        None => return Ok(self.timed_out()),
                    }
                }
            };
            match Event::of(&push)? {
                Event::Message(message) => {
                    output.message(&message, self.form)?;
                    self.received += 1;
                    if self.wanted == Some(self.received) {
                        return Ok(Exit::Done);
                    }
                    // A stream that never pauses must not outlive its time.
                    if deadline.is_some_and(|deadline| self.received.is_multiple_of(256) && Instant::now() >= deadline)
                    {
                        return Ok(self.timed_out());
                    }
                }
                Event::Confirmed if unconfirmed > 0 => {
                    unconfirmed -= 1;
                    if unconfirmed == 0 {
                        show::notice(format_args!("subscribed to {}", names.describe()));
                    }
                }
                Event::Confirmed | Event::Other => {}
            }
        }
    }

    fn timed_out(&self) -> Exit {
        match self.wanted {
            None if self.received > 0 => Exit::Done,
            _ => Exit::TimedOut,
        }
    }
}

/// What a push tells.
#[derive(Debug, PartialEq, Eq)]
enum Event<'a> {
    Message(Message<'a>),
    /// A subscription is in force.
    Confirmed,
    /// Nothing that was asked for.
    Other,
}

impl<'a> Event<'a> {
    /// # Errors
    /// A message whose parts are no strings.
    fn of(push: &'a Value) -> Result<Self, Error> {
        let items = match push {
            Value::Attributed(attributed) => attributed.value.as_items(),
            other => other.as_items(),
        };
        let parts: Vec<Option<&[u8]>> = items.unwrap_or_default().iter().map(Value::as_bytes).collect();
        Ok(match parts.as_slice() {
            [Some(b"message" | b"smessage"), Some(channel), Some(payload)] => {
                Event::Message(Message { pattern: None, channel, payload })
            }
            [Some(b"pmessage"), Some(pattern), Some(channel), Some(payload)] => {
                Event::Message(Message { pattern: Some(pattern), channel, payload })
            }
            [Some(b"message" | b"smessage" | b"pmessage"), ..] => {
                return Err(Error::new(Exit::Lost, "the server sent a message that is none"));
            }
            [Some(b"subscribe" | b"psubscribe" | b"ssubscribe"), ..] => Event::Confirmed,
            _ => Event::Other,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(names: &[&str], kind: Kind) -> String {
        Names::sort(names.iter().map(|name| name.as_bytes().to_vec()).collect(), kind).describe()
    }

    #[test]
    fn names_with_glob_characters_are_patterns_unless_told_otherwise() {
        let names = ["news.*", "plain", "a?", "b[cd]", "e]"];
        let by_look = "plain, e], news.* (pattern), a? (pattern), b[cd] (pattern)";
        assert_eq!(sorted(&names, Kind::ByLook), by_look);
        assert_eq!(sorted(&["a*", "b"], Kind::Literal), "a*, b");
        assert_eq!(sorted(&["a*", "b"], Kind::Pattern), "a* (pattern), b (pattern)");
        assert_eq!(sorted(&["a*", "b"], Kind::Shard), "a* (sharded), b (sharded)");
    }

    #[test]
    fn only_what_is_wanted_is_asked_for() {
        let names = Names::sort(vec![b"a".into(), b"b*".into(), b"c".into()], Kind::ByLook);
        let requests: Vec<Vec<&[u8]>> = names.requests().collect();
        assert_eq!(requests, [vec![&b"SUBSCRIBE"[..], b"a", b"c"], vec![b"PSUBSCRIBE", b"b*"]]);
    }

    fn push(parts: &[&str]) -> Value {
        Value::Push(parts.iter().map(|part| Value::Bulk(part.as_bytes().into())).collect())
    }

    #[test]
    fn pushes_are_told_apart() {
        let message = Message { pattern: None, channel: b"c", payload: b"m" };
        assert_eq!(Event::of(&push(&["message", "c", "m"])).unwrap(), Event::Message(message));
        assert_eq!(Event::of(&push(&["smessage", "c", "m"])).unwrap(), Event::Message(message));
        let by_pattern = Message { pattern: Some(b"c*"), ..message };
        assert_eq!(Event::of(&push(&["pmessage", "c*", "c", "m"])).unwrap(), Event::Message(by_pattern));
        let confirmed =
            Value::Push(vec![Value::Bulk(b"subscribe".into()), Value::Bulk(b"c".into()), Value::Integer(1)]);
        assert_eq!(Event::of(&confirmed).unwrap(), Event::Confirmed);
        assert_eq!(Event::of(&push(&["invalidate", "x"])).unwrap(), Event::Other);
        assert_eq!(Event::of(&Value::Push(vec![])).unwrap(), Event::Other);
        for odd in [push(&["message", "c"]), push(&["pmessage", "c", "m"])] {
            assert_eq!(Event::of(&odd).unwrap_err().exit(), Exit::Lost, "{odd:?}");
        }
    }

    #[test]
    fn seconds_are_positive_numbers() {
        assert_eq!(seconds("1.5"), Ok(Duration::from_millis(1500)));
        for text in ["0", "-1", "nan", "inf", "1e300", "x", ""] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }
}
