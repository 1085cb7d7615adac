//! The options with which a command opens a data directory.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use braid_base::ByteSize;
use braid_bench::ScanPolicy;
use braid_engine::{Config, Database};
use braid_io::Backend;

use super::CommandError;

/// The default data directory of the commands.
pub(crate) const DATA_DEFAULT: &str = "braid-data/main";

/// The memory and disk settings that a database is opened with.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct DatabaseOptions {
    /// Name of the database that clients connect to.
    #[arg(long = "database", value_name = "NAME", default_value = "braid")]
    name: String,
    /// Memory for cached table data, such as 512MB or 4GB [default: a quarter of the machine's memory].
    #[arg(long, value_name = "SIZE")]
    buffer: Option<ByteSize>,
    /// Memory limit of one query for joins, groups and sorts [default: an eighth of the machine's memory].
    #[arg(long, value_name = "SIZE")]
    query_memory: Option<ByteSize>,
    /// Memory limit of all queries together [default: a quarter of the machine's memory].
    #[arg(long, value_name = "SIZE")]
    total_memory: Option<ByteSize>,
    /// Disk space limit of the temporary files of all queries [default: half of the free space].
    #[arg(long, value_name = "SIZE")]
    temporary_files: Option<ByteSize>,
    /// Number of processors that one query may use [default: all].
    #[arg(long, value_name = "N")]
    partitions: Option<usize>,
    /// How to access the disk: auto (io_uring where it works), io_uring or threads.
    #[arg(long, value_name = "DEVICE", default_value = "auto", value_parser = parse_backend)]
    device: Backend,
    /// Use the operating system's page cache instead of direct I/O.
    #[arg(long)]
    cached: bool,
    /// How scans share reads: relevance, elevator, attach or normal (no sharing) [default: relevance].
    #[arg(long, value_name = "POLICY")]
    scan_policy: Option<ScanPolicy>,
    /// How many clients the server connects, if it is one.
    #[arg(skip)]
    pub(crate) connections_max: Option<usize>,
}

fn parse_backend(text: &str) -> Result<Backend, String> {
    match text {
        "auto" => Ok(Backend::Auto),
        "io_uring" => Ok(Backend::IoUring),
        "threads" => Ok(Backend::Threads),
        other => Err(format!("\"{other}\" is not a device; use auto, io_uring or threads")),
    }
}

impl DatabaseOptions {
    /// The name of the database.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Opens `data` with these options, creating it if it is missing.
    pub(crate) async fn open(&self, data: &Path) -> Result<Arc<Database>, CommandError> {
        let mut config = Config::new(data);
        config.database_name.clone_from(&self.name);
        config.buffer = self.buffer.unwrap_or(config.buffer);
        config.query_memory = self.query_memory.unwrap_or(config.query_memory);
        config.total_memory = self.total_memory.unwrap_or(config.total_memory);
        config.temporary_files = self.temporary_files.or(config.temporary_files);
        config.connections_max = self.connections_max.unwrap_or(config.connections_max);
        config.policy = self.scan_policy.unwrap_or(config.policy);
        config.device.backend = self.device;
        config.device.direct = !self.cached;
        match self.partitions {
            Some(0) => {
                return Err(CommandError::Usage(
                    "--partitions 0 is out of range: a query needs at least one processor".into(),
                ));
            }
            Some(partitions) => config.target_partitions = partitions,
            None => {}
        }
        Ok(Database::open(config).await?)
    }
}

/// The choice of the data directory.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct DataOption {
    /// The data directory; created if it is missing.
    #[arg(long, value_name = "DIR", default_value = DATA_DEFAULT)]
    pub(crate) data: PathBuf,
}
