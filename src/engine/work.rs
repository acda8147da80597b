//! Commands that take long, worked off in slices between the turns of others.
//!
//! ```text
//! command ──▶ Engine::work_off ──▶ Reply::Pending     the values it reads are held as they are
//!                  session: Engine::go_on, a slice each, until it answers
//!                     └─▶ what was read is answered; what was made is stored
//! ```
//!
//! Invariant: to others a command happens at one moment. What only reads answers for the moment it began. What stores
//! does so at its end, and only if every value it was made of is still what the key holds; otherwise it begins anew,
//! and in the end runs at once, so that steady writers cannot keep it from ending.
//! Invariant: inside a transaction, and for whoever calls [`Engine::execute`], nothing is left for later.
//!
//! Deliberately unknown here: what is computed, and the clock.

use std::fmt;

use crate::command::{Command, OwnedArgs, Spec};
use crate::limits::WORK_ATTEMPTS_MAX;
use crate::reply::{Collection, Reply};

use super::caller::Caller;
use super::host::{Host, Now, ProcessRequest};
use super::set::Set;
use super::usage::Tracker;
use super::value::Value;
use super::{Engine, Turn, sets};

/// Something to be computed slice by slice.
pub(super) trait Task: fmt::Debug {
    /// Does some 50 microseconds of work; what came of it once nothing is left to do.
    fn advance(&mut self, engine: &mut Engine) -> Option<Done>;

    /// What it has read and made so far, for it is no longer wanted.
    fn into_sets(self: Box<Self>) -> Vec<Set> {
        Vec::new()
    }
}

/// What a task ends in.
#[derive(Debug)]
pub(super) enum Done {
    /// An answer.
    Answer(Reply<'static>),
    /// Sets take so many bytes less.
    Optimized(usize),
    /// Members to be told.
    Members(Collection, Set),
    /// A string for a key (BITOP).
    StoredString { key: Box<[u8]>, string: Vec<u8> },
    /// A set for a key, and the event that tells of it.
    StoredSet { key: Box<[u8]>, set: Set, event: &'static str },
    /// What a set becomes, and what was taken out of it (SPOP).
    Popped { key: Box<[u8]>, left: Set, popped: Set },
}

/// A value that something to be stored is made of; none where the key was absent.
pub(super) type Source = (Box<[u8]>, Option<Value>);

/// A command under way.
#[derive(Debug)]
pub struct Work {
    task: Box<dyn Task>,
    sources: Vec<Source>,
    /// How often it has begun anew.
    attempt: u8,
    /// The command, to begin anew with.
    request: Option<(&'static Spec, OwnedArgs)>,
}

impl Work {
    /// Whether it will store something.
    pub fn stores(&self) -> bool {
        !self.sources.is_empty()
    }

    /// Remembers the command it is.
    pub(super) fn belongs_to(&mut self, spec: &'static Spec, args: OwnedArgs) {
        self.request = Some((spec, args));
    }
}

impl Engine {
    /// Begins a task: its answer, or [`Reply::Pending`] where it may be worked off later. `sources` are the values
    /// that what it stores is made of; none when it only reads.
    pub(super) fn work_off<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        sources: Vec<Source>,
        mut task: Box<dyn Task>,
    ) -> Reply<'static> {
        if turn.attempt < WORK_ATTEMPTS_MAX {
            let attempt = turn.attempt;
            turn.caller.work = Some(Box::new(Work { task, sources, attempt, request: None }));
            return Reply::Pending;
        }
        loop {
            if let Some(done) = task.advance(self) {
                self.forget_work(sources, task);
                return self.conclude(turn, done);
            }
        }
    }

    /// Goes on with what [`Reply::Pending`] left to be done: one slice of some 50 microseconds. When that was the last,
    /// tells which command it was, what it was asked and what it answers; none before.
    pub fn go_on<'e, H: Host>(
        &'e mut self,
        caller: &mut Caller,
        now: Now,
        host: &mut H,
    ) -> Option<(&'static Spec, OwnedArgs, Reply<'e>)> {
        let done = caller.work.as_mut()?.task.advance(self)?;
        let Work { task, sources, attempt, request } = *caller.work.take()?;
        let (spec, args) = request?;
        self.tracker = Tracker::new(now.unix_us, &self.settings.eviction);
        let is_current = sources.iter().all(|(key, held)| self.still_holds(caller.db, key, held.as_ref(), now));
        self.forget_work(sources, task);
        if is_current {
            let turn = &mut Turn { caller, now, host, attempt };
            return Some((spec, args, self.conclude(turn, done)));
        }
        self.dispose_done(done);
        let reply = match Command::parse(spec, args.as_args()) {
            Ok(command) => self.attempt(caller, &command, now, host, attempt + 1),
            Err(error) => Reply::Error(error),
        };
        match caller.work.as_mut() {
            Some(work) => {
                work.belongs_to(spec, args);
                None
            }
            None => Some((spec, args, reply)),
        }
    }

    /// Drops a command under way; nothing has come of it.
    pub(super) fn abandon_work(&mut self, caller: &mut Caller) {
        if let Some(work) = caller.work.take() {
            self.forget_work(work.sources, work.task);
        }
    }

    fn still_holds(&self, db: u16, key: &[u8], held: Option<&Value>, now: Now) -> bool {
        let value = self.databases[usize::from(db)].get(self.key(key), now.unix_ms());
        match (value, held) {
            (Some(value), Some(held)) => value.is(held),
            (value, held) => value.is_none() && held.is_none(),
        }
    }

    fn conclude<H: Host>(&mut self, turn: &mut Turn<'_, H>, done: Done) -> Reply<'static> {
        match done {
            Done::Answer(reply) => reply,
            Done::Optimized(saved) => {
                // What rebuilding took and let go of is not to stay.
                let _ = turn.host.ask(ProcessRequest::PurgeMemory);
                Reply::count(saved)
            }
            Done::Members(collection, set) => sets::members_of(collection, set),
            Done::StoredString { key, string } => self.store_bits(turn, &key, string),
            Done::StoredSet { key, set, event } => self.store_set(turn, &key, set, event),
            Done::Popped { key, left, popped } => {
                self.keep_members(turn, &key, left);
                sets::members_of(Collection::Set, popped)
            }
        }
    }

    fn forget_work(&mut self, sources: Vec<Source>, task: Box<dyn Task>) {
        sources.into_iter().filter_map(|(_, value)| value).for_each(|value| self.dispose(value));
        task.into_sets().into_iter().for_each(|set| self.dispose(Value::set(set)));
    }

    fn dispose_done(&mut self, done: Done) {
        match done {
            Done::Answer(_) | Done::Optimized(_) | Done::StoredString { .. } => {}
            Done::Members(_, set) | Done::StoredSet { set, .. } => self.dispose(Value::set(set)),
            Done::Popped { left, popped, .. } => {
                [left, popped].into_iter().for_each(|set| self.dispose(Value::set(set)))
            }
        }
    }
}

/// A value for [`Source`]; the key as its owner.
pub(super) fn source(key: &[u8], value: Option<&Value>) -> Source {
    (key.into(), value.cloned())
}
