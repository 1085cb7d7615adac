//! From syntax to a physical plan on one snapshot.
//!
//! A planner belongs to one statement: its catalog is one snapshot, its `now()` is one instant, its memory is one
//! budget. It is made from the database's `PlannerBase` of functions and rules, which costs some tens of microseconds.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use arrow::datatypes::{DataType, SchemaRef};
use braid_df::StatementMemory;
use braid_df::bounded::bounded;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, DataFusionError, ScalarValue};
use datafusion::execution::FunctionRegistry;
use datafusion::execution::context::SessionState;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, Projection, ScalarUDF};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{ExecutionPlan, PhysicalExpr, execute_stream};
use datafusion::sql::parser::Statement as PlannerStatement;
use datafusion::sql::sqlparser::ast::{
    self, CastKind, Expr as SqlExpr, LimitClause, Query, Statement as SqlStatement, Value, Visit, Visitor,
};
use datafusion::sql::sqlparser::tokenizer::Location;
use futures::StreamExt;

use super::column_names::{output_names, rename};
use super::join_columns::{KnownTables, joins_by_name, spell_out_joins};
use super::name_check::check_names;
use super::order_by_names::separate_aliases;
use super::parameters::null_of;
use super::plan_names::separate_names;
use super::rewrite::{Parameters, SessionFacts, parameter_index, rewrite};
use crate::catalog::system_queries;
use crate::catalog::system_views::qualify_views;
use crate::sql_types::column_type;
use crate::statement_limits::StatementSize;
use crate::{EngineError, Statement, StatementKind};

/// Plans the queries of one statement.
pub(crate) struct Planner {
    state: SessionState,
    runtime: Arc<RuntimeEnv>,
    /// Whether the system tables, which show the newest state, show another one than the statement's snapshot.
    system_tables_are_newer: bool,
}

/// A planned query.
pub(crate) struct QueryPlan {
    /// DataFusion's plan, not yet optimised.
    pub logical: LogicalPlan,
    /// Names of its columns, see [`output_names`].
    names: Vec<Option<String>>,
}

impl Planner {
    /// A planner on `state`, which has the snapshot's catalog; its plans run in `runtime`.
    pub fn new(mut state: SessionState, runtime: Arc<RuntimeEnv>) -> Self {
        state.mark_start_execution();
        Self { state, runtime, system_tables_are_newer: false }
    }

    /// The same, for a snapshot that is not the newest.
    pub fn with_newer_system_tables(self, are_newer: bool) -> Self {
        Self { system_tables_are_newer: are_newer, ..self }
    }

    /// The session's time zone.
    pub fn zone_name(&self) -> String {
        self.state.config_options().execution.time_zone.clone().unwrap_or_else(|| "UTC".to_owned())
    }

    /// What is planned with.
    pub fn state(&self) -> &SessionState {
        &self.state
    }

    /// Plans the query `query`, which is (part of) `statement`.
    pub async fn plan(
        &self,
        statement: &Statement,
        query: Query,
        parameters: Parameters<'_>,
        session: &dyn SessionFacts,
    ) -> Result<QueryPlan, EngineError> {
        let (tree, names) = self.rewritten(statement, query, parameters, session).await?;
        let logical = self.plan_tree(tree, &|location| statement.position(location)).await?;
        Ok(QueryPlan { logical, names })
    }

    /// The query as DataFusion plans it, and the names of its columns.
    pub async fn rewritten(
        &self,
        statement: &Statement,
        mut query: Query,
        parameters: Parameters<'_>,
        session: &dyn SessionFacts,
    ) -> Result<(SqlStatement, Vec<Option<String>>), EngineError> {
        StatementSize::of(&query).check_for_planning()?;
        qualify_views(&mut query);
        let mut query = self.with_joins_spelled_out(query).await?;
        let names = output_names(&query);
        separate_aliases(&mut query)?;
        let tree = SqlStatement::Query(Box::new(query));
        let text = (statement.kind() == StatementKind::Query).then(|| statement.text());
        if self.system_tables_are_newer && system_queries::is_on_system_tables(&tree) {
            return Err(EngineError::unsupported(
                "the system tables of a transaction block's snapshot are not supported: the database has changed since",
            )
            .with_hint("End the transaction block."));
        }
        let mut tree = system_queries::make_fit(tree, text)?;
        rewrite(&mut tree, parameters, session)?;
        if let SqlStatement::Query(query) = &mut tree {
            separate_names(query);
        }
        // Rows of values have been spelled out, parameters are there.
        StatementSize::of(&tree).check_for_planning()?;
        Ok((tree, names))
    }

    /// The logical plan of a query whose names exist.
    pub async fn logical(&self, tree: SqlStatement) -> Result<LogicalPlan, DataFusionError> {
        self.state.statement_to_plan(PlannerStatement::Statement(Box::new(tree))).await
    }

    /// Adds a function that queries may call.
    pub fn with_function(mut self, function: Arc<ScalarUDF>) -> Result<Self, EngineError> {
        self.state.register_udf(function)?;
        Ok(self)
    }

    /// The query with ON in place of USING, see [`join_columns`](super::join_columns).
    async fn with_joins_spelled_out(&self, mut query: Query) -> Result<Query, EngineError> {
        if !joins_by_name(&query) {
            return Ok(query);
        }
        let tree = PlannerStatement::Statement(Box::new(SqlStatement::Query(Box::new(query.clone()))));
        let mut tables = KnownTables::default();
        for reference in self.state.resolve_table_references(&tree)? {
            if let Ok(schema) = self.state.schema_for_ref(reference.clone())
                && let Some(table) = schema.table(reference.table()).await?
            {
                tables.add(reference.schema(), reference.table(), table.schema());
            }
        }
        spell_out_joins(&mut query, &tables)?;
        Ok(query)
    }

    async fn plan_tree(
        &self,
        tree: SqlStatement,
        position: &(dyn Fn(Location) -> Option<usize> + Sync),
    ) -> Result<LogicalPlan, EngineError> {
        let planner_statement = PlannerStatement::Statement(Box::new(tree.clone()));
        let references = self.state.resolve_table_references(&planner_statement)?;
        check_names(&tree, &references, &self.state, position)?;
        self.state.statement_to_plan(planner_statement).await.map_err(|error| {
            let place = place_of(&error).and_then(position);
            let error = EngineError::from_datafusion(&error);
            match place {
                Some(position) if error.position().is_none() => error.with_position(position),
                _ => error,
            }
        })
    }

    /// The columns of a plan's rows.
    pub fn schema(&self, plan: &QueryPlan) -> Result<SchemaRef, EngineError> {
        let options = self.state.config_options();
        let analyzed = self.state.analyzer().execute_and_check(plan.logical.clone(), options, |_, _| {})?;
        Ok(plan.rename(analyzed.schema().inner()))
    }

    /// An expression without columns, such as a default, ready to be evaluated. It goes through the rules of a query, so
    /// that it means the same.
    pub fn constant(&self, expr: &SqlExpr) -> Result<Arc<dyn PhysicalExpr>, EngineError> {
        let schema = DFSchema::empty();
        let syntax = ast::ExprWithAlias { expr: expr.clone(), alias: None };
        let logical = self.state.create_logical_expr_from_sql_expr(syntax, &schema)?;
        let row = LogicalPlanBuilder::empty(true).project(vec![logical])?.build()?;
        let analyzed = self.state.analyzer().execute_and_check(row, self.state.config_options(), |_, _| {})?;
        let LogicalPlan::Projection(Projection { expr: mut analyzed, .. }) = analyzed else {
            return Err(EngineError::unsupported(format!("{expr} is not supported as a default")));
        };
        let physical = self.state.create_physical_expr(bounded(analyzed.swap_remove(0))?.data, &schema)?;
        self.memory().end_folding();
        Ok(physical)
    }

    /// The physical plan.
    pub async fn physical(&self, plan: &LogicalPlan) -> Result<Arc<dyn ExecutionPlan>, EngineError> {
        Ok(self.state.create_physical_plan(plan).await?)
    }

    /// Starts a physical plan; all its partitions come as one stream.
    pub fn start(&self, plan: Arc<dyn ExecutionPlan>) -> Result<SendableRecordBatchStream, EngineError> {
        let context = TaskContext::from(&self.state).with_runtime(self.runtime.clone());
        let rows = execute_stream(plan, Arc::new(context))?;
        let (schema, stop) = (rows.schema(), StopOnDrop(self.memory()));
        let rows = rows.inspect(move |_| {
            let _held = &stop;
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows)))
    }

    fn memory(&self) -> StatementMemory {
        StatementMemory::of(self.state.config_options())
    }

    /// The types of `$1`, `$2`, …: as given, as the text casts them, or as inferred from what they are compared with;
    /// text where nothing tells.
    pub async fn parameter_types(
        &self,
        statement: &Statement,
        query: &Query,
        given: &[Option<DataType>],
        session: &dyn SessionFacts,
    ) -> Result<Vec<DataType>, EngineError> {
        let mut types = TypesInText::read(query)?.types;
        if types.len() < given.len() {
            types.resize(given.len(), None);
        }
        for (data_type, given) in types.iter_mut().zip(given) {
            if given.is_some() {
                data_type.clone_from(given);
            }
        }
        if types.iter().any(Option::is_none) {
            let plan = self.plan(statement, query.clone(), Parameters::Infer(&types), session).await?;
            let inferred = inferred_types(&plan.logical)?;
            for (at, data_type) in types.iter_mut().enumerate() {
                if data_type.is_none() {
                    *data_type = inferred.get(&format!("${}", at + 1)).cloned();
                }
            }
        }
        Ok(types.into_iter().map(|data_type| data_type.unwrap_or(DataType::Utf8)).collect())
    }
}

/// Lets functions fail that are still called when the rows are not wanted any more.
struct StopOnDrop(StatementMemory);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop();
    }
}

impl QueryPlan {
    /// A plan with these names of its columns.
    pub fn new(logical: LogicalPlan, names: Vec<Option<String>>) -> Self {
        Self { logical, names }
    }

    /// The schema under the names that the client sees.
    pub fn rename(&self, schema: &SchemaRef) -> SchemaRef {
        rename(schema, &self.names)
    }
}

/// One null for each type: a statement is described with them in place of its parameters.
pub(crate) fn nulls_of(types: &[DataType]) -> Result<Vec<ScalarValue>, EngineError> {
    types.iter().map(null_of).collect()
}

/// Where DataFusion says an error is.
fn place_of(error: &DataFusionError) -> Option<Location> {
    let span = error.diagnostic()?.span?;
    Some(Location { line: span.start.line, column: span.start.column })
}

/// The types that the plan's comparisons and function calls give its parameters; of several, the first.
fn inferred_types(plan: &LogicalPlan) -> Result<HashMap<String, DataType>, EngineError> {
    let mut types = HashMap::new();
    plan.apply_with_subqueries(|plan| {
        plan.apply_expressions(|expr| {
            expr.apply(|expr| {
                if let Expr::Placeholder(placeholder) = expr
                    && let Some(field) = &placeholder.field
                {
                    types.entry(placeholder.id.clone()).or_insert_with(|| field.data_type().clone());
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })
    })?;
    Ok(types)
}

/// Parameters of a text, with the types that the text itself gives them: `$1::date`, `LIMIT $2`.
pub(crate) struct TypesInText {
    /// By position; as many as the highest number.
    pub types: Vec<Option<DataType>>,
}

impl TypesInText {
    /// Finds the parameters of a tree.
    pub fn read<T: Visit>(tree: &T) -> Result<Self, EngineError> {
        let mut found = Self { types: Vec::new() };
        match tree.visit(&mut found) {
            ControlFlow::Continue(()) => Ok(found),
            ControlFlow::Break(error) => Err(*error),
        }
    }

    fn note(&mut self, expr: &SqlExpr, data_type: Option<DataType>) -> ControlFlow<Box<EngineError>> {
        let SqlExpr::Value(value) = expr else { return ControlFlow::Continue(()) };
        let Value::Placeholder(name) = &value.value else { return ControlFlow::Continue(()) };
        match parameter_index(name) {
            Ok(at) => {
                if self.types.len() <= at {
                    self.types.resize(at + 1, None);
                }
                if self.types[at].is_none() {
                    self.types[at] = data_type;
                }
                ControlFlow::Continue(())
            }
            Err(error) => ControlFlow::Break(Box::new(error)),
        }
    }
}

impl Visitor for TypesInText {
    type Break = Box<EngineError>;

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<Self::Break> {
        if let Some(LimitClause::LimitOffset { limit, offset, .. }) = &query.limit_clause {
            for count in limit.iter().chain(offset.as_ref().map(|offset| &offset.value)) {
                self.note(count, Some(DataType::Int64))?;
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &SqlExpr) -> ControlFlow<Self::Break> {
        match expr {
            SqlExpr::Cast { kind: CastKind::Cast | CastKind::DoubleColon, expr, data_type, .. } => {
                let data_type = column_type(data_type).ok().map(|column_type| column_type.arrow());
                self.note(expr, data_type)
            }
            expr => self.note(expr, None),
        }
    }
}

#[cfg(test)]
mod tests {
    use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
    use datafusion::sql::sqlparser::parser::Parser;

    use super::*;

    #[test]
    fn the_text_itself_types_some_parameters() {
        let sql = "select $3 from t where a = $1::date limit $2 offset $4";
        let query = Parser::new(&PostgreSqlDialect {}).try_with_sql(sql).unwrap().parse_query().unwrap();
        let types = TypesInText::read(&*query).unwrap().types;
        assert_eq!(types, [Some(DataType::Date32), Some(DataType::Int64), None, Some(DataType::Int64)]);
        let query = Parser::new(&PostgreSqlDialect {}).try_with_sql("select $0").unwrap().parse_query().unwrap();
        assert_eq!(TypesInText::read(&*query).err().unwrap().sqlstate(), "42P02");
    }
}
