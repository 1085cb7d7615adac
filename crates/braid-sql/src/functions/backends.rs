//! What sessions do to others: `pg_cancel_backend` and its like.

use std::sync::Arc;

use super::{Call, DATABASE_ID, Implementations};
use crate::pg_catalog::TypeId;
use crate::values::ArrayValue;
use crate::{SqlError, SqlState, Value};

/// How often a table was analyzed and vacuumed, and when last, in microseconds since 1970-01-01 UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Upkeep {
    /// Times that it was analyzed.
    pub analyze_count: i64,
    /// The last one.
    pub last_analyze_us: Option<i64>,
    /// Times that it was vacuumed.
    pub vacuum_count: i64,
    /// The last one.
    pub last_vacuum_us: Option<i64>,
}

/// How many rows statements have added, changed and deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowCounts {
    /// Added.
    pub inserted: i64,
    /// Changed.
    pub updated: i64,
    /// Deleted.
    pub deleted: i64,
}

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
    /// How many transactions were committed since the server started, and how many rolled back.
    fn transaction_counts(&self) -> (i64, i64);
    /// How many sessions were begun since the server started.
    fn session_count(&self) -> i64;
    /// How many rows were added, changed and deleted since the server started, whatever became of the transactions.
    fn row_counts(&self) -> RowCounts;
    /// What was done to a table since the server started.
    fn upkeep(&self, relation: u32) -> Upkeep;
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
    ("pg_stat_get_db_xact_commit", |arguments, call| Ok(Value::Int8(transactions(arguments, call).0))),
    ("pg_stat_get_db_xact_rollback", |arguments, call| Ok(Value::Int8(transactions(arguments, call).1))),
    ("pg_stat_get_db_sessions", |arguments, call| {
        Ok(Value::Int8(of_database(arguments, call).map_or(0, |backends| backends.session_count())))
    }),
    ("pg_stat_get_db_tuples_inserted", |arguments, call| Ok(Value::Int8(rows(arguments, call).inserted))),
    ("pg_stat_get_db_tuples_updated", |arguments, call| Ok(Value::Int8(rows(arguments, call).updated))),
    ("pg_stat_get_db_tuples_deleted", |arguments, call| Ok(Value::Int8(rows(arguments, call).deleted))),
    ("pg_stat_get_analyze_count", |arguments, call| Ok(Value::Int8(upkeep(arguments, call).analyze_count))),
    ("pg_stat_get_vacuum_count", |arguments, call| Ok(Value::Int8(upkeep(arguments, call).vacuum_count))),
    ("pg_stat_get_last_analyze_time", |arguments, call| Ok(time(upkeep(arguments, call).last_analyze_us))),
    ("pg_stat_get_last_vacuum_time", |arguments, call| Ok(time(upkeep(arguments, call).last_vacuum_us))),
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

/// The transactions of a database. Without a server there were none.
fn transactions(arguments: &[Value], call: &Call<'_>) -> (i64, i64) {
    of_database(arguments, call).map_or((0, 0), |backends| backends.transaction_counts())
}

/// The rows that were changed in a database.
fn rows(arguments: &[Value], call: &Call<'_>) -> RowCounts {
    of_database(arguments, call).map(|backends| backends.row_counts()).unwrap_or_default()
}

/// The server, if the argument is the id of its database.
fn of_database(arguments: &[Value], call: &Call<'_>) -> Option<Arc<dyn Backends>> {
    call.session.backends().filter(|_| arguments[0].as_oid() == DATABASE_ID)
}

/// What was done to the table of an argument. Without a server nothing was.
fn upkeep(arguments: &[Value], call: &Call<'_>) -> Upkeep {
    call.session.backends().map(|backends| backends.upkeep(arguments[0].as_oid())).unwrap_or_default()
}

fn time(us: Option<i64>) -> Value {
    us.map_or(Value::Null, Value::TimestampTz)
}

fn known(call: &Call<'_>) -> Result<Arc<dyn Backends>, SqlError> {
    call.session.backends().ok_or_else(|| SqlError::unsupported("sessions are known within a session only"))
}
