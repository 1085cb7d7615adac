//! Statements by their templates: what is learned, what a plan is guarded by, and that answers stay those of the text.

use std::sync::Arc;

use arrow::array::{Decimal128Array, Float64Array, Int32Array, Int64Array};
use arrow::datatypes::Field;
use braid_base::Random;
use braid_engine::{DescribedType, ParameterType, Session};
use braid_testing::cases;

use crate::test_db::{TestDb, declared, parameter_types, run_one, text_value, value};

async fn two_tables() -> TestDb {
    let db = TestDb::new().await;
    db.run("create table t (a int, b text, c numeric(10,2), d date, e char(4), f float8)").await;
    let row = |n: i32| {
        let text = ["'x'", "'xy'", "null", "'z%'", "'it''s'"][n as usize % 5];
        let day = format!("'2024-0{}-{:02}'", 1 + n % 2, 1 + n % 28);
        format!("({n}, {text}, {}.25, {day}, '{}', {}.125)", n % 7, ["ab", "abc", "abcd"][n as usize % 3], n % 9)
    };
    let rows: Vec<String> = (0..200).map(row).collect();
    db.run(&format!("insert into t values {}", rows.join(", "))).await;
    db.run("create table u (k int, v int)").await;
    db.run("insert into u select a % 20, a from t").await;
    db
}

/// A session whose statements are planned with their constants.
fn by_text(db: &TestDb) -> Session {
    let session = db.database.session("alice");
    session.set_setting("braid.templates", "off").unwrap();
    session
}

#[tokio::test]
async fn the_second_statement_of_a_text_makes_a_plan_and_the_third_uses_it() {
    let db = two_tables().await;
    let hits = || db.database.template_figures().hits;
    for (n, expected) in [(0, 0), (1, 0), (2, 1), (3, 2)] {
        assert_eq!(db.run(&format!("select count(*) from t where a < {}", 10 * n)).await, (10 * n).to_string());
        assert_eq!(hits(), expected, "{n}");
    }
    assert_eq!(db.run("SELECT count(*) -- the same\n FROM T where A<50;").await, "50");
    assert_eq!(hits(), 3);
}

#[tokio::test]
async fn a_constant_that_varies_late_becomes_a_parameter() {
    let db = two_tables().await;
    let figures = || db.database.template_figures();
    let run = async |low: i32, high: i32, text: &str| {
        let count = format!("select count(*) from t where a >= {low} and a <= {high} and b <> '{text}'");
        db.run(&count).await;
    };
    for (low, high, text) in [(7, 90, "x"), (8, 90, "x"), (9, 90, "x"), (9, 95, "x"), (9, 95, "y")] {
        run(low, high, text).await;
    }
    assert_eq!((figures().plans, figures().hits), (3, 1), "of one, two and three parameters");
    for n in 0..20 {
        run(n % 7, 50 + n, &n.to_string()).await;
    }
    assert_eq!((figures().plans, figures().hits), (3, 21));
}

#[tokio::test]
async fn answers_are_those_of_the_text() {
    let db = two_tables().await;
    let by_text = by_text(&db);
    let eager = db.database.session("alice");
    eager.set_setting("braid.templates", "eager").unwrap();
    for template in [
        "select a, b from t where a between # and # order by a",
        "select count(*), sum(c) from t where c > #.5",
        "select count(*) from t where c > 0.# and a <> -#",
        "select count(*) from t where d >= date '2024-01-0#' and d < date '2024-01-1#' + interval '5' day",
        "select count(*) from t where d < '2024-02-0#'",
        "select b, count(*) from t where b like '#%' group by b order by b",
        "select b, count(*) from t where b in ('x', 'z%', '#') or a in (#, 7) group by b order by b",
        "select count(*) from t where a not in (#, #, 50)",
        "select e, count(*) from t where e = 'ab' or e = 'ab#' group by e order by e",
        "select a + #, a * # from t where a % 5 = # order by a limit 3",
        "select a + # as x, count(*) from t group by a + # having count(*) >= # order by x limit #",
        "select case when a < # then 'low' else 'high' end as x, count(*) from t group by x order by x",
        "select t.a, u.v from t join u on t.a = u.k where t.a < # and u.v > # order by 1, 2 limit 20",
        "select count(*) from t where f > #.125 and f <= 2#",
        "select 100 / (a - #) from t where a < 5 order by a",
        "select count(*) from t where a > (select avg(v) from u where v < 1#)",
        "select # as one, '#' as two, -# as three, #.50 as four from t where a = 1",
        "select count(*) from t where a < # * 3000000000",
        "select sum(a) over (order by a) from t where a < # order by a",
        "select count(*) from t where exists (select 1 from u where u.k = t.a and u.v > 1#)",
        "select count(*) from t join u on t.a = u.k join t t2 on u.v = t2.a where t.a < 1# and t2.a > #",
        "select count(*), sum(u.v) from u left join t on t.a = u.k and t.a < # where u.v < 1#",
        "select count(*) from t left join u on t.a = u.v where t.c > #.5 and t.a <> #",
        "select count(*) from t where not exists (select * from u where u.v = t.a and u.k < #) and a < 5#",
        "select count(*) from t, u where t.a < # and u.v < #",
        "select count(*) from t full join u on t.a = u.v + # where coalesce(t.a, u.k) > #",
        "select count(*) from t where a in (select k from u where v > #) or a = 19#",
        "select count(*) from t where d - interval '# days' < date '2024-01-1#'",
        "select a from t order by a limit # offset #",
        "select a from t where a < 5 union all select # order by 1",
        "select '#' || b from t where a = #",
        "select count(*) from t where b like '%#\\'",
        "select count(*) from t where d = '2024-13-0#'",
    ] {
        for digit in ["0", "1", "2", "2", "9", "5"] {
            let sql = template.replace('#', digit);
            let expected = answer(&by_text, &sql).await;
            assert_eq!(answer(&db.session, &sql).await, expected, "learned: {sql}");
            assert_eq!(answer(&eager, &sql).await, expected, "eager: {sql}");
        }
    }
    let figures = db.database.template_figures();
    assert!(figures.hits > 100, "{figures:?}");
}

/// Rows as text, or SQLSTATE and message.
async fn answer(session: &Session, sql: &str) -> Result<String, String> {
    crate::test_db::run(session, sql).await.map_err(|error| format!("{} {}", error.sqlstate(), error.message()))
}

#[tokio::test]
async fn random_constants_have_the_answers_of_their_texts() {
    let db = two_tables().await;
    let by_text = by_text(&db);
    let constants = [
        "0",
        "1",
        "7",
        "-3",
        "2147483647",
        "-2147483648",
        "2147483648",
        "9223372036854775807",
        "0.5",
        "1.25",
        "-0.05",
        "123456789.123",
        "'x'",
        "'xy'",
        "'z%'",
        "'5'",
        "' '",
        "''",
        "'1.5'",
        "'2024-01-05'",
        "null",
        "1e3",
        "true",
        "date '2024-01-05'",
        "5 + 5",
        "'a' || 'b'",
        "interval '1' day",
        "5::bigint",
        "'7'::int",
    ];
    let shapes = [
        "select count(*) from t where a < #",
        "select count(*) from t where a = # or a > #",
        "select count(*) from t where c between # and #",
        "select count(*) from t where b = #",
        "select count(*) from t where b like #",
        "select count(*) from t where d >= #",
        "select count(*) from t where e = #",
        "select count(*) from t where f > # and a <> #",
        "select count(*) from t where a in (#, #, #)",
        "select a + #, c * # from t where a = 3",
        "select case when a > # then # else # end from t where a < 4 order by a",
        "select #, # from t where a = 1",
        "select sum(a) from t where c > # group by a % # order by 1",
    ];
    for case in cases!(0..12) {
        let mut random = case.random();
        for _ in 0..40 {
            let shape = shapes[random.below(shapes.len() as u64) as usize];
            let mut sql = shape.to_owned();
            while sql.contains('#') {
                sql = sql.replacen('#', constants[random.below(constants.len() as u64) as usize], 1);
            }
            let expected = answer(&by_text, &sql).await;
            assert_eq!(answer(&db.session, &sql).await, expected, "{sql}");
        }
    }
}

#[tokio::test]
async fn a_plan_is_made_anew_for_new_rows_and_new_tables() {
    let db = TestDb::new().await;
    db.run("create table t (a int)").await;
    let count = "select count(*), max(a) from t where a > 0";
    for _ in 0..3 {
        assert_eq!(db.run(count).await, "0|NULL");
    }
    db.run("insert into t values (1), (2)").await;
    assert_eq!(db.run(count).await, "2|2");
    db.run("drop table t").await;
    assert_eq!(db.state(count).await, "42P01");
    db.run("create table t (a text)").await;
    assert_eq!(db.state(count).await, "42883");
    db.run("drop table t").await;
    db.run("create table t (b text, a bigint)").await;
    db.run("insert into t values ('x', 5)").await;
    assert_eq!(db.run(count).await, "1|5");
}

#[tokio::test]
async fn a_plan_for_integers_is_used_for_no_numerics_with_other_digits() {
    let db = TestDb::new().await;
    db.run("create table t (n numeric)").await;
    let asked = [
        "select count(*), sum(n) from t where n > 1.5",
        "select count(*), sum(n) from t where n > 2.505",
        "select count(*), sum(n) from t where n = 3",
    ];
    for (inserted, expected) in [
        ("1.00", ["0|NULL", "0|NULL", "0|NULL"]),
        ("2.50", ["1|2.50", "0|NULL", "0|NULL"]),
        ("3.00", ["2|5.50", "1|3.00", "1|3.00"]),
        ("100000000000.00", ["3|100000000005.50", "2|100000000003.00", "1|3.00"]),
        ("3", ["4|100000000008.50", "3|100000000006.00", "2|6.00"]),
        ("2.506", ["5|100000000011.006", "4|100000000008.506", "2|6.00"]),
        ("'NaN'", ["6|NaN", "5|NaN", "2|6.00"]),
        ("3.00", ["7|NaN", "6|NaN", "3|9.00"]),
    ] {
        db.run(&format!("insert into t values ({inserted})")).await;
        for (sql, expected) in asked.iter().zip(expected) {
            for _ in 0..3 {
                assert_eq!(db.run(sql).await, expected, "{sql} after {inserted}");
            }
        }
    }
}

#[tokio::test]
async fn a_block_reads_its_own_snapshot() {
    let db = TestDb::new().await;
    db.run("create table t (a int)").await;
    db.run("insert into t values (1)").await;
    let other = db.database.session("bob");
    for _ in 0..3 {
        db.run("select count(*) from t where a < 9").await;
    }
    db.run("begin isolation level repeatable read").await;
    assert_eq!(db.run("select count(*) from t where a < 9").await, "1");
    crate::test_db::run(&other, "insert into t values (2)").await.unwrap();
    assert_eq!(db.run("select count(*) from t where a < 9").await, "1");
    assert_eq!(crate::test_db::run(&other, "select count(*) from t where a < 9").await.unwrap(), "2");
    db.run("commit").await;
    assert_eq!(db.run("select count(*) from t where a < 9").await, "2");
}

#[tokio::test]
async fn what_differs_each_time_has_no_template() {
    let db = two_tables().await;
    let random = "select random() from t where a = 1";
    for _ in 0..3 {
        db.run(random).await;
    }
    assert_eq!(db.database.template_figures().plans, 0);
    assert!(db.database.template_figures().refused > 0);
    let zone = "select d::timestamptz::text from t where a = 1";
    for _ in 0..3 {
        assert_eq!(db.run(zone).await, "2024-02-02 00:00:00+00");
    }
    db.run("set timezone = 'Asia/Tokyo'").await;
    for _ in 0..3 {
        assert_eq!(db.run(zone).await, "2024-02-02 00:00:00+09");
    }
    // A plan that the session made before stays one of its zone then.
    let other = db.database.session("bob");
    assert_eq!(answer(&other, zone).await.unwrap(), "2024-02-02 00:00:00+00");
}

#[tokio::test]
async fn what_a_statement_asks_about_its_session_is_a_hidden_parameter() {
    let db = two_tables().await;
    db.run("create table seen (at timestamptz, who text, n int)").await;
    db.run(
        "insert into seen select now() - a * interval '1 hour', case when a < 3 then 'alice' else 'bob' end, a from t",
    )
    .await;
    let sessions = [db.database.session("alice"), db.database.session("bob"), db.database.session("carol")];
    let by_text: Vec<Session> = sessions.iter().map(|session| db.database.session(session.user())).collect();
    for session in &by_text {
        session.set_setting("braid.templates", "off").unwrap();
    }
    for sql in [
        "select count(*) from seen where who = current_user",
        "select count(*) from seen where at > now() - interval '90 minutes'",
        "select count(*) from seen where at > current_timestamp - interval '150' minute and at < now()",
        "select count(*) from seen where at >= current_date - interval '1' day",
        "select count(*) from seen where date_trunc('day', at) = date_trunc('day', now())",
        "select current_user, user, count(*) from seen where who <> session_user group by who order by 3",
        "select n, count(*) from seen where at::date = localtimestamp::date or n = 0 group by n order by n",
        "select count(*) from seen where who like current_setting('application_name') || '%'",
        "select now() = now(), now() = statement_timestamp(), count(*) from seen where n < 5",
        "select case when n < 3 then current_user else 'x' end as c, count(*) from seen group by c order by c",
        "select count(*) from seen where extract(year from at) = extract(year from now())",
        "select count(*) from seen where pg_backend_pid() = pg_backend_pid() and n < 4",
    ] {
        for _ in 0..3 {
            for (session, alone) in sessions.iter().zip(&by_text) {
                assert_eq!(answer(session, sql).await, answer(alone, sql).await, "{sql}");
            }
        }
    }
    let pid = "select count(*) from seen where n >= 0 and pg_backend_pid() > 0 and n <> -pg_backend_pid()";
    for session in &sessions {
        assert_eq!(answer(session, pid).await.unwrap(), "200");
    }
    let figures = db.database.template_figures();
    assert!(figures.plans >= 9 && figures.hits >= 60, "{figures:?}");
}

#[tokio::test]
async fn values_that_planning_looks_at_are_not_taken_from_other_statements() {
    let db = two_tables().await;
    let by_text = by_text(&db);
    let templates = db.database.session("alice");
    for (template, constants) in [
        // Whether blanks of a char(n) count is decided by the pattern's end.
        ("select count(*) from t where e like '#'", &[["ab%"], ["cd%"], ["ab"], ["ab  "], ["a%"]][..]),
        ("select * from (select # + a from t where a = 1) s", &[["1"], ["2"], ["3"]]),
        ("select distinct a % 4 from t order by a % #", &[["4"], ["5"], ["4"]]),
        ("select count(*) from t where a < 5 and c < #::numeric", &[["1.5"], ["2"], ["3.25"]]),
    ] {
        for constants in constants {
            let sql = template.replace('#', constants[0]);
            assert_eq!(answer(&templates, &sql).await, answer(&by_text, &sql).await, "{sql}");
        }
    }
    // The subquery is read anew, from a text of its own: its places are not those of this one.
    let member = "in (select k, v from u where v = #)";
    let before = "select count(*) from t where ";
    for width in 1..60 {
        let blanks = " ".repeat(width);
        for (one, two) in [(5, 5), (3, 3), (4, 3), (2, 6)] {
            let sql = format!("{before}{blanks}a <> {one} and (a, a) {}", member.replace('#', &two.to_string()));
            assert_eq!(answer(&templates, &sql).await, answer(&by_text, &sql).await, "{sql}");
        }
    }
    for (first, then) in [("1", "1.5"), ("2.5", "3"), ("UTC", "7")] {
        let sql = "select count(*) from t where c > current_setting('application_name')::numeric";
        for value in [first, first, first, then, then] {
            for session in [&templates, &by_text] {
                session.set_setting("application_name", value).unwrap();
            }
            assert_eq!(answer(&templates, sql).await, answer(&by_text, sql).await, "{value}");
        }
    }
    let hours = "select count(*) from t where extract(hour from d at time zone current_setting('TimeZone')) < 12";
    for _ in 0..4 {
        assert_eq!(answer(&templates, hours).await, answer(&by_text, hours).await);
    }
}

/// What a prepared statement is described as, which is what planning it says.
async fn description(db: &TestDb, sql: &str, declared: &[Option<ParameterType>]) -> Result<String, String> {
    let of_session = async |session: &Session| {
        let statement = session.parse(sql).map_err(|error| error.to_string())?.remove(0);
        let prepared = session.prepare(&statement, declared).await.map_err(|error| error.to_string())?;
        // Arrays are chosen with a plan, types without.
        let column = |field: &Arc<Field>| format!("{} {:?}", field.name(), DescribedType::of(field));
        let columns: Vec<String> =
            prepared.schema.iter().flat_map(|schema| schema.fields().iter().map(column)).collect();
        Ok(format!("{}, {columns:?}", parameter_types(&prepared)))
    };
    let found = of_session(&db.session).await;
    assert_eq!(found, of_session(&by_text(db)).await, "{sql}");
    found
}

#[tokio::test]
async fn descriptions_of_prepared_statements_are_kept_while_they_are_right() {
    let db = TestDb::new().await;
    db.run("create table going (a int, b text)").await;
    let found = || db.database.template_figures().descriptions_found;
    let text = "select b, a + $1 as c from going where a = $1 and b <> $2 and 3 < a";
    let first = description(&db, text, &[]).await.unwrap();
    assert_eq!(found(), 0);
    assert_eq!(description(&db, text, &[]).await.unwrap(), first);
    assert_eq!(description(&db, &text.to_uppercase(), &[]).await.unwrap(), first);
    assert_eq!(found(), 2);
    // Rows make no difference; other constants and declared types do.
    db.run("insert into going values (7, 'x')").await;
    assert_eq!(description(&db, text, &[None, None]).await.unwrap(), first);
    assert_eq!(description(&db, text, &[]).await.unwrap(), first);
    assert_eq!(found(), 3);
    let wide = description(&db, text, &[declared(20)]).await.unwrap();
    assert_ne!(wide, first);
    assert_eq!(description(&db, &text.replace('3', "3.5"), &[]).await.unwrap(), first);
    assert_eq!(found(), 3);
    let statement = db.session.parse(text).unwrap().remove(0);
    let values = vec![value(Int32Array::from(vec![7])), text_value("y")];
    assert_eq!(run_one(&db.session, &statement, values).await.unwrap(), "x|14");
    db.run("drop table going").await;
    assert!(description(&db, text, &[]).await.unwrap_err().contains("does not exist"));
    db.run("create table going (a bigint, b date)").await;
    assert_ne!(description(&db, text, &[]).await.unwrap(), first);
    assert_eq!(found(), 3);
}

#[tokio::test]
async fn a_statement_without_parameters_is_described_by_its_plan() {
    let db = two_tables().await;
    for sql in [
        "select a, b as c, sum(c) from t where a < # group by a, b",
        "select '#' as x, # as y",
        "select d from t limit #",
    ] {
        for n in 1..5 {
            let sql = sql.replace('#', &n.to_string());
            description(&db, &sql, &[]).await.unwrap();
            db.run(&sql).await;
        }
    }
}

#[tokio::test]
async fn the_types_of_parameters_tell_plans_apart() {
    let db = two_tables().await;
    let by_text = by_text(&db);
    for sql in ["select 5 / $1 from t where a < 3 order by 1", "select count(*), sum(a + $1) from t where a > $1"] {
        for value in [
            value(Int32Array::from(vec![2])),
            value(Int32Array::from(vec![3])),
            value(Float64Array::from(vec![2.0])),
            value(Int64Array::from(vec![2])),
            value(Decimal128Array::from(vec![2]).with_precision_and_scale(4, 0).unwrap()),
            value(Int32Array::from(vec![4])),
        ] {
            let [found, expected] = [&db.session, &by_text].map(async |session| {
                let statement = session.parse(sql).unwrap().remove(0);
                run_one(session, &statement, vec![value.clone()]).await.unwrap()
            });
            assert_eq!(found.await, expected.await, "{sql} with {value:?}");
        }
    }
}

#[tokio::test]
async fn a_transaction_keeps_its_time_in_templates() {
    let db = two_tables().await;
    let now = "select now()::text, count(*) from t where a = 1 group by 1";
    for _ in 0..2 {
        db.run(now).await;
    }
    let before = db.database.template_figures().hits;
    db.run("begin").await;
    let first = db.run(now).await;
    assert_eq!(db.run(now).await, first);
    db.run("commit").await;
    assert_ne!(db.run(now).await, first);
    assert_eq!(db.database.template_figures().hits, before + 3);
}

#[tokio::test]
async fn the_unit_of_an_interval_stands_outside_of_its_constant() {
    let db = two_tables().await;
    let count = |days: &str| format!("select count(*) from t where d <= date '2024-03-01' - interval '{days}' day");
    let by_text = by_text(&db);
    for days in ["40", "50", "55", "40.5", "-3", "1e1", "60"] {
        assert_eq!(answer(&db.session, &count(days)).await, answer(&by_text, &count(days)).await, "{days}");
    }
    let figures = db.database.template_figures();
    assert_eq!((figures.plans, figures.hits), (1, 5));
    for days in [" 45 ", "41 hours", "", "x"] {
        assert_eq!(answer(&db.session, &count(days)).await, answer(&by_text, &count(days)).await, "{days}");
    }
}

#[tokio::test]
async fn the_mark_of_a_constant_is_no_function_for_users() {
    let db = two_tables().await;
    let eager = db.database.session("alice");
    eager.set_setting("braid.templates", "eager").unwrap();
    for sql in
        ["select braid_hole(0, 5) from t where a = 1", "select BRAID_HOLE(7, a) from t", "select \"braid_hole\"(0, 5)"]
    {
        for session in [&db.session, &db.session, &db.session, &eager] {
            assert!(answer(session, sql).await.unwrap_err().starts_with("42883"), "{sql}");
        }
    }
}

#[tokio::test]
async fn a_million_texts_leave_little_behind() {
    let db = TestDb::new().await;
    db.run("create table t (a int)").await;
    // As many as show that the bound holds.
    for n in 0..11_000 {
        db.session.parse(&format!("select a as a{n} from t where a = 1")).unwrap();
    }
    for n in 0..200 {
        db.run(&format!("select a as b{n} from t where a = {n}")).await;
    }
    let figures = db.database.template_figures();
    assert!(figures.texts <= 10_000 && figures.bytes <= 64 << 20, "{figures:?}");
}
