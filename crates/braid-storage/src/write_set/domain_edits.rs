//! A transaction's changes of the domains.

use std::collections::BTreeMap;
use std::sync::Arc;

use braid_base::{DomainType, DomainTypeId};

use super::WriteSet;
use crate::StoreError;
use crate::catalog::{Catalog, CatalogDomain};
use crate::manifest::domain_fault;

impl WriteSet {
    /// So many oids for a domain, its array type or its constraints: the first of them.
    ///
    /// # Errors
    /// [`StoreError::TooManyTypes`].
    pub fn new_type_oids(&self, count: usize) -> Result<u32, StoreError> {
        self.shared.next_type_oids(count)
    }

    /// Creates a domain, or puts a definition in the place of the one with its oid. `view` is what the statement sees.
    ///
    /// # Errors
    /// [`StoreError::InvalidType`]; [`StoreError::UnknownType`] if there is no type that it is of.
    pub fn set_domain(&mut self, view: &Catalog, definition: DomainType) -> Result<(), StoreError> {
        if let Some(reason) = domain_fault(&definition) {
            return Err(StoreError::InvalidType { name: definition.name, reason });
        }
        let definition = Arc::new(definition);
        let id = match view.domain(definition.oid) {
            Some(known) => known.id,
            None => {
                let base = view.domain_base(definition.base_oid);
                let unknown = || StoreError::UnknownType { name: format!("the type with oid {}", definition.base_oid) };
                DomainTypeId::register(Arc::clone(&definition), base.ok_or_else(unknown)?)
            }
        };
        self.domains.set(view.domains_by_oid(), definition.oid, Some(CatalogDomain { id, definition }));
        Ok(())
    }

    /// Removes a domain that no column has.
    pub fn remove_domain(&mut self, view: &Catalog, oid: u32) {
        self.domains.set(view.domains_by_oid(), oid, None);
    }

    /// The domains with the transaction's changes.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] if others have changed one of the same domains.
    pub(super) fn committed_domains(&self, newest: &Catalog) -> Result<BTreeMap<u32, CatalogDomain>, StoreError> {
        let domains = self.domains.committed_on(newest.domains_by_oid());
        domains.ok_or_else(|| StoreError::Conflict { what: "a domain".to_owned() })
    }
}
