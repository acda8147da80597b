//! What a connection has been told about itself, learnt from requests and their replies: enough to set a new one up
//! alike, and to say what cannot be had back.
//!
//! Deliberately unknown here: sockets, and where replies come from.

use std::collections::BTreeSet;

use super::special::{begins, is, is_leave};
use crate::client::{Login, Value, Version};

/// The state of one connection.
#[derive(Debug, Clone, Default)]
pub(super) struct State {
    /// User, password, database, dialect and name.
    pub(super) login: Login,
    /// What MULTI has queued; none outside of a transaction.
    queue: Option<Vec<Vec<Vec<u8>>>>,
    watching: bool,
    /// What CLIENT has turned on, such as `CLIENT NO-TOUCH`.
    switches: BTreeSet<&'static str>,
    subscriptions: Subscriptions,
}

/// What is subscribed to.
#[derive(Debug, Clone, Default)]
pub(super) struct Subscriptions {
    channels: BTreeSet<Vec<u8>>,
    patterns: BTreeSet<Vec<u8>>,
    shard_channels: BTreeSet<Vec<u8>>,
}

impl Subscriptions {
    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.channels.len() + self.patterns.len() + self.shard_channels.len()
    }

    /// The requests that have them again.
    pub(super) fn requests(&self) -> Vec<Vec<Vec<u8>>> {
        let kinds =
            [("SUBSCRIBE", &self.channels), ("PSUBSCRIBE", &self.patterns), ("SSUBSCRIBE", &self.shard_channels)];
        let filled = kinds.into_iter().filter(|(_, names)| !names.is_empty());
        filled.map(|(name, names)| [name.into()].into_iter().chain(names.iter().cloned()).collect()).collect()
    }

    fn of(&mut self, kind: &[u8]) -> Option<&mut BTreeSet<Vec<u8>>> {
        match kind {
            b"subscribe" | b"unsubscribe" => Some(&mut self.channels),
            b"psubscribe" | b"punsubscribe" => Some(&mut self.patterns),
            b"ssubscribe" | b"sunsubscribe" => Some(&mut self.shard_channels),
            _ => None,
        }
    }
}

impl State {
    /// That of a connection which was set up like this.
    pub(super) fn new(login: Login) -> Self {
        State { login, ..State::default() }
    }

    /// True between MULTI and EXEC.
    pub(super) fn in_transaction(&self) -> bool {
        self.queue.is_some()
    }

    /// What is subscribed to.
    pub(super) fn subscriptions(&self) -> &Subscriptions {
        &self.subscriptions
    }

    /// How many confirmations answer a request to subscribe or to leave.
    pub(super) fn confirmations(&self, words: &[Vec<u8>]) -> usize {
        if words.len() > 1 {
            return words.len() - 1;
        }
        let mut subscriptions = self.subscriptions.clone();
        let names = subscriptions.of(&words[0].to_ascii_lowercase()).map_or(0, |names| names.len());
        names.max(1)
    }

    /// Learns from a request and the reply to it.
    pub(super) fn learn(&mut self, words: &[Vec<u8>], reply: &Value) {
        let Some(name) = words.first() else { return };
        if is(name, "EXEC") || is(name, "DISCARD") && !reply.is_error() {
            self.watching = false;
            let queue = self.queue.take().unwrap_or_default();
            let replies = reply.as_items().filter(|_| is(name, "EXEC")).unwrap_or_default();
            queue.iter().zip(replies).for_each(|(words, reply)| self.learn(words, reply));
            return;
        }
        match (&mut self.queue, reply) {
            (Some(queue), Value::Status(line)) if line == b"QUEUED" => return queue.push(words.to_vec()),
            _ if reply.is_error() => return,
            _ => {}
        }
        match words {
            [name, ..] if is(name, "MULTI") => self.queue = Some(Vec::new()),
            [name, ..] if is(name, "WATCH") => self.watching = true,
            [name, ..] if is(name, "UNWATCH") => self.watching = false,
            [name, ..] if is(name, "RESET") => {
                let login = Login { sbe: self.login.sbe, ..Login::default() };
                *self = State { login, ..State::default() };
            }
            // Inside a transaction the confirmation is a reply.
            _ if is_leave(words) => self.hear(reply),
            [name, db] if is(name, "SELECT") => {
                let db = std::str::from_utf8(db).ok().and_then(|text| text.parse().ok());
                self.login.db = db.unwrap_or(self.login.db);
            }
            [name, password] if is(name, "AUTH") => self.log_in(None, password),
            [name, user, password] if is(name, "AUTH") => self.log_in(Some(user), password),
            [name, version, options @ ..] if is(name, "HELLO") => self.greet(version, options),
            [_, _, name] if begins(words, &["CLIENT", "SETNAME"]) => self.rename(name),
            [client, switch, mode, ..] if is(client, "CLIENT") => self.switch(switch, is(mode, "ON")),
            _ => {}
        }
    }

    /// Learns from a push.
    pub(super) fn hear(&mut self, push: &Value) {
        let items = match push {
            Value::Attributed(attributed) => attributed.value.as_items(),
            other => other.as_items(),
        };
        let [kind, name, _] = items.unwrap_or_default() else { return };
        let (Some(kind), Some(name)) = (kind.as_bytes(), name.as_bytes()) else { return };
        let Some(names) = self.subscriptions.of(kind) else { return };
        if kind.ends_with(b"unsubscribe") {
            names.remove(name);
        } else {
            names.insert(name.to_vec());
        }
    }

    /// Forgets the subscriptions that a request asked for.
    pub(super) fn forget(&mut self, request: &[Vec<u8>]) {
        if let Some((kind, names)) = request.split_first()
            && let Some(known) = self.subscriptions.of(&kind.to_ascii_lowercase())
        {
            known.retain(|name| !names.contains(name));
        }
    }

    /// What a new connection cannot have back, which is forgotten with it.
    pub(super) fn lose(&mut self) -> Vec<String> {
        let mut lost = Vec::new();
        if let Some(queue) = self.queue.take() {
            lost.push(format!("the transaction with {} commands", queue.len()));
        }
        if std::mem::take(&mut self.watching) {
            lost.push("the keys of WATCH".into());
        }
        lost.extend(std::mem::take(&mut self.switches).into_iter().map(str::to_owned));
        lost
    }

    fn log_in(&mut self, user: Option<&[u8]>, password: &[u8]) {
        self.login.user = user.map(<[u8]>::to_vec);
        self.login.password = Some(password.to_vec());
    }

    fn rename(&mut self, name: &[u8]) {
        self.login.name = Some(name.to_vec()).filter(|name| !name.is_empty());
    }

    fn greet(&mut self, version: &[u8], mut options: &[Vec<u8>]) {
        self.login.version = if version == b"3" { Version::Resp3 } else { Version::Resp2 };
        loop {
            options = match options {
                [word, user, password, rest @ ..] if is(word, "AUTH") => {
                    self.log_in(Some(user), password);
                    rest
                }
                [word, name, rest @ ..] if is(word, "SETNAME") => {
                    self.rename(name);
                    rest
                }
                _ => return,
            };
        }
    }

    fn switch(&mut self, switch: &[u8], on: bool) {
        for (name, title) in
            [("NO-EVICT", "CLIENT NO-EVICT"), ("NO-TOUCH", "CLIENT NO-TOUCH"), ("TRACKING", "CLIENT TRACKING")]
        {
            if is(switch, name) && on {
                self.switches.insert(title);
            } else if is(switch, name) {
                self.switches.remove(title);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::split_words;

    fn words(line: &str) -> Vec<Vec<u8>> {
        split_words(line.as_bytes()).unwrap()
    }

    fn status(line: &str) -> Value {
        Value::Status(line.into())
    }

    fn told(lines: &[(&str, Value)]) -> State {
        let mut state = State::default();
        lines.iter().for_each(|(line, reply)| state.learn(&words(line), reply));
        state
    }

    fn ok(line: &str) -> (&str, Value) {
        (line, status("OK"))
    }

    #[test]
    fn the_login_follows_what_the_server_granted() {
        let refused = || Value::Error(b"ERR no".into());
        let state = told(&[
            ok("select 3"),
            ("SELECT 99", refused()),
            ok("auth u p"),
            ("AUTH wrong", refused()),
            ok("CLIENT SETNAME me"),
            ("HELLO 3", Value::Map(vec![])),
        ]);
        let login = Login {
            user: Some(b"u".into()),
            password: Some(b"p".into()),
            db: 3,
            version: Version::Resp3,
            sbe: false,
            name: Some(b"me".into()),
        };
        assert_eq!(state.login, login);
        let greeted = told(&[("HELLO 2 AUTH u p SETNAME n", Value::Array(vec![])), ok("AUTH q")]);
        assert_eq!((greeted.login.user, greeted.login.password), (None, Some(b"q".into())));
        assert_eq!(greeted.login.name, Some(b"n".into()));
        let reset = told(&[ok("SELECT 3"), ("HELLO 3", Value::Map(vec![])), ("RESET", status("RESET"))]);
        assert_eq!(reset.login, Login::default());
    }

    #[test]
    fn what_a_transaction_queued_counts_once_it_ran() {
        let queued = |line| (line, status("QUEUED"));
        let begun = [ok("MULTI"), queued("SELECT 4"), queued("GET k")];
        let open = told(&begun);
        assert!(open.in_transaction());
        assert_eq!(open.login.db, 0);
        let with = |last| told(&[&begun[..], &[last]].concat());
        let run = with(("EXEC", Value::Array(vec![status("OK"), Value::Nil])));
        assert_eq!((run.in_transaction(), run.login.db), (false, 4));
        for last in [("EXEC", Value::NilArray), ("EXEC", Value::Error(b"EXECABORT".into())), ok("DISCARD")] {
            let ended = with(last);
            assert_eq!((ended.in_transaction(), ended.login.db), (false, 0));
        }
        assert!(with(("DISCARD", Value::Error(b"ERR".into()))).in_transaction());
    }

    #[test]
    fn what_is_lost_is_named_once() {
        let mut state = told(&[
            ok("WATCH k"),
            ok("client no-touch on"),
            ok("CLIENT NO-EVICT ON"),
            ok("CLIENT NO-EVICT OFF"),
            ok("MULTI"),
        ]);
        assert_eq!(state.lose(), ["the transaction with 0 commands", "the keys of WATCH", "CLIENT NO-TOUCH"]);
        assert_eq!(state.lose(), [""; 0]);
    }

    #[test]
    fn subscriptions_follow_their_confirmations() {
        let mut state = State::default();
        let mut hear = |kind: &str, name: &str| {
            let items = vec![Value::Bulk(kind.into()), Value::Bulk(name.into()), Value::Integer(9)];
            state.hear(&Value::Push(items));
            state.subscriptions().count()
        };
        assert_eq!(hear("subscribe", "a"), 1);
        assert_eq!(hear("subscribe", "b"), 2);
        assert_eq!(hear("psubscribe", "a*"), 3);
        assert_eq!(hear("message", "x"), 3);
        assert_eq!(hear("unsubscribe", "b"), 2);
        assert_eq!(hear("ssubscribe", "a"), 3);
        let requests: Vec<Vec<Vec<u8>>> = state.subscriptions().requests();
        assert_eq!(requests, [words("SUBSCRIBE a"), words("PSUBSCRIBE a*"), words("SSUBSCRIBE a")]);
        assert_eq!(state.confirmations(&words("UNSUBSCRIBE")), 1);
        assert_eq!(state.confirmations(&words("unsubscribe x y")), 2);
        assert_eq!(State::default().confirmations(&words("PUNSUBSCRIBE")), 1);
    }
}
