//! The lines typed in earlier sessions, in a file that nobody else can read.
//!
//! The file is `GOBLIN_HISTORY`, or `goblin/history` in the user's folder for state (`XDG_STATE_HOME`); a line an entry.
//! A file that cannot be used is said once, and the session goes on without it.
//!
//! Invariant: the file has mode 0600 before anything is written into it.
//! Invariant: an entry is appended whole by one write; a reader never meets half of one, however many sessions there
//! are.
//! Invariant: what may hold a secret is never written.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::special::{begins, is};
use super::words::{self, typed};
use crate::app::show;
use crate::client::split_words;

/// Entries kept in the file; it is cut back to these when it holds twice as many.
pub(super) const ENTRIES_MAX: usize = 1000;

/// Bytes of the longest entry in the file: what is longer was pasted rather than typed.
const ENTRY_BYTES_MAX: usize = 4096;

/// Where entries are kept, if anywhere.
#[derive(Debug)]
pub(super) struct History {
    path: Option<PathBuf>,
}

impl History {
    /// No file at all.
    pub(super) fn none() -> Self {
        History { path: None }
    }

    /// The user's file and what it holds, oldest first.
    pub(super) fn open() -> (Self, Vec<String>) {
        let Some(path) = path_of(|name| std::env::var_os(name).filter(|value| !value.is_empty())) else {
            return (History::none(), Vec::new());
        };
        // A device, such as /dev/null, is how one says that there is to be no history.
        if fs::metadata(&path).is_ok_and(|known| !known.is_file()) {
            return (History::none(), Vec::new());
        }
        match read(&path) {
            Ok(entries) => (History { path: Some(path) }, entries),
            Err(error) => {
                show::notice(format_args!("no history: {}: {error}", path.display()));
                (History::none(), Vec::new())
            }
        }
    }

    /// Keeps a line for later sessions, unless it may hold a secret, begins with a blank, or is very long.
    pub(super) fn append(&mut self, line: &str) {
        let Some(path) = &self.path else { return };
        if line.starts_with(char::is_whitespace) || is_secret(line) {
            return;
        }
        let Some(entry) = entry(line) else { return };
        if let Err(error) = append(path, &entry) {
            show::notice(format_args!("no history from here on: {}: {error}", path.display()));
            self.path = None;
        }
    }
}

fn path_of(variable: impl Fn(&str) -> Option<std::ffi::OsString>) -> Option<PathBuf> {
    if let Some(path) = variable("GOBLIN_HISTORY") {
        return Some(path.into());
    }
    let state = variable("XDG_STATE_HOME").map(PathBuf::from);
    let home = || variable("HOME").map(|home| Path::new(&home).join(".local/state"));
    let folder = state.filter(|folder| folder.is_absolute()).or_else(home)?.join("goblin");
    // If this fails, opening the file says why.
    let _ = DirBuilder::new().recursive(true).mode(0o700).create(&folder);
    Some(folder.join("history"))
}

/// A line as an entry; none when it is empty or too long for one.
fn entry(line: &str) -> Option<String> {
    let line = line.trim();
    // A line end between quotes would end the entry.
    let entry = if line.contains('\n') {
        let words = split_words(line.as_bytes()).ok()?;
        words.iter().map(|word| typed(word)).collect::<Vec<_>>().join(" ")
    } else {
        line.to_owned()
    };
    (!entry.is_empty() && entry.len() <= ENTRY_BYTES_MAX).then_some(entry)
}

/// The file, private and locked against others until it is closed.
fn open(path: &Path) -> io::Result<File> {
    loop {
        let file = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path)?;
        file.lock()?;
        let held = file.metadata()?;
        // Somebody may have put a shorter file in its place while we waited.
        if fs::metadata(path).is_ok_and(|named| (named.dev(), named.ino()) == (held.dev(), held.ino())) {
            if held.mode() & 0o077 != 0 {
                file.set_permissions(Permissions::from_mode(0o600))?;
            }
            return Ok(file);
        }
    }
}

fn read(path: &Path) -> io::Result<Vec<String>> {
    let mut bytes = Vec::new();
    let mut file = open(path)?;
    file.read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let mut entries: Vec<String> = text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect();
    let surplus = entries.len().saturating_sub(ENTRIES_MAX);
    entries.drain(..surplus);
    if surplus > ENTRIES_MAX {
        replace(path, &entries)?;
    }
    Ok(entries)
}

/// Puts a file with these entries in place of the one that is locked.
fn replace(path: &Path, entries: &[String]) -> io::Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}", std::process::id()));
    let shorter = PathBuf::from(name);
    let written = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&shorter).and_then(|mut file| {
        file.write_all((entries.join("\n") + "\n").as_bytes())?;
        fs::rename(&shorter, path)
    });
    if written.is_err() {
        // What could not be put in place is of no use.
        let _ = fs::remove_file(&shorter);
    }
    written
}

fn append(path: &Path, entry: &str) -> io::Result<()> {
    open(path)?.write_all(format!("{entry}\n").as_bytes())
}

/// True for a line that may hold a password: better one too many left out than one too few.
pub(super) fn is_secret(line: &str) -> bool {
    let bytes = line.as_bytes();
    let mut words: Vec<Vec<u8>> = words::pieces(bytes).iter().map(|piece| piece.value(bytes)).collect();
    // A count before the command repeats it.
    if words.len() > 1 && words[0].iter().all(u8::is_ascii_digit) {
        words.remove(0);
    }
    let names_secret = |word: &Vec<u8>| {
        let word = word.to_ascii_lowercase();
        word.ends_with(b"pass") || word.windows(4).any(|part| part == b"auth") || word.ends_with(b"password")
    };
    let has_url = words.iter().any(|word| {
        let behind = word.windows(3).position(|part| part == b"://").map(|at| &word[at..]);
        behind.is_some_and(|rest| rest.contains(&b'@'))
    });
    // What is not whole may be anything: a quote left open hides where words end.
    let is_whole = split_words(bytes).is_ok();
    begins(&words, &["AUTH"])
        || begins(&words, &["ACL", "SETUSER"])
        || (begins(&words, &["HELLO"]) || begins(&words, &["MIGRATE"]) || !is_whole)
            && words.iter().any(|word| is(word, "AUTH") || is(word, "AUTH2"))
        || (begins(&words, &["CONFIG", "SET"]) || !is_whole) && words.iter().any(names_secret)
        || has_url
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_known_by_their_commands() {
        for line in [
            "AUTH secret",
            "auth user secret",
            "'AUTH' secret",
            "5 auth secret",
            "auth \"sec",
            "HELLO 3 AUTH u secret SETNAME n",
            "acl setuser u on >secret",
            "CONFIG SET requirepass secret",
            "config set maxclients 5 masterauth secret",
            "config set requirepass \"sec",
            "config set tls-key-file-pass x",
            "MIGRATE h 1 k 0 5 AUTH2 u secret",
            "SET url redis://u:secret@h/0",
            "SET url 'x rediss://:secret@h'",
        ] {
            assert!(is_secret(line), "{line}");
        }
        for line in
            ["GET k", "SET author me", "HELLO 3", "CONFIG GET requirepass", "SET u redis://h:1/0", "SADD s a@b", ""]
        {
            assert!(!is_secret(line), "{line}");
        }
    }

    #[test]
    fn entries_are_single_lines() {
        assert_eq!(entry(" GET k ").as_deref(), Some("GET k"));
        assert_eq!(entry("SET k \"a\nb\"").as_deref(), Some("SET k \"a\\nb\""));
        assert_eq!(entry("SET k \"a\nb"), None);
        assert_eq!(entry("  "), None);
        assert_eq!(entry(&"x".repeat(ENTRY_BYTES_MAX + 1)), None);
    }

    #[test]
    fn the_file_is_where_the_user_keeps_state() {
        let path = |pairs: &'static [(&str, &str)]| {
            path_of(|name| pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into()))
        };
        assert_eq!(path(&[("GOBLIN_HISTORY", "/x/y"), ("HOME", "/h")]), Some("/x/y".into()));
        assert_eq!(path(&[]), None);
    }

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("goblin-history-{}-{name}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn the_file_is_private_and_cut_back() {
        let folder = folder("cut");
        let path = folder.join("history");
        fs::write(&path, (0..2 * ENTRIES_MAX + 1).map(|number| format!("GET {number}\n")).collect::<String>()).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        let entries = read(&path).unwrap();
        assert_eq!((entries.len(), &*entries[0]), (ENTRIES_MAX, "GET 1001"));
        append(&path, "LAST").unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!((text.lines().count(), text.lines().last()), (ENTRIES_MAX + 1, Some("LAST")));
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn many_sessions_lose_no_entry() {
        let folder = folder("many");
        let path = folder.join("history");
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let path = &path;
                scope.spawn(move || {
                    for number in 0..200 {
                        append(path, &format!("GET {writer}:{number}")).unwrap();
                        if number % 50 == 0 {
                            let _lock = open(path).unwrap();
                            let text = fs::read_to_string(path).unwrap();
                            replace(path, &text.lines().map(str::to_owned).collect::<Vec<_>>()).unwrap();
                        }
                    }
                });
            }
        });
        let text = fs::read_to_string(&path).unwrap();
        for writer in 0..4 {
            let own: Vec<&str> = text.lines().filter(|line| line.starts_with(&format!("GET {writer}:"))).collect();
            let wanted: Vec<String> = (0..200).map(|number| format!("GET {writer}:{number}")).collect();
            assert_eq!(own, wanted);
        }
        fs::remove_dir_all(folder).unwrap();
    }
}
