//! Statements up to one Sync are one transaction, and so are those of one simple query.

use tokio::io::AsyncWriteExt;

use crate::harness::{TestServer, text_rows};
use crate::raw_client::{Message, RawClient, bind, execute, kinds, message, parse, sync};

async fn with_table(server: &TestServer) -> (RawClient, tokio_postgres::Client) {
    let client = server.client().await;
    client.batch_execute("create table t (a integer not null)").await.unwrap();
    (server.raw().await, client)
}

/// Parse, Bind and Execute of one statement.
fn steps(sql: &str) -> Vec<u8> {
    [parse("", sql, &[]), bind("", "", 0, &[], 0), execute("", 0)].concat()
}

fn insert(value: &str) -> Vec<u8> {
    steps(&format!("insert into t values ({value})"))
}

fn flush() -> Vec<u8> {
    message(b'H', b"")
}

fn close_portal() -> Vec<u8> {
    message(b'C', b"P\0")
}

async fn answers(raw: &mut RawClient, messages: &[Vec<u8>]) -> Vec<Message> {
    raw.stream.write_all(&messages.concat()).await.unwrap();
    raw.until_ready().await
}

async fn rows(client: &tokio_postgres::Client) -> usize {
    text_rows(client, "select a from t").await.len()
}

fn error(answers: &[Message]) -> &Message {
    answers.iter().find(|message| message.kind == 'E').unwrap()
}

#[tokio::test]
async fn what_is_executed_up_to_sync_is_committed_together() {
    let server = TestServer::start().await;
    let (mut raw, client) = with_table(&server).await;
    let answered = answers(&mut raw, &[insert("1"), steps("select a from t"), insert("2"), sync()]).await;
    assert_eq!(kinds(&answered), "12C12DC12CZ");
    assert_eq!(rows(&client).await, 2);
    let create = steps("create table u (a integer)");
    assert_eq!(kinds(&answers(&mut raw, &[create, steps("insert into u select a from t"), sync()]).await), "12C12CZ");
    assert_eq!(text_rows(&client, "select a from u").await.len(), 2);
    // A prepared statement that is bound again and again, as drivers send batches.
    let bound = || [bind("", "s", 0, &[], 0), execute("", 0)].concat();
    let prepared = parse("s", "insert into t values (7)", &[]);
    assert_eq!(kinds(&answers(&mut raw, &[prepared, bound(), bound(), sync()]).await), "12C2CZ");
    assert_eq!(kinds(&answers(&mut raw, &[insert("3"), close_portal(), sync()]).await), "12C3Z");
    assert_eq!(rows(&client).await, 5);
}

#[tokio::test]
async fn an_error_before_sync_undoes_what_came_before_it() {
    let server = TestServer::start().await;
    let (mut raw, client) = with_table(&server).await;
    for second in
        [insert("null"), steps("select 1 / 0"), steps("create table t (a integer)"), steps("select * from no")]
    {
        let answered = answers(&mut raw, &[insert("1"), second, insert("3"), sync()]).await;
        assert!(error(&answered).field(b'C').is_some());
        assert!(kinds(&answered).starts_with("12C") && kinds(&answered).ends_with("EZ"), "{}", kinds(&answered));
        assert_eq!(rows(&client).await, 0, "half of the batch stayed");
    }
    assert_eq!(kinds(&answers(&mut raw, &[insert("4"), sync()]).await), "12CZ");
    assert_eq!(rows(&client).await, 1);
}

#[tokio::test]
async fn a_commit_that_fails_at_sync_is_an_error_of_the_sync() {
    let server = TestServer::start().await;
    let (mut raw, client) = with_table(&server).await;
    let deferred = "create table p (a integer primary key); \
                    alter table t add foreign key (a) references p deferrable initially deferred";
    client.batch_execute(deferred).await.unwrap();
    raw.stream.write_all(&[insert("1"), flush()].concat()).await.unwrap();
    for expected in ['1', '2', 'C'] {
        assert_eq!(raw.read().await.unwrap().kind, expected);
    }
    assert_eq!(rows(&client).await, 0, "Flush commits nothing");
    let answered = answers(&mut raw, &[sync()]).await;
    assert_eq!((kinds(&answered).as_str(), error(&answered).field(b'C').as_deref()), ("EZ", Some("23503")));
    assert_eq!(rows(&client).await, 0);
    assert_eq!(kinds(&raw.query("select 1").await), "TDCZ");
}

#[tokio::test]
async fn a_client_that_leaves_before_sync_has_written_nothing() {
    let server = TestServer::start().await;
    let (mut raw, client) = with_table(&server).await;
    raw.stream.write_all(&[insert("1"), message(b'X', b"")].concat()).await.unwrap();
    raw.until_ready().await;
    assert_eq!(rows(&client).await, 0);
}

#[tokio::test]
async fn the_statements_of_a_simple_query_are_one_transaction() {
    let server = TestServer::start().await;
    let (mut raw, client) = with_table(&server).await;
    assert_eq!(kinds(&raw.query("insert into t values (1); insert into t values (2)").await), "CCZ");
    assert_eq!(rows(&client).await, 2);
    assert_eq!(kinds(&raw.query("insert into t values (3); insert into t values (null)").await), "CEZ");
    assert_eq!(rows(&client).await, 2);
    let divided = "insert into t values (3); commit; insert into t values (4); select 1 / 0";
    assert_eq!(kinds(&raw.query(divided).await), "CNCCEZ");
    assert_eq!(rows(&client).await, 3, "the COMMIT kept what came before it");
    assert_eq!(kinds(&raw.query("insert into t values (5); begin; insert into t values (6)").await), "CCCZ");
    assert_eq!(rows(&client).await, 3);
    assert_eq!(kinds(&raw.query("rollback").await), "CZ");
    assert_eq!(rows(&client).await, 3, "the block took in what came before it");
}

#[tokio::test]
async fn statements_of_one_message_share_now() {
    let server = TestServer::start().await;
    let client = server.client().await;
    let first = text_rows(&client, "select now(); select 1; select now(), now() = statement_timestamp()").await;
    assert_eq!(first[0][0], first[2][0]);
    assert_eq!(first[2][1].as_deref(), Some("t"));
    let divided = text_rows(&client, "select now(); commit; select now(); begin; select now(); commit").await;
    assert!(first[0][0] < divided[0][0], "a message of its own is later");
    assert_eq!(divided.len(), 3);
    let mut raw = server.raw().await;
    let answered = answers(&mut raw, &[steps("select now()"), steps("select now()"), sync()]).await;
    let times: Vec<_> = answered.iter().filter(|message| message.kind == 'D').map(Message::values).collect();
    assert_eq!((times.len(), &times[0]), (2, &times[1]));
    let later = answers(&mut raw, &[steps("select now()"), sync()]).await;
    let later = later.iter().find(|message| message.kind == 'D').map(Message::values);
    assert_ne!(later.as_ref(), Some(&times[0]));
}

#[tokio::test]
async fn a_failed_message_undoes_what_it_has_set() {
    let server = TestServer::start().await;
    let client = server.client().await;
    let shown = async || text_rows(&client, "show statement_timeout").await[0][0].clone().unwrap();
    assert!(client.simple_query("set statement_timeout = '5s'; select 1 / 0").await.is_err());
    assert_eq!(shown().await, "0");
    client.batch_execute("set statement_timeout = '6s'; select 1").await.unwrap();
    assert_eq!(shown().await, "6s");
    assert!(client.simple_query("set statement_timeout = '7s'; commit; select 1 / 0").await.is_err());
    assert_eq!(shown().await, "7s");
    client.batch_execute("set statement_timeout = '8s'; begin; rollback").await.unwrap();
    assert_eq!(shown().await, "7s", "the block took in what came before it");
    assert_eq!(
        text_rows(&client, "set local statement_timeout = '9s'; show statement_timeout").await[0][0].as_deref(),
        Some("9s")
    );
    assert_eq!(shown().await, "7s");

    let mut raw = server.raw().await;
    let shown_raw = async |raw: &mut RawClient| {
        let answered = raw.query("show statement_timeout").await;
        answered.iter().find(|message| message.kind == 'D').unwrap().values()[0].clone().unwrap()
    };
    let failed = answers(&mut raw, &[steps("set statement_timeout = '5s'"), steps("select 1 / 0"), sync()]).await;
    assert_eq!(kinds(&failed), "12C12EZ");
    assert_eq!(shown_raw(&mut raw).await, b"0");
    answers(&mut raw, &[steps("set statement_timeout = '5s'"), steps("select 1"), sync()]).await;
    assert_eq!(shown_raw(&mut raw).await, b"5s");
}
