//! EXPLAIN as JSON, and of prepared queries.

use braid_engine::DescribedType;

use crate::test_db::{TestDb, run};

async fn numbers() -> TestDb {
    let db = TestDb::new().await;
    db.run("create table t (a int, b text)").await;
    db.run("insert into t select n, 'x' || n from generate_series(1, 10) as s (n)").await;
    db
}

/// What a path finds in a JSON text, as PostgreSQL's operators read it.
async fn found(db: &TestDb, json: &str, path: &str) -> String {
    let json = json.replace('\'', "''");
    db.run(&format!("select '{json}'::json #>> '{path}'")).await
}

#[tokio::test]
async fn json_has_the_operators_of_the_text() {
    let db = numbers().await;
    let query = "select count(*) from t x join t y using (a) where x.b <> E'a\\n\"\\\\'";
    let json = db.run(&format!("explain (format json) {query}")).await;
    for (path, expected) in [
        ("{0,Plan,Node Type}", "Project"),
        ("{0,Plan,Plans,0,Node Type}", "Aggregate"),
        ("{0,Plan,Plans,0,Details}", "by []: [CountRows(*)]"),
        ("{0,Template}", "none yet, the text is new"),
        ("{0,Operators}", "workers=2"),
        ("{0,Execution Time}", "NULL"),
        ("{0,Planning Time}", "NULL"),
        ("{1}", "NULL"),
    ] {
        assert_eq!(found(&db, &json, path).await, expected, "{path} in {json}");
    }
    let text = db.run(&format!("explain {query}")).await;
    let operators = text.lines().filter(|line| line.starts_with("  ")).count();
    assert_eq!(json.matches("\"Node Type\"").count(), operators, "{text}\n{json}");
}

#[tokio::test]
async fn json_of_a_run_has_rows_and_times() {
    let db = numbers().await;
    let json = db.run("explain (analyze, verbose, format json) select a from t where a > 3").await;
    assert_eq!(found(&db, &json, "{0,Plan,Actual Rows}").await, "7");
    assert_eq!(found(&db, &json, "{0,Plan,Actual Loops}").await, "1");
    assert_ne!(found(&db, &json, "{0,Query}").await, "NULL");
    for name in ["Planning Time", "Execution Time"] {
        assert!(found(&db, &json, &format!("{{0,{name}}}")).await.parse::<f64>().is_ok(), "{json}");
    }
    let json = db.run("explain (analyze, summary off, format json) select a from t").await;
    assert!(!json.contains("Time\""), "{json}");
    let json = db.run("explain (summary, format json) select a from t").await;
    assert!(json.contains("Planning Time") && !json.contains("Execution Time"), "{json}");
}

#[tokio::test]
async fn the_column_is_of_type_json() {
    let db = numbers().await;
    let of = async |sql: &str| {
        let statement = db.session.parse(sql).unwrap().remove(0);
        let schema = db.session.prepare(&statement, &[]).await.unwrap().schema.unwrap();
        DescribedType::of(schema.field(0)).map(|described| described.oid)
    };
    assert_eq!(of("explain (format json) select 1").await, Some(114));
    assert_eq!(of("explain (format text) select 1").await, None);
}

#[tokio::test]
async fn other_formats_and_options_are_refused() {
    let db = numbers().await;
    db.check_states(&[
        ("explain (format nosuch) select 1", "22023"),
        ("explain (format) select 1", "42601"),
        ("explain (costs 5) select 1", "42601"),
        ("explain insert into t values (1)", "0A000"),
    ])
    .await;
    let last_one_counts = db.run("explain (format json, format text) select 1").await;
    assert!(last_one_counts.starts_with("Template:"), "{last_one_counts}");
}

#[tokio::test]
async fn a_prepared_query_is_explained_with_its_arguments() {
    let db = numbers().await;
    db.run("prepare q (int) as select b from t where a = $1;; prepare w as insert into t values (1)").await;
    let text = db.run("explain execute q(7)").await;
    assert!(text.contains("a = 7"), "{text}");
    let json = db.run("explain (analyze, format json) execute q(3 + 4)").await;
    assert_eq!(found(&db, &json, "{0,Plan,Actual Rows}").await, "1");
    for n in 1..4 {
        db.run(&format!("execute q({n})")).await;
    }
    let json = db.run("explain (analyze, format json) execute q(9)").await;
    assert!(found(&db, &json, "{0,Pass}").await.starts_with("none"), "{json}");
    let text = db.run("explain execute q(8)").await;
    assert!(text.starts_with("Template: 1 of 1 constants is a parameter"), "{text}");
    db.check_states(&[
        ("explain execute nosuch", "26000"),
        ("explain execute q", "42601"),
        ("explain execute q(true)", "42804"),
        ("explain execute w", "0A000"),
    ])
    .await;
    assert_eq!(run(&db.session, "select count(*) from t").await.unwrap(), "10");
}
