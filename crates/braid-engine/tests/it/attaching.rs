//! Queries that equal one that runs: one execution, and the answer that each would have alone.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use braid_base::Random;
use braid_engine::{EngineError, Outcome, RowBatches, Session, SharingFigures};
use braid_testing::{cases, eventually, in_time};
use futures::StreamExt;
use futures::future::join_all;
use tokio_util::sync::CancellationToken;

use crate::test_db::{TestDb, run};

async fn database() -> TestDb {
    let db = TestDb::new().await;
    db.run("create table facts (k int, v int)").await;
    db.run("insert into facts select n % 23, n % 101 from generate_series(1, 6000) as s(n)").await;
    db
}

fn session(db: &TestDb, sharing: &str) -> Session {
    let session = db.database.session("alice");
    session.set_setting("braid.sharing", sharing).unwrap();
    session
}

/// Rows as text, or SQLSTATE and message.
async fn answer(session: &Session, sql: &str) -> Result<String, String> {
    let answer = in_time(format!("the answer of {sql}"), run(session, sql)).await;
    answer.map_err(|error| format!("{} {}", error.sqlstate(), error.message()))
}

/// A query that runs for a while if `n` is 100.
fn long(n: usize) -> String {
    format!("select count(*), sum(a.v + b.v) from facts a join facts b on a.k % 5 = b.k % 5 where a.v < {n}")
}

/// A query that fails at its end, after a while if `n` is 100.
fn failing(n: usize) -> String {
    format!("select 100 / (count(*) - count(a.v)) from facts a join facts b on a.k % 5 = b.k % 5 where a.v < {n}")
}

/// Queries of these have templates from now on.
async fn learn(db: &TestDb, queries: impl Fn(usize) -> String) {
    for n in 0..2 {
        // It may fail: templates are made before queries run.
        let _ = answer(&session(db, "auto"), &queries(n)).await;
    }
}

/// Executions in lanes and beside them.
fn executions(figures: SharingFigures) -> u64 {
    figures.single_passes + figures.shared_passes
}

async fn until_nothing_is_left(db: &TestDb) {
    let database = &db.database;
    eventually("nothing is left", || {
        let figures = database.sharing_figures();
        (figures.waiting, figures.running, database.memory().used().0) == (0, 0, 0)
    })
    .await;
    assert_eq!(db.run("select count(*) from braid_queries").await, "0");
}

/// The rows of a query, to be read.
async fn start(session: &Session, sql: &str) -> Result<RowBatches, EngineError> {
    let statement = session.parse(sql).unwrap().remove(0);
    let executed = session.execute(&statement, vec![], CancellationToken::new());
    match in_time(format!("the first rows of {sql}"), executed).await? {
        Outcome::Rows { stream, .. } => Ok(stream),
        outcome => panic!("{outcome:?}"),
    }
}

/// Reads rows to their end, and counts them.
async fn count_rows(mut rows: RowBatches) -> usize {
    let mut count = 0;
    while let Some(batch) = in_time("the next rows", rows.next()).await {
        count += batch.unwrap().num_rows();
    }
    count
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_equal_queries_run_once() {
    let db = database().await;
    learn(&db, long).await;
    let expected = answer(&session(&db, "off"), &long(100)).await.unwrap();
    for mode in ["auto", "global"] {
        let before = db.database.sharing_figures();
        let asked = (0..1000).map(|_| {
            let client = session(&db, mode);
            async move { answer(&client, &long(100)).await.unwrap() }
        });
        assert!(join_all(asked).await.iter().all(|found| *found == expected));
        let after = db.database.sharing_figures();
        assert_eq!(executions(after) - executions(before), 1, "{mode}: {after:?}");
        assert_eq!(after.attached_queries - before.attached_queries, 999, "{mode}: {after:?}");
        let last = "select queries, distinct_queries, ending from braid_passes order by number desc limit 1";
        assert_eq!(db.run(last).await, "1000|1|answered");
        until_nothing_is_left(&db).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn queries_are_attached_one_by_one_and_shown() {
    let db = database().await;
    learn(&db, long).await;
    for mode in ["auto", "global"] {
        let attached = db.database.sharing_figures().attached_queries;
        let ask = |sql: String| {
            let client = session(&db, mode);
            tokio::spawn(async move { answer(&client, &sql).await.unwrap() })
        };
        let mut asked = vec![ask(long(100))];
        eventually("it runs", || db.database.sharing_figures().running == 1).await;
        for count in 1..5 {
            asked.push(ask(long(100)));
            eventually("it is attached", || db.database.sharing_figures().attached_queries == attached + count).await;
        }
        let seen = "select state, count(*), min(waited_ms), max(waited_ms) < 1000 from braid_queries group by state";
        let seen = answer(&session(&db, "auto"), seen).await.unwrap();
        assert!(seen.starts_with("running|5|0") && seen.ends_with("true"), "{seen}");
        let explained = answer(&session(&db, mode), &format!("explain analyze {}", long(100))).await.unwrap();
        let told =
            if mode == "auto" { ", alone for 6 equal queries, " } else { ", with 5 other queries, 1 distinct, " };
        assert!(explained.contains(told) && explained.contains("Aggregate"), "{explained}");
        for query in asked {
            assert_eq!(query.await.unwrap(), answer(&session(&db, "off"), &long(100)).await.unwrap());
        }
    }
    until_nothing_is_left(&db).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_sees_what_was_written_before_it() {
    let db = database().await;
    db.run("create table other (a int)").await;
    learn(&db, long).await;
    let off = session(&db, "off");
    let (first, second) = (session(&db, "auto"), session(&db, "auto"));
    let before = answer(&off, &long(100)).await.unwrap();
    let slow = tokio::spawn(async move { answer(&first, &long(100)).await.unwrap() });
    eventually("it runs", || db.database.sharing_figures().running == 1).await;
    // Another table does not matter.
    run(&second, "insert into other values (1)").await.unwrap();
    let attached = tokio::spawn({
        let client = session(&db, "auto");
        async move { answer(&client, &long(100)).await.unwrap() }
    });
    eventually("it is attached", || db.database.sharing_figures().attached_queries == 1).await;
    run(&second, "insert into facts values (1, 1)").await.unwrap();
    let (sql, third) = (long(100), session(&db, "auto"));
    let (own, others) = futures::join!(answer(&second, &sql), answer(&third, &sql));
    let after = answer(&off, &long(100)).await.unwrap();
    assert_ne!(before, after);
    assert_eq!((own.unwrap(), others.unwrap()), (after.clone(), after));
    assert_eq!((slow.await.unwrap(), attached.await.unwrap()), (before.clone(), before));
    until_nothing_is_left(&db).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_block_reads_its_snapshot_whoever_runs() {
    let db = database().await;
    learn(&db, long).await;
    let before = answer(&session(&db, "off"), &long(100)).await.unwrap();
    let (same, older) = (session(&db, "auto"), session(&db, "auto"));
    for block in [&same, &older] {
        run(block, "begin isolation level repeatable read").await.unwrap();
        run(block, "select count(*) from facts").await.unwrap();
    }
    let ask = || {
        let client = session(&db, "auto");
        tokio::spawn(async move { answer(&client, &long(100)).await.unwrap() })
    };
    let running = ask();
    eventually("it runs", || db.database.sharing_figures().running == 1).await;
    assert_eq!(answer(&same, &long(100)).await.unwrap(), before);
    assert_eq!(db.database.sharing_figures().attached_queries, 1);
    assert_eq!(running.await.unwrap(), before);
    db.run("insert into facts values (1, 1)").await;
    let running = ask();
    eventually("it runs", || db.database.sharing_figures().running == 1).await;
    assert_eq!(answer(&older, &long(100)).await.unwrap(), before);
    assert_ne!(running.await.unwrap(), before);
    assert_eq!(db.database.sharing_figures().attached_queries, 1);
    until_nothing_is_left(&db).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_goes_on_without_its_first_query_and_ends_with_its_last() {
    let db = database().await;
    learn(&db, long).await;
    let expected = answer(&session(&db, "off"), &long(100)).await.unwrap();
    for mode in ["auto", "global"] {
        let before = db.database.sharing_figures();
        let ask = || {
            let client = session(&db, mode);
            tokio::spawn(async move { answer(&client, &long(100)).await.unwrap() })
        };
        let first = ask();
        eventually("it runs", || db.database.sharing_figures().running == 1).await;
        let second = ask();
        let attached =
            |count| move |figures: SharingFigures| figures.attached_queries == before.attached_queries + count;
        eventually("it is attached", || attached(1)(db.database.sharing_figures())).await;
        first.abort();
        assert_eq!(second.await.unwrap(), expected, "{mode}");
        let asked = [ask(), ask(), ask()];
        eventually("they are attached", || attached(3)(db.database.sharing_figures())).await;
        asked.iter().for_each(|query| query.abort());
        until_nothing_is_left(&db).await;
        assert_eq!(executions(db.database.sharing_figures()) - executions(before), 2, "{mode}");
        let last = "select queries, ending from braid_passes order by number desc limit 1";
        assert_eq!(db.run(last).await, "3|cancelled", "{mode}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn equal_failures_are_one() {
    let db = database().await;
    learn(&db, failing).await;
    for (mode, runs) in [("auto", 1), ("global", 2)] {
        let before = executions(db.database.sharing_figures());
        let asked = (0..50).map(|_| {
            let client = session(&db, mode);
            async move { answer(&client, &failing(100)).await.unwrap_err() }
        });
        for error in join_all(asked).await {
            assert!(error.starts_with("22012"), "{error}");
        }
        assert_eq!(executions(db.database.sharing_figures()) - before, runs, "{mode}");
        until_nothing_is_left(&db).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn large_results_are_read_each_at_its_own_pace() {
    let db = database().await;
    db.run("create table wide as select v, repeat('x', 1000) as pad from facts, generate_series(1, 2)").await;
    // Its rows come late, so that the others are attached before.
    let sql = |n: usize| {
        format!(
            "select v, pad from wide where v < {n} and (select count(*) from facts a join facts b on a.k % 2 = b.k % 2) > 0"
        )
    };
    learn(&db, sql).await;
    let expected = count_rows(start(&session(&db, "off"), &sql(102)).await.unwrap()).await;
    for mode in ["auto", "global"] {
        let before = db.database.sharing_figures().attached_queries;
        let clients: Vec<Session> = (0..6).map(|_| session(&db, mode)).collect();
        let text = sql(102);
        let streams = join_all(clients.iter().map(|client| start(client, &text))).await;
        let streams: Vec<RowBatches> = streams.into_iter().map(Result::unwrap).collect();
        assert!(db.database.sharing_figures().attached_queries > before, "{mode}");
        // The first is never read, the second vanishes, the last is read first.
        let mut streams = streams.into_iter();
        let unread = streams.next().unwrap();
        drop(streams.next());
        let others: Vec<RowBatches> = streams.rev().collect();
        for rows in others {
            assert_eq!(count_rows(rows).await, expected, "{mode}");
        }
        assert_eq!(answer(&session(&db, mode), "select count(*) from facts where v < 101").await.unwrap(), "6000");
        drop(unread);
        until_nothing_is_left(&db).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_reader_of_a_small_result_holds_nobody_up() {
    let db = database().await;
    let sql = |n: usize| format!("select k, v from facts where v < {n}");
    learn(&db, sql).await;
    let (slow, quick) = (session(&db, "auto"), session(&db, "auto"));
    let unread = start(&slow, &sql(50)).await.unwrap();
    // It has run, and holds no lane.
    assert_eq!(db.database.sharing_figures().running, 0);
    for n in 50..60 {
        let expected = answer(&session(&db, "off"), &sql(n)).await;
        assert_eq!(answer(&quick, &sql(n)).await, expected);
    }
    assert!(db.database.memory().used().0 > 0, "its rows are kept under a budget");
    drop(unread);
    until_nothing_is_left(&db).await;
}

/// Statements with few constants, so that many are equal; some fail, some have large results.
fn random_statement(random: &mut impl Random) -> String {
    let n = random.below(3);
    match random.below(6) {
        0 => format!("select k, count(*) from facts where v < {n}0 group by k order by k"),
        1 => format!("select sum(100 / (v - {n})) from facts where k = 3"),
        2 => format!("select a.k, b.v from facts a join facts b on a.k = b.k where a.v < {n} order by 1, 2 limit 50"),
        3 => format!("select count(*) from facts a join facts b on a.k = b.k where a.v < 5{n}"),
        4 => format!("select count(*), min(pad) from (select v, pad from wide where v > {n} order by v) x"),
        _ => format!("select v, pad from wide where v < 10{n} order by v"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_are_those_alone_under_arrivals_departures_and_writes() {
    let db = database().await;
    db.run("create table wide as select v, repeat('x', 1000) as pad from facts").await;
    let alone = session(&db, "off");
    let departures = AtomicU64::new(0);
    for case in cases!(0..8) {
        let mut expected: HashMap<String, Result<String, String>> = HashMap::new();
        let mut random = case.random();
        let asked = (0..40).map(|_| {
            let texts: Vec<String> = (0..2).map(|_| random_statement(&mut random)).collect();
            let client = session(&db, ["auto", "global"][random.below(2) as usize]);
            let patience_us = random.chance(1, 4).then(|| random.below(20_000));
            let departures = &departures;
            async move {
                let mut found = Vec::new();
                for text in texts {
                    let answer = answer(&client, &text);
                    match patience_us {
                        None => found.push((answer.await, text)),
                        Some(us) => match tokio::time::timeout(Duration::from_micros(us), answer).await {
                            Ok(answer) => found.push((answer, text)),
                            Err(_) => drop(departures.fetch_add(1, Ordering::Relaxed)),
                        },
                    }
                }
                found
            }
        });
        let answers = in_time("the answers of all clients", join_all(asked)).await;
        for (found, text) in answers.into_iter().flatten() {
            if !expected.contains_key(&text) {
                expected.insert(text.clone(), answer(&alone, &text).await);
            }
            assert!(found == expected[&text], "{text}");
        }
        until_nothing_is_left(&db).await;
        db.run("insert into facts select n % 23, n % 101 from generate_series(1, 50) as s(n)").await;
    }
    let figures = db.database.sharing_figures();
    assert!(figures.attached_queries > 20 && departures.into_inner() > 20, "{figures:?}");
}
