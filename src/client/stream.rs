//! The socket under a connection: opened within a time, switched between blocking and polling only when needed.
//!
//! Invariant: `nonblocking`, `read_timeout` and `write_timeout` mirror the socket, so that a client that always waits
//! the same way pays no system call for saying so.

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

#[cfg(target_os = "linux")]
use std::os::fd::OwnedFd;
#[cfg(unix)]
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
#[cfg(unix)]
use std::os::unix::net::UnixStream;

use super::Address;
#[cfg(target_os = "linux")]
use super::ring::RingStream;
#[cfg(target_os = "linux")]
use crate::transport::passing::receive_with;

/// How long an operation may wait.
#[derive(Debug, Clone, Copy)]
pub(super) enum Wait {
    /// As long as it takes.
    Forever,
    /// Not after this.
    Until(Instant),
    /// Not at all.
    Never,
}

impl Wait {
    pub(super) fn within(timeout: Option<Duration>) -> Self {
        // A timeout past the end of the clock is none.
        timeout.and_then(|timeout| Instant::now().checked_add(timeout)).map_or(Wait::Forever, Wait::Until)
    }
}

#[derive(Debug)]
pub(super) struct Stream {
    socket: Socket,
    nonblocking: bool,
    read_timeout: Option<Duration>,
    write_timeout: Option<Duration>,
    /// A descriptor is to come beside what is read, and the one that came.
    #[cfg(target_os = "linux")]
    passed: Option<Option<OwnedFd>>,
}

#[derive(Debug)]
enum Socket {
    Tcp(TcpStream),
    #[cfg(unix)]
    Unix(UnixStream),
    #[cfg(target_os = "linux")]
    Ring(Box<RingStream>),
}

impl Stream {
    pub(super) fn connect(address: &Address, timeout: Option<Duration>) -> io::Result<Self> {
        let socket = match address {
            Address::Tcp { host, port } => Socket::Tcp(connect_tcp(host, *port, timeout)?),
            #[cfg(unix)]
            Address::Unix(path) => {
                let socket = socket2::Socket::new(socket2::Domain::UNIX, socket2::Type::STREAM, None)?;
                let address = socket2::SockAddr::unix(path)?;
                match timeout {
                    Some(timeout) => socket.connect_timeout(&address, timeout)?,
                    None => socket.connect(&address)?,
                }
                Socket::Unix(socket.into())
            }
            #[cfg(not(unix))]
            Address::Unix(_) => return Err(io::ErrorKind::Unsupported.into()),
            #[cfg(target_os = "linux")]
            Address::Ring(path) => Socket::Ring(Box::new(RingStream::connect(path, timeout)?)),
            #[cfg(not(target_os = "linux"))]
            Address::Ring(_) => return Err(io::ErrorKind::Unsupported.into()),
            // It is asked for over a connection.
            Address::RingOver(_) => return Err(io::ErrorKind::Unsupported.into()),
        };
        Ok(Stream::of(socket))
    }

    fn of(socket: Socket) -> Self {
        Stream {
            socket,
            nonblocking: false,
            read_timeout: None,
            write_timeout: None,
            #[cfg(target_os = "linux")]
            passed: None,
        }
    }

    /// What is read next brings a descriptor along.
    #[cfg(target_os = "linux")]
    pub(super) fn expect_descriptor(&mut self) {
        self.passed = Some(None);
    }

    /// The ring whose memory came beside what was read; this is its bell from now on.
    #[cfg(target_os = "linux")]
    pub(super) fn into_ring(self) -> io::Result<Self> {
        match (self.socket, self.passed.flatten()) {
            (Socket::Unix(socket), Some(memory)) => {
                Ok(Stream::of(Socket::Ring(Box::new(RingStream::over(socket.into(), memory)?))))
            }
            _ => Err(io::Error::new(io::ErrorKind::InvalidData, "no ring came with the answer")),
        }
    }

    /// Reads what is there, or waits for it. None when nothing came in time; 0 at the end of the stream.
    pub(super) fn read(&mut self, buf: &mut [u8], wait: Wait) -> io::Result<Option<usize>> {
        #[cfg(target_os = "linux")]
        if let Socket::Ring(ring) = &mut self.socket {
            return ring.read(buf, wait);
        }
        let Some(timeout) = self.prepare(wait)? else { return Ok(None) };
        if !self.nonblocking && self.read_timeout != timeout {
            self.socket.set_read_timeout(timeout)?;
            self.read_timeout = timeout;
        }
        #[cfg(target_os = "linux")]
        if let (Some(passed), Socket::Unix(socket)) = (&mut self.passed, &self.socket) {
            return in_time(|| {
                let (count, descriptor) = receive_with(socket, buf)?;
                *passed = descriptor.or(passed.take());
                Ok(count)
            });
        }
        in_time(|| self.socket.read(buf))
    }

    /// Writes some of `bytes`. None when there was no room in time.
    pub(super) fn write(&mut self, bytes: &[u8], wait: Wait) -> io::Result<Option<usize>> {
        #[cfg(target_os = "linux")]
        if let Socket::Ring(ring) = &mut self.socket {
            return ring.write(bytes, wait);
        }
        // Between two polls there is nearly always room: do not leave the mode for it.
        if self.nonblocking
            && let Some(count) = in_time(|| self.socket.write(bytes))?
        {
            return Ok(Some(count));
        }
        let Some(timeout) = self.prepare(wait)? else { return Ok(None) };
        if !self.nonblocking && self.write_timeout != timeout {
            self.socket.set_write_timeout(timeout)?;
            self.write_timeout = timeout;
        }
        in_time(|| self.socket.write(bytes))
    }

    /// Sets the mode; gives the timeout to wait with, or none when the time is over.
    fn prepare(&mut self, wait: Wait) -> io::Result<Option<Option<Duration>>> {
        let nonblocking = matches!(wait, Wait::Never);
        if self.nonblocking != nonblocking {
            self.socket.set_nonblocking(nonblocking)?;
            self.nonblocking = nonblocking;
        }
        Ok(match wait {
            Wait::Forever | Wait::Never => Some(None),
            Wait::Until(deadline) => match deadline.saturating_duration_since(Instant::now()) {
                Duration::ZERO => None,
                // Rounded up: a socket takes microseconds, and reads zero as forever.
                left => Some(Some(left.max(Duration::from_micros(1)))),
            },
        })
    }

    /// True when the other side has ended the stream and nothing it said before is left to be read. Never waits.
    pub(super) fn is_ended(&mut self) -> io::Result<bool> {
        #[cfg(target_os = "linux")]
        if let Socket::Ring(ring) = &mut self.socket {
            return ring.is_ended();
        }
        self.prepare(Wait::Never)?;
        let mut byte = [std::mem::MaybeUninit::uninit()];
        let peeked = in_time(|| match &self.socket {
            Socket::Tcp(stream) => socket2::SockRef::from(stream).peek(&mut byte),
            #[cfg(unix)]
            Socket::Unix(stream) => socket2::SockRef::from(stream).peek(&mut byte),
            #[cfg(target_os = "linux")]
            Socket::Ring(_) => Err(io::ErrorKind::Unsupported.into()),
        });
        Ok(peeked? == Some(0))
    }

    /// None for a ring.
    #[cfg(unix)]
    pub(super) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        match &self.socket {
            Socket::Tcp(stream) => Some(stream.as_fd()),
            Socket::Unix(stream) => Some(stream.as_fd()),
            #[cfg(target_os = "linux")]
            Socket::Ring(_) => None,
        }
    }

    #[cfg(unix)]
    pub(super) fn as_raw_fd(&self) -> RawFd {
        match &self.socket {
            Socket::Tcp(stream) => stream.as_raw_fd(),
            Socket::Unix(stream) => stream.as_raw_fd(),
            // Nothing tells when a ring has something; who polls leaves out negative descriptors.
            #[cfg(target_os = "linux")]
            Socket::Ring(_) => -1,
        }
    }
}

fn connect_tcp(host: &str, port: u16, timeout: Option<Duration>) -> io::Result<TcpStream> {
    let wait = Wait::within(timeout);
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    // An address needs neither a lookup nor a thread for it.
    let addresses = match host.parse::<IpAddr>() {
        Ok(address) => vec![SocketAddr::from((address, port))],
        Err(_) => {
            let host = host.to_owned();
            look_up(wait, move || Ok((host.as_str(), port).to_socket_addrs()?.collect()))?
        }
    };
    for address in addresses {
        let attempt = match wait {
            Wait::Until(deadline) => match deadline.saturating_duration_since(Instant::now()) {
                Duration::ZERO => Err(io::ErrorKind::TimedOut.into()),
                left => TcpStream::connect_timeout(&address, left),
            },
            Wait::Forever | Wait::Never => TcpStream::connect(address),
        };
        match attempt {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Looks a name up. The system's own lookup has no timeout: one that takes too long is left behind on its thread, and
/// ends when the system gives up.
fn look_up(
    wait: Wait,
    resolve: impl FnOnce() -> io::Result<Vec<SocketAddr>> + Send + 'static,
) -> io::Result<Vec<SocketAddr>> {
    let Wait::Until(deadline) = wait else { return resolve() };
    let (sender, receiver) = mpsc::sync_channel(1);
    // Whoever has given up does not receive.
    thread::Builder::new().name("lookup".into()).spawn(move || drop(sender.send(resolve())))?;
    receiver
        .recv_timeout(deadline.saturating_duration_since(Instant::now()))
        .unwrap_or_else(|_| Err(io::Error::new(io::ErrorKind::TimedOut, "the name was not looked up in time")))
}

fn in_time(mut operation: impl FnMut() -> io::Result<usize>) -> io::Result<Option<usize>> {
    loop {
        match operation() {
            Ok(count) => return Ok(Some(count)),
            Err(error) => match error.kind() {
                io::ErrorKind::Interrupted => {}
                io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => return Ok(None),
                _ => return Err(error),
            },
        }
    }
}

impl Socket {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(stream) => stream.read(buf),
            #[cfg(unix)]
            Socket::Unix(stream) => stream.read(buf),
            #[cfg(target_os = "linux")]
            Socket::Ring(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(stream) => stream.write(bytes),
            #[cfg(unix)]
            Socket::Unix(stream) => stream.write(bytes),
            #[cfg(target_os = "linux")]
            Socket::Ring(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        match self {
            Socket::Tcp(stream) => stream.set_nonblocking(nonblocking),
            #[cfg(unix)]
            Socket::Unix(stream) => stream.set_nonblocking(nonblocking),
            #[cfg(target_os = "linux")]
            Socket::Ring(_) => Ok(()),
        }
    }

    fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        match self {
            Socket::Tcp(stream) => stream.set_read_timeout(timeout),
            #[cfg(unix)]
            Socket::Unix(stream) => stream.set_read_timeout(timeout),
            #[cfg(target_os = "linux")]
            Socket::Ring(_) => Ok(()),
        }
    }

    fn set_write_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        match self {
            Socket::Tcp(stream) => stream.set_write_timeout(timeout),
            #[cfg(unix)]
            Socket::Unix(stream) => stream.set_write_timeout(timeout),
            #[cfg(target_os = "linux")]
            Socket::Ring(_) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lookup_ends_within_its_time() {
        let (release, held) = mpsc::channel::<()>();
        let never = move || {
            let _ = held.recv();
            Ok(Vec::new())
        };
        let late = look_up(Wait::within(Some(Duration::from_millis(5))), never).unwrap_err();
        assert_eq!(late.kind(), io::ErrorKind::TimedOut);
        drop(release);
        let address = SocketAddr::from(([127, 0, 0, 1], 7));
        for timeout in [None, Some(Duration::from_secs(60))] {
            assert_eq!(look_up(Wait::within(timeout), move || Ok(vec![address])).unwrap(), [address]);
        }
    }
}
