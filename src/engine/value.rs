//! What a key holds: a byte string or a set, in the fewest bytes.
//!
//! Invariant: a string that is a canonical 64-bit decimal integer is held as that integer, so equal strings have one
//! form and equal encodings.
//!
//! Deliberately unknown here: keys, deadlines, what commands do with a value.

use std::fmt;

use bytes::Bytes;

use crate::command::parse_integer;
use crate::reply::{CommandError, Text};

use super::set::Set;

/// Longest string held inside the value.
const INLINE_BYTES_MAX: usize = 22;

/// From here on a string is reference-counted, so that a reply is written from where the value lies.
const SHARED_BYTES_MIN: usize = 16 * 1024;

/// Longest string that Redis keeps beside its object header and therefore calls `embstr`.
const EMBSTR_BYTES_MAX: usize = 44;

/// The value of one key.
#[derive(Debug, Clone)]
pub(crate) struct Value(Form);

#[derive(Debug, Clone)]
enum Form {
    Integer(i64),
    Inline(Inline<INLINE_BYTES_MAX>),
    Boxed(Box<[u8]>),
    // Boxed because `Bytes` alone is four words.
    Shared(Box<Bytes>),
    Set(Box<Set>),
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
    /// A byte string.
    pub(crate) fn string(bytes: &[u8]) -> Self {
        if let Some(integer) = parse_integer(bytes) {
            return Value::integer(integer);
        }
        Value(match Inline::new(bytes) {
            Some(inline) => Form::Inline(inline),
            None if bytes.len() < SHARED_BYTES_MIN => Form::Boxed(bytes.into()),
            None => Form::Shared(Box::new(Bytes::copy_from_slice(bytes))),
        })
    }

    /// The byte string of an integer in decimal.
    pub(crate) const fn integer(integer: i64) -> Self {
        Value(Form::Integer(integer))
    }

    /// A set.
    pub(crate) fn set(set: Set) -> Self {
        Value(Form::Set(Box::new(set)))
    }

    /// Its type.
    pub(crate) fn kind(&self) -> Kind {
        match &self.0 {
            Form::Integer(_) | Form::Inline(_) | Form::Boxed(_) | Form::Shared(_) => Kind::String,
            Form::Set(_) => Kind::Set,
        }
    }

    /// The word that OBJECT ENCODING answers.
    pub(crate) fn encoding(&self) -> &'static str {
        match &self.0 {
            Form::Integer(_) => "int",
            Form::Inline(_) => "embstr",
            Form::Boxed(bytes) if bytes.len() <= EMBSTR_BYTES_MAX => "embstr",
            Form::Boxed(_) | Form::Shared(_) => "raw",
            Form::Set(set) => set.encoding(),
        }
    }

    /// The byte string, as a reply takes it; none when it is another type.
    pub(crate) fn as_text(&self) -> Option<Text<'_>> {
        match &self.0 {
            Form::Integer(integer) => Some(Text::Owned(itoa::Buffer::new().format(*integer).as_bytes().to_vec())),
            Form::Inline(inline) => Some(Text::Borrowed(inline.as_bytes())),
            Form::Boxed(bytes) => Some(Text::Borrowed(bytes)),
            Form::Shared(bytes) => Some(Text::Shared(Bytes::clone(bytes))),
            Form::Set(_) => None,
        }
    }

    /// The integer whose decimal form the byte string is.
    ///
    /// # Errors
    /// [`CommandError::NotInteger`] when it is another string, [`CommandError::WrongType`] when it is none.
    pub(crate) fn as_integer(&self) -> Result<i64, CommandError> {
        match &self.0 {
            Form::Integer(integer) => Ok(*integer),
            Form::Inline(_) | Form::Boxed(_) | Form::Shared(_) => Err(CommandError::NotInteger),
            Form::Set(_) => Err(CommandError::WrongType),
        }
    }

    /// The set; none when it is another type.
    pub(crate) fn as_set(&self) -> Option<&Set> {
        match &self.0 {
            Form::Set(set) => Some(set),
            Form::Integer(_) | Form::Inline(_) | Form::Boxed(_) | Form::Shared(_) => None,
        }
    }

    /// The set, to be changed; none when it is another type.
    pub(crate) fn as_set_mut(&mut self) -> Option<&mut Set> {
        match &mut self.0 {
            Form::Set(set) => Some(set),
            Form::Integer(_) | Form::Inline(_) | Form::Boxed(_) | Form::Shared(_) => None,
        }
    }

    /// The set, taken out; none when it is another type.
    pub(crate) fn into_set(self) -> Option<Set> {
        match self.0 {
            Form::Set(set) => Some(*set),
            Form::Integer(_) | Form::Inline(_) | Form::Boxed(_) | Form::Shared(_) => None,
        }
    }

    /// Bytes on the heap, as asked of the allocator.
    pub(crate) fn heap_bytes(&self) -> usize {
        match &self.0 {
            Form::Integer(_) | Form::Inline(_) => 0,
            Form::Boxed(bytes) => bytes.len(),
            Form::Shared(bytes) => size_of::<Bytes>() + bytes.len(),
            Form::Set(set) => size_of::<Set>() + set.allocated_bytes(),
        }
    }
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
}
