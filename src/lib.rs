//! goblin: an in-memory server for publish/subscribe and sets, spoken to by Redis clients.
//!
//! ```text
//!             bytes              Command<'_>                    Reply<'_>
//!  transport ─────────▶ protocol ────────────▶ engine ────────────────▶ protocol ──▶ transport
//!  tcp│unix│ring        resp│sbe           ▲         keys│sets│pubsub     resp│sbe    one flush per turn
//!                       decode             │         execute ──▶ Host::push           encode
//!                             command table ◀── generated ── commands/*.toml
//!                                                    │
//!                                     fan-out ──▶ other sessions' outboxes ──▶ pushes
//! ```
//!
//! In the order of a request: [`transport`] moves bytes, [`protocol`] makes a request of them, [`command`] knows its
//! name and reads its words, [`engine`] gives it meaning with the help of [`topics`], [`reply`] is what it answers, and
//! [`server`] is where they meet. [`client`] is the other end of the wire, [`shm`] what both can share instead of a
//! socket. [`app`] is the command line.
//!
//! Invariant: `protocol`, `engine` and `transport` never import one another.
//! Invariant: the engine is synchronous and deterministic, and runs without a socket or a clock.
//! Invariant: everything that grows has a bound in [`limits`] or a setting.
#![warn(missing_docs, unreachable_pub)]

#[cfg(feature = "cli")]
pub mod app;
#[cfg(all(feature = "cli", target_os = "linux"))]
pub mod bench;
#[cfg(feature = "client")]
pub mod client;
#[cfg(any(feature = "client", feature = "engine"))]
pub mod command;
#[cfg(feature = "engine")]
pub mod engine;
#[cfg(feature = "client")]
pub mod error;
pub mod limits;
#[cfg(feature = "client")]
pub mod protocol;
#[cfg(any(feature = "client", feature = "engine"))]
pub mod reply;
#[cfg(feature = "server")]
pub mod server;
#[cfg(all(feature = "client", target_os = "linux"))]
pub mod shm;
#[cfg(feature = "bus")]
pub mod topics;
#[cfg(feature = "client")]
pub mod transport;
