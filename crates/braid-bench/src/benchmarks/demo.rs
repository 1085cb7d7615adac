//! The demo: many clients on a database larger than the buffer, with scan sharing off and on.
//!
//! The clients speak PostgreSQL's protocol over TCP. Data is read from the disk with direct I/O where the disk allows it.
//! Queries have random parameters, and all of them count in the averages. "Off" is the policy `normal`: every scan reads in
//! its own order, and the buffer keeps the most recently used segments, as in other engines. "On" is `relevance`. The
//! buffer, the plans and the operators are the same.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use braid_base::ByteSize;
use braid_buffer::ScanPolicy;
use braid_engine::{Config, Database};

use crate::benchmarks::data_directory::{database_directory, stored_bytes};
use crate::drivers::client::{Client, WireClient};
use crate::drivers::closed_loop::{Load, LoopFigures, closed_loop};
use crate::report::{left, machine, number, plain_table, right};
use crate::workloads::tpch::{self, Progress, QueryMix};
use crate::{BenchError, RunningServer, ServerStarter};

/// The buffer's share of the tables' bytes, small enough that every query reads from the disk.
const BUFFER_SHARE: f64 = 0.25;

/// The smallest buffer. A chunk of lineitem is about this large, and a scan needs at least one chunk.
const BUFFER_MIN: ByteSize = ByteSize::mib(4);

/// The compared policies.
const POLICIES: [(ScanPolicy, &str); 2] = [(ScanPolicy::Normal, "off"), (ScanPolicy::Relevance, "on")];

/// Options of the demo; `clap` derives the command line from them.
#[derive(Clone, Debug, clap::Args)]
pub struct DemoOptions {
    /// TPC-H scale factor; 1 is about 1 GB of raw data.
    #[arg(long, default_value_t = 1.0)]
    pub scale: f64,
    /// Data directory; existing data is reused [default: ./braid-data/tpch-SCALE].
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Seconds per measurement.
    #[arg(long, default_value_t = 4.0)]
    pub seconds: f64,
    /// Client counts; each is measured with sharing off and on.
    #[arg(long, value_delimiter = ',', default_value = "1,8,32")]
    pub clients: Vec<usize>,
    /// Keep the server running afterwards, until Ctrl-C.
    #[arg(long)]
    pub keep: bool,
}

/// One row of the table.
#[derive(Clone, Debug)]
pub struct Measurement {
    /// The policy it ran under.
    pub policy: ScanPolicy,
    /// Throughput, latencies, failures.
    pub figures: LoopFigures,
    /// Bytes that came from the disk.
    pub bytes_read: u64,
    /// Bytes delivered to scans that were read for another scan.
    pub bytes_saved: u64,
}

/// Runs the demo: generates or reuses the data, measures, and prints one table.
pub async fn run(options: DemoOptions, server_starter: &ServerStarter) -> Result<Vec<Measurement>, BenchError> {
    let started = Instant::now();
    let directory = options.data.clone().unwrap_or_else(|| database_directory("braid-data".as_ref(), options.scale));
    let database = open(&options, &directory).await?;
    let server =
        server_starter(Arc::clone(&database)).await.map_err(|e| BenchError::other("starting the server", e))?;
    print_setting(&options, &database, &server);
    let measurements = measure(&options, &database, &server).await?;
    print_measurements(&measurements, started.elapsed());
    print_how_to_connect(&options, &directory, &server);
    if options.keep {
        tokio::signal::ctrl_c().await.map_err(|e| BenchError::other("waiting for Ctrl-C", e))?;
    }
    server.stop.await;
    database.close().await;
    Ok(measurements)
}

/// Opens the data directory with a buffer smaller than its tables, loading them first where they are missing.
async fn open(options: &DemoOptions, directory: &PathBuf) -> Result<Arc<Database>, BenchError> {
    let database = Database::open(Config::new(directory)).await?;
    let loaded = tpch::ensure(&database, options.scale, Progress::Bar).await?;
    let bytes = stored_bytes(&database);
    if !loaded.tables.is_empty() {
        let rows: u64 = loaded.tables.iter().map(|(_, rows)| rows).sum();
        let (seconds, size) = (loaded.elapsed.as_secs_f64(), ByteSize(bytes).rounded());
        println!("Loaded {:.1} million rows in {seconds:.1} s: {size} in {}", rows as f64 / 1e6, directory.display());
    }
    // The size of the tables is known only now, and a buffer's capacity is for life.
    database.close().await;
    drop(database);
    let mut config = Config::new(directory);
    config.buffer = ByteSize(((bytes as f64 * BUFFER_SHARE) as u64).max(BUFFER_MIN.0));
    Ok(Database::open(config).await?)
}

async fn measure(
    options: &DemoOptions,
    database: &Arc<Database>,
    server: &RunningServer,
) -> Result<Vec<Measurement>, BenchError> {
    let mut control = WireClient::connect(server.address).await?;
    // All types run once before the measurement, so that code and catalog are in memory, as on a running server.
    for query in QueryMix::new(0).take(16) {
        control.run(&query.sql).await?;
    }
    let mut measurements = Vec::new();
    let workload: Arc<dyn crate::workloads::workload::Workload> = Arc::new(tpch::TpchMix);
    for &client_count in &options.clients {
        for (policy, _) in POLICIES {
            control.run(&format!("set braid.scan_policy = '{policy}'")).await?;
            let mut clients: Vec<Box<dyn Client>> = Vec::with_capacity(client_count);
            for _ in 0..client_count {
                clients.push(Box::new(WireClient::connect(server.address).await?));
            }
            let before = database.buffer().stats();
            // Both policies get the same queries.
            let load = Load {
                workload: &workload,
                seed: client_count as u64,
                duration: Duration::from_secs_f64(options.seconds),
            };
            let (figures, _) = closed_loop(clients, load).await?;
            let after = database.buffer().stats();
            measurements.push(Measurement {
                policy,
                figures,
                bytes_read: after.bytes_loaded - before.bytes_loaded,
                bytes_saved: after.bytes_saved - before.bytes_saved,
            });
        }
    }
    Ok(measurements)
}

fn print_setting(options: &DemoOptions, database: &Database, server: &RunningServer) {
    let (tables, buffer) = (ByteSize(stored_bytes(database)), database.config().buffer);
    println!(
        "TPC-H at scale {}: the tables are {}, the buffer is {} ({:.0} %).",
        options.scale,
        tables.rounded(),
        buffer.rounded(),
        100.0 * buffer.0 as f64 / tables.0 as f64
    );
    if buffer >= tables {
        println!("At this scale all data fits in memory: the disk is idle, and sharing saves no reads.");
    }
    println!("{}; disk through {}.", machine(), database.device().name());
    println!(
        "{} clients send {} the eight query types of QPipe's figure 12 with random parameters, without a pause; each \
         measurement takes {} s.\n",
        options.clients.iter().map(usize::to_string).collect::<Vec<_>>().join(", "),
        server.address,
        options.seconds
    );
}

fn print_measurements(measurements: &[Measurement], elapsed: Duration) {
    let header =
        ["clients", "scan sharing", "queries/s", "p50 ms", "p95 ms", "read from disk", "per query", "reads saved"];
    let mut table = plain_table(&header);
    for m in measurements {
        let (_, sharing) = POLICIES.iter().find(|(policy, _)| *policy == m.policy).expect("measured under one of them");
        let per_query = ByteSize(m.bytes_read.checked_div(m.figures.queries).unwrap_or(0));
        let wanted = (m.bytes_read + m.bytes_saved).max(1);
        table.add_row([
            right(m.figures.clients.to_string()),
            left(sharing),
            right(number(m.figures.throughput())),
            right(number(m.figures.latency_ms(0.50))),
            right(number(m.figures.latency_ms(0.95))),
            right(ByteSize(m.bytes_read).rounded()),
            right(per_query.rounded()),
            right(format!(
                "{} ({:.0} %)",
                ByteSize(m.bytes_saved).rounded(),
                100.0 * m.bytes_saved as f64 / wanted as f64
            )),
        ]);
    }
    println!("{table}");
    println!("Off: each scan reads for itself (policy normal, LRU). On: scans share reads (policy relevance).");
    println!(
        "Reads saved: bytes delivered to a scan that were read for another scan. Done in {:.0} s.",
        elapsed.as_secs_f64()
    );
    for m in measurements {
        if let (failed, Some(error)) = &m.figures.errors {
            println!("{failed} queries of {} clients failed; the first error: {error}", m.figures.clients);
        }
    }
}

fn print_how_to_connect(options: &DemoOptions, directory: &std::path::Path, server: &RunningServer) {
    let psql = |port: u16| format!("psql -h {} -p {port} -U braid braid", server.address.ip());
    if options.keep {
        println!("\nThe server keeps running until Ctrl-C. Connect with\n    {}", psql(server.address.port()));
    } else {
        println!("\nTo query the data yourself:\n    braid serve --data {}\n    {}", directory.display(), psql(5432));
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct CommandLine {
        #[command(flatten)]
        demo: DemoOptions,
    }

    #[test]
    fn without_arguments_it_is_the_demo_of_the_readme() {
        let options = CommandLine::parse_from(["braid"]).demo;
        assert_eq!((options.scale, options.clients, options.keep), (1.0, vec![1, 8, 32], false));
        assert_eq!(database_directory("braid-data".as_ref(), options.scale), PathBuf::from("braid-data/tpch-1"));
        let options = CommandLine::parse_from(["braid", "--scale", "0.01", "--clients", "1,4", "--keep"]).demo;
        assert_eq!((options.scale, options.clients, options.keep), (0.01, vec![1, 4], true));
    }
}
