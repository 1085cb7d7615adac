//! The shared forms of operators, in the plan of a pass.
//!
//! Rows carry their query set as their last column, an integer ([`SetNumber`](crate::SetNumber)). Ordinary operators treat this
//! column like any other. The operators in this module use the sets.

use std::fmt;
use std::sync::Arc;

use super::operator_tree::describe_peers;
use super::{AggregationSpec, ForeignCall, JoinCondition, Plan, SortSpec, WindowSpec};
use braid_storage::Scalar;

use crate::expression::{Few, few};
use crate::runtime::peers::KeptPeers;
use crate::runtime::pipeline::Operator;
use crate::{Batch, ExecError, Expression, SetNumber, SetStore};

/// The column of rows that holds their sets.
#[derive(Clone, Debug)]
pub struct SetColumn {
    /// The sets.
    pub store: Arc<SetStore>,
    /// Position of the column.
    pub column: usize,
}

/// An operator that uses sets. The set is the last column of its rows, but for windows.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "plans hold operators in boxes, a few for each query")]
pub enum SharedOperator {
    /// A step on one batch at a time.
    Step {
        /// Rows.
        input: Plan,
        /// The step.
        step: Arc<dyn SharedStep>,
    },
    /// A join in which the partners of a row depend on the query. A pair belongs to the queries of both rows for which the
    /// condition holds. A row may have no partner for some queries, and partners for others.
    Join {
        /// The build side.
        build: Plan,
        /// The probe side.
        probe: Plan,
        /// The condition and kind. Columns are those of the plan with sets: the probe side's followed by the build side's.
        condition: JoinCondition,
        /// The sets.
        sets: JoinSets,
    },
    /// Groups: each has its key, its results, and the set of queries with these results. The sets of one key are disjoint.
    Aggregate {
        /// Rows.
        input: Plan,
        /// The keys and functions. The keys exclude the set.
        spec: Arc<AggregationSpec>,
        /// The rows' sets.
        sets: SetColumn,
    },
    /// As [`Self::Aggregate`], with foreign aggregates: the results of the foreign calls come before the set.
    Accumulate {
        /// Rows.
        input: Plan,
        /// The keys and functions. The keys exclude the set.
        spec: Arc<AggregationSpec>,
        /// The foreign calls.
        foreign: Arc<[ForeignCall]>,
        /// The rows' sets.
        sets: SetColumn,
    },
    /// Window functions over the rows of each query: each row, and a column for each call. The set stays among the columns of the input.
    Window {
        /// Rows, whose last column is the set.
        input: Plan,
        /// The partitions, their order, and the calls.
        spec: Arc<WindowSpec>,
        /// The rows' sets.
        sets: SetColumn,
    },
    /// Sorted rows by the peers of each query.
    Peers {
        /// Rows, whose last column is the set. Those of all queries together are in order.
        input: Plan,
        /// The columns of the keys.
        keys: Vec<usize>,
        /// Which rows each query has.
        kept: KeptPeers,
        /// The rows' sets.
        sets: SetColumn,
    },
    /// A plan whose expressions read the values of scalar subqueries, and which is shared when these are known. Its set is the last column.
    Scalars {
        /// The subqueries: a value for all queries; or a value and the set of the queries that have it, of which the first rows of each
        /// query are enough.
        subqueries: Vec<Plan>,
        /// The plan that uses their values, as that of one query.
        input: Plan,
        /// Shares this plan.
        sharing: Arc<dyn InputSharing>,
    },
    /// Sorted rows, with a limit for each query.
    Sort {
        /// Rows, whose last column is the set.
        input: Plan,
        /// The order, and the limit of each query.
        spec: Arc<SortSpec>,
        /// The rows' sets.
        sets: SetColumn,
    },
    /// LIMIT and OFFSET for each query.
    Limit {
        /// Rows, whose last column is the set.
        input: Plan,
        /// Number of rows to skip, for each query.
        offset: u64,
        /// Maximum number of rows after these, for each query.
        limit: Option<u64>,
        /// The rows' sets.
        sets: SetColumn,
    },
}

/// Shares a plan when the values of its scalar subqueries are known.
pub trait InputSharing: Send + Sync + fmt::Debug {
    /// The sets of the pass.
    fn store(&self) -> &Arc<SetStore>;

    /// The shared plan of `input`, with these values. Its last column is the set.
    ///
    /// # Errors
    /// When memory for the queries' sets is refused, a constant of a query cannot be computed, or the plan cannot be shared.
    fn share(&self, input: &Plan, values: Vec<SubqueryValue>) -> Result<Plan, ExecError>;
}

/// The value of a scalar subquery.
#[derive(Clone, Debug)]
pub enum SubqueryValue {
    /// What stands for that of all queries.
    OfAll(Expression),
    /// That of each query.
    OfEach(Vec<Option<Scalar>>),
}

/// A step on one batch at a time, independent in each worker.
pub trait SharedStep: Send + Sync + fmt::Debug + fmt::Display {
    /// Number of columns of its rows, for an input with `input_count` columns.
    fn column_count(&self, input_count: usize) -> usize;

    /// Marks the columns of its input that it reads or passes on, if the columns in `wanted` are read of its rows.
    fn mark_read(&self, wanted: &[bool], read: &mut [bool]);

    /// The column of its input that a column equals.
    fn origin(&self, column: usize) -> Option<usize>;

    /// Whether the rows of all queries together stay in their order.
    fn keeps_order(&self) -> bool {
        true
    }

    /// One worker's operator. `wanted` tells which of its columns are read.
    fn operator(&self, wanted: &[bool]) -> Box<dyn Operator>;
}

/// The sets of a join's sides. The rows of a side without a set column belong to all queries.
#[derive(Clone)]
pub struct JoinSets {
    /// The sets.
    pub store: Arc<SetStore>,
    /// Position of the probe side's set among its columns.
    pub probe: Option<usize>,
    /// Position of the build side's set among its columns.
    pub build: Option<usize>,
    /// A condition that depends on the query, over the columns of the probe side followed by those of the build side.
    pub condition: Option<SetCondition>,
}

/// A condition that depends on the query.
#[derive(Clone)]
pub struct SetCondition {
    /// Columns that it reads.
    pub columns: Vec<usize>,
    /// Makes one worker's evaluator: for each row, the queries for which the condition is true.
    pub evaluator: Arc<dyn Fn() -> SetEvaluator + Send + Sync>,
}

/// Evaluates, for each row of a batch, the queries for which a condition is true.
pub type SetEvaluator = Box<dyn FnMut(&mut Batch) -> Result<Vec<SetNumber>, ExecError> + Send>;

impl fmt::Debug for JoinSets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinSets").field("probe", &self.probe).field("build", &self.build).finish_non_exhaustive()
    }
}

impl SharedOperator {
    /// Number of columns, including the set.
    pub(crate) fn column_count(&self) -> usize {
        match self {
            Self::Step { input, step } => step.column_count(input.column_count()),
            Self::Join { build, probe, condition, sets } => {
                let columns = condition.kind.columns();
                let side = |plan: &Plan, set: Option<usize>| plan.column_count() - usize::from(set.is_some());
                (if columns.probe { side(probe, sets.probe) } else { 0 })
                    + usize::from(columns.mark)
                    + (if columns.build { side(build, sets.build) } else { 0 })
                    + 1
            }
            Self::Aggregate { spec, .. } => spec.keys.len() + spec.aggregates.len() + 1,
            Self::Accumulate { spec, foreign, .. } => spec.keys.len() + spec.aggregates.len() + foreign.len() + 1,
            Self::Scalars { input, .. } => input.column_count() + 1,
            Self::Window { input, spec, .. } => input.column_count() + spec.calls.len(),
            Self::Peers { input, .. } | Self::Sort { input, .. } | Self::Limit { input, .. } => input.column_count(),
        }
    }

    /// Its inputs, the probe side first.
    pub(crate) fn inputs_mut(&mut self) -> Few<&mut Plan> {
        match self {
            Self::Join { build, probe, .. } => few([probe, build]),
            Self::Scalars { subqueries, input, .. } => std::iter::once(input).chain(subqueries).collect(),
            Self::Step { input, .. }
            | Self::Aggregate { input, .. }
            | Self::Accumulate { input, .. }
            | Self::Window { input, .. }
            | Self::Peers { input, .. }
            | Self::Sort { input, .. }
            | Self::Limit { input, .. } => few([input]),
        }
    }

    /// The same, to be read.
    pub(crate) fn inputs(&self) -> Few<&Plan> {
        match self {
            Self::Join { build, probe, .. } => few([probe, build]),
            Self::Scalars { subqueries, input, .. } => std::iter::once(input).chain(subqueries).collect(),
            Self::Step { input, .. }
            | Self::Aggregate { input, .. }
            | Self::Accumulate { input, .. }
            | Self::Window { input, .. }
            | Self::Peers { input, .. }
            | Self::Sort { input, .. }
            | Self::Limit { input, .. } => few([input]),
        }
    }
}

impl fmt::Display for SharedOperator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Step { step, .. } => step.fmt(f),
            Self::Join { condition, .. } => {
                let keys = condition.probe_keys.iter().zip(&condition.build_keys);
                let keys: String = keys.map(|(probe, build)| format!(", probe #{probe} = build #{build}")).collect();
                write!(f, "SharedHashJoin: {:?}{keys}", condition.kind)
            }
            Self::Aggregate { spec, .. } => write!(f, "SharedAggregate: {spec}"),
            Self::Accumulate { spec, foreign, .. } => {
                let calls: Vec<String> = foreign.iter().map(ToString::to_string).collect();
                write!(f, "SharedAccumulate: {spec}, [{}]", calls.join(", "))
            }
            Self::Scalars { subqueries, .. } => write!(f, "SharedScalars: {} before the first input", subqueries.len()),
            Self::Window { spec, .. } => write!(f, "SharedWindow: {spec}"),
            Self::Peers { keys, kept, .. } => {
                f.write_str("Shared")?;
                describe_peers(keys, *kept, f)
            }
            Self::Sort { spec, .. } => write!(f, "SharedSort: {spec:?}"),
            Self::Limit { offset, limit, .. } => write!(f, "SharedLimit: {limit:?} from {offset}"),
        }
    }
}
