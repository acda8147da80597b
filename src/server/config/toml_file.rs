//! Configuration files in TOML: the keys are the names of the flags and settings.

use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::Problem;
use super::source::{Given, Origin};
use crate::server::settings::{Form, Written};

/// The settings in the order of the file, and what cannot be read.
pub(super) fn parse(path: &Path, content: &[u8]) -> (Vec<Given>, Vec<Problem>) {
    let origin_at = |byte: usize| {
        let before = &content[..byte.min(content.len())];
        Origin::Line { file: path.to_owned(), line: 1 + before.iter().filter(|byte| **byte == b'\n').count() }
    };
    let text = match std::str::from_utf8(content) {
        Ok(text) => text,
        Err(error) => {
            let origin = Some(origin_at(error.valid_up_to()));
            return (Vec::new(), vec![Problem { origin, what: "not UTF-8".to_owned() }]);
        }
    };
    let (table, errors) = DeTable::parse_recoverable(text);
    if !errors.is_empty() {
        let problem = |error: toml::de::Error| Problem {
            origin: Some(origin_at(error.span().map_or(0, |span| span.start))),
            what: error.message().replace('\n', ", "),
        };
        return (Vec::new(), errors.into_iter().map(problem).collect());
    }
    let mut entries: Vec<_> = table.into_inner().into_iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    let mut settings = Vec::new();
    let mut problems = Vec::new();
    for (key, value) in entries {
        let origin = origin_at(key.span().start);
        match words(&value) {
            Some(words) => settings.push(Given { name: key.get_ref().to_string(), words, origin }),
            None => {
                let what = format!("{}: neither text, number, true, false nor a list of those", key.get_ref());
                problems.push(Problem { origin: Some(origin), what });
            }
        }
    }
    (settings, problems)
}

/// Gives settings other values, where they stand or at the end. The rest stays as it is.
///
/// # Errors
/// The file cannot be read, or a value cannot be written in it.
pub(super) fn edit(path: &Path, content: Vec<u8>, differences: &[Written]) -> Result<Vec<u8>, String> {
    let mut text = String::from_utf8(content).map_err(|_| format!("{}: not UTF-8", path.display()))?;
    let (table, errors) = DeTable::parse_recoverable(&text);
    if let Some(error) = errors.first() {
        return Err(error.message().replace('\n', ", "));
    }
    let mut replaced = Vec::new();
    let mut added = String::new();
    for written in differences {
        let value = toml_value(written)?;
        match table.get_ref().iter().find(|(key, _)| written.is_called(key.get_ref())) {
            Some((_, old)) => replaced.push((old.span(), value)),
            None => added += &format!("{} = {value}\n", written.name),
        }
    }
    drop(table);
    // From the end, so that earlier places stay where they are.
    replaced.sort_by_key(|(span, _)| std::cmp::Reverse(span.start));
    for (span, value) in replaced {
        text.replace_range(span, &value);
    }
    if !added.is_empty() {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        if !text.lines().any(|line| line.trim() == super::rewrite::MARK) {
            text += &format!("{}\n", super::rewrite::MARK);
        }
        text += &added;
    }
    Ok(text.into_bytes())
}

fn toml_value(written: &Written) -> Result<String, String> {
    let text = std::str::from_utf8(&written.value);
    let text = text.map_err(|_| format!("{}: a value that is not UTF-8 has no form in TOML", written.name))?;
    Ok(match written.form {
        Form::Switch => (text == "yes").to_string(),
        Form::Number => text.to_owned(),
        Form::Text | Form::Words => toml::Value::from(text).to_string(),
    })
}

/// A value as words. A list is one value of several words, for the settings that take them.
fn words(value: &Spanned<DeValue<'_>>) -> Option<Vec<Vec<u8>>> {
    match value.get_ref() {
        DeValue::Array(items) => items.iter().map(word).collect(),
        _ => word(value).map(|word| vec![word]),
    }
}

fn word(value: &Spanned<DeValue<'_>>) -> Option<Vec<u8>> {
    match value.get_ref() {
        DeValue::String(text) => Some(text.as_bytes().to_vec()),
        DeValue::Integer(number) => Some(number.to_string().into_bytes()),
        DeValue::Float(number) => Some(number.to_string().into_bytes()),
        DeValue::Boolean(yes) => Some(if *yes { b"yes".to_vec() } else { b"no".to_vec() }),
        DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Vec<(String, String)>, Vec<String>) {
        let (settings, problems) = parse(Path::new("f"), text.as_bytes());
        let settings = settings.iter().map(|given| {
            let value = String::from_utf8(given.words.join(&b'|')).unwrap();
            (format!("{}@{}", given.name, given.origin), value)
        });
        (settings.collect(), problems.iter().map(Problem::to_string).collect())
    }

    #[test]
    fn values_of_all_plain_types_are_words() {
        let (settings, problems) =
            read("# x\nport = 6_380\nbind = [\"127.0.0.1\", \"::1\"]\nprotected-mode = false\nhz = '20'\n");
        let expected =
            [("port@f:2", "6380"), ("bind@f:3", "127.0.0.1|::1"), ("protected-mode@f:4", "no"), ("hz@f:5", "20")];
        assert_eq!(settings, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
        assert_eq!(problems, [""; 0]);
    }

    #[test]
    fn what_is_no_value_is_named_with_its_line() {
        let (settings, problems) = read("port = 1\n[clients]\nmax = 1\n");
        assert_eq!(settings.len(), 1);
        assert_eq!(problems, ["f:2: clients: neither text, number, true, false nor a list of those"]);
        let (_, problems) = read("port = 1\nhz = \n");
        assert_eq!(problems.len(), 1);
        assert!(problems[0].starts_with("f:2: "), "{problems:?}");
    }
}
