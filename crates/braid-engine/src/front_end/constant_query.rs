//! Queries of one row: `SELECT` of expressions, without FROM or any other clause.
//!
//! They are bound and evaluated in place. One that cannot be computed so (0A000) is for the operators.

use std::sync::Arc;
use std::time::Duration;

use arrow::datatypes::{Field, Schema, SchemaRef};
use braid_exec::MemoryBudget;
use braid_plan::planning_memory::parameter_memory;
use braid_plan::values::RowValues;
use braid_plan::values::counted_values::counted_array_of;
use braid_sql::binder::Statement as BoundStatement;
use braid_sql::binder::precedence::rebind_all;
use braid_sql::expression::{FunctionCall, Node};
use braid_sql::functions::ValueMemory;
use braid_sql::functions::advisory::{awaited_lock, waits_for_lock};
use braid_sql::pg_catalog::pg_catalog;
use braid_sql::syntax::is_no_columns;
use braid_sql::tables::NoTables;
use braid_sql::{Evaluation, Expression, SqlError, SqlState, SqlType, Value};
use sqlparser::ast::{Expr, GroupByExpr, Query, Select, SelectFlavor, SelectItem, SetExpr};

use super::session_facts::StatementFacts;
use super::{takes_long, unless_unsupported};
use crate::bound_parameters::BoundParameters;
use crate::deep_stack::on_deep_stack;
use crate::names::fold;
use crate::sent_columns::arrow_columns::{column_of, described_field};
use crate::statement_context::StatementContext;
use crate::{EngineError, Outcome, ParameterType, Prepared, Statement, StatementKind};

/// Runs a query of one row; `None` if it is none, or is one for the operators.
pub(crate) async fn execute(
    context: &StatementContext,
    statement: &Statement,
    parameters: &BoundParameters,
) -> Result<Option<Outcome>, EngineError> {
    let (types, values) = (parameters.types(), parameters.values());
    let types: Vec<Option<SqlType>> = types.iter().copied().map(Some).collect();
    // Where there are none, the text may name none.
    let bound = match bind(context, statement, Some(&types[..]).filter(|types| !types.is_empty())) {
        Ok(Some(bound)) => bound,
        Ok(None) => return Ok(None),
        Err(error) => return unless_unsupported(Err(error)),
    };
    let bound = bound.after_sleeping(context, values).await?.after_locking(context, values).await?;
    let budget = context.value_budget();
    if !bound.expressions.iter().any(Expression::may_take_long) {
        // Volatile functions are called once.
        let row = match bound.expressions.iter().any(Expression::is_volatile) {
            true => bound.row(context, values, &RowValues::new(&budget), &budget),
            false => bound.row(context, values, &parameter_memory(values), &budget),
        };
        if !matches!(&row, Err(error) if error.state() == SqlState::OutOfMemory) {
            return unless_unsupported(row);
        }
    }
    // Apart, so that a timeout or a cancel ends the statement at once.
    let values = values.to_vec();
    let row =
        async move |context: StatementContext| Ok(bound.row(&context, &values, &RowValues::new(&budget), &budget));
    unless_unsupported(context.plan_alone(row).await?)
}

/// The parameters and columns of a query of one row; `None` as in [`execute`].
pub(crate) fn describe(
    context: &StatementContext,
    statement: &Statement,
    declared: &[Option<SqlType>],
) -> Result<Option<Prepared>, EngineError> {
    let bound = match bind(context, statement, Some(declared)) {
        Ok(Some(bound)) => bound,
        Ok(None) => return Ok(None),
        Err(error) => return unless_unsupported(Err(error)),
    };
    let facts = StatementFacts::of(context);
    let fields = bound.columns().map(|(name, expression)| described_field(name, expression.sql_type, &facts));
    let described = fields.collect::<Result<Vec<Field>, _>>();
    let parameter_types = bound.parameter_types.iter().copied().map(ParameterType::of).collect();
    let prepared = described.map(|fields| Prepared { parameter_types, schema: Some(Arc::new(Schema::new(fields))) });
    unless_unsupported(prepared)
}

/// A query of one row, bound.
struct BoundRow {
    names: Vec<String>,
    expressions: Vec<Expression>,
    parameter_types: Vec<SqlType>,
    /// Expressions of its text, which bound the depth of evaluation.
    size: usize,
}

impl BoundRow {
    fn columns(&self) -> impl Iterator<Item = (&String, &Expression)> {
        self.names.iter().zip(&self.expressions)
    }

    /// The same with values in place of calls of `pg_sleep`, which are waited for in order. The wait ends with the statement. Where other
    /// volatile functions are called, which might tell before from after, the calls stay, and are refused.
    async fn after_sleeping(mut self, context: &StatementContext, parameters: &[Value]) -> Result<Self, EngineError> {
        if !self.only_sleeps() {
            return Ok(self);
        }
        for expression in &mut self.expressions {
            let Some(seconds) = slept(expression) else { continue };
            let seconds = {
                let facts = StatementFacts::of(context);
                Evaluation::new(&facts, parameters).value(seconds)?
            };
            let value = match seconds {
                Value::Float8(seconds) => {
                    let wait = Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX);
                    tokio::time::sleep(wait).await;
                    Value::text(String::new())
                }
                _ => Value::Null,
            };
            *expression = Expression::constant(value, expression.sql_type);
        }
        Ok(self)
    }

    /// The same with values in place of calls that wait for advisory locks, as [`Self::after_sleeping`].
    async fn after_locking(mut self, context: &StatementContext, parameters: &[Value]) -> Result<Self, EngineError> {
        let is_other = |expression: &Expression| expression.is_volatile() && locking(expression).is_none();
        if self.expressions.iter().any(is_other) {
            return Ok(self);
        }
        for expression in &mut self.expressions {
            let Some(call) = locking(expression) else { continue };
            let arguments = {
                let facts = StatementFacts::of(context);
                let evaluation = Evaluation::new(&facts, parameters);
                let values = call.arguments.iter().map(|argument| evaluation.value(argument));
                values.collect::<Result<Vec<Value>, SqlError>>()?
            };
            let value = match arguments.iter().any(Value::is_null) {
                true => Value::Null,
                false => {
                    let symbol = pg_catalog().function(call.function.id).symbol.unwrap_or_default();
                    if let Some(lock) = awaited_lock(symbol, &arguments) {
                        context.lock(lock).await?;
                    }
                    Value::text(String::new())
                }
            };
            *expression = Expression::constant(value, expression.sql_type);
        }
        Ok(self)
    }

    /// Whether it calls `pg_sleep` and no other volatile function.
    fn only_sleeps(&self) -> bool {
        let (sleeping, others): (Vec<_>, Vec<_>) =
            self.expressions.iter().partition(|expression| slept(expression).is_some());
        !sleeping.is_empty() && !others.iter().any(|other| other.is_volatile())
    }

    /// Its row. Long values on the way are counted under `memory`, those of the row under `budget`.
    fn row(
        &self,
        context: &StatementContext,
        parameters: &[Value],
        memory: &dyn ValueMemory,
        budget: &Arc<dyn MemoryBudget>,
    ) -> Result<Outcome, SqlError> {
        let facts = StatementFacts::of(context);
        let evaluation = Evaluation::new(&facts, parameters).with_memory(memory);
        let (mut fields, mut columns) = (Vec::new(), Vec::new());
        // Values are shown with the settings that the row has made, as `set_config` changes them.
        let makes_settings = self.columns().any(|(_, expression)| expression.is_volatile());
        on_deep_stack(self.size, || {
            let computed = match makes_settings {
                true => self.columns().map(|(_, expression)| evaluation.value(expression).map(Some)).collect(),
                false => Ok(vec![None; self.columns().count()]),
            };
            for ((name, expression), computed) in self.columns().zip(computed?) {
                let value = computed.map_or_else(|| evaluation.value(expression), Ok)?;
                let mut field = None;
                columns.push(counted_array_of(value.heap_bytes(), budget, || {
                    let (of_column, column) = column_of(name, &value, expression.sql_type, &facts)?;
                    field = Some(of_column);
                    Ok(column)
                })?);
                fields.extend(field);
            }
            Ok(())
        })?;
        let schema: SchemaRef = Arc::new(Schema::new(fields));
        Outcome::batch(schema, columns, "SELECT").map_err(|error| SqlError::new(error.state(), error.message()))
    }
}

/// A call that waits for an advisory lock, without volatile functions in its arguments.
fn locking(expression: &Expression) -> Option<&FunctionCall> {
    let Node::Call(call) = &expression.node else { return None };
    let symbol = pg_catalog().function(call.function.id).symbol?;
    let is_plain = !call.arguments.iter().any(Expression::is_volatile);
    (is_plain && waits_for_lock(symbol)).then_some(call)
}

/// What a call of `pg_sleep` waits for, without volatile functions.
fn slept(expression: &Expression) -> Option<&Expression> {
    let Node::Call(call) = &expression.node else { return None };
    let is_sleep = pg_catalog().function(call.function.id).symbol == Some("pg_sleep");
    call.arguments.first().filter(|seconds| is_sleep && !seconds.is_volatile())
}

/// Binds a query of one row; `None` if it is none. Without `declared` it has no parameters.
fn bind(
    context: &StatementContext,
    statement: &Statement,
    declared: Option<&[Option<SqlType>]>,
) -> Result<Option<BoundRow>, SqlError> {
    let query = statement.query().filter(|_| statement.kind() == StatementKind::Query);
    let Some(syntax) = query.and_then(select_list) else { return Ok(None) };
    let size = statement.size();
    if size.check_for_planning().is_err() || takes_long(statement.origin(), size) {
        return Ok(None);
    }
    let size = size.expressions;
    let bound = on_deep_stack(size, || {
        let items = syntax.iter().map(item_of).collect::<Result<Vec<_>, _>>()?;
        let facts = StatementFacts::of(context);
        let mut bound = BoundStatement::new(statement.origin(), &facts, &NoTables);
        if let Some(declared) = declared {
            bound = bound.with_parameters(declared);
        }
        let binder = bound.binder();
        let (mut names, mut expressions) = (Vec::new(), Vec::new());
        for (syntax, alias) in items {
            expressions.push(binder.output_expression(&syntax)?);
            names.push(alias.unwrap_or_else(|| binder.expression_name(&syntax)));
        }
        Ok(BoundRow { names, expressions, parameter_types: bound.parameter_types()?, size })
    });
    bound.map(Some)
}

/// An expression of a query of one row, as PostgreSQL's grammar groups it, and the name that the query gives it.
fn item_of(item: &SelectItem) -> Result<(Expr, Option<String>), SqlError> {
    let (mut syntax, alias) = match item {
        SelectItem::UnnamedExpr(expr) => (expr.clone(), None),
        // A string is no name in PostgreSQL.
        SelectItem::ExprWithAlias { expr, alias } if alias.quote_style != Some('\'') => {
            (expr.clone(), Some(fold(alias)))
        }
        _ => return Err(SqlError::unsupported("this select list is not supported")),
    };
    rebind_all(&mut syntax);
    Ok((syntax, alias))
}

/// The select list of a query that has nothing else.
fn select_list(query: &Query) -> Option<&[SelectItem]> {
    let Query {
        with: None,
        body,
        order_by: None,
        limit_clause: None,
        fetch: None,
        locks,
        for_clause: None,
        settings: None,
        format_clause: None,
        pipe_operators,
    } = query
    else {
        return None;
    };
    match &**body {
        SetExpr::Select(select) if locks.is_empty() && pipe_operators.is_empty() => bare_list(select),
        _ => None,
    }
}

/// The select list of a SELECT that has nothing else. Every clause is named here, so that a new one is noticed.
fn bare_list(select: &Select) -> Option<&[SelectItem]> {
    let Select {
        select_token: _,
        optimizer_hints: _,
        distinct: None,
        select_modifiers: None,
        top: None,
        top_before_distinct: _,
        projection,
        exclude: None,
        into: None,
        from,
        lateral_views,
        prewhere: None,
        selection: None,
        connect_by,
        group_by: GroupByExpr::Expressions(grouped, modifiers),
        cluster_by,
        distribute_by,
        sort_by,
        having: None,
        named_window,
        qualify: None,
        window_before_qualify: _,
        value_table_mode: None,
        flavor: SelectFlavor::Standard,
    } = select
    else {
        return None;
    };
    let has_nothing_else = from.is_empty()
        && lateral_views.is_empty()
        && connect_by.is_empty()
        && grouped.is_empty()
        && modifiers.is_empty()
        && cluster_by.is_empty()
        && distribute_by.is_empty()
        && sort_by.is_empty()
        && named_window.is_empty();
    (has_nothing_else && !projection.iter().all(is_no_columns)).then_some(projection)
}
