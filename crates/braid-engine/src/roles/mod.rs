//! CREATE ROLE, ALTER ROLE, DROP ROLE, GRANT of roles, REASSIGN OWNED and DROP OWNED, by the rules of PostgreSQL 15.
//!
//! | module | contents |
//! |---|---|
//! | [`create`], [`alter`], [`drop`] | roles and their attributes |
//! | [`options`] | the options of a statement |
//! | [`password`] | what passwords are verified with |
//! | [`membership`] | GRANT and REVOKE of roles |
//! | [`configuration`] | the settings that sessions of a role and of the database begin with |
//! | [`owned`] | what a role owns and is granted |

mod alter;
mod configuration;
mod create;
mod drop;
mod membership;
mod options;
mod owned;
mod password;

use std::sync::Arc;

use braid_catalog::privileges::Roles;
use braid_storage::{Catalog, RoleDef, RoleId, WriteSet};

use crate::statement::RoleStatement;
use crate::statement_context::StatementContext;
use crate::{EngineError, Outcome, SqlState, Statement};
pub(crate) use membership::{grant_roles, revoke_roles};

/// Runs a statement about roles.
///
/// # Errors
/// For roles that are there or not, what the current role may not do (42501), and what others depend on (2BP01).
pub(crate) async fn execute(
    context: &StatementContext,
    statement: &Statement,
    role: &RoleStatement,
) -> Result<Outcome, EngineError> {
    if let RoleStatement::Create { options, .. } | RoleStatement::Alter { options, .. } = role
        && let Some((_, place)) = options.repeated()
    {
        return Err(statement.repeated_option(place));
    }
    match role {
        RoleStatement::Create { word, name, options } => create::create(context, *word, name, options).await?,
        RoleStatement::Alter { role, options } => alter::alter(context, role, options).await?,
        RoleStatement::ChangeMembers { group, change, members } => {
            membership::change_members(context, group, *change, members).await?;
        }
        RoleStatement::Rename { name, new_name } => alter::rename(context, name, new_name).await?,
        RoleStatement::Configure { role, database, change } => {
            configuration::configure(context, role.as_ref(), database.as_ref(), change).await?;
        }
        RoleStatement::ConfigureDatabase { database, change } => {
            configuration::configure(context, None, Some(database), change).await?;
        }
        RoleStatement::Drop { if_exists, names } => drop::drop_roles(context, names, *if_exists).await?,
        RoleStatement::ReassignOwned { owners, new_owner } => owned::reassign(context, owners, new_owner).await?,
        RoleStatement::DropOwned { owners, behavior } => owned::drop_owned(context, owners, *behavior).await?,
    }
    Ok(Outcome::done(role.tag()))
}

/// What a change of roles is decided by: the state that the statement sees, and the role that makes it.
struct RoleChange<'a> {
    context: &'a StatementContext,
    view: &'a Arc<Catalog>,
    current: RoleId,
}

impl<'a> RoleChange<'a> {
    fn new(context: &'a StatementContext, view: &'a Arc<Catalog>) -> Self {
        Self { context, view, current: context.current_role() }
    }

    fn roles(&self) -> Roles<'a> {
        Roles::of(self.view.access())
    }

    fn is_superuser(&self) -> bool {
        self.roles().is_superuser(self.current)
    }

    fn name(&self, role: RoleId) -> String {
        self.context.role_name_in(self.view, role)
    }

    /// The definition of a role that users can change.
    ///
    /// # Errors
    /// For PostgreSQL's predefined roles (0A000).
    fn definition(&self, role: RoleId) -> Result<RoleDef, EngineError> {
        match self.view.access().role(role) {
            Some(known) => Ok(known.clone()),
            None if role == RoleId::BOOTSTRAP => Ok(self.context.bootstrap_role()),
            None => {
                let message = format!("changing the predefined role \"{}\" is not supported", self.name(role));
                Err(EngineError::unsupported(message))
            }
        }
    }
}

/// Makes changes of roles, which give the bootstrap superuser a name.
async fn change<T>(
    context: &StatementContext,
    change: impl FnOnce(&mut WriteSet, &RoleChange<'_>) -> Result<T, EngineError>,
) -> Result<T, EngineError> {
    let changed = context.change(|writes, view| {
        context.name_bootstrap_role(writes, view);
        change(writes, &RoleChange::new(context, view))
    });
    changed.await
}

fn denied(message: impl Into<String>) -> EngineError {
    EngineError::new(SqlState::InsufficientPrivilege, message.into())
}
