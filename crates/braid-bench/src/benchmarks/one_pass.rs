//! `one-pass`: Q queries of one type with random parameters in one pass over lineitem, beside the same queries one after
//! the other on DuckDB and on Braid's SQL (SharedDB, section 3; the sets of `braid_exec::query_set`).
//!
//! The pass takes chunks from a cooperative scan, one worker for each core, from a buffer that holds all of them; the time
//! is from building the predicate indexes to having every query's rows. The mix answers half of the queries of each type
//! from the same chunks. With it, the same pass with each representation of query sets.
//!
//! Two of the mix's eight types, the ones without joins, so there are no goals yet. DuckDB is asked [`ALONE_MAX`] queries, one
//! after the other; what more of them would take is counted in proportion and says so.
//!
//! The answers that are checked: the first queries of each pass against the same text as SQL.

use std::sync::Arc;
use std::time::Instant;

use braid_base::{ByteSize, ColumnId, SystemClock};
use braid_buffer::{BufferManager, BufferOptions, CooperativeScanHandle, ScanPolicy, ScanRequest};
use braid_engine::Database;
use braid_exec::query_set::bitmap::BitmapSets;
use braid_exec::query_set::class::InternedSets;
use braid_exec::query_set::list::ListSets;
use braid_exec::{AggregationPlan, GroupRow, QueryGroups, QuerySets, SharedAggregation};
use braid_storage::{Segment, TableVersion};
use serde::Deserialize;
use tokio::task::JoinSet;

use crate::answer::RowOrder;
use crate::benchmark::BenchResult;
use crate::client::{Client, SessionClient};
use crate::data_directory::{open_tpch, tpch_parquet};
use crate::duckdb::run_duckdb;
use crate::report::{Figure, number, plain_table, right};
use crate::tpch::pass_templates::PASS_COLUMNS;
use crate::tpch::{PassQueries, PassTemplate, TpchTable};
use crate::{BenchError, BenchOptions};

/// Numbers of queries in a pass.
const QUERY_COUNTS: [usize; 6] = [1, 4, 16, 64, 256, 1024];

/// Of how many queries the time alone is taken; more are counted in proportion.
const ALONE_MAX: usize = 32;

/// How many queries of each type of a pass are checked.
const CHECKED: usize = 4;

/// Most passes of which the median is taken; fewer when they take longer than the time for a measurement.
const RUNS_MAX: usize = 5;

/// Numbers of queries at which the representations of query sets are compared.
const REPRESENTATION_COUNTS: [usize; 6] = [2, 16, 64, 256, 1024, 4096];

/// The script that runs the same queries on DuckDB.
const DUCKDB_SCRIPT: &str = include_str!("../../../../bench/peers/duckdb_queries.py");

/// The queries of a pass, by type.
struct Workload {
    name: &'static str,
    templates: &'static [PassTemplate],
}

const WORKLOADS: [Workload; 3] = [
    Workload { name: "Q1", templates: &[PassTemplate::Q1] },
    Workload { name: "Q6", templates: &[PassTemplate::Q6] },
    Workload { name: "Q1 and Q6", templates: &[PassTemplate::Q1, PassTemplate::Q6] },
];

/// What DuckDB's script prints.
#[derive(Deserialize)]
struct DuckDb {
    seconds: f64,
    version: String,
}

/// Runs it.
pub async fn run(options: &BenchOptions) -> BenchResult {
    let database = open_tpch(options, None).await?;
    let lineitem = Lineitem::open(&database)?;
    let mut figures = Vec::new();
    for workload in &WORKLOADS {
        figures.extend(compare(options, &database, &lineitem, workload).await?);
    }
    figures.extend(compare_representations(options, &lineitem).await?);
    Ok(figures)
}

/// One workload at every number of queries.
async fn compare(
    options: &BenchOptions,
    database: &Arc<Database>,
    lineitem: &Lineitem,
    workload: &Workload,
) -> BenchResult {
    let name = workload.name;
    let alone = Alone::measure(options, database, workload).await?;
    let mut table = plain_table(&["queries", "one pass s", "queries/s", "DuckDB s", "DuckDB / pass", "Braid SQL s"]);
    let mut figures = Vec::new();
    // Fewer queries than types would not be the workload that the others are asked.
    for count in QUERY_COUNTS.into_iter().filter(|count| *count >= workload.templates.len()) {
        let queries = workload.queries(count);
        let pass_s = lineitem.median_pass_s::<InternedSets>(options, &queries).await?;
        check(database, lineitem, &queries).await?;
        let sql_s = alone.sql_s * count as f64;
        let duckdb_s = alone.duckdb.as_ref().map(|duckdb| duckdb.seconds * count as f64);
        table.add_row([
            right(count.to_string()),
            right(number(pass_s)),
            right(number(count as f64 / pass_s)),
            right(duckdb_s.map_or_else(String::new, number)),
            right(duckdb_s.map_or_else(String::new, |s| number(s / pass_s))),
            right(number(sql_s)),
        ]);
        figures.push(Figure::new(format!("{name}: one pass of {count}"), pass_s, "s"));
        if let Some(duckdb_s) = duckdb_s {
            let figure = format!("{name}: DuckDB, in proportion to {ALONE_MAX} queries / one pass of {count}");
            figures.push(Figure::new(figure, duckdb_s / pass_s, ""));
        }
    }
    let beside = alone.duckdb.map_or_else(String::new, |duckdb| format!(", DuckDB {}", duckdb.version));
    println!("{name}, hot{beside}; one after the other: in proportion to {ALONE_MAX} queries");
    println!("{table}");
    Ok(figures)
}

/// The three representations of query sets, on the mix; one that takes longer for a pass than a measurement may is not
/// asked for more queries.
async fn compare_representations(options: &BenchOptions, lineitem: &Lineitem) -> BenchResult {
    let mut seconds = [0.0; 3];
    let mut table = plain_table(&["queries", "lists s", "bitmaps s", "interned s"]);
    let mut figures = Vec::new();
    for count in REPRESENTATION_COUNTS {
        let queries = WORKLOADS[2].queries(count);
        let mut row = vec![right(count.to_string())];
        for (at, name) in ["lists", "bitmaps", "interned sets"].into_iter().enumerate() {
            if seconds[at] > options.seconds {
                row.push(right(String::new()));
                continue;
            }
            let pass_s = match at {
                0 => lineitem.median_pass_s::<ListSets>(options, &queries).await?,
                1 => lineitem.median_pass_s::<BitmapSets>(options, &queries).await?,
                _ => lineitem.median_pass_s::<InternedSets>(options, &queries).await?,
            };
            seconds[at] = pass_s;
            row.push(right(number(pass_s)));
            figures.push(Figure::new(format!("one pass of {count} with {name}"), pass_s, "s"));
        }
        table.add_row(row);
    }
    println!("representations of query sets, Q1 and Q6");
    println!("{table}");
    Ok(figures)
}

/// What a query of a workload takes alone.
struct Alone {
    sql_s: f64,
    duckdb: Option<DuckDb>,
}

impl Alone {
    async fn measure(
        options: &BenchOptions,
        database: &Arc<Database>,
        workload: &Workload,
    ) -> Result<Self, BenchError> {
        let sql: Vec<String> = workload.queries(ALONE_MAX).iter().flat_map(PassQueries::sql).collect();
        let mut client = SessionClient::new(database);
        client.run(&sql[0]).await?;
        let start = Instant::now();
        for text in &sql {
            client.run(text).await?;
        }
        let sql_s = start.elapsed().as_secs_f64() / sql.len() as f64;
        let parquet = tpch_parquet(options).await?;
        let input = serde_json::to_vec(&sql).map_err(|e| BenchError::other("writing queries", e))?;
        let duckdb: Option<DuckDb> = run_duckdb(DUCKDB_SCRIPT, &[&parquet], input).await?;
        let duckdb = duckdb.map(|duckdb| DuckDb { seconds: duckdb.seconds / sql.len() as f64, ..duckdb });
        Ok(Self { sql_s, duckdb })
    }
}

/// Compares the first queries of a pass with their texts as SQL.
async fn check(database: &Arc<Database>, lineitem: &Lineitem, queries: &[PassQueries]) -> Result<(), BenchError> {
    let rows = lineitem.pass::<InternedSets>(queries).await?;
    let mut client = SessionClient::new(database);
    for (queries, rows) in queries.iter().zip(rows) {
        for (text, rows) in queries.sql().into_iter().zip(rows).take(CHECKED) {
            let expected = client.answer(&text).await?;
            expected
                .compare(&queries.answer(&rows), RowOrder::Kept)
                .map_err(|difference| BenchError::WrongAnswer { query: text, difference: difference.to_string() })?;
        }
    }
    Ok(())
}

impl Workload {
    /// So many queries, divided among the templates.
    fn queries(&self, count: usize) -> Vec<PassQueries> {
        let types = self.templates.len();
        let share = |at: usize| count / types + usize::from(at < count % types);
        let of = |(at, template): (usize, &PassTemplate)| PassQueries::random(*template, share(at), at as u64);
        self.templates.iter().enumerate().map(of).filter(|queries| !queries.is_empty()).collect()
    }
}

/// The table in a buffer of its own that holds all of it.
struct Lineitem {
    buffer: Arc<BufferManager>,
    version: Arc<TableVersion>,
    columns: Vec<ColumnId>,
}

/// One worker's part in each aggregation of a pass.
type Found = Vec<QueryGroups>;

impl Lineitem {
    fn open(database: &Arc<Database>) -> Result<Self, BenchError> {
        let catalog = database.store().snapshot();
        let version = catalog.table(TpchTable::Lineitem.name()).expect("the data directory was just filled");
        let column = |name: &&str| version.def.column(name).expect("lineitem has its columns").0;
        let columns: Vec<ColumnId> = PASS_COLUMNS.iter().map(column).collect();
        let stored = version.chunks.iter().flat_map(|chunk| {
            columns.iter().map(|column| u64::from(chunk.segments[usize::from(column.0)].stored_bytes))
        });
        let options = BufferOptions {
            capacity: ByteSize(stored.sum::<u64>() * 5 / 4),
            policy: ScanPolicy::Relevance,
            loads_in_flight_max: database.config().loads_in_flight_max,
        };
        let buffer = BufferManager::new(Arc::clone(database.device()), Arc::new(SystemClock::new()), options);
        Ok(Self { buffer, version: Arc::clone(version), columns })
    }

    /// The median time of a pass, after one that fills the buffer.
    async fn median_pass_s<S: QuerySets + Send + 'static>(
        &self,
        options: &BenchOptions,
        queries: &[PassQueries],
    ) -> Result<f64, BenchError>
    where
        S::Column: Send,
    {
        self.pass::<S>(queries).await?;
        let mut seconds = Vec::with_capacity(RUNS_MAX);
        while seconds.len() < RUNS_MAX && seconds.iter().sum::<f64>() < options.seconds {
            let start = Instant::now();
            self.pass::<S>(queries).await?;
            seconds.push(start.elapsed().as_secs_f64());
        }
        seconds.sort_by(f64::total_cmp);
        Ok(seconds[seconds.len() / 2])
    }

    /// One pass: the rows of each query, by type.
    async fn pass<S: QuerySets + Send + 'static>(
        &self,
        queries: &[PassQueries],
    ) -> Result<Vec<Vec<Vec<GroupRow>>>, BenchError>
    where
        S::Column: Send,
    {
        let request = ScanRequest {
            version: Arc::clone(&self.version),
            chunks: (0..self.version.chunks.len()).collect(),
            columns: self.columns.clone(),
            in_order: false,
        };
        let scan = Arc::new(self.buffer.register(request));
        let plans: Vec<AggregationPlan> = queries.iter().map(PassQueries::plan).collect();
        let mut workers = JoinSet::new();
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            workers.spawn(work::<S>(Arc::clone(&scan), Arc::clone(&self.version), plans.clone()));
        }
        let mut merged: Option<Found> = None;
        while let Some(found) = workers.join_next().await {
            let found = found.map_err(|e| BenchError::other("a worker's task", e))??;
            merged = Some(match merged {
                None => found,
                Some(merged) => merge(merged, found)?,
            });
        }
        Ok(merged.expect("there is a worker").into_iter().map(QueryGroups::into_rows).collect())
    }
}

/// Takes chunks until there are none.
async fn work<S: QuerySets>(
    scan: Arc<CooperativeScanHandle>,
    version: Arc<TableVersion>,
    plans: Vec<AggregationPlan>,
) -> Result<Found, BenchError> {
    let mut aggregations: Vec<SharedAggregation<S>> = plans.into_iter().map(SharedAggregation::new).collect();
    while let Some(chunk) = scan.next().await {
        let chunk = chunk.map_err(|e| BenchError::other("scanning lineitem", e))?;
        let rows = version.chunks[chunk.chunk].row_count as usize;
        let segments: Vec<&Segment> = chunk.segments.iter().map(AsRef::as_ref).collect();
        for aggregation in &mut aggregations {
            aggregation.consume(&segments, rows).map_err(|e| BenchError::other("a pass over lineitem", e))?;
        }
        tokio::task::yield_now().await;
    }
    let finish = |aggregation: SharedAggregation<S>| aggregation.finish();
    aggregations.into_iter().map(finish).collect::<Result<_, _>>().map_err(|e| BenchError::other("a pass", e))
}

fn merge(mut merged: Found, found: Found) -> Result<Found, BenchError> {
    for (to, from) in merged.iter_mut().zip(found) {
        to.merge(from).map_err(|e| BenchError::other("merging a pass", e))?;
    }
    Ok(merged)
}
