//! ALTER TABLE beside other sessions: what they notice, and what fails. Its answers are in `alter_table.slt` of `braid-testkit`.

use braid_engine::{Database, Outcome, Session};
use futures::StreamExt;
use tokio_util::sync::CancellationToken;

use crate::test_db::{TestDb, answer_of, begun_to_wait, column_names, config, copy_in, run, run_one};

async fn state(session: &Session, sql: &str) -> String {
    run(session, sql).await.unwrap_err().sqlstate().to_owned()
}

#[tokio::test]
async fn templates_and_descriptions_are_of_the_definition_that_there_is() {
    let db = TestDb::new().await;
    let bob = db.database.session("bob");
    db.run("create table t (a int primary key not enforced, b int);; insert into t values (1, 10), (2, 20)").await;
    let all = "select * from t where a = 1";
    for eager in [false, true] {
        if eager {
            bob.set_setting("braid.templates", "eager").unwrap();
        }
        for _ in 0..3 {
            assert_eq!(run(&bob, all).await.unwrap(), "1|10");
            assert_eq!(run(&bob, "select b from t where a = 2").await.unwrap(), "20");
            assert_eq!(run(&bob, "select a, b from t group by a order by a limit 1").await.unwrap(), "1|10");
        }
        db.run("alter table t add c text default 'c'").await;
        assert_eq!(run(&bob, all).await.unwrap(), "1|10|c");
        assert_eq!(column_names(&bob, all).await, "a b c");
        db.run("alter table t rename b to bb").await;
        assert_eq!(state(&bob, "select b from t where a = 2").await, "42703");
        db.run("alter table t alter bb type text using 'x' || bb").await;
        assert_eq!(run(&bob, all).await.unwrap(), "1|x10|c");
        db.run("alter table t rename to u;; create table t (a int, b int);; insert into t values (1, 7)").await;
        assert_eq!(run(&bob, all).await.unwrap(), "1|7");
        db.run("drop table t;; alter table u rename to t").await;
        assert_eq!(run(&bob, all).await.unwrap(), "1|x10|c");
        db.run("alter table t drop c;; alter table t alter bb type int using substr(bb, 2)::int").await;
        db.run("alter table t rename bb to b").await;
    }
    // Without its key a column is no longer one of its group.
    db.run("alter table t drop a;; alter table t add a int").await;
    assert_eq!(state(&bob, "select a, b from t group by a order by a limit 1").await, "42803");
}

#[tokio::test]
async fn prepared_statements_keep_their_columns_or_fail() {
    let db = TestDb::new().await;
    let bob = db.database.session("bob");
    db.run("create table t (a int, b int);; insert into t values (1, 10)").await;
    run(&bob, "prepare every as select * from t;; prepare one as select b from t;; prepare more as insert into t values ($1, 2)")
        .await
        .unwrap();
    assert_eq!(run(&bob, "execute every").await.unwrap(), "1|10");
    db.run("alter table t add c int").await;
    let error = run(&bob, "execute every").await.unwrap_err();
    assert_eq!((error.sqlstate(), error.message()), ("0A000", "cached plan must not change result type"));
    assert_eq!(run(&bob, "execute one").await.unwrap(), "10");
    assert_eq!(run(&bob, "execute more (3)").await.unwrap(), "INSERT 0 1");
    db.run("alter table t alter b type bigint").await;
    assert_eq!(state(&bob, "execute one").await, "0A000");
    db.run("alter table t drop b").await;
    assert_eq!(state(&bob, "execute one").await, "42703");
    db.check(&[("select * from t order by a", "1|NULL\n3|NULL")]).await;
}

/// Who alters a table waits for those that use it, and works with what they have left; those behind it see the new definition.
#[tokio::test]
async fn alterations_and_those_that_use_the_table_wait_for_each_other() {
    let db = TestDb::new().await;
    let (bob, carol) = (db.database.session("bob"), db.database.session("carol"));
    db.run("create table t (a int);; insert into t values (1);; create table other (a int)").await;
    for (first, second, answer) in [
        ("insert into t values (2)", "alter table t add b int default 5", Ok("ALTER TABLE")),
        ("select * from t", "alter table t add c int", Ok("ALTER TABLE")),
        ("alter table t rename c to cc", "alter table t rename b to bb", Ok("ALTER TABLE")),
        ("insert into t values (3, 4, 0)", "alter table t alter a type text", Ok("ALTER TABLE")),
        ("insert into t values (null, 4, 0)", "alter table t alter a set not null", Err("23502")),
        ("update t set bb = 9 where bb = 4", "alter table t add check (bb < 9)", Err("23514")),
        ("insert into t values ('3', 4, 0)", "create unique index on t (a)", Err("23505")),
        ("alter table t add d text default 'd', drop bb, drop cc", "insert into t values ('7', 'x')", Ok("INSERT 0 1")),
        ("alter table t rename to u", "select * from t", Err("42P01")),
        ("alter table u rename to t", "select count(*) from u", Err("42P01")),
        ("drop table t;; create table t (a text, d text)", "insert into t values ('1', 'd')", Ok("INSERT 0 1")),
        ("truncate t", "select count(*) from t", Ok("0")),
    ] {
        run(&bob, &format!("begin;; {first}")).await.unwrap();
        let waiting = begun_to_wait(&db, &carol, second).await;
        run(&bob, "commit").await.unwrap();
        let answered = answer_of(waiting).await;
        assert_eq!(answered.as_deref().map_err(String::as_str), answer, "{first}; {second}");
    }
    // A snapshot from before stays what it is.
    db.run("insert into t values ('1', 'd')").await;
    run(&bob, "begin isolation level repeatable read;; select * from other").await.unwrap();
    db.run("alter table t drop d").await;
    assert_eq!(run(&bob, "select * from t where a = '1'").await.unwrap(), "1|d");
    assert_eq!(run(&bob, "insert into t values ('9', 'e')").await.unwrap(), "INSERT 0 1");
    assert_eq!(state(&bob, "commit").await, "40001");
}

#[tokio::test]
async fn rows_on_their_way_are_those_from_before() {
    let db = TestDb::new().await;
    let bob = db.database.session("bob");
    db.run("create table t (a int, b text);; insert into t select i, i::text from generate_series(1, 50000) i").await;
    let statement = bob.parse("select * from t").unwrap().remove(0);
    let outcome = bob.execute(&statement, vec![], CancellationToken::new()).await.unwrap();
    let Outcome::Rows { mut stream, .. } = outcome else { panic!("{outcome:?}") };
    db.run("alter table t drop b;; alter table t alter a type text").await;
    let mut count = 0;
    while let Some(batch) = stream.next().await {
        let batch = batch.unwrap();
        assert_eq!(batch.num_columns(), 2);
        count += batch.num_rows();
    }
    assert_eq!(count, 50_000);
    // Data for columns that are gone.
    let copied = bob.parse("copy t from stdin").unwrap().remove(0);
    let outcome = bob.execute(&copied, vec![], CancellationToken::new()).await.unwrap();
    let Outcome::CopyIn(mut copy) = outcome else { panic!("{outcome:?}") };
    copy.data("x\n".into()).await.unwrap();
    db.run("alter table t add c int").await;
    assert_eq!(copy.finish().await.unwrap_err().sqlstate(), "40001");
    assert_eq!(copy_in(&bob, "copy t from stdin", "x\t5\n", 100).await.unwrap(), 1);
    db.check(&[("select count(*), sum(c) from t", "50001|5")]).await;
}

#[tokio::test]
async fn an_alteration_survives_a_restart() {
    let db = TestDb::new().await;
    db.run("create table t (a int, b text);; insert into t values (1, 'x')").await;
    db.run("alter table t add c numeric default 1.50, alter a type text using 'a' || a, alter b set not null").await;
    db.run("alter table t rename to u;; insert into u values ('b', 'y')").await;
    let TestDb { dir, database, session } = db;
    drop((database, session));
    let database = Database::open(config(dir.path())).await.unwrap();
    let session = database.session("alice");
    let statement = session.parse("select * from u order by a").unwrap().remove(0);
    assert_eq!(run_one(&session, &statement, vec![]).await.unwrap(), "a1|x|1.50\nb|y|1.50");
    assert_eq!(state(&session, "insert into u values ('c')").await, "23502");
    assert_eq!(state(&session, "select * from t").await, "42P01");
}

#[tokio::test]
async fn rows_and_constraints_of_the_log_survive_a_restart() {
    let db = TestDb::new().await;
    db.run("create table t (a int, b varchar(5));; insert into t values (1, 'x'), (2, null)").await;
    db.run("alter table t alter b type text, add c int default 7, add constraint few check (a < 10)").await;
    db.run("insert into t values (3, 'a longer text', 8);; alter table t drop a").await;
    db.run("alter table t add a int, add check (c > 5);; update t set a = c returning a").await;
    let TestDb { dir, mut database, mut session } = db;
    for _ in 0..2 {
        drop((database, session));
        database = Database::open(config(dir.path())).await.unwrap();
        session = database.session("alice");
        let all = "x|7|7\nNULL|7|7\na longer text|8|8";
        assert_eq!(run(&session, "select * from t order by c, b").await.unwrap(), all);
        assert_eq!(state(&session, "insert into t values ('y', 5)").await, "23514");
        assert_eq!(run(&session, "select count(*) from t where b > 'a'").await.unwrap(), "2");
    }
}
