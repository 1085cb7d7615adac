//! The probe: from a batch of the probe side to the rows that the join returns.
//!
//! With unique keys and without a residual, a batch gives one batch: the rows with partners, each with its build row.
//! Otherwise pairs are made one vector at a time, and the residual filters each vector.
//!
//! `x NOT IN (…)` is null instead of true if a comparison is unknown: with a build row whose key is null, or with any build row
//! if the probe row's key is null. With a residual, only the build rows that satisfy it count.

use std::sync::Arc;

use crate::joins::hash::join_table::Finder;
use crate::joins::hash::probe::candidates::{Candidates, Pairs};
use crate::joins::hash::{JoinTable, PairStream};
use crate::plan::JoinKind;
use crate::runtime::stop::Stop;
use crate::values::batch::Origin;
use crate::values::vector::{NO_ROW, Values};
use crate::{Batch, ExecError, Vector};

/// A condition on pairs, which are batches with the probe side's columns followed by the build side's.
pub type Residual = Box<dyn FnMut(&mut Batch) -> Result<Vec<bool>, Stop> + Send>;

/// The receiver of the rows that a join returns.
type Emit<'a> = &'a mut dyn FnMut(Batch) -> Result<(), Stop>;

/// One worker's probe.
pub struct JoinProbe {
    pub(super) table: Arc<JoinTable>,
    residual: Option<Residual>,
    /// What is not false for pairs that may make a mark null.
    possible: Option<Residual>,
    finder: Finder,
    /// The groups of the batch's rows.
    pub(super) groups: Vec<u32>,
}

/// The results for each probe row.
pub(super) struct Outcome {
    /// Whether the row has a partner.
    pub(super) paired: Vec<bool>,
    /// Whether the comparison with some row is unknown because of a null; only for NOT IN and truth values.
    pub(super) perhaps_paired: Vec<bool>,
}

/// A test of pairs.
#[derive(Clone, Copy)]
pub(super) enum Test {
    /// Whether the rows are partners.
    Residual,
    /// Whether the condition is not false.
    Possible,
}

impl JoinProbe {
    /// A probe of `table`. Panics unless `residual` is given exactly if the table's join has a residual.
    pub fn new(table: Arc<JoinTable>, residual: Option<Residual>) -> Self {
        assert_eq!(table.spec.has_residual, residual.is_some(), "a residual belongs to the join");
        let finder = table.finder();
        Self { table, residual, possible: None, finder, groups: Vec::new() }
    }

    /// The same with the test of pairs that may make a mark null, which only truth values need.
    pub(crate) fn with_possible(self, possible: Option<Residual>) -> Self {
        Self { possible, ..self }
    }

    /// Joins a batch of the probe side, and passes the rows to `emit`: the probe side's columns, followed by the build side's or
    /// the mark.
    ///
    /// # Errors
    /// The errors of the residual and of `emit`, at once.
    pub fn probe(&mut self, mut batch: Batch, emit: Emit<'_>) -> Result<(), Stop> {
        if batch.row_count() == 0 {
            return Ok(());
        }
        let keys = self.find(&mut batch);
        let kind = self.table.spec.kind;
        if self.residual.is_some() {
            return self.probe_with_residual(batch, &keys, emit);
        }
        if kind.marks_build_rows() {
            self.mark_groups();
        }
        if kind.tests_probe_rows() {
            let outcome = self.outcome_of_keys(&keys);
            self.emit_tested(batch, &outcome, emit)
        } else if !kind.makes_pairs() {
            Ok(())
        } else if self.table.lists.is_none() {
            self.emit_unique(batch, emit)
        } else {
            self.emit_pairs(batch, emit)
        }
    }

    /// The group of each row of a batch, or [`NO_ROW`]. A group may have no rows.
    pub(crate) fn groups(&mut self, batch: &mut Batch) -> &[u32] {
        self.find(batch);
        &self.groups
    }

    /// The pairs with equal keys of a batch, for any kind of join. Emits and marks nothing.
    pub(crate) fn pairs(&mut self, batch: &mut Batch) -> PairStream {
        self.find(batch);
        PairStream::of_groups(&self.table, &self.groups)
    }

    /// Looks up the groups of a batch's rows.
    fn find(&mut self, batch: &mut Batch) -> Vec<Arc<Vector>> {
        let keys: Vec<Arc<Vector>> = self.table.spec.probe_keys.iter().map(|key| batch.column(*key)).collect();
        self.table.find(&keys, batch.row_count(), &mut self.finder, &mut self.groups);
        keys
    }

    fn mark_groups(&self) {
        for group in self.groups.iter().filter(|group| **group != NO_ROW) {
            self.table.mark(*group);
        }
    }

    /// Emits rows with unique partners.
    fn emit_unique(&mut self, mut batch: Batch, emit: Emit<'_>) -> Result<(), Stop> {
        if self.table.spec.kind.keeps_probe_rows() {
            self.push_build_columns(&mut batch, self.groups.clone());
            return emit(batch);
        }
        let Pairs { probe_rows, build_rows } = Pairs::of_unique(&self.groups);
        if build_rows.is_empty() {
            return Ok(());
        }
        if build_rows.len() < batch.row_count() {
            batch.take(&probe_rows);
        }
        self.push_build_columns(&mut batch, build_rows);
        emit(batch)
    }

    fn emit_pairs(&mut self, batch: Batch, emit: Emit<'_>) -> Result<(), Stop> {
        let lists = self.table.lists.as_ref().expect("keys that repeat have lists");
        if self.table.spec.kind == JoinKind::ProbeSingle
            && self.groups.iter().map(|group| lists.range(*group)).any(|(start, end)| end > start + 1)
        {
            return Err(ExecError::SeveralRows.into());
        }
        let mut candidates = Candidates::of_groups(&self.groups, Some(lists));
        while let Some(pairs) = candidates.next(|place| lists.rows()[place as usize], |_| false, |_| false) {
            emit(self.pair_batch(&batch, pairs))?;
        }
        if self.table.spec.kind.keeps_probe_rows() {
            let paired: Vec<bool> = self.groups.iter().map(|group| self.table.has_rows(*group)).collect();
            self.emit_unpaired(batch, &paired, emit)?;
        }
        Ok(())
    }

    /// Emits probe rows without a partner, with nulls for the build side.
    fn emit_unpaired(&self, mut batch: Batch, paired: &[bool], emit: Emit<'_>) -> Result<(), Stop> {
        let unpaired: Vec<bool> = paired.iter().map(|paired| !paired).collect();
        retain(&mut batch, &unpaired);
        if batch.row_count() == 0 {
            return Ok(());
        }
        let no_rows = vec![NO_ROW; batch.row_count()];
        self.push_build_columns(&mut batch, no_rows);
        emit(batch)
    }

    fn pair_batch(&self, batch: &Batch, pairs: Pairs) -> Batch {
        let mut paired = batch.clone();
        paired.take(&pairs.probe_rows);
        self.push_build_columns(&mut paired, pairs.build_rows);
        paired
    }

    fn push_build_columns(&self, batch: &mut Batch, rows: Vec<u32>) {
        let origin: Arc<dyn Origin> = self.table.clone();
        batch.push_deferred(origin, rows, 0..self.table.spec.build_column_count);
    }

    fn outcome_of_keys(&self, keys: &[Arc<Vector>]) -> Outcome {
        let table = &self.table;
        let paired: Vec<bool> = match &table.lists {
            None => self.groups.iter().map(|group| *group != NO_ROW).collect(),
            Some(_) => self.groups.iter().map(|group| table.has_rows(*group)).collect(),
        };
        let perhaps_paired = if !table.spec.null_keys.are_unknown() || !table.has_any_rows() {
            vec![false; paired.len()]
        } else if table.has_any_null_keys() {
            vec![true; paired.len()]
        } else {
            (0..paired.len()).map(|row| !keys[0].is_valid(row)).collect()
        };
        Outcome { paired, perhaps_paired }
    }

    /// Semi, anti and mark joins: emits the batch's rows according to their results.
    fn emit_tested(&self, mut batch: Batch, outcome: &Outcome, emit: Emit<'_>) -> Result<(), Stop> {
        let Outcome { paired, perhaps_paired } = outcome;
        match self.table.spec.kind {
            JoinKind::ProbeSemi => retain(&mut batch, paired),
            JoinKind::ProbeAnti => {
                let neither = paired.iter().zip(perhaps_paired).map(|(paired, perhaps)| !paired && !perhaps);
                retain(&mut batch, &neither.collect::<Vec<bool>>());
            }
            _ => {
                let known = || paired.iter().zip(perhaps_paired).map(|(paired, perhaps)| *paired || !perhaps);
                let valid = known().any(|known| !known).then(|| known().collect());
                batch.push(Arc::new(Vector::new(Values::Bool(paired.clone()), valid)));
            }
        }
        if batch.row_count() == 0 { Ok(()) } else { emit(batch) }
    }

    fn probe_with_residual(&mut self, batch: Batch, keys: &[Arc<Vector>], emit: Emit<'_>) -> Result<(), Stop> {
        let (table, kind) = (self.table.clone(), self.table.spec.kind);
        let row_count = batch.row_count();
        let mut outcome = Outcome { paired: vec![false; row_count], perhaps_paired: vec![false; row_count] };
        let candidates = Candidates::of_groups(&self.groups, table.lists.as_ref());
        match &table.lists {
            Some(lists) => {
                let row_at = |place: u32| lists.rows()[place as usize];
                self.decide(Test::Residual, &batch, candidates, row_at, &mut outcome.paired, emit)?;
            }
            None => self.decide(Test::Residual, &batch, candidates, |row| row, &mut outcome.paired, emit)?,
        }
        if kind == JoinKind::ProbeTruth {
            self.decide_on_unknown(&batch, keys, &mut outcome)?;
        } else if table.spec.null_keys.are_unknown() {
            self.decide_on_nulls(&batch, &keys[0], &mut outcome)?;
        }
        if kind.tests_probe_rows() {
            self.emit_tested(batch, &outcome, emit)
        } else if kind.keeps_probe_rows() {
            self.emit_unpaired(batch, &outcome.paired, emit)
        } else {
            Ok(())
        }
    }

    /// Tests pairs. Sets `paired` for probe rows with a partner, marks build rows, and emits pairs if the kind returns them.
    pub(super) fn decide(
        &mut self,
        test: Test,
        batch: &Batch,
        mut candidates: Candidates,
        row_at: impl Fn(u32) -> u32,
        paired: &mut [bool],
        emit: Emit<'_>,
    ) -> Result<(), Stop> {
        let (table, kind) = (self.table.clone(), self.table.spec.kind);
        let settled = |row: u32, paired: &[bool]| kind.tests_probe_rows() && paired[row as usize];
        let unwanted = |row: u32| kind.marks_build_rows() && !kind.makes_pairs() && table.is_marked(row);
        while let Some(pairs) = candidates.next(&row_at, |row| settled(row, paired), unwanted) {
            if pairs.build_rows.is_empty() {
                continue;
            }
            let (probe_rows, build_rows) = (pairs.probe_rows.clone(), pairs.build_rows.clone());
            let mut pair_batch = self.pair_batch(batch, pairs);
            let condition = match test {
                Test::Residual => &mut self.residual,
                Test::Possible => &mut self.possible,
            };
            let counts = condition.as_mut().expect("the kind of the join has the test")(&mut pair_batch)?;
            assert_eq!(counts.len(), probe_rows.len(), "a residual decides on each row");
            for ((probe_row, build_row), _) in
                probe_rows.iter().zip(&build_rows).zip(&counts).filter(|(_, counts)| **counts)
            {
                if std::mem::replace(&mut paired[*probe_row as usize], true) && kind == JoinKind::ProbeSingle {
                    return Err(ExecError::SeveralRows.into());
                }
                if kind.marks_build_rows() {
                    table.mark(*build_row);
                }
            }
            if kind.makes_pairs() && counts.contains(&true) {
                retain(&mut pair_batch, &counts);
                emit(pair_batch)?;
            }
        }
        Ok(())
    }

    /// NOT IN with a residual: evaluates the pairs whose comparison is unknown because of a null.
    fn decide_on_nulls(&mut self, batch: &Batch, key: &Vector, outcome: &mut Outcome) -> Result<(), Stop> {
        let table = self.table.clone();
        let Outcome { paired, perhaps_paired } = outcome;
        let open = |valid: bool| {
            let rows = (0..paired.len()).filter(move |row| key.is_valid(*row) == valid);
            rows.filter(|row| !paired[*row]).map(|row| row as u32)
        };
        let with_null_keys = Candidates::of_all(open(true), table.null_key_rows.len());
        let with_all = Candidates::of_all(open(false), table.row_count);
        let emit: Emit<'_> = &mut |_| unreachable!("joins that know of nulls do not make pairs");
        let row_at = |place: u32| table.null_key_rows[place as usize];
        self.decide(Test::Residual, batch, with_null_keys, row_at, perhaps_paired, emit)?;
        self.decide(Test::Residual, batch, with_all, |row| row, perhaps_paired, emit)
    }
}

/// [`Batch::retain`] without branches on the values of `keep`.
fn retain(batch: &mut Batch, keep: &[bool]) {
    let mut kept = vec![0; keep.len()];
    let mut count = 0;
    for (at, keep) in keep.iter().enumerate() {
        kept[count] = at as u32;
        count += usize::from(*keep);
    }
    if count < keep.len() {
        kept.truncate(count);
        batch.take(&kept);
    }
}
