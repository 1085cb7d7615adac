//! How fast the disk is through each backend: random 4 KiB reads by queue depth, and sequential reads of 1 MiB.
//!
//! `cargo run --release -p braid-io --example device_speed -- [DIR] [FILE_MIB] [SECONDS]`
//!
//! Reads past the page cache where the filesystem can. Each figure is measured for SECONDS (default 2) over a file of
//! FILE_MIB (default 1024) that is written first, which gives the write figure, and removed afterwards.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use braid_base::{Random, SeededRandom};
use braid_io::{AlignedBuffer, Backend, Device, DeviceOptions, FileHandle, IoError, IoReason, OpenMode, open_device};
use futures::future::try_join_all;

const MIB: usize = 1 << 20;
const BLOCK: usize = 4096;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let dir = arguments.next().map_or_else(|| PathBuf::from("."), PathBuf::from);
    let file_mib: usize = arguments.next().map_or(Ok(1024), |text| text.parse())?;
    let seconds: f64 = arguments.next().map_or(Ok(2.0), |text| text.parse())?;
    let duration = Duration::try_from_secs_f64(seconds)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().build()?;

    println!("{:<20} {:>10} {:>10} {:>7} {:>12} {:>10}", "device", "access", "block", "depth", "requests/s", "MB/s");
    for backend in [Backend::IoUring, Backend::Threads] {
        // As many threads as requests, so that both backends show the disk the same depth.
        let options = DeviceOptions { backend, threads: 128, ..DeviceOptions::default() };
        match open_device(&dir, &options) {
            Ok(device) => runtime.block_on(measure(device, &dir, file_mib, duration))?,
            Err(error @ IoError::Unavailable { .. }) => println!("{error}"),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

async fn measure(device: Arc<dyn Device>, dir: &Path, file_mib: usize, duration: Duration) -> Result<(), IoError> {
    let path = dir.join(format!("device-speed-{}", std::process::id()));
    let file = device.open(&path, OpenMode::Create)?;
    let measured = measure_file(&device, &file, file_mib, duration).await;
    let removed = device.remove(&path);
    measured.and(removed)
}

async fn measure_file(
    device: &Arc<dyn Device>,
    file: &FileHandle,
    file_mib: usize,
    duration: Duration,
) -> Result<(), IoError> {
    let begin = Instant::now();
    // Eight writers, each its own stripe; content that no disk can compress away.
    let writers = (0..8usize).map(|writer| {
        let (device, file) = (Arc::clone(device), file.clone());
        tokio::spawn(async move {
            let mut random = SeededRandom::new(writer as u64);
            for mib in (writer..file_mib).step_by(8) {
                let mut buffer = AlignedBuffer::zeroed(MIB);
                let words = buffer.as_mut_slice().chunks_exact_mut(8);
                words.for_each(|word| word.copy_from_slice(&random.next_u64().to_ne_bytes()));
                device.write(&file, (mib * MIB) as u64, buffer, IoReason::Load).await?;
            }
            Ok::<(), IoError>(())
        })
    });
    for writer in try_join_all(writers).await.expect("writers do not panic") {
        writer?;
    }
    device.sync(file).await?;
    report(device.name(), "write", MIB, 8, file_mib as u64, begin.elapsed());

    for depth in [1, 4, 16, 64, 128] {
        read(device, file, file_mib, Access::Random, BLOCK, depth, duration).await?;
    }
    read(device, file, file_mib, Access::Random, 64 << 10, 32, duration).await?;
    for depth in [1, 4, 8] {
        read(device, file, file_mib, Access::Sequential, MIB, depth, duration).await?;
    }
    Ok(())
}

#[derive(Clone, Copy)]
enum Access {
    Random,
    Sequential,
}

async fn read(
    device: &Arc<dyn Device>,
    file: &FileHandle,
    file_mib: usize,
    access: Access,
    block: usize,
    depth: usize,
    duration: Duration,
) -> Result<(), IoError> {
    let blocks = (file_mib * MIB / block) as u64;
    let begin = Instant::now();
    let readers = (0..depth as u64).map(|reader| {
        let (device, file) = (Arc::clone(device), file.clone());
        tokio::spawn(async move {
            let mut random = SeededRandom::new(reader);
            let mut requests = 0u64;
            while begin.elapsed() < duration {
                let index = match access {
                    Access::Random => random.below(blocks),
                    Access::Sequential => (requests * depth as u64 + reader) % blocks,
                };
                device.read(&file, index * block as u64, block, IoReason::Scan).await?;
                requests += 1;
            }
            Ok::<u64, IoError>(requests)
        })
    });
    let mut requests = 0;
    for reader in try_join_all(readers).await.expect("readers do not panic") {
        requests += reader?;
    }
    let access = match access {
        Access::Random => "random",
        Access::Sequential => "sequential",
    };
    report(device.name(), access, block, depth, requests, begin.elapsed());
    Ok(())
}

fn report(device: &str, access: &str, block: usize, depth: usize, requests: u64, elapsed: Duration) {
    let per_second = requests as f64 / elapsed.as_secs_f64();
    let mb_per_second = per_second * block as f64 / 1e6;
    let block = format!("{} KiB", block >> 10);
    println!("{device:<20} {access:>10} {block:>10} {depth:>7} {per_second:>12.0} {mb_per_second:>10.1}");
}
