//! Which columns of a result are `char(n)`, and are shown with blanks up to their length.
//!
//! The type is followed through the plan from where it is declared or cast to, since DataFusion forgets it in functions and
//! aggregates. Where a column has values of a `char(n)` and others that PostgreSQL would show unpadded (`coalesce(c, 'x')`),
//! no one length is right, and the query is refused.

use braid_storage::ColumnType;
use datafusion::common::DFSchema;
use datafusion::logical_expr::expr::{AggregateFunction, Case, WindowFunction};
use datafusion::logical_expr::{Expr, ExprSchemable, JoinType, LogicalPlan};

use crate::EngineError;
use crate::conversion::is_string;
use crate::semantics::marked_literals::mark_of;
use crate::sql_types::column_type_of;

/// What a column's values are, as far as padding is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Nothing but null.
    Null,
    /// A literal with this number of characters, whose type is open.
    Literal(usize),
    Char(u32),
    Varchar,
    /// Text, and all other types.
    Other,
}

/// The length that each column is padded to; `None` for those that are not `char(n)`.
pub(crate) fn shown_lengths(plan: &LogicalPlan) -> Result<Vec<Option<u32>>, EngineError> {
    let kinds = of_plan(plan)?;
    Ok(kinds
        .into_iter()
        .map(|kind| match kind {
            Kind::Char(length) => Some(length),
            _ => None,
        })
        .collect())
}

fn of_plan(plan: &LogicalPlan) -> Result<Vec<Kind>, EngineError> {
    match plan {
        LogicalPlan::Projection(projection) => of_exprs(&projection.expr, &projection.input),
        LogicalPlan::Aggregate(aggregate)
            if !aggregate.group_expr.iter().any(|expr| matches!(expr, Expr::GroupingSet(_))) =>
        {
            let mut kinds = of_exprs(&aggregate.group_expr, &aggregate.input)?;
            kinds.extend(of_exprs(&aggregate.aggr_expr, &aggregate.input)?);
            Ok(kinds)
        }
        LogicalPlan::Window(window) => {
            let mut kinds = of_plan(&window.input)?;
            kinds.extend(of_exprs(&window.window_expr, &window.input)?);
            Ok(kinds)
        }
        LogicalPlan::Filter(filter) => of_plan(&filter.input),
        LogicalPlan::Sort(sort) => of_plan(&sort.input),
        LogicalPlan::Limit(limit) => of_plan(&limit.input),
        LogicalPlan::Distinct(datafusion::logical_expr::Distinct::All(input)) => of_plan(input),
        LogicalPlan::SubqueryAlias(alias) => of_plan(&alias.input),
        LogicalPlan::Union(union) => {
            let mut inputs = union.inputs.iter().map(|input| of_plan(input));
            let first = inputs.next().unwrap_or_else(|| Ok(Vec::new()))?;
            inputs.try_fold(first, |kinds, input| {
                kinds.into_iter().zip(input?).map(|(one, other)| common(&[one, other])).collect()
            })
        }
        LogicalPlan::Join(join) => match join.join_type {
            JoinType::LeftSemi | JoinType::LeftAnti => of_plan(&join.left),
            JoinType::RightSemi | JoinType::RightAnti => of_plan(&join.right),
            JoinType::LeftMark | JoinType::RightMark => Ok(of_schema(&join.schema)),
            JoinType::Inner | JoinType::Left | JoinType::Right | JoinType::Full => {
                let mut kinds = of_plan(&join.left)?;
                kinds.extend(of_plan(&join.right)?);
                Ok(kinds)
            }
        },
        plan => Ok(of_schema(plan.schema())),
    }
}

fn of_schema(schema: &DFSchema) -> Vec<Kind> {
    schema.fields().iter().map(|field| of_type(column_type_of(field))).collect()
}

fn of_type(column_type: Option<ColumnType>) -> Kind {
    match column_type {
        Some(ColumnType::Char(length)) => Kind::Char(length),
        Some(ColumnType::Varchar(_)) => Kind::Varchar,
        _ => Kind::Other,
    }
}

fn of_exprs(exprs: &[Expr], input: &LogicalPlan) -> Result<Vec<Kind>, EngineError> {
    let columns = of_plan(input)?;
    exprs.iter().map(|expr| of_expr(expr, input.schema(), &columns)).collect()
}

fn of_expr(expr: &Expr, schema: &DFSchema, columns: &[Kind]) -> Result<Kind, EngineError> {
    let all = |exprs: &mut dyn Iterator<Item = &Expr>| {
        let kinds: Result<Vec<Kind>, EngineError> = exprs.map(|expr| of_expr(expr, schema, columns)).collect();
        common(&kinds?)
    };
    match expr {
        Expr::Alias(alias) => of_expr(&alias.expr, schema, columns),
        Expr::Column(column) => {
            Ok(schema.index_of_column(column).ok().and_then(|at| columns.get(at).copied()).unwrap_or(Kind::Other))
        }
        Expr::Cast(cast) => Ok(of_type(column_type_of(&cast.field))),
        Expr::Literal(value, _) if value.is_null() => Ok(Kind::Null),
        // Other statements of the template have literals of other lengths.
        Expr::Literal(..) if mark_of(expr).is_some() => Ok(Kind::Literal(0)),
        Expr::Literal(value, _) if is_string(&value.data_type()) => {
            Ok(Kind::Literal(value.try_as_str().flatten().unwrap_or_default().chars().count()))
        }
        Expr::ScalarSubquery(query) => Ok(of_plan(&query.subquery)?.first().copied().unwrap_or(Kind::Other)),
        Expr::Case(Case { when_then_expr, else_expr, .. }) => {
            all(&mut when_then_expr.iter().map(|(_, then)| &**then).chain(else_expr.as_deref()))
        }
        Expr::ScalarFunction(function) => match function.name() {
            "coalesce" | "greatest" | "least" => all(&mut function.args.iter()),
            "nullif" => all(&mut function.args.iter().take(1)),
            _ => Ok(of_type(expr.to_field(schema).ok().and_then(|(_, field)| column_type_of(&field)))),
        },
        Expr::AggregateFunction(AggregateFunction { func, params }) if keeps_type(func.name()) => {
            all(&mut params.args.iter().take(1))
        }
        Expr::WindowFunction(function) => {
            let WindowFunction { fun, params } = &**function;
            match fun.name() {
                "lead" | "lag" => all(&mut params.args.iter().step_by(2)),
                name if keeps_type(name) => all(&mut params.args.iter().take(1)),
                _ => Ok(Kind::Other),
            }
        }
        expr => Ok(of_type(expr.to_field(schema).ok().and_then(|(_, field)| column_type_of(&field)))),
    }
}

/// Aggregates and window functions that answer one of the values they get.
fn keeps_type(name: &str) -> bool {
    matches!(name, "min" | "max" | "first_value" | "last_value" | "nth_value" | "any_value")
}

/// What a column is that has values of all these kinds (`select_common_type` in PostgreSQL's parse_coerce.c).
fn common(kinds: &[Kind]) -> Result<Kind, EngineError> {
    let is_typed = |kind: &&Kind| !matches!(kind, Kind::Null | Kind::Literal(_));
    let Some(first) = kinds.iter().find(is_typed) else {
        return Ok(if kinds.iter().all(|kind| *kind == Kind::Null) { Kind::Null } else { Kind::Other });
    };
    if kinds.contains(&Kind::Other) {
        return Ok(Kind::Other);
    }
    let Kind::Char(length) = *first else { return Ok(*first) };
    let is_alike = |kind: &Kind| match kind {
        Kind::Null => true,
        Kind::Literal(characters) => *characters >= length as usize,
        kind => kind == first,
    };
    if kinds.iter().all(is_alike) {
        return Ok(*first);
    }
    Err(EngineError::unsupported("char(n) beside texts of other lengths is not supported")
        .with_hint("Cast the char(n) to text or to varchar."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_length_must_be_right_for_all_values() {
        use Kind::{Char, Literal, Null, Other, Varchar};
        for (kinds, expected) in [
            (&[Char(3), Char(3), Null][..], Some(Char(3))),
            (&[Char(3), Other], Some(Other)),
            (&[Varchar, Char(3)], Some(Varchar)),
            (&[Char(3), Literal(3)], Some(Char(3))),
            (&[Char(3), Literal(1)], None),
            (&[Char(3), Char(4)], None),
            (&[Null, Null], Some(Null)),
        ] {
            assert_eq!(common(kinds).ok(), expected, "{kinds:?}");
        }
    }
}
