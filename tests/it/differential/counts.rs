//! What was compared: replies by case, by command, by protocol; and whether that is enough.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::wire::Value;

use super::accepted;
use super::cases::{Aim, Case};
use super::step::Step;

/// Replies to each command, at least.
const COMMAND_MIN: usize = 300;
/// Requests for each option and each mistake, at least.
const CASE_MIN: usize = 30;
/// Replies to each command that may be queued from inside transactions, at least.
const IN_MULTI_MIN: usize = 20;

/// Replies, and how many of them were errors.
#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    replies: usize,
    refused: usize,
    in_multi: usize,
    resp3: usize,
}

impl Tally {
    fn add(&mut self, reply: &Value, resp: u8, in_multi: bool) {
        self.replies += 1;
        self.refused += usize::from(reply.is_error());
        self.in_multi += usize::from(in_multi);
        self.resp3 += usize::from(resp == 3);
    }
}

#[derive(Debug, Default)]
pub struct Counts {
    /// By case, in their order.
    cases: Vec<Tally>,
    all: Tally,
    /// Keyspace events of Redis.
    pub events: usize,
    /// Comparisons of everything that is stored.
    pub keyspaces: usize,
    /// Keys looked at in those.
    pub keys: usize,
}

impl Counts {
    pub fn new(cases: &[Case]) -> Counts {
        Counts { cases: vec![Tally::default(); cases.len()], ..Counts::default() }
    }

    /// Notes a reply to a step; fixtures and the like belong to no case and are not counted.
    pub fn reply(&mut self, step: &Step, reply: &Value, resp: u8, in_multi: bool) {
        let Some(case) = step.case else { return };
        self.all.add(reply, resp, in_multi);
        // While a sequence is shrunk nobody counts.
        if let Some(tally) = self.cases.get_mut(case) {
            tally.add(reply, resp, in_multi);
        }
    }

    /// The numbers as text: the sums, then a line a command, then the cases that came up least.
    pub fn report(&self, cases: &[Case], keys: &BTreeMap<(&str, &str), usize>) -> String {
        let mut text = String::new();
        let Tally { replies, refused, in_multi, resp3 } = self.all;
        let share = refused * 100 / replies.max(1);
        let _ = writeln!(text, "differential: {replies} replies compared, {refused} of them errors ({share} %)");
        let _ = writeln!(text, "differential: RESP2 {}, RESP3 {resp3}, inside MULTI {in_multi}", replies - resp3);
        let Counts { events, keyspaces, keys: stored, .. } = self;
        let _ = writeln!(text, "differential: {events} keyspace events, {keyspaces} keyspaces with {stored} keys");
        for own in cases.chunk_by(|a, b| a.spec.id == b.spec.id) {
            let tally = self.of_command(cases, own[0].spec.name);
            let least = |is_wanted: fn(Aim) -> bool| {
                let counts = self.of(cases, own[0].spec.name).filter(|(case, _)| is_wanted(case.aim));
                counts.map(|(_, tally)| tally.replies).min().map_or("-".into(), |count| count.to_string())
            };
            let name = own[0].spec.name;
            let classes = keys.range((name, "")..).take_while(|((of, _), _)| *of == name);
            let _ = writeln!(
                text,
                "differential: {name:<24} {:>5} replies {:>5} errors {:>5} in MULTI, least of an option {:>4}, of a mistake {:>4}, of a class of key {:>4}",
                tally.replies,
                tally.refused,
                tally.in_multi,
                least(|aim| matches!(aim, Aim::With(_))),
                least(Aim::is_mistake),
                classes.map(|(_, count)| *count).min().map_or("-".into(), |count| count.to_string()),
            );
        }
        text
    }

    fn of<'a>(&'a self, cases: &'a [Case], name: &'a str) -> impl Iterator<Item = (&'a Case, &'a Tally)> {
        cases.iter().zip(&self.cases).filter(move |(case, _)| case.spec.name == name)
    }

    fn of_command(&self, cases: &[Case], name: &str) -> Tally {
        self.of(cases, name).fold(Tally::default(), |sum, (_, one)| Tally {
            replies: sum.replies + one.replies,
            refused: sum.refused + one.refused,
            in_multi: sum.in_multi + one.in_multi,
            resp3: sum.resp3 + one.resp3,
        })
    }

    /// Everything that came up too rarely.
    pub fn shortfalls(&self, cases: &[Case], replies_min: usize, is_queued: impl Fn(&Case) -> bool) -> Vec<String> {
        let mut short = Vec::new();
        let Tally { replies, refused, in_multi, resp3 } = self.all;
        let mut at_least = |what: String, count: usize, wanted: usize| {
            if count < wanted {
                short.push(format!("{what}: {count}, wanted {wanted}"));
            }
        };
        at_least("replies".into(), replies, replies_min);
        at_least("replies that are no errors".into(), replies - refused, replies.div_ceil(2));
        at_least("replies in RESP2".into(), replies - resp3, replies / 3);
        at_least("replies in RESP3".into(), resp3, replies / 3);
        at_least("replies inside MULTI".into(), in_multi, replies / 20);
        for own in cases.chunk_by(|a, b| a.spec.id == b.spec.id) {
            let tally = self.of_command(cases, own[0].spec.name);
            let name = own[0].spec.name;
            if own.iter().any(|case| matches!(case.aim, Aim::Well)) {
                at_least(format!("replies to {name}"), tally.replies, COMMAND_MIN);
                if !accepted::may_always_fail(name) {
                    at_least(format!("good replies to {name}"), tally.replies - tally.refused, 1);
                }
            }
            if is_queued(&own[0]) {
                at_least(format!("replies to {name} inside MULTI"), tally.in_multi, IN_MULTI_MIN);
            }
            for (case, tally) in self.of(cases, name) {
                at_least(format!("{name}, {}", case.aim.name()), tally.replies, CASE_MIN);
                if case.aim.breaks_arity() {
                    at_least(format!("refusals of {name}, {}", case.aim.name()), tally.refused, tally.replies);
                }
            }
        }
        short
    }
}

/// Keys of each class for each command that takes keys, at least.
const CLASS_MIN: usize = 10;

/// Commands that met keys of some class too rarely.
pub fn key_shortfalls(keys: &BTreeMap<(&'static str, &'static str), usize>) -> Vec<String> {
    let mut short = Vec::new();
    let commands: Vec<&str> = keys.keys().map(|(command, _)| *command).collect();
    let classes: Vec<&str> = keys.keys().map(|(_, class)| *class).collect();
    for (command, class) in commands.iter().flat_map(|command| classes.iter().map(move |class| (*command, *class))) {
        let count = keys.get(&(command, class)).copied().unwrap_or(0);
        if count < CLASS_MIN {
            short.push(format!("keys made as {class} for {command}: {count}, wanted {CLASS_MIN}"));
        }
    }
    short.sort();
    short.dedup();
    short
}
