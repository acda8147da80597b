//! One connection to a server: requests out, values in, blocking or polled.
//!
//! Deliberately unknown here: what is done when the connection is lost; a [`super::Session`] does that.

use std::collections::VecDeque;
use std::io;
#[cfg(target_os = "linux")]
use std::path::Path;
use std::time::{Duration, Instant};

use super::dialogue::{Awaited, Dialogue, words};
use super::stream::{Stream, Wait};
use super::{Address, ClientError, Event, Kind, Login, Message, Wire};
use crate::limits;
use crate::protocol::resp::{Value, Version};

/// A blocking connection that can also be polled.
///
/// In RESP2, arrays that look like pub/sub frames are given as [`Value::Push`] once a subscription was asked for, until
/// RESET.
#[derive(Debug)]
pub struct Connection {
    stream: Stream,
    dialogue: Dialogue,
    timeout: Option<Duration>,
}

impl Connection {
    /// Connects, within `timeout` if there is one. Nothing is sent, unless a ring is asked for: the connection speaks
    /// RESP2.
    ///
    /// # Errors
    /// [`ClientError::Connect`].
    pub fn connect(address: &Address, timeout: Option<Duration>) -> Result<Self, ClientError> {
        #[cfg(target_os = "linux")]
        if let Address::RingOver(path) = address {
            return Connection::by_ring(path, None, &Login::default(), timeout);
        }
        let stream = Stream::connect(address, timeout)
            .map_err(|cause| ClientError::Connect { address: address.to_string(), cause })?;
        Ok(Connection { stream, dialogue: Dialogue::default(), timeout: None })
    }

    /// Connects and logs in, each within `timeout` if there is one. Later calls have no timeout.
    ///
    /// # Errors
    /// [`ClientError::Connect`], and those of [`Connection::log_in`].
    pub fn open(address: &Address, login: &Login, timeout: Option<Duration>) -> Result<Self, ClientError> {
        let mut connection = match address {
            #[cfg(target_os = "linux")]
            Address::RingOver(path) => Connection::by_ring(path, None, login, timeout)?,
            address => Connection::connect(address, timeout)?,
        };
        connection.set_up(address, login, timeout)?;
        Ok(connection)
    }

    /// As [`Connection::open`] over a ring that is asked for over the Unix socket at `path`, with room for so many bytes
    /// each way: a power of two from 4096.
    ///
    /// # Errors
    /// As [`Connection::open`]; also when the server makes no ring of that size.
    #[cfg(target_os = "linux")]
    pub fn open_ring(path: &Path, bytes: u64, login: &Login, timeout: Option<Duration>) -> Result<Self, ClientError> {
        let mut connection = Connection::by_ring(path, Some(bytes), login, timeout)?;
        connection.set_up(&Address::RingOver(path.to_owned()), login, timeout)?;
        Ok(connection)
    }

    /// Logs in within `timeout`, behind which there is none.
    fn set_up(&mut self, address: &Address, login: &Login, timeout: Option<Duration>) -> Result<(), ClientError> {
        self.timeout = timeout;
        self.log_in(login).map_err(|error| match error {
            // Whoever takes connections and says nothing cannot be told from nobody.
            ClientError::TimedOut => {
                let cause = io::Error::new(io::ErrorKind::TimedOut, "the login was not answered in time");
                ClientError::Connect { address: address.to_string(), cause }
            }
            error => error,
        })?;
        self.timeout = None;
        Ok(())
    }

    /// The same connection as bare bytes. What was received and not asked for yet is read there first, unless it was
    /// decoded already: then it is gone.
    pub fn into_wire(self) -> Wire {
        Wire::new(self.stream, self.dialogue.into_received())
    }

    /// Asks for a ring over the Unix socket at `path`, as the user that `login` names.
    #[cfg(target_os = "linux")]
    fn by_ring(path: &Path, bytes: Option<u64>, login: &Login, timeout: Option<Duration>) -> Result<Self, ClientError> {
        let refused = |cause| ClientError::Connect { address: Address::RingOver(path.to_owned()).to_string(), cause };
        let Login { user, password, .. } = login.clone();
        let login = Login { user, password, ..Login::default() };
        let mut socket = Connection::open(&Address::Unix(path.to_owned()), &login, timeout)?;
        socket.timeout = timeout;
        socket.stream.expect_descriptor();
        let bytes = bytes.map(|bytes| bytes.to_string());
        let request: Vec<&[u8]> =
            [&b"GOBLIN.RING"[..]].into_iter().chain(bytes.as_deref().map(str::as_bytes)).collect();
        let answer = socket.call(&request)?;
        if answer.is_error() {
            return Err(refused(io::Error::other(format!("the server makes no ring: {}", words(&answer)))));
        }
        let stream = socket.stream.into_ring().map_err(refused)?;
        Ok(Connection { stream, dialogue: Dialogue::default(), timeout: None })
    }

    /// Sets up dialect, user, name and database in one round trip; none when there is nothing to set up.
    ///
    /// # Errors
    /// [`ClientError::Login`] with the server's words, or the connection's failure.
    pub fn log_in(&mut self, login: &Login) -> Result<(), ClientError> {
        let mut replies = Vec::new();
        let mut owed = self.dialogue.queue_login(login);
        self.exchange(&mut owed, &mut replies)?;
        match replies.into_iter().find(Value::is_error) {
            Some(error) => Err(ClientError::Login(words(&error))),
            None => Ok(()),
        }
    }

    /// How long [`Connection::call`], [`Connection::pipeline`] and [`Connection::receive`] wait from now on; none for
    /// as long as it takes.
    pub fn set_timeout(&mut self, timeout: Option<Duration>) {
        self.timeout = timeout;
    }

    /// The dialect last asked for.
    pub fn version(&self) -> Version {
        self.dialogue.version()
    }

    /// Sends one request and waits for its answer; an error is a [`Value::Error`]. Pushes that arrive meanwhile are
    /// kept. The answer to a subscription is its last confirmation, the others are kept as pushes; the confirmations
    /// to leaving everything are counted as one.
    ///
    /// Replies to earlier [`Connection::send`]s must have been received.
    ///
    /// # Errors
    /// [`ClientError::TimedOut`], or the connection's failure.
    pub fn call(&mut self, args: &[&[u8]]) -> Result<Value, ClientError> {
        let wait = Wait::within(self.timeout);
        self.queue(args);
        self.flush_in(wait)?;
        self.answer(Awaited::to(args), wait)
    }

    /// Sends many requests and waits for all answers, which come in the same order. At most
    /// [`limits::PIPELINE_WINDOW_BYTES_MAX`] of requests are unanswered at a time, each such window within the timeout.
    ///
    /// # Errors
    /// As [`Connection::call`]; the answers received so far are lost.
    pub fn pipeline<'a>(
        &mut self,
        requests: impl IntoIterator<Item = &'a [&'a [u8]]>,
    ) -> Result<Vec<Value>, ClientError> {
        let mut answers = Vec::new();
        let mut owed = Vec::new();
        for args in requests {
            let bytes = args.iter().map(|arg| arg.len() + 16).sum::<usize>();
            if !owed.is_empty() && self.dialogue.unsent_len() + bytes > limits::PIPELINE_WINDOW_BYTES_MAX {
                self.exchange(&mut owed, &mut answers)?;
            }
            self.queue(args);
            owed.push(Awaited::to(args));
        }
        self.exchange(&mut owed, &mut answers)?;
        Ok(answers)
    }

    /// Joins channels, patterns or shard channels, and waits until all of it is in force. The confirmations are not
    /// kept, messages that come meanwhile are.
    ///
    /// # Errors
    /// [`ClientError::Refused`], [`ClientError::TimedOut`], or the connection's failure.
    pub fn subscribe<A: AsRef<[u8]>>(&mut self, kind: Kind, names: &[A]) -> Result<(), ClientError> {
        self.join(kind, names).map(drop)
    }

    /// The same; answers the confirmations.
    pub(super) fn join<A: AsRef<[u8]>>(&mut self, kind: Kind, names: &[A]) -> Result<Vec<Value>, ClientError> {
        let mut confirmations = Vec::new();
        for request in kind.join_requests(names) {
            let answer = self.call(&request)?;
            if answer.is_error() {
                return Err(ClientError::Refused(words(&answer)));
            }
            confirmations.extend(self.dialogue.take_confirmations());
            confirmations.push(answer);
        }
        Ok(confirmations)
    }

    /// The messages of what was subscribed to, as they come; each is waited for within the timeout. Ends behind a
    /// failure, but not behind [`ClientError::TimedOut`].
    pub fn messages(&mut self) -> Messages<'_> {
        Messages { connection: self, ended: false }
    }

    /// Appends one request to what the next [`Connection::flush`] sends.
    pub fn queue(&mut self, args: &[&[u8]]) {
        self.dialogue.queue(args);
    }

    /// Sends what was queued, however long the server takes to read it, within the timeout.
    ///
    /// # Errors
    /// The connection's failure; a timeout inside a request is one.
    pub fn flush(&mut self) -> Result<(), ClientError> {
        self.flush_in(Wait::within(self.timeout))
    }

    /// Sends one request and waits for nothing but room to send it.
    ///
    /// # Errors
    /// As [`Connection::flush`].
    pub fn send(&mut self, args: &[&[u8]]) -> Result<(), ClientError> {
        self.queue(args);
        self.flush()
    }

    /// Waits for the next value, be it a push or a reply; those kept earlier come first, pushes before replies.
    ///
    /// # Errors
    /// [`ClientError::TimedOut`], or the connection's failure.
    pub fn receive(&mut self) -> Result<Value, ClientError> {
        self.receive_in(Wait::within(self.timeout))?.ok_or(ClientError::TimedOut)
    }

    /// As [`Connection::receive`], until `deadline`: none when nothing complete came by then.
    ///
    /// # Errors
    /// The connection's failure.
    pub fn receive_until(&mut self, deadline: Instant) -> Result<Option<Value>, ClientError> {
        self.receive_in(Wait::Until(deadline))
    }

    /// The next value if it is already here; never waits. Who polls the descriptor must first have read until none is
    /// left.
    ///
    /// # Errors
    /// The connection's failure.
    pub fn try_receive(&mut self) -> Result<Option<Value>, ClientError> {
        self.receive_in(Wait::Never)
    }

    /// Waits until a value is here, until `deadline` or as long as it takes: true when [`Connection::try_receive`] has
    /// one to give.
    ///
    /// # Errors
    /// The connection's failure.
    pub fn wait(&mut self, deadline: Option<Instant>) -> Result<bool, ClientError> {
        let value = self.receive_in(deadline.map_or(Wait::Forever, Wait::Until))?;
        Ok(value.map(|value| self.dialogue.put_back(value)).is_some())
    }

    /// Waits for the next push, until `deadline` or as long as it takes; none when there was none by then. A time in
    /// the past gives what was read already. Replies that come meanwhile are kept for [`Connection::receive`].
    ///
    /// # Errors
    /// [`ClientError::Refused`] when an error comes instead: what was to give pushes was refused. Else the connection's
    /// failure.
    pub fn next_push(&mut self, deadline: Option<Instant>) -> Result<Option<Value>, ClientError> {
        let wait = deadline.map_or(Wait::Forever, Wait::Until);
        loop {
            if let Some(push) = self.dialogue.next_push()? {
                return Ok(Some(push));
            }
            if !self.fill(wait)? {
                return Ok(None);
            }
        }
    }

    /// True when the other side has ended the connection and all it said was read. Never waits.
    pub fn is_ended(&mut self) -> bool {
        self.dialogue.is_dead() || self.stream.is_ended().unwrap_or(true)
    }

    fn receive_in(&mut self, wait: Wait) -> Result<Option<Value>, ClientError> {
        if let Some(value) = self.dialogue.take_kept() {
            return Ok(Some(value));
        }
        loop {
            if let Some(value) = self.dialogue.next_value()? {
                return Ok(Some(value));
            }
            if !self.fill(wait)? {
                return Ok(None);
            }
        }
    }

    fn exchange(&mut self, owed: &mut Vec<Awaited>, answers: &mut Vec<Value>) -> Result<(), ClientError> {
        let wait = Wait::within(self.timeout);
        self.flush_in(wait)?;
        for (index, &awaited) in owed.iter().enumerate() {
            match self.answer(awaited, wait) {
                Ok(answer) => answers.push(answer),
                Err(error) => {
                    self.dialogue.abandon(owed[index + 1..].iter().map(|awaited| awaited.replies()).sum());
                    return Err(error);
                }
            }
        }
        owed.clear();
        Ok(())
    }

    fn answer(&mut self, mut awaited: Awaited, wait: Wait) -> Result<Value, ClientError> {
        self.answer_in(&mut awaited, wait)?.ok_or_else(|| {
            self.abandon(awaited);
            ClientError::TimedOut
        })
    }

    /// Waits for an answer; none when it was not there in time.
    pub(super) fn answer_in(&mut self, awaited: &mut Awaited, wait: Wait) -> Result<Option<Value>, ClientError> {
        loop {
            if let Some(answer) = self.dialogue.answer(awaited)? {
                return Ok(Some(answer));
            }
            if !self.fill(wait)? {
                return Ok(None);
            }
        }
    }

    /// The answer is for nobody when it comes.
    pub(super) fn abandon(&mut self, awaited: Awaited) {
        self.dialogue.abandon(awaited.replies());
    }

    /// The pushes kept while answers were waited for.
    pub(super) fn take_pushes(&mut self) -> VecDeque<Value> {
        self.dialogue.take_pushes()
    }

    /// Reads once. False when nothing came in time.
    fn fill(&mut self, wait: Wait) -> Result<bool, ClientError> {
        match self.stream.read(self.dialogue.room(), wait) {
            Ok(None) => Ok(false),
            Ok(Some(0)) => Err(self.dialogue.end(None)),
            Ok(Some(count)) => {
                self.dialogue.mark_received(count);
                Ok(true)
            }
            Err(cause) => Err(self.dialogue.end(Some(cause))),
        }
    }

    fn flush_in(&mut self, wait: Wait) -> Result<(), ClientError> {
        loop {
            let unsent = self.dialogue.unsent()?;
            if unsent.is_empty() {
                return Ok(());
            }
            match self.stream.write(unsent, wait) {
                Ok(Some(count)) => self.dialogue.mark_sent(count),
                Ok(None) => {
                    self.dialogue.give_up_sending();
                    return Err(ClientError::TimedOut);
                }
                Err(cause) => self.dialogue.cannot_send(cause),
            }
        }
    }
}

/// The messages of a connection; see [`Connection::messages`].
#[derive(Debug)]
pub struct Messages<'a> {
    connection: &'a mut Connection,
    ended: bool,
}

impl Iterator for Messages<'_> {
    type Item = Result<Message, ClientError>;

    fn next(&mut self) -> Option<Self::Item> {
        let deadline = self.connection.timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        while !self.ended {
            let failure = match self.connection.next_push(deadline) {
                Ok(Some(push)) => match Event::of(push) {
                    Ok(Event::Message(message)) => return Some(Ok(message)),
                    Ok(_) => continue,
                    Err(error) => error,
                },
                Ok(None) => return Some(Err(ClientError::TimedOut)),
                Err(error) => error,
            };
            self.ended = true;
            return Some(Err(failure));
        }
        None
    }
}

#[cfg(unix)]
impl std::os::fd::AsRawFd for Connection {
    fn as_raw_fd(&self) -> std::os::fd::RawFd {
        self.stream.as_raw_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::thread::{self, JoinHandle};

    use super::*;

    /// A connection whose server expects `asked` and then answers `said`, step by step, and closes.
    fn served<const N: usize>(steps: [(&'static str, &'static str); N]) -> (Connection, JoinHandle<()>) {
        scripted(move |mut stream| {
            for (asked, said) in steps {
                let mut got = vec![0; asked.len()];
                stream.read_exact(&mut got).unwrap();
                assert_eq!(String::from_utf8(got).unwrap(), asked);
                stream.write_all(said.as_bytes()).unwrap();
            }
        })
    }

    fn scripted(script: impl FnOnce(TcpStream) + Send + 'static) -> (Connection, JoinHandle<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = thread::spawn(move || script(listener.accept().unwrap().0));
        let address = Address::Tcp { host: "127.0.0.1".to_string(), port };
        (Connection::connect(&address, Some(Duration::from_secs(10))).unwrap(), server)
    }

    const PING: &str = "*1\r\n$4\r\nPING\r\n";
    const SUBSCRIBE: &str = "*3\r\n$9\r\nSUBSCRIBE\r\n$1\r\na\r\n$1\r\nb\r\n";

    #[test]
    fn pushes_between_replies_are_kept_in_order() {
        let (mut connection, server) = served([
            (SUBSCRIBE, "*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n*3\r\n$9\r\nsubscribe\r\n$1\r\nb\r\n:2\r\n"),
            (PING, "*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\nx\r\n*2\r\n$4\r\npong\r\n$0\r\n\r\n"),
        ]);
        let last = connection.call(&[b"SUBSCRIBE", b"a", b"b"]).unwrap();
        assert_eq!(last.as_items().unwrap()[2], Value::Integer(2));
        let pong = connection.call(&[b"PING"]).unwrap();
        assert_eq!(pong.as_items().unwrap().len(), 2);
        let first = connection.next_push(None).unwrap().unwrap();
        assert_eq!(first.as_items().unwrap()[2], Value::Integer(1));
        let message = connection.receive().unwrap();
        assert_eq!(message.as_items().unwrap()[2], Value::Bulk(b"x".to_vec()));
        server.join().unwrap();
    }

    #[test]
    fn a_refused_subscription_is_an_error_not_a_silence() {
        let (mut connection, server) = served([(SUBSCRIBE, "-NOPERM no\r\n")]);
        connection.send(&[b"SUBSCRIBE", b"a", b"b"]).unwrap();
        let refused = connection.next_push(None).unwrap_err();
        assert_eq!(refused.to_string(), "the server refused: NOPERM no");
        server.join().unwrap();
    }

    #[test]
    fn an_end_inside_a_message_is_told_from_one_between() {
        for (said, inside) in [("", false), ("$5\r\nhel", true), ("*2\r\n:1\r\n", true), ("+PONG\r", true)] {
            let (mut connection, server) = scripted(move |mut stream| {
                stream.read_exact(&mut [0; 14]).unwrap();
                stream.write_all(said.as_bytes()).unwrap();
            });
            match connection.call(&[b"PING"]) {
                Err(ClientError::Lost { inside_message, cause: None }) => {
                    assert_eq!(inside_message, inside, "{said:?}")
                }
                other => panic!("{other:?}"),
            }
            assert!(matches!(connection.try_receive(), Err(ClientError::Lost { .. })));
            assert!(matches!(connection.call(&[b"PING"]), Err(ClientError::Lost { .. })));
            server.join().unwrap();
        }
    }

    #[test]
    fn a_late_reply_does_not_answer_the_next_call() {
        let (mut connection, server) = scripted(|mut stream| {
            stream.read_exact(&mut [0; 28]).unwrap();
            stream.write_all(b"+LATE\r\n+PONG\r\n").unwrap();
        });
        connection.set_timeout(Some(Duration::from_millis(5)));
        assert!(matches!(connection.call(&[b"PING"]), Err(ClientError::TimedOut)));
        connection.set_timeout(None);
        assert_eq!(connection.call(&[b"PING"]).unwrap(), Value::Status(b"PONG".to_vec()));
        server.join().unwrap();
    }

    #[test]
    fn polling_never_waits_and_loses_nothing() {
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let (mut connection, server) = scripted(move |mut stream| {
            wait.recv().unwrap();
            stream.write_all(b"+a\r\n:1\r\n+b").unwrap();
            wait.recv().unwrap();
            stream.write_all(b"\r\n").unwrap();
            wait.recv().unwrap();
        });
        assert!(connection.try_receive().unwrap().is_none());
        let mut poll = || loop {
            if let Some(value) = connection.try_receive().unwrap() {
                return value;
            }
            thread::yield_now();
        };
        go.send(()).unwrap();
        assert_eq!(poll(), Value::Status(b"a".to_vec()));
        assert_eq!(poll(), Value::Integer(1));
        go.send(()).unwrap();
        assert_eq!(poll(), Value::Status(b"b".to_vec()));
        assert!(connection.next_push(Some(Instant::now())).unwrap().is_none());
        go.send(()).unwrap();
        server.join().unwrap();
    }

    #[test]
    fn a_pipeline_larger_than_every_buffer_comes_through() {
        const COUNT: usize = 20_000;
        // Reads nothing while its own replies are unread, as a server that guards its memory does.
        let (mut connection, server) = scripted(|mut stream| {
            let mut left = COUNT * 14;
            let mut buf = vec![0; 1 << 16];
            let mut owed = 0;
            while left > 0 {
                let count = stream.read(&mut buf).unwrap();
                left -= count;
                owed += count;
                let reply = [&b"$1000\r\n"[..], &[b'x'; 1000], b"\r\n"].concat();
                stream.write_all(&reply.repeat(owed / 14)).unwrap();
                owed %= 14;
            }
        });
        let ping: &[&[u8]] = &[b"PING"];
        let answers = connection.pipeline(std::iter::repeat_n(ping, COUNT)).unwrap();
        assert_eq!(answers.len(), COUNT);
        assert!(answers.iter().all(|answer| answer.as_bytes() == Some(&[b'x'; 1000])));
        server.join().unwrap();
    }

    #[test]
    fn login_takes_one_round_trip_and_tells_the_servers_words() {
        let login = Login {
            password: Some(b"pw".to_vec()),
            db: 2,
            version: Version::Resp3,
            name: Some(b"n".to_vec()),
            ..Login::default()
        };
        let hello = "*7\r\n$5\r\nHELLO\r\n$1\r\n3\r\n$4\r\nAUTH\r\n$7\r\ndefault\r\n$2\r\npw\r\n$7\r\nSETNAME\r\n$1\r\nn\r\n\
                     *2\r\n$6\r\nSELECT\r\n$1\r\n2\r\n";
        let (mut connection, server) = served([(hello, "%0\r\n+OK\r\n")]);
        connection.log_in(&login).unwrap();
        assert_eq!(connection.version(), Version::Resp3);
        server.join().unwrap();

        let auth = "*3\r\n$4\r\nAUTH\r\n$1\r\nu\r\n$2\r\npw\r\n";
        let login = Login { user: Some(b"u".to_vec()), password: Some(b"pw".to_vec()), ..Login::default() };
        let (mut connection, server) = served([(auth, "-WRONGPASS no\r\n")]);
        assert_eq!(connection.log_in(&login).unwrap_err().to_string(), "could not log in: WRONGPASS no");
        server.join().unwrap();
    }

    #[test]
    fn a_closed_port_is_named() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let address = Address::Tcp { host: "127.0.0.1".to_string(), port };
        let error = Connection::connect(&address, Some(Duration::from_secs(10))).unwrap_err();
        assert!(error.to_string().starts_with(&format!("could not connect to 127.0.0.1:{port}: ")), "{error}");
        assert_eq!(error.exit() as u8, 3);
    }
}
