//! Tests of the whole scheduler, in virtual time.
//!
//! | module | what it checks |
//! |---|---|
//! | `rules` | one rule of `scheduler.rs` at a time, step by step |
//! | `random_schedules` | all events in random order, with the invariants after each |
//! | `closed_loop` | queries per second of N clients, against other choices of the next queue |
//! | `open_loop` | arrivals at a given rate with a limit on response times |
//! | `learning` | sharing is never much worse than off, whatever passes cost |
//! | `measurements` | how long the scheduler itself takes |
//! | `pass_costs` | the times of docs/one-pass.md |
//! | `machine` | a machine whose passes share its cores |

mod closed_loop;
mod learning;
mod machine;
mod measurements;
mod open_loop;
mod pass_costs;
mod random_schedules;
mod rules;
