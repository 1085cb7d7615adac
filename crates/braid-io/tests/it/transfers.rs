//! Bytes go out and come back: whole, concurrent, short, misaligned, out of range.

use std::fs;
use std::panic::AssertUnwindSafe;

use braid_base::{Random, SeededRandom};
use braid_io::{
    AlignedBuffer, Device, DeviceOptions, DurableWriteError, Fault, FaultDevice, FileHandle, IoError, IoOperation,
    IoReason, OpenMode, open_device,
};
use braid_testing::cases;
use futures::FutureExt;
use futures::future::{join_all, try_join_all};

use crate::{BLOCK, block, file_of, on_every_device};

#[test]
fn what_is_written_is_read_back_also_by_others() {
    on_every_device(16, async |device, dir| {
        let path = dir.join("data");
        let file = device.open(&path, OpenMode::Create).unwrap();
        let content: Vec<u8> = (0..300).flat_map(|index| block(1, index)).collect();
        device.write(&file, 0, AlignedBuffer::from_slice(&content), IoReason::Load).await.unwrap();
        device.sync(&file).await.unwrap();
        assert_eq!(fs::read(&path).unwrap(), content);
        assert_eq!(file.len_bytes().unwrap(), content.len() as u64);

        let again = device.open(&path, OpenMode::Read).unwrap();
        assert_ne!(again.id(), file.id());
        let whole = device.read(&again, 0, content.len(), IoReason::Scan).await.unwrap();
        assert_eq!(whole.as_slice(), content);
        let part = device.read(&again, 7 * BLOCK as u64, 2 * BLOCK, IoReason::Scan).await.unwrap();
        assert_eq!(part.as_slice(), &content[7 * BLOCK..9 * BLOCK]);
        assert!(device.read(&again, 0, 0, IoReason::Scan).await.unwrap().is_empty());
    });
}

#[test]
fn many_requests_at_a_time_each_get_their_own_bytes() {
    on_every_device(128, async |device, dir| {
        let blocks = 512;
        let file = device.open(&dir.join("blocks"), OpenMode::Create).unwrap();
        // Written in a random order, more at a time than the queue is deep.
        let mut order: Vec<u64> = (0..blocks).collect();
        let case = cases!(3..4).next().expect("there is one");
        let mut random = case.random();
        for i in (1..order.len()).rev() {
            order.swap(i, random.below(i as u64 + 1) as usize);
        }
        let write = |&index: &u64| {
            let buffer = AlignedBuffer::from_slice(&block(0, index));
            device.write(&file, index * BLOCK as u64, buffer, IoReason::Load)
        };
        try_join_all(order.iter().map(write)).await.unwrap();
        let seed = case.seed;
        let readers = (0..128u64).map(|reader| {
            let (device, file) = (device.clone(), file.clone());
            tokio::spawn(async move {
                let mut random = SeededRandom::new(seed + reader);
                for _ in 0..32 {
                    let index = random.below(blocks);
                    let read = device.read(&file, index * BLOCK as u64, BLOCK, IoReason::Scan).await.unwrap();
                    assert_eq!(read.as_slice(), block(0, index), "block {index}, reader {reader}");
                }
            })
        });
        try_join_all(readers).await.unwrap();
        assert_eq!(device.stats().reads, 128 * 32);
    });
}

#[test]
fn a_read_past_the_end_says_how_much_there_is() {
    on_every_device(16, async |device, dir| {
        // Not a whole number of blocks: the last one is short even to a direct reader.
        fs::write(dir.join("short"), vec![9; 3 * BLOCK + 100]).unwrap();
        let file = device.open(&dir.join("short"), OpenMode::Read).unwrap();
        for (offset, len, expected) in
            [(0, 4, 3 * BLOCK + 100), (2, 2, BLOCK + 100), (3, 1, 100), (4, 1, 0), (90, 8, 0)]
        {
            let error = device.read(&file, offset * BLOCK as u64, len * BLOCK, IoReason::Scan).await.unwrap_err();
            let IoError::ShortRead { path, offset: at, wanted, got } = error else { panic!("{error}") };
            assert_eq!((path, at, wanted), (dir.join("short"), offset * BLOCK as u64, len * BLOCK));
            assert_eq!(got, expected, "read of {len} blocks at block {offset}");
        }
        assert_eq!(device.read(&file, 0, 3 * BLOCK, IoReason::Scan).await.unwrap().as_slice(), vec![9; 3 * BLOCK]);
        assert_eq!((device.stats().failures, device.stats().reads), (5, 1));
    });
}

#[test]
fn misaligned_requests_panic_on_direct_files_and_work_on_others() {
    on_every_device(16, async |device, dir| {
        let file = file_of(&device, dir, 4).await;
        let read = |offset, len| {
            std::panic::catch_unwind(AssertUnwindSafe(|| device.read(&file, offset, len, IoReason::Scan)))
        };
        let write = |offset, len| {
            let buffer = AlignedBuffer::zeroed(len);
            std::panic::catch_unwind(AssertUnwindSafe(|| device.write(&file, offset, buffer, IoReason::Load)))
        };
        if file.is_direct() {
            assert!(read(1, BLOCK).is_err() && read(0, BLOCK - 512).is_err());
            assert!(write(512, BLOCK).is_err() && write(0, 1).is_err());
        } else {
            assert_eq!(read(100, 50).unwrap().await.unwrap().as_slice(), &block(0, 0)[100..150]);
            write(10_000, 3).unwrap().await.unwrap();
            let zeroed = read(9_999, 5).unwrap().await.unwrap();
            let expected = &block(0, 2)[9_999 - 2 * BLOCK..];
            assert_eq!(zeroed.as_slice(), [expected[0], 0, 0, 0, expected[4]]);
        }
    });
}

#[test]
fn ranges_that_no_file_has_are_errors() {
    on_every_device(16, async |device, dir| {
        let file = file_of(&device, dir, 1).await;
        for offset in [u64::MAX - (BLOCK as u64 - 1), 1 << 63, (1 << 63) - BLOCK as u64] {
            let error = device.read(&file, offset, BLOCK, IoReason::Scan).await.unwrap_err();
            assert!(matches!(error, IoError::Transfer { operation: IoOperation::Read, .. }), "{error}");
        }
    });
}

#[test]
fn files_are_created_once_and_opened_only_if_they_exist() {
    on_every_device(16, async |device, dir| {
        let path = dir.join("once");
        assert!(device.open(&path, OpenMode::Read).unwrap_err().is_not_found());
        device.open(&path, OpenMode::Create).unwrap();
        let error = device.open(&path, OpenMode::Create).unwrap_err();
        assert_eq!(error.os_error().map(std::io::Error::kind), Some(std::io::ErrorKind::AlreadyExists), "{error}");
        // A handle for reading does not write.
        let reader = device.open(&path, OpenMode::Read).unwrap();
        let error = device.write(&reader, 0, AlignedBuffer::zeroed(BLOCK), IoReason::Load).await.unwrap_err();
        assert!(matches!(&error, IoError::Transfer { operation: IoOperation::Write, .. }), "{error}");
    });
}

#[test]
fn opening_a_device_leaves_no_file_and_needs_no_directory() {
    on_every_device(4, async |_device, dir| {
        assert_eq!(fs::read_dir(dir).unwrap().count(), 0);
        let options = DeviceOptions::default();
        let device = open_device(&dir.join("not/yet/there"), &options).unwrap();
        assert!(["io_uring+O_DIRECT", "threads+O_DIRECT", "threads+pread"].contains(&device.name()));
        assert_eq!(fs::read_dir(dir).unwrap().count(), 0);
    });
}

#[test]
fn a_filesystem_that_may_lack_direct_io_is_served_all_the_same() {
    let Ok(dir) = tempfile::tempdir_in("/dev/shm") else {
        println!("skipped: no /dev/shm here");
        return;
    };
    let device = open_device(dir.path(), &DeviceOptions::default()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let file = file_of(&device, dir.path(), 3).await;
        // Newer kernels have direct I/O on tmpfs; either way the device says what it does, and does it.
        assert_eq!(device.name() == "threads+pread", !file.is_direct(), "{}", device.name());
        let read = device.read(&file, BLOCK as u64, BLOCK, IoReason::Scan).await.unwrap();
        assert_eq!(read.as_slice(), block(0, 1));
    });
}

#[test]
fn options_out_of_range_are_named() {
    let dir = tempfile::tempdir().unwrap();
    for (queue_depth_max, threads, message) in [
        (0, 1, "the device option queue_depth_max is 0; it must be from 1 to 4096"),
        (4097, 1, "the device option queue_depth_max is 4097; it must be from 1 to 4096"),
        (1, 0, "the device option threads is 0; it must be from 1 to 1024"),
    ] {
        let options = DeviceOptions { queue_depth_max, threads, ..DeviceOptions::default() };
        let error = open_device(dir.path(), &options).err().map(|error| error.to_string());
        assert_eq!(error.as_deref(), Some(message));
    }
}

#[test]
fn requests_need_no_particular_runtime() {
    on_every_device(8, async |device, dir| {
        let file = file_of(&device, dir, 8).await;
        let reads = (0..8).map(|index| device.read(&file, index * BLOCK as u64, BLOCK, IoReason::Check));
        let reads: Vec<_> = reads.map(FutureExt::boxed).collect();
        let results = std::thread::spawn(|| futures::executor::block_on(join_all(reads))).join().unwrap();
        for (index, result) in results.into_iter().enumerate() {
            assert_eq!(result.unwrap().as_slice(), block(0, index as u64));
        }
    });
}

#[test]
fn a_durable_write_is_there_and_its_failures_are_told_apart() {
    on_every_device(1, async |device, dir| {
        let file = device.open(&dir.join("log"), OpenMode::Create).unwrap();
        let write = |device: &dyn Device, file: &FileHandle, index: u64| {
            let buffer = AlignedBuffer::from_slice(&block(3, index));
            device.write_durably(file, index * BLOCK as u64, buffer, IoReason::Catalog)
        };
        // It blocks, as on the thread of a log.
        std::thread::scope(|scope| {
            scope.spawn(|| (0..4).for_each(|index| write(&*device, &file, index).unwrap())).join().unwrap();
        });
        for index in 0..4 {
            let read = device.read(&file, index * BLOCK as u64, BLOCK, IoReason::Check).await.unwrap();
            assert_eq!(read.as_slice(), block(3, index));
        }
        let (before, unwritable) = (device.stats(), device.open(&dir.join("log"), OpenMode::Read).unwrap());
        assert_eq!((before.queue_depth_now, before.failures), (0, 0));
        let failed = std::thread::scope(|scope| scope.spawn(|| write(&*device, &unwritable, 0)).join().unwrap());
        assert!(matches!(failed, Err(DurableWriteError::NotWritten(_))), "{failed:?}");
        assert_eq!((device.stats().queue_depth_now, device.stats().failures), (0, 1));
        let faults = FaultDevice::new(device);
        let file = faults.open(&dir.join("other"), OpenMode::Create).unwrap();
        faults.inject(Fault::Fail { operation: Some(IoOperation::Sync), file: None, nth: 1, errno: 5 });
        let failed = std::thread::scope(|scope| scope.spawn(|| write(&*faults, &file, 0)).join().unwrap());
        assert!(matches!(failed, Err(DurableWriteError::NotSynced(_))), "{failed:?}");
    });
}
