//! Whether the foreign keys of a table make sense, and fit the tables that they refer to.

use std::collections::HashSet;
use std::sync::Arc;

use braid_base::{ColumnId, TableId};

use crate::foreign_keys::{FOREIGN_KEYS_MAX, ForeignKeyDef};
use crate::key_index::{KEY_COLUMNS_MAX, is_same_key_type};
use crate::table::{NAME_BYTES_MAX, TableDef};

impl TableDef {
    /// The foreign key with this name.
    pub fn foreign_key(&self, name: &str) -> Option<&Arc<ForeignKeyDef>> {
        self.foreign_keys.iter().find(|key| key.name == name)
    }

    /// Whether a unique key has these columns, in any order.
    pub fn has_unique_columns(&self, columns: &[ColumnId]) -> bool {
        let is_same =
            |known: &[ColumnId]| known.len() == columns.len() && columns.iter().all(|column| known.contains(column));
        self.unique_keys().any(|key| key.computed().is_none() && is_same(&key.columns))
    }

    /// Whether the foreign keys make sense by themselves; if not, a sentence that says what does not.
    pub(crate) fn validate_foreign_keys(&self) -> Result<(), String> {
        let mut names: HashSet<&String> = self.checks.iter().map(|check| &check.name).collect();
        for key in &self.foreign_keys {
            let ForeignKeyDef { name, columns, key: referenced, set_columns, .. } = &**key;
            if !(1..=NAME_BYTES_MAX).contains(&name.len()) || !names.insert(name) {
                return Err(format!("the name of foreign key \"{name}\" is too long, empty, or not its own"));
            }
            let distinct: HashSet<&ColumnId> = referenced.iter().collect();
            let count = columns.len();
            if !(1..=KEY_COLUMNS_MAX).contains(&count) || referenced.len() != count || distinct.len() != count {
                return Err(format!(
                    "foreign key \"{name}\" has {count} columns and refers to {} different ones; keys have 1 to {KEY_COLUMNS_MAX}",
                    distinct.len()
                ));
            }
            let is_own = |column: &ColumnId| self.position(*column).is_some();
            if !columns.iter().all(is_own) || !set_columns.iter().all(|column| columns.contains(column)) {
                return Err(format!("a column of foreign key \"{name}\" is none of the table, or not of the key"));
            }
        }
        if self.foreign_keys.len() > FOREIGN_KEYS_MAX {
            let count = self.foreign_keys.len();
            return Err(format!("it has {count} foreign keys; a table has at most {FOREIGN_KEYS_MAX}"));
        }
        Ok(())
    }

    /// Why a foreign key of this table cannot refer to its table; `None` if it can.
    fn why_unfit(&self, key: &ForeignKeyDef, referenced: Option<&TableDef>) -> Option<String> {
        let Some(referenced) = referenced else {
            return Some(format!("foreign key \"{}\" refers to no table", key.name));
        };
        let is_comparable = |(own, other): (&ColumnId, &ColumnId)| {
            let types = self.column_by_id(*own).zip(referenced.column_by_id(*other));
            types.is_some_and(|(own, other)| is_same_key_type(own.column_type, other.column_type))
        };
        if !key.columns.iter().zip(&key.key).all(is_comparable) || !referenced.has_unique_columns(&key.key) {
            return Some(format!(
                "foreign key \"{}\" refers to no unique key of table \"{}\"",
                key.name, referenced.name
            ));
        }
        None
    }
}

/// The first foreign key of these tables that does not fit, with the table that has it and a sentence that says why.
pub(crate) fn first_unfit<'a>(
    tables: impl Iterator<Item = &'a TableDef>,
    by_id: impl Fn(TableId) -> Option<&'a TableDef>,
) -> Option<(&'a TableDef, String)> {
    for def in tables {
        let mut reasons = def.foreign_keys.iter().filter_map(|key| def.why_unfit(key, by_id(key.referenced)));
        if let Some(reason) = reasons.next() {
            return Some((def, reason));
        }
    }
    None
}
