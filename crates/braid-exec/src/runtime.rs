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
//! | [`peers`] | sorted rows that are equal in some keys: DISTINCT ON, WITH TIES |
//! | [`project_set`], [`set_functions`] | each row once for every row that a function returns for it |
//! | [`result_rows`] | rows in memory as the source of a later pipeline |
//! | [`row_operators`] | the operators that process one batch at a time: filter, projection, limit |

pub(crate) mod backpressure;
pub mod collected_rows;
pub mod expand;
pub mod peers;
pub mod pipeline;
pub mod project_set;
pub mod result_rows;
pub mod row_operators;
pub mod set_functions;
pub mod stop;
pub(crate) mod turn;
