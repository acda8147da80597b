//! Why GOBLIN.RING makes no ring.

use std::fmt;

/// What is in the way of a ring on demand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RingRefusal {
    /// The connection is no Unix socket, or is the other end of a ring already.
    NotUnix,
    /// Something else than wake-ups is to come over the socket.
    Listening,
    /// No size of a ring, or more than one may have: so many bytes each way.
    Bytes(u64),
    /// All of them have as much memory as they may: so many bytes.
    Full(u64),
    /// The server has no folder for their files.
    NoFolder,
    /// The system refused; holds what and why.
    System(Box<str>),
}

impl fmt::Display for RingRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RingRefusal::NotUnix => f.write_str("GOBLIN.RING needs a Unix socket"),
            RingRefusal::Listening => f.write_str(
                "GOBLIN.RING needs a connection without subscriptions and MONITOR whose replies are on: from then on only \
                 wake-ups pass over it",
            ),
            RingRefusal::Bytes(most) => write!(f, "a ring has 1 to {most} bytes each way"),
            RingRefusal::Full(most) => write!(f, "rings on demand have all of their {most} bytes"),
            RingRefusal::NoFolder => f.write_str("GOBLIN.RING PATH needs a server with a ring-dir"),
            RingRefusal::System(why) => f.write_str(why),
        }
    }
}
