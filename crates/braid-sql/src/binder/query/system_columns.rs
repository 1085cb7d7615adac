//! `tableoid`: the oid of the table that a row is of; and `xmin` and `xmax` of the system relations. Other system columns are not supported.
//!
//! FROM makes them beside the rows of a table if an expression may read them, so that they are null where an outer join found no row.
//!
//! Rows of system relations are computed from one state of the database. All are of the transaction that made this state: clients that ask which
//! rows have changed since they looked read all again after any commit, and miss none.

use super::from::FromItem;
use super::scope::ScopeColumn;
use crate::SqlType;
use crate::binder::Binder;
use crate::expression::Expression;
use crate::pg_catalog::TypeId;
use crate::relation::Relation;
use crate::search_path::SYSTEM_SCHEMA;
use crate::tables::{TableEntry, is_common_rows};
use crate::values::Value;

/// The system columns that can be read.
pub(super) const READABLE: [&str; 3] = ["tableoid", "xmin", "xmax"];

/// The first number of a transaction in PostgreSQL.
const FIRST_TRANSACTION: u64 = 3;

/// A system column of a table, and its value in all rows.
#[derive(Clone, Debug)]
pub(in crate::binder) struct SystemColumn {
    /// The column.
    pub column: ScopeColumn,
    value: Value,
}

impl Binder<'_> {
    /// The system columns of a table that an expression may read.
    pub(super) fn system_columns(&self, table: &TableEntry) -> Vec<SystemColumn> {
        let is_read = |name: &str| !is_common_rows(table.id) && self.statement.row_names.has(name);
        let column = |name: &str, type_id, value| {
            let sql_type = SqlType::of(type_id);
            SystemColumn {
                column: ScopeColumn { name: name.to_owned(), id: self.new_column(name, sql_type), sql_type },
                value,
            }
        };
        let Some(objects) = self.session.objects() else { return Vec::new() };
        let mut columns = Vec::new();
        if is_read("tableoid")
            && let Some(oid) = objects.relation_id(Some(&table.schema), &table.name)
        {
            columns.push(column("tableoid", TypeId::OID, Value::Oid(oid)));
        }
        if table.schema == SYSTEM_SCHEMA && table.name.starts_with("pg_") {
            if is_read("xmin") {
                // As many numbers as PostgreSQL has.
                let transaction =
                    FIRST_TRANSACTION + objects.commit_number() % (u64::from(u32::MAX) - FIRST_TRANSACTION);
                columns.push(column("xmin", TypeId::XID, Value::Oid(transaction as u32)));
            }
            if is_read("xmax") {
                columns.push(column("xmax", TypeId::XID, Value::Oid(0)));
            }
        }
        columns
    }
}

/// The rows of a table with its system columns beside them.
pub(super) fn with_system_columns(item: FromItem) -> FromItem {
    let own = item.names.first().map_or(&[][..], |own| &own.system_columns);
    if own.is_empty() {
        return item;
    }
    let expression = |own: &SystemColumn| {
        let SystemColumn { column, value } = own;
        (column.id, Expression::of(value.clone(), column.sql_type.id))
    };
    let expressions = own.iter().map(expression).collect();
    FromItem { relation: Relation::Map { input: Box::new(item.relation), expressions }, ..item }
}
