//! What is to be measured, checked and with units.

use std::time::Duration;

use super::cpu;
use super::engine::Spec;

/// How long an answer or a delivery may take before the row has failed.
pub const SILENCE_MAX: Duration = Duration::from_secs(5);

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Workload {
    /// Publish/subscribe.
    Pubsub,
    /// Large and small sets.
    Set,
    /// PING.
    Ping,
    /// GET, SET and INCR.
    Kv,
    /// Reads, writes, sets and publications at random.
    Mixed,
}

impl Workload {
    /// As it is called on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Workload::Pubsub => "pubsub",
            Workload::Set => "set",
            Workload::Ping => "ping",
            Workload::Kv => "kv",
            Workload::Mixed => "mixed",
        }
    }
}

/// When the next request is sent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Loop {
    /// After the answer to the one before.
    Closed,
    /// So many requests are sent together, the next ones after all their answers.
    Pipelined(usize),
    /// So many a second, whatever the answers do.
    Fixed(f64),
}

impl Loop {
    /// As the first line of every output says it.
    pub fn describe(self) -> String {
        match self {
            Loop::Closed => {
                "closed loop: the next request waits for the last answer, so stalls are under-represented".to_owned()
            }
            Loop::Pipelined(depth) => format!("pipelined, depth {depth}: a window is sent when the last is answered"),
            Loop::Fixed(rate) => format!("fixed rate of {rate} requests/s: latency counts from the intended start"),
        }
    }
}

/// Members of the sets that are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Members {
    /// All of so many bytes.
    Fixed(usize),
    /// Of lengths between these, evenly.
    Range(usize, usize),
    /// Decimal integers.
    Integers,
}

/// Everything that decides what a measurement does.
#[derive(Debug, Clone)]
pub struct Plan {
    /// What is measured.
    pub workload: Workload,
    /// On what; at least one.
    pub engines: Vec<Spec>,
    /// Which of them ratios are relative to.
    pub baseline: usize,
    /// Rounds of each row, at least 1.
    pub rounds: usize,
    /// Samples of each round; none for each row's own number.
    pub samples: Option<usize>,
    /// A round ends after this even when it has fewer samples; none for never.
    pub round_time_max: Option<Duration>,
    /// Take the published reports' numbers of samples.
    pub full: bool,
    /// Rows whose scenario or detail contains this; empty for all.
    pub only: String,
    /// How requests follow one another.
    pub pace: Loop,
    /// Requests of a run of `ping`, `kv` or `mixed`; none for as many as its time allows.
    pub requests: Option<u64>,
    /// How long such a run is measured.
    pub duration: Duration,
    /// How long it runs before that, unmeasured.
    pub warm_up: Duration,
    /// Connections of such a run.
    pub clients: usize,
    /// Threads that read deliveries, or among which connections are divided; 0 for the one that does it all.
    pub threads: usize,
    /// Members of the large sets.
    pub members: usize,
    /// What they are.
    pub member_kind: Members,
    /// Requests in one write of the rows of `set`.
    pub set_depth: usize,
    /// What random choices come from.
    pub seed: u64,
    /// Where engines run; none for anywhere.
    pub server_cpu: Option<usize>,
    /// Where the client runs; none for anywhere.
    pub client_cpu: Option<usize>,
    /// All processors this process may use.
    pub processors: Vec<usize>,
}

impl Plan {
    /// The processors this process may use, and of those one for servers and another for the client; the same one when
    /// there is no other.
    pub fn processors() -> (Vec<usize>, Option<usize>, Option<usize>) {
        let all = cpu::allowed();
        let (server, client) = (all.first().copied(), all.get(1).or(all.first()).copied());
        (all, server, client)
    }

    /// Whether the client may spin: not where the server needs its processor.
    pub(super) fn spins(&self) -> bool {
        self.processors.len() > 1 && (self.server_cpu.is_none() || self.server_cpu != self.client_cpu)
    }

    /// Whether rows of this name are wanted.
    pub(super) fn wants(&self, scenario: &str, detail: &str) -> bool {
        self.only.is_empty() || scenario.contains(&self.only) || detail.contains(&self.only)
    }
}

#[cfg(test)]
impl Plan {
    /// One that measures nothing yet.
    pub(super) fn for_tests(only: &str) -> Plan {
        Plan {
            workload: Workload::Pubsub,
            engines: Vec::new(),
            baseline: 0,
            rounds: 1,
            samples: None,
            round_time_max: None,
            full: false,
            only: only.to_owned(),
            pace: Loop::Closed,
            requests: None,
            duration: Duration::from_secs(1),
            warm_up: Duration::ZERO,
            clients: 1,
            threads: 0,
            members: 1,
            member_kind: Members::Fixed(16),
            set_depth: 256,
            seed: 1,
            server_cpu: None,
            client_cpu: None,
            processors: vec![0],
        }
    }
}
