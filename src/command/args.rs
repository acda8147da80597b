//! The arguments of one request: where they lie in the buffer they arrived in, and cursors over them.
//!
//! Invariant: nothing here copies an argument; a span is checked against its buffer when it is made.

/// Where one argument lies in its buffer, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Offset of the first byte.
    pub start: u32,
    /// Length, 0 to `u32::MAX`.
    pub len: u32,
}

/// Arguments of one request, or a tail of them; the command's own name is `get(0)` of the whole.
#[derive(Debug, Clone, Copy)]
pub struct Args<'a> {
    buf: &'a [u8],
    spans: &'a [Span],
}

impl<'a> Args<'a> {
    /// Arguments at `spans` of `buf`.
    ///
    /// # Panics
    /// When a span leaves the buffer: the decoder that made it is wrong.
    pub fn new(buf: &'a [u8], spans: &'a [Span]) -> Self {
        let fits = |span: &Span| span.start as usize + span.len as usize <= buf.len();
        debug_assert!(spans.iter().all(fits));
        Args { buf, spans }
    }

    /// How many arguments there are.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// The argument at `index`.
    pub fn get(&self, index: usize) -> Option<&'a [u8]> {
        let span = self.spans.get(index)?;
        Some(&self.buf[span.start as usize..][..span.len as usize])
    }

    /// The arguments from `index` on; none when there are fewer.
    pub fn from(&self, index: usize) -> Args<'a> {
        Args { buf: self.buf, spans: self.spans.get(index..).unwrap_or(&[]) }
    }

    /// The first `count` arguments, or all when there are fewer.
    pub fn first(&self, count: usize) -> Args<'a> {
        Args { buf: self.buf, spans: &self.spans[..count.min(self.spans.len())] }
    }

    /// All arguments in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &'a [u8]> + DoubleEndedIterator + Clone + use<'a> {
        let buf = self.buf;
        self.spans.iter().map(move |span| &buf[span.start as usize..][..span.len as usize])
    }

    /// The arguments two by two; a last odd one is left out.
    pub fn pairs(&self) -> impl ExactSizeIterator<Item = (&'a [u8], &'a [u8])> + use<'a> {
        let buf = self.buf;
        let at = move |span: &Span| &buf[span.start as usize..][..span.len as usize];
        self.spans.chunks_exact(2).map(move |pair| (at(&pair[0]), at(&pair[1])))
    }

    /// The bytes all arguments take together.
    pub fn bytes_len(&self) -> usize {
        self.spans.iter().map(|span| span.len as usize).sum()
    }
}

/// Arguments that own their bytes: what MULTI queues, and what tests build.
#[derive(Debug, Clone, Default)]
pub struct OwnedArgs {
    buf: Vec<u8>,
    spans: Vec<Span>,
}

impl OwnedArgs {
    /// Copies the arguments, name included.
    pub fn copy(args: Args<'_>) -> Self {
        args.iter().collect()
    }

    /// A view of the arguments.
    pub fn as_args(&self) -> Args<'_> {
        Args::new(&self.buf, &self.spans)
    }

    /// Bytes held on the heap.
    pub fn heap_bytes(&self) -> usize {
        self.buf.capacity() + self.spans.capacity() * size_of::<Span>()
    }
}

impl<'a> FromIterator<&'a [u8]> for OwnedArgs {
    fn from_iter<I: IntoIterator<Item = &'a [u8]>>(words: I) -> Self {
        let mut owned = OwnedArgs::default();
        for word in words {
            owned.spans.push(Span { start: owned.buf.len() as u32, len: word.len() as u32 });
            owned.buf.extend_from_slice(word);
        }
        owned
    }
}

/// Reads a decimal 64-bit integer in Redis's canonical form: no sign but `-`, no leading zero, no spaces.
///
/// `None` for anything else, also for `-0` and values outside the range.
pub fn parse_integer(bytes: &[u8]) -> Option<i64> {
    let (negative, digits) = match bytes {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    match digits {
        [b'0'] => return (!negative).then_some(0),
        [b'1'..=b'9', ..] if digits.len() <= 19 => {}
        _ => return None,
    }
    let mut value: u64 = 0;
    for digit in digits {
        if !digit.is_ascii_digit() {
            return None;
        }
        value = value * 10 + u64::from(digit - b'0');
    }
    match negative {
        false => i64::try_from(value).ok(),
        true if value <= 1 << 63 => Some((value as i64).wrapping_neg()),
        true => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_read_in_canonical_form_only() {
        for value in [0, 1, -1, 10, i64::MAX, i64::MIN, i64::MAX - 1, i64::MIN + 1] {
            assert_eq!(parse_integer(value.to_string().as_bytes()), Some(value));
        }
        for text in
            ["", "-", "+1", "01", "-0", "00", " 1", "1 ", "1.5", "9223372036854775808", "-9223372036854775809", "x"]
        {
            assert_eq!(parse_integer(text.as_bytes()), None, "{text:?}");
        }
    }

    #[test]
    fn owned_arguments_give_back_what_they_copied() {
        let owned: OwnedArgs = [&b"SADD"[..], b"", b"a\0b"].into_iter().collect();
        let args = owned.as_args();
        assert_eq!(args.iter().collect::<Vec<_>>(), [&b"SADD"[..], b"", b"a\0b"]);
        assert_eq!(args.from(1).len(), 2);
        assert!(args.from(9).is_empty());
        assert_eq!(args.pairs().collect::<Vec<_>>(), [(&b"SADD"[..], &b""[..])]);
    }
}
