//! What a role owns and is granted: REASSIGN OWNED, DROP OWNED, and what keeps a role from being dropped.

use braid_base::{SchemaId, TableId};
use braid_catalog::privileges::ObjectAccess;
use braid_storage::{AccessEntry, AccessKey, AccessObject, AclItem, DefaultsKind, DefaultsSubject, RoleId, WriteSet};

use super::{RoleChange, change, denied};
use crate::access::named_object;
use crate::default_lists::put_default_list;
use crate::dependents::Behavior;
use crate::named_roles::role_of;
use crate::owners::give;
use crate::statement::RoleName;
use crate::statement_context::StatementContext;
use crate::{EngineError, SqlState};

/// `REASSIGN OWNED BY role, … TO role`
///
/// # Errors
/// For roles that do not exist, those of the system (2BP01), and what the current role may not do (42501).
pub(super) async fn reassign(
    context: &StatementContext,
    owners: &[RoleName],
    new_owner: &RoleName,
) -> Result<(), EngineError> {
    change(context, |writes, change| {
        let owners = owners.iter().map(|owner| role_of(context, change.view, owner));
        let owners = owners.collect::<Result<Vec<_>, _>>()?;
        let has_all = |role: &RoleId| change.roles().has_privileges_of(change.current, *role);
        if !owners.iter().all(has_all) {
            return Err(denied("permission denied to reassign objects"));
        }
        let new_owner = role_of(context, change.view, new_owner)?;
        if !has_all(&new_owner) {
            return Err(denied("permission denied to reassign objects"));
        }
        if let Some(owner) = owners.iter().find(|owner| owner.is_built_in()) {
            let message = format!(
                "cannot reassign ownership of objects owned by role {} because they are required by the database system",
                change.name(*owner)
            );
            return Err(EngineError::new(SqlState::DependentObjectsStillExist, message));
        }
        let owned = change.view.access().owners().filter(|(_, owner)| owners.contains(owner));
        owned.for_each(|(object, old)| give(writes, change.view, object, (old, new_owner)));
        Ok(())
    })
    .await
}

/// `DROP OWNED BY role, …`: privileges of the roles, and what they have granted, are revoked.
///
/// # Errors
/// For roles that do not exist, those of the system (2BP01), what the current role may not do (42501), and roles that own objects (0A000).
pub(super) async fn drop_owned(
    context: &StatementContext,
    owners: &[RoleName],
    _: Behavior,
) -> Result<(), EngineError> {
    change(context, |writes, change| {
        let owners = owners.iter().map(|owner| role_of(context, change.view, owner));
        let owners = owners.collect::<Result<Vec<_>, _>>()?;
        if !owners.iter().all(|role| change.roles().has_privileges_of(change.current, *role)) {
            return Err(denied("permission denied to drop objects"));
        }
        if let Some(owner) = owners.iter().find(|owner| owner.is_built_in()) {
            let message = format!(
                "cannot drop objects owned by role {} because they are required by the database system",
                change.name(*owner)
            );
            return Err(EngineError::new(SqlState::DependentObjectsStillExist, message));
        }
        if let Some((object, owner)) = change.view.access().owners().find(|(_, owner)| owners.contains(owner)) {
            let (kind, name) = named_object(change.view, context.database_name(), object);
            let message = format!(
                "DROP OWNED of a role that owns objects is not supported: \"{}\" owns {kind} {name}",
                change.name(owner)
            );
            return Err(EngineError::unsupported(message).with_hint("Drop them, or use REASSIGN OWNED."));
        }
        revoke_all(writes, change, &owners);
        Ok(())
    })
    .await
}

/// Removes roles from all lists.
fn revoke_all(writes: &mut WriteSet, change: &RoleChange<'_>, owners: &[RoleId]) {
    let view = change.view;
    let is_of = |item: &AclItem| owners.contains(&item.grantee) || owners.contains(&item.grantor);
    for (object, acl) in view.access().acls() {
        if acl.iter().any(is_of) {
            let acl = acl.iter().filter(|item| !is_of(item)).copied().collect();
            writes.set_access(view, AccessEntry::Privileges { object, acl });
        }
    }
    for (subject, acl) in view.access().default_acls() {
        if owners.contains(&subject.creator) {
            writes.remove_access(view, AccessKey::Defaults(subject));
        } else if acl.iter().any(is_of) {
            let acl = acl.iter().filter(|item| !is_of(item)).copied().collect();
            put_default_list(writes, view, subject, acl);
        }
    }
}

/// What a role owns, and what it has privileges on, in words.
pub(super) fn dependents_of(change: &RoleChange<'_>, role: RoleId) -> Vec<String> {
    let (view, database) = (change.view, change.context.database_name());
    let objects = ObjectAccess::of(view);
    let relation = |id: TableId| {
        let (kind, name) = named_object(view, database, AccessObject::Relation(id));
        match schema_unless_found(change, id, name) {
            Some(schema) => format!("{kind} {schema}.{name}"),
            None => format!("{kind} {name}"),
        }
    };
    let described = |object: AccessObject| {
        let (kind, name) = named_object(view, database, object);
        match object {
            AccessObject::Relation(id) => relation(id),
            AccessObject::Column(id, _) => format!("column {name} of {}", relation(id)),
            _ => format!("{kind} {name}"),
        }
    };
    let owned = view.access().owners().filter(|(_, owner)| *owner == role);
    let mut found: Vec<(AccessObject, String)> =
        owned.map(|(object, _)| (object, format!("owner of {}", described(object)))).collect();
    let sequences = view.sequences().filter(|known| known.definition.owner.is_some());
    let sequences = sequences.map(|known| AccessObject::Relation(known.definition.id));
    let sequences = sequences.filter(|sequence| objects.owner(*sequence) == role);
    found.extend(sequences.map(|sequence| (sequence, format!("owner of {}", described(sequence)))));
    for (object, acl) in view.access().acls() {
        // What an owner has is no dependency of its own.
        let is_other = |named: RoleId| named == role && objects.owner(object) != role;
        if acl.iter().any(|item| is_other(item.grantee) || is_other(item.grantor)) {
            found.push((object, format!("privileges for {}", described(object))));
        }
    }
    found.sort_by_key(|(object, line)| (place_of(*object), line.starts_with("owner")));
    found.dedup();
    let mut lines: Vec<String> = found.into_iter().map(|(_, line)| line).collect();
    for (subject, acl) in view.access().default_acls() {
        let of = defaults_in_words(change, subject);
        if subject.creator == role {
            lines.push(format!("owner of {of}"));
        } else if acl.iter().any(|item| item.grantee == role || item.grantor == role) {
            lines.push(format!("privileges for {of}"));
        }
    }
    lines
}

/// Where PostgreSQL lists an object: by its number, and its columns behind it.
fn place_of(object: AccessObject) -> (u32, u32) {
    match object {
        AccessObject::Database => (0, 0),
        AccessObject::Relation(id) => (id.0, 0),
        AccessObject::Column(id, column) => (id.0, 1 + u32::from(column.0)),
        AccessObject::Schema(id) => (id.0, 0),
        AccessObject::Type(oid) => (oid, 0),
    }
}

/// The schema of a relation, unless its name alone means it.
fn schema_unless_found(change: &RoleChange<'_>, id: TableId, name: &str) -> Option<String> {
    let view = change.view;
    let in_schema = |schema: SchemaId| {
        let table = view.table_in(schema, name).map(|table| table.def.id);
        let of_view = || view.view_in(schema, name).map(|view| view.id);
        table.or_else(of_view).or_else(|| view.sequence_in(schema, name).map(|known| known.definition.id))
    };
    let path = change.context.search_path_in(view);
    let found = path.searched().find_map(|schema| in_schema(view.schema_named(schema)?));
    let own = view.schemas().map(|schema| schema.id).find(|schema| in_schema(*schema) == Some(id));
    own.filter(|_| found != Some(id)).and_then(|schema| view.schema_name(schema)).map(str::to_owned)
}

fn defaults_in_words(change: &RoleChange<'_>, subject: DefaultsSubject) -> String {
    let kind = match subject.kind {
        DefaultsKind::Relation => "relations",
        DefaultsKind::Sequence => "sequences",
        DefaultsKind::Function => "functions",
        DefaultsKind::Type => "types",
        DefaultsKind::Schema => "schemas",
    };
    let creator = change.name(subject.creator);
    let of_all = format!("default privileges on new {kind} belonging to role {creator}");
    match subject.schema.and_then(|schema| change.view.schema_name(schema)) {
        Some(schema) => format!("{of_all} in schema {schema}"),
        None => of_all,
    }
}
