//! `goblin sbe-schema`: the layout of the binary protocol, for those who write or generate a codec.

use crate::client::sbe_schema;
use crate::error::{Error, Exit};

use super::Stop;
use super::show::Output;

/// Print the schema of the binary protocol, as XML of SBE 1.0
#[derive(clap::Args, Debug)]
pub(super) struct SbeSchemaArgs {}

/// Prints the schema.
///
/// # Errors
/// Standard output cannot be written (3).
pub(super) fn run() -> Result<Exit, Error> {
    let mut output = Output::standard();
    Stop::settle(output.text(sbe_schema()).and_then(|()| output.flush()).map(|()| Exit::Done))
}
