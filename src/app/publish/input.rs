//! What is published: lines as they come, or all of an input.
//!
//! Invariant: a line is given as soon as its end is there; the last one needs none.
//! Deliberately unknown here: where lines go.

use std::io::{self, Read};
use std::path::Path;

use crate::error::{Error, Exit};

/// Bytes read at once: several times what a pipe holds.
const INPUT_BYTES: usize = 256 * 1024;

/// Lines of an input.
pub(super) struct Lines<R> {
    input: R,
    buf: Vec<u8>,
    /// `buf[start..end]` was read and not yet given.
    start: usize,
    end: usize,
    /// Up to here there is no line end.
    searched: usize,
    ended: bool,
}

impl<R: Read> Lines<R> {
    pub(super) fn new(input: R) -> Self {
        Lines { input, buf: vec![0; INPUT_BYTES], start: 0, end: 0, searched: 0, ended: false }
    }

    /// The next line of what was read, without its line end. None when it is not there as a whole.
    pub(super) fn line(&mut self) -> Option<&[u8]> {
        let start = self.start;
        match memchr::memchr(b'\n', &self.buf[self.searched..self.end]) {
            Some(length) => {
                let end = self.searched + length;
                self.start = end + 1;
                self.searched = end + 1;
                Some(&self.buf[start..end])
            }
            None if self.ended && start < self.end => {
                self.start = self.end;
                self.searched = self.end;
                Some(&self.buf[start..self.end])
            }
            None => {
                self.searched = self.end;
                None
            }
        }
    }

    /// Reads once, and waits for that. False at the end, when all lines were given.
    pub(super) fn read(&mut self) -> io::Result<bool> {
        if self.ended {
            return Ok(false);
        }
        self.buf.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.searched -= self.start;
        self.start = 0;
        if self.end == self.buf.len() {
            self.buf.resize(self.buf.len() * 2, 0);
        }
        let count = loop {
            match self.input.read(&mut self.buf[self.end..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read?,
            }
        };
        self.end += count;
        self.ended = count == 0;
        Ok(!self.ended || self.end > 0)
    }
}

/// Standard input to its end.
pub(super) fn all() -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes).map_err(unreadable)?;
    Ok(bytes)
}

/// Standard input failed.
pub(super) fn unreadable(cause: io::Error) -> Error {
    Error::system("read standard input", cause)
}

/// A file to its end.
pub(super) fn file(path: &Path) -> Result<Vec<u8>, Error> {
    std::fs::read(path).map_err(|cause| Error::caused(Exit::Usage, format!("cannot read {}", path.display()), cause))
}

/// Without the line end that it ends with, if it is to be trimmed.
pub(super) fn trimmed(mut message: Vec<u8>, trim: bool) -> Vec<u8> {
    if trim && message.ends_with(b"\n") {
        message.pop();
        message.pop_if(|byte| *byte == b'\r');
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives out one piece a call, as a pipe does.
    struct Pieces(Vec<Vec<u8>>);

    impl Read for Pieces {
        fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
            if self.0.is_empty() {
                return Ok(0);
            }
            let mut piece = self.0.remove(0);
            let rest = piece.split_off(piece.len().min(buf.len()));
            buf[..piece.len()].copy_from_slice(&piece);
            if !rest.is_empty() {
                self.0.insert(0, rest);
            }
            Ok(piece.len())
        }
    }

    /// The lines that were there after each reading.
    fn read(pieces: &[&[u8]]) -> Vec<Vec<String>> {
        let mut lines = Lines::new(Pieces(pieces.iter().map(|piece| piece.to_vec()).collect()));
        let mut seen = Vec::new();
        while lines.read().unwrap() {
            let mut together = Vec::new();
            while let Some(line) = lines.line() {
                together.push(String::from_utf8_lossy(line).into_owned());
            }
            seen.push(together);
        }
        seen
    }

    #[test]
    fn lines_are_given_as_soon_as_they_are_there() {
        let wanted = [vec!["a", "b"], vec!["cd"], vec!["", "\r"]];
        assert_eq!(read(&[b"a\nb\nc", b"d\n", b"\n\r\n"])[..3], wanted);
        assert_eq!(read(&[b"a\nend"]), [vec!["a"], vec!["end"]]);
        assert_eq!(read(&[b"\xff"]).concat(), ["\u{fffd}"]);
        assert!(read(&[]).is_empty());
    }

    #[test]
    fn a_line_may_be_longer_than_the_buffer() {
        let long = vec![b'x'; 3 * INPUT_BYTES + 1];
        let lines = read(&[&long, b"\n", b"short\n"]).concat();
        assert_eq!((lines.len(), lines[0].len(), &*lines[1]), (2, long.len(), "short"));
    }

    #[test]
    fn one_line_end_is_trimmed() {
        let rows: [(&[u8], &[u8]); 5] =
            [(b"a\n", b"a"), (b"a\r\n", b"a"), (b"a\n\n", b"a\n"), (b"a", b"a"), (b"\r", b"\r")];
        for (message, wanted) in rows {
            assert_eq!(trimmed(message.into(), true), wanted);
            assert_eq!(trimmed(message.into(), false), message);
        }
    }
}
