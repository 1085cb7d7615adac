//! How values of a type lie in PostgreSQL (`typlen`, `typbyval`, `typalign`, `typstorage`), its collation and its default operator class
//! for b-trees, for rows about columns and indexes.

use std::collections::HashMap;
use std::sync::OnceLock;

use braid_sql::pg_catalog::TypeId;

use crate::object_ids::BTREE_ACCESS_METHOD_ID;
use crate::stored_rows::{StoredRows, number};

/// How values of a type lie.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StoredType {
    /// Bytes of a value; -1 if they vary.
    pub length: i16,
    /// Whether it is passed by value.
    pub is_by_value: bool,
    /// `c`, `s`, `i`, `d`: 1, 2, 4, 8 bytes.
    pub alignment: u8,
    /// `p`, `e`, `m`, `x`: plain, external, main, extended.
    pub storage: u8,
    /// The id of the function that sends values (`typsend`).
    pub send: u32,
    /// The id of its collation; 0 for none.
    pub collation: u32,
    /// The id of its default operator class for b-trees; 0 for none.
    pub operator_class: u32,
}

/// An array of any type.
const ANY_ARRAY: TypeId = TypeId(2277);

/// How values of this type lie; those of domains as those of their base types, those of enumerated types all alike, and so are those of their array types.
///
/// # Panics
/// If there is no such type.
pub(crate) fn stored_type(id: TypeId) -> StoredType {
    static TYPES: OnceLock<HashMap<TypeId, StoredType>> = OnceLock::new();
    let id = id.base();
    let id = match (id.enum_type(), id.oid() == id.0) {
        (Some(_), _) => TypeId::ANYENUM,
        (None, false) => ANY_ARRAY,
        (None, true) => id,
    };
    *TYPES.get_or_init(read).get(&id).unwrap_or_else(|| panic!("{id:?} is not stored"))
}

fn read() -> HashMap<TypeId, StoredType> {
    let classes = StoredRows::of("pg_opclass").columns(["oid", "opcmethod", "opcintype", "opcdefault"]);
    let classes: HashMap<u32, u32> = classes
        .filter(|[_, method, _, is_default]| number::<u32>(method) == BTREE_ACCESS_METHOD_ID && *is_default == "t")
        .map(|[class, _, id, _]| (number(id), number(class)))
        .collect();
    let class_of = |id: TypeId| {
        // A varchar is compared as the text that it is.
        let compared = if id == TypeId::VARCHAR { TypeId::TEXT } else { id };
        classes.get(&compared.0).copied().unwrap_or(0)
    };
    let columns = ["oid", "typlen", "typbyval", "typalign", "typstorage", "typsend", "typcollation"];
    let types =
        StoredRows::of("pg_type").columns(columns).map(|[id, length, by_value, align, storage, send, collation]| {
            let id = TypeId(number(id));
            let stored = StoredType {
                length: number(length),
                is_by_value: by_value == "t",
                alignment: align.as_bytes()[0],
                storage: storage.as_bytes()[0],
                send: number(send),
                collation: number(collation),
                operator_class: class_of(id),
            };
            (id, stored)
        });
    types.collect()
}
