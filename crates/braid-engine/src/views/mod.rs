//! Views: CREATE VIEW, ALTER VIEW and DROP VIEW, and materialized views.
//!
//! A view keeps the text of its query, and what the names in it meant (`braid-storage`, `views.rs`). Where it is read, the binder binds the
//! text in the place of its name, so that rules, templates and passes see through it.
//!
//! | module | contents |
//! |---|---|
//! | `create` | CREATE VIEW |
//! | `definition` | what is stored of a view |
//! | `options` | `WITH (…)` |
//! | `replacement` | what OR REPLACE may change |
//! | `alter` | ALTER VIEW, and ALTER TABLE of a view |
//! | `drop` | DROP VIEW, DROP MATERIALIZED VIEW |
//! | `materialized` | CREATE and REFRESH MATERIALIZED VIEW |

mod alter;
mod create;
mod definition;
mod drop;
mod materialized;
mod options;
mod replacement;

use crate::statement::{CreateForm, CreateView, ViewStatement};
use crate::statement_context::StatementContext;
use crate::{EngineError, Outcome, ParameterType, Prepared, Statement, front_end};
pub(crate) use alter::alter_as_table;
pub(crate) use drop::{Wanted, drop_views};

/// Describes a statement about views, which has no parameters and returns no rows. As in PostgreSQL the query of a materialized view is
/// looked at already, and that of a view when it is created.
pub(crate) async fn prepare(
    context: &StatementContext,
    statement: &Statement,
    view: &ViewStatement,
    declared: &[Option<ParameterType>],
) -> Result<Prepared, EngineError> {
    if let ViewStatement::Create(CreateView { form: CreateForm::Materialized { .. }, .. }) = view {
        let described = front_end::describe(context, statement, declared).await?;
        if !described.prepared.parameter_types.is_empty() {
            let message = "materialized views may not be defined using bound parameters";
            return Err(EngineError::unsupported(message).with_hint("Write the values into the query."));
        }
    }
    Ok(Prepared { parameter_types: Vec::new(), schema: None })
}

/// Runs a statement about views.
pub(crate) async fn execute(
    context: &StatementContext,
    statement: &Statement,
    view: &ViewStatement,
) -> Result<Outcome, EngineError> {
    match view {
        ViewStatement::Create(create @ CreateView { form: CreateForm::Materialized { if_not_exists }, .. }) => {
            materialized::create(context, statement, create, *if_not_exists).await
        }
        ViewStatement::Create(create) => create::create_view(context, statement, create).await,
        ViewStatement::Alter(alter) => alter::alter_view(context, alter).await,
        ViewStatement::Refresh(refresh) => materialized::refresh(context, statement, refresh).await,
    }
}
