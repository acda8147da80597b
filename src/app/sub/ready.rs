//! Telling whoever started the process that the subscription is in force.
//!
//! Deliberately unknown here: what is subscribed to.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;

use rustix::fs::OFlags;

use crate::error::{Error, Exit};

/// What is told: a line, so that a shell can read it.
const READY: &[u8] = b"ready\n";

/// A descriptor that was handed over open: a pipe, a FIFO or a file.
#[derive(Debug)]
pub(super) struct Ready {
    file: File,
    number: u32,
}

impl Ready {
    /// Opens the same file anew, for the number alone is no proof that it is ours to write to.
    ///
    /// # Errors
    /// There is no such descriptor, or none that can be written to (2).
    pub(super) fn open(number: u32) -> Result<Self, Error> {
        // A pipe that nobody reads would be waited for without NONBLOCK.
        let mut options = OpenOptions::new();
        options.write(true).custom_flags(OFlags::NONBLOCK.bits() as i32);
        let opened = options.open(format!("/dev/fd/{number}"));
        let file = opened.map_err(|cause| Error::caused(Exit::Usage, format!("--ready-fd {number}"), cause))?;
        Ok(Ready { file, number })
    }

    /// Writes the line.
    ///
    /// # Errors
    /// Nobody can be told (3).
    pub(super) fn tell(&mut self) -> Result<(), Error> {
        let told = self.file.write_all(READY);
        told.map_err(|cause| Error::system(format_args!("write to descriptor {}", self.number), cause))
    }
}
