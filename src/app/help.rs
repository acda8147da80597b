//! `goblin help`: what a subcommand, a server command or a setting is.
//!
//! Invariant: subcommands come before server commands of the same name.
//! Deliberately unknown here: servers; everything is answered from what this program was built with.

use crate::command::{self, Group, SPECS, hint};
use crate::error::{Error, Exit};
use crate::server::settings::{Effect, SettingHelp, Settings};

use super::Stop;
use super::show::{Output, Table};

/// Names offered in place of an unknown one.
const CANDIDATES_MAX: usize = 5;

/// Explain a subcommand, a server command (SADD), a group of them (@set) or a setting
#[derive(clap::Args, Debug)]
pub(super) struct HelpArgs {
    /// What to explain: pub, sadd, client kill, @set, config maxclients; without it, this program
    #[arg(value_name = "NAME")]
    words: Vec<String>,
}

/// Prints the help for the words.
///
/// # Errors
/// Nothing has that name (2).
pub(super) fn run(args: HelpArgs, program: clap::Command) -> Result<Exit, Error> {
    let words: Vec<&str> = args.words.iter().map(String::as_str).collect();
    let text = explain(&words, program)?;
    let mut output = Output::standard();
    Stop::settle(output.text(text).and_then(|()| output.flush()).map(|()| Exit::Done))
}

/// What a prompt can do, for those who ask it.
const AT_PROMPT: &str = "\
help COMMAND     what a command takes, with examples: help sadd, help client kill
help @GROUP      the commands of a group
peek KEY         what a key holds, by its type
COUNT COMMAND    a command several times
clear, exit

Tab completes, Ctrl-R searches what was typed before, Ctrl-D ends, and Ctrl-C
leaves a line, a wait, messages or MONITOR.
";

/// The help of a server command, of a group (`@set`) or, without words, of the prompt itself.
///
/// # Errors
/// Nothing has that name (2).
pub(super) fn at_prompt(words: &[&str]) -> Result<String, Error> {
    if let [name] = words
        && let Some(group) = name.strip_prefix('@')
    {
        return describe_group(group);
    }
    let Some((first, rest)) = words.split_first() else {
        return Ok(format!("{AT_PROMPT}\nGroups: {}\n", groups().join(" ")));
    };
    let spec = command::lookup(first.as_bytes(), rest.first().map(|word| word.as_bytes()));
    match spec {
        Some(spec) if spec.words() == words.len() => Ok(hint::help(spec)),
        _ => Err(unknown(words, SPECS.iter().map(|spec| spec.title.to_ascii_lowercase()))),
    }
}

fn describe_group(name: &str) -> Result<String, Error> {
    let members = SPECS.iter().filter(|spec| spec.group.word().eq_ignore_ascii_case(name) && spec.container.is_none());
    let mut table = Table::new();
    members.for_each(|spec| table.row(spec.title, spec.summary));
    let lines = table.lines(0);
    if lines.is_empty() { Err(unknown(&[&format!("@{name}")], groups().into_iter())) } else { Ok(lines) }
}

/// The groups that have commands, each with its `@`.
fn groups() -> Vec<String> {
    let groups: std::collections::BTreeSet<Group> = SPECS.iter().map(|spec| spec.group).collect();
    groups.into_iter().map(|group| format!("@{}", group.word())).collect()
}

fn explain(words: &[&str], mut program: clap::Command) -> Result<String, Error> {
    // Usage lines name the program only once it is built.
    program.build();
    match words {
        [] => return Ok(program.render_long_help().to_string()),
        [word] => {
            if let Some(group) = word.strip_prefix('@') {
                return describe_group(group);
            }
            if let Some(subcommand) = program.find_subcommand_mut(word) {
                return Ok(subcommand.render_long_help().to_string());
            }
        }
        _ => {}
    }
    let spec = command::lookup(words[0].as_bytes(), words.get(1).map(|word| word.as_bytes()));
    match (words, spec) {
        (_, Some(spec)) if spec.words() == words.len() => {
            let settings = if words[0].eq_ignore_ascii_case("config") && words.len() == 1 {
                all_settings()
            } else {
                String::new()
            };
            Ok(hint::help(spec) + &settings)
        }
        ([config, name], None) if config.eq_ignore_ascii_case("config") => match Settings::describe(name) {
            Some(setting) => Ok(describe(&setting)),
            None => Err(unknown(words, Settings::describe_all().map(|setting| format!("config {}", setting.name)))),
        },
        _ => {
            let subcommands: Vec<String> = program.get_subcommands().map(|known| known.get_name().to_owned()).collect();
            let commands = SPECS.iter().map(|spec| spec.title.to_ascii_lowercase());
            Err(unknown(words, subcommands.into_iter().chain(commands)))
        }
    }
}

fn unknown(words: &[&str], known: impl Iterator<Item = String>) -> Error {
    let name = words.join(" ");
    let candidates = nearest(&name.to_ascii_lowercase(), known);
    let mut text = format!("nothing is called '{name}'");
    if !candidates.is_empty() {
        text += &format!("; there is {}", candidates.join(", "));
    }
    Error::usage(text)
}

/// The known names that begin like `name` or are written much like it, the nearest first.
fn nearest(name: &str, known: impl Iterator<Item = String>) -> Vec<String> {
    let distance_max = name.len() / 4 + 1;
    let mut found: Vec<(usize, String)> = known
        .filter_map(|candidate| {
            let begins = name.len() > 1 && (candidate.starts_with(name) || name.starts_with(&format!("{candidate} ")));
            let distance = strsim::osa_distance(name, &candidate);
            (begins || distance <= distance_max).then_some((distance, candidate))
        })
        .collect();
    found.sort();
    found.dedup();
    found.into_iter().map(|(_, candidate)| candidate).take(CANDIDATES_MAX).collect()
}

fn describe(setting: &SettingHelp) -> String {
    let SettingHelp { name, alias, form, default, live, effect } = setting;
    let mut text = format!("{name} {form}\n\n  {}\n\n", sentence(effect));
    let mut fact = |name: &str, value: &str| text += &format!("  {name:<11} {value}\n");
    fact("default", if default.is_empty() { "\"\"" } else { default });
    if let Some(alias) = alias {
        fact("also", alias);
    }
    fact("changed by", if *live { "CONFIG SET, the file, goblin serve" } else { "the file, goblin serve" });
    text
}

fn sentence(effect: &Effect) -> String {
    match effect {
        Effect::Acts(sentence) => (*sentence).to_owned(),
        Effect::NoEffect(part) => format!("No effect: it tunes {part}."),
        Effect::OffOnly(sentence) => format!("Off only: {sentence}"),
    }
}

/// A line a setting, for the help of CONFIG.
fn all_settings() -> String {
    let mut table = Table::new();
    for setting in Settings::describe_all() {
        let mark = match setting.effect {
            Effect::Acts(_) => "",
            Effect::NoEffect(_) => "no effect",
            Effect::OffOnly(_) => "off only",
        };
        table.row(setting.name, mark);
    }
    format!("\n  settings, each explained by goblin help config NAME:\n{}", table.lines(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn help(line: &str) -> String {
        let words: Vec<&str> = line.split_whitespace().collect();
        explain(&words, super::super::program()).unwrap_or_else(|error| panic!("{line}: {error}"))
    }

    fn refusal(line: &str) -> String {
        let words: Vec<&str> = line.split_whitespace().collect();
        let error = explain(&words, super::super::program()).expect_err(line);
        assert_eq!(error.exit(), Exit::Usage);
        error.to_string()
    }

    #[test]
    fn subcommands_come_before_server_commands() {
        for (name, usage) in [
            ("serve", "Usage: goblin serve"),
            ("cli", "Usage: goblin cli"),
            ("sub", "Usage: goblin sub"),
            ("pub", "Usage: goblin pub"),
            ("help", "Usage: goblin help"),
        ] {
            assert!(help(name).contains(usage), "{}", help(name));
        }
        assert!(help("").contains("Usage: goblin"));
    }

    #[test]
    fn server_commands_are_explained_in_any_case() {
        assert!(help("SADD").starts_with("SADD key member [member ...]\n"));
        assert!(help("client kill").starts_with("CLIENT KILL "));
        assert!(help("config get").starts_with("CONFIG GET "));
    }

    #[test]
    fn settings_are_explained_with_what_they_do() {
        let text = help("config maxclients");
        assert!(text.starts_with("maxclients ") && text.contains("  default     10000\n"), "{text}");
        assert!(
            help("config hash-max-listpack-entries").contains("No effect: "),
            "{}",
            help("config hash-max-listpack-entries")
        );
        assert!(help("config appendonly").contains("Off only: "), "{}", help("config appendonly"));
        let all = help("config");
        assert!(all.starts_with("CONFIG "), "{all}");
        assert!(all.lines().any(|line| line.trim() == "maxclients"), "{all}");
        assert!(
            all.lines().any(|line| line.starts_with("  hash-max-listpack-entries ") && line.ends_with("no effect"))
        );
    }

    #[test]
    fn a_prompt_explains_commands_and_groups() {
        assert!(at_prompt(&["sadd"]).unwrap().starts_with("SADD key member"));
        assert!(at_prompt(&["client", "kill"]).unwrap().starts_with("CLIENT KILL "));
        assert!(at_prompt(&[]).unwrap().contains("@pubsub"));
        let set = at_prompt(&["@SET"]).unwrap();
        assert!(set.lines().any(|line| line.starts_with("SINTERCARD ")), "{set}");
        assert_eq!(at_prompt(&["sad"]).unwrap_err().to_string(), "nothing is called 'sad'; there is sadd");
        assert_eq!(help("@SET"), set);
        assert!(at_prompt(&["@sets"]).unwrap_err().to_string().contains("@set"));
        assert!(refusal("@sets").contains("@set"));
        assert!(at_prompt(&["serve"]).is_err());
    }

    #[test]
    fn unknown_names_get_candidates() {
        assert_eq!(refusal("sad"), "nothing is called 'sad'; there is sadd");
        assert_eq!(refusal("xyzzyxyzzy"), "nothing is called 'xyzzyxyzzy'");
        assert!(refusal("client kil").contains("client kill"), "{}", refusal("client kil"));
        assert!(refusal("sadd extra").contains("; there is sadd"), "{}", refusal("sadd extra"));
        assert!(refusal("config maxclient").contains("config maxclients"), "{}", refusal("config maxclient"));
    }
}
