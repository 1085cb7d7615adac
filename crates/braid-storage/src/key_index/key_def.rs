//! The definition of a key.

use std::sync::Arc;

use braid_base::{ColumnId, TableId};

use crate::ColumnType;

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
    /// The columns, in the order of the key; of a computed key those that it reads, ascending.
    pub columns: Vec<ColumnId>,
    /// How it was declared.
    pub kind: KeyKind,
    /// Whether rows with nulls may be alike.
    pub nulls: KeyNulls,
    /// Those of its columns that it orders for patterns (`text_pattern_ops` and its like), in their order: only of CREATE INDEX.
    pub patterns: Vec<ColumnId>,
    /// What a list of columns does not say: only of CREATE INDEX.
    pub form: Option<Arc<KeyForm>>,
}

/// An index that is more than a list of columns.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KeyForm {
    /// What it is made of, in order.
    pub members: Vec<KeyMember>,
    /// The columns of INCLUDE, which are no part of the key.
    pub included: Vec<ColumnId>,
    /// The rows that it has, as SQL over the columns; `None`: all.
    pub condition: Option<String>,
}

/// A member of an index.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KeyMember {
    /// What it is.
    pub source: MemberSource,
    /// DESC.
    pub descends: bool,
    /// NULLS FIRST.
    pub nulls_first: bool,
    /// Whether it is ordered for patterns (`text_pattern_ops` and its like).
    pub for_patterns: bool,
}

/// What a member of an index is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum MemberSource {
    /// A column.
    Column(ColumnId),
    /// The value of an expression.
    Expression {
        /// SQL over the columns.
        text: String,
        /// Its name in the catalog.
        name: String,
        /// Its type.
        column_type: ColumnType,
    },
}

impl KeyForm {
    /// Whether keys are computed, and are not the values of columns in all rows.
    pub fn is_computed(&self) -> bool {
        let is_expression = |member: &KeyMember| matches!(member.source, MemberSource::Expression { .. });
        self.condition.is_some() || self.members.iter().any(is_expression)
    }
}

impl KeyDef {
    /// What its keys are computed by; `None` if they are the values of its columns.
    pub fn computed(&self) -> Option<&Arc<KeyForm>> {
        self.form.as_ref().filter(|form| form.is_computed())
    }

    /// The columns that it cannot be without.
    pub fn needed_columns(&self) -> impl Iterator<Item = ColumnId> {
        let included = self.form.iter().flat_map(|form| &form.included);
        self.columns.iter().chain(included).copied()
    }
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
