//! COMMAND and the HELP of containers: what the table says, as replies.
//!
//! Invariant: shapes and order of fields are Redis 8.2.3's; sentences are our own.
//! Deliberately unknown here: keyspace, sessions, settings.

use crate::command::{
    Args, Argument, Categories, CommandId, Find, InvalidKeys, KeyFlags, KeySpec, Kind, NameFilter, SPECS, Spec,
    by_name, hint, lookup,
};
use crate::reply::{CommandError, Reply};

/// A glob matcher: pattern, then text. Case does not matter to it.
pub(super) type Matcher<'m> = &'m dyn Fn(&[u8], &[u8]) -> bool;

/// COMMAND: one entry per command, subcommands inside.
pub(super) fn all() -> Reply<'static> {
    Reply::Array(top_level().map(entry).collect())
}

/// COMMAND COUNT.
pub(super) fn count() -> Reply<'static> {
    Reply::count(top_level().count())
}

/// COMMAND INFO: an entry per name, nil for a name that is none; all commands without a name.
pub(super) fn info(names: Args<'_>) -> Reply<'static> {
    if names.is_empty() {
        return all();
    }
    Reply::Array(names.iter().map(|name| visible(name).map_or(Reply::Nil, entry)).collect())
}

/// COMMAND LIST: full names, subcommands too. `matches` decides about FILTERBY PATTERN.
pub(super) fn list(filter: NameFilter<'_>, matches: Matcher<'_>) -> Reply<'static> {
    let category = match filter {
        NameFilter::Category(word) => Categories::named(word),
        _ => None,
    };
    let wanted = |spec: &&Spec| match filter {
        NameFilter::All => true,
        NameFilter::Module(_) => false,
        NameFilter::Category(_) => category.is_some_and(|category| spec.categories.contains(category)),
        NameFilter::Pattern(pattern) => matches(pattern, spec.name.as_bytes()),
    };
    Reply::Array(SPECS.iter().filter(|spec| !is_hidden(spec)).filter(wanted).map(|spec| text(spec.name)).collect())
}

/// COMMAND DOCS: names to their documentation; unknown names are left out, all commands without a name.
pub(super) fn docs(names: Args<'_>) -> Reply<'static> {
    let pair = |spec: &'static Spec| (text(spec.name), documentation(spec));
    if names.is_empty() {
        return Reply::Map(top_level().map(pair).collect());
    }
    Reply::Map(names.iter().filter_map(visible).map(pair).collect())
}

/// COMMAND GETKEYS: the keys among the words of another request.
pub(super) fn keys(request: Args<'_>) -> Reply<'static> {
    let mut found = Vec::new();
    let each = |key: &[u8], _| found.push(Reply::owned(key));
    match each_key(request, each) {
        Ok(()) => Reply::Array(found),
        Err(error) => error.into(),
    }
}

/// COMMAND GETKEYSANDFLAGS: the same, each key with what the command does with it.
pub(super) fn keys_and_flags(request: Args<'_>) -> Reply<'static> {
    let mut found = Vec::new();
    let each = |key: &[u8], flags: KeyFlags| found.push(Reply::Array(vec![Reply::owned(key), statuses(flags.words())]));
    match each_key(request, each) {
        Ok(()) => Reply::Array(found),
        Err(error) => error.into(),
    }
}

/// The HELP subcommand of a container.
pub(super) fn help(container: CommandId) -> Reply<'static> {
    Reply::Array(hint::container_help(container).into_iter().map(|line| Reply::Status(line.into())).collect())
}

fn top_level() -> impl Iterator<Item = &'static Spec> {
    SPECS.iter().filter(|spec| spec.container.is_none())
}

/// DEBUG looks like one command from outside, as its lumped errors do.
fn is_hidden(spec: &Spec) -> bool {
    spec.container.is_some_and(|container| container.spec().lumped_errors)
}

fn visible(name: &[u8]) -> Option<&'static Spec> {
    by_name(name).filter(|spec| !is_hidden(spec))
}

fn visible_subcommands(spec: &'static Spec) -> impl Iterator<Item = &'static Spec> {
    spec.subcommands.iter().map(|id| id.spec()).filter(|child| !is_hidden(child))
}

fn each_key(request: Args<'_>, mut each: impl FnMut(&[u8], KeyFlags)) -> Result<(), CommandError> {
    let spec = request.get(0).and_then(|name| lookup(name, request.get(1))).ok_or(CommandError::InvalidCommand)?;
    if !spec.has_keys() {
        return Err(CommandError::NoKeyArguments);
    }
    if !spec.takes(request.len()) {
        return Err(CommandError::InvalidCommandArity);
    }
    let visit = spec.each_key(request, |key| each(request.get(key.position).unwrap_or_default(), key.flags));
    visit.map_err(|InvalidKeys| CommandError::InvalidCommandArguments)
}

fn text(text: &'static str) -> Reply<'static> {
    Reply::bulk(text.as_bytes())
}

fn statuses(words: impl Iterator<Item = &'static str>) -> Reply<'static> {
    Reply::Set(words.map(Reply::status).collect())
}

fn map<const N: usize>(pairs: [(&'static str, Reply<'static>); N]) -> Reply<'static> {
    Reply::Map(pairs.into_iter().map(|(name, value)| (text(name), value)).collect())
}

/// The ten fields of one command.
fn entry(spec: &'static Spec) -> Reply<'static> {
    let keys = spec.legacy_keys;
    let categories = spec.categories.words().map(|word| Reply::Status(format!("@{word}").into()));
    Reply::Array(vec![
        text(spec.name),
        Reply::Integer(spec.arity.into()),
        statuses(spec.flags.words()),
        Reply::Integer(keys.first.into()),
        Reply::Integer(keys.last.into()),
        Reply::Integer(keys.step.into()),
        Reply::Set(categories.collect()),
        Reply::Set(spec.tips.iter().map(|tip| text(tip)).collect()),
        Reply::Set(spec.keys.iter().map(key_spec).collect()),
        Reply::Set(visible_subcommands(spec).map(entry).collect()),
    ])
}

fn key_spec(key: &'static KeySpec) -> Reply<'static> {
    let begin = map([("type", text("index")), ("spec", map([("index", Reply::Integer(key.begin.into()))]))]);
    let find = match key.find {
        Find::Range { last, step, limit } => {
            let spec = map([
                ("lastkey", Reply::Integer(last.into())),
                ("keystep", Reply::Integer(step.into())),
                ("limit", Reply::Integer(limit.into())),
            ]);
            map([("type", text("range")), ("spec", spec)])
        }
        Find::Count { at, first, step } => {
            let spec = map([
                ("keynumidx", Reply::Integer(at.into())),
                ("firstkey", Reply::Integer(first.into())),
                ("keystep", Reply::Integer(step.into())),
            ]);
            map([("type", text("keynum")), ("spec", spec)])
        }
    };
    let mut pairs = Vec::new();
    if let Some(notes) = key.notes {
        pairs.push((text("notes"), text(notes)));
    }
    pairs.push((text("flags"), statuses(key.flags.words())));
    pairs.push((text("begin_search"), begin));
    pairs.push((text("find_keys"), find));
    Reply::Map(pairs)
}

fn documentation(spec: &'static Spec) -> Reply<'static> {
    let mut pairs = vec![
        (text("summary"), text(spec.summary)),
        (text("since"), text(spec.since)),
        (text("group"), text(spec.group.word())),
    ];
    // Redis does not say what MONITOR and LOLWUT cost.
    if !spec.complexity.is_empty() {
        pairs.push((text("complexity"), text(spec.complexity)));
    }
    if !spec.doc_flags.is_empty() {
        pairs.push((text("doc_flags"), statuses(spec.doc_flags.iter().copied())));
    }
    if let Some(version) = spec.deprecated_since {
        pairs.push((text("deprecated_since"), text(version)));
    }
    if let Some(other) = spec.replaced_by {
        pairs.push((text("replaced_by"), text(other)));
    }
    if !spec.history.is_empty() {
        let change = |(version, what): &(&'static str, &'static str)| Reply::Array(vec![text(version), text(what)]);
        pairs.push((text("history"), Reply::Set(spec.history.iter().map(change).collect())));
    }
    if !spec.arguments.is_empty() {
        pairs.push((text("arguments"), Reply::Array(spec.arguments.iter().map(argument).collect())));
    }
    let children: Vec<_> = visible_subcommands(spec).map(|child| (text(child.name), documentation(child))).collect();
    if !children.is_empty() {
        pairs.push((text("subcommands"), Reply::Map(children)));
    }
    Reply::Map(pairs)
}

fn argument(argument: &'static Argument) -> Reply<'static> {
    let mut pairs = vec![(text("name"), text(argument.name)), (text("type"), text(argument.kind.word()))];
    if !matches!(argument.kind, Kind::OneOf | Kind::Block) {
        pairs.push((text("display_text"), text(argument.display)));
    }
    if let Some(key) = argument.key {
        pairs.push((text("key_spec_index"), Reply::Integer(key.into())));
    }
    if let Some(token) = argument.token {
        pairs.push((text("token"), text(token)));
    }
    if let Some(version) = argument.since {
        pairs.push((text("since"), text(version)));
    }
    if let Some(version) = argument.deprecated_since {
        pairs.push((text("deprecated_since"), text(version)));
    }
    let flags =
        [(argument.optional, "optional"), (argument.multiple, "multiple"), (argument.multiple_token, "multiple_token")];
    let flags: Vec<&str> = flags.into_iter().filter(|(set, _)| *set).map(|(_, word)| word).collect();
    if !flags.is_empty() {
        pairs.push((text("flags"), statuses(flags.into_iter())));
    }
    if !argument.arguments.is_empty() {
        pairs.push((text("arguments"), Reply::Array(argument.arguments.iter().map(self::argument).collect())));
    }
    Reply::Map(pairs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::OwnedArgs;

    fn words(line: &str) -> OwnedArgs {
        line.split(' ').map(str::as_bytes).collect()
    }

    fn keys_of(line: &str) -> Result<Vec<(String, Vec<&'static str>)>, CommandError> {
        let mut found = Vec::new();
        each_key(words(line).as_args(), |key, flags| {
            found.push((String::from_utf8_lossy(key).into_owned(), flags.words().collect()));
        })?;
        Ok(found)
    }

    fn names(line: &str) -> Vec<String> {
        keys_of(line).expect("it has keys").into_iter().map(|(name, _)| name).collect()
    }

    #[test]
    fn keys_are_found_by_place_and_by_count() {
        assert_eq!(names("mset a 1 b 2"), ["a", "b"]);
        assert_eq!(names("mset a 1 b"), ["a", "b"], "GETKEYS does not read values");
        assert_eq!(names("sunionstore d a b"), ["d", "a", "b"]);
        assert_eq!(names("sintercard 2 a b limit 1"), ["a", "b"]);
        assert_eq!(names("object encoding k"), ["k"]);
        assert_eq!(names("smove a b c"), ["a", "b"]);
    }

    #[test]
    fn reading_the_old_value_changes_the_flags_of_set() {
        assert_eq!(keys_of("set k v"), Ok(vec![("k".into(), vec!["OW", "update"])]));
        assert_eq!(keys_of("set k v get"), Ok(vec![("k".into(), vec!["RW", "access", "update"])]));
    }

    #[test]
    fn getkeys_refuses_in_the_order_name_keys_length_words() {
        assert_eq!(keys_of("nosuch a"), Err(CommandError::InvalidCommand));
        assert_eq!(keys_of("client nosuch"), Err(CommandError::InvalidCommand));
        assert_eq!(keys_of("ping a b c"), Err(CommandError::NoKeyArguments));
        assert_eq!(keys_of("spublish c m"), Err(CommandError::NoKeyArguments));
        assert_eq!(keys_of("get a b"), Err(CommandError::InvalidCommandArity));
        for line in ["sintercard x a", "sintercard 0 a", "sintercard 3 a b", "sintercard 9223372036854775807 a"] {
            assert_eq!(keys_of(line), Err(CommandError::InvalidCommandArguments), "{line}");
        }
    }

    #[test]
    fn unknown_names_are_nil_in_info_and_absent_in_docs() {
        let asked = words("get nosuch client|list get|x client|list|x");
        let Reply::Array(entries) = info(asked.as_args()) else { panic!("an array") };
        let nil: Vec<bool> = entries.iter().map(|entry| matches!(entry, Reply::Nil)).collect();
        assert_eq!(nil, [false, true, false, true, true]);
        let Reply::Map(entries) = docs(asked.as_args()) else { panic!("a map") };
        assert_eq!(entries.len(), 2);
    }

    #[test]
    fn lists_are_filtered_by_category_and_pattern() {
        let listed = |filter| match list(filter, &|pattern, name| name.starts_with(pattern)) {
            Reply::Array(names) => names.len(),
            other => panic!("{other:?}"),
        };
        let shown = SPECS.iter().filter(|spec| !spec.name.starts_with("debug|")).count();
        assert_eq!(listed(NameFilter::All), shown);
        assert_eq!(listed(NameFilter::Category(b"Transaction")), 5);
        assert_eq!(listed(NameFilter::Category(b"nosuch")), 0);
        assert_eq!(listed(NameFilter::Module(b"any")), 0);
        assert_eq!(listed(NameFilter::Pattern(b"client|no-")), 2);
    }
}
