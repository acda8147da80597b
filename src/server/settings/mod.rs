//! The server's settings: their current values, CONFIG GET and CONFIG SET.
//!
//! Invariant: every value held here is valid; a refused change leaves all of them as they were.
//! Invariant: what acts is read from plain fields, kept in step by [`Settings::commit`] alone.
//! Deliberately unknown here: files and flags (see [`crate::server::config`]), sockets, sessions.

mod acting;
mod checks;
mod kind;
mod output_limits;
mod registry;

pub use acting::{LogLevel, Wait};
pub use checks::{BindAddress, RingAddress};
pub use output_limits::{OutputClass, OutputLimit, OutputLimits};

use crate::engine::settings::EngineSettings;
use crate::reply::{CommandError, SettingFault};

use self::acting::Acting;
use self::kind::Value;
use self::registry::{Change, Class, REGISTRY, lookup};

/// All settings of a process.
#[derive(Debug, Clone)]
pub struct Settings {
    /// One per entry of the registry.
    values: Vec<Value>,
    acting: Acting,
    clients_ceiling: u64,
    /// Values that nobody said, or that were kept out of the file: as long as they last they are not written there.
    unwritten: Vec<(usize, Value)>,
}

/// New values that were found valid, for [`Settings::commit`].
#[derive(Debug)]
#[must_use]
pub struct Proposal {
    changes: Vec<(usize, Value)>,
}

/// Which settings a change gave a new value.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Changed(Vec<&'static str>);

impl Changed {
    /// True when this setting (by its first name) has another value than before.
    pub fn has(&self, name: &str) -> bool {
        self.0.contains(&name)
    }

    /// True when nothing has.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The names, in the order they were given.
    pub fn names(&self) -> &[&'static str] {
        &self.0
    }
}

/// Why a value from a file or a flag was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StartFault {
    /// No setting has this name.
    Unknown,
    /// The setting refuses the value.
    Refused(SettingFault),
}

impl Default for Settings {
    fn default() -> Self {
        Settings::new()
    }
}

impl Settings {
    /// Every setting at its default.
    pub fn new() -> Self {
        let values: Vec<Value> = REGISTRY
            .iter()
            .map(|entry| entry.kind.read(entry.default.as_bytes(), None).expect("defaults are valid"))
            .collect();
        let acting = Acting::of(&values);
        Settings { values, acting, clients_ceiling: u64::MAX, unwritten: Vec::new() }
    }

    /// Name and value of every setting whose name or alias is wanted, in the order of the registry.
    ///
    /// Values that are not UTF-8 are shown with replacement characters.
    pub fn get(&self, wanted: &mut dyn FnMut(&str) -> bool) -> Vec<(&'static str, String)> {
        let mut found = Vec::new();
        for (entry, value) in REGISTRY.iter().zip(&self.values) {
            for name in [Some(entry.name), entry.alias].into_iter().flatten() {
                if wanted(name) {
                    found.push((name, value.to_string()));
                }
            }
        }
        found
    }

    /// Changes settings by name (any case) and value, all or none.
    ///
    /// # Errors
    /// The refusal to answer, in Redis's words; nothing was changed.
    pub fn set(&mut self, changes: &[(&[u8], &[u8])]) -> Result<Changed, CommandError> {
        let proposal = self.check(changes)?;
        Ok(self.commit(proposal))
    }

    /// Validates what [`Settings::set`] would do, so that a host can do its part before [`Settings::commit`].
    ///
    /// # Errors
    /// As [`Settings::set`]. Names are looked at before values, both in the order given.
    pub fn check(&self, changes: &[(&[u8], &[u8])]) -> Result<Proposal, CommandError> {
        let mut found: Vec<(usize, &'static str)> = Vec::with_capacity(changes.len());
        for (name, _) in changes {
            let (at, known) = lookup(name).ok_or_else(|| CommandError::UnknownSetting((*name).into()))?;
            let fault = match REGISTRY[at].change {
                Change::Start => Some(SettingFault::Immutable),
                Change::Protected if !self.acting.protected_settings => Some(SettingFault::Protected),
                _ if found.iter().any(|(_, earlier)| *earlier == known) => Some(SettingFault::Duplicate),
                _ => None,
            };
            if let Some(fault) = fault {
                return Err(CommandError::setting(known, &fault));
            }
            found.push((at, known));
        }
        let mut proposal = Proposal { changes: Vec::with_capacity(changes.len()) };
        for (&(at, known), (_, text)) in found.iter().zip(changes) {
            let value = self.read(at, text).map_err(|fault| CommandError::setting(known, &fault))?;
            proposal.changes.push((at, value));
        }
        for ((at, value), (_, known)) in proposal.changes.iter().zip(&found) {
            self.check_surroundings(*at, value).map_err(|fault| CommandError::setting(known, &fault))?;
        }
        Ok(proposal)
    }

    /// Makes validated changes the current values.
    pub fn commit(&mut self, proposal: Proposal) -> Changed {
        let mut changed = Changed::default();
        for (at, value) in proposal.changes {
            if self.values[at] != value {
                self.values[at] = value;
                changed.0.push(REGISTRY[at].name);
            }
        }
        if !changed.is_empty() {
            self.acting = Acting::of(&self.values);
        }
        changed
    }

    /// Sets one value before the start, when also the settings may change that are fixed later. A file's line may
    /// bring several words.
    ///
    /// # Errors
    /// Why it was refused.
    pub fn start(&mut self, name: &str, words: &[&[u8]]) -> Result<(), StartFault> {
        let (at, _) = lookup(name.as_bytes()).ok_or(StartFault::Unknown)?;
        let takes_words = REGISTRY[at].kind.takes_words();
        if words.len() != 1 && (words.is_empty() || !takes_words) {
            return Err(StartFault::Refused(SettingFault::WordCount));
        }
        let value = self.read(at, &words.join(&b' ')).map_err(StartFault::Refused)?;
        self.commit(Proposal { changes: vec![(at, value)] });
        Ok(())
    }

    /// Keeps the present value of a setting out of the configuration file, until it changes.
    pub fn keep_unwritten(&mut self, name: &str) {
        if let Some((at, _)) = lookup(name.as_bytes()) {
            self.unwritten.retain(|(other, _)| *other != at);
            self.unwritten.push((at, self.values[at].clone()));
        }
    }

    /// What a file would have to say for the settings it makes, `file`, to become these, in the order of the registry.
    pub fn differences(&self, file: &Settings) -> Vec<Written> {
        let pairs = REGISTRY.iter().zip(self.values.iter().zip(&file.values)).enumerate();
        // Compared as they are printed: that is all a file can hold.
        let differs = |at: usize, (ours, theirs): (&Value, &Value)| {
            ours.printed() != theirs.printed() && !self.unwritten.contains(&(at, ours.clone()))
        };
        let differing = pairs.filter(|(at, (_, (ours, theirs)))| differs(*at, (ours, theirs)));
        let written = |(entry, ours): (&registry::Entry, &Value)| Written {
            name: entry.name,
            alias: entry.alias,
            value: ours.printed(),
            form: match ours {
                Value::Bool(_) => Form::Switch,
                Value::Integer(_) | Value::Memory(_) | Value::Octal(_) => Form::Number,
                _ if entry.kind.takes_words() => Form::Words,
                _ => Form::Text,
            },
        };
        differing.map(|(_, (entry, (ours, _)))| written((entry, ours))).collect()
    }

    /// The most clients the process has open files for; a larger `maxclients` is refused from now on.
    pub fn set_clients_ceiling(&mut self, most: u64) {
        self.clients_ceiling = most;
    }

    /// What people should know of a setting; none has that name.
    pub fn describe(name: &str) -> Option<SettingHelp> {
        lookup(name.as_bytes()).map(|(at, _)| SettingHelp::of(at))
    }

    /// The same for every setting, in the order of the registry.
    pub fn describe_all() -> impl Iterator<Item = SettingHelp> {
        (0..REGISTRY.len()).map(SettingHelp::of)
    }

    fn read(&self, at: usize, text: &[u8]) -> Result<Value, SettingFault> {
        let entry = &REGISTRY[at];
        let mut value = entry.kind.read(text, Some(&self.values[at]))?;
        match (&mut value, entry.name) {
            (Value::Integer(rounds), "hz") => *rounds = (*rounds).clamp(1, 500),
            (Value::Memory(bytes), "repl-backlog-size") => *bytes = (*bytes).max(16 << 10),
            _ => {}
        }
        match entry.promises(&value) {
            Some(absent) => Err(SettingFault::Promise(absent)),
            None => Ok(value),
        }
    }

    /// What depends on more than the value: Redis finds it out only after all values are known to be valid.
    fn check_surroundings(&self, at: usize, value: &Value) -> Result<(), SettingFault> {
        let entry = &REGISTRY[at];
        let other = self.values[at] != *value;
        match (entry.name, value) {
            ("port", _) if other => Err(SettingFault::PortFixed),
            ("bind", _) if other => Err(SettingFault::AddressesFixed),
            (_, _) if other && entry.change == Change::Fixed => Err(SettingFault::Immutable),
            ("maxclients", Value::Integer(clients)) if *clients as u64 > self.clients_ceiling => {
                Err(SettingFault::TooManyClients(self.clients_ceiling))
            }
            _ => Ok(()),
        }
    }
}

/// A setting and its value, for a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// As CONFIG GET answers it.
    pub name: &'static str,
    /// Its second name.
    pub alias: Option<&'static str>,
    /// As CONFIG GET answers it, in bytes.
    pub value: Vec<u8>,
    /// What the value is to a file that tells kinds apart.
    pub form: Form,
}

impl Written {
    /// Whether a file means this setting by a name, whatever its case.
    pub fn is_called(&self, name: &str) -> bool {
        [Some(self.name), self.alias].into_iter().flatten().any(|known| known.eq_ignore_ascii_case(name))
    }
}

/// Kinds of values that files tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `yes` or `no`.
    Switch,
    /// An integer.
    Number,
    /// Words with one space between two.
    Words,
    /// Anything else.
    Text,
}

/// The words of a value, one space between two; two spaces have an empty word between them.
fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| *byte == b' ')
}

/// A setting as `goblin help config` shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingHelp {
    /// As CONFIG GET answers it.
    pub name: &'static str,
    /// Its second name.
    pub alias: Option<&'static str>,
    /// What its value looks like.
    pub form: String,
    /// Its default, in the form CONFIG GET answers.
    pub default: &'static str,
    /// Whether CONFIG SET can change it.
    pub live: bool,
    /// What it does.
    pub effect: Effect,
}

/// What a setting does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// What the sentence says.
    Acts(&'static str),
    /// No effect: it tunes this part, which goblin does not have.
    NoEffect(&'static str),
    /// Only values that leave it off are accepted, for the reason in the sentence.
    OffOnly(&'static str),
}

impl SettingHelp {
    fn of(at: usize) -> Self {
        let entry = &REGISTRY[at];
        SettingHelp {
            name: entry.name,
            alias: entry.alias,
            form: entry.kind.form(),
            default: entry.default,
            live: matches!(entry.change, Change::Live | Change::Protected),
            effect: match entry.class {
                Class::Acts(sentence) => Effect::Acts(sentence),
                Class::Tunes(part) => Effect::NoEffect(part),
                Class::Promises(absent) => Effect::OffOnly(absent.sentence()),
            },
        }
    }
}

/// What acts, for those who act on it. All are plain reads.
impl Settings {
    /// What the engine needs to know.
    pub fn engine(&self) -> EngineSettings {
        self.acting.engine.clone()
    }

    /// Addresses to listen on; none means no TCP.
    pub fn bind(&self) -> &[BindAddress] {
        &self.acting.bind
    }

    /// TCP port; 0 means no TCP.
    pub fn port(&self) -> u16 {
        self.acting.port
    }

    /// Connections the kernel holds until they are accepted.
    pub fn tcp_backlog(&self) -> u32 {
        self.acting.tcp_backlog
    }

    /// Path of the Unix socket; empty means none.
    pub fn unix_socket(&self) -> &[u8] {
        &self.acting.unix_socket
    }

    /// Mode of the Unix socket, such as 0o700.
    pub fn unix_socket_mode(&self) -> u32 {
        self.acting.unix_socket_mode
    }

    /// Rings to serve, the first one first.
    pub fn rings(&self) -> &[RingAddress] {
        &self.acting.rings
    }

    /// Folder of the rings on demand that have a path; empty means none.
    pub fn ring_dir(&self) -> &[u8] {
        &self.acting.ring_dir
    }

    /// Mode of the rings' files, such as 0o600.
    pub fn ring_mode(&self) -> u32 {
        self.acting.ring_mode
    }

    /// How the engine thread waits for work.
    pub fn wait(&self) -> Wait {
        self.acting.wait
    }

    /// The processor the engine thread runs on.
    pub fn cpu(&self) -> Option<usize> {
        self.acting.cpu
    }

    /// Whether other machines are refused while there is no password.
    pub fn sbe(&self) -> bool {
        self.acting.sbe
    }

    /// `protected-mode`.
    pub fn protected_mode(&self) -> bool {
        self.acting.protected_mode
    }

    /// Most connections at a time.
    pub fn maxclients(&self) -> usize {
        self.acting.maxclients
    }

    /// Seconds until an idle connection is closed; 0 means never.
    pub fn timeout_s(&self) -> u32 {
        self.acting.timeout_s
    }

    /// Seconds between probes of a silent peer; 0 means none.
    pub fn tcp_keepalive_s(&self) -> u32 {
        self.acting.tcp_keepalive_s
    }

    /// Bytes that may wait in the outbox of a client of this class.
    pub fn output_limit(&self, class: OutputClass) -> OutputLimit {
        match class {
            OutputClass::Normal => self.acting.output_limits.normal,
            OutputClass::Pubsub => self.acting.output_limits.pubsub,
            OutputClass::Monitor if self.acting.output_limits.normal.is_none() => self.acting.output_limits.replica,
            OutputClass::Monitor => self.acting.output_limits.normal,
        }
    }

    /// Bytes of requests that may wait to be complete.
    pub fn query_buffer_limit(&self) -> usize {
        self.acting.query_buffer_limit
    }

    /// Longest string in a request, in bytes.
    pub fn proto_max_bulk_len(&self) -> u64 {
        self.acting.engine.proto_max_bulk_len as u64
    }

    /// Rounds of housekeeping per second, 1 to 500.
    pub fn hz(&self) -> u16 {
        self.acting.engine.hz
    }

    /// Least urgent lines that are logged.
    pub fn log_level(&self) -> LogLevel {
        self.acting.log_level
    }

    /// Whether keys, names and messages stay out of the log.
    pub fn hide_user_data(&self) -> bool {
        self.acting.hide_user_data
    }
}

#[cfg(test)]
mod tests;
