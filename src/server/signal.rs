//! Signals: SIGTERM and SIGINT end the server in order.

use std::io::Write;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::Notify;

use crate::error::Error;

/// The signals that end the server, caught from the moment this is made.
pub(super) struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    /// Catches them; until then they end the process at once and leave its sockets behind.
    ///
    /// # Errors
    /// The system refuses to deliver signals here.
    pub(super) fn catch() -> Result<Self, Error> {
        let catch = |kind| signal(kind).map_err(|cause| Error::system("handle signals", cause));
        Ok(Signals { terminate: catch(SignalKind::terminate())?, interrupt: catch(SignalKind::interrupt())? })
    }

    /// Waits until the process is told to stop, and answers by what.
    pub(super) async fn until_stopped(mut self, shutdown: &Notify) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM received",
            _ = self.interrupt.recv() => "SIGINT received",
            () = shutdown.notified() => "SHUTDOWN received",
        }
    }
}

/// A panic in the engine thread must not answer from a broken keyspace: it is told, and the process aborts.
pub(super) fn abort_on_panic() {
    std::panic::set_hook(Box::new(|panic| {
        let trace = std::backtrace::Backtrace::force_capture();
        let _ = writeln!(std::io::stderr(), "goblin: bug: {panic}\n{trace}");
        std::process::abort();
    }));
}
