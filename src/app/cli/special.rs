//! What this client must know of some commands that the table does not say: how they are answered, and what they
//! cost when typed by mistake.
//!
//! Deliberately unknown here: whether somebody is there to be asked.

/// Keys in a database from which on KEYS is asked about: looking at so many holds others up for some milliseconds.
const MANY_KEYS: i64 = 10_000;

/// True when the word is this name, in any case.
pub(super) fn is(word: &[u8], name: &str) -> bool {
    word.eq_ignore_ascii_case(name.as_bytes())
}

/// True when the words begin with these names.
pub(super) fn begins(words: &[Vec<u8>], names: &[&str]) -> bool {
    words.len() >= names.len() && words.iter().zip(names).all(|(word, name)| is(word, name))
}

/// SUBSCRIBE and its relatives, or those that leave.
pub(super) fn is_subscription(words: &[Vec<u8>]) -> bool {
    const NAMES: [&str; 3] = ["SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE"];
    words.first().is_some_and(|word| NAMES.iter().any(|name| is(word, name)))
}

/// True for commands that are answered without end: MONITOR, and those that subscribe.
pub(super) fn is_stream(words: &[Vec<u8>]) -> bool {
    is_subscription(words) || begins(words, &["MONITOR"])
}

/// Refuses what nothing is shown of: a stream of bytes, and replies turned off.
///
/// # Errors
/// Why it is not sent.
pub(super) fn answerable(words: &[Vec<u8>]) -> Result<(), String> {
    for name in ["SYNC", "PSYNC"] {
        if begins(words, &[name]) {
            return Err(format!("{name} is answered by a stream without end, which `goblin cli` does not show"));
        }
    }
    if begins(words, &["CLIENT", "REPLY", "OFF"]) || begins(words, &["CLIENT", "REPLY", "SKIP"]) {
        return Err("CLIENT REPLY OFF and SKIP turn off the replies that `goblin cli` waits for".into());
    }
    Ok(())
}

/// Refuses what is not answered by one reply.
///
/// # Errors
/// Why it is not sent.
pub(super) fn answered_once(words: &[Vec<u8>]) -> Result<(), String> {
    if is_stream(words) {
        let name = String::from_utf8_lossy(&words[0]).to_ascii_uppercase();
        return Err(format!(
            "{name} is answered without end, and no further line would be sent; give it to `goblin cli` as its command"
        ));
    }
    answerable(words)
}

/// True for commands whose strings are lines for people.
pub(super) fn is_text(words: &[Vec<u8>]) -> bool {
    const NAMES: [&[&str]; 11] = [
        &["INFO"],
        &["LOLWUT"],
        &["CLIENT", "INFO"],
        &["CLIENT", "LIST"],
        &["CLUSTER", "INFO"],
        &["CLUSTER", "NODES"],
        &["DEBUG", "HTSTATS"],
        &["DEBUG", "HTSTATS-KEY"],
        &["LATENCY", "DOCTOR"],
        &["MEMORY", "DOCTOR"],
        &["MEMORY", "MALLOC-STATS"],
    ];
    NAMES.iter().any(|names| begins(words, names))
}

/// What to ask before a command that destroys or holds up, if it does. `count_keys` counts those of the database; none
/// when it cannot be told.
pub(super) fn question(words: &[Vec<u8>], count_keys: impl FnOnce() -> Option<i64>) -> Option<String> {
    const DESTRUCTIVE: [(&[&str], &str); 5] = [
        (&["FLUSHALL"], "FLUSHALL removes every key of every database"),
        (&["FLUSHDB"], "FLUSHDB removes every key of this database"),
        (&["SHUTDOWN"], "SHUTDOWN ends the server"),
        (&["SWAPDB"], "SWAPDB exchanges two databases for everybody"),
        (&["FUNCTION", "FLUSH"], "FUNCTION FLUSH removes every function"),
    ];
    if begins(words, &["SHUTDOWN", "ABORT"]) {
        return None;
    }
    if begins(words, &["KEYS"]) {
        let keys = count_keys().filter(|&keys| keys >= MANY_KEYS)?;
        return Some(format!("KEYS looks at {keys} keys in one go; SCAN does it in pieces."));
    }
    let (_, what) = DESTRUCTIVE.iter().find(|(names, _)| begins(words, names))?;
    Some(format!("{what}."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::split_words;

    fn words(line: &str) -> Vec<Vec<u8>> {
        split_words(line.as_bytes()).unwrap()
    }

    #[test]
    fn commands_without_one_reply_are_refused() {
        for line in ["subscribe c", "PSUBSCRIBE p*", "SSUBSCRIBE c", "monitor", "client reply off", "CLIENT REPLY SKIP"]
        {
            assert!(answered_once(&words(line)).is_err(), "{line}");
        }
        for line in ["unsubscribe", "client reply on", "client", "get monitor", ""] {
            assert_eq!(answered_once(&words(line)), Ok(()), "{line}");
        }
        for line in ["subscribe c", "MONITOR"] {
            assert!(is_stream(&words(line)) && answerable(&words(line)).is_ok(), "{line}");
        }
        assert!(answerable(&words("PSYNC ? -1")).is_err());
    }

    #[test]
    fn texts_for_people_are_known_by_their_command() {
        let text = |line: &str| is_text(&words(line));
        assert!(text("info") && text("INFO server") && text("client LIST ID 1"));
        assert!(!text("get info") && !text("client") && !text("client id"));
    }

    #[test]
    fn what_destroys_is_asked_about() {
        let asked = |line: &str, keys| question(&words(line), || keys);
        for line in ["flushall", "FLUSHDB ASYNC", "shutdown nosave", "swapdb 0 1", "function flush"] {
            assert!(asked(line, None).is_some(), "{line}");
        }
        for line in ["SHUTDOWN ABORT", "get flushall", "", "function list", "dbsize"] {
            assert_eq!(asked(line, Some(i64::MAX)), None, "{line}");
        }
        assert_eq!(asked("keys *", Some(9_999)), None);
        assert_eq!(asked("keys *", None), None);
        assert!(asked("keys *", Some(1_000_000)).unwrap().contains("1000000"));
    }
}
