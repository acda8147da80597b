//! LATENCY GRAPH and LATENCY DOCTOR: spikes as text for people.
//!
//! Deliberately unknown here: where spikes come from, and the clock.

use std::fmt::Write;

use super::latency::{Spike, Spikes};
use super::settings::EngineSettings;

/// Width of a terminal.
const COLUMNS: usize = 80;
/// Lines of a graph.
const ROWS: usize = 4;
/// What the end of a bar looks like at each third of a line.
const ENDS: [char; 3] = ['_', 'o', '#'];

/// A bar for each spike, its age below it, read downwards.
pub(super) fn graph(event: &str, spikes: &Spikes, now_s: u64) -> String {
    let all: Vec<Spike> = spikes.kept.iter().copied().collect();
    let low = all.iter().map(|spike| spike.ms).min().unwrap_or(0);
    let high = all.iter().map(|spike| spike.ms).max().unwrap_or(0);
    let mut text = format!("{event} - high {high} ms, low {low} ms (all time high {} ms)\n", spikes.worst_ms);
    text += &"-".repeat(COLUMNS);
    text.push('\n');
    let steps = ROWS * ENDS.len();
    let height = |spike: &Spike| {
        let step = (steps as u64 * (spike.ms - low)).checked_div(high - low).unwrap_or(0);
        (step as usize).min(steps - 1)
    };
    for (number, part) in all.chunks(COLUMNS).enumerate() {
        if number > 0 {
            text.push('\n');
        }
        for row in (0..ROWS).rev() {
            text.extend(part.iter().map(|spike| bar(height(spike), row)));
            text.push('\n');
        }
        text += &" ".repeat(part.len());
        text.push('\n');
        let ages: Vec<String> = part.iter().map(|spike| age(now_s.saturating_sub(spike.unix_s))).collect();
        for at in 0..ages.iter().map(String::len).max().unwrap_or(0) {
            text.extend(ages.iter().map(|age| age.chars().nth(at).unwrap_or(' ')));
            text.push('\n');
        }
    }
    text
}

/// What a bar of this height shows in a row, rows counted from the bottom.
fn bar(height: usize, row: usize) -> char {
    match height.checked_sub(row * ENDS.len()) {
        None => ' ',
        Some(rest) => ENDS.get(rest).copied().unwrap_or('|'),
    }
}

/// In the largest unit that is reached.
fn age(s: u64) -> String {
    match s {
        0..60 => format!("{s}s"),
        60..3600 => format!("{}m", s / 60),
        3600..86_400 => format!("{}h", s / 3600),
        _ => format!("{}d", s / 86_400),
    }
}

/// Each event in numbers, then what to look at.
pub(super) fn advice<'e>(
    events: impl Iterator<Item = (&'static str, &'e Spikes)>,
    settings: &EngineSettings,
    now_s: u64,
) -> String {
    let mut text = String::new();
    let mut commands = false;
    let mut expiry = false;
    for (event, spikes) in events.filter(|(_, spikes)| !spikes.kept.is_empty()) {
        let count = spikes.kept.len() as u64;
        let mean = spikes.kept.iter().map(|spike| spike.ms).sum::<u64>() / count;
        let deviation = spikes.kept.iter().map(|spike| spike.ms.abs_diff(mean)).sum::<u64>() / count;
        let since = now_s.saturating_sub(spikes.kept[0].unix_s).max(1);
        let _ = writeln!(
            text,
            "{event}: {count} spikes kept, {mean} ms on average (mean deviation {deviation} ms), one every {:.2} s, \
             worst ever {} ms.",
            since as f64 / count as f64,
            spikes.worst_ms,
        );
        commands |= event.ends_with("command");
        expiry |= event == "expire-cycle";
    }
    if text.is_empty() {
        return match settings.spike_ms_min {
            0 => "Latency monitoring is off. CONFIG SET latency-monitor-threshold MILLISECONDS turns it on.\n".into(),
            least => format!("No spike so far: nothing took {least} ms or more.\n"),
        };
    }
    text.push('\n');
    if commands {
        let threshold_us = settings.spike_ms_min.saturating_mul(1000);
        let blind = u64::try_from(settings.slow_us_min).is_ok_and(|least| least <= threshold_us);
        text += "- SLOWLOG GET tells which commands took long.\n";
        if !blind && threshold_us > 0 {
            let _ = writeln!(
                text,
                "- The slow log misses some of these spikes: CONFIG SET slowlog-log-slower-than {threshold_us} would \
                 keep them."
            );
        }
        text += "- Large sets are slow to delete, to overwrite and to combine; several smaller ones are not.\n";
    }
    if expiry {
        text += "- Many keys, or large ones, expire at the same time: spread their times to live.\n";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spikes(all: &[(u64, u64)]) -> Spikes {
        let kept = all.iter().map(|&(unix_s, ms)| Spike { unix_s, ms }).collect();
        Spikes { kept, worst_ms: all.iter().map(|(_, ms)| *ms).max().unwrap_or(0) }
    }

    #[test]
    fn bars_are_drawn_as_redis_draws_them() {
        let drawn = graph("command", &spikes(&[(0, 20), (1, 300), (3, 10), (4, 20), (5, 100)]), 5);
        let expected = [
            "command - high 300 ms, low 10 ms (all time high 300 ms)",
            &"-".repeat(80),
            " #   ",
            " |   ",
            " |  _",
            "_|__|",
            "     ",
            "54210",
            "sssss",
        ];
        assert_eq!(drawn.lines().collect::<Vec<_>>(), expected);
        assert!(drawn.ends_with('\n'));
    }

    #[test]
    fn one_spike_has_no_height() {
        let drawn = graph("x", &spikes(&[(0, 5)]), 60);
        assert_eq!(drawn.lines().skip(2).collect::<Vec<_>>(), [" ", " ", " ", "_", " ", "1", "m"]);
    }

    #[test]
    fn more_spikes_than_columns_take_a_second_graph() {
        let many: Vec<(u64, u64)> = (0..81).map(|at| (at, at)).collect();
        let drawn = graph("x", &spikes(&many), 100);
        let lines: Vec<&str> = drawn.lines().collect();
        assert_eq!(lines[2].len(), 80);
        let second = lines.iter().position(|line| line.is_empty()).expect("an empty line between two graphs");
        assert_eq!(lines[second + 1..], ["#", "|", "|", "|", " ", "2", "0", "s"]);
    }

    #[test]
    fn advice_tells_when_there_is_nothing_to_tell() {
        let off = EngineSettings::default();
        assert!(advice(std::iter::empty(), &off, 0).contains("is off"));
        let on = EngineSettings { spike_ms_min: 100, ..off };
        assert!(advice(std::iter::empty(), &on, 0).contains("100 ms"));
        let command = spikes(&[(0, 200), (10, 400)]);
        let text = advice([("command", &command)].into_iter(), &on, 10);
        assert!(text.contains("command: 2 spikes kept, 300 ms on average (mean deviation 100 ms), one every 5.00 s"));
        assert!(!text.contains("slowlog-log-slower-than"), "the slow log sees all of these");
        let text = advice([("command", &command)].into_iter(), &EngineSettings { slow_us_min: -1, ..on }, 10);
        assert!(text.contains("slowlog-log-slower-than 100000"), "{text}");
    }
}
