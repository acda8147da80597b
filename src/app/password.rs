//! Asking for a password on the terminal, unseen.
//!
//! Invariant: whoever ends the process while a password is typed calls [`show_typing_again`] first.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader};
use std::sync::Mutex;

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use super::show;
use crate::error::Error;

/// The terminal and its state from before typing was hidden.
static HIDDEN: Mutex<Option<(File, Termios)>> = Mutex::new(None);

/// Asks for a password and reads it from the terminal, whatever standard input is.
///
/// # Errors
/// There is no terminal, it went away, or it was closed with Ctrl-D before a password was typed (2).
pub(super) fn ask() -> Result<Vec<u8>, Error> {
    let terminal = OpenOptions::new().read(true).write(true).open("/dev/tty");
    let terminal =
        terminal.map_err(|_| Error::usage("--askpass needs a terminal; a script can set GOBLIN_PASSWORD"))?;
    let failed = |cause| Error::system("read a password from the terminal", cause);
    show::question(&terminal, "Password: ");
    hide_typing(&terminal).map_err(failed)?;
    let mut line = Vec::new();
    let read = BufReader::new(&terminal).read_until(b'\n', &mut line);
    show_typing_again();
    show::question(&terminal, "\n");
    read.map_err(failed)?;
    match line.pop() {
        Some(b'\n') => Ok(line),
        _ => Err(Error::usage("no password was typed")),
    }
}

fn hide_typing(terminal: &File) -> io::Result<()> {
    let before = tcgetattr(terminal)?;
    let mut hidden = before.clone();
    hidden.local_modes.remove(LocalModes::ECHO);
    *HIDDEN.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some((terminal.try_clone()?, before));
    Ok(tcsetattr(terminal, OptionalActions::Flush, &hidden)?)
}

/// Shows what is typed again if it was hidden.
pub(super) fn show_typing_again() {
    let hidden = HIDDEN.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take();
    if let Some((terminal, before)) = hidden {
        // A terminal that went away shows nothing any more.
        let _ = tcsetattr(&terminal, OptionalActions::Flush, &before);
    }
}
