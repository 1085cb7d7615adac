//! ALTER … OWNER TO: everything belongs to the session's user, so that nothing changes.

use braid_catalog::object_ids::BOOTSTRAP_ROLE_ID;
use braid_sql::functions::SessionFacts;
use sqlparser::ast::Ident;

use crate::comments::check_object;
use crate::front_end::StatementFacts;
use crate::names::fold;
use crate::notices::Notice;
use crate::statement::{CommentObject, CommentedRelation, ObjectStatement};
use crate::statement_context::StatementContext;
use crate::{EngineError, Outcome, SqlState};

/// What a table may be to ALTER TABLE … OWNER TO.
const AS_TABLES: [CommentedRelation; 5] = [
    CommentedRelation::Table,
    CommentedRelation::View,
    CommentedRelation::MaterializedView,
    CommentedRelation::Sequence,
    CommentedRelation::Index,
];

/// Checks that the object is there and the role is the session's user.
///
/// # Errors
/// For what does not exist or is of another kind, an unknown role (42704), and another role than the user (0A000).
pub(crate) fn change_owner(
    context: &StatementContext,
    statement: &ObjectStatement,
    owner: &Ident,
) -> Result<Outcome, EngineError> {
    match check(context, &statement.object) {
        Err(error) if statement.if_exists && error.state() == SqlState::UndefinedTable => {
            context.raise(Notice::skipping(SqlState::SuccessfulCompletion, error.message()));
            return Ok(Outcome::done(statement.tag()));
        }
        checked => checked?,
    }
    let is_keyword =
        owner.quote_style.is_none() && ["current_user", "session_user", "current_role"].contains(&&*fold(owner));
    let name = fold(owner);
    let role = StatementFacts::of(context).objects().and_then(|names| names.role_id(&name));
    match role {
        _ if is_keyword => {}
        Some(BOOTSTRAP_ROLE_ID) => {}
        Some(_) => {
            return Err(EngineError::unsupported(format!("objects that belong to role \"{name}\" are not supported"))
                .with_hint("Everything belongs to the user of the session."));
        }
        None => {
            return Err(EngineError::new(SqlState::UndefinedObject, format!("role \"{name}\" does not exist")));
        }
    }
    Ok(Outcome::done(statement.tag()))
}

fn check(context: &StatementContext, object: &CommentObject) -> Result<(), EngineError> {
    match object {
        CommentObject::Relation(CommentedRelation::Table, name) => {
            let mut first = None;
            for kind in AS_TABLES {
                match check_object(context, &CommentObject::Relation(kind, name.clone())) {
                    Ok(()) => return Ok(()),
                    Err(error) => drop(first.get_or_insert(error)),
                }
            }
            first.map_or(Ok(()), Err)
        }
        other => check_object(context, other),
    }
}
