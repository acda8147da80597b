//! Bytes in records of a ring: both protocols are streams, whatever records they come in; what a client that knows
//! nothing but the format of the original may rely on.

use crate::road::{RingLease, Server};
use crate::sbe_wire::{MAGIC, call, data, frame, group};
use crate::suite::{Need, Suite, tests};
use crate::wire::{self, Connection, Value};

/// Registers this module's tests.
pub fn tests(suite: &mut Suite) {
    tests!(suite, on_small_rings, Need::Goblin;
        the_magic_may_come_in_any_records,
        frames_need_not_fit_records,
        records_without_bytes_mean_nothing,
        replies_longer_than_the_ring_are_streamed,
        a_frame_longer_than_allowed_ends_its_session_only,
        own_messages_stand_before_the_reply_in_sbe,
        a_message_as_long_as_the_ring_arrives,
        unread_replies_stop_their_own_client_only,
        a_protocol_error_leaves_a_ring_usable,
        after_quit_a_ring_is_deaf_until_the_next_client,
    );
    tests!(suite, plain, Need::Goblin; a_password_guards_rings);
}

impl Suite {
    fn on_small_rings(&mut self, module: &str, name: &str, need: Need, test: fn(&Server)) {
        self.plain(module, name, need, move || test(&Server::with_rings_of(6, "4kb")));
    }
}

fn ping() -> Vec<u8> {
    frame(16, 0, &[])
}

fn echo(text: &str) -> Vec<u8> {
    frame(65, 0, &data(text.as_bytes()))
}

/// Reads the answers and compares them as text.
fn expect(connection: &mut Connection, wanted: &[&str]) {
    for wanted in wanted {
        assert_eq!(connection.answer().value.to_string(), *wanted);
    }
}

fn the_magic_may_come_in_any_records(server: &Server) {
    let first = [MAGIC, &ping()].concat();
    for cut in 0..=first.len() {
        let mut c = server.connect_ring();
        c.record(&first[..cut]);
        server.assert_alive();
        c.record(&first[cut..]);
        expect(&mut c, &["PONG"]);
    }
    // What diverges is RESP from its first byte on.
    let mut c = server.connect_ring();
    c.record(&MAGIC[..3]);
    c.record(b"LIN\r\n");
    c.expect(b"-ERR unknown command 'GOBLIN', with args beginning with: \r\n");
}

fn frames_need_not_fit_records(server: &Server) {
    let mut c = server.connect_ring().into_sbe();
    let all = [ping(), echo("a"), call(&["INCR", "n"]), echo(&"b".repeat(100)), ping()].concat();
    let long = format!("\"{}\"", "b".repeat(100));
    c.record(&all);
    expect(&mut c, &["PONG", "\"a\"", "1", &long, "PONG"]);
    for cut in 0..all.len() {
        c.record(&all[..cut]);
        c.record(&all[cut..]);
        expect(&mut c, &["PONG", "\"a\"", &(cut + 2).to_string(), &long, "PONG"]);
    }
    // One that fills many records, and more than the ring.
    let text = "x".repeat(50_000);
    c.send(&[echo(&text), ping()].concat());
    expect(&mut c, &[&format!("\"{text}\""), "PONG"]);
}

fn records_without_bytes_mean_nothing(server: &Server) {
    for sbe in [false, true] {
        let mut c = server.connect_ring();
        c.record(b"");
        let mut c = if sbe { c.into_sbe() } else { c };
        for _ in 0..500 {
            c.record(b"");
        }
        assert_eq!(c.ask("PING").text(), "PONG");
    }
}

fn replies_longer_than_the_ring_are_streamed(server: &Server) {
    let value = "v".repeat(300_000);
    server.connect().call(&["SET", "large", &value]);
    for mut c in [server.connect_ring(), server.connect_ring().into_sbe()] {
        for _ in 0..3 {
            c.request(&["GET", "large"]);
            c.request(&["PING"]);
        }
        for _ in 0..3 {
            assert!(c.value() == Value::Bulk(value.clone().into_bytes()));
            assert_eq!(c.value().text(), "PONG");
        }
    }
}

fn a_frame_longer_than_allowed_ends_its_session_only(server: &Server) {
    server.connect().ask("CONFIG SET client-query-buffer-limit 1mb");
    let mut other = server.connect_ring().into_sbe();
    let mut c = server.connect_ring().into_sbe();
    c.record(&[ping(), vec![0, 0, 16, 0]].concat());
    let refused = "-ERR Protocol error: SBE frame of 1048576 bytes, at most 983040 are taken";
    expect(&mut c, &["PONG", refused]);
    c.expect_closed();
    // What announces so much is not believed to begin with.
    let mut c = server.connect_ring().into_sbe();
    c.record(&[0xff; 4]);
    assert!(c.answer().value.is_error());
    c.expect_closed();
    assert_eq!(other.ask("PING").text(), "PONG");
}

fn own_messages_stand_before_the_reply_in_sbe(server: &Server) {
    let publish = |payload: &str| frame(100, 0, &[data(b"a"), data(payload.as_bytes())].concat());
    let mut c = server.connect_ring().into_sbe();
    c.record(&[frame(96, 0, &group(&["a"])), publish("1"), publish("2"), ping()].concat());
    let wanted =
        ["[\"subscribe\", \"a\", 1]", "[\"message\", \"a\", \"1\"]", "1", "[\"message\", \"a\", \"2\"]", "1", "PONG"];
    expect(&mut c, &wanted);
    let mut c = server.connect_ring();
    c.ask("HELLO 3");
    c.record(b"SUBSCRIBE b\r\nPUBLISH b 1\r\nPING\r\n");
    c.expect(b">3\r\n$9\r\nsubscribe\r\n$1\r\nb\r\n:1\r\n:1\r\n>3\r\n$7\r\nmessage\r\n$1\r\nb\r\n$1\r\n1\r\n+PONG\r\n");
}

fn a_message_as_long_as_the_ring_arrives(server: &Server) {
    let mut readers = [server.connect_ring(), server.connect_ring().into_sbe()];
    for reader in &mut readers {
        reader.ask("SUBSCRIBE news");
    }
    let mut publisher = server.connect();
    for size in [1, 1900, 1984, 2048, 4000, 4096, 8192, 100_000] {
        let payload = "p".repeat(size);
        for _ in 0..3 {
            assert_eq!(publisher.call(&["PUBLISH", "news", &payload]).integer(), 2);
        }
        for reader in &mut readers {
            for _ in 0..3 {
                let message = reader.value().items();
                assert!(message[2].bytes() == payload.as_bytes(), "{size} bytes");
            }
        }
    }
}

fn unread_replies_stop_their_own_client_only(server: &Server) {
    for sbe in [false, true] {
        let mut other = server.connect_ring();
        let lazy = server.connect_ring();
        let mut lazy = if sbe { lazy.into_sbe() } else { lazy };
        // Nothing is taken out until no request fits any more.
        let words = ["ECHO", &"e".repeat(500)];
        let request = if sbe { call(&words) } else { wire::frame(&words) };
        let mut asked = 0;
        let mut refusals = 0;
        while refusals < 20 {
            match lazy.try_record(&request) {
                true => (asked, refusals) = (asked + 1, 0),
                false => refusals += 1,
            }
            assert_eq!(other.ask("PING").text(), "PONG");
            server.assert_alive();
        }
        assert!((6..60).contains(&asked), "{asked} requests fit two rings of 4 KiB and one turn");
        for _ in 0..asked {
            assert_eq!(lazy.value().text(), words[1]);
        }
        assert_eq!(lazy.ask("PING").text(), "PONG");
    }
}

fn a_protocol_error_leaves_a_ring_usable(server: &Server) {
    let mut c = server.connect_ring();
    for (junk, answer) in [
        ("*x\r\n", "invalid multibulk length"),
        ("*1\r\n$-2\r\nSET a b\r\n", "invalid bulk length"),
        ("*1\r\n:4\r\n", "expected '$', got ':'"),
        ("PING \"\r\n", "unbalanced quotes in request"),
    ] {
        let answer = format!("-ERR Protocol error: {answer}\r\n");
        // What came with it in the record is gone, what was carried over from others too.
        c.record(&junk.as_bytes()[..2]);
        c.record(&[&junk.as_bytes()[2..], b"PING\r\n"].concat());
        c.expect(answer.as_bytes());
        c.record(b"PING\r\n");
        c.expect(b"+PONG\r\n");
    }
    assert_eq!(c.ask("EXISTS a").integer(), 0);
    assert!(c.ask("INFO errorstats").text().contains("errorstat_ERR:count=4"));
    // What is no request of anybody's is not answered, and ends the session.
    c.record(b"POST / HTTP/1.1\r\n");
    c.expect_closed();
}

fn after_quit_a_ring_is_deaf_until_the_next_client(server: &Server) {
    let path = server.folder().join("ring-4");
    for sbe in [false, true] {
        let c = Connection::ring(RingLease::unasked(path.clone()));
        let mut c = if sbe { c.into_sbe() } else { c };
        assert_eq!(c.ask("QUIT").text(), "OK");
        c.expect_closed();
        c.record_regardless(b"INCR heard\r\n");
        server.assert_alive();
        let mut next = Connection::ring(RingLease::unasked(path.clone()));
        assert_eq!(next.ask("EXISTS heard").integer(), 0);
    }
}

fn a_password_guards_rings() {
    let server = Server::with(&["--ring", "ring:4kb", "--requirepass", "secret"]);
    let refused = "-NOAUTH Authentication required.";
    for round in 0..2 {
        let mut sbe = server.connect_ring().into_sbe();
        sbe.record(&[ping(), echo("x"), frame(100, 0, &[data(b"a"), data(b"b")].concat())].concat());
        expect(&mut sbe, &[refused; 3]);
        assert_eq!(sbe.ask("AUTH wrong").to_string().split(' ').next(), Some("-WRONGPASS"));
        assert_eq!(sbe.ask("AUTH secret").text(), "OK");
        sbe.record(&ping());
        expect(&mut sbe, &["PONG"]);
        drop(sbe);
        // The next client of the ring has not logged in.
        let mut resp = server.connect_ring();
        assert_eq!(resp.ask("GET k").to_string(), refused, "round {round}");
        assert_eq!(resp.ask("AUTH secret").text(), "OK");
        assert_eq!(resp.ask("GET k"), Value::Nil);
    }
}
