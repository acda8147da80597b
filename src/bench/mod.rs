//! Load against servers, and what it measured: numbers only, nothing is printed here.
//!
//! A [`plan::Plan`] says what is measured on which [`engine::Spec`]s; [`run`] gives a [`report::Report`].
//!
//! Invariant: an answer that is not, byte for byte, the one expected is never timed: it fails its row.
//! Invariant: every process started here is ended here, by its process id, however the measurement ends.
//! Invariant: rounds alternate between engines, so that a passing disturbance meets all of them.
//! Deliberately unknown here: terminals, files, and how a figure is shown.

mod closed;
mod cpu;
mod dialect;
pub mod engine;
mod failure;
mod lane;
mod listeners;
pub mod machine;
pub mod plan;
mod pubsub;
pub mod report;
mod requests;
mod set;
mod topology;

use std::sync::atomic::AtomicBool;

pub use failure::Failure;

use plan::{Plan, Workload};
use report::Report;

/// What is told while it goes on.
pub trait Observer {
    /// So many rows are to be measured.
    fn rows(&self, count: usize);
    /// This row, and this engine in it, is being measured now.
    fn at(&self, row: &str, engine: &str);
    /// A row is done.
    fn done(&self);
}

/// Where a running measurement looks for what its surroundings want.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    /// Set when it shall end as soon as it can.
    pub stop: &'a AtomicBool,
    /// Is told how far it is.
    pub observer: &'a dyn Observer,
}

/// Measures what the plan says. Takes seconds to minutes and pins the calling thread to the client's processor.
///
/// # Errors
/// An engine that cannot be started or reached. What fails later is part of the report.
pub fn run(plan: &Plan, surroundings: Surroundings<'_>) -> Result<Report, Failure> {
    let _pinned = cpu::Pinned::to(plan.client_cpu);
    let mut report = Report::begin(plan);
    let ended = match plan.workload {
        Workload::Pubsub => pubsub::run(plan, surroundings, &mut report),
        Workload::Set => set::run(plan, surroundings, &mut report),
        Workload::Ping | Workload::Kv | Workload::Mixed => requests::run(plan, surroundings, &mut report),
    };
    match ended {
        Ok(()) => {}
        Err(failure) if report.rows.iter().all(|row| row.cells.iter().all(|cell| cell.rounds.is_empty())) => {
            return Err(failure);
        }
        // What was measured until then is worth having.
        Err(failure) => report.broken = Some(failure.to_string()),
    }
    report.finish(plan, surroundings);
    Ok(report)
}
