//! The shared forms of operators, in the plan of a pass.
//!
//! Rows carry their query set as their last column, an integer ([`SetNumber`](crate::SetNumber)). Ordinary operators treat this
//! column like any other. The operators in this module use the sets.

use std::fmt;
use std::sync::Arc;

use super::{AggregationSpec, JoinCondition, Plan, SortSpec};
use crate::expression::{Few, few};
use crate::runtime::pipeline::Operator;
use crate::{Batch, ExecError, SetNumber, SetStore};

/// The column of rows that holds their sets.
#[derive(Clone, Debug)]
pub struct SetColumn {
    /// The sets.
    pub store: Arc<SetStore>,
    /// Position of the column.
    pub column: usize,
}

/// An operator that uses sets. The set is the last column of its rows.
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

/// A step on one batch at a time, independent in each worker.
pub trait SharedStep: Send + Sync + fmt::Debug + fmt::Display {
    /// Number of columns of its rows, for an input with `input_count` columns.
    fn column_count(&self, input_count: usize) -> usize;

    /// Marks the columns of its input that it reads or passes on, if the columns in `wanted` are read of its rows.
    fn mark_read(&self, wanted: &[bool], read: &mut [bool]);

    /// The column of its input that a column equals.
    fn origin(&self, column: usize) -> Option<usize>;

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
            Self::Sort { input, .. } | Self::Limit { input, .. } => input.column_count(),
        }
    }

    /// Its inputs, the probe side first.
    pub(crate) fn inputs_mut(&mut self) -> Few<&mut Plan> {
        match self {
            Self::Join { build, probe, .. } => few([probe, build]),
            Self::Step { input, .. }
            | Self::Aggregate { input, .. }
            | Self::Sort { input, .. }
            | Self::Limit { input, .. } => few([input]),
        }
    }

    /// The same, to be read.
    pub(crate) fn inputs(&self) -> Few<&Plan> {
        match self {
            Self::Join { build, probe, .. } => few([probe, build]),
            Self::Step { input, .. }
            | Self::Aggregate { input, .. }
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
            Self::Sort { spec, .. } => write!(f, "SharedSort: {spec:?}"),
            Self::Limit { offset, limit, .. } => write!(f, "SharedLimit: {limit:?} from {offset}"),
        }
    }
}
