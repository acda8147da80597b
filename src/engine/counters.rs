//! Numbers in strings: INCR DECR INCRBY DECRBY INCRBYFLOAT.

use crate::command::{Decr, Decrby, Incr, Incrby, Incrbyfloat};
use crate::reply::{CommandError, Reply};

use super::host::Host;
use super::long_double::{Finite, LongDouble};
use super::settings::NotifyFlags;
use super::value::Value;
use super::{Engine, Turn};

impl Engine {
    pub(super) fn incr<H: Host>(&mut self, turn: &mut Turn<'_, H>, incr: &Incr<'_>) -> Result<Reply<'_>, CommandError> {
        self.add(turn, incr.key, 1)
    }

    pub(super) fn decr<H: Host>(&mut self, turn: &mut Turn<'_, H>, decr: &Decr<'_>) -> Result<Reply<'_>, CommandError> {
        self.add(turn, decr.key, -1)
    }

    pub(super) fn incrby<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        incrby: &Incrby<'_>,
    ) -> Result<Reply<'_>, CommandError> {
        self.add(turn, incrby.key, incrby.increment)
    }

    /// The least integer has no counterpart to add.
    pub(super) fn decrby<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        decrby: &Decrby<'_>,
    ) -> Result<Reply<'_>, CommandError> {
        let amount = decrby.decrement.checked_neg().ok_or(CommandError::DecrementOverflow)?;
        self.add(turn, decrby.key, amount)
    }

    fn add<H: Host>(&mut self, turn: &mut Turn<'_, H>, key: &[u8], amount: i64) -> Result<Reply<'_>, CommandError> {
        let (db, key) = (turn.caller.db, self.key(key));
        let sum = match self.write(turn, key) {
            Some(value) => {
                let sum = value.as_integer()?.checked_add(amount).ok_or(CommandError::Overflow)?;
                *value = Value::integer(sum);
                sum
            }
            None => {
                self.database(db).insert(key, Value::integer(amount), None);
                self.notify(turn.host, db, NotifyFlags::NEW, "new", key.bytes());
                amount
            }
        };
        self.changed(turn.host, db, NotifyFlags::STRING, "incrby", key.bytes());
        Ok(Reply::Integer(sum))
    }

    /// Counts in [`LongDouble`]; the result is a text also when it is an integer.
    pub(super) fn incrbyfloat<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        incrbyfloat: &Incrbyfloat<'_>,
    ) -> Result<Reply<'_>, CommandError> {
        let (db, key) = (turn.caller.db, self.key(incrbyfloat.key));
        let number = |text: &[u8]| LongDouble::parse(text).ok_or(CommandError::NotFloat);
        let slot = self.write(turn, key);
        let present = match &slot {
            Some(value) => number(&value.as_string().ok_or(CommandError::WrongType)?)?,
            None => LongDouble::Finite(Finite::ZERO),
        };
        let increment = number(incrbyfloat.increment.get(0).unwrap_or_default())?;
        let LongDouble::Finite(sum) = present.plus(increment) else { return Err(CommandError::FloatOverflow) };
        let text = sum.to_text();
        match slot {
            Some(value) => *value = Value::text(&text),
            None => {
                self.database(db).insert(key, Value::text(&text), None);
                self.added(turn.host, db, key.bytes());
            }
        }
        self.changed(turn.host, db, NotifyFlags::STRING, "incrbyfloat", key.bytes());
        Ok(Reply::owned(text))
    }
}
