//! What wakes the other side of a ring when it sleeps: one byte through a pair of FIFOs beside the ring's file, or
//! through the Unix socket over which a ring on demand was asked for.
//!
//! `PATH.bell` rings the server, `PATH.wake` the client. Both are opened for reading and writing, so that neither an
//! absent reader nor one that has died is an error or a signal; a full FIFO or socket has bytes enough to wake anybody.
//!
//! Invariant: nothing here blocks, but [`Bell::wait`] for as long as it was told.
//! Invariant: a server removes the FIFOs it made, and no other file that has come in their place.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{MsgFlags, recv};
use nix::sys::stat::Mode;
use socket2::Socket;

/// One side's bells: what it rings and what it hears.
#[derive(Debug)]
pub struct Bell(Way);

#[derive(Debug)]
enum Way {
    Fifos {
        rings: File,
        hears: File,
        /// The ring's path, if it made both.
        made_at: Option<PathBuf>,
    },
    Socket(Socket),
}

/// Behind the ring's path.
const SERVERS: &str = ".bell";
const CLIENTS: &str = ".wake";

impl Way {
    fn hears(&self) -> BorrowedFd<'_> {
        match self {
            Way::Fifos { hears, .. } => hears.as_fd(),
            Way::Socket(socket) => socket.as_fd(),
        }
    }
}

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
        Ok(Bell(Way::Fifos { rings, hears, made_at: Some(path.to_owned()) }))
    }

    /// Opens the bells of the ring at `path`, as its client.
    ///
    /// # Errors
    /// There are none for us.
    pub fn open(path: &Path) -> io::Result<Self> {
        let [rings, hears] = [SERVERS, CLIENTS].map(|suffix| open(&with_suffix(path, suffix)));
        Ok(Bell(Way::Fifos { rings: rings?, hears: hears?, made_at: None }))
    }

    /// Both bells are this connected socket, over which nothing else passes from now on.
    pub fn over(socket: Socket) -> Self {
        Bell(Way::Socket(socket))
    }

    /// Wakes the other side. A system call; what fails is made good by the other side's next look.
    pub fn ring(&self) {
        let _ = match &self.0 {
            Way::Fifos { rings, .. } => (&*rings).write(b"!"),
            Way::Socket(socket) => socket.send_with_flags(b"!", WITHOUT_WAITING),
        };
    }

    /// Forgets how often it was rung; false when the other side of a socket is gone. A system call.
    pub fn drain(&self) -> bool {
        let mut bytes = [0; 64];
        loop {
            let read = match &self.0 {
                Way::Fifos { hears, .. } => (&*hears).read(&mut bytes),
                Way::Socket(socket) => recv(socket.as_raw_fd(), &mut bytes, MsgFlags::MSG_DONTWAIT).map_err(Into::into),
            };
            match read {
                Ok(0) => return false,
                Ok(count) if count == bytes.len() => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Ok(_) => return true,
                Err(error) => return error.kind() == ErrorKind::WouldBlock,
            }
        }
    }

    /// Whether the other side of a socket is gone; FIFOs cannot tell. A system call.
    pub fn is_gone(&self) -> bool {
        let Way::Socket(socket) = &self.0 else { return false };
        match recv(socket.as_raw_fd(), &mut [0], MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_PEEK) {
            Ok(count) => count == 0,
            Err(errno) => !matches!(errno, Errno::EAGAIN | Errno::EINTR),
        }
    }

    /// Waits until it is rung, and no longer than `timeout`, in whole milliseconds.
    pub fn wait(&self, timeout: Duration) {
        let timeout = PollTimeout::try_from(timeout.max(Duration::from_millis(1))).unwrap_or(PollTimeout::MAX);
        // Whoever waits looks afterwards, whatever ended the wait.
        let _ = poll(&mut [PollFd::new(self.0.hears(), PollFlags::POLLIN)], timeout);
    }
}

/// Neither waiting for room nor a signal where nobody is left.
const WITHOUT_WAITING: i32 = MsgFlags::MSG_DONTWAIT.union(MsgFlags::MSG_NOSIGNAL).bits();

/// The descriptor that is readable once it was rung.
impl AsRawFd for Bell {
    fn as_raw_fd(&self) -> RawFd {
        self.0.hears().as_raw_fd()
    }
}

impl Drop for Bell {
    fn drop(&mut self) {
        let Way::Fifos { rings, hears, made_at: Some(path) } = &self.0 else { return };
        for (suffix, file) in [(SERVERS, hears), (CLIENTS, rings)] {
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

    fn is_rung(bell: &Bell) -> bool {
        poll(&mut [PollFd::new(bell.0.hears(), PollFlags::POLLIN)], PollTimeout::ZERO).expect("a descriptor") == 1
    }

    #[test]
    fn a_socket_rings_both_ways_and_tells_of_the_end() {
        let (one, other) = Socket::pair(socket2::Domain::UNIX, socket2::Type::STREAM, None).expect("a pair");
        let (one, other) = (Bell::over(one), Bell::over(other));
        for (one, other) in [(&one, &other), (&other, &one)] {
            assert!(!is_rung(other) && !other.is_gone());
            // More than a socket holds.
            (0..100_000).for_each(|_| one.ring());
            assert!(is_rung(other) && !other.is_gone() && other.drain() && !is_rung(other));
        }
        other.ring();
        drop(other);
        assert!(!one.drain() || one.is_gone());
        one.ring();
    }

    #[test]
    fn bells_wake_the_other_side_and_go_with_their_server() {
        let path = std::env::temp_dir().join(format!("goblin-bell-{}", std::process::id()));
        let server = Bell::make(&path, 0o600).expect("bells");
        let client = Bell::open(&path).expect("the bells");
        for (one, other) in [(&server, &client), (&client, &server)] {
            // More than a FIFO holds: whoever rings never waits.
            (0..100_000).for_each(|_| one.ring());
            other.wait(Duration::from_secs(100));
            assert!(is_rung(other) && other.drain() && !is_rung(other));
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
