//! Moves bytes between a peer and a session; knows nothing of commands or protocols.

#[cfg(target_os = "linux")]
mod bell;
#[cfg(feature = "server")]
mod link;
#[cfg(target_os = "linux")]
pub mod passing;
#[cfg(all(feature = "server", target_os = "linux"))]
mod ring;
#[cfg(feature = "server")]
mod tcp;
#[cfg(feature = "server")]
mod unix;

#[cfg(feature = "server")]
pub use link::{Link, Peer, Stream};
#[cfg(all(feature = "server", target_os = "linux"))]
pub use ring::{RingDoor, RingLink, ring_capacity};
#[cfg(feature = "server")]
pub use tcp::TcpDoor;
#[cfg(feature = "server")]
pub use unix::{UnixDoor, UnixError};

#[cfg(feature = "server")]
use link::watch;

#[cfg(target_os = "linux")]
pub use bell::Bell;

/// The ends of a ring, for its clients.
#[cfg(target_os = "linux")]
pub use crate::shm::{Corrupt, Ends, Region, parking};
