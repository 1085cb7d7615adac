//! Grouping sets over two names of one column are refused.
//!
//! In `SELECT … FROM (SELECT a, a AS b FROM t) s GROUP BY CUBE (a, b)` one name may be null where the other is not.
//! DataFusion knows that both are one column and takes them for equal above the groups, too.

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Column, Result, not_impl_err};
use datafusion::logical_expr::{Aggregate, Expr, LogicalPlan};
use datafusion::optimizer::analyzer::AnalyzerRule;

#[derive(Debug)]
pub(super) struct GroupingColumns;

impl AnalyzerRule for GroupingColumns {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan.apply_with_subqueries(|node| {
            if let LogicalPlan::Aggregate(aggregate) = node {
                check(aggregate)?;
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
        Ok(plan)
    }

    fn name(&self) -> &str {
        "grouping_columns"
    }
}

fn check(aggregate: &Aggregate) -> Result<()> {
    let [Expr::GroupingSet(sets)] = aggregate.group_expr.as_slice() else { return Ok(()) };
    let mut seen: Vec<(&Column, Expr)> = Vec::new();
    for expr in sets.distinct_expr() {
        let Expr::Column(column) = expr else { continue };
        let origin = origin_of(column, &aggregate.input);
        if let Some((other, _)) = seen.iter().find(|(other, known)| *other != column && *known == origin) {
            return not_impl_err!(
                "GROUPING SETS, CUBE and ROLLUP over two names of one column ({} and {}) are not supported",
                other.name,
                column.name
            );
        }
        seen.push((column, origin));
    }
    Ok(())
}

/// What a column is below projections and aliases.
fn origin_of(column: &Column, plan: &LogicalPlan) -> Expr {
    match plan {
        LogicalPlan::SubqueryAlias(alias) => match alias.schema.maybe_index_of_column(column) {
            Some(at) => origin_of(&Column::from(alias.input.schema().qualified_field(at)), &alias.input),
            None => Expr::Column(column.clone()),
        },
        LogicalPlan::Projection(projection) => {
            let at = projection.schema.maybe_index_of_column(column);
            match at.map(|at| projection.expr[at].clone().unalias_nested().data) {
                Some(Expr::Column(inner)) => origin_of(&inner, &projection.input),
                Some(other) => other,
                None => Expr::Column(column.clone()),
            }
        }
        other => match other.inputs().as_slice() {
            [input] if input.schema().has_column(column) => origin_of(column, input),
            _ => Expr::Column(column.clone()),
        },
    }
}
