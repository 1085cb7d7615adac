//! Rows of `pg_depend`.

use braid_sql::Value;

use crate::named_row::{NamedRow, letter, oid};

/// An object depends on another one, each by its catalog and id, or on a column of it; 0 is the whole object.
pub(super) fn dependency(
    (class, object): (u32, u32),
    (referenced_class, referenced, column): (u32, u32, i32),
    kind: u8,
) -> NamedRow {
    vec![
        ("classid", oid(class)),
        ("objid", oid(object)),
        ("refclassid", oid(referenced_class)),
        ("refobjid", oid(referenced)),
        ("refobjsubid", Value::Int4(column)),
        ("deptype", letter(kind)),
    ]
}
