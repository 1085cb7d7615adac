//! Runs every template with the parameters of random queries, and compares the results with the engine's answers to their texts.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use braid_base::ByteSize;
use braid_engine::Database;
use braid_exec::FixedBudget;
use braid_exec::executor::Executor;
use braid_exec::plan::SortSpec;
use braid_exec::runtime::result_rows::ResultRows;
use braid_exec::sorting::SortWorker;
use braid_testing::cases;

use super::*;
use crate::BenchOptions;
use crate::benchmarks::data_directory::open_tpch;
use crate::drivers::client::{Client, SessionClient};
use crate::workloads::answer::RowOrder;
use crate::workloads::tpch::MIX_NUMBERS;

/// Queries of each type.
const QUERIES: usize = 10;

const SEED: u64 = 3;

async fn tiny_database(directory: &Path) -> Arc<Database> {
    let options = BenchOptions {
        peer: None,
        data: directory.to_owned(),
        scale: 0.01,
        clients: Vec::new(),
        seconds: 1.0,
        rounds: 1,
        buffer: None,
        connections: 1,
        heavy_clients: vec![1],
        response_limit: None,
        rows: 1,
        cases: 300,
        seed: 1,
        planted_every: None,
        plot: None,
        json: None,
    };
    open_tpch(&options, None).await.unwrap()
}

async fn rows_of(plan: &Plan) -> ResultRows {
    let budget = FixedBudget::new(ByteSize(1 << 30));
    // Without keys, rows stay in the order in which they come.
    let in_their_order = Arc::new(SortSpec { keys: Vec::new(), limit: None });
    let executor = Executor::new(2, budget.clone());
    let workers = executor.run(plan, || SortWorker::new(in_their_order.clone(), budget.clone())).await.unwrap();
    SortWorker::finish(workers, plan.column_count()).unwrap()
}

/// Conditions with parameters that are not directly above a source.
fn late_conditions(plan: &Plan) -> usize {
    match plan {
        Plan::Source { .. } => 0,
        Plan::Filter { input, condition } => {
            let is_late = !matches!(**input, Plan::Source { .. }) && format!("{condition:?}").contains("Parameter(");
            usize::from(is_late) + late_conditions(input)
        }
        Plan::Project { input, .. } | Plan::Aggregate { input, .. } | Plan::Sort { input, .. } => {
            late_conditions(input)
        }
        Plan::Join { build, probe, .. } => late_conditions(build) + late_conditions(probe),
        other => panic!("templates have no {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bound_template_answers_as_its_text() {
    let directory = tempfile::tempdir().unwrap();
    let database = tiny_database(directory.path()).await;
    let tables = TpchSources::hot(&database);
    let mut client = SessionClient::new(&database);
    let case = cases!(SEED..SEED + 1).next().expect("there is one");
    for number in MIX_NUMBERS {
        let queries = SharedQueries::random(number, QUERIES, case.seed);
        let template = queries.plan(&tables);
        assert_eq!(late_conditions(&template), usize::from(number == 19), "Q{number}");
        assert_eq!(template.column_count(), queries.column_types().len());
        let mut different_answers = BTreeSet::new();
        for (sql, parameters) in queries.sql().iter().zip(queries.parameters()) {
            let expected = client.answer(sql).await.unwrap();
            let bound = template.bind(&parameters).with_filters_in_scans();
            let found = queries.answer(rows_of(&bound).await.columns()).unwrap();
            if let Err(difference) = expected.compare(&found, RowOrder::Kept) {
                panic!("{sql} with {parameters:?}: {difference}");
            }
            different_answers.insert(found.rows);
        }
        println!("Q{number}: {} answers, such as {:?}", different_answers.len(), different_answers.last());
        assert!(different_answers.len() > 1, "the parameters of Q{number} make no difference");
        let has_value = |rows: &Vec<Vec<String>>| rows.iter().flatten().any(|value| value != "\\N" && value != "0");
        assert!(different_answers.iter().any(has_value), "Q{number} finds nothing");
    }
}

#[test]
fn parameters_and_texts_are_those_of_a_seed() {
    for number in MIX_NUMBERS {
        let queries = SharedQueries::random(number, QUERIES, SEED);
        assert_eq!((queries.number, queries.queries.len()), (number, QUERIES));
        let parameters = queries.parameters();
        assert!(parameters.iter().all(|row| row.len() == parameters[0].len()), "Q{number}");
        assert_eq!(queries.sql(), SharedQueries::random(number, QUERIES, SEED).sql());
        assert_ne!(queries.sql(), SharedQueries::random(number, QUERIES, SEED + 1).sql());
    }
}

/// The operators of a plan, each below the one before it, as far as they are joins and aggregations.
fn operators(plan: &Plan) -> Vec<String> {
    let mut text = String::new();
    plan.describe(0, &mut text).unwrap();
    let is_shown = |line: &&str| line.starts_with("HashJoin") || line.starts_with("Aggregate");
    text.lines().map(str::trim).filter(is_shown).map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn plans_from_texts_group_where_those_by_hand_do() {
    let directory = tempfile::tempdir().unwrap();
    let database = tiny_database(directory.path()).await;
    let tables = TpchSources::hot(&database);
    let session = database.session("bench");
    let both = async |number| {
        let queries = SharedQueries::random(number, 64, SEED);
        let form = session.shared_form(&queries.sql()).await.unwrap();
        (operators(&form.plan), operators(&queries.plan(&tables)))
    };
    // Orders are counted by customer before the join.
    let (from_text, by_hand) = both(13).await;
    assert_eq!(from_text.len(), by_hand.len(), "{from_text:?}");
    for operators in [&from_text, &by_hand] {
        assert!(operators[1].starts_with("HashJoin: BuildOuter"), "{operators:?}");
    }
    assert_eq!(from_text[2], "Aggregate: by [#1]: [CountRows(*)]");
    // Volumes are added up by year and nation before the nation is compared. How many digits a sum shows is a maximum beside it.
    let (from_text, _) = both(8).await;
    let first = [
        "Aggregate: by [#0]: [Sum(#1), Maximum(#2), Sum(#3)]",
        "Aggregate: by [#0, #1]: [Sum(#2), Maximum(#3), Maximum(#4)]",
    ];
    assert_eq!(from_text[..2], first);
}
