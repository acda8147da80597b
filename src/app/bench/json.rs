//! A report as JSON: everything, each round included. Times are microseconds.

use serde_json::{Map, Value, json};

use super::facts;
use crate::bench::report::{Cell, Comparison, Outcome, Report, Row, Summary};

/// All of it.
pub(super) fn text(report: &Report) -> String {
    let engines: Vec<Value> = report
        .engines
        .iter()
        .map(|engine| json!({"name": engine.name, "transport": engine.transport, "version": engine.version}))
        .collect();
    let rows: Vec<Value> = report.rows.iter().map(|row| row_value(row, report)).collect();
    let value = json!({
        "goblin": env!("CARGO_PKG_VERSION"),
        "workload": report.workload,
        "loop": report.pace.describe(),
        "command": super::command_line(),
        "about": facts(report),
        "seed": report.seed,
        "machine": {
            "cpu": report.machine.cpu,
            "processors": report.machine.processors,
            "kernel": report.machine.kernel,
            "server_cpu": report.server_cpu,
            "client_cpu": report.client_cpu,
        },
        "seconds": report.seconds,
        "engines": engines,
        "baseline": report.engines[report.baseline].name,
        "warnings": report.warnings,
        "interrupted": report.stopped,
        "broken": report.broken,
        "failed": report.has_failed(),
        "rows": rows,
    });
    format!("{value:#}\n")
}

fn row_value(row: &Row, report: &Report) -> Value {
    let cells: Vec<Value> = row
        .cells
        .iter()
        .enumerate()
        .map(|(number, cell)| {
            let mut value = cell_value(cell);
            value["engine"] = json!(report.engines[number].name);
            value["compared"] = match row.compare(number, report.baseline) {
                None => Value::Null,
                Some(Comparison::NoDifference) => json!("no difference"),
                Some(Comparison::Ratio(ratio)) => json!(ratio),
            };
            value
        })
        .collect();
    json!({
        "scenario": row.scenario,
        "detail": row.detail,
        "clients": row.clients,
        "literal_subscriptions": row.literal_subscriptions,
        "pattern_subscriptions": row.pattern_subscriptions,
        "payload_bytes": row.payload_bytes,
        "deliveries_per_publish": row.deliveries_per_publish,
        "cells": cells,
    })
}

fn cell_value(cell: &Cell) -> Value {
    let (outcome, reason) = match &cell.outcome {
        Outcome::Measured => ("measured", None),
        Outcome::NotAvailable(why) => ("n/a", Some(why)),
        Outcome::Failed(why) => ("failed", Some(why)),
    };
    let rounds: Vec<Value> = cell
        .rounds
        .iter()
        .map(|round| {
            json!({
                "samples": round.samples,
                "seconds": round.seconds,
                "operations_per_second": round.operations_per_second,
                "ack_us": times(round.ack),
                "delivery_us": times(round.delivery),
                "service_us": times(round.service),
                "cache_line_ns": round.ping_pong_ns,
            })
        })
        .collect();
    let extra: Map<String, Value> = cell
        .extra
        .iter()
        .map(|(name, _)| {
            let values: Vec<f64> =
                cell.extra.iter().filter(|(known, _)| known == name).map(|(_, value)| *value).collect();
            ((*name).to_owned(), json!(values))
        })
        .collect();
    let errors: Map<String, Value> = cell.errors.iter().map(|(text, count)| (text.clone(), json!(count))).collect();
    json!({
        "outcome": outcome,
        "reason": reason,
        "samples": cell.samples(),
        "out_of_range": cell.ack.out_of_range() + cell.delivery.out_of_range(),
        "operations_per_second": cell.operations_per_second(),
        "ack_us": times(cell.ack_summary()),
        "delivery_us": times(cell.delivery_summary()),
        "service_us": times(cell.service_summary()),
        "memory_mib": cell.memory.map(|memory| {
            json!({"empty": memory.baseline_mib, "filled": memory.filled_mib, "delta": memory.delta_mib()})
        }),
        "extra": extra,
        "errors": errors,
        "rounds": rounds,
    })
}

fn times(summary: Option<Summary>) -> Value {
    let Some(of) = summary else { return Value::Null };
    let us = |nanoseconds: f64| nanoseconds / 1000.0;
    json!({
        "min": us(of.min), "p50": us(of.p50), "p90": us(of.p90), "p95": us(of.p95), "p99": us(of.p99),
        "p99.9": us(of.p999), "p99.99": us(of.p9999), "max": us(of.max), "mean": us(of.mean),
    })
}
