//! What EXPLAIN and the system views say of templates, passes and queries.

use std::sync::atomic::{AtomicBool, Ordering};

use braid_engine::{Outcome, Session};
use futures::StreamExt;
use futures::future::join_all;
use tokio_util::sync::CancellationToken;

use crate::test_db::{TestDb, run};

async fn database() -> TestDb {
    let db = TestDb::new().await;
    db.run("create table facts (k int, v int)").await;
    db.run("insert into facts select n % 23, n % 101 from generate_series(1, 6000) as s(n)").await;
    db
}

fn session(db: &TestDb, sharing: &str) -> Session {
    let session = db.database.session("alice");
    session.set_setting("braid.sharing", sharing).unwrap();
    session
}

/// The lines of an EXPLAIN that begin with one of these words.
fn lines(explained: &str, words: &[&str]) -> String {
    let is_wanted = |line: &&str| words.iter().any(|word| line.starts_with(word));
    explained.lines().filter(is_wanted).collect::<Vec<_>>().join("\n")
}

/// What an EXPLAIN says of the template.
async fn template_of(session: &Session, sql: &str) -> String {
    lines(&run(session, &format!("explain {sql}")).await.unwrap(), &["Template: "])
}

#[tokio::test]
async fn explain_says_which_template_a_query_has() {
    let db = database().await;
    let query = |n: i32| format!("select count(*) from facts where v < {n} and k = 3");
    let template = async |sql: &str| template_of(&db.session, sql).await;
    for _ in 0..3 {
        assert_eq!(template(&query(5)).await, "Template: none yet, the text is new");
    }
    db.run(&query(5)).await;
    for n in 0..3 {
        assert_eq!(template(&query(n)).await, "Template: none yet, the next query of this text makes it");
    }
    db.run(&query(6)).await;
    assert_eq!(template(&query(7)).await, "Template: 1 of 2 constants is a parameter, 0 queries so far");
    db.run(&query(7)).await;
    assert_eq!(template(&query(7)).await, "Template: 1 of 2 constants is a parameter, 1 query so far");
    db.run(&query(8)).await;
    assert_eq!(template(&query(7)).await, "Template: 1 of 2 constants is a parameter, 2 queries so far");
    let other = query(7).replace("k = 3", "k = 4");
    assert_eq!(template(&other).await, "Template: none yet for these constants, 1 plan for others");
    // All that was only explained has changed nothing.
    let figures = db.database.template_figures();
    assert_eq!((figures.texts, figures.plans, figures.hits), (1, 1, 2));
}

#[tokio::test]
async fn explain_says_why_a_query_has_no_template() {
    let db = database().await;
    let of_session =
        "select count(*) from facts where k = 1 and v::text = current_setting('TimeZone' || left(v::text, 0))";
    for sql in [of_session, "select k from facts union select * from generate_series(1, 2)"] {
        for _ in 0..2 {
            db.run(sql).await;
        }
    }
    let many = format!("select {}", vec!["1"; 300].join(", "));
    for (sql, expected) in [
        (of_session, "none, a plan for many sessions that depends on one of them is not supported"),
        ("values (1)", "none, it does not begin with SELECT or WITH"),
        (many.as_str(), "none, it has more than 256 constants"),
    ] {
        assert_eq!(template_of(&db.session, sql).await, format!("Template: {expected}"));
    }
    let union = "select k from facts union select * from generate_series(1, 2)";
    assert_eq!(template_of(&db.session, union).await, "Template: 0 of 2 constants are parameters, 0 queries so far");
    for (setting, value, expected) in
        [("braid.templates", "off", "off"), ("braid.join_order", "random", "off, braid.join_order is not cheapest")]
    {
        let session = db.database.session("alice");
        session.set_setting(setting, value).unwrap();
        assert_eq!(template_of(&session, "select 1").await, format!("Template: {expected}"));
    }
}

#[tokio::test]
async fn explain_analyze_runs_a_query_as_it_would_run() {
    let db = database().await;
    let sql = "select k, count(*) from facts where v < 50 group by k order by k";
    let analyzed = db.run(&format!("explain analyze {sql}")).await;
    assert_eq!(lines(&analyzed, &["Pass", "Rows"]), "Rows: 23", "{analyzed}");
    for v in [50, 51] {
        db.run(&sql.replace("50", &v.to_string())).await;
    }
    let alone = run(&session(&db, "auto"), &format!("explain analyze {sql}")).await.unwrap();
    assert!(lines(&alone, &["Pass"]).starts_with("Pass: 2, alone, predicted "), "{alone}");
    assert!(alone.contains(", rows=23"), "{alone}");
    let shared = run(&session(&db, "global"), &format!("explain analyze {sql}")).await.unwrap();
    assert!(shared.contains("\nPass: 3, with 0 other queries, 1 distinct, 2 query sets\nPass Time: "), "{shared}");
    assert!(shared.contains("Aggregate: by [#") && lines(&shared, &["Rows"]) == "Rows: 23", "{shared}");
    let off = run(&session(&db, "off"), &format!("explain (analyze, verbose) {sql}")).await.unwrap();
    assert!(off.contains("\nPass: none, the session does not share\n"), "{off}");
    assert_eq!(lines(&off, &["Rows"]), "Rows: 23", "{off}");
    db.run("create table few (a int)").await;
    for n in 0..2 {
        db.run(&format!("select count(*) from few where a < {n}")).await;
    }
    let tiny = db.run("explain analyze select count(*) from few where a < 7").await;
    assert_eq!(lines(&tiny, &["Pass"]), "Pass: none, it reads so few rows that it runs at once", "{tiny}");
    // An error is that of the query.
    let division = "select 100 / (v - 7) from facts where k = 3 order by 1";
    for v in [200, 201] {
        db.run(&division.replace("(v - 7)", &format!("(v - {v})"))).await;
    }
    for mode in ["auto", "global", "off"] {
        let error = run(&session(&db, mode), &format!("explain analyze {division}")).await.unwrap_err();
        assert_eq!(error.sqlstate(), "22012", "{mode}");
    }
}

/// The numbers in a text.
fn numbers(text: &str) -> Vec<f64> {
    text.split(|letter: char| !letter.is_ascii_digit() && letter != '.').filter_map(|word| word.parse().ok()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn explain_analyze_tells_of_the_others_in_its_pass() {
    let db = database().await;
    let sql = |n: usize| format!("select count(*) from facts a join facts b on a.k = b.k where a.v < {n}");
    for n in 0..2 {
        db.run(&sql(n)).await;
    }
    for _ in 0..20 {
        let asked = (0..8).map(|n| {
            let client = session(&db, "global");
            async move { run(&client, &format!("explain analyze {}", sql(10 + n % 4))).await.unwrap() }
        });
        let mut most = 0;
        for explained in join_all(asked).await {
            let of_pass = numbers(&lines(&explained, &["Pass: "]));
            let times = numbers(&lines(&explained, &["Pass Time: "]));
            let [_, others, distinct, sets] = of_pass[..] else { panic!("{explained}") };
            let [took, _, part] = times[..] else { panic!("{explained}") };
            assert!((1.0..=4.0).contains(&distinct) && distinct <= others + 1.0 && sets >= 2.0, "{explained}");
            assert!((part - took / distinct).abs() < 0.001, "{explained}");
            most = most.max(others as usize);
        }
        if most > 1 {
            return;
        }
    }
    panic!("eight queries at a time never shared a pass");
}

#[tokio::test]
async fn templates_are_a_view() {
    let db = database().await;
    for n in 0..4 {
        db.run(&format!("select count(*) from facts where k = {n} and v < 9")).await;
    }
    for _ in 0..2 {
        db.run("select count(*) from facts where k = 1 group by current_user").await;
    }
    db.check(&[
        (
            "select number, template, constants, parameters, plans, hits, refusal from braid_templates \
             where template like '%facts%' order by number",
            "0|select count ( * ) from facts where k = # and v < #|2|1|1|2|NULL\n\
             1|select count ( * ) from facts where k = # group by current_user|1|0|1|0|NULL",
        ),
        ("select sum(bytes) > 1000 from pg_catalog.braid_templates", "true"),
    ])
    .await;
}

#[tokio::test]
async fn passes_are_a_view_with_the_last_hundred() {
    let db = database().await;
    let global = session(&db, "global");
    for n in 0..5 {
        db.run(&format!("select k from facts where v < {n}")).await;
    }
    run(&global, "select k from facts where v < 101").await.unwrap();
    let columns = "number, template, state, form, queries, distinct_queries, query_sets, result_rows, ending";
    db.check(&[
        (
            &format!("select {columns} from braid_passes where number > 3"),
            "4|0|ended|alone|1|1|NULL|239|answered\n5|0|ended|shared|1|1|2|6000|answered",
        ),
        ("select count(*) from braid_passes where memory_bytes >= 0 and predicted_ms > 0 and taken_ms > 0", "5"),
        ("select distinct t.hits from braid_passes p join braid_templates t on t.number = p.template", "4"),
        ("select braid_passes.number from braid_passes join braid_templates using (number) where number = 1", "1"),
    ])
    .await;
    for n in 0..120 {
        db.run(&format!("select k from facts where v < {}", n % 5)).await;
    }
    db.check(&[
        ("select count(*), min(number), max(number) from braid_passes", "100|26|125"),
        ("select * from braid_sharing", "125|125|0|0|1"),
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn queries_that_wait_and_run_are_a_view() {
    let db = database().await;
    let sql = |n: usize| format!("select count(*) from facts a join facts b on a.k = b.k where a.v < {n}");
    for n in 0..2 {
        db.run(&sql(n)).await;
    }
    assert_eq!(db.run("select * from braid_queries").await, "");
    let watcher = session(&db, "auto");
    let mut states = String::new();
    for _ in 0..50 {
        let are_answered = AtomicBool::new(false);
        let asked = async {
            let ask = |n: usize| {
                let (client, sql) = (session(&db, "global"), sql(10 + n));
                async move { run(&client, &sql).await.unwrap() }
            };
            join_all((0..12).map(ask)).await;
            are_answered.store(true, Ordering::Relaxed);
        };
        let watched = async {
            while !are_answered.load(Ordering::Relaxed) {
                let seen = "select state, pass is null, mode, waited_ms >= 0 from braid_queries where template = 0";
                states.push_str(&(run(&watcher, seen).await.unwrap() + "\n"));
            }
        };
        futures::join!(asked, watched);
        if states.contains("running") && states.contains("waiting") {
            break;
        }
    }
    assert!(states.contains("running") && states.contains("waiting"), "{states}");
    for line in states.lines().filter(|line| !line.is_empty()) {
        assert!(["waiting|true|global|true", "running|false|global|true"].contains(&line), "{line}");
    }
    assert_eq!(db.run("select count(*) from braid_queries").await, "0");
    assert_eq!(db.run("select count(*) from braid_passes where state <> 'ended'").await, "0");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_reader_is_shown_as_sending() {
    let db = database().await;
    db.run("create table wide as select v, repeat('x', 100) as pad from facts, generate_series(1, 30)").await;
    let sql = "select v, pad from wide where v < 102";
    for v in [100, 101] {
        db.run(&sql.replace("102", &v.to_string())).await;
    }
    let statement = db.session.parse(sql).unwrap().remove(0);
    let outcome = db.session.execute(&statement, vec![], CancellationToken::new()).await.unwrap();
    let Outcome::Rows { mut stream, .. } = outcome else { panic!("{outcome:?}") };
    let watcher = session(&db, "auto");
    let seen = "select p.state, q.state, p.form, ending from braid_passes p join braid_queries q on q.pass = p.number";
    // Its reader takes some rows, and waits until there are more.
    let mut states = String::new();
    for _ in 0..20 {
        stream.next().await.unwrap().unwrap();
        states = run(&watcher, seen).await.unwrap();
        if states.starts_with("sending") {
            break;
        }
    }
    assert_eq!(states, "sending|sending|alone|NULL");
    drop(stream);
    assert_eq!(run(&watcher, seen).await.unwrap(), "");
    let last = "select ending from braid_passes order by number desc limit 1";
    assert_eq!(run(&watcher, last).await.unwrap(), "cancelled");
}

#[tokio::test]
async fn views_are_system_tables_of_the_present() {
    let db = database().await;
    db.check(&[
        (
            "select relname, relkind, count(*) from pg_class join pg_attribute on attrelid = pg_class.oid \
             where relname like 'braid%' group by relname, relkind order by relname",
            "braid_passes|v|13\nbraid_queries|v|7\nbraid_sharing|v|5\nbraid_snapshots|v|5\nbraid_tables|v|8\nbraid_templates|v|8",
        ),
        (
            "select attname, format_type(atttypid, atttypmod) from pg_attribute join pg_class on attrelid = pg_class.oid \
             where relname = 'braid_queries' order by attnum",
            "ticket|bigint\ntemplate|bigint\nplan|bigint\nstate|text\npass|bigint\nwaited_ms|double precision\nmode|text",
        ),
        (
            "select table_schema, table_name from information_schema.tables where table_type = 'VIEW' \
             and table_name like 'braid%' order by 2",
            "pg_catalog|braid_passes\npg_catalog|braid_queries\npg_catalog|braid_sharing\npg_catalog|braid_snapshots\n\
             pg_catalog|braid_tables\npg_catalog|braid_templates",
        ),
        ("with braid_passes as (select 7 as a) select a from braid_passes", "7"),
        ("copy (select count(*) from braid_queries) to stdout", "0\n"),
        ("select (select count(*) from braid_queries q where q.template = t.number) from braid_templates t limit 1", "0"),
    ])
    .await;
    db.check_states(&[("select * from public.braid_passes", "42P01"), ("drop table braid_passes", "42809")]).await;
    // A block reads its snapshot, and the views as they are.
    db.run("begin isolation level repeatable read").await;
    db.run("select count(*) from facts").await;
    run(&db.database.session("bob"), "insert into facts values (1, 1)").await.unwrap();
    assert_eq!(db.run("select count(*) from braid_queries").await, "0");
    db.run("commit").await;
    let seen = "select count(*) from braid_passes where number > 0";
    for _ in 0..4 {
        db.run(seen).await;
    }
    assert!(template_of(&db.session, seen).await.contains("computed tables in a plan for many statements"));
    assert_eq!(db.database.template_figures().plans, 0);
}
