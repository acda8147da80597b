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
    server::run(config, allocator(), || {
        #[cfg(target_os = "linux")]
        super::resident::let_go_of_the_start();
    })?;
    Ok(Exit::Done)
}

fn allocator() -> Allocator {
    Allocator { name: "jemalloc", used, figures, report, purge }
}

fn report() -> String {
    use tikv_jemalloc_ctl::stats_print::{Options, stats_print};
    let mut text = Vec::new();
    // Memory is all it writes to.
    let _ = stats_print(&mut text, Options::default());
    String::from_utf8_lossy(&text).into_owned()
}

/// An arena that is told its decay time anew lets go of what has nothing in it, at once.
fn purge() {
    use tikv_jemalloc_ctl::{Access, AsName};
    let arenas: u32 = b"arenas.narenas\0".name().read().unwrap_or(0);
    for arena in 0..arenas {
        for kind in ["dirty", "muzzy"] {
            let setting = format!("arena.{arena}.{kind}_decay_ms\0");
            let name = setting.as_bytes().name();
            let decay: Result<isize, _> = name.read();
            let _ = decay.and_then(|ms| name.write(0isize).and_then(|()| name.write(ms)));
        }
    }
}

fn muzzy_bytes() -> u64 {
    use tikv_jemalloc_ctl::{Access, AsName};
    // All arenas merged, and the size of a page.
    let pages: Result<usize, _> = b"stats.arenas.4096.pmuzzy\0".name().read();
    let page: Result<usize, _> = b"arenas.page\0".name().read();
    pages.unwrap_or(0) as u64 * page.unwrap_or(0) as u64
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
    AllocatorFigures {
        active: read(stats::active::read()),
        resident: read(stats::resident::read()),
        muzzy: muzzy_bytes(),
    }
}
