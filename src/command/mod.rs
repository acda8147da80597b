//! Which commands exist: names, arguments, keys, flags. No behaviour.
//!
//! The table and the typed commands are generated from `commands/*.toml` by `commands/build.rs`; change a spec, then
//! `UPDATE=1 cargo build`.
//!
//! Invariant: looking a command up and reading its words allocates nothing unless it is refused.
//! Invariant: a request is refused in the order name, number of words, words.

mod args;
pub mod hint;
mod introspection;
mod keys;
mod manual;
mod options;
mod parse;
mod quote;
mod spec;
#[rustfmt::skip]
mod table;
#[rustfmt::skip]
mod types;
mod words;

pub use args::{Args, OwnedArgs, Span, parse_integer};
pub use keys::{InvalidKeys, Key};
pub use manual::manual;
pub use options::*;
pub use parse::{parse_cursor, parse_double};
pub use quote::quote;
pub use spec::*;
pub use table::SPECS;
pub use types::*;

use crate::reply::{CommandError, Unknown};
use table::SLOTS;
use words::name_hash;

/// A request whose command was looked for.
#[derive(Debug, Clone)]
pub struct Request<'a> {
    /// All words, the command's name first.
    pub args: Args<'a>,
    /// The command, or why it cannot be called like this.
    pub spec: Result<&'static Spec, CommandError>,
}

impl<'a> Request<'a> {
    /// Finds the command that `args` begin with and checks how many there are.
    ///
    /// Without any word at all it is an unknown command with an empty name.
    pub fn resolve(args: Args<'a>) -> Self {
        Request { args, spec: resolve(args) }
    }

    /// The command whose counters this request belongs to, also when it has too few or too many words. None when no
    /// command was found. DEBUG is one command here, as it is in COMMAND.
    pub fn counted(&self) -> Option<&'static Spec> {
        let spec = match &self.spec {
            Ok(spec) => *spec,
            Err(CommandError::WrongArity(name)) => by_name(name.as_bytes())?,
            Err(CommandError::ExecRefused(_) | CommandError::BadSubcommand(_)) => find(0, self.args.get(0)?)?,
            Err(_) => return None,
        };
        Some(spec.counted_as())
    }

    /// The request with its words read.
    ///
    /// # Errors
    /// The refusal to answer.
    pub fn parse(&self) -> Result<Command<'a>, CommandError> {
        match &self.spec {
            Ok(spec) => Command::parse(spec, self.args),
            Err(error) => Err(error.clone()),
        }
    }
}

fn resolve(args: Args<'_>) -> Result<&'static Spec, CommandError> {
    let name = args.get(0).unwrap_or_default();
    let Some(command) = find(0, name) else {
        let args = args.from(1).iter().map(<[u8]>::to_vec).collect();
        return Err(CommandError::UnknownCommand(Box::new(Unknown { name: name.to_vec(), args })));
    };
    let spec = match args.get(1) {
        Some(word) if !command.subcommands.is_empty() => match command.subcommand(word) {
            Some(subcommand) => subcommand,
            None if command.lumped_errors => return Err(CommandError::bad_subcommand(command.title, word)),
            None => return Err(CommandError::UnknownSubcommand(command.title, word.into())),
        },
        _ => command,
    };
    if spec.takes(args.len()) { Ok(spec) } else { Err(wrong_arity(spec, args)) }
}

#[cold]
fn wrong_arity(spec: &'static Spec, args: Args<'_>) -> CommandError {
    let lumping = spec.container.map(CommandId::spec).filter(|container| container.lumped_errors);
    match lumping {
        Some(container) => CommandError::bad_subcommand(container.title, args.get(1).unwrap_or_default()),
        // EXEC that cannot even start ends the transaction, and its error says so.
        None if spec.id == CommandId::EXEC => CommandError::ExecRefused(Box::new(CommandError::WrongArity(spec.name))),
        None => CommandError::WrongArity(spec.name),
    }
}

/// The command whose name is `first`, or its subcommand `second` when it has subcommands and a second word is given.
///
/// Case does not matter. None for an unknown name or subcommand.
pub fn lookup(first: &[u8], second: Option<&[u8]>) -> Option<&'static Spec> {
    let command = find(0, first)?;
    match second {
        Some(word) if !command.subcommands.is_empty() => command.subcommand(word),
        _ => Some(command),
    }
}

/// The command of a full name, `sadd` or `client|kill`, in any case.
pub fn by_name(full: &[u8]) -> Option<&'static Spec> {
    match full.iter().position(|byte| *byte == b'|') {
        Some(bar) => find(0, &full[..bar])?.subcommand(&full[bar + 1..]),
        None => find(0, full),
    }
}

/// The command that an SBE message carries. Linear in the number of commands: build an index where it is hot.
pub fn by_template(template: u16) -> Option<&'static Spec> {
    SPECS.iter().find(|spec| spec.template == Some(template))
}

impl Spec {
    /// The subcommand called `word`, in any case.
    pub fn subcommand(&self, word: &[u8]) -> Option<&'static Spec> {
        find(self.id.0 + 1, word)
    }
}

/// `container` is 0 for commands and 1 + its id for the subcommands of one.
fn find(container: u16, name: &[u8]) -> Option<&'static Spec> {
    let mut slot = name_hash(container, name) as usize % SLOTS.len();
    while SLOTS[slot] != u16::MAX {
        let spec = &SPECS[usize::from(SLOTS[slot])];
        let of_container = spec.container.map_or(0, |id| id.0 + 1) == container;
        if spec.word.len() == name.len() && of_container && spec.word.as_bytes().eq_ignore_ascii_case(name) {
            return Some(spec);
        }
        slot = (slot + 1) % SLOTS.len();
    }
    None
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn resolve_line(line: &str) -> Result<&'static Spec, CommandError> {
        let words: OwnedArgs = line.split(' ').map(str::as_bytes).collect();
        resolve(words.as_args())
    }

    fn parse_line(line: &str) -> Result<String, CommandError> {
        let words: OwnedArgs = line.split(' ').map(str::as_bytes).collect();
        Request::resolve(words.as_args()).parse().map(|command| format!("{command:?}"))
    }

    fn refusal(line: &str) -> String {
        let error = parse_line(line).expect_err(line);
        String::from_utf8_lossy(&error.text()).into_owned()
    }

    #[test]
    fn every_name_is_found_in_any_case() {
        for spec in &SPECS {
            let upper = spec.name.to_uppercase();
            assert_eq!(by_name(upper.as_bytes()).map(|found| found.id), Some(spec.id), "{}", spec.name);
            let words: Vec<&str> = upper.split('|').collect();
            let found = lookup(words[0].as_bytes(), words.get(1).map(|word| word.as_bytes()));
            assert_eq!(found.map(|found| found.id), Some(spec.id), "{}", spec.name);
        }
        for name in ["", "nosuch", "ge", "gett", "client|", "client|nosuch", "get|x", "|", "kill", "client list"] {
            assert!(by_name(name.as_bytes()).is_none(), "{name:?}");
        }
        assert_eq!(lookup(b"get", Some(b"list")).map(|spec| spec.name), Some("get"));
    }

    #[test]
    fn the_table_has_no_doubles_and_no_gaps() {
        let names: HashSet<&str> = SPECS.iter().map(|spec| spec.name).collect();
        assert_eq!(names.len(), SPECS.len());
        let templates: Vec<u16> = SPECS.iter().filter_map(|spec| spec.template).collect();
        assert_eq!(templates.iter().collect::<HashSet<_>>().len(), templates.len());
        for (position, spec) in SPECS.iter().enumerate() {
            assert_eq!(usize::from(spec.id.0), position, "{}", spec.name);
            assert!(!spec.summary.is_empty() && !spec.examples.is_empty() && !spec.replies.is_empty(), "{}", spec.name);
            assert!(spec.subcommands.iter().all(|id| id.spec().container == Some(spec.id)), "{}", spec.name);
            assert!(spec.container.is_none_or(|id| id.spec().subcommands.contains(&spec.id)), "{}", spec.name);
        }
        assert_eq!(by_template(102).map(|spec| spec.name), Some("sadd"));
        assert!(by_template(1).is_none());
    }

    /// Least words an argument takes, and whether it may take more.
    fn width(argument: &Argument) -> (usize, bool) {
        let token = usize::from(argument.token.is_some() && argument.kind != Kind::PureToken);
        let parts = || argument.arguments.iter().map(width);
        let (least, open) = match argument.kind {
            Kind::Block => parts().fold((0, false), |sum, part| (sum.0 + part.0, sum.1 || part.1)),
            Kind::OneOf => {
                let least = parts().map(|part| part.0.max(1)).min().unwrap_or(0);
                (least, parts().any(|part| part.1 || part.0.max(1) != least))
            }
            _ => (1, false),
        };
        if argument.optional { (0, true) } else { (least + token, open || argument.multiple) }
    }

    #[test]
    fn arity_agrees_with_the_arguments() {
        for spec in SPECS.iter().filter(|spec| !spec.is_container()) {
            let parts: Vec<(usize, bool)> = spec.arguments.iter().map(width).collect();
            let least = spec.words() + parts.iter().map(|part| part.0).sum::<usize>();
            let open = parts.iter().any(|part| part.1);
            assert_eq!(usize::from(spec.arity.unsigned_abs()), least, "{}", spec.name);
            // QUIT ignores what follows it, COMMAND has subcommands.
            let lenient = [CommandId::QUIT, CommandId::COMMAND].contains(&spec.id);
            assert_eq!(spec.arity < 0, open || lenient, "{}", spec.name);
        }
    }

    #[test]
    fn examples_are_well_formed_requests() {
        for spec in &SPECS {
            let own = spec.examples.iter().any(|example| example.run.starts_with(spec.title));
            assert!(own, "{} has an example of its own", spec.name);
            for example in spec.examples.iter().filter(|example| !example.reply.starts_with("(error)")) {
                let line = example.run.replace("\"are you there\"", "hello");
                assert!(parse_line(&line).is_ok(), "{line}");
            }
        }
    }

    #[test]
    fn names_come_before_length_and_length_before_words() {
        assert_eq!(refusal("nosuch a b"), "unknown command 'nosuch', with args beginning with: 'a' 'b' ");
        assert_eq!(refusal("cLiEnT nosuch"), "unknown subcommand 'nosuch'. Try CLIENT HELP.");
        assert_eq!(refusal("Client"), "wrong number of arguments for 'client' command");
        assert_eq!(refusal("client kill"), "wrong number of arguments for 'client|kill' command");
        assert_eq!(
            refusal("debug sleep"),
            "unknown subcommand or wrong number of arguments for 'sleep'. Try DEBUG HELP."
        );
        assert_eq!(resolve_line("command").map(|spec| spec.name), Ok("command"));
        assert_eq!(parse_line("exec now").map_err(|error| error.code()), Err("EXECABORT"));
        let none = OwnedArgs::default();
        assert!(matches!(Request::resolve(none.as_args()).spec, Err(CommandError::UnknownCommand(_))));
    }

    #[test]
    fn option_words_of_set_come_before_its_numbers() {
        for line in [
            "set k v nx xx",
            "set k v ex",
            "set k v ex x foo",
            "set k v ex 1 px 2",
            "set k v keepttl ex 1",
            "set k v ifeq v",
        ] {
            assert_eq!(parse_line(line), Err(CommandError::Syntax), "{line}");
        }
        assert_eq!(parse_line("set k v ex 2 ex x"), Err(CommandError::NotInteger));
        assert_eq!(parse_line("set k v ex x ex 2 nx nx"), parse_line("SET k v NX EX 2"));
    }

    #[test]
    fn conditions_of_expire_come_before_its_number() {
        assert_eq!(refusal("expire k x FoO nx xx"), "Unsupported option FoO");
        assert_eq!(parse_line("expire k x gt nx lt"), Err(CommandError::ExpireNxConflict));
        assert_eq!(parse_line("expire k x gt lt"), Err(CommandError::ExpireGtLtConflict));
        assert_eq!(parse_line("expire k x gt xx gt"), Err(CommandError::NotInteger));
    }

    #[test]
    fn counts_have_the_errors_of_their_command() {
        assert_eq!(parse_line("spop s x y"), Err(CommandError::Syntax));
        assert_eq!(parse_line("spop s -1"), Err(CommandError::NotPositive));
        assert_eq!(parse_line("srandmember s x"), Err(CommandError::NotInteger));
        assert_eq!(
            parse_line("srandmember s -9223372036854775808"),
            Err(CommandError::OutOfBounds(-i64::MAX, i64::MAX))
        );
        assert_eq!(parse_line("sintercard x a"), Err(CommandError::NumkeysNotPositive));
        assert_eq!(parse_line("sintercard 2 a"), Err(CommandError::NumkeysTooLarge));
        assert_eq!(parse_line("sintercard 1 a limit x limit 1"), Err(CommandError::LimitNegative));
        assert_eq!(parse_line("mset a 1 b"), Err(CommandError::WrongArity("mset")));
        assert_eq!(parse_line("config set a 1 b"), Err(CommandError::Syntax));
    }
}
