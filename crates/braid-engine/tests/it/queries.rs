//! Queries: prepared, explained, cancelled, over budget; and the PostgreSQL in them.

use arrow::array::{Date32Array, Int32Array, Int64Array};
use braid_engine::{Outcome, ParameterType, SentValue};
use futures::StreamExt;
use tokio_util::sync::CancellationToken;

use crate::test_db::{TestDb, column_names, declared, parameter_types, run, run_one, text_value, value};

#[tokio::test]
async fn columns_are_named_as_in_postgresql() {
    let db = TestDb::new().await;
    db.run("create table t (a int, b text)").await;
    for (sql, names) in [
        ("select 1, 1, 'x', a + 1 from t", "?column? ?column? ?column? ?column?"),
        ("select count(*), sum(a), a::text as x from t group by a", "count sum x"),
        ("select a, a, a::text, b from t", "a a a b"),
        ("select *, b from t", "a b b"),
        ("select t.* from t", "a b"),
        ("table t", "a b"),
        ("values (1, 'a')", "column1 column2"),
        ("show timezone", "TimeZone"),
        ("select version()", "version"),
        ("select case when a = 1 then 2 end, coalesce(a, 1), current_date from t", "case coalesce current_date"),
    ] {
        assert_eq!(column_names(&db.session, sql).await, names, "{sql}");
    }
}

/// The blanks of a `char(n)` are stored nowhere and shown everywhere.
#[tokio::test]
async fn char_columns_are_shown_with_their_blanks() {
    let db = TestDb::new().await;
    db.run("create table c (id int, c char(4), t text)").await;
    db.run("insert into c values (1, 'ab', 'x'), (2, 'abcd', 'y'), (3, null, 'z')").await;
    db.check(&[
        ("select c, id from c order by id", "ab  |1\nabcd|2\nNULL|3"),
        ("select min(c), max(c) from c", "ab  |abcd"),
        ("select c, count(*) from c where id = 1 group by c", "ab  |1"),
        ("select distinct c from c where id = 1", "ab  "),
        ("select x.c from (select c from c where id = 1) x", "ab  "),
        ("select c from c where id = 1 union all select c from c where id = 1", "ab  \nab  "),
        ("select case when id = 1 then c end from c where id = 1", "ab  "),
        ("select first_value(c) over (order by id) from c where id = 1", "ab  "),
        ("select (select c from c where id = 1)", "ab  "),
        ("select 'a'::char(3), c::text, c || '|', c::char(6) from c where id = 1", "a  |ab|ab||ab    "),
        ("copy c (c) to stdout", "ab  \nabcd\n\\N\n"),
    ])
    .await;
    db.run("create table d as select c from c").await;
    db.check(&[("select c, octet_length(c) from d where c = 'ab'", "ab  |4")]).await;
    db.check(&[("select coalesce(c, 'x') from c order by id", "ab  \nabcd\nx")]).await;
}

#[tokio::test]
async fn numbers_behave_as_in_postgresql() {
    let db = TestDb::new().await;
    db.run("create table t (i int, l bigint, n numeric(10,2), f float8)").await;
    db.run("insert into t values (2147483647, 9223372036854775807, 12345678.99, 1.5), (1, 1, 0.01, 0)").await;
    db.check(&[
        ("select 7 / 2, -7 / 2, 7 % 3, -7 % 3, 7 / 2.0 > 3.49", "3|-3|1|-1|true"),
        ("select 2.5::int, -2.5::int, 3.5::int, 2.5::float8::int, '7'::int", "3|-3|4|2|7"),
        ("select sum(l) from t", "9223372036854775808"),
        ("select sum(i) from t", "2147483648"),
        ("select 'a' || null, 'a' || 1", "NULL|a1"),
        ("select 1.005::numeric(5,2), 'abc'::varchar(2), 1.0::float8::text", "1.01|ab|1"),
        ("select '0.1'::float8 + 0.2 > 0.3", "true"),
        ("select timestamp '2024-01-01 10:00:00'::text", "2024-01-01 10:00:00"),
        ("select true::text, 'yes'::bool, 1::bool, false::int", "true|true|true|0"),
        ("select mod(7, 3), mod(-7, 2 + 1), '1e20'::float8 * 1.5 > 1e20", "1|-1|true"),
        ("select generate_series(1, 3)", "1\n2\n3"),
        (
            "select 3::float4 / 2, 3::float8 / 2, sign(-2.5), every(true), variance(2.0::float8) is null",
            "1.5|1.5|-1|true|true",
        ),
        ("select (timestamp '2024-01-01 10:00:00' at time zone 'Europe/Berlin')::text", "2024-01-01 09:00:00+00"),
        ("select timestamptz '2024-07-01 10:00:00+00' at time zone 'Europe/Berlin'", "2024-07-01T12:00:00"),
    ])
    .await;
    db.check_states(&[
        ("select 1 / 0", "22012"),
        ("select n / 0 from t", "22012"),
        ("select f / 0 from t", "22012"),
        ("select 1.0 / 0", "22012"),
        ("select 5 % 0", "22012"),
        ("select i + 1 from t", "22003"),
        ("select i * i from t", "22003"),
        ("select l + 1 from t", "22003"),
        ("select l - (-1) from t", "22003"),
        ("select 2147483647 + 1", "22003"),
        ("select 40000::smallint", "22003"),
        ("select 1e10::int", "22003"),
        ("select 123456::numeric(5,2)", "22003"),
    ])
    .await;
}

#[tokio::test]
async fn parameters_are_inferred_and_replaced() {
    let db = TestDb::new().await;
    db.run("create table t (a int, b text, d date)").await;
    db.run("insert into t values (1, 'x', '2024-01-01'), (2, 'y', '2024-01-02'), (3, 'z', null)").await;
    let prepare = async |sql: &str, given: &[Option<ParameterType>]| {
        let statement = db.session.parse(sql).unwrap().remove(0);
        let prepared = db.session.prepare(&statement, given).await.unwrap_or_else(|e| panic!("{sql}: {e:?}"));
        (statement, parameter_types(&prepared), prepared.schema.map(|schema| schema.fields().len()))
    };
    // The later ones by a template.
    for _ in 0..3 {
        let (statement, types, width) =
            prepare("select a, b from t where a > $1 and b <> $2 and d >= $3 order by a limit $4", &[]).await;
        assert_eq!((types.as_str(), width), ("23 25 1082 20", Some(2)));
        for (least, limit, expected) in [(0, 1, "1|x"), (1, 1, "2|y"), (0, 2, "1|x\n2|y")] {
            let values = vec![
                value(Int32Array::from(vec![least])),
                text_value("nobody"),
                value(Date32Array::from(vec![0])),
                value(Int64Array::from(vec![limit])),
            ];
            assert_eq!(run_one(&db.session, &statement, values).await.unwrap(), expected);
        }
        let (statement, types, _) = prepare("select $1::date, $2", &[]).await;
        assert_eq!(types, "1082 25");
        let values = vec![value(Date32Array::from(vec![1])), text_value("q")];
        assert_eq!(run_one(&db.session, &statement, values).await.unwrap(), "1970-01-02|q");
        let declared_wide = [declared(20)];
        let (statement, types, _) = prepare("select b from t where a = $1 and b < 'zz'", &declared_wide).await;
        assert_eq!(types, "20");
        for (a, b) in [(2, "y"), (3, "z"), (1 << 40, "")] {
            assert_eq!(run_one(&db.session, &statement, vec![value(Int64Array::from(vec![a]))]).await.unwrap(), b);
        }
        let declared_list = [declared(1009)];
        let (statement, _, _) = prepare("select a from t where b = any($1)", &declared_list).await;
        let list = db.session.read_parameter(1009, Some(SentValue::Text(b"{x,z}"))).unwrap();
        assert_eq!(run_one(&db.session, &statement, vec![list]).await.unwrap(), "1\n3");
    }
}

/// Parameters of types that Arrow lacks, and errors of parameters.
#[tokio::test]
async fn parameters_have_the_types_of_postgresql() {
    let db = TestDb::new().await;
    db.run("create table t (a int, b numeric(6, 2))").await;
    db.run("insert into t values (1, 1.50), (2, 2.50), (3, null)").await;
    db.run("set timezone = 'Europe/Paris'").await;
    for (sql, sent, expected) in [
        ("select $1::numeric[], $2::json -> 'a'", &["{1.5,NaN,NULL}", "{\"a\": [1]}"][..], "{1.5,NaN,NULL}|[1]"),
        ("select a from t where b = any($1::numeric[])", &["{2.5,7}"], "2"),
        ("select a from t where b = any($1) and b < $2", &["{2.5,7,1.500}", "2.4999999999999999999999999"], "1"),
        ("select count(*) from t where b < $1", &["NaN"], "2"),
        ("select count(*) from t where b < $1", &["Infinity"], "2"),
        ("select b * $1 from t where a = $2", &["1.001", "2"], "2.50250"),
        ("select $1::timestamptz", &["2024-07-01 12:00"], "2024-07-01T12:00:00+02:00"),
        ("select $1 || $2", &["a", "b"], "ab"),
        ("select a from t where a = $1 or a = $2 or a = $1 order by a limit $3 offset $4", &["1", "3", "1", "1"], "3"),
        ("select $1 + a from t order by 1 desc limit 1", &["5"], "8"),
        ("select a from t where (a, $2) in ((1, 'x'), (2, 'y'))", &["0", "y"], "2"),
    ] {
        // The later ones by a template.
        for attempt in 0..3 {
            let statement = db.session.parse(sql).unwrap().remove(0);
            let declared: &[Option<ParameterType>] = if sql.contains("(a, $2)") { &[declared(23)] } else { &[] };
            let prepared = db.session.prepare(&statement, declared).await.unwrap_or_else(|e| panic!("{sql}: {e:?}"));
            let read = |(parameter, text): (&ParameterType, &&str)| {
                db.session.read_parameter(parameter.oid, Some(SentValue::Text(text.as_bytes()))).unwrap()
            };
            let values = prepared.parameter_types.iter().zip(sent).map(read).collect();
            assert_eq!(run_one(&db.session, &statement, values).await.unwrap(), expected, "{sql}, attempt {attempt}");
        }
    }
    let error = async |sql: &str| {
        let statement = db.session.parse(sql).unwrap().remove(0);
        let error = db.session.prepare(&statement, &[]).await.unwrap_err();
        (error.sqlstate(), error.message().to_owned())
    };
    let undetermined = "could not determine data type of parameter $1".to_owned();
    assert_eq!(error("select $2::int").await, ("42P18", undetermined.clone()));
    assert_eq!(error("select a from t where $1 is null").await, ("42P18", undetermined));
    let error = db.session.read_parameter(23, Some(SentValue::Text(b"1.5"))).unwrap_err();
    assert_eq!((error.sqlstate(), error.message()), ("22P02", "invalid input syntax for type integer: \"1.5\""));
    let error = db.session.read_parameter(23, Some(SentValue::Binary(&[1, 2]))).unwrap_err();
    assert_eq!(error.sqlstate(), "08P01");
}

#[tokio::test]
async fn explain_shows_the_plan_and_what_it_did() {
    let db = TestDb::new().await;
    db.run("create table t (a int)").await;
    db.run("insert into t select value from generate_series(1, 1000) as s(value)").await;
    let plan = db.run("explain select a from t where a > 10").await;
    assert!(plan.contains("Scan: table=t, columns=[a], filters=[a > 10]"), "{plan}");
    let analyzed = db.run("explain (analyze, verbose false) select a from t where a > 10").await;
    assert!(analyzed.contains("Rows: 990") && analyzed.contains("Execution Time"), "{analyzed}");
    assert!(db.run("explain verbose select count(*) from t").await.contains("Aggregate"));
    db.check_states(&[("explain insert into t values (1)", "0A000"), ("explain select nosuch from t", "42703")]).await;
}

#[tokio::test]
async fn a_cancelled_query_stops() {
    let db = TestDb::new().await;
    db.run("create table t (a bigint)").await;
    db.run("insert into t select value from generate_series(1, 20000) as s(value)").await;
    let statement = db.session.parse("select count(*) from t a, t b where a.a + b.a > 0").unwrap().remove(0);
    let cancel = CancellationToken::new();
    let outcome = db.session.execute(&statement, vec![], cancel.clone()).await.unwrap();
    let Outcome::Rows { mut stream, .. } = outcome else { panic!() };
    tokio::spawn(async move {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        cancel.cancel();
    });
    let error = stream.next().await.unwrap().unwrap_err();
    assert_eq!(error.sqlstate(), "57014");
    assert!(stream.next().await.is_none());
    db.run("set statement_timeout = '50ms'").await;
    let error = db.fail("select count(*) from t a, t b where a.a + b.a > 0").await;
    assert!(error.sqlstate() == "57014" && error.message().contains("timeout"), "{error:?}");
    db.run("reset statement_timeout").await;
}

#[tokio::test]
async fn a_query_over_its_budget_fails_alone() {
    let db = TestDb::new().await;
    db.run("create table t (a bigint, b text)").await;
    db.run("insert into t select value, repeat('x', 100) || value from generate_series(1, 100000) as s(value)").await;
    let small = db.database.session("bob");
    run(&small, "set braid.query_memory = '64kB'").await.unwrap();
    let big = "select count(*) from (select x.b from t x join t y on x.b = y.b) s";
    let (failed, fine) = tokio::join!(run(&small, big), run(&db.session, big));
    assert_eq!(failed.unwrap_err().sqlstate(), "53200");
    assert_eq!(fine.unwrap(), "100000");
    db.until_nothing_is_held().await;
    assert_eq!(db.state("set braid.query_memory = '1TB'").await, "22023");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_join_of_very_many_pairs_stops() {
    let db = TestDb::new().await;
    db.run("create table t (a int)").await;
    db.run("insert into t select value from generate_series(1, 20000) as s(value)").await;
    db.run("set statement_timeout = '50ms'").await;
    // One batch of one side makes millions of pairs, which a condition drops, or an aggregation takes in.
    for sql in ["select count(*) from t x, t y, t z", "select count(*) from t x join t y on x.a * y.a = -1"] {
        assert_eq!(db.state(sql).await, "57014", "{sql}");
        db.until_nothing_is_held().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_fit_goes_to_temporary_files() {
    let db = TestDb::new().await;
    db.run("create table t (a bigint, b text)").await;
    db.run("insert into t select value, repeat('x', 100) || value from generate_series(1, 200000) as s(value)").await;
    let small = db.database.session("bob");
    // The rows alone take 23 MB.
    let distinct = "select count(*) from (select distinct a, b from t) s";
    let join = "select count(*), sum(length(x.b)) from t x join t y on x.b = y.b";
    let order = "select count(*) from (select b from t order by b, a) s";
    let sorted = "select b from t order by b desc offset 199999";
    for memory in ["16MB", "2MB"] {
        run(&small, &format!("set braid.query_memory = '{memory}'")).await.unwrap();
        for (sql, expected) in [(distinct, "200000"), (join, "200000|21088895"), (order, "200000")] {
            let files = db.database.spill_space().file_count();
            assert_eq!(run(&small, sql).await.unwrap(), expected, "{sql} with {memory}");
            assert!(sql == order || db.database.spill_space().file_count() > files, "{sql} spills with {memory}");
        }
        assert_eq!(run(&small, sorted).await.unwrap(), format!("{}1", "x".repeat(100)));
    }
    // Some budgets are too small for any operator.
    run(&small, "set braid.query_memory = '64kB'").await.unwrap();
    assert_eq!(run(&small, distinct).await.unwrap_err().sqlstate(), "53200");
    db.until_nothing_is_held().await;
    let names = std::fs::read_dir(db.database.config().data_dir.join("spill")).unwrap();
    let left = names.filter(|entry| entry.as_ref().unwrap().file_type().unwrap().is_file());
    assert_eq!(left.count(), 0, "temporary files have no names");
}

#[tokio::test]
async fn statements_see_one_snapshot() {
    let db = TestDb::new().await;
    db.run("create table t (a int)").await;
    db.run("insert into t values (1)").await;
    let statement = db.session.parse("select a from t").unwrap().remove(0);
    let outcome = db.session.execute(&statement, vec![], CancellationToken::new()).await.unwrap();
    let Outcome::Rows { mut stream, .. } = outcome else { panic!() };
    // Everything below is newer than the query.
    let other = db.database.session("bob");
    run(&other, "insert into t values (2)").await.unwrap();
    run(&other, "drop table t").await.unwrap();
    let mut rows = 0;
    while let Some(batch) = stream.next().await {
        rows += batch.unwrap().num_rows();
    }
    assert_eq!(rows, 1);
}

#[tokio::test]
async fn the_dialect_is_refused_where_it_would_be_ignored() {
    let db = TestDb::new().await;
    db.run("create table t (a int)").await;
    db.check_states(&[
        ("create table u as select * from t for update", "0A000"),
        ("select * from t tablesample system ((select 10))", "0A000"),
    ])
    .await;
}

#[tokio::test]
async fn ctes_windows_subqueries_and_sets_work() {
    let db = TestDb::new().await;
    db.run("create table t (g text, v int)").await;
    db.run("insert into t values ('a', 1), ('a', 3), ('b', 2), ('b', null), (null, 5)").await;
    db.check(&[
        ("with s as (select g, sum(v) as total from t group by g) select g, total from s order by total", "b|2\na|4\nNULL|5"),
        ("select v, row_number() over (partition by g order by v) from t where g = 'a' order by v", "1|1\n3|2"),
        ("select v, lag(v, 1, 0) over (order by v), ntile(2) over (order by v) from t where v is not null order by v",
         "1|0|1\n2|1|1\n3|2|2\n5|3|2"),
        ("select v from t where v > (select avg(v) from t) order by v", "3\n5"),
        ("select distinct on (g) g, v from t where g is not null order by g, v desc nulls last", "a|3\nb|2"),
        ("select v from t where g in (select g from t where v = 2) order by v nulls first", "NULL\n2"),
        ("select 1 union select 2 union all select 2 order by 1", "1\n2\n2"),
        ("select v from t intersect all select 2", "2"),
        ("values (1), (1), (2) except all select 1 order by 1", "1\n2"),
        ("select v from t where exists (select 1 from t u where u.v = t.v + 1) order by v", "1\n2"),
        ("with recursive n(i) as (values (1) union all select i + 1 from n where i < 5) select sum(i) from n", "15"),
        ("with recursive n as (select 1 as i union all select i + 1 from n where i < 5) select count(*) from n", "5"),
        ("select g, count(*) filter (where v > 1), string_agg(v::text, ',' order by v) from t where g is not null group by g order by g",
         "a|1|1,3\nb|1|2"),
        ("select coalesce(g, '-'), v from t order by 1, 2 offset 1 fetch first 2 rows only", "a|1\na|3"),
        ("select g, v from t order by v desc nulls last limit 1", "NULL|5"),
    ])
    .await;
}
