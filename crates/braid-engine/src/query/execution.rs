//! A query from its syntax to its rows.

use std::sync::Arc;

use arrow::datatypes::{DataType, SchemaRef};
use braid_df::BraidTable;
use braid_storage::TableDef;
use datafusion::common::ScalarValue;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::sql::sqlparser::ast::Query;

use super::planner::{Planner, nulls_of};
use super::result_stream::{ResultStream, in_zone};
use super::rewrite::Parameters;
use super::shown_lengths::shown_lengths;
use crate::interrupt::Interrupt;
use crate::outcome::ParameterType;
use crate::statement_context::StatementContext;
use crate::{EngineError, Outcome, Prepared, Statement};

/// A query that is ready to run.
pub(crate) struct PlannedQuery {
    /// What starts the plan.
    pub planner: Planner,
    /// The plan.
    pub physical: Arc<dyn ExecutionPlan>,
    /// Its columns, under the names that the client sees.
    pub schema: SchemaRef,
    /// The length that each column is padded to for the client, or why a column has no one length.
    pub lengths: Result<Vec<Option<u32>>, EngineError>,
}

/// Which query is planned.
pub(crate) enum QuerySource {
    /// The one that the statement consists of, or contains. It is copied where it is planned, since it may be deep.
    Statement,
    /// Another one, which is not deep.
    Other(Box<Query>),
}

impl QuerySource {
    /// The query of a statement.
    pub fn of(self, statement: &Statement) -> Result<Query, EngineError> {
        match self {
            Self::Other(query) => Ok(*query),
            Self::Statement => {
                let query = statement.query().ok_or_else(|| EngineError::internal("a statement without a query"))?;
                Ok(query.clone())
            }
        }
    }
}

/// A query that is prepared.
pub(crate) struct PreparedQuery {
    /// Its description.
    pub prepared: Prepared,
    /// The tables that it reads, on which the description depends; `None` if it reads something else.
    pub tables: Option<Vec<Arc<TableDef>>>,
}

/// Plans a query on a planning thread.
pub(crate) async fn plan(
    context: &StatementContext,
    statement: &Statement,
    source: QuerySource,
    params: &[ScalarValue],
) -> Result<PlannedQuery, EngineError> {
    let (statement, params) = (statement.clone(), params.to_vec());
    let size = statement.size();
    let work = async move |context: StatementContext| {
        let planner = Planner::of(&context);
        let query = source.of(&statement)?;
        let plan = planner.plan(&statement, query, Parameters::Values(&params), &context).await?;
        let lengths = shown_lengths(&plan.logical);
        let physical = planner.physical(&plan.logical).await?;
        let schema = plan.rename(&physical.schema());
        Ok(PlannedQuery { planner, physical, schema, lengths })
    };
    context.plan_apart(size, work).await
}

/// Plans and starts a query; its rows flow as the stream is polled.
pub(crate) async fn execute(
    context: &StatementContext,
    statement: &Statement,
    source: QuerySource,
    params: &[ScalarValue],
    interrupt: &Interrupt,
) -> Result<Outcome, EngineError> {
    let PlannedQuery { planner, physical, schema, lengths } = plan(context, statement, source, params).await?;
    let schema = in_zone(&schema, &planner.zone_name());
    let rows = planner.start(physical)?;
    let running = context.database().statements().token();
    let stream = ResultStream::guard(rows, schema.clone(), lengths?, interrupt, context.on_failure(), running);
    Ok(Outcome::Rows { schema, stream, tag: "SELECT" })
}

/// The types of a query's parameters and columns.
pub(crate) async fn prepare(
    context: &StatementContext,
    statement: &Statement,
    given: &[Option<DataType>],
) -> Result<PreparedQuery, EngineError> {
    let (statement, given) = (statement.clone(), given.to_vec());
    let size = statement.size();
    let work = async move |context: StatementContext| {
        let planner = Planner::of(&context);
        let query = QuerySource::Statement.of(&statement)?;
        let parameter_types = planner.parameter_types(&statement, &query, &given, &context).await?;
        let nulls = nulls_of(&parameter_types)?;
        let plan = planner.plan(&statement, query, Parameters::Values(&nulls), &context).await?;
        let parameter_types = ParameterType::of_arrow(parameter_types);
        let prepared = Prepared { parameter_types, schema: Some(planner.schema(&plan)?) };
        Ok(PreparedQuery { prepared, tables: tables_of(&plan.logical) })
    };
    context.plan_apart(size, work).await
}

/// The tables that a plan reads; `None` if it reads something else.
fn tables_of(plan: &LogicalPlan) -> Option<Vec<Arc<TableDef>>> {
    let (mut tables, mut all_are_tables) = (Vec::new(), true);
    let visited = plan.apply_with_subqueries(|node| {
        if let LogicalPlan::TableScan(scan) = node {
            match source_as_provider(&scan.source)?.downcast_ref::<BraidTable>() {
                Some(table) => tables.push(table.version().def.clone()),
                None => all_are_tables = false,
            }
        }
        Ok(TreeNodeRecursion::Continue)
    });
    (visited.is_ok() && all_are_tables).then_some(tables)
}

/// The types of the parameters of the query in a statement.
pub(crate) async fn parameter_types(
    context: &StatementContext,
    statement: &Statement,
    given: &[Option<DataType>],
) -> Result<Vec<DataType>, EngineError> {
    let (statement, given) = (statement.clone(), given.to_vec());
    let size = statement.size();
    let work = async move |context: StatementContext| {
        let planner = Planner::of(&context);
        let query = QuerySource::Statement.of(&statement)?;
        planner.parameter_types(&statement, &query, &given, &context).await
    };
    context.plan_apart(size, work).await
}
