//! Queries with a locking clause (`FOR UPDATE` and the like): each row that they return is made of one row of each table.

use sqlparser::ast::{Distinct, GroupByExpr, Query as Syntax, SetExpr};

use crate::binder::Binder;
use crate::relation::{Query, Relation};
use crate::syntax::LockStrength;
use crate::{SqlError, SqlState};

impl Binder<'_> {
    /// A query that locks the rows which it reads. The locking clause itself is taken off; it was of this strength.
    ///
    /// # Errors
    /// For a query whose rows are not made of one row of each table (0A000).
    pub fn locking_query(&self, syntax: &Syntax, strength: LockStrength) -> Result<Query, SqlError> {
        let forbidden = |what: &str| Err(SqlError::unsupported(format!("{strength} is not allowed with {what}")));
        let has_from = match &*syntax.body {
            SetExpr::SetOperation { .. } => return forbidden("UNION/INTERSECT/EXCEPT"),
            SetExpr::Select(select) if select.distinct.as_ref().is_some_and(|distinct| !is_all(distinct)) => {
                return forbidden("DISTINCT clause");
            }
            SetExpr::Select(select) if !is_ungrouped(&select.group_by) => return forbidden("GROUP BY clause"),
            SetExpr::Select(select) if select.having.is_some() => return forbidden("HAVING clause"),
            SetExpr::Select(select) => !select.from.is_empty(),
            _ => return Err(SqlError::unsupported(format!("{strength} cannot be applied to VALUES"))),
        };
        let query = self.whole_query(syntax).map_err(|error| match is_of_aggregates(&error) {
            true => SqlError::unsupported(format!("{strength} is not allowed with aggregate functions")),
            false => error,
        })?;
        match made_of_several_rows(&query.relation, has_from) {
            Some(what) => forbidden(what),
            None => Ok(query),
        }
    }
}

/// Whether a query without GROUP BY was refused for a column beside an aggregate: that of the rows' identities, at the latest. PostgreSQL
/// looks at locking clauses first.
fn is_of_aggregates(error: &SqlError) -> bool {
    error.state() == SqlState::GroupingError && error.message().contains("must appear in the GROUP BY clause")
}

fn is_all(distinct: &Distinct) -> bool {
    matches!(distinct, Distinct::All)
}

fn is_ungrouped(group_by: &GroupByExpr) -> bool {
    matches!(group_by, GroupByExpr::Expressions(keys, _) if keys.is_empty())
}

/// What makes a row of several rows of FROM, or several of one.
fn made_of_several_rows(mut relation: &Relation, has_from: bool) -> Option<&'static str> {
    loop {
        relation = match relation {
            Relation::Aggregate(_) => return Some("aggregate functions"),
            Relation::Window(_) => return Some("window functions"),
            // A function of FROM stands on no other rows.
            Relation::Expand(expansion) if !has_from || !matches!(expansion.input, Relation::OneRow) => {
                return Some("set-returning functions in the target list");
            }
            Relation::Map { input, .. }
            | Relation::Filter { input, .. }
            | Relation::Sort { input, .. }
            | Relation::Limit { input, .. } => input,
            Relation::With { body, .. } => body,
            _ => return None,
        };
    }
}
