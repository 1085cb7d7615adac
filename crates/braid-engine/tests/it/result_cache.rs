//! Results that are kept: an equal query has them, unless a table has changed.

use braid_base::Random;
use braid_engine::Session;
use braid_testing::cases;

use crate::test_db::{TestDb, run};

async fn database() -> TestDb {
    let db = TestDb::new().await;
    db.run("create table facts (k int, v int, name text)").await;
    db.run(
        "insert into facts select n % 23, n % 101, 'a name of some length ' || n from generate_series(1, 6000) as s(n)",
    )
    .await;
    db.run("create table other as select k from facts").await;
    db
}

fn session(db: &TestDb, cache: &str) -> Session {
    let session = db.database.session("alice");
    session.set_setting("braid.result_cache", cache).unwrap();
    session
}

async fn answer(session: &Session, sql: &str) -> String {
    run(session, sql).await.unwrap()
}

/// Executions so far.
fn executions(db: &TestDb) -> u64 {
    let figures = db.database.sharing_figures();
    figures.single_passes + figures.shared_passes
}

const SQL: &str = "select k, min(name), sum(v) from facts where v < 50 group by k order by k";

async fn learn(db: &TestDb, sql: &str) {
    for n in [51, 52] {
        answer(&session(db, "off"), &sql.replace("50", &n.to_string())).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_equal_query_has_the_kept_result_until_a_table_changes() {
    let db = database().await;
    learn(&db, SQL).await;
    let (one, another, off) = (session(&db, "on"), session(&db, "on"), session(&db, "off"));
    let before = executions(&db);
    let first = answer(&off, SQL).await;
    for client in [&one, &another, &one, &another] {
        assert_eq!(answer(client, SQL).await, first);
    }
    assert_eq!(executions(&db) - before, 2, "a session with the setting off neither keeps nor finds results");
    assert_ne!(answer(&one, &SQL.replace("50", "49")).await, first);
    let explained = answer(&one, &format!("explain analyze {SQL}")).await;
    assert!(explained.contains("\nPass: none, its result was kept from an equal query\n"), "{explained}");
    assert_eq!(executions(&db) - before, 3);
    // A block has what it saw, the others what was written.
    run(&another, "begin isolation level repeatable read").await.unwrap();
    assert_eq!(answer(&another, SQL).await, first);
    run(&one, "insert into other values (1)").await.unwrap();
    assert_eq!(answer(&one, SQL).await, first);
    assert_eq!(executions(&db) - before, 3);
    run(&one, "insert into facts values (0, 0, 'a')").await.unwrap();
    let second = answer(&one, SQL).await;
    assert_eq!((second == first, executions(&db) - before), (false, 4));
    assert_eq!(answer(&another, SQL).await, first);
    run(&another, "commit").await.unwrap();
    assert_eq!(answer(&another, SQL).await, second);
    assert_eq!(executions(&db) - before, 4);
    // A table of the same name is another one.
    db.run("drop table facts").await;
    db.run("create table facts as select k, 7 as v, 'b' as name from other").await;
    assert_eq!(answer(&one, SQL).await, answer(&off, SQL).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn kept_results_are_bounded() {
    let db = database().await;
    let sql = "select k, v, name from facts where v < 50";
    learn(&db, sql).await;
    let client = session(&db, "on");
    let expected = answer(&client, sql).await;
    let one = db.database.memory().used().0;
    assert!(one > 50_000, "its rows are reserved: {one} bytes");
    for n in 0..101 {
        answer(&client, &sql.replace("50", &n.to_string())).await;
        let used = db.database.memory().used().0;
        assert!(used <= 16 << 20, "{used} bytes after {n}");
    }
    assert!(db.database.memory().used().0 > 8 << 20);
    assert_eq!(answer(&client, sql).await, expected);
    // Results beyond an eighth are not kept.
    db.run("create table wide as select k, v, repeat('x', 500) as pad from facts").await;
    let large = "select k, v, pad from wide where v < 150";
    learn(&db, &large.replace("150", "50")).await;
    let before = executions(&db);
    for _ in 0..2 {
        answer(&client, large).await;
    }
    assert_eq!(executions(&db) - before, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_with_kept_results_are_those_without() {
    let db = database().await;
    let off = session(&db, "off");
    off.set_setting("braid.sharing", "off").unwrap();
    for case in cases!(0..6) {
        let mut random = case.random();
        let clients: Vec<Session> = (0..3).map(|_| session(&db, "on")).collect();
        for client in &clients {
            client.set_setting("braid.sharing", ["auto", "global"][random.below(2) as usize]).unwrap();
        }
        for _ in 0..40 {
            let (n, client) = (random.below(4), &clients[random.below(3) as usize]);
            if random.chance(1, 6) {
                let table = ["facts values (1, 1, 'c')", "other values (2)"][random.below(2) as usize];
                run(client, &format!("insert into {table}")).await.unwrap();
            }
            let sql = [
                format!("select count(*), max(name) from facts where v < {n}"),
                format!("select count(*) from other where k > {n}"),
                format!(
                    "select f.k, count(*) from facts f join other o on f.k = o.k and v = {n} group by f.k order by f.k"
                ),
            ];
            let sql = &sql[random.below(3) as usize];
            assert_eq!(answer(client, sql).await, answer(&off, sql).await, "{sql}");
        }
    }
}
