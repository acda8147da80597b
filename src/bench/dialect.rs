//! Requests, answers and deliveries as bytes, in RESP2 and in SBE's own messages.
//!
//! These are written here a second time on purpose: what is measured is checked against bytes that the server's own
//! code had no part in.
//!
//! ```text
//! SBE   | u32 length | u16 block | u16 template | u16 schema | u16 version | block | groups | strings |
//! ```

/// How a connection speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    Resp,
    Sbe,
}

/// Schema and version of SBE's messages.
const SCHEMA: [u16; 2] = [7, 2];

/// A request.
#[derive(Debug, Clone, Copy)]
pub(super) enum Request<'a> {
    Ping,
    Publish(&'a [u8], &'a [u8]),
    Subscribe(&'a [u8]),
    Unsubscribe(&'a [u8]),
    Get(&'a [u8]),
    Set(&'a [u8], &'a [u8]),
    Incr(&'a [u8]),
    SAdd(&'a [u8], &'a [&'a [u8]]),
    SRem(&'a [u8], &'a [&'a [u8]]),
    SIsMember(&'a [u8], &'a [u8]),
    SMIsMember(&'a [u8], &'a [&'a [u8]]),
    SCard(&'a [u8]),
    SInterCard(&'a [&'a [u8]]),
}

/// An answer or a delivery.
#[derive(Debug, Clone, Copy)]
pub(super) enum Answer<'a> {
    Pong,
    Okay,
    Integer(i64),
    Bulk(&'a [u8]),
    /// So many ones, of SMISMEMBER.
    Ones(usize),
    Message {
        pattern: Option<&'a [u8]>,
        channel: &'a [u8],
        payload: &'a [u8],
    },
    Subscribed(&'a [u8], u32),
    Unsubscribed(&'a [u8], u32),
}

impl Dialect {
    /// Appends a request.
    pub(super) fn request(self, request: Request<'_>, out: &mut Vec<u8>) {
        match self {
            Dialect::Resp => resp_request(request, out),
            Dialect::Sbe => sbe_request(request, out),
        }
    }

    /// Appends an answer.
    pub(super) fn answer(self, answer: Answer<'_>, out: &mut Vec<u8>) {
        match self {
            Dialect::Resp => resp_answer(answer, out),
            Dialect::Sbe => sbe_answer(answer, out),
        }
    }

    /// A request on its own.
    pub(super) fn request_bytes(self, request: Request<'_>) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.request(request, &mut bytes);
        bytes
    }

    /// An answer on its own.
    pub(super) fn answer_bytes(self, answer: Answer<'_>) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.answer(answer, &mut bytes);
        bytes
    }

    /// The words of an error, when what came begins with one and is whole.
    pub(super) fn error(self, got: &[u8]) -> Option<String> {
        match self {
            Dialect::Resp => {
                let line = got.strip_prefix(b"-")?;
                let end = line.windows(2).position(|pair| pair == b"\r\n")?;
                Some(String::from_utf8_lossy(&line[..end]).into_owned())
            }
            Dialect::Sbe => {
                const ERROR: [u8; 2] = 3_u16.to_le_bytes();
                let length = u32::from_le_bytes(got.get(..4)?.try_into().ok()?) as usize;
                let message = got.get(4..4 + length)?;
                if message.get(2..4)? != ERROR {
                    return None;
                }
                let mut rest = message.get(8..)?;
                let mut words = Vec::new();
                while let Some((len, behind)) = rest.split_first_chunk::<4>() {
                    let (word, behind) = behind.split_at_checked(u32::from_le_bytes(*len) as usize)?;
                    words.push(String::from_utf8_lossy(word).into_owned());
                    rest = behind;
                }
                Some(words.join(" "))
            }
        }
    }
}

fn array(words: &[&[u8]], out: &mut Vec<u8>) {
    out.extend_from_slice(format!("*{}\r\n", words.len()).as_bytes());
    words.iter().for_each(|word| bulk(word, out));
}

fn bulk(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(format!("${}\r\n", bytes.len()).as_bytes());
    out.extend_from_slice(bytes);
    out.extend_from_slice(b"\r\n");
}

fn resp_request(request: Request<'_>, out: &mut Vec<u8>) {
    let listed = |name: &'static [u8], key: Option<&[u8]>, words: &[&[u8]], out: &mut Vec<u8>| {
        let all: Vec<&[u8]> = [name].into_iter().chain(key).chain(words.iter().copied()).collect();
        array(&all, out);
    };
    match request {
        Request::Ping => array(&[b"PING"], out),
        Request::Publish(channel, payload) => array(&[b"PUBLISH", channel, payload], out),
        Request::Subscribe(channel) => array(&[b"SUBSCRIBE", channel], out),
        Request::Unsubscribe(channel) => array(&[b"UNSUBSCRIBE", channel], out),
        Request::Get(key) => array(&[b"GET", key], out),
        Request::Set(key, value) => array(&[b"SET", key, value], out),
        Request::Incr(key) => array(&[b"INCR", key], out),
        Request::SAdd(key, members) => listed(b"SADD", Some(key), members, out),
        Request::SRem(key, members) => listed(b"SREM", Some(key), members, out),
        Request::SIsMember(key, member) => array(&[b"SISMEMBER", key, member], out),
        Request::SMIsMember(key, members) => listed(b"SMISMEMBER", Some(key), members, out),
        Request::SCard(key) => array(&[b"SCARD", key], out),
        Request::SInterCard(keys) => {
            let count = keys.len().to_string();
            listed(b"SINTERCARD", Some(count.as_bytes()), keys, out);
        }
    }
}

fn resp_answer(answer: Answer<'_>, out: &mut Vec<u8>) {
    let confirmation = |kind: &[u8], channel: &[u8], count: u32, out: &mut Vec<u8>| {
        out.extend_from_slice(b"*3\r\n");
        bulk(kind, out);
        bulk(channel, out);
        out.extend_from_slice(format!(":{count}\r\n").as_bytes());
    };
    match answer {
        Answer::Pong => out.extend_from_slice(b"+PONG\r\n"),
        Answer::Okay => out.extend_from_slice(b"+OK\r\n"),
        Answer::Integer(number) => out.extend_from_slice(format!(":{number}\r\n").as_bytes()),
        Answer::Bulk(bytes) => bulk(bytes, out),
        Answer::Ones(count) => {
            out.extend_from_slice(format!("*{count}\r\n").as_bytes());
            (0..count).for_each(|_| out.extend_from_slice(b":1\r\n"));
        }
        Answer::Message { pattern: None, channel, payload } => array(&[b"message", channel, payload], out),
        Answer::Message { pattern: Some(pattern), channel, payload } => {
            array(&[b"pmessage", pattern, channel, payload], out);
        }
        Answer::Subscribed(channel, count) => confirmation(b"subscribe", channel, count, out),
        Answer::Unsubscribed(channel, count) => confirmation(b"unsubscribe", channel, count, out),
    }
}

/// What stands behind the block of a message.
enum Part<'a> {
    Text(&'a [u8]),
    /// A group of strings, each behind a fixed part.
    Group(&'a [u8], &'a [&'a [u8]]),
}

fn frame(template: u16, block: &[u8], parts: &[Part<'_>], out: &mut Vec<u8>) {
    let begin = out.len();
    out.extend_from_slice(&[0; 4]);
    for word in [block.len() as u16, template, SCHEMA[0], SCHEMA[1]] {
        out.extend_from_slice(&word.to_le_bytes());
    }
    out.extend_from_slice(block);
    let text = |bytes: &[u8], out: &mut Vec<u8>| {
        out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        out.extend_from_slice(bytes);
    };
    for part in parts {
        match part {
            Part::Text(bytes) => text(bytes, out),
            Part::Group(fixed, entries) => {
                for word in [fixed.len() as u16, entries.len() as u16] {
                    out.extend_from_slice(&word.to_le_bytes());
                }
                for entry in *entries {
                    out.extend_from_slice(fixed);
                    text(entry, out);
                }
            }
        }
    }
    let length = (out.len() - begin - 4) as u32;
    out[begin..begin + 4].copy_from_slice(&length.to_le_bytes());
}

fn sbe_request(request: Request<'_>, out: &mut Vec<u8>) {
    use Part::{Group, Text};
    match request {
        Request::Ping => frame(16, &[], &[], out),
        Request::Publish(channel, payload) => frame(100, &[], &[Text(channel), Text(payload)], out),
        Request::Subscribe(channel) => frame(96, &[], &[Group(&[], &[channel])], out),
        Request::Unsubscribe(channel) => frame(97, &[], &[Group(&[], &[channel])], out),
        Request::Get(key) => frame(22, &[], &[Text(key)], out),
        Request::Set(key, value) => frame(23, &[0; 10], &[Text(key), Text(value)], out),
        Request::Incr(key) => frame(29, &[], &[Text(key)], out),
        Request::SAdd(key, members) => frame(102, &[], &[Group(&[], members), Text(key)], out),
        Request::SRem(key, members) => frame(103, &[], &[Group(&[], members), Text(key)], out),
        Request::SCard(key) => frame(104, &[], &[Text(key)], out),
        Request::SIsMember(key, member) => frame(105, &[], &[Text(key), Text(member)], out),
        Request::SMIsMember(key, members) => frame(106, &[], &[Group(&[], members), Text(key)], out),
        Request::SInterCard(keys) => frame(117, &[0; 8], &[Group(&[], keys)], out),
    }
}

fn sbe_answer(answer: Answer<'_>, out: &mut Vec<u8>) {
    use Part::{Group, Text};
    let push = |kind: u8, count: u32, strings: [&[u8]; 3], out: &mut Vec<u8>| {
        let [a, b, c, d] = count.to_le_bytes();
        frame(12, &[kind, a, b, c, d], &strings.map(Text), out);
    };
    match answer {
        Answer::Pong => frame(2, &[], &[Text(b"PONG")], out),
        Answer::Okay => frame(2, &[], &[Text(b"OK")], out),
        Answer::Integer(number) => frame(4, &number.to_le_bytes(), &[], out),
        Answer::Bulk(bytes) => frame(6, &[], &[Text(bytes)], out),
        Answer::Ones(count) => {
            let ones: Vec<&[u8]> = vec![b"1"; count];
            frame(7, &[], &[Group(&[], &ones)], out);
        }
        Answer::Message { pattern: None, channel, payload } => push(0, 0, [b"", channel, payload], out),
        Answer::Message { pattern: Some(pattern), channel, payload } => push(1, 0, [pattern, channel, payload], out),
        Answer::Subscribed(channel, count) => push(2, count, [b"", channel, b""], out),
        Answer::Unsubscribed(channel, count) => push(4, count, [b"", channel, b""], out),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_and_answers_are_the_bytes_that_clients_and_servers_send() {
        let resp = |request| String::from_utf8(Dialect::Resp.request_bytes(request)).unwrap();
        assert_eq!(resp(Request::SAdd(b"k", &[b"a", b"bc"])), "*4\r\n$4\r\nSADD\r\n$1\r\nk\r\n$1\r\na\r\n$2\r\nbc\r\n");
        assert_eq!(resp(Request::SInterCard(&[b"k"])), "*3\r\n$10\r\nSINTERCARD\r\n$1\r\n1\r\n$1\r\nk\r\n");
        assert_eq!(Dialect::Resp.answer_bytes(Answer::Ones(2)), b"*2\r\n:1\r\n:1\r\n");
        assert_eq!(
            Dialect::Sbe.request_bytes(Request::Get(b"k")),
            [&[13, 0, 0, 0][..], &[0, 0, 22, 0, 7, 0, 2, 0], &[1, 0, 0, 0], b"k"].concat()
        );
    }

    #[test]
    fn an_error_is_known_in_both() {
        assert_eq!(Dialect::Resp.error(b"-ERR no such\r\n:1"), Some("ERR no such".into()));
        assert_eq!(Dialect::Resp.error(b"-ERR no"), None);
        assert_eq!(Dialect::Resp.error(b":1\r\n"), None);
        let mut refused = Vec::new();
        frame(3, &[], &[Part::Text(b"ERR"), Part::Text(b"no such")], &mut refused);
        assert_eq!(Dialect::Sbe.error(&refused), Some("ERR no such".into()));
        assert_eq!(Dialect::Sbe.error(&Dialect::Sbe.answer_bytes(Answer::Pong)), None);
    }
}
