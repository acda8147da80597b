//! The examples of the specs: what they promise is what comes back, on every road.

use goblin::command::SPECS;

use crate::suite::{Need, Suite, tests};
use crate::talk::{Talk, words};

/// Registers this module's tests.
pub fn tests(suite: &mut Suite) {
    tests!(suite, on_every_road_to_a_server, Need::Goblin; examples_answer_what_their_specs_promise);
    tests!(suite, plain, Need::Nothing; every_command_has_an_example);
}

fn examples_answer_what_their_specs_promise(talk: &mut Talk) {
    for spec in SPECS.iter().filter(|spec| spec.name != "shutdown") {
        let elsewhere = match spec.name {
            "hello" => talk.resp() == 0,
            "goblin.ring" => !talk.is_over_unix(),
            _ => false,
        };
        if elsewhere {
            continue;
        }
        talk.on('Z').ask("FLUSHALL");
        for example in spec.examples {
            if example.varies {
                let reply = talk.on('A').call(&words(example.run));
                assert_eq!(reply.is_error(), example.reply.starts_with("(error)"), "{}: {reply}", example.run);
            } else {
                talk.check(example.run, example.reply);
            }
        }
        // What an example leaves behind on its connection (a subscription, a transaction) is not the next one's.
        talk.hang_up('A');
    }
}

fn every_command_has_an_example() {
    for spec in SPECS.iter().filter(|spec| !spec.is_container()) {
        assert!(!spec.examples.is_empty(), "{} has no example", spec.title);
        assert!(spec.summary.len() <= 60, "{}: the summary is longer than 60 columns", spec.title);
    }
}
