//! The plan of a query as a tree of operators. Columns are positions in the input; only the planner knows their names and
//! types.

use std::fmt;
use std::sync::Arc;

use braid_storage::Scalar;

use super::{
    AggregationSpec, CteId, ForeignCall, JoinCondition, RecursionSpec, SharedOperator, SortKey, SortSpec, WindowSpec,
};
use crate::Expression;
use crate::expression::{Few, few};
use crate::runtime::expand::ColumnLists;
use crate::runtime::peers::KeptPeers;
use crate::runtime::pipeline::Source;
use crate::runtime::set_functions::SetFunctionCall;
use crate::runtime::stop::NodeId;

/// A plan.
#[derive(Clone, Debug)]
pub enum Plan {
    /// The rows of a source.
    Source {
        /// The source.
        source: Arc<dyn Source>,
        /// Number of its columns.
        column_count: usize,
    },
    /// WHERE and HAVING: the rows for which a condition is true.
    Filter {
        /// Rows.
        input: Box<Plan>,
        /// The condition.
        condition: Expression,
    },
    /// SELECT: new columns.
    Project {
        /// Rows.
        input: Box<Plan>,
        /// The new columns.
        expressions: Vec<Expression>,
    },
    /// A join. Its columns are the probe side's followed by the build side's, as far as its kind includes them.
    Join {
        /// Its number in the plan, while that runs: [`Plan::numbered`].
        node: NodeId,
        /// The build side.
        build: Box<Plan>,
        /// The probe side.
        probe: Box<Plan>,
        /// The condition and kind.
        condition: JoinCondition,
    },
    /// Groups: the keys, followed by the results.
    Aggregate {
        /// Rows.
        input: Box<Plan>,
        /// The keys and functions.
        spec: Arc<AggregationSpec>,
    },
    /// Groups with foreign aggregates: the keys, the results of the specification's aggregates, the results of the foreign calls.
    Accumulate {
        /// Rows.
        input: Box<Plan>,
        /// The keys and functions.
        spec: Arc<AggregationSpec>,
        /// The foreign calls.
        foreign: Arc<[ForeignCall]>,
    },
    /// Each row once for every list of columns; last the number of the list, from 0.
    Expand {
        /// Rows.
        input: Box<Plan>,
        /// The columns of each list, which are equally many.
        lists: ColumnLists,
    },
    /// Window functions: each row, and a column for each call. Where rows have no partitions, they come in the order of the window.
    Window {
        /// Rows.
        input: Box<Plan>,
        /// The partitions, their order, and the calls.
        spec: Arc<WindowSpec>,
    },
    /// Each row once for every row that a function returns for it: its columns, followed by the function's.
    ProjectSet {
        /// Rows.
        input: Box<Plan>,
        /// The function.
        call: Arc<SetFunctionCall>,
    },
    /// Sorted rows.
    Sort {
        /// Rows.
        input: Box<Plan>,
        /// The order and the limit.
        spec: Arc<SortSpec>,
    },
    /// LIMIT and OFFSET.
    Limit {
        /// Rows.
        input: Box<Plan>,
        /// Number of rows to skip.
        offset: u64,
        /// Maximum number of rows after these.
        limit: Option<u64>,
    },
    /// Sorted rows by their peers, the rows that are equal in some keys and come one after the other.
    Peers {
        /// Rows in an order in which peers are neighbours.
        input: Box<Plan>,
        /// The columns of the keys.
        keys: Vec<usize>,
        /// Which rows are kept.
        kept: KeptPeers,
    },
    /// The rows of all inputs, which have the same number and types of columns.
    Union(Vec<Plan>),
    /// A plan whose expressions read the values of scalar subqueries: [`Expression::SubqueryValue`] `n` is the only column of
    /// the only row of the `n`-th subquery, null without a row.
    WithScalars {
        /// The subqueries, each with one column.
        subqueries: Vec<Plan>,
        /// The plan that uses their values.
        input: Box<Plan>,
    },
    /// A plan that reads a common table.
    With {
        /// Its number.
        cte: CteId,
        /// Its rows, which are made when the first scan asks for them.
        definition: Box<Plan>,
        /// The plan that scans them.
        body: Box<Plan>,
    },
    /// A plan that reads a recursion.
    Recursion {
        /// Its number, and what its rows are compared by.
        spec: RecursionSpec,
        /// The rows at first.
        start: Box<Plan>,
        /// Makes rows of those of the step before.
        step: Box<Plan>,
        /// The plan that scans the rows.
        body: Box<Plan>,
    },
    /// The rows of a common table. The scan is in the body of the table's [`Plan::With`], or in the body or the step of its
    /// [`Plan::Recursion`].
    CteScan {
        /// The common table.
        cte: CteId,
        /// Number of its columns.
        column_count: usize,
    },
    /// The shared form of an operator. Plans of one query have none.
    Shared(Box<SharedOperator>),
}

/// Whether expressions below a nested [`Plan::WithScalars`] are looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WithinScalars {
    Yes,
    No,
}

impl Plan {
    /// A join.
    pub fn join(build: Self, probe: Self, condition: JoinCondition) -> Self {
        Self::Join { node: NodeId::default(), build: Box::new(build), probe: Box::new(probe), condition }
    }

    /// The same plan, each of whose joins has a number of its own.
    pub(crate) fn numbered(&self) -> Self {
        let (mut plan, mut count) = (self.clone(), 0);
        plan.number_joins(&mut count);
        plan
    }

    fn number_joins(&mut self, count: &mut u32) {
        if let Self::Join { node, .. } = self {
            *count += 1;
            *node = NodeId(*count);
        }
        self.inputs_mut().into_iter().for_each(|input| input.number_joins(count));
    }

    /// The same, to be changed.
    pub(crate) fn inputs_mut(&mut self) -> Few<&mut Self> {
        match self {
            Self::Source { .. } | Self::CteScan { .. } => Few::new(),
            Self::Filter { input, .. }
            | Self::Project { input, .. }
            | Self::Aggregate { input, .. }
            | Self::Accumulate { input, .. }
            | Self::Expand { input, .. }
            | Self::Window { input, .. }
            | Self::Peers { input, .. }
            | Self::ProjectSet { input, .. }
            | Self::Sort { input, .. }
            | Self::Limit { input, .. } => few([input]),
            Self::Join { build, probe, .. } => few([probe, build]),
            Self::Union(plans) => plans.iter_mut().collect(),
            Self::WithScalars { subqueries, input } => std::iter::once(&mut **input).chain(subqueries).collect(),
            Self::With { definition, body, .. } => few([definition, body]),
            Self::Recursion { start, step, body, .. } => few([start, step, body]),
            Self::Shared(operator) => operator.inputs_mut(),
        }
    }

    /// Its inputs, in the order in which the plan is shown.
    pub fn inputs(&self) -> Few<&Self> {
        match self {
            Self::Source { .. } | Self::CteScan { .. } => Few::new(),
            Self::Filter { input, .. }
            | Self::Project { input, .. }
            | Self::Aggregate { input, .. }
            | Self::Accumulate { input, .. }
            | Self::Expand { input, .. }
            | Self::Window { input, .. }
            | Self::Peers { input, .. }
            | Self::ProjectSet { input, .. }
            | Self::Sort { input, .. }
            | Self::Limit { input, .. } => few([input]),
            Self::Join { build, probe, .. } => few([probe, build]),
            Self::Union(plans) => plans.iter().collect(),
            Self::WithScalars { subqueries, input } => std::iter::once(&**input).chain(subqueries).collect(),
            Self::With { definition, body, .. } => few([definition, body]),
            Self::Recursion { start, step, body, .. } => few([start, step, body]),
            Self::Shared(operator) => operator.inputs(),
        }
    }

    /// Number of columns.
    pub fn column_count(&self) -> usize {
        match self {
            Self::Source { column_count, .. } | Self::CteScan { column_count, .. } => *column_count,
            Self::Filter { input, .. }
            | Self::Sort { input, .. }
            | Self::Limit { input, .. }
            | Self::Peers { input, .. }
            | Self::WithScalars { input, .. } => input.column_count(),
            Self::Project { expressions, .. } => expressions.len(),
            Self::Join { build, probe, condition, .. } => {
                let columns = condition.kind.columns();
                (if columns.probe { probe.column_count() } else { 0 })
                    + usize::from(columns.mark)
                    + (if columns.build { build.column_count() } else { 0 })
            }
            Self::Aggregate { spec, .. } => spec.keys.len() + spec.aggregates.len(),
            Self::Accumulate { spec, foreign, .. } => spec.keys.len() + spec.aggregates.len() + foreign.len(),
            Self::Expand { lists, .. } => lists.first().map_or(0, Vec::len) + 1,
            Self::Window { input, spec } => input.column_count() + spec.calls.len(),
            Self::ProjectSet { input, call } => input.column_count() + call.column_count,
            Self::Union(plans) => plans.first().map_or(0, Self::column_count),
            Self::With { body, .. } | Self::Recursion { body, .. } => body.column_count(),
            Self::Shared(operator) => operator.column_count(),
        }
    }

    /// The same plan with `values` in place of the query's parameters.
    ///
    /// Panics if there are fewer values than parameters, and on a shared plan.
    pub fn bind(&self, values: &[Option<Scalar>]) -> Self {
        let mut bound = self.clone();
        bound.each_expression(WithinScalars::Yes, &mut |expression| expression.bind_parameters(values));
        bound
    }

    /// The same plan with constants in place of the parameters that have a known value. Panics on a shared plan.
    pub(crate) fn bind_known(&self, value_of: impl Fn(usize) -> Option<Option<Scalar>>) -> Self {
        let mut bound = self.clone();
        bound.each_expression(WithinScalars::Yes, &mut |expression| expression.bind_known(&value_of));
        bound
    }

    /// The same plan with `values` in place of those of its scalar subqueries. Nested [`Plan::WithScalars`] have subqueries
    /// of their own.
    pub(crate) fn bind_subquery_values(&self, values: &[Expression]) -> Self {
        let mut bound = self.clone();
        bound.each_expression(WithinScalars::No, &mut |expression| expression.bind_subquery_values(values));
        bound
    }

    /// Whether any expression reads a parameter of the query.
    pub fn has_parameters(&self) -> bool {
        let of = |expression: &Expression| {
            let mut parameters = Vec::new();
            expression.parameters(&mut parameters);
            !parameters.is_empty()
        };
        let has_own = match self {
            Self::Filter { condition, .. } => of(condition),
            Self::Project { expressions, .. } => expressions.iter().any(of),
            Self::Join { condition, .. } => condition.residual.as_ref().is_some_and(of),
            _ => false,
        };
        has_own || self.inputs().into_iter().any(Self::has_parameters)
    }

    /// Whether it has a join.
    pub fn has_joins(&self) -> bool {
        matches!(self, Self::Join { .. }) || self.inputs().into_iter().any(Self::has_joins)
    }

    fn each_expression(&mut self, within_scalars: WithinScalars, each: &mut dyn FnMut(&mut Expression)) {
        match self {
            Self::WithScalars { .. } if within_scalars == WithinScalars::No => return,
            Self::Shared(_) => panic!("expressions are bound before queries share a plan"),
            Self::Filter { condition, .. } => each(condition),
            Self::Project { expressions, .. } => expressions.iter_mut().for_each(&mut *each),
            Self::Join { condition, .. } => condition.residual.iter_mut().for_each(&mut *each),
            _ => {}
        }
        self.inputs_mut().into_iter().for_each(|input| input.each_expression(within_scalars, each));
    }

    /// Writes the tree with one operator per line, each input indented by two blanks.
    pub fn describe(&self, depth: usize, out: &mut dyn fmt::Write) -> fmt::Result {
        write!(out, "{:1$}", "", 2 * depth)?;
        self.describe_operator(out)?;
        writeln!(out)?;
        self.inputs().into_iter().try_for_each(|input| input.describe(depth + 1, out))
    }

    /// Writes the operator without its inputs: its name, and what it does behind a colon.
    pub(super) fn describe_operator(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        match self {
            Self::Source { source, .. } => write!(out, "Scan: {}", source.describe())?,
            Self::Filter { condition, .. } => write!(out, "Filter: {condition}")?,
            Self::Project { expressions, .. } => {
                let text: Vec<String> = expressions.iter().map(ToString::to_string).collect();
                write!(out, "Project: {}", text.join(", "))?;
            }
            Self::Join { condition, .. } => describe_join(condition, out)?,
            Self::Aggregate { spec, .. } => write!(out, "Aggregate: {spec}")?,
            Self::Accumulate { spec, foreign, .. } => {
                let calls: Vec<String> = foreign.iter().map(ToString::to_string).collect();
                write!(out, "Accumulate: {spec}, [{}]", calls.join(", "))?;
            }
            Self::Expand { lists, .. } => describe_lists(lists, out)?,
            Self::Window { spec, .. } => write!(out, "Window: {spec}")?,
            Self::ProjectSet { call, .. } => write!(out, "ProjectSet: {call}")?,
            Self::Sort { spec, .. } => describe_sort(spec, out)?,
            Self::Limit { offset, limit, .. } => {
                let limit = limit.map_or_else(|| "all".to_owned(), |limit| limit.to_string());
                write!(out, "Limit: {limit} from {offset}")?;
            }
            Self::Peers { keys, kept, .. } => describe_peers(keys, *kept, out)?,
            Self::Union(_) => out.write_str("Union")?,
            Self::WithScalars { subqueries, .. } => {
                write!(out, "Scalars: {} before the first input", subqueries.len())?;
            }
            Self::With { cte, .. } => write!(out, "With: {cte}")?,
            Self::Recursion { spec, .. } => write!(out, "Recursion: {spec}")?,
            Self::CteScan { cte, .. } => write!(out, "Scan: {cte}")?,
            Self::Shared(operator) => write!(out, "{operator}")?,
        }
        Ok(())
    }
}

fn describe_join(condition: &JoinCondition, out: &mut dyn fmt::Write) -> fmt::Result {
    write!(out, "HashJoin: {:?}", condition.kind)?;
    for (probe, build) in condition.probe_keys.iter().zip(&condition.build_keys) {
        write!(out, ", probe #{probe} = build #{build}")?;
    }
    condition.residual.iter().try_for_each(|residual| write!(out, ", {residual}"))
}

fn describe_lists(lists: &ColumnLists, out: &mut dyn fmt::Write) -> fmt::Result {
    let column = |column: &Option<usize>| column.map_or_else(|| "null".to_owned(), |column| format!("#{column}"));
    let list = |list: &Vec<Option<usize>>| format!("[{}]", list.iter().map(column).collect::<Vec<_>>().join(", "));
    write!(out, "Expand: {}", lists.iter().map(list).collect::<Vec<_>>().join(", "))
}

/// The text of DISTINCT ON or WITH TIES.
pub(super) fn describe_peers(keys: &[usize], kept: KeptPeers, out: &mut dyn fmt::Write) -> fmt::Result {
    let keys: Vec<String> = keys.iter().map(|key| format!("#{key}")).collect();
    match kept {
        KeptPeers::First => write!(out, "Peers: first by [{}]", keys.join(", ")),
        KeptPeers::WithTies { offset, limit } => {
            write!(out, "Peers: {limit} from {offset} with ties by [{}]", keys.join(", "))
        }
    }
}

fn describe_sort(spec: &SortSpec, out: &mut dyn fmt::Write) -> fmt::Result {
    let keys: Vec<String> = spec.keys.iter().map(SortKey::to_string).collect();
    let limit = spec.limit.map(|limit| format!(", first {limit}")).unwrap_or_default();
    write!(out, "Sort: {}{limit}", keys.join(", "))
}
