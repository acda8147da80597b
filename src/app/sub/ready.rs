//! Telling whoever started the process that the subscription is in force.
//!
//! Deliberately unknown here: what is subscribed to.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;

use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::error::{Error, Exit};

/// What is told: a line, so that a shell can read it.
const READY: &[u8] = b"ready\n";

/// A descriptor that was handed over open: a pipe, a FIFO, a file or, on Linux, a socket.
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
        let file = opened.or_else(|cause| match cause.raw_os_error().map(Errno::from_raw_os_error) {
            Some(Errno::NXIO) => socket(number),
            Some(Errno::NOENT) => Err(io::Error::new(cause.kind(), "no such descriptor is open")),
            _ => Err(cause),
        });
        let file = file.map_err(|cause| Error::caused(Exit::Usage, format!("--ready-fd {number}"), cause))?;
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

/// A socket cannot be opened anew, but a process may ask the system for one of its own descriptors.
#[cfg(target_os = "linux")]
fn socket(number: u32) -> io::Result<File> {
    use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};
    let number = number.try_into().map_err(|_| Errno::BADF)?;
    let own = pidfd_open(getpid(), PidfdFlags::empty())?;
    let socket = pidfd_getfd(own, number, PidfdGetfdFlags::empty()).map_err(|errno| match errno {
        Errno::NOSYS | Errno::PERM => io::Error::other("this system hands over no sockets; give it a pipe"),
        errno => errno.into(),
    })?;
    Ok(socket.into())
}

#[cfg(not(target_os = "linux"))]
fn socket(_: u32) -> io::Result<File> {
    Err(io::Error::other("a socket cannot be opened anew here; give it a pipe"))
}
