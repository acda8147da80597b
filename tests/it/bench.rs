//! `goblin bench`: what it says of servers whose behaviour is known.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::process::{Outcome, run};
use crate::road::{Folder, Log, Server, goblin, wait_for};
use crate::suite::{Need, Suite, tests};
use crate::wire::{Connection, WATCHDOG};

/// Registers this module's tests.
pub fn tests(suite: &mut Suite) {
    tests!(suite, with_server, Need::Goblin;
        a_server_that_stands_still_shows_at_a_fixed_rate,
        as_many_requests_are_sent_as_were_asked_for,
        keys_of_an_attached_server_are_not_touched,
    );
    tests!(suite, plain, Need::Goblin;
        a_known_delay_is_measured,
        a_lost_message_fails_the_run,
        an_error_is_never_timed,
        the_order_in_which_a_server_writes_decides_nothing,
        all_outputs_tell_the_same,
        every_row_of_pubsub_is_measured_over_sockets_and_rings,
        every_row_of_set_is_measured,
        an_interrupted_run_leaves_nothing_behind,
        a_server_that_dies_fails_its_row,
    );
}

fn attached(name: &str, port: u16) -> String {
    format!("{name}=redis://127.0.0.1:{port}")
}

/// The report of a run that ends well.
fn measured(words: &[&str]) -> Value {
    let outcome = run(&[&["bench"], words, &["--json"]].concat());
    assert_eq!(outcome.status, Some(0), "{words:?}: {} {}", outcome.stdout, outcome.stderr);
    serde_json::from_str(&outcome.stdout).unwrap_or_else(|error| panic!("{error}: {}", outcome.stdout))
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("no number: {value}"))
}

/// Calls of a command that a server has counted.
fn calls(server: &Server, command: &str) -> u64 {
    let stats = server.connect().ask("INFO commandstats");
    let line = format!("cmdstat_{command}:calls=");
    let found = stats.text().lines().find_map(|known| known.strip_prefix(&line)?.split(',').next()?.parse().ok());
    found.unwrap_or(0)
}

fn a_server_that_stands_still_shows_at_a_fixed_rate(server: &Server) {
    let report = thread::scope(|scope| {
        let running = scope.spawn(|| {
            let attached = attached("s", server.port());
            measured(&[
                "ping",
                "--attach",
                &attached,
                "--rate",
                "1000",
                "--duration",
                "10",
                "--warmup",
                "0",
                "--rounds",
                "1",
            ])
        });
        let began = Instant::now();
        while calls(server, "ping") < 500 {
            assert!(began.elapsed() < WATCHDOG, "no requests");
            thread::yield_now();
        }
        server.signal("STOP");
        // The length of the stall is what is measured.
        thread::sleep(Duration::from_secs(2));
        server.signal("CONT");
        running.join().expect("the measurement")
    });
    let cell = &report["rows"][0]["cells"][0];
    assert!(number(&cell["ack_us"]["p90"]) > 200_000.0, "{cell:#}");
    assert!(number(&cell["service_us"]["p90"]) < 5_000.0, "{cell:#}");
    assert!(number(&cell["ack_us"]["max"]) > 1_900_000.0, "{cell:#}");
    assert_eq!(cell["samples"], 10_000);
}

fn as_many_requests_are_sent_as_were_asked_for(server: &Server) {
    let attached = attached("s", server.port());
    let known: [&[&str]; 4] = [&[], &["--depth", "16"], &["--rate", "5000"], &["--depth", "7", "--threads", "2"]];
    for mode in known {
        let before = calls(server, "ping");
        let words =
            ["ping", "--attach", &attached, "--requests", "1003", "--clients", "3", "--rounds", "1", "--warmup", "0"];
        let report = measured(&[&words, mode].concat());
        // One more asks whether the server is there.
        assert_eq!(calls(server, "ping") - before, 1004, "{mode:?}");
        assert_eq!(report["rows"][0]["cells"][0]["samples"], 1003, "{mode:?}");
    }
}

fn keys_of_an_attached_server_are_not_touched(server: &Server) {
    server.connect().ask("SADD set:primary mine");
    let attached = attached("s", server.port());
    let outcome = run(&["bench", "set", "--attach", &attached, "--rounds", "1", "--members", "128"]);
    assert_eq!(outcome.status, Some(1), "{} {}", outcome.stdout, outcome.stderr);
    assert!(outcome.stdout.contains("has a key set:primary already"), "{}", outcome.stdout);
    let mut connection = server.connect();
    assert_eq!(connection.ask("SCARD set:primary").integer(), 1);
    connection.ask("DEL set:primary");
    let report = measured(&["set", "--attach", &attached, "--rounds", "1", "--members", "1000", "--samples", "300"]);
    assert!(report["rows"].as_array().is_some_and(|rows| rows.len() > 10), "{report:#}");
    assert_eq!(connection.ask("DBSIZE").integer(), 0, "its own keys are gone again");
}

/// A server of PING, SUBSCRIBE and PUBLISH that behaves as it is told.
struct StandIn {
    port: u16,
    /// How long it took between reading PING and answering it.
    delays: Arc<Mutex<Vec<Duration>>>,
}

#[derive(Clone, Copy)]
struct Behaviour {
    /// Before each answer to PING, once the first of each connection was answered.
    delay: Duration,
    /// The last subscriber is written to first.
    backwards: bool,
    /// The publication with this number is not delivered.
    drops: Option<usize>,
    /// PUBLISH is refused from this one on.
    refuses: Option<usize>,
}

const SOUND: Behaviour = Behaviour { delay: Duration::ZERO, backwards: false, drops: None, refuses: None };

type Subscribers = Arc<Mutex<HashMap<String, Vec<TcpStream>>>>;

impl StandIn {
    fn start(behaviour: Behaviour) -> StandIn {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("bind");
        let port = listener.local_addr().expect("bound").port();
        let delays = Arc::new(Mutex::new(Vec::new()));
        let (subscribers, told) = (Subscribers::default(), delays.clone());
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (subscribers, delays) = (subscribers.clone(), told.clone());
                stream.set_nodelay(true).expect("no delay");
                thread::spawn(move || serve(stream, behaviour, &subscribers, &delays));
            }
        });
        StandIn { port, delays }
    }
}

fn words(reader: &mut impl BufRead) -> Option<Vec<String>> {
    let mut line = String::new();
    let mut number = |reader: &mut dyn BufRead| -> Option<usize> {
        line.clear();
        reader.read_line(&mut line).ok().filter(|count| *count > 0)?;
        line.trim_end()[1..].parse().ok()
    };
    let count = number(reader)?;
    let mut words = Vec::new();
    for _ in 0..count {
        let mut bytes = vec![0; number(reader)? + 2];
        reader.read_exact(&mut bytes).ok()?;
        bytes.truncate(bytes.len() - 2);
        words.push(String::from_utf8(bytes).ok()?);
    }
    Some(words)
}

fn bulk(text: &str) -> String {
    format!("${}\r\n{text}\r\n", text.len())
}

fn serve(
    stream: TcpStream,
    behaviour: Behaviour,
    subscribers: &Subscribers,
    delays: &Mutex<Vec<Duration>>,
) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut writer = stream;
    let (mut joined, mut published) = (0, 0);
    loop {
        let words = words(&mut reader)?;
        let began = Instant::now();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let answer = match words[..] {
            ["PING"] => {
                thread::sleep(behaviour.delay);
                "+PONG\r\n".to_owned()
            }
            ["SUBSCRIBE", ref channels @ ..] => {
                let mut answer = String::new();
                for channel in channels {
                    joined += 1;
                    subscribers.lock().ok()?.entry((*channel).to_owned()).or_default().push(writer.try_clone().ok()?);
                    answer += &format!("*3\r\n{}{}:{joined}\r\n", bulk("subscribe"), bulk(channel));
                }
                answer
            }
            ["PUBLISH", channel, payload] => {
                published += 1;
                if behaviour.refuses.is_some_and(|from| published >= from) {
                    "-ERR not today\r\n".to_owned()
                } else {
                    let message = format!("*3\r\n{}{}{}", bulk("message"), bulk(channel), bulk(payload));
                    let mut all = subscribers.lock().ok()?;
                    let mut receivers: Vec<&mut TcpStream> = all.get_mut(channel)?.iter_mut().collect();
                    if behaviour.backwards {
                        receivers.reverse();
                    }
                    let count = receivers.len();
                    if behaviour.drops != Some(published) {
                        receivers.iter_mut().for_each(|receiver| drop(receiver.write_all(message.as_bytes())));
                    }
                    format!(":{count}\r\n")
                }
            }
            _ => "-ERR unknown command\r\n".to_owned(),
        };
        delays.lock().ok()?.push(began.elapsed());
        writer.write_all(answer.as_bytes()).ok()?;
    }
}

fn a_known_delay_is_measured() {
    let server = StandIn::start(Behaviour { delay: Duration::from_millis(20), ..SOUND });
    let attached = attached("slow", server.port);
    let report = measured(&["ping", "--attach", &attached, "--requests", "60", "--rounds", "1"]);
    let mut delays = server.delays.lock().expect("the delays").clone();
    delays.sort();
    let shortest = delays.iter().find(|delay| **delay >= Duration::from_millis(20)).expect("a delay");
    let us = |delay: Duration| delay.as_secs_f64() * 1e6;
    let (shortest, middle) = (us(*shortest), us(delays[delays.len() / 2]));
    let got = &report["rows"][0]["cells"][0]["ack_us"];
    // On a busy machine the client waits for its processor, too, but not each time.
    let least = number(&got["min"]);
    assert!((shortest * 0.99..shortest * 1.05).contains(&least), "{least} us instead of {shortest} us");
    assert!(number(&got["p50"]) > middle * 0.99, "{got} and a median of {middle} us");
}

fn failed(behaviour: Behaviour) -> Outcome {
    let server = StandIn::start(behaviour);
    let attached = attached("odd", server.port);
    let words =
        ["bench", "pubsub", "--attach", &attached, "--only", "1-listeners", "--samples", "100", "--rounds", "1"];
    let outcome = run(&words);
    assert_eq!(outcome.status, Some(1), "{} {}", outcome.stdout, outcome.stderr);
    outcome
}

fn a_lost_message_fails_the_run() {
    let outcome = failed(Behaviour { drops: Some(57), ..SOUND });
    assert!(outcome.stdout.contains("failed: a delivery"), "{}", outcome.stdout);
}

fn an_error_is_never_timed() {
    let outcome = failed(Behaviour { refuses: Some(57), ..SOUND });
    assert!(outcome.stdout.contains("failed: the server answered: ERR not today"), "{}", outcome.stdout);
}

fn the_order_in_which_a_server_writes_decides_nothing() {
    // On a machine that does other things meanwhile, one of several tries must do.
    const TRIES: usize = 4;
    let mut ratios = Vec::new();
    for _ in 0..TRIES {
        let [forwards, backwards] = [false, true].map(|backwards| StandIn::start(Behaviour { backwards, ..SOUND }));
        let engines = [attached("forwards", forwards.port), attached("backwards", backwards.port)];
        let report = measured(&[
            "pubsub",
            "--attach",
            &engines[0],
            "--attach",
            &engines[1],
            "--only",
            "64-listeners",
            "--samples",
            "150",
            "--rounds",
            "7",
        ]);
        let p50 = |engine: usize| number(&report["rows"][0]["cells"][engine]["delivery_us"]["p50"]);
        ratios.push(p50(0) / p50(1));
        if (0.8..1.25).contains(&ratios[ratios.len() - 1]) {
            return;
        }
    }
    panic!("{ratios:?}");
}

fn file(folder: &Folder, name: &str) -> String {
    folder.path().join(name).display().to_string()
}

fn all_outputs_tell_the_same() {
    let folder = Folder::new();
    let [csv, json, hdr, html] = ["x.csv", "x.json", "x.hgrm", "x.html"].map(|name| file(&folder, name));
    let (csv_flag, json_flag) = (format!("--csv={csv}"), format!("--json={json}"));
    let words = ["bench", "pubsub", "--only", "one-to-one", "--samples", "200", "--rounds", "3"];
    let outcome = run(&[&words[..], &[&csv_flag, &json_flag, "--hdr", &hdr, "--html", &html]].concat());
    assert_eq!(outcome.status, Some(0), "{} {}", outcome.stdout, outcome.stderr);
    let read = |path: &str| std::fs::read_to_string(path).expect("an output");
    assert!(outcome.stdout.starts_with("closed loop: "), "{}", outcome.stdout);
    let report: Value = serde_json::from_str(&read(&json)).expect("JSON");
    let csv = read(&csv);
    let mut lines = csv.lines();
    let header: Vec<&str> = lines.next().expect("a header").split(',').collect();
    assert_eq!((header[0], header[25], header.len()), ("engine", "rss_delta_mib", 26));
    let rows: Vec<Vec<&str>> =
        lines.filter(|line| !line.starts_with('#')).map(|line| line.split(',').collect()).collect();
    assert_eq!(rows.len(), 6, "three rows of two engines: {csv}");
    for (at, row) in rows.iter().enumerate() {
        assert_eq!(row.len(), 26, "{row:?}");
        assert!(row[9..].iter().all(|field| field.parse::<f64>().is_ok()), "{row:?}");
        let cell = &report["rows"][at / 2]["cells"][at % 2];
        assert_eq!((row[0], row[9]), (cell["engine"].as_str().expect("a name"), "600"));
        let p50 = |at: usize| row[at].parse::<f64>().expect("a number");
        assert!((p50(18) - number(&cell["delivery_us"]["p50"])).abs() < 0.001, "{row:?} {cell:#}");
    }
    let facts = ["seed 1", "bench pubsub", "command: goblin bench pubsub", "machine: ", "engines: goblin-uds (goblin "];
    let page = read(&html);
    for output in [&csv, &read(&hdr), &page] {
        facts.iter().for_each(|fact| assert!(output.contains(fact), "{fact}"));
    }
    facts.iter().for_each(|fact| assert!(outcome.stdout.contains(fact), "{fact}"));
    assert!(read(&hdr).contains("#[Max     = "));
    assert!(page.matches("<svg").count() >= 4, "bars, memory and three curves");
    assert!(!page.contains("<script") && !page.replace("http://www.w3.org/2000/svg", "").contains("http://"));
}

fn every_row_of_pubsub_is_measured_over_sockets_and_rings() {
    let report = measured(&["pubsub", "--samples", "3", "--rounds", "1"]);
    let rows = report["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 3 + 4 + 3 + 6 + 6 + 4 + 2 + 3);
    let outcome = |cell: &Value| cell["outcome"] == "measured" && cell["samples"] == 3;
    for row in rows {
        assert!(row["cells"].as_array().is_some_and(|cells| cells.len() == 2 && cells.iter().all(outcome)), "{row:#}");
    }
    let with_threads = measured(&["pubsub", "--samples", "3", "--rounds", "1", "--only", "fanout", "--threads", "2"]);
    assert!(with_threads["rows"].as_array().is_some_and(|rows| rows.len() == 4), "{with_threads:#}");
}

fn every_row_of_set_is_measured() {
    for kind in [&["--member-size", "9-40"][..], &["--int"], &[]] {
        let words = ["set", "--members", "5000", "--samples", "1000", "--rounds", "1"];
        let report = measured(&[&words[..], kind].concat());
        for row in report["rows"].as_array().expect("rows") {
            for cell in row["cells"].as_array().expect("cells") {
                let optional = row["scenario"] == "optimize";
                assert!(cell["outcome"] == "measured" || optional && cell["outcome"] == "n/a", "{kind:?} {row:#}");
            }
        }
    }
    for workload in ["kv", "mixed"] {
        let report = measured(&[workload, "--requests", "500", "--rounds", "2", "--depth", "8"]);
        assert_eq!(report["rows"][0]["cells"][1]["samples"], 1000, "{report:#}");
    }
}

/// A running measurement of goblin, and the server it has started.
fn started() -> (Child, Log, u32) {
    let (reader, writer) = std::io::pipe().expect("pipe");
    let mut command = goblin();
    command.args([
        "bench",
        "pubsub",
        "--engine",
        "goblin-uds",
        "--only",
        "16B",
        "--samples",
        "100000000",
        "--rounds",
        "1",
    ]);
    command.stdin(Stdio::null()).stdout(writer.try_clone().expect("pipe")).stderr(writer);
    let child = command.spawn().expect("start goblin");
    drop(command);
    let socket = std::env::temp_dir().join(format!("goblin-bench-{}-0/socket", child.id()));
    let began = Instant::now();
    let server = loop {
        assert!(began.elapsed() < WATCHDOG, "no server");
        let list = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", child.id())).unwrap_or_default();
        let server = list.split_whitespace().next().and_then(|id| id.parse().ok());
        if let Some(server) = server.filter(|_| has_published(&socket)) {
            break server;
        }
        thread::yield_now();
    };
    (child, Log::follow(reader), server)
}

/// Whether the server at a socket was asked to publish: then a row is being measured.
fn has_published(socket: &Path) -> bool {
    std::os::unix::net::UnixStream::connect(socket).is_ok()
        && Connection::unix(socket).ask("INFO commandstats").text().contains("cmdstat_publish:")
}

fn folders_of(process: u32) -> usize {
    let prefix = format!("goblin-bench-{process}-");
    let entries = std::fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(&prefix)).count()
}

fn an_interrupted_run_leaves_nothing_behind() {
    let (mut child, log, server) = started();
    assert_eq!(folders_of(child.id()), 1);
    let pid = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-s", "INT", &pid]).status().expect("run kill").success());
    assert_eq!(wait_for(&mut child).code(), Some(130), "{}", log.text());
    assert!(!Path::new(&format!("/proc/{server}")).exists(), "its server is gone");
    assert_eq!(folders_of(child.id()), 0);
    log.wait(|_| false);
    assert!(log.text().contains("one-to-one"), "what there is is shown: {}", log.text());
}

fn a_server_that_dies_fails_its_row() {
    let (mut child, log, server) = started();
    let pid = server.to_string();
    assert!(std::process::Command::new("kill").args(["-s", "KILL", &pid]).status().expect("run kill").success());
    assert_eq!(wait_for(&mut child).code(), Some(1), "{}", log.text());
    log.wait(|_| false);
    assert!(log.text().contains("failed: "), "{}", log.text());
    assert_eq!(folders_of(child.id()), 0);
}
