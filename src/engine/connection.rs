//! Commands about the connection itself: PING, ECHO, HELLO, AUTH, SELECT, RESET, QUIT.

use crate::command::{Args, Auth, Echo, Hello, Ping, Select, is_plain_name, parse_integer};
use crate::reply::{CommandError, Reply};

use super::caller::{Caller, ReplyMode};
use super::gate::{Executed, Handled};
use super::host::{Host, Now};
use super::info::REDIS_VERSION;
use super::{Engine, Turn};

/// The only user there is.
const DEFAULT_USER: &[u8] = b"default";

impl Engine {
    /// In RESP2 a subscriber is answered in the shape of a message, which is all its client expects to read.
    pub(super) fn ping<H: Host>(&mut self, turn: &mut Turn<'_, H>, ping: &Ping<'_>) -> Reply<'static> {
        match ping.message {
            message if turn.caller.in_subscribed_mode() => {
                Reply::Array(vec![Reply::bulk(b"pong"), Reply::owned(message.unwrap_or_default())])
            }
            Some(message) => Reply::owned(message),
            None => Reply::status("PONG"),
        }
    }

    pub(super) fn echo(&mut self, echo: &Echo<'_>) -> Reply<'static> {
        Reply::owned(echo.message)
    }

    pub(super) fn auth<H: Host>(&mut self, turn: &mut Turn<'_, H>, auth: &Auth<'_>) -> Result<Reply<'_>, CommandError> {
        if auth.username.is_none() && self.settings.requirepass.is_none() {
            return Err(CommandError::AuthWithoutPassword);
        }
        self.log_in(turn, auth.username.unwrap_or(DEFAULT_USER), auth.password)?;
        Ok(Reply::OK)
    }

    fn log_in<H: Host>(&mut self, turn: &mut Turn<'_, H>, user: &[u8], password: &[u8]) -> Result<(), CommandError> {
        let right = match &self.settings.requirepass {
            Some(wanted) => same_secret(wanted, password),
            None => true,
        };
        if !right || user != DEFAULT_USER {
            self.stats.auth_denied += 1;
            return Err(CommandError::WrongPass);
        }
        turn.caller.authenticated = true;
        Ok(())
    }

    /// HELLO \[version \[AUTH user password\] \[SETNAME name\]\]: nothing is changed unless all of it is right.
    pub(super) fn hello<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        hello: &Hello<'_>,
    ) -> Result<Reply<'_>, CommandError> {
        if turn.caller.resp == Caller::NO_RESP && hello.options.version.is_some() {
            return Err(CommandError::UnsupportedProtocol);
        }
        if let Some((user, password)) = hello.options.auth {
            self.log_in(turn, user, password)?;
        }
        if self.requires_password() && !turn.caller.authenticated {
            return Err(CommandError::HelloNoAuth);
        }
        if let Some(name) = hello.options.name {
            turn.caller.set_name(name);
        }
        if let Some(version) = hello.options.version {
            turn.caller.resp = version;
        }
        Ok(introduction(turn.caller))
    }

    /// The binary protocol's Hello: database, whether messages are to have numbers, user, password and name, of which
    /// empty ones change nothing. Nothing is changed unless all of it is right.
    pub fn greet<H: Host>(&mut self, caller: &mut Caller, args: Args<'_>, now: Now, host: &mut H) -> Handled<'static> {
        let words = [1, 2, 3, 4, 5].map(|index| args.get(index).unwrap_or_default());
        let turn = &mut Turn { caller, now, host, attempt: 0 };
        match self.greet_with(turn, words) {
            Ok(()) => Handled { executed: Executed::Ran, reply: introduction(turn.caller) },
            Err(error) => Handled { executed: Executed::Refused, reply: Reply::Error(error) },
        }
    }

    fn greet_with<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        [db, numbered, user, password, name]: [&[u8]; 5],
    ) -> Result<(), CommandError> {
        if turn.caller.transaction.is_some() {
            return Err(CommandError::NotInTransaction);
        }
        let db = self.database_index(parse_integer(db).ok_or(CommandError::InvalidDb)?)?;
        let numbered = match numbered {
            b"0" => false,
            b"1" => true,
            _ => return Err(CommandError::NotOffered("pushes of that kind")),
        };
        if !is_plain_name(name) {
            return Err(CommandError::ClientName);
        }
        match (user, password) {
            (b"", b"") => {}
            (b"", _) if self.settings.requirepass.is_none() => return Err(CommandError::AuthWithoutPassword),
            (b"", password) => self.log_in(turn, DEFAULT_USER, password)?,
            (user, password) => self.log_in(turn, user, password)?,
        }
        if self.requires_password() && !turn.caller.authenticated {
            return Err(CommandError::NoAuth);
        }
        turn.caller.db = db;
        turn.caller.numbered = numbered;
        if !name.is_empty() {
            turn.caller.set_name(name);
        }
        Ok(())
    }

    pub(super) fn select<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        select: &Select,
    ) -> Result<Reply<'_>, CommandError> {
        turn.caller.db = self.database_index(select.index)?;
        Ok(Reply::OK)
    }

    /// The index of a database that exists.
    ///
    /// # Errors
    /// There is none of that number.
    pub(super) fn database_index(&self, number: i64) -> Result<u16, CommandError> {
        let index = u16::try_from(number).ok().filter(|index| usize::from(*index) < self.databases.len());
        index.ok_or(CommandError::DbOutOfRange)
    }

    /// Back to how the connection began, the connection itself excepted.
    pub(super) fn reset<H: Host>(&mut self, turn: &mut Turn<'_, H>) -> Reply<'static> {
        self.disconnect(turn.caller);
        let caller = &mut *turn.caller;
        caller.transaction = None;
        caller.db = 0;
        if caller.resp != Caller::NO_RESP {
            caller.resp = 2;
        }
        caller.replies = ReplyMode::On;
        caller.no_evict = false;
        caller.no_touch = false;
        caller.numbered = false;
        turn.host.set_push_rules(super::host::PushRules::default());
        if std::mem::take(&mut caller.monitor) {
            turn.host.set_monitor(false);
        }
        caller.authenticated = !self.requires_password();
        if let Some(extras) = &mut caller.extras {
            extras.name = Box::default();
        }
        Reply::status("RESET")
    }

    pub(super) fn quit<H: Host>(&mut self, turn: &mut Turn<'_, H>) -> Reply<'static> {
        turn.caller.closing = true;
        Reply::OK
    }
}

/// What HELLO answers.
fn introduction(caller: &Caller) -> Reply<'static> {
    let field = |name: &'static str, value| (Reply::bulk(name.as_bytes()), value);
    Reply::Map(vec![
        field("server", Reply::bulk(b"redis")),
        field("version", Reply::bulk(REDIS_VERSION.as_bytes())),
        field("proto", Reply::Integer(caller.resp.into())),
        field("id", Reply::Integer(caller.id.0 as i64)),
        field("mode", Reply::bulk(b"standalone")),
        field("role", Reply::bulk(b"master")),
        field("modules", Reply::Array(Vec::new())),
    ])
}

/// Compares without telling by its duration how much was right.
fn same_secret(wanted: &[u8], given: &[u8]) -> bool {
    let mut difference = wanted.len() ^ given.len();
    for (at, byte) in given.iter().enumerate() {
        difference |= usize::from(byte ^ wanted.get(at % wanted.len().max(1)).unwrap_or(&0));
    }
    difference == 0
}

#[cfg(test)]
mod tests {
    use super::same_secret;

    #[test]
    fn secrets_are_equal_only_when_all_bytes_are() {
        assert!(same_secret(b"", b""));
        assert!(same_secret(b"secret", b"secret"));
        for given in [&b"secre"[..], b"secret\0", b"Secret", b"secretsecret", b""] {
            assert!(!same_secret(b"secret", given), "{given:?}");
        }
        assert!(!same_secret(b"", b"x"));
    }
}
