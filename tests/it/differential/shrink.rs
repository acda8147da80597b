//! Makes a failing sequence short, and writes it down so that it can be pasted into a test.

use std::fmt::Write;

use crate::road::Server;

use super::counts::Counts;
use super::drive::{Difference, run};
use super::step::{Step, Wait};

/// Most runs that are spent on it.
const TRIES_MAX: usize = 600;

/// Leaves out steps, first many at once, then words, as long as the servers still disagree.
pub fn shrink(servers: &[Server; 2], resp: u8, steps: &[Step]) -> Vec<Step> {
    let mut steps = steps.to_vec();
    let mut tries = 0;
    let mut fails = |steps: &mut Vec<Step>, shorter: Vec<Step>| {
        tries += 1;
        let difference =
            if tries > TRIES_MAX { None } else { run(servers, resp, &shorter, &mut Counts::default()).err() };
        let found = difference.is_some();
        if let Some(difference) = difference {
            *steps = shorter;
            steps.truncate(difference.at.saturating_add(1));
        }
        found
    };
    let mut chunk = steps.len() / 2;
    while chunk > 0 {
        let mut start = 0;
        while start < steps.len() {
            let mut shorter = steps.clone();
            shorter.drain(start..(start + chunk).min(shorter.len()));
            if !fails(&mut steps, shorter) {
                start += chunk;
            }
        }
        chunk /= 2;
    }
    for at in 0..steps.len() {
        // What has to be waited for must stay what it is.
        if steps.get(at).is_none_or(|step| step.wait != Wait::No) {
            continue;
        }
        let mut word = 2;
        while steps.get(at).is_some_and(|step| word < step.words.len()) {
            let mut shorter = steps.clone();
            shorter[at].words.remove(word);
            if !fails(&mut steps, shorter) {
                word += 1;
            }
        }
    }
    steps
}

/// The steps as a transcript with Redis's replies, then what differs.
pub fn transcript(steps: &[Step], difference: &Difference) -> String {
    let mut text = String::new();
    for (at, step) in steps.iter().enumerate() {
        let reply = difference.replies.get(at).and_then(Option::as_ref);
        let _ = writeln!(text, "  {}", step.with_reply(reply));
    }
    let Difference { what, ours, theirs, .. } = difference;
    let _ = write!(text, "{what}\n  goblin: {ours}\n   redis: {theirs}");
    text
}
