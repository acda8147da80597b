//! Text for people out of the table: usage lines, help, and what to offer while a command line is being typed.
//!
//! Invariant: everything here follows from the specs; no command is named in this file.
//! Deliberately unknown here: terminals, colours, servers.

use super::{Argument, CommandId, Kind, SPECS, Spec, lookup, parse_integer};

/// The usage line of a command: `SADD key member [member ...]`.
pub fn usage(spec: &Spec) -> String {
    let mut line = spec.title.to_owned();
    if spec.is_container() {
        line += " subcommand [argument ...]";
    }
    for argument in spec.arguments {
        line.push(' ');
        line += &render(argument);
    }
    line
}

/// The help of one command, ready to print: usage, summary, facts, subcommands, history, examples.
pub fn help(spec: &Spec) -> String {
    let mut text = format!("{}\n\n  {}\n\n", wrapped(&usage(spec)), spec.summary);
    let mut fact = |name: &str, value: &str| text += &format!("  {name:<11} {value}\n");
    fact("group", spec.group.word());
    fact("since", spec.since);
    if !spec.complexity.is_empty() {
        fact("complexity", spec.complexity);
    }
    if let Some(version) = spec.deprecated_since {
        fact("deprecated", &format!("since {version}, by {}", spec.replaced_by.unwrap_or("nothing")));
    }
    for (version, what) in spec.history {
        fact(version, what);
    }
    if !spec.subcommands.is_empty() {
        text += "\n";
    }
    for subcommand in spec.subcommands.iter().map(|id| id.spec()) {
        text += &format!("  {:<30} {}\n", subcommand.title, subcommand.summary);
    }
    text.push('\n');
    for example in spec.examples {
        text += &format!("  > {}\n", example.run);
        for line in example.reply.lines() {
            text += &format!("  {line}\n");
        }
    }
    text
}

/// Columns of a line of help: what every terminal has.
const COLUMNS: usize = 80;

/// The same words in lines that a terminal need not break.
fn wrapped(text: &str) -> String {
    let mut lines = String::new();
    let mut column = 0;
    for word in text.split(' ') {
        if column > 0 && column + 1 + word.len() > COLUMNS {
            lines += "\n    ";
            column = 4;
        } else if column > 0 {
            lines.push(' ');
            column += 1;
        }
        lines += word;
        column += word.len();
    }
    lines
}

/// The lines that `CLIENT HELP` and its like answer.
pub fn container_help(container: CommandId) -> Vec<String> {
    let container = container.spec();
    let mut lines = vec![format!("{} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:", container.title)];
    if !container.is_container() {
        lines.push("(no subcommand)".into());
        lines.push(format!("    {}", container.summary));
    }
    let (help, others): (Vec<&Spec>, Vec<&Spec>) =
        container.subcommands.iter().map(|id| id.spec()).partition(|spec| spec.word == "HELP");
    for spec in others {
        lines.push(usage(spec)[container.title.len() + 1..].to_owned());
        lines.push(format!("    {}", spec.summary));
    }
    if !help.is_empty() {
        lines.push("HELP".into());
        lines.push("    Print this help.".into());
    }
    lines
}

/// What may still follow the complete words of a command line: `member [member ...]` after `SADD s`.
///
/// Empty when nothing is expected, or when the words are no command.
pub fn remaining(words: &[&[u8]]) -> String {
    let Some(spec) = find(words) else { return String::new() };
    if spec.is_container() && words.len() == 1 {
        return "subcommand [argument ...]".into();
    }
    Typed::read(spec, words.get(spec.words()..).unwrap_or_default()).remaining().join(" ")
}

/// Words that may stand where `partial` is being typed, after the complete words `words`: commands, subcommands or
/// option words, in capitals and in order.
pub fn completions(words: &[&[u8]], partial: &[u8]) -> Vec<&'static str> {
    let mut candidates: Vec<&'static str> = match (words, find(words)) {
        ([], _) => SPECS.iter().filter(|spec| spec.container.is_none()).map(|spec| spec.word).collect(),
        (_, None) => Vec::new(),
        ([_], Some(spec)) if !spec.subcommands.is_empty() => spec.subcommands.iter().map(|id| id.spec().word).collect(),
        (_, Some(spec)) => Typed::read(spec, words.get(spec.words()..).unwrap_or_default()).tokens(),
    };
    candidates
        .retain(|word| word.len() >= partial.len() && word.as_bytes()[..partial.len()].eq_ignore_ascii_case(partial));
    candidates
}

/// The argument whose value stands next after the complete words of a command line: the key after `SADD`. Option words
/// may stand there as well.
pub fn expected(words: &[&[u8]]) -> Option<&'static Argument> {
    let spec = find(words)?;
    Typed::read(spec, words.get(spec.words()..).unwrap_or_default()).expected()
}

fn find(words: &[&[u8]]) -> Option<&'static Spec> {
    lookup(words.first()?, words.get(1).copied())
}

/// `key`, `[LIMIT limit]`, `<ON | OFF>`, `member [member ...]`.
fn render(argument: &Argument) -> String {
    let text = bare(argument);
    if argument.optional {
        format!("[{text}]")
    } else if argument.kind == Kind::OneOf && argument.token.is_none() && !argument.multiple {
        format!("<{text}>")
    } else {
        text
    }
}

/// An argument without the brackets that say whether it may be left out.
fn bare(argument: &Argument) -> String {
    let value = value(argument);
    let token = argument.token.filter(|_| argument.kind != Kind::PureToken);
    let with_token = |value: &str| match token {
        Some(token) => format!("{token} {value}"),
        None => value.to_owned(),
    };
    match (argument.multiple, argument.multiple_token) {
        (false, _) => with_token(&value),
        (true, true) => format!("{0} [{0} ...]", with_token(&value)),
        (true, false) => with_token(&format!("{value} [{value} ...]")),
    }
}

/// One occurrence of an argument's value.
fn value(argument: &Argument) -> String {
    match argument.kind {
        Kind::PureToken => argument.token.unwrap_or(argument.name).to_owned(),
        Kind::OneOf => {
            let branches: Vec<String> = argument.arguments.iter().map(bare).collect();
            let text = branches.join(" | ");
            if argument.token.is_some() || argument.multiple { format!("<{text}>") } else { text }
        }
        Kind::Block => argument.arguments.iter().map(render).collect::<Vec<_>>().join(" "),
        _ => argument.display.to_owned(),
    }
}

/// How far a command line has come.
struct Typed {
    /// What the option or block being typed still needs.
    due: Vec<Due>,
    /// Arguments not yet begun, or begun and repeatable.
    pending: Vec<Pending>,
    /// The words cannot be understood.
    lost: bool,
}

/// An argument that must follow, as text of the hint.
#[derive(Clone)]
struct Due {
    text: String,
    argument: &'static Argument,
}

impl Due {
    /// As a part of its block.
    fn part(argument: &'static Argument) -> Self {
        Due { text: render(argument), argument }
    }
}

struct Pending {
    argument: &'static Argument,
    begun: bool,
    /// How many more are to come, when a count said so.
    left: Option<usize>,
}

impl Typed {
    fn read(spec: &'static Spec, words: &[&[u8]]) -> Self {
        let pending = |argument| Pending { argument, begun: false, left: None };
        let mut typed = Typed { due: Vec::new(), pending: spec.arguments.iter().map(pending).collect(), lost: false };
        let mut at = 0;
        while at < words.len() && !typed.lost {
            at += typed.take(&words[at..]);
        }
        typed
    }

    /// Takes one argument off the front of `words` and answers how many words it was, at least 1.
    fn take(&mut self, words: &[&[u8]]) -> usize {
        if let Some((index, parts)) = self.named(words[0]) {
            let argument = self.pending[index].argument;
            if argument.multiple {
                self.pending[index].begun = true;
            } else {
                self.pending.remove(index);
            }
            let given = words.len() - 1;
            self.due = parts.iter().skip(given).cloned().collect();
            return 1 + parts.len().min(given);
        }
        let placed = |pending: &Pending| opening_tokens(pending.argument).is_empty();
        let Some(index) = self.pending.iter().position(placed) else {
            self.lost = true;
            return 1;
        };
        self.place(index, words)
    }

    /// Words go to the argument at `index`, which has its place.
    fn place(&mut self, index: usize, words: &[&[u8]]) -> usize {
        let width = if self.pending[index].argument.kind == Kind::Block {
            self.pending[index].argument.arguments.len()
        } else {
            1
        };
        let taken = width.min(words.len());
        if taken < width {
            self.due = self.pending[index].argument.arguments[taken..].iter().map(Due::part).collect();
        }
        let counts_next = self.pending[index].argument.name == "numkeys";
        if counts_next && let Some(next) = self.pending.get_mut(index + 1) {
            next.left = parse_integer(words[0]).and_then(|count| usize::try_from(count).ok());
        }
        let pending = &mut self.pending[index];
        pending.begun = true;
        pending.left = pending.left.map(|left| left.saturating_sub(1));
        if !pending.argument.multiple || pending.left == Some(0) {
            self.pending.remove(index);
        }
        taken
    }

    /// The pending option that `word` opens, and the parts that must follow it. Options behind an argument that must
    /// come first are out of reach.
    fn named(&self, word: &[u8]) -> Option<(usize, Vec<Due>)> {
        for (index, pending) in self.pending.iter().enumerate() {
            if let Some(parts) = opened_by(pending.argument, word) {
                return Some((index, parts));
            }
            let satisfied = pending.argument.optional || pending.begun && pending.left.is_none_or(|left| left == 0);
            if !satisfied {
                return None;
            }
        }
        None
    }

    fn remaining(&self) -> Vec<String> {
        let again = |pending: &Pending| match (pending.begun, pending.left) {
            (true, None) => format!("[{} ...]", value(pending.argument)),
            _ => render(pending.argument),
        };
        if self.lost {
            Vec::new()
        } else {
            self.due.iter().map(|due| due.text.clone()).chain(self.pending.iter().map(again)).collect()
        }
    }

    fn expected(&self) -> Option<&'static Argument> {
        let placed = |pending: &&Pending| opening_tokens(pending.argument).is_empty();
        match self.due.first() {
            _ if self.lost => None,
            Some(due) => Some(first_of(due.argument)),
            None => self.pending.iter().find(placed).map(|pending| first_of(pending.argument)),
        }
    }

    fn tokens(&self) -> Vec<&'static str> {
        let mut tokens = Vec::new();
        if self.lost || !self.due.is_empty() {
            return tokens;
        }
        for pending in &self.pending {
            tokens.extend(opening_tokens(pending.argument));
            if !pending.argument.optional && !pending.begun {
                break;
            }
        }
        tokens
    }
}

/// The words that can open an argument; none when any word can.
fn opening_tokens(argument: &'static Argument) -> Vec<&'static str> {
    match (argument.token, argument.kind) {
        (Some(token), _) => vec![token],
        (None, Kind::OneOf) => argument.arguments.iter().flat_map(opening_tokens).collect(),
        (None, Kind::Block) => argument.arguments.first().map(opening_tokens).unwrap_or_default(),
        (None, _) => Vec::new(),
    }
}

/// The argument, or the first part of a block.
fn first_of(argument: &'static Argument) -> &'static Argument {
    match argument.arguments.first() {
        Some(first) if argument.kind == Kind::Block => first_of(first),
        _ => argument,
    }
}

/// What must follow `word` when it opens the argument.
fn opened_by(argument: &'static Argument, word: &[u8]) -> Option<Vec<Due>> {
    if let Some(token) = argument.token {
        let parts = match argument.kind {
            Kind::PureToken => Vec::new(),
            Kind::Block => argument.arguments.iter().map(Due::part).collect(),
            _ => vec![Due { text: value(argument), argument }],
        };
        return token.as_bytes().eq_ignore_ascii_case(word).then_some(parts);
    }
    match argument.kind {
        Kind::OneOf => argument.arguments.iter().find_map(|branch| opened_by(branch, word)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_is_broken_between_words() {
        let text = "word ".repeat(40);
        let lines = wrapped(text.trim_end());
        assert!(lines.lines().count() == 3 && lines.lines().all(|line| line.len() <= COLUMNS), "{lines}");
        assert_eq!(lines.split_whitespace().count(), 40);
        assert_eq!(wrapped("SADD key"), "SADD key");
    }

    fn words(line: &str) -> Vec<&[u8]> {
        line.split(' ').filter(|word| !word.is_empty()).map(str::as_bytes).collect()
    }

    fn usage_of(line: &str) -> String {
        usage(find(&words(line)).expect("the command exists"))
    }

    #[test]
    fn usage_lines_show_what_is_optional_and_what_repeats() {
        assert_eq!(usage_of("sadd"), "SADD key member [member ...]");
        assert_eq!(usage_of("mset"), "MSET key value [key value ...]");
        assert_eq!(usage_of("unsubscribe"), "UNSUBSCRIBE [channel [channel ...]]");
        assert_eq!(usage_of("sintercard"), "SINTERCARD numkeys key [key ...] [LIMIT limit]");
        assert_eq!(usage_of("client reply"), "CLIENT REPLY <ON | OFF | SKIP>");
        assert_eq!(
            usage_of("set"),
            "SET key value [NX | XX] [GET] [EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT \
             unix-time-milliseconds | KEEPTTL]"
        );
        assert_eq!(usage_of("hello"), "HELLO [protover [AUTH username password] [SETNAME clientname]]");
        assert_eq!(
            usage_of("client list"),
            "CLIENT LIST [TYPE <NORMAL | MASTER | REPLICA | PUBSUB>] [ID client-id [client-id ...]]"
        );
    }

    #[test]
    fn hints_shrink_as_words_are_typed() {
        let hint = |line| remaining(&words(line));
        assert_eq!(hint("sadd"), "key member [member ...]");
        assert_eq!(hint("SADD s"), "member [member ...]");
        assert_eq!(hint("sadd s a b"), "[member ...]");
        assert_eq!(hint("get k"), "");
        assert_eq!(hint("get k too many"), "");
        assert_eq!(hint("nosuch"), "");
        assert_eq!(hint("sintercard 2 a"), "key [key ...] [LIMIT limit]");
        assert_eq!(hint("sintercard 2 a b"), "[LIMIT limit]");
        assert_eq!(hint("sintercard 2 a b limit"), "limit");
        assert_eq!(hint("sintercard 2 a limit"), "[LIMIT limit]", "LIMIT is a key here");
        assert_eq!(hint("mset a"), "value [key value ...]");
        assert_eq!(hint("expire k 10"), "[NX | XX | GT | LT]");
        assert_eq!(hint("set k v px 5 nx"), "[GET]");
        assert_eq!(hint("client"), "subcommand [argument ...]");
        assert_eq!(hint("client setname"), "connection-name");
    }

    #[test]
    fn completions_follow_what_was_typed() {
        let complete = |line, partial: &str| completions(&words(line), partial.as_bytes());
        assert_eq!(complete("", "smi"), ["SMISMEMBER"]);
        assert_eq!(complete("client", "no-"), ["NO-EVICT", "NO-TOUCH"]);
        assert_eq!(complete("set k v", "e"), ["EX", "EXAT"]);
        assert_eq!(complete("set k v ex", ""), [""; 0]);
        assert_eq!(complete("set k v ex 5", ""), ["NX", "XX", "GET"]);
        assert_eq!(complete("set k", ""), [""; 0]);
        assert_eq!(complete("client reply", "o"), ["ON", "OFF"]);
        assert_eq!(complete("nosuch", ""), [""; 0]);
    }

    #[test]
    fn the_next_value_is_known() {
        let next = |line| expected(&words(line)).map(|argument| argument.name);
        assert_eq!(next("sadd"), Some("key"));
        assert_eq!(next("sadd s"), Some("member"));
        assert_eq!(next("sadd s a b"), Some("member"));
        assert_eq!(next("mset"), Some("key"));
        assert_eq!(next("mset a"), Some("value"));
        assert_eq!(next("mset a 1"), Some("key"));
        assert_eq!(next("sintercard 2 a"), Some("key"));
        assert_eq!(next("sintercard 2 a b"), None);
        assert_eq!(next("sintercard 2 a b limit"), Some("limit"));
        assert_eq!(next("publish"), Some("channel"));
        assert_eq!(next("get k"), None);
        assert_eq!(next("nosuch"), None);
        assert_eq!(next(""), None);
    }

    #[test]
    fn container_help_ends_with_help() {
        let lines = container_help(CommandId::OBJECT);
        assert_eq!(lines[0], "OBJECT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:");
        assert_eq!(lines[1], "ENCODING key");
        assert_eq!(lines[lines.len() - 2..], ["HELP", "    Print this help."]);
        assert_eq!(container_help(CommandId::COMMAND)[1], "(no subcommand)");
    }

    #[test]
    fn help_shows_usage_and_examples() {
        let text = help(CommandId::SCARD.spec());
        assert!(text.starts_with("SCARD key\n"), "{text}");
        assert!(text.contains("  > SCARD s\n  (integer) 2\n"), "{text}");
    }
}
