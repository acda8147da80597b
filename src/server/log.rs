//! One line per event on standard error: `goblin: TIME LEVEL text`.

use std::fmt;
use std::io::Write;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use super::settings::LogLevel;

/// The least urgent level that is logged.
static LEVEL: AtomicU8 = AtomicU8::new(LogLevel::Notice as u8);

/// Logs lines of this level and above from now on.
pub(super) fn set_level(level: LogLevel) {
    // Relaxed: the level orders nothing else.
    LEVEL.store(level as u8, Ordering::Relaxed);
}

pub(super) fn notice(text: fmt::Arguments<'_>) {
    line(LogLevel::Notice, text);
}

pub(super) fn verbose(text: fmt::Arguments<'_>) {
    line(LogLevel::Verbose, text);
}

pub(super) fn warning(text: fmt::Arguments<'_>) {
    line(LogLevel::Warning, text);
}

fn line(level: LogLevel, text: fmt::Arguments<'_>) {
    // Relaxed: see `set_level`.
    if (level as u8) < LEVEL.load(Ordering::Relaxed) {
        return;
    }
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let word = match level {
        LogLevel::Debug => "debug",
        LogLevel::Verbose => "verbose",
        LogLevel::Notice => "notice",
        LogLevel::Warning | LogLevel::Nothing => "warning",
    };
    // Built first, so that one write puts the whole line out; a closed standard error must not end the server.
    let text = text.to_string().replace(['\n', '\r'], " ");
    let line = format!("goblin: {}.{:03} {word} {text}\n", since.as_secs(), since.subsec_millis());
    let _ = std::io::stderr().write_all(line.as_bytes());
}
