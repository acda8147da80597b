//! What wakes the other side of a ring when it sleeps: one byte through a pair of FIFOs beside the ring's file.
//!
//! `PATH.bell` rings the server, `PATH.wake` the client. Both are opened for reading and writing, so that neither an
//! absent reader nor one that has died is an error or a signal; a full FIFO has bytes enough to wake anybody.
//!
//! Invariant: nothing here blocks, but [`Bell::wait`] for as long as it was told.
//! Invariant: a server removes the FIFOs it made, and no other file that has come in their place.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::fcntl::OFlag;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::stat::Mode;

/// One side's bells: what it rings and what it hears.
#[derive(Debug)]
pub struct Bell {
    rings: File,
    hears: File,
    /// The ring's path, if it made both.
    made_at: Option<PathBuf>,
}

/// Behind the ring's path.
const SERVERS: &str = ".bell";
const CLIENTS: &str = ".wake";

impl Bell {
    /// Makes the bells of the ring at `path`, as its server. The caller owns the path: what a dead server left is
    /// replaced.
    ///
    /// # Errors
    /// Something that is no FIFO is there, or the system refuses.
    pub fn make(path: &Path, mode: u32) -> io::Result<Self> {
        let own = with_suffix(path, SERVERS);
        let hears = make(&own, mode)?;
        let rings = make(&with_suffix(path, CLIENTS), mode).inspect_err(|_| {
            // The error says what matters.
            let _ = fs::remove_file(&own);
        })?;
        Ok(Bell { rings, hears, made_at: Some(path.to_owned()) })
    }

    /// Opens the bells of the ring at `path`, as its client.
    ///
    /// # Errors
    /// There are none for us.
    pub fn open(path: &Path) -> io::Result<Self> {
        let [rings, hears] = [SERVERS, CLIENTS].map(|suffix| open(&with_suffix(path, suffix)));
        Ok(Bell { rings: rings?, hears: hears?, made_at: None })
    }

    /// Wakes the other side. A system call; what fails is made good by the other side's next look.
    pub fn ring(&self) {
        let _ = (&self.rings).write(b"!");
    }

    /// Forgets how often it was rung. A system call.
    pub fn drain(&self) {
        let mut bytes = [0; 64];
        while let Ok(count) = (&self.hears).read(&mut bytes)
            && count == bytes.len()
        {}
    }

    /// Waits until it is rung, and no longer than `timeout`, in whole milliseconds.
    pub fn wait(&self, timeout: Duration) {
        let timeout = PollTimeout::try_from(timeout.max(Duration::from_millis(1))).unwrap_or(PollTimeout::MAX);
        // Whoever waits looks afterwards, whatever ended the wait.
        let _ = poll(&mut [PollFd::new(self.hears.as_fd(), PollFlags::POLLIN)], timeout);
    }
}

/// The descriptor that is readable once it was rung.
impl AsRawFd for Bell {
    fn as_raw_fd(&self) -> RawFd {
        self.hears.as_raw_fd()
    }
}

impl Drop for Bell {
    fn drop(&mut self) {
        let Some(path) = &self.made_at else { return };
        for (suffix, file) in [(SERVERS, &self.hears), (CLIENTS, &self.rings)] {
            let path = with_suffix(path, suffix);
            let is_ours = |there: fs::Metadata| {
                file.metadata().is_ok_and(|own| (own.dev(), own.ino()) == (there.dev(), there.ino()))
            };
            if fs::symlink_metadata(&path).is_ok_and(is_ours) {
                // At the end there is nobody left to tell.
                let _ = fs::remove_file(&path);
            }
        }
    }
}

/// Makes a FIFO in the place of one that a dead server has left.
fn make(path: &Path, mode: u32) -> io::Result<File> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.file_type().is_fifo() => fs::remove_file(path)?,
        Ok(_) => return Err(io::Error::new(ErrorKind::AlreadyExists, format!("{} is no FIFO", path.display()))),
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    nix::unistd::mkfifo(path, Mode::from_bits_truncate(mode))?;
    let file = open(path)?;
    // What the umask took away.
    file.set_permissions(PermissionsExt::from_mode(mode))?;
    Ok(file)
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

fn open(path: &Path) -> io::Result<File> {
    let flags = OFlag::O_NONBLOCK | OFlag::O_NOFOLLOW;
    let file = OpenOptions::new().read(true).write(true).custom_flags(flags.bits()).open(path)?;
    match file.metadata()?.file_type().is_fifo() {
        true => Ok(file),
        false => Err(ErrorKind::InvalidInput.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bells_wake_the_other_side_and_go_with_their_server() {
        let path = std::env::temp_dir().join(format!("goblin-bell-{}", std::process::id()));
        let server = Bell::make(&path, 0o600).expect("bells");
        let client = Bell::open(&path).expect("the bells");
        for (one, other) in [(&server, &client), (&client, &server)] {
            // More than a FIFO holds: whoever rings never waits.
            (0..100_000).for_each(|_| one.ring());
            other.wait(Duration::from_secs(100));
            other.drain();
            let mut byte = [0];
            while (&other.hears).read(&mut byte).is_ok() {}
            other.wait(Duration::from_millis(1));
        }
        drop(server);
        assert!(Bell::open(&path).is_err());
        client.ring();
    }

    #[test]
    fn a_dead_servers_bells_are_replaced_and_other_files_are_not() {
        let path = std::env::temp_dir().join(format!("goblin-bell-taken-{}", std::process::id()));
        std::mem::forget(Bell::make(&path, 0o600).expect("bells"));
        drop(Bell::make(&path, 0o600).expect("those of a dead server are replaced"));
        let foreign = with_suffix(&path, CLIENTS);
        fs::write(&foreign, "kept").expect("a file");
        assert!(Bell::make(&path, 0o600).is_err());
        assert!(!with_suffix(&path, SERVERS).exists(), "nothing is left of what was begun");
        assert_eq!(fs::read(&foreign).expect("untouched"), b"kept");
        fs::remove_file(&foreign).expect("removed");
    }
}
