//! Rows that are kept for any number of readers: a spool. They stay in memory up to an operator's share; the rest is in a temporary file.
//!
//! A worker that adds rows takes a writer of its own and gives it back, so that no worker waits for another. A writer collects pieces.
//! When the spool exceeds its share, a writer writes its oldest pieces to the file, where they keep their places between the others: with
//! one worker, the rows stay in the order in which they came. Each call writes a few pieces at most.

use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use super::{BlockPlace, OperatorMemory, QuerySpill, SpillFile, SpilledRows, StoredRowsSource, WorkerMemory};
use crate::runtime::collected_rows::CollectedRows;
use crate::runtime::pipeline::{Sink, Source};
use crate::runtime::result_rows::{ResultRows, ResultSource};
use crate::runtime::stop::Stop;
use crate::tuning::SpoolTuning;
use crate::{Batch, ExecError, MemoryBudget, Reservation};

/// Rows that are being collected.
pub(crate) struct Spool {
    operator: &'static str,
    column_count: usize,
    budget: Arc<dyn MemoryBudget>,
    spilling: Option<Spilling>,
    tuning: SpoolTuning,
    /// The writers that no worker has.
    writers: Mutex<Vec<Writer>>,
}

struct Spilling {
    spill: Arc<QuerySpill>,
    memory: Arc<OperatorMemory>,
    /// Created with the first block.
    file: OnceLock<Arc<SpillFile>>,
}

/// The rows of the workers that had it, in their order.
struct Writer {
    pieces: Vec<Piece>,
    /// Bytes of the pieces in memory.
    piece_bytes: usize,
    /// The rows after those of the pieces.
    current: CollectedRows,
    memory: Option<WorkerMemory>,
}

/// Consecutive rows.
#[derive(Clone)]
enum Piece {
    Here(Arc<ResultRows>),
    Stored(BlockPlace),
}

/// The complete rows of a spool.
pub(crate) struct SpooledRows {
    pieces: Vec<Piece>,
    /// The file of what is stored.
    file: Option<(Arc<QuerySpill>, Arc<SpillFile>)>,
}

/// One worker's end of a pipeline into a spool.
pub(crate) struct SpoolSink(pub(crate) Arc<Spool>);

impl Spool {
    /// A spool without rows. Without `spill`, exceeding the budget is an error.
    pub(crate) fn new(
        operator: &'static str,
        column_count: usize,
        budget: Arc<dyn MemoryBudget>,
        spill: Option<(&Arc<QuerySpill>, usize)>,
        tuning: SpoolTuning,
    ) -> Self {
        let spilling = spill.map(|(spill, worker_count)| Spilling {
            spill: spill.clone(),
            memory: OperatorMemory::new(spill, worker_count),
            file: OnceLock::new(),
        });
        Self { operator, column_count, budget, spilling, tuning, writers: Mutex::default() }
    }

    /// Adds rows.
    ///
    /// # Errors
    /// When the rows can neither be kept in memory nor written.
    pub(crate) fn add(&self, batch: &mut Batch) -> Result<(), ExecError> {
        let free = self.writers.lock().pop();
        let mut writer = free.unwrap_or_else(|| self.writer());
        let added = self.add_to(&mut writer, batch);
        self.writers.lock().push(writer);
        added
    }

    /// Makes the rows of all workers so far precede those that follow.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub(crate) fn close_step(&self) -> Result<(), ExecError> {
        let mut writers = std::mem::take(&mut *self.writers.lock()).into_iter();
        let Some(mut first) = writers.next() else { return Ok(()) };
        for mut other in writers {
            if !other.pieces.is_empty() {
                first.close_piece(self.no_rows());
                first.pieces.append(&mut other.pieces);
                first.piece_bytes += other.piece_bytes;
            }
            let mut rows = other.current.into_result().into_batch();
            drop(other.memory);
            if rows.row_count() > 0 {
                self.add_to(&mut first, &mut rows)?;
            }
        }
        self.writers.lock().push(first);
        Ok(())
    }

    /// All rows. The spool is empty afterwards.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub(crate) fn finish(&self) -> Result<SpooledRows, ExecError> {
        let mut pieces = Vec::new();
        for mut writer in std::mem::take(&mut *self.writers.lock()) {
            // Rows of which there were too few to be written may be without a reservation.
            match (writer.current.reserve(), &self.spilling) {
                (Err(ExecError::Memory(_)), Some(spilling)) => {
                    let rows = std::mem::replace(&mut writer.current, self.no_rows()).into_result();
                    writer.pieces.extend(spilling.write(&rows)?.into_iter().map(Piece::Stored));
                }
                (reserved, _) => reserved?,
            }
            writer.close_piece(self.no_rows());
            pieces.append(&mut writer.pieces);
        }
        let file =
            self.spilling.as_ref().and_then(|spilling| Some((spilling.spill.clone(), spilling.file.get()?.clone())));
        Ok(SpooledRows { pieces, file })
    }

    fn writer(&self) -> Writer {
        let memory = self.spilling.as_ref().map(|spilling| spilling.memory.of_worker());
        Writer { pieces: Vec::new(), piece_bytes: 0, current: self.no_rows(), memory }
    }

    fn no_rows(&self) -> CollectedRows {
        CollectedRows::new(self.column_count, Reservation::new(self.budget.clone(), self.operator))
    }

    fn add_to(&self, writer: &mut Writer, batch: &mut Batch) -> Result<(), ExecError> {
        match (writer.current.consume(batch), &self.spilling) {
            (Err(ExecError::Memory(_)), Some(spilling)) => self.make_room(writer, spilling)?,
            (consumed, _) => consumed?,
        }
        let SpoolTuning { piece_rows, piece_bytes } = self.tuning;
        if writer.current.row_count() >= piece_rows || writer.current.bytes() >= piece_bytes {
            writer.close_piece(self.no_rows());
        }
        let Some(spilling) = &self.spilling else { return Ok(()) };
        while writer.exceeds_share() && self.spill_oldest(writer, spilling)? {}
        Ok(())
    }

    /// Reserves the memory of rows that are already in memory, after a refusal, by writing pieces. Rows that are too few to be worth
    /// writing stay without a reservation; other operators hold the memory.
    fn make_room(&self, writer: &mut Writer, spilling: &Spilling) -> Result<(), ExecError> {
        loop {
            spilling.spill.wait_for_writes()?;
            match writer.current.reserve() {
                Err(ExecError::Memory(_)) if !spilling.memory.is_worth_writing(writer.bytes()) => return Ok(()),
                Err(ExecError::Memory(_)) if self.spill_oldest(writer, spilling)? => {}
                reserved => return reserved,
            }
        }
    }

    /// Writes the oldest piece in memory, or the rows after all pieces. False if no rows are in memory.
    fn spill_oldest(&self, writer: &mut Writer, spilling: &Spilling) -> Result<bool, ExecError> {
        let is_here = |piece: &Piece| matches!(piece, Piece::Here(_));
        let oldest = writer.pieces.iter().position(is_here).or_else(|| {
            writer.close_piece(self.no_rows());
            writer.pieces.iter().position(is_here)
        });
        let Some(at) = oldest else { return Ok(false) };
        let Piece::Here(rows) = writer.pieces[at].clone() else { unreachable!("the piece is in memory") };
        let blocks = spilling.write(&rows)?;
        writer.piece_bytes -= rows.bytes();
        writer.pieces.splice(at..=at, blocks.into_iter().map(Piece::Stored));
        Ok(true)
    }
}

impl Spilling {
    fn write(&self, rows: &ResultRows) -> Result<Vec<BlockPlace>, ExecError> {
        if self.file.get().is_none() {
            // Another worker may have created the file meanwhile.
            drop(self.file.set(self.spill.create_file()?));
        }
        let file = self.file.get().expect("there is one by now");
        self.spill.write_in_blocks(file, rows.row_count(), rows.columns())
    }
}

impl Writer {
    fn bytes(&self) -> usize {
        self.piece_bytes + self.current.bytes()
    }

    /// Whether the spool exceeds its share, and this writer has much of it.
    fn exceeds_share(&mut self) -> bool {
        let bytes = self.bytes();
        self.memory.as_mut().is_some_and(|memory| memory.set_held(bytes))
    }

    /// Makes a piece of the rows after all pieces.
    fn close_piece(&mut self, no_rows: CollectedRows) {
        if self.current.row_count() > 0 {
            let rows = std::mem::replace(&mut self.current, no_rows).into_result();
            self.piece_bytes += rows.bytes();
            self.pieces.push(Piece::Here(Arc::new(rows)));
        }
    }
}

impl SpooledRows {
    /// Whether there are no rows.
    pub(crate) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// The sources of the rows, one after the other. Each can be started any number of times. `in_order`: whether one worker gets the
    /// rows in their order.
    pub(crate) fn sources(&self, in_order: bool) -> Vec<Arc<dyn Source>> {
        let is_alike = |a: &Piece, b: &Piece| matches!(a, Piece::Here(_)) == matches!(b, Piece::Here(_));
        self.pieces.chunk_by(is_alike).map(|pieces| self.source(pieces, in_order)).collect()
    }

    /// The source of pieces that are all in memory, or all in the file.
    fn source(&self, pieces: &[Piece], in_order: bool) -> Arc<dyn Source> {
        let (mut parts, mut blocks) = (Vec::new(), Vec::new());
        for piece in pieces {
            match piece {
                Piece::Here(rows) => parts.push(rows.clone()),
                Piece::Stored(block) => blocks.push(*block),
            }
        }
        let Some((spill, file)) = self.file.as_ref().filter(|_| !blocks.is_empty()) else {
            return Arc::new(if in_order { ResultSource::parts_in_order(parts) } else { ResultSource::new(parts) });
        };
        let row_count = blocks.iter().map(|block| block.row_count).sum();
        let here = Arc::new(ResultRows::new(0, Vec::new()));
        let stored = SpilledRows { file: file.clone(), blocks, here, row_count };
        let source = StoredRowsSource::new(spill.clone(), Arc::new(stored));
        Arc::new(if in_order { source.in_order() } else { source })
    }
}

impl Sink for SpoolSink {
    fn consume(&mut self, mut batch: Batch) -> Result<(), Stop> {
        Ok(self.0.add(&mut batch)?)
    }
}
