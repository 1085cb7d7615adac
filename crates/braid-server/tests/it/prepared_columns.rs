//! Statements of the extended protocol whose relations are altered: Bind and Describe answer for the columns that were told, or fail.

use braid_testing::{PAUSE, Wait};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::harness::{TestServer, text_rows};
use crate::raw_client::{Message, RawClient, bind, describe_portal, execute, kinds, message, parse, sync};

const CHANGED: (&str, &str) = ("0A000", "cached plan must not change result type");

async fn send(raw: &mut RawClient<TcpStream>, steps: &[Vec<u8>]) -> Vec<Message> {
    raw.stream.write_all(&[steps.concat(), sync()].concat()).await.unwrap();
    raw.until_ready().await
}

fn describe(statement: &str) -> Vec<u8> {
    message(b'D', &[b"S", statement.as_bytes(), b"\0"].concat())
}

fn error(answers: &[Message]) -> (String, String) {
    let failed = answers.iter().find(|answer| answer.kind == 'E').expect("an error");
    (failed.field(b'C').unwrap(), failed.field(b'M').unwrap())
}

fn is_changed(answers: &[Message]) -> bool {
    let (state, message) = error(answers);
    (state.as_str(), message.as_str()) == CHANGED
}

#[tokio::test]
async fn a_statement_has_the_columns_that_its_client_was_told() {
    let server = TestServer::start().await;
    let (mut raw, mut other) = (server.raw().await, server.raw().await);
    other.query("create table t (a int, b varchar(10)); insert into t values (1, 'x')").await;
    let query = "select a, b from t where a = $1";
    let steps =
        [parse("p", query, &[]), parse("", query, &[]), parse("i", "insert into t values ($1) returning *", &[])];
    assert_eq!(kinds(&send(&mut raw, &steps).await), "111Z");
    for alteration in ["alter b type varchar(12)", "rename a to c", "alter a type bigint"] {
        other.query(&format!("alter table t {alteration}")).await;
        let is_renamed = alteration.starts_with("rename");
        for statement in ["p", ""] {
            let bound = send(&mut raw, &[bind("", statement, 0, &[Some(b"1")], 0), execute("", 0)]).await;
            let described = send(&mut raw, &[describe(statement)]).await;
            assert_eq!((kinds(&bound).as_str(), kinds(&described).as_str()), ("EZ", "tEZ"), "{alteration}");
            for answers in [bound, described] {
                match is_renamed {
                    true => assert_eq!(error(&answers).0, "42703"),
                    false => assert!(is_changed(&answers), "{alteration}: {:?}", error(&answers)),
                }
            }
        }
        let inserted = send(&mut raw, &[bind("", "i", 0, &[Some(b"2")], 0), execute("", 0)]).await;
        assert!(kinds(&inserted) == "EZ" && is_changed(&inserted), "{alteration}");
        let back = match alteration {
            "rename a to c" => "rename c to a",
            "alter a type bigint" => "alter a type int",
            _ => "alter b type varchar(10)",
        };
        other.query(&format!("alter table t {back}")).await;
        let steps = [bind("", "p", 0, &[Some(b"1")], 0), describe_portal(""), execute("", 0)];
        assert_eq!(kinds(&send(&mut raw, &steps).await), "2TDCZ", "as it was: {back}");
    }
    assert_eq!(raw.query("select count(*) from t").await[1].values(), [Some(b"1".to_vec())]);
}

#[tokio::test]
async fn what_is_altered_between_bind_and_execute_is_noticed() {
    let server = TestServer::start().await;
    let mut raw = server.raw().await;
    raw.query("create table t (a int)").await;
    raw.query("begin").await;
    assert_eq!(kinds(&send(&mut raw, &[parse("", "select a from t", &[]), bind("c", "", 0, &[], 0)]).await), "12Z");
    raw.query("alter table t alter a type bigint").await;
    assert!(is_changed(&send(&mut raw, &[execute("c", 0)]).await));
}

/// A session that alters a table waits for the transactions in which statements over it are bound.
#[tokio::test]
async fn what_is_bound_keeps_its_columns_while_others_want_to_alter_them() {
    let server = TestServer::start().await;
    let (mut raw, mut other, client) = (server.raw().await, server.raw().await, server.client().await);
    raw.query("create table t (a int); insert into t values (1)").await;
    raw.query("begin").await;
    assert_eq!(kinds(&send(&mut raw, &[parse("s", "select a from t", &[]), bind("c", "s", 0, &[], 0)]).await), "12Z");
    let reads = async {
        let wait = Wait::new("ALTER to wait for the transaction");
        while text_rows(&client, "select 1 from pg_locks where not granted").await.is_empty() {
            wait.check(String::new);
            tokio::time::sleep(PAUSE).await;
        }
        assert_eq!(kinds(&send(&mut raw, &[execute("c", 0)]).await), "DCZ");
        raw.query("commit").await;
    };
    let (altered, ()) = tokio::join!(other.query("alter table t alter a type bigint"), reads);
    assert_eq!(kinds(&altered), "CZ");
    assert!(is_changed(&send(&mut raw, &[bind("", "s", 0, &[], 0)]).await));
}

#[tokio::test]
async fn rows_that_flow_keep_their_columns() {
    let server = TestServer::start().await;
    let mut raw = server.raw().await;
    raw.query("create table t (a int); insert into t select * from generate_series(1, 3)").await;
    raw.query("begin").await;
    raw.query("declare c cursor for select a from t order by a").await;
    assert_eq!(kinds(&raw.query("fetch c").await), "TDCZ");
    raw.query("create table u (a text)").await;
    let answers = raw.query("fetch all in c").await;
    assert_eq!(kinds(&answers), "TDDCZ");
}
