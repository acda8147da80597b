//! The ways the engine thread waits: whichever is set, every peer is answered, in order, and sees the same.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::road::Server;
use crate::suite::{Need, Suite};
use crate::wire::{Connection, frame};

/// Requests in one write, several turns' worth.
const PIPELINE: usize = 1000;

/// Exchanges after which a peer has long been one the server looks at first.
const EXCHANGES: usize = 300;

/// Registers this module's tests: each under every way of waiting.
pub fn tests(suite: &mut Suite) {
    macro_rules! under_each_wait {
        ($($fact:ident),+ $(,)?) => {
            for wait in ["spin", "adaptive", "block"] {
                $({
                    let name = format!("{}::{wait}", stringify!($fact));
                    suite.plain(module_path!(), &name, Need::Goblin, move || $fact(&Server::with(&["--wait", wait])));
                })+
            }
        };
    }
    under_each_wait!(
        a_pipeline_of_a_busy_peer_is_answered_whole,
        a_busy_peer_that_hangs_up_is_removed,
        others_are_answered_beside_busy_peers,
        a_busy_peer_that_does_not_read_goes_on_later,
        a_place_taken_over_belongs_to_its_new_peer,
        a_read_cut_short_by_urgent_data_is_not_the_last,
        a_read_cut_short_by_a_descriptor_is_not_the_last,
    );
}

fn each_road(server: &Server) -> [Connection; 2] {
    [server.connect(), server.connect_unix()]
}

fn keep_busy(peer: &mut Connection) {
    for _ in 0..EXCHANGES {
        peer.exchange(b"*1\r\n$4\r\nPING\r\n", b"+PONG\r\n");
    }
}

fn a_pipeline_of_a_busy_peer_is_answered_whole(server: &Server) {
    for (at, mut peer) in each_road(server).into_iter().enumerate() {
        let key = format!("counter{at}");
        let pipeline = frame(&["INCR", &key]).repeat(PIPELINE);
        for round in 0..5 {
            keep_busy(&mut peer);
            let wanted: String = (1..=PIPELINE).map(|count| format!(":{}\r\n", round * PIPELINE + count)).collect();
            peer.exchange(&pipeline, wanted.as_bytes());
        }
        // Cut in the middle of a request, and sent piece by piece.
        for piece in pipeline.chunks(7).take(60) {
            peer.send(piece);
            server.connect().exchange(b"PING\r\n", b"+PONG\r\n");
        }
    }
}

fn a_busy_peer_that_hangs_up_is_removed(server: &Server) {
    let mut watcher = server.connect();
    for connect in [Server::connect, Server::connect_unix] {
        let mut peer = connect(server);
        keep_busy(&mut peer);
        drop(peer);
        let start = Instant::now();
        while watcher.ask("CLIENT LIST").text().lines().count() > 1 {
            assert!(start.elapsed() < Duration::from_secs(20), "a client that hung up is still listed");
        }
    }
}

fn others_are_answered_beside_busy_peers(server: &Server) {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for mut peer in each_road(server) {
            let stop = &stop;
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    keep_busy(&mut peer);
                }
            });
        }
        for _ in 0..50 {
            for mut peer in each_road(server) {
                peer.exchange(b"*2\r\n$4\r\nECHO\r\n$2\r\nhi\r\n", b"$2\r\nhi\r\n");
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
}

fn a_busy_peer_that_does_not_read_goes_on_later(server: &Server) {
    let value = "v".repeat(100_000);
    server.connect().call(&["SET", "large", &value]);
    let reply = format!("${}\r\n{value}\r\n", value.len());
    for mut peer in each_road(server) {
        for _ in 0..3 {
            keep_busy(&mut peer);
            // More than the sockets and the server's outbox hold together, so that the server stops reading meanwhile.
            let requests = 100;
            for _ in 0..requests {
                peer.request(&["GET", "large"]);
            }
            keep_busy(&mut server.connect());
            for _ in 0..requests {
                peer.expect(reply.as_bytes());
            }
        }
        keep_busy(&mut peer);
    }
}

fn a_place_taken_over_belongs_to_its_new_peer(server: &Server) {
    for round in 0..20 {
        for mut peer in each_road(server) {
            let name = format!("peer{round}");
            peer.exchange(&frame(&["CLIENT", "SETNAME", &name]), b"+OK\r\n");
            keep_busy(&mut peer);
            assert_eq!(peer.ask("CLIENT GETNAME").text(), name);
        }
    }
}

/// Keeps the server from reading while the rest of what is sent arrives.
const NAP: &[u8] = b"DEBUG SLEEP 0.05\r\n";

fn a_read_cut_short_by_urgent_data_is_not_the_last(server: &Server) {
    let socket = socket2::Socket::from(std::net::TcpStream::connect(server.address()).expect("connect"));
    socket.send(NAP).expect("send");
    socket.send_out_of_band(b"!").expect("send urgent data");
    socket.send(b"PING\r\n").expect("send");
    let mut peer = Connection::over_tcp(socket.into());
    peer.expect(b"+OK\r\n+PONG\r\n");
}

fn a_read_cut_short_by_a_descriptor_is_not_the_last(server: &Server) {
    use std::os::fd::AsRawFd;
    let stream = std::os::unix::net::UnixStream::connect(server.socket()).expect("connect");
    let passed = [stream.as_raw_fd()];
    for (bytes, rights) in [(NAP, false), (&b"PING\r\n"[..], true), (b"PING\r\n", false)] {
        let control: &[nix::sys::socket::ControlMessage<'_>] = match rights {
            true => &[nix::sys::socket::ControlMessage::ScmRights(&passed)],
            false => &[],
        };
        let slices = [std::io::IoSlice::new(bytes)];
        let flags = nix::sys::socket::MsgFlags::empty();
        nix::sys::socket::sendmsg::<()>(stream.as_raw_fd(), &slices, control, flags, None).expect("send");
    }
    Connection::over(stream).expect(b"+OK\r\n+PONG\r\n+PONG\r\n");
}
