//! The parameters of a statement that is executed: their types and their values.

use braid_sql::functions::SessionFacts;
use braid_sql::types::type_names::format_type;
use braid_sql::{SqlType, Value};

use crate::outcome::ParameterType;
use crate::parameter_value::type_of_oid;
use crate::{EngineError, ParameterValue, SqlState};

/// The values of `$1`, `$2`, …
#[derive(Clone, Debug, Default)]
pub(crate) struct BoundParameters {
    types: Vec<SqlType>,
    values: Vec<Value>,
}

impl BoundParameters {
    /// These values.
    ///
    /// # Errors
    /// 42704 for a type that does not exist.
    pub fn of(values: &[ParameterValue], session: &dyn SessionFacts) -> Result<Self, EngineError> {
        Ok(Self {
            types: values.iter().map(|value| sql_type_of(value.oid(), session)).collect::<Result<_, _>>()?,
            values: values.iter().map(|value| value.value().clone()).collect(),
        })
    }

    /// Values of these types.
    pub fn of_types(types: Vec<SqlType>, values: Vec<Value>) -> Self {
        Self { types, values }
    }

    /// Of a statement without parameters.
    pub fn none() -> Self {
        Self::default()
    }

    /// The types.
    pub fn types(&self) -> &[SqlType] {
        &self.types
    }

    /// The values.
    pub fn values(&self) -> &[Value] {
        &self.values
    }
}

/// The types that a client declared.
///
/// # Errors
/// 42704 for a type that does not exist.
pub(crate) fn declared_types(
    declared: &[Option<ParameterType>],
    session: &dyn SessionFacts,
) -> Result<Vec<Option<SqlType>>, EngineError> {
    declared.iter().map(|declared| declared.map(|parameter| sql_type_of(parameter.oid, session)).transpose()).collect()
}

/// The type of a parameter that is declared with this one.
///
/// # Errors
/// 0A000 for a domain, whose constraints no parameter is checked against.
pub(crate) fn typed_parameter(sql_type: SqlType) -> Result<SqlType, EngineError> {
    match sql_type.id.domain().is_some() || sql_type.id.is_domain_array() {
        true => {
            let message = format!("parameters of domain {} are not supported", format_type(sql_type));
            Err(EngineError::unsupported(message).with_hint("Declare the base type, and cast the parameter."))
        }
        false => Ok(sql_type),
    }
}

fn sql_type_of(oid: u32, session: &dyn SessionFacts) -> Result<SqlType, EngineError> {
    match type_of_oid(oid, session) {
        Some(id) => typed_parameter(SqlType::of(id)),
        None => Err(EngineError::new(SqlState::UndefinedObject, format!("type with OID {oid} does not exist"))),
    }
}
