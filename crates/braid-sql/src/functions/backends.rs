//! What sessions do to others: `pg_cancel_backend` and its like.

use std::sync::Arc;

use super::{Call, Implementations};
use crate::pg_catalog::TypeId;
use crate::values::ArrayValue;
use crate::{SqlError, SqlState, Value};

/// The sessions of the server, by their numbers.
pub trait Backends: std::fmt::Debug + Send + Sync {
    /// Cancels the statement of a session, if one runs; false, with a warning, if there is no such session.
    ///
    /// # Errors
    /// 42501 for a session of another role.
    fn cancel(&self, session: i32) -> Result<bool, SqlError>;
    /// Ends a session; false, with a warning, if there is no such session.
    ///
    /// # Errors
    /// 42501 for a session of another role.
    fn terminate(&self, session: i32) -> Result<bool, SqlError>;
    /// The sessions that a session waits for, each once.
    fn blocking(&self, session: i32) -> Vec<i32>;
    /// When the server started, in microseconds since 1970-01-01 UTC.
    fn started_us(&self) -> i64;
}

/// The table of this family.
pub const FUNCTIONS: Implementations = &[
    ("pg_cancel_backend", |arguments, call| Ok(Value::Bool(known(call)?.cancel(arguments[0].as_int4())?))),
    ("pg_terminate_backend", terminate),
    ("pg_blocking_pids", |arguments, call| {
        let blocking = known(call)?.blocking(arguments[0].as_int4()).into_iter().map(Value::Int4);
        Ok(Value::Array(ArrayValue::of(TypeId::INT4, blocking.collect()).into()))
    }),
    ("pg_postmaster_start_time", |_, call| Ok(Value::TimestampTz(known(call)?.started_us()))),
    // The configuration is read once.
    ("pg_conf_load_time", |_, call| Ok(Value::TimestampTz(known(call)?.started_us()))),
];

/// `pg_terminate_backend(pid, timeout)`: a time to wait for the end of the session is refused.
fn terminate(arguments: &[Value], call: &Call<'_>) -> Result<Value, SqlError> {
    match arguments[1].as_int8() {
        0 => Ok(Value::Bool(known(call)?.terminate(arguments[0].as_int4())?)),
        ..0 => Err(SqlError::new(SqlState::NumericOutOfRange, "\"timeout\" must not be negative")),
        _ => Err(SqlError::unsupported("pg_terminate_backend does not wait for the end of the session")
            .with_hint("Leave the timeout out.")),
    }
}

fn known(call: &Call<'_>) -> Result<Arc<dyn Backends>, SqlError> {
    call.session.backends().ok_or_else(|| SqlError::unsupported("sessions are known within a session only"))
}
