//! The memory limit: keys are evicted when it is passed, or commands that need memory are refused.
//!
//! Invariant: a command is refused before it changes anything. Besides what is used already, the words it brings must
//! fit; commands that make much of few words ask again through [`Engine::room_for`].
//! Deliberately unknown here: how memory is counted; [`Host::used_bytes`] tells.

use crate::command::{CommandId, Flags, Request, Spec};
use crate::limits::{EVICTION_CANDIDATES_MAX, EVICTIONS_PER_COMMAND_MAX};
use crate::reply::CommandError;

use super::Engine;
use super::caller::Caller;
use super::host::{Host, Now};
use super::keyspace::{Entry, HashedKey};
use super::settings::{EvictionPolicy, NotifyFlags};
use super::usage::Tracker;

/// A key that may go next.
pub(super) struct Candidate {
    db: u16,
    key: Box<[u8]>,
    /// The larger, the sooner.
    rank: u64,
}

impl Engine {
    /// Makes room before a command runs, if there is a limit.
    ///
    /// # Errors
    /// [`CommandError::OutOfMemory`] when there is none and the command would need some.
    pub(super) fn make_room<H: Host>(
        &mut self,
        caller: &Caller,
        spec: &Spec,
        request: &Request<'_>,
        now: Now,
        host: &mut H,
    ) -> Result<(), CommandError> {
        if self.settings.eviction.maxmemory == 0 {
            return Ok(());
        }
        // For good, now or through the transaction it executes.
        let needs = caller.runs(spec, |spec| spec.flags.contains(Flags::DENYOOM));
        let wanted: usize = if needs { request.args.iter().map(<[u8]>::len).sum() } else { 0 };
        let outcome = self.evict_for(wanted as u64, now, host);
        match outcome {
            // A transaction that cannot run is over.
            Err(error) if needs && spec.id == CommandId::EXEC => Err(CommandError::ExecRefused(Box::new(error))),
            Err(error) if needs => Err(error),
            _ => Ok(()),
        }
    }

    /// Whether a command may add about so many bytes; to be asked before it changes anything. Evicts nothing.
    ///
    /// # Errors
    /// [`CommandError::OutOfMemory`].
    pub(super) fn room_for<H: Host>(&self, host: &H, bytes: usize) -> Result<(), CommandError> {
        let maxmemory = self.settings.eviction.maxmemory;
        if maxmemory > 0 && host.used_bytes().saturating_add(bytes as u64) > maxmemory {
            return Err(CommandError::OutOfMemory);
        }
        Ok(())
    }

    /// Evicts until `wanted` bytes fit below the limit, or for as long as one command may be held up by it: then the
    /// rest is up to the next ones.
    fn evict_for<H: Host>(&mut self, wanted: u64, now: Now, host: &mut H) -> Result<(), CommandError> {
        let maxmemory = self.settings.eviction.maxmemory;
        for _ in 0..EVICTIONS_PER_COMMAND_MAX {
            if host.used_bytes().saturating_add(wanted) <= maxmemory {
                return Ok(());
            }
            let Some(candidate) = self.choose(now) else { return Err(CommandError::OutOfMemory) };
            self.evict(candidate, host);
        }
        Ok(())
    }

    /// Evicts some keys when the limit was lowered or passed by something else than commands. True when more remain.
    pub fn evict_some<H: Host>(&mut self, now: Now, host: &mut H) -> bool {
        let limited = self.settings.eviction.maxmemory > 0;
        limited && self.evict_for(0, now, host).is_ok() && host.used_bytes() > self.settings.eviction.maxmemory
    }

    /// The key to go next: the best of a fresh sample and of what earlier samples left over.
    fn choose(&mut self, now: Now) -> Option<Candidate> {
        let eviction = self.settings.eviction;
        let policy = eviction.policy;
        if policy == EvictionPolicy::Noeviction {
            return None;
        }
        let (tracker, volatile) = (Tracker::new(now.unix_us, &eviction), policy.spares_lasting_keys());
        let mut candidates = std::mem::take(&mut self.candidates);
        // Since they were sampled, some may be gone, and some may have been used.
        candidates.retain_mut(|candidate| {
            let key = HashedKey::new(&candidate.key, &self.hasher);
            let entry = self.databases[usize::from(candidate.db)].entry(key, 0);
            let entry = entry.filter(|entry| !volatile || entry.deadline_ms().is_some());
            candidate.rank = entry.map_or(0, |entry| rank(policy, entry, &tracker));
            entry.is_some()
        });
        for (db, database) in self.databases.iter().enumerate() {
            let db = db as u16;
            database.sample(eviction.samples, volatile, &mut self.random, |entry| {
                if !candidates.iter().any(|known| known.db == db && *known.key == *entry.key()) {
                    candidates.push(Candidate { db, key: entry.key().into(), rank: rank(policy, entry, &tracker) });
                }
            });
        }
        candidates.sort_unstable_by_key(|candidate| std::cmp::Reverse(candidate.rank));
        candidates.truncate(EVICTION_CANDIDATES_MAX);
        let chosen = (!candidates.is_empty()).then(|| candidates.remove(0));
        // Any key is as good as another under the random policies, also the next time.
        if rank_matters(policy) {
            self.candidates = candidates;
        }
        chosen
    }

    fn evict<H: Host>(&mut self, candidate: Candidate, host: &mut H) {
        let key = HashedKey::new(&candidate.key, &self.hasher);
        if self.database(candidate.db).remove(key).is_some() {
            self.stats.evicted_keys += 1;
            self.changed(host, candidate.db, NotifyFlags::EVICTED, "evicted", key.bytes());
        }
    }
}

fn rank_matters(policy: EvictionPolicy) -> bool {
    !matches!(policy, EvictionPolicy::AllkeysRandom | EvictionPolicy::VolatileRandom)
}

fn rank(policy: EvictionPolicy, entry: &Entry, tracker: &Tracker) -> u64 {
    match policy {
        // The first that comes is as good as any.
        EvictionPolicy::Noeviction | EvictionPolicy::AllkeysRandom | EvictionPolicy::VolatileRandom => 0,
        EvictionPolicy::VolatileTtl => u64::MAX - entry.deadline_ms().map_or(0, |deadline| deadline.max(0) as u64),
        EvictionPolicy::AllkeysLru
        | EvictionPolicy::VolatileLru
        | EvictionPolicy::AllkeysLfu
        | EvictionPolicy::VolatileLfu => u64::from(tracker.staleness(entry.stamp())),
    }
}
