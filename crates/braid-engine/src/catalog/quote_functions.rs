//! `quote_ident`, `quote_literal` and `quote_nullable`: texts as they stand in SQL.

use std::sync::Arc;

use arrow::array::timezone::Tz;
use arrow::array::{ArrayRef, AsArray, StringArray, new_null_array};
use arrow::datatypes::DataType;
use braid_storage::ColumnType;
use datafusion::common::Result;
use datafusion::logical_expr::ScalarUDF;

use super::system_functions::SystemFunction;
use crate::EngineError;
use crate::conversion::{Strength, convert, name_of};
use crate::input::datetime::utc;

/// Words that cannot be names without quotes: all of PostgreSQL 15's keywords that are not unreserved.
static RESERVED: [&str; 151] = [
    "all",
    "analyse",
    "analyze",
    "and",
    "any",
    "array",
    "as",
    "asc",
    "asymmetric",
    "authorization",
    "between",
    "bigint",
    "binary",
    "bit",
    "boolean",
    "both",
    "case",
    "cast",
    "char",
    "character",
    "check",
    "coalesce",
    "collate",
    "collation",
    "column",
    "concurrently",
    "constraint",
    "create",
    "cross",
    "current_catalog",
    "current_date",
    "current_role",
    "current_schema",
    "current_time",
    "current_timestamp",
    "current_user",
    "dec",
    "decimal",
    "default",
    "deferrable",
    "desc",
    "distinct",
    "do",
    "else",
    "end",
    "except",
    "exists",
    "extract",
    "false",
    "fetch",
    "float",
    "for",
    "foreign",
    "freeze",
    "from",
    "full",
    "grant",
    "greatest",
    "group",
    "grouping",
    "having",
    "ilike",
    "in",
    "initially",
    "inner",
    "inout",
    "int",
    "integer",
    "intersect",
    "interval",
    "into",
    "is",
    "isnull",
    "join",
    "lateral",
    "leading",
    "least",
    "left",
    "like",
    "limit",
    "localtime",
    "localtimestamp",
    "national",
    "natural",
    "nchar",
    "none",
    "normalize",
    "not",
    "notnull",
    "null",
    "nullif",
    "numeric",
    "offset",
    "on",
    "only",
    "or",
    "order",
    "out",
    "outer",
    "overlaps",
    "overlay",
    "placing",
    "position",
    "precision",
    "primary",
    "real",
    "references",
    "returning",
    "right",
    "row",
    "select",
    "session_user",
    "setof",
    "similar",
    "smallint",
    "some",
    "substring",
    "symmetric",
    "table",
    "tablesample",
    "then",
    "time",
    "timestamp",
    "to",
    "trailing",
    "treat",
    "trim",
    "true",
    "union",
    "unique",
    "user",
    "using",
    "values",
    "varchar",
    "variadic",
    "verbose",
    "when",
    "where",
    "window",
    "with",
    "xmlattributes",
    "xmlconcat",
    "xmlelement",
    "xmlexists",
    "xmlforest",
    "xmlnamespaces",
    "xmlparse",
    "xmlpi",
    "xmlroot",
    "xmlserialize",
    "xmltable",
];

/// All of them.
pub(crate) fn quote_functions() -> [ScalarUDF; 3] {
    let of = |name, quote: fn(Option<&str>) -> Option<String>| {
        SystemFunction::udf(name, DataType::Utf8, Arc::new(move |args: &[ArrayRef], rows| quoted(args, rows, quote)))
    };
    [
        of("quote_ident", |text| text.map(quote_ident)),
        of("quote_literal", |text| text.map(quote_literal)),
        of("quote_nullable", |text| Some(text.map_or_else(|| "NULL".to_owned(), quote_literal))),
    ]
}

fn quoted(args: &[ArrayRef], row_count: usize, quote: fn(Option<&str>) -> Option<String>) -> Result<ArrayRef> {
    let Some(values) = args.first() else { return Ok(new_null_array(&DataType::Utf8, row_count)) };
    if matches!(values.data_type(), DataType::Timestamp(_, Some(_))) || values.data_type().is_nested() {
        let message = format!("quoting a {} is not supported", name_of(values.data_type()));
        return Err(EngineError::unsupported(message).with_hint("Cast it to text.").into());
    }
    let zone: Tz = utc();
    let texts = convert(values, ColumnType::Text, Strength::Explicit, &zone)?;
    Ok(Arc::new(texts.as_string_view().iter().map(quote).collect::<StringArray>()))
}

/// A name, in quotes where it needs them.
fn quote_ident(name: &str) -> String {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let begins_well = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_');
    if begins_well && name.chars().all(plain) && RESERVED.binary_search(&name).is_err() {
        return name.to_owned();
    }
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A text as a literal; with backslashes, as one whose backslashes escape.
fn quote_literal(text: &str) -> String {
    let doubled = text.replace('\'', "''").replace('\\', "\\\\");
    if text.contains('\\') { format!("E'{doubled}'") } else { format!("'{doubled}'") }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every expected value was PostgreSQL 15's answer.
    #[test]
    fn texts_are_quoted_as_in_postgresql() {
        for (name, expected) in [
            ("ab", "ab"),
            ("A b", "\"A b\""),
            ("a\"b", "\"a\"\"b\""),
            ("select", "\"select\""),
            ("", "\"\""),
            ("1a", "\"1a\""),
        ] {
            assert_eq!(quote_ident(name), expected);
        }
        assert!(RESERVED.is_sorted());
        for (text, expected) in [("it's", "'it''s'"), ("a\\b", "E'a\\\\b'"), ("", "''")] {
            assert_eq!(quote_literal(text), expected);
        }
    }
}
