//! Sequences: series of numbers, each of which is given out once.
//!
//! | module | contents |
//! |---|---|
//! | [`definition`] | what a sequence is, and the next numbers of it as a pure function |
//! | [`counter`] | where a sequence stands now, for all sessions |
//!
//! Numbers are given out by `sequence_numbers`, with the commits that keep them from coming twice; sequences change in `sequence_changes`.
//!
//! Rules:
//! 1. A number that was given out does not come again, even after a crash. Before numbers are given out, a commit says that they are:
//!    it *reserves* as many as PostgreSQL logs ahead, so that nearly all calls need no commit. After a crash the reserved ones are gone.
//! 2. Numbers belong to no transaction. A counter is shared by all states of the database in which the sequence is the same; a rollback
//!    does not turn it back. Only RESTART makes another counter, which others see when the transaction commits.
//! 3. A sequence with an owner goes with its column (`Catalog::drop_orphaned_sequences`).

mod counter;
mod definition;

pub use counter::{CounterState, SequenceCounter};
pub use definition::{Numbers, SequenceDef, SequenceOwner, SequenceScope, SequenceState, SequenceType, SequenceUse};
