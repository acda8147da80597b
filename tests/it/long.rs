//! Commands so long that they are worked off between the turns of others: what they answer, and what others see.

use std::collections::BTreeSet;

use crate::suite::{Need, Suite, tests};
use crate::talk::Talk;
use crate::wire::{Connection, Value};

/// Members of each set: enough for some hundred slices.
const MANY: usize = 30_000;

/// Commands tried until something has happened during one.
const ROUNDS_MAX: usize = 100;

/// Registers this module's tests.
pub fn tests(suite: &mut Suite) {
    tests!(suite, on_every_road, Need::Nothing;
        long_algebra_finds_what_short_algebra_finds,
        long_draws_take_distinct_members,
        long_strings_are_read_to_the_end,
        a_transaction_runs_long_commands_at_once,
    );
    tests!(suite, on_every_road_to_a_server, Need::Nothing;
        others_are_served_meanwhile,
        what_is_stored_is_made_of_what_is_there_then,
        members_added_meanwhile_are_not_lost,
        a_source_that_is_no_set_any_more_is_an_error,
        requests_behind_a_long_command_wait_for_it,
        a_pause_holds_back_what_would_be_stored,
        whoever_leaves_meanwhile_has_changed_nothing,
        long_commands_are_counted_once_and_logged_whole,
    );
}

/// Adds `prefix:first` up to before `prefix:last`.
fn add(peer: &mut Connection, key: &str, members: std::ops::Range<usize>) {
    let names: Vec<String> = members.map(|at| format!("m:{at:06}")).collect();
    for names in names.chunks(1000) {
        let mut words = vec!["SADD", key];
        words.extend(names.iter().map(String::as_str));
        peer.call(&words);
    }
}

/// Sets `one` and `other`, half of which they share.
fn fill(peer: &mut Connection) {
    add(peer, "one", 0..MANY);
    add(peer, "other", MANY / 2..MANY / 2 + MANY);
}

fn members(value: &Value) -> BTreeSet<String> {
    let texts: Vec<String> = value.items().iter().map(Value::text).collect();
    let distinct: BTreeSet<String> = texts.iter().cloned().collect();
    assert_eq!(distinct.len(), texts.len(), "told twice");
    distinct
}

fn expected(members: std::ops::Range<usize>) -> BTreeSet<String> {
    members.map(|at| format!("m:{at:06}")).collect()
}

fn long_algebra_finds_what_short_algebra_finds(talk: &mut Talk) {
    fill(talk.on('A'));
    let half = MANY / 2;
    for (name, wanted) in [("INTER", half..MANY), ("UNION", 0..MANY + half), ("DIFF", 0..half)] {
        let wanted = expected(wanted);
        assert!(members(&talk.ask(&format!("S{name} one other"))) == wanted, "{name}");
        assert_eq!(talk.ask(&format!("S{name}STORE kept one other")).integer() as usize, wanted.len(), "{name}");
        assert!(members(&talk.ask("SMEMBERS kept")) == wanted, "{name}STORE");
    }
    talk.transcript(&format!(
        "SINTERCARD 2 one other -> {half}
        SINTERCARD 2 one other LIMIT 20000 -> {half}
        SINTERCARD 2 one other LIMIT 10000 -> 10000
        SINTERSTORE one one other -> {half}
        SCARD one -> {half}
        SUNIONSTORE kept one one other -> {MANY}
        SDIFFSTORE kept one other one -> 0
        EXISTS kept -> 0
        SDIFFSTORE kept other one none -> {half}
        OBJECT ENCODING kept -> \"hashtable\""
    ));
    // What is large may make something small, in the form it would have had at once.
    add(talk.on('A'), "third", MANY - 100..MANY + 100_000);
    talk.transcript("SINTERSTORE kept one third -> 100\nOBJECT ENCODING kept -> \"listpack\"");
}

fn long_draws_take_distinct_members(talk: &mut Talk) {
    fill(talk.on('A'));
    for count in [5_000, MANY / 2, MANY - 3_000, MANY - 10] {
        let drawn = members(&talk.ask(&format!("SRANDMEMBER one {count}")));
        assert!(drawn.len() == count && drawn.is_subset(&expected(0..MANY)), "{count}");
    }
    assert_eq!(talk.ask("SRANDMEMBER one -40000").items().len(), 40_000);
    assert_eq!(talk.ask("SCARD one").integer() as usize, MANY);
    for count in [5_000, MANY / 2, MANY - 3_000, MANY - 10] {
        talk.ask("COPY one copy REPLACE");
        let popped = members(&talk.ask(&format!("SPOP copy {count}")));
        let left = members(&talk.ask("SMEMBERS copy"));
        assert_eq!((popped.len(), left.len()), (count, MANY - count));
        assert!(popped.union(&left).cloned().collect::<BTreeSet<_>>() == expected(0..MANY));
    }
    talk.transcript("OBJECT ENCODING copy -> \"listpack\"");
    let mut cursor = "0".to_owned();
    let mut scanned = BTreeSet::new();
    loop {
        let page = talk.ask(&format!("SSCAN one {cursor} COUNT 7000 MATCH m:*")).items();
        scanned.append(&mut members(&page[1]));
        cursor = page[0].text();
        if cursor == "0" {
            break;
        }
    }
    assert!(scanned == expected(0..MANY));
}

fn long_strings_are_read_to_the_end(talk: &mut Talk) {
    let last = 8 * 3_000_000 - 1;
    talk.transcript(&format!(
        "SETBIT bits {last} 1 -> 0
        SETBIT bits 7 1 -> 0
        BITCOUNT bits -> 2
        BITCOUNT bits 1 -1 -> 1
        BITPOS bits 1 1 -> {last}
        BITPOS bits 1 1 2999998 -> -1
        BITOP NOT turned bits -> 3000000
        BITPOS turned 0 1 -> {last}
        SETBIT turned {last} 1 -> 0
        BITPOS turned 0 1 -> {}
        BITPOS turned 0 1 -1 -> -1
        SET small aaaa -> OK
        BITOP OR both small bits nothing -> 3000000
        BITCOUNT both -> 13
        BITOP AND both small bits -> 3000000
        BITCOUNT both -> 1
        BITOP XOR bits bits bits -> 3000000
        BITCOUNT bits -> 0
        BITOP AND bits nothing none -> 0
        EXISTS bits -> 0",
        last + 1
    ));
    let (one, other) = ("abcdefghij".repeat(500), "jihgfedcba".repeat(500));
    let long = "abc".repeat(1_000_000);
    for (key, text) in [("one", &one), ("other", &other), ("long", &long)] {
        talk.on('A').call(&["SET", key, text]);
    }
    let common = talk.ask("LCS one other").text();
    let len = talk.ask("LCS one other LEN").integer() as usize;
    let told = talk.ask("LCS one other IDX WITHMATCHLEN").flat().items();
    assert_eq!((common.len(), told[3].integer() as usize), (len, len));
    let lens = told[1].items().into_iter().map(|part| part.items()[2].integer() as usize);
    assert_eq!(lens.sum::<usize>(), len);
    talk.transcript(
        "SET tiny bcab -> OK\nLCS tiny long -> \"bcab\"\nLCS long tiny -> \"bcab\"\nLCS long tiny LEN -> 4",
    );
}

fn a_transaction_runs_long_commands_at_once(talk: &mut Talk) {
    fill(talk.on('A'));
    let asked = ["SUNIONSTORE kept one other", "SCARD kept", "SPOP kept 20000", "SCARD kept", "SINTER one other"];
    talk.ask("MULTI");
    asked.iter().for_each(|line| assert_eq!(talk.ask(line).text(), "QUEUED"));
    let replies = talk.ask("EXEC").items();
    assert_eq!(replies[0].integer(), 45_000);
    assert_eq!(replies[1].integer(), 45_000);
    assert_eq!(members(&replies[2]).len(), 20_000);
    assert_eq!(replies[3].integer(), 25_000);
    assert!(members(&replies[4]) == expected(MANY / 2..MANY));
}

/// What B finds in one moment: whether A is at `command`, and whether `kept` is there.
fn look(talk: &mut Talk, command: &str, extra: &[&str]) -> (bool, bool) {
    let peer = talk.on('B');
    peer.call(&["MULTI"]);
    peer.call(&["CLIENT", "LIST"]);
    peer.call(&["EXISTS", "kept"]);
    if !extra.is_empty() {
        peer.call(extra);
    }
    let found = peer.call(&["EXEC"]).items();
    (found[0].text().contains(&format!("cmd={command} ")), found[1].integer() == 1)
}

fn others_are_served_meanwhile(talk: &mut Talk) {
    fill(talk.on('A'));
    let mut between = 0;
    // Now and then the machine is busy elsewhere until the command has ended.
    for _ in 0..ROUNDS_MAX {
        talk.on('A').request(&["SUNIONSTORE", "kept", "one", "other"]);
        loop {
            let (begun, stored) = look(talk, "sunionstore", &[]);
            if stored {
                break;
            }
            between += usize::from(begun);
        }
        assert_eq!(talk.on('A').value().integer(), 45_000);
        talk.on('A').call(&["DEL", "kept"]);
        if between > 0 {
            return;
        }
    }
    panic!("nobody was served while the command ran");
}

fn what_is_stored_is_made_of_what_is_there_then(talk: &mut Talk) {
    fill(talk.on('A'));
    let mut seen_before_the_end = 0;
    for round in 0..ROUNDS_MAX {
        talk.on('A').call(&["DEL", "kept"]);
        talk.on('A').request(&["SUNIONSTORE", "kept", "one", "other"]);
        let mut added = Vec::new();
        loop {
            let member = format!("late:{round}:{}", added.len());
            let (begun, stored) = look(talk, "sunionstore", &["SADD", "other", &member]);
            if stored {
                break;
            }
            // Added while nothing was stored yet: what is stored later must hold it.
            seen_before_the_end += usize::from(begun);
            added.push(member);
        }
        talk.on('A').value();
        for member in added {
            assert_eq!(talk.on('B').call(&["SISMEMBER", "kept", &member]).integer(), 1, "{member} was overlooked");
        }
        if seen_before_the_end >= 10 {
            return;
        }
    }
    panic!("no write fell into the command");
}

fn members_added_meanwhile_are_not_lost(talk: &mut Talk) {
    add(talk.on('A'), "one", 0..MANY);
    talk.on('A').request(&["SPOP", "one", "10000"]);
    let mut added = 0;
    while added < 200 {
        added += talk.on('B').call(&["SADD", "one", &format!("late:{added}")]).integer();
    }
    let popped = members(&talk.on('A').value());
    let left = members(&talk.ask("SMEMBERS one"));
    assert_eq!((popped.len(), left.len()), (10_000, MANY + 200 - 10_000));
    assert!(popped.is_disjoint(&left));
}

fn a_source_that_is_no_set_any_more_is_an_error(talk: &mut Talk) {
    fill(talk.on('A'));
    talk.on('A').request(&["SUNIONSTORE", "kept", "one", "other"]);
    talk.on('B').call(&["SET", "other", "no set"]);
    let stored = talk.on('A').value();
    let is_there = talk.ask("EXISTS kept").integer() == 1;
    match stored.is_error() {
        true => assert!(stored.text().starts_with("WRONGTYPE") && !is_there),
        // It had ended, or had not begun, before.
        false => assert!(stored.integer() == 45_000 && is_there),
    }
}

fn requests_behind_a_long_command_wait_for_it(talk: &mut Talk) {
    fill(talk.on('A'));
    let peer = talk.on('A');
    for words in [
        &["SDIFFSTORE", "kept", "one", "other"][..],
        &["SCARD", "kept"],
        &["SINTER", "one", "other"],
        &["DEL", "kept"],
        &["CLIENT", "REPLY", "SKIP"],
        &["SUNIONSTORE", "kept", "one", "other"],
        &["SCARD", "kept"],
    ] {
        peer.request(words);
    }
    assert_eq!(peer.value().integer(), 15_000);
    assert_eq!(peer.value().integer(), 15_000);
    assert_eq!(members(&peer.value()).len(), 15_000);
    assert_eq!(peer.value().integer(), 1);
    assert_eq!(peer.value().integer(), 45_000, "the skipped reply is the long command's");
}

fn a_pause_holds_back_what_would_be_stored(talk: &mut Talk) {
    fill(talk.on('A'));
    for _ in 0..5 {
        talk.on('A').request(&["SUNIONSTORE", "kept", "one", "other"]);
        talk.on('B').call(&["CLIENT", "PAUSE", "100000", "WRITE"]);
        let before = talk.on('B').call(&["EXISTS", "kept"]).integer();
        for _ in 0..300 {
            assert_eq!(talk.on('B').call(&["EXISTS", "kept"]).integer(), before, "stored during a pause");
        }
        talk.on('B').call(&["CLIENT", "UNPAUSE"]);
        assert_eq!(talk.on('A').value().integer(), 45_000);
        talk.on('A').call(&["DEL", "kept"]);
    }
}

fn whoever_leaves_meanwhile_has_changed_nothing(talk: &mut Talk) {
    fill(talk.on('A'));
    for command in [["SPOP", "one", "20000"], ["SRANDMEMBER", "one", "20000"], ["SUNION", "one", "other"]] {
        let id = talk.on('C').call(&["CLIENT", "ID"]).integer().to_string();
        talk.on('C').request(&command);
        talk.on('B').call(&["CLIENT", "KILL", "ID", &id]);
        talk.hang_up('C');
    }
    let left = talk.ask("SCARD one").integer() as usize;
    assert!(left == MANY || left == MANY - 20_000, "{left} members: some were popped and some not");
    assert_eq!(talk.ask("SCARD other").integer() as usize, MANY);
}

fn long_commands_are_counted_once_and_logged_whole(talk: &mut Talk) {
    fill(talk.on('A'));
    talk.transcript(
        "CONFIG RESETSTAT -> OK
        CONFIG SET slowlog-log-slower-than 500 -> OK
        SLOWLOG RESET -> OK
        SUNIONSTORE kept one other -> 45000
        CONFIG SET slowlog-log-slower-than -1 -> OK",
    );
    let logged = talk.ask("SLOWLOG GET 10").items();
    let line = logged.iter().map(Value::items).find(|entry| entry[3].items()[0].text() == "SUNIONSTORE");
    let line = line.expect("45,000 members are not put together in half a millisecond");
    assert_eq!(line[3].items().len(), 4);
    let stats = talk.ask("INFO commandstats").text();
    let stats = stats.lines().find(|line| line.starts_with("cmdstat_sunionstore:")).expect("a line of its own");
    assert!(stats.contains("calls=1,") && stats.contains("failed_calls=0"), "{stats}");
    let us = stats.split("usec=").nth(1).and_then(|rest| rest.split(',').next()).and_then(|us| us.parse().ok());
    assert_eq!(us, Some(line[2].integer()), "the log and the statistics tell of the same time");
}
