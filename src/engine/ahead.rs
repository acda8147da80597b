//! Looking ahead: memory that the next requests will read is asked for before the first of them is executed.
//!
//! A lookup in a table larger than the processor's caches waits for memory two or three times over. Requests that are
//! known together can wait together.
//!
//! Invariant: looking ahead changes nothing, counts nothing, and no answer depends on it.

use crate::command::{CommandId, Request};
use crate::limits::{AHEAD_KEYS_MIN, AHEAD_MEMBERS_MAX, AHEAD_MEMBERS_MIN};

use super::Engine;
use super::set::Set;

/// Members of one request that are looked up ahead.
const AHEAD_MEMBERS_PER_REQUEST: usize = 8;

impl Engine {
    /// Asks for what these requests of a client in database `db` will read. Worth its while for two or more requests.
    pub fn look_ahead<'r>(&self, db: u16, requests: impl Iterator<Item = Request<'r>>) {
        let database = &self.databases[usize::from(db)];
        let (mut known, mut targets, mut count): (Option<(&[u8], Option<&Set>)>, _, _) =
            (None, [None; AHEAD_MEMBERS_MAX], 0);
        for request in requests {
            let Ok(spec) = request.spec else { continue };
            let (Some(key), true) = (request.args.get(1), spec.legacy_keys.first == 1) else { continue };
            let names_members =
                matches!(spec.id, CommandId::SISMEMBER | CommandId::SMISMEMBER | CommandId::SADD | CommandId::SREM);
            let set = match known {
                Some((other, set)) if other == key => set,
                _ if names_members || database.len() >= AHEAD_KEYS_MIN => {
                    // Reading the entry is what brings it near.
                    let value = database.get(self.key(key), i64::MIN);
                    value.and_then(|value| value.as_set()).filter(|set| set.len() >= AHEAD_MEMBERS_MIN)
                }
                _ => None,
            };
            known = Some((key, set));
            let Some(set) = set.filter(|_| names_members) else { continue };
            // A request of many members looks ahead itself.
            for member in request.args.iter().skip(2).take(AHEAD_MEMBERS_PER_REQUEST) {
                let Some(target) = targets.get_mut(count) else { break };
                let hash = self.hasher.hash(member);
                set.look_ahead(hash);
                *target = Some((set, hash));
                count += 1;
            }
        }
        for (set, hash) in targets.iter().flatten() {
            set.look_closer(*hash);
        }
    }
}
