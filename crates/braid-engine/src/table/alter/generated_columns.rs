//! Generated columns in ALTER TABLE: DROP EXPRESSION, and what other actions may do to them and to the columns that they read.

use std::sync::Arc;

use braid_base::ColumnId;
use braid_storage::{ColumnDef, GenerationDef};

use super::altered_table::{AlteredTable, NewValues};
use super::column_types::is_string;
use crate::dml::generated_columns::{bound_generation, generation_syntax};
use crate::notices::Notice;
use crate::statement_context::StatementContext;
use crate::table::Missing;
use crate::table::generated_columns::{checked_generation, generation_with_renamed_column};
use crate::{EngineError, SqlState};
use braid_catalog::column_types::sql_type_of;
use braid_sql::SqlType;
use braid_sql::types::type_names::format_type;

impl AlteredTable {
    /// Binds the expression of the last column, if it is generated: the rows that are there get its values.
    pub(super) fn generate_last(&mut self, context: &StatementContext) -> Result<(), EngineError> {
        let (def, at) = (Arc::new(self.def.clone()), self.def.columns.len() - 1);
        if let Some(written) = &def.columns[at].generated {
            self.def.columns[at].generated = Some(checked_generation(context, (&def, at), written)?);
            self.new_values.insert(def.columns[at].id, NewValues::Generated);
        }
        Ok(())
    }

    /// `ALTER COLUMN … DROP EXPRESSION [IF EXISTS]`
    pub(super) fn drop_expression(
        &mut self,
        context: &StatementContext,
        name: &str,
        missing: Missing,
    ) -> Result<(), EngineError> {
        let table = self.def.name.clone();
        if self.column(name)?.generated.take().is_some() {
            return Ok(());
        }
        let message = format!("column \"{name}\" of relation \"{table}\" is not a stored generated column");
        match missing {
            Missing::Refused => Err(EngineError::new(SqlState::ObjectNotInPrerequisiteState, message)),
            Missing::Skipped => {
                context.raise(Notice::skipping(SqlState::SuccessfulCompletion, &message));
                Ok(())
            }
        }
    }

    /// Refuses a default of a generated column. `hint` says what to use instead.
    pub(super) fn check_not_generated(&mut self, name: &str, hint: Option<&str>) -> Result<(), EngineError> {
        let table = self.def.name.clone();
        if self.column(name)?.generated.is_none() {
            return Ok(());
        }
        let message = format!("column \"{name}\" of relation \"{table}\" is a generated column");
        let error = EngineError::new(SqlState::SyntaxError, message);
        Err(match hint {
            Some(hint) => error.with_hint(hint),
            None => error,
        })
    }

    /// The generated columns that read a column, in the order of the table, with their names.
    pub(super) fn generated_from(&self, column: ColumnId) -> Vec<(ColumnId, String)> {
        self.def.generated_from(column).map(|column| (column.id, column.name.clone())).collect()
    }

    /// Refuses another type of a column that a generated one reads, and USING for a generated one.
    pub(super) fn check_type_of_generation(&mut self, name: &str, has_using: bool) -> Result<(), EngineError> {
        let column = self.column(name)?;
        if column.generated.is_some() && has_using {
            let message = "cannot specify USING when altering type of generated column";
            return Err(EngineError::new(SqlState::InvalidColumnDefinition, message)
                .with_detail(format!("Column \"{name}\" is a generated column.")));
        }
        let id = column.id;
        match self.def.generated_from(id).next() {
            Some(reader) => Err(EngineError::unsupported("cannot alter type of a column used by a generated column")
                .with_detail(format!("Column \"{name}\" is used by generated column \"{}\".", reader.name))),
            None => Ok(()),
        }
    }

    /// Keeps what the expression of a column means that has had another type, as of a default: a string is one of that type.
    ///
    /// # Errors
    /// If its value cannot be cast to the new type (42804).
    pub(super) fn cast_generation(
        &mut self,
        context: &StatementContext,
        before: &ColumnDef,
    ) -> Result<(), EngineError> {
        let Some(generated) = &before.generated else { return Ok(()) };
        let Some(at) = self.def.position(before.id) else { return Ok(()) };
        let syntax = generation_syntax(generated)?;
        let (old, new) = (sql_type_of(before.column_type), sql_type_of(self.def.columns[at].column_type));
        let mut cast = generated.clone();
        if old.id != new.id && is_string(&syntax) {
            cast.expression = format!("({syntax})::{}", format_type(old));
        }
        self.def.columns[at].generated = Some(cast.clone());
        let bound = bound_generation(context, (&Arc::new(self.def.clone()), at), &cast);
        bound.map(drop).map_err(|error| match error.state() {
            SqlState::DatatypeMismatch => {
                let new = format_type(SqlType::of(new.id));
                let message = format!(
                    "generation expression for column \"{}\" cannot be cast automatically to type {new}",
                    before.name
                );
                EngineError::new(SqlState::DatatypeMismatch, message)
            }
            _ => error,
        })
    }

    /// Gives a column another name in all expressions.
    pub(super) fn rename_in_generations(&mut self, from: &str, to: &str) -> Result<(), EngineError> {
        let generated = self.def.columns.iter_mut().filter_map(|column| column.generated.as_mut());
        for generation in generated {
            let renamed: GenerationDef = generation_with_renamed_column(generation, from, to)?;
            *generation = renamed;
        }
        Ok(())
    }
}
