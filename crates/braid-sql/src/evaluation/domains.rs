//! Casts to domains: the constraints, in PostgreSQL's order.

use braid_base::DomainTypeId;

use super::Evaluation;
use crate::expression::{DomainCast, DomainConstraint};
use crate::pg_catalog::key_words::quote_identifier;
use crate::values::Value;
use crate::{SqlError, SqlState, ViolatedDomain};

impl Evaluation<'_> {
    /// The operand of a cast, if its domain allows it.
    pub(super) fn of_domain(&self, cast: &DomainCast) -> Result<Value, SqlError> {
        let value = self.value(&cast.operand)?;
        for constraint in &cast.constraints {
            match constraint {
                DomainConstraint::NotNull if value.is_null() => return Err(null_in_domain(cast.domain)),
                DomainConstraint::NotNull => {}
                DomainConstraint::Check { name, condition } => {
                    let of_value = Evaluation { parameters: std::slice::from_ref(&value), operand: None, ..*self };
                    // Null is no violation.
                    if of_value.value(condition)? == Value::Bool(false) {
                        return Err(violated_domain(cast.domain, name));
                    }
                }
            }
        }
        Ok(value)
    }
}

/// The error of a null in a domain that is NOT NULL.
pub fn null_in_domain(domain: DomainTypeId) -> SqlError {
    let message = format!("domain {} does not allow null values", shown(domain));
    SqlError::new(SqlState::NotNullViolation, message).about_domain(ViolatedDomain { domain, constraint: None })
}

/// The error of a value that a constraint of a domain excludes.
pub fn violated_domain(domain: DomainTypeId, constraint: &str) -> SqlError {
    let message = format!("value for domain {} violates check constraint \"{constraint}\"", shown(domain));
    let constraint = Some(constraint.to_owned());
    SqlError::new(SqlState::CheckViolation, message).about_domain(ViolatedDomain { domain, constraint })
}

fn shown(domain: DomainTypeId) -> String {
    quote_identifier(&domain.definition().name)
}
