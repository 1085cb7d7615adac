//! FOREIGN KEY: the definition of a constraint, and which tables reference which.
//!
//! A row references the row of another table, or of its own, with the same values in the columns of a unique key. A row with a null among
//! its values references no row: any null with MATCH SIMPLE, only nulls with MATCH FULL. The checks are in [`crate::write_set`].

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use braid_base::{ColumnId, TableId};

/// Most foreign keys of a table.
pub const FOREIGN_KEYS_MAX: usize = 1024;

/// A foreign key of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignKeyDef {
    /// Identity among relations, not given out twice. Older constraints have smaller ones.
    pub id: TableId,
    /// Name as stored, unique in the table.
    pub name: String,
    /// The columns that refer to the other table.
    pub columns: Vec<ColumnId>,
    /// The table that they refer to; it may be the own one.
    pub referenced: TableId,
    /// Its columns, in the order of `columns`: those of one of its unique keys.
    pub key: Vec<ColumnId>,
    /// What becomes of rows when the row that they refer to is deleted.
    pub on_delete: ReferentialAction,
    /// The same, when it gets another key.
    pub on_update: ReferentialAction,
    /// The columns that SET NULL and SET DEFAULT set after a deletion; none: all.
    pub set_columns: Vec<ColumnId>,
    /// Which rows refer to none.
    pub matching: MatchType,
    /// When rows are compared.
    pub deferral: Deferral,
    /// Whether the rows that were there when it was added are known to satisfy it, too.
    pub validated: bool,
}

/// What becomes of rows when the row that they refer to is deleted or gets another key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReferentialAction {
    /// The statement, or the transaction, fails if there are some at its end.
    NoAction,
    /// The statement fails if there are some.
    Restrict,
    /// They are deleted, or get the new key.
    Cascade,
    /// They get nulls.
    SetNull,
    /// They get the defaults of their columns.
    SetDefault,
}

/// What nulls mean in rows that refer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchType {
    /// A row with a null refers to no row.
    Simple,
    /// A row has only nulls, or none.
    Full,
}

/// When rows are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deferral {
    /// At the end of each statement.
    NotDeferrable,
    /// At the end of each statement, unless the transaction wants otherwise.
    InitiallyImmediate,
    /// At the end of the transaction, unless it wants otherwise.
    InitiallyDeferred,
}

/// The tables that refer to a table, by its id.
pub(crate) type Referencing = BTreeMap<TableId, BTreeSet<TableId>>;

/// Notes that a table has other foreign keys.
pub(crate) fn note_references(
    referencing: &mut Arc<Referencing>,
    table: TableId,
    (before, after): (&[Arc<ForeignKeyDef>], &[Arc<ForeignKeyDef>]),
) {
    let of = |keys: &[Arc<ForeignKeyDef>]| keys.iter().map(|key| key.referenced).collect::<BTreeSet<TableId>>();
    let (before, after) = (of(before), of(after));
    if before == after {
        return;
    }
    let referencing = Arc::make_mut(referencing);
    for referenced in before.difference(&after) {
        if let Some(tables) = referencing.get_mut(referenced) {
            tables.remove(&table);
            if tables.is_empty() {
                referencing.remove(referenced);
            }
        }
    }
    for referenced in after {
        referencing.entry(referenced).or_default().insert(table);
    }
}
