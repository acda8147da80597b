//! What a server process is told at its start: flags over environment over file over defaults, validated as a whole.
//!
//! Invariant: a [`Config`] holds no value that was not checked; what is wrong is told all at once, a line for each.
//! Deliberately unknown here: the flag parser, sockets (nothing is created or opened but the files that are read).

mod redis_conf;
mod rewrite;
pub mod socket_folder;
mod source;
mod toml_file;

use std::ffi::OsStr;
use std::fmt;
use std::net::SocketAddr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::reply::SettingFault;

use super::settings::{Settings, StartFault};

pub use super::settings::Wait;
pub use socket_folder::Place;
pub use source::{Given, Origin};

pub(super) use rewrite::rewrite;

/// Longest path a Unix socket can have, in bytes.
const SOCKET_PATH_BYTES_MAX: usize = 107;

/// A Unix socket to listen on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnixAddress {
    /// Its path, at most 107 bytes.
    pub path: PathBuf,
    /// Its mode, such as 0o700.
    pub mode: u32,
    /// Nobody asked for it: its folder is made by [`socket_folder::prepare`] before it is listened on.
    pub unasked: bool,
}

/// A TCP address to listen on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TcpAddress {
    /// Address and port.
    pub socket: SocketAddr,
    /// It may be missing on this machine.
    pub optional: bool,
}

/// A validated start.
#[derive(Debug, Clone)]
pub struct Config {
    /// All settings, with their values at the start; they own what is not listed here.
    pub settings: Settings,
    /// The Unix socket.
    pub unix: Option<UnixAddress>,
    /// How the engine thread waits.
    pub wait: Wait,
    /// The processor it runs on.
    pub cpu: Option<usize>,
    /// The configuration file, as an absolute path.
    pub file: Option<PathBuf>,
    /// Lines for the start of the log, about what was ignored or decided.
    pub notes: Vec<String>,
}

/// What a process was given.
#[derive(Debug, Default)]
pub struct Request {
    /// `--config`.
    pub file: Option<PathBuf>,
    /// `--config-lenient`: lines of the file that goblin cannot follow become notes.
    pub lenient: bool,
    /// Flags and environment, in order of growing weight; the last one of a name counts.
    pub given: Vec<Given>,
    /// Where the process runs.
    pub place: Place,
}

/// One thing that is wrong, as one line without the program's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where it was said; none when it concerns no single value.
    pub origin: Option<Origin>,
    /// What is wrong.
    pub what: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.origin {
            Some(origin) => write!(f, "{origin}: {}", self.what),
            None => f.write_str(&self.what),
        }
    }
}

impl Config {
    /// Reads the file, applies everything in order and decides what was left open.
    ///
    /// # Errors
    /// Everything that is wrong, in the order it was met; never empty. Exit status 2.
    pub fn build(request: Request) -> Result<Config, Vec<Problem>> {
        let mut build = Build { lenient: request.lenient, ..Build::default() };
        let mut file = None;
        if let Some(path) = &request.file {
            match source::read(path) {
                Ok((lines, problems)) => {
                    build.problems.extend(problems);
                    lines.into_iter().for_each(|line| build.apply(line));
                }
                Err(problem) => build.problems.push(problem),
            }
            file = std::path::absolute(path).ok();
        }
        request.given.into_iter().for_each(|given| build.apply(given));
        build.finish(file, &request.place)
    }

    /// Where to listen for TCP, in the order given; nowhere when the port is 0.
    pub fn tcp_addresses(&self) -> impl Iterator<Item = TcpAddress> + '_ {
        let port = self.settings.port();
        let bind = if port == 0 { &[] } else { self.settings.bind() };
        bind.iter()
            .map(move |address| TcpAddress { socket: SocketAddr::new(address.ip, port), optional: address.optional })
    }
}

#[derive(Default)]
struct Build {
    settings: Settings,
    lenient: bool,
    wait_given: bool,
    /// Who said where the Unix socket is, or that there is none.
    socket: Option<Origin>,
    /// The rings named so far, as the setting takes them.
    rings: Vec<u8>,
    notes: Vec<String>,
    problems: Vec<Problem>,
}

impl Build {
    fn apply(&mut self, given: Given) {
        match given.name.as_str() {
            "no-unixsocket" => return self.apply_no_unixsocket(&given),
            "ring" => return self.apply_ring(&given),
            "requirepass-file" => return self.apply_password_file(&given),
            _ => {}
        }
        let words: Vec<&[u8]> = given.words.iter().map(Vec::as_slice).collect();
        match self.settings.start(&given.name, &words) {
            Ok(()) => {
                let name = given.name.to_ascii_lowercase();
                self.wait_given |= name == "wait";
                match name.as_str() {
                    "unixsocket" => self.socket = Some(given.origin),
                    "requirepass" => self.note_password(&given.origin),
                    _ => {}
                }
            }
            Err(fault) => self.refuse(&given, &fault),
        }
    }

    /// A file's line that goblin cannot follow is only noted in lenient mode; a bad value never is.
    fn refuse(&mut self, given: &Given, fault: &StartFault) {
        let what = match fault {
            StartFault::Unknown => format!("{}: goblin has no such setting", given.name),
            StartFault::Refused(fault) => format!("{}: {fault}", given.shown()),
        };
        let tolerable = matches!(fault, StartFault::Unknown | StartFault::Refused(SettingFault::Promise(_)));
        let in_file = matches!(given.origin, Origin::Line { .. });
        match tolerable && in_file {
            true if self.lenient => self.notes.push(format!("{}: ignored: {what}", given.origin)),
            true => {
                let what = format!("{what} (--config-lenient would ignore this line)");
                self.problems.push(Problem { origin: Some(given.origin.clone()), what });
            }
            false => self.problems.push(Problem { origin: Some(given.origin.clone()), what }),
        }
    }

    fn apply_no_unixsocket(&mut self, given: &Given) {
        match given.words.as_slice() {
            [word] if word == b"yes" => {
                let cleared = self.settings.start("unixsocket", &[b""]);
                debug_assert!(cleared.is_ok());
                self.socket = Some(given.origin.clone());
            }
            [word] if word == b"no" => {}
            _ => self.refuse(given, &StartFault::Refused(SettingFault::NotBool)),
        }
    }

    /// Each adds to those before.
    fn apply_ring(&mut self, given: &Given) {
        for word in &given.words {
            self.rings.extend_from_slice(b" ");
            self.rings.extend_from_slice(word);
        }
        if let Err(fault) = self.settings.start("ring", &[&self.rings]) {
            self.rings.clear();
            self.refuse(given, &fault);
        }
    }

    /// The file's first line is the password.
    fn apply_password_file(&mut self, given: &Given) {
        let [word] = given.words.as_slice() else {
            return self.refuse(given, &StartFault::Refused(SettingFault::WordCount));
        };
        let path = Path::new(OsStr::from_bytes(word));
        let problem = match source::read_bounded(path) {
            Ok(content) => {
                let line = content.split(|byte| *byte == b'\n').next().unwrap_or_default();
                let password = line.strip_suffix(b"\r").unwrap_or(line);
                if !password.is_empty() {
                    let taken = self.settings.start("requirepass", &[password]);
                    debug_assert!(taken.is_ok());
                    return self.note_password(&given.origin);
                }
                "the first line is empty: it holds no password".to_owned()
            }
            Err(why) => why,
        };
        let what = format!("requirepass-file {}: {problem}", path.display());
        self.problems.push(Problem { origin: Some(given.origin.clone()), what });
    }

    /// A password that was not said in the file is not written into it.
    fn note_password(&mut self, origin: &Origin) {
        if !matches!(origin, Origin::Line { .. }) {
            self.settings.keep_unwritten("requirepass");
        }
    }

    fn finish(mut self, file: Option<PathBuf>, place: &Place) -> Result<Config, Vec<Problem>> {
        let unix = self.decide_socket(place);
        if let Some(unix) = &unix {
            self.check_socket_path(&unix.path);
        }
        let nowhere = self.settings.port() == 0 || self.settings.bind().is_empty();
        if nowhere && unix.is_none() && self.settings.rings().is_empty() {
            let what = "nowhere to listen: there is neither a TCP port nor a Unix socket nor a ring".to_owned();
            self.problems.push(Problem { origin: None, what });
        }
        let wait = self.decide_wait();
        if !self.problems.is_empty() {
            return Err(self.problems);
        }
        Ok(Config { unix, wait, cpu: self.settings.cpu(), file, notes: self.notes, settings: self.settings })
    }

    fn decide_socket(&mut self, place: &Place) -> Option<UnixAddress> {
        let unasked = self.socket.is_none();
        if unasked {
            let path = socket_folder::path(self.settings.port(), place);
            let taken = self.settings.start("unixsocket", &[path.as_os_str().as_bytes()]);
            debug_assert!(taken.is_ok());
            self.settings.keep_unwritten("unixsocket");
        }
        let path = PathBuf::from(OsStr::from_bytes(self.settings.unix_socket()));
        let mode = self.settings.unix_socket_mode();
        (!path.as_os_str().is_empty()).then_some(UnixAddress { path, mode, unasked })
    }

    fn check_socket_path(&mut self, path: &Path) {
        let bytes = path.as_os_str().len();
        if bytes > SOCKET_PATH_BYTES_MAX {
            let what = format!("unixsocket {}: {bytes} bytes, at most {SOCKET_PATH_BYTES_MAX} fit", path.display());
            let origin = self.socket.clone();
            self.problems.push(Problem { origin, what });
        }
    }

    /// Spinning takes the only processor from the clients one waits for. What counts is how many the machine has: a
    /// server pinned to one of several waits for clients on the others, and where it shares that one after all, the
    /// spin budget learns it.
    fn decide_wait(&mut self) -> Wait {
        let online = nix::unistd::sysconf(nix::unistd::SysconfVar::_NPROCESSORS_ONLN);
        let alone = matches!(online, Ok(Some(..=1)));
        if alone && !self.wait_given {
            let taken = self.settings.start("wait", &[b"block"]);
            debug_assert!(taken.is_ok());
            self.settings.keep_unwritten("wait");
            self.notes.push("one processor only: waiting by blocking (--wait chooses otherwise)".to_owned());
        }
        self.settings.wait()
    }
}

#[cfg(test)]
mod tests;
