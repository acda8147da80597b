//! What a connection was made to be, so that another can be made the same; and what cannot be.
//!
//! Invariant: only what the server accepted counts, and inside a transaction only what EXEC told was done.
//! Deliberately unknown here: connections, and when they are lost.

use std::collections::BTreeSet;
use std::fmt;

use super::{Kind, Login};
use crate::protocol::resp::{Value, Version};

/// What a connection is.
#[derive(Debug, Clone)]
pub(super) struct State {
    login: Login,
    names: [BTreeSet<Vec<u8>>; 3],
    /// The changes that EXEC will make, one for each queued command; none outside a transaction.
    queued: Option<Vec<Option<Change>>>,
    watching: bool,
    /// What it was told about how to behave, such as `CLIENT NO-TOUCH`.
    settings: BTreeSet<&'static str>,
}

/// What a request is to the state of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Meaning {
    Begin,
    Discard,
    Execute,
    Other(Option<Change>),
}

/// What an accepted request changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Change {
    Db(u32),
    User { user: Option<Vec<u8>>, password: Vec<u8> },
    Name(Option<Vec<u8>>),
    Hello { version: Version, user: Option<(Vec<u8>, Vec<u8>)>, name: Option<Vec<u8>> },
    Join(Kind, Vec<Vec<u8>>),
    Leave(Kind, Vec<Vec<u8>>),
    Watch,
    Unwatch,
    Adjust(&'static str),
    Readjust(&'static str),
    Reset,
}

/// What went with a connection and cannot be brought back.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Loss {
    /// A transaction that had begun, of so many commands: none of it was executed.
    pub transaction: Option<usize>,
    /// Keys were watched: whether they changed is not known any more.
    pub watched_keys: bool,
    /// There were subscriptions: what was published until they were restored is lost.
    pub messages: bool,
    /// A request was under way: whether it was executed is not known.
    pub answer: bool,
    /// How the connection was told to behave, such as `CLIENT NO-TOUCH`: it no longer does.
    pub settings: BTreeSet<&'static str>,
}

impl Loss {
    /// True when all is as it was.
    pub fn is_nothing(&self) -> bool {
        *self == Loss::default()
    }

    /// Both losses.
    pub(super) fn and(self, other: Loss) -> Loss {
        Loss {
            transaction: self.transaction.or(other.transaction),
            watched_keys: self.watched_keys || other.watched_keys,
            messages: self.messages || other.messages,
            answer: self.answer || other.answer,
            settings: &self.settings | &other.settings,
        }
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let transaction = self.transaction.map(|count| match count {
            1 => "the transaction with 1 command".to_owned(),
            count => format!("the transaction with {count} commands"),
        });
        let parts = [
            transaction.as_deref(),
            self.watched_keys.then_some("the watch on keys"),
            self.messages.then_some("what was published meanwhile"),
            self.answer.then_some("the answer to a request"),
        ];
        let lost: Vec<&str> = parts.into_iter().flatten().chain(self.settings.iter().copied()).collect();
        match lost.split_last() {
            None => f.write_str("nothing"),
            Some((only, [])) => f.write_str(only),
            Some((last, others)) => write!(f, "{} and {last}", others.join(", ")),
        }
    }
}

impl State {
    pub(super) fn new(login: Login) -> Self {
        State { login, names: Default::default(), queued: None, watching: false, settings: BTreeSet::new() }
    }

    /// As whom, where and in which dialect another connection is to log in.
    pub(super) fn login(&self) -> &Login {
        &self.login
    }

    /// The subscriptions of a kind, in order.
    pub(super) fn names(&self, kind: Kind) -> &BTreeSet<Vec<u8>> {
        &self.names[kind as usize]
    }

    pub(super) fn in_transaction(&self) -> bool {
        self.queued.is_some()
    }

    /// As whom, where and in which dialect it has been logged in anew.
    pub(super) fn logged_in(&mut self, login: Login) {
        self.login = login;
    }

    /// How many confirmations answer a request that subscribes or leaves.
    pub(super) fn confirmations(&self, args: &[&[u8]]) -> usize {
        let [name] = args else { return args.len().saturating_sub(1).max(1) };
        let left = Kind::ALL.into_iter().find(|kind| name.eq_ignore_ascii_case(kind.leave_command()));
        left.map_or(1, |kind| self.names(kind).len().max(1))
    }

    /// Takes notice of what the server made of a request.
    pub(super) fn answered(&mut self, meaning: Meaning, reply: &Value) {
        let reply = match reply {
            Value::Attributed(attributed) => &attributed.value,
            reply => reply,
        };
        match (reply, meaning) {
            // An EXEC that is refused ends the transaction, too, unless it was no EXEC.
            (Value::Error(_), Meaning::Execute) => self.end_transaction(),
            (Value::Error(_), _) => {}
            (Value::Status(word), meaning) if word == b"QUEUED" => {
                if let (Some(queued), Meaning::Other(change)) = (&mut self.queued, meaning) {
                    queued.push(change);
                }
            }
            (_, Meaning::Begin) => self.queued = Some(Vec::new()),
            (_, Meaning::Discard) => self.end_transaction(),
            (reply, Meaning::Execute) => {
                let changes = self.queued.take().unwrap_or_default();
                self.watching = false;
                for (change, reply) in changes.into_iter().zip(reply.as_items().unwrap_or_default()) {
                    if !reply.is_error() {
                        change.into_iter().for_each(|change| self.apply(change));
                    }
                }
            }
            (_, Meaning::Other(change)) => change.into_iter().for_each(|change| self.apply(change)),
        }
    }

    /// Subscriptions that were made.
    pub(super) fn joined<A: AsRef<[u8]>>(&mut self, kind: Kind, names: &[A]) {
        self.names[kind as usize].extend(names.iter().map(|name| name.as_ref().to_vec()));
    }

    /// Nothing is subscribed to any more.
    pub(super) fn forget_subscriptions(&mut self) {
        self.names = Default::default();
    }

    /// The connection is gone: gives what cannot be brought back, and forgets it.
    pub(super) fn lose(&mut self) -> Loss {
        Loss {
            transaction: self.queued.take().map(|queued| queued.len()),
            watched_keys: std::mem::take(&mut self.watching),
            messages: self.names.iter().any(|names| !names.is_empty()),
            answer: false,
            settings: std::mem::take(&mut self.settings),
        }
    }

    fn end_transaction(&mut self) {
        self.queued = None;
        self.watching = false;
    }

    fn apply(&mut self, change: Change) {
        match change {
            Change::Db(db) => self.login.db = db,
            Change::User { user, password } => {
                self.login.user = user;
                self.login.password = Some(password);
            }
            Change::Name(name) => self.login.name = name,
            Change::Hello { version, user, name } => {
                self.login.version = version;
                if let Some((user, password)) = user {
                    self.login.user = Some(user);
                    self.login.password = Some(password);
                }
                self.login.name = name.or(self.login.name.take());
            }
            Change::Join(kind, names) => self.joined(kind, &names),
            Change::Leave(kind, names) if names.is_empty() => self.names[kind as usize].clear(),
            Change::Leave(kind, names) => names.iter().for_each(|name| {
                self.names[kind as usize].remove(name);
            }),
            Change::Watch => self.watching = true,
            Change::Unwatch => self.watching = false,
            Change::Adjust(name) => drop(self.settings.insert(name)),
            Change::Readjust(name) => drop(self.settings.remove(name)),
            Change::Reset => *self = State::new(Login { sbe: self.login.sbe, ..Login::default() }),
        }
    }
}

impl Meaning {
    /// That of a request.
    pub(super) fn of(args: &[&[u8]]) -> Meaning {
        let is = |word: &str| args.first().is_some_and(|name| name.eq_ignore_ascii_case(word.as_bytes()));
        match args.first().map_or(0, |name| name.len()) {
            5 if is("MULTI") => Meaning::Begin,
            7 if is("DISCARD") => Meaning::Discard,
            4 if is("EXEC") => Meaning::Execute,
            _ => Meaning::Other(Change::of(args)),
        }
    }
}

impl Change {
    /// What a request changes once it is accepted.
    fn of(args: &[&[u8]]) -> Option<Change> {
        let (name, rest) = args.split_first()?;
        let is = |word: &[u8], known: &str| word.eq_ignore_ascii_case(known.as_bytes());
        let subscription = Kind::ALL.into_iter().find_map(|kind| {
            let names = || rest.iter().map(|name| name.to_vec()).collect();
            if name.eq_ignore_ascii_case(kind.join_command()) {
                Some(Change::Join(kind, names()))
            } else if name.eq_ignore_ascii_case(kind.leave_command()) {
                Some(Change::Leave(kind, names()))
            } else {
                None
            }
        });
        if subscription.is_some() {
            return subscription;
        }
        match rest {
            _ if is(name, "RESET") => Some(Change::Reset),
            _ if is(name, "UNWATCH") => Some(Change::Unwatch),
            _ if is(name, "WATCH") => Some(Change::Watch),
            [db] if is(name, "SELECT") => Some(Change::Db(std::str::from_utf8(db).ok()?.parse().ok()?)),
            [password] if is(name, "AUTH") => Some(Change::User { user: None, password: password.to_vec() }),
            [user, password] if is(name, "AUTH") => {
                Some(Change::User { user: Some(user.to_vec()), password: password.to_vec() })
            }
            [version, options @ ..] if is(name, "HELLO") => Some(Change::hello(version, options)),
            [word, name] if is(args[0], "CLIENT") && is(word, "SETNAME") => {
                Some(Change::Name(Some(name.to_vec()).filter(|name| !name.is_empty())))
            }
            [word, modes @ ..] if is(name, "CLIENT") => {
                const LASTING: [(&str, &str); 6] = [
                    ("NO-EVICT", "CLIENT NO-EVICT"),
                    ("NO-TOUCH", "CLIENT NO-TOUCH"),
                    ("TRACKING", "CLIENT TRACKING"),
                    ("REPLY", "CLIENT REPLY"),
                    ("SETINFO", "CLIENT SETINFO"),
                    ("GOBLIN-POLICY", "CLIENT GOBLIN-POLICY"),
                ];
                let (known, title) = LASTING.into_iter().find(|(known, _)| is(word, known))?;
                // Replies are on unless they are turned off; all else is off unless it is turned on.
                let usual = if known == "REPLY" { "ON" } else { "OFF" };
                let is_usual = modes.first().is_some_and(|mode| is(mode, usual));
                Some(if is_usual { Change::Readjust(title) } else { Change::Adjust(title) })
            }
            _ => None,
        }
    }

    fn hello(version: &[u8], mut options: &[&[u8]]) -> Change {
        let version = if version == b"3" { Version::Resp3 } else { Version::Resp2 };
        let (mut user, mut name) = (None, None);
        loop {
            match options {
                [word, id, password, rest @ ..] if word.eq_ignore_ascii_case(b"AUTH") => {
                    user = Some((id.to_vec(), password.to_vec()));
                    options = rest;
                }
                [word, given, rest @ ..] if word.eq_ignore_ascii_case(b"SETNAME") => {
                    name = Some(given.to_vec());
                    options = rest;
                }
                _ => return Change::Hello { version, user, name },
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::split_words;

    fn state(said: &[(&str, &str)]) -> State {
        let mut state = State::new(Login::default());
        for (line, reply) in said {
            let words = split_words(line.as_bytes()).unwrap();
            let args: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
            let reply = match reply.strip_prefix('-') {
                Some(text) => Value::Error(text.into()),
                None => Value::Status((*reply).into()),
            };
            state.answered(Meaning::of(&args), &reply);
        }
        state
    }

    #[test]
    fn what_was_accepted_counts() {
        let seen = state(&[
            ("hello 3 auth ann secret setname first", "OK"),
            ("SELECT 7", "OK"),
            ("SELECT 99", "-ERR DB index is out of range"),
            ("CLIENT SETNAME second", "OK"),
            ("AUTH bob wrong", "-WRONGPASS"),
        ]);
        let wanted = Login {
            user: Some(b"ann".into()),
            password: Some(b"secret".into()),
            db: 7,
            version: Version::Resp3,
            sbe: false,
            name: Some(b"second".into()),
            numbered: false,
        };
        assert_eq!(*seen.login(), wanted);
        assert_eq!(*state(&[("SELECT 7", "OK"), ("AUTH pw", "OK"), ("RESET", "RESET")]).login(), Login::default());
    }

    #[test]
    fn subscriptions_come_and_go() {
        let seen =
            state(&[("SUBSCRIBE a b c", "x"), ("UNSUBSCRIBE b", "x"), ("PSUBSCRIBE p*", "x"), ("SSUBSCRIBE s", "x")]);
        assert_eq!(seen.names(Kind::Channel).iter().collect::<Vec<_>>(), [b"a", b"c"]);
        assert_eq!(seen.names(Kind::Pattern).len() + seen.names(Kind::ShardChannel).len(), 2);
        let left = state(&[("SUBSCRIBE a b", "x"), ("SSUBSCRIBE s", "x"), ("UNSUBSCRIBE", "x")]);
        assert_eq!((left.names(Kind::Channel).len(), left.names(Kind::ShardChannel).len()), (0, 1));
    }

    #[test]
    fn what_a_transaction_changes_is_changed_by_exec() {
        let begun = [("WATCH k", "OK"), ("MULTI", "OK"), ("SELECT 3", "QUEUED"), ("SELECT 99", "QUEUED")];
        let mut open = state(&begun);
        assert_eq!((open.login().db, open.in_transaction()), (0, true));
        let mut done = open.clone();
        done.answered(Meaning::Execute, &Value::Array(vec![Value::Status(b"OK".into()), Value::Error(b"no".into())]));
        assert_eq!((done.login().db, done.lose()), (3, Loss::default()));
        assert_eq!(open.lose(), Loss { transaction: Some(2), watched_keys: true, ..Loss::default() });
        assert_eq!(open.lose(), Loss::default());
        for (last, reply) in [("DISCARD", "OK"), ("EXEC", "-EXECABORT")] {
            let mut ended = state(&[&begun[..], &[(last, reply)]].concat());
            assert_eq!((ended.login().db, ended.lose()), (0, Loss::default()), "{last}");
        }
    }

    #[test]
    fn losses_are_named() {
        let all = Loss { transaction: Some(2), watched_keys: true, messages: true, ..Loss::default() };
        let words = "the transaction with 2 commands, the watch on keys and what was published meanwhile";
        assert_eq!(all.to_string(), words);
        assert_eq!(Loss { messages: true, ..Loss::default() }.to_string(), "what was published meanwhile");
        assert_eq!(Loss::default().to_string(), "nothing");
        let lines = ["CLIENT NO-TOUCH on", "client no-evict ON", "CLIENT TRACKING ON", "CLIENT TRACKING off"];
        let loss = state(&lines.map(|line| (line, "OK"))).lose();
        assert_eq!(loss.to_string(), "CLIENT NO-EVICT and CLIENT NO-TOUCH");
        assert!(!loss.is_nothing() && Loss::default().is_nothing());
    }

    #[test]
    fn leaving_everything_is_confirmed_for_each() {
        let seen = state(&[("SUBSCRIBE a b", "x"), ("PSUBSCRIBE p*", "x")]);
        let confirmations = |line: &str| seen.confirmations(&line.split(' ').map(str::as_bytes).collect::<Vec<_>>());
        assert_eq!((confirmations("UNSUBSCRIBE"), confirmations("punsubscribe")), (2, 1));
        assert_eq!((confirmations("SUNSUBSCRIBE"), confirmations("UNSUBSCRIBE x y z")), (1, 3));
        assert_eq!((confirmations("SUBSCRIBE"), confirmations("SUBSCRIBE x y")), (1, 2));
    }
}
