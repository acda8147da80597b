//! TCP: the listener and what is set on each connection.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use socket2::{Domain, Protocol, SockAddr, Socket, TcpKeepalive, Type};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::{Peer, Stream, watch};

/// A listening TCP socket.
pub struct TcpDoor {
    listener: AsyncFd<Socket>,
}

impl TcpDoor {
    /// Binds and listens. Must run inside a tokio runtime.
    ///
    /// # Errors
    /// Whatever the system says: the address is in use, not ours, or not permitted.
    pub fn listen(address: SocketAddr, backlog: u32) -> io::Result<Self> {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
        // A restart must not wait for connections of the last run to leave TIME_WAIT.
        socket.set_reuse_address(true)?;
        if address.is_ipv6() {
            socket.set_only_v6(true)?;
        }
        socket.bind(&address.into())?;
        socket.listen(i32::try_from(backlog).unwrap_or(i32::MAX))?;
        socket.set_nonblocking(true)?;
        Ok(TcpDoor { listener: watch(socket, Interest::READABLE)? })
    }

    /// Where it listens; tells the port when 0 was asked for.
    ///
    /// # Errors
    /// When the system has lost the socket.
    pub fn address(&self) -> io::Result<SocketAddr> {
        internet(&self.listener.get_ref().local_addr()?)
    }

    /// Waits for the next connection. `keepalive` is the idle time before probes, none for no probes.
    ///
    /// # Errors
    /// Out of descriptors and the like; the listener stays usable.
    pub async fn accept(&self, keepalive: Option<Duration>) -> io::Result<(Stream, Peer)> {
        let (socket, remote) = self.listener.async_io(Interest::READABLE, Socket::accept).await?;
        let peer = Peer::Tcp { remote: internet(&remote)?, local: internet(&socket.local_addr()?)? };
        socket.set_tcp_nodelay(true)?;
        if let Some(idle) = keepalive {
            // A third of the idle time between probes and three of them: a dead peer is known after twice the time.
            let probes = TcpKeepalive::new().with_time(idle).with_interval((idle / 3).max(Duration::from_secs(1)));
            socket.set_tcp_keepalive(&probes.with_retries(3))?;
        }
        Ok((Stream::new(socket)?, peer))
    }
}

fn internet(address: &SockAddr) -> io::Result<SocketAddr> {
    address.as_socket().ok_or_else(|| io::ErrorKind::InvalidInput.into())
}
