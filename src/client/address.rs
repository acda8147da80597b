//! Where a server is and how to log in there, also as a URL.
//!
//! ```text
//! redis://[user[:password]@]host[:port][/db][?db=N]     goblin:// is the same
//! unix:///path[?db=N][&ring]                            also unix://user:password@/path; a ring over it
//! ring:///path[?db=N]                                   likewise
//! ```
//!
//! Invariant: a password is never printed, not even by `Debug`.

use std::fmt;
use std::path::PathBuf;

use super::Login;

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// A TCP port.
    Tcp {
        /// A name or an address; IPv6 without brackets.
        host: String,
        /// 1 to 65535.
        port: u16,
    },
    /// A Unix socket.
    Unix(PathBuf),
    /// A ring's file.
    Ring(PathBuf),
    /// A ring that is asked for over this Unix socket.
    RingOver(PathBuf),
}

/// The port of `redis://host`.
const PORT: u16 = 6379;

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Address::Tcp { host, port } => write!(f, "{host}:{port}"),
            Address::Unix(path) => write!(f, "{}", path.display()),
            Address::Ring(path) => write!(f, "ring {}", path.display()),
            Address::RingOver(path) => write!(f, "{} by ring", path.display()),
        }
    }
}

/// What is wrong with a URL. Holds the part that is, never a password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AddressError {
    /// No `scheme://` in front.
    NoScheme,
    /// A scheme that is not served.
    UnknownScheme(String),
    /// `rediss://`.
    Tls,
    /// No host, or a malformed one.
    BadHost(String),
    /// Not a number from 1 to 65535.
    BadPort(String),
    /// Not a number of a database.
    BadDb(String),
    /// A `%` without two hexadecimal digits behind it, or bytes that are no text where text is needed.
    BadEscape,
    /// `unix://` without an absolute path.
    NoPath,
    /// An option behind `?` that does not exist.
    UnknownOption(String),
}

impl fmt::Display for AddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AddressError::NoScheme => f.write_str("an address begins with redis://, goblin://, unix:// or ring://"),
            AddressError::UnknownScheme(scheme) => {
                write!(f, "'{scheme}://' is not known; an address begins with redis://, goblin://, unix:// or ring://")
            }
            AddressError::Tls => f.write_str(
                "rediss:// needs TLS, which is not built in: use redis:// to a proxy that ends TLS, such as stunnel",
            ),
            AddressError::BadHost(host) => write!(f, "'{host}' is no host"),
            AddressError::BadPort(port) => write!(f, "'{port}' is no port; ports are 1 to 65535"),
            AddressError::BadDb(db) => write!(f, "'{db}' is no database; databases are numbers from 0"),
            AddressError::BadEscape => f.write_str("a '%' must be followed by two hexadecimal digits that make text"),
            AddressError::NoPath => f.write_str("a unix or ring address needs an absolute path: unix:///path"),
            AddressError::UnknownOption(name) => {
                write!(f, "the address option '{name}' is not known; there is 'db', and 'ring' for unix://")
            }
        }
    }
}

impl std::error::Error for AddressError {}

/// Reads a URL: where the server is, and user, password and database if it names them.
///
/// # Errors
/// The part that is wrong; nothing is guessed.
pub fn parse_url(url: &str) -> Result<(Address, Login), AddressError> {
    let (scheme, rest) = url.split_once("://").ok_or(AddressError::NoScheme)?;
    let scheme = scheme.to_ascii_lowercase();
    // A database has no '@', so the last one ends the credentials even when they were not escaped: then no part of a
    // password is taken for a host and shown in an error.
    let (credentials, rest) = match rest.rsplit_once('@') {
        Some((credentials, rest)) if scheme != "unix" && scheme != "ring" => (Some(credentials), rest),
        _ => (None, rest),
    };
    let (rest, options) = rest.split_once('?').unwrap_or((rest, ""));
    let (place, path) = rest.find('/').map_or((rest, ""), |slash| rest.split_at(slash));
    let (credentials, place) = place.rsplit_once('@').map_or((credentials, place), |(left, right)| (Some(left), right));
    let mut login = Login::default();
    if let Some(credentials) = credentials {
        read_credentials(credentials, &mut login)?;
    }
    let mut address = match scheme.as_str() {
        "redis" | "goblin" => {
            if let Some(db) = path.strip_prefix('/').filter(|db| !db.is_empty()) {
                login.db = read_db(db)?;
            }
            read_place(place)?
        }
        "unix" | "ring" if !place.is_empty() || path.len() < 2 => return Err(AddressError::NoPath),
        "unix" => Address::Unix(PathBuf::from(decode_text(path)?)),
        "ring" => Address::Ring(PathBuf::from(decode_text(path)?)),
        "rediss" => return Err(AddressError::Tls),
        _ => return Err(AddressError::UnknownScheme(scheme)),
    };
    for option in options.split('&').filter(|option| !option.is_empty()) {
        match option.split_once('=') {
            Some(("db", db)) => login.db = read_db(db)?,
            None if option == "ring" && scheme == "unix" => {
                if let Address::Unix(path) = address {
                    address = Address::RingOver(path);
                }
            }
            _ => return Err(AddressError::UnknownOption(option.split('=').next().unwrap_or(option).to_string())),
        }
    }
    Ok((address, login))
}

/// `user:password`, `user`, or `:password` for the default user.
fn read_credentials(credentials: &str, login: &mut Login) -> Result<(), AddressError> {
    let (user, password) =
        credentials.split_once(':').map_or((credentials, None), |(user, password)| (user, Some(password)));
    login.user = if user.is_empty() { None } else { Some(decode(user)?) };
    login.password = password.map(decode).transpose()?;
    Ok(())
}

fn read_place(place: &str) -> Result<Address, AddressError> {
    let bad_host = || AddressError::BadHost(place.to_string());
    let (host, port) = match place.strip_prefix('[') {
        Some(rest) => {
            let (host, rest) = rest.split_once(']').ok_or_else(bad_host)?;
            host.parse::<std::net::Ipv6Addr>().map_err(|_| bad_host())?;
            match rest.strip_prefix(':') {
                Some(port) => (host, Some(port)),
                None if rest.is_empty() => (host, None),
                None => return Err(bad_host()),
            }
        }
        None => place.split_once(':').map_or((place, None), |(host, port)| (host, Some(port))),
    };
    let host = decode_text(host)?;
    if host.is_empty() || host.contains(|letter: char| letter.is_whitespace() || letter.is_control()) {
        return Err(bad_host());
    }
    let port = match port {
        None => PORT,
        Some(text) => {
            read_number::<u16>(text).filter(|&port| port > 0).ok_or_else(|| AddressError::BadPort(text.to_string()))?
        }
    };
    Ok(Address::Tcp { host, port })
}

fn read_db(text: &str) -> Result<u32, AddressError> {
    read_number(text).ok_or_else(|| AddressError::BadDb(text.to_string()))
}

/// Digits only: Rust's own reading takes a plus sign.
fn read_number<N: std::str::FromStr>(text: &str) -> Option<N> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

fn decode_text(text: &str) -> Result<String, AddressError> {
    String::from_utf8(decode(text)?).map_err(|_| AddressError::BadEscape)
}

fn decode(text: &str) -> Result<Vec<u8>, AddressError> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            decoded.push(byte);
            continue;
        }
        let mut digit = || bytes.next().and_then(|byte| (byte as char).to_digit(16)).ok_or(AddressError::BadEscape);
        decoded.push((digit()? * 16 + digit()?) as u8);
    }
    Ok(decoded)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tcp(host: &str, port: u16) -> Address {
        Address::Tcp { host: host.to_string(), port }
    }

    fn login(user: Option<&str>, password: Option<&str>, db: u32) -> Login {
        let bytes = |text: Option<&str>| text.map(|text| text.as_bytes().to_vec());
        Login { user: bytes(user), password: bytes(password), db, ..Login::default() }
    }

    #[test]
    fn urls_name_place_and_login() {
        let seen = [
            ("redis://h", tcp("h", 6379), login(None, None, 0)),
            ("goblin://h:1/", tcp("h", 1), login(None, None, 0)),
            ("REDIS://127.0.0.1:7900/15", tcp("127.0.0.1", 7900), login(None, None, 15)),
            ("redis://:p%40w%2f@h:2/3", tcp("h", 2), login(None, Some("p@w/"), 3)),
            ("redis://:p@/?w@h:2/3", tcp("h", 2), login(None, Some("p@/?w"), 3)),
            ("redis://u:p:q@h", tcp("h", 6379), login(Some("u"), Some("p:q"), 0)),
            ("redis://u@h?db=4", tcp("h", 6379), login(Some("u"), None, 4)),
            ("redis://[::1]:5/1", tcp("::1", 5), login(None, None, 1)),
            ("redis://[::1]", tcp("::1", 6379), login(None, None, 0)),
            ("unix:///run/a%20b.sock?db=2", Address::Unix("/run/a b.sock".into()), login(None, None, 2)),
            ("unix:///s?ring", Address::RingOver("/s".into()), login(None, None, 0)),
            ("unix://u@/s?db=3&ring", Address::RingOver("/s".into()), login(Some("u"), None, 3)),
            ("unix://u:p@/s", Address::Unix("/s".into()), login(Some("u"), Some("p"), 0)),
        ];
        for (url, address, login) in seen {
            assert_eq!(parse_url(url), Ok((address, login)), "{url}");
        }
    }

    #[test]
    fn each_bad_part_is_named() {
        use AddressError::*;
        let seen = [
            ("localhost:6379", NoScheme),
            ("http://h", UnknownScheme("http".to_string())),
            ("rediss://h", Tls),
            ("redis://", BadHost(String::new())),
            ("redis://:6379", BadHost(":6379".to_string())),
            ("redis://[::1", BadHost("[::1".to_string())),
            ("redis://[x]", BadHost("[x]".to_string())),
            ("redis://[::1]x", BadHost("[::1]x".to_string())),
            ("redis://a b", BadHost("a b".to_string())),
            ("redis://h:", BadPort(String::new())),
            ("redis://h:0", BadPort("0".to_string())),
            ("redis://h:65536", BadPort("65536".to_string())),
            ("redis://h:+1", BadPort("+1".to_string())),
            ("redis://h/x", BadDb("x".to_string())),
            ("redis://h/1/2", BadDb("1/2".to_string())),
            ("redis://h?db=-1", BadDb("-1".to_string())),
            ("redis://:%4@h", BadEscape),
            ("redis://:%zz@h", BadEscape),
            ("unix://relative", NoPath),
            ("unix://", NoPath),
            ("unix:///", NoPath),
            ("unix://host/path", NoPath),
            ("unix:///s?ring=1", UnknownOption("ring".to_string())),
            ("ring:///s?ring", UnknownOption("ring".to_string())),
            ("redis://h?ring", UnknownOption("ring".to_string())),
            ("redis://h?secret=1", UnknownOption("secret".to_string())),
        ];
        for (url, error) in seen {
            assert_eq!(parse_url(url), Err(error), "{url}");
        }
    }

    #[test]
    fn whoever_wants_tls_is_told_of_a_proxy() {
        let told = parse_url("rediss://u:secret@h:6380/1").unwrap_err().to_string();
        assert!(told.contains("a proxy that ends TLS") && !told.contains("secret"), "{told}");
    }

    #[test]
    fn a_password_is_never_printed() {
        let (_, login) = parse_url("redis://u:secret@h").unwrap();
        assert!(!format!("{login:?}").contains("secret"));
        assert!(format!("{login:?}").contains("***"));
    }

    #[test]
    fn addresses_print_as_people_write_them() {
        assert_eq!(tcp("::1", 5).to_string(), "[::1]:5");
        assert_eq!(tcp("h", 5).to_string(), "h:5");
        assert_eq!(Address::Unix("/s".into()).to_string(), "/s");
    }
}
