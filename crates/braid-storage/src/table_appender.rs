//! Adding rows to a table: COPY, INSERT, CREATE TABLE AS.
//!
//! Rows become full chunks as they come and are written at once; what is left at the end becomes the table's last
//! chunk, in a file of its own, merged with small chunks that were there before (see [`tail_merge`]).
//!
//! An append has no place in the table until it is committed, so that any number of them can go on beside each other;
//! the first to commit comes first. The last chunk is merged and written on the assumption that no other commit to the
//! table comes first; if one does, the chunk is written again under the commit lock, which excludes others.
//!
//! Sketches of different values: those of the rows written are united with the table's. A chunk that was merged is
//! among the rows written as well, which changes no union; where all of the table's chunks were merged, its old sketches
//! are forgotten. Columns whose older rows were not counted stay without a sketch.
//!
//! Memory: the rows of at most four chunks (one being filled, two being encoded, one being written).
//!
//! Dropped without [`TableAppender::commit`], or failed, it deletes what it wrote.

mod chunk_writer;
mod constraints;
mod row_buffer;
mod tail_merge;

use std::sync::Arc;

use arrow::array::RecordBatch;
use braid_base::ChunkId;
use futures::future::BoxFuture;

use crate::catalog::{Catalog, TableEntry};
use crate::data_file::DataFile;
use crate::store_shared::{Commit, CommitLock, StoreShared};
use crate::{ChunkMeta, DistinctCount, DistinctSketch, StoreError, TableDef, TableVersion};

use chunk_writer::{ChunkWriter, WrittenFile};
use row_buffer::{ChunkRows, RowBuffer};
use tail_merge::{Tail, write_tail};

/// Rows on their way into a table.
pub struct TableAppender {
    shared: Arc<StoreShared>,
    def: Arc<TableDef>,
    target: Target,
    rows: RowBuffer,
    writer: ChunkWriter,
    chunks_pushed: usize,
    row_count: u64,
    /// Whether an `append` failed, or was abandoned before it ended.
    incomplete: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    Existing,
    New,
}

impl TableAppender {
    pub(crate) fn to_existing(shared: Arc<StoreShared>, def: Arc<TableDef>) -> Self {
        Self::new(shared, def, Target::Existing)
    }

    pub(crate) fn to_new(shared: Arc<StoreShared>, def: Arc<TableDef>) -> Self {
        Self::new(shared, def, Target::New)
    }

    fn new(shared: Arc<StoreShared>, def: Arc<TableDef>, target: Target) -> Self {
        let writer = ChunkWriter::new(Arc::clone(&shared), Arc::clone(&def));
        let rows = RowBuffer::default();
        Self { shared, def, target, rows, writer, chunks_pushed: 0, row_count: 0, incomplete: false }
    }

    /// The table's definition.
    pub fn def(&self) -> &Arc<TableDef> {
        &self.def
    }

    /// Rows taken so far.
    pub fn row_count(&self) -> u64 {
        self.row_count
    }

    /// Takes the rows of `batch`, whose columns have the table's names and types; waits while the encoders or the disk
    /// are behind. After an error, or if the future is dropped before it is ready, only dropping the appender is left.
    ///
    /// # Errors
    /// [`StoreError::SchemaMismatch`], [`StoreError::NullViolation`], [`StoreError::TooLong`],
    /// [`StoreError::NumericOverflow`] for rows that do not fit the table; [`StoreError::DiskFull`],
    /// [`StoreError::Io`] and [`StoreError::Encode`] for trouble with these or earlier rows.
    pub fn append(&mut self, batch: RecordBatch) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(self.append_unboxed(batch))
    }

    async fn append_unboxed(&mut self, batch: RecordBatch) -> Result<(), StoreError> {
        if self.incomplete {
            return Err(StoreError::IncompleteAppend { table: self.def.name.clone() });
        }
        self.incomplete = true;
        constraints::check_batch(&self.def, &batch)?;
        self.rows.push(&batch);
        self.row_count += batch.num_rows() as u64;
        drop(batch);
        while let Some(rows) = self.rows.pop_full() {
            self.chunks_pushed += 1;
            self.writer.push(rows).await?;
        }
        self.writer.advance()?;
        self.incomplete = false;
        Ok(())
    }

    /// Makes all rows durable and visible; returns the table's new version and the number of rows added. Dropping the
    /// future before it is ready leaves open whether the rows are added: all or none.
    ///
    /// # Errors
    /// [`StoreError::UnknownTable`] when the table was dropped meanwhile, [`StoreError::TableChanged`] when it was altered
    /// meanwhile, [`StoreError::TableExists`] when a new one's name was taken meanwhile, and as [`Self::append`].
    pub fn commit(self) -> BoxFuture<'static, Result<(Arc<TableVersion>, u64), StoreError>> {
        Box::pin(self.commit_unboxed())
    }

    async fn commit_unboxed(mut self) -> Result<(Arc<TableVersion>, u64), StoreError> {
        if self.incomplete {
            return Err(StoreError::IncompleteAppend { table: self.def.name.clone() });
        }
        let (shared, def, target, row_count) = (self.shared, self.def, self.target, self.row_count);
        let rest = self.rows.take_rest();
        let bulk = self.writer.finish().await?;
        assert_eq!(bulk.as_ref().map_or(0, |b| b.chunks.len()), self.chunks_pushed, "every chunk pushed is written");
        let base = base_of(&shared.snapshot(), &def, target)?;
        if let (Some(base), 0) = (&base, row_count) {
            return Ok((Arc::clone(base), 0));
        }
        let mut tail = write_last(&shared, &def, base.as_ref(), bulk.as_ref(), rest.clone()).await?;
        let lock = CommitLock::acquire(&shared).await?;
        let catalog = lock.catalog();
        let newest = base_of(&catalog, &def, target)?;
        if bulk.is_none() && last_chunk(newest.as_ref()) != last_chunk(base.as_ref()) {
            drop(tail);
            tail = write_last(&shared, &def, newest.as_ref(), None, rest).await?;
        }
        let next = NextVersion::new(&catalog, def, newest, bulk, tail);
        let version = Arc::clone(&next.entry.version);
        let NextVersion { entry, added, removed } = next;
        lock.publish(Commit { catalog: catalog.with(entry), added, removed }).await?;
        Ok((version, row_count))
    }
}

/// The version an append builds on: none for a table that does not exist yet.
fn base_of(catalog: &Catalog, def: &TableDef, target: Target) -> Result<Option<Arc<TableVersion>>, StoreError> {
    match (target, catalog.by_id(def.id), catalog.table(&def.name)) {
        (Target::Existing, Some(version), _) if *version.def == *def => Ok(Some(Arc::clone(version))),
        (Target::Existing, Some(_), _) => Err(StoreError::TableChanged { table: def.name.clone() }),
        (Target::Existing, None, _) => Err(StoreError::UnknownTable { table: def.name.clone() }),
        (Target::New, _, None) => catalog.check_types_of(def).map(|()| None),
        (Target::New, _, Some(_)) => Err(StoreError::TableExists { table: def.name.clone() }),
    }
}

/// Chunk ids are not reused: the same last chunk is the same list of chunks, as rows are only ever added.
fn last_chunk(version: Option<&Arc<TableVersion>>) -> Option<ChunkId> {
    version.and_then(|v| v.chunks.last()).map(|chunk| chunk.id)
}

/// Writes the rows that fill no chunk. Behind full chunks of the same append there is nothing to merge them with.
async fn write_last(
    shared: &Arc<StoreShared>,
    def: &Arc<TableDef>,
    base: Option<&Arc<TableVersion>>,
    bulk: Option<&WrittenFile>,
    rest: ChunkRows,
) -> Result<Option<Tail>, StoreError> {
    let chunks: &[Arc<ChunkMeta>] = match (base, bulk) {
        (Some(base), None) => &base.chunks,
        _ => &[],
    };
    write_tail(shared, def, chunks, rest).await
}

/// A table's next version, and what it means for data files.
struct NextVersion {
    entry: TableEntry,
    added: Vec<Arc<DataFile>>,
    removed: Vec<Arc<DataFile>>,
}

impl NextVersion {
    fn new(
        catalog: &Catalog,
        def: Arc<TableDef>,
        base: Option<Arc<TableVersion>>,
        bulk: Option<WrittenFile>,
        tail: Option<Tail>,
    ) -> Self {
        let mut next_chunk_id = catalog.entry(def.id).map_or(0, |entry| entry.next_chunk_id);
        let mut chunks: Vec<Arc<ChunkMeta>> = base.as_ref().map_or_else(Vec::new, |base| base.chunks.to_vec());
        let replaced = chunks.split_off(chunks.len() - tail.as_ref().map_or(0, |tail| tail.replaced));
        let mut sketches = match base {
            Some(base) if !chunks.is_empty() => sketches_of(&base),
            _ => vec![Some(DistinctSketch::empty()); def.columns.len()],
        };
        let mut added = Vec::new();
        for WrittenFile { file, chunks: written, distinct } in bulk.into_iter().chain(tail.map(|tail| tail.written)) {
            for (sketch, written) in sketches.iter_mut().zip(&distinct) {
                sketch.iter_mut().for_each(|sketch| sketch.unite(written));
            }
            for chunk in written {
                let (id, file) = (ChunkId(next_chunk_id), Arc::clone(&file));
                next_chunk_id = next_chunk_id.checked_add(1).expect("2^32 chunks are 2^49 rows");
                chunks.push(Arc::new(ChunkMeta { id, row_count: chunk.row_count, file, segments: chunk.segments }));
            }
            added.push(file);
        }
        let still_used = |file: &Arc<DataFile>| chunks.iter().any(|chunk| chunk.file.id() == file.id());
        let removed = replaced.iter().map(|chunk| Arc::clone(&chunk.file)).filter(|file| !still_used(file)).collect();
        let distinct = sketches.into_iter().map(|sketch| sketch.map(DistinctCount::new)).collect();
        let version = TableVersion::new(def, chunks.into(), catalog.sequence() + 1, distinct);
        Self { entry: TableEntry::new(Arc::new(version), next_chunk_id), added, removed }
    }
}

fn sketches_of(version: &TableVersion) -> Vec<Option<DistinctSketch>> {
    version.distinct.iter().map(|count| count.as_ref().map(|count| count.sketch().clone())).collect()
}
