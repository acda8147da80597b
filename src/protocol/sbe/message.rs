//! Requests: the layout of a message, and the words it stands for.
//!
//! Words are what RESP's decoder gives as well, so that a command is read, refused, queued and shown in one way only.
//! They are copied out of the frame, for numbers and the command's name are not in it as text.
//!
//! Invariant: every length is checked against its frame before anything is copied; nothing is reserved for a length or
//! a count that was only announced.

use super::cursor::Cursor;
use super::{ENTRIES_MAX, by_template};
use crate::command::{CommandId, Span, Spec};
use crate::reply::FrameFault;

/// One message of the schema.
#[derive(Debug)]
pub struct Message {
    /// Permanent number.
    pub template: u16,
    /// Its name in the schema.
    pub name: &'static str,
    /// One sentence.
    pub summary: &'static str,
    /// What it is for.
    pub role: Role,
    /// Bytes of its fixed part.
    pub block: u16,
    /// The fixed part.
    pub fields: &'static [Field],
    /// The repeating part.
    pub group: Option<Group>,
    /// Names of its strings, behind the group.
    pub data: &'static [&'static str],
    /// The words behind the command's name.
    pub words: &'static [Rule],
    /// How it is answered.
    pub form: Form,
}

/// What a message is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It asks for one command.
    Command(CommandId),
    /// It asks for the command it names.
    Call,
    /// Only a server sends it.
    Reply,
}

/// A number in the fixed part.
#[derive(Debug)]
pub struct Field {
    /// Its name in the schema.
    pub name: &'static str,
    /// Its width and meaning.
    pub kind: Kind,
    /// Bytes from the start of the block.
    pub offset: u16,
}

/// Kinds of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// 8 bits without sign.
    U8,
    /// 32 bits without sign.
    U32,
    /// 64 bits without sign.
    U64,
    /// 64 bits with sign.
    I64,
    /// IEEE 754, 64 bits.
    F64,
}

/// The repeating part of a message.
#[derive(Debug)]
pub struct Group {
    /// Its name in the schema.
    pub name: &'static str,
    /// Bytes of an entry's fixed part.
    pub block: u16,
    /// An entry's fixed part.
    pub fields: &'static [Field],
    /// Names of an entry's strings.
    pub data: &'static [&'static str],
}

/// What gives words; fields and strings are told by their place.
#[derive(Debug, Clone, Copy)]
pub enum Rule {
    /// This word.
    Word(&'static str),
    /// A string.
    Data(u8),
    /// A number in decimal.
    Number(u8),
    /// All strings of all entries.
    Group,
    /// How many entries there are.
    Count,
    /// The word when a bit of the mask is set.
    Bit(u8, u8, &'static str),
    /// The number unless it is this.
    Unless(u8, i64),
    /// The number when it is more than 0.
    Positive(u8),
    /// The word, if any, and the string when the field is not 0.
    WhenSet(u8, Option<&'static str>, u8),
    /// The word, if any, and the string of the last place when that of the first is not empty.
    WhenFilled(u8, Option<&'static str>, u8),
    /// The word the field chooses, then the number; nothing for an empty word. A choice past the end is the last.
    Option(u8, &'static [&'static str], u8),
    /// The word the field chooses; past the end the number itself.
    Choice(u8, &'static [&'static str]),
}

/// How a request is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// By what the reply is: NilReply, StatusReply, IntReply, BulkReply or ArrayReply.
    Plain,
    /// Lists as NullableArrayReply.
    Nullable,
    /// A page as StringScanReply.
    Page,
    /// A page as an ArrayReply that begins with the cursor.
    CursorFirst,
    /// Subscribers for NUMSUB, plain for the other operations of PUBSUB: the server finds out.
    Pubsub,
    /// Names and counts as PubSubNumSubReply.
    Subscribers,
    /// Everything but errors as RespValueReply.
    Tree,
    /// The same, for Hello.
    Greeting,
}

impl Form {
    /// Most entries that a reply in this form holds, nested lists left out.
    pub const fn entries_max(self) -> u32 {
        match self {
            // A list is an entry, too.
            Form::Tree | Form::Greeting => ENTRIES_MAX as u32 - 1,
            Form::Plain | Form::Nullable | Form::Page | Form::CursorFirst | Form::Pubsub | Form::Subscribers => {
                ENTRIES_MAX as u32
            }
        }
    }
}

/// Words of decoded requests, and where they lie; lent from turn to turn.
#[derive(Debug, Default)]
pub struct Words {
    /// The words, one behind the other.
    pub bytes: Vec<u8>,
}

/// A request whose words were read.
#[derive(Debug)]
pub struct Decoded {
    /// The command, when the message tells it.
    pub spec: Option<&'static Spec>,
    /// How to answer it.
    pub form: Form,
}

/// Strings behind the group: no message has more.
const DATA_MAX: usize = 3;

/// The parts of a frame, checked.
struct Parts<'m, 'a> {
    message: &'m Message,
    block: &'a [u8],
    entries: u16,
    /// Bytes of an entry's fixed part, in this frame.
    entry_block: u16,
    /// At the first entry.
    group: Cursor<'a>,
    data: [&'a [u8]; DATA_MAX],
}

impl Words {
    /// Reads one message and appends its words, the command's name first, to the bytes here and to `spans`.
    ///
    /// # Errors
    /// What is wrong with the frame; nothing was appended.
    pub fn decode(&mut self, message: &[u8], spans: &mut Vec<Span>) -> Result<Decoded, FrameFault> {
        let mut cursor = Cursor::new(message);
        // Nearly all of it becomes words.
        let frame_len = message.len();
        let (Some(block), Some(template), Some(_)) = (cursor.u16(), cursor.u16(), cursor.u32()) else {
            return Err(FrameFault::TooShort);
        };
        let known = by_template(template).filter(|message| message.role != Role::Reply);
        let message = known.ok_or(FrameFault::UnknownTemplate(template))?;
        let parts = Parts::of(message, block, cursor)?;
        let spec = match message.role {
            Role::Command(command) => Some(command.spec()),
            Role::Call | Role::Reply => None,
        };
        self.bytes.reserve(frame_len);
        let mut writer = Writer { bytes: &mut self.bytes, spans };
        if let Some(spec) = spec {
            writer.word(spec.title.as_bytes());
        }
        message.words.iter().for_each(|rule| parts.apply(*rule, &mut writer));
        Ok(Decoded { spec, form: message.form })
    }
}

impl<'m, 'a> Parts<'m, 'a> {
    fn of(message: &'m Message, block: u16, mut cursor: Cursor<'a>) -> Result<Self, FrameFault> {
        if block < message.block {
            return Err(FrameFault::ShortBlock { template: message.template, bytes: block, least: message.block });
        }
        let truncated = FrameFault::Truncated { template: message.template };
        let block = cursor.take(usize::from(block)).ok_or(truncated)?;
        let mut parts = Parts { message, block, entries: 0, entry_block: 0, group: cursor, data: [&[]; DATA_MAX] };
        if let Some(group) = &message.group {
            let (Some(entry_block), Some(entries)) = (cursor.u16(), cursor.u16()) else { return Err(truncated) };
            if entry_block < group.block {
                return Err(FrameFault::ShortBlock {
                    template: message.template,
                    bytes: entry_block,
                    least: group.block,
                });
            }
            (parts.entries, parts.entry_block, parts.group) = (entries, entry_block, cursor);
            for _ in 0..entries {
                cursor.take(usize::from(entry_block)).ok_or(truncated)?;
                for _ in group.data {
                    cursor.data().ok_or(truncated)?;
                }
            }
        }
        for (place, _) in parts.data.iter_mut().zip(message.data) {
            *place = cursor.data().ok_or(truncated)?;
        }
        Ok(parts)
    }

    fn apply(&self, rule: Rule, out: &mut Writer<'_>) {
        match rule {
            Rule::Word(word) => out.word(word.as_bytes()),
            Rule::Data(place) => out.word(self.data(place)),
            Rule::Number(field) => self.number(field, out),
            Rule::Group => self.group(out),
            Rule::Count => out.word(itoa::Buffer::new().format(self.entries).as_bytes()),
            Rule::Bit(field, mask, word) => {
                if self.small(field) & i64::from(mask) != 0 {
                    out.word(word.as_bytes());
                }
            }
            Rule::Unless(field, value) => {
                if self.small(field) != value {
                    self.number(field, out);
                }
            }
            Rule::Positive(field) => {
                let (kind, mut cursor) = self.field(field);
                let is_positive = match kind {
                    Kind::F64 => cursor.f64().is_some_and(|value| value > 0.0),
                    Kind::U8 | Kind::U32 | Kind::U64 | Kind::I64 => self.small(field) > 0,
                };
                if is_positive {
                    self.number(field, out);
                }
            }
            Rule::WhenSet(field, word, data) => {
                if self.small(field) != 0 {
                    out.option(word, self.data(data));
                }
            }
            Rule::WhenFilled(condition, word, data) => {
                if !self.data(condition).is_empty() {
                    out.option(word, self.data(data));
                }
            }
            Rule::Option(field, words, value) => {
                let chosen = self.small(field) as usize;
                let word = words.get(chosen).or(words.last()).copied().unwrap_or_default();
                if !word.is_empty() {
                    out.word(word.as_bytes());
                    self.number(value, out);
                }
            }
            Rule::Choice(field, words) => match words.get(self.small(field) as usize) {
                Some(word) => out.word(word.as_bytes()),
                None => self.number(field, out),
            },
        }
    }

    fn data(&self, place: u8) -> &'a [u8] {
        self.data.get(usize::from(place)).copied().unwrap_or_default()
    }

    fn group(&self, out: &mut Writer<'_>) {
        let mut cursor = self.group;
        let strings = self.message.group.as_ref().map_or(0, |group| group.data.len());
        for _ in 0..self.entries {
            cursor.take(usize::from(self.entry_block));
            for _ in 0..strings {
                out.word(cursor.data().unwrap_or_default());
            }
        }
    }

    fn field(&self, place: u8) -> (Kind, Cursor<'a>) {
        let Field { kind, offset, .. } = &self.message.fields[usize::from(place)];
        let mut cursor = Cursor::new(self.block);
        cursor.take(usize::from(*offset));
        (*kind, cursor)
    }

    /// A field as an integer; those that conditions ask about fit.
    fn small(&self, place: u8) -> i64 {
        let (kind, mut cursor) = self.field(place);
        let value = match kind {
            Kind::U8 => cursor.u8().map(i64::from),
            Kind::U32 => cursor.u32().map(i64::from),
            Kind::U64 | Kind::I64 => cursor.i64(),
            Kind::F64 => cursor.f64().map(|value| value as i64),
        };
        value.unwrap_or_default()
    }

    fn number(&self, place: u8, out: &mut Writer<'_>) {
        let mut text = itoa::Buffer::new();
        let (kind, mut cursor) = self.field(place);
        match kind {
            Kind::U64 => out.word(text.format(cursor.u64().unwrap_or_default()).as_bytes()),
            Kind::F64 => out.word(&decimal(cursor.f64().unwrap_or_default())),
            Kind::U8 | Kind::U32 | Kind::I64 => out.word(text.format(self.small(place)).as_bytes()),
        }
    }
}

/// The shortest text that is read as the same number.
fn decimal(value: f64) -> Vec<u8> {
    match value.abs() {
        0.0 | 1e-5..1e17 => format!("{value}"),
        _ => format!("{value:e}"),
    }
    .into_bytes()
}

struct Writer<'w> {
    bytes: &'w mut Vec<u8>,
    spans: &'w mut Vec<Span>,
}

impl Writer<'_> {
    fn word(&mut self, word: &[u8]) {
        self.spans.push(Span { start: self.bytes.len() as u32, len: word.len() as u32 });
        self.bytes.extend_from_slice(word);
    }

    fn option(&mut self, word: Option<&str>, data: &[u8]) {
        if let Some(word) = word {
            self.word(word.as_bytes());
        }
        self.word(data);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::command::Args;
    use crate::protocol::sbe::MESSAGES;

    /// A message without its prefix.
    fn message(template: u16, block: &[u8], rest: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for number in [block.len() as u16, template, 7, 2] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        [&bytes, block, rest].concat()
    }

    fn data(string: &[u8]) -> Vec<u8> {
        [&(string.len() as u32).to_le_bytes()[..], string].concat()
    }

    fn words(message: &[u8]) -> Result<String, FrameFault> {
        let (mut words, mut spans) = (Words::default(), Vec::new());
        words.decode(message, &mut spans)?;
        let args = Args::new(&words.bytes, &spans);
        Ok(args.iter().map(|word| word.escape_ascii().to_string()).collect::<Vec<_>>().join("|"))
    }

    #[test]
    fn numbers_become_the_text_a_command_reads() {
        for (number, text) in [
            (0.1, "0.1"),
            (-0.0, "-0"),
            (1e300, "1e300"),
            (5e-324, "5e-324"),
            (123456789.125, "123456789.125"),
            (f64::INFINITY, "inf"),
            (f64::NAN, "NaN"),
        ] {
            let bytes = message(33, &f64::to_le_bytes(number), &data(b"k"));
            assert_eq!(words(&bytes), Ok(format!("INCRBYFLOAT|k|{text}")));
        }
        for number in [0, -1, i64::MIN, i64::MAX] {
            let bytes = message(31, &number.to_le_bytes(), &data(b"k"));
            assert_eq!(words(&bytes), Ok(format!("INCRBY|k|{number}")));
        }
        let scan = [&u64::MAX.to_le_bytes()[..], &7u64.to_le_bytes(), &[1, 1]].concat();
        let bytes = message(126, &scan, &[data(b"a*"), data(b"set")].concat());
        assert_eq!(words(&bytes), Ok("SCAN|18446744073709551615|MATCH|a*|COUNT|7|TYPE|set".into()));
    }

    #[test]
    fn options_come_from_bits_and_choices() {
        let set = |flags: u8, mode: u8, value: i64| {
            let block = [&[flags, mode][..], &value.to_le_bytes()].concat();
            words(&message(23, &block, &[data(b"k"), data(b"v")].concat())).unwrap()
        };
        assert_eq!(set(0, 0, 9), "SET|k|v");
        assert_eq!(set(0xf3, 2, -9), "SET|k|v|NX|XX|PX|-9");
        assert_eq!(set(4 | 8, 9, 1), "SET|k|v|GET|KEEPTTL|PXAT|1");
        let count = |count: i64| words(&message(108, &count.to_le_bytes(), &data(b"k"))).unwrap();
        assert_eq!((count(-1), count(0)), ("SPOP|k".into(), "SPOP|k|0".into()));
        let operation = |operation: u8| words(&message(101, &[operation], &[0, 0, 0, 0])).unwrap();
        assert_eq!((operation(2), operation(3)), ("PUBSUB|NUMPAT".into(), "PUBSUB|3".into()));
        let scan = |pattern: &[u8]| words(&message(118, &[0; 16], &[data(b"k"), data(pattern)].concat())).unwrap();
        assert_eq!((scan(b""), scan(b"*")), ("SSCAN|k|0|COUNT|0".into(), "SSCAN|k|0|MATCH|*|COUNT|0".into()));
    }

    /// A request with every part filled in.
    fn sample(message: &Message) -> Vec<u8> {
        let strings = |names: &[&str]| names.iter().flat_map(|name| data(name.as_bytes())).collect::<Vec<u8>>();
        let mut rest = Vec::new();
        if let Some(group) = &message.group {
            rest.extend_from_slice(&group.block.to_le_bytes());
            rest.extend_from_slice(&2u16.to_le_bytes());
            for _ in 0..2 {
                rest.extend(vec![1; usize::from(group.block)]);
                rest.extend(strings(group.data));
            }
        }
        rest.extend(strings(message.data));
        self::message(message.template, &vec![1; usize::from(message.block)], &rest)
    }

    fn requests() -> impl Iterator<Item = &'static Message> {
        MESSAGES.iter().filter(|message| message.role != Role::Reply)
    }

    #[test]
    fn every_request_is_read_whole_and_refused_when_cut() {
        for message in requests() {
            let whole = sample(message);
            assert!(words(&whole).is_ok(), "{}", message.name);
            assert_eq!(words(&[&whole[..], b"more"].concat()), words(&whole), "{}", message.name);
            for cut in 0..whole.len() {
                assert!(words(&whole[..cut]).is_err(), "{} cut to {cut} bytes", message.name);
            }
        }
        for message in MESSAGES.iter().filter(|message| message.role == Role::Reply) {
            assert_eq!(words(&sample(message)), Err(FrameFault::UnknownTemplate(message.template)));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        /// Nothing a peer sends makes the decoder read past its end or hold more than it was sent.
        #[test]
        fn hostile_frames_are_read_or_refused(
            which in 0..requests().count(),
            edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
            cut in any::<prop::sample::Index>(),
            noise in prop::collection::vec(any::<u8>(), 0..40),
            is_noise in any::<bool>(),
        ) {
            let mut bytes = sample(requests().nth(which).unwrap());
            for (place, byte) in &edits {
                let place = place.index(bytes.len());
                bytes[place] = *byte;
            }
            bytes.truncate(cut.index(bytes.len() + 1));
            if is_noise {
                bytes = noise;
            }
            let (mut words, mut spans) = (Words::default(), Vec::new());
            let decoded = words.decode(&bytes, &mut spans);
            prop_assert!(words.bytes.len() <= bytes.len() + 120, "{} bytes of words", words.bytes.len());
            prop_assert!(decoded.is_ok() || spans.is_empty());
            prop_assert!(spans.iter().all(|span| (span.start + span.len) as usize <= words.bytes.len()));
        }
    }
}
