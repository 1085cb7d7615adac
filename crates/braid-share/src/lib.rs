//! Which queries run together, when, and in which lane: the policies of shared execution.
//!
//! Queries of one plan template that wait at the same time run in one pass (SharedDB: Giannikis, Alonso, Kossmann, VLDB
//! 2012, section 3.2). This crate decides which of them wait, which queue is served next, how many queries a pass takes,
//! and whether a pass is worth it. It is a synchronous state machine without I/O, threads, a clock or randomness: the
//! engine reports events with their time and carries out the starts that it gets.
//!
//! The outside:
//!
//! | module | what lives there |
//! |---|---|
//! | `scheduler` | [`Scheduler`]: events in, starts out; the rules of the whole |
//! | `events` | [`Arrival`], [`Attachment`], [`Start`], [`Outcome`], [`Departure`] |
//! | `options` | [`SchedulerOptions`], [`Form`] |
//! | `sharing_mode` | [`SharingMode`]: auto, off, global |
//! | `refusal` | [`Refusal`]: why a query is not accepted |
//! | `views` | what one can see of it |
//! | `ids` | templates, queries, passes |
//!
//! The policies, one file each:
//!
//! | module | what lives there |
//! |---|---|
//! | `choice` | which queue is served next; why no query starves |
//! | `router` | alone or in a pass |
//! | `trials` | when the dearer form is tried again |
//! | `pass_size` | how many queries a pass takes |
//! | `lanes` | how many passes run at a time |
//! | `result_cache` | [`ResultCache`]: which finished results are kept |
//! | `response_limit` | the predicted response time, and its limit |
//!
//! What they know:
//!
//! | module | what lives there |
//! |---|---|
//! | `template_models` | all that is learned, by template, bounded |
//! | `cost_model`, `memory_model` | time and memory of a pass by its number of queries |
//! | `estimate` | a quantity learned from noisy observations |
//! | `queues` | the queries that wait |
//! | `unqueued` | the queries that wait to run beside the lanes |
//! | `running` | the passes that run |
//!
//! This crate knows nothing of SQL, plans, rows, snapshots or memory budgets: a template is a number, and equal constants
//! are equal numbers.

mod choice;
mod cost_model;
mod estimate;
mod events;
mod ids;
mod lanes;
mod memory_model;
mod options;
mod pass_size;
mod queues;
mod refusal;
mod response_limit;
mod result_cache;
mod router;
mod running;
mod scheduler;
mod sharing_mode;
mod template_models;
mod trials;
mod unqueued;
mod views;

#[cfg(test)]
mod tests;

pub use events::{Arrival, Attachment, Departure, Ending, Outcome, Start};
pub use ids::{PassNumber, QueryTicket, TemplateNumber};
pub use lanes::Lane;
pub use options::{Form, PASS_QUERIES_MAX, SchedulerOptions};
pub use refusal::Refusal;
pub use result_cache::{RESULT_PART, ResultCache};
pub use scheduler::Scheduler;
pub use sharing_mode::{ParseSharingModeError, SharingMode};
pub use views::{RunningView, WaitingView};
