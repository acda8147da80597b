//! MULTI, EXEC, DISCARD, WATCH, UNWATCH.
//!
//! EXEC is a loop, not a value: it answers how many commands were queued, and the session runs them one by one with
//! [`Engine::exec_next`], encoding each reply before the next command runs.

use crate::command::{Args, Command, CommandId, OwnedArgs, Request, Spec};
use crate::reply::{CommandError, Reply};

use super::caller::{Caller, Transaction};
use super::host::{Host, Now};
use super::monitor;
use super::{Engine, Turn};

impl Engine {
    pub(super) fn multi(&mut self, caller: &mut Caller) -> Result<Reply<'_>, CommandError> {
        if caller.transaction.is_some() {
            return Err(CommandError::NestedMulti);
        }
        caller.transaction = Some(Box::default());
        Ok(Reply::OK)
    }

    pub(super) fn discard(&mut self, caller: &mut Caller) -> Result<Reply<'_>, CommandError> {
        if caller.transaction.take().is_none() {
            return Err(CommandError::DiscardWithoutMulti);
        }
        self.watches.unwatch(caller);
        Ok(Reply::OK)
    }

    pub(super) fn watch<H: Host>(&mut self, turn: &mut Turn<'_, H>, keys: Args<'_>) -> Result<Reply<'_>, CommandError> {
        if turn.caller.transaction.is_some() {
            return Err(CommandError::WatchInMulti);
        }
        for key in keys.iter() {
            let (hashed, now_ms) = (self.key(key), turn.now.unix_ms());
            let is_due = self.database(turn.caller.db).is_due(hashed, now_ms);
            self.watches.watch(turn.caller, key, is_due);
        }
        Ok(Reply::OK)
    }

    pub(super) fn unwatch(&mut self, caller: &mut Caller) -> Result<Reply<'_>, CommandError> {
        self.watches.unwatch(caller);
        Ok(Reply::OK)
    }

    /// Decides whether the transaction runs; the answer to a broken watch is a null array.
    pub(super) fn exec<H: Host>(&mut self, turn: &mut Turn<'_, H>) -> Result<Reply<'_>, CommandError> {
        let Some(transaction) = turn.caller.transaction.as_deref() else {
            return Err(CommandError::ExecWithoutMulti);
        };
        let (aborted, queued) = (transaction.aborted, transaction.queue.len());
        let broken = self.watches.is_broken(turn.caller.id) || self.watched_key_is_due(turn.caller, turn.now);
        self.watches.unwatch(turn.caller);
        if aborted || broken {
            turn.caller.transaction = None;
            return if aborted { Err(CommandError::ExecAborted) } else { Ok(Reply::NilArray) };
        }
        if let Some(transaction) = turn.caller.transaction.as_deref_mut() {
            transaction.ran = Some(0);
        }
        Ok(Reply::Exec(queued))
    }

    /// Runs the next queued command after [`Reply::Exec`] and tells which it was, what it was asked and what it
    /// answers; `None` when all have run, which ends the transaction.
    pub fn exec_next<'e, H: Host>(
        &'e mut self,
        caller: &mut Caller,
        now: Now,
        host: &mut H,
    ) -> Option<(&'static Spec, OwnedArgs, Reply<'e>)> {
        // It stays with its caller while it runs, for CLIENT LIST and CLIENT INFO tell of it.
        let transaction = caller.transaction.as_deref_mut()?;
        let at = transaction.ran?;
        let Some((spec, args)) = transaction.queue.get_mut(at).map(|(spec, args)| (*spec, std::mem::take(args))) else {
            let exec = std::mem::take(&mut transaction.exec);
            caller.transaction = None;
            monitor::show(caller, CommandId::EXEC.spec(), exec.as_args(), host);
            return None;
        };
        transaction.ran = Some(at + 1);
        // A command that finds out about its subcommands only when it runs may have been queued with a wrong one.
        let parsed = match spec.lumped_errors {
            true => Request::resolve(args.as_args()).parse(),
            false => Command::parse(spec, args.as_args()),
        };
        let reply = match parsed {
            Ok(command) => self.execute(caller, &command, now, host),
            Err(error) => Reply::Error(error),
        };
        monitor::show(caller, spec, args.as_args(), host);
        Some((spec, args, reply))
    }

    /// A watched key whose time has come since counts as changed even before it is removed.
    fn watched_key_is_due(&self, caller: &Caller, now: Now) -> bool {
        let watched = caller.extras.as_ref().map_or(&[][..], |extras| &extras.watched);
        watched.iter().any(|(db, key)| {
            let keyspace = self.databases.get(usize::from(*db));
            let is_due = keyspace.is_some_and(|keyspace| keyspace.is_due(self.key(key), now.unix_ms()));
            is_due && !self.watches.began_due(caller.id, *db, key)
        })
    }
}

impl Transaction {
    /// Heap bytes of the queued commands.
    pub fn heap_bytes(&self) -> usize {
        let places = self.queue.capacity() * size_of::<(&'static Spec, OwnedArgs)>();
        places + self.queue.iter().map(|(_, args)| args.heap_bytes()).sum::<usize>()
    }
}
