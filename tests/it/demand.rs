//! Rings on demand: asked for over a Unix socket, which is their bell and their end.

use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use goblin::client::{self, Address, Kind, Login};
use goblin::shm::Region;
use goblin::transport::passing::receive_with;

use crate::process::run;
use crate::ring_pipe::RingPipe;
use crate::road::{Folder, Server};
use crate::suite::{Need, Suite, tests};
use crate::wire::{Connection, WATCHDOG};

/// Registers this module's tests.
pub fn tests(suite: &mut Suite) {
    tests!(suite, with_server, Need::Goblin;
        a_ring_begins_as_its_socket_is,
        all_protocols_pass_over_it,
        either_end_ends_both,
        what_cannot_have_a_ring_is_told_why,
        lies_in_it_end_its_own_client_only,
        sleepers_are_woken_over_the_socket,
    );
    tests!(suite, plain, Need::Goblin;
        a_ring_and_its_socket_are_one_client,
        a_file_is_made_where_the_server_may_and_goes_with_its_client,
        what_a_dead_server_left_is_removed,
        clients_take_rings_by_name_and_come_back,
        all_rings_together_have_a_bound,
        an_idle_socket_lives_as_long_as_its_ring,
    );
}

/// Asks for a ring over a socket and answers what was answered, and the memory.
fn ask(mut socket: &UnixStream, request: &str) -> (String, Option<Region>) {
    socket.set_read_timeout(Some(WATCHDOG)).expect("a timeout");
    socket.write_all(format!("{request}\r\n").as_bytes()).expect("sent");
    let mut answer = vec![0; 4096];
    let (count, memory) = receive_with(socket, &mut answer).expect("an answer");
    answer.truncate(count);
    let memory = memory.map(|memory| Region::of_descriptor(memory).expect("a ring"));
    (String::from_utf8(answer).expect("text"), memory)
}

/// A session over a ring on demand.
fn demand(socket: UnixStream, request: &str) -> Connection {
    let (answer, memory) = ask(&socket, request);
    let memory = memory.unwrap_or_else(|| panic!("{request}: {answer}"));
    Connection::demanded(RingPipe::demanded(socket, memory))
}

/// The socket and the memory of a ring on demand of the socket at a path, 4 KiB each way.
pub fn memory(path: &Path) -> (UnixStream, OwnedFd) {
    let mut socket = UnixStream::connect(path).expect("connect");
    socket.set_read_timeout(Some(WATCHDOG)).expect("a timeout");
    socket.write_all(b"GOBLIN.RING 4096\r\n").expect("sent");
    let (_, memory) = receive_with(&socket, &mut [0; 4096]).expect("an answer");
    (socket, memory.expect("memory"))
}

/// A session over a ring on demand of the socket at a path.
pub fn open(path: &Path) -> Connection {
    let connected = UnixStream::connect(path);
    demand(connected.unwrap_or_else(|error| panic!("connect to {}: {error}", path.display())), "GOBLIN.RING")
}

fn connect(server: &Server) -> UnixStream {
    UnixStream::connect(server.socket()).expect("connect")
}

/// How many lines CLIENT LIST has with this in it.
fn listed(admin: &mut Connection, text: &str) -> usize {
    admin.ask("CLIENT LIST").text().lines().filter(|line| line.contains(text)).count()
}

fn a_ring_begins_as_its_socket_is(server: &Server) {
    let mut socket = connect(server);
    socket.write_all(b"SELECT 7\r\nCLIENT SETNAME feed\r\n").expect("sent");
    let mut said = [0; 10];
    std::io::Read::read_exact(&mut socket, &mut said).expect("answers");
    let (answer, memory) = ask(&socket, "GOBLIN.RING 5000");
    let facts: Vec<&str> = answer.split_terminator("\r\n").collect();
    assert_eq!(facts[..3], ["*3", ":8192", ":3"], "{answer}");
    let memory = memory.expect("memory");
    assert_eq!((memory.geometry().sq_capacity, memory.geometry().cq_capacity), (8192, 8192));
    let mut ring = Connection::demanded(RingPipe::demanded(socket, memory));
    let info = ring.ask("CLIENT INFO").text();
    let id = facts[3].strip_prefix(':').expect("an id");
    let own = format!("id={id} addr=ring:{}?ring ", server.socket().display());
    assert!(info.starts_with(&own) && info.contains(" name=feed ") && info.contains(" db=7 "), "{info}");
    let socket_id: u64 = id.parse::<u64>().expect("a number") - 1;
    assert!(info.ends_with(&format!(" ring-of={socket_id}\n")), "{info}");
    let mut admin = server.connect();
    assert_eq!(listed(&mut admin, " cmd=goblin.ring "), 1);
    assert_eq!(listed(&mut admin, " ring-of="), 1);
    let stats = admin.ask("INFO stats").text();
    assert!(stats.contains("goblin_rings_on_demand:1\r\ngoblin_rings_on_demand_bytes:16384\r\n"), "{stats}");
}

fn all_protocols_pass_over_it(server: &Server) {
    let long = "v".repeat(300_000);
    for version in [2, 3, 0] {
        let mut ring = demand(connect(server), "GOBLIN.RING 4096");
        if version == 0 {
            ring = ring.into_sbe();
        } else {
            ring.ask(&format!("HELLO {version}"));
        }
        assert_eq!(ring.call(&["SET", "long", &long]).text(), "OK");
        assert!(ring.ask("GET long").text() == long);
        assert_eq!(ring.ask("SUBSCRIBE news").items()[0].text(), "subscribe");
        let mut other = server.connect();
        assert_eq!(other.call(&["PUBLISH", "news", &long]).integer(), 1);
        assert!(ring.value().items()[2].text() == long, "version {version}");
    }
}

fn either_end_ends_both(server: &Server) {
    let mut admin = server.connect();
    for way in ["the client leaves", "the socket", "the ring", "quit", "the socket is closed"] {
        let mut ring = demand(connect(server), "GOBLIN.RING");
        let info = ring.ask("CLIENT INFO").text();
        let number = |name: &str| info.split([' ', '\n']).find_map(|word| word.strip_prefix(name)).expect("a number");
        let (own, socket) = (number("id="), number("ring-of="));
        assert_eq!(listed(&mut admin, &format!("id={own} ")) + listed(&mut admin, &format!("id={socket} ")), 2);
        match way {
            "the client leaves" => drop(ring),
            "the socket is closed" => {
                ring.pipe().socket().shutdown(std::net::Shutdown::Both).expect("shut down");
                ring.expect_closed();
            }
            "quit" => {
                assert_eq!(ring.ask("QUIT").text(), "OK");
                ring.expect_closed();
            }
            _ => {
                let id = if way == "the ring" { own } else { socket };
                assert_eq!(admin.ask(&format!("CLIENT KILL ID {id}")).integer(), 1);
                ring.expect_closed();
                let mut byte = [0];
                let end = std::io::Read::read(&mut ring.pipe().socket(), &mut byte).expect("the end");
                assert_eq!(end, 0, "{way}");
            }
        }
        while listed(&mut admin, &format!("id={own} ")) + listed(&mut admin, &format!("id={socket} ")) > 0 {}
        let stats = admin.ask("INFO stats").text();
        assert!(stats.contains("goblin_rings_on_demand:0\r\ngoblin_rings_on_demand_bytes:0\r\n"), "{way}: {stats}");
    }
}

fn what_cannot_have_a_ring_is_told_why(server: &Server) {
    let refused = |before: &str, request: &str, wanted: &str| {
        let mut connection = server.connect_unix();
        before.split(';').filter(|line| !line.is_empty()).for_each(|line| drop(connection.ask(line)));
        let answer = connection.ask(request).to_string();
        assert!(answer.starts_with(wanted), "{before}; {request}: {answer}");
        // Nothing has become of it: the connection is what it was.
        assert_eq!(connection.ask("PING").to_string(), connection.ask("PING").to_string());
    };
    let listening = "-ERR GOBLIN.RING needs a connection without";
    refused("HELLO 3;SUBSCRIBE c", "GOBLIN.RING", listening);
    refused("HELLO 3;SSUBSCRIBE c", "GOBLIN.RING", listening);
    refused("HELLO 3;PSUBSCRIBE c", "GOBLIN.RING", listening);
    refused("", "GOBLIN.RING 0", "-ERR a ring has 1 to 16777216 bytes each way");
    refused("", "GOBLIN.RING 16777217", "-ERR a ring has 1 to 16777216 bytes each way");
    refused("", "GOBLIN.RING PATH 1048577", "-ERR a ring has 1 to 1048576 bytes each way");
    refused("", "GOBLIN.RING -1", "-ERR a ring has 1 to 16777216 bytes each way");
    refused("", "GOBLIN.RING many", "-ERR value is not an integer or out of range");
    refused("", "GOBLIN.RING 1 2", "-ERR syntax error");
    refused("", "GOBLIN.RING PATH", "-ERR GOBLIN.RING PATH needs a server with a ring-dir");
    refused("MULTI", "GOBLIN.RING", "-ERR Command not allowed inside a transaction");
    assert_eq!(server.connect().ask("GOBLIN.RING").to_string(), "-ERR GOBLIN.RING needs a Unix socket");
    let mut ring = demand(connect(server), "GOBLIN.RING");
    assert_eq!(ring.ask("GOBLIN.RING").to_string(), "-ERR GOBLIN.RING needs a Unix socket");
    // Whose replies are off reads none, and so no descriptor.
    let mut silent = connect(server);
    silent.write_all(b"CLIENT REPLY SKIP\r\n").expect("sent");
    silent.write_all(b"GOBLIN.RING\r\nPING\r\n").expect("sent");
    let mut said = [0; 7];
    std::io::Read::read_exact(&mut silent, &mut said).expect("an answer");
    assert_eq!(&said, b"+PONG\r\n");
}

fn lies_in_it_end_its_own_client_only(server: &Server) {
    let mut other = demand(connect(server), "GOBLIN.RING");
    for lie in 0..4_u64 {
        let socket = connect(server);
        let (_, memory) = ask(&socket, "GOBLIN.RING 4096");
        let region = std::sync::Arc::new(memory.expect("memory"));
        let mut ends = goblin::shm::Ends::of_client(&region).expect("a sound ring");
        let mut claim = ends.producer.claim(64).expect("sound").expect("room");
        claim.write(&[0xff; 64]);
        claim.commit();
        ends.producer.publish();
        match lie {
            // Nobody else can take it: another session is none.
            0 => drop(region.ask_for_session(true)),
            1 => region.leave_session(region.acknowledged()),
            2 => socket.shutdown(std::net::Shutdown::Write).expect("shut down"),
            // Wake-ups without end or reason.
            _ => {
                for _ in 0..1000 {
                    (&socket).write_all(&[b'*'; 4096]).expect("sent");
                }
                region.leave_session(region.acknowledged());
            }
        }
        while !region.has_ended(1) {
            let _ = (&socket).write(b"!");
        }
        assert_eq!(other.ask("PING").text(), "PONG", "lie {lie}");
    }
    // What was not the client's to change cannot be changed.
    let (_socket, memory) = memory(&server.socket());
    let memory = std::fs::File::from(memory);
    assert!(memory.set_len(0).is_err() && memory.set_len(1 << 20).is_err());
    server.assert_alive();
}

fn sleepers_are_woken_over_the_socket(server: &Server) {
    let open = || client::Connection::open(&Address::RingOver(server.socket()), &Login::default(), None);
    let mut publisher = open().expect("a ring");
    let mut raw = demand(connect(server), "GOBLIN.RING");
    assert_eq!(raw.ask("SUBSCRIBE news").items()[0].text(), "subscribe");
    let mut subscriber = open().expect("a ring");
    subscriber.subscribe(Kind::Channel, &["news"]).expect("subscribed");
    let listener = std::thread::spawn(move || {
        (0..20).for_each(|_| drop(subscriber.next_push(None).expect("a message")));
    });
    for _ in 0..20 {
        // The server looks at none of its rings any more.
        while raw.pipe().region().server_parked().load(Ordering::Relaxed) == 0 {
            std::thread::yield_now();
        }
        publisher.call(&[b"PUBLISH", b"news", b"x"]).expect("published");
        assert_eq!(raw.value().items()[2].text(), "x");
    }
    listener.join().expect("all messages");
}

fn a_ring_and_its_socket_are_one_client() {
    let server = Server::with(&["--maxclients", "3", "--requirepass", "secret"]);
    let login = Login { password: Some(b"secret".into()), ..Login::default() };
    let open = |login: &Login| client::Connection::open(&Address::RingOver(server.socket()), login, Some(WATCHDOG));
    let refused = open(&Login::default()).expect_err("nobody logged in").to_string();
    assert!(refused.contains("NOAUTH"), "{refused}");
    let mut rings: Vec<_> = (0..3).map(|_| open(&login).expect("a ring")).collect();
    for ring in &mut rings {
        assert_eq!(ring.call(&[b"PING"]).expect("answered").as_bytes(), Some(&b"PONG"[..]));
    }
    let refused = open(&login).expect_err("a fourth client").to_string();
    assert!(refused.contains("max number of clients"), "{refused}");
    rings.pop();
    while open(&login).is_err() {}
}

fn a_file_is_made_where_the_server_may_and_goes_with_its_client() {
    let folder = Folder::new();
    let server = Server::with(&["--ring-dir", folder.path().to_str().expect("text")]);
    let socket = connect(&server);
    let (answer, memory) = ask(&socket, "GOBLIN.RING path 4096");
    assert!(memory.is_none());
    let path = PathBuf::from(answer.split_terminator("\r\n").last().expect("a path"));
    assert_eq!(path.parent(), Some(folder.path()));
    assert_eq!(path.metadata().expect("a file").permissions().mode() & 0o777, 0o600);
    let mut ring = Connection::demanded(RingPipe::demanded(socket, Region::open(&path).expect("a ring")));
    assert_eq!(ring.ask("PING").text(), "PONG");
    let info = ring.ask("CLIENT INFO").text();
    assert!(info.contains(&format!(" addr=ring:{} ", path.display())), "{info}");
    // Cut short, it ends its client and nobody else.
    let second = connect(&server);
    let (answer, _) = ask(&second, "GOBLIN.RING PATH");
    let cut = PathBuf::from(answer.split_terminator("\r\n").last().expect("a path"));
    std::fs::OpenOptions::new().write(true).open(&cut).expect("the file").set_len(0).expect("cut");
    while cut.exists() {
        let _ = (&second).write(b"!");
    }
    assert_eq!(ring.ask("PING").text(), "PONG");
    drop(ring);
    while path.exists() {
        std::thread::yield_now();
    }
}

fn what_a_dead_server_left_is_removed() {
    let folder = Folder::new();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("goblin-notes.ring"), "mine").expect("a file");
    let dir = folder.path().to_str().expect("text").to_owned();
    let living = Server::with(&["--ring-dir", &dir]);
    let kept = connect(&living);
    assert!(ask(&kept, "GOBLIN.RING PATH").1.is_none());
    {
        let killed = Server::with(&["--ring-dir", &dir]);
        let socket = connect(&killed);
        assert!(ask(&socket, "GOBLIN.RING PATH").0.starts_with("*4"));
        killed.signal("KILL");
        killed.wait();
    }
    let rings = || std::fs::read_dir(folder.path()).expect("the folder").count();
    assert_eq!(rings(), 3);
    let next = Server::with(&["--ring-dir", &dir]);
    assert_eq!(rings(), 2, "what is no ring and what is served stay");
    assert!(next.log().contains("removed, its server is gone"), "{}", next.log());
    let outcome = run(&["serve", "--port", "0", "--unixsocket", "/tmp/never.sock", "--ring-dir", "/nowhere/at/all"]);
    assert_eq!(outcome.status, Some(3), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("/nowhere/at/all"), "{}", outcome.stderr);
}

fn clients_take_rings_by_name_and_come_back() {
    let server = Server::start();
    let socket = server.socket();
    let socket = socket.to_str().expect("text");
    for protocol in ["resp2", "resp3", "sbe"] {
        let outcome = run(&["cli", "-s", socket, "--ring", "--protocol", protocol, "CLIENT", "INFO"]);
        assert!(outcome.status == Some(0) && outcome.stdout.contains(" ring-of="), "{}", outcome.stderr);
    }
    let outcome = run(&["cli", "-u", &format!("unix://{socket}?ring&db=2"), "CLIENT", "INFO"]);
    assert!(outcome.stdout.contains(" db=2 ") && outcome.stdout.contains(" ring-of="), "{}", outcome.stdout);
    let outcome = run(&["pub", "-s", socket, "--ring", "news", "hello"]);
    assert_eq!((outcome.status, outcome.stdout.trim()), (Some(0), "0"));
    let outcome = run(&["sub", "-s", socket, "--ring", "news", "--timeout", "0.2", "--no-reconnect"]);
    assert_eq!(outcome.status, Some(5), "{}", outcome.stderr);
    let outcome = run(&["cli", "-s", socket, "--ring=/x", "PING"]);
    assert_eq!(outcome.status, Some(2), "{}", outcome.stderr);
    let outcome = run(&["cli", "-s", "/nowhere/at/all", "--ring", "PING"]);
    assert_eq!(outcome.status, Some(3), "{}", outcome.stderr);
    // A session over a ring comes back as one over a socket does.
    let address = Address::RingOver(server.socket());
    let mut session = client::Session::open(address, Login::default(), WATCHDOG).expect("a session");
    assert_eq!(session.call(&[b"SELECT", b"3"]).expect("answered").as_bytes(), Some(&b"OK"[..]));
    assert_eq!(server.connect().ask("CLIENT KILL TYPE normal SKIPME yes").integer(), 2);
    let info = loop {
        if let Ok(info) = session.call(&[b"CLIENT", b"INFO"]) {
            break String::from_utf8_lossy(info.as_bytes().expect("text")).into_owned();
        }
    };
    assert!(info.contains(" db=3 ") && info.contains(" ring-of="), "{info}");
}

fn all_rings_together_have_a_bound() {
    let server = Server::start();
    let sockets: Vec<UnixStream> = (0..33).map(|_| connect(&server)).collect();
    let answers: Vec<(String, Option<Region>)> =
        sockets.iter().map(|socket| ask(socket, "GOBLIN.RING 16777216")).collect();
    let made = answers.iter().filter(|(_, memory)| memory.is_some()).count();
    assert!(made <= 32, "1 GiB together");
    assert_eq!(answers[32].0, "-ERR rings on demand have all of their 1073741824 bytes\r\n");
    drop((answers, sockets));
    while demand_fails(&server) {}
}

fn demand_fails(server: &Server) -> bool {
    ask(&connect(server), "GOBLIN.RING 16777216").1.is_none()
}

fn an_idle_socket_lives_as_long_as_its_ring() {
    let server = Server::with(&["--timeout", "1"]);
    let mut ring = demand(connect(&server), "GOBLIN.RING");
    let mut idle = server.connect_unix();
    assert_eq!(idle.ask("CLIENT SETNAME idle").text(), "OK");
    // The ring is used while the other one is closed for being idle.
    while ring.ask("CLIENT LIST").text().contains(" name=idle ") {}
    assert_eq!(ring.ask("PING").text(), "PONG");
    // Then it is idle itself, and both go.
    ring.expect_closed();
}
