use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use braid_base::SeededRandom;
use braid_engine::{Config, Database};

use super::merged_pass::MergedPass;
use super::query_layout::Placement;
use super::set_counts::SetCounts;
use super::star_sources::StarSources;
use super::template_passes::TemplatePasses;
use super::{PLACEMENTS, check, check_texts};
use crate::drivers::client::{Client, SessionClient};
use crate::workloads::loading::{Progress, load};
use crate::workloads::star::{STAR_TYPES, Star, StarQuery};
use crate::workloads::tpch::TpchTable;
use crate::workloads::workload::Workload;

/// The star schema at a tiny scale, with some queries of each table replaced.
async fn database(directory: &Path, change: impl Fn(&str, &str) -> String) -> Arc<Database> {
    let database = Database::open(Config::new(directory.join("data"))).await.unwrap();
    load::<TpchTable>(&database, 0.001, Progress::Silent).await.unwrap();
    let mut client = SessionClient::new(&database);
    for table in Star.added_tables() {
        let query = change(table.name, table.query);
        client.run(&format!("create table {} as {query}", table.name)).await.unwrap();
    }
    database
}

fn queries(count_of: impl Fn(usize) -> usize) -> Vec<StarQuery> {
    let mut random = SeededRandom::new(7);
    let mut of_type =
        |number| (0..count_of(number)).map(|_| StarQuery::random(number, &mut random)).collect::<Vec<_>>();
    let queries: BTreeSet<StarQuery> = (0..STAR_TYPES).flat_map(&mut of_type).collect();
    queries.into_iter().collect()
}

/// A third of all keys has no partner. The queries of dates do not need parts, customers and suppliers.
fn with_missing_partners(table: &str, query: &str) -> String {
    match table {
        "star_date" => format!("select * from ({query}) as all_rows where d_datekey % 3 <> 0"),
        "star_customer" => format!("select * from ({query}) as all_rows where c_custkey % 3 <> 0"),
        "star_supplier" => format!("select * from ({query}) as all_rows where s_suppkey % 3 <> 0"),
        "star_part" => format!("select * from ({query}) as all_rows where p_partkey % 3 <> 0"),
        _ => query.to_owned(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_are_those_of_each_template_alone() {
    let directory = tempfile::tempdir().unwrap();
    let database = database(directory.path(), with_missing_partners).await;
    let sources = StarSources::new(&database);
    let of_many = queries(|number| if number % 5 == 0 { 100 } else { 3 });
    let is_divided = |number| of_many.iter().filter(|query| query.number == number).count() > 64;
    assert!(is_divided(0) && is_divided(5), "templates have several branches");
    for queries in [of_many, queries(|_| 1), queries(|number| usize::from(number == 1) * 2)] {
        let passes = TemplatePasses::new(&database.session("bench"), &queries).await.unwrap();
        check_texts(&database, &passes, &queries).await.unwrap();
        let by_template = passes.run().await.unwrap();
        for (placement, name) in PLACEMENTS {
            let merged = MergedPass::run(&sources, &queries, placement).await.unwrap();
            check(&passes, &queries, &by_template, &merged.by_query, name).unwrap();
            let row_count: usize = merged.by_query.iter().map(|rows| rows.row_count()).sum();
            assert!(row_count >= queries.len() / 4, "{row_count} rows of {} queries", queries.len());
        }
        let counts = SetCounts::of(&sources, &queries).await.unwrap();
        assert_eq!(counts.fact_rows, sources.row_count("star_lineorder"));
        assert!(counts.at_fork <= counts.at_any_step && counts.at_fork as u64 <= counts.wanted_rows, "{counts:?}");
        assert!(counts.at_fork > 0 && counts.wanted_rows < counts.fact_rows, "{counts:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn templates_do_not_merge_over_repeated_keys() {
    let directory = tempfile::tempdir().unwrap();
    let twice = |table: &str, query: &str| match table {
        "star_supplier" => format!("{query} union all {query}"),
        _ => query.to_owned(),
    };
    let database = database(directory.path(), twice).await;
    let sources = StarSources::new(&database);
    let error = MergedPass::run(&sources, &queries(|_| 1), Placement::SharedWords).await.err();
    let message = error.expect("a supplier repeats").to_string();
    assert!(message.contains("building star_supplier") && message.contains("repeats"), "{message}");
    // Queries that do not join suppliers do not mind.
    MergedPass::run(&sources, &queries(|number| usize::from(number < 3)), Placement::SharedWords).await.unwrap();
}
