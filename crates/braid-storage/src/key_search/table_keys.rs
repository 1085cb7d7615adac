//! The keys of a table: by name, by what makes them, and whether they make sense.

use std::collections::HashSet;

use arrow::array::ArrayRef;
use braid_base::ColumnId;

use crate::key_index::{KEY_COLUMNS_MAX, KEYS_MAX, KeyDef, KeyKind, KeyNulls, KeyShape, is_key_type};
use crate::store_error::DuplicateKey;
use crate::table::{NAME_BYTES_MAX, TableDef};

/// The shape of a key of this table.
pub(crate) fn shape_of(def: &TableDef, key: &KeyDef) -> KeyShape {
    shape_of_columns(def, &key.columns, key.nulls)
}

/// The shape of a key of these columns of a table.
pub(crate) fn shape_of_columns(def: &TableDef, columns: &[ColumnId], nulls: KeyNulls) -> KeyShape {
    let columns = || columns.iter().map(|id| def.column_by_id(*id).expect("a key has columns of its table"));
    let types = columns().map(|column| (column.id, column.column_type)).collect();
    KeyShape::new(types, columns().map(|column| column.missing.as_ref()), nulls)
}

/// The rows of a table that have the same key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Duplicate {
    /// One of them is to be added.
    Added,
    /// The table has both, and is to get the key.
    Present,
}

/// That rows have the same key, whose values these are.
pub(crate) fn duplicate_key(def: &TableDef, key: &KeyDef, values: Vec<ArrayRef>, rows: Duplicate) -> Box<DuplicateKey> {
    let columns = || key.columns.iter().filter_map(|id| def.column_by_id(*id));
    Box::new(DuplicateKey {
        table: def.name.clone(),
        key: key.name.clone(),
        columns: columns().map(|column| column.name.clone()).collect(),
        types: columns().map(|column| column.column_type).collect(),
        values,
        is_of_table: rows == Duplicate::Present,
    })
}

impl TableDef {
    /// The key with this name.
    pub fn key(&self, name: &str) -> Option<&KeyDef> {
        self.keys.iter().find(|key| key.name == name)
    }

    /// The keys of which no two rows have the same.
    pub fn unique_keys(&self) -> impl Iterator<Item = &KeyDef> {
        self.keys.iter().filter(|key| key.kind.is_unique())
    }

    /// Whether it has a primary key that is only declared.
    pub fn has_declared_primary_key(&self) -> bool {
        !self.primary_key.is_empty() && self.enforced_primary_key().is_none()
    }

    /// The enforced primary key.
    pub fn enforced_primary_key(&self) -> Option<&KeyDef> {
        self.keys.iter().find(|key| key.kind == KeyKind::Primary)
    }

    /// Whether the keys make sense; if not, a sentence that says what does not.
    pub(crate) fn validate_keys(&self) -> Result<(), String> {
        let mut names = HashSet::new();
        let mut ids = HashSet::from([self.id]);
        for KeyDef { id, name, columns, kind, patterns, .. } in &self.keys {
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
            let has_column = |id: &ColumnId| self.column_by_id(*id).is_some();
            let fits = if kind.is_unique() { columns.iter().all(has_type) } else { columns.iter().all(has_column) };
            if !fits {
                return Err(format!(
                    "a column of key \"{name}\" is none of the table, or of a type that keys cannot have"
                ));
            }
            let has_patterns = patterns.iter().all(|column| columns.contains(column));
            if !has_patterns || !patterns.is_empty() && *kind != KeyKind::Index {
                return Err(format!(
                    "key \"{name}\" orders columns for patterns that are not its own, or is no plain index"
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
