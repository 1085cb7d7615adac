//! Queries over tables in memory, whose rows come in parts, to several workers, with or without temporary files.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use braid_base::ByteSize;
use braid_exec::executor::Executor;
use braid_exec::runtime::pipeline::Source;
use braid_exec::runtime::result_rows::{ResultRows, ResultSource};
use braid_exec::scan::table_sample::TableSample;
use braid_exec::{FixedBudget, ParameterRow, SpillSettings, SpillSpace, Vector};
use braid_io::{Backend, DeviceOptions, open_device};
use braid_plan::lowering::{Environment, LoweredQuery, NoPlan, Numerics, Purpose, Session, StoredTables};
use braid_plan::optimization::{UniqueKeys, order_joins};
use braid_plan::planning::plan;
use braid_plan::values::Form;
use braid_plan::values::arrays::ArrayBuilder;
use braid_sql::relation::{Columns, Output, Query};
use braid_sql::tables::{TableColumn, TableEntry};
use braid_sql::testing::naive::{TableRows, rows_of};
use braid_sql::testing::queries::GivenTables;
use braid_sql::testing::{FixedSession, value_of};
use braid_sql::{Evaluation, SqlError, Value};
use braid_storage::ColumnType;

use crate::running::{Failure, bound_to, bound_with_parameters, run_by, texts};

/// Memory of a query that has enough.
pub const PLENTY: ByteSize = ByteSize(256 << 20);

/// A table in memory.
pub struct MemoryTable {
    tables: GivenTables,
    types: Vec<ColumnType>,
    /// Rows of each part.
    part_rows: usize,
}

impl std::fmt::Debug for MemoryTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a table of {} columns", self.types.len())
    }
}

/// The type of a stored column, by its name in SQL.
fn column_type(name: &str) -> ColumnType {
    match name {
        "int" => ColumnType::Integer,
        "bigint" => ColumnType::BigInt,
        "float8" => ColumnType::Double,
        "numeric(10,2)" => ColumnType::Numeric { precision: 10, scale: 2 },
        "text" => ColumnType::Text,
        "boolean" => ColumnType::Boolean,
        "date" => ColumnType::Date,
        "interval" => ColumnType::Interval,
        other => panic!("no column has type {other}"),
    }
}

impl MemoryTable {
    /// The table `t` with these columns, and rows of expressions.
    pub fn new(columns: &[(&str, &str)], rows: &[Vec<String>], part_rows: usize) -> Self {
        let sql_types = columns.iter().map(|(_, name)| value_of(&format!("NULL::{name}")).unwrap().0);
        let own = columns.iter().zip(sql_types);
        let own = own.map(|((name, _), sql_type)| TableColumn::new(*name, sql_type));
        let (schema, name) = ("public".to_owned(), "t".to_owned());
        let entry = TableEntry { id: 0, schema, name, columns: own.collect(), primary_key: Vec::new() };
        let value = |(text, (_, name)): (&String, &(&str, &str))| value_of(&format!("({text})::{name}")).unwrap().1;
        let rows = rows.iter().map(|row| row.iter().zip(columns).map(value).collect()).collect();
        let types = columns.iter().map(|(_, name)| column_type(name)).collect();
        Self { tables: GivenTables(vec![(Arc::new(entry), rows)]), types, part_rows }
    }

    /// The values of its rows.
    pub fn values(&self) -> Vec<Vec<Value>> {
        self.tables.rows(0)
    }

    /// The types of its columns.
    pub fn types(&self) -> &[ColumnType] {
        &self.types
    }

    fn lowered(&self, sql: &str, tables: &dyn StoredTables, numerics: Numerics) -> Result<LoweredQuery, SqlError> {
        let session: Arc<dyn Session> = Arc::new(FixedSession);
        let (bound, columns) = bound_to(sql, &self.tables)?;
        let environment = Environment { session: &session, tables, purpose: Purpose::OneStatement, numerics };
        let lowered = plan(bound, columns, environment).map_err(NoPlan::into_error)?;
        Ok(optimized(lowered))
    }

    /// The plan of a query with parameters, and the query.
    pub fn lowered_for_many(&self, sql: &str) -> Result<(LoweredQuery, Query, Columns), SqlError> {
        let session: Arc<dyn Session> = Arc::new(FixedSession);
        let (bound, columns) = bound_with_parameters(sql, &self.tables)?;
        let (purpose, numerics) = (Purpose::ManyStatements { forms: &HashMap::new() }, Numerics::Wide);
        let environment = Environment { session: &session, tables: self, purpose, numerics };
        let lowered = plan(bound.clone(), columns.clone(), environment).map_err(NoPlan::into_error)?;
        Ok((lowered, bound, columns))
    }

    /// The rows of a query with these parameters by its definition.
    pub fn defined_rows_of(
        &self,
        bound: &Query,
        columns: &Columns,
        values: &[Value],
    ) -> Result<Vec<Vec<String>>, SqlError> {
        let evaluation = Evaluation::new(&FixedSession, &[]);
        let mut rows = Vec::new();
        for row in rows_of(bound, columns, (&FixedSession, values), &self.tables)? {
            let text = |(value, output): (&Value, &Output)| {
                Ok(evaluation.text(value, output.sql_type)?.unwrap_or_else(|| "\\N".to_owned()))
            };
            rows.push(row.iter().zip(&bound.outputs).map(text).collect::<Result<_, SqlError>>()?);
        }
        Ok(rows)
    }

    /// The rows of a query as texts, `\N` for null.
    pub fn rows(&self, sql: &str, executor: &Executor) -> Result<Vec<Vec<String>>, Failure> {
        self.rows_from(sql, self, executor)
    }

    /// The same, of a table with equal rows that is stored elsewhere.
    pub fn rows_from(
        &self,
        sql: &str,
        tables: &dyn StoredTables,
        executor: &Executor,
    ) -> Result<Vec<Vec<String>>, Failure> {
        let mut lowered = self.lowered(sql, tables, Numerics::Optimistic).map_err(Failure::OfSql)?;
        let batches = match run_by(&lowered, executor) {
            Err(Failure::TooNarrow) if lowered.is_optimistic => {
                lowered = self.lowered(sql, tables, Numerics::Wide).map_err(Failure::OfSql)?;
                run_by(&lowered, &executor.another_run())?
            }
            ended => ended?,
        };
        let mut rows = Vec::new();
        for batch in batches {
            rows.extend(texts(&lowered, batch).map_err(Failure::OfSql)?);
        }
        Ok(rows)
    }

    /// The rows of a query by its definition.
    pub fn defined_rows(&self, sql: &str) -> Result<Vec<Vec<String>>, SqlError> {
        let (bound, columns) = bound_to(sql, &self.tables)?;
        self.defined_rows_of(&bound, &columns, &[])
    }
}

impl StoredTables for MemoryTable {
    fn source(
        &self,
        table: u64,
        columns: &[usize],
        _: Option<TableSample>,
    ) -> Result<(Arc<dyn Source>, Vec<ColumnType>), SqlError> {
        let part = |rows: &[Vec<Value>]| {
            let vector = |column: &usize| {
                let mut array = ArrayBuilder::new(Form::of_column(self.types[*column]));
                rows.iter().for_each(|row| array.add(&row[*column]).unwrap());
                Vector::from_array(&array.finish()).unwrap()
            };
            Arc::new(ResultRows::new(rows.len(), columns.iter().map(vector).collect()))
        };
        let source = ResultSource::new(self.tables.rows(table).chunks(self.part_rows).map(part).collect());
        Ok((Arc::new(source), columns.iter().map(|column| self.types[*column]).collect()))
    }
}

/// The query with its joins in another order, perhaps.
pub fn optimized(mut query: LoweredQuery) -> LoweredQuery {
    let no_parameters: ParameterRow = Vec::new();
    query.plan = order_joins(&query.plan, &[no_parameters], &UniqueKeys::default()).plan;
    query
}

/// An executor with plenty of memory.
pub fn rich(worker_count: usize) -> Executor {
    Executor::new(worker_count, FixedBudget::new(PLENTY))
}

/// An executor whose operators may hold few bytes, and its temporary files in a directory.
pub fn spilling(worker_count: usize, operator_bytes_max: usize, directory: &Path) -> (Executor, Arc<SpillSpace>) {
    let options = DeviceOptions { backend: Backend::Threads, direct: false, queue_depth_max: 8, threads: 2 };
    let device = open_device(directory, &options).unwrap();
    let settings = SpillSettings { block_bytes: 1 << 10, operator_bytes_max, operator_bytes_min: 0 };
    let space = SpillSpace::new(device, directory.to_owned(), ByteSize(1 << 30), settings);
    (rich(worker_count).with_spill_space(space.clone()), space)
}
