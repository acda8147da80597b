//! `goblin sub`: the messages of channels and patterns, each a line on standard output.
//!
//! Invariant: standard output holds whole messages and nothing else; it is flushed whenever no more are at hand.
//! Invariant: a gap is told: each time a lost connection is back, one line on standard error says so.

mod overlap;
mod rates;
mod ready;
mod tail;

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::time::{Duration, Instant};

use clap::builder::{OsStringValueParser, TypedValueParser};

use super::Stop;
use super::connect::ConnectArgs;
use super::show::{self, Form};
use super::watch::{self, Reader};
use crate::client::{ClientError, Kind, Session};
use crate::error::{Error, Exit};
use ready::Ready;
use tail::{Shown, Tail};

/// Names that the notice of a subscription lists; of more it gives the number.
const NAMES_SHOWN_MAX: usize = 10;

/// Print the messages of channels as they come
///
/// A name with glob characters (* ? [) is a pattern. Each message is one line, the channel before it with a TAB
/// between them; control characters, backslashes and bytes that are no UTF-8 are escaped (\n, \\, \xHH). All else goes
/// to standard error: a line once the subscription is in force, and one for each gap.
///
/// A lost connection is tried again until it is back. Messages published in between are lost, which is said.
#[derive(clap::Args, Debug)]
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

    /// Print the messages' bytes alone, each followed by the delimiter
    #[arg(long, conflicts_with_all = ["json", "hex", "timestamps", "delta"])]
    raw: bool,

    /// What follows each message; \n, \r, \t, \0, \\ and \xHH stand for bytes [default: a line end]
    #[arg(long, value_name = "TEXT", requires = "raw", allow_hyphen_values = true, value_parser = OsStringValueParser::new().try_map(Delimiter::parse))]
    delimiter: Option<Delimiter>,

    /// Print objects with "channel", "message" and perhaps "pattern"; what is no UTF-8 is {"b64": "..."}
    #[arg(long, conflicts_with = "hex")]
    json: bool,

    /// Print messages in hexadecimal digits
    #[arg(long)]
    hex: bool,

    /// Print when each message was received: UTC, to the microsecond
    #[arg(long)]
    timestamps: bool,

    /// Print the seconds since the message before
    #[arg(long)]
    delta: bool,

    /// Print to standard error, each second, messages and their bytes per second for each channel
    #[arg(long)]
    rate: bool,

    /// Print a message once that several of the subscriptions give; without this, once for each, as the server sends it
    #[arg(long)]
    dedup: bool,

    /// End after N messages
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,

    /// End after so long, with status 5 when nothing came, or less than --count
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    timeout: Option<Duration>,

    /// End with status 4 when the connection is lost
    #[arg(long)]
    no_reconnect: bool,

    /// Write a line to this open descriptor once the subscription is in force
    #[arg(long, value_name = "FD", value_parser = clap::value_parser!(u32).range(3..))]
    ready_fd: Option<u32>,

    /// Channels or patterns
    #[arg(value_name = "NAME", required = true)]
    names: Vec<OsString>,

    #[command(flatten)]
    connect: ConnectArgs,
}

/// What follows each message in the raw form.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Delimiter(Vec<u8>);

impl Delimiter {
    fn parse(text: OsString) -> Result<Self, &'static str> {
        const WRONG: &str = "a backslash stands before n, r, t, 0, another backslash, or x and two hexadecimal digits";
        let text = text.into_vec();
        let (mut rest, mut bytes) = (&text[..], Vec::new());
        while let Some((&first, others)) = rest.split_first() {
            let (byte, behind) = match (first, others) {
                (b'\\', [b'n', behind @ ..]) => (b'\n', behind),
                (b'\\', [b'r', behind @ ..]) => (b'\r', behind),
                (b'\\', [b't', behind @ ..]) => (b'\t', behind),
                (b'\\', [b'0', behind @ ..]) => (0, behind),
                (b'\\', [b'\\', behind @ ..]) => (b'\\', behind),
                (b'\\', [b'x', high, low, behind @ ..]) => (hex_byte(*high, *low).ok_or(WRONG)?, behind),
                (b'\\', _) => return Err(WRONG),
                (byte, behind) => (byte, behind),
            };
            bytes.push(byte);
            rest = behind;
        }
        Ok(Delimiter(bytes))
    }
}

fn hex_byte(high: u8, low: u8) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    Some((digit(high)? * 16 + digit(low)?) as u8)
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
    let begun = Instant::now();
    // A time past the end of the clock is none.
    let deadline = args.timeout.and_then(|timeout| begun.checked_add(timeout));
    let mut ready = args.ready_fd.map(Ready::open).transpose()?;
    let names = args.names();
    let shown = args.shown();
    let (wanted, reconnects, rate) = (args.count, !args.no_reconnect, args.rate);
    watch::start(Reader::NoticedAtOnce)?;
    let mut session = args.connect.into_target()?.numbered().session()?;
    subscribe(&mut session, &names, deadline, reconnects)?;
    show::notice(format_args!("subscribed to {}", names.describe()));
    if let Some(ready) = &mut ready {
        ready.tell()?;
    }
    Stop::settle(Tail::new(session, shown, wanted, reconnects, rate).run(begun, deadline))
}

/// Subscribes to all names; when the connection is lost before that is confirmed, again on the next one.
fn subscribe(
    session: &mut Session,
    names: &Names,
    deadline: Option<Instant>,
    reconnects: bool,
) -> Result<(), ClientError> {
    for (kind, names) in &names.0 {
        loop {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return Err(ClientError::TimedOut);
            }
            session.set_timeout(left);
            match session.subscribe(*kind, names) {
                Err(error) if reconnects && !session.is_connected() => {
                    show::notice(format_args!("{error}; trying again"));
                    let Some(restored) = session.reconnect(deadline)? else { return Err(error) };
                    show::notice(show::restored(&restored));
                }
                subscribed => break subscribed?,
            }
        }
    }
    Ok(())
}

impl SubArgs {
    fn names(&self) -> Names {
        let kind = match (self.literal, self.pattern, self.sharded) {
            (_, _, true) => Some(Kind::ShardChannel),
            (true, ..) => Some(Kind::Channel),
            (_, true, _) => Some(Kind::Pattern),
            _ => None,
        };
        Names::sort(self.names.iter().map(|name| name.clone().into_vec()).collect(), kind)
    }

    fn shown(&self) -> Shown {
        let form = match (self.raw, self.json, self.hex) {
            (true, ..) => Form::Raw(self.delimiter.clone().map_or(b"\n".to_vec(), |delimiter| delimiter.0)),
            (_, true, _) => Form::Json,
            (.., true) => Form::Hex,
            _ => Form::Text,
        };
        Shown { form, timestamps: self.timestamps, delta: self.delta, dedup: self.dedup }
    }
}

/// What to subscribe to, by kind; none of the lists is empty.
#[derive(Debug, PartialEq, Eq)]
struct Names(Vec<(Kind, Vec<Vec<u8>>)>);

impl Names {
    /// All names are of this kind, or of the kind they look like.
    fn sort(names: Vec<Vec<u8>>, kind: Option<Kind>) -> Self {
        let has_glob = |name: &Vec<u8>| name.iter().any(|byte| matches!(byte, b'*' | b'?' | b'['));
        let lists = match kind {
            Some(kind) => vec![(kind, names)],
            None => {
                let (patterns, channels) = names.into_iter().partition(has_glob);
                vec![(Kind::Channel, channels), (Kind::Pattern, patterns)]
            }
        };
        Names(lists.into_iter().filter(|(_, names)| !names.is_empty()).collect())
    }

    /// For the notice: channels by their names, patterns marked as such.
    fn describe(&self) -> String {
        let all = self.0.iter().flat_map(|(kind, names)| names.iter().map(|name| (*kind, name)));
        let count = self.0.iter().map(|(_, names)| names.len()).sum::<usize>();
        let mut shown: Vec<String> = all
            .take(NAMES_SHOWN_MAX)
            .map(|(kind, name)| {
                let mark = match kind {
                    Kind::Channel => "",
                    Kind::Pattern => " (pattern)",
                    Kind::ShardChannel => " (sharded)",
                };
                format!("{}{mark}", show::name(name))
            })
            .collect();
        if count > shown.len() {
            shown.push(format!("and {} more", count - shown.len()));
        }
        shown.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(names: &[&str], kind: Option<Kind>) -> String {
        Names::sort(names.iter().map(|name| name.as_bytes().to_vec()).collect(), kind).describe()
    }

    #[test]
    fn names_with_glob_characters_are_patterns_unless_told_otherwise() {
        let names = ["news.*", "plain", "a?", "b[cd]", "e]"];
        let by_look = "plain, e], news.* (pattern), a? (pattern), b[cd] (pattern)";
        assert_eq!(sorted(&names, None), by_look);
        assert_eq!(sorted(&["a*", "b"], Some(Kind::Channel)), "a*, b");
        assert_eq!(sorted(&["a*", "b"], Some(Kind::Pattern)), "a* (pattern), b (pattern)");
        assert_eq!(sorted(&["a*", "b"], Some(Kind::ShardChannel)), "a* (sharded), b (sharded)");
    }

    #[test]
    fn only_what_is_wanted_is_asked_for() {
        let names = Names::sort(vec![b"a".into(), b"b*".into(), b"c".into()], None);
        assert_eq!(
            names.0,
            [(Kind::Channel, vec![b"a".to_vec(), b"c".to_vec()]), (Kind::Pattern, vec![b"b*".to_vec()])]
        );
        assert_eq!(Names::sort(vec![b"a".into()], None).0, [(Kind::Channel, vec![b"a".to_vec()])]);
    }

    #[test]
    fn many_names_are_counted() {
        let names: Vec<String> = (0..12).map(|number| number.to_string()).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        assert_eq!(sorted(&names, None), "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, and 2 more");
    }

    #[test]
    fn delimiters_are_bytes() {
        let parse = |text: &str| Delimiter::parse(text.into()).map(|delimiter| delimiter.0);
        assert_eq!(parse("\\0").unwrap(), b"\0");
        assert_eq!(parse("").unwrap(), b"");
        assert_eq!(parse("-\\n\\r\\t\\\\\\xfF\\x00-").unwrap(), b"-\n\r\t\\\xff\0-");
        for wrong in ["\\", "\\q", "\\x", "\\x1", "\\xg0"] {
            assert!(parse(wrong).is_err(), "{wrong}");
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
