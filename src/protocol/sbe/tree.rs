//! RespValueReply: any reply as a list of nodes in pre-order.
//!
//! ```text
//! node: u8 type │ i64 integer │ u32 children │ u32 length │ bytes
//!       0         1             9              13           17
//! ```
//!
//! Sets are arrays, truth is 1 or 0, other numbers are text: what RESP2 makes of them.
//! Invariant: a tree has at most as many nodes as it was given room for; what does not fit is an error in its place.

use super::cursor::Frame;
use super::reply::{TREE, send, with_text};
use crate::protocol::resp::Output;
use crate::reply::{Collection, CommandError, Reply};

pub(super) const NIL_NODE: u8 = 0;
pub(super) const INTEGER_NODE: u8 = 1;
pub(super) const BULK_NODE: u8 = 2;
pub(super) const STATUS_NODE: u8 = 3;
pub(super) const ERROR_NODE: u8 = 4;
pub(super) const ARRAY_NODE: u8 = 5;
pub(super) const MAP_NODE: u8 = 6;

/// Bytes of a node before its string's length.
pub(super) const NODE_BYTES: usize = 13;

/// A tree while it is written.
#[derive(Debug)]
pub struct Tree {
    frame: Frame,
    place: usize,
    nodes: usize,
    nodes_max: usize,
}

impl Tree {
    /// An empty tree that takes so many nodes.
    pub fn new(nodes_max: usize) -> Self {
        let mut frame = Frame::new(TREE, 0, 64);
        let place = frame.group(NODE_BYTES as u16);
        Tree { frame, place, nodes: 0, nodes_max }
    }

    /// Begins a list of `count` replies, which are pushed next.
    pub fn list(&mut self, count: usize) {
        self.node(ARRAY_NODE, 0, count, b"");
    }

    /// Nodes that still fit.
    pub fn room(&self) -> usize {
        self.nodes_max.saturating_sub(self.nodes)
    }

    /// Appends a reply that may take all the room.
    pub fn push(&mut self, reply: &Reply<'_>) {
        self.push_within(reply, self.room());
    }

    /// Appends a reply of at most so many nodes; a longer one becomes an error in its place.
    pub fn push_within(&mut self, reply: &Reply<'_>, room: usize) {
        let before = (self.frame.len(), self.nodes);
        let most = self.nodes.saturating_add(room).min(self.nodes_max);
        if !self.append(reply, most) {
            self.frame.truncate(before.0);
            self.nodes = before.1;
            self.append(&Reply::Error(CommandError::TooManyEntries), usize::MAX);
        }
    }

    /// Writes the frame, or an error when it is too long.
    pub fn send(self, out: &mut impl Output) {
        send(self.finish(), out);
    }

    /// The frame; none when it is too long.
    fn finish(mut self) -> Option<Vec<u8>> {
        let nodes = u16::try_from(self.nodes).ok()?;
        self.frame.set_entries(self.place, nodes);
        self.frame.finish()
    }

    fn node(&mut self, kind: u8, integer: i64, children: usize, string: &[u8]) {
        self.frame.put(&[kind]);
        self.frame.put(&integer.to_le_bytes());
        self.frame.put(&(children as u32).to_le_bytes());
        self.frame.data(string);
        self.nodes += 1;
    }

    /// False as soon as there are more nodes than `most`.
    fn append(&mut self, reply: &Reply<'_>, most: usize) -> bool {
        match reply {
            Reply::Nil | Reply::NilArray => self.node(NIL_NODE, 0, 0, b""),
            Reply::Integer(number) => self.node(INTEGER_NODE, *number, 0, b""),
            Reply::Boolean(yes) => self.node(INTEGER_NODE, i64::from(*yes), 0, b""),
            Reply::Status(line) => self.node(STATUS_NODE, 0, 0, line.as_bytes()),
            Reply::Bulk(_) | Reply::Verbatim(_) | Reply::Double(_) => {
                with_text(reply, |text| self.node(BULK_NODE, 0, 0, text));
            }
            Reply::Error(_) => with_text(reply, |text| self.node(ERROR_NODE, 0, 0, text)),
            Reply::Array(items) | Reply::Set(items) => {
                self.list(items.len());
                return items.iter().all(|item| self.nodes < most && self.append(item, most));
            }
            Reply::Map(pairs) => {
                self.node(MAP_NODE, 0, pairs.len(), b"");
                let mut parts = pairs.iter().flat_map(|(key, value)| [key, value]);
                return parts.all(|part| self.nodes < most && self.append(part, most));
            }
            Reply::Members(collection, members) => {
                self.collection(*collection, members.len());
                if self.nodes + members.len() > most {
                    return false;
                }
                members.each(&mut |member| self.node(BULK_NODE, 0, 0, member));
            }
            Reply::Stream(collection, pieces) => {
                let len: usize = (0..pieces.pieces()).map(|piece| pieces.len(piece)).sum();
                self.collection(*collection, len);
                if self.nodes + len > most {
                    return false;
                }
                (0..pieces.pieces())
                    .for_each(|piece| pieces.each(piece, &mut |string| self.node(BULK_NODE, 0, 0, string)));
            }
            Reply::Page { cursor, items } => {
                self.collection(Collection::Page(*cursor), items.len());
                items.iter().for_each(|item| self.node(BULK_NODE, 0, 0, item.as_bytes()));
            }
            // Leaving one name is let into a transaction; there it is a list like any other.
            Reply::Confirmations(all) => {
                for one in all {
                    self.list(3);
                    self.node(BULK_NODE, 0, 0, one.kind.word().as_bytes());
                    match &one.name {
                        Some(name) => self.node(BULK_NODE, 0, 0, name),
                        None => self.node(NIL_NODE, 0, 0, b""),
                    }
                    self.node(INTEGER_NODE, one.count as i64, 0, b"");
                }
            }
            Reply::Silent | Reply::Pending | Reply::Exec(_) => {}
        }
        self.nodes <= most
    }

    fn collection(&mut self, collection: Collection, len: usize) {
        if let Collection::Page(cursor) = collection {
            self.list(2);
            self.node(BULK_NODE, 0, 0, itoa::Buffer::new().format(cursor).as_bytes());
        }
        self.list(len);
    }

    fn count_more(mut self, nodes: usize) -> Frame {
        let all = u16::try_from(self.nodes + nodes).unwrap_or(u16::MAX);
        self.frame.set_entries(self.place, all);
        self.frame
    }
}

/// What stands before `len` strings of a collection.
pub(super) fn list_head(collection: Collection, len: usize) -> Frame {
    let mut tree = Tree::new(usize::MAX);
    tree.collection(collection, len);
    tree.count_more(len)
}

/// A bulk node up to its string's length.
pub(super) fn bulk_head() -> [u8; NODE_BYTES] {
    let mut head = [0; NODE_BYTES];
    head[0] = BULK_NODE;
    head
}
