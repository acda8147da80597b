//! MONITOR: every command that ran, shown to those who watch.
//!
//! Invariant: a command is shown after it ran, in the order of execution, EXEC after what it ran. What never ran (an
//! unknown command, a wrong number of words, a queued command) is not shown, nor is what only operators send.
//! Deliberately unknown here: sessions, output buffers and their limits; the host hands lines on.

use crate::command::{Args, CommandId, Flags, Spec, quote};
use crate::limits::MONITOR_LINE_BYTES_MAX;
use crate::reply::{CommandError, Reply};

use super::caller::Caller;
use super::host::Host;
use super::secrets::redacted;
use super::{Engine, Turn};

impl Engine {
    /// From a transaction it is refused: its lines would stand inside the reply of EXEC. Asked for again it answers
    /// nothing.
    pub(super) fn monitor<H: Host>(&mut self, turn: &mut Turn<'_, H>) -> Result<Reply<'_>, CommandError> {
        if turn.caller.transaction.is_some() {
            return Err(CommandError::MonitorInMulti);
        }
        if std::mem::replace(&mut turn.caller.monitor, true) {
            return Ok(Reply::Silent);
        }
        turn.host.set_monitor(true);
        Ok(Reply::OK)
    }
}

/// Whether a connection that watches may not send a command: one about keys or messages.
pub(super) fn is_kept_from_monitors(spec: &Spec) -> bool {
    let publishes = matches!(spec.id, CommandId::PUBLISH | CommandId::SPUBLISH);
    publishes || spec.flags.contains(Flags::WRITE) || spec.flags.contains(Flags::READONLY)
}

/// Shows a command that ran. Free while nobody watches.
pub(super) fn show<H: Host>(caller: &Caller, spec: &Spec, args: Args<'_>, host: &mut H) {
    if !host.has_monitors() || spec.flags.contains(Flags::ADMIN) {
        return;
    }
    let mut line = Vec::with_capacity(args.bytes_len().min(MONITOR_LINE_BYTES_MAX) + 4 * args.len().min(64));
    let mut left = args.len();
    for word in redacted(spec, args) {
        if !line.is_empty() {
            line.push(b' ');
        }
        if line.len() >= MONITOR_LINE_BYTES_MAX {
            quote(format!("... ({left} more arguments)").as_bytes(), &mut line);
            break;
        }
        let shown = &word[..word.len().min(MONITOR_LINE_BYTES_MAX)];
        if shown.len() < word.len() {
            let cut = format!("... ({} more bytes)", word.len() - shown.len());
            quote(&[shown, cut.as_bytes()].concat(), &mut line);
        } else {
            quote(shown, &mut line);
        }
        left -= 1;
    }
    host.show_command(caller.db, &line);
}
