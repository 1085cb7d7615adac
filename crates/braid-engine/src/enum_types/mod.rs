//! CREATE TYPE … AS ENUM, ALTER TYPE and DROP TYPE; DROP DOMAIN.
//!
//! A default and a view are stored as SQL text, in which types and labels have names. So what they mention is not renamed.
//!
//! Values of a type have the labels that are committed. So a transaction cannot use a label that it has added, as in PostgreSQL, and
//! it can only end after it has renamed something.
//!
//! | module | contents |
//! |---|---|
//! | `change` | a change of the types, in its transaction |
//! | `create` | CREATE TYPE |
//! | `alter` | ALTER TYPE |
//! | `drop` | DROP TYPE, DROP DOMAIN |
//! | `labels` | labels that may be added |
//! | `mentions` | defaults that mention a type or a label |
//! | `named_type` | what the name of a type means |

mod alter;
mod change;
mod create;
mod drop;
mod labels;
mod mentions;
mod named_type;

pub(crate) use alter::{alter_type, check_unmentioned};
pub(crate) use create::create_type;
pub(crate) use drop::{DroppedKind, drop_types};
pub(crate) use named_type::NamedType;
