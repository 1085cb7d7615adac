//! Names of a catalog: tables, views, sequences and keys share theirs, and so do tables, views and types.

use std::collections::HashMap;

use braid_base::TableId;

use crate::catalog::Catalog;
use crate::{ColumnType, StoreError, TableDef};

impl Catalog {
    /// Whether a table, a view, a sequence or a key has this name.
    pub fn has_relation(&self, name: &str) -> bool {
        let is_other = || self.sequence_named(name).is_some() || self.key_named(name).is_some();
        self.table(name).is_some() || self.view(name).is_some() || is_other()
    }

    /// Whether an enumerated type, or the array type of one, has this name.
    pub fn has_type(&self, name: &str) -> bool {
        self.types_by_oid().values().any(|known| known.definition.name == name || known.definition.array_name == name)
    }

    /// Whether an enumerated type, or the array type of one, has this oid.
    pub(crate) fn has_type_of_oid(&self, oid: u32) -> bool {
        self.types_by_oid().values().any(|known| known.definition.oid == oid || known.definition.array_oid == oid)
    }

    /// Checks that a new table has a name that no type and no other relation has, and columns of types that exist.
    pub(crate) fn check_types_of(&self, def: &TableDef) -> Result<(), StoreError> {
        if self.sequence_named(&def.name).is_some() || self.view(&def.name).is_some_and(|view| view.id != def.id) {
            return Err(StoreError::TableExists { table: def.name.clone() });
        }
        if self.has_type(&def.name) {
            return Err(StoreError::TypeExists { name: def.name.clone() });
        }
        for column in &def.columns {
            if let ColumnType::Enum(enum_type) = column.column_type
                && !self.types_by_oid().contains_key(&enum_type.oid())
            {
                return Err(StoreError::UnknownType { name: column.column_type.to_string() });
            }
        }
        Ok(())
    }

    /// Checks that no two relations have one name, and no table or view that of a type or of its array type: a state in which they do
    /// cannot be opened.
    pub(crate) fn check_names(&self) -> Result<(), StoreError> {
        let tables = self.tables().map(|version| (&version.def.name, version.def.id));
        let views = self.views().by_id().values().map(|view| (&view.name, view.id));
        let sequences = self.sequences().map(|known| (&known.definition.name, known.definition.id));
        let keys = self.tables().flat_map(|version| version.def.keys.iter().map(|key| (&key.name, key.id)));
        let mut relations: HashMap<&String, TableId> = HashMap::new();
        // A materialized view is a table and a view.
        for (name, id) in tables.chain(views).chain(sequences).chain(keys) {
            if relations.insert(name, id).is_some_and(|known| known != id) {
                return Err(StoreError::TableExists { table: name.clone() });
            }
        }
        let types = self.enum_types().flat_map(|known| [&known.definition.name, &known.definition.array_name]);
        let is_taken = |name: &&String| self.table(name).is_some() || self.view(name).is_some();
        match types.into_iter().find(is_taken) {
            Some(name) => Err(StoreError::TypeExists { name: name.clone() }),
            None => Ok(()),
        }
    }
}
