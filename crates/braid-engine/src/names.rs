//! Names as PostgreSQL reads them: folded to lower case unless quoted.

use braid_storage::ColumnDef;
use sqlparser::ast::{Ident, ObjectName, ObjectNamePart};

use crate::{EngineError, SqlState};

/// Maximum length of a name in bytes: PostgreSQL's NAMEDATALEN - 1. Longer names are cut, as in PostgreSQL.
pub(crate) const NAME_BYTES_MAX: usize = 63;

/// An identifier, folded and cut to length.
pub(crate) fn fold(ident: &Ident) -> String {
    let mut name = folded(ident);
    if name.len() > NAME_BYTES_MAX {
        let end = (0..=NAME_BYTES_MAX).rev().find(|&end| name.is_char_boundary(end)).unwrap_or(0);
        name.truncate(end);
    }
    name
}

/// An identifier, folded.
pub(crate) fn folded(ident: &Ident) -> String {
    if ident.quote_style.is_some() { ident.value.clone() } else { ident.value.to_lowercase() }
}

/// The parts of a dotted name, folded.
pub(crate) fn fold_parts(name: &ObjectName) -> Result<Vec<String>, EngineError> {
    let parts = name.0.iter().map(|part| match part {
        ObjectNamePart::Identifier(ident) => Ok(fold(ident)),
        ObjectNamePart::Function(_) => {
            Err(EngineError::new(SqlState::SyntaxError, format!("\"{name}\" is not a table name")))
        }
    });
    parts.collect()
}

/// The schema, if it is given, and the table of a name in the database `current`, for statements that change tables.
pub(crate) fn table_parts(name: &ObjectName, current: &str) -> Result<(Option<String>, String), EngineError> {
    let parts = fold_parts(name)?;
    match &parts[..] {
        [table] => Ok((None, table.clone())),
        [schema, table] => Ok((Some(schema.clone()), table.clone())),
        [database, schema, table] if database == current => Ok((Some(schema.clone()), table.clone())),
        [database, _, _] => Err(EngineError::unsupported(format!(
            "cross-database references are not implemented: \"{database}\" is not this database"
        ))),
        _ => Err(EngineError::new(SqlState::SyntaxError, format!("improper qualified name: {name}"))),
    }
}

/// The columns that a list of names means, in its order.
pub(crate) fn columns_named<'a>(
    table: &str,
    columns: &[ColumnDef],
    names: impl IntoIterator<Item = &'a Ident>,
) -> Result<Vec<usize>, EngineError> {
    let mut found = Vec::new();
    for ident in names {
        let name = fold(ident);
        let Some(at) = columns.iter().position(|column| column.name == name) else {
            let message = format!("column \"{name}\" of relation \"{table}\" does not exist");
            return Err(EngineError::new(SqlState::UndefinedColumn, message));
        };
        if found.contains(&at) {
            let message = format!("column \"{name}\" specified more than once");
            return Err(EngineError::new(SqlState::DuplicateColumn, message));
        }
        found.push(at);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fold_unless_quoted() {
        assert_eq!(fold(&Ident::new("LineItem")), "lineitem");
        assert_eq!(fold(&Ident::with_quote('"', "LineItem")), "LineItem");
        assert_eq!(fold(&Ident::new("ä".repeat(40))), "ä".repeat(31));
    }

    #[test]
    fn names_of_tables_have_up_to_three_parts() {
        let name = |parts: &[&str]| ObjectName::from(parts.iter().map(|part| Ident::new(*part)).collect::<Vec<_>>());
        for (parts, schema) in
            [(&["T"][..], None), (&["Other", "t"], Some("other")), (&["Braid", "PUBLIC", "t"], Some("public"))]
        {
            assert_eq!(table_parts(&name(parts), "braid").unwrap(), (schema.map(str::to_owned), "t".to_owned()));
        }
        for (parts, sqlstate) in [(&["other", "public", "t"][..], "0A000"), (&["a", "b", "c", "d"], "42601")] {
            assert_eq!(table_parts(&name(parts), "braid").unwrap_err().sqlstate(), sqlstate, "{parts:?}");
        }
    }
}
