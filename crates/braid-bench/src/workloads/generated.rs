//! The tables of a benchmark with a generator, and their rows as record batches.
//!
//! A table is divided into parts of about one chunk. A generator can start at any part, so that the runtime's blocking threads
//! generate several parts at a time; the stream returns them in order. [`PARTS_AHEAD`] bounds the memory. After the stream is
//! dropped, no further part is started.

use std::fmt;

use arrow::array::RecordBatch;
use arrow::error::ArrowError;
use braid_base::{CHUNK_ROWS, ColumnId};
use braid_storage::{ColumnDef, NewTable};
use futures::stream::{BoxStream, StreamExt, TryStreamExt};

use crate::BenchError;

/// Rows of a generated batch: eight vectors, as scans deliver them.
pub(crate) const BATCH_ROWS: usize = 8 * braid_base::VECTOR_ROWS;

/// Number of parts that are generated ahead of the consumed one, in addition to one for each core.
const PARTS_AHEAD: usize = 1;

/// The rows of a part.
pub type PartBatches = Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>>>;

/// One of the tables of a benchmark.
pub trait GeneratedTable: Copy + fmt::Display + PartialEq + Send + Sync + 'static {
    /// The benchmark's name.
    const BENCHMARK: &'static str;

    /// All tables, in the order in which they are loaded.
    const ALL: &'static [Self];

    /// The table's name in SQL.
    fn name(self) -> &'static str;

    /// The columns.
    fn columns(self) -> Vec<ColumnDef>;

    /// The columns of the primary key.
    fn primary_key(self) -> &'static [&'static str];

    /// Rows at a scale, at most [`Self::row_count_slack`] from the generated number.
    fn row_count(self, scale: f64) -> u64;

    /// Largest difference between [`Self::row_count`] and the generated number of rows.
    fn row_count_slack(self, scale: f64) -> u64;

    /// Number of parts of a division into parts of about `rows` rows.
    fn part_count(self, scale: f64, rows: u64) -> u32;

    /// The rows of one part, from 1, in batches of [`BATCH_ROWS`].
    fn part(self, scale: f64, part: u32, part_count: u32) -> PartBatches;

    /// The definition of the table, as CREATE TABLE would give it.
    fn new_table(self) -> NewTable {
        let columns = self.columns();
        let position =
            |key: &&str| columns.iter().position(|c| c.name == **key).expect("keys are columns of the table");
        let primary_key = self.primary_key().iter().map(|key| ColumnId(position(key) as u16)).collect();
        NewTable { name: self.name().to_owned(), columns, primary_key }
    }

    /// Whether a table of `found` rows can be this one at `scale`.
    fn has_row_count(self, found: u64, scale: f64) -> bool {
        found.abs_diff(self.row_count(scale)) <= self.row_count_slack(scale)
    }
}

/// All rows of a table at `scale`, in the order of its generator.
pub fn batches<T: GeneratedTable>(table: T, scale: f64) -> BoxStream<'static, Result<RecordBatch, BenchError>> {
    let part_count = table.part_count(scale, CHUNK_ROWS as u64);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    futures::stream::iter(1..=part_count)
        .map(move |part| async move {
            let generate = move || table.part(scale, part, part_count).collect::<Result<Vec<_>, _>>();
            let batches = tokio::task::spawn_blocking(generate)
                .await
                .map_err(|e| BenchError::other(format!("generating {table}"), e))?
                .map_err(|e| BenchError::other(format!("generating {table}"), e))?;
            Ok::<_, BenchError>(futures::stream::iter(batches.into_iter().map(Ok)))
        })
        .buffered(cores + PARTS_AHEAD)
        .try_flatten()
        .boxed()
}

#[cfg(test)]
pub(crate) mod tests {
    use arrow::compute::concat_batches;

    use super::*;

    /// Checks columns and number of rows of all tables of a benchmark.
    pub(crate) async fn check_tables<T: GeneratedTable>(scale: f64) {
        for &table in T::ALL {
            let batches: Vec<_> = batches(table, scale).try_collect().await.unwrap();
            let columns = table.columns();
            let schema = batches[0].schema();
            assert_eq!(schema.fields().len(), columns.len(), "{table}");
            for (field, column) in schema.fields().iter().zip(&columns) {
                assert_eq!((field.name(), field.data_type()), (&column.name, &column.column_type.arrow()));
                assert_eq!(field.is_nullable(), column.nullable, "{}", column.name);
            }
            assert!(table.primary_key().iter().all(|key| columns.iter().any(|c| c.name == *key)), "{table}");
            let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
            assert!(table.has_row_count(rows as u64, scale), "{table} has {rows} rows");
        }
    }

    /// Checks that a table of three parts is the same as one of one part.
    pub(crate) fn check_parts<T: GeneratedTable>(table: T, scale: f64) {
        let rows = |parts: u32| {
            let batches: Vec<_> = (1..=parts).flat_map(|p| table.part(scale, p, parts)).map(Result::unwrap).collect();
            concat_batches(&batches[0].schema(), &batches).unwrap()
        };
        assert_eq!(rows(1), rows(3), "{table}");
    }
}
