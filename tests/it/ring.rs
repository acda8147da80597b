//! Sessions over rings: the same commands, replies larger than the ring, messages, and peers that leave or lie.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use goblin::shm::{Ends, Region};

use crate::process::run;
use crate::road::{RingLease, Server, goblin};
use crate::suite::{Need, Suite, tests};
use crate::talk::Talk;
use crate::wire::{Connection, Value};

/// Registers this module's tests.
pub fn tests(suite: &mut Suite) {
    tests!(suite, on_every_ring, Need::Goblin;
        commands_are_answered_as_over_sockets,
        replies_larger_than_the_ring_arrive_whole,
        messages_reach_subscribers_on_other_rings,
        the_next_client_finds_nothing_of_the_one_before,
        whoever_is_killed_is_told,
    );
    tests!(suite, plain, Need::Goblin;
        clients_speak_over_a_ring,
        sleepers_on_both_sides_are_woken,
        a_saturated_ring_leaves_the_others_their_share,
        a_corrupt_ring_ends_its_own_session_only,
        a_second_server_does_not_take_a_ring,
        a_killed_servers_ring_is_taken_over,
    );
}

fn commands_are_answered_as_over_sockets(talk: &mut Talk) {
    talk.transcript(
        r#"PING -> PONG
        SET key value -> OK
        GET key -> "value"
        SADD set a b c -> 3
        SCARD set -> 3
        SISMEMBER set b -> 1
        MULTI -> OK
        INCR n -> QUEUED
        INCR n -> QUEUED
        EXEC -> [1, 2]
        SELECT 1 -> OK
        DBSIZE -> 0
        NOSUCH -> ...
        PING -> PONG"#,
    );
    let list = talk.ask("CLIENT LIST").text();
    assert!(list.contains("addr=ring:ring-0 "), "{list}");
}

fn replies_larger_than_the_ring_arrive_whole(talk: &mut Talk) {
    let value = "x".repeat(300_000);
    talk.on('A').call(&["SET", "large", &value]);
    for _ in 0..5 {
        assert!(talk.ask("GET large").text() == value);
    }
    let names: Vec<String> = (0..30_000).map(|at| format!("member:{at:06}")).collect();
    for names in names.chunks(1000) {
        let mut words = vec!["SADD", "set"];
        words.extend(names.iter().map(String::as_str));
        talk.on('A').call(&words);
    }
    let members: BTreeSet<String> = talk.ask("SMEMBERS set").items().iter().map(Value::text).collect();
    assert!(members.into_iter().eq(names));
    // Requests that are answered faster than they are read.
    for at in 0..2000 {
        talk.on('A').request(&["SETRANGE", "large", &at.to_string(), "yyyyyyyy"]);
        talk.on('A').request(&["GETRANGE", "large", "0", "99"]);
    }
    for _ in 0..2000 {
        assert_eq!(talk.on('A').value().integer(), 300_000);
        assert_eq!(talk.on('A').value().text().len(), 100);
    }
}

fn messages_reach_subscribers_on_other_rings(talk: &mut Talk) {
    talk.transcript(
        r#"B> SUBSCRIBE news -> ["subscribe", "news", 1]
        C> PSUBSCRIBE n* -> ["psubscribe", "n*", 1]"#,
    );
    let long = "m".repeat(50_000);
    for at in 0..200 {
        assert_eq!(talk.on('A').call(&["PUBLISH", "news", &at.to_string()]).integer(), 2);
    }
    assert_eq!(talk.on('A').call(&["PUBLISH", "news", &long]).integer(), 2);
    for at in 0..200 {
        assert_eq!(talk.on('B').value().items()[2].text(), at.to_string());
        assert_eq!(talk.on('C').value().items()[3].text(), at.to_string());
    }
    assert!(talk.on('B').value().items()[2].text() == long);
    assert!(talk.on('C').value().items()[3].text() == long);
    talk.hang_up('B');
    while talk.ask("PUBSUB NUMSUB news").items()[1].integer() > 0 {}
}

fn the_next_client_finds_nothing_of_the_one_before(talk: &mut Talk) {
    let path = talk.server().folder().join("ring-7");
    for round in 0..20 {
        let mut client = Connection::ring(RingLease::unasked(path.clone()));
        assert_eq!(client.ask("SELECT 3").text(), "OK");
        assert_eq!(client.ask("MULTI").text(), "OK");
        assert_eq!(client.ask("INCR lost").text(), "QUEUED");
        client.request(&["PING", "unread"]);
        // Every other one is still there when the next one comes.
        if round % 2 == 0 {
            std::mem::forget(client);
        }
    }
    talk.transcript("SELECT 3 -> OK\nEXISTS lost -> 0");
}

fn whoever_is_killed_is_told(talk: &mut Talk) {
    let id = talk.on('B').call(&["CLIENT", "ID"]).integer().to_string();
    assert_eq!(talk.on('A').call(&["CLIENT", "KILL", "ID", &id]).integer(), 1);
    talk.on('B').expect_closed();
    assert_eq!(talk.on('C').call(&["QUIT"]).text(), "OK");
    talk.on('C').expect_closed();
}

fn clients_speak_over_a_ring() {
    let server = Server::with_rings();
    let ring = |at: usize| format!("--ring={}", server.folder().join(format!("ring-{at}")).display());
    let outcome = run(&["cli", &ring(0), "SADD", "set", "a", "b"]);
    assert_eq!((outcome.status, outcome.stdout.trim()), (Some(0), "2"));
    let outcome = run(&["pub", &ring(0), "news", "hello"]);
    assert_eq!((outcome.status, outcome.stdout.trim()), (Some(0), "0"));
    let outcome = run(&["sub", &ring(1), "news", "--timeout", "0.2", "--no-reconnect"]);
    assert_eq!(outcome.status, Some(5), "{}", outcome.stderr);
    let outcome = run(&["cli", "--ring=/nowhere/at/all", "PING"]);
    assert_eq!(outcome.status, Some(3), "{}", outcome.stderr);
}

fn sleepers_on_both_sides_are_woken() {
    use goblin::client::{Address, Connection, Login};
    for wait in ["adaptive", "block"] {
        let folder = crate::road::Folder::new();
        let ring = |name: &str| folder.path().join(name);
        let rings = ["a", "b"].map(|name| format!("{}:4kb", ring(name).display()));
        let server = Server::with(&["--wait", wait, "--ring", &rings[0], "--ring", &rings[1]]);
        let open = |name| Connection::open(&Address::Ring(ring(name)), &Login::default(), None).expect("a session");
        let (mut subscriber, mut publisher) = (open("a"), open("b"));
        subscriber.subscribe(goblin::client::Kind::Channel, &["news"]).expect("subscribed");
        let asleep = Region::open(&ring("a")).expect("the ring");
        let listener = std::thread::spawn(move || {
            (0..20).for_each(|_| drop(subscriber.next_push(None).expect("a message")));
        });
        for _ in 0..20 {
            // Nobody looks any more: the flags say so.
            for parked in [asleep.client_parked(), asleep.server_parked()] {
                while parked.load(std::sync::atomic::Ordering::Relaxed) == 0 {
                    std::thread::yield_now();
                }
            }
            publisher.call(&[b"PUBLISH", b"news", b"x"]).expect("published");
        }
        listener.join().expect("all messages");
        drop(publisher);
        let mut other = server.connect();
        // Whoever leaves says so.
        while other.ask("CLIENT LIST").text().contains("addr=ring:") {}
    }
}

fn a_saturated_ring_leaves_the_others_their_share() {
    const BATCH: usize = 20;
    let server = Server::with_rings();
    let first = server.folder().join("ring-0");
    let is_over = AtomicBool::new(false);
    let answered = AtomicU64::new(0);
    std::thread::scope(|scope| {
        // The ring that is looked at first has requests in it whenever it is looked at.
        scope.spawn(|| {
            let mut client = Connection::ring(RingLease::unasked(first));
            let batch = "PING\r\n".repeat(BATCH);
            client.send(batch.as_bytes());
            while !is_over.load(Ordering::Relaxed) {
                client.send(batch.as_bytes());
                (0..BATCH).for_each(|_| assert_eq!(client.value().text(), "PONG"));
                answered.fetch_add(BATCH as u64, Ordering::Relaxed);
            }
        });
        let lower = Connection::ring(RingLease::unasked(server.folder().join("ring-7")));
        let mut others = [lower, server.connect_unix(), server.connect()];
        while answered.load(Ordering::Relaxed) == 0 {
            std::thread::yield_now();
        }
        for _ in 0..300 {
            for other in &mut others {
                assert_eq!(other.ask("PING").text(), "PONG");
            }
        }
        is_over.store(true, Ordering::Relaxed);
    });
}

fn a_corrupt_ring_ends_its_own_session_only() {
    let server = Server::with_rings();
    let mut other = server.connect_ring();
    assert_eq!(other.ask("PING").text(), "PONG");
    let path = server.folder().join("ring-5");
    for (at, junk) in [u64::from(u32::MAX), 2 << 32, 5000, u64::MAX].into_iter().enumerate() {
        let region = std::sync::Arc::new(Region::open(&path).expect("the ring"));
        let epoch = region.ask_for_session(false);
        while region.acknowledged() != epoch {
            std::thread::yield_now();
        }
        let mut ends = Ends::of_client(&region).expect("a sound ring");
        let mut claim = ends.producer.claim(64).expect("sound").expect("room");
        claim.write(&[0xff; 64]);
        claim.commit();
        // The record's control word, as nobody who keeps to the format writes it.
        let file = std::fs::OpenOptions::new().write(true).open(&path).expect("the file");
        std::os::unix::fs::FileExt::write_all_at(
            &file,
            &junk.to_le_bytes(),
            region.geometry().sq_offset + at as u64 * 128,
        )
        .expect("written");
        ends.producer.publish();
        while !region.has_ended(epoch) {
            std::thread::yield_now();
        }
        assert_eq!(other.ask("PING").text(), "PONG");
    }
    let info = other.ask("INFO stats").text();
    assert!(info.contains("goblin_corrupt_rings:4\r\n"), "{info}");
    server.wait_for_line("its ring is corrupt");
}

fn a_second_server_does_not_take_a_ring() {
    let server = Server::with_rings();
    let ring = format!("{}:4kb", server.folder().join("ring-3").display());
    let outcome = run(&["serve", "--port", "0", "--no-unixsocket", "--ring", &ring]);
    assert_eq!(outcome.status, Some(3), "{}", outcome.stderr);
    assert!(outcome.stderr.contains(&format!("process {}", server.pid())), "{}", outcome.stderr);
    assert_eq!(server.connect_ring().ask("PING").text(), "PONG");
}

fn a_killed_servers_ring_is_taken_over() {
    let folder = crate::road::Folder::new();
    let ring = format!("{}:4kb", folder.path().join("ring").display());
    for _ in 0..3 {
        let mut command = goblin();
        command.args(["serve", "--port", "0", "--no-unixsocket", "--ring", &ring]);
        command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
        let mut child = command.spawn().expect("start goblin");
        // The ring of the dead one is there until the new one has taken its place: a client is refused meanwhile.
        let path = format!("--ring={}", folder.path().join("ring").display());
        while run(&["cli", &path, "PING"]).status != Some(0) {}
        child.kill().expect("killed");
        child.wait().expect("its end");
    }
    let left: Vec<_> = std::fs::read_dir(folder.path()).expect("the folder").collect();
    assert_eq!(left.len(), 3, "nothing but the ring and its bells is left behind: {left:?}");
}
