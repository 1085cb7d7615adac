//! Object ids: numbers by which clients refer to tables and what belongs to them from one query to the next.
//!
//! They are computed from the table's id, which is never reused, and not stored, so that they are the same for all sessions and after
//! a restart. PostgreSQL's own objects have PostgreSQL's ids, which are below the first id of users.
//!
//! | first id | objects |
//! |---|---|
//! | 15 000 | views of what the server does |
//! | 16 384 | tables, views, sequences and schemas |
//! | 0x4000_0000 | enumerated types, their array types and labels, which are stored |
//! | 0x8000_0000 | indexes of keys; among types, those of the rows of tables and views |
//! | 0xA000_0000 | constraints that are keys or foreign keys; among types, those of arrays of rows |
//! | 0xC000_0000 | defaults of columns, check constraints, and rules of views |
//!
//! Ranges have 2^29 numbers, that of defaults 2^30: [`COLUMNS_PER_TABLE`] for each table. Tables with ids that differ by a multiple of
//! 2^19 share the ids of their defaults, and of 2^29 those of their indexes.

use braid_base::enum_types::FIRST_TYPE_OID;
use braid_base::{SchemaId, TableId};
use braid_sql::pg_catalog::TypeId;

/// Above the ids that a new cluster of PostgreSQL gives, below those of users.
const FIRST_SERVER_VIEW_ID: u32 = 15_000;
/// PostgreSQL's first id for objects of users.
const FIRST_TABLE_ID: u32 = 16_384;
const FIRST_INDEX_ID: u32 = 0x8000_0000;
const FIRST_CONSTRAINT_ID: u32 = 0xa000_0000;
const FIRST_DEFAULT_ID: u32 = 0xc000_0000;

/// Numbers in the range of indexes and in that of constraints.
const RANGE: u32 = 1 << 29;
/// The most columns of a table, dropped ones included.
const COLUMNS_MAX: usize = 1600;
/// Numbers for the columns and check constraints of a table: the power of two above the 1600 columns that a table can have.
const COLUMNS_PER_TABLE: u32 = 2048;
/// Tables whose defaults have numbers of their own: 2^30 numbers in all.
const TABLES_WITH_DEFAULTS: u32 = (1 << 30) / COLUMNS_PER_TABLE;

/// PostgreSQL's id of `pg_class`.
pub const CLASS_CATALOG_ID: u32 = 1259;
/// PostgreSQL's id of `pg_type`.
pub const TYPE_CATALOG_ID: u32 = 1247;
/// PostgreSQL's id of `pg_constraint`.
pub const CONSTRAINT_CATALOG_ID: u32 = 2606;
/// PostgreSQL's id of `pg_namespace`.
pub const NAMESPACE_CATALOG_ID: u32 = 2615;
/// PostgreSQL's id of `pg_database`.
pub const DATABASE_CATALOG_ID: u32 = 1262;
/// PostgreSQL's id of `pg_authid`.
pub const ROLE_CATALOG_ID: u32 = 1260;
/// PostgreSQL's id of `pg_rewrite`.
pub const RULE_CATALOG_ID: u32 = 2618;
/// PostgreSQL's id of schema `public`.
pub const PUBLIC_NAMESPACE_ID: u32 = 2200;
/// PostgreSQL's id of schema `pg_catalog`.
pub const SYSTEM_NAMESPACE_ID: u32 = 11;
/// PostgreSQL's id of the role that owns the system's objects.
pub const BOOTSTRAP_ROLE_ID: u32 = 10;
/// PostgreSQL's id of the tablespace `pg_default`.
pub const DEFAULT_TABLESPACE_ID: u32 = 1663;
/// PostgreSQL's id of the access method `heap`.
pub const HEAP_ACCESS_METHOD_ID: u32 = 2;
/// PostgreSQL's id of the access method `btree`.
pub const BTREE_ACCESS_METHOD_ID: u32 = 403;

/// PostgreSQL's id of the operator class of a type that orders texts for patterns.
pub fn pattern_class_id(id: TypeId) -> u32 {
    match id {
        TypeId::VARCHAR => 4218,
        TypeId::BPCHAR => 4219,
        _ => 4217,
    }
}

/// The id of the server's view at `at`, from 0.
pub fn server_view_id(at: usize) -> u32 {
    let at = u32::try_from(at).unwrap_or(u32::MAX);
    FIRST_SERVER_VIEW_ID.saturating_add(at).min(FIRST_TABLE_ID - 1)
}

/// The id of a user's table. Ids of tables end at 2^30 - 1.
pub fn table_object_id(table: TableId) -> u32 {
    FIRST_TABLE_ID.saturating_add(table.0).min(FIRST_TYPE_OID - 1)
}

/// The id of a schema of users, which is one of those of tables.
pub fn schema_object_id(schema: SchemaId) -> u32 {
    match schema {
        SchemaId::PUBLIC => PUBLIC_NAMESPACE_ID,
        SchemaId(id) => table_object_id(TableId(id)),
    }
}

/// The user's table with this object id, if it is in their range.
pub fn table_of_object_id(id: u32) -> Option<TableId> {
    (FIRST_TABLE_ID..FIRST_TYPE_OID).contains(&id).then(|| TableId(id - FIRST_TABLE_ID))
}

/// The id of the type of the rows of a table or a view. Types and indexes are in different catalogs.
pub fn row_type_id(relation: TableId) -> u32 {
    FIRST_INDEX_ID + relation.0 % RANGE
}

/// The id of the type of arrays of these rows.
pub fn row_array_type_id(relation: TableId) -> u32 {
    FIRST_CONSTRAINT_ID + relation.0 % RANGE
}

/// The table or view whose rows, or arrays of them, are of the type with this id.
pub fn relation_of_row_type(id: u32) -> Option<TableId> {
    (FIRST_INDEX_ID..FIRST_DEFAULT_ID).contains(&id).then(|| TableId((id - FIRST_INDEX_ID) % RANGE))
}

/// The id of the index of a key: of one that is enforced by its own id, of a primary key that is only declared by its table's.
pub fn key_index_id(table: TableId) -> u32 {
    FIRST_INDEX_ID + table.0 % RANGE
}

/// The key, or the table with a primary key that is only declared, whose index has this object id.
pub fn index_of_object_id(id: u32) -> Option<TableId> {
    (FIRST_INDEX_ID..FIRST_CONSTRAINT_ID).contains(&id).then(|| TableId(id - FIRST_INDEX_ID))
}

/// The id of the constraint that is a key, by the same id as that of its index.
pub fn key_constraint_id(table: TableId) -> u32 {
    FIRST_CONSTRAINT_ID + table.0 % RANGE
}

/// The id of the check constraint at `at`, from 0: beside the defaults of the table's columns.
pub fn check_constraint_id(table: TableId, at: usize) -> u32 {
    default_id(table, COLUMNS_MAX + at)
}

/// The id of the rule that is the query of a view, which has neither defaults nor constraints. Types have others: clients look objects up
/// in several catalogs by one id.
pub fn rule_id(view: TableId) -> u32 {
    default_id(view, 0)
}

/// The id of the default of the column at `at`, from 0.
pub fn default_id(table: TableId, at: usize) -> u32 {
    let column = u32::try_from(at).expect("a table has at most 1600 columns");
    FIRST_DEFAULT_ID + table.0 % TABLES_WITH_DEFAULTS * COLUMNS_PER_TABLE + column
}

#[cfg(test)]
mod tests {
    use super::*;
    use braid_base::enum_types::TYPE_OID_END;

    #[test]
    fn ids_lead_back_to_their_tables() {
        for id in [0, 1, 70_000] {
            assert_eq!(table_of_object_id(table_object_id(TableId(id))), Some(TableId(id)));
            assert_eq!(index_of_object_id(key_index_id(TableId(id))), Some(TableId(id)));
            assert_eq!(index_of_object_id(key_constraint_id(TableId(id))), None);
            let of_rows = [row_type_id(TableId(id)), row_array_type_id(TableId(id))];
            assert_eq!(of_rows.map(relation_of_row_type), [Some(TableId(id)); 2]);
        }
        for id in [0, 1259, FIRST_TABLE_ID - 1, key_index_id(TableId(7)), u32::MAX] {
            assert_eq!(table_of_object_id(id), None, "{id}");
        }
    }

    #[test]
    fn ranges_do_not_overlap() {
        let last = TableId(u32::MAX);
        assert!(table_object_id(last) < FIRST_TYPE_OID);
        assert_eq!(TYPE_OID_END, FIRST_INDEX_ID);
        assert!(key_index_id(last) < FIRST_CONSTRAINT_ID);
        assert!(key_constraint_id(last) < FIRST_DEFAULT_ID);
        assert_eq!(default_id(TableId(3), 1599) + 1 + (2048 - 1600), default_id(TableId(4), 0));
        assert_eq!(default_id(TableId(TABLES_WITH_DEFAULTS - 1), 2047), u32::MAX);
    }
}
