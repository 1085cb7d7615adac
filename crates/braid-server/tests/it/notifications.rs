//! Notifications as messages: when they are sent, and what they say.

use tokio::io::AsyncWriteExt;

use crate::harness::TestServer;
use crate::raw_client::{Message, RawClient, bind, execute, kinds, parse, sync};

/// The number of the sender, the channel and the payload of a NotificationResponse.
fn told(message: &Message) -> (i32, String, String) {
    assert_eq!(message.kind, 'A');
    let (sender, texts) = message.body.split_first_chunk::<4>().unwrap();
    let mut texts = texts.split(|b| *b == 0).map(|text| String::from_utf8(text.to_vec()).unwrap());
    (i32::from_be_bytes(*sender), texts.next().unwrap(), texts.next().unwrap())
}

async fn number_of(client: &mut RawClient) -> i32 {
    let values = client.query("select pg_backend_pid()").await[1].values();
    String::from_utf8(values[0].clone().unwrap()).unwrap().parse().unwrap()
}

#[tokio::test]
async fn an_idle_client_is_told_at_once() {
    let server = TestServer::start().await;
    let (mut listener, mut teller) = (server.raw().await, server.raw().await);
    assert_eq!(kinds(&listener.query("listen news").await), "CZ");
    let sender = number_of(&mut teller).await;
    for payload in ["one", "two"] {
        assert_eq!(kinds(&teller.query(&format!("notify news, '{payload}'")).await), "CZ");
        let message = listener.read().await.unwrap();
        assert_eq!(told(&message), (sender, "news".to_owned(), payload.to_owned()));
    }
    assert_eq!(kinds(&listener.query("select 1").await), "TDCZ", "each is told once");
}

#[tokio::test]
async fn a_client_in_a_block_is_told_before_it_is_ready_again() {
    let server = TestServer::start().await;
    let (mut listener, mut teller) = (server.raw().await, server.raw().await);
    listener.query("listen a").await;
    listener.query("begin").await;
    teller.query("notify a; notify a").await;
    assert_eq!(kinds(&listener.query("select 1").await), "TDCZ");
    assert_eq!(kinds(&listener.query("commit").await), "CAZ");
    // A client tells itself, too.
    assert_eq!(kinds(&listener.query("notify a, 'x'").await), "CAZ");
    assert_eq!(kinds(&listener.query("begin; notify a; rollback").await), "CCCZ");
    assert_eq!(kinds(&listener.query("notify a, 'x'; select 1/0").await), "CEZ");
    assert_eq!(
        kinds(&listener.query("select pg_notify('a', n::text) from generate_series(1, 2) as s (n)").await),
        "TDDCAAZ"
    );
}

#[tokio::test]
async fn what_is_executed_up_to_a_sync_is_one_transaction() {
    let server = TestServer::start().await;
    let mut client = server.raw().await;
    let run = |sql: &str| [parse("", sql, &[]), bind("", "", 0, &[], 0), execute("", 0)].concat();
    let steps = [run("listen a"), run("notify a, 'x'"), run("select pg_notify('a', 'x')"), sync()];
    client.stream.write_all(&steps.concat()).await.unwrap();
    assert_eq!(kinds(&client.until_ready().await), "12C12C12DCAZ");
    let steps = [run("notify a, 'y'"), run("select 1/0"), sync()];
    client.stream.write_all(&steps.concat()).await.unwrap();
    assert_eq!(kinds(&client.until_ready().await), "12C12EZ");
    assert_eq!(kinds(&client.query("select 1").await), "TDCZ");
}
