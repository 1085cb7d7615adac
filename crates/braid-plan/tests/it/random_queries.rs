//! Random queries over tables with PostgreSQL's answers (`bench/peers/random_table_queries.py`), through binder, rewriting and operators.
//!
//! A stored part of them is always run. `BRAID_RANDOM_QUERIES=file` runs those of another file, and prints how many of them are refused and
//! why. Where several equal values may be shown, such as 1.0 and 1.00 by DISTINCT, they count as the same.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use braid_exec::Vector;
use braid_exec::runtime::pipeline::Source;
use braid_exec::runtime::result_rows::{ResultRows, ResultSource};
use braid_exec::scan::table_sample::TableSample;
use braid_plan::lowering::{Environment, NoPlan, Numerics, Purpose, Session, StoredTables};
use braid_plan::planning::plan;
use braid_plan::values::Form;
use braid_plan::values::arrays::ArrayBuilder;
use braid_sql::tables::{TableColumn, TableEntry};
use braid_sql::testing::naive::TableRows;
use braid_sql::testing::queries::GivenTables;
use braid_sql::testing::{FixedSession, value_of};
use braid_sql::{SqlError, SqlState, Value};
use braid_storage::ColumnType;

use crate::memory_tables::{optimized, rich};
use crate::running::{Failure, bound_to, run_by, texts};
use crate::stored_queries::{escaped_line, is_ordered, paragraphs, value};

/// Rows of a part of a table.
const PART_ROWS: usize = 5;

const WORKERS: usize = 2;

/// The stack of a planning thread: debug builds take much of it for each level of a query.
const STACK_BYTES: usize = 256 << 20;

/// The tables, as sources of operators.
#[derive(Debug)]
struct RandomTables {
    given: GivenTables,
    types: Vec<Vec<ColumnType>>,
}

/// What became of a query.
enum Outcome {
    Same,
    Refused(String),
    Otherwise(String),
}

fn directory() -> String {
    format!("{}/tests/random", env!("CARGO_MANIFEST_DIR"))
}

fn column_type(name: &str) -> ColumnType {
    match name {
        "integer" => ColumnType::Integer,
        "bigint" => ColumnType::BigInt,
        "double precision" => ColumnType::Double,
        "numeric(8,2)" => ColumnType::Numeric { precision: 8, scale: 2 },
        "numeric(12,4)" => ColumnType::Numeric { precision: 12, scale: 4 },
        "text" => ColumnType::Text,
        "character(4)" => ColumnType::Char(4),
        "boolean" => ColumnType::Boolean,
        "date" => ColumnType::Date,
        "timestamp" => ColumnType::Timestamp,
        other => panic!("no column has type {other}"),
    }
}

impl RandomTables {
    fn read() -> Self {
        let text = std::fs::read_to_string(format!("{}/tables.tsv", directory())).unwrap();
        let (mut given, mut types) = (Vec::new(), Vec::new());
        for (at, lines) in paragraphs(&text).enumerate() {
            let header: Vec<&str> = lines[0].split('\t').collect();
            let columns: Vec<(&str, &str)> = header[2..].iter().map(|column| column.split_once(' ').unwrap()).collect();
            let row =
                |line: &&str| line.split('\t').zip(&columns).map(|(field, (_, name))| value(field, name)).collect();
            let rows = lines[2..].iter().map(row).collect();
            let key = lines[1].split('\t').skip(1);
            let primary_key = key.map(|name| columns.iter().position(|(own, _)| *own == name).unwrap()).collect();
            let entry = TableEntry {
                id: at as u64,
                schema: "public".to_owned(),
                name: header[1].to_owned(),
                columns: columns
                    .iter()
                    .map(|(name, sql_type)| {
                        TableColumn::new(*name, value_of(&format!("CAST(NULL AS {sql_type})")).unwrap().0)
                    })
                    .collect(),
                primary_key,
            };
            given.push((Arc::new(entry), rows));
            types.push(columns.iter().map(|(_, name)| column_type(name)).collect());
        }
        Self { given: GivenTables(given), types }
    }

    /// The lines of a query's rows, as the files have them.
    fn lines(&self, sql: &str) -> Result<Vec<String>, SqlError> {
        match self.lines_with(sql, Numerics::Optimistic)? {
            Some(lines) => Ok(lines),
            None => Ok(self.lines_with(sql, Numerics::Wide)?.expect("it is not optimistic")),
        }
    }

    /// `None` if it is to be planned again.
    fn lines_with(&self, sql: &str, numerics: Numerics) -> Result<Option<Vec<String>>, SqlError> {
        let session: Arc<dyn Session> = Arc::new(FixedSession);
        let (bound, columns) = bound_to(sql, &self.given)?;
        let environment = Environment { session: &session, tables: self, purpose: Purpose::OneStatement, numerics };
        let lowered = optimized(plan(bound, columns, environment).map_err(NoPlan::into_error)?);
        let batches = match run_by(&lowered, &rich(WORKERS)) {
            Ok(batches) => batches,
            Err(Failure::OfSql(error)) => return Err(error),
            Err(Failure::TooNarrow) if lowered.is_optimistic => return Ok(None),
            Err(other) => panic!("{other:?}"),
        };
        let mut lines = Vec::new();
        for batch in batches {
            lines.extend(texts(&lowered, batch)?.iter().map(|row| escaped_line(row)));
        }
        Ok(Some(lines))
    }

    fn outcome(&self, lines: &[&str]) -> Outcome {
        let (sql, answer) = (lines[0], lines[1]);
        let Ok(found) = catch_unwind(AssertUnwindSafe(|| self.lines(sql))) else {
            return Outcome::Otherwise("panics".to_owned());
        };
        let mut found = match found {
            Ok(found) => found,
            Err(error) if answer.starts_with(&format!("!\t{}", error.sqlstate())) => return Outcome::Same,
            Err(error) if [SqlState::FeatureNotSupported, SqlState::SyntaxError].contains(&error.state()) => {
                return Outcome::Refused(error.message().to_owned());
            }
            Err(error) => return Outcome::Otherwise(format!("{} {error}\n  PostgreSQL {answer}", error.sqlstate())),
        };
        let types: Vec<&str> = answer.split('\t').skip(2).step_by(2).collect();
        let shown = |line: &str| comparable(line, &types);
        let mut expected: Vec<String> = lines[2..].iter().map(|line| shown(line)).collect();
        found.iter_mut().for_each(|line| *line = shown(line));
        if !is_ordered(sql) {
            expected.sort();
            found.sort();
        }
        if answer.starts_with('!') || found != expected {
            let answer = answer.strip_prefix('=').map_or(answer, |_| "");
            return Outcome::Otherwise(format!("{found:?}\n  PostgreSQL {answer} {expected:?}"));
        }
        Outcome::Same
    }
}

/// A row with numerics that do not show how many digits they have.
fn comparable(line: &str, types: &[&str]) -> String {
    let field = |(field, name): (&str, &&str)| match *name {
        "numeric" if field.contains('.') => field.trim_end_matches('0').trim_end_matches('.').to_owned(),
        _ => field.to_owned(),
    };
    let fields: Vec<String> = line.split('\t').skip(1).zip(types).map(field).collect();
    fields.join("\t")
}

/// A value as it is stored: without the blanks at the end of `char(n)`.
fn stored(value: &Value, column_type: ColumnType) -> Value {
    match (value, column_type) {
        (Value::Text(text), ColumnType::Char(_)) => Value::text(text.trim_end_matches(' ')),
        (value, _) => value.clone(),
    }
}

impl StoredTables for RandomTables {
    fn source(
        &self,
        table: u64,
        columns: &[usize],
        _: Option<TableSample>,
    ) -> Result<(Arc<dyn Source>, Vec<ColumnType>), SqlError> {
        let types = &self.types[usize::try_from(table).unwrap()];
        let part = |rows: &[Vec<Value>]| {
            let vector = |column: &usize| {
                let mut array = ArrayBuilder::new(Form::of_column(types[*column]));
                rows.iter().for_each(|row| array.add(&stored(&row[*column], types[*column])).unwrap());
                Vector::from_array(&array.finish()).unwrap()
            };
            Arc::new(ResultRows::new(rows.len(), columns.iter().map(vector).collect()))
        };
        let source = ResultSource::new(self.given.rows(table).chunks(PART_ROWS).map(part).collect());
        Ok((Arc::new(source), columns.iter().map(|column| types[*column]).collect()))
    }
}

#[test]
fn random_queries_have_postgresqls_answers() {
    let compared = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(compare_answers).unwrap().join();
    compared.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
}

fn compare_answers() {
    let given = std::env::var("BRAID_RANDOM_QUERIES").ok();
    let path = given.clone().unwrap_or_else(|| format!("{}/queries.tsv", directory()));
    let (tables, text) = (RandomTables::read(), std::fs::read_to_string(path).unwrap());
    let (mut same, mut refused, mut otherwise) = (0, BTreeMap::<String, Vec<String>>::new(), Vec::new());
    for lines in paragraphs(&text) {
        match tables.outcome(&lines) {
            Outcome::Same => same += 1,
            Outcome::Refused(reason) => refused.entry(reason).or_default().push(lines[0].to_owned()),
            Outcome::Otherwise(what) => otherwise.push(format!("{}\n  {what}", lines[0])),
        }
    }
    let refused_count: usize = refused.values().map(Vec::len).sum();
    println!("{same} the same, {refused_count} refused, {} otherwise", otherwise.len());
    for (reason, queries) in &refused {
        println!("{} refused: {reason}\n    {}", queries.len(), queries[0]);
    }
    assert!(otherwise.is_empty(), "{}", otherwise.join("\n"));
    assert!(given.is_some() || refused.is_empty(), "{refused_count} queries are refused");
}
