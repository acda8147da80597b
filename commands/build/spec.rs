//! The shape of a spec file, and reading all of them.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

/// One command, as its file describes it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    pub name: String,
    pub container: Option<String>,
    pub summary: String,
    pub group: String,
    pub since: String,
    pub complexity: String,
    pub arity: i16,
    pub flags: Vec<String>,
    pub acl: Vec<String>,
    #[serde(default)]
    pub tips: Vec<String>,
    pub replies: Vec<String>,
    /// Permanent id of the SBE message that carries this command.
    pub template: Option<u16>,
    /// That message's layout, and the words it stands for.
    pub message: Option<Message>,
    /// What more words than the arguments take are answered with: `Syntax` unless said otherwise.
    #[serde(default)]
    pub excess: Excess,
    /// Unknown subcommands and wrong numbers of arguments share one error text.
    #[serde(default)]
    pub lumped_errors: bool,
    #[serde(default)]
    pub doc_flags: Vec<String>,
    pub deprecated_since: Option<String>,
    pub replaced_by: Option<String>,
    #[serde(default)]
    pub history: Vec<[String; 2]>,
    #[serde(default)]
    pub keys: Vec<Key>,
    #[serde(default)]
    pub arguments: Vec<Argument>,
    pub examples: Vec<Example>,
    #[serde(skip)]
    pub file: PathBuf,
    #[serde(skip)]
    pub text: String,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum Excess {
    #[default]
    Syntax,
    WrongArity,
    BadSubcommand,
    #[serde(rename = "ignore")]
    Ignore,
}

/// An SBE message, in the order of the wire: fields, group, data. See `messages.rs`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Message {
    pub name: String,
    /// Each a name and a kind: `flags u8`.
    #[serde(default)]
    pub fields: Vec<String>,
    pub group: Option<Group>,
    /// Strings, each with its length before it.
    #[serde(default)]
    pub data: Vec<String>,
    /// The words it stands for, the command's name left out; all of `data` when they are not told.
    pub words: Option<Vec<String>>,
    /// How it is answered, when not by what the reply is.
    pub reply: Option<String>,
}

/// The repeating part of a message.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    pub name: String,
    #[serde(default)]
    pub fields: Vec<String>,
    #[serde(default)]
    pub data: Vec<String>,
}

/// Where keys are among the words.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Key {
    pub notes: Option<String>,
    pub flags: Vec<String>,
    pub begin: u16,
    pub range: Option<Range>,
    pub count: Option<Count>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Range {
    pub last: i16,
    pub step: u16,
    pub limit: u16,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Count {
    pub at: u16,
    pub first: u16,
    pub step: u16,
}

/// One node of the argument tree. The last seven fields steer parsing and are invisible to clients.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Argument {
    pub name: String,
    #[serde(rename = "type")]
    pub kind: Kind,
    pub display: Option<String>,
    pub token: Option<String>,
    pub key: Option<u8>,
    #[serde(default)]
    pub optional: bool,
    #[serde(default)]
    pub multiple: bool,
    #[serde(default)]
    pub multiple_token: bool,
    pub since: Option<String>,
    pub deprecated_since: Option<String>,
    #[serde(default)]
    pub arguments: Vec<Argument>,
    /// The `CommandError` variant a bad value is answered with.
    pub error: Option<String>,
    pub minimum: Option<i64>,
    pub maximum: Option<i64>,
    /// Converted only after all option words were read.
    #[serde(default)]
    pub late: bool,
    /// An optional word that has its place, unlike an option.
    #[serde(default)]
    pub positional: bool,
    /// An unsigned position of an iteration.
    #[serde(default)]
    pub cursor: bool,
    /// Counts the keys that follow; the struct holds only those.
    #[serde(default)]
    pub numkeys: bool,
    /// From here on the words go unparsed into the field of this name, ...
    pub rest: Option<String>,
    /// ... or through this function of `options.rs` ...
    pub parser: Option<String>,
    /// ... that makes this type.
    pub into: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    Key,
    String,
    Pattern,
    Integer,
    UnixTime,
    Double,
    PureToken,
    #[serde(rename = "oneof")]
    OneOf,
    Block,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Example {
    pub run: String,
    pub reply: String,
    /// The reply is a sample: time, place or state change it.
    #[serde(default)]
    pub varies: bool,
}

impl Spec {
    /// `client|kill`.
    pub fn full_name(&self) -> String {
        match &self.container {
            Some(container) => format!("{container}|{}", self.name).to_lowercase(),
            None => self.name.to_lowercase(),
        }
    }

    /// `CLIENT KILL`.
    pub fn title(&self) -> String {
        self.full_name().replace('|', " ").to_uppercase()
    }

    /// `CLIENT_KILL`.
    pub fn constant(&self) -> String {
        self.full_name().replace(['|', '-', '.'], "_").to_uppercase()
    }

    /// `ClientKill`.
    pub fn type_name(&self) -> String {
        camel_case(&self.full_name())
    }

    /// A complaint with file and line: the first line that holds `word`.
    pub fn complaint(&self, word: &str, what: &str) -> String {
        let line = self.text.lines().position(|line| line.contains(word)).map_or(1, |line| line + 1);
        format!("{}:{line}: {what}", self.file.display())
    }
}

/// `no-evict` as `NoEvict`.
pub fn camel_case(name: &str) -> String {
    let capital = |word: &str| word[..1].to_uppercase() + &word[1..].to_lowercase();
    name.split(['-', '|', '_', ':', '.']).map(capital).collect()
}

/// Reads every spec of the folder, sorted by full name.
pub fn read_all(folder: &Path) -> Result<Vec<Spec>, Vec<String>> {
    let entries = fs::read_dir(folder).map_err(|error| vec![format!("{}: {error}", folder.display())])?;
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "toml"));
    let mut specs = Vec::new();
    let mut complaints = Vec::new();
    for file in files {
        match read(&file) {
            Ok(spec) => specs.push(spec),
            Err(complaint) => complaints.push(complaint),
        }
    }
    specs.sort_by_key(Spec::full_name);
    if complaints.is_empty() { Ok(specs) } else { Err(complaints) }
}

fn read(file: &Path) -> Result<Spec, String> {
    let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let parsed: Result<Spec, toml::de::Error> = toml::from_str(&text);
    match parsed {
        Ok(spec) => Ok(Spec { file: file.to_owned(), text, ..spec }),
        Err(error) => {
            let start = error.span().map_or(0, |span| span.start);
            let line = text[..start].lines().count().max(1);
            Err(format!("{}:{line}: {}", file.display(), error.message()))
        }
    }
}
