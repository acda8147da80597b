//! A ring in plain memory: whole records, nothing lost, and a peer that lies.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::*;

/// A direction in plain memory.
#[derive(Debug)]
struct Plain<W>(Arc<(Vec<W>, W, W)>);

impl<W> Clone for Plain<W> {
    fn clone(&self) -> Self {
        Plain(Arc::clone(&self.0))
    }
}

impl<W: Word> Plain<W> {
    fn new(capacity: usize, start: u64, word: impl Fn(u64) -> W) -> Self {
        Plain(Arc::new(((0..capacity / 8).map(|_| word(0)).collect(), word(start), word(start))))
    }
}

impl<W: Word> Lane for Plain<W> {
    type Word = W;

    fn words(&self) -> &[W] {
        &self.0.0
    }

    fn head(&self) -> &W {
        &self.0.1
    }

    fn tail(&self) -> &W {
        &self.0.2
    }
}

fn plain(capacity: usize, start: u64) -> Plain<AtomicU64> {
    Plain::new(capacity, start, AtomicU64::new)
}

type Ends = (Producer<Plain<AtomicU64>>, Consumer<Plain<AtomicU64>>);

fn ends(lane: &Plain<AtomicU64>) -> Ends {
    (Producer::new(lane.clone()).expect("a sound ring"), Consumer::new(lane.clone()).expect("a sound ring"))
}

fn send(producer: &mut Producer<impl Lane>, payload: &[u8]) -> bool {
    let Some(mut claim) = producer.claim(payload.len()).expect("a sound ring") else { return false };
    claim.write(payload);
    claim.commit();
    producer.publish();
    true
}

fn receive(consumer: &mut Consumer<impl Lane>) -> Option<Vec<u8>> {
    let mut payload = Vec::new();
    let some = consumer.take(&mut payload).expect("a sound ring");
    consumer.release();
    some.then_some(payload)
}

#[test]
fn records_arrive_whole_and_in_order_at_every_size_and_around_the_counters_end() {
    let mut random = fastrand::Rng::with_seed(5);
    for capacity in [128, 256, 512, 4096] {
        for start in [0, 64, u64::MAX - 63, u64::MAX - 1023] {
            let (mut producer, mut consumer) = ends(&plain(capacity, start));
            let mut sent: VecDeque<Vec<u8>> = VecDeque::new();
            let (mut refused, mut number) = (0, 0_u8);
            for _ in 0..3000 {
                if random.bool() {
                    let len = random.usize(0..=producer.payload_max());
                    number = number.wrapping_add(1);
                    let payload = vec![number; len];
                    if send(&mut producer, &payload) {
                        sent.push_back(payload);
                    } else {
                        refused += 1;
                    }
                } else {
                    assert_eq!(receive(&mut consumer), sent.pop_front());
                }
            }
            while let Some(payload) = sent.pop_front() {
                assert_eq!(receive(&mut consumer), Some(payload));
            }
            assert_eq!(receive(&mut consumer), None);
            assert!(refused > 0, "{capacity} bytes were never full");
            assert_eq!(producer.is_drained(), Ok(true));
        }
    }
}

#[test]
fn a_payload_may_be_written_in_any_parts_and_be_shorter_than_claimed() {
    let mut random = fastrand::Rng::with_seed(6);
    let (mut producer, mut consumer) = ends(&plain(4096, 0));
    for _ in 0..2000 {
        let payload: Vec<u8> = (0..random.usize(0..500)).map(|_| random.u8(..)).collect();
        let mut claim = producer.claim(payload.len() + random.usize(0..500)).expect("sound").expect("room");
        let mut rest = &payload[..];
        while !rest.is_empty() {
            let (part, after) = rest.split_at(random.usize(1..=rest.len()));
            claim.write(part);
            rest = after;
        }
        claim.commit();
        producer.publish();
        assert_eq!(receive(&mut consumer), Some(payload));
    }
}

#[test]
fn what_is_not_committed_or_not_published_is_not_seen() {
    let (mut producer, mut consumer) = ends(&plain(256, 0));
    producer.claim(10).expect("sound").expect("room").write(b"half");
    assert_eq!(receive(&mut consumer), None);
    let mut claim = producer.claim(2).expect("sound").expect("room");
    claim.write(b"ok");
    claim.commit();
    assert_eq!(receive(&mut consumer), None);
    producer.publish();
    assert_eq!(receive(&mut consumer).as_deref(), Some(&b"ok"[..]));
}

#[test]
fn room_tells_what_fits() {
    let mut random = fastrand::Rng::with_seed(7);
    let (mut producer, mut consumer) = ends(&plain(1024, 0));
    for _ in 0..5000 {
        match producer.room().expect("sound") {
            None => assert!(producer.claim(0).expect("sound").is_none()),
            Some(room) => {
                assert!(producer.claim(room).expect("sound").is_some());
                let more = (room / 64 + 1) * 64;
                assert!(more > producer.payload_max() || producer.claim(more).expect("sound").is_none());
            }
        }
        let len = random.usize(0..=producer.payload_max());
        if !send(&mut producer, &vec![1; len]) {
            receive(&mut consumer);
        }
    }
}

#[test]
fn a_new_session_begins_empty() {
    let (mut producer, mut consumer) = ends(&plain(1024, 0));
    (0..3).for_each(|_| assert!(send(&mut producer, b"old")));
    assert!(receive(&mut consumer).is_some());
    producer.rewind();
    // The consumer's own copy of the tail is from before.
    consumer.discard();
    assert_eq!(receive(&mut consumer), None);
    assert!(send(&mut producer, b"new"));
    assert_eq!(receive(&mut consumer).as_deref(), Some(&b"new"[..]));
}

#[test]
fn whatever_a_peer_writes_ends_in_an_error_or_in_bytes_it_wrote() {
    let mut random = fastrand::Rng::with_seed(8);
    let (mut errors, mut taken) = (0, 0);
    for _ in 0..20_000 {
        let lane = plain(256, 0);
        for word in lane.words() {
            Word::set(word, [0, 5, 1 << 32, 2 << 32, u64::from(u32::MAX), random.u64(..)][random.usize(..6)]);
        }
        let mut consumer = Consumer::new(lane.clone()).expect("empty at first");
        let tail = [64, 128, 192, 256, 320, 100, u64::MAX, u64::MAX - 63, random.u64(..)][random.usize(..9)];
        Word::set(lane.tail(), tail);
        let mut payload = Vec::new();
        for _ in 0..10 {
            match consumer.take(&mut payload) {
                Ok(true) => taken += 1,
                Ok(false) => break,
                Err(_) => {
                    errors += 1;
                    break;
                }
            }
            consumer.release();
        }
        assert!(payload.len() <= 256, "more than the ring holds");
        let mut producer = Producer::new(plain(256, 0)).expect("empty at first");
        Word::set(producer.lane.head(), tail);
        assert!(producer.claim(64).is_ok(), "what is known to be free needs no look");
        (0..2).for_each(|_| _ = producer.claim(64).map(|claim| claim.map(Claim::commit)));
        producer.publish();
        if producer.room().is_ok() {
            assert!(tail <= 256, "a head of {tail} was believed");
        }
    }
    assert!(errors > 1000 && taken > 1000, "{errors} errors, {taken} records");
}

impl Word for loom::sync::atomic::AtomicU64 {
    fn get(&self) -> u64 {
        self.load(Ordering::Relaxed)
    }

    fn set(&self, value: u64) {
        self.store(value, Ordering::Relaxed);
    }

    fn acquire(&self) -> u64 {
        self.load(Ordering::Acquire)
    }

    fn release(&self, value: u64) {
        self.store(value, Ordering::Release);
    }

    fn fence() {
        loom::sync::atomic::fence(loom::sync::atomic::Ordering::SeqCst);
    }
}

/// Every order in which two threads can run, up to where nothing new can happen.
#[test]
fn in_every_order_the_consumer_sees_whole_records() {
    loom::model(|| {
        let lane = Plain::new(128, 0, loom::sync::atomic::AtomicU64::new);
        let mut producer = Producer::new(lane.clone()).expect("sound");
        let mut consumer = Consumer::new(lane).expect("sound");
        let writer = loom::thread::spawn(move || {
            let mut sent = 0;
            // An empty payload fills half of so small a ring: the third must wait for room.
            for number in 0..3 {
                if let Some(claim) = producer.claim(0).expect("sound") {
                    claim.commit();
                    producer.publish();
                    sent += 1;
                }
                assert!(number > 1 || sent == number + 1);
            }
            sent
        });
        let mut payload = Vec::new();
        let mut taken = 0;
        for _ in 0..3 {
            if consumer.take(&mut payload).expect("sound") {
                consumer.release();
                taken += 1;
            }
        }
        let sent = writer.join().expect("no panic");
        while consumer.take(&mut payload).expect("sound") {
            taken += 1;
        }
        assert_eq!(taken, sent);
    });
}

#[test]
fn in_every_order_the_payload_is_there_before_the_record_is() {
    loom::model(|| {
        let lane = Plain::new(256, 0, loom::sync::atomic::AtomicU64::new);
        let mut producer = Producer::new(lane.clone()).expect("sound");
        let mut consumer = Consumer::new(lane).expect("sound");
        let writer = loom::thread::spawn(move || {
            assert!(send(&mut producer, b"whole"));
        });
        if let Some(payload) = receive(&mut consumer) {
            assert_eq!(payload, b"whole");
        }
        writer.join().expect("no panic");
    });
}

#[test]
fn whoever_sleeps_is_woken_for_what_was_published_in_every_order_of_events() {
    use crate::shm::parking::{park, sleeps};
    loom::model(|| {
        let lane = Plain::new(128, 0, loom::sync::atomic::AtomicU64::new);
        let parked = Arc::new(loom::sync::atomic::AtomicU64::new(0));
        let (mut producer, mut consumer) =
            (Producer::new(lane.clone()).expect("sound"), Consumer::new(lane).expect("sound"));
        let flag = Arc::clone(&parked);
        let writer = loom::thread::spawn(move || {
            assert!(send(&mut producer, b""));
            sleeps(&*flag)
        });
        park(&*parked);
        let found = consumer.has_more();
        let rung = writer.join().expect("no panic");
        assert!(found || rung, "asleep, with a record waiting and nobody to ring");
    });
}
