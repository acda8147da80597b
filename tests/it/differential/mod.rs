//! The same random requests to goblin and to a real Redis: every reply must be the same, byte for byte.
//!
//! Requests are drawn from the specs (`cases.rs`, `render.rs`, with the words of `hints.rs`) in episodes of a thousand,
//! each on empty servers, in turn in RESP2 and RESP3 (`draw.rs`). Both servers run them (`drive.rs`): replies, keyspace
//! events and, after each episode, everything that is stored must be the same. Where Redis itself answers by chance, in
//! no order or by the clock, `accepted.rs` says how far replies are compared, and what is not drawn at all. A sequence
//! that differs is cut down and printed as a transcript (`shrink.rs`). `counts.rs` says whether enough was compared.
//!
//! `GOBLIN_DIFFERENTIAL_SEED` and `GOBLIN_DIFFERENTIAL_COMMANDS` change what is drawn; the numbers below are CI's.

mod accepted;
mod cases;
mod counts;
mod declared;
mod draw;
mod drive;
mod hints;
mod listen;
mod render;
mod settle;
mod shrink;
mod step;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use goblin::command::{Flags, SPECS};

use crate::road::{Program, Server};
use crate::suite::{Need, Suite, tests};

use cases::Case;
use counts::Counts;
use draw::Drawer;
use shrink::{shrink, transcript};

/// Registers this module's tests.
pub fn tests(suite: &mut Suite) {
    let reference = Program::reference().map(|_| ()).ok_or("no redis-server 8.2.3 is here".to_owned());
    tests!(suite, plain, Need::Present(reference.clone());
        random_commands_get_the_replies_of_redis,
        random_subscriptions_get_the_replies_of_redis,
    );
    tests!(suite, plain, Need::Nothing; every_command_is_drawn_or_named_with_a_reason);
}

const SEED: u64 = 20_823;
/// Fewest requests, fixtures not counted. Some are never answered, because their transaction is given up.
const COMMANDS: usize = 212_000;
const REPLIES_MIN: usize = 200_000;
/// How often the deck of cases is dealt at least; that makes every command come up 300 times and every case 30.
const DECKS: usize = 44;
/// The same for subscriptions.
const SUBSCRIPTION_DECKS: usize = 44;
const EPISODE: usize = 1000;
/// Differences that are shrunk and shown before a run gives up, each of another command.
const DIFFERENCES_MAX: usize = 10;

fn from_environment(name: &str) -> Option<u64> {
    let value = std::env::var(name).ok()?;
    Some(value.parse().unwrap_or_else(|_| panic!("{name} is not a number: {value:?}")))
}

fn seed() -> u64 {
    from_environment("GOBLIN_DIFFERENTIAL_SEED").unwrap_or(SEED)
}

fn servers() -> [Server; 2] {
    [Server::start(), Server::of(&Program::reference().expect("checked before"), &[])]
}

fn every_command_is_drawn_or_named_with_a_reason() {
    let drawn = cases::cases(accepted::is_drawn);
    let listening = cases::cases(accepted::is_listening);
    for spec in SPECS.iter().filter(|spec| !spec.name.contains("goblin")) {
        let is_in = |cases: &[Case]| cases.iter().any(|case| case.spec.id == spec.id);
        let found = [is_in(&drawn), is_in(&listening), !accepted::is_drawn(spec)];
        assert!(found.contains(&true), "{} is neither drawn nor named", spec.name);
    }
    let mut drawer = Drawer::new(1, &drawn);
    let mut steps = drawer.episode(2, 3 * drawer.deck_len());
    let all = steps.len();
    steps.retain(|step| step.case.is_some());
    assert!(steps.len() * 3 > all, "most of what is drawn is fixtures: {} of {all}", all - steps.len());
    for (index, case) in drawn.iter().enumerate() {
        let count = steps.iter().filter(|step| step.case == Some(index)).count();
        assert!(count >= case.weight, "{}, {}: {count} of {}", case.spec.name, case.aim.name(), case.weight);
    }
}

fn random_commands_get_the_replies_of_redis() {
    let seed = seed();
    let cases = cases::cases(accepted::is_drawn);
    let mut drawer = Drawer::new(seed, &cases);
    let wanted = from_environment("GOBLIN_DIFFERENTIAL_COMMANDS").map(|count| count as usize);
    let full = COMMANDS.max(DECKS * drawer.deck_len());
    let episodes = wanted.unwrap_or(full).div_ceil(EPISODE);
    let servers = servers();
    drive::prepare(&servers);
    let mut counts = Counts::new(&cases);
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    for number in 0..episodes {
        let resp = if number % 2 == 0 { 2 } else { 3 };
        let steps = drawer.episode(resp, EPISODE);
        let Err(difference) = drive::run(&servers, resp, &steps, &mut counts) else { continue };
        // One sequence for each command that differs is enough to work on.
        if let Entry::Vacant(place) = found.entry(difference.command(&steps)) {
            let steps = shrink(&servers, resp, &steps[..=difference.at.min(steps.len() - 1)]);
            let difference = drive::run(&servers, resp, &steps, &mut Counts::default()).err().unwrap_or(difference);
            let text = transcript(&steps, &difference);
            place.insert(format!("episode {number} of seed {seed}, RESP{resp}\n{text}"));
        }
        if found.len() == DIFFERENCES_MAX {
            break;
        }
    }
    let texts: Vec<&str> = found.values().map(String::as_str).collect();
    assert!(texts.is_empty(), "goblin and Redis differ:\n{}", texts.join("\n\n"));
    eprint!("{}{}", accepted::report(), counts.report(&cases, drawer.keys()));
    if episodes * EPISODE >= full {
        let is_queued = |case: &Case| {
            let spec = case.spec;
            let may = !spec.flags.contains(Flags::NO_MULTI) && !accepted::is_alone(spec.name);
            may && !spec.is_container() && !["multi", "exec", "discard", "watch", "reset", "quit"].contains(&spec.name)
        };
        let mut short = counts.shortfalls(&cases, REPLIES_MIN, is_queued);
        short.extend(counts::key_shortfalls(drawer.keys()));
        assert!(short.is_empty(), "too little was compared:\n{}", short.join("\n"));
    }
}

fn random_subscriptions_get_the_replies_of_redis() {
    let cases = cases::cases(accepted::is_listening);
    let mut counts = Counts::new(&cases);
    listen::run(&servers(), seed(), &cases, SUBSCRIPTION_DECKS, &mut counts);
    eprint!("{}", counts.report(&cases, &Default::default()));
    let short = counts.shortfalls(&cases, 1000, |_| false);
    let short: Vec<_> = short.iter().filter(|line| !line.contains("inside MULTI")).collect();
    assert!(short.is_empty(), "too little was compared: {short:?}");
}
