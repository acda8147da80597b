//! What it was measured on, and how noisy that was.

use std::fs;

/// Facts of the machine that decide figures.
#[derive(Debug, Clone)]
pub struct Machine {
    /// The processor's name.
    pub cpu: String,
    /// Processors this process may use.
    pub processors: usize,
    /// The kernel and its release.
    pub kernel: String,
}

impl Machine {
    /// This one.
    pub(super) fn here(processors: usize) -> Machine {
        let line = |path: &str| fs::read_to_string(path).map(|text| text.trim().to_owned()).unwrap_or_default();
        let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let name = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
        let kernel = format!("{} {}", line("/proc/sys/kernel/ostype"), line("/proc/sys/kernel/osrelease"));
        Machine { cpu: name.map_or("unknown", |(_, name)| name).to_owned(), processors, kernel }
    }
}

/// Processor time of the whole machine, in clock ticks.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Ticks {
    all: u64,
    /// Taken by the host for others.
    stolen: u64,
}

impl Ticks {
    /// Since the machine started.
    pub(super) fn now() -> Ticks {
        let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
        let numbers = stat.lines().next().unwrap_or_default().split_whitespace().skip(1);
        // user nice system idle iowait irq softirq steal; what guests took is part of user and nice.
        let numbers: Vec<u64> = numbers.take(8).filter_map(|number| number.parse().ok()).collect();
        Ticks { all: numbers.iter().sum(), stolen: numbers.get(7).copied().unwrap_or(0) }
    }

    /// The share that was stolen since `before`, 0 to 1.
    pub(super) fn stolen_since(self, before: Ticks) -> f64 {
        let all = self.all.saturating_sub(before.all);
        if all == 0 { 0.0 } else { self.stolen.saturating_sub(before.stolen) as f64 / all as f64 }
    }
}

/// Tasks that were ready to run, averaged over the last minute.
pub(super) fn load() -> Option<f64> {
    fs::read_to_string("/proc/loadavg").ok()?.split_whitespace().next()?.parse().ok()
}
