//! CREATE TABLE, CREATE TABLE AS, DROP TABLE, and that they survive.

use braid_engine::Database;

use crate::test_db::{TestDb, config, run};

#[tokio::test]
async fn tables_are_created_filled_and_dropped() {
    let db = TestDb::new().await;
    db.check(&[
        (
            "create table t (a int primary key not enforced, b varchar(5) not null default 'x', c numeric(8,2))",
            "CREATE TABLE",
        ),
        ("create table if not exists t (z int)", "CREATE TABLE"),
        ("insert into t (a, c) values (1, 2.345), (2, -1)", "INSERT 0 2"),
        ("select * from t order by a", "1|x|2.35\n2|x|-1.00"),
        ("create table u as select a * 2 as twice, b from t", "SELECT 2"),
        ("select sum(twice), max(b) from u", "6|x"),
        ("create table v as select * from t with no data", "CREATE TABLE AS"),
        ("select count(*) from v", "0"),
        ("drop table if exists nosuch, u", "DROP TABLE"),
        ("drop table t, v", "DROP TABLE"),
    ])
    .await;
    db.check_states(&[("select * from t", "42P01"), ("drop table t", "42P01")]).await;
    db.check(&[("create table x (a int)", "CREATE TABLE")]).await;
    db.check_states(&[
        ("create table x (a int)", "42P07"),
        ("create table x as select 1 as a", "42P07"),
        ("create table y as select 1 as a, 2 as a", "42701"),
        ("create table y (a int default nosuch(1))", "42883"),
        ("create table y (a int default b)", "0A000"),
        ("create table y (a point)", "0A000"),
    ])
    .await;
}

#[tokio::test]
async fn every_type_is_stored_and_read_back() {
    let db = TestDb::new().await;
    db.run(
        "create table t (b boolean, i2 smallint, i4 integer, i8 bigint, r real, d double precision, n numeric(12,2), \
         n38 numeric(38,10), x text, v varchar(10), c char(3), dt date, ts timestamp, tz timestamptz, iv interval, \
         by bytea, u uuid)",
    )
    .await;
    db.run(
        "insert into t values (true, 1, 2, 3, 1.5, 2.5, 3.25, 1234567890123456789.5, 'text', 'varchar', 'ab', \
         '2024-02-29', '2024-02-29 13:14:15.5', '2024-02-29 13:14:15+02', '1 day 2 hours', '\\x00ff', \
         'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'), (null, null, null, null, null, null, null, null, null, null, null, \
         null, null, null, null, null, null)",
    )
    .await;
    db.check(&[
        ("select b, i2, i4, i8, r, d, n, n38 from t where b", "true|1|2|3|1.5|2.5|3.25|1234567890123456789.5000000000"),
        ("select x, v, c, dt from t where x = 'text'", "text|varchar|ab |2024-02-29"),
        (
            "select ts::text, tz::text, by::text from t where ts is not null",
            "2024-02-29 13:14:15.5|2024-02-29 11:14:15+00|\\x00ff",
        ),
        (
            "select u::text, iv::text from t where u = 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid",
            "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11|1 day 02:00:00",
        ),
        ("select count(*), count(b), count(u) from t", "2|1|1"),
    ])
    .await;
}

#[tokio::test]
async fn tables_survive_a_restart_and_a_second_opener_is_refused() {
    let db = TestDb::new().await;
    db.run("create table t (a int)").await;
    db.run("insert into t values (1), (2)").await;
    let second = Database::open(config(db.dir.path())).await.unwrap_err();
    assert_eq!(second.sqlstate(), "55006", "{second:?}");
    let TestDb { dir, database, session } = db;
    database.close().await;
    assert_eq!(run(&session, "select 1").await.unwrap_err().sqlstate(), "57P01");
    drop((session, database));
    let database = Database::open(config(dir.path())).await.unwrap();
    assert_eq!(run(&database.session("bob"), "select sum(a) from t").await.unwrap(), "3");
}

#[tokio::test]
async fn generated_columns_are_there_after_reopening() {
    let db = TestDb::new().await;
    db.run("create table t (a int, b int generated always as (a * 2) stored)").await;
    db.run("insert into t values (1), (2)").await;
    db.run("alter table t rename a to \"A b\"").await;
    db.run("alter table t add column c text generated always as (\"A b\" || '!') stored").await;
    let dir = db.dir;
    // Once from the log, then from the manifest that the first opening writes.
    drop((db.session, db.database));
    for (value, rows) in [(3, "1|2|1!\n2|4|2!\n3|6|3!"), (4, "1|2|1!\n2|4|2!\n3|6|3!\n4|8|4!")] {
        let database = Database::open(config(dir.path())).await.unwrap();
        let session = database.session("bob");
        run(&session, &format!("insert into t values ({value})")).await.unwrap();
        assert_eq!(run(&session, "select * from t order by 1").await.unwrap(), rows);
        let refused = run(&session, "insert into t values (9, 9)").await.unwrap_err();
        assert_eq!(refused.sqlstate(), "428C9");
        assert_eq!(run(&session, "alter table t drop column \"A b\"").await.unwrap_err().sqlstate(), "2BP01");
        database.close().await;
    }
}
