//! Moves bytes between a peer and a session; knows nothing of commands or protocols.

mod tcp;
mod unix;

use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, RawFd};
use std::path::PathBuf;
use std::rc::Rc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};
use tokio::net::{tcp as tokio_tcp, unix as tokio_unix};

pub use tcp::TcpDoor;
pub use unix::{UnixDoor, UnixError};

/// The reading half of a connection, owned by the task that serves it.
pub enum Reader {
    /// TCP.
    Tcp(tokio_tcp::OwnedReadHalf),
    /// A Unix stream socket.
    Unix(tokio_unix::OwnedReadHalf),
}

/// The writing half, owned by the session so that any turn can send to it.
pub enum Writer {
    /// TCP.
    Tcp(tokio_tcp::OwnedWriteHalf),
    /// A Unix stream socket.
    Unix(tokio_unix::OwnedWriteHalf),
}

/// Who is at the other end.
#[derive(Debug, Clone)]
pub enum Peer {
    /// Over TCP.
    Tcp {
        /// Address of the other end.
        remote: SocketAddr,
        /// Address of this end.
        local: SocketAddr,
    },
    /// Over a Unix socket.
    Unix {
        /// The path the peer connected to.
        path: Rc<PathBuf>,
    },
}

impl Reader {
    /// Reads what is there into `buf`; 0 bytes is the end of the stream.
    ///
    /// A read that does not fill `buf` clears readiness, so that the next call does not try the system call in vain.
    pub fn poll_read(&mut self, context: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<usize>> {
        let before = buf.filled().len();
        let poll = match self {
            Reader::Tcp(half) => std::pin::Pin::new(half).poll_read(context, buf),
            Reader::Unix(half) => std::pin::Pin::new(half).poll_read(context, buf),
        };
        poll.map_ok(|()| buf.filled().len() - before)
    }
}

impl Writer {
    /// Writes without blocking.
    ///
    /// # Errors
    /// `WouldBlock` when the peer takes nothing now; anything else ends the connection.
    pub fn try_write(&self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        match (self, slices) {
            (Writer::Tcp(half), [only]) => half.try_write(only),
            (Writer::Unix(half), [only]) => half.try_write(only),
            (Writer::Tcp(half), slices) => half.try_write_vectored(slices),
            (Writer::Unix(half), slices) => half.try_write_vectored(slices),
        }
    }

    /// Registers the task to be woken once the peer takes more.
    pub fn poll_writable(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Writer::Tcp(half) => half.as_ref().poll_write_ready(context),
            Writer::Unix(half) => half.as_ref().poll_write_ready(context),
        }
    }

    /// The descriptor, for CLIENT LIST.
    pub fn fd(&self) -> RawFd {
        match self {
            Writer::Tcp(half) => half.as_ref().as_raw_fd(),
            Writer::Unix(half) => half.as_ref().as_raw_fd(),
        }
    }
}

impl Peer {
    /// `host:port` of the other end, or the socket's path with `:0`.
    pub fn addr(&self) -> String {
        match self {
            Peer::Tcp { remote, .. } => remote.to_string(),
            Peer::Unix { path } => format!("{}:0", path.display()),
        }
    }

    /// The same for this end.
    pub fn laddr(&self) -> String {
        match self {
            Peer::Tcp { local, .. } => local.to_string(),
            Peer::Unix { path } => format!("{}:0", path.display()),
        }
    }

    /// True for Unix sockets.
    pub fn is_unix(&self) -> bool {
        matches!(self, Peer::Unix { .. })
    }

    /// True when the other end is on this machine.
    pub fn is_local(&self) -> bool {
        match self {
            Peer::Tcp { remote, .. } => remote.ip().to_canonical().is_loopback(),
            Peer::Unix { .. } => true,
        }
    }
}
