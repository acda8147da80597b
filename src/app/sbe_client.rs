//! `goblin sbe-client`: a client of the binary protocol in another language, for those who write one.
//!
//! Deliberately unknown here: the protocol. The client is written from goblin-sbe(7) and goblin-ring(7), not from our
//! code, which is how we know that these pages suffice.

use crate::error::{Error, Exit};

use super::Stop;
use super::show::Output;

/// Print a small client of the binary protocol in another language
///
/// It speaks over Unix sockets and over rings, and needs nothing but its language's standard library. Use it as it is,
/// or as an example beside goblin-sbe(7) and goblin-ring(7).
///
///   goblin sbe-client python > goblin_sbe.py
#[derive(clap::Args, Debug)]
#[command(verbatim_doc_comment)]
pub(super) struct SbeClientArgs {
    /// The language
    #[arg(value_name = "LANGUAGE")]
    language: Language,
}

#[derive(clap::ValueEnum, Debug, Clone, Copy)]
enum Language {
    Python,
}

/// Prints the client's source.
///
/// # Errors
/// Standard output cannot be written (3).
pub(super) fn run(args: &SbeClientArgs) -> Result<Exit, Error> {
    let source = match args.language {
        Language::Python => include_str!("sbe_client.py"),
    };
    let mut output = Output::standard();
    Stop::settle(output.text(source).and_then(|()| output.flush()).map(|()| Exit::Done))
}
