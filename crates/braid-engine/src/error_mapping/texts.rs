//! Errors that other libraries report only as text: fixed words in the text select the SQLSTATE.

use super::division_by_zero;
use crate::{EngineError, SqlState};

/// The mapping of other libraries' errors. Only errors that a statement can cause get a SQLSTATE of their own.
pub(super) fn from_unknown(text: &str) -> EngineError {
    if text.starts_with("regex parse error") {
        let reason = text.lines().last().unwrap_or_default().trim_start_matches("error: ");
        return EngineError::new(SqlState::InvalidRegularExpression, format!("invalid regular expression: {reason}"));
    }
    EngineError::internal(text.to_owned())
}

/// Whether an Arrow error text means that a number is out of range. Arrow has no variant for it.
pub(super) fn is_range_text(text: &str) -> bool {
    text.contains("overflow")
        || text.contains("too large to store")
        || text.contains("too small to store")
        || text.starts_with("Can't cast value")
        || text.contains("out of range")
}

/// The mapping of planning errors, which DataFusion reports as plain text. Fixed words in the text select the SQLSTATE.
pub(super) fn from_plan_text(text: &str) -> EngineError {
    const STATES: [(&str, SqlState); 22] = [
        ("No function matches", SqlState::UndefinedFunction),
        ("Invalid function", SqlState::UndefinedFunction),
        ("failed to match any signature", SqlState::UndefinedFunction),
        ("Cannot coerce arithmetic expression", SqlState::UndefinedFunction),
        ("Cannot infer common argument type", SqlState::UndefinedFunction),
        ("Aggregate functions are not allowed", SqlState::GroupingError),
        ("Aggregate function calls cannot be nested", SqlState::GroupingError),
        ("WITH query name", SqlState::DuplicateAlias),
        ("Order by column out of bounds", SqlState::InvalidColumnReference),
        ("Cannot find column with position", SqlState::InvalidColumnReference),
        ("have different number of columns", SqlState::SyntaxError),
        ("should only return one column", SqlState::SyntaxError),
        ("Step cannot be zero", SqlState::InvalidParameterValue),
        ("Invalid qualifier", SqlState::UndefinedTable),
        ("must be in GROUP BY", SqlState::GroupingError),
        ("must appear in the GROUP BY", SqlState::GroupingError),
        ("Projections require unique expression names", SqlState::DuplicateColumn),
        ("LIMIT must be >= 0", SqlState::InvalidLimit),
        ("OFFSET must be >=0", SqlState::InvalidOffset),
        ("non-boolean predicate", SqlState::DatatypeMismatch),
        ("table '", SqlState::UndefinedTable),
        ("laceholder", SqlState::IndeterminateDatatype),
    ];
    let state = STATES.iter().find(|(words, _)| text.contains(words)).map_or(SqlState::InvalidStatement, |s| s.1);
    EngineError::new(state, first_line(text))
}

/// The mapping of errors of execution, which DataFusion and Arrow report as plain text.
pub(super) fn from_execution_text(text: &str) -> EngineError {
    const STATES: [(&str, SqlState); 10] = [
        ("negative count not allowed", SqlState::SubstringError),
        ("negative substring length", SqlState::SubstringError),
        ("raised to a negative power", SqlState::InvalidPowerArgument),
        ("Scalar subquery returned more than one row", SqlState::CardinalityViolation),
        ("ivide by zero", SqlState::DivisionByZero),
        ("square root of a negative number", SqlState::InvalidPowerArgument),
        ("logarithm", SqlState::InvalidLogarithmArgument),
        ("egular expression", SqlState::InvalidRegularExpression),
        ("regex parse error", SqlState::InvalidRegularExpression),
        ("overflow", SqlState::NumericOutOfRange),
    ];
    match STATES.iter().find(|(words, _)| text.contains(words)) {
        Some((_, SqlState::DivisionByZero)) => division_by_zero(),
        Some((_, SqlState::CardinalityViolation)) => EngineError::new(
            SqlState::CardinalityViolation,
            "more than one row returned by a subquery used as an expression",
        ),
        Some((_, state)) => EngineError::new(*state, first_line(text)),
        None => EngineError::new(SqlState::DataException, first_line(text)),
    }
}

/// The first line of a DataFusion error, without its prefixes. Further lines hold candidates, advice and backtraces.
pub(super) fn first_line(text: &str) -> String {
    const PREFIXES: [&str; 4] =
        ["Error during planning: ", "Execution error: ", "Internal error: ", "This feature is not implemented: "];
    let mut line = text.lines().next().unwrap_or_default();
    while let Some(rest) = PREFIXES.iter().find_map(|prefix| line.strip_prefix(prefix)) {
        line = rest;
    }
    line.trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_lose_what_is_not_for_users() {
        let text = "Error during planning: Internal error: Function 'f' failed to match any signature.\nThis issue";
        assert_eq!(first_line(text), "Function 'f' failed to match any signature");
    }
}
