//! Requests decoded together, of either protocol.
//!
//! Invariant: a window ends behind a request that may change how the next one is read.
//! Deliberately unknown here: who sent them, and what becomes of them.

use crate::command::{Args, CommandId, Flags, OwnedArgs, Request, Span, Spec};
use crate::limits::{FRAME_WORDS_BYTES_MAX, TURN_COMMANDS_MAX};
use crate::protocol::ProtocolError;
use crate::protocol::resp::{Decoded, Decoder, Limits};
use crate::protocol::sbe::{Form, Framed, Words, frame_at};
use crate::reply::CommandError;

/// Requests decoded together, and the memory for them, lent from turn to turn.
#[derive(Default)]
pub(super) struct Window {
    spans: Vec<Span>,
    /// What the spans of SBE requests are of.
    words: Words,
    requests: Vec<Entry>,
    /// Where the first request begins that is not complete.
    start: usize,
    /// Decoding stopped before the bytes did.
    ended_early: bool,
}

/// One decoded request: its spans are `first..last` of the window's, and its bytes end at `end`.
struct Entry {
    first: usize,
    last: usize,
    end: usize,
    source: Source,
    spec: Result<&'static Spec, CommandError>,
}

/// Where a request's words lie.
enum Source {
    /// Where they arrived.
    Arrival,
    /// An inline request whose quoting had to be undone.
    Unquoted(OwnedArgs),
    /// An SBE request, and how it is answered.
    Words(Form),
}

impl Window {
    /// How many requests there are.
    pub(super) fn len(&self) -> usize {
        self.requests.len()
    }

    /// Where the first request begins that is not complete.
    pub(super) fn start(&self) -> usize {
        self.start
    }

    /// True when there may be more requests in the bytes.
    pub(super) fn ended_early(&self) -> bool {
        self.ended_early
    }

    /// Offset behind a request.
    pub(super) fn end_of(&self, at: usize) -> usize {
        self.requests[at].end
    }

    /// How an SBE request is answered.
    pub(super) fn form(&self, at: usize) -> Option<Form> {
        match self.requests[at].source {
            Source::Words(form) => Some(form),
            Source::Arrival | Source::Unquoted(_) => None,
        }
    }

    /// Decodes up to a window of RESP requests from `from` on. An error is returned for after they were executed.
    pub(super) fn fill(
        &mut self,
        decoder: &mut Decoder,
        bytes: &[u8],
        from: usize,
        limits: &Limits,
    ) -> Option<ProtocolError> {
        self.begin(bytes.len());
        let mut at = from;
        while at < bytes.len() {
            let first = self.spans.len();
            let (end, source) = match decoder.decode(bytes, at, limits, &mut self.spans) {
                Ok(Decoded::Request { end, .. }) => (end, Source::Arrival),
                Ok(Decoded::Inline { end, args }) => (end, Source::Unquoted(args)),
                Ok(Decoded::Incomplete { start }) => {
                    self.start = start;
                    return None;
                }
                Err(error) => return Some(error),
            };
            let last = self.spans.len();
            let args = match &source {
                Source::Unquoted(owned) => owned.as_args(),
                Source::Arrival | Source::Words(_) => Args::new(bytes, &self.spans[first..last]),
            };
            let spec = Request::resolve(args).spec;
            at = end;
            if self.add(Entry { first, last, end, source, spec }) {
                return None;
            }
        }
        None
    }

    /// The same of SBE requests. A frame that holds none is one whose command cannot be found.
    pub(super) fn fill_frames(
        &mut self,
        bytes: &[u8],
        from: usize,
        limits: &Limits,
        frame_bytes_max: u32,
    ) -> Option<ProtocolError> {
        self.begin(bytes.len());
        self.words.bytes.clear();
        let mut at = from;
        while at < bytes.len() {
            let (message, end) = match frame_at(bytes, at, frame_bytes_max) {
                Ok(Framed::Whole { message, end }) => (message, end),
                Ok(Framed::Incomplete) => {
                    self.start = at;
                    return None;
                }
                Err(error) => return Some(error),
            };
            let first = self.spans.len();
            let (form, spec) = self.decode_message(message, limits);
            let last = self.spans.len();
            at = end;
            let is_full = self.words.bytes.len() >= FRAME_WORDS_BYTES_MAX;
            if self.add(Entry { first, last, end, source: Source::Words(form), spec }) || is_full {
                self.ended_early = true;
                return None;
            }
        }
        None
    }

    fn decode_message(&mut self, message: &[u8], limits: &Limits) -> (Form, Result<&'static Spec, CommandError>) {
        let first = self.spans.len();
        let decoded = match self.words.decode(message, &mut self.spans) {
            Ok(decoded) => decoded,
            Err(fault) => return (Form::Plain, Err(CommandError::Frame(fault))),
        };
        let spans = &self.spans[first..];
        let args = Args::new(&self.words.bytes, spans);
        let spec = match decoded.spec {
            _ if spans.iter().any(|span| u64::from(span.len) > limits.bulk_bytes_max) => {
                Err(CommandError::StringTooLong)
            }
            // Hello has words of its own.
            Some(spec) if decoded.form == Form::Greeting || spec.takes(args.len()) && !spec.is_container() => Ok(spec),
            Some(_) | None => Request::resolve(args).spec,
        };
        let form = match (decoded.form, &spec) {
            (Form::Pubsub, Ok(spec)) if spec.id == CommandId::PUBSUB_NUMSUB => Form::Subscribers,
            (Form::Pubsub, _) => Form::Plain,
            (form, _) => form,
        };
        (form, spec)
    }

    fn begin(&mut self, start: usize) {
        self.spans.clear();
        self.requests.clear();
        self.ended_early = false;
        self.start = start;
    }

    /// Gives memory back that only a long request needed.
    pub(super) fn release(&mut self) {
        if self.words.bytes.capacity() > FRAME_WORDS_BYTES_MAX {
            self.words.bytes = Vec::new();
        }
    }

    /// True when the window ends here.
    fn add(&mut self, entry: Entry) -> bool {
        // AUTH, HELLO, RESET and QUIT change how the next request is read.
        let turns = entry.spec.as_ref().is_ok_and(|spec| spec.flags.contains(Flags::NO_AUTH));
        self.requests.push(entry);
        self.ended_early = turns || self.requests.len() == TURN_COMMANDS_MAX;
        self.ended_early
    }

    /// One of the requests that were decoded from `bytes`.
    pub(super) fn request<'w>(&'w self, bytes: &'w [u8], at: usize) -> Request<'w> {
        let entry = &self.requests[at];
        let args = match &entry.source {
            Source::Unquoted(owned) => owned.as_args(),
            Source::Arrival => Args::new(bytes, &self.spans[entry.first..entry.last]),
            Source::Words(_) => Args::new(&self.words.bytes, &self.spans[entry.first..entry.last]),
        };
        Request { args, spec: entry.spec.clone() }
    }
}
