//! The foreign keys that refer to a table, in one state of the database.

use std::collections::BTreeSet;
use std::sync::Arc;

use braid_base::TableId;

use crate::catalog::Catalog;
use crate::foreign_key_checks::first_unfit;
use crate::foreign_keys::ForeignKeyDef;
use crate::{StoreError, TableDef};

/// A foreign key with the table that has it.
#[derive(Clone, Debug)]
pub struct Reference {
    /// The table.
    pub table: Arc<TableDef>,
    /// The constraint.
    pub key: Arc<ForeignKeyDef>,
}

impl Catalog {
    /// The foreign keys that refer to a table, oldest first.
    pub fn references_to(&self, table: TableId) -> Vec<Reference> {
        let tables = self.referencing().get(&table).into_iter().flatten().filter_map(|id| self.by_id(*id));
        let keys = tables.flat_map(|version| {
            let own = version.def.foreign_keys.iter().filter(|key| key.referenced == table);
            own.map(|key| Reference { table: Arc::clone(&version.def), key: Arc::clone(key) })
        });
        let mut references: Vec<Reference> = keys.collect();
        references.sort_by_key(|reference| reference.key.id);
        references
    }

    /// Checks that all foreign keys refer to keys that there are: transactions may have dropped tables and keys, or altered columns.
    ///
    /// # Errors
    /// [`StoreError::Conflict`].
    pub(crate) fn check_references(&self) -> Result<(), StoreError> {
        let referencing: BTreeSet<TableId> = self.referencing().values().flatten().copied().collect();
        let tables = referencing.iter().filter_map(|id| self.by_id(*id)).map(|version| &*version.def);
        match first_unfit(tables, |id| self.by_id(id).map(|version| &*version.def)) {
            Some((def, _)) => Err(StoreError::Conflict { what: format!("table \"{}\"", def.name) }),
            None => Ok(()),
        }
    }
}
