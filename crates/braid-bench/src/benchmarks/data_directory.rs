//! The data of benchmarks: the database `ROOT/tpch-SCALE`, the same rows as Parquet files in `ROOT/parquet-SCALE`, and in DuckDB's
//! format in `ROOT/duckdb-SCALE`; of TPC-DS `ROOT/tpcds-SCALE` and `ROOT/tpcds-parquet-SCALE`. Missing data is created; existing data
//! is reused.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use braid_base::ByteSize;
use braid_engine::{Config, Database};
use futures::TryStreamExt;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

use crate::drivers::client::{Client, SessionClient};
use crate::drivers::duckdb::{DUCKDB_LOAD, DuckDbLoad, run_duckdb};
use crate::workloads::generated::{GeneratedTable, batches};
use crate::workloads::loading::{Progress, ensure};
use crate::workloads::tpcds::TpcdsTable;
use crate::workloads::tpch::TpchTable;
use crate::workloads::workload::AddedTable;
use crate::{BenchError, BenchOptions};

/// How long a directory is waited for that an earlier benchmark of this process still holds.
const RELEASE_WAIT_MAX: Duration = Duration::from_secs(60);

/// `ROOT/tpch-SCALE`.
pub fn database_directory(root: &Path, scale: f64) -> PathBuf {
    root.join(format!("tpch-{scale}"))
}

/// Opens the TPC-H database of the options' scale, loading what is missing. A `None` buffer is the default one, a
/// quarter of the machine's memory.
pub async fn open_tpch(options: &BenchOptions, buffer: Option<ByteSize>) -> Result<Arc<Database>, BenchError> {
    open::<TpchTable>(options, database_directory(&options.data, options.scale), buffer).await
}

/// Opens the TPC-DS database of the options' scale, loading what is missing.
pub async fn open_tpcds(options: &BenchOptions) -> Result<Arc<Database>, BenchError> {
    open::<TpcdsTable>(options, options.data.join(format!("tpcds-{}", options.scale)), None).await
}

async fn open<T: GeneratedTable>(
    options: &BenchOptions,
    directory: PathBuf,
    buffer: Option<ByteSize>,
) -> Result<Arc<Database>, BenchError> {
    let mut config = Config::new(directory);
    if let Some(buffer) = options.buffer.or(buffer) {
        config.buffer = buffer;
    }
    let database = open_when_released(config).await?;
    ensure::<T>(&database, options.scale, Progress::Bar).await?;
    Ok(database)
}

/// Opens a database. What an earlier benchmark of this process has left to end in the background may hold the directory for a
/// moment.
async fn open_when_released(config: Config) -> Result<Arc<Database>, BenchError> {
    let held_here = format!("in use by process {}", std::process::id());
    let since = Instant::now();
    loop {
        match Database::open(config.clone()).await {
            Err(error) if error.message().contains(&held_here) && since.elapsed() < RELEASE_WAIT_MAX => {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            opened => return Ok(opened?),
        }
    }
}

/// Makes the missing ones of a workload's added tables. Each table is one commit.
pub async fn ensure_added_tables(database: &Arc<Database>, tables: &[AddedTable]) -> Result<(), BenchError> {
    let mut client = SessionClient::new(database);
    for AddedTable { name, query } in tables {
        if database.store().snapshot().table(name).is_none() {
            client.run(&format!("create table {name} as {query}")).await?;
        }
    }
    Ok(())
}

/// `ROOT/parquet-SCALE` with a file `TABLE.parquet` for each table: Snappy, row groups and pages as the Parquet
/// library's defaults have them, which is what engines usually meet.
pub async fn tpch_parquet(options: &BenchOptions) -> Result<PathBuf, BenchError> {
    parquet::<TpchTable>(options, options.data.join(format!("parquet-{}", options.scale))).await
}

/// `ROOT/tpcds-parquet-SCALE`, like [`tpch_parquet`].
pub async fn tpcds_parquet(options: &BenchOptions) -> Result<PathBuf, BenchError> {
    parquet::<TpcdsTable>(options, options.data.join(format!("tpcds-parquet-{}", options.scale))).await
}

async fn parquet<T: GeneratedTable>(options: &BenchOptions, directory: PathBuf) -> Result<PathBuf, BenchError> {
    fs::create_dir_all(&directory).map_err(|source| BenchError::File { path: directory.clone(), source })?;
    for &table in T::ALL {
        let path = parquet_file(&directory, table);
        if !path.exists() {
            write_parquet(table, options.scale, &path).await?;
        }
    }
    Ok(directory)
}

/// A table's file in a directory of [`tpch_parquet`].
pub fn parquet_file(directory: &Path, table: impl GeneratedTable) -> PathBuf {
    directory.join(format!("{table}.parquet"))
}

/// `ROOT/duckdb-SCALE/tpch.duckdb`: the rows of [`tpch_parquet`] in a file of DuckDB's own format. `None` where DuckDB is
/// not installed.
pub(crate) async fn duckdb_file(options: &BenchOptions) -> Result<Option<PathBuf>, BenchError> {
    let directory = options.data.join(format!("duckdb-{}", options.scale));
    let file = directory.join("tpch.duckdb");
    if file.exists() {
        return Ok(Some(file));
    }
    let parquet = tpch_parquet(options).await?;
    let file_error = |path: &Path| {
        let path = path.to_owned();
        move |source| BenchError::File { path, source }
    };
    // Renamed when complete, so that an existing directory is complete.
    let unfinished = options.data.join(format!("duckdb-{}-unfinished", options.scale));
    if unfinished.exists() {
        fs::remove_dir_all(&unfinished).map_err(file_error(&unfinished))?;
    }
    let loaded: Option<DuckDbLoad> = run_duckdb(DUCKDB_LOAD, &[&parquet, &unfinished], Vec::new()).await?;
    if loaded.is_none() {
        return Ok(None);
    }
    fs::rename(&unfinished, &directory).map_err(file_error(&directory))?;
    Ok(Some(file))
}

async fn write_parquet(table: impl GeneratedTable, scale: f64, path: &Path) -> Result<(), BenchError> {
    let file_error = |source| BenchError::File { path: path.to_owned(), source };
    let parquet_error = |e| BenchError::other(format!("writing {}", path.display()), e);
    // Renamed when complete, so that an existing file is complete.
    let unfinished = path.with_extension("unfinished");
    let file = File::create(&unfinished).map_err(file_error)?;
    let mut batches = batches(table, scale);
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let mut writer: Option<ArrowWriter<File>> = None;
    let mut file = Some(file);
    while let Some(batch) = batches.try_next().await? {
        if let Some(file) = file.take() {
            let created = ArrowWriter::try_new(file, batch.schema(), Some(properties.clone()));
            writer = Some(created.map_err(parquet_error)?);
        }
        if let Some(writer) = &mut writer {
            writer.write(&batch).map_err(parquet_error)?;
        }
    }
    if let Some(writer) = writer {
        writer.close().map_err(parquet_error)?;
    }
    fs::rename(&unfinished, path).map_err(file_error)
}

/// Removes a directory with all that is in it, if it is there.
pub(crate) fn remove_directory(directory: &Path) -> Result<(), BenchError> {
    match fs::remove_dir_all(directory) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(BenchError::File { path: directory.to_owned(), source })
        }
        _ => Ok(()),
    }
}

/// Bytes of all files below a directory.
pub fn directory_bytes(directory: &Path) -> Result<u64, BenchError> {
    let error = |source| BenchError::File { path: directory.to_owned(), source };
    let mut bytes = 0;
    for entry in fs::read_dir(directory).map_err(error)? {
        let entry = entry.map_err(error)?;
        let metadata = entry.metadata().map_err(error)?;
        bytes += if metadata.is_dir() { directory_bytes(&entry.path())? } else { metadata.len() };
    }
    Ok(bytes)
}

/// Bytes of all segments of all tables, padding included.
pub fn stored_bytes(database: &Database) -> u64 {
    let catalog = database.store().snapshot();
    let chunks = catalog.tables().flat_map(|table| table.chunks.iter());
    chunks.flat_map(|chunk| &chunk.segments).map(|segment| u64::from(segment.stored_bytes())).sum()
}
