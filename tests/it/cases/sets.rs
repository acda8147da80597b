//! Sets: cases C22 to C31 and C43.

use std::collections::BTreeSet;

use crate::protocol::Random;
use crate::suite::{Need, Suite, tests};
use crate::talk::Talk;
use crate::wire::{Value, frame};

/// Registers this module's tests.
pub fn tests(suite: &mut Suite) {
    tests!(suite, on_every_road, Need::Nothing;
        c22_counts_at_the_integer_edge,
        c25_sscan_arguments,
        c26_spop_edges,
        c27_sintercard_arguments,
        c29_destination_among_the_sources,
        c30_type_errors_are_symmetric_and_harmless,
        c31_number_like_members_stay_distinct,
        c43_smove_and_smismember_edges,
    );
    tests!(suite, on_every_resp_road, Need::Nothing;
        c24_sscan_misses_no_member_that_stays,
    );
}

fn c22_counts_at_the_integer_edge(talk: &mut Talk) {
    talk.check("SADD s a b c", "3");
    talk.check("SRANDMEMBER s -9223372036854775808", "-ERR value is out of range...");
    for count in ["9223372036854775808", "+1", "01", "\" 1\"", "1.5"] {
        talk.check(&format!("SRANDMEMBER s {count}"), "-ERR value is not an integer or out of range");
    }
    talk.transcript(
        r#"
        SRANDMEMBER s 9223372036854775807     -> {"a", "b", "c"}
        SRANDMEMBER s 0                       -> []
        SRANDMEMBER absent                    -> nil
        SRANDMEMBER absent 5                  -> []
        SRANDMEMBER absent -5                 -> []
        "#,
    );
}

/// Rounds on each road, and how many of them advance together: their requests share one trip to the server.
const SCAN_ROUNDS: usize = 10_000;
const SCAN_LANES: usize = 100;

/// Members of each set that are never removed on purpose.
const STAYING: usize = 20;

/// What happens to a set between two pages of a scan.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    /// A third of what is left goes at once.
    Thirds,
    /// Ten members go, one by one.
    Few,
    /// A hundred new ones come until this many did.
    Growth(usize),
    /// Twenty go that the server chooses.
    Pops,
}

/// One scan of a set of its own.
struct Lane {
    key: String,
    change: Change,
    cursor: String,
    finished: bool,
    /// Bit n is `stay:n`: still in the set, and given by a page.
    stays: u32,
    seen: u32,
    /// The others in the set, `other:n` for these n, and how many `grown:n` came.
    others: std::ops::Range<usize>,
    grown: usize,
}

impl Lane {
    fn new(at: usize, change: Change, others: usize) -> Lane {
        let (key, cursor) = (format!("s{at}"), "0".to_owned());
        Lane { key, change, cursor, finished: false, stays: (1 << STAYING) - 1, seen: 0, others: 0..others, grown: 0 }
    }

    /// A command on the set about members of one kind.
    fn command(&self, name: &str, kind: &str, members: impl Iterator<Item = usize>) -> Vec<u8> {
        let words = [name.to_owned(), self.key.clone()].into_iter().chain(members.map(|n| format!("{kind}:{n}")));
        frame(&words.collect::<Vec<_>>())
    }

    /// Makes the set anew; three replies.
    fn fill(&self, requests: &mut Vec<u8>) {
        requests.extend(frame(&["DEL", &self.key]));
        requests.extend(self.command("SADD", "other", self.others.clone()));
        requests.extend(self.command("SADD", "stay", 0..STAYING));
    }

    /// Asks for the next page, then changes the set; answers how many replies the change has.
    fn step(&mut self, requests: &mut Vec<u8>) -> usize {
        requests.extend(frame(&["SSCAN", &self.key, &self.cursor, "COUNT", "5"]));
        let (first, end) = (self.others.start, self.others.end);
        match self.change {
            Change::Thirds if self.others.len() > 3 => {
                self.others.end -= self.others.len() / 3;
                requests.extend(self.command("SREM", "other", self.others.end..end));
                1
            }
            Change::Few => {
                self.others.start = end.min(first + 10);
                (first..self.others.start).for_each(|n| requests.extend(self.command("SREM", "other", n..n + 1)));
                self.others.start - first
            }
            Change::Growth(most) if self.grown < most => {
                requests.extend(self.command("SADD", "grown", self.grown..self.grown + 100));
                self.grown += 100;
                1
            }
            Change::Pops => {
                requests.extend(frame(&["SPOP", &self.key, "20"]));
                1
            }
            Change::Thirds | Change::Growth(_) => 0,
        }
    }

    fn page(&mut self, page: &Value) {
        let page = page.items();
        self.seen |= staying(&page[1]);
        self.cursor = page[0].text();
        self.finished = self.cursor == "0";
    }

    /// What the server took no longer has to be seen.
    fn changed(&mut self, reply: &Value) {
        assert!(!reply.is_error(), "{reply}");
        if self.change == Change::Pops && !self.finished {
            self.stays &= !staying(reply);
        }
    }
}

/// The `stay:n` among members, as bits.
fn staying(members: &Value) -> u32 {
    let numbers = members.items();
    let numbers = numbers.iter().filter_map(|member| member.text().strip_prefix("stay:")?.parse::<u32>().ok());
    numbers.fold(0, |bits, n| bits | 1 << n)
}

fn c24_sscan_misses_no_member_that_stays(talk: &mut Talk) {
    let mut random = Random::new(u64::from(talk.resp()));
    let connection = talk.on('A');
    for round in 0..SCAN_ROUNDS / SCAN_LANES {
        let change = |at| match at % 10 {
            // Two sets grow far beyond what one step of any table could hold. Scans of those that grow are the longest.
            0 if round == 0 && at < 20 => Change::Growth(20_000),
            0 => Change::Growth(200),
            1..4 => Change::Few,
            4..7 => Change::Pops,
            _ => Change::Thirds,
        };
        let mut lanes: Vec<Lane> =
            (0..SCAN_LANES).map(|at| Lane::new(at, change(at), 235 + random.below(100))).collect();
        let mut requests = Vec::new();
        lanes.iter().for_each(|lane| lane.fill(&mut requests));
        connection.send(&requests);
        for lane in &lanes {
            let filled: i64 = (0..3).map(|_| connection.value().integer()).skip(1).sum();
            assert_eq!(filled as usize, lane.others.len() + STAYING);
        }
        while lanes.iter().any(|lane| !lane.finished) {
            requests.clear();
            let open = lanes.iter_mut().filter(|lane| !lane.finished);
            let mut asked: Vec<(&mut Lane, usize)> = open
                .map(|lane| {
                    let replies = lane.step(&mut requests);
                    (lane, replies)
                })
                .collect();
            connection.send(&requests);
            for (lane, replies) in &mut asked {
                lane.page(&connection.value());
                (0..*replies).for_each(|_| lane.changed(&connection.value()));
            }
        }
        for lane in &lanes {
            let missed = lane.stays & !lane.seen;
            assert_eq!(missed, 0, "round {round}, {}: missed these bits of stay:n", lane.key);
        }
    }
}

fn c25_sscan_arguments(talk: &mut Talk) {
    talk.transcript(
        r#"
        SADD s 1 2 3                  -> 3
        SET str v                     -> OK
        SSCAN s abc                   -> -ERR invalid cursor
        SSCAN s 18446744073709551616  -> -ERR invalid cursor
        SSCAN s 0 COUNT 0             -> -ERR syntax error
        SSCAN s 0 COUNT -5            -> -ERR syntax error
        SSCAN s 0 COUNT               -> -ERR syntax error
        SSCAN s 0 NOPE 1              -> -ERR syntax error
        SSCAN s 0 COUNT x             -> -ERR value is not an integer or out of range
        SSCAN s 0 COUNT 922337203685477581    -> ["0", ["...
        SSCAN s 0 MATCH foo           -> ["0", []]
        SSCAN absent 0                -> ["0", []]
        SSCAN str 0                   -> -WRONGTYPE...
        "#,
    );
    let members: Vec<String> = (0..3000).map(|n| format!("m:{n}")).collect();
    talk.ask(&format!("SADD big {}", members.join(" ")));
    let mut random = Random::new(3);
    for _ in 0..300 {
        let page = talk.ask(&format!("SSCAN big {}", random.next())).items();
        assert!(page[1].items().len() <= 200, "a page is bounded for any cursor");
    }
}

fn c26_spop_edges(talk: &mut Talk) {
    talk.transcript(
        r#"
        SADD s a b c      -> 3
        SPOP s 10         -> {"a", "b", "c"}
        EXISTS s          -> 0
        SADD s z          -> 1
        SPOP s 0          -> []
        SPOP s -1         -> -ERR value is out of range, must be positive
        SPOP s x          -> -ERR value is out of range, must be positive
        SPOP absent       -> nil
        SPOP absent 3     -> []
        SPOP s 1 2        -> -ERR syntax error
        SCARD s           -> 1
        "#,
    );
}

fn c27_sintercard_arguments(talk: &mut Talk) {
    talk.transcript(
        r#"
        SADD s1 a b c                     -> 3
        SADD s2 b c d                     -> 3
        SET str v                         -> OK
        SINTERCARD 2 s1 s2 LIMIT 1        -> 1
        SINTERCARD 2 s1 s2 LIMIT 0        -> 2
        SINTERCARD 2 s1 s2 LIMIT -1       -> -ERR LIMIT can't be negative
        SINTERCARD 2 s1 s2 LIMIT a        -> -ERR LIMIT can't be negative
        SINTERCARD 2 s1 s2 LIMIT          -> -ERR syntax error
        SINTERCARD 0 s1                   -> -ERR numkeys should be greater than 0
        SINTERCARD -1 s1                  -> -ERR numkeys should be greater than 0
        SINTERCARD x s1                   -> -ERR numkeys should be greater than 0
        SINTERCARD +2 s1 s2               -> -ERR numkeys should be greater than 0
        SINTERCARD 02 s1 s2               -> -ERR numkeys should be greater than 0
        SINTERCARD 3 s1 s2                -> -ERR Number of keys can't be greater than number of args
        SINTERCARD 9223372036854775807 s1 -> -ERR Number of keys can't be greater than number of args
        SINTERCARD 1 s1 s2                -> -ERR syntax error
        SINTERCARD 1 str junk             -> -ERR syntax error
        SINTERCARD 2 nokey str            -> -WRONGTYPE...
        SINTERCARD 2 s1 s2 LIMIT 2 LIMIT 1        -> 1
        "#,
    );
}

fn c29_destination_among_the_sources(talk: &mut Talk) {
    talk.transcript(
        r#"
        SADD k1 a b               -> 2
        SADD k2 b c               -> 2
        SUNIONSTORE k2 k1 k2      -> 3
        SMEMBERS k2               -> {"a", "b", "c"}
        SINTERSTORE k2 k2 k1      -> 2
        SDIFFSTORE k1 k1 k1       -> 0
        EXISTS k1                 -> 0
        "#,
    );
}

fn c30_type_errors_are_symmetric_and_harmless(talk: &mut Talk) {
    talk.transcript("SET foo bar -> OK\nSADD d 1 -> 1");
    for command in ["SINTER", "SUNION", "SDIFF", "SINTERSTORE d", "SUNIONSTORE d", "SDIFFSTORE d"] {
        for keys in ["foo null", "null foo", "foo", "d foo"] {
            talk.check(
                &format!("{command} {keys}"),
                "-WRONGTYPE Operation against a key holding the wrong kind of value",
            );
        }
    }
    talk.transcript("SMEMBERS d -> [\"1\"]\nGET foo -> \"bar\"");
}

fn c31_number_like_members_stay_distinct(talk: &mut Talk) {
    let members = [
        "1",
        "01",
        "+1",
        "-0",
        "0",
        "1.0",
        " 1",
        "-1",
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775808",
        "00",
    ];
    let same = |talk: &mut Talk, key: &str| {
        assert_eq!(talk.on('A').call(&["SCARD", key]).integer(), 12);
        let got: BTreeSet<String> = talk.on('A').call(&["SMEMBERS", key]).sorted_texts().into_iter().collect();
        assert_eq!(got, members.iter().map(|&member| member.to_owned()).collect());
        for member in members {
            assert_eq!(talk.on('A').call(&["SISMEMBER", key, member]).integer(), 1, "{member:?}");
            let pattern = member;
            let page = talk.on('A').call(&["SSCAN", key, "0", "MATCH", pattern, "COUNT", "1000"]).items();
            assert_eq!(page[1].sorted_texts(), [member], "MATCH {pattern:?}");
        }
    };
    let all_at_once = [vec!["SADD", "n"], members.to_vec()].concat();
    assert_eq!(talk.on('A').call(&all_at_once).integer(), 12);
    same(talk, "n");
    for (key, reversed) in [("forward", false), ("backward", true)] {
        talk.ask(&format!("SADD {key} 5 6 7"));
        for step in 0..members.len() {
            let member = members[if reversed { members.len() - 1 - step } else { step }];
            assert_eq!(talk.on('A').call(&["SADD", key, member]).integer(), 1, "{member:?}");
            assert_eq!(talk.on('A').call(&["SADD", key, member]).integer(), 0, "{member:?} again");
        }
        assert_eq!(talk.ask(&format!("SREM {key} 5 6 7")).integer(), 3);
        same(talk, key);
    }
    // Through the large form and out of it again, member by member.
    let filler: Vec<String> = (100..900).map(|n| n.to_string()).collect();
    talk.ask(&format!("SADD n {}", filler.join(" ")));
    talk.ask(&format!("SREM n {}", filler.join(" ")));
    same(talk, "n");
    for member in members {
        assert_eq!(talk.on('A').call(&["SMOVE", "n", "moved", member]).integer(), 1, "{member:?}");
    }
    same(talk, "moved");
    for member in members {
        assert_eq!(talk.on('A').call(&["SREM", "moved", member]).integer(), 1, "{member:?}");
    }
}

fn c43_smove_and_smismember_edges(talk: &mut Talk) {
    talk.transcript(
        r#"
        SADD a 1 2        -> 2
        SET str v         -> OK
        SMOVE a a 1       -> 1
        SMOVE a a 9       -> 0
        SCARD a           -> 2
        SMOVE no str 1    -> 0
        SMOVE a str 1     -> -WRONGTYPE...
        SMEMBERS a        -> {"1", "2"}
        SMOVE a b 1       -> 1
        SMOVE a b 2       -> 1
        EXISTS a          -> 0
        SMISMEMBER nokey x y      -> [0, 0]
        SADD a q q q      -> 1
        SREM a q q        -> 1
        "#,
    );
}
