//! The shared form of the hash join, in which the partners of a row depend on the query.
//!
//! The join uses the hash table of an inner join over the rows of all queries. A pair of rows with equal keys belongs to the
//! queries of both rows for which the conditions hold. The join's kind applies to a row separately *for each query*. A row
//! may therefore be returned twice: with a partner for some queries, and with nulls for the others.
//!
//! Each row starts with its query set. A pair removes its queries from the remaining sets of both rows. The final remaining
//! set of a row holds the queries for which it has no partner. [`shared_probe`] tracks it for probe rows, batch by batch;
//! [`shared_table`] tracks it for build rows, which [`shared_unmatched`] returns after all probing.
//!
//! | module | contents |
//! |---|---|
//! | [`shared_table`] | the build side, with the remaining sets of its rows |
//! | [`pair_sets`] | from pairs with equal keys to pairs with sets |
//! | [`shared_probe`] | the operator of the probe side |
//! | [`shared_unmatched`] | the source of the rows that are returned after probing |
//!
//! Within the join, rows have the columns of both sides at the positions that conditions use, without unread columns. The set
//! follows these columns, and the mark follows the set.

#[cfg(test)]
mod measurements;
mod pair_sets;
mod shared_probe;
mod shared_table;
mod shared_unmatched;

use std::sync::Arc;

use crate::joins::hash::JoinSpec;
use crate::joins::not_in::{NotInBuild, NotInSets};
use crate::keys::null_keys::NullKeys;
use crate::plan::JoinCondition;
use crate::plan::JoinKind;
use crate::plan::SideWidths;
use crate::plan::shared_operator::{JoinSets, SetCondition};
use crate::query_sets::set_calculator::{set_column, sets_of};
use crate::tuning::JoinTuning;
use crate::{Batch, Expression, Origin, SetNumber, SetStore, Vector};

pub(crate) use shared_probe::SharedProbe;
pub(crate) use shared_table::SharedTable;
pub(crate) use shared_unmatched::SharedUnmatched;

/// The columns that a shared join reads, keeps and returns.
pub(crate) struct SharedJoinLayout {
    pub(crate) kind: JoinKind,
    null_keys: NullKeys,
    /// Whether each column of the probe side is read.
    pub(crate) probe_read: Vec<bool>,
    /// Whether each column of the build side is read.
    pub(crate) build_read: Vec<bool>,
    /// The columns of the build side that are read, as a list. The table keeps these.
    pub(crate) build_columns: Vec<usize>,
    /// The probe side's keys.
    pub(crate) probe_keys: Vec<usize>,
    build_keys: Vec<usize>,
    probe_set: Option<usize>,
    /// The position of the build side's set among the kept columns.
    kept_set: Option<usize>,
    residual: Option<Expression>,
    condition: Option<SetCondition>,
    /// The positions of both sides' columns among the probe side's columns and the kept ones.
    joined: Vec<Option<usize>>,
    /// The origin of each column of the join's rows.
    columns: Vec<JoinColumn>,
    /// The position of each column in the returned rows; `None` if it is never read.
    places: Vec<Option<usize>>,
}

/// A column of a shared join's rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum JoinColumn {
    Probe(usize),
    Mark,
    Build(usize),
    Set,
}

impl SharedJoinLayout {
    /// The layout for sides of these widths. `needed` tells which columns of the join's rows are read. Panics on a
    /// condition that a plan must not contain.
    pub(crate) fn new(condition: &JoinCondition, sets: &JoinSets, widths: SideWidths, needed: &[bool]) -> Self {
        let SideWidths { probe: probe_count, build: build_count } = widths;
        let may_be_not_in =
            matches!(condition.kind, JoinKind::ProbeAnti | JoinKind::ProbeMark) && condition.probe_keys.len() == 1;
        assert!(may_be_not_in || !condition.null_keys.are_unknown(), "NOT IN has one key");
        let columns = join_columns(condition.kind, sets, widths);
        assert_eq!(columns.len(), needed.len(), "it is known of each column whether it is read");
        let mut read = vec![false; probe_count + build_count];
        for (column, _) in columns.iter().zip(needed).filter(|(_, needed)| **needed) {
            match column {
                JoinColumn::Probe(column) => read[*column] = true,
                JoinColumn::Build(column) => read[probe_count + column] = true,
                JoinColumn::Mark | JoinColumn::Set => {}
            }
        }
        mark_conditions(condition, sets, probe_count, &mut read);
        let build_read = read.split_off(probe_count);
        let build_columns: Vec<usize> = (0..build_count).filter(|column| build_read[*column]).collect();
        let kept = |column: usize| build_columns.iter().position(|kept| *kept == column);
        let expect_kept = |column: usize| kept(column).expect("what is read is kept");
        let of_probe = (0..probe_count).map(|column| read[column].then_some(column));
        let of_build = (0..build_count).map(|column| kept(column).map(|place| probe_count + place));
        let joined: Vec<Option<usize>> = of_probe.chain(of_build).collect();
        let set = if condition.kind.columns().build { joined.len() } else { probe_count };
        let place = |(column, needed): (&JoinColumn, &bool)| match column {
            JoinColumn::Set => Some(set),
            _ if !needed => None,
            JoinColumn::Probe(column) => Some(*column),
            JoinColumn::Build(column) => Some(probe_count + column),
            JoinColumn::Mark => Some(set + 1),
        };
        Self {
            kind: condition.kind,
            null_keys: condition.null_keys,
            probe_keys: condition.probe_keys.clone(),
            build_keys: condition.build_keys.clone(),
            probe_set: sets.probe,
            kept_set: sets.build.map(expect_kept),
            residual: condition.residual.clone(),
            condition: sets.condition.clone(),
            places: columns.iter().zip(needed).map(place).collect(),
            probe_read: read,
            build_read,
            build_columns,
            joined,
            columns,
        }
    }

    /// The specification of the hash table, without conditions and kind, which the shared join evaluates itself.
    pub(crate) fn table_spec(&self, tuning: JoinTuning) -> JoinSpec {
        let kept = |key: &usize| self.build_columns.iter().position(|kept| kept == key).expect("keys are kept");
        JoinSpec {
            tuning,
            kind: JoinKind::Inner,
            build_keys: self.build_keys.iter().map(kept).collect(),
            probe_keys: self.probe_keys.clone(),
            null_keys: match self.null_keys {
                NullKeys::Unknown => NullKeys::EqualNothing,
                known => known,
            },
            has_residual: false,
            build_column_count: self.build_columns.len(),
        }
    }

    /// Whether the sides can be partitioned by key. NOT IN with a further condition cannot, because each null needs all rows.
    pub(crate) fn can_be_divided(&self) -> bool {
        !(self.null_keys.are_unknown() && self.has_conditions())
    }

    /// What NOT IN needs to know of a build side that is partitioned; `None` for other joins.
    pub(crate) fn not_in(&self, store: &Arc<SetStore>) -> Option<NotInBuild> {
        let kept = |key: &usize| self.build_columns.iter().position(|kept| kept == key).expect("keys are kept");
        let key = self.build_keys.first().filter(|_| self.null_keys.are_unknown())?;
        let sets = NotInSets { store: store.clone(), column: self.kept_set };
        Some(NotInBuild { key: kept(key), sets: Some(sets) })
    }

    /// Number of columns of the returned rows.
    pub(crate) fn column_count(&self) -> usize {
        self.columns.len()
    }

    /// The column of the probe side that a column comes from, if a filter on it may drop probe rows.
    pub(crate) fn filtered_probe_column(&self, column: usize) -> Option<usize> {
        match self.columns[column] {
            // If build rows without a partner are returned, dropping a probe row would change the result.
            JoinColumn::Probe(column) => (!self.kind.marks_build_rows()).then_some(column),
            _ => None,
        }
    }

    /// The column of the build side that a column comes from, if a filter on it may drop build rows. It is a column of the build
    /// side, or a key of the probe side that equals one.
    pub(crate) fn filtered_build_column(&self, column: usize) -> Option<usize> {
        match self.columns[column] {
            // A second partner is an error, also one that is dropped above.
            JoinColumn::Build(column) => {
                (!matches!(self.kind, JoinKind::FullOuter | JoinKind::ProbeSingle)).then_some(column)
            }
            JoinColumn::Probe(column) if matches!(self.kind, JoinKind::Inner | JoinKind::ProbeSemi) => {
                let mut keys = self.probe_keys.iter().zip(&self.build_keys);
                keys.find(|(probe, _)| **probe == column).map(|(_, build)| *build)
            }
            _ => None,
        }
    }

    /// Whether there are conditions beyond equal keys.
    fn has_conditions(&self) -> bool {
        self.residual.is_some() || self.condition.is_some()
    }

    /// The sets of a batch of the probe side.
    fn probe_sets(&self, batch: &mut Batch) -> Vec<SetNumber> {
        match self.probe_set {
            Some(column) => sets_of(&batch.column(column)),
            None => vec![SetNumber::ALL; batch.row_count()],
        }
    }

    /// Appends the columns of these build rows to those of the probe side.
    fn join(&self, mut batch: Batch, table: Arc<dyn Origin>, build_rows: Vec<u32>) -> Batch {
        batch.push_deferred(table, build_rows, 0..self.build_columns.len());
        batch.project(&self.joined);
        batch
    }

    /// Build rows with nulls for the probe side.
    fn join_nothing(&self, table: Arc<dyn Origin>, build_rows: Vec<u32>) -> Batch {
        let mut batch = Batch::new(build_rows.len());
        let nulls = Arc::new(Vector::repeat(None, build_rows.len()));
        (0..self.probe_read.len()).for_each(|_| batch.push(nulls.clone()));
        self.join(batch, table, build_rows)
    }

    /// The returned rows, with their sets and the mark of a mark join.
    fn finish(&self, mut batch: Batch, sets: &[SetNumber], mark: Option<Vector>) -> Batch {
        batch.push(Arc::new(set_column(sets)));
        mark.into_iter().for_each(|mark| batch.push(Arc::new(mark)));
        batch.project(&self.places);
        batch
    }
}

/// The columns of a join's rows.
fn join_columns(kind: JoinKind, sets: &JoinSets, widths: SideWidths) -> Vec<JoinColumn> {
    let kind = kind.columns();
    let probe = (0..widths.probe).filter(|column| kind.probe && Some(*column) != sets.probe);
    let build = (0..widths.build).filter(|column| kind.build && Some(*column) != sets.build);
    let mark = kind.mark.then_some(JoinColumn::Mark);
    let columns = probe.map(JoinColumn::Probe).chain(mark).chain(build.map(JoinColumn::Build));
    columns.chain([JoinColumn::Set]).collect()
}

/// Marks the columns of both sides that keys, conditions and sets read.
fn mark_conditions(condition: &JoinCondition, sets: &JoinSets, probe_count: usize, read: &mut [bool]) {
    let mut columns = Vec::new();
    condition.residual.iter().for_each(|residual| residual.columns(&mut columns));
    columns.extend(sets.condition.iter().flat_map(|condition| &condition.columns));
    columns.extend(condition.probe_keys.iter().copied().chain(sets.probe));
    columns.extend(condition.build_keys.iter().copied().chain(sets.build).map(|column| probe_count + column));
    columns.into_iter().for_each(|column| read[column] = true);
}
