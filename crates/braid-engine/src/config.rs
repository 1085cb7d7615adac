//! What a database is opened with.

use std::path::PathBuf;

use braid_base::ByteSize;
use braid_buffer::ScanPolicy;
use braid_io::DeviceOptions;

/// Everything a [`crate::Database`] needs to know before it opens its data directory. Only the directory is
/// required; [`Config::new`] chooses the rest from the machine.
#[derive(Clone, Debug)]
pub struct Config {
    /// The data directory; created if missing.
    pub data_dir: PathBuf,
    /// Memory for encoded segments.
    pub buffer: ByteSize,
    /// How to reach the disk.
    pub device: DeviceOptions,
    /// Most memory that the operators of one query may hold; a session may lower or raise it
    /// (`SET braid.query_memory`) up to `total_memory`.
    pub query_memory: ByteSize,
    /// Most memory that the operators of all queries may hold together.
    pub total_memory: ByteSize,
    /// Most disk space that the temporary files of all queries may take together; without it half of what is free when the
    /// database is opened, so that a query does not take it from those who write.
    pub temporary_files: Option<ByteSize>,
    /// Partitions of a plan: how many cores one query may use.
    pub target_partitions: usize,
    /// Which scan policy the buffer starts with (`SET braid.scan_policy` changes it while it runs).
    pub policy: ScanPolicy,
    /// Most reads that the Active Buffer Manager keeps under way.
    pub loads_in_flight_max: usize,
}

/// Share of the memory for segments that a default configuration takes: a quarter, as PostgreSQL's manual advises
/// for `shared_buffers`.
const BUFFER_SHARE: u64 = 4;

impl Config {
    /// Defaults for this machine: a quarter of its memory for the buffer (at least 64 MB), a quarter for all queries
    /// together and an eighth for one, half of the free disk space for temporary files, a partition for each core, policy relevance.
    pub fn new(data_dir: impl Into<PathBuf>) -> Self {
        let memory = machine_memory().0;
        let floor = |size: u64| ByteSize(size.max(ByteSize::mib(64).0));
        Self {
            data_dir: data_dir.into(),
            buffer: floor(memory / BUFFER_SHARE),
            device: DeviceOptions::default(),
            query_memory: floor(memory / 8),
            total_memory: floor(memory / 4),
            temporary_files: None,
            target_partitions: std::thread::available_parallelism().map_or(1, usize::from),
            policy: ScanPolicy::Relevance,
            loads_in_flight_max: 16,
        }
    }
}

/// Memory that the operating system reports, or 1 GB where it does not.
fn machine_memory() -> ByteSize {
    let total_kib = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("MemTotal:"))?;
        line.split_ascii_whitespace().nth(1)?.parse::<u64>().ok()
    });
    total_kib.map_or(ByteSize::gib(1), ByteSize::kib)
}
