//! The hash join in pipelines: the sink of the build side, the operator of the probe side, and the source of unmatched rows.
//!
//! The build side keeps only the columns that are read. The join's rows therefore have fewer columns than in the plan;
//! [`JoinLayout`] moves them to their positions in the plan when they are returned.

use std::fmt;
use std::sync::Arc;

use braid_storage::Scalar;
use futures::future::BoxFuture;
use parking_lot::Mutex;

use crate::expression::{Comparison, Evaluator};
use crate::joins::hash::{JoinProbe, JoinTable, UnmatchedRows};
use crate::plan::JoinCondition;
use crate::plan::JoinKind;
use crate::plan::SideWidths;
use crate::runtime::collected_rows::CollectedRows;
use crate::runtime::pipeline::{Feed, Morsel, Next, Operator, RowFilter, Sink, Source, StartedSource};
use crate::runtime::stop::{Stop, StopFlag};
use crate::runtime::turn::Turn;
use crate::{Batch, ExecError, Expression, MemoryBudget, Vector};

/// Number of morsels of the unmatched build rows, which limits the workers.
const UNMATCHED_PARTS: usize = 64;

/// The columns that a join reads, keeps and returns.
#[derive(Debug)]
pub(crate) struct JoinLayout {
    /// Whether each column of the probe side is read.
    pub(crate) probe_read: Vec<bool>,
    /// Whether each column of the build side is read.
    pub(crate) build_read: Vec<bool>,
    /// The columns of the build side that are read, as a list. The table keeps these.
    pub(crate) build_columns: Vec<usize>,
    /// The positions of the keys among the kept columns.
    pub(crate) build_keys: Vec<usize>,
    /// The further condition, over the probe side's columns and the kept ones.
    residual: Option<Expression>,
    /// What is not false for pairs that may make a mark null, over the same columns.
    possible: Option<Expression>,
    /// Number of columns within the join.
    joined_count: usize,
    probe_count: usize,
    kind: JoinKind,
    /// The key columns of the probe side, each with that of the build side.
    keys: Vec<(usize, usize)>,
    /// The position in the join of each column of the plan.
    columns: Vec<Option<usize>>,
}

impl JoinLayout {
    /// The layout for sides of these widths. `needed` tells which columns of the join's rows are read.
    pub(crate) fn new(condition: &JoinCondition, widths: SideWidths, needed: &[bool]) -> Self {
        let SideWidths { probe: probe_count, build: build_count } = widths;
        let kind = condition.kind.columns();
        let (mut probe_read, mut build_read) = (vec![false; probe_count], vec![false; build_count]);
        let probe_needed = if kind.probe { probe_count } else { 0 };
        probe_read[..probe_needed].copy_from_slice(&needed[..probe_needed]);
        let build_first = probe_needed + usize::from(kind.mark);
        if kind.build {
            build_read.copy_from_slice(&needed[build_first..]);
        }
        condition.probe_keys.iter().for_each(|key| probe_read[*key] = true);
        condition.build_keys.iter().for_each(|key| build_read[*key] = true);
        let mut columns = Vec::new();
        condition.residual.iter().for_each(|residual| residual.columns(&mut columns));
        for column in columns {
            match column.checked_sub(probe_count) {
                None => probe_read[column] = true,
                Some(column) => build_read[column] = true,
            }
        }
        let build_columns: Vec<usize> = (0..build_count).filter(|column| build_read[*column]).collect();
        let place = |column: usize| build_columns.iter().position(|kept| *kept == column);
        let kept = |column: usize| place(column).expect("what is read is kept");
        let build_keys: Vec<usize> = condition.build_keys.iter().map(|key| kept(*key)).collect();
        let residual = condition.residual.clone().map(|mut residual| {
            residual.map_columns(&mut |column| match column.checked_sub(probe_count) {
                None => column,
                Some(column) => probe_count + kept(column),
            });
            residual
        });
        let equalities =
            condition.probe_keys.iter().zip(&build_keys).map(|(probe, build)| equal(*probe, probe_count + build));
        let (residual, possible) = match condition.kind {
            JoinKind::ProbeTruth => {
                let residual = residual.unwrap_or(Expression::Constant(Some(Scalar::Bool(true))));
                let equalities = equalities.filter(|_| condition.null_keys.are_unknown());
                (Some(residual.clone()), Some(Expression::And(equalities.chain([residual]).collect())))
            }
            _ => (residual, None),
        };
        let mut columns: Vec<Option<usize>> = (0..build_first).map(Some).collect();
        if kind.build {
            columns.extend((0..build_count).map(|column| place(column).map(|place| build_first + place)));
        }
        let joined_count = build_first + if kind.build { build_columns.len() } else { 0 };
        Self {
            probe_read,
            build_read,
            build_keys,
            build_columns,
            residual,
            possible,
            joined_count,
            probe_count: probe_needed,
            kind: condition.kind,
            keys: condition.probe_keys.iter().copied().zip(condition.build_keys.iter().copied()).collect(),
            columns,
        }
    }

    /// Number of columns of the returned rows.
    pub(crate) fn column_count(&self) -> usize {
        self.columns.len()
    }

    /// The column of the probe side that a column comes from, if a filter on it may drop probe rows.
    pub(crate) fn filtered_probe_column(&self, column: usize) -> Option<usize> {
        // If build rows without a partner are returned, dropping a probe row would change the result.
        (!self.kind.marks_build_rows() && column < self.probe_count).then_some(column)
    }

    /// The column of the build side that a column comes from, if a filter on it may drop build rows. It is a column of the build
    /// side, or a key of the probe side that equals one.
    pub(crate) fn filtered_build_column(&self, column: usize) -> Option<usize> {
        let kind = self.kind.columns();
        if let Some(column) = column.checked_sub(self.probe_count + usize::from(kind.mark)) {
            // A second partner is an error, also one that is dropped above.
            let is_kept = matches!(self.kind, JoinKind::FullOuter | JoinKind::ProbeSingle);
            return (kind.build && !is_kept).then_some(column);
        }
        let equal = matches!(self.kind, JoinKind::Inner | JoinKind::ProbeSemi);
        let mut keys = self.keys.iter().filter(|(probe, _)| equal && *probe == column);
        keys.next().map(|(_, build)| *build)
    }

    /// Moves columns to their positions in the plan.
    fn place(&self, mut batch: Batch) -> Batch {
        assert_eq!(batch.column_count(), self.joined_count, "a join's rows have the columns of its layout");
        batch.project(&self.columns);
        batch
    }
}

/// Collects the build side.
pub(crate) struct BuildSink {
    rows: CollectedRows,
    columns: Vec<Option<usize>>,
}

impl BuildSink {
    pub(crate) fn new(rows: CollectedRows, columns: Vec<usize>) -> Self {
        Self { rows, columns: columns.into_iter().map(Some).collect() }
    }

    pub(crate) fn into_rows(self) -> CollectedRows {
        self.rows
    }
}

impl Sink for BuildSink {
    fn consume(&mut self, mut batch: Batch) -> Result<(), Stop> {
        batch.project(&self.columns);
        Ok(self.rows.consume(&mut batch)?)
    }
}

/// The probe as an operator.
pub(crate) struct ProbeOperator {
    probe: JoinProbe,
    turn: Turn,
    layout: Arc<JoinLayout>,
}

impl ProbeOperator {
    /// One worker's operator. It checks for cancellation between pairs, because one batch may make very many of them.
    pub(crate) fn new(
        table: Arc<JoinTable>,
        layout: Arc<JoinLayout>,
        cancelled: StopFlag,
        budget: &Arc<dyn MemoryBudget>,
    ) -> Self {
        let turn = Turn::new(cancelled);
        let residual = layout.residual.clone().map(|residual| {
            let (mut residual, turn) = (Evaluator::new(residual, budget), turn.clone());
            let test = move |batch: &mut Batch| turn.go_on(|| Ok(residual.select(batch)?));
            Box::new(test) as crate::joins::hash::Residual
        });
        let possible = layout.possible.clone().map(|possible| {
            let (mut possible, turn) = (Evaluator::new(possible, budget), turn.clone());
            let test = move |batch: &mut Batch| turn.go_on(|| Ok(not_false(&*possible.evaluate(batch)?)));
            Box::new(test) as crate::joins::hash::Residual
        });
        Self { probe: JoinProbe::new(table, residual).with_possible(possible), turn, layout }
    }
}

/// An equality of columns.
fn equal(left: usize, right: usize) -> Expression {
    let (left, right) = (Box::new(Expression::Column(left)), Box::new(Expression::Column(right)));
    Expression::Compare { comparison: Comparison::Equal, left, right }
}

/// Whether each value is true or null.
fn not_false(values: &Vector) -> Vec<bool> {
    (0..values.len()).map(|row| values.value(row) != Some(Scalar::Bool(false))).collect()
}

impl Operator for ProbeOperator {
    fn push(&mut self, batch: Batch, next: &mut Next<'_>) -> Result<(), Stop> {
        let layout = &self.layout;
        self.turn.begin();
        self.probe.probe(batch, &mut |batch| next(layout.place(batch)))
    }
}

/// The build rows that the join returns after the probe.
pub(crate) struct UnmatchedSource {
    table: Arc<JoinTable>,
    layout: Arc<JoinLayout>,
}

impl UnmatchedSource {
    pub(crate) fn new(table: Arc<JoinTable>, layout: Arc<JoinLayout>) -> Self {
        Self { table, layout }
    }
}

impl fmt::Debug for UnmatchedSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.describe())
    }
}

impl Source for UnmatchedSource {
    fn worker_count_max(&self) -> usize {
        UNMATCHED_PARTS
    }

    fn start(&self, _: &[RowFilter]) -> Arc<dyn StartedSource> {
        let parts = self.table.unmatched(self.layout.probe_count).split(UNMATCHED_PARTS);
        Arc::new(Arc::new(StartedUnmatched { parts: Mutex::new(parts), layout: self.layout.clone() }))
    }

    fn row_count_max(&self) -> Option<u64> {
        Some(self.table.row_count() as u64)
    }

    fn describe(&self) -> String {
        "rows of the build side".to_owned()
    }
}

struct StartedUnmatched {
    parts: Mutex<Vec<UnmatchedRows>>,
    layout: Arc<JoinLayout>,
}

impl StartedSource for Arc<StartedUnmatched> {
    fn feed(&self) -> Box<dyn Feed> {
        Box::new(self.clone())
    }
}

impl Feed for Arc<StartedUnmatched> {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Box<dyn Morsel + '_>>, ExecError>> {
        let part = self.parts.lock().pop();
        let morsel =
            part.map(|batches| Box::new(UnmatchedMorsel { batches, layout: self.layout.clone() }) as Box<dyn Morsel>);
        Box::pin(std::future::ready(Ok(morsel)))
    }
}

struct UnmatchedMorsel {
    batches: UnmatchedRows,
    layout: Arc<JoinLayout>,
}

impl Morsel for UnmatchedMorsel {
    fn next_batch(&mut self) -> Result<Option<Batch>, ExecError> {
        Ok(self.batches.next().map(|batch| self.layout.place(batch)))
    }
}
