//! The definition of a key.

use std::collections::HashSet;

use braid_base::{ColumnId, TableId};

use super::key_columns::is_key_type;
use crate::TableDef;
use crate::table::NAME_BYTES_MAX;

/// Most columns of a key, as in PostgreSQL.
pub const KEY_COLUMNS_MAX: usize = 32;

/// Most keys of a table.
pub const KEYS_MAX: usize = 1024;

/// Columns whose values together differ in all rows of a table.
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
}

/// How a key was declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyKind {
    /// PRIMARY KEY: its columns have no nulls, and a table has at most one.
    Primary,
    /// UNIQUE.
    Unique,
    /// CREATE UNIQUE INDEX: no constraint.
    Index,
}

/// Whether two nulls are the same key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KeyNulls {
    /// They are not: a row with a null in a key is unlike all others.
    Distinct,
    /// They are: NULLS NOT DISTINCT.
    Equal,
}

impl TableDef {
    /// The key with this name.
    pub fn key(&self, name: &str) -> Option<&KeyDef> {
        self.keys.iter().find(|key| key.name == name)
    }

    /// The enforced primary key.
    pub fn enforced_primary_key(&self) -> Option<&KeyDef> {
        self.keys.iter().find(|key| key.kind == KeyKind::Primary)
    }

    /// Whether the keys make sense; if not, a sentence that says what does not.
    pub(crate) fn validate_keys(&self) -> Result<(), String> {
        let mut names = HashSet::new();
        let mut ids = HashSet::from([self.id]);
        for KeyDef { id, name, columns, kind, .. } in &self.keys {
            if !(1..=NAME_BYTES_MAX).contains(&name.len()) || !names.insert(name) || !ids.insert(*id) {
                return Err(format!("the name of key \"{name}\" is too long, empty, or not its own, or its id is not"));
            }
            let distinct: HashSet<&ColumnId> = columns.iter().collect();
            if !(1..=KEY_COLUMNS_MAX).contains(&columns.len()) || distinct.len() != columns.len() {
                let count = columns.len();
                return Err(format!(
                    "key \"{name}\" has {count} columns; keys have 1 to {KEY_COLUMNS_MAX} different ones"
                ));
            }
            let has_type = |id: &ColumnId| self.column_by_id(*id).is_some_and(|column| is_key_type(column.column_type));
            if !columns.iter().all(has_type) {
                return Err(format!(
                    "a column of key \"{name}\" is none of the table, or of a type that keys cannot have"
                ));
            }
            if *kind == KeyKind::Primary && *columns != self.primary_key {
                return Err(format!("key \"{name}\" is the primary key, and has other columns than this"));
            }
        }
        if self.keys.len() > KEYS_MAX {
            return Err(format!("it has {} keys; a table has at most {KEYS_MAX}", self.keys.len()));
        }
        Ok(())
    }
}
