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
    adjusted: bool,
}

/// What an accepted request changes.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Change {
    Db(u32),
    User { user: Option<Vec<u8>>, password: Vec<u8> },
    Name(Option<Vec<u8>>),
    Hello { version: Version, user: Option<(Vec<u8>, Vec<u8>)>, name: Option<Vec<u8>> },
    Join(Kind, Vec<Vec<u8>>),
    Leave(Kind, Vec<Vec<u8>>),
    Watch,
    Unwatch,
    Adjust,
    Reset,
}

/// What went with a connection and cannot be brought back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Loss {
    /// A transaction that had begun: none of it was executed.
    pub transaction: bool,
    /// Keys were watched: whether they changed is not known any more.
    pub watched_keys: bool,
    /// There were subscriptions: what was published until they were restored is lost.
    pub messages: bool,
    /// A request was under way: whether it was executed is not known.
    pub answer: bool,
    /// The connection was told how to behave (CLIENT NO-EVICT, NO-TOUCH, TRACKING, REPLY and the like): it no longer does.
    pub settings: bool,
}

impl Loss {
    /// Both losses.
    pub(super) fn and(self, other: Loss) -> Loss {
        Loss {
            transaction: self.transaction || other.transaction,
            watched_keys: self.watched_keys || other.watched_keys,
            messages: self.messages || other.messages,
            answer: self.answer || other.answer,
            settings: self.settings || other.settings,
        }
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            (self.transaction, "the transaction"),
            (self.watched_keys, "the watch on keys"),
            (self.messages, "what was published meanwhile"),
            (self.answer, "the answer to a request"),
            (self.settings, "settings of the connection"),
        ];
        let mut lost = parts.iter().filter(|(is_lost, _)| *is_lost).map(|(_, words)| *words).peekable();
        if lost.peek().is_none() {
            return f.write_str("nothing");
        }
        let mut first = true;
        while let Some(words) = lost.next() {
            let between = match (first, lost.peek()) {
                (true, _) => "",
                (false, Some(_)) => ", ",
                (false, None) => " and ",
            };
            write!(f, "{between}{words}")?;
            first = false;
        }
        Ok(())
    }
}

impl State {
    pub(super) fn new(login: Login) -> Self {
        State { login, names: Default::default(), queued: None, watching: false, adjusted: false }
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

    /// Takes notice of what the server made of a request.
    pub(super) fn answered(&mut self, args: &[&[u8]], reply: &Value) {
        let reply = match reply {
            Value::Attributed(attributed) => &attributed.value,
            reply => reply,
        };
        let Some(name) = args.first() else { return };
        let is = |word: &str| name.eq_ignore_ascii_case(word.as_bytes());
        match reply {
            // An EXEC that is refused ends the transaction, too, unless it was no EXEC.
            Value::Error(_) if is("EXEC") => self.end_transaction(),
            Value::Error(_) => {}
            Value::Status(word) if word == b"QUEUED" => {
                if let Some(queued) = &mut self.queued {
                    queued.push(Change::of(args));
                }
            }
            _ if is("MULTI") => self.queued = Some(Vec::new()),
            _ if is("DISCARD") => self.end_transaction(),
            _ if is("EXEC") => {
                let changes = self.queued.take().unwrap_or_default();
                self.watching = false;
                for (change, reply) in changes.into_iter().zip(reply.as_items().unwrap_or_default()) {
                    if !reply.is_error() {
                        change.into_iter().for_each(|change| self.apply(change));
                    }
                }
            }
            _ => Change::of(args).into_iter().for_each(|change| self.apply(change)),
        }
    }

    /// Subscriptions that were made.
    pub(super) fn joined<A: AsRef<[u8]>>(&mut self, kind: Kind, names: &[A]) {
        self.names[kind as usize].extend(names.iter().map(|name| name.as_ref().to_vec()));
    }

    /// The connection is gone: gives what cannot be brought back, and forgets it.
    pub(super) fn lose(&mut self) -> Loss {
        Loss {
            transaction: self.queued.take().is_some(),
            watched_keys: std::mem::take(&mut self.watching),
            messages: self.names.iter().any(|names| !names.is_empty()),
            answer: false,
            settings: std::mem::take(&mut self.adjusted),
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
            Change::Adjust => self.adjusted = true,
            Change::Reset => *self = State::new(Login { sbe: self.login.sbe, ..Login::default() }),
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
            [word, ..] if is(name, "CLIENT") => {
                const LASTING: [&str; 6] = ["NO-EVICT", "NO-TOUCH", "TRACKING", "REPLY", "SETINFO", "GOBLIN-POLICY"];
                LASTING.iter().any(|known| is(word, known)).then_some(Change::Adjust)
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
            state.answered(&args, &reply);
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
        done.answered(&[b"EXEC"], &Value::Array(vec![Value::Status(b"OK".into()), Value::Error(b"no".into())]));
        assert_eq!((done.login().db, done.lose()), (3, Loss::default()));
        assert_eq!(open.lose(), Loss { transaction: true, watched_keys: true, ..Loss::default() });
        assert_eq!(open.lose(), Loss::default());
        for (last, reply) in [("DISCARD", "OK"), ("EXEC", "-EXECABORT")] {
            let mut ended = state(&[&begun[..], &[(last, reply)]].concat());
            assert_eq!((ended.login().db, ended.lose()), (0, Loss::default()), "{last}");
        }
    }

    #[test]
    fn losses_are_named() {
        let all = Loss { transaction: true, watched_keys: true, messages: true, answer: false, settings: false };
        assert_eq!(all.to_string(), "the transaction, the watch on keys and what was published meanwhile");
        assert_eq!(Loss { messages: true, ..Loss::default() }.to_string(), "what was published meanwhile");
        assert_eq!(Loss::default().to_string(), "nothing");
        assert!(state(&[("CLIENT NO-TOUCH on", "OK")]).lose().settings);
    }
}
