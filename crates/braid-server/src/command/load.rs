//! `braid load`: files of text or of Parquet, or generated TPC-H or TPC-DS data, into tables of a data directory.
//!
//! Before a file is loaded the command prints what it has decided: what divides the fields, whether there is a header, and for each
//! column its type with the reason.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use braid_bench::workloads::generated::GeneratedTable;
use braid_bench::workloads::loading::{self, Progress};
use braid_bench::workloads::tpcds::TpcdsTable;
use braid_bench::workloads::tpch::TpchTable;
use braid_engine::{Database, LoadPlan, LoadRequest};
use indicatif::{ProgressBar, ProgressStyle};

use super::CommandError;
use super::open::{DataOption, DatabaseOptions};

/// How often the bar of a load moves.
const BAR_INTERVAL: Duration = Duration::from_millis(100);

/// Options of `braid load`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Options {
    /// Files of CSV or Parquet, patterns like `'sales-*.csv'`, or `-` for standard input; CSV may be compressed by gzip or
    /// zstd. Or `tpch` or `tpcds` to generate the tables of TPC-H or TPC-DS.
    #[arg(value_name = "FILE|tpch|tpcds", required = true)]
    sources: Vec<String>,
    /// The table to create from the files.
    #[arg(long, value_name = "NAME")]
    table: Option<String>,
    /// Add the rows to an existing table, whose columns are found by name.
    #[arg(long)]
    append: bool,
    /// The character between fields, or `tab` [default: the one of , ; | and tab that divides all lines alike].
    #[arg(long, value_name = "CHARACTER", value_parser = parse_delimiter)]
    delimiter: Option<char>,
    /// The first line has the names of the columns [default: found out].
    #[arg(long, conflicts_with = "no_header")]
    header: bool,
    /// The first line has values.
    #[arg(long)]
    no_header: bool,
    /// Types of columns, such as `zip=text,price=numeric(10,2)` [default: from the first 100000 lines].
    #[arg(long, value_name = "COLUMN=TYPE,...")]
    types: Vec<String>,
    /// A text that is null, besides the empty field; may be given several times.
    #[arg(long = "null", value_name = "TEXT", allow_hyphen_values = true)]
    nulls: Vec<String>,
    /// TPC-H or TPC-DS scale factor; 1 is about 1 GB of raw data.
    #[arg(long, default_value_t = 1.0)]
    scale: f64,
    #[command(flatten)]
    data: DataOption,
    #[command(flatten)]
    database: DatabaseOptions,
}

fn parse_delimiter(text: &str) -> Result<char, String> {
    let mut characters = text.chars();
    match (text, characters.next(), characters.next()) {
        ("tab" | "\\t", _, _) => Ok('\t'),
        (_, Some(delimiter), None) => Ok(delimiter),
        _ => Err(format!("\"{text}\" is not one character; write tab for a tab")),
    }
}

/// Runs the command.
pub(crate) async fn run(options: Options) -> Result<(), CommandError> {
    let benchmark = match &options.sources[..] {
        [source] if matches!(source.as_str(), "tpch" | "tpcds") => Some(source.as_str()),
        _ => None,
    };
    let request = match benchmark {
        Some(benchmark) => {
            check_no_file_options(&options, benchmark)?;
            None
        }
        None => Some(request_of(&options)?),
    };
    let database = options.database.open(&options.data.data).await?;
    let loaded = match (benchmark, request) {
        (Some("tpcds"), _) => generate::<TpcdsTable>(&database, options.scale).await,
        (_, Some(request)) => load_files(&database, request).await,
        _ => generate::<TpchTable>(&database, options.scale).await,
    };
    database.close().await;
    loaded
}

/// Refuses the options that are for files.
fn check_no_file_options(options: &Options, benchmark: &str) -> Result<(), CommandError> {
    let given = [
        (options.table.is_some(), "--table"),
        (options.append, "--append"),
        (options.delimiter.is_some(), "--delimiter"),
        (options.header, "--header"),
        (options.no_header, "--no-header"),
        (!options.types.is_empty(), "--types"),
        (!options.nulls.is_empty(), "--null"),
    ];
    match given.into_iter().find(|(is_given, _)| *is_given) {
        Some((_, option)) => {
            let message = format!("{option} cannot be used with {benchmark}, which creates its own tables");
            Err(CommandError::Usage(message))
        }
        None => Ok(()),
    }
}

fn request_of(options: &Options) -> Result<LoadRequest, CommandError> {
    let Some(table) = &options.table else {
        let message = format!("the table is missing: braid load {} --table NAME", options.sources.join(" "));
        return Err(CommandError::Usage(message));
    };
    let mut request = LoadRequest {
        files: options.sources.clone(),
        table: table.clone(),
        append: options.append,
        delimiter: options.delimiter,
        header: (options.header || options.no_header).then_some(options.header),
        nulls: options.nulls.clone(),
        ..LoadRequest::default()
    };
    options.types.iter().try_for_each(|list| request.add_types(list))?;
    Ok(request)
}

async fn load_files(database: &Arc<Database>, request: LoadRequest) -> Result<(), CommandError> {
    let (start, table) = (Instant::now(), request.table.clone());
    let plan = database.plan_load(request).await?;
    print_plan(&plan);
    let (bar, bytes_read) = (bar_of(&plan), plan.bytes_read());
    let shown = bar.clone();
    let moves = tokio::spawn(async move {
        loop {
            shown.set_position(bytes_read.load(Ordering::Relaxed));
            tokio::time::sleep(BAR_INTERVAL).await;
        }
    });
    let loaded = database.load(plan).await;
    moves.abort();
    bar.finish_and_clear();
    println!("loaded {} rows into {table} in {:.1} s", loaded?, start.elapsed().as_secs_f64());
    Ok(())
}

/// What was decided, and why.
fn print_plan(plan: &LoadPlan) {
    for note in plan.notes() {
        println!("{note}");
    }
    let columns = plan.columns();
    let width = |length_of: fn(&braid_engine::PlannedColumn) -> usize, title: &str| {
        columns.iter().map(length_of).max().unwrap_or(0).max(title.len())
    };
    let names = width(|column| column.name.chars().count(), "column");
    let types = width(|column| column.sql_type.chars().count(), "type");
    println!("{:<names$}  {:<types$}  why", "column", "type");
    for column in columns {
        println!("{:<names$}  {:<types$}  {}", column.name, column.sql_type, column.why);
    }
}

/// A bar on standard error, if that is a terminal.
fn bar_of(plan: &LoadPlan) -> ProgressBar {
    let (bar, template) = match plan.byte_count() {
        Some(bytes) => (ProgressBar::new(bytes), "{bar:40} {bytes}/{total_bytes}, {bytes_per_sec}, {eta} left"),
        None => (ProgressBar::new_spinner(), "{spinner} {bytes} read, {elapsed}"),
    };
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
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
