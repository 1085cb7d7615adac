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

/// The mapping of errors of Arrow's kernels, which it reports as plain text.
pub(super) fn from_kernel_text(text: &str) -> EngineError {
    if text.contains("ivide by zero") {
        return division_by_zero();
    }
    let state = if text.contains("overflow") { SqlState::NumericOutOfRange } else { SqlState::DataException };
    EngineError::new(state, first_line(text))
}

/// The first line of another library's error. Further lines hold advice and backtraces.
pub(super) fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().trim_end_matches('.').to_owned()
}
