//! Runs a query on the operators.

use std::sync::{Arc, Mutex};

use arrow::array::ArrayRef;
use braid_base::ByteSize;
use braid_exec::executor::Executor;
use braid_exec::runtime::pipeline::Sink;
use braid_exec::runtime::stop::Stop;
use braid_exec::{Batch, ExecError, FixedBudget};
use braid_plan::lowering::{LoweredQuery, Session};
use braid_plan::planning::plan;
use braid_plan::values::arrays::value_at;
use braid_sql::binder::Statement;
use braid_sql::binder::precedence::rebind_all;
use braid_sql::syntax::{SqlDialect, parser_of};
use braid_sql::tables::NoTables;
use braid_sql::testing::FixedSession;
use braid_sql::{Evaluation, SqlError, SqlState};
use sqlparser::ast::Query;

/// Memory of a query.
const BUDGET: ByteSize = ByteSize(64 << 20);

const WORKERS: usize = 2;

/// The rows of a query as texts, `\N` for null, or its error.
pub fn rows(sql: &str) -> Result<Vec<Vec<String>>, SqlError> {
    let session: Arc<dyn Session> = Arc::new(FixedSession);
    let statement = Statement::new(sql, &FixedSession, &NoTables);
    let bound = statement.binder().whole_query(&parsed(sql)?)?;
    let lowered = plan(bound, statement.into_columns(), &session)?;
    let batches = run(&lowered)?;
    let mut rows = Vec::new();
    for batch in batches {
        rows.extend(texts(&lowered, batch)?);
    }
    Ok(rows)
}

fn parsed(sql: &str) -> Result<Query, SqlError> {
    let syntax_error = |error: sqlparser::parser::ParserError| SqlError::new(SqlState::SyntaxError, error.to_string());
    let dialect = SqlDialect::for_text(sql);
    let mut parser = parser_of(&dialect, sql).map_err(syntax_error)?;
    let mut query = *parser.parse_query().map_err(syntax_error)?;
    rebind_all(&mut query);
    Ok(query)
}

/// Collects batches.
struct Collector(Arc<Mutex<Vec<Batch>>>);

impl Sink for Collector {
    fn consume(&mut self, batch: Batch) -> Result<(), Stop> {
        self.0.lock().unwrap().push(batch);
        Ok(())
    }
}

fn run(query: &LoweredQuery) -> Result<Vec<Batch>, SqlError> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(WORKERS).enable_all().build().unwrap();
    let batches = Arc::new(Mutex::new(Vec::new()));
    let executor = Executor::new(WORKERS, FixedBudget::new(BUDGET));
    let make_sink = || Collector(batches.clone());
    let ended = runtime.block_on(executor.run(&query.plan, make_sink));
    match ended {
        Ok(_) => Ok(std::mem::take(&mut batches.lock().unwrap())),
        Err(ExecError::Foreign(error)) => Err(*error.downcast::<SqlError>().expect("an error of SQL")),
        Err(ExecError::SeveralRows) => {
            let message = "more than one row returned by a subquery used as an expression";
            Err(SqlError::new(SqlState::CardinalityViolation, message))
        }
        Err(ExecError::OutOfRange { type_name }) => {
            Err(SqlError::new(SqlState::NumericOutOfRange, format!("{type_name} out of range")))
        }
        Err(other) => panic!("{other:?}"),
    }
}

fn texts(query: &LoweredQuery, mut batch: Batch) -> Result<Vec<Vec<String>>, SqlError> {
    let evaluation = Evaluation::new(&FixedSession, &[]);
    let arrays: Vec<ArrayRef> = query
        .schema
        .fields()
        .iter()
        .enumerate()
        .map(|(at, field)| batch.column(at).to_array(field.data_type()).unwrap())
        .collect();
    let row = |row: usize| {
        let values = arrays.iter().zip(&query.columns).map(|(array, (_, sql_type))| {
            let value = value_at(array, row, sql_type.id)?;
            Ok(evaluation.text(&value, *sql_type)?.unwrap_or_else(|| "\\N".to_owned()))
        });
        values.collect::<Result<Vec<_>, SqlError>>()
    };
    (0..batch.row_count()).map(row).collect()
}
