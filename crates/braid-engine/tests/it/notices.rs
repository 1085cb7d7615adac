//! What statements tell their client without failing.

use braid_engine::NoticeSeverity;

use crate::test_db::{TestDb, run};

/// Checks a list of statements against the notices that PostgreSQL gives: severity, SQLSTATE and message, one a line.
async fn check(db: &TestDb, cases: &[(&str, &str)]) {
    for (sql, expected) in cases {
        db.run(sql).await;
        let told = db.session.take_notices().into_iter().map(|notice| {
            let severity = if notice.severity == NoticeSeverity::Notice { "N" } else { "W" };
            format!("{severity} {} {}", notice.state, notice.message)
        });
        assert_eq!(told.collect::<Vec<_>>().join("\n"), *expected, "{sql}");
    }
}

#[tokio::test]
async fn what_is_passed_over_is_told() {
    let db = TestDb::new().await;
    db.run("create table t (a int);; create type e as enum ('a')").await;
    check(
        &db,
        &[
            ("drop table if exists nosuch", "N 00000 table \"nosuch\" does not exist, skipping"),
            ("drop table if exists nosch.nosuch", "N 00000 schema \"nosch\" does not exist, skipping"),
            (
                "drop type if exists nosuch, public.b",
                "N 00000 type \"nosuch\" does not exist, skipping\nN 00000 type \"public.b\" does not exist, skipping",
            ),
            ("drop type if exists nosch.nosuch", "N 00000 schema \"nosch\" does not exist, skipping"),
            (
                "drop function if exists f(x int, out y text, variadic z text[], \"char\", double precision), nosch.g()",
                "N 00000 function f(pg_catalog.int4,text[],char,pg_catalog.float8) does not exist, skipping\n\
                 N 00000 schema \"nosch\" does not exist, skipping",
            ),
            ("drop routine if exists public.f(nosuch)", "N 00000 type \"nosuch\" does not exist, skipping"),
            ("drop aggregate if exists a(*)", "N 00000 aggregate a() does not exist, skipping"),
            ("drop trigger if exists x on nosuch", "N 00000 relation \"nosuch\" does not exist, skipping"),
            ("drop rule if exists x on pg_class", "N 00000 rule \"x\" for relation \"pg_class\" does not exist, skipping"),
            (
                "drop extension if exists a, \"B\" cascade",
                "N 00000 extension \"a\" does not exist, skipping\nN 00000 extension \"B\" does not exist, skipping",
            ),
            ("create table if not exists t (a nosuch)", "N 42P07 relation \"t\" already exists, skipping"),
            ("create table if not exists t as select 1/0", "N 42P07 relation \"t\" already exists, skipping"),
            ("alter type e add value if not exists 'a'", "N 42710 enum label \"a\" already exists, skipping"),
            ("alter type e add value if not exists 'b'", ""),
            ("drop table if exists t", ""),
        ],
    )
    .await;
}

#[tokio::test]
async fn what_means_nothing_outside_or_inside_a_block_is_a_warning() {
    let db = TestDb::new().await;
    let local = "W 25P01 SET LOCAL can only be used in transaction blocks";
    let transaction = "W 25P01 SET TRANSACTION can only be used in transaction blocks";
    let no_block = "W 25P01 there is no transaction in progress";
    let in_block = "W 25001 there is already a transaction in progress";
    check(
        &db,
        &[
            ("set local timezone = 'UTC'", local),
            ("set local time zone 'UTC'", local),
            ("set transaction read only", transaction),
            ("set session characteristics as transaction read write", ""),
            ("select 1; set local timezone = 'UTC'", ""),
            ("commit", no_block),
            ("rollback", no_block),
            ("select 1; end", no_block),
            ("begin", ""),
            ("begin isolation level serializable", in_block),
            ("start transaction", in_block),
            ("set local timezone = 'UTC'", ""),
            ("set transaction read only", ""),
            ("commit", ""),
        ],
    )
    .await;
}

#[tokio::test]
async fn names_that_are_cut_are_told() {
    let db = TestDb::new().await;
    let (long, cut) = ("X".repeat(64), "x".repeat(63));
    let told = format!("N 42622 identifier \"{}\" will be truncated to \"{cut}\"", "x".repeat(64));
    check(&db, &[(&format!("select 1 as {long}"), &told), (&format!("select 1 as {cut}"), "")]).await;
}

#[tokio::test]
async fn client_min_messages_keeps_notices_back() {
    let db = TestDb::new().await;
    let drop = "drop table if exists nosuch";
    let told = "N 00000 table \"nosuch\" does not exist, skipping";
    let warned = "W 25P01 there is no transaction in progress";
    check(
        &db,
        &[
            ("set client_min_messages = debug1", ""),
            (drop, told),
            ("set client_min_messages = warning", ""),
            (drop, ""),
            ("commit", warned),
            ("set client_min_messages = error", ""),
            ("commit", ""),
            ("reset client_min_messages", ""),
            (drop, told),
        ],
    )
    .await;
    let bob = db.database.session("bob");
    run(&bob, drop).await.unwrap();
    assert!(db.session.take_notices().is_empty(), "notices are the session's own");
}
