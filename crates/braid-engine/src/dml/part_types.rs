//! The types of a statement's parameters: each part of the statement tells some.

use arrow::datatypes::SchemaRef;
use braid_sql::SqlType;
use braid_sql::pg_catalog::TypeId;

use crate::front_end::DescribedPart;
use crate::{EngineError, ParameterType, Prepared, SqlState};

/// The description of a statement whose parts have told these types of its parameters.
///
/// # Errors
/// If none has told the type of a parameter (42P18).
pub(super) fn as_prepared(types: Vec<Option<SqlType>>, schema: Option<SchemaRef>) -> Result<Prepared, EngineError> {
    let parameter_type = |(at, sql_type): (usize, Option<SqlType>)| {
        let message = format!("could not determine data type of parameter ${}", at + 1);
        let missing = || EngineError::new(SqlState::IndeterminateDatatype, message);
        sql_type.map(ParameterType::of).ok_or_else(missing)
    };
    let parameter_types = types.into_iter().enumerate().map(parameter_type).collect::<Result<_, _>>()?;
    Ok(Prepared { parameter_types, schema })
}

/// Notes the types of parameters that a part tells.
pub(super) fn note_types(types: &mut Vec<Option<SqlType>>, described: &DescribedPart) {
    types.resize(types.len().max(described.parameter_types.len()), None);
    for (known, told) in types.iter_mut().zip(&described.parameter_types) {
        if known.is_none() && told.id != TypeId::UNKNOWN {
            *known = Some(*told);
        }
    }
}
