//! `spilling`: runs queries that need up to ten times their memory budget.
//!
//! A sort, groups and a join of lineitem's rows keep nearly every row that they read. Each runs with ample memory, and then
//! with half and a tenth of the memory that it held with ample memory. The answers must be equal. The figure is the slowdown.
//! The table also shows the bytes written to temporary files, and the peak of the held memory, which must be within the budget.
//!
//! With `--peer duckdb`, DuckDB runs the same queries on a file of its own format, with as many threads and the same memory
//! limits.

use std::sync::Arc;
use std::time::Instant;

use braid_base::ByteSize;
use braid_engine::Database;
use braid_io::IoReason;

use crate::benchmarks::benchmark::{BenchResult, Peer};
use crate::benchmarks::data_directory::{duckdb_file, open_tpch};
use crate::drivers::client::{Client, SessionClient};
use crate::drivers::duckdb::DuckDbSession;
use crate::report::summary::{geometric_mean, median};
use crate::report::{Figure, Goal, left, number, plain_table, right};
use crate::workloads::answer::{Answer, RowOrder};
use crate::workloads::generated::GeneratedTable;
use crate::workloads::tpch::TpchTable;
use crate::{BenchError, BenchOptions};

/// Number of timed runs of a query with a budget.
const REPETITIONS: usize = 3;

/// Goal for the slowdown with a tenth of the memory that a query needs.
const SLOWDOWN_MAX: f64 = 10.0;

/// Divisors of the memory that a query holds with ample memory.
const PARTS: [u64; 2] = [2, 10];

/// Minimum budget, which holds some blocks of each partition.
const BUDGET_MIN: ByteSize = ByteSize::mib(2);

/// Names and queries. Their answers are short.
const QUERIES: [(&str, &str); 4] = [
    (
        "sort",
        "select l_orderkey, l_linenumber, l_comment from lineitem \
         order by l_extendedprice desc, l_orderkey, l_linenumber offset $skipped",
    ),
    (
        "groups",
        "select count(*), sum(q), min(c), max(c) from (select l_orderkey, l_suppkey, sum(l_quantity) as q, \
         min(l_comment) as c from lineitem group by l_orderkey, l_suppkey) s",
    ),
    (
        "distinct",
        "select count(*), sum(p) from (select distinct l_partkey as p, l_suppkey, l_quantity, l_shipdate \
         from lineitem) s",
    ),
    (
        "join",
        "select count(*), sum(a.l_quantity * b.l_tax), min(a.l_comment), max(b.l_comment) from lineitem a \
         join lineitem b on a.l_orderkey = b.l_orderkey and a.l_linenumber = b.l_linenumber",
    ),
];

/// The beginning of DuckDB's out-of-memory error.
const OUT_OF_MEMORY: &str = "Out of Memory";

/// DuckDB, on a file with the same rows.
struct DuckDb {
    session: DuckDbSession,
}

/// The measurements of a query.
struct Measured {
    seconds: f64,
    /// Peak memory that it held.
    held: ByteSize,
    /// Bytes written to temporary files.
    written: u64,
}

/// Runs it.
pub async fn run(options: &BenchOptions) -> BenchResult {
    let database = open_tpch(options, None).await?;
    let mut client = SessionClient::new(&database);
    let catalog = database.store().snapshot();
    let lineitem = catalog.table(TpchTable::Lineitem.name()).expect("the data directory was just filled");
    let row_count: u64 = lineitem.row_count();
    let mut duckdb = match options.peer {
        Some(Peer::Duckdb) => DuckDb::start(options, &database).await?,
        _ => None,
    };
    let mut header = vec!["query", "memory", "s", "slowdown", "held", "written"];
    if duckdb.is_some() {
        header.extend(["DuckDB s", "DuckDB slowdown"]);
    }
    let mut table = plain_table(&header);
    let (mut worst, mut spilled) = (vec![1.0f64; PARTS.len()], vec![0u32; PARTS.len()]);
    let mut ratios = Vec::new();
    let plenty = database.config().total_memory;
    for (name, sql) in QUERIES {
        let sql = sql.replace("$skipped", &row_count.saturating_sub(10).to_string());
        let expected = client.answer(&sql).await?;
        let whole = measure(&database, &mut client, &sql, plenty, &expected, name).await?;
        let row = |memory: String, measured: &Measured, slower: f64| {
            let megabytes = |bytes: u64| format!("{} MB", number(bytes as f64 / 1e6));
            let sizes = [megabytes(measured.held.0), megabytes(measured.written)];
            [left(name), left(&memory), right(number(measured.seconds)), right(number(slower))]
                .into_iter()
                .chain(sizes.map(right))
                .collect::<Vec<_>>()
        };
        let mut first = row("ample".to_owned(), &whole, 1.0);
        let peer_whole = duckdb.as_mut().map(|duckdb| duckdb.seconds(&sql, None)).transpose()?.flatten();
        if let Some(seconds) = peer_whole {
            first.extend([right(number(seconds)), right(number(1.0))]);
            ratios.push(whole.seconds / seconds);
        }
        table.add_row(first);
        for (at, part) in PARTS.into_iter().enumerate() {
            let budget = ByteSize((whole.held.0 / part).max(BUDGET_MIN.0));
            let measured = measure(&database, &mut client, &sql, budget, &expected, name).await?;
            let slower = measured.seconds / whole.seconds;
            let mut cells = row(budget.rounded(), &measured, slower);
            if let Some(duckdb) = &mut duckdb {
                cells.extend(match (duckdb.seconds(&sql, Some(budget))?, peer_whole) {
                    (Some(seconds), Some(whole)) => [right(number(seconds)), right(number(seconds / whole))],
                    _ => [right("out of memory"), right(String::new())],
                });
            }
            table.add_row(cells);
            worst[at] = worst[at].max(slower);
            spilled[at] += u32::from(measured.written > 0);
        }
    }
    client.run(&format!("set braid.query_memory = '{plenty}'")).await?;
    println!("{table}");
    let ratio = (!ratios.is_empty())
        .then(|| Figure::new("time with ample memory / DuckDB's, geometric mean", geometric_mean(&ratios), ""));
    let figures = PARTS.into_iter().zip(worst).map(|(part, worst)| {
        let figure =
            Figure::new(format!("time with 1/{part} of the memory / with ample memory, worst query"), worst, "");
        if part == PARTS[1] { figure.with_goal(Goal::AtMost(SLOWDOWN_MAX)) } else { figure }
    });
    let written = PARTS.into_iter().zip(spilled).map(|(part, count)| {
        Figure::new(format!("queries that wrote temporary files with 1/{part} of the memory"), f64::from(count), "")
    });
    Ok(figures.chain(written).chain(ratio).collect())
}

impl DuckDb {
    /// `None` where it is not installed.
    async fn start(options: &BenchOptions, database: &Database) -> Result<Option<Self>, BenchError> {
        let Some(file) = duckdb_file(options).await? else { return Ok(None) };
        let Some(session) = tokio::task::block_in_place(DuckDbSession::without_tables)? else { return Ok(None) };
        let mut duckdb = Self { session };
        duckdb.ask(vec![
            format!("attach '{}' as tpch (read_only)", file.display()),
            "use tpch".to_owned(),
            format!("set threads = {}", database.config().target_partitions),
            format!("set temp_directory = '{}'", file.with_extension("tmp").display()),
        ])?;
        Ok(Some(duckdb))
    }

    /// The median of a query's runs with a memory limit, or with the default limit; `None` if it runs out of memory.
    fn seconds(&mut self, sql: &str, memory: Option<ByteSize>) -> Result<Option<f64>, BenchError> {
        let limit = match memory {
            Some(memory) => format!("set memory_limit = '{}KB'", memory.0 / 1000),
            None => "reset memory_limit".to_owned(),
        };
        self.ask(vec![limit])?;
        let mut times = Vec::with_capacity(REPETITIONS);
        for _ in 0..REPETITIONS {
            let start = Instant::now();
            match self.failure(vec![sql.to_owned()])? {
                Some(error) if error.starts_with(OUT_OF_MEMORY) => return Ok(None),
                Some(error) => return Err(BenchError::other("asking DuckDB", error)),
                None => times.push(start.elapsed().as_secs_f64()),
            }
        }
        Ok(Some(median(times)))
    }

    fn ask(&mut self, statements: Vec<String>) -> Result<(), BenchError> {
        self.failure(statements)?.map_or(Ok(()), |error| Err(BenchError::other("asking DuckDB", error)))
    }

    /// The error of the first failed statement.
    fn failure(&mut self, statements: Vec<String>) -> Result<Option<String>, BenchError> {
        let replies = tokio::task::block_in_place(|| self.session.ask(&statements))?;
        Ok(replies.into_iter().find_map(|reply| reply.error))
    }
}

async fn measure(
    database: &Arc<Database>,
    client: &mut SessionClient,
    sql: &str,
    budget: ByteSize,
    expected: &Answer,
    name: &str,
) -> Result<Measured, BenchError> {
    client.run(&format!("set braid.query_memory = '{budget}'")).await?;
    let written = || database.device().stats().of(IoReason::Spill).bytes_written;
    let mut times = Vec::with_capacity(REPETITIONS);
    let before = written();
    database.memory().forget_peak();
    for _ in 0..REPETITIONS {
        let start = Instant::now();
        let found = client.answer(sql).await?;
        times.push(start.elapsed().as_secs_f64());
        expected.compare(&found, RowOrder::Kept).map_err(|difference| BenchError::WrongAnswer {
            query: format!("{name} with {budget}"),
            difference: difference.to_string(),
        })?;
    }
    let held = database.memory().peak();
    Ok(Measured { seconds: median(times), held, written: (written() - before) / REPETITIONS as u64 })
}
