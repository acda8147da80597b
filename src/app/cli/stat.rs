//! A line of INFO's figures for each interval.
//!
//! Invariant: a figure that the server does not tell is 0.
//! Deliberately unknown here: what the figures mean for it.

use std::time::{Duration, Instant};

use super::Count;
use crate::app::Stop;
use crate::app::connect::Target;
use crate::app::show::{Figure, Output};
use crate::app::watch::Interrupts;
use crate::client::{ClientError, Connection};
use crate::error::{Error, Exit};

/// Lines between two headers.
const LINES_PER_HEADER: u64 = 20;

/// Prints so many lines, or until Ctrl-C.
pub(super) fn run(target: &Target, interval: Duration, rounds: Count, json: bool) -> Result<Exit, Error> {
    let interrupts = Interrupts::watch()?;
    let connection = target.open()?;
    let mut watcher = Watcher { connection, interrupts, output: Output::standard(), json, requests: None };
    Stop::settle(watcher.run(interval, rounds))
}

struct Watcher {
    connection: Connection,
    interrupts: Interrupts,
    output: Output,
    json: bool,
    /// Those of the line before, and when that was.
    requests: Option<(u64, Instant)>,
}

impl Watcher {
    fn run(&mut self, interval: Duration, rounds: Count) -> Result<Exit, Stop> {
        let mut done = 0;
        let mut next = Instant::now();
        while rounds.wants_more(done) {
            if done > 0 && !self.interrupts.sleep_until(next) {
                return Ok(Exit::Interrupted);
            }
            // A server that was slow to answer is not asked more often to make up for it.
            next = Instant::now().max(next) + interval;
            let Some(info) = self.info()? else { return Ok(Exit::Interrupted) };
            if !self.json && done.is_multiple_of(LINES_PER_HEADER) {
                self.output.text(HEADER)?;
            }
            self.print(&info)?;
            done += 1;
        }
        Ok(Exit::Done)
    }

    /// What INFO answers; none when Ctrl-C ended the wait.
    fn info(&mut self) -> Result<Option<String>, ClientError> {
        self.connection.send(&[b"INFO"])?;
        loop {
            match self.connection.receive_until(Instant::now() + Interrupts::LOOK)? {
                Some(value) if value.is_push() => {}
                Some(value) => {
                    let text = String::from_utf8_lossy(value.as_bytes().unwrap_or_default()).into_owned();
                    return if value.is_error() { Err(ClientError::Refused(text)) } else { Ok(Some(text)) };
                }
                None if self.interrupts.taken() => return Ok(None),
                None => {}
            }
        }
    }

    fn print(&mut self, info: &str) -> Result<(), Stop> {
        let now = Instant::now();
        let figures = Figures::read(info);
        let before = self.requests.replace((figures.requests, now));
        // A server that started anew counts from 0.
        let (more, since) = before.map_or((0, now), |(requests, at)| (figures.requests.saturating_sub(requests), at));
        if self.json {
            let seconds = now.duration_since(since).as_secs_f64();
            let rate = if seconds > 0.0 { more as f64 / seconds } else { 0.0 };
            self.output.object(&figures.fields(rate))?;
        } else {
            self.output.text(figures.line(more))?;
        }
        self.output.flush()
    }
}

const HEADER: &str = "    keys  memory clients blocked channels patterns  requests (since last) opened\n";

#[derive(Debug, Default, PartialEq, Eq)]
struct Figures {
    keys: u64,
    memory_bytes: u64,
    clients: u64,
    blocked: u64,
    channels: u64,
    patterns: u64,
    requests: u64,
    connections: u64,
}

impl Figures {
    fn read(info: &str) -> Self {
        let mut figures = Figures::default();
        for (name, value) in info.lines().filter_map(|line| line.split_once(':')) {
            let number = || value.trim().parse().unwrap_or(0);
            match name {
                "used_memory" => figures.memory_bytes = number(),
                "connected_clients" => figures.clients = number(),
                "blocked_clients" => figures.blocked = number(),
                "pubsub_channels" => figures.channels = number(),
                "pubsub_patterns" => figures.patterns = number(),
                "total_commands_processed" => figures.requests = number(),
                "total_connections_received" => figures.connections = number(),
                _ => figures.keys += keys_of(name, value),
            }
        }
        figures
    }

    fn line(&self, more: u64) -> String {
        let Figures { keys, memory_bytes, clients, blocked, channels, patterns, requests, connections } = self;
        format!(
            "{keys:>8} {:>7} {clients:>7} {blocked:>7} {channels:>8} {patterns:>8} {requests:>9} {:>12} {connections:>6}\n",
            human(*memory_bytes),
            format!("(+{more})"),
        )
    }

    fn fields(&self, requests_per_second: f64) -> [(&'static str, Figure); 9] {
        [
            ("keys", Figure::Count(self.keys)),
            ("memory_bytes", Figure::Count(self.memory_bytes)),
            ("clients", Figure::Count(self.clients)),
            ("blocked", Figure::Count(self.blocked)),
            ("channels", Figure::Count(self.channels)),
            ("patterns", Figure::Count(self.patterns)),
            ("requests", Figure::Count(self.requests)),
            ("requests_per_second", Figure::Real(requests_per_second)),
            ("connections", Figure::Count(self.connections)),
        ]
    }
}

/// Keys that a line `db3:keys=5,expires=0` tells.
fn keys_of(name: &str, value: &str) -> u64 {
    let is_db = name.strip_prefix("db").is_some_and(|number| number.parse::<u32>().is_ok());
    let keys = value.split(',').find_map(|part| part.strip_prefix("keys=")).filter(|_| is_db);
    keys.and_then(|keys| keys.parse().ok()).unwrap_or(0)
}

fn human(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["K", "M", "G", "T"];
    let mut amount = bytes as f64;
    let mut unit = "B";
    for next in UNITS {
        if amount < 1024.0 {
            break;
        }
        amount /= 1024.0;
        unit = next;
    }
    if unit == "B" { format!("{bytes}B") } else { format!("{amount:.2}{unit}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_found_in_info() {
        let info = "# Server\r\nused_memory:2097152\r\nused_memory_human:2.00M\r\nconnected_clients:3\r\n\
                    blocked_clients:1\r\npubsub_channels:4\r\npubsub_patterns:5\r\ntotal_commands_processed:70\r\n\
                    total_connections_received:8\r\n# Keyspace\r\ndb0:keys=10,expires=0\r\ndb12:keys=5,expires=1\r\ndbx:keys=9\r\n";
        let figures = Figures::read(info);
        let wanted = Figures {
            keys: 15,
            memory_bytes: 2_097_152,
            clients: 3,
            blocked: 1,
            channels: 4,
            patterns: 5,
            requests: 70,
            connections: 8,
        };
        assert_eq!(figures, wanted);
        let line = figures.line(7);
        assert_eq!(line.split_whitespace().collect::<Vec<_>>(), ["15", "2.00M", "3", "1", "4", "5", "70", "(+7)", "8"]);
        assert_eq!(line.len(), HEADER.len());
        assert_eq!(Figures::read(""), Figures::default());
    }

    #[test]
    fn sizes_are_told_in_units() {
        let told = [0, 1023, 1024, 1536, 5 << 30, 2 << 40].map(human);
        assert_eq!(told, ["0B", "1023B", "1.00K", "1.50K", "5.00G", "2.00T"]);
    }
}
