//! One connection to a server: requests out, values in, blocking or polled.
//!
//! Invariant: `inbox[taken..filled]` is what was received and not yet decoded.
//! Invariant: a push is never given as the answer to a request that pushes do not answer, and never lost.
//! Invariant: once the stream of values is broken, every further use says so.

use std::collections::VecDeque;
use std::io;
use std::time::{Duration, Instant};

use super::stream::{Stream, Wait};
use super::{Address, ClientError, Login};
use crate::limits;
use crate::protocol::resp::{Value, ValueDecoder, Version, encode_request};

/// A blocking connection that can also be polled.
///
/// In RESP2, arrays that look like pub/sub frames are given as [`Value::Push`] once a subscription was asked for, until
/// RESET.
#[derive(Debug)]
pub struct Connection {
    stream: Stream,
    inbox: Vec<u8>,
    taken: usize,
    filled: usize,
    decoder: ValueDecoder,
    outbox: Vec<u8>,
    pushes: VecDeque<Value>,
    replies: VecDeque<Value>,
    /// Replies to calls that timed out: dropped when they come.
    overdue: usize,
    timeout: Option<Duration>,
    version: Version,
    /// A subscription was asked for.
    joined: bool,
    /// Writing failed: what the server still says is read before the connection counts as lost.
    farewell: Option<io::Error>,
    dead: bool,
}

impl Connection {
    /// Connects, within `timeout` if there is one. Nothing is sent: the connection speaks RESP2.
    ///
    /// # Errors
    /// [`ClientError::Connect`].
    pub fn connect(address: &Address, timeout: Option<Duration>) -> Result<Self, ClientError> {
        let stream = Stream::connect(address, timeout)
            .map_err(|cause| ClientError::Connect { address: address.to_string(), cause })?;
        Ok(Connection {
            stream,
            inbox: Vec::new(),
            taken: 0,
            filled: 0,
            decoder: ValueDecoder::default(),
            outbox: Vec::new(),
            pushes: VecDeque::new(),
            replies: VecDeque::new(),
            overdue: 0,
            timeout: None,
            version: Version::Resp2,
            joined: false,
            farewell: None,
            dead: false,
        })
    }

    /// Connects and logs in, each within `timeout` if there is one. Later calls have no timeout.
    ///
    /// # Errors
    /// [`ClientError::Connect`], and those of [`Connection::log_in`].
    pub fn open(address: &Address, login: &Login, timeout: Option<Duration>) -> Result<Self, ClientError> {
        let mut connection = Connection::connect(address, timeout)?;
        connection.timeout = timeout;
        connection.log_in(login)?;
        connection.timeout = None;
        Ok(connection)
    }

    /// Sets up dialect, user, name and database in one round trip; none when there is nothing to set up.
    ///
    /// # Errors
    /// [`ClientError::Login`] with the server's words, or the connection's failure.
    pub fn log_in(&mut self, login: &Login) -> Result<(), ClientError> {
        let db = login.db.to_string();
        let mut requests = login_requests(login);
        if login.db != 0 {
            requests.push(vec![b"SELECT", db.as_bytes()]);
        }
        let replies = self.pipeline(requests.iter().map(Vec::as_slice))?;
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
        self.version
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
        self.answer(confirmations(args), wait)
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
            if !owed.is_empty() && self.outbox.len() + bytes > limits::PIPELINE_WINDOW_BYTES_MAX {
                self.exchange(&mut owed, &mut answers)?;
            }
            self.queue(args);
            owed.push(confirmations(args));
        }
        self.exchange(&mut owed, &mut answers)?;
        Ok(answers)
    }

    /// Appends one request to what the next [`Connection::flush`] sends.
    pub fn queue(&mut self, args: &[&[u8]]) {
        match args {
            [name, ..] if is_subscription(name) => self.joined = true,
            [name, version, ..] if name.eq_ignore_ascii_case(b"HELLO") => {
                self.version = if *version == b"3" { Version::Resp3 } else { Version::Resp2 };
            }
            _ => {}
        }
        encode_request(args, &mut self.outbox);
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

    /// Waits for the next push, until `deadline` or as long as it takes; none when there was none by then. Replies that
    /// come meanwhile are kept for [`Connection::receive`].
    ///
    /// # Errors
    /// [`ClientError::Refused`] when an error comes instead: what was to give pushes was refused. Else the connection's
    /// failure.
    pub fn next_push(&mut self, deadline: Option<Instant>) -> Result<Option<Value>, ClientError> {
        if let Some(push) = self.pushes.pop_front() {
            return Ok(Some(push));
        }
        let wait = deadline.map_or(Wait::Forever, Wait::Until);
        while let Some(value) = self.next_value(wait)? {
            match value {
                value if value.is_push() => return Ok(Some(value)),
                Value::Error(_) => return Err(ClientError::Refused(words(&value))),
                reply => self.replies.push_back(reply),
            }
        }
        Ok(None)
    }

    fn receive_in(&mut self, wait: Wait) -> Result<Option<Value>, ClientError> {
        match self.pushes.pop_front().or_else(|| self.replies.pop_front()) {
            Some(value) => Ok(Some(value)),
            None => self.next_value(wait),
        }
    }

    fn exchange(&mut self, owed: &mut Vec<usize>, answers: &mut Vec<Value>) -> Result<(), ClientError> {
        let wait = Wait::within(self.timeout);
        self.flush_in(wait)?;
        for (index, &confirmations) in owed.iter().enumerate() {
            match self.answer(confirmations, wait) {
                Ok(answer) => answers.push(answer),
                Err(error) => {
                    self.overdue += owed[index + 1..].iter().filter(|&&confirmations| confirmations == 0).count();
                    return Err(error);
                }
            }
        }
        owed.clear();
        Ok(())
    }

    /// The next reply, or the last of so many confirmations.
    fn answer(&mut self, mut confirmations: usize, wait: Wait) -> Result<Value, ClientError> {
        if let Some(reply) = self.replies.pop_front() {
            return Ok(reply);
        }
        let by_push = confirmations > 0;
        while let Some(value) = self.next_value(wait)? {
            if !value.is_push() {
                return Ok(value);
            }
            if confirmations > 0 && is_confirmation(&value) {
                confirmations -= 1;
                if confirmations == 0 {
                    return Ok(value);
                }
            }
            self.pushes.push_back(value);
        }
        self.overdue += usize::from(!by_push);
        Err(ClientError::TimedOut)
    }

    /// The next value from the wire that somebody waits for; none when it is not there in time.
    fn next_value(&mut self, wait: Wait) -> Result<Option<Value>, ClientError> {
        loop {
            while let Some(value) = self.decode()? {
                let value = self.recognize(value);
                if self.overdue == 0 || value.is_push() {
                    return Ok(Some(value));
                }
                self.overdue -= 1;
            }
            if !self.fill(wait)? {
                return Ok(None);
            }
        }
    }

    fn decode(&mut self) -> Result<Option<Value>, ClientError> {
        if self.dead {
            return Err(ClientError::Lost { inside_message: false, cause: None });
        }
        let (used, value) = self.decoder.decode(&self.inbox[self.taken..self.filled]).map_err(|broken| {
            self.dead = true;
            ClientError::Protocol(broken)
        })?;
        self.taken += used;
        if self.taken == self.filled {
            self.taken = 0;
            self.filled = 0;
            if self.inbox.len() > limits::CLIENT_BUFFER_KEPT_BYTES_MAX {
                self.inbox = Vec::new();
            }
        }
        Ok(value)
    }

    /// Reads once. False when nothing came in time.
    fn fill(&mut self, wait: Wait) -> Result<bool, ClientError> {
        if self.filled == self.inbox.len() {
            if self.taken > 0 {
                self.inbox.copy_within(self.taken..self.filled, 0);
                self.filled -= self.taken;
                self.taken = 0;
            } else {
                self.inbox.resize((self.inbox.len() * 2).max(limits::CLIENT_INBOX_BYTES), 0);
            }
        }
        let cause = match self.stream.read(&mut self.inbox[self.filled..], wait) {
            Ok(None) => return Ok(false),
            Ok(Some(0)) => self.farewell.take(),
            Ok(Some(count)) => {
                self.filled += count;
                return Ok(true);
            }
            Err(cause) => Some(cause),
        };
        self.dead = true;
        let inside_message = self.filled > self.taken || !self.decoder.is_between_values();
        Err(ClientError::Lost { inside_message, cause })
    }

    fn flush_in(&mut self, wait: Wait) -> Result<(), ClientError> {
        let mut sent = 0;
        while sent < self.outbox.len() {
            if self.dead || self.farewell.is_some() {
                self.outbox.clear();
                return Err(ClientError::Lost { inside_message: false, cause: self.farewell.take() });
            }
            match self.stream.write(&self.outbox[sent..], wait) {
                Ok(Some(count)) => sent += count,
                Ok(None) => {
                    // Half a request cannot be taken back; one that has not begun can.
                    self.dead = sent > 0;
                    self.outbox.clear();
                    return Err(ClientError::TimedOut);
                }
                Err(cause) => {
                    self.farewell = Some(cause);
                    break;
                }
            }
        }
        self.outbox.clear();
        self.outbox.shrink_to(limits::CLIENT_BUFFER_KEPT_BYTES_MAX);
        Ok(())
    }

    /// Marks RESP2's pub/sub frames as what they are, and notices the end of the session's state.
    fn recognize(&mut self, value: Value) -> Value {
        match value {
            Value::Array(items) if self.joined && self.version == Version::Resp2 && is_frame(&items) => {
                Value::Push(items)
            }
            Value::Status(line) if line == b"RESET" => {
                self.joined = false;
                self.version = Version::Resp2;
                Value::Status(line)
            }
            other => other,
        }
    }
}

#[cfg(unix)]
impl std::os::fd::AsRawFd for Connection {
    fn as_raw_fd(&self) -> std::os::fd::RawFd {
        self.stream.as_raw_fd()
    }
}

fn login_requests(login: &Login) -> Vec<Vec<&[u8]>> {
    let wants_login = login.user.is_some() || login.password.is_some();
    let user = login.user.as_deref();
    let password = login.password.as_deref().unwrap_or(b"");
    let mut requests: Vec<Vec<&[u8]>> = Vec::new();
    match login.version {
        Version::Resp3 => {
            let mut hello: Vec<&[u8]> = vec![b"HELLO", b"3"];
            if wants_login {
                hello.extend([b"AUTH", user.unwrap_or(b"default"), password]);
            }
            if let Some(name) = &login.name {
                hello.extend([&b"SETNAME"[..], name]);
            }
            requests.push(hello);
        }
        Version::Resp2 => {
            if wants_login {
                requests.push([&b"AUTH"[..]].into_iter().chain(user).chain([password]).collect());
            }
            if let Some(name) = &login.name {
                requests.push(vec![b"CLIENT", b"SETNAME", name]);
            }
        }
    }
    requests
}

fn words(error: &Value) -> String {
    String::from_utf8_lossy(error.as_bytes().unwrap_or(b"")).into_owned()
}

fn is_subscription(name: &[u8]) -> bool {
    const NAMES: [&[u8]; 6] =
        [b"SUBSCRIBE", b"UNSUBSCRIBE", b"PSUBSCRIBE", b"PUNSUBSCRIBE", b"SSUBSCRIBE", b"SUNSUBSCRIBE"];
    // The shortest has nine letters: most requests are told apart by their length.
    name.len() >= 9 && NAMES.iter().any(|known| name.eq_ignore_ascii_case(known))
}

/// How many confirmations answer a request; 0 when an ordinary reply does.
fn confirmations(args: &[&[u8]]) -> usize {
    match args {
        [name, names @ ..] if is_subscription(name) => names.len().max(1),
        _ => 0,
    }
}

fn is_confirmation(push: &Value) -> bool {
    let kind = push.as_items().and_then(|items| items.first()).and_then(Value::as_bytes);
    kind.is_some_and(is_subscription)
}

/// Whether an array is what RESP2 makes of a push.
fn is_frame(items: &[Value]) -> bool {
    match items {
        [Value::Bulk(kind), _, _] => matches!(&kind[..], b"message" | b"smessage") || is_subscription(kind),
        [Value::Bulk(kind), _, _, _] => kind == b"pmessage",
        _ => false,
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
