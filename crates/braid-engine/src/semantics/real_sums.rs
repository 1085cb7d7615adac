//! `sum(real)` is a real. DataFusion adds up in double precision, and answers that.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::expr::Cast;
use datafusion::logical_expr::{Aggregate, Expr, ExprSchemable, LogicalPlan, Projection};
use datafusion::optimizer::analyzer::AnalyzerRule;

#[derive(Debug)]
pub(super) struct RealSums;

impl AnalyzerRule for RealSums {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let narrow = |plan: LogicalPlan| match plan {
            LogicalPlan::Aggregate(aggregate)
                if aggregate.aggr_expr.iter().any(|expr| is_real_sum(expr, &aggregate)) =>
            {
                narrowed(aggregate).map(Transformed::yes)
            }
            plan => Ok(Transformed::no(plan)),
        };
        plan.transform_up_with_subqueries(narrow).map(|plan| plan.data)
    }

    fn name(&self) -> &str {
        "real_sums"
    }
}

fn is_real_sum(expr: &Expr, aggregate: &Aggregate) -> bool {
    match expr {
        Expr::Alias(alias) => is_real_sum(&alias.expr, aggregate),
        Expr::AggregateFunction(function) if function.func.name() == "sum" => {
            let argument = function.params.args.first();
            argument.is_some_and(|arg| arg.get_type(aggregate.input.schema()).is_ok_and(|of| of == DataType::Float32))
        }
        _ => false,
    }
}

/// The groups with their sums of reals as reals, under the same names.
fn narrowed(aggregate: Aggregate) -> Result<LogicalPlan> {
    let first_call = aggregate.schema.fields().len() - aggregate.aggr_expr.len();
    let columns = aggregate.schema.columns().into_iter().enumerate().map(|(at, column)| {
        let is_sum = at >= first_call && is_real_sum(&aggregate.aggr_expr[at - first_call], &aggregate);
        if !is_sum {
            return Expr::Column(column);
        }
        let (relation, name) = (column.relation.clone(), column.name.clone());
        let real = Expr::Cast(Cast::new(Box::new(Expr::Column(column)), DataType::Float32));
        real.alias_qualified(relation, name)
    });
    let columns: Vec<Expr> = columns.collect();
    Ok(LogicalPlan::Projection(Projection::try_new(columns, Arc::new(LogicalPlan::Aggregate(aggregate)))?))
}
