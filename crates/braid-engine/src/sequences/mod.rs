//! Sequences: CREATE, ALTER and DROP SEQUENCE, and their numbers in a session.
//!
//! | module | what lives there |
//! |---|---|
//! | [`options`] | options into a definition |
//! | [`create`], [`alter`], [`drop`] | the statements |
//! | [`defaults`] | sequences that defaults of columns name |
//! | [`session_sequences`] | `nextval`, `currval`, `lastval`, `setval` |

mod alter;
mod create;
pub(crate) mod defaults;
mod drop;
mod options;
mod session_sequences;

pub(crate) use alter::alter_sequence;
pub(crate) use create::create_sequence;
pub(crate) use drop::{dependents, drop_sequences};
pub(crate) use session_sequences::SessionSequences;
