//! What the shell promises: every chunk once, errors to whom they concern, nothing lost by dropping anything.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use braid_base::ManualClock;
use braid_buffer::{BufferError, BufferManager, CooperativeScanHandle, ScanPolicy};
use braid_io::{Device, Fault, ReadLatency};
use braid_testing::{PATIENCE, PAUSE, Wait, eventually};
use tokio::time::timeout;

use super::fixture::{CHUNK_ROWS, Fixture, verify};

/// Takes chunks until none is left; returns their indices.
async fn consume(scan: CooperativeScanHandle, columns: Vec<u16>) -> Vec<usize> {
    let mut chunks = Vec::new();
    while let Some(chunk) = scan.next().await {
        let chunk = chunk.unwrap();
        verify(&chunk, &columns);
        chunks.push(chunk.chunk);
        tokio::task::yield_now().await;
    }
    chunks
}

/// Runs `consumers` of one scan to the end; returns all chunks they got.
async fn run(scan: CooperativeScanHandle, columns: &[u16], consumers: usize) -> Vec<usize> {
    let tasks: Vec<_> = (0..consumers).map(|_| tokio::spawn(consume(scan.clone(), columns.to_vec()))).collect();
    drop(scan);
    let mut chunks = Vec::new();
    for task in tasks {
        chunks.extend(timeout(PATIENCE, task).await.expect("the scan ends").unwrap());
    }
    chunks
}

/// Waits until the buffer is at rest: nothing under way, nothing pinned, no scan registered.
async fn rest(buffer: &Arc<BufferManager>) {
    let wait = Wait::new("the buffer to be at rest");
    loop {
        let stats = buffer.stats();
        if (stats.scans, stats.loads_in_flight, stats.pinned_bytes) == (0, 0, 0) {
            return;
        }
        wait.check(|| format!("{stats:?}"));
        tokio::time::sleep(PAUSE).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_scans_with_many_consumers_get_each_chunk_once_under_every_policy() {
    let fixture = Fixture::new().await;
    let all: Vec<usize> = (0..CHUNK_ROWS.len()).collect();
    for policy in ScanPolicy::ALL {
        // Hardly more than the largest chunk of all columns: every scan waits for room again and again.
        let buffer = fixture.buffer(fixture.largest(&[0, 1, 2]) * 5 / 4, policy);
        let mut runs = Vec::new();
        for number in 0..12 {
            let columns: &[u16] = [&[0, 1, 2][..], &[2, 0], &[1], &[]][number % 4];
            let chunks: Vec<usize> = all.iter().copied().filter(|chunk| number < 6 || chunk % 2 == 0).collect();
            let scan = buffer.register(fixture.request(&chunks, columns, number % 5 == 0));
            let consumers = 1 + number % 3;
            runs.push(tokio::spawn(async move { (run(scan, columns, consumers).await, chunks) }));
        }
        for handle in runs {
            let (mut delivered, expected) = handle.await.unwrap();
            delivered.sort_unstable();
            assert_eq!(delivered, expected, "{policy}");
        }
        rest(&buffer).await;
        let stats = buffer.stats();
        assert!(stats.used_bytes <= stats.capacity_bytes && stats.lent_bytes == 0, "{policy}: {stats:?}");
    }
}

#[tokio::test]
async fn scans_in_order_come_in_order() {
    let fixture = Fixture::new().await;
    for policy in ScanPolicy::ALL {
        let buffer = fixture.buffer(fixture.largest(&[0, 2]) * 2, policy);
        let other = buffer.register(fixture.all(&[2]));
        let first = other.next().await.unwrap().unwrap();
        let chunks = [1, 2, 4, 5, 6];
        let scan = buffer.register(fixture.request(&chunks, &[0, 2], true));
        drop(first);
        assert_eq!(consume(scan, vec![0, 2]).await, chunks, "{policy}");
    }
}

#[tokio::test]
async fn what_one_scan_reads_the_others_do_not() {
    let fixture = Fixture::new().await;
    let buffer = fixture.buffer(1 << 30, ScanPolicy::Relevance);
    let reads_before = fixture.device.stats().bytes_read;
    let scans: Vec<_> = (0..4).map(|_| buffer.register(fixture.all(&[0, 1]))).collect();
    for scan in scans {
        assert_eq!(run(scan, &[0, 1], 1).await.len(), CHUNK_ROWS.len());
    }
    let stats = buffer.stats();
    assert_eq!(stats.bytes_loaded, fixture.bytes_of(&[0, 1]));
    assert_eq!(fixture.device.stats().bytes_read - reads_before, stats.bytes_loaded);
    assert_eq!(stats.bytes_saved, 3 * stats.bytes_loaded);
    assert_eq!(stats.segment_hits, 3 * 2 * CHUNK_ROWS.len() as u64);
    assert!(stats.reads < stats.segments_loaded, "small neighbours are read together");
    // A count needs no bytes at all.
    assert_eq!(run(buffer.register(fixture.all(&[])), &[], 2).await.len(), CHUNK_ROWS.len());
    assert_eq!(buffer.stats().bytes_loaded, stats.bytes_loaded);
}

#[tokio::test]
async fn a_flipped_bit_fails_the_scans_of_that_column_and_no_others() {
    let fixture = Fixture::new().await;
    let chunk = &fixture.version.chunks[2];
    let offset = chunk.segments[0].file_range().unwrap().offset + u64::from(chunk.segments[0].segment_bytes) / 2;
    fixture.device.inject(Fault::FlipBit { file: Some(chunk.data_file().path().to_owned()), offset, bit: 3 });
    let buffer = fixture.buffer(1 << 30, ScanPolicy::Relevance);
    let (bad, good) = (buffer.register(fixture.all(&[0, 1])), buffer.register(fixture.all(&[1, 2])));
    let mut delivered = BTreeSet::new();
    let error = loop {
        match bad.next().await.expect("an error comes before the end") {
            Ok(chunk) => assert!(delivered.insert(chunk.chunk)),
            Err(error) => break error,
        }
    };
    let BufferError::Corrupt { table, column, chunk: id, expected, found } = &error else { panic!("{error}") };
    assert_eq!((table.as_str(), column.as_str(), *id), ("things", "number", chunk.id));
    assert_eq!(*expected, chunk.segments[0].checksum);
    assert_ne!(expected, found);
    assert!(matches!(bad.next().await, Some(Err(BufferError::Corrupt { .. }))), "a failed scan never just ends");
    assert_eq!(run(good, &[1, 2], 1).await.len(), CHUNK_ROWS.len());
    // The bytes on disk are good; only the read was not. Nothing of it has stayed.
    fixture.device.clear();
    assert_eq!(run(buffer.register(fixture.all(&[0])), &[0], 1).await.len(), CHUNK_ROWS.len());
    drop(bad);
    rest(&buffer).await;
}

#[tokio::test]
async fn a_read_that_the_disk_refuses_fails_the_waiting_scans_and_is_tried_again_for_later_ones() {
    let fixture = Fixture::new().await;
    let chunk = &fixture.version.chunks[0];
    let file = Some(chunk.data_file().path().to_owned());
    fixture.device.inject(Fault::FailReads { file, offsets: 0..u64::MAX, errno: 5 });
    let buffer = fixture.buffer(1 << 30, ScanPolicy::Relevance);
    let scans: Vec<_> = (0..3).map(|_| buffer.register(fixture.request(&[0], &[0, 2], false))).collect();
    for scan in &scans {
        assert!(matches!(scan.next().await, Some(Err(BufferError::Io(_)))));
    }
    assert!(buffer.stats().load_failures > 0);
    fixture.device.clear();
    assert_eq!(run(buffer.register(fixture.all(&[0, 2])), &[0, 2], 2).await.len(), CHUNK_ROWS.len());
    drop(scans);
    rest(&buffer).await;
}

#[tokio::test]
async fn a_chunk_larger_than_the_buffer_is_an_error_for_that_scan() {
    let fixture = Fixture::new().await;
    let buffer = fixture.buffer(fixture.largest(&[0]), ScanPolicy::Relevance);
    let wide = buffer.register(fixture.all(&[0, 1, 2]));
    let Some(Err(BufferError::TooLarge { needed, capacity })) = wide.next().await else { panic!("it fits") };
    assert_eq!((needed, capacity), (fixture.largest(&[0, 1, 2]), fixture.largest(&[0])));
    assert_eq!(run(buffer.register(fixture.all(&[0])), &[0], 1).await.len(), CHUNK_ROWS.len());
}

#[tokio::test]
async fn dropping_a_waiting_call_loses_no_chunk() {
    let fixture = Fixture::new().await;
    let buffer = fixture.buffer(1 << 30, ScanPolicy::Relevance);
    let latency = ReadLatency::Virtual { us: 1 };
    fixture.device.inject(Fault::DelayReads { file: None, latency });
    let scan = buffer.register(fixture.all(&[0]));
    // Dropped while the read is under way.
    for _ in 0..3 {
        assert!(timeout(Duration::from_millis(5), scan.next()).await.is_err());
    }
    assert_eq!(buffer.stats().waiting_scans, 0);
    fixture.device.clear();
    fixture.device.advance_us(1);
    // Dropped when the answer is there but has not been taken: the future is polled once, then left alone until the
    // read has ended.
    let mut call = Box::pin(scan.next());
    assert!(futures::poll!(call.as_mut()).is_pending() || buffer.stats().chunks_delivered == 1);
    eventually("the chunk to be delivered", || buffer.stats().chunks_delivered > 0).await;
    drop(call);
    assert_eq!(buffer.stats().pinned_bytes, 0, "the chunk was given back");
    let mut chunks = consume(scan, vec![0]).await;
    chunks.sort_unstable();
    assert_eq!(chunks, (0..CHUNK_ROWS.len()).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_dropped_at_random_moments_lose_no_chunk() {
    let fixture = Fixture::new().await;
    for round in 0..20 {
        let buffer = fixture.buffer(fixture.largest(&[0, 2]) * 2, ScanPolicy::ALL[round % 4]);
        let scan = buffer.register(fixture.all(&[0, 2]));
        let consumer = |patience_us: u64| {
            let scan = scan.clone();
            async move {
                let mut chunks = Vec::new();
                loop {
                    match timeout(Duration::from_micros(patience_us), scan.next()).await {
                        Err(_) => tokio::task::yield_now().await,
                        Ok(None) => return chunks,
                        Ok(Some(chunk)) => chunks.push(chunk.unwrap().chunk),
                    }
                }
            }
        };
        let tasks = [tokio::spawn(consumer(50)), tokio::spawn(consumer(300)), tokio::spawn(consumer(100_000))];
        let mut chunks = Vec::new();
        for task in tasks {
            chunks.extend(timeout(PATIENCE, task).await.unwrap().unwrap());
        }
        // A chunk given back after the others had been told that nothing is left is still the scan's.
        chunks.extend(consume(scan, vec![0, 2]).await);
        chunks.sort_unstable();
        assert_eq!(chunks, (0..CHUNK_ROWS.len()).collect::<Vec<_>>(), "round {round}");
    }
}

#[tokio::test]
async fn a_dropped_scan_gives_everything_back_and_its_pinned_chunks_stay_good() {
    let fixture = Fixture::new().await;
    let buffer = fixture.buffer(fixture.largest(&[0, 1, 2]), ScanPolicy::Relevance);
    let scan = buffer.register(fixture.all(&[0, 1, 2]));
    let chunk = scan.next().await.unwrap().unwrap();
    drop(scan);
    verify(&chunk, &[0, 1, 2]);
    let pinned = buffer.stats().pinned_bytes;
    assert!(pinned > 0);
    drop(chunk);
    rest(&buffer).await;
    // Reads under way whose scans have gone end without harm.
    fixture.device.inject(Fault::DelayReads { file: None, latency: ReadLatency::Virtual { us: 1 } });
    let cancelled = fixture.buffer(1 << 30, ScanPolicy::Relevance);
    let scan = cancelled.register(fixture.all(&[0, 1, 2]));
    assert!(timeout(Duration::from_millis(5), scan.next()).await.is_err());
    assert!(cancelled.stats().loads_in_flight > 0);
    drop(scan);
    fixture.device.clear();
    fixture.device.advance_us(1);
    rest(&cancelled).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_policy_changes_under_running_scans() {
    let fixture = Fixture::new().await;
    let buffer = fixture.buffer(fixture.largest(&[0, 1, 2]) * 5 / 4, ScanPolicy::Normal);
    let mut runs = Vec::new();
    for number in 0..8 {
        let scan = buffer.register(fixture.all([&[0, 1, 2][..], &[1, 2]][number % 2]));
        runs.push(tokio::spawn(async move { run(scan, [&[0, 1, 2][..], &[1, 2]][number % 2], 2).await }));
    }
    for round in 0..40 {
        let policy = ScanPolicy::ALL[round % 4];
        buffer.set_policy(policy);
        assert_eq!(buffer.policy(), policy);
        tokio::time::sleep(Duration::from_micros(300)).await;
    }
    for handle in runs {
        assert_eq!(handle.await.unwrap().len(), CHUNK_ROWS.len());
    }
    rest(&buffer).await;
}

#[tokio::test]
async fn a_client_that_stops_reading_does_not_stop_the_others() {
    let fixture = Fixture::new().await;
    let clock = Arc::new(ManualClock::default());
    let capacity = fixture.largest(&[0]);
    let buffer = fixture.buffer_with_clock(capacity, ScanPolicy::Relevance, clock.clone());
    let stalled = buffer.register(fixture.request(&[0], &[0], false));
    let held = stalled.next().await.unwrap().unwrap();
    let running = buffer.register(fixture.all(&[0]));
    let first = running.next().await.unwrap().unwrap();
    assert_eq!(first.chunk, 0, "what is there comes first");
    drop(first);
    let waiting = tokio::spawn(consume(running, vec![0]));
    eventually("the scan to wait for room", || buffer.stats().waiting_scans == 1).await;
    clock.advance(10_000_000);
    assert_eq!(timeout(PATIENCE, waiting).await.unwrap().unwrap().len(), CHUNK_ROWS.len() - 1);
    verify(&held, &[0]);
    let stats = buffer.stats();
    assert!(stats.lent_bytes > 0 && stats.used_bytes <= capacity);
    drop(held);
    assert_eq!(buffer.stats().lent_bytes, 0);
}
