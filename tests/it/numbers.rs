//! Numbers of messages: whoever missed some is told how many.

use crate::app::Running;
use crate::road::Server;
use crate::sbe::greeting;
use crate::suite::{Need, Suite, tests};
use crate::wire::{Connection, Value};

/// Registers this module's tests.
pub fn tests(suite: &mut Suite) {
    tests!(suite, with_server, Need::Goblin;
        messages_are_counted_for_each_channel_and_pattern,
        who_comes_back_knows_what_it_missed,
        others_see_nothing_of_it,
        a_tail_tells_how_much_it_missed,
    );
    tests!(suite, plain, Need::Goblin; a_run_of_the_server_has_its_own_numbers);
}

/// A connection that asked for numbers.
fn numbered(server: &Server) -> Connection {
    let mut connection = server.connect_unix().into_sbe();
    connection.send(&greeting(0, 1, ["", "", ""]));
    assert!(!connection.answer().value.is_error());
    connection
}

/// What a joining is answered: run, last and base.
fn join(connection: &mut Connection, line: &str) -> [i64; 3] {
    let answer = connection.ask(line);
    let items = answer.items();
    assert_eq!(items.len(), 6, "{answer}");
    [3, 4, 5].map(|at| items[at].integer())
}

/// The number of the next message, which says this.
fn next(connection: &mut Connection, text: &str) -> i64 {
    let push = connection.value();
    let items = push.items();
    let [.., payload, number] = items.as_slice() else { panic!("{push}") };
    assert_eq!(payload.text(), text);
    number.integer()
}

fn messages_are_counted_for_each_channel_and_pattern(server: &Server) {
    let (c, admin) = (&mut numbered(server), &mut server.connect());
    admin.ask("PUBLISH a unheard");
    let [_, a, _] = join(c, "SUBSCRIBE a");
    let [_, b, _] = join(c, "SUBSCRIBE b");
    let [_, shard, _] = join(c, "SSUBSCRIBE a");
    let [_, pattern, _] = join(c, "PSUBSCRIBE *");
    for round in 1..4 {
        admin.ask("PUBLISH a x");
        assert_eq!((next(c, "x"), next(c, "x")), (a + round, pattern + 2 * round - 1));
        admin.ask("PUBLISH b y");
        assert_eq!((next(c, "y"), next(c, "y")), (b + round, pattern + 2 * round));
        admin.ask("SPUBLISH a z");
        assert_eq!(next(c, "z"), shard + round);
    }
    // Its own messages have numbers too, and joining twice tells where they stand.
    c.request(&["PUBLISH", "b", "mine"]);
    assert_eq!((next(c, "mine"), next(c, "mine")), (b + 4, pattern + 7));
    assert_eq!(c.value().integer(), 2);
    assert_eq!(join(c, "SUBSCRIBE b")[1], b + 4);
    // RESET is a new beginning, without numbers.
    assert_eq!(c.ask("RESET").text(), "RESET");
    assert_eq!(c.ask("SUBSCRIBE b").items().len(), 3);
}

fn who_comes_back_knows_what_it_missed(server: &Server) {
    let admin = &mut server.connect();
    let publish = |admin: &mut Connection, channel: &str, count: usize| {
        (0..count).for_each(|_| drop(admin.call(&["PUBLISH", channel, "m"])));
    };
    let mut first = numbered(server);
    let [run, last, _] = join(&mut first, "SUBSCRIBE alone");
    publish(admin, "alone", 3);
    (1..4).for_each(|number| assert_eq!(next(&mut first, "m"), last + number));
    let mut other = numbered(server);
    let [_, shared, _] = join(&mut other, "SUBSCRIBE shared");
    assert_eq!(join(&mut first, "SUBSCRIBE shared")[1], shared);
    let [_, pattern, _] = join(&mut first, "PSUBSCRIBE al*");
    drop(first);
    while admin.ask("PUBSUB NUMSUB alone").items()[1].integer() > 0 {}
    publish(admin, "alone", 5);
    publish(admin, "shared", 7);
    publish(admin, "elsewhere", 11);
    let mut again = numbered(server);
    // Nobody had it meanwhile, and it was counted all the same.
    let [same, now, base] = join(&mut again, "SUBSCRIBE alone");
    assert_eq!((same, now - last, base <= last), (run, 8, true));
    // Somebody else had it.
    let [_, now, base] = join(&mut again, "SUBSCRIBE shared");
    assert_eq!((now - shared, base <= shared), (7, true));
    // Nobody counts what matches a pattern that nobody has: it is known how many it were at most.
    let [_, now, base] = join(&mut again, "PSUBSCRIBE al*");
    assert!(now - pattern >= 5 && base > pattern, "{now} {base} {pattern}");
}

fn others_see_nothing_of_it(server: &Server) {
    let (mut plain, mut resp, mut c) = (server.connect_unix().into_sbe(), server.connect(), numbered(server));
    let answer = plain.ask("SUBSCRIBE news");
    assert_eq!(answer.items().len(), 3);
    resp.ask("SUBSCRIBE news");
    let [_, last, _] = join(&mut c, "SUBSCRIBE news");
    server.connect().ask("PUBLISH news x");
    assert_eq!(plain.value().to_string(), "[\"message\", \"news\", \"x\"]");
    assert_eq!(resp.value().to_string(), "[\"message\", \"news\", \"x\"]");
    assert_eq!(next(&mut c, "x"), last + 1);
    // Leaving has none.
    assert_eq!(c.ask("UNSUBSCRIBE news").items().len(), 3);
    assert!(matches!(c.ask("UNSUBSCRIBE").items()[1], Value::Nil));
}

fn a_tail_tells_how_much_it_missed(server: &Server) {
    let socket = server.socket();
    let socket = socket.to_str().expect("text");
    let mut admin = server.connect();
    for (names, wanted) in
        [("feed", " s; 4 messages missed"), ("fe*", " s; at most "), ("feed other", " s; 4 messages missed")]
    {
        let names: Vec<&str> = names.split(' ').collect();
        let words = [&["sub", "-s", socket, "--ring", "--json", "--count", "2"], &names[..]].concat();
        let tail = Running::start(&words);
        assert!(tail.stderr.wait(|line| line.starts_with("goblin: subscribed to ")), "{}", tail.stderr.text());
        assert_eq!(admin.ask("PUBLISH feed one").integer(), 1);
        // It is gone, and cannot be back, while these are published.
        let list = admin.ask("CLIENT LIST").text();
        let ring = list.lines().find(|line| line.contains(" ring-of=")).expect("the tail");
        let id = ring.split([' ', '=']).nth(1).expect("an id").to_owned();
        admin.send(format!("MULTI\r\nCLIENT KILL ID {id}\r\n{}EXEC\r\n", "PUBLISH feed lost\r\n".repeat(4)).as_bytes());
        (0..6).for_each(|_| drop(admin.value()));
        let done = admin.value();
        assert_eq!(done.items()[1..].iter().map(Value::integer).sum::<i64>(), 0, "{done}");
        assert!(tail.stderr.wait(|line| line.contains("connected again")), "{}", tail.stderr.text());
        assert_eq!(admin.ask("PUBLISH feed two").integer(), 1);
        let ended = tail.end();
        assert_eq!(ended.status, Some(0), "{}", ended.stderr);
        assert!(ended.stderr.contains(wanted), "{}", ended.stderr);
        assert!(String::from_utf8_lossy(&ended.stdout).lines().all(|line| line.contains("\"number\":")));
    }
}

fn a_run_of_the_server_has_its_own_numbers() {
    let run = || join(&mut numbered(&Server::start()), "SUBSCRIBE c")[0];
    assert_ne!(run(), run());
}
