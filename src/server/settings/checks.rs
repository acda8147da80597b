//! Rules of settings whose value is text of a form of its own.
//!
//! Each takes what CONFIG SET received and gives the canonical text, or what is wrong with it.

use std::ffi::OsStr;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::command::parse_integer;
use crate::reply::SettingFault;
use crate::transport::ring_capacity;

use super::words;

/// The canonical text, or what is wrong.
pub(super) type Checked = Result<Box<[u8]>, SettingFault>;

/// Most addresses `bind` takes.
const ADDRESSES_MAX: usize = 16;

/// An address to listen on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BindAddress {
    /// An unspecified address means every interface of its family.
    pub ip: IpAddr,
    /// Written with a leading `-`: not having it is no error.
    pub optional: bool,
}

impl BindAddress {
    /// Reads one word of `bind`: an IP address, `*`, `::*` or `localhost`, optionally after `-`.
    pub(super) fn parse(word: &[u8]) -> Option<Self> {
        let (optional, word) = match word {
            [b'-', rest @ ..] => (true, rest),
            _ => (false, word),
        };
        let ip = match word {
            b"*" => Ipv4Addr::UNSPECIFIED.into(),
            b"::*" => Ipv6Addr::UNSPECIFIED.into(),
            b"localhost" => Ipv4Addr::LOCALHOST.into(),
            _ => std::str::from_utf8(word).ok()?.parse().ok()?,
        };
        Some(BindAddress { ip, optional })
    }
}

/// `bind`: addresses to listen on; nothing is no TCP at all.
pub(super) fn bind(text: &[u8]) -> Checked {
    if text.is_empty() {
        return Ok(text.into());
    }
    if words(text).count() > ADDRESSES_MAX {
        return Err(SettingFault::TooManyAddresses);
    }
    match words(text).all(|word| BindAddress::parse(word).is_some()) {
        true => Ok(text.into()),
        false => Err(SettingFault::Addresses),
    }
}

/// `save`: pairs of seconds (from 1) and changes (from 0).
pub(super) fn save(text: &[u8]) -> Checked {
    if text.is_empty() {
        return Ok(text.into());
    }
    let numbers: Option<Vec<i64>> = words(text).map(parse_integer).collect();
    match numbers {
        Some(numbers)
            if numbers.len().is_multiple_of(2) && numbers.chunks(2).all(|pair| pair[0] >= 1 && pair[1] >= 0) =>
        {
            Ok(text.into())
        }
        _ => Err(SettingFault::SavePoints),
    }
}

/// `latency-tracking-info-percentiles`: numbers from 0 to 100, printed with at most six decimals.
pub(super) fn percentiles(text: &[u8]) -> Checked {
    if text.is_empty() {
        return Ok(text.into());
    }
    let mut printed = Vec::new();
    for word in words(text) {
        let number: f64 = std::str::from_utf8(word)
            .ok()
            .and_then(|word| word.parse().ok())
            .filter(|number: &f64| !number.is_nan())
            .ok_or(SettingFault::Percentiles)?;
        if !(0.0..=100.0).contains(&number) {
            return Err(SettingFault::PercentileRange);
        }
        let decimals = format!("{number:.6}");
        printed.push(decimals.trim_end_matches('0').trim_end_matches('.').to_owned());
    }
    Ok(printed.join(" ").into_bytes().into())
}

/// `oom-score-adj-values`: three scores.
pub(super) fn kill_scores(text: &[u8]) -> Checked {
    if words(text).count() != 3 {
        return Err(SettingFault::ScoreCount);
    }
    let in_range = |word| parse_integer(word).is_some_and(|score| (-2000..=2000).contains(&score));
    if words(text).all(in_range) { Ok(text.into()) } else { Err(SettingFault::ScoreRange) }
}

/// `proc-title-template`: text with variables in braces, not empty after they are filled in.
pub(super) fn process_title(text: &[u8]) -> Checked {
    const KNOWN: [&[u8]; 7] =
        [b"title", b"listen-addr", b"server-mode", b"port", b"tls-port", b"config-file", b"unixsocket"];
    let mut rest = text;
    while let Some(open) = rest.iter().position(|&byte| byte == b'{') {
        rest = &rest[open + 1..];
        if let [b'{', after @ ..] = rest {
            rest = after;
            continue;
        }
        let close = rest.iter().position(|&byte| byte == b'}').ok_or(SettingFault::ProcessTitle)?;
        if !KNOWN.contains(&&rest[..close]) {
            return Err(SettingFault::ProcessTitle);
        }
        rest = &rest[close + 1..];
    }
    // The one variable that stands for nothing here.
    let blank = String::from_utf8_lossy(text).replace("{title}", "").is_empty();
    if blank { Err(SettingFault::ProcessTitle) } else { Ok(text.into()) }
}

/// `cluster-announce-hostname`.
pub(super) fn host_name(text: &[u8]) -> Checked {
    if text.len() >= 256 {
        return Err(SettingFault::HostNameLength);
    }
    match text.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-.".contains(byte)) {
        true => Ok(text.into()),
        false => Err(SettingFault::HostName),
    }
}

/// `cluster-announce-human-nodename`.
pub(super) fn node_name(text: &[u8]) -> Checked {
    match text.iter().any(|byte| b"\0!#$%&()*+:;<>?@[]^{|}~".contains(byte)) {
        true => Err(SettingFault::NodeName),
        false => Ok(text.into()),
    }
}

/// `locale-collate`: strings are compared as bytes, which is what these names mean.
pub(super) fn locale(text: &[u8]) -> Checked {
    if matches!(text, b"" | b"C" | b"POSIX") { Ok(text.into()) } else { Err(SettingFault::Locale) }
}

/// `dir`: a folder that exists, as an absolute path.
pub(super) fn folder(text: &[u8]) -> Checked {
    let path = Path::new(OsStr::from_bytes(text)).canonicalize().map_err(|_| SettingFault::NoSuchFolder)?;
    if path.is_dir() { Ok(path.as_os_str().as_bytes().into()) } else { Err(SettingFault::NotAFolder) }
}

/// `replicaof`: a host and a port, or nothing, which may be written `no one`.
pub(super) fn primary(text: &[u8]) -> Checked {
    if text.eq_ignore_ascii_case(b"no one") { Ok(Box::default()) } else { Ok(text.into()) }
}

fn plain_name(text: &[u8], setting: &'static str, folder: bool) -> Checked {
    if text.contains(&b'/') { Err(SettingFault::PathNotName(setting, folder)) } else { Ok(text.into()) }
}

/// `dbfilename`.
pub(super) fn snapshot_name(text: &[u8]) -> Checked {
    plain_name(text, "dbfilename", false)
}

/// `appendfilename`.
pub(super) fn append_name(text: &[u8]) -> Checked {
    plain_name(text, "appendfilename", false)
}

/// `appenddirname`.
pub(super) fn append_folder_name(text: &[u8]) -> Checked {
    plain_name(text, "appenddirname", true)
}

/// `cpu`: the number of a processor, or nothing.
pub(super) fn processor(text: &[u8]) -> Checked {
    match parse_integer(text) {
        Some(0..=1023) => Ok(text.into()),
        None if text.is_empty() => Ok(text.into()),
        _ => Err(SettingFault::Processor),
    }
}

/// `ring`: PATH:SIZE words, or nothing.
pub(super) fn rings(text: &[u8]) -> Checked {
    let words = text.split(|byte| *byte == b' ').filter(|word| !word.is_empty());
    let words: Option<Vec<&[u8]>> = words.map(|word| RingAddress::parse(word).map(|_| word)).collect();
    words.map(|words| words.join(&b' ').into()).ok_or(SettingFault::Ring)
}

/// A ring to serve.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RingAddress {
    /// Its file.
    pub path: PathBuf,
    /// Bytes each way: a power of two, at least a page.
    pub capacity: u64,
}

impl RingAddress {
    /// Reads `PATH:SIZE`; the path may hold colons.
    pub(super) fn parse(word: &[u8]) -> Option<Self> {
        let at = word.iter().rposition(|byte| *byte == b':')?;
        let (path, size) = (&word[..at], std::str::from_utf8(&word[at + 1..]).ok()?);
        let path = PathBuf::from(OsStr::from_bytes(path));
        let capacity = ring_capacity(size)?;
        path.file_name().is_some().then_some(RingAddress { path, capacity })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_may_be_optional() {
        assert_eq!(BindAddress::parse(b"-::1"), Some(BindAddress { ip: Ipv6Addr::LOCALHOST.into(), optional: true }));
        assert_eq!(BindAddress::parse(b"*"), Some(BindAddress { ip: Ipv4Addr::UNSPECIFIED.into(), optional: false }));
        assert!(bind(b"* -::*").is_ok());
        assert_eq!(bind(b"127.0.0.1  ::1"), Err(SettingFault::Addresses));
        assert_eq!(bind(b"x y"), Err(SettingFault::Addresses));
        assert_eq!(bind(b"a a a a a a a a a a a a a a a a a"), Err(SettingFault::TooManyAddresses));
    }

    #[test]
    fn percentiles_are_printed_short() {
        for (given, printed) in [
            ("50.0", "50"),
            ("5e1", "50"),
            ("99.99 1", "99.99 1"),
            ("33.3333333333333333", "33.333333"),
            ("0.001", "0.001"),
            ("100 0", "100 0"),
        ] {
            assert_eq!(*percentiles(given.as_bytes()).unwrap(), *printed.as_bytes());
        }
        assert_eq!(percentiles(b"100.1"), Err(SettingFault::PercentileRange));
        for wrong in ["x", "50 x", "nan", " 50  60 "] {
            assert_eq!(percentiles(wrong.as_bytes()), Err(SettingFault::Percentiles), "{wrong}");
        }
    }

    #[test]
    fn save_points_are_pairs() {
        for right in ["", "900 1", "900 1 300 10", "1 0", "9999999999999 1"] {
            assert!(save(right.as_bytes()).is_ok(), "{right}");
        }
        for wrong in ["900", "a b", "0 1", "1 -1", "-1 1", "900  1", " 900 1 ", "900 1 1", "900 1\n300 2"] {
            assert_eq!(save(wrong.as_bytes()), Err(SettingFault::SavePoints), "{wrong}");
        }
    }

    #[test]
    fn titles_have_known_variables_only() {
        for right in ["abc", "}", "{port}{tls-port}{unixsocket}", "{{x}}"] {
            assert!(process_title(right.as_bytes()).is_ok(), "{right}");
        }
        for wrong in ["", "{title}", "{x}", "{title} {listen-addr"] {
            assert_eq!(process_title(wrong.as_bytes()), Err(SettingFault::ProcessTitle), "{wrong}");
        }
    }
}
