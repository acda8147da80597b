//! A report as tables for people.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

use super::facts;
use crate::bench::report::{Cell, Comparison, Outcome, Primary, Report, Row};

/// All of it behind its first line, which says which loop it was and is known before the rest.
pub(super) fn tables(report: &Report) -> String {
    let mut text = String::new();
    for line in facts(report).into_iter().skip(1) {
        text += &line;
        text.push('\n');
    }
    text.push('\n');
    text += &timings(report);
    if report.rows.iter().any(|row| row.cells.iter().any(|cell| cell.memory.is_some())) {
        text += "\nServer memory, MiB\n";
        text += &memory(report);
    }
    if !report.warnings.is_empty() {
        text.push('\n');
    }
    report.warnings.iter().for_each(|warning| text += &format!("warning: {warning}\n"));
    text
}

fn table(header: &[&str], texts: usize) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::UTF8_HORIZONTAL_ONLY).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(header.to_vec());
    for column in table.column_iter_mut().skip(texts) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

fn lines(table: &Table) -> String {
    table.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

fn timings(report: &Report) -> String {
    let by_ring = report.rows.iter().any(|row| row.cells.iter().any(|cell| cell.ping_pong_ns().is_some()));
    let several = report.engines.len() > 1;
    let delivers = report.rows.iter().any(|row| row.deliveries_per_publish > 0);
    let fixed = report.rows.iter().any(|row| row.cells.iter().any(|cell| cell.service_summary().is_some()));
    let mut header = vec!["row", "size", "engine"];
    let base = format!("x {}", report.engines[report.baseline].name);
    if delivers {
        header.extend(["delivery us p50", "p99", "p99.9"]);
    }
    header.extend(["answer us p50", "p90", "p95", "p99", "p99.9", "p99.99", "max"]);
    if fixed {
        header.extend(["service p50", "p90", "p99"]);
    }
    header.extend(["per second", "rounds' range"]);
    if several {
        header.push(&base);
    }
    if by_ring {
        header.push("line ns");
    }
    let mut table = table(&header, 3);
    for row in &report.rows {
        for (number, (cell, engine)) in row.cells.iter().zip(&report.engines).enumerate() {
            let mut line = vec![row.scenario.clone(), row.detail.clone(), engine.name.clone()];
            match &cell.outcome {
                Outcome::Measured => {}
                Outcome::NotAvailable(why) => {
                    line.push(format!("n/a: {why}"));
                    table.add_row(line);
                    continue;
                }
                Outcome::Failed(why) => {
                    line.push(format!("failed: {why}"));
                    table.add_row(line);
                    continue;
                }
            }
            if delivers {
                let delivery = cell.delivery_summary();
                line.extend([delivery.map(|of| of.p50), delivery.map(|of| of.p99), delivery.map(|of| of.p999)].map(us));
            }
            let ack = cell.ack_summary();
            let all = [
                ack.map(|of| of.p50),
                ack.map(|of| of.p90),
                ack.map(|of| of.p95),
                ack.map(|of| of.p99),
                ack.map(|of| of.p999),
                ack.map(|of| of.p9999),
                ack.map(|of| of.max),
            ];
            line.extend(all.map(us));
            if fixed {
                let service = cell.service_summary();
                line.extend([service.map(|of| of.p50), service.map(|of| of.p90), service.map(|of| of.p99)].map(us));
            }
            line.push(cell.operations_per_second().map_or(String::new(), whole));
            line.push(range(row, number));
            if several {
                line.push(compared(row, number, report.baseline));
            }
            if by_ring {
                line.push(
                    cell.ping_pong_ns().map_or(String::new(), |(least, most)| format!("{least:.0} to {most:.0}")),
                );
            }
            table.add_row(line);
        }
    }
    lines(&table)
}

/// The deciding figure's least and most.
fn range(row: &Row, engine: usize) -> String {
    let Some((least, most)) = row.range(engine) else { return String::new() };
    match row.primary {
        Primary::Delivery | Primary::Ack => format!("{} to {} us", us(Some(least)), us(Some(most))),
        Primary::Rate => format!("{} to {}/s", whole(least), whole(most)),
        Primary::Extra(name) => {
            let unit = match name {
                "longest_us" => "us",
                _ => "B",
            };
            format!("{least:.2} to {most:.2} {unit}")
        }
    }
}

/// How it compares, in words.
pub(super) fn compared(row: &Row, engine: usize, baseline: usize) -> String {
    if engine == baseline {
        return "1".to_owned();
    }
    match row.compare(engine, baseline) {
        None => String::new(),
        Some(Comparison::NoDifference) => "no difference".to_owned(),
        Some(Comparison::Ratio(ratio)) => format!("{ratio:.2}"),
    }
}

fn memory(report: &Report) -> String {
    let mut table = table(&["row", "size", "engine", "empty", "filled", "delta"], 3);
    for row in &report.rows {
        for (cell, engine) in row.cells.iter().zip(&report.engines) {
            if let Cell { memory: Some(memory), .. } = cell {
                let figures = [memory.baseline_mib, memory.filled_mib, memory.delta_mib()];
                let mut line = vec![row.scenario.clone(), row.detail.clone(), engine.name.clone()];
                line.extend(figures.map(|mib| format!("{mib:.2}")));
                table.add_row(line);
            }
        }
    }
    lines(&table)
}

/// Nanoseconds as microseconds, with more digits where there are fewer.
pub(super) fn us(nanoseconds: Option<f64>) -> String {
    let Some(nanoseconds) = nanoseconds else { return String::new() };
    let us = nanoseconds / 1000.0;
    match us {
        0.0..10.0 => format!("{us:.3}"),
        10.0..1000.0 => format!("{us:.1}"),
        _ => whole(us),
    }
}

/// A whole number, thousands apart.
pub(super) fn whole(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_the_digits_they_deserve() {
        assert_eq!(us(Some(456.0)), "0.456");
        assert_eq!(us(Some(45_600.0)), "45.6");
        assert_eq!(us(Some(1_234_567.0)), "1,235");
        assert_eq!(us(None), "");
        assert_eq!(whole(1_234_567.4), "1,234,567");
        assert_eq!(whole(12.0), "12");
    }
}
