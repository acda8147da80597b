//! Who subscribes to what and which messages are published, in each row of `pubsub`.
//!
//! Names and sizes are those of the published report.

use super::plan::Plan;

/// Bytes of a message unless the row says otherwise.
const PAYLOAD_BYTES: usize = 32;

/// Clients of the large topologies, and the names each has alone.
const MIXED_CLIENTS: usize = 32;
const MIXED_PRIVATE: usize = 32;

/// The channel of most rows.
const LITERAL: &str = "bench:pubsub:literal";

/// What one client subscribes to.
#[derive(Debug, Clone, Default)]
pub(super) struct Client {
    pub(super) channels: Vec<String>,
    pub(super) patterns: Vec<String>,
}

/// A message to publish: its channel, and which clients get it by which pattern.
#[derive(Debug, Clone)]
pub(super) struct Target {
    pub(super) channel: String,
    pub(super) receivers: Vec<(usize, Option<String>)>,
}

/// What makes a row more than its messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Beside {
    Nothing,
    /// One more subscriber of the channel, which reads nothing.
    SlowSubscriber,
    /// Other clients keep the server busy.
    NoisyNeighbours,
    /// What is measured is joining and leaving a channel.
    Churn,
}

/// A row of `pubsub`.
#[derive(Debug, Clone)]
pub(super) struct Scenario {
    pub(super) name: &'static str,
    pub(super) detail: String,
    pub(super) payload_bytes: usize,
    pub(super) clients: Vec<Client>,
    pub(super) targets: Vec<Target>,
    pub(super) beside: Beside,
    /// Samples of the published report; the usual ones are fewer.
    pub(super) samples_full: usize,
}

impl Scenario {
    fn new(
        name: &'static str,
        detail: String,
        clients: Vec<Client>,
        targets: Vec<Target>,
        samples_full: usize,
    ) -> Self {
        let beside = Beside::Nothing;
        Scenario { name, detail, payload_bytes: PAYLOAD_BYTES, clients, targets, beside, samples_full }
    }

    pub(super) fn literal_subscriptions(&self) -> usize {
        self.clients.iter().map(|client| client.channels.len()).sum()
    }

    pub(super) fn pattern_subscriptions(&self) -> usize {
        self.clients.iter().map(|client| client.patterns.len()).sum()
    }
}

fn by_name(channel: &str, receivers: usize) -> Target {
    Target { channel: channel.to_owned(), receivers: (0..receivers).map(|client| (client, None)).collect() }
}

fn by_pattern(channel: String, pattern: String) -> Target {
    Target { channel, receivers: vec![(0, Some(pattern))] }
}

fn listening_to(channel: &str) -> Client {
    Client { channels: vec![channel.to_owned()], patterns: Vec::new() }
}

/// The rows that a plan wants, in order.
pub(super) fn scenarios(plan: &Plan) -> Vec<Scenario> {
    let mut all = Vec::new();
    one_to_one(&mut all);
    fan_out(&mut all);
    routing(&mut all);
    patterns(&mut all);
    hard_patterns(&mut all);
    many_clients(&mut all);
    beside_others(&mut all);
    all.retain(|row| plan.wants(row.name, &row.detail));
    all
}

fn one_to_one(all: &mut Vec<Scenario>) {
    for bytes in [16, 256, 4096] {
        let (clients, targets) = (vec![listening_to(LITERAL)], vec![by_name(LITERAL, 1)]);
        let row = Scenario::new("one-to-one", format!("{bytes}B"), clients, targets, 100_000);
        all.push(Scenario { payload_bytes: bytes, ..row });
    }
}

fn fan_out(all: &mut Vec<Scenario>) {
    for listeners in [1, 8, 32, 64] {
        let (clients, targets) = (vec![listening_to(LITERAL); listeners], vec![by_name(LITERAL, listeners)]);
        all.push(Scenario::new("literal-fanout", format!("{listeners}-listeners"), clients, targets, 20_000));
    }
}

fn routing(all: &mut Vec<Scenario>) {
    const TARGET: &str = "bench:exact:target";
    for channels in [1, 1024, 16_384] {
        let mut client = listening_to(TARGET);
        client.channels.extend((1..channels).map(|number| format!("bench:exact:{number:06}")));
        let targets = vec![by_name(TARGET, 1)];
        all.push(Scenario::new("literal-routing", format!("{channels}-channels"), vec![client], targets, 20_000));
    }
}

/// Fewer samples where one publication takes a server that looks at every pattern longer.
fn pattern_samples(patterns: usize) -> usize {
    match patterns {
        0..8192 => 20_000,
        8192..65_536 => 5_000,
        _ => 1_000,
    }
}

fn patterns(all: &mut Vec<Scenario>) {
    let pattern = |number: usize| format!("bench:pattern:{number:06}:*");
    let client = |count: usize| Client { channels: Vec::new(), patterns: (0..count).map(pattern).collect() };
    for count in [0, 1, 64, 1024, 8192, 65_536] {
        let targets = vec![by_name("bench:pubsub:unmatched", 0)];
        let clients = vec![client(count)];
        all.push(Scenario::new("pattern-miss", format!("{count}-patterns"), clients, targets, pattern_samples(count)));
    }
    for count in [1, 64, 1024, 8192, 65_536] {
        let last = count - 1;
        let targets = vec![by_pattern(format!("bench:pattern:{last:06}:hit"), pattern(last))];
        let clients = vec![client(count)];
        all.push(Scenario::new("pattern-hit", format!("{count}-patterns"), clients, targets, pattern_samples(count)));
    }
    const COUNT: usize = 8192;
    let targets = (0..COUNT).map(|number| by_pattern(format!("bench:pattern:{number:06}:hit"), pattern(number)));
    let (clients, targets) = (vec![client(COUNT)], targets.collect());
    all.push(Scenario::new("pattern-random", format!("{COUNT}-patterns"), clients, targets, pattern_samples(COUNT)));
}

/// Shapes whose first letters, last letters, or both, tell nothing.
fn hard_patterns(all: &mut Vec<Scenario>) {
    const COUNT: usize = 8192;
    const LAST: usize = COUNT - 1;
    type Shape = (&'static str, fn(usize) -> String, fn(usize) -> String);
    const PREFIX: Shape = (
        "shared-prefix",
        |number| format!("bench:shared:*:{number:06}"),
        |number| format!("bench:shared:x:{number:06}"),
    );
    const SUFFIX: Shape = (
        "shared-suffix",
        |number| format!("{number:06}:*:bench:shared"),
        |number| format!("{number:06}:x:bench:shared"),
    );
    const INFIX: Shape = ("infix", |number| format!("*:{number:06}:*"), |number| format!("bench:{number:06}:x"));
    const MIXED: Shape = (
        "mixed",
        |number| match number % 4 {
            0 => (PREFIX.1)(number),
            1 => (SUFFIX.1)(number),
            2 => (INFIX.1)(number),
            _ => format!("bench:?:{number:06}:[ab]*"),
        },
        |number| format!("bench:x:{number:06}:a"),
    );
    for (shape, pattern, channel) in [PREFIX, SUFFIX, INFIX, MIXED] {
        let client = Client { channels: Vec::new(), patterns: (0..COUNT).map(pattern).collect() };
        let targets = vec![by_pattern(channel(LAST), pattern(LAST))];
        let detail = format!("{shape}-{COUNT}");
        all.push(Scenario::new("pattern-hard", detail, vec![client], targets, pattern_samples(COUNT)));
    }
}

fn many_clients(all: &mut Vec<Scenario>) {
    let detail = format!("{MIXED_CLIENTS}x{MIXED_PRIVATE}+1");
    let literal = (0..MIXED_CLIENTS).map(|client| {
        let mut own = listening_to("bench:mixed:literal:shared");
        own.channels.extend((0..MIXED_PRIVATE).map(|number| format!("bench:mixed:literal:{client}:{number}")));
        own
    });
    let targets = vec![by_name("bench:mixed:literal:shared", MIXED_CLIENTS)];
    all.push(Scenario::new("many-literal", detail.clone(), literal.collect(), targets, 20_000));
    const SHARED: &str = "bench:mixed:pattern:shared:*";
    let patterns = (0..MIXED_CLIENTS).map(|client| {
        let mut own = Client { channels: Vec::new(), patterns: vec![SHARED.to_owned()] };
        own.patterns.extend((0..MIXED_PRIVATE).map(|number| format!("bench:mixed:pattern:{client}:{number}:*")));
        own
    });
    let receivers = (0..MIXED_CLIENTS).map(|client| (client, Some(SHARED.to_owned()))).collect();
    let targets = vec![Target { channel: "bench:mixed:pattern:shared:hit".to_owned(), receivers }];
    all.push(Scenario::new("many-pattern", detail, patterns.collect(), targets, 20_000));
}

fn beside_others(all: &mut Vec<Scenario>) {
    let one = |name, detail: &str, beside| {
        let (clients, targets) = (vec![listening_to(LITERAL)], vec![by_name(LITERAL, 1)]);
        Scenario { beside, ..Scenario::new(name, detail.to_owned(), clients, targets, 20_000) }
    };
    let mut churn = one("churn", "1024-channels-held", Beside::Churn);
    churn.clients[0].channels = (0..1024).map(|number| format!("bench:exact:{number:06}")).collect();
    churn.targets.clear();
    all.push(churn);
    all.push(one("slow-subscriber", "1-of-2-reads-nothing", Beside::SlowSubscriber));
    all.push(one("noisy-neighbour", "SMEMBERS-100000-and-pipelined-SET", Beside::NoisyNeighbours));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rows_are_those_of_the_report_and_their_channels_match() {
        let plan = crate::bench::plan::Plan::for_tests("");
        let all = scenarios(&plan);
        let of = |name: &str| all.iter().filter(|row| row.name == name).count();
        assert_eq!((of("one-to-one"), of("literal-fanout"), of("literal-routing")), (3, 4, 3));
        assert_eq!((of("pattern-miss"), of("pattern-hit"), of("pattern-hard")), (6, 5, 4));
        let many = all.iter().find(|row| row.name == "many-pattern").unwrap();
        assert_eq!((many.clients.len(), many.pattern_subscriptions()), (32, 32 * 33));
        let routed = all.iter().find(|row| row.detail == "16384-channels").unwrap();
        assert_eq!(routed.literal_subscriptions(), 16_384);
        for row in &all {
            for target in &row.targets {
                for (client, pattern) in &target.receivers {
                    let client = &row.clients[*client];
                    match pattern {
                        Some(pattern) => assert!(client.patterns.contains(pattern), "{}", row.detail),
                        None => assert!(client.channels.contains(&target.channel), "{}", row.detail),
                    }
                }
            }
        }
    }

    #[test]
    fn rows_can_be_chosen_by_a_part_of_their_names() {
        let plan = crate::bench::plan::Plan::for_tests("64-listeners");
        assert_eq!(scenarios(&plan).len(), 1);
    }
}
