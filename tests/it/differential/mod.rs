//! The same random requests to goblin and to a real Redis: every reply must be the same, byte for byte.
//!
//! Requests are drawn from the specs in episodes of a thousand, each on empty servers, in turn in RESP2 and RESP3; then
//! both keyspaces are compared. Where Redis itself answers by chance, in no order or by the clock, replies are compared
//! as far as they are determined. A sequence that differs is cut down and printed as a transcript.
//!
//! `GOBLIN_DIFFERENTIAL_SEED` and `GOBLIN_DIFFERENTIAL_COMMANDS` change what is drawn; the numbers below are CI's.

mod draw;

use std::collections::BTreeMap;
use std::fmt::Write;

use goblin::command::{ReplyKind, SPECS};

use crate::road::{Program, Server};
use crate::suite::{Need, Suite, tests};
use crate::wire::{Connection, Value, shown};

use draw::{Drawer, Step};

/// Registers this module's tests.
pub fn tests(suite: &mut Suite) {
    let reference = Program::reference().map(|_| ()).ok_or("no redis-server 8.2.3 is here".to_owned());
    tests!(suite, plain, Need::Present(reference); random_commands_get_the_replies_of_redis);
    tests!(suite, plain, Need::Nothing; every_drawable_command_is_drawn);
}

const SEED: u64 = 20_823;
const COMMANDS: usize = 60_000;
const EPISODE: usize = 1000;
/// The pool is filled again after this many commands.
const PRELUDE_EVERY: usize = 125;
/// Databases that the drawn commands can reach.
const DATABASES: usize = 3;

fn from_environment(name: &str, default: u64) -> u64 {
    let value = std::env::var(name).ok();
    value.map_or(default, |value| value.parse().unwrap_or_else(|_| panic!("{name} is not a number: {value:?}")))
}

/// The steps of one episode.
fn episode(seed: u64) -> Vec<Step> {
    let mut drawer = Drawer::new(seed);
    let mut steps = Vec::new();
    for number in 0..EPISODE {
        if number % PRELUDE_EVERY == 0 {
            steps.extend(drawer.prelude());
        }
        steps.push(drawer.step());
    }
    steps
}

fn every_drawable_command_is_drawn() {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for seed in 0..20 {
        episode(seed).iter().for_each(|step| *counts.entry(step.command()).or_default() += 1);
    }
    for spec in SPECS.iter().filter(|spec| draw::drawable(spec)) {
        let count = counts.get(spec.name).copied().unwrap_or(0);
        assert!(count >= 5, "{} is drawn {count} times in 20 episodes: {counts:?}", spec.name);
    }
}

fn random_commands_get_the_replies_of_redis() {
    let seed = from_environment("GOBLIN_DIFFERENTIAL_SEED", SEED);
    let episodes = (from_environment("GOBLIN_DIFFERENTIAL_COMMANDS", COMMANDS as u64) as usize).div_ceil(EPISODE);
    let servers = [Server::start(), Server::of(&Program::reference().expect("checked before"), &[])];
    let mut counts = Counts::default();
    for number in 0..episodes {
        let resp = if number % 2 == 0 { 2 } else { 3 };
        let steps = episode(seed + number as u64);
        if let Err(difference) = run(&servers, resp, &steps, &mut counts) {
            let steps = shrink(&servers, resp, &steps[..=difference.at.min(steps.len() - 1)]);
            let difference = run(&servers, resp, &steps, &mut Counts::default()).err().unwrap_or(difference);
            panic!("episode {number} of seed {seed}, RESP{resp}\n{}", transcript(&steps, &difference));
        }
    }
    eprint!("{counts}");
    counts.assert_mostly_accepted();
}

/// Where two servers disagree.
struct Difference {
    /// The step, or the number of steps when only the keyspaces differ.
    at: usize,
    what: String,
    ours: String,
    theirs: String,
}

fn transcript(steps: &[Step], difference: &Difference) -> String {
    let mut text = String::new();
    for step in steps {
        let _ = writeln!(text, "  {}", step.line());
    }
    let Difference { what, ours, theirs, .. } = difference;
    let _ = write!(text, "{what}\n  goblin: {ours}\n   redis: {theirs}");
    text
}

/// Leaves out steps, first many at once, as long as the servers still disagree.
fn shrink(servers: &[Server; 2], resp: u8, steps: &[Step]) -> Vec<Step> {
    let mut steps = steps.to_vec();
    let mut chunk = steps.len() / 2;
    let mut tries = 0;
    while chunk > 0 && tries < 600 {
        let mut start = 0;
        while start < steps.len() && tries < 600 {
            let mut shorter = steps.clone();
            shorter.drain(start..(start + chunk).min(shorter.len()));
            tries += 1;
            match run(servers, resp, &shorter, &mut Counts::default()) {
                Err(difference) => {
                    shorter.truncate(difference.at.saturating_add(1));
                    steps = shorter;
                }
                Ok(()) => start += chunk,
            }
        }
        chunk /= 2;
    }
    steps
}

/// Calls and refusals of each command.
#[derive(Default)]
struct Counts(BTreeMap<String, (usize, usize)>);

impl Counts {
    fn add(&mut self, step: &Step, reply: &Value) {
        let known = step.command();
        let name = if SPECS.iter().any(|spec| spec.name == known) { known } else { "(no command)".to_owned() };
        let (calls, errors) = self.0.entry(name).or_default();
        *calls += 1;
        *errors += usize::from(reply.is_error());
    }

    fn assert_mostly_accepted(&self) {
        let (calls, errors) = self.0.values().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        assert!(errors * 2 < calls, "{errors} of {calls} replies are errors: too little is compared");
    }
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (command, (calls, errors)) in &self.0 {
            writeln!(f, "differential: {command:<16} {calls:>6} calls {errors:>6} errors")?;
        }
        Ok(())
    }
}

/// The two connections of an episode to each server.
struct Pair {
    ours: Connection,
    theirs: Connection,
    /// Queueing after MULTI: what was queued.
    queued: Option<Vec<Step>>,
}

impl Pair {
    /// Sends the same to both and reads both replies.
    fn both(&mut self, words: &[Vec<u8>]) -> [(Value, Vec<u8>); 2] {
        self.ours.request(words);
        self.theirs.request(words);
        [self.ours.value_bytes(), self.theirs.value_bytes()]
    }

    fn ask_both(&mut self, line: &str) -> [Value; 2] {
        let words: Vec<Vec<u8>> = line.split(' ').map(|word| word.as_bytes().to_vec()).collect();
        self.both(&words).map(|(value, _)| value)
    }
}

/// Runs steps on empty servers.
fn run(servers: &[Server; 2], resp: u8, steps: &[Step], counts: &mut Counts) -> Result<(), Difference> {
    let mut pairs = [0, 1].map(|_| Pair { ours: servers[0].connect(), theirs: servers[1].connect(), queued: None });
    for pair in &mut pairs {
        pair.ask_both(&format!("HELLO {resp}"));
        pair.ask_both("FLUSHALL");
    }
    for (at, step) in steps.iter().enumerate() {
        let pair = &mut pairs[step.connection];
        if is_undetermined(pair, step) {
            return Ok(());
        }
        let before = sources_of_chance(pair, step);
        let [ours, theirs] = pair.both(&step.words);
        counts.add(step, &theirs.0);
        let difference = |what: &str| Difference {
            at,
            what: format!("{what} of {}", step.line()),
            ours: shown(&ours.1),
            theirs: shown(&theirs.1),
        };
        let queued = note_queue(pair, step, &theirs.0);
        match &queued {
            // The replies of a transaction: each compared as its command asks.
            Some(queue) if !theirs.0.is_error() && theirs.0 != Value::Nil => {
                let (Value::Array(mine), Value::Array(other)) = (&ours.0, &theirs.0) else {
                    return Err(difference("kind"));
                };
                let same = mine.len() == other.len() && mine.len() == queue.len();
                if !same || !queue.iter().zip(mine.iter().zip(other)).all(|(step, (a, b))| equal(step, a, b, None)) {
                    return Err(difference("replies"));
                }
            }
            _ if ours.1 == theirs.1 => {}
            _ if theirs.0.is_error() || ours.0.is_error() => return Err(difference("refusal")),
            _ if !equal(step, &ours.0, &theirs.0, before.as_deref()) => return Err(difference("reply")),
            _ => {}
        }
        declared(step, resp, &ours.0, queued.is_some()).map_err(|what| difference(&what))?;
        after_chance(pair, step, queued.as_deref()).map_err(|(what, ours, theirs)| Difference {
            at,
            what,
            ours,
            theirs,
        })?;
        whole_scan(pair, step, &theirs.0).map_err(|(what, ours, theirs)| Difference { at, what, ours, theirs })?;
    }
    let mut observer = Pair { ours: servers[0].connect(), theirs: servers[1].connect(), queued: None };
    compare_keyspaces(&mut observer).map_err(|(what, ours, theirs)| Difference { at: steps.len(), what, ours, theirs })
}

/// True for what would be queued behind a random removal: its reply depends on what was removed. The drawer never does
/// that; leaving out steps might.
fn is_undetermined(pair: &Pair, step: &Step) -> bool {
    let ends = ["exec", "discard", "reset"].contains(&step.command().as_str());
    !ends && pair.queued.as_ref().is_some_and(|queue| queue.iter().any(|queued| queued.command() == "spop"))
}

/// Keeps what is queued after MULTI; answers the queue when this step ran it.
fn note_queue(pair: &mut Pair, step: &Step, theirs: &Value) -> Option<Vec<Step>> {
    let is = |text: &str| matches!(theirs, Value::Status(status) if status == text);
    match step.command().as_str() {
        "multi" if is("OK") => pair.queued = Some(Vec::new()),
        "discard" if is("OK") => pair.queued = None,
        // Any EXEC ends a transaction, except one of a wrong length that does not even say so.
        "exec" if pair.queued.is_some() => return pair.queued.take(),
        _ if is("QUEUED") => {
            if let Some(queue) = &mut pair.queued {
                queue.push(step.clone());
            }
        }
        _ => {}
    }
    None
}

/// For commands that answer random members: the members there are. Not known inside a transaction.
fn sources_of_chance(pair: &mut Pair, step: &Step) -> Option<Vec<Value>> {
    if pair.queued.is_some() || !["spop", "srandmember"].contains(&step.command().as_str()) {
        return None;
    }
    let members = pair.theirs.call(&[b"SMEMBERS", &step.words.get(1)?[..]]);
    (!members.is_error()).then(|| members.items())
}

/// True when two replies say the same, as far as the command determines what it says.
fn equal(step: &Step, ours: &Value, theirs: &Value, members: Option<&[Value]>) -> bool {
    if ours.is_error() || theirs.is_error() {
        return ours == theirs;
    }
    match step.command().as_str() {
        "spop" | "srandmember" => same_draw(step, ours, theirs, members),
        "smembers" | "sinter" | "sunion" | "sdiff" | "keys" => same_items(ours, theirs),
        "scan" | "sscan" => {
            matches!((ours, theirs), (Value::Array(a), Value::Array(b)) if a.len() == 2 && b.len() == 2)
        }
        "ttl" => within(ours, theirs, 3),
        "pttl" => within(ours, theirs, 3000),
        "object|encoding" => string_form(ours) == string_form(theirs),
        _ => ours == theirs,
    }
}

/// Where Redis changes between its two inner forms of short strings depends on its allocator.
fn string_form(value: &Value) -> Value {
    match value {
        Value::Bulk(text) if text == b"embstr" => Value::Bulk(b"raw".to_vec()),
        other => other.clone(),
    }
}

fn within(ours: &Value, theirs: &Value, tolerance: i64) -> bool {
    match (ours, theirs) {
        (Value::Integer(a), Value::Integer(b)) if *a >= 0 && *b >= 0 => (a - b).abs() <= tolerance,
        _ => ours == theirs,
    }
}

fn sorted(value: &Value) -> Vec<String> {
    let mut items: Vec<String> = value.items().iter().map(Value::to_string).collect();
    items.sort();
    items
}

fn same_items(ours: &Value, theirs: &Value) -> bool {
    std::mem::discriminant(ours) == std::mem::discriminant(theirs) && sorted(ours) == sorted(theirs)
}

/// Random members: as many, all of them members, and none twice unless a negative count allows it.
fn same_draw(step: &Step, ours: &Value, theirs: &Value, members: Option<&[Value]>) -> bool {
    if std::mem::discriminant(ours) != std::mem::discriminant(theirs) {
        return false;
    }
    let is_member = |item: &Value| members.is_none_or(|members| members.contains(item));
    match ours {
        Value::Bulk(_) => is_member(ours),
        Value::Array(items) | Value::Set(items) => {
            let mut distinct = sorted(ours);
            distinct.dedup();
            let may_repeat = step.words.get(2).is_some_and(|count| count.starts_with(b"-"));
            let sound = may_repeat || distinct.len() == items.len();
            items.len() == theirs.items().len() && items.iter().all(is_member) && sound
        }
        _ => ours == theirs,
    }
}

/// Fails when a reply is of a kind that its spec does not declare. RESP3 only: RESP2 tells kinds less apart.
fn declared(step: &Step, resp: u8, reply: &Value, of_exec: bool) -> Result<(), String> {
    let name = step.command();
    let Some(spec) = SPECS.iter().find(|spec| spec.name == name) else { return Ok(()) };
    let is_queued = matches!(reply, Value::Status(text) if text == "QUEUED");
    if resp == 2 || reply.is_error() || is_queued || of_exec {
        return Ok(());
    }
    let kinds: &[ReplyKind] = match reply {
        Value::Nil => &[ReplyKind::Nil],
        Value::Status(_) => &[ReplyKind::Status],
        Value::Integer(_) => &[ReplyKind::Integer],
        Value::Double(_) => &[ReplyKind::Double],
        Value::Boolean(_) => &[ReplyKind::Boolean],
        Value::Bulk(_) => &[ReplyKind::Bulk],
        Value::Verbatim(_) => &[ReplyKind::Verbatim],
        Value::Array(_) => &[ReplyKind::Array, ReplyKind::Page, ReplyKind::Exec],
        Value::Set(_) => &[ReplyKind::Set],
        Value::Map(_) => &[ReplyKind::Map],
        Value::Push(_) => &[ReplyKind::Confirmations],
        Value::Error(_) => &[],
    };
    match spec.replies.iter().any(|kind| kinds.contains(kind)) {
        true => Ok(()),
        false => Err(format!("kind, declared as {:?},", spec.replies)),
    }
}

/// What differs, as goblin tells it, as Redis tells it.
type Told = (String, String, String);

/// After members were taken at random both servers get the same set again.
fn after_chance(pair: &mut Pair, step: &Step, ran: Option<&[Step]>) -> Result<(), Told> {
    let taken = match ran {
        Some(queue) => queue.iter().rev().find(|step| step.command() == "spop"),
        None => Some(step).filter(|step| step.command() == "spop" && pair.queued.is_none()),
    };
    let Some(key) = taken.and_then(|step| step.words.get(1)) else { return Ok(()) };
    let words =
        |name: &str| name.split(' ').map(|word| word.as_bytes().to_vec()).chain([key.clone()]).collect::<Vec<_>>();
    for question in ["SCARD", "OBJECT ENCODING"] {
        let [ours, theirs] = pair.both(&words(question)).map(|(value, _)| string_form(&value));
        if ours != theirs {
            return Err((format!("{question} after {}", step.line()), ours.to_string(), theirs.to_string()));
        }
    }
    let members = pair.theirs.call(&words("SMEMBERS"));
    if !members.is_error() && !members.items().is_empty() {
        let mut again = words("SADD");
        again.extend(members.items().iter().map(|member| member.bytes().to_vec()));
        pair.both(&words("DEL"));
        pair.both(&again);
    }
    Ok(())
}

/// Scans are compared whole: the cursors between the pages are each server's own.
fn whole_scan(pair: &mut Pair, step: &Step, theirs: &Value) -> Result<(), Told> {
    let at = match step.command().as_str() {
        "scan" => 1,
        "sscan" => 2,
        _ => return Ok(()),
    };
    if pair.queued.is_some() || theirs.is_error() {
        return Ok(());
    }
    let [ours, theirs] = [&mut pair.ours, &mut pair.theirs].map(|connection| {
        let (mut words, mut seen) = (step.words.clone(), Vec::new());
        words[at] = b"0".to_vec();
        loop {
            let page = connection.call(&words).items();
            seen.extend(page[1].items().iter().map(Value::to_string));
            words[at] = page[0].bytes().to_vec();
            if words[at] == b"0" || seen.len() > 100_000 {
                seen.sort();
                seen.dedup();
                return seen;
            }
        }
    });
    match ours == theirs {
        true => Ok(()),
        false => Err((format!("whole scan of {}", step.line()), format!("{ours:?}"), format!("{theirs:?}"))),
    }
}

/// Every key of every database: type, form, deadline, contents.
fn compare_keyspaces(pair: &mut Pair) -> Result<(), Told> {
    for database in 0..DATABASES {
        pair.ask_both(&format!("SELECT {database}"));
        let [ours, theirs] = pair.ask_both("KEYS *");
        if sorted(&ours) != sorted(&theirs) {
            return Err((
                format!("keys of database {database}"),
                format!("{:?}", sorted(&ours)),
                format!("{:?}", sorted(&theirs)),
            ));
        }
        for key in theirs.items() {
            let key = key.bytes().to_vec();
            for question in ["TYPE", "OBJECT ENCODING", "PTTL", "GET", "SMEMBERS"] {
                let words: Vec<Vec<u8>> =
                    question.split(' ').map(|word| word.as_bytes().to_vec()).chain([key.clone()]).collect();
                let step = Step { connection: 0, words };
                let [(ours, _), (theirs, _)] = pair.both(&step.words);
                if !equal(&step, &ours, &theirs, None) {
                    return Err((format!("keyspace: {}", step.line()), ours.to_string(), theirs.to_string()));
                }
            }
        }
    }
    Ok(())
}
