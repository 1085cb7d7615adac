//! Columns of types whose texts do not tell the binary format: names of objects stand for their oids, and a record in an array does not say of
//! what types its fields are. They are sent as structs of the text and the bytes of each value.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryArray, BinaryBuilder, StringArray, StringBuilder, StructArray};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, Field, Fields};
use braid_sql::output::binary::send;
use braid_sql::pg_catalog::{TypeId, pg_catalog};
use braid_sql::{Evaluation, SqlError, SqlType, Value};

/// The names of the fields, which no record has.
const FIELDS: [&str; 2] = ["braid.text", "braid.bytes"];

/// Whether values of a type are sent so.
pub(super) fn needs_bytes(id: TypeId) -> bool {
    let names_objects = |id| {
        let types = [TypeId::REGPROC, TypeId::REGPROCEDURE, TypeId::REGOPER, TypeId::REGOPERATOR];
        types.contains(&id) || [TypeId::REGCLASS, TypeId::REGTYPE, TypeId::REGNAMESPACE, TypeId::REGROLE].contains(&id)
    };
    match pg_catalog().element_of_array(id) {
        Some(element) => names_objects(element) || element == TypeId::RECORD,
        None => names_objects(id),
    }
}

/// The type of such a column.
pub(super) fn data_type() -> DataType {
    DataType::Struct(fields())
}

fn fields() -> Fields {
    let types = [DataType::Utf8, DataType::Binary];
    FIELDS.into_iter().zip(types).map(|(name, data_type)| Field::new(name, data_type, true)).collect()
}

/// A column of values. One that has no binary format has no bytes.
///
/// # Errors
/// When an output function fails.
pub(super) fn column(values: &[Value], sql_type: SqlType, evaluation: &Evaluation<'_>) -> Result<ArrayRef, SqlError> {
    let (mut texts, mut all_bytes) = (StringBuilder::new(), BinaryBuilder::new());
    for value in values {
        let Some(text) = evaluation.text(value, sql_type)? else {
            texts.append_null();
            all_bytes.append_null();
            continue;
        };
        let mut bytes = Vec::new();
        texts.append_value(text);
        all_bytes.append_option(send(value, sql_type.id, &mut bytes).ok().map(|()| bytes));
    }
    let texts = texts.finish();
    let nulls: Option<NullBuffer> = texts.nulls().cloned();
    Ok(Arc::new(StructArray::new(fields(), vec![Arc::new(texts), Arc::new(all_bytes.finish())], nulls)))
}

/// The texts and the bytes of such a column; `None` for other columns.
pub fn texts_with_bytes(array: &dyn Array) -> Option<(&StringArray, &BinaryArray)> {
    let parts = array.as_struct_opt()?;
    let is_part = |at: usize| parts.fields().get(at).is_some_and(|field| field.name() == FIELDS[at]);
    (is_part(0) && is_part(1)).then(|| (parts.column(0).as_string(), parts.column(1).as_binary()))
}
