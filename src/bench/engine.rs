//! Engines to measure: started alone on sockets of their own, or there already.
//!
//! ```text
//! NAME=KIND:PATH[,uds|tcp|ring][,argument]...      launched for each scenario, in a folder of its own
//! goblin-uds  goblin-tcp  goblin-ring              this very program
//! ```
//!
//! Invariant: nothing a launched engine would keep on disk is kept, and nothing of it is left behind.

use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::plan::Plan;
use super::{Failure, cpu};
use crate::client::{Address, Connection, Login, Version};

/// How long an engine may take until it answers.
const START_MAX: Duration = Duration::from_secs(10);

/// How long connecting and each setup request may take.
pub(super) const SETUP_MAX: Duration = Duration::from_secs(30);

/// Between two looks whether an engine answers.
const LOOK: Duration = Duration::from_millis(5);

/// What kind of program an engine is: how it is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// This program, or another build of it.
    Goblin,
    /// redis-server, valkey-server and keydb-server: the same flags.
    Redis,
    /// The same, with one thread set.
    KeyDb,
    /// dragonfly, with one thread set.
    Dragonfly,
    /// mini-redis-server: a TCP port and nothing else.
    Mini,
}

impl Kind {
    fn named(name: &str) -> Option<Kind> {
        Some(match name {
            "goblin" => Kind::Goblin,
            "redis" | "valkey" => Kind::Redis,
            "keydb" => Kind::KeyDb,
            "dragonfly" => Kind::Dragonfly,
            "mini" => Kind::Mini,
            _ => return None,
        })
    }
}

/// What carries the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// A Unix socket.
    Unix,
    /// Loopback TCP.
    Tcp,
    /// A ring that is asked for over the Unix socket, in SBE.
    Ring,
}

impl Transport {
    /// As tables show it.
    pub fn name(self) -> &'static str {
        match self {
            Transport::Unix => "uds",
            Transport::Tcp => "tcp",
            Transport::Ring => "ring",
        }
    }

    fn named(name: &str) -> Option<Transport> {
        [Transport::Unix, Transport::Tcp, Transport::Ring].into_iter().find(|known| known.name() == name)
    }
}

/// Where an engine comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// It is started.
    Launch {
        /// How.
        kind: Kind,
        /// The program.
        path: PathBuf,
        /// Behind the arguments that every engine of its kind gets.
        arguments: Vec<String>,
    },
    /// It runs already.
    Attach {
        /// There.
        address: Address,
        /// What is set up on each connection.
        login: Box<Login>,
    },
}

/// An engine as the user named it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spec {
    /// As tables show it.
    pub name: String,
    /// What carries the bytes; none for what the workload's reports used.
    pub transport: Option<Transport>,
    /// Where it comes from.
    pub source: Source,
}

impl Spec {
    /// Reads what stands behind `--engine`; `goblin` is this program.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str, goblin: &Path) -> Result<Spec, String> {
        let preset = text.strip_prefix("goblin-").and_then(Transport::named);
        if let Some(transport) = preset {
            let source = Source::Launch { kind: Kind::Goblin, path: goblin.to_owned(), arguments: Vec::new() };
            return Ok(Spec { name: text.to_owned(), transport: Some(transport), source });
        }
        let shape = "an engine is NAME=KIND:PATH[,arguments], goblin-uds, goblin-tcp or goblin-ring";
        let (name, rest) = text.split_once('=').ok_or_else(|| format!("'{text}': {shape}"))?;
        let (kind, rest) = rest.split_once(':').ok_or_else(|| format!("'{text}': {shape}"))?;
        let known = "kinds are goblin, redis, valkey, dragonfly, keydb and mini";
        let kind = Kind::named(kind).ok_or_else(|| format!("'{kind}' is no kind of engine; {known}"))?;
        let mut words = rest.split(',').map(str::to_owned);
        let path = words.next().filter(|path| !path.is_empty()).ok_or_else(|| format!("'{text}': {shape}"))?;
        if name.is_empty() {
            return Err(format!("'{text}': {shape}"));
        }
        let mut arguments: Vec<String> = words.collect();
        let transport = arguments.first().and_then(|word| Transport::named(word));
        if transport.is_some() {
            arguments.remove(0);
        }
        match (kind, transport) {
            (Kind::Mini, Some(Transport::Unix | Transport::Ring)) => {
                return Err(format!("'{text}': mini-redis listens on TCP only"));
            }
            (kind, Some(Transport::Ring)) if kind != Kind::Goblin => {
                return Err(format!("'{text}': only goblin has rings"));
            }
            _ => {}
        }
        let transport = transport.or((kind == Kind::Mini).then_some(Transport::Tcp));
        Ok(Spec { name: name.to_owned(), transport, source: Source::Launch { kind, path: path.into(), arguments } })
    }

    /// One that runs already.
    pub fn attached(name: String, address: Address, login: Login) -> Spec {
        let transport = match &address {
            Address::Tcp { .. } => Transport::Tcp,
            Address::Unix(_) => Transport::Unix,
            Address::Ring(_) | Address::RingOver(_) => Transport::Ring,
        };
        Spec { name, transport: Some(transport), source: Source::Attach { address, login: Box::new(login) } }
    }
}

/// An engine that runs.
pub(super) struct Engine {
    /// What carries the bytes.
    pub(super) transport: Transport,
    /// Name and number it tells of itself; empty when it tells none.
    pub(super) version: String,
    address: Address,
    login: Login,
    /// The process, when it is one of this machine.
    process: Option<u32>,
    _child: Option<Launched>,
}

/// A process and its folder, both of which end with the value.
struct Launched {
    child: Child,
    folder: PathBuf,
}

impl Drop for Launched {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Engine {
    /// Starts it, or looks for one that runs already; answers once it does.
    ///
    /// # Errors
    /// It does not start or does not answer.
    pub(super) fn open(spec: &Spec, usual: Transport, plan: &Plan) -> Result<Engine, Failure> {
        let transport = spec.transport.unwrap_or(usual);
        let (address, login, child) = match &spec.source {
            Source::Attach { address, login } => (address.clone(), (**login).clone(), None),
            Source::Launch { kind, path, arguments } => {
                let (launched, address) = launch(*kind, path, arguments, transport, plan).map_err(|error| {
                    Failure::Start(format!("{}: cannot start {}: {error}", spec.name, path.display()))
                })?;
                (address, Login::default(), Some(launched))
            }
        };
        let mut engine = Engine { transport, version: String::new(), address, login, process: None, _child: child };
        engine.login.version = Version::Resp2;
        engine.await_answer(&spec.name)?;
        if let (Some(launched), Some(cpu)) = (&engine._child, plan.server_cpu) {
            cpu::pin_process(launched.child.id(), cpu);
        }
        engine.ask_who_it_is();
        Ok(engine)
    }

    fn await_answer(&mut self, name: &str) -> Result<(), Failure> {
        let deadline = Instant::now() + START_MAX;
        loop {
            let answer = self.control().and_then(|mut connection| {
                connection.set_timeout(Some(SETUP_MAX));
                Ok(connection.call(&[b"PING"])?)
            });
            let why = match answer {
                Ok(answer) if !answer.is_error() => return Ok(()),
                Ok(answer) => String::from_utf8_lossy(answer.as_bytes().unwrap_or_default()).into_owned(),
                Err(failure) => failure.to_string(),
            };
            let ended = match &mut self._child {
                Some(launched) => launched.child.try_wait().ok().flatten().map(|_| launched.last_words()),
                // One that is there already is there at once.
                None => Some(String::new()),
            };
            if let Some(words) = ended {
                return Err(Failure::Start(format!("{name} does not answer: {why}{words}")));
            }
            if Instant::now() > deadline {
                return Err(Failure::Start(format!("{name} does not answer within {START_MAX:?}: {why}")));
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Its version and, where it is on this machine, its process.
    fn ask_who_it_is(&mut self) {
        let Ok(mut connection) = self.control() else { return };
        connection.set_timeout(Some(SETUP_MAX));
        let Ok(answer) = connection.call(&[b"INFO", b"server"]) else { return };
        let text = String::from_utf8_lossy(answer.as_bytes().unwrap_or_default()).into_owned();
        let field = |name: &str| {
            text.lines()
                .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
                .map(|value| value.trim().to_owned())
        };
        let names = ["goblin", "valkey", "dragonfly", "keydb", "redis"];
        let told = names.iter().find_map(|name| Some((name, field(&format!("{name}_version"))?)));
        self.version =
            told.map_or(String::new(), |(name, version)| format!("{name} {}", version.trim_start_matches("df-")));
        self.process = match (&self._child, &self.address) {
            (Some(launched), _) => Some(launched.child.id()),
            (None, Address::Tcp { host, .. }) if !matches!(host.as_str(), "127.0.0.1" | "::1" | "localhost") => None,
            (None, _) => field("process_id").and_then(|id| id.parse().ok()),
        };
    }

    /// A connection for setting up and asking: over a socket where there is one.
    pub(super) fn control(&self) -> Result<Connection, Failure> {
        let address = match &self.address {
            Address::RingOver(path) => Address::Unix(path.clone()),
            other => other.clone(),
        };
        let sbe = matches!(address, Address::Ring(_));
        let login = Login { sbe, ..self.login.clone() };
        Ok(Connection::open(&address, &login, Some(SETUP_MAX))?)
    }

    /// A connection to be measured; a ring has room for so many bytes each way.
    pub(super) fn connect(&self, ring_bytes: u64) -> Result<Connection, Failure> {
        let sbe = self.transport == Transport::Ring;
        let login = Login { sbe, ..self.login.clone() };
        let mut connection = match &self.address {
            #[cfg(target_os = "linux")]
            Address::RingOver(path) => Connection::open_ring(path, ring_bytes, &login, Some(SETUP_MAX))?,
            address => Connection::open(address, &login, Some(SETUP_MAX))?,
        };
        connection.set_timeout(Some(SETUP_MAX));
        Ok(connection)
    }

    /// Whether it was started for this measurement alone.
    pub(super) fn is_own(&self) -> bool {
        self._child.is_some()
    }

    /// What the kernel says it has in memory, MiB: resident and huge pages.
    pub(super) fn rss_mib(&self) -> Option<f64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process?)).ok()?;
        let kib = |name: &str| -> Option<f64> {
            status.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace().next()?.parse().ok()
        };
        Some((kib("VmRSS:")? + kib("HugetlbPages:").unwrap_or(0.0)) / 1024.0)
    }
}

impl Launched {
    /// The end of what it said, for one that ended by itself.
    fn last_words(&self) -> String {
        let log = std::fs::read_to_string(self.folder.join("log")).unwrap_or_default();
        log.lines()
            .rev()
            .find(|line| !line.trim().is_empty())
            .map_or(String::new(), |line| format!(" ({})", line.trim()))
    }
}

/// Folders are told apart by these.
static LAUNCHES: AtomicU64 = AtomicU64::new(0);

fn launch(
    kind: Kind,
    path: &Path,
    arguments: &[String],
    transport: Transport,
    plan: &Plan,
) -> io::Result<(Launched, Address)> {
    let number = LAUNCHES.fetch_add(1, Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("goblin-bench-{}-{number}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let socket = folder.join("socket");
    let port = if transport == Transport::Tcp { free_port()? } else { 0 };
    let log = File::create(folder.join("log"))?;
    let mut command = Command::new(path);
    let socket_text = socket.display().to_string();
    match kind {
        Kind::Goblin => {
            command.args(["serve", "--port", &port.to_string(), "--unixsocket", &socket_text]);
            if let Some(cpu) = plan.server_cpu.filter(|_| plan.spins()) {
                command.args(["--cpu", &cpu.to_string()]);
            }
        }
        Kind::Redis | Kind::KeyDb => {
            command.args([
                "--port",
                &port.to_string(),
                "--unixsocket",
                &socket_text,
                "--save",
                "",
                "--appendonly",
                "no",
            ]);
            if kind == Kind::KeyDb {
                command.args(["--server-threads", "1"]);
            }
        }
        Kind::Dragonfly => {
            command.args([
                &format!("--port={port}"),
                &format!("--unixsocket={socket_text}"),
                "--proactor_threads=1",
                "--dbfilename=",
            ]);
        }
        Kind::Mini => {
            command.args(["--port", &port.to_string()]);
        }
    }
    command.args(arguments).current_dir(&folder);
    command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
    // Ctrl-C is for the one that measures, which ends what it started.
    command.process_group(0);
    // It sees all processors when it starts, as where users start it, and is bound to its own then.
    let spawned = cpu::unpinned(&plan.processors, || command.spawn());
    let child = match spawned {
        Ok(child) => child,
        Err(error) => {
            let _ = std::fs::remove_dir_all(&folder);
            return Err(error);
        }
    };
    let address = match transport {
        Transport::Unix => Address::Unix(socket),
        Transport::Ring => Address::RingOver(socket),
        Transport::Tcp => Address::Tcp { host: "127.0.0.1".into(), port },
    };
    Ok((Launched { child, folder }, address))
}

/// A port nobody listens on at the moment.
fn free_port() -> io::Result<u16> {
    Ok(std::net::TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Spec, String> {
        Spec::parse(text, Path::new("/bin/goblin"))
    }

    fn launched(path: &str, kind: Kind, arguments: &[&str]) -> Source {
        Source::Launch { kind, path: path.into(), arguments: arguments.iter().map(|word| word.to_string()).collect() }
    }

    #[test]
    fn a_preset_is_this_program() {
        let spec = parse("goblin-ring").unwrap();
        assert_eq!((spec.name.as_str(), spec.transport), ("goblin-ring", Some(Transport::Ring)));
        assert_eq!(spec.source, launched("/bin/goblin", Kind::Goblin, &[]));
    }

    #[test]
    fn an_engine_has_name_kind_path_transport_and_arguments() {
        let spec = parse("r=redis:/usr/bin/redis-server,tcp,--io-threads,2").unwrap();
        assert_eq!((spec.name.as_str(), spec.transport), ("r", Some(Transport::Tcp)));
        assert_eq!(spec.source, launched("/usr/bin/redis-server", Kind::Redis, &["--io-threads", "2"]));
        assert_eq!(parse("v=valkey:/v").unwrap().transport, None);
        assert_eq!(parse("m=mini:/m").unwrap().transport, Some(Transport::Tcp));
    }

    #[test]
    fn what_is_no_engine_is_refused_with_what_one_is() {
        for (text, says) in [
            ("goblin-nosuch", "an engine is"),
            ("redis", "an engine is"),
            ("r=redis", "an engine is"),
            ("=redis:/r", "an engine is"),
            ("r=redis:", "an engine is"),
            ("r=nosuch:/r", "kinds are"),
            ("r=redis:/r,ring", "only goblin has rings"),
            ("m=mini:/m,uds", "TCP only"),
        ] {
            let said = parse(text).unwrap_err();
            assert!(said.contains(says), "{text}: {said}");
        }
    }
}
