//! CREATE TYPE … AS ENUM, ALTER TYPE and DROP TYPE.
//!
//! Each is one commit, decided on the newest state ([`braid_storage::Store::change_types`]). A default is stored as SQL text, in which
//! types and labels have names. So what a default mentions is not renamed.
//!
//! | module | contents |
//! |---|---|
//! | `create` | CREATE TYPE |
//! | `alter` | ALTER TYPE |
//! | `drop` | DROP TYPE |
//! | `labels` | labels that may be added |
//! | `mentions` | defaults that mention a type or a label |
//! | `named_type` | what the name of a type means |

mod alter;
mod create;
mod drop;
mod labels;
mod mentions;
mod named_type;

pub(crate) use alter::alter_type;
pub(crate) use create::create_type;
pub(crate) use drop::{Behavior, drop_types};
