//! Subscriptions, drawn and compared: these change what their connections receive, so they have connections of their own.
//!
//! After each request a PING tells where its answers end, on every connection; what came before it is compared.

use std::fmt;

use crate::protocol::Random;
use crate::road::Server;
use crate::wire::{Connection, Value};

use super::cases::{Aim, Case};
use super::counts::Counts;
use super::drive::Duo;
use super::render::Renderer;
use super::step::Step;

/// Requests before all connections are made anew.
const ROUND: usize = 60;

/// Connections that subscribe; the first half speaks RESP2, the others RESP3.
const LISTENERS: usize = 4;

/// How the messages from both servers may be ordered.
#[derive(Clone, Copy)]
enum Order {
    /// Alike.
    Same,
    /// The names are in any order: Redis leaves everything in the order of its hash.
    OfNames,
    /// One message for several patterns: Redis goes through them in the order of its hash.
    Any,
}

struct Room {
    listeners: Vec<Duo>,
    publisher: Duo,
    said: Vec<String>,
}

/// Where two servers told different things.
struct Differs {
    said: Vec<String>,
    ours: Vec<Value>,
    theirs: Vec<Value>,
}

impl fmt::Display for Differs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.said.iter().try_for_each(|line| writeln!(f, "  {line}"))?;
        write!(f, "  goblin: {:?}\n   redis: {:?}", self.ours, self.theirs)
    }
}

/// Draws until every case, whose `weight` says how often beside the others, came up `times` times its weight.
pub fn run(servers: &[Server; 2], seed: u64, cases: &[Case], times: usize, counts: &mut Counts) {
    let mut renderer = Renderer::new(seed);
    let mut deck: Vec<usize> = Vec::new();
    for (index, case) in cases.iter().enumerate() {
        deck.extend(std::iter::repeat_n(index, case.weight * times));
    }
    for last in (1..deck.len()).rev() {
        deck.swap(last, renderer.random.below(last + 1));
    }
    for round in deck.chunks(ROUND) {
        let mut room = Room::new(servers);
        for &index in round {
            if let Err(differs) = room.draw(&mut renderer, index, &cases[index], counts) {
                panic!("subscriptions of seed {seed}\n{differs}");
            }
        }
    }
}

impl Room {
    fn new(servers: &[Server; 2]) -> Room {
        let mut listeners: Vec<Duo> = (0..LISTENERS).map(|_| Duo::new(servers)).collect();
        for duo in &mut listeners[LISTENERS / 2..] {
            duo.ask("HELLO 3");
        }
        Room { listeners, publisher: Duo::new(servers), said: Vec::new() }
    }

    /// One request about subscriptions, and something published.
    fn draw(&mut self, renderer: &mut Renderer, index: usize, case: &Case, counts: &mut Counts) -> Result<(), Differs> {
        let at = renderer.random.below(LISTENERS);
        let words = renderer.words(case.spec, case.aim);
        let resp = if at < LISTENERS / 2 { 2 } else { 3 };
        let step = Step { case: Some(index), ..Step::new(0, words) };
        self.said.push(format!("{}{}", (b'C' + at as u8) as char, &step.line()[1..]));
        let duo = &mut self.listeners[at];
        duo.ours.request(&step.words);
        duo.theirs.request(&step.words);
        let leaves_all = matches!(case.aim, Aim::Well) && step.words.len() == 1;
        let order = if leaves_all { Order::OfNames } else { Order::Same };
        let replies = self.told(at, order)?;
        counts.reply(&step, replies.first().expect("a reply to a subscription"), resp, false);
        self.publish(&mut renderer.random)
    }

    /// Publishes somewhere; asks who listens; then everyone is asked what came.
    fn publish(&mut self, random: &mut Random) -> Result<(), Differs> {
        const LINES: &[&str] = &[
            "PUBLISH ch:1 hello",
            "PUBLISH ch:2 \"\"",
            "PUBLISH news x",
            "PUBLISH set:1 x",
            "PUBLISH a x",
            "SPUBLISH ch:1 hello",
            "SPUBLISH news x",
            "PUBSUB NUMPAT",
            "PUBSUB NUMSUB ch:1 ch:2 ch:3 news",
            "PUBSUB SHARDNUMSUB ch:1 ch:2 ch:3 news",
        ];
        let line = LINES[random.below(LINES.len())];
        self.said.push(format!("B> {line}"));
        let replies = self.publisher.ask(line);
        if replies.ours.is_some() {
            let (ours, theirs) = (vec![replies.ours().clone()], vec![replies.theirs.0]);
            return Err(Differs { said: std::mem::take(&mut self.said), ours, theirs });
        }
        (0..LISTENERS).try_for_each(|at| self.told(at, Order::Any).map(drop))
    }

    /// Everything that a listener was told since the last time, which is the same from both servers.
    fn told(&mut self, at: usize, order: Order) -> Result<Vec<Value>, Differs> {
        let Duo { ours, theirs } = &mut self.listeners[at];
        let [ours, theirs] = [ours, theirs].map(until_fence);
        let same = match order {
            Order::Same => ours == theirs,
            Order::OfNames => unordered(&ours) == unordered(&theirs),
            Order::Any => sorted(&ours) == sorted(&theirs),
        };
        match same {
            true => Ok(theirs),
            false => Err(Differs { said: std::mem::take(&mut self.said), ours, theirs }),
        }
    }
}

fn until_fence(connection: &mut Connection) -> Vec<Value> {
    const FENCE: &[u8] = b"that is all";
    connection.request(&[b"PING", FENCE]);
    let mut values = Vec::new();
    loop {
        let value = connection.value();
        let is_fence = match &value {
            Value::Array(items) => items.last() == Some(&Value::Bulk(FENCE.into())),
            other => *other == Value::Bulk(FENCE.into()),
        };
        if is_fence {
            return values;
        }
        values.push(value);
    }
}

fn sorted(values: &[Value]) -> Vec<String> {
    let mut values: Vec<String> = values.iter().map(Value::to_string).collect();
    values.sort();
    values
}

/// Names in one list, sorted, and everything else in order.
fn unordered(values: &[Value]) -> (Vec<String>, Vec<String>) {
    let (mut names, mut others) = (Vec::new(), Vec::new());
    for value in values {
        let mut items = if value.is_error() { vec![value.clone()] } else { value.items() };
        if items.len() == 3 {
            names.push(items.remove(1).to_string());
        }
        others.push(format!("{items:?}"));
    }
    names.sort();
    (names, others)
}
