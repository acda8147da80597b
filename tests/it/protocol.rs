//! Requests as bytes: framing, inline commands, pieces, and peers that lie about lengths or never read.

use crate::road::{Road, Server};
use crate::suite::{Need, Suite, tests};
use crate::talk::Talk;
use crate::wire::{frame, shown};

/// Registers this module's tests.
pub fn tests(suite: &mut Suite) {
    tests!(suite, on_every_resp_road, Need::Nothing;
        inline_commands_split_like_a_shell,
        empty_requests_are_ignored,
        pipelined_requests_are_answered_in_order,
        arrays_and_inline_commands_mix,
    );
    tests!(suite, with_server, Need::Nothing;
        every_cut_of_every_frame_gives_the_same_answer,
        one_byte_at_a_time_is_enough,
        a_frame_that_is_never_finished_executes_nothing,
        malformed_frames_are_named_and_end_the_connection,
        what_came_before_a_malformed_frame_is_answered_first,
        no_request_of_random_bytes_harms_the_server,
        limits_apply_to_what_was_announced,
    );
    tests!(suite, plain, Need::Goblin; every_cut_gives_the_same_answer_over_rings);
    tests!(suite, plain, Need::Nothing; strangers_may_not_announce_large_requests);
}

fn inline_commands_split_like_a_shell(talk: &mut Talk) {
    let connection = talk.on('A');
    connection.exchange(b"SET k v\r\n", b"+OK\r\n");
    connection.exchange(b"  GET   k  \n", b"$1\r\nv\r\n");
    connection.exchange(b"SET k \"a\\x41\\r\\n\\\"\\\\\"\r\nGET k\r\n", b"+OK\r\n$6\r\naA\r\n\"\\\r\n");
    connection.exchange(b"SET k 'a\\x41\\'b'\r\nGET k\r\n", b"+OK\r\n$7\r\na\\x41'b\r\n");
    connection.exchange(b"ECHO \"\"\r\n", b"$0\r\n\r\n");
    connection.exchange(b"ECHO a\\x41\r\n", b"$5\r\na\\x41\r\n");
    connection.exchange(b"\tECHO\tx\t\r\n", b"$1\r\nx\r\n");
}

fn empty_requests_are_ignored(talk: &mut Talk) {
    talk.on('A').exchange(b"\r\n\n   \r\n*0\r\n*-1\r\n*-5\r\nPING\r\n", b"+PONG\r\n");
}

fn pipelined_requests_are_answered_in_order(talk: &mut Talk) {
    let (mut requests, mut wanted) = (Vec::new(), Vec::new());
    for n in 0..5000 {
        let text = n.to_string();
        requests.extend_from_slice(&frame(&["ECHO", &text]));
        wanted.extend_from_slice(format!("${}\r\n{text}\r\n", text.len()).as_bytes());
    }
    talk.on('A').exchange(&requests, &wanted);
}

fn arrays_and_inline_commands_mix(talk: &mut Talk) {
    talk.on('A').exchange(
        b"PING\r\n*1\r\n$4\r\nPING\r\nECHO x\r\n*2\r\n$4\r\nECHO\r\n$0\r\n\r\n*1\r\n$5\r\nNOSUC\r\nPING\n",
        b"+PONG\r\n+PONG\r\n$1\r\nx\r\n$0\r\n\r\n-ERR unknown command 'NOSUC', with args beginning with: \r\n+PONG\r\n",
    );
}

fn every_cut_of_every_frame_gives_the_same_answer(server: &Server) {
    every_cut(server, &[Road::TcpResp2, Road::TcpResp3, Road::UnixResp2, Road::UnixResp3]);
}

fn every_cut_gives_the_same_answer_over_rings() {
    every_cut(&Server::with_rings(), &[Road::RingResp2, Road::RingResp3]);
}

fn every_cut(server: &Server, roads: &[Road]) {
    let requests: [&[u8]; 8] = [
        b"*1\r\n$4\r\nPING\r\n",
        b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$5\r\nv\r\nal\r\n",
        b"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n",
        b"*4\r\n$4\r\nSADD\r\n$1\r\ns\r\n$0\r\n\r\n$2\r\n\r\n\r\n",
        b"PING\r\n",
        b"ECHO \"a b\\n\"\r\n",
        b"*0\r\n\r\n*2\r\n$4\r\nECHO\r\n$12\r\n*1\r\n$4\r\nPING\r\n",
        b"*5\r\n$4\r\nMSET\r\n$1\r\na\r\n$1\r\n1\r\n$2\r\nbb\r\n$2\r\n22\r\n*2\r\n$4\r\nMGET\r\n$1\r\na\r\n",
    ];
    for road in roads {
        for request in requests {
            let mut connection = road.connect(server);
            let answer_to = |connection: &mut crate::wire::Connection| {
                connection.send(b"*2\r\n$4\r\nECHO\r\n$3\r\nend\r\n");
                let mut answer = Vec::new();
                while !answer.ends_with(b"$3\r\nend\r\n") {
                    answer.extend_from_slice(&connection.value_bytes().1);
                }
                answer
            };
            // The first answer counts, for SADD answers differently once the members are there.
            connection.send(b"SADD s \"\" \"\\r\\n\"\r\n");
            connection.value();
            connection.send(request);
            let whole = answer_to(&mut connection);
            for cut in 1..request.len() {
                connection.send(&request[..cut]);
                // A round trip elsewhere lets the server see the first piece alone.
                server.assert_alive();
                connection.send(&request[cut..]);
                let pieces = answer_to(&mut connection);
                assert!(
                    pieces == whole,
                    "cut at {cut} of {}: {} instead of {}",
                    shown(request),
                    shown(&pieces),
                    shown(&whole)
                );
            }
        }
    }
}

fn one_byte_at_a_time_is_enough(server: &Server) {
    let mut connection = server.connect();
    for byte in frame(&["SET", "key", "value"]).into_iter().chain(*b"GET key\r\n") {
        connection.send(&[byte]);
    }
    connection.expect(b"+OK\r\n$5\r\nvalue\r\n");
}

fn a_frame_that_is_never_finished_executes_nothing(server: &Server) {
    let whole = frame(&["SET", "k", "v"]);
    for cut in 0..whole.len() {
        let mut connection = server.connect();
        connection.send(&whole[..cut]);
        connection.shut_down_writing();
        connection.expect_closed();
    }
    assert_eq!(server.connect().ask("EXISTS k").integer(), 0);
}

fn malformed_frames_are_named_and_end_the_connection(server: &Server) {
    let table: &[(&[u8], &str)] = &[
        (b"*x\r\n", "invalid multibulk length"),
        (b"*2147483648\r\n", "invalid multibulk length"),
        (b"*+1\r\n", "invalid multibulk length"),
        (b"*01\r\n", "invalid multibulk length"),
        (b"* 1\r\n", "invalid multibulk length"),
        (b"*\r\n", "invalid multibulk length"),
        (b"*1.5\r\n", "invalid multibulk length"),
        (b"*99999999999999999999\r\n", "invalid multibulk length"),
        (b"*1\r\n$-1\r\n", "invalid bulk length"),
        (b"*1\r\n$-2\r\n", "invalid bulk length"),
        (b"*1\r\n$536870913\r\n", "invalid bulk length"),
        (b"*1\r\n$9223372036854775807\r\n", "invalid bulk length"),
        (b"*1\r\n$9223372036854775808\r\n", "invalid bulk length"),
        (b"*1\r\n$\r\n", "invalid bulk length"),
        (b"*1\r\n$4x\r\n", "invalid bulk length"),
        (b"*1\r\n$+4\r\n", "invalid bulk length"),
        (b"*1\r\n:4\r\n", "expected '$', got ':'"),
        (b"*1\r\nfoo\r\n", "expected '$', got 'f'"),
        (b"*2\r\n$4\r\nECHO\r\nx\r\n", "expected '$', got 'x'"),
        (b"SET k \"v\r\n", "unbalanced quotes in request"),
        (b"SET k 'v\r\n", "unbalanced quotes in request"),
        (b"SET k \"v\"w\r\n", "unbalanced quotes in request"),
    ];
    for (request, text) in table {
        let mut connection = server.connect();
        connection.send(request);
        let wanted = format!("-ERR Protocol error: {text}\r\n");
        let got = connection.rest();
        assert!(got == wanted.as_bytes(), "{}\n wanted: {wanted:?}\n    got: {}", shown(request), shown(&got));
    }
    let mut connection = server.connect();
    let flood = vec![b'x'; 65_537 + 64];
    // The server may close before it has read everything; its answer then may be lost to the reset.
    let _ = connection.try_send(&flood);
    let got = connection.rest();
    assert!(got.is_empty() || got == b"-ERR Protocol error: too big inline request\r\n", "{}", shown(&got));
    server.assert_alive();
}

fn what_came_before_a_malformed_frame_is_answered_first(server: &Server) {
    let mut connection = server.connect();
    connection.send(b"SET k v\r\nGET k\r\n*1\r\n:4\r\nSET k w\r\n");
    connection.expect(b"+OK\r\n$1\r\nv\r\n-ERR Protocol error: expected '$', got ':'\r\n");
    connection.expect_closed();
    assert_eq!(server.connect().ask("GET k").text(), "v", "nothing after the malformed frame is executed");
}

/// A small generator with a fixed seed.
pub struct Random(u64);

impl Random {
    /// The same numbers for the same seed.
    pub fn new(seed: u64) -> Random {
        Random(seed ^ 0x9E37_79B9_7F4A_7C15)
    }

    /// Any 64 bits.
    pub fn next(&mut self) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, which is not 0.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
}

fn no_request_of_random_bytes_harms_the_server(server: &Server) {
    let mut random = Random::new(7);
    let pieces: [&[u8]; 16] = [
        b"*3\r\n",
        b"$3\r\n",
        b"SET\r\n",
        b"*1\r\n",
        b"$4\r\n",
        b"PING\r\n",
        b"\r\n",
        b"*",
        b"$",
        b"-1\r\n",
        b"\"",
        b"'",
        b"*2\r\n$4\r\nECHO\r\n",
        b"$0\r\n\r\n",
        b"\0\xff",
        b"9999999\r\n",
    ];
    for _ in 0..400 {
        let mut bytes = Vec::new();
        for _ in 0..1 + random.below(12) {
            match random.below(4) {
                0 => bytes.extend((0..random.below(20)).map(|_| random.next() as u8)),
                _ => bytes.extend_from_slice(pieces[random.below(pieces.len())]),
            }
        }
        let mut connection = server.connect();
        let _ = connection.try_send(&bytes);
        connection.shut_down_writing_quietly();
        connection.rest();
    }
    server.assert_alive();
}

fn limits_apply_to_what_was_announced(server: &Server) {
    let mut connection = server.connect();
    connection.ask("CONFIG SET proto-max-bulk-len 1048576");
    connection
        .exchange(&frame(&[b"ECHO".to_vec(), vec![b'x'; 1000]]), &[b"$1000\r\n", &[b'x'; 1000][..], b"\r\n"].concat());
    connection.send(b"*2\r\n$4\r\nECHO\r\n$1048577\r\n");
    connection.expect(b"-ERR Protocol error: invalid bulk length\r\n");
    connection.expect_closed();
}

fn strangers_may_not_announce_large_requests() {
    let server = Server::with(&["--requirepass", "s3cret"]);
    for (request, text) in [
        (&b"*11\r\n"[..], "unauthenticated multibulk length"),
        (&b"*2\r\n$4\r\nECHO\r\n$16385\r\n"[..], "unauthenticated bulk length"),
    ] {
        let mut connection = server.connect();
        connection.send(request);
        connection.expect(format!("-ERR Protocol error: {text}\r\n").as_bytes());
        connection.expect_closed();
    }
    server.connect().exchange(b"AUTH s3cret\r\n", b"+OK\r\n");
}
