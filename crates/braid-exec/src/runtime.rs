//! How a plan's pieces run: pipelines of morsels, their workers, and rows between two pipelines.
//!
//! | module | what lives there |
//! |---|---|
//! | [`pipeline`] | sources, operators that rows are pushed through, sinks, workers |
//! | [`stop`] | why rows go no further |
//! | `turn` | how long a worker computes before it gives way, and where it notices that it is cancelled |
//! | `backpressure` | writes that workers wait for when too much is on its way |
//! | [`collected_rows`] | rows that one worker collects, each column in one piece |
//! | [`result_rows`] | rows in memory as the source of a later pipeline |
//! | [`row_operators`] | the operators that look at one batch at a time: filter, projection, limit |

pub(crate) mod backpressure;
pub mod collected_rows;
pub mod pipeline;
pub mod result_rows;
pub mod row_operators;
pub mod stop;
pub(crate) mod turn;
