//! CLIENT: who is connected, and what each connection may say about itself.

use std::fmt::Write;

use crate::command::{
    ClientAttribute, ClientGoblinPolicy, ClientGoblinPolicyPolicy, ClientKill, ClientList, ClientNoEvict,
    ClientNoEvictEnabled, ClientNoTouch, ClientNoTouchEnabled, ClientPause, ClientPauseMode, ClientReply,
    ClientReplyAction, ClientSetinfo, ClientSetname, ClientTracking, ClientTrackingStatus, ClientType, KillConditions,
    KillFilter, ListFilter, is_plain_name, parse_integer,
};
use crate::reply::{CommandError, Reply};

use super::caller::{Caller, ReplyMode};
use super::host::{ClientFacts, Host, ProcessRequest, PushPolicy, PushRules};
use super::{Engine, Turn};

/// What CLIENT GETREDIR answers while tracking is off.
pub(super) const NO_REDIRECTION: i64 = -1;

impl<H: Host> Turn<'_, H> {
    /// The caller's own facts, those included that only the caller knows.
    fn own_facts(&self) -> ClientFacts {
        let mut facts = self.host.own_facts();
        self.caller.describe(&mut facts);
        facts
    }
}

impl Engine {
    pub(super) fn client_getname<H: Host>(&mut self, turn: &mut Turn<'_, H>) -> Reply<'static> {
        match turn.caller.name() {
            [] => Reply::Nil,
            name => Reply::owned(name),
        }
    }

    pub(super) fn client_setname<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        set: &ClientSetname<'_>,
    ) -> Result<Reply<'_>, CommandError> {
        if !is_plain_name(set.connection_name) {
            return Err(CommandError::ClientName);
        }
        turn.caller.set_name(set.connection_name);
        Ok(Reply::OK)
    }

    pub(super) fn client_setinfo<H: Host>(&mut self, turn: &mut Turn<'_, H>, set: &ClientSetinfo<'_>) -> Reply<'_> {
        let extras = turn.caller.extras_mut();
        match set.attribute {
            ClientAttribute::LibraryName(name) => extras.lib_name = name.into(),
            ClientAttribute::LibraryVersion(version) => extras.lib_version = version.into(),
        }
        Reply::OK
    }

    pub(super) fn client_info<H: Host>(&mut self, turn: &mut Turn<'_, H>) -> Reply<'static> {
        Reply::Verbatim(line(&turn.own_facts()))
    }

    pub(super) fn client_list<H: Host>(&mut self, turn: &mut Turn<'_, H>, list: &ClientList<'_>) -> Reply<'static> {
        let mut all = turn.host.clients();
        let own = turn.own_facts();
        all.insert(all.partition_point(|other| other.id < own.id), own);
        let text = match list.filter {
            ListFilter::All => all.iter().map(line).collect(),
            ListFilter::Type(kind) => all.iter().filter(|facts| is_of(facts, kind)).map(line).collect(),
            ListFilter::Ids(ids) => {
                let wanted = ids.iter().filter_map(parse_integer);
                wanted.filter_map(|id| all.iter().find(|facts| facts.id.0 as i64 == id)).map(line).collect()
            }
        };
        Reply::Verbatim(text)
    }

    /// The old form names one address and must find it; the new form counts what its conditions found.
    pub(super) fn client_kill<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        kill: &ClientKill<'_>,
    ) -> Result<Reply<'_>, CommandError> {
        match kill.filter {
            KillFilter::Address(addr) => {
                let found = kill_matching(turn, true, |facts| facts.addr.as_bytes() == addr);
                if found == 0 { Err(CommandError::NoSuchClient) } else { Ok(Reply::OK) }
            }
            KillFilter::All(conditions) => {
                let found = kill_matching(turn, !conditions.skip_me, |facts| matches(facts, &conditions));
                Ok(Reply::count(found))
            }
        }
    }

    pub(super) fn client_no_evict<H: Host>(&mut self, turn: &mut Turn<'_, H>, mark: &ClientNoEvict) -> Reply<'_> {
        turn.caller.no_evict = mark.enabled == ClientNoEvictEnabled::On;
        Reply::OK
    }

    pub(super) fn client_no_touch<H: Host>(&mut self, turn: &mut Turn<'_, H>, mark: &ClientNoTouch) -> Reply<'_> {
        turn.caller.no_touch = mark.enabled == ClientNoTouchEnabled::On;
        Reply::OK
    }

    /// What becomes of messages that the connection does not read.
    pub(super) fn client_policy<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        rules: &ClientGoblinPolicy,
    ) -> Result<Reply<'_>, CommandError> {
        let policy = match rules.policy {
            ClientGoblinPolicyPolicy::Disconnect => PushPolicy::Disconnect,
            ClientGoblinPolicyPolicy::DropOldest => PushPolicy::DropOldest,
            ClientGoblinPolicyPolicy::DropNewest => PushPolicy::DropNewest,
            ClientGoblinPolicyPolicy::Conflate => PushPolicy::Conflate,
        };
        if policy == PushPolicy::Disconnect && (rules.bytes.is_some() || rules.notice) {
            return Err(CommandError::Syntax);
        }
        // RESP2 has no push that its clients would not take for a message.
        if rules.notice && turn.caller.resp == 2 {
            return Err(CommandError::PolicyNotice);
        }
        let bytes = rules.bytes.map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
        turn.host.set_push_rules(PushRules { policy, bytes, notice: rules.notice });
        Ok(Reply::OK)
    }

    pub(super) fn client_reply<H: Host>(&mut self, turn: &mut Turn<'_, H>, mode: &ClientReply) -> Reply<'static> {
        let caller = &mut *turn.caller;
        match mode.action {
            ClientReplyAction::On => {
                caller.replies = ReplyMode::On;
                return Reply::OK;
            }
            ClientReplyAction::Off => caller.replies = ReplyMode::Off,
            ClientReplyAction::Skip if caller.replies == ReplyMode::Off => {}
            ClientReplyAction::Skip => caller.replies = ReplyMode::SkipNext,
        }
        Reply::Silent
    }

    pub(super) fn client_pause<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        pause: &ClientPause,
    ) -> Result<Reply<'_>, CommandError> {
        if pause.timeout < 0 {
            return Err(CommandError::TimeoutNegative);
        }
        let until_ms = turn.now.unix_ms().checked_add(pause.timeout).ok_or(CommandError::TimeoutOutOfRange)?;
        let all = pause.mode != Some(ClientPauseMode::Write);
        turn.host.ask(ProcessRequest::Pause { until_ms, all })?;
        self.paused_until_ms = self.paused_until_ms.max(until_ms);
        Ok(Reply::OK)
    }

    pub(super) fn client_unpause<H: Host>(&mut self, turn: &mut Turn<'_, H>) -> Result<Reply<'_>, CommandError> {
        turn.host.ask(ProcessRequest::Unpause)?;
        self.paused_until_ms = 0;
        Ok(Reply::OK)
    }

    /// There is no tracking, and a client that was told otherwise would read stale values.
    pub(super) fn client_tracking<H: Host>(
        &mut self,
        turn: &mut Turn<'_, H>,
        tracking: &ClientTracking,
    ) -> Result<Reply<'_>, CommandError> {
        if let Some(id) = tracking.options.redirect {
            let exists = |facts: &ClientFacts| facts.id.0 as i64 == id;
            if turn.caller.id.0 as i64 != id && !turn.host.clients().iter().any(exists) {
                return Err(CommandError::RedirectToNobody);
            }
        }
        if let Some(fault) = tracking.options.fault {
            return Err(fault.into());
        }
        match tracking.status {
            ClientTrackingStatus::On => Err(CommandError::NotOffered("client-side caching (CLIENT TRACKING ON)")),
            ClientTrackingStatus::Off => Ok(Reply::OK),
        }
    }
}

impl Engine {
    /// As Redis describes a connection whose tracking is off.
    pub(super) fn client_trackinginfo(&mut self) -> Reply<'static> {
        let field = |name: &'static str, value| (Reply::bulk(name.as_bytes()), value);
        Reply::Map(vec![
            field("flags", Reply::Set(vec![Reply::bulk(b"off")])),
            field("redirect", Reply::Integer(NO_REDIRECTION)),
            field("prefixes", Reply::Array(Vec::new())),
        ])
    }

    /// No command waits for another client, so that nobody is ever found to be waiting.
    pub(super) fn client_unblock(&mut self) -> Reply<'static> {
        Reply::Integer(0)
    }
}

impl Caller {
    /// Gives the connection a name; an empty one takes it away.
    pub(super) fn set_name(&mut self, name: &[u8]) {
        if !name.is_empty() || self.extras.is_some() {
            self.extras_mut().name = name.into();
        }
    }
}

/// Kills others, and the caller too when it is meant and matches: it still gets its reply.
fn kill_matching<H: Host>(
    turn: &mut Turn<'_, H>,
    me_too: bool,
    mut matches: impl FnMut(&ClientFacts) -> bool,
) -> usize {
    let me = me_too && matches(&turn.own_facts());
    if me {
        turn.caller.closing = true;
    }
    turn.host.kill(&mut matches) + usize::from(me)
}

fn matches(facts: &ClientFacts, conditions: &KillConditions<'_>) -> bool {
    // The parser knows only one user, so that `conditions.user` excludes nobody who is logged in.
    conditions.id.is_none_or(|id| facts.id.0 == id)
        && conditions.kind.is_none_or(|kind| is_of(facts, kind))
        && conditions.user.is_none_or(|_| facts.authenticated)
        && conditions.addr.is_none_or(|addr| facts.addr.as_bytes() == addr)
        && conditions.laddr.is_none_or(|laddr| facts.laddr.as_bytes() == laddr)
        && conditions.age_s_min.is_none_or(|age_s| facts.age_s >= age_s)
}

fn is_of(facts: &ClientFacts, kind: ClientType) -> bool {
    let subscribed = facts.channels + facts.patterns + facts.shards > 0;
    match kind {
        ClientType::Normal => !subscribed,
        ClientType::Pubsub => subscribed,
        ClientType::Master | ClientType::Replica => false,
    }
}

/// One line of CLIENT LIST, in the fields and the order of Redis 8.2.3.
fn line(facts: &ClientFacts) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut line = String::with_capacity(400);
    let _ = write!(
        line,
        "id={} addr={} laddr={} fd={} name={} age={} idle={} flags={} db={} sub={} psub={} ssub={} multi={} watch={} ",
        facts.id.0,
        facts.addr,
        facts.laddr,
        facts.fd,
        text(&facts.name),
        facts.age_s,
        facts.idle_s,
        flags(facts),
        facts.db,
        facts.channels,
        facts.patterns,
        facts.shards,
        facts.queued.map_or(-1, |queued| queued as i64),
        facts.watched,
    );
    let _ = write!(
        line,
        "qbuf={} qbuf-free={} argv-mem={} multi-mem={} rbs=0 rbp=0 obl=0 oll={} omem={} tot-mem={} ",
        facts.inbox_bytes,
        facts.inbox_free,
        facts.args_bytes,
        facts.queue_bytes,
        facts.outbox_shared,
        facts.outbox_bytes,
        facts.total_bytes,
    );
    let _ = write!(
        line,
        "events={} cmd={} user={} redir=-1 resp={} lib-name={} lib-ver={} io-thread=0 tot-net-in={} tot-net-out={} \
         tot-cmds={}",
        if facts.outbox_bytes > 0 { "rw" } else { "r" },
        facts.last_command,
        if facts.authenticated { "default" } else { "(superuser)" },
        facts.resp,
        text(&facts.lib_name),
        text(&facts.lib_version),
        facts.net_in,
        facts.net_out,
        facts.commands,
    );
    let policy = match facts.policy {
        PushPolicy::Disconnect => None,
        PushPolicy::DropOldest => Some("drop-oldest"),
        PushPolicy::DropNewest => Some("drop-newest"),
        PushPolicy::Conflate => Some("conflate"),
    };
    if let Some(policy) = policy {
        let _ = write!(line, " policy={policy} dropped={}", facts.dropped);
    }
    if let Some(socket) = facts.ring_of {
        let _ = write!(line, " ring-of={}", socket.0);
    }
    line.push('\n');
    line
}

fn flags(facts: &ClientFacts) -> String {
    let subscribed = facts.channels + facts.patterns + facts.shards > 0;
    let marks = [
        (facts.monitor, 'O'),
        (subscribed, 'P'),
        (facts.queued.is_some(), 'x'),
        (facts.paused, 'b'),
        (facts.dirty, 'd'),
        (facts.closing, 'c'),
        (facts.unix, 'U'),
        (facts.no_evict, 'e'),
        (facts.no_touch, 'T'),
    ];
    let flags: String = marks.into_iter().filter(|(set, _)| *set).map(|(_, mark)| mark).collect();
    if flags.is_empty() { "N".to_owned() } else { flags }
}
