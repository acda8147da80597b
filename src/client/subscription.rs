//! What is subscribed to, and what comes of it.
//!
//! Deliberately unknown here: connections.

use super::ClientError;
use crate::limits;
use crate::protocol::resp::Value;

/// What a name stands for when it is subscribed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A channel (SUBSCRIBE).
    Channel,
    /// All channels a glob pattern matches (PSUBSCRIBE).
    Pattern,
    /// A shard channel (SSUBSCRIBE), which is never a channel of the same name.
    ShardChannel,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 3] = [Kind::Channel, Kind::Pattern, Kind::ShardChannel];

    /// The command that subscribes.
    pub fn join_command(self) -> &'static [u8] {
        match self {
            Kind::Channel => b"SUBSCRIBE",
            Kind::Pattern => b"PSUBSCRIBE",
            Kind::ShardChannel => b"SSUBSCRIBE",
        }
    }

    /// The command that unsubscribes.
    pub fn leave_command(self) -> &'static [u8] {
        match self {
            Kind::Channel => b"UNSUBSCRIBE",
            Kind::Pattern => b"PUNSUBSCRIBE",
            Kind::ShardChannel => b"SUNSUBSCRIBE",
        }
    }

    /// The requests that subscribe to these names: several when they are many, so that the confirmations of one never
    /// fill what lies between client and server.
    pub(super) fn join_requests<A: AsRef<[u8]>>(self, names: &[A]) -> impl Iterator<Item = Vec<&[u8]>> {
        let mut rest = names;
        std::iter::from_fn(move || {
            let mut bytes = 0;
            let fits = |name: &&A| {
                bytes += name.as_ref().len() + 16;
                bytes <= limits::PIPELINE_WINDOW_BYTES_MAX
            };
            let count = rest.iter().take_while(fits).count().max(1).min(rest.len());
            let (now, later) = rest.split_at(count);
            rest = later;
            (count > 0).then(|| [self.join_command()].into_iter().chain(now.iter().map(AsRef::as_ref)).collect())
        })
    }
}

/// A message of a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The subscription's kind.
    pub kind: Kind,
    /// The pattern it was received for; none for the other kinds.
    pub pattern: Option<Vec<u8>>,
    /// Where it was published.
    pub channel: Vec<u8>,
    /// What was published: any bytes.
    pub payload: Vec<u8>,
    /// Its number among the messages of the channel, or of the pattern; see [`Login::numbered`](super::Login).
    pub number: Option<u64>,
}

/// Where the numbers of messages stand when a channel or pattern is joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JoinedAt {
    /// Numbers of different runs of a server have nothing to do with each other.
    pub run: u64,
    /// Number of the last message before.
    pub last: u64,
    /// From here on, numbers follow each other without a gap. Before, there may be less messages than numbers.
    pub base: u64,
}

/// What a push tells.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// Something was published.
    Message(Message),
    /// A subscription is in force.
    Joined {
        /// Its kind.
        kind: Kind,
        /// Its channel or pattern.
        name: Vec<u8>,
        /// Subscriptions of the connection now, as the server counts them for this kind.
        count: i64,
        /// Where its numbers stand, for those who asked for them.
        at: Option<JoinedAt>,
    },
    /// A subscription is no longer in force.
    Left {
        /// Its kind.
        kind: Kind,
        /// Its channel or pattern; none when there was nothing to leave.
        name: Option<Vec<u8>>,
        /// As in [`Event::Joined`].
        count: i64,
    },
    /// Anything else a server may push.
    Other(Value),
}

impl Event {
    /// Reads a push; takes it apart without copying. Attributes on it are dropped.
    ///
    /// # Errors
    /// [`ClientError::OddMessage`] for a message whose parts are no strings.
    pub fn of(push: Value) -> Result<Event, ClientError> {
        let push = match push {
            Value::Attributed(attributed) => attributed.value,
            push => push,
        };
        let (Value::Push(items) | Value::Array(items)) = push else { return Ok(Event::Other(push)) };
        let word = items.first().and_then(Value::as_bytes).unwrap_or_default();
        let (kind, is_join) = match word {
            b"message" => return Event::message(Kind::Channel, items),
            b"pmessage" => return Event::message(Kind::Pattern, items),
            b"smessage" => return Event::message(Kind::ShardChannel, items),
            b"subscribe" => (Kind::Channel, true),
            b"psubscribe" => (Kind::Pattern, true),
            b"ssubscribe" => (Kind::ShardChannel, true),
            b"unsubscribe" => (Kind::Channel, false),
            b"punsubscribe" => (Kind::Pattern, false),
            b"sunsubscribe" => (Kind::ShardChannel, false),
            _ => return Ok(Event::Other(Value::Push(items))),
        };
        let name = items.get(1).and_then(Value::as_bytes).map(<[u8]>::to_vec);
        Ok(match (items.get(2).and_then(Value::as_integer), name) {
            (Some(count), Some(name)) if is_join => {
                let number = |at: usize| Some(items.get(at)?.as_integer()? as u64);
                let at = (number(3), number(4), number(5));
                let at = if let (Some(run), Some(last), Some(base)) = at {
                    Some(JoinedAt { run, last, base })
                } else {
                    None
                };
                Event::Joined { kind, name, count, at }
            }
            (Some(count), name) if !is_join => Event::Left { kind, name, count },
            _ => Event::Other(Value::Push(items)),
        })
    }

    fn message(kind: Kind, items: Vec<Value>) -> Result<Event, ClientError> {
        let mut items = items;
        let number = items.pop_if(|item| matches!(item, Value::Integer(_))).and_then(|number| number.as_integer());
        let number = number.map(|number| number as u64);
        let mut parts = items.into_iter().skip(1).map(into_bytes);
        let pattern = if kind == Kind::Pattern { parts.next().flatten() } else { None };
        match (parts.next().flatten(), parts.next().flatten(), parts.next()) {
            (Some(channel), Some(payload), None) if pattern.is_some() == (kind == Kind::Pattern) => {
                Ok(Event::Message(Message { kind, pattern, channel, payload, number }))
            }
            _ => Err(ClientError::OddMessage),
        }
    }
}

fn into_bytes(value: Value) -> Option<Vec<u8>> {
    match value {
        Value::Bulk(bytes) | Value::Status(bytes) | Value::Verbatim { text: bytes, .. } => Some(bytes),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(parts: &[&str]) -> Value {
        Value::Push(parts.iter().map(|part| Value::Bulk(part.as_bytes().into())).collect())
    }

    fn with_count(parts: &[&str], count: i64) -> Value {
        match push(parts) {
            Value::Push(mut items) => {
                items.push(Value::Integer(count));
                Value::Push(items)
            }
            other => other,
        }
    }

    #[test]
    fn pushes_are_told_apart() {
        let message = |kind, pattern: Option<&str>| {
            let pattern = pattern.map(|pattern| pattern.as_bytes().to_vec());
            Event::Message(Message { kind, pattern, channel: b"c".into(), payload: b"m".into(), number: None })
        };
        let left = |name: Option<&str>| Event::Left { kind: Kind::Pattern, name: name.map(Into::into), count: 0 };
        let rows = [
            (push(&["message", "c", "m"]), message(Kind::Channel, None)),
            (push(&["smessage", "c", "m"]), message(Kind::ShardChannel, None)),
            (push(&["pmessage", "c*", "c", "m"]), message(Kind::Pattern, Some("c*"))),
            (
                with_count(&["subscribe", "c"], 1),
                Event::Joined { kind: Kind::Channel, name: b"c".into(), count: 1, at: None },
            ),
            (with_count(&["punsubscribe", "c*"], 0), left(Some("c*"))),
            (Value::Push(vec![Value::Bulk(b"punsubscribe".into()), Value::Nil, Value::Integer(0)]), left(None)),
            (push(&["invalidate", "x"]), Event::Other(push(&["invalidate", "x"]))),
            (push(&["subscribe", "x"]), Event::Other(push(&["subscribe", "x"]))),
            (push(&[]), Event::Other(push(&[]))),
        ];
        for (push, wanted) in rows {
            assert_eq!(Event::of(push.clone()).unwrap(), wanted, "{push:?}");
        }
        for odd in [push(&["message", "c"]), push(&["pmessage", "c", "m"]), push(&["message", "c", "m", "more"])] {
            assert!(matches!(Event::of(odd.clone()), Err(ClientError::OddMessage)), "{odd:?}");
        }
    }

    #[test]
    fn many_names_are_asked_for_in_several_requests() {
        let names: Vec<String> = (0..10_000).map(|number| format!("channel:{number}")).collect();
        let requests: Vec<Vec<&[u8]>> = Kind::Pattern.join_requests(&names).collect();
        assert!(requests.len() > 3 && requests.iter().all(|request| request[0] == b"PSUBSCRIBE" && request.len() > 1));
        let asked: Vec<&[u8]> = requests.iter().flat_map(|request| &request[1..]).copied().collect();
        assert!(asked.iter().copied().eq(names.iter().map(String::as_bytes)));
        let large = ["x".repeat(limits::PIPELINE_WINDOW_BYTES_MAX), "y".into()];
        assert_eq!(Kind::Channel.join_requests(&large).count(), 2);
        assert_eq!(Kind::Channel.join_requests::<&str>(&[]).count(), 0);
    }
}
