//! Changes of the enumerated types: CREATE TYPE, ALTER TYPE, DROP TYPE.
//!
//! A change is decided under the commit lock, by a function of the newest state, so that nothing comes between a check and what it
//! allows. It is durable when it returns, like a new table.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use braid_base::enum_types::{EnumLabel, EnumType, EnumTypeId, KEY_GAP, TYPE_OID_END};
use braid_base::{DomainType, SchemaId};
use futures::future::BoxFuture;

use crate::catalog::{Catalog, CatalogDomain, CatalogType};
use crate::store_shared::{Commit, CommitLock, StoreShared};
use crate::{Store, StoreError};

/// The types of the next state, and what they are decided by.
pub struct TypeChanges<'a> {
    shared: &'a StoreShared,
    catalog: Arc<Catalog>,
    types: BTreeMap<u32, CatalogType>,
    is_changed: bool,
}

impl Store {
    /// Changes types as `change` says; durable when it returns. If `change` fails, or changes nothing, nothing is written.
    ///
    /// # Errors
    /// Those of `change`, and what commits can fail with.
    pub fn change_types<'a, T: Send + 'a, E: From<StoreError> + Send + 'a>(
        &'a self,
        change: impl FnOnce(&mut TypeChanges<'_>) -> Result<T, E> + Send + 'a,
    ) -> BoxFuture<'a, Result<T, E>> {
        Box::pin(async move {
            let lock = CommitLock::acquire(self.shared()).await?;
            let catalog = lock.catalog();
            let (result, types) = {
                let mut changes = TypeChanges::new(self.shared(), Arc::clone(&catalog));
                let result = change(&mut changes)?;
                let Some(types) = changes.into_changed() else { return Ok(result) };
                (result, types)
            };
            let mut next = catalog.numbered(catalog.sequence() + 1);
            next.set_types(types);
            next.drop_orphaned_comments();
            next.drop_orphaned_access();
            next.check_names()?;
            next.check_domains()?;
            next.check_views(&catalog)?;
            let (added, removed, moved) = Default::default();
            lock.publish(Commit { catalog: next, added, removed, moved, locks: None }).await?;
            Ok(result)
        })
    }
}

impl<'a> TypeChanges<'a> {
    pub(crate) fn new(shared: &'a StoreShared, catalog: Arc<Catalog>) -> Self {
        let types = catalog.types_by_oid().clone();
        Self { shared, catalog, types, is_changed: false }
    }

    /// The types, if they have changed.
    pub(crate) fn into_changed(self) -> Option<BTreeMap<u32, CatalogType>> {
        self.is_changed.then_some(self.types)
    }

    /// The newest state, without these changes.
    pub fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    /// A type as it is in the next state.
    pub fn by_oid(&self, oid: u32) -> Option<&CatalogType> {
        self.types.get(&oid)
    }

    /// Whether a type, an array type, a table or a view of a schema has this name.
    pub fn is_taken(&self, in_schema: SchemaId, name: &str) -> bool {
        let is_named = |known: &CatalogType| {
            let EnumType { schema, name: own, array_name, .. } = &*known.definition;
            *schema == in_schema && (own == name || array_name == name)
        };
        let is_domain = |known: &CatalogDomain| {
            let DomainType { schema, name: own, array_name, .. } = &*known.definition;
            *schema == in_schema && (own == name || array_name == name)
        };
        let catalog = &self.catalog;
        let is_relation = catalog.table_in(in_schema, name).is_some() || catalog.view_in(in_schema, name).is_some();
        is_relation || self.types.values().any(is_named) || self.catalog.domains().any(is_domain)
    }

    /// Adds a type with these labels, in order, to a schema.
    ///
    /// # Errors
    /// [`StoreError::TooManyTypes`].
    pub fn add(
        &mut self,
        schema: SchemaId,
        (name, array_name): (String, String),
        labels: Vec<String>,
    ) -> Result<(), StoreError> {
        let first = self.shared.next_type_oids(2 + labels.len())?;
        let labels = labels.into_iter().zip(1..).map(|(text, place): (String, u32)| EnumLabel {
            oid: first + 1 + place,
            key: i64::from(place) * KEY_GAP,
            text: text.into(),
        });
        let labels = labels.collect();
        let definition = Arc::new(EnumType { oid: first, array_oid: first + 1, schema, name, array_name, labels });
        let id = EnumTypeId::register(definition.clone());
        self.types.insert(first, CatalogType { id, definition });
        self.is_changed = true;
        Ok(())
    }

    /// Puts a definition in the place of the one with its oid. Keys keep the oids of their labels.
    ///
    /// # Panics
    /// If there is no type of the oid.
    pub fn replace(&mut self, definition: EnumType) {
        let known = self.types.get_mut(&definition.oid).expect("a type that is replaced exists");
        known.definition = Arc::new(definition);
        self.is_changed = true;
    }

    /// Removes a type that no column has.
    pub fn remove(&mut self, oid: u32) {
        self.is_changed |= self.types.remove(&oid).is_some();
    }

    /// An oid for a label.
    ///
    /// # Errors
    /// [`StoreError::TooManyTypes`].
    pub fn label_oid(&mut self) -> Result<u32, StoreError> {
        self.shared.next_type_oids(1)
    }
}

impl StoreShared {
    /// The first of so many oids that are given out.
    pub(crate) fn next_type_oids(&self, count: usize) -> Result<u32, StoreError> {
        let after = |next: u32| {
            let end = u32::try_from(count).ok().and_then(|count| next.checked_add(count));
            end.filter(|end| *end <= TYPE_OID_END)
        };
        let given = self.next_type_oid.fetch_update(Ordering::Relaxed, Ordering::Relaxed, after);
        given.map_err(|_| StoreError::TooManyTypes)
    }
}
