//! A server in a process of its own, for benchmarks with many clients over the wire.
//!
//! The clients are this process, so that their processor time is known: clients on the same cores take time from the server.

use std::io;
use std::time::{Duration, Instant};

use braid_base::ByteSize;
use braid_io::{ResidentMemory, raise_descriptor_limit};
use futures::stream::{StreamExt, TryStreamExt};

use crate::benchmarks::data_directory::{database_directory, ensure_added_tables, open_tpch};
use crate::drivers::client::{Client, WireClient};
use crate::drivers::closed_loop::Clients;
use crate::drivers::disk_reads::read_bytes;
use crate::drivers::lent_servers::Login;
use crate::drivers::processor_time::processor_time;
use crate::workloads::workload::AddedTable;
use crate::{BenchError, BenchOptions, ServerProcess, Servers};

/// Connections that log in at the same time.
const LOGINS_AT_A_TIME: usize = 32;

/// A server is idle if it uses at most [`IDLE_TIME_MAX`] of processor time, two units of measure, in [`IDLE_PERIOD`].
const IDLE_PERIOD: Duration = Duration::from_millis(250);
const IDLE_TIME_MAX: Duration = Duration::from_millis(20);

/// How long a server may take to become idle. Queries stop within milliseconds of a cancel.
const IDLE_AFTER_MAX: Duration = Duration::from_secs(30);

/// The server. It ends when this is dropped.
pub(crate) struct MeasuredServer {
    process: ServerProcess,
    /// The capacity of its buffer.
    buffer: ByteSize,
}

/// Memory of the server's process at its peak.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PeakMemory {
    /// All of it, code included.
    pub(crate) peak_bytes: u64,
    /// The part that cached table data may be: what the server has read from disks, at most its buffer.
    pub(crate) buffer_bytes: u64,
}

/// Processor time since the start of each process.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ProcessorTimes {
    /// Of the server.
    pub(crate) server: Duration,
    /// Of this process, which has all clients.
    pub(crate) driver: Duration,
}

impl ProcessorTimes {
    /// The time since `before`.
    pub(crate) fn since(self, before: Self) -> Self {
        Self { server: self.server - before.server, driver: self.driver - before.driver }
    }
}

impl MeasuredServer {
    /// Makes missing tables, and starts a server on them. By default they fit into its buffer.
    pub(crate) async fn start(
        options: &BenchOptions,
        servers: &Servers,
        added_tables: &[AddedTable],
    ) -> Result<Self, BenchError> {
        raise_descriptor_limit().map_err(|e| BenchError::other("raising the limit on open files", e))?;
        let buffer = prepare(options, added_tables).await?;
        let directory = database_directory(&options.data, options.scale);
        let process = (servers.own_process)(&directory, buffer, Login::Trusted).await;
        Ok(Self { process: process.map_err(|e| BenchError::other("starting the server's process", e))?, buffer })
    }

    /// New connections.
    pub(crate) async fn connect(&self, count: usize) -> Result<Clients, BenchError> {
        let log_ins = futures::stream::iter(0..count).map(|_| self.log_in());
        log_ins.buffered(LOGINS_AT_A_TIME).try_collect().await
    }

    /// One new connection.
    pub(crate) async fn log_in(&self) -> Result<Box<dyn Client>, BenchError> {
        Ok(Box::new(WireClient::log_in(&self.process).await?))
    }

    /// Processor times until now.
    pub(crate) fn processor_times(&self) -> Result<ProcessorTimes, BenchError> {
        let of = |pid| processor_time(pid).map_err(|e| BenchError::other(format!("process {pid}'s time"), e));
        Ok(ProcessorTimes { server: of(self.process.child.id())?, driver: of(std::process::id())? })
    }

    /// Has the peak of the server's memory count from now.
    ///
    /// # Errors
    /// Where the system does not allow it. Then the peak is that since the server's start.
    pub(crate) fn forget_peak_memory(&self) -> io::Result<()> {
        ResidentMemory::forget_peak(self.process.child.id()).map(drop)
    }

    /// The peak of the server's memory, since it was forgotten.
    pub(crate) fn peak_memory(&self) -> Result<PeakMemory, BenchError> {
        let pid = self.process.child.id();
        let memory = ResidentMemory::of(pid).map_err(|e| BenchError::other(format!("process {pid}'s memory"), e))?;
        let buffer_bytes = read_bytes(pid)?.map_or(self.buffer.0, |read| read.min(self.buffer.0));
        Ok(PeakMemory { peak_bytes: memory.peak_bytes, buffer_bytes })
    }

    /// Waits until the server has stopped what it did for connections that are closed.
    ///
    /// # Errors
    /// When it is busy for half a minute: what it does would be a part of the next measurement.
    pub(crate) async fn wait_until_idle(&self) -> Result<(), BenchError> {
        let start = Instant::now();
        while start.elapsed() < IDLE_AFTER_MAX {
            let before = self.processor_times()?;
            tokio::time::sleep(IDLE_PERIOD).await;
            if self.processor_times()?.since(before).server <= IDLE_TIME_MAX {
                return Ok(());
            }
        }
        let busy = format!("it is still busy {} s after all queries ended", IDLE_AFTER_MAX.as_secs());
        Err(BenchError::other("the server", busy))
    }
}

/// Makes missing tables, and returns the size of the server's buffer. The server needs exclusive access to the directory, which
/// lasts until the database is dropped.
async fn prepare(options: &BenchOptions, added_tables: &[AddedTable]) -> Result<ByteSize, BenchError> {
    let database = open_tpch(options, None).await?;
    ensure_added_tables(&database, added_tables).await?;
    let buffer = database.config().buffer;
    database.close().await;
    Ok(buffer)
}
