//! The device that fails on command, over real devices.

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use braid_io::durable::{ReplaceError, replace_file};
use braid_io::{
    AlignedBuffer, Device, Fault, FaultDevice, IoError, IoOperation, IoReason, OpenMode, OperationCounts, ReadLatency,
};
use futures::FutureExt;

use crate::{BLOCK, block, file_of, on_every_device};

const EIO: i32 = 5;
const ENOSPC: i32 = 28;

#[test]
fn a_full_disk_fails_writes_until_there_is_space_again() {
    on_every_device(16, async |device, dir| {
        let faults = FaultDevice::new(device);
        let file = faults.open(&dir.join("data"), OpenMode::Create).unwrap();
        let write = |index: u64| {
            let buffer = AlignedBuffer::from_slice(&block(0, index));
            faults.write(&file, index * BLOCK as u64, buffer, IoReason::Load)
        };
        faults.inject(Fault::DiskFull { after_bytes: 2 * BLOCK as u64 });
        write(0).await.unwrap();
        write(1).await.unwrap();
        for _ in 0..3 {
            let error = write(2).await.unwrap_err();
            assert!(error.is_disk_full(), "{error}");
            assert!(matches!(error, IoError::Transfer { operation: IoOperation::Write, offset: 8192, len: 4096, .. }));
        }
        let error = replace_file(faults.as_ref(), dir, "manifest", b"new").unwrap_err();
        assert!(matches!(&error, ReplaceError::NotReplaced(error) if error.is_disk_full()), "{error}");
        faults.sync(&file).await.unwrap();
        assert_eq!(file.len_bytes().unwrap(), 2 * BLOCK as u64, "failed writes write nothing");
        faults.clear();
        write(2).await.unwrap();
        replace_file(faults.as_ref(), dir, "manifest", b"new").unwrap();
        assert_eq!(fs::read(dir.join("manifest")).unwrap(), b"new");
    });
}

#[test]
fn one_write_and_one_sync_fail() {
    on_every_device(16, async |device, dir| {
        let faults = FaultDevice::new(device);
        let file = faults.open(&dir.join("data"), OpenMode::Create).unwrap();
        let fail = |operation, nth, errno| Fault::Fail { operation: Some(operation), file: None, nth, errno };
        faults.inject(fail(IoOperation::Write, 2, ENOSPC));
        faults.inject(fail(IoOperation::Sync, 1, EIO));
        let write = || faults.write(&file, 0, AlignedBuffer::zeroed(BLOCK), IoReason::Load);
        write().await.unwrap();
        assert!(write().await.unwrap_err().is_disk_full());
        write().await.unwrap();
        let error = faults.sync(&file).await.unwrap_err();
        assert!(
            matches!(error, IoError::File { operation: IoOperation::Sync, .. }) && !error.is_disk_full(),
            "{error}"
        );
        faults.sync(&file).await.unwrap();
        let counts = OperationCounts { opens: 1, writes: 3, syncs: 2, ..OperationCounts::default() };
        assert_eq!(faults.counts(), counts);
    });
}

#[test]
fn damaged_places_are_damaged_and_others_are_not() {
    on_every_device(16, async |device, dir| {
        let file = file_of(&device, dir, 8).await;
        let faults = FaultDevice::new(device);
        faults.inject(Fault::FailReads { file: Some("blocks".into()), offsets: 4096..4097, errno: EIO });
        faults.inject(Fault::FlipBit { file: None, offset: 2 * BLOCK as u64 + 17, bit: 3 });
        let read = |index: u64, blocks: usize| faults.read(&file, index * BLOCK as u64, blocks * BLOCK, IoReason::Scan);
        assert_eq!(read(0, 1).await.unwrap().as_slice(), block(0, 0));
        let error = read(0, 8).await.unwrap_err();
        assert_eq!(error.os_error().and_then(std::io::Error::raw_os_error), Some(EIO));
        let mut expected = block(0, 2);
        expected[17] ^= 8;
        assert_eq!(read(2, 1).await.unwrap().as_slice(), expected);
        faults.clear();
        assert_eq!(read(2, 1).await.unwrap().as_slice(), block(0, 2), "the disk is as it was");
    });
}

#[test]
fn a_crash_refuses_everything() {
    on_every_device(16, async |device, dir| {
        let faults = FaultDevice::new(device);
        let file = faults.open(&dir.join("data"), OpenMode::Create).unwrap();
        faults.inject(Fault::Crash { after_operations: 1 });
        faults.write(&file, 0, AlignedBuffer::from_slice(&block(0, 0)), IoReason::Load).await.unwrap();
        assert!(!faults.is_crashed());
        let closed = |error: IoError| matches!(error, IoError::Closed { .. });
        assert!(closed(faults.sync(&file).await.unwrap_err()) && faults.is_crashed());
        assert!(closed(faults.read(&file, 0, BLOCK, IoReason::Scan).await.unwrap_err()));
        assert!(closed(faults.write(&file, 0, AlignedBuffer::zeroed(BLOCK), IoReason::Load).await.unwrap_err()));
        assert!(closed(faults.open(&dir.join("other"), OpenMode::Create).unwrap_err()));
        let refused = replace_file(faults.as_ref(), dir, "manifest", b"new").unwrap_err();
        assert!(matches!(refused, ReplaceError::NotReplaced(error) if closed(error.clone())));
        assert_eq!(fs::read(dir.join("data")).unwrap(), block(0, 0), "what was written stays");
        assert_eq!(fs::read_dir(dir).unwrap().count(), 1);
    });
}

#[test]
fn slow_reads_wait_for_virtual_or_real_time() {
    on_every_device(16, async |device, dir| {
        let file = file_of(&device, dir, 2).await;
        let faults = FaultDevice::new(device);
        faults.inject(Fault::DelayReads { file: None, latency: ReadLatency::Virtual { us: 1000 } });
        let mut slow = faults.read(&file, 0, BLOCK, IoReason::Scan);
        assert!((&mut slow).now_or_never().is_none());
        faults.advance_us(999);
        assert!((&mut slow).now_or_never().is_none());
        assert_eq!(faults.stats().queue_depth_now, 0, "a delayed read has not reached the disk");
        faults.advance_us(1);
        assert_eq!(slow.await.unwrap().as_slice(), block(0, 0));

        faults.clear();
        let latency = Duration::from_millis(30);
        faults.inject(Fault::DelayReads { file: None, latency: ReadLatency::Real(latency) });
        let begin = Instant::now();
        faults.read(&file, 0, BLOCK, IoReason::Scan).await.unwrap();
        assert!(begin.elapsed() >= latency);
    });
}

#[test]
fn faults_stack_and_devices_are_shared() {
    on_every_device(16, async |device, dir| {
        let file = file_of(&device, dir, 2).await;
        let inner = FaultDevice::new(device);
        let outer = FaultDevice::new(Arc::clone(&inner) as Arc<dyn Device>);
        inner.inject(Fault::FlipBit { file: None, offset: 0, bit: 0 });
        outer.inject(Fault::FlipBit { file: None, offset: 0, bit: 0 });
        let read = outer.read(&file, 0, BLOCK, IoReason::Scan).await.unwrap();
        assert_eq!(read.as_slice(), block(0, 0), "flipped twice");
        assert_eq!((inner.counts().reads, outer.counts().reads), (1, 1));
    });
}
