//! Schemas: CREATE, ALTER and DROP SCHEMA. Where names are looked up is in `statement_context/schemas.rs`.
//!
//! `public` and the schemas of the system are always there.

mod alter;
mod create;
mod drop;

pub(crate) use alter::alter_schema;
pub(crate) use create::{check_clauses, create_schema};
pub(crate) use drop::drop_schemas;

use sqlparser::ast::ObjectName;

use crate::names::fold_parts;
use crate::{EngineError, SqlState};

/// The name of a schema, which has one part.
fn schema_name(name: &ObjectName) -> Result<String, EngineError> {
    match &fold_parts(name)?[..] {
        [name] => Ok(name.clone()),
        _ => Err(EngineError::new(SqlState::SyntaxError, "syntax error at or near \".\"")),
    }
}

/// Refuses the names of the system.
fn check_name(name: &str) -> Result<(), EngineError> {
    match name.starts_with("pg_") {
        true => Err(EngineError::new(SqlState::ReservedName, format!("unacceptable schema name \"{name}\""))
            .with_detail("The prefix \"pg_\" is reserved for system schemas.")),
        false => Ok(()),
    }
}
