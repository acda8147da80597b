//! Servers to measure: started on a Unix socket of their own, pinned to a CPU, ended by process id.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

/// A running server.
pub struct Engine {
    /// As tables show it.
    pub name: String,
    child: Child,
    socket: PathBuf,
}

/// The engines to compare: goblin (none), and those named by `--engine PATH`. None after a word that says something else,
/// which is told.
pub fn paths(words: &[String]) -> Option<Vec<Option<&str>>> {
    let mut paths = vec![None];
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        match word.as_str() {
            "--engine" => paths.push(rest.next().map(String::as_str)),
            other => {
                eprintln!("unknown option {other:?}");
                return None;
            }
        }
    }
    Some(paths)
}

impl Engine {
    /// Starts goblin (no path) or a Redis-like server at a path on CPU 0.
    pub fn start(path: Option<&str>, at: usize) -> Engine {
        Engine::start_with(path, at, &[])
    }

    /// The same with settings.
    pub fn start_with(path: Option<&str>, at: usize, settings: &[String]) -> Engine {
        let mut command = match path {
            None => {
                let mut command = Command::new(env!("CARGO_BIN_EXE_goblin"));
                command.args(["serve", "--port", "0", "--cpu", "0"]);
                command
            }
            Some(path) => {
                let mut command = Command::new(path);
                command.args(["--port", "0", "--save", "", "--appendonly", "no"]);
                command
            }
        };
        command.args(settings);
        // It sees all processors when it starts, as where users start it, and is bound to its own then.
        let own = sched_getaffinity(Pid::from_raw(0)).expect("the processors of this thread");
        let all = (0..CpuSet::count()).fold(CpuSet::new(), |mut all, cpu| {
            let _ = all.set(cpu);
            all
        });
        let _ = sched_setaffinity(Pid::from_raw(0), &all);
        let engine = Engine::spawn(path.map_or("goblin", |path| path.rsplit('/').next().unwrap_or(path)), command, at);
        let _ = sched_setaffinity(Pid::from_raw(0), &own);
        if path.is_some() {
            pin(Pid::from_raw(engine.child.id() as i32), 0);
        }
        engine
    }

    fn spawn(name: &str, mut command: Command, at: usize) -> Engine {
        let socket = std::env::temp_dir().join(format!("goblin-bench-{}-{at}.sock", std::process::id()));
        command.arg("--unixsocket").arg(&socket).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().unwrap_or_else(|error| panic!("start {name}: {error}"));
        let deadline = Instant::now() + Duration::from_secs(10);
        // Listening is not serving yet: rings are made in between.
        while !answers(&socket) {
            assert!(Instant::now() < deadline, "{name} does not answer");
            std::thread::yield_now();
        }
        Engine { name: name.to_owned(), child, socket }
    }

    /// Its Unix socket.
    pub fn socket(&self) -> &Path {
        &self.socket
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_file(&self.socket);
    }
}

fn answers(socket: &Path) -> bool {
    let Ok(mut stream) = UnixStream::connect(socket) else { return false };
    let mut pong = [0; 7];
    stream.write_all(b"PING\r\n").and_then(|()| stream.read_exact(&mut pong)).is_ok_and(|()| &pong == b"+PONG\r\n")
}

/// Binds a process to one CPU; 0 is the calling thread.
pub fn pin(process: Pid, cpu: usize) {
    let mut set = CpuSet::new();
    set.set(cpu).expect("a CPU number");
    if let Err(error) = sched_setaffinity(process, &set) {
        eprintln!("cannot pin to CPU {cpu}: {error}");
    }
}
