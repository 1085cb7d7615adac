//! `x NOT IN (subquery)` where a null is in play: unknown as soon as x or a row of the subquery is null, unless the subquery
//! has no rows.
//!
//! DataFusion knows that of one form: a condition joined by AND, an x that is a column, a subquery that does not name the
//! outer row. Others it plans as joins that take an unknown for false, and NOT makes true of that; or it fails. A
//! WHERE or HAVING only asks what is true, so there such a NOT IN, wherever AND, OR and NOT are all that stands above it, is
//!
//! - with an outer row, or without a column in x: NOT EXISTS a row for which `x = row` is not false;
//! - else: NOT EXISTS an equal row, and NOT EXISTS a null one, and x is not null or NOT EXISTS a row at all. All
//!   three have equalities or nothing to look for, where the short form would compare all pairs.
//!
//! Within any other expression (CASE, IS NULL, a comparison) it matters whether a membership is true, false or unknown, so there
//! `x IN (subquery)` becomes a CASE: true where it is, unknown where the test above does not find it false.
//!
//! Left as they are, or refused within other expressions: an x that is a subquery itself or of a row further out, and an x with
//! a column that the subquery has by the same name, which DataFusion would take for the other: for that it has no plan,
//! and says so.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, DFSchema, ExprSchema, Result, ScalarValue, Spans, not_impl_err};
use datafusion::logical_expr::expr::{Exists, InSubquery};
use datafusion::logical_expr::{
    BinaryExpr, Expr, ExprSchemable, Filter, LogicalPlan, LogicalPlanBuilder, Operator, Subquery, lit, when,
};
use datafusion::optimizer::analyzer::AnalyzerRule;

/// The name of the rows of a subquery that knows of no outer row, so that no column of theirs has an outer column's name.
const ROWS: &str = "in rows";

#[derive(Debug)]
pub(super) struct NotIn;

impl AnalyzerRule for NotIn {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let rewritten = plan.transform_up_with_subqueries(|plan| {
            let LogicalPlan::Filter(Filter { predicate, input, .. }) = plan else { return Ok(Transformed::no(plan)) };
            let predicate = Condition { schema: input.schema(), is_negated: false, is_conjunct: true }.of(predicate)?;
            Ok(Transformed::yes(LogicalPlan::Filter(Filter::try_new(predicate, input)?)))
        })?;
        Ok(rewritten.data)
    }

    fn name(&self) -> &str {
        "not_in"
    }
}

/// Where a part of a condition stands.
#[derive(Clone, Copy)]
struct Condition<'a> {
    /// The outer row's columns.
    schema: &'a DFSchema,
    /// Whether it is asked if the part is false, instead of true.
    is_negated: bool,
    /// Whether there are only ANDs above it.
    is_conjunct: bool,
}

impl Condition<'_> {
    fn of(self, expr: Expr) -> Result<Expr> {
        match expr {
            Expr::BinaryExpr(BinaryExpr { left, op: op @ (Operator::And | Operator::Or), right }) => {
                let is_conjunct = self.is_conjunct && op == Operator::And && !self.is_negated;
                let part = Self { is_conjunct, ..self };
                let (left, right) = (Box::new(part.of(*left)?), Box::new(part.of(*right)?));
                Ok(Expr::BinaryExpr(BinaryExpr { left, op, right }))
            }
            Expr::Not(inner) => Ok(Expr::Not(Box::new(Self { is_negated: !self.is_negated, ..self }.of(*inner)?))),
            Expr::InSubquery(membership) if membership.negated != self.is_negated => self.membership(membership),
            membership @ Expr::InSubquery(_) => Ok(membership),
            other => self.within(other),
        }
    }

    /// An expression that is no condition: its memberships are true, false or unknown.
    fn within(self, expr: Expr) -> Result<Expr> {
        let expr = expr.transform_up(|expr| match expr {
            Expr::InSubquery(membership) => self.three_valued(membership).map(Transformed::yes),
            other => Ok(Transformed::no(other)),
        })?;
        Ok(expr.data)
    }

    fn three_valued(self, membership: InSubquery) -> Result<Expr> {
        let rows = Rows::of(&membership.subquery, !membership.subquery.outer_ref_columns.is_empty())?;
        if !(membership.expr.nullable(self.schema)? || rows.may_be_null()) {
            return Ok(Expr::InSubquery(membership));
        }
        let negated = membership.negated;
        let Some(not_false) = self.not_false(&membership, &rows)? else {
            return not_impl_err!("IN (subquery) of this form is not supported within an expression");
        };
        let found = Expr::InSubquery(InSubquery { negated: false, ..membership });
        when(found, lit(!negated)).when(not_false, lit(ScalarValue::Boolean(None))).otherwise(lit(negated))
    }

    /// A membership in a place where false and null differ.
    fn membership(self, membership: InSubquery) -> Result<Expr> {
        let is_correlated = !membership.subquery.outer_ref_columns.is_empty();
        let rows = Rows::of(&membership.subquery, is_correlated)?;
        let has_nulls = membership.expr.nullable(self.schema)? || rows.may_be_null();
        let is_known = self.is_conjunct && is_column(&membership.expr) && !is_correlated;
        if is_known || !has_nulls {
            return Ok(Expr::InSubquery(membership));
        }
        let negated = membership.negated;
        Ok(match self.not_false(&membership, &rows)? {
            None => Expr::InSubquery(membership),
            Some(found) if negated => Expr::Not(Box::new(found)),
            Some(found) => found,
        })
    }

    /// That `x IN (subquery)` is true or unknown; `None` where that cannot be said.
    fn not_false(self, membership: &InSubquery, rows: &Rows) -> Result<Option<Expr>> {
        let InSubquery { expr: value, subquery, .. } = membership;
        let is_nested = value.exists(|expr| {
            let is_query = matches!(expr, Expr::ScalarSubquery(_) | Expr::Exists(_) | Expr::InSubquery(_));
            Ok(is_query || matches!(expr, Expr::OuterReferenceColumn(_, _)))
        })?;
        let has_columns = value.any_column_refs();
        let is_correlated = !subquery.outer_ref_columns.is_empty();
        if is_nested || (is_correlated && rows.has_any_column_of(value)?) {
            return Ok(None);
        }
        let equal = Expr::BinaryExpr(BinaryExpr {
            left: Box::new(self.as_outer((**value).clone())?),
            op: Operator::Eq,
            right: Box::new(rows.column.clone()),
        });
        let found = if is_correlated || !has_columns {
            rows.exists(Some(equal.is_not_false()))?
        } else {
            let a_null = rows.exists(Some(rows.column.clone().is_null()))?;
            let unknown = (**value).clone().is_null().and(rows.exists(None)?);
            rows.exists(Some(equal))?.or(a_null).or(unknown)
        };
        Ok(Some(found))
    }

    /// An expression on the outer row's columns, as it is written within a subquery.
    fn as_outer(self, expr: Expr) -> Result<Expr> {
        let outer = expr.transform_up(|expr| match expr {
            Expr::Column(column) => {
                let field = self.schema.field_from_column(&column)?.clone();
                Ok(Transformed::yes(Expr::OuterReferenceColumn(field, column)))
            }
            other => Ok(Transformed::no(other)),
        })?;
        Ok(outer.data)
    }
}

/// Whether an expression stays one of a column; others may be constants once they are simplified.
fn is_column(expr: &Expr) -> bool {
    match expr {
        Expr::Column(_) => true,
        Expr::Cast(cast) => is_column(&cast.expr),
        _ => false,
    }
}

/// The rows of a subquery of one column.
struct Rows {
    plan: LogicalPlan,
    column: Expr,
}

impl Rows {
    /// Under a name of its own, unless it is correlated: conditions with outer columns are not pulled out of such.
    fn of(subquery: &Subquery, is_correlated: bool) -> Result<Self> {
        let mut plan = LogicalPlanBuilder::from(subquery.subquery.clone());
        if !is_correlated {
            plan = plan.alias(ROWS)?;
        }
        let plan = plan.build()?;
        let column = Expr::Column(Column::from(plan.schema().qualified_field(0)));
        Ok(Self { plan, column })
    }

    fn may_be_null(&self) -> bool {
        self.plan.schema().field(0).is_nullable()
    }

    /// Whether something in the subquery has the name of one of the columns in `value`.
    fn has_any_column_of(&self, value: &Expr) -> Result<bool> {
        let columns = value.column_refs();
        self.plan.exists(|plan| Ok(columns.iter().any(|column| plan.schema().has_column(column))))
    }

    /// EXISTS a row with the condition.
    fn exists(&self, condition: Option<Expr>) -> Result<Expr> {
        let mut plan = self.plan.clone();
        if let Some(condition) = condition {
            plan = LogicalPlan::Filter(Filter::try_new(condition, Arc::new(plan))?);
        }
        let outer_ref_columns = plan.all_out_ref_exprs();
        let subquery = Subquery { subquery: Arc::new(plan), outer_ref_columns, spans: Spans::new() };
        Ok(Expr::Exists(Exists { subquery, negated: false }))
    }
}
