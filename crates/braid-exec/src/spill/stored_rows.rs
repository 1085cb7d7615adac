//! The rows of a spilled partition as a source. A block is a morsel; the rows that are still in memory are the last one. The
//! next blocks are read while workers process others.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;
use parking_lot::Mutex;

use super::{BlockAhead, QuerySpill, SpilledRows};
use crate::ExecError;
use crate::runtime::pipeline::{Feed, Morsel, RowFilter, Source, StartedSource};
use crate::runtime::result_rows::Piece;

/// Rows of one partition.
pub(crate) struct StoredRowsSource {
    spill: Arc<QuerySpill>,
    rows: Arc<SpilledRows>,
    in_order: bool,
}

impl StoredRowsSource {
    pub(crate) fn new(spill: Arc<QuerySpill>, rows: Arc<SpilledRows>) -> Self {
        Self { spill, rows, in_order: false }
    }

    /// The same rows in their order, to one worker.
    pub(crate) fn in_order(self) -> Self {
        Self { in_order: true, ..self }
    }
}

impl fmt::Debug for StoredRowsSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.describe())
    }
}

impl Source for StoredRowsSource {
    fn worker_count_max(&self) -> usize {
        if self.in_order { 1 } else { self.rows.blocks.len() + 1 }
    }

    fn start(&self, _: &[RowFilter]) -> Arc<dyn StartedSource> {
        let (spill, rows) = (self.spill.clone(), self.rows.clone());
        Arc::new(Arc::new(Started { spill, rows, ahead: Mutex::default() }))
    }

    fn describe(&self) -> String {
        "rows from a temporary file".to_owned()
    }
}

/// Number of blocks that are read ahead for all workers together. Reading a block takes longer than processing it, so that
/// this many keep workers from waiting. They take little memory compared with the blocks of all partitions during the write.
const BLOCKS_AHEAD: usize = 8;

/// The operator's name in errors.
const OPERATOR: &str = "temporary file";

struct Started {
    spill: Arc<QuerySpill>,
    rows: Arc<SpilledRows>,
    ahead: Mutex<Ahead>,
}

/// Blocks in the order in which workers take them.
#[derive(Default)]
struct Ahead {
    reading: VecDeque<BlockAhead>,
    /// Blocks that are read or being read.
    begun: usize,
    /// Whether a worker has taken the rows that are in memory.
    is_here_taken: bool,
}

/// The next rows for a worker.
enum Rows {
    Block(BlockAhead),
    Here,
    NoMore,
}

impl Started {
    fn take_next(&self) -> Rows {
        let SpilledRows { file, blocks, .. } = &*self.rows;
        let Ahead { reading, begun, is_here_taken } = &mut *self.ahead.lock();
        while reading.len() <= BLOCKS_AHEAD
            && let Some(place) = blocks.get(*begun)
        {
            let block = match reading.is_empty() {
                true => Some(BlockAhead::begin(&self.spill, file, *place, OPERATOR)),
                false => BlockAhead::begin_if_free(&self.spill, file, *place, OPERATOR),
            };
            let Some(block) = block else { break };
            reading.push_back(block);
            *begun += 1;
        }
        match reading.pop_front() {
            Some(block) => Rows::Block(block),
            None if !std::mem::replace(is_here_taken, true) => Rows::Here,
            None => Rows::NoMore,
        }
    }
}

impl StartedSource for Arc<Started> {
    fn feed(&self) -> Box<dyn Feed> {
        Box::new(self.clone())
    }
}

impl Feed for Arc<Started> {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Box<dyn Morsel + '_>>, ExecError>> {
        Box::pin(async move {
            let rows = match self.take_next() {
                Rows::Block(block) => Arc::new(block.rows().await?),
                Rows::Here => self.rows.here.clone(),
                Rows::NoMore => return Ok(None),
            };
            Ok(Some(Box::new(Piece::of_all(rows)) as Box<dyn Morsel>))
        })
    }
}
