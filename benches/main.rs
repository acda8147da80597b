//! Measurements of what `goblin bench` does not measure: `cargo bench -- NAME [options]`.
//!
//! ```text
//! cargo bench -- kills                           PING of others while clients under load leave or are killed
//! cargo bench -- lines [--engine PATH]...         a million lines through `goblin pub -` and `redis-cli --pipe`
//! cargo bench -- ring                            a record through a ring, and a round trip between two threads
//! cargo bench -- stall [--engine PATH]...         PING beside the slowest commands of another client
//! ```
//!
//! Engines run pinned to CPU 0, the client to CPU 1. Rounds alternate between engines; medians over rounds are what
//! counts, and ratios rather than values.

mod engine;
mod kills;
mod lines;
mod ring;
mod stall;

fn main() {
    if let Ok(place) = std::env::var(kills::LOAD) {
        return kills::load(&place);
    }
    // Cargo adds `--bench`; it says nothing.
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    match words.first().map(String::as_str) {
        Some("kills") => kills::run(),
        Some("lines") => lines::run(&words[1..]),
        Some("ring") => ring::run(),
        Some("stall") => stall::run(&words[1..]),
        Some(other) => {
            eprintln!("no measurement is called {other:?}; there are: kills, lines, ring, stall")
        }
        None => eprintln!("name a measurement: kills, lines, ring or stall"),
    }
}
