//! The part of a session that commands may read and change.

use crate::command::{CommandId, OwnedArgs, Spec};
use crate::reply::CommandError;
use crate::topics::Membership;

use super::host::{ClientFacts, ClientId, SubscriberId};
use super::work::Work;

/// The connection a command came from, as far as the engine is concerned.
#[derive(Debug)]
pub struct Caller {
    /// The connection.
    pub id: ClientId,
    /// Where its pushes go.
    pub subscriber: SubscriberId,
    /// RESP version of its replies, 2 or 3, or [`Caller::NO_RESP`].
    pub resp: u8,
    /// Most entries one reply can hold: less than all where the protocol has a bound. A command that would answer more
    /// after it changed something is refused before it does.
    pub entries_max: u32,
    /// Selected database.
    pub db: u16,
    /// Connected from this machine.
    pub local: bool,
    /// True once a password was given, or when none is needed.
    pub authenticated: bool,
    /// Set by QUIT and by CLIENT KILL of itself: the session ends once its outbox is sent.
    pub closing: bool,
    /// Whether replies are sent.
    pub replies: ReplyMode,
    /// CLIENT NO-EVICT and CLIENT NO-TOUCH.
    pub no_evict: bool,
    /// See [`Caller::no_evict`].
    pub no_touch: bool,
    /// Watches the commands of all (MONITOR).
    pub monitor: bool,
    /// Over SBE: messages are to come with their numbers.
    pub numbered: bool,
    /// A transaction being queued or run.
    pub transaction: Option<Box<Transaction>>,
    /// A command under way, see [`crate::reply::Reply::Pending`].
    pub work: Option<Box<Work>>,
    /// What is rarely set.
    pub extras: Option<Box<Extras>>,
}

/// What most connections never have, behind one pointer.
#[derive(Debug, Default)]
pub struct Extras {
    /// CLIENT SETNAME.
    pub name: Box<[u8]>,
    /// CLIENT SETINFO LIB-NAME.
    pub lib_name: Box<[u8]>,
    /// CLIENT SETINFO LIB-VER.
    pub lib_version: Box<[u8]>,
    /// Channels, patterns and sharded channels joined.
    pub channels: Membership,
    /// See [`Extras::channels`].
    pub patterns: Membership,
    /// See [`Extras::channels`].
    pub shards: Membership,
    /// Keys under WATCH, with their databases.
    pub watched: Vec<(u16, Box<[u8]>)>,
}

/// CLIENT REPLY.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReplyMode {
    /// Every command is answered.
    #[default]
    On,
    /// None is; messages still arrive.
    Off,
    /// The command after CLIENT REPLY SKIP is not answered.
    SkipNext,
    /// This one is not, then back to [`ReplyMode::On`].
    Skip,
}

impl ReplyMode {
    /// Whether the command that runs now is not answered.
    pub fn is_silent(self) -> bool {
        matches!(self, ReplyMode::Off | ReplyMode::Skip)
    }

    /// The mode after one more command: CLIENT REPLY SKIP lasts for exactly the next one.
    pub fn after_command(self) -> Self {
        match self {
            ReplyMode::SkipNext => ReplyMode::Skip,
            ReplyMode::Skip => ReplyMode::On,
            mode => mode,
        }
    }
}

/// Commands between MULTI and EXEC.
#[derive(Debug, Default)]
pub struct Transaction {
    /// What was queued, in order.
    pub queue: Vec<(&'static Spec, OwnedArgs)>,
    /// A command was refused while queueing: EXEC will refuse too.
    pub aborted: bool,
    /// How many of the queue have run; set by EXEC.
    pub ran: Option<usize>,
    /// EXEC as it was written, to be shown to monitors once everything has run.
    pub exec: OwnedArgs,
}

impl Caller {
    /// For a session that speaks SBE, and so no version of RESP.
    pub const NO_RESP: u8 = 0;

    /// In place of a version of RESP: SBE whose pushes have numbers.
    pub const NUMBERED: u8 = 1;

    /// How its pushes are encoded: a version of RESP, [`Caller::NO_RESP`] or [`Caller::NUMBERED`].
    pub fn push_form(&self) -> u8 {
        if self.numbered { Caller::NUMBERED } else { self.resp }
    }

    /// Refuses a reply of more entries than one can hold.
    ///
    /// # Errors
    /// The refusal to answer.
    pub(super) fn check_entries(&self, entries: usize) -> Result<(), CommandError> {
        if entries > self.entries_max as usize { Err(CommandError::TooManyEntries) } else { Ok(()) }
    }

    /// A fresh connection that needs no password: database 0, RESP2, replies on, from somewhere else.
    pub fn new(id: ClientId, subscriber: SubscriberId) -> Self {
        Caller {
            id,
            subscriber,
            resp: 2,
            entries_max: u32::MAX,
            db: 0,
            local: false,
            authenticated: true,
            closing: false,
            replies: ReplyMode::On,
            no_evict: false,
            no_touch: false,
            monitor: false,
            numbered: false,
            transaction: None,
            work: None,
            extras: None,
        }
    }

    /// Another connection of the same client: with its user, database and names.
    pub fn begin_like(&self, id: ClientId, subscriber: SubscriberId) -> Self {
        let mut other = Caller { local: self.local, db: self.db, ..Caller::new(id, subscriber) };
        other.authenticated = self.authenticated;
        if let Some(extras) = &self.extras {
            let Extras { name, lib_name, lib_version, .. } = &**extras;
            let (name, lib_name, lib_version) = (name.clone(), lib_name.clone(), lib_version.clone());
            other.extras = Some(Box::new(Extras { name, lib_name, lib_version, ..Extras::default() }));
        }
        other
    }

    /// The rarely set part, made when it is first needed.
    pub fn extras_mut(&mut self) -> &mut Extras {
        self.extras.get_or_insert_default()
    }

    /// Whether a command is of a certain sort, or executes a queued one that is.
    pub fn runs(&self, spec: &Spec, is_wanted: impl Fn(&Spec) -> bool) -> bool {
        let queue = self.transaction.as_deref().map_or(&[][..], |transaction| &transaction.queue);
        is_wanted(spec) || spec.id == CommandId::EXEC && queue.iter().any(|(spec, _)| is_wanted(spec))
    }

    /// The command EXEC runs next, and how many words it has; none outside EXEC and after its last.
    pub fn next_queued(&self) -> Option<(&'static Spec, usize)> {
        let transaction = self.transaction.as_deref()?;
        let (spec, args) = transaction.queue.get(transaction.ran?)?;
        Some((spec, args.as_args().len()))
    }

    /// Channels and patterns joined: the count subscription commands answer.
    pub fn subscriptions(&self) -> usize {
        self.extras.as_ref().map_or(0, |extras| extras.channels.len() + extras.patterns.len())
    }

    /// Sharded channels joined.
    pub fn shard_subscriptions(&self) -> usize {
        self.extras.as_ref().map_or(0, |extras| extras.shards.len())
    }

    /// The name given by CLIENT SETNAME, empty when none was.
    pub fn name(&self) -> &[u8] {
        self.extras.as_ref().map_or(&[], |extras| &extras.name)
    }

    /// Fills in what CLIENT LIST tells of the caller.
    pub fn describe(&self, facts: &mut ClientFacts) {
        facts.db = self.db;
        facts.resp = self.resp;
        facts.no_evict = self.no_evict;
        facts.no_touch = self.no_touch;
        facts.monitor = self.monitor;
        facts.closing |= self.closing;
        facts.authenticated = self.authenticated;
        if let Some(transaction) = &self.transaction {
            facts.queued = Some(transaction.queue.len());
            facts.queue_bytes = transaction.heap_bytes();
        }
        let Some(extras) = &self.extras else { return };
        facts.name = extras.name.to_vec();
        facts.lib_name = extras.lib_name.to_vec();
        facts.lib_version = extras.lib_version.to_vec();
        facts.channels = extras.channels.len();
        facts.patterns = extras.patterns.len();
        facts.shards = extras.shards.len();
        facts.watched = extras.watched.len();
    }

    /// Heap bytes held on behalf of this caller.
    pub fn heap_bytes(&self) -> usize {
        let queue = self.transaction.as_ref().map_or(0, |transaction| transaction.heap_bytes());
        let Some(extras) = &self.extras else { return queue };
        let names = extras.name.len() + extras.lib_name.len() + extras.lib_version.len();
        let watched: usize = extras.watched.iter().map(|(_, key)| key.len() + size_of::<(u16, Box<[u8]>)>()).sum();
        queue + names + watched + size_of::<Extras>()
    }

    /// True in RESP2 while anything is joined: most commands are refused then.
    pub fn in_subscribed_mode(&self) -> bool {
        self.resp == 2 && self.subscriptions() + self.shard_subscriptions() > 0
    }
}
