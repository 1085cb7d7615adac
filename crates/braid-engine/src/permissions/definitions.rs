//! Statements that define what there is: the objects belong to the role, and it may create in their schemas. Where a relation is created
//! its schema is checked when its name is ([`crate::table_names::new_name`]).

use braid_base::{ColumnId, SchemaId};
use braid_catalog::privileges::Roles;
use braid_storage::{AccessObject, Privileges};
use sqlparser::ast::{
    AlterIndexOperation, AlterSchemaOperation, AlterTableOperation, ColumnOption, CreateTable, CreateTableLikeKind,
    ForeignKeyConstraint, Ident, ObjectName, ObjectType, RenameTableNameKind, Statement, TableConstraint,
};

use super::{Rules, denied};
use crate::EngineError;
use crate::comments::subject_of;
use crate::enum_types::NamedType;
use crate::names::fold;
use crate::statement::{
    CommentObject, CommentStatement, ConstraintStatement, CreateForm, MaintenanceStatement, ObjectChange,
    ObjectStatement, ReindexSubject, SequenceChange, SequenceOption, SequenceStatement, ViewChange, ViewStatement,
};
use crate::table_names::{Named, named_table};
use braid_storage::CommentSubject;

impl Rules<'_> {
    pub(super) fn check_definition(&self, statement: &Statement) -> Result<(), EngineError> {
        match statement {
            Statement::CreateTable(create) => self.check_create_table(create),
            Statement::CreateIndex(create) => self.check_relation_owner(&create.table_name),
            Statement::AlterIndex { name, operation: AlterIndexOperation::RenameIndex { .. } } => {
                self.check_index(name)
            }
            Statement::AlterTable(alter) => {
                if let Some((object, schema)) = self.relation(&alter.name)? {
                    self.access.check_owner(object)?;
                    alter.operations.iter().try_for_each(|operation| self.check_operation(operation, schema))?;
                }
                Ok(())
            }
            Statement::Drop { object_type, names, .. } => {
                names.iter().try_for_each(|name| self.check_drop(object_type, name))
            }
            Statement::CreateType { .. } => {
                Ok(self.access.check(AccessObject::Schema(SchemaId::PUBLIC), Privileges::CREATE)?)
            }
            Statement::AlterType(alter) => self.check_type_owner(&alter.name),
            Statement::CreateSchema { .. } => Ok(self.access.check(AccessObject::Database, Privileges::CREATE)?),
            Statement::AlterSchema(alter) => {
                if let Some(name) = alter.name.0.last().and_then(|part| part.as_ident()) {
                    self.check_schema_owner(name)?;
                }
                match alter.operations.iter().any(|change| matches!(change, AlterSchemaOperation::Rename { .. })) {
                    true => Ok(self.access.check(AccessObject::Database, Privileges::CREATE)?),
                    false => Ok(()),
                }
            }
            // The others are about the session alone, or refused.
            _ => Ok(()),
        }
    }

    pub(super) fn check_create_table(&self, create: &CreateTable) -> Result<(), EngineError> {
        for constraint in &create.constraints {
            if let TableConstraint::ForeignKey(key) = constraint {
                self.check_reference(key)?;
            }
        }
        for option in create.columns.iter().flat_map(|column| &column.options) {
            if let ColumnOption::ForeignKey(key) = &option.option {
                self.check_reference(key)?;
            }
        }
        match &create.like {
            Some(CreateTableLikeKind::Plain(like) | CreateTableLikeKind::Parenthesized(like)) => {
                match self.relation(&like.name)? {
                    Some((object, _)) => Ok(self.access.check(object, Privileges::SELECT)?),
                    None => Ok(()),
                }
            }
            None => Ok(()),
        }
    }

    /// A foreign key needs REFERENCES on the columns that it refers to.
    fn check_reference(&self, key: &ForeignKeyConstraint) -> Result<(), EngineError> {
        let Named::Table(def) = named_table(self.context, &self.snapshot, &key.foreign_table)? else { return Ok(()) };
        let columns: Vec<ColumnId> = match key.referred_columns.is_empty() {
            true => def.primary_key.clone(),
            false => key.referred_columns.iter().filter_map(|column| Some(def.column(&fold(column))?.0)).collect(),
        };
        Ok(self.access.check_columns(&def, &columns, Privileges::REFERENCES)?)
    }

    fn check_operation(&self, operation: &AlterTableOperation, schema: SchemaId) -> Result<(), EngineError> {
        match operation {
            AlterTableOperation::RenameTable {
                table_name: RenameTableNameKind::To(_) | RenameTableNameKind::As(_),
            } => Ok(self.access.check_create_in(schema)?),
            AlterTableOperation::AddConstraint { constraint: TableConstraint::ForeignKey(key), .. } => {
                self.check_reference(key)
            }
            AlterTableOperation::AddColumn { column_def, .. } => {
                column_def.options.iter().try_for_each(|option| match &option.option {
                    ColumnOption::ForeignKey(key) => self.check_reference(key),
                    _ => Ok(()),
                })
            }
            _ => Ok(()),
        }
    }

    fn check_drop(&self, kind: &ObjectType, name: &ObjectName) -> Result<(), EngineError> {
        match kind {
            ObjectType::Schema => match name.0.last().and_then(|part| part.as_ident()) {
                Some(name) => self.check_schema_owner(name),
                None => Ok(()),
            },
            ObjectType::Type => self.check_type_owner(name),
            ObjectType::Index => self.check_index(name),
            _ => match self.relation(name)? {
                Some((object, schema)) => self.check_may_drop(object, Some(schema)),
                None => Ok(()),
            },
        }
    }

    /// An index belongs to the owner of its table.
    fn check_index(&self, name: &ObjectName) -> Result<(), EngineError> {
        let object = CommentObject::Relation(crate::statement::CommentedRelation::Index, name.clone());
        let Ok(CommentSubject::Index(key)) = subject_of(self.context, &self.snapshot, &object) else { return Ok(()) };
        let is_of = |table: &&std::sync::Arc<braid_storage::TableVersion>| {
            table.def.id == key || table.def.keys.iter().any(|known| known.id == key)
        };
        let Some(table) = self.snapshot.tables().find(is_of) else { return Ok(()) };
        match self.check_may_drop(AccessObject::Relation(table.def.id), Some(table.def.schema)) {
            Ok(()) => Ok(()),
            Err(_) => {
                let name = name.0.last().and_then(|part| part.as_ident()).map(fold).unwrap_or_default();
                Err(denied(format!("must be owner of index {name}")))
            }
        }
    }

    fn check_schema_owner(&self, name: &Ident) -> Result<(), EngineError> {
        match self.context.schema_of_users(&self.snapshot, &fold(name))? {
            Some(schema) => Ok(self.access.check_owner(AccessObject::Schema(schema))?),
            None => Ok(()),
        }
    }

    fn check_type_owner(&self, name: &ObjectName) -> Result<(), EngineError> {
        match NamedType::find(self.context, &self.snapshot, name)? {
            NamedType::Enum(known) | NamedType::Array(known) => {
                self.check_may_drop(AccessObject::Type(known.definition.oid), None)
            }
            _ => Ok(()),
        }
    }

    pub(super) fn check_view(&self, statement: &ViewStatement) -> Result<(), EngineError> {
        match statement {
            ViewStatement::Create(create) if matches!(create.form, CreateForm::OrReplace) => {
                self.check_relation_owner(&create.name)
            }
            ViewStatement::Create(_) => Ok(()),
            ViewStatement::Alter(alter) => {
                self.check_relation_owner(&alter.name)?;
                match (&alter.change, self.relation(&alter.name)?) {
                    (ViewChange::Rename(_), Some((_, schema))) => Ok(self.access.check_create_in(schema)?),
                    _ => Ok(()),
                }
            }
            ViewStatement::Refresh(refresh) => match named_table(self.context, &self.snapshot, &refresh.name)? {
                Named::View(view) if view.is_materialized() => {
                    Ok(self.access.check_owner(AccessObject::Relation(view.id))?)
                }
                _ => Ok(()),
            },
        }
    }

    pub(super) fn check_sequence(&self, statement: &SequenceStatement) -> Result<(), EngineError> {
        let check_owned_by = |options: &[SequenceOption]| {
            options.iter().try_for_each(|option| match option {
                SequenceOption::OwnedBy(Some(column)) => self.check_owner_of_column(column),
                _ => Ok(()),
            })
        };
        match statement {
            SequenceStatement::Create { options, .. } => check_owned_by(options),
            SequenceStatement::Alter { name, change, .. } => {
                self.check_relation_owner(name)?;
                match (change, self.relation(name)?) {
                    (SequenceChange::Options(options), _) => check_owned_by(options),
                    (SequenceChange::Rename(_), Some((_, schema))) => Ok(self.access.check_create_in(schema)?),
                    (SequenceChange::Rename(_), None) => Ok(()),
                }
            }
        }
    }

    /// The owner of a sequence is that of the table whose column it belongs to.
    fn check_owner_of_column(&self, column: &ObjectName) -> Result<(), EngineError> {
        match column.0.split_last() {
            Some((_, table)) if !table.is_empty() => self.check_relation_owner(&ObjectName(table.to_vec())),
            _ => Ok(()),
        }
    }

    pub(super) fn check_constraint(&self, statement: &ConstraintStatement) -> Result<(), EngineError> {
        match statement {
            ConstraintStatement::Alter { table, .. } => self.check_relation_owner(table),
            ConstraintStatement::Set { .. } => Ok(()),
        }
    }

    pub(super) fn check_object_change(&self, statement: &ObjectStatement) -> Result<(), EngineError> {
        // A new owner is checked where the object is given to it.
        let ObjectChange::Schema(schema) = &statement.change else { return Ok(()) };
        self.check_object_owner(&statement.object)?;
        match self.context.schema_of_users(&self.snapshot, &fold(schema))? {
            Some(schema) => Ok(self.access.check_create_in(schema)?),
            None => Ok(()),
        }
    }

    pub(super) fn check_comment(&self, statement: &CommentStatement) -> Result<(), EngineError> {
        match &statement.object {
            CommentObject::Constraint(_, table) => self.check_relation_owner(table),
            CommentObject::Role(name) => {
                let role = self.context.role_named_in(&self.snapshot, &fold(name));
                let current = self.access.role();
                match role {
                    Some(role) if self.roles().is_superuser(role) => Err(denied("must be superuser")),
                    Some(_) if !self.roles().creates_roles(current) => Err(denied("must have CREATEROLE privilege")),
                    _ => Ok(()),
                }
            }
            object => self.check_object_owner(object),
        }
    }

    fn check_object_owner(&self, object: &CommentObject) -> Result<(), EngineError> {
        let object = match subject_of(self.context, &self.snapshot, object) {
            Ok(CommentSubject::Relation(id) | CommentSubject::Column(id, _)) => AccessObject::Relation(id),
            Ok(CommentSubject::Schema(id)) => AccessObject::Schema(id),
            Ok(CommentSubject::Type(oid)) => AccessObject::Type(self.element_of(oid)),
            Ok(CommentSubject::Database) => AccessObject::Database,
            Ok(CommentSubject::Index(_)) => {
                return match object {
                    CommentObject::Relation(_, name) => self.check_index(name),
                    _ => Ok(()),
                };
            }
            Ok(CommentSubject::Key(_) | CommentSubject::Role(_)) | Err(_) => return Ok(()),
        };
        Ok(self.access.check_owner(object)?)
    }

    /// The type of the elements of an array type, or the type itself.
    fn element_of(&self, oid: u32) -> u32 {
        let mut types = self.snapshot.enum_types().map(|known| &known.definition);
        types.find(|definition| definition.array_oid == oid).map_or(oid, |definition| definition.oid)
    }

    pub(super) fn check_maintenance(&self, statement: &MaintenanceStatement) -> Result<(), EngineError> {
        match statement {
            MaintenanceStatement::Vacuum { targets, .. } => {
                self.check_targets(targets.iter().map(|of| &of.name), "vacuum")
            }
            MaintenanceStatement::Analyze { targets, .. } => {
                self.check_targets(targets.iter().map(|of| &of.name), "analyze")
            }
            MaintenanceStatement::Checkpoint if !self.has_role(Roles::CHECKPOINT) => {
                Err(denied("must be superuser or have privileges of pg_checkpoint to do CHECKPOINT"))
            }
            MaintenanceStatement::Checkpoint => Ok(()),
            MaintenanceStatement::Reindex { subject, .. } => match subject {
                ReindexSubject::Index(name) => self.check_index(name),
                ReindexSubject::Table(name) => self.check_relation_owner(name),
                ReindexSubject::Schema(name) => self.check_schema_owner(name),
                ReindexSubject::Database(..) => Ok(self.access.check_owner(AccessObject::Database)?),
            },
            MaintenanceStatement::Cluster { table: Some((name, _)), .. } => self.check_relation_owner(name),
            MaintenanceStatement::Cluster { table: None, .. } | MaintenanceStatement::Lock { .. } => Ok(()),
        }
    }

    /// VACUUM and ANALYZE of tables of others, which PostgreSQL passes over with a warning, are refused.
    fn check_targets<'a>(&self, names: impl Iterator<Item = &'a ObjectName>, what: &str) -> Result<(), EngineError> {
        for name in names {
            if let Some((object, _)) = self.relation(name)?
                && self.access.check_owner(object).is_err()
                && self.access.check_owner(AccessObject::Database).is_err()
            {
                let name = name.0.last().and_then(|part| part.as_ident()).map(fold).unwrap_or_default();
                return Err(denied(format!("permission denied to {what} \"{name}\"")));
            }
        }
        Ok(())
    }
}
