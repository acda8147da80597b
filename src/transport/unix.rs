//! Unix sockets: a listener that never takes a live server's path and never leaves its own behind.
//!
//! Who holds `PATH.lock` owns `PATH`. The kernel releases the lock when its holder dies, so that a socket found under
//! a free lock is a leftover, unless something that knows no such lock answers on it.
//!
//! Invariant: the socket's mode is set between bind and listen, so that nobody can connect before it holds.
//! Invariant: only what was created here is ever removed, which the inode tells.

use std::fmt;
use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use nix::sys::stat::Mode;
use socket2::{Domain, SockAddr, Socket, Type};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::{Peer, Stream, watch};

/// A listening Unix socket; dropping it removes the path.
pub struct UnixDoor {
    listener: AsyncFd<Socket>,
    path: Rc<PathBuf>,
    inode: Inode,
    /// Held for as long as the path is ours.
    _lock: Lock,
}

/// Why a path cannot be listened on.
#[derive(Debug)]
pub enum UnixError {
    /// A server holds the lock.
    Owned {
        /// Its process id, when it could be read.
        pid: Option<u32>,
    },
    /// Something answers on the socket without holding the lock.
    Alive,
    /// The path is taken by something that is no socket.
    NotASocket,
    /// The system refused.
    Io(io::Error),
}

/// Device and inode: which file a path meant when it was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Inode(u64, u64);

/// A held lock file; dropping it removes the file.
struct Lock {
    file: File,
    path: PathBuf,
}

impl UnixDoor {
    /// Listens on `path` with the given permission bits. Must run inside a tokio runtime.
    ///
    /// # Errors
    /// See [`UnixError`]; nothing of anybody else's was touched.
    pub fn listen(path: &Path, mode: u32, backlog: u32) -> Result<Self, UnixError> {
        let lock = Lock::acquire(path)?;
        reclaim(path)?;
        let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
        // The file takes its mode from the socket: were it right only after `bind`, a connection attempt that had passed
        // the check in between could succeed as soon as we listen.
        nix::sys::stat::fchmod(&socket, Mode::from_bits_truncate(mode)).map_err(io::Error::from)?;
        socket.bind(&SockAddr::unix(path)?)?;
        let inode = Inode::of(path)?;
        // The umask took bits away that were asked for.
        fs::set_permissions(path, Permissions::from_mode(mode))?;
        socket.listen(i32::try_from(backlog).unwrap_or(i32::MAX))?;
        socket.set_nonblocking(true)?;
        let listener = watch(socket, Interest::READABLE)?;
        Ok(UnixDoor { listener, path: Rc::new(path.to_owned()), inode, _lock: lock })
    }

    /// The path it listens on.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Waits for the next connection.
    ///
    /// # Errors
    /// Out of descriptors and the like; the listener stays usable.
    pub async fn accept(&self) -> io::Result<(Stream, Peer)> {
        let (socket, _) = self.listener.async_io(Interest::READABLE, Socket::accept).await?;
        Ok((Stream::new(socket)?, Peer::Unix { path: Rc::clone(&self.path) }))
    }
}

impl Drop for UnixDoor {
    fn drop(&mut self) {
        if Inode::of(&self.path).is_ok_and(|found| found == self.inode) {
            // The path may be gone already; then there is nothing to remove.
            let _ = fs::remove_file(&*self.path);
        }
    }
}

/// Removes a socket that nobody answers on.
fn reclaim(path: &Path) -> Result<(), UnixError> {
    let found = match fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    if !found.file_type().is_socket() {
        return Err(UnixError::NotASocket);
    }
    match std::os::unix::net::UnixStream::connect(path) {
        Ok(_) => Err(UnixError::Alive),
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Ok(fs::remove_file(path)?),
        Err(error) => Err(error.into()),
    }
}

impl Lock {
    fn acquire(socket: &Path) -> Result<Self, UnixError> {
        let mut name = socket.as_os_str().to_owned();
        name.push(".lock");
        let path = PathBuf::from(name);
        loop {
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(true).truncate(false).mode(0o600);
            let mut file = options.custom_flags(nix::libc::O_NOFOLLOW).open(&path)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Err(UnixError::Owned { pid: read_pid(&mut file) }),
                Err(TryLockError::Error(error)) => return Err(error.into()),
            }
            // The last holder may have removed the file between open and lock: then this lock guards nothing.
            let held = file.metadata()?;
            if Inode::of(&path).is_ok_and(|found| found == Inode(held.dev(), held.ino())) {
                file.set_len(0)?;
                write!(file, "{}", std::process::id())?;
                return Ok(Lock { file, path });
            }
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let Ok(held) = self.file.metadata() else { return };
        if Inode::of(&self.path).is_ok_and(|found| found == Inode(held.dev(), held.ino())) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn read_pid(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.rewind().ok()?;
    file.take(16).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

impl Inode {
    fn of(path: &Path) -> io::Result<Self> {
        let found = fs::symlink_metadata(path)?;
        Ok(Inode(found.dev(), found.ino()))
    }
}

impl From<io::Error> for UnixError {
    fn from(error: io::Error) -> Self {
        UnixError::Io(error)
    }
}

impl fmt::Display for UnixError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UnixError::Owned { pid: Some(pid) } => write!(f, "in use by the server with process id {pid}"),
            UnixError::Owned { pid: None } => write!(f, "in use by another server"),
            UnixError::Alive => write!(f, "in use: something answers there"),
            UnixError::NotASocket => write!(f, "there is something at that path that is not a socket"),
            UnixError::Io(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for UnixError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            UnixError::Io(error) => Some(error),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> PathBuf {
        let path = std::env::temp_dir().join(format!("goblin-unix-{}-{:p}", std::process::id(), &0));
        let path = path.with_extension(format!("{:?}", std::thread::current().id()));
        fs::create_dir_all(&path).expect("a temporary folder");
        path
    }

    fn inside_runtime(test: impl FnOnce()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let _guard = runtime.enter();
        test();
    }

    #[test]
    fn a_live_path_is_refused_with_its_owner_and_a_dropped_one_is_gone() {
        inside_runtime(|| {
            let folder = folder();
            let path = folder.join("live.sock");
            let door = UnixDoor::listen(&path, 0o700, 16).expect("a fresh path");
            assert_eq!(fs::metadata(&path).expect("the socket").permissions().mode() & 0o777, 0o700);
            let Err(UnixError::Owned { pid }) = UnixDoor::listen(&path, 0o700, 16) else { panic!("taken twice") };
            assert_eq!(pid, Some(std::process::id()));
            drop(door);
            assert_eq!(fs::read_dir(&folder).expect("the folder").count(), 0);
        });
    }

    #[test]
    fn a_stale_socket_is_reclaimed_and_a_foreign_one_is_not() {
        inside_runtime(|| {
            let folder = folder();
            let path = folder.join("stale.sock");
            drop(std::os::unix::net::UnixListener::bind(&path).expect("a socket left behind"));
            drop(UnixDoor::listen(&path, 0o700, 16).expect("reclaimed"));
            let foreign = std::os::unix::net::UnixListener::bind(&path).expect("another program's socket");
            assert!(matches!(UnixDoor::listen(&path, 0o700, 16), Err(UnixError::Alive)));
            drop(foreign);
            fs::remove_file(&path).expect("still there");
            fs::write(&path, "kept").expect("a plain file");
            assert!(matches!(UnixDoor::listen(&path, 0o700, 16), Err(UnixError::NotASocket)));
            assert_eq!(fs::read(&path).expect("untouched"), b"kept");
        });
    }

    #[test]
    fn a_path_taken_over_by_somebody_else_is_left_alone() {
        inside_runtime(|| {
            let folder = folder();
            let path = folder.join("moved.sock");
            let door = UnixDoor::listen(&path, 0o700, 16).expect("a fresh path");
            fs::remove_file(&path).expect("an operator removes it");
            fs::write(&path, "another").expect("and something else appears");
            drop(door);
            assert_eq!(fs::read(&path).expect("untouched"), b"another");
        });
    }
}
