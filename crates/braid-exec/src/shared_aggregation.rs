//! Filter and aggregation of many queries in one pass over a table (SharedDB, sections 3.3, 3.4 and 4.4).
//!
//! The queries are of one form: the same key columns and aggregates, each with its own predicates. A row is added once
//! for each *bucket* of its set, which with interned sets is once: the cost of a pass follows the number of distinct sets
//! that occur, not the number of queries. At the end every bucket's groups are folded into the queries it belongs to.
//!
//! A worker takes whole chunks, in any order; each core has its own, and [`QueryGroups::merge`] brings their results
//! together. Nothing here waits or reads: whoever drives the pass hands in segments and may stop between chunks.
//!
//! Memory: groups, buckets and sets are counted after each chunk, and the groups of queries as they are distributed. When the sets outgrow [`SETS_BYTES_MAX`] the buckets are
//! distributed and the sets forgotten, which costs a distribution and changes no result. When the whole outgrows the
//! pass's limit, the pass fails.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use braid_base::{ByteSize, VECTOR_ROWS};
use braid_storage::{Segment, Selection};

use crate::accumulators::{Accumulators, Aggregate};
use crate::group_keys::{GroupKeys, KeyValue};
use crate::integer_expression::{IntegerOverflow, IntegerVector};
use crate::query_set::{Bucket, QueryNumber};
use crate::shared_filter::{SharedFilter, WantedRows};
use crate::{PredicateIndex, QuerySets};

/// Most bytes of distinct sets before they are forgotten: 2^16 sets of 1024 queries with what they cost beside.
const SETS_BYTES_MAX: usize = 16 << 20;

/// Many queries of one form over one table. Columns are positions among the segments of a chunk.
#[derive(Clone, Debug)]
pub struct AggregationPlan {
    /// Number of queries.
    pub query_count: usize,
    /// Columns with the predicates of the queries on them, which all workers share.
    pub filters: Vec<(usize, Arc<PredicateIndex>)>,
    /// GROUP BY; without any, every query has one group.
    pub keys: Vec<usize>,
    /// What is computed for each group.
    pub aggregates: Vec<Aggregate>,
    /// Most memory of one worker, and of what the workers have found together.
    pub memory_limit: ByteSize,
}

/// Why a pass failed, for all its queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PassError {
    /// A value or a sum of more than 128 bits.
    Overflow(IntegerOverflow),
    /// More memory than the pass may have.
    Memory {
        /// What it holds.
        used: ByteSize,
        /// What it may hold.
        limit: ByteSize,
    },
}

impl fmt::Display for PassError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Overflow(error) => error.fmt(f),
            Self::Memory { used, limit } => write!(f, "the pass holds {used} of memory and may hold {limit}"),
        }
    }
}

impl std::error::Error for PassError {}

impl From<IntegerOverflow> for PassError {
    fn from(error: IntegerOverflow) -> Self {
        Self::Overflow(error)
    }
}

/// One worker of a pass.
#[derive(Debug)]
pub struct SharedAggregation<S> {
    filter: SharedFilter,
    sets: S,
    groups: GroupKeys,
    /// By bucket.
    pending: Accumulators,
    /// By query, of the buckets that were distributed already.
    results: Accumulators,
    aggregates: Arc<[Aggregate]>,
    query_count: usize,
    memory_limit: ByteSize,
    /// [`SETS_BYTES_MAX`], less in tests.
    sets_bytes_max: usize,
    rows: VectorRows,
}

/// The rows of a vector on their way to their slots; reused from vector to vector.
#[derive(Debug, Default)]
struct VectorRows {
    groups: Vec<u32>,
    /// Each row's slots, with the row beside each.
    slots: Vec<u32>,
    rows: Vec<u16>,
    columns: Vec<VectorColumn>,
}

/// A column that arguments read, for the wanted rows; nulls are 0.
#[derive(Debug)]
struct VectorColumn {
    segment: usize,
    values: Vec<i64>,
    valid: Option<Vec<bool>>,
}

impl<S: QuerySets> SharedAggregation<S> {
    /// A worker.
    pub fn new(plan: AggregationPlan) -> Self {
        let mut segments = Vec::new();
        plan.aggregates.iter().filter_map(Aggregate::argument).for_each(|argument| argument.columns(&mut segments));
        segments.sort_unstable();
        segments.dedup();
        let column = |segment| VectorColumn { segment, values: Vec::new(), valid: None };
        let columns = segments.into_iter().map(column).collect();
        Self {
            filter: SharedFilter::new(plan.query_count, plan.filters),
            sets: S::new(plan.query_count),
            groups: GroupKeys::new(&plan.keys),
            pending: Accumulators::new(&plan.aggregates),
            results: Accumulators::new(&plan.aggregates),
            aggregates: plan.aggregates.into(),
            query_count: plan.query_count,
            memory_limit: plan.memory_limit,
            sets_bytes_max: SETS_BYTES_MAX,
            rows: VectorRows { columns, ..VectorRows::default() },
        }
    }

    /// Takes the rows of a chunk.
    ///
    /// # Errors
    /// When a value does not fit 128 bits, or the worker holds more memory than it may. It is of no use afterwards.
    pub fn consume(&mut self, segments: &[&Segment], row_count: usize) -> Result<(), PassError> {
        let chunk_ids = self.groups.begin_chunk(segments);
        let Self { filter, sets, groups, pending, aggregates, rows, .. } = self;
        filter.filter_chunk(segments, row_count, sets, |sets, vector, wanted| {
            groups.of_rows(&chunk_ids, segments, vector, &wanted.selection, &mut rows.groups);
            rows.find_slots(sets, &wanted, pending);
            pending.count_rows(&rows.slots);
            rows.gather_columns(segments, vector, &wanted.selection);
            rows.add_to_aggregates(aggregates, pending)
        })?;
        if self.sets.shared_bytes() > self.sets_bytes_max {
            self.distribute()?;
            self.sets = S::new(self.query_count);
        }
        check_memory(self.bytes(), self.memory_limit)
    }

    /// Bytes held.
    pub fn bytes(&self) -> ByteSize {
        let bytes = self.sets.shared_bytes() + self.groups.bytes() + self.pending.bytes() + self.results.bytes();
        ByteSize(bytes as u64)
    }

    /// The groups of each query.
    ///
    /// # Errors
    /// When a sum does not fit 128 bits, or the groups of all queries take more memory than the worker may hold.
    pub fn finish(mut self) -> Result<QueryGroups, PassError> {
        self.distribute()?;
        let Self { groups, results, aggregates, query_count, memory_limit, .. } = self;
        let mut found = QueryGroups::new(query_count, groups.has_columns(), aggregates, memory_limit);
        found.fold_all(&results, |group| groups.key(group))?;
        Ok(found)
    }

    /// Folds each bucket's groups into those of its queries.
    fn distribute(&mut self) -> Result<(), PassError> {
        let pending = std::mem::replace(&mut self.pending, Accumulators::new(&self.aggregates));
        for (slot, (group, bucket)) in pending.owners().iter().enumerate() {
            let mut outcome = Ok(());
            self.sets.for_each_query_of(Bucket(*bucket), |query| {
                let to = self.results.slot(*group, u32::from(query.0));
                outcome = outcome.and(self.results.fold(to, &pending, slot as u32));
            });
            outcome?;
            check_memory(ByteSize(self.results.bytes() as u64), self.memory_limit)?;
        }
        Ok(())
    }
}

impl VectorRows {
    fn find_slots<S: QuerySets>(&mut self, sets: &S, wanted: &WantedRows<S::Column>, pending: &mut Accumulators) {
        let Self { groups, slots, rows, .. } = self;
        slots.clear();
        rows.clear();
        for (row, group) in groups.iter().enumerate() {
            sets.for_each_bucket(&wanted.sets, row, |bucket| {
                slots.push(pending.slot(*group, bucket.0));
                rows.push(row as u16);
            });
        }
    }

    fn gather_columns(&mut self, segments: &[&Segment], vector: usize, selection: &Selection) {
        for column in &mut self.columns {
            let segment = segments[column.segment];
            column.values.clear();
            segment.gather_integers(vector, selection, &mut column.values);
            column.valid = segment.valid_rows(vector).map(|valid| {
                let valid: Vec<bool> = selection.iter().map(|row| valid.contains(row)).collect();
                column.values.iter_mut().zip(&valid).for_each(|(value, valid)| *value *= i64::from(*valid));
                valid
            });
        }
    }

    fn add_to_aggregates(&self, aggregates: &[Aggregate], pending: &mut Accumulators) -> Result<(), IntegerOverflow> {
        for (at, aggregate) in aggregates.iter().enumerate() {
            let Some(argument) = aggregate.argument() else { continue };
            let values: IntegerVector =
                argument.evaluate(self.groups.len(), &|segment| self.column(segment).values.as_slice())?;
            let valid = self.valid(aggregate);
            pending.add(at, &self.slots, &self.rows, &values, valid.as_deref())?;
        }
        Ok(())
    }

    fn column(&self, segment: usize) -> &VectorColumn {
        let at = self.columns.binary_search_by_key(&segment, |column| column.segment);
        &self.columns[at.expect("the columns of all arguments are gathered")]
    }

    /// Where the aggregate's argument is not null: where none of its columns is.
    fn valid(&self, aggregate: &Aggregate) -> Option<Vec<bool>> {
        let mut segments = Vec::new();
        aggregate.argument()?.columns(&mut segments);
        let nullable = segments.iter().filter_map(|segment| self.column(*segment).valid.as_deref());
        nullable.fold(None, |so_far: Option<Vec<bool>>, valid| match so_far {
            None => Some(valid.to_vec()),
            Some(both) => Some(both.iter().zip(valid).map(|(a, b)| *a && *b).collect()),
        })
    }
}

fn check_memory(used: ByteSize, limit: ByteSize) -> Result<(), PassError> {
    if used > limit { Err(PassError::Memory { used, limit }) } else { Ok(()) }
}

/// One group of one query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupRow {
    /// The key columns' values.
    pub key: Box<[KeyValue]>,
    /// The aggregates' results, in physical form; `None` for null.
    pub results: Box<[Option<i128>]>,
}

/// What each query of a pass has come to.
#[derive(Debug)]
pub struct QueryGroups {
    query_count: usize,
    has_keys: bool,
    aggregates: Arc<[Aggregate]>,
    keys: Vec<Box<[KeyValue]>>,
    numbers: HashMap<Box<[KeyValue]>, u32>,
    accumulators: Accumulators,
    memory_limit: ByteSize,
}

impl QueryGroups {
    fn new(query_count: usize, has_keys: bool, aggregates: Arc<[Aggregate]>, memory_limit: ByteSize) -> Self {
        let accumulators = Accumulators::new(&aggregates);
        Self {
            query_count,
            has_keys,
            aggregates,
            keys: Vec::new(),
            numbers: HashMap::new(),
            accumulators,
            memory_limit,
        }
    }

    /// Adds what another worker of the pass found.
    ///
    /// # Errors
    /// When a sum does not fit 128 bits, or the groups of all queries take more memory than the pass may hold.
    pub fn merge(&mut self, other: Self) -> Result<(), PassError> {
        self.fold_all(&other.accumulators, |group| other.keys[group as usize].clone())
    }

    /// Adds accumulators by query whose groups have these keys.
    fn fold_all(&mut self, other: &Accumulators, key: impl Fn(u32) -> Box<[KeyValue]>) -> Result<(), PassError> {
        let mut own_groups: HashMap<u32, u32> = HashMap::new();
        for (slot, (group, query)) in other.owners().iter().enumerate() {
            let own = *own_groups.entry(*group).or_insert_with(|| self.number(key(*group)));
            let to = self.accumulators.slot(own, *query);
            self.accumulators.fold(to, other, slot as u32)?;
            check_memory(ByteSize(self.accumulators.bytes() as u64), self.memory_limit)?;
        }
        Ok(())
    }

    fn number(&mut self, key: Box<[KeyValue]>) -> u32 {
        let next = self.keys.len() as u32;
        let number = *self.numbers.entry(key.clone()).or_insert(next);
        if number == next {
            self.keys.push(key);
        }
        number
    }

    /// The rows of each query, by query, ascending by key. Without GROUP BY a query that no row satisfies has one row:
    /// counts of 0 and nulls.
    pub fn into_rows(mut self) -> Vec<Vec<GroupRow>> {
        if !self.has_keys {
            let group = self.number(Box::default());
            (0..self.query_count).map(QueryNumber::at).for_each(|query| {
                self.accumulators.slot(group, u32::from(query.0));
            });
        }
        let mut rows: Vec<Vec<GroupRow>> = vec![Vec::new(); self.query_count];
        for (slot, (group, query)) in self.accumulators.owners().iter().enumerate() {
            let key = self.keys[*group as usize].clone();
            rows[*query as usize]
                .push(GroupRow { key, results: self.accumulators.results(&self.aggregates, slot as u32) });
        }
        rows.iter_mut().for_each(|rows| rows.sort_by(|a, b| a.key.cmp(&b.key)));
        rows
    }
}

const _: () = assert!(VECTOR_ROWS <= 1 << 16, "rows of a vector are numbered in 16 bits");

#[cfg(test)]
mod tests;
