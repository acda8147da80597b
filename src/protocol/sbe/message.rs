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
    /// PubSubNumSubReply for NUMSUB, plain for other operations.
    Pubsub,
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
            Form::Plain | Form::Nullable | Form::Page | Form::CursorFirst | Form::Pubsub => ENTRIES_MAX as u32,
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
        let mut parts =
            Parts { message, block, entries: 0, entry_block: 0, group: cursor, data: [&[]; DATA_MAX] };
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
