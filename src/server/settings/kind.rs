//! How a setting's value is read and printed.
//!
//! Invariant: `Kind::read` of what a value prints gives that value again, but for the event classes that `A` hides.
//! Deliberately unknown here: names and defaults of settings.

use std::fmt;

use crate::command::parse_integer;
use crate::engine::settings::NotifyFlags;
use crate::reply::SettingFault;

use super::checks::Checked;
use super::output_limits::OutputLimits;
use super::words;

/// What a setting's value may be.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    /// `yes` or `no`.
    Bool,
    /// A decimal integer, both ends allowed.
    Integer { least: i64, most: i64 },
    /// The same, where any negative number is refused before the range is looked at.
    Unsigned { least: i64, most: i64 },
    /// An octal number written without prefix; `most` is octal too.
    Octal { most: i64 },
    /// Bytes with an optional unit, up to the largest signed integer; `signed` words the refusal of larger ones.
    Memory { least: u64, signed: bool },
    /// The same, or a percentage of it.
    MemoryOrPercent,
    /// One of several words.
    Choice(&'static [&'static str]),
    /// One or more of several words; the first stands for none of the others, and the second and third exclude
    /// each other.
    ChoiceSet(&'static [&'static str]),
    /// Any bytes.
    Text,
    /// Text that is refused, or made canonical, by a rule of its own.
    Checked(fn(&[u8]) -> Checked),
    /// `client-output-buffer-limit`.
    OutputLimits,
    /// `notify-keyspace-events`.
    EventClasses,
}

/// The value of a setting.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    /// See [`Kind::Bool`].
    Bool(bool),
    /// See [`Kind::Integer`], [`Kind::Unsigned`].
    Integer(i64),
    /// See [`Kind::Octal`].
    Octal(i64),
    /// Bytes.
    Memory(u64),
    /// 1 to 100.
    Percent(u8),
    /// The position of the word.
    Choice(&'static [&'static str], usize),
    /// One bit per word after the first.
    ChoiceSet(&'static [&'static str], u8),
    /// Bytes.
    Text(Box<[u8]>),
    /// Per client class.
    OutputLimits(OutputLimits),
    /// Event classes.
    EventClasses(NotifyFlags),
}

impl Value {
    /// As CONFIG GET answers it, with bytes that are no UTF-8 as they are.
    pub(super) fn printed(&self) -> Vec<u8> {
        match self {
            Value::Text(bytes) => bytes.to_vec(),
            other => other.to_string().into_bytes(),
        }
    }
}

impl Kind {
    /// Reads a value as CONFIG SET receives it. `old` is the value it replaces: a partial change keeps the rest.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn read(&self, text: &[u8], old: Option<&Value>) -> Result<Value, SettingFault> {
        match *self {
            Kind::Bool => read_bool(text).map(Value::Bool),
            Kind::Integer { least, most } => read_integer(text, least, most).map(Value::Integer),
            Kind::Unsigned { least, most } => match parse_integer(text) {
                Some(..0) => Err(SettingFault::Negative),
                _ => read_integer(text, least, most).map(Value::Integer),
            },
            Kind::Octal { most } => read_octal(text, most).map(Value::Octal),
            Kind::Memory { least, signed } => read_memory(text, least, signed).map(Value::Memory),
            Kind::MemoryOrPercent => read_memory_or_percent(text),
            Kind::Choice(choices) => {
                find(choices, text).map(|at| Value::Choice(choices, at)).ok_or(SettingFault::NotOneOf(choices))
            }
            Kind::ChoiceSet(choices) => read_choice_set(text, choices),
            Kind::Text => Ok(Value::Text(text.into())),
            Kind::Checked(check) => check(text).map(Value::Text),
            Kind::OutputLimits => {
                let mut limits = match old {
                    Some(Value::OutputLimits(limits)) => *limits,
                    _ => OutputLimits::default(),
                };
                limits.change(text)?;
                Ok(Value::OutputLimits(limits))
            }
            Kind::EventClasses => NotifyFlags::parse(text).map(Value::EventClasses).ok_or(SettingFault::EventClass),
        }
    }

    /// True when the words of a file's line together are one value.
    pub(super) fn takes_words(&self) -> bool {
        matches!(self, Kind::ChoiceSet(_) | Kind::OutputLimits | Kind::Checked(_))
    }

    /// What a value looks like, for people.
    pub(super) fn form(&self) -> String {
        match *self {
            Kind::Bool => "yes or no".into(),
            Kind::Integer { least, most } | Kind::Unsigned { least, most } => match most {
                i64::MAX => format!("an integer from {least}"),
                _ => format!("an integer from {least} to {most}"),
            },
            Kind::Octal { most } => format!("an octal number up to {most:o}"),
            Kind::Memory { least: 0, .. } => "bytes (units k kb m mb g gb)".into(),
            Kind::Memory { least, .. } => format!("bytes (units k kb m mb g gb), at least {least}"),
            Kind::MemoryOrPercent => "bytes (units k kb m mb g gb) or a percentage".into(),
            Kind::Choice(choices) => format!("one of {}", choices.join(", ")),
            Kind::ChoiceSet(choices) => format!("one or more of {}", choices.join(", ")),
            Kind::Text | Kind::Checked(_) => "text".into(),
            Kind::OutputLimits => "groups of CLASS HARD SOFT SECONDS; classes normal, replica, pubsub".into(),
            Kind::EventClasses => "letters out of KEAg$lshzxetdnocm".into(),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Bool(yes) => f.write_str(if *yes { "yes" } else { "no" }),
            Value::Integer(number) => write!(f, "{number}"),
            Value::Octal(number) => write!(f, "{number:o}"),
            Value::Memory(bytes) => write!(f, "{bytes}"),
            Value::Percent(percent) => write!(f, "{percent}%"),
            Value::Choice(choices, at) => f.write_str(choices[*at]),
            Value::ChoiceSet(choices, 0) => f.write_str(choices[0]),
            Value::ChoiceSet(choices, bits) => {
                let chosen = choices.iter().enumerate().filter(|(at, _)| bits >> at & 1 == 1);
                let chosen: Vec<&str> = chosen.map(|(_, word)| *word).collect();
                f.write_str(&chosen.join(" "))
            }
            Value::Text(bytes) => f.write_str(&String::from_utf8_lossy(bytes)),
            Value::OutputLimits(limits) => write!(f, "{limits}"),
            Value::EventClasses(flags) => write!(f, "{flags}"),
        }
    }
}

fn read_bool(text: &[u8]) -> Result<bool, SettingFault> {
    if text.eq_ignore_ascii_case(b"yes") {
        Ok(true)
    } else if text.eq_ignore_ascii_case(b"no") {
        Ok(false)
    } else {
        Err(SettingFault::NotBool)
    }
}

fn read_integer(text: &[u8], least: i64, most: i64) -> Result<i64, SettingFault> {
    let number = parse_integer(text).ok_or(SettingFault::NotInteger)?;
    if (least..=most).contains(&number) { Ok(number) } else { Err(SettingFault::Range { least, most }) }
}

fn read_octal(text: &[u8], most: i64) -> Result<i64, SettingFault> {
    let digits = std::str::from_utf8(text).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    let number = digits.and_then(|text| i64::from_str_radix(text, 8).ok()).ok_or(SettingFault::NotOctal)?;
    // The range is worded in octal digits.
    let shown = format!("{most:o}").parse().unwrap_or(i64::MAX);
    if number <= most { Ok(number) } else { Err(SettingFault::Range { least: 0, most: shown }) }
}

/// Bytes with an optional unit in any case; a bare unit or nothing is zero. Numbers past 64 bits count as the
/// largest one.
pub(super) fn parse_memory(text: &[u8]) -> Option<u64> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, unit) = text.split_at(digits);
    let scale: u64 = match unit.to_ascii_lowercase().as_slice() {
        b"" | b"b" => 1,
        b"k" => 1000,
        b"kb" => 1 << 10,
        b"m" => 1_000_000,
        b"mb" => 1 << 20,
        b"g" => 1_000_000_000,
        b"gb" => 1 << 30,
        _ => return None,
    };
    let number = digits.iter().fold(0u64, |sum, digit| sum.saturating_mul(10).saturating_add(u64::from(digit - b'0')));
    Some(number.saturating_mul(scale))
}

fn read_memory(text: &[u8], least: u64, signed: bool) -> Result<u64, SettingFault> {
    let bytes = parse_memory(text).ok_or(SettingFault::NotMemory)?;
    let most = i64::MAX as u64;
    match bytes {
        _ if bytes > most && !signed => Err(SettingFault::Negative),
        _ if bytes < least || bytes > most => Err(SettingFault::Range { least: least as i64, most: i64::MAX }),
        _ => Ok(bytes),
    }
}

fn read_memory_or_percent(text: &[u8]) -> Result<Value, SettingFault> {
    if let Some(digits) = text.strip_suffix(b"%") {
        return match parse_integer(digits) {
            None | Some(..0) => Err(SettingFault::NotMemoryOrPercent),
            Some(0) => Ok(Value::Memory(0)),
            Some(percent @ 1..=100) => Ok(Value::Percent(percent as u8)),
            Some(_) => Err(SettingFault::PercentTooLarge),
        };
    }
    match parse_memory(text) {
        None => Err(SettingFault::NotMemoryOrPercent),
        Some(bytes) if bytes > i64::MAX as u64 => Err(SettingFault::PercentTooLarge),
        Some(bytes) => Ok(Value::Memory(bytes)),
    }
}

fn find(choices: &[&str], text: &[u8]) -> Option<usize> {
    choices.iter().position(|word| word.as_bytes().eq_ignore_ascii_case(text))
}

fn read_choice_set(text: &[u8], choices: &'static [&'static str]) -> Result<Value, SettingFault> {
    let mut bits = 0u8;
    for word in words(text) {
        match find(choices, word).ok_or(SettingFault::NotOneOf(choices))? {
            0 => {}
            at => bits |= 1 << at,
        }
    }
    if bits & 0b110 == 0b110 { Err(SettingFault::SaveAndNosave) } else { Ok(Value::ChoiceSet(choices, bits)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_values_have_units_of_both_bases() {
        for (text, bytes) in [
            ("", 0),
            ("k", 0),
            ("01", 1),
            ("1b", 1),
            ("1k", 1000),
            ("1kB", 1024),
            ("2m", 2_000_000),
            ("2MB", 2 << 20),
            ("1g", 1_000_000_000),
            ("3gb", 3 << 30),
            ("99999999999g", u64::MAX),
            ("18446744073709551616", u64::MAX),
        ] {
            assert_eq!(parse_memory(text.as_bytes()), Some(bytes), "{text}");
        }
        for text in ["+1", " 1", "1 ", "-1", "1t", "1.5k", "1 kb", "0x1k", "1kk", "1024mbb"] {
            assert_eq!(parse_memory(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn percentages_stop_at_all_of_it() {
        let read = |text: &str| Kind::MemoryOrPercent.read(text.as_bytes(), None);
        assert_eq!(read("1%"), Ok(Value::Percent(1)));
        assert_eq!(read("100%"), Ok(Value::Percent(100)));
        assert_eq!(read("101%"), Err(SettingFault::PercentTooLarge));
        assert_eq!(read("0%"), Ok(Value::Memory(0)));
        for text in ["%", "-1%", "1.5%", "05%", "5 %", "10%%", "-1"] {
            assert_eq!(read(text), Err(SettingFault::NotMemoryOrPercent), "{text}");
        }
    }

    #[test]
    fn octal_ranges_are_worded_in_octal() {
        let kind = Kind::Octal { most: 0o777 };
        assert_eq!(kind.read(b"755", None), Ok(Value::Octal(0o755)));
        assert_eq!(kind.read(b"999", None), Err(SettingFault::NotOctal));
        assert_eq!(kind.read(b"1000", None), Err(SettingFault::Range { least: 0, most: 777 }));
        assert_eq!(Value::Octal(0o700).to_string(), "700");
    }

    #[test]
    fn a_set_of_words_prints_in_its_own_order() {
        const WORDS: &[&str] = &["default", "save", "nosave", "now", "force"];
        let kind = Kind::ChoiceSet(WORDS);
        assert_eq!(kind.read(b"force now", None).unwrap().to_string(), "now force");
        assert_eq!(kind.read(b"now default", None).unwrap().to_string(), "now");
        assert_eq!(kind.read(b"DEFAULT", None).unwrap().to_string(), "default");
        assert_eq!(kind.read(b"", None), Err(SettingFault::NotOneOf(WORDS)));
        assert_eq!(kind.read(b"save nosave", None), Err(SettingFault::SaveAndNosave));
    }
}
