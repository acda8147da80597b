//! The manual page of the commands, `man/goblin-commands.7`, made from the table.

use super::{Group, SPECS, Spec, hint};

/// Groups in reading order, with their headings.
const CHAPTERS: [(Group, &str); 9] = [
    (Group::Set, "SETS"),
    (Group::Pubsub, "PUBLISH AND SUBSCRIBE"),
    (Group::Generic, "KEYS"),
    (Group::String, "STRINGS"),
    (Group::Bitmap, "BITS"),
    (Group::Transactions, "TRANSACTIONS"),
    (Group::Connection, "CONNECTIONS"),
    (Group::Server, "SERVER"),
    (Group::Scripting, "FUNCTIONS"),
];

/// The whole page in roff.
pub fn manual() -> String {
    let mut page = String::from(
        ".\\\" GENERATED from commands/*.toml; change a spec, then run: UPDATE=1 cargo test\n\
         .TH GOBLIN\\-COMMANDS 7 \"\" goblin \"Commands of the goblin server\"\n\
         .SH NAME\ngoblin\\-commands \\- the commands that a goblin server answers\n\
         .SH DESCRIPTION\n\
         Words in capitals are typed as they are, in any case; other words stand for values.\n\
         What is in brackets may be left out, a bar separates choices, and dots mean that more of the same may follow.\n\
         Versions are those of Redis.\n\
         Under each command, lines after a prompt are what to type, and the lines below what comes back, as\n\
         .BR goblin\\-cli (1)\nprints it.\n",
    );
    for (group, heading) in CHAPTERS {
        page += &format!(".SH {heading}\n");
        for spec in SPECS.iter().filter(|spec| spec.group == group) {
            entry(&mut page, spec);
        }
    }
    page
}

fn entry(page: &mut String, spec: &Spec) {
    let arguments = hint::usage(spec)[spec.title.len()..].to_owned();
    *page += &format!(".SS {}\n.B {}\n{}\n.PP\n", escape(spec.title), escape(spec.title), line(arguments.trim_start()));
    *page +=
        &format!("{}\n.br\nSince {}. Cost: {}.\n", line(spec.summary), escape(spec.since), escape(spec.complexity));
    if let Some(version) = spec.deprecated_since {
        *page += &format!(".br\nDeprecated since {}.\n", escape(version));
    }
    for (version, what) in spec.history {
        *page += &format!(".br\nFrom {}: {}\n", escape(version), escape(what));
    }
    *page += ".PP\n.nf\n.RS\n";
    for example in spec.examples {
        *page += &format!("> {}\n", escape(example.run));
        for reply in example.reply.lines() {
            *page += &format!("{}\n", line(reply));
        }
    }
    *page += ".RE\n.fi\n";
}

/// Text that starts a line: a leading dot or quote would be a request.
fn line(text: &str) -> String {
    let text = escape(text);
    if text.starts_with(['.', '\'']) { format!("\\&{text}") } else { text }
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\e").replace('-', "\\-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_in_the_manual() {
        let page = manual();
        for spec in &SPECS {
            assert!(page.contains(&format!(".SS {}\n", escape(spec.title))), "{}", spec.title);
        }
    }
}
