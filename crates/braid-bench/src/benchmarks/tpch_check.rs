//! `tpch-check`: checks the 22 queries of TPC-H against the answers on which DuckDB and PostgreSQL agree.
//!
//! Unlike other benchmarks, it continues after a wrong answer. Its figure is the number of right answers.

use crate::benchmarks::benchmark::BenchResult;
use crate::benchmarks::data_directory::open_tpch;
use crate::drivers::client::SessionClient;
use crate::drivers::stored_answers::check_query;
use crate::report::{Figure, Goal, left, plain_table};
use crate::{BenchError, BenchOptions};

/// Runs it.
pub async fn run(options: &BenchOptions) -> BenchResult {
    let database = open_tpch(options, None).await?;
    let mut client = SessionClient::new(&database);
    let mut wrong = plain_table(&["query", "error"]);
    let mut right = 0;
    for number in 1..=22 {
        match check_query(&mut client, number, options.scale).await {
            Ok(()) => right += 1,
            Err(bad_option @ BenchError::BadOption { .. }) => return Err(bad_option),
            Err(error) => {
                wrong.add_row([left(&format!("q{number:02}")), left(&error.to_string())]);
            }
        }
    }
    if right < 22 {
        println!("{wrong}");
    }
    Ok(vec![Figure::new("queries with the right answer", f64::from(right), "").with_goal(Goal::AtLeast(22.0))])
}
