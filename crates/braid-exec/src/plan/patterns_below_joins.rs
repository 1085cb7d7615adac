//! Patterns on the columns of a join's build side, searched for below the join.
//!
//! ```text
//! CASE WHEN type LIKE 'PROMO%' …            CASE WHEN is_promo …
//!        │                                         │
//!       join                         →            join
//!      /    \                                    /    \
//!  lines     parts                           lines     parts, type LIKE 'PROMO%' as is_promo
//! ```
//!
//! A pass joins what any of its queries wants, so that a build row has many partners. Below the join its string is searched once, and
//! is not copied for each of them.
//!
//! The results are the same if
//!
//! 1. the join is an inner one: others have rows without a build row;
//! 2. the search cannot fail, since it is also done for rows without a partner;
//! 3. it reads nothing but build columns: no parameters, no values of subqueries.

use super::{JoinKind, Plan};
use crate::Expression;

/// A projection whose patterns are searched for below the join under it.
#[derive(Debug)]
pub struct PatternsBelowJoin<'a> {
    /// The join's build side, as it was.
    pub build: &'a Plan,
    /// The rows of the projection.
    input: &'a Plan,
    /// Its expressions, over the rows' columns followed by the results of the patterns.
    expressions: Vec<Expression>,
    /// The patterns over the build side's columns.
    patterns: Vec<Expression>,
}

/// The join below a projection, and where its rows' columns come from.
struct JoinBelow<'a> {
    build: &'a Plan,
    /// For each column of the rows, its position in the build side if it is one of its columns.
    build_columns: Vec<Option<usize>>,
}

impl<'a> PatternsBelowJoin<'a> {
    /// The patterns of a projection that can be searched for below the join under it; `None` if there are none.
    pub fn of(plan: &'a Plan) -> Option<Self> {
        let Plan::Project { input, expressions } = plan else { return None };
        let JoinBelow { build, build_columns } = JoinBelow::of(input)?;
        let mut found = Self { build, input, expressions: Vec::new(), patterns: Vec::new() };
        let mut expressions = expressions.clone();
        expressions.iter_mut().for_each(|expression| found.take(expression, &build_columns));
        found.expressions = expressions;
        (!found.patterns.is_empty()).then_some(found)
    }

    /// The plan with the patterns below the join.
    pub fn into_plan(self) -> Plan {
        let Self { input, expressions, patterns, .. } = self;
        Plan::Project { input: with_patterns(input, patterns).into(), expressions }
    }

    /// Puts a column in place of each pattern that an expression has.
    fn take(&mut self, expression: &mut Expression, build_columns: &[Option<usize>]) {
        match on_build_side(expression, build_columns) {
            Some(pattern) => {
                let text = format!("{pattern:?}");
                let known = self.patterns.iter().position(|other| format!("{other:?}") == text);
                let at = known.unwrap_or(self.patterns.len());
                if known.is_none() {
                    self.patterns.push(pattern);
                }
                *expression = Expression::Column(build_columns.len() + at);
            }
            None => expression.children_mut().into_iter().for_each(|part| self.take(part, build_columns)),
        }
    }
}

impl<'a> JoinBelow<'a> {
    /// The join under filters and projections.
    fn of(plan: &'a Plan) -> Option<Self> {
        match plan {
            Plan::Filter { input, .. } => Self::of(input),
            Plan::Project { input, expressions } => {
                let Self { build, build_columns } = Self::of(input)?;
                let of_expression = |expression: &Expression| build_columns[expression.as_column()?];
                Some(Self { build, build_columns: expressions.iter().map(of_expression).collect() })
            }
            Plan::Join { build, probe, condition, .. } if condition.kind == JoinKind::Inner => {
                let of_probe = (0..probe.column_count()).map(|_| None);
                let build_columns = of_probe.chain((0..build.column_count()).map(Some)).collect();
                Some(Self { build, build_columns })
            }
            _ => None,
        }
    }
}

/// A pattern over the build side's columns, if the expression is one that may be searched for there.
fn on_build_side(expression: &Expression, build_columns: &[Option<usize>]) -> Option<Expression> {
    let Expression::Like { .. } = expression else { return None };
    let is_of_query = |part: &Expression| matches!(part, Expression::Parameter(_) | Expression::SubqueryValue(_));
    let mut columns = Vec::new();
    expression.columns(&mut columns);
    let is_on_side = !columns.is_empty() && columns.iter().all(|column| build_columns[*column].is_some());
    if !is_on_side || expression.may_fail() || expression.any(&is_of_query) {
        return None;
    }
    let mut pattern = expression.clone();
    pattern.map_columns(&mut |column| build_columns[column].unwrap_or(column));
    Some(pattern)
}

/// The same rows, with the results of patterns as further columns at the end.
fn with_patterns(plan: &Plan, patterns: Vec<Expression>) -> Plan {
    match plan {
        Plan::Filter { input, condition } => {
            let input = with_patterns(input, patterns);
            Plan::Filter { input: input.into(), condition: condition.clone() }
        }
        Plan::Project { input, expressions } => {
            let results = (input.column_count()..).take(patterns.len()).map(Expression::Column);
            let expressions = expressions.iter().cloned().chain(results).collect();
            Plan::Project { input: with_patterns(input, patterns).into(), expressions }
        }
        Plan::Join { build, probe, condition, .. } => {
            let expressions = (0..build.column_count()).map(Expression::Column).chain(patterns).collect();
            let build = Plan::Project { input: build.clone(), expressions };
            Plan::join(build, (**probe).clone(), condition.clone())
        }
        // `JoinBelow` goes through no other operator.
        other => other.clone(),
    }
}
