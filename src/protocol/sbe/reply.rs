//! What a server answers over SBE: one frame a reply, and pushes.
//!
//! Invariant: a reply is one frame, but acknowledgements of subscriptions, which are one frame each; what is written
//! here is whole frames.
//! Invariant: what does not fit into one frame becomes an error, never a shorter list.
//! Deliberately unknown here: outboxes, and which command is answered.

use bytes::Bytes;

use super::cursor::{Frame, head, short_frame};
use super::message::Form;
use super::{ENTRIES_MAX, tree::Tree};
use crate::limits::FRAME_SHARED_BYTES;
use crate::protocol::resp::{DoubleText, Output};
use crate::reply::{
    Collection, CommandError, Confirmation, ConfirmationKind, JoinedAt, Pieces, ProtocolError, PushKind, Reply, Text,
};

pub(super) const NIL: u16 = 1;
pub(super) const STATUS: u16 = 2;
pub(super) const ERROR: u16 = 3;
pub(super) const INTEGER: u16 = 4;
pub(super) const DOUBLE: u16 = 5;
pub(super) const BULK: u16 = 6;
pub(super) const ARRAY: u16 = 7;
pub(super) const NULLABLE_ARRAY: u16 = 9;
pub(super) const TREE: u16 = 10;
pub(super) const MAP: u16 = 11;
pub(super) const PUSH: u16 = 12;
pub(super) const SUBSCRIBERS: u16 = 13;
pub(super) const PAGE: u16 = 125;
pub(super) const NUMBERED_PUSH: u16 = 1003;
pub(super) const JOINED_PUSH: u16 = 1004;
pub(super) const DROPPED_PUSH: u16 = 1005;

/// Kinds of pushes; those from [`SHARD_MESSAGE`] on are ours.
pub(super) const MESSAGE: u8 = 0;
pub(super) const PATTERN_MESSAGE: u8 = 1;
pub(super) const SUBSCRIBED: u8 = 2;
pub(super) const PATTERN_SUBSCRIBED: u8 = 3;
pub(super) const UNSUBSCRIBED: u8 = 4;
pub(super) const PATTERN_UNSUBSCRIBED: u8 = 5;
pub(super) const SHARD_MESSAGE: u8 = 6;
pub(super) const SHARD_SUBSCRIBED: u8 = 7;
pub(super) const SHARD_UNSUBSCRIBED: u8 = 8;
pub(super) const MONITORED: u8 = 9;

/// Writes the answer to one request. Costs its bytes; a single large string is handed over uncopied.
pub fn encode(reply: &Reply<'_>, form: Form, out: &mut impl Output) {
    match reply {
        Reply::Silent | Reply::Pending | Reply::Exec(_) => {}
        Reply::Error(refused) => error(refused, out),
        Reply::Confirmations(all) => all.iter().for_each(|one| confirmation(one, out)),
        reply if matches!(form, Form::Tree | Form::Greeting) => {
            let mut tree = Tree::new(ENTRIES_MAX);
            tree.push(reply);
            tree.send(out);
        }
        Reply::Nil | Reply::NilArray => short_frame(NIL, &[], &[], out),
        Reply::Status(line) => short_frame(STATUS, &[], &[line.as_bytes()], out),
        Reply::Integer(number) => short_frame(INTEGER, &number.to_le_bytes(), &[], out),
        Reply::Double(number) => short_frame(DOUBLE, &number.to_le_bytes(), &[], out),
        Reply::Boolean(yes) => short_frame(INTEGER, &i64::from(*yes).to_le_bytes(), &[], out),
        Reply::Bulk(text) => bulk(text, out),
        Reply::Verbatim(text) => bulk(&Text::Borrowed(text.as_bytes()), out),
        Reply::Array(items) | Reply::Set(items) => list(items, form, out),
        Reply::Map(pairs) => map(pairs, out),
        Reply::Members(collection, members) => {
            let mut strings = Strings::new(*collection, form, 0);
            if members.len() + strings.entries <= ENTRIES_MAX {
                members.each(&mut |member| strings.push(member));
                strings.finish(out);
            } else {
                too_large(out);
            }
        }
        Reply::Page { cursor, items } => {
            let mut strings = Strings::new(Collection::Page(*cursor), form, 0);
            items.iter().for_each(|item| strings.push(item.as_bytes()));
            strings.finish(out);
        }
        Reply::Stream(collection, pieces) => {
            let all = 0..pieces.pieces();
            let len: usize = all.clone().map(|piece| pieces.len(piece)).sum();
            let mut strings = Strings::new(*collection, form, 0);
            if len + strings.entries > ENTRIES_MAX {
                return too_large(out);
            }
            all.for_each(|piece| pieces.each(piece, &mut |string| strings.push(string)));
            strings.finish(out);
        }
    }
}

/// Strings of an ArrayReply, a StringScanReply or a list in a tree, one after the other.
struct Strings {
    frame: Frame,
    place: usize,
    entries: usize,
}

impl Strings {
    fn new(collection: Collection, form: Form, room: usize) -> Self {
        match (collection, form) {
            (Collection::Page(cursor), Form::Page) => {
                let mut frame = Frame::new(PAGE, 8, 12 + room);
                frame.put(&cursor.to_le_bytes());
                let place = frame.group(0);
                Strings { frame, place, entries: 0 }
            }
            (collection, _) => {
                let mut frame = Frame::new(ARRAY, 0, 4 + room);
                let place = frame.group(0);
                let mut strings = Strings { frame, place, entries: 0 };
                if let Collection::Page(cursor) = collection {
                    strings.push(itoa::Buffer::new().format(cursor).as_bytes());
                }
                strings
            }
        }
    }

    fn push(&mut self, string: &[u8]) {
        self.frame.data(string);
        self.entries += 1;
    }

    fn finish(mut self, out: &mut impl Output) {
        match u16::try_from(self.entries) {
            Ok(entries) => {
                self.frame.set_entries(self.place, entries);
                send(self.frame.finish(), out);
            }
            Err(_) => too_large(out),
        }
    }
}

/// A [`Reply::Stream`] on its way. Prefix and group tell bytes and entries before the first of them: so its strings are
/// counted, then measured, then written.
#[derive(Debug)]
pub struct Streamed {
    collection: Collection,
    pieces: Box<dyn Pieces>,
    form: Form,
    /// Strings, and then their bytes with what stands before each.
    entries: usize,
    bytes: u64,
    step: Step,
    piece: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Counts,
    Measures,
    Writes,
}

/// What a piece is taken to cost besides its strings: the ones it was asked about and does not show.
const PIECE_STRINGS_MIN: usize = 256;

impl Streamed {
    /// A stream of which nothing is written yet.
    pub fn new(collection: Collection, pieces: Box<dyn Pieces>, form: Form) -> Self {
        Streamed { collection, pieces, form, entries: 0, bytes: 0, step: Step::Counts, piece: 0 }
    }

    /// Goes on for about `strings` strings, whether they are counted, measured or written. True at the end.
    pub fn advance(&mut self, strings: usize, out: &mut impl Output) -> bool {
        let mut seen = 0;
        loop {
            if self.piece == self.pieces.pieces() {
                self.piece = 0;
                match self.step {
                    Step::Counts => self.step = Step::Measures,
                    Step::Measures => {
                        if !self.begin(out) {
                            return true;
                        }
                        self.step = Step::Writes;
                    }
                    Step::Writes => return true,
                }
                continue;
            }
            if seen >= strings {
                return false;
            }
            seen += PIECE_STRINGS_MIN + self.visit(out);
            self.piece += 1;
            if self.step == Step::Counts && self.entries > self.entries_max() {
                too_large(out);
                return true;
            }
        }
    }

    /// One piece of the step at hand; answers how many strings it holds.
    fn visit(&mut self, out: &mut impl Output) -> usize {
        let (is_tree, mut seen, mut bytes) = (self.is_tree(), 0, 0);
        match self.step {
            Step::Counts => {
                seen = self.pieces.len(self.piece);
                self.entries += seen;
            }
            Step::Measures => self.pieces.each(self.piece, &mut |string| {
                seen += 1;
                bytes += string.len() as u64;
            }),
            Step::Writes => self.pieces.each(self.piece, &mut |string| {
                seen += 1;
                if is_tree {
                    out.extend(&super::tree::bulk_head());
                }
                out.extend(&(string.len() as u32).to_le_bytes());
                out.extend(string);
            }),
        }
        self.bytes += bytes;
        seen
    }

    fn is_tree(&self) -> bool {
        matches!(self.form, Form::Tree | Form::Greeting)
    }

    fn entries_max(&self) -> usize {
        // The head's own entries: the array, and a page with its cursor and its list.
        ENTRIES_MAX - if self.is_tree() { 3 } else { 1 }
    }

    /// Writes what stands before the strings; false when there are too many bytes of them.
    fn begin(&mut self, out: &mut impl Output) -> bool {
        let head = match self.is_tree() {
            true => super::tree::list_head(self.collection, self.entries),
            false => {
                let mut strings = Strings::new(self.collection, self.form, 0);
                let entries = (strings.entries + self.entries) as u16;
                strings.frame.set_entries(strings.place, entries);
                strings.frame
            }
        };
        let each = if self.is_tree() { super::tree::NODE_BYTES + 4 } else { 4 };
        let behind = self.bytes + (each * self.entries) as u64;
        match head.finish_before(behind) {
            Some(head) => out.extend(&head),
            None => {
                too_large(out);
                return false;
            }
        }
        true
    }
}

/// Writes one pub/sub message.
pub fn push(kind: &PushKind<'_>, out: &mut impl Output) {
    let (kind, strings) = parts(kind);
    short_frame(PUSH, &push_block(kind, 0), &strings, out);
}

/// The same with its number.
pub fn numbered_push(kind: &PushKind<'_>, number: u64, out: &mut impl Output) {
    let (kind, strings) = parts(kind);
    let mut block = [kind; 9];
    block[1..].copy_from_slice(&number.to_le_bytes());
    short_frame(NUMBERED_PUSH, &block, &strings, out);
}

/// Tells that so many messages were dropped here.
pub fn dropped(count: u64, out: &mut impl Output) {
    short_frame(DROPPED_PUSH, &count.to_le_bytes(), &[], out);
}

/// Number of the kind; pattern, channel and payload.
fn parts<'a>(kind: &PushKind<'a>) -> (u8, [&'a [u8]; 3]) {
    match *kind {
        PushKind::Message { channel, payload } => (MESSAGE, [b"", channel, payload]),
        PushKind::PatternMessage { pattern, channel, payload } => (PATTERN_MESSAGE, [pattern, channel, payload]),
        PushKind::ShardMessage { channel, payload } => (SHARD_MESSAGE, [b"", channel, payload]),
    }
}

/// Writes a command as a monitor is told it.
pub fn monitored(line: &[u8], out: &mut impl Output) {
    short_frame(PUSH, &push_block(MONITORED, 0), &[b"", b"", line], out);
}

/// Writes what is answered to a frame after which the session closes.
pub fn protocol_error(broken: ProtocolError, out: &mut impl Output) {
    if let Some(text) = broken.text() {
        short_frame(ERROR, &[], &[broken.code().as_bytes(), &text], out);
    }
}

pub(super) fn push_block(kind: u8, count: usize) -> [u8; 5] {
    let [a, b, c, d] = (count as u32).to_le_bytes();
    [kind, a, b, c, d]
}

fn confirmation(confirmation: &Confirmation, out: &mut impl Output) {
    let name = confirmation.name.as_deref().unwrap_or_default();
    let (kind, pattern, channel): (u8, &[u8], &[u8]) = match confirmation.kind {
        ConfirmationKind::Subscribe => (SUBSCRIBED, b"", name),
        ConfirmationKind::PSubscribe => (PATTERN_SUBSCRIBED, name, b""),
        ConfirmationKind::Unsubscribe => (UNSUBSCRIBED, b"", name),
        ConfirmationKind::PUnsubscribe => (PATTERN_UNSUBSCRIBED, name, b""),
        ConfirmationKind::SSubscribe => (SHARD_SUBSCRIBED, b"", name),
        ConfirmationKind::SUnsubscribe => (SHARD_UNSUBSCRIBED, b"", name),
    };
    let block = push_block(kind, confirmation.count);
    let Some(JoinedAt { run, last, base }) = confirmation.numbers else {
        return short_frame(PUSH, &block, &[pattern, channel, b""], out);
    };
    let numbers = [run, last, base].map(u64::to_le_bytes);
    short_frame(JOINED_PUSH, &[&block[..], numbers.as_flattened()].concat(), &[pattern, channel], out);
}

fn error(refused: &CommandError, out: &mut impl Output) {
    short_frame(ERROR, &[], &[refused.code().as_bytes(), &refused.text()], out);
}

#[cold]
fn too_large(out: &mut impl Output) {
    error(&CommandError::TooManyEntries, out);
}

/// Hands a frame over; large ones uncopied.
pub(super) fn send(frame: Option<Vec<u8>>, out: &mut impl Output) {
    match frame {
        Some(frame) if frame.len() >= FRAME_SHARED_BYTES => out.shared(Bytes::from(frame)),
        Some(frame) => out.extend(&frame),
        None => too_large(out),
    }
}

fn bulk(text: &Text<'_>, out: &mut impl Output) {
    let len = text.as_bytes().len();
    if u32::try_from(len + 4 + super::HEADER_BYTES).is_err() {
        return too_large(out);
    }
    match text {
        Text::Shared(bytes) => {
            out.extend(&head(BULK, 0, len as u32 + 4));
            out.extend(&(len as u32).to_le_bytes());
            out.shared(bytes.clone());
        }
        Text::Borrowed(bytes) => short_frame(BULK, &[], &[bytes], out),
        Text::Owned(bytes) => short_frame(BULK, &[], &[bytes], out),
    }
}

fn list(items: &[Reply<'_>], form: Form, out: &mut impl Output) {
    match form {
        Form::Nullable => nullable(items, out),
        Form::Subscribers => subscribers(items, out),
        _ => {
            let mut strings = Strings::new(Collection::Array, form, 0);
            items.iter().for_each(|item| with_text(item, |text| strings.push(text)));
            strings.finish(out);
        }
    }
}

fn nullable(items: &[Reply<'_>], out: &mut impl Output) {
    let Ok(entries) = u16::try_from(items.len()) else { return too_large(out) };
    let mut frame = Frame::new(NULLABLE_ARRAY, 0, 4);
    let place = frame.group(1);
    for item in items {
        let present = !matches!(item, Reply::Nil | Reply::NilArray);
        frame.put(&[u8::from(present)]);
        with_text(item, |text| frame.data(text));
    }
    frame.set_entries(place, entries);
    send(frame.finish(), out);
}

/// Names and counts in turn.
fn subscribers(items: &[Reply<'_>], out: &mut impl Output) {
    let Ok(entries) = u16::try_from(items.len() / 2) else { return too_large(out) };
    let mut frame = Frame::new(SUBSCRIBERS, 0, 4);
    let place = frame.group(4);
    for pair in items.chunks_exact(2) {
        let count = if let Reply::Integer(count) = pair[1] { count } else { 0 };
        frame.put(&u32::try_from(count).unwrap_or(u32::MAX).to_le_bytes());
        with_text(&pair[0], |text| frame.data(text));
    }
    frame.set_entries(place, entries);
    send(frame.finish(), out);
}

fn map(pairs: &[(Reply<'_>, Reply<'_>)], out: &mut impl Output) {
    let Ok(entries) = u16::try_from(pairs.len()) else { return too_large(out) };
    let mut frame = Frame::new(MAP, 0, 4);
    let place = frame.group(0);
    for (key, value) in pairs {
        with_text(key, |text| frame.data(text));
        with_text(value, |text| frame.data(text));
    }
    frame.set_entries(place, entries);
    send(frame.finish(), out);
}

/// An item of a list of strings; aggregates, which no message but Call can ask for, have no text.
pub(super) fn with_text<R>(item: &Reply<'_>, then: impl FnOnce(&[u8]) -> R) -> R {
    match item {
        Reply::Bulk(text) => then(text.as_bytes()),
        Reply::Verbatim(text) => then(text.as_bytes()),
        Reply::Status(line) => then(line.as_bytes()),
        Reply::Integer(number) => then(itoa::Buffer::new().format(*number).as_bytes()),
        Reply::Boolean(yes) => then(if *yes { b"1" } else { b"0" }),
        Reply::Double(number) => then(DoubleText::new(*number).as_bytes()),
        Reply::Error(refused) => then(&[refused.code().as_bytes(), b" ", &refused.text()].concat()),
        _ => then(b""),
    }
}
