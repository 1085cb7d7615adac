//! Arguments of aggregates with FILTER.
//!
//! Arguments are computed for all rows, before the aggregation drops those that the filter excludes. One that may fail is therefore only
//! computed where the filter is true.

use std::borrow::Cow;

use braid_sql::expression::Node;
use braid_sql::relation::AggregateCall;
use braid_sql::{Expression, SqlError, Value};

use super::relations::unsupported;
use crate::rewriting::failing::may_fail;

/// The call, whose arguments fail for no row that its filter excludes.
///
/// # Errors
/// As unsupported (0A000) if the filter is volatile, because it would be computed twice.
pub(super) fn with_filtered_arguments(call: &AggregateCall) -> Result<Cow<'_, AggregateCall>, SqlError> {
    let Some(filter) = &call.filter else { return Ok(Cow::Borrowed(call)) };
    // Direct arguments are computed without regard to the filter.
    let arguments = if call.is_within_group { &[][..] } else { &call.arguments };
    if !arguments.iter().chain(call.order_by.iter().map(|key| &key.expression)).any(may_fail) {
        return Ok(Cow::Borrowed(call));
    }
    if filter.is_volatile() {
        return Err(unsupported("volatile filters of aggregates whose arguments may fail"));
    }
    let mut guarded = call.clone();
    let guard = |argument: &mut Expression| {
        if may_fail(argument) {
            let otherwise = Box::new(Expression::constant(Value::Null, argument.sql_type));
            let branches = vec![(filter.clone(), argument.clone())];
            argument.node = Node::Case { branches, otherwise };
        }
    };
    if !call.is_within_group {
        guarded.arguments.iter_mut().for_each(guard);
    }
    guarded.order_by.iter_mut().for_each(|key| guard(&mut key.expression));
    Ok(Cow::Owned(guarded))
}
