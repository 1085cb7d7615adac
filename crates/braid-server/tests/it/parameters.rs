//! Bound values in statements that have a query within, and when they are looked at.

use tokio::io::AsyncWriteExt;

use crate::harness::TestServer;
use crate::raw_client::{Message, RawClient, bind, execute, kinds, message, parse, sync};

async fn run(raw: &mut RawClient, sql: &str, values: &[&str]) -> Vec<Message> {
    let values: Vec<Option<&[u8]>> = values.iter().map(|value| Some(value.as_bytes())).collect();
    let describe = message(b'D', b"S\0");
    let steps = [parse("", sql, &[]), describe, bind("", "", 0, &values, 0), execute("", 0), sync()];
    raw.stream.write_all(&steps.concat()).await.unwrap();
    raw.until_ready().await
}

/// The types of a ParameterDescription.
fn types(answers: &[Message]) -> Vec<u32> {
    let description = answers.iter().find(|answer| answer.kind == 't').expect("parameters are described");
    description.body[2..].chunks(4).map(|oid| u32::from_be_bytes(oid.try_into().unwrap())).collect()
}

fn error(answers: &[Message]) -> String {
    answers.iter().find(|answer| answer.kind == 'E').and_then(|error| error.field(b'C')).unwrap_or_default()
}

#[tokio::test]
async fn tables_are_made_of_queries_with_bound_values() {
    let server = TestServer::start().await;
    let mut raw = server.raw().await;
    raw.query("create table t (a int); insert into t select * from generate_series(1, 5)").await;
    for (sql, values, expected_types, rows) in [
        ("create table x as select a, $1::int as b from t where a > $2", &["7", "3"][..], &[23, 23][..], 2),
        ("create temp table x as select $1", &["7"], &[25], 1),
        ("select a, $1 as z into x from t where a < $2", &["foo", "3"], &[25, 23], 2),
        ("create table x as select a from t where a = $1 with no data", &["1"], &[23], 0),
        ("create table if not exists x as values ($1::int, $2)", &["1", "x"], &[23, 25], 1),
        ("create table x (n) as table t limit $1", &["4"], &[20], 4),
    ] {
        let answers = run(&mut raw, sql, values).await;
        assert_eq!(kinds(&answers), "1tn2CZ", "{sql}: {}", error(&answers));
        assert_eq!(types(&answers), expected_types, "{sql}");
        let count = raw.query("select count(*) from x").await[1].values();
        assert_eq!(count, [Some(rows.to_string().into_bytes())], "{sql}");
        raw.query("drop table x").await;
    }
    let refused = run(&mut raw, "create materialized view x as select a from t where a = $1", &["1"]).await;
    assert_eq!((kinds(&refused).as_str(), error(&refused).as_str()), ("EZ", "0A000"));
    raw.query("begin").await;
    assert_eq!(kinds(&run(&mut raw, "declare c cursor for select a from t where a = $1", &["3"]).await), "1tn2CZ");
    assert_eq!(raw.query("fetch all from c").await[1].values(), [Some(b"3".to_vec())]);
}

#[tokio::test]
async fn values_are_looked_at_when_the_statement_runs() {
    let server = TestServer::start().await;
    let mut raw = server.raw().await;
    raw.query("create table t (a int); insert into t select * from generate_series(1, 5)").await;
    for (sql, value, type_oid, state) in [
        ("select sum(a) over (order by a rows between $1 preceding and current row) from t", "-1", 20, "22013"),
        ("select sum(a) over (order by a groups $1 preceding) from t", "-1", 20, "22013"),
        ("select sum(a) over (order by a range between $1 preceding and 1 following) from t", "-1", 23, "22013"),
        ("select a from t tablesample bernoulli($1)", "200", 700, "2202H"),
        ("select a from t limit $1", "-1", 20, "2201W"),
        ("select a from t offset $1", "-1", 20, "2201X"),
        ("select a from t fetch first $1 rows only", "-1", 20, "2201W"),
        ("select a from t order by a fetch first $1 rows with ties", "-1", 20, "2201W"),
        ("select ntile($1) over (order by a) from t", "0", 23, "22014"),
    ] {
        let answers = run(&mut raw, sql, &[value]).await;
        assert_eq!(kinds(&answers), "1tT2EZ", "{sql}: {}", error(&answers));
        assert_eq!((types(&answers), error(&answers).as_str()), (vec![type_oid], state), "{sql}");
    }
    for sql in ["select 1 / 0 from t", "select a from t limit -1", "select a from t limit 1 / 0"] {
        assert_eq!(kinds(&run(&mut raw, sql, &[]).await), "1tT2EZ", "{sql}");
    }
}
