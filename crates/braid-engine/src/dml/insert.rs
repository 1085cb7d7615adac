//! INSERT.

use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use braid_sql::syntax::plain_values;
use braid_storage::TableDef;
use sqlparser::ast::{Ident, Insert, ObjectName, ObjectNamePart, Query, SetExpr, TableObject};

use super::assignment::Assignment;
use super::identities::Identities;
use super::values::{ValueRows, has_default, is_default, spell_out_default};
use crate::bound_parameters::BoundParameters;
use crate::front_end::{self, StoredIn};
use crate::names::columns_named;
use crate::outcome::ParameterType;
use crate::statement::Overriding;
use crate::statement_context::StatementContext;
use crate::table_names::named_table;
use crate::{EngineError, Outcome, Prepared, SqlState, Statement};

/// An INSERT with its names resolved.
struct Target<'a> {
    def: Arc<TableDef>,
    /// The table's columns in the rows, in the order of the rows.
    columns: Vec<usize>,
    /// The source of the rows; `None` for DEFAULT VALUES.
    source: Option<&'a Query>,
    /// The names of the columns, if the statement lists them.
    listed: Vec<&'a Ident>,
    identities: Identities,
    overriding: Option<Overriding>,
}

/// How rows become rows of the table.
struct Conversion {
    assignment: Assignment,
    sources: Vec<Option<usize>>,
}

impl Conversion {
    fn convert(&self, batch: &RecordBatch) -> Result<RecordBatch, EngineError> {
        self.assignment.convert(batch, &self.sources)
    }
}

/// Runs an INSERT.
pub(crate) async fn execute(
    context: &StatementContext,
    statement: &Statement,
    insert: &Insert,
    params: &BoundParameters,
) -> Result<Outcome, EngineError> {
    let target = Target::of(context, statement, insert)?;
    let mut appender = context.append(&target.def);
    if let Some(batch) = target.plain_rows(context, statement, params)? {
        appender.append(batch).await?;
    } else if let Some(stored_in) = target.stored_in()? {
        context.settle_writes().await?;
        let mut rows = front_end::start_insert(context, statement, &stored_in, params).await?;
        let conversion = target.conversion(context, rows.width())?;
        while let Some(batch) = rows.next().await {
            appender.append(conversion.convert(&batch?)?).await?;
        }
    }
    let row_count = context.add_rows(appender).await?;
    Ok(Outcome::done(format!("INSERT 0 {row_count}")))
}

/// The types of an INSERT's parameters, which are those of their columns.
pub(crate) async fn prepare(
    context: &StatementContext,
    statement: &Statement,
    insert: &Insert,
    declared: &[Option<ParameterType>],
) -> Result<Prepared, EngineError> {
    let target = Target::of(context, statement, insert)?;
    let parameter_types = match target.stored_in()? {
        Some(stored_in) => front_end::insert_parameters(context, statement, &stored_in, declared).await?,
        None => Vec::new(),
    };
    Ok(Prepared { parameter_types, schema: None })
}

impl<'a> Target<'a> {
    fn of(context: &StatementContext, statement: &Statement, insert: &'a Insert) -> Result<Self, EngineError> {
        check_clauses(insert)?;
        let TableObject::TableName(name) = &insert.table else {
            return Err(EngineError::unsupported("INSERT into anything but a table is not supported"));
        };
        let snapshot = context.snapshot();
        let def = named_table(context, &snapshot, name)?.into_filled()?;
        let listed = insert.columns.iter().map(plain_name).collect::<Result<Vec<_>, _>>()?;
        let columns = match listed.is_empty() {
            true => (0..def.columns.len()).collect(),
            false => columns_named(&def.name, &def.columns, listed.iter().copied())?,
        };
        let (identities, overriding) = (Identities::of(&snapshot, &def), statement.overriding());
        let target = Self { def, columns, source: insert.source.as_deref(), listed, identities, overriding };
        target.check_values()?;
        Ok(target)
    }

    /// Refuses values for columns whose values are always generated.
    fn check_values(&self) -> Result<(), EngineError> {
        let values = self.source.and_then(plain_values);
        for row in values.iter().flat_map(|values| &values.rows) {
            for (_, at) in row.content.iter().zip(&self.columns).filter(|(expr, _)| !is_default(expr)) {
                self.identities.check_inserted(&self.def, *at, self.overriding)?;
            }
        }
        Ok(())
    }

    /// Whether values for a column are passed over.
    fn passes_over(&self, at: usize) -> bool {
        self.identities.are_passed_over(at, self.overriding)
    }

    /// The columns that rows are stored in; `None` without rows.
    fn stored_in(&self) -> Result<Option<StoredIn>, EngineError> {
        let Some(query) = self.source else { return Ok(None) };
        let columns = self.columns.iter().map(|at| &self.def.columns[*at]);
        let stored_in = StoredIn::new(columns, self.listed.clone());
        Ok(Some(match plain_values(query) {
            Some(values) if has_default(values) => stored_in.with_rows(self.with_defaults_spelt_out(query)?),
            _ => stored_in,
        }))
    }

    /// How rows with so many columns become rows of the table.
    fn conversion(&self, context: &StatementContext, width: usize) -> Result<Conversion, EngineError> {
        let given = &self.columns[..width];
        if self.source.is_some_and(|query| plain_values(query).is_none()) {
            given.iter().try_for_each(|at| self.identities.check_inserted(&self.def, *at, self.overriding))?;
        }
        let stored: Vec<usize> = given.iter().copied().filter(|at| !self.passes_over(*at)).collect();
        let assignment = Assignment::with_defaults(context, &self.def, &stored)?;
        let mut sources = sources_of(given, self.def.columns.len());
        given.iter().filter(|at| self.passes_over(**at)).for_each(|at| sources[*at] = None);
        Ok(Conversion { assignment, sources })
    }

    /// The rows, if they need no plan.
    fn plain_rows(
        &self,
        context: &StatementContext,
        statement: &Statement,
        params: &BoundParameters,
    ) -> Result<Option<RecordBatch>, EngineError> {
        let Some(query) = self.source else {
            let assignment = Assignment::with_defaults(context, &self.def, &[])?;
            return assignment.assemble(vec![None; self.def.columns.len()], 1).map(Some);
        };
        let Some(values) = plain_values(query) else { return Ok(None) };
        if self.columns.iter().any(|at| self.passes_over(*at)) {
            return Ok(None);
        }
        let assignment = Assignment::with_defaults(context, &self.def, &self.columns)?;
        ValueRows { values, columns: &self.columns, params, text: statement.origin() }.batch(context, &assignment)
    }

    /// `DEFAULT` within VALUES becomes the column's default expression.
    fn with_defaults_spelt_out(&self, query: &Query) -> Result<Query, EngineError> {
        let mut query = query.clone();
        if let SetExpr::Values(values) = &mut *query.body {
            for row in &mut values.rows {
                for (expr, at) in row.content.iter_mut().zip(&self.columns) {
                    spell_out_default(expr, &self.def.columns[*at])?;
                }
            }
        }
        Ok(query)
    }
}

/// The mapping of the rows' columns to the table's columns.
fn sources_of(given: &[usize], column_count: usize) -> Vec<Option<usize>> {
    let mut sources = vec![None; column_count];
    for (source, at) in given.iter().enumerate() {
        sources[*at] = Some(source);
    }
    sources
}

fn plain_name(name: &ObjectName) -> Result<&Ident, EngineError> {
    match name.0.as_slice() {
        [ObjectNamePart::Identifier(ident)] => Ok(ident),
        _ => Err(EngineError::new(SqlState::SyntaxError, format!("{name} is not a column name"))),
    }
}

/// Refuses unsupported clauses of INSERT.
fn check_clauses(insert: &Insert) -> Result<(), EngineError> {
    let refused = [
        (insert.returning.is_some(), "INSERT … RETURNING"),
        (insert.on.is_some(), "INSERT … ON CONFLICT"),
        (insert.or.is_some() || insert.ignore || insert.replace_into, "INSERT OR REPLACE"),
        (insert.overwrite || insert.partitioned.is_some(), "INSERT OVERWRITE"),
        (!insert.assignments.is_empty(), "INSERT … SET"),
        (insert.output.is_some() || insert.settings.is_some() || insert.format_clause.is_some(), "this form of INSERT"),
        (insert.multi_table_insert_type.is_some(), "INSERT into several tables"),
    ];
    match refused.iter().find(|(given, _)| *given) {
        Some((_, what)) => Err(EngineError::unsupported(format!("{what} is not supported"))),
        None => Ok(()),
    }
}
