//! Messages above a prompt, while somebody types there.
//!
//! Invariant: the half-typed line is kept; what is shown goes above it, in the order in which it came.
//! Invariant: a prompt that takes nothing, such as one that is being pasted to, holds up nobody but a thread that does
//! nothing else; memory is bounded meanwhile.
//! Deliberately unknown here: how lines are edited.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use rustyline::ExternalPrinter;

use super::link::{Heard, Link};
use crate::app::show::{self, Style};
use crate::app::watch::Interrupts;
use crate::error::Error;

/// Bytes that may wait to be shown: more than a person reads while a line is pasted.
const WAITING_BYTES_MAX: usize = 256 * 1024;

/// How long a line that was typed waits for what is being shown above it.
const PATIENCE: Duration = Duration::from_millis(50);

/// A thread that shows text above the prompt.
pub(super) struct Live(Arc<Board>);

#[derive(Default)]
struct Board {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Default)]
struct Waiting {
    text: String,
    is_printing: bool,
}

impl Live {
    /// # Errors
    /// The system refuses a thread.
    pub(super) fn start(mut printer: impl ExternalPrinter + Send + 'static) -> Result<Self, Error> {
        let board = Arc::new(Board::default());
        let shown = board.clone();
        let run = move || {
            loop {
                let text = shown.take();
                // One that fails shows no more, and neither does the prompt.
                let printed = printer.print(text);
                shown.lock().is_printing = false;
                shown.changed.notify_all();
                if printed.is_err() {
                    return;
                }
            }
        };
        let spawned = thread::Builder::new().name("live".into()).spawn(run);
        spawned.map_err(|cause: io::Error| Error::system("start a thread", cause))?;
        Ok(Live(board))
    }

    /// Listens while a line is read, if anything is subscribed to. Answers the line, and what was not shown by then.
    pub(super) fn during<T>(&self, link: &mut Link, style: Style, read: impl FnOnce() -> T) -> (T, String) {
        if link.subscriptions() == 0 {
            return (read(), String::new());
        }
        let is_read = AtomicBool::new(false);
        let go_on = || !is_read.load(Ordering::Relaxed);
        let line = thread::scope(|scope| {
            let listen = || {
                let mut hear = |heard: Heard<'_>| {
                    match heard {
                        Heard::Push(push) => self.0.add(&show::reply_text(push, style), &go_on),
                        Heard::Notice(words) => self.0.add(&show::notice_text(words), &go_on),
                        Heard::Pause => {}
                    }
                    Ok(())
                };
                // Nothing that is heard here stops it.
                let _ = link.listen_while(go_on, &mut hear);
            };
            // Without a thread, it is shown before the next prompt.
            let _ = thread::Builder::new().name("listen".into()).spawn_scoped(scope, listen);
            let line = read();
            is_read.store(true, Ordering::Relaxed);
            line
        });
        (line, self.0.rest())
    }
}

impl Board {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for text that is to be printed.
    fn take(&self) -> String {
        let waiting = self.lock();
        let waiting = self.changed.wait_while(waiting, |waiting| waiting.text.is_empty());
        let mut waiting = waiting.unwrap_or_else(PoisonError::into_inner);
        waiting.is_printing = true;
        std::mem::take(&mut waiting.text)
    }

    /// Adds text, as soon as there is room or nobody reads on.
    fn add(&self, text: &str, go_on: &impl Fn() -> bool) {
        let mut waiting = self.lock();
        while waiting.text.len() >= WAITING_BYTES_MAX && go_on() {
            let woken = self.changed.wait_timeout(waiting, Interrupts::LOOK);
            waiting = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        waiting.text.push_str(text);
        self.changed.notify_all();
    }

    /// What is not printed yet, behind what is being printed.
    fn rest(&self) -> String {
        let waiting = self.lock();
        let waited = self.changed.wait_timeout_while(waiting, PATIENCE, |waiting| waiting.is_printing);
        let mut waiting = waited.unwrap_or_else(PoisonError::into_inner).0;
        std::mem::take(&mut waiting.text)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

    use super::*;

    /// Takes text only when somebody receives.
    struct Slow(SyncSender<String>);

    impl ExternalPrinter for Slow {
        fn print(&mut self, message: String) -> rustyline::Result<()> {
            let sent = self.0.send(message);
            sent.map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe).into())
        }
    }

    fn started() -> (Live, Receiver<String>) {
        let (sender, receiver) = sync_channel(0);
        (Live::start(Slow(sender)).unwrap(), receiver)
    }

    #[test]
    fn text_is_shown_in_order() {
        let (live, shown) = started();
        live.0.add("a\n", &|| true);
        assert_eq!(shown.recv().unwrap(), "a\n");
        live.0.add("b\n", &|| true);
        let mut text = shown.recv().unwrap();
        live.0.add("c\n", &|| true);
        live.0.add("d\n", &|| true);
        while !text.ends_with("d\n") {
            text += &shown.recv().unwrap();
        }
        assert_eq!(text, "b\nc\nd\n");
        assert_eq!(live.0.rest(), "");
    }

    #[test]
    fn a_prompt_that_takes_nothing_holds_up_nobody_who_leaves() {
        let (live, _shown) = started();
        live.0.add("being printed\n", &|| true);
        while !live.0.lock().is_printing {
            thread::yield_now();
        }
        // Nothing more is taken, and there is no room for more than this.
        live.0.add(&"x".repeat(WAITING_BYTES_MAX), &|| false);
        live.0.add("last\n", &|| false);
        assert!(live.0.rest().ends_with("last\n"));
    }
}
