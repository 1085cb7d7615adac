//! Names of users' types in stored texts: by number.
//!
//! PostgreSQL keeps an expression as a tree in which a type is its oid, so that the expression means the same under another search path and
//! after the type has got another name or schema. Texts that are stored here have the oid for a name in the schema of the system, where
//! no type is called so, and behind it the name as it was written, which unnamed columns are called by: `pg_catalog."1073741824 mood"`.

use sqlparser::ast::{Ident, ObjectName, ObjectNamePart};

use crate::search_path::SYSTEM_SCHEMA;

/// The name of a type in a stored text.
pub fn numbered_name(oid: u32, written: &str) -> ObjectName {
    ObjectName::from(vec![Ident::new(SYSTEM_SCHEMA), Ident::with_quote('"', numbered_ident(oid, written))])
}

/// The part of that name behind the schema.
pub fn numbered_ident(oid: u32, written: &str) -> String {
    format!("{oid} {written}")
}

/// The oid and the written name in the part behind the schema; `None` for a name of another kind.
pub fn parts_of_numbered(ident: &str) -> Option<(u32, &str)> {
    let (number, written) = ident.split_once(' ')?;
    let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then_some(())?;
    Some((number.parse().ok()?, written))
}

/// The oid and the written name of a type that is named by its number.
pub fn numbered_type(name: &ObjectName) -> Option<(u32, &str)> {
    match &name.0[..] {
        [ObjectNamePart::Identifier(schema), ObjectNamePart::Identifier(last)] if schema.value == SYSTEM_SCHEMA => {
            parts_of_numbered(&last.value)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_numbered_name_has_both_its_parts() {
        let name = numbered_name(1 << 30, "my \"mood\"");
        assert_eq!(name.to_string(), "pg_catalog.\"1073741824 my \"\"mood\"\"\"");
        assert_eq!(numbered_type(&name), Some((1 << 30, "my \"mood\"")));
        for other in ["int4", "12", "+1 x", "99999999999 x", "x 1"] {
            assert_eq!(parts_of_numbered(other), None, "{other}");
        }
    }
}
