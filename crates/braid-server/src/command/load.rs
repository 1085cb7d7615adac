//! `braid load`: a file, or generated TPC-H or TPC-DS data, into tables of a data directory.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use braid_bench::workloads::generated::GeneratedTable;
use braid_bench::workloads::loading::{self, Progress};
use braid_bench::workloads::tpcds::TpcdsTable;
use braid_bench::workloads::tpch::TpchTable;
use braid_engine::Database;

use super::CommandError;
use super::open::{DataOption, DatabaseOptions};

/// Options of `braid load`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Options {
    /// A .parquet or .csv file (with a header line), or `tpch` or `tpcds` to generate the tables of TPC-H or TPC-DS.
    #[arg(value_name = "FILE|tpch|tpcds")]
    source: String,
    /// The table to create from the file.
    #[arg(long, value_name = "NAME")]
    table: Option<String>,
    /// TPC-H or TPC-DS scale factor; 1 is about 1 GB of raw data.
    #[arg(long, default_value_t = 1.0)]
    scale: f64,
    #[command(flatten)]
    data: DataOption,
    #[command(flatten)]
    database: DatabaseOptions,
}

/// Runs the command.
pub(crate) async fn run(options: Options) -> Result<(), CommandError> {
    let benchmark = matches!(options.source.as_str(), "tpch" | "tpcds").then_some(options.source.as_str());
    let table = match (benchmark, &options.table) {
        (Some(benchmark), Some(_)) => {
            let message = format!("--table cannot be used with {benchmark}, which creates its own tables");
            return Err(CommandError::Usage(message));
        }
        (Some(_), None) => "",
        (None, Some(table)) => table.as_str(),
        (None, None) => {
            return Err(CommandError::Usage(format!(
                "the table is missing: braid load {} --table NAME",
                options.source
            )));
        }
    };
    let database = options.database.open(&options.data.data).await?;
    match benchmark {
        Some("tpcds") => generate::<TpcdsTable>(&database, options.scale).await?,
        Some(_) => generate::<TpchTable>(&database, options.scale).await?,
        None => {
            let start = Instant::now();
            let rows = database.load_file(Path::new(&options.source), table).await?;
            println!("loaded {rows} rows into {table} in {:.1} s", start.elapsed().as_secs_f64());
        }
    }
    database.close().await;
    Ok(())
}

async fn generate<T: GeneratedTable>(database: &Arc<Database>, scale: f64) -> Result<(), CommandError> {
    let report = loading::load::<T>(database, scale, Progress::Bar).await?;
    let width = T::ALL.iter().map(|table| table.name().len()).max().unwrap_or(0);
    for (table, rows) in &report.tables {
        println!("{table:<width$} {rows:>12} rows");
    }
    println!("loaded {} at scale {scale} in {:.1} s", T::BENCHMARK, report.elapsed.as_secs_f64());
    Ok(())
}
