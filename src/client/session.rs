//! A connection that comes back: when it is lost, another is made the same.
//!
//! Invariant: no request is ever sent twice. One whose answer is missing may have been executed, and that is said.
//! Invariant: a request is not sent into a state other than the one it was meant for: when a transaction or a watch was
//! lost, that is told before anything else is sent.
//! Invariant: each loss is told once, and so is each return, with what could not be brought back.
//! Deliberately unknown here: whether a lost connection is worth coming back to; that is the caller's to say.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::thread;
use std::time::{Duration, Instant};

use super::back_off::BackOff;
use super::dialogue::Awaited;
use super::state::{Loss, Meaning, State};
use super::stream::Wait;
use super::{Address, ClientError, Connection, Event, JoinedAt, Kind, Login, Message};
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
    /// What a lost connection still brought.
    pushes: VecDeque<Value>,
    /// Where the numbers of messages stand, for each name that was joined with numbers.
    heard: [HashMap<Vec<u8>, Heard>; 3],
    /// The request whose answer was not given yet.
    unanswered: Option<(Meaning, Awaited)>,
}

/// What was heard under one name.
#[derive(Debug, Clone, Copy)]
struct Heard {
    run: u64,
    last: u64,
}

/// The connection is back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// How long there was none.
    pub away: Duration,
    /// Attempts it took.
    pub attempts: u32,
    /// What could not be brought back.
    pub loss: Loss,
    /// How many messages were missed, if they have numbers and the server is the same run.
    pub missed: Option<Missed>,
}

/// Messages that were published while there was no connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Missed {
    /// So many, of all channels and patterns together.
    pub messages: u64,
    /// It may be less: a channel or a pattern had no other subscriber, and the server did not go on counting.
    pub at_most: bool,
}

/// What happens to somebody who listens. Pushes are read, or values as they came.
#[derive(Debug)]
pub enum News<P = Event> {
    /// The server pushed something.
    Event(P),
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
            pushes: VecDeque::new(),
            heard: Default::default(),
            unanswered: None,
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

    /// While the connection is known to be lost: when [`Session::next`] makes the next attempt. One whose deadline is
    /// before that costs none.
    pub fn retry_at(&self) -> Option<Instant> {
        if self.connection.is_some() { None } else { Some(self.not_before) }
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
        self.send(args)?;
        let deadline = self.timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        self.answer(deadline)?.ok_or_else(|| {
            self.abandon();
            ClientError::TimedOut
        })
    }

    /// The first half of [`Session::call`], for those who look at something else while they wait: sends, and leaves the
    /// answer to [`Session::answer`].
    ///
    /// # Errors
    /// As [`Session::call`].
    pub fn send(&mut self, args: &[&[u8]]) -> Result<(), ClientError> {
        self.abandon();
        if self.connection.as_mut().is_some_and(Connection::is_ended) {
            self.give_up();
        }
        if self.connection.is_none() {
            let Restored { away, attempts, loss, missed } = self.attempt(self.attempt_timeout)?;
            let untold = self.notice.take().map_or(Loss::default(), |notice| notice.loss);
            self.notice = Some(Restored { away, attempts, loss: loss.clone().and(untold), missed });
            if loss.transaction.is_some() || loss.watched_keys {
                return Err(ClientError::Forgotten(loss));
            }
        }
        let Some(connection) = &mut self.connection else { return Err(no_connection()) };
        connection.send(args).map_err(|error| self.lose_answer(error))?;
        let awaited = Awaited::to(args).confirmed(self.state.confirmations(args));
        self.unanswered = Some((Meaning::of(args), awaited));
        Ok(())
    }

    /// Waits for the answer to what was sent, until `deadline` or as long as it takes; none when it was not there by
    /// then, or when nothing was sent. It may be waited for again.
    ///
    /// # Errors
    /// As [`Session::call`].
    pub fn answer(&mut self, deadline: Option<Instant>) -> Result<Option<Value>, ClientError> {
        let Some((meaning, mut awaited)) = self.unanswered.take() else { return Ok(None) };
        let Some(connection) = &mut self.connection else { return Err(no_connection()) };
        let answer = connection.answer_in(&mut awaited, deadline.map_or(Wait::Forever, Wait::Until));
        match answer.map_err(|error| self.lose_answer(error))? {
            Some(answer) => {
                self.state.answered(meaning, &answer);
                Ok(Some(answer))
            }
            None => {
                self.unanswered = Some((meaning, awaited));
                Ok(None)
            }
        }
    }

    /// Waits no longer for the answer to what was sent; it is dropped when it comes.
    pub fn abandon(&mut self) {
        if let (Some((_, awaited)), Some(connection)) = (self.unanswered.take(), &mut self.connection) {
            connection.abandon(awaited);
        }
    }

    /// The pushes that came before the last answer, or so far while it is waited for, and were not given yet.
    pub fn take_pushes(&mut self) -> Vec<Value> {
        let kept = self.connection.as_mut().map(Connection::take_pushes);
        self.pushes.drain(..).chain(kept.into_iter().flatten()).collect()
    }

    /// Lets go of the connection, as if it had been lost. What is done next makes another.
    pub fn disconnect(&mut self) {
        if self.connection.is_some() {
            let has_unanswered = self.unanswered.take().is_some();
            self.give_up();
            self.loss.answer = has_unanswered;
        }
    }

    /// Logs in anew, in one round trip; a later connection does so, too.
    ///
    /// # Errors
    /// As [`Connection::log_in`].
    pub fn log_in(&mut self, login: Login) -> Result<(), ClientError> {
        let Some(connection) = &mut self.connection else { return Err(no_connection()) };
        let logged_in = connection.log_in(&login);
        match &logged_in {
            Ok(()) => self.state.logged_in(login),
            Err(error) if is_loss(error) => self.give_up(),
            Err(_) => {}
        }
        logged_in
    }

    /// Gives up all subscriptions that another connection would have to restore: for a server that refuses them.
    pub fn forget_subscriptions(&mut self) {
        self.state.forget_subscriptions();
    }

    /// Joins channels, patterns or shard channels, and waits until all of it is in force.
    ///
    /// # Errors
    /// [`ClientError::Refused`], and those of [`Session::call`].
    pub fn subscribe<A: AsRef<[u8]>>(&mut self, kind: Kind, names: &[A]) -> Result<(), ClientError> {
        let Some(connection) = &mut self.connection else { return Err(no_connection()) };
        let joined = connection.join(kind, names);
        match joined {
            Ok(confirmations) => {
                self.state.joined(kind, names);
                self.compare(confirmations);
                Ok(())
            }
            Err(error) => {
                if is_loss(&error) {
                    self.give_up();
                }
                Err(error)
            }
        }
    }

    /// Takes notice of the numbers of what was joined, and tells what was missed since they were seen last.
    fn compare(&mut self, confirmations: Vec<Value>) -> Option<Missed> {
        let mut missed = Some(Missed::default());
        for confirmation in confirmations {
            let Ok(Event::Joined { kind, name, at, .. }) = Event::of(confirmation) else { continue };
            let Some(JoinedAt { run, last, base }) = at else {
                missed = None;
                continue;
            };
            let before = self.heard[kind as usize].insert(name, Heard { run, last });
            missed = match (missed, before) {
                (Some(missed), Some(before)) if before.run == run => Some(Missed {
                    messages: missed.messages + last.saturating_sub(before.last),
                    at_most: missed.at_most || before.last < base,
                }),
                _ => None,
            };
        }
        missed
    }

    fn hear(&mut self, event: &Event) {
        match event {
            Event::Message(Message { kind, pattern, channel, number: Some(number), .. }) => {
                if let Some(heard) = self.heard[*kind as usize].get_mut(pattern.as_ref().unwrap_or(channel)) {
                    heard.last = *number;
                }
            }
            Event::Left { kind, name: Some(name), .. } => drop(self.heard[*kind as usize].remove(name)),
            _ => {}
        }
    }

    /// Waits for what happens next, until `deadline` or as long as it takes; none when nothing did by then. A time in
    /// the past gives what was read already. While the connection is lost, attempts to get another are made here.
    ///
    /// # Errors
    /// A server that is there and refuses user, password, database or a subscription; a message that is none.
    pub fn next(&mut self, deadline: Option<Instant>) -> Result<Option<News>, ClientError> {
        Ok(match self.next_push(deadline)? {
            Some(News::Event(push)) => {
                let event = Event::of(push)?;
                self.hear(&event);
                Some(News::Event(event))
            }
            Some(News::Lost(error)) => Some(News::Lost(error)),
            Some(News::Restored(restored)) => Some(News::Restored(restored)),
            None => None,
        })
    }

    /// As [`Session::next`], with pushes as they came.
    ///
    /// # Errors
    /// A server that is there and refuses user, password, database or a subscription.
    pub fn next_push(&mut self, deadline: Option<Instant>) -> Result<Option<News<Value>>, ClientError> {
        if let Some(push) = self.pushes.pop_front() {
            return Ok(Some(News::Event(push)));
        }
        let Some(connection) = &mut self.connection else {
            return Ok(self.reconnect(deadline)?.map(News::Restored));
        };
        match connection.next_push(deadline) {
            Ok(push) => Ok(push.map(News::Event)),
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
        let (mut connection, confirmations) = match self.remake(timeout) {
            Ok(remade) => remade,
            Err(error) => {
                self.not_before = Instant::now() + self.back_off.wait();
                return Err(error);
            }
        };
        connection.set_timeout(self.timeout);
        self.connection = Some(connection);
        let now = Instant::now();
        let away = now.saturating_duration_since(std::mem::replace(&mut self.since, now));
        let missed = if confirmations.is_empty() { None } else { self.compare(confirmations) };
        let (attempts, mut loss) = (std::mem::take(&mut self.attempts), std::mem::take(&mut self.loss));
        loss.messages &= missed.is_none_or(|missed| missed.messages > 0);
        Ok(Restored { away, attempts, loss, missed })
    }

    fn remake(&self, timeout: Duration) -> Result<(Connection, Vec<Value>), ClientError> {
        let mut connection = Connection::open(&self.address, self.state.login(), Some(timeout))?;
        connection.set_timeout(Some(timeout));
        let mut confirmations = Vec::new();
        for kind in Kind::ALL {
            let names: Vec<&Vec<u8>> = self.state.names(kind).iter().collect();
            confirmations.extend(connection.join(kind, &names)?);
        }
        Ok((connection, confirmations))
    }

    /// Lets go of a connection that is lost; what it still brought is kept.
    fn give_up(&mut self) {
        let now = Instant::now();
        if let Some(mut connection) = self.connection.take() {
            while let Ok(Some(push)) = connection.next_push(Some(now)) {
                self.pushes.push_back(push);
            }
        }
        // A server that ends every connection soon is come back to ever more slowly.
        if now.saturating_duration_since(self.since) > limits::RECONNECT_WAIT_MAX {
            self.back_off.reset();
        }
        self.not_before = now + self.back_off.wait();
        self.since = now;
        self.unanswered = None;
        self.loss = self.state.lose();
    }

    /// The answer to a request is lost if the connection is.
    fn lose_answer(&mut self, error: ClientError) -> ClientError {
        if is_loss(&error) {
            self.give_up();
            self.loss.answer = true;
        }
        error
    }
}

fn no_connection() -> ClientError {
    ClientError::Lost { inside_message: false, cause: None }
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
