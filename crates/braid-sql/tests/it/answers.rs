//! How the files of answers write types, rows and texts.

use braid_sql::functions::ordering::{Direction, Nulls, SortKey};
use braid_sql::pg_catalog::TypeId;
use braid_sql::testing::value_of;
use braid_sql::types::type_names::format_type;
use braid_sql::{SqlError, SqlType, Value};

/// A text with backslash, tab and newline escaped.
pub fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\t', "\\t").replace('\n', "\\n").replace('\r', "\\r")
}

/// What stands between separators; nothing in an empty text.
pub fn parts(text: &str, separator: &str) -> Vec<String> {
    if text.is_empty() { Vec::new() } else { text.split(separator).map(str::to_owned).collect() }
}

/// The texts of each row.
pub fn rows_of(rows: &str) -> Vec<Vec<String>> {
    if rows == "-" { Vec::new() } else { rows.split(" | ").map(parts_of_row).collect() }
}

fn parts_of_row(row: &str) -> Vec<String> {
    row.split(" & ").map(str::to_owned).collect()
}

/// A type by its name in SQL.
pub fn type_of(name: &str) -> Result<SqlType, SqlError> {
    Ok(value_of(&format!("NULL::{name}"))?.0)
}

/// A value of a row, cast to what the function takes.
pub fn value_as(text: &str, given: &str, wanted: SqlType) -> Result<Value, SqlError> {
    let quoted = if text == "NULL" { text.to_owned() } else { format!("'{}'", text.replace('\'', "''")) };
    Ok(value_of(&format!("({quoted}::{given})::{}", format_type(wanted)))?.1)
}

/// A key of ORDER BY: `desc`, `nulls first` and so on behind a column.
pub fn key_of(id: TypeId, way: &str) -> Result<SortKey, SqlError> {
    let direction = if way.contains("desc") { Direction::Descending } else { Direction::Ascending };
    let nulls = match way {
        way if way.contains("nulls first") => Some(Nulls::First),
        way if way.contains("nulls last") => Some(Nulls::Last),
        _ => None,
    };
    SortKey::of(id, direction, nulls)
}
