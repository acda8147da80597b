//! Which statuses each subcommand ends with, and why: for its help and its manual page.
//!
//! Invariant: a status that is not listed for a subcommand is none it ends with by itself.

use clap::Command;

use crate::error::Exit;

/// A status and what it stands for.
pub(super) type Status = (Exit, &'static str);

const READER_LEFT: &str = "done; also when whoever reads standard output has left";
const USAGE: Status = (Exit::Usage, "wrong usage");
const UNREACHED: Status = (Exit::Unreachable, "could not connect or log in, or the system refused something");
const UNWRITTEN: Status = (Exit::Unreachable, "standard output could not be written");
const LOST: Status = (Exit::Lost, "the connection was lost");
const INTERRUPTED: Status = (Exit::Interrupted, "interrupted");

/// Of all subcommands together.
const ALL: [Status; 7] = [
    (Exit::Done, READER_LEFT),
    (Exit::Refused, "the server answered an error (to any line of a script), or a check failed"),
    (Exit::Usage, "wrong usage or configuration"),
    (Exit::Unreachable, "could not connect, bind, lock or log in, or the system refused something"),
    LOST,
    (Exit::TimedOut, "timed out with nothing, or too little, received"),
    INTERRUPTED,
];

const SERVE: [Status; 3] = [
    (Exit::Done, "stopped in order: by SHUTDOWN, SIGTERM or Ctrl-C"),
    (Exit::Usage, "wrong usage or configuration"),
    (Exit::Unreachable, "could not listen, lock or map, or the system refused something"),
];

const CLI: [Status; 7] = [
    (Exit::Done, READER_LEFT),
    (Exit::Refused, "the server answered an error (to any line of a script), or a question was not answered with yes"),
    (Exit::Usage, "wrong usage, also in a line of a script"),
    UNREACHED,
    LOST,
    (Exit::TimedOut, "nothing was answered within --pipe-timeout"),
    INTERRUPTED,
];

const SUB: [Status; 7] = [
    (Exit::Done, READER_LEFT),
    (Exit::Refused, "the server refused a subscription"),
    USAGE,
    UNREACHED,
    LOST,
    (Exit::TimedOut, "timed out with nothing, or less than --count, received"),
    INTERRUPTED,
];

const PUB: [Status; 6] =
    [(Exit::Done, READER_LEFT), (Exit::Refused, "the server refused a message"), USAGE, UNREACHED, LOST, INTERRUPTED];

const BENCH: [Status; 5] = [
    (Exit::Done, READER_LEFT),
    (Exit::Refused, "a server answered an error or something unexpected, or was lost: that row has no figures"),
    USAGE,
    (Exit::Unreachable, "an engine could not be started or reached, or the system refused something"),
    INTERRUPTED,
];

const PRINTS: [Status; 3] = [(Exit::Done, READER_LEFT), USAGE, UNWRITTEN];

const MAN: [Status; 3] =
    [(Exit::Done, READER_LEFT), USAGE, (Exit::Unreachable, "standard output, or a page, could not be written")];

/// Those of a subcommand, or of the program as a whole.
pub(super) fn of(name: &str) -> &'static [Status] {
    match name {
        "serve" => &SERVE,
        "cli" => &CLI,
        "sub" => &SUB,
        "pub" => &PUB,
        "bench" => &BENCH,
        "help" | "completions" | "sbe-schema" | "sbe-client" => &PRINTS,
        "man" => &MAN,
        _ => &ALL,
    }
}

/// The same program, the help of whose subcommands ends with their statuses.
pub(super) fn explained(mut program: Command) -> Command {
    let names: Vec<String> = program.get_subcommands().map(|known| known.get_name().to_owned()).collect();
    for name in names {
        program = program.mut_subcommand(&name, |subcommand| {
            let before = subcommand.get_after_help().map_or(String::new(), |text| format!("{text}\n\n"));
            let lines: String = of(&name).iter().map(|(exit, why)| format!("\n  {:<4} {why}", *exit as u8)).collect();
            subcommand.after_help(format!("{before}Status:{lines}"))
        });
    }
    program
}
