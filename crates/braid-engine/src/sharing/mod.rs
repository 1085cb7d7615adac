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
//! | [`pass`] | one start: its execution, its answers |
//! | [`alone_run`] | a query alone, with those that equal it |
//! | [`kept_results`] | results that are kept after their queries have ended |
//! | [`rows_in_memory`] | the rows of a query alone, for all who ask for them |
//! | [`running_queries`] | the queries of a pass |
//! | [`equal_queries`] | finds a running query that equals one that arrives |
//! | [`table_versions`] | whether a query may have another's answer |
//! | [`lane_hold`] | what holds a pass's lane, and reports its end |
//! | [`heavy_threads`] | the threads of heavy queries |
//! | [`pass_log`] | the passes that run, and the last ones that have ended |
//! | [`sharing_views`] | the system views of passes and queries |
//! | [`pass_resources`] | what passes run with |
//! | [`result_memory`] | the memory of results that wait for their readers |
//! | [`query_handle`] | a query as its statement sees it: its answer, or its departure |
//!
//! Rules:
//!
//! 1. A query is in one place: it waits, it runs in one pass, or it is answered.
//! 2. A pass reads one snapshot, taken when it starts. A query that must read older versions of its tables is run alone by its own
//!    statement.
//! 3. No row leaves a pass before its end. What cannot be answered by the pass (an expression failed for one of its rows, its
//!    rows cannot be written, its memory ran out) is run alone at once, beside the lanes. A pass never waits for a reader: rows stay
//!    in memory within bounds, then in a file of their query, until the reader has taken them.
//! 4. A statement that ends early leaves: it waits no longer, or its pass gives its query up.
//! 5. Every start is finished, also if the pass panics, so that no lane is lost.
//! 6. A query that equals one that runs, in plan and parameters, has its answer, if that is made of the versions that it must read.
//!    It is attached under the dispatcher's lock, while that knows the pass, and the pass takes its queries after that.

mod alone_run;
mod dispatcher;
mod equal_queries;
mod heavy_threads;
mod kept_results;
mod lane_hold;
mod pass;
mod pass_log;
mod pass_resources;
mod query_handle;
mod result_memory;
mod rows_in_memory;
mod running_queries;
mod sharing_views;
mod table_versions;

pub(crate) use alone_run::AlonePlan;
pub(crate) use dispatcher::Dispatcher;
pub use dispatcher::SharingFigures;
pub(crate) use heavy_threads::HeavyThreads;
pub(crate) use kept_results::ResultKey;
pub(crate) use pass_resources::PassResources;
pub(crate) use query_handle::{AloneRows, BoundQuery, PassReport, PassStart, QueryAnswer, Wanted};
pub(crate) use result_memory::ResultMemory;
pub(crate) use sharing_views::sharing_views;
pub(crate) use table_versions::{Reads, TableVersions};
