//! Passes: the queries of one plan that wait together are answered together (SharedDB, VLDB 2012, sections 3 and 4).
//!
//! ```text
//! bound query --arrive--> queue of its plan --start--> pass on the newest snapshot --> rows of each query
//! ```
//!
//! The policies, which queue is next and in which form it runs, are [`braid_share`]'s; the execution is `braid-exec`'s. Here is the
//! life of the queries in between.
//!
//! | module | contents |
//! |---|---|
//! | [`dispatcher`] | the queries that wait and run; asks the scheduler, starts passes |
//! | [`pass`] | one start: its distinct queries, its snapshot, its execution, its answers |
//! | [`alone_run`] | a query alone |
//! | [`lane_hold`] | what holds a pass's lane, and reports its end |
//! | [`heavy_threads`] | the threads of heavy queries |
//! | [`pass_log`] | the passes that run, and the last ones that have ended |
//! | [`sharing_views`] | the system views of passes and queries |
//! | [`pass_resources`] | what passes run with |
//! | [`query_handle`] | a query as its statement sees it: its answer, or its departure |
//!
//! Rules:
//!
//! 1. A query is in one place: it waits, it runs in one pass, or it is answered.
//! 2. A pass reads one snapshot, taken when it starts. A query that must read an older one runs alone.
//! 3. No row leaves a pass before its end. What cannot be answered by the pass (an expression failed for one of its rows, its
//!    result is large, its memory ran out) is run alone by its own statement, outside the lanes.
//! 4. A statement that ends early leaves: it waits no longer, or its pass gives its query up.
//! 5. Every start is finished, also if the pass panics, so that no lane is lost.

mod alone_run;
mod dispatcher;
mod heavy_threads;
mod lane_hold;
mod pass;
mod pass_log;
mod pass_resources;
mod query_handle;
mod sharing_views;

pub(crate) use alone_run::AlonePlan;
pub(crate) use dispatcher::Dispatcher;
pub use dispatcher::SharingFigures;
pub(crate) use heavy_threads::HeavyThreads;
pub(crate) use pass_resources::PassResources;
pub(crate) use query_handle::{BoundQuery, PassReport, PassStart, QueryAnswer, Wanted};
pub(crate) use sharing_views::sharing_views;
