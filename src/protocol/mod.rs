//! Bytes to values and back, both directions side by side. Pure: no I/O, no clock.
//!
//! Invariant: what a peer announces is never reserved, only what it sent is held.
//! Deliberately unknown here: sockets, sessions, what a command means.

pub mod resp;
pub mod sbe;

pub use crate::reply::ProtocolError;
