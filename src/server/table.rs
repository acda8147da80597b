//! All sessions, and the engine's window to them: the table implements [`Host`].
//!
//! Invariant: a push never removes a session. One that cannot take it is marked, and swept after the turn.
//! Invariant: a frame is encoded at most once per protocol version and publication.

use std::hash::{BuildHasher, RandomState};

use bytes::Bytes;
use slab::Slab;

use crate::command::Spec;
use crate::engine::{Caller, ClientFacts, ClientId, CommandStats, EngineSettings, Facts, Host, Now, ProcessRequest};
use crate::engine::{MadeRing, PushPolicy, PushRules, SubscriberId, Taken};
use crate::limits::{BUFFER_POOL_MAX, FRAME_SHARED_BYTES, OUTBOX_BUFFER_BYTES};
use crate::protocol::resp::Output;
use crate::protocol::resp::reply::push as push_frame;
use crate::protocol::sbe;
use crate::reply::{CommandError, Push, PushKind, RingRefusal};

use super::config::rewrite;
use super::demand::{Demanded, NewRing};
use super::hold::Hold;
use super::log;
use super::meter::may_measure_together;
use super::outbox::Outbox;
use super::session::{Session, State};
use super::settings::{OutputClass, Settings};
use super::stats::Stats;

/// All sessions of a server, its settings and its counters.
pub(super) struct Table {
    pub(super) sessions: Slab<Session>,
    pub(super) settings: Settings,
    pub(super) stats: Stats,
    pub(super) pause: Option<Pause>,
    /// What only the process can do, asked for by commands and done after the turn.
    pub(super) asked: Vec<ProcessRequest>,
    /// Sessions with fresh output, each once.
    pub(super) fresh: Vec<SubscriberId>,
    /// Sessions to be removed.
    pub(super) doomed: Vec<SubscriberId>,
    /// Rings that commands have made, served from the end of the turn on.
    pub(super) new_rings: Vec<NewRing>,
    pub(super) demanded: Demanded,
    /// Pushes for the session whose turn runs; they go after its reply.
    pub(super) own: Outbox,
    pub(super) now: Now,
    /// Whether brief commands may be measured together, see [`super::meter`].
    pub(super) measures_together: bool,
    /// Sessions that watch the commands of all.
    monitors: Vec<SubscriberId>,
    running: Option<Running>,
    frames: Frames,
    pool: Vec<Vec<u8>>,
    /// Tells channels apart where messages of one replace each other.
    keys: RandomState,
    next_id: u64,
}

/// CLIENT PAUSE.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pause {
    pub(super) until_ms: i64,
    /// All commands wait, not only those that write.
    pub(super) all: bool,
}

impl Pause {
    /// Whether it holds a command back, which may write or not.
    pub(super) fn holds(&self, writes: bool, now: Now) -> bool {
        self.until_ms > now.unix_ms() && (self.all || writes)
    }
}

/// The session whose turn runs.
struct Running {
    subscriber: SubscriberId,
    command: RunningCommand,
}

/// The command being executed, as far as others ask about it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RunningCommand {
    /// How pushes to the session itself are encoded, see [`Caller::push_form`].
    pub(super) resp: u8,
    pub(super) spec: Option<&'static Spec>,
    /// Bytes of the requests that were read together with it, itself included.
    pub(super) inbox_bytes: usize,
    /// Bytes of its words; 0 where nothing can ask for them.
    pub(super) words_bytes: usize,
    /// Commands executed so far in the same turn.
    pub(super) executed: u64,
}

/// One publication's frame, per protocol version.
#[derive(Default)]
struct Frames {
    serial: u64,
    versions: [Frame; 4],
}

#[derive(Default)]
struct Frame {
    bytes: Vec<u8>,
    shared: Option<Bytes>,
    /// A small one that is held for somebody.
    held: Option<Bytes>,
}

impl Table {
    pub(super) fn new(settings: Settings, stats: Stats) -> Self {
        let mut table = Table {
            sessions: Slab::new(),
            measures_together: false,
            monitors: Vec::new(),
            settings,
            stats,
            pause: None,
            asked: Vec::new(),
            fresh: Vec::new(),
            doomed: Vec::new(),
            new_rings: Vec::new(),
            demanded: Demanded::default(),
            own: Outbox::default(),
            now: Now::default(),
            running: None,
            frames: Frames::default(),
            pool: Vec::new(),
            keys: RandomState::new(),
            next_id: 1,
        };
        table.follow_settings();
        table
    }

    /// Takes over what is kept outside the settings for the sake of speed.
    fn follow_settings(&mut self) {
        let engine = self.settings.engine();
        let spike_us_min = i64::try_from(engine.spike_ms_min).unwrap_or(i64::MAX).saturating_mul(1000);
        self.measures_together = may_measure_together(engine.slow_us_min, spike_us_min);
        self.stats.keeps_durations = engine.latency_tracking;
    }

    /// Forgets a session that ends.
    pub(super) fn forget_monitor(&mut self, subscriber: SubscriberId) {
        self.monitors.retain(|monitor| *monitor != subscriber);
    }

    /// The id of the next connection.
    pub(super) fn next_client_id(&mut self) -> ClientId {
        let id = ClientId(self.next_id);
        self.next_id += 1;
        id
    }

    /// The session at `subscriber`, unless another took its place.
    pub(super) fn session(&mut self, subscriber: SubscriberId, id: ClientId) -> Option<&mut Session> {
        self.sessions.get_mut(subscriber.0 as usize).filter(|session| session.id == id)
    }

    /// Whether there is such a session.
    pub(super) fn has(&self, subscriber: SubscriberId, id: ClientId) -> bool {
        self.sessions.get(subscriber.0 as usize).is_some_and(|session| session.id == id)
    }

    /// Whether a session has nothing under way and nothing to send.
    pub(super) fn waits_for_its_peer(&self, subscriber: SubscriberId) -> bool {
        let idle = |session: &Session| {
            session.state == State::Open && !session.is_busy() && !session.inbox.more && session.unsent_bytes() == 0
        };
        self.sessions.get(subscriber.0 as usize).is_some_and(idle)
    }

    /// Takes caller and outbox out for a turn; [`Table::end_turn`] puts them back.
    pub(super) fn begin_turn(&mut self, subscriber: SubscriberId) -> Option<(Caller, Outbox)> {
        let session = self.sessions.get_mut(subscriber.0 as usize)?;
        let caller = session.caller.take()?;
        // What came before the request is told before its reply.
        session.release_held(usize::MAX);
        let mut outbox = std::mem::take(&mut session.outbox);
        if outbox.wants_buffer() {
            outbox.lend(self.pool.pop().unwrap_or_default());
        }
        self.running = Some(Running { subscriber, command: RunningCommand::default() });
        Some((caller, outbox))
    }

    /// Puts back what [`Table::begin_turn`] took.
    pub(super) fn end_turn(&mut self, subscriber: SubscriberId, caller: Caller, outbox: Outbox) {
        self.running = None;
        let Some(session) = self.sessions.get_mut(subscriber.0 as usize) else { return };
        session.resp = caller.push_form();
        session.subscribed = caller.subscriptions() + caller.shard_subscriptions() > 0;
        session.caller = Some(caller);
        session.outbox = outbox;
        match session.outbox.is_empty() {
            true => self.reclaim_buffer(subscriber),
            false => self.mark_fresh(subscriber),
        }
    }

    /// The session whose turn runs.
    pub(super) fn running(&self) -> Option<SubscriberId> {
        self.running.as_ref().map(|running| running.subscriber)
    }

    /// Tells which command of the running session is executed next.
    pub(super) fn set_running(&mut self, command: RunningCommand) {
        if let Some(running) = &mut self.running {
            running.command = command;
        }
    }

    /// One more command of the running turn was executed.
    pub(super) fn count_executed(&mut self) {
        if let Some(running) = &mut self.running {
            running.command.executed += 1;
        }
    }

    /// Commands executed so far in the running turn.
    pub(super) fn executed_in_turn(&self) -> u64 {
        self.running.as_ref().map_or(0, |running| running.command.executed)
    }

    /// Puts a session on the list of those to flush.
    pub(super) fn mark_fresh(&mut self, subscriber: SubscriberId) {
        let Some(session) = self.sessions.get_mut(subscriber.0 as usize) else { return };
        if !session.queued_for_flush && session.unsent_bytes() > 0 {
            session.queued_for_flush = true;
            self.fresh.push(subscriber);
        }
    }

    /// Tells the next piece of a session's long reply.
    pub(super) fn tell(&mut self, subscriber: SubscriberId) {
        let Some(session) = self.sessions.get_mut(subscriber.0 as usize) else { return };
        if session.outbox.wants_buffer() {
            session.outbox.lend(self.pool.pop().unwrap_or_default());
        }
        session.tell();
        self.mark_fresh(subscriber);
    }

    /// Takes a drained session's buffer back for others to use.
    pub(super) fn reclaim_buffer(&mut self, subscriber: SubscriberId) {
        let Some(session) = self.sessions.get_mut(subscriber.0 as usize) else { return };
        let Some(buffer) = session.outbox.take_buffer() else { return };
        if self.pool.len() < BUFFER_POOL_MAX && buffer.capacity() <= 2 * OUTBOX_BUFFER_BYTES {
            self.pool.push(buffer);
        }
    }

    /// Ends a session for output past its limit, and answers whether it did.
    pub(super) fn check_output(&mut self, subscriber: SubscriberId, bytes: usize) -> bool {
        let Some(session) = self.sessions.get_mut(subscriber.0 as usize) else { return true };
        let class = match (session.monitor, session.subscribed) {
            (true, _) => OutputClass::Monitor,
            (false, true) => OutputClass::Pubsub,
            (false, false) => OutputClass::Normal,
        };
        let limit = self.settings.output_limit(class);
        let now_ms = self.now.unix_us / 1000;
        let over_soft = limit.soft_bytes > 0 && bytes > limit.soft_bytes;
        let since = match (over_soft, session.over_soft_since_ms) {
            (true, since) => Some(since.unwrap_or(now_ms)),
            (false, _) => None,
        };
        session.over_soft_since_ms = since;
        let soft_for_s = since.map_or(0, |since| now_ms.saturating_sub(since) / 1000);
        let reason = if limit.hard_bytes > 0 && bytes > limit.hard_bytes {
            format!("over the hard limit of {} bytes", limit.hard_bytes)
        } else if over_soft && soft_for_s >= limit.soft_seconds {
            format!("over the soft limit of {} bytes for {soft_for_s} s", limit.soft_bytes)
        } else {
            return false;
        };
        self.cut_output(subscriber, bytes, &reason);
        true
    }

    fn rewrite_config(&self) -> Result<(), CommandError> {
        let written = rewrite(self.stats.process.config_file.as_deref(), &self.settings);
        match &written {
            Ok(()) => log::notice(format_args!("configuration file rewritten")),
            Err(error) => log::warning(format_args!("{}", String::from_utf8_lossy(&error.text()))),
        }
        written
    }

    /// A command of the running session as monitors are told it.
    fn monitor_line(&self, db: u16, words: &[u8]) -> Bytes {
        let us = self.now.unix_us;
        let from = self.running.as_ref().and_then(|running| self.sessions.get(running.subscriber.0 as usize));
        let from = from.map_or(String::new(), |session| session.peer.origin());
        let head = format!("+{}.{:06} [{db} {from}] ", us / 1_000_000, us % 1_000_000);
        Bytes::from([head.as_bytes(), words, b"\r\n"].concat())
    }

    /// Hands a line to one monitor, as it would any push.
    fn show_line(&mut self, monitor: SubscriberId, line: &Bytes) {
        let resp = self.sessions.get(monitor.0 as usize).map_or(2, |session| session.resp);
        let append = |outbox: &mut Outbox| match (resp, line.len() >= FRAME_SHARED_BYTES) {
            (Caller::NO_RESP | Caller::NUMBERED, _) => sbe::reply::monitored(&line[1..line.len() - 2], outbox),
            (_, true) => outbox.shared(line.clone()),
            (_, false) => outbox.extend(line),
        };
        if self.running.as_ref().is_some_and(|running| running.subscriber == monitor) {
            return append(&mut self.own);
        }
        let Some(session) = self.sessions.get_mut(monitor.0 as usize) else { return };
        if matches!(session.state, State::Doomed | State::Draining) {
            return;
        }
        if session.outbox.wants_buffer() {
            session.outbox.lend(self.pool.pop().unwrap_or_default());
        }
        append(session.push_outbox());
        let bytes = session.unsent_bytes();
        self.mark_fresh(monitor);
        self.check_output(monitor, bytes);
    }

    /// Ends a session for output it does not take: counts it, logs who, why and how much.
    pub(super) fn cut_output(&mut self, subscriber: SubscriberId, bytes: usize, reason: &str) {
        let Some(session) = self.sessions.get_mut(subscriber.0 as usize) else { return };
        if session.state == State::Doomed {
            return;
        }
        let messages = session.outbox.pushes()
            + session.telling.as_ref().map_or(0, |telling| telling.behind.pushes())
            + session.hold.as_ref().map_or(0, |hold| hold.pushes());
        session.dropped += messages;
        self.stats.outbox_limit_cuts += 1;
        self.stats.dropped_messages += messages;
        self.stats.dropped_bytes += bytes as u64;
        let name = session.caller.as_ref().map_or(Vec::new(), |caller| caller.name().to_vec());
        log::warning(format_args!(
            "client id={} addr={} name={} cut: output {reason}; {bytes} bytes pending, {messages} messages lost",
            session.id.0,
            session.peer.addr(),
            String::from_utf8_lossy(&name),
        ));
        self.doom(subscriber);
    }

    /// Keeps a message for a session that takes none now and said what becomes of it.
    fn hold_back(&mut self, to: SubscriberId, frame: Bytes, kind: &PushKind<'_>) -> Taken {
        let key = self.keys.hash_one(channel_of(kind));
        let limit = self.settings.output_limit(OutputClass::Pubsub).hard_bytes;
        let Some(session) = self.sessions.get_mut(to.0 as usize) else { return Taken::Closing };
        let fixed = session.fixed_bytes();
        let Some(hold) = &mut session.hold else { return Taken::Closing };
        let room = if limit > 0 { limit.saturating_sub(fixed) } else { usize::MAX };
        let room = hold.rules.bytes.map_or(room, |bytes| bytes.min(room));
        let dropped = hold.keep(frame, key, room);
        session.dropped += dropped.messages;
        self.stats.dropped_messages += dropped.messages;
        self.stats.dropped_bytes += dropped.bytes;
        self.mark_fresh(to);
        if dropped.itself { Taken::Dropped } else { Taken::Queued }
    }

    /// Marks a session for removal. Its unsent output is lost, at once.
    pub(super) fn doom(&mut self, subscriber: SubscriberId) {
        let Some(session) = self.sessions.get_mut(subscriber.0 as usize) else { return };
        if session.state != State::Doomed {
            session.state = State::Doomed;
            session.outbox.clear();
            session.telling = None;
            session.hold = None;
            self.doomed.push(subscriber);
        }
    }
}

/// What tells the messages of one channel from others, and those that come by one pattern.
fn channel_of<'a>(kind: &PushKind<'a>) -> (u8, &'a [u8], &'a [u8]) {
    match *kind {
        PushKind::Message { channel, .. } => (0, b"", channel),
        PushKind::PatternMessage { pattern, channel, .. } => (1, pattern, channel),
        PushKind::ShardMessage { channel, .. } => (2, b"", channel),
    }
}

impl Frames {
    /// The frame of a push in one RESP version or in SBE, encoded if this is the first time it is asked for.
    fn of(&mut self, push: &Push<'_>, version: u8) -> &mut Frame {
        if self.serial != push.frame {
            self.serial = push.frame;
            for frame in &mut self.versions {
                frame.bytes.clear();
                frame.shared = None;
                frame.held = None;
            }
        }
        let place = match version {
            3 => 1,
            Caller::NO_RESP => 2,
            Caller::NUMBERED => 3,
            _ => 0,
        };
        let frame = &mut self.versions[place];
        if frame.bytes.is_empty() && frame.shared.is_none() {
            match version {
                Caller::NO_RESP => sbe::reply::push(&push.kind, &mut frame.bytes),
                Caller::NUMBERED => sbe::reply::numbered_push(&push.kind, push.number, &mut frame.bytes),
                version => push_frame(&push.kind, version, &mut frame.bytes),
            }
            if frame.bytes.len() >= FRAME_SHARED_BYTES {
                frame.shared = Some(Bytes::from(std::mem::take(&mut frame.bytes)));
            }
        }
        frame
    }
}

impl Frame {
    fn as_bytes(&self) -> &[u8] {
        self.shared.as_deref().unwrap_or(&self.bytes)
    }

    /// The frame to be kept.
    fn held(&mut self) -> Bytes {
        match &self.shared {
            Some(bytes) => bytes.clone(),
            None => self.held.get_or_insert_with(|| Bytes::copy_from_slice(&self.bytes)).clone(),
        }
    }

    fn append_to(&self, outbox: &mut Outbox) {
        match &self.shared {
            Some(bytes) => outbox.shared(bytes.clone()),
            None => outbox.extend(&self.bytes),
        }
        outbox.count_push();
    }
}

impl Host for Table {
    fn push(&mut self, to: SubscriberId, push: &Push<'_>) -> Taken {
        if let Some(running) = self.running.as_ref().filter(|running| running.subscriber == to) {
            self.frames.of(push, running.command.resp).append_to(&mut self.own);
            return Taken::Queued;
        }
        let Some(session) = self.sessions.get_mut(to.0 as usize) else { return Taken::Closing };
        if matches!(session.state, State::Doomed | State::Draining) {
            return Taken::Closing;
        }
        let frame = self.frames.of(push, session.resp);
        if session.unsent_bytes() == 0 && session.telling.is_none() && session.link.write_whole(frame.as_bytes()) {
            session.net_out += frame.as_bytes().len() as u64;
            self.stats.net_out += frame.as_bytes().len() as u64;
            return Taken::Queued;
        }
        if session.hold.is_some() && (session.unsent_bytes() > 0 || session.telling.is_some()) {
            let frame = frame.held();
            return self.hold_back(to, frame, &push.kind);
        }
        if session.outbox.wants_buffer() {
            session.outbox.lend(self.pool.pop().unwrap_or_default());
        }
        frame.append_to(session.push_outbox());
        let bytes = session.unsent_bytes();
        self.mark_fresh(to);
        // The message was queued all the same when the check fails: Redis counts it too.
        self.check_output(to, bytes);
        Taken::Queued
    }

    fn clients(&self) -> Vec<ClientFacts> {
        let now_ms = self.now.unix_us / 1000;
        let others = self.sessions.iter().map(|(_, session)| session).filter(|session| session.caller.is_some());
        let mut facts: Vec<_> = others.map(|session| session.facts(now_ms)).collect();
        facts.sort_by_key(|facts| facts.id);
        facts
    }

    fn used_bytes(&self) -> u64 {
        self.stats.used_bytes()
    }

    fn own_facts(&self) -> ClientFacts {
        let Some(Running { subscriber, command }) = &self.running else { return ClientFacts::default() };
        let Some(session) = self.sessions.get(subscriber.0 as usize) else { return ClientFacts::default() };
        let mut facts = session.facts(self.now.unix_us / 1000);
        facts.idle_s = 0;
        facts.inbox_bytes = command.inbox_bytes;
        facts.args_bytes = command.words_bytes;
        facts.commands += command.executed;
        facts.last_command = command.spec.map_or(facts.last_command, |spec| spec.name);
        facts
    }

    fn kill(&mut self, matches: &mut dyn FnMut(&ClientFacts) -> bool) -> usize {
        let now_ms = self.now.unix_us / 1000;
        let found: Vec<SubscriberId> = self
            .sessions
            .iter()
            .filter(|(_, session)| session.caller.is_some() && session.state != State::Doomed)
            .filter(|(_, session)| matches(&session.facts(now_ms)))
            .map(|(_, session)| session.subscriber)
            .collect();
        for subscriber in &found {
            self.doom(*subscriber);
        }
        found.len()
    }

    fn facts(&self) -> Facts {
        self.stats.facts(self)
    }

    fn settings(&self, wanted: &mut dyn FnMut(&str) -> bool) -> Vec<(&'static str, String)> {
        self.settings.get(wanted)
    }

    fn set(&mut self, changes: &[(&[u8], &[u8])]) -> Result<EngineSettings, CommandError> {
        self.settings.set(changes)?;
        log::set_level(self.settings.log_level());
        self.follow_settings();
        Ok(self.settings.engine())
    }

    fn command_stats(&self) -> Vec<(&'static Spec, CommandStats)> {
        self.stats.commands()
    }

    fn error_stats(&self) -> Vec<(String, u64)> {
        self.stats.errors()
    }

    fn duration_steps(&self, wanted: &mut dyn FnMut(&'static Spec) -> bool) -> Vec<(&'static Spec, Vec<(u64, u64)>)> {
        self.stats.duration_steps(wanted)
    }

    fn duration_percentiles(&self, percentages: &[f64]) -> Vec<(&'static Spec, Vec<u64>)> {
        self.stats.duration_percentiles(percentages)
    }

    fn has_monitors(&self) -> bool {
        !self.monitors.is_empty()
    }

    fn set_monitor(&mut self, on: bool) {
        let Some(subscriber) = self.running() else { return };
        self.forget_monitor(subscriber);
        if on {
            self.monitors.push(subscriber);
        }
        if let Some(session) = self.sessions.get_mut(subscriber.0 as usize) {
            session.monitor = on;
        }
    }

    fn show_command(&mut self, db: u16, words: &[u8]) {
        let line = self.monitor_line(db, words);
        for monitor in self.monitors.clone() {
            self.show_line(monitor, &line);
        }
    }

    fn set_push_rules(&mut self, rules: PushRules) {
        let Some(subscriber) = self.running() else { return };
        let Some(session) = self.sessions.get_mut(subscriber.0 as usize) else { return };
        // What waited was released when the turn began.
        session.hold = (rules.policy != PushPolicy::Disconnect).then(|| Box::new(Hold::new(rules)));
    }

    fn make_ring(&mut self, bytes: u64, has_path: bool) -> Result<MadeRing, RingRefusal> {
        self.demand_ring(bytes, has_path)
    }

    fn allocator_report(&self) -> String {
        (self.stats.process.allocator.report)()
    }

    fn ask(&mut self, request: ProcessRequest) -> Result<(), CommandError> {
        match request {
            ProcessRequest::Pause { until_ms, all } => {
                // A second pause may only lengthen or widen the first.
                let now_ms = self.now.unix_ms();
                let first = self.pause.filter(|pause| pause.until_ms > now_ms);
                let pause = first.unwrap_or(Pause { until_ms, all });
                self.pause = Some(Pause { until_ms: pause.until_ms.max(until_ms), all: pause.all || all });
            }
            ProcessRequest::Unpause => {
                self.pause = None;
                self.asked.push(ProcessRequest::Unpause);
            }
            ProcessRequest::ResetStats => self.stats.reset(),
            ProcessRequest::PurgeMemory => (self.stats.process.allocator.purge)(),
            ProcessRequest::RewriteConfig => return self.rewrite_config(),
            ProcessRequest::Log(line) => log::warning(format_args!("DEBUG LOG: {}", String::from_utf8_lossy(&line))),
            ProcessRequest::Sleep { us } => std::thread::sleep(std::time::Duration::from_micros(us)),
            request @ (ProcessRequest::Shutdown { .. } | ProcessRequest::AbortShutdown) => self.asked.push(request),
        }
        Ok(())
    }
}
