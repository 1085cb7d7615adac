//! Statements that Braid's own front end (`braid-sql`) binds, and that are computed here without a plan.
//!
//! So far these are queries of one row, `SELECT` of expressions without FROM, and expressions in VALUES of an INSERT and after DEFAULT. What it refuses as unsupported is planned as before
//! (`query`); `SET braid.planner = datafusion` has everything planned so. A statement is described and executed by the same front end,
//! because both ask here first, with the same text and settings.
//!
//! | module | contents |
//! |---|---|
//! | [`constant_query`] | queries of one row: recognised, described, executed |
//! | [`assigned_expression`] | expressions of INSERT and DEFAULT |
//! | [`result_columns`] | values as columns of a result |
//! | [`session_facts`] | what expressions ask of the session |

mod assigned_expression;
mod constant_query;
mod result_columns;
mod session_facts;

use crate::statement_context::StatementContext;
use crate::statement_limits::StatementSize;
pub(crate) use assigned_expression::{Assigned, AssignedExpression};
pub(crate) use constant_query::{describe, execute};

/// Longest text that is bound here. Binding runs on the session's thread, and looks up the place of each operator in the text; longer
/// texts are planned on threads of their own.
const TEXT_BYTES_MAX: usize = 64 << 10;

/// Whether what stands in `text` is planned by the other planner: because the session wants it so, or because binding it would take long.
fn is_left_to_the_other_planner(context: &StatementContext, text: &str, size: StatementSize) -> bool {
    context.settings().get("braid.planner") == Some("datafusion")
        || text.len() > TEXT_BYTES_MAX
        || size.is_large()
        || size.check_for_planning().is_err()
}
