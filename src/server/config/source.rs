//! Values and where they were said, and reading a configuration file of either form.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::{Problem, redis_conf, toml_file};

/// Largest configuration or password file, in bytes: far above real ones, far below what would hurt.
const FILE_BYTES_MAX: u64 = 4 << 20;

/// One value of one setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    /// The setting, in any case; `no-unixsocket` and `requirepass-file` besides those of the registry.
    pub name: String,
    /// Its value; more than one word only for settings that take several.
    pub words: Vec<Vec<u8>>,
    /// Where it was said.
    pub origin: Origin,
}

/// Where a value was said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// A flag, such as `--port`.
    Flag(String),
    /// An environment variable.
    Environment(&'static str),
    /// A line of a file, counted from 1.
    Line {
        /// The file as it was named.
        file: PathBuf,
        /// The line.
        line: usize,
    },
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Flag(flag) => f.write_str(flag),
            Origin::Environment(variable) => f.write_str(variable),
            Origin::Line { file, line } => write!(f, "{}:{line}", file.display()),
        }
    }
}

impl Given {
    /// A value of one word.
    pub fn new(name: &str, value: impl Into<Vec<u8>>, origin: Origin) -> Self {
        Given { name: name.to_owned(), words: vec![value.into()], origin }
    }

    /// Name and value for a message: secrets are left out, long values cut, control characters escaped. A flag
    /// that is the setting's own does not have its name repeated.
    pub(super) fn shown(&self) -> String {
        let own_flag = matches!(&self.origin, Origin::Flag(flag) if flag.strip_prefix("--") == Some(&self.name));
        let secret = ["pass", "auth"].iter().any(|part| self.name.to_ascii_lowercase().contains(part));
        let mut parts = Vec::new();
        if !own_flag || secret {
            parts.push(self.name.clone());
        }
        if !secret {
            let value = String::from_utf8_lossy(&self.words.join(&b' ')).escape_debug().to_string();
            parts.push(match value.char_indices().nth(80) {
                _ if value.is_empty() => "''".to_owned(),
                Some((end, _)) => format!("{}...", &value[..end]),
                None => value,
            });
        }
        parts.join(" ")
    }
}

/// The values of a file in the order they count, and the lines that are not to be read.
///
/// A line is taken as TOML when the first one that says anything has `=` after its first word or opens a table; as
/// redis.conf otherwise.
///
/// # Errors
/// The file cannot be read.
pub(super) fn read(path: &Path) -> Result<(Vec<Given>, Vec<Problem>), Problem> {
    let content =
        read_bounded(path).map_err(|why| Problem { origin: None, what: format!("{}: {why}", path.display()) })?;
    Ok(parse(path, &content))
}

/// The same for a content that was read already.
pub(super) fn parse(path: &Path, content: &[u8]) -> (Vec<Given>, Vec<Problem>) {
    if is_toml(path, content) { toml_file::parse(path, content) } else { redis_conf::parse(path, content) }
}

/// Whether a file is TOML. One that says nothing is what its name says.
pub(super) fn is_toml(path: &Path, content: &[u8]) -> bool {
    let says_nothing = |line: &[u8]| line.is_empty() || line.starts_with(b"#");
    let silent = content.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).all(says_nothing);
    looks_like_toml(content) || silent && path.extension().is_some_and(|extension| extension == "toml")
}

fn looks_like_toml(content: &[u8]) -> bool {
    let lines = content.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let Some(line) = lines.into_iter().find(|line| !line.is_empty() && !line.starts_with(b"#")) else {
        return false;
    };
    let word = line.iter().take_while(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(byte)).count();
    line.starts_with(b"[") || line.starts_with(b"\"") || line[word..].trim_ascii_start().starts_with(b"=")
}

/// A whole file, or in words why not.
pub(super) fn read_bounded(path: &Path) -> Result<Vec<u8>, String> {
    let file = File::open(path).map_err(|error| why(&error))?;
    let mut content = Vec::new();
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut content).map_err(|error| why(&error))?;
    if content.len() as u64 > FILE_BYTES_MAX {
        return Err(format!("larger than {FILE_BYTES_MAX} bytes"));
    }
    Ok(content)
}

/// The system's words without its number.
pub(super) fn why(error: &std::io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error") {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_of_a_file_shows_in_its_first_line() {
        for toml in ["port = 1", "# x\n\n  port=1", "[a]", "\"port\" = 1"] {
            assert!(looks_like_toml(toml.as_bytes()), "{toml}");
        }
        for conf in ["port 1", "", "# port = 1", "rename-command a \"=\""] {
            assert!(!looks_like_toml(conf.as_bytes()), "{conf}");
        }
    }

    #[test]
    fn secrets_are_not_shown() {
        let origin = Origin::Line { file: "f".into(), line: 1 };
        assert_eq!(Given::new("requirepass", "x", origin.clone()).shown(), "requirepass");
        assert_eq!(Given::new("hz", "a\nb", origin).shown(), "hz a\\nb");
        assert_eq!(Given::new("hz", "x", Origin::Flag("--hz".into())).shown(), "x");
        assert_eq!(Given::new("hz", "", Origin::Flag("--set hz".into())).shown(), "hz ''");
    }
}
