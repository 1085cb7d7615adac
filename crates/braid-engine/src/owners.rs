//! ALTER … OWNER TO, and the owners of what is created.

use std::sync::Arc;

use braid_catalog::privileges::{ObjectAccess, given_to};
use braid_storage::{AccessEntry, AccessObject, Catalog, CommentSubject, Privileges, RoleId, WriteSet};
use sqlparser::ast::Ident;

use crate::access::AccessCheck;
use crate::comments::subject_of;
use crate::named_roles::{check_may_give_to, role_of};
use crate::names::fold;
use crate::notices::Notice;
use crate::session_locks::LockMode;
use crate::statement::{CommentObject, CommentedRelation, ObjectStatement, RoleName};
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

/// Gives an object to another role.
///
/// # Errors
/// For what does not exist or is of another kind, an unknown role (42704), a sequence that belongs to a column (0A000), and what the current
/// role may not do (42501).
pub(crate) async fn change_owner(
    context: &StatementContext,
    statement: &ObjectStatement,
    owner: &Ident,
) -> Result<Outcome, EngineError> {
    let changed = context.change(|writes, view| {
        let subject = find(context, view, &statement.object)?;
        let new = role_of(context, view, &RoleName::of(owner))?;
        let Some(object) = object_of(&subject) else {
            // Indexes go with their tables.
            let name = written_name(&statement.object);
            let message = format!("cannot change owner of index \"{name}\"");
            context.raise(Notice::warning(SqlState::WrongObjectType, message));
            return Ok(());
        };
        give_to(context, writes, view, (object, new))
    });
    match changed.await {
        Err(error) if statement.if_exists && error.state() == SqlState::UndefinedTable => {
            context.raise(Notice::skipping(SqlState::SuccessfulCompletion, error.message()));
        }
        changed => changed?,
    }
    Ok(Outcome::done(statement.tag()))
}

/// Gives an object to a role, if the current role may.
fn give_to(
    context: &StatementContext,
    writes: &mut WriteSet,
    view: &Arc<Catalog>,
    (object, new): (AccessObject, RoleId),
) -> Result<(), EngineError> {
    let objects = ObjectAccess::of(view);
    let old = objects.owner(object);
    if let AccessObject::Relation(id) = object
        && let Some(known) = view.sequence_by_id(id)
        && let Some(owning) = known.definition.owner
        && old != new
    {
        let table = view.by_id(owning.table).map_or("", |version| &version.def.name);
        let name = &known.definition.name;
        return Err(EngineError::unsupported(format!("cannot change owner of sequence \"{name}\""))
            .with_detail(format!("Sequence \"{name}\" is linked to table \"{table}\".")));
    }
    if let AccessObject::Relation(relation) = object {
        if let Some(check) = AccessCheck::of(context, view) {
            check.check_owner(object)?;
        }
        context.define_relations([relation], LockMode::AccessExclusive)?;
    }
    if old == new {
        return Ok(());
    }
    if let Some(check) = AccessCheck::of(context, view) {
        check.check_owner(object)?;
        check_may_give_to(context, view, new)?;
        if object == AccessObject::Database && !objects.roles().attributes(check.role()).creates_databases {
            let message = "permission denied to change owner of database";
            return Err(EngineError::new(SqlState::InsufficientPrivilege, message));
        }
        // The new owner of a schema needs nothing that the old one has not.
        let (place, creator) = match schema_of(view, object) {
            Some(schema) => (AccessObject::Schema(schema), new),
            None => (AccessObject::Database, check.role()),
        };
        if object != AccessObject::Database && !objects.has(creator, place, Privileges::CREATE) {
            let (kind, name) = crate::access::named_object(view, context.database_name(), place);
            let message = format!("permission denied for {kind} {name}");
            return Err(EngineError::new(SqlState::InsufficientPrivilege, message));
        }
    }
    context.name_bootstrap_role(writes, view);
    give(writes, view, object, (old, new));
    Ok(())
}

/// Gives an object, with its columns and the sequences that these own, to another owner: all that the old one has and has granted is the new
/// one's.
pub(crate) fn give(writes: &mut WriteSet, view: &Catalog, object: AccessObject, (old, new): (RoleId, RoleId)) {
    let is_part = |part: AccessObject| match (part, object) {
        (part, object) if part == object => true,
        (AccessObject::Column(id, _), AccessObject::Relation(table)) => id == table,
        (AccessObject::Relation(id), AccessObject::Relation(table)) => {
            let known = view.sequence_by_id(id);
            known.is_some_and(|known| known.definition.owner.is_some_and(|owner| owner.table == table))
        }
        _ => false,
    };
    let sequences = view.sequences().map(|known| AccessObject::Relation(known.definition.id));
    let owned = sequences.filter(|sequence| is_part(*sequence)).chain([object]);
    owned.for_each(|object| writes.set_access(view, AccessEntry::Owner { object, owner: new }));
    for (object, acl) in view.access().acls().filter(|(part, _)| is_part(*part)) {
        writes.set_access(view, AccessEntry::Privileges { object, acl: given_to(acl, old, new) });
    }
    // A list that is as from the beginning names its owner, too.
    if view.access().acl(object).is_none()
        && let Some(list) = ObjectAccess::of(view).own_list(object)
    {
        writes.set_access(view, AccessEntry::Privileges { object, acl: given_to(&list, old, new) });
    }
}

fn written_name(object: &CommentObject) -> String {
    match object {
        CommentObject::Relation(_, name) => {
            name.0.last().and_then(|part| part.as_ident()).map(fold).unwrap_or_default()
        }
        _ => String::new(),
    }
}

/// What is meant.
fn find(context: &StatementContext, view: &Catalog, object: &CommentObject) -> Result<CommentSubject, EngineError> {
    let CommentObject::Relation(CommentedRelation::Table, name) = object else {
        return subject_of(context, view, object);
    };
    let mut first = None;
    for kind in AS_TABLES {
        match subject_of(context, view, &CommentObject::Relation(kind, name.clone())) {
            Ok(subject) => return Ok(subject),
            Err(error) => drop(first.get_or_insert(error)),
        }
    }
    Err(first.unwrap_or_else(|| EngineError::internal("no kind of relation")))
}

/// What has an owner; `None` for an index.
fn object_of(subject: &CommentSubject) -> Option<AccessObject> {
    match subject {
        CommentSubject::Relation(id) => Some(AccessObject::Relation(*id)),
        CommentSubject::Schema(id) => Some(AccessObject::Schema(*id)),
        CommentSubject::Type(oid) => Some(AccessObject::Type(*oid)),
        CommentSubject::Database => Some(AccessObject::Database),
        CommentSubject::Column(..) | CommentSubject::Index(_) | CommentSubject::Key(_) | CommentSubject::Role(_) => {
            None
        }
    }
}

fn schema_of(view: &Catalog, object: AccessObject) -> Option<braid_base::SchemaId> {
    match object {
        AccessObject::Relation(id) => {
            let of_table = || view.by_id(id).map(|version| version.def.schema);
            let of_view = || view.view_by_id(id).map(|view| view.schema);
            let of_sequence = || view.sequence_by_id(id).map(|known| known.definition.schema);
            of_table().or_else(of_view).or_else(of_sequence)
        }
        AccessObject::Type(oid) => view.schema_of_type(oid),
        AccessObject::Column(..) | AccessObject::Schema(_) | AccessObject::Database => None,
    }
}
