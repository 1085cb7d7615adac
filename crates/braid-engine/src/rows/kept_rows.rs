//! The rows of a query after its pass: for each worker the first ones in memory, and the others in the query's file.
//!
//! Equal queries have the same rows. Each reads them at its own pace: batches in memory go when the last reader has passed them,
//! and the file goes with the last reader, also if that ends early. The order within a worker's rows stays; ordered rows are
//! those of one worker.

use std::fmt;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use braid_exec::{ExecError, Reservation, RowBlock, RowFile, RowReader};
use futures::stream;

use super::Rows;
use super::row_converter::{Pieces, RowConverter};

/// The rows of a query, for one reader. A clone is for another reader of the same rows.
#[derive(Clone)]
pub(crate) struct KeptRows {
    schema: SchemaRef,
    parts: Vec<KeptPart>,
}

/// One worker's rows: those in memory, then those in the file.
#[derive(Clone)]
pub(super) struct KeptPart {
    pub in_memory: Vec<Arc<KeptBatches>>,
    pub in_file: Option<FileRows>,
}

/// Rows in a file.
#[derive(Clone)]
pub(super) struct FileRows {
    pub file: Arc<RowFile>,
    pub blocks: Arc<[RowBlock]>,
}

/// Batches and their memory.
pub(super) struct KeptBatches {
    batches: Vec<RecordBatch>,
    _reservation: Reservation,
}

impl KeptBatches {
    pub fn new(batches: Vec<RecordBatch>, reservation: Reservation) -> Self {
        Self { batches, _reservation: reservation }
    }

    pub fn batches(&self) -> &[RecordBatch] {
        &self.batches
    }
}

impl fmt::Debug for KeptRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeptRows").field("is_in_memory", &self.is_in_memory()).finish_non_exhaustive()
    }
}

impl KeptRows {
    pub(super) fn new(schema: SchemaRef, parts: Vec<KeptPart>) -> Self {
        Self { schema, parts }
    }

    /// Whether no rows are in a file.
    pub fn is_in_memory(&self) -> bool {
        self.parts.iter().all(|part| part.in_file.is_none())
    }

    /// All rows; `None` if some are in a file.
    pub fn in_memory(&self) -> Option<Vec<RecordBatch>> {
        let batches = self.parts.iter().flat_map(|part| &part.in_memory).flat_map(|kept| kept.batches());
        self.is_in_memory().then(|| batches.cloned().collect())
    }

    /// Waits until all rows of the file are written.
    ///
    /// # Errors
    /// When a write failed.
    pub async fn until_written(&self) -> Result<(), ExecError> {
        match self.parts.iter().find_map(|part| part.in_file.as_ref()) {
            Some(rows) => rows.file.until_written().await,
            None => Ok(()),
        }
    }

    /// The rows, as fast as they are taken.
    pub fn into_stream(self) -> Rows {
        let Self { schema, parts } = self;
        let rows = RowConverter::new(schema.clone(), usize::MAX);
        let reader = Reader { parts: parts.into_iter(), part: None, rows, pieces: None };
        let next = |mut reader: Reader| async move {
            let batch = reader.next().await?;
            Ok(batch.map(|batch| (batch, reader)))
        };
        Rows::new(schema, stream::try_unfold(reader, next))
    }
}

/// A reader on its way through the rows.
struct Reader {
    parts: std::vec::IntoIter<KeptPart>,
    part: Option<PartReader>,
    rows: RowConverter,
    /// The rest of the last block.
    pieces: Option<Pieces>,
}

/// A reader within one worker's rows.
struct PartReader {
    in_memory: std::vec::IntoIter<Arc<KeptBatches>>,
    /// Batches that are being read, and how many are read.
    kept: Option<(Arc<KeptBatches>, usize)>,
    in_file: Option<RowReader>,
}

impl PartReader {
    fn new(part: KeptPart) -> Self {
        let in_file = part.in_file.map(|rows| rows.file.read(rows.blocks));
        Self { in_memory: part.in_memory.into_iter(), kept: None, in_file }
    }

    /// The next batch in memory.
    fn next_kept(&mut self) -> Option<RecordBatch> {
        loop {
            if let Some((kept, at)) = &mut self.kept
                && let Some(batch) = kept.batches.get(*at)
            {
                *at += 1;
                return Some(batch.clone());
            }
            self.kept = Some((self.in_memory.next()?, 0));
        }
    }
}

impl Reader {
    async fn next(&mut self) -> Result<Option<RecordBatch>, ExecError> {
        loop {
            if let Some(piece) = self.pieces.as_mut().and_then(Iterator::next) {
                return piece.map(Some);
            }
            self.pieces = None;
            let Some(part) = &mut self.part else {
                let Some(next) = self.parts.next() else { return Ok(None) };
                self.part = Some(PartReader::new(next));
                continue;
            };
            if let Some(batch) = part.next_kept() {
                return Ok(Some(batch));
            }
            part.kept = None;
            match &mut part.in_file {
                Some(file) => match file.next().await? {
                    Some(block) => {
                        self.rows.append(block);
                        self.pieces = Some(self.rows.pieces()?);
                        self.rows.clear();
                    }
                    None => self.part = None,
                },
                None => self.part = None,
            }
        }
    }
}
