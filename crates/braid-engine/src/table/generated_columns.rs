//! GENERATED ALWAYS AS (…) STORED: expressions are kept as texts, and follow the names of their columns, as those of CHECK do.

use std::sync::Arc;

use braid_base::{ColumnId, SchemaId, TableId};
use braid_sql::functions::SessionFacts;
use braid_storage::{GenerationDef, NewTable, TableDef};
use sqlparser::ast::Expr;

use super::definition::condition_text;
use crate::EngineError;
use crate::column_names::{renamed, without_table};
use crate::dml::generated_columns::{bound_generation, generation_syntax};
use crate::front_end::StatementFacts;
use crate::statement_context::StatementContext;

/// An expression as it is written, which is yet to be bound.
///
/// # Errors
/// For one that is too large.
pub(super) fn written_generation(expression: &Expr, session: &dyn SessionFacts) -> Result<GenerationDef, EngineError> {
    Ok(GenerationDef { expression: condition_text(expression, session)?, columns: Vec::new() })
}

/// A table that is to be created, whose generated columns are bound.
///
/// # Errors
/// Those of their expressions.
pub(super) fn with_generated_columns(
    context: &StatementContext,
    schema: SchemaId,
    mut table: NewTable,
) -> Result<NewTable, EngineError> {
    if table.columns.iter().all(|column| column.generated.is_none()) {
        return Ok(table);
    }
    let NewTable { name, columns, primary_key } = table.clone();
    let def = TableDef {
        id: TableId(u32::MAX),
        schema,
        name,
        next_column_id: u16::try_from(columns.len()).unwrap_or(u16::MAX),
        columns,
        primary_key,
        checks: Vec::new(),
        keys: Vec::new(),
        foreign_keys: Vec::new(),
    };
    let def = Arc::new(def);
    for (at, column) in table.columns.iter_mut().enumerate() {
        if let Some(written) = &mut column.generated {
            *written = checked_generation(context, (&def, at), written)?;
        }
    }
    Ok(table)
}

/// How the column at a place is generated, from what is written: with the columns that it reads.
///
/// # Errors
/// Those of its expression; 0A000 if a constant in it depends on the session.
pub(super) fn checked_generation(
    context: &StatementContext,
    (def, at): (&Arc<TableDef>, usize),
    written: &GenerationDef,
) -> Result<GenerationDef, EngineError> {
    let mut syntax = generation_syntax(written)?;
    let snapshot = context.snapshot();
    without_table(&mut syntax, snapshot.schema_name(def.schema).unwrap_or_default(), &def.name);
    let generated =
        GenerationDef { expression: condition_text(&syntax, &StatementFacts::of(context))?, columns: Vec::new() };
    let bound = bound_generation(context, (def, at), &generated)?;
    bound.check_constants(&generated.expression, &syntax)?;
    let columns: Vec<ColumnId> = bound.columns().map(|at| def.columns[at].id).collect();
    Ok(GenerationDef { columns, ..generated })
}

/// An expression in which a column has another name.
///
/// # Errors
/// When it does not parse.
pub(super) fn generation_with_renamed_column(
    generated: &GenerationDef,
    from: &str,
    to: &str,
) -> Result<GenerationDef, EngineError> {
    let expression = renamed(generation_syntax(generated)?, from, to).to_string();
    Ok(GenerationDef { expression, ..generated.clone() })
}
