//! The columns of a UNION's branches have one type, as PostgreSQL finds it.
//!
//! A literal takes the type of the other branches; types of different families are refused, where DataFusion would
//! unite them as texts.

use std::sync::Arc;

use arrow::datatypes::DataType;
use braid_df::type_of;
use braid_storage::ColumnType;
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::expr::Alias;
use datafusion::logical_expr::{Expr, LogicalPlan, Projection, Union};
use datafusion::optimizer::analyzer::AnalyzerRule;

use super::explicit_casts::as_float;
use super::mixed_numbers::common_float;
use super::operator_types::family;
use super::unknown_literals::{is_null, typed_as, unknown_text};
use crate::conversion::name_of;
use crate::{EngineError, SqlState};

#[derive(Debug)]
pub(super) struct UnionTypes;

impl AnalyzerRule for UnionTypes {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let unify = |plan: LogicalPlan| match plan {
            LogicalPlan::Union(union) => Ok(Transformed::yes(LogicalPlan::Union(unify(union)?))),
            LogicalPlan::RecursiveQuery(recursive) => {
                check_rounding(&recursive.recursive_term)?;
                Ok(Transformed::no(LogicalPlan::RecursiveQuery(recursive)))
            }
            plan => Ok(Transformed::no(plan)),
        };
        Ok(plan.transform_up_with_subqueries(unify)?.data)
    }

    fn name(&self) -> &str {
        "union_types"
    }
}

fn unify(mut union: Union) -> Result<Union> {
    let mut changed = unite_floats(&mut union)?;
    for column in 0..union.schema.fields().len() {
        let decides = |input: &&Arc<LogicalPlan>| !literal_of(input, column).is_some_and(is_open);
        let Some(field) = union.inputs.iter().find(decides).map(|input| input.schema().field(column).clone()) else {
            continue;
        };
        for input in &mut union.inputs {
            if literal_of(input, column).is_some_and(is_open) {
                *input = typed(input, column, &field)?;
                changed = true;
            }
            let other = input.schema().field(column);
            if let (Some(one), Some(two)) = (family(field.data_type()), family(other.data_type()))
                && one != two
            {
                let (one, two) = (name_of(field.data_type()), name_of(other.data_type()));
                let message = format!("UNION types {one} and {two} cannot be matched");
                return Err(EngineError::new(SqlState::DatatypeMismatch, message).into());
            }
            if is_zoned(field.data_type()) != is_zoned(other.data_type()) && family(other.data_type()).is_some() {
                let message = "a UNION of timestamps with and without time zone is not supported";
                return Err(EngineError::unsupported(message).with_hint("Cast both to one type.").into());
            }
        }
    }
    if changed { Union::try_new_with_loose_types(union.inputs) } else { Ok(union) }
}

/// Refuses a recursive term whose numbers were rounded to the integers of the term before it: DataFusion has cast them.
fn check_rounding(recursive_term: &LogicalPlan) -> Result<()> {
    let LogicalPlan::Projection(projection) = recursive_term else { return Ok(()) };
    let rounds = |expr: &Expr| match expr.clone().unalias() {
        Expr::Cast(cast) => {
            let source = type_of(&cast.expr, projection.input.schema());
            cast.field.data_type().is_integer() && source.is_ok_and(|of| of.is_decimal() || of.is_floating())
        }
        _ => false,
    };
    if !projection.expr.iter().any(rounds) {
        return Ok(());
    }
    let message =
        "a recursive query has a column of type integer in its non-recursive term, and of another type overall";
    Err(EngineError::new(SqlState::DatatypeMismatch, message)
        .with_hint("Cast the output of the non-recursive term to the correct type.")
        .into())
}

/// Makes floats of the numbers in columns where one branch has floats.
fn unite_floats(union: &mut Union) -> Result<bool> {
    let mut changed = false;
    for column in 0..union.schema.fields().len() {
        let types: Vec<DataType> =
            union.inputs.iter().map(|input| input.schema().field(column).data_type().clone()).collect();
        let Some(target) = common_float(types.iter()) else { continue };
        for (input, data_type) in union.inputs.iter_mut().zip(&types) {
            if data_type.is_numeric() && *data_type != target.arrow() {
                *input = with_float(input, column, target)?;
                changed = true;
            }
        }
    }
    Ok(changed)
}

/// The branch with a column of floats in place of its numbers; the column's name stays.
fn with_float(input: &Arc<LogicalPlan>, column: usize, target: ColumnType) -> Result<Arc<LogicalPlan>> {
    let exprs = input.schema().columns().into_iter().enumerate().map(|(at, name)| {
        if at != column {
            return Ok(Expr::Column(name));
        }
        let (relation, own) = (name.relation.clone(), name.name.clone());
        Ok(as_float(Expr::Column(name), target)?.alias_qualified(relation, own))
    });
    let exprs: Vec<Expr> = exprs.collect::<Result<_>>()?;
    Ok(Arc::new(LogicalPlan::Projection(Projection::try_new(exprs, input.clone())?)))
}

fn is_zoned(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Timestamp(_, Some(_)))
}

fn is_open(expr: &Expr) -> bool {
    unknown_text(expr).is_some() || is_null(expr)
}

/// What a branch selects as its column, if it is a literal.
fn literal_of(input: &LogicalPlan, column: usize) -> Option<&Expr> {
    let LogicalPlan::Projection(projection) = input else { return None };
    let expr = match &projection.expr[column] {
        Expr::Alias(alias) => &alias.expr,
        expr => expr,
    };
    matches!(expr, Expr::Literal(..)).then_some(expr)
}

/// The branch with its literal cast to the type of `field`; the column's name stays.
fn typed(input: &Arc<LogicalPlan>, column: usize, field: &arrow::datatypes::Field) -> Result<Arc<LogicalPlan>> {
    let LogicalPlan::Projection(projection) = &**input else { return Ok(input.clone()) };
    let mut exprs = projection.expr.clone();
    let (qualifier, named) = projection.schema.qualified_field(column);
    let literal = literal_of(input, column).map(|literal| typed_as(literal, field)).transpose()?.flatten();
    let Some(cast) = literal else { return Ok(input.clone()) };
    exprs[column] = Expr::Alias(Alias::new(cast, qualifier.cloned(), named.name()));
    Ok(Arc::new(LogicalPlan::Projection(Projection::try_new(exprs, projection.input.clone())?)))
}
