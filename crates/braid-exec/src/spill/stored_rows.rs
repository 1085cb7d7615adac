//! Rows of a partition that left memory, as a source: a block is a morsel, the rows that are still here are the last. The
//! next blocks are read while workers are busy with others.

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
}

impl StoredRowsSource {
    pub(crate) fn new(spill: Arc<QuerySpill>, rows: Arc<SpilledRows>) -> Self {
        Self { spill, rows }
    }
}

impl fmt::Debug for StoredRowsSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.describe())
    }
}

impl Source for StoredRowsSource {
    fn worker_count_max(&self) -> usize {
        self.rows.blocks.len() + 1
    }

    fn start(&self, _: &[RowFilter]) -> Arc<dyn StartedSource> {
        let (spill, rows) = (self.spill.clone(), self.rows.clone());
        Arc::new(Arc::new(Started { spill, rows, ahead: Mutex::default() }))
    }

    fn describe(&self) -> String {
        "rows from a temporary file".to_owned()
    }
}

/// Blocks that are read ahead for all workers together: enough that none waits, since a block takes longer to come than to be
/// worked on, and little beside the blocks that each partition had in memory when it was written.
const BLOCKS_AHEAD: usize = 8;

/// Who asks for memory.
const OPERATOR: &str = "temporary file";

struct Started {
    spill: Arc<QuerySpill>,
    rows: Arc<SpilledRows>,
    ahead: Mutex<Ahead>,
}

/// Blocks in the order in which workers get them.
#[derive(Default)]
struct Ahead {
    reading: VecDeque<BlockAhead>,
    /// Blocks that are read or being read.
    begun: usize,
    /// Whether somebody has the rows that are not in blocks.
    is_here_taken: bool,
}

/// What a worker gets next.
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
