//! What clients send: arrays of bulk strings, and inline lines.
//!
//! ```text
//! *2 CR LF  $3 CR LF  GET CR LF  $1 CR LF  k CR LF      position: first byte not yet understood
//!           └─ line ┘ └span┘                            remaining: arguments still to come
//! ```
//!
//! Invariant: an argument is never copied here; only a line with quotes is, for its words are not in the buffer.
//! Invariant: a request that arrives in pieces gives what it gives in one piece, and all its pieces together are read
//! once: what was understood of an incomplete request is remembered, not read again.
//! Invariant: nothing is reserved for what is only announced.
//! Deliberately unknown here: which commands exist, how the bytes arrive.

use super::inline::{self, Words};
use super::short_length;
use crate::command::{OwnedArgs, Span, parse_integer};
use crate::limits;
use crate::reply::ProtocolError;

/// What a session takes from its peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Arguments of one request, name included; at most `i32::MAX`.
    pub arguments_max: u32,
    /// Bytes of one argument: `proto-max-bulk-len`.
    pub bulk_bytes_max: u64,
    /// The peer must log in first: only short requests are taken.
    pub before_login: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            arguments_max: limits::REQUEST_ARGUMENTS_MAX,
            bulk_bytes_max: limits::REQUEST_BULK_BYTES_MAX,
            before_login: false,
        }
    }
}

/// What [`Decoder::decode`] found.
#[derive(Debug)]
pub enum Decoded {
    /// A request whose arguments are `spans[first_span..]`; the next one begins at `end`.
    Request {
        /// Offset behind the request's last byte.
        end: usize,
        /// Index of its first span, the command's name.
        first_span: usize,
    },
    /// An inline request with quotes: its words are not in the buffer.
    Inline {
        /// Offset behind the request's last byte.
        end: usize,
        /// The words, name first.
        args: OwnedArgs,
    },
    /// More bytes are needed. All before `start` is done with; keep the bytes from `start` on, and hand them in again
    /// with more behind them.
    Incomplete {
        /// Offset of the incomplete request's first byte; the buffer's length when there is none.
        start: usize,
    },
}

/// Reads requests from a session's buffer. One word while no large request is on its way.
#[derive(Debug, Default)]
pub struct Decoder {
    partial: Option<Box<Partial>>,
}

/// What is known of a request whose end has not arrived.
#[derive(Debug)]
struct Partial {
    progress: Progress,
    /// Relative to the request's first byte, for the caller moves it to another offset.
    spans: Vec<Span>,
}

/// How far a request was read; offsets count from its first byte.
#[derive(Debug, Clone, Copy, Default)]
struct Progress {
    /// First byte not yet understood.
    position: usize,
    /// Up to here there is no line end.
    searched: usize,
    /// Arguments still to come; none while their count is not known.
    remaining: Option<u32>,
    /// Length of the argument at `position`, when its line was read.
    bulk: Option<u32>,
}

enum Step {
    Request { end: usize },
    Inline { end: usize, args: OwnedArgs },
    Ignored { end: usize },
    Incomplete,
}

enum Line {
    Ends { at: usize },
    Incomplete,
    TooLong,
}

impl Decoder {
    /// Reads the next request at `from` of `buf` and appends its argument spans, relative to `buf`, to `spans`.
    /// Empty lines and requests without arguments are skipped. Costs one pass over lengths and lines; argument bytes
    /// are not looked at.
    ///
    /// After [`Decoded::Incomplete`] the next call must find the same request's first byte at its `from`.
    ///
    /// # Errors
    /// The peer broke the framing: answer, then close. `spans` is as it was, the decoder as new.
    #[inline]
    pub fn decode(
        &mut self,
        buf: &[u8],
        from: usize,
        limits: &Limits,
        spans: &mut Vec<Span>,
    ) -> Result<Decoded, ProtocolError> {
        let first_span = spans.len();
        let decoded = self.decode_next(buf, from, limits, spans);
        if decoded.is_err() {
            self.partial = None;
            spans.truncate(first_span);
        }
        decoded
    }

    /// Bytes held on the heap for a request on its way.
    pub fn heap_bytes(&self) -> usize {
        self.partial.as_ref().map_or(0, |partial| size_of::<Partial>() + partial.spans.capacity() * size_of::<Span>())
    }

    #[inline]
    fn decode_next(
        &mut self,
        buf: &[u8],
        from: usize,
        limits: &Limits,
        spans: &mut Vec<Span>,
    ) -> Result<Decoded, ProtocolError> {
        if buf.len() > u32::MAX as usize {
            return Err(ProtocolError::RequestBytes);
        }
        let first_span = spans.len();
        let mut start = from;
        while start < buf.len() {
            let step = match self.partial.take() {
                Some(partial) => self.resume(partial, buf, start, limits, spans)?,
                None => self.begin(buf, start, limits, spans)?,
            };
            match step {
                Step::Request { end } => {
                    let name = spans[first_span];
                    refuse_http(&buf[name.start as usize..][..name.len as usize])?;
                    return Ok(Decoded::Request { end: start + end, first_span });
                }
                Step::Inline { end, args } => {
                    refuse_http(args.as_args().get(0).unwrap_or(b""))?;
                    return Ok(Decoded::Inline { end: start + end, args });
                }
                Step::Ignored { end } => start += end,
                Step::Incomplete => return Ok(Decoded::Incomplete { start }),
            }
        }
        Ok(Decoded::Incomplete { start: buf.len() })
    }

    #[inline]
    fn begin(
        &mut self,
        buf: &[u8],
        start: usize,
        limits: &Limits,
        spans: &mut Vec<Span>,
    ) -> Result<Step, ProtocolError> {
        let first_span = spans.len();
        let mut progress = Progress::default();
        let step = progress.read(&buf[start..], start as u32, limits, spans)?;
        if let Step::Incomplete = step {
            if progress.position.max(progress.searched) >= limits::REQUEST_REREAD_BYTES_MAX {
                let relative = |span: &Span| Span { start: span.start - start as u32, len: span.len };
                let spans = spans[first_span..].iter().map(relative).collect();
                self.partial = Some(Box::new(Partial { progress, spans }));
            }
            spans.truncate(first_span);
        }
        Ok(step)
    }

    #[cold]
    fn resume(
        &mut self,
        mut partial: Box<Partial>,
        buf: &[u8],
        start: usize,
        limits: &Limits,
        spans: &mut Vec<Span>,
    ) -> Result<Step, ProtocolError> {
        let step = partial.progress.read(&buf[start..], 0, limits, &mut partial.spans)?;
        if let Step::Incomplete = step {
            self.partial = Some(partial);
        } else {
            let absolute = |span: &Span| Span { start: span.start + start as u32, len: span.len };
            spans.extend(partial.spans.iter().map(absolute));
        }
        Ok(step)
    }
}

impl Progress {
    /// Reads on in `request`, which lies at `base` of the buffer the spans are for.
    #[inline]
    fn read(
        &mut self,
        request: &[u8],
        base: u32,
        limits: &Limits,
        spans: &mut Vec<Span>,
    ) -> Result<Step, ProtocolError> {
        let before = self.position.max(self.searched);
        let step = match request[0] {
            b'*' => self.read_array(request, base, limits, spans),
            _ => self.read_inline(request, base, spans),
        };
        work::looked_at(self.position.max(self.searched) - before);
        step
    }

    #[inline]
    fn read_array(
        &mut self,
        request: &[u8],
        base: u32,
        limits: &Limits,
        spans: &mut Vec<Span>,
    ) -> Result<Step, ProtocolError> {
        let mut remaining = match self.remaining {
            Some(remaining) => remaining,
            None => match self.read_count(request, limits)? {
                Some(0) => return Ok(Step::Ignored { end: self.position }),
                Some(count) => count,
                None => return Ok(Step::Incomplete),
            },
        };
        while remaining > 0 {
            let Some(len) = self.read_bulk_length(request, limits)? else {
                self.remaining = Some(remaining);
                return Ok(Step::Incomplete);
            };
            let end = self.position + len as usize;
            if request.len() < end + 2 {
                self.bulk = Some(len);
                self.remaining = Some(remaining);
                return Ok(Step::Incomplete);
            }
            spans.push(Span { start: base + self.position as u32, len });
            // Any two bytes pass for the line end behind an argument, as in Redis.
            self.position = end + 2;
            remaining -= 1;
        }
        Ok(Step::Request { end: self.position })
    }

    /// The number of arguments; 0 when the request is to be ignored, none when its line has not arrived.
    #[inline]
    fn read_count(&mut self, request: &[u8], limits: &Limits) -> Result<Option<u32>, ProtocolError> {
        let count = match short_length(&request[1..]) {
            Some((count, used)) => {
                self.position = 1 + used;
                count
            }
            None => match self.read_line(request, b'\r') {
                Line::Ends { at } => match parse_integer(&request[1..at]).map(|count| u32::try_from(count.max(0))) {
                    Some(Ok(count)) => count,
                    _ => return Err(ProtocolError::MultibulkLength),
                },
                Line::Incomplete => return Ok(None),
                Line::TooLong => return Err(ProtocolError::MultibulkLine),
            },
        };
        if count > limits.arguments_max {
            return Err(ProtocolError::MultibulkLength);
        }
        if limits.before_login && count > limits::UNAUTHENTICATED_ARGUMENTS_MAX {
            return Err(ProtocolError::UnauthenticatedMultibulk);
        }
        Ok(Some(count))
    }

    /// The length of the next argument, which then begins at `position`; none when its line has not arrived.
    #[inline]
    fn read_bulk_length(&mut self, request: &[u8], limits: &Limits) -> Result<Option<u32>, ProtocolError> {
        if let Some(len) = self.bulk.take() {
            return Ok(Some(len));
        }
        let line = &request[self.position..];
        let len = match line {
            [b'$', digits @ ..] => short_length(digits),
            _ => None,
        };
        let len = match len {
            Some((len, used)) => {
                self.position += 1 + used;
                len
            }
            None => match self.read_line(request, b'\r') {
                Line::Ends { at } => bulk_length(&line[..line.len() - (request.len() - at)])?,
                Line::Incomplete => return Ok(None),
                Line::TooLong => return Err(ProtocolError::BulkLine),
            },
        };
        if u64::from(len) > limits.bulk_bytes_max {
            return Err(ProtocolError::BulkLength);
        }
        if limits.before_login && len > limits::UNAUTHENTICATED_BULK_BYTES_MAX {
            return Err(ProtocolError::UnauthenticatedBulk);
        }
        Ok(Some(len))
    }

    fn read_inline(&mut self, request: &[u8], base: u32, spans: &mut Vec<Span>) -> Result<Step, ProtocolError> {
        let at = match self.read_line(request, b'\n') {
            Line::Ends { at } => at,
            Line::Incomplete => return Ok(Step::Incomplete),
            Line::TooLong => return Err(ProtocolError::InlineLine),
        };
        let line = &request[..at];
        let before = spans.len();
        match inline::split(line.strip_suffix(b"\r").unwrap_or(line), base, spans)? {
            Words::Copied(args) => Ok(Step::Inline { end: at + 1, args }),
            Words::InPlace if spans.len() == before => Ok(Step::Ignored { end: at + 1 }),
            Words::InPlace => Ok(Step::Request { end: at + 1 }),
        }
    }

    /// Looks for the end of the line at `position` and steps over it: LF for an inline request, else CR and any byte.
    ///
    /// A NUL hides all that follows it, as in Redis: such a line ends only by growing too long.
    fn read_line(&mut self, request: &[u8], end: u8) -> Line {
        let width = if end == b'\n' { 1 } else { 2 };
        let bound = request.len().min(self.position + limits::REQUEST_LINE_BYTES_MAX + 1);
        let from = self.searched.clamp(self.position, bound);
        let found = memchr::memchr2(end, 0, &request[from..bound]).map(|skipped| from + skipped);
        match found {
            Some(at) if request[at] == end => {
                self.searched = at;
                if request.len() < at + width {
                    return Line::Incomplete;
                }
                self.position = at + width;
                Line::Ends { at }
            }
            _ if request.len() - self.position > limits::REQUEST_LINE_BYTES_MAX => Line::TooLong,
            found => {
                self.searched = found.unwrap_or(bound);
                Line::Incomplete
            }
        }
    }
}

/// Reads `$` and a length, without the line end.
fn bulk_length(line: &[u8]) -> Result<u32, ProtocolError> {
    match line {
        [b'$', digits @ ..] => {
            parse_integer(digits).and_then(|len| u32::try_from(len).ok()).ok_or(ProtocolError::BulkLength)
        }
        // An empty line shows the CR that ended it.
        other => Err(ProtocolError::ExpectedBulk(other.first().copied().unwrap_or(b'\r'))),
    }
}

/// The first word of a browser's request line, or of the header that every one of its requests has.
#[inline]
fn refuse_http(name: &[u8]) -> Result<(), ProtocolError> {
    let http = match name.len() {
        4 => name.eq_ignore_ascii_case(b"post"),
        5 => name.eq_ignore_ascii_case(b"host:"),
        _ => false,
    };
    if http { Err(ProtocolError::Http) } else { Ok(()) }
}

const _: () = assert!(size_of::<Decoder>() == 8);

/// Counts bytes looked at, in tests.
mod work {
    #[cfg(not(test))]
    #[inline]
    pub(super) fn looked_at(_bytes: usize) {}

    #[cfg(test)]
    pub(super) fn looked_at(bytes: usize) {
        LOOKED_AT.set(LOOKED_AT.get() + bytes);
    }

    #[cfg(test)]
    thread_local! {
        pub(super) static LOOKED_AT: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::command::Args;

    type Words = Vec<Vec<u8>>;

    /// A session's reading side: keeps what is incomplete, as the decoder asks for it.
    #[derive(Default)]
    struct Peer {
        decoder: Decoder,
        limits: Limits,
        buf: Vec<u8>,
        spans: Vec<Span>,
        requests: Vec<Words>,
        broken: Option<ProtocolError>,
    }

    impl Peer {
        fn receive(&mut self, bytes: &[u8]) {
            if self.broken.is_some() {
                return;
            }
            self.buf.extend_from_slice(bytes);
            self.spans.clear();
            let mut from = 0;
            let mut window = Vec::new();
            loop {
                match self.decoder.decode(&self.buf, from, &self.limits, &mut self.spans) {
                    Ok(Decoded::Request { end, first_span }) => {
                        window.push(first_span);
                        from = end;
                    }
                    Ok(Decoded::Inline { end, args }) => {
                        self.take(&window);
                        window.clear();
                        self.spans.clear();
                        self.requests.push(args.as_args().iter().map(<[u8]>::to_vec).collect());
                        from = end;
                    }
                    Ok(Decoded::Incomplete { start }) => {
                        self.take(&window);
                        self.buf.drain(..start);
                        return;
                    }
                    Err(broken) => {
                        self.take(&window);
                        self.broken = Some(broken);
                        return;
                    }
                }
            }
        }

        /// Reads the window only once all of it was decoded, as a session does.
        fn take(&mut self, window: &[usize]) {
            for (index, &first) in window.iter().enumerate() {
                let last = window.get(index + 1).copied().unwrap_or(self.spans.len());
                let args = Args::new(&self.buf, &self.spans[first..last]);
                self.requests.push(args.iter().map(<[u8]>::to_vec).collect());
            }
        }
    }

    fn whole(bytes: &[u8], limits: Limits) -> Peer {
        let mut peer = Peer { limits, ..Peer::default() };
        peer.receive(bytes);
        peer
    }

    fn broken(bytes: &[u8]) -> Option<ProtocolError> {
        whole(bytes, Limits::default()).broken
    }

    fn request(words: &[&[u8]]) -> Vec<u8> {
        let mut bytes = Vec::new();
        super::super::encode_request(words, &mut bytes);
        bytes
    }

    #[test]
    fn every_cut_gives_the_same_requests() {
        let mut bytes = b"\r\n*0\r\nping  \"a b\" c\r\n*-5\r\nget k\n".to_vec();
        bytes.extend(request(&[b"SET", b"", b"a\r\n$3\r\n"]));
        bytes.extend(request(&[b"MGET", &[b'x'; 300], b"y"]));
        bytes.extend(request(&[b"PING"]));
        let expected = whole(&bytes, Limits::default()).requests;
        assert_eq!(expected.len(), 5);
        assert_eq!(expected[0], [&b"ping"[..], b"a b", b"c"]);
        assert_eq!(expected[2], [&b"SET"[..], b"", b"a\r\n$3\r\n"]);
        for cut in 0..=bytes.len() {
            let mut peer = Peer::default();
            peer.receive(&bytes[..cut]);
            peer.receive(&bytes[cut..]);
            assert_eq!(peer.requests, expected, "cut at {cut}");
            assert!(peer.buf.is_empty());
        }
    }

    #[test]
    fn broken_frames_are_told_apart() {
        use ProtocolError::*;
        let long = |prefix: &[u8], len: usize| [prefix, &vec![b'1'; len]].concat();
        let seen = [
            (b"*x\r\n".to_vec(), Some(MultibulkLength)),
            (b"*\r\n".to_vec(), Some(MultibulkLength)),
            (b"*+1\r\n".to_vec(), Some(MultibulkLength)),
            (b"*01\r\n".to_vec(), Some(MultibulkLength)),
            (b"* 1\r\n".to_vec(), Some(MultibulkLength)),
            (b"*-0\r\n".to_vec(), Some(MultibulkLength)),
            (b"*2147483647\r\n".to_vec(), None),
            (b"*2147483648\r\n".to_vec(), Some(MultibulkLength)),
            (b"*-9223372036854775808\r\n".to_vec(), None),
            (b"*-9223372036854775809\r\n".to_vec(), Some(MultibulkLength)),
            (b"*20000000000000000000\r\n".to_vec(), Some(MultibulkLength)),
            (b"*1\r\n:4\r\n".to_vec(), Some(ExpectedBulk(b':'))),
            (b"*1\r\n\r\n".to_vec(), Some(ExpectedBulk(b'\r'))),
            (b"*1\r\n\n\r\n".to_vec(), Some(ExpectedBulk(b'\n'))),
            (b"*1\r$4\r\nPING\r\n".to_vec(), Some(ExpectedBulk(b'4'))),
            (b"*1\rX$4\rXPINGXX".to_vec(), None),
            (b"*1\r\n$-1\r\n".to_vec(), Some(BulkLength)),
            (b"*1\r\n$-2\r\n".to_vec(), Some(BulkLength)),
            (b"*1\r\n$\r\n".to_vec(), Some(BulkLength)),
            (b"*1\r\n$4x\r\n".to_vec(), Some(BulkLength)),
            (b"*1\r\n$04\r\n".to_vec(), Some(BulkLength)),
            (b"*1\r\n$536870912\r\n".to_vec(), None),
            (b"*1\r\n$536870913\r\n".to_vec(), Some(BulkLength)),
            (b"*1\r\n$9223372036854775807\r\n".to_vec(), Some(BulkLength)),
            (b"*1\r\n$9223372036854775808\r\n".to_vec(), Some(BulkLength)),
            (b"set a \"b\r\n".to_vec(), Some(UnbalancedQuotes)),
            (b"*1\0\r\n".to_vec(), None),
            (b"*1\r\n\0\r\n".to_vec(), None),
            (b"ping a\0b c\r\n".to_vec(), None),
            (long(b"*", 65_535), None),
            (long(b"*", 65_536), Some(MultibulkLine)),
            (long(b"*1\r\n$", 65_535), None),
            (long(b"*1\r\n$", 65_536), Some(BulkLine)),
            (long(b"", 65_536), None),
            (long(b"", 65_537), Some(InlineLine)),
            (long(b"\0\n", 65_535), Some(InlineLine)),
            (b"POST / HTTP/1.1\r\nHost: x\r\n\r\nFLUSHALL\r\n".to_vec(), Some(Http)),
            (b"\"host:\" x\r\n".to_vec(), Some(Http)),
            (request(&[b"post"]), Some(Http)),
            (b"Host:x\r\n".to_vec(), None),
            (request(&[b"Host", b":"]), None),
        ];
        for (bytes, expected) in seen {
            assert_eq!(broken(&bytes), expected, "{}", bytes[..bytes.len().min(40)].escape_ascii());
        }
    }

    #[test]
    fn what_follows_an_argument_never_starts_a_command() {
        let peer = whole(b"*1\r\n$4\r\nPINGXX*1\r\n$4\r\nECHO\r\n", Limits::default());
        assert_eq!(peer.requests, [[b"PING".to_vec()], [b"ECHO".to_vec()]]);
    }

    #[test]
    fn what_came_before_a_broken_frame_is_kept() {
        let bytes = [&request(&[b"PING"])[..], b"*1\r\nfoo\r\n", &request(&[b"PING"])].concat();
        let peer = whole(&bytes, Limits::default());
        assert_eq!(peer.requests, [[b"PING".to_vec()]]);
        assert_eq!(peer.broken, Some(ProtocolError::ExpectedBulk(b'f')));
    }

    #[test]
    fn before_login_requests_are_short() {
        let limits = Limits { before_login: true, ..Limits::default() };
        let seen = [
            (&b"*10\r\n"[..], None),
            (b"*11\r\n", Some(ProtocolError::UnauthenticatedMultibulk)),
            (b"*2147483648\r\n", Some(ProtocolError::MultibulkLength)),
            (b"*1\r\n$16384\r\n", None),
            (b"*1\r\n$16385\r\n", Some(ProtocolError::UnauthenticatedBulk)),
            (b"*1\r\n$536870913\r\n", Some(ProtocolError::BulkLength)),
            (b"a b c d e f g h i j k l m n\r\n", None),
        ];
        for (bytes, expected) in seen {
            assert_eq!(whole(bytes, limits).broken, expected);
        }
    }

    #[test]
    fn announcing_much_costs_what_was_sent() {
        let mut peer = Peer::default();
        peer.receive(b"*1048576\r\n$536870912\r\n");
        assert_eq!(peer.decoder.heap_bytes(), 0);
        peer.receive(&[b'x'; 4096]);
        assert!(peer.decoder.heap_bytes() < 128);
        assert_eq!(peer.spans.capacity(), 0);
    }

    #[test]
    fn a_million_arguments_in_pieces_are_read_once() {
        let words: Vec<&[u8]> = std::iter::repeat_n(&b"a"[..], 1_000_000).collect();
        let bytes = request(&words);
        let mut peer = Peer::default();
        work::LOOKED_AT.set(0);
        for piece in bytes.chunks(1024) {
            peer.receive(piece);
        }
        assert_eq!(peer.requests[0].len(), 1_000_000);
        assert!(work::LOOKED_AT.get() <= bytes.len() + 2 * limits::REQUEST_REREAD_BYTES_MAX);
        assert_eq!(peer.decoder.heap_bytes(), 0);
    }

    #[test]
    fn an_endless_line_in_pieces_is_searched_once() {
        let mut peer = Peer::default();
        work::LOOKED_AT.set(0);
        for _ in 0..8_000 {
            peer.receive(b"12345678");
        }
        assert_eq!(peer.broken, None);
        let reread = limits::REQUEST_REREAD_BYTES_MAX * limits::REQUEST_REREAD_BYTES_MAX / 8;
        assert!(work::LOOKED_AT.get() <= 64_000 + reread, "{}", work::LOOKED_AT.get());
    }

    /// Pieces of the language, so that random input gets past the first byte.
    fn fragment() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![
            proptest::collection::vec(any::<u8>(), 0..8),
            proptest::sample::select(
                [
                    &b"*"[..],
                    b"$",
                    b"\r\n",
                    b"\n",
                    b"1",
                    b"2",
                    b"0",
                    b"-1",
                    b"*1\r\n",
                    b"*2\r\n$1\r\na\r\n",
                    b"$4\r\nPING\r\n"
                ]
                .map(<[u8]>::to_vec)
                .to_vec()
            ),
            proptest::sample::select(
                [&b"\""[..], b"'", b"\\", b"\\x4", b" ", b"get k\r\n", b"\0"].map(<[u8]>::to_vec).to_vec()
            ),
            (250usize..300).prop_map(|len| vec![b'z'; len]),
        ]
    }

    proptest! {
        #[test]
        fn garbage_means_the_same_in_any_pieces(
            fragments in proptest::collection::vec(fragment(), 0..40),
            piece in 1usize..600,
        ) {
            let bytes = fragments.concat();
            let expected = whole(&bytes, Limits::default());
            let mut peer = Peer::default();
            for piece in bytes.chunks(piece) {
                peer.receive(piece);
                prop_assert!(peer.decoder.heap_bytes() <= 512 + 8 * bytes.len());
            }
            prop_assert_eq!(peer.requests, expected.requests);
            prop_assert_eq!(peer.broken, expected.broken);
        }

        #[test]
        fn requests_come_back_as_they_were_sent(
            sent in proptest::collection::vec(
                proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..400), 1..6),
                0..12,
            ),
            piece in 1usize..2000,
        ) {
            let mut bytes = Vec::new();
            for words in &sent {
                super::super::encode_request(words, &mut bytes);
            }
            let mut peer = Peer::default();
            for piece in bytes.chunks(piece) {
                peer.receive(piece);
            }
            prop_assert_eq!(peer.broken, None);
            prop_assert_eq!(peer.requests, sent);
        }
    }
}
