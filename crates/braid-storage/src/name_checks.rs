//! Names of a catalog: tables, views, sequences and keys share theirs, and so do tables, views and types.

use std::collections::HashMap;

use braid_base::{SchemaId, TableId};

use crate::catalog::Catalog;
use crate::table::NAME_BYTES_MAX;
use crate::{ColumnType, StoreError, TableDef};

impl Catalog {
    /// Whether a table, a view, a sequence or a key of a schema has this name.
    pub fn has_relation(&self, schema: SchemaId, name: &str) -> bool {
        let has_stored = self.table_in(schema, name).is_some() || self.view_in(schema, name).is_some();
        has_stored || self.sequence_in(schema, name).is_some() || self.key_in(schema, name).is_some()
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
        let view = self.view_in(def.schema, &def.name);
        if self.sequence_in(def.schema, &def.name).is_some() || view.is_some_and(|view| view.id != def.id) {
            return Err(StoreError::TableExists { table: def.name.clone() });
        }
        if def.schema == SchemaId::PUBLIC && self.has_type(&def.name) {
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

    /// Checks that no two relations of a schema have one name, that their schemas exist, and that no table or view has that of a type or of its array type: a state in which they do
    /// cannot be opened.
    pub(crate) fn check_names(&self) -> Result<(), StoreError> {
        self.check_name_lengths()?;
        let tables = self.tables().map(|version| ((version.def.schema, &version.def.name), version.def.id));
        let views = self.views().by_id().values().map(|view| ((view.schema, &view.name), view.id));
        let sequences = self.sequences().map(|known| &known.definition);
        let sequences = sequences.map(|def| ((def.schema, &def.name), def.id));
        let keys = self.tables().flat_map(|version| version.def.keys.iter().map(|key| (&version.def, key)));
        let keys = keys.map(|(def, key)| ((def.schema, &key.name), key.id));
        let mut relations: HashMap<(SchemaId, &String), TableId> = HashMap::new();
        // A materialized view is a table and a view.
        for ((schema, name), id) in tables.chain(views).chain(sequences).chain(keys) {
            if self.schema_name(schema).is_none() {
                return Err(StoreError::Conflict { what: format!("the schema of \"{name}\"") });
            }
            if relations.insert((schema, name), id).is_some_and(|known| known != id) {
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

    /// Checks that names have as many bytes as names have when they are read again. The definitions of tables check their own.
    fn check_name_lengths(&self) -> Result<(), StoreError> {
        let schemas = self.schemas_by_id().values().map(|schema| &schema.name);
        let types = self.enum_types().flat_map(|known| [&known.definition.name, &known.definition.array_name]);
        let views = self.views().by_id().values();
        let views =
            views.flat_map(|view| std::iter::once(&view.name).chain(view.columns.iter().map(|column| &column.name)));
        let sequences = self.sequences().map(|known| &known.definition.name);
        let mut names = schemas.chain(types).chain(views).chain(sequences);
        match names.find(|name| !(1..=NAME_BYTES_MAX).contains(&name.len())) {
            Some(name) => Err(StoreError::InvalidName { name: name.clone(), bytes_max: NAME_BYTES_MAX }),
            None => Ok(()),
        }
    }
}
