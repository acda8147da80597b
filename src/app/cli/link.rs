//! The session of a prompt: its waits end with Ctrl-C, and a password may come late.
//!
//! Invariant: nothing waits without looking at Ctrl-C, but for connecting and for writing a request.
//! Deliberately unknown here: how anything is printed.

use std::time::{Duration, Instant};

use super::special::is;
use crate::app::Stop;
use crate::app::connect::Target;
use crate::app::show;
use crate::app::watch::Interrupts;
use crate::client::{ClientError, Kind, Login, News, Session, Value};
use crate::reply::CommandError;

/// How long after Ctrl-C a reply may still come, so that the connection need not be given up.
const GRACE: Duration = Duration::from_millis(200);

/// How long to wait for what has come already.
const GLANCE: Duration = Duration::from_millis(1);

/// How long an attempt to connect again may hold up Ctrl-C.
const ATTEMPT: Duration = Duration::from_millis(500);

/// What is heard from a connection beside replies.
#[derive(Debug)]
pub(super) enum Heard<'a> {
    Push(&'a Value),
    /// Something about the connection itself.
    Notice(String),
    /// No more is at hand.
    Pause,
}

/// Takes what is heard.
pub(super) type Hear<'a> = dyn FnMut(Heard<'_>) -> Result<(), Stop> + 'a;

/// Why a request has no answer.
#[derive(Debug)]
pub(super) enum Failure {
    /// It was not sent.
    Unsent(String),
    /// The connection was lost after it was sent.
    Unknown(ClientError),
    /// The server ended, which is how it says yes to SHUTDOWN.
    Ended,
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

/// A session, or the hope for one.
pub(super) struct Link {
    target: Target,
    /// None before the first connection.
    session: Option<Session>,
    interrupts: Interrupts,
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
        let mut link = Link { target, session: None, interrupts, owed: None };
        match link.session() {
            Err(refused @ ClientError::Login(_)) => return Err(refused),
            Err(error) => show::notice(error),
            Ok(_) => {}
        }
        Ok(link)
    }

    /// True between MULTI and EXEC.
    pub(super) fn in_transaction(&self) -> bool {
        self.session.as_ref().is_some_and(Session::in_transaction)
    }

    /// How much is subscribed to.
    pub(super) fn subscriptions(&self) -> usize {
        let count = |session: &Session| Kind::ALL.into_iter().map(|kind| session.subscriptions(kind).len()).sum();
        self.session.as_ref().map_or(0, count)
    }

    /// Where the server is and what state the connection is in: `127.0.0.1:6379[2](TX)> `.
    pub(super) fn prompt(&self) -> String {
        let Some(session) = self.session.as_ref().filter(|session| session.is_connected()) else {
            return "not connected> ".into();
        };
        let mut prompt = self.target.address().to_string();
        if session.login().db != 0 {
            prompt += &format!("[{}]", session.login().db);
        }
        if session.in_transaction() {
            prompt += "(TX)";
        }
        match self.subscriptions() {
            0 => {}
            1 => prompt += "(1 subscription)",
            count => prompt += &format!("({count} subscriptions)"),
        }
        prompt + "> "
    }

    /// Sends a request and waits for its reply, which is the last confirmation of one that subscribes or leaves; pushes
    /// that come before it are heard.
    pub(super) fn call(&mut self, words: &[Vec<u8>], hear: &mut Hear<'_>) -> Result<Value, Failure> {
        let args: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
        let was_connected = self.session.as_ref().is_some_and(Session::is_connected);
        let sent = self.session().and_then(|session| session.send(&args));
        let notice = self.session.as_mut().and_then(Session::take_notice);
        if was_connected && (sent.is_err() || notice.is_some()) {
            hear(Heard::Notice("connection lost".into()))?;
        }
        if let Some(restored) = notice {
            hear(Heard::Notice(show::restored(&restored)))?;
        }
        sent.map_err(|error| Failure::Unsent(self.refused(&error)))?;
        let Some(session) = &mut self.session else { return Err(Failure::Interrupted) };
        let mut interrupted: Option<Instant> = None;
        let reply = loop {
            let answer = session.answer(Some(Instant::now() + Interrupts::LOOK));
            for push in session.take_pushes() {
                hear(Heard::Push(&push))?;
            }
            match answer {
                Ok(Some(reply)) => break reply,
                Ok(None) => hear(Heard::Pause)?,
                Err(ClientError::Lost { inside_message: false, .. }) if is(args[0], "SHUTDOWN") => {
                    return Err(Failure::Ended);
                }
                Err(error) => return Err(Failure::Unknown(error)),
            }
            if self.interrupts.taken() {
                interrupted.get_or_insert_with(Instant::now);
            }
            if interrupted.is_some_and(|at| at.elapsed() >= GRACE) {
                session.disconnect();
                return Err(Failure::Interrupted);
            }
        };
        if interrupted.is_some() {
            self.interrupts.leave();
        }
        if is(args[0], "AUTH") && !reply.is_error() {
            self.pay();
        }
        Ok(reply)
    }

    /// Hears what has come already. A connection that was lost meanwhile is given up, which is told.
    pub(super) fn drain(&mut self, hear: &mut Hear<'_>) -> Result<(), Stop> {
        while let Some(session) = self.session.as_mut().filter(|session| session.is_connected()) {
            match session.next_push(Some(Instant::now() + GLANCE)) {
                Ok(Some(News::Event(push))) => hear(Heard::Push(&push))?,
                Ok(Some(News::Lost(error))) | Err(error) => hear(Heard::Notice(error.to_string()))?,
                Ok(Some(News::Restored(_))) => {}
                Ok(None) => break,
            }
        }
        hear(Heard::Pause)
    }

    /// Hears pushes until Ctrl-C, or until nothing is subscribed to any more. A lost connection is tried for until it
    /// is back.
    pub(super) fn listen(&mut self, hear: &mut Hear<'_>) -> Result<(), Stop> {
        let interrupts = self.interrupts.clone();
        self.listen_while(|| !interrupts.taken(), hear)
    }

    /// The same until `go_on` says no, which is asked all along.
    pub(super) fn listen_while(&mut self, go_on: impl Fn() -> bool, hear: &mut Hear<'_>) -> Result<(), Stop> {
        while self.subscriptions() > 0 && go_on() && self.hear_some(hear)? {}
        Ok(())
    }

    /// Hears what MONITOR tells, until Ctrl-C. That has a connection of its own: one that monitors does nothing else.
    pub(super) fn monitor(&mut self, words: &[Vec<u8>], hear: &mut Hear<'_>) -> Result<(), Failure> {
        let unsent = |error: ClientError| Failure::Unsent(error.to_string());
        let login = self.session().map_err(unsent)?.login().clone();
        let mut connection = self.target.with_login(login).open().map_err(unsent)?;
        let args: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
        let mut told = connection.send(&args).map(|()| None::<Value>);
        while !self.interrupts.taken() {
            match told.map_err(unsent)? {
                Some(line) => {
                    hear(Heard::Push(&line))?;
                    if line.is_error() {
                        break;
                    }
                    told = connection.try_receive();
                }
                None => {
                    hear(Heard::Pause)?;
                    told = connection.receive_until(Instant::now() + Interrupts::LOOK);
                }
            }
        }
        Ok(())
    }

    /// Hears what comes within a moment. False when the server refuses to go on.
    fn hear_some(&mut self, hear: &mut Hear<'_>) -> Result<bool, Stop> {
        let Some(session) = &mut self.session else { return Ok(false) };
        // A time in the past gives what was read already.
        let mut news = session.next_push(Some(Instant::now()));
        if matches!(news, Ok(None)) {
            hear(Heard::Pause)?;
            let now = Instant::now();
            let until = match session.retry_at() {
                None => now + Interrupts::LOOK,
                Some(at) if at > now => at.min(now + Interrupts::LOOK),
                Some(_) => now + ATTEMPT,
            };
            news = session.next_push(Some(until));
        }
        match news {
            Ok(Some(News::Event(push))) => hear(Heard::Push(&push))?,
            Ok(Some(News::Lost(error))) => hear(Heard::Notice(format!("{error}; trying again")))?,
            Ok(Some(News::Restored(restored))) => hear(Heard::Notice(show::restored(&restored)))?,
            Ok(None) => {}
            Err(error) => {
                let words = self.refused(&error);
                hear(Heard::Notice(words))?;
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The session. The first connection finds out what the server understands.
    fn session(&mut self) -> Result<&mut Session, ClientError> {
        let session = match self.session.take() {
            Some(session) => session,
            None => self.first()?,
        };
        Ok(self.session.insert(session))
    }

    fn first(&mut self) -> Result<Session, ClientError> {
        let wanted = self.target.login();
        match self.target.clone().session() {
            Err(ClientError::Login(words)) if wants_password(&words) && wanted.password.is_none() => {
                let plain = Login { sbe: wanted.sbe, ..Login::default() };
                let session = self.target.with_login(plain).session()?;
                show::notice("the server wants a password first: AUTH [user] password");
                self.owed = Some(wanted.clone());
                Ok(session)
            }
            opened => opened,
        }
    }

    /// Words for a failure, after which the next attempt does without what the server refuses.
    fn refused(&mut self, error: &ClientError) -> String {
        match (error, &mut self.session) {
            (ClientError::Refused(_), Some(session)) => {
                session.forget_subscriptions();
                format!("{error}; the subscriptions are given up")
            }
            // A password can be typed on a new connection.
            (ClientError::Login(words), Some(session)) if wants_password(words) => {
                let login = Login { user: None, password: None, ..session.login().clone() };
                self.target = self.target.with_login(login);
                self.session = None;
                error.to_string()
            }
            _ => error.to_string(),
        }
    }

    /// Sets up what had to wait for the password.
    fn pay(&mut self) {
        let (Some(session), Some(owed)) = (&mut self.session, self.owed.take()) else { return };
        let Login { user, password, .. } = session.login().clone();
        if let Err(error) = session.log_in(Login { user, password, ..owed }) {
            show::notice(error);
        }
    }
}

fn wants_password(words: &str) -> bool {
    words.starts_with(CommandError::NoAuth.code())
}
