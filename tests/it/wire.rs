//! A raw client of RESP or SBE: bytes out, bytes or values in, over a plain blocking socket.
//!
//! Invariant: nothing of the library is used here, so that a mistake in its codec cannot hide itself.
//! Invariant: every read has a watchdog; a test never waits with a sleep.

use std::collections::VecDeque;
use std::fmt;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use crate::ring_pipe::RingPipe;
use crate::road::RingLease;
use crate::sbe_wire;

/// How long a peer may keep a test waiting before it counts as hung.
pub const WATCHDOG: Duration = Duration::from_secs(20);

/// Nesting a server could answer with; deeper replies are not from a server of ours.
const DEPTH_MAX: usize = 32;

/// One connection to a server.
pub struct Connection {
    stream: Stream,
    inbox: Inbox,
    /// Set once it speaks SBE: what arrived before the reply that was waited for.
    messages: Option<VecDeque<Value>>,
}

/// What arrived; reading moves `at` instead of the bytes, so that many short replies cost no copies.
#[derive(Default)]
struct Inbox {
    bytes: Vec<u8>,
    at: usize,
}

impl Inbox {
    fn unread(&self) -> &[u8] {
        &self.bytes[self.at..]
    }

    fn take(&mut self, count: usize) {
        self.at += count;
    }

    fn extend(&mut self, bytes: &[u8]) {
        self.bytes.drain(..std::mem::take(&mut self.at));
        self.bytes.extend_from_slice(bytes);
    }
}

enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
    Ring(Box<RingPipe>),
}

impl Connection {
    /// Connects over TCP.
    pub fn tcp(address: SocketAddr) -> Connection {
        Connection::over_tcp(TcpStream::connect_timeout(&address, WATCHDOG).expect("connect over TCP"))
    }

    /// Connects over TCP with a receive buffer of this many bytes, as far as the system has ones so small.
    pub fn tcp_with_room(address: SocketAddr, bytes: usize) -> Connection {
        let socket = socket2::Socket::new(socket2::Domain::for_address(address), socket2::Type::STREAM, None);
        let socket = socket.expect("a socket");
        // The window offered when connecting depends on it.
        socket.set_recv_buffer_size(bytes).expect("SO_RCVBUF");
        socket.connect_timeout(&address.into(), WATCHDOG).expect("connect over TCP");
        Connection::over_tcp(socket.into())
    }

    /// Speaks over a TCP stream that is connected already.
    pub fn over_tcp(stream: TcpStream) -> Connection {
        stream.set_nodelay(true).expect("TCP_NODELAY");
        stream.set_read_timeout(Some(WATCHDOG)).expect("read timeout");
        stream.set_write_timeout(Some(WATCHDOG)).expect("write timeout");
        Connection { stream: Stream::Tcp(stream), inbox: Inbox::default(), messages: None }
    }

    /// Connects to a Unix socket.
    pub fn unix(path: &Path) -> Connection {
        let connected = UnixStream::connect(path);
        Connection::over(connected.unwrap_or_else(|error| panic!("connect to {}: {error}", path.display())))
    }

    /// Speaks over a stream that is connected already.
    pub fn over(stream: UnixStream) -> Connection {
        stream.set_read_timeout(Some(WATCHDOG)).expect("read timeout");
        stream.set_write_timeout(Some(WATCHDOG)).expect("write timeout");
        Connection { stream: Stream::Unix(stream), inbox: Inbox::default(), messages: None }
    }

    /// Speaks SBE from now on, the first thing said on this connection: every request is a Call.
    pub fn into_sbe(mut self) -> Connection {
        self.send(sbe_wire::MAGIC);
        self.messages = Some(VecDeque::new());
        self
    }

    /// Takes the ring that was leased.
    pub fn ring(lease: RingLease) -> Connection {
        Connection { stream: Stream::Ring(Box::new(RingPipe::take(lease))), inbox: Inbox::default(), messages: None }
    }

    /// Speaks over a ring on demand.
    pub fn demanded(pipe: RingPipe) -> Connection {
        Connection { stream: Stream::Ring(Box::new(pipe)), inbox: Inbox::default(), messages: None }
    }

    /// Sends bytes as they are.
    pub fn send(&mut self, bytes: &[u8]) {
        self.try_send(bytes).unwrap_or_else(|error| panic!("send {} bytes: {error}", bytes.len()));
    }

    /// Sends bytes as they are to a peer that may have closed.
    pub fn try_send(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        match &mut self.stream {
            Stream::Tcp(stream) => stream.write_all(bytes),
            Stream::Unix(stream) => stream.write_all(bytes),
            Stream::Ring(ring) => ring.write_all(bytes),
        }
    }

    /// Sends what fits without waiting; answers how many bytes that was.
    pub fn send_some(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.set_nonblocking(true);
        let sent = match &mut self.stream {
            Stream::Tcp(stream) => stream.write(bytes),
            Stream::Unix(stream) => stream.write(bytes),
            Stream::Ring(ring) => ring.write_some(bytes),
        };
        self.set_nonblocking(false);
        match sent {
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(0),
            other => other,
        }
    }

    /// Sends bytes as one record of a ring, as soon as there is room; replies are taken out meanwhile.
    pub fn record(&mut self, bytes: &[u8]) {
        self.pipe().record(bytes).unwrap_or_else(|error| panic!("a record of {} bytes: {error}", bytes.len()));
    }

    /// Sends bytes as one record of a ring, if there is room now; takes nothing out.
    pub fn try_record(&mut self, bytes: &[u8]) -> bool {
        self.pipe().try_record(bytes)
    }

    /// Writes a record into a ring whose session has ended.
    pub fn record_regardless(&mut self, bytes: &[u8]) {
        assert!(self.pipe().try_record(bytes), "no room in a ring nobody uses");
    }

    /// The ring under it.
    pub fn pipe(&mut self) -> &mut RingPipe {
        match &mut self.stream {
            Stream::Ring(ring) => ring,
            _ => panic!("records are for rings"),
        }
    }

    fn set_nonblocking(&self, yes: bool) {
        match &self.stream {
            Stream::Tcp(stream) => stream.set_nonblocking(yes),
            Stream::Unix(stream) => stream.set_nonblocking(yes),
            Stream::Ring(_) => Ok(()),
        }
        .expect("change blocking mode");
    }

    /// Ends our side: the server reads an end of file after what was sent.
    pub fn shut_down_writing(&self) {
        match &self.stream {
            Stream::Tcp(stream) => stream.shutdown(Shutdown::Write),
            Stream::Unix(stream) => stream.shutdown(Shutdown::Write),
            Stream::Ring(ring) => ring.leave(),
        }
        .expect("shut down writing");
    }

    /// The same, to a peer that may be gone already.
    pub fn shut_down_writing_quietly(&self) {
        let _ = match &self.stream {
            Stream::Tcp(stream) => stream.shutdown(Shutdown::Write),
            Stream::Unix(stream) => stream.shutdown(Shutdown::Write),
            Stream::Ring(ring) => ring.leave(),
        };
    }

    /// Sends one request in array form, or as Call.
    pub fn request<W: AsRef<[u8]>>(&mut self, words: &[W]) {
        let frame = if self.messages.is_some() { sbe_wire::call(words) } else { frame(words) };
        self.send(&frame);
    }

    /// Sends one request and reads its reply; in SBE messages may come before it and are kept for later.
    pub fn call<W: AsRef<[u8]>>(&mut self, words: &[W]) -> Value {
        self.request(words);
        if self.messages.is_none() {
            return self.value();
        }
        loop {
            let answer = self.answer();
            match &mut self.messages {
                Some(messages) if answer.is_message => messages.push_back(answer.value),
                _ => return answer.value,
            }
        }
    }

    /// Reads one SBE frame.
    pub fn answer(&mut self) -> sbe_wire::Answer {
        loop {
            if let Some(answer) = sbe_wire::parse(self.inbox.unread()) {
                self.inbox.take(answer.len);
                return answer;
            }
            assert!(self.fill(), "connection closed while a reply was due; unread: {}", shown(self.inbox.unread()));
        }
    }

    /// Sends the words of a line and reads the reply.
    pub fn ask(&mut self, line: &str) -> Value {
        self.call(&line.split_whitespace().collect::<Vec<_>>())
    }

    /// Reads exactly these bytes, or fails showing what came instead.
    pub fn expect(&mut self, wanted: &[u8]) {
        assert!(self.messages.is_none(), "bytes of RESP on a connection that speaks SBE");
        while !self.arrives(wanted) && wanted.starts_with(self.inbox.unread()) && self.fill() {}
        let got = self.inbox.unread();
        assert!(got.starts_with(wanted), "bytes differ\n wanted: {}\n    got: {}", shown(wanted), shown(got));
        self.inbox.take(wanted.len());
    }

    /// Reads these bytes when they are what comes next; otherwise reads nothing and answers false.
    pub fn take_if(&mut self, wanted: &[u8]) -> bool {
        assert!(self.messages.is_none(), "bytes of RESP on a connection that speaks SBE");
        while !self.arrives(wanted) && wanted.starts_with(self.inbox.unread()) && self.fill() {}
        let same = self.arrives(wanted);
        if same {
            self.inbox.take(wanted.len());
        }
        same
    }

    fn arrives(&self, wanted: &[u8]) -> bool {
        self.inbox.unread().starts_with(wanted)
    }

    /// Sends bytes, then reads exactly the bytes that should come back.
    pub fn exchange(&mut self, bytes: &[u8], wanted: &[u8]) {
        self.send(bytes);
        self.expect(wanted);
    }

    /// Everything up to the end of the connection, at most 64 MiB.
    pub fn rest(&mut self) -> Vec<u8> {
        while self.fill() {
            assert!(self.inbox.unread().len() < 64 << 20, "a reply without end");
        }
        std::mem::take(&mut self.inbox).unread().to_vec()
    }

    /// Asks PING of a server that may turn us away; some when it answers.
    pub fn rest_or_pong(&mut self) -> Option<()> {
        let _ = self.try_send(b"PING\r\n");
        while self.inbox.unread().len() < 7 && self.fill() {}
        self.arrives(b"+PONG\r\n").then_some(())
    }

    /// Fails unless the peer closes, having sent nothing more.
    pub fn expect_closed(&mut self) {
        let rest = self.rest();
        assert!(rest.is_empty(), "expected the end of the connection, got {}", shown(&rest));
    }

    /// Reads one value, a push included.
    pub fn value(&mut self) -> Value {
        match &mut self.messages {
            Some(messages) => messages.pop_front().unwrap_or_else(|| self.answer().value),
            None => self.value_bytes().0,
        }
    }

    /// Reads one value together with the bytes it came as.
    pub fn value_bytes(&mut self) -> (Value, Vec<u8>) {
        loop {
            let mut at = 0;
            if let Some(value) = parse(self.inbox.unread(), &mut at, 0) {
                let bytes = self.inbox.unread()[..at].to_vec();
                self.inbox.take(at);
                return (value, bytes);
            }
            assert!(self.fill(), "connection closed while a reply was due; unread: {}", shown(self.inbox.unread()));
        }
    }

    /// Reads more; false at the end of the connection.
    fn fill(&mut self) -> bool {
        let mut chunk = [0; 64 * 1024];
        let read = match &mut self.stream {
            Stream::Tcp(stream) => stream.read(&mut chunk),
            Stream::Unix(stream) => stream.read(&mut chunk),
            Stream::Ring(ring) => ring.read(&mut chunk),
        };
        match read {
            Ok(0) => false,
            Ok(count) => {
                self.inbox.extend(&chunk[..count]);
                true
            }
            Err(error) if error.kind() == ErrorKind::ConnectionReset => false,
            Err(error) if error.kind() == ErrorKind::Interrupted => true,
            Err(error) => panic!("no answer within the watchdog ({error}); unread: {}", shown(self.inbox.unread())),
        }
    }
}

/// One request in array form.
pub fn frame<W: AsRef<[u8]>>(words: &[W]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        let word = word.as_ref();
        bytes.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
        bytes.extend_from_slice(word);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}

/// Bytes as a person can read them, shortened in the middle.
pub fn shown(bytes: &[u8]) -> String {
    if bytes.len() <= 600 {
        return bytes.escape_ascii().to_string();
    }
    let (head, tail) = (&bytes[..300], &bytes[bytes.len() - 200..]);
    format!("{} … ({} bytes) … {}", head.escape_ascii(), bytes.len(), tail.escape_ascii())
}

/// Escaped as `"` would need it; apostrophes, frequent in error texts, stay as they are.
fn quoted(bytes: &[u8]) -> String {
    bytes.escape_ascii().to_string().replace("\\'", "'")
}

/// One RESP2 or RESP3 value.
#[derive(Clone, PartialEq)]
pub enum Value {
    /// `_`, `$-1` or `*-1`.
    Nil,
    Status(String),
    /// Code and text.
    Error(Vec<u8>),
    Integer(i64),
    /// The text of a double.
    Double(String),
    Boolean(bool),
    Bulk(Vec<u8>),
    /// Text for people, without its three-letter format.
    Verbatim(Vec<u8>),
    Array(Vec<Value>),
    Set(Vec<Value>),
    Map(Vec<(Value, Value)>),
    Push(Vec<Value>),
}

impl Value {
    /// The bytes of a string of any kind, or of an error.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Value::Bulk(bytes) | Value::Verbatim(bytes) | Value::Error(bytes) => bytes,
            Value::Status(text) | Value::Double(text) => text.as_bytes(),
            other => panic!("expected a string, got {other}"),
        }
    }

    /// A string of any kind as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(self.bytes()).into_owned()
    }

    /// The integer, or a failure.
    pub fn integer(&self) -> i64 {
        match self {
            Value::Integer(value) => *value,
            other => panic!("expected an integer, got {other}"),
        }
    }

    /// The items of an aggregate, a map's keys and values in turn.
    pub fn items(&self) -> Vec<Value> {
        match self {
            Value::Array(items) | Value::Set(items) | Value::Push(items) => items.clone(),
            Value::Map(pairs) => pairs.iter().flat_map(|(key, value)| [key.clone(), value.clone()]).collect(),
            other => panic!("expected an aggregate, got {other}"),
        }
    }

    /// The strings of an aggregate, sorted.
    pub fn sorted_texts(&self) -> Vec<String> {
        let mut texts: Vec<String> = self.items().iter().map(Value::text).collect();
        texts.sort();
        texts
    }

    /// True for an error reply.
    pub fn is_error(&self) -> bool {
        matches!(self, Value::Error(_))
    }

    /// The value as RESP2 would have told it: what transcripts compare, so that one text serves both.
    pub fn flat(&self) -> Value {
        let flat = |items: &[Value]| Value::Array(items.iter().map(Value::flat).collect());
        match self {
            Value::Double(text) => Value::Bulk(text.clone().into_bytes()),
            Value::Boolean(yes) => Value::Integer(i64::from(*yes)),
            Value::Verbatim(text) => Value::Bulk(text.clone()),
            Value::Array(items) | Value::Set(items) | Value::Push(items) => flat(items),
            Value::Map(_) => flat(&self.items()),
            other => other.clone(),
        }
    }
}

impl fmt::Display for Value {
    /// One line: `nil`, `OK`, `-ERR text`, `2`, `"bulk"`, `[1, "a"]`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>, items: &[Value]| {
            f.write_str("[")?;
            for (index, item) in items.iter().enumerate() {
                write!(f, "{}{item}", if index > 0 { ", " } else { "" })?;
            }
            f.write_str("]")
        };
        match self {
            Value::Nil => f.write_str("nil"),
            Value::Status(text) => f.write_str(text),
            Value::Error(text) => write!(f, "-{}", quoted(text)),
            Value::Integer(value) => write!(f, "{value}"),
            Value::Double(text) => write!(f, "({text})"),
            Value::Boolean(yes) => write!(f, "{yes}"),
            Value::Bulk(bytes) | Value::Verbatim(bytes) => write!(f, "\"{}\"", quoted(bytes)),
            Value::Array(items) | Value::Set(items) | Value::Push(items) => list(f, items),
            Value::Map(_) => list(f, &self.items()),
        }
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Parses the value at `at` and moves `at` behind it; none while bytes are missing.
fn parse(bytes: &[u8], at: &mut usize, depth: usize) -> Option<Value> {
    assert!(depth < DEPTH_MAX, "a reply nested too deep: {}", shown(bytes));
    let kind = *bytes.get(*at)?;
    let line_end = *at + bytes[*at..].windows(2).position(|pair| pair == b"\r\n")?;
    let line = &bytes[*at + 1..line_end];
    *at = line_end + 2;
    let text = || String::from_utf8_lossy(line).into_owned();
    let number = || {
        let number = std::str::from_utf8(line).ok().and_then(|digits| digits.parse::<i64>().ok());
        number.unwrap_or_else(|| panic!("not a number after {:?}: {}", kind as char, shown(line)))
    };
    Some(match kind {
        b'+' => Value::Status(text()),
        b'-' => Value::Error(line.to_vec()),
        b':' => Value::Integer(number()),
        b',' => Value::Double(text()),
        b'#' => Value::Boolean(line == b"t"),
        b'_' => Value::Nil,
        b'$' | b'=' if number() < 0 => Value::Nil,
        b'$' => Value::Bulk(take(bytes, at, number() as usize)?),
        b'=' => Value::Verbatim(take(bytes, at, number() as usize)?.split_off(4)),
        b'*' | b'~' | b'>' if number() < 0 => Value::Nil,
        b'*' => Value::Array(parse_items(bytes, at, depth, number() as usize)?),
        b'~' => Value::Set(parse_items(bytes, at, depth, number() as usize)?),
        b'>' => Value::Push(parse_items(bytes, at, depth, number() as usize)?),
        b'%' => {
            let items = parse_items(bytes, at, depth, 2 * number() as usize)?;
            Value::Map(items.chunks(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect())
        }
        _ => panic!("not the start of a reply: {}", shown(&bytes[line_end - line.len() - 1..])),
    })
}

fn parse_items(bytes: &[u8], at: &mut usize, depth: usize, count: usize) -> Option<Vec<Value>> {
    (0..count).map(|_| parse(bytes, at, depth + 1)).collect()
}

fn take(bytes: &[u8], at: &mut usize, len: usize) -> Option<Vec<u8>> {
    let end = at.checked_add(len)?;
    let terminator = bytes.get(end..end + 2)?;
    assert_eq!(terminator, b"\r\n", "a bulk string without its end");
    let taken = bytes[*at..end].to_vec();
    *at = end + 2;
    Some(taken)
}
