//! The domains of the databases that this process has open: types with the values of another type, but for those that their constraints
//! exclude.
//!
//! Columns of a domain hold the values of its base type. What a domain adds is checked where values are cast to it and where rows are
//! stored. The front end names a domain by a [`DomainTypeId`], as it names enumerated types by
//! [`EnumTypeId`](crate::enum_types::EnumTypeId), and looks up what it is when it is needed.

use std::sync::Arc;

use crate::enum_types::EnumTypeId;
use crate::ids::SchemaId;
use crate::type_registry::TypeRegistry;

/// A domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DomainType {
    /// `pg_type.oid`
    pub oid: u32,
    /// `pg_type.oid` of its array type.
    pub array_oid: u32,
    /// Its schema.
    pub schema: SchemaId,
    /// Its name.
    pub name: String,
    /// The name of its array type.
    pub array_name: String,
    /// `pg_type.typbasetype`: the oid of the type that it is of, which may be an older domain.
    pub base_oid: u32,
    /// `pg_type.typtypmod`: the modifier of that type, -1 for none.
    pub modifier: i32,
    /// Whether it is NOT NULL.
    pub is_not_null: bool,
    /// `DEFAULT` as SQL text: of columns that have none of their own.
    pub default: Option<String>,
    /// Conditions of its values, in the order in which they were added.
    pub checks: Vec<DomainCheck>,
    /// How often its constraints have changed. Tables note it with their columns of the domain, so that rows which were checked against
    /// other constraints are not committed.
    pub revision: u32,
}

/// A condition of a domain's values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DomainCheck {
    /// `pg_constraint.oid`
    pub oid: u32,
    /// Its name, unique in the domain.
    pub name: String,
    /// The condition as SQL text over `VALUE`.
    pub condition: String,
    /// Whether the values that were there when it was added are known to satisfy it, too.
    pub validated: bool,
}

/// The type that a domain is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DomainBase {
    /// A type of PostgreSQL, by its oid.
    System(u32),
    /// An enumerated type.
    Enum(EnumTypeId),
    /// Another domain.
    Domain(DomainTypeId),
}

/// A domain as it is now, and what it is of.
#[derive(Debug)]
struct Entry {
    definition: Arc<DomainType>,
    base: DomainBase,
}

static DOMAINS: TypeRegistry<Entry> = TypeRegistry::new();

/// A domain of a database that is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DomainTypeId(u32);

impl DomainTypeId {
    /// Makes a domain known. What it is of never changes.
    pub fn register(definition: Arc<DomainType>, base: DomainBase) -> Self {
        Self(DOMAINS.add(Arc::new(Entry { definition, base })))
    }

    /// The domain with this number; `None` if there is none.
    pub fn of_number(number: u32) -> Option<Self> {
        DOMAINS.get(number).map(|_| Self(number))
    }

    /// Its number, below the count of all domains that the process has opened.
    pub fn number(self) -> u32 {
        self.0
    }

    /// The domain as it is now.
    pub fn definition(self) -> Arc<DomainType> {
        Arc::clone(&self.entry().definition)
    }

    /// What it is of.
    pub fn base(self) -> DomainBase {
        self.entry().base
    }

    /// Changes the domain.
    pub fn redefine(self, definition: Arc<DomainType>) {
        DOMAINS.replace(self.0, Arc::new(Entry { definition, base: self.base() }));
    }

    fn entry(self) -> Arc<Entry> {
        DOMAINS.get(self.0).expect("the number of a domain is given out for its entry")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::enum_types::FIRST_TYPE_OID;

    #[test]
    fn a_change_is_seen_through_the_same_id_and_keeps_the_base() {
        let domain = DomainType {
            oid: FIRST_TYPE_OID,
            array_oid: FIRST_TYPE_OID + 1,
            schema: SchemaId::PUBLIC,
            name: "positive".to_owned(),
            array_name: "_positive".to_owned(),
            base_oid: 23,
            modifier: -1,
            is_not_null: false,
            default: None,
            checks: Vec::new(),
            revision: 0,
        };
        let id = DomainTypeId::register(Arc::new(domain.clone()), DomainBase::System(23));
        let other = DomainTypeId::register(Arc::new(domain.clone()), DomainBase::Domain(id));
        id.redefine(Arc::new(DomainType { name: "natural".to_owned(), ..domain }));
        assert_eq!((&*id.definition().name, id.base()), ("natural", DomainBase::System(23)));
        assert_eq!((&*other.definition().name, other.base()), ("positive", DomainBase::Domain(id)));
        assert_eq!(DomainTypeId::of_number(other.number()), Some(other));
    }
}
