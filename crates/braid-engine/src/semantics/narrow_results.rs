//! Results that have a narrower type in PostgreSQL: `sum(real)` is real, also over a window, and `ntile`, the elements of a
//! series of integers, and functions that count are integers.
//!
//! DataFusion adds up reals in double precision and answers that, and it counts in 64 bits.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field};
use braid_df::type_of;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, DFSchema, Result};
use datafusion::logical_expr::expr::Cast;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, Projection};
use datafusion::optimizer::analyzer::AnalyzerRule;

use super::rewrite_expressions;

#[derive(Debug)]
pub(super) struct NarrowResults;

impl AnalyzerRule for NarrowResults {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let plan = rewrite_expressions(plan, |expr, schema| expr.transform_up(|expr| narrow_call(expr, schema)))?;
        plan.transform_up_with_subqueries(narrowed).map(|plan| plan.data)
    }

    fn name(&self) -> &str {
        "narrow_results"
    }
}

/// A call whose result is an integer, or a series of integers as a list of them.
fn narrow_call(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let Expr::ScalarFunction(function) = &expr else { return Ok(Transformed::no(expr)) };
    let is_small = |arg: &Expr| matches!(type_of(arg, schema), Ok(DataType::Int16 | DataType::Int32));
    let are_small = || function.args.iter().all(is_small);
    let narrow = match function.name() {
        "cardinality" | "array_length" | "array_ndims" | "array_position" | "regexp_count" | "regexp_instr" => {
            DataType::Int32
        }
        "gcd" | "lcm" if are_small() => DataType::Int32,
        "generate_series" if are_small() => DataType::List(Arc::new(Field::new_list_field(DataType::Int32, true))),
        _ => return Ok(Transformed::no(expr)),
    };
    Ok(Transformed::yes(Expr::Cast(Cast::new(Box::new(expr), narrow))))
}

/// The plan with its narrow results under a projection, which keeps the names.
fn narrowed(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let (input, calls) = match &plan {
        LogicalPlan::Aggregate(aggregate) => (&aggregate.input, &aggregate.aggr_expr),
        LogicalPlan::Window(window) => (&window.input, &window.window_expr),
        _ => return Ok(Transformed::no(plan)),
    };
    let narrow: Vec<Option<DataType>> = calls.iter().map(|call| narrow_type(call, input)).collect();
    if narrow.iter().all(Option::is_none) {
        return Ok(Transformed::no(plan));
    }
    // Calls are the last columns, behind the groups' or the input's.
    let first_call = plan.schema().fields().len() - narrow.len();
    let before = std::iter::repeat_n(None, first_call);
    let columns = plan.schema().columns().into_iter().zip(before.chain(narrow));
    let columns: Vec<Expr> = columns.map(|(column, narrow)| column_as(column, narrow)).collect();
    Ok(Transformed::yes(LogicalPlan::Projection(Projection::try_new(columns, Arc::new(plan))?)))
}

fn column_as(column: Column, data_type: Option<DataType>) -> Expr {
    let Some(data_type) = data_type else { return Expr::Column(column) };
    let (relation, name) = (column.relation.clone(), column.name.clone());
    Expr::Cast(Cast::new(Box::new(Expr::Column(column)), data_type)).alias_qualified(relation, name)
}

/// The type of a call's result where it is not DataFusion's.
fn narrow_type(call: &Expr, input: &LogicalPlan) -> Option<DataType> {
    let sum_of = |args: &[Expr]| {
        let argument = args.first()?.get_type(input.schema()).ok()?;
        (argument == DataType::Float32).then_some(DataType::Float32)
    };
    match call {
        Expr::Alias(alias) => narrow_type(&alias.expr, input),
        Expr::AggregateFunction(function) if function.func.name() == "sum" => sum_of(&function.params.args),
        Expr::WindowFunction(function) => match function.fun.name() {
            "sum" => sum_of(&function.params.args),
            "ntile" => Some(DataType::Int32),
            _ => None,
        },
        _ => None,
    }
}
