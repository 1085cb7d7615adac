//! Futures that are dropped, and devices that are dropped: nothing is lost, freed too early, or waited for in vain.

use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};

use braid_base::Random;
use braid_io::{AlignedBuffer, Device, IoFuture, IoReason, OpenMode};
use braid_testing::{PATIENCE, cases, eventually};
use futures::FutureExt;
use futures::future::try_join_all;

use crate::{BLOCK, block, file_of, on_every_device};

/// Waits until the device holds no request.
async fn idle(device: &Arc<dyn Device>) {
    eventually("all requests to end", || device.stats().queue_depth_now == 0).await;
}

#[test]
fn reads_dropped_in_flight_disturb_nobody() {
    on_every_device(32, async |device, dir| {
        let blocks = 256;
        let file = file_of(&device, dir, blocks).await;
        let mut in_flight = 0;
        for (round, case) in (0..).zip(cases!(0..60)) {
            let mut random = case.random();
            // Polled once, so most of them are in the kernel when they are dropped; the memory they would have freed
            // is at once asked for again, by reads and as plain memory.
            let mut dropped: Vec<_> = (0..24)
                .map(|_| device.read(&file, random.below(blocks) * BLOCK as u64, BLOCK, IoReason::Scan))
                .collect();
            in_flight += dropped.iter_mut().filter_map(|read| read.now_or_never().is_none().then_some(())).count();
            drop(dropped);
            let mut canaries: Vec<AlignedBuffer> = (0..24).map(|_| AlignedBuffer::from_slice(&[0xA5; BLOCK])).collect();
            let kept = (0..24).map(|i| {
                let index = (i * 7 + round) % blocks;
                device.read(&file, index * BLOCK as u64, BLOCK, IoReason::Scan).map(move |read| (index, read.unwrap()))
            });
            for (index, read) in futures::future::join_all(kept).await {
                assert_eq!(read.as_slice(), block(0, index));
            }
            idle(&device).await;
            assert!(canaries.iter_mut().all(|canary| canary.as_mut_slice() == [0xA5; BLOCK]), "memory was overwritten");
        }
        assert_eq!(device.stats().failures, 0);
        assert!(in_flight > 0, "every read had ended before it was dropped");
    });
}

#[test]
fn writes_dropped_in_flight_are_whole_or_absent() {
    on_every_device(8, async |device, dir| {
        let file = device.open(&dir.join("dropped"), OpenMode::Create).unwrap();
        device.write(&file, 0, AlignedBuffer::zeroed(64 * BLOCK), IoReason::Load).await.unwrap();
        for index in 0..64 {
            let buffer = AlignedBuffer::from_slice(&block(2, index));
            let mut write = device.write(&file, index * BLOCK as u64, buffer, IoReason::Load);
            // Some are never polled: these certainly do nothing.
            if index % 4 != 0 {
                let _ = (&mut write).now_or_never();
            }
            drop(write);
        }
        idle(&device).await;
        for index in 0..64 {
            let read = device.read(&file, index * BLOCK as u64, BLOCK, IoReason::Check).await.unwrap();
            let absent = read.as_slice() == [0; BLOCK];
            assert!(absent || (index % 4 != 0 && read.as_slice() == block(2, index)), "block {index}");
        }
    });
}

#[test]
fn a_dropped_future_that_waits_for_a_place_gives_it_up() {
    on_every_device(1, async |device, dir| {
        let file = file_of(&device, dir, 16).await;
        let mut waiting: Vec<_> =
            (0..16).map(|index| device.read(&file, index * BLOCK as u64, BLOCK, IoReason::Scan)).collect();
        waiting.iter_mut().for_each(|read| drop(read.now_or_never()));
        drop(waiting);
        let read = device.read(&file, 0, BLOCK, IoReason::Scan).await.unwrap();
        assert_eq!(read.as_slice(), block(0, 0));
        assert_eq!(device.stats().queue_depth_max, 1);
    });
}

#[test]
fn a_dropped_device_finishes_what_it_has_begun() {
    on_every_device(64, async |device, dir| {
        let path = dir.join("late");
        let file = device.open(&path, OpenMode::Create).unwrap();
        let writes: Vec<_> = (0..32)
            .map(|index| {
                let buffer = AlignedBuffer::from_slice(&block(3, index));
                device.write(&file, index * BLOCK as u64, buffer, IoReason::Load)
            })
            .collect();
        let reader = device.open(&path, OpenMode::Read).unwrap();
        let late = device.read(&reader, 0, BLOCK, IoReason::Scan);
        // The futures outlive the device, half of them not even begun.
        drop(device);
        try_join_all(writes).await.unwrap();
        assert_eq!(late.await.unwrap().as_slice(), block(3, 0));
        let content = std::fs::read(&path).unwrap();
        assert!((0..32).all(|index| content[index * BLOCK..][..BLOCK] == block(3, index as u64)));
    });
}

#[test]
fn devices_come_and_go_under_load() {
    for _ in 0..10 {
        on_every_device(16, async |device, dir| {
            let file = file_of(&device, dir, 16).await;
            for index in 0..16 {
                let read = device.read(&file, index * BLOCK as u64, BLOCK, IoReason::Scan);
                // Detached tasks: the last of them, or this function, ends the device.
                tokio::spawn(async move { assert_eq!(read.await.unwrap().as_slice(), block(0, index)) });
            }
        });
    }
}

/// Drops a future, the last thing that needs its device, on the thread that wakes it.
struct DropsWhenWoken {
    held: Mutex<Option<IoFuture<AlignedBuffer>>>,
    dropped: std::sync::mpsc::Sender<()>,
}

impl Wake for DropsWhenWoken {
    fn wake(self: Arc<Self>) {
        drop(self.held.lock().unwrap().take());
        self.dropped.send(()).unwrap();
    }
}

#[test]
fn a_device_may_end_on_its_own_thread() {
    on_every_device(4, async |device, dir| {
        let file = file_of(&device, dir, 1).await;
        let (dropped, is_dropped) = std::sync::mpsc::channel();
        let waker = Arc::new(DropsWhenWoken { held: Mutex::new(None), dropped });
        let mut read = device.read(&file, 0, BLOCK, IoReason::Scan);
        drop(device);
        // Locked until the future is in its place, so that a quick disk's wake-up finds it there.
        let mut held = waker.held.lock().unwrap();
        let polled = read.poll_unpin(&mut Context::from_waker(&Waker::from(Arc::clone(&waker))));
        *held = Some(read);
        drop(held);
        if polled.is_pending() {
            is_dropped.recv_timeout(PATIENCE).expect("the thread waits for itself");
        }
    });
}
