//! Turns the specs beside this file into the command table and the typed commands.
//!
//! The generated files are committed. A build only compares them with what the specs say, so that it also works in a
//! read-only tree, and fails when they are stale; `UPDATE=1 cargo build` rewrites them.

#[path = "build/messages.rs"]
mod messages;
#[path = "build/spec.rs"]
mod spec;
#[path = "build/table.rs"]
mod table;
#[path = "build/types.rs"]
mod types;
#[path = "build/validate.rs"]
mod validate;
#[path = "../src/command/words.rs"]
mod words;

use std::path::Path;
use std::{env, fs, process};

fn main() {
    println!("cargo:rerun-if-changed=commands");
    println!("cargo:rerun-if-changed=src/command/words.rs");
    println!("cargo:rerun-if-env-changed=UPDATE");
    if let Err(complaints) = run() {
        for complaint in complaints {
            eprintln!("{complaint}");
        }
        process::exit(1);
    }
}

fn run() -> Result<(), Vec<String>> {
    let specs = spec::read_all(Path::new("commands")).and_then(validate::check)?;
    let generated = [
        ("src/command/table.rs", table::generate(&specs)),
        ("src/command/types.rs", types::generate(&specs)?),
        ("src/protocol/sbe/messages.rs", messages::generate(&specs, Path::new("commands/sbe/messages.toml"))?),
    ];
    let update = env::var_os("UPDATE").is_some_and(|value| value == "1");
    let mut stale = Vec::new();
    for (path, text) in generated {
        println!("cargo:rerun-if-changed={path}");
        if fs::read_to_string(path).is_ok_and(|present| present == text) {
            continue;
        }
        if !update {
            stale.push(format!("{path} does not follow from commands/*.toml any more; run: UPDATE=1 cargo build"));
        } else if let Err(error) = fs::write(path, text) {
            stale.push(format!("cannot write {path}: {error}"));
        }
    }
    if stale.is_empty() { Ok(()) } else { Err(stale) }
}
