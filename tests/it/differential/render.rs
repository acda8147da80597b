//! Writes a case as the words of a request.

use std::collections::BTreeMap;

use goblin::command::{Argument, Kind, Spec};

use crate::protocol::Random;

use super::cases::{Aim, contains, has_token};
use super::hints;

pub struct Renderer {
    pub random: Random,
    /// How often each command was given a key that was made as each class.
    pub keys: BTreeMap<(&'static str, &'static str), usize>,
}

/// A request on its way.
struct Draft {
    spec: &'static Spec,
    aim: Aim,
    /// Chances in a hundred that an argument is there which may be left out.
    optional: usize,
    words: Vec<Vec<u8>>,
    /// Keys so far.
    keys: usize,
    /// Keys from the first of which all hold something else.
    wrong_from: Option<usize>,
}

impl Draft {
    fn is_target(&self, argument: &'static Argument) -> bool {
        self.aim.target().is_some_and(|target| std::ptr::eq(target, argument))
    }

    fn holds_target(&self, argument: &'static Argument) -> bool {
        self.aim.target().is_some_and(|target| contains(argument, target))
    }
}

impl Renderer {
    pub fn new(seed: u64) -> Renderer {
        Renderer { random: Random::new(seed), keys: BTreeMap::new() }
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.random.below(100) < percent
    }

    fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.random.below(choices.len())]
    }

    /// The words of a request for a case.
    pub fn words(&mut self, spec: &'static Spec, aim: Aim) -> Vec<Vec<u8>> {
        let optional = match aim {
            Aim::Well => 35,
            Aim::With(_) => 20,
            _ => 10,
        };
        let words = spec.title.split(' ').map(|word| self.any_case(word)).collect();
        let wrong_from = matches!(aim, Aim::WrongType).then(|| self.random.below(2));
        let mut draft = Draft { spec, aim, optional, words, keys: 0, wrong_from };
        if !spec.is_container() {
            self.arguments(&mut draft);
        }
        self.spoil(&mut draft);
        draft.words
    }

    /// A request for a command that there is not.
    pub fn unknown(&mut self) -> Vec<Vec<u8>> {
        let mut words = vec![hints::bytes(self.pick(hints::UNKNOWN))];
        for _ in 0..self.random.below(5) {
            let word = self.random.below(hints::STRINGS.len());
            words.push(hints::bytes(hints::STRINGS[word]));
        }
        words
    }

    /// All arguments; options at the end in any order.
    fn arguments(&mut self, draft: &mut Draft) {
        let arguments = draft.spec.arguments;
        let fixed = arguments.iter().rposition(|argument| !argument.optional).map_or(0, |last| last + 1);
        let mut options: Vec<&'static Argument> = arguments[fixed..].iter().collect();
        if options.iter().all(|option| has_token(option)) {
            for last in (1..options.len()).rev() {
                options.swap(last, self.random.below(last + 1));
            }
        }
        let mut numkeys = None;
        for argument in arguments[..fixed].iter().chain(options) {
            // The option whose value is missing comes last.
            if matches!(draft.aim, Aim::Missing(_)) && draft.holds_target(argument) {
                continue;
            }
            let before = draft.words.len();
            self.argument(draft, argument);
            if argument.name == "numkeys" && !draft.is_target(argument) {
                numkeys = Some(before);
            }
            if argument.kind == Kind::Key
                && let Some(at) = numkeys.take()
            {
                draft.words[at] = (draft.words.len() - before).to_string().into_bytes();
            }
        }
    }

    fn spoil(&mut self, draft: &mut Draft) {
        let named = draft.spec.words();
        match draft.aim {
            Aim::TooFew => {
                let least = usize::from(draft.spec.arity.unsigned_abs());
                let len = named + self.random.below(least.saturating_sub(named).max(1));
                draft.words.truncate(len);
            }
            Aim::TooMany => draft.words.push(b"more".to_vec()),
            Aim::Unknown => {
                let least = usize::from(draft.spec.arity.unsigned_abs()).clamp(named, draft.words.len());
                let at = if self.chance(70) { draft.words.len() } else { least };
                draft.words.insert(at, b"NOPE".to_vec());
            }
            Aim::Missing(target) => {
                let token = self.any_case(target.token.unwrap_or_default());
                draft.words.push(token);
            }
            _ => {}
        }
    }

    fn argument(&mut self, draft: &mut Draft, argument: &'static Argument) {
        let is_wanted = draft.holds_target(argument);
        if argument.optional && !is_wanted && !self.chance(draft.optional) {
            return;
        }
        self.present(draft, argument);
    }

    /// An argument that is there, however optional.
    fn present(&mut self, draft: &mut Draft, argument: &'static Argument) {
        let times = match argument.multiple {
            // No command needs more keys than there are.
            true if self.chance(3) && argument.kind != Kind::Key => 20 + self.random.below(150),
            true => 1 + self.random.below(4),
            false => 1,
        };
        for time in 0..times {
            if let Some(token) = argument.token.filter(|_| time == 0 || argument.multiple_token) {
                let token = self.any_case(token);
                draft.words.push(token);
            }
            self.value(draft, argument, time);
        }
    }

    /// The argument without its token.
    fn value(&mut self, draft: &mut Draft, argument: &'static Argument, time: usize) {
        let is_target = draft.is_target(argument);
        let word = match (argument.kind, draft.aim) {
            (Kind::PureToken, _) => return,
            (Kind::OneOf, Aim::Conflict(_)) if is_target => return self.two_branches(draft, argument),
            (Kind::OneOf, _) => {
                let wanted = argument.arguments.iter().find(|branch| draft.holds_target(branch));
                let branch = wanted.unwrap_or(&argument.arguments[self.random.below(argument.arguments.len())]);
                return self.present(draft, branch);
            }
            (Kind::Block, _) => {
                return argument.arguments.iter().for_each(|part| self.argument(draft, part));
            }
            (Kind::Key, _) => self.key(draft),
            (Kind::Double, Aim::NotNumber(_)) if is_target => self.pick(hints::NOT_DOUBLES).into(),
            (_, Aim::NotNumber(_)) if is_target => self.pick(hints::NOT_INTEGERS).into(),
            (_, Aim::OutOfRange(_)) if is_target => hints::out_of_range(&mut self.random, draft.spec, argument),
            // Many members at once would repeat a short list.
            (Kind::String, _) if time > 6 => format!("more:{}", self.random.below(400)).into_bytes(),
            _ => hints::word(&mut self.random, draft.spec, argument),
        };
        draft.words.push(word);
    }

    /// Two different branches of one choice.
    fn two_branches(&mut self, draft: &mut Draft, argument: &'static Argument) {
        let branches: Vec<&'static Argument> = argument.arguments.iter().filter(|branch| has_token(branch)).collect();
        let first = self.random.below(branches.len());
        let second = (first + 1 + self.random.below(branches.len() - 1)) % branches.len();
        for at in [first, second] {
            self.present(draft, branches[at]);
        }
    }

    /// Mostly a key of the type that the command is about; sometimes one that is not there.
    fn key(&mut self, draft: &mut Draft) -> Vec<u8> {
        let own = hints::type_of(draft.spec);
        let is_wrong = draft.wrong_from.is_some_and(|from| draft.keys >= from);
        draft.keys += 1;
        let of_own_type = !is_wrong && self.chance(85);
        if !is_wrong && self.chance(12) {
            *self.keys.entry((draft.spec.name, "absent")).or_default() += 1;
            return hints::bytes(self.pick(hints::ABSENT));
        }
        let preferred = hints::PREFERRED.iter().find(|(commands, _)| commands.contains(&draft.spec.name));
        if let Some((_, keys)) = preferred.filter(|_| !is_wrong && self.chance(60)) {
            return self.pick(keys).into();
        }
        let fits = |kind: &&hints::Type| own.is_none_or(|own| (own.word == kind.word) == of_own_type);
        let types: Vec<&hints::Type> = hints::TYPES.iter().filter(fits).collect();
        let kind = types[self.random.below(types.len())];
        let fixtures: Vec<&hints::Fixture> = kind
            .fixtures
            .iter()
            .filter(|fixture| fixture.key != hints::LARGE_KEY || !hints::QUADRATIC.contains(&draft.spec.name))
            .collect();
        let fixture = fixtures[self.random.below(fixtures.len())];
        *self.keys.entry((draft.spec.name, fixture.class)).or_default() += 1;
        fixture.key.as_bytes().to_vec()
    }

    fn any_case(&mut self, word: &str) -> Vec<u8> {
        match self.random.below(4) {
            0 => word.to_lowercase().into_bytes(),
            1 => {
                let mixed = |(at, byte): (usize, u8)| if at % 2 == 0 { byte.to_ascii_lowercase() } else { byte };
                word.bytes().enumerate().map(mixed).collect()
            }
            _ => word.as_bytes().to_vec(),
        }
    }
}
