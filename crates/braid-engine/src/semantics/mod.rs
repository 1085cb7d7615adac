//! Where PostgreSQL's answers differ from DataFusion's, and the rules that make them PostgreSQL's.
//!
//! | module | what it changes |
//! |---|---|
//! | [`operator_types`] | which operator two types mean, and which pairs have none |
//! | [`timestamp_difference`] | the difference of timestamps is an interval |
//! | [`shown_cast`] | casts in the names of functions' columns, where nothing else tells them apart |
//! | [`interval_functions`] | intervals compare by their length, and multiply |
//! | [`integer_literals`] | `1` is an integer, not a bigint |
//! | [`unknown_literals`] | `'1'` takes the type of what it stands beside |
//! | [`union_types`] | the branches of a UNION have one type |
//! | [`frame_aggregates`] | aggregates over frames that slide |
//! | [`float_functions`] | functions of floats, with their results checked |
//! | [`function_types`] | functions whose result has another type or scale |
//! | [`exact_sums`] | `sum(bigint)` is numeric, and cannot wrap |
//! | [`numeric_division`] | quotients of numerics |
//! | [`numeric_aggregates`] | averages, variances and deviations of numerics, sums over windows |
//! | [`plain_numeric`] | casts to `numeric` without a precision |
//! | [`narrow_results`] | `sum(real)` is real, `ntile` and a series of integers are integers |
//! | [`explicit_casts`] | casts that round, parse and print as PostgreSQL's |
//! | [`mixed_numbers`] | a float and a numeric are computed as floats |
//! | [`checked_arithmetic`] | integers that overflow, floats divided by zero: errors |
//! | [`zoned_arithmetic`] | days added to an instant are local days |
//! | [`padded_texts`] | `char(n)` where its blanks count |
//! | [`interval_order`] | intervals in sorts, groups and sets |
//! | [`not_in`] | `[NOT] IN (subquery)` in a condition knows of nulls wherever it stands |
//! | [`grouping_columns`] | grouping sets over two names of one column are refused |
//! | [`arithmetic_function`] | the functions the arithmetic becomes |
//! | [`marked_literals`] | the literals of a template's holes |
//! | [`operator_chains`] | the functions that long chains of operators become |
//!
//! Operators are resolved while the syntax is planned, because DataFusion would refuse some of them right there. The
//! others are analyzer rules: they see the plan as it was written, before anything is optimised away. Most run before
//! DataFusion's type coercion, which then sees the types PostgreSQL would (and casts see the types that sums really have).
//! [`grouping_columns`], [`not_in`] and [`checked_arithmetic`] run after it, when both sides of an operator have one type.

mod arithmetic_function;
mod checked_arithmetic;
mod exact_sums;
mod explicit_casts;
mod float_functions;
mod frame_aggregates;
mod function_types;
mod grouping_columns;
mod integer_literals;
mod interval_functions;
mod interval_order;
pub(crate) mod marked_literals;
mod mixed_numbers;
mod narrow_results;
mod not_in;
mod numeric_aggregates;
mod numeric_division;
pub(crate) mod operator_chains;
pub(crate) mod operator_types;
pub(crate) mod padded_texts;
pub(crate) mod plain_numeric;
pub(crate) mod shown_cast;
mod timestamp_difference;
mod union_types;
mod unknown_literals;
mod zoned_arithmetic;

use std::sync::Arc;

use braid_df::BoundedFunctions;
use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::optimizer::analyzer::{Analyzer, AnalyzerRule};

/// DataFusion's analyzer rules with ours around them.
pub(crate) fn analyzer_rules() -> Vec<Arc<dyn AnalyzerRule + Send + Sync>> {
    let mut rules: Vec<Arc<dyn AnalyzerRule + Send + Sync>> = vec![
        Arc::new(shown_cast::HiddenCasts),
        Arc::new(integer_literals::IntegerLiterals),
        Arc::new(unknown_literals::UnknownLiterals),
        Arc::new(union_types::UnionTypes),
        Arc::new(narrow_results::NarrowResults),
        Arc::new(exact_sums::ExactSums),
        Arc::new(interval_order::IntervalOrder),
        Arc::new(padded_texts::PaddedTexts),
        Arc::new(function_types::FunctionTypes),
        Arc::new(zoned_arithmetic::ZonedArithmetic),
        Arc::new(explicit_casts::ExplicitCasts),
        Arc::new(mixed_numbers::MixedNumbers),
    ];
    rules.extend(Analyzer::new().rules);
    rules.push(Arc::new(grouping_columns::GroupingColumns));
    rules.push(Arc::new(not_in::NotIn));
    rules.push(Arc::new(checked_arithmetic::CheckedArithmetic));
    // It takes operators as they will be evaluated.
    rules.push(Arc::new(BoundedFunctions));
    rules
}

/// Rewrites the expressions of a plan and of its subqueries, from the leaves up. `rewrite` gets an expression with the
/// columns it may refer to, and does its own walk through it. Columns keep their names. Limits are not expressions of
/// SQL's types and stay.
pub(crate) fn rewrite_expressions(
    plan: LogicalPlan,
    rewrite: impl FnMut(Expr, &DFSchema) -> Result<Transformed<Expr>>,
) -> Result<LogicalPlan> {
    rewrite_nodes(plan, false, |_| false, rewrite)
}

/// [`rewrite_expressions`], of nodes that `is_left_alone` does not hold for and that are not parts of recursive queries.
fn rewrite_expressions_unless(
    plan: LogicalPlan,
    is_left_alone: impl Fn(&LogicalPlan) -> bool,
    rewrite: impl FnMut(Expr, &DFSchema) -> Result<Transformed<Expr>>,
) -> Result<LogicalPlan> {
    rewrite_nodes(plan, true, is_left_alone, rewrite)
}

fn rewrite_nodes(
    plan: LogicalPlan,
    leaves_recursion: bool,
    is_left_alone: impl Fn(&LogicalPlan) -> bool,
    mut rewrite: impl FnMut(Expr, &DFSchema) -> Result<Transformed<Expr>>,
) -> Result<LogicalPlan> {
    // The parts of a recursive query agreed on their types when they were planned.
    let enter = |plan: LogicalPlan| match plan {
        LogicalPlan::RecursiveQuery(_) if leaves_recursion => {
            Ok(Transformed::new(plan, false, TreeNodeRecursion::Jump))
        }
        plan => Ok(Transformed::no(plan)),
    };
    let rewritten = plan.transform_down_up_with_subqueries(enter, |plan| {
        if matches!(plan, LogicalPlan::Limit(_)) || is_left_alone(&plan) {
            return Ok(Transformed::yes(plan.recompute_schema()?));
        }
        let schema = merge_schema(&plan.inputs());
        let names = NamePreserver::new(&plan);
        let plan = plan.map_expressions(|expr| {
            let name = names.save(&expr);
            Ok(rewrite(expr, &schema)?.update_data(|expr| name.restore(expr)))
        })?;
        // The types of columns may have changed even where the node's own expressions have not.
        plan.map_data(LogicalPlan::recompute_schema)
    })?;
    Ok(rewritten.data)
}
