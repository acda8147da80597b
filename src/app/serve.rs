//! `goblin serve`.

use crate::error::{Error, Exit};
use crate::server::config::{Config, Place};
use crate::server::{self, Allocator, AllocatorFigures};

use super::serve_args::ServeArgs;

/// Runs the server until it is told to stop.
///
/// # Errors
/// A mistake on the command line or in the file (2), or something the system refuses (3).
pub(super) fn run(args: ServeArgs) -> Result<Exit, Error> {
    let request = args.into_request(std::env::var_os("GOBLIN_REQUIREPASS"), Place::of_process());
    let config = Config::build(request).map_err(|problems| {
        let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
        Error::usage(lines.join("\ngoblin: "))
    })?;
    server::run(config, allocator())?;
    Ok(Exit::Done)
}

fn allocator() -> Allocator {
    Allocator { name: "jemalloc", used, figures }
}

/// The allocator counts for each thread what it took and gave back. The engine thread takes nearly all there is.
fn used() -> u64 {
    use std::cell::OnceCell;
    use tikv_jemalloc_ctl::thread::{ThreadLocal, allocatedp, deallocatedp};

    thread_local! {
        static COUNTERS: OnceCell<Option<[ThreadLocal<u64>; 2]>> = const { OnceCell::new() };
    }
    COUNTERS.with(|counters| {
        let counters = counters.get_or_init(|| Some([allocatedp::read().ok()?, deallocatedp::read().ok()?]));
        counters.as_ref().map_or(0, |[taken, given]| taken.get().saturating_sub(given.get()))
    })
}

fn figures() -> AllocatorFigures {
    use tikv_jemalloc_ctl::{epoch, stats};
    // The figures are snapshots that this renews; a failure leaves the last ones.
    let _ = epoch::advance();
    let read = |figure: Result<usize, _>| figure.map_or(0, |bytes| bytes as u64);
    AllocatorFigures { active: read(stats::active::read()), resident: read(stats::resident::read()) }
}
