//! The committed completions, loaded by the shells they are for, and the manual pages, read by `man`'s formatter.

use std::path::PathBuf;
use std::process::Command;

use crate::clients::on_path;
use crate::process::{Outcome, finish};
use crate::suite::{Suite, tests};

/// Registers this module's tests.
pub fn tests(suite: &mut Suite) {
    tests!(suite, plain, on_path("bash"); bash_completes_subcommands);
    tests!(suite, plain, on_path("zsh"); zsh_completes_subcommands);
    tests!(suite, plain, on_path("fish"); fish_completes_subcommands_and_flags);
    tests!(suite, plain, on_path("groff"); manual_pages_are_sound);
}

fn committed(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn run(program: &str, arguments: &[&str]) -> Outcome {
    let mut command = Command::new(program);
    command.args(arguments);
    finish(command, b"")
}

fn bash_completes_subcommands() {
    let script = format!(
        "source {}; COMP_WORDS=(goblin comp); COMP_CWORD=1; _goblin goblin comp goblin; echo \"${{COMPREPLY[@]}}\"",
        committed("completions/goblin.bash").display()
    );
    let outcome = run("bash", &["--noprofile", "--norc", "-c", &script]);
    assert_eq!((outcome.status, &*outcome.stdout, &*outcome.stderr), (Some(0), "completions", ""));
}

/// A shell inside the shell, on a terminal of its own, is asked with the tab key.
fn zsh_completes_subcommands() {
    let script = format!(
        "zmodload zsh/zpty
        zpty shell zsh -f -i
        zpty -w shell \"fpath=({} \\$fpath); autoload -Uz compinit; compinit -u -D; print load''ed\"
        zpty -r -m shell said '*loaded*'
        zpty -w -n shell $'goblin comple\\t\\x15print en''ded\\n'
        zpty -r -m shell said '*completions*ended*' && print found
        zpty -d shell",
        committed("completions").display()
    );
    let outcome = run("timeout", &["60", "zsh", "-f", "-c", &script]);
    assert_eq!((outcome.status, &*outcome.stdout, &*outcome.stderr), (Some(0), "found", ""));
}

fn fish_completes_subcommands_and_flags() {
    let script = |line: &str| {
        let file = committed("completions/goblin.fish");
        format!("complete -e goblin; source {}; complete -C '{line}'", file.display())
    };
    for (line, wanted) in [("goblin comp", "completions\t"), ("goblin serve --maxcl", "--maxclients\t")] {
        let outcome = run("fish", &["--no-config", "-c", &script(line)]);
        assert_eq!((outcome.status, &*outcome.stderr), (Some(0), ""), "{line}");
        assert!(outcome.stdout.starts_with(wanted), "{line}: {}", outcome.stdout);
    }
}

fn manual_pages_are_sound() {
    for entry in std::fs::read_dir(committed("man")).expect("the manual's folder") {
        let path = entry.expect("an entry").path();
        let page = path.display().to_string();
        let outcome = run("groff", &["-man", "-Tutf8", "-P-cbou", "-ww", &page]);
        assert_eq!((outcome.status, &*outcome.stderr), (Some(0), ""), "{page}");
        assert!(outcome.stdout.contains("NAME"), "{page}");
    }
}
