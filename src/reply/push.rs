//! What subscribers are told: that they have joined or left, and messages.

/// One confirmation of a subscription command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confirmation {
    /// Which command is confirmed.
    pub kind: ConfirmationKind,
    /// The channel or pattern; none when there was nothing to leave.
    pub name: Option<Vec<u8>>,
    /// Subscriptions left in the namespace this kind counts.
    pub count: usize,
    /// For who asked for numbers and has joined.
    pub numbers: Option<JoinedAt>,
}

/// Where the numbers of messages stand when a channel or pattern is joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JoinedAt {
    /// Which run of the server counts: numbers of different runs have nothing to do with each other.
    pub run: u64,
    /// Number of the last message before.
    pub last: u64,
    /// From here on, numbers follow each other without a gap; before, the difference of two numbers is at least that
    /// of their messages.
    pub base: u64,
}

/// The six subscription commands, as their confirmations name them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfirmationKind {
    /// SUBSCRIBE
    Subscribe,
    /// UNSUBSCRIBE
    Unsubscribe,
    /// PSUBSCRIBE
    PSubscribe,
    /// PUNSUBSCRIBE
    PUnsubscribe,
    /// SSUBSCRIBE
    SSubscribe,
    /// SUNSUBSCRIBE
    SUnsubscribe,
}

impl ConfirmationKind {
    /// The word on the wire.
    pub const fn word(self) -> &'static str {
        match self {
            ConfirmationKind::Subscribe => "subscribe",
            ConfirmationKind::Unsubscribe => "unsubscribe",
            ConfirmationKind::PSubscribe => "psubscribe",
            ConfirmationKind::PUnsubscribe => "punsubscribe",
            ConfirmationKind::SSubscribe => "ssubscribe",
            ConfirmationKind::SUnsubscribe => "sunsubscribe",
        }
    }
}

/// A message on its way to one subscriber.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Push<'a> {
    /// Equal for all deliveries of one publication that are byte for byte the same frame, and for nothing else:
    /// what lets a host encode a frame once per wire form.
    pub frame: u64,
    /// Its number among the messages of the channel or, for a pattern, of the pattern. They follow each other without
    /// a gap while anybody subscribes to it.
    pub number: u64,
    /// What is delivered.
    pub kind: PushKind<'a>,
}

/// What a push says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PushKind<'a> {
    /// A message on a channel the subscriber joined by name.
    Message {
        /// Where it was published.
        channel: &'a [u8],
        /// What was published.
        payload: &'a [u8],
    },
    /// A message on a channel that matches a pattern of the subscriber.
    PatternMessage {
        /// The pattern as the subscriber gave it.
        pattern: &'a [u8],
        /// Where it was published.
        channel: &'a [u8],
        /// What was published.
        payload: &'a [u8],
    },
    /// A message on a sharded channel.
    ShardMessage {
        /// Where it was published.
        channel: &'a [u8],
        /// What was published.
        payload: &'a [u8],
    },
}
