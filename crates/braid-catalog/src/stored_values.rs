//! Fields of stored rows into values of their column's type.
//!
//! | type | value |
//! |---|---|
//! | `xid`, `regproc` and its like | a number, as `oid` |
//! | `pg_node_tree` | the SQL of the expression |
//! | `aclitem[]` | an array of texts |
//! | others | as their input function reads them |

use braid_sql::functions::objects::acls::role_in_privilege;
use braid_sql::functions::text_input::value_of_text;
use braid_sql::pg_catalog::TypeId;
use braid_sql::values::ArrayValue;
use braid_sql::{SqlError, Value};

use crate::stored_rows::{number, text_of};

/// `xid`
pub(crate) const XID: TypeId = TypeId(28);
/// `pg_node_tree`
pub(crate) const PG_NODE_TREE: TypeId = TypeId(194);
/// `aclitem`
pub(crate) const ACLITEM: TypeId = TypeId(1033);
/// `aclitem[]`
pub(crate) const ACLITEM_ARRAY: TypeId = TypeId(1034);

/// The role that owns everything in the stored rows.
const STORED_OWNER: &str = "postgres";

/// The value of a field. `owner` is the name of the role that owns the system's objects.
pub(crate) fn value_of_field(id: TypeId, field: &'static str, owner: &str) -> Result<Value, SqlError> {
    let Some(text) = text_of(field) else { return Ok(Value::Null) };
    Ok(match id {
        TypeId::BOOL => Value::Bool(text == "t"),
        TypeId::INT2 => Value::Int2(number(&text)),
        TypeId::INT4 => Value::Int4(number(&text)),
        TypeId::OID | TypeId::REGPROC | XID => Value::Oid(number(&text)),
        TypeId::CHAR => Value::Char(text.bytes().next().unwrap_or(0)),
        TypeId::NAME | TypeId::TEXT | TypeId::VARCHAR | PG_NODE_TREE => Value::text(text.as_ref()),
        ACLITEM_ARRAY => privileges(&text, owner),
        other => return value_of_text(other, &text),
    })
}

/// Privileges, in which the owner has its name on this server. The stored ones need no quotes.
fn privileges(text: &str, owner: &str) -> Value {
    let owner = role_in_privilege(owner);
    let item = |item: &str| {
        let (grantee, rest) = item.split_once('=').expect("a privilege has a grantee");
        let (rights, grantor) = rest.split_once('/').expect("a privilege has a grantor");
        let named = |role: &str| if role == STORED_OWNER { owner.to_string() } else { role.to_owned() };
        Value::text(format!("{}={rights}/{}", named(grantee), named(grantor)))
    };
    let items = text.trim_matches(['{', '}']).split(',').filter(|item| !item.is_empty()).map(item);
    Value::Array(ArrayValue::of(ACLITEM, items.collect()).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn privileges_name_the_servers_owner() {
        let texts = |owner: &str| match privileges("{postgres=UC/postgres,=U/postgres}", owner) {
            Value::Array(array) => array.values.iter().map(|value| value.as_text().to_owned()).collect::<Vec<_>>(),
            other => panic!("{other:?}"),
        };
        assert_eq!(texts("braid"), ["braid=UC/braid", "=U/braid"]);
        assert_eq!(texts("a-b"), ["\"a-b\"=UC/\"a-b\"", "=U/\"a-b\""]);
    }
}
