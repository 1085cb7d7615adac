//! The configuration of a database.

use std::path::PathBuf;

use braid_base::ByteSize;
use braid_buffer::ScanPolicy;
use braid_io::DeviceOptions;

/// The configuration that a [`crate::Database`] is opened with. Only the data directory is required; [`Config::new`]
/// derives the other values from the machine.
#[derive(Clone, Debug)]
pub struct Config {
    /// The data directory; created if missing.
    pub data_dir: PathBuf,
    /// The name of the one database, as clients know it.
    pub database_name: String,
    /// Buffer capacity: the memory for encoded segments.
    pub buffer: ByteSize,
    /// How the device accesses the disk.
    pub device: DeviceOptions,
    /// Query budget: the memory that the operators of one query may hold. A session can set it
    /// (`SET braid.query_memory`) to at most `total_memory`.
    pub query_memory: ByteSize,
    /// Total budget: the memory that the operators of all queries may hold together.
    pub total_memory: ByteSize,
    /// Temporary file limit: the disk space that the temporary files of all queries may take together. The default is half
    /// of the free space when the database is opened, so that queries leave space for writers.
    pub temporary_files: Option<ByteSize>,
    /// Partitions of a plan: the number of cores that one query may use.
    pub target_partitions: usize,
    /// The initial scan policy (`SET braid.scan_policy` changes it at run time).
    pub policy: ScanPolicy,
    /// The largest number of clients that the server connects, which sessions show as `max_connections`.
    pub connections_max: usize,
    /// The largest number of reads that the Active Buffer Manager has in flight.
    pub loads_in_flight_max: usize,
}

/// The name of a database that is given none.
const DATABASE_NAME_DEFAULT: &str = "braid";

/// Clients of a server that is not told how many it may have.
pub const CONNECTIONS_MAX_DEFAULT: usize = 2000;

/// Divisor of the machine's memory for the default buffer capacity: a quarter, as PostgreSQL's manual advises
/// for `shared_buffers`.
const BUFFER_SHARE: u64 = 4;

impl Config {
    /// The database `braid`, with defaults for this machine: a quarter of its memory for the buffer (at least 64 MB), a quarter for all queries
    /// together and an eighth for one, half of the free disk space for temporary files, a partition for each core, policy relevance.
    pub fn new(data_dir: impl Into<PathBuf>) -> Self {
        let memory = machine_memory().0;
        let floor = |size: u64| ByteSize(size.max(ByteSize::mib(64).0));
        Self {
            data_dir: data_dir.into(),
            database_name: DATABASE_NAME_DEFAULT.to_owned(),
            buffer: floor(memory / BUFFER_SHARE),
            device: DeviceOptions::default(),
            query_memory: floor(memory / 8),
            total_memory: floor(memory / 4),
            temporary_files: None,
            target_partitions: std::thread::available_parallelism().map_or(1, usize::from),
            policy: ScanPolicy::Relevance,
            connections_max: CONNECTIONS_MAX_DEFAULT,
            loads_in_flight_max: 16,
        }
    }
}

/// The machine's memory as reported by the operating system, or 1 GB if it reports none.
fn machine_memory() -> ByteSize {
    let total_kib = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("MemTotal:"))?;
        line.split_ascii_whitespace().nth(1)?.parse::<u64>().ok()
    });
    total_kib.map_or(ByteSize::gib(1), ByteSize::kib)
}
