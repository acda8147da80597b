//! Listeners: opened all or none, announced in one line, one accepting task each.

use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use tokio::task::JoinHandle;

use crate::engine::{Caller, ClientId, SubscriberId};
use crate::error::{Error, Exit};
use crate::limits::ACCEPTS_PER_WAKE;
use crate::protocol::resp::reply::encode;
use crate::protocol::sbe::Form;
use crate::reply::{CommandError, Reply};
use crate::transport::{Link, Peer, RingDoor, Stream, TcpDoor, UnixDoor};

use super::config::socket_folder::prepare;
use super::config::{Config, Place};
use super::demand::clear_folder;
use super::rings::{Rings, answer};
use super::serve::serve;
use super::session::{Session, State};
use super::{Inner, Shared, log};

/// All listeners of a server.
pub(super) struct Doors {
    tcp: Vec<TcpDoor>,
    unix: Option<UnixDoor>,
    rings: Vec<RingDoor>,
}

/// One listener, in the hands of its task.
enum Door {
    Tcp(TcpDoor),
    Unix(UnixDoor),
}

/// Opens every listener, or none.
pub(super) fn open(config: &Config) -> Result<Doors, Error> {
    let mut doors = Doors { tcp: Vec::new(), unix: None, rings: Vec::new() };
    let backlog = config.settings.tcp_backlog();
    for address in config.tcp_addresses() {
        match TcpDoor::listen(address.socket, backlog) {
            Ok(door) => doors.tcp.push(door),
            // As Redis: an address written with a leading `-` may be missing on this machine.
            Err(error) if address.optional && is_missing(&error) => {}
            Err(error) => return Err(Error::listen(address.socket, error)),
        }
    }
    if let Some(unix) = &config.unix {
        if unix.unasked {
            prepare(&unix.path, &Place::of_process()).map_err(|error| Error::listen(unix.path.display(), error))?;
        }
        let opened = UnixDoor::listen(&unix.path, unix.mode, backlog);
        doors.unix = Some(opened.map_err(|error| Error::listen(unix.path.display(), error))?);
    }
    clear_folder(config.settings.ring_dir())?;
    for ring in config.settings.rings() {
        let opened = RingDoor::open(&ring.path, ring.capacity, config.settings.ring_mode());
        doors.rings.push(opened.map_err(|error| Error::caused(Exit::Unreachable, "", error))?);
    }
    if doors.tcp.is_empty() && doors.unix.is_none() && doors.rings.is_empty() {
        return Err(Error::usage("nowhere to listen: no TCP port, no Unix socket and no ring"));
    }
    Ok(doors)
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::AddrNotAvailable | io::ErrorKind::Unsupported)
}

impl Doors {
    /// The first TCP port, 0 when there is none.
    pub(super) fn tcp_port(&self) -> u16 {
        self.addresses().first().map_or(0, SocketAddr::port)
    }

    fn addresses(&self) -> Vec<SocketAddr> {
        self.tcp.iter().filter_map(|door| door.address().ok()).collect()
    }

    /// Each listener as INFO shows it.
    pub(super) fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        let addresses = self.addresses();
        if let Some(first) = addresses.first() {
            let binds: String = addresses.iter().map(|address| format!(",bind={}", address.ip())).collect();
            names.push(format!("tcp{binds},port={}", first.port()));
        }
        if let Some(unix) = &self.unix {
            names.push(format!("unix,bind={}", unix.path().display()));
        }
        let ring = |door: &RingDoor| format!("ring,bind={},bytes={}", door.path().display(), door.capacity());
        names.extend(self.rings.iter().map(ring));
        names
    }

    /// The start line: where the server listens.
    pub(super) fn describe(&self) -> String {
        let tcp = self.addresses().into_iter().map(|address| format!("tcp {address}"));
        let unix = self.unix.iter().map(|door| format!("unix {}", door.path().display()));
        let rings = self.rings.iter().map(|door| format!("ring {}", door.path().display()));
        tcp.chain(unix).chain(rings).collect::<Vec<_>>().join(", ")
    }
}

/// Starts one accepting task for each listener and one for each ring's bell; rings are looked at by whoever waits.
pub(super) fn spawn(shared: &Rc<Shared>, doors: Doors) -> Vec<JoinHandle<()>> {
    let rings = Rings::new(doors.rings);
    let bells = rings.bells();
    *shared.rings.borrow_mut() = rings;
    let answer = |(place, bell)| tokio::task::spawn_local(answer(Rc::clone(shared), place, bell));
    let mut tasks: Vec<_> = bells.into_iter().map(answer).collect();
    let tcp = doors.tcp.into_iter().map(Door::Tcp);
    let all = tcp.chain(doors.unix.map(Door::Unix));
    tasks.extend(all.map(|door| tokio::task::spawn_local(accept_all(Rc::clone(shared), door))));
    tasks
}

async fn accept_all(shared: Rc<Shared>, door: Door) {
    loop {
        // Others get their share while connections pour in.
        for _ in 0..ACCEPTS_PER_WAKE {
            let keepalive = shared.inner.borrow().table.settings.tcp_keepalive_s();
            let keepalive = (keepalive > 0).then(|| Duration::from_secs(keepalive.into()));
            let accepted = match &door {
                Door::Tcp(door) => door.accept(keepalive).await,
                Door::Unix(door) => door.accept().await,
            };
            match accepted {
                Ok((stream, peer)) => admit(&shared, stream, peer),
                Err(error) if is_of_one_connection(&error) => {}
                Err(error) => {
                    log::warning(format_args!("cannot accept a connection: {error}"));
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
        tokio::task::yield_now().await;
    }
}

/// Errors that concern a connection that is gone already, not the listener.
fn is_of_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted, InvalidInput, NotConnected};
    matches!(error.kind(), ConnectionAborted | ConnectionReset | Interrupted | InvalidInput | NotConnected)
}

/// Makes a session of a connection and starts its task, unless limits forbid it.
fn admit(shared: &Rc<Shared>, stream: Stream, peer: Peer) {
    if let Some((subscriber, id)) = shared.admit(Link::Socket(stream), peer) {
        tokio::task::spawn_local(serve(Rc::clone(shared), subscriber, id));
    }
}

impl Shared {
    /// Makes a session of a connection, unless limits forbid it: then the peer is told why.
    pub(super) fn admit(&self, mut link: Link, peer: Peer) -> Option<(SubscriberId, ClientId)> {
        self.count_activity();
        let inner = &mut *self.inner.borrow_mut();
        inner.begin_round();
        if let Err(error) = inner.may_connect(&peer) {
            inner.table.stats.rejected_connections += 1;
            let mut line = Vec::new();
            encode(&Reply::Error(error), 2, &mut line);
            // The peer may be gone or refuse to read; it is turned away either way.
            let _ = link.try_write(&[IoSlice::new(&line)]);
            return None;
        }
        let id = inner.table.next_client_id();
        Some((inner.open_session(id, link, peer), id))
    }
}

impl Inner {
    /// Makes a session of a connection.
    pub(super) fn open_session(&mut self, id: ClientId, link: Link, peer: Peer) -> SubscriberId {
        self.table.stats.connections += 1;
        let now_ms = self.table.now.unix_us / 1000;
        let undecided = !matches!(peer, Peer::Tcp { .. }) || self.table.settings.sbe();
        let place = self.table.sessions.vacant_entry();
        let subscriber = SubscriberId(place.key() as u32);
        let mut caller = Caller::new(id, subscriber);
        caller.local = peer.is_local();
        caller.authenticated = !self.engine.requires_password();
        let peer = Box::new(peer);
        log::verbose(format_args!("client id={} addr={} connected", id.0, peer.addr()));
        place.insert(Session {
            id,
            subscriber,
            caller: Some(caller),
            resp: 2,
            undecided,
            form: Form::Plain,
            subscribed: false,
            monitor: false,
            decoder: Default::default(),
            inbox: Default::default(),
            outbox: Default::default(),
            working: None,
            telling: None,
            link,
            peer,
            waker: None,
            state: State::Open,
            queued_for_flush: false,
            over_soft_since_ms: None,
            created_ms: now_ms,
            active_ms: now_ms,
            last_command: None,
            net_in: 0,
            net_out: 0,
            commands: 0,
            dropped: 0,
            hold: None,
            partner: None,
        });
        subscriber
    }

    fn may_connect(&self, peer: &Peer) -> Result<(), CommandError> {
        // A ring on demand and its socket are one client.
        if self.table.sessions.len() - self.table.demanded.rings >= self.table.settings.maxclients() {
            return Err(CommandError::TooManyClients);
        }
        // Without a password only this machine is let in, wherever the listener is bound.
        if self.table.settings.protected_mode() && !self.engine.requires_password() && !peer.is_local() {
            return Err(CommandError::ProtectedMode);
        }
        Ok(())
    }
}
