//! Everything a user can observe, tested from outside: one binary, a module per feature.
//!
//! `cargo test --test it NAME` runs the tests whose names contain NAME. A test that needs something absent here (a
//! client library, a reference server) reports itself as ignored; `GOBLIN_PEERS=required` makes that a failure.

// A raw client of RESP or SBE.
mod wire;
// Frames of SBE, made and read by hand.
mod sbe_wire;
// The server fixture and the ways to reach it.
mod road;
// Sessions over rings.
mod ring;
// Bytes in records of rings.
mod ring_records;
// Clients of rings that stop or die, and files that are cut short.
mod dying_rings;
// Servers and clients killed under load.
mod kills;
// Random words in rings, and frames that are not what they were.
mod scribble;
// Rings as pipes of bytes.
mod ring_pipe;
// The engine in this process.
mod inside;
// Transcripts and how replies are compared.
mod talk;
// The list of tests and what they need.
mod suite;

// The client subcommands: streams, and how they end.
mod app;
// `goblin bench` against servers whose behaviour is known.
mod bench;
// Public bug reports, replayed.
mod cases;
// `goblin cli` without a terminal: forms of replies, scripts, bulk loading, measuring.
mod cli;
// Strings as bits.
mod bits;
// The Rust client.
mod client_redis;
// Other people's clients, each version as its own test.
mod clients;
// Handshakes, client administration, settings, facts.
mod connection;
// What is built on such clients, and clients few programs use.
mod consumers;
// What the server counts, and what a connection reads about itself.
mod counters;
// The same random requests to goblin and to a real Redis.
mod demand;
mod differential;
// The examples of the specs.
mod examples;
// MONITOR, SLOWLOG, LATENCY, MEMORY, INFO, CONFIG REWRITE.
mod introspection;
// Commands about keys of any type.
mod keys;
// Commands worked off between the turns of others.
mod long;
// The memory limit.
mod memory;
// `goblin pub`.
mod publish;
// The client core: connections that come back, and servers that are odd.
mod reconnect;
// `goblin sub`.
mod tail;
// RENAME, COPY, MOVE, and the use of keys.
mod moves;
mod numbers;
// CLIENT PAUSE.
mod pause;
mod policy;
// Requests as bytes, hostile ones included.
mod protocol;
// `goblin cli` at a terminal, looked at as a screen.
mod terminal;
// House rules.
mod tidy;
// The ways the server waits.
mod waiting;
// Start, refusals to start, signals.
mod process;
// Publish and subscribe.
mod pubsub;
// The binary protocol.
mod sbe;
// The client that `goblin sbe-client` prints.
mod sbe_client;
// SADD to SSCAN.
mod sets;
// Completions and manual pages.
mod shells;
// Every exit status of every subcommand.
mod statuses;
// Replies told piece by piece.
mod streams;
// The flags of another server.
mod launcher;
// SET, GET, counters, parts of strings.
mod strings;
// MULTI, EXEC, WATCH.
mod transactions;

use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(path) = std::env::var_os(cases::INTRUDER) {
        return cases::intrude(path.as_ref());
    }
    if let Some(path) = std::env::var_os(cases::LISTENER) {
        return cases::listen(path.as_ref());
    }
    if let Ok(step) = std::env::var(dying_rings::STEP) {
        return dying_rings::stand(&step);
    }
    if let Ok(place) = std::env::var(kills::LOAD) {
        return kills::load(&place);
    }
    let arguments = libtest_mimic::Arguments::from_args();
    suite::catch_panic_messages();
    let mut suite = suite::Suite::default();
    app::tests(&mut suite);
    bench::tests(&mut suite);
    bits::tests(&mut suite);
    cases::tests(&mut suite);
    cli::tests(&mut suite);
    client_redis::tests(&mut suite);
    clients::tests(&mut suite);
    connection::tests(&mut suite);
    consumers::tests(&mut suite);
    counters::tests(&mut suite);
    demand::tests(&mut suite);
    differential::tests(&mut suite);
    examples::tests(&mut suite);
    introspection::tests(&mut suite);
    keys::tests(&mut suite);
    launcher::tests(&mut suite);
    long::tests(&mut suite);
    memory::tests(&mut suite);
    moves::tests(&mut suite);
    numbers::tests(&mut suite);
    pause::tests(&mut suite);
    protocol::tests(&mut suite);
    policy::tests(&mut suite);
    process::tests(&mut suite);
    publish::tests(&mut suite);
    pubsub::tests(&mut suite);
    reconnect::tests(&mut suite);
    ring::tests(&mut suite);
    ring_records::tests(&mut suite);
    dying_rings::tests(&mut suite);
    kills::tests(&mut suite);
    scribble::tests(&mut suite);
    sbe::tests(&mut suite);
    sbe_client::tests(&mut suite);
    sets::tests(&mut suite);
    shells::tests(&mut suite);
    statuses::tests(&mut suite);
    streams::tests(&mut suite);
    strings::tests(&mut suite);
    tail::tests(&mut suite);
    terminal::tests(&mut suite);
    tidy::tests(&mut suite);
    transactions::tests(&mut suite);
    waiting::tests(&mut suite);
    libtest_mimic::run(&arguments, suite.into_trials()).exit_code()
}
