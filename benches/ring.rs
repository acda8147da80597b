//! What a ring costs: a record through it in one thread, and a round trip between two on different processors.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use goblin::shm::{Ends, Region};
use nix::unistd::Pid;

use crate::engine::pin;

const PAYLOADS: [usize; 4] = [16, 48, 256, 1984];
const RECORDS: usize = 2_000_000;
const TRIPS: usize = 200_000;
const ROUNDS: usize = 9;

/// Measures both.
pub fn run() {
    let path = std::env::temp_dir().join(format!("goblin-bench-ring-{}", std::process::id()));
    let server = Arc::new(Region::create(&path, 4096, 0o600).expect("a ring"));
    let client = Arc::new(Region::open(&path).expect("the ring"));
    let (mut there, mut here) = (Ends::of_server(&server).expect("sound"), Ends::of_client(&client).expect("sound"));
    for len in PAYLOADS {
        let (payload, mut taken) = (vec![7; len], Vec::new());
        let began = Instant::now();
        for _ in 0..RECORDS {
            send(&mut here, &payload);
            receive(&mut there, &mut taken);
        }
        println!("a record of {len:>4} bytes, written and read: {:>6.1} ns", each(began, RECORDS));
    }
    drop((there, here));
    line_ping_pong();
    for len in [16, 48, 256] {
        let mut medians: Vec<f64> = (0..ROUNDS).map(|_| round_trips(&server, &client, len)).collect();
        medians.sort_by(f64::total_cmp);
        println!("a round trip of {len:>4} bytes each way: p50 {:>6.0} ns, rounds {medians:.0?}", medians[ROUNDS / 2]);
    }
}

fn each(began: Instant, count: usize) -> f64 {
    began.elapsed().as_nanos() as f64 / count as f64
}

fn send(ends: &mut Ends, payload: &[u8]) {
    let mut claim = ends.producer.claim(payload.len()).expect("sound").expect("room");
    claim.write(payload);
    claim.commit();
    ends.producer.publish();
}

fn receive(ends: &mut Ends, into: &mut Vec<u8>) {
    into.clear();
    while !ends.consumer.take(into).expect("sound") {
        std::hint::spin_loop();
    }
    ends.consumer.release();
}

/// The median of the closed loop of one round.
fn round_trips(server: &Arc<Region>, client: &Arc<Region>, len: usize) -> f64 {
    std::thread::scope(|scope| {
        scope.spawn(|| {
            pin(Pid::from_raw(0), 0);
            let (mut ends, mut taken) = (Ends::of_server(server).expect("sound"), Vec::new());
            for _ in 0..TRIPS {
                receive(&mut ends, &mut taken);
                send(&mut ends, &taken);
            }
        });
        pin(Pid::from_raw(0), 1);
        let (mut ends, mut taken, payload) = (Ends::of_client(client).expect("sound"), Vec::new(), vec![7; len]);
        let mut times: Vec<u64> = (0..TRIPS)
            .map(|_| {
                let began = Instant::now();
                send(&mut ends, &payload);
                receive(&mut ends, &mut taken);
                began.elapsed().as_nanos() as u64
            })
            .collect();
        times.sort_unstable();
        times[TRIPS / 2] as f64
    })
}

/// What one line of the cache costs to go there and back between the two processors: the floor of everything here.
fn line_ping_pong() {
    let (line, count) = (AtomicU64::new(0), 1_000_000_u64);
    let began = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            pin(Pid::from_raw(0), 0);
            for turn in 0..count {
                while line.load(Ordering::Acquire) != 2 * turn + 1 {
                    std::hint::spin_loop();
                }
                line.store(2 * turn + 2, Ordering::Release);
            }
        });
        pin(Pid::from_raw(0), 1);
        for turn in 0..count {
            line.store(2 * turn + 1, Ordering::Release);
            while line.load(Ordering::Acquire) != 2 * turn + 2 {
                std::hint::spin_loop();
            }
        }
    });
    println!("a line of the cache there and back: {:>6.1} ns", each(began, count as usize));
}
