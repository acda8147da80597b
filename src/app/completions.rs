//! `goblin completions`: what a shell needs to complete this program's command line.

use clap_complete::Shell;

use crate::error::{Error, Exit};

use super::Stop;
use super::show::Output;

/// Print what a shell needs to complete goblin's command line
#[derive(clap::Args, Debug)]
pub(super) struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

/// Prints the script for the shell.
///
/// # Errors
/// Standard output cannot be written (3).
pub(super) fn run(args: &CompletionsArgs, program: clap::Command) -> Result<Exit, Error> {
    let mut output = Output::standard();
    let script = script(args.shell, program);
    Stop::settle(output.text(String::from_utf8_lossy(&script)).and_then(|()| output.flush()).map(|()| Exit::Done))
}

fn script(shell: Shell, mut program: clap::Command) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut program, "goblin", &mut script);
    script
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;
    use crate::app::committed::assert_committed;

    #[test]
    fn the_committed_scripts_are_what_the_command_line_says() {
        for shell in Shell::value_variants() {
            let name = match shell {
                Shell::Bash => "goblin.bash",
                Shell::Elvish => "goblin.elv",
                Shell::Fish => "goblin.fish",
                Shell::PowerShell => "goblin.ps1",
                _ => "_goblin",
            };
            assert_committed(&format!("completions/{name}"), &script(*shell, crate::app::program()));
        }
    }
}
