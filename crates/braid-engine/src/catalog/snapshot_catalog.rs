//! Database `braid`, schema `public`: the tables of one snapshot.
//!
//! Each statement has its own catalog list over its snapshot, so that all its lookups see one state of the database. The
//! system tables are an exception: they are computed from the newest snapshot when they are read, because their object ids
//! must be the same for every statement.

use std::fmt;
use std::sync::{Arc, Weak};

use async_trait::async_trait;
use braid_buffer::BufferManager;
use braid_df::BraidTable;
use braid_storage::{Catalog, Store};
use datafusion::catalog::{CatalogProvider, CatalogProviderList, SchemaProvider, TableProvider};
use datafusion::common::{DataFusionError, Result};
use parking_lot::RwLock;

use crate::names::{DATABASE_NAME, SCHEMA_NAME};

/// The schema of the system tables.
pub(crate) const SYSTEM_SCHEMA: &str = "pg_catalog";

/// The list of databases, which has one entry.
#[derive(Debug)]
pub(crate) struct CatalogList {
    database: Arc<DatabaseCatalog>,
}

impl CatalogList {
    /// A list with one database.
    pub fn new(database: DatabaseCatalog) -> Arc<Self> {
        Arc::new(Self { database: Arc::new(database) })
    }

    /// Replaces the reference to the system tables by a weak one. The system tables hold this list, so that strong references
    /// in both directions would never be freed. The caller keeps the system tables alive.
    pub fn hold_system_weakly(&self) {
        let mut system = self.database.system.write();
        if let System::Held(schema) = &*system {
            *system = System::Known(Arc::downgrade(schema));
        }
    }
}

impl CatalogProviderList for CatalogList {
    fn register_catalog(&self, _: String, _: Arc<dyn CatalogProvider>) -> Option<Arc<dyn CatalogProvider>> {
        None
    }

    fn catalog_names(&self) -> Vec<String> {
        vec![DATABASE_NAME.to_owned()]
    }

    fn catalog(&self, name: &str) -> Option<Arc<dyn CatalogProvider>> {
        (name == DATABASE_NAME).then(|| self.database.clone() as Arc<dyn CatalogProvider>)
    }
}

/// The database: its schemas.
pub(crate) struct DatabaseCatalog {
    tables: Tables,
    buffer: Arc<BufferManager>,
    system: RwLock<System>,
}

/// Schema `pg_catalog`, if there is one.
enum System {
    None,
    Held(Arc<dyn SchemaProvider>),
    Known(Weak<dyn SchemaProvider>),
}

/// The tables of schema `public`.
pub(crate) enum Tables {
    /// The tables of one snapshot, for a statement.
    Of(Arc<Catalog>),
    /// The current tables, for the system tables.
    Newest(Arc<Store>),
}

impl DatabaseCatalog {
    /// The database with `tables`, and `system` as schema `pg_catalog`.
    pub fn new(tables: Tables, buffer: Arc<BufferManager>, system: Option<Arc<dyn SchemaProvider>>) -> Self {
        let system = system.map_or(System::None, System::Held);
        Self { tables, buffer, system: RwLock::new(system) }
    }
}

impl fmt::Debug for DatabaseCatalog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DatabaseCatalog").finish_non_exhaustive()
    }
}

impl CatalogProvider for DatabaseCatalog {
    fn schema_names(&self) -> Vec<String> {
        vec![SCHEMA_NAME.to_owned(), SYSTEM_SCHEMA.to_owned()]
    }

    fn schema(&self, name: &str) -> Option<Arc<dyn SchemaProvider>> {
        match name {
            SCHEMA_NAME => {
                let catalog = match &self.tables {
                    Tables::Of(catalog) => catalog.clone(),
                    Tables::Newest(store) => store.snapshot(),
                };
                Some(Arc::new(SnapshotSchema { catalog, buffer: self.buffer.clone() }))
            }
            SYSTEM_SCHEMA => match &*self.system.read() {
                System::None => None,
                System::Held(schema) => Some(schema.clone()),
                System::Known(schema) => schema.upgrade(),
            },
            _ => None,
        }
    }

    fn register_schema(&self, name: &str, schema: Arc<dyn SchemaProvider>) -> Result<Option<Arc<dyn SchemaProvider>>> {
        if name != SYSTEM_SCHEMA {
            return Err(DataFusionError::NotImplemented(format!("schema {name} cannot be registered")));
        }
        *self.system.write() = System::Held(schema);
        Ok(None)
    }
}

/// Schema `public` of one snapshot.
struct SnapshotSchema {
    catalog: Arc<Catalog>,
    buffer: Arc<BufferManager>,
}

impl fmt::Debug for SnapshotSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SnapshotSchema").field("sequence", &self.catalog.sequence()).finish_non_exhaustive()
    }
}

#[async_trait]
impl SchemaProvider for SnapshotSchema {
    fn table_names(&self) -> Vec<String> {
        self.catalog.tables().map(|table| table.def.name.clone()).collect()
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        let table = self.catalog.table(name);
        Ok(table.map(|version| Arc::new(BraidTable::new(version.clone(), self.buffer.clone())) as _))
    }

    fn table_exist(&self, name: &str) -> bool {
        self.catalog.table(name).is_some()
    }
}
