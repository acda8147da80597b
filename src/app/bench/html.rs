//! A report as one page: charts, tables and how it was made, without a script and without a network.

use super::charts::{self, COLOURS, Curve, Group};
use super::table::{compared, us, whole};
use super::{facts, table};
use crate::bench::report::{Outcome, Primary, Report, Row};

const STYLE: &str = "body{font:14px/1.45 sans-serif;max-width:1000px;margin:2em auto;padding:0 1em;color:#222}\
h1{font-size:1.5em}h2{font-size:1.15em;margin:2em 0 .5em}svg{max-width:100%;height:auto}\
.key span{display:inline-block;margin-right:1.5em}.key i{display:inline-block;width:1em;height:1em;margin-right:.4em;\
vertical-align:-.15em}.curves{display:flex;flex-wrap:wrap;gap:8px}pre{overflow-x:auto;font-size:11px}\
.warning{background:#fff3cd;padding:.4em .8em;margin:.3em 0}ul{padding-left:1.2em}";

/// The page.
pub(super) fn page(report: &Report) -> String {
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>goblin bench {workload}</title>\
         <link rel=\"icon\" href=\"data:,\"><style>{STYLE}</style></head><body>\n<h1>goblin bench {workload}</h1>\n",
        workload = report.workload,
    );
    page += "<ul>";
    for line in facts(report) {
        page += &format!("<li>{}</li>", escaped(&line));
    }
    page += "</ul>\n";
    for warning in report.warnings.iter().chain(&report.broken) {
        page += &format!("<p class=\"warning\">{}</p>\n", escaped(warning));
    }
    page += &key(report);
    let latency = groups(report, |primary| matches!(primary, Primary::Delivery | Primary::Ack));
    let rates = groups(report, |primary| primary == Primary::Rate);
    let sizes = groups(report, |primary| matches!(primary, Primary::Extra(_)));
    for (title, unit, groups) in [
        ("Latency, median of rounds: less is better", "microseconds", latency),
        ("Rate, median of rounds: more is better", "operations per second", rates),
        ("Further figures: less is better", "bytes or microseconds", sizes),
        ("Server memory added by the row", "MiB", memory(report)),
    ] {
        let picture = charts::bars(&groups, unit);
        if !picture.is_empty() {
            page += &format!("<h2>{title}</h2>\n{picture}\n");
        }
    }
    page += "<h2>Latency by percentile, all rounds</h2>\n<div class=\"curves\">\n";
    report.rows.iter().for_each(|row| page += &percentiles(row));
    page += "</div>\n<h2>All figures</h2>\n";
    page += &format!("<pre>{}</pre>\n</body></html>\n", escaped(&table::tables(report)));
    page
}

/// Which colour is which engine.
fn key(report: &Report) -> String {
    let one = |(number, engine): (usize, &crate::bench::report::EngineFacts)| {
        let colour = COLOURS[number % COLOURS.len()];
        let base = if number == report.baseline && report.engines.len() > 1 { " (baseline)" } else { "" };
        format!(
            "<span><i style=\"background:rgb({},{},{})\"></i>{}{base}</span>",
            colour.0,
            colour.1,
            colour.2,
            escaped(&engine.name)
        )
    };
    format!("<p class=\"key\">{}</p>\n", report.engines.iter().enumerate().map(one).collect::<String>())
}

fn title(row: &Row) -> String {
    format!("{} {}", row.scenario, row.detail)
}

/// Bars of the rows that such a figure decides.
fn groups(report: &Report, wanted: impl Fn(Primary) -> bool) -> Vec<Group> {
    let rows = report.rows.iter().filter(|row| wanted(row.primary));
    let group = |row: &Row| {
        let bars = (0..row.cells.len()).map(|engine| {
            let value = crate::bench::report::median(row.values(engine))?;
            let (value, mut label) = match row.primary {
                Primary::Delivery | Primary::Ack => (value / 1000.0, format!("{} us", us(Some(value)))),
                Primary::Rate => (value, format!("{}/s", whole(value))),
                Primary::Extra(_) => (value, format!("{value:.1}")),
            };
            if engine != report.baseline {
                let compared = compared(row, engine, report.baseline);
                label += &match compared.as_str() {
                    "" => String::new(),
                    "no difference" => " (no difference)".to_owned(),
                    ratio => format!(" ({ratio}x)"),
                };
            }
            Some((value, label))
        });
        Group { name: title(row), bars: bars.collect() }
    };
    rows.map(group).filter(|group| group.bars.iter().any(Option::is_some)).collect()
}

fn memory(report: &Report) -> Vec<Group> {
    let group = |row: &Row| {
        let bars = row.cells.iter().map(|cell| {
            let delta = cell.memory.filter(|_| cell.outcome == Outcome::Measured)?.delta_mib();
            (delta > 0.0).then(|| (delta, format!("{delta:.2} MiB")))
        });
        Group { name: title(row), bars: bars.collect() }
    };
    report.rows.iter().map(group).filter(|group| group.bars.iter().any(Option::is_some)).collect()
}

fn percentiles(row: &Row) -> String {
    let curve = |(engine, cell): (usize, &crate::bench::report::Cell)| {
        let times = if row.primary == Primary::Delivery { &cell.delivery } else { &cell.ack };
        let points = times.curve().into_iter().filter(|(percentile, _)| *percentile < 100.0);
        let points: Vec<(f64, f64)> = points.map(|(percentile, ns)| (percentile, ns / 1000.0)).collect();
        (points.len() > 1).then_some(Curve { engine, points })
    };
    let curves: Vec<Curve> = row.cells.iter().enumerate().filter_map(curve).collect();
    charts::curves(&title(row), &curves)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
