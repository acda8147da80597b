//! `goblin pub`: where messages come from, how fast they go, and what is said about them.

use std::fs;
use std::time::{Duration, Instant};

use crate::app::{HELLO, Running, every_byte, ran, scripted};
use crate::road::{Folder, Server};
use crate::suite::{Need, Suite, tests};

/// Registers this module's tests.
pub fn tests(suite: &mut Suite) {
    tests!(suite, with_server, Need::Goblin;
        a_message_goes_to_several_channels,
        lines_go_to_several_channels_in_order,
        what_is_read_as_a_whole_keeps_its_line_end_unless_it_is_trimmed,
        a_file_is_published_byte_for_byte,
        a_hundred_thousand_lines_arrive_once_and_in_order,
        messages_larger_than_every_buffer_are_published,
        a_rate_spreads_messages,
        refusals_name_line_and_channel,
    );
    tests!(suite, plain, Need::Goblin;
        a_connection_lost_under_way_says_from_which_line_on_nothing_is_known,
    );
}

fn a_message_goes_to_several_channels(server: &Server) {
    let port = server.port().to_string();
    let sub = Running::subscribed(server, &["*", "a", "--count", "5"]);
    let sent = ran(&["pub", "-p", &port, "a", "b", "c", "--", "hello"], b"");
    assert_eq!((sent.status, &*sent.stdout, &*sent.stderr), (Some(0), &b"2\n1\n1\n"[..], ""));
    let dashed = ran(&["pub", "-p", &port, "--", "-c", "--x"], b"");
    assert_eq!((dashed.status, &*dashed.stdout), (Some(0), &b"1\n"[..]), "{}", dashed.stderr);
    assert_eq!(String::from_utf8_lossy(&sub.end().stdout), "a\thello\na\thello\nb\thello\nc\thello\n-c\t--x\n");
}

fn lines_go_to_several_channels_in_order(server: &Server) {
    let port = server.port().to_string();
    for flags in [&[][..], &["--sharded"]] {
        let sub = Running::subscribed(server, &[&["a", "b", "--count", "4"], flags].concat());
        let words = [&["pub", "-p", &port], flags, &["a", "b", "--", "-"]].concat();
        assert_eq!(ran(&words, b"1\n2").stdout, b"1\n1\n1\n1\n");
        assert_eq!(sub.end().stdout, b"a\t1\nb\t1\na\t2\nb\t2\n", "{flags:?}");
    }
}

fn what_is_read_as_a_whole_keeps_its_line_end_unless_it_is_trimmed(server: &Server) {
    let port = server.port().to_string();
    let folder = Folder::new();
    let path = folder.path().join("message");
    fs::write(&path, "one\ntwo\n").expect("write a file");
    let file = path.to_str().expect("a path in UTF-8");
    let rows: [(&[&str], &str); 4] = [
        (&["-x"], "one\\ntwo\\n"),
        (&["-x", "--trim"], "one\\ntwo"),
        (&["--file", file], "one\\ntwo\\n"),
        (&["--file", file, "--trim"], "one\\ntwo"),
    ];
    for (flags, wanted) in rows {
        let sub = Running::subscribed(server, &["c", "--count", "1"]);
        let sent = ran(&[&["pub", "-p", &port], flags, &["c"]].concat(), b"one\ntwo\n");
        assert_eq!((sent.status, &*sent.stdout), (Some(0), &b"1\n"[..]), "{flags:?}: {}", sent.stderr);
        assert_eq!(String::from_utf8_lossy(&sub.end().stdout), format!("c\t{wanted}\n"), "{flags:?}");
    }
}

fn a_file_is_published_byte_for_byte(server: &Server) {
    let port = server.port().to_string();
    let folder = Folder::new();
    let path = folder.path().join("message");
    fs::write(&path, every_byte()).expect("write a file");
    let sub = Running::subscribed(server, &["c", "--raw", "--delimiter", "", "--count", "1"]);
    ran(&["pub", "-p", &port, "c", "--file", path.to_str().expect("a path in UTF-8")], b"");
    assert_eq!(sub.end().stdout, every_byte());
}

fn a_hundred_thousand_lines_arrive_once_and_in_order(server: &Server) {
    const COUNT: usize = 100_000;
    let socket = server.socket();
    let socket = socket.to_str().expect("a path in UTF-8");
    let lines: String = (0..COUNT).map(|number| format!("{number}\n")).collect();
    let sub = Running::subscribed(server, &["c", "--raw", "--count", &COUNT.to_string()]);
    let sent = ran(&["pub", "-s", socket, "c", "-"], lines.as_bytes());
    assert_eq!((sent.status, sent.stdout.len()), (Some(0), 2 * COUNT), "{}", sent.stderr);
    assert!(sent.stdout.chunks(2).all(|number| number == b"1\n"));
    assert!(sub.end().stdout == lines.as_bytes());
}

fn messages_larger_than_every_buffer_are_published(server: &Server) {
    const BYTES: usize = 9_000_000;
    let port = server.port().to_string();
    let input = [&[b'x'; BYTES][..], b"\n", &[b'y'; BYTES], b"\nshort\n"].concat();
    let sub = Running::subscribed(server, &["c", "--raw", "--count", "3"]);
    assert_eq!(ran(&["pub", "-p", &port, "c", "-"], &input).stdout, b"1\n1\n1\n");
    assert!(sub.end().stdout == input);
}

fn a_rate_spreads_messages(server: &Server) {
    let port = server.port().to_string();
    let sub = Running::subscribed(server, &["c", "--raw", "--count", "11"]);
    let begun = Instant::now();
    let sent = ran(&["pub", "-p", &port, "--rate", "50", "c", "-"], "m\n".repeat(11).as_bytes());
    // Ten intervals of 20 ms, of which 10 ms may be made up for.
    assert!(begun.elapsed() >= Duration::from_millis(190), "{:?}", begun.elapsed());
    assert_eq!((sent.status, sent.stdout), (Some(0), b"1\n".repeat(11)));
    assert_eq!(sub.end().stdout, b"m\n".repeat(11));
}

fn refusals_name_line_and_channel(server: &Server) {
    let port = server.port().to_string();
    server.connect().ask("CONFIG SET requirepass secret");
    let words = ["pub", "-p", &port, "--protocol", "resp2", "a", "b", "--"];
    let one = ran(&[&words[..], &["m"]].concat(), b"");
    let refused = "the server refused: NOAUTH Authentication required.";
    assert_eq!((one.status, one.stderr), (Some(1), format!("goblin: a: {refused}\ngoblin: b: {refused}")));
    let lines = ran(&[&words[..], &["-"]].concat(), b"x\ny\n");
    assert_eq!(lines.status, Some(1));
    assert_eq!(lines.stderr.lines().last(), Some(&*format!("goblin: line 2: b: {refused}")));
}

fn a_connection_lost_under_way_says_from_which_line_on_nothing_is_known() {
    let answers: &[&[u8]] = Box::leak(Box::new([HELLO, b":7\r\n:8\r\n"]));
    let ended = ran(&["pub", "-p", &scripted(answers), "c", "-"], b"a\nb\nc\nd\n");
    assert_eq!((ended.status, &*ended.stdout), (Some(4), &b"7\n8\n"[..]));
    let wanted = "goblin: whether line 3 and those behind it were published is not known\ngoblin: connection lost";
    assert_eq!(ended.stderr, wanted);
}
