//! Runs a query on the operators.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use arrow::array::ArrayRef;
use braid_base::ByteSize;
use braid_exec::executor::Executor;
use braid_exec::runtime::pipeline::Sink;
use braid_exec::runtime::stop::Stop;
use braid_exec::{Batch, ExecError, FixedBudget, ParameterRow, SharedPlan};
use braid_plan::lowering::{
    Environment, LoweredQuery, NoPlan, NoStoredTables, Numerics, Purpose, Session, is_too_narrow,
};
use braid_plan::optimization::{UniqueKeys, order_joins};
use braid_plan::planning::plan;
use braid_plan::values::Form;
use braid_plan::values::arrays::value_at;
use braid_sql::binder::Statement;
use braid_sql::binder::precedence::rebind_all;
use braid_sql::pg_catalog::TypeId;
use braid_sql::relation::{Columns, Output, Query as BoundQuery};
use braid_sql::syntax::{SqlDialect, parser_of};
use braid_sql::tables::{NoTables, Tables};
use braid_sql::testing::FixedSession;
use braid_sql::testing::naive::{TableRows, rows_of};
use braid_sql::{Evaluation, SqlError, SqlState, SqlType, Value};
use braid_testing::PATIENCE;
use sqlparser::ast::Query;

/// Memory of a query.
const BUDGET: ByteSize = ByteSize(64 << 20);

const WORKERS: usize = 2;

/// How long a cancelled query may go on, on a machine that does other things too: those that are not noticed go on to their ends.
pub const LATE_MAX: Duration = Duration::from_secs(30);

/// The rows of a query as texts, `\N` for null, or its error.
pub fn rows(sql: &str) -> Result<Vec<Vec<String>>, SqlError> {
    rows_with(sql, Numerics::Wide).map(|(rows, _)| rows)
}

/// What became of a query with numerics that may be too narrow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attempt {
    /// It could not fail so.
    Certain,
    /// It could, and did not.
    Successful,
    /// It failed, and was planned again.
    Failed,
}

/// The rows of a query with such numerics.
pub fn rows_with(sql: &str, numerics: Numerics) -> Result<(Vec<Vec<String>>, Attempt), SqlError> {
    let lowered = lowered(sql, numerics)?;
    let batches = match run(&lowered) {
        Err(Failure::TooNarrow) if lowered.is_optimistic => {
            return rows_with(sql, Numerics::Wide).map(|(rows, _)| (rows, Attempt::Failed));
        }
        Err(Failure::TooNarrow) => panic!("{sql} is not optimistic"),
        Err(Failure::OfSql(error)) => return Err(error),
        Err(Failure::Other(other)) => panic!("{other:?}"),
        Ok(batches) => batches,
    };
    let mut rows = Vec::new();
    for batch in batches {
        rows.extend(texts(&lowered, batch)?);
    }
    Ok((rows, if lowered.is_optimistic { Attempt::Successful } else { Attempt::Certain }))
}

/// The plan of a query.
pub fn lowered(sql: &str, numerics: Numerics) -> Result<LoweredQuery, SqlError> {
    let session: Arc<dyn Session> = Arc::new(FixedSession);
    let (bound, columns) = bound(sql)?;
    let (tables, purpose) = (&NoStoredTables, Purpose::OneStatement);
    plan(bound, columns, Environment { session: &session, tables, purpose, numerics }).map_err(NoPlan::into_error)
}

/// The rows of a query by its definition.
pub fn defined_rows(sql: &str) -> Result<Vec<Vec<String>>, SqlError> {
    let (bound, columns) = bound(sql)?;
    let evaluation = Evaluation::new(&FixedSession, &[]);
    let rows = rows_of(&bound, &columns, (&FixedSession, &[]), &NoRows)?;
    let text = |(value, output): (Value, &Output)| {
        Ok(evaluation.text(&value, output.sql_type)?.unwrap_or_else(|| "\\N".to_owned()))
    };
    rows.into_iter().map(|row| row.into_iter().zip(&bound.outputs).map(text).collect()).collect()
}

#[derive(Debug)]
struct NoRows;

impl TableRows for NoRows {
    fn rows(&self, _: u64) -> Vec<Vec<Value>> {
        Vec::new()
    }
}

fn bound(sql: &str) -> Result<(BoundQuery, Columns), SqlError> {
    bound_to(sql, &NoTables)
}

/// A query over tables.
pub fn bound_to(sql: &str, tables: &dyn Tables) -> Result<(BoundQuery, Columns), SqlError> {
    let statement = Statement::new(sql, &FixedSession, tables);
    let bound = statement.binder().whole_query(&parsed(sql)?)?;
    Ok((bound, statement.into_columns()))
}

/// A query over tables with parameters `$1` (integer) and `$2` (numeric).
pub fn bound_with_parameters(sql: &str, tables: &dyn Tables) -> Result<(BoundQuery, Columns), SqlError> {
    let types = [TypeId::INT4, TypeId::NUMERIC].map(|id| Some(SqlType::of(id)));
    let statement = Statement::new(sql, &FixedSession, tables).with_parameters(&types);
    let bound = statement.binder().whole_query(&parsed(sql)?)?;
    Ok((bound, statement.into_columns()))
}

fn parsed(sql: &str) -> Result<Query, SqlError> {
    let syntax_error = |error: sqlparser::parser::ParserError| SqlError::new(SqlState::SyntaxError, error.to_string());
    let dialect = SqlDialect::for_text(sql);
    let mut parser = parser_of(&dialect, sql).map_err(syntax_error)?;
    let mut query = *parser.parse_query().map_err(syntax_error)?;
    rebind_all(&mut query);
    Ok(query)
}

/// The batches of each query of a pass; `None` if the queries cannot share their plan.
pub fn run_pass(query: &LoweredQuery, rows: &[ParameterRow]) -> Option<Vec<Vec<Batch>>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(WORKERS).enable_all().build().unwrap();
    let plan = order_joins(&query.plan, rows, &UniqueKeys::default()).plan;
    let shared = SharedPlan::new(&plan, rows, FixedBudget::new(BUDGET)).ok()?;
    let executor = Executor::new(WORKERS, FixedBudget::new(BUDGET));
    let sinks = runtime.block_on(executor.run_shared(&shared, |_| Collector::default())).unwrap();
    let batches =
        |sinks: Vec<Collector>| sinks.into_iter().flat_map(|sink| std::mem::take(&mut *sink.0.lock().unwrap()));
    Some(sinks.into_iter().map(|sinks| batches(sinks).collect()).collect())
}

/// Collects batches.
#[derive(Default)]
struct Collector(Arc<Mutex<Vec<Batch>>>);

impl Sink for Collector {
    fn consume(&mut self, batch: Batch) -> Result<(), Stop> {
        self.0.lock().unwrap().push(batch);
        Ok(())
    }
}

/// Why a query has no rows.
#[derive(Debug)]
pub enum Failure {
    OfSql(SqlError),
    TooNarrow,
    Other(ExecError),
}

fn run(query: &LoweredQuery) -> Result<Vec<Batch>, Failure> {
    match run_by(query, &Executor::new(WORKERS, FixedBudget::new(BUDGET))) {
        Err(Failure::Other(other)) => panic!("{other:?}"),
        ended => ended,
    }
}

/// Runs a query.
pub fn run_by(query: &LoweredQuery, executor: &Executor) -> Result<Vec<Batch>, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(WORKERS).enable_all().build().unwrap();
    let batches = Arc::new(Mutex::new(Vec::new()));
    let make_sink = || Collector(batches.clone());
    let run = async { tokio::time::timeout(PATIENCE, executor.run(&query.plan, make_sink)).await };
    let Ok(ended) = runtime.block_on(run) else {
        runtime.shutdown_background();
        panic!("the query has not ended after {PATIENCE:?}");
    };
    Err(Failure::OfSql(match ended {
        Ok(_) => return Ok(std::mem::take(&mut batches.lock().unwrap())),
        Err(error) if is_too_narrow(&error) => {
            assert!(batches.lock().unwrap().is_empty(), "rows came before the error");
            return Err(Failure::TooNarrow);
        }
        Err(ExecError::Foreign(error)) => error_of_sql(&*error).expect("an error of SQL"),
        Err(ExecError::SeveralRows) => {
            let message = "more than one row returned by a subquery used as an expression";
            SqlError::new(SqlState::CardinalityViolation, message)
        }
        Err(ExecError::OutOfRange { type_name }) => {
            SqlError::new(SqlState::NumericOutOfRange, format!("{type_name} out of range"))
        }
        Err(other) => return Err(Failure::Other(other)),
    }))
}

/// The error of SQL that an error is, or comes from.
fn error_of_sql(error: &(dyn std::error::Error + 'static)) -> Option<SqlError> {
    match error.downcast_ref::<SqlError>() {
        Some(error) => Some(error.clone()),
        None => error.source().and_then(error_of_sql),
    }
}

/// The rows of a batch as texts.
pub fn texts(query: &LoweredQuery, mut batch: Batch) -> Result<Vec<Vec<String>>, SqlError> {
    let evaluation = Evaluation::new(&FixedSession, &[]);
    let arrays: Vec<ArrayRef> = query
        .schema
        .fields()
        .iter()
        .enumerate()
        .map(|(at, field)| batch.column(at).to_array(field.data_type()).unwrap())
        .collect();
    let row = |row: usize| {
        let values = arrays.iter().zip(&query.columns).zip(&query.forms).map(|((array, (_, sql_type)), form)| {
            let value = match (value_at(array, row, sql_type.id)?, form) {
                (Value::Text(text), Form::Unpadded { length }) => {
                    Value::text(format!("{text:<0$}", usize::try_from(*length).unwrap()))
                }
                (value, _) => value,
            };
            Ok(evaluation.text(&value, *sql_type)?.unwrap_or_else(|| "\\N".to_owned()))
        });
        values.collect::<Result<Vec<_>, SqlError>>()
    };
    (0..batch.row_count()).map(row).collect()
}
