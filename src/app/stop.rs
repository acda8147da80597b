//! Why a client subcommand stops before its work is done, and what status follows.

use crate::client::ClientError;
use crate::error::{Error, Exit};

/// Why it stops.
#[derive(Debug)]
pub(super) enum Stop {
    /// Nobody reads standard output any more: quiet success, as for any program in a pipe.
    ReaderGone,
    /// Something failed.
    Failed(Error),
}

impl Stop {
    /// What became of the whole.
    pub(super) fn settle(result: Result<Exit, Stop>) -> Result<Exit, Error> {
        match result {
            Ok(exit) => Ok(exit),
            Err(Stop::ReaderGone) => Ok(Exit::Done),
            Err(Stop::Failed(error)) => Err(error),
        }
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Stop::Failed(error)
    }
}

impl From<ClientError> for Stop {
    fn from(error: ClientError) -> Self {
        Stop::Failed(error.into())
    }
}
