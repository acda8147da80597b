//! The middle of the server: a window of requests is decoded, executed and answered, without an `await`.
//!
//! Invariant: replies stand in the order of their requests, and a push to the caller's own session beside the reply of
//! the command that caused it, before the next command runs: behind the reply in RESP, before it in SBE.
//! Invariant: while a command is worked off slice by slice the session executes no other.

use std::time::{Duration, Instant};

use crate::command::{Args, CommandId, Flags, Request, Spec};
use crate::engine::{Caller, Engine, Executed, Handled, Now, SubscriberId, Took};
use crate::limits::{
    AHEAD_REQUESTS, FRAME_BYTES_MAX, OUTBOX_PAUSE_BYTES, READ_BYTES_MAX, TURN_COMMANDS_MAX, TURN_US_MAX,
    UNAUTHENTICATED_FRAME_BYTES_MAX,
};
use crate::protocol::ProtocolError;
use crate::protocol::resp::{Decoder, Limits};
use crate::protocol::sbe::{self, Form, Selected, Tree};
use crate::reply::Reply;

use super::dialect::Dialect;
use super::meter::Meter;
use super::outbox::Outbox;
use super::session::{State, Telling};
use super::table::{RunningCommand, Table};
use super::window::Window;

/// Bytes of a request whose decoding takes as long as a look at the clock.
const DECODED_BYTES_MIN: usize = 1024;

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TurnEnd {
    /// Bytes of the input that are done with.
    pub(super) consumed: usize,
    /// More requests may be waiting in the rest.
    pub(super) more: bool,
}

/// What ends the loop over a window before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    /// The budget is spent, or the outbox is full.
    Later,
    /// CLIENT PAUSE holds the next command back.
    Paused,
    /// A long command or its reply is under way.
    Busy,
    /// The session ends; what follows is ignored.
    Ends,
}

/// What a turn runs over.
#[derive(Clone, Copy)]
pub(super) struct Arrival<'a> {
    pub(super) subscriber: SubscriberId,
    /// Starts with the session's first unexecuted request.
    pub(super) bytes: &'a [u8],
    /// When the round began.
    pub(super) started: Instant,
}

/// Runs one turn of a session.
pub(super) fn turn(engine: &mut Engine, table: &mut Table, window: &mut Window, arrival: Arrival<'_>) -> TurnEnd {
    let Arrival { subscriber, bytes, started } = arrival;
    let end = run(engine, table, subscriber, (bytes.len(), started), |run| {
        let session = run.table.sessions.get_mut(subscriber.0 as usize);
        let mut decoder = session.map(|session| std::mem::take(&mut session.decoder)).unwrap_or_default();
        let end = run.windows(&mut decoder, window, bytes);
        window.release();
        if let Some(session) = run.table.sessions.get_mut(subscriber.0 as usize) {
            session.decoder = decoder;
        }
        end
    });
    end.unwrap_or(TurnEnd { consumed: bytes.len(), more: false })
}

/// Goes on with the session's command under way for as long as a turn may take.
pub(super) fn go_on(engine: &mut Engine, table: &mut Table, subscriber: SubscriberId, started: Instant) {
    let waiting = table.sessions.get(subscriber.0 as usize).map_or(0, |session| session.inbox.len());
    run(engine, table, subscriber, (waiting, started), |run| run.go_on());
}

/// Lends a session's parts to `body`; none when there is no such session.
fn run<R>(
    engine: &mut Engine,
    table: &mut Table,
    subscriber: SubscriberId,
    (inbox_bytes, started): (usize, Instant),
    body: impl FnOnce(&mut Run<'_>) -> R,
) -> Option<R> {
    let (caller, outbox) = table.begin_turn(subscriber)?;
    let session = table.sessions.get_mut(subscriber.0 as usize)?;
    let (working, form) = (session.working.take(), session.form);
    let mut run = Run {
        engine,
        table,
        caller,
        outbox,
        working,
        form,
        telling: None,
        subscriber,
        inbox_bytes,
        started,
        commands: 0,
        last: None,
        meter: Meter::new(started),
    };
    let result = body(&mut run);
    run.send_at_once();
    run.meter.settle(&mut run.table.stats);
    let Run { table, caller, outbox, working, form, telling, last, .. } = run;
    let closing = caller.closing;
    let unsent = outbox.bytes();
    let executed = table.executed_in_turn();
    table.end_turn(subscriber, caller, outbox);
    if let Some(session) = table.sessions.get_mut(subscriber.0 as usize) {
        session.working = working;
        session.form = form;
        session.telling = telling;
        session.commands += executed;
        session.active_ms = table.now.unix_us / 1000;
        session.last_command = last.or(session.last_command);
        if closing && session.state == State::Open {
            session.state = State::Draining;
        }
    }
    table.stats.rounds += 1;
    if unsent > 0 {
        table.check_output(subscriber, unsent);
    }
    Some(result)
}

/// One turn while it runs.
struct Run<'r> {
    engine: &'r mut Engine,
    table: &'r mut Table,
    caller: Caller,
    outbox: Outbox,
    /// How long the command under way, which ends this turn, has run so far.
    working: Option<Duration>,
    /// How the SBE request under way is answered.
    form: Form,
    /// The long reply that ends this turn.
    telling: Option<Box<Telling>>,
    subscriber: SubscriberId,
    /// Length of the input this turn runs over.
    inbox_bytes: usize,
    started: Instant,
    /// Requests answered, refused ones included.
    commands: usize,
    /// The last command that was found.
    last: Option<&'static Spec>,
    meter: Meter,
}

impl Run<'_> {
    /// Sends what was answered before any book-keeping, where that costs no system call.
    fn send_at_once(&mut self) {
        let Some(session) = self.table.sessions.get_mut(self.subscriber.0 as usize) else { return };
        let Some(unsent) = self.outbox.only_buffer() else { return };
        if session.link.write_whole(unsent) {
            let count = unsent.len() as u64;
            session.net_out += count;
            self.table.stats.net_out += count;
            if self.telling.is_none() {
                session.over_soft_since_ms = None;
            }
            self.table.stats.writes += 1;
            self.outbox.sent_all();
        }
    }

    fn windows(&mut self, decoder: &mut Decoder, window: &mut Window, bytes: &[u8]) -> TurnEnd {
        let Some(mut consumed) = self.open(bytes) else { return TurnEnd { consumed: 0, more: false } };
        loop {
            let broken = match self.dialect() {
                Dialect::Resp(_) => window.fill(decoder, bytes, consumed, &self.limits()),
                Dialect::Sbe(_) => window.fill_frames(bytes, consumed, &self.limits(), self.frame_bytes_max()),
            };
            // Decoding is nobody's time; of one small request it is not worth a look at the clock.
            if window.len() > 1 || window.start() - consumed > DECODED_BYTES_MIN {
                self.meter.skip(&mut self.table.stats);
            }
            for at in 0..window.len() {
                if at % AHEAD_REQUESTS == 0 && at + 1 < window.len() {
                    let next = at..window.len().min(at + AHEAD_REQUESTS);
                    self.engine.look_ahead(self.caller.db, next.map(|at| window.request(bytes, at)));
                }
                let stop = self.request(window, bytes, at);
                if stop != Some(Stop::Paused) {
                    consumed = window.end_of(at);
                }
                match stop {
                    None => {}
                    Some(Stop::Ends) => return TurnEnd { consumed: bytes.len(), more: false },
                    Some(stop) => {
                        // What the decoder saw past this point is decoded again.
                        *decoder = Decoder::default();
                        return TurnEnd { consumed, more: stop != Stop::Paused };
                    }
                }
            }
            match broken {
                Some(error) => {
                    self.refuse_framing(error);
                    *decoder = Decoder::default();
                    return TurnEnd { consumed: bytes.len(), more: false };
                }
                None if window.ended_early() => {}
                None => return TurnEnd { consumed: window.start(), more: false },
            }
        }
    }

    /// Where the first request begins, once it is known in which protocol; none while it is not.
    fn open(&mut self, bytes: &[u8]) -> Option<usize> {
        let session = self.table.sessions.get_mut(self.subscriber.0 as usize)?;
        if !session.undecided {
            return Some(0);
        }
        let selected = sbe::select(bytes);
        session.undecided = selected == Selected::Undecided;
        match selected {
            Selected::Undecided => None,
            Selected::Resp => Some(0),
            Selected::Sbe => {
                self.caller.resp = Caller::NO_RESP;
                Some(sbe::MAGIC.len())
            }
        }
    }

    fn dialect(&self) -> Dialect {
        Dialect::of(self.caller.resp, self.form)
    }

    /// Executes one request of the window; `Some` says why the next one must wait.
    fn request(&mut self, window: &Window, bytes: &[u8], at: usize) -> Option<Stop> {
        let request = window.request(bytes, at);
        if self.is_paused(&request) {
            self.hold_back();
            return Some(Stop::Paused);
        }
        if let Some(form) = window.form(at) {
            self.form = form;
            self.caller.entries_max = form.entries_max();
        }
        self.run(&request);
        self.commands += 1;
        if self.caller.closing || self.is_over() {
            return Some(Stop::Ends);
        }
        if self.telling.is_some() || self.working.is_some() {
            return Some(Stop::Busy);
        }
        let spent = self.commands >= TURN_COMMANDS_MAX || self.outbox.bytes() >= OUTBOX_PAUSE_BYTES;
        // The clock is looked at now and then only: a look costs as much as a small command.
        let late = self.commands.is_multiple_of(16) && self.started.elapsed().as_micros() as u64 >= TURN_US_MAX;
        (spent || late).then_some(Stop::Later)
    }

    fn run(&mut self, request: &Request<'_>) {
        let now = self.table.now;
        let counted = request.counted();
        self.last = counted.or(self.last);
        let words = request.args.len();
        let together = self.table.measures_together;
        let begun = counted.map(|spec| self.meter.begin(spec, words, together, &mut self.table.stats));
        self.table.set_running(self.running(request));
        let Handled { executed, reply } = match self.dialect() {
            Dialect::Sbe(Form::Greeting) if request.spec.is_ok() => {
                self.engine.greet(&mut self.caller, request.args, now, self.table)
            }
            _ => self.engine.handle(&mut self.caller, request, now, self.table),
        };
        if let Some(spec) = counted {
            book(self.table, spec, executed, &reply);
        }
        count_error(self.table, &reply);
        if let (Reply::Pending, Some(begun)) = (&reply, begun) {
            self.working = Some(begun.elapsed());
            // What happened so far is told now: another session's turn may come before the answer.
            self.outbox.append(&mut self.table.own);
            self.meter.skip(&mut self.table.stats);
            return;
        }
        let silent = self.caller.replies.is_silent();
        let (has_queue, dialect) = (matches!(reply, Reply::Exec(_)), Dialect::of(self.caller.resp, self.form));
        if let (Dialect::Sbe(_), &Reply::Exec(count)) = (dialect, &reply) {
            drop(reply);
            self.run_queue_into_tree(count, now, silent);
        } else {
            dialect.push_before(&mut self.table.own, &mut self.outbox);
            self.telling = dialect.answer(reply, silent, &mut self.outbox);
            if has_queue {
                self.run_queue(now, silent);
            }
        }
        match (executed, counted, begun) {
            (Executed::Ran, Some(spec), Some(begun)) => {
                let stats = &mut self.table.stats;
                let took = match has_queue {
                    true => Some(self.meter.end_outer(spec, begun, stats)),
                    false => self.meter.end(spec, stats),
                };
                // Hello is not shown by its words, for one of them is the password.
                let shown = if self.form == Form::Greeting { 1 } else { usize::MAX };
                self.note(spec, request.args.first(shown), took);
            }
            _ => self.meter.skip(&mut self.table.stats),
        }
        self.end_command();
    }

    /// What follows every command's reply.
    fn end_command(&mut self) {
        match &mut self.telling {
            Some(telling) => telling.behind.append(&mut self.table.own),
            None => self.outbox.append(&mut self.table.own),
        }
        self.caller.replies = self.caller.replies.after_command();
    }

    /// Goes on with the command under way.
    fn go_on(&mut self) {
        let spent = self.working.take().unwrap_or_default();
        let Some(stores) = self.caller.work.as_ref().map(|work| work.stores()) else { return };
        if self.table.pause.as_ref().is_some_and(|pause| pause.holds(stores, self.table.now)) {
            self.working = Some(spent);
            return self.hold_back();
        }
        let silent = self.caller.replies.is_silent();
        let (spec, args) = loop {
            if let Some((spec, args, reply)) = self.engine.go_on(&mut self.caller, self.table.now, self.table) {
                self.table.stats.command(spec.counted_as().id).failed += u64::from(matches!(reply, Reply::Error(_)));
                count_error(self.table, &reply);
                let dialect = Dialect::of(self.caller.resp, self.form);
                dialect.push_before(&mut self.table.own, &mut self.outbox);
                self.telling = dialect.answer(reply, silent, &mut self.outbox);
                break (spec.counted_as(), args);
            }
            if self.started.elapsed().as_micros() as u64 >= TURN_US_MAX {
                self.working = Some(spent + self.started.elapsed());
                return;
            }
        };
        let spent = spent + self.started.elapsed();
        self.table.stats.book_time(spec.id, spent, 1);
        self.note(spec, args.as_args(), Some(spent));
        self.end_command();
    }

    /// CLIENT PAUSE holds the session's next step back.
    fn hold_back(&mut self) {
        if let Some(session) = self.table.sessions.get_mut(self.subscriber.0 as usize) {
            session.state = State::Paused;
        }
    }

    fn run_queue(&mut self, now: Now, silent: bool) {
        self.meter.skip(&mut self.table.stats);
        while self.run_queued(now, |reply, resp, outbox| {
            if !silent {
                Dialect::Resp(resp).encode(reply, outbox);
            }
        }) {}
    }

    /// The same where all replies are one frame: each may take the room that the others surely leave.
    fn run_queue_into_tree(&mut self, count: usize, now: Now, silent: bool) {
        self.meter.skip(&mut self.table.stats);
        let mut tree = Tree::new(sbe::ENTRIES_MAX);
        tree.list(count);
        for behind in (0..count).rev() {
            let room = tree.room() - behind;
            self.caller.entries_max = room.saturating_sub(1) as u32;
            self.run_queued(now, |reply, _, _| tree.push_within(reply, room));
        }
        // The last call ends the transaction.
        self.run_queued(now, |_, _, _| {});
        self.outbox.append(&mut self.table.own);
        if !silent {
            tree.send(&mut self.outbox);
        }
    }

    /// Runs the next command of a transaction and hands on its reply; false when there was none.
    fn run_queued(&mut self, now: Now, take: impl FnOnce(&Reply<'_>, u8, &mut Outbox)) -> bool {
        let together = self.table.measures_together;
        if let Some((spec, words)) = self.caller.next_queued() {
            self.meter.begin(spec.counted_as(), words, together, &mut self.table.stats);
        }
        let Some((spec, args, reply)) = self.engine.exec_next(&mut self.caller, now, self.table) else { return false };
        let spec = spec.counted_as();
        book(self.table, spec, Executed::Ran, &reply);
        count_error(self.table, &reply);
        take(&reply, self.caller.resp, &mut self.outbox);
        drop(reply);
        let took = self.meter.end(spec, &mut self.table.stats);
        self.note(spec, args.as_args(), took);
        true
    }

    /// Tells the engine how long a command took, when that is known.
    fn note(&mut self, spec: &'static Spec, args: Args<'_>, took: Option<Duration>) {
        if let Some(took) = took {
            let took = Took { spec, args, us: took.as_micros() as u64 };
            self.engine.took(&self.caller, &took, self.table.now, self.table);
        }
    }

    /// What the table should know of a request while it runs.
    fn running(&self, request: &Request<'_>) -> RunningCommand {
        let spec = request.spec.as_ref().ok().copied();
        // Only CLIENT tells of it, now or from a queue.
        let told = spec.is_some_and(|spec| spec.container == Some(CommandId::CLIENT) || spec.id == CommandId::EXEC);
        RunningCommand {
            resp: self.caller.push_form(),
            spec,
            inbox_bytes: self.inbox_bytes,
            words_bytes: if told { request.args.iter().map(<[u8]>::len).sum() } else { 0 },
            executed: self.table.executed_in_turn(),
        }
    }

    /// Answers what cannot be read, and drops what came with it. The session ends, but for RESP over a ring: clients
    /// that know no end of a session there wait for the answers to their next requests.
    fn refuse_framing(&mut self, error: ProtocolError) {
        let is_told = error.text().is_some();
        if is_told {
            self.table.stats.count_error(error.code());
            self.dialect().refuse_framing(error, &mut self.outbox);
        }
        let session = self.table.sessions.get(self.subscriber.0 as usize);
        let over_ring = session.is_some_and(|session| session.peer.is_ring());
        let stays = is_told && over_ring && matches!(self.dialect(), Dialect::Resp(_));
        self.caller.closing |= !stays;
    }

    /// Whether nothing more of this session is executed.
    fn is_over(&self) -> bool {
        let is_over = |state| matches!(state, State::Doomed | State::Lifeline);
        self.table.sessions.get(self.subscriber.0 as usize).is_none_or(|session| is_over(session.state))
    }

    fn is_paused(&self, request: &Request<'_>) -> bool {
        let Some(pause) = self.table.pause else { return false };
        pause.holds(self.may_write(request), self.table.now) && self.engine.admits(&self.caller, request)
    }

    /// Whether a request could change data or publish, now or through the transaction it executes.
    fn may_write(&self, request: &Request<'_>) -> bool {
        let writes = |spec: &Spec| {
            spec.flags.contains(Flags::WRITE) || matches!(spec.id, CommandId::PUBLISH | CommandId::SPUBLISH)
        };
        request.spec.as_ref().is_ok_and(|spec| self.caller.runs(spec, writes))
    }

    /// Bytes of the longest frame: with what follows it in one read it is within the limit of what may wait.
    fn frame_bytes_max(&self) -> u32 {
        if !self.caller.authenticated {
            return UNAUTHENTICATED_FRAME_BYTES_MAX;
        }
        let waiting_max = self.table.settings.query_buffer_limit() - READ_BYTES_MAX;
        u32::try_from(waiting_max).map_or(FRAME_BYTES_MAX, |bytes| bytes.min(FRAME_BYTES_MAX))
    }

    fn limits(&self) -> Limits {
        Limits {
            bulk_bytes_max: self.table.settings.proto_max_bulk_len(),
            before_login: !self.caller.authenticated,
            ..Limits::default()
        }
    }
}

/// Counts a command that was found. Only what ran counts as executed.
fn book(table: &mut Table, spec: &'static Spec, executed: Executed, reply: &Reply<'_>) {
    let stats = table.stats.command(spec.id);
    match executed {
        Executed::Refused => stats.rejected += 1,
        Executed::Queued => {}
        Executed::Ran => {
            stats.calls += 1;
            stats.failed += u64::from(matches!(reply, Reply::Error(_)));
            table.stats.executed += 1;
            table.count_executed();
        }
    }
}

fn count_error(table: &mut Table, reply: &Reply<'_>) {
    if let Reply::Error(error) = reply {
        table.stats.count_error(error.code());
    }
}
