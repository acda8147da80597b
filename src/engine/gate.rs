//! What stands between a request and its execution: authentication, subscribed mode, queueing in transactions.
//!
//! Invariant: the order of checks is Redis's, for it decides which of several errors a client sees.

use crate::command::{Command, CommandId, Flags, OwnedArgs, Request, Spec};
use crate::reply::{CommandError, Reply};

use super::Engine;
use super::caller::Caller;
use super::host::{Host, Now};
use super::monitor;
use super::settings::EngineSettings;

impl Engine {
    /// Takes one request to its reply: checks, then queues it (inside MULTI) or executes it.
    ///
    /// After [`Reply::Exec`] the caller must run [`Engine::exec_next`] that many times, after [`Reply::Pending`]
    /// [`Engine::go_on`] until it answers, before anything else.
    pub fn handle<'e, H: Host>(
        &'e mut self,
        caller: &mut Caller,
        request: &Request<'_>,
        now: Now,
        host: &mut H,
    ) -> Handled<'e> {
        let admitted = admit(caller, request, &self.settings).and_then(|spec| {
            self.make_room(caller, spec, request, now, host)?;
            listens(caller, spec).map(|()| spec)
        });
        let (executed, reply) = match admitted {
            // To its callers DEBUG is one command, which finds out about its subcommands when it runs.
            Err(CommandError::BadSubcommand(_)) if caller.transaction.is_some() => {
                (Executed::Queued, queue(caller, CommandId::DEBUG.spec(), request))
            }
            Err(error @ CommandError::BadSubcommand(_)) => (Executed::Ran, Reply::Error(error)),
            Err(error) => {
                // An EXEC that cannot even begin ends the transaction.
                if matches!(error, CommandError::ExecRefused(_)) {
                    caller.transaction = None;
                    self.watches.unwatch(caller);
                }
                (Executed::Refused, refuse(caller, error))
            }
            Ok(spec) if queues(caller, spec) => (Executed::Queued, queue(caller, spec, request)),
            Ok(spec) => {
                let reply = match Command::parse(spec, request.args) {
                    Ok(command) => self.attempt(caller, &command, now, host, 0),
                    Err(error) => Reply::Error(error),
                };
                if let Some(work) = &mut caller.work {
                    work.belongs_to(spec, OwnedArgs::copy(request.args));
                }
                match caller.transaction.as_deref_mut() {
                    // Shown once all it runs has run.
                    Some(transaction) if matches!(reply, Reply::Exec(_)) => {
                        transaction.exec = OwnedArgs::copy(request.args);
                    }
                    _ => monitor::show(caller, spec, request.args, host),
                }
                (Executed::Ran, reply)
            }
        };
        Handled { executed, reply }
    }

    /// Whether a request passes every check that comes before its execution. CLIENT PAUSE holds back only these: a
    /// refusal is answered at once.
    pub fn admits(&self, caller: &Caller, request: &Request<'_>) -> bool {
        match admit(caller, request, &self.settings) {
            Ok(spec) => listens(caller, spec).is_ok(),
            Err(error) => matches!(error, CommandError::BadSubcommand(_)),
        }
    }
}

/// What became of a request.
#[derive(Debug)]
pub struct Handled<'e> {
    /// How far it got.
    pub executed: Executed,
    /// What it answers.
    pub reply: Reply<'e>,
}

/// How far a request got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Executed {
    /// Stopped before execution.
    Refused,
    /// Kept for EXEC.
    Queued,
    /// Executed, perhaps with an error as its answer.
    Ran,
}

/// The checks that need no engine.
fn admit(caller: &Caller, request: &Request<'_>, settings: &EngineSettings) -> Result<&'static Spec, CommandError> {
    let debugs = |spec: &Spec| spec.id == CommandId::DEBUG || spec.container == Some(CommandId::DEBUG);
    let debug = match &request.spec {
        Ok(spec) => debugs(spec),
        Err(error) => matches!(error, CommandError::BadSubcommand(_)),
    };
    if debug && !settings.debug_commands.allowed(caller.local) {
        return Err(CommandError::DebugDisabled);
    }
    let spec = request.spec.clone()?;
    if settings.requirepass.is_some() && !caller.authenticated && !spec.flags.contains(Flags::NO_AUTH) {
        return Err(CommandError::NoAuth);
    }
    if caller.transaction.is_some() && !may_be_queued(spec, request) {
        return Err(CommandError::NotInTransaction);
    }
    Ok(spec)
}

/// Whether a connection that may be subscribed, or a monitor, can use a command.
fn listens(caller: &Caller, spec: &Spec) -> Result<(), CommandError> {
    if caller.in_subscribed_mode() && !serves_subscribers(spec) {
        return Err(CommandError::SubscribedMode(spec.name));
    }
    match caller.monitor && monitor::is_kept_from_monitors(spec) {
        true => Err(CommandError::MonitorMayOnlyWatch),
        false => Ok(()),
    }
}

/// A subscription inside EXEC would answer once per name and shift every later reply (redis#12207). Leaving exactly
/// one name answers exactly once and is let through.
fn may_be_queued(spec: &Spec, request: &Request<'_>) -> bool {
    match spec.id {
        CommandId::SUBSCRIBE | CommandId::PSUBSCRIBE | CommandId::SSUBSCRIBE => false,
        CommandId::UNSUBSCRIBE | CommandId::PUNSUBSCRIBE | CommandId::SUNSUBSCRIBE => request.args.len() == 2,
        _ => !spec.flags.contains(Flags::NO_MULTI),
    }
}

/// What a RESP2 connection may send while it is subscribed: its client reads every reply as a message.
fn serves_subscribers(spec: &Spec) -> bool {
    matches!(
        spec.id,
        CommandId::SUBSCRIBE
            | CommandId::PSUBSCRIBE
            | CommandId::SSUBSCRIBE
            | CommandId::UNSUBSCRIBE
            | CommandId::PUNSUBSCRIBE
            | CommandId::SUNSUBSCRIBE
            | CommandId::PING
            | CommandId::QUIT
            | CommandId::RESET
    )
}

fn queues(caller: &Caller, spec: &Spec) -> bool {
    let at_once =
        [CommandId::EXEC, CommandId::DISCARD, CommandId::MULTI, CommandId::WATCH, CommandId::QUIT, CommandId::RESET];
    caller.transaction.is_some() && !at_once.contains(&spec.id)
}

fn queue(caller: &mut Caller, spec: &'static Spec, request: &Request<'_>) -> Reply<'static> {
    if let Some(queued) = caller.transaction.as_ref().map(|transaction| transaction.queue.len())
        && let Err(error) = caller.check_entries(queued + 2)
    {
        return refuse(caller, error);
    }
    if let Some(transaction) = caller.transaction.as_mut() {
        // An aborted transaction never runs, so that its commands need no memory.
        if !transaction.aborted {
            transaction.queue.push((spec, OwnedArgs::copy(request.args)));
        }
    }
    Reply::status("QUEUED")
}

/// A refusal before execution spoils a transaction being queued.
fn refuse(caller: &mut Caller, error: CommandError) -> Reply<'static> {
    if let Some(transaction) = caller.transaction.as_mut() {
        transaction.aborted = true;
    }
    Reply::Error(error)
}
