//! What a spec must satisfy beyond its shape. Complaints name file and line.

use std::collections::HashMap;

use crate::spec::{Argument, Kind, Spec};
use crate::words::{CATEGORY_WORDS, FLAG_WORDS, KEY_FLAG_WORDS};

/// Columns that help and completion menus leave for a summary.
const SUMMARY_COLUMNS_MAX: usize = 60;
const EXAMPLES_MAX: usize = 4;

const REPLY_WORDS: [&str; 15] = [
    "none",
    "nil",
    "status",
    "integer",
    "double",
    "boolean",
    "bulk",
    "verbatim",
    "array",
    "set",
    "map",
    "page",
    "confirmations",
    "exec",
    "error",
];

/// Answers the specs when nothing is wrong with them.
pub fn check(specs: Vec<Spec>) -> Result<Vec<Spec>, Vec<String>> {
    let mut complaints = Vec::new();
    let mut names = HashMap::new();
    let mut templates = HashMap::new();
    for spec in &specs {
        check_one(spec, &mut complaints);
        if let Some(other) = names.insert(spec.full_name(), &spec.file) {
            complaints
                .push(spec.complaint("name =", &format!("{} is also described in {}", spec.title(), other.display())));
        }
        if let Some(template) = spec.template
            && let Some(other) = templates.insert(template, &spec.file)
        {
            let what = format!("template {template} belongs to {} already", other.display());
            complaints.push(spec.complaint("template =", &what));
        }
        if let Some(container) = &spec.container
            && !specs.iter().any(|other| other.container.is_none() && other.name == *container)
        {
            complaints.push(spec.complaint("container =", &format!("no command is called {container}")));
        }
    }
    if complaints.is_empty() { Ok(specs) } else { Err(complaints) }
}

fn check_one(spec: &Spec, complaints: &mut Vec<String>) {
    let mut complain = |word: &str, what: String| complaints.push(spec.complaint(word, &what));
    if spec.name != spec.name.to_uppercase() {
        complain("name =", "names are written in capitals".into());
    }
    let file = spec.full_name().replace(['|', '.'], "-") + ".toml";
    if spec.file.file_name().is_none_or(|name| name != file.as_str()) {
        complain("name =", format!("the spec of {} belongs into {file}", spec.title()));
    }
    if spec.summary.chars().count() > SUMMARY_COLUMNS_MAX || !spec.summary.ends_with('.') {
        complain("summary =", format!("a summary is a sentence of at most {SUMMARY_COLUMNS_MAX} columns"));
    }
    if spec.examples.is_empty() || spec.examples.len() > EXAMPLES_MAX {
        complain("name =", format!("a spec has 1 to {EXAMPLES_MAX} examples"));
    }
    if spec.arity == 0 {
        complain("arity =", "arity counts the command's own words, so it is never 0".into());
    }
    if spec.replies.is_empty() {
        complain("replies =", "a command answers something, if only `none`".into());
    }
    let known: [(&str, &[String], &[&str]); 3] = [
        ("flag", &spec.flags, &FLAG_WORDS),
        ("category", &spec.acl, &CATEGORY_WORDS),
        ("reply", &spec.replies, &REPLY_WORDS),
    ];
    for (what, words, list) in known {
        for word in words.iter().filter(|word| !list.contains(&word.as_str())) {
            complain(word, format!("unknown {what} {word:?}"));
        }
    }
    for key in &spec.keys {
        for word in key.flags.iter().filter(|word| !KEY_FLAG_WORDS.contains(&word.as_str())) {
            complain(word, format!("unknown key flag {word:?}"));
        }
        if key.range.is_some() == key.count.is_some() {
            complain("[[keys]]", "a key spec has either a range or a count".into());
        }
    }
    for argument in &spec.arguments {
        check_argument(spec, argument, complaints);
    }
}

fn check_argument(spec: &Spec, argument: &Argument, complaints: &mut Vec<String>) {
    let mut complain = |what: &str| {
        let word = format!("{:?}", argument.name);
        complaints.push(spec.complaint(&word, &format!("argument {word}: {what}")));
    };
    let group = matches!(argument.kind, Kind::OneOf | Kind::Block);
    if group == argument.arguments.is_empty() {
        complain("a oneof or block has arguments, and nothing else has");
    }
    if (argument.kind == Kind::PureToken) && argument.token.is_none() {
        complain("a pure-token has a token");
    }
    if argument.key.is_some_and(|key| usize::from(key) >= spec.keys.len()) {
        complain("`key` counts the [[keys]] of this spec from 0");
    }
    if argument.into.is_some() != argument.parser.is_some() || argument.parser.is_some() && argument.rest.is_none() {
        complain("`parser` and `into` come together, and only with `rest`");
    }
    for inner in &argument.arguments {
        check_argument(spec, inner, complaints);
    }
}
