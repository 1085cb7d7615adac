//! Loading of generated rows into a database. Each table is one commit, so that a killed load leaves only complete tables.

use std::sync::Arc;
use std::time::{Duration, Instant};

use braid_engine::{Database, EngineError};
use futures::future::BoxFuture;
use futures::stream::{StreamExt, TryStreamExt};
use indicatif::{ProgressBar, ProgressStyle};

use super::generated::{GeneratedTable, batches};
use crate::BenchError;

/// The result of a load.
#[derive(Clone, Debug)]
pub struct LoadReport {
    /// The loaded tables with their numbers of rows, in load order. Existing tables are left out.
    pub tables: Vec<(&'static str, u64)>,
    /// Elapsed time, including the generation.
    pub elapsed: Duration,
}

/// Whether a load shows its progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// A bar on standard error, if that is a terminal.
    Bar,
    /// No progress is shown.
    Silent,
}

/// Generates all tables of a benchmark at `scale` and loads them. Fails without loading anything if one of them exists.
pub fn load<T: GeneratedTable>(
    database: &Arc<Database>,
    scale: f64,
    progress: Progress,
) -> BoxFuture<'_, Result<LoadReport, BenchError>> {
    Box::pin(async move {
        check_scale(scale)?;
        let catalog = database.store().snapshot();
        match T::ALL.iter().find(|t| catalog.table(t.name()).is_some()) {
            Some(table) => Err(BenchError::TableExists { table: table.name() }),
            None => load_tables(database, T::ALL, scale, progress).await,
        }
    })
}

/// Loads the missing tables. Existing tables are kept. Fails if an existing table has another scale.
pub fn ensure<T: GeneratedTable>(
    database: &Arc<Database>,
    scale: f64,
    progress: Progress,
) -> BoxFuture<'_, Result<LoadReport, BenchError>> {
    Box::pin(async move {
        check_scale(scale)?;
        let catalog = database.store().snapshot();
        let mut missing = Vec::new();
        for &table in T::ALL {
            let Some(version) = catalog.table(table.name()) else {
                missing.push(table);
                continue;
            };
            let found = version.row_count();
            if !table.has_row_count(found, scale) {
                let expected = table.row_count(scale);
                return Err(BenchError::OtherScale { table: table.name(), found, expected, scale });
            }
        }
        load_tables(database, &missing, scale, progress).await
    })
}

/// Refuses a scale factor that the generators do not support.
pub fn check_scale(scale: f64) -> Result<(), BenchError> {
    if (0.001..=100_000.0).contains(&scale) {
        return Ok(());
    }
    let reason = "a scale factor lies between 0.001 and 100000".to_owned();
    Err(BenchError::BadOption { option: "scale", value: scale.to_string(), reason })
}

async fn load_tables<T: GeneratedTable>(
    database: &Arc<Database>,
    tables: &[T],
    scale: f64,
    progress: Progress,
) -> Result<LoadReport, BenchError> {
    let start = Instant::now();
    let row_count = tables.iter().map(|t| t.row_count(scale)).sum();
    let bar = match progress {
        Progress::Bar if row_count > 0 => progress_bar(T::BENCHMARK, row_count),
        _ => ProgressBar::hidden(),
    };
    let mut loaded = Vec::with_capacity(tables.len());
    for &table in tables {
        bar.set_message(table.name());
        let counted = bar.clone();
        let batches = batches(table, scale)
            .map_err(|error| EngineError::internal(error.to_string()))
            .inspect_ok(move |batch| counted.inc(batch.num_rows() as u64))
            .boxed();
        loaded.push((table.name(), database.load_batches(table.new_table(), batches).await?));
    }
    bar.finish_and_clear();
    Ok(LoadReport { tables: loaded, elapsed: start.elapsed() })
}

fn progress_bar(benchmark: &str, row_count: u64) -> ProgressBar {
    let template = format!("loading {benchmark} {{bar:30}} {{percent:>3}} %  {{msg:<22}} {{per_sec}}, {{eta}} left");
    let style = ProgressStyle::with_template(&template).expect("the template has no unknown keys").with_key(
        "per_sec",
        |state: &indicatif::ProgressState, w: &mut dyn std::fmt::Write| {
            // A failed write to the terminal's buffer shows nothing, which is what a progress bar may do.
            let _ = write!(w, "{:.1} M rows/s", state.per_sec() / 1e6);
        },
    );
    ProgressBar::new(row_count).with_style(style)
}
