//! `one-pass`: runs many queries of one type of QPipe's mix, with random parameters, in one pass, and one at a time on Braid and
//! on DuckDB (SharedDB, VLDB 2012, sections 3 and 5).
//!
//! A type is a plan with parameters ([`SharedQueries`]); a pass shares it among the parameter rows. The mix has equally many
//! queries of each of the eight types; their passes run one after the other. All tables are in memory. The time of a pass
//! starts with the parameters and ends with the rows of every query.
//!
//! One query alone on Braid is its text, planned and run by the engine. A pass of one query is measured alternately with that
//! text, and with the pass's plan with constants in place of the parameters. Neither of these uses sets, so that the
//! comparison shows the cost of sets for a single query.
//!
//! DuckDB runs [`ALONE_MAX`] queries of a type, one after the other. The time of more queries is extrapolated, and reported as
//! such.
//!
//! The first answers of each pass are checked against the same queries in SQL.

use std::sync::Arc;
use std::time::Instant;

use braid_base::ByteSize;
use braid_engine::Database;
use braid_exec::executor::Executor;
use braid_exec::plan::Plan;
use braid_exec::plan::SortSpec;
use braid_exec::runtime::result_rows::ResultRows;
use braid_exec::sorting::SortWorker;
use braid_exec::{ExecError, FixedBudget, ParameterRow, SharedPlan};
use braid_io::ResidentMemory;

use crate::benchmarks::benchmark::BenchResult;
use crate::benchmarks::data_directory::{open_tpch, tpch_parquet};
use crate::drivers::client::{Client, SessionClient};
use crate::drivers::duckdb::DuckDbSession;
use crate::report::plot::{Curve, Plot, Stroke};
use crate::report::summary::{geometric_mean, median};
use crate::report::{Figure, Goal, number, plain_table, right};
use crate::workloads::answer::RowOrder;
use crate::workloads::tpch::{MIX_NUMBERS, SharedQueries, TpchSources};
use crate::{BenchError, BenchOptions};

/// Numbers of queries in a pass.
const QUERY_COUNTS: [usize; 6] = [1, 4, 16, 64, 256, 1024];

/// Number of queries of a type that are measured one at a time. The time of more queries is extrapolated.
const ALONE_MAX: usize = 16;

/// Number of checked queries of each type of a pass.
const CHECKED: usize = 4;

/// Maximum number of passes; their median counts. Fewer if they exceed the time for a measurement.
const RUNS_MAX: usize = 5;

/// Number of alternate measurements of a pass of one query and the query alone.
const TURNS: usize = 9;

/// Memory budget of a pass.
const PASS_MEMORY: ByteSize = ByteSize(2 << 30);

/// Goals for DuckDB's time divided by the time of a pass of the mix, by number of queries.
const MIX_GOALS: [(usize, f64); 3] = [(64, 12.0), (256, 35.0), (1024, 80.0)];

/// Numbers of queries for which passes made from SQL are compared with those written by hand.
const SQL_COUNTS: [usize; 3] = [8, 64, 256];

/// Goal for the time of a pass whose plan is made from SQL, divided by that of the plan written by hand.
const FROM_SQL_GOAL: f64 = 1.15;

/// Goal for the time of a pass of one query divided by its time alone.
const ONE_QUERY_GOAL: f64 = 1.25;

/// Goal for the memory of a process that runs passes of 1024 queries: 2 GB.
const RESIDENT_GOAL_MB: f64 = 2e3;

/// Runs it.
pub async fn run(options: &BenchOptions) -> BenchResult {
    let database = open_tpch(options, None).await?;
    let tables = TpchSources::hot(&database);
    let parquet = tpch_parquet(options).await?;
    let mut duckdb = tokio::task::spawn_blocking(move || DuckDbSession::start(&parquet))
        .await
        .map_err(|e| BenchError::other("starting DuckDB", e))??;
    let mut figures = Vec::new();
    let (mut alone, mut growth) = (Vec::new(), Vec::new());
    for number in MIX_NUMBERS {
        let of_type = Alone::measure(number, &database, &tables, &mut duckdb).await?;
        check(&database, &tables, number).await?;
        let compared = compare(options, &tables, &[number], &format!("Q{number}"), of_type).await?;
        figures.extend(compared.figures);
        growth.push(Curve { name: format!("Q{number}"), points: compared.passes_s, stroke: Stroke::Thin });
        alone.push(of_type);
    }
    figures.extend(one_query(&alone));
    figures.extend(from_sql(options, &database, &tables).await?);
    let mix = compare(options, &tables, &MIX_NUMBERS, "mix", Alone::mean(&alone)).await?;
    figures.extend(mix.figures);
    growth.push(Curve { name: "mix of all".to_owned(), points: mix.passes_s, stroke: Stroke::Thick });
    growth.push(Curve { name: "mix, DuckDB".to_owned(), points: mix.duckdb_s, stroke: Stroke::Dashed });
    if let Some(path) = &options.plot {
        plot(options, growth).write_svg(path)?;
    }
    let memory =
        ResidentMemory::of(std::process::id()).map_err(|e| BenchError::other("reading this process's memory", e))?;
    let figure = Figure::new("peak resident memory, with the tables in memory", memory.peak_bytes as f64 / 1e6, "MB");
    // The goal applies to scale 1, whose tables take 0.2 GB of it.
    figures.push(if options.scale <= 1.0 { figure.with_goal(Goal::AtMost(RESIDENT_GOAL_MB)) } else { figure });
    Ok(figures)
}

/// The times of passes of some types.
struct Compared {
    figures: Vec<Figure>,
    /// Numbers of queries, seconds of a pass.
    passes_s: Vec<(f64, f64)>,
    /// Numbers of queries, DuckDB's seconds; empty if it is not installed.
    duckdb_s: Vec<(f64, f64)>,
}

/// The growth of a pass with its number of queries.
fn plot(options: &BenchOptions, curves: Vec<Curve>) -> Plot {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    Plot {
        title: format!("Q queries in one pass, TPC-H at scale {}, {cores} cores", options.scale),
        x_label: "Q".to_owned(),
        y_label: "seconds".to_owned(),
        curves: curves.into_iter().filter(|curve| !curve.points.is_empty()).collect(),
    }
}

/// Measures some types at every number of queries, divided equally among the types.
async fn compare(
    options: &BenchOptions,
    tables: &TpchSources,
    numbers: &[u8],
    name: &str,
    alone: Alone,
) -> Result<Compared, BenchError> {
    let header =
        ["queries", "distinct", "sets", "passes s", "queries/s", "one at a time s", "DuckDB s", "DuckDB / passes"];
    let mut table = plain_table(&header);
    let (mut figures, mut passes_s, mut alone_s) = (Vec::new(), Vec::new(), Vec::new());
    // With fewer queries than types, the workload would be a different one.
    for count in QUERY_COUNTS.into_iter().filter(|count| *count >= numbers.len()) {
        let share = |at: usize| count / numbers.len() + usize::from(at < count % numbers.len());
        let queries = |(at, number): (usize, &u8)| SharedQueries::random(*number, share(at), u64::from(*number));
        let queries: Vec<SharedQueries> = numbers.iter().enumerate().map(queries).collect();
        let Passes { median_s, distinct_count, set_count } = passes(options, tables, &queries).await?;
        let duckdb_s = alone.duckdb_s.map(|seconds| seconds * count as f64);
        table.add_row([
            right(count.to_string()),
            right(distinct_count.to_string()),
            right(set_count.to_string()),
            right(number(median_s)),
            right(number(count as f64 / median_s)),
            right(number(alone.braid_s * count as f64)),
            right(duckdb_s.map_or_else(String::new, number)),
            right(duckdb_s.map_or_else(String::new, |s| number(s / median_s))),
        ]);
        figures.push(Figure::new(format!("{name}: one pass of {count}"), median_s, "s"));
        passes_s.push((count as f64, median_s));
        if let Some(duckdb_s) = duckdb_s {
            alone_s.push((count as f64, duckdb_s));
            let figure = Figure::new(format!("{name}: DuckDB / one pass of {count}"), duckdb_s / median_s, "");
            let goal = MIX_GOALS.iter().find(|(queries, _)| numbers.len() > 1 && *queries == count);
            figures.push(goal.map_or(figure.clone(), |(_, times)| figure.with_goal(Goal::AtLeast(*times))));
        }
    }
    println!("{name}, hot; one at a time on Braid and DuckDB: extrapolated from {ALONE_MAX} queries of each type");
    println!("{table}");
    Ok(Compared { figures, passes_s, duckdb_s: alone_s })
}

/// Compares a pass of one query with the query alone.
fn one_query(alone: &[Alone]) -> Vec<Figure> {
    let mut table = plain_table(&["query", "SQL ms", "bound plan ms", "pass of one ms", "ratio"]);
    let mut ratios = Vec::new();
    for (query, times) in MIX_NUMBERS.iter().zip(alone) {
        let ratio = times.pass_of_one_s / times.text_s.min(times.bound_s);
        ratios.push(ratio);
        table.add_row([
            right(format!("Q{query}")),
            right(number(times.text_s * 1e3)),
            right(number(times.bound_s * 1e3)),
            right(number(times.pass_of_one_s * 1e3)),
            right(number(ratio)),
        ]);
    }
    println!("one query, alone and as a pass, measured alternately\n{table}");
    let mean = geometric_mean(&ratios);
    let figure = Figure::new("a pass of one query / the faster form of the query alone, geometric mean", mean, "");
    vec![figure.with_goal(Goal::AtMost(ONE_QUERY_GOAL))]
}

/// Compares passes whose plans are made from the queries' texts with passes on the plans written by hand.
async fn from_sql(options: &BenchOptions, database: &Arc<Database>, tables: &TpchSources) -> BenchResult {
    let session = database.session("bench");
    let mut table = plain_table(&["type", "queries", "by hand s", "from SQL s", "ratio"]);
    let mut ratios: Vec<(usize, Vec<f64>)> = SQL_COUNTS.iter().map(|count| (*count, Vec::new())).collect();
    for query_type in MIX_NUMBERS {
        for (count, of_count) in &mut ratios {
            let queries = SharedQueries::random(query_type, *count, u64::from(query_type));
            let form = session.shared_form(&queries.sql()).await.map_err(|e| BenchError::other("a template", e))?;
            let by_hand = (queries.plan(tables), queries.parameters());
            let made = (form.plan, form.parameters);
            let seconds = alternately(options, &by_hand, &made).await?;
            let ratio = seconds[1] / seconds[0];
            of_count.push(ratio);
            table.add_row([
                right(format!("Q{query_type}")),
                right(count.to_string()),
                right(number(seconds[0])),
                right(number(seconds[1])),
                right(number(ratio)),
            ]);
        }
    }
    println!("passes on plans written by hand and made from SQL, measured alternately\n{table}");
    let figure = |(count, ratios): &(usize, Vec<f64>)| {
        let name = format!("passes of {count} from SQL / by hand, worst type");
        Figure::new(name, ratios.iter().copied().fold(0.0, f64::max), "").with_goal(Goal::AtMost(FROM_SQL_GOAL))
    };
    Ok(ratios.iter().map(figure).collect())
}

/// Median seconds of passes in two forms, which take turns.
async fn alternately(
    options: &BenchOptions,
    one: &(Plan, Vec<ParameterRow>),
    other: &(Plan, Vec<ParameterRow>),
) -> Result<[f64; 2], BenchError> {
    let mut seconds = [Vec::new(), Vec::new()];
    for turn in 0..=RUNS_MAX {
        for (form, (plan, parameters)) in [one, other].into_iter().enumerate() {
            let start = Instant::now();
            let (executor, budget) = executor();
            let shared = SharedPlan::new(plan, parameters, budget.clone()).map_err(failed)?;
            executor.run_shared(&shared, |_| collector(&budget)).await.map_err(failed)?;
            if turn > 0 {
                seconds[form].push(start.elapsed().as_secs_f64());
            }
        }
        if seconds.iter().flatten().sum::<f64>() > options.seconds {
            break;
        }
    }
    Ok(seconds.map(median))
}

/// The seconds of queries of a type, one at a time.
#[derive(Clone, Copy)]
struct Alone {
    braid_s: f64,
    duckdb_s: Option<f64>,
    /// Measures one query in three forms, alternately.
    text_s: f64,
    bound_s: f64,
    pass_of_one_s: f64,
}

impl Alone {
    async fn measure(
        number: u8,
        database: &Arc<Database>,
        tables: &TpchSources,
        duckdb: &mut Option<DuckDbSession>,
    ) -> Result<Self, BenchError> {
        let queries = SharedQueries::random(number, ALONE_MAX, u64::from(number));
        let texts = queries.sql();
        let mut client = SessionClient::new(database);
        client.run(&texts[0]).await?;
        let start = Instant::now();
        for text in &texts {
            client.run(text).await?;
        }
        let braid_s = start.elapsed().as_secs_f64() / ALONE_MAX as f64;
        let one = SharedQueries::random(number, 1, u64::from(number));
        let bound = one.plan(tables).bind(&one.parameters()[0]).with_filters_in_scans();
        let mut forms = [const { Vec::new() }; 3];
        for _ in 0..TURNS {
            for (form, seconds) in forms.iter_mut().enumerate() {
                let start = Instant::now();
                match form {
                    0 => drop(client.run(&texts[0]).await?),
                    1 => drop(alone(&bound).await?),
                    _ => drop(pass(tables, &one).await?),
                }
                seconds.push(start.elapsed().as_secs_f64());
            }
        }
        let [text_s, bound_s, pass_of_one_s] = forms.map(median);
        let duckdb_s = match duckdb {
            Some(duckdb) => Some(tokio::task::block_in_place(|| duckdb_seconds(duckdb, &texts))?),
            None => None,
        };
        Ok(Self { braid_s, duckdb_s, text_s, bound_s, pass_of_one_s })
    }

    /// A query of a random type.
    fn mean(types: &[Self]) -> Self {
        let mean = |seconds: fn(&Self) -> f64| types.iter().map(seconds).sum::<f64>() / types.len() as f64;
        let duckdb_s: Option<f64> = types.iter().map(|of_type| of_type.duckdb_s).sum();
        Self {
            braid_s: mean(|of_type| of_type.braid_s),
            duckdb_s: duckdb_s.map(|sum| sum / types.len() as f64),
            text_s: mean(|of_type| of_type.text_s),
            bound_s: mean(|of_type| of_type.bound_s),
            pass_of_one_s: mean(|of_type| of_type.pass_of_one_s),
        }
    }
}

/// Seconds of a query after a warm-up run. Blocks.
fn duckdb_seconds(duckdb: &mut DuckDbSession, queries: &[String]) -> Result<f64, BenchError> {
    duckdb.run(&queries[0])?;
    let mut sum = 0.0;
    for sql in queries {
        sum += duckdb.run(sql)?.seconds;
    }
    Ok(sum / queries.len() as f64)
}

/// Passes of the same queries.
struct Passes {
    median_s: f64,
    /// Of all types.
    distinct_count: usize,
    /// Of all types.
    set_count: usize,
}

async fn passes(options: &BenchOptions, tables: &TpchSources, queries: &[SharedQueries]) -> Result<Passes, BenchError> {
    let mut seconds = Vec::with_capacity(RUNS_MAX);
    let (mut distinct_count, mut set_count) = (0, 0);
    for run in 0..=RUNS_MAX {
        let start = Instant::now();
        (distinct_count, set_count) = (0, 0);
        for of_type in queries {
            let pass = pass(tables, of_type).await?;
            distinct_count += pass.distinct_count;
            set_count += pass.set_count;
        }
        // The first run is a warm-up.
        if run > 0 {
            seconds.push(start.elapsed().as_secs_f64());
        }
        if seconds.iter().sum::<f64>() > options.seconds {
            break;
        }
    }
    Ok(Passes { median_s: median(seconds), distinct_count, set_count })
}

/// The result of a pass.
struct Pass {
    /// The rows of each query.
    rows: Vec<ResultRows>,
    distinct_count: usize,
    set_count: usize,
}

fn failed(error: ExecError) -> BenchError {
    BenchError::other("running a plan", error)
}

fn executor() -> (Executor, Arc<FixedBudget>) {
    let budget = FixedBudget::new(PASS_MEMORY);
    (Executor::new(std::thread::available_parallelism().map_or(1, usize::from), budget.clone()), budget)
}

/// One pass, from the queries' parameters to their rows.
async fn pass(tables: &TpchSources, queries: &SharedQueries) -> Result<Pass, BenchError> {
    let (executor, budget) = executor();
    let plan = queries.plan(tables);
    let shared = SharedPlan::new(&plan, &queries.parameters(), budget.clone()).map_err(failed)?;
    let collected = executor.run_shared(&shared, |_| collector(&budget)).await.map_err(failed)?;
    let rows = |sinks: Vec<SortWorker>| SortWorker::finish(sinks, plan.column_count()).map_err(failed);
    Ok(Pass {
        rows: collected.into_iter().map(rows).collect::<Result<_, _>>()?,
        distinct_count: shared.distinct_count(),
        set_count: shared.set_count(),
    })
}

/// A plan of one query, from the plan to its rows.
async fn alone(plan: &Plan) -> Result<ResultRows, BenchError> {
    let (executor, budget) = executor();
    let sinks = executor.run(plan, || collector(&budget)).await.map_err(failed)?;
    SortWorker::finish(sinks, plan.column_count()).map_err(failed)
}

/// Collects rows in the order of their arrival.
fn collector(budget: &Arc<FixedBudget>) -> SortWorker {
    SortWorker::new(Arc::new(SortSpec { keys: Vec::new(), limit: None }), budget.clone())
}

/// Compares the first queries of passes with their texts as SQL.
async fn check(database: &Arc<Database>, tables: &TpchSources, number: u8) -> Result<(), BenchError> {
    let mut client = SessionClient::new(database);
    for count in [1, CHECKED, 64] {
        let queries = SharedQueries::random(number, count, u64::from(number));
        let rows = pass(tables, &queries).await?.rows;
        for (text, rows) in queries.sql().into_iter().zip(rows).take(CHECKED) {
            let found = queries.answer(rows.columns()).map_err(|e| BenchError::other("reading a pass", e))?;
            let expected = client.answer(&text).await?;
            expected
                .compare(&found, RowOrder::Kept)
                .map_err(|difference| BenchError::WrongAnswer { query: text, difference: difference.to_string() })?;
        }
    }
    Ok(())
}
