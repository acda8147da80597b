//! Makes both servers equal again after something was left to chance.
//!
//! Invariant: what is determined all the same is compared first.

use crate::wire::Value;

use super::accepted::{Agreement, agreement};
use super::drive::{Duo, Told, question, words};
use super::hints;
use super::step::Step;

/// Settles what a step left to chance; `alone` when it ran outside a transaction and may be run again.
pub fn settle(duo: &mut Duo, step: &Step, alone: bool) -> Result<(), Told> {
    match agreement(&step.command()) {
        Agreement::RandomMembers => same_members_again(duo, step),
        kind => {
            if kind == Agreement::Page && alone {
                whole_iteration(duo, step)?;
            }
            // Due keys went where an iteration or a draw met them: now they go everywhere.
            let mut all = words("EXISTS", b"");
            all.extend(hints::all_keys());
            duo.exchange(&[all]);
            Ok(())
        }
    }
}

/// After members were taken at random both servers get the same set again; its form and deadline stay.
fn same_members_again(duo: &mut Duo, step: &Step) -> Result<(), Told> {
    let Some(key) = step.words.get(1) else { return Ok(()) };
    question(duo, "SCARD {}", key)?;
    question(duo, "OBJECT ENCODING {}", key)?;
    let members = &duo.exchange(&[words("SMEMBERS {}", key)])[0];
    if members.ours.is_none() || members.theirs.0.is_error() {
        return Ok(());
    }
    let (ours, theirs) = (members.ours().items(), members.theirs.0.items());
    let missing = |of: &[Value], from: &[Value]| {
        of.iter().filter(|member| !from.contains(member)).map(|member| member.bytes().to_vec()).collect::<Vec<_>>()
    };
    // Adding comes first: a set that is empty in between would be gone.
    for (command, members) in [("SADD {}", missing(&theirs, &ours)), ("SREM {}", missing(&ours, &theirs))] {
        if !members.is_empty() {
            duo.ours.call(&words(command, key).into_iter().chain(members).collect::<Vec<_>>());
        }
    }
    Ok(())
}

/// Iterations are compared whole: the cursors between the pages are each server's own.
fn whole_iteration(duo: &mut Duo, step: &Step) -> Result<(), Told> {
    let at = if step.command() == "scan" { 1 } else { 2 };
    let mut is_refused = false;
    let [ours, theirs] = [&mut duo.ours, &mut duo.theirs].map(|connection| {
        let (mut words, mut seen) = (step.words.clone(), Vec::new());
        if words.len() <= at {
            return seen;
        }
        words[at] = b"0".to_vec();
        // The last COUNT holds.
        words.extend([b"COUNT".to_vec(), b"100".to_vec()]);
        loop {
            let page = connection.call(&words);
            if page.is_error() {
                is_refused = true;
                return seen;
            }
            let page = page.items();
            seen.extend(page[1].items().iter().map(Value::to_string));
            words[at] = page[0].bytes().to_vec();
            if words[at] == b"0" || seen.len() > 100_000 {
                seen.sort();
                seen.dedup();
                return seen;
            }
        }
    });
    match is_refused || ours == theirs {
        true => Ok(()),
        false => Err(Told(format!("whole iteration of {}", step.line()), format!("{ours:?}"), format!("{theirs:?}"))),
    }
}
