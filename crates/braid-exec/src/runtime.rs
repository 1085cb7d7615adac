//! The execution of pipelines: morsels, workers, and rows between two pipelines.
//!
//! | module | contents |
//! |---|---|
//! | [`pipeline`] | sources, operators that rows are pushed through, sinks, workers |
//! | [`stop`] | why rows go no further |
//! | `turn` | the time that a worker computes before it yields, and its checks for cancellation |
//! | `backpressure` | writes that workers wait for |
//! | [`collected_rows`] | rows collected by one worker, one vector per column |
//! | [`expand`] | each row once for every grouping set |
//! | [`result_rows`] | rows in memory as the source of a later pipeline |
//! | [`row_operators`] | the operators that process one batch at a time: filter, projection, limit |

pub(crate) mod backpressure;
pub mod collected_rows;
pub mod expand;
pub mod pipeline;
pub mod result_rows;
pub mod row_operators;
pub mod stop;
pub(crate) mod turn;
