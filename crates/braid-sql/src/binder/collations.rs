//! `text COLLATE "C"`. All texts are compared by their bytes, so that the collations that do the same change nothing.
//!
//! One expression has one of them at most. PostgreSQL refuses operators between two, and this is not followed through the tree.

use sqlparser::ast::{Expr, Ident, ObjectName, ObjectNamePart};

use super::places::Place;
use super::{Binder, fold};
use crate::expression::Expression;
use crate::pg_catalog::{TypeId, pg_catalog};
use crate::types::type_names::format_type;
use crate::{SqlError, SqlState, SqlType};

/// Collations that compare bytes, in a database that does so.
const BYTE_COLLATIONS: [&str; 4] = ["C", "POSIX", "default", "ucs_basic"];

impl Binder<'_> {
    /// `operand COLLATE collation`
    pub(super) fn collated(&self, operand: &Expr, collation: &ObjectName) -> Result<Expression, SqlError> {
        let bound = self.expression(operand)?;
        let mark = |error| self.places.mark(error, Place::After(operand));
        let id = bound.sql_type.id;
        if !is_collatable(pg_catalog().element_of_array(id).unwrap_or(id)) {
            let message = format!("collations are not supported by type {}", format_type(SqlType::of(id)));
            return Err(mark(SqlError::new(SqlState::DatatypeMismatch, message)));
        }
        let parts: Option<Vec<&Ident>> = collation.0.iter().map(ObjectNamePart::as_ident).collect();
        let names: Vec<String> = parts.into_iter().flatten().map(fold).collect();
        let name = match &names[..] {
            [name] => name,
            [schema, name] if schema == "pg_catalog" => name,
            _ => return Err(SqlError::unsupported(format!("collation {collation} is not supported"))),
        };
        let Some(known) = BYTE_COLLATIONS.into_iter().find(|known| *known == name) else {
            let message = format!("collation \"{}\" for encoding \"UTF8\" does not exist", names.join("."));
            return Err(mark(SqlError::new(SqlState::UndefinedObject, message)));
        };
        if self.statement.collation.get().is_some_and(|other| other != known) {
            return Err(SqlError::unsupported("several collations in one expression are not supported"));
        }
        self.statement.collation.set(Some(known));
        Ok(bound)
    }
}

fn is_collatable(id: TypeId) -> bool {
    [TypeId::TEXT, TypeId::VARCHAR, TypeId::BPCHAR, TypeId::NAME, TypeId::UNKNOWN].contains(&id)
}
