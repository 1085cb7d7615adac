//! ADD, DROP, ALTER and RENAME of columns.
//!
//! A default that is the same for all rows (also `now()`) is computed once, and becomes the value of the new column in rows that are
//! there: PostgreSQL's fast default. One that may differ from row to row rewrites them.

use std::sync::Arc;

use braid_sql::pg_catalog::key_words::quote_identifier;
use braid_sql::syntax::column_change;
use braid_storage::{Scalar, TableDef, missing_value_of};
use sqlparser::ast::{AlterColumnOperation, ColumnDef as SqlColumn, Expr};

use super::altered_table::{AlteredTable, NewValues, store_error};
use crate::dependents::Behavior;
use crate::dml::assignment::Assignment;
use crate::dml::defaults::{bound_default, default_syntax};
use crate::front_end::StatementFacts;
use crate::notices::Notice;
use crate::sequences::taken_out;
use crate::statement::ColumnChange;
use crate::statement_context::StatementContext;
use crate::table::Missing;
use crate::table::check_constraints::with_renamed_column;
use crate::table::definition::{WrittenConstraints, column_def, default_text, is_null_default};
use crate::table::index_form::form_with_renamed_column;
use crate::table::keys::PlainKeys;
use crate::{EngineError, SqlState};

/// The names of PostgreSQL's system columns, which no other column may have.
const SYSTEM_COLUMNS: [&str; 6] = ["tableoid", "ctid", "xmin", "xmax", "cmin", "cmax"];

/// Longest value that a column can have in rows from before it, in bytes. Longer ones are written into the rows.
const MISSING_BYTES_MAX: usize = 65_536;

/// What a new column has in rows that are there.
enum OldRows {
    Same(Option<Scalar>),
    Computed(Box<Expr>),
}

impl AlteredTable {
    /// `ADD [COLUMN] [IF NOT EXISTS]`
    pub fn add_column(
        &mut self,
        context: &StatementContext,
        written: &SqlColumn,
        if_not_exists: bool,
    ) -> Result<(), EngineError> {
        let mut constraints = WrittenConstraints::default();
        let plain = PlainKeys::of(&context.settings());
        let facts = StatementFacts::of(context);
        let mut written = written.clone();
        let own = taken_out(&mut written, &self.def.name, &facts)?;
        let column = column_def((&self.def.name, &written), &mut constraints, plain, &facts)?;
        let name = column.name.clone();
        if if_not_exists && self.def.column(&name).is_some() {
            let what = format!("column \"{name}\" of relation \"{}\" already exists", self.def.name);
            context.raise(Notice::skipping(SqlState::DuplicateColumn, &what));
            return Ok(());
        }
        check_name(&name)?;
        let is_not_null = !column.nullable;
        self.def = self.def.with_added_column(column).map_err(store_error)?;
        self.generate_last(context)?;
        let old_rows = self.old_rows(context)?;
        let column = self.column(&name)?;
        let (id, default) = (column.id, default_syntax(context, column)?);
        match old_rows {
            OldRows::Same(value) => column.missing = value,
            OldRows::Computed(default) => drop(self.new_values.insert(id, NewValues::Default(*default))),
        }
        self.added_defaults.extend(default.map(|default| (id, default)));
        self.verify_domain(id);
        if let Some(own) = own {
            self.number_last(context, &own)?;
        }
        if is_not_null {
            self.forbid_nulls(&name)?;
        }
        constraints.keys.iter().try_for_each(|key| self.add_key(context, key))?;
        constraints.checks.iter().try_for_each(|check| self.add_check(context, check, true))?;
        constraints.foreign_keys.iter().try_for_each(|key| self.add_foreign_key(context, key, true))
    }

    /// What the last column has in the rows that are there.
    fn old_rows(&self, context: &StatementContext) -> Result<OldRows, EngineError> {
        let Some(column) = self.def.columns.last() else { return Ok(OldRows::Same(None)) };
        let (Some(default), Some(syntax)) = (bound_default(context, column)?, default_syntax(context, column)?) else {
            return Ok(OldRows::Same(None));
        };
        if default.is_volatile() {
            return Ok(OldRows::Computed(Box::new(syntax)));
        }
        let nullable = braid_storage::ColumnDef { nullable: true, ..column.clone() };
        let def = TableDef {
            columns: vec![nullable],
            primary_key: Vec::new(),
            keys: Vec::new(),
            foreign_keys: Vec::new(),
            ..self.def.clone()
        };
        let assignment = Assignment::new(&def.into(), context.reading());
        let value = assignment.convert_column(0, &default.values(1)?)?;
        let value = missing_value_of(value.as_ref(), column.column_type);
        let value = value.map_err(|error| EngineError::internal(error.to_string()))?;
        match &value {
            Some(Scalar::Bytes(bytes)) if bytes.len() > MISSING_BYTES_MAX => Ok(OldRows::Computed(Box::new(syntax))),
            _ => Ok(OldRows::Same(value)),
        }
    }

    /// `DROP [COLUMN] [IF EXISTS]`
    pub fn drop_column(
        &mut self,
        context: &StatementContext,
        name: &str,
        if_exists: bool,
        behavior: Behavior,
    ) -> Result<(), EngineError> {
        if if_exists && self.def.column(name).is_none() {
            let what = format!("column \"{name}\" of relation \"{}\" does not exist", self.def.name);
            context.raise(Notice::skipping(SqlState::SuccessfulCompletion, &what));
            return Ok(());
        }
        let id = self.column(name)?.id;
        self.drop_readers_of(context, name, behavior)?;
        for (_, generated) in self.generated_from(id) {
            self.release_column(context, &generated, behavior)?;
        }
        self.release_column(context, name, behavior)?;
        let of_column = format!("column {} of {}", quote_identifier(name), self.described(context));
        for known in self.catalog().sequences_of(self.def.id, id) {
            self.check_unnamed(known, (name, &of_column), behavior)?;
        }
        self.def = self.def.without_column(name).map_err(store_error)?;
        Ok(())
    }

    /// `RENAME [COLUMN] … TO …`
    pub fn rename_column(&mut self, from: &str, to: &str) -> Result<(), EngineError> {
        if self.def.column(from).is_none() {
            return Err(EngineError::new(SqlState::UndefinedColumn, format!("column \"{from}\" does not exist")));
        }
        check_name(to)?;
        self.def = definition_with_renamed_column(&self.def, from, to)?;
        self.rename_in_generations(from, to)
    }

    /// `ALTER [COLUMN] …`
    pub fn alter_column(
        &mut self,
        context: &StatementContext,
        name: &str,
        change: &AlterColumnOperation,
    ) -> Result<(), EngineError> {
        use AlterColumnOperation as Change;
        if let Change::SetDefault { value } = change
            && let Some(text) = column_change(value)
        {
            return self.change_column(context, name, &ColumnChange::parse(text)?);
        }
        match change {
            Change::SetNotNull => self.forbid_nulls(name),
            Change::DropNotNull => {
                self.check_no_identity(name, None)?;
                self.allow_nulls(name)
            }
            Change::SetDefault { value } => {
                self.check_no_identity(name, None)?;
                self.check_not_generated(name, None)?;
                self.set_default(context, name, value)
            }
            Change::DropDefault => {
                self.check_no_identity(name, Some("Use ALTER TABLE ... ALTER COLUMN ... DROP IDENTITY instead."))?;
                self.check_not_generated(name, Some("Use ALTER TABLE ... ALTER COLUMN ... DROP EXPRESSION instead."))?;
                self.column(name)?.default = None;
                Ok(())
            }
            Change::SetDataType { data_type, using, .. } => self.set_type(context, name, data_type, using.as_ref()),
            Change::AddGenerated { generated_as, sequence_options } => {
                let options = sequence_options.as_deref().unwrap_or_default();
                self.add_identity(context, name, (*generated_as, options))
            }
        }
    }

    /// What else is changed of a column.
    fn change_column(
        &mut self,
        context: &StatementContext,
        name: &str,
        change: &ColumnChange,
    ) -> Result<(), EngineError> {
        match change {
            ColumnChange::DropExpression { if_exists } => self.drop_expression(context, name, Missing::of(*if_exists)),
            ColumnChange::DropIdentity { if_exists } => self.drop_identity(context, name, Missing::of(*if_exists)),
            ColumnChange::Identity(changes) => self.change_identity(context, name, changes),
        }
    }

    fn allow_nulls(&mut self, name: &str) -> Result<(), EngineError> {
        let id = self.column(name)?.id;
        if self.def.primary_key.contains(&id) {
            let message = format!("column \"{name}\" is in a primary key");
            return Err(EngineError::new(SqlState::InvalidTableDefinition, message));
        }
        self.column(name)?.nullable = true;
        Ok(())
    }

    fn set_default(&mut self, context: &StatementContext, name: &str, value: &Expr) -> Result<(), EngineError> {
        let text = default_text(value, &StatementFacts::of(context))?;
        let column = self.column(name)?;
        column.default = Some(text).filter(|text| column.domain.is_some() || !is_null_default(text));
        bound_default(context, column).map(drop)
    }
}

fn check_name(name: &str) -> Result<(), EngineError> {
    if SYSTEM_COLUMNS.contains(&name) {
        let message = format!("column name \"{name}\" conflicts with a system column name");
        return Err(EngineError::new(SqlState::DuplicateColumn, message));
    }
    Ok(())
}

/// A definition in which a column has another name, also in the texts of constraints and indexes; not in those of generated columns.
///
/// # Errors
/// For a column that there is not, and a name that is taken.
pub(crate) fn definition_with_renamed_column(known: &TableDef, from: &str, to: &str) -> Result<TableDef, EngineError> {
    let mut def = known.with_renamed_column(from, to).map_err(store_error)?;
    for check in &mut def.checks {
        *check = with_renamed_column(check, from, to)?;
    }
    let renamed = known.column(from).map(|(id, _)| id);
    for key in def.keys.iter_mut().filter(|key| renamed.is_some_and(|id| key.columns.contains(&id))) {
        key.form = key.form.as_ref().map(|form| form_with_renamed_column(form, from, to)).transpose()?.map(Arc::new);
    }
    Ok(def)
}
