//! The conditions of EXCEPTION WHEN: names of errors, SQLSTATEs, and OTHERS.

use crate::{EngineError, SqlState};

/// What a handler is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Condition {
    /// OTHERS: all errors but a cancellation.
    Others,
    /// One SQLSTATE, or all of a class that ends in `000`.
    State(String),
}

/// PostgreSQL's names of errors that have other SQLSTATEs than those that Braid answers.
const OTHER_NAMES: [(&str, &str); 22] = [
    ("ambiguous_function", "42725"),
    ("assert_failure", "P0004"),
    ("connection_exception", "08000"),
    ("connection_failure", "08006"),
    ("datatype_mismatch", "42804"),
    ("duplicate_alias", "42712"),
    ("duplicate_database", "42P04"),
    ("duplicate_function", "42723"),
    ("exclusion_violation", "23P01"),
    ("external_routine_exception", "38000"),
    ("insufficient_resources", "53000"),
    ("integrity_constraint_violation", "23000"),
    ("invalid_authorization_specification", "28000"),
    ("invalid_password", "28P01"),
    ("no_data_found", "P0002"),
    ("operator_intervention", "57000"),
    ("plpgsql_error", "P0000"),
    ("restrict_violation", "23001"),
    ("too_many_connections", "53300"),
    ("too_many_rows", "P0003"),
    ("transaction_rollback", "40000"),
    ("undefined_file", "58P01"),
];

/// PostgreSQL's names where those of [`SqlState`] differ.
const RENAMED: [(&str, SqlState); 9] = [
    ("active_sql_transaction", SqlState::ActiveTransaction),
    ("in_failed_sql_transaction", SqlState::InFailedTransaction),
    ("io_error", SqlState::IoError),
    ("no_active_sql_transaction", SqlState::NoActiveTransaction),
    ("numeric_value_out_of_range", SqlState::NumericOutOfRange),
    ("read_only_sql_transaction", SqlState::ReadOnlyTransaction),
    ("string_data_right_truncation", SqlState::StringRightTruncation),
    ("syntax_error", SqlState::SyntaxError),
    ("syntax_error_or_access_rule_violation", SqlState::InvalidStatement),
];

impl Condition {
    /// The condition of a name.
    ///
    /// # Errors
    /// For a name that is unknown (42704).
    pub fn named(name: &str) -> Result<Self, EngineError> {
        if name == "others" {
            return Ok(Self::Others);
        }
        let renamed = RENAMED.iter().find(|(known, _)| *known == name).map(|(_, state)| state.code());
        let other = OTHER_NAMES.iter().find(|(known, _)| *known == name).map(|(_, code)| *code);
        let own = || SqlState::ALL.iter().find(|state| in_words(state) == name).map(|state| state.code());
        let unknown = || {
            let message = format!("unrecognized exception condition \"{name}\"");
            EngineError::new(SqlState::UndefinedObject, message)
        };
        renamed.or(other).or_else(own).map(|code| Self::State(code.to_owned())).ok_or_else(unknown)
    }

    /// Whether a handler with this condition is for an error.
    pub fn fits(&self, error: &EngineError) -> bool {
        let code = error.state().code();
        match self {
            Self::Others => error.state() != SqlState::QueryCanceled,
            Self::State(wanted) => code == wanted || wanted.ends_with("000") && code[..2] == wanted[..2],
        }
    }
}

/// `unique_violation`
fn in_words(state: &SqlState) -> String {
    let mut words = String::new();
    for letter in format!("{state:?}").chars() {
        if letter.is_ascii_uppercase() && !words.is_empty() {
            words.push('_');
        }
        words.push(letter.to_ascii_lowercase());
    }
    words
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
            assert_eq!(Condition::named(name).unwrap(), Condition::State(code.to_owned()), "{name}");
        }
        assert_eq!(Condition::named("no_such").unwrap_err().sqlstate(), "42704");
    }

    #[test]
    fn others_and_classes_fit_several_errors() {
        let error = |state| EngineError::new(state, "failed");
        assert!(Condition::Others.fits(&error(SqlState::UniqueViolation)));
        assert!(!Condition::Others.fits(&error(SqlState::QueryCanceled)));
        let class = Condition::named("integrity_constraint_violation").unwrap();
        assert!(class.fits(&error(SqlState::UniqueViolation)) && !class.fits(&error(SqlState::SyntaxError)));
    }
}
