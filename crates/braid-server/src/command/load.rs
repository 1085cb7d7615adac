//! `braid load`: a file, or generated TPC-H data, into tables of a data directory.

use std::path::Path;
use std::time::Instant;

use braid_bench::workloads::tpch::{self, Progress};

use super::CommandError;
use super::open::{DataOption, DatabaseOptions};

/// Options of `braid load`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Options {
    /// A .parquet or .csv file (with a header line), or `tpch` to generate the eight tables of TPC-H.
    #[arg(value_name = "FILE|tpch")]
    source: String,
    /// The table to create from the file.
    #[arg(long, value_name = "NAME")]
    table: Option<String>,
    /// TPC-H scale factor; 1 is about 1 GB of raw data.
    #[arg(long, default_value_t = 1.0)]
    scale: f64,
    #[command(flatten)]
    data: DataOption,
    #[command(flatten)]
    database: DatabaseOptions,
}

/// Runs the command.
pub(crate) async fn run(options: Options) -> Result<(), CommandError> {
    let is_tpch = options.source == "tpch";
    let table = match (is_tpch, &options.table) {
        (true, Some(_)) => {
            return Err(CommandError::Usage("--table cannot be used with tpch, which creates eight tables".into()));
        }
        (true, None) => "",
        (false, Some(table)) => table.as_str(),
        (false, None) => {
            return Err(CommandError::Usage(format!(
                "the table is missing: braid load {} --table NAME",
                options.source
            )));
        }
    };
    let database = options.database.open(&options.data.data).await?;
    let start = Instant::now();
    if is_tpch {
        let report = tpch::load(&database, options.scale, Progress::Bar).await?;
        for (table, rows) in &report.tables {
            println!("{table:<10} {rows:>12} rows");
        }
        println!("loaded TPC-H at scale {} in {:.1} s", options.scale, report.elapsed.as_secs_f64());
    } else {
        let rows = database.load_file(Path::new(&options.source), table).await?;
        println!("loaded {rows} rows into {table} in {:.1} s", start.elapsed().as_secs_f64());
    }
    database.close().await;
    Ok(())
}
