//! `now()`, `current_date` and similar functions as literals of one instant.
//!
//! Within a block it is the instant at which the block began, otherwise the statement's, so that a value is the same
//! wherever a statement asks for it. Types are PostgreSQL's: dates and plain timestamps are what a clock in the session's
//! time zone shows.

use datafusion::sql::sqlparser::ast::{CastKind, DataType as SqlType, Expr, Function, FunctionArguments, TimezoneInfo};
use datafusion::sql::sqlparser::tokenizer::Span;

use super::rewrite::string_at;
use crate::EngineError;
use crate::clock::Instants;
use crate::input::datetime::utc;
use crate::output::datetime::write_timestamptz;
use crate::statement::SessionFact;

/// What a function of this name asks for, and the literal that it stands for; `None` if it does not ask for the time. The text of
/// the instant is at `place`.
pub(super) fn time_of(
    name: &str,
    function: &Function,
    place: Span,
    instants: impl FnOnce() -> Instants,
) -> Result<Option<(SessionFact, Expr)>, EngineError> {
    let fact = match name {
        "now" | "transaction_timestamp" | "current_timestamp" | "localtimestamp" | "current_date" => {
            SessionFact::TransactionTime
        }
        "statement_timestamp" => SessionFact::StatementTime,
        "current_time" | "localtime" => {
            return Err(EngineError::unsupported(format!("{name} is not supported: Braid has no type time"))
                .with_hint("Use current_timestamp or localtimestamp."));
        }
        _ => return Ok(None),
    };
    let has_arguments = matches!(&function.args, FunctionArguments::List(list) if !list.args.is_empty());
    if has_arguments && matches!(name, "current_timestamp" | "localtimestamp") {
        return Err(EngineError::unsupported("timestamps have microseconds; other precisions are not supported"));
    }
    if has_arguments {
        return Ok(None);
    }
    let Instants { statement_us, transaction_us } = instants();
    let text = instant_text(if fact == SessionFact::StatementTime { statement_us } else { transaction_us });
    let instant = cast(string_at(&text, place), SqlType::Timestamp(None, TimezoneInfo::WithTimeZone));
    let literal = match name {
        "localtimestamp" => cast(instant, SqlType::Timestamp(None, TimezoneInfo::None)),
        "current_date" => cast(instant, SqlType::Date),
        _ => instant,
    };
    Ok(Some((fact, literal)))
}

/// The text of an instant, in microseconds since 1970-01-01 UTC.
pub(crate) fn instant_text(us: i64) -> String {
    let mut text = String::new();
    write_timestamptz(us, &utc(), &mut text);
    text
}

pub(super) fn cast(expr: Expr, data_type: SqlType) -> Expr {
    Expr::Cast { kind: CastKind::Cast, expr: Box::new(expr), data_type, array: false, format: None }
}
