//! Queries that change settings and read them.
//!
//! `current_setting` is stable: a plan asks it once. PostgreSQL asks it for each row, and so sees what `set_config` has done for the rows
//! before. A query of rows with both is refused when it runs; it may be described, as rows of VALUES are stored without a plan.

use braid_sql::expression::Node;
use braid_sql::pg_catalog::pg_catalog;
use braid_sql::relation::Relation;
use braid_sql::{Expression, SqlError};

/// Which of both a query calls.
#[derive(Clone, Copy, Debug, Default)]
struct SettingCalls {
    changes: bool,
    reads: bool,
}

/// Refuses a query that calls both.
///
/// # Errors
/// 0A000
pub fn check_settings(relation: &Relation) -> Result<(), SqlError> {
    let mut calls = SettingCalls::default();
    calls.add_relation(relation);
    match calls.changes && calls.reads && !is_one_row(relation) {
        true => Err(SqlError::unsupported("set_config and current_setting in one query of rows are not supported")),
        false => Ok(()),
    }
}

/// Whether it has one row at most: a query without FROM.
fn is_one_row(relation: &Relation) -> bool {
    match relation {
        Relation::OneRow => true,
        Relation::Filter { input, .. } | Relation::Map { input, .. } | Relation::Limit { input, .. } => {
            is_one_row(input)
        }
        _ => false,
    }
}

impl SettingCalls {
    fn add_relation(&mut self, relation: &Relation) {
        relation.expressions().into_iter().for_each(|expression| self.add(expression));
        relation.inputs().into_iter().for_each(|input| self.add_relation(input));
    }

    fn add(&mut self, expression: &Expression) {
        match &expression.node {
            Node::Call(call) => match pg_catalog().function(call.function.id).name {
                "set_config" => self.changes = true,
                "current_setting" => self.reads = true,
                _ => {}
            },
            Node::Subquery(subquery) => self.add_relation(&subquery.relation),
            _ => {}
        }
        expression.operands().into_iter().for_each(|operand| self.add(operand));
    }
}
