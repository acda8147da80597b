//! What can go wrong between a client and its server.

use std::{fmt, io};

use crate::error::Exit;
use crate::protocol::resp::ValueError;

/// Why a call gave no value. After [`ClientError::Connect`], [`ClientError::Login`],
/// [`ClientError::Lost`] and [`ClientError::Protocol`] the connection is of no further use.
#[derive(Debug)]
pub enum ClientError {
    /// Nobody answers there, or not in time.
    Connect {
        /// Where, as [`super::Address`] prints itself.
        address: String,
        /// The last attempt's failure.
        cause: io::Error,
    },
    /// The server refused the password, the database or the protocol version; holds its words.
    Login(String),
    /// The connection ended.
    Lost {
        /// True when a message had begun: what was received of it is worthless.
        inside_message: bool,
        /// None when the server closed the connection in good order.
        cause: Option<io::Error>,
    },
    /// The server sent something that is no RESP.
    Protocol(ValueError),
    /// The server pushed a message that lacks its channel or its payload.
    OddMessage,
    /// Nothing complete came in time. The connection lives on; a reply that comes late is dropped.
    TimedOut,
    /// Nothing was sent, because what the request relied on was lost with an earlier connection. Told once: the next
    /// request is sent.
    Forgotten(super::Loss),
    /// The server answered an error to what only it could refuse, such as a subscription; holds its words.
    Refused(String),
}

impl ClientError {
    /// The status a process ends with because of this.
    pub fn exit(&self) -> Exit {
        match self {
            ClientError::Connect { .. } | ClientError::Login(_) => Exit::Unreachable,
            ClientError::Lost { .. }
            | ClientError::Protocol(_)
            | ClientError::OddMessage
            | ClientError::Forgotten(_) => Exit::Lost,
            ClientError::TimedOut => Exit::TimedOut,
            ClientError::Refused(_) => Exit::Refused,
        }
    }
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClientError::Connect { address, cause } => write!(f, "could not connect to {address}: {cause}"),
            ClientError::Login(words) => write!(f, "could not log in: {words}"),
            ClientError::Lost { inside_message, cause } => {
                f.write_str("connection lost")?;
                if *inside_message {
                    f.write_str(" inside a message")?;
                }
                cause.as_ref().map_or(Ok(()), |cause| write!(f, ": {cause}"))
            }
            ClientError::Protocol(cause) => write!(f, "the server does not speak RESP: {cause}"),
            ClientError::OddMessage => f.write_str("the server sent a message that is none"),
            ClientError::Forgotten(loss) => write!(f, "not sent: {loss} went with the connection"),
            ClientError::TimedOut => f.write_str("timed out"),
            ClientError::Refused(words) => write!(f, "the server refused: {words}"),
        }
    }
}

impl std::error::Error for ClientError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            ClientError::Connect { cause, .. } => Some(cause),
            ClientError::Lost { cause, .. } => cause.as_ref().map(|cause| cause as _),
            ClientError::Protocol(cause) => Some(cause),
            ClientError::Login(_)
            | ClientError::OddMessage
            | ClientError::Forgotten(_)
            | ClientError::TimedOut
            | ClientError::Refused(_) => None,
        }
    }
}

impl From<ClientError> for crate::error::Error {
    fn from(error: ClientError) -> Self {
        crate::error::Error::caused(error.exit(), "", error)
    }
}
