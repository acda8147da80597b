//! A million messages from standard input: `goblin pub -`, which reads lines and prints each answer, beside
//! `redis-cli --pipe`, which is given finished requests and prints a total.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use nix::unistd::Pid;

use crate::engine::{self, Engine, pin};

const COUNT: usize = 1_000_000;
const ROUNDS: usize = 5;

/// Runs both against goblin and the engines named by `--engine PATH`.
pub fn run(words: &[String]) {
    let Some(paths) = engine::paths(words) else { return };
    pin(Pid::from_raw(0), 1);
    let folder = std::env::temp_dir().join(format!("goblin-bench-lines-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("make a folder");
    let (lines, requests) = write_inputs(&folder).expect("write the inputs");
    for (at, path) in paths.iter().enumerate() {
        let engine = Engine::start(*path, at);
        let mut goblin = Command::new(env!("CARGO_BIN_EXE_goblin"));
        goblin.arg("pub").arg("-s").arg(engine.socket()).args(["c", "-"]);
        let mut redis_cli = Command::new("redis-cli");
        redis_cli.arg("-s").arg(engine.socket()).arg("--pipe");
        let mut rates = [Vec::new(), Vec::new()];
        for _ in 0..ROUNDS {
            rates[0].push(rate(&mut goblin, &lines));
            rates[1].push(rate(&mut redis_cli, &requests));
        }
        for (name, rates) in ["goblin pub -", "redis-cli --pipe"].iter().zip(&mut rates) {
            rates.sort_by(f64::total_cmp);
            let (median, least, most) = (rates[ROUNDS / 2], rates[0], rates[ROUNDS - 1]);
            println!("{:<14} {name:<18} {median:>10.0} messages/s ({least:.0} to {most:.0})", engine.name);
        }
    }
    let _ = std::fs::remove_dir_all(&folder);
}

fn write_inputs(folder: &Path) -> std::io::Result<(PathBuf, PathBuf)> {
    let (lines, requests) = (folder.join("lines"), folder.join("requests"));
    let mut lines_out = BufWriter::new(File::create(&lines)?);
    let mut requests_out = BufWriter::new(File::create(&requests)?);
    for number in 0..COUNT {
        let message = format!("message number {number}");
        writeln!(lines_out, "{message}")?;
        write!(requests_out, "*3\r\n$7\r\nPUBLISH\r\n$1\r\nc\r\n${}\r\n{message}\r\n", message.len())?;
    }
    lines_out.flush()?;
    requests_out.flush()?;
    Ok((lines, requests))
}

/// Messages per second of one run.
fn rate(command: &mut Command, input: &Path) -> f64 {
    let input = File::open(input).expect("open an input");
    let begun = Instant::now();
    let status = command.stdin(input).stdout(Stdio::null()).status().expect("run a client");
    assert!(status.success(), "{command:?}: {status}");
    COUNT as f64 / begun.elapsed().as_secs_f64()
}
