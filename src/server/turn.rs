//! The middle of the server: a window of requests is decoded, executed and answered, without an `await`.
//!
//! Invariant: replies stand in the order of their requests, and a push to the caller's own session right after the
//! reply of the command that caused it, before the next command runs.
//! Invariant: while a command is worked off slice by slice the session executes no other.

use std::time::{Duration, Instant};

use crate::command::{Args, CommandId, Flags, OwnedArgs, Request, Span, Spec};
use crate::engine::{Caller, Engine, Executed, Handled, Now, SubscriberId, Took};
use crate::limits::{OUTBOX_PAUSE_BYTES, TURN_COMMANDS_MAX, TURN_US_MAX};
use crate::protocol::ProtocolError;
use crate::protocol::resp::reply::{Streamed, encode, protocol_error};
use crate::protocol::resp::{Decoded, Decoder, Limits};
use crate::reply::{CommandError, Reply};

use super::meter::Meter;
use super::outbox::Outbox;
use super::session::{State, Telling};
use super::table::{RunningCommand, Table};

/// Bytes of a request whose decoding takes as long as a look at the clock.
const DECODED_BYTES_MIN: usize = 1024;

/// Requests decoded together, and the memory for them, lent from turn to turn.
#[derive(Default)]
pub(super) struct Window {
    spans: Vec<Span>,
    requests: Vec<Entry>,
    /// Where the first request begins that is not complete.
    start: usize,
    /// Decoding stopped before the bytes did.
    ended_early: bool,
}

/// One decoded request: its spans are `first..last` of the window's, and its bytes end at `end`.
struct Entry {
    first: usize,
    last: usize,
    end: usize,
    /// An inline request whose quoting had to be undone.
    unquoted: Option<OwnedArgs>,
    spec: Result<&'static Spec, CommandError>,
}

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
    let working = table.sessions.get_mut(subscriber.0 as usize)?.working.take();
    let mut run = Run {
        engine,
        table,
        caller,
        outbox,
        working,
        telling: None,
        subscriber,
        inbox_bytes,
        started,
        commands: 0,
        last: None,
        meter: Meter::new(started),
    };
    let result = body(&mut run);
    run.meter.settle(&mut run.table.stats);
    let Run { table, caller, outbox, working, telling, last, .. } = run;
    let closing = caller.closing;
    let unsent = outbox.bytes();
    let executed = table.executed_in_turn();
    table.end_turn(subscriber, caller, outbox);
    if let Some(session) = table.sessions.get_mut(subscriber.0 as usize) {
        session.working = working;
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
    fn windows(&mut self, decoder: &mut Decoder, window: &mut Window, bytes: &[u8]) -> TurnEnd {
        let mut consumed = 0;
        loop {
            let broken = window.fill(decoder, bytes, consumed, &self.limits());
            // Decoding is nobody's time; of one small request it is not worth a look at the clock.
            if window.requests.len() > 1 || window.start - consumed > DECODED_BYTES_MIN {
                self.meter.skip(&mut self.table.stats);
            }
            for at in 0..window.requests.len() {
                let stop = self.request(window, bytes, at);
                if stop != Some(Stop::Paused) {
                    consumed = window.requests[at].end;
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
                    return TurnEnd { consumed: bytes.len(), more: false };
                }
                None if window.ended_early => {}
                None => return TurnEnd { consumed: window.start, more: false },
            }
        }
    }

    /// Executes one request of the window; `Some` says why the next one must wait.
    fn request(&mut self, window: &Window, bytes: &[u8], at: usize) -> Option<Stop> {
        let request = window.request(bytes, at);
        if self.is_paused(&request) {
            self.hold_back();
            return Some(Stop::Paused);
        }
        self.run(&request);
        self.commands += 1;
        if self.caller.closing || self.is_doomed() {
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
        let Handled { executed, reply } = self.engine.handle(&mut self.caller, request, now, self.table);
        if let Some(spec) = counted {
            book(self.table, spec, executed, &reply);
        }
        count_error(self.table, &reply);
        if let (Reply::Pending, Some(begun)) = (&reply, begun) {
            self.working = Some(begun.elapsed());
            self.meter.skip(&mut self.table.stats);
            return;
        }
        let silent = self.caller.replies.is_silent();
        let has_queue = matches!(reply, Reply::Exec(_));
        self.telling = answer(reply, silent, self.caller.resp, &mut self.outbox);
        if has_queue {
            self.run_queue(now, silent);
        }
        match (executed, counted, begun) {
            (Executed::Ran, Some(spec), Some(begun)) => {
                let stats = &mut self.table.stats;
                let took = match has_queue {
                    true => Some(self.meter.end_outer(spec, begun, stats)),
                    false => self.meter.end(spec, stats),
                };
                self.note(spec, request.args, took);
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
                self.telling = answer(reply, silent, self.caller.resp, &mut self.outbox);
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
        loop {
            let together = self.table.measures_together;
            if let Some((spec, words)) = self.caller.next_queued() {
                self.meter.begin(spec.counted_as(), words, together, &mut self.table.stats);
            }
            let Some((spec, args, reply)) = self.engine.exec_next(&mut self.caller, now, self.table) else { return };
            let spec = spec.counted_as();
            book(self.table, spec, Executed::Ran, &reply);
            count_error(self.table, &reply);
            if !silent {
                encode(&reply, self.caller.resp, &mut self.outbox);
            }
            drop(reply);
            let took = self.meter.end(spec, &mut self.table.stats);
            self.note(spec, args.as_args(), took);
        }
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
            resp: self.caller.resp,
            spec,
            inbox_bytes: self.inbox_bytes,
            words_bytes: if told { request.args.iter().map(<[u8]>::len).sum() } else { 0 },
            executed: self.table.executed_in_turn(),
        }
    }

    fn refuse_framing(&mut self, error: ProtocolError) {
        if error.text().is_some() {
            self.table.stats.count_error(error.code());
            protocol_error(error, &mut self.outbox);
        }
        self.caller.closing = true;
    }

    fn is_doomed(&self) -> bool {
        self.table.sessions.get(self.subscriber.0 as usize).is_none_or(|session| session.state == State::Doomed)
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

    fn limits(&self) -> Limits {
        Limits {
            bulk_bytes_max: self.table.settings.proto_max_bulk_len(),
            before_login: !self.caller.authenticated,
            ..Limits::default()
        }
    }
}

impl Window {
    /// Decodes up to a window of requests from `from` on. An error is returned for after they were executed.
    fn fill(&mut self, decoder: &mut Decoder, bytes: &[u8], from: usize, limits: &Limits) -> Option<ProtocolError> {
        self.spans.clear();
        self.requests.clear();
        self.ended_early = false;
        self.start = bytes.len();
        let mut at = from;
        while at < bytes.len() {
            let first = self.spans.len();
            let (end, unquoted) = match decoder.decode(bytes, at, limits, &mut self.spans) {
                Ok(Decoded::Request { end, .. }) => (end, None),
                Ok(Decoded::Inline { end, args }) => (end, Some(args)),
                Ok(Decoded::Incomplete { start }) => {
                    self.start = start;
                    return None;
                }
                Err(error) => return Some(error),
            };
            let last = self.spans.len();
            let args = unquoted.as_ref().map_or(Args::new(bytes, &self.spans[first..last]), OwnedArgs::as_args);
            let spec = Request::resolve(args).spec;
            // AUTH, HELLO, RESET and QUIT change how the next request is read.
            let turns = spec.as_ref().is_ok_and(|spec| spec.flags.contains(Flags::NO_AUTH));
            self.requests.push(Entry { first, last, end, unquoted, spec });
            at = end;
            if turns || self.requests.len() == TURN_COMMANDS_MAX {
                self.ended_early = true;
                return None;
            }
        }
        None
    }

    fn request<'w>(&'w self, bytes: &'w [u8], at: usize) -> Request<'w> {
        let entry = &self.requests[at];
        let args = match &entry.unquoted {
            Some(owned) => owned.as_args(),
            None => Args::new(bytes, &self.spans[entry.first..entry.last]),
        };
        Request { args, spec: entry.spec.clone() }
    }
}

/// Writes a reply, or begins to tell one that is long.
fn answer(reply: Reply<'_>, silent: bool, resp: u8, outbox: &mut Outbox) -> Option<Box<Telling>> {
    match reply.into_stream() {
        Ok(_) if silent => None,
        Ok((collection, pieces)) => {
            let reply = Streamed::new(collection, pieces, resp);
            Some(Box::new(Telling { reply, behind: Outbox::default() }))
        }
        Err(reply) => {
            if !silent || matches!(reply, Reply::Confirmations(_)) {
                encode(&reply, resp, outbox);
            }
            None
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
