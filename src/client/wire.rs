//! A connection as bare bytes, for those who make requests and know their answers byte for byte: measuring tools.
//!
//! Invariant: nothing here waits; whoever reads and writes decides what is done in between.
//! Deliberately unknown here: what the bytes mean.

use super::ClientError;
use super::stream::{Stream, Wait};

/// Bytes in both directions, never waiting.
#[derive(Debug)]
pub struct Wire {
    stream: Stream,
    /// Received while it was still a connection, and not yet read.
    early: Vec<u8>,
}

impl Wire {
    pub(super) fn new(stream: Stream, early: Vec<u8>) -> Self {
        Wire { stream, early }
    }

    /// Reads what is there into `buf`, which must not be empty; 0 when nothing is. One system call on a socket, none on
    /// a ring.
    ///
    /// # Errors
    /// [`ClientError::Lost`] when the other side has ended the connection or it failed.
    pub fn try_read(&mut self, buf: &mut [u8]) -> Result<usize, ClientError> {
        if !self.early.is_empty() {
            let count = self.early.len().min(buf.len());
            buf[..count].copy_from_slice(&self.early[..count]);
            self.early.drain(..count);
            return Ok(count);
        }
        match self.stream.read(buf, Wait::Never) {
            Ok(None) => Ok(0),
            Ok(Some(0)) => Err(ClientError::Lost { inside_message: false, cause: None }),
            Ok(Some(count)) => Ok(count),
            Err(cause) => Err(ClientError::Lost { inside_message: false, cause: Some(cause) }),
        }
    }

    /// Writes as many of `bytes` as there is room for; 0 when there is none.
    ///
    /// # Errors
    /// [`ClientError::Lost`].
    pub fn try_write(&mut self, bytes: &[u8]) -> Result<usize, ClientError> {
        self.stream
            .write(bytes, Wait::Never)
            .map(|count| count.unwrap_or(0))
            .map_err(|cause| ClientError::Lost { inside_message: false, cause: Some(cause) })
    }

    /// What tells that there is something to read; none for a ring, where only looking tells.
    #[cfg(unix)]
    pub fn descriptor(&self) -> Option<std::os::fd::BorrowedFd<'_>> {
        self.stream.descriptor()
    }
}
