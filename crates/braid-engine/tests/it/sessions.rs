//! Settings and transaction blocks.

use braid_engine::TransactionStatus;

use crate::test_db::{TestDb, config, run};

#[tokio::test]
async fn settings_are_set_shown_and_reset() {
    let db = TestDb::new().await;
    db.check(&[
        ("show server_version_num", "150000"),
        ("show time zone", "UTC"),
        ("set time zone 'Europe/Berlin'", "SET"),
        ("show timezone", "Europe/Berlin"),
        ("select timestamptz '2024-01-01 00:00:00'::text", "2024-01-01 00:00:00+01"),
        ("reset timezone", "RESET"),
        ("show TimeZone", "UTC"),
        ("set application_name to 'my app'", "SET"),
        ("select current_setting('application_name')", "my app"),
        ("set names 'UTF8'", "SET"),
        ("set extra_float_digits = 3", "SET"),
        ("set datestyle to mdy, iso", "SET"),
        ("show datestyle", "ISO, MDY"),
        ("set session characteristics as transaction read only", "SET"),
        ("show transaction_read_only", "on"),
        ("discard all", "DISCARD ALL"),
        ("show transaction_read_only", "off"),
        ("show transaction isolation level", "read committed"),
        ("show braid.scan_policy", "relevance"),
        ("set braid.scan_policy = elevator", "SET"),
        ("show braid.target_partitions", "2"),
        ("show braid.query_memory", "64MB"),
        ("select current_user, current_database(), current_schema()", "alice|braid|public"),
    ])
    .await;
    let bob = db.database.session("bob");
    assert_eq!(run(&bob, "show braid.scan_policy").await.unwrap(), "elevator", "the policy is the server's");
    assert_eq!(run(&bob, "show application_name").await.unwrap(), "", "other settings are the session's");
    assert!(db.run("show all").await.lines().count() > 20);
    db.check_states(&[
        ("set client_encoding = 'mule_internal'", "0A000"),
        ("set server_version = '16'", "55P02"),
        ("set braid.scan_policy = 'best'", "22023"),
        ("select current_setting('nosuch')", "42704"),
    ])
    .await;
    let reported = db.session.reported_settings();
    assert!(reported.contains(&("server_encoding", "UTF8".to_owned())), "{reported:?}");
}

#[tokio::test]
async fn a_block_reads_one_snapshot_or_the_newest() {
    let db = TestDb::new().await;
    let bob = db.database.session("bob");
    db.run("create table t (a int)").await;
    let repeatable = "begin isolation level repeatable read";
    db.check(&[(repeatable, "BEGIN"), ("select count(*) from t", "0")]).await;
    run(&bob, "insert into t values (1)").await.unwrap();
    db.check(&[("select count(*) from t", "0"), ("commit", "COMMIT"), ("select count(*) from t", "1")]).await;
    db.check(&[("begin", "BEGIN"), ("select count(*) from t", "1")]).await;
    run(&bob, "insert into t values (1)").await.unwrap();
    // READ COMMITTED reads what was committed meanwhile.
    db.check(&[("select count(*) from t", "2"), ("commit", "COMMIT")]).await;
    db.check(&[("start transaction read only", "START TRANSACTION")]).await;
    assert_eq!(db.state("insert into t values (2)").await, "25006");
    assert_eq!(db.session.transaction_status(), TransactionStatus::Failed);
    db.check(&[("rollback", "ROLLBACK"), ("begin", "BEGIN")]).await;
    assert_eq!(db.state("select 1 / 0").await, "22012");
    assert_eq!(db.state("select 1").await, "25P02");
    assert_eq!(db.state("show timezone").await, "25P02");
    db.check(&[("commit", "ROLLBACK"), ("select count(*) from t", "2")]).await;
    assert_eq!(db.session.transaction_status(), TransactionStatus::Idle);
}

#[tokio::test]
async fn a_database_has_the_name_that_it_is_opened_with() {
    let dir = tempfile::tempdir().unwrap();
    let mut config = config(dir.path());
    config.database_name = "shop".to_owned();
    let database = braid_engine::Database::open(config).await.unwrap();
    let session = database.session("alice");
    run(&session, "create table shop.public.t (a int)").await.unwrap();
    for (sql, expected) in [
        ("select current_database()", "shop"),
        ("select datname from pg_database", "shop"),
        ("select table_catalog from information_schema.tables where table_name = 't'", "shop"),
        ("select current_database() from t right join (values (1)) as v (x) on a = x", "shop"),
    ] {
        assert_eq!(run(&session, sql).await.unwrap(), expected, "{sql}");
    }
    assert_eq!(run(&session, "drop table braid.public.t").await.unwrap_err().sqlstate(), "0A000");
}

#[tokio::test]
async fn a_block_does_not_see_newer_system_tables() {
    let db = TestDb::new().await;
    let bob = db.database.session("bob");
    let count = "select count(*) from pg_class c where c.relname = 'u'";
    db.run("create table t (a int)").await;
    db.check(&[("begin isolation level serializable", "BEGIN"), (count, "0")]).await;
    run(&bob, "create table u (a int)").await.unwrap();
    db.check(&[(count, "0"), ("rollback", "ROLLBACK"), (count, "1")]).await;
}

#[tokio::test]
async fn settings_follow_their_block() {
    let db = TestDb::new().await;
    db.run("begin;; set application_name = 'a';; rollback").await;
    db.check(&[("show application_name", "")]).await;
    db.run("begin;; set application_name = 'b';; set local timezone = 'Asia/Tokyo'").await;
    db.check(&[("show timezone", "Asia/Tokyo"), ("commit", "COMMIT"), ("show timezone", "UTC")]).await;
    db.check(&[("show application_name", "b")]).await;
    db.run("begin").await;
    assert_eq!(db.state("select * from nosuch").await, "42P01");
    assert_eq!(db.state("selec").await, "42601");
    db.run("rollback").await;
}
