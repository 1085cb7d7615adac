//! The entries of enumerated types, which databases have beside PostgreSQL's own types, and of their array types.
//!
//! An entry is made when it is first looked up, and again after ALTER TYPE … RENAME. All of them stay until the process ends, like
//! their [ids](braid_base::enum_types).

use std::sync::{Arc, PoisonError, RwLock};

use braid_base::EnumTypeId;

use super::entries::{FunctionId, TypeCategory, TypeEntry, TypeKind};
use super::type_id::TypeId;

const ENUM_IN: FunctionId = FunctionId(3506);
const ENUM_OUT: FunctionId = FunctionId(3507);
const ARRAY_IN: FunctionId = FunctionId(750);
const ARRAY_OUT: FunctionId = FunctionId(751);

/// Bytes of a value: PostgreSQL's are oids.
const ENUM_BYTES: i16 = 4;

/// The entries of a type and of its array type.
type Pair = &'static [TypeEntry; 2];

static ENTRIES: RwLock<Vec<Option<Pair>>> = RwLock::new(Vec::new());

/// The entry of an enumerated type or of an array of them; `None` for other types.
pub(super) fn enum_entry(id: TypeId) -> Option<&'static TypeEntry> {
    let (enum_type, is_array) = id.user_type()?;
    let definition = enum_type.definition();
    let number = enum_type.number() as usize;
    let is_current =
        |pair: &Pair| pair[0].name == definition.name.as_str() && pair[1].name == definition.array_name.as_str();
    let known = ENTRIES.read().unwrap_or_else(PoisonError::into_inner).get(number).copied().flatten();
    let pair = known.filter(is_current).unwrap_or_else(|| remember(enum_type, &definition));
    Some(&pair[usize::from(is_array)])
}

fn remember(enum_type: EnumTypeId, definition: &Arc<braid_base::EnumType>) -> Pair {
    let pair: Pair = Box::leak(Box::new(entries_of(enum_type, definition)));
    let mut entries = ENTRIES.write().unwrap_or_else(PoisonError::into_inner);
    let number = enum_type.number() as usize;
    if entries.len() <= number {
        entries.resize(number + 1, None);
    }
    entries[number] = Some(pair);
    pair
}

fn entries_of(enum_type: EnumTypeId, definition: &braid_base::EnumType) -> [TypeEntry; 2] {
    let (id, array) = (TypeId::of_enum(enum_type), TypeId::of_enum_array(enum_type));
    let base = TypeEntry {
        id,
        name: Box::leak(definition.name.clone().into_boxed_str()),
        kind: TypeKind::Enum,
        category: TypeCategory::ENUM,
        is_preferred: false,
        length: ENUM_BYTES,
        element: None,
        array: Some(array),
        input: ENUM_IN,
        output: ENUM_OUT,
    };
    let of_arrays = TypeEntry {
        id: array,
        name: Box::leak(definition.array_name.clone().into_boxed_str()),
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
    use super::super::pg_catalog;
    use super::*;
    use braid_base::EnumType;

    #[test]
    fn a_type_and_its_array_type_find_each_other_and_follow_renames() {
        let named = |name: &str| {
            let (name, array_name) = (name.to_owned(), format!("_{name}"));
            Arc::new(EnumType { oid: 1 << 30, array_oid: (1 << 30) + 1, name, array_name, labels: Vec::new() })
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
