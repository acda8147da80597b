//! Where two servers may differ, and what is not drawn: each with its reason.
//!
//! Invariant: a command that is in neither list must answer byte for byte what Redis answers.

use goblin::command::Spec;

use super::step::Step;
use crate::wire::Value;

/// How far two replies to the same request must agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Agreement {
    /// Byte for byte.
    Exact,
    /// The same items in any order.
    Unordered,
    /// As many members, all from the set as it was, none twice unless that was asked for.
    RandomMembers,
    /// Both nothing, or both a key that is there.
    RandomKey,
    /// A page each; followed to the end, both iterations give the same.
    Page,
    /// Numbers that are at most this far apart.
    Within(i64),
    /// The same, `embstr` counting as `raw`.
    StringForm,
    /// The same kind of reply.
    Shape,
}

use Agreement::{Page, RandomKey, RandomMembers, Shape, StringForm, Unordered, Within};

/// The accepted differences: commands, how far they agree, why not further.
const ACCEPTED: &[(&[&str], Agreement, &str)] = &[
    (&["spop", "srandmember"], RandomMembers, "members are drawn at random; then both sets are made equal again"),
    (&["randomkey"], RandomKey, "the key is drawn at random"),
    (&["smembers", "sinter", "sunion", "sdiff", "keys"], Unordered, "order follows each server's own hash"),
    (&["pubsub|channels", "pubsub|shardchannels"], Unordered, "order follows each server's own hash"),
    (&["scan", "sscan"], Page, "cursors are each server's own"),
    (&["ttl", "expiretime"], Within(3), "the clock goes on between the two requests"),
    (&["pttl", "pexpiretime"], Within(3000), "the clock goes on between the two requests"),
    (&["object|idletime"], Within(10), "the clock goes on between the two requests"),
    (&["object|refcount"], Shape, "counts what refers to a value inside Redis, a queued request among it"),
    (&["object|encoding"], StringForm, "which short strings lie beside their header depends on Redis's allocator"),
    (&["time", "info"], Shape, "tells the moment, the process or the version"),
    (&["hello", "client|id", "client|info", "client|list"], Shape, "tells ids, addresses and versions of a process"),
    (
        &["command", "command|info", "command|count", "command|list", "command|docs"],
        Shape,
        "Redis has more commands; texts are our own",
    ),
    (&["function|stats"], Shape, "there is no engine for functions"),
    (&["config|get"], Shape, "Redis has more settings, and other defaults"),
    (&["memory|usage", "memory|stats", "memory|doctor", "memory|malloc-stats"], Shape, "tells the process's memory"),
    (&["slowlog|get", "slowlog|len"], Shape, "tells durations"),
    (&["latency|latest", "latency|history", "latency|doctor", "latency|graph"], Shape, "tells durations"),
    (&["latency|histogram", "latency|reset"], Shape, "tells durations"),
];

/// Subcommands HELP: the texts are our own.
const HELP: &str = "|help";

/// Never sent behind another request, nor queued. Redis 8.2.3 loses the refusal of a password when an earlier reply of
/// the connection still waits to be sent: then nobody knows any more which reply belongs to which request.
const ALONE: &[&str] = &["auth", "hello"];

/// May answer nothing but errors in a whole run: there is a graph only of what took long.
const MAY_ALWAYS_FAIL: &[&str] = &["latency|graph"];

/// What the generator leaves alone, and why. Commands that change what their connection receives have a generator of
/// their own, `listen.rs`.
const NOT_DRAWN: &[(&[&str], &str)] = &[
    (&["shutdown"], "ends the server"),
    (&["debug|sleep", "client|pause", "client|unpause"], "holds every connection back; time is all they show"),
    (&["client|kill", "client|unblock"], "names ids and addresses, which differ"),
    (&["client|reply"], "takes replies away, so that replies and requests no longer pair up"),
    (&["client|tracking", "client|caching"], "sends messages between the replies"),
    (&["lolwut"], "Redis draws a picture whose size it is told; we tell our name"),
    (&["monitor"], "turns the connection into a stream"),
    (&["debug|set-active-expire"], "is off all the time, so that no key goes while it is compared"),
    (&["config|rewrite"], "writes a file"),
    (&["subscribe", "psubscribe", "ssubscribe"], "drawn by listen.rs"),
    (&["unsubscribe", "punsubscribe", "sunsubscribe"], "drawn by listen.rs"),
];

/// True for what the main generator draws.
pub fn is_drawn(spec: &Spec) -> bool {
    !NOT_DRAWN.iter().any(|(names, _)| names.contains(&spec.name))
}

/// True for what `listen.rs` draws.
pub fn is_listening(spec: &Spec) -> bool {
    ["subscribe", "unsubscribe"].iter().any(|end| spec.name.ends_with(end))
}

/// How far the replies to a command agree.
pub fn agreement(command: &str) -> Agreement {
    let row = ACCEPTED.iter().find(|(names, _, _)| names.contains(&command));
    let help = if command.ends_with(HELP) { Shape } else { Agreement::Exact };
    row.map_or(help, |(_, agreement, _)| *agreement)
}

/// True when what the command leaves behind, or what it says, was a matter of chance: both servers must be made equal
/// again before anything can depend on it.
pub fn leaves_chance(command: &str) -> bool {
    matches!(agreement(command), RandomKey | Page) || command == "spop"
}

/// True for what is never sent behind another request, nor queued.
pub fn is_alone(command: &str) -> bool {
    ALONE.contains(&command)
}

/// True for what may answer nothing but errors in a whole run.
pub fn may_always_fail(command: &str) -> bool {
    MAY_ALWAYS_FAIL.contains(&command)
}

/// The lists as text, for the report.
pub fn report() -> String {
    let mut text = String::new();
    for (names, agreement, why) in ACCEPTED {
        text += &format!("differential: accepted {agreement:?}: {}: {why}\n", names.join(" "));
    }
    text += &format!("differential: accepted Shape: *{HELP}: the texts are our own\n");
    text += &format!("differential: neither pipelined nor queued: {}: Redis may lose the refusal\n", ALONE.join(" "));
    for (names, why) in NOT_DRAWN {
        text += &format!("differential: not drawn: {}: {why}\n", names.join(" "));
    }
    text
}

/// True when two replies say the same, as far as the command determines what it says. `before` is what was there
/// before a random choice.
pub fn agree(step: &Step, ours: &Value, theirs: &Value, before: Option<&[Value]>) -> bool {
    if ours == theirs {
        return true;
    }
    if ours.is_error() || theirs.is_error() || std::mem::discriminant(ours) != std::mem::discriminant(theirs) {
        return false;
    }
    let was_there = |item: &Value| before.is_none_or(|before| before.contains(item));
    match agreement(&step.command()) {
        Agreement::Exact => false,
        Unordered => sorted(ours) == sorted(theirs),
        RandomMembers => same_draw(step, ours, theirs, was_there),
        RandomKey => was_there(ours) && was_there(theirs),
        Page => matches!((ours, theirs), (Value::Array(a), Value::Array(b)) if a.len() == 2 && b.len() == 2),
        Within(tolerance) => match (ours, theirs) {
            (Value::Integer(a), Value::Integer(b)) => *a >= 0 && *b >= 0 && (a - b).abs() <= tolerance,
            _ => false,
        },
        StringForm => string_form(ours) == string_form(theirs),
        Shape => true,
    }
}

/// Where Redis changes between its two inner forms of short strings depends on its allocator.
fn string_form(value: &Value) -> Value {
    match value {
        Value::Bulk(text) if text == b"embstr" => Value::Bulk(b"raw".to_vec()),
        other => other.clone(),
    }
}

/// The items of an aggregate as text, sorted.
pub fn sorted(value: &Value) -> Vec<String> {
    let mut items: Vec<String> = value.items().iter().map(Value::to_string).collect();
    items.sort();
    items
}

fn same_draw(step: &Step, ours: &Value, theirs: &Value, is_member: impl Fn(&Value) -> bool) -> bool {
    match ours {
        Value::Bulk(_) => is_member(ours),
        Value::Array(items) | Value::Set(items) => {
            let mut distinct = sorted(ours);
            distinct.dedup();
            let may_repeat = step.words.get(2).is_some_and(|count| count.starts_with(b"-"));
            let sound = may_repeat || distinct.len() == items.len();
            items.len() == theirs.items().len() && items.iter().all(is_member) && sound
        }
        _ => false,
    }
}
