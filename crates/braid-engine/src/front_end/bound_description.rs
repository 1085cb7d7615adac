//! The parameters and columns of a query as binding finds them.
//!
//! Nothing is planned: as in PostgreSQL no constant is computed before the statement is executed, so that a limit, an offset of a frame or a
//! division fails then, and a parameter that has no value yet is no null.

use std::sync::Arc;

use arrow::datatypes::{Field, Schema, SchemaRef};
use braid_plan::values::Form;
use braid_sql::binder::{ReturnedRows, Statement as BoundStatement};
use braid_sql::relation::{Columns, Output};
use braid_sql::{SqlError, SqlType};
use braid_storage::TableDef;

use super::Described;
use super::operator_query::QuerySource;
use super::returned_query::RowColumns;
use super::session_facts::StatementFacts;
use super::snapshot_tables::SnapshotTables;
use crate::deep_stack::on_deep_stack;
use crate::outcome::described_fields;
use crate::sent_columns::arrow_columns::sent_field;
use crate::statement_context::StatementContext;
use crate::{EngineError, ParameterType, Prepared, Statement};

/// What binding finds of a query.
pub(super) struct BoundDescription {
    /// The types of `$1`, `$2`, …; `unknown` where a part of a statement does not tell them.
    pub parameter_types: Vec<SqlType>,
    /// The columns of the query's rows, or of those that RETURNING returns.
    pub columns: RowColumns,
    /// The same as the client gets them.
    pub schema: SchemaRef,
    /// The tables that the query reads.
    pub tables: Vec<Arc<TableDef>>,
}

/// The parameters and columns of a query, which is not planned. Whether it may run is asked when it runs.
pub(super) fn describe(
    context: &StatementContext,
    statement: &Statement,
    declared: &[Option<SqlType>],
) -> Result<Described, EngineError> {
    let described = BoundDescription::of(context, statement, &QuerySource::default(), declared)?;
    let BoundDescription { parameter_types, schema, tables, .. } = described;
    let parameter_types = parameter_types.into_iter().map(ParameterType::of).collect();
    Ok(Described { prepared: Prepared { parameter_types, schema: Some(schema) }, tables })
}

impl BoundDescription {
    /// Binds a query, with parameters of these types as far as they are declared.
    ///
    /// # Errors
    /// Those of binding it; 54001 if it is too large.
    pub fn of(
        context: &StatementContext,
        statement: &Statement,
        source: &QuerySource,
        declared: &[Option<SqlType>],
    ) -> Result<Self, EngineError> {
        statement.size().check_for_planning()?;
        let tables = SnapshotTables::of(context).with_own(source.tables.clone());
        let views = source.views(context, statement)?;
        let size = statement.size().expressions + views.expressions;
        let described = on_deep_stack(size, || Self::bound(context, statement, (source, &tables), declared))?;
        Ok(Self { tables: tables.into_found(), ..described })
    }

    fn bound(
        context: &StatementContext,
        statement: &Statement,
        (source, tables): (&QuerySource, &SnapshotTables),
        declared: &[Option<SqlType>],
    ) -> Result<Self, SqlError> {
        let facts = StatementFacts::of(context);
        let (text, query) = source.of(statement)?;
        let binding = BoundStatement::new(text, &facts, tables).with_parameters(declared);
        let binder = binding.binder();
        source.returning.iter().for_each(|list| binder.note_returning(&list.syntax));
        let mut bound = match (&source.stored_in, source.locking) {
            (Some(columns), _) => binder.assigned_query(&query, columns)?,
            (None, Some(strength)) => binder.locking_query(&query, strength)?,
            (None, None) => binder.whole_query(&query)?,
        };
        if let Some(list) = &source.returning {
            let ReturnedRows { query, .. } = binder.returned_rows(&list.syntax)?;
            bound = query;
        }
        let parameter_types = match source.tables.are_of_parts() {
            true => binding.parameter_types_of_part(),
            false => binding.parameter_types()?,
        };
        let columns = binding.into_columns();
        let fields = bound.outputs.iter().map(|output| field_of(output, &columns, &facts));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let columns = bound.outputs.into_iter().map(|output| (output.name, output.sql_type));
        Ok(Self { parameter_types, columns: RowColumns::of_types(columns), schema, tables: Vec::new() })
    }
}

fn field_of(output: &Output, columns: &Columns, facts: &StatementFacts<'_>) -> Field {
    let field = sent_field(&output.name, output.sql_type, facts);
    match columns.record_type(output.column) {
        Some(record_type) => {
            let metadata = field.metadata().clone().into_iter().chain([described_fields(record_type)]);
            let metadata = metadata.collect();
            field.with_metadata(metadata)
        }
        None => field,
    }
}

impl RowColumns {
    /// Columns of these names and types, before it is known which values they have.
    fn of_types(columns: impl Iterator<Item = (String, SqlType)>) -> Self {
        let columns: Vec<(String, SqlType)> = columns.collect();
        let forms = columns.iter().map(|(_, sql_type)| Form::of(sql_type.id)).collect();
        Self::new(columns, forms)
    }
}
