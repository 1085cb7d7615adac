//! The demo: many clients on a database larger than the buffer, with sharing off and on.
//!
//! The clients speak PostgreSQL's protocol over TCP. Data is read from the disk with direct I/O where the disk allows it.
//! Queries have random parameters, and all of them count in the averages. "Off": every query runs alone (`braid.sharing` is off), and
//! every scan reads in its own order while the buffer keeps the most recently used segments (the policy `normal`), as in other
//! engines. "On" are the defaults: passes and the policy `relevance`. The buffer, the plans and the operators are the same.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use braid_base::ByteSize;
use braid_buffer::ScanPolicy;
use braid_engine::{Config, Database};
use braid_io::raise_descriptor_limit;
use futures::future::try_join_all;
use indicatif::{ProgressBar, ProgressStyle};

use crate::benchmarks::data_directory::{database_directory, stored_bytes};
use crate::drivers::client::{Client, Sharing, WireClient};
use crate::drivers::closed_loop::{Clients, Load, LoopFigures, closed_loop};
use crate::report::{machine, number, plain_table, right};
use crate::workloads::loading::{Progress, ensure};
use crate::workloads::tpch::{TpchMix, TpchTable};
use crate::workloads::workload::{Texts, Workload};
use crate::{BenchError, RunningServer, ServerStarter};

/// The buffer's share of the tables' bytes, small enough that every query reads from the disk.
const BUFFER_SHARE: f64 = 0.25;

/// The smallest buffer. A chunk of lineitem is about this large, and a scan needs at least one chunk.
const BUFFER_MIN: ByteSize = ByteSize::mib(4);

/// The compared ways: of queries, and of scans.
const OFF: (Sharing, ScanPolicy) = (Sharing::Off, ScanPolicy::Normal);
const ON: (Sharing, ScanPolicy) = (Sharing::Auto, ScanPolicy::Relevance);

/// Number of queries before the measurement, so that code and catalog are in memory and templates are learned, as on a running
/// server: each of the eight types about four times.
const WARM_UP_QUERIES: usize = 32;

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
    #[arg(long, default_value_t = 3.0)]
    pub seconds: f64,
    /// Client counts; each is measured with sharing off and on.
    #[arg(long, value_delimiter = ',', default_value = "1,8,64,256")]
    pub clients: Vec<usize>,
    /// Keep the server running afterwards, until Ctrl-C.
    #[arg(long)]
    pub keep: bool,
}

/// A number of clients, measured both ways.
#[derive(Clone, Debug)]
pub struct Pair {
    /// With sharing off.
    pub off: Measurement,
    /// With sharing on.
    pub on: Measurement,
}

/// A measured loop.
#[derive(Clone, Debug)]
pub struct Measurement {
    /// Throughput, latencies, failures.
    pub figures: LoopFigures,
    /// Bytes that came from the disk.
    pub bytes_read: u64,
}

/// Runs the demo: generates or reuses the data, measures, and prints one table.
pub async fn run(options: DemoOptions, server_starter: &ServerStarter) -> Result<Vec<Pair>, BenchError> {
    raise_descriptor_limit().map_err(|e| BenchError::other("raising the limit on open files", e))?;
    let started = Instant::now();
    let directory = options.data.clone().unwrap_or_else(|| database_directory("braid-data".as_ref(), options.scale));
    let database = open(&options, &directory).await?;
    let cannot_connect = |error| BenchError::other("connecting as user \"braid\", as which the demo measures", error);
    database.check_login("braid").map_err(cannot_connect)?;
    let server =
        server_starter(Arc::clone(&database)).await.map_err(|e| BenchError::other("starting the server", e))?;
    print_setting(&options, &database, &server);
    let pairs = measure(&options, &database, &server).await?;
    print_pairs(&pairs, started.elapsed());
    print_how_to_connect(&options, &directory, &server);
    if options.keep {
        tokio::signal::ctrl_c().await.map_err(|e| BenchError::other("waiting for Ctrl-C", e))?;
    }
    server.stop.await;
    database.close().await;
    Ok(pairs)
}

/// Opens the data directory with a buffer smaller than its tables, loading them first where they are missing.
async fn open(options: &DemoOptions, directory: &PathBuf) -> Result<Arc<Database>, BenchError> {
    let database = Database::open(Config::new(directory)).await?;
    let loaded = ensure::<TpchTable>(&database, options.scale, Progress::Bar).await?;
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
) -> Result<Vec<Pair>, BenchError> {
    let workload: Arc<dyn Workload> = Arc::new(TpchMix);
    let mut control = WireClient::connect(server.address).await?;
    for text in Texts::of_client(&workload, 0, 0).take(WARM_UP_QUERIES) {
        control.run(&text).await?;
    }
    let mut demo = Demo { options, database, workload, control, progress: progress(2 * options.clients.len()) };
    let mut pairs = Vec::with_capacity(options.clients.len());
    for &client_count in &options.clients {
        let connect = (0..client_count).map(|_| connect(server));
        let clients = try_join_all(connect).await?;
        let (off, clients) = demo.measure(clients, OFF).await?;
        let (on, _) = demo.measure(clients, ON).await?;
        pairs.push(Pair { off, on });
    }
    demo.progress.finish_and_clear();
    Ok(pairs)
}

async fn connect(server: &RunningServer) -> Result<Box<dyn Client>, BenchError> {
    Ok(Box::new(WireClient::connect(server.address).await?))
}

/// A line on standard error, if that is a terminal.
fn progress(measurements: usize) -> ProgressBar {
    let style = ProgressStyle::with_template("measuring {pos}/{len}  {msg}").expect("the template is a constant");
    ProgressBar::new(measurements as u64).with_style(style)
}

/// What measurements need.
struct Demo<'a> {
    options: &'a DemoOptions,
    database: &'a Arc<Database>,
    workload: Arc<dyn Workload>,
    /// Sets what applies to all sessions.
    control: WireClient,
    progress: ProgressBar,
}

impl Demo<'_> {
    async fn measure(
        &mut self,
        mut clients: Clients,
        (sharing, policy): (Sharing, ScanPolicy),
    ) -> Result<(Measurement, Clients), BenchError> {
        let client_count = clients.len();
        self.progress.inc(1);
        self.progress.set_message(format!("{client_count} clients, sharing {}", sharing.name()));
        self.control.run(&format!("set braid.scan_policy = '{policy}'")).await?;
        try_join_all(clients.iter_mut().map(|client| sharing.set(client.as_mut()))).await?;
        let before = self.database.buffer().stats();
        // The same queries both ways.
        let duration = Duration::from_secs_f64(self.options.seconds);
        let load = Load { workload: &self.workload, seed: client_count as u64, duration };
        let (figures, clients) = closed_loop(clients, load).await?;
        let bytes_read = self.database.buffer().stats().bytes_loaded - before.bytes_loaded;
        Ok((Measurement { figures, bytes_read }, clients))
    }
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
        println!("At this scale all data fits in memory: the disk is idle, and sharing saves time only.");
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

fn print_pairs(pairs: &[Pair], elapsed: Duration) {
    let header = [
        "clients",
        "queries/s\noff",
        "queries/s\non",
        "on / off",
        "p95 ms\noff",
        "p95 ms\non",
        "disk/query\noff",
        "disk/query\non",
    ];
    let mut table = plain_table(&header);
    for Pair { off, on } in pairs {
        let (throughput_off, throughput_on) = (off.figures.throughput(), on.figures.throughput());
        table.add_row([
            right(off.figures.clients.to_string()),
            right(number(throughput_off)),
            right(number(throughput_on)),
            right(if throughput_off > 0.0 { number(throughput_on / throughput_off) } else { String::new() }),
            right(number(off.figures.latency_ms(0.95))),
            right(number(on.figures.latency_ms(0.95))),
            right(off.bytes_per_query().rounded()),
            right(on.bytes_per_query().rounded()),
        ]);
    }
    println!("{table}");
    println!("Off: each query runs alone, and each scan reads for itself.");
    println!("On: queries that wait and differ only in constants run as one, and scans share what they read.");
    println!(
        "p95: 95 of 100 queries took no longer. disk/query: bytes read from the disk for each query. Done in {:.0} s.",
        elapsed.as_secs_f64()
    );
    for measurement in pairs.iter().flat_map(|pair| [&pair.off, &pair.on]) {
        if let (failed, Some(error)) = &measurement.figures.errors {
            println!("{failed} queries of {} clients failed; the first error: {error}", measurement.figures.clients);
        }
    }
}

impl Measurement {
    fn bytes_per_query(&self) -> ByteSize {
        ByteSize(self.bytes_read.checked_div(self.figures.queries).unwrap_or(0))
    }
}

/// Tells a line with the user that the demo itself has connected as.
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
        assert_eq!((options.scale, options.clients, options.keep), (1.0, vec![1, 8, 64, 256], false));
        assert_eq!(database_directory("braid-data".as_ref(), options.scale), PathBuf::from("braid-data/tpch-1"));
        let options = CommandLine::parse_from(["braid", "--scale", "0.01", "--clients", "1,4", "--keep"]).demo;
        assert_eq!((options.scale, options.clients, options.keep), (0.01, vec![1, 4], true));
    }
}
