//! Object ids: numbers by which clients refer to tables and schemas from one query to the next.
//!
//! They follow from what they are for, so that they need not be kept anywhere: a table's from its table id, which is
//! never given out twice; PostgreSQL's own from PostgreSQL.

use braid_base::TableId;
use datafusion_pg_catalog::pg_catalog::PG_CATALOG_TABLES;

use super::snapshot_catalog::SYSTEM_SCHEMA;
use crate::names::SCHEMA_NAME;

/// PostgreSQL's first id for what users create.
const FIRST_USER_ID: u32 = 16_384;

/// Where the system tables' ids begin here: below the users', above those that PostgreSQL fixes.
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
    FIRST_USER_ID.saturating_add(table.0) as i32
}

/// The user's table with that id, if there could be one.
pub(super) fn table_of_object_id(id: i32) -> Option<TableId> {
    u32::try_from(id).ok()?.checked_sub(FIRST_USER_ID).map(TableId)
}

/// The id of a system table.
pub(super) fn system_table_id(name: &str) -> i32 {
    let at = PG_CATALOG_TABLES.iter().position(|table| *table == name);
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
