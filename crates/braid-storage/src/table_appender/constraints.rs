//! What a batch must satisfy before its rows are taken: the table's columns, NOT NULL, lengths and precisions.
//!
//! The checks run on whole columns and, in the ordinary case, cost one pass over lengths or values at most. Uniqueness
//! is not checked.

use arrow::array::{Array, ArrayRef, AsArray, Decimal128Array, RecordBatch, StringViewArray};
use arrow::datatypes::{DataType, Decimal128Type, Schema};

use crate::{ColumnDef, ColumnType, StoreError, TableDef};

/// Characters of an offending value that an error repeats.
const SHOWN_CHARS_MAX: usize = 60;

/// Checks `batch` against `def`.
pub(crate) fn check_batch(def: &TableDef, batch: &RecordBatch) -> Result<(), StoreError> {
    check_schema(def, batch.schema_ref())?;
    for (column, array) in def.columns.iter().zip(batch.columns()) {
        if !column.nullable && array.null_count() > 0 {
            let (schema, table, column) = (def.schema, def.name.clone(), column.name.clone());
            return Err(StoreError::NullViolation { schema, table, column });
        }
        check_values(def, column, array)?;
    }
    Ok(())
}

/// Names and types must be the table's; what a batch says of its nullability is compared with its nulls instead.
fn check_schema(def: &TableDef, schema: &Schema) -> Result<(), StoreError> {
    let same =
        def.columns.len() == schema.fields().len()
            && def.columns.iter().zip(schema.fields()).all(|(column, field)| {
                column.name == *field.name() && column.column_type.arrow() == *field.data_type()
            });
    if same {
        return Ok(());
    }
    let list = |columns: Vec<(&str, DataType)>| {
        let columns: Vec<String> = columns.into_iter().map(|(name, kind)| format!("{name} {kind}")).collect();
        columns.join(", ")
    };
    Err(StoreError::SchemaMismatch {
        table: def.name.clone(),
        expected: list(def.columns.iter().map(|c| (c.name.as_str(), c.column_type.arrow())).collect()),
        found: list(schema.fields().iter().map(|f| (f.name().as_str(), f.data_type().clone())).collect()),
    })
}

fn check_values(def: &TableDef, column: &ColumnDef, array: &ArrayRef) -> Result<(), StoreError> {
    match column.column_type {
        ColumnType::Varchar(limit) => check_lengths(def, column, array.as_string_view(), limit, |text| text),
        // Blanks at the end are no part of a char(n).
        ColumnType::Char(limit) => {
            check_lengths(def, column, array.as_string_view(), limit, |text| text.trim_end_matches(' '))
        }
        ColumnType::Numeric { precision, .. } => {
            check_precision(def, column, array.as_primitive::<Decimal128Type>(), precision)
        }
        _ => Ok(()),
    }
}

fn check_lengths(
    def: &TableDef,
    column: &ColumnDef,
    array: &StringViewArray,
    limit: u32,
    significant: impl Fn(&str) -> &str,
) -> Result<(), StoreError> {
    let limit = limit as usize;
    // A text has at most as many characters as bytes, and a view's low bits are its bytes.
    if array.views().iter().all(|view| *view as u32 as usize <= limit) {
        return Ok(());
    }
    for text in array.iter().flatten() {
        let found = if text.len() <= limit { 0 } else { significant(text).chars().count() };
        if found > limit {
            return Err(StoreError::TooLong {
                table: def.name.clone(),
                column: column.name.clone(),
                column_type: column.column_type,
                found,
                value: shown(text),
            });
        }
    }
    Ok(())
}

fn shown(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn check_precision(
    def: &TableDef,
    column: &ColumnDef,
    array: &Decimal128Array,
    precision: u8,
) -> Result<(), StoreError> {
    let limit = 10i128.pow(u32::from(precision));
    let beyond = |value: i128| value >= limit || value <= -limit;
    if !array.values().iter().any(|&value| beyond(value)) {
        return Ok(());
    }
    // The slots of nulls may hold anything.
    match array.iter().flatten().find(|&value| beyond(value)) {
        Some(value) => Err(StoreError::NumericOverflow {
            table: def.name.clone(),
            column: column.name.clone(),
            column_type: column.column_type,
            value,
        }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::Int32Array;
    use braid_base::{SchemaId, TableId};

    use super::*;

    fn table(column_type: ColumnType, nullable: bool) -> TableDef {
        let columns = vec![ColumnDef { nullable, ..ColumnDef::new("c", column_type) }];
        let (id, name, primary_key, checks) = (TableId(1), "t".to_owned(), Vec::new(), Vec::new());
        let schema = SchemaId::PUBLIC;
        TableDef {
            id,
            schema,
            name,
            columns,
            primary_key,
            next_column_id: 1,
            checks,
            keys: Vec::new(),
            foreign_keys: Vec::new(),
        }
    }

    fn check(column_type: ColumnType, nullable: bool, name: &str, array: impl Array + 'static) -> Result<(), String> {
        let array: ArrayRef = Arc::new(array);
        let batch = RecordBatch::try_from_iter([(name, array)]).unwrap();
        check_batch(&table(column_type, nullable), &batch).map_err(|error| error.to_string())
    }

    #[test]
    fn names_and_types_must_be_the_tables() {
        assert_eq!(check(ColumnType::Integer, true, "c", Int32Array::from(vec![1])), Ok(()));
        let error = check(ColumnType::Integer, true, "d", Int32Array::from(vec![1])).unwrap_err();
        assert_eq!(error, "rows for table \"t\" have columns (d Int32), but the table has (c Int32)");
        let error = check(ColumnType::BigInt, true, "c", Int32Array::from(vec![1])).unwrap_err();
        assert_eq!(error, "rows for table \"t\" have columns (c Int32), but the table has (c Int64)");
    }

    #[test]
    fn nulls_are_refused_where_the_table_refuses_them() {
        let array = Int32Array::from(vec![Some(1), None]);
        assert_eq!(check(ColumnType::Integer, true, "c", array.clone()), Ok(()));
        let error = check(ColumnType::Integer, false, "c", array).unwrap_err();
        assert_eq!(error, "null value in column \"c\" of table \"t\" violates its NOT NULL constraint");
    }

    #[test]
    fn lengths_are_counted_in_characters_and_a_chars_blanks_do_not_count() {
        let strings = |texts: &[&str]| StringViewArray::from_iter_values(texts);
        assert_eq!(check(ColumnType::Varchar(3), true, "c", strings(&["", "abc", "äöü"])), Ok(()));
        assert_eq!(check(ColumnType::Char(3), true, "c", strings(&["abc", "a      "])), Ok(()));
        let error = check(ColumnType::Varchar(3), true, "c", strings(&["abc", "äöüß"])).unwrap_err();
        let expected = "value of 4 characters is too long for column \"c\" of table \"t\", type character varying(3): \
                        \"äöüß\"";
        assert_eq!(error, expected);
        assert!(check(ColumnType::Varchar(3), true, "c", strings(&["a   "])).is_err());
        assert!(check(ColumnType::Char(3), true, "c", strings(&["a  b"])).is_err());
        let long = "y".repeat(1000);
        assert!(check(ColumnType::Varchar(3), true, "c", strings(&[&long])).unwrap_err().len() < 400);
    }

    #[test]
    fn numerics_keep_to_their_precision() {
        let decimals =
            |values: Vec<i128>| Decimal128Array::from_iter_values(values).with_precision_and_scale(4, 2).unwrap();
        let column_type = ColumnType::Numeric { precision: 4, scale: 2 };
        assert_eq!(check(column_type, true, "c", decimals(vec![9_999, -9_999])), Ok(()));
        let error = check(column_type, true, "c", decimals(vec![1, -10_000])).unwrap_err();
        let expected = "value -10000 (unscaled) does not fit column \"c\" of table \"t\", type numeric(4,2)";
        assert_eq!(error, expected);
    }
}
