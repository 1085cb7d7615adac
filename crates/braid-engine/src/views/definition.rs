//! What is stored of a view, of its statement and its query as it was bound.

use std::collections::HashSet;

use braid_base::TableId;
use braid_catalog::type_references::{query_with_type_numbers, type_numbers};
use braid_sql::SqlType;
use braid_sql::functions::SessionFacts;
use braid_sql::pg_catalog::TypeId;
use braid_sql::types::type_names::format_type;
use braid_storage::{VIEW_TEXT_BYTES_MAX, ViewColumn, ViewDef, ViewKind, ViewSize};

use super::options::checked_options;
use crate::front_end::{StatementFacts, ViewQuery};
use crate::names::fold;
use crate::notices::Notice;
use crate::statement::CreateView;
use crate::statement_context::StatementContext;
use crate::table_names::{NewName, Persistence, new_name};
use crate::{EngineError, SqlState, Statement};

/// The definition of a view, which has no id yet.
///
/// # Errors
/// For names of columns that do not fit, for texts that are too long, and for a query without columns (0A000).
pub(super) fn definition(
    context: &StatementContext,
    statement: &Statement,
    create: &CreateView,
    NewName { schema, name }: NewName,
    query: ViewQuery,
) -> Result<ViewDef, EngineError> {
    let text = stored_text(context, statement.query_text(create), &query)?;
    if text.len() > VIEW_TEXT_BYTES_MAX {
        let message = format!("the query of a view has {} bytes, more than {VIEW_TEXT_BYTES_MAX}", text.len());
        return Err(EngineError::new(SqlState::ProgramLimitExceeded, message));
    }
    let (facts, size) = (StatementFacts::of(context), statement.size());
    let short = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    Ok(ViewDef {
        id: TableId(0),
        schema,
        name,
        options: checked_options(&create.options)?,
        kind: ViewKind::Plain,
        columns: columns_of(create, query.columns)?,
        text: text.into(),
        sources: query.sources,
        type_oids: query.type_oids.into_iter().collect(),
        time_zone: facts.zone_name(),
        read_at_us: facts.transaction_us(),
        size: ViewSize { levels: short(size.depth.max(size.relations)), expressions: short(size.expressions) },
    })
}

/// The text of a view's query as it is kept: with its types by number.
///
/// # Errors
/// 0A000 for a type where no type is looked for.
fn stored_text(context: &StatementContext, written: &str, query: &ViewQuery) -> Result<String, EngineError> {
    if query.named_types.is_empty() {
        return Ok(written.to_owned());
    }
    let objects = StatementFacts::of(context).objects();
    let text = objects.and_then(|names| query_with_type_numbers(written, &*names));
    let text = text.ok_or_else(|| EngineError::internal("the query of a view does not parse again"))?;
    let numbers = type_numbers(&text);
    match query.named_types.iter().all(|oid| numbers.contains(oid)) {
        true => Ok(text),
        false => Err(EngineError::unsupported("the name of a type in this place of a view is not supported")),
    }
}

/// The columns of the query under the names that the statement gives them.
fn columns_of(create: &CreateView, made: Vec<(String, SqlType)>) -> Result<Vec<ViewColumn>, EngineError> {
    if create.columns.len() > made.len() {
        let message = "CREATE VIEW specifies more column names than columns";
        return Err(EngineError::new(SqlState::SyntaxError, message));
    }
    if made.is_empty() {
        return Err(EngineError::unsupported("a view without columns is not supported"));
    }
    let mut columns = Vec::with_capacity(made.len());
    let mut names = HashSet::new();
    for (at, (own, sql_type)) in made.into_iter().enumerate() {
        let name = create.columns.get(at).map_or_else(|| own.clone(), fold);
        if !names.insert(name.clone()) {
            let message = format!("column \"{name}\" specified more than once");
            return Err(EngineError::new(SqlState::DuplicateColumn, message));
        }
        if [TypeId::RECORD, TypeId::RECORD_ARRAY].contains(&sql_type.id) {
            let message = format!("column \"{name}\" has pseudo-type {}", format_type(sql_type));
            return Err(EngineError::new(SqlState::InvalidTableDefinition, message));
        }
        columns.push(ViewColumn { name, query_name: own, type_oid: sql_type.id.oid(), modifier: sql_type.modifier });
    }
    Ok(columns)
}

/// The name of a view that is to be created. One whose query reads what is temporary is temporary, too.
///
/// # Errors
/// As [`new_name`].
pub(super) async fn name_of(
    context: &StatementContext,
    create: &CreateView,
    query: &ViewQuery,
) -> Result<NewName, EngineError> {
    if create.is_temporary {
        return new_name(context, &create.name, Persistence::Temporary).await;
    }
    if !query.reads_temporary {
        return new_name(context, &create.name, Persistence::Lasting).await;
    }
    let named = new_name(context, &create.name, Persistence::Temporary).await?;
    let message = format!("view \"{}\" will be a temporary view", named.name);
    context.raise(Notice::harmless(SqlState::SuccessfulCompletion, message));
    Ok(named)
}
