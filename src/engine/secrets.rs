//! Which words of a request are secrets, so that nothing which shows requests shows them.
//!
//! Invariant: a word that may be a secret is hidden, also in a request that is refused.
//! Deliberately unknown here: who asks, and how words are shown.

use crate::command::{Args, CommandId, Spec};

/// What stands for a secret.
pub(super) const REDACTED: &[u8] = b"(redacted)";

/// Settings whose values are hidden, as in Redis: passwords, and the user names that belong to them.
const SECRET_SETTINGS: [&str; 5] =
    ["requirepass", "masterauth", "masteruser", "tls-key-file-pass", "tls-client-key-file-pass"];

/// The words of a request, secrets replaced by [`REDACTED`].
pub(super) fn redacted<'a>(spec: &Spec, args: Args<'a>) -> impl Iterator<Item = &'a [u8]> {
    let id = spec.id;
    let mut hidden = 0;
    args.iter().enumerate().map(move |(at, word)| {
        if hidden > 0 {
            hidden -= 1;
            return REDACTED;
        }
        match id {
            CommandId::AUTH if at > 0 => return REDACTED,
            CommandId::HELLO if at > 1 && word.eq_ignore_ascii_case(b"AUTH") => hidden = 2,
            CommandId::CONFIG_SET if at >= 2 && at % 2 == 0 && is_secret_setting(word) => hidden = 1,
            _ => {}
        }
        word
    })
}

fn is_secret_setting(name: &[u8]) -> bool {
    SECRET_SETTINGS.iter().any(|secret| secret.as_bytes().eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::OwnedArgs;

    fn shown(line: &str, id: CommandId) -> String {
        let words: OwnedArgs = line.split(' ').map(str::as_bytes).collect();
        let shown: Vec<&[u8]> = redacted(id.spec(), words.as_args()).collect();
        String::from_utf8(shown.join(&b' ')).expect("UTF-8")
    }

    #[test]
    fn passwords_are_hidden_wherever_they_may_stand() {
        assert_eq!(shown("AUTH s3cret", CommandId::AUTH), "AUTH (redacted)");
        assert_eq!(shown("auth joe s3cret", CommandId::AUTH), "auth (redacted) (redacted)");
        assert_eq!(
            shown("HELLO 3 auth joe s3cret SETNAME x", CommandId::HELLO),
            "HELLO 3 auth (redacted) (redacted) SETNAME x"
        );
        assert_eq!(shown("HELLO 9 AUTH joe", CommandId::HELLO), "HELLO 9 AUTH (redacted)");
        assert_eq!(
            shown("CONFIG SET hz 10 RequirePass s3cret maxclients 7", CommandId::CONFIG_SET),
            "CONFIG SET hz 10 RequirePass (redacted) maxclients 7"
        );
        assert_eq!(shown("SET requirepass x", CommandId::SET), "SET requirepass x");
    }
}
