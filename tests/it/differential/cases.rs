//! What there is to draw: for every command its right forms, each of its options, each way to get it wrong.
//!
//! Invariant: all of it is derived from the specs; a new command or option needs no line here.

use goblin::command::{Argument, Flags, Kind, SPECS, Spec};

use super::hints;

/// What a request is to show.
#[derive(Debug, Clone, Copy)]
pub enum Aim {
    /// Any right form.
    Well,
    /// A right form that has this option.
    With(&'static Argument),
    /// Fewer words than the arity says.
    TooFew,
    /// More words than the arity says.
    TooMany,
    /// A word that is no option, or no subcommand.
    Unknown,
    /// Two branches of one choice.
    Conflict(&'static Argument),
    /// A word that is no number.
    NotNumber(&'static Argument),
    /// A number too large or too small.
    OutOfRange(&'static Argument),
    /// A key that holds something else.
    WrongType,
    /// An option without its value, at the end.
    Missing(&'static Argument),
}

impl Aim {
    /// The argument it is about.
    pub fn target(self) -> Option<&'static Argument> {
        match self {
            Aim::With(argument)
            | Aim::Conflict(argument)
            | Aim::NotNumber(argument)
            | Aim::OutOfRange(argument)
            | Aim::Missing(argument) => Some(argument),
            Aim::Well | Aim::TooFew | Aim::TooMany | Aim::Unknown | Aim::WrongType => None,
        }
    }

    /// True for a wrong number of words: refused at once even inside MULTI, and then the transaction is lost.
    pub fn breaks_arity(self) -> bool {
        matches!(self, Aim::TooFew | Aim::TooMany)
    }

    /// True for requests that are meant to be refused.
    pub fn is_mistake(self) -> bool {
        !matches!(self, Aim::Well | Aim::With(_))
    }

    /// What the report calls it.
    pub fn name(self) -> String {
        let about = |what: &str, argument: &Argument| format!("{what} {}", label(argument));
        match self {
            Aim::Well => "well-formed".into(),
            Aim::With(argument) => about("option", argument),
            Aim::TooFew => "too few words".into(),
            Aim::TooMany => "too many words".into(),
            Aim::Unknown => "unknown word".into(),
            Aim::Conflict(argument) => about("conflict in", argument),
            Aim::NotNumber(argument) => about("no number as", argument),
            Aim::OutOfRange(argument) => about("out of range", argument),
            Aim::WrongType => "wrong type".into(),
            Aim::Missing(argument) => about("no value after", argument),
        }
    }
}

fn label(argument: &Argument) -> &'static str {
    argument.token.unwrap_or(argument.name)
}

/// One thing to draw, and how often among the others.
#[derive(Debug)]
pub struct Case {
    pub spec: &'static Spec,
    pub aim: Aim,
    pub weight: usize,
}

/// Every case of the commands that `wanted` accepts, command by command, the well-formed one first.
pub fn cases(wanted: impl Fn(&Spec) -> bool) -> Vec<Case> {
    let mut cases = Vec::new();
    // The commands that only goblin has cannot be compared.
    for spec in SPECS.iter().filter(|spec| !spec.name.contains("goblin") && wanted(spec)) {
        let mut aims = Vec::new();
        if spec.is_container() {
            aims.extend([Aim::TooFew, Aim::Unknown]);
        } else {
            aims.push(Aim::Well);
            general_mistakes(spec, &mut aims);
            spec.arguments.iter().for_each(|argument| of_argument(argument, false, &mut aims));
        }
        cases.extend(aims.into_iter().map(|aim| Case { spec, aim, weight: weight(spec, aim) }));
    }
    cases
}

/// Mostly commands about data: the others depend on little.
fn weight(spec: &Spec, aim: Aim) -> usize {
    let about_data = spec.flags.contains(Flags::WRITE) || spec.flags.contains(Flags::READONLY);
    // Emptying everything every few commands would leave nothing to compare.
    let empties = ["flushall", "flushdb", "swapdb", "randomkey", "keys", "scan", "dbsize"].contains(&spec.name);
    match aim {
        Aim::Well if about_data && !empties => 16,
        Aim::Well => 8,
        Aim::With(_) if about_data => 2,
        _ => 1,
    }
}

fn general_mistakes(spec: &'static Spec, aims: &mut Vec<Aim>) {
    let least = usize::from(spec.arity.unsigned_abs());
    if least > spec.words() {
        aims.push(Aim::TooFew);
    }
    if spec.arity > 0 {
        aims.push(Aim::TooMany);
    } else if spec.arguments.iter().any(|argument| argument.optional && has_token(argument)) {
        aims.push(Aim::Unknown);
    }
    if hints::type_of(spec).is_some() && spec.has_keys() {
        aims.push(Aim::WrongType);
    }
}

/// Cases of one argument and of those inside it; `is_optional` when something around it may be left out.
fn of_argument(argument: &'static Argument, is_optional: bool, aims: &mut Vec<Aim>) {
    let is_choice = argument.kind == Kind::OneOf;
    // A word that must be there is in every well-formed request; one of several is an option all the same.
    let is_optional = is_optional || argument.optional || is_choice;
    if is_optional && argument.token.is_some() {
        aims.push(Aim::With(argument));
        if argument.kind != Kind::PureToken {
            aims.push(Aim::Missing(argument));
        }
    }
    let tokened = argument.arguments.iter().filter(|branch| has_token(branch)).count();
    if is_choice && tokened > 1 {
        aims.push(Aim::Conflict(argument));
    }
    match argument.kind {
        Kind::Integer | Kind::UnixTime => aims.extend([Aim::NotNumber(argument), Aim::OutOfRange(argument)]),
        Kind::Double => aims.push(Aim::NotNumber(argument)),
        _ => {}
    }
    argument.arguments.iter().for_each(|inner| of_argument(inner, is_optional, aims));
}

/// True when the argument begins with a fixed word.
pub fn has_token(argument: &Argument) -> bool {
    let inner = match argument.kind {
        Kind::OneOf => argument.arguments.iter().all(has_token),
        Kind::Block => argument.arguments.first().is_some_and(has_token),
        _ => false,
    };
    argument.token.is_some() || inner
}

/// True when `inner` is `argument` or lies inside it.
pub fn contains(argument: &'static Argument, inner: &'static Argument) -> bool {
    std::ptr::eq(argument, inner) || argument.arguments.iter().any(|part| contains(part, inner))
}
