//! Statements that define what there is: the objects belong to the role, and it may create in their schemas. Where a relation or a type is created
//! its schema is checked when its name is ([`crate::table_names::new_name`]).

use std::sync::Arc;

use braid_base::{ColumnId, SchemaId, TableId};
use braid_catalog::privileges::Roles;
use braid_sql::syntax::like_of;
use braid_storage::{AccessObject, CommentSubject, Privileges, TableVersion};
use sqlparser::ast::{
    AlterColumnOperation, AlterSchemaOperation, AlterTable, AlterTableOperation, ArrayElemTypeDef, ColumnOption,
    CreateTable, CreateTableLikeKind, DataType, ForeignKeyConstraint, Ident, ObjectName, ObjectType,
    RenameTableNameKind, Statement, TableConstraint,
};

use super::{Rules, denied};
use crate::EngineError;
use crate::comments::subject_of;
use crate::enum_types::NamedType;
use crate::names::fold;
use crate::sequences::serial_type;
use crate::statement::{
    CommentObject, CommentStatement, CommentedRelation, ConstraintStatement, CreateForm, DomainStatement,
    MaintenanceStatement, ObjectChange, ObjectStatement, ReindexSubject, SequenceChange, SequenceStatement, ViewChange,
    ViewStatement,
};
use crate::table_names::{Named, named_table};

/// What becomes of a type that a statement names.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TypeUse {
    /// Its owner may.
    Altered,
    /// The owner of its schema may, too.
    Dropped,
}

impl Rules<'_> {
    pub(super) fn check_definition(&self, statement: &Statement) -> Result<(), EngineError> {
        match statement {
            Statement::CreateTable(create) => self.check_create_table(create),
            Statement::CreateIndex(create) => {
                self.check_relation_owner(&create.table_name)?;
                match self.relation(&create.table_name)? {
                    Some((_, schema)) => Ok(self.access.check_create_in(schema)?),
                    None => Ok(()),
                }
            }
            Statement::AlterTable(alter) => self.check_alter(alter),
            Statement::Drop { object_type, names, .. } => {
                names.iter().try_for_each(|name| self.check_drop(object_type, name))
            }
            Statement::AlterType(alter) => self.check_type_owner(&alter.name, TypeUse::Altered),
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

    /// Checks a change of a relation, which may be an index.
    pub(super) fn check_alter(&self, alter: &AlterTable) -> Result<(), EngineError> {
        let Some((object, schema)) = self.relation(&alter.name)? else { return self.check_index_owner(&alter.name) };
        self.access.check_owner(object)?;
        alter.operations.iter().try_for_each(|operation| self.check_operation(operation, schema))
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
        for column in &create.columns {
            if let Some((table, _)) = like_of(column) {
                if let Some((object, _)) = self.relation(table)? {
                    self.access.check(object, Privileges::SELECT)?;
                }
            } else {
                self.check_type(&column.data_type)?;
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

    /// A column needs USAGE on its type.
    fn check_type(&self, written: &DataType) -> Result<(), EngineError> {
        match written {
            DataType::Custom(name, _) => match NamedType::find(self.context, &self.snapshot, name)? {
                NamedType::Enum(known) | NamedType::Array(known) => {
                    Ok(self.access.check(AccessObject::Type(known.definition.oid), Privileges::USAGE)?)
                }
                NamedType::Domain(known) | NamedType::DomainArray(known) => {
                    Ok(self.access.check(AccessObject::Type(known.definition.oid), Privileges::USAGE)?)
                }
                _ => Ok(()),
            },
            DataType::Array(ArrayElemTypeDef::SquareBracket(element, _)) => self.check_type(element),
            _ => Ok(()),
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
            // An index is a relation of the schema.
            AlterTableOperation::AddConstraint {
                constraint: TableConstraint::PrimaryKey(_) | TableConstraint::Unique(_),
                ..
            } => Ok(self.access.check_create_in(schema)?),
            AlterTableOperation::AlterColumn { op: AlterColumnOperation::SetDataType { data_type, .. }, .. } => {
                self.check_type(data_type)
            }
            AlterTableOperation::AddColumn { column_def, .. } => {
                self.check_type(&column_def.data_type)?;
                if serial_type(&column_def.data_type)?.is_some() {
                    self.access.check_create_in(schema)?;
                }
                column_def.options.iter().try_for_each(|option| match &option.option {
                    ColumnOption::ForeignKey(key) => self.check_reference(key),
                    // Indexes and sequences are relations of the schema.
                    ColumnOption::PrimaryKey(_)
                    | ColumnOption::Unique(_)
                    | ColumnOption::Generated { generation_expr: None, .. } => {
                        Ok(self.access.check_create_in(schema)?)
                    }
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
            ObjectType::Type => self.check_type_owner(name, TypeUse::Dropped),
            ObjectType::Index => self.check_index(name),
            _ => match self.relation(name)? {
                Some((object, schema)) => self.check_may_drop(object, Some(schema)),
                None => Ok(()),
            },
        }
    }

    /// An index belongs to the owner of its table; the owner of its schema may drop it, too.
    fn check_index(&self, name: &ObjectName) -> Result<(), EngineError> {
        let owns = |schema| self.access.check_owner(AccessObject::Schema(schema)).is_ok();
        match self.table_of_index(name) {
            Some((_, schema)) if owns(schema) => Ok(()),
            _ => self.check_index_owner(name),
        }
    }

    fn check_index_owner(&self, name: &ObjectName) -> Result<(), EngineError> {
        match self.table_of_index(name) {
            Some((table, _)) if self.access.check_owner(AccessObject::Relation(table)).is_err() => {
                let name = name.0.last().and_then(|part| part.as_ident()).map(fold).unwrap_or_default();
                Err(denied(format!("must be owner of index {name}")))
            }
            _ => Ok(()),
        }
    }

    /// The table of an index, and its schema; `None` for what is no index.
    fn table_of_index(&self, name: &ObjectName) -> Option<(TableId, SchemaId)> {
        let object = CommentObject::Relation(CommentedRelation::Index, name.clone());
        let Ok(CommentSubject::Index(key)) = subject_of(self.context, &self.snapshot, &object) else { return None };
        let is_of =
            |table: &&Arc<TableVersion>| table.def.id == key || table.def.keys.iter().any(|known| known.id == key);
        self.snapshot.tables().find(is_of).map(|table| (table.def.id, table.def.schema))
    }

    fn check_schema_owner(&self, name: &Ident) -> Result<(), EngineError> {
        match self.context.schema_of_users(&self.snapshot, &fold(name))? {
            Some(schema) => Ok(self.access.check_owner(AccessObject::Schema(schema))?),
            None => Ok(()),
        }
    }

    fn check_type_owner(&self, name: &ObjectName, use_of: TypeUse) -> Result<(), EngineError> {
        let oid = match NamedType::find(self.context, &self.snapshot, name)? {
            NamedType::Enum(known) | NamedType::Array(known) => known.definition.oid,
            NamedType::Domain(known) | NamedType::DomainArray(known) => known.definition.oid,
            _ => return Ok(()),
        };
        let schema = self.snapshot.schema_of_type(oid).filter(|_| use_of == TypeUse::Dropped);
        self.check_may_drop(AccessObject::Type(oid), schema)
    }

    pub(super) fn check_domain(&self, statement: &DomainStatement) -> Result<(), EngineError> {
        match statement {
            DomainStatement::Create(create) => self.check_type(&create.data_type),
            DomainStatement::Alter { name, .. } => self.check_type_owner(name, TypeUse::Altered),
            DomainStatement::Drop { names, .. } => {
                names.iter().try_for_each(|name| self.check_type_owner(name, TypeUse::Dropped))
            }
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
        match statement {
            SequenceStatement::Create { .. } => Ok(()),
            SequenceStatement::Alter { name, change, .. } => {
                self.check_relation_owner(name)?;
                match (change, self.relation(name)?) {
                    (SequenceChange::Rename(_), Some((_, schema))) => Ok(self.access.check_create_in(schema)?),
                    (SequenceChange::Options(_), _) | (SequenceChange::Rename(_), None) => Ok(()),
                }
            }
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
                    CommentObject::Relation(_, name) => self.check_index_owner(name),
                    _ => Ok(()),
                };
            }
            Ok(CommentSubject::Key(_) | CommentSubject::Role(_)) | Err(_) => return Ok(()),
        };
        Ok(self.access.check_owner(object)?)
    }

    /// The type of the elements of an array type, or the type itself.
    fn element_of(&self, oid: u32) -> u32 {
        self.snapshot.type_of_oid(oid).map_or(oid, |(own, _)| own)
    }

    pub(super) fn check_maintenance(&self, statement: &MaintenanceStatement) -> Result<(), EngineError> {
        match statement {
            // What belongs to others is passed over.
            MaintenanceStatement::Vacuum { .. } | MaintenanceStatement::Analyze { .. } => Ok(()),
            MaintenanceStatement::Checkpoint if !self.has_role(Roles::CHECKPOINT) => {
                Err(denied("must be superuser or have privileges of pg_checkpoint to do CHECKPOINT"))
            }
            MaintenanceStatement::Checkpoint => Ok(()),
            MaintenanceStatement::Reindex { subject, .. } => match subject {
                ReindexSubject::Index(name) => self.check_index_owner(name),
                ReindexSubject::Table(name) => self.check_relation_owner(name),
                ReindexSubject::Schema(name) => self.check_schema_owner(name),
                ReindexSubject::Database(..) => Ok(self.access.check_owner(AccessObject::Database)?),
            },
            MaintenanceStatement::Cluster { table: Some((name, _)), .. } => self.check_relation_owner(name),
            MaintenanceStatement::Cluster { table: None, .. } | MaintenanceStatement::Lock { .. } => Ok(()),
        }
    }
}
