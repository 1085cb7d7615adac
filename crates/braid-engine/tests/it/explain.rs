//! EXPLAIN: its costs, as JSON, and of prepared queries.

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
        ("{0,Plan,Plan Rows}", "1"),
        ("{0,Plan,Plan Width}", "8"),
        ("{0,Template}", "none yet, the text is new"),
        ("{0,Operators}", "workers=2"),
        ("{0,Execution Time}", "NULL"),
        ("{0,Planning Time}", "NULL"),
        ("{1}", "NULL"),
    ] {
        assert_eq!(found(&db, &json, path).await, expected, "{path} in {json}");
    }
    let text = db.run(&format!("explain {query}")).await;
    let operators = text.lines().take_while(|line| !line.starts_with("Template:")).count();
    for name in ["Node Type", "Startup Cost", "Total Cost", "Plan Rows", "Plan Width"] {
        assert_eq!(json.matches(&format!("\"{name}\"")).count(), operators, "{name}: {text}\n{json}");
    }
    let plain = db.run(&format!("explain (format json, costs off) {query}")).await;
    assert!(!plain.contains("Cost") && plain.matches("\"Node Type\"").count() == operators, "{plain}");
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
    assert!(last_one_counts.starts_with("Project: 1  (cost="), "{last_one_counts}");
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
    assert!(text.contains("\nTemplate: 1 of 1 constants is a parameter"), "{text}");
    db.check_states(&[
        ("explain execute nosuch", "26000"),
        ("explain execute q", "42601"),
        ("explain execute q(true)", "42804"),
        ("explain execute w", "0A000"),
    ])
    .await;
    assert_eq!(run(&db.session, "select count(*) from t").await.unwrap(), "10");
}

/// What a line says of an operator: startup and total cost, rows, width.
fn estimate(line: &str) -> [f64; 4] {
    let text = &line[line.rfind('(').unwrap()..];
    let text = text.strip_prefix("(cost=").and_then(|text| text.strip_suffix(')')).unwrap_or_else(|| panic!("{line}"));
    let numbers = text.replace("..", " ").replace("rows=", "").replace("width=", "");
    let numbers: Vec<f64> = numbers.split(' ').map(|number| number.parse().unwrap()).collect();
    numbers.try_into().unwrap_or_else(|_| panic!("{line}"))
}

/// The operators of an EXPLAIN: how deep each is, its text, and its estimate.
async fn operators(db: &TestDb, sql: &str) -> Vec<(usize, String, [f64; 4])> {
    let text = db.run(&format!("explain {sql}")).await;
    let lines = text.lines().take_while(|line| !line.starts_with("Template:"));
    lines.map(|line| (line.len() - line.trim_start().len(), line.trim().to_owned(), estimate(line))).collect()
}

/// Checks that operators cost at least what is below them, but for limits.
fn check_costs(operators: &[(usize, String, [f64; 4])]) {
    for (at, (depth, text, [startup, total, rows, _])) in operators.iter().enumerate() {
        assert!(0.0 <= *startup && startup <= total && *rows >= 1.0, "{text}");
        let below = operators[at + 1..].iter().take_while(|(other, ..)| other > depth);
        for (_, input, [_, of_input, ..]) in below.filter(|(other, ..)| *other == depth + 2) {
            assert!(total >= of_input || text.starts_with("Limit"), "{text} costs less than {input}");
        }
    }
}

#[tokio::test]
async fn each_operator_has_its_cost_rows_and_width() {
    let db = TestDb::new().await;
    db.run("create table t (a int primary key, b text); create table u (a int, c bigint)").await;
    db.run("insert into t select n, 'x' || n from generate_series(1, 10000) as s (n)").await;
    db.run("insert into u select n % 100, n from generate_series(1, 20000) as s (n)").await;
    let first = async |sql: &str| operators(&db, sql).await.swap_remove(0).2;
    for sql in [
        "select a, c from t join u using (a) where c < 100 order by c limit 7",
        "select a, count(*), sum(c) from u group by rollup (a)",
        "with recursive r as (select 1 as n union all select n + 1 from r where n < 5) select * from r",
        "with m as materialized (select a from u group by a) select * from m x, m y",
        "select distinct on (a) a, c from u order by a, c",
        "select a, rank() over (partition by a order by c) from u",
        "select a, (select max(c) from u) from t union all select 1, 2",
        "select * from t where exists (select from u where u.a = t.a) and b like '%1%'",
        "select generate_series(1, 3), a from t",
        "select string_agg(b, ',') from t",
        "values (1, 'a'), (2, 'b')",
        "select * from t full join u on t.a = u.a and b < 'x5'",
    ] {
        check_costs(&operators(&db, sql).await);
    }
    // Rows and widths are those of the statistics.
    let [_, all, rows, width] = first("select a from t").await;
    assert_eq!((rows, width), (10_000.0, 4.0));
    let [_, some, rows, _] = first("select a from t where a <= 100").await;
    assert!((90.0..=110.0).contains(&rows), "{rows}");
    assert!(all > 100.0 && some <= all * 1.5, "{some} {all}");
    assert_eq!(first("select count(*) from t").await[2], 1.0);
    // A sketch of distinct values is off by a tenth.
    assert!((80.0..=100.0).contains(&first("select a from u group by a").await[2]));
    let joined = operators(&db, "select * from t join u using (a)").await;
    let (_, _, [startup, total, rows, _]) = joined.iter().find(|(_, text, _)| text.starts_with("HashJoin")).unwrap();
    assert!((15_000.0..=25_000.0).contains(rows) && startup < total, "{joined:?}");
    // More rows cost more, and a limit costs the part that it reads.
    assert!(first("select * from t a, t b").await[1] > 100.0 * first("select * from t").await[1]);
    assert!(first("select a from t limit 10").await[1] < all / 100.0);
}

#[tokio::test]
async fn every_format_has_the_same_estimates() {
    let db = numbers().await;
    let text = db.run("explain select a from t").await;
    let [startup, total, rows, width] = estimate(text.lines().next().unwrap());
    for (format, expected) in [
        ("xml", format!("<Total-Cost>{total:.2}</Total-Cost>")),
        ("yaml", format!("Total Cost: {total:.2}")),
        ("json", format!("\"Startup Cost\": {startup:.2}")),
        ("json", format!("\"Plan Rows\": {rows}")),
        ("xml", format!("<Plan-Width>{width}</Plan-Width>")),
    ] {
        let explained = db.run(&format!("explain (format {format}) select a from t")).await;
        assert!(explained.contains(&expected), "{expected} in {explained}");
    }
    let plain = db.run("explain (costs off) select a from t where b = E'x\\ny'").await;
    assert!(!plain.contains("cost=") && plain.lines().any(|line| line.starts_with("Template:")), "{plain}");
}
