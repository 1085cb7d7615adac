//! NOT NULL and CHECK: what errors say of the row that fails. Which rows fail is in `checks.slt` of `braid-testkit`.

use braid_engine::{EngineError, ErrorObject};

use crate::test_db::{TestDb, answer_of, begun_to_wait, copy_in, run};

/// The parts of an error that are about a row.
fn about(error: &EngineError) -> (String, String, String) {
    let ErrorObject { schema, table, column, constraint, .. } = error.object().clone();
    let names = [schema, table, column, constraint].map(|name| name.unwrap_or_default()).join(",");
    (error.message().to_owned(), error.detail().unwrap_or_default(), names)
}

#[tokio::test]
async fn errors_show_the_row_that_fails() {
    let db = TestDb::new().await;
    db.run("create table t (a int check (a > 0), b text not null, c numeric(5,2), d date default '2020-01-02')").await;
    let of_check = "new row for relation \"t\" violates check constraint \"t_a_check\"";
    let of_null = "null value in column \"b\" of relation \"t\" violates not-null constraint";
    for (sql, message, row, names) in [
        (
            "insert into t values (1, 'x', 2), (0, 'y', 1.5)",
            of_check,
            "(0, y, 1.50, 2020-01-02)",
            "public,t,,t_a_check",
        ),
        ("insert into t (a) values (7)", of_null, "(7, null, null, 2020-01-02)", "public,t,b,"),
        (
            "insert into t select -i, 'n' || i from generate_series(0, 5) i",
            of_check,
            "(0, n0, null, 2020-01-02)",
            "public,t,,t_a_check",
        ),
        (
            "insert into t values (-1, repeat('ä', 40))",
            of_check,
            "(-1, ääääääääääääääääääääääääääääääää..., null, 2020-01-02)",
            "public,t,,t_a_check",
        ),
    ] {
        let error = db.fail(sql).await;
        let expected = (message.to_owned(), format!("Failing row contains {row}."), names.to_owned());
        assert_eq!(about(&error), expected, "{sql}");
    }
    db.run("insert into t values (5, 'v')").await;
    let (message, detail, _) = about(&db.fail("update t set a = a - 5").await);
    assert_eq!((&*message, &*detail), (of_check, "Failing row contains (0, v, null, 2020-01-02)."));
    let error = db.fail("alter table t add constraint big check (a > 5)").await;
    assert_eq!(error.sqlstate(), "23514");
    assert_eq!(about(&error).2, "public,t,,big");
}

#[tokio::test]
async fn a_load_names_the_line_of_the_first_row_that_fails() {
    let db = TestDb::new().await;
    db.run("create table t (a int check (a <> 3), b int not null)").await;
    for (data, sqlstate, line, row) in [
        ("1,1\n2,\n3,3\n", "23502", "COPY t, line 2", "(2, null)"),
        ("1,1\n3,3\n2,\n", "23514", "COPY t, line 2", "(3, 3)"),
        // What comes first is told, whatever comes then.
        ("1,1\n3,3\nx,y\n", "23514", "COPY t, line 2", "(3, 3)"),
        ("1,1\n3,3\n4,4,4\n", "23514", "COPY t, line 2", "(3, 3)"),
    ] {
        let error = copy_in(&db.session, "copy t from stdin (format csv)", data, 100).await.unwrap_err();
        assert_eq!((error.sqlstate(), error.context().unwrap().as_str()), (sqlstate, line), "{data:?}");
        assert_eq!(error.detail().unwrap(), format!("Failing row contains {row}."), "{data:?}");
    }
    assert_eq!(copy_in(&db.session, "copy t from stdin (format csv)", ",1\n4,2\n", 3).await.unwrap(), 2);
    db.check(&[("select * from t order by b", "NULL|1\n4|2")]).await;
}

#[tokio::test]
async fn a_condition_is_added_to_the_rows_that_there_are() {
    let db = TestDb::new().await;
    let (bob, carol) = (db.database.session("bob"), db.database.session("carol"));
    db.run("create table t (a int);; insert into t values (1), (2)").await;
    for (first, second) in [
        ("insert into t values (-1)", "alter table t add check (a > 0)"),
        ("alter table t add check (a > 0) not valid", "insert into t values (-2)"),
    ] {
        run(&bob, &format!("begin;; {first}")).await.unwrap();
        let waiting = begun_to_wait(&db, &carol, second).await;
        run(&bob, "commit").await.unwrap();
        assert_eq!(answer_of(waiting).await.unwrap_err(), "23514", "{second}");
    }
    assert_eq!(db.state("insert into t values (-3)").await, "23514");
    assert_eq!(db.state("alter table t validate constraint t_a_check").await, "23514");
    db.run("delete from t where a < 0;; alter table t validate constraint t_a_check").await;
    db.check(&[("select count(*), sum(a) from t", "2|3")]).await;
}

#[tokio::test]
async fn rows_are_checked_in_every_way_that_they_come() {
    let db = TestDb::new().await;
    db.run("create table t (a int check (a > 0), b text not null);; insert into t values (5, 'v')").await;
    db.run("create table s (a int, b text);; insert into s values (5, 'w'), (6, 'x')").await;
    let of_check = "new row for relation \"t\" violates check constraint \"t_a_check\"";
    let of_null = "null value in column \"b\" of relation \"t\" violates not-null constraint";
    let merge = "merge into t using s on t.a = s.a when";
    for (sql, message, row) in [
        ("insert into t values (0, 'y') returning a", of_check, "(0, y)"),
        ("insert into t select a - 6, b from s where a = 6 returning b", of_check, "(0, x)"),
        ("insert into t (a) values (7) returning *", of_null, "(7, null)"),
        ("update t set a = -a returning a", of_check, "(-5, v)"),
        ("update t set (a, b) = (select 3, null) returning *", of_null, "(3, null)"),
        ("update t set a = t.a - s.a from s where s.a = 6 returning s.b", of_check, "(-1, v)"),
        ("with i as (insert into t values (0, 'y') returning a) select * from i", of_check, "(0, y)"),
        ("with u as (update t set b = null returning a) select 1", of_null, "(5, null)"),
        ("with d as (delete from t returning a) insert into t select -a, 'd' from d", of_check, "(-5, d)"),
        (&format!("{merge} matched then update set a = 0"), of_check, "(0, v)"),
        (&format!("{merge} matched then update set b = null"), of_null, "(5, null)"),
        (&format!("{merge} not matched then insert values (-s.a, s.b)"), of_check, "(-6, x)"),
        (&format!("{merge} not matched then insert (a) values (s.a)"), of_null, "(6, null)"),
    ] {
        let error = db.fail(sql).await;
        let (found, detail, _) = about(&error);
        assert_eq!((&*found, &*detail), (message, &*format!("Failing row contains {row}.")), "{sql}");
        db.check(&[("select * from t", "5|v")]).await;
    }
    // Before RETURNING is computed.
    assert_eq!(db.state("insert into t values (0, 'y') returning 1 / a").await, "23514");
    // What violates a condition that was added later can go, and be returned.
    db.run("alter table t add constraint later check (a > 100) not valid").await;
    assert_eq!(db.state("update t set b = 'x' returning a").await, "23514");
    db.check(&[("delete from t returning *", "5|v")]).await;
}
