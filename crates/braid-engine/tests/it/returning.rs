//! RETURNING beside other transactions, for many rows, and for clients that do not take them.

use braid_engine::Outcome;
use futures::StreamExt;
use tokio_util::sync::CancellationToken;

use crate::test_db::{TestDb, begun_to_wait, parameter_types};

#[tokio::test(flavor = "multi_thread")]
async fn a_statement_that_begins_anew_returns_each_row_once_as_it_is_then() {
    let db = TestDb::new().await;
    let bob = db.database.session("bob");
    db.run("create table t (a int, b int);; insert into t values (1, 0), (2, 0), (3, 0)").await;
    for (change, expected) in [
        ("update t set b = b + 10 where b >= 0 returning a, b", "1|10\n2|11\n3|10"),
        ("delete from t where a < 9 returning a, b", "1|10\n2|12\n3|10"),
    ] {
        db.run("begin;; update t set b = b + 1 where a = 2").await;
        let waiting = begun_to_wait(&db, &bob, change).await;
        db.run("commit").await;
        let returned = waiting.await.unwrap().unwrap();
        let mut lines: Vec<&str> = returned.lines().collect();
        lines.sort_unstable();
        assert_eq!(lines.join("\n"), expected, "{change}");
    }
    db.check(&[("select count(*) from t", "0")]).await;
}

#[tokio::test]
async fn rows_beyond_the_memory_come_from_a_file_in_their_order() {
    let db = TestDb::new().await;
    db.run("create table t (a int, b text)").await;
    let rows = "select i, repeat('x', 100) || i from generate_series(1, 200000) i";
    let returned = db.run(&format!("insert into t {rows} returning a, length(b)")).await;
    let first_and_last: Vec<&str> = returned.lines().step_by(199_999).collect();
    assert_eq!((returned.lines().count(), first_and_last), (200_000, vec!["1|101", "200000|106"]));
    let returned = db.run("delete from t returning b").await;
    assert_eq!((returned.lines().count(), returned.len()), (200_000, 200_000 * 101 + 1_088_895 - 1));
    db.check(&[("select count(*) from t", "0")]).await;
    db.until_nothing_is_held().await;
}

#[tokio::test]
async fn a_change_is_complete_whether_its_rows_are_taken_or_not() {
    let db = TestDb::new().await;
    db.run("create table t (a int)").await;
    let statement = db.session.parse("insert into t values (1), (2) returning a").unwrap().remove(0);
    let outcome = db.session.execute(&statement, Vec::new(), CancellationToken::new()).await.unwrap();
    drop(outcome);
    db.check(&[("select count(*) from t", "2")]).await;
    let statement = db.session.parse("delete from t returning a").unwrap().remove(0);
    let outcome = db.session.execute(&statement, Vec::new(), CancellationToken::new()).await.unwrap();
    db.check(&[("select count(*) from t", "0")]).await;
    let Outcome::Rows { mut stream, tag, .. } = outcome else { panic!("{outcome:?}") };
    assert_eq!((tag, stream.next().await.unwrap().unwrap().num_rows()), ("DELETE", 2));
}

#[tokio::test]
async fn parameters_of_the_list_are_described_with_those_of_the_statement() {
    let db = TestDb::new().await;
    db.run("create table t (a int, b text);; create table u (a int, c date)").await;
    for (sql, types, columns) in [
        ("insert into t values ($1, $2) returning a + $3, b", "23 25 23", "?column? b"),
        ("insert into t default values returning $1::date, *", "1082", "date a b"),
        ("insert into t select $1, c::text from u returning *", "23", "a b"),
        ("update t set b = $1 where a = $2 returning t, b || $3", "25 23 25", "t ?column?"),
        ("delete from t using u where u.a = t.a and c = $1 returning *, c - $2", "1082 1082", "a b a c ?column?"),
        ("with w as (select $1::int as k) insert into t select k, 'x' from w returning b as x", "23", "x"),
    ] {
        let statement = db.session.parse(sql).unwrap().remove(0);
        let prepared = db.session.prepare(&statement, &[]).await.unwrap();
        assert_eq!(parameter_types(&prepared), types, "{sql}");
        let schema = prepared.schema.unwrap();
        let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        assert_eq!(names.join(" "), columns, "{sql}");
    }
}

#[tokio::test]
async fn what_returning_cannot_read_is_refused() {
    let db = TestDb::new().await;
    db.run("create table t (a int);; create table w (a int)").await;
    db.check_states(&[
        ("insert into t values (1) returning count(*)", "42803"),
        ("insert into t values (1) returning (select sum(t.a) from w)", "42803"),
        ("update t set a = 1 returning rank() over ()", "42P20"),
        ("delete from t returning generate_series(1, a)", "0A000"),
        ("delete from t returning ctid", "0A000"),
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn parts_of_a_statement_begin_anew_together() {
    let db = TestDb::new().await;
    let bob = db.database.session("bob");
    db.run("create table t (a int, b int);; create table log (a int, b int)").await;
    let moved = "with d as (delete from t where b > 0 returning a, b), i as (insert into log select a, b from d returning b) \
                 select count(*), sum(b) from i";
    let merged = "merge into t using (select a, b from log) s on t.a = s.a when matched then update set b = t.b + s.b \
                  when not matched then insert values (s.a, -s.b)";
    for (change, answer, rows, logged) in
        [(moved, "3|8", "", "1|1\n2|6\n3|1"), (merged, "MERGE 3", "1|-1\n2|12\n3|-1", "1|1\n2|6\n3|1")]
    {
        db.run("truncate t;; insert into t values (1, 1), (2, 1), (3, 1)").await;
        if change == merged {
            db.run("delete from t where a <> 2").await;
        }
        db.run("begin;; update t set b = b + 5 where a = 2").await;
        let waiting = begun_to_wait(&db, &bob, change).await;
        db.run("commit").await;
        assert_eq!(waiting.await.unwrap().unwrap(), answer);
        db.check(&[("select a, b from t order by a", rows), ("select a, b from log order by a", logged)]).await;
    }
}

#[tokio::test]
async fn a_failing_part_leaves_nothing_of_the_others() {
    let db = TestDb::new().await;
    db.run("create table t (a int not null);; insert into t values (1), (2);; create table u (a int)").await;
    db.check_states(&[
        ("with i as (insert into u values (1) returning a), d as (delete from t returning a) select 1 / (count(*) - 2) from d", "22012"),
        ("with d as (delete from t returning a) insert into t select null from d", "23502"),
        ("with d as (delete from t returning a / 0) insert into u values (1)", "22012"),
    ])
    .await;
    db.check(&[("select count(*) from t", "2"), ("select count(*) from u", "0")]).await;
}

#[tokio::test]
async fn parameters_of_parts_are_told_by_any_of_them() {
    let db = TestDb::new().await;
    db.run("create table t (a int, b text)").await;
    for (sql, types, columns) in [
        (
            "with d as (delete from t where a = $2 returning b) select b || $1 as x, $3::date from d",
            "25 23 1082",
            "x date",
        ),
        ("with d as (delete from t returning a) insert into t select a + $1, $2 from d returning *", "23 25", "a b"),
        ("with d as (delete from t where b = $1 returning a) update t set b = $1 from d where d.a = t.a", "25", ""),
        (
            "merge into t using (select $1::int as k) s on a = k when matched then update set b = $2 \
          when not matched then insert values ($3, $2)",
            "23 25 23",
            "",
        ),
    ] {
        let statement = db.session.parse(sql).unwrap().remove(0);
        let prepared = db.session.prepare(&statement, &[]).await.unwrap();
        assert_eq!(parameter_types(&prepared), types, "{sql}");
        let names = prepared.schema.iter().flat_map(|schema| schema.fields()).map(|field| field.name().clone());
        assert_eq!(names.collect::<Vec<_>>().join(" "), columns, "{sql}");
    }
}
