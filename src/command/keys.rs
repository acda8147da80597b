//! Where the keys of a request are.

use super::{Args, CommandId, Find, KeyFlags, KeySpec, Spec, parse_integer};

/// A key among the words of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// Position of the word, the command's name being 0.
    pub position: usize,
    /// What the command does with it.
    pub flags: KeyFlags,
}

/// The words do not say where their keys are: a count is no number, not positive, or larger than what follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidKeys;

impl Spec {
    /// Visits every key of a request in order, sharded channels included (flag [`KeyFlags::NOT_KEY`]).
    ///
    /// The number of words is not checked here; words that are missing are not visited. Costs O(keys).
    ///
    /// # Errors
    /// [`InvalidKeys`]; keys before the fault were visited.
    pub fn each_key(&self, args: Args<'_>, mut visit: impl FnMut(Key)) -> Result<(), InvalidKeys> {
        for key in self.keys {
            let (first, last, step) = span(key, args)?;
            let flags =
                if key.flags.contains(KeyFlags::VARIABLE_FLAGS) { self.actual_flags(args, key) } else { key.flags };
            let mut position = first;
            while position <= last {
                visit(Key { position, flags });
                position += step;
            }
        }
        Ok(())
    }

    /// True when any key spec names keys proper.
    pub fn has_keys(&self) -> bool {
        self.keys.iter().any(|key| !key.flags.contains(KeyFlags::NOT_KEY))
    }

    /// Flags that depend on option words.
    fn actual_flags(&self, args: Args<'_>, key: &KeySpec) -> KeyFlags {
        let asks_old = || args.from(3).iter().any(|word| word.eq_ignore_ascii_case(b"GET"));
        match self.id {
            CommandId::SET if asks_old() => KeyFlags(KeyFlags::RW.0 | KeyFlags::ACCESS.0 | KeyFlags::UPDATE.0),
            CommandId::SET => KeyFlags(KeyFlags::OW.0 | KeyFlags::UPDATE.0),
            CommandId::BITFIELD if only_reads_fields(args.from(2)) => KeyFlags(KeyFlags::RO.0 | KeyFlags::ACCESS.0),
            CommandId::BITFIELD => KeyFlags(KeyFlags::RW.0 | KeyFlags::ACCESS.0 | KeyFlags::UPDATE.0),
            _ => key.flags,
        }
    }
}

/// Whether the operations of BITFIELD are GET and nothing else, however they are told to overflow.
fn only_reads_fields(mut operations: Args<'_>) -> bool {
    while let Some(word) = operations.get(0) {
        let words = match word {
            word if word.eq_ignore_ascii_case(b"GET") => 3,
            word if word.eq_ignore_ascii_case(b"OVERFLOW") => 2,
            _ => return false,
        };
        if words > operations.len() {
            return false;
        }
        operations = operations.from(words);
    }
    true
}

/// First and last position and step; last is before first when there is no key.
fn span(key: &KeySpec, args: Args<'_>) -> Result<(usize, usize, usize), InvalidKeys> {
    let begin = usize::from(key.begin);
    let end = args.len().saturating_sub(1);
    match key.find {
        Find::Range { last, step, limit } => {
            let last = if last >= 0 {
                begin + usize::from(last.unsigned_abs())
            } else {
                let all = args.len().saturating_sub(usize::from(last.unsigned_abs()));
                if limit > 1 { begin + all.saturating_sub(begin) / usize::from(limit) } else { all }
            };
            Ok((begin, last.min(end), usize::from(step.max(1))))
        }
        Find::Count { at, first, step } => {
            let word = args.get(begin + usize::from(at)).ok_or(InvalidKeys)?;
            let count = parse_integer(word).filter(|count| *count > 0).ok_or(InvalidKeys)?;
            let first = begin + usize::from(first);
            let step = usize::from(step.max(1));
            let count = usize::try_from(count).unwrap_or(usize::MAX);
            let last = (count - 1).checked_mul(step).and_then(|length| first.checked_add(length)).ok_or(InvalidKeys)?;
            if last > end { Err(InvalidKeys) } else { Ok((first, last, step)) }
        }
    }
}
