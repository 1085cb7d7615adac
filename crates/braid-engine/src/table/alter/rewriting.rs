//! The rows of a table with the values of its new definition: those of a query over the rows that are there.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef};
use arrow::record_batch::RecordBatch;
use braid_base::{ColumnId, SchemaId};
use braid_sql::syntax::{SqlDialect, parser_of};
use braid_sql::tables::{ROW_IDS, changed_table_schema};
use braid_storage::{AlteredRows, ColumnChangeError, ColumnDef, ColumnType, TableDef};
use sqlparser::ast::{
    Expr, Ident, ObjectName, ObjectNamePart, Query, SelectItem, SetExpr, Statement as Syntax, TableFactor,
};

use super::altered_table::{AlteredTable, NewValues, store_error};
use super::column_types::check_cast_default;
use crate::bound_parameters::BoundParameters;
use crate::dml::assignment::Assignment;
use crate::dml::domain_checks::DomainChecks;
use crate::dml::generated_columns::GeneratedColumns;
use crate::dml::row_checks::RowChecks;
use crate::front_end::{self, StoredIn};
use crate::statement_context::StatementContext;
use crate::statement_limits::StatementSize;
use crate::{EngineError, SqlState, Statement};
use braid_catalog::column_types::sql_type_of;
use braid_sql::SqlType;
use braid_sql::types::type_names::format_type;

/// What becomes of the rows of a table.
///
/// # Errors
/// For values that have none of the new type, nulls in columns without nulls, and what queries and writing fail with.
pub(super) async fn altered_rows(
    context: &StatementContext,
    statement: &Statement,
    altered: &mut AlteredTable,
) -> Result<AlteredRows, EngineError> {
    if altered.is_rewritten() {
        // All rows will have values of all columns.
        altered.def.columns.iter_mut().for_each(|column| column.missing = None);
    } else if altered.unverified.is_empty() && !has_constrained_domains(context, altered)? {
        // The store compares the keys of the rows that are there.
        return Ok(if altered.has_new_keys() { AlteredRows::Checked } else { AlteredRows::Kept });
    }
    let def = Arc::new(altered.def.clone());
    let id = ColumnDef { nullable: false, ..ColumnDef::new(ROW_IDS, ColumnType::BigInt) };
    let columns = std::iter::once(&id).chain(&def.columns);
    let stored_in = StoredIn::new(columns, Vec::new()).with_rows(query(altered)?);
    let none = BoundParameters::none();
    let started = front_end::start_insert(context, statement, &stored_in, &none).await;
    let mut rows = started.map_err(|error| in_words_of_alter(error, altered))?;
    for column in def.columns.iter().filter(|column| altered.new_values.contains_key(&column.id)) {
        check_cast_default(context, column)?;
    }
    let computed = GeneratedColumns::at(context, &def, |at| altered.is_computed(def.columns[at].id))?;
    // Nulls are refused here, in the words of ALTER TABLE.
    let nullable = Arc::new(with_nulls(&def));
    let assignment = Assignment::new(&nullable, context.reading()).computing(computed);
    let checks = RowChecks::of(context, &def)?;
    let domains = domain_checks(context, altered)?;
    let mut appender = altered.is_rewritten().then(|| context.append(&def));
    while let Some(batch) = rows.next().await {
        let batch = batch?;
        // The first column is the identity of the rows.
        check_nulls(&def, &batch.columns()[1..], |id| !altered.is_computed(id) && !altered.is_numbered(id))?;
        let arrays = def.columns.iter().enumerate().map(|(at, column)| {
            let values = match altered.is_numbered(column.id) {
                true => altered.next_numbers(column.id, batch.num_rows())?,
                false => batch.column(1 + at).clone(),
            };
            assignment.convert_column(at, &values).map(Some)
        });
        let batch = assignment.assemble(arrays.collect::<Result<_, EngineError>>()?, batch.num_rows())?;
        check_nulls(&def, batch.columns(), |id| altered.is_computed(id))?;
        let batch = RecordBatch::try_new(def.arrow_schema(), batch.columns().to_vec())?;
        for (at, checks) in &domains {
            if let Some((_, violation)) = checks.first_violation(batch.column(*at), batch.num_rows())? {
                return Err(checks.error(violation));
            }
        }
        if let Some(name) = checks.violated(&altered.unverified, &batch)? {
            return Err(violated(def.schema, &def.name, name));
        }
        if let Some(appender) = &mut appender {
            appender.append(batch).await?;
        }
    }
    altered.note_numbers(context);
    match appender {
        Some(appender) => Ok(AlteredRows::Replaced(appender.finish().await?)),
        None => Ok(AlteredRows::Checked),
    }
}

/// The constraints of domains that values are not known to satisfy, with the places of their columns.
fn domain_checks(
    context: &StatementContext,
    altered: &AlteredTable,
) -> Result<Vec<(usize, DomainChecks)>, EngineError> {
    let snapshot = context.snapshot();
    let known = altered.unverified_domains();
    let known = known.filter_map(|(at, domain)| Some((at, snapshot.domain(domain.oid)?)));
    known.map(|(at, known)| Ok((at, DomainChecks::of(context, known)?))).collect()
}

fn has_constrained_domains(context: &StatementContext, altered: &AlteredTable) -> Result<bool, EngineError> {
    Ok(domain_checks(context, altered)?.iter().any(|(_, checks)| !checks.is_empty()))
}

/// The first of some columns of a table, in which `find` finds something among the values of some rows, and what.
///
/// # Errors
/// Those of `find`, and what reading fails with.
pub(crate) async fn first_in_columns<T: Send>(
    context: &StatementContext,
    statement: &Statement,
    (def, columns): (&TableDef, &[ColumnId]),
    find: &mut (dyn FnMut(&ArrayRef) -> Result<Option<T>, EngineError> + Send),
) -> Result<Option<(ColumnId, T)>, EngineError> {
    let known: Vec<&ColumnDef> = columns.iter().filter_map(|column| def.column_by_id(*column)).collect();
    let id = ColumnDef { nullable: false, ..ColumnDef::new(ROW_IDS, ColumnType::BigInt) };
    let values = known.iter().map(|column| own_column(def, column)).collect();
    let stored_in = StoredIn::new(std::iter::once(&id).chain(known), Vec::new()).with_rows(query_of(def, values)?);
    let mut rows = front_end::start_insert(context, statement, &stored_in, &BoundParameters::none()).await?;
    while let Some(batch) = rows.next().await {
        let batch = batch?;
        for (column, values) in columns.iter().zip(&batch.columns()[1..]) {
            if let Some(found) = find(values)? {
                return Ok(Some((*column, found)));
            }
        }
    }
    Ok(None)
}

fn violated(schema: SchemaId, table: &str, name: &str) -> EngineError {
    let message = format!("check constraint \"{name}\" of relation \"{table}\" is violated by some row");
    EngineError::new(SqlState::CheckViolation, message).about_constraint(schema, table, name)
}

/// The definition, whose columns may have nulls.
fn with_nulls(def: &TableDef) -> TableDef {
    let nullable = |column: &ColumnDef| ColumnDef { nullable: true, ..column.clone() };
    TableDef { columns: def.columns.iter().map(nullable).collect(), ..def.clone() }
}

/// Checks that those of the columns without nulls have none that are meant.
fn check_nulls(def: &TableDef, columns: &[ArrayRef], is_meant: impl Fn(ColumnId) -> bool) -> Result<(), EngineError> {
    let mut columns = def.columns.iter().zip(columns).filter(|(column, _)| is_meant(column.id));
    match columns.find(|(column, values)| !column.nullable && values.null_count() > 0) {
        Some((column, _)) => {
            let (schema, table, column) = (def.schema, def.name.clone(), column.name.clone());
            Err(store_error(ColumnChangeError::ContainsNulls { schema, table, column }))
        }
        None => Ok(()),
    }
}

/// The identities of the rows, then their values in the columns of the new definition.
fn query(altered: &AlteredTable) -> Result<Query, EngineError> {
    let before = &altered.before().def;
    let mut values = Vec::new();
    for column in &altered.def.columns {
        values.push(match (altered.new_values.get(&column.id), before.column_by_id(column.id)) {
            (Some(NewValues::Using(value)), _) => {
                refuse_subqueries(value)?;
                nested(value.clone())
            }
            (Some(NewValues::Default(value)), _) => nested(value.clone()),
            (Some(NewValues::Generated | NewValues::Numbers), _) => null(),
            (_, Some(old)) => own_column(before, old),
            (_, None) => altered.added_defaults.get(&column.id).cloned().map_or_else(null, nested),
        });
    }
    query_of(before, values)
}

fn quoted(name: &str) -> Ident {
    Ident::with_quote('"', name)
}

fn own_column(def: &TableDef, column: &ColumnDef) -> Expr {
    Expr::CompoundIdentifier(vec![quoted(&def.name), quoted(&column.name)])
}

/// The identities of a table's rows, then these values.
fn query_of(def: &TableDef, values: Vec<Expr>) -> Result<Query, EngineError> {
    let mut query = simplest_query()?;
    let SetExpr::Select(select) = &mut *query.body else { return Err(no_query()) };
    let Some(TableFactor::Table { name, alias, .. }) = select.from.first_mut().map(|from| &mut from.relation) else {
        return Err(no_query());
    };
    *name = ObjectName(vec![
        ObjectNamePart::Identifier(quoted(&changed_table_schema(def.schema.0))),
        ObjectNamePart::Identifier(quoted(&def.name)),
    ]);
    *alias = None;
    let id = Expr::CompoundIdentifier(vec![quoted(ROW_IDS), quoted(ROW_IDS)]);
    let values = std::iter::once(id).chain(values);
    select.projection = values.map(SelectItem::UnnamedExpr).collect();
    Ok(query)
}

fn null() -> Expr {
    Expr::Value(sqlparser::ast::Value::Null.with_empty_span())
}

fn nested(value: Expr) -> Expr {
    Expr::Nested(Box::new(value))
}

fn refuse_subqueries(value: &Expr) -> Result<(), EngineError> {
    match StatementSize::of(value).subquery_depth {
        0 => Ok(()),
        _ => Err(EngineError::unsupported("cannot use subquery in transform expression")),
    }
}

/// The error of a query in the words of ALTER TABLE.
fn in_words_of_alter(error: EngineError, altered: &AlteredTable) -> EngineError {
    let mismatch = |column: &ColumnDef| {
        let new = format_type(SqlType::of(sql_type_of(column.column_type).id));
        let (message, hint) = match altered.new_values.get(&column.id)? {
            NewValues::Cast => (
                format!("column \"{}\" cannot be cast automatically to type {new}", column.name),
                format!(
                    "You might need to specify \"USING {}::{}\".",
                    column.name,
                    format_type(sql_type_of(column.column_type))
                ),
            ),
            NewValues::Using(_) => (
                format!(
                    "result of USING clause for column \"{}\" cannot be cast automatically to type {new}",
                    column.name
                ),
                "You might need to add an explicit cast.".to_owned(),
            ),
            NewValues::Default(_) | NewValues::Generated | NewValues::Numbers => return None,
        };
        let is_of = error.message().starts_with(&format!("column \"{}\" is of type", column.name));
        is_of.then(|| EngineError::new(SqlState::DatatypeMismatch, message).with_hint(hint))
    };
    if error.state() == SqlState::DatatypeMismatch
        && let Some(error) = altered.def.columns.iter().find_map(mismatch)
    {
        return error;
    }
    error.reworded(|message| message.replace("not allowed in UPDATE", "not allowed in transform expressions"))
}

/// A query to be filled.
fn simplest_query() -> Result<Query, EngineError> {
    const TEXT: &str = "SELECT 1 FROM t";
    let dialect = SqlDialect::for_text(TEXT);
    let parsed = parser_of(&dialect, TEXT).and_then(|mut parser| parser.parse_statement());
    match parsed {
        Ok(Syntax::Query(query)) => Ok(*query),
        _ => Err(no_query()),
    }
}

fn no_query() -> EngineError {
    EngineError::internal("the simplest query is not read")
}
