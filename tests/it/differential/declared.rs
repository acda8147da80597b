//! A reply must be of a kind that its spec declares.

use goblin::command::{ReplyKind, by_name};

use crate::wire::Value;

/// Fails when a RESP3 reply is of a kind that the spec of a command does not declare. RESP2 tells kinds less apart.
pub fn declared(command: &str, reply: &Value) -> Result<(), String> {
    let Some(spec) = by_name(command.as_bytes()) else { return Ok(()) };
    let kinds: &[ReplyKind] = match reply {
        Value::Error(_) => return Ok(()),
        Value::Nil => &[ReplyKind::Nil],
        Value::Status(_) => &[ReplyKind::Status],
        Value::Integer(_) => &[ReplyKind::Integer],
        Value::Double(_) => &[ReplyKind::Double],
        Value::Boolean(_) => &[ReplyKind::Boolean],
        Value::Bulk(_) => &[ReplyKind::Bulk],
        Value::Verbatim(_) => &[ReplyKind::Verbatim],
        Value::Array(_) => &[ReplyKind::Array, ReplyKind::Page, ReplyKind::Exec],
        Value::Set(_) => &[ReplyKind::Set],
        Value::Map(_) => &[ReplyKind::Map],
        Value::Push(_) => &[ReplyKind::Confirmations],
    };
    match spec.replies.iter().any(|kind| kinds.contains(kind)) {
        true => Ok(()),
        false => Err(format!("kind, declared as {:?},", spec.replies)),
    }
}
