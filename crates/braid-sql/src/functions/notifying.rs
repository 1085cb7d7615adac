//! `pg_notify`: what a transaction tells the sessions that listen.

use std::sync::Arc;

use super::{Call, Implementations, Notifications};
use crate::{SqlError, Value};

/// The table of this family.
pub const FUNCTIONS: Implementations = &[
    ("pg_notify", notify),
    ("pg_notification_queue_usage", |_, call| Ok(Value::Float8(known(call)?.queue_usage()))),
    // Of what functions return that return nothing.
    ("void_out", |_, _| Ok(Value::text(String::new()))),
];

/// `pg_notify(channel, payload)`, which returns nothing: shown as an empty text. Null stands for an empty text.
fn notify(arguments: &[Value], call: &Call<'_>) -> Result<Value, SqlError> {
    let text = |value: &Value| if value.is_null() { String::new() } else { value.as_text().to_owned() };
    known(call)?.notify(&text(&arguments[0]), &text(&arguments[1]))?;
    Ok(Value::text(String::new()))
}

fn known(call: &Call<'_>) -> Result<Arc<dyn Notifications>, SqlError> {
    call.session
        .notifications()
        .ok_or_else(|| SqlError::unsupported("notifications outside of a session are not supported"))
}
