//! Measurements of what `goblin bench` does not measure: `cargo bench -- NAME [options]`.
//!
//! ```text
//! cargo bench -- lines [--engine PATH]...         a million lines through `goblin pub -` and `redis-cli --pipe`
//! cargo bench -- ring                            a record through a ring, and a round trip between two threads
//! cargo bench -- stall [--engine PATH]...         PING beside the slowest commands of another client
//! ```
//!
//! Engines run pinned to CPU 0, the client to CPU 1. Rounds alternate between engines; medians over rounds are what
//! counts, and ratios rather than values.

mod engine;
mod lines;
mod ring;
mod stall;

fn main() {
    // Cargo adds `--bench`; it says nothing.
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    match words.first().map(String::as_str) {
        Some("lines") => lines::run(&words[1..]),
        Some("ring") => ring::run(),
        Some("stall") => stall::run(&words[1..]),
        Some(other) => {
            eprintln!("no measurement is called {other:?}; there are: lines, ring, stall")
        }
        None => eprintln!("name a measurement: lines, ring or stall"),
    }
}
