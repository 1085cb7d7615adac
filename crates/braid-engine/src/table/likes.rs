//! LIKE in CREATE TABLE: what is copied of tables and views.
//!
//! Columns come with their names, types and NOT NULL, and with what the options include. As in PostgreSQL the table gets first what is written
//! in the statement itself, and then what LIKE copies: so written constraints choose their names first. Check constraints keep their names,
//! keys and indexes get new ones, and an identity column gets a sequence of its own. A default is the same text, and takes the numbers of the
//! same sequence. STATISTICS, STORAGE and COMPRESSION include what no table of Braid has.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::sync::Arc;

use braid_base::{ColumnId, SchemaId, TableId};
use braid_catalog::column_types::type_of_oid;
use braid_catalog::object_ids::index_of_object_id;
use braid_sql::SqlType;
use braid_sql::functions::SessionFacts;
use braid_sql::syntax::{LikeOption, LikeOptions, like_of};
use braid_storage::{
    Catalog, CatalogDomain, CheckDef, ColumnDef, CommentSubject, KeyDef, KeyForm, NewTable, SequenceDef, SequenceUse,
    TableDef, ViewDef, WriteSet,
};
use sqlparser::ast::{ColumnDef as SqlColumn, CreateTable, DataType, Ident, ObjectName};

use super::definition::multiple_primary_keys;
use super::index_form::{form_with_columns, member_names};
use super::keys::{WrittenKey, check_key_count, chosen_name};
use crate::front_end::StatementFacts;
use crate::names::table_parts;
use crate::sequences::OwnSequences;
use crate::sql_types::column_type_of_sql_type;
use crate::statement_context::StatementContext;
use crate::table_names::{Named, named_table};
use crate::{EngineError, SqlState};

/// CREATE TABLE without LIKE, and what that copies.
#[derive(Debug)]
pub(crate) struct Likes {
    /// The statement, with a column in the place of each that is copied.
    pub create: CreateTable,
    /// The copied columns, by their places.
    pub columns: BTreeMap<usize, ColumnDef>,
    /// The copied check constraints.
    pub checks: Vec<CheckDef>,
    identities: Vec<(usize, SequenceUse, Arc<SequenceDef>)>,
    /// The columns of primary keys.
    primary_keys: Vec<Vec<String>>,
    keys: Vec<CopiedKey>,
    /// Comments on columns, by their places, and on the index of a primary key that is only declared.
    comments: Vec<(Option<usize>, Arc<str>)>,
}

/// A key or an index that is to be made like another one.
#[derive(Debug)]
struct CopiedKey {
    like: WrittenKey,
    /// The names of its columns.
    columns: Vec<String>,
    /// What else it is, and the definition that its columns are of.
    form: Option<(Arc<KeyForm>, Arc<TableDef>)>,
    /// The names of the columns that it orders for patterns.
    patterns: Vec<String>,
    comment: Option<Arc<str>>,
}

impl Likes {
    /// What a statement copies.
    ///
    /// # Errors
    /// For relations that do not exist or have no columns to be copied.
    pub fn of(context: &StatementContext, create: &CreateTable) -> Result<Self, EngineError> {
        let (columns, checks, identities, primary_keys, keys, comments) = Default::default();
        let mut likes = Self { create: create.clone(), columns, checks, identities, primary_keys, keys, comments };
        if !create.columns.iter().any(|column| like_of(column).is_some()) {
            return Ok(likes);
        }
        likes.create.columns.clear();
        let snapshot = context.snapshot();
        for column in &create.columns {
            match like_of(column) {
                None => likes.create.columns.push(column.clone()),
                Some((name, options)) => match source(context, &snapshot, name)? {
                    Source::Table(def) => likes.copy_table(&snapshot, &def, options),
                    Source::View(view) => likes.copy_view(&snapshot, &view, options)?,
                },
            }
        }
        Ok(likes)
    }

    fn copy_table(&mut self, snapshot: &Catalog, def: &TableDef, options: LikeOptions) {
        let comment_on = |subject: CommentSubject| {
            snapshot.comment_on(&subject).filter(|_| options.include(LikeOption::Comments)).cloned()
        };
        for column in &def.columns {
            let usage = snapshot.identity_of(def.id, column.id);
            let identity = usage.and_then(|usage| Some((usage, snapshot.sequences_of(def.id, column.id).next()?)));
            let has_default = usage.is_none() && options.include(LikeOption::Defaults);
            let default = column.default.clone().filter(|_| has_default);
            let generated = column.generated.clone().filter(|_| options.include(LikeOption::Generated));
            let domain = column.domain;
            let copied = ColumnDef { generated, domain, ..ColumnDef::new(column.name.clone(), column.column_type) };
            let comment = comment_on(CommentSubject::Column(def.id, column.id));
            let at = self.push_column(ColumnDef { nullable: column.nullable, default, ..copied }, comment);
            if let Some((usage, known)) = identity.filter(|_| options.include(LikeOption::Identity)) {
                self.identities.push((at, usage, Arc::clone(&known.definition)));
            }
        }
        if options.include(LikeOption::Constraints) {
            let comment = |check: &CheckDef| check.comment.clone().filter(|_| options.include(LikeOption::Comments));
            self.checks.extend(def.checks.iter().map(|check| CheckDef { comment: comment(check), ..check.clone() }));
        }
        if options.include(LikeOption::Indexes) {
            self.copy_keys(def, comment_on);
        }
    }

    fn copy_keys(&mut self, def: &TableDef, comment_on: impl Fn(CommentSubject) -> Option<Arc<str>>) {
        let names = |columns: &[ColumnId]| -> Vec<String> {
            let columns = columns.iter().filter_map(|column| def.column_by_id(*column));
            columns.map(|column| column.name.clone()).collect()
        };
        if !def.primary_key.is_empty() {
            self.primary_keys.push(names(&def.primary_key));
        }
        if def.has_declared_primary_key() {
            self.comments.extend(comment_on(CommentSubject::Index(def.id)).map(|comment| (None, comment)));
        }
        for KeyDef { id, columns, kind, nulls, patterns, form, .. } in &def.keys {
            let shown = form.as_ref().map_or_else(|| names(columns), |form| member_names(def, form));
            let like = WrittenKey { name: None, columns: shown, kind: *kind, nulls: *nulls, is_enforced: true };
            let form = form.as_ref().map(|form| (form.clone(), Arc::new(def.clone())));
            let (columns, patterns) = (names(columns), names(patterns));
            let comment = comment_on(CommentSubject::Index(*id));
            self.keys.push(CopiedKey { like, columns, patterns, form, comment });
        }
    }

    fn copy_view(&mut self, snapshot: &Catalog, view: &ViewDef, options: LikeOptions) -> Result<(), EngineError> {
        for (column, place) in view.columns.iter().zip(0..) {
            let sql_type = SqlType { id: type_of_oid(snapshot, column.type_oid), modifier: column.modifier };
            let domain = sql_type.id.domain().and_then(|id| snapshot.domain(id.definition().oid));
            let domain = domain.map(CatalogDomain::of_column);
            let column_type = column_type_of_sql_type(sql_type.base())?;
            let copied = ColumnDef { domain, ..ColumnDef::new(column.name.clone(), column_type) };
            let comment = snapshot.comment_on(&CommentSubject::Column(view.id, ColumnId(place)));
            self.push_column(copied, comment.filter(|_| options.include(LikeOption::Comments)).cloned());
        }
        Ok(())
    }

    /// Adds a column; returns its place.
    fn push_column(&mut self, column: ColumnDef, comment: Option<Arc<str>>) -> usize {
        let at = self.create.columns.len();
        let name = Ident::with_quote('"', &column.name);
        self.create.columns.push(SqlColumn { name, data_type: DataType::Unspecified, options: Vec::new() });
        self.comments.extend(comment.map(|comment| (Some(at), comment)));
        self.columns.insert(at, column);
        at
    }

    /// Lets identity columns have sequences of their own.
    pub fn add_sequences(&self, own: &mut OwnSequences) {
        self.identities.iter().for_each(|(at, usage, like)| own.copy(*at, *usage, like));
    }

    /// Gives a table the primary key that is copied.
    ///
    /// # Errors
    /// If it gets several ones.
    pub fn add_primary_key(&self, table: &mut NewTable) -> Result<(), EngineError> {
        for columns in &self.primary_keys {
            if !table.primary_key.is_empty() {
                return Err(multiple_primary_keys(&table.name));
            }
            for column in &mut table.columns {
                column.nullable &= !columns.contains(&column.name);
            }
            table.primary_key = ids_of(columns, &table.columns);
        }
        Ok(())
    }

    /// Adds the copied keys and indexes behind those of a table, with names that none of its other `constraints` has.
    ///
    /// # Errors
    /// If it gets too many.
    pub fn add_keys(
        &self,
        view: &Catalog,
        (schema, table): (SchemaId, &NewTable),
        (keys, constraints): (&mut Vec<KeyDef>, &BTreeSet<String>),
    ) -> Result<(), EngineError> {
        for CopiedKey { like, columns, patterns, form, .. } in &self.keys {
            let name = chosen_name(view, (schema, &table.name), (keys, constraints), like);
            let columns = ids_of(columns, &table.columns);
            let id_of = |id: ColumnId| {
                let name = form.as_ref().and_then(|(_, def)| def.column_by_id(id)).map(|column| &column.name);
                let copied = table.columns.iter().find(|column| Some(&column.name) == name);
                copied.map_or(id, |column| column.id)
            };
            let form = form.as_ref().map(|(form, _)| Arc::new(form_with_columns(form, id_of)));
            let patterns = ids_of(patterns, &table.columns);
            keys.push(KeyDef { id: TableId(0), name, columns, kind: like.kind, nulls: like.nulls, patterns, form });
        }
        check_key_count(keys)
    }

    /// Sets the copied comments on the new table, whose last keys are those that are copied.
    pub fn set_comments(&self, writes: &mut WriteSet, view: &Catalog, def: &TableDef) {
        for (place, comment) in &self.comments {
            let column = |at: &usize| CommentSubject::Column(def.id, def.columns[*at].id);
            let subject = place.as_ref().map_or(CommentSubject::Index(def.id), column);
            writes.set_comment(view, subject, Some(comment));
        }
        let copied = &def.keys[def.keys.len() - self.keys.len()..];
        for (key, like) in copied.iter().zip(&self.keys) {
            if let Some(comment) = &like.comment {
                writes.set_comment(view, CommentSubject::Index(key.id), Some(comment));
            }
        }
    }
}

/// What columns are copied of.
enum Source {
    Table(Arc<TableDef>),
    View(Arc<ViewDef>),
}

/// The relation of a name.
fn source(context: &StatementContext, snapshot: &Catalog, name: &ObjectName) -> Result<Source, EngineError> {
    match named_table(context, snapshot, name)? {
        Named::Table(def) => Ok(Source::Table(def)),
        Named::View(view) => Ok(match snapshot.by_id(view.id) {
            Some(version) => Source::Table(Arc::clone(&version.def)),
            None => Source::View(view),
        }),
        Named::Sequence(known) => Err(invalid(&known.definition.name, "sequences")),
        Named::System(..) => Err(EngineError::unsupported("LIKE of relations of the system is not supported")),
        missing => {
            let (schema, name) = table_parts(name, context.database_name())?;
            let names = StatementFacts::of(context).objects();
            let found = names.and_then(|names| names.relation_id(schema.as_deref(), &name));
            match found.and_then(index_of_object_id) {
                Some(_) => Err(invalid(&name, "indexes")),
                None => missing.into_copied().map(Source::Table),
            }
        }
    }
}

fn invalid(relation: &str, kind: &str) -> EngineError {
    let message = format!("relation \"{relation}\" is invalid in LIKE clause");
    EngineError::new(SqlState::WrongObjectType, message)
        .with_detail(format!("This operation is not supported for {kind}."))
}

/// The columns of these names.
fn ids_of(names: &[String], columns: &[ColumnDef]) -> Vec<ColumnId> {
    let id = |name: &String| columns.iter().find(|column| column.name == *name).map(|column| column.id);
    names.iter().filter_map(id).collect()
}
