//! Runs a sequence on both servers at once and compares everything that comes back.
//!
//! Requests of one connection go out in batches; a batch ends where something must be known or made equal before the
//! next request. After each batch the keyspace events of both servers are compared, in order.
//!
//! Invariant: between two batches no server has anything left to do or to say.

use std::time::Instant;

use goblin::command::{SPECS, Spec};

use crate::road::Server;
use crate::wire::{Connection, Value, WATCHDOG, frame, shown};

use super::accepted::{self, Agreement, agree, agreement, sorted};
use super::counts::Counts;
use super::declared::declared;
use super::hints;
use super::settle::settle;
use super::step::{Step, Wait};

/// Longest batch; the replies to one must fit in what the kernel holds.
const BATCH_STEPS_MAX: usize = 64;
const BATCH_BYTES_MAX: usize = 64 * 1024;

/// Where batches end, whatever happens.
const BARRIERS: &[&str] = &["exec", "discard", "multi", "reset", "quit"];

/// Where the end of a batch is marked among the events.
const MARK: &str = "differential:mark";

/// Where two servers disagree.
pub struct Difference {
    /// The step, or the number of steps when only the keyspaces differ.
    pub at: usize,
    pub what: String,
    pub ours: String,
    pub theirs: String,
    /// What Redis answered to each step so far.
    pub replies: Vec<Option<Value>>,
}

impl Difference {
    /// The command it was seen at, or the first words of what is said about it.
    pub fn command(&self, steps: &[Step]) -> String {
        let start: Vec<&str> = self.what.split(' ').take(3).collect();
        steps.get(self.at).map_or(start.join(" "), |step| format!("{} {}", step.command(), start[0]))
    }
}

/// What differs, as goblin tells it, as Redis tells it.
pub struct Told(pub String, pub String, pub String);

/// The same connection to both servers.
pub struct Duo {
    pub ours: Connection,
    pub theirs: Connection,
}

/// Both replies to one request.
pub struct Replies {
    /// None when it is, byte for byte, what Redis answered.
    pub ours: Option<(Value, Vec<u8>)>,
    pub theirs: (Value, Vec<u8>),
}

impl Replies {
    pub fn ours(&self) -> &Value {
        &self.ours.as_ref().unwrap_or(&self.theirs).0
    }

    fn told(&self, what: String) -> Told {
        Told(what, shown(&self.ours.as_ref().unwrap_or(&self.theirs).1), shown(&self.theirs.1))
    }
}

impl Duo {
    pub fn new(servers: &[Server; 2]) -> Duo {
        Duo { ours: servers[0].connect(), theirs: servers[1].connect() }
    }

    /// Sends the same requests to both and reads all replies.
    pub fn exchange(&mut self, requests: &[Vec<Vec<u8>>]) -> Vec<Replies> {
        let bytes: Vec<u8> = requests.iter().flat_map(|words| frame(words)).collect();
        self.theirs.send(&bytes);
        self.ours.send(&bytes);
        requests.iter().map(|_| self.replies()).collect()
    }

    pub fn replies(&mut self) -> Replies {
        let theirs = self.theirs.value_bytes();
        let same = self.ours.take_if(&theirs.1);
        Replies { ours: (!same).then(|| self.ours.value_bytes()), theirs }
    }

    /// The same for one request of plain words.
    pub fn ask(&mut self, line: &str) -> Replies {
        self.exchange(&[words(line, b"")]).remove(0)
    }
}

/// The words of a line, `{}` being a key.
pub fn words(line: &str, key: &[u8]) -> Vec<Vec<u8>> {
    line.split(' ').map(|word| if word == "{}" { key.to_vec() } else { word.as_bytes().to_vec() }).collect()
}

/// One of the two connections that steps are about.
struct Line {
    duo: Duo,
    /// Queueing after MULTI: what was queued.
    queued: Option<Vec<Step>>,
    resp: u8,
}

impl Line {
    fn new(servers: &[Server; 2], resp: u8) -> Line {
        let mut duo = Duo::new(servers);
        duo.ask(&format!("HELLO {resp}"));
        Line { duo, queued: None, resp }
    }
}

/// Events that may differ after what was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Besides {
    Nothing,
    /// Keys that went because an iteration met them.
    Expired,
    /// Looks at a key that is gone.
    Missed,
}

struct Drive<'a> {
    servers: &'a [Server; 2],
    resp: u8,
    lines: [Line; 2],
    observer: Duo,
    listener: Duo,
    marks: usize,
    counts: &'a mut Counts,
    replies: Vec<Option<Value>>,
}

/// Both servers as every run needs them; once after they started. Fails when Redis lacks a command.
pub fn prepare(servers: &[Server; 2]) {
    let mut duo = Duo::new(servers);
    for spec in SPECS.iter().filter(|spec| !spec.name.contains("goblin") && !is_lumped(spec)) {
        let known = duo.theirs.call(&["COMMAND", "INFO", spec.name]).items();
        assert!(known != [Value::Nil], "Redis does not know {}", spec.name);
    }
    for line in ["CONFIG SET notify-keyspace-events AKEmnoc", "DEBUG SET-ACTIVE-EXPIRE 0"] {
        let replies = duo.ask(line);
        assert!(replies.ours.is_none() && !replies.theirs.0.is_error(), "{line}: {:?}", replies.theirs.0);
    }
}

/// DEBUG is one command to its callers.
fn is_lumped(spec: &Spec) -> bool {
    spec.container.is_some_and(|container| container.spec().lumped_errors)
}

/// Runs steps on empty servers, then compares the keyspaces.
pub fn run(servers: &[Server; 2], resp: u8, steps: &[Step], counts: &mut Counts) -> Result<(), Box<Difference>> {
    let mut observer = Duo::new(servers);
    observer.ask("FLUSHALL");
    let mut listener = Duo::new(servers);
    listener.ask("PSUBSCRIBE __key*");
    listener.ask(&format!("SUBSCRIBE {MARK}"));
    let lines = [Line::new(servers, resp), Line::new(servers, resp)];
    let replies = vec![None; steps.len()];
    let mut drive = Drive { servers, resp, lines, observer, listener, marks: 0, counts, replies };
    let mut from = 0;
    while from < steps.len() {
        if drive.is_undetermined(&steps[from]) {
            return Ok(());
        }
        let len = drive.batch_len(&steps[from..]);
        let mut at = from;
        if let Err(Told(what, ours, theirs)) = drive.batch(&steps[from..from + len], &mut at) {
            return Err(Box::new(Difference { at, what, ours, theirs, replies: drive.replies }));
        }
        from += len;
    }
    drive.counts.keyspaces += 1;
    drive.keyspaces().map_err(|Told(what, ours, theirs)| {
        Box::new(Difference { at: steps.len(), what, ours, theirs, replies: std::mem::take(&mut drive.replies) })
    })
}

impl Drive<'_> {
    /// How many of the next steps go out at once.
    fn batch_len(&self, steps: &[Step]) -> usize {
        let connection = steps[0].connection;
        let queues = self.lines[connection].queued.is_some();
        let mut bytes = 0;
        for (at, step) in steps.iter().enumerate() {
            bytes += step.words.iter().map(|word| word.len() + 16).sum::<usize>();
            let is_full = at == BATCH_STEPS_MAX || bytes > BATCH_BYTES_MAX;
            if at > 0 && (step.connection != connection || is_full) {
                return at;
            }
            let command = step.command();
            if at > 0 && accepted::is_alone(&command) {
                return at;
            }
            let settles = !queues && accepted::leaves_chance(&command);
            if accepted::is_alone(&command) || BARRIERS.contains(&command.as_str()) || settles || step.wait != Wait::No
            {
                return at + 1;
            }
        }
        steps.len()
    }

    /// True for what would be queued behind a request that leaves something to chance, and for what would be queued
    /// and has to be waited for. The drawer never does that; leaving out steps might.
    fn is_undetermined(&self, step: &Step) -> bool {
        let Some(queue) = self.lines[step.connection].queued.as_deref() else { return false };
        let ends = ["exec", "discard", "reset", "quit"].contains(&step.command().as_str());
        let behind_chance = !ends && queue.iter().any(|queued| accepted::leaves_chance(&queued.command()));
        behind_chance || step.wait != Wait::No
    }

    /// Runs one batch; `at` is where in the sequence it is.
    fn batch(&mut self, steps: &[Step], at: &mut usize) -> Result<(), Told> {
        let Some(last) = steps.last() else { return Ok(()) };
        let line = &mut self.lines[last.connection];
        let queues = line.queued.is_some();
        let probes: Vec<_> = steps.iter().map(|step| if queues { None } else { probe(step) }).collect();
        let requests: Vec<Vec<Vec<u8>>> = std::iter::zip(&probes, steps)
            .flat_map(|(probe, step)| probe.clone().into_iter().chain([step.words.clone()]))
            .collect();
        let mut replies = line.duo.exchange(&requests).into_iter();
        let mut ran = Vec::new();
        for (step, probe) in steps.iter().zip(&probes) {
            let before = probe.as_ref().and_then(|_| replies.next()).map(|replies| replies.theirs.0);
            let before = before.filter(|members| !members.is_error()).map(|members| members.items());
            let replies = replies.next().expect("a reply to each request");
            self.replies[*at] = Some(replies.theirs.0.clone());
            self.compare(step, &replies, before.as_deref(), &mut ran)?;
            *at += 1;
        }
        *at -= 1;
        let chance: Vec<Step> = ran.into_iter().filter(|step| accepted::leaves_chance(&step.command())).collect();
        let besides = if chance.is_empty() { Besides::Nothing } else { Besides::Expired };
        self.events(besides, &last.line())?;
        self.wait(last)?;
        if !chance.is_empty() {
            let duo = &mut self.lines[last.connection].duo;
            chance.iter().try_for_each(|step| settle(duo, step, !queues))?;
            self.drain();
        }
        if last.command() == "quit" && self.replies[*at] == Some(Value::Status("OK".into())) {
            self.lines[last.connection].duo.theirs.expect_closed();
            self.lines[last.connection].duo.ours.expect_closed();
            self.lines[last.connection] = Line::new(self.servers, self.resp);
        }
        Ok(())
    }

    /// Compares both replies to a step and notes what it ran: itself, or what EXEC found queued.
    fn compare(
        &mut self,
        step: &Step,
        replies: &Replies,
        before: Option<&[Value]>,
        ran: &mut Vec<Step>,
    ) -> Result<(), Told> {
        let line = &mut self.lines[step.connection];
        let (ours, theirs) = (replies.ours(), &replies.theirs.0);
        let is_queued = *theirs == Value::Status("QUEUED".into());
        let told = |what: &str| replies.told(format!("{what} of {}", step.line()));
        let queue = note_queue(line, step, theirs);
        let resp = line.resp;
        match queue {
            // The replies of a transaction: each compared as its command asks.
            Some(queue) if matches!(theirs, Value::Array(_)) => {
                let (theirs, Value::Array(ours)) = (theirs.items(), ours) else { return Err(told("kind")) };
                if ours.len() != theirs.len() || ours.len() != queue.len() {
                    return Err(told("length"));
                }
                for (step, (ours, theirs)) in queue.iter().zip(ours.iter().zip(&theirs)) {
                    self.counts.reply(step, theirs, resp, true);
                    if !agree(step, ours, theirs, None) {
                        return Err(told(&format!("reply to {} as part", step.line())));
                    }
                }
                self.counts.reply(step, &replies.theirs.0, resp, false);
                ran.extend(queue);
                return Ok(());
            }
            _ if is_queued => {}
            _ => {
                self.counts.reply(step, theirs, resp, false);
                ran.push(step.clone());
            }
        }
        if replies.ours.is_some() && !agree(step, ours, theirs, before) {
            return Err(told("reply"));
        }
        match resp == 2 || is_queued || step.command() == "exec" {
            true => Ok(()),
            false => declared(&step.command(), ours).map_err(|what| told(&what)),
        }
    }

    /// Waits for something both servers will say soon.
    fn wait(&mut self, step: &Step) -> Result<(), Told> {
        let Duo { ours, theirs } = match step.wait {
            Wait::No => return Ok(()),
            Wait::UntilGone => &mut self.lines[step.connection].duo,
            Wait::UntilLater => &mut self.observer,
        };
        for connection in [ours, theirs] {
            let (begin, start) = (Instant::now(), micros(&connection.ask("TIME")));
            loop {
                let is_over = match step.wait {
                    Wait::UntilGone => connection.call(&[b"EXISTS", &step.words[1][..]]) == Value::Integer(0),
                    _ => micros(&connection.ask("TIME")) >= start + 20_000,
                };
                if is_over {
                    break;
                }
                assert!(begin.elapsed() < WATCHDOG, "never over: {}", step.line());
            }
        }
        self.events(Besides::Missed, &step.line())
    }

    /// Compares the events since the last time.
    fn events(&mut self, besides: Besides, after: &str) -> Result<(), Told> {
        let (ours, theirs) = self.drain();
        self.counts.events += theirs.len();
        let Some(ours) = ours else { return Ok(()) };
        let word = match besides {
            Besides::Nothing => "",
            Besides::Expired => "expired",
            Besides::Missed => "keymiss",
        };
        let told = |events: &[Value]| {
            let texts = events.iter().map(|event| event.items()[2..].iter().map(Value::to_string).collect::<Vec<_>>());
            let texts = texts.map(|parts| parts.join(" "));
            texts.filter(|event| besides == Besides::Nothing || !event.contains(word)).collect::<Vec<_>>()
        };
        let (ours, theirs) = (told(&ours), told(&theirs));
        let first = ours.iter().zip(&theirs).take_while(|(ours, theirs)| ours == theirs).count();
        let from = |events: &[String]| format!("{:?}", events.iter().skip(first).take(6).collect::<Vec<_>>());
        match ours == theirs {
            true => Ok(()),
            false => Err(Told(format!("keyspace events up to {after}"), from(&ours), from(&theirs))),
        }
    }

    /// Reads all events so far, goblin's and Redis's; none for goblin when they are byte for byte the same.
    fn drain(&mut self) -> (Option<Vec<Value>>, Vec<Value>) {
        self.marks += 1;
        let mark = Value::Bulk(self.marks.to_string().into_bytes());
        self.observer.ask(&format!("PUBLISH {MARK} {}", self.marks));
        let read = |connection: &mut Connection| {
            let mut events = Vec::new();
            let mut bytes = Vec::new();
            loop {
                let (value, own) = connection.value_bytes();
                bytes.extend_from_slice(&own);
                if matches!(&value, Value::Array(parts) if parts.len() == 3 && parts[2] == mark) {
                    return (events, bytes);
                }
                events.push(value);
            }
        };
        let (theirs, bytes) = read(&mut self.listener.theirs);
        let ours = match self.listener.ours.take_if(&bytes) {
            true => None,
            false => Some(read(&mut self.listener.ours).0),
        };
        (ours, theirs)
    }

    /// Every key of every database: type, form, deadline, contents.
    fn keyspaces(&mut self) -> Result<(), Told> {
        let observer = &mut self.observer;
        for database in 0..16 {
            let select = format!("SELECT {database}");
            let replies = observer.exchange(&[words(&select, b""), words("DBSIZE", b""), words("KEYS *", b"")]);
            if replies[1].ours.is_some() {
                return Err(replies[1].told(format!("size of database {database}")));
            }
            let keys = sorted(&replies[2].theirs.0);
            if sorted(replies[2].ours()) != keys {
                return Err(replies[2].told(format!("keys of database {database}")));
            }
            for key in replies[2].theirs.0.items() {
                let kind = question(observer, "TYPE {}", key.bytes())?;
                question(observer, "OBJECT ENCODING {}", key.bytes())?;
                question(observer, "PTTL {}", key.bytes())?;
                let row = hints::TYPES.iter().find(|row| Value::Status(row.word.into()) == kind);
                let Some(row) = row else {
                    let key = key.bytes().escape_ascii();
                    return Err(Told(
                        format!("type of {key}, which hints.rs does not know"),
                        kind.to_string(),
                        kind.to_string(),
                    ));
                };
                question(observer, row.contents, key.bytes())?;
                self.counts.keys += 1;
            }
        }
        Ok(())
    }
}

/// Asks both servers about a key and answers what Redis says.
pub fn question(duo: &mut Duo, line: &str, key: &[u8]) -> Result<Value, Told> {
    let step = Step::new(0, words(line, key));
    let replies = duo.exchange(std::slice::from_ref(&step.words)).remove(0);
    match agree(&step, replies.ours(), &replies.theirs.0, None) {
        true => Ok(replies.theirs.0),
        false => Err(replies.told(format!("state: {}", step.line()))),
    }
}

fn micros(time: &Value) -> u64 {
    let number = |value: &Value| value.text().parse::<u64>().expect("a number of TIME");
    let parts = time.items();
    number(&parts[0]) * 1_000_000 + number(&parts[1])
}

/// What must be known before a random choice.
fn probe(step: &Step) -> Option<Vec<Vec<u8>>> {
    match agreement(&step.command()) {
        Agreement::RandomMembers => Some(words("SMEMBERS {}", step.words.get(1)?)),
        Agreement::RandomKey => Some(words("KEYS *", b"")),
        _ => None,
    }
}

/// Keeps what is queued after MULTI; answers the queue when this step ran it.
fn note_queue(line: &mut Line, step: &Step, theirs: &Value) -> Option<Vec<Step>> {
    let is = |text: &str| matches!(theirs, Value::Status(status) if status == text);
    match step.command().as_str() {
        "multi" if is("OK") => line.queued = Some(Vec::new()),
        "discard" if is("OK") => line.queued = None,
        // Any EXEC ends a transaction.
        "exec" if line.queued.is_some() => return line.queued.take(),
        "reset" if is("RESET") => {
            line.queued = None;
            line.resp = 2;
        }
        "hello" if !is("QUEUED") && !theirs.is_error() => {
            let items = theirs.items();
            let at = items.iter().position(|item| *item == Value::Bulk(b"proto".into()));
            line.resp = at.map_or(line.resp, |at| items[at + 1].integer() as u8);
        }
        _ if is("QUEUED") => line.queued.iter_mut().for_each(|queue| queue.push(step.clone())),
        _ => {}
    }
    None
}
