//! Public bug reports replayed: `cNN_…` is case NN of the project's collection, with the outcome that is right there.
//!
//! Those where real Redis is wrong ask for goblin itself.

mod hostile;
mod pubsub;
mod sets;
mod slow_reader;

pub use hostile::{INTRUDER, LISTENER, intrude, listen};

use crate::suite::Suite;

/// Registers this module's tests.
pub fn tests(suite: &mut Suite) {
    pubsub::tests(suite);
    sets::tests(suite);
    slow_reader::tests(suite);
    hostile::tests(suite);
}
