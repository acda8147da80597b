//! Replies so long that they are told between the turns of others: what they hold, and what may come meanwhile.

use std::collections::BTreeSet;

use crate::suite::{Need, Suite, tests};
use crate::talk::Talk;
use crate::wire::{Connection, Value, frame};

/// Members and keys: enough for some hundred pieces, and for more than sockets hold.
const MANY: usize = 30_000;

/// Registers this module's tests.
pub fn tests(suite: &mut Suite) {
    tests!(suite, on_every_road, Need::Nothing;
        long_replies_are_whole,
        a_transaction_holds_long_replies,
        large_pages_of_scan_are_whole,
        what_is_removed_while_large_is_gone_at_once,
    );
    tests!(suite, on_every_road_to_a_server, Need::Nothing;
        a_long_reply_shows_one_moment,
        a_peer_that_does_not_read_a_long_reply_holds_up_nobody,
        a_peer_that_leaves_during_a_long_reply_is_forgotten,
    );
    tests!(suite, on_every_resp_road_to_a_server, Need::Nothing;
        requests_behind_a_long_reply_wait_for_it,
        pushes_wait_for_the_end_of_a_long_reply,
    );
}

fn names(prefix: &str) -> Vec<String> {
    (0..MANY).map(|at| format!("{prefix}:{at:06}")).collect()
}

fn fill(peer: &mut Connection) {
    for names in names("member").chunks(1000) {
        let mut words = vec!["SADD", "large"];
        words.extend(names.iter().map(String::as_str));
        assert_eq!(peer.call(&words).integer(), 1000);
    }
    for names in names("key").chunks(1000) {
        let mut words = vec!["MSET"];
        names.iter().for_each(|name| words.extend([name.as_str(), "v"]));
        assert_eq!(peer.call(&words).text(), "OK");
    }
}

fn assert_all(value: &Value, prefix: &str) {
    let got: BTreeSet<String> = value.items().iter().map(Value::text).collect();
    assert_eq!(value.items().len(), MANY, "{prefix}: told twice");
    assert!(got.into_iter().eq(names(prefix)), "{prefix}: others than were there");
}

fn long_replies_are_whole(talk: &mut Talk) {
    fill(talk.on('A'));
    assert_all(&talk.ask("SMEMBERS large"), "member");
    assert_all(&talk.ask("KEYS key:*"), "key");
    assert_all(&talk.ask("SUNION large large"), "member");
    assert_all(&talk.ask("SDIFF large none"), "member");
    assert_all(&talk.ask("SRANDMEMBER large 30000"), "member");
    talk.transcript("COPY large other -> 1\nSREM large member:000000 -> 1\nSCARD other -> 30000\nSCARD large -> 29999");
    assert_all(&talk.ask("SMEMBERS other"), "member");
    assert_eq!(talk.ask("KEYS *").items().len(), MANY + 2);
    assert_eq!(talk.ask("KEYS *:00000?").items().len(), 10);
    assert_eq!(talk.ask("KEYS no*such").items().len(), 0);
    assert_all(&talk.ask("SPOP other 30000"), "member");
    talk.transcript("EXISTS other -> 0");
}

fn large_pages_of_scan_are_whole(talk: &mut Talk) {
    fill(talk.on('A'));
    for count in ["2500", "7000", "1000000000000"] {
        let (mut cursor, mut keys, mut pages) = ("0".to_owned(), Vec::new(), 0);
        loop {
            let page = talk.ask(&format!("SCAN {cursor} COUNT {count} MATCH key:* TYPE string")).items();
            cursor = page[0].text();
            keys.extend(page[1].items().iter().map(Value::text));
            pages += 1;
            if cursor == "0" {
                break;
            }
        }
        keys.sort_unstable();
        assert!(keys == names("key"), "COUNT {count}: {} keys in {pages} pages", keys.len());
        assert!(count.len() > 4 || pages <= MANY / count.parse::<usize>().expect("a number") + 1, "{pages} pages");
    }
    // A cursor inside a segment, from a page of another size.
    let first = talk.ask("SCAN 0 COUNT 100").items();
    let rest = talk.ask(&format!("SCAN {} COUNT 1000000", first[0].text())).items();
    assert_eq!(first[1].items().len() + rest[1].items().len(), MANY + 1);
    assert_eq!(rest[0].text(), "0");
    talk.transcript("SCAN 0 COUNT 1000000 TYPE set -> [\"0\", [\"large\"]]");
}

fn a_transaction_holds_long_replies(talk: &mut Talk) {
    fill(talk.on('A'));
    talk.transcript("MULTI -> OK\nSMEMBERS large -> QUEUED\nKEYS key:* -> QUEUED\nPING -> QUEUED");
    let replies = talk.ask("EXEC").items();
    assert_all(&replies[0], "member");
    assert_all(&replies[1], "key");
    assert_eq!((replies.len(), replies[2].text()), (3, "PONG".to_owned()));
}

fn what_is_removed_while_large_is_gone_at_once(talk: &mut Talk) {
    for removal in ["DEL large", "UNLINK large", "SET large v", "RENAME key:000000 large", "FLUSHALL", "FLUSHDB"] {
        talk.ask("FLUSHALL");
        fill(talk.on('A'));
        talk.ask(removal);
        let left = match removal {
            "DEL large" | "UNLINK large" | "RENAME key:000000 large" => MANY,
            "SET large v" => MANY + 1,
            _ => 0,
        };
        assert_eq!(talk.ask("DBSIZE").integer() as usize, left, "{removal}");
        talk.transcript("DEL large -> ...\nSADD large a -> 1\nSMEMBERS large -> [\"a\"]");
    }
}

fn requests_behind_a_long_reply_wait_for_it(talk: &mut Talk) {
    fill(talk.on('A'));
    let requests = [frame(&["SMEMBERS", "large"]), frame(&["SADD", "large", "x"]), frame(&["SCARD", "large"])].concat();
    talk.on('A').send(&requests.repeat(2));
    for (added, card) in [(1, MANY + 1), (0, MANY + 1)] {
        let members = talk.on('A').value().items().len();
        assert_eq!(members, MANY + 1 - added);
        assert_eq!(talk.on('A').value().integer() as usize, added);
        assert_eq!(talk.on('A').value().integer() as usize, card);
    }
}

fn a_long_reply_shows_one_moment(talk: &mut Talk) {
    fill(talk.on('A'));
    // Nobody reads, so that most of it is still to be told when all of this happens.
    talk.on('A').request(&["SMEMBERS", "large"]);
    talk.on('C').request(&["KEYS", "key:*"]);
    talk.transcript("B> PING -> PONG");
    for names in names("member").chunks(1000).step_by(2) {
        let mut words = vec!["SREM", "large"];
        words.extend(names.iter().map(String::as_str));
        talk.on('B').call(&words);
    }
    for at in 0..1000 {
        talk.on('B').call(&["SADD", "large", &format!("late:{at}")]);
        talk.on('B').call(&["SET", &format!("key:late:{at}"), "v"]);
    }
    for names in names("key").chunks(1000).step_by(2) {
        let mut words = vec!["DEL"];
        words.extend(names.iter().map(String::as_str));
        talk.on('B').call(&words);
    }
    assert_all(&talk.on('A').value(), "member");
    assert_all(&talk.on('C').value(), "key");
    talk.transcript("B> SCARD large -> 16000\nB> DBSIZE -> 16001");
    talk.on('A').request(&["SMEMBERS", "large"]);
    talk.on('B').call(&["FLUSHALL"]);
    let left = talk.on('A').value().items().len();
    assert!(left == 16_000 || left == 0, "{left} members of a set that had 16000 and then none");
}

fn pushes_wait_for_the_end_of_a_long_reply(talk: &mut Talk) {
    if talk.resp() == 2 {
        // There a subscriber asks for nothing.
        return;
    }
    fill(talk.on('A'));
    talk.transcript(r#"A> SUBSCRIBE news -> ["subscribe", "news", 1]"#);
    talk.on('A').send(&[frame(&["SMEMBERS", "large"]), frame(&["PUBLISH", "news", "own"])].concat());
    talk.transcript("B> PUBLISH news other -> 1");
    // Whoever comes first, nothing stands inside the reply.
    let mut kinds = Vec::new();
    while kinds.len() < 4 {
        let value = talk.on('A').value();
        kinds.push(match &value {
            Value::Integer(_) => "count",
            _ if value.items().len() == 3 => {
                if value.items()[2].text() == "own" {
                    "own"
                } else {
                    "other"
                }
            }
            _ => {
                assert_all(&value, "member");
                "members"
            }
        });
    }
    let at = |kind| kinds.iter().position(|known| *known == kind).expect("each came");
    assert!(at("members") < at("count") && at("count") < at("own"), "{kinds:?}");
}

fn a_peer_that_does_not_read_a_long_reply_holds_up_nobody(talk: &mut Talk) {
    fill(talk.on('A'));
    for letter in ['C', 'D', 'E'] {
        for _ in 0..2 {
            talk.on(letter).request(&["SMEMBERS", "large"]);
        }
    }
    for _ in 0..50 {
        talk.transcript("B> PING -> PONG\nB> SISMEMBER large member:000001 -> 1");
    }
    for letter in ['E', 'C', 'D'] {
        for _ in 0..2 {
            assert_all(&talk.on(letter).value(), "member");
        }
    }
}

fn a_peer_that_leaves_during_a_long_reply_is_forgotten(talk: &mut Talk) {
    fill(talk.on('A'));
    for _ in 0..5 {
        talk.on('C').request(&["SMEMBERS", "large"]);
        talk.on('C').request(&["KEYS", "*"]);
        talk.hang_up('C');
    }
    while talk.ask("CLIENT LIST").text().lines().count() > 1 {}
    assert_all(&talk.ask("SMEMBERS large"), "member");
}
