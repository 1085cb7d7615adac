//! Sequences: CREATE, ALTER and DROP SEQUENCE, and the columns that have some of their own. Their numbers are given out by
//! [`crate::statement_context`].
//!
//! | module | what lives there |
//! |---|---|
//! | [`options`] | options into a definition |
//! | [`create`], [`alter`], [`drop`] | the statements |
//! | [`defaults`] | sequences that defaults of columns name |
//! | [`columns`] | `serial`, and GENERATED … AS IDENTITY |
//! | [`identities`] | changes of identity columns |

mod alter;
mod columns;
mod create;
pub(crate) mod defaults;
mod drop;
mod identities;
mod options;

pub(crate) use alter::{alter_sequence, rename_as_table};
pub(crate) use columns::{OwnSequence, OwnSequences, free_name, serial_type, taken_out};
pub(crate) use create::create_sequence;
pub(crate) use drop::{Dependent, dependents, drop_sequences};
pub(crate) use identities::{changed_identity, retyped_identity};
