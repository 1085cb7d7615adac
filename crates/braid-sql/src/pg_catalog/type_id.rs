//! The number of a type: `pg_type.oid`, as it also goes over the wire, but for enumerated types and domains.
//!
//! These belong to a database, and two databases may have types of one oid. So they have numbers of their own within the process, beyond
//! all oids, and [`TypeId::oid`] is the oid.
//!
//! No expression is of a domain: it is of the domain's base type, and what it is cast to is [`Node::Domain`](crate::expression::Node).

use std::fmt;

use braid_base::{DomainBase, DomainTypeId, EnumTypeId};

/// A type of PostgreSQL, without its modifier.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TypeId(pub u32);

macro_rules! type_ids {
    ($($name:ident = $oid:literal,)*) => {
        #[allow(missing_docs, reason = "their names are PostgreSQL's")]
        impl TypeId {
            $(pub const $name: Self = Self($oid);)*
        }

        /// The names of the constants, for messages of bugs.
        const NAMES: &[(TypeId, &str)] = &[$((TypeId($oid), stringify!($name)),)*];
    };
}

type_ids! {
    BOOL = 16,
    BYTEA = 17,
    CHAR = 18,
    NAME = 19,
    INT8 = 20,
    INT2 = 21,
    INT2VECTOR = 22,
    INT4 = 23,
    REGPROC = 24,
    TEXT = 25,
    OID = 26,
    XID = 28,
    OIDVECTOR = 30,
    JSON = 114,
    PG_NODE_TREE = 194,
    FLOAT4 = 700,
    FLOAT8 = 701,
    UNKNOWN = 705,
    MONEY = 790,
    INT4_ARRAY = 1007,
    TEXT_ARRAY = 1009,
    BPCHAR = 1042,
    VARCHAR = 1043,
    DATE = 1082,
    TIME = 1083,
    TIMESTAMP = 1114,
    TIMESTAMPTZ = 1184,
    INTERVAL = 1186,
    TIMETZ = 1266,
    BIT = 1560,
    VARBIT = 1562,
    NUMERIC = 1700,
    REGPROCEDURE = 2202,
    REGOPER = 2203,
    REGOPERATOR = 2204,
    REGCLASS = 2205,
    REGTYPE = 2206,
    RECORD = 2249,
    CSTRING = 2275,
    ANY = 2276,
    ANYARRAY = 2277,
    VOID = 2278,
    ANYELEMENT = 2283,
    RECORD_ARRAY = 2287,
    ANYNONARRAY = 2776,
    UUID = 2950,
    ANYENUM = 3500,
    REGNAMESPACE = 4089,
    REGROLE = 4096,
    JSONB = 3802,
    ANYRANGE = 3831,
    JSONPATH = 4072,
    ANYMULTIRANGE = 4537,
    ANYCOMPATIBLEMULTIRANGE = 4538,
    ANYCOMPATIBLE = 5077,
    ANYCOMPATIBLEARRAY = 5078,
    ANYCOMPATIBLENONARRAY = 5079,
    ANYCOMPATIBLERANGE = 5080,
}

/// The first number of enumerated types and their array types, in turn.
const FIRST_ENUM: u32 = braid_base::enum_types::TYPE_OID_END;

/// The first number of domains and their array types, in turn.
const FIRST_DOMAIN: u32 = FIRST_ENUM + (1 << 30);

/// A type of a database, without its oid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UserType {
    Enum(EnumTypeId),
    Domain(DomainTypeId),
}

impl TypeId {
    /// An enumerated type.
    pub fn of_enum(enum_type: EnumTypeId) -> Self {
        Self(FIRST_ENUM + 2 * enum_type.number())
    }

    /// The type of arrays of an enumerated type.
    pub fn of_enum_array(enum_type: EnumTypeId) -> Self {
        Self(Self::of_enum(enum_type).0 + 1)
    }

    /// The enumerated type that it is.
    pub fn enum_type(self) -> Option<EnumTypeId> {
        match self.user_type()? {
            (UserType::Enum(enum_type), false) => Some(enum_type),
            _ => None,
        }
    }

    /// A domain.
    pub fn of_domain(domain: DomainTypeId) -> Self {
        Self(FIRST_DOMAIN + 2 * domain.number())
    }

    /// The type of arrays of a domain.
    pub fn of_domain_array(domain: DomainTypeId) -> Self {
        Self(Self::of_domain(domain).0 + 1)
    }

    /// The domain that it is.
    pub fn domain(self) -> Option<DomainTypeId> {
        match self.user_type()? {
            (UserType::Domain(domain), false) => Some(domain),
            _ => None,
        }
    }

    /// The type that it is of if it is a domain, which may be another one, and the modifier of that type.
    pub fn domain_parent(self) -> Option<(Self, i32)> {
        let domain = self.domain()?;
        let parent = match domain.base() {
            DomainBase::System(oid) => Self(oid),
            DomainBase::Enum(enum_type) => Self::of_enum(enum_type),
            DomainBase::Domain(other) => Self::of_domain(other),
        };
        Some((parent, domain.definition().modifier))
    }

    /// The type whose values it has: of a domain, that which it is of in the end.
    #[must_use]
    pub fn base(self) -> Self {
        self.domain_parent().map_or(self, |(parent, _)| parent.base())
    }

    /// Whether it is the type of arrays of a domain.
    pub fn is_domain_array(self) -> bool {
        matches!(self.user_type(), Some((UserType::Domain(_), true)))
    }

    /// `pg_type.oid`
    pub fn oid(self) -> u32 {
        match self.user_type() {
            None => self.0,
            Some((UserType::Enum(enum_type), false)) => enum_type.definition().oid,
            Some((UserType::Enum(enum_type), true)) => enum_type.definition().array_oid,
            Some((UserType::Domain(domain), false)) => domain.definition().oid,
            Some((UserType::Domain(domain), true)) => domain.definition().array_oid,
        }
    }

    /// Whether a database has made it: an enumerated type, a domain, or the type of arrays of one.
    pub fn is_of_user(self) -> bool {
        self.user_type().is_some()
    }

    /// The type of a database that it is, or is of arrays of.
    pub(super) fn user_type(self) -> Option<(UserType, bool)> {
        match (self.0.checked_sub(FIRST_DOMAIN), self.0.checked_sub(FIRST_ENUM)) {
            (Some(number), _) => Some((UserType::Domain(DomainTypeId::of_number(number / 2)?), number % 2 == 1)),
            (None, Some(number)) => Some((UserType::Enum(EnumTypeId::of_number(number / 2)?), number % 2 == 1)),
            (None, None) => None,
        }
    }

    /// Whether it stands for the type of an argument (`anyelement`, `anyarray`, …), and not `any`.
    pub fn is_polymorphic(self) -> bool {
        self.is_simple_polymorphic() || self.is_compatible_polymorphic()
    }

    /// Whether it is `int2vector` or `oidvector`: arrays that are elements of arrays, not further dimensions.
    pub fn is_vector(self) -> bool {
        [Self::INT2VECTOR, Self::OIDVECTOR].contains(&self)
    }

    /// Whether all arguments of this family must have one type (`anyelement` and its like).
    pub fn is_simple_polymorphic(self) -> bool {
        [Self::ANYELEMENT, Self::ANYARRAY, Self::ANYNONARRAY, Self::ANYENUM, Self::ANYRANGE, Self::ANYMULTIRANGE]
            .contains(&self)
    }

    /// Whether arguments of this family are cast to a common type (`anycompatible` and its like).
    pub fn is_compatible_polymorphic(self) -> bool {
        [
            Self::ANYCOMPATIBLE,
            Self::ANYCOMPATIBLEARRAY,
            Self::ANYCOMPATIBLENONARRAY,
            Self::ANYCOMPATIBLERANGE,
            Self::ANYCOMPATIBLEMULTIRANGE,
        ]
        .contains(&self)
    }
}

impl fmt::Debug for TypeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMES.iter().find(|(id, _)| id == self) {
            Some((_, name)) => f.write_str(name),
            None => write!(f, "type {}", self.0),
        }
    }
}
