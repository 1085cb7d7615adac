//! Casts to domains: the constraints, in PostgreSQL's order.

use super::Evaluation;
use crate::expression::{DomainCast, DomainConstraint};
use crate::values::Value;
use crate::{SqlError, SqlState};

impl Evaluation<'_> {
    /// The operand of a cast, if its domain allows it.
    pub(super) fn of_domain(&self, cast: &DomainCast) -> Result<Value, SqlError> {
        let value = self.value(&cast.operand)?;
        for constraint in &cast.constraints {
            match constraint {
                DomainConstraint::NotNull(domain) if value.is_null() => return Err(null_in_domain(domain)),
                DomainConstraint::NotNull(_) => {}
                DomainConstraint::Check { domain, name, condition } => {
                    let of_value = Evaluation { parameters: std::slice::from_ref(&value), operand: None, ..*self };
                    // Null is no violation.
                    if of_value.value(condition)? == Value::Bool(false) {
                        return Err(violated_domain(domain, name));
                    }
                }
            }
        }
        Ok(value)
    }
}

/// The error of a null in a domain that is NOT NULL.
pub fn null_in_domain(domain: &str) -> SqlError {
    SqlError::new(SqlState::NotNullViolation, format!("domain {domain} does not allow null values"))
}

/// The error of a value that a constraint of a domain excludes.
pub fn violated_domain(domain: &str, constraint: &str) -> SqlError {
    let message = format!("value for domain {domain} violates check constraint \"{constraint}\"");
    SqlError::new(SqlState::CheckViolation, message)
}
