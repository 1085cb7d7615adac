//! Operators of a plan that many queries share.
//!
//! Rows carry the set of the queries that want them as their last column, an integer ([`SetNumber`](crate::SetNumber)).
//! What does not look at sets is an ordinary operator: it carries the column along as any other. What is here does.

use std::fmt;
use std::sync::Arc;

use super::{AggregationSpec, JoinCondition, Plan, SortSpec};
use crate::runtime::pipeline::Operator;
use crate::{Batch, ExecError, SetNumber, SetStore};

/// Which column of rows their sets are in.
#[derive(Clone, Debug)]
pub struct SetColumn {
    /// The sets.
    pub store: Arc<SetStore>,
    /// Position of the column.
    pub column: usize,
}

/// An operator that looks at sets. Its rows have their set as their last column.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "plans hold operators in boxes, a few for each query")]
pub enum SharedOperator {
    /// What is done with one batch at a time.
    Step {
        /// Rows.
        input: Plan,
        /// What.
        step: Arc<dyn SharedStep>,
    },
    /// A join in which it depends on the query whether a row has partners. A pair is for the queries of both its rows for
    /// which the condition holds; a row without partners is one for some queries and not for others.
    Join {
        /// Rows that are collected first.
        build: Plan,
        /// Rows that look for partners among them.
        probe: Plan,
        /// How. Columns are those of the plan with sets: first all of the probe side, then all of the build side.
        condition: JoinCondition,
        /// The sets.
        sets: JoinSets,
    },
    /// Groups: each has its key, its results and the queries for which these are the results. No two groups of one key
    /// are for the same query.
    Aggregate {
        /// Rows.
        input: Plan,
        /// Keys and functions; the set is none of the keys.
        spec: Arc<AggregationSpec>,
        /// The rows' sets.
        sets: SetColumn,
    },
    /// Rows in order, of which a row stays for the queries that have fewer before it than are wanted.
    Sort {
        /// Rows, whose last column is the set.
        input: Plan,
        /// Order, and how many each query wants.
        spec: Arc<SortSpec>,
        /// The rows' sets.
        sets: SetColumn,
    },
    /// Some of the rows of each query.
    Limit {
        /// Rows, whose last column is the set.
        input: Plan,
        /// Rows that are skipped, for each query.
        offset: u64,
        /// Most rows after them, for each query.
        limit: Option<u64>,
        /// The rows' sets.
        sets: SetColumn,
    },
}

/// Something that is done with one batch at a time, each worker for itself.
pub trait SharedStep: Send + Sync + fmt::Debug + fmt::Display {
    /// Number of columns of its rows, given that of its input's.
    fn column_count(&self, input_count: usize) -> usize;

    /// Marks the columns of its input that it reads or hands on, given those of its own that somebody reads.
    fn mark_read(&self, wanted: &[bool], read: &mut [bool]);

    /// Which column of its input a column is, unchanged.
    fn origin(&self, column: usize) -> Option<usize>;

    /// One worker's part; `wanted` says which of its columns somebody reads.
    fn operator(&self, wanted: &[bool]) -> Box<dyn Operator>;
}

/// The sets of a join's sides. A side without a set column is for everybody.
#[derive(Clone)]
pub struct JoinSets {
    /// The sets.
    pub store: Arc<SetStore>,
    /// Position of the probe side's set among its columns.
    pub probe: Option<usize>,
    /// Position of the build side's set among its columns.
    pub build: Option<usize>,
    /// A condition that depends on the query, over the columns of the probe side, then those of the build side.
    pub condition: Option<SetCondition>,
}

/// A condition that is true for some queries and not for others.
#[derive(Clone)]
pub struct SetCondition {
    /// Columns that it reads.
    pub columns: Vec<usize>,
    /// Makes what one worker evaluates: for each row the queries for which the condition is true.
    pub evaluator: Arc<dyn Fn() -> SetEvaluator + Send + Sync>,
}

/// For each row of a batch, the queries for which something is true of it.
pub type SetEvaluator = Box<dyn FnMut(&mut Batch) -> Result<Vec<SetNumber>, ExecError> + Send>;

impl fmt::Debug for JoinSets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinSets").field("probe", &self.probe).field("build", &self.build).finish_non_exhaustive()
    }
}

impl SharedOperator {
    /// Number of columns, the set included.
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
    pub(crate) fn inputs_mut(&mut self) -> Vec<&mut Plan> {
        match self {
            Self::Join { build, probe, .. } => vec![probe, build],
            Self::Step { input, .. }
            | Self::Aggregate { input, .. }
            | Self::Sort { input, .. }
            | Self::Limit { input, .. } => vec![input],
        }
    }

    /// The same, to be read.
    pub(crate) fn inputs(&self) -> Vec<&Plan> {
        match self {
            Self::Join { build, probe, .. } => vec![probe, build],
            Self::Step { input, .. }
            | Self::Aggregate { input, .. }
            | Self::Sort { input, .. }
            | Self::Limit { input, .. } => vec![input],
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
