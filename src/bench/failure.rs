//! Why a measurement gave no figure.

use std::fmt;

use crate::client::ClientError;

/// Why a row has no figure, or why nothing could be measured.
#[derive(Debug)]
pub enum Failure {
    /// An engine could not be started; holds its name and why.
    Start(String),
    /// The connection could not be made, or broke.
    Client(ClientError),
    /// The server answered an error; holds its words.
    Refused(String),
    /// Something else came than what had to come.
    Unexpected {
        /// The bytes that had to come.
        wanted: Vec<u8>,
        /// Those that came.
        got: Vec<u8>,
    },
    /// What had to come did not come within [`super::plan::SILENCE_MAX`]; holds what it was.
    Silent(&'static str),
    /// The engine cannot do this; no failure, the cell says why.
    NotAvailable(String),
    /// It was told to stop.
    Stopped,
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::Refused(words) => Failure::Refused(words),
            error => Failure::Client(error),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// Bytes of an answer that are shown.
        const SHOWN_MAX: usize = 80;
        let shown = |bytes: &[u8]| bytes[..bytes.len().min(SHOWN_MAX)].escape_ascii().to_string();
        match self {
            Failure::Start(why) => f.write_str(why),
            Failure::Client(error) => write!(f, "{error}"),
            Failure::Refused(words) => write!(f, "the server answered: {words}"),
            Failure::Unexpected { wanted, got } => {
                write!(f, "\"{}\" came instead of \"{}\"", shown(got), shown(wanted))
            }
            Failure::Silent(what) => write!(f, "{what} did not come within {:?}", super::plan::SILENCE_MAX),
            Failure::NotAvailable(why) => f.write_str(why),
            Failure::Stopped => f.write_str("interrupted"),
        }
    }
}

impl std::error::Error for Failure {}
