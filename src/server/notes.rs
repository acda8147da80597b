//! What will hurt on this machine, told once at the start.

use std::fs;

/// Connections that may wait to be accepted before a burst is turned away.
const BACKLOG_WANTED: u32 = 511;

/// One line for each setting of the machine that costs latency or memory.
pub(super) fn about_this_machine() -> Vec<String> {
    let mut notes = Vec::new();
    if read("/sys/kernel/mm/transparent_hugepage/enabled").is_some_and(|text| text.contains("[always]")) {
        notes.push(
            "transparent huge pages are always on: memory grows in steps of 2 MiB; `madvise` suits a server better"
                .to_owned(),
        );
    }
    let backlog = read("/proc/sys/net/core/somaxconn").and_then(|text| text.trim().parse::<u32>().ok());
    if let Some(backlog) = backlog.filter(|backlog| *backlog < BACKLOG_WANTED) {
        notes.push(format!("net.core.somaxconn is {backlog}: bursts of connections beyond that wait or fail"));
    }
    if super::wait::is_alone() {
        notes.push(
            "one processor only: clients on it and the server take turns, and `adaptive` waits like `block`".to_owned(),
        );
    }
    notes
}

fn read(path: &str) -> Option<String> {
    fs::read_to_string(path).ok()
}
