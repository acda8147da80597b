//! What a key holds: a byte string or a set, in the fewest bytes.
//!
//! Invariant: what a client stores as a whole and is a canonical 64-bit decimal integer is held as that integer. A
//! string that was changed in place is not, whatever its bytes say: Redis tells the two apart, and so do we.
//! Invariant: bytes that a reply or another value still holds never change; a write then works on a copy.
//!
//! Deliberately unknown here: keys, deadlines, what commands do with a value.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use crate::command::parse_integer;
use crate::reply::{CommandError, Text};

use super::set::Set;

/// Longest string held inside the value.
const INLINE_BYTES_MAX: usize = 22;

/// From here on a string is reference-counted, so that a reply is written from where the value lies.
const SHARED_BYTES_MIN: usize = 16 * 1024;

/// Up to here a string that grows again gets as much room as it has; beyond, an eighth of that, at least this much.
/// What is never written to costs address space, not memory.
const DOUBLED_BYTES_MAX: usize = 1024 * 1024;

/// Longest string that Redis keeps beside its object header and therefore calls `embstr`.
const EMBSTR_BYTES_MAX: usize = 44;

/// The value of one key.
#[derive(Debug, Clone)]
pub(crate) struct Value(Form);

#[derive(Debug, Clone)]
enum Form {
    Integer(i64),
    Inline(Inline<INLINE_BYTES_MAX>),
    /// As `Inline`, made or changed piece by piece.
    RawInline(Inline<INLINE_BYTES_MAX>),
    Boxed(Box<[u8]>),
    /// Large, or made or changed piece by piece; replies and copies hold the same allocation.
    Grown(Arc<Vec<u8>>),
    Set(Box<Set>),
}

/// A reply's share in a large string.
struct Share(Arc<Vec<u8>>);

impl AsRef<[u8]> for Share {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

const _: () = assert!(size_of::<Value>() == 24);

/// A byte string of at most `MAX` bytes, which is at most 255, held in place.
#[derive(Clone, Copy)]
pub(super) struct Inline<const MAX: usize> {
    len: u8,
    bytes: [u8; MAX],
}

impl<const MAX: usize> Inline<MAX> {
    /// The string in place; none when it is longer.
    pub(super) fn new(bytes: &[u8]) -> Option<Self> {
        let mut inline = Inline { len: bytes.len() as u8, bytes: [0; MAX] };
        inline.bytes.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(inline)
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

impl<const MAX: usize> fmt::Debug for Inline<MAX> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_bytes().escape_ascii().fmt(f)
    }
}

/// The types a key can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A byte string.
    String,
    /// A set of byte strings.
    Set,
}

impl Kind {
    /// The word that TYPE answers and that SCAN's TYPE option takes.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Kind::String => "string",
            Kind::Set => "set",
        }
    }
}

impl Value {
    /// A byte string that a client stored as a whole.
    pub(crate) fn string(bytes: &[u8]) -> Self {
        parse_integer(bytes).map_or_else(|| Value::text(bytes), Value::integer)
    }

    /// A byte string that is no integer to [`Value::encoding`], even when it looks like one.
    pub(crate) fn text(bytes: &[u8]) -> Self {
        Value(match Inline::new(bytes) {
            Some(inline) => Form::Inline(inline),
            None if bytes.len() < SHARED_BYTES_MIN => Form::Boxed(bytes.into()),
            None => Form::Grown(Arc::new(bytes.to_vec())),
        })
    }

    /// A byte string that was computed, as if changed in place. Does not copy more than 22 bytes.
    pub(crate) fn raw(bytes: Vec<u8>) -> Self {
        Value(Inline::new(&bytes).map_or_else(|| Form::Grown(Arc::new(bytes)), Form::RawInline))
    }

    /// The byte string of an integer in decimal.
    pub(crate) const fn integer(integer: i64) -> Self {
        Value(Form::Integer(integer))
    }

    /// A set.
    pub(crate) fn set(set: Set) -> Self {
        Value(Form::Set(Box::new(set)))
    }

    /// Whether one of the two is a clone of the other and neither was changed since; of small values, whether they are
    /// equal.
    pub(crate) fn is(&self, other: &Value) -> bool {
        match (&self.0, &other.0) {
            (Form::Grown(one), Form::Grown(other)) => Arc::ptr_eq(one, other),
            (Form::Set(one), Form::Set(other)) => one.is(other),
            (Form::Set(_) | Form::Grown(_), _) | (_, Form::Set(_) | Form::Grown(_)) => false,
            _ => self.as_string() == other.as_string(),
        }
    }

    /// The byte string by handle, a copy of it when it is small; none when it is another type.
    pub(crate) fn share(&self) -> Option<Bytes> {
        match &self.0 {
            Form::Grown(bytes) => Some(Bytes::from_owner(Share(Arc::clone(bytes)))),
            _ => self.as_string().map(|bytes| Bytes::copy_from_slice(&bytes)),
        }
    }

    /// Its type.
    pub(crate) fn kind(&self) -> Kind {
        match &self.0 {
            Form::Integer(_) | Form::Inline(_) | Form::RawInline(_) | Form::Boxed(_) | Form::Grown(_) => Kind::String,
            Form::Set(_) => Kind::Set,
        }
    }

    /// The word that OBJECT ENCODING answers.
    pub(crate) fn encoding(&self) -> &'static str {
        match &self.0 {
            Form::Integer(_) => "int",
            Form::Inline(_) => "embstr",
            Form::Boxed(bytes) if bytes.len() <= EMBSTR_BYTES_MAX => "embstr",
            Form::RawInline(_) | Form::Boxed(_) | Form::Grown(_) => "raw",
            Form::Set(set) => set.encoding(),
        }
    }

    /// The byte string; none when it is another type.
    pub(crate) fn as_string(&self) -> Option<Cow<'_, [u8]>> {
        Some(match &self.0 {
            Form::Integer(integer) => Cow::Owned(itoa::Buffer::new().format(*integer).as_bytes().to_vec()),
            Form::Inline(inline) | Form::RawInline(inline) => Cow::Borrowed(inline.as_bytes()),
            Form::Boxed(bytes) => Cow::Borrowed(bytes),
            Form::Grown(bytes) => Cow::Borrowed(bytes),
            Form::Set(_) => return None,
        })
    }

    /// Length of the byte string; none when it is another type.
    pub(crate) fn string_len(&self) -> Option<usize> {
        match &self.0 {
            Form::Integer(integer) => Some(itoa::Buffer::new().format(*integer).len()),
            _ => self.as_string().map(|bytes| bytes.len()),
        }
    }

    /// The byte string, as a reply takes it; none when it is another type.
    pub(crate) fn as_text(&self) -> Option<Text<'_>> {
        self.slice(|len| 0..len)
    }

    /// A part of the byte string, as a reply takes it; none when it is another type. `part` is given the length and
    /// answers a range within it.
    pub(crate) fn slice(&self, part: impl FnOnce(usize) -> Range<usize>) -> Option<Text<'_>> {
        let string = self.as_string()?;
        let part = part(string.len());
        Some(match (&self.0, string) {
            (Form::Grown(bytes), _) if part.len() >= SHARED_BYTES_MIN => {
                Text::Shared(Bytes::from_owner(Share(Arc::clone(bytes))).slice(part))
            }
            (_, Cow::Borrowed(bytes)) => Text::Borrowed(&bytes[part]),
            (_, Cow::Owned(bytes)) => Text::Owned(bytes[part].to_vec()),
        })
    }

    /// The byte string to be changed in place, made at least `len_min` bytes long by zeros at its end; none when it is
    /// another type.
    ///
    /// Cost: amortised constant per byte it grows by; a copy of all when a reply or another value still holds it.
    pub(crate) fn string_mut(&mut self, len_min: usize) -> Option<&mut [u8]> {
        let string = self.as_string()?;
        let len = string.len().max(len_min);
        if len <= INLINE_BYTES_MAX {
            let mut inline = Inline::new(&string)?;
            inline.len = len as u8;
            self.0 = Form::RawInline(inline);
        } else if !matches!(self.0, Form::Grown(_)) {
            self.0 = Form::Grown(Arc::new(lengthened(&string, len, len)));
        }
        match &mut self.0 {
            Form::RawInline(inline) => Some(&mut inline.bytes[..len]),
            Form::Grown(bytes) => Some(resized(bytes, len)),
            Form::Integer(_) | Form::Inline(_) | Form::Boxed(_) | Form::Set(_) => None,
        }
    }

    /// The integer whose decimal form the byte string is.
    ///
    /// # Errors
    /// [`CommandError::NotInteger`] when it is another string, [`CommandError::WrongType`] when it is none.
    pub(crate) fn as_integer(&self) -> Result<i64, CommandError> {
        match &self.0 {
            Form::Integer(integer) => Ok(*integer),
            Form::Inline(inline) | Form::RawInline(inline) => {
                parse_integer(inline.as_bytes()).ok_or(CommandError::NotInteger)
            }
            // Longer than any integer.
            Form::Boxed(_) | Form::Grown(_) => Err(CommandError::NotInteger),
            Form::Set(_) => Err(CommandError::WrongType),
        }
    }

    /// The set; none when it is another type.
    pub(crate) fn as_set(&self) -> Option<&Set> {
        match &self.0 {
            Form::Set(set) => Some(set),
            Form::Integer(_) | Form::Inline(_) | Form::RawInline(_) | Form::Boxed(_) | Form::Grown(_) => None,
        }
    }

    /// The set, to be changed; none when it is another type.
    pub(crate) fn as_set_mut(&mut self) -> Option<&mut Set> {
        match &mut self.0 {
            Form::Set(set) => Some(set),
            Form::Integer(_) | Form::Inline(_) | Form::RawInline(_) | Form::Boxed(_) | Form::Grown(_) => None,
        }
    }

    /// The set, taken out; none when it is another type.
    pub(crate) fn into_set(self) -> Option<Set> {
        match self.0 {
            Form::Set(set) => Some(*set),
            Form::Integer(_) | Form::Inline(_) | Form::RawInline(_) | Form::Boxed(_) | Form::Grown(_) => None,
        }
    }

    /// Bytes on the heap, as asked of the allocator.
    pub(crate) fn heap_bytes(&self) -> usize {
        match &self.0 {
            Form::Integer(_) | Form::Inline(_) | Form::RawInline(_) => 0,
            Form::Boxed(bytes) => bytes.len(),
            // Two reference counts stand before the vector.
            Form::Grown(bytes) => 2 * size_of::<usize>() + size_of::<Vec<u8>>() + bytes.capacity(),
            Form::Set(set) => size_of::<Set>() + set.allocated_bytes(),
        }
    }
}

/// The bytes, `len` in all with zeros at the end, and room for `capacity`. Memory that was never written to comes zeroed
/// from the system, so what lies far beyond the old end is not touched.
fn lengthened(bytes: &[u8], len: usize, capacity: usize) -> Vec<u8> {
    let mut longer = vec![0; capacity.max(len)];
    longer.truncate(len);
    longer[..bytes.len()].copy_from_slice(bytes);
    longer
}

/// Makes a string at least `len` long, alone in its allocation, and hands it out.
fn resized(bytes: &mut Arc<Vec<u8>>, len: usize) -> &mut [u8] {
    let old_len = bytes.len();
    let capacity = match len {
        _ if len <= bytes.capacity() => bytes.capacity(),
        ..DOUBLED_BYTES_MAX => 2 * len,
        _ => len + DOUBLED_BYTES_MAX.max(len / 8),
    };
    match Arc::get_mut(bytes) {
        Some(own) if len <= own.capacity() || len / 2 <= old_len => {
            own.reserve_exact(capacity - old_len);
            own.resize(len.max(old_len), 0);
        }
        // Shared, or growing by more than it is long.
        _ => *bytes = Arc::new(lengthened(bytes, len.max(old_len), capacity)),
    }
    Arc::<Vec<u8>>::make_mut(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: &Value) -> Vec<u8> {
        value.as_text().unwrap().as_bytes().to_vec()
    }

    #[test]
    fn strings_come_back_as_they_went_in() {
        for len in [0, 1, 21, 22, 23, 44, 45, SHARED_BYTES_MIN - 1, SHARED_BYTES_MIN, 100_000] {
            let bytes = vec![b'x'; len];
            assert_eq!(text(&Value::string(&bytes)), bytes);
        }
        for bytes in ["0", "-1", "01", "-0", "9223372036854775807", "-9223372036854775808", "9223372036854775808", " 1"]
        {
            assert_eq!(text(&Value::string(bytes.as_bytes())), bytes.as_bytes());
        }
    }

    #[test]
    fn encodings_are_named_as_redis_names_them() {
        let encoding = |bytes: &[u8]| Value::string(bytes).encoding();
        assert_eq!(encoding(b"-17"), "int");
        assert_eq!(encoding(b"9223372036854775808"), "embstr");
        assert_eq!(encoding(b"017"), "embstr");
        assert_eq!(encoding(&[b'x'; 44]), "embstr");
        assert_eq!(encoding(&[b'x'; 45]), "raw");
        assert_eq!(encoding(&[b'x'; SHARED_BYTES_MIN]), "raw");
        assert_eq!(Value::set(Set::new()).kind().word(), "set");
    }

    #[test]
    fn the_wrong_type_is_refused() {
        let mut string = Value::string(b"12");
        assert_eq!(string.as_integer(), Ok(12));
        assert!(string.as_set().is_none());
        assert!(string.as_set_mut().is_none());
        assert_eq!(Value::string(b"1x").as_integer(), Err(CommandError::NotInteger));
        let set = Value::set(Set::new());
        assert_eq!(set.as_integer(), Err(CommandError::WrongType));
        assert!(set.as_text().is_none());
    }

    #[test]
    fn large_strings_are_shared_with_their_replies() {
        let value = Value::string(&[b'x'; SHARED_BYTES_MIN]);
        let (Some(Text::Shared(one)), Some(Text::Shared(other))) = (value.as_text(), value.as_text()) else {
            panic!("not shared");
        };
        assert_eq!(one.as_ptr(), other.as_ptr());
    }

    #[test]
    fn a_string_changed_in_place_is_raw_and_no_integer() {
        let mut value = Value::string(b"12");
        assert_eq!(value.string_mut(3).unwrap(), b"12\0");
        assert_eq!((value.encoding(), value.as_integer()), ("raw", Err(CommandError::NotInteger)));
        value.string_mut(0).unwrap()[2] = b'3';
        assert_eq!((text(&value), value.encoding(), value.as_integer()), (b"123".to_vec(), "raw", Ok(123)));
        assert_eq!((Value::text(b"123").encoding(), Value::text(b"123").as_integer()), ("embstr", Ok(123)));
        assert_eq!(Value::raw(b"123".to_vec()).encoding(), "raw");
        assert_eq!(Value::set(Set::new()).string_mut(1), None);
    }

    #[test]
    fn strings_grow_through_every_form() {
        for start in [0, 1, 22, 23, 100, SHARED_BYTES_MIN] {
            let mut wanted = vec![b'x'; start];
            let mut value = Value::string(&wanted);
            for len in [0, 1, 20, 22, 23, 30, 31, 1000, 900, SHARED_BYTES_MIN + 1, 1 << 20, (1 << 20) + 1, 3 << 20] {
                wanted.resize(wanted.len().max(len), 0);
                assert_eq!(value.string_mut(len).map(|bytes| bytes.len()), Some(wanted.len()));
                assert!(text(&value) == wanted, "{start} grown to {len}");
                assert_eq!(value.string_len(), Some(wanted.len()));
            }
        }
    }

    #[test]
    fn growing_byte_by_byte_moves_the_string_a_few_times() {
        let mut value = Value::raw(Vec::new());
        let mut places = std::collections::HashSet::new();
        for len in 1..=4 * DOUBLED_BYTES_MAX {
            let bytes = value.string_mut(len).unwrap();
            bytes[len - 1] = 1;
            if len > INLINE_BYTES_MAX {
                places.insert(bytes.as_ptr());
            }
        }
        assert!(places.len() < 40, "{} places", places.len());
        assert!(value.heap_bytes() < 6 * DOUBLED_BYTES_MAX);
        assert!(text(&value).iter().all(|byte| *byte == 1));
    }

    #[test]
    fn a_first_change_takes_no_more_room_than_it_needs() {
        let mut value = Value::string(b"x");
        value.string_mut(1000);
        let bare = Value::raw(vec![0; 1000]).heap_bytes();
        assert_eq!(value.heap_bytes(), bare);
    }

    #[test]
    fn bytes_held_by_a_reply_stay_as_they_are() {
        let mut value = Value::string(&[b'x'; SHARED_BYTES_MIN]);
        let Some(Text::Shared(reply)) = value.as_text() else { panic!("not shared") };
        value.string_mut(0).unwrap()[0] = b'y';
        assert_eq!((reply[0], text(&value)[0]), (b'x', b'y'));
        drop(reply);
        let place = value.string_mut(0).unwrap().as_ptr();
        assert_eq!(value.string_mut(1).unwrap().as_ptr(), place);
        let Some(Text::Shared(part)) = value.slice(|len| 0..len) else { panic!("not shared") };
        value.string_mut(2 * SHARED_BYTES_MIN).unwrap()[1] = b'z';
        assert_eq!((part[1], text(&value)[1]), (b'x', b'z'));
    }
}
