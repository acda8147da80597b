//! `goblin man`: the manual pages, one for the program and one for each subcommand, goblin-commands(7), and those that
//! are written by hand.

use std::iter;
use std::path::PathBuf;

use clap_mangen::Man;

use crate::command;
use crate::error::{Error, Exit};

use super::show::Output;
use super::{Stop, statuses};

/// The page of the server's commands, which the command table makes.
const COMMANDS_PAGE: &str = "goblin-commands.7";

/// Pages written by hand: the committed file is the page.
const WRITTEN_PAGES: [(&str, &str); 2] = [
    ("goblin-ring.7", include_str!("../../man/goblin-ring.7")),
    ("goblin-sbe.7", include_str!("../../man/goblin-sbe.7")),
];

/// Print a manual page, or write all of them
#[derive(clap::Args, Debug)]
pub(super) struct ManArgs {
    /// The page: goblin, the name of a subcommand, commands, ring or sbe
    #[arg(value_name = "PAGE", default_value = "goblin")]
    page: String,

    /// Write every page into this folder instead
    #[arg(long, value_name = "FOLDER", conflicts_with = "page")]
    all: Option<PathBuf>,
}

/// Prints a page, or writes all.
///
/// # Errors
/// There is no such page (2), or a page cannot be written (3).
pub(super) fn run(args: &ManArgs, program: clap::Command) -> Result<Exit, Error> {
    let pages = pages(program);
    if let Some(folder) = &args.all {
        for (name, page) in &pages {
            let path = folder.join(name);
            std::fs::write(&path, page)
                .map_err(|cause| Error::system(format_args!("write {}", path.display()), cause))?;
        }
        return Ok(Exit::Done);
    }
    let is_it = |name: &str| {
        let name = name.rsplit_once('.').map_or(name, |(name, _)| name);
        name == args.page || name.strip_prefix("goblin-") == Some(&args.page)
    };
    let Some((_, page)) = pages.iter().find(|(name, _)| is_it(name)) else {
        return Err(Error::usage(format!("there is no page '{}'", args.page)));
    };
    let mut output = Output::standard();
    Stop::settle(output.text(String::from_utf8_lossy(page)).and_then(|()| output.flush()).map(|()| Exit::Done))
}

/// Every page with the name of its file.
fn pages(mut program: clap::Command) -> Vec<(String, Vec<u8>)> {
    program.build();
    let mut names: Vec<String> =
        program.get_subcommands().map(|known| format!("goblin-{}(1)", known.get_name())).collect();
    names.extend(["goblin-ring(7)".to_owned(), "goblin-sbe(7)".to_owned()]);
    let mut pages = vec![("goblin.1".to_owned(), page(program.clone(), &names))];
    for subcommand in program.get_subcommands() {
        let name = format!("goblin-{}", subcommand.get_name());
        let also: Vec<String> = iter::once("goblin(1)").chain(about(&name)).map(str::to_owned).collect();
        pages.push((format!("{name}.1"), page(subcommand.clone().display_name(&name), &also)));
    }
    pages.push((COMMANDS_PAGE.to_owned(), command::manual().into_bytes()));
    pages.extend(WRITTEN_PAGES.map(|(name, page)| (name.to_owned(), page.as_bytes().to_vec())));
    pages
}

/// The pages on what a subcommand speaks, besides commands.
fn about(name: &str) -> impl Iterator<Item = &'static str> {
    let (ring, sbe) = match name {
        "goblin-serve" | "goblin-cli" | "goblin-sub" | "goblin-pub" | "goblin-sbe-client" => (true, true),
        "goblin-sbe-schema" => (false, true),
        _ => (false, false),
    };
    ring.then_some("goblin-ring(7)").into_iter().chain(sbe.then_some("goblin-sbe(7)"))
}

fn page(command: clap::Command, also: &[String]) -> Vec<u8> {
    let extra = command.get_after_help().is_some() || command.get_after_long_help().is_some();
    let name = command.get_display_name().unwrap_or(command.get_name()).to_owned();
    let statuses = statuses::of(command.get_name());
    let man = Man::new(command).title(name).source("goblin").manual("goblin manual");
    let mut page = Vec::new();
    let rendered = man
        .render_title(&mut page)
        .and_then(|()| man.render_name_section(&mut page))
        .and_then(|()| man.render_synopsis_section(&mut page))
        .and_then(|()| man.render_description_section(&mut page))
        .and_then(|()| man.render_options_section(&mut page))
        .and_then(|()| if extra { man.render_extra_section(&mut page) } else { Ok(()) });
    rendered.expect("memory takes every byte");
    page.extend_from_slice(b".SH \"EXIT STATUS\"\n");
    for (exit, why) in statuses {
        page.extend_from_slice(format!(".TP\n{}\n{}\n", *exit as u8, why.replace('-', "\\-")).as_bytes());
    }
    page.extend_from_slice(b".SH \"SEE ALSO\"\n");
    let also: Vec<String> = also.iter().cloned().chain(["goblin-commands(7)".to_owned()]).collect();
    page.extend_from_slice(also.join(",\n").replace('-', "\\-").as_bytes());
    page.push(b'\n');
    page
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::app::committed::assert_committed;

    #[test]
    fn the_committed_pages_are_what_the_command_line_says() {
        for (name, page) in pages(crate::app::Goblin::command()) {
            assert_committed(&format!("man/{name}"), &page);
        }
    }
}
