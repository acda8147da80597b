//! What ends a client subcommand from outside: Ctrl-C, and a reader of its output that went away. Or Ctrl-C only ends
//! what is being done, for those that go on.
//!
//! Invariant: work that was begun between two waits is finished before Ctrl-C ends the process, unless it does not end
//! within [`GRACE`], such as a write to a pipe that nobody empties.
//! Deliberately unknown here: what the process is doing.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::password;
use crate::error::{Error, Exit};

/// How long begun work may hold up Ctrl-C: more than formatting and writing any burst takes, less than a person minds.
const GRACE: Duration = Duration::from_millis(200);

/// How often it is looked whether begun work is done.
const STEP: Duration = Duration::from_millis(2);

/// False while output is being made.
static WAITING: AtomicBool = AtomicBool::new(true);

/// What the process is to be ended by, besides SIGINT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reader {
    /// A reader that goes away is noticed by the next write.
    NoticedByWriting,
    /// A reader that goes away ends the process at once, even when there is nothing to write.
    NoticedAtOnce,
}

/// Ends the process with status 130 at Ctrl-C from now on, and as `reader` says.
///
/// # Errors
/// The system refuses to deliver the signal.
pub(super) fn start(reader: Reader) -> Result<(), Error> {
    let refuse = |cause| Error::system("handle signals", cause);
    let (interrupts, sender) = UnixStream::pair().map_err(refuse)?;
    signal_hook::low_level::pipe::register(signal_hook::consts::SIGINT, sender).map_err(refuse)?;
    let spawned = thread::Builder::new().name("watch".into()).spawn(move || {
        // Without poll nothing can be noticed: Ctrl-C then does nothing, and other signals still end the process.
        let _ = wait(&interrupts, reader).map(end);
    });
    spawned.map(drop).map_err(refuse)
}

/// Ctrl-C as something to look at now and then. A second one, before the first was looked at, ends the process.
#[derive(Debug, Clone)]
pub(super) struct Interrupts(Arc<AtomicBool>);

impl Interrupts {
    /// How long whoever waits for something else may go without looking: shorter than a person notices, long enough
    /// to cost nothing.
    pub(super) const LOOK: Duration = Duration::from_millis(50);

    /// From now on, Ctrl-C no longer ends the process by itself.
    ///
    /// # Errors
    /// The system refuses to deliver the signal.
    pub(super) fn watch() -> Result<Self, Error> {
        let refuse = |cause| Error::system("handle signals", cause);
        let seen = Arc::new(AtomicBool::new(false));
        let signal = signal_hook::consts::SIGINT;
        let status = Exit::Interrupted as i32;
        signal_hook::flag::register_conditional_shutdown(signal, status, seen.clone()).map_err(refuse)?;
        signal_hook::flag::register(signal, seen.clone()).map_err(refuse)?;
        Ok(Interrupts(seen))
    }

    /// Something that is set by Ctrl-C and by SIGTERM, however often they come: for those who have other processes to end
    /// before they do.
    ///
    /// # Errors
    /// The system refuses to deliver the signals.
    pub(super) fn flag() -> Result<Arc<AtomicBool>, Error> {
        let refuse = |cause| Error::system("handle signals", cause);
        let seen = Arc::new(AtomicBool::new(false));
        for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP] {
            signal_hook::flag::register(signal, seen.clone()).map_err(refuse)?;
        }
        Ok(seen)
    }

    /// Whether Ctrl-C was pressed since the last look.
    pub(super) fn taken(&self) -> bool {
        self.0.swap(false, Ordering::Relaxed)
    }

    /// Leaves a Ctrl-C that was taken for somebody else to take.
    pub(super) fn leave(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Sleeps until `deadline`. False when Ctrl-C ended it early.
    pub(super) fn sleep_until(&self, deadline: Instant) -> bool {
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match left {
                _ if self.taken() => return false,
                Duration::ZERO => return true,
                left => thread::sleep(left.min(Self::LOOK)),
            }
        }
    }
}

/// What is to be said before Ctrl-C ends the process.
static LAST_WORDS: Mutex<Option<Box<dyn FnOnce() + Send>>> = Mutex::new(None);

/// Says this before Ctrl-C ends the process. It runs on another thread, while nobody makes output or for too long.
pub(super) fn say_when_interrupted(last_words: impl FnOnce() + Send + 'static) {
    *LAST_WORDS.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(last_words));
}

/// Runs something that only waits, during which the process may end at once.
pub(super) fn waiting<T>(wait: impl FnOnce() -> T) -> T {
    WAITING.store(true, Ordering::Relaxed);
    let result = wait();
    WAITING.store(false, Ordering::Relaxed);
    result
}

/// True when reading gives something at once, the end included; also when that cannot be told.
pub(super) fn is_readable(input: &impl AsFd) -> bool {
    let mut watched = [PollFd::new(input, PollFlags::IN)];
    poll(&mut watched, Some(&Timespec::default())).map_or(true, |ready| ready > 0)
}

fn wait(interrupts: &UnixStream, reader: Reader) -> io::Result<Exit> {
    let stdout = io::stdout();
    loop {
        // No event is asked for on standard output: what is told without being asked is that the other side is gone.
        let mut watched = vec![PollFd::new(interrupts, PollFlags::IN), PollFd::new(&stdout, PollFlags::empty())];
        if reader == Reader::NoticedByWriting {
            watched.pop();
        }
        match poll(&mut watched, None) {
            Ok(_) if !watched[0].revents().is_empty() => return Ok(Exit::Interrupted),
            Ok(_) if watched.get(1).is_some_and(|stdout| !stdout.revents().is_empty()) => return Ok(Exit::Done),
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn end(exit: Exit) {
    let begun = Instant::now();
    while exit == Exit::Interrupted && !WAITING.load(Ordering::Relaxed) && begun.elapsed() < GRACE {
        thread::sleep(STEP);
    }
    let last_words = LAST_WORDS.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(say) = last_words.filter(|_| exit == Exit::Interrupted) {
        say();
    }
    password::show_typing_again();
    std::process::exit(exit as i32);
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn an_interrupt_is_told_from_other_events() {
        let (receiver, mut sender) = UnixStream::pair().unwrap();
        sender.write_all(b"x").unwrap();
        assert_eq!(wait(&receiver, Reader::NoticedByWriting).unwrap(), Exit::Interrupted);
        assert_eq!(wait(&receiver, Reader::NoticedAtOnce).unwrap(), Exit::Interrupted);
    }
}
