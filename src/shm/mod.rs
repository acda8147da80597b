//! Shared memory: rings between a server and a client on the same machine.
//!
//! ```text
//!   file or memfd
//!   ┌────────────┬────────────────────┬────────────────────┐
//!   │   header   │ submission bytes   │ completion bytes   │
//!   │  one page  │ client ─▶ server   │ server ─▶ client   │
//!   └────────────┴────────────────────┴────────────────────┘
//!     sq_tail, cq_head, epoch: the client's      sq_head, cq_tail, epoch_ack and the rest: the server's
//! ```
//!
//! **Trust.** Whoever may map the file may write every byte of it, at any time. So all of it is read and written as
//! atomic words, never as plain memory; each word is read once, checked, then used; and payloads are copied out before
//! anybody looks at them.
//!
//! Invariant: what the peer writes can end its own session, and nothing else.
//! Invariant: a file that is cut short under its mapping ends the sessions over it, and no process.
//! Invariant: [`ring`] and [`layout`] are safe code over any words, so that they run in plain memory under test;
//! [`region`] alone turns a mapping into words.
//!
//! Deliberately unknown here: what the bytes mean, and who waits how.

mod fault;
pub mod layout;
pub mod parking;
pub mod region;
pub mod ring;

pub use layout::{Corrupt, Geometry};
pub use region::{Ends, Region};
