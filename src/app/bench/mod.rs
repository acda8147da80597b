//! `goblin bench`: goblin and other engines measured side by side.
//!
//! Invariant: standard output holds results and nothing else; the first line of tables says which loop was measured.
//! Invariant: Ctrl-C ends every server that was started here before it ends the process.

mod charts;
mod csv;
mod html;
mod json;
mod table;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::Stop;
use super::show::{self, Output, Progress};
use super::watch::Interrupts;
use crate::bench::engine::Spec;
use crate::bench::plan::{Loop, Members, Plan, Workload};
use crate::bench::report::Report;
use crate::bench::{self, Failure, Observer, Surroundings};
use crate::client::{Address, parse_url};
use crate::error::{Error, Exit};

/// Rounds of a row when nobody says.
const ROUNDS: usize = 5;

/// The same of `set`, whose rounds start every server anew.
const SET_ROUNDS: usize = 3;

/// A round ends after this unless all samples of the reports are wanted.
const ROUND_TIME_MAX: Duration = Duration::from_millis(60);

/// Measure goblin and other engines side by side
///
/// Starts each engine anew for every row, on a processor of its own, and compares rounds that alternate between them.
/// Every answer and every message is compared byte for byte; one that is not as it must be fails the run. Without an
/// engine, goblin is measured: pubsub over a Unix socket and over rings, set over TCP and over a ring.
///
/// An engine is NAME=KIND:PATH[,uds|tcp|ring][,argument]..., of kind goblin, redis, valkey, dragonfly, keydb or mini, or
/// goblin-uds, goblin-tcp or goblin-ring, which are this program. Ratios say how many times as good an engine is as the
/// baseline; "no difference" stands where the ranges of their rounds overlap.
#[derive(clap::Args, Debug)]
pub(super) struct BenchArgs {
    /// What to measure: pubsub and set are the rows of published reports, kv is GET, SET and INCR
    #[arg(value_enum)]
    workload: WorkloadName,

    /// Engine to start for each row; may be repeated
    #[arg(long, value_name = "ENGINE")]
    engine: Vec<String>,

    /// Engine that runs already, such as NAME=redis://127.0.0.1:6379; may be repeated
    #[arg(long, value_name = "NAME=URL")]
    attach: Vec<String>,

    /// Engine that ratios are relative to [default: the first]
    #[arg(long, value_name = "NAME")]
    baseline: Option<String>,

    /// Only rows whose names contain this
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,

    /// Rounds of each row [default: 5, of set 3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    rounds: Option<u16>,

    /// Samples of each round [default: each row's own number, or what 60 ms allow]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    samples: Option<u32>,

    /// Take as many samples as the published reports
    #[arg(long, conflicts_with = "samples")]
    full: bool,

    /// Requests that are sent together (ping, kv, mixed; set always has 256)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    depth: Option<u32>,

    /// Requests a second, sent at their time whatever the answers do; latency counts from then
    #[arg(long, value_name = "N", value_parser = read_rate, conflicts_with = "depth")]
    rate: Option<f64>,

    /// Requests of each round of ping, kv and mixed [default: what --duration allows]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    requests: Option<u64>,

    /// Seconds of each round of ping, kv and mixed [default: 1]
    #[arg(long, value_name = "SECONDS", value_parser = read_seconds)]
    duration: Option<Duration>,

    /// Seconds before that, which count for nothing [default: 0.1]
    #[arg(long, value_name = "SECONDS", value_parser = read_seconds)]
    warmup: Option<Duration>,

    /// Connections of ping, kv and mixed [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    clients: Option<u32>,

    /// Threads that read what subscribers get, or among which connections are divided [default: one thread does it all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,

    /// Members of the large sets [default: 1000000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(128..=100_000_000))]
    members: Option<u32>,

    /// Bytes of a member, or from least to most as in 8-64 [default: 16]
    #[arg(long, value_name = "BYTES", value_parser = read_member_size)]
    member_size: Option<Members>,

    /// Members that are decimal integers
    #[arg(long, conflicts_with = "member_size")]
    int: bool,

    /// Processor of the servers [default: the first allowed]
    #[arg(long, value_name = "N")]
    server_cpu: Option<usize>,

    /// Processor of the client [default: the second allowed]
    #[arg(long, value_name = "N")]
    client_cpu: Option<usize>,

    /// What random choices are made from [default: 1]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// CSV instead of tables, or with =FILE written there
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    csv: Option<OsString>,

    /// JSON instead of tables, or with =FILE written there
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    json: Option<OsString>,

    /// Histograms of all times, in HdrHistogram's percentile form
    #[arg(long, value_name = "FILE")]
    hdr: Option<PathBuf>,

    /// One page with charts that needs no network
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

#[derive(clap::ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
enum WorkloadName {
    Pubsub,
    Set,
    Ping,
    Kv,
    Mixed,
}

impl From<WorkloadName> for Workload {
    fn from(name: WorkloadName) -> Self {
        match name {
            WorkloadName::Pubsub => Workload::Pubsub,
            WorkloadName::Set => Workload::Set,
            WorkloadName::Ping => Workload::Ping,
            WorkloadName::Kv => Workload::Kv,
            WorkloadName::Mixed => Workload::Mixed,
        }
    }
}

fn read_rate(text: &str) -> Result<f64, String> {
    let rate: f64 = text.parse().map_err(|_| "a number of requests a second is needed".to_owned())?;
    if (0.01..=1e7).contains(&rate) { Ok(rate) } else { Err("a rate is 0.01 to 10000000 a second".to_owned()) }
}

fn read_seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "a number of seconds is needed".to_owned())?;
    match (0.0..=86_400.0).contains(&seconds) {
        true => Ok(Duration::from_secs_f64(seconds)),
        false => Err("seconds are 0 to 86400".to_owned()),
    }
}

/// A member holds its number in hexadecimal behind a letter: nine bytes are room for any.
fn read_member_size(text: &str) -> Result<Members, String> {
    let number = |text: &str| text.parse::<usize>().ok().filter(|bytes| (9..=4096).contains(bytes));
    let refused = || "a member has 9 to 4096 bytes; a range is as in 9-64".to_owned();
    match text.split_once('-') {
        None => number(text).map(Members::Fixed).ok_or_else(refused),
        Some((least, most)) => {
            let (least, most) = (number(least).ok_or_else(refused)?, number(most).ok_or_else(refused)?);
            if least < most { Ok(Members::Range(least, most)) } else { Err(refused()) }
        }
    }
}

/// Runs it.
pub(super) fn run(args: BenchArgs) -> Result<Exit, Error> {
    let plan = plan(&args)?;
    let stop = Interrupts::flag()?;
    if let Some(ended) = say_which_loop(&args, &plan)? {
        return Ok(ended);
    }
    let watcher = Watcher { progress: Progress::of_steps(0) };
    let measured = bench::run(&plan, Surroundings { stop: &stop, observer: &watcher });
    drop(watcher);
    let report = match measured {
        Ok(report) => report,
        Err(Failure::Stopped) => return Ok(Exit::Interrupted),
        Err(failure) => return Err(Error::new(Exit::Unreachable, failure.to_string())),
    };
    if let Some(broken) = &report.broken {
        show::notice(broken);
    }
    let written = write_files(&args, &report).map(|()| print(&args, &report));
    match Stop::settle(written?)? {
        Exit::Done if report.stopped => Ok(Exit::Interrupted),
        Exit::Done if report.has_failed() => {
            show::notice("not everything could be measured as it had to be");
            Ok(Exit::Refused)
        }
        exit => Ok(exit),
    }
}

/// Prints the first line of tables before the work begins; gives a status when nobody reads it.
fn say_which_loop(args: &BenchArgs, plan: &Plan) -> Result<Option<Exit>, Error> {
    if is_printed(&args.csv) || is_printed(&args.json) {
        return Ok(None);
    }
    let mut output = Output::standard();
    let said = output.text(format_args!("{}\n", plan.pace.describe())).and_then(|()| output.flush());
    match said {
        Ok(()) => Ok(None),
        Err(stop) => Stop::settle(Err(stop)).map(Some),
    }
}

/// Whether an output goes to standard output.
fn is_printed(place: &Option<OsString>) -> bool {
    place.as_ref().is_some_and(|place| place.is_empty())
}

fn print(args: &BenchArgs, report: &Report) -> Result<Exit, Stop> {
    let mut output = Output::standard();
    match (is_printed(&args.csv), is_printed(&args.json)) {
        (false, false) => output.text(table::tables(report))?,
        (csv, json) => {
            if csv {
                output.text(csv::text(report))?;
            }
            if json {
                output.text(json::text(report))?;
            }
        }
    }
    output.flush()?;
    Ok(Exit::Done)
}

fn write_files(args: &BenchArgs, report: &Report) -> Result<(), Error> {
    let write = |path: &Path, text: String| {
        std::fs::write(path, text).map_err(|cause| Error::system(format_args!("write {}", path.display()), cause))
    };
    let file = |place: &Option<OsString>| place.clone().filter(|place| !place.is_empty()).map(PathBuf::from);
    if let Some(path) = file(&args.csv) {
        write(&path, csv::text(report))?;
    }
    if let Some(path) = file(&args.json) {
        write(&path, json::text(report))?;
    }
    if let Some(path) = &args.hdr {
        write(path, histograms(report))?;
    }
    if let Some(path) = &args.html {
        write(path, html::page(report))?;
    }
    Ok(())
}

/// All histograms, each behind a line that says whose it is.
fn histograms(report: &Report) -> String {
    let mut text = String::new();
    for line in facts(report) {
        text += &format!("# {line}\n");
    }
    for row in &report.rows {
        for (cell, engine) in row.cells.iter().zip(&report.engines) {
            for (kind, times) in [("ack", &cell.ack), ("delivery", &cell.delivery)] {
                if times.count() > 0 {
                    text += &format!("\n# {} {} {} {kind}, microseconds\n", engine.name, row.scenario, row.detail);
                    text += &times.percentile_text();
                }
            }
        }
    }
    text
}

/// What every output says about how it was made, the loop first.
fn facts(report: &Report) -> Vec<String> {
    let cpu = |cpu: Option<usize>| cpu.map_or("any".to_owned(), |cpu| cpu.to_string());
    let engines: Vec<String> = report
        .engines
        .iter()
        .map(|engine| match engine.version.as_str() {
            "" => format!("{} ({})", engine.name, engine.transport),
            version => format!("{} ({version}, {})", engine.name, engine.transport),
        })
        .collect();
    vec![
        report.pace.describe(),
        format!("goblin {}, bench {}, seed {}", env!("CARGO_PKG_VERSION"), report.workload, report.seed),
        format!("command: {}", command_line()),
        format!("machine: {}, {} processors, {}", report.machine.cpu, report.machine.processors, report.machine.kernel),
        format!("servers on processor {}, client on {}", cpu(report.server_cpu), cpu(report.client_cpu)),
        format!("engines: {}", engines.join(", ")),
    ]
}

/// The command as it was typed, but for passwords in URLs.
fn command_line() -> String {
    let words = std::env::args_os().enumerate().map(|(at, word)| {
        let word = word.to_string_lossy().into_owned();
        let word = if at == 0 { "goblin".to_owned() } else { without_credentials(&word) };
        let is_plain =
            !word.is_empty() && word.chars().all(|letter| letter.is_alphanumeric() || "-_=:/.,@%+".contains(letter));
        if is_plain { word } else { format!("'{}'", word.replace('\'', "'\\''")) }
    });
    words.collect::<Vec<_>>().join(" ")
}

fn without_credentials(word: &str) -> String {
    match (word.split_once("://"), word.rfind('@')) {
        (Some((scheme, _)), Some(at)) if at > scheme.len() => format!("{scheme}://***{}", &word[at..]),
        _ => word.to_owned(),
    }
}

fn plan(args: &BenchArgs) -> Result<Plan, Error> {
    let workload = Workload::from(args.workload);
    let pace = match (args.depth, args.rate) {
        (Some(1), None) | (None, None) => Loop::Closed,
        (Some(depth), _) => Loop::Pipelined(depth as usize),
        (None, Some(rate)) => Loop::Fixed(rate),
    };
    check(args, workload)?;
    let engines = engines(args, workload)?;
    let baseline = match &args.baseline {
        None => 0,
        Some(name) => engines
            .iter()
            .position(|engine| engine.name == *name)
            .ok_or_else(|| Error::usage(format!("--baseline: no engine is called '{name}'")))?,
    };
    let (processors, server_cpu, client_cpu) = Plan::processors();
    let chosen = |option: &str, cpu: Option<usize>, usual: Option<usize>| match cpu {
        Some(cpu) if !processors.contains(&cpu) => {
            Err(Error::usage(format!("{option} {cpu}: this process may not run there; it may on {processors:?}")))
        }
        cpu => Ok(cpu.or(usual)),
    };
    let is_set = workload == Workload::Set;
    // A pipeline is what `set` measures anyway.
    let pace = if is_set { Loop::Pipelined(args.depth.unwrap_or(256) as usize) } else { pace };
    Ok(Plan {
        workload,
        engines,
        baseline,
        rounds: args.rounds.map_or(if is_set { SET_ROUNDS } else { ROUNDS }, usize::from),
        samples: args.samples.map(|samples| samples as usize),
        round_time_max: (!args.full && args.samples.is_none()).then_some(ROUND_TIME_MAX),
        full: args.full,
        only: args.only.clone().unwrap_or_default(),
        pace,
        requests: args.requests,
        duration: args.duration.unwrap_or(Duration::from_secs(1)),
        warm_up: args.warmup.unwrap_or(Duration::from_millis(100)),
        clients: args.clients.unwrap_or(1) as usize,
        threads: args.threads.map_or(0, usize::from),
        members: args.members.unwrap_or(1_000_000) as usize,
        member_kind: if args.int { Members::Integers } else { args.member_size.unwrap_or(Members::Fixed(16)) },
        set_depth: args.depth.unwrap_or(256) as usize,
        seed: args.seed.unwrap_or(1),
        server_cpu: chosen("--server-cpu", args.server_cpu, server_cpu)?,
        client_cpu: chosen("--client-cpu", args.client_cpu, client_cpu)?,
        processors,
    })
}

/// Refuses options that would do nothing.
fn check(args: &BenchArgs, workload: Workload) -> Result<(), Error> {
    use Workload::{Kv, Mixed, Ping, Pubsub, Set};
    let given: [(&str, bool, &[Workload]); 11] = [
        ("--samples", args.samples.is_some(), &[Pubsub, Set]),
        ("--full", args.full, &[Pubsub, Set]),
        ("--depth", args.depth.is_some(), &[Set, Ping, Kv, Mixed]),
        ("--rate", args.rate.is_some(), &[Pubsub, Ping, Kv, Mixed]),
        ("--requests", args.requests.is_some(), &[Ping, Kv, Mixed]),
        ("--duration", args.duration.is_some(), &[Ping, Kv, Mixed]),
        ("--warmup", args.warmup.is_some(), &[Ping, Kv, Mixed]),
        ("--clients", args.clients.is_some(), &[Ping, Kv, Mixed]),
        ("--threads", args.threads.is_some(), &[Pubsub, Ping, Kv, Mixed]),
        ("--members", args.members.is_some(), &[Set]),
        ("--member-size or --int", args.member_size.is_some() || args.int, &[Set]),
    ];
    match given.iter().find(|(_, given, of)| *given && !of.contains(&workload)) {
        Some((option, _, _)) => Err(Error::usage(format!("{option} says nothing about {}", workload.name()))),
        None => Ok(()),
    }
}

fn engines(args: &BenchArgs, workload: Workload) -> Result<Vec<Spec>, Error> {
    let program = std::env::current_exe().map_err(|cause| Error::system("find this program", cause))?;
    let mut texts = args.engine.clone();
    if texts.is_empty() && args.attach.is_empty() {
        let usual =
            if workload == Workload::Set { ["goblin-tcp", "goblin-ring"] } else { ["goblin-uds", "goblin-ring"] };
        texts = usual.map(str::to_owned).into();
    }
    let mut engines = Vec::new();
    for text in &texts {
        engines.push(Spec::parse(text, &program).map_err(|why| Error::usage(format!("--engine {why}")))?);
    }
    for text in &args.attach {
        let shape = || Error::usage("--attach NAME=URL: a name and an address such as redis://127.0.0.1:6379");
        let (name, url) = text.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or_else(shape)?;
        let (address, login) = parse_url(url).map_err(|error| Error::usage(format!("--attach {name}: {error}")))?;
        if matches!(address, Address::Ring(_)) {
            let why = "a ring has one client at a time; unix:///path?ring asks for as many as are needed";
            return Err(Error::usage(format!("--attach {name}: {why}")));
        }
        engines.push(Spec::attached(name.to_owned(), address, login));
    }
    for (at, engine) in engines.iter().enumerate() {
        if engines[..at].iter().any(|other| other.name == engine.name) {
            return Err(Error::usage(format!("two engines are called '{}'", engine.name)));
        }
    }
    Ok(engines)
}

/// Shows how far it is.
struct Watcher {
    progress: Progress,
}

impl Observer for Watcher {
    fn rows(&self, count: usize) {
        self.progress.set_steps(count as u64);
    }

    fn at(&self, row: &str, engine: &str) {
        self.progress.remark(format_args!("{row}, {engine}"));
    }

    fn done(&self) {
        self.progress.advance(1);
    }
}
