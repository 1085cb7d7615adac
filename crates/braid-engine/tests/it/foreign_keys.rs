//! Foreign keys between sessions: who waits for whom, what is left after many of them, and after a restart.

use std::sync::Arc;

use braid_base::{Random, SeededRandom};
use braid_engine::Session;

use crate::test_db::{SOON, TestDb, answer_of, begun_to_wait, run, waits};

async fn related(action: &str) -> (TestDb, Session) {
    let db = TestDb::new().await;
    db.run("create table p (id int primary key, v int);; insert into p values (1, 0), (2, 0)").await;
    db.run(&format!("create table c (id int, p int references p {action})")).await;
    let bob = db.database.session("bob");
    (db, bob)
}

#[tokio::test]
async fn errors_name_the_constraint_and_its_values() {
    let (db, _) = related("").await;
    let error = db.fail("insert into c values (1, 1), (2, 9), (3, 8)").await;
    assert_eq!(error.sqlstate(), "23503");
    assert_eq!(error.message(), "insert or update on table \"c\" violates foreign key constraint \"c_p_fkey\"");
    assert_eq!(error.detail().as_deref(), Some("Key (p)=(9) is not present in table \"p\"."));
    db.run("insert into c values (1, 2)").await;
    let error = db.fail("delete from p").await;
    let message = "update or delete on table \"p\" violates foreign key constraint \"c_p_fkey\" on table \"c\"";
    assert_eq!((error.sqlstate(), error.message()), ("23503", message));
    assert_eq!(error.detail().as_deref(), Some("Key (id)=(2) is still referenced from table \"c\"."));
}

#[tokio::test]
async fn a_row_is_not_removed_while_others_are_about_to_refer_to_it() {
    let (db, bob) = related("").await;
    for (end, answer) in [("commit", Err("23503".to_owned())), ("rollback", Ok("DELETE 1".to_owned()))] {
        db.run("begin;; insert into c values (1, 1)").await;
        let answered = waits(&bob, "delete from p where id = 1", async { drop(db.run(end).await) }).await;
        assert_eq!(answered, answer, "{end}");
        db.run("delete from c").await;
    }
}

#[tokio::test]
async fn no_row_refers_to_one_that_is_about_to_go() {
    let (db, bob) = related("").await;
    for (end, answer) in [("rollback", Ok("INSERT 0 1".to_owned())), ("commit", Err("23503".to_owned()))] {
        db.run("delete from c;; begin;; delete from p where id = 1").await;
        let answered = waits(&bob, "insert into c values (1, 1)", async { drop(db.run(end).await) }).await;
        assert_eq!(answered, answer, "{end}");
    }
    // Other columns of the row, and rows that refer to it already, do not matter.
    db.run("begin;; update p set v = 1 where id = 2").await;
    assert_eq!(run(&bob, "insert into c values (2, 2)").await.unwrap(), "INSERT 0 1");
    db.run("commit;; begin;; update c set id = 3").await;
    assert_eq!(run(&bob, "delete from p where id = 2").await.unwrap_err().sqlstate(), "23503");
    db.run("commit").await;
}

#[tokio::test]
async fn cascades_wait_for_rows_that_others_change() {
    let (db, bob) = related("on delete cascade on update cascade").await;
    db.run("insert into c values (1, 1), (2, 2);; begin;; update c set id = 10 where p = 1").await;
    let answered = waits(&bob, "delete from p where id = 1", async { drop(db.run("commit").await) }).await;
    assert_eq!(answered.unwrap(), "DELETE 1");
    db.check(&[("select * from c", "2|2")]).await;
    db.run("begin;; insert into c values (3, 2)").await;
    let answered = waits(&bob, "update p set id = 5", async { drop(db.run("commit").await) }).await;
    assert_eq!(answered.unwrap(), "UPDATE 1");
    db.check(&[("select p, count(*) from c group by p", "5|2")]).await;
}

#[tokio::test]
async fn waits_that_close_a_circle_are_refused() {
    let (db, bob) = related("").await;
    db.run("begin;; insert into c values (1, 1)").await;
    run(&bob, "begin;; delete from p where id = 2").await.unwrap();
    let mut waiting = Box::pin(run(&bob, "delete from p where id = 1"));
    assert!(tokio::time::timeout(SOON, &mut waiting).await.is_err());
    assert_eq!(db.state("insert into c values (2, 2)").await, "40P01");
    db.run("rollback").await;
    assert_eq!(waiting.await.unwrap(), "DELETE 1");
}

#[tokio::test]
async fn a_key_that_others_have_added_is_not_passed_by() {
    let db = TestDb::new().await;
    db.run("create table p (id int primary key);; insert into p values (1);; create table c (p int);; insert into c values (1)").await;
    let bob = db.database.session("bob");
    let add = "alter table c add constraint f foreign key (p) references p";
    db.run("begin;; delete from p").await;
    let waiting = begun_to_wait(&db, &bob, add).await;
    db.run("commit").await;
    assert_eq!(answer_of(waiting).await.unwrap_err(), "23503");
    db.run("insert into p values (1);; begin").await;
    db.run(add).await;
    let waiting = begun_to_wait(&db, &bob, "delete from p").await;
    db.run("commit").await;
    assert_eq!(answer_of(waiting).await.unwrap_err(), "23503");
}

/// Rows come and go at random in several sessions; what is left refers to what is left.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_refers_to_nothing_after_many_sessions() {
    let db = TestDb::new().await;
    db.run("create table p (id int primary key);; create table c (id int primary key, p int references p on delete cascade)")
        .await;
    db.run("create table g (c int references c on delete set null deferrable initially deferred, p int references p)")
        .await;
    let sessions = (0..6).map(|number| {
        let session = db.database.session("carol");
        tokio::spawn(async move {
            let mut random = SeededRandom::new(number);
            for _ in 0..60 {
                let (a, b) = (random.below(8), random.below(8));
                let sql = match random.below(9) {
                    0 | 1 => format!("insert into p values ({a}) on conflict do nothing"),
                    2 => format!("delete from p where id = {a}"),
                    3 => format!("update p set id = {b} where id = {a}"),
                    4 => format!("insert into c values ({a}, {b}) on conflict do nothing"),
                    5 => format!("delete from c where id in ({a}, {b})"),
                    6 => format!("insert into g values ({a}, {b})"),
                    7 => format!("begin;; insert into g values ({a}, null);; insert into c values ({a}, {b});; commit"),
                    _ => format!("update c set p = {b} where id = {a}"),
                };
                if let Err(error) = run(&session, &sql).await {
                    let expected = ["23503", "23505", "40001", "40P01"];
                    assert!(expected.contains(&error.sqlstate()), "{sql}: {error:?}");
                    if sql.starts_with("begin") {
                        run(&session, "rollback").await.unwrap();
                    }
                }
            }
        })
    });
    for session in sessions.collect::<Vec<_>>() {
        session.await.unwrap();
    }
    db.check(&[
        ("select count(*) from c where p is not null and p not in (select id from p)", "0"),
        ("select count(*) from g where c is not null and c not in (select id from c)", "0"),
        ("select count(*) from g where p is not null and p not in (select id from p)", "0"),
    ])
    .await;
    let report = db.database.store().check(|_| {}).await;
    assert!(report.faults.is_empty(), "{:?}", report.faults);
}

#[tokio::test]
async fn large_statements_are_compared_chunk_by_chunk() {
    let (db, _) = related("on delete cascade").await;
    db.run("insert into p select g, 0 from generate_series(3, 200000) g").await;
    db.run("insert into c select g, g % 200000 + 1 from generate_series(1, 300000) g").await;
    assert_eq!(db.state("insert into c select g, g from generate_series(100000, 200001) g").await, "23503");
    db.check(&[
        ("delete from p where id > 100000", "DELETE 100000"),
        ("select count(*), max(p) from c", "199999|100000"),
    ])
    .await;
}

#[tokio::test]
async fn foreign_keys_are_there_after_a_restart() {
    let (db, bob) = related("on delete set null").await;
    db.run("insert into c values (1, 1);; alter table c add constraint own foreign key (p) references p not valid")
        .await;
    drop(bob);
    let TestDb { dir, database, session } = db;
    drop((database, session));
    let database = braid_engine::Database::open(crate::test_db::config(dir.path())).await.unwrap();
    let session = database.session("alice");
    let db = TestDb { dir, database: Arc::clone(&database), session };
    assert_eq!(db.state("insert into c values (2, 9)").await, "23503");
    db.check(&[
        ("delete from p where id = 2", "DELETE 1"),
        (
            "select string_agg(pg_get_constraintdef(oid), ';' order by conname) from pg_constraint where contype = 'f'",
            "FOREIGN KEY (p) REFERENCES p(id) ON DELETE SET NULL;FOREIGN KEY (p) REFERENCES p(id) NOT VALID",
        ),
    ])
    .await;
}

#[tokio::test]
async fn temporary_tables_that_end_otherwise_do_not_refer_to_each_other() {
    let db = TestDb::new().await;
    for (parent, child, state) in [
        ("delete rows", "preserve rows", Some("0A000")),
        ("drop", "preserve rows", Some("0A000")),
        ("delete rows", "delete rows", None),
        ("delete rows", "drop", Some("0A000")),
        ("drop", "drop", None),
        ("preserve rows", "delete rows", None),
    ] {
        db.run(&format!(
            "begin;; create temp table tp (id int primary key) on commit {parent};; insert into tp values (1)"
        ))
        .await;
        db.run(&format!("create temp table tc (p int references tp) on commit {child};; insert into tc values (1)"))
            .await;
        match state {
            Some(state) => assert_eq!(db.state("commit").await, state, "{parent}, {child}"),
            None => drop(db.run("commit").await),
        }
        db.run("drop table if exists tc, tp").await;
    }
}

#[tokio::test]
async fn a_table_is_not_emptied_past_a_key_that_others_have_added() {
    let db = TestDb::new().await;
    db.run("create table p (id int primary key);; insert into p values (1)").await;
    let bob = db.database.session("bob");
    db.run("begin;; truncate p").await;
    let waiting = begun_to_wait(&db, &bob, "create table c (p int references p);; insert into c values (1)").await;
    db.run("commit").await;
    assert_eq!(answer_of(waiting).await.unwrap_err(), "23503");
    // Who empties both waits for those that are about to refer to one of them.
    db.run("insert into p values (1);; begin;; insert into c values (1)").await;
    assert_eq!(waits(&bob, "truncate p, c", async { drop(db.run("commit").await) }).await.unwrap(), "TRUNCATE TABLE");
    db.check(&[("select count(*) from c", "0")]).await;
}

/// Foreign keys that come while others have changed rows, or are known to one transaction only: the second waits for the first.
#[tokio::test]
async fn no_commit_passes_by_what_another_transaction_has_not_seen() {
    for (first, second, answer) in [
        ("create table d (r int references p);; insert into d values (1)", "delete from p where id = 1", Err("23503")),
        (
            "alter table c add foreign key (r) references p not valid;; insert into c values (1)",
            "update p set id = 9 where id = 1",
            Err("23503"),
        ),
        ("delete from p where id = 1", "alter table c add foreign key (r) references p", Err("23503")),
        (
            "alter table p alter id type bigint using id + 100",
            "alter table c add foreign key (r) references p",
            Err("23503"),
        ),
        ("select * from f", "alter table p drop column id cascade", Ok("ALTER TABLE")),
        ("drop table f", "select * from p", Ok("1|0\n2|0")),
    ] {
        let (db, bob) = with_parent().await;
        db.run(&format!("begin;; {first}")).await;
        let waiting = begun_to_wait(&db, &bob, second).await;
        db.run("commit").await;
        let answered = answer_of(waiting).await;
        assert_eq!(answered.as_deref().map_err(String::as_str), answer, "{first}; {second}");
    }
    // Where all statements read one state, what came since is found at the end.
    let (db, bob) = with_parent().await;
    db.run("begin isolation level repeatable read;; select * from p").await;
    run(&bob, "alter table c add foreign key (r) references p on delete cascade").await.unwrap();
    assert_eq!(db.state("update p set v = v + 1 where id = 1;; commit").await, "40001");
}

async fn with_parent() -> (TestDb, Session) {
    let db = TestDb::new().await;
    db.run("create table p (id int primary key, v int);; insert into p values (1, 0), (2, 0)").await;
    db.run("create table c (r int);; insert into c values (1), (2);; create table f (r int references p)").await;
    let bob = db.database.session("bob");
    (db, bob)
}

#[tokio::test]
async fn a_key_that_comes_while_truncate_waits_waits_behind_it() {
    let (db, bob) = related("").await;
    let carol = db.database.session("carol");
    db.run("begin;; insert into c values (1, 1)").await;
    let truncating = begun_to_wait(&db, &bob, "truncate p, c").await;
    let creating = begun_to_wait(&db, &carol, "create table d (r int references p);; insert into d values (1)").await;
    db.run("commit").await;
    answer_of(truncating).await.unwrap();
    assert_eq!(answer_of(creating).await.unwrap_err(), "23503");
    db.check(&[("select count(*) from p", "0")]).await;
}

#[tokio::test]
async fn a_cascade_of_many_keys_maps_each_row_once() {
    let (db, _) = related("on update cascade").await;
    db.run("delete from p;; insert into p select g, 0 from generate_series(1, 140000) g;; insert into c select g, g from generate_series(1, 140000) g").await;
    db.check(&[
        ("update p set id = id + 1", "UPDATE 140000"),
        ("select count(*), min(p), max(p) from c where p = id + 1", "140000|2|140001"),
    ])
    .await;
}

#[tokio::test]
async fn deferred_checks_keep_tables_from_being_altered() {
    let db = TestDb::new().await;
    db.run("create table p (id int primary key);; create table c (id int, r int references p deferrable initially deferred)")
        .await;
    db.run("insert into p values (1);; begin;; delete from p").await;
    assert_eq!(db.state("alter table c drop column r").await, "55006");
    db.run("rollback").await;
    // Alone, a statement is checked before its temporary table is emptied.
    db.run(
        "create temp table t (id int primary key, up int references t deferrable initially deferred) on commit delete rows",
    )
    .await;
    db.check(&[("insert into t values (1, 1)", "INSERT 0 1"), ("select count(*) from t", "0")]).await;
    assert_eq!(db.state("insert into t values (1, 2)").await, "23503");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_update_of_more_keys_than_memory_holds_fails_and_changes_nothing() {
    let db = TestDb::new().await;
    db.run("create table t (id int primary key, v int);; insert into t select n, 0 from generate_series(1, 300000) n")
        .await;
    db.run("create table u (t int references t on update cascade);; insert into u values (7)").await;
    db.run("set braid.query_memory = '4MB'").await;
    let refused = db.fail("update t set v = 1").await;
    assert_eq!(refused.sqlstate(), "53200", "{refused:?}");
    db.check(&[("select count(*) from t where v = 1", "0"), ("update t set v = 2 where id <= 1000", "UPDATE 1000")])
        .await;
    db.run("reset braid.query_memory").await;
    db.check(&[("update t set id = id + 1000000", "UPDATE 300000"), ("select t from u", "1000007")]).await;
}
