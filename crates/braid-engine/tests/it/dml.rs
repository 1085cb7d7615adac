//! INSERT.

use arrow::array::{Decimal128Array, Int32Array, TimestampMicrosecondArray};
use braid_engine::{ParameterValue, SentValue};

use crate::test_db::{TestDb, parameter_types, run_one, text_value, value};

#[tokio::test]
async fn values_convert_to_the_columns_types() {
    let db = TestDb::new().await;
    db.run("create table t (i int, n numeric(5,2), v varchar(3), c char(4), d date, b bool default true)").await;
    db.check(&[
        ("insert into t values ('7', '1.005', 'abc', 'ab  ', '2024-01-01', 'yes')", "INSERT 0 1"),
        ("insert into t values (2.5, 10, 'ab ', 'x', '2024-01-02 10:00:00', false)", "INSERT 0 1"),
        ("insert into t (v, i) values ('x', -1), (null, null)", "INSERT 0 2"),
        ("insert into t select 1 + 1, 2.345, 'q' || 'r', 5, date '2024-01-03', null", "INSERT 0 1"),
        ("insert into t default values", "INSERT 0 1"),
        ("insert into t values (default, default, default, default, default, default)", "INSERT 0 1"),
        ("insert into t (i) values (1 + 2)", "INSERT 0 1"),
        (
            "select i, n, v, c, d, b from t order by i nulls last, v",
            "-1|NULL|x|NULL|NULL|true\n2|2.35|qr|5   |2024-01-03|NULL\n3|10.00|ab |x   |2024-01-02|false\n\
             3|NULL|NULL|NULL|NULL|true\n7|1.01|abc|ab  |2024-01-01|true\nNULL|NULL|NULL|NULL|NULL|true\n\
             NULL|NULL|NULL|NULL|NULL|true\nNULL|NULL|NULL|NULL|NULL|true",
        ),
    ])
    .await;
}

#[tokio::test]
async fn what_does_not_fit_is_refused_as_a_whole() {
    let db = TestDb::new().await;
    db.run("create table t (i smallint not null, n numeric(4,1), v varchar(3), d date)").await;
    db.check_states(&[
        ("insert into t values (1, 1, 'abcd', null)", "22001"),
        ("insert into t values (40000, 1, 'a', null)", "22003"),
        ("insert into t values (1, 1000, 'a', null)", "22003"),
        ("insert into t values ('x', 1, 'a', null)", "22P02"),
        ("insert into t values (1, 1, 'a', '2024-13-01')", "22008"),
        ("insert into t values (1, 1, 'a', 'soon')", "22007"),
        ("insert into t values (null, 1, 'a', null)", "23502"),
        ("insert into t (n) values (1)", "23502"),
        ("insert into t values (1), (null)", "23502"),
        ("insert into t values (1, 1, 'a', 5)", "42804"),
        ("insert into t values (1, true, 'a', null)", "42804"),
        ("insert into t select true", "42804"),
        ("insert into t values (1, 2, 3, null, 5)", "42601"),
        ("insert into t (i, n) values (1)", "42601"),
        ("insert into t (i, i) values (1, 2)", "42701"),
        ("insert into t (nosuch) values (1)", "42703"),
        ("insert into nosuch values (1)", "42P01"),
        ("insert into pg_catalog.pg_class values (1)", "42809"),
        ("insert into t select 1 / 0", "22012"),
    ])
    .await;
    db.check(&[("select count(*) from t", "0")]).await;
}

#[tokio::test]
async fn prepared_inserts_take_the_columns_types() {
    let db = TestDb::new().await;
    db.run("create table t (a int, b text, c numeric(6,2), d timestamp)").await;
    let statement = db.session.parse("insert into t (d, a, b, c) values ($1, $2, $3, $4)").unwrap().remove(0);
    let prepared = db.session.prepare(&statement, &[]).await.unwrap();
    assert_eq!(parameter_types(&prepared), "1114 23 25 1700");
    assert!(prepared.schema.is_none());
    let values = vec![
        value(TimestampMicrosecondArray::from(vec![0])),
        value(Int32Array::from(vec![5])),
        text_value("it's"),
        value(Decimal128Array::from(vec![125]).with_precision_and_scale(6, 2).unwrap()),
    ];
    assert_eq!(run_one(&db.session, &statement, values).await.unwrap(), "INSERT 0 1");
    let nulls = [1114, 23, 25, 1700].map(ParameterValue::null).to_vec();
    assert_eq!(run_one(&db.session, &statement, nulls).await.unwrap(), "INSERT 0 1");
    let texts = [(1114, "2024-01-01 10:00:00"), (23, "6"), (25, "x"), (1700, "1.005")];
    let read = |(oid, text): (u32, &str)| db.session.read_parameter(oid, Some(SentValue::Text(text.as_bytes())));
    let sent = texts.map(|text| read(text).unwrap()).to_vec();
    assert_eq!(run_one(&db.session, &statement, sent).await.unwrap(), "INSERT 0 1");
    // As in PostgreSQL, no assignment cast takes a text to a timestamp.
    let texts = ["2024-01-01 10:00:00", "6", "x", "1.005"].map(text_value).to_vec();
    assert_eq!(run_one(&db.session, &statement, texts).await.unwrap_err().sqlstate(), "42804");
    db.check(&[(
        "select a, b, c, d from t order by a",
        "5|it's|1.25|1970-01-01T00:00:00\n6|x|1.01|2024-01-01T10:00:00\nNULL|NULL|NULL|NULL",
    )])
    .await;
    let missing = run_one(&db.session, &statement, vec![]).await.unwrap_err();
    assert_eq!(missing.sqlstate(), "42P02");
}
