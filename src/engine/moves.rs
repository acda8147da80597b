//! Commands that carry a value from one key to another: RENAME RENAMENX COPY MOVE.
//!
//! Invariant: the deadline goes along; the record of use begins anew, as in Redis.
//! Invariant: events come in Redis's order: `new` on the destination first, what it replaced last.

use crate::command::{Copy, Move, Rename, Renamenx};
use crate::reply::{CommandError, Reply};

use super::host::Host;
use super::keyspace::HashedKey;
use super::settings::NotifyFlags;
use super::value::Kind;
use super::{Engine, Turn};

impl Engine {
    pub(super) fn rename<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        rename: &Rename<'_>,
    ) -> Result<Reply<'_>, CommandError> {
        let (db, from, to) = (turn.caller.db, self.key(rename.key), self.key(rename.newkey));
        self.source_of_rename(turn, from)?;
        if from.bytes() != to.bytes() {
            self.expire_if_due(turn, to);
            let replaced = self.database(db).remove(to);
            let kind = self.carry(turn, (db, from), (db, to), ["rename_from", "rename_to"]);
            if let (Some(entry), Some(kind)) = (replaced, kind) {
                self.replaced(turn.host, db, to.bytes(), entry.into_parts().0, kind);
            }
        }
        Ok(Reply::OK)
    }

    pub(super) fn renamenx<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        rename: &Renamenx<'_>,
    ) -> Result<Reply<'_>, CommandError> {
        let (db, from, to) = (turn.caller.db, self.key(rename.key), self.key(rename.newkey));
        self.source_of_rename(turn, from)?;
        // Its own name is taken, too.
        self.expire_if_due(turn, to);
        let renamed = !self.database(db).contains(to, turn.now.unix_ms());
        if renamed {
            self.carry(turn, (db, from), (db, to), ["rename_from", "rename_to"]);
        }
        Ok(Reply::flag(renamed))
    }

    fn source_of_rename<H: Host>(&mut self, turn: &mut Turn<'_, H>, key: HashedKey<'_>) -> Result<(), CommandError> {
        self.write(turn, key).map(|_| ()).ok_or(CommandError::NoSuchKey)
    }

    pub(super) fn move_key<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        request: &Move<'_>,
    ) -> Result<Reply<'_>, CommandError> {
        let (from, to) = (turn.caller.db, self.database_index(request.db)?);
        if from == to {
            return Err(CommandError::SameObject);
        }
        let key = self.key(request.key);
        if self.write(turn, key).is_none() || self.is_taken(turn, to, key) {
            return Ok(Reply::Integer(0));
        }
        self.carry(turn, (from, key), (to, key), ["move_from", "move_to"]);
        Ok(Reply::Integer(1))
    }

    pub(super) fn copy<H: Host>(&mut self, turn: &mut Turn<'_, H>, copy: &Copy<'_>) -> Result<Reply<'_>, CommandError> {
        let db = turn.caller.db;
        let (into, replace) = copy.options.read(|number| self.database_index(number))?;
        let into = into.unwrap_or(db);
        if into == db && copy.source == copy.destination {
            return Err(CommandError::SameObject);
        }
        let (from, to, now_ms) = (self.key(copy.source), self.key(copy.destination), turn.now.unix_ms());
        if self.read(turn, from).is_none() || self.is_taken(turn, into, to) && !replace {
            return Ok(Reply::Integer(0));
        }
        let Some(source) = self.database(db).entry(from, now_ms) else { return Ok(Reply::Integer(0)) };
        let (bytes, deadline) = (source.memory_bytes(), source.deadline_ms());
        self.room_for(turn.host, bytes)?;
        let value = self.database(db).get(from, now_ms).cloned();
        let Some(value) = value else { return Ok(Reply::Integer(0)) };
        let kind = value.kind();
        let replaced = self.database(into).set(to, value, deadline);
        self.notify(turn.host, into, NotifyFlags::NEW, "new", to.bytes());
        self.changed(turn.host, into, NotifyFlags::GENERIC, "copy_to", to.bytes());
        if let Some(old) = replaced {
            self.replaced(turn.host, into, to.bytes(), old, kind);
        }
        Ok(Reply::Integer(1))
    }

    /// Whether a key of any database is there; removes it when it is due.
    fn is_taken<H: Host>(&mut self, turn: &mut Turn<'_, H>, db: u16, key: HashedKey<'_>) -> bool {
        let own = std::mem::replace(&mut turn.caller.db, db);
        self.expire_if_due(turn, key);
        turn.caller.db = own;
        self.database(db).contains(key, turn.now.unix_ms())
    }

    /// Moves an entry to a place that is free, and publishes it; answers its type.
    fn carry<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        (from_db, from): (u16, HashedKey<'_>),
        (to_db, to): (u16, HashedKey<'_>),
        [from_event, to_event]: [&str; 2],
    ) -> Option<Kind> {
        let (value, deadline) = self.database(from_db).remove(from)?.into_parts();
        let kind = value.kind();
        self.database(to_db).insert(to, value, deadline);
        self.notify(turn.host, to_db, NotifyFlags::NEW, "new", to.bytes());
        self.changed(turn.host, from_db, NotifyFlags::GENERIC, from_event, from.bytes());
        self.changed(turn.host, to_db, NotifyFlags::GENERIC, to_event, to.bytes());
        Some(kind)
    }
}
