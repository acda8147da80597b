//! The house rules as tests: who may import whom, where packages live, sizes, names, layout.
//!
//! Findings read `file:line: reason`. Files are looked at as text; what follows `#[cfg(test)]` in a file is its own
//! tests and freer than the rest.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::suite::{Need, Suite, tests};

/// Registers this module's tests.
pub fn tests(suite: &mut Suite) {
    tests!(suite, plain, Need::Nothing;
        modules_import_only_what_lies_below_them,
        packages_are_used_in_their_homes_only,
        the_engine_reads_no_clock_and_touches_no_files,
        files_stay_short,
        functions_stay_short,
        unsafe_code_stays_in_its_homes,
        error_texts_are_worded_in_one_place,
        every_module_says_what_it_is,
        no_file_has_a_name_that_fits_anything,
        the_top_level_is_what_was_chosen,
        the_source_folder_stays_small,
        code_is_formatted,
        generated_files_say_so,
    );
}

/// Which modules a module may name, by the first part of their paths. The whole of the map.
const ARROWS: &[(&str, &[&str])] = &[
    ("reply", &[]),
    ("topics", &[]),
    ("limits", &[]),
    ("error", &[]),
    ("command", &["reply", "limits"]),
    ("bus", &["topics", "limits"]),
    ("shm", &["limits", "error"]),
    ("protocol", &["command", "reply", "limits"]),
    ("engine", &["command", "reply", "topics", "limits"]),
    ("transport", &["shm", "limits", "error"]),
    ("server", &["engine", "protocol", "transport", "bus", "command", "reply", "limits", "error"]),
    ("client", &["protocol", "transport", "command", "reply", "limits", "error"]),
    ("bench", &["client", "command", "bus", "reply", "error"]),
    ("app", &["server", "client", "bench", "command", "topics", "reply", "error"]),
    ("main", &["app"]),
];

/// Packages that may be named in these places only; a place is a file or, with a slash at its end, a folder.
const HOMES: &[(&str, &[&str])] = &[
    ("clap", &["src/app/"]),
    ("clap_complete", &["src/app/completions.rs"]),
    ("clap_mangen", &["src/app/manual.rs"]),
    ("jiff", &["src/app/show/"]),
    (
        "rustix",
        &[
            "src/app/password.rs",
            "src/app/resident.rs",
            "src/app/show/table.rs",
            "src/app/sub/ready.rs",
            "src/app/watch.rs",
            "src/bench/listeners.rs",
            "src/engine/set/table/block.rs",
            "src/transport/passing.rs",
        ],
    ),
    ("signal_hook", &["src/app/watch.rs"]),
    ("serde_json", &["src/app/bench/json.rs", "src/app/show/"]),
    ("base64", &["src/app/show/"]),
    ("strsim", &["src/app/help.rs"]),
    ("rustyline", &["src/app/cli/"]),
    ("comfy_table", &["src/app/bench/table.rs", "src/app/show/table.rs"]),
    ("plotters", &["src/app/bench/charts.rs"]),
    ("quanta", &["src/bench/"]),
    ("indicatif", &["src/app/show/progress.rs"]),
    ("hdrhistogram", &["src/bench/report.rs", "src/server/durations.rs", "src/app/cli/latency.rs"]),
    ("memmap2", &["src/shm/region.rs"]),
    ("nix", &["src/bench/cpu.rs", "src/shm/", "src/server/", "src/transport/bell.rs", "src/transport/unix.rs"]),
    ("tokio", &["src/server/", "src/transport/", "src/client/", "src/bench/worker.rs", "src/app/mod.rs"]),
    ("hashbrown", &["src/engine/", "src/topics/", "src/bus/", "src/command/"]),
    ("tikv_jemallocator", &["src/app/", "src/main.rs"]),
    ("tikv_jemalloc_ctl", &["src/app/", "src/main.rs"]),
];

/// Longest file and longest function, in lines.
const FILE_LINES_MAX: usize = 800;
const FUNCTION_LINES_MAX: usize = 100;

/// Today's files and functions above the bound, with their lines. This list may only shrink.
const LONG_FILES: &[(&str, usize)] = &[];
// Both are one flat match, a line or a sentence an arm; every new command or error lengthens them by its own.
const LONG_FUNCTIONS: &[(&str, usize)] = &[];

/// Functions that are one table: a line per command, a line per error. These grow with what they list.
const TABLES: &[&str] = &["src/engine/mod.rs::attempt", "src/reply.rs::text"];

/// Where unsafe code may be.
const UNSAFE_HOMES: &[&str] = &["src/app/resident.rs", "src/shm/", "src/engine/set/table", "src/bus/log.rs"];

/// Everything the top level may hold.
const TOP_LEVEL: &[&str] = &[
    ".ci",
    ".gitignore",
    ".rustfmt.toml",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE",
    "README.md",
    "benches",
    "commands",
    "completions",
    "man",
    "src",
    "tests",
];

/// Most entries directly under `src/`.
const SOURCE_ENTRIES_MAX: usize = 20;

/// The first line of a generated file begins with one of these.
const GENERATED: &[&str] = &["// GENERATED", "//! GENERATED"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A source file.
struct Source {
    /// Relative to the top level, with `/`.
    path: String,
    text: String,
}

impl Source {
    /// Lines with their numbers, up to the file's own tests, comments taken out.
    fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines = self.text.lines().take_while(|line| line.trim() != "#[cfg(test)]");
        lines.enumerate().map(|(index, line)| (index + 1, without_comment(line))).filter(|(_, line)| !line.is_empty())
    }

    fn is_generated(&self) -> bool {
        GENERATED.iter().any(|mark| self.text.starts_with(mark))
    }

    /// Path of its module: `["server", "session"]`.
    fn module(&self) -> Vec<&str> {
        let path = self.path.trim_start_matches("src/").trim_end_matches(".rs");
        let path = path.strip_suffix("/mod").unwrap_or(path);
        if path == "lib" { Vec::new() } else { path.split('/').collect() }
    }
}

/// A line up to its comment. Quotes are not understood: `//` inside a string ends the line as well, which only makes
/// the checks see less of that line.
fn without_comment(line: &str) -> &str {
    line.split("//").next().unwrap_or("").trim_end()
}

/// All Rust files under these folders.
fn sources(folders: &[&str]) -> Vec<Source> {
    let mut found = Vec::new();
    let mut waiting: Vec<PathBuf> = folders.iter().map(|folder| root().join(folder)).collect();
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() && entry.file_name() != "node_modules" {
                waiting.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
                let relative = path.strip_prefix(root()).expect("below the top level");
                found.push(Source { path: relative.to_string_lossy().into_owned(), text });
            }
        }
    }
    assert!(!found.is_empty(), "no sources under {folders:?}");
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

/// Fails with all findings.
fn report(findings: Vec<String>) {
    assert!(findings.is_empty(), "{} findings\n{}", findings.len(), findings.join("\n"));
}

/// True when `word` stands in `line` as a whole word.
fn has_word(line: &str, word: &str) -> bool {
    let is_part = |character: char| character.is_alphanumeric() || character == '_';
    line.match_indices(word).any(|(at, _)| {
        !line[..at].chars().next_back().is_some_and(is_part)
            && !line[at + word.len()..].chars().next().is_some_and(is_part)
    })
}

/// Modules of ours that a line of the module `own` names, by the first part of their paths.
fn modules_named<'a>(line: &'a str, own: &[&str]) -> Vec<&'a str> {
    let mut roots = vec!["crate::".to_owned(), "goblin::".to_owned()];
    roots.push("super::".repeat(own.len().max(1)));
    let mut named = Vec::new();
    for start in &roots {
        for (at, _) in line.match_indices(start.as_str()) {
            let before = &line[..at];
            if before.ends_with("super::") || before.ends_with(|c: char| c.is_alphanumeric() || c == '_') {
                continue;
            }
            named.extend(first_parts(&line[at + start.len()..]));
        }
    }
    named
}

/// The first path parts of `a::b`, `{a::b, c}` and the like.
fn first_parts(rest: &str) -> Vec<&str> {
    let ident = |text: &str| text.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(text.len());
    let Some(list) = rest.strip_prefix('{') else { return vec![&rest[..ident(rest)]] };
    let (mut parts, mut depth, mut expects) = (Vec::new(), 0, true);
    for (at, character) in list.char_indices() {
        match character {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => expects = true,
            _ if expects && !character.is_whitespace() => {
                parts.push(&list[at..at + ident(&list[at..])]);
                expects = false;
            }
            _ => {}
        }
    }
    parts
}

fn modules_import_only_what_lies_below_them() {
    let known: BTreeSet<&str> = ARROWS.iter().map(|(module, _)| *module).collect();
    let mut findings = Vec::new();
    for source in sources(&["src"]) {
        let own = source.module();
        let Some(room) = own.first().copied() else { continue };
        let Some((_, allowed)) = ARROWS.iter().find(|(module, _)| *module == room) else {
            findings.push(format!("{}:1: the module {room} is not on the import map", source.path));
            continue;
        };
        for (number, statement) in statements(&source) {
            for named in modules_named(&statement, &own) {
                if known.contains(named) && named != room && !allowed.contains(&named) {
                    findings.push(format!("{}:{number}: {room} may not import {named}", source.path));
                }
            }
        }
    }
    report(findings);
}

/// Code lines, a `use` over several lines joined into one.
fn statements(source: &Source) -> Vec<(usize, String)> {
    let mut statements: Vec<(usize, String)> = Vec::new();
    let mut open = false;
    for (number, line) in source.code() {
        match statements.last_mut() {
            Some((_, statement)) if open => statement.push_str(line.trim()),
            _ => statements.push((number, line.trim().to_owned())),
        }
        let (_, statement) = statements.last().expect("just pushed");
        let is_use =
            statement.starts_with("use ") || statement.starts_with("pub use ") || statement.starts_with("pub(");
        open = is_use && statement.contains("use ") && !statement.ends_with(';');
    }
    statements
}

fn packages_are_used_in_their_homes_only() {
    let mut findings = Vec::new();
    for source in sources(&["src"]) {
        for (number, line) in source.code() {
            for (package, homes) in HOMES {
                let names = line.contains(&format!("{package}::")) && has_word(line, package)
                    || line.trim() == format!("use {package};");
                if names && !homes.iter().any(|home| is_at(&source.path, home)) {
                    findings.push(format!("{}:{number}: {package} belongs to {}", source.path, homes.join(", ")));
                }
            }
        }
    }
    report(findings);
}

/// True when the path is the place or below it.
fn is_at(path: &str, place: &str) -> bool {
    path == place || place.ends_with('/') && path.starts_with(place)
}

fn the_engine_reads_no_clock_and_touches_no_files() {
    let outside =
        ["std::fs", "std::net", "std::thread", "std::env", "SystemTime", "Instant::now", "RandomState", "async fn"];
    let mut findings = Vec::new();
    for source in sources(&["src"]).iter().filter(|source| source.path.starts_with("src/engine/")) {
        for (number, line) in source.code() {
            for word in outside.iter().filter(|word| line.contains(*word)) {
                findings.push(format!("{}:{number}: the engine is given its time and seed; no {word}", source.path));
            }
        }
    }
    report(findings);
}

/// Compares what is too long with what was too long when the list was written.
fn ratchet(bound: usize, listed: &[(&str, usize)], found: &[(String, String, usize)]) {
    let mut findings = Vec::new();
    for (name, place, lines) in found.iter().filter(|(_, _, lines)| *lines > bound) {
        match listed.iter().find(|(listed, _)| listed == name) {
            None => findings.push(format!("{place}: {name} has {lines} lines, at most {bound} are allowed")),
            Some((_, known)) if lines > known => {
                findings.push(format!("{place}: {name} grew from {known} to {lines} lines"))
            }
            Some(_) => {}
        }
    }
    for (name, known) in listed {
        let now = found.iter().filter(|(found, _, _)| found == name).map(|(_, _, lines)| *lines).max().unwrap_or(0);
        if now < *known {
            findings.push(format!("tests/it/tidy.rs:1: {name} has {now} lines now, not {known}: shrink the list"));
        }
    }
    report(findings);
}

fn files_stay_short() {
    let sources = sources(&["src", "tests", "commands", "benches"]);
    let written = sources.iter().filter(|source| !source.is_generated());
    let found: Vec<_> = written
        .map(|source| {
            let lines = source.text.lines().count();
            (source.path.clone(), format!("{}:{lines}", source.path), lines)
        })
        .collect();
    ratchet(FILE_LINES_MAX, LONG_FILES, &found);
}

fn functions_stay_short() {
    let mut found = Vec::new();
    for source in sources(&["src", "tests", "commands", "benches"]).iter().filter(|source| !source.is_generated()) {
        let lines: Vec<&str> = source.text.lines().collect();
        for (index, line) in lines.iter().enumerate() {
            let Some(name) = function_name(line) else { continue };
            let indent = &line[..line.len() - line.trim_start().len()];
            let end = format!("{indent}}}");
            // Declarations without a body and one-line functions end before the next line of the same depth.
            let body = lines[index..].iter().position(|line| **line == end);
            let next =
                lines[index + 1..].iter().position(|line| line.starts_with(indent) && function_name(line).is_some());
            let length = match (body, next) {
                (Some(body), Some(next)) if next < body && !line.ends_with('{') && line.ends_with(['}', ';']) => 1,
                (Some(_), _) if line.ends_with(['}', ';']) => 1,
                (Some(body), _) => body + 1,
                (None, _) => 1,
            };
            let full = format!("{}::{name}", source.path);
            if TABLES.contains(&full.as_str()) {
                continue;
            }
            found.push((full, format!("{}:{}", source.path, index + 1), length));
        }
    }
    assert!(found.len() > 50, "functions are found at all");
    ratchet(FUNCTION_LINES_MAX, LONG_FUNCTIONS, &found);
}

/// The name of the function that a line begins.
fn function_name(line: &str) -> Option<&str> {
    let mut rest = line.trim_start();
    loop {
        let prefixes = ["pub ", "pub(crate) ", "pub(super) ", "const ", "async ", "unsafe ", "extern \"C\" "];
        match prefixes.iter().find_map(|prefix| rest.strip_prefix(prefix)) {
            Some(shorter) => rest = shorter,
            None => break,
        }
    }
    let name = rest.strip_prefix("fn ")?;
    Some(&name[..name.find(|c: char| !(c.is_alphanumeric() || c == '_'))?])
}

fn unsafe_code_stays_in_its_homes() {
    let mut findings = Vec::new();
    for source in sources(&["src", "commands", "benches"]) {
        if UNSAFE_HOMES.iter().any(|home| source.path.starts_with(home)) {
            continue;
        }
        for (index, line) in source.text.lines().enumerate() {
            if has_word(without_comment(line), "unsafe") {
                findings.push(format!("{}:{}: unsafe belongs to {}", source.path, index + 1, UNSAFE_HOMES.join(", ")));
            }
        }
    }
    report(findings);
}

fn error_texts_are_worded_in_one_place() {
    let codes = ["ERR ", "WRONGTYPE", "NOAUTH", "WRONGPASS", "EXECABORT", "NOPROTO", "NOPERM", "BUSYGROUP"];
    let mut findings = Vec::new();
    for source in sources(&["src"]) {
        let is_home = source.path == "src/reply.rs" || source.path.starts_with("src/reply/");
        if is_home || source.is_generated() {
            continue;
        }
        for (number, line) in source.code() {
            for code in codes {
                if line.contains(&format!("\"{code}")) || line.contains(&format!("\"-{code}")) {
                    findings
                        .push(format!("{}:{number}: {code:?}: error texts are worded in src/reply.rs", source.path));
                }
            }
        }
    }
    report(findings);
}

fn every_module_says_what_it_is() {
    let sources = sources(&["src", "tests", "commands", "benches"]);
    // Unit tests in a file of their own are introduced by the module they test.
    let written = sources.iter().filter(|source| !source.is_generated() && !source.path.ends_with("/tests.rs"));
    let silent = written.filter(|source| !source.text.starts_with("//! "));
    report(silent.map(|source| format!("{}:1: a file begins with what it is, `//! …`", source.path)).collect());
}

fn no_file_has_a_name_that_fits_anything() {
    let forbidden = ["util", "utils", "common", "helper", "helpers", "misc", "manager"];
    let mut findings = Vec::new();
    for source in sources(&["src", "tests", "commands", "benches"]) {
        let parts = source.path.trim_end_matches(".rs").split('/');
        for part in parts.filter(|part| forbidden.contains(part)) {
            findings.push(format!("{}:1: {part} fits anything", source.path));
        }
    }
    report(findings);
}

fn the_top_level_is_what_was_chosen() {
    let listed = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(root())
        .output()
        .expect("git lists the files");
    assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
    let text = String::from_utf8_lossy(&listed.stdout);
    let entries: BTreeSet<&str> = text.lines().map(|path| path.split('/').next().unwrap_or(path)).collect();
    assert!(entries.contains("Cargo.toml"), "{entries:?}");
    let strangers = entries.iter().filter(|entry| !TOP_LEVEL.contains(entry));
    report(strangers.map(|entry| format!("{entry}:1: the top level holds only {}", TOP_LEVEL.join(" "))).collect());
}

fn the_source_folder_stays_small() {
    let count = fs::read_dir(root().join("src")).expect("src").count();
    assert!(count <= SOURCE_ENTRIES_MAX, "src:1: {count} entries, at most {SOURCE_ENTRIES_MAX} are allowed");
}

fn code_is_formatted() {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let checked =
        Command::new(cargo).args(["fmt", "--check", "--", "-l"]).current_dir(root()).output().expect("cargo fmt");
    let text = String::from_utf8_lossy(&checked.stdout);
    assert!(checked.status.success(), "run `cargo fmt`:\n{text}{}", String::from_utf8_lossy(&checked.stderr));
}

fn generated_files_say_so() {
    let written = ["src/command/table.rs", "src/command/types.rs"];
    let mut findings = Vec::new();
    for path in written.iter().filter(|path| root().join(path).exists()) {
        let text = fs::read_to_string(root().join(path)).expect("a source file");
        if !GENERATED.iter().any(|mark| text.starts_with(mark)) {
            findings.push(format!("{path}:1: a generated file says so and names the command that writes it"));
        }
    }
    // And only files that the build script writes may claim to be generated.
    for source in sources(&["src"]).iter().filter(|source| source.is_generated()) {
        if !source.text.lines().next().is_some_and(|line| line.contains("UPDATE=1")) {
            findings.push(format!("{}:1: a generated file names the command that writes it", source.path));
        }
    }
    report(findings);
}
