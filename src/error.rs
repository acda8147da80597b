//! Failures at the edge of the process: what was being done, why it failed, and the exit status that says so.

use std::fmt;

/// Exit statuses of all subcommands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Done; also when the reader of a pipe went away.
    Done = 0,
    /// The server answered an error, or a check failed.
    Refused = 1,
    /// The command line or a configuration is wrong.
    Usage = 2,
    /// Could not connect, bind, lock or log in.
    Unreachable = 3,
    /// The connection broke.
    Lost = 4,
    /// The time ran out with nothing or too little received.
    TimedOut = 5,
    /// Interrupted from the keyboard.
    Interrupted = 130,
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        std::process::ExitCode::from(exit as u8)
    }
}

/// A failure that ends the process.
#[derive(Debug)]
pub struct Error {
    exit: Exit,
    doing: String,
    cause: Option<Box<dyn std::error::Error>>,
}

impl Error {
    /// The user asked for something that cannot be.
    pub fn usage(what: impl Into<String>) -> Self {
        Error { exit: Exit::Usage, doing: what.into(), cause: None }
    }

    /// A place could not be listened on.
    pub fn listen(place: impl fmt::Display, cause: impl std::error::Error + 'static) -> Self {
        Error { exit: Exit::Unreachable, doing: format!("cannot listen on {place}"), cause: Some(Box::new(cause)) }
    }

    /// The system refused something the process needs.
    pub fn system(what: impl fmt::Display, cause: std::io::Error) -> Self {
        Error { exit: Exit::Unreachable, doing: format!("cannot {what}"), cause: Some(Box::new(cause)) }
    }

    /// A failure with its cause; the status says what kind it is. `doing` may be empty when the cause says it all.
    pub fn caused(exit: Exit, doing: impl Into<String>, cause: impl std::error::Error + 'static) -> Self {
        Error { exit, doing: doing.into(), cause: Some(Box::new(cause)) }
    }

    /// Any failure with its status.
    pub fn new(exit: Exit, doing: impl Into<String>) -> Self {
        Error { exit, doing: doing.into(), cause: None }
    }

    /// The status to end with.
    pub fn exit(&self) -> Exit {
        self.exit
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.cause {
            Some(cause) if self.doing.is_empty() => write!(f, "{cause}"),
            Some(cause) => write!(f, "{}: {cause}", self.doing),
            None => write!(f, "{}", self.doing),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.cause.as_deref()
    }
}
