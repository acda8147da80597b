//! Other people's clients, unmodified: redis-py, ioredis, node-redis, redis-cli, redis-benchmark.
//!
//! `.ci/run` installs them; a client that is absent is reported as ignored.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::{Outcome, finish};
use crate::road::{Server, installed};
use crate::suite::{Need, Suite, tests};
use crate::wire::frame;

const PYTHON: &[&str] = &["6.4.0", "7.1.0", "8.1.0"];
const NODE: &[(&str, &str)] = &[
    ("ioredis-5", "ioredis.js"),
    ("ioredis-6", "ioredis.js"),
    ("redis-5", "node_redis.js"),
    ("redis-6", "node_redis.js"),
];

/// Registers this module's tests.
pub fn tests(suite: &mut Suite) {
    for version in PYTHON {
        let library = installed(&format!("redis-py-{version}"));
        let name = format!("redis_py_{}", version.replace('.', "_"));
        let need = present(&library);
        suite.plain(module_path!(), &name, need, move || python_suite(version, &library));
    }
    for (package, script) in NODE {
        let name = format!("node_{}", package.replace('-', "_"));
        let need = present(&installed("node/node_modules").join(package));
        suite.plain(module_path!(), &name, need, move || node_suite(package, script));
    }
    tests!(suite, with_server, on_path("redis-cli");
        redis_cli_one_shot,
        redis_cli_reads_scripts,
        redis_cli_pipe_loads_in_bulk,
        redis_cli_bigkeys_and_scan,
    );
    tests!(suite, with_server, on_path("redis-benchmark"); redis_benchmark_runs_without_an_error);
}

/// Something installed for the tests.
pub fn present(path: &Path) -> Need {
    Need::Present(if path.exists() { Ok(()) } else { Err(format!("{} is not installed", path.display())) })
}

/// A program found on the search path.
pub fn on_path(program: &str) -> Need {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&folders).any(|folder| folder.join(program).exists());
    Need::Present(if found { Ok(()) } else { Err(format!("{program} is not installed")) })
}

/// Where a script of tests/clients lies.
pub fn script(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/clients").join(name)
}

/// Fails unless the program ended well; answers what it said.
pub fn succeed(command: Command, input: &[u8]) -> String {
    let shown = format!("{command:?}");
    let Outcome { status, stdout, stderr } = finish(command, input);
    assert_eq!(status, Some(0), "{shown}\n{stdout}\n{stderr}");
    assert!(!stdout.contains("ERR "), "{shown}\n{stdout}\n{stderr}");
    stdout
}

fn python_suite(version: &str, library: &Path) {
    let server = Server::start();
    let mut python = Command::new("python3");
    python.arg("-W").arg("ignore").arg(script("redis_py.py")).arg(server.port().to_string()).arg(server.socket());
    python.env("PYTHONPATH", library).env("PYTHONDONTWRITEBYTECODE", "1");
    let said = succeed(python, b"");
    assert!(said.contains(&format!("ok redis-py {version} unix protocol default: pubsub")), "{said}");
}

fn node_suite(package: &str, name: &str) {
    let server = Server::start();
    let mut node = Command::new("node");
    node.arg(script(name)).arg(installed("node")).arg(package).arg(server.port().to_string()).arg(server.socket());
    let said = succeed(node, b"");
    assert!(said.contains(&format!("ok {package} unix")) && said.contains("pubsub"), "{said}");
}

fn redis_cli(server: &Server) -> Command {
    let mut command = Command::new("redis-cli");
    command.args(["-p", &server.port().to_string()]);
    command
}

fn redis_cli_one_shot(server: &Server) {
    let ask = |words: &[&str]| {
        let mut command = redis_cli(server);
        command.args(words);
        succeed(command, b"").trim_end().to_owned()
    };
    assert_eq!(ask(&["SADD", "s", "a", "b"]), "2");
    assert_eq!(ask(&["-3", "SCARD", "s"]), "2");
    assert_eq!(ask(&["-n", "3", "SET", "k", "three"]), "OK");
    assert_eq!(ask(&["-n", "3", "GET", "k"]), "three");
    assert_eq!(ask(&["GET", "k"]), "");
    assert_eq!(ask(&["--no-raw", "SMISMEMBER", "s", "a", "z"]), "1) (integer) 1\n2) (integer) 0");
    let mut unix = Command::new("redis-cli");
    unix.arg("-s").arg(server.socket()).args(["PING"]);
    assert_eq!(succeed(unix, b"").trim_end(), "PONG");
}

fn redis_cli_reads_scripts(server: &Server) {
    let said = succeed(redis_cli(server), b"SADD s a b c\nMULTI\nSET k v\nGET k\nEXEC\nSCARD s\n");
    assert_eq!(said.lines().collect::<Vec<_>>(), ["3", "OK", "QUEUED", "QUEUED", "OK", "v", "3"]);
}

fn redis_cli_pipe_loads_in_bulk(server: &Server) {
    let mut load = Vec::new();
    for n in 0..20_000 {
        load.extend_from_slice(&frame(&["SADD", &format!("set:{}", n % 100), &format!("member:{n}")]));
    }
    let mut command = redis_cli(server);
    command.arg("--pipe");
    let said = succeed(command, &load);
    assert!(said.contains("errors: 0, replies: 20000"), "{said}");
    assert_eq!(server.connect().ask("SCARD set:42").integer(), 200);
}

fn redis_cli_bigkeys_and_scan(server: &Server) {
    let mut connection = server.connect();
    for n in 0..300 {
        connection.call(&["SADD", &format!("set:{n}"), "a", "b"]);
    }
    connection.ask("SADD largest a b c d e");
    let mut command = redis_cli(server);
    command.arg("--bigkeys");
    let said = succeed(command, b"");
    assert!(said.contains("301 sets with 605 members"), "{said}");
    assert!(said.contains("\"largest\""), "{said}");
    let mut command = redis_cli(server);
    command.args(["--scan", "--pattern", "set:1?"]);
    assert_eq!(succeed(command, b"").lines().count(), 10);
}

fn redis_benchmark_runs_without_an_error(server: &Server) {
    let roads: [Vec<String>; 2] = [
        vec!["-p".into(), server.port().to_string()],
        vec!["-s".into(), server.socket().to_string_lossy().into_owned()],
    ];
    for road in roads {
        let mut command = Command::new("redis-benchmark");
        command.args(&road).args(["-t", "set,get,incr,sadd,spop,mset", "-P", "16", "-n", "20000", "-q"]);
        let shown = format!("{command:?}");
        let Outcome { status, stdout, stderr } = finish(command, b"");
        assert_eq!(status, Some(0), "{shown}\n{stdout}\n{stderr}");
        assert_eq!(stdout.matches("requests per second").count(), 6, "{shown}\n{stdout}");
        let all = format!("{stdout}{stderr}");
        assert!(!all.contains("rror") && !all.contains("WARNING"), "{shown}\n{all}");
    }
}
