//! Texts that functions make: how long they may be, and values of any type as text.

use crate::functions::Call;
use crate::functions::implementation_of;
use crate::pg_catalog::{TypeId, pg_catalog};
use crate::value_memory::GrowingValue;
pub use crate::value_text::{VALUE_BYTES_MAX, check_growth};
use crate::{SqlError, SqlState, SqlType, Value};

/// What a value of variable length has before its bytes.
pub const HEADER_BYTES: usize = 4;

/// Refuses a value of too many bytes, as PostgreSQL's allocator does.
pub fn check_allocation(bytes: usize) -> Result<(), SqlError> {
    check_request(bytes.saturating_add(HEADER_BYTES))
}

/// Refuses what PostgreSQL does not allocate in one piece.
pub fn check_request(request: usize) -> Result<(), SqlError> {
    if request <= VALUE_BYTES_MAX {
        return Ok(());
    }
    Err(SqlError::new(SqlState::InternalError, format!("invalid memory alloc request size {request}")))
}

/// Appends to a text that may not grow without bound.
pub fn append(out: &mut String, text: &str) -> Result<(), SqlError> {
    check_growth(out.len(), text.len())?;
    out.push_str(text);
    Ok(())
}

/// As [`append`], to a text that is counted while it grows.
pub fn append_counted(out: &mut String, text: &str, memory: &mut GrowingValue<'_>) -> Result<(), SqlError> {
    check_growth(out.len(), text.len())?;
    memory.reach(out.len() + text.len())?;
    out.push_str(text);
    Ok(())
}

/// What a value's output function writes. The value is not null.
pub fn output(value: &Value, sql_type: SqlType, call: &Call<'_>) -> Result<String, SqlError> {
    if let Value::Text(text) = value {
        return Ok(text.to_string());
    }
    let entry = pg_catalog().type_entry(sql_type.id);
    let function = pg_catalog().function(entry.output);
    let Some(implementation) = implementation_of(function) else {
        return Err(SqlError::unsupported(format!("values of type {} as text are not supported", entry.name)));
    };
    let types = [sql_type];
    let inner = Call { argument_types: &types, result_type: SqlType::of(TypeId::CSTRING), ..*call };
    Ok(implementation(std::slice::from_ref(value), &inner)?.as_text().to_owned())
}

/// What a cast to text gives: a boolean is `true` there, and a `char(n)` loses its blanks.
pub fn cast_to_text(value: &Value, sql_type: SqlType, call: &Call<'_>) -> Result<String, SqlError> {
    match value {
        Value::Bool(value) => Ok(if *value { "true" } else { "false" }.to_owned()),
        Value::Text(text) if sql_type.id == TypeId::BPCHAR => Ok(text.trim_end_matches(' ').to_owned()),
        _ => output(value, sql_type, call),
    }
}
