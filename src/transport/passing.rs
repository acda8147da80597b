//! A descriptor beside the bytes of a Unix socket.
//!
//! Invariant: a descriptor that is received has an owner at once, so that none is leaked, whoever sends how many.
//! Deliberately unknown here: what it is of.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    recvmsg, sendmsg,
};

/// Descriptors that one look takes; the system closes those beyond.
const RECEIVED_MAX: usize = 4;

/// Writes some of the bytes and passes `descriptor` with the first of them. Answers how many were written, which is at
/// least 1 where there are any.
///
/// # Errors
/// As a write; nothing was passed then.
pub fn send_with(socket: impl AsFd, slices: &[IoSlice<'_>], descriptor: BorrowedFd<'_>) -> io::Result<usize> {
    let descriptors = [descriptor];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut beside = SendAncillaryBuffer::new(&mut space);
    beside.push(SendAncillaryMessage::ScmRights(&descriptors));
    Ok(sendmsg(socket, slices, &mut beside, SendFlags::NOSIGNAL)?)
}

/// Reads what is there into `buf`, with the last of the descriptors beside it.
///
/// # Errors
/// As a read.
pub fn receive_with(socket: impl AsFd, buf: &mut [u8]) -> io::Result<(usize, Option<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(RECEIVED_MAX))];
    let mut beside = RecvAncillaryBuffer::new(&mut space);
    let received = recvmsg(socket, &mut [IoSliceMut::new(buf)], &mut beside, RecvFlags::CMSG_CLOEXEC)?;
    let mut last = None;
    for message in beside.drain() {
        if let RecvAncillaryMessage::ScmRights(descriptors) = message {
            last = descriptors.last().or(last);
        }
    }
    Ok((received.bytes, last))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Seek, Write};
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn a_descriptor_arrives_with_the_bytes_and_is_the_same_file() {
        let (one, other) = UnixStream::pair().expect("a pair");
        let memory = nix::sys::memfd::memfd_create("passed", nix::sys::memfd::MFdFlags::MFD_CLOEXEC).expect("memory");
        let mut file = std::fs::File::from(memory);
        file.write_all(b"text").expect("written");
        let slices = [IoSlice::new(b"by"), IoSlice::new(b"tes")];
        assert_eq!(send_with(&one, &slices, file.as_fd()).expect("sent"), 5);
        let mut buf = [0; 64];
        let (count, passed) = receive_with(&other, &mut buf).expect("received");
        assert_eq!(&buf[..count], b"bytes");
        let mut again = std::fs::File::from(passed.expect("a descriptor"));
        let mut text = String::new();
        again.rewind().expect("rewound");
        again.read_to_string(&mut text).expect("read");
        assert_eq!(text, "text");
        (&one).write_all(b"x").expect("sent");
        assert!(matches!(receive_with(&other, &mut buf), Ok((1, None))));
        drop(one);
        assert!(matches!(receive_with(&other, &mut buf), Ok((0, None))));
    }
}
