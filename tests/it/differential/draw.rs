//! Draws sequences: which case comes next, on which connection, in or out of a transaction.
//!
//! Cases are dealt from a shuffled deck that holds each as often as its weight says, so that none is left out by chance.
//!
//! Invariant: what is drawn depends on the seed alone, never on replies, so that a sequence can be cut and run again.
//! Invariant: behind a request that leaves something to chance nothing is queued in the same transaction.

use std::collections::{BTreeMap, VecDeque};

use goblin::command::{Flags, Spec};

use crate::protocol::Random;

use super::accepted;
use super::cases::{Aim, Case};
use super::hints;
use super::render::Renderer;
use super::step::{Step, Wait};

/// The fixtures are made again after this many commands.
const REFILL_EVERY: usize = 150;

/// How soon after everything was emptied, or another database selected.
const REFILL_SOON: usize = 6;

pub struct Drawer<'a> {
    cases: &'a [Case],
    renderer: Renderer,
    deck: Vec<usize>,
    /// Cases that did not fit where they came up.
    deferred: Vec<usize>,
    connection: usize,
    /// Requests still to queue before EXEC, on each connection.
    queueing: [Option<usize>; 2],
    pending: VecDeque<Step>,
    until_refill: usize,
    resp: u8,
}

impl<'a> Drawer<'a> {
    pub fn new(seed: u64, cases: &'a [Case]) -> Drawer<'a> {
        Drawer {
            cases,
            renderer: Renderer::new(seed),
            deck: Vec::new(),
            deferred: Vec::new(),
            connection: 0,
            queueing: [None, None],
            pending: VecDeque::new(),
            until_refill: 0,
            resp: 2,
        }
    }

    /// How many requests deal every case once for each unit of its weight.
    pub fn deck_len(&self) -> usize {
        self.cases.iter().map(|case| case.weight).sum()
    }

    /// How often each command was given a key that was made as each class.
    pub fn keys(&self) -> &BTreeMap<(&'static str, &'static str), usize> {
        &self.renderer.keys
    }

    /// The next steps: `len` that were dealt, and what is needed around them.
    pub fn episode(&mut self, resp: u8, len: usize) -> Vec<Step> {
        self.resp = resp;
        self.connection = 0;
        self.queueing = [None, None];
        self.pending.clear();
        self.until_refill = 0;
        let mut steps = Vec::new();
        let mut dealt = 0;
        while dealt < len {
            let step = self.step();
            dealt += usize::from(step.case.is_some());
            steps.push(step);
        }
        steps
    }

    fn random(&mut self) -> &mut Random {
        &mut self.renderer.random
    }

    /// True with this many chances in a thousand.
    fn chance(&mut self, permille: usize) -> bool {
        self.random().below(1000) < permille
    }

    fn step(&mut self) -> Step {
        if let Some(step) = self.pending.pop_front() {
            return step;
        }
        let switches = if self.connection == 0 { 30 } else { 200 };
        if self.chance(switches) {
            self.connection = 1 - self.connection;
        }
        let at = self.connection;
        let queueing = self.queueing;
        match queueing[at] {
            Some(0) => {
                self.queueing[at] = None;
                let end = if self.chance(900) { "EXEC" } else { "DISCARD" };
                return self.of_transaction(end);
            }
            Some(left) => self.queueing[at] = Some(left - 1),
            None if at == 0 && self.until_refill == 0 => {
                self.until_refill = REFILL_EVERY;
                self.refill();
                return self.step();
            }
            None if self.chance(40) => {
                let len = self.random().below(12);
                self.queueing[at] = Some(len);
                return self.of_transaction("MULTI");
            }
            None if queueing == [None, None] && self.chance(2) => {
                return self.short_deadline();
            }
            None => {}
        }
        self.until_refill = self.until_refill.saturating_sub(1);
        if self.chance(3) {
            return Step::new(at, self.renderer.unknown());
        }
        self.dealt()
    }

    /// MULTI, EXEC or DISCARD where it belongs.
    fn of_transaction(&mut self, line: &str) -> Step {
        let name = line.to_lowercase();
        let case = self.cases.iter().position(|case| case.spec.name == name && matches!(case.aim, Aim::Well));
        Step { case, ..Step::of(self.connection, line) }
    }

    /// Makes the fixtures again, most of them, in the database that connection 0 is in.
    fn refill(&mut self) {
        let absent = hints::ABSENT.iter().map(|key| hints::bytes(key));
        self.pending.push_back(Step::new(0, std::iter::once(b"DEL".to_vec()).chain(absent).collect()));
        let mut lines = Vec::new();
        for fixture in hints::TYPES.iter().flat_map(|kind| kind.fixtures) {
            if self.chance(700) {
                lines.push(format!("DEL {}", fixture.key));
                lines.push((fixture.make)(self.random()).replace("{}", fixture.key));
                lines.extend(fixture.then.map(|then| then.replace("{}", fixture.key)));
            }
        }
        let steps = lines.iter().map(|line| Step::new(0, line.split(' ').map(hints::bytes).collect()));
        self.pending.extend(steps);
    }

    /// A deadline so near that the key is gone a moment later: either somebody waits for that, or whoever looks next
    /// finds it out.
    fn short_deadline(&mut self) -> Step {
        let fixtures: Vec<_> = hints::TYPES.iter().flat_map(|kind| kind.fixtures).collect();
        let at = self.random().below(fixtures.len());
        let key = fixtures[at].key.as_bytes().to_vec();
        let ms = 1 + self.random().below(15);
        let line = match self.random().below(3) {
            0 => format!("SET {{}} short PX {ms}"),
            _ => format!("PEXPIRE {{}} {ms}"),
        };
        let words = line.split(' ').map(|word| if word == "{}" { key.clone() } else { word.into() }).collect();
        let wait = if self.chance(300) { Wait::UntilGone } else { Wait::UntilLater };
        Step { wait, ..Step::new(self.connection, words) }
    }

    /// The next case of the deck as a request.
    fn dealt(&mut self) -> Step {
        let index = self.deal();
        let Case { spec, aim, .. } = self.cases[index];
        let at = self.connection;
        let queues = self.queueing[at].is_some();
        let words = self.renderer.words(spec, aim);
        let step = Step { case: Some(index), ..Step::new(at, words) };
        if !aim.breaks_arity() {
            self.follow(spec, queues, &step);
        }
        step
    }

    /// What a request means for the next ones.
    fn follow(&mut self, spec: &Spec, queues: bool, step: &Step) {
        let at = step.connection;
        match spec.name {
            "multi" => self.queueing[at] = self.queueing[at].or(Some(2)),
            "exec" | "discard" => self.queueing[at] = None,
            "flushall" | "flushdb" | "select" | "swapdb" => self.until_refill = self.until_refill.min(REFILL_SOON),
            "reset" | "quit" => {
                self.queueing[at] = None;
                self.pending.push_back(Step::of(at, &format!("HELLO {}", self.resp)));
                self.until_refill = self.until_refill.min(REFILL_SOON);
            }
            "hello" if !queues => self.pending.push_back(Step::of(at, &format!("HELLO {}", self.resp))),
            name if queues && accepted::leaves_chance(name) => self.queueing[at] = Some(0),
            _ => {}
        }
    }

    /// Takes a case from the deck. Inside a transaction those that would break it mostly wait.
    fn deal(&mut self) -> usize {
        loop {
            let index = match self.deck.pop() {
                Some(index) => index,
                None => {
                    self.shuffle();
                    continue;
                }
            };
            let Case { spec, aim, .. } = &self.cases[index];
            if self.queueing[self.connection].is_some() && accepted::is_alone(spec.name) {
                self.deferred.push(index);
                continue;
            }
            let ends = ["exec", "discard", "reset", "quit", "multi", "watch"].contains(&spec.name);
            let breaks = aim.breaks_arity() || spec.is_container() || spec.flags.contains(Flags::NO_MULTI) || ends;
            if self.queueing[self.connection].is_some() && breaks && !self.chance(60) {
                self.deferred.push(index);
                continue;
            }
            return index;
        }
    }

    fn shuffle(&mut self) {
        let cases = self.cases.iter().enumerate();
        self.deck = cases.flat_map(|(index, case)| std::iter::repeat_n(index, case.weight)).collect();
        self.deck.append(&mut self.deferred);
        for last in (1..self.deck.len()).rev() {
            let other = self.random().below(last + 1);
            self.deck.swap(last, other);
        }
    }
}
