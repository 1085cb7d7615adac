//! Why a query is not accepted. The engine reports both reasons as SQLSTATE 53000 (insufficient resources).

use std::time::Duration;

/// A query that is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// As many queries wait as may.
    #[error("{waiting} queries wait, the limit is {waiting_max} queries")]
    TooManyWaiting {
        /// Queries that wait.
        waiting: usize,
        /// Most queries that may wait.
        waiting_max: usize,
    },
    /// The query is predicted to be answered too late.
    #[error("the predicted response time is {:.3} s, the limit is {:.3} s", predicted.as_secs_f64(), limit.as_secs_f64())]
    TooSlow {
        /// Predicted time from the arrival to the answer.
        predicted: Duration,
        /// The query's limit.
        limit: Duration,
    },
}
