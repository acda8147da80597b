//! Set commands: what each of them answers and leaves behind.

use std::collections::{BTreeMap, BTreeSet};

use crate::suite::{Need, Suite, tests};
use crate::talk::Talk;

/// Registers this module's tests.
pub fn tests(suite: &mut Suite) {
    tests!(suite, on_every_road, Need::Nothing;
        sadd_counts_only_new_members,
        sadd_refuses_a_string_key,
        srem_counts_only_present_members_and_the_last_one_takes_the_key,
        sismember_and_smismember_answer_per_member,
        smove_looks_at_both_keys_before_it_answers,
        smove_moves_between_sets_and_deletes_an_emptied_source,
        spop_takes_members_out,
        srandmember_leaves_members_in,
        intersections_unions_and_differences_agree_with_arithmetic,
        store_forms_replace_any_destination_and_delete_it_when_empty,
        sintercard_stops_at_its_limit,
        sscan_visits_every_member_in_every_encoding,
        sscan_takes_match_and_count_in_any_order,
        encodings_follow_the_thresholds,
        encodings_do_not_depend_on_how_members_came,
        members_may_be_any_bytes,
        arity_is_checked_before_the_key,
    );
    tests!(suite, on_every_resp_road, Need::Nothing;
        set_replies_are_sets_in_resp3,
    );
}

fn sadd_counts_only_new_members(talk: &mut Talk) {
    talk.transcript(
        r#"
        SADD s a b a      -> 2
        SADD s b c        -> 1
        SCARD s           -> 3
        SCARD absent      -> 0
        SMEMBERS s        -> {"a", "b", "c"}
        SMEMBERS absent   -> []
        TYPE s            -> set
        "#,
    );
    talk.check("SADD s x", "(integer) 1");
}

fn sadd_refuses_a_string_key(talk: &mut Talk) {
    talk.check("SET str 1", "OK");
    let commands = [
        "SADD str a",
        "SREM str a",
        "SCARD str",
        "SISMEMBER str a",
        "SMISMEMBER str a",
        "SMEMBERS str",
        "SPOP str",
        "SPOP str 2",
        "SRANDMEMBER str",
        "SRANDMEMBER str 2",
        "SMOVE str other a",
        "SINTER str",
        "SUNION str",
        "SDIFF str",
        "SINTERCARD 1 str",
        "SINTERSTORE d str",
        "SUNIONSTORE d str",
        "SDIFFSTORE d str",
        "SSCAN str 0",
    ];
    for command in commands {
        talk.check(command, "-WRONGTYPE Operation against a key holding the wrong kind of value");
    }
    talk.check("GET str", "\"1\"");
}

fn srem_counts_only_present_members_and_the_last_one_takes_the_key(talk: &mut Talk) {
    talk.transcript(
        r#"
        SADD s a b c      -> 3
        SREM s a zz a     -> 1
        SREM absent a     -> 0
        SREM s b c        -> 2
        EXISTS s          -> 0
        TYPE s            -> none
        "#,
    );
}

fn sismember_and_smismember_answer_per_member(talk: &mut Talk) {
    talk.transcript(
        r#"
        SADD s a 1                -> 2
        SISMEMBER s a             -> 1
        SISMEMBER s b             -> 0
        SISMEMBER absent a        -> 0
        SMISMEMBER s a b 1 a      -> [1, 0, 1, 1]
        SMISMEMBER absent a b     -> [0, 0]
        "#,
    );
}

fn smove_looks_at_both_keys_before_it_answers(talk: &mut Talk) {
    talk.transcript(
        r#"
        DEBUG SET-ACTIVE-EXPIRE 0 -> OK
        SET due v PXAT 1  -> OK
        SMOVE absent due x -> 0
        DBSIZE            -> 0
        DEBUG SET-ACTIVE-EXPIRE 1 -> OK
        "#,
    );
}

fn smove_moves_between_sets_and_deletes_an_emptied_source(talk: &mut Talk) {
    talk.transcript(
        r#"
        SADD a 1 2        -> 2
        SMOVE a b 1       -> 1
        SMOVE a b 9       -> 0
        SMEMBERS b        -> ["1"]
        SADD b 2          -> 1
        SMOVE a b 2       -> 1
        EXISTS a          -> 0
        SMEMBERS b        -> {"1", "2"}
        SMOVE absent b 1  -> 0
        "#,
    );
}

fn spop_takes_members_out(talk: &mut Talk) {
    talk.transcript("SADD s a b c d e -> 5");
    let one = talk.ask("SPOP s").text();
    assert!("abcde".contains(&one), "{one}");
    talk.check(&format!("SISMEMBER s {one}"), "0");
    let two = talk.ask("SPOP s 2").sorted_texts();
    assert_eq!(two.iter().collect::<BTreeSet<_>>().len(), 2, "{two:?}");
    talk.check("SCARD s", "2");
    assert_eq!(talk.ask("SPOP s 99").items().len(), 2);
    talk.transcript(
        r#"
        EXISTS s          -> 0
        SPOP s            -> nil
        SPOP s 3          -> []
        "#,
    );
    for round in 0..40 {
        let members: Vec<String> = (0..500).map(|n| format!("{round}:{n}")).collect();
        talk.ask(&format!("SADD big {}", members.join(" ")));
        let popped = talk.ask(&format!("SPOP big {}", [1, 5, 250, 400, 499, 500, 501][round % 7])).sorted_texts();
        let left = talk.ask("SMEMBERS big").sorted_texts();
        let all: BTreeSet<&String> = popped.iter().chain(&left).collect();
        assert_eq!((all.len(), popped.len() + left.len()), (500, 500), "every member is either popped or left");
        talk.ask("DEL big");
    }
}

fn srandmember_leaves_members_in(talk: &mut Talk) {
    talk.transcript(
        r#"
        SADD s a b c              -> 3
        SRANDMEMBER absent        -> nil
        SRANDMEMBER absent 3      -> []
        SRANDMEMBER s 0           -> []
        SRANDMEMBER s 3           -> {"a", "b", "c"}
        SRANDMEMBER s 99          -> {"a", "b", "c"}
        "#,
    );
    let drawn = talk.ask("SRANDMEMBER s -50").sorted_texts();
    assert_eq!(drawn.len(), 50, "a negative count may repeat and is always met");
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for _ in 0..900 {
        *counts.entry(talk.ask("SRANDMEMBER s").text()).or_default() += 1;
    }
    assert!(counts.len() == 3 && counts.values().all(|&count| count > 180), "no favourites among three: {counts:?}");
    assert_eq!(talk.ask("SRANDMEMBER s 2").sorted_texts().iter().collect::<BTreeSet<_>>().len(), 2);
    talk.check("SCARD s", "3");
}

fn intersections_unions_and_differences_agree_with_arithmetic(talk: &mut Talk) {
    let sets: [(&str, Vec<u32>); 4] = [
        ("evens", (0..60).map(|n| 2 * n).collect()),
        ("threes", (0..200).map(|n| 3 * n).collect()),
        ("few", vec![0, 6, 7, 12, 999]),
        ("many", (0..700).collect()),
    ];
    for (key, members) in &sets {
        let members: Vec<String> = members.iter().map(u32::to_string).collect();
        talk.ask(&format!("SADD {key} {}", members.join(" ")));
        // The same numbers as text, so that other encodings are combined as well.
        talk.ask(&format!("SADD text:{key} {}", members.join(" ")));
        talk.ask(&format!("SADD text:{key} other"));
        talk.ask(&format!("SREM text:{key} other"));
    }
    let numbers = |key: &str| -> BTreeSet<u32> {
        let name = key.strip_prefix("text:").unwrap_or(key);
        sets.iter()
            .find(|(set, _)| *set == name)
            .map(|(_, members)| members.iter().copied().collect())
            .unwrap_or_default()
    };
    let orders = ["evens threes", "few many", "many text:few", "text:evens threes few", "many absent", "evens evens"];
    for keys in orders {
        let operands: Vec<BTreeSet<u32>> = keys.split(' ').map(numbers).collect();
        let fold = |combine: fn(&BTreeSet<u32>, &BTreeSet<u32>) -> BTreeSet<u32>| {
            operands[1..].iter().fold(operands[0].clone(), |set, other| combine(&set, other))
        };
        let wanted = [("SINTER", fold(|a, b| a & b)), ("SUNION", fold(|a, b| a | b)), ("SDIFF", fold(|a, b| a - b))];
        for (command, wanted) in wanted {
            let got = talk.ask(&format!("{command} {keys}")).sorted_texts();
            let got_numbers: BTreeSet<u32> = got.iter().map(|text| text.parse().expect("a number")).collect();
            assert_eq!(got_numbers, wanted, "{command} {keys}");
            assert_eq!(got.len(), wanted.len(), "{command} {keys} repeats nothing");
            talk.check(&format!("{command}STORE d {keys}"), &wanted.len().to_string());
            assert_eq!(talk.ask("SMEMBERS d").sorted_texts(), got, "{command}STORE {keys}");
            if command == "SINTER" {
                let count = keys.split(' ').count();
                talk.check(&format!("SINTERCARD {count} {keys}"), &wanted.len().to_string());
            }
        }
    }
}

fn store_forms_replace_any_destination_and_delete_it_when_empty(talk: &mut Talk) {
    talk.transcript(
        r#"
        SADD a 1 2 3              -> 3
        SADD b 2 3 4              -> 3
        SET d text                -> OK
        SINTERSTORE d a b         -> 2
        TYPE d                    -> set
        SMEMBERS d                -> {"2", "3"}
        EXPIRE d 1000             -> 1
        SUNIONSTORE d a b         -> 4
        TTL d                     -> -1
        SDIFFSTORE d a a          -> 0
        EXISTS d                  -> 0
        SET d text                -> OK
        SINTERSTORE d a absent    -> 0
        EXISTS d                  -> 0
        SUNIONSTORE d absent      -> 0
        SDIFFSTORE a a b          -> 1
        SMEMBERS a                -> ["1"]
        "#,
    );
}

fn sintercard_stops_at_its_limit(talk: &mut Talk) {
    talk.transcript(
        r#"
        SADD a 1 2 3 4 5              -> 5
        SADD b 2 3 4 5 6              -> 5
        SINTERCARD 2 a b              -> 4
        SINTERCARD 2 a b LIMIT 3      -> 3
        SINTERCARD 2 a b limit 0      -> 4
        SINTERCARD 2 a b LIMIT 99     -> 4
        SINTERCARD 1 a                -> 5
        SINTERCARD 2 a absent         -> 0
        SINTERCARD                    -> -ERR wrong number of arguments for 'sintercard' command
        SINTERCARD 1                  -> -ERR wrong number of arguments for 'sintercard' command
        "#,
    );
}

fn sscan_visits_every_member_in_every_encoding(talk: &mut Talk) {
    let sets = [("ints", 300, ""), ("packed", 100, "m"), ("table", 3000, "member:"), ("bigints", 2000, "")];
    for (key, count, prefix) in sets {
        let members: Vec<String> = (0..count).map(|n| format!("{prefix}{n}")).collect();
        for chunk in members.chunks(500) {
            talk.ask(&format!("SADD {key} {}", chunk.join(" ")));
        }
        for step in ["", " COUNT 1", " COUNT 7", " COUNT 5000"] {
            let mut seen = Vec::new();
            let mut cursor = "0".to_owned();
            loop {
                let page = talk.ask(&format!("SSCAN {key} {cursor}{step}")).items();
                seen.extend(page[1].items().iter().map(|member| member.text()));
                cursor = page[0].text();
                if cursor == "0" {
                    break;
                }
                assert!(seen.len() <= 2 * count, "{key}{step}: the scan does not end");
            }
            let unique: BTreeSet<&String> = seen.iter().collect();
            assert_eq!(unique.len(), count, "{key}{step}");
            assert_eq!(seen.len(), count, "{key}{step}: no duplicates while the set does not change");
        }
    }
}

fn sscan_takes_match_and_count_in_any_order(talk: &mut Talk) {
    talk.transcript(
        r#"
        SADD s apple avocado banana 12 13     -> 5
        SSCAN s 0 MATCH a*                    -> ["0", ["a...
        SSCAN s 0 MATCH b* COUNT 100          -> ["0", ["banana"]]
        SSCAN s 0 COUNT 100 MATCH 1[23]       -> ["0", ["1...
        SSCAN s 0 match zzz                   -> ["0", []]
        SSCAN absent 0                        -> ["0", []]
        SSCAN s 0 NOPE 1                      -> -ERR syntax error
        SSCAN s                               -> -ERR wrong number of arguments for 'sscan' command
        "#,
    );
    assert_eq!(talk.ask("SSCAN s 0 MATCH a* COUNT 100").items()[1].sorted_texts(), ["apple", "avocado"]);
}

fn encodings_follow_the_thresholds(talk: &mut Talk) {
    talk.transcript(
        r#"
        CONFIG GET set-max-intset-entries     -> ["set-max-intset-entries", "512"]
        CONFIG GET set-max-listpack-entries   -> ["set-max-listpack-entries", "128"]
        CONFIG GET set-max-listpack-value     -> ["set-max-listpack-value", "64"]
        SADD s 1 2 3                          -> 3
        OBJECT ENCODING s                     -> "intset"
        SADD s x                              -> 1
        OBJECT ENCODING s                     -> "listpack"
        "#,
    );
    let long = "m".repeat(65);
    talk.check(&format!("SADD s {}", &long[..64]), "1");
    talk.check("OBJECT ENCODING s", "\"listpack\"");
    talk.check(&format!("SADD s {long}"), "1");
    talk.check("OBJECT ENCODING s", "\"hashtable\"");
    let numbers = |count: usize| (0..count).map(|n| n.to_string()).collect::<Vec<_>>().join(" ");
    for (key, count, more, encodings) in
        [("ints", 512, "512", ["intset", "hashtable"]), ("words", 127, "last overflow", ["listpack", "hashtable"])]
    {
        talk.ask(&format!("SADD {key} {}", numbers(count)));
        if key == "words" {
            talk.check("SADD words w", "1");
        }
        talk.check(&format!("OBJECT ENCODING {key}"), &format!("\"{}\"", encodings[0]));
        talk.ask(&format!("SADD {key} {more}"));
        talk.check(&format!("OBJECT ENCODING {key}"), &format!("\"{}\"", encodings[1]));
    }
    // A set of up to 128 integers falls back to the packed form when a word joins; a larger one to the table.
    for (count, encoding) in [(127, "listpack"), (128, "hashtable")] {
        talk.ask("DEL t");
        talk.ask(&format!("SADD t {}", numbers(count)));
        talk.ask("SADD t word");
        talk.check("OBJECT ENCODING t", &format!("\"{encoding}\""));
    }
    talk.transcript(
        r#"
        CONFIG SET set-max-intset-entries 2   -> OK
        SADD u 1 2 3                          -> 3
        OBJECT ENCODING u                     -> "listpack"
        "#,
    );
}

fn encodings_do_not_depend_on_how_members_came(talk: &mut Talk) {
    for (limit, prefix) in [(128, "m"), (512, "")] {
        for count in [limit - 1, limit, limit + 1] {
            let members: Vec<String> = (0..count).map(|n| format!("{prefix}{n}")).collect();
            talk.ask("DEL once many");
            talk.ask(&format!("SADD once {}", members.join(" ")));
            members.iter().for_each(|member| drop(talk.ask(&format!("SADD many {member}"))));
            let encodings = ["once", "many"].map(|key| talk.ask(&format!("OBJECT ENCODING {key}")).text());
            assert_eq!(encodings[0], encodings[1], "{count} members like {:?}", members[0]);
            assert_eq!(talk.ask("SDIFF once many").items().len() + talk.ask("SDIFF many once").items().len(), 0);
        }
    }
}

fn members_may_be_any_bytes(talk: &mut Talk) {
    let all: Vec<Vec<u8>> = (0..=255u8).map(|byte| vec![byte]).collect();
    let mut request = vec![b"SADD".to_vec(), b"\0key\r\n".to_vec()];
    request.extend(all.iter().cloned());
    request.push(Vec::new());
    assert_eq!(talk.on('A').call(&request).integer(), 257);
    let members = talk.on('A').call(&[&b"SMEMBERS"[..], b"\0key\r\n"]).items();
    let got: BTreeSet<Vec<u8>> = members.iter().map(|member| member.bytes().to_vec()).collect();
    assert_eq!(got.len(), 257);
    let big = vec![b'x'; 300_000];
    assert_eq!(talk.on('A').call(&[&b"SADD"[..], b"big", &big]).integer(), 1);
    assert_eq!(talk.on('A').call(&[&b"SISMEMBER"[..], b"big", &big]).integer(), 1);
    assert_eq!(talk.on('A').call(&[&b"SPOP"[..], b"big"]).bytes(), &big[..]);
}

fn set_replies_are_sets_in_resp3(talk: &mut Talk) {
    talk.transcript("SADD s a -> 1\nSADD t a -> 1");
    let head: &[u8] = if talk.resp() == 3 { b"~" } else { b"*" };
    let connection = talk.on('A');
    for command in ["SMEMBERS s", "SINTER s t", "SUNION s t", "SDIFF s none", "SPOP s 1"] {
        connection.send(format!("{command}\r\n").as_bytes());
        connection.expect(&[head, b"1\r\n$1\r\na\r\n"].concat());
    }
    connection.exchange(b"SMEMBERS s\r\n", &[head, b"0\r\n"].concat());
    connection.exchange(b"SRANDMEMBER t 1\r\n", b"*1\r\n$1\r\na\r\n");
    connection.exchange(b"SSCAN t 0\r\n", b"*2\r\n$1\r\n0\r\n*1\r\n$1\r\na\r\n");
    connection.exchange(b"SMISMEMBER t a b\r\n", b"*2\r\n:1\r\n:0\r\n");
}

fn arity_is_checked_before_the_key(talk: &mut Talk) {
    let commands = [
        ("SADD s", "sadd"),
        ("SREM s", "srem"),
        ("SCARD", "scard"),
        ("SCARD a b", "scard"),
        ("SISMEMBER s", "sismember"),
        ("SMISMEMBER s", "smismember"),
        ("SMEMBERS", "smembers"),
        ("SMOVE a b", "smove"),
        ("SPOP", "spop"),
        ("SRANDMEMBER", "srandmember"),
        ("SINTER", "sinter"),
        ("SINTERSTORE d", "sinterstore"),
        ("SUNION", "sunion"),
        ("SUNIONSTORE d", "sunionstore"),
        ("SDIFF", "sdiff"),
        ("SDIFFSTORE d", "sdiffstore"),
    ];
    for (command, name) in commands {
        talk.check(command, &format!("-ERR wrong number of arguments for '{name}' command"));
    }
    talk.check("SRANDMEMBER s 1 2", "-ERR syntax error");
}
