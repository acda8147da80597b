//! MEMORY: what takes how much.
//!
//! Invariant: bytes of a key are counted, not estimated: its place in the table, and all it points to.
//! Deliberately unknown here: the allocator and the system; what they tell comes from the host.

use crate::command::MemoryUsage;
use crate::reply::{CommandError, Reply};

use super::host::{Facts, Host, ProcessRequest};
use super::keyspace::Entry;
use super::value::Value;
use super::{Engine, Turn};

/// Below this nothing can be said about the use of memory: what every process takes outweighs it.
const WORTH_A_REPORT_BYTES: u64 = 5 << 20;

/// What one database takes beside the entries themselves, in bytes.
struct DatabaseOverhead {
    db: usize,
    /// The table: its slots, used and free.
    table: usize,
    /// What entries with a deadline take more than others.
    deadlines: usize,
    /// The directory of the table, part of `table`.
    directory: usize,
}

/// Where the bytes of the process are.
pub(super) struct Shares {
    databases: Vec<DatabaseOverhead>,
    /// Everything that is no data.
    pub(super) overhead: u64,
    /// What is left of the allocated bytes.
    pub(super) dataset: u64,
    /// That in percent of what was allocated since the start.
    pub(super) dataset_percent: f64,
    keys: usize,
}

impl Engine {
    /// Answers nil for a key that is not there; one that is due takes memory until somebody looks, and this is no look.
    /// Costs one step per some 300 members of a set.
    pub(super) fn memory_usage<H: Host>(&mut self, turn: &mut Turn<'_, H>, usage: &MemoryUsage<'_>) -> Reply<'static> {
        let key = self.key(usage.key);
        match self.database(turn.caller.db).stored(key).map(Entry::memory_bytes) {
            Some(bytes) => Reply::count(bytes),
            None => Reply::Nil,
        }
    }

    pub(super) fn memory_stats<H: Host>(&mut self, turn: &mut Turn<'_, H>) -> Reply<'static> {
        let facts = turn.host.facts();
        let shares = self.shares(&facts);
        let integer = |value: u64| Reply::Integer(value as i64);
        let field = |name: &'static str, value| (Reply::bulk(name.as_bytes()), value);
        let mut fields = vec![
            field("peak.allocated", integer(facts.peak_bytes)),
            field("total.allocated", integer(facts.allocated_bytes)),
            field("startup.allocated", integer(facts.startup_bytes)),
            field("replication.backlog", integer(0)),
            field("replica.fullsync.buffer", integer(0)),
            field("clients.slaves", integer(0)),
            field("clients.normal", Reply::count(facts.sessions_bytes)),
            field("cluster.links", integer(0)),
            field("aof.buffer", integer(0)),
            field("lua.caches", integer(0)),
            field("functions.caches", integer(0)),
            field("script.VMs", integer(0)),
        ];
        for of in &shares.databases {
            let parts = vec![
                field("overhead.hashtable.main", Reply::count(of.table)),
                field("overhead.hashtable.expires", Reply::count(of.deadlines)),
            ];
            fields.push((Reply::owned(format!("db.{}", of.db)), Reply::Map(parts)));
        }
        let directories = shares.databases.iter().map(|of| of.directory).sum();
        let above_startup = facts.allocated_bytes.saturating_sub(facts.startup_bytes);
        let each_key = above_startup.checked_div(shares.keys as u64).unwrap_or(0);
        fields.extend([
            field("overhead.db.hashtable.lut", Reply::count(directories)),
            field("overhead.db.hashtable.rehashing", integer(0)),
            field("overhead.total", integer(shares.overhead)),
            field("db.dict.rehashing.count", integer(0)),
            field("keys.count", Reply::count(shares.keys)),
            field("keys.bytes-per-key", integer(each_key)),
            field("dataset.bytes", integer(shares.dataset)),
            field("dataset.percentage", Reply::Double(shares.dataset_percent)),
            field("peak.percentage", Reply::Double(100.0 * ratio(facts.allocated_bytes, facts.peak_bytes))),
            field("allocator.allocated", integer(facts.allocated_bytes)),
            field("allocator.active", integer(facts.allocator_active_bytes)),
            field("allocator.resident", integer(facts.allocator_resident_bytes)),
            field("allocator.muzzy", integer(facts.allocator_muzzy_bytes)),
        ]);
        for (prefix, over, under) in fragmentation(&facts) {
            let name = |end: &str| Reply::owned(format!("{prefix}{end}"));
            let ratio_name = if prefix == "fragmentation" { name("") } else { name(".ratio") };
            fields.push((ratio_name, Reply::Double(ratio(over, under))));
            fields.push((name(".bytes"), Reply::Integer(over as i64 - under as i64)));
        }
        Reply::Map(fields)
    }

    pub(super) fn memory_doctor<H: Host>(&mut self, turn: &mut Turn<'_, H>) -> Reply<'static> {
        Reply::Verbatim(findings(&turn.host.facts()))
    }

    pub(super) fn memory_malloc_stats<H: Host>(&mut self, turn: &mut Turn<'_, H>) -> Reply<'static> {
        Reply::Verbatim(turn.host.allocator_report())
    }

    pub(super) fn memory_purge<H: Host>(&mut self, turn: &mut Turn<'_, H>) -> Result<Reply<'_>, CommandError> {
        turn.host.ask(ProcessRequest::PurgeMemory)?;
        Ok(Reply::OK)
    }

    /// Costs one step per some 300 keys.
    pub(super) fn shares(&self, facts: &Facts) -> Shares {
        let used = self.databases.iter().enumerate().filter(|(_, keyspace)| keyspace.len() > 0);
        let of = |(db, keyspace): (usize, &super::Keyspace)| DatabaseOverhead {
            db,
            table: keyspace.table_bytes(),
            deadlines: keyspace.volatile_len() * size_of::<Value>(),
            directory: keyspace.directory_bytes(),
        };
        let databases: Vec<DatabaseOverhead> = used.map(of).collect();
        let tables: usize = databases.iter().map(|of| of.table + of.deadlines).sum();
        let overhead = facts.startup_bytes + (facts.sessions_bytes + tables) as u64;
        let dataset = facts.allocated_bytes.saturating_sub(overhead);
        let above_startup = facts.allocated_bytes.saturating_sub(facts.startup_bytes);
        Shares {
            databases,
            overhead,
            dataset,
            dataset_percent: 100.0 * ratio(dataset, above_startup),
            keys: self.databases.iter().map(super::Keyspace::len).sum(),
        }
    }
}

/// Pairs of sizes of which the first should not be much larger than the second, with the names of MEMORY STATS.
pub(super) fn fragmentation(facts: &Facts) -> [(&'static str, u64, u64); 4] {
    [
        ("allocator-fragmentation", facts.allocator_active_bytes, facts.allocated_bytes),
        ("allocator-rss", facts.allocator_resident_bytes, facts.allocator_active_bytes),
        ("rss-overhead", facts.rss_bytes, facts.allocator_resident_bytes),
        ("fragmentation", facts.rss_bytes, facts.allocated_bytes),
    ]
}

/// How many times `under` is in `over`; 0 of nothing.
pub(super) fn ratio(over: u64, under: u64) -> f64 {
    if under == 0 { 0.0 } else { over as f64 / under as f64 }
}

/// What is wrong with the use of memory, a sentence each.
fn findings(facts: &Facts) -> String {
    if facts.allocated_bytes < WORTH_A_REPORT_BYTES {
        return "Too little memory is in use for anything to be wrong with it.\n".into();
    }
    let mut text = String::new();
    let mut say = |sentence: String| text += &format!("- {sentence}\n");
    let peak = ratio(facts.peak_bytes, facts.allocated_bytes);
    if peak > 1.5 {
        say(format!(
            "At its peak the server took {peak:.1} times what it takes now. The allocator may keep some of the \
             difference for a while; MEMORY PURGE gives it back."
        ));
    }
    let fragmentation = ratio(facts.allocator_active_bytes, facts.allocated_bytes);
    if fragmentation > 1.1 && facts.allocator_active_bytes - facts.allocated_bytes > 10 << 20 {
        say(format!(
            "Pages in use hold {fragmentation:.2} times what is allocated: many small allocations were freed among \
             others that stay."
        ));
    }
    let kept = ratio(facts.allocator_resident_bytes, facts.allocator_active_bytes);
    if kept > 1.1 && facts.allocator_resident_bytes - facts.allocator_active_bytes > 10 << 20 {
        say("The allocator keeps pages that nothing uses; MEMORY PURGE gives them back.".into());
    }
    let clients = facts.connected.max(1);
    let each = facts.sessions_bytes / clients;
    if each > 200 << 10 {
        say(format!("The {clients} clients take {each} bytes each: look for large omem in CLIENT LIST."));
    }
    if text.is_empty() { "Nothing stands out.\n".into() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_name_what_stands_out() {
        let facts = Facts {
            allocated_bytes: 100 << 20,
            allocator_active_bytes: 101 << 20,
            allocator_resident_bytes: 105 << 20,
            peak_bytes: 100 << 20,
            connected: 10,
            sessions_bytes: 1 << 20,
            ..Facts::default()
        };
        assert_eq!(findings(&facts), "Nothing stands out.\n");
        let wrong = |text: &str, facts: Facts| assert!(findings(&facts).contains(text), "{}", findings(&facts));
        wrong("2.0 times", Facts { peak_bytes: 200 << 20, ..facts.clone() });
        wrong("1.20 times", Facts { allocator_active_bytes: 120 << 20, ..facts.clone() });
        wrong("MEMORY PURGE", Facts { allocator_resident_bytes: 200 << 20, ..facts.clone() });
        wrong("10 clients", Facts { sessions_bytes: 100 << 20, ..facts.clone() });
        assert!(findings(&Facts::default()).starts_with("Too little"));
    }
}
