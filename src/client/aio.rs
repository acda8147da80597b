//! The client for programs on tokio: the same codecs and rules as [`super::Connection`], with futures for its waits.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use goblin::client::{Kind, aio::Connection, parse_url};
//!
//! let (address, login) = parse_url("redis://127.0.0.1:6379")?;
//! let mut connection = Connection::open(&address, &login).await?;
//! connection.subscribe(Kind::Channel, &["news"]).await?;
//! let message = connection.next_message().await?;
//! println!("{} bytes", message.payload.len());
//! # Ok(())
//! # }
//! ```
//!
//! Invariant: every future may be dropped at any time: no byte is lost or sent twice. The answer to a request whose
//! future was dropped is dropped when it comes.
//! Deliberately unknown here: time. A wait is bounded with `tokio::time::timeout`.

use std::io;

use tokio::net::TcpStream;
#[cfg(unix)]
use tokio::net::UnixStream;

use super::dialogue::{Awaited, Dialogue, words};
use super::{Address, ClientError, Event, Kind, Login, Message};
use crate::limits;
use crate::protocol::resp::{Value, Version};

/// A connection on tokio.
#[derive(Debug)]
pub struct Connection {
    socket: Socket,
    dialogue: Dialogue,
    /// Ordinary replies that requests in flight wait for.
    owed: usize,
}

#[derive(Debug)]
enum Socket {
    Tcp(TcpStream),
    #[cfg(unix)]
    Unix(UnixStream),
}

impl Connection {
    /// Connects. Nothing is sent: the connection speaks RESP2.
    ///
    /// # Errors
    /// [`ClientError::Connect`].
    pub async fn connect(address: &Address) -> Result<Self, ClientError> {
        let socket = Socket::connect(address).await;
        let socket = socket.map_err(|cause| ClientError::Connect { address: address.to_string(), cause })?;
        Ok(Connection { socket, dialogue: Dialogue::default(), owed: 0 })
    }

    /// Connects and logs in.
    ///
    /// # Errors
    /// [`ClientError::Connect`], and those of [`Connection::log_in`].
    pub async fn open(address: &Address, login: &Login) -> Result<Self, ClientError> {
        let mut connection = Connection::connect(address).await?;
        connection.log_in(login).await?;
        Ok(connection)
    }

    /// Sets up dialect, user, name and database in one round trip; none when there is nothing to set up.
    ///
    /// # Errors
    /// [`ClientError::Login`] with the server's words, or the connection's failure.
    pub async fn log_in(&mut self, login: &Login) -> Result<(), ClientError> {
        self.abandon();
        let mut replies = Vec::new();
        let mut window = self.dialogue.queue_login(login);
        self.owed += window.iter().map(|awaited| awaited.replies()).sum::<usize>();
        self.exchange(&mut window, &mut replies).await?;
        match replies.into_iter().find(Value::is_error) {
            Some(error) => Err(ClientError::Login(words(&error))),
            None => Ok(()),
        }
    }

    /// The dialect last asked for.
    pub fn version(&self) -> Version {
        self.dialogue.version()
    }

    /// Sends one request and waits for its answer; see [`super::Connection::call`]. When the future is dropped, the
    /// request may have been sent, or goes with the next one.
    ///
    /// # Errors
    /// The connection's failure.
    pub async fn call(&mut self, args: &[&[u8]]) -> Result<Value, ClientError> {
        self.abandon();
        let awaited = Awaited::to(args);
        self.queue(args);
        self.owed = awaited.replies();
        self.flush().await?;
        self.answer(awaited).await
    }

    /// Sends many requests and waits for all answers, which come in the same order; at most
    /// [`limits::PIPELINE_WINDOW_BYTES_MAX`] of requests are unanswered at a time.
    ///
    /// # Errors
    /// As [`Connection::call`]; the answers received so far are lost.
    pub async fn pipeline<'a>(
        &mut self,
        requests: impl IntoIterator<Item = &'a [&'a [u8]]>,
    ) -> Result<Vec<Value>, ClientError> {
        self.abandon();
        let mut answers = Vec::new();
        let mut window = Vec::new();
        for args in requests {
            let bytes = args.iter().map(|arg| arg.len() + 16).sum::<usize>();
            if !window.is_empty() && self.dialogue.unsent_len() + bytes > limits::PIPELINE_WINDOW_BYTES_MAX {
                self.exchange(&mut window, &mut answers).await?;
            }
            let awaited = Awaited::to(args);
            self.queue(args);
            self.owed += awaited.replies();
            window.push(awaited);
        }
        self.exchange(&mut window, &mut answers).await?;
        Ok(answers)
    }

    /// Joins channels, patterns or shard channels, and waits until all of it is in force; see
    /// [`super::Connection::subscribe`].
    ///
    /// # Errors
    /// [`ClientError::Refused`], or the connection's failure.
    pub async fn subscribe<A: AsRef<[u8]>>(&mut self, kind: Kind, names: &[A]) -> Result<(), ClientError> {
        for request in kind.join_requests(names) {
            let answer = self.call(&request).await?;
            if answer.is_error() {
                return Err(ClientError::Refused(words(&answer)));
            }
            self.dialogue.take_confirmations();
        }
        Ok(())
    }

    /// Appends one request to what is sent next. Its reply is given by [`Connection::receive`].
    pub fn queue(&mut self, args: &[&[u8]]) {
        self.dialogue.queue(args);
    }

    /// Sends what was queued.
    ///
    /// # Errors
    /// The connection's failure.
    pub async fn flush(&mut self) -> Result<(), ClientError> {
        loop {
            let unsent = self.dialogue.unsent()?;
            if unsent.is_empty() {
                return Ok(());
            }
            match self.socket.write(unsent).await {
                Ok(count) => self.dialogue.mark_sent(count),
                Err(cause) => self.dialogue.cannot_send(cause),
            }
        }
    }

    /// Waits for the next value, be it a push or a reply; those kept earlier come first, pushes before replies.
    ///
    /// # Errors
    /// The connection's failure.
    pub async fn receive(&mut self) -> Result<Value, ClientError> {
        loop {
            if let Some(value) = self.try_receive()? {
                return Ok(value);
            }
            self.fill().await?;
        }
    }

    /// The next value if it was read already; reads nothing.
    ///
    /// # Errors
    /// The connection's failure.
    pub fn try_receive(&mut self) -> Result<Option<Value>, ClientError> {
        match self.dialogue.take_kept() {
            Some(value) => Ok(Some(value)),
            None => self.dialogue.next_value(),
        }
    }

    /// Waits for the next thing that is pushed. Replies that come meanwhile are kept for [`Connection::receive`].
    ///
    /// # Errors
    /// [`ClientError::Refused`] when an error comes instead. Else the connection's failure.
    pub async fn next_event(&mut self) -> Result<Event, ClientError> {
        loop {
            if let Some(push) = self.dialogue.next_push()? {
                return Event::of(push);
            }
            self.fill().await?;
        }
    }

    /// Waits for the next message, and drops all else that is pushed.
    ///
    /// # Errors
    /// As [`Connection::next_event`].
    pub async fn next_message(&mut self) -> Result<Message, ClientError> {
        loop {
            if let Event::Message(message) = self.next_event().await? {
                return Ok(message);
            }
        }
    }

    /// Replies to requests whose futures were dropped are for nobody.
    fn abandon(&mut self) {
        self.dialogue.abandon(std::mem::take(&mut self.owed));
    }

    async fn exchange(&mut self, window: &mut Vec<Awaited>, answers: &mut Vec<Value>) -> Result<(), ClientError> {
        self.flush().await?;
        for awaited in window.drain(..) {
            answers.push(self.answer(awaited).await?);
        }
        Ok(())
    }

    async fn answer(&mut self, mut awaited: Awaited) -> Result<Value, ClientError> {
        loop {
            if let Some(answer) = self.dialogue.answer(&mut awaited)? {
                self.owed = self.owed.saturating_sub(awaited.replies());
                return Ok(answer);
            }
            self.fill().await?;
        }
    }

    /// Reads once.
    async fn fill(&mut self) -> Result<(), ClientError> {
        match self.socket.read(self.dialogue.room()).await {
            Ok(0) => Err(self.dialogue.end(None)),
            Ok(count) => {
                self.dialogue.mark_received(count);
                Ok(())
            }
            Err(cause) => Err(self.dialogue.end(Some(cause))),
        }
    }
}

impl Socket {
    async fn connect(address: &Address) -> io::Result<Self> {
        match address {
            Address::Tcp { host, port } => {
                let stream = TcpStream::connect((host.as_str(), *port)).await?;
                stream.set_nodelay(true)?;
                Ok(Socket::Tcp(stream))
            }
            #[cfg(unix)]
            Address::Unix(path) => UnixStream::connect(path).await.map(Socket::Unix),
            #[cfg(not(unix))]
            Address::Unix(_) => Err(io::ErrorKind::Unsupported.into()),
            // Nothing wakes a task for a ring; a blocking connection is what it is for.
            Address::Ring(_) | Address::RingOver(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    async fn read(&self, buf: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = match self {
                Socket::Tcp(stream) => {
                    stream.readable().await?;
                    stream.try_read(buf)
                }
                #[cfg(unix)]
                Socket::Unix(stream) => {
                    stream.readable().await?;
                    stream.try_read(buf)
                }
            };
            if !read.as_ref().is_err_and(is_premature) {
                return read;
            }
        }
    }

    async fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            let written = match self {
                Socket::Tcp(stream) => {
                    stream.writable().await?;
                    stream.try_write(bytes)
                }
                #[cfg(unix)]
                Socket::Unix(stream) => {
                    stream.writable().await?;
                    stream.try_write(bytes)
                }
            };
            if !written.as_ref().is_err_and(is_premature) {
                return written;
            }
        }
    }
}

fn is_premature(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}
