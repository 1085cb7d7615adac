//! `tableoid`: the oid of the table that a row is of. The other system columns are not supported.
//!
//! FROM makes it beside the rows of a table if an expression may read it, so that it is null where an outer join found no row.

use super::from::FromItem;
use super::scope::ScopeColumn;
use crate::SqlType;
use crate::binder::Binder;
use crate::expression::Expression;
use crate::pg_catalog::TypeId;
use crate::relation::Relation;
use crate::tables::{TableEntry, is_common_rows};
use crate::values::Value;

/// The name of the column.
pub(super) const TABLE_OID: &str = "tableoid";

impl Binder<'_> {
    /// The oid of a table with a column for it, if an expression may read that.
    pub(super) fn table_oid(&self, table: &TableEntry) -> Option<(ScopeColumn, u32)> {
        if is_common_rows(table.id) || !self.statement.row_names.has(TABLE_OID) {
            return None;
        }
        let oid = self.session.objects()?.relation_id(Some(&table.schema), &table.name)?;
        let sql_type = SqlType::of(TypeId::OID);
        let id = self.new_column(TABLE_OID, sql_type);
        Some((ScopeColumn { name: TABLE_OID.to_owned(), id, sql_type }, oid))
    }
}

/// The rows of a table with its oid beside them.
pub(super) fn with_table_oid(item: FromItem) -> FromItem {
    let Some((column, oid)) = item.names.first().and_then(|own| own.table_oid.as_ref()) else { return item };
    let expressions = vec![(column.id, Expression::of(Value::Oid(*oid), TypeId::OID))];
    FromItem { relation: Relation::Map { input: Box::new(item.relation), expressions }, ..item }
}
