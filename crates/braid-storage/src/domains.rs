//! The domains of a catalog.
//!
//! What the constraints of a domain mean is for the front end. The store keeps them, and sees to it that rows which were checked against
//! some constraints are not committed beside others: a column names its domain with a revision
//! ([`ColumnDomain`]), and a change of the constraints changes the definitions of the tables that have it.

use std::collections::BTreeMap;
use std::sync::Arc;

use braid_base::enum_types::FIRST_TYPE_OID;
use braid_base::{DomainBase, DomainTypeId, SchemaId};

use crate::catalog::{Catalog, CatalogDomain, CatalogType};
use crate::manifest::{DomainChange, Domains};
use crate::{ColumnDef, ColumnDomain, StoreError, TableDef};

impl CatalogDomain {
    /// How columns that were checked against its constraints name it.
    pub fn of_column(&self) -> ColumnDomain {
        ColumnDomain { oid: self.definition.oid, revision: self.definition.revision }
    }
}

impl Catalog {
    /// All domains, oldest first.
    pub fn domains(&self) -> impl ExactSizeIterator<Item = &CatalogDomain> {
        self.domains_by_oid().values()
    }

    /// The domain with this oid.
    pub fn domain(&self, oid: u32) -> Option<&CatalogDomain> {
        self.domains_by_oid().get(&oid)
    }

    /// The domain called `name` in a schema, exactly as stored.
    pub fn domain_in(&self, schema: SchemaId, name: &str) -> Option<&CatalogDomain> {
        self.domains().find(|known| known.definition.schema == schema && known.definition.name == name)
    }

    /// The columns of a domain, with their tables.
    pub fn columns_of_domain(&self, oid: u32) -> impl Iterator<Item = (&Arc<TableDef>, &ColumnDef)> {
        let columns = self.tables().flat_map(|version| version.def.columns.iter().map(|column| (&version.def, column)));
        columns.filter(move |(_, column)| column.domain.is_some_and(|domain| domain.oid == oid))
    }

    /// The domains that are of a type or domain.
    pub fn domains_of(&self, oid: u32) -> impl Iterator<Item = &CatalogDomain> {
        self.domains().filter(move |known| known.definition.base_oid == oid)
    }

    /// What a new domain of the type with this oid is of; `None` if there is no such type.
    pub(crate) fn domain_base(&self, oid: u32) -> Option<DomainBase> {
        base_of(oid, self.types_by_oid(), self.domains_by_oid())
    }

    /// Checks that each domain is of a type that exists.
    pub(crate) fn check_domains(&self) -> Result<(), StoreError> {
        let is_known = |known: &&CatalogDomain| self.domain_base(known.definition.base_oid).is_some();
        match self.domains().find(|known| !is_known(known)) {
            Some(known) => {
                Err(StoreError::Conflict { what: format!("the type of domain \"{}\"", known.definition.name) })
            }
            None => Ok(()),
        }
    }

    /// Checks that no table has a domain that is gone, or whose constraints others have changed.
    ///
    /// # Errors
    /// [`StoreError::Conflict`].
    pub(crate) fn check_used_domains(&self) -> Result<(), StoreError> {
        self.tables().try_for_each(|version| {
            self.check_domains_of(&version.def).map_err(|error| match error {
                StoreError::UnknownType { name } => StoreError::Conflict { what: name },
                other => other,
            })
        })
    }

    /// Checks that the domains of a table's columns exist, with the constraints that its rows were checked against.
    pub(crate) fn check_domains_of(&self, def: &TableDef) -> Result<(), StoreError> {
        for column in &def.columns {
            let Some(used) = column.domain else { continue };
            match self.domain(used.oid) {
                None => return Err(StoreError::UnknownType { name: format!("the domain with oid {}", used.oid) }),
                Some(known) if known.of_column() != used => {
                    return Err(StoreError::Conflict { what: format!("domain \"{}\"", known.definition.name) });
                }
                Some(_) => {}
            }
        }
        Ok(())
    }
}

fn base_of(oid: u32, types: &BTreeMap<u32, CatalogType>, domains: &BTreeMap<u32, CatalogDomain>) -> Option<DomainBase> {
    if oid < FIRST_TYPE_OID {
        return Some(DomainBase::System(oid));
    }
    let of_enum = types.get(&oid).map(|known| DomainBase::Enum(known.id));
    of_enum.or_else(|| domains.get(&oid).map(|known| DomainBase::Domain(known.id)))
}

/// Makes the domains of a manifest known to the process. A valid one has what each is of.
pub(crate) fn open_domains(domains: Domains, types: &BTreeMap<u32, CatalogType>) -> BTreeMap<u32, CatalogDomain> {
    let mut opened = BTreeMap::new();
    // What a domain is of is older, and has a smaller oid.
    for (oid, definition) in domains {
        let base = base_of(definition.base_oid, types, &opened).expect("a manifest has what its domains are of");
        let id = DomainTypeId::register(Arc::clone(&definition), base);
        opened.insert(oid, CatalogDomain { id, definition });
    }
    opened
}

/// The domains that one state has otherwise than another.
pub(crate) fn changed_domains(before: &Catalog, after: &Catalog) -> Vec<DomainChange> {
    let (before, after) = (before.domains_by_oid(), after.domains_by_oid());
    let is_set = |(oid, known): &(&u32, &CatalogDomain)| before.get(oid).is_none_or(|other| other != *known);
    let set = after.iter().filter(is_set).map(|(oid, known)| (*oid, Some(Arc::clone(&known.definition))));
    let removed = before.keys().filter(|oid| !after.contains_key(oid)).map(|oid| (*oid, None));
    set.chain(removed).collect()
}
