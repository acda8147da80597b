//! Commands about the process: CONFIG, DEBUG, FUNCTION, SHUTDOWN, TIME.

use crate::command::{ConfigGet, ConfigSet, DebugLog, DebugSetActiveExpire, DebugSleep, Shutdown, parse_double};
use crate::reply::{CommandError, Reply};
use crate::topics::Glob;

use super::host::{Host, ProcessRequest};
use super::settings::EngineSettings;
use super::{Engine, Turn};

impl Engine {
    /// A setting asked for by its plain name is answered under the name as it was typed; one that a pattern found
    /// first, under its own.
    pub(super) fn config_get<H: Host>(&mut self, turn: &mut Turn<'_, H>, get: &ConfigGet<'_>) -> Reply<'static> {
        let wanted: Vec<Wanted> = get.parameters.iter().map(Wanted::new).collect();
        let mut names = Vec::new();
        let found = turn.host.settings(&mut |name| {
            let first = wanted.iter().find(|wanted| wanted.matches(name.as_bytes()));
            names.extend(first.map(|wanted| wanted.name(name)));
            first.is_some()
        });
        Reply::Map(names.into_iter().zip(found).map(|(name, (_, value))| (name, Reply::owned(value))).collect())
    }

    pub(super) fn config_rewrite<H: Host>(&mut self, turn: &mut Turn<'_, H>) -> Result<Reply<'_>, CommandError> {
        turn.host.ask(ProcessRequest::RewriteConfig)?;
        Ok(Reply::OK)
    }

    pub(super) fn config_set<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        set: &ConfigSet<'_>,
    ) -> Result<Reply<'_>, CommandError> {
        let changes: Vec<_> = set.pairs.pairs().collect();
        // DEBUG switched it, not a setting.
        let active_expire = self.settings.active_expire;
        self.settings = EngineSettings { active_expire, ..turn.host.set(&changes)? };
        Ok(Reply::OK)
    }

    pub(super) fn config_resetstat<H: Host>(&mut self, turn: &mut Turn<'_, H>) -> Result<Reply<'_>, CommandError> {
        // The changes are a state of the data, not a statistic.
        self.stats = super::EngineStats { changes: self.stats.changes, ..Default::default() };
        turn.host.ask(ProcessRequest::ResetStats)?;
        Ok(Reply::OK)
    }

    pub(super) fn debug_log<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        log: &DebugLog<'_>,
    ) -> Result<Reply<'_>, CommandError> {
        turn.host.ask(ProcessRequest::Log(log.message.to_vec()))?;
        Ok(Reply::OK)
    }

    /// Any number but 0 turns active expiry on; what is no number counts as 0, as in Redis.
    pub(super) fn debug_set_active_expire(&mut self, set: &DebugSetActiveExpire<'_>) -> Reply<'static> {
        let digits = set.enabled.iter().take_while(|byte| byte.is_ascii_digit());
        self.settings.active_expire = digits.clone().any(|digit| *digit != b'0');
        Reply::OK
    }

    /// Stops the engine for a while, every client with it: that is what it is for.
    pub(super) fn debug_sleep<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        sleep: &DebugSleep<'_>,
    ) -> Result<Reply<'_>, CommandError> {
        let seconds = parse_double(sleep.seconds).filter(|seconds| *seconds > 0.0).unwrap_or(0.0);
        turn.host.ask(ProcessRequest::Sleep { us: (seconds * 1e6) as u64 })?;
        Ok(Reply::OK)
    }

    /// There are no functions, and no engine that could run one.
    pub(super) fn function_stats(&mut self) -> Reply<'static> {
        Reply::Map(vec![
            (Reply::bulk(b"running_script"), Reply::Nil),
            (Reply::bulk(b"engines"), Reply::Map(Vec::new())),
        ])
    }

    /// Nothing is sent on success: the connection ends with the process.
    pub(super) fn shutdown<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        shutdown: &Shutdown,
    ) -> Result<Reply<'_>, CommandError> {
        if shutdown.options.save == Some(true) {
            return Err(CommandError::NotOffered("saving to disk (SHUTDOWN SAVE)"));
        }
        let request = match shutdown.options.abort {
            true => return Err(CommandError::NoShutdown),
            false => ProcessRequest::Shutdown { now: shutdown.options.now },
        };
        turn.host.ask(request)?;
        Ok(Reply::Silent)
    }

    pub(super) fn time<H: Host>(&mut self, turn: &mut Turn<'_, H>) -> Reply<'static> {
        let us = turn.now.unix_us;
        let part = |value: u64| Reply::owned(value.to_string());
        Reply::Array(vec![part(us / 1_000_000), part(us % 1_000_000)])
    }
}

/// One argument of CONFIG GET.
enum Wanted<'a> {
    /// A setting's name, in any case.
    Name(&'a [u8]),
    /// Any name it matches.
    Pattern(Glob),
}

impl<'a> Wanted<'a> {
    fn new(word: &'a [u8]) -> Self {
        match word.iter().any(|byte| b"*?[".contains(byte)) {
            true => Wanted::Pattern(Glob::new_nocase(word)),
            false => Wanted::Name(word),
        }
    }

    fn matches(&self, name: &[u8]) -> bool {
        match self {
            Wanted::Name(word) => word.eq_ignore_ascii_case(name),
            Wanted::Pattern(glob) => glob.matches(name),
        }
    }

    /// The name under which it is answered.
    fn name(&self, name: &str) -> Reply<'static> {
        match self {
            Wanted::Name(word) => Reply::owned(*word),
            Wanted::Pattern(_) => Reply::owned(name),
        }
    }
}
