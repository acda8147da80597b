//! Our side of the wire: a blocking connection that can also be polled. No tokio.
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
//! Deliberately unknown here: reconnecting, and what a command means beyond whether it is answered by pushes.

mod address;
mod connection;
mod error;
mod stream;

pub use address::{Address, AddressError, Login, parse_url};
pub use connection::Connection;
pub use error::ClientError;

pub use crate::protocol::resp::{Value, Version, split_words};
