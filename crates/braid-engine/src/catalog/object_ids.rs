//! Object ids: numbers by which clients refer to tables and schemas from one query to the next.
//!
//! Object ids are computed and not stored. A table's object id is computed from its table id, which is never reused. The
//! schemas have PostgreSQL's ids.

use braid_base::TableId;
use braid_catalog::object_ids;
use datafusion_pg_catalog::pg_catalog::PG_CATALOG_TABLES;

use super::snapshot_catalog::SYSTEM_SCHEMA;
use super::system_views::SYSTEM_VIEWS;
use crate::names::SCHEMA_NAME;

/// The first id of Braid's system tables: below the ids of users' objects, above PostgreSQL's fixed ids.
const FIRST_SYSTEM_TABLE_ID: i32 = 12_000;

/// PostgreSQL's id of schema `public`.
pub(super) const USER_NAMESPACE_ID: i32 = 2200;

/// PostgreSQL's id of schema `pg_catalog`.
pub(super) const SYSTEM_NAMESPACE_ID: i32 = 11;

/// The schemas.
pub(super) const NAMESPACES: [(&str, i32); 3] =
    [(SYSTEM_SCHEMA, SYSTEM_NAMESPACE_ID), (SCHEMA_NAME, USER_NAMESPACE_ID), ("information_schema", 13_000)];

/// The id of a user's table.
pub(super) fn table_object_id(table: TableId) -> i32 {
    object_ids::table_object_id(table) as i32
}

/// The id of the user's table with this object id, if it is in their range.
pub(super) fn table_of_object_id(id: i32) -> Option<TableId> {
    object_ids::table_of_object_id(u32::try_from(id).ok()?)
}

/// The id of a system table or view.
pub(super) fn system_table_id(name: &str) -> i32 {
    let at = PG_CATALOG_TABLES.iter().chain(&SYSTEM_VIEWS).position(|table| *table == name);
    at.map_or(0, |at| FIRST_SYSTEM_TABLE_ID + at as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_lead_back_to_their_tables() {
        for id in [0, 1, 70_000] {
            assert_eq!(table_of_object_id(table_object_id(TableId(id))), Some(TableId(id)));
        }
        assert_eq!(table_of_object_id(system_table_id("pg_class")), None);
        assert_eq!(table_of_object_id(-1), None);
    }
}
