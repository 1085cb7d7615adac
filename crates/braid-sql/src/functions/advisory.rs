//! Advisory locks: numbers that sessions lock and that mean what they agree on.
//!
//! A lock that another session holds is waited for where a query of one row asks for it, before the query is computed. Within a query over
//! rows it is refused.

use std::sync::Arc;

use super::{Call, Implementations};
use crate::{SqlError, Value};

/// What is locked. The two forms are different locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AdvisoryKey {
    /// A `bigint`.
    Whole(i64),
    /// Two `integer`.
    Pair(i32, i32),
}

/// A lock that a session asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdvisoryLock {
    /// What is locked.
    pub key: AdvisoryKey,
    /// Whether other sessions may share it.
    pub is_shared: bool,
    /// Whether it is given back at the end of the transaction.
    pub is_of_transaction: bool,
}

/// The advisory locks of a session.
pub trait AdvisoryLocks: std::fmt::Debug + Send + Sync {
    /// Locks, if no other session excludes it; whether it has.
    ///
    /// # Errors
    /// For too many locks.
    fn try_lock(&self, lock: AdvisoryLock) -> Result<bool, SqlError>;
    /// Gives back a lock of the session; false, with a warning, if it has none.
    fn unlock(&self, key: AdvisoryKey, is_shared: bool) -> bool;
    /// Gives back all locks of the session but those of its transaction.
    fn unlock_all(&self);
}

macro_rules! functions {
    ($($name:literal, $take:ident, $is_shared:literal, $is_of_transaction:literal;)*) => {
        /// Functions of advisory locks.
        pub const FUNCTIONS: Implementations = &[
            $(
                (concat!($name, "_int8"), |arguments, call| {
                    $take(lock_of(whole(arguments), $is_shared, $is_of_transaction), call)
                }),
                (concat!($name, "_int4"), |arguments, call| {
                    $take(lock_of(pair(arguments), $is_shared, $is_of_transaction), call)
                }),
            )*
            ("pg_advisory_unlock_all", |_, call| {
                known(call)?.unlock_all();
                Ok(Value::text(""))
            }),
        ];

        /// The lock that a function takes, and waits for, by the name of its C function.
        pub fn awaited_lock(symbol: &str, arguments: &[Value]) -> Option<AdvisoryLock> {
            if !waits_for_lock(symbol) {
                return None;
            }
            $(
                if symbol == concat!($name, "_int8") {
                    return Some(lock_of(whole(arguments), $is_shared, $is_of_transaction));
                }
                if symbol == concat!($name, "_int4") {
                    return Some(lock_of(pair(arguments), $is_shared, $is_of_transaction));
                }
            )*
            None
        }
    };
}

functions! {
    "pg_advisory_lock", lock, false, false;
    "pg_advisory_lock_shared", lock, true, false;
    "pg_advisory_xact_lock", lock, false, true;
    "pg_advisory_xact_lock_shared", lock, true, true;
    "pg_try_advisory_lock", try_lock, false, false;
    "pg_try_advisory_lock_shared", try_lock, true, false;
    "pg_try_advisory_xact_lock", try_lock, false, true;
    "pg_try_advisory_xact_lock_shared", try_lock, true, true;
    "pg_advisory_unlock", unlock, false, false;
    "pg_advisory_unlock_shared", unlock, true, false;
}

/// Whether a function waits for a lock, by the name of its C function. Those that try do not, nor those that unlock.
pub fn waits_for_lock(symbol: &str) -> bool {
    symbol.starts_with("pg_advisory_lock") || symbol.starts_with("pg_advisory_xact_lock")
}

fn whole(arguments: &[Value]) -> AdvisoryKey {
    AdvisoryKey::Whole(arguments[0].as_int8())
}

fn pair(arguments: &[Value]) -> AdvisoryKey {
    AdvisoryKey::Pair(arguments[0].as_int4(), arguments[1].as_int4())
}

fn lock_of(key: AdvisoryKey, is_shared: bool, is_of_transaction: bool) -> AdvisoryLock {
    AdvisoryLock { key, is_shared, is_of_transaction }
}

fn lock(lock: AdvisoryLock, call: &Call<'_>) -> Result<Value, SqlError> {
    match known(call)?.try_lock(lock)? {
        true => Ok(Value::text("")),
        false => Err(SqlError::unsupported("waiting for an advisory lock within a query over rows is not supported")
            .with_hint("Call the function alone, as in SELECT pg_advisory_lock(1).")),
    }
}

fn try_lock(lock: AdvisoryLock, call: &Call<'_>) -> Result<Value, SqlError> {
    known(call)?.try_lock(lock).map(Value::Bool)
}

fn unlock(lock: AdvisoryLock, call: &Call<'_>) -> Result<Value, SqlError> {
    Ok(Value::Bool(known(call)?.unlock(lock.key, lock.is_shared)))
}

fn known(call: &Call<'_>) -> Result<Arc<dyn AdvisoryLocks>, SqlError> {
    let locks = call.session.advisory_locks();
    locks.ok_or_else(|| SqlError::unsupported("advisory locks outside of a session are not supported"))
}
