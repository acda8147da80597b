//! Our side of the wire: a blocking connection that can also be polled, and one that comes back when it was lost.
//!
//! ```no_run
//! use goblin::client::{Connection, parse_url};
//!
//! let (address, login) = parse_url("redis://127.0.0.1:6379")?;
//! let mut connection = Connection::open(&address, &login, None)?;
//! let size = connection.call(&[b"SCARD", b"fruits"])?;
//! println!("{:?} members", size.as_integer());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Messages come from an iterator:
//!
//! ```no_run
//! use goblin::client::{Connection, Kind, parse_url};
//!
//! let (address, login) = parse_url("unix:///run/goblin.sock")?;
//! let mut connection = Connection::open(&address, &login, None)?;
//! connection.subscribe(Kind::Pattern, &["news.*"])?;
//! for message in connection.messages() {
//!     let message = message?;
//!     println!("{} bytes from {}", message.payload.len(), message.channel.escape_ascii());
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Both are blocking and know no tokio; [`aio`] is the same over tokio.
//!
//! Deliberately unknown here: what a command means, beyond how it is answered and what it makes of a connection.

mod address;
#[cfg(feature = "aio")]
pub mod aio;
mod back_off;
mod connection;
mod dialogue;
mod error;
mod login;
#[cfg(target_os = "linux")]
mod ring;
mod session;
mod state;
mod stream;
mod subscription;
mod wire;

pub use address::{Address, AddressError, parse_url};
pub use connection::{Connection, Messages};
pub use error::ClientError;
pub use login::Login;
pub use session::{Missed, News, Restored, Session};
pub use state::Loss;
pub use subscription::{Event, JoinedAt, Kind, Message};
pub use wire::Wire;

pub use crate::protocol::resp::{Value, Version, split_words};
pub use crate::protocol::sbe::schema as sbe_schema;
