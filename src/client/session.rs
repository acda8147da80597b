//! A connection that comes back: when it is lost, another is made the same.
//!
//! Invariant: no request is ever sent twice. One whose answer is missing may have been executed, and that is said.
//! Invariant: a request is not sent into a state other than the one it was meant for: when a transaction or a watch was
//! lost, that is told before anything else is sent.
//! Invariant: each loss is told once, and so is each return, with what could not be brought back.
//! Deliberately unknown here: whether a lost connection is worth coming back to; that is the caller's to say.

use std::collections::{BTreeSet, VecDeque};
use std::thread;
use std::time::{Duration, Instant};

use super::back_off::BackOff;
use super::state::{Loss, State};
use super::{Address, ClientError, Connection, Event, Kind, Login};
use crate::limits;
use crate::protocol::resp::Value;

/// A connection that restores dialect, user, name, database and subscriptions when it was lost.
///
/// What is set otherwise (transactions, watched keys, CLIENT TRACKING and the like) is not restored, but named: see
/// [`Loss`].
#[derive(Debug)]
pub struct Session {
    address: Address,
    state: State,
    /// None while it is lost.
    connection: Option<Connection>,
    since: Instant,
    /// When the next attempt may begin.
    not_before: Instant,
    attempts: u32,
    back_off: BackOff,
    timeout: Option<Duration>,
    attempt_timeout: Duration,
    loss: Loss,
    notice: Option<Restored>,
    news: VecDeque<News>,
}

/// The connection is back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Restored {
    /// How long there was none.
    pub away: Duration,
    /// Attempts it took.
    pub attempts: u32,
    /// What could not be brought back.
    pub loss: Loss,
}

/// What happens to somebody who listens.
#[derive(Debug)]
pub enum News {
    /// The server pushed something.
    Event(Event),
    /// The connection is lost. Whoever goes on listening waits for another.
    Lost(ClientError),
    /// Another is there, and all subscriptions are in force again. What was published in between is lost.
    Restored(Restored),
}

impl Session {
    /// Connects and logs in, within `timeout`, which later attempts have as well.
    ///
    /// # Errors
    /// Those of [`Connection::open`]; a server that is not there at first is not waited for.
    pub fn open(address: Address, login: Login, timeout: Duration) -> Result<Self, ClientError> {
        let connection = Connection::open(&address, &login, Some(timeout))?;
        Ok(Session::of(connection, address, login, timeout))
    }

    /// Takes over a connection to `address` that was just set up as `login` says. Attempts to make another take
    /// `timeout` at most.
    pub fn of(connection: Connection, address: Address, login: Login, timeout: Duration) -> Self {
        let now = Instant::now();
        Session {
            address,
            state: State::new(login),
            connection: Some(connection),
            since: now,
            not_before: now,
            attempts: 0,
            back_off: BackOff::new(),
            timeout: None,
            attempt_timeout: timeout,
            loss: Loss::default(),
            notice: None,
            news: VecDeque::new(),
        }
    }

    /// How long [`Session::call`] and [`Session::subscribe`] wait for each answer from now on.
    pub fn set_timeout(&mut self, timeout: Option<Duration>) {
        self.timeout = timeout;
        if let Some(connection) = &mut self.connection {
            connection.set_timeout(timeout);
        }
    }

    /// Where the server is.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Dialect, user, name and database, as they are now.
    pub fn login(&self) -> &Login {
        self.state.login()
    }

    /// True between MULTI and EXEC or DISCARD.
    pub fn in_transaction(&self) -> bool {
        self.state.in_transaction()
    }

    /// What is subscribed to, in order.
    pub fn subscriptions(&self, kind: Kind) -> &BTreeSet<Vec<u8>> {
        self.state.names(kind)
    }

    /// False while the connection is known to be lost.
    pub fn is_connected(&self) -> bool {
        self.connection.is_some()
    }

    /// The notice of the last return, once.
    pub fn take_notice(&mut self) -> Option<Restored> {
        self.notice.take()
    }

    /// Sends one request and waits for its answer, as [`Connection::call`] does. When the connection is known to be
    /// lost, one attempt is made to get another first; [`Session::take_notice`] then tells what became of it.
    ///
    /// # Errors
    /// [`ClientError::Connect`] or [`ClientError::Login`]: nothing was sent. [`ClientError::Forgotten`]: nothing was
    /// sent, because a transaction or a watch was lost; told once. [`ClientError::Lost`]: whether it was executed is
    /// not known. [`ClientError::TimedOut`].
    pub fn call(&mut self, args: &[&[u8]]) -> Result<Value, ClientError> {
        if self.connection.as_mut().is_some_and(Connection::is_ended) {
            self.give_up();
        }
        if self.connection.is_none() {
            let restored = self.attempt(self.attempt_timeout)?;
            let untold = self.notice.map_or(Loss::default(), |notice| notice.loss);
            self.notice = Some(Restored { loss: restored.loss.and(untold), ..restored });
            if restored.loss.transaction || restored.loss.watched_keys {
                return Err(ClientError::Forgotten(restored.loss));
            }
        }
        let Some(connection) = &mut self.connection else {
            return Err(ClientError::Lost { inside_message: false, cause: None });
        };
        match connection.call(args) {
            Ok(answer) => {
                self.state.answered(args, &answer);
                Ok(answer)
            }
            Err(error) if is_loss(&error) => {
                self.give_up();
                self.loss.answer = true;
                Err(error)
            }
            Err(error) => Err(error),
        }
    }

    /// Joins channels, patterns or shard channels, and waits until all of it is in force.
    ///
    /// # Errors
    /// [`ClientError::Refused`], and those of [`Session::call`].
    pub fn subscribe<A: AsRef<[u8]>>(&mut self, kind: Kind, names: &[A]) -> Result<(), ClientError> {
        let Some(connection) = &mut self.connection else {
            return Err(ClientError::Lost { inside_message: false, cause: None });
        };
        let joined = connection.subscribe(kind, names);
        match &joined {
            Ok(()) => self.state.joined(kind, names),
            Err(error) if is_loss(error) => self.give_up(),
            Err(_) => {}
        }
        joined
    }

    /// Waits for what happens next, until `deadline` or as long as it takes; none when nothing did by then. A time in
    /// the past gives what was read already. While the connection is lost, attempts to get another are made here.
    ///
    /// # Errors
    /// A server that is there and refuses user, password, database or a subscription; a message that is none.
    pub fn next(&mut self, deadline: Option<Instant>) -> Result<Option<News>, ClientError> {
        if let Some(news) = self.news.pop_front() {
            return Ok(Some(news));
        }
        let Some(connection) = &mut self.connection else {
            return Ok(self.reconnect(deadline)?.map(News::Restored));
        };
        match connection.next_push(deadline) {
            Ok(Some(push)) => Ok(Some(News::Event(Event::of(push)?))),
            Ok(None) => Ok(None),
            Err(error) if is_loss(&error) => {
                self.give_up();
                Ok(Some(News::Lost(error)))
            }
            Err(error) => Err(error),
        }
    }

    /// What happens, as it does.
    pub fn news(&mut self) -> impl Iterator<Item = Result<News, ClientError>> {
        std::iter::from_fn(|| self.next(None).transpose())
    }

    /// Makes attempts until one succeeds, with longer and longer waits between them, none of which goes past the
    /// deadline. None when there was no success by then.
    ///
    /// # Errors
    /// A server that is there and refuses user, password, database or a subscription.
    pub fn reconnect(&mut self, deadline: Option<Instant>) -> Result<Option<Restored>, ClientError> {
        loop {
            let now = Instant::now();
            let begin = deadline.map_or(self.not_before, |deadline| self.not_before.min(deadline));
            thread::sleep(begin.saturating_duration_since(now));
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return Ok(None);
            }
            match self.attempt(left.map_or(self.attempt_timeout, |left| left.min(self.attempt_timeout))) {
                Ok(restored) => return Ok(Some(restored)),
                Err(error) if is_passing(&error) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// One attempt to make another connection the same.
    fn attempt(&mut self, timeout: Duration) -> Result<Restored, ClientError> {
        self.attempts = self.attempts.saturating_add(1);
        let mut connection = match self.remake(timeout) {
            Ok(connection) => connection,
            Err(error) => {
                self.not_before = Instant::now() + self.back_off.wait();
                return Err(error);
            }
        };
        connection.set_timeout(self.timeout);
        self.connection = Some(connection);
        let now = Instant::now();
        let away = now.saturating_duration_since(std::mem::replace(&mut self.since, now));
        Ok(Restored { away, attempts: std::mem::take(&mut self.attempts), loss: std::mem::take(&mut self.loss) })
    }

    fn remake(&self, timeout: Duration) -> Result<Connection, ClientError> {
        let mut connection = Connection::open(&self.address, self.state.login(), Some(timeout))?;
        connection.set_timeout(Some(timeout));
        for kind in Kind::ALL {
            let names: Vec<&Vec<u8>> = self.state.names(kind).iter().collect();
            connection.subscribe(kind, &names)?;
        }
        Ok(connection)
    }

    /// Lets go of a connection that is lost; what it still brought is kept.
    fn give_up(&mut self) {
        let now = Instant::now();
        if let Some(mut connection) = self.connection.take() {
            while let Ok(Some(push)) = connection.next_push(Some(now)) {
                self.news.extend(Event::of(push).ok().map(News::Event));
            }
        }
        // A server that ends every connection soon is come back to ever more slowly.
        if now.saturating_duration_since(self.since) > limits::RECONNECT_WAIT_MAX {
            self.back_off.reset();
        }
        self.not_before = now + self.back_off.wait();
        self.since = now;
        self.loss = self.state.lose();
    }
}

fn is_loss(error: &ClientError) -> bool {
    matches!(error, ClientError::Lost { .. } | ClientError::Protocol(_))
}

/// Whether another attempt may fare better.
fn is_passing(error: &ClientError) -> bool {
    match error {
        ClientError::Connect { .. } | ClientError::Lost { .. } | ClientError::TimedOut => true,
        // A server that is just starting, or that is full.
        ClientError::Login(words) | ClientError::Refused(words) => {
            const PASSING: [&str; 4] = ["LOADING", "BUSY", "MASTERDOWN", "TRYAGAIN"];
            let code = words.split(' ').next().unwrap_or_default();
            PASSING.contains(&code) || words.contains("max number of clients")
        }
        ClientError::Protocol(_) | ClientError::OddMessage | ClientError::Forgotten(_) => false,
    }
}
