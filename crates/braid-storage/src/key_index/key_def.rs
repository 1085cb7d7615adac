//! The definition of a key.

use braid_base::{ColumnId, TableId};

/// Most columns of a key, as in PostgreSQL.
pub const KEY_COLUMNS_MAX: usize = 32;

/// Most keys of a table.
pub const KEYS_MAX: usize = 1024;

/// Columns whose values together differ in all rows of a table, or only an index of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyDef {
    /// Identity among tables and sequences, not given out twice.
    pub id: TableId,
    /// Name as stored; no other relation has it.
    pub name: String,
    /// The columns, in the order of the key.
    pub columns: Vec<ColumnId>,
    /// How it was declared.
    pub kind: KeyKind,
    /// Whether rows with nulls may be alike.
    pub nulls: KeyNulls,
    /// Those of its columns that it orders for patterns (`text_pattern_ops` and its like), in their order: only of CREATE INDEX.
    pub patterns: Vec<ColumnId>,
}

/// How a key was declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyKind {
    /// PRIMARY KEY: its columns have no nulls, and a table has at most one.
    Primary,
    /// UNIQUE.
    Unique,
    /// CREATE UNIQUE INDEX: no constraint.
    UniqueIndex,
    /// CREATE INDEX: rows may be alike.
    Index,
}

impl KeyKind {
    /// Whether no two rows have the same.
    pub fn is_unique(self) -> bool {
        self != Self::Index
    }

    /// Whether it is a constraint of its table, and not only an index.
    pub fn is_constraint(self) -> bool {
        matches!(self, Self::Primary | Self::Unique)
    }
}

/// Whether two nulls are the same key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KeyNulls {
    /// They are not: a row with a null in a key is unlike all others.
    Distinct,
    /// They are: NULLS NOT DISTINCT.
    Equal,
}
