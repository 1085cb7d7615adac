//! The parameters of a statement that is executed: their types, and their values as each planner has them.

use braid_sql::pg_catalog::{TypeId, pg_catalog};
use braid_sql::{SqlType, Value};
use datafusion::common::ScalarValue;

use crate::outcome::ParameterType;
use crate::{EngineError, ParameterValue};

/// The values of `$1`, `$2`, …
#[derive(Clone, Debug)]
pub(crate) struct BoundParameters {
    /// Types and values, unless Braid's own front end lacks one of the types.
    known: Option<(Vec<SqlType>, Vec<Value>)>,
    scalars: Result<Vec<ScalarValue>, EngineError>,
}

impl BoundParameters {
    pub fn of(values: &[ParameterValue]) -> Self {
        let known = |parameter: &ParameterValue| Some((sql_type_of(parameter.oid())?, parameter.value()?.clone()));
        Self {
            known: values.iter().map(known).collect::<Option<Vec<_>>>().map(|known| known.into_iter().unzip()),
            scalars: values.iter().map(ParameterValue::scalar).collect(),
        }
    }

    /// Of a statement without parameters.
    pub fn none() -> Self {
        Self { known: Some(Default::default()), scalars: Ok(Vec::new()) }
    }

    /// Types and values as Braid's own front end has them; `None` if it lacks one of the types.
    pub fn known(&self) -> Option<(&[SqlType], &[Value])> {
        self.known.as_ref().map(|(types, values)| (&types[..], &values[..]))
    }

    /// The values as DataFusion has them.
    ///
    /// # Errors
    /// When Arrow has no such values (0A000).
    pub fn scalars(&self) -> Result<&[ScalarValue], EngineError> {
        self.scalars.as_deref().map_err(EngineError::clone)
    }
}

/// The types that a client declared; `None` if Braid's own front end lacks one of them.
pub(crate) fn declared_types(declared: &[Option<ParameterType>]) -> Option<Vec<Option<SqlType>>> {
    let declared_type = |declared: &Option<ParameterType>| match declared {
        None => Some(None),
        Some(parameter) => sql_type_of(parameter.oid).map(Some),
    };
    declared.iter().map(declared_type).collect()
}

fn sql_type_of(oid: u32) -> Option<SqlType> {
    pg_catalog().find_type(TypeId(oid)).map(|_| SqlType::of(TypeId(oid)))
}
