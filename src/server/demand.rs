//! Rings on demand: made for a client that is connected over a Unix socket, which from then on only wakes either side.
//!
//! The client gets the ring's memory as a descriptor beside the reply, or the path of a file. Its session over the ring
//! begins as the one over the socket is: user, database and name.
//!
//! Invariant: the two sessions end together, whichever ends first, and the ring's memory with them.
//! Invariant: nothing is left after a crash but files of rings with a path, which the next server removes.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::engine::{ClientId, MadeRing, SubscriberId};
use crate::error::Error;
use crate::limits::RINGS_DEMANDED_BYTES_MAX;
use crate::reply::RingRefusal;
use crate::transport::{Bell, Link, Peer, RingDoor};

use super::session::State;
use super::table::Table;
use super::{Inner, Shared, log};

/// How the files in the folder of rings are called.
const FILE_PREFIX: &str = "goblin-";
const FILE_SUFFIX: &str = ".ring";

/// The other session of a ring on demand.
#[derive(Debug, Clone, Copy)]
pub(super) struct Partner {
    pub(super) subscriber: SubscriberId,
    pub(super) id: ClientId,
    /// Where the ring is among all.
    pub(super) place: usize,
    /// Bytes of the ring.
    bytes: u64,
}

/// A ring that a command has made and that nobody looks at yet.
pub(super) struct NewRing {
    door: RingDoor,
    id: ClientId,
    socket: SubscriberId,
}

/// All rings on demand.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Demanded {
    pub(super) rings: usize,
    pub(super) bytes: u64,
}

impl Table {
    /// Makes a ring for the session whose turn runs; it is served from the end of the turn on.
    pub(super) fn demand_ring(&mut self, bytes: u64, has_path: bool) -> Result<MadeRing, RingRefusal> {
        let socket = self.running().ok_or(RingRefusal::NotUnix)?;
        let id = self.next_client_id();
        let session = self.sessions.get_mut(socket.0 as usize).ok_or(RingRefusal::NotUnix)?;
        let Peer::Unix { path: socket_path } = &*session.peer else { return Err(RingRefusal::NotUnix) };
        let capacity = RingDoor::capacity_for(bytes);
        if self.demanded.bytes + 2 * capacity > RINGS_DEMANDED_BYTES_MAX {
            return Err(RingRefusal::Full(RINGS_DEMANDED_BYTES_MAX));
        }
        let path = match (has_path, self.settings.ring_dir()) {
            (false, _) => None,
            (true, []) => return Err(RingRefusal::NoFolder),
            (true, folder) => Some(file_of(folder, id)),
        };
        let system = |cause: &dyn std::fmt::Display| RingRefusal::System(cause.to_string().into());
        let bell = session.link.socket().map_err(|cause| system(&cause))?.ok_or(RingRefusal::NotUnix)?;
        let name = path.clone().unwrap_or_else(|| PathBuf::from(format!("{}?ring", socket_path.display())));
        let door = RingDoor::demand(path.as_deref(), &name, capacity, Bell::over(bell));
        let door = door.map_err(|cause| system(&cause))?;
        if path.is_none() {
            let descriptor = door.descriptor().map_err(|cause| system(&cause))?;
            session.link.pass(descriptor);
        }
        session.state = State::Lifeline;
        self.demanded.rings += 1;
        self.demanded.bytes += 2 * capacity;
        self.new_rings.push(NewRing { door, id, socket });
        let path = path.map(|path| path.into_os_string().into_encoded_bytes());
        Ok(MadeRing { bytes: capacity, layout: RingDoor::LAYOUT, id, path })
    }

    /// A session has ended: so does its partner, and what the ring took is free again.
    pub(super) fn part(&mut self, partner: Partner, was_over_ring: bool) {
        if was_over_ring {
            self.demanded.rings -= 1;
            self.demanded.bytes -= partner.bytes;
        }
        if self.has(partner.subscriber, partner.id) {
            self.doom(partner.subscriber);
        }
    }
}

impl Inner {
    /// Begins the sessions over rings that commands have made.
    pub(super) fn open_new_rings(&mut self, shared: &Shared) {
        for NewRing { mut door, id, socket } in std::mem::take(&mut self.table.new_rings) {
            let bytes = 2 * door.capacity();
            let link = Link::Ring(door.begin());
            let peer = Peer::Ring { path: Rc::clone(door.path()) };
            let ring = self.open_session(id, link, peer);
            let place = shared.rings.borrow_mut().insert(door, ring, id);
            let Some(session) = self.table.sessions.get_mut(socket.0 as usize) else { continue };
            session.partner = Some(Partner { subscriber: ring, id, place, bytes });
            let caller = session.caller.as_ref().map(|caller| caller.begin_like(id, ring));
            let partner = Partner { subscriber: socket, id: session.id, place, bytes };
            let Some(session) = self.table.sessions.get_mut(ring.0 as usize) else { continue };
            session.partner = Some(partner);
            session.caller = caller.or(session.caller.take());
        }
    }
}

impl Shared {
    /// The client of a ring on demand woke us over its socket.
    pub(super) fn rung(&self, socket: SubscriberId) {
        let partner = self.inner.borrow().table.sessions.get(socket.0 as usize).and_then(|session| session.partner);
        if let Some(partner) = partner {
            self.rings.borrow_mut().heat(partner.place);
        }
        self.count_activity();
        self.visit_rings();
    }
}

fn file_of(folder: &[u8], id: ClientId) -> PathBuf {
    let name = format!("{FILE_PREFIX}{}-{}{FILE_SUFFIX}", std::process::id(), id.0);
    Path::new(OsStr::from_bytes(folder)).join(name)
}

/// Removes the rings that dead servers have left in the folder of rings on demand.
///
/// # Errors
/// The folder cannot be read.
pub(super) fn clear_folder(folder: &[u8]) -> Result<(), Error> {
    if folder.is_empty() {
        return Ok(());
    }
    let folder = Path::new(OsStr::from_bytes(folder));
    let unreadable = |cause| Error::system(format!("read the folder of rings {}", folder.display()), cause);
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let name = entry.file_name();
        let is_ours =
            name.as_bytes().starts_with(FILE_PREFIX.as_bytes()) && name.as_bytes().ends_with(FILE_SUFFIX.as_bytes());
        if is_ours && RingDoor::remove_dead(&entry.path()) {
            log::notice(format_args!("ring {}: removed, its server is gone", entry.path().display()));
        }
    }
    Ok(())
}
