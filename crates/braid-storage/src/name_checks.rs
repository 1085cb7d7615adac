//! Names of a catalog: tables, views, sequences and keys share theirs, and so do tables, views and types.

use std::collections::{HashMap, HashSet};

use braid_base::{DomainType, EnumType, SchemaId, TableId};

use crate::catalog::Catalog;
use crate::table::NAME_BYTES_MAX;
use crate::{ColumnType, StoreError, TableDef};

impl Catalog {
    /// Whether a table, a view, a sequence or a key of a schema has this name.
    pub fn has_relation(&self, schema: SchemaId, name: &str) -> bool {
        let has_stored = self.table_in(schema, name).is_some() || self.view_in(schema, name).is_some();
        has_stored || self.sequence_in(schema, name).is_some() || self.key_in(schema, name).is_some()
    }

    /// Whether a type of a schema, or the array type of one, has this name.
    pub fn has_type_in(&self, schema: SchemaId, name: &str) -> bool {
        self.type_names().any(|(of, taken)| of == schema && taken == name)
    }

    /// The names of all types and of their array types, with their schemas.
    fn type_names(&self) -> impl Iterator<Item = (SchemaId, &String)> {
        let enums = self.enum_types().flat_map(|known| {
            let EnumType { schema, name, array_name, .. } = &*known.definition;
            [(*schema, name), (*schema, array_name)]
        });
        let domains = self.domains().flat_map(|known| {
            let DomainType { schema, name, array_name, .. } = &*known.definition;
            [(*schema, name), (*schema, array_name)]
        });
        enums.chain(domains)
    }

    /// Oid and name of the enumerated type or domain that has this oid, or whose array type has it.
    pub fn type_of_oid(&self, oid: u32) -> Option<(u32, &str)> {
        let enums = self.enum_types().map(|known| {
            let EnumType { oid, array_oid, name, .. } = &*known.definition;
            (*oid, *array_oid, name)
        });
        let domains = self.domains().map(|known| {
            let DomainType { oid, array_oid, name, .. } = &*known.definition;
            (*oid, *array_oid, name)
        });
        let mut types = enums.chain(domains);
        types.find(|(own, array, _)| [*own, *array].contains(&oid)).map(|(own, _, name)| (own, name.as_str()))
    }

    /// The schema of the enumerated type or domain with this oid.
    pub fn schema_of_type(&self, oid: u32) -> Option<SchemaId> {
        let of_enum = self.types_by_oid().get(&oid).map(|known| known.definition.schema);
        of_enum.or_else(|| self.domain(oid).map(|known| known.definition.schema))
    }

    /// Whether a type, or the array type of one, has this oid.
    pub(crate) fn has_type_of_oid(&self, oid: u32) -> bool {
        self.type_of_oid(oid).is_some()
    }

    /// Checks that a new table has a name that no type and no other relation has, and columns of types that exist.
    pub(crate) fn check_types_of(&self, def: &TableDef) -> Result<(), StoreError> {
        let view = self.view_in(def.schema, &def.name);
        if self.sequence_in(def.schema, &def.name).is_some() || view.is_some_and(|view| view.id != def.id) {
            return Err(StoreError::TableExists { table: def.name.clone() });
        }
        if self.has_type_in(def.schema, &def.name) {
            return Err(StoreError::TypeExists { name: def.name.clone() });
        }
        for column in &def.columns {
            if let ColumnType::Enum(enum_type) = column.column_type
                && !self.types_by_oid().contains_key(&enum_type.oid())
            {
                return Err(StoreError::UnknownType { name: column.column_type.to_string() });
            }
        }
        self.check_domains_of(def)
    }

    /// Checks that no two relations of a schema have one name, that their schemas exist, that no two types have one name, and that no table or
    /// view has that of a type or of its array type: a state in which they do cannot be opened.
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
        let mut types = HashSet::new();
        for (schema, name) in self.type_names() {
            if self.schema_name(schema).is_none() {
                return Err(StoreError::Conflict { what: format!("the schema of \"{name}\"") });
            }
            let is_relation = self.table_in(schema, name).is_some() || self.view_in(schema, name).is_some();
            if is_relation || !types.insert((schema, name)) {
                return Err(StoreError::TypeExists { name: name.clone() });
            }
        }
        Ok(())
    }

    /// Checks that names have as many bytes as names have when they are read again. The definitions of tables check their own.
    fn check_name_lengths(&self) -> Result<(), StoreError> {
        let schemas = self.schemas().map(|schema| &schema.name);
        let types = self.type_names().map(|(_, name)| name);
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
