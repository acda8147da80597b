//! The schema as XML, for those who generate their own codecs.
//!
//! Names, numbers and layouts are those of [`super::MESSAGES`]; nothing is told twice.

use std::fmt::Write;

use super::message::{Field, Kind, Message, Role};
use super::{MESSAGES, SCHEMA, VERSION};

const HEAD: &str = r#"<?xml version="1.0" encoding="UTF-8" standalone="yes"?>
<!-- Each message travels behind its length in bytes, a little-endian uint32 that does not count itself. A connection
     begins with the eight bytes GOBLINS! once. -->
"#;

const TYPES: &str = r#"    <types>
        <type name="u8" primitiveType="uint8"/>
        <type name="u32" primitiveType="uint32"/>
        <type name="u64" primitiveType="uint64"/>
        <type name="i64" primitiveType="int64"/>
        <type name="f64" primitiveType="double"/>
        <composite name="messageHeader" description="Begins every message.">
            <type name="blockLength" primitiveType="uint16"/>
            <type name="templateId" primitiveType="uint16"/>
            <type name="schemaId" primitiveType="uint16"/>
            <type name="version" primitiveType="uint16"/>
        </composite>
        <composite name="groupSizeEncoding" description="Begins every group.">
            <type name="blockLength" primitiveType="uint16"/>
            <type name="numInGroup" primitiveType="uint16"/>
        </composite>
        <composite name="varDataEncoding" description="Any bytes, behind their length.">
            <type name="length" primitiveType="uint32" maxValue="1073741824"/>
            <type name="varData" primitiveType="uint8" length="0"/>
        </composite>
    </types>
"#;

/// The whole schema as an SBE 1.0 document.
pub fn schema() -> String {
    let mut out = String::from(HEAD);
    let _ = writeln!(
        out,
        "<sbe:messageSchema xmlns:sbe=\"http://fixprotocol.io/2016/sbe\"\n    package=\"goblin.sbe\" id=\"{SCHEMA}\" \
         version=\"{VERSION}\" semanticVersion=\"1.0\"\n    description=\"Requests to goblin and its replies\" \
         byteOrder=\"littleEndian\">"
    );
    out += TYPES;
    MESSAGES.iter().for_each(|message| write_message(&mut out, message));
    out += "</sbe:messageSchema>\n";
    out
}

fn write_message(out: &mut String, message: &Message) {
    let Message { template, name, summary, block, .. } = message;
    let kind = if message.role == Role::Reply { "reply" } else { "request" };
    let _ = writeln!(
        out,
        "    <sbe:message name=\"{name}\" id=\"{template}\" blockLength=\"{block}\" semanticType=\"{kind}\"\n        \
         description=\"{}\">",
        escaped(summary)
    );
    let mut id = 0;
    write_fields(out, message.fields, &mut id, 2);
    if let Some(group) = &message.group {
        id += 1;
        let _ = writeln!(
            out,
            "        <group name=\"{}\" id=\"{id}\" dimensionType=\"groupSizeEncoding\" blockLength=\"{}\">",
            group.name, group.block
        );
        let mut inner = 0;
        write_fields(out, group.fields, &mut inner, 3);
        write_data(out, group.data, &mut inner, 3);
        *out += "        </group>\n";
    }
    write_data(out, message.data, &mut id, 2);
    *out += "    </sbe:message>\n";
}

fn write_fields(out: &mut String, fields: &[Field], id: &mut u16, depth: usize) {
    for Field { name, kind, offset } in fields {
        *id += 1;
        let kind = type_name(*kind);
        let indent = "    ".repeat(depth);
        let _ = writeln!(out, "{indent}<field name=\"{name}\" id=\"{id}\" type=\"{kind}\" offset=\"{offset}\"/>");
    }
}

fn type_name(kind: Kind) -> &'static str {
    match kind {
        Kind::U8 => "u8",
        Kind::U32 => "u32",
        Kind::U64 => "u64",
        Kind::I64 => "i64",
        Kind::F64 => "f64",
    }
}

fn write_data(out: &mut String, names: &[&str], id: &mut u16, depth: usize) {
    for name in names {
        *id += 1;
        let indent = "    ".repeat(depth);
        let _ = writeln!(out, "{indent}<data name=\"{name}\" id=\"{id}\" type=\"varDataEncoding\"/>");
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A message as goblin-sbe(7) shows it: number, name, bytes of the fixed part, then its parts in order.
    fn line(message: &Message) -> String {
        fn numbers(fields: &[Field]) -> impl Iterator<Item = String> {
            fields.iter().map(|field| format!("{} {}", type_name(field.kind), field.name))
        }
        fn strings(names: &[&str]) -> impl Iterator<Item = String> {
            names.iter().map(ToString::to_string)
        }
        let mut parts: Vec<String> = numbers(message.fields).collect();
        if let Some(group) = &message.group {
            let entry: Vec<String> = numbers(group.fields).chain(strings(group.data)).collect();
            parts.push(format!("{}[{}]", group.name, entry.join(", ")));
        }
        parts.extend(strings(message.data));
        let width = if message.role == Role::Reply { 24 } else { 14 };
        let Message { template, name, block, .. } = message;
        format!("{template:>4} {name:<width$} {block:>2}  {}", parts.join(", ")).trim_end().to_owned()
    }

    #[test]
    fn the_manual_shows_every_message_as_it_is() {
        let page = include_str!("../../../man/goblin-sbe.7");
        for message in &MESSAGES {
            let line = line(message);
            // Behind two spaces follow the answers.
            let is_it = |rest: &str| rest.is_empty() || rest.starts_with("  ");
            let is_shown = page.lines().filter_map(|shown| shown.strip_prefix(&line)).any(is_it);
            assert!(is_shown, "no line begins with {line:?}");
        }
    }
}
