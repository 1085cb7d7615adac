//! CREATE TYPE … AS ENUM, ALTER TYPE and DROP TYPE; DROP DOMAIN.
//!
//! Defaults, conditions and views are stored as SQL text, in which labels have names. So the labels that they mention are not renamed.
//!
//! Values of a type have the labels that are committed. So a transaction cannot use a label that it has added, as in PostgreSQL, and
//! it can only end after it has renamed something.
//!
//! | module | contents |
//! |---|---|
//! | `change` | a change of the types, in its transaction |
//! | `relocation` | ALTER TYPE and ALTER DOMAIN … SET SCHEMA |
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
mod relocation;

pub(crate) use alter::{alter_type, check_unmentioned};
pub(crate) use create::{check_lasting, create_type};
pub(crate) use drop::{DroppedKind, check_unused_outside, drop_types};
pub(crate) use labels::{array_type_name, is_type_name};
pub(crate) use named_type::NamedType;
pub(crate) use relocation::move_type;
