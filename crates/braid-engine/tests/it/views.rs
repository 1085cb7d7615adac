//! Views: what they keep of the moment of their creation, what plans that are kept make of changes, limits, and random queries through
//! them.

use braid_base::{Random, SeededRandom};
use braid_engine::Database;
use braid_storage::ColumnChange;
use braid_testing::cases;

use crate::test_db::{TestDb, answer_of, begun_to_wait, config, run};

#[tokio::test]
async fn views_survive_a_restart() {
    let db = TestDb::new().await;
    db.run("create type mood as enum ('sad', 'happy'); create table t (a int, m mood)").await;
    db.run("insert into t values (1, 'sad'), (2, 'happy')").await;
    db.run("create view v as select *, 'sad'::mood = m as is_sad from t").await;
    db.run("create view w (x) as select a from v where is_sad").await;
    db.run("create materialized view kept as select * from v").await;
    db.run("create materialized view empty as select * from v with no data").await;
    db.run("create view arrays as select array['sad'::mood] as moods").await;
    let TestDb { dir, database, session } = db;
    drop(session);
    database.close().await;
    drop(database);
    let database = Database::open(config(dir.path())).await.unwrap();
    let session = database.session("alice");
    for (sql, expected) in [
        ("select a, m, is_sad from v order by a", "1|sad|true\n2|happy|false"),
        ("select x from w", "1"),
        ("select count(*) from kept", "2"),
        ("select moods from arrays", "{sad}"),
        (
            "select format_type(atttypid, -1), attstorage from pg_attribute where attrelid = 'arrays'::regclass",
            "mood[]|x",
        ),
        ("refresh materialized view empty", "REFRESH MATERIALIZED VIEW"),
        ("select count(*) from empty", "2"),
    ] {
        assert_eq!(run(&session, sql).await.unwrap(), expected, "{sql}");
    }
    assert_eq!(run(&session, "drop table t").await.unwrap_err().sqlstate(), "2BP01");
}

#[tokio::test]
async fn a_view_keeps_its_meaning_when_columns_get_other_names_are_added_and_dropped() {
    let db = TestDb::new().await;
    db.run("create table t (a int, unused text, b int); create table u (c int, a int)").await;
    db.run("insert into t values (1, 'x', 10), (2, 'y', 20); insert into u values (7, 1), (8, 2)").await;
    let views = [
        ("starred", "select * from u"),
        ("named", "select a, b from t"),
        ("joined", "select t.a, public.t.b, c from t join u using (a)"),
        ("aliased", "select x.p, x.r from t as x (p, q, r)"),
        ("hidden", "with t as (select a + 1 as a from t) select a from t"),
        (
            "within",
            "select named.b from (select b, a from t) as named where exists (select 1 from u where u.a = named.a)",
        ),
    ];
    let mut before = Vec::new();
    for (name, query) in views {
        db.run(&format!("create view {name} as {query}")).await;
        before.push(db.run(&format!("select * from {name} order by 1")).await);
    }
    let store = db.database.store();
    let rename = |from: &str, to: &str| ColumnChange::Rename { from: from.to_owned(), to: to.to_owned() };
    store.change_columns("t", ColumnChange::Drop("unused".to_owned())).await.unwrap();
    store.change_columns("t", rename("a", "renamed")).await.unwrap();
    store.change_columns("t", rename("b", "a")).await.unwrap();
    store.change_columns("u", rename("c", "Odd name")).await.unwrap();
    let added = braid_storage::ColumnDef::new("b", braid_storage::ColumnType::Text);
    store.change_columns("t", ColumnChange::Add(added.clone())).await.unwrap();
    store.change_columns("u", ColumnChange::Add(added)).await.unwrap();
    for ((name, _), before) in views.iter().zip(&before) {
        assert_eq!(db.run(&format!("select * from {name} order by 1")).await, *before, "{name}");
        // The text that is shown has the same meaning.
        let text = db.run(&format!("select pg_get_viewdef('{name}'::regclass)")).await;
        let text = text.trim_end_matches(';');
        db.run("set search_path = ''").await;
        db.run(&format!("create view public.again as {text}")).await;
        db.run("reset search_path").await;
        assert_eq!(db.run("select * from again order by 1").await, *before, "{name}: {text}");
        let columns = |view: &str| {
            format!(
                "select string_agg(attname, ',' order by attnum) from pg_attribute where attrelid = '{view}'::regclass"
            )
        };
        assert_eq!(db.run(&columns("again")).await, db.run(&columns(name)).await, "{text}");
        db.run("drop view again").await;
    }
    for (table, column) in [("t", "renamed"), ("t", "a"), ("u", "Odd name")] {
        let dropped = store.change_columns(table, ColumnChange::Drop(column.to_owned())).await;
        assert!(dropped.is_err(), "{table}.{column}");
    }
}

#[tokio::test]
async fn a_view_that_is_grouped_by_a_key_stays_so_when_columns_are_dropped() {
    let db = TestDb::new().await;
    db.run("create table k (gone int, id int primary key not enforced, b text)").await;
    db.run("insert into k values (7, 1, 'x'), (8, 2, 'y')").await;
    db.run("create view v as select id, b, count(*) as n from k group by id").await;
    db.database.store().change_columns("k", ColumnChange::Drop("gone".to_owned())).await.unwrap();
    assert_eq!(db.run("select * from v order by id").await, "1|x|1\n2|y|1");
}

#[tokio::test]
async fn the_client_is_told_of_views_that_are_dropped_with_others() {
    let db = TestDb::new().await;
    db.run("create table t (a int); create view v as select a from t; create view w as select a from v").await;
    let refused = db.fail("drop table t").await;
    assert_eq!(refused.message(), "cannot drop table t because other objects depend on it");
    assert_eq!(refused.detail().as_deref(), Some("view v depends on table t\nview w depends on view v"));
    db.session.take_notices();
    db.run("drop view w; create materialized view w as select a from v; drop table t cascade").await;
    let notices = db.session.take_notices();
    let told: Vec<_> = notices.iter().map(|notice| (&*notice.message, notice.detail.as_deref())).collect();
    let detail = "drop cascades to view v\ndrop cascades to materialized view w";
    assert_eq!(told, [("drop cascades to 2 other objects", Some(detail))]);
    db.run("create view v as select 1 as a; create view w as select a from v; drop view v cascade").await;
    let told: Vec<_> = db.session.take_notices().into_iter().map(|notice| (notice.message, notice.detail)).collect();
    assert_eq!(told, [("drop cascades to view w".to_owned(), None)]);
}

#[tokio::test]
async fn columns_that_views_read_are_dropped_with_them_and_keep_their_types() {
    let db = TestDb::new().await;
    db.run("create table t (a int, b text, c int, d int)").await;
    db.run("create view v as select a, b from t; create view w as select b from v").await;
    db.run("create materialized view m as select c from t").await;
    for (sql, message, detail) in [
        (
            "alter table t drop column a",
            "cannot drop column a of table t because other objects depend on it",
            "view v depends on column a of table t\nview w depends on view v",
        ),
        (
            "alter table t drop d, drop c",
            "cannot drop column c of table t because other objects depend on it",
            "materialized view m depends on column c of table t",
        ),
        (
            "alter table t alter a type bigint",
            "cannot alter type of a column used by a view or rule",
            "rule _RETURN on view v depends on column \"a\"",
        ),
        (
            "alter table t alter c type int",
            "cannot alter type of a column used by a view or rule",
            "rule _RETURN on materialized view m depends on column \"c\"",
        ),
        (
            "alter table v add x int",
            "ALTER action ADD COLUMN cannot be performed on relation \"v\"",
            "This operation is not supported for views.",
        ),
        (
            "alter table m alter c set not null",
            "ALTER action ALTER COLUMN ... SET NOT NULL cannot be performed on relation \"m\"",
            "This operation is not supported for materialized views.",
        ),
    ] {
        let refused = db.fail(sql).await;
        assert_eq!((refused.message(), refused.detail().as_deref()), (message, Some(detail)), "{sql}");
    }
    db.session.take_notices();
    db.run("begin; alter table t drop a cascade, drop b cascade, drop c cascade").await;
    let told: Vec<_> = db.session.take_notices().into_iter().map(|notice| (notice.message, notice.detail)).collect();
    let both = Some("drop cascades to view v\ndrop cascades to view w".to_owned());
    let expected = [
        ("drop cascades to 2 other objects".to_owned(), both),
        ("drop cascades to materialized view m".to_owned(), None),
    ];
    assert_eq!(told, expected);
    assert_eq!(db.run("select count(*) from pg_class where relname in ('v', 'w', 'm')").await, "0");
    db.run("rollback").await;
    assert_eq!(db.run("select count(*) from pg_class where relname in ('v', 'w', 'm')").await, "3");
    // What goes first lets other columns get other types.
    db.run("alter table t drop a cascade, alter b type varchar(3)").await;
    assert_eq!(db.run("select count(*) from pg_class where relname in ('v', 'w', 'm')").await, "1");
}

#[tokio::test]
async fn a_view_and_an_alteration_of_what_it_reads_wait_for_each_other() {
    let db = TestDb::new().await;
    let other = db.database.session("bob");
    let view = "create view v as select a + 1 as a from t";
    for (alteration, behind_view, view_behind) in
        [("alter a type text", "0A000", "42883"), ("drop a", "2BP01", "42703"), ("rename to u", "", "42P01")]
    {
        let alteration = format!("alter table t {alteration}");
        for (first, second, state) in [(view, &*alteration, behind_view), (&alteration, view, view_behind)] {
            db.run("create table t (a int, b int); insert into t values (1, 2)").await;
            db.run(&format!("begin; {first}")).await;
            let waiting = begun_to_wait(&db, &other, second).await;
            db.run("commit").await;
            let answered = answer_of(waiting).await;
            assert_eq!(answered.err().unwrap_or_default(), state, "{first}; {second}");
            if first == view {
                assert_eq!(db.run("select a from v").await, "2", "{second}");
            }
            db.run("drop table if exists t cascade; drop table if exists u cascade").await;
        }
    }
}

#[tokio::test]
async fn literals_in_views_name_no_objects_and_views_read_no_sequences() {
    let db = TestDb::new().await;
    db.run("create table t (a serial); create sequence s").await;
    for query in
        ["select nextval('s')", "select last_value from s", "select 't'::regclass", "select currval('s'::regclass)"]
    {
        assert_eq!(db.fail(&format!("create view v as {query}")).await.sqlstate(), "0A000", "{query}");
        assert_eq!(db.fail(&format!("create materialized view v as {query}")).await.sqlstate(), "0A000", "{query}");
    }
    // Names that are no literals are looked up when the query runs.
    db.run("create view v as select nextval(name) as n, lastval() as last from (values ('s'), ('t_a_seq')) x (name)")
        .await;
    assert_eq!(db.run("select n from v").await, "1\n1");
    assert_eq!(db.run("select n from v").await, "2\n2");
    db.run("drop sequence s").await;
    assert_eq!(db.fail("select n from v").await.sqlstate(), "42P01");
}

#[tokio::test]
async fn kept_plans_and_descriptions_are_those_of_the_view_that_is_there() {
    let db = TestDb::new().await;
    db.run("create table t (a int); insert into t values (1), (2), (3)").await;
    let other = db.database.session("bob");
    db.run("create view v as select a from t").await;
    for limit in 1..4 {
        let sql = format!("select count(*) from v where a <= {limit}");
        assert_eq!(db.run(&sql).await, limit.to_string());
    }
    run(&other, "create or replace view v as select a * 10 as a from t").await.unwrap();
    for (limit, expected) in [(1, "0"), (20, "2"), (30, "3")] {
        let sql = format!("select count(*) from v where a <= {limit}");
        assert_eq!(db.run(&sql).await, expected, "{limit}");
    }
    // A transaction sees its own, others the committed one.
    run(&other, "begin; create or replace view v as select 7 as a").await.unwrap();
    assert_eq!(run(&other, "select count(*) from v where a <= 30").await.unwrap(), "1");
    assert_eq!(db.run("select count(*) from v where a <= 30").await, "3");
    run(&other, "commit").await.unwrap();
    assert_eq!(db.run("select count(*) from v where a <= 30").await, "1");
    run(&other, "drop view v; create table v (a int)").await.unwrap();
    assert_eq!(db.run("select count(*) from v where a <= 30").await, "0");
}

#[tokio::test]
async fn sessions_that_change_one_view_wait_for_each_other() {
    let db = TestDb::new().await;
    let other = db.database.session("bob");
    db.run("create table t (a int); create view v as select a from t").await;
    for (first, second, answer) in [
        ("create or replace view v as select 1 as a", "create or replace view v as select 2 as a", Ok("CREATE VIEW")),
        ("create view w as select a from t", "drop view v; drop table t", Err("2BP01")),
        ("drop view w", "create or replace view w as select 1 as a", Ok("CREATE VIEW")),
        ("create materialized view m as select a from t", "drop table t", Err("2BP01")),
        (
            "insert into t values (1); refresh materialized view m",
            "refresh materialized view m",
            Ok("REFRESH MATERIALIZED VIEW"),
        ),
        ("select * from m", "refresh materialized view m", Ok("REFRESH MATERIALIZED VIEW")),
    ] {
        db.run(&format!("begin; {first}")).await;
        let waiting = begun_to_wait(&db, &other, second).await;
        db.run("commit").await;
        let answered = answer_of(waiting).await;
        assert_eq!(answered.as_deref().map_err(String::as_str), answer, "{first}; {second}");
    }
    assert_eq!(db.run("select a from m").await, "1");
    // Readers go on beside CONCURRENTLY.
    db.run("create unique index on m (a); begin; select * from m").await;
    run(&other, "refresh materialized view concurrently m").await.unwrap();
    db.run("commit").await;
    // Of two that take one name the first to commit has it.
    db.run("begin; create view x as select 1 as a").await;
    run(&other, "create table x (a int)").await.unwrap();
    assert_eq!(db.state("commit").await, "42P07");
}

#[tokio::test]
async fn views_within_views_are_bounded() {
    let db = TestDb::new().await;
    db.run("create table t (a int); insert into t values (1)").await;
    db.run("create view v0 as select a from t").await;
    for depth in 1..31 {
        db.run(&format!("create view v{depth} as select a + 1 as a from v{}", depth - 1)).await;
    }
    assert_eq!(db.run("select a from v30").await, "31");
    db.run("create view v31 as select a from v30").await;
    assert_eq!(db.state("create view v32 as select a from v31").await, "54001");
    // Each doubles the one before.
    db.run("create view d0 as select a from t").await;
    for depth in 1..5 {
        let before = depth - 1;
        db.run(&format!("create view d{depth} as select x.a from d{before} x join d{before} y on x.a = y.a")).await;
    }
    assert_eq!(db.run("select a from d4").await, "1");
    for depth in 5..9 {
        let before = depth - 1;
        let sql = format!("create view d{depth} as select x.a from d{before} x join d{before} y on x.a = y.a");
        let created = run(&db.session, &sql).await.map_err(|error| error.sqlstate());
        assert_eq!(created, if depth < 8 { Ok("CREATE VIEW".to_owned()) } else { Err("54001") }, "{sql}");
    }
    assert_eq!(db.run("select a from d7").await, "1");
    assert_eq!(db.state("select * from d7 x, d0 y").await, "54001");
}

/// A query over tables and views whose columns are `a`, `b` (integers) and `s` (text).
fn random_query(random: &mut SeededRandom, relations: &[String]) -> String {
    let relation = |random: &mut SeededRandom| relations[random.below(relations.len() as u64) as usize].clone();
    let number = random.below(5);
    let (first, second) = (relation(random), relation(random));
    match random.below(9) {
        0 => format!("select a, b + {number} as b, s from {first} x where b <> {number}"),
        1 => format!("select a, count(*)::int as b, max(s) as s from {first} x group by a"),
        2 => format!("select x.a, y.b, x.s from {first} x left join {second} y on x.a = y.b"),
        3 => format!("select a, b, s from {first} x union all select b, a, s || '!' from {second} y"),
        4 => format!("select distinct a, b % 3 as b, 'k' as s from {first} x"),
        5 => format!("select a, b, s from {first} x where exists (select 1 from {second} y where y.a = x.b)"),
        6 => format!(
            "with c as (select * from {first} x where a > {number}) select c.a, d.b, c.s from c join c d on c.a = d.a"
        ),
        7 => format!("select a, (select max(b) from {second} y where y.a = x.a) as b, s from {first} x"),
        _ => format!("select a, sum(b) over (partition by a)::int as b, s from {first} x where s is not null"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn queries_through_views_equal_those_with_their_texts_in_place() {
    for case in cases!(0..12) {
        let mut random = case.random();
        let db = TestDb::new().await;
        db.run("create table t (a int, b int, s text); create table u (a int, b int, s text)").await;
        let row = |n: u64| {
            format!(
                "({}, {}, {})",
                n % 4,
                n % 5,
                if n.is_multiple_of(3) { "null".to_owned() } else { format!("'s{n}'") }
            )
        };
        for (table, count) in [("t", 12), ("u", 7)] {
            let rows: Vec<String> = (0..count).map(|n| row(n * 7 + count)).collect();
            db.run(&format!("insert into {table} values {}", rows.join(", "))).await;
        }
        let (mut named, mut inlined) = (vec!["t".to_owned(), "u".to_owned()], vec!["t".to_owned(), "u".to_owned()]);
        for number in 0..4 {
            // The same choices, once with names and once with texts.
            let seed = random.next_u64();
            let by_name = random_query(&mut SeededRandom::new(seed), &named);
            let by_text = random_query(&mut SeededRandom::new(seed), &inlined);
            let view = format!("v{number}");
            db.run(&format!("create view {view} as {by_name}")).await;
            named.push(view.clone());
            inlined.push(format!("({by_text})"));
        }
        for _ in 0..6 {
            let seed = random.next_u64();
            let through = random_query(&mut SeededRandom::new(seed), &named);
            let in_place = random_query(&mut SeededRandom::new(seed), &inlined);
            let sorted = |query: &str| format!("select * from ({query}) as q order by a, b, s");
            let (rows, expected) = (db.run(&sorted(&through)).await, db.run(&sorted(&in_place)).await);
            assert_eq!(rows, expected, "{through}\n{in_place}");
            let again = db.run(&sorted(&through)).await;
            assert_eq!(again, expected, "by its template: {through}");
        }
    }
}
