//! Queries that change settings and read them.
//!
//! A plan asks a stable function once, and rows are shown in the zone of their query. PostgreSQL asks for each row, and so sees what
//! `set_config` has done for the rows before. A query of rows with both is refused when it runs; it may be described, as rows of VALUES are
//! stored without a plan.

use braid_sql::expression::{FunctionCall, Node};
use braid_sql::immutability::has_immutable_text;
use braid_sql::pg_catalog::{TypeId, Volatility, pg_catalog};
use braid_sql::relation::{Query, Relation};
use braid_sql::{Expression, SqlError, Value};

/// Stable functions that depend on no setting.
const OF_THE_STATEMENT: &[&str] =
    &["now", "transaction_timestamp", "statement_timestamp", "current_database", "version"];

/// What a query does with settings.
#[derive(Clone, Copy, Debug, Default)]
struct SettingUses {
    /// It calls `set_config`.
    changes: bool,
    /// One of these may be for a setting of Braid's, not only for a user's own, which have a dot in their names.
    changes_known: bool,
    /// It calls `current_setting`.
    reads: bool,
    /// It calls what may depend on a setting of Braid's: a name that is looked for, a role, a time in the session's zone.
    depends: bool,
}

/// Refuses a query that does both.
///
/// # Errors
/// 0A000
pub fn check_settings(query: &Query) -> Result<(), SqlError> {
    let (mut own, mut inner) = (SettingUses::default(), SettingUses::default());
    add_relation(&query.relation, &mut own, &mut inner);
    let mut all = own.and(inner);
    if !all.changes || is_one_row(&query.relation) && !inner.is_any() {
        return Ok(());
    }
    all.depends |= query.outputs.iter().any(|output| !has_same_text(output.sql_type.id));
    let refused =
        |what| Err(SqlError::unsupported(format!("set_config and {what} in one query of rows are not supported")));
    match () {
        () if all.reads => refused("current_setting"),
        () if all.changes_known && all.depends => refused("what depends on a setting"),
        () => Ok(()),
    }
}

/// Whether it has one row at most: a query without FROM. Its expressions are computed in turn, but not its subqueries.
fn is_one_row(relation: &Relation) -> bool {
    match relation {
        Relation::OneRow => true,
        Relation::Filter { input, .. } | Relation::Map { input, .. } | Relation::Limit { input, .. } => {
            is_one_row(input)
        }
        _ => false,
    }
}

/// Whether values of a type are shown alike, whatever the zone. How other settings show values cannot be changed.
fn has_same_text(id: TypeId) -> bool {
    matches!(id, TypeId::DATE | TypeId::TIMESTAMP | TypeId::INTERVAL) || has_immutable_text(id)
}

fn add_relation(relation: &Relation, own: &mut SettingUses, inner: &mut SettingUses) {
    relation.expressions().into_iter().for_each(|expression| add(expression, own, inner));
    relation.inputs().into_iter().for_each(|input| add_relation(input, own, inner));
}

fn add(expression: &Expression, own: &mut SettingUses, inner: &mut SettingUses) {
    match &expression.node {
        Node::Call(call) => own.add_call(call, expression),
        Node::Subquery(subquery) => {
            let mut within = SettingUses::default();
            add_relation(&subquery.relation, &mut within, inner);
            *inner = inner.and(within);
        }
        Node::Parameter(_) | Node::Domain(_) => {}
        _ => own.depends |= !expression.is_immutable_itself(),
    }
    expression.operands().into_iter().for_each(|operand| add(operand, own, inner));
}

impl SettingUses {
    fn add_call(&mut self, call: &FunctionCall, expression: &Expression) {
        let name = pg_catalog().function(call.function.id).name;
        match name {
            "set_config" => {
                let is_users = |name: &Value| !name.is_null() && name.as_text().contains('.');
                let is_known = !matches!(&call.arguments[0].node, Node::Constant(name) if is_users(name));
                (self.changes, self.changes_known) = (true, self.changes_known || is_known);
            }
            "current_setting" => self.reads = true,
            _ if call.volatility == Volatility::Volatile || OF_THE_STATEMENT.contains(&name) => {}
            _ => self.depends |= !expression.is_immutable_itself(),
        }
    }

    fn and(self, other: Self) -> Self {
        Self {
            changes: self.changes || other.changes,
            changes_known: self.changes_known || other.changes_known,
            reads: self.reads || other.reads,
            depends: self.depends || other.depends,
        }
    }

    fn is_any(self) -> bool {
        self.changes || self.reads || self.depends
    }
}
