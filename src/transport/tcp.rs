//! TCP: the listener and what is set on each connection.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use socket2::{Domain, Protocol, SockRef, Socket, TcpKeepalive, Type};
use tokio::net::TcpListener;

use super::{Peer, Reader, Writer};

/// A listening TCP socket.
pub struct TcpDoor {
    listener: TcpListener,
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
        Ok(TcpDoor { listener: TcpListener::from_std(socket.into())? })
    }

    /// Where it listens; tells the port when 0 was asked for.
    ///
    /// # Errors
    /// When the system has lost the socket.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Waits for the next connection. `keepalive` is the idle time before probes, none for no probes.
    ///
    /// # Errors
    /// Out of descriptors and the like; the listener stays usable.
    pub async fn accept(&self, keepalive: Option<Duration>) -> io::Result<(Reader, Writer, Peer)> {
        let (stream, remote) = self.listener.accept().await?;
        let local = stream.local_addr()?;
        stream.set_nodelay(true)?;
        if let Some(idle) = keepalive {
            // A third of the idle time between probes and three of them: a dead peer is known after twice the time.
            let probes = TcpKeepalive::new().with_time(idle).with_interval((idle / 3).max(Duration::from_secs(1)));
            SockRef::from(&stream).set_tcp_keepalive(&probes.with_retries(3))?;
        }
        let (reader, writer) = stream.into_split();
        Ok((Reader::Tcp(reader), Writer::Tcp(writer), Peer::Tcp { remote, local }))
    }
}
