//! SELECT … FOR UPDATE and the like between sessions: who waits for whom, and what is read after a wait.

use std::collections::BTreeSet;

use braid_engine::Session;

use crate::test_db::{SOON, TestDb, answer_of, begun_to_wait, run, waits};

async fn accounts() -> (TestDb, Session) {
    let db = TestDb::new().await;
    db.run("create table a (id int primary key, v int);; insert into a select g, 0 from generate_series(1, 5) g").await;
    let bob = db.database.session("bob");
    (db, bob)
}

async fn end(db: &TestDb, sql: &str) {
    db.run(sql).await;
}

#[tokio::test]
async fn a_lock_waits_for_a_change_and_reads_the_row_after_it() {
    let (db, bob) = accounts().await;
    for (strength, ending, expected) in [
        ("update", "commit", "1|10\n2|0"),
        ("share", "rollback", "1|10\n2|0"),
        ("no key update", "commit", "1|20\n2|0"),
        ("key share", "commit", "1|30\n2|0"),
    ] {
        db.run("begin;; update a set v = v + 10 where id = 1").await;
        let sql = format!("select * from a where id < 3 order by id for {strength}");
        assert_eq!(waits(&bob, &sql, end(&db, ending)).await.as_deref(), Ok(expected), "{strength}");
    }
    // A row that is gone, and one that satisfies the condition no longer.
    db.run("begin;; delete from a where id = 1;; update a set v = 1 where id = 2").await;
    let answered = waits(&bob, "select id from a where v <> 1 and id < 4 for update", end(&db, "commit")).await;
    assert_eq!(answered.as_deref(), Ok("3"));
}

#[tokio::test]
async fn a_change_waits_for_locks_of_rows_and_not_for_those_of_others() {
    let (db, bob) = accounts().await;
    for (strength, change) in [
        ("update", "update a set v = 1 where id = 2"),
        ("no key update", "delete from a where id = 2"),
        ("share", "update a set v = 2 where id = 3"),
        ("key share", "delete from a where id = 3"),
    ] {
        db.run(&format!("begin;; select id from a where id in (2, 3) for {strength}")).await;
        assert_eq!(run(&bob, "update a set v = 9 where id = 4").await.unwrap(), "UPDATE 1");
        assert!(waits(&bob, change, end(&db, "commit")).await.is_ok(), "{strength}");
    }
    // A statement by itself holds its locks until it has ended.
    db.run("select * from a for update;; select * from a for share").await;
    assert_eq!(run(&bob, "update a set v = 5").await.unwrap(), "UPDATE 3");
}

#[tokio::test]
async fn what_is_read_under_a_lock_is_what_is_changed() {
    let (db, _) = accounts().await;
    let add = async |session: Session| {
        for _ in 0..20 {
            run(&session, "begin").await.unwrap();
            let v: i64 = run(&session, "select v from a where id = 1 for update").await.unwrap().parse().unwrap();
            run(&session, &format!("update a set v = {} where id = 1", v + 1)).await.unwrap();
            run(&session, "commit").await.unwrap();
        }
    };
    let sessions = (0..4).map(|_| db.database.session("alice"));
    futures::future::join_all(sessions.map(add)).await;
    db.check(&[("select v from a where id = 1", "80")]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_job_of_a_queue_is_taken_once() {
    const JOBS: usize = 200;
    let db = TestDb::new().await;
    db.run("create table jobs (id int primary key);; create table done (id int)").await;
    db.run(&format!("insert into jobs select g from generate_series(1, {JOBS}) g")).await;
    let work = |take: &'static str| {
        let session = db.database.session("worker");
        async move {
            let mut taken = Vec::new();
            loop {
                run(&session, "begin").await.unwrap();
                let ids = run(&session, take).await.unwrap();
                if ids.is_empty() {
                    run(&session, "commit").await.unwrap();
                    return taken;
                }
                for id in ids.lines() {
                    run(&session, &format!("insert into done values ({id})")).await.unwrap();
                    taken.push(id.parse::<usize>().unwrap());
                }
                run(&session, "commit").await.unwrap();
            }
        }
    };
    let takes = [
        "delete from jobs where id = (select id from jobs order by id limit 1 for update skip locked) returning id",
        "with x as (select id from jobs limit 3 for update skip locked) delete from jobs using x where x.id = jobs.id returning jobs.id",
    ];
    let workers = (0..4).map(|at| tokio::spawn(work(takes[at % 2])));
    let taken: Vec<usize> = futures::future::join_all(workers).await.into_iter().flat_map(Result::unwrap).collect();
    // A worker that finds only held jobs ends; what they leave is none's.
    assert_eq!(taken.len(), taken.iter().collect::<BTreeSet<_>>().len());
    db.check(&[
        ("select count(*) - count(distinct id) from done", "0"),
        ("select count(*) from done", &taken.len().to_string()),
        ("select count(*) from jobs", &(JOBS - taken.len()).to_string()),
        ("select count(*) from jobs natural join done", "0"),
    ])
    .await;
}

#[tokio::test]
async fn a_limit_counts_the_rows_that_others_do_not_hold() {
    let db = TestDb::new().await;
    db.run("create table t (id int primary key);; insert into t select g from generate_series(1, 20000) g").await;
    let bob = db.database.session("bob");
    db.run("begin;; select count(*) from (select id from t where id <= 19000 for update) x").await;
    let sql = "select id from t order by id limit 2 offset 3 for share skip locked";
    assert_eq!(run(&bob, sql).await.unwrap(), "19004\n19005");
    let sql = "select count(*), min(id) from (select id from t for no key update skip locked) x";
    assert_eq!(run(&bob, sql).await.unwrap(), "1000|19001");
    db.run("commit;; begin").await;
    assert_eq!(db.run("select id from t order by id limit 2 offset 3 for update").await, "4\n5");
    assert_eq!(run(&bob, "select id from t order by id limit 1 for update skip locked").await.unwrap(), "6");
    db.run("commit;; begin;; select count(*) from (select id from t where id <= 19000 for update) x").await;
    // Only the rows that it returns are locked, and those that OFFSET passes over.
    run(&bob, "begin;; select id from t order by id limit 2 offset 3 for update skip locked").await.unwrap();
    assert_eq!(
        db.run("select min(id) from (select id from t where id > 19000 for update skip locked) x").await,
        "19006"
    );
}

#[tokio::test]
async fn waits_that_close_a_circle_are_refused() {
    let (db, bob) = accounts().await;
    db.run("begin;; select 1 from a where id = 1 for share").await;
    run(&bob, "begin;; select 1 from a where id = 1 for share").await.unwrap();
    let mut waiting = Box::pin(run(&bob, "update a set v = 1 where id = 1"));
    assert!(tokio::time::timeout(SOON, &mut waiting).await.is_err());
    assert_eq!(db.state("select 1 from a where id = 1 for update").await, "40P01");
    db.run("rollback").await;
    assert_eq!(waiting.await.unwrap(), "UPDATE 1");
}

#[tokio::test]
async fn a_wait_can_be_ended() {
    let (db, bob) = accounts().await;
    db.run("begin;; select 1 from a where id = 1 for update").await;
    run(&bob, "set statement_timeout = 50").await.unwrap();
    for sql in ["select 1 from a for update", "select 1 from a for share", "select 1 from a for update"] {
        assert_eq!(run(&bob, sql).await.unwrap_err().sqlstate(), "57014", "{sql}");
    }
    run(&bob, "set statement_timeout = 0;; set lock_timeout = 20").await.unwrap();
    for sql in
        ["select 1 from a for share", "update a set v = 1", "select 1 from a where id = 2;; update a set id = id + 1"]
    {
        let error = run(&bob, sql).await.unwrap_err();
        assert_eq!((error.sqlstate(), error.message()), ("55P03", "canceling statement due to lock timeout"), "{sql}");
    }
    run(&bob, "begin;; set local lock_timeout = 0").await.unwrap();
    assert_eq!(run(&bob, "select count(*) from a where id = 2").await.unwrap(), "1");
    run(&bob, "rollback").await.unwrap();
    // What the others have tried is not held.
    db.run("select 1 from a for update;; commit").await;
    assert_eq!(run(&bob, "select count(*) from (select 1 from a for update nowait) x").await.unwrap(), "5");
}

#[tokio::test]
async fn referencing_rows_wait_for_the_locks_of_rows_that_may_go() {
    let (db, bob) = accounts().await;
    db.run("create table c (id int, a int references a)").await;
    for (strength, is_waited_for) in
        [("update", true), ("no key update", false), ("share", false), ("key share", false)]
    {
        db.run(&format!("begin;; select 1 from a where id = 1 for {strength}")).await;
        assert_eq!(run(&bob, "insert into c values (1, 2)").await.unwrap(), "INSERT 0 1");
        let insert = "insert into c values (1, 1)";
        match is_waited_for {
            true => assert!(waits(&bob, insert, end(&db, "commit")).await.is_ok()),
            false => assert_eq!(run(&bob, insert).await.unwrap(), "INSERT 0 1", "{strength}"),
        }
        db.run("commit").await;
    }
    db.run("begin;; insert into c values (2, 3)").await;
    assert_eq!(run(&bob, "select v from a where id = 3 for no key update").await.unwrap(), "0");
    let answered = waits(&bob, "select v from a where id = 3 for update", end(&db, "commit")).await;
    assert_eq!(answered.as_deref(), Ok("0"));
}

#[tokio::test]
async fn a_locked_row_is_there_for_others() {
    let (db, bob) = accounts().await;
    db.run("begin;; select 1 from a for update").await;
    // A key of it is taken, whatever becomes of the lock.
    assert_eq!(run(&bob, "insert into a values (1, 1)").await.unwrap_err().sqlstate(), "23505");
    assert_eq!(run(&bob, "insert into a values (1, 1) on conflict do nothing").await.unwrap(), "INSERT 0 0");
    let sql = "insert into a values (1, 1) on conflict (id) do update set v = 7";
    assert!(waits(&bob, sql, end(&db, "commit")).await.is_ok());
    db.check(&[("select v from a where id = 1", "7")]).await;
}

/// A transaction that inserts a referencing row and bumps a counter there does not wait for one that waits for it.
#[tokio::test]
async fn nothing_is_held_while_a_lock_is_waited_for() {
    let (db, bob) = accounts().await;
    db.run("create table c (id int, a int references a);; begin;; insert into c values (1, 1)").await;
    let ends = async { drop(db.run("update a set v = v + 1 where id = 1;; commit").await) };
    let answered = waits(&bob, "select v from a where id in (1, 2) order by id for update", ends).await;
    assert_eq!(answered.as_deref(), Ok("1\n0"));
}

#[tokio::test]
async fn rows_that_are_moved_by_others_are_not_skipped() {
    let db = TestDb::new().await;
    db.run("create table jobs (id int primary key);; insert into jobs select g from generate_series(1, 5) g").await;
    let bob = db.database.session("bob");
    let stop = std::sync::atomic::AtomicBool::new(false);
    let take = async {
        for _ in 0..100 {
            let sql = "select id from jobs where id <= 5 order by id limit 1 for update skip locked";
            assert_eq!(db.run(sql).await, "1");
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    };
    let insert = async {
        for id in 100.. {
            if stop.load(std::sync::atomic::Ordering::Relaxed) {
                return;
            }
            run(&bob, &format!("insert into jobs values ({id})")).await.unwrap();
        }
    };
    futures::join!(take, insert);
}

/// Who locks rows keeps others from defining their table anew.
#[tokio::test]
async fn definitions_wait_for_locks_of_rows() {
    let (db, bob) = accounts().await;
    for change in ["alter table a alter v type bigint", "truncate a", "drop table a"] {
        db.run("begin;; select v from a where id = 1 for update").await;
        let waiting = begun_to_wait(&db, &bob, change).await;
        db.run("commit").await;
        answer_of(waiting).await.unwrap();
        run(&bob, "create table if not exists a (id int primary key, v int);; insert into a values (1, 1) on conflict do nothing")
            .await
            .unwrap();
    }
    // Its own changes are none of others.
    db.run("begin;; select v from a for update;; alter table a alter v type text;; truncate a;; commit").await;
    db.run("insert into a values (1, 'x');; begin;; select v from a for share;; update a set v = 'y';; delete from a;; commit").await;
}

/// Commits merge small chunks, but for those with locked rows.
#[tokio::test]
async fn a_locked_row_stays_where_it_is() {
    let (db, bob) = accounts().await;
    db.run("begin;; select 1 from a where id = 1 for share;; select 1 from a where id = 2 for update").await;
    for at in 0..20 {
        let (first, last) = (100 + at * 1000, 1099 + at * 1000);
        run(&bob, &format!("insert into a select g, 0 from generate_series({first}, {last}) g")).await.unwrap();
        run(&bob, &format!("delete from a where id = {}", first + 1)).await.unwrap();
    }
    assert_eq!(run(&bob, "select 1 from a where id = 1 for update nowait").await.unwrap_err().sqlstate(), "55P03");
    assert_eq!(run(&bob, "select 1 from a where id = 2 for share nowait").await.unwrap_err().sqlstate(), "55P03");
    db.run("update a set v = 3 where id < 3;; commit").await;
    db.check(&[("select count(*), sum(v) from a", "19985|6")]).await;
}

#[tokio::test]
async fn errors_of_locks_name_the_table() {
    let (db, bob) = accounts().await;
    db.run("begin;; select 1 from a for update").await;
    let error = run(&bob, "select 1 from a for update nowait").await.unwrap_err();
    assert_eq!(error.message(), "could not obtain lock on row in relation \"a\"");
    let error = db.fail("select 1 from a for update of b").await;
    assert_eq!(error.message(), "relation \"b\" in FOR UPDATE clause not found in FROM clause");
    db.run("rollback").await;
    let sql = "select (select v from a b where b.id = a.id for no key update) from a";
    let error = db.fail(sql).await;
    assert_eq!(error.sqlstate(), "42P01");
    assert_eq!(error.hint().as_deref(), Some("A subquery with row locks cannot read rows of the query around it."));
    for sql in
        ["delete from a where id = (select nope from a for update)", "select (select id from nothing for update)"]
    {
        assert!(["42703", "42P01"].contains(&db.state(sql).await), "{sql}");
    }
}
