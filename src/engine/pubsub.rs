//! Publish/subscribe commands, on top of `topics`.

use crate::command::{Args, Publish, Spublish};
use crate::reply::{Confirmation, ConfirmationKind, JoinedAt, Reply};
use crate::topics::{Glob, Membership, Numbers};

use super::caller::Caller;
use super::host::{Host, SubscriberId};
use super::{Engine, Turn};

/// Answers one confirmation for each name, with the count after it.
fn confirm(kind: ConfirmationKind, names: Args<'_>, mut apply: impl FnMut(&[u8]) -> usize) -> Reply<'static> {
    confirm_numbers(kind, names, |name| (apply(name), None))
}

/// The same, with where the numbers of each stand for those who want to know.
fn confirm_numbers(
    kind: ConfirmationKind,
    names: Args<'_>,
    mut apply: impl FnMut(&[u8]) -> (usize, Option<JoinedAt>),
) -> Reply<'static> {
    let confirmation = |name: &[u8]| {
        let (count, numbers) = apply(name);
        Confirmation { kind, count, name: Some(name.to_vec()), numbers }
    };
    Reply::Confirmations(names.iter().map(confirmation).collect())
}

/// Answers one confirmation for each name that is left, or one without a name when there is none.
fn confirm_all(
    kind: ConfirmationKind,
    names: Vec<Vec<u8>>,
    count: usize,
    mut apply: impl FnMut(&[u8]) -> usize,
) -> Reply<'static> {
    if names.is_empty() {
        return Reply::Confirmations(vec![Confirmation { kind, name: None, count, numbers: None }]);
    }
    let confirmation = |name: Vec<u8>| Confirmation { kind, count: apply(&name), name: Some(name), numbers: None };
    Reply::Confirmations(names.into_iter().map(confirmation).collect())
}

fn owned<'n>(names: impl Iterator<Item = &'n [u8]>) -> Vec<Vec<u8>> {
    names.map(<[u8]>::to_vec).collect()
}

fn joined_at(run: u64, numbers: Option<Numbers>) -> Option<JoinedAt> {
    numbers.map(|Numbers { last, base }| JoinedAt { run, last, base })
}

/// The three memberships of a caller and where its pushes go.
fn memberships(caller: &mut Caller) -> (SubscriberId, &mut Membership, &mut Membership, &mut Membership) {
    let subscriber = caller.subscriber;
    let extras = caller.extras_mut();
    (subscriber, &mut extras.channels, &mut extras.patterns, &mut extras.shards)
}

impl Engine {
    pub(super) fn subscribe<H: Host>(&mut self, turn: &mut Turn<'_, H>, names: Args<'_>) -> Reply<'static> {
        let run = turn.caller.numbered.then_some(self.run);
        let (subscriber, channels, patterns, _) = memberships(turn.caller);
        confirm_numbers(ConfirmationKind::Subscribe, names, |name| {
            self.channels.join(channels, subscriber, name);
            (channels.len() + patterns.len(), run.and_then(|run| joined_at(run, self.channels.numbers(name))))
        })
    }

    pub(super) fn psubscribe<H: Host>(&mut self, turn: &mut Turn<'_, H>, names: Args<'_>) -> Reply<'static> {
        let run = turn.caller.numbered.then_some(self.run);
        let (subscriber, channels, patterns, _) = memberships(turn.caller);
        confirm_numbers(ConfirmationKind::PSubscribe, names, |name| {
            self.patterns.join(patterns, subscriber, name);
            (channels.len() + patterns.len(), run.and_then(|run| joined_at(run, self.patterns.numbers(name))))
        })
    }

    pub(super) fn ssubscribe<H: Host>(&mut self, turn: &mut Turn<'_, H>, names: Args<'_>) -> Reply<'static> {
        let run = turn.caller.numbered.then_some(self.run);
        let (subscriber, _, _, shards) = memberships(turn.caller);
        confirm_numbers(ConfirmationKind::SSubscribe, names, |name| {
            self.shards.join(shards, subscriber, name);
            (shards.len(), run.and_then(|run| joined_at(run, self.shards.numbers(name))))
        })
    }

    pub(super) fn unsubscribe<H: Host>(&mut self, turn: &mut Turn<'_, H>, names: Args<'_>) -> Reply<'static> {
        let (subscriber, channels, patterns, _) = memberships(turn.caller);
        let all = names.is_empty().then(|| owned(self.channels.names(channels)));
        let count = channels.len() + patterns.len();
        let leave = |name: &[u8]| {
            self.channels.leave(channels, subscriber, name);
            channels.len() + patterns.len()
        };
        match all {
            Some(all) => confirm_all(ConfirmationKind::Unsubscribe, all, count, leave),
            None => confirm(ConfirmationKind::Unsubscribe, names, leave),
        }
    }

    pub(super) fn punsubscribe<H: Host>(&mut self, turn: &mut Turn<'_, H>, names: Args<'_>) -> Reply<'static> {
        let (subscriber, channels, patterns, _) = memberships(turn.caller);
        let all = names.is_empty().then(|| owned(self.patterns.names(patterns)));
        let count = channels.len() + patterns.len();
        let leave = |name: &[u8]| {
            self.patterns.leave(patterns, subscriber, name);
            channels.len() + patterns.len()
        };
        match all {
            Some(all) => confirm_all(ConfirmationKind::PUnsubscribe, all, count, leave),
            None => confirm(ConfirmationKind::PUnsubscribe, names, leave),
        }
    }

    pub(super) fn sunsubscribe<H: Host>(&mut self, turn: &mut Turn<'_, H>, names: Args<'_>) -> Reply<'static> {
        let (subscriber, _, _, shards) = memberships(turn.caller);
        let all = names.is_empty().then(|| owned(self.shards.names(shards)));
        let count = shards.len();
        let leave = |name: &[u8]| {
            self.shards.leave(shards, subscriber, name);
            shards.len()
        };
        match all {
            Some(all) => confirm_all(ConfirmationKind::SUnsubscribe, all, count, leave),
            None => confirm(ConfirmationKind::SUnsubscribe, names, leave),
        }
    }

    /// Leaves everything without a word: the connection ends or starts anew.
    pub(super) fn leave_everything(&mut self, caller: &mut Caller) {
        let subscriber = caller.subscriber;
        let Some(extras) = caller.extras.as_mut() else { return };
        if caller.numbered {
            self.channels.remember(&extras.channels);
            self.shards.remember(&extras.shards);
        }
        self.channels.leave_all(&mut extras.channels, subscriber);
        self.patterns.leave_all(&mut extras.patterns, subscriber);
        self.shards.leave_all(&mut extras.shards, subscriber);
    }

    pub(super) fn publish<H: Host>(&mut self, turn: &mut Turn<'_, H>, publish: &Publish<'_>) -> Reply<'static> {
        Reply::count(self.deliver(turn.host, publish.channel, publish.message))
    }

    pub(super) fn spublish<H: Host>(&mut self, turn: &mut Turn<'_, H>, publish: &Spublish<'_>) -> Reply<'static> {
        Reply::count(self.deliver_sharded(turn.host, publish.shardchannel, publish.message))
    }

    pub(super) fn pubsub_channels(&mut self, pattern: Option<&[u8]>) -> Reply<'_> {
        matching(self.channels.channels(), pattern)
    }

    pub(super) fn pubsub_shardchannels(&mut self, pattern: Option<&[u8]>) -> Reply<'_> {
        matching(self.shards.channels(), pattern)
    }

    pub(super) fn pubsub_numsub(&mut self, names: Args<'_>) -> Reply<'static> {
        counted(names, |name| self.channels.subscriber_count(name))
    }

    pub(super) fn pubsub_shardnumsub(&mut self, names: Args<'_>) -> Reply<'static> {
        counted(names, |name| self.shards.subscriber_count(name))
    }
}

fn matching<'e>(channels: impl Iterator<Item = (&'e [u8], usize)>, pattern: Option<&[u8]>) -> Reply<'e> {
    let glob = pattern.map(Glob::new);
    let wanted = |name: &[u8]| glob.as_ref().is_none_or(|glob| glob.matches(name));
    Reply::Array(channels.filter(|(name, _)| wanted(name)).map(|(name, _)| Reply::bulk(name)).collect())
}

fn counted(names: Args<'_>, count: impl Fn(&[u8]) -> usize) -> Reply<'static> {
    Reply::Array(names.iter().flat_map(|name| [Reply::owned(name), Reply::count(count(name))]).collect())
}
