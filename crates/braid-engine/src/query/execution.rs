//! A query from its syntax to its rows.

use arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::sql::sqlparser::ast::Query;

use super::interrupt::Interrupt;
use super::planner::nulls_of;
use super::result_stream::{ResultStream, in_zone};
use super::rewrite::Parameters;
use crate::{EngineError, Outcome, Prepared, Session, Statement};

/// Plans and starts a query; its rows flow as the stream is polled.
pub(crate) async fn execute(
    session: &Session,
    statement: &Statement,
    query: &Query,
    params: &[ScalarValue],
    interrupt: &Interrupt,
) -> Result<Outcome, EngineError> {
    let (planner, _) = session.planner();
    let plan = planner.plan(statement, query, Parameters::Values(params), session).await?;
    let physical = planner.physical(&plan.logical).await?;
    let schema = in_zone(&plan.rename(&physical.schema()), &planner.zone_name());
    let rows = planner.start(physical)?;
    let running = session.database().statements().token();
    let stream = ResultStream::guard(rows, schema.clone(), interrupt, session.on_failure(), running);
    Ok(Outcome::Rows { schema, stream, tag: "SELECT" })
}

/// The types of a query's parameters and columns.
pub(crate) async fn prepare(
    session: &Session,
    statement: &Statement,
    query: &Query,
    given: &[Option<DataType>],
) -> Result<Prepared, EngineError> {
    let (planner, _) = session.planner();
    let parameter_types = planner.parameter_types(statement, query, given, session).await?;
    let nulls = nulls_of(&parameter_types)?;
    let plan = planner.plan(statement, query, Parameters::Values(&nulls), session).await?;
    Ok(Prepared { parameter_types, schema: Some(planner.schema(&plan)?) })
}
