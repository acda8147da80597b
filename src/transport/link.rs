//! A session's way to its peer, and who that is.

use std::io::{self, IoSlice, Read, Write};
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::path::PathBuf;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use socket2::Socket;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::passing::send_with;
#[cfg(target_os = "linux")]
use super::ring::RingLink;

/// A connected, non-blocking socket.
///
/// The event loop watches it for input only: a Unix socket becomes writable each time its peer reads, and nobody wants
/// to know unless the last write found it full. For fan-out that halves the events there are.
pub struct Stream {
    /// Away only when the event loop refused it; then it is of no use any more.
    io: Option<AsyncFd<Socket>>,
    watches_output: bool,
    /// To be passed to the peer beside the next bytes.
    passes: Option<Box<OwnedFd>>,
}

/// How a session reaches its peer.
pub enum Link {
    /// Over a socket.
    Socket(Stream),
    /// Over a ring, which its poller reads and writes: nothing here wakes a task.
    #[cfg(target_os = "linux")]
    Ring(RingLink),
}

impl Link {
    /// As [`Stream::poll_read`]; what comes over a ring is not read here.
    pub fn poll_read(&self, context: &mut Context<'_>, buf: &mut [u8]) -> Poll<io::Result<usize>> {
        match self {
            Link::Socket(stream) => stream.poll_read(context, buf),
            #[cfg(target_os = "linux")]
            Link::Ring(_) => Poll::Pending,
        }
    }

    /// As [`Stream::try_read`]; what comes over a ring is not read here.
    ///
    /// # Errors
    /// As there.
    pub fn try_read(&self, buf: &mut [u8]) -> io::Result<usize> {
        match self {
            Link::Socket(stream) => stream.try_read(buf),
            #[cfg(target_os = "linux")]
            Link::Ring(_) => Err(io::ErrorKind::WouldBlock.into()),
        }
    }

    /// Writes without blocking.
    ///
    /// # Errors
    /// `WouldBlock` when the peer takes nothing now; anything else ends the connection.
    pub fn try_write(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Link::Socket(stream) => stream.try_write(slices),
            #[cfg(target_os = "linux")]
            Link::Ring(link) => link.try_write(slices),
        }
    }

    /// Writes all of `bytes` or nothing, where that costs no system call; false when nothing was written.
    pub fn write_whole(&self, bytes: &[u8]) -> bool {
        match self {
            Link::Socket(_) => false,
            #[cfg(target_os = "linux")]
            Link::Ring(link) => link.write_whole(bytes),
        }
    }

    /// As [`Stream::poll_writable`]; a ring's poller looks by itself.
    pub fn poll_writable(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Link::Socket(stream) => stream.poll_writable(context),
            #[cfg(target_os = "linux")]
            Link::Ring(_) => Poll::Pending,
        }
    }

    /// As [`Stream::output_done`].
    ///
    /// # Errors
    /// As there.
    pub fn output_done(&mut self) -> io::Result<()> {
        match self {
            Link::Socket(stream) => stream.output_done(),
            #[cfg(target_os = "linux")]
            Link::Ring(_) => Ok(()),
        }
    }

    /// The same socket once more, for wake-ups; none where there is no socket.
    ///
    /// # Errors
    /// There are no more descriptors.
    pub fn socket(&self) -> io::Result<Option<Socket>> {
        match self {
            Link::Socket(stream) => stream.io()?.get_ref().try_clone().map(Some),
            #[cfg(target_os = "linux")]
            Link::Ring(_) => Ok(None),
        }
    }

    /// Has the next bytes bring a descriptor along, over a Unix socket.
    pub fn pass(&mut self, descriptor: OwnedFd) {
        if let Link::Socket(stream) = self {
            stream.passes = Some(Box::new(descriptor));
        }
    }

    /// The descriptor, for CLIENT LIST; -1 where there is none.
    pub fn fd(&self) -> RawFd {
        match self {
            Link::Socket(stream) => stream.fd(),
            #[cfg(target_os = "linux")]
            Link::Ring(_) => -1,
        }
    }
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
    /// Over a ring.
    Ring {
        /// The ring's file.
        path: Rc<PathBuf>,
    },
}

impl Stream {
    /// Takes over a connected socket. Must run inside a tokio runtime.
    pub(super) fn new(socket: Socket) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        let io = watch(socket, Interest::READABLE)?;
        Ok(Stream { io: Some(io), watches_output: false, passes: None })
    }

    /// Reads what is there into `buf`; 0 bytes is the end of the stream. Registers the task when nothing is there.
    ///
    /// A read that does not fill `buf` need not be the last: the kernel ends one at urgent data and at a passed
    /// descriptor, and would not tell again of what lies behind.
    pub fn poll_read(&self, context: &mut Context<'_>, buf: &mut [u8]) -> Poll<io::Result<usize>> {
        let io = self.io()?;
        loop {
            let mut ready = ready!(io.poll_read_ready(context))?;
            if let Ok(read) = ready.try_io(|io| io.get_ref().read(buf)) {
                return Poll::Ready(read);
            }
        }
    }

    /// Reads what is there without asking the event loop, which may tell of it later nevertheless.
    ///
    /// # Errors
    /// `WouldBlock` when there is nothing; anything else ends the connection.
    pub fn try_read(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.io()?.get_ref().read(buf)
    }

    /// Writes without blocking.
    ///
    /// # Errors
    /// `WouldBlock` when the peer takes nothing now; anything else ends the connection.
    pub fn try_write(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        if let Some(descriptor) = &self.passes {
            let written = send_with(self.io()?.get_ref(), slices, descriptor.as_fd())?;
            self.passes = None;
            return Ok(written);
        }
        let mut socket = self.io()?.get_ref();
        match slices {
            [only] => socket.write(only),
            slices => socket.write_vectored(slices),
        }
    }

    /// Registers the task to be woken once the peer takes more, after a write that would have blocked.
    pub fn poll_writable(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.watches_output {
            self.watch_for(Interest::READABLE | Interest::WRITABLE)?;
            self.watches_output = true;
        }
        let mut ready = ready!(self.io()?.poll_write_ready(context))?;
        // Whoever writes next finds out how much there is room for; until then this is old news.
        ready.clear_ready();
        Poll::Ready(Ok(()))
    }

    /// Everything is written: the event loop need not look at output any more.
    ///
    /// # Errors
    /// The event loop refuses the socket, which ends the connection.
    pub fn output_done(&mut self) -> io::Result<()> {
        if self.watches_output {
            self.watch_for(Interest::READABLE)?;
            self.watches_output = false;
        }
        Ok(())
    }

    /// The descriptor, for CLIENT LIST; -1 once there is none.
    pub fn fd(&self) -> RawFd {
        self.io.as_ref().map_or(-1, AsyncFd::as_raw_fd)
    }

    fn io(&self) -> io::Result<&AsyncFd<Socket>> {
        self.io.as_ref().ok_or_else(|| io::ErrorKind::NotConnected.into())
    }

    fn watch_for(&mut self, interest: Interest) -> io::Result<()> {
        let io = self.io.take().ok_or(io::ErrorKind::NotConnected)?;
        self.io = Some(watch(io.into_inner(), interest)?);
        Ok(())
    }
}

/// Has the event loop of the current runtime watch a socket.
#[expect(
    deprecated,
    reason = "the successor asks the caller to promise that the descriptor never changes, which a Socket cannot do anyway"
)]
pub(super) fn watch(socket: Socket, interest: Interest) -> io::Result<AsyncFd<Socket>> {
    AsyncFd::with_interest(socket, interest)
}

impl Peer {
    /// `host:port` of the other end, the socket's path with `:0`, or `ring:` and the ring's path.
    pub fn addr(&self) -> String {
        match self {
            Peer::Tcp { remote, .. } => remote.to_string(),
            Peer::Unix { path } => format!("{}:0", path.display()),
            Peer::Ring { path } => format!("ring:{}", path.display()),
        }
    }

    /// As MONITOR tells it: `host:port`, or `unix:` or `ring:` and the path.
    pub fn origin(&self) -> String {
        match self {
            Peer::Tcp { remote, .. } => remote.to_string(),
            Peer::Unix { path } => format!("unix:{}", path.display()),
            Peer::Ring { path } => format!("ring:{}", path.display()),
        }
    }

    /// The same for this end.
    pub fn laddr(&self) -> String {
        match self {
            Peer::Tcp { local, .. } => local.to_string(),
            Peer::Unix { path } => format!("{}:0", path.display()),
            Peer::Ring { path } => format!("ring:{}", path.display()),
        }
    }

    /// True for Unix sockets.
    pub fn is_unix(&self) -> bool {
        matches!(self, Peer::Unix { .. })
    }

    /// True for rings.
    pub fn is_ring(&self) -> bool {
        matches!(self, Peer::Ring { .. })
    }

    /// True when the other end is on this machine.
    pub fn is_local(&self) -> bool {
        match self {
            Peer::Tcp { remote, .. } => remote.ip().to_canonical().is_loopback(),
            Peer::Unix { .. } | Peer::Ring { .. } => true,
        }
    }
}
