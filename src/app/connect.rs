//! The flags with which every client subcommand says which server, as whom, and in which dialect.
//!
//! Invariant: nothing that was given is ignored; what contradicts something else is refused before a connection is
//! made.
//! Invariant: a password is never printed.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::time::Duration;

use super::{password, show};
use crate::client::{Address, ClientError, Connection, Login, Session, Version, parse_url};
use crate::error::{Error, Exit};
use crate::server::config::{Place, socket_folder};

/// How long a host may take to accept: a route that drops packets is told from a slow one.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Where a server is when nobody says.
const PORT: u16 = 6379;

/// The variables a password is taken from, the first that is set and not empty.
const PASSWORD_VARIABLES: [&str; 2] = ["GOBLIN_PASSWORD", "REDISCLI_AUTH"];

/// Which server, as whom, and how.
#[derive(clap::Args, Debug, Default)]
#[command(next_help_heading = "Connection")]
pub(super) struct ConnectArgs {
    /// Host [default: 127.0.0.1]
    #[arg(short = 'h', value_name = "HOST", conflicts_with_all = ["socket", "url"])]
    host: Option<String>,

    /// TCP port [default: 6379]; with --ring alone, that of the server whose socket is looked for
    #[arg(short = 'p', value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..), conflicts_with_all = ["socket", "url"])]
    port: Option<u16>,

    /// Unix socket
    #[arg(short = 's', value_name = "SOCKET", conflicts_with = "url")]
    socket: Option<PathBuf>,

    /// By ring in shared memory: one that is asked for over the Unix socket, or with =PATH one that the server serves
    #[arg(long, value_name = "PATH", num_args = 0..=1, require_equals = true, default_missing_value = "", conflicts_with_all = ["host", "url"])]
    ring: Option<OsString>,

    /// Database [default: 0]
    #[arg(short = 'n', value_name = "DB")]
    db: Option<u32>,

    /// Server, user, password and database in one: redis://[user[:password]@]host[:port][/db], unix:///path[?db=N]
    #[arg(short = 'u', long, value_name = "URL")]
    url: Option<String>,

    /// User [default: the server's default user]
    #[arg(long, value_name = "NAME")]
    user: Option<OsString>,

    /// Ask for the password on the terminal; a script sets GOBLIN_PASSWORD (or REDISCLI_AUTH) instead
    #[arg(long)]
    askpass: bool,

    /// Password; others on this machine can see it here
    #[arg(short = 'a', value_name = "PASSWORD", conflicts_with = "askpass")]
    password: Option<OsString>,

    /// Dialect [default: sbe by ring, else resp3, or resp2 where the server knows no other]
    #[arg(long, value_name = "DIALECT")]
    protocol: Option<Dialect>,
}

#[derive(clap::ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
enum Dialect {
    Resp2,
    Resp3,
    Sbe,
}

/// Where to connect and what to set up there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    address: Address,
    login: Login,
    /// The dialect was not asked for by name.
    any_version: bool,
}

impl ConnectArgs {
    /// Checks the flags, takes the password from where it is, and warns of one that others can see.
    ///
    /// # Errors
    /// What cannot be, or contradicts something else (2).
    pub(super) fn into_target(self) -> Result<Target, Error> {
        if self.password.is_some() {
            show::notice(
                "others on this machine can see a password given with -a; GOBLIN_PASSWORD or --askpass hide it",
            );
        }
        let asked = if self.askpass { Some(password::ask()?) } else { None };
        let from_environment = PASSWORD_VARIABLES.iter().filter_map(std::env::var_os).find(|value| !value.is_empty());
        self.build(asked, from_environment.map(OsString::into_vec))
    }

    fn build(self, asked: Option<Vec<u8>>, from_environment: Option<Vec<u8>>) -> Result<Target, Error> {
        let (address, mut login) = match (self.url, self.socket, self.ring) {
            (Some(url), ..) => parse_url(&url).map_err(|error| Error::usage(format!("--url: {error}")))?,
            (None, socket, Some(ring)) => (ring_address(ring, socket, self.port)?, Login::default()),
            (None, Some(path), None) => (Address::Unix(path), Login::default()),
            (None, None, None) => {
                let host = self.host.unwrap_or_else(|| "127.0.0.1".into());
                if host.is_empty() || host.contains(|letter: char| letter.is_whitespace() || letter.is_control()) {
                    return Err(Error::usage(format!("-h: {host:?} is no host")));
                }
                (Address::Tcp { host, port: self.port.unwrap_or(PORT) }, Login::default())
            }
        };
        if let Some(db) = self.db {
            if login.db != 0 && login.db != db {
                return Err(Error::usage(format!("-n says database {db} and --url says {}", login.db)));
            }
            login.db = db;
        }
        if let Some(user) = self.user.map(OsString::into_vec) {
            if login.user.as_ref().is_some_and(|other| *other != user) {
                return Err(Error::usage("--user and --url name different users"));
            }
            login.user = Some(user);
        }
        let given = self.password.map(OsString::into_vec).or(asked);
        if given.is_some() && login.password.is_some() {
            return Err(Error::usage("--url has a password already"));
        }
        login.password = given.or(login.password).or(from_environment);
        login.version = if self.protocol == Some(Dialect::Resp2) { Version::Resp2 } else { Version::Resp3 };
        let by_ring = matches!(address, Address::Ring(_) | Address::RingOver(_));
        login.sbe = self.protocol.map_or(by_ring, |dialect| dialect == Dialect::Sbe);
        Ok(Target { address, login, any_version: self.protocol.is_none() })
    }
}

/// What `--ring` says, empty without `=PATH`, together with `-s` and `-p`.
fn ring_address(ring: OsString, socket: Option<PathBuf>, port: Option<u16>) -> Result<Address, Error> {
    match (ring.is_empty(), socket) {
        (false, None) if port.is_none() => Ok(Address::Ring(ring.into())),
        (false, _) => Err(Error::usage("--ring=PATH says which ring; -s and -p are for --ring alone")),
        (true, Some(socket)) => Ok(Address::RingOver(socket)),
        (true, None) => match socket_folder::find(port.unwrap_or(PORT), &Place::of_process()) {
            Ok(socket) => Ok(Address::RingOver(socket)),
            Err(error) => Err(Error::caused(Exit::Unreachable, "--ring", error)),
        },
    }
}

impl Target {
    /// Connects and logs in, each within [`CONNECT_TIMEOUT`]. A server that does not know HELLO is spoken to in RESP2,
    /// unless RESP3 was asked for.
    ///
    /// # Errors
    /// [`ClientError::Connect`], [`ClientError::Login`], or the connection's failure.
    pub(super) fn open(&self) -> Result<Connection, ClientError> {
        match self.open_as(&self.login) {
            Err(ClientError::Login(words)) if self.any_version && words.contains("unknown command") => {
                self.open_as(&Login { version: Version::Resp2, ..self.login.clone() })
            }
            opened => opened,
        }
    }

    /// The same, as a connection that comes back when it was lost.
    ///
    /// # Errors
    /// Those of [`Target::open`].
    pub(super) fn session(self) -> Result<Session, ClientError> {
        let connection = self.open()?;
        let login = Login { version: connection.version(), ..self.login };
        Ok(Session::of(connection, self.address, login, CONNECT_TIMEOUT))
    }

    /// The same, with messages numbered where the dialect can.
    pub(super) fn numbered(mut self) -> Target {
        self.login.numbered = true;
        self
    }

    /// Where the server is.
    pub(super) fn address(&self) -> &Address {
        &self.address
    }

    /// What is set up there.
    pub(super) fn login(&self) -> &Login {
        &self.login
    }

    /// The same place, with something else set up there.
    pub(super) fn with_login(&self, login: Login) -> Target {
        Target { login, ..self.clone() }
    }

    fn open_as(&self, login: &Login) -> Result<Connection, ClientError> {
        Connection::open(&self.address, login, Some(CONNECT_TIMEOUT))
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use clap::error::ErrorKind;

    use super::*;

    #[derive(Parser, Debug)]
    #[command(disable_help_flag = true)]
    struct Line {
        #[command(flatten)]
        connect: ConnectArgs,
    }

    fn args(words: &[&str]) -> Result<ConnectArgs, ErrorKind> {
        let line = Line::try_parse_from(["goblin"].iter().chain(words)).map_err(|error| error.kind())?;
        Ok(line.connect)
    }

    fn target(words: &[&str]) -> Result<Target, Error> {
        args(words).unwrap().build(None, Some(b"from the environment".to_vec()))
    }

    fn tcp(host: &str, port: u16) -> Address {
        Address::Tcp { host: host.into(), port }
    }

    #[test]
    fn without_flags_it_is_this_machine_in_resp3() {
        let target = args(&[]).unwrap().build(None, None).unwrap();
        let login = Login { version: Version::Resp3, ..Login::default() };
        assert_eq!(target, Target { address: tcp("127.0.0.1", 6379), login, any_version: true });
    }

    #[test]
    fn flags_say_where_and_as_whom() {
        let target =
            target(&["-h", "::1", "-p", "7", "-n", "3", "--user", "u", "-a", "p", "--protocol", "resp2"]).unwrap();
        let login = Login { user: Some(b"u".into()), password: Some(b"p".into()), db: 3, ..Login::default() };
        assert_eq!(target, Target { address: tcp("::1", 7), login, any_version: false });
        assert_eq!(super::tests::target(&["-s", "/x"]).unwrap().address, Address::Unix("/x".into()));
    }

    #[test]
    fn a_url_says_it_all_and_flags_may_add_to_it() {
        let target = target(&["-u", "redis://u:p@h:7/2", "-n", "2", "--user", "u"]).unwrap();
        assert_eq!(target.address, tcp("h", 7));
        assert_eq!(
            (target.login.user, target.login.password, target.login.db),
            (Some(b"u".into()), Some(b"p".into()), 2)
        );
        let bare = super::tests::target(&["--url", "unix:///x", "-n", "4", "-a", "p"]).unwrap();
        assert_eq!((bare.login.db, bare.login.password), (4, Some(b"p".into())));
    }

    #[test]
    fn the_nearest_password_counts() {
        let password = |words: &[&str]| target(words).unwrap().login.password.unwrap();
        assert_eq!(password(&[]), b"from the environment");
        assert_eq!(password(&["-a", "p"]), b"p");
        assert_eq!(password(&["-u", "redis://:q@h"]), b"q");
        let asked = args(&["--askpass"]).unwrap().build(Some(b"typed".into()), Some(b"other".into())).unwrap();
        assert_eq!(asked.login.password.unwrap(), b"typed");
    }

    #[test]
    fn contradictions_are_refused() {
        for words in [
            &["-h", "h", "-s", "/x"][..],
            &["-p", "1", "-s", "/x"],
            &["-u", "redis://h", "-h", "h"],
            &["-u", "redis://h", "-p", "1"],
            &["-u", "redis://h", "-s", "/x"],
            &["-a", "p", "--askpass"],
        ] {
            assert_eq!(args(words).unwrap_err(), ErrorKind::ArgumentConflict, "{words:?}");
        }
        for words in [
            &["-u", "redis://h/1", "-n", "2"][..],
            &["-u", "redis://u@h", "--user", "v"],
            &["-u", "redis://:p@h", "-a", "q"],
            &["-u", "rediss://h"],
            &["-u", "redis://h/abc"],
            &["-h", ""],
        ] {
            assert_eq!(target(words).unwrap_err().exit(), crate::error::Exit::Usage, "{words:?}");
        }
        assert_eq!(args(&["-s", ""]).unwrap_err(), ErrorKind::InvalidValue);
        assert_eq!(args(&["-p", "0"]).unwrap_err(), ErrorKind::ValueValidation);
        assert_eq!(args(&["-n", "x"]).unwrap_err(), ErrorKind::ValueValidation);
        assert_eq!(args(&["--protocol", "resp4"]).unwrap_err(), ErrorKind::InvalidValue);
    }

    #[test]
    fn refusals_do_not_show_a_password() {
        let error = target(&["-u", "redis://u:secret@h/1", "-n", "2"]).unwrap_err();
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}
