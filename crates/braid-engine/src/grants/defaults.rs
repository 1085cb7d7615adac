//! ALTER DEFAULT PRIVILEGES: the privileges of objects that are created from now on.

use braid_base::SchemaId;
use braid_catalog::privileges::{Grantable, ObjectKind, Roles};
use braid_storage::{DefaultsKind, DefaultsSubject, Privileges};

use super::list_changes::{Granting, list_with};
use super::subjects::schema;
use super::words::Wanted;
use crate::default_lists::{initial_list, put_default_list};
use crate::named_roles::role_of;
use crate::statement::{DefaultObjects, DefaultPrivilegesStatement, PrivilegeChange};
use crate::statement_context::StatementContext;
use crate::{EngineError, Outcome, SqlState, Statement};

/// `ALTER DEFAULT PRIVILEGES … GRANT` or `… REVOKE`
///
/// # Errors
/// For roles and schemas that do not exist, roles that the current one is no member of (42501), and privileges that the objects do not have
/// (0LP01).
pub(crate) async fn alter_defaults(
    context: &StatementContext,
    statement: &Statement,
    defaults: &DefaultPrivilegesStatement,
) -> Result<Outcome, EngineError> {
    let DefaultPrivilegesStatement { roles, schemas, change, repeated } = defaults;
    if let Some(place) = repeated {
        return Err(statement.repeated_option(*place));
    }
    let kind = kind_of(change.objects);
    let altered = context.change(|writes, view| {
        let current = context.current_role();
        let creators = match roles.is_empty() {
            true => vec![current],
            false => roles.iter().map(|role| role_of(context, view, role)).collect::<Result<Vec<_>, _>>()?,
        };
        let known = Roles::of(view.access());
        if let Some(other) = creators.iter().find(|creator| !known.has_privileges_of(current, **creator)) {
            let message = format!("must be member of role \"{}\"", context.role_name_in(view, *other));
            return Err(EngineError::new(SqlState::InsufficientPrivilege, message));
        }
        let wanted = wanted_of(context, change, kind)?;
        let schemas = schemas.iter().map(|name| schema(context, view, name)).collect::<Result<Vec<_>, _>>()?;
        if kind == DefaultsKind::Schema && !schemas.is_empty() {
            let message = "cannot use IN SCHEMA clause when using GRANT/REVOKE ON SCHEMAS";
            return Err(EngineError::new(SqlState::InvalidGrantOperation, message));
        }
        let granting = Granting::of(context, view, change)?;
        context.name_bootstrap_role(writes, view);
        for creator in creators {
            let grantable = Grantable { grantor: creator, privileges: wanted };
            for schema in scopes(&schemas) {
                let subject = DefaultsSubject { creator, schema, kind };
                let initial = initial_list(subject);
                let before = view.access().default_acl(subject).unwrap_or(&initial);
                let acl = list_with(before, known, (grantable, creator), &granting)?;
                put_default_list(writes, view, subject, acl);
            }
        }
        Ok(())
    });
    altered.await?;
    Ok(Outcome::done("ALTER DEFAULT PRIVILEGES"))
}

fn kind_of(objects: DefaultObjects) -> DefaultsKind {
    match objects {
        DefaultObjects::Tables => DefaultsKind::Relation,
        DefaultObjects::Sequences => DefaultsKind::Sequence,
        DefaultObjects::Routines => DefaultsKind::Function,
        DefaultObjects::Types => DefaultsKind::Type,
        DefaultObjects::Schemas => DefaultsKind::Schema,
    }
}

fn wanted_of(
    context: &StatementContext,
    change: &PrivilegeChange<DefaultObjects>,
    kind: DefaultsKind,
) -> Result<Privileges, EngineError> {
    let wanted = Wanted::of_words(&change.privileges)?;
    if wanted.has_columns() {
        let message = "default privileges cannot be set for columns";
        return Err(EngineError::new(SqlState::InvalidGrantOperation, message));
    }
    Ok(wanted.of_object(context, ObjectKind::of_defaults(kind), "")?.0)
}

/// The schemas, or all of the database.
fn scopes(schemas: &[SchemaId]) -> Vec<Option<SchemaId>> {
    match schemas {
        [] => vec![None],
        schemas => schemas.iter().copied().map(Some).collect(),
    }
}
