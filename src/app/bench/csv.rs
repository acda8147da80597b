//! A report as CSV: a line for each row and engine, with the columns of the published reports.
//!
//! Behind them, lines that begin with `#` say how it was made; what has no figure is empty.

use super::facts;
use crate::bench::report::{Outcome, Report, Summary};

/// The columns.
const HEADER: &str = "engine,transport,scenario,detail,clients,literal_subscriptions,pattern_subscriptions,payload_bytes,\
deliveries_per_publish,samples,operations_per_second,ack_min_us,ack_p50_us,ack_p90_us,ack_p99_us,ack_p999_us,\
ack_mean_us,delivery_min_us,delivery_p50_us,delivery_p90_us,delivery_p99_us,delivery_p999_us,delivery_mean_us,\
baseline_rss_mib,subscribed_rss_mib,rss_delta_mib";

/// All of it. How it was made stands at the end: the first line is the header.
pub(super) fn text(report: &Report) -> String {
    let mut text = format!("{HEADER}\n");
    for row in &report.rows {
        for (cell, engine) in row.cells.iter().zip(&report.engines) {
            let mut fields =
                vec![field(&engine.name), engine.transport.to_owned(), field(&row.scenario), field(&row.detail)];
            let counts = [
                row.clients,
                row.literal_subscriptions,
                row.pattern_subscriptions,
                row.payload_bytes,
                row.deliveries_per_publish,
            ];
            fields.extend(counts.map(|count| count.to_string()));
            let measured = cell.outcome == Outcome::Measured;
            fields.push(if measured { cell.samples().to_string() } else { String::new() });
            fields.push(number(cell.operations_per_second().filter(|_| measured)));
            fields.extend(times(cell.ack_summary().filter(|_| measured)));
            fields.extend(times(cell.delivery_summary().filter(|_| measured)));
            let memory = cell.memory.filter(|_| measured);
            fields.push(number(memory.map(|memory| memory.baseline_mib)));
            fields.push(number(memory.map(|memory| memory.filled_mib)));
            fields.push(number(memory.map(|memory| memory.delta_mib())));
            text += &fields.join(",");
            text.push('\n');
        }
    }
    for line in facts(report).iter().chain(&report.warnings) {
        text += &format!("# {line}\n");
    }
    text
}

fn times(summary: Option<Summary>) -> [String; 6] {
    let all = summary.map(|of| [of.min, of.p50, of.p90, of.p99, of.p999, of.mean]);
    match all {
        Some(all) => all.map(|nanoseconds| number(Some(nanoseconds / 1000.0))),
        None => Default::default(),
    }
}

fn number(value: Option<f64>) -> String {
    value.map_or(String::new(), |value| format!("{value:.3}"))
}

/// Quoted when it has to be.
fn field(text: &str) -> String {
    match text.contains([',', '"', '\n']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_has_26_columns_without_a_blank() {
        assert_eq!(HEADER.split(',').count(), 26);
        assert!(!HEADER.contains(char::is_whitespace));
    }

    #[test]
    fn a_field_with_a_comma_is_quoted() {
        assert_eq!(field("a,\"b\""), "\"a,\"\"b\"\"\"");
        assert_eq!(field("a b"), "a b");
    }
}
