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
    Allocator { name: "jemalloc", figures }
}

fn figures() -> AllocatorFigures {
    use tikv_jemalloc_ctl::{epoch, stats};
    // The figures are snapshots that this renews; a failure leaves the last ones.
    let _ = epoch::advance();
    let read = |figure: Result<usize, _>| figure.map_or(0, |bytes| bytes as u64);
    AllocatorFigures {
        allocated: read(stats::allocated::read()),
        active: read(stats::active::read()),
        resident: read(stats::resident::read()),
    }
}
