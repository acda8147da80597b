//! How the words of a command line are written down, so that whoever reads the line gets them back.
//!
//! Deliberately unknown here: how such a line is read; the inline form of requests and `goblin cli` do that.

/// Appends bytes in double quotes, so that the words of a command line stand for them again. What is not printable
/// ASCII is escaped.
pub fn quote(bytes: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    for &byte in bytes {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            7 => out.extend_from_slice(b"\\a"),
            8 => out.extend_from_slice(b"\\b"),
            b' '..=b'~' => out.push(byte),
            _ => out.extend_from_slice(format!("\\x{byte:02x}").as_bytes()),
        }
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::quote;

    #[test]
    fn words_are_quoted_so_that_a_line_stays_a_line() {
        let mut line = Vec::new();
        quote(b"v\x00\x01\xff\"\\\r\n\t\x07\x08 ~\x7f", &mut line);
        assert_eq!(line, br#""v\x00\x01\xff\"\\\r\n\t\a\b ~\x7f""#);
    }
}
