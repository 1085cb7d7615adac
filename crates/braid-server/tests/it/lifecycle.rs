//! Limits, idle connections, shutdown.

use std::time::Duration;

use braid_testing::{PAUSE, Wait};
use tokio::net::TcpStream;
use tokio_postgres::NoTls;

use crate::harness::{LONG, TestServer, in_time, sqlstate, text_rows};
use crate::raw_client::RawClient;

#[tokio::test]
async fn connections_beyond_the_limit_are_told_so() {
    let server = TestServer::start_with(|options| options.connections_max = 2).await;
    let (first, second) = (server.client().await, server.client().await);
    assert_eq!(sqlstate(server.config().connect(NoTls).await), "53300");
    // A cancel request still comes through.
    first.cancel_token().cancel_query(NoTls).await.unwrap();
    drop(second);
    let wait = Wait::new("a free place to be given to a new client");
    while let Err(error) = server.config().connect(NoTls).await {
        wait.check(|| error.to_string());
        tokio::time::sleep(PAUSE).await;
    }
}

#[tokio::test]
async fn a_thousand_idle_connections_stay_alive() {
    let server = TestServer::start().await;
    text_rows(&server.client().await, "select 1").await;
    let mut clients = Vec::new();
    for _ in 0..1000 {
        let mut client = server.raw().await;
        client.query("select 1").await;
        clients.push(client);
    }
    // A twentieth of them answers for all. What they cost is measured where nothing else runs: `figures.rs`.
    for client in clients.iter_mut().step_by(20) {
        assert_eq!(client.query("select 2").await.len(), 4);
    }
}

#[tokio::test]
async fn shutdown_closes_idle_connections_with_57p01() {
    let server = TestServer::start().await;
    let mut idle = server.raw().await;
    server.shutdown.cancel();
    let message = idle.read().await.unwrap();
    assert_eq!((message.kind, message.field(b'C').as_deref()), ('E', Some("57P01")));
    assert_eq!(message.field(b'S').as_deref(), Some("FATAL"));
    assert!(idle.read().await.is_none());
    server.running.stopped().await;
    assert!(TcpStream::connect(server.address).await.is_err(), "the port is closed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shutdown_lets_statements_finish_within_the_grace() {
    let server = TestServer::start_with(|options| options.grace = Duration::from_secs(30)).await;
    let mut raw = server.raw().await;
    raw.send(b'Q', b"select sum(value * 3 % 7) from generate_series(1, 2000000) as s(value)\0").await;
    server.one_statement_runs().await;
    server.shutdown.cancel();
    let answers = raw.until_ready().await;
    let kinds: String = answers.iter().map(|m| m.kind).collect();
    assert!(kinds.starts_with("TDCZ"), "{answers:?}");
    assert_eq!(raw.read().await.and_then(|m| m.field(b'C')).as_deref(), Some("57P01"));
    server.running.stopped().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shutdown_cancels_what_takes_longer() {
    let server = TestServer::start_with(|options| options.grace = Duration::from_millis(200)).await;
    let mut raw = server.raw().await;
    raw.send(b'Q', format!("{LONG}\0").as_bytes()).await;
    server.one_statement_runs().await;
    server.shutdown.cancel();
    let answers = in_time("the end of a statement beyond the grace", raw.until_ready()).await;
    assert_eq!(answers.last().unwrap().field(b'C').as_deref(), Some("57P01"), "{answers:?}");
    in_time("the end of the server", server.running.stopped()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn force_does_not_wait_for_the_grace() {
    let server = TestServer::start_with(|options| options.grace = Duration::from_secs(3600)).await;
    let mut raw = server.raw().await;
    raw.send(b'Q', format!("{LONG}\0").as_bytes()).await;
    server.one_statement_runs().await;
    let force = server.running.force();
    server.shutdown.cancel();
    force.cancel();
    in_time("the end of the server", server.running.stopped()).await;
}

#[tokio::test]
async fn a_client_that_says_nothing_does_not_hold_up_the_end() {
    let server = TestServer::start().await;
    let _silent = TcpStream::connect(server.address).await.unwrap();
    let mut half = RawClient { stream: TcpStream::connect(server.address).await.unwrap() };
    tokio::io::AsyncWriteExt::write_all(&mut half.stream, &[0, 0, 0]).await.unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    server.shutdown.cancel();
    in_time("the end of the server", server.running.stopped()).await;
}
