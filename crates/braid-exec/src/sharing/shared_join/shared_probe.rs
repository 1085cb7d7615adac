//! The probe of a shared join: from a batch of the probe side to the returned rows and their sets.
//!
//! Each row of a batch has a remaining set: the queries for which it has found no partner so far. A join that only tests for a
//! partner skips pairs of other queries, and skips rows with an empty remaining set.

use std::sync::Arc;

use braid_base::VECTOR_ROWS;

use crate::joins::hash::{JoinProbe, PairStream};
use crate::plan::JoinKind;
use crate::query_sets::set_calculator::{SetCalculator, SetOperation, drop_unwanted};
use crate::runtime::pipeline::{Next, Operator};
use crate::runtime::stop::{Stop, StopFlag};
use crate::runtime::turn::Turn;
use crate::sharing::shared_join::SharedTable;
use crate::sharing::shared_join::pair_sets::{PairConditions, SetPairs};
use crate::values::vector::{NO_ROW, Values};
use crate::{Batch, ExecError, SetNumber, Vector};

/// One worker's probe operator.
pub(crate) struct SharedProbe {
    shared: Arc<SharedTable>,
    probe: JoinProbe,
    conditions: PairConditions,
    calculator: SetCalculator,
    turn: Turn,
}

/// The rows that a batch makes in a mark join.
#[derive(Default)]
struct MarkedRows {
    rows: Vec<u32>,
    marks: Vec<bool>,
    /// Whether the mark is not null.
    known: Vec<bool>,
    sets: Vec<SetNumber>,
}

impl SharedProbe {
    /// One worker's operator. It checks for cancellation between pairs, because one batch may make very many of them.
    pub(crate) fn new(shared: Arc<SharedTable>, cancelled: StopFlag) -> Self {
        let probe = JoinProbe::new(shared.table.clone(), None);
        let conditions = PairConditions::new(&shared.layout, shared.store.budget());
        let calculator = SetCalculator::new(shared.store.clone());
        Self { shared, probe, conditions, calculator, turn: Turn::new(cancelled) }
    }

    /// Removes from `left` the queries for which a row has a partner, if keys alone decide.
    fn match_groups(&mut self, batch: &mut Batch, left: &mut [SetNumber]) -> Result<(), ExecError> {
        let sets = self.shared.build_sets();
        let groups = self.probe.groups(batch);
        for (left, group) in left.iter_mut().zip(groups) {
            *left = self.calculator.subtract(*left, self.shared.group_set(sets, *group))?;
        }
        Ok(())
    }

    /// Processes pairs: removes their queries from `left` and from the remaining sets of build rows, and returns the pairs if
    /// the kind does. `sets` are the sets of the batch's rows.
    fn match_pairs(
        &mut self,
        batch: &Batch,
        mut stream: PairStream,
        sets: &[SetNumber],
        left: &mut [SetNumber],
        next: &mut Next<'_>,
    ) -> Result<(), Stop> {
        let (shared, turn) = (self.shared.clone(), self.turn.clone());
        let (kind, build_sets) = (shared.layout.kind, shared.build_sets());
        let counts_once = kind.marks_build_rows() && !kind.makes_pairs();
        let unwanted = |row: u32| counts_once && shared.waiting(row) == SetNumber::EMPTY;
        let build_set = |row: u32| if counts_once { shared.waiting(row) } else { build_sets.get(row) };
        loop {
            let settled = |row: u32| kind.tests_probe_rows() && left[row as usize] == SetNumber::EMPTY;
            let Some(pairs) = stream.next(&shared.table, settled, unwanted) else { return Ok(()) };
            let pairs = turn.go_on(|| {
                let wanted = if kind.tests_probe_rows() { &*left } else { sets };
                let mut pairs = SetPairs::of(pairs, wanted, build_set, &mut self.calculator)?;
                self.decide(batch, &mut pairs)?;
                self.note(&pairs, left)?;
                Ok(pairs)
            })?;
            if let Some(joined) = pairs.batch.filter(|joined| kind.makes_pairs() && joined.row_count() > 0) {
                next(shared.layout.finish(joined, &pairs.sets, None))?;
            }
        }
    }

    /// Evaluates the conditions on pairs, and adds the columns that are read.
    fn decide(&mut self, batch: &Batch, pairs: &mut SetPairs) -> Result<(), ExecError> {
        let layout = &self.shared.layout;
        if pairs.is_empty() || !(layout.kind.makes_pairs() || layout.has_conditions()) {
            return Ok(());
        }
        pairs.join(batch, &self.shared);
        self.conditions.apply(pairs, &mut self.calculator)
    }

    /// Updates the remaining sets, if the kind needs them.
    fn note(&mut self, pairs: &SetPairs, left: &mut [SetNumber]) -> Result<(), ExecError> {
        let kind = self.shared.layout.kind;
        if kind.keeps_probe_rows() || kind.tests_probe_rows() {
            for (row, set) in pairs.probe_rows.iter().zip(&pairs.sets) {
                let left = &mut left[*row as usize];
                if kind == JoinKind::ProbeSingle {
                    let again = self.calculator.subtract(*set, *left)?;
                    self.fail_second_partner(again);
                }
                *left = self.calculator.subtract(*left, *set)?;
            }
        }
        if kind.marks_build_rows() {
            for (row, set) in pairs.build_rows.iter().zip(&pairs.sets) {
                self.shared.found(*row, *set, &mut self.calculator)?;
            }
        }
        Ok(())
    }

    /// The queries that have a second partner of a row fail. They run alone, and report it there.
    fn fail_second_partner(&self, queries: SetNumber) {
        if queries != SetNumber::EMPTY {
            self.shared.store.gone().fail(&self.shared.store.words(queries), ExecError::SeveralRows);
        }
    }

    /// NOT IN: removes from `left` the queries for which a row would have a partner if null were equal to every value.
    fn match_nulls(&mut self, batch: &mut Batch, left: &mut [SetNumber]) -> Result<(), Stop> {
        let key = batch.column(self.shared.layout.probe_keys[0]);
        if self.shared.decides_by_group() {
            for (row, left) in left.iter_mut().enumerate() {
                *left = self.calculator.subtract(*left, self.shared.perhaps_equal(key.is_valid(row)))?;
            }
            return Ok(());
        }
        let open = |left: &[SetNumber], valid: bool| -> Vec<u32> {
            let open = |row: &usize| left[*row] != SetNumber::EMPTY && key.is_valid(*row) == valid;
            (0..left.len()).filter(open).map(|row| row as u32).collect()
        };
        let next: &mut Next<'_> = &mut |_| unreachable!("joins that know of nulls do not make pairs");
        let with_null_keys = PairStream::with_null_keys(&self.shared.table, open(left, true).into_iter());
        self.match_pairs(batch, with_null_keys, &[], left, next)?;
        let with_all = PairStream::with_all(&self.shared.table, open(left, false).into_iter());
        self.match_pairs(batch, with_all, &[], left, next)
    }

    /// Semi, anti and mark joins: returns the batch's rows according to their remaining sets.
    fn emit_tested(
        &mut self,
        mut batch: Batch,
        mut sets: Vec<SetNumber>,
        mut left: Vec<SetNumber>,
        next: &mut Next<'_>,
    ) -> Result<(), Stop> {
        let kind = self.shared.layout.kind;
        let without_equal = left.clone();
        if self.shared.layout.null_keys.are_unknown() {
            self.match_nulls(&mut batch, &mut left)?;
        }
        if kind == JoinKind::ProbeAnti {
            return self.emit_kept(batch, left, next);
        }
        self.calculator.apply(SetOperation::Subtract, &mut sets, &without_equal)?;
        if kind == JoinKind::ProbeSemi {
            return self.emit_kept(batch, sets, next);
        }
        let mut unknown = without_equal;
        self.calculator.apply(SetOperation::Subtract, &mut unknown, &left)?;
        let mut marked = MarkedRows::default();
        for (row, ((paired, unknown), unpaired)) in (0..).zip(sets.into_iter().zip(unknown).zip(left)) {
            marked.add(row, Some(true), paired);
            marked.add(row, None, unknown);
            marked.add(row, Some(false), unpaired);
        }
        self.emit_marked(&batch, &marked, next)
    }

    /// Returns rows with these sets, with nulls for the build side if the kind returns pairs.
    fn emit_kept(&self, mut batch: Batch, mut sets: Vec<SetNumber>, next: &mut Next<'_>) -> Result<(), Stop> {
        drop_unwanted(&mut batch, &mut sets);
        if sets.is_empty() {
            return Ok(());
        }
        let layout = &self.shared.layout;
        if layout.kind.makes_pairs() {
            let no_rows = vec![NO_ROW; sets.len()];
            batch = layout.join(batch, self.shared.table.clone(), no_rows);
        }
        next(layout.finish(batch, &sets, None))
    }

    fn emit_marked(&self, batch: &Batch, marked: &MarkedRows, next: &mut Next<'_>) -> Result<(), Stop> {
        for first in (0..marked.rows.len()).step_by(VECTOR_ROWS) {
            let part = first..(first + VECTOR_ROWS).min(marked.rows.len());
            let mut rows = batch.clone();
            let are_all =
                marked.rows.len() == batch.row_count() && marked.rows.iter().copied().eq(0..part.len() as u32);
            if !are_all {
                rows.take(&marked.rows[part.clone()]);
            }
            let known = &marked.known[part.clone()];
            let valid = known.contains(&false).then(|| known.to_vec());
            let mark = Vector::new(Values::Bool(marked.marks[part.clone()].to_vec()), valid);
            next(self.shared.layout.finish(rows, &marked.sets[part], Some(mark)))?;
        }
        Ok(())
    }
}

impl MarkedRows {
    /// Adds a row with its mark for these queries. A mark of `None` is null.
    #[inline]
    fn add(&mut self, row: u32, mark: Option<bool>, set: SetNumber) {
        if set != SetNumber::EMPTY {
            self.rows.push(row);
            self.marks.push(mark.unwrap_or(false));
            self.known.push(mark.is_some());
            self.sets.push(set);
        }
    }
}

impl Operator for SharedProbe {
    fn push(&mut self, mut batch: Batch, next: &mut Next<'_>) -> Result<(), Stop> {
        self.turn.begin();
        let kind = self.shared.layout.kind;
        let sets = self.shared.layout.probe_sets(&mut batch);
        let mut left = sets.clone();
        if self.shared.decides_by_group() {
            self.match_groups(&mut batch, &mut left)?;
        } else {
            let stream = self.probe.pairs(&mut batch);
            self.match_pairs(&batch, stream, &sets, &mut left, next)?;
        }
        if kind.tests_probe_rows() {
            self.emit_tested(batch, sets, left, next)
        } else if kind.keeps_probe_rows() {
            self.emit_kept(batch, left, next)
        } else {
            Ok(())
        }
    }
}
