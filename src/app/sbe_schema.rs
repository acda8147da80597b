//! `goblin sbe-schema`: the layout of the binary protocol, for those who write or generate a codec.

use std::io::Write;

use super::Exit;

/// Print the schema of the binary protocol (SBE)
#[derive(clap::Args, Debug)]
pub(super) struct SbeSchemaArgs {}
