//! COMMENT ON: comments are set, replaced and removed, by the transaction that runs the statement.
//!
//! They are kept beside what they are about ([`braid_storage::CommentSubject`]), but for those on check constraints, which are parts of
//! definitions of tables. What Braid has no comments on is refused: objects of the system, and columns that every table has.
//!
//! | module | contents |
//! |---|---|
//! | [`subjects`] | what the name in a statement means |
//! | [`commented_relations`] | relations, their columns and constraints among them |

mod commented_relations;
mod subjects;

use std::sync::Arc;

use braid_storage::{AlteredRows, Catalog, CommentSubject, TableDef};

use crate::names::fold;
use crate::session_locks::LockMode;
use crate::statement::{CommentObject, CommentStatement};
use crate::statement_context::StatementContext;
use crate::{EngineError, Outcome, SqlState};
use subjects::Subject;

/// `COMMENT ON object IS text`
///
/// # Errors
/// For what does not exist, is of another kind, or has no comments in Braid.
pub(crate) async fn comment(context: &StatementContext, comment: &CommentStatement) -> Result<Outcome, EngineError> {
    let text = comment.text.as_deref().filter(|text| !text.is_empty());
    context.settle_writes().await?;
    let states = context.states();
    match Subject::find(context, &states.1, &comment.object)? {
        Subject::Stored(subject) => {
            if let CommentSubject::Relation(relation) | CommentSubject::Column(relation, _) = subject {
                context.define_relations([relation], LockMode::ShareUpdateExclusive)?;
            }
            let set = context.change_seen(&states.1, |writes, view| {
                writes.set_comment(view, subject, text);
                Ok::<_, EngineError>(())
            });
            set.await?;
        }
        Subject::Check(def, at) => set_on_check(context, states, (&def, at), text).await?,
        Subject::OtherDatabase => {}
    }
    Ok(Outcome::done("COMMENT"))
}

/// What a statement names, where it has its comment in the catalog.
///
/// # Errors
/// As [`comment`].
pub(crate) fn subject_of(
    context: &StatementContext,
    snapshot: &Catalog,
    object: &CommentObject,
) -> Result<CommentSubject, EngineError> {
    if let CommentObject::Database(name) = object
        && fold(name) != context.database_name()
    {
        let message = format!("database \"{}\" does not exist", fold(name));
        return Err(EngineError::new(SqlState::InvalidCatalogName, message));
    }
    match Subject::find(context, snapshot, object)? {
        Subject::Stored(subject) => Ok(subject),
        Subject::Check(..) | Subject::OtherDatabase => Err(EngineError::internal("an object without a subject")),
    }
}

/// Sets the comment on a check constraint, by its place in its table of these states.
async fn set_on_check(
    context: &StatementContext,
    states: (Arc<Catalog>, Arc<Catalog>),
    (def, at): (&TableDef, usize),
    text: Option<&str>,
) -> Result<(), EngineError> {
    let mut checks = def.checks.clone();
    checks[at].comment = text.map(str::to_owned);
    let new = TableDef { checks, ..def.clone() };
    if new != *def {
        context.alter_table(&states, (new, AlteredRows::Kept), |_, _| Ok(())).await?;
        drop(states);
        context.keep_changes().await?;
    }
    Ok(())
}
