//! What is said on one connection, without its socket: bytes to send, bytes received, and whose answer a value is.
//!
//! Invariant: `inbox[taken..filled]` is what was received and not yet decoded, `outbox[sent..]` what is still to be sent.
//! Invariant: a push is never given as the answer to a request that pushes do not answer, and never lost.
//! Invariant: once the stream of values is broken, every further use says so.
//! Invariant: memory follows the bytes received; no announced length is believed.
//! Deliberately unknown here: sockets, waiting, and time.

use std::collections::VecDeque;
use std::io;

use super::login::login_requests;
use super::{ClientError, Login};
use crate::limits;
use crate::protocol::resp::{Value, ValueDecoder, Version, encode_request};
use crate::protocol::sbe;

/// Both directions of one connection.
#[derive(Debug, Default)]
pub(super) struct Dialogue {
    inbox: Vec<u8>,
    taken: usize,
    filled: usize,
    decoder: ValueDecoder,
    /// It is spoken in SBE, every request as Call.
    sbe: bool,
    outbox: Vec<u8>,
    sent: usize,
    pushes: VecDeque<Value>,
    replies: VecDeque<Value>,
    /// Replies nobody waits for any more: dropped when they come.
    overdue: usize,
    version: Version,
    /// A subscription was asked for.
    joined: bool,
    /// Writing failed: what the server still says is read before the connection counts as lost.
    farewell: Option<io::Error>,
    dead: bool,
}

/// An answer that is waited for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Awaited {
    /// Confirmations still to come; the last of them is the answer.
    confirmations: usize,
    /// No ordinary reply answers.
    by_push: bool,
}

impl Awaited {
    /// The answer to a request.
    pub(super) fn to(args: &[&[u8]]) -> Self {
        let confirmations = match args {
            [name, names @ ..] if is_subscription(name) => names.len().max(1),
            _ => 0,
        };
        Awaited { confirmations, by_push: confirmations > 0 }
    }

    /// The same, when so many confirmations come if any do.
    pub(super) fn confirmed(self, confirmations: usize) -> Self {
        Awaited { confirmations: if self.by_push { confirmations } else { 0 }, ..self }
    }

    /// How many ordinary replies it consists of: 0 or 1.
    pub(super) fn replies(self) -> usize {
        usize::from(!self.by_push)
    }
}

impl Dialogue {
    /// The dialect last asked for.
    pub(super) fn version(&self) -> Version {
        self.version
    }

    /// True once the stream of values is broken.
    pub(super) fn is_dead(&self) -> bool {
        self.dead
    }

    /// Speaks SBE from now on, before anything else was said.
    pub(super) fn speak_sbe(&mut self) {
        if !std::mem::replace(&mut self.sbe, true) {
            self.outbox.extend_from_slice(&sbe::MAGIC);
        }
    }

    /// Appends one request to what is to be sent. One that no message can hold is sent as one that is refused.
    pub(super) fn queue(&mut self, args: &[&[u8]]) {
        match args {
            [name, ..] if is_subscription(name) => self.joined = true,
            [name, version, ..] if name.eq_ignore_ascii_case(b"HELLO") => {
                self.version = if *version == b"3" { Version::Resp3 } else { Version::Resp2 };
            }
            _ => {}
        }
        if !self.sbe {
            encode_request(args, &mut self.outbox);
        } else if !sbe::value::encode_call(args, &mut self.outbox) {
            sbe::value::encode_call(&[], &mut self.outbox);
        }
    }

    /// Appends what sets up dialect, user, name and database, and answers what will be answered.
    pub(super) fn queue_login(&mut self, login: &Login) -> Vec<Awaited> {
        if login.sbe {
            self.speak_sbe();
        }
        if login.sbe && login.numbered {
            let strings = [&login.user, &login.password, &login.name];
            let strings = strings.map(|string| string.as_deref().unwrap_or_default());
            sbe::value::encode_hello(login.db, strings, &mut self.outbox);
            return vec![Awaited::to(&[b"HELLO"])];
        }
        let db = login.db.to_string();
        let mut requests = login_requests(login);
        if login.db != 0 {
            requests.push(vec![b"SELECT", db.as_bytes()]);
        }
        requests.iter().for_each(|request| self.queue(request));
        requests.iter().map(|request| Awaited::to(request)).collect()
    }

    /// What is still to be sent; nothing once the connection is lost.
    ///
    /// # Errors
    /// [`ClientError::Lost`] when there is something and nowhere to send it.
    pub(super) fn unsent(&mut self) -> Result<&[u8], ClientError> {
        if self.sent < self.outbox.len() && (self.dead || self.farewell.is_some()) {
            self.drop_unsent();
            return Err(ClientError::Lost { inside_message: false, cause: self.farewell.take() });
        }
        Ok(&self.outbox[self.sent..])
    }

    /// Bytes that wait to be sent.
    pub(super) fn unsent_len(&self) -> usize {
        self.outbox.len() - self.sent
    }

    /// So many of them are on their way.
    pub(super) fn mark_sent(&mut self, count: usize) {
        self.sent += count;
        if self.sent == self.outbox.len() {
            self.drop_unsent();
            self.outbox.shrink_to(limits::CLIENT_BUFFER_KEPT_BYTES_MAX);
        }
    }

    /// There was no room to send in time. Half a request cannot be taken back; one that has not begun can.
    pub(super) fn give_up_sending(&mut self) {
        self.dead |= self.sent > 0;
        self.drop_unsent();
    }

    /// Sending failed.
    pub(super) fn cannot_send(&mut self, cause: io::Error) {
        self.farewell = Some(cause);
        self.drop_unsent();
    }

    fn drop_unsent(&mut self) {
        self.outbox.clear();
        self.sent = 0;
    }

    /// Room for what is received next, at least one byte.
    pub(super) fn room(&mut self) -> &mut [u8] {
        if self.filled == self.inbox.len() {
            if self.taken > 0 {
                self.inbox.copy_within(self.taken..self.filled, 0);
                self.filled -= self.taken;
                self.taken = 0;
            } else {
                self.inbox.resize((self.inbox.len() * 2).max(limits::CLIENT_INBOX_BYTES), 0);
            }
        }
        &mut self.inbox[self.filled..]
    }

    /// So many bytes of it were filled.
    pub(super) fn mark_received(&mut self, count: usize) {
        self.filled += count;
    }

    /// The stream ended, because of `cause` or in good order.
    pub(super) fn end(&mut self, cause: Option<io::Error>) -> ClientError {
        self.dead = true;
        let inside_message = self.filled > self.taken || !self.decoder.is_between_values();
        ClientError::Lost { inside_message, cause: cause.or_else(|| self.farewell.take()) }
    }

    /// What was received and not decoded.
    pub(super) fn into_received(self) -> Vec<u8> {
        self.inbox[self.taken..self.filled].to_vec()
    }

    /// So many replies that are still to come are for nobody.
    pub(super) fn abandon(&mut self, replies: usize) {
        self.overdue += replies;
    }

    /// A value kept earlier, pushes before replies.
    pub(super) fn take_kept(&mut self) -> Option<Value> {
        self.pushes.pop_front().or_else(|| self.replies.pop_front())
    }

    /// The pushes kept so far.
    pub(super) fn take_pushes(&mut self) -> VecDeque<Value> {
        std::mem::take(&mut self.pushes)
    }

    /// Puts a value back that was taken too early.
    pub(super) fn put_back(&mut self, value: Value) {
        let queue = if value.is_push() { &mut self.pushes } else { &mut self.replies };
        queue.push_front(value);
    }

    /// The next value that somebody waits for, of those received.
    ///
    /// # Errors
    /// The connection's failure.
    pub(super) fn next_value(&mut self) -> Result<Option<Value>, ClientError> {
        while let Some(value) = self.decode()? {
            let value = self.recognize(value);
            if self.overdue == 0 || value.is_push() {
                return Ok(Some(value));
            }
            self.overdue -= 1;
        }
        Ok(None)
    }

    /// The answer, once it was received. Pushes before it are kept.
    ///
    /// # Errors
    /// The connection's failure.
    pub(super) fn answer(&mut self, awaited: &mut Awaited) -> Result<Option<Value>, ClientError> {
        if let Some(reply) = self.replies.pop_front() {
            return Ok(Some(reply));
        }
        while let Some(value) = self.next_value()? {
            if !value.is_push() {
                return Ok(Some(value));
            }
            if awaited.confirmations > 0 && is_confirmation(&value) {
                awaited.confirmations -= 1;
                if awaited.confirmations == 0 {
                    return Ok(Some(value));
                }
            }
            self.pushes.push_back(value);
        }
        Ok(None)
    }

    /// The next push received. Replies before it are kept.
    ///
    /// # Errors
    /// [`ClientError::Refused`] when an error comes instead; else the connection's failure.
    pub(super) fn next_push(&mut self) -> Result<Option<Value>, ClientError> {
        if let Some(push) = self.pushes.pop_front() {
            return Ok(Some(push));
        }
        while let Some(value) = self.next_value()? {
            match value {
                value if value.is_push() => return Ok(Some(value)),
                Value::Error(_) => return Err(ClientError::Refused(words(&value))),
                reply => self.replies.push_back(reply),
            }
        }
        Ok(None)
    }

    /// Takes the confirmations out of what was kept.
    pub(super) fn take_confirmations(&mut self) -> Vec<Value> {
        let (confirmations, others): (Vec<_>, _) = self.pushes.drain(..).partition(is_confirmation);
        self.pushes.extend::<Vec<_>>(others);
        confirmations
    }

    fn decode(&mut self) -> Result<Option<Value>, ClientError> {
        if self.dead {
            return Err(ClientError::Lost { inside_message: false, cause: None });
        }
        let received = &self.inbox[self.taken..self.filled];
        let decoded = match self.sbe {
            true => {
                sbe::value::decode(received).map(|frame| frame.map_or((0, None), |(used, value)| (used, Some(value))))
            }
            false => self.decoder.decode(received),
        };
        let (used, value) = decoded.map_err(|broken| {
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

    /// Marks RESP2's pub/sub frames as what they are, and notices the end of the session's state.
    fn recognize(&mut self, value: Value) -> Value {
        match value {
            Value::Array(items) if self.joined && !self.sbe && self.version == Version::Resp2 && is_frame(&items) => {
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

/// What the server said.
pub(super) fn words(error: &Value) -> String {
    String::from_utf8_lossy(error.as_bytes().unwrap_or(b"")).into_owned()
}

fn is_subscription(name: &[u8]) -> bool {
    const NAMES: [&[u8]; 6] =
        [b"SUBSCRIBE", b"UNSUBSCRIBE", b"PSUBSCRIBE", b"PUNSUBSCRIBE", b"SSUBSCRIBE", b"SUNSUBSCRIBE"];
    // The shortest has nine letters: most requests are told apart by their length.
    name.len() >= 9 && NAMES.iter().any(|known| name.eq_ignore_ascii_case(known))
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
    use allocation_counter::measure;
    use proptest::prelude::*;

    use super::*;
    use crate::client::Event;

    /// What a server says, handed over in pieces: how many values it made, and how it ended.
    fn received(bytes: &[u8], piece: usize, joined: bool) -> (usize, Option<ClientError>) {
        let mut dialogue = Dialogue { joined, ..Dialogue::default() };
        let mut values = 0;
        for piece in bytes.chunks(piece) {
            let mut rest = piece;
            while !rest.is_empty() {
                let room = dialogue.room();
                let count = room.len().min(rest.len());
                room[..count].copy_from_slice(&rest[..count]);
                dialogue.mark_received(count);
                rest = &rest[count..];
            }
            loop {
                match dialogue.next_value() {
                    Ok(Some(value)) => {
                        values += 1;
                        // What a client does with it must be as safe as reading it.
                        let _ = format!("{value:?}");
                        let _ = Event::of(value);
                    }
                    Ok(None) => break,
                    Err(error) => return (values, Some(error)),
                }
            }
        }
        (values, None)
    }

    /// One value of every type, and some inside others.
    const SAMPLES: [&[u8]; 24] = [
        b"+OK\r\n",
        b"-ERR no\r\n",
        b":-42\r\n",
        b"$5\r\nhello\r\n",
        b"$-1\r\n",
        b"*2\r\n:1\r\n$1\r\nx\r\n",
        b"*-1\r\n",
        b"_\r\n",
        b",3.25\r\n",
        b"#t\r\n",
        b"!5\r\nERR x\r\n",
        b"=6\r\ntxt:hi\r\n",
        b"(-123456789012345678901234567890\r\n",
        b"~2\r\n+a\r\n+b\r\n",
        b"%1\r\n+k\r\n*0\r\n",
        b">3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nm\r\n",
        b"*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nm\r\n",
        b">4\r\n$8\r\npmessage\r\n$1\r\n*\r\n$1\r\nc\r\n$1\r\nm\r\n",
        b">3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n",
        b"|1\r\n+ttl\r\n:5\r\n*1\r\n|1\r\n+a\r\n_\r\n:1\r\n",
        b"$?\r\n;4\r\nHell\r\n;1\r\no\r\n;0\r\n",
        b"*?\r\n%?\r\n:1\r\n:2\r\n.\r\n.\r\n",
        b"+RESET\r\n",
        b"*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n~1\r\n%1\r\n+k\r\n|1\r\n+a\r\n:1\r\n>0\r\n",
    ];

    /// Lengths that a hostile server announces.
    const LENGTHS: [&str; 9] = [
        "2147483647",
        "2147483648",
        "4294967295",
        "4294967296",
        "9223372036854775807",
        "18446744073709551616",
        "-2147483648",
        "-0",
        "00000000000000000000000000000000000000001",
    ];

    fn hostile() -> impl Strategy<Value = Vec<u8>> {
        let sample = (0..SAMPLES.len()).prop_map(|index| SAMPLES[index].to_vec());
        let announced = (prop::sample::select(b"$*~%>|!=;:".to_vec()), prop::sample::select(LENGTHS.to_vec()))
            .prop_map(|(kind, length)| [&[kind][..], length.as_bytes(), b"\r\n"].concat());
        let deep = (prop::sample::select(b"*~%>|".to_vec()), 1usize..300)
            .prop_map(|(kind, depth)| [kind, b'2', b'\r', b'\n'].repeat(depth));
        let noise = prop::collection::vec(any::<u8>(), 0..40);
        prop::collection::vec(prop_oneof![6 => sample, 1 => announced, 1 => deep, 1 => noise], 0..20)
            .prop_map(|parts| parts.concat())
    }

    /// Bytes changed, put in, taken out, and the end cut off.
    fn mutated() -> impl Strategy<Value = Vec<u8>> {
        let edit = (any::<prop::sample::Index>(), any::<u8>(), 0..3u8);
        (hostile(), prop::collection::vec(edit, 0..6), any::<prop::sample::Index>()).prop_map(
            |(mut bytes, edits, cut)| {
                for (at, byte, how) in edits {
                    match (at.index(bytes.len() + 1), how) {
                        (at, 0) => bytes.insert(at, byte),
                        (at, 1) if at < bytes.len() => drop(bytes.remove(at)),
                        (at, _) if at < bytes.len() => bytes[at] = byte,
                        _ => {}
                    }
                }
                let end = cut.index(bytes.len() * 2 + 1).min(bytes.len());
                bytes.truncate(end);
                bytes
            },
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn no_server_can_make_it_panic_or_take_more_memory_than_what_it_sent_warrants(
            bytes in mutated(),
            piece in 1usize..64,
            joined: bool,
        ) {
            let memory = measure(|| drop(received(&bytes, piece, joined)));
            // The inbox, room for the frames that may be open, and what values in memory are larger than on the wire.
            let warranted = (2 * limits::CLIENT_INBOX_BYTES
                + limits::VALUE_DEPTH_MAX * (limits::VALUE_RESERVED_ELEMENTS_MAX + 4) * 32 * 2
                + bytes.len() * 100) as u64;
            prop_assert!(memory.bytes_max <= warranted, "{} of {warranted} bytes", memory.bytes_max);
        }

        #[test]
        fn how_it_is_cut_into_pieces_changes_nothing(bytes in mutated(), piece in 1usize..64, joined: bool) {
            let (values, error) = received(&bytes, bytes.len().max(1), joined);
            let (in_pieces, error_in_pieces) = received(&bytes, piece, joined);
            prop_assert_eq!(values, in_pieces);
            prop_assert_eq!(format!("{error:?}"), format!("{error_in_pieces:?}"));
        }
    }

    #[test]
    fn each_sample_is_a_value() {
        for sample in SAMPLES {
            let (values, error) = received(sample, 1, true);
            assert!(values == 1 && error.is_none(), "{}: {error:?}", sample.escape_ascii());
            let (values, error) = received(&sample[..sample.len() - 1], 1, true);
            assert!(values == 0 && error.is_none(), "{} without its end: {error:?}", sample.escape_ascii());
        }
    }
}
