//! The connection of an interactive session: it comes back after a loss, set up as it was.
//!
//! Invariant: a request is sent twice only when it reads and nothing of a transaction is open; of any other whose reply
//! was lost it is said that nobody knows whether it was executed.
//! Invariant: nothing waits without looking at Ctrl-C, but for writing a request.
//! Deliberately unknown here: how anything is printed, but for notices about the connection itself.

use std::time::{Duration, Instant};

use super::special::{is, is_leave, is_subscription};
use super::state::State;
use crate::app::Stop;
use crate::app::connect::Target;
use crate::app::show;
use crate::app::watch::Interrupts;
use crate::client::{ClientError, Connection, Login, Value, Version};
use crate::command::{Flags, lookup};
use crate::reply::CommandError;

/// Pauses between two attempts to connect while messages are waited for: the first and the longest.
const RETRY_FIRST: Duration = Duration::from_millis(100);
const RETRY_MAX: Duration = Duration::from_secs(2);

/// How long after Ctrl-C a reply may still come, so that the connection need not be given up.
const GRACE: Duration = Duration::from_millis(200);

/// How long a server may take to confirm what was subscribed to before.
const RESTORE_TIMEOUT: Duration = Duration::from_secs(10);

/// Is given each push, and none when no more is at hand.
pub(super) type Hear<'a> = dyn FnMut(Option<&Value>) -> Result<(), Stop> + 'a;

/// What came of a request.
#[derive(Debug)]
pub(super) enum Answer {
    /// Its reply.
    Reply(Value),
    /// It was answered by confirmations, which were heard.
    Confirmed,
    /// The server ended, which is how it says yes to SHUTDOWN.
    Ended,
}

/// Why a request has no answer.
#[derive(Debug)]
pub(super) enum Failure {
    /// It was not sent: there is no connection.
    Unconnected(ClientError),
    /// The connection was lost after it was sent.
    Unknown(ClientError),
    /// Ctrl-C ended the wait; the connection was given up with it.
    Interrupted,
    /// Nothing can be printed any more.
    Stopped(Stop),
}

impl From<Stop> for Failure {
    fn from(stop: Stop) -> Self {
        Failure::Stopped(stop)
    }
}

/// A connection and what is known of it.
pub(super) struct Link {
    target: Target,
    state: State,
    connection: Option<Connection>,
    interrupts: Interrupts,
    /// It was connected before.
    is_known: bool,
    /// What to set up once the server has been given a password.
    owed: Option<Login>,
}

impl Link {
    /// Connects. Without a server there is a link all the same, which tries again with each request; so there is one
    /// when the server wants a password first, which can then be typed.
    ///
    /// # Errors
    /// The server refuses the login.
    pub(super) fn open(target: Target, interrupts: Interrupts) -> Result<Link, ClientError> {
        let state = State::new(target.login().clone());
        let mut link = Link { target, state, connection: None, interrupts, is_known: false, owed: None };
        match link.connect(&mut |_| Ok(())) {
            Ok(()) => {}
            Err(Failure::Unconnected(refused @ ClientError::Login(_))) => return Err(refused),
            Err(Failure::Unconnected(error) | Failure::Unknown(error)) => show::notice(error),
            Err(Failure::Interrupted | Failure::Stopped(_)) => {}
        }
        Ok(link)
    }

    /// What the connection has been told about itself.
    pub(super) fn state(&self) -> &State {
        &self.state
    }

    /// Where the server is and what state the connection is in: `127.0.0.1:6379[2](TX)> `.
    pub(super) fn prompt(&self) -> String {
        if self.connection.is_none() {
            return "not connected> ".into();
        }
        let mut prompt = self.target.address().to_string();
        if self.state.login.db != 0 {
            prompt += &format!("[{}]", self.state.login.db);
        }
        if self.state.in_transaction() {
            prompt += "(TX)";
        }
        match self.state.subscriptions().count() {
            0 => {}
            1 => prompt += "(1 subscription)",
            count => prompt += &format!("({count} subscriptions)"),
        }
        prompt + "> "
    }

    /// Sends a request and waits for what answers it; pushes that come meanwhile are heard.
    pub(super) fn call(&mut self, words: &[Vec<u8>], hear: &mut Hear<'_>) -> Result<Answer, Failure> {
        self.drain(hear)?;
        if self.connection.is_none() {
            self.connect(hear)?;
        }
        let repeatable = !self.state.in_transaction() && only_reads(words);
        let answer = match self.exchange(words, hear) {
            Err(Failure::Unknown(_)) if repeatable => {
                self.connect(hear)?;
                self.exchange(words, hear)?
            }
            answer => answer?,
        };
        if let Answer::Reply(reply) = &answer
            && words.first().is_some_and(|name| is(name, "AUTH"))
            && !reply.is_error()
        {
            self.pay();
        }
        Ok(answer)
    }

    /// Hears what has come already. A connection that was lost meanwhile is given up.
    pub(super) fn drain(&mut self, hear: &mut Hear<'_>) -> Result<(), Stop> {
        while let Some(connection) = &mut self.connection {
            match connection.try_receive() {
                Ok(Some(push)) => {
                    self.state.hear(&push);
                    hear(Some(&push))?;
                }
                Ok(None) => break,
                Err(error) => self.give_up(&error),
            }
        }
        hear(None)
    }

    /// Hears pushes until Ctrl-C, or until nothing is subscribed to any more. A lost connection is tried for until it
    /// is back.
    pub(super) fn listen(&mut self, hear: &mut Hear<'_>) -> Result<(), Stop> {
        let mut pause = RETRY_FIRST;
        while self.state.subscriptions().count() > 0 && !self.interrupts.taken() {
            self.drain(hear)?;
            let Some(connection) = &mut self.connection else {
                match self.connect(hear) {
                    Ok(()) => pause = RETRY_FIRST,
                    Err(Failure::Stopped(stop)) => return Err(stop),
                    Err(_) if !self.interrupts.sleep_until(Instant::now() + pause) => return Ok(()),
                    Err(_) => pause = (pause * 2).min(RETRY_MAX),
                }
                continue;
            };
            match connection.receive_until(Instant::now() + Interrupts::LOOK) {
                Ok(Some(push)) => {
                    self.state.hear(&push);
                    hear(Some(&push))?;
                }
                Ok(None) => {}
                Err(error) => self.give_up(&error),
            }
        }
        Ok(())
    }

    fn exchange(&mut self, words: &[Vec<u8>], hear: &mut Hear<'_>) -> Result<Answer, Failure> {
        let Some(connection) = &mut self.connection else {
            return Err(Failure::Unconnected(ClientError::Lost { inside_message: false, cause: None }));
        };
        let args: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
        let mut owed = if is_subscription(words) || is_leave(words) { self.state.confirmations(words) } else { 0 };
        let mut received = connection.send(&args).map(|()| None::<Value>);
        let mut interrupted: Option<Instant> = None;
        loop {
            match received {
                Ok(None) => {}
                Ok(Some(push)) if push.is_push() => {
                    self.state.hear(&push);
                    hear(Some(&push))?;
                    owed -= usize::from(owed > 0 && answers(words, &push));
                    if owed == 0 && (is_subscription(words) || is_leave(words)) {
                        return Ok(Answer::Confirmed);
                    }
                }
                Ok(Some(reply)) => {
                    if interrupted.is_some() {
                        self.interrupts.leave();
                    }
                    self.state.learn(words, &reply);
                    return Ok(Answer::Reply(reply));
                }
                Err(error) => {
                    self.connection = None;
                    return match error {
                        ClientError::Lost { inside_message: false, .. } if is(&words[0], "SHUTDOWN") => {
                            Ok(Answer::Ended)
                        }
                        error => Err(Failure::Unknown(error)),
                    };
                }
            }
            if self.interrupts.taken() {
                interrupted.get_or_insert_with(Instant::now);
            }
            if interrupted.is_some_and(|at| at.elapsed() >= GRACE) {
                self.connection = None;
                return Err(Failure::Interrupted);
            }
            received = connection.receive_until(Instant::now() + Interrupts::LOOK);
        }
    }

    /// Connects and sets everything up as it was.
    fn connect(&mut self, hear: &mut Hear<'_>) -> Result<(), Failure> {
        let connection = self.log_in().map_err(Failure::Unconnected)?;
        self.connection = Some(connection);
        let lost = self.state.lose();
        let restored = self.state.subscriptions().count();
        for request in self.state.subscriptions().requests() {
            self.subscribe(&request, hear)?;
        }
        if std::mem::replace(&mut self.is_known, true) {
            let mut line = format!("connected again to {}", self.target.address());
            if restored > 0 {
                line += &format!(", {restored} subscribed to again; messages published meanwhile are lost");
            }
            if !lost.is_empty() {
                line += &format!("; lost: {}", lost.join(", "));
            }
            show::notice(line);
        }
        Ok(())
    }

    /// A new connection with the state's login. The first one finds out what the server understands.
    fn log_in(&mut self) -> Result<Connection, ClientError> {
        let wanted = self.state.login.clone();
        let refusal = match self.target.open_with(&wanted) {
            Err(ClientError::Login(words)) if !self.is_known && wanted.version == Version::Resp3 => words,
            opened => return opened,
        };
        let plain = Login { version: Version::Resp2, ..wanted.clone() };
        if refusal.contains("unknown command") && self.target.takes_any_version() {
            let connection = self.target.open_with(&plain)?;
            self.state.login = plain;
            return Ok(connection);
        }
        if refusal.starts_with(CommandError::NoAuth.code()) && wanted.password.is_none() {
            let plain = Login { sbe: wanted.sbe, ..Login::default() };
            let connection = self.target.open_with(&plain)?;
            show::notice("the server wants a password first: AUTH [user] password");
            self.state.login = plain;
            self.owed = Some(wanted);
            return Ok(connection);
        }
        Err(ClientError::Login(refusal))
    }

    /// Sets up what had to wait for the password.
    fn pay(&mut self) {
        let Some(connection) = &mut self.connection else { return };
        let Some(owed) = self.owed.take() else { return };
        let State { login, .. } = &mut self.state;
        let wanted = Login { user: login.user.clone(), password: login.password.clone(), ..owed };
        match connection.log_in(&wanted) {
            Ok(()) => *login = wanted,
            Err(error) => show::notice(error),
        }
    }

    /// Subscribes again; what was confirmed before is not shown again.
    fn subscribe(&mut self, request: &[Vec<u8>], hear: &mut Hear<'_>) -> Result<(), Failure> {
        let Some(connection) = &mut self.connection else { return Ok(()) };
        let args: Vec<&[u8]> = request.iter().map(Vec::as_slice).collect();
        let deadline = Instant::now() + RESTORE_TIMEOUT;
        if let Err(error) = connection.send(&args) {
            return Err(self.fail(error));
        }
        let mut owed = request.len() - 1;
        while owed > 0 {
            match connection.receive_until(Instant::now() + Interrupts::LOOK) {
                Ok(Some(push)) if push.is_push() && answers(request, &push) => owed -= 1,
                Ok(Some(push)) if push.is_push() => hear(Some(&push))?,
                Ok(Some(refusal)) => {
                    let words = refusal.as_bytes().unwrap_or_default();
                    show::notice(format_args!("not subscribed again: {}", String::from_utf8_lossy(words)));
                    self.state.forget(request);
                    return Ok(());
                }
                Ok(None) if Instant::now() < deadline => {}
                Ok(None) => return Err(self.fail(ClientError::TimedOut)),
                Err(error) => return Err(self.fail(error)),
            }
        }
        Ok(())
    }

    fn fail(&mut self, error: ClientError) -> Failure {
        self.connection = None;
        Failure::Unconnected(error)
    }

    fn give_up(&mut self, error: &ClientError) {
        show::notice(error);
        self.connection = None;
    }
}

/// True for a confirmation of what the words asked for.
fn answers(words: &[Vec<u8>], push: &Value) -> bool {
    let kind = push.as_items().and_then(|items| items.first()).and_then(Value::as_bytes);
    kind.is_some_and(|kind| words[0].eq_ignore_ascii_case(kind))
}

/// True for commands that may be sent again without harm.
fn only_reads(words: &[Vec<u8>]) -> bool {
    let spec = words.first().and_then(|first| lookup(first, words.get(1).map(Vec::as_slice)));
    spec.is_some_and(|spec| spec.flags.contains(Flags::READONLY)) || words.first().is_some_and(|name| is(name, "PING"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::split_words;

    #[test]
    fn only_reading_commands_may_be_sent_twice() {
        let reads = |line: &str| only_reads(&split_words(line.as_bytes()).unwrap());
        assert!(reads("GET k") && reads("smembers s") && reads("PING") && reads("SCAN 0"));
        assert!(!reads("SET k v") && !reads("INCR n") && !reads("PUBLISH c m") && !reads("nosuch") && !reads(""));
    }
}
