//! Writes `src/command/table.rs`: the static description of every command.

use std::fmt::Write;

use crate::spec::{Argument, Key, Kind, Spec, camel_case};
use crate::words::{CATEGORY_WORDS, FLAG_WORDS, KEY_FLAG_WORDS, name_hash};

/// The text of the file.
pub fn generate(specs: &[Spec]) -> String {
    let mut out = String::from(
        "// GENERATED from commands/*.toml by commands/build.rs; change a spec, then run: UPDATE=1 cargo build\n\n\
         use super::spec::{Argument, Categories, CommandId, Example, Find, Flags, Group, KeyFlags, KeySpec, Kind, \
         LegacyKeys, ReplyKind, Spec};\n\n\
         #[allow(missing_docs)]\nimpl CommandId {\n",
    );
    for (id, spec) in specs.iter().enumerate() {
        let constant = spec.constant();
        writeln!(out, "    pub const {constant}: CommandId = CommandId({id});").unwrap();
    }
    out += "}\n\n";
    writeln!(out, "/// Every command, sorted by full name; a command's id is its position.").unwrap();
    writeln!(out, "pub static SPECS: [Spec; {}] = [", specs.len()).unwrap();
    for (id, spec) in specs.iter().enumerate() {
        write_spec(&mut out, specs, id, spec);
    }
    out += "];\n";
    write_slots(&mut out, specs);
    out
}

fn write_spec(out: &mut String, specs: &[Spec], id: usize, spec: &Spec) {
    let position = |wanted: &str| specs.iter().position(|other| other.container.is_none() && other.name == wanted);
    let container = spec.container.as_deref().and_then(position);
    let children = || {
        specs
            .iter()
            .enumerate()
            .filter(|(_, other)| spec.container.is_none() && other.container.as_ref() == Some(&spec.name))
    };
    let subcommands: Vec<String> = children().map(|(child, _)| format!("CommandId({child})")).collect();
    let mut flags = bits(&spec.flags, &FLAG_WORDS);
    if spec.keys.iter().any(|key| key.count.is_some() || key.flags.iter().any(|flag| flag == "incomplete")) {
        flags |= bits(&["movablekeys".into()], &FLAG_WORDS);
    }
    let replies: Vec<String> = spec.replies.iter().map(|word| format!("ReplyKind::{}", camel_case(word))).collect();
    *out += "    Spec {\n";
    let mut line = |field: &str, value: String| writeln!(out, "        {field}: {value},").unwrap();
    line("id", format!("CommandId({id})"));
    line("name", format!("{:?}", spec.full_name()));
    line("title", format!("{:?}", spec.title()));
    line("word", format!("{:?}", spec.name));
    line("summary", format!("{:?}", spec.summary));
    line("group", format!("Group::{}", camel_case(&spec.group)));
    line("since", format!("{:?}", spec.since));
    line("complexity", format!("{:?}", spec.complexity));
    line("arity", spec.arity.to_string());
    line("flags", format!("Flags({flags:#x})"));
    line("categories", format!("Categories({:#x})", bits(&spec.acl, &CATEGORY_WORDS)));
    line("tips", format!("&{:?}", spec.tips));
    line("replies", format!("&[{}]", replies.join(", ")));
    line("template", format!("{:?}", spec.template));
    line("container", container.map_or("None".into(), |id| format!("Some(CommandId({id}))")));
    line("subcommands", format!("&[{}]", subcommands.join(", ")));
    line("lumped_errors", spec.lumped_errors.to_string());
    line("doc_flags", format!("&{:?}", spec.doc_flags));
    line("deprecated_since", format!("{:?}", spec.deprecated_since));
    line("replaced_by", format!("{:?}", spec.replaced_by));
    let history: Vec<String> = spec.history.iter().map(|[since, what]| format!("({since:?}, {what:?})")).collect();
    line("history", format!("&[{}]", history.join(", ")));
    line("legacy_keys", legacy_keys(&spec.keys));
    line("keys", list(spec.keys.iter().map(key_spec), 3));
    line("arguments", arguments(&spec.arguments, 3));
    let examples = spec.examples.iter().map(|example| {
        format!("Example {{ run: {:?}, reply: {:?}, varies: {} }}", example.run, example.reply, example.varies)
    });
    line("examples", list(examples, 3));
    *out += "    },\n";
}

fn bits(words: &[String], list: &[&str]) -> u32 {
    words.iter().filter_map(|word| list.iter().position(|known| known == word)).map(|bit| 1 << bit).sum()
}

fn list(items: impl Iterator<Item = String>, depth: usize) -> String {
    let indent = "    ".repeat(depth);
    let lines: Vec<String> = items.map(|item| format!("{indent}{item},\n")).collect();
    if lines.is_empty() { "&[]".into() } else { format!("&[\n{}{}]", lines.concat(), "    ".repeat(depth - 1)) }
}

/// First, last and step as the three old fields of COMMAND INFO give them: the span over all ranges that follow each
/// other, nothing when a count must be read first.
fn legacy_keys(keys: &[Key]) -> String {
    let (mut first, mut last, mut step) = (0i32, 0i32, 0);
    for key in keys {
        let Some(range) = &key.range else { break };
        let begin = i32::from(key.begin);
        let end = if range.last >= 0 { begin + i32::from(range.last) } else { range.last.into() };
        if first == 0 {
            (first, step) = (begin, range.step);
        } else if last < 0 || begin != last + i32::from(step) {
            break;
        }
        last = end;
    }
    format!("LegacyKeys {{ first: {first}, last: {last}, step: {step} }}")
}

fn key_spec(key: &Key) -> String {
    let find = match (&key.range, &key.count) {
        (Some(range), _) => {
            format!("Find::Range {{ last: {}, step: {}, limit: {} }}", range.last, range.step, range.limit)
        }
        (_, Some(count)) => format!("Find::Count {{ at: {}, first: {}, step: {} }}", count.at, count.first, count.step),
        (None, None) => unreachable!("validated"),
    };
    let flags = bits(&key.flags, &KEY_FLAG_WORDS);
    format!("KeySpec {{ notes: {:?}, flags: KeyFlags({flags:#x}), begin: {}, find: {find} }}", key.notes, key.begin)
}

fn arguments(tree: &[Argument], depth: usize) -> String {
    list(tree.iter().map(|argument| one_argument(argument, depth)), depth)
}

fn one_argument(argument: &Argument, depth: usize) -> String {
    let kind = match argument.kind {
        Kind::Key => "Key",
        Kind::String => "String",
        Kind::Pattern => "Pattern",
        Kind::Integer => "Integer",
        Kind::UnixTime => "UnixTime",
        Kind::Double => "Double",
        Kind::PureToken => "PureToken",
        Kind::OneOf => "OneOf",
        Kind::Block => "Block",
    };
    let mut out = format!("Argument {{ name: {:?}, kind: Kind::{kind}", argument.name);
    let display = argument.display.as_ref().unwrap_or(&argument.name);
    write!(out, ", display: {display:?}, token: {:?}, key: {:?}", argument.token, argument.key).unwrap();
    write!(out, ", optional: {}, multiple: {}", argument.optional, argument.multiple).unwrap();
    write!(out, ", multiple_token: {}, since: {:?}", argument.multiple_token, argument.since).unwrap();
    write!(out, ", deprecated_since: {:?}", argument.deprecated_since).unwrap();
    write!(out, ", arguments: {} }}", arguments(&argument.arguments, depth + 1)).unwrap();
    out
}

/// An open-addressed table from name hashes to ids, at most a quarter full.
fn write_slots(out: &mut String, specs: &[Spec]) {
    let size = (specs.len() * 4).next_power_of_two();
    let mut slots = vec![u16::MAX; size];
    for (id, spec) in specs.iter().enumerate() {
        let position =
            |wanted: &String| specs.iter().position(|other| other.container.is_none() && other.name == *wanted);
        let container = spec.container.as_ref().and_then(position).map_or(0, |id| id as u16 + 1);
        let mut slot = name_hash(container, spec.name.as_bytes()) as usize % size;
        while slots[slot] != u16::MAX {
            slot = (slot + 1) % size;
        }
        slots[slot] = id as u16;
    }
    writeln!(out, "\n/// Ids by name hash, probed linearly; `u16::MAX` is an empty slot.").unwrap();
    writeln!(out, "pub(super) static SLOTS: [u16; {size}] = [").unwrap();
    for row in slots.chunks(16) {
        let row: Vec<String> = row.iter().map(|slot| format!("{slot}")).collect();
        writeln!(out, "    {},", row.join(", ")).unwrap();
    }
    *out += "];\n";
}
