//! Queries in passes: every answer is that of the same query alone, whoever else runs, leaves or fails.

use std::time::Duration;

use braid_base::Random;
use braid_engine::Session;
use braid_testing::{PAUSE, Wait, cases};
use futures::future::{join, join_all};

use crate::test_db::{TestDb, run};

/// Two tables, and the shapes of statements on them. `#` is a constant.
const SHAPES: [&str; 14] = [
    "select count(*), sum(v), min(v) from facts where k = #",
    "select k % 7, count(*) from facts where v between # and 90 group by 1 order by 1",
    "select name, sum(v) from facts join names on facts.k = names.k where v > # group by name order by name",
    "select k, v from facts where v = # order by k, v limit 5",
    "select count(*) from facts where k in (#, 3, #) and v <> #",
    "select names.k, count(v) from names left join facts on names.k = facts.k and v < # group by names.k order by 1",
    "select count(*) from names where exists (select 1 from facts where facts.k = names.k and v = #)",
    "select name from names where name like 'n#%' order by name",
    "select 100 / (v - #) from facts where k = # order by v, 1",
    "select case when v > # then 'high' else 'low' end as x, count(*) from facts group by 1 order by 1",
    "select distinct v % # from facts where k < 5 order by 1",
    "select sum(v) from facts where k > # having count(*) > #",
    "select k, v from facts where k > # order by v desc, k limit #",
    "select max(v) - # from facts where v < (select avg(v) from facts) and k <> #",
];

async fn database() -> TestDb {
    let db = TestDb::new().await;
    db.run("create table names (k int, name text)").await;
    db.run("create table facts (k int, v int)").await;
    let names: Vec<String> = (0..20).map(|k| format!("({k}, 'n{k}')")).collect();
    db.run(&format!("insert into names values {}", names.join(", "))).await;
    let facts: Vec<String> = (0..6000).map(|n| format!("({}, {})", n * 7 % 23, n * 13 % 101)).collect();
    db.run(&format!("insert into facts values {}", facts.join(", "))).await;
    db
}

/// Rows as text, or SQLSTATE and message.
async fn answer(session: &Session, sql: &str) -> Result<String, String> {
    run(session, sql).await.map_err(|error| format!("{} {}", error.sqlstate(), error.message()))
}

fn session(db: &TestDb, sharing: &str) -> Session {
    let session = db.database.session("alice");
    session.set_setting("braid.sharing", sharing).unwrap();
    session
}

fn statement(shapes: &[&str], random: &mut impl Random) -> String {
    let mut sql = shapes[random.below(shapes.len() as u64) as usize].to_owned();
    while sql.contains('#') {
        sql = sql.replacen('#', &random.below(12).to_string(), 1);
    }
    sql
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_in_passes_are_those_alone() {
    let db = database().await;
    let alone = session(&db, "off");
    alone.set_setting("braid.templates", "off").unwrap();
    for case in cases!(0..30) {
        let mut random = case.random();
        let mode = ["auto", "global"][random.below(2) as usize];
        let few = 1 + random.below(3) as usize;
        let first = random.below((SHAPES.len() - few) as u64) as usize;
        let texts: Vec<String> = (0..60).map(|_| statement(&SHAPES[first..first + few], &mut random)).collect();
        let clients: Vec<Session> = (0..12).map(|_| session(&db, mode)).collect();
        let asked = texts.chunks(5).zip(&clients).map(|(texts, client)| async move {
            let mut answers = Vec::new();
            for text in texts {
                answers.push(answer(client, text).await);
            }
            answers
        });
        let answers: Vec<_> = join_all(asked).await.into_iter().flatten().collect();
        for (text, found) in texts.iter().zip(answers) {
            assert_eq!(found, answer(&alone, text).await, "{mode}: {text}");
        }
    }
    let figures = db.database.sharing_figures();
    assert!(figures.shared_passes > 50, "{figures:?}");
    assert_eq!((figures.waiting, figures.running), (0, 0), "{figures:?}");
}

/// Each numeric equals the integer beside it, whatever its digits are: so no answer depends on the version that is read.
#[tokio::test(flavor = "multi_thread")]
async fn numerics_that_become_bytes_while_they_are_asked_for_change_no_answer() {
    let db = TestDb::new().await;
    let shapes = [
        ("select count(*) from facts where n > #.5 and v <= #", "0"),
        ("select case when sum(n) = sum(v) then 'same' end from facts where n <> # and v is not null", "same"),
        ("select count(*) from facts where n = # and v <> #", "0"),
        ("select count(*) from facts a join names b on a.n = b.k and b.k > # where a.v <> b.k", "0"),
    ];
    db.run("create table names (k int)").await;
    db.run("insert into names select k from generate_series(0, 100) s(k)").await;
    for case in cases!(0..6) {
        let mut random = case.random();
        db.run("drop table if exists facts").await;
        db.run("create table facts (n numeric, v int)").await;
        db.run("insert into facts select (i % 101)::numeric(10,2), i % 101 from generate_series(1, 6000) s(i)").await;
        let writer = session(&db, "auto");
        let clients: Vec<Session> = (0..10).map(|_| session(&db, ["auto", "global"][case.seed as usize % 2])).collect();
        let texts = (0..60).map(|at| {
            let (shape, expected) = shapes[at % shapes.len()];
            (shape.replace('#', &random.below(100).to_string()), expected)
        });
        let texts: Vec<(String, &str)> = texts.collect();
        let asked = texts.chunks(6).zip(&clients).map(|(texts, client)| async move {
            for (text, expected) in texts {
                assert_eq!(answer(client, text).await.as_deref(), Ok(*expected), "{text}");
            }
        });
        let written = async {
            for value in ["7.00, 7", "10000000000.00, null", "8.00, 8", "5.0, 5", "6, 6", "9.00, 9"] {
                run(&writer, &format!("insert into facts values ({value})")).await.unwrap();
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        join(join_all(asked), written).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn queries_that_leave_disturb_nobody() {
    let db = database().await;
    let alone = session(&db, "off");
    for case in cases!(0..20) {
        let mut random = case.random();
        let texts: Vec<String> = (0..40).map(|_| statement(&SHAPES[..4], &mut random)).collect();
        let patience: Vec<Option<u64>> =
            texts.iter().map(|_| random.chance(1, 3).then(|| random.below(3000))).collect();
        let asked = texts.iter().zip(&patience).map(|(text, patience)| {
            let client = session(&db, "global");
            async move {
                match patience {
                    None => Some(answer(&client, text).await),
                    Some(us) => tokio::time::timeout(Duration::from_micros(*us), answer(&client, text)).await.ok(),
                }
            }
        });
        let answers = join_all(asked).await;
        for (text, found) in texts.iter().zip(answers) {
            if let Some(found) = found {
                assert_eq!(found, answer(&alone, text).await, "{text}");
            }
        }
    }
    // What was left behind ends by itself.
    let wait = Wait::new("passes to end and to hold nothing");
    loop {
        let (figures, memory) = (db.database.sharing_figures(), db.database.memory().used());
        if (figures.waiting, figures.running, memory.0) == (0, 0, 0) {
            return;
        }
        wait.check(|| format!("{figures:?}, {memory}"));
        tokio::time::sleep(PAUSE).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn passes_read_what_was_committed_before_them() {
    let db = database().await;
    db.run("create table log (n int)").await;
    let writer = session(&db, "auto");
    let count = "select count(*), max(n) from log where n >= 0";
    let readers = (0..8).map(|_| {
        let client = session(&db, "global");
        async move {
            let mut last = 0;
            for _ in 0..30 {
                let found = answer(&client, count).await.unwrap();
                let rows: u64 = found.split('|').next().unwrap().parse().unwrap();
                assert!(rows >= last, "{rows} rows after {last}");
                last = rows;
            }
        }
    });
    let writes = async {
        for n in 0..40 {
            run(&writer, &format!("insert into log values ({n})")).await.unwrap();
            // Each session sees its own rows at once.
            assert_eq!(answer(&writer, count).await.unwrap(), format!("{}|{n}", n + 1));
        }
    };
    futures::join!(join_all(readers), writes);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_that_goes_takes_nobody_with_it() {
    let db = database().await;
    let expected = db.run("select count(*) from facts where k < 5").await;
    for round in 0..10 {
        db.run("create table going (a int)").await;
        db.run("insert into going select k from facts").await;
        let text = "select count(*) from going where a < 5";
        let asked = (0..10).map(|_| {
            let client = session(&db, "global");
            async move {
                let mut found = Vec::new();
                for _ in 0..10 {
                    found.push(answer(&client, text).await);
                }
                found
            }
        });
        let drop = async {
            tokio::time::sleep(Duration::from_millis(round)).await;
            db.run("drop table going").await;
        };
        let (answers, ()) = futures::join!(join_all(asked), drop);
        for found in answers.into_iter().flatten() {
            match found {
                Ok(count) => assert_eq!(count, expected),
                Err(error) => assert!(error.starts_with("42P01"), "{error}"),
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_response_limit_refuses_what_would_be_late() {
    let db = database().await;
    let text = |n: usize| format!("select count(*) from facts a join facts b on a.k = b.k where a.v < {n}");
    let impatient = session(&db, "auto");
    impatient.set_setting("braid.response_limit", "1ms").unwrap();
    for n in 0..4 {
        run(&session(&db, "auto"), &text(n)).await.unwrap();
    }
    let busy = (0..6).map(|n| {
        let client = session(&db, "auto");
        async move { answer(&client, &text(20 + n)).await.map(|_| ()) }
    });
    let late = async {
        tokio::time::sleep(Duration::from_millis(2)).await;
        answer(&impatient, &text(50)).await
    };
    let (others, late) = futures::join!(join_all(busy), late);
    assert!(others.into_iter().all(|answer| answer.is_ok()));
    let error = late.unwrap_err();
    assert!(error.starts_with("53000 the predicted response time is"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_answer_comes_after_the_response_limit() {
    let db = database().await;
    let text = |n: usize| format!("select count(*) from facts a join facts b on a.k = b.k where a.v < {n}");
    for n in 0..4 {
        run(&session(&db, "auto"), &text(n)).await.unwrap();
    }
    for mode in ["auto", "global"] {
        // The lanes are free, so it starts at once, whatever is predicted.
        let impatient = session(&db, mode);
        impatient.set_setting("braid.response_limit", "1ms").unwrap();
        let error = answer(&impatient, &text(50)).await.unwrap_err();
        assert!(error.starts_with("53000 the query was not answered within the limit of 0.001 s"), "{error}");
        impatient.set_setting("braid.response_limit", "10min").unwrap();
        assert_eq!(answer(&impatient, &text(50)).await, answer(&session(&db, "off"), &text(50)).await);
    }
    assert_eq!(db.run("select count(*) from braid_queries").await, "0");
}

#[tokio::test(flavor = "multi_thread")]
async fn large_results_reach_their_readers() {
    let db = database().await;
    db.run("create table wide as select a.v as v, repeat('x', 100) as pad from facts a join facts b on a.k = b.k")
        .await;
    let total = db.run("select count(*) from wide where v < 50").await;
    let asked = (0..4).map(|_| {
        let client = session(&db, "global");
        async move { answer(&client, "select v, pad from wide where v < 50").await.unwrap().lines().count() }
    });
    for lines in join_all(asked).await {
        assert_eq!(lines.to_string(), total);
    }
}
