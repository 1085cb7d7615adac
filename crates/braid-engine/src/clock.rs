//! The time: the operating system's clock, and the instants of a statement.

use std::time::{SystemTime, UNIX_EPOCH};

/// Microseconds since 1970-01-01 UTC by the operating system's clock.
pub(crate) fn read_clock_us() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

/// The instants that a statement may ask for, in microseconds since 1970-01-01 UTC.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Instants {
    /// When the statement began.
    pub statement_us: i64,
    /// When its transaction began.
    pub transaction_us: i64,
}
