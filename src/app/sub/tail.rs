//! From a subscribed session to lines.
//!
//! Invariant: what was received is printed before a gap or an end is told.
//! Deliberately unknown here: what was subscribed to.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use super::overlap::Overlap;
use super::rates::Rates;
use super::show::{self, Form, Message, Output, Stamp};
use super::{Stop, watch};
use crate::client::{self, ClientError, Event, News, Session};
use crate::error::{Error, Exit};

/// Messages after which it is looked at the clock when they come without a pause.
const CLOCK_EVERY: u64 = 256;

/// How messages are to look, and which.
#[derive(Debug)]
pub(super) struct Shown {
    pub(super) form: Form,
    pub(super) timestamps: bool,
    pub(super) delta: bool,
    pub(super) dedup: bool,
}

/// A tail of messages.
pub(super) struct Tail {
    session: Session,
    output: Output,
    shown: Shown,
    /// Messages after which it ends.
    wanted: Option<u64>,
    reconnects: bool,
    /// Shared with whoever tells them when Ctrl-C ends it.
    rates: Option<Arc<Mutex<Rates>>>,
    overlap: Overlap,
    received: u64,
    last: Option<Instant>,
}

impl Tail {
    pub(super) fn new(session: Session, shown: Shown, wanted: Option<u64>, reconnects: bool, rate: bool) -> Self {
        Tail {
            session,
            output: Output::standard(),
            shown,
            wanted,
            reconnects,
            rates: rate.then(|| Arc::new(Mutex::new(Rates::new(Instant::now())))),
            overlap: Overlap::default(),
            received: 0,
            last: None,
        }
    }

    /// Prints until the count is reached, the time is over, or the connection is lost and nobody wants another.
    pub(super) fn run(mut self, begun: Instant, deadline: Option<Instant>) -> Result<Exit, Stop> {
        if let Some(rates) = self.rates.clone() {
            watch::say_when_interrupted(move || {
                show::end_line_of_interrupt();
                tell_all(&rates);
            });
        }
        let pumped = self.pump(begun, deadline);
        self.output.flush()?;
        if let Some(rates) = &self.rates {
            tell_all(rates);
        }
        pumped
    }

    fn pump(&mut self, begun: Instant, deadline: Option<Instant>) -> Result<Exit, Stop> {
        loop {
            // A time in the past gives what has been received already, and none when that is all.
            let news = match self.session.next(Some(begun))? {
                Some(news) => Some(news),
                None => {
                    self.output.flush()?;
                    let due = self.rates.as_ref().map(|rates| lock(rates).due());
                    let wake = deadline.into_iter().chain(due).min();
                    watch::waiting(|| self.session.next(wake))?
                }
            };
            let is_idle = news.is_none();
            match news {
                Some(News::Event(Event::Message(message))) => self.message(&message)?,
                Some(News::Event(_)) | None => {}
                Some(News::Lost(error)) => self.lost(error)?,
                Some(News::Restored(restored)) => show::notice(show::restored(&restored)),
            }
            if self.wanted == Some(self.received) {
                return Ok(Exit::Done);
            }
            if is_idle || self.rates.is_some() || self.received.is_multiple_of(CLOCK_EVERY) {
                let now = Instant::now();
                if let Some(mut rates) = self.rates.as_ref().map(lock).filter(|rates| now >= rates.due()) {
                    rates.report(now).iter().for_each(show::notice);
                }
                if deadline.is_some_and(|deadline| now >= deadline) {
                    return Ok(self.timed_out());
                }
            }
        }
    }

    fn message(&mut self, message: &client::Message) -> Result<(), Stop> {
        if self.shown.dedup && self.overlap.is_repeated(message) {
            return Ok(());
        }
        if let Some(rates) = &self.rates {
            lock(rates).add(&message.channel, message.payload.len());
        }
        let time = self.shown.timestamps.then(SystemTime::now);
        let delta = self.shown.delta.then(|| self.since_the_last());
        let shown = Message {
            pattern: message.pattern.as_deref(),
            channel: &message.channel,
            payload: &message.payload,
            number: message.number,
        };
        self.output.message(&shown, Stamp { time, delta }, &self.shown.form)?;
        self.received += 1;
        Ok(())
    }

    fn since_the_last(&mut self) -> Duration {
        let now = Instant::now();
        let last = self.last.replace(now).unwrap_or(now);
        now.saturating_duration_since(last)
    }

    fn lost(&mut self, error: ClientError) -> Result<(), Stop> {
        self.output.flush()?;
        if !self.reconnects {
            return Err(Error::from(error).into());
        }
        self.overlap.forget();
        show::notice(format_args!("{error}; trying again"));
        Ok(())
    }

    fn timed_out(&self) -> Exit {
        match self.wanted {
            _ if !self.session.is_connected() => Exit::Lost,
            None if self.received > 0 => Exit::Done,
            _ => Exit::TimedOut,
        }
    }
}

fn lock(rates: &Arc<Mutex<Rates>>) -> MutexGuard<'_, Rates> {
    rates.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The last report, and the line of everything.
fn tell_all(rates: &Arc<Mutex<Rates>>) {
    let now = Instant::now();
    let mut rates = lock(rates);
    rates.report(now).iter().for_each(show::notice);
    show::notice(rates.summary(now));
}
