//! INFO: the state of the server as text.
//!
//! Invariant: every field is true. A field of Redis that would have to be invented is left out; one that counts what
//! goblin does not have is 0.

use std::fmt::Write;

use crate::command::Args;
use crate::reply::Reply;

use super::host::{Facts, Host};
use super::memory_report::{fragmentation, ratio};
use super::{Engine, Turn};

/// The version announced to clients, which parse it to learn what they may send: the last release of Redis whose
/// command surface has no licence attached, as other compatible servers do.
pub const REDIS_VERSION: &str = "7.2.4";

/// The sections in the order of Redis. The second word tells when one is shown without being named.
const SECTIONS: &[(&str, Shown)] = &[
    ("server", Shown::ByDefault),
    ("clients", Shown::ByDefault),
    ("memory", Shown::ByDefault),
    ("persistence", Shown::ByDefault),
    ("threads", Shown::ByDefault),
    ("stats", Shown::ByDefault),
    ("pubsub", Shown::ByDefault),
    ("replication", Shown::ByDefault),
    ("cpu", Shown::ByDefault),
    ("modules", Shown::ByDefault),
    ("commandstats", Shown::OnDemand),
    ("errorstats", Shown::ByDefault),
    ("latencystats", Shown::OnDemand),
    ("cluster", Shown::ByDefault),
    ("keyspace", Shown::ByDefault),
];

/// When a section is part of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shown {
    /// Without arguments, with `default`, `all` and `everything`.
    ByDefault,
    /// Only with `all`, `everything` or its own name.
    OnDemand,
}

impl Engine {
    /// INFO \[section ...\]. Unknown sections are left out, as in Redis.
    pub(super) fn info<H: Host>(&mut self, turn: &mut Turn<'_, H>, wanted: Args<'_>) -> Reply<'static> {
        let named = |name: &str| wanted.iter().any(|word| word.eq_ignore_ascii_case(name.as_bytes()));
        let all = named("all") || named("everything");
        let default = wanted.is_empty() || named("default");
        let mut text = String::new();
        let mut facts = turn.host.facts();
        // The host does not see the caller while its command runs.
        let watched = turn.caller.extras.as_ref().map_or(0, |extras| extras.watched.len());
        facts.watching_clients += usize::from(watched > 0);
        for (name, shown) in SECTIONS {
            if all || named(name) || default && *shown == Shown::ByDefault {
                if !text.is_empty() {
                    text.push_str("\r\n");
                }
                self.section(turn, &facts, name, &mut text);
            }
        }
        Reply::Verbatim(text)
    }

    fn section<H: Host>(&self, turn: &Turn<'_, H>, facts: &Facts, name: &str, text: &mut String) {
        match name {
            "server" => server(facts, turn.now.unix_us, self.settings.hz, text),
            "clients" => self.clients(facts, text),
            "memory" => self.memory(facts, text),
            "persistence" => self.persistence(text),
            "threads" => threads(facts, text),
            "stats" => self.statistics(facts, text),
            "pubsub" => self.deliveries(facts, text),
            "replication" => replication(facts, text),
            "cpu" => cpu(facts, text),
            "modules" => heading(text, "Modules"),
            "commandstats" => command_stats(turn.host, text),
            "errorstats" => error_stats(turn.host, text),
            "latencystats" => self.latency_stats(turn.host, text),
            "cluster" => {
                heading(text, "Cluster");
                field(text, "cluster_enabled", 0);
            }
            _ => self.keyspace(turn.now.unix_ms(), text),
        }
    }

    fn clients(&self, facts: &Facts, text: &mut String) {
        heading(text, "Clients");
        field(text, "connected_clients", facts.connected);
        field(text, "cluster_connections", 0);
        field(text, "maxclients", facts.max_clients);
        field(text, "client_recent_max_input_buffer", facts.inbox_bytes_max);
        field(text, "client_recent_max_output_buffer", facts.outbox_bytes_max);
        field(text, "blocked_clients", facts.paused);
        field(text, "tracking_clients", 0);
        field(text, "pubsub_clients", facts.pubsub_clients);
        field(text, "watching_clients", facts.watching_clients);
        zeros(text, &["clients_in_timeout_table"]);
        field(text, "total_watched_keys", self.watches.len());
        zeros(text, &["total_blocking_keys", "total_blocking_keys_on_nokey"]);
    }

    fn persistence(&self, text: &mut String) {
        heading(text, "Persistence");
        zeros(text, &["loading", "async_loading", "current_cow_peak", "current_cow_size", "current_cow_size_age"]);
        field(text, "current_fork_perc", "0.00");
        zeros(text, &["current_save_keys_processed", "current_save_keys_total"]);
        field(text, "rdb_changes_since_last_save", self.stats.changes);
        zeros(text, &["rdb_bgsave_in_progress"]);
        field(text, "rdb_last_bgsave_time_sec", -1);
        field(text, "rdb_current_bgsave_time_sec", -1);
        zeros(text, &["rdb_saves", "rdb_last_cow_size", "rdb_last_load_keys_expired", "rdb_last_load_keys_loaded"]);
        zeros(text, &["aof_enabled", "aof_rewrite_in_progress", "aof_rewrite_scheduled"]);
        field(text, "aof_last_rewrite_time_sec", -1);
        field(text, "aof_current_rewrite_time_sec", -1);
        zeros(text, &["aof_rewrites", "aof_rewrites_consecutive_failures", "aof_last_cow_size"]);
        zeros(text, &["module_fork_in_progress", "module_fork_last_cow_size"]);
    }

    fn memory(&self, facts: &Facts, text: &mut String) {
        let shares = self.shares(facts);
        heading(text, "Memory");
        sized(text, "used_memory", facts.allocated_bytes);
        sized(text, "used_memory_rss", facts.rss_bytes);
        sized(text, "used_memory_peak", facts.peak_bytes);
        field(text, "used_memory_peak_time", facts.peak_at_s);
        let peak_percent = 100.0 * ratio(facts.allocated_bytes, facts.peak_bytes);
        field(text, "used_memory_peak_perc", format_args!("{peak_percent:.2}%"));
        field(text, "used_memory_overhead", shares.overhead);
        field(text, "used_memory_startup", facts.startup_bytes);
        field(text, "used_memory_dataset", shares.dataset);
        field(text, "used_memory_dataset_perc", format_args!("{:.2}%", shares.dataset_percent));
        field(text, "allocator_allocated", facts.allocated_bytes);
        field(text, "allocator_active", facts.allocator_active_bytes);
        field(text, "allocator_resident", facts.allocator_resident_bytes);
        field(text, "allocator_muzzy", facts.allocator_muzzy_bytes);
        sized(text, "total_system_memory", facts.system_bytes);
        zeros(text, &["used_memory_lua", "used_memory_vm_eval"]);
        field(text, "used_memory_lua_human", human(0));
        zeros(text, &["used_memory_scripts_eval", "number_of_cached_scripts", "number_of_functions"]);
        zeros(text, &["number_of_libraries", "used_memory_vm_functions"]);
        sized(text, "used_memory_vm_total", 0);
        zeros(text, &["used_memory_functions"]);
        sized(text, "used_memory_scripts", 0);
        sized(text, "maxmemory", self.settings.eviction.maxmemory);
        field(text, "maxmemory_policy", self.settings.eviction.policy.word());
        let names = ["allocator_frag", "allocator_rss", "rss_overhead", "mem_fragmentation"];
        for (name, (_, over, under)) in names.into_iter().zip(fragmentation(facts)) {
            field(text, &format!("{name}_ratio"), format_args!("{:.2}", ratio(over, under)));
            field(text, &format!("{name}_bytes"), over as i64 - under as i64);
        }
        zeros(text, &["mem_not_counted_for_evict", "mem_replication_backlog", "mem_total_replication_buffers"]);
        zeros(text, &["mem_replica_full_sync_buffer", "mem_clients_slaves"]);
        field(text, "mem_clients_normal", facts.sessions_bytes);
        zeros(text, &["mem_cluster_links", "mem_aof_buffer"]);
        field(text, "mem_allocator", facts.allocator);
        zeros(text, &["mem_overhead_db_hashtable_rehashing", "active_defrag_running"]);
        zeros(text, &["lazyfree_pending_objects", "lazyfreed_objects"]);
    }

    fn latency_stats<H: Host>(&self, host: &H, text: &mut String) {
        heading(text, "Latencystats");
        if !self.settings.latency_tracking {
            return;
        }
        let named: Vec<(&str, f64)> = self
            .settings
            .latency_percentages
            .split_ascii_whitespace()
            .filter_map(|word| Some((word, word.parse().ok()?)))
            .collect();
        let percentages: Vec<f64> = named.iter().map(|(_, percentage)| *percentage).collect();
        for (spec, durations) in host.duration_percentiles(&percentages) {
            let told = named.iter().zip(&durations);
            let told: Vec<String> =
                told.map(|((name, _), ns)| format!("p{name}={}.{:03}", ns / 1000, ns % 1000)).collect();
            field(text, &format!("latency_percentiles_usec_{}", spec.name), told.join(","));
        }
    }

    fn statistics(&self, facts: &Facts, text: &mut String) {
        heading(text, "Stats");
        field(text, "total_connections_received", facts.connections);
        field(text, "total_commands_processed", facts.commands);
        field(text, "instantaneous_ops_per_sec", facts.ops_per_sec);
        field(text, "total_net_input_bytes", facts.net_in);
        field(text, "total_net_output_bytes", facts.net_out);
        zeros(text, &["total_net_repl_input_bytes", "total_net_repl_output_bytes"]);
        field(text, "instantaneous_input_kbps", format_args!("{:.2}", facts.in_kbps));
        field(text, "instantaneous_output_kbps", format_args!("{:.2}", facts.out_kbps));
        field(text, "instantaneous_input_repl_kbps", "0.00");
        field(text, "instantaneous_output_repl_kbps", "0.00");
        field(text, "rejected_connections", facts.rejected_connections);
        zeros(text, &["sync_full", "sync_partial_ok", "sync_partial_err", "expired_subkeys"]);
        field(text, "expired_keys", self.stats.expired_keys);
        field(text, "expired_time_cap_reached_count", self.stats.expire_capped);
        field(text, "expire_cycle_cpu_milliseconds", self.stats.expire_us / 1000);
        field(text, "evicted_keys", self.stats.evicted_keys);
        zeros(text, &["evicted_clients", "evicted_scripts"]);
        zeros(text, &["total_eviction_exceeded_time", "current_eviction_exceeded_time"]);
        field(text, "keyspace_hits", self.stats.hits);
        field(text, "keyspace_misses", self.stats.misses);
        field(text, "pubsub_channels", self.channels.len());
        field(text, "pubsub_patterns", self.patterns.len());
        field(text, "pubsubshard_channels", self.shards.len());
        zeros(text, &["latest_fork_usec", "total_forks", "migrate_cached_sockets", "slave_expires_tracked_keys"]);
        zeros(text, &["active_defrag_hits", "active_defrag_misses", "active_defrag_key_hits"]);
        zeros(text, &["active_defrag_key_misses", "total_active_defrag_time", "current_active_defrag_time"]);
        zeros(text, &["tracking_total_keys", "tracking_total_items", "tracking_total_prefixes"]);
        zeros(text, &["unexpected_error_replies"]);
        field(text, "total_error_replies", facts.errors);
        zeros(text, &["dump_payload_sanitizations"]);
        field(text, "total_reads_processed", facts.reads);
        field(text, "total_writes_processed", facts.writes);
        zeros(text, &["io_threaded_reads_processed", "io_threaded_writes_processed"]);
        zeros(text, &["io_threaded_total_prefetch_batches", "io_threaded_total_prefetch_entries"]);
        field(text, "client_query_buffer_limit_disconnections", facts.inbox_limit_cuts);
        field(text, "goblin_corrupt_rings", facts.corrupt_rings);
        field(text, "goblin_rings_on_demand", facts.demanded_rings);
        field(text, "goblin_rings_on_demand_bytes", facts.demanded_bytes);
        field(text, "client_output_buffer_limit_disconnections", facts.outbox_limit_cuts);
        field(text, "eventloop_cycles", facts.rounds);
        field(text, "instantaneous_eventloop_cycles_per_sec", facts.rounds_per_sec);
        field(text, "acl_access_denied_auth", self.stats.auth_denied);
        zeros(text, &["acl_access_denied_cmd", "acl_access_denied_key", "acl_access_denied_channel"]);
    }

    /// A section of our own: what became of messages.
    fn deliveries(&self, facts: &Facts, text: &mut String) {
        heading(text, "Pubsub");
        field(text, "pubsub_messages_published", self.stats.published);
        field(text, "pubsub_deliveries_queued", self.stats.delivered);
        field(text, "pubsub_dropped_subscribers", facts.outbox_limit_cuts);
        field(text, "pubsub_dropped_messages", facts.dropped_messages);
        field(text, "pubsub_dropped_bytes", facts.dropped_bytes);
    }

    fn keyspace(&self, now_ms: i64, text: &mut String) {
        heading(text, "Keyspace");
        for (db, keyspace) in self.databases.iter().enumerate().filter(|(_, keyspace)| keyspace.len() > 0) {
            let (keys, expires) = (keyspace.len(), keyspace.volatile_len());
            let average_ttl = keyspace.average_ttl_ms(now_ms);
            let _ = write!(text, "db{db}:keys={keys},expires={expires},avg_ttl={average_ttl},subexpiry=0\r\n");
        }
    }
}

fn server(facts: &Facts, unix_us: u64, hz: u16, text: &mut String) {
    heading(text, "Server");
    field(text, "redis_version", REDIS_VERSION);
    field(text, "goblin_version", env!("CARGO_PKG_VERSION"));
    field(text, "redis_mode", "standalone");
    field(text, "os", &facts.os);
    field(text, "arch_bits", usize::BITS);
    field(text, "monotonic_clock", "POSIX clock_gettime");
    field(text, "multiplexing_api", if cfg!(target_os = "linux") { "epoll" } else { "kqueue" });
    field(text, "process_id", facts.pid);
    field(text, "process_supervised", "no");
    field(text, "run_id", &facts.run_id);
    field(text, "tcp_port", facts.tcp_port);
    field(text, "server_time_usec", unix_us);
    field(text, "uptime_in_seconds", facts.uptime_s);
    field(text, "uptime_in_days", facts.uptime_s / 86_400);
    field(text, "hz", hz);
    field(text, "configured_hz", hz);
    field(text, "executable", &facts.executable);
    field(text, "config_file", &facts.config_file);
    field(text, "io_threads_active", 0);
    for (at, listener) in facts.listeners.iter().enumerate() {
        let _ = write!(text, "listener{at}:name={listener}\r\n");
    }
}

/// One thread does everything.
fn threads(facts: &Facts, text: &mut String) {
    heading(text, "Threads");
    let Facts { connected, reads, writes, .. } = facts;
    field(text, "io_thread_0", format_args!("clients={connected},reads={reads},writes={writes}"));
}

fn replication(facts: &Facts, text: &mut String) {
    heading(text, "Replication");
    field(text, "role", "master");
    field(text, "connected_slaves", 0);
    field(text, "master_failover_state", "no-failover");
    field(text, "master_replid", &facts.run_id);
    field(text, "master_replid2", "0".repeat(40));
    field(text, "master_repl_offset", 0);
    field(text, "second_repl_offset", -1);
    zeros(text, &["repl_backlog_active", "repl_backlog_first_byte_offset", "repl_backlog_histlen"]);
}

fn cpu(facts: &Facts, text: &mut String) {
    heading(text, "CPU");
    let seconds = |us: u64| format!("{}.{:06}", us / 1_000_000, us % 1_000_000);
    field(text, "used_cpu_sys", seconds(facts.cpu_sys_us));
    field(text, "used_cpu_user", seconds(facts.cpu_user_us));
    field(text, "used_cpu_sys_children", seconds(facts.cpu_children_sys_us));
    field(text, "used_cpu_user_children", seconds(facts.cpu_children_user_us));
    field(text, "used_cpu_sys_main_thread", seconds(facts.cpu_thread_sys_us));
    field(text, "used_cpu_user_main_thread", seconds(facts.cpu_thread_user_us));
}

fn command_stats(host: &impl Host, text: &mut String) {
    heading(text, "Commandstats");
    for (spec, stats) in host.command_stats() {
        let us = if stats.calls == 0 { 0 } else { stats.ns / 1000 };
        let each = if stats.calls == 0 { 0.0 } else { stats.ns as f64 / 1000.0 / stats.calls as f64 };
        let _ = write!(
            text,
            "cmdstat_{}:calls={},usec={us},usec_per_call={each:.2},rejected_calls={},failed_calls={}\r\n",
            spec.name, stats.calls, stats.rejected, stats.failed
        );
    }
}

fn error_stats(host: &impl Host, text: &mut String) {
    heading(text, "Errorstats");
    for (code, count) in host.error_stats() {
        let _ = write!(text, "errorstat_{code}:count={count}\r\n");
    }
}

fn heading(text: &mut String, name: &str) {
    let _ = write!(text, "# {name}\r\n");
}

fn field(text: &mut String, name: &str, value: impl std::fmt::Display) {
    let _ = write!(text, "{name}:{value}\r\n");
}

/// Fields that are 0 because goblin does not have what they count.
fn zeros(text: &mut String, names: &[&str]) {
    names.iter().for_each(|name| field(text, name, 0));
}

/// A size in bytes, and once more for people.
fn sized(text: &mut String, name: &str, bytes: u64) {
    field(text, name, bytes);
    field(text, &format!("{name}_human"), human(bytes));
}

/// Redis's short form: two decimals and a binary unit.
fn human(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["K", "M", "G", "T", "P"];
    if bytes < 1024 {
        return format!("{bytes}B");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.2}{}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::human;

    #[test]
    fn sizes_for_people_have_two_decimals_and_a_binary_unit() {
        assert_eq!(human(0), "0B");
        assert_eq!(human(1023), "1023B");
        assert_eq!(human(1536), "1.50K");
        assert_eq!(human(25_276_063_744), "23.54G");
    }
}
