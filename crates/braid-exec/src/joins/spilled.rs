//! A join whose build side exceeds the memory: the sink that partitions the build side, and the operator that partitions the
//! probe side.
//!
//! Build rows are collected as usual until they exceed the memory. They are then partitioned by the hash of their keys, and as
//! many partitions spill as necessary. Probe rows of the partitions in memory are joined at once. The other probe rows are
//! written, and are joined partition by partition when both sides are complete (`executor/join`).

use std::sync::{Arc, OnceLock};

use braid_base::VECTOR_ROWS;
use futures::future::BoxFuture;
use parking_lot::Mutex;

use crate::joins::hash::{Elsewhere, SharedBloom};
use crate::joins::not_in::{NotInBuild, NotInNotes};
use crate::keys::key_filter::KeyFilter;
use crate::keys::null_keys::NullKeys;
use crate::runtime::collected_rows::CollectedRows;
use crate::runtime::pipeline::{Next, Operator, Sink};
use crate::runtime::stop::Stop;
use crate::spill::{Divided, Divider, OperatorMemory, PARTITIONS, PartitionedRows, QuerySpill, WorkerMemory};
use crate::{Batch, ExecError, Reservation};

/// Approximate bytes of the directory per row: a hash, a slot of a half-empty table, and a number.
const DIRECTORY_ROW_BYTES: usize = 24;

/// Bytes of an operator's share per byte of the filter of the build side's keys.
const BLOOM_SHARE: usize = 8;

/// A build side that can spill.
pub(crate) struct SpillableBuild {
    spill: Arc<QuerySpill>,
    memory: Arc<OperatorMemory>,
    layout: SpillableLayout,
    division: OnceLock<Division>,
}

/// The rows of a build side that can spill, and how they are partitioned.
pub(crate) struct SpillableLayout {
    /// Number of kept columns.
    pub(crate) column_count: usize,
    /// The positions of the keys among the kept columns.
    pub(crate) keys: Arc<[usize]>,
    /// The level of the partitions: the bits of a hash that number them.
    pub(crate) level: u32,
    /// Rows of one piece of the collected rows.
    pub(crate) piece_rows: usize,
    /// Whether the keys are added to a filter for the source of the probe side.
    pub(crate) notes_keys: bool,
    /// What is noted of the whole build side for NOT IN.
    pub(crate) not_in: Option<NotInBuild>,
}

/// The partitions of a build side that exceeds the memory.
struct Division {
    rows: PartitionedRows,
    keys: Option<SharedBloom>,
    /// The properties of all its rows, as far as the join needs them.
    whole: Mutex<Elsewhere>,
}

/// A partitioned build side.
pub(crate) struct DividedRows {
    pub(crate) partitions: Divided,
    /// The filter for the source of the probe side.
    pub(crate) keys: Option<KeyFilter>,
    /// The properties of all its rows, as far as the join needs them.
    pub(crate) whole: Elsewhere,
}

impl SpillableBuild {
    /// A build side without rows.
    pub(crate) fn new(spill: Arc<QuerySpill>, worker_count: usize, layout: SpillableLayout) -> Arc<Self> {
        let memory = OperatorMemory::new(&spill, worker_count);
        Arc::new(Self { spill, memory, layout, division: OnceLock::new() })
    }

    /// Whether the rows are partitioned.
    pub(crate) fn is_divided(&self) -> bool {
        self.division.get().is_some()
    }

    fn begin_to_divide(&self) -> Result<&Division, ExecError> {
        if self.division.get().is_none() {
            let (spill, memory) = (self.spill.clone(), self.memory.clone());
            let bloom = || SharedBloom::of_bytes(memory.share() / BLOOM_SHARE, spill.budget().clone());
            let keys = self.layout.notes_keys.then(bloom).flatten();
            let rows =
                PartitionedRows::new(spill, memory, OPERATOR, self.layout.column_count, Some(DIRECTORY_ROW_BYTES))?;
            // Another worker may have started meanwhile.
            let whole = Mutex::new(Elsewhere { has_rows: true, ..Elsewhere::default() });
            drop(self.division.set(Division { rows, keys, whole }));
        }
        Ok(self.division.get().expect("there are some by now"))
    }

    /// The partitioned rows. Panics unless they are partitioned.
    pub(crate) fn into_divided(self, null_keys: NullKeys) -> DividedRows {
        let Division { rows, keys, whole } = self.division.into_inner().expect("the rows were divided");
        let keys = keys.and_then(|keys| keys.into_filter(null_keys));
        DividedRows { partitions: rows.divided(), keys, whole: whole.into_inner() }
    }
}

/// The operator's name in errors.
const OPERATOR: &str = "hash join";

/// One worker's sink of a build side that can spill.
pub(crate) struct SpillingBuildSink {
    build: Arc<SpillableBuild>,
    columns: Vec<Option<usize>>,
    pieces: Vec<CollectedRows>,
    /// The bytes of all pieces but the last.
    closed_bytes: usize,
    memory: WorkerMemory,
    divider: Divider,
    not_in: Option<NotInNotes>,
}

impl SpillingBuildSink {
    /// A sink that keeps these columns.
    pub(crate) fn new(build: Arc<SpillableBuild>, columns: &[usize]) -> Self {
        let (memory, divider) = (build.memory.of_worker(), Divider::new(build.layout.keys.clone(), build.layout.level));
        let columns = columns.iter().copied().map(Some).collect();
        let not_in = build.layout.not_in.clone().map(NotInNotes::new);
        Self { build, columns, pieces: Vec::new(), closed_bytes: 0, memory, divider, not_in }
    }

    /// The rows of a build side that is not partitioned.
    pub(crate) fn into_rows(self) -> Vec<CollectedRows> {
        self.pieces
    }

    fn collect(&mut self, batch: &mut Batch) -> Result<(), ExecError> {
        if self.pieces.last().is_none_or(|piece| piece.row_count() >= self.build.layout.piece_rows) {
            self.closed_bytes = self.bytes();
            let reservation = Reservation::new(self.build.spill.budget().clone(), OPERATOR);
            self.pieces.push(CollectedRows::new(self.columns.len(), reservation));
        }
        self.pieces.last_mut().expect("there is one").consume(batch)
    }

    fn bytes(&self) -> usize {
        self.closed_bytes + self.pieces.last().map_or(0, bytes_with_directory)
    }

    fn divide(&mut self, division: &Division, mut batch: Batch) -> Result<(), ExecError> {
        if let Some(not_in) = &mut self.not_in {
            not_in.note(&mut batch, &division.whole)?;
        }
        self.divider.divide(&mut batch);
        if let Some(keys) = &division.keys {
            keys.insert(self.divider.hashes());
        }
        division.rows.add(&batch.all_columns(), self.divider.rows())
    }

    /// Partitions one piece of the collected rows; false if no piece is left.
    fn divide_piece(&mut self) -> Result<bool, ExecError> {
        let Some(piece) = self.pieces.pop() else { return Ok(false) };
        self.closed_bytes -= self.pieces.last().map_or(0, bytes_with_directory);
        let build = self.build.clone();
        let division = build.begin_to_divide()?;
        let piece = Arc::new(piece.into_result());
        let numbers: Vec<u32> = (0..piece.row_count() as u32).collect();
        for numbers in numbers.chunks(VECTOR_ROWS) {
            let mut batch = Batch::new(numbers.len());
            batch.push_deferred(piece.clone(), numbers.to_vec(), 0..self.columns.len());
            self.divide(division, batch)?;
        }
        drop(piece);
        let bytes = self.bytes();
        self.memory.set_held(bytes);
        Ok(true)
    }

    /// Partitions the collected rows, if the build side exceeds the memory.
    pub(crate) async fn spill_all(&mut self) -> Result<(), ExecError> {
        while self.build.is_divided() && self.divide_piece()? {
            tokio::task::yield_now().await;
        }
        Ok(())
    }
}

fn bytes_with_directory(piece: &CollectedRows) -> usize {
    piece.bytes() + piece.row_count() * DIRECTORY_ROW_BYTES
}

impl Sink for SpillingBuildSink {
    fn consume(&mut self, mut batch: Batch) -> Result<(), Stop> {
        batch.project(&self.columns);
        let build = self.build.clone();
        if let Some(division) = build.division.get() {
            return Ok(self.divide(division, batch)?);
        }
        let collected = self.collect(&mut batch);
        let bytes = self.bytes();
        let is_full = self.memory.set_held(bytes);
        let collected = match collected {
            Err(ExecError::Memory(_)) => {
                build.spill.wait_for_writes()?;
                self.pieces.last_mut().expect("the rows are in it").reserve()
            }
            collected => collected,
        };
        match collected {
            Err(ExecError::Memory(_)) if self.memory.is_worth_writing() => {
                while self.divide_piece()? {}
                Ok(())
            }
            Ok(()) if is_full => {
                build.begin_to_divide()?;
                Ok(())
            }
            collected => Ok(collected?),
        }
    }

    fn is_ready(&self) -> bool {
        self.pieces.is_empty() || !self.build.is_divided()
    }

    fn ready(&mut self) -> BoxFuture<'_, Result<(), ExecError>> {
        Box::pin(self.spill_all())
    }
}

/// The probe side of a partitioned join.
pub(crate) struct SpilledProbe {
    /// The probe side's keys, and the columns to keep of written rows.
    pub(crate) keys: Vec<usize>,
    pub(crate) columns: Vec<usize>,
    pub(crate) null_keys: NullKeys,
    pub(crate) level: u32,
    /// For each partition, whether its build rows are spilled.
    pub(crate) is_spilled: [bool; PARTITIONS],
    pub(crate) rows: PartitionedRows,
}

/// Probes the build rows in memory, and writes the probe rows of other partitions.
pub(crate) struct SpillingProbe {
    probe: Box<dyn Operator>,
    of_all: Arc<SpilledProbe>,
    divider: Divider,
}

impl SpillingProbe {
    pub(crate) fn new(probe: Box<dyn Operator>, of_all: Arc<SpilledProbe>) -> Self {
        let divider = Divider::new(of_all.keys.clone().into(), of_all.level);
        Self { probe, of_all, divider }
    }
}

impl Operator for SpillingProbe {
    fn push(&mut self, mut batch: Batch, next: &mut Next<'_>) -> Result<(), Stop> {
        let SpilledProbe { keys, columns, null_keys, is_spilled, rows, .. } = &*self.of_all;
        let has_null = |batch: &mut Batch| {
            let mut has_null = vec![false; batch.row_count()];
            for key in keys {
                if let Some(valid) = batch.column(*key).valid() {
                    has_null.iter_mut().zip(valid).for_each(|(has_null, valid)| *has_null |= !valid);
                }
            }
            has_null
        };
        // A null that equals nothing has no partner in any partition.
        let stays = if null_keys.are_equal() { vec![false; batch.row_count()] } else { has_null(&mut batch) };
        self.divider.divide(&mut batch);
        let waiting = self.divider.rows_mut();
        let mut is_here = stays.clone();
        for (rows, is_spilled) in waiting.iter_mut().zip(is_spilled) {
            if *is_spilled {
                rows.retain(|row| !stays[*row as usize]);
            } else {
                rows.drain(..).for_each(|row| is_here[row as usize] = true);
            }
        }
        let waits: Vec<bool> = is_here.iter().map(|is_here| !is_here).collect();
        if waits.contains(&true) {
            let mut written = batch.clone();
            written.project(&columns.iter().copied().map(Some).collect::<Vec<_>>());
            written.retain(&waits);
            renumber(waiting, &waits);
            rows.add(&written.all_columns(), waiting)?;
        }
        batch.retain(&is_here);
        if batch.row_count() == 0 { Ok(()) } else { self.probe.push(batch, next) }
    }
}

/// Renumbers rows after the rows that are not kept have been removed.
fn renumber(rows: &mut [Vec<u32>], keep: &[bool]) {
    let mut count = 0;
    let place = |keep: &bool| {
        count += u32::from(*keep);
        count - u32::from(*keep)
    };
    let places: Vec<u32> = keep.iter().map(place).collect();
    rows.iter_mut().flatten().for_each(|row| *row = places[*row as usize]);
}
