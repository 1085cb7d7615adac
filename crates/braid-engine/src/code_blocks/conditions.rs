//! The conditions of EXCEPTION WHEN: names of errors, SQLSTATEs, and OTHERS.

use super::condition_names::CONDITION_NAMES;
use crate::{EngineError, SqlState};

/// What a handler is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Condition {
    /// OTHERS: all errors but a cancellation.
    Others,
    /// Errors of a name.
    Name(&'static str),
    /// One SQLSTATE, or all of a class that ends in `000`.
    State(String),
}

impl Condition {
    /// The condition of a name.
    ///
    /// # Errors
    /// For a name that is unknown (42704).
    pub fn named(name: &str) -> Result<Self, EngineError> {
        if name == "others" {
            return Ok(Self::Others);
        }
        let unknown = || {
            let message = format!("unrecognized exception condition \"{name}\"");
            EngineError::new(SqlState::UndefinedObject, message)
        };
        let known = CONDITION_NAMES.iter().map(|(known, _)| *known).find(|known| *known == name);
        known.map(Self::Name).ok_or_else(unknown)
    }

    /// Whether a handler with this condition is for an error.
    pub fn fits(&self, error: &EngineError) -> bool {
        let code = error.state().code();
        match self {
            Self::Others => error.state() != SqlState::QueryCanceled,
            Self::Name(wanted) => CONDITION_NAMES.iter().any(|(name, state)| name == wanted && is_of(code, state)),
            Self::State(wanted) => is_of(code, wanted),
        }
    }
}

/// Whether an error with this SQLSTATE is one of these: the same, or one of its class.
fn is_of(code: &str, wanted: &str) -> bool {
    code == wanted || wanted.ends_with("000") && code[..2] == wanted[..2]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_have_postgresqls_names() {
        for (name, code) in [
            ("unique_violation", "23505"),
            ("duplicate_object", "42710"),
            ("duplicate_table", "42P07"),
            ("duplicate_column", "42701"),
            ("duplicate_schema", "42P06"),
            ("undefined_table", "42P01"),
            ("undefined_column", "42703"),
            ("undefined_object", "42704"),
            ("undefined_function", "42883"),
            ("invalid_text_representation", "22P02"),
            ("division_by_zero", "22012"),
            ("numeric_value_out_of_range", "22003"),
            ("raise_exception", "P0001"),
            ("insufficient_privilege", "42501"),
            ("datatype_mismatch", "42804"),
            ("check_violation", "23514"),
            ("not_null_violation", "23502"),
            ("wrong_object_type", "42809"),
            ("invalid_schema_name", "3F000"),
            ("serialization_failure", "40001"),
            ("deadlock_detected", "40P01"),
            ("lock_not_available", "55P03"),
            ("string_data_right_truncation", "22001"),
            ("query_canceled", "57014"),
        ] {
            assert_eq!(Condition::named(name).unwrap(), Condition::Name(name));
            assert!(CONDITION_NAMES.contains(&(name, code)), "{name}");
        }
        assert_eq!(Condition::named("no_such").unwrap_err().sqlstate(), "42704");
    }

    #[test]
    fn others_and_classes_fit_several_errors() {
        let error = |state| EngineError::new(state, "failed");
        assert!(Condition::Others.fits(&error(SqlState::UniqueViolation)));
        assert!(!Condition::Others.fits(&error(SqlState::QueryCanceled)));
        let named = Condition::named("unique_violation").unwrap();
        assert!(named.fits(&error(SqlState::UniqueViolation)) && !named.fits(&error(SqlState::CheckViolation)));
        let class = Condition::named("integrity_constraint_violation").unwrap();
        assert!(class.fits(&error(SqlState::UniqueViolation)) && !class.fits(&error(SqlState::SyntaxError)));
    }
}
