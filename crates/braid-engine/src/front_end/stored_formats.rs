//! The formats in which stored texts are read: those of a new session, whoever reads them.
//!
//! PostgreSQL keeps the values of literals. Here the text of a default or a condition is kept, so that a literal in it must mean the same in
//! the formats of the session that writes it.

use braid_sql::SqlError;
use braid_sql::functions::SessionFacts;
use braid_sql::functions::in_formats::InFormats;

use super::session_facts::StatementFacts;
use crate::EngineError;
use crate::statement_context::StatementContext;

/// Checks that what is bound of a text, of `what`, is the same in the session's formats and in those of stored texts.
///
/// # Errors
/// Those of binding it in the session's formats; 0A000 if it is not the same.
pub(super) fn check_reads_alike<T: PartialEq>(
    context: &StatementContext,
    what: &str,
    bind: impl Fn(&dyn SessionFacts) -> Result<T, EngineError>,
) -> Result<(), EngineError> {
    let facts = StatementFacts::of(context);
    if !facts.formats().read_otherwise() {
        return Ok(());
    }
    let written = bind(&facts)?;
    match bind(&InFormats::of_stored_texts(&facts)) {
        Ok(stored) if stored == written => Ok(()),
        _ => Err(reads_otherwise(what).into()),
    }
}

/// The refusal of a literal that has another meaning in other formats.
pub(super) fn reads_otherwise(what: &str) -> SqlError {
    SqlError::unsupported(format!("a literal in {what} that depends on DateStyle or IntervalStyle is not supported"))
        .with_hint("Write dates as year-month-day, and the fields of an interval each with its sign.")
}
