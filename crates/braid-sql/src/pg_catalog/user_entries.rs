//! The entries of enumerated types and domains, which databases have beside PostgreSQL's own types, and of their array types.
//!
//! An entry is made when it is first looked up, and again after ALTER … RENAME. All of them stay until the process ends, like
//! the [ids](braid_base::enum_types) of the types.

use std::sync::{PoisonError, RwLock};

use super::entries::{FunctionId, TypeCategory, TypeEntry, TypeKind};
use super::pg_catalog;
use super::type_id::{TypeId, UserType};

const ENUM_IN: FunctionId = FunctionId(3506);
const ENUM_OUT: FunctionId = FunctionId(3507);
const DOMAIN_IN: FunctionId = FunctionId(2597);
const ARRAY_IN: FunctionId = FunctionId(750);
const ARRAY_OUT: FunctionId = FunctionId(751);

/// Bytes of a value: PostgreSQL's are oids.
const ENUM_BYTES: i16 = 4;

/// The entries of a type and of its array type.
type Pair = &'static [TypeEntry; 2];

/// Entries by the numbers of their types.
type Entries = RwLock<Vec<Option<Pair>>>;

static ENUM_ENTRIES: Entries = RwLock::new(Vec::new());
static DOMAIN_ENTRIES: Entries = RwLock::new(Vec::new());

/// The entry of an enumerated type, a domain, or an array of them; `None` for other types.
pub(super) fn user_entry(id: TypeId) -> Option<&'static TypeEntry> {
    let (user_type, is_array) = id.user_type()?;
    let pair = match user_type {
        UserType::Enum(enum_type) => {
            let definition = enum_type.definition();
            let names = [definition.name.as_str(), definition.array_name.as_str()];
            let new = || entries(TypeId::of_enum(enum_type), names, of_enums());
            current(&ENUM_ENTRIES, enum_type.number(), names, new)
        }
        UserType::Domain(domain) => {
            let definition = domain.definition();
            let names = [definition.name.as_str(), definition.array_name.as_str()];
            let id = TypeId::of_domain(domain);
            current(&DOMAIN_ENTRIES, domain.number(), names, || entries(id, names, of_domains(id)))
        }
    };
    Some(&pair[usize::from(is_array)])
}

/// The pair with this number, made anew if it has other names.
fn current(known: &Entries, number: u32, names: [&str; 2], new: impl FnOnce() -> [TypeEntry; 2]) -> Pair {
    let number = number as usize;
    let found = known.read().unwrap_or_else(PoisonError::into_inner).get(number).copied().flatten();
    if let Some(pair) = found.filter(|pair| pair[0].name == names[0] && pair[1].name == names[1]) {
        return pair;
    }
    let pair: Pair = Box::leak(Box::new(new()));
    let mut known = known.write().unwrap_or_else(PoisonError::into_inner);
    if known.len() <= number {
        known.resize(number + 1, None);
    }
    known[number] = Some(pair);
    pair
}

/// What the values of a type are like.
struct Nature {
    kind: TypeKind,
    category: TypeCategory,
    length: i16,
    input: FunctionId,
    output: FunctionId,
}

fn of_enums() -> Nature {
    let (kind, category, length) = (TypeKind::Enum, TypeCategory::ENUM, ENUM_BYTES);
    Nature { kind, category, length, input: ENUM_IN, output: ENUM_OUT }
}

fn of_domains(id: TypeId) -> Nature {
    let base = pg_catalog().type_entry(id.base());
    let (category, length, output) = (base.category, base.length, base.output);
    Nature { kind: TypeKind::Domain, category, length, input: DOMAIN_IN, output }
}

fn entries(id: TypeId, names: [&str; 2], nature: Nature) -> [TypeEntry; 2] {
    let array = TypeId(id.0 + 1);
    let [name, array_name] = names.map(|name| &*Box::leak(name.to_owned().into_boxed_str()));
    let Nature { kind, category, length, input, output } = nature;
    let base = TypeEntry {
        id,
        name,
        kind,
        category,
        is_preferred: false,
        length,
        element: None,
        array: Some(array),
        input,
        output,
    };
    let of_arrays = TypeEntry {
        id: array,
        name: array_name,
        kind: TypeKind::Base,
        category: TypeCategory::ARRAY,
        is_preferred: false,
        length: -1,
        element: Some(id),
        array: None,
        input: ARRAY_IN,
        output: ARRAY_OUT,
    };
    [base, of_arrays]
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use braid_base::{EnumType, EnumTypeId, SchemaId};

    use super::*;

    #[test]
    fn a_type_and_its_array_type_find_each_other_and_follow_renames() {
        let named = |name: &str| {
            let (name, array_name) = (name.to_owned(), format!("_{name}"));
            Arc::new(EnumType {
                oid: 1 << 30,
                array_oid: (1 << 30) + 1,
                schema: SchemaId::PUBLIC,
                name,
                array_name,
                labels: Vec::new(),
            })
        };
        let enum_type = EnumTypeId::register(named("mood"));
        let id = TypeId::of_enum(enum_type);
        let entry = pg_catalog().type_entry(id);
        let array = entry.array.unwrap();
        assert_eq!((entry.name, pg_catalog().element_of_array(array)), ("mood", Some(id)));
        assert_eq!((id.oid(), array.oid()), (1 << 30, (1 << 30) + 1));
        assert_eq!((id.enum_type(), array.enum_type(), TypeId::INT4.enum_type()), (Some(enum_type), None, None));
        enum_type.redefine(named("temper"));
        assert_eq!((pg_catalog().type_entry(id).name, pg_catalog().type_entry(array).name), ("temper", "_temper"));
        // A client may send any number, and means no type of any database by it.
        assert!(pg_catalog().type_of_oid(id.0).is_none() && pg_catalog().type_of_oid(id.oid()).is_none());
    }
}
