//! Types whose equal values are the same.
//!
//! 1.0 and 1.00 are equal and have different texts. Of a group of such values one is shown, so what a rule makes of the others must not
//! depend on more than that they are equal.

use braid_sql::pg_catalog::{TypeId, pg_catalog};
use braid_sql::relation::{ColumnId, Columns};

/// Types whose values are the same if they are equal.
const IDENTITIES: &[TypeId] = &[
    TypeId::BOOL,
    TypeId::INT2,
    TypeId::INT4,
    TypeId::INT8,
    TypeId::OID,
    TypeId::TEXT,
    TypeId::VARCHAR,
    TypeId::NAME,
    TypeId::DATE,
    TypeId::TIME,
    TypeId::TIMESTAMP,
    TypeId::TIMESTAMPTZ,
    TypeId::UUID,
    TypeId::BYTEA,
];

/// Whether equal values of a type are the same.
pub(crate) fn is_identity_type(id: TypeId) -> bool {
    IDENTITIES.contains(&id)
        || id.enum_type().is_some()
        || pg_catalog().element_of_array(id).is_some_and(is_identity_type)
}

/// Whether equal values of this column are the same, but not always those of another column of its type: values of `char(n)` have n
/// characters, blanks included.
pub(super) fn has_one_form(column: ColumnId, columns: &Columns) -> bool {
    let sql_type = columns.sql_type(column);
    is_identity_type(sql_type.id) || sql_type.id == TypeId::BPCHAR && sql_type.length().is_some()
}

/// Whether equal values of a column are the same.
pub(super) fn is_identity(column: ColumnId, columns: &Columns) -> bool {
    is_identity_type(columns.sql_type(column).id)
}
