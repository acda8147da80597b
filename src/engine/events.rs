//! What a change of a key sets off, and how a message reaches its subscribers.
//!
//! Invariant: everything that changes a key calls [`Engine::changed`] (or [`Engine::touch`] and [`Engine::notify`] in
//! turn) exactly once per event that Redis publishes for it, in Redis's order.

use crate::reply::{Push, PushKind};

use super::Engine;
use super::host::{Host, Taken};
use super::settings::NotifyFlags;

impl Engine {
    /// A key changed: breaks watches on it and publishes its event.
    pub(super) fn changed<H: Host>(&mut self, host: &mut H, db: u16, class: NotifyFlags, event: &str, key: &[u8]) {
        self.touch(db, key);
        self.notify(host, db, class, event, key);
    }

    /// Breaks the watches on a key and counts one change. Free while nothing is watched.
    pub(super) fn touch(&mut self, db: u16, key: &[u8]) {
        self.stats.changes += 1;
        self.watches.touch(db, key);
    }

    /// Publishes a keyspace event if its class is enabled. Free otherwise.
    pub(super) fn notify<H: Host>(&mut self, host: &mut H, db: u16, class: NotifyFlags, event: &str, key: &[u8]) {
        let enabled = self.settings.notify;
        if !enabled.intersects(class) {
            return;
        }
        if enabled.contains(NotifyFlags::KEYSPACE) {
            let channel = [format!("__keyspace@{db}__:").as_bytes(), key].concat();
            self.deliver(host, &channel, event.as_bytes());
        }
        if enabled.contains(NotifyFlags::KEYEVENT) {
            let channel = format!("__keyevent@{db}__:{event}");
            self.deliver(host, channel.as_bytes(), key);
        }
    }

    /// Hands a message to everyone who joined the channel or a pattern that matches it; answers how many deliveries
    /// were queued. Literal subscribers come first, then patterns in the order they were first joined.
    pub(super) fn deliver<H: Host>(&mut self, host: &mut H, channel: &[u8], payload: &[u8]) -> usize {
        let mut queued = 0;
        let mut frame = self.frames + 1;
        let (number, subscribers) = self.channels.publish(channel);
        let push = Push { frame, number, kind: PushKind::Message { channel, payload } };
        for subscriber in subscribers {
            queued += usize::from(host.push(*subscriber, &push) == Taken::Queued);
        }
        self.patterns.publish(channel, &mut |pattern, number, subscribers| {
            frame += 1;
            let push = Push { frame, number, kind: PushKind::PatternMessage { pattern, channel, payload } };
            for subscriber in subscribers {
                queued += usize::from(host.push(*subscriber, &push) == Taken::Queued);
            }
        });
        self.frames = frame;
        self.stats.published += 1;
        self.stats.delivered += queued as u64;
        queued
    }

    /// As [`Engine::deliver`], in the namespace of sharded channels, which knows no patterns.
    pub(super) fn deliver_sharded<H: Host>(&mut self, host: &mut H, channel: &[u8], payload: &[u8]) -> usize {
        self.frames += 1;
        let (number, subscribers) = self.shards.publish(channel);
        let push = Push { frame: self.frames, number, kind: PushKind::ShardMessage { channel, payload } };
        let mut queued = 0;
        for subscriber in subscribers {
            queued += usize::from(host.push(*subscriber, &push) == Taken::Queued);
        }
        self.stats.published += 1;
        self.stats.delivered += queued as u64;
        queued
    }
}
