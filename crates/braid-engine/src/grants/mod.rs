//! GRANT and REVOKE of privileges, and ALTER DEFAULT PRIVILEGES, by the rules of PostgreSQL 15.
//!
//! | module | contents |
//! |---|---|
//! | [`words`] | the words of privileges |
//! | [`subjects`] | the objects that a statement names |
//! | [`list_changes`] | changes of access control lists |
//! | [`defaults`] | ALTER DEFAULT PRIVILEGES |

mod defaults;
mod list_changes;
mod subjects;
mod words;

use braid_base::ColumnId;
use braid_catalog::privileges::{Grantable, ObjectAccess, ObjectKind, best_grantor};
use braid_storage::{AccessEntry, AccessKey, AccessObject, AclItem, Catalog, Privileges, RoleId, WriteSet};

use crate::access::named_object;
use crate::named_roles::role_of;
use crate::notices::Notice;
use crate::statement::{GrantAction, GrantStatement, GrantedObjects, PrivilegeChange};
use crate::statement_context::StatementContext;
use crate::{EngineError, Outcome, SqlState, roles};
pub(crate) use defaults::alter_defaults;
use list_changes::{Granting, list_with};
use subjects::{Subject, subjects_of};
use words::Wanted;

/// GRANT or REVOKE.
///
/// # Errors
/// For roles and objects that do not exist, privileges that an object does not have (0LP01), and what the current role may not grant
/// (42501).
pub(crate) async fn execute(context: &StatementContext, statement: &GrantStatement) -> Result<Outcome, EngineError> {
    match statement {
        GrantStatement::Roles(change) if change.action == GrantAction::Grant => {
            roles::grant_roles(context, change).await
        }
        GrantStatement::Roles(change) => roles::revoke_roles(context, change).await,
        GrantStatement::Privileges(change) => {
            change_privileges(context, change).await?;
            Ok(Outcome::done(statement.tag()))
        }
    }
}

async fn change_privileges(
    context: &StatementContext,
    change: &PrivilegeChange<GrantedObjects>,
) -> Result<(), EngineError> {
    let granted = context.change(|writes, view| {
        let current = context.current_role();
        if let Some(grantor) = &change.granted_by
            && role_of(context, view, grantor)? != current
        {
            return Err(EngineError::unsupported("grantor must be current user"));
        }
        let subjects = subjects_of(context, view, &change.objects)?;
        let wanted = Wanted::of(&change.privileges, &change.objects)?;
        let granting = Granting::of(context, view, change)?;
        context.name_bootstrap_role(writes, view);
        let grant = Grant { context, view, current, granting };
        subjects.iter().try_for_each(|subject| grant.change(writes, subject, &wanted))
    });
    granted.await
}

/// A statement about privileges, of the state that it sees.
struct Grant<'a> {
    context: &'a StatementContext,
    view: &'a Catalog,
    current: RoleId,
    granting: Granting,
}

impl Grant<'_> {
    fn objects(&self) -> ObjectAccess<'_> {
        ObjectAccess::of(self.view)
    }

    fn change(&self, writes: &mut WriteSet, subject: &Subject, wanted: &Wanted) -> Result<(), EngineError> {
        let kind = self.objects().kind(subject.object);
        let (privileges, is_all) = wanted.of_object(self.context, kind, &subject.name)?;
        if !privileges.is_empty() {
            self.change_object(writes, subject, (privileges, is_all))?;
        }
        let AccessObject::Relation(relation) = subject.object else { return Ok(()) };
        // What is revoked on a table is revoked on its columns, too.
        let of_all = privileges & ObjectKind::Column.all();
        let mut columns: Vec<(ColumnId, Privileges, bool)> = match self.granting.action {
            GrantAction::Revoke if !of_all.is_empty() => {
                self.columns_with_lists(relation).map(|column| (column, of_all, true)).collect()
            }
            _ => Vec::new(),
        };
        for (name, privileges, is_all) in wanted.of_columns()? {
            let column = subject.column(self.view, &name)?;
            match columns.iter_mut().find(|(known, ..)| *known == column) {
                Some((_, known, _)) => *known = *known | privileges,
                None => columns.push((column, privileges, is_all)),
            }
        }
        columns.into_iter().try_for_each(|(column, privileges, is_all)| {
            self.change_column(writes, subject, (relation, column), (privileges, is_all))
        })
    }

    fn columns_with_lists(&self, relation: braid_base::TableId) -> impl Iterator<Item = ColumnId> {
        self.view.access().acls().filter_map(move |(object, _)| match object {
            AccessObject::Column(of, column) if of == relation => Some(column),
            _ => None,
        })
    }

    fn change_object(
        &self,
        writes: &mut WriteSet,
        subject: &Subject,
        (privileges, is_all): (Privileges, bool),
    ) -> Result<(), EngineError> {
        let (objects, object) = (self.objects(), subject.object);
        let grantable = objects.grantable(self.current, object, privileges);
        if grantable.privileges.is_empty() {
            let has = objects.granted(grantable.grantor, object);
            if has.privileges.is_empty() && has.grantable.is_empty() {
                let (kind, name) = named_object(self.view, self.context.database_name(), object);
                let message = format!("permission denied for {kind} {name}");
                return Err(EngineError::new(SqlState::InsufficientPrivilege, message));
            }
        }
        self.put_list(writes, object, &subject.name, (grantable, privileges, is_all))
    }

    fn change_column(
        &self,
        writes: &mut WriteSet,
        subject: &Subject,
        (relation, column): (braid_base::TableId, ColumnId),
        (privileges, is_all): (Privileges, bool),
    ) -> Result<(), EngineError> {
        let (objects, object) = (self.objects(), AccessObject::Column(relation, column));
        let of_relation = AccessObject::Relation(relation);
        let lists: Vec<AclItem> =
            objects.list(of_relation).iter().chain(objects.list(object).iter()).copied().collect();
        let grantable = best_grantor(&lists, objects.roles(), (self.current, objects.owner(object)), privileges);
        if grantable.privileges.is_empty() {
            let of = |object| objects.granted(grantable.grantor, object);
            let (on_column, on_relation) = (of(object), of(of_relation));
            let all = on_column.privileges | on_column.grantable | on_relation.privileges | on_relation.grantable;
            if (all & ObjectKind::Column.all()).is_empty() {
                let (kind, name) = named_object(self.view, self.context.database_name(), of_relation);
                let message = format!("permission denied for {kind} {name}");
                return Err(EngineError::new(SqlState::InsufficientPrivilege, message));
            }
        }
        let (_, column) = named_object(self.view, "", object);
        let name = format!("{column}\" of relation \"{}", subject.name);
        self.put_list(writes, object, &name, (grantable, privileges, is_all))
    }

    /// Puts the changed list in the place of the one that an object has, with what the grantor may grant.
    fn put_list(
        &self,
        writes: &mut WriteSet,
        object: AccessObject,
        name: &str,
        (grantable, wanted, is_all): (Grantable, Privileges, bool),
    ) -> Result<(), EngineError> {
        let shown = if matches!(object, AccessObject::Column(..)) {
            format!("column \"{name}\"")
        } else {
            format!("\"{name}\"")
        };
        let is_grant = self.granting.action == GrantAction::Grant;
        let state = if is_grant { SqlState::PrivilegeNotGranted } else { SqlState::PrivilegeNotRevoked };
        let warn = |message: String| self.context.raise(Notice::warning(state, message));
        match (grantable.privileges.is_empty(), grantable.privileges == wanted) {
            (true, _) if is_grant => warn(format!("no privileges were granted for {shown}")),
            (true, _) => warn(format!("no privileges could be revoked for {shown}")),
            (false, false) if !is_all && is_grant => warn(format!("not all privileges were granted for {shown}")),
            (false, false) if !is_all => warn(format!("not all privileges could be revoked for {shown}")),
            _ => {}
        }
        if grantable.privileges.is_empty() {
            return Ok(());
        }
        let objects = self.objects();
        let before = objects.list(object);
        let acl = list_with(&before, objects.roles(), (grantable, objects.owner(object)), &self.granting)?;
        // A column without privileges of its own has no list.
        match acl.is_empty() && matches!(object, AccessObject::Column(..)) {
            true => writes.remove_access(self.view, AccessKey::Privileges(object)),
            false => writes.set_access(self.view, AccessEntry::Privileges { object, acl }),
        }
        Ok(())
    }
}
