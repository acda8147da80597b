//! The flags of `goblin serve`.
//!
//! Deliberately unknown here: what a value means; each is handed on as text, so that flags, environment and files
//! are checked in one place and refused in the same words.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use crate::server::config::{Given, Origin, Place, Request};

/// Run the server
#[derive(clap::Args, Debug, Default)]
#[command(disable_help_flag = true, args_override_self = true)]
pub(super) struct ServeArgs {
    /// Addresses to listen on, repeated or separated by commas [default: 127.0.0.1 and ::1]
    #[arg(long, value_name = "ADDRESS", value_delimiter = ',')]
    bind: Vec<OsString>,

    /// TCP port; 0 means no TCP [default: 6379]
    #[arg(long, value_name = "PORT")]
    port: Option<OsString>,

    /// Path of the Unix socket [default: $XDG_RUNTIME_DIR/goblin/PORT.sock or /tmp/goblin-UID/PORT.sock]
    #[arg(long, value_name = "PATH", conflicts_with = "no_unixsocket")]
    unixsocket: Option<OsString>,

    /// Do not listen on a Unix socket
    #[arg(long)]
    no_unixsocket: bool,

    /// Mode of the Unix socket [default: 700]
    #[arg(long, value_name = "OCTAL")]
    unixsocketperm: Option<OsString>,

    /// Take SBE clients over TCP too, not only on the Unix socket
    #[arg(long)]
    sbe: bool,

    /// Ring in shared memory to serve, such as /dev/shm/goblin:64kb; may be repeated, the first one is looked at first
    #[arg(long, value_name = "PATH:SIZE")]
    ring: Vec<OsString>,

    /// Folder for the files of rings on demand, which clients ask for that cannot receive descriptors [default: none]
    #[arg(long, value_name = "FOLDER")]
    ring_dir: Option<OsString>,

    /// Mode of the rings' files [default: 600]
    #[arg(long, value_name = "OCTAL")]
    ring_perm: Option<OsString>,

    /// How to wait for work [default: adaptive, which is block where only one processor may be used]
    #[arg(long, value_name = "HOW", value_parser = ["spin", "adaptive", "block"])]
    wait: Option<String>,

    /// Processor the engine thread runs on [default: any]
    #[arg(long, value_name = "N")]
    cpu: Option<OsString>,

    /// Number of databases [default: 16]
    #[arg(long, value_name = "N")]
    databases: Option<OsString>,

    /// Most connections at a time [default: 10000]
    #[arg(long, value_name = "N")]
    maxclients: Option<OsString>,

    /// Seconds until an idle connection is closed; 0 means never [default: 0]
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<OsString>,

    /// Seconds between probes of a silent peer; 0 means none [default: 300]
    #[arg(long, value_name = "SECONDS")]
    tcp_keepalive: Option<OsString>,

    /// Connections the kernel holds until they are accepted [default: 511]
    #[arg(long, value_name = "N")]
    tcp_backlog: Option<OsString>,

    /// Password clients must give; others on this machine can see it here, a file or GOBLIN_REQUIREPASS is better
    #[arg(long, value_name = "PASSWORD", conflicts_with = "requirepass_file")]
    requirepass: Option<OsString>,

    /// File whose first line is the password
    #[arg(long, value_name = "FILE")]
    requirepass_file: Option<OsString>,

    /// Refuse other machines while there is no password [default: yes]
    #[arg(long, value_name = "YES|NO")]
    protected_mode: Option<OsString>,

    /// Who may use DEBUG: no, yes, or local for connections from this machine [default: no]
    #[arg(long, value_name = "WHO")]
    enable_debug_command: Option<OsString>,

    /// Any other setting (see goblin help config); may be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<OsString>,

    /// Settings from a file: TOML with the names of the flags, or a redis.conf; flags win over it
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Note what goblin cannot follow in the file instead of refusing to start
    #[arg(long, requires = "config")]
    config_lenient: bool,

    /// Print help
    #[arg(long, action = clap::ArgAction::Help)]
    help: Option<bool>,
}

impl ServeArgs {
    /// What the process was given, with the environment's `GOBLIN_REQUIREPASS` (`password`) before the flags.
    pub(super) fn into_request(self, password: Option<OsString>, place: Place) -> Request {
        let mut given = Vec::new();
        if let Some(password) = password {
            given.push(Given::new("requirepass", password.into_vec(), Origin::Environment("GOBLIN_REQUIREPASS")));
        }
        for setting in self.set {
            given.push(any_setting(setting.into_vec()));
        }
        if !self.bind.is_empty() {
            let words = self.bind.into_iter().map(OsStringExt::into_vec).collect();
            given.push(Given { name: "bind".to_owned(), words, origin: Origin::Flag("--bind".to_owned()) });
        }
        for ring in self.ring {
            given.push(Given::new("ring", ring.into_vec(), Origin::Flag("--ring".to_owned())));
        }
        let single = [
            ("port", self.port),
            ("unixsocket", self.unixsocket),
            ("no-unixsocket", self.no_unixsocket.then(|| "yes".into())),
            ("unixsocketperm", self.unixsocketperm),
            ("sbe", self.sbe.then(|| "yes".into())),
            ("ring-dir", self.ring_dir),
            ("ring-perm", self.ring_perm),
            ("wait", self.wait.map(Into::into)),
            ("cpu", self.cpu),
            ("databases", self.databases),
            ("maxclients", self.maxclients),
            ("timeout", self.timeout),
            ("tcp-keepalive", self.tcp_keepalive),
            ("tcp-backlog", self.tcp_backlog),
            ("requirepass", self.requirepass),
            ("requirepass-file", self.requirepass_file),
            ("protected-mode", self.protected_mode),
            ("enable-debug-command", self.enable_debug_command),
        ];
        for (name, value) in single {
            if let Some(value) = value {
                given.push(Given::new(name, value.into_vec(), Origin::Flag(format!("--{name}"))));
            }
        }
        Request { file: self.config, lenient: self.config_lenient, given, place }
    }
}

/// `NAME=VALUE`; without `=` it is a name whose value is missing, which is refused like any other wrong count.
fn any_setting(text: Vec<u8>) -> Given {
    let mut parts = text.splitn(2, |byte| *byte == b'=');
    let name = String::from_utf8_lossy(parts.next().unwrap_or_default()).into_owned();
    let words = parts.map(<[u8]>::to_vec).collect();
    let origin = Origin::Flag(format!("--set {name}"));
    Given { name, words, origin }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        serve: ServeArgs,
    }

    fn request(words: &[&str]) -> Result<Vec<String>, clap::error::ErrorKind> {
        let line = Line::try_parse_from(["serve"].iter().chain(words)).map_err(|error| error.kind())?;
        let request = line.serve.into_request(Some("secret".into()), Place::default());
        let shown = request.given.iter().map(|given| {
            let value = String::from_utf8_lossy(&given.words.join(&b'|')).into_owned();
            format!("{} {}={value}", given.origin, given.name)
        });
        Ok(shown.collect())
    }

    #[test]
    fn flags_become_settings_and_come_after_the_environment() {
        let shown =
            request(&["--bind", "127.0.0.1,::1", "--bind=-::2", "--port", "x", "--set", "hz=1=2", "--set", "a"]);
        let expected = [
            "GOBLIN_REQUIREPASS requirepass=secret",
            "--set hz hz=1=2",
            "--set a a=",
            "--bind bind=127.0.0.1|::1|-::2",
            "--port port=x",
        ];
        assert_eq!(shown.unwrap(), expected);
    }

    #[test]
    fn h_is_not_help() {
        assert_eq!(request(&["--help"]), Err(clap::error::ErrorKind::DisplayHelp));
        assert_eq!(request(&["-h"]), Err(clap::error::ErrorKind::UnknownArgument));
    }

    #[test]
    fn the_socket_is_either_somewhere_or_nowhere() {
        let both = request(&["--no-unixsocket", "--unixsocket", "/x"]);
        assert_eq!(both, Err(clap::error::ErrorKind::ArgumentConflict));
    }
}
