//! DO: anonymous code blocks, as far as they are SQL statements with IF, RAISE and EXCEPTION in PL/pgSQL.
//!
//! Tools for schemas write them: "create the type, unless there is one". A block is one transaction, or a part of the one around it.
//! Variables, loops and cursors are refused.
//!
//! | module | contents |
//! |---|---|
//! | [`syntax`] | the text of a block as a tree |
//! | [`conditions`] | the errors that a block handles |
//! | [`condition_names`] | PostgreSQL's names of errors |

mod condition_names;
mod conditions;
pub(crate) mod syntax;

use crate::{EngineError, SqlState};

/// That a language has no code blocks.
pub(crate) fn no_inline_code(language: &str) -> EngineError {
    match ["sql", "c", "internal"].contains(&language) {
        true => EngineError::unsupported(format!("language \"{language}\" does not support inline code execution")),
        false => EngineError::new(SqlState::UndefinedObject, format!("language \"{language}\" does not exist")),
    }
}
