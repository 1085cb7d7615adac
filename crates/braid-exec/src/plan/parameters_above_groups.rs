//! Conditions with parameters above groups instead of below them.
//!
//! ```text
//! groups by year:                           groups by year:
//!   sum(case when nation = $1 then v else 0)   sum(case when nation = $1 then s else 0), sum(s)
//!   sum(v)                              →        │
//!    │                                      groups by year, nation: sum(v) as s
//! rows                                           │
//!                                           rows
//! ```
//!
//! In a pass, a row below a grouping whose arguments depend on the query is there once for each value of the parameters. Groups by
//! the *compared columns* as well, those that the conditions with parameters read, are made once for all queries. The conditions
//! are evaluated for these *partial groups*, which have one value in each compared column. Partial results are combined: sums and
//! counts are added, of extremes the extreme is taken (decomposable functions: Gray et al., Data Cube, ICDE 1996, section 5).
//!
//! The results are the same if
//!
//! 1. parameters are only in the conditions of CASE expressions that are arguments, and in filters of aggregates;
//! 2. these conditions cannot fail, and the results of the CASE expressions cannot either: all rows are evaluated for all
//!    results;
//! 3. no aggregate is an average or reads distinct values, and no sum can be out of range: sums are of integers of 64 bits;
//! 4. there is a key, or a compared column, so that each partial group has a row.
//!
//! A count is a sum of partial counts, which is null where there is none; that is zero.

use braid_storage::Scalar;

use super::lifted_parameters::LiftedParameters;
use super::{AggregateCall, AggregateFunction, AggregationSpec, Plan};
use crate::Expression;

/// Groups whose arguments have conditions with parameters, in two steps.
#[derive(Debug)]
pub struct ParametrisedGroups {
    /// The rows.
    pub input: Plan,
    /// The keys of the partial groups, over the rows' columns: those of the groups, followed by the compared columns that are
    /// not among them.
    pub keys: Vec<Expression>,
    key_count: usize,
    partials: Vec<Partial>,
    aggregates: Vec<Combined>,
}

/// An aggregate of the partial groups, over the rows' columns.
#[derive(Clone, Debug)]
struct Partial {
    function: AggregateFunction,
    argument: Option<Expression>,
    filter: Option<Expression>,
}

/// An aggregate of the groups, over the partial groups' columns.
#[derive(Clone, Debug)]
struct Combined {
    function: AggregateFunction,
    argument: Expression,
    filter: Option<Expression>,
    is_count: bool,
}

/// An aggregate as the plan has it, over the rows' columns.
#[derive(Clone, Copy)]
struct Original<'a> {
    function: AggregateFunction,
    argument: Option<&'a Expression>,
    filter: Option<&'a Expression>,
}

impl ParametrisedGroups {
    /// The groups of a plan in two steps, if conditions 1 to 4 hold and some argument has a condition with parameters.
    /// `is_varying` tells which parameters have several values; the others are as constants.
    pub fn of(plan: &Plan, is_varying: &dyn Fn(usize) -> bool) -> Option<Self> {
        let Plan::Aggregate { input, spec } = plan else { return None };
        let Plan::Project { input, expressions } = &**input else { return None };
        let varies = |expression: &Expression| {
            let mut parameters = Vec::new();
            expression.parameters(&mut parameters);
            parameters.into_iter().any(is_varying)
        };
        let LiftedParameters { input, expressions } = LiftedParameters::of(input, expressions, &varies);
        if spec.keys.iter().any(|key| varies(&expressions[*key])) || spec.aggregates.iter().any(|call| call.distinct) {
            return None;
        }
        let original = |call: &AggregateCall| Original {
            function: call.function,
            argument: call.argument.map(|argument| &expressions[argument]),
            filter: call.filter.map(|filter| &expressions[filter]),
        };
        let calls: Vec<Original<'_>> = spec.aggregates.iter().map(original).collect();
        let mut keys: Vec<Expression> = spec.keys.iter().map(|key| expressions[*key].clone()).collect();
        let (key_count, mut has_parameters) = (keys.len(), false);
        for condition in calls.iter().flat_map(|call| call.conditions(&varies)) {
            if condition.may_fail() {
                return None;
            }
            has_parameters |= varies(condition);
            let mut compared = Vec::new();
            condition.columns(&mut compared);
            for column in compared {
                if !keys.iter().any(|key| key.as_column() == Some(column)) {
                    keys.push(Expression::Column(column));
                }
            }
        }
        // Without keys, there is a partial group also where there is no row: its constants would count.
        if !has_parameters || keys.is_empty() {
            return None;
        }
        let (partials, aggregates) = (Vec::new(), Vec::new());
        let mut groups = Self { input, keys, key_count, partials, aggregates };
        for call in calls {
            let combined = groups.combined(call, &varies)?;
            groups.aggregates.push(combined);
        }
        Some(groups)
    }

    /// Number of keys of the groups, which are the first of [`Self::keys`].
    pub fn key_count(&self) -> usize {
        self.key_count
    }

    /// Number of aggregates of the groups.
    pub fn aggregate_count(&self) -> usize {
        self.aggregates.len()
    }

    /// The groups in two steps. The input is a plan with the same rows as that of the original.
    pub fn in_two_steps(&self, input: Plan) -> Plan {
        let partial_groups = self.partial_groups(input);
        let mut expressions: Vec<Expression> = (0..self.key_count).map(Expression::Column).collect();
        let mut place = |expression: &Expression| {
            expressions.push(expression.clone());
            expressions.len() - 1
        };
        let calls = self.aggregates.iter().map(|combined| AggregateCall {
            function: combined.function,
            argument: Some(place(&combined.argument)),
            distinct: false,
            filter: combined.filter.as_ref().map(&mut place),
        });
        let spec = AggregationSpec { aggregates: calls.collect(), keys: (0..self.key_count).collect() };
        let input = Plan::Project { input: partial_groups.into(), expressions };
        let groups = Plan::Aggregate { input: input.into(), spec: spec.into() };
        let of_call = |(at, combined): (usize, &Combined)| {
            let column = Expression::Column(self.key_count + at);
            if combined.is_count { zero_for_null(column) } else { column }
        };
        let keys = (0..self.key_count).map(Expression::Column);
        let results = keys.chain(self.aggregates.iter().enumerate().map(of_call)).collect();
        Plan::Project { input: groups.into(), expressions: results }
    }

    fn partial_groups(&self, input: Plan) -> Plan {
        let mut expressions = self.keys.clone();
        let mut place = |expression: &Expression| {
            expressions.push(expression.clone());
            expressions.len() - 1
        };
        let calls = self.partials.iter().map(|partial| AggregateCall {
            function: partial.function,
            argument: partial.argument.as_ref().map(&mut place),
            distinct: false,
            filter: partial.filter.as_ref().map(&mut place),
        });
        let spec = AggregationSpec { aggregates: calls.collect(), keys: (0..self.keys.len()).collect() };
        let rows = Plan::Project { input: input.into(), expressions };
        Plan::Aggregate { input: rows.into(), spec: spec.into() }
    }

    /// The second step of an aggregate. Adds what it needs to the first.
    fn combined(&mut self, call: Original<'_>, varies: &dyn Fn(&Expression) -> bool) -> Option<Combined> {
        use AggregateFunction as F;
        let is_count = matches!(call.function, F::Count | F::CountRows);
        let function = match call.function {
            F::Count | F::CountRows | F::Sum => F::Sum,
            F::Minimum | F::Maximum | F::BoolAnd | F::BoolOr => call.function,
            F::Average(_) => return None,
        };
        let (below, above) = match call.filter {
            Some(filter) if varies(filter) => (None, Some(self.above(filter))),
            filter => (filter, None),
        };
        let argument = match call.argument {
            Some(Expression::Case { branches, otherwise }) if call.argument.is_some_and(varies) => {
                let mut results = Vec::with_capacity(branches.len());
                for (condition, result) in branches {
                    results.push((self.above(condition), self.result(call.function, result, below, varies)?));
                }
                let otherwise = match otherwise {
                    None => None,
                    Some(otherwise) => Some(self.result(call.function, otherwise, below, varies)?.into()),
                };
                Expression::Case { branches: results, otherwise }
            }
            argument if argument.is_some_and(varies) => return None,
            argument => self.partial(call.function, argument, below)?,
        };
        Some(Combined { function, argument, filter: above, is_count })
    }

    /// The partial aggregate of a result of a CASE expression, which must not fail for any row.
    fn result(
        &mut self,
        function: AggregateFunction,
        result: &Expression,
        filter: Option<&Expression>,
        varies: &dyn Fn(&Expression) -> bool,
    ) -> Option<Expression> {
        if varies(result) || !result.is_in_range(&|column| self.input.integer_bounds(column)) {
            return None;
        }
        self.partial(function, Some(result), filter)
    }

    /// The value of a partial aggregate, over the partial groups' columns; `None` if it may be out of range.
    fn partial(
        &mut self,
        function: AggregateFunction,
        argument: Option<&Expression>,
        filter: Option<&Expression>,
    ) -> Option<Expression> {
        use AggregateFunction as F;
        // A partial group has a row.
        match (function, argument, filter) {
            (F::Count, Some(Expression::Constant(None)), _) => return Some(integer(0)),
            (F::Count, Some(Expression::Constant(Some(_))), filter) => return self.partial(F::CountRows, None, filter),
            (F::Sum, Some(Expression::Constant(Some(Scalar::Int(0)))), None) => return Some(integer(0)),
            (_, Some(Expression::Constant(None)), _) => return Some(Expression::Constant(None)),
            _ => {}
        }
        if function == F::Sum {
            let bounds = argument?.integer_bounds(&|column| self.input.integer_bounds(column))?;
            if !bounds.can_be_summed() {
                return None;
            }
        }
        let partial = Partial { function, argument: argument.cloned(), filter: filter.cloned() };
        let text = format!("{partial:?}");
        let known = self.partials.iter().position(|other| format!("{other:?}") == text);
        let at = known.unwrap_or_else(|| {
            self.partials.push(partial);
            self.partials.len() - 1
        });
        Some(Expression::Column(self.keys.len() + at))
    }

    /// A condition over the partial groups' columns.
    fn above(&self, condition: &Expression) -> Expression {
        let mut condition = condition.clone();
        let place = |column: usize| {
            let mut keys = self.keys.iter();
            keys.position(|key| key.as_column() == Some(column)).expect("the keys have all compared columns")
        };
        condition.map_columns(&mut |column| place(column));
        condition
    }
}

impl<'a> Original<'a> {
    /// The conditions that are evaluated above the groups, if there are parameters: those of a CASE expression, and a filter.
    fn conditions(&self, varies: &dyn Fn(&Expression) -> bool) -> Vec<&'a Expression> {
        let mut conditions = Vec::new();
        match self.argument {
            Some(Expression::Case { branches, .. }) if self.argument.is_some_and(varies) => {
                conditions.extend(branches.iter().map(|(condition, _)| condition));
            }
            _ => {}
        }
        conditions.extend(self.filter.filter(|filter| varies(filter)));
        conditions
    }
}

fn integer(value: i64) -> Expression {
    Expression::Constant(Some(Scalar::Int(value)))
}

fn zero_for_null(value: Expression) -> Expression {
    let branches = vec![(Expression::IsNull(value.clone().into()), integer(0))];
    Expression::Case { branches, otherwise: Some(value.into()) }
}
