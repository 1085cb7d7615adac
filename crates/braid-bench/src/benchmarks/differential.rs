//! `differential`: random queries on random tables, on Braid and on another engine. The other engine is DuckDB, or Braid itself on
//! other plans, which test operators, passes and orders of joins, and not what a query means.
//!
//! A case with different answers is reduced to its smallest form, and printed as SQL with the seed that reproduces it. The
//! benchmark then continues; its figure is the number of differences.

pub mod comparison;
pub mod engines;
pub mod hunt;

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use braid_base::ByteSize;
use braid_engine::{Config, Database};
use parking_lot::Mutex;

use self::engines::{Braid, PeerEngine};
use self::hunt::{CASES_OF_TABLES, Hunt, Tally};
use crate::benchmarks::benchmark::{BenchResult, Peer};
use crate::benchmarks::data_directory::remove_directory;
use crate::drivers::duckdb::{DuckDbSession, PEERS_PYTHON};
use crate::report::{Figure, Goal};
use crate::{BenchError, BenchOptions};

/// Cores per query: more than most test machines have, so that workers run concurrently.
const WORKERS: usize = 4;

/// Runs it.
pub async fn run(options: &BenchOptions) -> BenchResult {
    let scratch = options.data.join("differential-scratch");
    remove_directory(&scratch)?;
    std::fs::create_dir_all(&scratch).map_err(|source| BenchError::File { path: scratch.clone(), source })?;
    let result = hunt(options, &scratch).await;
    remove_directory(&scratch)?;
    result
}

async fn hunt(options: &BenchOptions, scratch: &Path) -> BenchResult {
    let mut config = Config::new(scratch.join("braid"));
    config.buffer = options.buffer.unwrap_or(ByteSize::mib(64));
    config.target_partitions = WORKERS;
    let database = Database::open(config).await?;
    let (peer, name) = peer(options, &database).await?;
    println!("{} cases compared with {name}, seed {}", options.cases, options.seed);
    let mut hunt = Hunt::new(&database, peer).await?;
    let (mut tally, start) = (Tally::default(), Instant::now());
    while tally.cases < options.cases {
        let seed = options.seed.wrapping_add(tally.cases / CASES_OF_TABLES);
        let count = CASES_OF_TABLES.min(options.cases - tally.cases);
        hunt.run(seed, count, &mut tally, &mut |finding| println!("{finding}")).await?;
    }
    let seconds = start.elapsed().as_secs_f64();
    drop(hunt);
    database.close().await;
    Ok(figures(tally, seconds))
}

fn figures(tally: Tally, seconds: f64) -> Vec<Figure> {
    let count = |name: &str, value: u64| Figure::new(name, value as f64, "");
    vec![
        count("cases", tally.cases),
        count("answers that agree", tally.agreed),
        count("rows of these answers", tally.rows),
        count("refused by Braid", tally.refused),
        count("failed in both", tally.both_failed),
        count("failed only in the other engine", tally.peer_failed),
        count("differences", tally.differed).with_goal(Goal::AtMost(0.0)),
        Figure::new("time", seconds, "s"),
        Figure::new("cases", tally.cases as f64 / seconds, "1/s"),
    ]
}

/// The requested engine, or by default DuckDB if it is installed.
async fn peer(options: &BenchOptions, database: &Arc<Database>) -> Result<(PeerEngine, String), BenchError> {
    let bad = |reason: &str| BenchError::BadOption {
        option: "peer",
        value: format!("{:?}", options.peer).to_lowercase(),
        reason: reason.to_owned(),
    };
    if options.peer != Some(Peer::OtherPlans) {
        let started = tokio::task::spawn_blocking(DuckDbSession::without_tables).await;
        if let Some(session) = started.map_err(|e| BenchError::other("starting DuckDB", e))?? {
            let name = format!("DuckDB {}", session.version);
            return Ok((PeerEngine::DuckDb(Arc::new(Mutex::new(session))), name));
        }
        if options.peer.is_some() {
            return Err(bad(&format!("it is not installed: run bench/peers/run.sh once, or set {PEERS_PYTHON}")));
        }
    }
    let session = Braid::on_other_plans(database).await?;
    Ok((PeerEngine::OtherPlans(session), "other plans".to_owned()))
}
