//! How PostgreSQL is to store rows: SET STATISTICS, STORAGE, COMPRESSION, CLUSTER ON, SET UNLOGGED and the like.
//!
//! Braid decides these things itself: statistics come with every write, encodings are chosen for each segment, and all rows are logged. The
//! statements are checked as PostgreSQL checks them, so that dumps can be restored, and the client is told that they have no effect.

use std::sync::Arc;

use braid_base::{SchemaId, TableId};
use braid_catalog::column_types::sql_type_of;
use braid_sql::pg_catalog::pg_catalog;
use braid_sql::types::type_names::format_type;
use braid_storage::{Catalog, ColumnDef, ColumnType, KeyDef};
use sqlparser::ast::Ident;

use crate::names::fold;
use crate::notices::Notice;
use crate::statement::{StorageHint, StorageStatement};
use crate::statement_context::StatementContext;
use crate::storage_parameters::check_parameters;
use crate::table_names::{Named, named_table};
use crate::{EngineError, Outcome, SqlState};

/// The least and the most that PostgreSQL knows of a column; -1 is its default.
const STATISTICS: std::ops::RangeInclusive<i64> = -1..=10_000;

/// A relation whose storage is spoken of.
struct Target {
    id: TableId,
    schema: SchemaId,
    name: String,
    /// In PostgreSQL's words.
    kind: &'static str,
    columns: Vec<ColumnDef>,
    keys: Vec<KeyDef>,
    is_temporary: bool,
}

/// Checks what a statement says of the storage of a relation.
///
/// # Errors
/// Those of PostgreSQL: for what does not exist, is of another kind, or does not take the value.
pub(crate) fn check(context: &StatementContext, statement: &StorageStatement) -> Result<Outcome, EngineError> {
    let snapshot = context.snapshot();
    let target = match named_table(context, &snapshot, &statement.name)? {
        Named::Nothing(_, name) | Named::NoSchema(_, name) if statement.if_exists => {
            let message = format!("relation \"{name}\" does not exist");
            context.raise(Notice::skipping(SqlState::SuccessfulCompletion, &message));
            return Ok(Outcome::done(statement.tag));
        }
        named => Target::of(&snapshot, named)?,
    };
    if statement.tag == "ALTER MATERIALIZED VIEW" && target.kind != "materialized views" {
        let message = format!("\"{}\" is not a materialized view", target.name);
        return Err(EngineError::new(SqlState::WrongObjectType, message));
    }
    for hint in &statement.hints {
        target.check(&snapshot, hint)?;
    }
    if statement.hints.iter().filter(|hint| matches!(hint, StorageHint::Logged(_))).count() > 1 {
        return Err(EngineError::unsupported("cannot change persistence setting twice"));
    }
    let is_told = |hint: &&StorageHint| {
        !matches!(hint, StorageHint::WithoutOids | StorageHint::Parameters(_) | StorageHint::ResetParameters)
    };
    for hint in statement.hints.iter().filter(is_told) {
        context.raise(Notice::harmless(
            SqlState::SuccessfulCompletion,
            format!("{} has no effect on \"{}\"", hint.words(), target.name),
        ));
    }
    Ok(Outcome::done(statement.tag))
}

impl Target {
    fn of(snapshot: &Catalog, named: Named) -> Result<Self, EngineError> {
        Ok(match named {
            Named::Sequence(known) => {
                let (id, schema, name) = (known.definition.id, known.definition.schema, known.definition.name.clone());
                Self { id, schema, name, kind: "sequences", columns: Vec::new(), keys: Vec::new(), is_temporary: false }
            }
            Named::View(view) if !view.is_materialized() => {
                let (id, schema, name) = (view.id, view.schema, view.name.clone());
                Self { id, schema, name, kind: "views", columns: Vec::new(), keys: Vec::new(), is_temporary: false }
            }
            Named::View(view) => {
                let def = snapshot.by_id(view.id).map(|version| Arc::clone(&version.def));
                let def = def.ok_or_else(|| EngineError::internal("a materialized view without its table"))?;
                let (columns, keys, name) = (def.columns.clone(), def.keys.clone(), view.name.clone());
                let (id, schema, kind) = (view.id, view.schema, "materialized views");
                Self { id, schema, name, kind, columns, keys, is_temporary: false }
            }
            other => {
                let def = other.into_altered()?;
                let (id, schema, is_temporary) = (def.id, def.schema, snapshot.is_temporary(def.schema));
                let (name, columns, keys) = (def.name.clone(), def.columns.clone(), def.keys.clone());
                Self { id, schema, name, kind: "tables", columns, keys, is_temporary }
            }
        })
    }

    fn check(&self, snapshot: &Catalog, hint: &StorageHint) -> Result<(), EngineError> {
        let is_of_parameters = matches!(hint, StorageHint::Parameters(_) | StorageHint::ResetParameters);
        if is_of_parameters && !["tables", "materialized views"].contains(&self.kind) {
            return Err(EngineError::unsupported(format!("ALTER TABLE ... SET of {} is not supported", self.kind)));
        }
        let is_of_tables = matches!(hint, StorageHint::Logged(_) | StorageHint::WithoutOids);
        if self.kind != "tables" && (is_of_tables || self.kind != "materialized views") {
            let message = format!("ALTER action {} cannot be performed on relation \"{}\"", hint.words(), self.name);
            return Err(EngineError::new(SqlState::WrongObjectType, message)
                .with_detail(format!("This operation is not supported for {}.", self.kind)));
        }
        let column = hint.column().map(|name| self.column(name)).transpose()?;
        let invalid = |message: String| Err(EngineError::new(SqlState::InvalidParameterValue, message));
        match (hint, column) {
            (StorageHint::Statistics(_, target), _) if *target < *STATISTICS.start() => {
                invalid(format!("statistics target {target} is too low"))
            }
            (StorageHint::Storage(_, method), Some(column)) => {
                if !["plain", "external", "extended", "main"].contains(&&**method) {
                    return invalid(format!("invalid storage type \"{method}\""));
                }
                match method == "plain" || has_long_values(column) {
                    true => Ok(()),
                    false => Err(EngineError::unsupported(format!(
                        "column data type {} can only have storage PLAIN",
                        type_name(column)
                    ))),
                }
            }
            (StorageHint::Compression(_, method), Some(column)) => {
                if !["pglz", "lz4", "default"].contains(&&**method) {
                    return invalid(format!("invalid compression method \"{method}\""));
                }
                match has_long_values(column) || method == "default" {
                    true => Ok(()),
                    false => Err(EngineError::unsupported(format!(
                        "column data type {} does not support compression",
                        type_name(column)
                    ))),
                }
            }
            (StorageHint::ColumnOptions(_, options), _) => {
                let known = ["n_distinct", "n_distinct_inherited"];
                match options.iter().find(|option| !known.contains(&&***option)) {
                    Some(unknown) => invalid(format!("unrecognized parameter \"{unknown}\"")),
                    None => Ok(()),
                }
            }
            (StorageHint::Logged(_), _) if self.is_temporary => {
                let message = format!("cannot change logged status of table \"{}\" because it is temporary", self.name);
                let error = EngineError::new(SqlState::InvalidTableDefinition, message);
                Err(error.about_table(self.schema, &self.name))
            }
            (StorageHint::Logged(false), _) => self.check_unreferenced(snapshot),
            (StorageHint::Parameters(parameters), _) => check_parameters(parameters),
            (StorageHint::ClusterOn(Some(index)) | StorageHint::ReplicaIdentity(Some(index)), _) => {
                self.check_index(snapshot, &fold(index))
            }
            _ => Ok(()),
        }
    }

    /// Checks that no other table refers to it: all tables are logged, and must not refer to one that is not.
    fn check_unreferenced(&self, snapshot: &Catalog) -> Result<(), EngineError> {
        let mut references = snapshot.references_to(self.id).into_iter();
        let Some(other) = references.find(|reference| reference.table.id != self.id) else { return Ok(()) };
        let (name, referring) = (&self.name, &other.table.name);
        let message =
            format!("could not change table \"{name}\" to unlogged because it references logged table \"{referring}\"");
        let error = EngineError::new(SqlState::InvalidTableDefinition, message);
        Err(error.about_constraint(self.schema, name, &other.key.name))
    }

    fn column(&self, name: &Ident) -> Result<&ColumnDef, EngineError> {
        let name = fold(name);
        self.columns.iter().find(|column| column.name == name).ok_or_else(|| {
            let message = format!("column \"{name}\" of relation \"{}\" does not exist", self.name);
            EngineError::new(SqlState::UndefinedColumn, message)
        })
    }

    /// Checks that an index is one of the relation.
    fn check_index(&self, snapshot: &Catalog, name: &str) -> Result<(), EngineError> {
        if self.keys.iter().any(|key| key.name == name) {
            return Ok(());
        }
        let is_of_others = snapshot.tables().any(|version| version.def.keys.iter().any(|key| key.name == name));
        Err(match is_of_others {
            true => {
                let message = format!("\"{name}\" is not an index for table \"{}\"", self.name);
                EngineError::new(SqlState::WrongObjectType, message)
            }
            false => {
                let message = format!("index \"{name}\" for table \"{}\" does not exist", self.name);
                EngineError::new(SqlState::UndefinedObject, message)
            }
        })
    }
}

/// Whether values of the column vary in length, so that PostgreSQL may keep long ones apart.
fn has_long_values(column: &ColumnDef) -> bool {
    !matches!(column.column_type, ColumnType::Enum(_))
        && pg_catalog().type_entry(sql_type_of(column.column_type).id).length == -1
}

fn type_name(column: &ColumnDef) -> String {
    format_type(sql_type_of(column.column_type))
}
