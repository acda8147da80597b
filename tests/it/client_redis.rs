//! The Rust client, crate `redis`: what its users do, over TCP and a Unix socket, in RESP2 and RESP3.

use std::collections::{BTreeSet, HashSet};

use redis::{Commands, Connection, RedisResult};

use crate::road::Server;
use crate::suite::{Need, Suite, tests};

/// Registers this module's tests.
pub fn tests(suite: &mut Suite) {
    tests!(suite, with_server, Need::Nothing;
        strings_and_sets,
        scan_iterators,
        transactions_with_watch,
        pipelines,
        messages_and_patterns,
    );
}

/// Runs a scenario on a connection of every kind, each time on an empty server.
fn on_every_road(server: &Server, scenario: fn(&mut Connection, &mut Connection)) {
    let (tcp, unix) = (format!("redis://{}", server.address()), format!("redis+unix://{}", server.socket().display()));
    let roads = [tcp.clone(), format!("{tcp}?protocol=resp3"), unix.clone(), format!("{unix}?protocol=resp3")];
    for url in roads {
        let client = redis::Client::open(url.as_str()).unwrap_or_else(|error| panic!("{url}: {error}"));
        let connect = || client.get_connection().unwrap_or_else(|error| panic!("{url}: {error}"));
        let (mut connection, mut other) = (connect(), connect());
        redis::cmd("FLUSHALL").exec(&mut connection).expect("FLUSHALL");
        scenario(&mut connection, &mut other);
    }
}

fn strings_and_sets(server: &Server) {
    on_every_road(server, |connection, _| {
        let () = connection.set("k", "v").expect("SET");
        assert_eq!(connection.get::<_, String>("k").expect("GET"), "v");
        assert_eq!(connection.get::<_, Option<String>>("absent").expect("GET"), None);
        let () = connection.set_ex("k", "w", 100).expect("SETEX");
        assert!(connection.ttl::<_, i64>("k").expect("TTL") > 90);
        assert_eq!(redis::cmd("INCR").arg("n").query::<i64>(connection).expect("INCR"), 1);
        let () = connection.mset(&[("a", 1), ("b", 2)]).expect("MSET");
        assert_eq!(
            connection.mget::<_, Vec<Option<i64>>>(&["a", "b", "absent"]).expect("MGET"),
            [Some(1), Some(2), None]
        );
        assert_eq!(connection.sadd::<_, _, i64>("s", &["a", "b", "c"]).expect("SADD"), 3);
        assert_eq!(connection.smembers::<_, BTreeSet<String>>("s").expect("SMEMBERS").len(), 3);
        assert!(connection.sismember::<_, _, bool>("s", "a").expect("SISMEMBER"));
        assert_eq!(connection.smismember::<_, _, Vec<bool>>("s", &["a", "z"]).expect("SMISMEMBER"), [true, false]);
        assert_eq!(connection.srem::<_, _, i64>("s", "c").expect("SREM"), 1);
        assert_eq!(connection.sadd::<_, _, i64>("t", &["b", "c"]).expect("SADD"), 2);
        let both = ["s", "t"];
        assert_eq!(connection.sinter::<_, HashSet<String>>(&both).expect("SINTER").len(), 1);
        assert_eq!(connection.sunion::<_, HashSet<String>>(&both).expect("SUNION").len(), 3);
        assert_eq!(connection.sdiff::<_, HashSet<String>>(&both).expect("SDIFF").len(), 1);
        assert_eq!(connection.sinterstore::<_, _, i64>("d", &both).expect("SINTERSTORE"), 1);
        assert_eq!(connection.sunionstore::<_, _, i64>("d", &both).expect("SUNIONSTORE"), 3);
        assert_eq!(connection.sdiffstore::<_, _, i64>("d", &both).expect("SDIFFSTORE"), 1);
        assert!(connection.smove::<_, _, _, bool>("s", "t", "a").expect("SMOVE"));
        assert_eq!(connection.scard::<_, i64>("t").expect("SCARD"), 3);
        assert_eq!(connection.srandmember_multiple::<_, Vec<String>>("t", 2).expect("SRANDMEMBER").len(), 2);
        assert!(connection.spop::<_, Option<String>>("t").expect("SPOP").is_some());
        let refused: RedisResult<i64> = connection.sadd("k", "a");
        assert_eq!(refused.expect_err("a string").code(), Some("WRONGTYPE"));
    });
}

fn scan_iterators(server: &Server) {
    on_every_road(server, |connection, _| {
        let mut pipe = redis::pipe();
        for n in 0..500 {
            pipe.set(format!("key:{n}"), n).ignore().sadd("big", format!("member:{n}")).ignore();
        }
        pipe.exec(connection).expect("a pipeline");
        let keys: HashSet<String> =
            connection.scan_match("key:*").expect("SCAN").map(|key| key.expect("a key")).collect();
        assert_eq!(keys.len(), 500);
        let members: HashSet<String> =
            connection.sscan("big").expect("SSCAN").map(|member| member.expect("a member")).collect();
        assert_eq!(members.len(), 500);
    });
}

fn transactions_with_watch(server: &Server) {
    on_every_road(server, |connection, other| {
        let mut pipe = redis::pipe();
        pipe.atomic().set("x", 1).ignore().cmd("INCR").arg("x").sadd("xs", "a");
        assert_eq!(pipe.query::<(i64, i64)>(connection).expect("a transaction"), (2, 1));
        let mut attempts = 0;
        let sum: (i64,) = redis::transaction(connection, &["x"], |connection, pipe| {
            attempts += 1;
            let x: i64 = connection.get("x")?;
            if attempts == 1 {
                let () = other.set("x", 10)?;
            }
            pipe.set("x", x + 1).ignore().get("x").query(connection)
        })
        .expect("a transaction that is tried again");
        assert_eq!((attempts, sum.0), (2, 11));
    });
}

fn pipelines(server: &Server) {
    on_every_road(server, |connection, _| {
        let mut pipe = redis::pipe();
        for _ in 0..1000 {
            pipe.cmd("INCR").arg("n");
        }
        let counts: Vec<i64> = pipe.query(connection).expect("a pipeline");
        assert_eq!(counts, (1..=1000).collect::<Vec<i64>>());
    });
}

fn messages_and_patterns(server: &Server) {
    on_every_road(server, |connection, other| {
        let mut pubsub = connection.as_pubsub();
        pubsub.set_read_timeout(Some(crate::wire::WATCHDOG)).expect("a timeout");
        pubsub.subscribe("news").expect("SUBSCRIBE");
        pubsub.psubscribe("n*").expect("PSUBSCRIBE");
        assert_eq!(other.publish::<_, _, i64>("news", "hello").expect("PUBLISH"), 2);
        let plain = pubsub.get_message().expect("a message");
        assert_eq!((plain.get_channel_name(), plain.get_payload_bytes()), ("news", &b"hello"[..]));
        let matched = pubsub.get_message().expect("a message");
        assert_eq!(matched.get_pattern::<String>().expect("a pattern"), "n*");
        for n in 0..200 {
            other.publish::<_, _, i64>("news", n).expect("PUBLISH");
        }
        for n in 0..400 {
            let message = pubsub.get_message().expect("a message");
            assert_eq!(message.get_payload::<i64>().expect("a number"), n / 2);
        }
        pubsub.unsubscribe("news").expect("UNSUBSCRIBE");
        pubsub.punsubscribe("n*").expect("PUNSUBSCRIBE");
        drop(pubsub);
        let () = connection.set("k", "v").expect("the connection is an ordinary one again");
        assert_eq!(other.publish::<_, _, i64>("news", "nobody").expect("PUBLISH"), 0);
    });
}
