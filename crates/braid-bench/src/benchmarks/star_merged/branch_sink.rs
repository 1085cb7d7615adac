//! A branch of a merged pass, from the fork on: the rows of at most 64 queries of one template.
//!
//! The words of a branch's rows become numbers of sets in a store of the branch, so that its sets are those that occur among its
//! own queries. Rows of several batches are collected until they fill a vector, because a branch has few rows of each batch.
//! Groups, order and routing are those of any other pass.

use std::sync::Arc;

use braid_base::VECTOR_ROWS;
use braid_exec::aggregation::{Aggregation, AggregationWorker};
use braid_exec::plan::{AggregationSpec, Plan, SetColumn};
use braid_exec::runtime::result_rows::{ResultRows, ResultSource};
use braid_exec::sorting::SortWorker;
use braid_exec::{Batch, Evaluator, ExecError, Expression, MemoryBudget, QueryBitmap, SetStore, Vector};

use super::fact_steps::{FactPlan, integers};
use super::pass_runtime::PassRuntime;
use super::query_layout::Branch;
use super::row_words::positions;
use super::star_template::StarTemplate;

/// Entries of a worker's cache of set numbers; a power of two: 2^10 * 16 bytes fit into a first-level cache.
const CACHE_ENTRIES: usize = 1 << 10;

/// What the workers share.
pub struct BranchPlan {
    /// The queries.
    pub branch: Branch,
    /// The template.
    pub template: StarTemplate,
    /// The sets of the branch; its queries are numbered from 0.
    pub store: Arc<SetStore>,
    /// The columns of the fact batch that the measure reads.
    pub measure_columns: Vec<usize>,
    /// For each key: the position of its dimension in the pass, and the column among that dimension's rows.
    pub key_columns: Vec<(usize, usize)>,
    grouping: Arc<AggregationSpec>,
}

/// One worker's rows of a branch.
pub struct BranchSink {
    plan: Arc<BranchPlan>,
    numbers: SetNumbers,
    measure: Evaluator,
    groups: AggregationWorker,
    /// The values of the measure's columns.
    measured: Vec<Vec<i64>>,
    /// The rows of the dimensions of the keys.
    places: Vec<Vec<u32>>,
    /// The sets.
    sets: Vec<i64>,
    row_count: usize,
    positions: Vec<u32>,
}

impl BranchPlan {
    /// The plan of a branch.
    pub fn new(
        branch: Branch,
        template: StarTemplate,
        store: Arc<SetStore>,
        measure_columns: Vec<usize>,
        key_columns: Vec<(usize, usize)>,
    ) -> Self {
        let grouping = Arc::new(template.grouping());
        Self { branch, template, store, measure_columns, key_columns, grouping }
    }

    /// The column of sets among the grouped rows; `None` with one query, whose rows all have the same set.
    fn set_column(&self) -> Option<SetColumn> {
        let column = self.key_columns.len() + 1;
        (self.branch.queries.len() > 1).then(|| SetColumn { store: self.store.clone(), column })
    }

    /// Merges the groups of all workers, and gives each query its rows in order.
    ///
    /// # Errors
    /// When memory is refused, or a result goes out of range.
    pub async fn finish(
        &self,
        workers: Vec<AggregationWorker>,
        runtime: &PassRuntime,
    ) -> Result<Vec<ResultRows>, ExecError> {
        let groups = Aggregation::of_workers(self.grouping.clone(), workers)?;
        let mut parts = Vec::with_capacity(groups.partition_count());
        for partition in 0..groups.partition_count() {
            let columns = groups.partition(partition)?;
            parts.push(Arc::new(ResultRows::new(columns.first().map_or(0, Vector::len), columns)));
        }
        let has_sets = self.branch.queries.len() > 1;
        let group_columns = self.key_columns.len() + 1;
        let source = Arc::new(ResultSource::new(parts));
        let source = Plan::Source { source, column_count: group_columns + usize::from(has_sets) };
        let set = has_sets.then_some(group_columns);
        let expressions = self.template.results.iter().copied().chain(set).map(Expression::Column).collect();
        let mut plan = Plan::Project { input: Box::new(source), expressions };
        if let Some(spec) = self.template.sorting() {
            plan = Plan::Sort { input: Box::new(plan), spec };
        }
        let set = set.map(|_| self.template.results.len());
        let by_query = runtime.executor().run_for_queries(&plan, set, &self.store, |_| runtime.collector()).await?;
        let rows = |sinks| SortWorker::finish(sinks, self.template.results.len());
        by_query.into_iter().map(rows).collect()
    }
}

impl BranchSink {
    /// A worker without rows.
    pub fn new(plan: Arc<BranchPlan>, runtime: &PassRuntime) -> Self {
        let (grouping, budget) = (plan.grouping.clone(), runtime.budget.clone() as Arc<dyn MemoryBudget>);
        let measure = Evaluator::new(plan.template.measure.expression(), &budget);
        let groups = match plan.set_column() {
            Some(sets) => AggregationWorker::shared(grouping, sets, budget),
            None => AggregationWorker::new(grouping, budget),
        };
        Self {
            numbers: SetNumbers::new(),
            measure,
            groups,
            measured: vec![Vec::new(); plan.measure_columns.len()],
            places: vec![Vec::new(); plan.key_columns.len()],
            sets: Vec::new(),
            row_count: 0,
            positions: Vec::new(),
            plan,
        }
    }

    /// The word of the rows that has its bits.
    pub fn word(&self) -> usize {
        self.plan.branch.word
    }

    /// Takes the rows of the branch: those with one of its bits. `words` are the words of the batch's rows that have its bits.
    ///
    /// # Errors
    /// When memory is refused, or a value goes out of range.
    pub fn add(&mut self, fact: &FactPlan, words: &[u64], batch: &mut Batch) -> Result<(), ExecError> {
        let plan = self.plan.clone();
        let branch = &plan.branch;
        positions(words, branch.mask(), &mut self.positions);
        if self.positions.is_empty() {
            return Ok(());
        }
        if self.row_count + self.positions.len() > VECTOR_ROWS {
            self.flush(fact)?;
        }
        if branch.queries.len() > 1 {
            for at in &self.positions {
                let bits = (words[*at as usize] >> branch.shift) & branch.all();
                self.sets.push(self.numbers.of(bits, &plan.store)?);
            }
        }
        for (values, column) in self.measured.iter_mut().zip(&plan.measure_columns) {
            let vector = batch.column(*column);
            let all = integers(&vector)?;
            values.extend(self.positions.iter().map(|at| all[*at as usize]));
        }
        for (places, (dimension, _)) in self.places.iter_mut().zip(&plan.key_columns) {
            let (column, dimension) = &fact.dimensions[*dimension];
            dimension.append_rows(integers(&batch.column(*column))?, &self.positions, places);
        }
        self.row_count += self.positions.len();
        Ok(())
    }

    /// Groups the collected rows.
    fn flush(&mut self, fact: &FactPlan) -> Result<(), ExecError> {
        let row_count = std::mem::take(&mut self.row_count);
        if row_count == 0 {
            return Ok(());
        }
        let measured = self.measured.iter_mut().map(|values| Arc::new(Vector::integers(std::mem::take(values))));
        let measure = self.measure.evaluate(&mut Batch::of_vectors(row_count, measured))?;
        let mut batch = Batch::new(row_count);
        for ((dimension, column), places) in self.plan.key_columns.iter().zip(&mut self.places) {
            batch.push_deferred(fact.dimensions[*dimension].1.rows.clone(), std::mem::take(places), [*column]);
        }
        batch.push(measure);
        if self.plan.branch.queries.len() > 1 {
            batch.push(Arc::new(Vector::integers(std::mem::take(&mut self.sets))));
        }
        self.groups.consume(&mut batch)
    }

    /// The groups of all rows.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn into_groups(mut self, fact: &FactPlan) -> Result<AggregationWorker, ExecError> {
        self.flush(fact)?;
        Ok(self.groups)
    }
}

/// A worker's cache of the numbers of a branch's sets, direct-mapped by their bits.
struct SetNumbers {
    /// Bits and number. No row has no bits, so that an unused entry matches none.
    entries: Box<[(u64, i64)]>,
}

impl SetNumbers {
    fn new() -> Self {
        Self { entries: vec![(0, 0); CACHE_ENTRIES].into() }
    }

    #[inline]
    fn of(&mut self, bits: u64, store: &SetStore) -> Result<i64, ExecError> {
        // Multiplication by 2^64 / golden ratio; the high bits are well mixed.
        let place = bits.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (u64::BITS - CACHE_ENTRIES.trailing_zeros());
        let entry = &mut self.entries[place as usize];
        if entry.0 != bits {
            let queries = QueryBitmap::from_fn(store.query_count(), |query| bits >> query.index() & 1 == 1);
            *entry = (bits, store.number_of(&queries)?.value());
        }
        Ok(entry.1)
    }
}
