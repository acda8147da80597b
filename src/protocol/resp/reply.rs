//! What a server answers: replies and pushes as RESP2 or RESP3, byte for byte as Redis 8.2.3 sends them.
//!
//! Invariant: everything written here is whole frames; an `Exec` header is the one exception, its session owes the
//! announced replies.
//! Deliberately unknown here: outboxes, and when a frame is worth sharing.

use bytes::{Bytes, BytesMut};

use super::number::{DoubleText, header};
use crate::reply::{Collection, CommandError, Confirmation, Pieces, ProtocolError, PushKind, Reply, Text};

/// Which of the two dialects a session speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Version {
    /// RESP2: what every connection starts with.
    #[default]
    Resp2,
    /// RESP3: after HELLO 3.
    Resp3,
}

impl Version {
    /// The number HELLO takes.
    pub const fn number(self) -> u8 {
        match self {
            Version::Resp2 => 2,
            Version::Resp3 => 3,
        }
    }
}

impl From<u8> for Version {
    /// 3 is RESP3, anything else what every peer understands.
    fn from(number: u8) -> Self {
        if number == 3 { Version::Resp3 } else { Version::Resp2 }
    }
}

/// Where encoded bytes go.
pub trait Output {
    /// Appends a copy of `bytes`.
    fn extend(&mut self, bytes: &[u8]);

    /// Appends a large string by handle; an output that cannot hold handles copies it.
    fn shared(&mut self, bytes: Bytes) {
        self.extend(&bytes);
    }
}

impl Output for Vec<u8> {
    #[inline]
    fn extend(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

impl Output for BytesMut {
    #[inline]
    fn extend(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

/// Writes one reply for a session that speaks RESP version `resp`, 2 or 3. Costs its bytes; [`Text::Shared`] strings
/// are handed over uncopied.
pub fn encode(reply: &Reply<'_>, resp: u8, out: &mut impl Output) {
    encode_as(reply, Version::from(resp), out);
}

fn encode_as(reply: &Reply<'_>, version: Version, out: &mut impl Output) {
    let resp3 = version == Version::Resp3;
    match reply {
        Reply::Nil => out.extend(if resp3 { b"_\r\n" } else { b"$-1\r\n" }),
        Reply::NilArray => out.extend(if resp3 { b"_\r\n" } else { b"*-1\r\n" }),
        Reply::Silent | Reply::Pending => {}
        Reply::Status(line) => simple(b'+', line.as_bytes(), out),
        Reply::Integer(number) => header(b':', *number, out),
        Reply::Double(number) if resp3 => simple(b',', DoubleText::new(*number).as_bytes(), out),
        Reply::Double(number) => bulk(DoubleText::new(*number).as_bytes(), out),
        Reply::Boolean(yes) => out.extend(match (resp3, yes) {
            (true, true) => b"#t\r\n",
            (true, false) => b"#f\r\n",
            (false, true) => b":1\r\n",
            (false, false) => b":0\r\n",
        }),
        Reply::Bulk(text) => bulk_text(text, out),
        Reply::Verbatim(text) if resp3 => {
            header(b'=', text.len() as i64 + 4, out);
            out.extend(b"txt:");
            out.extend(text.as_bytes());
            out.extend(b"\r\n");
        }
        Reply::Verbatim(text) => bulk(text.as_bytes(), out),
        Reply::Array(items) => list(b'*', items, version, out),
        Reply::Set(items) => list(set_kind(version), items, version, out),
        Reply::Map(pairs) => map(pairs, version, out),
        Reply::Members(collection, members) => {
            collection_header(*collection, members.len(), version, out);
            members.each(&mut |member| bulk(member, out));
        }
        Reply::Stream(collection, pieces) => {
            let all = 0..pieces.pieces();
            let len: usize = all.clone().map(|piece| pieces.len(piece)).sum();
            collection_header(*collection, len, version, out);
            all.for_each(|piece| pieces.each(piece, &mut |string| bulk(string, out)));
        }
        Reply::Page { cursor, items } => {
            collection_header(Collection::Page(*cursor), items.len(), version, out);
            items.iter().for_each(|item| bulk_text(item, out));
        }
        Reply::Confirmations(all) => all.iter().for_each(|one| confirmation(one, version, out)),
        Reply::Exec(count) => header(b'*', *count as i64, out),
        Reply::Error(refused) => error(refused, out),
    }
}

/// A [`Reply::Stream`] on its way: its strings are counted first, for the header tells how many they are, then written.
#[derive(Debug)]
pub struct Streamed {
    collection: Collection,
    pieces: Box<dyn Pieces>,
    version: Version,
    len: usize,
    counted: usize,
    begun: bool,
    written: usize,
}

impl Streamed {
    /// A stream of which nothing is written yet, for a session that speaks RESP version `resp`, 2 or 3.
    pub fn new(collection: Collection, pieces: Box<dyn Pieces>, resp: u8) -> Self {
        Streamed { collection, pieces, version: resp.into(), len: 0, counted: 0, begun: false, written: 0 }
    }

    /// Goes on for about `strings` strings, whether they are counted or written. True at the end.
    pub fn advance(&mut self, strings: usize, out: &mut impl Output) -> bool {
        let (all, mut seen) = (self.pieces.pieces(), 0);
        while self.counted < all {
            if seen >= strings {
                return false;
            }
            // An empty piece is some work, too.
            let len = self.pieces.len(self.counted);
            seen += len.max(PIECE_STRINGS_MIN);
            self.len += len;
            self.counted += 1;
        }
        if !std::mem::replace(&mut self.begun, true) {
            collection_header(self.collection, self.len, self.version, out);
        }
        while self.written < all && seen < strings {
            self.pieces.each(self.written, &mut |string| {
                seen += 1;
                bulk(string, out);
            });
            seen += PIECE_STRINGS_MIN;
            self.written += 1;
        }
        self.written == all
    }
}

/// What a piece is taken to cost besides its strings: the ones it was asked about and does not show.
const PIECE_STRINGS_MIN: usize = 256;

fn collection_header(collection: Collection, len: usize, version: Version, out: &mut impl Output) {
    let kind = match collection {
        Collection::Array => b'*',
        Collection::Set => set_kind(version),
        Collection::Page(cursor) => {
            out.extend(b"*2\r\n");
            bulk(itoa::Buffer::new().format(cursor).as_bytes(), out);
            b'*'
        }
    };
    header(kind, len as i64, out);
}

/// Writes one pub/sub message for a session that speaks RESP version `resp`, 2 or 3.
pub fn push(kind: &PushKind<'_>, resp: u8, out: &mut impl Output) {
    let (word, strings): (&[u8], [&[u8]; 3]) = match *kind {
        PushKind::Message { channel, payload } => (b"$7\r\nmessage\r\n", [channel, payload, b""]),
        PushKind::ShardMessage { channel, payload } => (b"$8\r\nsmessage\r\n", [channel, payload, b""]),
        PushKind::PatternMessage { pattern, channel, payload } => (b"$8\r\npmessage\r\n", [pattern, channel, payload]),
    };
    let strings = match kind {
        PushKind::PatternMessage { .. } => &strings[..],
        PushKind::Message { .. } | PushKind::ShardMessage { .. } => &strings[..2],
    };
    header(push_kind(Version::from(resp)), strings.len() as i64 + 1, out);
    out.extend(word);
    strings.iter().for_each(|string| bulk(string, out));
}

/// Tells, in RESP3, that so many messages were dropped here.
pub fn dropped(count: u64, out: &mut impl Output) {
    out.extend(b">2\r\n$14\r\ngoblin.dropped\r\n:");
    out.extend(itoa::Buffer::new().format(count).as_bytes());
    out.extend(b"\r\n");
}

/// Writes what is answered to a broken frame before the session closes; nothing when it closes without a word.
pub fn protocol_error(broken: ProtocolError, out: &mut impl Output) {
    if let Some(text) = broken.text() {
        error_line(broken.code(), &text, out);
    }
}

fn error(refused: &CommandError, out: &mut impl Output) {
    error_line(refused.code(), &refused.text(), out);
}

fn error_line(code: &str, text: &[u8], out: &mut impl Output) {
    out.extend(b"-");
    out.extend(code.as_bytes());
    out.extend(b" ");
    // What the client sent may be quoted here; its line ends must not end ours.
    for (index, part) in text.split(|byte| matches!(byte, b'\r' | b'\n')).enumerate() {
        if index > 0 {
            out.extend(b" ");
        }
        out.extend(part);
    }
    out.extend(b"\r\n");
}

fn confirmation(confirmation: &Confirmation, version: Version, out: &mut impl Output) {
    header(push_kind(version), 3, out);
    bulk(confirmation.kind.word().as_bytes(), out);
    match &confirmation.name {
        Some(name) => bulk(name, out),
        None => encode_as(&Reply::Nil, version, out),
    }
    header(b':', confirmation.count as i64, out);
}

fn list(kind: u8, items: &[Reply<'_>], version: Version, out: &mut impl Output) {
    header(kind, items.len() as i64, out);
    items.iter().for_each(|item| encode_as(item, version, out));
}

fn map(pairs: &[(Reply<'_>, Reply<'_>)], version: Version, out: &mut impl Output) {
    match version {
        Version::Resp2 => header(b'*', pairs.len() as i64 * 2, out),
        Version::Resp3 => header(b'%', pairs.len() as i64, out),
    }
    for (key, value) in pairs {
        encode_as(key, version, out);
        encode_as(value, version, out);
    }
}

fn simple(kind: u8, line: &[u8], out: &mut impl Output) {
    out.extend(&[kind]);
    out.extend(line);
    out.extend(b"\r\n");
}

fn bulk_text(text: &Text<'_>, out: &mut impl Output) {
    match text {
        Text::Borrowed(bytes) => bulk(bytes, out),
        Text::Owned(bytes) => bulk(bytes, out),
        Text::Shared(bytes) => {
            header(b'$', bytes.len() as i64, out);
            out.shared(bytes.clone());
            out.extend(b"\r\n");
        }
    }
}

#[inline]
fn bulk(bytes: &[u8], out: &mut impl Output) {
    header(b'$', bytes.len() as i64, out);
    out.extend(bytes);
    out.extend(b"\r\n");
}

fn set_kind(version: Version) -> u8 {
    match version {
        Version::Resp2 => b'*',
        Version::Resp3 => b'~',
    }
}

fn push_kind(version: Version) -> u8 {
    match version {
        Version::Resp2 => b'*',
        Version::Resp3 => b'>',
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reply::{ConfirmationKind, Members, Unknown};

    fn both(reply: Reply<'_>) -> (String, String) {
        let text = |resp| {
            let mut out = Vec::new();
            encode(&reply, resp, &mut out);
            String::from_utf8(out).unwrap()
        };
        (text(2), text(3))
    }

    fn check(reply: Reply<'_>, resp2: &str, resp3: &str) {
        assert_eq!(both(reply), (resp2.to_string(), resp3.to_string()));
    }

    #[derive(Debug)]
    struct Three;

    impl Members for Three {
        fn len(&self) -> usize {
            3
        }
        fn each(&self, visit: &mut dyn FnMut(&[u8])) {
            [&b"a"[..], b"", b"ccc"].into_iter().for_each(visit);
        }
    }

    #[test]
    fn each_kind_has_its_form_in_both_dialects() {
        check(Reply::Nil, "$-1\r\n", "_\r\n");
        check(Reply::NilArray, "*-1\r\n", "_\r\n");
        check(Reply::Silent, "", "");
        check(Reply::OK, "+OK\r\n", "+OK\r\n");
        check(Reply::Integer(i64::MIN), ":-9223372036854775808\r\n", ":-9223372036854775808\r\n");
        check(Reply::Double(3.25), "$4\r\n3.25\r\n", ",3.25\r\n");
        check(Reply::Double(f64::NEG_INFINITY), "$4\r\n-inf\r\n", ",-inf\r\n");
        check(Reply::Boolean(true), ":1\r\n", "#t\r\n");
        check(Reply::Boolean(false), ":0\r\n", "#f\r\n");
        check(Reply::bulk(b""), "$0\r\n\r\n", "$0\r\n\r\n");
        check(Reply::Bulk(Text::Shared(Bytes::from_static(b"ab"))), "$2\r\nab\r\n", "$2\r\nab\r\n");
        let verbatim = "This is a verbatim\nstring";
        check(
            Reply::Verbatim(verbatim.to_string()),
            &format!("$25\r\n{verbatim}\r\n"),
            &format!("=29\r\ntxt:{verbatim}\r\n"),
        );
        let items = || vec![Reply::Integer(1), Reply::Nil];
        check(Reply::Array(items()), "*2\r\n:1\r\n$-1\r\n", "*2\r\n:1\r\n_\r\n");
        check(Reply::Set(items()), "*2\r\n:1\r\n$-1\r\n", "~2\r\n:1\r\n_\r\n");
        let pairs = vec![(Reply::Integer(0), Reply::Boolean(false)), (Reply::Integer(1), Reply::Boolean(true))];
        check(Reply::Map(pairs), "*4\r\n:0\r\n:0\r\n:1\r\n:1\r\n", "%2\r\n:0\r\n#f\r\n:1\r\n#t\r\n");
        check(Reply::Exec(3), "*3\r\n", "*3\r\n");
    }

    #[test]
    fn collections_stream_their_members() {
        let members = "3\r\n$1\r\na\r\n$0\r\n\r\n$3\r\nccc\r\n";
        let (array, set) = (format!("*{members}"), format!("~{members}"));
        check(Reply::Members(Collection::Array, Box::new(Three)), &array, &array);
        check(Reply::Stream(Collection::Set, Box::new(Hundreds(0))), "*0\r\n", "~0\r\n");
        check(Reply::Members(Collection::Set, Box::new(Three)), &array, &set);
    }

    #[test]
    fn pages_give_their_cursor_as_text() {
        let page = Reply::Page { cursor: u64::MAX, items: vec![Text::Borrowed(b"a")] };
        let text = "*2\r\n$20\r\n18446744073709551615\r\n*1\r\n$1\r\na\r\n";
        check(page, text, text);
        check(Reply::Page { cursor: 0, items: Vec::new() }, "*2\r\n$1\r\n0\r\n*0\r\n", "*2\r\n$1\r\n0\r\n*0\r\n");
    }

    #[test]
    fn line_ends_inside_an_error_are_blanked() {
        let unknown = Unknown { name: b"a\r\nb".to_vec(), args: vec![b"c\nd".to_vec()] };
        let text = "-ERR unknown command 'a  b', with args beginning with: 'c d' \r\n";
        check(Reply::Error(CommandError::UnknownCommand(Box::new(unknown))), text, text);
        let text = "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n";
        check(Reply::Error(CommandError::WrongType), text, text);
    }

    #[test]
    fn confirmations_are_pushes_in_resp3() {
        let one = |kind, name: Option<&[u8]>, count| Confirmation {
            kind,
            name: name.map(<[u8]>::to_vec),
            count,
            numbers: None,
        };
        check(
            Reply::Confirmations(vec![
                one(ConfirmationKind::Subscribe, Some(b"a"), 1),
                one(ConfirmationKind::SUnsubscribe, None, 0),
            ]),
            "*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n*3\r\n$12\r\nsunsubscribe\r\n$-1\r\n:0\r\n",
            ">3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n>3\r\n$12\r\nsunsubscribe\r\n_\r\n:0\r\n",
        );
    }

    #[test]
    fn messages_differ_in_their_first_byte_only() {
        let (channel, payload, pattern) = (&b"ch"[..], &b"hello"[..], &b"c*"[..]);
        let kinds = [
            (PushKind::Message { channel, payload }, "3\r\n$7\r\nmessage\r\n$2\r\nch\r\n$5\r\nhello\r\n"),
            (PushKind::ShardMessage { channel, payload }, "3\r\n$8\r\nsmessage\r\n$2\r\nch\r\n$5\r\nhello\r\n"),
            (
                PushKind::PatternMessage { pattern, channel, payload },
                "4\r\n$8\r\npmessage\r\n$2\r\nc*\r\n$2\r\nch\r\n$5\r\nhello\r\n",
            ),
        ];
        for (kind, text) in kinds {
            for (resp, first) in [(2, "*"), (3, ">")] {
                let mut out = Vec::new();
                push(&kind, resp, &mut out);
                assert_eq!(String::from_utf8(out).unwrap(), format!("{first}{text}"));
            }
        }
    }

    #[test]
    fn broken_frames_are_answered_in_one_line_or_not_at_all() {
        let line = |broken| {
            let mut out = Vec::new();
            protocol_error(broken, &mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(line(ProtocolError::BulkLength), "-ERR Protocol error: invalid bulk length\r\n");
        assert_eq!(line(ProtocolError::ExpectedBulk(b'\r')), "-ERR Protocol error: expected '$', got ' '\r\n");
        assert_eq!(line(ProtocolError::Http), "");
    }

    #[test]
    fn large_strings_are_handed_over_not_copied() {
        #[derive(Default)]
        struct Parts(Vec<u8>, Vec<Bytes>);
        impl Output for Parts {
            fn extend(&mut self, bytes: &[u8]) {
                self.0.extend_from_slice(bytes);
            }
            fn shared(&mut self, bytes: Bytes) {
                self.1.push(bytes);
            }
        }
        let large = Bytes::from(vec![b'x'; 100_000]);
        let mut parts = Parts::default();
        encode(&Reply::Bulk(Text::Shared(large.clone())), 2, &mut parts);
        assert_eq!(parts.0, b"$100000\r\n\r\n");
        assert_eq!(parts.1[0].as_ptr(), large.as_ptr());
    }

    /// So many pieces, of which each third is empty and the others hold their number a hundred times.
    #[derive(Debug)]
    struct Hundreds(usize);

    impl Pieces for Hundreds {
        fn pieces(&self) -> usize {
            self.0
        }

        fn len(&self, piece: usize) -> usize {
            if piece.is_multiple_of(3) { 0 } else { 100 }
        }

        fn each(&self, piece: usize, visit: &mut dyn FnMut(&[u8])) {
            (0..self.len(piece)).for_each(|_| visit(piece.to_string().as_bytes()));
        }
    }

    #[test]
    fn a_stream_told_in_pieces_is_what_it_is_at_once() {
        for (pieces, resp) in [(0, 2), (1, 3), (2, 2), (50, 2), (50, 3)] {
            let mut whole = Vec::new();
            encode(&Reply::Stream(Collection::Set, Box::new(Hundreds(pieces))), resp, &mut whole);
            for strings in [1, 300, 1_000_000] {
                let mut stream = Streamed::new(Collection::Set, Box::new(Hundreds(pieces)), resp);
                let (mut told, mut steps, mut longest) = (Vec::new(), 1, 0);
                loop {
                    let before = told.len();
                    let done = stream.advance(strings, &mut told);
                    longest = longest.max(told.len() - before);
                    if done {
                        break;
                    }
                    steps += 1;
                }
                assert!(told == whole, "{pieces} pieces, {strings} at once");
                assert!(strings > 300 || longest < 300 * 10, "{longest} bytes in one step");
                assert!(steps < 200, "{steps} steps");
            }
        }
    }
}
