//! Names to subscribers: who hears what is said on a channel.
//!
//! [`Router`] holds literal names, [`Patterns`] holds globs, [`Glob`] is the one matcher for both and for every other
//! command that takes a pattern. A [`Membership`] is the other side: what one subscriber has joined.
//!
//! Invariant: a name is held exactly while somebody subscribes to it.
//! Invariant: a subscriber is listed under a name exactly while its membership lists that name.
//!
//! Deliberately unknown here: what a subscriber is (an `Id` that can be copied, compared and hashed), how a message
//! reaches it, commands and replies.

mod glob;
mod grams;
mod numbers;
mod patterns;
mod registry;
mod roster;
mod router;
mod slots;

pub use glob::Glob;
pub use numbers::Numbers;
pub use patterns::Patterns;
pub use registry::Membership;
pub use router::Router;
