//! PREPARE and EXECUTE beside the protocol's named statements: one name space.

use tokio::io::AsyncWriteExt;
use tokio_postgres::types::Type;

use crate::harness::{TestServer, sqlstate, text_rows};
use crate::raw_client::{Message, bind, describe_portal, execute, kinds, message, parse, sync};

/// The SQLSTATE of the first error among answers.
fn error(answers: &[Message]) -> Option<String> {
    answers.iter().find(|answer| answer.kind == 'E')?.field(b'C')
}

#[tokio::test]
async fn a_client_binds_what_prepare_has_prepared() {
    let server = TestServer::start().await;
    let mut raw = server.raw().await;
    raw.query("prepare q (int) as select $1 + 1").await;
    let steps = [bind("", "q", 0, &[Some(b"41")], 0), describe_portal(""), execute("", 0), sync()];
    raw.stream.write_all(&steps.concat()).await.unwrap();
    let answers = raw.until_ready().await;
    assert_eq!(kinds(&answers), "2TDCZ");
    assert_eq!(answers[2].values(), [Some(b"42".to_vec())]);
    // Close forgets it for EXECUTE, too.
    raw.stream.write_all(&[message(b'C', b"Sq\0"), sync()].concat()).await.unwrap();
    raw.until_ready().await;
    assert_eq!(error(&raw.query("execute q(1)").await).as_deref(), Some("26000"));
}

#[tokio::test]
async fn execute_runs_what_a_client_has_parsed() {
    let server = TestServer::start().await;
    let mut raw = server.raw().await;
    raw.stream.write_all(&[parse("p", "select $1::int * 2", &[]), sync()].concat()).await.unwrap();
    assert_eq!(kinds(&raw.until_ready().await), "1Z");
    let answers = raw.query("execute p('21')").await;
    assert_eq!((kinds(&answers).as_str(), answers[1].values()), ("TDCZ", vec![Some(b"42".to_vec())]));
    assert_eq!(answers[2].text(), "SELECT 1");
    let listed = "select name, statement, parameter_types::text, from_sql, custom_plans from pg_prepared_statements";
    let values: Vec<_> = raw.query(listed).await[1].values().into_iter().flatten().collect();
    let expected: [&[u8]; 5] = [b"p", b"select $1::int * 2", b"{integer}", b"f", b"1"];
    assert_eq!(values, expected);
    assert_eq!(error(&raw.query("prepare p as select 1").await).as_deref(), Some("42P05"));
    raw.query("prepare q as select 1").await;
    raw.stream.write_all(&[parse("q", "select 1", &[]), sync()].concat()).await.unwrap();
    assert_eq!(error(&raw.until_ready().await).as_deref(), Some("42P05"));
    raw.query("deallocate p").await;
    raw.stream.write_all(&[bind("", "p", 0, &[Some(b"1")], 0), sync()].concat()).await.unwrap();
    assert_eq!(error(&raw.until_ready().await).as_deref(), Some("26000"));
}

#[tokio::test]
async fn execute_is_prepared_itself() {
    let server = TestServer::start().await;
    let client = server.client().await;
    client.batch_execute("prepare q (bigint, text) as select $1 as n, $2 as t").await.unwrap();
    let statement = client.prepare("execute q($1, $2)").await.unwrap();
    assert_eq!(statement.params(), [Type::INT8, Type::TEXT]);
    assert_eq!(statement.columns().iter().map(|c| c.name()).collect::<Vec<_>>(), ["n", "t"]);
    let row = client.query_one(&statement, &[&7_i64, &"x"]).await.unwrap();
    assert_eq!((row.get::<_, i64>(0), row.get::<_, &str>(1)), (7, "x"));
    client.batch_execute("deallocate q").await.unwrap();
    assert_eq!(sqlstate(client.query_one(&statement, &[&7_i64, &"x"]).await), "26000");
}

#[tokio::test]
async fn executions_that_write_are_committed_together() {
    let server = TestServer::start().await;
    let mut raw = server.raw().await;
    raw.query("create table t (a int)").await;
    raw.query("prepare w (int) as insert into t values ($1)").await;
    let run = |sql: &str| [parse("", sql, &[]), bind("", "", 0, &[], 0), execute("", 0)].concat();
    raw.stream.write_all(&[run("execute w(1)"), run("execute w(2)"), sync()].concat()).await.unwrap();
    assert_eq!(error(&raw.until_ready().await), None);
    raw.stream.write_all(&[run("execute w(3)"), run("select 1 / 0"), sync()].concat()).await.unwrap();
    assert_eq!(error(&raw.until_ready().await).as_deref(), Some("22012"));
    let client = server.client().await;
    let stored = text_rows(&client, "select a from t order by a").await;
    assert_eq!(stored, ["1", "2"].map(|row| vec![Some(row.to_owned())]));
}

#[tokio::test]
async fn discard_all_closes_what_a_session_has_prepared() {
    let server = TestServer::start().await;
    let mut raw = server.raw().await;
    raw.stream.write_all(&[parse("p", "select 1", &[]), sync()].concat()).await.unwrap();
    raw.until_ready().await;
    raw.query("declare c cursor with hold for select 1").await;
    raw.query("discard all").await;
    assert_eq!(error(&raw.query("fetch c").await).as_deref(), Some("34000"));
    raw.stream.write_all(&[bind("", "p", 0, &[], 0), sync()].concat()).await.unwrap();
    assert_eq!(error(&raw.until_ready().await).as_deref(), Some("26000"));
    raw.stream.write_all(&[parse("p", "select 2", &[]), sync()].concat()).await.unwrap();
    assert_eq!(kinds(&raw.until_ready().await), "1Z");
}
