//! Who connects, and how that is said.
//!
//! Invariant: a password is never printed, not even by `Debug`.

use std::fmt;

use crate::protocol::resp::Version;

/// What is set up on a new connection, before the first request.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Login {
    /// The user; the server's default user when none is given.
    pub user: Option<Vec<u8>>,
    /// The password; no login when none is given.
    pub password: Option<Vec<u8>>,
    /// The database to select.
    pub db: u32,
    /// The dialect of RESP; RESP3 is asked for with HELLO.
    pub version: Version,
    /// Speak SBE instead: over Unix sockets, and over TCP where the server was told to.
    pub sbe: bool,
    /// The connection's name in CLIENT LIST.
    pub name: Option<Vec<u8>>,
    /// Ask for messages with their numbers, which only SBE has: a gap is then known to be one, and how large it is.
    pub numbered: bool,
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Login")
            .field("user", &self.user.as_deref().map(String::from_utf8_lossy))
            .field("password", &self.password.as_ref().map(|_| "***"))
            .field("db", &self.db)
            .field("version", &self.version)
            .field("sbe", &self.sbe)
            .field("numbered", &self.numbered)
            .field("name", &self.name.as_deref().map(String::from_utf8_lossy))
            .finish()
    }
}

/// The requests that set it all up but the database; none when there is nothing to set up.
pub(super) fn login_requests(login: &Login) -> Vec<Vec<&[u8]>> {
    let wants_login = login.user.is_some() || login.password.is_some();
    let user = login.user.as_deref();
    let password = login.password.as_deref().unwrap_or(b"");
    let mut requests: Vec<Vec<&[u8]>> = Vec::new();
    match login.version {
        Version::Resp3 if !login.sbe => {
            let mut hello: Vec<&[u8]> = vec![b"HELLO", b"3"];
            if wants_login {
                hello.extend([b"AUTH", user.unwrap_or(b"default"), password]);
            }
            if let Some(name) = &login.name {
                hello.extend([&b"SETNAME"[..], name]);
            }
            requests.push(hello);
        }
        Version::Resp2 | Version::Resp3 => {
            if wants_login {
                requests.push([&b"AUTH"[..]].into_iter().chain(user).chain([password]).collect());
            }
            if let Some(name) = &login.name {
                requests.push(vec![b"CLIENT", b"SETNAME", name]);
            }
        }
    }
    requests
}
