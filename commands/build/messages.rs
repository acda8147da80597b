//! Writes `src/protocol/sbe/messages.rs`: the layout of every SBE message, and the words that each request stands for.
//!
//! A request's `words` are rules, each giving no, one or several words behind the command's name:
//!
//! ```text
//! key                               a string, a number in decimal, or the strings of all entries of a group
//! # keys                            how many entries the group has
//! = COUNT                           that word
//! flags & 4: GET                    that word when the bit is set
//! count != -1: count                the number unless it is that
//! density > 0: density              the number when it is more than nothing
//! hasMatch: MATCH match             that word and that string when the field is not 0
//! match: MATCH match                the same when the string is not empty; the word may be left out
//! mode of -, EX, PX: value          the word at that place and then the number; nothing for `-`
//! operation of CHANNELS, NUMSUB     the word at that place, or the number itself past the end
//! ```

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use serde::Deserialize;

use crate::spec::{Group, Message, Spec, camel_case};

/// Templates below this have a place of their own in the index.
const INDEXED: u16 = 128;
/// Our own messages begin here, and have so many places.
const OWN: u16 = 1000;
const OWN_PLACES: u16 = 16;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    messages: Vec<Other>,
}

/// A message that belongs to no single command.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Other {
    template: u16,
    summary: String,
    /// The command it counts as.
    command: Option<String>,
    name: String,
    #[serde(default)]
    fields: Vec<String>,
    group: Option<Group>,
    #[serde(default)]
    data: Vec<String>,
    words: Option<Vec<String>>,
    reply: Option<String>,
}

/// A field's name, its kind, and its place in the block.
type Laid = (String, &'static str, u16);

/// Names of a message's parts, for the rules.
struct Parts<'m> {
    message: &'m Message,
    fields: Vec<Laid>,
}

/// The text of the file.
pub fn generate(specs: &[Spec], others: &Path) -> Result<String, Vec<String>> {
    let mut messages: BTreeMap<u16, String> = BTreeMap::new();
    let mut complaints = Vec::new();
    let mut add = |template: u16, text: Result<String, String>, file: String| match text {
        Ok(text) if (template < INDEXED || (OWN..OWN + OWN_PLACES).contains(&template)) => {
            if messages.insert(template, text).is_some() {
                complaints.push(format!("{file}: template {template} is described twice"));
            }
        }
        Ok(_) => complaints.push(format!("{file}: template {template} is neither below {INDEXED} nor one of our own")),
        Err(what) => complaints.push(format!("{file}: {what}")),
    };
    for spec in specs {
        let file = spec.file.display().to_string();
        match (spec.template, &spec.message) {
            (Some(template), Some(message)) => {
                let constant = spec.constant();
                let role = format!("Role::Command(CommandId::{constant})");
                add(template, one(template, message, &spec.summary, &role), file);
            }
            (None, None) => {}
            _ => add(0, Err("`template` and [message] come together".into()), file),
        }
    }
    let name = others.display().to_string();
    let text = fs::read_to_string(others).map_err(|error| vec![format!("{name}: {error}")])?;
    let file: File = toml::from_str(&text).map_err(|error| vec![format!("{name}: {}", error.message())])?;
    for other in file.messages {
        let Other { template, summary, command, name: title, fields, group, data, words, reply } = other;
        let message = Message { name: title, fields, group, data, words, reply };
        let role = match (&message.words, &command) {
            (None, _) => "Role::Reply".to_owned(),
            (Some(_), None) => "Role::Call".to_owned(),
            (Some(_), Some(command)) => format!("Role::Command(CommandId::{command})"),
        };
        add(template, one(template, &message, &summary, &role), name.clone());
    }
    if complaints.is_empty() { Ok(file_text(&messages)) } else { Err(complaints) }
}

fn file_text(messages: &BTreeMap<u16, String>) -> String {
    let mut out = String::from(
        "//! GENERATED from commands/*.toml and commands/sbe/messages.toml by commands/build.rs; change one, then run: \
         UPDATE=1 cargo build\n\n\
         use super::message::{Field, Form, Group, Kind, Message, Role, Rule};\n\
         use crate::command::CommandId;\n\n",
    );
    writeln!(out, "/// Every message, sorted by template.").unwrap();
    writeln!(out, "pub static MESSAGES: [Message; {}] = [", messages.len()).unwrap();
    messages.values().for_each(|text| out += text);
    out += "];\n";
    let position = |template: u16| messages.keys().position(|key| *key == template).map_or(u8::MAX, |at| at as u8);
    for (name, what, templates) in [
        ("INDEX", "by template", 0..INDEXED),
        ("OWN_INDEX", "by what a template of our own is past 1000", OWN..OWN + OWN_PLACES),
    ] {
        writeln!(out, "\n/// Places in [`MESSAGES`] {what}; 255 for none.").unwrap();
        writeln!(out, "pub(super) static {name}: [u8; {}] = [", templates.len()).unwrap();
        for row in templates.collect::<Vec<_>>().chunks(16) {
            let row: Vec<String> = row.iter().map(|template| position(*template).to_string()).collect();
            writeln!(out, "    {},", row.join(", ")).unwrap();
        }
        out += "];\n";
    }
    out
}

fn one(template: u16, message: &Message, summary: &str, role: &str) -> Result<String, String> {
    let (fields, block) = layout(&message.fields)?;
    let parts = Parts { message, fields };
    let default: Vec<String>;
    let words = match &message.words {
        Some(words) => words,
        None if role == "Role::Reply" => &Vec::new(),
        None => {
            default = message.data.clone();
            &default
        }
    };
    let rules: Vec<String> = words.iter().map(|rule| parts.rule(rule)).collect::<Result<_, _>>()?;
    let form = camel_case(message.reply.as_deref().unwrap_or("plain"));
    let mut out = String::from("    Message {\n");
    let mut line = |field: &str, value: String| writeln!(out, "        {field}: {value},").unwrap();
    line("template", template.to_string());
    line("name", format!("{:?}", message.name));
    line("summary", format!("{summary:?}"));
    line("role", role.to_owned());
    line("block", block.to_string());
    line("fields", field_list(&parts.fields));
    line("group", message.group.as_ref().map_or(Ok("None".into()), group)?);
    line("data", format!("&{:?}", message.data));
    line("words", format!("&[{}]", rules.join(", ")));
    line("form", format!("Form::{form}"));
    out += "    },\n";
    Ok(out)
}

/// Names, kinds and offsets of fields, and the length of their block.
fn layout(fields: &[String]) -> Result<(Vec<Laid>, u16), String> {
    let mut block = 0;
    let mut laid = Vec::new();
    for field in fields {
        let (name, kind) = field.split_once(' ').ok_or_else(|| format!("{field:?} is no name and kind"))?;
        let (kind, bytes) = match kind {
            "u8" => ("U8", 1),
            "u32" => ("U32", 4),
            "u64" => ("U64", 8),
            "i64" => ("I64", 8),
            "f64" => ("F64", 8),
            _ => return Err(format!("unknown kind of field {kind:?}")),
        };
        laid.push((name.to_owned(), kind, block));
        block += bytes;
    }
    Ok((laid, block))
}

fn field_list(fields: &[Laid]) -> String {
    let fields: Vec<String> = fields
        .iter()
        .map(|(name, kind, offset)| format!("Field {{ name: {name:?}, kind: Kind::{kind}, offset: {offset} }}"))
        .collect();
    format!("&[{}]", fields.join(", "))
}

fn group(group: &Group) -> Result<String, String> {
    let (fields, block) = layout(&group.fields)?;
    Ok(format!(
        "Some(Group {{ name: {:?}, block: {block}, fields: {}, data: &{:?} }})",
        group.name,
        field_list(&fields),
        group.data
    ))
}

impl Parts<'_> {
    fn field(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|(field, _, _)| field == name)
    }

    fn data(&self, name: &str) -> Option<usize> {
        self.message.data.iter().position(|data| data == name)
    }

    fn wanted(&self, place: Option<usize>, name: &str) -> Result<usize, String> {
        place.ok_or_else(|| format!("message {} has no {name:?} of that sort", self.message.name))
    }

    fn rule(&self, rule: &str) -> Result<String, String> {
        let is_group = |name: &str| self.message.group.as_ref().is_some_and(|group| group.name == name);
        if let Some(word) = rule.strip_prefix("= ") {
            return Ok(format!("Rule::Word({word:?})"));
        }
        if let Some(name) = rule.strip_prefix("# ") {
            return if is_group(name) { Ok("Rule::Count".into()) } else { Err(format!("no group {name:?}")) };
        }
        let (condition, then) = match rule.split_once(": ") {
            Some((condition, then)) => (condition, Some(then)),
            None => (rule, None),
        };
        if let Some((field, words)) = condition.split_once(" of ") {
            return self.choice(field, words, then);
        }
        let Some(then) = then else {
            return match (is_group(rule), self.field(rule), self.data(rule)) {
                (true, _, _) => Ok("Rule::Group".into()),
                (_, Some(field), _) => Ok(format!("Rule::Number({field})")),
                (_, _, data) => Ok(format!("Rule::Data({})", self.wanted(data, rule)?)),
            };
        };
        if let Some((field, mask)) = condition.split_once(" & ") {
            let field = self.wanted(self.field(field), field)?;
            return Ok(format!("Rule::Bit({field}, {mask}, {then:?})"));
        }
        if let Some(field) = condition.strip_suffix(" > 0") {
            return Ok(format!("Rule::Positive({})", self.wanted(self.field(field), field)?));
        }
        if let Some((field, value)) = condition.split_once(" != ") {
            let place = self.wanted(self.field(field), field)?;
            return Ok(format!("Rule::Unless({place}, {value})"));
        }
        let (word, data) = match then.split_once(' ') {
            Some((word, data)) => (format!("Some({word:?})"), data),
            None => ("None".to_owned(), then),
        };
        let data = self.wanted(self.data(data), data)?;
        match self.field(condition) {
            Some(field) => Ok(format!("Rule::WhenSet({field}, {word}, {data})")),
            None => Ok(format!("Rule::WhenFilled({}, {word}, {data})", self.wanted(self.data(condition), condition)?)),
        }
    }

    fn choice(&self, field: &str, words: &str, then: Option<&str>) -> Result<String, String> {
        let place = self.wanted(self.field(field), field)?;
        let words: Vec<&str> = words.split(", ").map(|word| if word == "-" { "" } else { word }).collect();
        match then {
            Some(value) => Ok(format!("Rule::Option({place}, &{words:?}, {})", self.wanted(self.field(value), value)?)),
            None => Ok(format!("Rule::Choice({place}, &{words:?})")),
        }
    }
}
