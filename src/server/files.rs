//! Open files: every client takes one, a ring some.

use nix::sys::resource::{Resource, getrlimit, setrlimit};

use crate::limits::{FILES_PER_RING, FILES_RESERVED};

use super::settings::Settings;

/// Raises the limit of open files to what `maxclients` needs, or lowers `maxclients` to what the system allows;
/// answers a note about the latter.
pub(super) fn make_room(settings: &mut Settings) -> Option<String> {
    let reserved = FILES_RESERVED + settings.rings().len() as u64 * FILES_PER_RING;
    let wanted = settings.maxclients() as u64 + reserved;
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else { return None };
    let mut allowed = soft;
    if soft < wanted {
        // Root may pass the hard limit; anybody may reach it.
        let raised = [(wanted, hard.max(wanted)), (hard.min(wanted), hard)];
        let raise = |(soft, hard): (u64, u64)| setrlimit(Resource::RLIMIT_NOFILE, soft, hard).is_ok().then_some(soft);
        allowed = raised.into_iter().find_map(raise).unwrap_or(soft);
    }
    let clients = allowed.saturating_sub(reserved).max(1);
    settings.set_clients_ceiling(clients);
    if allowed >= wanted {
        return None;
    }
    let asked = settings.maxclients();
    settings.start("maxclients", &[clients.to_string().as_bytes()]).ok()?;
    settings.keep_unwritten("maxclients");
    Some(format!("maxclients lowered from {asked} to {clients}: the system allows {allowed} open files"))
}
