//! What statements other than queries need the privileges for, by PostgreSQL's rules. Queries are checked when they are planned
//! ([`crate::access`]), and statements about roles and privileges where they are executed.
//!
//! | module | contents |
//! |---|---|
//! | [`rows`] | INSERT, UPDATE, DELETE, MERGE, TRUNCATE, COPY and LOCK TABLE |
//! | [`read_columns`] | the columns of the table that a statement changes which it reads |
//! | [`definitions`] | statements that define what there is |
//!
//! A statement whose objects do not exist is not refused here: it fails when it is executed, with the error for that.

mod definitions;
mod read_columns;
mod rows;

use std::sync::Arc;

use braid_base::SchemaId;
use braid_catalog::privileges::Roles;
use braid_sql::{SqlError, SqlState};
use braid_storage::{AccessObject, Catalog, RoleId};
use sqlparser::ast::{self, ObjectName};

use crate::access::AccessCheck;
use crate::statement::{Command, MaintenanceStatement};
use crate::statement_context::StatementContext;
use crate::table_names::{Named, named_table};
use crate::{EngineError, Statement};

/// Checks that the roles of the session may run a statement.
///
/// # Errors
/// 42501
pub(crate) fn check(context: &StatementContext, statement: &Statement) -> Result<(), EngineError> {
    let snapshot = match statement.command() {
        // It comes before the state that its transaction reads.
        Command::Maintenance(MaintenanceStatement::Lock { .. }) => context.state_of_names(),
        _ => context.snapshot(),
    };
    let Some(access) = AccessCheck::of(context, &snapshot) else { return Ok(()) };
    Rules { context, snapshot, access }.check(statement)
}

/// What the current role of a session may do, which is no superuser.
struct Rules<'a> {
    context: &'a StatementContext,
    snapshot: Arc<Catalog>,
    access: AccessCheck,
}

impl Rules<'_> {
    fn check(&self, statement: &Statement) -> Result<(), EngineError> {
        match statement.command() {
            Command::Sql(sql) => self.check_sql(sql),
            Command::CreateTableWithoutData(create) => self.check_create_table(create),
            Command::CreateTableOfExecution(create) => self.check_create_table(&create.create),
            Command::Copy(copy) => self.check_copy(copy),
            Command::Sequence(sequence) => self.check_sequence(sequence),
            Command::Maintenance(MaintenanceStatement::Lock { names, mode, .. }) => self.check_lock(names, *mode),
            Command::Maintenance(maintenance) => self.check_maintenance(maintenance),
            Command::Constraint(constraint) => self.check_constraint(constraint),
            Command::Object(object) => self.check_object_change(object),
            Command::RenameIndex(rename) => self.check_alter(rename),
            Command::DropAbsent(_) | Command::Refused(_) => Ok(()),
            Command::Comment(comment) => self.check_comment(comment),
            Command::View(view) => self.check_view(view),
            Command::Domain(domain) => self.check_domain(domain),
            Command::Storage(storage) => self.check_relation_owner(&storage.name),
            // They are checked where they are executed, and what a block runs when that is run.
            Command::Role(_) | Command::Grant(_) | Command::DefaultPrivileges(_) | Command::Do(_) => Ok(()),
            Command::Prepare(_) | Command::Transaction(_) => Ok(()),
        }
    }

    fn check_sql(&self, statement: &ast::Statement) -> Result<(), EngineError> {
        use ast::Statement as S;
        match statement {
            S::Query(query) => self.check_changes(query),
            S::Explain { statement, .. } => self.check_sql(statement),
            S::Insert(insert) => self.check_insert(insert),
            S::Update(update) => self.check_update(update),
            S::Delete(delete) => self.check_delete(delete),
            S::Merge(merge) => self.check_merge(merge),
            S::Truncate(truncate) => self.check_truncate(truncate),
            other => self.check_definition(other),
        }
    }

    fn roles(&self) -> Roles<'_> {
        Roles::of(self.snapshot.access())
    }

    /// Whether the current role has the privileges of another one.
    fn has_role(&self, role: RoleId) -> bool {
        self.roles().has_privileges_of(self.access.role(), role)
    }

    /// The relation of a name with its schema; `None` for what is none of users'.
    ///
    /// # Errors
    /// For a schema that the role may not use.
    fn relation(&self, name: &ObjectName) -> Result<Option<(AccessObject, SchemaId)>, EngineError> {
        Ok(match named_table(self.context, &self.snapshot, name)? {
            Named::Table(def) => Some((AccessObject::Relation(def.id), def.schema)),
            Named::View(view) => Some((AccessObject::Relation(view.id), view.schema)),
            Named::Sequence(known) => Some((AccessObject::Relation(known.definition.id), known.definition.schema)),
            Named::Index(_) | Named::System(..) | Named::Nothing(..) | Named::NoSchema(..) => None,
        })
    }

    fn check_relation_owner(&self, name: &ObjectName) -> Result<(), EngineError> {
        match self.relation(name)? {
            Some((object, _)) => Ok(self.access.check_owner(object)?),
            None => Ok(()),
        }
    }

    /// What is dropped belongs to the role, or its schema does.
    fn check_may_drop(&self, object: AccessObject, schema: Option<SchemaId>) -> Result<(), EngineError> {
        let owns = |schema: SchemaId| self.access.check_owner(AccessObject::Schema(schema)).is_ok();
        match schema.is_some_and(owns) {
            true => Ok(()),
            false => Ok(self.access.check_owner(object)?),
        }
    }
}

fn denied(message: impl Into<String>) -> EngineError {
    SqlError::new(SqlState::InsufficientPrivilege, message.into()).into()
}
