//! The client core as a library: connections that come back, the same over tokio, and servers that are odd.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use goblin::client::{Address, ClientError, Event, Kind, Login, Loss, News, Session, Value, Version, aio};

use crate::app::{HELLO, ran, scripted, scripted_many};
use crate::process::Started;
use crate::road::{Folder, Server, free_port};
use crate::suite::{Need, Suite, tests};
use crate::wire::{Connection, WATCHDOG};

/// Registers this module's tests.
pub fn tests(suite: &mut Suite) {
    tests!(suite, with_server, Need::Goblin;
        messages_come_from_an_iterator,
        waiting_takes_nothing_away,
        the_same_is_there_over_tokio,
        a_future_that_is_dropped_leaves_no_answer_behind,
    );
    tests!(suite, plain, Need::Goblin;
        all_that_a_connection_was_made_to_be_is_restored,
        a_lost_transaction_is_told_before_anything_else_is_sent,
        an_answer_that_never_came_is_a_loss,
        no_attempt_goes_past_a_deadline,
        a_server_that_is_starting_is_waited_for,
        odd_servers_end_a_client_with_a_status,
    );
}

/// A server on a port of its own that can be stopped and started again.
pub struct Place {
    port: u16,
    folder: Folder,
    running: Option<Started>,
}

impl Place {
    /// Starts a server with these settings.
    pub fn start(settings: &[&str]) -> Place {
        let mut place = Place { port: free_port(), folder: Folder::new(), running: None };
        place.serve(settings);
        place
    }

    /// Where it listens, now and after a restart.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Kills it.
    pub fn stop(&mut self) {
        self.running = None;
    }

    /// Kills it and starts it again with its defaults.
    pub fn restart(&mut self) {
        self.restart_with(&[]);
    }

    /// Kills it and starts it again with these settings.
    pub fn restart_with(&mut self, settings: &[&str]) {
        self.stop();
        self.serve(settings);
    }

    /// A new connection.
    pub fn connect(&self) -> Connection {
        Connection::tcp(SocketAddr::from((Ipv4Addr::LOCALHOST, self.port)))
    }

    fn address(&self) -> Address {
        Address::Tcp { host: "127.0.0.1".into(), port: self.port }
    }

    fn serve(&mut self, settings: &[&str]) {
        let socket = self.folder.path().join("server.sock");
        let (port, socket) = (self.port.to_string(), socket.to_str().expect("a path in UTF-8").to_owned());
        let words = [&["--port", &port, "--unixsocket", &socket], settings].concat();
        let started = Started::serve(&words);
        assert!(started.start_line().is_some(), "{}", started.log.text());
        self.running = Some(started);
    }
}

fn tcp(server: &Server) -> Address {
    Address::Tcp { host: "127.0.0.1".into(), port: server.port() }
}

fn call(session: &mut Session, line: &str) -> Result<Value, ClientError> {
    let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
    session.call(&words)
}

fn all_that_a_connection_was_made_to_be_is_restored() {
    for (version, resp) in [(Version::Resp2, "2"), (Version::Resp3, "3")] {
        let mut place = Place::start(&["--requirepass", "secret"]);
        let login = Login { password: Some(b"secret".into()), db: 1, version, ..Login::default() };
        let mut session = Session::open(place.address(), login, WATCHDOG).expect("open");
        for line in ["SELECT 5", "CLIENT SETNAME ann"] {
            assert!(!call(&mut session, line).expect("an answer").is_error(), "{line}");
        }
        session.subscribe(Kind::Channel, &["a", "b", "c"]).expect("subscribe");
        session.subscribe(Kind::Pattern, &["p*"]).expect("subscribe");
        session.subscribe(Kind::ShardChannel, &["s"]).expect("subscribe");
        call(&mut session, "UNSUBSCRIBE b").expect("unsubscribe");

        place.restart_with(&["--requirepass", "secret"]);
        let mut told = Vec::new();
        while told.last() != Some(&"back") {
            told.push(match session.next(None).expect("news").expect("without a deadline there are some") {
                News::Event(Event::Left { .. }) => "left",
                News::Lost(ClientError::Lost { inside_message: false, .. }) => "lost",
                News::Restored(restored) => {
                    assert_eq!(restored.loss, Loss { messages: true, ..Loss::default() });
                    "back"
                }
                other => panic!("{other:?}"),
            });
        }
        assert_eq!(told.iter().filter(|word| **word != "left").collect::<Vec<_>>(), [&"lost", &"back"]);
        let mut watcher = place.connect();
        watcher.ask("AUTH secret");
        let list = watcher.ask("CLIENT LIST").text();
        let line = list.lines().find(|line| line.contains(" name=ann ")).expect("a client called ann");
        for field in [" db=5 ", " sub=2 ", " psub=1 ", " ssub=1 ", &format!(" resp={resp}")] {
            assert!(line.contains(field), "no {field} in {line}");
        }
        assert_eq!(watcher.ask("PUBLISH c m").integer(), 1);
        match session.next(None).expect("news") {
            Some(News::Event(Event::Message(message))) => assert_eq!(message.payload, b"m"),
            other => panic!("{other:?}"),
        }
    }
}

fn a_lost_transaction_is_told_before_anything_else_is_sent() {
    let mut place = Place::start(&[]);
    let mut session = Session::open(place.address(), Login::default(), WATCHDOG).expect("open");
    let rows = [(&["MULTI", "SET k 1"][..], "the transaction with 1 command"), (&["WATCH k"], "the watch on keys")];
    for (before, lost) in rows {
        before.iter().for_each(|line| drop(call(&mut session, line).expect("an answer")));
        place.restart();
        let refused = call(&mut session, "SET k 2").expect_err("nothing may be sent");
        assert!(matches!(refused, ClientError::Forgotten(_)), "{refused:?}");
        assert_eq!(refused.to_string(), format!("not sent: {lost} went with the connection"));
        assert!(session.take_notice().is_some() && session.take_notice().is_none());
        assert_eq!(place.connect().ask("EXISTS k").integer(), 0);
        assert_eq!(call(&mut session, "SET k 3").expect("an answer"), Value::Status(b"OK".into()));
    }
    // Without such a state it just goes on.
    place.restart();
    assert_eq!(call(&mut session, "EXISTS k").expect("an answer"), Value::Integer(0));
    assert_eq!(session.take_notice().expect("a notice").loss, Loss::default());
}

fn an_answer_that_never_came_is_a_loss() {
    let port = scripted_many(vec![&[b"$"], &[b"+PONG\r\n"]]);
    let address = Address::Tcp { host: "127.0.0.1".into(), port: port.parse().expect("a port") };
    let mut session = Session::open(address, Login::default(), WATCHDOG).expect("open");
    let lost = call(&mut session, "INCR n").expect_err("no answer");
    assert!(matches!(lost, ClientError::Lost { inside_message: true, .. }), "{lost:?}");
    assert!(!session.is_connected());
    assert_eq!(call(&mut session, "PING").expect("an answer"), Value::Status(b"PONG".into()));
    assert_eq!(session.take_notice().expect("a notice").loss, Loss { answer: true, ..Loss::default() });
}

fn no_attempt_goes_past_a_deadline() {
    let mut place = Place::start(&[]);
    let mut session = Session::open(place.address(), Login::default(), WATCHDOG).expect("open");
    place.stop();
    assert!(matches!(session.next(None).expect("news"), Some(News::Lost(_))));
    let patience = Duration::from_millis(300);
    for _ in 0..3 {
        let begun = Instant::now();
        let back = session.reconnect(Some(begun + patience)).expect("nobody refuses");
        assert_eq!((back, begun.elapsed() >= patience), (None, true));
        assert!(begun.elapsed() < 100 * patience, "{:?}", begun.elapsed());
    }
    // A time in the past costs no attempt.
    assert_eq!(session.reconnect(Some(Instant::now())).expect("nobody refuses"), None);
    assert!(matches!(call(&mut session, "PING"), Err(ClientError::Connect { .. })));
    place.restart();
    let restored = session.reconnect(None).expect("nobody refuses").expect("it is back");
    assert!(restored.attempts > 1 && restored.away >= 3 * patience, "{restored:?}");
}

fn a_server_that_is_starting_is_waited_for() {
    let port = scripted_many(vec![
        &[HELLO],
        &[b"-LOADING the dataset\r\n"],
        &[b"-ERR max number of clients reached\r\n"],
        &[HELLO],
        &[b"-WRONGPASS no\r\n"],
    ]);
    let address = Address::Tcp { host: "127.0.0.1".into(), port: port.parse().expect("a port") };
    let login = Login { version: Version::Resp3, ..Login::default() };
    let mut session = Session::open(address, login, WATCHDOG).expect("open");
    assert!(matches!(session.next(None).expect("news"), Some(News::Lost(_))));
    match session.next(None).expect("news") {
        Some(News::Restored(restored)) => assert_eq!(restored.attempts, 3),
        other => panic!("{other:?}"),
    }
    assert!(matches!(session.next(None).expect("news"), Some(News::Lost(_))));
    assert!(matches!(session.next(None), Err(ClientError::Login(_))));
}

fn messages_come_from_an_iterator(server: &Server) {
    let mut connection = goblin::client::Connection::open(&tcp(server), &Login::default(), None).expect("open");
    connection.subscribe(Kind::Pattern, &["a*", "b*"]).expect("subscribe");
    let mut publisher = server.connect();
    for (channel, payload) in [("a1", "x"), ("b1", "y"), ("a2", "z")] {
        assert_eq!(publisher.call(&["PUBLISH", channel, payload]).integer(), 1);
    }
    let three: Vec<_> = connection.messages().take(3).map(|message| message.expect("a message").payload).collect();
    assert_eq!(three, [b"x", b"y", b"z"]);
    connection.set_timeout(Some(Duration::from_millis(10)));
    assert!(matches!(connection.messages().next(), Some(Err(ClientError::TimedOut))));
    publisher.ask("PUBLISH a3 late");
    connection.set_timeout(None);
    assert_eq!(connection.messages().next().expect("one more").expect("a message").payload, b"late");
    publisher.ask("CLIENT KILL TYPE pubsub");
    let mut messages = connection.messages();
    assert!(matches!(messages.next(), Some(Err(ClientError::Lost { .. }))) && messages.next().is_none());
}

fn waiting_takes_nothing_away(server: &Server) {
    let address = Address::Unix(server.socket());
    let mut connection = goblin::client::Connection::open(&address, &Login::default(), None).expect("open");
    assert!(!connection.wait(Some(Instant::now() + Duration::from_millis(5))).expect("still there"));
    connection.send(&[b"PING"]).expect("send");
    assert!(connection.wait(None).expect("still there") && connection.wait(None).expect("still there"));
    assert_eq!(connection.try_receive().expect("still there"), Some(Value::Status(b"PONG".into())));
    assert!(!connection.is_ended());
}

fn on_tokio<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(future)
}

fn the_same_is_there_over_tokio(server: &Server) {
    for version in [Version::Resp2, Version::Resp3] {
        let login = Login { db: 3, version, name: Some(b"tokio".into()), ..Login::default() };
        on_tokio(async {
            let mut connection = aio::Connection::open(&Address::Unix(server.socket()), &login).await.expect("open");
            assert_eq!(connection.call(&[b"SET", b"k", b"v"]).await.expect("an answer"), Value::Status(b"OK".into()));
            let get: &[&[u8]] = &[b"GET", b"k"];
            let large = vec![b'x'; 100_000];
            let echo: &[&[u8]] = &[b"ECHO", &large];
            let requests = std::iter::repeat_n(get, 5000).chain(std::iter::repeat_n(echo, 20));
            let answers = connection.pipeline(requests).await.expect("answers");
            assert_eq!(answers.len(), 5020);
            assert!(answers[..5000].iter().all(|answer| answer.as_bytes() == Some(b"v")));
            assert!(answers[5000..].iter().all(|answer| answer.as_bytes() == Some(&large)));

            let mut publisher = aio::Connection::open(&tcp(server), &Login::default()).await.expect("open");
            connection.subscribe(Kind::Channel, &["c"]).await.expect("subscribe");
            for number in 0..3 {
                let payload = number.to_string();
                let receivers = publisher.call(&[b"PUBLISH", b"c", payload.as_bytes()]).await.expect("an answer");
                assert_eq!(receivers, Value::Integer(1));
                assert_eq!(connection.next_message().await.expect("a message").payload, payload.as_bytes());
            }
            let refused = publisher.call(&[b"CLIENT", b"KILL", b"TYPE", b"pubsub"]).await.expect("an answer");
            assert_eq!(refused, Value::Integer(1));
            assert!(matches!(connection.next_message().await, Err(ClientError::Lost { .. })));
            assert!(matches!(connection.call(&[b"PING"]).await, Err(ClientError::Lost { .. })));
        });
    }
}

fn a_future_that_is_dropped_leaves_no_answer_behind(server: &Server) {
    on_tokio(async {
        let mut connection = aio::Connection::open(&tcp(server), &Login::default()).await.expect("open");
        let large = vec![b'x'; 1 << 20];
        for round in 0..50 {
            let wanted = round.to_string();
            // Ends at another point each time: before, in the middle of, and after the request or its answer.
            let patience = Duration::from_micros(round * 40);
            let echo: &[&[u8]] = &[b"ECHO", &large];
            let _ = tokio::time::timeout(patience, connection.call(echo)).await;
            let get: &[&[u8]] = &[b"ECHO", b"late"];
            let _ = tokio::time::timeout(patience, connection.pipeline([get, echo, get])).await;
            let answer = connection.call(&[b"ECHO", wanted.as_bytes()]).await.expect("an answer");
            assert_eq!(answer.as_bytes().map(<[u8]>::len), Some(wanted.len()), "round {round}");
            assert_eq!(answer.as_bytes(), Some(wanted.as_bytes()), "round {round}");
        }
    });
}

fn odd_servers_end_a_client_with_a_status() {
    let deep: &'static [u8] = Box::leak(b"*1\r\n".repeat(200_000).into_boxed_slice());
    let answers: [&'static [u8]; 14] = [
        b"*2147483648\r\n",
        b"$2147483648\r\nabc",
        b"%4294967295\r\n",
        b">9223372036854775807\r\n",
        b"$-7\r\n",
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"\x00\x01\x02",
        b"(12x\r\n",
        b",1e\r\n",
        b">3\r\n$7\r\nmessage\r\n:1\r\n:2\r\n",
        b">1\r\n$7\r\nmessage\r\n",
        b"|1\r\n+a\r\n",
        b">0\r\n",
        deep,
    ];
    for answer in answers {
        for words in [&["sub", "--no-reconnect", "c"][..], &["pub", "c", "m"], &["cli", "GET", "k"]] {
            for answers in [vec![answer], vec![HELLO, answer]] {
                let port = scripted(Box::leak(answers.into_boxed_slice()));
                let ended = ran(&[&words[..1], &["-p", &port], &words[1..]].concat(), b"");
                let shown = answer[..answer.len().min(40)].escape_ascii();
                assert!(matches!(ended.status, Some(3 | 4)), "{words:?} {shown}: {:?} {}", ended.status, ended.stderr);
                assert!(ended.stdout.is_empty() && ended.stderr.starts_with("goblin: "), "{words:?} {shown}");
            }
        }
    }
}
