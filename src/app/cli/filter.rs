//! Which lines of MONITOR are shown, and how many.
//!
//! Invariant: a line is read whole or not at all; one that is no line of MONITOR never matches.
//! Invariant: while nothing is filtered no line is read, so that all are shown, whatever they are.
//! Deliberately unknown here: how lines arrive and how they are printed.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use crate::app::show;
use crate::client::{Value, split_words};
use crate::command::{self, OwnedArgs, parse_integer, quote};
use crate::topics::Glob;

/// Longest address that is looked for in a line: a Unix socket's path has at most 108 bytes, a ring's may be as long as
/// any path.
const ADDRESS_BYTES_MAX: usize = 4096 + "unix:".len();

/// Why the flags are refused with anything else.
pub(super) const ABOUT: &str =
    "--command, --key, --client, --db and --count choose what `goblin cli ... MONITOR` shows, and there is no MONITOR";

/// What is to be shown of MONITOR. Of one flag, any value may match; of different flags, each must.
#[derive(clap::Args, Debug, Default)]
#[command(next_help_heading = "MONITOR")]
pub(super) struct FilterArgs {
    /// Show this command only, in any case: SET, CLIENT (each of its subcommands), "CLIENT KILL"; may be repeated
    #[arg(long = "command", value_name = "NAME")]
    commands: Vec<OsString>,

    /// Show commands only that have a key like this, with * ? [] as in KEYS; may be repeated
    #[arg(long = "key", value_name = "GLOB")]
    keys: Vec<OsString>,

    /// Show this client only: its address as MONITOR tells it, its host, or a glob (10.*, unix:*); may be repeated
    #[arg(long = "client", value_name = "ADDRESS")]
    clients: Vec<OsString>,

    /// Show commands only that were sent to this database; may be repeated
    #[arg(long = "db", value_name = "DB")]
    dbs: Vec<u32>,

    /// End after N lines that were shown
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
}

impl FilterArgs {
    /// True when none of the flags was given.
    pub(super) fn is_empty(&self) -> bool {
        let FilterArgs { commands, keys, clients, dbs, count } = self;
        commands.is_empty() && keys.is_empty() && clients.is_empty() && dbs.is_empty() && count.is_none()
    }

    /// # Errors
    /// A command without a name.
    pub(super) fn into_filter(self) -> Result<Filter, String> {
        let commands: Vec<Vec<Vec<u8>>> = self.commands.into_iter().map(|name| names(&name.into_vec())).collect();
        if commands.iter().any(Vec::is_empty) {
            return Err("--command wants a name".into());
        }
        let globs = |given: Vec<OsString>| given.into_iter().map(|glob| glob.into_vec());
        Ok(Filter {
            commands,
            keys: globs(self.keys).map(|glob| Glob::new(&glob)).collect(),
            clients: globs(self.clients).map(|text| Client { glob: Glob::new(&text), text }).collect(),
            dbs: self.dbs,
            left: self.count,
            is_answered: false,
            is_surprised: false,
        })
    }
}

/// The words of a name, which are written with blanks or, as in ACL, with `|` between them.
fn names(name: &[u8]) -> Vec<Vec<u8>> {
    let parts = name.split(|byte| matches!(byte, b' ' | b'|')).filter(|part| !part.is_empty());
    parts.map(<[u8]>::to_vec).collect()
}

/// What is let through. The default is everything.
#[derive(Debug, Default)]
pub(super) struct Filter {
    commands: Vec<Vec<Vec<u8>>>,
    keys: Vec<Glob>,
    clients: Vec<Client>,
    dbs: Vec<u32>,
    /// Lines that may yet be shown.
    left: Option<u64>,
    /// The OK that comes before all lines has come.
    is_answered: bool,
    /// It was told that something is no line of MONITOR.
    is_surprised: bool,
}

#[derive(Debug)]
struct Client {
    text: Vec<u8>,
    glob: Glob,
}

impl Filter {
    /// True when this is to be shown: errors, the OK at the beginning, and lines that match, which are counted.
    pub(super) fn admits(&mut self, value: &Value) -> bool {
        let Value::Status(line) = value else { return true };
        if !std::mem::replace(&mut self.is_answered, true) {
            return true;
        }
        let matches = self.matches(line);
        if let Some(left) = self.left.as_mut().filter(|_| matches) {
            *left = left.saturating_sub(1);
        }
        matches
    }

    /// True when as many lines were shown as were asked for.
    pub(super) fn is_done(&self) -> bool {
        self.left == Some(0)
    }

    fn matches(&mut self, line: &[u8]) -> bool {
        if self.commands.is_empty() && self.keys.is_empty() && self.clients.is_empty() && self.dbs.is_empty() {
            return true;
        }
        let Some(line) = Line::read(line) else {
            if !std::mem::replace(&mut self.is_surprised, true) {
                show::notice("something that is no line of MONITOR is left out, and so is all like it");
            }
            return false;
        };
        fn any<T>(wanted: &[T], matches: impl FnMut(&T) -> bool) -> bool {
            wanted.is_empty() || wanted.iter().any(matches)
        }
        any(&self.dbs, |db| *db == line.db)
            && any(&self.commands, |names| line.begins(names))
            && any(&self.clients, |client| line.is_from(client))
            && (self.keys.is_empty() || line.has_key(|key| self.keys.iter().any(|glob| glob.matches(key))))
    }
}

/// A line of MONITOR: `1700000000.000001 [0 127.0.0.1:5000] "SET" "k" "v"`.
#[derive(Debug, PartialEq, Eq)]
struct Line<'a> {
    db: u32,
    /// Where the command came from.
    client: &'a [u8],
    /// The command, never empty.
    words: Vec<Vec<u8>>,
}

impl<'a> Line<'a> {
    /// None for what is no such line.
    ///
    /// An address may hold any bytes, also those that look like its end. It ends where all that follows is words: what
    /// is still address would put its `]` between two of them, where only a blank may be, or inside one, whose quote
    /// would then close right before the command's name.
    fn read(line: &'a [u8]) -> Option<Line<'a>> {
        let (time, rest) = split_at(line, b" [")?;
        if time.is_empty() || !time.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.') {
            return None;
        }
        let (db, rest) = split_at(rest, b" ")?;
        let db = u32::try_from(parse_integer(db)?).ok()?;
        const END: &[u8] = b"] \"";
        let near = &rest[..rest.len().min(ADDRESS_BYTES_MAX + END.len())];
        let ends = near.windows(END.len()).enumerate().filter(|(_, bytes)| *bytes == END);
        let (client, words) = ends.map(|(at, _)| at).find_map(|at| Some((&rest[..at], quoted(&rest[at + 2..])?)))?;
        Some(Line { db, client, words })
    }

    fn begins(&self, names: &[Vec<u8>]) -> bool {
        let is_same = |(word, name): (&Vec<u8>, &Vec<u8>)| word.eq_ignore_ascii_case(name);
        self.words.len() >= names.len() && self.words.iter().zip(names).all(is_same)
    }

    fn is_from(&self, wanted: &Client) -> bool {
        let port = self.client.iter().rposition(|byte| *byte == b':');
        let host = port.map_or(self.client, |colon| &self.client[..colon]);
        let bare = host.strip_prefix(b"[").and_then(|host| host.strip_suffix(b"]")).unwrap_or(host);
        [self.client, host, bare].contains(&wanted.text.as_slice()) || wanted.glob.matches(self.client)
    }

    /// Whether one of the keys is wanted. A command that is not known has none, and neither has a word that the server
    /// left out of the line.
    fn has_key(&self, is_wanted: impl Fn(&[u8]) -> bool) -> bool {
        let Some(spec) = command::lookup(&self.words[0], self.words.get(1).map(Vec::as_slice)) else { return false };
        let words: OwnedArgs = self.words.iter().map(Vec::as_slice).collect();
        let mut found = false;
        // Where the words do not say where further keys are, the command was refused; those before stand.
        let _ = spec.each_key(words.as_args(), |key| {
            let is_key = !key.flags.contains(command::KeyFlags::NOT_KEY);
            found |= is_key && self.words.get(key.position).is_some_and(|key| is_wanted(key));
        });
        found
    }
}

/// The words of a line in which each is quoted as [`quote`] does it and one blank stands between two.
fn quoted(text: &[u8]) -> Option<Vec<Vec<u8>>> {
    let words = split_words(text).ok()?;
    let mut again = Vec::with_capacity(text.len());
    for word in &words {
        if !again.is_empty() {
            again.push(b' ');
        }
        quote(word, &mut again);
    }
    (again == text && words.first().is_some_and(|name| !name.is_empty())).then_some(words)
}

/// What is before and behind the first `mark`.
fn split_at<'a>(bytes: &'a [u8], mark: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let at = bytes.windows(mark.len()).position(|window| window == mark)?;
    Some((&bytes[..at], &bytes[at + mark.len()..]))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn line(client: &[u8], words: &[Vec<u8>]) -> Vec<u8> {
        let mut line = [b"1700000000.000001 [7 ", client, b"]"].concat();
        for word in words {
            line.push(b' ');
            quote(word, &mut line);
        }
        line
    }

    fn filter(flags: &[&str]) -> Filter {
        #[derive(clap::Parser)]
        struct Flags {
            #[command(flatten)]
            filter: FilterArgs,
        }
        let flags = <Flags as clap::Parser>::try_parse_from(["cli"].iter().chain(flags)).unwrap();
        flags.filter.into_filter().unwrap()
    }

    fn shows(flags: &[&str], client: &str, command: &str) -> bool {
        filter(flags).matches(&line(client.as_bytes(), &split_words(command.as_bytes()).unwrap()))
    }

    #[test]
    fn commands_are_named_in_any_case_and_with_their_subcommands() {
        let shown = |name, command| shows(&["--command", name], "h:1", command);
        assert!(shown("SET", "set k v") && shown("client", "CLIENT KILL x") && shown("client|kill", "CLIENT KILL x"));
        assert!(shown("Client Kill", "client kill x") && shows(&["--command", "x", "--command", "y"], "h:1", "Y"));
        assert!(!shown("SET", "SETNX k v") && !shown("client kill", "CLIENT") && !shown("client kill", "CLIENT LIST"));
        let nothing = FilterArgs { commands: vec![" | ".into()], ..FilterArgs::default() };
        assert!(nothing.into_filter().is_err());
    }

    #[test]
    fn keys_are_where_the_command_has_them() {
        let shown = |key, command| shows(&["--key", key], "h:1", command);
        assert!(shown("a", "GET a") && shown("u:*", "MGET x u:1") && shown("b", "sintercard 2 a b LIMIT 1"));
        assert!(shown("a", "OBJECT ENCODING a"));
        assert!(!shown("v", "SET k v") && !shown("*", "PUBLISH c m") && !shown("*", "SPUBLISH c m"));
        assert!(!shown("*", "NOSUCH k") && !shown("*", "GET") && !shown("LIMIT", "SINTERCARD 2 a b LIMIT 1"));
        assert!(!shown("*", "SINTERCARD 9223372036854775807") && !shown("*", "SINTERCARD x a"));
    }

    #[test]
    fn clients_are_addresses_hosts_or_globs() {
        let shown = |wanted, client| shows(&["--client", wanted], client, "PING");
        assert!(
            shown("10.0.0.7:50", "10.0.0.7:50") && shown("10.0.0.7", "10.0.0.7:50") && shown("10.*", "10.0.0.7:50")
        );
        assert!(shown("::1", "[::1]:50") && shown("[::1]", "[::1]:50") && shown("[::1]:50", "[::1]:50"));
        assert!(shown("unix:*", "unix:/tmp/s") && shown("unix:/tmp/s", "unix:/tmp/s") && shown("lua", "lua"));
        assert!(!shown("10.0.0.7", "10.0.0.77:50") && !shown("10.0.0.7:5", "10.0.0.7:50") && !shown("::1", "[::11]:5"));
    }

    #[test]
    fn each_flag_must_match() {
        let flags = ["--db", "7", "--db", "9", "--command", "GET", "--key", "k", "--client", "h"];
        assert!(shows(&flags, "h:1", "GET k"));
        assert!(!shows(&flags, "h:1", "SET k v") && !shows(&flags, "h:1", "GET o") && !shows(&flags, "i:1", "GET k"));
        assert!(!shows(&["--db", "0"], "h:1", "GET k"));
    }

    #[test]
    fn only_lines_that_are_shown_are_counted() {
        let mut filter = filter(&["--command", "GET", "--count", "2"]);
        let status = |command: &[u8]| Value::Status(line(b"h:1", &split_words(command).unwrap()));
        assert!(filter.admits(&Value::Status(b"OK".to_vec())));
        assert!(!filter.admits(&status(b"SET k v")) && filter.admits(&status(b"GET k")) && !filter.is_done());
        assert!(!filter.admits(&Value::Status(b"OK".to_vec())) && filter.admits(&Value::Error(b"ERR".to_vec())));
        assert!(filter.admits(&status(b"GET k")) && filter.is_done());
    }

    #[test]
    fn what_is_no_line_is_not_read() {
        for bad in [
            "",
            "OK",
            "1.1 [0 h:1]",
            "1.1 [0 h:1] ",
            "1.1 [0 h:1] \"",
            "1.1 [0 h:1] \"\"",
            "1.1 [0 h:1] \"GET\"  \"k\"",
            "1.1 [0 h:1] \"GET\" \"k\" ",
            "1.1 [0 h:1] \"GET\" k",
            "1.1 [0 h:1] \"GET\"\"k\"",
            "1.1 [0 h:1] \"GET\" \"\\q\"",
            "1.1 [0 h:1] \"GET\" \"\\",
            "1.1 [0 h:1] \"GET\" \"\\x4",
            "1.1 [-1 h:1] \"GET\"",
            "1.1 [4294967296 h:1] \"GET\"",
            "1.1 [0] \"GET\"",
            " [0 h:1] \"GET\"",
            "x [0 h:1] \"GET\"",
        ] {
            assert_eq!(Line::read(bad.as_bytes()), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn any_words_and_any_address_are_read_back(
            client in prop_oneof![
                prop::collection::vec(any::<u8>(), 0..60),
                // Bytes of which the end of an address, and its escapes, are made.
                prop::collection::vec(prop::sample::select(b"] \"\\x[".as_slice()), 0..30),
            ],
            name in prop::collection::vec(any::<u8>(), 1..20),
            rest in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..5),
        ) {
            let words: Vec<Vec<u8>> = [name].into_iter().chain(rest).collect();
            let line = line(&client, &words);
            prop_assert_eq!(Line::read(&line), Some(Line { db: 7, client: &client, words }));
        }

        #[test]
        fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..200), cut in 0..200usize) {
            let _ = Line::read(&bytes);
            let behind = [b"1.1 [0 h:1] \"", bytes.as_slice()].concat();
            if let Some(line) = Line::read(&behind) {
                line.has_key(|_| false);
            }
            let whole = line(&bytes, std::slice::from_ref(&bytes));
            let _ = Line::read(&whole[..whole.len().min(cut)]);
        }
    }
}
