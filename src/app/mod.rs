//! The command line; the only module that knows clap.
//!
//! Invariant: nothing but results goes to standard output, and every failure has a line on standard error.

#[cfg(target_os = "linux")]
mod bench;
mod cli;
#[cfg(test)]
mod committed;
mod completions;
mod connect;
mod help;
mod manual;
mod password;
mod publish;
#[cfg(target_os = "linux")]
mod resident;
mod sbe_client;
mod sbe_schema;
mod serve;
mod serve_args;
mod show;
mod statuses;
mod stop;
mod sub;
mod watch;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::error::Exit;
use stop::Stop;

/// An in-memory server for publish/subscribe and sets, and its clients
#[derive(Parser)]
#[command(name = "goblin", version, disable_help_flag = true, disable_help_subcommand = true)]
#[command(after_help = "goblin help NAME explains a subcommand, a server command or, as config NAME, a setting.")]
struct Goblin {
    /// Print help
    #[arg(long, action = clap::ArgAction::Help, global = true)]
    help: Option<bool>,

    #[command(subcommand)]
    subcommand: GoblinSubcommand,
}

#[derive(Subcommand)]
enum GoblinSubcommand {
    Serve(Box<serve_args::ServeArgs>),
    Cli(Box<cli::CliArgs>),
    Sub(sub::SubArgs),
    Pub(publish::PubArgs),
    #[cfg(target_os = "linux")]
    Bench(Box<bench::BenchArgs>),
    Help(help::HelpArgs),
    Completions(completions::CompletionsArgs),
    Man(manual::ManArgs),
    SbeSchema(sbe_schema::SbeSchemaArgs),
    SbeClient(sbe_client::SbeClientArgs),
}

/// The part of the command line that a server needs: what it reads once stays in its memory, and the flags of all
/// other subcommands are more than the rest of its start.
#[derive(Parser)]
#[command(name = "goblin", disable_help_flag = true, disable_help_subcommand = true)]
struct Server {
    #[command(subcommand)]
    subcommand: ServerSubcommand,
}

#[derive(Subcommand)]
enum ServerSubcommand {
    Serve(Box<serve_args::ServeArgs>),
}

/// Runs the program with the command line of the process.
pub fn main() -> ExitCode {
    let is_server = std::env::args_os().nth(1).is_some_and(|word| word == "serve");
    let parsed = match is_server {
        true => parse::<Server>()
            .map(|Server { subcommand: ServerSubcommand::Serve(serve) }| GoblinSubcommand::Serve(serve)),
        false => parse::<Goblin>().map(|goblin| goblin.subcommand),
    };
    let subcommand = match parsed {
        Ok(subcommand) => subcommand,
        Err(error) => return refuse_usage(&error),
    };
    let ended = match subcommand {
        GoblinSubcommand::Serve(serve) => serve::run(*serve),
        GoblinSubcommand::Cli(cli) => cli::run(*cli),
        GoblinSubcommand::Sub(sub) => sub::run(sub),
        GoblinSubcommand::Pub(publish) => publish::run(publish),
        #[cfg(target_os = "linux")]
        GoblinSubcommand::Bench(bench) => bench::run(*bench),
        GoblinSubcommand::Help(help) => help::run(help, program()),
        GoblinSubcommand::Completions(completions) => completions::run(&completions, program()),
        GoblinSubcommand::SbeSchema(_) => sbe_schema::run(),
        GoblinSubcommand::SbeClient(client) => sbe_client::run(&client),
        GoblinSubcommand::Man(man) => manual::run(&man, Goblin::command()),
    };
    match ended {
        Ok(exit) => exit.into(),
        Err(error) => {
            show::notice(&error);
            error.exit().into()
        }
    }
}

/// The command line as clap knows it.
fn program() -> clap::Command {
    statuses::explained(Goblin::command())
}

fn parse<P: CommandFactory + FromArgMatches>() -> Result<P, clap::Error> {
    let mut program = statuses::explained(P::command());
    let matches = program.try_get_matches_from_mut(std::env::args_os())?;
    P::from_arg_matches(&matches).map_err(|error| error.format(&mut program))
}

/// Help and version go to standard output with status 0, mistakes to standard error with status 2.
fn refuse_usage(error: &clap::Error) -> ExitCode {
    // Nothing is left to be done when the terminal is gone.
    let _ = error.print();
    if error.use_stderr() { Exit::Usage.into() } else { Exit::Done.into() }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_command_line_is_sound() {
        super::program().debug_assert();
    }
}
